//! The home that the CLI gets instead of the user's: settings, policy, instructions and the way to the login.
//!
//! It is written anew before each start. The user's own home is read and, for a login that renews itself, linked to.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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
pub(super) fn furnish(home: &Path, furniture: Furniture<'_>) -> Result<PathBuf, HomeError> {
    let Furniture { purpose, native, login, instructions, served } = furniture;
    let dir = home.join(".gemini");
    let policy = home.join("policy.toml");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| HomeError { path, source }
    };
    // Conversations are in it, and the way to the login.
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(at(&dir))?;
    let commands = served.map(|served| served.furnish(home)).transpose()?;
    let settings = dir.join("settings.json");
    fs::write(&settings, settings_text(&login.kind, commands.as_ref())).map_err(at(&settings))?;
    let names = served.map(Served::names).unwrap_or_default();
    fs::write(&policy, policy::text(purpose, native, &names)).map_err(at(&policy))?;
    let memory = dir.join("GEMINI.md");
    fs::write(&memory, instructions.unwrap_or_default()).map_err(at(&memory))?;
    for file in &login.files {
        let Some(name) = file.file_name() else { continue };
        let link = dir.join(name);
        // The CLI may have put a file of its own there, which would outlive the user's next login.
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&link)(error)),
            Ok(()) | Err(_) => {}
        }
        symlink(file, &link).map_err(at(&link))?;
    }
    Ok(policy)
}

fn settings_text(login: &str, commands: Option<&Commands>) -> String {
    let mut settings = settings(login);
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::backend::door::Entrance;
    use crate::backend::{Access, ServedTool};

    fn login(files: Vec<PathBuf>) -> Login {
        Login { kind: "gemini-api-key".to_owned(), env: Vec::new(), files }
    }

    fn furnish(home: &Path, purpose: Purpose, login: &Login, instructions: Option<&str>) -> Result<PathBuf, HomeError> {
        super::furnish(home, Furniture { purpose, native: &Native::default(), login, instructions, served: None })
    }

    #[test]
    fn a_home_is_furnished_and_can_be_furnished_again() {
        let dir = tempfile::tempdir().unwrap();
        let creds = dir.path().join("oauth_creds.json");
        fs::write(&creds, "{\"token\": 1}").unwrap();
        let home = dir.path().join("home");
        for instructions in [Some("be kind"), None] {
            let policy = furnish(&home, Purpose::Session, &login(vec![creds.clone()]), instructions).unwrap();
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
            let policy = super::furnish(dir.path(), furniture).unwrap();
            assert_eq!(fs::read_to_string(policy).unwrap(), policy::text(purpose, &native, &[]));
        }
    }

    #[test]
    fn served_tools_are_found_by_commands_of_the_settings() {
        let dir = tempfile::tempdir().unwrap();
        let tool = ServedTool { name: "delegate".to_owned(), description: String::new(), input_schema: json!({}) };
        let (url, token) = ("http://127.0.0.1:1/mcp".to_owned(), "t".to_owned());
        let served = Served { tools: &[tool], entrance: Entrance { url, token, bridge: vec!["/coppice".to_owned()] } };
        let tools_of = |served: Option<&Served<'_>>| {
            let (native, login) = (&Native::default(), &login(Vec::new()));
            let furniture = Furniture { purpose: Purpose::Session, native, login, instructions: None, served };
            let policy = fs::read_to_string(super::furnish(dir.path(), furniture).unwrap()).unwrap();
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
        fs::write(dir.path().join(".gemini"), "").unwrap();
        let error = furnish(dir.path(), Purpose::Session, &login(Vec::new()), None).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to write `{}`", dir.path().join(".gemini").display()));
    }
}
