//! What hooks changed in a commit, with a name for exactly these changes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::{Delta, ObjectType, Repository};

use crate::git::diff::Changes;
use crate::git::{GitError, Oid, submodule};

/// How much of a patch a refusal shows: lines, and characters of each.
const PATCH_HEAD: (usize, usize) = (200, 400);
/// The last line of a patch that is longer than that.
const CUT: &str = "… the rest is not shown\n";

/// The files that hooks added, changed or deleted beyond what was to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookChanges {
    /// The same for the same changes, and for no others: a whole hash, because hooks may run code that looks for two changes
    /// with the same one.
    pub id: String,
    pub files: Vec<HookFileChange>,
    /// The beginning of the patch, for a person to read.
    pub patch: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFileChange {
    pub path: PathBuf,
    /// `added`, `changed` or `deleted`.
    pub kind: &'static str,
    pub insertions: usize,
    pub deletions: usize,
}

impl HookChanges {
    /// How much that is.
    pub(in crate::git) fn total(&self) -> Changes {
        let sum = |count: fn(&HookFileChange) -> usize| self.files.iter().map(|file| count(file) as u64).sum();
        Changes {
            files: self.files.len(),
            insertions: sum(|file| file.insertions),
            deletions: sum(|file| file.deletions),
        }
    }
}

/// What is different between a tree, or that of a commit, and the one that hooks made of it; none when they are the same.
pub(in crate::git) fn compare(repo: &Repository, before: Oid, after: Oid) -> Result<Option<HookChanges>, GitError> {
    if before == after {
        return Ok(None);
    }
    let read = || {
        let tree = |oid: Oid| repo.find_object(oid.raw(), None)?.peel_to_tree();
        let diff = repo.diff_tree_to_tree(Some(&tree(before)?), Some(&tree(after)?), None)?;
        let (mut text, mut files, mut shown) = (Vec::new(), Vec::new(), PatchHead::default());
        for (at, delta) in diff.deltas().enumerate() {
            let (old, new) = (delta.old_file(), delta.new_file());
            let path = new.path_bytes().or_else(|| old.path_bytes()).unwrap_or_default();
            let sides = [(old.id(), old.mode()), (new.id(), new.mode())];
            for (id, mode) in sides {
                text.extend(format!("{id} {:o} ", u32::from(mode)).into_bytes());
            }
            text.extend(path.iter().chain(&[0]));
            let mut patch = git2::Patch::from_diff(&diff, at)?;
            let (_, insertions, deletions) =
                patch.as_ref().map(git2::Patch::line_stats).transpose()?.unwrap_or_default();
            if let Some(patch) = patch.as_mut().filter(|_| !shown.is_cut) {
                shown.append(&String::from_utf8_lossy(&patch.to_buf()?));
            }
            let kind = match delta.status() {
                Delta::Added => "added",
                Delta::Deleted => "deleted",
                _ => "changed",
            };
            files.push(HookFileChange { path: PathBuf::from(OsStr::from_bytes(path)), kind, insertions, deletions });
        }
        let id = git2::Oid::hash_object(ObjectType::Blob, &text)?.to_string();
        Ok(HookChanges { id, files, patch: shown.text })
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

/// The first lines of a patch.
#[derive(Default)]
struct PatchHead {
    text: String,
    lines: usize,
    is_cut: bool,
}

impl PatchHead {
    fn append(&mut self, patch: &str) {
        let (most, width) = PATCH_HEAD;
        for line in patch.lines() {
            if self.lines == most {
                self.text.push_str(CUT);
                self.is_cut = true;
                return;
            }
            self.lines += 1;
            self.text.extend(line.chars().take(width));
            match line.chars().count().saturating_sub(width) {
                0 => self.text.push('\n'),
                more => self.text.push_str(&format!("… {more} more characters\n")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_patch_is_cut_once() {
        let mut head = PatchHead::default();
        head.append(&"+x\n".repeat(PATCH_HEAD.0 - 1));
        head.append(&"y".repeat(PATCH_HEAD.1 + 1));
        assert!(!head.is_cut);
        head.append("+z\n+z\n");
        assert!(head.is_cut);
        let last: Vec<_> = head.text.lines().skip(PATCH_HEAD.0 - 1).map(|line| line.chars().count()).collect();
        let mark = "… 1 more characters".chars().count();
        assert_eq!(last, [PATCH_HEAD.1 + mark, CUT.trim_end().chars().count()]);
    }
}
