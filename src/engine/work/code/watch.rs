//! The files of a work tree that language servers care about, and what became of them since the last look.
//!
//! Links are not followed, and what git ignores is not looked at.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ignore::WalkState;

use crate::lsp::Happened;
use crate::lsp::servers::{self, PROGRAMS};
use crate::tools::inside::ignored;
use crate::tools::inside::root::Root;

/// How many files are looked at; changes in the others go unnoticed until a server is shown them.
const MOST: usize = 50_000;

/// How many entries are met in search of them.
const MOST_SEEN: usize = 1_000_000;

/// The files of a tree at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// What tells one state of a file from another, by its path from the root of the tree.
    pub(super) files: BTreeMap<PathBuf, Stamp>,
    part: Part,
}

/// How much of a tree was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    All,
    /// Which files these are is chance: that one is missing says nothing.
    Some,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: (i64, i64),
    size: u64,
    inode: u64,
}

/// Looks at a work tree. Reads the disk.
pub(super) fn look(root: &Root) -> Result<Seen, String> {
    look_at(root, MOST)
}

fn look_at(root: &Root, most: usize) -> Result<Seen, String> {
    let found = Mutex::new(Seen::default());
    let (tree, seen) = (root.path(), AtomicUsize::new(0));
    let walk = ignored::walk(root, Path::new(""), |_| true)
        .map_err(|error| format!("the work tree cannot be read: {error}"))?;
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            if seen.fetch_add(1, Ordering::Relaxed) > MOST_SEEN {
                found.lock().unwrap_or_else(PoisonError::into_inner).part = Part::Some;
                return WalkState::Quit;
            }
            let Ok(entry) = entry else { return WalkState::Continue };
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let Some(path) = entry.path().strip_prefix(tree).ok().filter(|path| is_file && is_of_interest(path)) else {
                return WalkState::Continue;
            };
            let Ok(metadata) = entry.path().symlink_metadata() else { return WalkState::Continue };
            let stamp = Stamp {
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                size: metadata.size(),
                inode: metadata.ino(),
            };
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            if found.files.len() == most {
                found.part = Part::Some;
                return WalkState::Quit;
            }
            found.files.insert(path.to_owned(), stamp);
            WalkState::Continue
        })
    });
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What became of the files between two looks. Of a tree that was not looked at as a whole only changes are told: a file
/// that one look met and the other did not may be there all the time.
pub(super) fn changes(before: &Seen, after: &Seen) -> BTreeMap<PathBuf, Happened> {
    let are_whole = before.are_whole(after);
    let gone = before.files.keys().filter(|path| are_whole && !after.files.contains_key(*path));
    let gone = gone.map(|path| (path.clone(), Happened::Deleted));
    let there = after.files.iter().filter_map(|(path, stamp)| match before.files.get(path) {
        None => are_whole.then(|| (path.clone(), Happened::Created)),
        Some(known) => (known != stamp).then(|| (path.clone(), Happened::Changed)),
    });
    gone.chain(there).collect()
}

impl Seen {
    /// Whether a file is another one in a later look, as far as both can tell.
    pub(super) fn differs(&self, later: &Self, path: &Path) -> bool {
        match (self.files.get(path), later.files.get(path)) {
            (Some(known), Some(found)) => known != found,
            (Some(_), None) | (None, Some(_)) => self.are_whole(later),
            (None, None) => false,
        }
    }

    fn are_whole(&self, other: &Self) -> bool {
        (self.part, other.part) == (Part::All, Part::All)
    }
}

fn is_of_interest(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    servers::for_file(path).is_some() || PROGRAMS.iter().any(|program| program.markers.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_became_of_files_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path();
        fs::write(tree.join(".gitignore"), "ignored/\n").unwrap();
        for path in ["a.rs", "b.rs", "notes.md", "Cargo.toml", "ignored/c.rs", ".git/d.rs"] {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "1").unwrap();
        }
        std::os::unix::fs::symlink("/etc", tree.join("out")).unwrap();
        let root = Root::open(tree, None).unwrap();
        let look = || look(&root).unwrap();
        let before = look();
        let names: Vec<_> = before.files.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["Cargo.toml", "a.rs", "b.rs"]);
        assert_eq!(changes(&before, &look()), BTreeMap::new());
        fs::write(tree.join("a.rs"), "12").unwrap();
        fs::remove_file(tree.join("b.rs")).unwrap();
        fs::write(tree.join("c.rs"), "1").unwrap();
        let expected = [("b.rs", Happened::Deleted), ("a.rs", Happened::Changed), ("c.rs", Happened::Created)];
        let after = look();
        assert_eq!(changes(&before, &after), expected.map(|(path, what)| (PathBuf::from(path), what)).into());
        let differs = ["a.rs", "b.rs", "c.rs", "Cargo.toml"].map(|path| before.differs(&after, Path::new(path)));
        assert_eq!(differs, [true, true, true, false]);
    }

    #[test]
    fn an_ignore_file_of_a_repository_holds_nobody() {
        for name in [".ignore", ".gitignore"] {
            let directory = tempfile::tempdir().unwrap();
            let tree = directory.path();
            fs::create_dir(tree.join("deep")).unwrap();
            fs::write(tree.join("deep/a.rs"), "").unwrap();
            std::os::unix::fs::symlink("/dev/zero", tree.join(name)).unwrap();
            let pipe = tree.join("deep").join(name);
            rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
            let found = look(&Root::open(tree, None).unwrap()).unwrap();
            assert_eq!(found.files.keys().collect::<Vec<_>>(), [Path::new("deep/a.rs")]);
        }
    }

    #[test]
    fn what_a_look_did_not_meet_is_neither_made_nor_gone() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path();
        for number in 0..40 {
            fs::write(tree.join(format!("{number}.rs")), "1").unwrap();
        }
        let root = Root::open(tree, None).unwrap();
        let look_at = |most| look_at(&root, most).unwrap();
        let whole = look_at(MOST);
        let parts = [look_at(20), look_at(20)];
        assert_eq!(parts.each_ref().map(|part| part.files.len()), [20, 20]);
        for (before, after) in [(&whole, &parts[0]), (&parts[0], &parts[1]), (&parts[1], &whole)] {
            assert_eq!(changes(before, after), BTreeMap::new());
        }
        assert_eq!(look_at(40), whole, "a tree that just fits is looked at as a whole");
        for number in 0..40 {
            fs::write(tree.join(format!("{number}.rs")), "12").unwrap();
        }
        let changed = changes(&whole, &look_at(20));
        assert_eq!(changed.len(), 20);
        assert!(changed.values().all(|happened| *happened == Happened::Changed));
    }
}
