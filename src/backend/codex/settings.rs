//! What a thread is opened with. Everything is sent again at every resume: Codex keeps none of `config`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::backend::codex::environment;
use crate::backend::codex::fault;
use crate::backend::event::{Block, Model};
use crate::backend::failure::Failure;
use crate::backend::{Native, NativeTool, Purpose, ServedTool};

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
    /// Variables for the commands of the agent.
    pub(super) env: Vec<(String, String)>,
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

/// What a thread may do to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sandbox {
    /// Writes in the work tree; a person is asked about the rest.
    Workspace,
    /// Writes nothing, and asks nobody to.
    ReadOnly,
}

impl Sandbox {
    /// The name in a request, and the name in a reply.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Workspace => ("workspace-write", "workspaceWrite"),
            Self::ReadOnly => ("read-only", "readOnly"),
        }
    }

    /// Under `never` the agent itself refuses what would have to be asked about.
    fn approval_policy(self) -> &'static str {
        match self {
            Self::Workspace => "on-request",
            Self::ReadOnly => "never",
        }
    }
}

impl Wishes {
    /// The parameters that open the thread; `user` is the configuration of the user as Codex reads it.
    pub(super) fn open(&self, opening: Opening, user: &Value) -> Value {
        let mut params = json!({
            "cwd": self.cwd,
            "approvalPolicy": self.sandbox().approval_policy(),
            // The user may have handed approvals to a model of the agent; here the engine decides.
            "approvalsReviewer": "user",
            "sandbox": self.sandbox().names().0,
            "config": self.config(user),
        });
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                params[name] = value;
            }
        };
        set("model", self.model.as_ref().map(|model| json!(model)));
        set("developerInstructions", self.instructions.as_ref().map(|text| json!(text)));
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

    /// The parameters of a turn. The schema is not remembered between turns, the rest would be; that nothing is written is
    /// said again all the same.
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
        match self.sandbox() {
            Sandbox::Workspace => {}
            sandbox @ Sandbox::ReadOnly => {
                params["approvalPolicy"] = json!(sandbox.approval_policy());
                params["sandboxPolicy"] = json!({"type": sandbox.names().1});
            }
        }
        params
    }

    /// Compares what was opened with what was asked for: a missing directory falls back to a read-only sandbox
    /// without a word, and a thread that is loaded already keeps its own.
    pub(super) fn check(&self, result: &Value) -> Result<(), Failure> {
        let (sandbox, wanted) = (result["sandbox"]["type"].as_str().unwrap_or_default(), self.sandbox());
        if sandbox != wanted.names().1 {
            return Err(fault::opened_wrongly("sandbox", wanted.names().1, sandbox));
        }
        let policy = result["approvalPolicy"].as_str().unwrap_or_default();
        if wanted == Sandbox::ReadOnly && policy != wanted.approval_policy() {
            return Err(fault::opened_wrongly("approval policy", wanted.approval_policy(), policy));
        }
        let cwd = result["cwd"].as_str().unwrap_or_default();
        if [&self.cwd, &self.real_cwd].iter().all(|known| known.to_str() != Some(cwd)) {
            return Err(fault::opened_wrongly("directory", &self.cwd.to_string_lossy(), cwd));
        }
        Ok(())
    }

    /// A session that has nothing to write with does not need a sandbox that could.
    fn sandbox(&self) -> Sandbox {
        match self.purpose {
            Purpose::Session if self.native.changes_files() => Sandbox::Workspace,
            Purpose::Session | Purpose::Utility | Purpose::Survey => Sandbox::ReadOnly,
        }
    }

    /// Whether the agent has a shell. Read-only it is what the agent reads by; otherwise what it is.
    fn has_shell(&self) -> bool {
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
        let variables: Map<String, Value> = environment::permitted(&self.env, &user["shell_environment_policy"])
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        let mut config = json!({
            "projects": projects,
            "features": features,
            "agents": {"enabled": false},
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
    json!({"type": "function", "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
}
