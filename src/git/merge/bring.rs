//! Bringing the base branch into a session that it does not go together with: one merge commit on the session's branch,
//! its files in the worktree, and git's marks where both sides changed the same lines.
//!
//! Only whoever can write the git directory can merge there, and an agent or a person in the cage cannot. They edit the
//! files; the next merge finds the base in the session's history and takes what they made of it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::checkout::{self, Advance, Checkout};
use super::replay::{self, Committer, Merged};
use super::{Refusal, fork, is_in, refusal, short};
use crate::git::history::{self, branch_tip, tree_of};
use crate::git::{GitError, Oid, Worktree};
use crate::id::SessionId;

/// What to bring.
#[derive(Debug, Clone, Copy)]
pub struct Bring<'a> {
    pub session: SessionId,
    /// Full ref name of the base branch.
    pub target: &'a str,
    /// What the session's work is measured from.
    pub base: Oid,
}

/// A file that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictFile {
    pub path: PathBuf,
    /// What the merge left there; none as long as no merge has written it.
    pub content: Option<Oid>,
}

/// What bringing the base would come to. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BasePlan {
    Merge(BaseMerge),
    UpToDate,
    Refused(Refusal),
}

/// The base branch and the session's branch, merged as objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseMerge {
    tip: Oid,
    onto: Oid,
    content: Oid,
    /// Files that both sides changed; where git can tell the places, they are marked.
    pub conflicts: Vec<ConflictFile>,
}

/// How it ended. Anything but `Brought` has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    Brought {
        head: Oid,
        /// The commit of the base branch that the session holds from then on.
        onto: Oid,
    },
    Refused(Refusal),
}

/// The files of a conflict that nobody has resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unresolved {
    /// They hold marks.
    pub marked: Vec<ConflictFile>,
    /// They hold no marks, because git cannot merge them by lines, and are as the merge left them.
    pub untouched: Vec<ConflictFile>,
    /// Those of the untouched that the session deleted: they are as the base has them.
    pub deleted: Vec<PathBuf>,
}

impl Unresolved {
    pub fn is_empty(&self) -> bool {
        self.marked.is_empty() && self.untouched.is_empty()
    }

    /// A name for exactly the files without marks, as they are; none without such files. A whole hash, because an agent
    /// chooses what it names.
    pub fn untouched_id(&self) -> Result<Option<String>, GitError> {
        let mut text = Vec::new();
        for ConflictFile { path, content } in &self.untouched {
            text.extend(content.map(|content| content.to_string()).unwrap_or_default().into_bytes());
            text.extend([b" ", path.as_os_str().as_bytes(), b"\0"].concat());
        }
        let id = git2::Oid::hash_object(git2::ObjectType::Blob, &text).map_err(GitError::library("hash a conflict"))?;
        Ok((!self.untouched.is_empty()).then(|| id.to_string()))
    }
}

/// Merges the base branch and the session's branch as objects. What is not committed must be before.
pub fn plan_base(tree: &Worktree, order: Bring<'_>) -> Result<BasePlan, GitError> {
    let branch = short(order.target);
    let Some(onto) = tree.repo.find_ref(order.target)? else {
        return Ok(BasePlan::Refused(Refusal::TargetMissing { branch }));
    };
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    if is_in(&repo, onto, tip)? {
        return Ok(BasePlan::UpToDate);
    }
    let Some(fork) = fork(&repo, onto, tip, order.base)? else {
        return Ok(BasePlan::Refused(Refusal::Unrelated { branch }));
    };
    // By their names, which git writes beside the marks.
    let (content, files) = match replay::merge_named(tree, onto, fork, &tree.branch_ref(), order.target)? {
        Merged::Clean { tree } => (tree, Vec::new()),
        Merged::Conflict { tree, files } => (tree, files),
    };
    if tree.repo.find_ref(order.target)? != Some(onto) || branch_tip(&repo, tree)? != tip {
        return Ok(BasePlan::Refused(Refusal::TargetMoved { branch }));
    }
    let merged = repo.find_tree(content.raw()).map_err(GitError::library(format!("read tree `{content}`")))?;
    // Of a file that both sides renamed, the old path is listed too: nothing is there.
    let conflicts = files.into_iter().map(|path| ConflictFile { content: entry_at(&merged, &path), path });
    Ok(BasePlan::Merge(BaseMerge { tip, onto, content, conflicts: conflicts.collect() }))
}

/// How large a file may be in which marks are looked for: it is read into memory, and an agent decides its size.
const LARGEST_READ: usize = 64 << 20;

