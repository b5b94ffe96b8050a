//! The names, parameters, defaults and classes that other systems know: one line for each tool.

use super::super::served::{Needs, rows};
use super::super::{params, schema};
use super::documents::is_required;
use super::*;
use crate::permission::compact::Action;
use crate::permission::usual;

/// A tool: its parameters (a star must be given, `=` is what holds where it is not), its class of approval, and when it
/// is served.
const TOOLS: &[(&str, &str, char, u8)] = &[
    ("read_file", "path* offset=1 limit=2000", 'N', 2),
    ("read_many_files", "paths* offset=0 limit=524288", 'N', 2),
    ("write_file", "path* content*", 'A', 2),
    ("edit_file", "path* old_string* new_string* replace_all=false", 'A', 2),
    ("apply_diff", "diff*", 'A', 2),
    ("mkdir", "path*", 'A', 2),
    ("copy_file", "src* dst*", 'A', 2),
    ("move_file", "src* dst*", 'A', 2),
    ("delete_file", "path*", 'A', 2),
    ("list_dir", "path=.", 'N', 2),
    ("glob", "pattern* cwd", 'N', 2),
    ("grep", "pattern* path=. regex=false ignore_case=false max_results=50", 'N', 2),
    ("fetch_url", "url* max_bytes=65536", 'N', 2),
    ("run_bash", "command*", 'A', 2),
    ("run_tests", "command path=.", 'A', 1),
    ("list_git_changed_files", "staged=true unstaged=true untracked=true", 'N', 2),
    ("git_branch_status", "", 'N', 2),
    ("git_show_file_at_rev", "path* rev=HEAD", 'N', 2),
    ("git_diff_files", "base head paths", 'N', 2),
    ("git_log_file", "path* limit=10", 'N', 2),
    ("git_blame_lines", "path* start* end*", 'N', 2),
    ("git_merge_base", "base* head*", 'N', 2),
    ("git_commit_context", "", 'N', 1),
    ("gh_pr_context", "base", 'N', 1),
    ("gh_pr_read", "ref", 'N', 1),
    ("gh_pr_review_context", "ref", 'N', 1),
    ("gh_issue_read", "number* max_comments=20", 'N', 1),
    ("gh_issue_list", "labels assignee milestone", 'N', 1),
    ("git", "args*", 'V', 2),
    ("git_stage_files", "paths all=false", 'A', 3),
    ("git_unstage_files", "paths*", 'A', 3),
    ("git_create_branch", "name* start_point=HEAD", 'A', 3),
    ("git_commit", "message*", 'A', 3),
    ("git_commit_apply", "message*", 'A', 3),
    ("git_checkpoint", "message=checkpoint", 'A', 3),
    ("rollback", "target=HEAD~1", 'A', 3),
    ("git_push", "", 'A', 3),
    ("gh_pr_create", "base* title* body* draft=false", 'A', 3),
    ("gh_pr_update", "ref title* body*", 'A', 3),
    ("gh_pr_add_comment", "ref body*", 'A', 3),
    ("todo_write", "todos*", 'N', 1),
    ("exit_plan_mode", "", 'A', 1),
    ("Agent", "subagent_type* prompt* description run_in_background", 'N', 1),
];

/// The schema of a tool and when it is served.
fn found(name: &str) -> Option<(Value, u8)> {
    if name == Facade::Agent.name() {
        return Some((schema::of::<params::Agent>(), 1));
    }
    let (_, row) = rows().find(|(_, row)| row.name == name)?;
    let class = match row.needs {
        Needs::Instead | Needs::InsteadInPart => 2,
        Needs::Mutations => 3,
        Needs::Nothing | Needs::Children | Needs::Todos | Needs::Skills | Needs::Planning => 1,
    };
    Some(((row.schema)(), class))
}

/// What is wrong about one tool.
fn faults((name, wanted, approval, class): &(&str, &str, char, u8)) -> Vec<String> {
    let Some((schema, served)) = found(name) else { return vec![format!("{name} is not there")] };
    let mut faults = Vec::new();
    let asked = match usual(name) {
        Some(Action::Allow) => 'N',
        Some(Action::Ask | Action::Deny) => 'A',
        None => 'V',
    };
    if (asked, served) != (*approval, *class) {
        faults.push(format!("{name} is {asked}{served}, not {approval}{class}"));
    }
    let spell = |(parameter, star): (&str, bool)| format!("{parameter}{}", if star { "*" } else { "" });
    let properties = schema["properties"].as_object().unwrap();
    let has: Vec<_> = properties.keys().map(|one| spell((one, is_required(&schema, one)))).collect();
    let known: Vec<_> = wanted.split_whitespace().map(|one| one.split('=').next().unwrap().to_owned()).collect();
    if has != known {
        faults.push(format!("{name} takes {has:?}, not {known:?}"));
    }
    for (parameter, default) in wanted.split_whitespace().filter_map(|one| one.split_once('=')) {
        let says =
            properties.get(parameter).map(|one| one["description"].as_str().unwrap_or_default().replace(',', ""));
        // What is off until it is asked for needs no words; the root goes by many names.
        let is_told = matches!(default, "false" | ".") || says.is_none_or(|says| says.contains(default));
        if !is_told {
            faults.push(format!("{name}: `{parameter}` does not say that it is {default} by itself"));
        }
    }
    faults
}

#[test]
fn r101_every_tool_that_others_know_is_there_as_they_know_it() {
    assert_eq!(TOOLS.len(), 43);
    let faults: Vec<_> = TOOLS.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
