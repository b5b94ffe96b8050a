//! What differs between backends, as data. Code branches on a field, never on a name.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::protocol::SchemaDialect;

/// One backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub name: String,
    /// Names under which other systems know the vendor of its models.
    pub vendors: Vec<String>,
    pub transport: Transport,
    /// The program and its arguments; the program is looked up on `PATH` unless it holds a slash.
    pub command: Vec<String>,
    /// Added to the environment of the process, stronger than what the session brings.
    pub env: Vec<(String, String)>,
    pub models: Models,
    /// Where the rules of the conversation go.
    pub rules: Rules,
    /// How the transport wants the schema of the response; `None` when it takes none.
    pub schema: Option<SchemaDialect>,
    pub resume: Resume,
    /// The arguments that open its own interface on a conversation, whose id follows; `None` where there is no such.
    pub interactive: Option<Vec<String>>,
    pub images: Images,
    pub instructions: Instructions,
    /// How the tools that Coppice serves reach the model.
    pub carrier: Carrier,
    /// How far the agent's own tools can be taken away.
    pub native_tools: NativeTools,
    /// How long a call of a served tool may take before the agent gives it up, with some room.
    pub hold: Duration,
    /// Whether a conversation that comes back can have other served tools than before.
    pub tool_list: ToolList,
    /// Who keeps the list of todos.
    pub todos: Todos,
    /// Who keeps the agent's commands within their limits.
    pub confined_by: ConfinedBy,
    /// How the variables begin that hold its keys and settings, as `PREFIX` or `PREFIX if SWITCH`; none for an agent of no
    /// vendor.
    pub keys: Vec<String>,
    /// Hosts without which the agent cannot think.
    pub hosts: Vec<String>,
    pub stop: StopLadder,
    /// The variable that tells the agent where to keep its own state, if it has one.
    pub state_env: Option<String>,
    /// Directories of the user's that the agent would keep its state in, and that a variable moves into the session.
    pub state_directories: Vec<StateDirectory>,
    /// Settings of ours in the state of the session, by the variable that leads the agent to the file.
    pub state_files: Vec<(String, String)>,
    /// Directories of the user's that the agent may write; `~/` is the home directory.
    pub paths: Vec<String>,
    /// Which versions work; `None` for programs that nobody tested.
    pub versions: Option<Versions>,
    /// How a person gets the program.
    pub install: Option<String>,
    /// The argument with which the program updates itself, where its own installer put it there.
    pub update: Option<String>,
    /// The command that logs a person in; it may ask something, so it wants a terminal.
    pub login: Option<String>,
    /// The variable that takes a key in the place of a login.
    pub key: Option<String>,
    /// A scripted agent thinks nothing: it is never offered among the real ones.
    pub scripted: bool,
}

/// A directory of an agent's own, moved into the state of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory {
    /// The variable that tells the agent where it is. Below the session's state it has the same name.
    pub variable: String,
    /// Where it is unless the user's environment sets the variable; `~/` is the home directory.
    pub user: String,
    /// Files with the login and the settings, copied from there before each start if they changed.
    pub copied: Vec<String>,
    /// What is read where it is, through links.
    pub linked: Vec<String>,
}

/// The language a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Agent Client Protocol, JSON-RPC lines over stdin and stdout.
    Acp,
    /// The same protocol, spoken by Gemini CLI in a home that Coppice furnishes.
    Gemini,
    /// Claude Code's own JSON lines, over stdin and stdout.
    Claude,
    /// `codex app-server`, one process for all conversations.
    Codex,
}

/// The models of a backend as far as they are known without asking it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    /// The first is the default.
    pub known: Vec<KnownModel>,
    /// What the agent is told when no model is named; `None` leaves it to the agent.
    pub fallback: Option<String>,
    /// Good enough for a title, and cheap.
    pub small: Option<String>,
    /// Old names and what they stand for.
    pub renamed: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    pub id: String,
    pub reasoning: Vec<Reasoning>,
}

/// How hard a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reasoning {
    Low,
    Medium,
    High,
    Xhigh,
}

/// How the rules of a conversation reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// At the top of the first prompt.
    InPrompt,
    /// Beside the conversation, with every start of the process.
    InSystem,
}

/// How a conversation comes back after its process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The agent restores it if it says that it can, otherwise it is replayed.
    Offered,
    /// Always replayed into a fresh conversation.
    Replay,
}

/// How images of a prompt reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// As blocks inside the prompt.
    Inline,
    /// As paths of files that the agent reads itself.
    Paths,
    /// As blocks inside the prompt, if the agent says that it takes them.
    Offered,
    Refused,
}

