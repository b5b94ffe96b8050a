//! Walks through the work tree, with the files left out that git ignores.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::tools::inside::root::Root;

/// A walk below a place of the tree that is no link. It follows none either.
pub(super) fn below(root: &Root, place: &Path) -> WalkBuilder {
    let start = if place.as_os_str().is_empty() { root.path().to_owned() } else { root.path().join(place) };
    let mut walk = WalkBuilder::new(start);
    walk.follow_links(false);
    walk
}

/// Where something that was met is in the tree.
pub(super) fn place(root: &Root, met: &Path) -> Option<PathBuf> {
    met.strip_prefix(root.path()).ok().map(Path::to_owned)
}
