//! The change of a checkout of the user's, recorded before it begins, so that after a kill it is taken back or completed.
//!
//! `<git directory>/coppice-move` exists meanwhile. It holds `move` (what goes where), the journal of the files, and the
//! index before and after. Only renames touch the checkout; whatever needs space is written before. A failure in the midst
//! is treated like a kill.
//!
//! The process at work holds a lock, which ends with the process. The record names its file, which is in Coppice's own data
//! directory: an agent can read the git directory, and whoever can open a file can lock it for as long as they like.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use git2::ObjectType;
use rustix::fs::{FlockOperation, Mode, OFlags};
use tracing::{debug, info, warn};

use super::checkout::{Advance, linked};
use super::user_checkout::UserCheckout;
use crate::git::integrate::apply::{self, Gate, LaterChanges, Places, Stopped};
use crate::git::integrate::exchange::{Exchange, not_understood, write_whole};
use crate::git::integrate::journal::{Journal, Step};
use crate::git::integrate::place::{Place, Seen};
use crate::git::integrate::plan::{self, Blob, Edit};
use crate::git::integrate::unstopped;
use crate::git::private_index::copy_if_there;
use crate::git::{GitError, Oid, Repo};

/// What our `index.lock` contains. Without a lock on the records, it is that of an ended process.
const LOCK_CONTENT: &[u8] = b"coppice moves this checkout\n";

/// A change of a checkout that is prepared, under way, or made while its branch has not moved yet.
pub(super) struct RecordedMove<'a> {
    pub(super) checkout: &'a UserCheckout,
    record: MoveRecord,
    _lock: MoveLock,
}

/// Keeps others from working on a move of the same checkout.
struct MoveLock {
    _own: File,
    /// That of a daemon with another data directory, which has ended.
    _of_record: Option<File>,
}

/// What goes where.
struct MoveRecord {
    from: Oid,
    to: Oid,
    /// Full name of the branch that moves along.
    branch: String,
    /// The directory through which files are exchanged.
    files: PathBuf,
    /// The file that is locked meanwhile; none in a record of an older version.
    lock: Option<PathBuf>,
}

/// Completes or takes back what killed merges left in the checkouts of a repository. What cannot be recovered now stays,
/// and stops the next merge there.
pub(in crate::git) fn recover_moves(repo: &Repo, scratch_root: &Path) {
    let main = repo.checkout().map(|files| (repo.common_dir().to_owned(), files.to_owned()));
    // Those of sessions are never moved this way, and whatever lies there may be an agent's.
    let is_users = |(_, files): &(PathBuf, PathBuf)| !files.starts_with(scratch_root);
    for (git_dir, files) in main.into_iter().chain(linked(repo.common_dir())).filter(is_users) {
        let (repo, scratch_root) = (repo.clone(), scratch_root.to_owned());
        let checkout = UserCheckout { repo, git_dir, files, scratch_root };
        if let Err(error) = recover_move(&checkout) {
            warn!(checkout = %checkout.files.display(), %error, "an interrupted merge cannot be undone");
        }
    }
}

/// Completes or takes back what a killed merge left in a checkout.
pub(super) fn recover_move(checkout: &UserCheckout) -> Result<(), GitError> {
    match RecordedMove::find(checkout)? {
        Some(found) => found.take_back(),
        None => Ok(()),
    }
}

impl<'a> RecordedMove<'a> {
    /// Begins a record. Nothing has changed yet.
    pub(super) fn create(checkout: &'a UserCheckout, to: &Advance<'_>) -> Result<Self, GitError> {
        recover_move(checkout)?;
        let (records, lock) = (records_of(checkout), lock_of(checkout)?);
        let own = wait_for_lock(&lock)?;
        fs::create_dir(&records).map_err(GitError::io("create", &records))?;
        let files = create_exchange_directory(&records, &checkout.files)?;
        let record = MoveRecord { from: to.old, to: to.new, branch: to.name.to_owned(), files, lock: Some(lock) };
        let created = Self { checkout, record, _lock: MoveLock { _own: own, _of_record: None } };
        let write = || {
            created.exchange().create_directories()?;
            write_whole(&records.join("move"), &created.record.to_bytes())
        };
        match write() {
            Ok(()) => Ok(created),
            Err(error) => {
                created.discard();
                Err(error)
            }
        }
    }

