//! Puts single files from one tree into another without following a symbolic link on either side.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::git::GitError;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const SOURCE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const TARGET: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

/// What became of one file.
pub(in crate::git) enum Outcome {
    Placed,
    /// Something is there, and stays.
    Exists,
    Refused(String),
}

/// The two trees, held open.
pub(in crate::git) struct Places {
    checkout: PathBuf,
    from: OwnedFd,
    to: OwnedFd,
}

impl Places {
    pub(in crate::git) fn open(checkout: &Path, worktree: &Path) -> Result<Self, GitError> {
        let open = |path: &Path| {
            rustix::fs::open(path, DIRECTORY, Mode::empty()).map_err(|errno| GitError::io("open", path)(errno.into()))
        };
        Ok(Self { checkout: checkout.to_owned(), from: open(checkout)?, to: open(worktree)? })
    }

    /// Copies a file, or a link that stays inside the tree.
    pub(in crate::git) fn copy(&self, path: &Path) -> Outcome {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return refused(Errno::INVAL) };
        let from = match descend(&self.from, parent, Missing::Refuse) {
            Ok(from) => from,
            Err(errno) => return refused(errno),
        };
        let found = match rustix::fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(errno) => return refused(errno),
        };
        let is_known = matches!(FileType::from_raw_mode(found.st_mode), FileType::RegularFile | FileType::Symlink);
        if !is_known {
            return Outcome::Refused("is neither a file nor a link".to_owned());
        }
        let to = match descend(&self.to, parent, Missing::Create) {
            Ok(to) => to,
            Err(errno) => return refused(errno),
        };
        if rustix::fs::statat(&to, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Outcome::Exists;
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => copy_link(&from, &to, parent, Path::new(name)),
            _ => match copy_file(&from, &to, Path::new(name), Mode::from_raw_mode(found.st_mode)) {
                Ok(()) => Outcome::Placed,
                Err(error) => other(error),
            },
        }
    }

    /// Links to a file or directory of the checkout.
    pub(in crate::git) fn link(&self, path: &Path) -> Outcome {
        let source = self.checkout.join(path);
        match source.canonicalize() {
            Ok(real) if !real.starts_with(&self.checkout) => {
                return Outcome::Refused("leads out of the checkout".to_owned());
            }
            Ok(_) => {}
            Err(error) => return other(error),
        }
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return refused(Errno::INVAL) };
        let made = descend(&self.to, parent, Missing::Create).and_then(|to| rustix::fs::symlinkat(&source, &to, name));
        match made {
            Ok(()) => Outcome::Placed,
            Err(Errno::EXIST) => Outcome::Exists,
            Err(errno) => refused(errno),
        }
    }
}

/// What to do about a directory that is not there.
#[derive(Clone, Copy)]
pub(in crate::git) enum Missing {
    Create,
    Refuse,
}

/// Opens a directory step by step, so that no link on the way is followed.
pub(in crate::git) fn descend(root: &OwnedFd, path: &Path, missing: Missing) -> rustix::io::Result<OwnedFd> {
    let mut here = rustix::fs::openat(root, ".", DIRECTORY, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else { return Err(Errno::INVAL) };
        if let Missing::Create = missing {
            match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        here = rustix::fs::openat(&here, name, DIRECTORY, Mode::empty())?;
    }
    Ok(here)
}

/// Copies a file to a free name in another directory.
pub(in crate::git) fn copy_file(from: &OwnedFd, to: &OwnedFd, name: &Path, mode: Mode) -> io::Result<()> {
    let mut source = File::from(rustix::fs::openat(from, name, SOURCE, Mode::empty())?);
    let mode = mode & Mode::from_raw_mode(0o777);
    let mut target = File::from(rustix::fs::openat(to, name, TARGET, mode)?);
    match io::copy(&mut source, &mut target) {
        Ok(_) => Ok(()),
        Err(error) => {
            // Half a file is worse than none.
            rustix::fs::unlinkat(to, name, AtFlags::empty())?;
            Err(error)
        }
    }
}

fn copy_link(from: &OwnedFd, to: &OwnedFd, parent: &Path, name: &Path) -> Outcome {
    let target = match rustix::fs::readlinkat(from, name, Vec::new()) {
        Ok(target) => target,
        Err(errno) => return refused(errno),
    };
    let text = String::from_utf8_lossy(target.to_bytes());
    if !stays_inside(parent, Path::new(text.as_ref())) {
        return Outcome::Refused("links out of the checkout".to_owned());
    }
    match rustix::fs::symlinkat(target.as_c_str(), to, name) {
        Ok(()) => Outcome::Placed,
        Err(errno) => refused(errno),
    }
}

/// Whether a link in `parent` stays below the root by its spelling.
fn stays_inside(parent: &Path, target: &Path) -> bool {
    let mut depth = parent.components().count();
    target.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir => depth.checked_sub(1).inspect(|up| depth = *up).is_some(),
        Component::RootDir | Component::Prefix(_) => false,
    })
}

fn refused(errno: Errno) -> Outcome {
    match errno {
        Errno::NOENT => Outcome::Refused("does not exist in the checkout".to_owned()),
        Errno::LOOP | Errno::NOTDIR => Outcome::Refused("lies behind a symbolic link".to_owned()),
        errno => Outcome::Refused(format!("cannot be brought: {errno}")),
    }
}

fn other(error: io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::NotFound => refused(Errno::NOENT),
        _ => Outcome::Refused(format!("cannot be brought: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_judged_by_its_spelling() {
        for (parent, target, expected) in [
            ("", "file", true),
            ("", "../file", false),
            ("a", "../file", true),
            ("a/b", "../../c/../d", true),
            ("a", "../../file", false),
            ("a", "b/../../../x", false),
            ("", "/etc/passwd", false),
        ] {
            assert_eq!(stays_inside(Path::new(parent), Path::new(target)), expected, "{parent} {target}");
        }
    }
}
