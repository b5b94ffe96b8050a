//! The PROMPT argument: one argument, stdin when it is `-`, or what is written in the editor when there is none. Whatever is
//! wrong with it is said before anything is created.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};

use super::report::Failure;

/// Longer prompts are refused: no model reads that much, and a file in the worktree serves better.
const LIMIT: usize = 10_000_000;

/// The prompt of `new`, `run` and `send`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PromptArg {
    /// What the agent is asked to do, as one argument; `-` reads it from stdin. Without one your editor opens.
    #[arg(value_name = "PROMPT|-", num_args = 1..)]
    prompt: Vec<OsString>,
}

/// What a session begins with, for `new` and `run`: a prompt, a plan that was left for later, or both.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct TaskArg {
    /// What the agent is asked to do, as one argument; `-` reads it from stdin. Without one your editor opens.
    #[arg(value_name = "PROMPT|-", num_args = 1..)]
    prompt: Vec<OsString>,
    /// Carry out a plan that was left for later, then what PROMPT says; `coppice plan list` shows what waits.
    #[arg(long, value_name = "PLAN")]
    plan_resume: Option<String>,
}

/// What is said beside a plan, for `plan resume`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RemarkArg {
    /// What the agent is told beside the plan, as one argument; `-` reads it from stdin.
    #[arg(value_name = "PROMPT|-", num_args = 1..)]
    prompt: Vec<OsString>,
}

/// What a session begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) prompt: String,
    /// The id of a plan, or the beginning of it.
    pub(super) plan: Option<String>,
}

/// Who works on the prompt of `new`, `run` and `send`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct EngineArg {
    /// Which backend works, and with which model; `coppice models` lists them. `new` takes several.
    #[arg(long = "model", value_name = "BACKEND[/MODEL]")]
    pub(super) models: Vec<String>,
    /// How hard the model thinks.
    #[arg(long, value_name = "LEVEL", value_parser = ["low", "medium", "high", "xhigh"])]
    pub(super) reasoning: Option<String>,
    /// Which agent works; `coppice agents` lists them.
    #[arg(long, value_name = "AGENT[:PERSONA]")]
    pub(super) agent: Option<String>,
}

impl EngineArg {
    /// The model of a command that works with one.
    pub(super) fn model(&self) -> Result<Option<String>, Failure> {
        match self.models.as_slice() {
            [] => Ok(None),
            [model] => Ok(Some(model.clone())),
            [first, second, ..] => {
                Err(Failure::usage(format!("expected one --model, but got `{first}` and `{second}`"))
                    .hint("`coppice new` makes a session for each of several models"))
            }
        }
    }
}

impl PromptArg {
    /// The text to send.
    pub(super) fn read(self) -> Result<String, Failure> {
        read(self.prompt)
    }
}

impl TaskArg {
    pub(super) fn read(self) -> Result<Task, Failure> {
        match self.plan_resume {
            None => Ok(Task { prompt: read(self.prompt)?, plan: None }),
            Some(plan) => Task::of_plan(plan, self.prompt),
        }
    }
}

impl RemarkArg {
    /// The plan, and what is said beside it.
    pub(super) fn read(self, plan: String) -> Result<Task, Failure> {
        Task::of_plan(plan, self.prompt)
    }
}

impl Task {
    fn of_plan(plan: String, remark: Vec<OsString>) -> Result<Task, Failure> {
        let prompt = if remark.is_empty() { String::new() } else { read(remark)? };
        Ok(Task { prompt, plan: Some(plan) })
    }
}

fn read(words: Vec<OsString>) -> Result<String, Failure> {
    if words.is_empty() {
        return check(write_in_editor()?.into_bytes(), "the editor");
    }
    let argument = single(words)?;
    match argument.as_encoded_bytes() {
        b"-" => check(read_stdin()?, "stdin"),
        _ => check(argument.into_encoded_bytes(), "the PROMPT argument"),
    }
}

fn single(words: Vec<OsString>) -> Result<OsString, Failure> {
    let count = words.len();
    let mut words = words.into_iter();
    match (words.next(), count) {
        (Some(word), 1) => Ok(word),
        (first, _) => {
            let first = first.unwrap_or_default();
            Err(Failure::usage(format!("expected one PROMPT, but got {count} words from `{}` on", first.display()))
                .hint("put the prompt into quotes, or send it through stdin with `-`"))
        }
    }
}

fn write_in_editor() -> Result<String, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage("there is no PROMPT, and no terminal for your editor")
            .hint("say what the agent shall do, for example \"fix the failing test\", or pipe it in with `-`"));
    }
    crate::tui::edit_text("").map_err(|error| Failure::because("no prompt came from the editor", &error))
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::usage("PROMPT is `-`, but stdin is a terminal")
            .hint("pipe the prompt in: `coppice new - < prompt.md`"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed shows that there is too much, without reading an endless pipe.
    let limit = u64::try_from(LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    stdin
        .by_ref()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::because("failed to read the prompt from stdin", &error))?;
    Ok(bytes)
}

fn check(bytes: Vec<u8>, origin: &str) -> Result<String, Failure> {
    if bytes.len() > LIMIT {
        return Err(Failure::usage(format!("the prompt from {origin} is longer than {LIMIT} bytes"))
            .hint("put long material into a file of the repository and name the file in the prompt"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!(
            "the prompt from {origin} is not UTF-8: byte {} is wrong",
            error.utf8_error().valid_up_to()
        ))
        .hint("convert it first, for example with `iconv -t UTF-8`")
    })?;
    match text.trim() {
        "" => Err(Failure::usage(format!("the prompt from {origin} is empty"))
            .hint("say what the agent shall do, for example \"fix the failing test\"")),
        trimmed => Ok(trimmed.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(result: Result<String, Failure>) -> String {
        match result {
            Ok(text) => text,
            Err(Failure::PipeClosed) => "(quiet)".into(),
            Err(Failure::Told(report)) => format!("{} [{}]", report.message, report.exit.code()),
        }
    }

    #[test]
    fn a_prompt_is_one_argument() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        assert_eq!(single(words(&["fix it"])).unwrap(), "fix it");
        let refused = single(words(&["fix", "the", "bug"])).map(|_| String::new());
        assert_eq!(outcome(refused), "expected one PROMPT, but got 3 words from `fix` on [2]");
    }

    #[test]
    fn a_prompt_is_text_that_says_something() {
        for (bytes, expected) in [
            ("  fix it\n".as_bytes().to_vec(), "fix it"),
            (b" \n\t".to_vec(), "the prompt from stdin is empty [2]"),
            (b"ab\xff".to_vec(), "the prompt from stdin is not UTF-8: byte 2 is wrong [2]"),
            (vec![b'x'; LIMIT + 1], "the prompt from stdin is longer than 10000000 bytes [2]"),
        ] {
            assert_eq!(outcome(check(bytes, "stdin")), expected);
        }
        assert_eq!(outcome(check(vec![b'x'; LIMIT], "stdin")).len(), LIMIT);
    }
}
