//! The table of settings: every key, what it takes, its default, and who may set it.

use super::value::Kind;

/// One row of the table.
#[derive(Debug)]
pub struct Key {
    /// Dotted; a `*` stands for a name that the user chooses.
    pub name: &'static str,
    pub kind: Kind,
    /// As it is spelled in a file; keys under a chosen name have none.
    pub default: Option<&'static str>,
    pub authority: Authority,
    /// One line for the schema and for help.
    pub doc: &'static str,
}

/// Whose word counts for a key. What the user says always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// A matter of taste: a repository may have its own.
    Anyone,
    /// A repository may ask for less than the user allows, never for more.
    Lowers,
    /// A repository may be stricter than the user by itself, and less strict once it is trusted. The choices of such a key
    /// stand from the strictest to the widest; nothing chosen is the widest.
    Tightens,
    /// A repository's word can run programs, move files or spend money, so it counts only after it is trusted.
    Grants,
    /// How the faces of the program serve one person: the user may say it for all projects or for one, a repository never.
    Personal,
    /// The whole machine shares one value: a repository or a project cannot have its own.
    Machine,
}

const fn row(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    authority: Authority,
    doc: &'static str,
) -> Key {
    Key { name, kind, default, authority, doc }
}

/// All settings, in the order in which they are listed.
pub const KEYS: &[Key] = &[
    row(
        "default.model",
        Kind::Model,
        Some("\"\""),
        Authority::Anyone,
        "Backend, or backend and model, of sessions that name none; empty means the first that is installed",
    ),
    row(
        "default.reasoning",
        Kind::Choice(&["", "low", "medium", "high", "xhigh"]),
        Some("\"\""),
        Authority::Anyone,
        "How hard the model of a session thinks that does not say it; empty leaves it to the backend",
    ),
    row(
        "default.agent",
        Kind::Text,
        Some("\"builder\""),
        Authority::Anyone,
        "Agent, or agent and persona as `AGENT:PERSONA`, of sessions that name none",
    ),
    row(
        "default.posture",
        Kind::Choice(&["", "plan", "attended", "edits", "unattended"]),
        Some("\"\""),
        Authority::Tightens,
        "What happens with a call that no rule decides; empty means `unattended` where the sandbox is enforced, else `attended`",
    ),
    row(
        "sandbox.level",
        Kind::Choice(&["restricted", "workspace", "off"]),
        Some("\"workspace\""),
        Authority::Tightens,
        "What the processes of a session can reach; `restricted` lets them connect to listed hosts only",
    ),
    row(
        "sandbox.hosts",
        Kind::List,
        Some("[]"),
        Authority::Grants,
        "Hosts that `restricted` sessions can reach besides the model's",
    ),
    row("sandbox.caches", Kind::List, Some("[]"), Authority::Grants, "Further directories that all sessions may write"),
    row(
        "sandbox.read",
        Kind::List,
        Some("[]"),
        Authority::Grants,
        "Further directories that sessions may read, such as toolchains",
    ),
    row(
        "sandbox.registry_tokens",
        Kind::Flag,
        Some("false"),
        Authority::Personal,
        "Whether sessions get the logins of `~/.npmrc`, `pip.conf` and cargo's registries, besides the settings",
    ),
    row(
        "env.pass",
        Kind::VariableNames,
        Some("[]"),
        Authority::Grants,
        "Variables of your environment that sessions and their commands get, such as `DATABASE_URL` or `RUST_*`",
    ),
    row(
        "env.set",
        Kind::ProjectVariables,
        Some("{}"),
        Authority::Grants,
        "Variables and their values for sessions and their commands",
    ),
    row(
        "limits.parallel_turns",
        Kind::Count { max: 1024 },
        Some("0"),
        Authority::Machine,
        "How many turns run at once; 0 means the number of cores, at least 4",
    ),
    row(
        "limits.turn_timeout",
        Kind::Duration,
        Some("\"4h\""),
        Authority::Lowers,
        "How long a turn may run, without the time it waits for a person",
    ),
    row(
        "limits.stall_timeout",
        Kind::Duration,
        Some("\"10m\""),
        Authority::Lowers,
        "How long a backend may be silent while no tool runs",
    ),
    row(
        "limits.backend_idle",
        Kind::Duration,
        Some("\"5m\""),
        Authority::Lowers,
        "How long a backend process is kept after a turn, at most",
    ),
    row(
        "response.repair",
        Kind::Count { max: 3 },
        Some("1"),
        Authority::Lowers,
        "How often an agent is asked again after a refused response",
    ),
    row(
        "delegation.facade",
        Kind::Choice(&["delegate", "task", "spawn_agent", "Agent"]),
        Some("\"delegate\""),
        Authority::Anyone,
        "How delegation looks to a model: the tool's name, its parameters and its result",
    ),
    row(
        "delegation.timeout",
        Kind::Duration,
        Some("\"4h\""),
        Authority::Lowers,
        "How long a child may work on what it was given",
    ),
    row(
        "delegation.max_block",
        Kind::AutoDuration,
        Some("\"auto\""),
        Authority::Lowers,
        "How long a call waits for a child before it returns and the child goes on; `auto` is what the backend bears",
    ),
    row(
        "delegation.max_depth",
        Kind::Count { max: 8 },
        Some("1"),
        Authority::Lowers,
        "How deep children may have children of their own",
    ),
    row(
        "delegation.nested_agents",
        Kind::List,
        Some("[\"orchestrator\"]"),
        Authority::Grants,
        "Agents that may delegate one level deeper than the others",
    ),
    row(
        "delegation.max_children",
        Kind::Count { max: 1024 },
        Some("8"),
        Authority::Lowers,
        "How many children of one session may be at work at once",
    ),
    row(
        "delegation.integrate",
        Kind::Choice(&["auto", "manual"]),
        Some("\"auto\""),
        Authority::Anyone,
        "Whether a child's files reach its parent's work tree by themselves or by `coppice integrate`",
    ),
    row(
        "delegation.background_approvals",
        Kind::Choice(&["deny", "queue"]),
        Some("\"deny\""),
        Authority::Anyone,
        "What becomes of a call of a background child that a person would have to allow",
    ),
    row(
        "delegation.ignored",
        Kind::Paths,
        Some("[]"),
        Authority::Grants,
        "Ignored files of the parent's work tree that a child gets as well, as gitignore patterns",
    ),
    row(
        "delegation.strict_models",
        Kind::Flag,
        Some("false"),
        Authority::Anyone,
        "Whether an agent whose own model is not available is refused instead of working with its parent's",
    ),
    row(
        "workflow.review_mode",
        Kind::Choice(&["off", "manual", "auto"]),
        Some("\"manual\""),
        Authority::Grants,
        "Whether a review starts by itself when all tasks of a turn are done",
    ),
    row(
        "workflow.review_model",
        Kind::Model,
        Some("\"\""),
        Authority::Grants,
        "Backend, or backend and model, of automatic and of prepared reviews; empty means the session's own",
    ),
    row(
        "workflow.planner_approval",
        Kind::Flag,
        Some("true"),
        Authority::Anyone,
        "Whether a person decides what happens with a finished plan",
    ),
    row(
        "tools.surface",
        Kind::Choice(&["enforced", "advisory"]),
        Some("\"enforced\""),
        Authority::Grants,
        "What happens where a backend cannot be held to an agent's tools: it is not started, or the session says so",
    ),
    row(
        "tools.profile",
        Kind::Choice(&["readonly", "enforced", "native"]),
        Some("\"native\""),
        Authority::Tightens,
        "Whose tools agents work with: `native` their own, `enforced` the served ones, `readonly` the served ones that look",
    ),
    row(
        "tools.git_mutations",
        Kind::Choice(&["deny", "allow"]),
        Some("\"deny\""),
        Authority::Grants,
        "Whether agents are served the tools that commit, push, reset and write to GitHub; the rules decide about each call",
    ),
    row("tools.web_search", Kind::Flag, Some("false"), Authority::Grants, "Whether agents may search the web"),
    row(
        "mcp.approve",
        Kind::Flag,
        Some("false"),
        Authority::Machine,
        "Whether clients of `coppice mcp` may answer approvals",
    ),
    row(
        "mcp.servers.*.command",
        Kind::Command,
        None,
        Authority::Grants,
        "Program and arguments of an external MCP server whose tools every agent gets",
    ),
    row("mcp.servers.*.env", Kind::Variables, None, Authority::Grants, "Environment variables for the server"),
    row(
        "mcp.servers.*.trust",
        Kind::Flag,
        None,
        Authority::Grants,
        "Whether what the server says about its tools is believed: those that only read are not asked about",
    ),
    row(
        "merge.style",
        Kind::Choice(&["squash", "no-ff", "rebase"]),
        Some("\"squash\""),
        Authority::Anyone,
        "How a session's work reaches its base branch",
    ),
    row(
        "commit.message",
        Kind::Choice(&["summary", "model"]),
        Some("\"summary\""),
        Authority::Grants,
        "Where the message of a checkpoint comes from; `model` asks a small model of the backend after each turn",
    ),
    row(
        "titles",
        Kind::Choice(&["prompt", "model"]),
        Some("\"prompt\""),
        Authority::Grants,
        "Where the title of a session comes from; `model` asks a small model of the backend for each session",
    ),
    row(
        "worktree.copy",
        Kind::Paths,
        Some("[]"),
        Authority::Grants,
        "Files of the checkout that each worktree gets a copy of",
    ),
    row(
        "worktree.link",
        Kind::Paths,
        Some("[]"),
        Authority::Grants,
        "Files of the checkout that each worktree gets a symbolic link to",
    ),
    row(
        "worktree.setup",
        Kind::Text,
        Some("\"\""),
        Authority::Grants,
        "Shell command that makes a worktree ready to work in",
    ),
    row(
        "worktree.teardown",
        Kind::Text,
        Some("\"\""),
        Authority::Grants,
        "Shell command that runs before a worktree is removed",
    ),
    row(
        "github.api_url",
        Kind::Text,
        Some("\"https://api.github.com\""),
        Authority::Personal,
        "Where GitHub is asked; an own installation is at `https://HOST/api/v3`",
    ),
    row(
        "theme",
        Kind::Choice(&["auto", "dark", "light", "plain", "mono"]),
        Some("\"auto\""),
        Authority::Personal,
        "Colours of the terminal interface; `auto` follows the terminal, `plain` uses its 16 colours, `mono` none",
    ),
    row(
        "keys.*",
        Kind::Chords,
        None,
        Authority::Personal,
        "The key, or the keys, of an action of the terminal interface; an empty list leaves it without one",
    ),
    row(
        "notify.bell",
        Kind::Flag,
        Some("true"),
        Authority::Personal,
        "Whether the terminal's bell tells what needs you",
    ),
    row(
        "notify.desktop",
        Kind::Flag,
        Some("true"),
        Authority::Personal,
        "Whether a notice of the desktop tells what needs you while the terminal is out of sight",
    ),
    row(
        "notify.command",
        Kind::OptionalCommand,
        Some("[]"),
        Authority::Personal,
        "Program and arguments that run when something needs you; `COPPICE_*` variables say what",
    ),
    row(
        "store.keep_removed",
        Kind::Duration,
        Some("\"30d\""),
        Authority::Machine,
        "How long a removed session can be restored",
    ),
    row(
        "daemon.idle_exit",
        Kind::Duration,
        Some("\"10m\""),
        Authority::Machine,
        "How long the daemon stays without a client and without work",
    ),
    row("backends.*.transport", Kind::Choice(&["acp"]), None, Authority::Grants, "Protocol that the backend speaks"),
    row("backends.*.command", Kind::Command, None, Authority::Grants, "Program and arguments that start the backend"),
    row("backends.*.env", Kind::Variables, None, Authority::Grants, "Environment variables for the backend"),
    row("backends.*.paths", Kind::List, None, Authority::Grants, "Directories of its own that the backend may write"),
    row("backends.*.models", Kind::List, None, Authority::Grants, "Models to offer when the backend cannot be asked"),
];

