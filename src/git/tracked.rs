//! Which files git tracks in a worktree, by its index. Files that only older commits contain are not among them.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Repo;
use super::index::Index;

/// The git directory of a session's worktree, or of the user's checkout. The `.git` file in a worktree is an agent's, and
/// is not read.
pub fn git_directory(repo: &Repo, tree: &Path) -> PathBuf {
    match (repo.checkout() == Some(tree), tree.file_name()) {
        (false, Some(session)) => repo.common_dir().join("worktrees").join(session),
        (true, _) | (false, None) => repo.common_dir().to_owned(),
    }
}

/// The files in an index, from the root of its worktree; `None` when the index cannot be read.
pub fn tracked_files(git_directory: &Path) -> Option<Vec<PathBuf>> {
    let index = match fs::read(git_directory.join("index")) {
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
        let tracked = |tree: &Path| tracked_files(&git_directory(&sandbox.repo(), tree)).unwrap();
        let (main, session) = (sandbox.main(), sandbox.session("abcdefgh"));
        let before = tracked(&main);
        fs::write(main.join(".env"), "KEY=1").unwrap();
        assert_eq!((tracked(&main), tracked(&session.path)), (before.clone(), before.clone()));
        sandbox.git(&["add", "-f", ".env"]);
        assert!(tracked(&main).contains(&PathBuf::from(".env")));
        // Whatever an agent makes of the file that leads there.
        fs::remove_file(session.path.join(".git")).unwrap();
        assert_eq!(tracked(&session.path), before);
        assert_eq!(tracked_files(Path::new("/nowhere")), Some(Vec::new()));
    }
}
