//! Submodules of a session's worktree: filled from the objects that the user has, and kept when an agent changes them.
//!
//! Git stores one commit id for a submodule and looks at nothing else, so what an agent writes there is in no diff and in
//! no commit. Files are written and read here without git: no repository is looked for inside, no link is followed, and
//! what differs from the recorded commit is kept below `refs/coppice/submodules/`. Nothing of it is ever merged.

mod overlay;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{FileMode, ObjectType, Odb, Repository};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::command::Git;
use super::include::place::{Missing, descend};
use super::owner_access::{self, OwnerAccess};
use super::{GitError, Oid, Repo, Worktree, removal, status};
use crate::id::SessionId;
use overlay::Overlay;
pub(super) use walk::entries as read_entries;
use write::Unfilled;

/// The file in a worktree's git directory that says which commits its submodules were filled from. A tree that has one
/// is never used again for another session.
const RECORD: &str = "coppice-submodules";

/// Directories of a submodule below this depth are left out.
const DEEPEST: usize = 100;

pub(super) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What an agent changed in one submodule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmoduleChanges {
    /// Of the submodule, from the root of the worktree.
    pub path: PathBuf,
    pub files: Vec<SubmoduleFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmoduleFile {
    /// From the root of the submodule.
    pub path: PathBuf,
    pub kind: SubmoduleFileKind,
    /// Absent for files that are binary or large.
    pub lines: Option<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmoduleFileKind {
    Added,
    Changed,
    Deleted,
}

/// What was found in the submodules of a worktree, and is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptSubmodules {
    pub changes: Vec<SubmoduleChanges>,
    /// What is kept nowhere: repositories inside a submodule and files that cannot be read.
    pub left_out: Vec<PathBuf>,
}

/// The ref that keeps the changed files of a session's submodules; its parents are the earlier states.
pub fn submodules_ref(session: SessionId) -> String {
    format!("refs/coppice/submodules/{session}/work")
}

/// Fills the submodules as `fill` does. A session can work without them, so a failure is one more sentence.
pub fn fill_or_warn(tree: &Worktree, session: SessionId) -> Vec<String> {
    fill(tree, session).unwrap_or_else(|error| vec![format!("the submodules cannot be filled: {error}")])
}

/// Fills the submodules of a worktree that are empty, with what the session kept of them; the sentences say what could
/// not be filled.
fn fill(tree: &Worktree, session: SessionId) -> Result<Vec<String>, GitError> {
    let (listed, mut warnings) = list_all(tree)?;
    if listed.is_empty() {
        return Ok(warnings);
    }
    let own = tree.repo.open()?;
    let kept = overlay::read(&own, session)?;
    let mut filled = read_record(tree);
    for Submodule { name, path, commit } in listed {
        let shown = path.display();
        let target = match open(tree, &path, Missing::Create) {
            Ok(target) => target,
            Err(errno) => {
                warnings.push(format!("the submodule `{shown}` cannot be filled: {}", std::io::Error::from(errno)));
                continue;
            }
        };
        if !is_empty(&target).map_err(GitError::io("read", &tree.path.join(&path)))? {
            continue;
        }
        // Kept files belong to the commit that was there when they were written.
        let commit = kept.as_ref().and_then(|kept| kept.base_of(&path)).unwrap_or(commit);
        let store = match &name {
            Some(name) => find_store(&tree.repo, name, &path, commit)?,
            None => None,
        };
        match store {
            Some(store) => {
                let Unfilled { nested, too_deep } = write::fill(&store, commit, &target, tree.repo.stop())?;
                let inside = |empty: &[PathBuf]| {
                    let paths = empty.iter().map(|inside| format!("`{}`", path.join(inside).display()));
                    paths.collect::<Vec<_>>().join(", ")
                };
                if !nested.is_empty() {
                    let inside = inside(&nested);
                    warnings.push(format!("submodules inside of the submodule `{shown}` are empty: {inside}"));
                }
                if !too_deep.is_empty() {
                    warnings.push(format!(
                        "directories of the submodule `{shown}` are empty, because they are more than {DEEPEST} levels \
                         deep: {}",
                        inside(&too_deep)
                    ));
                }
                filled.retain(|(other, _)| *other != path);
                filled.push((path.clone(), commit));
            }
            // Git leaves it empty as well.
            None if name.is_none() => {}
            None => warnings.push(format!(
                "the submodule `{shown}` is empty: commit `{}` is not in `.git/modules`; run \
                 `git submodule update --init -- '{shown}' && git submodule absorbgitdirs -- '{shown}'` in your checkout",
                commit.short()
            )),
        }
        if let Some(kept) = &kept {
            write::put_back(&own, kept, &path, &target)?;
        }
    }
    write_record(tree, &filled)?;
    Ok(warnings)
}

/// Whether the commit that a session started from has submodules; reads nothing of its worktree.
pub fn has_any(tree: &Worktree) -> Result<bool, GitError> {
    Ok(describe(&tree.repo.open()?, tree.base)?.1.is_some() || !list_all(tree)?.0.is_empty())
}

/// Keeps what differs in the submodules of a worktree from the commits that they were filled from.
pub fn keep(tree: &Worktree, session: SessionId) -> Result<KeptSubmodules, GitError> {
    owner_access::restore_root(&tree.path);
    let kept = keep_readable(tree, session)?;
    match !kept.left_out.is_empty() && owner_access::restore(&tree.path, OwnerAccess::Read, tree.repo.stop())? > 0 {
        true => keep_readable(tree, session),
        false => Ok(kept),
    }
}

fn keep_readable(tree: &Worktree, session: SessionId) -> Result<KeptSubmodules, GitError> {
    let (listed, _) = list_all(tree)?;
    let mut kept = KeptSubmodules::default();
    // A worktree without any file was deleted by somebody; that says nothing about its submodules.
    let is_there = fs::read_dir(&tree.path).is_ok_and(|mut entries| entries.next().is_some());
    if listed.is_empty() || !is_there {
        return Ok(kept);
    }
    let (own, filled) = (tree.repo.open()?, read_record(tree));
    let mut found = Overlay::default();
    for Submodule { name, path, .. } in listed {
        let base = filled.iter().find(|(filled, _)| *filled == path).map(|(_, commit)| *commit);
        let directory = match open(tree, &path, Missing::Refuse) {
            Ok(directory) => Some(directory),
            // Deleted as a whole.
            Err(Errno::NOENT) => None,
            // A file or a link in its place is an ordinary change of the worktree.
            Err(Errno::NOTDIR | Errno::LOOP) => continue,
            Err(_) => {
                kept.left_out.push(path);
                continue;
            }
        };
        let store = match (base, name) {
            (Some(commit), Some(name)) => find_store(&tree.repo, &name, &path, commit)?.map(|store| (store, commit)),
            (Some(_) | None, _) => None,
        };
        let store = store.as_ref().map(|(store, commit)| (store, *commit));
        let walked = walk::compare(&own, store, directory.as_ref(), tree.repo.stop())?;
        kept.left_out.extend(walked.left_out.iter().map(|left| path.join(left)));
        if !walked.files.is_empty() {
            found.add(&path, base, &walked);
            kept.changes
                .push(SubmoduleChanges { path, files: walked.files.into_iter().map(|file| file.change).collect() });
        }
    }
    kept.left_out.extend(overlay::write(&own, session, found)?);
    Ok(kept)
}

/// Forgets what was kept of a removed session's submodules.
pub fn forget(repo: &Repo, session: SessionId) -> Result<(), GitError> {
    removal::delete(repo, &[format!("refs/coppice/submodules/{session}/*")])
}

/// A submodule of a commit.
struct Submodule {
    /// None when `.gitmodules` does not describe it: somebody committed a repository inside of theirs.
    name: Option<PathBuf>,
    path: PathBuf,
    commit: Oid,
}

/// The submodules of a session's base, those that nothing describes included, and what is wrong with those that cannot be
/// used.
fn list_all(tree: &Worktree) -> Result<(Vec<Submodule>, Vec<String>), GitError> {
    let (mut listed, warnings) = list(&tree.repo, tree.base)?;
    let repo = tree.repo.open()?;
    let (base, _) = describe(&repo, tree.base)?;
    // Only what the index has for a submodule is hidden from git, and an index is read sooner than all trees of a commit.
    for path in status::submodules(|verb| Git::in_tree(tree, verb), &tree.admin.join("index"))? {
        let is_listed = listed.iter().any(|known| known.path == path);
        let entry = base.get_path(&path).ok().filter(|entry| !is_listed && entry.kind() == Some(ObjectType::Commit));
        if let (Some(path), Some(entry)) = (plain(path.as_os_str().as_bytes()), entry) {
            listed.push(Submodule { name: None, path, commit: entry.id().into() });
        }
    }
    Ok((listed, warnings))
}

/// The submodules that a commit describes, and what is wrong with those that cannot be used.
fn list(repo: &Repo, commit: Oid) -> Result<(Vec<Submodule>, Vec<String>), GitError> {
    let handle = repo.open()?;
    let (tree, Some(file)) = describe(&handle, commit)? else { return Ok((Vec::new(), Vec::new())) };
    let git = Git::new(repo, "config").arg(format!("--blob={file}"));
    let output = git.args(["-z", "--get-regexp", r"^submodule\..*\.path$"]).output()?;
    let (mut listed, mut warnings) = (Vec::<Submodule>::new(), Vec::new());
    for record in output.stdout.split(|byte| *byte == 0) {
        let Some((name, path)) = parse_record(record) else { continue };
        let commit = plain(path).and_then(|path| {
            let entry = tree.get_path(&path).ok()?;
            (entry.kind() == Some(ObjectType::Commit)).then(|| (path, Oid::from(entry.id())))
        });
        match (plain(name), commit) {
            (Some(_), Some((path, _))) if listed.iter().any(|other| other.path == path) => {}
            (Some(name), Some((path, commit))) => listed.push(Submodule { name: Some(name), path, commit }),
            // Nothing is recorded there.
            (Some(_), None) if plain(path).is_some() => {}
            (Some(_) | None, _) => warnings.push(format!(
                "the submodule `{}` at `{}` is left alone: its name or path leads out of the repository",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(path)
            )),
        }
    }
    Ok((listed, warnings))
}

/// The files of a commit, and the one that describes its submodules.
fn describe(repo: &Repository, commit: Oid) -> Result<(git2::Tree<'_>, Option<git2::Oid>), GitError> {
    let tree = repo.find_commit(commit.raw()).and_then(|commit| commit.tree());
    let tree = tree.map_err(GitError::library(format!("read commit `{commit}`")))?;
    let file = tree.get_name(".gitmodules").filter(|entry| entry.kind() == Some(ObjectType::Blob));
    let file = file.map(|entry| entry.id());
    Ok((tree, file))
}

/// Reads `submodule.NAME.path\nVALUE`.
fn parse_record(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = record.iter().position(|byte| *byte == b'\n')?;
    let name = record[..at].strip_prefix(b"submodule.")?.strip_suffix(b".path")?;
    Some((name, &record[at + 1..]))
}

/// A relative path without `..`, and none of git's own.
pub(super) fn plain(text: &[u8]) -> Option<PathBuf> {
    let path = Path::new(OsStr::from_bytes(text));
    let parts: Option<PathBuf> = path
        .components()
        .map(|part| matches!(part, Component::Normal(name) if !is_dot_git(name)).then_some(part))
        .collect();
    parts.filter(|path| !path.as_os_str().is_empty())
}

/// The mode of a tree's entry that is a file or a link.
fn file_mode(mode: i32) -> FileMode {
    match mode {
        mode if mode == i32::from(FileMode::Link) => FileMode::Link,
        mode if mode == i32::from(FileMode::BlobExecutable) => FileMode::BlobExecutable,
        _ => FileMode::Blob,
    }
}

fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// The user's objects of a submodule, if the commit is among them. They are opened by their directory, so that no
/// configuration of any repository is read. A repository inside of the user's checkout is left alone: a link that somebody
/// committed there could lead to any other one.
fn find_store(repo: &Repo, name: &Path, path: &Path, commit: Oid) -> Result<Option<Repository>, GitError> {
    let objects = repo.common_dir().join("modules").join(name).join("objects");
    if !objects.is_dir() {
        return Ok(None);
    }
    let open = || {
        let odb = Odb::new()?;
        odb.add_disk_alternate(objects.to_string_lossy().as_ref())?;
        Repository::from_odb(odb)
    };
    let store = open().map_err(GitError::library(format!("read the objects of `{}`", path.display())))?;
    let has_commit = store.find_commit(commit.raw()).and_then(|commit| commit.tree()).is_ok();
    Ok(has_commit.then_some(store))
}

/// Opens a directory of the worktree step by step.
fn open(tree: &Worktree, path: &Path, missing: Missing) -> Result<OwnedFd, Errno> {
    let root = rustix::fs::open(&tree.path, DIRECTORY, Mode::empty())?;
    descend(&root, path, missing)
}

fn is_empty(directory: &OwnedFd) -> std::io::Result<bool> {
    Ok(walk::entries(directory)?.is_empty())
}

fn read_record(tree: &Worktree) -> Vec<(PathBuf, Oid)> {
    let bytes = fs::read(tree.admin.join(RECORD)).unwrap_or_default();
    let records = bytes.split(|byte| *byte == 0);
    let parse = |record: &[u8]| {
        let at = record.iter().position(|byte| *byte == b' ')?;
        Some((plain(&record[at + 1..])?, Oid::from_output(&record[..at])?))
    };
    records.filter_map(parse).collect()
}

fn write_record(tree: &Worktree, filled: &[(PathBuf, Oid)]) -> Result<(), GitError> {
    let line = |(path, commit): &(PathBuf, Oid)| {
        [commit.to_string().as_bytes(), b" ", path.as_os_str().as_bytes(), b"\0"].concat()
    };
    let file = tree.admin.join(RECORD);
    fs::write(&file, filled.iter().flat_map(line).collect::<Vec<_>>()).map_err(GitError::io("write", &file))
}
