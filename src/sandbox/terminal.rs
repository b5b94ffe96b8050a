//! A command on a terminal of its own, which a person types into from elsewhere.
//!
//! The command gets the slave as its three streams and as its controlling terminal, and its cage opens this one device
//! and no other. Whoever holds the other side reads it and drops it; the tree ends with its `Process`.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use portable_pty::{MasterPty, PtyPair, PtySize, native_pty_system};
use rustix::fs::{Mode, OFlags, open};
use tokio::sync::mpsc;

use super::SandboxError;
use super::launch::{self, Process, Spawn};
use super::wire::{Controls, Streams};

/// How much of the output is read at once, and how many such pieces may wait: a reader that is slow slows the command.
const PIECE: usize = 16 * 1024;
const PIECES: usize = 8;

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// A running command and the person's side of its terminal.
#[derive(Debug)]
pub struct OnTerminal {
    pub process: Process,
    pub keyboard: Keyboard,
    /// What the command shows; it ends when nobody holds the terminal any more.
    pub output: mpsc::Receiver<Vec<u8>>,
}

/// Types into a terminal and changes its size; cheap to clone.
#[derive(Clone)]
pub struct Keyboard(Arc<Sides>);

struct Sides {
    master: Mutex<Box<dyn MasterPty + Send>>,
    /// Its drop types the end of the input, so it goes after the command is gone.
    writer: Mutex<Box<dyn Write + Send>>,
}

/// Starts a command on a fresh terminal.
pub async fn spawn(mut spawn: Spawn, size: Size) -> Result<OnTerminal, SandboxError> {
    let command = launch::name(&spawn)?;
    let failed = |source| SandboxError::Terminal { command: command.clone(), source };
    let PtyPair { master, slave } = native_pty_system().openpty(size.into()).map_err(io_error).map_err(failed)?;
    let device = master.tty_name().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let streams = streams(&device).map_err(failed)?;
    drop(slave);
    if let Some(cage) = &mut spawn.cage {
        // Programs open their terminal by its name as well.
        cage.write.push(device);
    }
    let reader = master.try_clone_reader().map_err(io_error).map_err(failed)?;
    let writer = master.take_writer().map_err(io_error).map_err(failed)?;
    let process = launch::start(spawn, streams, Controls::Terminal).await?;
    let (sender, output) = mpsc::channel(PIECES);
    // A terminal cannot be waited for by the runtime without a descriptor that nobody here may make.
    tokio::task::spawn_blocking(move || read(reader, &sender));
    let keyboard = Keyboard(Arc::new(Sides { master: Mutex::new(master), writer: Mutex::new(writer) }));
    Ok(OnTerminal { process, keyboard, output })
}

impl Keyboard {
    /// Types bytes; waits while the command does not read what was typed before.
    pub async fn write(&self, bytes: Vec<u8>) -> io::Result<()> {
        let sides = self.0.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut writer = sides.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.write_all(&bytes).and_then(|()| writer.flush())
        });
        written.await.map_err(io::Error::other)?
    }

    pub fn resize(&self, size: Size) -> io::Result<()> {
        self.0.master.lock().unwrap_or_else(PoisonError::into_inner).resize(size.into()).map_err(io_error)
    }
}

impl fmt::Debug for Keyboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyboard")
    }
}

impl From<Size> for PtySize {
    fn from(size: Size) -> Self {
        // A terminal without any room is taken for one of unknown size.
        Self { rows: size.rows.max(1), cols: size.columns.max(1), pixel_width: 0, pixel_height: 0 }
    }
}

/// The slave three times. It must not become the terminal of this process.
fn streams(device: &Path) -> io::Result<Streams> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = || -> io::Result<OwnedFd> { Ok(open(device, flags, Mode::empty())?) };
    Ok([slave()?, slave()?, slave()?])
}

/// Reads until the terminal is closed, or nobody wants to know.
fn read(mut reader: Box<dyn Read + Send>, output: &mpsc::Sender<Vec<u8>>) {
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = reader.read(&mut piece) {
        if output.blocking_send(piece[..read].to_vec()).is_err() {
            return;
        }
    }
}

fn io_error(error: impl fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}
