//! `coppice mcp`: the orchestrator as a server of tools for other programs, over standard input and output; and the import
//! of servers that other programs have.
//!
//! One message is one line. Each call has a connection of its own, so that a long wait holds up nothing.

mod call;
mod import;
mod tool;

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::thread;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, LocalBoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Context, Exit, Failure};
use crate::mcp::{self, Asked, Call, Output};

/// How many lines may wait to be read.
const LINES: usize = 64;

/// Serves sessions to another program as an MCP server, over stdin and stdout.
///
/// Its tools are `new`, `list`, `show`, `wait`, `send`, `answer` and `diff`. With `mcp.approve` set to true there are
/// `approve` and `deny` too, and `answer` decides about plans; without it, decisions about what an agent may do stay
/// with you. A session that begins here never has a wider posture than the configured one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add coppice -- coppice mcp
  coppice config set mcp.approve true
  coppice mcp import")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<McpCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum McpCommand {
    Import(import::ImportArgs),
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.command {
        Some(McpCommand::Import(args)) => import::run(args, context).await,
        None => serve(context).await,
    }
}

async fn serve(context: &mut Context) -> Result<Exit, Failure> {
    let tools = tool::list(call::decisions(context).await?);
    let mut lines = read_lines();
    let mut desk = Desk::default();
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => {
                    if let Some(reply) = desk.take(&line, &tools) {
                        context.output.record(&reply.to_string())?;
                    }
                }
                // Calls that are open then have nobody to answer to.
                None => return Ok(Exit::Done),
            },
            Some(done) = desk.calls.next(), if !desk.calls.is_empty() => {
                // A call that was given up is not answered.
                if let Ok((id, outcome)) = done {
                    desk.open.remove(&id.to_string());
                    context.output.record(&mcp::result(&id, &outcome).to_string())?;
                }
            }
        }
    }
}

/// A call and what it brought.
type Done = (Value, Result<Output, String>);

/// The calls that are open.
#[derive(Default)]
struct Desk {
    calls: FuturesUnordered<Abortable<LocalBoxFuture<'static, Done>>>,
    open: HashMap<String, AbortHandle>,
}

impl Desk {
    /// Takes one line; returns what can be answered at once.
    fn take(&mut self, line: &str, tools: &[mcp::Tool]) -> Option<Value> {
        if line.trim().is_empty() {
            return None;
        }
        let Ok(message) = serde_json::from_str(line) else {
            return Some(mcp::refusal(&Value::Null, mcp::PARSE_ERROR, "the line is not JSON"));
        };
        match mcp::read(&message, tools) {
            Asked::Reply(reply) => Some(reply),
            Asked::Noted => None,
            Asked::Withdrawn { id } => {
                self.open.remove(&id.to_string()).iter().for_each(AbortHandle::abort);
                None
            }
            Asked::Call(Call { id, tool, arguments, .. }) => {
                let key = id.to_string();
                let (call, handle) = abortable(Box::pin(async move {
                    let outcome = call::perform(&tool, arguments, &Context::new()).await;
                    (id, outcome.map_err(|failure| told(&failure)))
                }) as LocalBoxFuture<'static, Done>);
                self.calls.push(call);
                self.open.insert(key, handle);
                None
            }
        }
    }
}

/// A failure as the other side reads it: what happened, why, and what helps.
fn told(failure: &Failure) -> String {
    match failure {
        Failure::PipeClosed => String::new(),
        Failure::Told(report) => {
            let causes = report.causes.iter().map(|cause| format!("\n  caused by: {cause}"));
            let hint = report.hint.iter().map(|hint| format!("\nhint: {hint}"));
            std::iter::once(report.message.clone()).chain(causes).chain(hint).collect()
        }
    }
}

/// Reading blocks, so it happens on a thread of its own; the channel ends with the input.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES);
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { return };
            if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_whole() {
        let failure = Failure::because("failed to look", &io::Error::other("no eyes")).hint("open them");
        assert_eq!(told(&failure), "failed to look\n  caused by: no eyes\nhint: open them");
    }

    #[tokio::test]
    async fn what_needs_no_daemon_is_answered_at_once() {
        let mut desk = Desk::default();
        assert_eq!(desk.take(" ", &[]), None);
        assert_eq!(desk.take("{", &[]).unwrap()["error"]["code"], mcp::PARSE_ERROR);
        assert_eq!(desk.take(r#"{"id":1,"method":"ping"}"#, &[]).unwrap()["id"], 1);
        assert_eq!(desk.take(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#, &[]), None);
    }
}
