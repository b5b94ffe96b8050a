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
use crate::backend::{Native, Purpose};

/// How often the CLI tries a model call. It waits 5, 10 and 20 seconds in between and says nothing: enough for a
/// hiccup, and a person hears of a limit within a minute. For its last-resort flash models the CLI keeps to ten tries.
const ATTEMPTS: u32 = 4;

/// A home that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("failed to write `{}`", path.display())]
pub(super) struct HomeError {
    path: PathBuf,
    source: io::Error,
}

/// What a home is furnished with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Furniture<'a> {
    pub(super) purpose: Purpose,
    pub(super) native: &'a Native,
    pub(super) login: &'a Login,
    pub(super) instructions: Option<&'a str>,
}

/// Writes everything that a start needs below `home`; returns the policy's file.
pub(super) fn furnish(home: &Path, furniture: Furniture<'_>) -> Result<PathBuf, HomeError> {
    let Furniture { purpose, native, login, instructions } = furniture;
    let dir = home.join(".gemini");
    let policy = home.join("policy.toml");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| HomeError { path, source }
    };
    // Conversations are in it, and the way to the login.
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(at(&dir))?;
    let settings = dir.join("settings.json");
    fs::write(&settings, settings_text(&login.kind)).map_err(at(&settings))?;
    fs::write(&policy, policy::text(purpose, native, &[])).map_err(at(&policy))?;
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

fn settings_text(login: &str) -> String {
    settings(login).to_string()
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
    use crate::backend::Access;

    fn login(files: Vec<PathBuf>) -> Login {
        Login { kind: "gemini-api-key".to_owned(), env: Vec::new(), files }
    }

    fn furnish(home: &Path, purpose: Purpose, login: &Login, instructions: Option<&str>) -> Result<PathBuf, HomeError> {
        super::furnish(home, Furniture { purpose, native: &Native::default(), login, instructions })
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
            let furniture = Furniture { purpose, native: &native, login: &login(Vec::new()), instructions: None };
            let policy = super::furnish(dir.path(), furniture).unwrap();
            assert_eq!(fs::read_to_string(policy).unwrap(), policy::text(purpose, &native, &[]));
        }
    }

    #[test]
    fn a_home_that_cannot_be_written_says_where() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".gemini"), "").unwrap();
        let error = furnish(dir.path(), Purpose::Session, &login(Vec::new()), None).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to write `{}`", dir.path().join(".gemini").display()));
    }
}
