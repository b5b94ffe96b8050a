//! The way of MCP agents to the tools of their session: one listener on the loopback for all conversations.
//!
//! A token opens it, belongs to one conversation and dies with it. What is called there becomes an event of that
//! conversation; `carry` puts it among the others.

pub mod bridge;
pub(crate) mod caller;
pub(crate) mod carry;
mod http;
mod limits;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::backend::door::limits::RequestLimits;
use crate::backend::event::ToolOutput;
use crate::mcp;

/// How many calls of one conversation may wait to be taken in.
const CALLS: usize = 128;

/// The door of one daemon; it listens from the first conversation on that needs it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door {
    listener: Arc<OnceCell<Listening>>,
    guests: Arc<Guests>,
}

#[derive(Debug)]
struct Listening {
    address: SocketAddr,
    /// The door closes when nobody holds it.
    _task: AbortOnDropHandle<()>,
}

/// What an agent is told, so that it finds its tools.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Entrance {
    pub(crate) url: String,
    pub(crate) token: String,
    /// The program and its arguments for agents that know no HTTP.
    pub(crate) bridge: Vec<String>,
}

/// The token is a secret, and what is printed ends up in logs.
impl fmt::Debug for Entrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entrance").field("url", &self.url).field("bridge", &self.bridge).finish_non_exhaustive()
    }
}

/// One conversation's hold on the door; its token opens nothing after this is dropped.
#[derive(Debug)]
pub(crate) struct Stay {
    pub(crate) knocks: mpsc::Receiver<Knock>,
    key: Key,
    guests: Arc<Guests>,
}

/// Something that a client of the door wants from its conversation.
#[derive(Debug)]
pub(crate) enum Knock {
    /// The client is gone when the receiver of its answer is.
    Call { ticket: Ticket, tool: String, arguments: Value, answer: oneshot::Sender<Answer> },
    /// The client does not want the answer any more.
    Withdrawn(Ticket),
}

/// What a call is answered with.
pub(crate) type Answer = Result<ToolOutput, String>;

/// Names a call: clients of one conversation number their requests independently.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ticket {
    pub(crate) client: Option<String>,
    pub(crate) id: Value,
}

/// A digest, so that how long a comparison takes says nothing about the token.
type Key = [u8; 32];

#[derive(Debug, Default)]
struct Guests(Mutex<HashMap<Key, Guest>>);

/// What the door knows about one conversation.
#[derive(Debug, Clone)]
struct Guest {
    tools: Arc<[mcp::Tool]>,
    knocks: mpsc::Sender<Knock>,
    limits: RequestLimits,
}

impl Door {
    /// Lets one conversation in.
    ///
    /// Has to be called inside a tokio runtime.
    pub(crate) async fn admit(&self, tools: Vec<mcp::Tool>, bridge: Vec<String>) -> io::Result<(Entrance, Stay)> {
        let address = self.listener.get_or_try_init(|| self.listen()).await?.address;
        let token = random()?;
        let key = digest(&token);
        let (sender, knocks) = mpsc::channel(CALLS);
        self.guests
            .lock()
            .insert(key, Guest { tools: tools.into(), knocks: sender, limits: RequestLimits::for_conversation() });
        let entrance = Entrance { url: format!("http://{address}{}", http::PATH), token, bridge };
        Ok((entrance, Stay { knocks, key, guests: Arc::clone(&self.guests) }))
    }

    /// The port that it listens on.
    pub(crate) async fn port(&self) -> io::Result<u16> {
        Ok(self.listener.get_or_try_init(|| self.listen()).await?.address.port())
    }

    async fn listen(&self) -> io::Result<Listening> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(http::serve(listener, address, Arc::clone(&self.guests)));
        Ok(Listening { address, _task: AbortOnDropHandle::new(task) })
    }
}

impl Guests {
    fn find(&self, token: &str) -> Option<Guest> {
        self.lock().get(&digest(token)).cloned()
    }

    /// Nothing panics under the lock; a poisoned one would be as good as before.
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Guest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.guests.lock().remove(&self.key);
    }
}

fn digest(token: &str) -> Key {
    Sha256::digest(token.as_bytes()).into()
}

/// 256 bits in hexadecimal.
fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        write!(text, "{byte:02x}").ok();
        text
    }))
}
