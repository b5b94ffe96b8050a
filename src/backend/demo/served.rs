//! The tools that others serve to the demo agent: an MCP client that asks one thing and goes.
//!
//! Each question has a thread of its own that wakes the agent with the answer; a question that is dropped is given up,
//! and its server hears of it by the end of the connection.

#![expect(
    clippy::disallowed_methods,
    reason = "the demo agent is a program of its own: it starts the servers it is told"
)]

use std::error::Error as _;
use std::io::{self, Write};
use std::process::Stdio;
use std::sync::mpsc::Sender;
use std::thread;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::oneshot;

use crate::backend::demo::agent::{Agent, Gone, Waited};
use crate::backend::demo::script::ServedCall;
use crate::backend::demo::turn::{End, Flow, Play};
use crate::backend::demo::work::Wake;
use crate::backend::door::caller::{Caller, CallerError, SESSION};
use crate::backend::transport::jsonrpc;

/// A server of tools as a session names it.
#[derive(Debug, Clone)]
pub(super) enum Server {
    Http(Caller),
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)> },
}

/// A question that waits for its answer.
pub(super) struct Question {
    pub(super) token: u64,
    _given_up: oneshot::Sender<()>,
}

/// The servers in the parameters of a session.
pub(super) fn servers(params: &Value) -> Vec<Server> {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pairs = |value: &Value| items(value).iter().map(|pair| (text(&pair["name"]), text(&pair["value"]))).collect();
    let server = |server: &Value| match server["type"].as_str() {
        Some("http") => Server::Http(Caller { url: text(&server["url"]), headers: pairs(&server["headers"]) }),
        Some(_) | None => Server::Stdio {
            command: text(&server["command"]),
            args: items(&server["args"]).iter().map(text).collect(),
            env: pairs(&server["env"]),
        },
    };
    items(&params["mcpServers"]).iter().map(server).collect()
}

/// Asks a server; the answer wakes the agent under `token`.
pub(super) fn ask(server: Server, method: &'static str, params: Value, token: u64, wakes: &Sender<Wake>) -> Question {
    let (given_up, hold) = oneshot::channel::<()>();
    let wakes = wakes.clone();
    thread::spawn(move || {
        let answer = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(async {
                tokio::select! {
                    answer = exchange(server, method, params) => Some(answer),
                    _ = hold => None,
                }
            }),
            Err(error) => Some(Err(error.to_string())),
        };
        if let Some(answer) = answer {
            // The agent may be gone.
            wakes.send(Wake::Served { token, answer }).ok();
        }
    });
    Question { token, _given_up: given_up }
}

/// The result of a call as a person reads it: its text, or what went wrong.
pub(super) fn text(answer: &Result<Value, String>) -> Result<String, String> {
    let result = answer.as_ref().map_err(Clone::clone)?;
    let parts = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = parts.collect::<Vec<_>>().join("\n");
    if result["isError"] == true { Err(text) } else { Ok(text) }
}

const HELLO: u64 = 0;
const ASKED: u64 = 1;

fn hello() -> Value {
    let client = json!({"name": "coppice-demo", "version": env!("CARGO_PKG_VERSION")});
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
}

async fn exchange(server: Server, method: &str, params: Value) -> Result<Value, String> {
    let lines = [
        jsonrpc::request(HELLO, "initialize", hello()),
        jsonrpc::notification("notifications/initialized", json!({})),
        jsonrpc::request(ASKED, method, params),
    ];
    match server {
        Server::Http(caller) => over_http(caller, &lines).await.map_err(|error| {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("{error}{cause}")
        })?,
        Server::Stdio { command, args, env } => {
            let mut process = Command::new(&command);
            process.args(args).envs(env).kill_on_drop(true);
            over_pipes(process, &lines).await.map_err(|error| format!("`{command}`: {error}"))?
        }
    }
}

type Answer = Result<Value, String>;

async fn over_http(mut caller: Caller, lines: &[String]) -> Result<Answer, CallerError> {
    for line in lines {
        let mut replies = caller.post(&serde_json::from_str(line).unwrap_or_default()).await?;
        if let Some(client) = replies.client() {
            caller.headers.push((SESSION.to_owned(), client));
        }
        while let Some(reply) = replies.next().await? {
            if let Some(answer) = answer(&reply.to_string()) {
                return Ok(answer);
            }
        }
    }
    Ok(Err("the server did not answer".to_owned()))
}

async fn over_pipes(mut process: Command, lines: &[String]) -> io::Result<Answer> {
    let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("its pipes are missing"));
    };
    for line in lines {
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
    }
    let mut replies = BufReader::new(stdout).lines();
    while let Some(line) = replies.next_line().await? {
        if let Some(answer) = answer(&line) {
            return Ok(answer);
        }
    }
    Err(io::Error::other("it ended without an answer"))
}

/// The answer to what was asked, if this line is it.
fn answer(line: &str) -> Option<Answer> {
    match jsonrpc::parse(line) {
        Ok(jsonrpc::Message::Response { id: ASKED, outcome }) => Some(outcome.map_err(|error| error.message)),
        Ok(_) | Err(_) => None,
    }
}

impl<W: Write> Agent<W> {
    /// Calls served tools at the same time; each result is a part of the answer, in the order of the script.
    pub(super) fn call_served(&mut self, play: &mut Play, calls: &[ServedCall]) -> Result<Flow, Gone> {
        let Some(server) = play.servers.first().cloned() else {
            play.draft.answer("error: no tools are served");
            return Ok(Flow::Next);
        };
        let mut open = Vec::new();
        for ServedCall { tool, arguments } in calls {
            let call = self.start_call(play, tool, "other", arguments.clone())?;
            let params = json!({"name": tool, "arguments": arguments});
            let question = ask(server.clone(), "tools/call", params, self.token(), &self.wakes);
            open.push((call, question));
        }
        let mut results = vec![String::new(); open.len()];
        let mut left = open.len();
        while left > 0 {
            let waited = self.wait(&play.session, |wake| {
                let Wake::Served { token, answer } = wake else { return None };
                let place = open.iter().position(|(_, question)| question.token == *token)?;
                Some((place, text(answer)))
            })?;
            let Waited::Got((place, result)) = waited else { return Ok(Flow::Stop(End::Cancelled)) };
            let (status, result) = match result {
                Ok(text) => ("completed", text),
                Err(text) => ("failed", format!("error: {text}")),
            };
            self.end_call(play, &open[place].0, status, &result)?;
            results[place] = result;
            left -= 1;
        }
        results.into_iter().for_each(|result| play.draft.answer(result));
        Ok(Flow::Next)
    }

    /// Names the served tools.
    pub(super) fn list_served(&mut self, play: &mut Play) -> Result<Flow, Gone> {
        let mut names = Vec::new();
        for server in play.servers.clone() {
            let question = ask(server, "tools/list", json!({}), self.token(), &self.wakes);
            let waited = self.wait(&play.session, |wake| {
                let Wake::Served { token, answer } = wake else { return None };
                (*token == question.token).then(|| answer.clone())
            })?;
            match waited {
                Waited::Cancelled => return Ok(Flow::Stop(End::Cancelled)),
                Waited::Got(Ok(list)) => {
                    let tools = list["tools"].as_array().into_iter().flatten();
                    names.extend(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
                }
                Waited::Got(Err(problem)) => play.draft.answer(format!("error: {problem}")),
            }
        }
        names.sort();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        play.draft.answer(format!("tools: {names}"));
        Ok(Flow::Next)
    }
}
