//! A person's terminal, handed through to a program in a session's worktree and back.
//!
//! The program's bytes go to the screen as they are, the keys go to the program, and Ctrl+] comes back. The program ends
//! with its reader, so whoever leaves, on whatever way, leaves nothing behind.

mod key;
mod tty;

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, header};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::ClientError;
use super::connection::{Connection, build, segment};
use super::start::Daemon;
use crate::api::attach::{Attach, Attached, Left, Program, Resize};
use crate::api::request::Environment;
use key::Screen;
pub use tty::Tty;

/// What a person presses to come back, as it is told to them.
pub const WAY_BACK: &str = "Ctrl+]";

/// How much may be typed ahead of a program that does not read.
const TYPED_AHEAD: usize = 1024 * 1024;

/// How long keys that were typed before the way back may take.
const LAST_KEYS: Duration = Duration::from_secs(1);

/// How long a process that was asked to end waits for what became of the program.
const LAST_WORD: Duration = Duration::from_secs(5);

/// How much is read from the terminal at once.
const PIECE: usize = 16 * 1024;

/// A program that runs, and the way to it.
#[derive(Debug)]
pub struct Visit {
    pub attached: Attached,
    /// Carries sizes and the end.
    connection: Connection,
    /// Carries keys: a program that does not read holds it up.
    keys: Connection,
    output: Incoming,
    /// Keeps the request of the output open.
    _stream: Connection,
}

/// How a person came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    pub cause: Cause,
    /// What was typed behind the way back, as the terminal spells it. Late answers to questions of the program may be
    /// among it.
    pub typed: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The program ended.
    Ended,
    /// The key was pressed.
    Key,
    /// This process was asked to end, or its terminal is gone.
    Signal,
}

/// Opens a program in a session's worktree and hands the terminal through to it until it ends or the person comes back.
/// `enter` is called when the program runs and the screen is still the caller's.
pub async fn run(
    daemon: &Daemon,
    (id, program): (&str, Program),
    env: Environment,
    tty: &Tty,
    enter: impl FnOnce(&Attached),
) -> Result<(Cause, Left), ClientError> {
    let Resize { columns, rows } = tty.size();
    let mut visit = Visit::open(daemon, id, &Attach { program, columns, rows, env: Some(env) }).await?;
    enter(&visit.attached);
    let returned = visit.pass(tty).await;
    let leaving = visit.leave();
    let left = match &returned {
        Ok(Return { cause: Cause::Signal, .. }) => {
            timeout(LAST_WORD, leaving).await.map_err(|_| ClientError::Silent { pid: daemon.pid() })?
        }
        Ok(Return { cause: Cause::Ended | Cause::Key, .. }) | Err(_) => leaving.await,
    };
    Ok((returned?.cause, left?))
}

/// Waits for the key of the way back. Whatever else is typed is thrown away: it was meant for a program that is gone.
pub async fn wait_for_way_back(tty: &Tty) {
    // A terminal that cannot be set is one that is gone.
    let Ok(_raw) = tty.raw() else { return };
    let (mut signals, mut piece) = (Signals::new(), vec![0; PIECE]);
    loop {
        tokio::select! {
            told = signals.next() => match told {
                Told::Resized => {}
                Told::End => return,
            },
            read = tty.read(&mut piece) => match read {
                Ok(read @ 1..) if key::way_back(&piece[..read]).is_none() => {}
                Ok(_) | Err(_) => return,
            },
        }
    }
}

impl Visit {
    /// Starts the program.
    pub async fn open(daemon: &Daemon, id: &str, attach: &Attach) -> Result<Self, ClientError> {
        let connection = daemon.connect().await?;
        let path = format!("/v1/sessions/{}/attach", segment(id));
        let attached: Attached = connection.send(Method::POST, &path, attach).await?;
        // The daemon closes a connection without a request, and the first key may come late.
        let keys = daemon.connect().await?;
        let stream = Connection::open(connection.socket()).await?;
        let request = build(Method::GET, &below(&attached, "/output"), Bytes::new())?;
        let output = stream.respond(request).await?.into_body();
        Ok(Self { attached, connection, keys, output, _stream: stream })
    }

    /// Hands the terminal through. It is as it was before when this returns, or is dropped.
    pub async fn pass(&mut self, tty: &Tty) -> Result<Return, ClientError> {
        let (mut screen, mut typed) = (Screen::default(), Vec::new());
        let cause = {
            let raw = tty.raw();
            let cause = match raw {
                Ok(_) => self.carry(tty, &mut screen, &mut typed).await,
                // A terminal that cannot be set is one that is gone.
                Err(_) => Ok(Cause::Signal),
            };
            if let Ok(Cause::Key) = cause {
                tty.drain(&mut typed);
            }
            // A terminal that is gone shows nothing.
            tty.write(&screen.reset()).await.ok();
            tty.settle().await;
            cause
        };
        Ok(Return { cause: cause?, typed })
    }

