//! What the demo agent does to the world: commands, waits, a stray process. Each runs beside the agent and wakes it.

#![expect(clippy::disallowed_methods, reason = "the demo agent is a program of its own: it runs commands and waits")]

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, setsid};

use serde_json::Value;

use crate::backend::registry::DEMO_ENTRY;
use crate::backend::transport::jsonrpc::Message;

/// The argument that makes our executable the stray process.
pub(super) const STRAY_FLAG: &str = "--stray";

/// A stray process that nobody ends goes by itself, so that a failed test leaves nothing for good.
const STRAY_LIFE: Duration = Duration::from_secs(600);

/// Between two looks at a file that does not exist yet.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long the output of a command that ended may still come.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Everything that can wake the agent. `token` names the work, so that a late wake is not taken for another's.
#[derive(Debug)]
pub(super) enum Wake {
    Message(Message),
    /// The client closed our input.
    Closed,
    Output {
        token: u64,
        bytes: Vec<u8>,
    },
    /// A command ended, after all of its output; `None` when its status is lost.
    Ended {
        token: u64,
        status: Option<ExitStatus>,
    },
    /// A wait is over; `problem` says why it was in vain.
    Ready {
        token: u64,
        problem: Option<String>,
    },
    /// A server of tools answered, or why it did not.
    Served {
        token: u64,
        answer: Result<Value, String>,
    },
}

/// What a command tells while it runs.
#[derive(Debug)]
pub(super) enum News {
    Bytes(Vec<u8>),
    Ended(Option<ExitStatus>),
}

impl Wake {
    pub(super) fn news_of(&self, work: u64) -> Option<News> {
        match self {
            Self::Output { token, bytes } if *token == work => Some(News::Bytes(bytes.clone())),
            Self::Ended { token, status } if *token == work => Some(News::Ended(*status)),
            Self::Output { .. } | Self::Ended { .. } | Self::Message(_) => None,
            Self::Closed | Self::Ready { .. } | Self::Served { .. } => None,
        }
    }
}

/// A command that runs; it ends with this handle.
pub(super) struct Running {
    group: Option<Pid>,
    is_over: bool,
}

impl Running {
    /// The command ended by itself: its group is nobody's to signal.
    pub(super) fn over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group.filter(|_| !self.is_over) {
            // The group may have ended in this moment, which is as good.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// Starts `sh -c command` in a group of its own.
pub(super) fn run(command: &str, cwd: &Path, token: u64, wakes: &Sender<Wake>) -> io::Result<Running> {
    let (mut output, stdout) = io::pipe()?;
    let stderr = stdout.try_clone()?;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(cwd).process_group(0);
    let mut child = shell.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn()?;
    // It holds our copies of the pipe's writing end: only the command's own may keep it open.
    drop(shell);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (reading, read) = mpsc::channel::<()>();
    let bytes_out = wakes.clone();
    thread::spawn(move || {
        let _reading = reading;
        let mut chunk = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = output.read(&mut chunk) {
            // The agent may be gone; the command must not wait for a full pipe even then.
            bytes_out.send(Wake::Output { token, bytes: chunk[..read].to_vec() }).ok();
        }
    });
    let end = wakes.clone();
    thread::spawn(move || {
        let status = child.wait().ok();
        // A background process may hold the output open for good, so its end is waited for only a moment.
        read.recv_timeout(LAST_OUTPUT).ok();
        // The agent may be gone.
        end.send(Wake::Ended { token, status }).ok();
    });
    Ok(Running { group, is_over: false })
}

/// A wait for a file; dropping it gives up.
pub(super) struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until `path` exists. Opening a FIFO blocks until a writer comes: a wait without looking again and again.
pub(super) fn wait_for(path: PathBuf, token: u64, wakes: &Sender<Wake>) -> Waiting {
    let given_up = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&given_up);
    let wakes = wakes.clone();
    thread::spawn(move || {
        let result = loop {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match fs::metadata(&path) {
                Ok(found) if found.file_type().is_fifo() => break File::open(&path).map(drop),
                Ok(_) => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => thread::sleep(LOOK_AGAIN),
                Err(error) => break Err(error),
            }
        };
        // The agent may be gone.
        wakes.send(Wake::Ready { token, problem: result.err().map(|error| error.to_string()) }).ok();
    });
    Waiting(given_up)
}

/// Starts a process that has left our session and our group by the time its pid is returned.
pub(super) fn start_stray() -> io::Result<u32> {
    let mut child = Command::new(env::current_exe()?)
        .args([DEMO_ENTRY, STRAY_FLAG])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    line.trim().parse().map_err(|_| io::Error::other("the stray process did not start"))
}

/// The stray process itself.
pub(super) fn stray() -> ExitCode {
    let said = setsid().map_err(io::Error::from).and_then(|pid| {
        let mut stdout = io::stdout();
        writeln!(stdout, "{}", pid.as_raw_nonzero())?;
        stdout.flush()
    });
    if said.is_err() {
        return ExitCode::FAILURE;
    }
    thread::sleep(STRAY_LIFE);
    ExitCode::SUCCESS
}
