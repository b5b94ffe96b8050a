//! One language server that has said what it can do: asked, shown documents, and told of changes.

mod diagnose;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::desk::Known;
use super::error::LspError;
use super::link::{self, Order};
use super::servers::{Program, Ready};
use super::{Happened, hello, uri};
use crate::mcp::jsonrpc::RpcError;

pub use diagnose::Diagnosed;

/// How many orders may wait to be sent.
const ORDERS: usize = 64;

/// How often a question is put again that the server dropped because something changed meanwhile.
const TRIES: usize = 3;

/// What a server says when the answer would be about a text that is not there any more.
const OUTDATED: [i64; 2] = [-32801, -32802];

/// The standard input and output of a server.
pub struct Io {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
}

/// What a server may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take to introduce itself.
    pub start: Duration,
    /// How long it may take until it has looked at the project.
    pub ready: Duration,
    /// How long it may think about a question.
    pub answer: Duration,
    /// How long it is quiet when it has said all.
    pub settle: Duration,
    /// The bytes of one message; a longer one is passed over.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            ready: Duration::from_secs(60),
            answer: Duration::from_secs(30),
            settle: Duration::from_millis(300),
            message: 64 << 20,
        }
    }
}

/// A server at work. The conversation ends with the last clone, which closes the server's input.
#[derive(Clone)]
pub struct Server {
    program: &'static Program,
    limits: Limits,
    capabilities: Arc<Value>,
    orders: mpsc::Sender<Order>,
    known: watch::Receiver<Known>,
    /// Why the conversation ended.
    fate: watch::Receiver<Option<LspError>>,
    is_ready: Arc<AtomicBool>,
}

/// Begins a conversation with a server for the project at `root`; returns when both sides know each other.
pub async fn connect(program: &'static Program, root: &Path, io: Io, limits: Limits) -> Result<Server, LspError> {
    let (orders, ordered) = mpsc::channel(ORDERS);
    let (knows, known) = watch::channel(Known::default());
    let (ended, fate) = watch::channel(None);
    tokio::spawn(link::run(program.name.to_owned(), io, limits.message, ordered, knows, ended));
    let is_ready = Arc::new(AtomicBool::new(program.ready == Ready::AtOnce));
    let mut server = Server { program, limits, capabilities: Arc::new(Value::Null), orders, known, fate, is_ready };
    let params = hello::params(root, (program.options)());
    let said = server.ask_within("initialize", params, limits.start).await?;
    server.capabilities = Arc::new(said.get("capabilities").cloned().unwrap_or_default());
    server.tell("initialized", json!({})).await?;
    Ok(server)
}

impl Server {
    pub fn program(&self) -> &'static Program {
        self.program
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether the server has a method.
    pub fn can(&self, method: &str) -> bool {
        let place = match method {
            "workspace/symbol" => "/workspaceSymbolProvider",
            "textDocument/definition" => "/definitionProvider",
            "textDocument/references" => "/referencesProvider",
            "textDocument/documentHighlight" => "/documentHighlightProvider",
            "textDocument/prepareCallHierarchy" => "/callHierarchyProvider",
            "textDocument/rename" => "/renameProvider",
            "textDocument/codeAction" => "/codeActionProvider",
            "codeAction/resolve" => "/codeActionProvider/resolveProvider",
            "textDocument/diagnostic" => "/diagnosticProvider",
            _ => return false,
        };
        let said = self.capabilities.pointer(place);
        let is_static = said.is_some_and(|said| !said.is_null() && *said != json!(false));
        is_static || self.known.borrow().has_registered(method)
    }

    /// Asks a question. A server whose answer nobody awaits any more, for the time is up or this future is dropped, is
    /// told so.
    pub async fn ask(&self, method: &'static str, params: Value) -> Result<Value, LspError> {
        let mut answer = self.ask_within(method, params.clone(), self.limits.answer).await;
        for _ in 1..TRIES {
            let Err(LspError::Refused { code, .. }) = &answer else { break };
            if !OUTDATED.contains(code) {
                break;
            }
            answer = self.ask_within(method, params.clone(), self.limits.answer).await;
        }
        answer
    }

