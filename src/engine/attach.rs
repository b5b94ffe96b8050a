//! A person at a terminal in a session's worktree: the lease, the way of the bytes, and the end.
//!
//! The session's task holds the lease; this is what clients reach meanwhile. The program lives exactly as long as
//! somebody reads what it shows.

mod start;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::api::attach::{Attach, Attached, Left, Program, Resize};
use crate::api::error::Error;
use crate::id::SessionId;
use crate::sandbox::launch::{Process, Stop};
use crate::sandbox::terminal::{Keyboard, OnTerminal, Size};

use super::Engine;
use super::actor::Command;
use super::fault::Fault;
use super::shared::lock;
use super::spawn::Kept;
pub(super) use start::{Running, refuse, start};

/// How long a program waits for its first reader.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a program has to end by itself once its terminal is gone.
const GRACE: Duration = Duration::from_secs(2);

/// Who is at which session's terminal; the last one of a session stays known, so that its end can be asked for.
#[derive(Default)]
pub(super) struct Terminals(Mutex<HashMap<SessionId, Arc<Terminal>>>);

/// Who asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    Person,
    Agent,
}

/// What somebody wants to work with.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) token: String,
    pub(super) program: Program,
    pub(super) size: Size,
}

/// One program and the person's way to it.
pub(super) struct Terminal {
    token: String,
    name: String,
    keyboard: Mutex<Option<Keyboard>>,
    output: Mutex<Option<mpsc::Receiver<Vec<u8>>>>,
    /// Somebody reads the output.
    taken: Notify,
    stop: CancellationToken,
    left: watch::Sender<Option<Left>>,
}

/// What a program shows, until it ends. Dropping it ends the program.
pub struct Output {
    pieces: mpsc::Receiver<Vec<u8>>,
    terminal: Arc<Terminal>,
}

impl Output {
    /// The next piece; `None` when there will be no other.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.pieces.recv().await
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.terminal.stop.cancel();
    }
}

impl Engine {
    /// Leases a session to a person and starts what they work with.
    pub async fn attach(&self, id: &str, request: Attach) -> Result<Attached, Error> {
        self.refuse_while_draining()?;
        let Attach { program, columns, rows, env } = request;
        let id = self.find(id).await?;
        if let Some(env) = env {
            self.shared.set_environment(id, env);
        }
        let token = draw_token().map_err(Fault::from)?;
        let visit = Visit { token: token.clone(), program, size: Size { columns, rows } };
        self.tell(id, Command::Attach(visit)).await?;
        let terminal = self.terminal(id, &token)?;
        Ok(Attached { attach: token, program, session: id.to_string(), name: terminal.name.clone() })
    }

    /// What the program shows; there is one reader.
    pub async fn attach_output(&self, id: &str, token: &str) -> Result<Output, Error> {
        let terminal = self.terminal(self.find(id).await?, token)?;
        let pieces = lock(&terminal.output).take().ok_or(Fault::OutputTaken)?;
        terminal.taken.notify_one();
        Ok(Output { pieces, terminal })
    }

    /// Types into the terminal.
    pub async fn attach_input(&self, id: &str, token: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let terminal = self.terminal(self.find(id).await?, token)?;
        let Some(keyboard) = lock(&terminal.keyboard).clone() else { return Ok(()) };
        tokio::select! {
            // A program that is gone reads nothing; its end is told elsewhere.
            typed = keyboard.write(bytes) => drop(typed),
            () = terminal.stop.cancelled() => {}
        }
        Ok(())
    }

    pub async fn attach_size(&self, id: &str, token: &str, size: Resize) -> Result<(), Error> {
        let terminal = self.terminal(self.find(id).await?, token)?;
        if let Some(keyboard) = &*lock(&terminal.keyboard) {
            // As with typing.
            keyboard.resize(Size { columns: size.columns, rows: size.rows }).ok();
        }
        Ok(())
    }

    /// Ends the program, if it has not ended, and tells how it ended.
    pub async fn detach(&self, id: &str, token: &str) -> Result<Left, Error> {
        let terminal = self.terminal(self.find(id).await?, token)?;
        terminal.stop.cancel();
        let mut left = terminal.left.subscribe();
        let told = left.wait_for(Option::is_some).await.map(|left| left.clone());
        Ok(told.ok().flatten().ok_or(Fault::Draining)?)
    }

