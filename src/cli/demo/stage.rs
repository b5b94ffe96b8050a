//! Where the demo happens: a repository and a home of its own, in a directory that goes away afterwards.
//!
//! The demo plays the person here: what it does with git is what somebody types by hand, so it runs `git` itself.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cast::FILES;
use crate::api::daemon::{StopDaemon, StopHow};
use crate::cli::exit::Exit;
use crate::cli::report::Failure;
use crate::client::start::{Absent, Daemon};
use crate::id::SessionId;
use crate::paths::{Paths, Surroundings};

/// The branch that everything is merged into.
pub(super) const BRANCH: &str = "main";

/// How long the daemon may take to end before its files are left behind.
const END_LIMIT: Duration = Duration::from_secs(10);

/// The directory of one demo.
#[derive(Debug)]
pub(super) struct Stage {
    dir: PathBuf,
    pub(super) repository: PathBuf,
    pub(super) daemon: Daemon,
}

impl Stage {
    /// Makes the repository with its first commit.
    pub(super) fn build() -> Result<Stage, Failure> {
        let own = Daemon::of_this_process()?;
        let dir = own.paths.data.join("demo").join(random_name()?);
        let around = Surroundings { coppice_home: Some(dir.join("home").into_os_string()), ..Surroundings::read() };
        let paths = Paths::compute(&around).map_err(crate::client::ClientError::from)?;
        let stage = Stage { repository: dir.join("repository"), daemon: Daemon { paths, absent: own.absent }, dir };
        match stage.fill() {
            Ok(()) => Ok(stage),
            Err(failure) => {
                // Half a stage is of no use to anybody.
                fs::remove_dir_all(&stage.dir).ok();
                Err(failure)
            }
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn fill(&self) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            Failure::because(format!("failed to prepare the demo in `{}`", self.dir.display()), &error)
                .hint("set COPPICE_HOME to a directory that you can write")
        };
        fs::create_dir_all(&self.repository).map_err(failed)?;
        // The person's templates, signing and hooks have no business in a throw-away repository.
        self.git(["init", "--quiet", "--template=", "--initial-branch", BRANCH])?;
        for (key, value) in [
            ("user.name", "Coppice Demo"),
            ("user.email", "demo@coppice.invalid"),
            ("commit.gpgsign", "false"),
            ("core.hooksPath", "/dev/null"),
            ("core.autocrlf", "false"),
        ] {
            self.git(["config", key, value])?;
        }
        for (name, text) in FILES {
            fs::write(self.repository.join(name), text).map_err(failed)?;
        }
        self.git(["add", "."])?;
        self.git(["commit", "--quiet", "--message", "Begin the greeter"])?;
        Ok(())
    }

    /// The commits of the base branch, latest first.
    pub(super) fn log(&self) -> Result<String, Failure> {
        self.git(["log", "--oneline", "--no-decorate", BRANCH])
    }

    /// The files at the tip of the base branch.
    pub(super) fn files(&self) -> Result<Vec<String>, Failure> {
        Ok(self.git(["ls-tree", "-r", "--name-only", BRANCH])?.lines().map(str::to_owned).collect())
    }

    #[expect(clippy::disallowed_methods, reason = "the demo plays the person who types these commands")]
    fn git<const N: usize>(&self, arguments: [&str; N]) -> Result<String, Failure> {
        let verb = arguments.first().copied().unwrap_or_default();
        let mut git = Command::new("git");
        git.current_dir(&self.repository).args(arguments).stdin(Stdio::null());
        // Variables that point to another repository must not lead us there.
        let foreign = std::env::vars_os().map(|(name, _)| name).filter(|name| is_git_variable(name));
        foreign.for_each(|name| {
            git.env_remove(name);
        });
        let output = git.output().map_err(|error| {
            Failure::because(format!("failed to start `git {verb}`"), &error).hint("install git 2.41 or later")
        })?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let words = String::from_utf8_lossy(&output.stderr);
                Err(Failure::new(Exit::Failed, format!("`git {verb}` failed with {}: {}", output.status, words.trim())))
            }
        }
    }

    /// Ends the daemon and waits until it has put everything away.
    pub(super) async fn end_daemon(&self) -> Result<(), Failure> {
        let daemon = Daemon { absent: Absent::Fail, ..self.daemon.clone() };
        // No daemon that answers is one that need not be stopped.
        let Ok(client) = daemon.connect().await else { return Ok(()) };
        client.stop_daemon(&StopDaemon { how: StopHow::Now }).await?;
        let lock = self.daemon.paths.lock();
        let ended = tokio::task::spawn_blocking(move || File::open(lock).and_then(|file| file.lock()));
        match tokio::time::timeout(END_LIMIT, ended).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(_) | Err(_) => Err(Failure::new(Exit::Failed, "the demo's daemon did not end")
                .hint(format!("look into `{}`", self.daemon.paths.log().display()))),
        }
    }

    pub(super) fn remove(self) -> Result<(), Failure> {
        fs::remove_dir_all(&self.dir)
            .map_err(|error| Failure::because(format!("failed to remove `{}`", self.dir.display()), &error))
    }
}

fn is_git_variable(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_")
}

fn random_name() -> Result<String, Failure> {
    let mut bits = [0; 5];
    getrandom::fill(&mut bits).map_err(|error| Failure::because("failed to draw a random name", &error))?;
    Ok(SessionId::from_random(bits).to_string())
}
