//! Reads all that a process says, for no longer than it may take: in a worktree lies what an agent put there, and a pipe
//! without a writer where git expects a file would hold it for good.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::stop::StopSignal;

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// What a process said and how it ended. One that takes longer than `time` is killed, which is an error of the kind
/// [`io::ErrorKind::TimedOut`]; one that is stopped, which is one of the kind [`io::ErrorKind::Interrupted`].
pub(super) fn until(mut child: Child, time: Option<Duration>, stop: &StopSignal) -> io::Result<Output> {
    let (stdout, stderr) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
    match read([stdout, stderr], time.map(|time| Instant::now() + time), stop) {
        Ok([stdout, stderr]) => Ok(Output { status: child.wait()?, stdout, stderr }),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

/// Reads pipes until all of them are closed.
fn read<const N: usize>(
    pipes: [Option<OwnedFd>; N],
    deadline: Option<Instant>,
    stop: &StopSignal,
) -> io::Result<[Vec<u8>; N]> {
    let mut open: Vec<(usize, File)> = Vec::new();
    for (place, pipe) in pipes.into_iter().enumerate() {
        if let Some(pipe) = pipe {
            fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
            open.push((place, File::from(pipe)));
        }
    }
    let (mut said, mut piece) = ([const { Vec::new() }; N], vec![0; PIECE]);
    while !open.is_empty() {
        wait(&open, deadline, stop)?;
        let mut still = Vec::new();
        for (place, mut pipe) in open {
            match pipe.read(&mut piece) {
                Ok(0) => continue,
                Ok(length) => said[place].extend_from_slice(&piece[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
            still.push((place, pipe));
        }
        open = still;
    }
    Ok(said)
}

/// Waits until there is something to read, or a pipe is closed.
fn wait(open: &[(usize, File)], deadline: Option<Instant>, stop: &StopSignal) -> io::Result<()> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let pipes = open.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN));
        let mut watched: Vec<_> =
            pipes.chain(stop.descriptor().map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN))).collect();
        match poll(&mut watched, left.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) if watched.iter().skip(open.len()).any(|stop| !stop.revents().is_empty()) => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(_) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any process shows it")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn both_streams_are_read_to_their_end() {
        let script =
            "for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; done; exit 3";
        let output = until(shell(script), None, &StopSignal::default()).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(3), 800_000, 800_000));
    }

    #[test]
    fn who_takes_too_long_is_killed() {
        let script = "echo begun; exec sleep 600";
        let error = until(shell(script), Some(Duration::from_millis(50)), &StopSignal::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn who_is_stopped_is_killed() {
        let (guard, stop) = super::super::stop::stop_signal().unwrap();
        let waiting = std::thread::spawn(move || until(shell("echo begun; exec sleep 600"), None, &stop));
        drop(guard);
        assert_eq!(waiting.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
