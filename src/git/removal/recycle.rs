//! Turns the tree of an ended session into the project's spare, if nothing about it is in doubt.
//!
//! The next session must find exactly what a checkout gives: no file of the last session, no changed mode, no link to
//! a file elsewhere, no nested repository. What cannot be proven goes to the trash instead.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{GitError, NAMELESS, Pending, Trashed, move_to_trash, retire, saved_commit};
use crate::git::command::Git;
use crate::git::index::{Index, mode};
use crate::git::worktree::{checkout, registration, spare};
use crate::git::{Oid, Worktree, attributes};

/// What became of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recycled {
    /// It is the spare, at this place.
    Spare(PathBuf),
    /// It is retired, for this reason.
    Doubt { reason: String, left: Pending },
}

/// Everything that the git directory of a worktree may hold; anything else is an operation that was not finished.
const KNOWN: [&str; 10] =
    ["HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "index", "gitdir", "commondir", "locked", "logs", "refs"];
/// Extensions that are a cache of the index's own content, or only speed up reading it.
const HARMLESS: [[u8; 4]; 4] = [*b"TREE", *b"REUC", *b"EOIE", *b"IEOT"];

/// Makes a saved tree the spare of its root, or retires it.
pub fn recycle(trashed: &Trashed, root: &Path) -> Result<Recycled, GitError> {
    let saved = saved_commit(trashed)?;
    let tree = &trashed.worktree;
    let directory = spare::directory(root);
    fs::create_dir_all(&directory).map_err(GitError::io("create", &directory))?;
    let doubt = match spare::find(&tree.repo, root) {
        Some(_) => Some("there is a spare".to_owned()),
        None => check_admin(tree).or_else(|| check_index(tree)),
    };
    if let Some(reason) = doubt {
        return Ok(Recycled::Doubt { reason, left: retire(trashed, root)? });
    }
    // Without its name first: cleaned, it must not pass for the session's work.
    let nameless = Worktree { path: move_to_trash(&tree.path, root, NAMELESS)?, ..tree.clone() };
    // A failing git is a reason for doubt, not a failure of the removal.
    let doubt = prepare(&nameless, saved, &directory).unwrap_or_else(|error| Some(error.to_string()));
    if let Some(reason) = doubt {
        registration::remove(&tree.admin)?;
        return Ok(Recycled::Doubt { reason, left: Pending { path: nameless.path, session: None } });
    }
    let place = directory.join(trashed.session.as_str());
    fs::rename(&nameless.path, &place).map_err(GitError::io("move", &nameless.path))?;
    registration::point_admin_to(&tree.admin, &place)?;
    Ok(Recycled::Spare(place))
}

/// Makes the tree what a checkout of the likely next base is, and says what it could not prove.
fn prepare(tree: &Worktree, saved: Oid, directory: &Path) -> Result<Option<String>, GitError> {
    registration::lock(&tree.admin, registration::SPARE)?;
    registration::point_admin_to(&tree.admin, &tree.path)?;
    let commit = likely_base(tree)?;
    if attributes::differ(&tree.repo, tree.attributes, commit)? || attributes::differ(&tree.repo, saved, commit)? {
        return Ok(Some("its attributes are not those of the next session".to_owned()));
    }
    Git::in_tree(tree, "update-ref").args(["--no-deref", "HEAD", &commit.to_string()]).run()?;
    let tree = &Worktree { base: commit, attributes: commit, ..tree.clone() };
    checkout(tree)?;
    Git::in_tree(tree, "clean").args(["--quiet", "-ffdx"]).run()?;
    // The next session starts a history of its own.
    for left in ["logs", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG"] {
        remove_any(&tree.admin.join(left))?;
    }
    let index = read_index(tree).map_err(|detail| GitError::Unreadable { verb: "reset", detail })?;
    let made_here = directory.metadata().map_err(GitError::io("read", directory))?;
    Ok(Expected::new(&index, &made_here).check(&tree.path))
}

fn check_admin(tree: &Worktree) -> Option<String> {
    if !registration::has_own_git_file(tree) {
        return Some("its `.git` file was changed".to_owned());
    }
    if !registration::is_own_admin(tree) {
        return Some("its git directory points elsewhere".to_owned());
    }
    let mut names = fs::read_dir(&tree.admin).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let unknown = names.find(|name| !name.to_str().is_some_and(|name| KNOWN.contains(&name)));
    unknown.map(|name| format!("its git directory holds `{}`", name.display()))
}

/// Flags in the index would hide changed files from the reset.
fn check_index(tree: &Worktree) -> Option<String> {
    let index = match read_index(tree) {
        Ok(index) => index,
        Err(reason) => return Some(reason),
    };
    if let Some(name) = index.extensions().iter().find(|name| !HARMLESS.contains(name)) {
        return Some(format!("its index has the extension `{}`", String::from_utf8_lossy(name)));
    }
    index.entries().any(|entry| entry.is_flagged).then(|| "its index has entries that git does not check".to_owned())
}

fn read_index(tree: &Worktree) -> Result<Index, String> {
    let bytes = fs::read(tree.admin.join("index")).map_err(|error| error.to_string())?;
    Index::parse(bytes).map_err(|error| error.to_string())
}

/// What the next session most likely starts from: the commit of the user's checkout.
fn likely_base(tree: &Worktree) -> Result<Oid, GitError> {
    let repo = tree.repo.open()?;
    let head = repo.head().and_then(|head| head.peel_to_commit());
    Ok(head.map_or(tree.base, |commit| commit.id().into()))
}

fn remove_any(path: &Path) -> Result<(), GitError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What a checkout would have put there.
struct Expected<'a> {
    modes: HashMap<&'a [u8], u32>,
    /// Permissions of a directory made by this user here and today; files follow from them.
    directory: u32,
    owner: u32,
}

