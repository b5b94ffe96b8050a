//! Where programs lie that are found through `PATH`.
//!
//! A relative entry of `PATH` counts from the directory that a program starts in. In a worktree an agent writes what lies
//! there, so nothing that runs outside of the sandbox is given such an entry.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The search path where there is none. An empty one would stand for the current directory.
const USUAL_SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// What is started, and fails, where no git is on the search path. A name alone would be looked for in relative entries.
const NO_GIT: &str = "/nonexistent/git";

/// The entries of a list of directories that do not depend on the current one.
pub fn absolute_entries(list: &OsStr) -> OsString {
    env::join_paths(env::split_paths(list).filter(|entry| entry.is_absolute())).unwrap_or_default()
}

/// The same of a search path, which must not be empty.
pub fn keep_absolute_entries(path: &OsStr) -> OsString {
    let kept = absolute_entries(path);
    if kept.is_empty() { USUAL_SEARCH_PATH.into() } else { kept }
}

/// The absolute entries of this process's own search path.
pub(super) fn search_path() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| keep_absolute_entries(&env::var_os("PATH").unwrap_or_default()))
}

/// The git of the search path.
pub(super) fn git() -> &'static Path {
    static GIT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(git) = GIT.get() {
        return git;
    }
    match which::which_in("git", Some(search_path()), "/") {
        Ok(found) => GIT.get_or_init(|| found),
        // It may be installed while the daemon lives.
        Err(_) => Path::new(NO_GIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_depend_on_the_current_directory_are_dropped() {
        for (path, kept) in [
            ("/usr/bin:/bin", "/usr/bin:/bin"),
            ("./node_modules/.bin:/usr/bin", "/usr/bin"),
            ("bin:/usr/bin:..:/bin:.", "/usr/bin:/bin"),
            (":/usr/bin::/bin:", "/usr/bin:/bin"),
            ("~/bin:/bin", "/bin"),
            ("./bin", USUAL_SEARCH_PATH),
            ("", USUAL_SEARCH_PATH),
        ] {
            assert_eq!(keep_absolute_entries(OsStr::new(path)), kept, "{path}");
        }
        assert!(git().is_absolute());
    }
}
