//! What tools are called: one canonical name for each, and the spellings that other systems use for it.
//!
//! Names are case-sensitive. A tool of an external MCP server is `mcp:SERVER:TOOL`.

use std::borrow::Cow;

use super::glob;

/// Every tool there is: the canonical name, then its other spellings.
///
/// A row has one right: whoever may use one spelling may use all of them.
const SPELLINGS: &[&[&str]] = &[
    // What agents have of their own.
    &["read", "read_file", "Read", "read_many_files"],
    &["search", "grep", "Grep"],
    &["locate", "glob", "Glob"],
    &["list", "list_dir", "LS", "tree"],
    &["write", "write_file", "Write"],
    &["edit", "edit_file", "Edit", "MultiEdit"],
    &["patch", "apply_patch", "apply_diff", "Patch"],
    &["bash", "run_bash", "shell_exec", "exec_command", "Bash"],
    &["write_stdin"],
    &["web_fetch", "fetch_url", "WebFetch"],
    &["web_search", "WebSearch"],
    &["todo", "todo_write", "TodoWrite", "update_plan"],
    // Children.
    &["delegate", "task", "Task", "Agent", "spawn_agent", "subagent"],
    &["wait"],
    &["send_input"],
    &["close_agent"],
    &["list_active_agents"],
    &["set_thread_note"],
    &["resume_agent"],
    &["list_agents"],
    // Work of a session.
    &["task_workflow"],
    &["task_review"],
    &["question", "AskUserQuestion", "ask_user_question", "request_user_input"],
    &["skill"],
    &["search_skills"],
    &["exit_plan_mode", "ExitPlanMode"],
    // Code intelligence.
    &["symbols"],
    &["definition"],
    &["diagnostics"],
    &["refs"],
    &["trace"],
    &["rename_symbol"],
    &["code_action"],
    // Files, tests and history.
    &["mkdir"],
    &["copy_file"],
    &["move_file"],
    &["delete_file"],
    &["run_tests"],
    &["git_diff", "git_diff_files"],
    &["git_show", "git_show_file_at_rev"],
    &["git_status", "git_branch_status", "list_git_changed_files"],
    &["git_log_file"],
    &["git_blame_lines"],
    &["git_merge_base"],
    &["git_commit_context"],
    &["git"],
    &["git_stage_files"],
    &["git_unstage_files"],
    &["git_create_branch"],
    &["git_commit"],
    &["git_commit_apply"],
    &["git_checkpoint"],
    &["rollback"],
    &["git_push"],
    // GitHub.
    &["gh_pr_context"],
    &["gh_pr_read"],
    &["gh_pr_review_context"],
    &["gh_issue_read"],
    &["gh_issue_list"],
    &["gh_pr_create"],
    &["gh_pr_update"],
    &["gh_pr_add_comment"],
];

/// What changes files or history, or runs commands that can.
const MUTATING: &[&str] = &[
    "write",
    "edit",
    "patch",
    "bash",
    "write_stdin",
    "rename_symbol",
    "code_action",
    "mkdir",
    "copy_file",
    "move_file",
    "delete_file",
    "run_tests",
    "git",
    "git_stage_files",
    "git_unstage_files",
    "git_create_branch",
    "git_commit",
    "git_commit_apply",
    "git_checkpoint",
    "rollback",
    "git_push",
    "gh_pr_create",
    "gh_pr_update",
    "gh_pr_add_comment",
];

/// The server under whose name agents know the tools that we serve.
const OWN_SERVER: &str = "coppice";

/// The canonical names of all tools of our own.
pub fn all() -> impl Iterator<Item = &'static str> {
    SPELLINGS.iter().map(|row| row[0])
}

/// The one name of a tool; a name that nobody knows is its own.
pub fn canonical(name: &str) -> Cow<'_, str> {
    if let Some(row) = row(name) {
        return Cow::Borrowed(row[0]);
    }
    let Some((server, tool)) = server_and_tool(name) else { return Cow::Borrowed(name) };
    match row(tool).filter(|_| server == OWN_SERVER) {
        Some(row) => Cow::Borrowed(row[0]),
        None => Cow::Owned(format!("mcp:{server}:{tool}")),
    }
}

/// Whether a name is a spelling of a tool of our own.
pub fn is_known(name: &str) -> bool {
    row(name).is_some()
}

