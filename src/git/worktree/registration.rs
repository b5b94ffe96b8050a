//! The files that make a directory a linked worktree: its git directory below the common one, and its `.git` file.
//!
//! Git writes the same files with `git worktree add --no-checkout`; writing them here saves two processes. Only a
//! repository with per-worktree configuration is left to git.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Worktree;
use crate::git::command::Git;
use crate::git::{GitError, Oid};

/// Why a worktree is locked while it is made.
pub(crate) const INITIALIZING: &str = "coppice: initializing";
/// Why a worktree is locked that waits for the next session, once its content is verified.
pub(crate) const SPARE: &str = "coppice: spare";
/// Why a worktree is locked that is to be the spare, until its content is verified.
pub(crate) const UNVERIFIED: &str = "coppice: spare, not verified";
/// Why a worktree is locked after its session was removed.
pub(crate) const REMOVED: &str = "coppice: removed";

/// Why the temporary checkout of a merge is locked, in which hooks run.
pub(crate) const MERGING: &str = "coppice: merging";

const REASONS: [&str; 5] = [INITIALIZING, SPARE, UNVERIFIED, REMOVED, MERGING];
/// The way from a worktree's git directory to the common one.
const COMMON_DIR: &[u8] = b"../..\n";

/// Files that stay behind when git or a creation is killed.
const LEFT_BEHIND: [&str; 2] = ["index.lock", "HEAD.lock"];

/// Registers an empty, locked worktree on its branch, which exists.
pub(crate) fn register(tree: &Worktree) -> Result<(), GitError> {
    let config = tree.repo.open()?.config().map_err(GitError::library("read the configuration"))?;
    if config.get_bool("extensions.worktreeConfig").unwrap_or_default() {
        return register_by_git(tree);
    }
    fs::create_dir(&tree.path).map_err(GitError::io("create", &tree.path))?;
    register_again(tree)
}

/// Writes whatever is missing of the registration of a worktree; what lies in it and its index stay.
pub(crate) fn register_again(tree: &Worktree) -> Result<(), GitError> {
    fs::create_dir_all(&tree.path).map_err(GitError::io("create", &tree.path))?;
    fs::create_dir_all(&tree.admin).map_err(GitError::io("create", &tree.admin))?;
    // Before the lock: a git directory that is locked and names no files is taken for stale.
    point_admin_to(&tree.admin, &tree.path)?;
    lock(&tree.admin, INITIALIZING)?;
    replace(&tree.admin.join("commondir"), COMMON_DIR)?;
    point_to(tree)?;
    attach(tree)
}

/// Puts the worktree's head on its branch, with the history of the branch as its own.
pub(crate) fn attach(tree: &Worktree) -> Result<(), GitError> {
    replace(&tree.admin.join("HEAD"), format!("ref: {}\n", tree.branch_ref()).as_bytes())?;
    let log = tree.admin.join("logs/HEAD");
    if log.exists() {
        return Ok(());
    }
    // Absent where the user keeps no such history.
    match fs::read(tree.repo.common_dir().join("logs").join(tree.branch_ref())) {
        Ok(history) => {
            fs::create_dir_all(tree.admin.join("logs")).map_err(GitError::io("create", &log))?;
            replace(&log, &history)
        }
        Err(_) => Ok(()),
    }
}

/// Takes the worktree's head off its branch.
pub(crate) fn detach(tree: &Worktree, commit: Oid) -> Result<(), GitError> {
    replace(&tree.admin.join("HEAD"), format!("{commit}\n").as_bytes())
}

/// Makes git directory and files know each other, wherever either was moved to.
pub(crate) fn point_to(tree: &Worktree) -> Result<(), GitError> {
    replace(&tree.admin.join("gitdir"), &gitdir_of(&tree.path))?;
    write_git_file(tree)
}

/// Tells git where the files are, without touching them.
pub(crate) fn point_admin_to(admin: &Path, path: &Path) -> Result<(), GitError> {
    replace(&admin.join("gitdir"), &gitdir_of(path))
}

