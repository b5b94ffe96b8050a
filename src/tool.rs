//! Every tool that agents call, as a type. A row holds what a tool is called, what it does, and how rules, cards and the
//! command line speak of it; the rest of the program asks the row. A new tool is a row here, its parameters and its
//! implementation in `tools`.
//!
//! A row is one right: whoever may use one spelling of a tool may use all of them. Tools of external MCP servers are no
//! rows; a `ToolName` tells the two apart.

mod name;

pub use name::ToolName;

/// What the rest of the program has to know about a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolRow {
    /// The canonical name, then the spellings of other systems and of the agents' own tools.
    names: &'static [&'static str],
    family: ToolFamily,
    effect: ToolEffect,
    subject: ToolSubject,
    rule_prefix: Option<RulePrefix>,
    /// The name by which a rule of `Github(…)` means the tool.
    rule_verb: Option<&'static str>,
    /// Commands that do the same, for rules that forbid one of them; `*` is any word.
    same_commands: &'static [&'static str],
    /// Whether agent programs have one of their own.
    is_native: bool,
}

/// What the calls of a tool work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolFamily {
    /// Children, tasks, questions, skills: the session itself.
    Session,
    Files,
    /// Commands, and pages of the web.
    Commands,
    /// Language servers, which run code of the project: build scripts, macros, plugins.
    Code,
    History,
    GitHub,
}

/// What a call of a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Changes at most what the session knows of itself.
    Session,
    /// Starts, wakes or ends children.
    Children,
    /// Lifts or sets limits of the session.
    Limits,
    /// Shows names, positions or history.
    Looks,
    /// Shows the contents of the files that it names.
    ShowsFiles,
    /// Shows a page or a search.
    ShowsPages,
    /// Makes a directory.
    MakesDirectory,
    /// Changes or removes the files that it names.
    ChangesFiles,
    /// Copies the first of its files to the second.
    CopiesFile,
    MovesFile,
    RunsCode,
    /// Looks or changes, as its arguments say.
    RunsGit,
    /// Changes the index, or makes a branch.
    PreparesCommit,
    ChangesHistory,
    /// Changes something on another machine.
    Publishes,
}

/// Which argument a call is about, and what that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSubject {
    Nothing,
    /// Files, all of which it names.
    Paths,
    /// A place below which it looks; the worktree if it names none.
    PlaceBelow,
    /// The file behind a position or a commit.
    PathBehind,
    /// A file and its other name.
    PathPair,
    Command,
    /// A command, or the one that the project's files suggest.
    KnownCommand,
    GitArguments,
    Url,
}

/// The word before the parenthesis of a rule such as `Edit(src/**)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulePrefix {
    Read,
    Write,
    Edit,
    Mkdir,
    Delete,
    List,
    Copy,
    Move,
    Bash,
    Git,
    Glob,
    Grep,
    Fetch,
    Tests,
    Rollback,
    Github,
    /// Tools of external servers, which are no rows.
    Mcp,
}

/// What happens with a call that nothing else decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    /// It goes ahead: it looks, or does nothing outside of the session.
    Free,
    /// A person decides.
    Asked,
    /// Its arguments decide.
    ByArguments,
}

/// Declares [`Tool`] and the row of each.
macro_rules! tools {
    ($($tool:ident => $row:expr,)*) => {
        /// A tool of an agent program or of Coppice.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Tool {
            $($tool,)*
        }

        impl Tool {
            pub const ALL: &'static [Self] = &[$(Self::$tool,)*];

            const fn row(self) -> &'static ToolRow {
                match self {
                    $(Self::$tool => const { &$row },)*
                }
            }
        }
    };
}

use RulePrefix as Prefix;
use ToolEffect as Does;
use ToolFamily::{Code, Commands, Files, History, Session};
use ToolSubject as About;

