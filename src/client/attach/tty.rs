//! The terminal of this process, read and written byte by byte while it is somebody else's.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::net::unix::pipe;

use crate::api::attach::Resize;

/// What a terminal without a size is taken for.
const USUAL: Resize = Resize { columns: 80, rows: 24 };

/// The terminal that this process belongs to. Its descriptions are its own: waiting on them must not change how the
/// streams of the process behave.
#[derive(Debug)]
pub struct Tty {
    device: OwnedFd,
    /// The runtime waits for a terminal as it does for a pipe.
    keys: pipe::Receiver,
    screen: pipe::Sender,
}

/// The terminal without any processing of its own; as it was before once this is dropped.
#[derive(Debug)]
pub(super) struct Raw<'a> {
    tty: &'a Tty,
    before: Termios,
}

impl Tty {
    /// Opens the terminal; an error when there is none. Has to be called inside a tokio runtime.
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = || open("/dev/tty", flags, Mode::empty());
        let keys = pipe::Receiver::from_owned_fd_unchecked(device()?)?;
        let screen = pipe::Sender::from_owned_fd_unchecked(device()?)?;
        Ok(Self { device: device()?, keys, screen })
    }

    pub fn size(&self) -> Resize {
        match tcgetwinsize(&self.device) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Resize { columns: size.ws_col, rows: size.ws_row },
            Ok(_) | Err(_) => USUAL,
        }
    }

    pub(super) fn raw(&self) -> io::Result<Raw<'_>> {
        let before = tcgetattr(&self.device)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&self.device, OptionalActions::Drain, &raw)?;
        Ok(Raw { tty: self, before })
    }

    /// Reads what was typed; nothing when the terminal is gone. Cancelling the wait loses nothing.
    pub(super) async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.keys.readable().await?;
            match self.keys.try_read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }

    /// Takes what the terminal holds already, without waiting for more.
    pub(super) fn drain(&self, into: &mut Vec<u8>) {
        let mut piece = [0; 1024];
        while let Ok(read @ 1..) = rustix::io::read(&self.device, &mut piece) {
            into.extend_from_slice(&piece[..read]);
        }
    }

    pub(super) async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.screen.writable().await?;
            match self.screen.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => bytes = &bytes[written?..],
            }
        }
        Ok(())
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        // Replies to questions of the program, which come late, are nothing that was typed. A terminal that is gone needs
        // neither.
        tcflush(&self.tty.device, QueueSelector::IFlush).ok();
        tcsetattr(&self.tty.device, OptionalActions::Drain, &self.before).ok();
    }
}
