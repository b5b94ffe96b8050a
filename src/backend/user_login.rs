//! What the user's own settings of a program say about its login: variables, a helper that prints a key, and the files
//! of a cloud's login.

use std::path::{Path, PathBuf};

use crate::backend::key_helper::KeyHelper;
use crate::backend::remedy::{is_on, value};
use crate::backend::spec::{Spec, Transport};
use crate::backend::user_file::read_text;
use crate::backend::{claude, gemini};

/// Switches that lead a program to models in a cloud.
const AWS_SWITCHES: &[&str] = &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_ANTHROPIC_AWS"];
const GOOGLE_SWITCHES: &[&str] = &["CLAUDE_CODE_USE_VERTEX", "GOOGLE_GENAI_USE_VERTEXAI"];

/// The variable that names a token of AWS which whoever runs the machine renews.
const RENEWED_TOKEN: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";

/// The variable that names a login of Google's, and where it is otherwise.
const GOOGLE_LOGIN: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const GOOGLE_DEFAULT: &str = ".config/gcloud/application_default_credentials.json";

/// How the user's own settings log a program in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserLogin {
    /// Variables that the program gets besides those of the shell, or instead of them.
    pub env: Vec<(String, String)>,
    pub key_helper: Option<KeyHelper>,
}

impl UserLogin {
    /// Reads the settings of the user with this environment.
    pub fn read(spec: &Spec, env: &[(String, String)]) -> Self {
        let env: Vec<_> = env.iter().chain(&spec.env).cloned().collect();
        let mut login = match spec.transport {
            Transport::Claude => claude::user_login(&env),
            Transport::Codex | Transport::Gemini | Transport::Acp => Self::default(),
        };
        let env = [env.as_slice(), &login.env].concat();
        // A program whose home is another one does not find the default place.
        let is_named = value(&env, GOOGLE_LOGIN).is_some();
        let file = google_file(&env).filter(|file| !is_named && is_on(&env, GOOGLE_SWITCHES) && file.is_file());
        login.env.extend(file.map(|file| (GOOGLE_LOGIN.to_owned(), file.to_string_lossy().into_owned())));
        login
    }
}

/// The login of the cloud that a program is told to use, as far as only another login changes it; reads files.
pub(crate) fn describe_cloud_login(spec: &Spec, env: &[(String, String)]) -> String {
    let env = match spec.transport {
        Transport::Gemini => gemini::complete_login(env),
        Transport::Claude | Transport::Codex | Transport::Acp => [env, &UserLogin::read(spec, env).env].concat(),
    };
    // Others renew this one by themselves, and a program reads it again.
    let renewed = value(&env, RENEWED_TOKEN).map(Path::new);
    let lasting = cloud_files(&env).into_iter().filter(|file| Some(file.as_path()) != renewed);
    let found: Vec<_> = lasting.map(|file| (read_text(&file).ok(), file)).collect();
    format!("{found:?}")
}

/// The files that hold the login of the cloud that a program is told to use.
pub(crate) fn cloud_files(env: &[(String, String)]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if is_on(env, AWS_SWITCHES) {
        let aws = value(env, "HOME").map(|home| Path::new(home).join(".aws"));
        for (variable, name) in [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")] {
            files.extend(value(env, variable).map(PathBuf::from).or_else(|| Some(aws.as_ref()?.join(name))));
        }
        files.extend(["sso/cache", "cli/cache"].iter().filter_map(|name| Some(aws.as_ref()?.join(name))));
        files.extend(value(env, RENEWED_TOKEN).map(PathBuf::from));
    }
    if is_on(env, GOOGLE_SWITCHES) {
        files.extend(google_file(env));
    }
    files.retain(|file| file.is_absolute());
    files
}

fn google_file(env: &[(String, String)]) -> Option<PathBuf> {
    let named = value(env, GOOGLE_LOGIN).map(PathBuf::from);
    named.or_else(|| value(env, "HOME").map(|home| Path::new(home).join(GOOGLE_DEFAULT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_files_of_a_cloud_are_those_of_the_login_that_is_in_use() {
        for (given, expected) in [
            (env(&[("HOME", "/h")]), ""),
            (env(&[("HOME", "/h"), ("CLAUDE_CODE_USE_BEDROCK", "0")]), ""),
            (
                env(&[("HOME", "/h"), ("CLAUDE_CODE_USE_BEDROCK", "1")]),
                "/h/.aws/config /h/.aws/credentials /h/.aws/sso/cache /h/.aws/cli/cache",
            ),
            (
                env(&[
                    ("CLAUDE_CODE_USE_BEDROCK", "1"),
                    ("AWS_CONFIG_FILE", "/x"),
                    ("AWS_SHARED_CREDENTIALS_FILE", "y"),
                ]),
                "/x",
            ),
            (
                env(&[("HOME", "/h"), ("GOOGLE_GENAI_USE_VERTEXAI", "true")]),
                "/h/.config/gcloud/application_default_credentials.json",
            ),
            (env(&[("CLAUDE_CODE_USE_VERTEX", "1"), ("GOOGLE_APPLICATION_CREDENTIALS", "/k.json")]), "/k.json"),
        ] {
            let files: Vec<_> = cloud_files(&given).iter().map(|file| file.display().to_string()).collect();
            assert_eq!(files.join(" "), expected, "{given:?}");
        }
    }
}
