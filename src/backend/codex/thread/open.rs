//! The way to an open thread: who is logged in, what the user configured, then start or resume.

use std::time::Duration;

use serde_json::{Value, json};
use tracing::warn;

use crate::backend::Purpose;
use crate::backend::codex::fault::{self, Refusal};
use crate::backend::codex::settings::{Opening, read_models};
use crate::backend::codex::thread::{Effect, OPEN_LIMIT, Phase, Plan, REPLY_LIMIT, Tag, Thread, ask};
use crate::backend::event::{AgentInfo, Event, Started};
use crate::backend::failure::{Failure, FailureKind};

/// How long to wait for a process that is on its way out to let go of the thread, and how often.
const HELD_PAUSE: Duration = Duration::from_millis(500);
const HELD_TRIES: u32 = 20;

impl Thread {
    pub(super) fn on_ready(&mut self, exec_at_ms: i64, info: AgentInfo) -> Vec<Effect> {
        if !self.is_joining() {
            return Vec::new();
        }
        self.exec_at_ms = exec_at_ms;
        self.info = info;
        match self.wishes.purpose {
            Purpose::Survey => self.opening(Tag::Config, "config/read", json!({"includeLayers": false})),
            // Nothing refuses a turn when nobody is logged in: it would fail late, or hang.
            Purpose::Session | Purpose::Utility => {
                self.opening(Tag::Account, "account/read", json!({"refreshToken": false}))
            }
        }
    }

    /// The reply to the request of the opening that is under way.
    pub(super) fn on_opened(&mut self, tag: Tag, outcome: Result<Value, Refusal>) -> Vec<Effect> {
        if matches!(tag, Tag::Open(_))
            && let Some(failure) = self.suspected.take()
        {
            return self.on_config_refused(failure, outcome);
        }
        match (tag, outcome) {
            (Tag::Account, Ok(account)) if account["account"].is_null() && account["requiresOpenaiAuth"] == true => {
                self.suspected = Some(fault::not_logged_in("codex is not logged in"));
                self.opening(Tag::Config, "config/read", json!({"includeLayers": false}))
            }
            (Tag::Account, Ok(_)) => self.opening(Tag::Config, "config/read", json!({"includeLayers": false})),
            // Only the start of a thread tells which line is wrong; with this configuration none starts.
            (Tag::Config, Err(refusal @ Refusal::Error(_))) => {
                self.suspected = Some(fault::refused_config(&refusal, self.wishes.config_file.as_deref()));
                self.open_thread()
            }
            (Tag::Config, Ok(result)) => {
                if let Some(failure) = self.suspected.take() {
                    return self.fail_start(failure);
                }
                self.user = result["config"].clone();
                if self.wishes.purpose == Purpose::Survey {
                    return self.opening(Tag::Models, "model/list", json!({"limit": 200}));
                }
                if self.wishes.profile.is_none() {
                    return self.open_thread();
                }
                let nothing =
                    json!({"command": ["true"], "sandboxPolicy": {"type": "readOnly", "networkAccess": false}});
                self.opening(Tag::Probe, "command/exec", nothing)
            }
            // Where no sandbox can be made, every command fails while the turn says that all is well.
            (Tag::Probe, Ok(result)) if result["exitCode"] != 0 => {
                self.fail_start(fault::no_sandbox(result["stderr"].as_str().unwrap_or_default()))
            }
            (Tag::Probe, Err(Refusal::Error(error))) => self.fail_start(fault::no_sandbox(&error.message)),
            (Tag::Probe, Ok(_)) => self.open_thread(),
            (Tag::Models, Ok(result)) => {
                let own = self.user["model"].as_str().map(str::to_owned);
                let started = Started { models: read_models(&result), ..self.started(own) };
                let mut effects = vec![Effect::Emit(Event::Started(started))];
                effects.extend(self.rest());
                effects
            }
            (Tag::Open(opening), Ok(result)) => self.on_thread(opening, &result),
            (Tag::Open(Opening::Resume), Err(refusal)) => self.not_resumed(&refusal),
            (tag, Err(refusal)) => self.fail_start(self.refused(described(tag), &refusal)),
            (Tag::Turn(_) | Tag::Steer | Tag::Interrupt | Tag::Clean | Tag::Unsubscribe, Ok(_)) => Vec::new(),
        }
    }

