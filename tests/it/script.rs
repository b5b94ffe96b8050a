//! Prompts for the scripted agent: one directive per line, so that a test says what the agent does and nothing else.

/// Several directives in order.
pub(crate) fn steps<S: AsRef<str>>(steps: &[S]) -> String {
    steps.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("\n")
}

/// Writes one line to a file of the worktree.
pub(crate) fn write(path: &str, text: &str) -> String {
    format!("write {path} {text}")
}

/// Ends the turn with this answer.
pub(crate) fn say(text: &str) -> String {
    format!("say {text}")
}

/// Ends the turn with a question.
pub(crate) fn ask(question: &str, options: &[&str]) -> String {
    format!("ask {question} | {}", options.join(" | "))
}

/// Runs a shell command, once a person allowed it.
pub(crate) fn ask_to_run(command: &str) -> String {
    format!("permit {command}")
}

/// Runs a shell command.
pub(crate) fn run(command: &str) -> String {
    format!("run {command}")
}

/// Never ends the turn by itself.
pub(crate) fn hang() -> String {
    "hang".to_owned()
}

/// The agent's process dies in the middle of the turn.
pub(crate) fn crash() -> String {
    "crash".to_owned()
}

/// The agent answers with an error of its own.
pub(crate) fn fail(message: &str) -> String {
    format!("fail {message}")
}

/// Ends the turn with this text instead of a structured response.
pub(crate) fn raw(text: &str) -> String {
    format!("raw {text}")
}