tools! {
    // What agent programs have of their own.
    Read => native(&["read", "read_file", "Read", "read_many_files"], Files, Does::ShowsFiles, About::Paths)
        .with_rules(Prefix::Read),
    Search => native(&["search", "grep", "Grep"], Files, Does::ShowsFiles, About::PlaceBelow).with_rules(Prefix::Grep),
    Locate => native(&["locate", "glob", "Glob"], Files, Does::Looks, About::PlaceBelow).with_rules(Prefix::Glob),
    List => native(&["list", "list_dir", "LS", "tree"], Files, Does::Looks, About::PlaceBelow).with_rules(Prefix::List),
    Write => native(&["write", "write_file", "Write"], Files, Does::ChangesFiles, About::Paths).with_rules(Prefix::Write),
    Edit => native(&["edit", "edit_file", "Edit", "MultiEdit"], Files, Does::ChangesFiles, About::Paths)
        .with_rules(Prefix::Edit),
    Patch => native(&["patch", "apply_patch", "apply_diff", "Patch"], Files, Does::ChangesFiles, About::Paths)
        .with_rules(Prefix::Edit),
    Bash => native(&["bash", "run_bash", "shell_exec", "exec_command", "Bash"], Commands, Does::RunsCode, About::Command)
        .with_rules(Prefix::Bash),
    WriteStdin => row(&["write_stdin"], Commands, Does::RunsCode, About::Nothing),
    WebFetch => native(&["web_fetch", "fetch_url", "WebFetch"], Commands, Does::ShowsPages, About::Url)
        .with_rules(Prefix::Fetch),
    WebSearch => native(&["web_search", "WebSearch"], Commands, Does::ShowsPages, About::Nothing),
    Todo => native(&["todo", "todo_write", "TodoWrite", "update_plan"], Session, Does::Session, About::Nothing),

    // Children.
    Delegate => row(
        &["delegate", "task", "Task", "Agent", "spawn_agent", "subagent"], Session, Does::Children, About::Nothing),
    Wait => row(&["wait"], Session, Does::Children, About::Nothing),
    SendInput => row(&["send_input"], Session, Does::Children, About::Nothing),
    CloseAgent => row(&["close_agent"], Session, Does::Children, About::Nothing),
    ListActiveAgents => row(&["list_active_agents"], Session, Does::Session, About::Nothing),
    SetThreadNote => row(&["set_thread_note"], Session, Does::Children, About::Nothing),
    ResumeAgent => row(&["resume_agent"], Session, Does::Children, About::Nothing),
    ListAgents => row(&["list_agents"], Session, Does::Session, About::Nothing),

    // Work of a session.
    TaskWorkflow => row(&["task_workflow"], Session, Does::Session, About::Nothing),
    TaskReview => row(&["task_review"], Session, Does::Session, About::Nothing),
    Question => row(
        &["question", "AskUserQuestion", "ask_user_question", "request_user_input"],
        Session, Does::Session, About::Nothing),
    Skill => row(&["skill"], Session, Does::Session, About::Nothing),
    SearchSkills => row(&["search_skills"], Session, Does::Session, About::Nothing),
    ExitPlanMode => row(&["exit_plan_mode", "ExitPlanMode"], Session, Does::Limits, About::Nothing),

    // Code intelligence.
    Symbols => row(&["symbols"], Code, Does::Looks, About::Nothing),
    Definition => row(&["definition"], Code, Does::ShowsFiles, About::PathBehind),
    Diagnostics => row(&["diagnostics"], Code, Does::ShowsFiles, About::PathBehind),
    Refs => row(&["refs"], Code, Does::ShowsFiles, About::PathBehind),
    Trace => row(&["trace"], Code, Does::ShowsFiles, About::PathBehind),
    RenameSymbol => row(&["rename_symbol"], Code, Does::ChangesFiles, About::Paths).with_rules(Prefix::Edit),
    CodeAction => row(&["code_action"], Code, Does::ChangesFiles, About::Paths).with_rules(Prefix::Edit),

    // Files and tests.
    Mkdir => row(&["mkdir"], Files, Does::MakesDirectory, About::Paths).with_rules(Prefix::Mkdir),
    CopyFile => row(&["copy_file"], Files, Does::CopiesFile, About::PathPair).with_rules(Prefix::Copy),
    MoveFile => row(&["move_file"], Files, Does::MovesFile, About::PathPair).with_rules(Prefix::Move),
    DeleteFile => row(&["delete_file"], Files, Does::ChangesFiles, About::Paths).with_rules(Prefix::Delete),
    RunTests => row(&["run_tests"], Commands, Does::RunsCode, About::KnownCommand).with_rules(Prefix::Tests),

    // History.
    GitDiff => row(&["git_diff", "git_diff_files"], History, Does::ShowsFiles, About::Nothing)
        .same_as(&["git diff *"]),
    GitShow => row(&["git_show", "git_show_file_at_rev"], History, Does::ShowsFiles, About::PathBehind)
        .same_as(&["git show *"]),
    GitStatus => row(
        &["git_status", "git_branch_status", "list_git_changed_files"], History, Does::Looks, About::Nothing)
        .same_as(&["git status"]),
    GitLogFile => row(&["git_log_file"], History, Does::Looks, About::PathBehind).same_as(&["git log *"]),
    GitBlameLines => row(&["git_blame_lines"], History, Does::ShowsFiles, About::PathBehind).same_as(&["git blame *"]),
    GitMergeBase => row(&["git_merge_base"], History, Does::Looks, About::Nothing).same_as(&["git merge-base *"]),
    GitCommitContext => row(&["git_commit_context"], History, Does::Looks, About::Nothing),
    Git => row(&["git"], History, Does::RunsGit, About::GitArguments).with_rules(Prefix::Git),
    GitStageFiles => row(&["git_stage_files"], History, Does::PreparesCommit, About::Nothing).same_as(&["git add *"]),
    GitUnstageFiles => row(&["git_unstage_files"], History, Does::PreparesCommit, About::Nothing)
        .same_as(&["git reset *", "git restore --staged *"]),
    GitCreateBranch => row(&["git_create_branch"], History, Does::PreparesCommit, About::Nothing)
        .same_as(&["git branch *", "git checkout -b *", "git switch -c *"]),
    GitCommit => row(&["git_commit"], History, Does::ChangesHistory, About::Nothing)
        .same_as(&["git commit", "git commit -m *"]),
    GitCommitApply => row(&["git_commit_apply"], History, Does::ChangesHistory, About::Nothing)
        .same_as(&["git commit", "git commit -m *"]),
    GitCheckpoint => row(&["git_checkpoint"], History, Does::ChangesHistory, About::Nothing)
        .same_as(&["git add -A", "git commit", "git commit -m *"]),
    Rollback => row(&["rollback"], History, Does::ChangesHistory, About::Nothing)
        .with_rules(Prefix::Rollback).same_as(&["git reset --hard *"]),
    GitPush => row(&["git_push"], History, Does::Publishes, About::Nothing)
        .same_as(&["git push", "git push origin *"]),

    // GitHub.
    GhPrContext => github(&["gh_pr_context"], Does::Looks, "read_pr_context"),
    GhPrRead => github(&["gh_pr_read"], Does::Looks, "read_pr").same_as(&["gh pr view *"]),
    GhPrReviewContext => github(&["gh_pr_review_context"], Does::Looks, "read_pr_review_context"),
    GhIssueRead => github(&["gh_issue_read"], Does::Looks, "read_issue").same_as(&["gh issue view *"]),
    GhIssueList => github(&["gh_issue_list"], Does::Looks, "list_open_issues").same_as(&["gh issue list *"]),
    GhPrCreate => github(&["gh_pr_create"], Does::Publishes, "create_pr").same_as(&["gh pr create *"]),
    GhPrUpdate => github(&["gh_pr_update"], Does::Publishes, "update_pr").same_as(&["gh pr edit *"]),
    GhPrAddComment => github(&["gh_pr_add_comment"], Does::Publishes, "add_pr_comment").same_as(&["gh pr comment *"]),
}