/// Whether a tool changes files or history, or can run what does.
pub fn is_mutating(name: &str) -> bool {
    MUTATING.contains(&canonical(name).as_ref())
}

/// Whether a name or pattern of an agent's file means a tool; either may be in any spelling.
pub fn means(pattern: &str, tool: &str) -> bool {
    Spelled::new(tool).is_meant_by(pattern)
}

/// A tool in all of its spellings, to be held against many patterns.
pub(in crate::permission) struct Spelled<'a> {
    canonical: Cow<'a, str>,
    spellings: Vec<Cow<'a, str>>,
    /// `SERVER_TOOL` of a tool of an external server.
    short: Option<String>,
}

impl<'a> Spelled<'a> {
    pub(in crate::permission) fn new(name: &'a str) -> Self {
        let canonical = canonical(name);
        if let Some(row) = row(&canonical) {
            let spellings = row.iter().map(|spelling| Cow::Borrowed(*spelling)).collect();
            return Self { canonical, spellings, short: None };
        }
        let mut spellings = vec![canonical.clone()];
        let mut short = None;
        if let Some((server, tool)) = server_and_tool(&canonical) {
            spellings.push(Cow::Owned(format!("mcp__{server}__{tool}")));
            spellings.push(Cow::Owned(format!("mcp/{server}/{tool}")));
            short = Some(format!("{server}_{tool}"));
        }
        Self { canonical, spellings, short }
    }

    pub(in crate::permission) fn canonical(&self) -> &str {
        &self.canonical
    }

    pub(in crate::permission) fn is_meant_by(&self, pattern: &str) -> bool {
        let is_named = if glob::is_pattern(pattern) {
            self.spellings.iter().any(|spelling| glob::matches(pattern, spelling))
        } else {
            // Only what names a server has spellings that are in no list.
            let is_other = || pattern.starts_with("mcp") && canonical(pattern) == self.canonical;
            self.spellings.iter().any(|spelling| spelling == pattern) || is_other()
        };
        is_named || self.short.as_ref().is_some_and(|short| is_short_for(pattern, short))
    }
}

/// `SERVER_TOOL` looks like any other name, so it counts only where it cannot mean a tool of our own.
fn is_short_for(pattern: &str, short: &str) -> bool {
    let is_ours = || SPELLINGS.iter().flat_map(|row| row.iter()).any(|spelling| glob::matches(pattern, spelling));
    glob::matches(pattern, short) && !is_ours()
}

fn row(name: &str) -> Option<&'static [&'static str]> {
    SPELLINGS.iter().find(|row| row.contains(&name)).copied()
}

fn server_and_tool(name: &str) -> Option<(&str, &str)> {
    let split = |prefix, separator| name.strip_prefix(prefix).and_then(|rest| rest.split_once(separator));
    let (server, tool) = split("mcp:", ":").or_else(|| split("mcp__", "__")).or_else(|| split("mcp/", "/"))?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_spelling_belongs_to_one_tool() {
        let all: Vec<_> = SPELLINGS.iter().flat_map(|row| row.iter()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(MUTATING.iter().all(|name| canonical(name) == *name && is_known(name)));
    }

    #[test]
    fn spellings_of_other_systems_have_one_canonical_name() {
        for (spelling, name) in [
            ("Grep", "search"),
            ("Glob", "locate"),
            ("exec_command", "bash"),
            ("update_plan", "todo"),
            ("spawn_agent", "delegate"),
            ("list_git_changed_files", "git_status"),
            ("mcp__github__create_pr", "mcp:github:create_pr"),
            ("mcp/github/create_pr", "mcp:github:create_pr"),
            ("mcp:github:create_pr", "mcp:github:create_pr"),
            ("mcp__coppice__spawn_agent", "delegate"),
            ("mcp__coppice__other", "mcp:coppice:other"),
            ("mcp__broken", "mcp__broken"),
            ("Wait", "Wait"),
            ("READ", "READ"),
        ] {
            assert_eq!(canonical(spelling), name);
        }
    }

    #[test]
    fn a_short_spelling_never_reaches_past_a_tool_of_our_own() {
        assert!(means("github_create_pr", "mcp:github:create_pr"));
        assert!(means("github_*", "mcp__github__create_pr"));
        assert!(!means("web_search", "mcp:web:search"));
        assert!(!means("git_*", "mcp:git:push"));
        assert!(means("mcp__git*", "mcp:git:push"));
        assert!(means("*", "mcp:git:push"));
    }
}
