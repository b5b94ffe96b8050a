//! The commit that keeps what changed in the submodules of a session.
//!
//! Its tree has the changed files at their paths from the root of the worktree, so that `git archive REF | tar -x` puts
//! them in place. Its message names what was deleted, and the commits that the submodules were filled from.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{ErrorClass, FileMode, ObjectType, Repository, Signature, Tree};

use super::walk::Walked;
use super::{plain, submodules_ref};
use crate::git::{GitError, Oid, history};
use crate::id::SessionId;

const BASE: &str = "Coppice-Submodule: ";
const DELETED: &str = "Coppice-Deleted: ";

/// A file by its path in the worktree, with its content and mode.
type KeptFile = (PathBuf, Oid, FileMode);

/// Changed and deleted files of submodules, by their paths in the worktree.
#[derive(Default)]
pub(super) struct Overlay {
    bases: Vec<(PathBuf, Option<Oid>)>,
    files: Vec<KeptFile>,
    deleted: Vec<PathBuf>,
}

impl Overlay {
    pub(super) fn add(&mut self, path: &Path, base: Option<Oid>, walked: &Walked) {
        self.bases.push((path.to_owned(), base));
        for file in &walked.files {
            let place = path.join(&file.change.path);
            match file.content {
                Some((content, mode)) => self.files.push((place, content, mode)),
                None => self.deleted.push(place),
            }
        }
    }

    /// The commit that a submodule was filled from when its files were kept.
    pub(super) fn base_of(&self, path: &Path) -> Option<Oid> {
        self.bases.iter().find(|(base, _)| base == path).and_then(|(_, commit)| *commit)
    }

    /// The kept files of a submodule, by their paths in it.
    pub(super) fn files_of(&self, path: &Path) -> Vec<(PathBuf, Oid, FileMode)> {
        let own = self.files.iter().filter_map(|(file, content, mode)| {
            let file = file.strip_prefix(path).ok()?;
            Some((file.to_owned(), *content, *mode))
        });
        own.collect()
    }

    pub(super) fn deleted_of(&self, path: &Path) -> Vec<PathBuf> {
        self.deleted.iter().filter_map(|file| file.strip_prefix(path).ok().map(Path::to_owned)).collect()
    }

    fn message(&self, session: SessionId) -> String {
        let mut text = format!("Submodule files of session {session}\n\n");
        for (path, commit) in &self.bases {
            let commit = commit.map_or_else(|| "-".to_owned(), |commit| commit.to_string());
            text.push_str(&format!("{BASE}{commit} {}\n", encode(path)));
        }
        for path in &self.deleted {
            text.push_str(&format!("{DELETED}{}\n", encode(path)));
        }
        text
    }
}

/// What is kept of a session's submodules.
pub(super) fn read(repo: &Repository, session: SessionId) -> Result<Option<Overlay>, GitError> {
    let Ok(commit) = repo.find_reference(&submodules_ref(session)).and_then(|found| found.peel_to_commit()) else {
        return Ok(None);
    };
    let mut overlay = Overlay::default();
    for line in String::from_utf8_lossy(commit.message_bytes()).lines() {
        if let Some((commit, path)) = line.strip_prefix(BASE).and_then(|rest| rest.split_once(' ')) {
            overlay.bases.extend(decode(path).map(|path| (path, commit.parse().ok())));
        }
        overlay.deleted.extend(line.strip_prefix(DELETED).and_then(decode));
    }
    let tree = commit.tree().map_err(GitError::library("read what is kept of the submodules"))?;
    collect(repo, &tree, Path::new(""), &mut overlay.files)?;
    Ok(Some(overlay))
}

fn collect(repo: &Repository, tree: &Tree<'_>, at: &Path, files: &mut Vec<KeptFile>) -> Result<(), GitError> {
    for entry in tree {
        let path = at.join(OsStr::from_bytes(entry.name_bytes()));
        if entry.kind() == Some(ObjectType::Tree) {
            let below = repo.find_tree(entry.id()).map_err(GitError::library("read what is kept of the submodules"))?;
            collect(repo, &below, &path, files)?;
        } else {
            files.push((path, entry.id().into(), super::file_mode(entry.filemode())));
        }
    }
    Ok(())
}

/// Keeps it on top of what was kept before, unless it is the same; the paths of files that no tree can hold.
pub(super) fn write(repo: &Repository, session: SessionId, mut overlay: Overlay) -> Result<Vec<PathBuf>, GitError> {
    let name = submodules_ref(session);
    let last = repo.find_reference(&name).and_then(|found| found.peel_to_commit()).ok();
    if overlay.bases.is_empty() && last.is_none() {
        return Ok(Vec::new());
    }
    let is_refused = |error: &git2::Error| error.class() == ErrorClass::Tree;
    let mut refused = Vec::new();
    if write_tree(repo, &overlay.files).is_err_and(|error| is_refused(&error)) {
        let is_fit =
            |file: &KeptFile| !write_tree(repo, std::slice::from_ref(file)).is_err_and(|error| is_refused(&error));
        let (fit, unfit) = overlay.files.into_iter().partition::<Vec<_>, _>(is_fit);
        overlay.files = fit;
        refused.extend(unfit.into_iter().map(|(path, ..)| path));
    }
    let make = || {
        let tree = repo.find_tree(write_tree(repo, &overlay.files)?)?;
        let message = overlay.message(session);
        if last.as_ref().is_some_and(|last| last.tree_id() == tree.id() && last.message_bytes() == message.as_bytes()) {
            return Ok(None);
        }
        let author = Signature::now("Coppice", "coppice@localhost")?;
        let parents: Vec<_> = last.iter().collect();
        repo.commit(None, &author, &author, &message, &tree, &parents).map(|commit| Some(Oid::from(commit)))
    };
    if let Some(commit) = make().map_err(GitError::library("keep the files of submodules"))? {
        history::set_ref(repo, &name, commit, "submodules")?;
    }
    Ok(refused)
}

/// Writes a tree of files. Names that mean `.git` on some system are refused.
fn write_tree(repo: &Repository, files: &[KeptFile]) -> Result<git2::Oid, git2::Error> {
    let empty = repo.find_tree(repo.treebuilder(None)?.write()?)?;
    let mut update = TreeUpdateBuilder::new();
    for (path, content, mode) in files {
        update.upsert(path.as_os_str().as_bytes(), content.raw(), *mode);
    }
    update.create_updated(repo, &empty)
}

/// A path on one line.
fn encode(path: &Path) -> String {
    let text = |byte: &u8| match byte {
        b'%' | 0..=b' ' | 0x7f.. => format!("%{byte:02x}"),
        byte => char::from(*byte).to_string(),
    };
    path.as_os_str().as_bytes().iter().map(text).collect()
}

fn decode(text: &str) -> Option<PathBuf> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        (bytes, rest) = match first {
            b'%' => {
                let digits = std::str::from_utf8(after.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                (bytes, &after[2..])
            }
            byte => {
                bytes.push(*byte);
                (bytes, after)
            }
        };
    }
    plain(OsString::from_vec(bytes).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_message() {
        for path in ["a/b", "a b/c%d", "new\nline", "ünï"] {
            assert_eq!(decode(&encode(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(decode("a/../b"), None);
        assert_eq!(decode("%2e%2e/x"), None);
    }
}
