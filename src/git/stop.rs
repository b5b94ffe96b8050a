//! Ends runs of git in a worktree from another thread: a filter or a hook of the user's may never end by itself.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::GitError;

/// Tells the runs that know it to end. The default one never does.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Option<Arc<PipeReader>>);

/// Gives the signal when it is dropped.
#[derive(Debug)]
pub struct StopGuard {
    _writer: PipeWriter,
}

/// A signal, and what gives it.
pub fn stop_signal() -> io::Result<(StopGuard, StopSignal)> {
    let (reader, writer) = io::pipe()?;
    Ok((StopGuard { _writer: writer }, StopSignal(Some(Arc::new(reader)))))
}

impl StopSignal {
    /// What can be read once the signal was given.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_deref().map(AsFd::as_fd)
    }

    /// An error once the signal was given, for work that runs no git.
    pub(super) fn check(&self, verb: &'static str) -> Result<(), GitError> {
        let Some(stop) = self.descriptor() else { return Ok(()) };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut [PollFd::from_borrowed_fd(stop, PollFlags::IN)], Some(&now)) {
            Ok(0) | Err(_) => Ok(()),
            Ok(_) => Err(GitError::Stopped { verb }),
        }
    }
}
