//! The end of a running call, as its caller may ask for it: a command dies with its whole process group.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Stops one call. A call that starts nothing goes on until its own end.
#[derive(Debug, Default)]
pub(crate) struct Halt(Mutex<State>);

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Idle,
    /// The group of the command, by its first process.
    Running(Pid),
    Stopped,
}

impl Halt {
    /// Ends the call: what runs is killed, and nothing starts any more.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        if let State::Running(group) = *state {
            // A group that has just ended needs no signal.
            kill_process_group(group, Signal::KILL).ok();
        }
        *state = State::Stopped;
    }

    /// Starts a command that leads a group of its own; `None` when the call was stopped before.
    pub(crate) fn start(&self, spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Option<Child>> {
        // Held while it starts: whoever stops the call meets either no command or all of it.
        let mut state = self.lock();
        match *state {
            State::Stopped => Ok(None),
            State::Idle | State::Running(_) => {
                let child = spawn()?;
                *state = State::Running(Pid::from_child(&child));
                Ok(Some(child))
            }
        }
    }

    /// Waits for the end of the command, which is still to be reaped; says whether it was stopped. Its number is forgotten
    /// before it is reaped and can belong to another process.
    pub(crate) fn end(&self, child: &Child) -> io::Result<bool> {
        waitid(WaitId::Pid(Pid::from_child(child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        let mut state = self.lock();
        match *state {
            State::Stopped => Ok(true),
            State::Idle | State::Running(_) => {
                *state = State::Idle;
                Ok(false)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
