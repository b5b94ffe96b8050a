//! Ends runs of git in a worktree from another thread: a filter or a hook of the user's may never end by itself.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

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
}
