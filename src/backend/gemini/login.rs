//! How the user is logged in to Gemini, found without asking the CLI and without touching its files.
//!
//! The CLI writes its choice into the user's settings when a client logs in, so no client of ours ever does.

use std::path::{Path, PathBuf};

use crate::backend::remedy::{LoginRemedy, value};
use crate::backend::spec::Spec;
use crate::backend::user_file::{read_beginning, read_json, read_text};

/// The variables that decide a login; a repository's `.env` must not set any of them.
const VARIABLES: &[&str] = &[
    KEY,
    "GOOGLE_API_KEY",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
];

/// The files of a login; the CLI keeps them beside its settings.
const FILES: &[&str] = &["oauth_creds.json", ACCOUNTS, STORE];
/// Whose login it is.
const ACCOUNTS: &str = "google_accounts.json";
/// The CLI's own store of keys and tokens.
const STORE: &str = "gemini-credentials.json";

const API_KEY: &str = "gemini-api-key";
const VERTEX: &str = "vertex-ai";
/// The variable that stands for the same choice.
const VERTEX_SWITCH: &str = "GOOGLE_GENAI_USE_VERTEXAI";
/// A key for Vertex, in the place of files.
const VERTEX_KEY: &str = "GOOGLE_API_KEY";
const GOOGLE: &str = "oauth-personal";

/// No file of a login is nearly as long.
const LONGEST_LOGIN: u64 = 256 * 1024;

/// The variable with a key for the service without Vertex.
const KEY: &str = "GEMINI_API_KEY";

/// What a person does about a login to Google that is missing or refused: while it is chosen, a key does not count.
const GOOGLE_HINT: &str = "run `gemini` once and log in there by `/auth`, then run `coppice resume`";
/// The same about a key.
const KEY_HINT: &str = "run `gemini` once and log in there by `/auth`, or `export GEMINI_API_KEY=…` with a valid key; then run \
                        `coppice resume`";

/// A login that a conversation can use, and the model that the user chose with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Login {
    /// The CLI's word for the kind of login.
    pub(super) kind: String,
    /// Variables that the user keeps in a file of the CLI's own.
    pub(super) env: Vec<(String, String)>,
    /// Files that the CLI reads, and writes when it renews a token.
    pub(super) files: Vec<PathBuf>,
    /// The model that the user's settings name.
    pub(super) model: Option<String>,
}

/// Whether the CLI holds a Google account's login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Google {
    LoggedIn,
    LoggedOut,
}

/// Finds the login of the user whose CLI keeps its files in `dir`, in the environment `env`.
pub(super) fn find(dir: &Path, env: &[(String, String)]) -> Login {
    let stored = read_text(&dir.join(".env")).map(|text| parse_env(&text)).unwrap_or_default();
    let is_set = |name: &str| env.iter().any(|(known, _)| known == name);
    let stored: Vec<_> = stored.into_iter().filter(|(name, _)| !is_set(name)).collect();
    let settings = read_json(&dir.join("settings.json")).unwrap_or_default();
    let chosen = settings["security"]["auth"]["selectedType"].as_str();
    let model = settings["model"]["name"].as_str().map(str::to_owned);
    let variables: Vec<(&str, &str)> =
        env.iter().chain(&stored).map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let files: Vec<PathBuf> = FILES.iter().map(|name| dir.join(name)).filter(|path| path.is_file()).collect();
    let google = if dir.join(FILES[0]).is_file() { Google::LoggedIn } else { Google::LoggedOut };
    let kind = choose(chosen, &variables, google);
    // A key in the environment is all that its user needs, and the files stay out of reach.
    let needs_files = kind != API_KEY || !variables.iter().any(|(name, value)| is_key(name, value));
    Login { kind, env: stored, files: if needs_files { files } else { Vec::new() }, model }
}

impl Login {
    /// The environment of the user with what belongs to this login. A user may choose Vertex without a variable.
    pub(super) fn complete(&self, env: &[(String, String)]) -> Vec<(String, String)> {
        let switch = (self.kind == VERTEX).then(|| (VERTEX_SWITCH.to_owned(), "true".to_owned()));
        env.iter().chain(&self.env).cloned().chain(switch).collect()
    }