/// Commits a merged base on the session's branch, and writes it into the worktree.
pub fn bring(tree: &Worktree, order: Bring<'_>, base: &BaseMerge) -> Result<Brought, GitError> {
    let BaseMerge { tip, onto, content, .. } = *base;
    let (repo, name, branch) = (tree.repo.open()?, tree.branch_ref(), short(order.target));
    let own = [Checkout::Session(Worktree { attributes: onto, ..tree.clone() })];
    if let Some(refusal) = refusal(&own, &repo, &name, tree_of(&repo, tip)?, content)? {
        return Ok(Brought::Refused(refusal));
    }
    let message = history::own_message(order.session, &format!("Merge {branch} into {}", tree.branch));
    let head = replay::commit(&tree.repo, content, &[tip, onto], &message, &Committer::session(&tree.repo)?)?;
    let advance = Advance { name: &name, old: tip, new: head, why: "coppice: bring the base" };
    if let Some(refusal) = checkout::advance(&tree.repo, &advance, &own)? {
        return Ok(Brought::Refused(refusal));
    }
    history::keep_moved(&tree.repo, order.session, head)?;
    Ok(Brought::Brought { head, onto })
}

/// The files among these that the session's branch has with marks, or as the merge left them.
pub fn unresolved(tree: &Worktree, target: &str, files: &[ConflictFile]) -> Result<Unresolved, GitError> {
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    let work = repo.find_commit(tip.raw()).and_then(|commit| commit.tree());
    let work = work.map_err(GitError::library(format!("read commit `{tip}`")))?;
    let base = repo.find_reference(target).and_then(|target| target.peel_to_tree()).ok();
    let mut found = Unresolved::default();
    for file in files {
        // A path that is gone is resolved.
        let Some(content) = entry_at(&work, &file.path) else { continue };
        let read = || {
            let (size, _) = repo.odb()?.read_header(content.raw())?;
            Ok(if size > LARGEST_READ { None } else { Some(repo.find_blob(content.raw())?) })
        };
        let blob = read().map_err(GitError::library(format!("read `{}`", file.path.display())))?;
        // One that is too large to be read counts as marked: nobody can say that it is resolved.
        let is_marked = blob.is_none_or(|blob| {
            let mut lines = blob.content().split(|byte| *byte == b'\n');
            lines.any(|line| is_mark(line, b'<', &tree.branch_ref()) || is_mark(line, b'>', target))
        });
        if is_marked {
            found.marked.push(file.clone());
        } else if file.content == Some(content) {
            found.untouched.push(file.clone());
            // Of two versions git leaves the session's.
            if base.as_ref().and_then(|base| entry_at(base, &file.path)) == Some(content) {
                found.deleted.push(file.path.clone());
            }
        }
    }
    Ok(found)
}

/// The files that a merge of the session's branch would stop at.
pub fn conflicts(tree: &Worktree, order: Bring<'_>) -> Result<Vec<ConflictFile>, GitError> {
    let Some(target) = tree.repo.find_ref(order.target)? else { return Ok(Vec::new()) };
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    let Some(fork) = fork(&repo, target, tip, order.base)? else { return Ok(Vec::new()) };
    Ok(match replay::merge_trees(tree, fork, target, tip)? {
        Merged::Clean { .. } => Vec::new(),
        Merged::Conflict { files, .. } => files.into_iter().map(ConflictFile::unwritten).collect(),
    })
}

impl ConflictFile {
    /// A file that no merge has written.
    pub fn unwritten(path: PathBuf) -> Self {
        Self { path, content: None }
    }
}

fn entry_at(tree: &git2::Tree<'_>, path: &Path) -> Option<Oid> {
    tree.get_path(path).ok().map(|entry| entry.id().into())
}

/// Whether a line is a mark of ours: signs, as many as attributes say, and a name.
fn is_mark(line: &[u8], sign: u8, name: &str) -> bool {
    let signs = line.iter().take_while(|byte| **byte == sign).count();
    signs > 0 && line[signs..].strip_prefix(b" ").is_some_and(|rest| rest.starts_with(name.as_bytes()))
}

/// Where a session that stands at `commit` left its base branch; none without a common history.
pub fn parted(tree: &Worktree, target: &str, commit: Oid) -> Result<Option<Oid>, GitError> {
    let Some(target) = tree.repo.find_ref(target)? else { return Ok(None) };
    super::parted(&tree.repo.open()?, target, commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_every_length_are_found_by_their_name() {
        for (line, expected) in [
            ("<<<<<<< refs/heads/main", true),
            ("<<<<<<<<< refs/heads/main:old/path\r", true),
            ("< refs/heads/main", true),
            ("<<<<<<< main", false),
            (" <<<<<<< refs/heads/main", false),
            ("<<<<<<<refs/heads/main", false),
            (">>>>>>> refs/heads/main", false),
            ("refs/heads/main", false),
            ("", false),
        ] {
            assert_eq!(is_mark(line.as_bytes(), b'<', "refs/heads/main"), expected, "{line:?}");
        }
    }
}