const fn row(names: &'static [&'static str], family: ToolFamily, effect: ToolEffect, subject: ToolSubject) -> ToolRow {
    let (rule_prefix, rule_verb) = (None, None);
    ToolRow { names, family, effect, subject, rule_prefix, rule_verb, same_commands: &[], is_native: false }
}

const fn native(
    names: &'static [&'static str],
    family: ToolFamily,
    effect: ToolEffect,
    subject: ToolSubject,
) -> ToolRow {
    ToolRow { is_native: true, ..row(names, family, effect, subject) }
}

const fn github(names: &'static [&'static str], effect: ToolEffect, verb: &'static str) -> ToolRow {
    let row = row(names, ToolFamily::GitHub, effect, ToolSubject::Nothing);
    ToolRow { rule_prefix: Some(RulePrefix::Github), rule_verb: Some(verb), ..row }
}

impl ToolRow {
    const fn with_rules(self, prefix: RulePrefix) -> Self {
        Self { rule_prefix: Some(prefix), ..self }
    }

    const fn same_as(self, commands: &'static [&'static str]) -> Self {
        Self { same_commands: commands, ..self }
    }
}

impl Tool {
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }

    /// The tool with a spelling, which is case-sensitive.
    pub fn named(spelling: &str) -> Option<Self> {
        Self::all().find(|tool| tool.names().contains(&spelling))
    }

    /// The tool that rules of `Github(…)` call by a verb.
    pub fn with_rule_verb(verb: &str) -> Option<Self> {
        Self::all().find(|tool| tool.rule_verb() == Some(verb))
    }

    /// The canonical name.
    pub const fn name(self) -> &'static str {
        self.row().names[0]
    }

    /// All spellings, the canonical name first.
    pub const fn names(self) -> &'static [&'static str] {
        self.row().names
    }

    pub const fn family(self) -> ToolFamily {
        self.row().family
    }

    pub const fn effect(self) -> ToolEffect {
        self.row().effect
    }

    pub const fn subject(self) -> ToolSubject {
        self.row().subject
    }

    pub const fn rule_prefix(self) -> Option<RulePrefix> {
        self.row().rule_prefix
    }

    pub const fn rule_verb(self) -> Option<&'static str> {
        self.row().rule_verb
    }

    pub const fn same_commands(self) -> &'static [&'static str] {
        self.row().same_commands
    }

    /// Whether agent programs have one of their own.
    pub const fn is_native(self) -> bool {
        self.row().is_native
    }

    pub const fn class(self) -> ToolClass {
        match self.effect() {
            ToolEffect::Session
            | ToolEffect::Children
            | ToolEffect::Looks
            | ToolEffect::ShowsFiles
            | ToolEffect::ShowsPages => ToolClass::Free,
            ToolEffect::RunsGit => ToolClass::ByArguments,
            ToolEffect::Limits
            | ToolEffect::MakesDirectory
            | ToolEffect::ChangesFiles
            | ToolEffect::CopiesFile
            | ToolEffect::MovesFile
            | ToolEffect::RunsCode
            | ToolEffect::PreparesCommit
            | ToolEffect::ChangesHistory
            | ToolEffect::Publishes => ToolClass::Asked,
        }
    }

    /// Whether it changes files or history, or can run what does.
    pub const fn is_mutating(self) -> bool {
        !matches!((self.class(), self.effect()), (ToolClass::Free, _) | (_, ToolEffect::Limits))
    }

    /// Whether a person is asked about it although edits go ahead.
    pub const fn is_asked_beside_edits(self) -> bool {
        match self.effect() {
            ToolEffect::RunsCode | ToolEffect::RunsGit | ToolEffect::ChangesHistory | ToolEffect::Publishes => true,
            ToolEffect::Session
            | ToolEffect::Children
            | ToolEffect::Limits
            | ToolEffect::Looks
            | ToolEffect::ShowsFiles
            | ToolEffect::ShowsPages
            | ToolEffect::MakesDirectory
            | ToolEffect::ChangesFiles
            | ToolEffect::CopiesFile
            | ToolEffect::MovesFile
            | ToolEffect::PreparesCommit => false,
        }
    }

    /// Whether it changes or removes the file that it names at a place among others.
    pub const fn changes_file(self, at: usize) -> bool {
        match self.effect() {
            ToolEffect::ChangesFiles | ToolEffect::MovesFile => true,
            ToolEffect::CopiesFile => at > 0,
            ToolEffect::Session
            | ToolEffect::Children
            | ToolEffect::Limits
            | ToolEffect::Looks
            | ToolEffect::ShowsFiles
            | ToolEffect::ShowsPages
            | ToolEffect::MakesDirectory
            | ToolEffect::RunsCode
            | ToolEffect::RunsGit
            | ToolEffect::PreparesCommit
            | ToolEffect::ChangesHistory
            | ToolEffect::Publishes => false,
        }
    }

    /// Whether it shows the file that it names at a place among others, or gives it another name, without being `read`.
    pub const fn shows_file(self, at: usize) -> bool {
        match self.effect() {
            ToolEffect::ShowsFiles => !matches!(self, Self::Read),
            ToolEffect::CopiesFile | ToolEffect::MovesFile => at == 0,
            ToolEffect::Session
            | ToolEffect::Children
            | ToolEffect::Limits
            | ToolEffect::Looks
            | ToolEffect::ShowsPages
            | ToolEffect::MakesDirectory
            | ToolEffect::ChangesFiles
            | ToolEffect::RunsCode
            | ToolEffect::RunsGit
            | ToolEffect::PreparesCommit
            | ToolEffect::ChangesHistory
            | ToolEffect::Publishes => false,
        }
    }

    /// Whether a call that names no subject may mean anything.
    pub const fn needs_subject(self) -> bool {
        match self.subject() {
            ToolSubject::Paths | ToolSubject::PathPair | ToolSubject::Command | ToolSubject::Url => true,
            ToolSubject::Nothing
            | ToolSubject::PlaceBelow
            | ToolSubject::PathBehind
            | ToolSubject::KnownCommand
            | ToolSubject::GitArguments => false,
        }
    }
}

