//! Lays the layers over each other: one value for each key, and the place it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use toml_edit::Item;

use super::confine::{Hints, McpServer, Sandbox};
use super::error::{ConfigError, Place};
use super::family::{
    BackgroundApprovals, Delegation, Facade, GitMutations, Integrate, Models, PlannerApproval, ReviewMode, Surface,
    Tools, WebSearch, Workflow,
};
use super::key::{self, Authority, KEYS};
use super::layer::{Entry, Layer, LayerKind, known};
use super::project_env::{ProjectEnv, RegistryTokens};
use super::value::{Kind, Value};
use crate::permission::{Level, Posture};

/// Whether the user agreed to what the repository's file grants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    #[default]
    Untrusted,
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub default_model: String,
    /// The word for how hard a model thinks; `None` leaves it to the backend.
    pub default_reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA`.
    pub default_agent: String,
    /// `None` follows what is enforced.
    pub default_posture: Option<Posture>,
    pub sandbox: Sandbox,
    pub env: ProjectEnv,
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub delegation: Delegation,
    pub workflow: Workflow,
    pub tools: Tools,
    pub limits: Limits,
    /// How often an agent is asked again after a refused response.
    pub repair: u32,
    pub merge_style: MergeStyle,
    pub commit_message: CommitMessage,
    pub titles: Titles,
    pub worktree: Worktree,
    /// Where GitHub is asked, as it is written.
    pub github_api: String,
    pub keep_removed: Duration,
    pub idle_exit: Duration,
    pub backends: BTreeMap<String, Backend>,
    /// Every key with its value and source: the table's order, then those under a chosen name.
    pub settings: Vec<Setting>,
    /// What was said but does not count.
    pub ignored: Vec<Ignored>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// 0 leaves it to the number of cores.
    pub parallel_turns: u32,
    pub turn_timeout: Duration,
    pub stall_timeout: Duration,
    pub backend_idle: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStyle {
    Squash,
    NoFf,
    Rebase,
}

/// Who words a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitMessage {
    /// The summary that ends the turn.
    Summary,
    /// A small model, after the fact.
    Model,
}

/// Who names a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Titles {
    /// The first line of its prompt.
    Prompt,
    /// A small model, after the fact.
    Model,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub copy: Vec<String>,
    pub link: Vec<String>,
    pub setup: Option<String>,
    pub teardown: Option<String>,
}

/// What the configuration says about one backend; the registry has the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backend {
    pub transport: Option<String>,
    pub command: Option<Vec<String>>,
    pub env: BTreeMap<String, String>,
    pub models: Vec<String>,
    /// Directories of its own that it may write.
    pub paths: Vec<String>,
}

/// One effective value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    Layer { kind: LayerKind, place: Place },
}

/// A value that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    pub key: String,
    pub place: Place,
    pub reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Untrusted,
    /// A repository asks for more than it gets without it.
    Raises,
}

/// Resolves the layers, whatever their order; `trust` is about the repository's.
pub fn resolve(layers: &[Layer], trust: Trust) -> Config {
    let mut settings = Settings(BTreeMap::new());
    for key in KEYS {
        if let Some(value) = default_of(key.name) {
            settings.0.insert(key.name.to_owned(), (value, Source::Default));
        }
    }
    let mut ignored = Vec::new();
    let mut ordered: Vec<_> = layers.iter().collect();
    ordered.sort_by_key(|layer| layer.kind);
    for layer in ordered {
        for entry in &layer.entries {
            match settings.refuses(entry, layer.kind, trust) {
                Some(reason) => ignored.push(Ignored { key: entry.path.clone(), place: entry.place.clone(), reason }),
                None => {
                    let source = Source::Layer { kind: layer.kind, place: entry.place.clone() };
                    settings.0.insert(entry.path.clone(), (entry.value.clone(), source));
                }
            }
        }
    }
    settings.into_config(ignored)
}

impl Config {
    /// The effective value of a key; `None` for one under a chosen name that nobody set.
    pub fn get(&self, key: &str) -> Result<Option<&Setting>, ConfigError> {
        known(key, &Place { label: "configuration".into(), line: None })?;
        Ok(self.settings.iter().find(|setting| setting.key == key))
    }
}

impl Config {
    /// Whether somebody has set a key.
    pub fn is_set(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.key == key && setting.source != Source::Default)
    }
}

impl Default for Config {
    fn default() -> Self {
        resolve(&[], Trust::Untrusted)
    }
}

struct Settings(BTreeMap<String, (Value, Source)>);

impl Settings {
    fn refuses(&self, entry: &Entry, kind: LayerKind, trust: Trust) -> Option<Reason> {
        match (kind, entry.authority, trust) {
            (LayerKind::Repository, Authority::Grants, Trust::Untrusted) => Some(Reason::Untrusted),
            (LayerKind::Repository, Authority::Lowers, _) => {
                let raises = self.0.get(&entry.path).is_some_and(|(below, _)| below.is_below(&entry.value));
                raises.then_some(Reason::Raises)
            }
            (LayerKind::Repository, Authority::Tightens, Trust::Untrusted) => {
                let widens =
                    self.0.get(&entry.path).is_some_and(|(below, _)| is_wider(&entry.path, &entry.value, below));
                widens.then_some(Reason::Untrusted)
            }
            (
                LayerKind::Repository,
                Authority::Grants | Authority::Anyone | Authority::Personal | Authority::Machine | Authority::Tightens,
                _,
            ) => None,
            (LayerKind::User | LayerKind::Project | LayerKind::Flag, _, _) => None,
        }
    }

    fn into_config(self, ignored: Vec<Ignored>) -> Config {
        let limits = Limits {
            parallel_turns: self.count("limits.parallel_turns"),
            turn_timeout: self.duration("limits.turn_timeout"),
            stall_timeout: self.duration("limits.stall_timeout"),
            backend_idle: self.duration("limits.backend_idle"),
        };
        let worktree = Worktree {
            copy: self.list("worktree.copy").unwrap_or_default(),
            link: self.list("worktree.link").unwrap_or_default(),
            setup: self.text("worktree.setup").filter(|command| !command.trim().is_empty()),
            teardown: self.text("worktree.teardown").filter(|command| !command.trim().is_empty()),
        };
        Config {
            default_model: self.text("default.model").unwrap_or_default(),
            default_reasoning: self.text("default.reasoning").filter(|level| !level.is_empty()),
            default_agent: self.text("default.agent").unwrap_or_default(),
            default_posture: self.text("default.posture").and_then(|word| word.parse().ok()),
            sandbox: self.sandbox(),
            env: self.project_env(),
            mcp_servers: self.mcp_servers(),
            delegation: self.delegation(),
            workflow: self.workflow(),
            tools: self.tools(),
            limits,
            repair: self.count("response.repair"),
            merge_style: match self.text("merge.style").as_deref() {
                Some("no-ff") => MergeStyle::NoFf,
                Some("rebase") => MergeStyle::Rebase,
                Some(_) | None => MergeStyle::Squash,
            },
            commit_message: match self.text("commit.message").as_deref() {
                Some("model") => CommitMessage::Model,
                Some(_) | None => CommitMessage::Summary,
            },
            titles: match self.text("titles").as_deref() {
                Some("model") => Titles::Model,
                Some(_) | None => Titles::Prompt,
            },
            worktree,
            github_api: self.text("github.api_url").unwrap_or_default(),
            keep_removed: self.duration("store.keep_removed"),
            idle_exit: self.duration("daemon.idle_exit"),
            backends: self.backends(),
            settings: self.listed(),
            ignored,
        }
    }

    fn delegation(&self) -> Delegation {
        let is = |key: &str, word: &str| self.text(key).as_deref() == Some(word);
        Delegation {
            facade: match self.text("delegation.facade").as_deref() {
                Some("task") => Facade::Task,
                Some("spawn_agent") => Facade::SpawnAgent,
                Some("Agent") => Facade::Agent,
                Some(_) | None => Facade::Delegate,
            },
            timeout: self.duration("delegation.timeout"),
            max_block: Some(self.duration("delegation.max_block")).filter(|limit| !limit.is_zero()),
            max_depth: self.count("delegation.max_depth"),
            nested_agents: self.list("delegation.nested_agents").unwrap_or_default(),
            max_children: self.count("delegation.max_children"),
            integrate: if is("delegation.integrate", "manual") { Integrate::Manual } else { Integrate::Auto },
            background_approvals: match is("delegation.background_approvals", "queue") {
                true => BackgroundApprovals::Queue,
                false => BackgroundApprovals::Deny,
            },
            ignored: self.list("delegation.ignored").unwrap_or_default(),
            models: if self.flag("delegation.strict_models") { Models::Strict } else { Models::Inherit },
        }
    }

    fn workflow(&self) -> Workflow {
        Workflow {
            review_mode: match self.text("workflow.review_mode").as_deref() {
                Some("off") => ReviewMode::Off,
                Some("auto") => ReviewMode::Auto,
                Some(_) | None => ReviewMode::Manual,
            },
            review_model: self.text("workflow.review_model").filter(|model| !model.is_empty()),
            planner_approval: match self.flag("workflow.planner_approval") {
                true => PlannerApproval::Person,
                false => PlannerApproval::Nobody,
            },
        }
    }

    fn tools(&self) -> Tools {
        Tools {
            surface: match self.text("tools.surface").as_deref() {
                Some("advisory") => Surface::Advisory,
                Some(_) | None => Surface::Enforced,
            },
            profile: self.text("tools.profile").and_then(|word| word.parse().ok()).unwrap_or_default(),
            git_mutations: match self.text("tools.git_mutations").as_deref() {
                Some("allow") => GitMutations::Allow,
                Some(_) | None => GitMutations::Deny,
            },
            web_search: if self.flag("tools.web_search") { WebSearch::On } else { WebSearch::Off },
        }
    }

    fn sandbox(&self) -> Sandbox {
        Sandbox {
            level: self.text("sandbox.level").and_then(|word| word.parse().ok()).unwrap_or(Level::Workspace),
            hosts: self.list("sandbox.hosts").unwrap_or_default(),
            caches: self.list("sandbox.caches").unwrap_or_default(),
            read: self.list("sandbox.read").unwrap_or_default(),
        }
    }

    fn project_env(&self) -> ProjectEnv {
        ProjectEnv {
            pass: self.list("env.pass").unwrap_or_default(),
            set: self.variables("env.set"),
            registry_tokens: match self.flag("sandbox.registry_tokens") {
                true => RegistryTokens::Passed,
                false => RegistryTokens::Withheld,
            },
        }
    }

    fn mcp_servers(&self) -> BTreeMap<String, McpServer> {
        let names = self.0.keys().filter_map(|key| key.strip_prefix("mcp.servers.")?.split('.').next());
        let server = |name: &str| McpServer {
            command: self.list(&format!("mcp.servers.{name}.command")).unwrap_or_default(),
            env: self.variables(&format!("mcp.servers.{name}.env")),
            hints: match self.flag(&format!("mcp.servers.{name}.trust")) {
                true => Hints::Believed,
                false => Hints::Ignored,
            },
        };
        names.map(|name| (name.to_owned(), server(name))).collect()
    }

    fn backends(&self) -> BTreeMap<String, Backend> {
        let names = self.0.keys().filter_map(|key| key.strip_prefix("backends.")?.split('.').next());
        let backend = |name: &str| Backend {
            transport: self.text(&format!("backends.{name}.transport")),
            command: self.list(&format!("backends.{name}.command")),
            env: self.variables(&format!("backends.{name}.env")),
            models: self.list(&format!("backends.{name}.models")).unwrap_or_default(),
            paths: self.list(&format!("backends.{name}.paths")).unwrap_or_default(),
        };
        names.map(|name| (name.to_owned(), backend(name))).collect()
    }

    fn listed(self) -> Vec<Setting> {
        let place = |key: &str| KEYS.iter().position(|row| row.name == key).unwrap_or(KEYS.len());
        let setting = |(key, (value, source))| Setting { key, value, source };
        let mut settings: Vec<_> = self.0.into_iter().map(setting).collect();
        settings.sort_by_key(|setting| place(&setting.key));
        settings
    }

    fn count(&self, key: &str) -> u32 {
        if let Some((Value::Count(count), _)) = self.0.get(key) { *count } else { 0 }
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.0.get(key), Some((Value::Flag(true), _)))
    }

    fn duration(&self, key: &str) -> Duration {
        if let Some((Value::Duration(duration), _)) = self.0.get(key) { *duration } else { Duration::ZERO }
    }

    fn text(&self, key: &str) -> Option<String> {
        if let Some((Value::Text(text), _)) = self.0.get(key) { Some(text.clone()) } else { None }
    }

    fn list(&self, key: &str) -> Option<Vec<String>> {
        if let Some((Value::List(list), _)) = self.0.get(key) { Some(list.clone()) } else { None }
    }

    fn variables(&self, key: &str) -> BTreeMap<String, String> {
        if let Some((Value::Variables(entries), _)) = self.0.get(key) { entries.clone() } else { BTreeMap::new() }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Layer { place, .. } => place.fmt(f),
        }
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::Untrusted => "untrusted",
            Reason::Raises => "a repository can only lower it",
        };
        write!(f, "{}: `{}` is ignored: {reason}", self.place, self.key)
    }
}

/// Whether a choice of a key whose choices stand from the strictest on is wider than another.
fn is_wider(path: &str, value: &Value, than: &Value) -> bool {
    let Some(Kind::Choice(choices)) = key::find(path).map(|key| key.kind) else { return false };
    let rank = |value: &Value| match value {
        Value::Text(text) if text.is_empty() => choices.len(),
        value => choices.iter().position(|choice| *value == Value::Text((*choice).to_owned())).unwrap_or(choices.len()),
    };
    rank(value) > rank(than)
}

/// Reads a default as a file would spell it; a test holds every row to it.
pub(super) fn default_of(name: &str) -> Option<Value> {
    let key = KEYS.iter().find(|key| key.name == name)?;
    let item = Item::Value(key.default?.parse().ok()?);
    key.kind.read(&item).ok()
}