    /// What a person does when this login is refused, in a complete environment.
    pub(super) fn remedy(&self, env: &[(String, String)], spec: &Spec) -> LoginRemedy {
        let google = || LoginRemedy::of_backend(GOOGLE_HINT);
        match self.kind.as_str() {
            VERTEX if value(env, VERTEX_KEY).is_some() => LoginRemedy::of_variable(VERTEX_KEY, spec),
            VERTEX => LoginRemedy::of_cloud(env, spec).unwrap_or_else(google),
            API_KEY => {
                LoginRemedy::of_backend_variables(spec, &[KEY]).unwrap_or_else(|| LoginRemedy::of_backend(KEY_HINT))
            }
            _ => google(),
        }
    }

    /// The login in words, with its keys but without the tokens that the CLI renews; reads files.
    pub(super) fn describe(&self) -> String {
        let is_lasting = |path: &&PathBuf| match path.file_name().and_then(|name| name.to_str()) {
            Some(ACCOUNTS) => true,
            Some(STORE) => self.kind == API_KEY,
            Some(_) | None => false,
        };
        // A session may write them: what is longer than any login says only so much.
        let lasting: Vec<_> =
            self.files.iter().filter(is_lasting).map(|path| read_beginning(path, LONGEST_LOGIN).ok()).collect();
        format!("{self:?} {lasting:?}")
    }
}

/// The kind of login: what the user chose, then what the environment says, then what is there. The same order as the
/// CLI's own, but a choice of the Google login counts only while there is one.
fn choose(chosen: Option<&str>, variables: &[(&str, &str)], google: Google) -> String {
    let has_key = variables.iter().any(|(name, value)| is_key(name, value));
    let is_on = |wanted: &str| variables.contains(&(wanted, "true"));
    let kind = match chosen {
        Some(GOOGLE) if has_key && google == Google::LoggedOut => API_KEY,
        Some(chosen) => chosen,
        None if is_on("GOOGLE_GENAI_USE_GCA") => GOOGLE,
        None if is_on(VERTEX_SWITCH) => VERTEX,
        None if has_key || google == Google::LoggedOut => API_KEY,
        None => GOOGLE,
    };
    kind.to_owned()
}

fn is_key(name: &str, value: &str) -> bool {
    name == KEY && !value.is_empty()
}

