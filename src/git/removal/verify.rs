//! Compares the tree that is to be the spare with its commit, by content and not by what the file system says about it.
//!
//! An agent can give a changed file any time it likes, so every file is read and hashed after the last process of the
//! session has ended, and only if nobody has it open for writing. The next session must find exactly what a checkout
//! gives: no other content, no file of the last session, no changed mode or owner, no second name of a file, no nested
//! repository. It goes in steps, so that the caller can stop; a tree whose verification did not end well is never used.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha1::Digest;

use super::recycle::{check_admin, check_index, read_index};
use super::{GitError, Pending, Step};
use crate::git::command::Git;
use crate::git::include::place::{Missing, descend};
use crate::git::index::{Index, Stat, blob_hasher, blob_id, mode};
use crate::git::populate::settings;
use crate::git::private_index::{OtherWriters, PrivateIndex};
use crate::git::worktree::{registration, spare};
use crate::git::{Oid, Repo, Worktree, attributes};

// Without `NONBLOCK` a pipe in the place of a file would hold the caller for ever.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What the verification of a tree came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpareVerdict {
    /// It is the spare.
    Accepted,
    /// It is only there to be deleted, for this reason.
    Rejected { reason: String, left: Pending },
    /// It is not in the place of the spare any more.
    Gone,
}

