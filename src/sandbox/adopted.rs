//! Processes that lost their supervisor: they come back to this process, which ends them.
//!
//! So killing a supervisor frees nobody: what was below it stays below the daemon, which refuses decisions to its own
//! descendants, and ends as soon as the loss is noticed.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, child_subreaper, getpid, waitid};

use super::freeze::ProcessHandle;
use super::supervisors;
use super::tree::{self, ProcessStat};

/// How often the children of this process are listed again because the dead left children of their own.
const ROUNDS: usize = 64;
/// A killed process ends at once, unless the kernel is busy on its behalf.
const DEATH_LIMIT: Duration = Duration::from_secs(2);

/// Ends every child of this process that it did not start itself.
///
/// A process below a supervisor has left the daemon's session and cannot come back to it, while what the daemon starts
/// without a supervisor, such as git, is still in it.
pub(super) fn end_adopted() {
    // Orphans come only to a process that has asked for them. Another one's children are its own affair.
    if !matches!(child_subreaper(), Ok(Some(_))) {
        return;
    }
    // Locked: a supervisor that starts meanwhile is no stranger.
    let supervisors = supervisors::list();
    let is_known = |pid: Pid| supervisors.iter().any(|supervisor| supervisor.pid == pid);
    let Some(own) = ProcessStat::read(getpid()) else { return };
    for _ in 0..ROUNDS {
        let children = tree::list_children(getpid()).into_iter().filter(|pid| !is_known(*pid));
        let stats = children.filter_map(|pid| Some((pid, ProcessStat::read(pid)?)));
        let adopted: Vec<_> = stats.filter(|(_, stat)| stat.session != own.session).collect();
        if adopted.is_empty() {
            return;
        }
        for (pid, stat) in adopted {
            let Some(process) = ProcessHandle::open(pid, stat.started) else { continue };
            process.send(Signal::KILL);
            process.wait_for_end(DEATH_LIMIT);
            // Nobody else waits for it.
            waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).ok();
        }
    }
}
