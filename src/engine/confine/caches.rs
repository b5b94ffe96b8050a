//! Caches of build tools: each session has its own, because a cache decides what runs.
//!
//! Cargo compiles unpacked sources and archives in its cache without a look at their checksums, other tools keep settings
//! and programs beside what they download. So no session reads what another one wrote. To save the downloads, a session
//! begins with links to the crates that the user's own cargo has downloaded, which it can read and not change.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The parts of cargo's registry, and how many levels of directories are made before entries become links: files of the
/// index, archives, unpacked packages.
const REGISTRY: &[(&str, usize)] = &[("index", 4), ("cache", 1), ("src", 1)];

/// A manifest of cargo.
const MANIFEST: &str = "Cargo.toml";

/// Makes a directory of caches that begins with the crates of `registry`, unless it exists. One that exists is left
/// alone: an agent may have put links into it.
pub(super) fn create_caches(place: &Path, registry: Option<&Path>) -> io::Result<()> {
    if place.symlink_metadata().is_ok() {
        return Ok(());
    }
    let parent = place.parent().unwrap_or(place);
    fs::create_dir_all(parent)?;
    let new = tempfile::Builder::new().prefix("caches-").tempdir_in(parent)?;
    // Never empty, so that no other start puts its own over it.
    let own = new.path().join("cargo/registry");
    fs::create_dir_all(&own)?;
    for (part, depth) in registry.map(|_| REGISTRY).unwrap_or_default() {
        if let Some(registry) = registry {
            link_entries(&registry.join(part), &own.join(part), *depth)?;
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

/// Whether a work tree has a package of cargo's, at its root or one level below.
pub(super) fn has_cargo_package(tree: &Path) -> bool {
    let below = fs::read_dir(tree).into_iter().flatten().flatten().map(|entry| entry.path());
    std::iter::once(tree.to_owned()).chain(below).any(|directory| directory.join(MANIFEST).exists())
}

/// Makes the directories of `from` in `to`, down to a depth, and links to what is in the last ones.
fn link_entries(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir(to)?;
    for entry in entries.flatten() {
        let (source, link) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type() {
            // An index that is a git repository is fetched as a whole.
            Ok(kind) if kind.is_dir() && entry.file_name() == ".git" => {}
            Ok(kind) if kind.is_dir() && depth > 0 => link_entries(&source, &link, depth - 1)?,
            Ok(_) => symlink(&source, &link)?,
            Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_begin_with_links_and_are_never_touched_again() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, place) = (directory.path().join("registry"), directory.path().join("session/caches"));
        for file in ["index/r/.cache/a/b/ab", "index/g/.git/HEAD", "cache/r/ab-1.crate", "src/r/ab-1/src/lib.rs"] {
            fs::create_dir_all(registry.join(file).parent().unwrap()).unwrap();
            fs::write(registry.join(file), file).unwrap();
        }
        create_caches(&place, Some(&registry)).unwrap();
        let own = place.join("cargo/registry");
        for (path, is_link) in [
            ("index/r/.cache/a/b", false),
            ("index/r/.cache/a/b/ab", true),
            ("cache/r", false),
            ("cache/r/ab-1.crate", true),
            ("src/r", false),
            ("src/r/ab-1", true),
        ] {
            assert_eq!(own.join(path).symlink_metadata().unwrap().is_symlink(), is_link, "{path}");
        }
        assert!(!own.join("index/g/.git").exists());
        fs::remove_dir_all(&own).unwrap();
        create_caches(&place, Some(&registry)).unwrap();
        assert!(!own.exists());
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_package_is_found_at_the_root_and_below() {
        let tree = tempfile::tempdir().unwrap();
        assert!(!has_cargo_package(tree.path()));
        fs::create_dir(tree.path().join("app")).unwrap();
        fs::write(tree.path().join("app").join(MANIFEST), "").unwrap();
        assert!(has_cargo_package(tree.path()) && has_cargo_package(&tree.path().join("app")));
    }
}
