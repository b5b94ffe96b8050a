//! What a thread is opened with. Everything is sent again at every resume: Codex keeps none of `config`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::backend::codex::environment;
use crate::backend::codex::fault;
use crate::backend::codex::profile::Profile;
use crate::backend::codex::tool_name::to_codex;
use crate::backend::event::{Block, Model};
use crate::backend::failure::Failure;
use crate::backend::spec::Spec;
use crate::backend::{Native, NativeTool, Purpose, ServedTool};
use crate::permission::Posture;

/// What a conversation wants.
#[derive(Debug, Clone)]
pub(super) struct Wishes {
    pub(super) purpose: Purpose,
    pub(super) cwd: PathBuf,
    /// The same place with its links resolved: the agent may answer with either.
    pub(super) real_cwd: PathBuf,
    pub(super) resume: Option<String>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<&'static str>,
    pub(super) instructions: Option<String>,
    pub(super) schema: Option<Value>,
    /// Every place of the repository that must not count as trusted.
    pub(super) roots: Vec<PathBuf>,
    pub(super) tools: Vec<ServedTool>,
    pub(super) native: Native,
    pub(super) posture: Posture,
    /// What holds its commands; `None` leaves them to what the purpose allows.
    pub(super) profile: Option<Profile>,
    /// Variables for the commands of the agent.
    pub(super) env: Vec<(String, String)>,
    /// Names among them that the configuration hands to commands, whatever they hold.
    pub(super) project_env: Vec<String>,
    /// The user's configuration, for what a person is told about it.
    pub(super) config_file: Option<PathBuf>,
    /// Variables that it names and that the process does not have.
    pub(super) unset: Vec<String>,
    /// The backend, for what a person is told about its variables.
    pub(super) spec: Spec,
    /// How long an interrupted turn may take to end.
    pub(super) patience: Duration,
}

/// How a thread comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Start,
    Resume,
}

/// Features that would start things behind the back of the engine, or ask a person who is not there.
const FEATURES_OFF: &[&str] = &[
    "apps",
    "goals",
    "hooks",
    "multi_agent",
    "plugins",
    "skill_search",
    "sleep_tool",
    "tool_suggest",
    "unbounded_connection_retries",
];

/// What is off as well where nothing is to be read.
const READING_OFF: &[&str] = &["shell_tool", "view_image", "image_generation"];

/// What holds the commands and the patches of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sandbox<'a> {
    /// What the session may reach, sent with the thread.
    Profile(&'a Profile),
    /// Nothing is to hold it.
    Open,
    /// Reads everything, writes nothing.
    ReadOnly,
}

impl Sandbox<'_> {
    /// The parameter that asks for it when a thread is opened.
    fn wanted(self) -> (&'static str, Value) {
        match self {
            Self::Profile(profile) => ("permissions", json!(profile.name())),
            Self::Open => ("sandbox", json!("danger-full-access")),
            Self::ReadOnly => ("sandbox", json!("read-only")),
        }
    }

    /// The same for a turn.
    fn repeated(self) -> (&'static str, Value) {
        match self {
            Self::Profile(profile) => ("permissions", json!(profile.name())),
            Self::Open | Self::ReadOnly => ("sandboxPolicy", json!({"type": self.told()})),
        }
    }

    /// What the reply calls it.
    fn told(&self) -> &str {
        match self {
            Self::Profile(profile) => profile.name(),
            Self::Open => "dangerFullAccess",
            Self::ReadOnly => "readOnly",
        }
    }

    /// What a reply says instead.
    fn found<'v>(&self, result: &'v Value) -> &'v str {
        let found = match self {
            Self::Profile(_) => &result["activePermissionProfile"]["id"],
            Self::Open | Self::ReadOnly => &result["sandbox"]["type"],
        };
        found.as_str().unwrap_or_default()
    }
}

/// Which calls come back before they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approval {
    /// Every command and every patch, and none of them leaves its sandbox by being allowed. Not among them: input to a
    /// command that runs already, and commands that a rule of the user's own Codex allows. Under `on-request` only those
    /// come back that ask to leave the sandbox, and a few that look dangerous.
    Untrusted,
    /// None: what the sandbox does not let through is refused by the agent itself.
    Never,
}

impl Approval {
    fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Never => "never",
        }
    }
}

