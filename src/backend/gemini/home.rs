//! The home that the CLI gets instead of the user's: settings, policy, instructions and the way to the login.
//!
//! It is written anew before each start. The user's own home is read and, for a login that renews itself, linked to.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use serde_json::{Value, json};

use crate::backend::agent_dir::{AgentDir, PRIVATE};
use crate::backend::gemini::login::Login;
use crate::backend::gemini::policy;
use crate::backend::gemini::served::{Commands, Served};
use crate::backend::{Native, Purpose};

/// How often the CLI tries a model call. It waits 5, 10 and 20 seconds in between and says nothing: enough for a
/// hiccup, and a person hears of a limit within a minute. For its last-resort flash models the CLI keeps to ten tries.
const ATTEMPTS: u32 = 4;

/// A home that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("failed to write `{}`", path.display())]
pub(super) struct HomeError {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

/// What a home is furnished with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Furniture<'a> {
    pub(super) purpose: Purpose,
    pub(super) native: &'a Native,
    pub(super) login: &'a Login,
    pub(super) instructions: Option<&'a str>,
    pub(super) served: Option<&'a Served<'a>>,
}

/// Writes everything that a start needs below `home`; returns the policy's file.
pub(super) fn furnish(home: &AgentDir, furniture: Furniture<'_>) -> Result<PathBuf, HomeError> {
    let Furniture { purpose, native, login, instructions, served } = furniture;
    let commands = served.map(|served| served.furnish(home)).transpose()?;
    put(home, ".gemini/settings.json", PRIVATE, &settings_text(login, commands.as_ref()))?;
    let names = served.map(Served::names).unwrap_or_default();
    let policy = put(home, "policy.toml", PRIVATE, &policy::text(purpose, native, &names))?;
    put(home, ".gemini/GEMINI.md", PRIVATE, instructions.unwrap_or_default())?;
    for file in &login.files {
        let Some(name) = file.file_name() else { continue };
        // The CLI may have put a file of its own there, which would outlive the user's next login.
        let name = Path::new(".gemini").join(name);
        home.link(&name, file).map_err(|source| HomeError { path: home.path().join(&name), source })?;
    }
    Ok(policy)
}

/// Writes one file below the home; returns its path.
pub(super) fn put(home: &AgentDir, name: &str, mode: Mode, text: &str) -> Result<PathBuf, HomeError> {
    let path = home.path().join(name);
    match home.write(name, mode, text.as_bytes()) {
        Ok(()) => Ok(path),
        Err(source) => Err(HomeError { path, source }),
    }
}

fn settings_text(login: &Login, commands: Option<&Commands>) -> String {
    let mut settings = settings(&login.kind);
    if let Some(model) = &login.model {
        settings["model"] = json!({"name": model});
    }
    if let Some(Commands { discovery, call }) = commands {
        settings["tools"]["discoveryCommand"] = json!(discovery);
        settings["tools"]["callCommand"] = json!(call);
    }
    settings.to_string()
}

