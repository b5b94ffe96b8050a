//! Backends: external coding agents, made to look the same.
//!
//! A backend turns a `Launch` into a `Conversation`: commands in, normalised events out. It knows neither git nor
//! the store nor how processes are caged; those who start one hand it a `Spawner`.

mod acp;
mod agent_dir;
mod claude;
mod codex;
pub mod demo;
mod diff;
pub mod discovery;
pub mod door;
pub mod event;
pub mod failure;
pub mod gemini;
mod hold;
pub mod hosts;
pub(crate) mod install;
pub mod interactive;
pub mod key_helper;
pub(crate) mod login;
mod nested_instructions;
mod output;
mod posture;
pub mod preset;
#[cfg(test)]
mod promise;
pub mod refusal;
pub mod registry;
pub(crate) mod remedy;
pub mod spec;
mod state;
pub mod transport;
pub(crate) mod user_file;
mod user_instructions;
pub mod user_login;
pub(crate) mod user_setup;
mod versions;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::backend::door::carry;
use crate::backend::event::{Command, Event};
use crate::backend::spec::{Reasoning, Spec, Transport};
use crate::backend::transport::spawn::Spawner;
use crate::mcp::{self, Annotations};
use crate::permission::{Effect, Posture};
use crate::tool::Tool;

/// Everything one conversation needs to begin.
pub struct Launch {
    pub spec: Spec,
    /// The resolved program and its arguments.
    pub argv: Vec<String>,
    /// The work tree.
    pub cwd: PathBuf,
    /// The environment of the session; what the spec sets is added to it.
    pub env: Vec<(String, String)>,
    /// Names among them that the configuration hands to commands, whatever they hold.
    pub project_env: Vec<String>,
    pub purpose: Purpose,
    /// The conversation to go on with.
    pub resume: Option<String>,
    pub model: Option<String>,
    pub reasoning: Option<Reasoning>,
    pub mode: Option<String>,
    /// The rules of the conversation, for a backend that takes them beside it.
    pub rules: Option<String>,
    /// The project's instructions, for a backend that must not look for them itself.
    pub instructions: Option<String>,
    /// The schema of the response in the backend's dialect.
    pub schema: Option<Value>,
    /// The user's checkout and other roots of the same repository, which the agent must not take as trusted.
    pub roots: Vec<PathBuf>,
    /// The tools that Coppice serves in this conversation.
    pub tools: Vec<ServedTool>,
    /// What is left of the agent's own tools.
    pub native: Native,
    /// What happens with calls that no rule decides; the agent's own modes follow it.
    pub posture: Posture,
    /// The one file that may be written while a plan is made; it lies outside of the work tree.
    pub plan_file: Option<PathBuf>,
    /// What the agent and its commands may reach.
    pub confines: Confines,
    /// Where the agent may keep its own state.
    pub state_dir: PathBuf,
    /// Where the login is that the conversations of this backend share, if it cannot stay where the user keeps it.
    pub login_dir: PathBuf,
    /// An empty directory of ours for processes that must not stand in a work tree.
    pub neutral_dir: PathBuf,
    /// The program and its arguments that bring served tools to agents that know no HTTP.
    pub bridge: Vec<String>,
    pub spawn: Arc<dyn Spawner>,
}

/// What the processes of a conversation may reach. An agent that confines its own commands turns this into its own
/// rules; around the others the one who starts them builds a cage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confines {
    /// `None` is no limit at all.
    pub limits: Option<Limits>,
    /// The directory for temporary files, which is the session's own; `None` leaves it to the environment.
    pub temp: Option<PathBuf>,
}

/// Places and hosts that can be reached; everything else cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Besides the work tree and what may be written.
    pub read: Vec<PathBuf>,
    /// The work tree is among them unless it may only be read.
    pub write: Vec<PathBuf>,
    /// Never to be read, whatever lies around it.
    pub hidden: Vec<PathBuf>,
    pub hosts: Hosts,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Hosts {
    #[default]
    Any,
    /// Through the proxy that listens on this port of the own machine, which lets these hosts through.
    Only { hosts: Vec<String>, proxy: u16 },
}

/// What a conversation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The turns of a session.
    Session,
    /// One question on the side: nothing is kept of it, and no tool of the agent's own is there.
    Utility,
    /// Only to learn what the backend offers; it takes no prompt.
    Survey,
}

/// A tool that Coppice serves.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    /// What clients may assume about its calls. They decide nothing by it.
    pub effect: Effect,
}

/// What an agent may do with tools of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Native {
    /// The ones that exist; `None` is all of them.
    pub tools: Option<BTreeSet<NativeTool>>,
    pub access: Access,
}

/// One ability of agents, whatever each of them calls the tool for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NativeTool {
    Read,
    Search,
    Locate,
    List,
    Write,
    Edit,
    Patch,
    Bash,
    WebFetch,
    WebSearch,
    Todo,
}

/// Whether an agent may change the work tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    Write,
    ReadOnly,
}

