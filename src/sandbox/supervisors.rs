//! The supervisors that this process has started: in which work tree each of them works, and when another may start.
//!
//! A process has one list, because the kernel knows one list of its children. Each work tree has a gate: whoever
//! starts a process there passes it, and whoever wants the tree quiet closes it meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::Child;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::cage::Isolation;
use super::quiesce::QuietError;

/// How long a start may take before nobody waits for it any more.
const START_LIMIT: Duration = Duration::from_secs(30);

static STARTED: Mutex<Vec<StartedSupervisor>> = Mutex::new(Vec::new());
static GATES: Mutex<BTreeMap<PathBuf, Arc<RwLock<()>>>> = Mutex::new(BTreeMap::new());

/// A supervisor that was started and is not reaped yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartedSupervisor {
    pub(super) pid: Pid,
    /// See `ProcessStat::started`.
    pub(super) started: u64,
    /// Without one, the processes below it belong to no work tree or to several.
    pub(super) worktree: Option<PathBuf>,
    pub(super) isolation: Isolation,
}

/// Waits until processes may start in a work tree; none becomes quiet while the guard is there.
pub(super) async fn pass_gate(worktree: Option<&Path>) -> Option<OwnedRwLockReadGuard<()>> {
    Some(gate(worktree?).read_owned().await)
}

/// Keeps processes from being started in a work tree while the guard is there.
pub(super) async fn close_gate(worktree: &Path) -> Result<OwnedRwLockWriteGuard<()>, QuietError> {
    let closed = tokio::time::timeout(START_LIMIT, gate(worktree).write_owned()).await;
    closed.map_err(|_| QuietError::Starting)
}

/// Starts a supervisor and remembers it. The list is locked meanwhile, so that nobody takes it for a stranger.
pub(super) fn start<T>(
    worktree: Option<PathBuf>,
    isolation: Isolation,
    spawn: impl FnOnce() -> io::Result<(Child, T)>,
) -> io::Result<(Child, T)> {
    let mut list = list();
    let (child, beside) = spawn()?;
    list.extend(identify(&child, worktree, isolation));
    Ok((child, beside))
}

/// The supervisors that are not reaped yet; none starts while the list is locked.
pub(super) fn list() -> MutexGuard<'static, Vec<StartedSupervisor>> {
    let mut list = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    list.retain(StartedSupervisor::is_there);
    list
}

fn gate(worktree: &Path) -> Arc<RwLock<()>> {
    let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
    gates.retain(|path, gate| path == worktree || Arc::strong_count(gate) > 1);
    gates.entry(worktree.to_owned()).or_default().clone()
}

#[cfg(target_os = "linux")]
fn identify(child: &Child, worktree: Option<PathBuf>, isolation: Isolation) -> Option<StartedSupervisor> {
    let pid = Pid::from_raw(child.id()?.try_into().ok()?)?;
    let started = super::tree::ProcessStat::read(pid)?.started;
    Some(StartedSupervisor { pid, started, worktree, isolation })
}

#[cfg(not(target_os = "linux"))]
fn identify(_child: &Child, _worktree: Option<PathBuf>, _isolation: Isolation) -> Option<StartedSupervisor> {
    None
}

impl StartedSupervisor {
    #[cfg(target_os = "linux")]
    fn is_there(&self) -> bool {
        super::tree::ProcessStat::read(self.pid).is_some_and(|stat| stat.started == self.started)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_there(&self) -> bool {
        false
    }
}
