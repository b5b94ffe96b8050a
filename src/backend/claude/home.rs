//! The agent's own directory: one per session, so that neither settings nor histories of the user's own use mix with it.
//!
//! A login in the user's credential store is read and renewed there by the agent itself. A login that is a key in the
//! user's main file cannot be, so that one entry is handed over; nothing else of the user's directory is read.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::backend::claude::argv::value;

/// The main file of a directory of the agent.
const MAIN: &str = ".claude.json";

/// The members of the main file that are a login: the key, and whose it is.
const LOGIN: &[&str] = &["primaryApiKey", "oauthAccount"];

/// The agent's directory within a session's state.
pub(crate) fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("claude")
}

/// Makes the directory ready for a start in an environment.
pub(crate) fn furnish(home: &Path, env: &[(String, String)]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    let main = home.join(MAIN);
    let own = read(&main);
    let furnished = with_login(&own, &user_main(env).map(|path| read(&path)).unwrap_or_default());
    if own == furnished { Ok(()) } else { write(&main, &Value::Object(furnished).to_string()) }
}

/// Where the agent's main file is when the user starts it.
fn user_main(env: &[(String, String)]) -> Option<PathBuf> {
    let place = value(env, "CLAUDE_CONFIG_DIR").or_else(|| value(env, "HOME"));
    place.map(|place| Path::new(place).join(MAIN))
}

/// Our main file with the login of the user's; a login that is gone there goes here too.
fn with_login(own: &Map<String, Value>, user: &Map<String, Value>) -> Map<String, Value> {
    let mut furnished = own.clone();
    for &member in LOGIN {
        match user.get(member) {
            Some(value) => furnished.insert(member.to_owned(), value.clone()),
            None => furnished.remove(member),
        };
    }
    furnished
}

/// A file that is missing or broken says nothing; the agent itself starts afresh with one, too.
fn read(path: &Path) -> Map<String, Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes a file that only its owner may read, whole or not at all.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("json.draft");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn env(pairs: &[(&str, &Path)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, path)| ((*name).to_owned(), path.to_str().unwrap().to_owned())).collect()
    }

    fn main_of(home: &Path) -> Value {
        fs::read_to_string(home.join(MAIN)).map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_key_of_the_user_comes_along_and_settings_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("user");
        let home = path(dir.path());
        fs::create_dir(&user).unwrap();
        let text = json!({"primaryApiKey": "key", "oauthAccount": {"emailAddress": "me"}, "mcpServers": {"x": {}}, "projects": {}});
        fs::write(user.join(MAIN), text.to_string()).unwrap();
        furnish(&home, &env(&[("HOME", &user)])).unwrap();
        assert_eq!(main_of(&home), json!({"primaryApiKey": "key", "oauthAccount": {"emailAddress": "me"}}));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&home), mode(&home.join(MAIN))), (0o700, 0o600));
        assert_eq!(fs::read_to_string(user.join(MAIN)).unwrap(), text.to_string());
    }

    #[test]
    fn what_the_agent_wrote_stays_and_a_login_that_is_gone_goes() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("user");
        let home = path(dir.path());
        fs::create_dir_all(&home).unwrap();
        fs::create_dir(&user).unwrap();
        fs::write(home.join(MAIN), json!({"numStartups": 3, "primaryApiKey": "old"}).to_string()).unwrap();
        fs::write(user.join(MAIN), "not json").unwrap();
        furnish(&home, &env(&[("HOME", dir.path()), ("CLAUDE_CONFIG_DIR", &user)])).unwrap();
        assert_eq!(main_of(&home), json!({"numStartups": 3}));
    }

    #[test]
    fn without_a_key_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        furnish(&path(dir.path()), &[]).unwrap();
        assert_eq!(fs::read_dir(path(dir.path())).unwrap().count(), 0);
    }
}
