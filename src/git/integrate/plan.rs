//! Which paths differ between what the parent has and what it shall have. Pure but for reading two trees.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{DiffFile, Repository};

use crate::git::index::mode;
use crate::git::{GitError, Oid};

/// One path that is written, replaced or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) path: PathBuf,
    /// What the parent has there; none for nothing.
    pub(super) old: Option<Blob>,
    /// What it gets there; none for nothing.
    pub(super) new: Option<Blob>,
}

/// Content and mode of one path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) oid: Oid,
    pub(super) mode: u32,
}

impl Edit {
    /// Whether the path is no part of a work tree: a nested repository, or a name that leads into a git directory.
    pub(super) fn is_refused(&self) -> bool {
        let is_gitlink = |blob: &Option<Blob>| blob.is_some_and(|blob| blob.mode & mode::TYPE == mode::GITLINK);
        is_gitlink(&self.old) || is_gitlink(&self.new) || !is_plain(&self.path)
    }
}

/// The paths that differ between two commits or trees, in order.
pub(super) fn edits(repo: &Repository, before: Oid, after: Oid) -> Result<Vec<Edit>, GitError> {
    let compare = || {
        let peel = |oid: Oid| repo.find_object(oid.raw(), None)?.peel_to_tree();
        repo.diff_tree_to_tree(Some(&peel(before)?), Some(&peel(after)?), None)
    };
    let diff = compare().map_err(GitError::library("compare two trees"))?;
    // A file that became a link comes as a deletion and an addition of the same path.
    let mut found: BTreeMap<PathBuf, (Option<Blob>, Option<Blob>)> = BTreeMap::new();
    for delta in diff.deltas() {
        if let Some((path, blob)) = side(&delta.old_file()) {
            found.entry(path).or_default().0 = Some(blob);
        }
        if let Some((path, blob)) = side(&delta.new_file()) {
            found.entry(path).or_default().1 = Some(blob);
        }
    }
    Ok(found.into_iter().map(|(path, (old, new))| Edit { path, old, new }).collect())
}

fn side(file: &DiffFile<'_>) -> Option<(PathBuf, Blob)> {
    let path = PathBuf::from(OsStr::from_bytes(file.path_bytes()?));
    let blob = Blob { oid: file.id().into(), mode: u32::from(file.mode()) };
    (!file.id().is_zero()).then_some((path, blob))
}

/// Whether each part of a path is an ordinary name. A hostile tree object can spell anything.
fn is_plain(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let is_git = |name: &[u8]| name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1");
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0) && !is_git(name);
    bytes.split(|byte| *byte == b'/').all(is_name) && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        for (path, expected) in [
            ("a", true),
            ("a/b c/d", true),
            (".gitignore", true),
            (".github/x", true),
            ("", false),
            ("/etc/passwd", false),
            ("a//b", false),
            ("a/./b", false),
            ("../x", false),
            ("a/../../x", false),
            (".git/hooks/x", false),
            ("sub/.GIT/config", false),
            ("GIT~1/x", false),
        ] {
            assert_eq!(is_plain(Path::new(path)), expected, "{path}");
        }
    }
}
