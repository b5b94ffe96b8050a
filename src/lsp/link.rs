//! The task that owns the conversation with one language server: messages and orders in, messages out.
//!
//! Reading and writing are tasks of their own, so that no full pipe can stop a question from being given up.

use std::collections::HashMap;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::desk::Known;
use super::documents::{Documents, Shown, Telling};
use super::error::LspError;
use super::frame::{self, Frames};
use super::server::Io;
use crate::mcp::jsonrpc::{self, Message, RpcError};

/// How many messages may wait for a server that is slow to read; one that never reads is given up.
const OUTGOING: usize = 256;

/// How many messages may wait to be taken in. They can be long.
const UNREAD: usize = 4;

/// Something that a server is asked, told or shown; in the order in which it is given.
pub(super) enum Order {
    Ask {
        method: &'static str,
        params: Value,
        reply: oneshot::Sender<Result<Value, RpcError>>,
        /// Cancelled when nobody waits for the reply.
        given_up: CancellationToken,
    },
    Tell(Telling),
    /// The same, about files that changed.
    Happened(Telling),
    Show {
        uri: String,
        language: &'static str,
        text: String,
        reply: oneshot::Sender<Shown>,
    },
    Close {
        uri: String,
    },
    Versions {
        reply: oneshot::Sender<HashMap<String, i64>>,
    },
}

/// Runs a conversation until the server's output ends, the server is given up, or nobody can ask it any more.
pub(super) async fn run(
    server: String,
    io: Io,
    longest: usize,
    mut orders: mpsc::Receiver<Order>,
    known: watch::Sender<Known>,
    fate: watch::Sender<Option<LspError>>,
) {
    // Dropped at the end of this function: both tasks end with the conversation, and the pipes close.
    let mut tasks = JoinSet::new();
    let (message_sender, mut messages) = mpsc::channel(UNREAD);
    let (outgoing, body_receiver) = mpsc::channel(OUTGOING);
    tasks.spawn(read(io.stdout, longest, message_sender));
    tasks.spawn(write(io.stdin, body_receiver));

    let mut talk =
        Talk { server, last: 0, open: HashMap::new(), documents: Documents::default(), outgoing, known, end: None };
    let mut given_up = FuturesUnordered::new();
    while talk.end.is_none() {
        tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(Order::Ask { method, params, reply, given_up: token }) => {
                    let id = talk.ask(method, params, reply);
                    given_up.push(async move {
                        token.cancelled().await;
                        id
                    });
                }
                Some(Order::Tell(telling)) => talk.tell(telling),
                Some(Order::Happened(telling)) => {
                    talk.known.send_modify(Known::files_changed);
                    talk.tell(telling);
                }
                Some(Order::Show { uri, language, text, reply }) => {
                    let shown = talk.show(&uri, language, text);
                    // Whoever gave up in this moment needs no answer.
                    reply.send(shown).ok();
                }
                Some(Order::Close { uri }) => {
                    if let Some(telling) = talk.documents.close(&uri) {
                        talk.known.send_modify(|known| known.changed(&uri));
                        talk.tell(telling);
                    }
                }
                Some(Order::Versions { reply }) => {
                    reply.send(talk.versions()).ok();
                }
            },
            Some(id) = given_up.next(), if !given_up.is_empty() => talk.withdraw(id),
            message = messages.recv() => match message {
                Some(message) => talk.take(&message),
                None => talk.end = Some(LspError::Ended { server: talk.server.clone() }),
            },
        }
    }
    // Those who wait for an answer look for the reason when their channel closes, so it comes first.
    fate.send_replace(talk.end.take());
}

struct Talk {
    server: String,
    /// The number of the last question.
    last: u64,
    open: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    documents: Documents,
    outgoing: mpsc::Sender<String>,
    known: watch::Sender<Known>,
    end: Option<LspError>,
}

impl Talk {
    fn ask(&mut self, method: &str, params: Value, reply: oneshot::Sender<Result<Value, RpcError>>) -> u64 {
        self.last += 1;
        self.open.insert(self.last, reply);
        self.send(jsonrpc::request(self.last, method, params));
        self.last
    }

    fn withdraw(&mut self, id: u64) {
        if self.open.remove(&id).is_some() {
            self.tell(("$/cancelRequest", json!({ "id": id })));
        }
    }

    fn show(&mut self, uri: &str, language: &str, text: String) -> Shown {
        let (shown, tellings) = self.documents.show(uri, language, text);
        if shown.is_different {
            self.known.send_modify(|known| known.changed(uri));
        }
        tellings.into_iter().for_each(|telling| self.tell(telling));
        shown
    }

    fn versions(&self) -> HashMap<String, i64> {
        let version = |uri: String| self.documents.version(&uri).map(|version| (uri, version));
        self.documents.open().into_iter().filter_map(version).collect()
    }

    fn take(&mut self, message: &str) {
        match jsonrpc::parse(message) {
            Ok(Message::Response { id, outcome }) => {
                // An answer to a question that was given up comes too late for anybody.
                if let Some(reply) = self.open.remove(&id) {
                    reply.send(outcome).ok();
                }
            }
            Ok(Message::Request { id, method, params }) => {
                let mut answered = Ok(Value::Null);
                self.known.send_if_modified(|known| {
                    let registered = known.registrations();
                    answered = known.asked(&method, &params);
                    known.registrations() != registered
                });
                self.send(match answered {
                    Ok(result) => jsonrpc::response(&id, result),
                    Err((code, message)) => jsonrpc::error(&id, code, message, Value::Null),
                });
            }
            Ok(Message::Notification { method, params }) => {
                self.known.send_modify(|known| known.heard(&method, &params))
            }
            Err(error) => debug!(server = self.server, %error, "language server wrote no message"),
        }
    }

    fn tell(&mut self, (method, params): Telling) {
        self.send(jsonrpc::notification(method, params));
    }

    /// Queues; never waits.
    fn send(&mut self, body: String) {
        match self.outgoing.try_send(body) {
            // The writer ended because the server closed its input: the end of its output tells the rest.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
            Err(mpsc::error::TrySendError::Full(_)) => self.end = Some(LspError::Stuck { server: self.server.clone() }),
        }
    }
}

async fn read(mut stdout: Box<dyn AsyncRead + Send + Unpin>, longest: usize, messages: mpsc::Sender<String>) {
    let (mut frames, mut piece) = (Frames::new(longest), vec![0; 64 * 1024]);
    loop {
        match stdout.read(&mut piece).await {
            Ok(0) => return,
            Ok(read) => {
                for message in frames.push(&piece[..read]) {
                    if messages.send(message).await.is_err() {
                        return;
                    }
                }
            }
            Err(error) => {
                debug!(%error, "language server's output ended");
                return;
            }
        }
    }
}

async fn write(mut stdin: Box<dyn AsyncWrite + Send + Unpin>, mut bodies: mpsc::Receiver<String>) {
    while let Some(body) = bodies.recv().await {
        let written = match stdin.write_all(&frame::encode(&body)).await {
            Ok(()) => stdin.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            debug!(%error, "language server's input ended");
            return;
        }
    }
}
