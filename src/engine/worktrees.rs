//! The worktrees that lie below the data directory, whatever the store knows about them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::id::SessionId;

/// The worktree of a session, at the place that only sessions have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundWorktree {
    pub(super) session: SessionId,
    /// The directory name of its repository's worktrees.
    pub(super) project: String,
    pub(super) path: PathBuf,
}

/// All of them, in order. Trash and spares are none: they outlive the record of their session.
pub(super) fn find_all(data: &Path) -> Vec<FoundWorktree> {
    let mut found = Vec::new();
    for project in directories(&data.join("worktrees")) {
        let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.extend(directories(&project).into_iter().filter_map(|path| {
            let session = path.file_name()?.to_str()?.parse().ok()?;
            Some(FoundWorktree { session, project: name.clone(), path })
        }));
    }
    found
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
