//! The second stage: the process that becomes the command.
//!
//! It says when it is about to execute, then executes; its channel closes by itself when that succeeds. Where the cage asks
//! for namespaces it splits first, and the process that becomes the command is the first but one inside.

#![expect(clippy::disallowed_methods, reason = "this is where a command is executed")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Write};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, getppid, ioctl_tiocsctty, setsid};
use rustix::time::{ClockId, clock_gettime};
use tokio::signal::unix::{SignalKind, signal};

use super::cage::{Cage, Isolation, Network};
use super::confine::confine;
#[cfg(target_os = "linux")]
use super::namespace::{self, Side, Surroundings};
use super::supervisor::{ENTRY, STAGE_TWO};
use super::tree;
use super::wire::{self, Controls, Failure, Launch, StageReport, Step, Streams, Word};
use crate::permission::Hold;

/// Replaces this process by the command; returns only when that fails.
pub(super) fn main() {
    // Asked first: a parent that dies later is noticed by the difference.
    let supervisor = getppid();
    let Ok(channel) = io::stdin().as_fd().try_clone_to_owned() else { return };
    let Ok(Some((launch, streams))) = wire::receive_launch(&channel) else { return };
    let mut channel = File::from(channel);
    let isolation = launch.cage.as_ref().map_or(Isolation::RulesOnly, |cage| cage.isolation);
    let failure = match isolation {
        Isolation::RulesOnly => become_command(&mut channel, launch, streams, supervisor),
        Isolation::Namespaces => {
            #[cfg(target_os = "linux")]
            let terminal = terminal_path(&launch, &streams);
            match split(&launch, supervisor) {
                #[cfg(target_os = "linux")]
                Ok(Side::Keeper(keeper)) => {
                    // The ends of these are seen only when nobody but the command holds them.
                    drop((channel, streams));
                    std::process::exit(keeper.attend());
                }
                #[cfg(target_os = "linux")]
                Ok(Side::Init(init)) => {
                    drop((channel, streams));
                    init.reap();
                    std::process::exit(0);
                }
                #[cfg(target_os = "linux")]
                Ok(Side::Command) => {
                    let streams = reopen_terminal(terminal.as_deref(), streams);
                    become_command(&mut channel, launch, streams, getppid())
                }
                Err(error) => Failure::new(Step::Confine, &error),
            }
        }
    };
    // The supervisor may be gone, and then nobody is left to tell.
    wire::line(&StageReport::Failed(failure)).and_then(|line| channel.write_all(&line)).ok();
}

/// Puts the command's process into namespaces; this process stays outside and keeps it.
#[cfg(target_os = "linux")]
fn split(launch: &Launch, supervisor: Option<rustix::process::Pid>) -> io::Result<Side> {
    let Some(cage) = &launch.cage else { return Err(rustix::io::Errno::INVAL.into()) };
    tree::die_with(supervisor)?;
    // It is the channel, which must close with the last process that uses it.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let named = |wanted: &str| launch.env.iter().find(|(name, _)| name == wanted).map(|(_, path)| Path::new(path));
    let empty = [Some(Path::new(&launch.cwd)), named("HOME")].into_iter().flatten().collect();
    namespace::split(cage, &Surroundings { empty, temporary: named("TMPDIR") })
}

#[cfg(not(target_os = "linux"))]
fn split(_launch: &Launch, _supervisor: Option<rustix::process::Pid>) -> io::Result<std::convert::Infallible> {
    Err(rustix::io::Errno::NOSYS.into())
}

/// The name of the terminal that the command is to control.
#[cfg(target_os = "linux")]
fn terminal_path(launch: &Launch, [stdin, ..]: &Streams) -> Option<PathBuf> {
    match launch.controls {
        Controls::Nothing => None,
        Controls::Terminal => std::fs::read_link(format!("/proc/self/fd/{}", stdin.as_raw_fd())).ok(),
    }
}

