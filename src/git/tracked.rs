//! Which files git tracks in a worktree, by its index. Files that only older commits contain are not among them.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::index::Index;

/// The files in the index of a worktree, from its root; `None` when the index cannot be read.
pub fn tracked_files(tree: &Path) -> Option<Vec<PathBuf>> {
    let link = tree.join(".git");
    let directory = match fs::read(&link) {
        Ok(text) => tree.join(OsStr::from_bytes(text.strip_prefix(b"gitdir: ")?.trim_ascii_end())),
        Err(error) if error.kind() == ErrorKind::IsADirectory => link,
        Err(error) => return none_if_missing(&error),
    };
    let index = match fs::read(directory.join("index")) {
        Ok(bytes) => Index::parse(bytes).ok()?,
        Err(error) => return none_if_missing(&error),
    };
    Some(index.entries().map(|entry| PathBuf::from(OsStr::from_bytes(entry.path))).collect())
}

/// No files, where there is no index.
fn none_if_missing(error: &io::Error) -> Option<Vec<PathBuf>> {
    (error.kind() == ErrorKind::NotFound).then(Vec::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testkit::Sandbox;

    #[test]
    fn files_of_the_index_are_tracked() {
        let sandbox = Sandbox::new();
        let before = tracked_files(&sandbox.main()).unwrap();
        fs::write(sandbox.main().join(".env"), "KEY=1").unwrap();
        assert_eq!(tracked_files(&sandbox.main()).unwrap(), before);
        sandbox.git(&["add", "-f", ".env"]);
        assert!(tracked_files(&sandbox.main()).unwrap().contains(&PathBuf::from(".env")));
        assert_eq!(tracked_files(Path::new("/nowhere")), Some(Vec::new()));
    }
}
