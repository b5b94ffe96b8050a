//! External MCP servers: Coppice is their client and serves their tools as its own, so that every backend gets the same
//! ones and each call passes the permissions first.
//!
//! It speaks through the pipes that it is given: whoever starts the process confines it, and ends it. Nothing is decided
//! here about a call.

mod error;
mod link;
mod offer;
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time;
use tokio_util::sync::CancellationToken;

use link::Order;
use offer::Catalog;
use peer::Peer;

pub use error::ExternalError;
pub use offer::{ExternalTool, is_server_name};

/// How long a call may take where nobody says otherwise.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// How many calls may wait to be sent.
const ORDERS: usize = 64;

/// The standard input and output of a server.
pub struct Io {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
}

/// What a server may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take until its tools are known.
    pub start: Duration,
    /// The bytes of one message; a longer one is passed over.
    pub line: usize,
    /// How many tools are looked at.
    pub tools: usize,
    /// The characters of a served name. Models take 64, and agents put prefixes of their own before it.
    pub name: usize,
    /// After how many lines in a row that are no messages it is given up.
    pub garbage: usize,
    /// The bytes of a call's result; a longer one is cut.
    pub result: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { start: Duration::from_secs(30), line: 16 << 20, tools: 128, name: 64, garbage: 100, result: 262_144 }
    }
}

/// A server that has said which tools it has. The conversation ends with the last clone, which closes the server's input.
#[derive(Clone)]
pub struct External {
    server: String,
    orders: mpsc::Sender<Order>,
    /// Nothing until the server's tools are known.
    catalog: watch::Receiver<Option<Catalog>>,
    /// Why the conversation ended.
    fate: watch::Receiver<Option<ExternalError>>,
}

/// Begins a conversation with the server `name`; returns when its tools are known.
pub async fn connect(name: &str, io: Io, limits: Limits) -> Result<External, ExternalError> {
    if !is_server_name(name) {
        return Err(ExternalError::Name { name: name.to_owned() });
    }
    let (orders, ordered) = mpsc::channel(ORDERS);
    let (listed, catalog) = watch::channel(None);
    let (ended, fate) = watch::channel(None);
    tokio::spawn(link::run(Peer::new(name, limits), io, limits.line, ordered, listed, ended));
    let mut external = External { server: name.to_owned(), orders, catalog, fate };
    // Where this gives up, the handle is dropped and the conversation ends with it.
    let listed = time::timeout(limits.start, external.catalog.wait_for(Option::is_some)).await.map(|seen| seen.is_ok());
    match listed {
        Ok(true) => Ok(external),
        Ok(false) => Err(external.closed().await),
        Err(_) => Err(ExternalError::Silent { server: name.to_owned(), limit: limits.start }),
    }
}

impl External {
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The tools that the server has at this moment; a turn keeps those that it began with.
    pub fn tools(&self) -> Vec<ExternalTool> {
        self.catalog.borrow().as_ref().map(|catalog| catalog.tools.clone()).unwrap_or_default()
    }

    /// What a person should know about the tools that are not there.
    pub fn warnings(&self) -> Vec<String> {
        self.catalog.borrow().as_ref().map(|catalog| catalog.warnings.clone()).unwrap_or_default()
    }

    /// Calls a tool by the server's own name for it. A server whose answer nobody awaits any more, for the time is up or
    /// this future is dropped, is told so. Both outcomes are texts for the model.
    pub async fn call(&self, tool: &str, arguments: Value, timeout: Duration) -> Result<String, String> {
        let (reply, answer) = oneshot::channel();
        let given_up = CancellationToken::new();
        let _guard = given_up.clone().drop_guard();
        let order = Order { tool: tool.to_owned(), arguments, reply, given_up };
        let answered = async {
            self.orders.send(order).await.ok()?;
            answer.await.ok()
        };
        match time::timeout(timeout, answered).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Err(self.closed().await.to_string()),
            Err(_) => Err(format!("mcp server `{}` did not answer `{tool}` within {timeout:?}", self.server)),
        }
    }

    /// Waits for the end of the conversation, which nothing brings back.
    pub async fn closed(&self) -> ExternalError {
        let mut fate = self.fate.clone();
        let told = fate.wait_for(Option::is_some).await.ok().and_then(|fate| fate.clone());
        told.unwrap_or_else(|| ExternalError::Ended { server: self.server.clone() })
    }
}

impl fmt::Debug for External {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("External").field("server", &self.server).finish_non_exhaustive()
    }
}
