//! MCP servers of the agent programs, as `[mcp.servers.NAME]` of the user's own configuration.
//!
//! Values of variables go from one file to the other and nowhere else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::api::error::{Error, ErrorKind};
use crate::api::import::{ImportServers, ImportState, ImportableServer, ListServers, ServerImport};
use crate::api::request::Environment;
use crate::backend::spec::Spec;
use crate::backend::user_setup::{FoundServer, ServerConnection, ServerSwitch, UserSetup, read_user_setup};
use crate::config::{LayerKind, Origin, Value, key, set_key};
use crate::tools::external::is_server_name;

use super::super::Engine;
use super::super::actor::blocking;
use super::super::confine::{is_secret_name, without_logins};
use super::super::fault::Fault;
use super::super::settings::OwnFile;
use super::super::standing::Standing;

/// Stands for a secret.
pub(in super::super) const HIDDEN: &str = "…";

/// Parts of options whose values may hold secrets, besides those of variables.
const SECRET_OPTIONS: &[&str] = &["auth", "bearer", "header"];

/// A word of at least as many letters and digits may be a key.
const TOKEN_LENGTH: usize = 24;

/// The command and the variables of each configured server, by its name.
pub(super) type KnownServers = BTreeMap<String, (Vec<String>, BTreeMap<String, String>)>;

/// A server and the backend that it was found for.
struct Candidate {
    backend: String,
    server: FoundServer,
}

/// What can become of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    import_as: String,
    pub(super) state: ImportState,
    note: Option<String>,
}

impl Engine {
    /// The servers that the user configured for the agent programs, and whether they can be taken over.
    pub async fn importable_servers(&self, request: ListServers) -> Result<ServerImport, Error> {
        let ListServers { cwd, environment } = request;
        let (candidates, broken) = self.find_servers(cwd, environment).await?;
        let known = self.configured_servers()?;
        let shown = |candidate: &Candidate| candidate.show(judge_server(&candidate.server, None, &known));
        Ok(self.server_import(candidates.iter().map(shown).collect(), broken))
    }

    /// Writes servers to the user's own configuration, all of them or none.
    pub async fn import_servers(&self, request: ImportServers) -> Result<ServerImport, Error> {
        let ImportServers { cwd, environment, names, backend, import_as } = request;
        if import_as.is_some() && names.len() != 1 {
            return Err(Error::new(ErrorKind::Invalid, "another name is for one server"));
        }
        let (mut candidates, broken) = self.find_servers(cwd, environment).await?;
        candidates.retain(|candidate| backend.as_ref().is_none_or(|backend| candidate.backend == *backend));
        let named = names.iter().map(|name| choose_server(&candidates, name)).collect::<Result<Vec<_>, _>>()?;
        let chosen = if names.is_empty() { candidates.iter().collect() } else { named };
        let mut known = self.configured_servers()?;
        let (mut servers, mut changes) = (Vec::new(), Vec::new());
        for candidate in chosen {
            let mut judgement = judge_server(&candidate.server, import_as.as_deref(), &known);
            let is_wanted = match judgement.state {
                ImportState::Ready => true,
                ImportState::ByName => !names.is_empty(),
                ImportState::Clash | ImportState::Unusable if !names.is_empty() => {
                    return Err(refuse(&candidate.server.name, judgement.note));
                }
                ImportState::Clash | ImportState::Unusable | ImportState::Present | ImportState::Imported => false,
            };
            if let ServerConnection::Stdio { command, env, .. } = &candidate.server.connection
                && is_wanted
            {
                let settings = settings_of(&judgement.import_as, command, env);
                changes.extend(settings.into_iter().map(|(key, value)| (key, Some(value))));
                known.insert(judgement.import_as.clone(), (command.clone(), env.clone()));
                judgement.state = ImportState::Imported;
            }
            servers.push(candidate.show(judgement));
        }
        self.shared.settings.change_all(OwnFile::User, &changes)?;
        Ok(self.server_import(servers, broken))
    }