    /// The configuration was refused before: the conversation ends, whatever became of the thread.
    fn on_config_refused(&mut self, failure: Failure, outcome: Result<Value, Refusal>) -> Vec<Effect> {
        let failure = match outcome {
            Ok(result) => {
                self.id = result["thread"]["id"].as_str().unwrap_or_default().to_owned();
                failure
            }
            Err(refusal) => Some(self.refused("to open the conversation", &refusal))
                .filter(|told| told.kind == FailureKind::Setup)
                .unwrap_or(failure),
        };
        self.fail_start(failure)
    }

    fn on_thread(&mut self, opening: Opening, result: &Value) -> Vec<Effect> {
        let Some(id) = result["thread"]["id"].as_str() else {
            return self.fail_start(fault::opened_wrongly("thread", "an id", "none"));
        };
        self.id = id.to_owned();
        if self.plan == Plan::Close {
            return self.leave();
        }
        if let Err(failure) = self.wishes.check(result) {
            return match opening {
                Opening::Resume => self.start_over(failure),
                Opening::Start => self.fail_start(failure),
            };
        }
        let mut effects = Vec::new();
        if !std::mem::replace(&mut self.has_started, true) {
            let started = Started {
                restored: opening == Opening::Resume,
                ..self.started(result["model"].as_str().map(str::to_owned))
            };
            effects.push(Effect::Emit(Event::Started(started)));
        }
        effects.extend(self.rest());
        effects
    }

    fn started(&self, model: Option<String>) -> Started {
        Started {
            conversation: self.id.clone(),
            restored: false,
            exec_at_ms: self.exec_at_ms,
            models: Vec::new(),
            model,
            modes: Vec::new(),
            mode: None,
            info: self.info.clone(),
        }
    }

    /// A thread without a turn was never written down, so an unknown id is nothing unusual.
    fn not_resumed(&mut self, refusal: &Refusal) -> Vec<Effect> {
        let error = match refusal {
            Refusal::Error(error) if !error.message.contains("failed to load configuration") => error,
            Refusal::Error(_) | Refusal::Silence => {
                return self.fail_start(self.refused("to restore the conversation", refusal));
            }
        };
        if self.plan == Plan::Close {
            return self.leave();
        }
        if error.message.contains("active writer") && self.tries < HELD_TRIES {
            self.tries += 1;
            self.phase = Phase::Held;
            return vec![Effect::Arm(HELD_PAUSE)];
        }
        self.start_over(self.refused("to restore the conversation", refusal))
    }

    /// A fresh thread in place of one that does not open. Whoever sends prompts already counts on the old one: a fresh
    /// one would answer them without the history, so then the conversation ends.
    fn start_over(&mut self, failure: Failure) -> Vec<Effect> {
        if self.has_started {
            return self.fail_start(failure);
        }
        warn!(reason = failure.message, "conversation not restored");
        self.open(Opening::Start)
    }

    fn open_thread(&mut self) -> Vec<Effect> {
        self.open(if self.wishes.resume.is_some() { Opening::Resume } else { Opening::Start })
    }

    pub(super) fn open(&mut self, opening: Opening) -> Vec<Effect> {
        let method = match opening {
            Opening::Start => "thread/start",
            Opening::Resume => "thread/resume",
        };
        let params = self.wishes.open(opening, &self.user);
        self.phase = Phase::Opening(Tag::Open(opening));
        vec![ask(Tag::Open(opening), method, params, OPEN_LIMIT)]
    }

    /// The failure that a refused request stands for.
    pub(super) fn refused(&self, what: &str, refusal: &Refusal) -> Failure {
        fault::refused(what, refusal, self.wishes.config_file.as_deref())
    }

    fn opening(&mut self, tag: Tag, method: &'static str, params: Value) -> Vec<Effect> {
        self.phase = Phase::Opening(tag);
        vec![ask(tag, method, params, REPLY_LIMIT)]
    }
}

/// What was asked, in words for a failure.
fn described(tag: Tag) -> &'static str {
    match tag {
        Tag::Account => "who is logged in",
        Tag::Config => "to tell its configuration",
        Tag::Probe => "to try its sandbox",
        Tag::Models => "to list its models",
        Tag::Open(_) => "to open the conversation",
        Tag::Turn(_) | Tag::Steer | Tag::Interrupt | Tag::Clean | Tag::Unsubscribe => "a request",
    }
}
