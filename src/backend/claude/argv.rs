//! How the program is started: its arguments and its environment. Pure.
//!
//! The launch is the one that held against a hostile repository: no settings of anybody are read, hooks are off, the
//! work tree comes in as an added directory because that is the way its instructions still do.

use std::path::Path;

use serde_json::{Value, json};

use crate::backend::claude::user_settings::UserSettings;
use crate::backend::claude::{mcp, surface};
use crate::backend::spec::Reasoning;
use crate::backend::{Launch, Purpose, posture};
use crate::permission::Posture;

/// Names that an agent gives to what it starts; a Coppice that runs inside of one must not hand them on.
const NESTED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_AGENT",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SAFE_MODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SESSION_NAME",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PROJECT_DIR",
];

/// The model that takes more than `xhigh`, which stands for the most a model can do.
const DEEPEST: &str = "claude-opus-4-7";

/// How long a served tool may take, in milliseconds: a day. The engine's own limit ends a turn long before.
const TOOL_TIMEOUT: &str = "86400000";

/// The variable that holds what the user's `apiKeyHelper` printed, and the helper that hands it to the program.
pub(crate) const KEY_VARIABLE: &str = "COPPICE_API_KEY";
const KEY_HELPER: &str = "printf '%s\\n' \"$COPPICE_API_KEY\"";

/// What keeps a repository from running or setting anything: no file is read for settings, and these are the whole of
/// them.
pub(crate) fn walls(launch: &Launch, settings: &UserSettings) -> [String; 5] {
    let mut passed = settings.passed.clone();
    passed.insert("disableAllHooks".to_owned(), json!(true));
    if value(&launch.environment(), KEY_VARIABLE).is_some() {
        passed.insert("apiKeyHelper".to_owned(), json!(KEY_HELPER));
    }
    ["--setting-sources", "", "--settings", &Value::Object(passed).to_string(), "--strict-mcp-config"]
        .map(str::to_owned)
}

/// The variable that keeps commands from outliving their turn.
pub(crate) const NO_BACKGROUND: &str = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";

/// Which conversation the process is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begin {
    /// One that gets this name.
    Fresh(String),
    /// The one of this name.
    Resume(String),
}

impl Begin {
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Fresh(id) | Self::Resume(id) => id,
        }
    }
}

/// The model that the agent is told.
pub(crate) fn model(launch: &Launch) -> Option<&str> {
    let models = &launch.spec.models;
    launch.model.as_deref().map(|model| models.current(model)).or(models.fallback.as_deref())
}

/// The program and its arguments. Prompts come over the pipe, never from here.
pub(crate) fn argv(launch: &Launch, settings: &UserSettings, begin: &Begin) -> Vec<String> {
    let mut argv = launch.argv.clone();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|&word| word.to_owned()));
    add(&["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
    add(&["--verbose", "--include-partial-messages"]);
    if let Some(model) = model(launch) {
        add(&["--model", model]);
    }
    if let Some(level) = launch.reasoning {
        add(&["--effort", effort(level, model(launch))]);
    }
    add(&["--permission-mode", mode(launch.posture), "--permission-prompt-tool", "stdio"]);
    add(&walls(launch, settings).each_ref().map(String::as_str));
    match launch.purpose {
        Purpose::Session => {
            add(&["--add-dir", &launch.cwd.to_string_lossy()]);
            add(&["--disallowedTools", &surface::NEVER.join(",")]);
            if let Some(names) = surface::only(&posture::left(launch)) {
                add(&["--tools", &names.join(",")]);
            }
            match begin {
                Begin::Fresh(id) => add(&["--session-id", id]),
                Begin::Resume(id) => add(&["--resume", id]),
            }
        }
        Purpose::Utility | Purpose::Survey => add(&["--tools", "", "--no-session-persistence"]),
    }
    if !launch.tools.is_empty() {
        let servers = json!({"mcpServers": {mcp::SERVER: {"type": "sdk", "name": mcp::SERVER}}});
        add(&["--mcp-config", &servers.to_string()]);
    }
    if let Some(schema) = &launch.schema {
        add(&["--json-schema", &schema.to_string()]);
    }
    let told = match launch.purpose {
        Purpose::Session => settings.instructions.as_deref(),
        Purpose::Utility | Purpose::Survey => None,
    };
    let texts: Vec<_> = launch.rules.as_deref().into_iter().chain(told).collect();
    if !texts.is_empty() {
        add(&["--append-system-prompt", &texts.join("\n\n")]);
    }
    argv
}

/// The agent's own mode. None of them lets a call pass our callback, which has every one asked about.
fn mode(posture: Posture) -> &'static str {
    match posture {
        Posture::Plan | Posture::Attended | Posture::Unattended => "default",
        Posture::Edits => "acceptEdits",
    }
}

/// The whole environment of the process, whose state is in `home` and whose login, unless it is the user's, in `login`.
pub(crate) fn environment(launch: &Launch, home: &Path, login: Option<&Path>) -> Vec<(String, String)> {
    let given = launch.confines.tell(launch.environment(), None);
    let set = |name: &str| given.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let login = login.map(Path::to_string_lossy);
    let users = || set("CLAUDE_SECURESTORAGE_CONFIG_DIR").or_else(|| set("CLAUDE_CONFIG_DIR"));
    let login = login.as_deref().or_else(users);
    let home = home.to_string_lossy();
    let temp = launch.confines.temp.as_ref().map(|temp| ("CLAUDE_CODE_TMPDIR", temp.to_string_lossy()));
    let own = [
        ("CLAUDE_CONFIG_DIR", &*home),
        // Where it can, the login stays where the user keeps it, locks and all: the agent renews a token by a file that
        // takes the place of the old one, so a link would leave the user with a token that is spent. An empty value
        // stands for the default place, and for the default entry of a key chain.
        ("CLAUDE_SECURESTORAGE_CONFIG_DIR", login.unwrap_or_default()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // A command that ends after its turn would start a turn that nobody asked for.
        (NO_BACKGROUND, "1"),
        // The next command is judged by the directory that it is known to run in.
        ("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", "1"),
        ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
        ("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1"),
        (
            "CLAUDE_CODE_MAX_RETRIES",
            value(&launch.spec.env, "CLAUDE_CODE_MAX_RETRIES").unwrap_or(retries(launch.purpose)),
        ),
        // One try: a second one costs a model call that nobody sees, and the engine asks for a repair by itself.
        ("MAX_STRUCTURED_OUTPUT_RETRIES", "1"),
        ("MCP_TOOL_TIMEOUT", TOOL_TIMEOUT),
    ];
    let own: Vec<(&str, &str)> =
        own.into_iter().chain(temp.as_ref().map(|(name, value)| (*name, value.as_ref()))).collect();
    let is_ours = |name: &str| own.iter().any(|(known, _)| *known == name) || NESTED.contains(&name);
    let kept = given.iter().filter(|(name, _)| !is_ours(name)).cloned();
    kept.chain(own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).collect()
}

/// How often a failed model call is tried again. Ten times are three minutes: hours of work are worth them, and every
/// try is shown. A side question has a fallback that is better than waiting.
fn retries(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Session => "10",
        Purpose::Utility | Purpose::Survey => "2",
    }
}

pub(crate) fn effort(level: Reasoning, model: Option<&str>) -> &'static str {
    match level {
        Reasoning::Xhigh if model == Some(DEEPEST) => "max",
        Reasoning::Low | Reasoning::Medium | Reasoning::High | Reasoning::Xhigh => level.as_str(),
    }
}

/// The value of a variable, unless it is empty.
pub(crate) fn value<'a>(env: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = env.iter().rev().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}