    /// The one that an ended process left.
    pub(super) fn find(checkout: &'a UserCheckout) -> Result<Option<Self>, GitError> {
        let (records, lock) = (records_of(checkout), lock_of(checkout)?);
        if records.symlink_metadata().is_err() {
            return Ok(None);
        }
        let own = wait_for_lock(&lock)?;
        let path = records.join("move");
        match fs::read(&path) {
            // Nothing had begun.
            Err(error) if error.kind() == ErrorKind::NotFound => remove_tree(&records).map(|()| None),
            read => {
                let bytes = read.map_err(GitError::io("read", &path))?;
                let record = MoveRecord::parse(&bytes).filter(|record| record.is_ours(&records, &checkout.files));
                let record = record.ok_or_else(|| not_understood(&path))?;
                let of_record = match &record.lock {
                    Some(other) if *other != lock => try_lock_of_other(other, &checkout.files)?,
                    Some(_) | None => None,
                };
                Ok(Some(Self { checkout, record, _lock: MoveLock { _own: own, _of_record: of_record } }))
            }
        }
    }

    /// Copies the new files to the file system of the checkout, and looks at those that they replace.
    pub(super) fn prepare_steps<'e>(
        &self,
        new_files: &Path,
        edits: impl Iterator<Item = &'e Edit>,
    ) -> Result<Vec<Step>, GitError> {
        let (written, new) = (Place::open(new_files)?, Place::open(&self.exchange().new_files())?);
        let (tree, mut steps) = (self.open_tree()?, Vec::new());
        for edit in edits {
            let path = &edit.path;
            let old = match edit.old.filter(|old| !old.is_gitlink()) {
                Some(_) if tree.is_directory(path) => {
                    return Err(GitError::PathTaken { path: self.checkout.files.join(path) });
                }
                Some(_) => tree.look(path)?,
                None => Seen::Absent,
            };
            let new = match edit.new.filter(|new| !new.is_gitlink()) {
                Some(_) => {
                    written.copy_to(path, &new).map_err(GitError::io("write", &self.checkout.files.join(path)))?;
                    new.look(path)?
                }
                None => Seen::Absent,
            };
            if (old, new) != (Seen::Absent, Seen::Absent) {
                steps.push(Step { path: path.clone(), old, new });
            }
        }
        Ok(steps)
    }

    /// Changes files and index. `index` are the bytes of the index as it is, and `updated` those it gets for the tree that
    /// it is given. After an error, the caller takes the move back.
    pub(super) fn make(
        &self,
        index: &[u8],
        steps: Vec<Step>,
        gitlinks: &[&Path],
        updated: &dyn Fn(&Place) -> Result<Vec<u8>, GitError>,
        gate: Gate<'_>,
    ) -> Result<(), Stopped> {
        let (tree, exchange) = (self.open_tree()?, self.exchange());
        gate()?;
        self.lock_index()?;
        gate()?;
        if self.checkout.read_index()? != index {
            return Err(GitError::IndexLocked { path: self.index_lock() }.into());
        }
        copy_if_there(&self.checkout.index(), &self.old_index())?;
        let mut made = apply::missing_directories(&tree, &steps);
        made.extend(gitlinks.iter().filter(|path| !tree.is_directory(path)).map(|path| path.to_path_buf()));
        let journal = Journal { steps, made };
        exchange.begin(&journal)?;
        apply::change(&Places::open(&tree, &exchange)?, &journal.steps, gate)?;
        for path in gitlinks {
            gate()?;
            tree.create_directory(path).map_err(|errno| tree.error("create", path, errno))?;
        }
        gate()?;
        write_whole(&self.new_index(), &updated(&tree)?)?;
        gate()?;
        self.install_index(&self.new_index())?;
        gate()?;
        self.unlock_index()?;
        Ok(())
    }

    /// Ends a move whose branch has moved.
    pub(super) fn complete(self) -> Result<(), GitError> {
        if let Some(journal) = self.exchange().begun()? {
            self.remove_emptied(&journal)?;
            self.exchange().end()?;
        }
        self.discard();
        Ok(())
    }

    /// Puts the checkout back as it was, unless its branch has moved. Works on whatever part of the move was made.
    pub(super) fn take_back(self) -> Result<(), GitError> {
        self.take_back_by(&mut || Ok(())).map_err(unstopped)
    }

    pub(super) fn take_back_by(self, gate: Gate<'_>) -> Result<(), Stopped> {
        let exchange = self.exchange();
        let Some(journal) = exchange.begun()? else {
            self.discard();
            return Ok(());
        };
        if !self.owns_index_lock() {
            self.lock_index()?;
        }
        exchange.create_directories()?;
        let is_unmoved = self.checkout.repo.find_ref(&self.record.branch)? == Some(self.record.from);
        let index = self.checkout.read_index()?;
        if is_unmoved && fs::read(self.new_index()).is_ok_and(|new| new == index) {
            gate()?;
            self.install_index(&self.old_index())?;
        }
        // Another git may have written the index since. Files belong to what it holds.
        let differing = self.checkout.list_differing(self.record.to)?;
        if journal.steps.iter().any(|step| differing.contains(&step.path)) {
            let tree = self.open_tree()?;
            apply::undo(&Places::open(&tree, &exchange)?, &journal, LaterChanges::Keep, gate)?;
            for Edit { path, .. } in self.edits()?.iter().filter(|edit| is_replaced_gitlink(edit)) {
                if differing.contains(path)
                    && let Err(errno) = tree.create_directory(path)
                {
                    debug!(path = %path.display(), %errno, "the directory of a submodule is not restored");
                }
            }
            info!(checkout = %self.checkout.files.display(), "an interrupted merge was undone");
        } else {
            self.remove_emptied(&journal)?;
            info!(checkout = %self.checkout.files.display(), "an interrupted merge was completed");
        }
        gate()?;
        exchange.end()?;
        gate()?;
        self.discard();
        Ok(())
    }

    /// Removes the records and our lock; only without a journal. The record that names the lock goes last.
    pub(super) fn discard(self) {
        let remove = || {
            if self.owns_index_lock() {
                self.unlock_index()?;
            }
            remove_tree(&self.record.files)?;
            remove_tree(&records_of(self.checkout))
        };
        if let Err(error) = remove() {
            debug!(%error, "the record of a merge stays");
        }
    }

    /// As git does, removes directories that lost their last file, and those of removed submodules.
    fn remove_emptied(&self, journal: &Journal) -> Result<(), GitError> {
        let tree = self.open_tree()?;
        apply::remove_emptied(&tree, &journal.steps);
        for edit in self.edits()?.iter().filter(|edit| edit.new.is_none() && edit.old.is_some_and(Blob::is_gitlink)) {
            if tree.remove_directory(&edit.path).is_ok() {
                tree.remove_empty_parents(&edit.path);
            }
        }
        Ok(())
    }

    fn edits(&self) -> Result<Vec<Edit>, GitError> {
        plan::edits(&self.checkout.repo.open()?, self.record.from, self.record.to)
    }

    fn open_tree(&self) -> Result<Place, GitError> {
        Place::open(&self.checkout.files)
    }

    fn exchange(&self) -> Exchange {
        Exchange::at(&self.record.files, &records_of(self.checkout))
    }

    /// Takes git's own lock on the index, by a file that says whose it is from the beginning.
    fn lock_index(&self) -> Result<(), GitError> {
        let lock = self.index_lock();
        write_whole(&records_of(self.checkout).join("lock"), LOCK_CONTENT)?;
        let (records, git_dir) = (Place::open(&records_of(self.checkout))?, Place::open(&self.checkout.git_dir)?);
        records.move_to(Path::new("lock"), &git_dir, Path::new("index.lock")).map_err(|errno| match errno {
            rustix::io::Errno::EXIST => GitError::IndexLocked { path: lock },
            errno => git_dir.error("lock", Path::new("index"), errno),
        })
    }

    fn owns_index_lock(&self) -> bool {
        fs::read(self.index_lock()).is_ok_and(|content| content == LOCK_CONTENT)
    }

    fn unlock_index(&self) -> Result<(), GitError> {
        fs::remove_file(self.index_lock()).map_err(GitError::io("remove", &self.index_lock()))
    }

    /// Makes a copy of a file the index, as readable as the present one, which others may share. Without a file there was
    /// no index.
    fn install_index(&self, from: &Path) -> Result<(), GitError> {
        let (index, copy) = (self.checkout.index(), records_of(self.checkout).join("index"));
        copy_if_there(from, &copy)?;
        let install = || match copy.exists() {
            true => {
                let mode = fs::metadata(&index).map_or(Permissions::from_mode(0o644), |found| found.permissions());
                fs::set_permissions(&copy, mode)?;
                fs::rename(&copy, &index)
            }
            false => fs::remove_file(&index),
        };
        install().map_err(GitError::io("replace", &index))
    }

    fn index_lock(&self) -> PathBuf {
        self.checkout.git_dir.join("index.lock")
    }

    fn old_index(&self) -> PathBuf {
        records_of(self.checkout).join("index-before")
    }

    fn new_index(&self) -> PathBuf {
        records_of(self.checkout).join("index-after")
    }
}

