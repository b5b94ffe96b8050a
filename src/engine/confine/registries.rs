//! The user's settings for package registries, as sessions get them: which registry serves which package, and logins only
//! if the person says so. A build that does not know of a private registry would look for its packages in a public one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use crate::api::request::Environment;
use crate::backend::user_file;
use crate::config::project_env::RegistryTokens;

use super::{places, write_if_other};

/// Parts of names whose values are secrets.
const SECRET_NAMES: &[&str] = &["api_key", "api-key", "credential", "passw", "secret", "token"];
/// Names of npm that are secrets as a whole, besides those that begin with `_`.
const NPM_SECRETS: &[&str] = &["key", "otp", "username"];

/// How variables begin that hold what could also stand in one of the files.
const REGISTRY_VARIABLES: &[&str] = &["npm_config_", "pip_", "uv_", "goproxy"];

/// A program whose settings name registries.
struct RegistryClient {
    /// The name of the copy.
    file: &'static str,
    /// The variable that names the file, for the user and for sessions.
    variable: &'static str,
    /// Where the file is otherwise; the first one counts.
    places: &'static [SettingsPlace],
    format: SettingsFormat,
}

/// How a line of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingsFormat {
    /// `;` and `#` begin a comment anywhere.
    Npm,
    /// An indented line goes on with the value above it.
    Pip,
}

enum SettingsPlace {
    /// Below `HOME`.
    Home(&'static str),
    /// Below `XDG_CONFIG_HOME`.
    Config(&'static str),
}

const CLIENTS: &[RegistryClient] = &[
    RegistryClient {
        file: "npmrc",
        variable: "npm_config_userconfig",
        places: &[SettingsPlace::Home(".npmrc")],
        format: SettingsFormat::Npm,
    },
    RegistryClient {
        file: "pip.conf",
        variable: "PIP_CONFIG_FILE",
        places: &[SettingsPlace::Config("pip/pip.conf"), SettingsPlace::Home(".pip/pip.conf")],
        format: SettingsFormat::Pip,
    },
];

/// Settings without secrets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilteredSettings {
    pub(super) text: String,
    /// Whether the user's file holds more than that.
    pub(super) has_secrets: bool,
}

/// A file of the user's that names registries.
pub(in super::super) struct RegistryFile {
    pub(in super::super) path: PathBuf,
    pub(in super::super) has_secrets: bool,
}

/// The files that are found, for a report.
pub(in super::super) fn find_registry_files(env: &Environment) -> Vec<RegistryFile> {
    let cargo = super::cargo::read_settings(env).map(|(path, settings)| (path, settings.has_secrets));
    let credentials = cargo_credentials(env).filter(|path| path.is_file()).map(|path| (path, true));
    let others = CLIENTS.iter().filter_map(|client| {
        let (path, text) = client.read(env)?;
        Some((path, filter_lines(&text, client.format).has_secrets))
    });
    let all = others.chain(cargo).chain(credentials);
    all.map(|(path, has_secrets)| RegistryFile { path, has_secrets }).collect()
}

/// Writes the copies for sessions into a directory, and names the variables that lead there.
pub(super) fn write_copies(directory: &Path, env: &Environment, tokens: RegistryTokens) -> io::Result<Environment> {
    fs::create_dir_all(directory)?;
    let mut variables = Environment::new();
    for client in CLIENTS {
        let path = directory.join(client.file);
        let text = client.read(env).map(|(_, text)| text).unwrap_or_default();
        let text = match tokens {
            RegistryTokens::Passed => text,
            RegistryTokens::Withheld => filter_lines(&text, client.format).text,
        };
        write_if_other(&path, &text)?;
        variables.insert(client.variable.to_owned(), path.to_string_lossy().into_owned());
    }
    Ok(variables)
}

/// Takes logins out of variables that name registries.
pub(super) fn withhold_tokens(env: &mut Environment) {
    let is_registry = |name: &str| {
        let name = name.to_ascii_lowercase();
        REGISTRY_VARIABLES.iter().any(|beginning| name.starts_with(beginning))
    };
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        // Some hosts take a token as the name.
        let is_user = name.starts_with("uv_index_") && name.ends_with("_username");
        is_user || is_secret_key(&name.replace("npm_config_", ""))
    };
    env.retain(|name, _| !is_registry(name) || !is_secret(name));
    for (name, value) in env.iter_mut().filter(|(name, _)| is_registry(name)) {
        *value = open_value(name, value);
    }
}

/// Whether the user names the file of a registry client by this variable.
pub(super) fn names_settings(variable: &str) -> bool {
    CLIENTS.iter().any(|client| client.variable.eq_ignore_ascii_case(variable))
}