    async fn ask_within(&self, method: &'static str, params: Value, limit: Duration) -> Result<Value, LspError> {
        let (reply, answer) = oneshot::channel();
        let given_up = CancellationToken::new();
        let _guard = given_up.clone().drop_guard();
        let answered = async {
            self.order(Order::Ask { method, params, reply, given_up }).await?;
            Ok(answer.await.ok())
        };
        match time::timeout(limit, answered).await {
            Ok(Ok(Some(Ok(value)))) => Ok(value),
            Ok(Ok(Some(Err(RpcError { code, message, .. })))) => {
                Err(LspError::Refused { server: self.program.name.to_owned(), method, message, code })
            }
            Ok(Ok(None)) => Err(self.closed().await),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(LspError::Late { server: self.program.name.to_owned(), method, limit }),
        }
    }

    async fn tell(&self, method: &'static str, params: Value) -> Result<(), LspError> {
        self.order(Order::Tell((method, params))).await
    }

    async fn order(&self, order: Order) -> Result<(), LspError> {
        match self.orders.send(order).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.closed().await),
        }
    }

    /// Shows a file as it is on the disk. The version that the server knows it by.
    pub async fn show(&self, path: &Path, language: &'static str, text: String) -> Result<i64, LspError> {
        let (reply, shown) = oneshot::channel();
        self.order(Order::Show { uri: uri::of(path), language, text, reply }).await?;
        match shown.await {
            Ok(shown) => Ok(shown.version),
            Err(_) => Err(self.closed().await),
        }
    }

    /// The server reads a file itself from here on.
    pub async fn close(&self, path: &Path) -> Result<(), LspError> {
        self.order(Order::Close { uri: uri::of(path) }).await
    }

    /// The files that the server was shown, with the versions that it knows.
    pub async fn versions(&self) -> Result<HashMap<PathBuf, i64>, LspError> {
        let (reply, versions) = oneshot::channel();
        self.order(Order::Versions { reply }).await?;
        match versions.await {
            Ok(versions) => Ok(versions.into_iter().filter_map(|(uri, v)| Some((uri::path(&uri)?, v))).collect()),
            Err(_) => Err(self.closed().await),
        }
    }

    /// Tells what became of files that the server may have read.
    pub async fn happened(&self, files: &[(PathBuf, Happened)]) -> Result<(), LspError> {
        let change = |(path, happened): &(PathBuf, Happened)| {
            let kind = match happened {
                Happened::Created => 1,
                Happened::Changed => 2,
                Happened::Deleted => 3,
            };
            json!({ "uri": uri::of(path), "type": kind })
        };
        let changes: Vec<_> = files.iter().map(change).collect();
        let telling = ("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
        self.order(Order::Happened(telling)).await
    }

    /// Waits until the server has looked at the project; false when that takes longer than it may.
    pub async fn ready(&self) -> bool {
        if self.is_ready.load(Ordering::Acquire) {
            return true;
        }
        let mut known = self.known.clone();
        let done = async {
            // A server with nothing to look at says nothing.
            let begun = known.wait_for(|known| known.has_worked);
            time::timeout(self.limits.settle * 10, begun).await.ok();
            loop {
                if known.wait_for(|known| known.working.is_empty()).await.is_err() {
                    return;
                }
                // One piece of work follows another.
                let more = known.wait_for(|known| !known.working.is_empty());
                if time::timeout(self.limits.settle, more).await.is_err() {
                    return;
                }
            }
        };
        let is_done = time::timeout(self.limits.ready, done).await.is_ok();
        self.is_ready.store(is_done, Ordering::Release);
        is_done
    }

    /// Asks the server to end; whoever owns its process ends what does not.
    pub async fn leave(&self, limit: Duration) {
        if self.ask_within("shutdown", Value::Null, limit).await.is_ok() {
            // One that is gone already needs no word.
            self.tell("exit", Value::Null).await.ok();
        }
    }

    /// Waits for the end of the conversation, which nothing brings back.
    pub async fn closed(&self) -> LspError {
        let mut fate = self.fate.clone();
        let told = fate.wait_for(Option::is_some).await.ok().and_then(|fate| fate.clone());
        told.unwrap_or_else(|| LspError::Ended { server: self.program.name.to_owned() })
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("program", &self.program.name).finish_non_exhaustive()
    }
}