impl MoveRecord {
    fn to_bytes(&self) -> Vec<u8> {
        let Self { from, to, branch, files, lock } = self;
        let paths = [Some(files), lock.as_ref()].into_iter().flatten().map(|path| path.as_os_str().as_bytes());
        [format!("{from}\0{to}\0{branch}").as_bytes()].into_iter().chain(paths).collect::<Vec<_>>().join(&0)
    }

    /// Whether it names a directory that such a move makes. A repository that somebody else packed may bring a record.
    fn is_ours(&self, records: &Path, checkout: &Path) -> bool {
        let is_named =
            self.files.file_name().is_some_and(|name| name.as_bytes().starts_with(EXCHANGE_PREFIX.as_bytes()));
        let is_within = self.files.parent().is_some_and(|parent| parent == records || parent == checkout);
        is_named && is_within && self.files.symlink_metadata().map_or(true, |found| found.is_dir())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.split(|byte| *byte == 0);
        let mut text = || std::str::from_utf8(fields.next()?).ok();
        let (from, to, branch) = (text()?.parse().ok()?, text()?.parse().ok()?, text()?.to_owned());
        let mut path = || fields.next().map(|path| PathBuf::from(OsStr::from_bytes(path)));
        Some(Self { from, to, branch, files: path()?, lock: path() })
    }
}

