//! Git as tools: what a session's history says, and the changes to it that a person allows.
//!
//! Here a call is read, checked as far as its words go, and shown; nothing runs git.

mod params;
mod read;
mod rows;
pub mod style;
#[cfg(test)]
mod tests;
mod words;

use std::path::Path;

use crate::permission::Reach;

pub(super) use read::parse;
pub(super) use rows::ROWS;
pub use words::inside;

/// How much is kept of what a run of git says, and of its complaints.
pub const STDOUT_LIMIT: usize = 1024 * 1024;
pub const STDERR_LIMIT: usize = 64 * 1024;

/// A call of this family. Paths are as they were given: see [`inside`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Look(Look),
    /// Git with words of the model's own.
    Git {
        args: Vec<String>,
    },
    Change(Change),
    /// Commits what is staged.
    Commit {
        message: String,
    },
    Push,
}

/// What changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    Changed(Parts),
    BranchStatus,
    Show { path: String, rev: String },
    Diff { span: Span, paths: Vec<String> },
    Log { path: String, limit: u32 },
    Blame { path: String, start: u32, end: u32 },
    MergeBase { base: String, head: String },
    CommitContext,
}

/// What changes the index, a branch or the files, and runs no hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Stage(Selection),
    Unstage {
        paths: Vec<String>,
    },
    CreateBranch {
        name: String,
        start: String,
    },
    /// Commits everything.
    Checkpoint {
        message: String,
    },
    Rollback {
        target: String,
    },
}

/// Which changes are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub staged: bool,
    pub unstaged: bool,
    pub untracked: bool,
}

/// What a diff compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// The head with the files as they are.
    Uncommitted,
    /// A revision with the files as they are.
    Since(String),
    Between {
        base: String,
        head: String,
    },
}

/// What is staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    All,
    Paths(Vec<String>),
}

impl Request {
    pub(super) fn reach(&self, tree: &Path) -> Reach {
        let at = |path: &String| tree.join(path);
        match self {
            Self::Look(Look::Show { path, .. } | Look::Log { path, .. } | Look::Blame { path, .. }) => {
                Reach::Paths(vec![at(path)])
            }
            Self::Look(Look::Diff { paths, .. }) if !paths.is_empty() => Reach::Paths(paths.iter().map(at).collect()),
            Self::Change(Change::Stage(Selection::Paths(paths)) | Change::Unstage { paths }) => {
                Reach::Paths(paths.iter().map(at).collect())
            }
            Self::Git { args } => Reach::Command { text: git_text(args), cwd: tree.to_owned() },
            Self::Look(_) | Self::Change(_) | Self::Commit { .. } | Self::Push => Reach::Elsewhere,
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Look(look) => look.title(),
            Self::Git { args } => git_text(args),
            Self::Change(change) => change.title(),
            Self::Commit { message } => format!("commit: {}", first_line(message)),
            Self::Push => "push the branch of the session".to_owned(),
        }
    }

    pub(super) fn preview(&self) -> String {
        match self {
            Self::Change(Change::Stage(Selection::Paths(paths)) | Change::Unstage { paths }) => paths.join("\n"),
            Self::Commit { message } | Self::Change(Change::Checkpoint { message }) => message.clone(),
            Self::Look(_) | Self::Git { .. } | Self::Change(_) | Self::Push => String::new(),
        }
    }
}

impl Look {
    fn title(&self) -> String {
        match self {
            Self::Changed(_) => "list what git sees changed".to_owned(),
            Self::BranchStatus => "the state of the branch".to_owned(),
            Self::Show { path, rev } => format!("show {path} at {rev}"),
            Self::Diff { span: Span::Uncommitted, .. } => "diff of everything uncommitted".to_owned(),
            Self::Diff { span: Span::Since(base), .. } => format!("diff since {base}"),
            Self::Diff { span: Span::Between { base, head }, .. } => format!("diff of {base}..{head}"),
            Self::Log { path, .. } => format!("history of {path}"),
            Self::Blame { path, start, end } => format!("blame {path}:{start}-{end}"),
            Self::MergeBase { base, head } => format!("where {base} and {head} part"),
            Self::CommitContext => "what a commit message is written from".to_owned(),
        }
    }
}

impl Change {
    fn title(&self) -> String {
        match self {
            Self::Stage(Selection::All) => "stage all changes".to_owned(),
            Self::Stage(Selection::Paths(paths)) => format!("stage {}", files(paths)),
            Self::Unstage { paths } => format!("unstage {}", files(paths)),
            Self::CreateBranch { name, start } => format!("create branch {name} from {start}"),
            Self::Checkpoint { message } => format!("commit all changes: {}", first_line(message)),
            Self::Rollback { target } => format!("roll back to {target}, discarding what is not committed"),
        }
    }
}

/// A call of git as a shell would have to write it.
pub fn git_text(args: &[String]) -> String {
    format!("git {}", words::shell_text(args))
}

fn files(paths: &[String]) -> String {
    match paths {
        [path] => path.clone(),
        paths => format!("{} files", paths.len()),
    }
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}
