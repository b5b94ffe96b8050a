//! The agent's side of ACP over any pair of streams: one loop, one conversation at a time.
//!
//! A thread reads, this one writes; while a turn runs, messages that do not concern it wait.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use serde_json::{Value, json};

use crate::backend::demo::served::Server;
use crate::backend::demo::state::State;
use crate::backend::demo::work::Wake;
use crate::backend::demo::{Options, Reach, Restore, served};
use crate::backend::transport::jsonrpc::{self, METHOD_NOT_FOUND, Message};

/// The exit code of a scripted crash.
const CRASHED: u8 = 3;

/// The names it answers to; there is no model behind either.
const MODELS: [(&str, &str); 2] =
    [("scripted", "Scripted (no model)"), ("scripted-small", "Scripted, under a second name")];

const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

/// Serves one client until it goes or the script crashes; returns the exit code.
pub(crate) fn serve(input: impl BufRead + Send + 'static, output: impl Write, options: Options) -> u8 {
    let (wakes, inbox) = mpsc::channel();
    let reader = wakes.clone();
    thread::spawn(move || read(input, &reader));
    let state = State::open(options.state.clone());
    let mut agent = Agent {
        output,
        options,
        inbox,
        wakes,
        waiting: VecDeque::new(),
        state,
        seats: HashMap::new(),
        next_request: 0,
        next_token: 0,
    };
    match agent.run() {
        Ok(()) | Err(Gone::Client) => 0,
        Err(Gone::Crash) => CRASHED,
    }
}

/// The demo agent.
pub(super) struct Agent<W> {
    output: W,
    pub(super) options: Options,
    inbox: Receiver<Wake>,
    pub(super) wakes: Sender<Wake>,
    /// Messages that came while a turn ran.
    waiting: VecDeque<Message>,
    pub(super) state: State,
    /// The conversations that are open.
    seats: HashMap<String, Seat>,
    next_request: u64,
    next_token: u64,
}

/// An open conversation.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    /// The work tree.
    pub(super) place: PathBuf,
    pub(super) model: &'static str,
    /// What it cost since it was opened, in millionths of a dollar.
    pub(super) cost: u64,
    /// Who serves tools to it.
    pub(super) servers: Vec<Server>,
}

/// Why the agent ends.
#[derive(Debug)]
pub(super) enum Gone {
    Client,
    Crash,
}

/// The client reads no more, so there is nobody left to serve.
impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Self::Client
    }
}

/// The error of a request.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) details: String,
}

impl Refusal {
    pub(super) fn new(code: i64, details: impl Into<String>) -> Self {
        Self { code, message: "the demo agent cannot do this".to_owned(), details: details.into() }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::new(INTERNAL_ERROR, error.to_string())
    }
}

/// What a wait brought.
pub(super) enum Waited<T> {
    Got(T),
    Cancelled,
}

impl<W: Write> Agent<W> {
    fn run(&mut self) -> Result<(), Gone> {
        loop {
            let message = match self.waiting.pop_front() {
                Some(message) => message,
                None => match self.inbox.recv() {
                    Ok(Wake::Message(message)) => message,
                    Ok(Wake::Closed) | Err(_) => return Ok(()),
                    // Late news of a turn that is over.
                    Ok(Wake::Output { .. } | Wake::Ended { .. } | Wake::Ready { .. } | Wake::Served { .. }) => continue,
                },
            };
            match message {
                Message::Request { id, method, params } => self.answer(&id, &method, &params)?,
                // Nothing runs, so there is nothing to cancel and nothing we asked for.
                Message::Notification { .. } | Message::Response { .. } => {}
            }
        }
    }

    fn answer(&mut self, id: &Value, method: &str, params: &Value) -> Result<(), Gone> {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let result = match method {
            "initialize" => Ok(self.introduce()),
            "authenticate" => Ok(json!({})),
            "session/new" => self.open(params),
            "session/load" if self.options.restore == Restore::Offered => return self.load(id, session, params),
            "session/set_model" => self.choose(session, params["modelId"].as_str().unwrap_or_default()),
            "session/prompt" => match self.seats.get(session).cloned() {
                Some(seat) => self.prompt(session, seat, params)?,
                None => Err(Refusal::new(INVALID_PARAMS, format!("session `{session}` not found"))),
            },
            _ => Err(Refusal::new(METHOD_NOT_FOUND, format!("method `{method}` not found"))),
        };
        match result {
            Ok(result) => self.send(&jsonrpc::response(id, result)),
            Err(refusal) => {
                let data = json!({"details": refusal.details});
                self.send(&jsonrpc::error(id, refusal.code, &refusal.message, data))
            }
        }
    }