/// Takes a read lease on an open file: an error while anybody can write it.
pub type TakeReadLease = fn(BorrowedFd<'_>) -> io::Result<()>;

/// A verification that goes on with each step.
pub struct SpareVerification {
    tree: Worktree,
    private: PrivateIndex,
    expected: Expected,
    root: OwnedFd,
    /// Directories that were not read yet, from the root of the tree.
    waiting: Vec<PathBuf>,
    /// Files of one directory that were not compared yet.
    files: Vec<PathBuf>,
    /// What the file system said about each file while it had the right content.
    stats: Vec<(usize, Stat)>,
    doubt: Option<String>,
    take_lease: TakeReadLease,
}

/// What a checkout would have put there.
struct Expected {
    index: Index,
    /// Entries of the index by path; one that was found is gone from here.
    missing: HashMap<Vec<u8>, usize>,
    /// Permissions of a directory made by this user here and today; files follow from them.
    directory: u32,
    owner: u32,
}

impl SpareVerification {
    /// Begins with the tree in the place of the spare that is not verified; none when there is no such tree. No process of
    /// its session may be running.
    pub fn begin(repo: &Repo, root: &Path, take_lease: TakeReadLease) -> Result<Option<Self>, GitError> {
        let Some(found) = spare::find(repo, root).filter(|spare| !spare.is_verified()) else { return Ok(None) };
        let head = fs::read(found.admin.join("HEAD")).ok().and_then(|head| Oid::from_output(&head));
        let Some(head) = head else { return Ok(None) };
        let (repo, path, admin, branch) = (repo.clone(), found.path, found.admin, String::new());
        let tree = Worktree { repo, path, admin, branch, base: head, attributes: head };
        let index = read_index(&tree).map_err(|detail| GitError::Unreadable { verb: "read-tree", detail })?;
        let place = spare::directory(root);
        let made_here = place.metadata().map_err(GitError::io("read", &place))?;
        let doubt = check_admin(&tree).or_else(|| check_index(&tree)).or(check_content(&tree, &index)?);
        let private = PrivateIndex::copy_of(&tree)?;
        let open = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let files = rustix::fs::open(&tree.path, open, Mode::empty());
        let root = files.map_err(|errno| GitError::io("open", &tree.path)(errno.into()))?;
        let expected = Expected::new(index, &made_here);
        let (waiting, files, stats) = (vec![PathBuf::new()], Vec::new(), Vec::new());
        Ok(Some(Self { tree, private, expected, root, waiting, files, stats, doubt, take_lease }))
    }

    /// Verifies the tree in the place of the spare at once; none when there is no such tree.
    pub fn run(repo: &Repo, root: &Path, take_lease: TakeReadLease) -> Result<Option<SpareVerdict>, GitError> {
        let Some(mut verification) = Self::begin(repo, root, take_lease)? else { return Ok(None) };
        while verification.step(1024) == Step::More {}
        verification.finish().map(Some)
    }

    /// Compares up to `count` files.
    pub fn step(&mut self, count: usize) -> Step {
        for _ in 0..count {
            if self.doubt.is_some() {
                return Step::Done;
            }
            let compared = match (self.files.pop(), self.waiting.pop()) {
                (Some(file), directory) => {
                    self.waiting.extend(directory);
                    self.compare_file(&file)
                }
                (None, Some(directory)) => self.list_directory(&directory),
                (None, None) => return Step::Done,
            };
            self.doubt = compared.err();
        }
        Step::More
    }

    /// Makes the tree the spare if all of it was compared and nothing is in doubt; else it is given up. The caller lets
    /// nobody create or remove a worktree of the repository meanwhile.
    pub fn finish(mut self) -> Result<SpareVerdict, GitError> {
        let admin = &self.tree.admin;
        let is_there = registration::is_admin_of(admin, &self.tree.path)
            && registration::lock_reason(admin).as_deref() == Some(registration::UNVERIFIED);
        if !is_there {
            return Ok(SpareVerdict::Gone);
        }
        let missing = self.expected.missing.keys().next();
        let missing = missing.map(|path| format!("`{}` is missing", String::from_utf8_lossy(path)));
        if let Some(reason) = self.doubt.take().or(missing) {
            registration::remove(admin)?;
            return Ok(SpareVerdict::Rejected { reason, left: Pending { path: self.tree.path, session: None } });
        }
        // What is younger than this look at it differs from the index that is written here, and is written again when a
        // session takes the tree.
        let mut index = self.expected.index;
        for (number, stat) in &self.stats {
            index.patch(*number, stat);
        }
        let path = self.private.path();
        fs::write(&path, index.into_bytes()).map_err(GitError::io("write", &path))?;
        self.private.install(OtherWriters::Possible)?;
        registration::lock(admin, registration::SPARE)?;
        Ok(SpareVerdict::Accepted)
    }

    fn list_directory(&mut self, directory: &Path) -> Result<(), String> {
        let read = || {
            let opened = descend(&self.root, directory, Missing::Refuse)?;
            let found = rustix::fs::fstat(&opened)?;
            let entries: Vec<_> = Dir::read_from(&opened)?.collect::<Result<_, _>>()?;
            Ok((found, entries))
        };
        let (found, entries) = read().map_err(|errno: Errno| format!("`{}`: {errno}", directory.display()))?;
        if permissions(&found) != self.expected.directory || found.st_uid != self.expected.owner {
            return Err(format!("the mode of `{}` was changed", self.tree.path.join(directory).display()));
        }
        for entry in entries {
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let path = directory.join(OsStr::from_bytes(name));
            let is_directory = self.look(&path).is_ok_and(|found| is_kind(&found, FileType::Directory));
            let bytes = path.as_os_str().as_bytes();
            let entry_mode = self.expected.missing.get(bytes).map(|number| self.expected.index.entry(*number).mode);
            match entry_mode.map(|mode| mode & mode::TYPE) {
                // A submodule's directory, which a checkout leaves empty.
                Some(mode::GITLINK) if is_directory => {
                    self.expected.missing.remove(bytes);
                    self.waiting.push(path);
                }
                Some(_) => self.files.push(path),
                None if bytes == b".git" => self.files.push(path),
                None if is_directory && name != b".git" => self.waiting.push(path),
                None => return Err(unlike_git(&path)),
            }
        }
        Ok(())
    }

    fn compare_file(&mut self, path: &Path) -> Result<(), String> {
        let unlike = |errno| match errno {
            Errno::AGAIN => format!("`{}` is open for writing", path.display()),
            _ => unlike_git(path),
        };
        let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
        let directory = descend(&self.root, parent, Missing::Refuse).map_err(unlike)?;
        let number = self.expected.missing.remove(path.as_os_str().as_bytes());
        let Some(number) = number else {
            let (found, _) = self.hash_file(&directory, name).map_err(unlike)?;
            let is_ours = registration::has_own_git_file(&self.tree);
            let is_as_written = is_ours && self.expected.is_as_written(mode::REGULAR | 0o644, &found);
            return is_as_written.then_some(()).ok_or_else(|| unlike_git(path));
        };
        let entry = self.expected.index.entry(number);
        let (found, hash) = match entry.mode & mode::TYPE {
            mode::SYMLINK => read_link(&directory, name).map_err(unlike)?,
            _ => self.hash_file(&directory, name).map_err(unlike)?,
        };
        if !self.expected.is_as_written(entry.mode, &found) {
            return Err(unlike_git(path));
        }
        if hash != entry.oid {
            return Err(format!("the content of `{}` is not that of its commit", path.display()));
        }
        self.stats.push((number, Stat::from(&found)));
        Ok(())
    }

    fn look(&self, path: &Path) -> rustix::io::Result<rustix::fs::Stat> {
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        rustix::fs::statat(descend(&self.root, parent, Missing::Refuse)?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Hashes a file that nobody can write; the lease on it lasts as long as it is read.
    fn hash_file(&self, directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<(rustix::fs::Stat, [u8; 20])> {
        let raw = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let mut file = File::from(rustix::fs::openat(directory, name, FILE, Mode::empty())?);
        (self.take_lease)(file.as_fd()).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => Errno::AGAIN,
            _ => raw(error),
        })?;
        let before = rustix::fs::fstat(&file)?;
        let mut hasher = blob_hasher(before.st_size.unsigned_abs());
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer).map_err(raw)? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
        match Stat::from(&rustix::fs::fstat(&file)?) == Stat::from(&before) {
            true => Ok((before, hasher.finalize().into())),
            // Somebody writes it at this moment.
            false => Err(Errno::BUSY),
        }
    }
}

impl Expected {
    fn new(index: Index, directory: &Metadata) -> Self {
        let missing = (0..index.len()).map(|number| (index.path(number).to_owned(), number)).collect();
        Self { missing, index, directory: directory.mode() & 0o7777, owner: directory.uid() }
    }

    fn is_as_written(&self, mode: u32, found: &rustix::fs::Stat) -> bool {
        let is_same = match mode & mode::TYPE {
            mode::SYMLINK => is_kind(found, FileType::Symlink),
            _ => is_kind(found, FileType::RegularFile) && permissions(found) == (mode & 0o777 | 0o666) & self.directory,
        };
        // Another name of the same file could still be written to.
        is_same && found.st_nlink == 1 && found.st_uid == self.owner
    }
}

/// Whether the index is the commit, and a checkout writes blobs as they are: only then can files be compared with them.
fn check_content(tree: &Worktree, index: &Index) -> Result<Option<String>, GitError> {
    let verb = "diff-index";
    if !Git::in_tree(tree, verb).args(["--cached", "--quiet", "HEAD", "--"]).output()?.status.success() {
        return Ok(Some("its index is not its commit".to_owned()));
    }
    if let Err(reason) = settings::check(tree) {
        return Ok(Some(reason.to_string()));
    }
    let converted = attributes::check(tree, index)?.for_git.len();
    Ok((converted > 0).then(|| format!("attributes change the content of {converted} files")))
}

fn read_link(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<(rustix::fs::Stat, [u8; 20])> {
    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
    Ok((found, blob_id(target.as_bytes())))
}

fn is_kind(found: &rustix::fs::Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(found.st_mode) == kind
}

/// Modes have other types on other systems; all of them fit into 16 bits.
fn permissions(found: &rustix::fs::Stat) -> u32 {
    u32::from(found.st_mode as u16) & 0o7777
}

fn unlike_git(path: &Path) -> String {
    format!("`{}` is not as git wrote it", path.display())
}
