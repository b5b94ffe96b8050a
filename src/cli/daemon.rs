//! `coppice daemon`: the process that owns the sessions. It starts by itself; these commands are for looking and for stopping.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use super::line::{Line, table};
use super::status::count;
use super::{Context, Exit, Failure, Format};
use crate::api;
use crate::api::daemon::{DaemonStatus, StopDaemon, StopHow};
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::client::start::{Absent, Daemon};
use crate::paths::Paths;

/// A daemon answers at once; one that does not is named after this.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long it is waited for.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const LIMIT_BEFORE_KILL: Duration = Duration::from_secs(2);
/// How long a daemon that was told to end may take before it is killed, and how long a new one waits for it: as long as
/// the slowest sessions need.
const END_BEFORE_KILL: Duration = Duration::from_secs(10);
const END_BEFORE_START: Duration = Duration::from_secs(30);
/// How often a followed log is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Looks after the background process that owns the sessions.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  coppice daemon status
  coppice daemon stop
  coppice daemon logs --follow"
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) act: Act,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Act {
    /// Run it in the foreground of this terminal.
    Run {
        /// Started by a client: says when it is ready and leaves the terminal.
        #[arg(long, hide = true)]
        detached: bool,
    },
    #[command(flatten)]
    Look(Look),
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Look {
    /// Start it, unless it runs; waits for one that is ending.
    Start {
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Let it end when the turns in progress have ended.
    Stop {
        /// Interrupt the turns in progress.
        #[arg(long)]
        now: bool,
        /// Interrupt them, and kill a daemon that does not answer or end; what is stored is not lost.
        #[arg(long)]
        force: bool,
    },
    /// Show whether it runs; ends with 6 when it does not.
    Status {
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Print its log.
    Logs {
        /// Go on with what is written, until Ctrl-C.
        #[arg(long)]
        follow: bool,
    },
}

pub(super) async fn run(look: Look, context: &mut Context) -> Result<Exit, Failure> {
    match look {
        Look::Start { format } => start(format.choice(), context).await,
        Look::Stop { now, force } => {
            let how = if now || force { StopHow::Now } else { StopHow::Drain };
            stop(how, if force { Silence::Kill } else { Silence::Tell }, context).await
        }
        Look::Status { format } => status(format.choice(), context).await,
        Look::Logs { follow } => logs(if follow { Follow::Yes } else { Follow::No }, context).await,
    }
}

async fn start(format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let daemon = Daemon::of_this_process()?;
    let mut status = context.client().await?.daemon().await?;
    if let (true, Some(pid)) = (status.draining, status.pid) {
        let text = format!("waiting for the daemon (pid {pid}) to end");
        context.output.say(&Line::new().dim(text))?;
        if !daemon.wait_for_end(pid, END_BEFORE_START).await {
            let message = format!("the daemon (pid {pid}) has not ended yet");
            return Err(Failure::new(Exit::Failed, message)
                .hint("it ends when its turns have ended; `coppice daemon stop --now` interrupts them"));
        }
        status = context.client().await?.daemon().await?;
    }
    show(&status, format, context)?;
    Ok(Exit::Done)
}

async fn status(format: Format, context: &mut Context) -> Result<Exit, Failure> {
    let paths = context.paths()?;
    match find(&paths, ANSWER_LIMIT, context).await? {
        Some(client) => {
            show(&client.daemon().await?, format, context)?;
            Ok(Exit::Done)
        }
        None => {
            show(&absent(&paths), format, context)?;
            Ok(Exit::DaemonUnreachable)
        }
    }
}

/// What to do about a daemon that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Tell,
    Kill,
}

async fn stop(how: StopHow, silence: Silence, context: &mut Context) -> Result<Exit, Failure> {
    let limit = match silence {
        Silence::Tell => ANSWER_LIMIT,
        Silence::Kill => LIMIT_BEFORE_KILL,
    };
    let daemon = Daemon { paths: context.paths()?, absent: Absent::Fail };
    let client = match (find(&daemon.paths, limit, context).await, silence) {
        (Ok(Some(client)), Silence::Tell | Silence::Kill) => client,
        (Ok(None), Silence::Tell | Silence::Kill) => {
            context.output.say(&Line::new().dim("no daemon runs"))?;
            return Ok(Exit::Done);
        }
        (Err(ClientError::OutOfReach { pid, .. } | ClientError::Silent { pid: Some(pid) }), Silence::Kill) => {
            return kill(&daemon, pid, context);
        }
        // Signals say the same as requests: the first lets turns end, the second interrupts them.
        (Err(ClientError::OutOfReach { pid, .. }), Silence::Tell) => {
            let times = match how {
                StopHow::Drain | StopHow::IfIdle => 1,
                StopHow::Now => 2,
            };
            (0..times).try_for_each(|_| signal(&daemon, pid, Signal::TERM))?;
            let text = format!("the daemon (pid {pid}) ends once no turn runs; `coppice daemon stop --force` kills it");
            context.output.say(&Line::new().plain(text))?;
            return Ok(Exit::Done);
        }
        (Err(error), Silence::Tell | Silence::Kill) => return Err(error.into()),
    };
    if let (Silence::Kill, Some(pid)) = (silence, daemon.pid()) {
        match timeout(LIMIT_BEFORE_KILL, client.stop_daemon(&StopDaemon { how })).await {
            // One that does not answer, or not any more, may be about to end all the same.
            Ok(Ok(_) | Err(ClientError::Lost { .. })) | Err(_) => {}
            Ok(Err(error)) => return Err(error.into()),
        }
        if !daemon.wait_for_end(pid, END_BEFORE_KILL).await {
            return kill(&daemon, pid, context);
        }
        context.output.say(&Line::new().plain("the daemon has ended"))?;
        return Ok(Exit::Done);
    }
    let status = client.stop_daemon(&StopDaemon { how }).await?;
    let line = match (how, status.running_turns) {
        (StopHow::Drain | StopHow::IfIdle, turns @ 1..) => Line::new().plain(format!(
            "it ends when {} ended; `coppice daemon stop --now` interrupts",
            count(turns as usize, "turn")
        )),
        (StopHow::Drain | StopHow::IfIdle, 0) | (StopHow::Now, _) => Line::new().plain("the daemon ends"),
    };
    context.output.say(&line)?;
    Ok(Exit::Done)
}

async fn logs(follow: Follow, context: &mut Context) -> Result<Exit, Failure> {
    let path = context.paths()?.log();
    let mut seen = 0;
    loop {
        let bytes = read_from(&path, &mut seen).map_err(|error| {
            Failure::because(format!("failed to read the log `{}`", path.display()), &error)
                .hint("`coppice daemon start` starts a daemon that writes one")
        })?;
        context.output.text(&String::from_utf8_lossy(&bytes))?;
        match follow {
            Follow::No => return Ok(Exit::Done),
            Follow::Yes => tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = super::interrupted() => return Ok(Exit::Detached),
            },
        }
    }
}

/// Whether to go on with what is written later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Yes,
    No,
}

