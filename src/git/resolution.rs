//! Proposed resolutions of a conflict: commits on top of a snapshot of the worktree, so that each is bound to the files that
//! it was made for. At most one is kept per session, by a ref.

use std::collections::BTreeMap;
use std::path::PathBuf;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Repository};

use super::integrate::{self, Outcome};
use super::{GitError, Oid, Repo, Worktree, history, removal};
use crate::id::SessionId;

/// Files of the worktree, as a snapshot holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictSnapshot {
    pub commit: Oid,
    pub files: BTreeMap<PathBuf, SnapshotFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotFile {
    Content(Vec<u8>),
    Absent,
    /// A link, a submodule or a directory.
    Special,
    /// More than a caller wants to read.
    TooLarge,
}

/// Where the proposal of a session is kept.
pub fn proposal_ref(session: SessionId) -> String {
    format!("refs/coppice/resolutions/{session}")
}

/// Takes a snapshot of the worktree and reads these files from it, up to `limit` bytes of each. No ref keeps it yet.
pub fn read_conflict(tree: &Worktree, paths: &[PathBuf], limit: usize) -> Result<ConflictSnapshot, GitError> {
    let commit = history::record(tree, &[], &format!("work tree of `{}`", tree.branch))?.commit;
    let repo = tree.repo.open()?;
    let failed = || GitError::library(format!("read the files of `{commit}`"));
    let content = repo.find_commit(commit.raw()).and_then(|found| found.tree()).map_err(failed())?;
    let read = |path: &PathBuf| {
        let file = match content.get_path(path) {
            Err(_) => SnapshotFile::Absent,
            Ok(entry) => match file_mode(entry.filemode()) {
                None => SnapshotFile::Special,
                Some(_) if repo.odb()?.read_header(entry.id())?.0 > limit => SnapshotFile::TooLarge,
                Some(_) => SnapshotFile::Content(repo.find_blob(entry.id())?.content().to_vec()),
            },
        };
        Ok((path.clone(), file))
    };
    let files = paths.iter().map(read).collect::<Result<_, _>>().map_err(failed())?;
    Ok(ConflictSnapshot { commit, files })
}

/// Writes a proposal: the snapshot with other content in these files. No ref keeps it yet.
pub fn write_proposal(repo: &Repo, snapshot: Oid, files: &BTreeMap<PathBuf, String>) -> Result<Oid, GitError> {
    let repo = repo.open()?;
    let write = || {
        let parent = repo.find_commit(snapshot.raw())?;
        let before = parent.tree()?;
        let mut update = TreeUpdateBuilder::new();
        for (path, text) in files {
            let mode = file_mode(before.get_path(path)?.filemode()).unwrap_or(FileMode::Blob);
            update.upsert(path.as_path(), repo.blob(text.as_bytes())?, mode);
        }
        let content = repo.find_tree(update.create_updated(&repo, &before)?)?;
        // The author of the snapshot: nothing of this is the user's work.
        repo.commit(None, &parent.author(), &parent.author(), "proposed resolution", &content, &[&parent])
    };
    Ok(write().map_err(GitError::library("write a proposed resolution"))?.into())
}

/// Keeps a proposal in the place of an earlier one.
pub fn keep_proposal(repo: &Repo, session: SessionId, proposal: Oid) -> Result<(), GitError> {
    history::set_ref(&repo.open()?, &proposal_ref(session), proposal, "proposed resolution")
}

/// Forgets the proposal of a session.
pub fn forget_proposal(repo: &Repo, session: SessionId) -> Result<(), GitError> {
    removal::delete(repo, &[proposal_ref(session)])
}

/// Applies a proposal, if the worktree is as it was when the proposal was made: all of its files or none.
pub fn apply_proposal(tree: &Worktree, proposal: Oid) -> Result<Outcome, GitError> {
    integrate::replace(tree, parent_of(&tree.repo.open()?, proposal)?, proposal)
}

fn parent_of(repo: &Repository, proposal: Oid) -> Result<Oid, GitError> {
    let parent = repo.find_commit(proposal.raw()).and_then(|found| found.parent_id(0));
    Ok(parent.map_err(GitError::library(format!("read commit `{proposal}`")))?.into())
}

/// The mode of a regular file; none for anything else.
fn file_mode(mode: i32) -> Option<FileMode> {
    [FileMode::Blob, FileMode::BlobExecutable].into_iter().find(|known| i32::from(*known) == mode)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::testkit::{Sandbox, write};

    fn proposed(tree: &Worktree, path: &str, text: &str) -> Oid {
        let snapshot = read_conflict(tree, &[path.into()], 99).unwrap();
        write_proposal(&tree.repo, snapshot.commit, &BTreeMap::from([(path.into(), text.to_owned())])).unwrap()
    }

    #[test]
    fn a_snapshot_tells_files_from_everything_else() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        write(&tree.path.join("sub/text"), "text\n");
        symlink("text", tree.path.join("sub/link")).unwrap();
        let paths = ["sub/text", "sub/link", "sub", "gone"].map(PathBuf::from);
        let files = read_conflict(&tree, &paths, 99).unwrap().files;
        let expected = [
            ("gone", SnapshotFile::Absent),
            ("sub", SnapshotFile::Special),
            ("sub/link", SnapshotFile::Special),
            ("sub/text", SnapshotFile::Content(b"text\n".to_vec())),
        ];
        assert_eq!(files, expected.map(|(path, file)| (PathBuf::from(path), file)).into());
    }

    #[test]
    fn a_proposal_is_applied_to_the_files_that_it_was_made_for_and_to_no_others() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let (text, other) = (tree.path.join("sub/text"), tree.path.join("other"));
        write(&text, "marks\n");
        write(&other, "other\n");
        let proposal = proposed(&tree, "sub/text", "resolved\n");
        write(&other, "another\n");
        let changed = Outcome::Changed { files: vec!["other".into()] };
        assert_eq!(apply_proposal(&tree, proposal).unwrap(), changed);
        assert_eq!(fs::read_to_string(&text).unwrap(), "marks\n");
        write(&other, "other\n");
        assert!(matches!(apply_proposal(&tree, proposal).unwrap(), Outcome::Integrated { .. }));
        assert_eq!(fs::read_to_string(&text).unwrap(), "resolved\n");
        assert_eq!(apply_proposal(&tree, proposal).unwrap(), Outcome::Nothing);
    }

    #[test]
    fn a_directory_that_became_a_link_leads_a_proposal_nowhere() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        write(&tree.path.join("sub/text"), "marks\n");
        let proposal = proposed(&tree, "sub/text", "resolved\n");
        let outside = sandbox.root().join("outside");
        write(&outside.join("text"), "marks\n");
        fs::remove_dir_all(tree.path.join("sub")).unwrap();
        symlink(&outside, tree.path.join("sub")).unwrap();
        assert!(matches!(apply_proposal(&tree, proposal).unwrap(), Outcome::Changed { .. }));
        assert_eq!(fs::read_to_string(outside.join("text")).unwrap(), "marks\n");
    }
}
