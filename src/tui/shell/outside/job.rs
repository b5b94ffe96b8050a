//! A program that has the terminal is part of the job that the shell around knows: when it stops, the job stops, and it
//! goes on with the job.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpgrp, getsid, kill_current_process_group, kill_process, waitpid};

/// Waits for the end of a program. One that is stopped, as by Ctrl+Z, takes the whole job with it.
pub(super) fn wait(child: &Child) -> io::Result<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        match waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => match is_watched() {
                true => suspend()?,
                // Nobody could ever let it go on.
                false => kill_process(pid, Signal::CONT)?,
            },
            Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Stops the whole job, as Ctrl+Z does; this returns when a shell lets it go on.
pub(in crate::tui::shell) fn suspend() -> io::Result<()> {
    Ok(kill_current_process_group(Signal::STOP)?)
}

/// Whether a shell waits for this job. In the first job of a terminal that is not the shell itself, as in a window of its
/// own, nobody does.
pub(in crate::tui::shell) fn is_watched() -> bool {
    getsid(None).is_ok_and(|session| session != getpgrp())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, clippy::zombie_processes, reason = "a program that is waited for by `wait`")]
    fn the_end_of_a_program_is_what_it_says() {
        for (script, expected) in [("exit 0", Some(0)), ("exit 7", Some(7)), ("kill -TERM $$", None)] {
            let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            assert_eq!(wait(&child).unwrap().code(), expected, "{script}");
        }
    }
}
