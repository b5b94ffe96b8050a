//! Gives the owner of a worktree's files back the permissions that an agent or a test took away.
//!
//! Git only warns of a directory that it cannot read, and its files would be in no commit. All files of a worktree are
//! the user's own, so their modes can be changed. No link is followed, and nothing outside of the worktree is changed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use super::include::place::{Missing, descend};
use super::stop::StopSignal;
use super::{GitError, reach};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Git opens no longer path.
pub(super) const LONGEST_PATH: usize = 4096;

/// What the owner is to be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnerAccess {
    /// Read all files.
    Read,
    /// Replace and delete files as well.
    Write,
}

impl OwnerAccess {
    fn needed_mode(self, kind: FileType) -> Mode {
        match (kind, self) {
            (FileType::Directory, Self::Read) => Mode::RUSR | Mode::XUSR,
            (FileType::Directory, Self::Write) => Mode::RWXU,
            (FileType::RegularFile, _) => Mode::RUSR,
            _ => Mode::empty(),
        }
    }
}

/// Restores the access to everything below a directory; how many modes were changed. What cannot be changed stays.
pub(super) fn restore(files: &Path, access: OwnerAccess, stop: &StopSignal) -> Result<usize, GitError> {
    let mut restored = usize::from(restore_root(files));
    let Ok(root) = rustix::fs::open(files, DIRECTORY, Mode::empty()) else { return Ok(restored) };
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        // An agent decides how many there are.
        stop.check("status")?;
        let Ok((opened, names)) = list_directory(&root, &directory) else { continue };
        for name in names {
            let Ok(entry) = restore_entry(&opened, &name, access) else { continue };
            restored += usize::from(entry.is_restored);
            let path = directory.join(name);
            if entry.kind == FileType::Directory && path.as_os_str().len() < LONGEST_PATH {
                waiting.push(path);
            }
        }
    }
    Ok(restored)
}

/// Restores all access to the directory itself, without which nothing can be started in it and it cannot be moved; whether
/// its mode was changed.
pub(super) fn restore_root(files: &Path) -> bool {
    restore_entry(CWD, files.as_os_str(), OwnerAccess::Write).is_ok_and(|entry| entry.is_restored)
}

struct Entry {
    kind: FileType,
    is_restored: bool,
}

fn restore_entry(directory: impl AsFd, name: &OsStr, access: OwnerAccess) -> rustix::io::Result<Entry> {
    let found = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let (kind, mode) = (FileType::from_raw_mode(found.st_mode), Mode::from_raw_mode(found.st_mode));
    let needed = access.needed_mode(kind);
    let is_restored = !mode.contains(needed) && reach::set_mode(directory.as_fd(), name, mode | needed).is_ok();
    Ok(Entry { kind, is_restored })
}

fn list_directory(root: &OwnedFd, directory: &Path) -> rustix::io::Result<(OwnedFd, Vec<OsString>)> {
    let opened = descend(root, directory, Missing::Refuse)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&opened)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok((opened, names))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::git::stop::stop_signal;

    fn mode_of(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_owner_gets_what_is_missing_and_nothing_else_changes() {
        let sandbox = tempfile::tempdir().unwrap();
        let (files, outside) = (sandbox.path().join("files"), sandbox.path().join("outside"));
        fs::create_dir_all(files.join("closed/deep")).unwrap();
        fs::create_dir(files.join("open")).unwrap();
        fs::create_dir(&outside).unwrap();
        for file in ["closed/deep/file", "open/file", "open/readable"] {
            fs::write(files.join(file), "x").unwrap();
        }
        fs::write(outside.join("file"), "x").unwrap();
        symlink(&outside, files.join("link")).unwrap();
        symlink(outside.join("file"), files.join("open/link")).unwrap();
        let modes = [
            ("closed/deep/file", 0o000, 0o400),
            ("closed/deep", 0o311, 0o711),
            ("closed", 0o000, 0o500),
            ("open/file", 0o244, 0o644),
            ("open/readable", 0o440, 0o440),
            ("open", 0o555, 0o555),
            ("../outside/file", 0o000, 0o000),
            ("../outside", 0o000, 0o000),
            ("", 0o000, 0o700),
        ];
        for (path, before, _) in modes {
            set(&files.join(path), before);
        }
        let restore = |access| restore(&files, access, &StopSignal::default()).unwrap();
        assert_eq!(restore(OwnerAccess::Read), 5);
        for (path, _, after) in modes.iter().rev() {
            assert_eq!(mode_of(&files.join(path)), *after, "{path}");
        }
        assert_eq!(restore(OwnerAccess::Read), 0);
        assert_eq!(restore(OwnerAccess::Write), 2);
        let (guard, stop) = stop_signal().unwrap();
        drop(guard);
        assert!(matches!(super::restore(&files, OwnerAccess::Read, &stop), Err(GitError::Stopped { .. })));
        assert_eq!((mode_of(&files.join("closed")), mode_of(&files.join("open"))), (0o700, 0o755));
        set(&outside, 0o700);
    }
}