fn settings(login: &str) -> Value {
    json!({
        // Restoring a conversation takes a chosen login, even where opening one does without.
        "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": true}},
        "general": {
            // The clean-up at the start removes conversations that were restored once.
            "sessionRetention": {"enabled": false},
            "maxAttempts": ATTEMPTS,
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
        },
        // An untrusted folder's `.env` may still bring a key of its own.
        "advanced": {"ignoreLocalEnv": true},
        // A terminal's output is not passed on.
        "tools": {"shell": {"enableInteractiveShell": false}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;
    use crate::backend::door::Entrance;
    use crate::backend::{Access, ServedTool};
    use crate::permission::Effect;

    fn login(files: Vec<PathBuf>) -> Login {
        Login { kind: "gemini-api-key".to_owned(), files, ..Login::default() }
    }

    fn furnish(
        home: &AgentDir,
        purpose: Purpose,
        login: &Login,
        instructions: Option<&str>,
    ) -> Result<PathBuf, HomeError> {
        super::furnish(home, Furniture { purpose, native: &Native::default(), login, instructions, served: None })
    }

    #[test]
    fn a_home_is_furnished_and_can_be_furnished_again() {
        let dir = tempfile::tempdir().unwrap();
        let creds = dir.path().join("oauth_creds.json");
        fs::write(&creds, "{\"token\": 1}").unwrap();
        let own = AgentDir::below(dir.path(), "home");
        let home = own.path();
        for instructions in [Some("be kind"), None] {
            let policy = furnish(&own, Purpose::Session, &login(vec![creds.clone()]), instructions).unwrap();
            assert!(fs::read_to_string(&policy).unwrap().contains("invoke_agent"));
            let settings: Value =
                serde_json::from_slice(&fs::read(home.join(".gemini/settings.json")).unwrap()).unwrap();
            assert_eq!(settings["security"]["auth"]["selectedType"], "gemini-api-key");
            // What a work tree says ends with it.
            let memory = fs::read_to_string(home.join(".gemini/GEMINI.md")).unwrap();
            assert_eq!(memory, instructions.unwrap_or_default());
            let link = home.join(".gemini/oauth_creds.json");
            assert_eq!(fs::read_link(&link).unwrap(), creds);
            fs::remove_file(&link).unwrap();
            fs::write(&link, "{}").unwrap();
        }
        let mode = fs::metadata(home.join(".gemini")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn the_policy_is_the_surfaces() {
        let dir = tempfile::tempdir().unwrap();
        let native = Native { tools: None, access: Access::ReadOnly };
        for purpose in [Purpose::Session, Purpose::Utility, Purpose::Survey] {
            let login = &login(Vec::new());
            let furniture = Furniture { purpose, native: &native, login, instructions: None, served: None };
            let policy = super::furnish(&AgentDir::fixed(dir.path().to_owned()), furniture).unwrap();
            assert_eq!(fs::read_to_string(policy).unwrap(), policy::text(purpose, &native, &[]));
        }
    }

    #[test]
    fn served_tools_are_found_by_commands_of_the_settings() {
        let dir = tempfile::tempdir().unwrap();
        let tool = ServedTool {
            name: "delegate".to_owned(),
            description: String::new(),
            input_schema: json!({}),
            effect: Effect::Adds,
        };
        let (url, token) = ("http://127.0.0.1:1/mcp".to_owned(), "t".to_owned());
        let served = Served { tools: &[tool], entrance: Entrance { url, token, bridge: vec!["/coppice".to_owned()] } };
        let home = AgentDir::fixed(dir.path().to_owned());
        let tools_of = |served: Option<&Served<'_>>| {
            let (native, login) = (&Native::default(), &login(Vec::new()));
            let furniture = Furniture { purpose: Purpose::Session, native, login, instructions: None, served };
            let policy = fs::read_to_string(super::furnish(&home, furniture).unwrap()).unwrap();
            let settings = fs::read(dir.path().join(".gemini/settings.json")).unwrap();
            let settings: Value = serde_json::from_slice(&settings).unwrap();
            (settings["tools"].clone(), policy.contains(r#"["discovered_tool_delegate"]"#))
        };
        let (tools, is_allowed) = tools_of(Some(&served));
        assert_eq!(tools["callCommand"], dir.path().join("call").to_str().unwrap());
        assert!(tools["discoveryCommand"].as_str().unwrap().starts_with("cat "), "{tools}");
        assert!(is_allowed);
        // A later start without them forgets them.
        let (tools, is_allowed) = tools_of(None);
        assert_eq!(tools, json!({"shell": {"enableInteractiveShell": false}}));
        assert!(!is_allowed);
    }

    #[test]
    fn a_home_that_cannot_be_written_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join(".gemini/settings.json");
        fs::create_dir_all(&settings).unwrap();
        let home = AgentDir::fixed(dir.path().to_owned());
        let error = furnish(&home, Purpose::Session, &login(Vec::new()), None).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to write `{}`", settings.display()));
    }

    /// Each file of a home, and the directories above.
    const PLACES: [&str; 9] = [
        "home",
        "home/.gemini",
        "home/.gemini/settings.json",
        "home/.gemini/GEMINI.md",
        "home/.gemini/oauth_creds.json",
        "home/policy.toml",
        "home/tools.json",
        "home/door.json",
        "home/call",
    ];

    #[test]
    fn what_an_agent_plants_leads_nowhere() {
        let planting: [fn(&Path, &Path); 4] = [
            |victims, place| symlink(victims.join("file"), place).unwrap(),
            |victims, place| symlink(victims, place).unwrap(),
            |victims, place| fs::hard_link(victims.join("file"), place).unwrap(),
            |_, place| mknodat(CWD, place, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        ];
        let (url, token) = ("http://127.0.0.1:1/mcp".to_owned(), "t".to_owned());
        let served = Served { tools: &[], entrance: Entrance { url, token, bridge: Vec::new() } };
        for (place, plant) in PLACES.iter().flat_map(|place| planting.map(|plant| (place, plant))) {
            let dir = tempfile::tempdir().unwrap();
            let (victims, place) = (dir.path().join("victims"), dir.path().join(place));
            fs::create_dir(&victims).unwrap();
            fs::write(victims.join("file"), "theirs").unwrap();
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            plant(&victims, &place);
            let home = AgentDir::below(dir.path(), "home");
            let (native, login) = (&Native::default(), &login(vec![dir.path().join("user/oauth_creds.json")]));
            let instructions = Some("evil");
            let furniture = Furniture { purpose: Purpose::Session, native, login, instructions, served: Some(&served) };
            super::furnish(&home, furniture).unwrap();
            assert_eq!(fs::read_to_string(victims.join("file")).unwrap(), "theirs", "{place:?}");
            assert_eq!(fs::read_dir(&victims).unwrap().count(), 1, "{place:?}");
            assert_eq!(home.read(".gemini/GEMINI.md").unwrap().unwrap(), b"evil", "{place:?}");
            let link = fs::read_link(home.path().join(".gemini/oauth_creds.json")).unwrap();
            assert_eq!(link, dir.path().join("user/oauth_creds.json"), "{place:?}");
        }
    }
}
