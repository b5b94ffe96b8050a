//! What the user configured for an agent program and its sessions do not use: MCP servers, rules that allow something,
//! hooks, plugins and the like. Read for reports and imports; nothing is written, and nothing that a repository brings is
//! read.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{DocumentMut, Item};

use crate::backend::login::with_own;
use crate::backend::spec::{Spec, Transport};
use crate::backend::user_file::{read_beginning, read_json, read_text};
use crate::backend::{claude, codex, gemini};

/// What was found for one program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UserSetup {
    pub(crate) servers: Vec<FoundServer>,
    /// What cannot be taken over.
    pub(crate) unused: Vec<UnusedPart>,
    /// The settings, where they allow something.
    pub(crate) rule_file: Option<PathBuf>,
    /// Files that cannot be read, as `PATH:LINE:COLUMN: why`.
    pub(crate) broken: Vec<String>,
}

/// A part of the set-up that sessions leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnusedPart {
    pub(crate) what: &'static str,
    pub(crate) place: PathBuf,
    /// Why, and what to do instead.
    pub(crate) advice: &'static str,
}

const HOOKS: &str = "they run programs; `worktree.setup` prepares worktrees, `notify.command` tells you about sessions";
const PLUGINS: &str = "they bring programs; what they say can stand in an agent's file (`coppice agents init`)";
const STYLE: &str = "an agent's file says how to answer (`coppice agents init`)";
const COMMANDS: &str = "they can run programs; a skill beside config.toml is loaded by `$NAME`";
const NOTIFY: &str = "it runs a program after each turn; `notify.command` runs one when a session needs you";

const REST: &str = "with what they import they are longer than 64 KiB, and the model reads no more of them";

/// Settings of Claude Code about logins that sessions do without.
const LOGIN_SETTINGS: &[(&str, &str)] = &[
    (
        "awsAuthRefresh",
        "it logs in with a browser and writes `~/.aws`, which sessions only read; run the command in a shell, then `coppice \
         resume`",
    ),
    (
        "gcpAuthRefresh",
        "it logs in with a browser and writes `~/.config/gcloud`, which sessions only read; run the command in a shell, then \
         `coppice resume`",
    ),
    ("forceLoginMethod", "it says how `claude auth login` logs in; sessions use the login that is there"),
    ("forceLoginOrgUUID", "it says where `claude auth login` logs in; sessions use the login that is there"),
];

/// An MCP server in the configuration of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundServer {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) connection: ServerConnection,
    pub(crate) switch: ServerSwitch,
}

/// How the program reaches a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerConnection {
    Stdio {
        command: Vec<String>,
        env: BTreeMap<String, String>,
        /// Variables whose value the configuration takes from the shell, with the reference: `TOKEN` and `${GITHUB_TOKEN}`.
        unresolved: Vec<(String, String)>,
        /// The first reference among the words of the command.
        reference: Option<String>,
        /// The directory that it is started in.
        directory: Option<String>,
    },
    Remote {
        url: String,
    },
    /// The entry names neither a program nor an address.
    Missing,
}

/// Whether the program uses a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerSwitch {
    On,
    Off,
}

/// How a program refers to variables of the shell in its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferenceSyntax {
    /// Texts mean themselves.
    None,
    /// `${NAME}`
    Braces,
    /// `${NAME}` and `$NAME`
    Bare,
}

/// Reads what the user of this environment configured. `directories` are those under which a program may keep what is for
/// one repository alone.
pub(crate) fn read_user_setup(spec: &Spec, env: &[(String, String)], directories: &[String]) -> UserSetup {
    let env = with_own(spec, env);
    let mut setup = UserSetup::default();
    match spec.transport {
        Transport::Claude => setup.add_claude(&env, directories),
        Transport::Codex => setup.add_codex(&env),
        Transport::Gemini => setup.add_gemini(&env),
        // Nobody knows where another program keeps its configuration.
        Transport::Acp => {}
    }
    setup
}

