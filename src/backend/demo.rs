//! The scripted agent inside our own executable: it speaks ACP, really edits files and runs commands, and thinks nothing.
//!
//! Its script travels in the prompt as lines that begin with `@`; `script.rs` has the list. It serves the demo, the
//! tutorial and the tests, and says of itself that it is scripted.

mod agent;
mod draft;
mod native;
mod person;
mod script;
mod served;
mod state;
#[cfg(test)]
mod tests;
mod tool;
mod turn;
mod work;

use std::env;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::backend::registry::{DEMO_PERSON, DEMO_STATE_ENV};
use crate::backend::{Native, acp};
use state::State;

/// How the agent behaves, whatever its script says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Where conversations outlive the process; without it they end with it.
    pub(crate) state: Option<PathBuf>,
    /// Whether a conversation can be restored.
    pub(crate) restore: Restore,
    /// The pause between two chunks of text, so that a person sees them come.
    pub(crate) pace: Duration,
    /// The script for questions on the side; without one they are refused, because a script has no opinion.
    pub(crate) aside: Option<String>,
    /// A file that gets one line for each prompt: `turn` or `aside`.
    pub(crate) tally: Option<PathBuf>,
    /// Which servers of tools it can reach.
    pub(crate) reach: Reach,
    /// What is left of its own abilities.
    pub(crate) native: Native,
}

/// How it reaches servers of tools, as it says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    #[default]
    Http,
    /// Only those that it starts.
    Stdio,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Restore {
    #[default]
    Offered,
    NotOffered,
}

/// What the hidden entry was asked to be.
#[derive(Debug)]
enum Role {
    Agent(Options),
    /// The other side of a terminal, for a person who wants to see this conversation.
    Person(String),
    /// A process that leaves its session and its group and stays, for tests of process trees.
    Stray,
}

/// The hidden entry: `args` is what follows it on the command line.
pub fn main(args: impl IntoIterator<Item = String>) -> ExitCode {
    match parse(args) {
        Ok(Role::Agent(options)) => {
            let state = env::var_os(DEMO_STATE_ENV).map(PathBuf::from);
            let native = acp::native::read(|name| env::var(name).ok());
            let code = agent::serve(BufReader::new(io::stdin()), io::stdout(), Options { state, native, ..options });
            ExitCode::from(code)
        }
        Ok(Role::Person(conversation)) => {
            let state = State::open(env::var_os(DEMO_STATE_ENV).map(PathBuf::from));
            let tree = env::current_dir().unwrap_or_default();
            let ended = person::talk(state, &conversation, &tree, io::stdin().lock(), io::stdout());
            // A terminal that is gone has nobody in front of it.
            ended.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Ok(Role::Stray) => work::stray(),
        Err(problem) => {
            // Nothing is left to do when even stderr is gone.
            writeln!(io::stderr(), "error: {problem}").ok();
            ExitCode::from(2)
        }
    }
}

fn parse(args: impl IntoIterator<Item = String>) -> Result<Role, String> {
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--no-load" => options.restore = Restore::NotOffered,
            "--stdio-mcp" => options.reach = Reach::Stdio,
            "--slow" => {
                let value = args.next().unwrap_or_default();
                let pause = value.parse().map_err(|_| format!("`--slow {value}`: expected milliseconds"))?;
                options.pace = Duration::from_millis(pause);
            }
            "--aside" => options.aside = args.next(),
            "--tally" => options.tally = args.next().map(PathBuf::from),
            DEMO_PERSON => return Ok(Role::Person(args.next().unwrap_or_default())),
            work::STRAY_FLAG => return Ok(Role::Stray),
            other => {
                let known = "`--no-load`, `--stdio-mcp`, `--slow MS`, `--aside SCRIPT`, `--tally FILE`";
                return Err(format!("unknown argument `{other}`, known: {known}"));
            }
        }
    }
    Ok(Role::Agent(options))
}
