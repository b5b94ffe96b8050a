//! The daemon's end of the pipes to the process inside a cage: many calls at once, each answered when it is done.

use std::collections::HashMap;
use std::io;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::wire::{Order, Reply, Request};
use crate::tools::Answer;

/// The longest line that is taken in: the largest picture, with room to spare. What agents run can write to the pipe.
const LONGEST: u64 = 32 << 20;

/// How many calls may wait to be taken over, and how many lines to be written or read.
const QUEUE: usize = 64;

/// What a model is told whose call was lost.
const GONE: &str = "the process that performs this tool has ended before it answered; call the tool again";

/// A conversation with the process. It ends with this value, which closes the process's input.
#[derive(Debug)]
pub struct Link {
    calls: mpsc::Sender<Call>,
}

/// A call on its way.
struct Call {
    request: Request,
    reply: oneshot::Sender<Result<Answer, String>>,
    /// Cancelled when nobody waits for the reply.
    given_up: CancellationToken,
}

impl Link {
    /// Begins a conversation through the pipes of the process.
    pub fn new(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let (calls, called) = mpsc::channel(QUEUE);
        tokio::spawn(run(stdin, stdout, called));
        Self { calls }
    }

    /// Whether the process is gone; every call from then on fails.
    pub fn is_over(&self) -> bool {
        self.calls.is_closed()
    }

    /// Has a call performed. Both outcomes are texts for the model; a dropped call is given up, and its command killed.
    pub async fn call(&self, request: Request) -> Result<Answer, String> {
        let (reply, answer) = oneshot::channel();
        let given_up = CancellationToken::new();
        let _guard = given_up.clone().drop_guard();
        if self.calls.send(Call { request, reply, given_up }).await.is_err() {
            return Err(GONE.to_owned());
        }
        answer.await.unwrap_or_else(|_| Err(GONE.to_owned()))
    }
}

/// Those who wait for the answer to a call.
type Open = HashMap<u64, oneshot::Sender<Result<Answer, String>>>;

async fn run(
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    stdout: impl AsyncRead + Send + Unpin + 'static,
    mut calls: mpsc::Receiver<Call>,
) {
    let mut open = Open::new();
    converse(stdin, stdout, &mut calls, &mut open).await;
    // Whoever hears that their call was lost must find the conversation over.
    calls.close();
}

/// Passes calls and replies on until the process's output ends, or nobody can call any more.
async fn converse(
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    stdout: impl AsyncRead + Send + Unpin + 'static,
    calls: &mut mpsc::Receiver<Call>,
    open: &mut Open,
) {
    // Dropped at the end of this function: both tasks end with the conversation, and the pipes close.
    let mut tasks = JoinSet::new();
    let (line_sender, mut lines) = mpsc::channel(QUEUE);
    let (outgoing, line_receiver) = mpsc::channel(QUEUE);
    tasks.spawn(read_replies(stdout, line_sender));
    tasks.spawn(write_orders(stdin, line_receiver));

    let mut given_up = FuturesUnordered::new();
    let mut last = 0;
    loop {
        tokio::select! {
            call = calls.recv() => {
                let Some(Call { request, reply, given_up: token }) = call else { return };
                last += 1;
                let id = last;
                open.insert(id, reply);
                given_up.push(async move {
                    token.cancelled().await;
                    id
                });
                if outgoing.send(Order::Call { id, request }).await.is_err() {
                    return;
                }
            }
            Some(id) = given_up.next(), if !given_up.is_empty() => {
                // One that was answered is over as well.
                if open.remove(&id).is_some() && outgoing.send(Order::Cancel { id }).await.is_err() {
                    return;
                }
            }
            reply = lines.recv() => match reply {
                Some(Reply { id, outcome }) => {
                    if let Some(reply) = open.remove(&id) {
                        // Whoever gave the call up in this moment needs no answer.
                        reply.send(outcome.into()).ok();
                    }
                }
                None => return,
            },
        }
    }
}

/// Passes on what the process says, up to its end or the first thing that it would never say.
async fn read_replies(stdout: impl AsyncRead + Unpin, replies: mpsc::Sender<Reply>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LONGEST).read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 && line.ends_with(b"\n") => {}
            Ok(_) | Err(_) => return,
        }
        let Ok(reply) = serde_json::from_slice(&line) else { return };
        if replies.send(reply).await.is_err() {
            return;
        }
    }
}

async fn write_orders(mut stdin: impl AsyncWrite + Unpin, mut orders: mpsc::Receiver<Order>) {
    while let Some(order) = orders.recv().await {
        let written = match line(&order) {
            Ok(line) => stdin.write_all(&line).await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            return;
        }
    }
}

fn line(order: &Order) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests;
