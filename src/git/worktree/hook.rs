//! The user's post-checkout hook, run as `git worktree add` runs it and confined as a checkout is: it may run what is in the
//! worktree, and a base can be an agent's work.

#![expect(clippy::disallowed_methods, reason = "git runs a post-checkout hook the same way")]

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracing::{debug, warn};

use super::{GitError, Worktree};
use crate::git::command;

/// Runs the hook if it lies in the common git directory. One in a work tree is content that somebody may have changed,
/// so it is not run. As with git, a failing hook does not undo the worktree; one that is stopped does.
pub(super) fn post_checkout(tree: &Worktree) -> Result<(), GitError> {
    let Some(hook) = find(tree) else { return Ok(()) };
    debug!(hook = %hook.display(), "post-checkout hook started");
    let mut command = Command::new(&hook);
    // Git leaves the hook to find its repository by the directory it runs in.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| name.starts_with("GIT_")))
    {
        command.env_remove(name);
    }
    let nothing = "0".repeat(40);
    command.args([&nothing, &tree.base.to_string(), "1"]).current_dir(&tree.path);
    match command::output_confined(command, tree) {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            warn!(hook = %hook.display(), status = %output.status, said = said.trim(), "post-checkout hook failed");
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(GitError::HookStopped { hook }),
        Err(error) => warn!(hook = %hook.display(), %error, "post-checkout hook did not start"),
    }
    Ok(())
}

fn find(tree: &Worktree) -> Option<PathBuf> {
    let common = tree.repo.common_dir();
    let config = tree.repo.open().and_then(|repo| {
        repo.config().and_then(|mut config| config.snapshot()).map_err(GitError::library("read the configuration"))
    });
    let set = config.ok().and_then(|config| config.get_path("core.hooksPath").ok());
    // A relative setting counts from the work tree.
    let directory = set.map_or_else(|| common.join("hooks"), |path| tree.path.join(path));
    let hook = directory.join("post-checkout").canonicalize().ok()?;
    (hook.starts_with(common) && is_executable(&hook)).then_some(hook)
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
