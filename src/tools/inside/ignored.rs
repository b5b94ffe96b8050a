//! Which files of a work tree its ignore files leave out.
//!
//! The work tree is hostile: an ignore file may be a link to an endless device, or a pipe that nobody writes. Only
//! regular files of the tree are read, and of each one, and of all together, no more than a bound.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder};

use super::root::{self, Root};

/// The files that leave out others; one before another wins wherever it lies.
const NAMES: [&str; 2] = [".ignore", ".gitignore"];

/// How much of one such file is read, and of all that a walk meets.
const LONGEST: u64 = 256 << 10;
const MOST: u64 = 4 << 20;

/// What is left out of one work tree, found out as its directories are met.
pub struct Ignored {
    /// The tree by the name that a walk meets its files with.
    path: PathBuf,
    directory: OwnedFd,
    /// By the name that the walk has for a directory.
    known: RwLock<HashMap<OsString, Option<Arc<Level>>>>,
    /// How many bytes may still be read.
    left: AtomicU64,
}

/// What the ignore files of a directory say, and those above it that say something.
struct Level {
    said: [Gitignore; NAMES.len()],
    above: Option<Arc<Level>>,
}

/// A walk below a place of the tree that is no link, given by its path from the root. It follows none either, and meets
/// nothing that is ignored or that `is_wanted` refuses; hidden files are left to the caller.
pub fn walk(
    root: &Root,
    place: &Path,
    is_wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> io::Result<WalkBuilder> {
    let ignored = Ignored::of(root)?;
    let start = if place.as_os_str().is_empty() { root.path().to_owned() } else { root.path().join(place) };
    let mut walk = WalkBuilder::new(start);
    // The crate opens ignore files, and a `.git` that names others, whatever they are.
    walk.standard_filters(false).hidden(true).follow_links(false);
    walk.filter_entry(move |entry| entry.depth() == 0 || (is_wanted(entry) && !ignored.is_left_out(entry)));
    Ok(walk)
}

impl Ignored {
    fn of(root: &Root) -> io::Result<Self> {
        let directory = root.directory(Path::new(""))?;
        let path = root.path().to_owned();
        Ok(Self { path, directory, known: RwLock::default(), left: AtomicU64::new(MOST) })
    }

    /// Whether a file or directory that a walk has met is left out.
    fn is_left_out(&self, entry: &DirEntry) -> bool {
        let Some(parent) = entry.path().parent() else { return false };
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        self.level(parent).is_some_and(|level| level.leaves_out(entry.path(), is_directory))
    }

    /// What counts in a directory; none when nothing does, or it is not in the tree.
    fn level(&self, directory: &Path) -> Option<Arc<Level>> {
        // Asked for every file, so names are compared as they are spelled.
        let name = directory.as_os_str();
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return known.clone();
        }
        let inside = directory.strip_prefix(&self.path).ok()?;
        let above = inside.parent().and_then(|_| self.level(directory.parent()?));
        let said = NAMES.map(|name| self.read(inside, name).unwrap_or_else(|_| Gitignore::empty()));
        let level = match said.iter().all(Gitignore::is_empty) {
            true => above,
            false => Some(Arc::new(Level { said, above })),
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), level.clone());
        level
    }

    /// What an ignore file says; one that is no regular file, or cannot be read, says nothing.
    fn read(&self, directory: &Path, name: &str) -> io::Result<Gitignore> {
        let held = root::beneath(&self.directory, directory)?;
        let mut bytes = Vec::new();
        let most = LONGEST.min(self.left.load(Ordering::Relaxed));
        root::open_met(&held, name.as_ref())?.take(most).read_to_end(&mut bytes)?;
        self.left.fetch_sub(most.min(bytes.len() as u64), Ordering::Relaxed);
        let mut builder = GitignoreBuilder::new(self.path.join(directory));
        for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
            // A line that is no pattern leaves nothing out.
            builder.add_line(None, line).ok();
        }
        builder.build().map_err(io::Error::other)
    }
}

impl Level {
    /// The nearest file that knows the path decides.
    fn leaves_out(&self, path: &Path, is_directory: bool) -> bool {
        let levels = || std::iter::successors(Some(self), |level| level.above.as_deref());
        let decided = (0..NAMES.len()).find_map(|at| {
            levels().find_map(|level| match level.said[at].matched(path, is_directory) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            })
        });
        decided.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                let path = tree.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            tree
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn met(&self, place: &str) -> Vec<String> {
            let root = Root::open(self.0.path(), None).unwrap();
            let walk = walk(&root, Path::new(place), |_| true).unwrap().build();
            let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
            let name = |entry: DirEntry| entry.path().strip_prefix(self.0.path()).unwrap().display().to_string();
            let mut files: Vec<_> = files.map(name).collect();
            files.sort();
            files
        }
    }

    #[test]
    fn the_nearest_ignore_file_decides() {
        let tree = Tree::new(&[
            (".gitignore", "\u{feff}target/\n*.log\n/only\n"),
            ("a.log", ""),
            ("only", ""),
            ("target/x", ""),
            ("deep/only", ""),
            ("deep/.gitignore", "!b.log\nno\n{{{\n"),
            ("deep/b.log", ""),
            ("deep/c.log", ""),
            ("deep/no/x", ""),
            ("deep/target", ""),
            (".ignore", "!kept.log\nnoise\n"),
            ("deep/kept.log", ""),
            ("deep/noise/x", ""),
        ]);
        assert_eq!(tree.met(""), ["deep/b.log", "deep/kept.log", "deep/only", "deep/target"]);
        assert_eq!(tree.met("deep"), ["deep/b.log", "deep/kept.log", "deep/only", "deep/target"]);
        assert_eq!(tree.met("target"), ["target/x"], "it was named");
    }

    #[test]
    fn an_ignore_file_without_end_or_writer_holds_nobody() {
        for name in NAMES {
            let tree = Tree::new(&[("a", ""), ("b/c", ""), ("d/e", "")]);
            symlink("/dev/zero", tree.path(name)).unwrap();
            mknodat(CWD, tree.path("b").join(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
            mknodat(CWD, tree.path(".git"), FileType::Fifo, Mode::RWXU, 0).unwrap();
            fs::write(tree.path("d").join(name), "e\n").unwrap();
            assert_eq!(tree.met(""), ["a", "b/c"], "{name}");
        }
    }

    #[test]
    fn no_more_of_ignore_files_is_read_than_a_bound() {
        let long = "x".repeat(LONGEST as usize);
        let tree = Tree::new(&[(".gitignore", &format!("first\n{long}\nlast\n")), ("first", ""), ("last", "")]);
        assert_eq!(tree.met(""), ["last"]);
        let tree = Tree::new(&[]);
        let full = format!("f\n#{}", "x".repeat(LONGEST as usize - 3));
        let many = MOST / LONGEST + 1;
        for at in 0..many {
            fs::create_dir(tree.path(&at.to_string())).unwrap();
            fs::write(tree.path(&format!("{at}/.gitignore")), &full).unwrap();
            fs::write(tree.path(&format!("{at}/f")), "").unwrap();
        }
        assert_eq!(tree.met("").len(), 1, "the last one to be met is not read");
    }
}
