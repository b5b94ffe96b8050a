//! The second stage: the process that becomes the command.
//!
//! It says when it is about to execute, then executes; its channel closes by itself when that succeeds.

#![expect(clippy::disallowed_methods, reason = "this is where a command is executed")]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getppid, ioctl_tiocsctty, setsid};
use rustix::time::{ClockId, clock_gettime};
use tokio::signal::unix::{SignalKind, signal};

use super::confine::confine;
use super::tree;
use super::wire::{self, Controls, Failure, Launch, StageReport, Step, Streams};
use crate::permission::Hold;

/// Replaces this process by the command; returns only when that fails.
pub(super) fn main() {
    // Asked first: a parent that dies later is noticed by the difference.
    let supervisor = getppid();
    let Ok(channel) = io::stdin().as_fd().try_clone_to_owned() else { return };
    let Ok(Some((launch, streams))) = wire::receive_launch(&channel) else { return };
    let mut channel = File::from(channel);
    let failure = become_command(&mut channel, launch, streams, supervisor);
    // The supervisor may be gone, and then nobody is left to tell.
    wire::line(&StageReport::Failed(failure)).and_then(|line| channel.write_all(&line)).ok();
}

fn become_command(
    channel: &mut File,
    launch: Launch,
    [stdin, stdout, stderr]: Streams,
    supervisor: Option<rustix::process::Pid>,
) -> Failure {
    let bound = tree::die_with(supervisor).and_then(|()| {
        // A session of its own: `kill 0` in a script must not reach the supervisor.
        setsid()?;
        match launch.controls {
            Controls::Nothing => Ok(()),
            Controls::Terminal => {
                heed_keys()?;
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
    let Some((program, arguments)) = launch.argv.split_first() else {
        return Failure::new(Step::Exec, &rustix::io::Errno::INVAL.into());
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(launch.env).stdin(stdin).stdout(stdout).stderr(stderr);
    // Whatever a careless ancestor left open stays outside.
    close_fds::set_fds_cloexec(3, &[]);
    match wire::line(&StageReport::Ready { exec_at_ms: now_ms(), held: hold.into() })
        .and_then(|line| channel.write_all(&line))
    {
        Ok(()) => Failure::new(Step::Exec, &command.exec()),
        Err(error) => Failure::new(Step::Supervise, &error),
    }
}

/// Has signals of a terminal do what they do by default: whoever started the daemon in the background had it ignore some,
/// and what is ignored stays so. A handler does not outlive the exec, and leaves the default behind.
fn heed_keys() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    for number in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::TSTP, Signal::TTIN, Signal::TTOU] {
        drop(signal(SignalKind::from_raw(number.as_raw()))?);
    }
    Ok(())
}

fn now_ms() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}