    async fn find_servers(
        &self,
        cwd: Option<String>,
        environment: Environment,
    ) -> Result<(Vec<Candidate>, Vec<String>), Fault> {
        let environment = self.accept_environment(environment);
        let (mut candidates, mut broken) = (Vec::new(), Vec::new());
        for (backend, setup) in self.read_setups(cwd, &environment).await? {
            broken.extend(setup.broken);
            candidates.extend(setup.servers.into_iter().map(|server| Candidate { backend: backend.clone(), server }));
        }
        Ok((candidates, broken))
    }

    /// What the user of an environment configured for each backend. Coppice is no server of its own.
    pub(super) async fn read_setups(
        &self,
        cwd: Option<String>,
        environment: &Environment,
    ) -> Result<Vec<(String, UserSetup)>, Fault> {
        let registry = self.shared.settings.registry(&self.shared.settings.user()?);
        let directories = self.project_directories(cwd).await;
        let env: Vec<_> = environment.clone().into_iter().collect();
        let read = move |spec: &Spec| {
            let mut setup = read_user_setup(spec, &env, &directories);
            setup.servers.retain(|server| !is_own(server));
            (spec.name.clone(), setup)
        };
        blocking(move || Ok(registry.offered().map(read).collect())).await
    }

    /// Where programs keep what is for the repository of a directory alone: by the directory itself, or by the checkout.
    async fn project_directories(&self, cwd: Option<String>) -> Vec<String> {
        let Some(cwd) = cwd else { return Vec::new() };
        let standing = Standing::find(&self.shared, PathBuf::from(&cwd)).await;
        let checkout = standing.ok().and_then(|standing| standing.repo.checkout().map(Path::to_owned));
        std::iter::once(cwd).chain(checkout.map(|path| path.to_string_lossy().into_owned())).collect()
    }

    pub(super) fn configured_servers(&self) -> Result<KnownServers, Fault> {
        let servers = self.shared.settings.user()?.mcp_servers;
        Ok(servers.into_iter().map(|(name, server)| (name, (server.command, server.env))).collect())
    }

    fn server_import(&self, servers: Vec<ImportableServer>, broken: Vec<String>) -> ServerImport {
        ServerImport { target: self.shared.settings.user_file.display().to_string(), servers, broken }
    }
}

impl Candidate {
    fn show(&self, judgement: Judgement) -> ImportableServer {
        let Judgement { import_as, state, note } = judgement;
        let (command, variables) = match &self.server.connection {
            ServerConnection::Stdio { command, env, unresolved, .. } => {
                let variables = env.keys().chain(unresolved.iter().map(|(name, _)| name));
                (hide_secrets(command), variables.cloned().collect())
            }
            ServerConnection::Remote { .. } | ServerConnection::Missing => (Vec::new(), Vec::new()),
        };
        ImportableServer {
            name: self.server.name.clone(),
            import_as,
            backend: self.backend.clone(),
            file: self.server.file.display().to_string(),
            command,
            variables,
            state,
            note,
        }
    }
}

/// The one server of a name; several that have the same command are one.
fn choose_server<'a>(candidates: &'a [Candidate], name: &str) -> Result<&'a Candidate, Error> {
    let found: Vec<_> = candidates.iter().filter(|candidate| candidate.server.name == name).collect();
    match found.as_slice() {
        [first, others @ ..] => {
            let differs = |other: &&&Candidate| other.server.connection != first.server.connection;
            match others.iter().find(differs) {
                None => Ok(first),
                Some(other) => {
                    let (one, other) = (&first.backend, &other.backend);
                    let message = format!("`{one}` and `{other}` have different servers called `{name}`");
                    let hint = format!("add `--from {one}` or `--from {other}`");
                    Err(Error::new(ErrorKind::Invalid, message).with_hint(hint))
                }
            }
        }
        [] => {
            let known: Vec<_> = candidates.iter().map(|candidate| format!("`{}`", candidate.server.name)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("no MCP server is called `{name}`; there is {known}");
            Err(Error::new(ErrorKind::NotFound, message).with_hint("`coppice mcp import` lists them"))
        }
    }
}

fn refuse(name: &str, note: Option<String>) -> Error {
    let error = Error::new(ErrorKind::Conflict, format!("MCP server `{name}` was not imported"));
    Error { causes: note.into_iter().collect(), ..error }
}