impl UserSetup {
    fn add_claude(&mut self, env: &[(String, String)], directories: &[String]) {
        if let Some(file) = claude::user_settings_file(env) {
            let settings = self.read_json(&file);
            let plugins = settings["enabledPlugins"].as_object().into_iter().flatten();
            let style = settings["outputStyle"].as_str().filter(|style| *style != "default");
            self.check_readable(&file.with_file_name("CLAUDE.md"));
            self.leave_out("hooks", count_members(&settings["hooks"]), file.clone(), HOOKS);
            self.leave_out("plugins", plugins.filter(|(_, is_on)| **is_on == true).count(), file.clone(), PLUGINS);
            self.leave_out("output style", style.iter().count(), file.clone(), STYLE);
            for (key, advice) in LOGIN_SETTINGS.iter().filter(|(key, _)| !settings[*key].is_null()) {
                self.leave_out(key, 1, file.clone(), advice);
            }
            let allows = settings["permissions"]["allow"].as_array().is_some_and(|rules| !rules.is_empty());
            self.rule_file = allows.then_some(file);
        }
        self.unused.extend(claude::find_cut_instructions(env).map(cut_instructions));
        let Some(file) = claude::user_main(env) else { return };
        let main = self.read_json(&file);
        // One for the repository alone hides those of the same name for all.
        for directory in directories {
            self.add_servers(&file, &main["projects"][directory]["mcpServers"], ReferenceSyntax::Braces);
        }
        self.add_servers(&file, &main["mcpServers"], ReferenceSyntax::Braces);
    }

    fn add_codex(&mut self, env: &[(String, String)]) {
        let Some(file) = codex::config_file(env) else { return };
        self.broken.extend(codex::find_config_error(env));
        let text = read_text(&file).unwrap_or_default();
        let document = text.parse::<DocumentMut>().unwrap_or_default();
        let config = to_json(document.as_item());
        self.add_servers(&file, &config["mcp_servers"], ReferenceSyntax::None);
        self.check_readable(&file.with_file_name("AGENTS.md"));
        let hooks = file.with_file_name("hooks.json");
        let plugins = config["plugins"].as_object().into_iter().flatten();
        let plugins = plugins.filter(|(_, plugin)| plugin["enabled"] != false).count();
        self.leave_out("hooks", usize::from(hooks.is_file()), hooks, HOOKS);
        self.leave_out("hooks", count_members(&config["hooks"]), file.clone(), HOOKS);
        self.leave_out("notify", config["notify"].as_array().map_or(0, Vec::len), file.clone(), NOTIFY);
        self.leave_out("plugins", plugins, file.clone(), PLUGINS);
    }

    fn add_gemini(&mut self, env: &[(String, String)]) {
        let dir = gemini::users_dir(env);
        let file = dir.join("settings.json");
        let settings = self.read_json(&file);
        self.check_readable(&dir.join("GEMINI.md"));
        self.unused.extend(gemini::find_cut_instructions(env).map(cut_instructions));
        self.add_servers(&file, &settings["mcpServers"], ReferenceSyntax::Bare);
        self.leave_out("hooks", count_members(&settings["hooks"]), file, HOOKS);
        self.leave_out_directory("extensions", dir.join("extensions"), PLUGINS);
        self.leave_out_directory("commands", dir.join("commands"), COMMANDS);
    }

    /// A file that is missing says nothing.
    fn read_json(&mut self, file: &Path) -> Value {
        read_json(file).unwrap_or_else(|broken| {
            self.broken.push(broken);
            Value::Null
        })
    }

