//! What every command has at hand: the output, the paths, the clock and the way to the daemon.

use std::env;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;

use super::line::Line;
use super::output::Output;
use super::report::Failure;
use crate::api::project::{BackendQuery, ConfigQuery};
use crate::api::request::{Environment, EventQuery};
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::client::environment::capture_environment;
use crate::client::events::Events;
use crate::client::start::Daemon;
use crate::paths::Paths;

/// A daemon that is there answers at once, and one that is started takes a moment.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Context {
    pub(super) output: Output,
}

impl Context {
    pub(super) fn new() -> Context {
        Context { output: Output::of_process() }
    }

    pub(super) fn paths(&self) -> Result<Paths, Failure> {
        Ok(Paths::of_this_process().map_err(ClientError::from)?)
    }

    /// A connection to the daemon, which is started if none runs.
    pub(super) async fn client(&self) -> Result<Connection, Failure> {
        Ok(self.connect(&Daemon::of_this_process()?, PATIENCE).await?)
    }

    /// Connects, and tells after a moment whom it waits for.
    pub(super) async fn connect(&self, daemon: &Daemon, patience: Duration) -> Result<Connection, ClientError> {
        let mut connecting = std::pin::pin!(daemon.connect());
        match timeout(patience, connecting.as_mut()).await {
            Ok(connection) => connection,
            Err(_) => {
                let who = daemon.pid().map(|pid| format!(" (pid {pid})")).unwrap_or_default();
                let text = format!("waiting for the daemon{who}, which does not answer yet");
                // Nothing was said before: the output of the command begins with its connection. Whoever cannot read
                // this waits all the same.
                Output::of_process().say(&Line::new().dim(text)).ok();
                connecting.await
            }
        }
    }

    /// A stream of events; it takes a connection of its own.
    pub(super) async fn stream(&self, query: EventQuery) -> Result<Events, Failure> {
        Ok(Events::open(Daemon::of_this_process()?, query).await?)
    }

    /// Where the person stands.
    pub(super) fn cwd(&self) -> Result<String, Failure> {
        let directory = env::current_dir().map_err(|error| {
            Failure::because("failed to read the current directory", &error).hint("change to a directory that exists")
        })?;
        let rename = "rename the directory: git and coppice need paths of UTF-8 text on one line";
        let directory = directory.into_os_string().into_string().map_err(|directory| {
            Failure::usage(format!("the current directory `{}` is not UTF-8", directory.display())).hint(rename)
        })?;
        match directory.contains(['\n', '\r']) {
            true => {
                let shown = directory.escape_debug();
                Err(Failure::usage(format!("the current directory `{shown}` has a line break in its name"))
                    .hint(rename))
            }
            false => Ok(directory),
        }
    }

    /// The directory whose settings count: those of its repository, or the person's own outside of one.
    pub(super) fn place(&self) -> Result<ConfigQuery, Failure> {
        Ok(ConfigQuery { cwd: Some(self.cwd()?) })
    }

    /// The backends as they are seen from here: the settings of this directory, the programs of this `PATH`.
    pub(super) fn backends(&self) -> Result<BackendQuery, Failure> {
        let path = env::var_os("PATH").and_then(|path| path.into_string().ok());
        Ok(BackendQuery { cwd: Some(self.cwd()?), path, ..BackendQuery::default() })
    }

    /// What a backend may see of this process's environment.
    pub(super) async fn environment(&self) -> Result<Environment, Failure> {
        let settings = self.client().await?.config(&self.place()?).await?;
        Ok(capture_environment(&settings.items))
    }

    /// The time in milliseconds, for ages only: what is stored gets its time from the daemon.
    #[expect(clippy::disallowed_methods, reason = "an age is seen from where the person stands")]
    pub(super) fn now(&self) -> i64 {
        Timestamp::now().as_millisecond()
    }
}
