//! The state of an agent in a directory of its session: what it needs of the user's is copied or linked there, and settings of
//! ours are written.
//!
//! The agent writes that directory, and its own files are never written through: see [`AgentDir`].

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::backend::Launch;
use crate::backend::agent_dir::{AgentDir, PRIVATE};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{Spec, StateDirectory};
use crate::backend::user_file;

/// No login or settings file is nearly as long.
const COPY_LIMIT: u64 = 4 * 1024 * 1024;

/// Makes the agent's directories in the session's state, and returns what has to be readable behind the links in them.
pub(crate) fn prepare(launch: &Launch) -> Result<Vec<PathBuf>, Failure> {
    let mut readable = Vec::new();
    let writable = launch.confines.limits.as_ref().map_or(&[][..], |limits| &limits.write);
    for directory in &launch.spec.state_directories {
        let made = prepare_directory(&launch.state_dir, directory, &launch.env, writable, &mut readable);
        made.map_err(|error| unprepared(launch, &directory.variable, &error))?;
    }
    let own = AgentDir::fixed(launch.state_dir.clone());
    for (variable, text) in &launch.spec.state_files {
        own.write(variable, PRIVATE, text.as_bytes()).map_err(|error| unprepared(launch, variable, &error))?;
    }
    Ok(readable)
}

fn unprepared(launch: &Launch, variable: &str, error: &io::Error) -> Failure {
    let message = format!("failed to prepare `{variable}` of backend `{}`: {error}", launch.spec.name);
    Failure::new(FailureKind::Setup, message)
}

fn prepare_directory(
    state_dir: &Path,
    directory: &StateDirectory,
    env: &[(String, String)],
    writable: &[PathBuf],
    readable: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let own = AgentDir::below(state_dir, &directory.variable);
    own.make()?;
    let Some(user) = user_directory(directory, env) else { return Ok(()) };
    let is_writable = writable.iter().any(|place| user.starts_with(place) || place.starts_with(&user));
    for name in &directory.copied {
        // The user's own links count; those that an agent may have made do not.
        let source = if is_writable { AgentDir::fixed(user.clone()).open(name) } else { open_users(&user.join(name)) };
        if let Some(source) = source? {
            copy_if_newer(source, &own, name)?;
        }
    }
    // The agent would choose where these lead.
    for name in directory.linked.iter().filter(|_| !is_writable) {
        if let Ok(target) = user.join(name).canonicalize() {
            own.link(name, &target)?;
            readable.push(target);
        }
    }
    Ok(())
}

/// The login and the settings that are copied, as the user has them now; reads files. Nobody knows their shape, so a token
/// that the user's own program renews is another login, too.
pub(crate) fn describe_copied(spec: &Spec, env: &[(String, String)]) -> String {
    let read = |path: PathBuf| user_file::read_beginning(&path, COPY_LIMIT).ok();
    let in_directory = |directory: &StateDirectory| {
        let user = user_directory(directory, env)?;
        Some(directory.copied.iter().map(|name| read(user.join(name))).collect::<Vec<_>>())
    };
    format!("{:?}", spec.state_directories.iter().map(in_directory).collect::<Vec<_>>())
}

/// Where the user has the directory.
fn user_directory(directory: &StateDirectory, env: &[(String, String)]) -> Option<PathBuf> {
    let value = |wanted: &str| env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| PathBuf::from(value));
    let named = value(&directory.variable).filter(|path| path.is_absolute());
    named.or_else(|| match directory.user.strip_prefix("~/") {
        Some(rest) => value("HOME").map(|home| home.join(rest)),
        None => Some(PathBuf::from(&directory.user)),
    })
}

