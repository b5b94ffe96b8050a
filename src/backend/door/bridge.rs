//! The door for agents that know only servers they start themselves: lines from standard input are posted, what comes
//! back goes to standard output.
//!
//! It is a process of the agent. It knows nothing of the daemon but the address and the token in its environment.

use std::env;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::backend::door::caller::{Caller, CallerError, SESSION};
use crate::mcp;

/// The hidden arguments that turn our own program into the bridge.
pub const ENTRY: [&str; 2] = ["mcp", "--bridge"];

/// How many lines may wait in each direction.
const LINES: usize = 64;

/// The command that starts the bridge. `/proc/self/exe` is another program to whoever starts it, so links are followed.
pub fn command(executable: &Path) -> Vec<String> {
    let [entry, flag] = ENTRY;
    let executable = executable.canonicalize().unwrap_or_else(|_| executable.to_owned());
    vec![executable.to_string_lossy().into_owned(), entry.to_owned(), flag.to_owned()]
}

/// The hidden entry.
pub fn main() -> ExitCode {
    let (Ok(url), Ok(token)) = (env::var(mcp::URL_ENV), env::var(mcp::TOKEN_ENV)) else {
        let problem = format!("error: the bridge needs `{}` and `{}`", mcp::URL_ENV, mcp::TOKEN_ENV);
        // Nothing is left to do when even stderr is gone.
        writeln!(io::stderr(), "{problem}").ok();
        return ExitCode::from(2);
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let (line_sender, lines) = mpsc::channel(LINES);
    let (replies, reply_receiver) = mpsc::channel(LINES);
    thread::spawn(move || read(&line_sender));
    let writer = thread::spawn(move || write(reply_receiver));
    let caller = Caller { url, headers: vec![("authorization".to_owned(), format!("Bearer {token}"))] };
    runtime.block_on(run(caller, lines, replies));
    // The last replies are written before the process ends.
    if writer.join().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(lines: &mpsc::Sender<String>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn write(mut replies: mpsc::Receiver<String>) {
    let mut stdout = io::stdout();
    while let Some(line) = replies.blocking_recv() {
        if writeln!(stdout, "{line}").and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}

/// Posts each line and passes its replies on, until the lines end. Calls that are open then are withdrawn.
async fn run(mut caller: Caller, mut lines: mpsc::Receiver<String>, replies: mpsc::Sender<String>) {
    let mut posts = JoinSet::new();
    while let Some(line) = lines.recv().await {
        while posts.try_join_next().is_some() {}
        if line.trim().is_empty() {
            continue;
        }
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            let refusal = mcp::refusal(&Value::Null, mcp::PARSE_ERROR, "the line is not JSON");
            if replies.send(refusal.to_string()).await.is_err() {
                return;
            }
            continue;
        };
        if message["method"] == "initialize" {
            // What follows names the client that this makes us.
            let client = post(&caller, &message, &replies).await;
            caller.headers.extend(client.map(|client| (SESSION.to_owned(), client)));
        } else {
            let (caller, replies) = (caller.clone(), replies.clone());
            posts.spawn(async move { post(&caller, &message, &replies).await });
        }
        if replies.is_closed() {
            return;
        }
    }
}

/// Posts one message; a request without an answer gets an error. Returns the name that the server gave us.
async fn post(caller: &Caller, message: &Value, replies: &mpsc::Sender<String>) -> Option<String> {
    let id = message.get("id").filter(|id| !id.is_null() && message.get("method").is_some());
    let mut client = None;
    let mut is_answered = id.is_none();
    let outcome: Result<(), CallerError> = async {
        let mut incoming = caller.post(message).await?;
        client = incoming.client();
        while let Some(reply) = incoming.next().await? {
            is_answered |= reply.get("method").is_none() && reply.get("id") == id;
            // Whoever reads no more is noticed at the next line.
            replies.send(reply.to_string()).await.ok();
        }
        Ok(())
    }
    .await;
    if !is_answered && let Some(id) = id {
        let text = match outcome {
            Ok(()) => "the call ended without an answer".to_owned(),
            Err(error) => describe(&error),
        };
        // The same.
        replies.send(mcp::refusal(id, mcp::INTERNAL_ERROR, &text).to_string()).await.ok();
    }
    client
}

fn describe(error: &CallerError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

#[cfg(test)]
pub(super) use tests::talk;

#[cfg(test)]
mod tests {
    use super::*;

    /// A bridge on channels where the pipes would be.
    pub(in super::super) fn talk(url: &str, token: &str) -> (mpsc::Sender<String>, mpsc::Receiver<String>) {
        let caller =
            Caller { url: url.to_owned(), headers: vec![("authorization".to_owned(), format!("Bearer {token}"))] };
        let (line_sender, lines) = mpsc::channel(LINES);
        let (replies, reply_receiver) = mpsc::channel(LINES);
        tokio::spawn(run(caller, lines, replies));
        (line_sender, reply_receiver)
    }

    #[test]
    fn an_agent_is_told_the_program_itself() {
        let dir = tempfile::tempdir().unwrap();
        let (program, link) = (dir.path().join("coppice"), dir.path().join("link"));
        std::fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink(&program, &link).unwrap();
        let real = program.canonicalize().unwrap();
        assert_eq!(command(&link), [real.to_str().unwrap(), "mcp", "--bridge"]);
        assert_eq!(command(Path::new("/nowhere/coppice"))[0], "/nowhere/coppice");
    }

    #[tokio::test]
    async fn a_lost_door_is_told_and_a_notification_is_not_answered() {
        // Port 1 of the loopback has no listener.
        let (lines, mut replies) = talk("http://127.0.0.1:1/mcp", "t");
        for line in ["", "{", r#"{"method":"notifications/initialized"}"#, r#"{"id":"a","method":"ping"}"#] {
            lines.send(line.to_owned()).await.unwrap();
        }
        let broken: Value = serde_json::from_str(&replies.recv().await.unwrap()).unwrap();
        assert_eq!(broken, mcp::refusal(&Value::Null, mcp::PARSE_ERROR, "the line is not JSON"));
        let lost: Value = serde_json::from_str(&replies.recv().await.unwrap()).unwrap();
        assert_eq!(lost["id"], "a");
        let text = lost["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("failed to connect to `127.0.0.1:1`: "), "{text}");
        drop(lines);
        assert_eq!(replies.recv().await, None);
    }
}