/// What was written since the last look; a file that became shorter was rotated and is read from its beginning.
fn read_from(path: &Path, seen: &mut u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length < *seen {
        *seen = 0;
    }
    file.seek(SeekFrom::Start(*seen))?;
    let mut bytes = Vec::new();
    file.take(length - *seen).read_to_end(&mut bytes)?;
    *seen += bytes.len() as u64;
    Ok(bytes)
}

/// The daemon that runs, without starting one. Tells after a moment whom it waits for.
async fn find(paths: &Paths, limit: Duration, context: &Context) -> Result<Option<Connection>, ClientError> {
    let daemon = Daemon { paths: paths.clone(), absent: Absent::Fail };
    match timeout(limit, context.connect(&daemon, PATIENCE)).await {
        Ok(Ok(client)) => Ok(Some(client)),
        Ok(Err(ClientError::Unreachable { .. })) => Ok(None),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(ClientError::Silent { pid: daemon.pid() }),
    }
}

fn kill(daemon: &Daemon, pid: u32, context: &mut Context) -> Result<Exit, Failure> {
    signal(daemon, pid, Signal::KILL)?;
    let text = format!("killed the daemon (pid {pid}); the next command starts another");
    context.output.say(&Line::new().plain(text))?;
    Ok(Exit::Done)
}

