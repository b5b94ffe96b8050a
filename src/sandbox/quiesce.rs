//! A work tree in which nobody works: its processes are stopped, and none starts, while somebody else works there.
//!
//! It knows work trees by their paths, and every process below the supervisors that were started for one. What runs on
//! other systems than Linux cannot be found, and goes on.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;

use super::supervisors;

/// Why a work tree was not quiet.
#[derive(Debug, thiserror::Error)]
pub enum QuietError {
    #[error("a process is still being started in the worktree")]
    Starting,
    #[error("the processes of the session could not be stopped")]
    Unstoppable,
    #[error("the processes of the session could not be ended")]
    Unkillable,
    #[error("{count} stopped processes of the session ran while git worked in the worktree; they were killed")]
    Disturbed { count: usize },
    #[error("the work in the worktree was cut short")]
    Lost(#[from] tokio::task::JoinError),
}

/// Runs `work` on a thread that may block, while no process of the work tree runs and none starts there.
///
/// What `work` did is not trusted if a process ran all the same.
pub async fn run_in_quiet_tree<T: Send + 'static>(
    worktree: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, QuietError> {
    run_in_quiet_trees(&BTreeSet::from([worktree.to_owned()]), work).await
}

/// The same for several work trees at once, or for none.
///
/// Gates are closed in the order of their paths, and whoever has closed one waits for nothing but further gates. So two
/// callers with some trees in common wait for each other in turn and never both.
pub async fn run_in_quiet_trees<T: Send + 'static>(
    worktrees: &BTreeSet<PathBuf>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, QuietError> {
    run_behind_closed_gates(worktrees, |worktrees| system::run_quietly(worktrees, work)).await
}

/// Ends what processes of the work tree left behind: those whose own parents are gone. The programs that were started for
/// the work tree go on, with their children.
pub async fn end_orphans(worktree: &Path) -> Result<(), QuietError> {
    run_behind_closed_gate(worktree, system::end_orphans).await
}

/// Ends every process of the work tree, and returns when they are gone.
pub async fn end_processes(worktree: &Path) -> Result<(), QuietError> {
    run_behind_closed_gate(worktree, system::end_processes).await
}

/// Runs `work` on a thread that may block, while no process starts in the work tree.
async fn run_behind_closed_gate<T: Send + 'static>(
    worktree: &Path,
    work: impl FnOnce(PathBuf) -> Result<T, QuietError> + Send + 'static,
) -> Result<T, QuietError> {
    let path = worktree.to_owned();
    run_behind_closed_gates(&BTreeSet::from([path.clone()]), |_| work(path)).await
}

/// The same for several. The gates stay closed until `work` is done, also when nobody waits for it any more.
async fn run_behind_closed_gates<T: Send + 'static>(
    worktrees: &BTreeSet<PathBuf>,
    work: impl FnOnce(BTreeSet<PathBuf>) -> Result<T, QuietError> + Send + 'static,
) -> Result<T, QuietError> {
    let mut closed = Vec::new();
    for worktree in worktrees {
        closed.push(supervisors::close_gate(worktree).await?);
    }
    let worktrees = worktrees.clone();
    spawn_blocking(move || {
        let _closed = closed;
        work(worktrees)
    })
    .await?
}

/// Makes this process the parent of every process below it that loses its supervisor.
pub fn adopt_orphans() -> io::Result<()> {
    super::tree::adopt_orphans()
}

/// Ends every process that lost its supervisor.
pub async fn end_adopted() {
    // A thread that panicked has nothing left to end.
    spawn_blocking(system::end_adopted).await.ok();
}

/// Ends every process whose environment has a variable with this value, apart from this one.
pub async fn end_marked(name: &str, value: &str) {
    let entry = format!("{name}={value}").into_bytes();
    // A thread that panicked has nothing left to end.
    spawn_blocking(move || system::end_marked(&entry)).await.ok();
}

/// Waits for the supervisors of a daemon that died: each of them ends what is below it before it ends itself.
pub async fn wait_for_orphaned_supervisors() {
    // A thread that panicked waits for nobody.
    spawn_blocking(system::wait_for_orphaned_supervisors).await.ok();
}

