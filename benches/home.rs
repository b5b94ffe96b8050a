//! A home of its own for a daemon, and the ways to talk to it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coppice::api::request::EventQuery;
use coppice::client::connection::Connection;
use coppice::client::events::Events;
use coppice::client::start::{Absent, Daemon};
use coppice::paths::{Paths, Surroundings};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;

use crate::Options;

/// A home of its own with a daemon that ends with it.
pub(crate) struct Home {
    directory: tempfile::TempDir,
    pub(crate) repo: PathBuf,
    environment: Vec<(&'static str, OsString)>,
}

impl Home {
    pub(crate) fn new(options: &Options, repo: PathBuf) -> Self {
        let directory = tempfile::Builder::new().prefix("home").tempdir_in(&options.root).unwrap();
        let identity = "[user]\n\tname = Bench\n\temail = bench@example.com\n";
        fs::write(directory.path().join(".gitconfig"), identity).unwrap();
        let home = directory.path().as_os_str().to_owned();
        let environment = vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", home.clone()),
            ("COPPICE_HOME", home),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ];
        Self { directory, repo, environment }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Changes one variable of everything that starts here.
    pub(crate) fn set(&mut self, name: &'static str, value: OsString) {
        self.environment.retain(|(known, _)| *known != name);
        self.environment.push((name, value));
    }

    pub(crate) fn environment(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.environment.iter().map(|(name, value)| (*name, value.as_os_str()))
    }

    /// Gives the user of this home a configuration.
    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.path().join("config.toml"), text).unwrap();
    }

    /// Connects to the daemon, which runs.
    pub(crate) async fn connect(&self) -> Connection {
        self.client().connect().await.unwrap()
    }

    /// Everything that happens in all sessions from here on.
    pub(crate) async fn follow(&self) -> Events {
        Events::open(self.client(), EventQuery::default()).await.unwrap()
    }

    fn client(&self) -> Daemon {
        let around = Surroundings {
            coppice_home: Some(self.path().into()),
            temp_dir: std::env::temp_dir(),
            user: rustix::process::getuid().as_raw(),
            ..Surroundings::default()
        };
        Daemon { paths: Paths::compute(&around).unwrap(), absent: Absent::Fail }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coppice"));
        command.args(arguments).current_dir(&self.repo).stdin(Stdio::null()).env_clear();
        command.envs(self.environment());
        command
    }

    pub(crate) fn coppice(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn daemon(&self) -> u32 {
        let status: Value = serde_json::from_str(&self.coppice(&["daemon", "status", "--json"])).unwrap();
        u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
    }

    /// Ends the daemon, if one runs, and waits until it has ended.
    pub(crate) fn stop(&self) {
        let status = self.command(&["daemon", "status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
        let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let Some(handle) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return };
        self.command(&["daemon", "stop", "--now"]).output().unwrap();
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], None).unwrap();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.stop();
    }
}
