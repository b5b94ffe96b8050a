//! Copies files from the main checkout into a worktree, and proves while doing so that each is what its entry says.
//!
//! Two threads take directories in turn. A file that does not match, changes under the copy or cannot be written is
//! removed again and left to git.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use sha1::Digest;

use super::plan::{Batch, Pair, Plan, split};
use crate::git::index::{Entry, Index, Stat, blob_hasher, blob_id, mode};

/// More threads gain nothing: the file system serialises the creation of files.
const WORKERS: usize = 2;
/// Directories that a worker takes at a time.
const STRIDE: usize = 16;
/// Files up to this size are read at once.
const BUFFER: usize = 1 << 20;
/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(50);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
// Without `NONBLOCK` a pipe in the place of a file would hold the worker for ever.
const SOURCE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const TARGET: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

/// Whether line ends may differ between a clean file and its blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// No rule normalises them: what the stat data vouch for is the blob.
    AsStored,
    /// A file with carriage returns is clean in git's eyes although the blob has none, so its content is hashed.
    Normalised,
}

/// What became of the copies of a plan.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// Entries that are on disk, with what the index has to say about them.
    pub(crate) stats: Vec<(usize, Stat)>,
    /// Entries that git has to write after all.
    pub(crate) failed: Vec<usize>,
}

/// Where to copy from and to, and by which indexes.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) checkout: &'a Path,
    pub(crate) main: &'a Index,
    pub(crate) ours: &'a Index,
    pub(crate) line_ends: LineEnds,
}

