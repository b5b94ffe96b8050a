//! What the sandbox of Codex leaves behind: directories that it mounts something over, in every place that commands may
//! write. A command that is ended early, as by a host that is not allowed, leaves them there.

use std::fs;
use std::path::PathBuf;

use crate::backend::codex::settings::Wishes;

/// What the sandbox protects below a place, and makes where it is missing.
const MOUNT_POINTS: &[&str] = &[".agents", ".aws", ".codex"];

/// The same outside of the work tree, whose own one is real.
const REPOSITORY: &str = ".git";

/// Where it may lie.
#[derive(Debug)]
pub(super) struct Litter(Vec<PathBuf>);

impl Litter {
    pub(super) fn of(wishes: &Wishes) -> Self {
        let places = wishes.profile.iter().flat_map(|profile| profile.writable());
        let below = |place: &PathBuf| {
            let repository = (!wishes.is_tree(place)).then_some(REPOSITORY);
            let names = MOUNT_POINTS.iter().copied().chain(repository);
            names.map(|name| place.join(name)).collect::<Vec<_>>()
        };
        Self(places.flat_map(below).collect())
    }

    /// Takes away what is empty; nothing else is the sandbox's.
    pub(super) fn clear(&self) {
        for path in &self.0 {
            // Most often nothing is there, and what has content is somebody's.
            fs::remove_dir(path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_mount_points_go_and_everything_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for path in [".agents", ".aws", ".codex/own", "other"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at(".git"), "gitdir: elsewhere").unwrap();
        Litter([".agents", ".aws", ".codex", ".git", "missing"].map(at).to_vec()).clear();
        let left = [".agents", ".aws", ".codex", ".git", "other"].map(|name| at(name).exists());
        assert_eq!(left, [false, false, true, true, true]);
    }
}