    fn introduce(&self) -> Value {
        json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "coppice-demo", "title": "Scripted demo agent", "version": env!("CARGO_PKG_VERSION")},
            "agentCapabilities": {
                "loadSession": self.options.restore == Restore::Offered,
                "promptCapabilities": {"image": true},
                "mcpCapabilities": {"http": self.options.reach == Reach::Http, "sse": false},
            },
            "authMethods": [],
        })
    }

    fn open(&mut self, params: &Value) -> Result<Value, Refusal> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Refusal::new(INTERNAL_ERROR, error.to_string()))?;
        let session = format!("demo-{:016x}", u64::from_be_bytes(random));
        self.settle(&session, params)?;
        self.state.begin(&session)?;
        Ok(json!({"sessionId": session, "models": models()}))
    }

    /// Restores a conversation, with its history around the reply, as other agents do.
    fn load(&mut self, id: &Value, session: &str, params: &Value) -> Result<(), Gone> {
        let memory = self.state.recall(session).map(|memory| memory.turns.clone());
        let unknown = || Refusal::new(INTERNAL_ERROR, format!("conversation `{session}` is unknown"));
        let turns = match memory.ok_or_else(unknown).and_then(|turns| self.settle(session, params).map(|()| turns)) {
            Ok(turns) => turns,
            Err(refusal) => {
                let data = json!({"details": refusal.details});
                return self.send(&jsonrpc::error(id, refusal.code, &refusal.message, data));
            }
        };
        let (early, late) = turns.split_at(turns.len() / 2);
        for turn in early {
            self.replay(session, &turn.prompt, turn.answer.as_deref())?;
        }
        self.send(&jsonrpc::response(id, json!({"models": models()})))?;
        for turn in late {
            self.replay(session, &turn.prompt, turn.answer.as_deref())?;
        }
        self.update(session, json!({"sessionUpdate": "available_commands_update", "availableCommands": []}))
    }

    fn replay(&mut self, session: &str, prompt: &str, answer: Option<&str>) -> Result<(), Gone> {
        let chunk = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        self.update(session, chunk("user_message_chunk", prompt))?;
        answer.map_or(Ok(()), |answer| self.update(session, chunk("agent_message_chunk", answer)))
    }

    fn settle(&mut self, session: &str, params: &Value) -> Result<(), Refusal> {
        let place = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        if !place.is_dir() {
            return Err(Refusal::new(INTERNAL_ERROR, format!("directory `{}` does not exist", place.display())));
        }
        self.seats
            .insert(session.to_owned(), Seat { place, model: MODELS[0].0, cost: 0, servers: served::servers(params) });
        Ok(())
    }

    fn choose(&mut self, session: &str, wanted: &str) -> Result<Value, Refusal> {
        let known = MODELS.iter().find(|(id, _)| *id == wanted);
        let (Some((id, _)), Some(seat)) = (known, self.seats.get_mut(session)) else {
            return Err(Refusal::new(INVALID_PARAMS, format!("model `{wanted}` not found")));
        };
        seat.model = id;
        Ok(json!({}))
    }

    /// Adds to what a conversation cost; returns the sum.
    pub(super) fn charge(&mut self, session: &str, cost: u64) -> u64 {
        self.seats.get_mut(session).map_or(cost, |seat| {
            seat.cost = seat.cost.saturating_add(cost);
            seat.cost
        })
    }

    pub(super) fn update(&mut self, session: &str, update: Value) -> Result<(), Gone> {
        self.send(&jsonrpc::notification("session/update", json!({"sessionId": session, "update": update})))
    }

    /// Sends a request of ours; our ids begin at zero and are no relation of the client's.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<u64, Gone> {
        let id = self.next_request;
        self.next_request += 1;
        self.send(&jsonrpc::request(id, method, params))?;
        Ok(id)
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), Gone> {
        self.output.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.output.flush()?)
    }

    pub(super) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// Whether the turn was cancelled by now.
    pub(super) fn is_cancelled(&mut self, session: &str) -> Result<bool, Gone> {
        while let Ok(wake) = self.inbox.try_recv() {
            if self.sort(session, wake, &mut |_| None::<()>)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Blocks until a wake is the one that is waited for, or the turn is cancelled.
    pub(super) fn wait<T>(
        &mut self,
        session: &str,
        mut wanted: impl FnMut(&Wake) -> Option<T>,
    ) -> Result<Waited<T>, Gone> {
        loop {
            let wake = self.inbox.recv().map_err(|_| Gone::Client)?;
            if let Some(waited) = self.sort(session, wake, &mut wanted)? {
                return Ok(waited);
            }
        }
    }

    fn sort<T>(
        &mut self,
        session: &str,
        wake: Wake,
        wanted: &mut dyn FnMut(&Wake) -> Option<T>,
    ) -> Result<Option<Waited<T>>, Gone> {
        if let Some(got) = wanted(&wake) {
            return Ok(Some(Waited::Got(got)));
        }
        match wake {
            Wake::Closed => Err(Gone::Client),
            Wake::Message(Message::Notification { method, params }) => {
                let concerns_us = method == "session/cancel" && params["sessionId"].as_str() == Some(session);
                Ok(concerns_us.then_some(Waited::Cancelled))
            }
            Wake::Message(message) => {
                self.waiting.push_back(message);
                Ok(None)
            }
            Wake::Output { .. } | Wake::Ended { .. } | Wake::Ready { .. } | Wake::Served { .. } => Ok(None),
        }
    }
}

fn models() -> Value {
    let models: Vec<Value> = MODELS.iter().map(|(id, name)| json!({"modelId": id, "name": name})).collect();
    json!({"availableModels": models, "currentModelId": MODELS[0].0})
}

fn read(input: impl BufRead, wakes: &Sender<Wake>) {
    for line in input.split(b'\n') {
        let Ok(line) = line else { break };
        if let Ok(message) = jsonrpc::parse(&String::from_utf8_lossy(&line))
            && wakes.send(Wake::Message(message)).is_err()
        {
            return;
        }
    }
    // The agent may have ended first.
    wakes.send(Wake::Closed).ok();
}
