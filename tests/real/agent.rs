//! The three programs under test, and what a test has to know about each: only data, so that a case is written once.

use std::path::PathBuf;

use crate::model::Dialect;
use crate::model::script::{Step, say};

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Gemini,
}

impl Agent {
    pub(crate) const ALL: [Agent; 3] = [Agent::Claude, Agent::Codex, Agent::Gemini];

    /// The name of the backend, which is the name of the program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
        }
    }

    /// A model that the program knows by itself.
    pub(crate) fn model(self) -> &'static str {
        match self {
            Agent::Claude => "claude-opus-4-7",
            Agent::Codex => "gpt-5.5",
            Agent::Gemini => "gemini-2.5-pro",
        }
    }

    /// What `--model` is given.
    pub(crate) fn choice(self) -> String {
        format!("{}/{}", self.name(), self.model())
    }

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Agent::Claude => Dialect::Anthropic,
            Agent::Codex => Dialect::OpenAi,
            Agent::Gemini => Dialect::Google,
        }
    }

    /// The variable that holds the user's key, and a key that no other agent may ever send.
    pub(crate) fn key(self) -> (&'static str, &'static str) {
        match self {
            Agent::Claude => ("ANTHROPIC_API_KEY", "key-of-claude-4711"),
            Agent::Codex => ("OPENAI_API_KEY", "key-of-codex-4712"),
            Agent::Gemini => ("GEMINI_API_KEY", "key-of-gemini-4713"),
        }
    }

    /// The variable that leads the program to a model server; Codex is told by its configuration.
    pub(crate) fn base_url(self) -> Option<&'static str> {
        match self {
            Agent::Claude => Some("ANTHROPIC_BASE_URL"),
            Agent::Codex => None,
            Agent::Gemini => Some("GOOGLE_GEMINI_BASE_URL"),
        }
    }

    /// The replies of one turn that ends with text instead of a response: Claude is asked once more by its own program.
    pub(crate) fn misfit(self, text: &str) -> Vec<Step> {
        match self {
            Agent::Claude => vec![say(text), say(text)],
            Agent::Codex | Agent::Gemini => vec![say(text)],
        }
    }

    /// Whether the provider holds the model to a schema by itself.
    pub(crate) fn has_schema(self) -> bool {
        match self {
            Agent::Claude | Agent::Codex => true,
            Agent::Gemini => false,
        }
    }

    /// The installed program.
    pub(crate) fn program(self) -> PathBuf {
        programs().join(self.name())
    }
}

/// Where `tests/real/run` installed the programs.
pub(crate) fn programs() -> PathBuf {
    std::env::var_os("COPPICE_REAL_BIN").expect("run this suite with `tests/real/run`").into()
}

/// Where it installed the other agents.
pub(crate) fn other_programs() -> PathBuf {
    std::env::var_os("COPPICE_REAL_AGENTS").expect("run this suite with `tests/real/run`").into()
}

/// Makes each case a test of its own for each program: `claude::name`, `codex::name`, `gemini::name`.
macro_rules! for_each_agent {
    ($($case:ident),+ $(,)?) => {
        crate::agent::for_each_agent!(@agent claude, Claude, $($case),+);
        crate::agent::for_each_agent!(@agent codex, Codex, $($case),+);
        crate::agent::for_each_agent!(@agent gemini, Gemini, $($case),+);
    };
    (@agent $module:ident, $agent:ident, $($case:ident),+) => {
        mod $module {
            $(
                #[test]
                fn $case() {
                    super::$case(crate::agent::Agent::$agent);
                }
            )+
        }
    };
}
pub(crate) use for_each_agent;