/// Decides what can become of a server; `known` are those that the user's own configuration has.
pub(super) fn judge_server(server: &FoundServer, import_as: Option<&str>, known: &KnownServers) -> Judgement {
    let import_as = import_as.map_or_else(|| plain_name(&server.name), str::to_owned);
    let judge = |state, note: Option<String>| Judgement { import_as: import_as.clone(), state, note };
    let unusable = |note: &str| judge(ImportState::Unusable, Some(note.to_owned()));
    let (command, env, unresolved, reference, directory) = match &server.connection {
        ServerConnection::Stdio { command, env, unresolved, reference, directory } => {
            (command, env, unresolved, reference, directory)
        }
        ServerConnection::Remote { url } => {
            let url = hide_query(&without_logins(url));
            return unusable(&format!(
                "speaks HTTP at `{url}`, and sessions use servers on stdin and stdout; a program that connects the two, such \
                 as `npx mcp-remote URL`, can be `mcp.servers.NAME.command`"
            ));
        }
        ServerConnection::Missing => return unusable("the entry has neither `command` nor `url`"),
    };
    // One command can serve two things by its variables, such as two databases; further ones may have been set by hand.
    let has_same_variables =
        |known: &BTreeMap<String, String>| env.iter().all(|(name, value)| known.get(name) == Some(value));
    let is_same = |name: &String, (known, variables): &(Vec<String>, BTreeMap<String, String>)| {
        known == command && (*name == import_as || has_same_variables(variables))
    };
    if let Some((name, _)) = known.iter().find(|(name, known)| is_same(name, known)) {
        return judge(ImportState::Present, (*name != import_as).then(|| format!("name here: `{name}`")));
    }
    if let Some(reference) = reference {
        return unusable(&format!(
            "the command contains `{reference}`, which Coppice does not expand; set `mcp.servers.NAME.command` yourself"
        ));
    }
    if !is_usable_name(&import_as) {
        return unusable(
            "the name cannot be used here; `--as` takes one of lower-case letters, digits, `-` and single `_`",
        );
    }
    let origin = Origin { label: server.file.display().to_string(), kind: LayerKind::User };
    let is_refused = |(key, value): &(String, String)| set_key("", &origin, key, value).is_err();
    if settings_of(&import_as, command, env).iter().any(is_refused) {
        return unusable("its command or `env` cannot be written in config.toml");
    }
    if known.contains_key(&import_as) {
        let note =
            format!("`mcp.servers.{import_as}` has another command; `--as NAME` imports this one under another name");
        return judge(ImportState::Clash, Some(note));
    }
    let renamed = (import_as != server.name).then(|| format!("name here: `{import_as}`"));
    let elsewhere = directory.is_some().then(|| "its `cwd` is ignored".to_owned());
    let is_off = server.switch == ServerSwitch::Off;
    let off = is_off.then(|| "disabled in that file".to_owned());
    let missing = unresolved.iter().map(|(name, reference)| {
        format!(
            "`{name}` comes from the shell's `{reference}`, which Coppice does not expand; set it in `[mcp.servers.{import_as}.env]`"
        )
    });
    let notes: Vec<_> = off.into_iter().chain(missing).chain(renamed).chain(elsewhere).collect();
    let state = if is_off || !unresolved.is_empty() { ImportState::ByName } else { ImportState::Ready };
    judge(state, (!notes.is_empty()).then(|| notes.join("; ")))
}

/// Whether a server would be Coppice itself.
fn is_own(server: &FoundServer) -> bool {
    let ServerConnection::Stdio { command, .. } = &server.connection else { return false };
    let program = command.first().map(Path::new).and_then(Path::file_name);
    program.is_some_and(|name| name == env!("CARGO_PKG_NAME")) && command.get(1).is_some_and(|word| word == "mcp")
}

/// The name that is most like one of another program and can be used here.
fn plain_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c| !is_plain(c)).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    words.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

fn is_usable_name(name: &str) -> bool {
    is_server_name(name) && key::find(&format!("mcp.servers.{name}.command")).is_some()
}

