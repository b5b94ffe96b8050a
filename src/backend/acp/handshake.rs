//! The way to an open session: initialize, log in on demand, open or restore, choose mode and model. Pure.
//!
//! One request is under way at a time; each reply leads to the next request, to `Ready`, or to a failure.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tracing::{debug, warn};

use crate::backend::acp::fault;
use crate::backend::acp::message::{self, AUTH_REQUIRED, Agent, Opened, Selector};
use crate::backend::door::Entrance;
use crate::backend::event::Started;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::Resume;
use crate::backend::transport::jsonrpc::{METHOD_NOT_FOUND, RpcError};

/// What a session is opened with.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    pub(crate) cwd: String,
    pub(crate) policy: Resume,
    pub(crate) resume: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<String>,
    /// The mode to be in where none is asked for, if the agent offers it.
    pub(crate) fitting: Option<&'static str>,
    /// The way to the served tools.
    pub(crate) entrance: Option<Entrance>,
    /// Names of the variables that are set for the agent.
    pub(crate) variables: Vec<String>,
    pub(crate) exec_at_ms: i64,
}

/// The handshake between two replies.
#[derive(Debug)]
pub(crate) struct Handshake {
    wishes: Wishes,
    agent: Agent,
    call: Call,
    opening: Opening,
    opened: Opened,
    settings: VecDeque<Setting>,
    has_logged_in: bool,
}

/// The request that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Initialize,
    Authenticate,
    Open(Opening),
    Set(Setting),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    New,
    Load,
    Resume,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Mode,
    /// A mode that nobody asked for by name.
    Fitting,
    Model,
}

/// What follows a reply.
#[derive(Debug)]
pub(crate) enum Next {
    Call(Box<Handshake>, &'static str, Value),
    Ready(Ready),
    Failed(Failure),
}

/// An open session.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) started: Started,
    pub(crate) takes_images: bool,
    /// The agent streams the old history after `session/load`, some of it after the reply.
    pub(crate) replays: bool,
}

impl Handshake {
    /// The handshake and its first request.
    pub(crate) fn begin(wishes: Wishes) -> (Self, &'static str, Value) {
        let handshake = Self {
            wishes,
            agent: Agent::default(),
            call: Call::Initialize,
            opening: Opening::New,
            opened: Opened::default(),
            settings: VecDeque::new(),
            has_logged_in: false,
        };
        (handshake, "initialize", message::initialize())
    }

    /// Takes the reply to the request that is under way.
    pub(crate) fn reply(mut self, outcome: Result<Value, RpcError>) -> Next {
        match (self.call, outcome) {
            (Call::Initialize, Ok(result)) => self.initialized(&result),
            (Call::Initialize, Err(error)) => Next::Failed(fault::classify(&error)),
            (Call::Authenticate, Ok(_)) => Self { has_logged_in: true, ..self }.open(),
            (Call::Authenticate, Err(error)) => Next::Failed(fault::needs_login(&error, &self.agent.auth)),
            (Call::Open(opening), Ok(result)) => self.opened(opening, &result),
            (Call::Open(opening), Err(error)) => self.not_opened(opening, &error),
            (Call::Set(Setting::Fitting), Ok(_)) => {
                self.opened.modes.current = self.wishes.fitting.map(str::to_owned);
                self.set_next()
            }
            (Call::Set(Setting::Mode | Setting::Model), Ok(_)) => self.set_next(),
            (Call::Set(Setting::Fitting), Err(error)) => {
                // Every call is decided about all the same, so the agent may stay in the mode that it is in.
                warn!(reason = fault::describe(&error), mode = self.wishes.fitting, "mode not set");
                self.set_next()
            }
            (Call::Set(setting), Err(error)) => Next::Failed(self.not_set(setting, &fault::describe(&error))),
        }
    }

    fn initialized(self, result: &Value) -> Next {
        let agent = message::read_agent(result);
        if agent.version != message::VERSION {
            let text = format!("the agent speaks ACP version `{}`, expected `{}`", agent.version, message::VERSION);
            return Next::Failed(Failure::new(FailureKind::Protocol, text));
        }
        Self { agent, ..self }.open()
    }

    /// Opens the session in the best way the agent offers.
    fn open(self) -> Next {
        let wants_restore = self.wishes.policy == Resume::Offered && self.wishes.resume.is_some();
        let opening = match (wants_restore, self.agent.can_resume, self.agent.can_load) {
            (true, true, _) => Opening::Resume,
            (true, false, true) => Opening::Load,
            (true, false, false) | (false, _, _) => Opening::New,
        };
        self.open_by(opening)
    }

    fn open_by(self, opening: Opening) -> Next {
        let servers = message::servers(self.wishes.entrance.as_ref(), self.agent.serves);
        let mut params = json!({"cwd": self.wishes.cwd, "mcpServers": servers});
        let method = match opening {
            Opening::New => "session/new",
            Opening::Load => "session/load",
            Opening::Resume => "session/resume",
        };
        if opening != Opening::New {
            params["sessionId"] = json!(self.wishes.resume);
        }
        self.call(Call::Open(opening), method, params)
    }