/// Sends a signal to the daemon, and to no process that has its number in another container, or since it ended.
fn signal(daemon: &Daemon, pid: u32, signal: Signal) -> Result<(), Failure> {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_daemon = command
        .split(|byte| *byte == 0)
        .collect::<Vec<_>>()
        .windows(2)
        .any(|words| words == [b"daemon".as_slice(), b"run"]);
    // Whoever holds the lock has not ended.
    let is_daemon = is_daemon && daemon.pid() == Some(pid);
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).filter(|_| is_daemon);
    let sent = process.ok_or(Errno::SRCH).and_then(|process| kill_process(process, signal));
    sent.map_err(|error| {
        Failure::because(format!("failed to end the daemon (pid {pid})"), &io::Error::from(error))
            .hint("end it where it was started, for example in another container")
    })
}

fn absent(paths: &Paths) -> DaemonStatus {
    DaemonStatus {
        running: false,
        pid: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: api::VERSION,
        socket: paths.socket.display().to_string(),
        uptime_s: 0,
        clients: 0,
        sessions: 0,
        running_turns: 0,
        draining: false,
    }
}

fn show(status: &DaemonStatus, format: Format, context: &mut Context) -> Result<(), Failure> {
    match format {
        Format::Json => context.output.json(status),
        Format::Human => context.output.lines(&lines(status)),
    }
}

fn lines(status: &DaemonStatus) -> Vec<Line> {
    let state = match status {
        DaemonStatus { running: false, .. } => "not running",
        DaemonStatus { draining: true, .. } => "ending",
        DaemonStatus { .. } => "running",
    };
    let process = status.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    let state = format!("{state}{process}");
    let mut facts = vec![("daemon", state), ("socket", status.socket.clone())];
    if status.running {
        facts.push(("version", status.version.clone()));
        facts.push((
            "uptime",
            super::age::age(i64::try_from(status.uptime_s).unwrap_or(i64::MAX).saturating_mul(1000), 0),
        ));
        let clients = count(status.clients as usize, "client");
        let turns = count(status.running_turns as usize, "running turn");
        facts.push(("load", format!("{}, {turns}, {clients}", count(status.sessions as usize, "session"))));
    }
    let rows = facts.into_iter().map(|(name, value)| vec![Line::new().dim(name), Line::new().plain(value)]);
    table(&rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_status_says_whether_it_runs() {
        let paths = Paths {
            home: None,
            config: "c".into(),
            agents: "a".into(),
            data: "d".into(),
            run: "r".into(),
            socket: "/run/c.sock".into(),
        };
        let text = |status: &DaemonStatus| lines(status).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        let none = absent(&paths);
        insta::assert_snapshot!(text(&none), @r"
        daemon  not running
        socket  /run/c.sock
        ");
        let busy = DaemonStatus {
            running: true,
            pid: Some(42),
            uptime_s: 7300,
            clients: 1,
            sessions: 3,
            running_turns: 2,
            version: "1.0.0".into(),
            ..none
        };
        insta::assert_snapshot!(text(&busy), @r"
        daemon   running, process 42
        socket   /run/c.sock
        version  1.0.0
        uptime   2h
        load     3 sessions, 2 running turns, 1 client
        ");
    }

    #[test]
    fn a_log_is_read_on_and_again_after_it_was_rotated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut seen = 0;
        for (content, expected) in [("one\n", "one\n"), ("one\ntwo\n", "two\n"), ("one\ntwo\n", ""), ("new\n", "new\n")]
        {
            fs::write(&path, content).unwrap();
            assert_eq!(read_from(&path, &mut seen).unwrap(), expected.as_bytes());
        }
    }
}