/// The keys of a server and their values, as they are typed.
fn settings_of(name: &str, command: &[String], env: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let setting = |key: &str, value: Value| (format!("mcp.servers.{name}.{key}"), value.to_string());
    let variables = (!env.is_empty()).then(|| setting("env", Value::Variables(env.clone())));
    std::iter::once(setting("command", Value::List(command.to_vec()))).chain(variables).collect()
}

/// A command for a screen. Values of options and variables whose names speak of secrets, and logins in addresses, are hidden.
fn hide_secrets(command: &[String]) -> Vec<String> {
    let is_secret = |name: &str| {
        let lower = name.to_lowercase();
        is_secret_name(name) || SECRET_OPTIONS.iter().any(|part| lower.contains(part))
    };
    let mut shown = Vec::new();
    let mut is_value = false;
    for word in command {
        let open = hide_query(&without_logins(word));
        shown.push(match open.split_once('=') {
            _ if is_value || is_token(word) => HIDDEN.to_owned(),
            Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
            Some(_) | None => open,
        });
        is_value = word.starts_with('-') && !word.contains('=') && is_secret(word);
    }
    shown
}

/// Whether a word looks like nothing but a key.
fn is_token(word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    word.len() >= TOKEN_LENGTH && word.chars().all(is_letter) && word.contains(|c: char| c.is_ascii_digit())
}

