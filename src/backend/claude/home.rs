//! The agent's own directory: one per session, so that neither settings nor histories of the user's own use mix with it.
//!
//! A login in the user's credential store is read and renewed there by the agent itself. A login that is a key in the
//! user's main file cannot be, so that one entry is handed over; nothing else of the user's directory is read.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::backend::agent_dir::{AgentDir, PRIVATE};
use crate::backend::claude::argv::value;
use crate::backend::user_file::read_text;

/// The main file of a directory of the agent.
const MAIN: &str = ".claude.json";

/// The members of the main file that are a login: the key, and whose it is.
const LOGIN: &[&str] = &["primaryApiKey", "oauthAccount"];

/// What of an account tells it from another; the agent updates the rest by itself.
const ACCOUNT: &[&str] = &["accountUuid", "emailAddress", "organizationUuid"];

/// How many letters of a key's end the agent remembers it by.
const KEY_END: usize = 20;

/// The agent's directory within a session's state.
pub(crate) fn dir(state_dir: &Path) -> AgentDir {
    AgentDir::below(state_dir, "claude")
}

/// Makes the directory ready for a start in an environment; reads and writes files.
pub(crate) fn furnish(home: &AgentDir, env: &[(String, String)]) -> io::Result<()> {
    home.make()?;
    let read = home.read(MAIN);
    let own = read.as_ref().map(|bytes| parse(bytes.as_deref())).unwrap_or_default();
    let furnished = with_login(&own, &read_user_main(env));
    // What is there and is no file of the agent's own making does not stay.
    if read.is_ok() && own == furnished {
        return Ok(());
    }
    home.write(MAIN, PRIVATE, Value::Object(furnished).to_string().as_bytes())
}

/// Has the agent begin with the conversation when a person opens it: what it asks everybody at the first start, it asks
/// again in every home of its own. Whether the tree is trusted decides about settings in it, and those are not read.
pub(crate) fn welcome(home: &AgentDir, env: &[(String, String)], tree: &Path) -> io::Result<()> {
    let before = parse(home.read(MAIN).ok().flatten().as_deref());
    let mut main = Value::Object(before.clone());
    main["hasCompletedOnboarding"] = json!(true);
    let tree = tree.canonicalize().unwrap_or_else(|_| tree.to_owned());
    main["projects"][tree.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] = json!(true);
    if let Some(key) = value(env, "ANTHROPIC_API_KEY") {
        // It is the key of the turns, and known here by its end.
        let end: String = key.chars().skip(key.chars().count().saturating_sub(KEY_END)).collect();
        main["customApiKeyResponses"]["approved"] = json!([end]);
    }
    if main == Value::Object(before) {
        return Ok(());
    }
    home.write(MAIN, PRIVATE, main.to_string().as_bytes())
}

/// Whose login the user's main file holds.
pub(crate) fn describe_account(env: &[(String, String)]) -> String {
    let user = Value::Object(read_user_main(env));
    let account: Vec<&Value> = ACCOUNT.iter().map(|member| &user["oauthAccount"][*member]).collect();
    json!([user["primaryApiKey"], account]).to_string()
}

fn read_user_main(env: &[(String, String)]) -> Map<String, Value> {
    let text = user_main(env).and_then(|path| read_text(&path).ok());
    parse(text.as_deref().map(str::as_bytes))
}

