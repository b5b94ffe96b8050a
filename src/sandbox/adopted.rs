//! Processes that lost whoever started them: those of a supervisor come back to this process, and those of a process that
//! died are known by a mark in their environment. Both are ended.
//!
//! So killing a supervisor frees nobody: what was below it stays below the daemon, which refuses decisions to its own
//! descendants, and ends as soon as the loss is noticed.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, child_subreaper, getpid, waitid};

use super::freeze::ProcessHandle;
use super::supervisors;
use super::tree::{self, ProcessStat};

/// How long processes are listed again because the dead left children of their own.
const END_LIMIT: Duration = Duration::from_secs(5);
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
    let begin = Instant::now();
    while begin.elapsed() < END_LIMIT {
        let children = tree::read_children(getpid()).into_iter().filter(|(pid, _)| !is_known(*pid));
        let adopted: Vec<_> = children.filter(|(_, stat)| stat.session != own.session).collect();
        if adopted.is_empty() {
            return;
        }
        let adopted = adopted.into_iter().filter_map(|(pid, stat)| ProcessHandle::open(pid, stat.started));
        for process in kill_all(adopted) {
            // Nobody else waits for it.
            waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).ok();
        }
    }
}

/// Ends every other process that was started with an entry in its environment.
pub(super) fn end_marked(entry: &[u8]) {
    let begin = Instant::now();
    while begin.elapsed() < END_LIMIT {
        let others = tree::list_processes().filter(|pid| *pid != getpid());
        let marked = others.filter(|pid| tree::has_environment_entry(*pid, entry));
        let marked = marked.filter_map(|pid| ProcessHandle::open(pid, ProcessStat::read(pid)?.started));
        if kill_all(marked).is_empty() {
            return;
        }
    }
}

/// Kills processes, all before the first is waited for.
fn kill_all(processes: impl Iterator<Item = ProcessHandle>) -> Vec<ProcessHandle> {
    let killed: Vec<_> = processes.inspect(|process| process.send(Signal::KILL)).collect();
    for process in &killed {
        process.wait_for_end(DEATH_LIMIT);
    }
    killed
}
