//! Walks through the work tree, with the files left out that git ignores.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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

/// Where something that was met is in the tree. A walk spells the tree as it was told to, so its letters are enough.
pub(super) fn place<'m>(root: &Root, met: &'m Path) -> Option<&'m Path> {
    let rest = met.as_os_str().as_bytes().strip_prefix(root.path().as_os_str().as_bytes())?;
    Some(Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))))
}