/// The variables of a login in a file of `NAME=value` lines.
fn parse_env(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.split(*quote).next());
        let bare = || value.split(" #").next().unwrap_or_default().trim_end();
        let value = quoted.unwrap_or_else(bare);
        let name = name.trim();
        VARIABLES.contains(&name).then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_users_choice_comes_first_and_what_is_there_last() {
        let key = &[("GEMINI_API_KEY", "k")][..];
        let vertex = &[("GOOGLE_GENAI_USE_VERTEXAI", "true"), ("GEMINI_API_KEY", "k")][..];
        for (chosen, variables, google, expected) in [
            (Some("oauth-personal"), &[][..], Google::LoggedIn, "oauth-personal"),
            (Some("oauth-personal"), key, Google::LoggedIn, "oauth-personal"),
            (Some("oauth-personal"), key, Google::LoggedOut, "gemini-api-key"),
            (Some("gateway"), key, Google::LoggedIn, "gateway"),
            (None, vertex, Google::LoggedIn, "vertex-ai"),
            (None, &[("GOOGLE_GENAI_USE_GCA", "true")], Google::LoggedOut, "oauth-personal"),
            (None, key, Google::LoggedIn, "gemini-api-key"),
            (None, &[("GEMINI_API_KEY", "")], Google::LoggedIn, "oauth-personal"),
            (None, &[], Google::LoggedIn, "oauth-personal"),
            (None, &[], Google::LoggedOut, "gemini-api-key"),
        ] {
            assert_eq!(choose(chosen, variables, google), expected, "{chosen:?} {variables:?}");
        }
    }

    #[test]
    fn only_the_variables_of_a_login_are_read() {
        let text = "# mine\nexport GEMINI_API_KEY=\"a b\" # key\nGOOGLE_CLOUD_PROJECT = p # the project\nPATH=/evil\n\
                    GOOGLE_API_KEY='x'\nodd line\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("GEMINI_API_KEY", "a b"), pair("GOOGLE_CLOUD_PROJECT", "p"), pair("GOOGLE_API_KEY", "x")];
        assert_eq!(parse_env(text), expected);
    }

    #[test]
    fn files_are_shared_only_when_the_login_needs_them() {
        let dir = tempfile::tempdir().unwrap();
        let creds = dir.path().join("oauth_creds.json");
        fs::write(&creds, "{}").unwrap();
        let key = || vec![("GEMINI_API_KEY".to_owned(), "k".to_owned())];
        let login = |kind: &str, env, files| Login { kind: kind.to_owned(), env, files, model: None };
        assert_eq!(find(dir.path(), &[]), login("oauth-personal", Vec::new(), vec![creds.clone()]));
        assert_eq!(find(dir.path(), &key()), login("gemini-api-key", Vec::new(), Vec::new()));
        fs::write(dir.path().join(".env"), "GEMINI_API_KEY=k\n").unwrap();
        assert_eq!(find(dir.path(), &[]), login("gemini-api-key", key(), Vec::new()));
        // Without a key in sight, it is in the CLI's own store.
        fs::remove_file(dir.path().join(".env")).unwrap();
        let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
        fs::write(dir.path().join("settings.json"), settings).unwrap();
        assert_eq!(find(dir.path(), &[]), login("gemini-api-key", Vec::new(), vec![creds]));
        let nowhere = dir.path().join("nowhere");
        assert_eq!(find(&nowhere, &[]), login("gemini-api-key", Vec::new(), Vec::new()));
    }

    #[test]
    fn the_hint_is_about_the_login_that_counts() {
        let hint = |kind: &str, env: &[(&str, &str)], row: &[(&str, &str)]| {
            let pairs = |pairs: &[(&str, &str)]| {
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
            };
            let spec = Spec { env: pairs(row), ..crate::backend::gemini::spec() };
            Login { kind: kind.to_owned(), ..Login::default() }.remedy(&pairs(env), &spec).hint
        };
        assert_eq!(hint(GOOGLE, &[], &[("GEMINI_API_KEY", "k")]), GOOGLE_HINT);
        assert_eq!(hint(API_KEY, &[], &[]), KEY_HINT);
        for (kind, key) in [(API_KEY, "GEMINI_API_KEY"), (VERTEX, "GOOGLE_API_KEY")] {
            let expected =
                format!("correct `{key}` below `[backends.gemini.env]` in config.toml, then run `coppice resume`");
            assert_eq!(hint(kind, &[(key, "k")], &[(key, "k")]), expected);
        }
    }

    #[test]
    fn another_account_is_told_from_a_renewed_token() {
        let dir = tempfile::tempdir().unwrap();
        let describe_with = |file: &str, text: &str| {
            fs::write(dir.path().join(file), text).unwrap();
            find(dir.path(), &[]).describe()
        };
        let logged_out = find(dir.path(), &[]).describe();
        describe_with(FILES[0], "{\"access_token\": 1}");
        let mine = describe_with(ACCOUNTS, "{\"active\": \"me\"}");
        assert_ne!(mine, logged_out);
        assert_eq!(describe_with(FILES[0], "{\"access_token\": 2}"), mine);
        assert_ne!(describe_with(ACCOUNTS, "{\"active\": \"you\"}"), mine);
        // The store holds tokens too, unless a key was chosen.
        let stored = describe_with(STORE, "a");
        assert_eq!(describe_with(STORE, "b"), stored);
        describe_with("settings.json", r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#);
        assert_ne!(describe_with(STORE, "c"), describe_with(STORE, "d"));
        assert_ne!(describe_with(".env", "GEMINI_API_KEY=a"), describe_with(".env", "GEMINI_API_KEY=b"));
    }
}
