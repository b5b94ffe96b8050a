//! Reads all that a process says, for no longer than it may take: in a worktree lies what an agent put there, and a pipe
//! without a writer where git expects a file would hold it for good. Whoever takes long is checked for that.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::stop::StopSignal;

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// When the files of a run that is not over yet are looked at.
const SLOW: Duration = Duration::from_secs(3);

/// The files that git opens wherever it finds them, without a look at what they are.
const OPENED: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// How long a process may take.
#[derive(Debug, Clone, Default)]
pub(super) struct Patience<'a> {
    pub(super) time: Option<Duration>,
    /// The files that git works on, if an agent may have written them.
    pub(super) files: Option<&'a Path>,
    pub(super) stop: StopSignal,
    /// After how many bytes of its output nobody reads on.
    pub(super) output_limit: Option<usize>,
}

/// A file that git would wait for until somebody writes into it.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not a regular file", .0.display())]
pub(super) struct BlockingFile(pub(super) PathBuf);

/// What a process said and how it ended. One that takes longer than it may is killed, which is an error of the kind
/// [`io::ErrorKind::TimedOut`]; so is one that waits for a [`BlockingFile`], and one that is stopped, which is an error of
/// the kind [`io::ErrorKind::Interrupted`].
pub(super) fn until(mut child: Child, patience: Patience<'_>) -> io::Result<Output> {
    let (stdout, stderr) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
    let now = Instant::now();
    let mut limits = Limits {
        deadline: patience.time.map(|time| now + time),
        check: patience.files.map(|files| (now + SLOW, files)),
        stop: &patience.stop,
    };
    let [output_limit, no_limit] = [patience.output_limit.unwrap_or(usize::MAX), usize::MAX];
    match read([(stdout, output_limit), (stderr, no_limit)], &mut limits) {
        Ok([stdout, stderr]) => Ok(Output { status: child.wait()?, stdout, stderr }),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

/// What happens while a process takes its time.
struct Limits<'a> {
    deadline: Option<Instant>,
    /// When which files are looked at, once.
    check: Option<(Instant, &'a Path)>,
    stop: &'a StopSignal,
}

impl Limits<'_> {
    /// How long to wait for the next byte. What is due is done.
    fn next(&mut self) -> io::Result<Option<Duration>> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if let Some((_, files)) = self.check.take_if(|(at, _)| *at <= now)
            && let Some(found) = find_blocking_file(files, self.deadline)
        {
            return Err(io::Error::other(BlockingFile(found)));
        }
        let next = self.deadline.into_iter().chain(self.check.map(|(at, _)| at)).min();
        Ok(next.map(|next| next.saturating_duration_since(Instant::now())))
    }
}

/// The first file below a directory that git would open and wait for. No link is followed.
fn find_blocking_file(files: &Path, deadline: Option<Instant>) -> Option<PathBuf> {
    let mut directories = vec![files.to_owned()];
    while let Some(directory) = directories.pop() {
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return None;
        }
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                directories.push(entry.path());
            } else if !kind.is_file() && !kind.is_symlink() && OPENED.iter().any(|name| entry.file_name() == *name) {
                return Some(entry.path());
            }
        }
    }
    None
}

/// Reads pipes until each of them is closed or has said more than so many bytes. Whoever writes on into it ends by that.
fn read<const N: usize>(pipes: [(Option<OwnedFd>, usize); N], limits: &mut Limits<'_>) -> io::Result<[Vec<u8>; N]> {
    let most = pipes.each_ref().map(|(_, most)| *most);
    let mut open: Vec<(usize, File)> = Vec::new();
    for (place, (pipe, _)) in pipes.into_iter().enumerate() {
        if let Some(pipe) = pipe {
            fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
            open.push((place, File::from(pipe)));
        }
    }
    let (mut said, mut piece) = ([const { Vec::new() }; N], vec![0; PIECE]);
    while !open.is_empty() {
        wait(&open, limits)?;
        let mut still = Vec::new();
        for (place, mut pipe) in open {
            match pipe.read(&mut piece) {
                Ok(0) => continue,
                Ok(length) => said[place].extend_from_slice(&piece[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
            if said[place].len() <= most[place] {
                still.push((place, pipe));
            }
        }
        open = still;
    }
    Ok(said)
}

/// Waits until there is something to read, or a pipe is closed.
fn wait(open: &[(usize, File)], limits: &mut Limits<'_>) -> io::Result<()> {
    loop {
        let left = limits.next()?.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        let pipes = open.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN));
        let stop = limits.stop.descriptor().map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN));
        let mut watched: Vec<_> = pipes.chain(stop).collect();
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
        let output = until(shell(script), Patience::default()).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(3), 800_000, 800_000));
    }

    #[test]
    fn who_takes_too_long_is_killed() {
        let script = "echo begun; exec sleep 600";
        let patience = Patience { time: Some(Duration::from_millis(50)), ..Patience::default() };
        let error = until(shell(script), patience).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn who_is_stopped_is_killed() {
        let (guard, stop) = super::super::stop::stop_signal().unwrap();
        let waiting = std::thread::spawn(move || {
            until(shell("echo begun; exec sleep 600"), Patience { stop, ..Patience::default() })
        });
        drop(guard);
        assert_eq!(waiting.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn who_waits_for_a_pipe_in_the_place_of_a_file_of_git_is_killed_early() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("x/y/.gitignore");
        std::fs::create_dir_all(fifo.parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(".gitignore"), "").unwrap();
        std::os::unix::fs::symlink("y", dir.path().join("x/.gitmodules")).unwrap();
        let status = Command::new("mkfifo").args([&fifo, &fifo.with_file_name("other")]).status().unwrap();
        assert!(status.success());
        let patience =
            Patience { time: Some(Duration::from_secs(600)), files: Some(dir.path()), ..Patience::default() };
        let error = until(shell(&format!("cat '{}'", fifo.display())), patience).unwrap_err();
        let found = error.get_ref().and_then(|error| error.downcast_ref::<BlockingFile>()).unwrap();
        assert_eq!(found.0, fifo);
    }
}