impl RulePrefix {
    pub const ALL: [Self; 17] = [
        Self::Read,
        Self::Write,
        Self::Edit,
        Self::Mkdir,
        Self::Delete,
        Self::List,
        Self::Copy,
        Self::Move,
        Self::Bash,
        Self::Git,
        Self::Glob,
        Self::Grep,
        Self::Fetch,
        Self::Tests,
        Self::Rollback,
        Self::Github,
        Self::Mcp,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Edit => "Edit",
            Self::Mkdir => "Mkdir",
            Self::Delete => "Delete",
            Self::List => "List",
            Self::Copy => "Copy",
            Self::Move => "Move",
            Self::Bash => "Bash",
            Self::Git => "Git",
            Self::Glob => "Glob",
            Self::Grep => "Grep",
            Self::Fetch => "Fetch",
            Self::Tests => "Tests",
            Self::Rollback => "Rollback",
            Self::Github => "Github",
            Self::Mcp => "MCP",
        }
    }

    /// The tools that its rules are about; none for those of external servers.
    pub fn tools(self) -> impl Iterator<Item = Tool> {
        Tool::all().filter(move |tool| tool.rule_prefix() == Some(self))
    }
}

impl ToolFamily {
    pub const ALL: [Self; 6] = [Self::Session, Self::Files, Self::Commands, Self::Code, Self::History, Self::GitHub];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Files => "files",
            Self::Commands => "commands",
            Self::Code => "code",
            Self::History => "history",
            Self::GitHub => "github",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_spelling_belongs_to_one_tool() {
        let all: Vec<_> = Tool::ALL.iter().flat_map(|tool| tool.names()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(Tool::ALL.iter().all(|tool| Tool::named(tool.name()) == Some(*tool)));
    }

    #[test]
    fn every_rule_verb_means_one_tool() {
        let verbs: Vec<_> = Tool::ALL.iter().filter_map(|tool| tool.rule_verb()).collect();
        assert_eq!(verbs.iter().collect::<BTreeSet<_>>().len(), verbs.len());
    }

    /// What each tool may do is safety: a changed row shows here.
    #[test]
    fn what_needs_a_person_is_listed_in_full() {
        let names = |is_meant: fn(Tool) -> bool| {
            let names = Tool::ALL.iter().filter(|tool| is_meant(**tool)).map(|tool| tool.name());
            names.collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(names(|tool| tool.class() == ToolClass::Free), @"read search locate list web_fetch web_search todo delegate wait send_input close_agent list_active_agents set_thread_note resume_agent list_agents task_workflow task_review question skill search_skills symbols definition diagnostics refs trace git_diff git_show git_status git_log_file git_blame_lines git_merge_base git_commit_context gh_pr_context gh_pr_read gh_pr_review_context gh_issue_read gh_issue_list");
        insta::assert_snapshot!(names(|tool| tool.class() == ToolClass::ByArguments), @"git");
        insta::assert_snapshot!(names(Tool::is_mutating), @"write edit patch bash write_stdin rename_symbol code_action mkdir copy_file move_file delete_file run_tests git git_stage_files git_unstage_files git_create_branch git_commit git_commit_apply git_checkpoint rollback git_push gh_pr_create gh_pr_update gh_pr_add_comment");
        insta::assert_snapshot!(names(Tool::is_asked_beside_edits), @"bash write_stdin run_tests git git_commit git_commit_apply git_checkpoint rollback git_push gh_pr_create gh_pr_update gh_pr_add_comment");
        insta::assert_snapshot!(names(|tool| tool.shows_file(0)), @"search definition diagnostics refs trace copy_file move_file git_diff git_show git_blame_lines");
        insta::assert_snapshot!(names(|tool| tool.changes_file(0)), @"write edit patch rename_symbol code_action move_file delete_file");
        insta::assert_snapshot!(names(|tool| tool.changes_file(1)), @"write edit patch rename_symbol code_action copy_file move_file delete_file");
        insta::assert_snapshot!(names(Tool::needs_subject), @"read write edit patch bash web_fetch rename_symbol code_action mkdir copy_file move_file delete_file");
        insta::assert_snapshot!(names(|tool| tool.effect() == ToolEffect::Publishes), @"git_push gh_pr_create gh_pr_update gh_pr_add_comment");
        insta::assert_snapshot!(names(Tool::is_native), @"read search locate list write edit patch bash web_fetch web_search todo");
    }
}
