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
    /// A repository's word can run programs, move files or spend money, so it counts only after it is trusted.
    Grants,
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
        "How long a backend process is kept after a turn",
    ),
    row(
        "response.repair",
        Kind::Count { max: 3 },
        Some("1"),
        Authority::Lowers,
        "How often an agent is asked again after a refused response",
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

/// The known key or section that a mistyped path most likely means.
pub fn nearest(path: &str) -> String {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |known: &String| {
        let whole = strsim::normalized_damerau_levenshtein(path, known);
        // A key in the wrong section is still the same word.
        let word = strsim::normalized_damerau_levenshtein(&last(path), &last(known));
        whole.max(word * 0.99)
    };
    let chosen = path.split('.').nth(1).filter(|name| is_name(name)).unwrap_or("NAME");
    let mut known: Vec<String> = KEYS.iter().map(|key| key.name.replace('*', chosen)).collect();
    let sections: Vec<_> =
        known.iter().filter_map(|name| name.split_once('.')).map(|(name, _)| name.to_owned()).collect();
    known.extend(sections);
    known.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).unwrap_or_default()
}

/// Names that need no quoting in a file, on the command line or in a model's name.
pub(super) fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
}
