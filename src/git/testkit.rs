//! Throw-away repositories for the tests of this room: own directories, own identity, none of the user's settings.

#![expect(clippy::disallowed_methods, reason = "a test prepares repositories with plain git")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::integrate::apply::Stopped;
use super::{GitError, Oid, Repo, Worktree, history};

/// A repository with one commit on `main`; deleted with the value.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    /// A repository with one commit that holds `README` ("hello").
    pub(crate) fn new() -> Self {
        let sandbox = Self::unborn();
        sandbox.write("README", "hello\n");
        sandbox.commit_all("first");
        sandbox
    }

    /// A repository without commits.
    pub(crate) fn unborn() -> Self {
        let sandbox = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(sandbox.main()).unwrap();
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        sandbox.git(&["config", "user.name", "Ada"]);
        sandbox.git(&["config", "user.email", "ada@example.com"]);
        sandbox
    }

    /// The directory that holds everything; not a repository.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// The user's checkout.
    pub(crate) fn main(&self) -> PathBuf {
        self.root().join("main")
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover(&self.main()).unwrap()
    }

    /// Runs git as the user does, in the user's checkout.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        run_git(&self.main(), args)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.main().join(path), text);
    }

    #[track_caller]
    pub(crate) fn commit_all(&self, message: &str) -> Oid {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
        self.head()
    }

    #[track_caller]
    pub(crate) fn head(&self) -> Oid {
        self.oid("HEAD")
    }

    #[track_caller]
    pub(crate) fn oid(&self, name: &str) -> Oid {
        self.git(&["rev-parse", name]).trim().parse().unwrap()
    }

    /// A session's worktree at the head, made by plain git.
    #[track_caller]
    pub(crate) fn session(&self, id: &str) -> Worktree {
        let path = self.root().join("trees").join(id);
        let branch = format!("coppice/{id}/work");
        self.git(&["worktree", "add", "--quiet", "-b", &branch, path.to_str().unwrap()]);
        let repo = self.repo();
        let admin = repo.common_dir().join("worktrees").join(id);
        Worktree { base: self.head(), attributes: self.head(), repo, path, admin, branch }
    }
}

/// Runs git as a user does: with discovery, and with none of the settings of this machine.
#[track_caller]
pub(crate) fn run_git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("GIT_")) {
            command.env_remove(name);
        }
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    command.args(["-c", "protocol.file.allow=always"]);
    let output = command.current_dir(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes a file and the directories above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a shell script that can be run.
pub(crate) fn write_script(path: &Path, body: &str) {
    write(path, format!("#!/bin/sh\n{body}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Everything in a tree: content, kind and mode.
pub(crate) fn listing(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, found) = (entry.path(), entry.path().symlink_metadata().unwrap());
            let said = if found.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if found.is_dir() {
                waiting.push(path.clone());
                "directory".to_owned()
            } else {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                format!("{:o} {text}", found.permissions().mode() & 0o777)
            };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), said);
        }
    }
    all
}

/// Puts a worktree back to a commit.
pub(in crate::git) fn reset(tree: &Worktree, to: &Oid) -> Result<(), GitError> {
    history::snapshot_and_reset(tree, to, "refs/coppice/snapshots/reset", "before a reset").map(drop)
}

/// A gate of a change in steps that lets so many steps pass, then stops.
pub(in crate::git) fn stop_at(mut left: usize, stopped: fn() -> Stopped) -> impl FnMut() -> Result<(), Stopped> {
    move || match left {
        0 => Err(stopped()),
        _ => {
            left -= 1;
            Ok(())
        }
    }
}
