//! Confines programs of the user's own that work where an agent may be at work too.
//!
//! One way holds a thread, and the programs that it starts, to files; the rest of the process goes on as it was. That costs
//! next to nothing, and is for programs that run nothing of an agent's making. A thread whose reads are limited also makes
//! no TCP connection, reaches no abstract socket and signals nobody else, as far as the kernel has rules for that.
//!
//! The other way is a whole cage, for programs that may run what an agent wrote: a process of ours (the hidden entry `hold`)
//! supervises the program, and ends all that it started when it ends, or when the daemon does. It starts at the root with no
//! environment, because our own binary would load libraries by what both say.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[cfg(target_os = "linux")]
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, retry_on_intr},
    process::{Pid, PidfdFlags, getppid, pidfd_open},
};
use serde::{Deserialize, Serialize};

use super::cage::Cage;
use super::supervisor;
use super::wire::{Controls, Ending, Launch, Word};

/// The argument that selects the entry.
pub const ENTRY: &str = "hold";
/// The variable that says how to run its arguments.
const HELD: &str = "COPPICE_HELD";

/// Files that may be used. What does not exist is passed over, and so is what is itself a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// What may be read and executed; `None` stands for everything.
    pub read: Option<Vec<PathBuf>>,
    /// What may be changed too.
    pub write: Vec<PathBuf>,
}

/// Holds the calling thread until it ends.
#[cfg(target_os = "linux")]
pub fn hold_thread(files: &Files) -> io::Result<()> {
    super::confine::rules::hold(files)
}

#[cfg(not(target_os = "linux"))]
pub fn hold_thread(_files: &Files) -> io::Result<()> {
    Ok(())
}

/// What the entry is to run besides its arguments, and for whom.
#[derive(Debug, Serialize, Deserialize)]
struct EnclosedRun {
    cage: Cage,
    directory: OsString,
    env: Vec<(String, String)>,
    daemon: u32,
}

/// The only variable of the entry: how its arguments are to be run.
pub fn describe(cage: Cage, directory: &Path, env: Vec<(String, String)>) -> io::Result<(&'static str, OsString)> {
    let run = EnclosedRun { cage, directory: directory.into(), env, daemon: std::process::id() };
    Ok((HELD, serde_json::to_string(&run)?.into()))
}

/// Runs the command that the arguments are, in a cage, and ends as it does.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match run(arguments) {
        Ok(Ending::Code(code)) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        // A shell uses this number for the same.
        Ok(Ending::Signal(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        Err(error) => {
            // Nobody is left to read it where this fails.
            writeln!(io::stderr(), "failed to start a program in its sandbox: {error}").ok();
            ExitCode::from(127)
        }
    }
}

fn run(arguments: impl Iterator<Item = OsString>) -> io::Result<Ending> {
    let held = std::env::var(HELD).map_err(io::Error::other)?;
    let EnclosedRun { cage, directory, env, daemon } = serde_json::from_str(&held)?;
    let owner = Owner::find(daemon)?;
    let argv = arguments.map(Word::from).collect();
    let launch = Launch { argv, env, cwd: directory, cage: Some(cage), controls: Controls::Nothing };
    let streams = [
        io::stdin().as_fd().try_clone_to_owned()?,
        io::stdout().as_fd().try_clone_to_owned()?,
        io::stderr().as_fd().try_clone_to_owned()?,
    ];
    // The end of what the program reads and says is seen only when nobody but the program has these. What it complains about
    // ends with this process, so that whoever reads it also waits for a program that has closed its streams.
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    let ended = supervisor::run_command(&launch, streams, move || owner.wait_for_end())?;
    ended.map_err(|failure| io::Error::from_raw_os_error(failure.errno))
}

/// The daemon, for which the command runs.
struct Owner {
    #[cfg(target_os = "linux")]
    process: OwnedFd,
}

impl Owner {
    #[cfg(target_os = "linux")]
    fn find(daemon: u32) -> io::Result<Self> {
        let daemon = i32::try_from(daemon).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let process = pidfd_open(daemon, PidfdFlags::empty())?;
        // It may have died before, and its number have passed to another.
        if getppid() == Some(daemon) { Ok(Self { process }) } else { Err(Errno::SRCH.into()) }
    }

    #[cfg(target_os = "linux")]
    fn wait_for_end(self) {
        retry_on_intr(|| poll(&mut [PollFd::new(&self.process, PollFlags::IN)], None)).ok();
    }

    #[cfg(not(target_os = "linux"))]
    fn find(_daemon: u32) -> io::Result<Self> {
        Ok(Self {})
    }

    /// Nothing tells.
    #[cfg(not(target_os = "linux"))]
    fn wait_for_end(self) {
        loop {
            std::thread::park();
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::permission::Hold;
    use crate::sandbox::support::support;

    /// What a held thread may do with a file inside and with one outside: read, write, each.
    fn try_both(files: Files, inside: &Path, outside: &Path) -> [bool; 4] {
        let (inside, outside) = (inside.to_owned(), outside.to_owned());
        let tries = move || {
            hold_thread(&files).unwrap();
            let read = |place: &Path| fs::read(place.join("there")).is_ok();
            let write = |place: &Path| fs::write(place.join("made"), "x").is_ok();
            [read(&inside), write(&inside), read(&outside), write(&outside)]
        };
        std::thread::spawn(tries).join().unwrap()
    }

    #[test]
    fn a_thread_with_limited_reads_makes_no_connection() {
        if support().hold_of_ports() == Hold::Advisory {
            return;
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connects = move |read: Option<Vec<PathBuf>>| {
            let files = Files { read, write: Vec::new() };
            let connect = move || hold_thread(&files).map(|()| std::net::TcpStream::connect(address).is_ok());
            std::thread::spawn(connect).join().unwrap().unwrap()
        };
        assert!(connects(None));
        assert!(!connects(Some(vec![PathBuf::from("/usr")])));
    }

    #[test]
    fn a_thread_is_held_and_the_others_are_not() {
        if support().hold() == Hold::Advisory {
            return;
        }
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (inside, outside) = (inside.path(), outside.path());
        for place in [inside, outside] {
            fs::write(place.join("there"), "x").unwrap();
        }
        let write = vec![inside.to_owned()];
        let files = Files { read: Some(vec![PathBuf::from("/usr")]), write: write.clone() };
        assert_eq!(try_both(files, inside, outside), [true, true, false, false]);
        let files = Files { read: None, write };
        assert_eq!(try_both(files, inside, outside), [true, true, true, false]);
        let files = Files { read: Some(vec![inside.to_owned()]), write: Vec::new() };
        assert_eq!(try_both(files, inside, outside), [true, false, false, false]);
        fs::write(outside.join("made"), "by a thread that nobody holds").unwrap();
    }
}