/// Performs the copies of a plan below `target`; `progress` hears how many are done.
pub(crate) fn copy(
    source: Source<'_>,
    plan: &Plan,
    target: &Path,
    progress: &mut dyn FnMut(usize),
) -> rustix::io::Result<Copied> {
    let from = rustix::fs::open(source.checkout, DIRECTORY, Mode::empty())?;
    let to = rustix::fs::open(target, DIRECTORY, Mode::empty())?;
    for directory in &plan.directories {
        rustix::fs::mkdirat(&to, directory.as_slice(), Mode::from(0o777))?;
    }
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut worker =
            Worker { source, from: from.as_fd(), to: to.as_fd(), buffer: Vec::new(), copied: Copied::default() };
        loop {
            let start = next.fetch_add(STRIDE, Ordering::Relaxed);
            let Some(batches) = plan.batches.get(start..) else { break worker.copied };
            for batch in batches.iter().take(STRIDE) {
                worker.copy_batch(batch);
                done.fetch_add(batch.copies.len(), Ordering::Relaxed);
            }
        }
    };
    let mut all = Copied::default();
    thread::scope(|scope| {
        let (sender, finished) = mpsc::channel();
        for _ in 0..WORKERS {
            let sender = sender.clone();
            // The receiver lives until all workers have ended.
            scope.spawn(move || sender.send(work()).ok());
        }
        drop(sender);
        loop {
            match finished.recv_timeout(REPORT) {
                Ok(copied) => {
                    all.stats.extend(copied.stats);
                    all.failed.extend(copied.failed);
                }
                Err(RecvTimeoutError::Timeout) => progress(done.load(Ordering::Relaxed)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    Ok(all)
}

/// Whether the file on disk is what the entry remembers: same inode, untouched since.
pub(crate) fn matches(entry: &Entry<'_>, found: &rustix::fs::Stat) -> bool {
    let stat = Stat::from(found);
    let is_executable = found.st_mode & 0o100 != 0;
    u32::from(found.st_mode as u16) & mode::TYPE == mode::REGULAR
        && is_executable == (entry.mode & 0o100 != 0)
        && (stat.ctime, stat.mtime, stat.ino, stat.size)
            == (entry.stat.ctime, entry.stat.mtime, entry.stat.ino, entry.stat.size)
}

impl From<&rustix::fs::Stat> for Stat {
    fn from(found: &rustix::fs::Stat) -> Self {
        Self {
            ctime: (found.st_ctime as u32, found.st_ctime_nsec as u32),
            mtime: (found.st_mtime as u32, found.st_mtime_nsec as u32),
            dev: found.st_dev as u32,
            ino: found.st_ino as u32,
            uid: found.st_uid,
            gid: found.st_gid,
            size: found.st_size as u32,
        }
    }
}

struct Worker<'a> {
    source: Source<'a>,
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    buffer: Vec<u8>,
    copied: Copied,
}

impl Worker<'_> {
    fn copy_batch(&mut self, batch: &Batch) {
        let opened = open_directory(self.from, &batch.directory)
            .and_then(|from| open_directory(self.to, &batch.directory).map(|to| (from, to)));
        for pair in &batch.copies {
            let stat = match &opened {
                Ok((from, to)) => self.copy_entry(from, to, *pair),
                Err(errno) => Err(*errno),
            };
            match stat {
                Ok(stat) => self.copied.stats.push((pair.ours, stat)),
                Err(_) => self.copied.failed.push(pair.ours),
            }
        }
    }

    fn copy_entry(&mut self, from: &OwnedFd, to: &OwnedFd, pair: Pair) -> rustix::io::Result<Stat> {
        let entry = self.source.main.entry(pair.main);
        let (_, name) = split(self.source.ours.path(pair.ours));
        if entry.mode & mode::TYPE == mode::SYMLINK {
            return copy_link(from, to, name, entry.oid);
        }
        let file = rustix::fs::openat(from, name, SOURCE, Mode::empty())?;
        let found = rustix::fs::fstat(&file)?;
        if !matches(&entry, &found) {
            return Err(Errno::STALE);
        }
        let created = rustix::fs::openat(to, name, TARGET, Mode::from(entry.mode & 0o777 | 0o666))?;
        self.copy_content(&file, &created, &entry, found.st_size as usize).or_else(|errno| {
            rustix::fs::unlinkat(to, name, AtFlags::empty())?;
            Err(errno)
        })
    }

    fn copy_content(
        &mut self,
        file: &OwnedFd,
        created: &OwnedFd,
        entry: &Entry<'_>,
        size: usize,
    ) -> rustix::io::Result<Stat> {
        let mut hasher = None;
        if self.source.line_ends == LineEnds::Normalised && size > BUFFER {
            hasher = Some(blob_hasher(size as u64));
        }
        self.buffer.resize(size.clamp(1, BUFFER), 0);
        let mut left = size;
        while left > 0 {
            let count = rustix::io::read(file, &mut self.buffer[..left.min(BUFFER)])?;
            if count == 0 {
                return Err(Errno::STALE);
            }
            let chunk = &self.buffer[..count];
            let is_doubtful =
                self.source.line_ends == LineEnds::Normalised && hasher.is_none() && chunk.contains(&b'\r');
            if is_doubtful && (count != size || blob_id(chunk) != entry.oid) {
                return Err(Errno::STALE);
            }
            if let Some(hasher) = &mut hasher {
                hasher.update(chunk);
            }
            write_all(created, chunk)?;
            left -= count;
        }
        if hasher.is_some_and(|hasher| hasher.finalize()[..] != *entry.oid) {
            return Err(Errno::STALE);
        }
        let after = rustix::fs::fstat(file)?;
        if !matches(entry, &after) {
            return Err(Errno::STALE);
        }
        // An old time of change keeps git from reading the file again at its first status.
        let changed = Timespec { tv_sec: after.st_mtime, tv_nsec: after.st_mtime_nsec as _ };
        let untouched = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        rustix::fs::futimens(created, &Timestamps { last_access: untouched, last_modification: changed })?;
        Ok(Stat::from(&rustix::fs::fstat(created)?))
    }
}

fn copy_link(from: &OwnedFd, to: &OwnedFd, name: &[u8], oid: &[u8]) -> rustix::io::Result<Stat> {
    let target = rustix::fs::readlinkat(from, name, Vec::new())?;
    if blob_id(target.as_bytes()) != oid {
        return Err(Errno::STALE);
    }
    rustix::fs::symlinkat(target.as_c_str(), to, name)?;
    Ok(Stat::from(&rustix::fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

fn open_directory(root: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let path = if path.is_empty() { b"." } else { path };
    rustix::fs::openat(root, path, DIRECTORY, Mode::empty())
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let count = rustix::io::write(file, bytes)?;
        bytes = &bytes[count..];
    }
    Ok(())
}
