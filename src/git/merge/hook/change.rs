//! What hooks changed in a commit, with a name for exactly these changes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::{Delta, ObjectType, Repository};

use crate::git::{GitError, Oid, submodule};

/// How many characters of a hash name changes.
const ID_LENGTH: usize = 12;

/// The files that hooks added, changed or deleted beyond what was to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookChanges {
    /// The same for the same changes, and for no others.
    pub id: String,
    pub files: Vec<HookFileChange>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFileChange {
    pub path: PathBuf,
    /// `added`, `changed` or `deleted`.
    pub kind: &'static str,
    pub insertions: usize,
    pub deletions: usize,
}

/// What is different between a tree and the one that hooks made of it; none when they are the same.
pub(in crate::git) fn compare(repo: &Repository, before: Oid, after: Oid) -> Result<Option<HookChanges>, GitError> {
    if before == after {
        return Ok(None);
    }
    let read = || {
        let (before, after) = (repo.find_tree(before.raw())?, repo.find_tree(after.raw())?);
        let diff = repo.diff_tree_to_tree(Some(&before), Some(&after), None)?;
        let (mut text, mut files) = (Vec::new(), Vec::new());
        for (at, delta) in diff.deltas().enumerate() {
            let (old, new) = (delta.old_file(), delta.new_file());
            let path = new.path_bytes().or_else(|| old.path_bytes()).unwrap_or_default();
            let sides = [(old.id(), old.mode()), (new.id(), new.mode())];
            for (id, mode) in sides {
                text.extend(format!("{id} {:o} ", u32::from(mode)).into_bytes());
            }
            text.extend(path.iter().chain(&[0]));
            let lines = git2::Patch::from_diff(&diff, at)?.map(|patch| patch.line_stats()).transpose()?;
            let (_, insertions, deletions) = lines.unwrap_or_default();
            let kind = match delta.status() {
                Delta::Added => "added",
                Delta::Deleted => "deleted",
                _ => "changed",
            };
            files.push(HookFileChange { path: PathBuf::from(OsStr::from_bytes(path)), kind, insertions, deletions });
        }
        let mut id = git2::Oid::hash_object(ObjectType::Blob, &text)?.to_string();
        id.truncate(ID_LENGTH);
        Ok(HookChanges { id, files })
    };
    let changes = read().map_err(GitError::library("compare what the hooks staged"))?;
    // An index that was written by hand can name any path.
    match changes.files.iter().find(|file| submodule::plain(file.path.as_os_str().as_bytes()).is_none()) {
        Some(file) => {
            let detail = format!("a hook staged `{}`, which is no path of a work tree", file.path.display());
            Err(GitError::Unreadable { verb: "write-tree", detail })
        }
        None => Ok(Some(changes)),
    }
}
