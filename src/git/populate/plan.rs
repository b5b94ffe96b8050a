//! What of a tree can be copied from the main checkout, and what git has to write. Pure: two indexes in, lists out.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::git::index::{EMPTY_BLOB, Entry, Index, mode};

/// How a worktree gets its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Directories to make, parents first; the root, which exists, is not among them.
    pub(crate) directories: Vec<Vec<u8>>,
    /// What to copy, one item per directory, so that each directory is opened once.
    pub(crate) batches: Vec<Batch>,
    /// Entries that git writes.
    pub(crate) rest: Vec<usize>,
    /// How many of them only lack stat data that can be trusted.
    pub(crate) untrusted: usize,
}

/// The copies of one directory; an empty path is the root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) directory: Vec<u8>,
    pub(crate) copies: Vec<Pair>,
}

/// An entry of the worktree's index and its twin in the main checkout's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) ours: usize,
    pub(crate) main: usize,
}

impl Plan {
    /// How many files are copied.
    pub(crate) fn copies(&self) -> usize {
        self.batches.iter().map(|batch| batch.copies.len()).sum()
    }
}

/// Joins both indexes by path. `main_written` is the second in which the main index was written: a file that changed
/// in it or later may differ from its entry although the stat data agree. `for_git` are entries whose bytes an
/// attribute changes on the way to disk.
pub(crate) fn plan(ours: &Index, main: &Index, main_written: i64, for_git: &HashSet<usize>) -> Plan {
    let mut plan = Plan::default();
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut directories: BTreeSet<&[u8]> = BTreeSet::new();
    let mut twin = 0;
    for number in 0..ours.len() {
        let entry = ours.entry(number);
        while twin < main.len() && main.path(twin) < entry.path {
            twin += 1;
        }
        let is_twin = twin < main.len() && main.path(twin) == entry.path && !for_git.contains(&number);
        match is_twin.then(|| judge(&entry, &main.entry(twin), main_written)) {
            Some(Twin::Good) => {}
            Some(Twin::Untrusted) => {
                plan.untrusted += 1;
                plan.rest.push(number);
                continue;
            }
            Some(Twin::Other) | None => {
                plan.rest.push(number);
                continue;
            }
        }
        let (directory, _) = split(entry.path);
        let place = *places.entry(directory).or_insert_with(|| {
            directories.extend(ancestors(directory));
            plan.batches.push(Batch { directory: directory.to_vec(), copies: Vec::new() });
            plan.batches.len() - 1
        });
        plan.batches[place].copies.push(Pair { ours: number, main: twin });
    }
    plan.directories = directories.into_iter().map(<[u8]>::to_vec).collect();
    plan
}

/// Directory and name of a path; the directory of a name alone is empty.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// What the main index says about an entry of the same path.
enum Twin {
    /// Same content, by stat data that are worth a comparison with the file.
    Good,
    /// Same content, but the file may have changed without a trace in the stat data.
    Untrusted,
    Other,
}

fn judge(ours: &Entry<'_>, main: &Entry<'_>, main_written: i64) -> Twin {
    if main.stage != 0 || main.is_flagged || main.mode != ours.mode || main.oid != ours.oid {
        return Twin::Other;
    }
    match ours.mode & mode::TYPE {
        mode::REGULAR => {
            // Git marks an entry it does not trust with the size 0.
            let is_trusted = main.stat.size != 0 || main.oid == EMPTY_BLOB;
            if is_trusted && i64::from(main.stat.mtime.0) < main_written { Twin::Good } else { Twin::Untrusted }
        }
        // The target of a link is hashed when it is copied, so its stat data do not matter.
        mode::SYMLINK => Twin::Good,
        _ => Twin::Other,
    }
}

/// The directory and all above it, without the root.
fn ancestors(directory: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = directory.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &directory[..at]);
    slashes.chain(Some(directory).filter(|whole| !whole.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::index::{Stat, blob_id};

    /// An index as bytes, entry by entry: path, content that gives the id, mode, second of the change, flags.
    fn index(entries: &[(&str, &str, u32, u32, u16)]) -> Index {
        let mut bytes = [b"DIRC\0\0\0\x02".as_slice(), &(entries.len() as u32).to_be_bytes()].concat();
        for (path, content, mode, changed, flags) in entries {
            let start = bytes.len();
            for word in [9, 9, *changed, 9, 9, 9, *mode, 9, 9, content.len() as u32] {
                bytes.extend(word.to_be_bytes());
            }
            bytes.extend(blob_id(content.as_bytes()));
            bytes.extend(flags.to_be_bytes());
            bytes.extend(path.as_bytes());
            bytes.extend(vec![0; 8 - (bytes.len() - start) % 8]);
        }
        bytes.extend([0; 20]);
        Index::parse(bytes).unwrap()
    }

    const FILE: u32 = 0o100_644;
    const EXECUTABLE: u32 = 0o100_755;

    /// Plans one entry against its twin: is it copied?
    #[track_caller]
    fn check(ours: (&str, &str, u32, u32, u16), main: (&str, &str, u32, u32, u16), copied: usize) {
        let plan = plan(&index(&[ours]), &index(&[main]), 100, &HashSet::new());
        assert_eq!((plan.copies(), plan.rest.len()), (copied, 1 - copied), "{ours:?} from {main:?}");
    }

    #[test]
    fn only_a_trusted_twin_is_copied() {
        let ours = ("a", "text", FILE, 0, 0);
        check(ours, ("a", "text", FILE, 99, 0), 1);
        check(ours, ("a", "text", FILE, 100, 0), 0);
        check(ours, ("a", "other", FILE, 99, 0), 0);
        check(ours, ("a", "text", EXECUTABLE, 99, 0), 0);
        check(ours, ("b", "text", FILE, 99, 0), 0);
        check(ours, ("a", "text", FILE, 99, 0x8000), 0);
        check(ours, ("a", "text", FILE, 99, 0x1000), 0);
        check(("a", "", FILE, 0, 0), ("a", "", FILE, 99, 0), 1);
        check(("a", "to", 0o120_000, 0, 0), ("a", "to", 0o120_000, 200, 0), 1);
        check(("a", "sub", 0o160_000, 0, 0), ("a", "sub", 0o160_000, 9, 0), 0);
    }

    #[test]
    fn an_entry_marked_with_size_zero_is_not_trusted() {
        let mut main = index(&[("a", "text", FILE, 9, 0)]);
        main.patch(0, &Stat { size: 0, ..main.entry(0).stat });
        let plan = plan(&index(&[("a", "text", FILE, 0, 0)]), &main, 100, &HashSet::new());
        assert_eq!((plan.rest, plan.untrusted), (vec![0], 1));
    }

    #[test]
    fn copies_are_grouped_by_directory_and_directories_come_parents_first() {
        let paths = ["a", "d/a", "d/e/f/x", "d/z", "d0/y", "only/git"];
        let entries: Vec<_> = paths.iter().map(|path| (*path, "same", FILE, 1, 0)).collect();
        let plan = plan(&index(&entries), &index(&entries), 100, &HashSet::from([5]));
        let groups: Vec<_> =
            plan.batches.iter().map(|batch| (String::from_utf8_lossy(&batch.directory), batch.copies.len())).collect();
        assert_eq!(groups, [("".into(), 1), ("d".into(), 2), ("d/e/f".into(), 1), ("d0".into(), 1)]);
        assert_eq!(plan.directories, [&b"d"[..], b"d/e", b"d/e/f", b"d0"]);
        assert_eq!(plan.rest, [5]);
    }
}