impl Wishes {
    /// The parameters that open the thread; `user` is the configuration of the user as Codex reads it.
    pub(super) fn open(&self, opening: Opening, user: &Value) -> Value {
        let mut params = json!({
            "cwd": self.cwd,
            "approvalPolicy": self.approval().as_str(),
            // The user may have handed approvals to a model of the agent; here the engine decides.
            "approvalsReviewer": "user",
            "config": self.config(user),
        });
        let (name, value) = self.sandbox().wanted();
        params[name] = value;
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                params[name] = value;
            }
        };
        set("model", self.model.as_ref().map(|model| json!(model)));
        // Whatever is said here replaces what the user's configuration says.
        let told = self.instructions.as_deref().map(|text| match user["developer_instructions"].as_str() {
            Some(own) => json!(format!("{own}\n\n{text}")),
            None => json!(text),
        });
        set("developerInstructions", told);
        match opening {
            Opening::Start => {
                set("ephemeral", (self.purpose != Purpose::Session).then_some(json!(true)));
                set("dynamicTools", (!self.tools.is_empty()).then(|| self.tools.iter().map(tool).collect()));
            }
            // Dynamic tools are kept with the thread; the request has no place for them.
            Opening::Resume => {
                set("threadId", self.resume.as_ref().map(|id| json!(id)));
                set("excludeTurns", Some(json!(true)));
            }
        }
        params
    }

    /// The parameters of a turn. The schema is not remembered between turns, the rest would be; what holds the commands
    /// is said again all the same.
    pub(super) fn turn(&self, thread: &str, blocks: &[Block]) -> Value {
        let input: Vec<Value> = blocks.iter().map(block).collect();
        let mut params = json!({"threadId": thread, "input": input});
        if let Some(schema) = &self.schema {
            params["outputSchema"] = schema.clone();
        }
        if let Some(model) = &self.model {
            params["model"] = json!(model);
        }
        if let Some(effort) = self.effort {
            params["effort"] = json!(effort);
        }
        params["approvalPolicy"] = json!(self.approval().as_str());
        let (name, value) = self.sandbox().repeated();
        params[name] = value;
        params
    }

    /// The settings of a process that shows the thread to a person, above the user's own. There it asks about what would
    /// leave its sandbox, which is the most that it can be told to ask about; so it always has one.
    pub(super) fn interactive(&self, user: &Value) -> Map<String, Value> {
        let mut settings = match self.config(user) {
            Value::Object(settings) => settings,
            // It is one.
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        settings.insert("approval_policy".to_owned(), json!("on-request"));
        // It would tell and ask others on the side.
        settings.insert("check_for_update_on_startup".to_owned(), json!(false));
        settings.insert("analytics".to_owned(), json!({"enabled": false}));
        match self.sandbox() {
            // It is among the settings already.
            Sandbox::Profile(_) => {}
            Sandbox::Open => drop(settings.insert("sandbox_mode".to_owned(), json!("workspace-write"))),
            Sandbox::ReadOnly => drop(settings.insert("sandbox_mode".to_owned(), json!("read-only"))),
        }
        settings
    }

    /// Compares what was opened with what was asked for: a missing directory falls back to a read-only sandbox
    /// without a word, and a thread that is loaded already keeps its own.
    pub(super) fn check(&self, result: &Value) -> Result<(), Failure> {
        let wanted = self.sandbox();
        if wanted.found(result) != wanted.told() {
            return Err(fault::opened_wrongly("sandbox", wanted.told(), wanted.found(result)));
        }
        let (policy, wanted) = (result["approvalPolicy"].as_str().unwrap_or_default(), self.approval().as_str());
        if policy != wanted {
            return Err(fault::opened_wrongly("approval policy", wanted, policy));
        }
        let cwd = result["cwd"].as_str().unwrap_or_default();
        if [&self.cwd, &self.real_cwd].iter().all(|known| known.to_str() != Some(cwd)) {
            return Err(fault::opened_wrongly("directory", &self.cwd.to_string_lossy(), cwd));
        }
        Ok(())
    }

    fn sandbox(&self) -> Sandbox<'_> {
        match (self.purpose, &self.profile) {
            (Purpose::Session, Some(profile)) => Sandbox::Profile(profile),
            (Purpose::Session, None) if self.changes_files() => Sandbox::Open,
            (Purpose::Session | Purpose::Utility | Purpose::Survey, _) => Sandbox::ReadOnly,
        }
    }

    /// Who decides about edits and commands is the engine, so all of them come back to it, whatever the posture. A session
    /// that cannot change anything has nothing to ask about: a call that is allowed would leave its read-only sandbox.
    fn approval(&self) -> Approval {
        if self.purpose == Purpose::Session && self.changes_files() { Approval::Untrusted } else { Approval::Never }
    }

    /// Whether a place is the work tree.
    pub(super) fn is_tree(&self, place: &Path) -> bool {
        place == self.cwd || place == self.real_cwd
    }

    /// Whether the work tree may be changed.
    pub(super) fn changes_files(&self) -> bool {
        match self.posture {
            Posture::Plan => false,
            Posture::Attended | Posture::Edits | Posture::Unattended => self.native.changes_files(),
        }
    }

    /// Whether the agent has a shell. Read-only it is what the agent reads by; otherwise what it is.
    pub(super) fn has_shell(&self) -> bool {
        self.purpose == Purpose::Session && (self.native.reads() || self.native.lists(NativeTool::Bash))
    }

    /// The provider's own search, only where it was asked for by name: it asks nobody before it leaves the machine.
    fn web_search(&self) -> &'static str {
        let is_named = self.native.tools.as_ref().is_some_and(|tools| tools.contains(&NativeTool::WebSearch));
        if is_named && self.purpose == Purpose::Session { "live" } else { "disabled" }
    }

    /// The layer above the user's configuration. Nested keys only: mixed with dotted ones, some are lost.
    fn config(&self, user: &Value) -> Value {
        let is_session = self.purpose == Purpose::Session;
        let off: &[&str] = if self.has_shell() { &[] } else { READING_OFF };
        let features: Map<String, Value> =
            FEATURES_OFF.iter().chain(off).map(|name| ((*name).to_owned(), json!(false))).collect();
        let places = self.roots.iter().chain([&self.cwd, &self.real_cwd]);
        // Without this, a writing sandbox makes Codex trust the repository in the user's own configuration, and start
        // what the repository's configuration names.
        let projects: Map<String, Value> =
            places.map(|path| (path.to_string_lossy().into_owned(), json!({"trust_level": "untrusted"}))).collect();
        let policy = &user["shell_environment_policy"];
        let variables: Map<String, Value> = environment::permitted(&self.env, policy, &self.project_env)
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        let mut config = json!({
            "projects": projects,
            "features": features,
            "agents": {"enabled": false},
            // It would run the user's program after each turn.
            "notify": [],
            "web_search": self.web_search(),
            // Skills of a repository that is not trusted are offered all the same.
            "skills": {"include_instructions": false},
            "tools": {
                "update_plan": {"enabled": is_session && self.native.lists(NativeTool::Todo)},
                "experimental_request_user_input": {"enabled": false},
            },
            // The process holds keys; commands get what the session brings.
            "shell_environment_policy": {"inherit": "core", "set": variables},
        });
        if let Sandbox::Profile(profile) = self.sandbox() {
            profile.install(&mut config);
        }
        let foreign: Map<String, Value> = user["mcp_servers"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| (name.clone(), json!({"enabled": false})))
            .collect();
        if !foreign.is_empty() {
            config["mcp_servers"] = Value::Object(foreign);
        }
        if !is_session {
            config["project_doc_max_bytes"] = json!(0);
            config["include_permissions_instructions"] = json!(false);
            config["include_environment_context"] = json!(false);
        }
        config
    }
}

/// The models of the binary's own catalog, without the hidden ones.
pub(super) fn read_models(result: &Value) -> Vec<Model> {
    let listed = result["data"].as_array().into_iter().flatten().filter(|model| model["hidden"] != true);
    let read = |model: &Value| {
        let id = model["id"].as_str().or_else(|| model["model"].as_str())?.to_owned();
        let efforts = model["supportedReasoningEfforts"].as_array().into_iter().flatten();
        Some(Model {
            name: model["displayName"].as_str().unwrap_or(&id).to_owned(),
            reasoning: efforts.filter_map(|effort| Some(effort["reasoningEffort"].as_str()?.to_owned())).collect(),
            is_default: model["isDefault"] == true,
            id,
        })
    };
    listed.filter_map(read).collect()
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Image(image) => json!({"type": "localImage", "path": image.path}),
    }
}

fn tool(tool: &ServedTool) -> Value {
    let name = to_codex(&tool.name);
    json!({"type": "function", "name": name, "description": tool.description, "inputSchema": tool.input_schema})
}
