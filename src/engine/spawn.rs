//! Backends get their processes from the supervisor; this is where the two rooms meet.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use crate::backend::failure::{Failure, FailureKind};
use crate::backend::transport::spawn::{Child, Control, Exit, Needs, Signal, SpawnRequest, Spawner};
use crate::permission::Hold;
use crate::sandbox::SandboxError;
use crate::sandbox::cage::Cage;
use crate::sandbox::descriptors::explain_exhaustion;
use crate::sandbox::launch::{self, Process, Spawn, Status, Stop, Stopper};
use crate::sandbox::terminal::{self, OnTerminal, Size};

use super::external::Servers;
use crate::sandbox::proxy::Proxy;

/// Starts every backend process under a supervisor of its own.
pub(super) struct Supervised {
    pub(super) executable: PathBuf,
    /// What the kernel is known to give; a cage that holds less than that is none.
    pub(super) hold: Hold,
    /// What they may reach; `None` for programs that confine what they start themselves.
    pub(super) cage: Option<Cage>,
    /// The work tree that they work in; `None` for programs that several sessions share.
    pub(super) worktree: Option<PathBuf>,
    pub(super) kept: Kept,
}

/// What ends with the last of the processes.
#[derive(Clone, Default)]
pub(super) struct Kept {
    /// Their way to the network.
    pub(super) _proxy: Option<Arc<Proxy>>,
    /// The external servers whose tools they know.
    pub(super) _servers: Option<Arc<Servers>>,
}

impl Supervised {
    /// Starts a process on a terminal of its own; what is returned beside it is to be kept as long as it runs.
    pub(super) async fn on_terminal(&self, request: SpawnRequest, size: Size) -> Result<(OnTerminal, Kept), Failure> {
        let (spawn, confined) = self.request(request);
        let on = terminal::spawn(spawn, size).await.map_err(failure)?;
        held(self.hold, confined, &on.process)?;
        Ok((on, self.kept.clone()))
    }

    /// What to start, and whether in a cage.
    fn request(&self, request: SpawnRequest) -> (Spawn, Confined) {
        let SpawnRequest { argv, env, cwd, needs } = request;
        let cage = self.cage.clone().map(|cage| with(cage, needs));
        let confined = if cage.is_some() { Confined::Caged } else { Confined::Free };
        let worktree = self.worktree.clone();
        (Spawn { executable: self.executable.clone(), argv, env, cwd, cage, worktree }, confined)
    }
}

/// Whether a cage of ours is around a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Confined {
    Caged,
    /// It confines what it starts itself.
    Free,
}

/// A cage that does not hold where the kernel could is none.
fn held(hold: Hold, confined: Confined, process: &Process) -> Result<(), Failure> {
    if confined == Confined::Caged && hold == Hold::Enforced && process.hold() == Hold::Advisory {
        let message = "the kernel did not take the limits of the process; `coppice doctor` says what it gives";
        return Err(Failure::new(FailureKind::Sandbox, message));
    }
    Ok(())
}

impl Spawner for Supervised {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        let (spawn, confined) = self.request(request);
        let (kept, hold) = (self.kept.clone(), self.hold);
        async move {
            let supervised = launch::spawn(spawn).await.map_err(failure)?;
            let launch::Supervised { stdin, stdout, stderr, mut process } = supervised;
            held(hold, confined, &process)?;
            let exec_at_ms = process.exec_at_ms();
            let pid = u32::try_from(process.pid()).ok();
            let control = Box::new(Handle { stopper: process.stopper() });
            let exit = async move {
                let status = process.wait().await;
                drop(kept);
                match status {
                    Status::Exited(code) => Exit::Code(code),
                    Status::Signalled(signal) => Exit::Signal(signal),
                    Status::Lost => Exit::Lost("the loss of its supervisor".to_owned()),
                }
            };
            Ok(Child {
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
                exec_at_ms,
                pid,
                exit: exit.boxed(),
                control,
            })
        }
        .boxed()
    }
}

struct Handle {
    stopper: Stopper,
}

impl Control for Handle {
    fn signal(&mut self, signal: Signal) {
        self.stopper.stop(match signal {
            Signal::Interrupt => Stop::Int,
            Signal::Terminate => Stop::Term,
            Signal::Kill => Stop::Kill,
        });
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stopper.stop(Stop::Kill);
    }
}

/// The cage with the places that the backend itself cannot do without.
fn with(mut cage: Cage, needs: Needs) -> Cage {
    cage.read.extend(needs.read);
    cage.write.extend(needs.write);
    cage
}

fn failure(error: SandboxError) -> Failure {
    let kind = match &error {
        SandboxError::NoCommand
        | SandboxError::NotFound { .. }
        | SandboxError::Exec { .. }
        | SandboxError::Directory { .. } => FailureKind::Setup,
        SandboxError::Confine { .. }
        | SandboxError::Supervisor { .. }
        | SandboxError::Terminal { .. }
        | SandboxError::Lost { .. } => FailureKind::Sandbox,
    };
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let failure = Failure::new(kind, format!("{error}{cause}"));
    match explain_exhaustion(&error) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
