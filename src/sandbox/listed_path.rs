//! Opens listed places so that whoever may write one of them does not choose where the path of another leads: a link that
//! lies in a writable place is not followed. Links that lie elsewhere are the user's own.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, readlinkat, stat};
use rustix::io::Errno;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// As many links as the kernel follows on the way to a file.
const MOST_LINKS: usize = 40;

/// The directories that a process in a cage may write.
#[derive(Debug, Default)]
pub struct WritablePlaces(Vec<(u64, u64)>);

/// What happens where nothing is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Directories are made.
    Made,
    Told,
}

impl WritablePlaces {
    pub fn find(paths: &[PathBuf]) -> Self {
        Self(paths.iter().filter_map(|path| stat(path).ok()).map(|found| identity(&found)).collect())
    }

    /// A handle to what is at a listed path, be it a link; `None` when there is nothing, or nothing that counts.
    pub(super) fn open(&self, path: &Path) -> Option<(OwnedFd, FileType)> {
        let handle = open_without_links(path).or_else(|| self.walk(path, Missing::Told).ok())?;
        let kind = FileType::from_raw_mode(fstat(&handle).ok()?.st_mode);
        Some((handle, kind))
    }

    /// Makes a directory, and those above it, for its owner alone.
    pub fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.walk(path, Missing::Made).map(drop)
    }

    /// Makes an empty file, and the directories above it, for its owner alone.
    pub fn make_file(&self, path: &Path) -> io::Result<()> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL.into()) };
        let directory = self.walk(directory, Missing::Made)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&directory, name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(())
    }

    fn walk(&self, path: &Path, missing: Missing) -> io::Result<OwnedFd> {
        let mut at = root()?;
        let mut rest = parts(path);
        let (mut is_inside, mut links) = (false, 0);
        while let Some(part) = rest.pop_front() {
            if part == "/" {
                (at, is_inside) = (root()?, false);
                continue;
            }
            let next = match (openat(&at, &part, HANDLE, Mode::empty()), missing) {
                (Err(Errno::NOENT), Missing::Made) => {
                    mkdirat(&at, &part, Mode::RWXU)?;
                    openat(&at, &part, HANDLE, Mode::empty())?
                }
                (found, _) => found?,
            };
            let found = fstat(&next)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink if rest.is_empty() && missing == Missing::Told => return Ok(next),
                FileType::Symlink if is_inside || links == MOST_LINKS => return Err(Errno::LOOP.into()),
                FileType::Symlink => {
                    links += 1;
                    let target = OsString::from_vec(readlinkat(&next, "", Vec::new())?.into_bytes());
                    for part in parts(Path::new(&target)).into_iter().rev() {
                        rest.push_front(part);
                    }
                }
                _ => {
                    is_inside |= self.0.contains(&identity(&found));
                    at = next;
                }
            }
        }
        Ok(at)
    }
}

/// The usual case, in one call where the kernel has it.
#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> Option<OwnedFd> {
    rustix::fs::openat2(CWD, path, HANDLE, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(_path: &Path) -> Option<OwnedFd> {
    None
}

fn root() -> io::Result<OwnedFd> {
    Ok(open("/", HANDLE, Mode::empty())?)
}

fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let is_step = |part: &Component<'_>| !matches!(part, Component::CurDir | Component::Prefix(_));
    path.components().filter(is_step).map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_counts_unless_it_lies_in_a_writable_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| fs::canonicalize(dir.path()).unwrap().join(name);
        for name in ["data/mine/bin", "data/plain/bin", "secret/bin", "own/tools/bin"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        symlink(path("own"), path("link")).unwrap();
        symlink("../own/../link/tools", path("own/again")).unwrap();
        let places = WritablePlaces::find(&[path("data"), path("missing")]);
        let leads_to = |name: &str| {
            let (handle, kind) = places.open(&path(name))?;
            let found = fstat(&handle).unwrap();
            Some((kind, identity(&found)))
        };
        let itself = |name: &str| Some((FileType::Directory, identity(&stat(path(name)).unwrap())));
        assert_eq!(leads_to("data/mine/bin"), itself("data/mine/bin"));
        // The user's own links.
        assert_eq!(leads_to("link/tools/bin"), itself("own/tools/bin"));
        assert_eq!(leads_to("link/again/bin"), itself("own/tools/bin"));
        assert_eq!(leads_to("link").map(|(kind, _)| kind), Some(FileType::Symlink));
        assert_eq!(leads_to("data/none"), None);

        fs::rename(path("data/mine"), path("data/old")).unwrap();
        symlink(path("secret"), path("data/mine")).unwrap();
        assert_eq!(leads_to("data/mine/bin"), None);
        assert_eq!(leads_to("data/plain/bin"), itself("data/plain/bin"));
        assert_eq!(leads_to("link/../data/mine/bin"), None);
        assert!(places.make_directory(&path("data/mine/new/bin")).is_err());
        assert!(!path("secret/new").exists());
        places.make_directory(&path("link/new/bin")).unwrap();
        assert!(path("own/new/bin").is_dir());
        symlink("loop", path("loop")).unwrap();
        assert_eq!(leads_to("loop/bin"), None);

        assert!(places.make_file(&path("data/mine/a.json")).is_err());
        assert!(!path("secret/a.json").exists());
        places.make_file(&path("link/made/a.json")).unwrap();
        assert_eq!(fs::read_to_string(path("own/made/a.json")).unwrap(), "");
    }
}
