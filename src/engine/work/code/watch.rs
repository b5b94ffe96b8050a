//! The files of a work tree that language servers care about, and what became of them since the last look.
//!
//! Links are not followed, and what git ignores is not looked at.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::WalkState;

use crate::lsp::Happened;
use crate::lsp::servers::{self, PROGRAMS};
use crate::tools::inside::ignored;
use crate::tools::inside::root::Root;

/// How many files are looked at; changes in the others go unnoticed until a server is shown them.
const MOST: usize = 50_000;

/// How many entries are met in search of them.
const MOST_SEEN: usize = 1_000_000;

/// What tells one state of a file from another, by its path from the root of the tree.
pub(super) type Snapshot = BTreeMap<PathBuf, Stamp>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: (i64, i64),
    size: u64,
    inode: u64,
}

/// Looks at a work tree. Reads the disk.
pub(super) fn look(root: &Root) -> Result<Snapshot, String> {
    let found = Mutex::new(Snapshot::new());
    let (tree, seen) = (root.path(), AtomicUsize::new(0));
    let walk = ignored::walk(root, Path::new(""), |_| true)
        .map_err(|error| format!("the work tree cannot be read: {error}"))?;
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            if seen.fetch_add(1, Ordering::Relaxed) > MOST_SEEN {
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
            let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            found.insert(path.to_owned(), stamp);
            if found.len() < MOST { WalkState::Continue } else { WalkState::Quit }
        })
    });
    Ok(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// What became of the files between two looks.
pub(super) fn changes(before: &Snapshot, after: &Snapshot) -> Vec<(PathBuf, Happened)> {
    let gone = before.keys().filter(|path| !after.contains_key(*path)).map(|path| (path.clone(), Happened::Deleted));
    let there = after.iter().filter_map(|(path, stamp)| match before.get(path) {
        None => Some((path.clone(), Happened::Created)),
        Some(known) => (known != stamp).then(|| (path.clone(), Happened::Changed)),
    });
    gone.chain(there).collect()
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
        let names: Vec<_> = before.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["Cargo.toml", "a.rs", "b.rs"]);
        assert_eq!(changes(&before, &look()), []);
        fs::write(tree.join("a.rs"), "12").unwrap();
        fs::remove_file(tree.join("b.rs")).unwrap();
        fs::write(tree.join("c.rs"), "1").unwrap();
        let expected = [("b.rs", Happened::Deleted), ("a.rs", Happened::Changed), ("c.rs", Happened::Created)];
        assert_eq!(changes(&before, &look()), expected.map(|(path, what)| (PathBuf::from(path), what)));
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
            assert_eq!(found.keys().collect::<Vec<_>>(), [Path::new("deep/a.rs")]);
        }
    }
}
