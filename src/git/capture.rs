//! A run of git whose output is bounded, and which can be stopped: for readers who see no more than so much, and for
//! runs that wait for another machine.

use std::io::{self, Read};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::GitError;
use super::command::{self, Git};

/// Bytes that were read, and whether there were more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    pub bytes: Vec<u8>,
    pub is_cut: bool,
}

impl Kept {
    /// Reads up to `limit` bytes.
    fn read(from: impl Read, limit: usize) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let room = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        from.take(room).read_to_end(&mut bytes)?;
        let is_cut = bytes.len() > limit;
        bytes.truncate(limit);
        Ok(Self { bytes, is_cut })
    }
}

/// Runs it for at most `limit` bytes of output; what comes after them is not waited for.
pub(super) fn head(git: Git, limit: usize) -> Result<Kept, GitError> {
    let verb = git.verb();
    let output = git.output_up_to(limit)?;
    let is_cut = output.stdout.len() > limit;
    if !is_cut && !output.status.success() {
        return Err(command::failed(verb, &output));
    }
    let mut bytes = output.stdout;
    bytes.truncate(limit);
    Ok(Kept { bytes, is_cut })
}

/// What a run listens to while it goes on.
#[derive(Debug)]
pub struct Stops {
    sender: Sender<News>,
    receiver: Receiver<News>,
}

/// Stops a run from another thread; does nothing once the run is over.
#[derive(Debug, Clone)]
pub struct Stopper(Sender<News>);

#[derive(Debug)]
enum News {
    Ended,
    Stop,
}

impl Stops {
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { sender, receiver }
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }
}

impl Default for Stops {
    fn default() -> Self {
        Self::new()
    }
}

impl Stopper {
    pub fn stop(&self) {
        // A run that is over has dropped the other end.
        self.0.send(News::Stop).ok();
    }
}

/// How a run that can be stopped ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// All that it said, both streams in one.
    pub(super) said: Kept,
}

/// Runs it until it ends, is stopped or has had its time; whatever it has started ends with it.
pub(super) fn until(git: Git, limit: usize, time: Duration, stops: &Stops) -> Result<Ended, GitError> {
    let verb = git.verb();
    let failed = |source| GitError::Spawn { verb, source };
    let (mut output, mut child) = git.spawn_group()?;
    let news = stops.sender.clone();
    let reader = thread::spawn(move || {
        let kept = Kept::read(&mut output, limit).and_then(|kept| {
            // Read on, so that a run that says much is not ended by that.
            io::copy(&mut output, &mut io::sink()).map(|_| kept)
        });
        // Whoever has given up waiting hears it by the end of the thread.
        news.send(News::Ended).ok();
        kept
    });
    let stopped = match stops.receiver.recv_timeout(time) {
        Ok(News::Ended) => None,
        Ok(News::Stop) | Err(RecvTimeoutError::Disconnected) => Some(GitError::Stopped { verb }),
        Err(RecvTimeoutError::Timeout) => Some(GitError::TimedOut { verb, after: time }),
    };
    if stopped.is_some() {
        kill(&child);
    }
    let status = child.wait().map_err(failed)?;
    let said = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(failed)?;
    match stopped {
        Some(error) => Err(error),
        None => Ok(Ended { status, said }),
    }
}

fn kill(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A group that is gone needs no end.
    group.map(|group| kill_process_group(group, Signal::KILL).ok());
}