    /// Names a file of instructions that is there and does not reach the model.
    fn check_readable(&mut self, file: &Path) {
        match read_beginning(file, 1) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => self.broken.push(format!("{}: {error}", file.display())),
        }
    }

    fn leave_out(&mut self, what: &'static str, count: usize, place: PathBuf, advice: &'static str) {
        self.unused.extend((count > 0).then_some(UnusedPart { what, place, advice }));
    }

    /// What the user put into a directory; names with a dot are the program's own.
    fn leave_out_directory(&mut self, what: &'static str, directory: PathBuf, advice: &'static str) {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let count = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")).count();
        self.leave_out(what, count, directory, advice);
    }

    fn add_servers(&mut self, file: &Path, entries: &Value, syntax: ReferenceSyntax) {
        for (name, entry) in entries.as_object().into_iter().flatten() {
            if self.servers.iter().all(|known| known.name != *name) {
                self.servers.push(parse_server(name, file, entry, syntax));
            }
        }
    }
}

fn cut_instructions(place: PathBuf) -> UnusedPart {
    UnusedPart { what: "the rest", place, advice: REST }
}

/// How many members of an object say something.
fn count_members(value: &Value) -> usize {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    value.as_object().into_iter().flatten().filter(|(_, value)| !is_empty(value)).count()
}

fn to_json(item: &Item) -> Value {
    match (item.as_table_like(), item.as_array()) {
        (Some(table), _) => table.iter().map(|(name, item)| (name.to_owned(), to_json(item))).collect(),
        (None, Some(array)) => array.iter().map(|value| to_json(&Item::Value(value.clone()))).collect(),
        (None, None) => {
            let text = item.as_str().map(Value::from);
            let number = || item.as_integer().map(Value::from);
            text.or_else(|| item.as_bool().map(Value::from)).or_else(number).unwrap_or_default()
        }
    }
}

fn parse_server(name: &str, file: &Path, entry: &Value, syntax: ReferenceSyntax) -> FoundServer {
    let text = |key: &str| entry[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let connection = match (text("command"), text("url").or_else(|| text("httpUrl"))) {
        (Some(program), _) => parse_stdio(program, entry, syntax),
        (None, Some(url)) => ServerConnection::Remote { url },
        (None, None) => ServerConnection::Missing,
    };
    let is_off = entry["enabled"] == false || entry["disabled"] == true;
    let switch = if is_off { ServerSwitch::Off } else { ServerSwitch::On };
    FoundServer { name: name.to_owned(), file: file.to_owned(), connection, switch }
}

fn parse_stdio(program: String, entry: &Value, syntax: ReferenceSyntax) -> ServerConnection {
    let arguments = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let command: Vec<_> = std::iter::once(program).chain(arguments).collect();
    let (mut env, mut unresolved) = (BTreeMap::new(), Vec::new());
    for (name, value) in entry["env"].as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match find_reference(&value, syntax) {
            Some(reference) => unresolved.push((name.clone(), reference)),
            None => drop(env.insert(name.clone(), value)),
        }
    }
    let forwarded = entry["env_vars"].as_array().into_iter().flatten();
    let forwarded = forwarded.filter_map(|variable| variable.as_str().or_else(|| variable["name"].as_str()));
    unresolved.extend(forwarded.map(|name| (name.to_owned(), format!("${{{name}}}"))));
    let reference = command.iter().find_map(|word| find_reference(word, syntax));
    let directory = entry["cwd"].as_str().map(str::to_owned);
    ServerConnection::Stdio { command, env, unresolved, reference, directory }
}

/// The first variable that a text refers to, as `${NAME}`; what it has instead of one that is not set is left out.
fn find_reference(text: &str, syntax: ReferenceSyntax) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices('$').find_map(|(sign, _)| {
        let rest = &text[sign + 1..];
        let inner = match (syntax, rest.strip_prefix('{')) {
            (ReferenceSyntax::None, _) | (ReferenceSyntax::Braces, None) => return None,
            (ReferenceSyntax::Braces | ReferenceSyntax::Bare, Some(braced)) => braced.split_once('}')?.0,
            (ReferenceSyntax::Bare, None) => rest,
        };
        let name = &inner[..inner.find(|c| !is_letter(c)).unwrap_or(inner.len())];
        (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then(|| format!("${{{name}}}"))
    })
}
