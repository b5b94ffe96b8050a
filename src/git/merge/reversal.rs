//! Putting files back after git gave up in the midst of them: where it cannot write a file, it goes on with the others and
//! takes nothing back.
//!
//! Everything that needs space is written before the move begins, because a full disk is the usual reason.

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, ObjectType, Repository};
use tempfile::TempDir;

use super::checkout::Checkout;
use super::hook::create_scratch_directory;
use super::user_checkout::UserCheckout;
use crate::git::command::Git;
use crate::git::integrate::plan::{self, Blob, Edit};
use crate::git::private_index::PrivateIndex;
use crate::git::{GitError, Oid, Repo};

/// The way back from a move that did not finish.
pub(super) struct MoveReversal<'a> {
    place: Place<'a>,
    repo: &'a Repo,
    files: &'a Path,
    edits: Vec<Edit>,
    /// The files of these edits before the move.
    stamps: Vec<Option<FileStamp>>,
    /// An index of the files that the move makes or changes.
    made: PathBuf,
    /// An index of the same files, and of those that it deletes, as they were.
    before: PathBuf,
}

/// What came of putting files back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reversed {
    /// They are as before the move.
    Whole,
    /// Somebody changed one of them, and all stay as they are.
    Halfway,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    AsBefore,
    Moved,
    /// Changed since the move began, to neither side's content: by somebody else, or by a conversion that is not known here.
    Foreign,
}

/// What changes when a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    length: u64,
    changed_at: (i64, i64),
}

impl FileStamp {
    fn read(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        let changed_at = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: found.ino(), length: found.len(), changed_at })
    }
}

enum Place<'a> {
    User { checkout: &'a UserCheckout, dir: TempDir },
    Session(PrivateIndex),
}

impl<'a> MoveReversal<'a> {
    pub(super) fn prepare(checkout: &'a Checkout, from: Oid, to: Oid) -> Result<Self, GitError> {
        let (repo, place, dir) = match checkout {
            Checkout::User(user) => {
                let dir = create_scratch_directory(&user.scratch_root)?;
                let path = dir.path().to_owned();
                (&user.repo, Place::User { checkout: user, dir }, path)
            }
            Checkout::Session(tree) => {
                let private = PrivateIndex::empty(tree)?;
                let path = private.path().with_file_name("");
                (&tree.repo, Place::Session(private), path)
            }
        };
        let mut edits = plan::edits(&repo.open()?, from, to)?;
        if let Place::User { checkout, .. } = &place {
            let absent = checkout.list_absent(&edits)?;
            edits.retain(|edit| !absent.contains(&edit.path));
        }
        let (made, before) = (dir.join("made"), dir.join("before"));
        write_index(&made, &edits, |edit| edit.new)?;
        write_index(&before, &edits, |edit| edit.old)?;
        let files = checkout.files();
        let stamps = edits.iter().map(|edit| FileStamp::read(&files.join(&edit.path))).collect();
        Ok(Self { place, repo, files, edits, stamps, made, before })
    }

    /// Deletes what the move made, and writes the files as they were. A file that somebody has changed meanwhile stays, and
    /// then all do.
    pub(super) fn run(&self) -> Result<Reversed, GitError> {
        let states = self.file_states()?;
        if states.contains(&FileState::Foreign) {
            return Ok(Reversed::Halfway);
        }
        if !states.contains(&FileState::Moved) {
            return Ok(Reversed::Whole);
        }
        let nothing = git2::Oid::hash_object(ObjectType::Tree, &[]).map_err(GitError::library("name an empty tree"))?;
        let delete = self.git("read-tree", &self.made)?.args(["--reset", "-u", "--no-recurse-submodules"]);
        // It fails if there is no room for its index, which nobody needs.
        delete.arg(nothing.to_string()).output()?;
        let restored = self.git("checkout-index", &self.before)?.args(["--all", "--force", "--quiet"]).run();
        // Git fails where it cannot write a file, also if that one is as it was.
        let is_whole = self.file_states()?.iter().all(|state| *state == FileState::AsBefore);
        if is_whole { Ok(Reversed::Whole) } else { restored.map(|_| Reversed::Halfway) }
    }