    /// Ends the program, if it has not ended, and tells what became of its work. The terminal is not needed for it.
    pub async fn leave(self) -> Result<Left, ClientError> {
        self.connection.send(Method::DELETE, &below(&self.attached, ""), &serde_json::Map::new()).await
    }

    /// Carries bytes both ways until something ends it; `behind` gets what was typed behind the way back.
    async fn carry(&mut self, tty: &Tty, screen: &mut Screen, behind: &mut Vec<u8>) -> Result<Cause, ClientError> {
        let mut signals = Signals::new();
        let (mut typed, mut piece) = (Vec::new(), vec![0; PIECE]);
        let (mut typing, mut sizing, mut size) = (None, None, None);
        loop {
            // A daemon that does not answer must not keep the person from the way back.
            if let Some(size) = size.take_if(|_| sizing.is_none()) {
                sizing = Some(Box::pin(resize(&self.connection, &self.attached, size)));
            }
            if typing.is_none() && !typed.is_empty() {
                typing = Some(Box::pin(type_in(&self.keys, &self.attached, std::mem::take(&mut typed))));
            }
            tokio::select! {
                biased;
                told = signals.next() => match told {
                    Told::Resized => size = Some(tty.size()),
                    Told::End => return Ok(Cause::Signal),
                },
                read = tty.read(&mut piece) => match read {
                    Ok(read @ 1..) => match key::way_back(&piece[..read]) {
                        Some(key) => {
                            typed.extend_from_slice(&piece[..key.start]);
                            behind.extend_from_slice(&piece[key.end..read]);
                            let last = async {
                                if let Some(typing) = typing {
                                    typing.await?;
                                }
                                type_in(&self.keys, &self.attached, typed).await
                            };
                            // A program that does not read is left all the same.
                            timeout(LAST_KEYS, last).await.ok();
                            return Ok(Cause::Key);
                        }
                        None if typed.len() < TYPED_AHEAD => typed.extend_from_slice(&piece[..read]),
                        None => {}
                    },
                    Ok(0) | Err(_) => return Ok(Cause::Signal),
                },
                sent = pending(&mut typing) => {
                    typing = None;
                    sent?;
                }
                sent = pending(&mut sizing) => {
                    sizing = None;
                    sent?;
                }
                frame = self.output.frame() => match frame.transpose().map_err(|source| ClientError::Lost { source })? {
                    None => return Ok(Cause::Ended),
                    Some(frame) => {
                        let bytes = frame.into_data().unwrap_or_default();
                        screen.follow(&bytes);
                        if tty.write(&bytes).await.is_err() {
                            return Ok(Cause::Signal);
                        }
                    }
                },
            }
        }
    }
}

/// What the system tells this process about its terminal and its end.
struct Signals {
    resized: Option<Signal>,
    ends: Vec<Signal>,
}

enum Told {
    Resized,
    End,
}

impl Signals {
    /// Without a handler a signal does what it does by default.
    fn new() -> Self {
        let ends = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()];
        Self {
            resized: signal(SignalKind::window_change()).ok(),
            ends: ends.into_iter().filter_map(|kind| signal(kind).ok()).collect(),
        }
    }

    async fn next(&mut self) -> Told {
        let has_ends = !self.ends.is_empty();
        let ends = self.ends.iter_mut().map(|end| Box::pin(end.recv()));
        tokio::select! {
            _ = received(&mut self.resized) => Told::Resized,
            _ = futures_util::future::select_all(ends), if has_ends => Told::End,
        }
    }
}

async fn received(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

async fn pending<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn type_in(keys: &Connection, attached: &Attached, bytes: Vec<u8>) -> Result<(), ClientError> {
    let mut request = build(Method::POST, &below(attached, "/input"), bytes.into())?;
    let kind = HeaderValue::from_static("application/octet-stream");
    request.headers_mut().insert(header::CONTENT_TYPE, kind);
    accepted(keys, request).await
}

async fn resize(connection: &Connection, attached: &Attached, size: Resize) -> Result<(), ClientError> {
    let body = serde_json::to_vec(&size).unwrap_or_default();
    accepted(connection, build(Method::POST, &below(attached, "/size"), body.into())?).await
}

/// Sends what has no answer but its being accepted.
async fn accepted(
    connection: &Connection,
    request: hyper::Request<http_body_util::Full<Bytes>>,
) -> Result<(), ClientError> {
    let response = connection.respond(request).await?;
    response.into_body().collect().await.map(drop).map_err(|source| ClientError::Lost { source })
}

fn below(attached: &Attached, part: &str) -> String {
    format!("/v1/sessions/{}/attach/{}{part}", segment(&attached.session), segment(&attached.attach))
}
