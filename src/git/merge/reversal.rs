//! Putting files back after git gave up in the midst of them: where it cannot write a file, it goes on with the others and
//! takes nothing back.
//!
//! Everything that needs space is written before the move begins, because a full disk is the usual reason.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, ObjectType};
use tempfile::TempDir;

use super::checkout::Checkout;
use super::hook::create_scratch_directory;
use super::user_checkout::UserCheckout;
use crate::git::command::Git;
use crate::git::integrate::plan::{self, Blob, Edit};
use crate::git::private_index::PrivateIndex;
use crate::git::{GitError, Oid};

/// The way back from a move that did not finish.
pub(super) struct MoveReversal<'a> {
    place: Place<'a>,
    /// An index of the files that the move makes or changes.
    made: PathBuf,
    /// An index of the same files, and of those that it deletes, as they were.
    before: PathBuf,
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
        Ok(Self { place, made, before })
    }

    /// Deletes what the move made, and writes the files as they were. Nothing of the user's is among them: that was looked
    /// for right before the move.
    pub(super) fn run(&self) -> Result<(), GitError> {
        let nothing = git2::Oid::hash_object(ObjectType::Tree, &[]).map_err(GitError::library("name an empty tree"))?;
        let delete = self.git("read-tree", &self.made)?.args(["--reset", "-u", "--no-recurse-submodules"]);
        // It fails if there is no room for its index, which nobody needs.
        delete.arg(nothing.to_string()).output()?;
        self.git("checkout-index", &self.before)?.args(["--all", "--force", "--quiet"]).run().map(drop)
    }

    fn git(&self, verb: &'static str, index: &Path) -> Result<Git, GitError> {
        Ok(match &self.place {
            Place::User { checkout, dir } => checkout.git(verb).writes(&checkout.files).writes(dir.path()),
            Place::Session(private) => private.checkout(verb)?,
        }
        .index(index))
    }
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