/// Whether the git directory stands for the files at `path`.
pub(crate) fn is_admin_of(admin: &Path, path: &Path) -> bool {
    fs::read(admin.join("gitdir")).is_ok_and(|content| content == gitdir_of(path))
}

/// Whether the git directory is complete and stands for this worktree.
pub(crate) fn is_own_admin(tree: &Worktree) -> bool {
    let has_common = fs::read(tree.admin.join("commondir")).is_ok_and(|content| content == COMMON_DIR);
    has_common && is_admin_of(&tree.admin, &tree.path)
}

/// Whether a git directory was locked here and its files are gone.
pub(crate) fn is_stale(admin: &Path) -> bool {
    let is_ours = lock_reason(admin).is_some_and(|reason| REASONS.contains(&reason.as_str()));
    let target = fs::read(admin.join("gitdir")).unwrap_or_default();
    let files = Path::new(OsStr::from_bytes(target.trim_ascii_end())).parent();
    is_ours && !files.is_some_and(Path::exists)
}

/// Why the worktree is locked, if it is.
pub(crate) fn lock_reason(admin: &Path) -> Option<String> {
    fs::read_to_string(admin.join("locked")).ok().map(|reason| reason.trim_end().to_owned())
}

/// Whether the `.git` file is the one that was written here; an agent can change it.
pub(crate) fn has_own_git_file(tree: &Worktree) -> bool {
    let file = tree.path.join(".git");
    let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file && fs::read(&file).is_ok_and(|content| content == git_file_of(&tree.admin))
}

/// Writes the `.git` file in place of whatever file is there. A directory there is the caller's problem.
pub(crate) fn write_git_file(tree: &Worktree) -> Result<(), GitError> {
    let file = tree.path.join(".git");
    match has_own_git_file(tree) {
        true => Ok(()),
        // Removed and made anew: an agent may have put a link to some other file there.
        false => match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::io("replace", &file)(error)),
            Ok(()) | Err(_) => create(&file, &git_file_of(&tree.admin)),
        },
    }
}

/// Keeps git from pruning, moving or removing the worktree.
pub(crate) fn lock(admin: &Path, reason: &str) -> Result<(), GitError> {
    replace(&admin.join("locked"), reason.as_bytes())
}

/// Gives the worktree to git's own commands.
pub(crate) fn unlock(admin: &Path) -> Result<(), GitError> {
    remove_file(&admin.join("locked"))
}

/// Removes what a killed git left locked. Only for a worktree in which no git runs.
pub(crate) fn remove_locks(admin: &Path) -> Result<(), GitError> {
    LEFT_BEHIND.iter().try_for_each(|name| remove_file(&admin.join(name)))
}

/// Removes the index: it says nothing that the branch and the files do not say.
pub(crate) fn remove_index(admin: &Path) -> Result<(), GitError> {
    remove_file(&admin.join("index"))
}

/// Removes the git directory of a worktree, not its files.
pub(crate) fn remove(admin: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(admin) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::io("remove", admin)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn register_by_git(tree: &Worktree) -> Result<(), GitError> {
    // Git does not undo half of it when it is killed.
    Git::new(&tree.repo.unstoppable(), "worktree")
        .args(["add", "--quiet", "--no-checkout", "--lock", "--reason", INITIALIZING])
        .arg(&tree.path)
        .arg(&tree.branch)
        .run()
        .map(drop)
}

fn gitdir_of(path: &Path) -> Vec<u8> {
    [path.join(".git").as_os_str().as_bytes(), b"\n"].concat()
}

fn git_file_of(admin: &Path) -> Vec<u8> {
    [b"gitdir: ", admin.as_os_str().as_bytes(), b"\n"].concat()
}

/// Writes a file of the git directory, whole or not at all.
fn replace(path: &Path, content: &[u8]) -> Result<(), GitError> {
    let draft = path.with_extension("coppice");
    let write = || {
        fs::write(&draft, content)?;
        fs::rename(&draft, path)
    };
    write().map_err(GitError::io("write", path))
}

fn create(path: &Path, content: &[u8]) -> Result<(), GitError> {
    let write = || -> io::Result<()> { OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content) };
    write().map_err(GitError::io("write", path))
}

fn remove_file(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