impl Key {
    /// Whether a dotted path is this key.
    fn matches(&self, path: &str) -> bool {
        let mut wanted = path.split('.');
        let fits = self.name.split('.').all(|part| {
            let given = wanted.next();
            if part == "*" { given.is_some_and(is_name) } else { given == Some(part) }
        });
        fits && wanted.next().is_none()
    }
}

/// Finds the row of a dotted path.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.matches(path))
}

/// Whether a dotted path is a table of settings.
pub(super) fn is_section(path: &str) -> bool {
    let parts: Vec<_> = path.split('.').collect();
    KEYS.iter().any(|key| {
        let known: Vec<_> = key.name.split('.').collect();
        let fits = parts.iter().zip(&known).all(|(part, known)| part == known || *known == "*" && is_name(part));
        parts.len() < known.len() && fits
    })
}

/// Keys that are less alike than this have nothing to do with each other.
const ALIKE: f64 = 0.5;

/// The known key or section that a mistyped path most likely means.
pub fn nearest(path: &str) -> Option<String> {
    let alike = strsim::normalized_damerau_levenshtein;
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |known: &str| {
        // A key in the wrong section is still the same word.
        alike(path, known).max(alike(&last(path), &last(known)) * 0.99)
    };
    let mut parts = path.split('.');
    let head = parts.next().unwrap_or_default();
    let chosen = parts.next().filter(|name| is_name(name)).unwrap_or("NAME");
    let keys = KEYS.iter().map(|key| {
        let name = key.name.replace('*', chosen);
        // Where any name is a key, the section alone says that it was meant.
        let likeness = key.name.strip_suffix(".*").map_or_else(|| likeness(&name), |section| alike(head, section));
        (name, likeness)
    });
    let sections = KEYS.iter().filter_map(|key| key.name.split_once('.'));
    let sections = sections.map(|(section, _)| (section.to_owned(), likeness(section)));
    let best = keys.chain(sections).max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.filter(|(_, likeness)| *likeness >= ALIKE).map(|(name, _)| name)
}

/// Names that need no quoting in a file, on the command line or in a model's name.
pub(super) fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
}
