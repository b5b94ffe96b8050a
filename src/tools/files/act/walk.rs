//! Walks through the work tree, with the files left out that git ignores.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use crate::tools::inside::ignored;
use crate::tools::inside::root::Root;

/// A walk below a place of the tree that is no link, without what `is_wanted` refuses.
pub(super) fn below(
    root: &Root,
    place: &Path,
    is_wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> Result<WalkBuilder, String> {
    ignored::walk(root, place, is_wanted).map_err(|error| format!("the work tree cannot be read: {error}"))
}

/// Where something that was met is in the tree.
pub(super) fn place(root: &Root, met: &Path) -> Option<PathBuf> {
    met.strip_prefix(root.path()).ok().map(Path::to_owned)
}