    fn not_opened(self, opening: Opening, error: &RpcError) -> Next {
        if error.code == AUTH_REQUIRED {
            return self.log_in(error);
        }
        match opening {
            Opening::New => Next::Failed(fault::classify(error)),
            Opening::Resume if error.code == METHOD_NOT_FOUND && self.agent.can_load => self.open_by(Opening::Load),
            // The conversation is gone on the agent's side: a fresh one with a replay is the best there is.
            Opening::Resume | Opening::Load => {
                warn!(reason = fault::describe(error), "conversation not restored");
                self.open_by(Opening::New)
            }
        }
    }

    /// Logs in where the environment alone is enough. Everything else needs a person, and changes the agent's own
    /// settings, so it is the person's to do.
    fn log_in(self, error: &RpcError) -> Next {
        let is_set = |name: &String| self.wishes.variables.contains(name);
        let usable = self.agent.auth.iter().find(|method| {
            method.variables.as_ref().is_some_and(|names| !names.is_empty() && names.iter().all(is_set))
        });
        match usable {
            Some(method) if !self.has_logged_in => {
                let params = json!({"methodId": method.id});
                debug!(method = method.id, "agent asks for a login");
                self.call(Call::Authenticate, "authenticate", params)
            }
            Some(_) | None => Next::Failed(fault::needs_login(error, &self.agent.auth)),
        }
    }

    fn opened(mut self, opening: Opening, result: &Value) -> Next {
        self.opened = message::read_opened(result);
        if opening != Opening::New {
            self.opened.session = self.wishes.resume.clone();
        }
        if self.opened.session.is_none() {
            return Next::Failed(Failure::new(FailureKind::Protocol, "the agent opened a session without an id"));
        }
        let differs = |wish: &Option<String>, selector: &Selector| wish.is_some() && *wish != selector.current;
        if differs(&self.wishes.mode, &self.opened.modes) {
            self.settings.push_back(Setting::Mode);
        }
        let is_fitting = |mode: &&str| {
            let Selector { choices, current, .. } = &self.opened.modes;
            current.as_deref() != Some(mode) && choices.iter().any(|choice| choice.id == *mode)
        };
        if self.wishes.mode.is_none() && self.wishes.fitting.as_ref().is_some_and(is_fitting) {
            self.settings.push_back(Setting::Fitting);
        }
        if differs(&self.wishes.model, &self.opened.models) {
            self.settings.push_back(Setting::Model);
        }
        self.opening = opening;
        self.set_next()
    }

    /// Chooses what is left to choose; the session is ready when nothing is.
    fn set_next(mut self) -> Next {
        let Some(setting) = self.settings.pop_front() else { return self.ready() };
        let (wish, selector) = match setting {
            Setting::Mode => (self.wishes.mode.clone(), &mut self.opened.modes),
            Setting::Fitting => (self.wishes.fitting.map(str::to_owned), &mut self.opened.modes),
            Setting::Model => (self.wishes.model.clone(), &mut self.opened.models),
        };
        let value = wish.unwrap_or_default();
        let Some(setter) = &selector.setter else {
            return Next::Failed(self.not_set(setting, "the agent offers no choice"));
        };
        let session = self.opened.session.clone().unwrap_or_default();
        let (method, params) = message::select(&session, setter, &value);
        if setting != Setting::Fitting {
            selector.current = Some(value);
        }
        self.call(Call::Set(setting), method, params)
    }

    fn not_set(&self, setting: Setting, reason: &str) -> Failure {
        let (kind, word, wish, selector) = match setting {
            Setting::Mode | Setting::Fitting => (FailureKind::Setup, "mode", &self.wishes.mode, &self.opened.modes),
            Setting::Model => (FailureKind::Model, "model", &self.wishes.model, &self.opened.models),
        };
        let value = wish.as_deref().unwrap_or_default();
        let failure = Failure::new(kind, format!("the agent refuses the {word} `{value}`: {reason}"));
        let known: Vec<String> = selector.choices.iter().map(|choice| format!("`{}`", choice.id)).collect();
        match known.is_empty() {
            true => failure,
            false => {
                let hint = format!("{}; the agent offers {}", failure.hint, known.join(", "));
                failure.with_hint(hint)
            }
        }
    }

    fn ready(self) -> Next {
        let Opened { session, models, modes } = self.opened;
        Next::Ready(Ready {
            started: Started {
                conversation: session.unwrap_or_default(),
                restored: self.opening != Opening::New,
                exec_at_ms: self.wishes.exec_at_ms,
                models: models.models(),
                model: models.current,
                modes: modes.choices,
                mode: modes.current,
                info: self.agent.info,
            },
            takes_images: self.agent.takes_images,
            replays: self.opening == Opening::Load,
        })
    }

    fn call(self, call: Call, method: &'static str, params: Value) -> Next {
        Next::Call(Box::new(Self { call, ..self }), method, params)
    }
}
