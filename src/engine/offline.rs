//! What can be done about the store without a daemon: a diagnosis, a backup, a comparison with git, a rebuild.
//!
//! The caller holds the daemon's lock for a rebuild; the others change nothing that a daemon uses.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::api::error::Error;
use crate::api::project::{Check, RunDoctor};
use crate::api::store::{RebuildRequest, StoreBackup, StoreRebuild, StoreVerification, WhenHealthy};
use crate::store::{self, Damage, Depth, PreparedBackup, Store, StoreError};

use super::fault::Fault;
use super::rebuild::{self, Rebuilt};
use super::{DATABASE, Engine, Options, assemble, clock, verify, worktrees};

/// What the directory is called in which a new database is made.
const DRAFT_PREFIX: &str = ".rebuild-";

/// The checks of `doctor`, with a store that holds nothing: the real one may be what is wrong.
pub async fn diagnose_offline(options: Options, request: RunDoctor) -> Result<Vec<Check>, Error> {
    let scratch = scratch_directory()?;
    let store = Store::open(&scratch.path().join(DATABASE)).map_err(Fault::from)?;
    let engine = Engine { shared: assemble(options, store.clone()) };
    let checks = engine.doctor(request).await;
    store.close().await;
    checks
}

/// Compares the store with the repositories and the worktrees.
pub fn verify_store(data: &Path) -> Result<StoreVerification, Error> {
    let path = data.join(DATABASE);
    admit(data, Depth::EveryPage).map_err(Fault::from)?;
    Ok(verify::verify(data, &path)?)
}

/// Copies the store to a new file; without a name, to one with the date in the data directory.
pub fn back_up_store(data: &Path, file: Option<PathBuf>) -> Result<StoreBackup, Error> {
    let target = match file {
        Some(file) => file,
        None => {
            let directory = data.join("backups");
            let failed = |source| Fault::File { act: "create", path: directory.clone(), source };
            fs::create_dir_all(&directory).map_err(failed)?;
            find_free_path(|date| directory.join(format!("coppice-{date}.db")))
        }
    };
    let prepared = PreparedBackup::write(&data.join(DATABASE), &target, store::PATIENCE).map_err(Fault::from)?;
    super::crash::point();
    prepared.place().map_err(Fault::from)?;
    let bytes = fs::metadata(&target).map_or(0, |found| found.len());
    Ok(StoreBackup { file: target.display().to_string(), bytes })
}

/// Makes the store anew from what can be read of the old one and from what git holds. The old one is kept.
pub async fn rebuild_store(options: Options, request: RebuildRequest) -> Result<StoreRebuild, Error> {
    let data = options.data.clone();
    let path = data.join(DATABASE);
    let readable = match (admit(&data, Depth::EveryPage), request.when_healthy) {
        (Ok(()), WhenHealthy::Refuse) if path.exists() => {
            return Err(Fault::HealthyStore { path: path.clone() }.into());
        }
        (Ok(()), WhenHealthy::Refuse | WhenHealthy::Rebuild) => {
            // Folds its log, so that the file is all of it.
            if path.exists() {
                Store::open(&path).map_err(Fault::from)?.close().await;
            }
            path.exists()
        }
        // SQLite deletes the log of an empty file as soon as it opens it.
        (Err(StoreError::Damaged { damage: Damage::Missing | Damage::Emptied, .. }), _) => false,
        (Err(StoreError::Damaged { .. } | StoreError::Corrupt { .. }), _) => true,
        (Err(error), WhenHealthy::Refuse | WhenHealthy::Rebuild) => return Err(Fault::from(error).into()),
    };
    remove_drafts(&data);
    let scratch = tempfile::Builder::new().prefix(DRAFT_PREFIX).tempdir_in(&data);
    let scratch = scratch.map_err(|source| Fault::File { act: "write to", path: data.clone(), source })?;
    let draft = scratch.path().join(DATABASE);
    let store = Store::open(&draft).map_err(Fault::from)?;
    if readable {
        store::carry_over(&path, &draft, store::PATIENCE).map_err(Fault::from)?;
    }
    let shared = assemble(options, store.clone());
    let rebuilt = rebuild::recover_sessions(&shared, &request).await;
    store.close().await;
    let Rebuilt { repositories, carried_over, recovered, skipped } = rebuilt?;
    super::crash::point();
    let kept = find_free_path(|date| path.with_extension(format!("db.old-{date}")));
    store::exchange(&draft, &path, &kept).map_err(Fault::from)?;
    let kept = kept.exists().then(|| kept.display().to_string());
    Ok(StoreRebuild { database: path.display().to_string(), kept, repositories, carried_over, recovered, skipped })
}

/// Removes what a rebuild that was killed left; the caller's lock says that no other one runs.
fn remove_drafts(data: &Path) {
    for entry in fs::read_dir(data).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(DRAFT_PREFIX) {
            // Left behind they only take space.
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

fn admit(data: &Path, depth: Depth) -> Result<(), StoreError> {
    store::admit(&data.join(DATABASE), worktrees::find_all(data).len(), depth, store::PATIENCE)
}

fn scratch_directory() -> Result<tempfile::TempDir, Fault> {
    tempfile::tempdir().map_err(|source| Fault::File { act: "write to", path: std::env::temp_dir(), source })
}

/// A path with the time in its name that nothing has yet; a number follows where another one was made in the same second.
fn find_free_path(name: impl Fn(&str) -> PathBuf) -> PathBuf {
    let date = Timestamp::from_millisecond(clock::now()).unwrap_or_default().strftime("%Y%m%d-%H%M%S").to_string();
    let numbered = (2..).map(|number: u32| format!("{date}-{number}"));
    let mut paths = std::iter::once(date.clone()).chain(numbered).map(|text| name(&text));
    paths.find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| name(&date))
}