impl RegistryClient {
    fn read(&self, env: &Environment) -> Option<(PathBuf, String)> {
        let named = env.iter().find(|(name, _)| name.eq_ignore_ascii_case(self.variable));
        let mut paths = match named {
            Some((_, path)) => vec![PathBuf::from(path)],
            None => self.places.iter().filter_map(|place| place.path(env)).collect(),
        }
        .into_iter();
        paths.find_map(|path| user_file::read_text(&path).ok().map(|text| (path, text)))
    }
}

impl SettingsPlace {
    fn path(&self, env: &Environment) -> Option<PathBuf> {
        let home = || env.get("HOME").map(PathBuf::from);
        match self {
            Self::Home(name) => Some(home()?.join(name)),
            Self::Config(name) => {
                let config = env.get("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
                Some(config.or_else(|| Some(home()?.join(".config")))?.join(name))
            }
        }
    }
}

fn cargo_credentials(env: &Environment) -> Option<PathBuf> {
    Some(places::cargo_home(env)?.join("credentials.toml"))
}

/// The tokens of cargo's registries as variables. That of crates.io only publishes, so it stays behind.
pub(in super::super) fn cargo_tokens(env: &Environment) -> Environment {
    let text = cargo_credentials(env).and_then(|path| user_file::read_text(&path).ok()).unwrap_or_default();
    let document = text.parse::<DocumentMut>().unwrap_or_default();
    let registries = document.get("registries").and_then(Item::as_table_like);
    let token = |(name, item): (&str, &Item)| {
        let name = name.to_uppercase().replace('-', "_");
        Some((format!("CARGO_REGISTRIES_{name}_TOKEN"), item.get("token")?.as_str()?.to_owned()))
    };
    registries.into_iter().flat_map(|registries| registries.iter().filter_map(token)).collect()
}

/// Lines of `KEY = VALUE` without comments and secrets.
fn filter_lines(text: &str, format: SettingsFormat) -> FilteredSettings {
    let (mut kept, mut has_secrets, mut is_dropping) = (String::new(), false, false);
    for whole in text.split(['\n', '\r']) {
        let comment = match format {
            SettingsFormat::Npm => whole.find(['#', ';']),
            SettingsFormat::Pip => [" #", "\t#", " ;", "\t;"].iter().filter_map(|sign| whole.find(sign)).min(),
        };
        let line = whole[..comment.unwrap_or(whole.len())].trim_end();
        if line.trim().is_empty() || line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        let is_continued = format == SettingsFormat::Pip && line.starts_with([' ', '\t']);
        let key = line.split(['=', ':']).next().unwrap_or_default();
        let names = [key, line.split('=').next().unwrap_or_default()];
        is_dropping = is_dropping && is_continued || names.into_iter().any(is_secret_key);
        let open = open_value(key, line);
        has_secrets |= is_dropping || open != line || comment.is_some_and(|at| may_be_secret(&whole[at..]));
        if !is_dropping {
            kept.extend([open.as_str(), "\n"]);
        }
    }
    FilteredSettings { text: kept, has_secrets }
}

/// Whether a comment may be a setting that somebody switched off.
fn may_be_secret(comment: &str) -> bool {
    is_secret_name(comment) || comment.contains("_auth") || has_login(comment)
}

/// A value without logins. The address of a proxy may stand there without its scheme.
fn open_value(key: &str, value: &str) -> String {
    let open = without_logins(value);
    match open.rfind('@') {
        Some(at) if key.to_ascii_lowercase().contains("proxy") && !open.contains("://") => {
            let start = open.find('=').filter(|sign| *sign < at).map_or(0, |sign| sign + 1);
            format!("{}{}", &open[..start], &open[at + 1..])
        }
        Some(_) | None => open,
    }
}

/// Whether a key holds a secret. Keys of npm may begin with the address that they are for, and stand in quotes.
fn is_secret_key(key: &str) -> bool {
    let name = key.trim().trim_matches(['"', '\'']).rsplit([':', '/']).next().unwrap_or_default().trim();
    name.starts_with('_') || NPM_SECRETS.contains(&name) || is_secret_name(name)
}

/// Whether the value of such a name is a secret.
pub(in super::super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Whether a text holds an address with somebody's name in it, other than the one that everybody uses for ssh.
pub(super) fn has_login(text: &str) -> bool {
    without_logins(text) != text
}

/// A text with its addresses, but without the names and passwords in them.
pub(in super::super) fn without_logins(text: &str) -> String {
    let mut parts = text.split("://");
    let mut open = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A password may hold any other sign.
        let host_end = part.find(|c: char| "/?#\"".contains(c) || c.is_whitespace()).unwrap_or(part.len());
        let login = part[..host_end].rsplit_once('@').filter(|(user, _)| *user != "git");
        open.extend(["://", login.map_or(part, |(user, _)| &part[user.len() + 1..])]);
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_stay_and_logins_go() {
        for (format, text, expected, has_secrets) in [
            (SettingsFormat::Npm, "registry=https://npm.example.org/\n", "registry=https://npm.example.org/\n", false),
            (
                SettingsFormat::Npm,
                "; by hand\n\n@ours:registry = https://h/x\n",
                "@ours:registry = https://h/x\n",
                false,
            ),
            (
                SettingsFormat::Npm,
                "//h/x/:_authToken=abc\n@ours:registry=https://h/x\n",
                "@ours:registry=https://h/x\n",
                true,
            ),
            (SettingsFormat::Npm, "//h/x/:_authToken = ${NPM_TOKEN}\n", "", true),
            (
                SettingsFormat::Npm,
                "//h/:username=me\n//h/:_password=cHc=\n//h/:always-auth=true\n",
                "//h/:always-auth=true\n",
                true,
            ),
            (SettingsFormat::Npm, "_auth=abc\nkey=\"-----BEGIN\"\nca=null\n", "ca=null\n", true),
            (SettingsFormat::Npm, "email=me@example.org\n", "email=me@example.org\n", false),
            (
                SettingsFormat::Pip,
                "[global]\nindex-url = https://me:pw@h/simple\n",
                "[global]\nindex-url = https://h/simple\n",
                true,
            ),
            (
                SettingsFormat::Pip,
                "[global]\nextra-index-url =\n  https://a/simple\n  https://t0k@b/simple\n",
                "[global]\nextra-index-url =\n  https://a/simple\n  https://b/simple\n",
                true,
            ),
            (SettingsFormat::Pip, "password =\n  one=two\n  three\ntimeout = 5\n", "timeout = 5\n", true),
            (SettingsFormat::Pip, "index-url: https://u:p@h/x\n", "index-url: https://h/x\n", true),
            (SettingsFormat::Pip, "index-url = https://me:S3,C'RET@h/\n", "index-url = https://h/\n", true),
            (
                SettingsFormat::Pip,
                "proxy = me:pw@proxy:8080\nindex-url = https://h/ # or https://u:p@h/\n",
                "proxy =proxy:8080\nindex-url = https://h/\n",
                true,
            ),
            (SettingsFormat::Npm, "\"_auth\"=abc\n\"//h/:username\"=me\n", "", true),
            (
                SettingsFormat::Npm,
                "registry=https://h/ ; _authToken=abc\nproxy=me:pw@proxy:1\n",
                "registry=https://h/\nproxy=proxy:1\n",
                true,
            ),
            (
                SettingsFormat::Npm,
                " //h/:_authToken=abc\n @ours:registry=https://h/\n",
                " @ours:registry=https://h/\n",
                true,
            ),
            (SettingsFormat::Npm, "x=y\r//h/:_authToken=abc\r\n", "x=y\n", true),
            (SettingsFormat::Npm, "@b:registry=https://me:S3,CRET@h/\n", "@b:registry=https://h/\n", true),
        ] {
            let expected = FilteredSettings { text: expected.to_owned(), has_secrets };
            assert_eq!(filter_lines(text, format), expected, "{text}");
        }
    }

    #[test]
    fn a_login_is_taken_out_of_every_address() {
        for (text, expected) in [
            ("https://h/x@y", "https://h/x@y"),
            ("https://u:p@h/x", "https://h/x"),
            ("https://u:p@ss@h", "https://h"),
            ("ssh://git@h/x", "ssh://git@h/x"),
            ("a=https://t@h/ b=https://h2?x=@", "a=https://h/ b=https://h2?x=@"),
            ("https://u:p@a|https://u:p@b,direct", "https://a|https://b,direct"),
            ("https://u:p,w'd@a,https://b", "https://a,https://b"),
            ("me@example.org", "me@example.org"),
            ("://", "://"),
        ] {
            assert_eq!(without_logins(text), expected);
        }
    }

    #[test]
    fn variables_name_registries_without_logins() {
        let given = [
            ("PIP_INDEX_URL", "https://u:p@h/simple"),
            ("UV_DEFAULT_INDEX", "ours=https://u:p@h/simple"),
            ("UV_INDEX_OURS_PASSWORD", "p"),
            ("UV_INDEX_OURS_USERNAME", "t0k"),
            ("PIP_PROXY", "me:p@proxy:1"),
            ("NPM_CONFIG_REGISTRY", "https://h/"),
            ("NPM_CONFIG__AUTH", "abc"),
            ("npm_config_//h/:_authToken", "abc"),
            ("GOPROXY", "https://u:p@h,direct"),
            ("HTTPS_PROXY", "http://u:p@proxy:1"),
        ];
        let mut env = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        withhold_tokens(&mut env);
        let found: Vec<_> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            found.join(" "),
            "GOPROXY=https://h,direct HTTPS_PROXY=http://u:p@proxy:1 NPM_CONFIG_REGISTRY=https://h/ \
             PIP_INDEX_URL=https://h/simple PIP_PROXY=proxy:1 UV_DEFAULT_INDEX=ours=https://h/simple"
        );
    }
}
