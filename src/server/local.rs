//! What the command line does without a daemon: it looks after the store, also where no daemon can start.

use std::io;
use std::path::PathBuf;

use crate::api::error::{Error, ErrorKind};
use crate::api::project::{Check, RunDoctor};
use crate::api::store::{RebuildRequest, StoreBackup, StoreRebuild, StoreVerification};
use crate::engine::{self, Options};
use crate::paths::{self, Paths, PathsError};
use crate::sandbox::supervisor;
use crate::sandbox::support::support;

use super::daemon::{now_ms, own_environment, passable_environment};
use super::lock::{self, Holder, LockError};

/// The checks of `coppice doctor`.
pub fn diagnose(request: RunDoctor) -> Result<Vec<Check>, Error> {
    let options = options(&find_paths()?)?;
    block_on(engine::diagnose_offline(options, request))
}

/// Compares the store with the repositories and the worktrees.
pub fn verify() -> Result<StoreVerification, Error> {
    engine::verify_store(&find_paths()?.data)
}

/// Copies the store to a file.
pub fn back_up(file: Option<PathBuf>) -> Result<StoreBackup, Error> {
    engine::back_up_store(&find_paths()?.data, file)
}

/// Makes the store anew, while no daemon runs.
pub fn rebuild(request: RebuildRequest) -> Result<StoreRebuild, Error> {
    let paths = find_paths()?;
    paths::make_private(&paths.data).map_err(|error| failed(&error))?;
    let holder =
        Holder { pid: std::process::id(), started_at: now_ms(), socket: paths.socket.clone(), ended: Some(false) };
    let mut lock = lock::acquire(&paths.lock(), &holder).map_err(|error| match error {
        LockError::Held { .. } => Error::new(ErrorKind::Conflict, error.to_string())
            .with_hint("`coppice daemon stop` ends it; then try again"),
        LockError::Io { .. } => failed(&error),
    })?;
    let result = block_on(engine::rebuild_store(options(&paths)?, request));
    lock.say_goodbye();
    result
}

fn find_paths() -> Result<Paths, Error> {
    Paths::of_this_process().map_err(|error: PathsError| failed(&error))
}

fn options(paths: &Paths) -> Result<Options, Error> {
    let executable = supervisor::executable().map_err(|error| failed(&error))?;
    Ok(Options {
        data: paths.data.clone(),
        config: paths.config.clone(),
        environment: own_environment(),
        passable_environment: passable_environment(),
        support: support().with_namespaces(&executable),
        executable,
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error: io::Error| failed(&error))?.block_on(work)
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Error {
    Error::new(ErrorKind::Failed, error.to_string()).with_causes_of(error)
}