/// How the directory through which files are exchanged is called.
const EXCHANGE_PREFIX: &str = ".coppice-move-";

/// How files that are locked are called.
const LOCK_PREFIX: &str = ".move-lock-";

fn records_of(checkout: &UserCheckout) -> PathBuf {
    checkout.git_dir.join("coppice-move")
}

/// Makes a directory from which a rename leads into the checkout: with the records, where nobody cleans up, unless they
/// are on another file system or mount.
fn create_exchange_directory(records: &Path, files: &Path) -> Result<PathBuf, GitError> {
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).map_err(GitError::io("read", path));
    // The kernel compares mounts before it looks for the file, which does not exist.
    let crosses = |error: std::io::Error| error.kind() == ErrorKind::CrossesDevices;
    let is_far = device(records)? != device(files)?
        || fs::rename(records.join("probe"), files.join(".coppice-move-probe")).is_err_and(crosses);
    let beside = if is_far { files } else { records };
    let made = tempfile::Builder::new().prefix(EXCHANGE_PREFIX).tempdir_in(beside);
    Ok(made.map_err(GitError::io("create a temporary directory in", beside))?.keep())
}

/// The file that is locked for a move of a checkout. No agent's sandbox opens the directory that it is in.
fn lock_of(checkout: &UserCheckout) -> Result<PathBuf, GitError> {
    let name = checkout.git_dir.as_os_str().as_bytes();
    let name = git2::Oid::hash_object(ObjectType::Blob, name).map_err(GitError::library("hash a path"))?;
    Ok(checkout.scratch_root.join(format!("{LOCK_PREFIX}{name}")))
}

/// Waits until no other task of this daemon works on a move of the checkout.
fn wait_for_lock(lock: &Path) -> Result<File, GitError> {
    let open = || {
        lock.parent().map_or(Ok(()), fs::create_dir_all)?;
        let file = File::options().write(true).create(true).truncate(false).open(lock)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    };
    open().map_err(GitError::io("lock", lock))
}

/// Takes the lock that the record of another daemon names, without waiting; an error while that daemon is at work. A
/// repository that somebody else packed may bring a record, so no more is done with the file.
fn try_lock_of_other(lock: &Path, files: &Path) -> Result<Option<File>, GitError> {
    if !lock.file_name().is_some_and(|name| name.as_bytes().starts_with(LOCK_PREFIX.as_bytes())) {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(lock, flags, Mode::empty()).map(File::from) {
        Ok(file) => match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(_) => Err(GitError::MoveUnderWay { path: files.to_owned() }),
        },
        Err(_) => Ok(None),
    }
}

fn remove_tree(path: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(GitError::io("remove", path)),
    }
}

/// Whether a submodule becomes a file.
fn is_replaced_gitlink(edit: &Edit) -> bool {
    edit.old.is_some_and(Blob::is_gitlink) && edit.new.is_some_and(|new| !new.is_gitlink())
}