    fn terminal(&self, id: SessionId, token: &str) -> Result<Arc<Terminal>, Fault> {
        let known = self.shared.terminals.find(id).filter(|terminal| terminal.token == token);
        known.ok_or(Fault::NotAttached { id })
    }
}

impl Terminals {
    /// A session's terminal, which takes the place of the one before.
    pub(super) fn open(&self, id: SessionId, token: String, screen: Screen) -> Arc<Terminal> {
        let Screen { name, keyboard, output } = screen;
        let terminal = Arc::new(Terminal {
            token,
            name,
            keyboard: Mutex::new(Some(keyboard)),
            output: Mutex::new(Some(output)),
            taken: Notify::new(),
            stop: CancellationToken::new(),
            left: watch::Sender::new(None),
        });
        lock(&self.0).insert(id, terminal.clone());
        terminal
    }

    /// The session is gone for good.
    pub(super) fn forget(&self, id: SessionId) {
        lock(&self.0).remove(&id);
    }

    fn find(&self, id: SessionId) -> Option<Arc<Terminal>> {
        lock(&self.0).get(&id).cloned()
    }
}

/// The person's side of a program.
pub(super) struct Screen {
    /// What runs, as a person knows it.
    name: String,
    keyboard: Keyboard,
    output: mpsc::Receiver<Vec<u8>>,
}

/// The program's side.
pub(super) struct Host {
    process: Process,
    /// Its way to the network.
    kept: Kept,
    /// What goes on beside it as long as it runs.
    beside: Option<BoxFuture<'static, ()>>,
    /// What is done when it is gone.
    after: Option<BoxFuture<'static, ()>>,
}

impl Running {
    pub(super) fn divide(self) -> (Screen, Host) {
        let Running { name, on: OnTerminal { process, keyboard, output }, kept, beside, after } = self;
        (Screen { name, keyboard, output }, Host { process, kept, beside, after })
    }
}

impl Terminal {
    /// Asks for the end.
    pub(super) fn end(&self) {
        self.stop.cancel();
    }

    /// Tells whoever asks how it ended.
    pub(super) fn tell(&self, left: Left) {
        self.left.send_replace(Some(left));
    }

    /// Follows the program to its end. It ends with its reader, and without one.
    pub(super) async fn follow(self: Arc<Self>, host: Host) -> i32 {
        let Host { mut process, kept, beside, after } = host;
        let beside = async {
            if let Some(beside) = beside {
                beside.await;
            }
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            status = process.wait() => Some(status),
            () = self.stop.cancelled() => None,
            () = self.unread() => None,
            () = beside => None,
        };
        let status = match ended {
            Some(status) => status,
            None => process.end_by(Stop::HangUp, GRACE).await,
        };
        drop(kept);
        *lock(&self.keyboard) = None;
        // Nobody took it: its reader would wait for room for ever.
        *lock(&self.output) = None;
        if let Some(after) = after {
            after.await;
        }
        status.code()
    }

    /// Ends when nobody came to read.
    async fn unread(&self) {
        if tokio::time::timeout(PATIENCE, self.taken.notified()).await.is_ok() {
            std::future::pending().await
        }
    }
}

/// A name that nobody guesses.
fn draw_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> Terminal {
        Terminal {
            token: String::new(),
            name: String::new(),
            keyboard: Mutex::default(),
            output: Mutex::default(),
            taken: Notify::new(),
            stop: CancellationToken::new(),
            left: watch::Sender::new(None),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_waits_some_seconds_for_its_reader() {
        let unread = terminal();
        tokio::time::timeout(PATIENCE * 2, unread.unread()).await.unwrap();
        let read = terminal();
        read.taken.notify_one();
        assert!(tokio::time::timeout(PATIENCE * 2, read.unread()).await.is_err());
    }

    #[tokio::test]
    async fn a_reader_that_goes_asks_for_the_end() {
        let (terminal, (_sender, pieces)) = (Arc::new(terminal()), mpsc::channel(1));
        let output = Output { pieces, terminal: terminal.clone() };
        assert!(!terminal.stop.is_cancelled());
        drop(output);
        assert!(terminal.stop.is_cancelled());
    }
}
