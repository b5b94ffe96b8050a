//! What a model says, in words that fit every provider: one `Step` is the reply to one request.

use std::time::Duration;

use serde_json::{Value, json};

/// What every reply that is no error claims to have cost.
pub(crate) const USAGE: Usage = Usage { input: 100, output: 20 };

/// Tokens of one reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// One reply of the model.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A message of plain text that ends the turn, whatever the schema says.
    Say(String),
    /// The structured response that ends a turn, in the way that each provider has for it; `prose` comes before it.
    Answer { prose: String, response: Value },
    /// Runs a command with the agent's own tool.
    Shell { command: String, reach: Reach },
    /// Writes a file with the agent's own tool.
    Write { path: String, content: String },
    /// Reads a file with the agent's own tool.
    Read { path: String },
    /// Calls any other tool of the agent's own.
    Native { name: String, input: Value },
    /// Calls tools that Coppice serves, all of them in one message.
    Serve(Vec<(String, Value)>),
    /// Words before the calls of another step, in one message.
    Before { prose: String, step: Box<Step> },
    /// An error instead of a reply.
    Status(u16),
    /// Begins a message, then the connection breaks.
    Cut,
    /// Begins a message and never goes on.
    Hang,
    /// The reply begins when the test says so.
    Held(Box<Step>),
}

/// Whether a command claims to need more than the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Worktree,
    Beyond,
}

/// Ends the turn with this answer.
pub(crate) fn answer(text: &str) -> Step {
    Step::Answer { prose: String::new(), response: json!({"answer": text, "questions": [], "summary": null}) }
}

/// Ends the turn with an answer that says what changed.
pub(crate) fn changed(text: &str, summary: &str) -> Step {
    let summary = json!({"turn": summary, "session": summary});
    Step::Answer { prose: String::new(), response: json!({"answer": text, "questions": [], "summary": summary}) }
}

/// Ends the turn with a question.
pub(crate) fn ask(question: &str, options: &[&str]) -> Step {
    let questions = json!([{"text": question, "options": options}]);
    Step::Answer { prose: String::new(), response: json!({"answer": "", "questions": questions, "summary": null}) }
}

/// Runs a command that keeps to the worktree.
pub(crate) fn shell(command: &str) -> Step {
    Step::Shell { command: command.to_owned(), reach: Reach::Worktree }
}

/// Runs a command that needs more than the worktree.
pub(crate) fn shell_beyond(command: &str) -> Step {
    Step::Shell { command: command.to_owned(), reach: Reach::Beyond }
}

/// Writes a file.
pub(crate) fn write(path: &str, content: &str) -> Step {
    Step::Write { path: path.to_owned(), content: content.to_owned() }
}

/// Reads a file.
pub(crate) fn read(path: &str) -> Step {
    Step::Read { path: path.to_owned() }
}

/// Calls a tool of the agent's own by its name.
pub(crate) fn native(name: &str, input: Value) -> Step {
    Step::Native { name: name.to_owned(), input }
}

/// Calls a tool that Coppice serves.
pub(crate) fn serve(tool: &str, arguments: Value) -> Step {
    serve_all([(tool, arguments)])
}

/// Calls several tools that Coppice serves, in one message.
pub(crate) fn serve_all<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Step {
    Step::Serve(calls.into_iter().map(|(tool, arguments)| (tool.to_owned(), arguments)).collect())
}

/// Says something in the message that makes the calls of a step.
pub(crate) fn say_before(prose: &str, step: Step) -> Step {
    Step::Before { prose: prose.to_owned(), step: Box::new(step) }
}

/// Plain text, which is no response.
pub(crate) fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

/// How long a test waits for a request or a program before it gives up.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);