/// Who reads the project's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// The file in the work tree.
    pub file: String,
    pub read_by: Reader,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The agent finds it by itself.
    Agent,
    /// A safe start switches the agent's own search off, so it is handed over beside the prompt.
    Coppice,
}

/// How served tools reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// MCP messages over the agent's own pipe.
    Pipe,
    /// Tools of the agent's own protocol.
    Dynamic,
    /// An MCP server of ours that the agent connects to.
    Mcp,
}

/// How far the agent's own tools can be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeTools {
    /// Each one by name.
    Removable,
    /// Not the one for patches, nor a shell where there is anything to read; a sandbox of the agent's own keeps both from
    /// writing.
    Sandboxed,
    /// The protocol has no way.
    Fixed,
}

/// Who keeps an agent within its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfinedBy {
    /// A cage around the whole process.
    Coppice,
    /// The agent's own sandbox around each command; a cage around the agent would break it.
    Agent,
}

/// How long the served tools of a conversation stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolList {
    /// Each start of the process brings its own.
    PerStart,
    /// As long as the conversation lives; others need a fresh one.
    PerConversation,
}

/// Where the todos of a turn come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Todos {
    /// From a tool of the agent's own.
    Native,
    /// From a served tool.
    Served,
}

/// Which versions of a program work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Below this one it is refused.
    pub minimum: Version,
    /// The newest one that passed the tests against the real program.
    pub tested: Version,
}

/// A version in three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32, pub u32);

/// How long each polite step gets before the next, harder one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLadder {
    /// From the protocol's own cancel, or the end of its input, to `TERM`.
    pub cancel: Duration,
    /// From `TERM` to `KILL`.
    pub terminate: Duration,
}

/// A backend whose program is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("backend `{name}` has no command")]
    NoCommand { name: String },
    #[error("backend `{name}`: command `{command}` not found on PATH")]
    NotFound { name: String, command: String },
}

/// Finds the program of a backend, the way a shell that stands in `cwd` would.
pub fn resolve(spec: &Spec, path_env: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, ResolveError> {
    let command = spec.command.first().ok_or_else(|| ResolveError::NoCommand { name: spec.name.clone() })?;
    which::which_in(command, path_env, cwd)
        .map_err(|_| ResolveError::NotFound { name: spec.name.clone(), command: command.clone() })
}

impl Spec {
    /// The variables that lead the agent to its state.
    pub fn state_variables(&self, state_dir: &Path) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let whole = self.state_env.iter().map(|name| (name.clone(), text(state_dir)));
        let directories = self.state_directories.iter().map(|directory| &directory.variable);
        let parts = directories.chain(self.state_files.iter().map(|(variable, _)| variable));
        let parts = parts.map(|variable| (variable.clone(), text(&state_dir.join(variable))));
        whole.chain(parts).collect()
    }
}

impl Models {
    /// A table without reasoning levels, for agents that a configuration names.
    pub fn named(ids: Vec<String>) -> Self {
        let known = ids.into_iter().map(|id| KnownModel { id, reasoning: Vec::new() });
        Self { known: known.collect(), ..Self::default() }
    }

    /// Every level that one of the known models has.
    pub fn levels(&self) -> Vec<Reasoning> {
        let has = |level: &Reasoning| self.known.iter().any(|known| known.reasoning.contains(level));
        Reasoning::ALL.into_iter().filter(has).collect()
    }

    /// What a stored or typed name stands for.
    pub fn current<'a>(&'a self, id: &'a str) -> &'a str {
        self.renamed.iter().find(|(old, _)| old == id).map_or(id, |(_, new)| new)
    }
}

impl Reasoning {
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Xhigh];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }

    /// The level of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl Version {
    /// The first version in a text such as `codex-cli 0.166.0`.
    pub fn parse(text: &str) -> Option<Self> {
        text.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
            let mut numbers = word.split('.').map(|number| number.parse().ok());
            Some(Self(numbers.next()??, numbers.next()??, numbers.next()??))
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        for (text, expected) in [
            ("codex-cli 0.166.0", Some(Version(0, 166, 0))),
            ("2.1.197 (Claude Code)", Some(Version(2, 1, 197))),
            ("0.61.0\n", Some(Version(0, 61, 0))),
            ("agent v1.2.3-beta.4", Some(Version(1, 2, 3))),
            ("1.2", None),
            ("no number", None),
        ] {
            assert_eq!(Version::parse(text), expected, "{text}");
        }
        assert!(Version(0, 61, 0) < Version(0, 166, 0));
    }

    #[test]
    fn an_old_name_stands_for_the_model_that_replaced_it() {
        let models = Models { renamed: vec![("old".into(), "new".into())], ..Models::default() };
        assert_eq!((models.current("old"), models.current("other")), ("new", "other"));
    }
}
