//! Confines programs of the user's own that work where an agent may be at work too.
//!
//! One way holds a thread, and the programs that it starts, to files; the rest of the process goes on as it was. That costs
//! next to nothing, and is for programs that run nothing of an agent's making. A thread whose reads are limited also makes
//! no TCP connection, reaches no abstract socket and signals nobody else, as far as the kernel has rules for that.
//!
//! The other way is a whole cage, for programs that may run what an agent wrote: a process of ours (the hidden entry `hold`)
//! confines itself and becomes the program. With namespaces nothing that the program starts outlives it.

#![expect(clippy::disallowed_methods, reason = "this is where an enclosed program is executed")]

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::cage::{Cage, Isolation};
use super::confine::confine;
#[cfg(target_os = "linux")]
use super::namespace::{self, Side, Surroundings};

/// The argument that selects the entry.
pub const ENTRY: &str = "hold";
/// The variable that carries the cage there.
const CAGE: &str = "COPPICE_CAGE";

/// Files that may be used. What does not exist is passed over, and so is what is itself a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// What may be read and executed; everything if nothing is said.
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

/// The command in a whole cage. What it was told about its streams has to be said again.
pub fn enclose(executable: &Path, command: &Command, cage: &Cage) -> io::Result<Command> {
    let mut enclosed = Command::new(executable);
    enclosed.arg(ENTRY).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => enclosed.env(name, value),
            None => enclosed.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        enclosed.current_dir(directory);
    }
    enclosed.env(CAGE, serde_json::to_string(cage)?);
    Ok(enclosed)
}

/// Confines this process and becomes the program that its arguments name; returns only when that fails.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match become_program(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("failed to start a program in its sandbox: {error}");
            // A shell uses this number for the same.
            ExitCode::from(127)
        }
    }
}

fn become_program(mut arguments: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    let missing = |what: &str| io::Error::other(format!("no {what} was given"));
    let cage = std::env::var(CAGE).map_err(|_| missing("cage"))?;
    let (cage, program): (Cage, _) =
        (serde_json::from_str(&cage)?, arguments.next().ok_or_else(|| missing("program"))?);
    let directory = std::env::current_dir()?;
    match cage.isolation {
        Isolation::RulesOnly => {}
        Isolation::Namespaces =>
        {
            #[cfg(target_os = "linux")]
            if let Some(code) = split(&cage, &directory)? {
                return Ok(code);
            }
        }
    }
    std::env::set_current_dir(directory)?;
    confine(&cage)?;
    close_fds::set_fds_cloexec(3, &[]);
    Err(Command::new(program).args(arguments).env_remove(CAGE).exec())
}

/// Goes into namespaces; in the processes around the program it returns when that has ended.
#[cfg(target_os = "linux")]
fn split(cage: &Cage, directory: &Path) -> io::Result<Option<ExitCode>> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let empty = [Some(directory), home.as_deref()].into_iter().flatten().collect();
    match namespace::split(cage, &Surroundings { empty, temporary: None })? {
        Side::Keeper(keeper) => {
            // The ends of the streams are seen only when nobody but the program has them.
            close_streams()?;
            std::process::exit(keeper.attend());
        }
        Side::Init(init) => {
            close_streams()?;
            init.reap();
            std::process::exit(0);
        }
        Side::Command => super::tree::die_with(rustix::process::getppid()).map(|()| None),
    }
}

#[cfg(target_os = "linux")]
fn close_streams() -> io::Result<()> {
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
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
