//! From the words of a path to a directory that is held open and a name in it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, CWD, Mode};
use rustix::io::Errno;

use super::entry::{self, Entry};
use super::error::{RootError, failed};
use super::{DIRECTORY, NEW_DIRECTORY, Root};

/// As many as a kernel follows.
const LINKS: usize = 40;

/// A name in a directory that is held open. The name may be of nothing yet; it is `.` for the directory itself.
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
    /// Where it is in the tree; `None` for the plan.
    pub(super) inside: Option<PathBuf>,
}

/// What becomes of a link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Followed,
    Itself,
}

/// What becomes of directories on the way that are missing.
pub(super) enum Parents<'a> {
    /// They must be there.
    Present,
    /// Nothing is made; the place is only told.
    Judged,
    /// They are made, and told.
    Made(&'a mut Vec<String>),
}

impl Spot {
    /// What is there by that name; of a link, the link.
    pub(super) fn entry(&self) -> rustix::io::Result<Entry> {
        entry::of(&self.directory, Path::new(&self.name))
    }

    /// The same for something to move or remove: it is there, and it is not the tree.
    pub(super) fn own_entry(&self, path: &str) -> Result<Entry, RootError> {
        if self.inside.as_ref().is_some_and(|inside| inside.as_os_str().is_empty()) {
            return Err(RootError::Tree { path: path.to_owned() });
        }
        self.entry().map_err(|errno| failed("look at", path, errno))
    }
}

impl Root {
    /// A path by its words, relative to the tree; `None` when it is elsewhere.
    pub(super) fn words(&self, path: &str) -> Option<PathBuf> {
        self.relative(Path::new(path))
    }

    fn relative(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            return Some(path.to_owned());
        }
        let below = path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.real));
        below.ok().map(Path::to_owned)
    }

    pub(super) fn resolve(&self, path: &str, last: Last, parents: Parents<'_>) -> Result<Spot, RootError> {
        if path.contains('\0') {
            return Err(RootError::Nul { path: path.replace('\0', "\\0") });
        }
        if let Some(plan) = self.plan.as_deref().filter(|plan| *plan == Path::new(path)) {
            return plan_spot(plan, path);
        }
        let Some(relative) = self.words(path) else { return Err(RootError::Outside { path: path.to_owned() }) };
        let root = self.directory.try_clone().map_err(|source| io_failed(path, source))?;
        let walk = Walk { root: self, path, held: vec![(root, OsString::new())], left: parts(&relative), links: 0 };
        walk.run(last, parents)
    }
}

/// A walk from the tree down. Each directory on the way stays open, so `..` is the one that was passed.
struct Walk<'a> {
    root: &'a Root,
    path: &'a str,
    /// The tree, then each directory below it with its name.
    held: Vec<(OwnedFd, OsString)>,
    left: VecDeque<OsString>,
    links: usize,
}

impl Walk<'_> {
    fn run(mut self, last: Last, mut parents: Parents<'_>) -> Result<Spot, RootError> {
        while let Some(part) = self.left.pop_front() {
            if part == ".." {
                if self.held.len() == 1 {
                    return Err(self.leaves());
                }
                self.held.pop();
                continue;
            }
            let is_last = self.left.is_empty();
            if is_last && last == Last::Itself {
                return self.spot(part);
            }
            match fs::readlinkat(self.top(), &part, Vec::new()) {
                Ok(target) => self.follow(OsString::from_vec(target.into_bytes()))?,
                Err(Errno::INVAL | Errno::NOENT) if is_last => return self.spot(part),
                Err(Errno::INVAL) => self.enter(part)?,
                Err(Errno::NOENT) => match &mut parents {
                    Parents::Present => return Err(RootError::Missing { path: self.path.to_owned() }),
                    Parents::Judged => return self.judged(part),
                    Parents::Made(made) => {
                        self.make(&part)?;
                        made.push(self.place(&part).to_string_lossy().into_owned());
                        self.enter(part)?;
                    }
                },
                Err(errno) => return Err(failed("open", self.path, errno)),
            }
        }
        self.spot(OsString::from("."))
    }

    fn top(&self) -> &OwnedFd {
        // There is always the tree itself.
        &self.held[self.held.len() - 1].0
    }

    fn place(&self, name: &OsStr) -> PathBuf {
        let passed = self.held.iter().skip(1).map(|(_, name)| name.as_os_str());
        passed.chain([name].into_iter().filter(|name| *name != ".")).collect()
    }

    fn spot(mut self, name: OsString) -> Result<Spot, RootError> {
        let inside = Some(self.place(&name));
        match self.held.pop() {
            Some((directory, _)) => Ok(Spot { directory, name, inside }),
            None => Err(self.leaves()),
        }
    }

    /// Where the rest of a path will be once it is made; nothing of it can be a link.
    fn judged(self, missing: OsString) -> Result<Spot, RootError> {
        let mut inside = self.place(&missing);
        for part in &self.left {
            match part == ".." {
                true if !inside.pop() => return Err(self.leaves()),
                true => {}
                false => inside.push(part),
            }
        }
        let spot = self.spot(missing)?;
        Ok(Spot { inside: Some(inside), ..spot })
    }

    fn enter(&mut self, part: OsString) -> Result<(), RootError> {
        let directory = fs::openat(self.top(), &part, DIRECTORY, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => RootError::NotDirectory { path: self.path.to_owned() },
            errno => failed("open", self.path, errno),
        })?;
        self.held.push((directory, part));
        Ok(())
    }

    fn make(&self, part: &OsStr) -> Result<(), RootError> {
        match fs::mkdirat(self.top(), part, Mode::from_raw_mode(NEW_DIRECTORY)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(failed("make the directory of", self.path, errno)),
        }
    }

    fn follow(&mut self, target: OsString) -> Result<(), RootError> {
        self.links += 1;
        if self.links > LINKS {
            return Err(RootError::Maze { path: self.path.to_owned() });
        }
        let target = PathBuf::from(target);
        let Some(relative) = self.root.relative(&target) else { return Err(self.leaves()) };
        if target.is_absolute() {
            self.held.truncate(1);
        }
        for part in parts(&relative).into_iter().rev() {
            self.left.push_front(part);
        }
        Ok(())
    }

    fn leaves(&self) -> RootError {
        let path = self.path.to_owned();
        if self.links == 0 { RootError::Outside { path } } else { RootError::Link { path } }
    }
}

/// A path of the tree as its words have it, wherever its links lead.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in parts(path) {
        match part == ".." {
            true => drop(plain.pop()),
            false => plain.push(part),
        }
    }
    plain
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// The plan lies beside our own data: only its own name is opened there, and no link.
fn plan_spot(plan: &Path, path: &str) -> Result<Spot, RootError> {
    let (Some(parent), Some(name)) = (plan.parent(), plan.file_name()) else {
        return Err(RootError::Outside { path: path.to_owned() });
    };
    let directory = fs::openat(CWD.as_fd(), parent, DIRECTORY, Mode::empty());
    let directory = directory.map_err(|errno| failed("open the directory of", path, errno))?;
    Ok(Spot { directory, name: name.to_owned(), inside: None })
}

fn io_failed(path: &str, source: std::io::Error) -> RootError {
    RootError::Io { act: "open", path: path.to_owned(), source }
}
