//! Prompts for the scripted agent: one directive per line, so that a test says what the agent does and nothing else.

use serde_json::{Value, json};

/// Several directives in order.
pub(crate) fn steps<S: AsRef<str>>(steps: &[S]) -> String {
    steps.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("\n")
}

/// Writes one line to a file of the worktree.
pub(crate) fn write(path: &str, text: &str) -> String {
    format!("@write {path} {text}")
}

/// Ends the turn with this answer.
pub(crate) fn say(text: &str) -> String {
    format!("@answer {text}")
}

/// Ends the turn with a question.
pub(crate) fn ask(question: &str, options: &[&str]) -> String {
    format!("@ask {question} | {}", options.join(" | "))
}

/// Runs a shell command, once a person allowed it.
pub(crate) fn ask_to_run(command: &str) -> String {
    format!("@permission {command}\n@run {command}")
}

/// Runs a shell command.
pub(crate) fn run(command: &str) -> String {
    format!("@run {command}")
}

/// Never ends the turn by itself.
pub(crate) fn hang() -> String {
    "@hang".to_owned()
}

/// The agent's process dies in the middle of the turn.
pub(crate) fn crash() -> String {
    "@crash".to_owned()
}

/// The agent answers with an error of its own.
pub(crate) fn fail(message: &str) -> String {
    format!("@fail {message}")
}

/// Ends the turn with something that is no response, and the repair turn too.
pub(crate) fn misfit() -> String {
    "@invalid".to_owned()
}

/// Ends the turn with something that is no response; the repair turn is sound.
pub(crate) fn misfit_once() -> String {
    "@invalid once".to_owned()
}

/// Starts a process that leaves its session and its group, and writes its pid to a file of the worktree.
pub(crate) fn stray(path: &str) -> String {
    format!("@child {path}")
}

/// Ends the turn with the number of turns that the agent remembers.
pub(crate) fn recall() -> String {
    "@echo-history".to_owned()
}

/// Calls a served tool; its result is part of the answer.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    format!("@call {tool} {arguments}")
}

/// The same calls, all of them at once.
pub(crate) fn together<S: AsRef<str>>(calls: &[S]) -> String {
    calls.iter().map(|call| call.as_ref().replacen("@call ", "@call& ", 1)).collect::<Vec<_>>().join("\n")
}

/// Hands a script to a child.
pub(crate) fn delegate(agent: &str, script: &str) -> String {
    call("delegate", &json!({ "agent_id": agent, "task": script, "context_summary": "none" }))
}

/// Asks a person in the middle of the turn; the answer is part of the agent's own.
pub(crate) fn question(text: &str, options: &[&str]) -> String {
    call("question", &json!({ "question": text, "options": options }))
}

/// Goes on when the file is there.
pub(crate) fn wait_for_file(path: &std::path::Path) -> String {
    format!("@wait {}", path.display())
}

/// Ends the turn with the text of a file of the worktree.
pub(crate) fn read(path: &str) -> String {
    format!("@read {path}")
}
