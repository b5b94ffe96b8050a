//! In whose name GitHub is asked: the token of a session's environment, that of `gh`, or that of a file.
//!
//! Tokens stay here. No environment of a process that an agent could see holds one.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Mutex;
use std::time::Duration;

use crate::api::environment::{FOR_DAEMON, is_listed};
use crate::api::request::Environment;
use crate::github::{Base, GitHubError, Token};
use crate::id::SessionId;
use crate::sandbox::command::{self, Limits};
use crate::sandbox::launch::Spawn;

use super::super::fault::Fault;
use super::super::record::Record;
use super::super::shared::{Shared, lock};

/// The file of a token beside the user's configuration.
const FILE: &str = "github-token";

/// How long `gh` may take and how much it may say.
const LIMITS: Limits = Limits { timeout: Duration::from_secs(10), keep: 8 * 1024 };

/// What leads `gh` to its login besides what a backend may see.
const WAYS: &[&str] = &["GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];

/// The logins that this daemon knows.
pub(in super::super) struct Logins {
    own: Option<Token>,
    /// Of the environments that clients gave; none in one says that it has no token.
    sessions: Mutex<HashMap<SessionId, Option<Token>>>,
    /// What `gh` said, by host.
    asked: Mutex<HashMap<String, Token>>,
}

impl Logins {
    /// Takes the daemon's own out of its environment.
    pub(in super::super) fn new(environment: &mut Environment) -> Self {
        Self { own: taken(environment), sessions: Mutex::default(), asked: Mutex::default() }
    }

    /// Takes a session's out of its environment.
    pub(in super::super) fn take(&self, session: SessionId, environment: &mut Environment) {
        lock(&self.sessions).insert(session, taken(environment));
    }

    pub(in super::super) fn forget(&self, session: SessionId) {
        lock(&self.sessions).remove(&session);
    }

    /// Asks `gh` again the next time: what it said is not good any more.
    pub(super) fn refused(&self, base: &Base) {
        lock(&self.asked).remove(base.login_host());
    }

    fn of_environment(&self, session: SessionId) -> Option<Token> {
        lock(&self.sessions).get(&session).cloned().unwrap_or_else(|| self.own.clone())
    }
}

/// Finds the token for a session. A child asks with what its whole family was started with.
pub(super) async fn find(shared: &Shared, record: &Record, base: &Base) -> Result<Token, Fault> {
    let root = record.body.child.as_ref().map_or(record.id, |child| child.root);
    if let Some(token) = shared.logins.of_environment(root) {
        return Ok(token);
    }
    if let Some(token) = of_gh(shared, base).await {
        return Ok(token);
    }
    let file = shared.settings.user_file.with_file_name(FILE);
    let read = tokio::task::spawn_blocking(move || Token::read(&file)).await??;
    Ok(read.ok_or(GitHubError::NoLogin)?)
}

/// The login of `gh`, if it is installed and has one. It runs outside of every cage, so it is the one that the daemon's
/// own environment leads to: that of a session may come from an agent.
async fn of_gh(shared: &Shared, base: &Base) -> Option<Token> {
    let host = base.login_host();
    if let Some(token) = lock(&shared.logins.asked).get(host) {
        return Some(token.clone());
    }
    let cwd = shared.neutral_dir();
    let path = shared.own_environment.get("PATH").map(OsString::from)?;
    let program = which::which_in("gh", Some(path), &cwd).ok().filter(|program| program.is_absolute())?;
    std::fs::create_dir_all(&cwd).ok()?;
    let ways = WAYS.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    // A token for the models of one agent, such as `GH_TOKEN`, need not be one for pull requests.
    let own = shared.own_environment.clone().into_iter().filter(|(name, _)| is_listed(name));
    let env = own.chain(ways).collect();
    let argv = vec![program.to_string_lossy().into_owned(), "auth".to_owned(), "token".to_owned()];
    let argv = argv.into_iter().chain(["--hostname".to_owned(), host.to_owned()]).collect();
    let spawn = Spawn { executable: shared.executable.clone(), argv, env, cwd, cage: None, worktree: None };
    // Without a login it fails, which is an answer too.
    let said = command::run(spawn, LIMITS, &mut |_: &str| {}).await.ok().filter(command::Finished::is_success)?;
    let token = Token::parse(&said.output)?;
    lock(&shared.logins.asked).insert(host.to_owned(), token.clone());
    Some(token)
}

/// Takes everything out that is for the daemon alone; the token, if there is one.
fn taken(environment: &mut Environment) -> Option<Token> {
    let values: Vec<_> = FOR_DAEMON.iter().filter_map(|name| environment.remove(*name)).collect();
    values.first().and_then(|value| Token::parse(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_token_leaves_the_environment_before_a_backend_is_given_it() {
        let mut own = environment(&[("PATH", "/bin"), ("GITHUB_TOKEN", "ghp_own")]);
        let logins = Logins::new(&mut own);
        assert_eq!(own, environment(&[("PATH", "/bin")]));
        let (one, two): (SessionId, SessionId) = ("abcdefgh".parse().unwrap(), "bcdefghj".parse().unwrap());
        let mut captured = environment(&[("HOME", "/h"), ("GITHUB_TOKEN", "ghp_session")]);
        logins.take(one, &mut captured);
        assert_eq!(captured, environment(&[("HOME", "/h")]));
        assert_eq!(logins.of_environment(one), Token::parse("ghp_session"));
        assert_eq!(logins.of_environment(two), Token::parse("ghp_own"));
        // An environment without one says that there is none, whatever the daemon has.
        logins.take(two, &mut environment(&[]));
        assert_eq!(logins.of_environment(two), None);
        logins.forget(two);
        assert_eq!(logins.of_environment(two), Token::parse("ghp_own"));
    }
}
