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
pub(in crate::git) struct Edit {
    pub(in crate::git) path: PathBuf,
    /// What the parent has there; none for nothing.
    pub(in crate::git) old: Option<Blob>,
    /// What it gets there; none for nothing.
    pub(in crate::git) new: Option<Blob>,
}

/// Content and mode of one path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) struct Blob {
    pub(in crate::git) oid: Oid,
    pub(in crate::git) mode: u32,
}

impl Blob {
    /// Whether it is a commit of a submodule.
    pub(in crate::git) fn is_gitlink(self) -> bool {
        self.mode & mode::TYPE == mode::GITLINK
    }
}

impl Edit {
    /// Whether the path is no part of a work tree: a nested repository, or a name that leads into a git directory.
    pub(in crate::git) fn is_refused(&self) -> bool {
        let mut blobs = self.old.into_iter().chain(self.new);
        blobs.any(Blob::is_gitlink) || !is_plain(&self.path)
    }
}

/// The paths that differ between two commits or trees, in order.
pub(in crate::git) fn edits(repo: &Repository, before: Oid, after: Oid) -> Result<Vec<Edit>, GitError> {
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

/// What the edits put in place, as `update-index --index-info -z` reads it.
pub(in crate::git) fn index_entries<'a>(edits: impl Iterator<Item = &'a Edit>) -> Vec<u8> {
    let mut entries = Vec::new();
    for (path, Blob { oid, mode }) in edits.filter_map(|edit| Some((&edit.path, edit.new?))) {
        entries.extend(format!("{mode:o} {oid}\t").into_bytes());
        entries.extend(path.as_os_str().as_bytes());
        entries.push(0);
    }
    entries
}

/// The same without submodules.
pub(in crate::git) fn file_entries<'a>(edits: impl IntoIterator<Item = &'a Edit>) -> Vec<u8> {
    index_entries(edits.into_iter().filter(|edit| !edit.new.is_some_and(Blob::is_gitlink)))
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
