//! The task that owns the conversation with one external server: it gathers lines and calls and performs what the machine
//! says, nothing else.
//!
//! Reading and writing are tasks of their own, so that no full pipe can stop a call from being given up.

use std::collections::HashMap;
use std::io;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Io;
use super::error::ExternalError;
use super::offer::Catalog;
use super::peer::{Act, Line, Peer};

/// How many lines may wait for a server that is slow to read; one that never reads is given up.
const OUTGOING: usize = 128;

/// How many lines may wait to be taken in. They can be long.
const UNREAD: usize = 4;

/// A call on its way to the server.
pub(super) struct Order {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) reply: oneshot::Sender<Result<String, String>>,
    /// Cancelled when nobody waits for the reply.
    pub(super) given_up: CancellationToken,
}

/// Runs a conversation until the server's output ends, the server is given up, or nobody can call it any more.
pub(super) async fn run(
    mut peer: Peer,
    io: Io,
    longest: usize,
    mut orders: mpsc::Receiver<Order>,
    catalog: watch::Sender<Option<Catalog>>,
    fate: watch::Sender<Option<ExternalError>>,
) {
    // Dropped at the end of this function: both tasks end with the conversation, and the pipes close.
    let mut tasks = JoinSet::new();
    let (line_sender, mut lines) = mpsc::channel(UNREAD);
    let (outgoing, line_receiver) = mpsc::channel(OUTGOING);
    tasks.spawn(read_lines(io.stdout, longest, line_sender));
    tasks.spawn(write_lines(io.stdin, line_receiver));

    let server = peer.server().to_owned();
    let mut hands = Hands { server, outgoing, catalog, calls: HashMap::new(), end: None };
    let mut given_up = FuturesUnordered::new();
    hands.send(peer.begin());
    while hands.end.is_none() {
        tokio::select! {
            order = orders.recv() => {
                let Some(Order { tool, arguments, reply, given_up: token }) = order else { return };
                let (call, line) = peer.call(&tool, arguments);
                hands.calls.insert(call, reply);
                given_up.push(async move {
                    token.cancelled().await;
                    call
                });
                hands.send(line);
            }
            Some(call) = given_up.next(), if !given_up.is_empty() => {
                hands.calls.remove(&call);
                if let Some(line) = peer.withdraw(call) {
                    hands.send(line);
                }
            }
            line = lines.recv() => match line {
                Some(line) => {
                    for act in peer.line(line) {
                        hands.perform(act);
                    }
                }
                None => hands.end = Some(ExternalError::Ended { server: hands.server.clone() }),
            },
        }
    }
    // Those who wait for an answer look for the reason when their channel closes, so it comes first.
    fate.send_replace(hands.end.take());
}

/// What acts act on.
struct Hands {
    server: String,
    outgoing: mpsc::Sender<String>,
    catalog: watch::Sender<Option<Catalog>>,
    calls: HashMap<u64, oneshot::Sender<Result<String, String>>>,
    end: Option<ExternalError>,
}

impl Hands {
    /// Queues; never waits.
    fn perform(&mut self, act: Act) {
        match act {
            Act::Send(line) => self.send(line),
            Act::Listed(catalog) => {
                self.catalog.send_replace(Some(catalog));
            }
            Act::Answer { call, outcome } => {
                if let Some(reply) = self.calls.remove(&call) {
                    // Whoever gave the call up in this moment needs no answer.
                    reply.send(outcome).ok();
                }
            }
            Act::Finish(error) => self.end = Some(error),
        }
    }

    fn send(&mut self, line: String) {
        match self.outgoing.try_send(line) {
            // The writer ended because the server closed its input: the end of its output tells the rest.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.end = Some(ExternalError::Stuck { server: self.server.clone() })
            }
        }
    }
}

async fn read_lines(stdout: Box<dyn AsyncRead + Send + Unpin>, longest: usize, lines: mpsc::Sender<Line>) {
    let mut reader = BufReader::new(stdout);
    loop {
        match next_line(&mut reader, longest).await {
            Ok(Some(line)) => {
                if lines.send(line).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                debug!(%error, "mcp server's output ended");
                return;
            }
        }
    }
}

/// The next line, or `None` at the end of the stream. No more than `longest` bytes of a line are ever kept.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin), longest: usize) -> io::Result<Option<Line>> {
    let room = longest + 1;
    let mut is_long = false;
    loop {
        let mut kept = Vec::new();
        let read = (&mut *reader).take(room as u64).read_until(b'\n', &mut kept).await?;
        if read == room && !kept.ends_with(b"\n") {
            is_long = true;
        } else if is_long {
            return Ok(Some(Line::TooLong));
        } else {
            return Ok((read > 0).then(|| Line::Text(String::from_utf8_lossy(&kept).into_owned())));
        }
    }
}

async fn write_lines(mut stdin: Box<dyn AsyncWrite + Send + Unpin>, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        let written = match stdin.write_all(line.as_bytes()).await {
            Ok(()) => stdin.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            debug!(%error, "mcp server's input ended");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_stream_ends_in_lines() {
        let text = |text: &str| Line::Text(text.to_owned());
        for (input, expected) in [
            (&b""[..], vec![]),
            (b"a\n\nb", vec![text("a\n"), text("\n"), text("b")]),
            (b"\xff\r\n", vec![text("\u{fffd}\r\n")]),
            (b"12345678\n123456789\nok\n", vec![text("12345678\n"), Line::TooLong, text("ok\n")]),
            (b"12345678901234567890123456789\n", vec![Line::TooLong]),
            (b"123456789", vec![Line::TooLong]),
        ] {
            let mut reader = BufReader::with_capacity(3, input);
            let mut found = Vec::new();
            while let Some(line) = next_line(&mut reader, 8).await.unwrap() {
                found.push(line);
            }
            assert_eq!(found, expected);
        }
    }
}