/// An address without its parameters.
fn hide_query(text: &str) -> String {
    match text.split_once('?') {
        Some((address, _)) if address.contains("://") => format!("{address}?{HIDDEN}"),
        Some(_) | None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn server(name: &str, command: &str) -> FoundServer {
        let connection = ServerConnection::Stdio {
            command: words(command),
            env: BTreeMap::new(),
            unresolved: Vec::new(),
            reference: None,
            directory: None,
        };
        FoundServer { name: name.to_owned(), file: "/h/.x".into(), connection, switch: ServerSwitch::On }
    }

    fn judge(server: &FoundServer, import_as: Option<&str>) -> String {
        let variables = BTreeMap::from([("DB".to_owned(), "one".to_owned())]);
        let known = KnownServers::from([("db".to_owned(), (words("db-mcp --mine"), variables))]);
        let Judgement { import_as, state, note } = judge_server(server, import_as, &known);
        format!("{import_as:8} {state:?} | {}", note.unwrap_or_default())
    }

    #[test]
    fn a_server_is_ready_or_says_why_not() {
        let off = FoundServer { switch: ServerSwitch::Off, ..server("off", "x") };
        let remote = ServerConnection::Remote { url: "https://me:pw@h/mcp?key=s3cret".to_owned() };
        let remote = FoundServer { connection: remote, ..server("web", "x") };
        let missing = FoundServer { connection: ServerConnection::Missing, ..server("odd", "x") };
        let open = |unresolved: &[(&str, &str)], reference: Option<&str>| FoundServer {
            connection: ServerConnection::Stdio {
                command: words("x"),
                env: BTreeMap::new(),
                unresolved: unresolved.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
                reference: reference.map(str::to_owned),
                directory: Some("/srv".to_owned()),
            },
            ..server("open", "x")
        };
        let with = |value: &str| FoundServer {
            connection: ServerConnection::Stdio {
                command: words("db-mcp --mine"),
                env: BTreeMap::from([("DB".to_owned(), value.to_owned())]),
                unresolved: Vec::new(),
                reference: None,
                directory: None,
            },
            ..server("second", "x")
        };
        let rows = [
            judge(&with("one"), None),
            judge(&with("two"), None),
            judge(&server("git", "git-mcp"), None),
            judge(&server("My Server", "x"), None),
            judge(&server("other", "db-mcp --mine"), None),
            judge(&server("db", "db-mcp --mine"), None),
            judge(&server("db", "db-mcp"), None),
            judge(&server("db", "db-mcp"), Some("db2")),
            judge(&server("db", "db-mcp"), Some("a__b")),
            judge(&server("ä", "x"), None),
            judge(&server("nul", "x\0"), None),
            judge(&off, None),
            judge(&remote, None),
            judge(&missing, None),
            judge(&open(&[("TOKEN", "${GH}")], None), None),
            judge(&open(&[], Some("${ROOT}")), None),
        ];
        insta::assert_snapshot!(rows.join("\n"), @r"
        second   Present | name here: `db`
        second   Ready | 
        git      Ready | 
        my-server Ready | name here: `my-server`
        other    Present | name here: `db`
        db       Present | 
        db       Clash | `mcp.servers.db` has another command; `--as NAME` imports this one under another name
        db2      Ready | name here: `db2`
        a__b     Unusable | the name cannot be used here; `--as` takes one of lower-case letters, digits, `-` and single `_`
                 Unusable | the name cannot be used here; `--as` takes one of lower-case letters, digits, `-` and single `_`
        nul      Unusable | its command or `env` cannot be written in config.toml
        off      ByName | disabled in that file
        web      Unusable | speaks HTTP at `https://h/mcp?…`, and sessions use servers on stdin and stdout; a program that connects the two, such as `npx mcp-remote URL`, can be `mcp.servers.NAME.command`
        odd      Unusable | the entry has neither `command` nor `url`
        open     ByName | `TOKEN` comes from the shell's `${GH}`, which Coppice does not expand; set it in `[mcp.servers.open.env]`; its `cwd` is ignored
        open     Unusable | the command contains `${ROOT}`, which Coppice does not expand; set `mcp.servers.NAME.command` yourself
        ");
    }

    #[test]
    fn coppice_itself_is_no_server_to_import() {
        for (command, expected) in [
            ("coppice mcp", true),
            ("/usr/local/bin/coppice mcp", true),
            ("coppice", false),
            ("coppice-tools mcp", false),
            ("npx coppice mcp", false),
        ] {
            assert_eq!(is_own(&server("x", command)), expected, "{command}");
        }
    }

    #[test]
    fn names_become_plain() {
        for (name, expected) in
            [("db", "db"), ("My Server", "my-server"), ("plugin:a.b", "plugin-a-b"), ("_a__b_", "a_b"), ("ä", "")]
        {
            assert_eq!(plain_name(name), expected);
            assert_eq!(is_usable_name(&plain_name(name)), !expected.is_empty());
        }
    }

    #[test]
    fn no_secret_of_a_command_is_shown() {
        for (command, expected) in [
            ("npx -y @scope/server-github", "npx -y @scope/server-github"),
            ("x --api-key s3cret --port 1", "x --api-key … --port 1"),
            ("x --token=s3cret", "x --token=…"),
            ("docker run -e GITHUB_TOKEN=s3cret -e PORT=1 image", "docker run -e GITHUB_TOKEN=… -e PORT=1 image"),
            ("docker run -e GITHUB_TOKEN image", "docker run -e GITHUB_TOKEN image"),
            ("pg postgres://me:s3cret@h/db?password=s3cret", "pg postgres://h/db?…"),
            ("mcp-remote https://h --header Bearer-s3cret", "mcp-remote https://h --header …"),
            ("x ghp_0123456789abcdefghijABCDEFGHIJ", "x …"),
        ] {
            assert_eq!(hide_secrets(&words(command)).join(" "), expected);
        }
    }

    #[test]
    fn settings_are_spelled_so_that_they_are_read_as_they_were() {
        let origin = Origin { label: "config.toml".into(), kind: LayerKind::User };
        let command = ["db", "--say=\"hi\"", "a\\b", "line\nbreak", "ü 🦀 \u{202e}"].map(str::to_owned).to_vec();
        let env = BTreeMap::from([("A".to_owned(), "x = \"1\"\n".to_owned()), ("B.C".to_owned(), String::new())]);
        let mut text = String::new();
        for (key, value) in settings_of("db", &command, &env) {
            text = set_key(&text, &origin, &key, &value).unwrap();
        }
        let layer = crate::config::parse(&text, &origin).unwrap();
        let config = crate::config::resolve(&[layer], crate::config::Trust::Untrusted);
        assert_eq!((&config.mcp_servers["db"].command, &config.mcp_servers["db"].env), (&command, &env));
    }
}