    fn file_states(&self) -> Result<Vec<FileState>, GitError> {
        let repo = self.repo.open()?;
        self.edits.iter().zip(&self.stamps).map(|(edit, stamp)| self.state_of(&repo, edit, *stamp)).collect()
    }

    /// Whose content a path has. A file that git could not write whole holds the beginning of the new one.
    fn state_of(&self, repo: &Repository, edit: &Edit, stamp: Option<FileStamp>) -> Result<FileState, GitError> {
        let path = self.files.join(&edit.path);
        if FileStamp::read(&path) == stamp {
            return Ok(FileState::AsBefore);
        }
        let blob = |side: Option<Blob>| {
            let found = side.filter(|blob| !blob.is_gitlink()).map(|blob| repo.find_blob(blob.oid.raw())).transpose();
            found.map_err(GitError::library("read a file of a commit"))
        };
        let (old, new) = (blob(edit.old)?, blob(edit.new)?);
        // Git makes no more than a second byte of each line end.
        let longest = 2 * [&old, &new].into_iter().flatten().map(|blob| blob.size()).max().unwrap_or_default();
        let is_too_long = |found: &fs::Metadata| usize::try_from(found.len()).is_ok_and(|length| length > longest);
        let read = match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => fs::read_link(&path).map(|to| to.into_os_string().into_vec()),
            Ok(found) if found.is_dir() => {
                let is_made =
                    self.edits.iter().any(|other| other.path != edit.path && other.path.starts_with(&edit.path));
                return Ok(if is_made { FileState::Moved } else { FileState::Foreign });
            }
            Ok(found) if !found.is_file() || is_too_long(&found) => return Ok(FileState::Foreign),
            Ok(_) => fs::read(&path),
            Err(_) => return Ok(if edit.old.is_some() { FileState::Moved } else { FileState::AsBefore }),
        };
        let content = with_plain_line_ends(&read.map_err(GitError::io("read", &path))?);
        Ok(match (old, new) {
            (Some(old), _) if with_plain_line_ends(old.content()) == content => FileState::AsBefore,
            (_, Some(new)) if with_plain_line_ends(new.content()).starts_with(&content) => FileState::Moved,
            (_, _) => FileState::Foreign,
        })
    }

    fn git(&self, verb: &'static str, index: &Path) -> Result<Git, GitError> {
        Ok(match &self.place {
            Place::User { checkout, dir } => checkout.git(verb).writes(&checkout.files).writes(dir.path()),
            Place::Session(private) => private.checkout(verb)?,
        }
        .index(index))
    }
}

/// A text as `core.autocrlf` and attributes leave it in a commit; a file may be cut off between the two bytes of a line end.
fn with_plain_line_ends(content: &[u8]) -> Vec<u8> {
    let next = content.iter().skip(1).map(Some).chain([None]);
    let is_kept = |(byte, next): &(&u8, Option<&u8>)| **byte != b'\r' || next.is_some_and(|next| *next != b'\n');
    content.iter().zip(next).filter(is_kept).map(|(byte, _)| *byte).collect()
}

fn write_index(path: &Path, edits: &[Edit], side: impl Fn(&Edit) -> Option<Blob>) -> Result<(), GitError> {
    let blobs = edits.iter().filter_map(|edit| Some((&edit.path, side(edit)?)));
    let files = blobs.filter(|(_, blob)| !blob.is_gitlink());
    let write = || {
        let mut index = Index::open(path)?;
        for (path, Blob { oid, mode }) in files {
            let never = IndexTime::new(0, 0);
            index.add(&IndexEntry {
                ctime: never,
                mtime: never,
                dev: 0,
                ino: 0,
                mode,
                uid: 0,
                gid: 0,
                file_size: 0,
                id: oid.raw(),
                flags: 0,
                flags_extended: 0,
                path: path.as_os_str().as_bytes().to_vec(),
            })?;
        }
        index.write()
    };
    write().map_err(GitError::library(format!("write `{}`", path.display())))
}
