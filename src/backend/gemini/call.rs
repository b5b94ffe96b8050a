//! The program that the CLI starts for each call of a served tool: arguments on standard input, the result on standard
//! output.
//!
//! It is a process of the agent. It knows nothing of the daemon but the address and the token in a file.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::{error, fs};

use serde_json::{Value, json};

use crate::backend::door::caller::Caller;

/// The hidden argument that turns our own program into this one.
pub const ENTRY: &str = "gemini-call";

/// An argument of the CLI's own, which it adds to every tool and leaves in the call.
pub(super) const ORDER: &str = "wait_for_previous";

/// Before the words of a tool that failed.
pub(super) const FAILED: &str = "Error: ";

/// What opens the door.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Door {
    pub(super) url: String,
    pub(super) token: String,
}

impl Door {
    pub(super) fn text(&self) -> String {
        json!({"url": self.url, "token": self.token}).to_string()
    }

    fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let member = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self { url: member("url")?, token: member("token")? })
    }
}

/// The hidden entry: the file that tells of the door, then the name of the tool.
pub fn main(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let (Some(door), Some(tool)) = (arguments.next(), arguments.next()) else { return ExitCode::from(2) };
    match run(Path::new(&door), &tool) {
        Ok(text) => match io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(problem) => {
            // Nothing is left to do when even stderr is gone.
            writeln!(io::stderr(), "error: {problem}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(door: &Path, tool: &str) -> Result<String, String> {
    let text = fs::read_to_string(door).map_err(|error| format!("`{}`: {error}", door.display()))?;
    let door = Door::read(&text).ok_or_else(|| format!("`{}` does not tell of a door", door.display()))?;
    let mut input = String::new();
    io::stdin().read_to_string(&mut input).map_err(|error| format!("the arguments cannot be read: {error}"))?;
    let message = message(tool, &input)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(post(&door, &message))
}

/// The call as the door takes it.
fn message(tool: &str, input: &str) -> Result<Value, String> {
    let mut arguments: Value =
        serde_json::from_str(input).map_err(|error| format!("the arguments are not JSON: {error}"))?;
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.remove(ORDER);
    }
    Ok(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}))
}

async fn post(door: &Door, message: &Value) -> Result<String, String> {
    let headers = vec![("authorization".to_owned(), format!("Bearer {}", door.token))];
    let caller = Caller { url: door.url.clone(), headers };
    let mut replies = caller.post(message).await.map_err(|error| describe(&error))?;
    while let Some(reply) = replies.next().await.map_err(|error| describe(&error))? {
        if let Some(outcome) = outcome(&reply) {
            return outcome;
        }
    }
    Err("the call ended without an answer".to_owned())
}

/// What the model reads; `None` for a message on the way. A tool that failed is told in words: an exit code would bury
/// them in a report about a process.
fn outcome(reply: &Value) -> Option<Result<String, String>> {
    if let Some(problem) = reply["error"]["message"].as_str() {
        return Some(Err(problem.to_owned()));
    }
    let result = reply.get("result")?;
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    Some(Ok(if result["isError"] == true { format!("{FAILED}{text}") } else { text }))
}

fn describe(error: &dyn error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::door::{self, Knock};

    #[test]
    fn a_door_is_written_and_read() {
        let door = Door { url: "http://127.0.0.1:1/mcp".to_owned(), token: "t\"".to_owned() };
        assert_eq!(Door::read(&door.text()), Some(door));
        for broken in ["", "{}", r#"{"url": 1, "token": "t"}"#] {
            assert_eq!(Door::read(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_call_has_the_arguments_of_the_model_and_no_others() {
        let message = message("delegate", r#"{"task": "t", "wait_for_previous": true}"#).unwrap();
        assert_eq!(message["params"], json!({"name": "delegate", "arguments": {"task": "t"}}));
        assert!(super::message("delegate", "task").unwrap_err().starts_with("the arguments are not JSON: "));
    }

    #[tokio::test]
    async fn a_call_goes_through_the_door_and_its_answer_comes_back() {
        let door = door::Door::default();
        let (entrance, mut stay) = door.admit(Vec::new(), Vec::new()).await.unwrap();
        let open = Door { url: entrance.url, token: entrance.token };
        let message = message("delegate", r#"{"task": "t"}"#).unwrap();
        let owner = async {
            for answer in [Ok("done".to_owned().into()), Err("agent_id is required".to_owned())] {
                match stay.knocks.recv().await {
                    Some(Knock::Call { tool, arguments, answer: reply, .. }) => {
                        assert_eq!((tool.as_str(), &arguments), ("delegate", &json!({"task": "t"})));
                        reply.send(answer).unwrap();
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        let caller = async { (post(&open, &message).await, post(&open, &message).await) };
        let ((), (done, failed)) = tokio::join!(owner, caller);
        assert_eq!(done.as_deref(), Ok("done"));
        assert_eq!(failed.as_deref(), Ok("Error: agent_id is required"));
        drop(stay);
        let late = post(&open, &message).await;
        assert_eq!(late.unwrap_err(), "the server answers with status 401 Unauthorized");
    }

    #[test]
    fn an_answer_is_its_text_and_a_failure_says_that_it_is_one() {
        let result = |is_error: bool| json!({"id": 1, "result": {"content": [{"type": "text", "text": "so"}], "isError": is_error}});
        assert_eq!(outcome(&result(false)), Some(Ok("so".to_owned())));
        assert_eq!(outcome(&result(true)), Some(Ok("Error: so".to_owned())));
        assert_eq!(outcome(&json!({"method": "notifications/progress"})), None);
        let refused = json!({"id": 1, "error": {"code": -32601, "message": "no"}});
        assert_eq!(outcome(&refused), Some(Err("no".to_owned())));
    }
}
