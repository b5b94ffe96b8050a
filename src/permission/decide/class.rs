//! What kind of thing each tool is, by its canonical name.

/// Whether a tool needs a person when nothing else is said about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It looks, or does nothing outside of the session.
    Free,
    Asked,
    /// It is told by what the call says.
    Varies,
    Unknown,
}

const FREE: &[&str] = &[
    "read",
    "search",
    "locate",
    "list",
    "web_fetch",
    "web_search",
    "todo",
    "delegate",
    "wait",
    "send_input",
    "close_agent",
    "list_active_agents",
    "set_thread_note",
    "resume_agent",
    "list_agents",
    "task_workflow",
    "task_review",
    "question",
    "skill",
    "search_skills",
    "symbols",
    "definition",
    "diagnostics",
    "refs",
    "trace",
    "git_diff",
    "git_show",
    "git_status",
    "git_log_file",
    "git_blame_lines",
    "git_merge_base",
    "git_commit_context",
    "gh_pr_context",
    "gh_pr_read",
    "gh_pr_review_context",
    "gh_issue_read",
    "gh_issue_list",
];

const ASKED: &[&str] = &[
    "write",
    "edit",
    "patch",
    "bash",
    "write_stdin",
    "exit_plan_mode",
    "rename_symbol",
    "code_action",
    "mkdir",
    "copy_file",
    "move_file",
    "delete_file",
    "run_tests",
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

const VARIES: &[&str] = &["git"];

/// Tools that a person is asked about although edits go ahead.
pub(super) const SAFETY_FLOOR: &[&str] = &[
    "bash",
    "write_stdin",
    "run_tests",
    "git",
    "git_commit",
    "git_commit_apply",
    "git_checkpoint",
    "rollback",
    "git_push",
    "gh_pr_create",
    "gh_pr_update",
    "gh_pr_add_comment",
];

/// Tools that start a language server, which runs code of the project: build scripts, macros, plugins.
pub(super) const STARTING: &[&str] =
    &["symbols", "definition", "diagnostics", "refs", "trace", "rename_symbol", "code_action"];

/// Tools that show what is in the files they name, though they are not called `read`.
pub(super) const SHOWING: &[&str] =
    &["search", "definition", "refs", "trace", "diagnostics", "git_diff", "git_show", "git_blame_lines"];

/// Tools that put a file where another name can read it.
pub(super) const CARRYING: &[&str] = &["copy_file", "move_file"];

/// Tools that change or remove the files they name; of `copy_file` the first is only read.
const CHANGING: &[&str] =
    &["write", "edit", "patch", "rename_symbol", "code_action", "copy_file", "move_file", "delete_file"];

/// The commands that do the same as a tool, for rules that forbid one of them; `*` is any word.
pub(super) const SAME_COMMANDS: &[(&str, &str)] = &[
    ("git_push", "git push"),
    ("git_push", "git push origin *"),
    ("git_commit", "git commit"),
    ("git_commit", "git commit -m *"),
    ("git_commit_apply", "git commit"),
    ("git_commit_apply", "git commit -m *"),
    ("git_checkpoint", "git add -A"),
    ("git_checkpoint", "git commit"),
    ("git_checkpoint", "git commit -m *"),
    ("git_stage_files", "git add *"),
    ("git_unstage_files", "git reset *"),
    ("git_unstage_files", "git restore --staged *"),
    ("git_create_branch", "git branch *"),
    ("git_create_branch", "git checkout -b *"),
    ("git_create_branch", "git switch -c *"),
    ("rollback", "git reset --hard *"),
    ("git_diff", "git diff *"),
    ("git_show", "git show *"),
    ("git_status", "git status"),
    ("git_log_file", "git log *"),
    ("git_blame_lines", "git blame *"),
    ("git_merge_base", "git merge-base *"),
    ("gh_pr_create", "gh pr create *"),
    ("gh_pr_update", "gh pr edit *"),
    ("gh_pr_add_comment", "gh pr comment *"),
    ("gh_pr_read", "gh pr view *"),
    ("gh_issue_read", "gh issue view *"),
    ("gh_issue_list", "gh issue list *"),
];

/// Tools whose effect is on other machines, whatever directory they start in.
pub(super) const OUTWARD: &[&str] = &["git_push", "gh_pr_create", "gh_pr_update", "gh_pr_add_comment"];

/// Tools that change what the session may do: its posture, or what an agent's own sandbox lets through.
pub(super) const BOUNDARY: &[&str] = &["exit_plan_mode", "enter_plan_mode", "EnterPlanMode", "request_permissions"];

/// Tools that are nothing without the thing they are about: who does not name it may mean anything.
pub(super) const POINTED: &[&str] = &[
    "read",
    "write",
    "edit",
    "patch",
    "rename_symbol",
    "code_action",
    "mkdir",
    "copy_file",
    "move_file",
    "delete_file",
    "bash",
    "web_fetch",
];

/// What rules call the tools for GitHub.
const VERBS: &[(&str, &str)] = &[
    ("gh_pr_read", "read_pr"),
    ("gh_pr_context", "read_pr_context"),
    ("gh_pr_review_context", "read_pr_review_context"),
    ("gh_issue_read", "read_issue"),
    ("gh_issue_list", "list_open_issues"),
    ("gh_pr_create", "create_pr"),
    ("gh_pr_update", "update_pr"),
    ("gh_pr_add_comment", "add_pr_comment"),
];

pub(super) fn of(tool: &str) -> Class {
    let table = [(FREE, Class::Free), (ASKED, Class::Asked), (VARIES, Class::Varies)];
    table.into_iter().find(|(tools, _)| tools.contains(&tool)).map_or(Class::Unknown, |(_, class)| class)
}

pub(super) fn verb(tool: &str) -> Option<&'static str> {
    VERBS.iter().find(|(name, _)| *name == tool).map(|(_, verb)| *verb)
}

pub(super) fn tool_of_verb(verb: &str) -> Option<&'static str> {
    VERBS.iter().find(|(_, known)| *known == verb).map(|(name, _)| *name)
}

/// Whether a tool changes or removes the file that it names at a place among others.
pub(super) fn changes_file(tool: &str, at: usize) -> bool {
    CHANGING.contains(&tool) && (tool != "copy_file" || at > 0)
}

/// The commands that do what a tool does.
pub(super) fn same_commands(tool: &str) -> impl Iterator<Item = &'static str> {
    SAME_COMMANDS.iter().filter(move |(name, _)| *name == tool).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::compact::tool;

    #[test]
    fn every_tool_has_one_class() {
        for name in tool::all() {
            assert_ne!(of(name), Class::Unknown, "{name}");
            let classes = [FREE, ASKED, VARIES].iter().filter(|tools| tools.contains(&name)).count();
            assert_eq!(classes, 1, "{name}");
        }
        let known: Vec<_> = tool::all().collect();
        let lists = [FREE, ASKED, VARIES, SAFETY_FLOOR, STARTING, SHOWING, CARRYING, CHANGING, OUTWARD, POINTED];
        assert!(lists.iter().flat_map(|list| list.iter()).all(|name| known.contains(name)));
        assert!(SAME_COMMANDS.iter().all(|(name, _)| known.contains(name)));
    }

    #[test]
    fn whatever_changes_something_is_asked_about() {
        for name in tool::all().filter(|name| tool::is_mutating(name)) {
            assert_ne!(of(name), Class::Free, "{name}");
        }
    }
}