/// Where the agent's main file is when the user starts it.
pub(crate) fn user_main(env: &[(String, String)]) -> Option<PathBuf> {
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
fn parse(text: Option<&[u8]>) -> Map<String, Value> {
    text.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn env(pairs: &[(&str, &Path)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, path)| ((*name).to_owned(), path.to_str().unwrap().to_owned())).collect()
    }

    fn main_of(home: &AgentDir) -> Value {
        fs::read_to_string(home.path().join(MAIN)).map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_key_of_the_user_comes_along_and_settings_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("user");
        let home = self::dir(dir.path());
        fs::create_dir(&user).unwrap();
        let text = json!({"primaryApiKey": "key", "oauthAccount": {"emailAddress": "me"}, "mcpServers": {"x": {}}, "projects": {}});
        fs::write(user.join(MAIN), text.to_string()).unwrap();
        furnish(&home, &env(&[("HOME", &user)])).unwrap();
        assert_eq!(main_of(&home), json!({"primaryApiKey": "key", "oauthAccount": {"emailAddress": "me"}}));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(home.path()), mode(&home.path().join(MAIN))), (0o700, 0o600));
        assert_eq!(fs::read_to_string(user.join(MAIN)).unwrap(), text.to_string());
    }

    #[test]
    fn what_the_agent_wrote_stays_and_a_login_that_is_gone_goes() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("user");
        let home = self::dir(dir.path());
        home.make().unwrap();
        fs::create_dir(&user).unwrap();
        fs::write(home.path().join(MAIN), json!({"numStartups": 3, "primaryApiKey": "old"}).to_string()).unwrap();
        fs::write(user.join(MAIN), "not json").unwrap();
        furnish(&home, &env(&[("HOME", dir.path()), ("CLAUDE_CONFIG_DIR", &user)])).unwrap();
        assert_eq!(main_of(&home), json!({"numStartups": 3}));
    }

    #[test]
    fn another_account_is_told_from_news_about_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let account_of = |main: Value| {
            fs::write(dir.path().join(MAIN), main.to_string()).unwrap();
            describe_account(&env(&[("HOME", dir.path())]))
        };
        let main = |uuid: &str, starts: u32| json!({"numStartups": starts, "oauthAccount": {"accountUuid": uuid, "billingType": starts}});
        let mine = account_of(main("mine", 1));
        assert_eq!(account_of(main("mine", 2)), mine);
        assert_ne!(account_of(main("other", 1)), mine);
        assert_ne!(account_of(json!({"primaryApiKey": "a"})), account_of(json!({"primaryApiKey": "b"})));
        assert_eq!(account_of(json!("no object")), account_of(json!({})));
    }

    #[test]
    fn a_person_is_asked_nothing_but_what_they_came_for() {
        let dir = tempfile::tempdir().unwrap();
        let (home, tree) = (self::dir(dir.path()), dir.path().join("tree"));
        home.make().unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(home.path().join(MAIN), json!({"numStartups": 3, "projects": {"/other": {}}}).to_string()).unwrap();
        let key = [("ANTHROPIC_API_KEY".to_owned(), "sk-ant-0123456789abcdefghij".to_owned())];
        for _ in 0..2 {
            welcome(&home, &key, &tree).unwrap();
            let place = tree.canonicalize().unwrap();
            let expected = json!({
                "numStartups": 3,
                "hasCompletedOnboarding": true,
                "customApiKeyResponses": {"approved": ["0123456789abcdefghij"]},
                "projects": {"/other": {}, place.to_str().unwrap(): {"hasTrustDialogAccepted": true}},
            });
            assert_eq!(main_of(&home), expected);
        }
    }

    #[test]
    fn without_a_key_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        furnish(&self::dir(dir.path()), &[]).unwrap();
        assert_eq!(fs::read_dir(dir.path().join("claude")).unwrap().count(), 0);
    }

    /// Puts something that leads to a victim in a place.
    type Plant = fn(&Path, &Path);

    #[test]
    fn what_an_agent_plants_leads_nowhere() {
        let scene = tempfile::tempdir().unwrap();
        let (user, state) = (scene.path().join("user"), scene.path().join("state"));
        let victim = user.join("auth.json");
        fs::create_dir(&user).unwrap();
        fs::write(user.join(MAIN), json!({"primaryApiKey": "key"}).to_string()).unwrap();
        fs::write(&victim, json!({"token": "secret"}).to_string()).unwrap();
        let planting: [(&str, Plant); 6] = [
            ("claude/.claude.json", |victim, place| symlink(victim, place).unwrap()),
            ("claude/.claude.json", |victim, place| fs::hard_link(victim, place).unwrap()),
            ("claude/.claude.json", |_, place| mknodat(CWD, place, FileType::Fifo, Mode::RWXU, 0).unwrap()),
            ("claude/.claude.json.draft", |victim, place| symlink(victim, place).unwrap()),
            ("claude", |victim, place| symlink(victim.parent().unwrap(), place).unwrap()),
            ("claude", |_, place| mknodat(CWD, place, FileType::Fifo, Mode::RWXU, 0).unwrap()),
        ];
        for (place, plant) in planting {
            for env in [env(&[("HOME", &user)]), Vec::new()] {
                let place = state.join(place);
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                plant(&victim, &place);
                let home = dir(&state);
                furnish(&home, &env).unwrap();
                let expected = if env.is_empty() { Map::new() } else { parse(Some(br#"{"primaryApiKey":"key"}"#)) };
                let found = home.read(MAIN).unwrap();
                assert_eq!(parse(found.as_deref()), expected, "{place:?}");
                assert_eq!(fs::read_to_string(&victim).unwrap(), r#"{"token":"secret"}"#, "{place:?}");
                assert_eq!(fs::read_to_string(user.join(MAIN)).unwrap(), r#"{"primaryApiKey":"key"}"#, "{place:?}");
                assert_eq!(fs::read_dir(&user).unwrap().count(), 2, "{place:?}");
                fs::remove_dir_all(&state).unwrap();
            }
        }
    }
}
