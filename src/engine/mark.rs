//! The mark of everything that a daemon starts: a variable that names its data directory. Only one daemon works on a data
//! directory at a time, so whatever carries the mark when a daemon starts was left by one that died.
//!
//! It finds what nothing else ends: git, and commands whose supervisor was killed together with the daemon. A process can
//! start others without it, which only those in namespaces cannot survive.

use std::path::Path;

use crate::git::command;
use crate::sandbox::{launch, quiesce};

const VARIABLE: &str = "COPPICE_STARTED_FOR";

/// Marks all that this process starts from here on.
pub(super) fn mark_all(data: &Path) {
    let value = value(data);
    command::mark_runs(VARIABLE, &value);
    launch::mark_commands(VARIABLE, &value);
}

/// Ends everything with the mark of a data directory.
pub(super) async fn end_all(data: &Path) {
    quiesce::end_marked(VARIABLE, &value(data)).await;
}

fn value(data: &Path) -> String {
    data.canonicalize().unwrap_or_else(|_| data.to_owned()).to_string_lossy().into_owned()
}