#[cfg(target_os = "linux")]
mod system {
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal};

    use super::super::adopted;
    use super::super::freeze::{Frozen, ProcessHandle, Scope, Unstoppable, freeze};
    use super::super::supervisors::StartedSupervisor;
    use super::super::tree::{self, ProcessStat};
    use super::super::{hold, supervisor};
    use super::*;

    /// How long a supervisor may take to notice that nothing is left below it.
    const END_LIMIT: Duration = Duration::from_secs(5);

    pub(super) use adopted::{end_adopted, end_marked};

    pub(super) fn run_quietly<T>(worktrees: BTreeSet<PathBuf>, work: impl FnOnce() -> T) -> Result<T, QuietError> {
        let frozen = worktrees.into_iter().map(silence).collect::<Result<Vec<_>, _>>()?;
        let outcome = work();
        match frozen.into_iter().map(Frozen::thaw).sum() {
            0 => Ok(outcome),
            count => Err(QuietError::Disturbed { count }),
        }
    }

    pub(super) fn end_orphans(worktree: PathBuf) -> Result<(), QuietError> {
        end_adopted();
        // Mostly there are none, and nobody needs to be stopped for that, unless one could hide from this look.
        let scope = scope(&worktree);
        if !scope.stops_at_once() && scope.list_orphans().is_empty() {
            return Ok(());
        }
        let frozen = silence(worktree)?;
        if frozen.kill_orphans() { Ok(()) } else { Err(QuietError::Unkillable) }
    }

    pub(super) fn end_processes(worktree: PathBuf) -> Result<(), QuietError> {
        let supervisors: Vec<_> = supervisors_of(Some(&worktree)).into_iter().filter_map(|it| open(it.pid)).collect();
        if !silence(worktree)?.kill_all() {
            return Err(QuietError::Unkillable);
        }
        let deadline = Instant::now() + END_LIMIT;
        for supervisor in supervisors {
            if !supervisor.wait_for_end(deadline.saturating_duration_since(Instant::now())) {
                supervisor.send(Signal::KILL);
                if !supervisor.wait_for_end(END_LIMIT) {
                    return Err(QuietError::Unkillable);
                }
            }
        }
        end_adopted();
        Ok(())
    }

    pub(super) fn wait_for_orphaned_supervisors() {
        let deadline = Instant::now() + END_LIMIT;
        let is_orphan = |pid: &Pid| {
            let parent = ProcessStat::read(*pid).map(|stat| stat.parent);
            // Orphans of a user that systemd looks after come to a process of that user.
            parent.is_some_and(|parent| parent == Pid::INIT || tree::has_first_argument(parent, &["--user"]))
        };
        let entries = [supervisor::ENTRY, hold::ENTRY];
        let supervisors = tree::list_processes().filter(|pid| tree::has_first_argument(*pid, &entries));
        for supervisor in supervisors.filter(is_orphan).filter_map(open) {
            supervisor.wait_for_end(deadline.saturating_duration_since(Instant::now()));
        }
    }

    fn open(pid: Pid) -> Option<ProcessHandle> {
        ProcessHandle::open(pid, ProcessStat::read(pid)?.started)
    }

    fn silence(worktree: PathBuf) -> Result<Frozen, QuietError> {
        // What lost its supervisor is no part of any tree.
        end_adopted();
        freeze(scope(&worktree)).map_err(|Unstoppable| QuietError::Unstoppable)
    }

    fn scope(worktree: &Path) -> Scope {
        // The kernel knows directories by where they are, and not by the links that lead there.
        let real = worktree.canonicalize().unwrap_or_else(|_| worktree.to_owned());
        Scope::new(real, &supervisors_of(Some(worktree)), &supervisors_of(None))
    }

    fn supervisors_of(worktree: Option<&Path>) -> Vec<StartedSupervisor> {
        supervisors::list().iter().filter(|supervisor| supervisor.worktree.as_deref() == worktree).cloned().collect()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    pub(super) fn run_quietly<T>(_worktrees: BTreeSet<PathBuf>, work: impl FnOnce() -> T) -> Result<T, QuietError> {
        Ok(work())
    }

    pub(super) fn end_orphans(_worktree: PathBuf) -> Result<(), QuietError> {
        Ok(())
    }

    pub(super) fn end_processes(_worktree: PathBuf) -> Result<(), QuietError> {
        Ok(())
    }

    pub(super) fn end_adopted() {}

    pub(super) fn end_marked(_entry: &[u8]) {}

    pub(super) fn wait_for_orphaned_supervisors() {}
}