impl<'a> Expected<'a> {
    fn new(index: &'a Index, directory: &Metadata) -> Self {
        let modes = (0..index.len()).map(|number| (index.path(number), index.entry(number).mode)).collect();
        Self { modes, directory: directory.mode() & 0o7777, owner: directory.uid() }
    }

    /// Walks the tree; says what is not as a checkout leaves it.
    fn check(mut self, root: &Path) -> Option<String> {
        let mut waiting = vec![root.to_owned()];
        while let Some(directory) = waiting.pop() {
            let is_as_made = |found: &Metadata| found.mode() & 0o7777 == self.directory && found.uid() == self.owner;
            if !directory.symlink_metadata().is_ok_and(|found| found.is_dir() && is_as_made(&found)) {
                return Some(format!("the mode of `{}` was changed", directory.display()));
            }
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(error) => return Some(error.to_string()),
            };
            for entry in entries {
                let path = match entry {
                    Ok(entry) => entry.path(),
                    Err(error) => return Some(error.to_string()),
                };
                let relative = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes();
                let Ok(found) = path.symlink_metadata() else { return Some(format!("`{}` vanished", path.display())) };
                match self.modes.remove(relative) {
                    // A submodule's directory, which a checkout leaves empty.
                    Some(mode) if mode & mode::TYPE == mode::GITLINK => waiting.push(path),
                    Some(mode) if self.is_as_written(mode, &found) => {}
                    None if relative == b".git" && self.is_as_written(mode::REGULAR | 0o644, &found) => {}
                    None if found.is_dir() && path.file_name().is_some_and(|name| name != ".git") => waiting.push(path),
                    Some(_) | None => return Some(format!("`{}` is not as git wrote it", path.display())),
                }
            }
        }
        self.modes.keys().next().map(|path| format!("`{}` is missing", String::from_utf8_lossy(path)))
    }

    fn is_as_written(&self, mode: u32, found: &Metadata) -> bool {
        let is_same = match mode & mode::TYPE {
            mode::SYMLINK => found.is_symlink(),
            _ => found.is_file() && found.mode() & 0o7777 == (mode & 0o777 | 0o666) & self.directory,
        };
        // Another name of the same file could still be written to.
        is_same && found.nlink() == 1 && found.uid() == self.owner
    }
}
