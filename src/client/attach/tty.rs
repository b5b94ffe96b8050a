//! The terminal of this process, read and written byte by byte while it is somebody else's.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcdrain, tcflush, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::api::attach::Resize;

/// What a terminal without a size is taken for.
const USUAL: Resize = Resize { columns: 80, rows: 24 };

/// How long a terminal says nothing that has answered all it was asked, and how long that is waited for at most.
const QUIET: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_millis(500);

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
        Self::at(Path::new("/dev/tty"))
    }

    fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let device = || open(path, flags, Mode::empty());
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
        // Keys that were typed before the terminal became raw are there, and the runtime does not learn of them.
        match rustix::io::read(&self.device, &mut *into) {
            Err(rustix::io::Errno::AGAIN) => {}
            result => return Ok(result?),
        }
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

    /// Throws away what the terminal still answers to the program that had it: it knows the questions only once they were
    /// written, and whoever reads next would take an answer for keys.
    pub(super) async fn settle(&self) {
        // A terminal that is gone answers nothing.
        tcdrain(&self.device).ok();
        tcflush(&self.device, QueueSelector::IFlush).ok();
        let mut piece = [0; 1024];
        let answers = async { while let Ok(Ok(1..)) = timeout(QUIET, self.read(&mut piece)).await {} };
        timeout(PATIENCE, answers).await.ok();
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
        // A terminal that is gone needs it not.
        tcsetattr(&self.tty.device, OptionalActions::Flush, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use portable_pty::{PtySize, native_pty_system};

    use super::*;

    #[tokio::test]
    async fn keys_typed_before_the_terminal_is_raw_are_read() {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let (tty, mut terminal) =
            (Tty::at(&pair.master.tty_name().unwrap()).unwrap(), pair.master.take_writer().unwrap());
        let mut typed = [0; 8];
        terminal.write_all(b"\x1dn").unwrap();
        // The line discipline holds them back, and the runtime has seen that there is nothing to read.
        assert!(timeout(QUIET, tty.read(&mut typed)).await.is_err());
        let _raw = tty.raw().unwrap();
        let read = timeout(PATIENCE, tty.read(&mut typed)).await.unwrap().unwrap();
        assert_eq!(&typed[..read], b"\x1dn");
    }

    #[tokio::test]
    async fn late_answers_of_a_terminal_are_no_keys() {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let (tty, mut terminal) =
            (Tty::at(&pair.master.tty_name().unwrap()).unwrap(), pair.master.take_writer().unwrap());
        let raw = tty.raw().unwrap();
        terminal.write_all(b"\x1b]4;0;rgb:0a0a/0a0a/0a0a\x07").unwrap();
        // An answer that comes only after all was written and flushed, in pieces.
        let late = async {
            for piece in [&b"\x1b]4;1;rgb:a"[..], b"aaa/aaaa/", b"aaaa\x07"] {
                terminal.write_all(piece).unwrap();
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(tty.settle(), late);
        let mut left = Vec::new();
        tty.drain(&mut left);
        assert_eq!(left, b"");
        drop(raw);
        terminal.write_all(b"x\n").unwrap();
        let mut typed = [0; 8];
        assert_eq!(tty.read(&mut typed).await.unwrap(), 2, "what is typed later is read");
    }
}