/// A file of the user's, wherever links lead; not every user has every file.
fn open_users(path: &Path) -> io::Result<Option<File>> {
    match user_file::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Copies a file unless the agent has a newer one, such as a login that it renewed.
fn copy_if_newer(source: File, own: &AgentDir, name: &str) -> io::Result<()> {
    let found = source.metadata()?;
    // What the agent put in its place, if it is no plain file, is replaced.
    let present = own.open(name).ok().flatten().and_then(|file| file.metadata().ok()?.modified().ok());
    if present.is_some_and(|present| found.modified().is_ok_and(|time| time <= present)) {
        return Ok(());
    }
    let mut bytes = Vec::new();
    source.take(COPY_LIMIT).read_to_end(&mut bytes)?;
    own.write(name, PRIVATE, &bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;

    struct Case {
        place: tempfile::TempDir,
        directory: StateDirectory,
        env: Vec<(String, String)>,
        writable: Vec<PathBuf>,
    }

    impl Case {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            fs::create_dir_all(place.path().join("home/.agent/tools")).unwrap();
            fs::create_dir_all(place.path().join("state")).unwrap();
            let directory = StateDirectory {
                variable: "AGENT_HOME".to_owned(),
                user: "~/.agent".to_owned(),
                copied: vec!["a/login.json".to_owned(), "missing.json".to_owned()],
                linked: vec!["tools".to_owned(), "absent".to_owned()],
            };
            let env = vec![("HOME".to_owned(), place.path().join("home").to_str().unwrap().to_owned())];
            let case = Self { place, directory, env, writable: Vec::new() };
            case.login("home/.agent", "first", 0);
            case
        }

        fn path(&self, name: &str) -> PathBuf {
            self.place.path().join(name)
        }

        /// Writes a login with a time of its own.
        fn login(&self, base: &str, text: &str, minutes: u64) {
            let path = self.path(base).join("a/login.json");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            // Later than any copy that the test makes.
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000 + minutes * 60);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }

        /// Prepares the directory; returns what is behind its links, and the login in it.
        fn prepare(&self) -> (Vec<PathBuf>, String) {
            let mut readable = Vec::new();
            prepare_directory(&self.path("state"), &self.directory, &self.env, &self.writable, &mut readable).unwrap();
            (readable, fs::read_to_string(self.path("state/AGENT_HOME/a/login.json")).unwrap())
        }
    }

    #[test]
    fn the_login_is_copied_and_the_newer_one_stays() {
        let case = Case::new();
        let tools = case.path("home/.agent/tools").canonicalize().unwrap();
        assert_eq!(case.prepare(), (vec![tools.clone()], "first".to_owned()));
        assert_eq!(fs::read_link(case.path("state/AGENT_HOME/tools")).unwrap(), tools);
        case.login("state/AGENT_HOME", "renewed by the agent", 5);
        assert_eq!(case.prepare().1, "renewed by the agent");
        case.login("home/.agent", "second", 10);
        assert_eq!(case.prepare().1, "second");
    }

    #[test]
    fn a_link_of_the_agents_leads_nowhere() {
        let case = Case::new();
        case.prepare();
        fs::write(case.path("victim"), "mine").unwrap();
        let copy = case.path("state/AGENT_HOME/a/login.json");
        fs::remove_file(&copy).unwrap();
        symlink(case.path("victim"), &copy).unwrap();
        assert_eq!(case.prepare().1, "first");
        assert_eq!(fs::read_to_string(case.path("victim")).unwrap(), "mine");
    }

    #[test]
    fn links_in_a_directory_that_agents_write_lead_nowhere() {
        let mut case = Case::new();
        case.login("secret", "key", 20);
        let login = case.path("home/.agent/a/login.json");
        fs::remove_file(&login).unwrap();
        symlink(case.path("secret/a/login.json"), &login).unwrap();
        assert_eq!(case.prepare().1, "key");
        fs::remove_dir_all(case.path("state/AGENT_HOME")).unwrap();
        case.writable = vec![case.path("home")];
        let mut readable = Vec::new();
        let prepared =
            prepare_directory(&case.path("state"), &case.directory, &case.env, &case.writable, &mut readable);
        assert!(prepared.is_err() && readable.is_empty());
        assert!(!case.path("state/AGENT_HOME/a/login.json").exists());
    }

    #[test]
    fn the_users_own_variable_says_where_the_login_is() {
        let mut case = Case::new();
        case.login("elsewhere", "other", 0);
        case.env.push(("AGENT_HOME".to_owned(), case.path("elsewhere").to_str().unwrap().to_owned()));
        assert_eq!(case.prepare(), (Vec::new(), "other".to_owned()));
    }
}
