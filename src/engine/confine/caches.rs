//! Caches of build tools: each session has its own, because a cache decides what runs.
//!
//! Cargo compiles the archives and unpacked sources in its cache without comparing their checksums, and other tools keep
//! settings and programs beside what they download. So no session reads what another one wrote. To save the downloads, a
//! session begins with the locked crates that the user's own cargo has downloaded, as links that it cannot write through.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// How an entry of the user's registry comes into a session's.
type Bring = fn(&Path, &Path) -> io::Result<()>;

/// The parts of cargo's registry, how many levels of directories lead to the entries, and how these are brought. Files of
/// the index are small, and cargo writes them again when it looks for newer versions.
const REGISTRY: [(&str, usize, Bring); 3] = [
    ("index", 4, |from, to| fs::copy(from, to).map(drop)),
    ("cache", 1, |from, to| symlink(from, to)),
    ("src", 1, |from, to| symlink(from, to)),
];

/// Crates in the registry of the user's own cargo.
#[derive(Debug)]
pub(super) struct LockedCrates {
    registry: PathBuf,
    /// What their files are called in it.
    names: HashSet<String>,
}

impl LockedCrates {
    /// The crates that a `Cargo.lock` names.
    pub(super) fn new(registry: PathBuf, lock_file: &str) -> Self {
        let mut names = HashSet::from(["config.json".to_owned()]);
        let mut name = "";
        for line in lock_file.lines() {
            let value = |key: &str| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"');
            if let Some(found) = value("name") {
                name = found;
                names.insert(name.to_lowercase());
            } else if let Some(version) = value("version") {
                names.extend([format!("{name}-{version}"), format!("{name}-{version}.crate")]);
            }
        }
        Self { registry, names }
    }

    fn is_wanted(&self, name: &OsStr) -> bool {
        name.to_str().is_some_and(|name| self.names.contains(name))
    }

    /// Brings the wanted entries of a directory, and of those below it down to a depth.
    fn bring(&self, from: &Path, to: &Path, depth: usize, bring: Bring) -> io::Result<()> {
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            match depth {
                1.. if entry.file_type()?.is_dir() => self.bring(&source, &target, depth - 1, bring)?,
                _ if self.is_wanted(&entry.file_name()) => {
                    fs::create_dir_all(to)?;
                    bring(&source, &target)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Makes a directory of caches that begins with crates, unless it exists. One that exists is left alone: an agent may have
/// put links into it.
pub(super) fn create_caches(place: &Path, crates: Option<&LockedCrates>) -> io::Result<()> {
    if place.symlink_metadata().is_ok() {
        return Ok(());
    }
    let parent = place.parent().unwrap_or(place);
    fs::create_dir_all(parent)?;
    let new = tempfile::Builder::new().prefix("caches-").tempdir_in(parent)?;
    // Never empty, so that another start cannot put its own over it.
    let own = new.path().join("cargo/registry");
    fs::create_dir_all(&own)?;
    if let Some(crates) = crates {
        for (part, depth, bring) in REGISTRY {
            crates.bring(&crates.registry.join(part), &own.join(part), depth, bring)?;
        }
    }
    match fs::rename(new.path(), place) {
        Ok(()) => {
            let _moved = new.keep();
            Ok(())
        }
        // Another start was faster.
        Err(_) if place.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK_FILE: &str = "version = 4\n\n[[package]]\nname = \"Ab\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n";

    #[test]
    fn caches_begin_with_locked_crates_and_are_never_touched_again() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, place) = (directory.path().join("registry"), directory.path().join("session/caches"));
        for file in [
            "index/r/config.json",
            "index/r/.cache/2/ab",
            "index/r/.cache/ot/he/other",
            "cache/r/Ab-1.0.0.crate",
            "cache/r/Ab-1.0.1.crate",
            "src/r/Ab-1.0.0/src/lib.rs",
            "src/r/other-1.0.0/src/lib.rs",
        ] {
            fs::create_dir_all(registry.join(file).parent().unwrap()).unwrap();
            fs::write(registry.join(file), file).unwrap();
        }
        let crates = LockedCrates::new(registry, LOCK_FILE);
        create_caches(&place, Some(&crates)).unwrap();
        let own = place.join("cargo/registry");
        for (path, is_link) in [
            ("index/r/config.json", Some(false)),
            ("index/r/.cache/2/ab", Some(false)),
            ("index/r/.cache/ot", None),
            ("cache/r/Ab-1.0.0.crate", Some(true)),
            ("cache/r/Ab-1.0.1.crate", None),
            ("src/r", Some(false)),
            ("src/r/Ab-1.0.0", Some(true)),
            ("src/r/other-1.0.0", None),
        ] {
            let found = own.join(path).symlink_metadata().ok().map(|found| found.is_symlink());
            assert_eq!(found, is_link, "{path}");
        }
        fs::remove_dir_all(&own).unwrap();
        create_caches(&place, Some(&crates)).unwrap();
        assert!(!own.exists());
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }
}