/// Opens the terminal again by its name: a stream from outside has no name inside, and programs ask for it.
#[cfg(target_os = "linux")]
fn reopen_terminal(path: Option<&Path>, streams: Streams) -> Streams {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let reopened = || -> Option<Streams> {
        let again = || -> Option<OwnedFd> { open(path?, flags, Mode::empty()).ok() };
        Some([again()?, again()?, again()?])
    };
    reopened().unwrap_or(streams)
}

/// Tries out whether a process can have namespaces of its own: a stage that says it is ready has had them.
pub(super) fn try_namespaces(executable: &OsStr) -> io::Result<()> {
    let cage = Cage { network: Network::Ports(Vec::new()), isolation: Isolation::Namespaces, ..Cage::default() };
    // A directory cannot be executed: the trial ends by itself.
    let argv = vec![Word::Text("/".to_owned())];
    let launch = Launch { argv, env: Vec::new(), cwd: "/".into(), cage: Some(cage), controls: Controls::Nothing };
    let nothing = || -> io::Result<OwnedFd> { Ok(File::options().read(true).write(true).open("/dev/null")?.into()) };
    let streams = [nothing()?, nothing()?, nothing()?];
    let (ours, theirs) = UnixStream::pair()?;
    let mut child = Command::new(executable)
        .args([ENTRY, STAGE_TWO])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let report = wire::send_launch(&ours, &launch, &streams).and_then(|()| wire::read(&mut BufReader::new(ours)));
    // Whoever reaped it before us, it is gone.
    child.wait().ok();
    match report? {
        Some(StageReport::Ready { .. }) => Ok(()),
        Some(StageReport::Failed(failure)) => Err(io::Error::from_raw_os_error(failure.errno)),
        None => Err(rustix::io::Errno::CHILD.into()),
    }
}

fn become_command(
    channel: &mut File,
    launch: Launch,
    [stdin, stdout, stderr]: Streams,
    parent: Option<rustix::process::Pid>,
) -> Failure {
    let bound = tree::die_with(parent).and_then(|()| {
        // A session of its own: `kill 0` in a script must not reach the supervisor.
        setsid()?;
        match launch.controls {
            Controls::Nothing => Ok(()),
            Controls::Terminal => {
                restore_default_actions(&TYPED)?;
                Ok(ioctl_tiocsctty(&stdin)?)
            }
        }
    });
    if let Err(error) = bound {
        return Failure::new(Step::Confine, &error);
    }
    if let Err(error) = std::env::set_current_dir(&launch.cwd) {
        return Failure::new(Step::Directory, &error);
    }
    let hold = match launch.cage.as_ref().map_or(Ok(Hold::Advisory), confine) {
        Ok(hold) => hold,
        Err(error) => return Failure::new(Step::Confine, &error),
    };
    let mut words = launch.argv.into_iter().map(OsString::from);
    let Some(program) = words.next() else {
        return Failure::new(Step::Exec, &rustix::io::Errno::INVAL.into());
    };
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(launch.env).stdin(stdin).stdout(stdout).stderr(stderr);
    // Whatever a careless ancestor left open stays outside.
    close_fds::set_fds_cloexec(3, &[]);
    match wire::line(&StageReport::Ready { exec_at_ms: now_ms(), held: hold.into() })
        .and_then(|line| channel.write_all(&line))
    {
        Ok(()) => Failure::new(Step::Exec, &command.exec()),
        Err(error) => Failure::new(Step::Supervise, &error),
    }
}

/// Signals that a terminal sends.
const TYPED: [Signal; 7] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::TSTP, Signal::TTIN, Signal::TTOU];

/// Has signals do in the command what they do by default: whoever started the daemon in the background had it ignore some,
/// and what is ignored stays so. A handler does not outlive the exec, and leaves the default behind.
pub(super) fn restore_default_actions(signals: &[Signal]) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    for number in signals {
        drop(signal(SignalKind::from_raw(number.as_raw()))?);
    }
    Ok(())
}

fn now_ms() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}