impl NativeTool {
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::Search,
        Self::Locate,
        Self::List,
        Self::Write,
        Self::Edit,
        Self::Patch,
        Self::Bash,
        Self::WebFetch,
        Self::WebSearch,
        Self::Todo,
    ];

    pub fn tool(self) -> Tool {
        match self {
            Self::Read => Tool::Read,
            Self::Search => Tool::Search,
            Self::Locate => Tool::Locate,
            Self::List => Tool::List,
            Self::Write => Tool::Write,
            Self::Edit => Tool::Edit,
            Self::Patch => Tool::Patch,
            Self::Bash => Tool::Bash,
            Self::WebFetch => Tool::WebFetch,
            Self::WebSearch => Tool::WebSearch,
            Self::Todo => Tool::Todo,
        }
    }
}

/// A handle on one conversation; its actor owns the process. Dropping `commands` closes it.
pub struct Conversation {
    pub commands: mpsc::Sender<Command>,
    pub events: mpsc::Receiver<Event>,
}

/// How many commands and events may wait.
const QUEUE: usize = 128;

/// The backends at work in one daemon; conversations that share a process find each other here.
#[derive(Debug, Default)]
pub struct Backends {
    codex: codex::Pool,
    door: door::Door,
}

impl Backends {
    /// Starts a conversation; whether it really begins is told by its first event.
    ///
    /// Has to be called inside a tokio runtime.
    pub fn start(&self, launch: Launch) -> Conversation {
        let (commands, command_receiver) = mpsc::channel(QUEUE);
        let (event_sender, events) = mpsc::channel(QUEUE);
        match launch.spec.transport {
            Transport::Acp => {
                tokio::spawn(carry::run(self.door.clone(), launch, command_receiver, event_sender, acp::run))
            }
            Transport::Gemini => {
                tokio::spawn(carry::run(self.door.clone(), launch, command_receiver, event_sender, gemini::run))
            }
            Transport::Claude => tokio::spawn(claude::run(launch, command_receiver, event_sender)),
            Transport::Codex => tokio::spawn(codex::run(self.codex.clone(), launch, command_receiver, event_sender)),
        };
        Conversation { commands, events }
    }
}

impl Backends {
    /// The port of the own machine on which agents find the tools that Coppice serves.
    pub async fn door_port(&self) -> std::io::Result<u16> {
        self.door.port().await
    }
}

impl ServedTool {
    fn listed(&self) -> mcp::Tool {
        let Self { name, description, input_schema, effect } = self.clone();
        let annotations = Some(match effect {
            Effect::Reads => Annotations::ReadOnly,
            Effect::Adds => Annotations::Additive,
            Effect::Destroys => Annotations::Destructive,
        });
        mcp::Tool { name, description, input_schema, annotations }
    }
}

impl Launch {
    /// A launch that asks for nothing, for tests to fill in.
    #[cfg(test)]
    fn bare(state_dir: PathBuf, spawn: Arc<dyn Spawner>) -> Self {
        Self {
            spec: registry::demo("/bin/coppice".as_ref()),
            argv: Vec::new(),
            cwd: PathBuf::new(),
            env: Vec::new(),
            project_env: Vec::new(),
            purpose: Purpose::Session,
            resume: None,
            model: None,
            reasoning: None,
            mode: None,
            rules: None,
            instructions: None,
            schema: None,
            roots: Vec::new(),
            tools: Vec::new(),
            native: Native::default(),
            posture: Posture::Attended,
            plan_file: None,
            confines: Confines::default(),
            login_dir: state_dir.join("login"),
            neutral_dir: state_dir.clone(),
            state_dir,
            bridge: Vec::new(),
            spawn,
        }
    }

    /// The whole environment of the process: the session's, overridden by what the backend needs.
    fn environment(&self) -> Vec<(String, String)> {
        let state = self.spec.state_variables(&self.state_dir).into_iter();
        let own: Vec<(String, String)> = state.chain(self.spec.env.iter().cloned()).collect();
        let is_overridden = |name: &String| own.iter().any(|(known, _)| known == name);
        let session = self.env.iter().filter(|(name, _)| !is_overridden(name)).cloned();
        session.chain(own.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::backend::failure::Failure;
    use crate::backend::transport::spawn::{Child, SpawnRequest};

    struct Nobody;

    impl Spawner for Nobody {
        fn spawn(&self, _: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_tool_is_listed_with_what_its_calls_do() {
        for (effect, expected) in [
            (Effect::Reads, Annotations::ReadOnly),
            (Effect::Adds, Annotations::Additive),
            (Effect::Destroys, Annotations::Destructive),
        ] {
            let (name, description, input_schema) = ("x".to_owned(), String::new(), Value::Null);
            let tool = ServedTool { name, description, input_schema, effect };
            assert_eq!(tool.listed().annotations, Some(expected));
        }
    }

    #[test]
    fn what_the_backend_sets_is_stronger_than_the_session() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut spec = registry::demo("/bin/coppice".as_ref());
        spec.env = vec![pair("KEY", "backend")];
        let launch = Launch {
            spec,
            env: vec![pair("KEY", "session"), pair("PATH", "/bin"), pair(registry::DEMO_STATE_ENV, "elsewhere")],
            ..Launch::bare(PathBuf::from("/state"), Arc::new(Nobody))
        };
        let expected = [pair("PATH", "/bin"), pair(registry::DEMO_STATE_ENV, "/state"), pair("KEY", "backend")];
        assert_eq!(launch.environment(), expected);
    }
}
