//! The names, parameters, defaults and classes that other systems know: one line for each tool.

use super::super::served::{Needs, rows};
use super::documents::{facade_schema, is_required};
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
    ("gh_issue_read", "number* max_comments=0", 'N', 1),
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
    ("Agent", "subagent_type* prompt* description run_in_background=false", 'N', 1),
    // Language servers.
    ("symbols", "query*", 'N', 1),
    ("definition", "path* line* character symbol", 'N', 1),
    ("diagnostics", "paths path", 'N', 1),
    ("refs", "path* line* character symbol mode=all max_results=200 include_declaration=false", 'N', 1),
    ("trace", "path* line* character symbol mode* depth=2 max_nodes=200", 'N', 1),
    ("rename_symbol", "path* line* character symbol new_name*", 'A', 1),
    (
        "code_action",
        "path* start_line* start_character* end_line* end_character* title kind only_preferred=false",
        'A',
        1,
    ),
    // The session.
    ("delegate", "agent_id* task* context_summary* source_handoff_ids", 'N', 1),
    ("task", "description* prompt* agentType*", 'N', 1),
    ("spawn_agent", "message items agent_type agent_name model reasoning_effort thread_note", 'N', 1),
    ("wait", "ids* timeout_ms=300000", 'N', 1),
    ("send_input", "id* message items interrupt=false", 'N', 1),
    ("close_agent", "id*", 'N', 1),
    ("resume_agent", "id*", 'N', 1),
    ("set_thread_note", "id* note", 'N', 1),
    ("list_active_agents", "scope=children include_tree=false include_closed=false", 'N', 1),
    ("list_agents", "agent_type expanded=false", 'N', 1),
    ("task_workflow", "action* task_id parent_task_id title kind status notes progress block_reason summary", 'N', 1),
    ("task_review", "action* task_id review_status review_summary", 'N', 1),
    ("question", "question* options* multiple=false purpose", 'N', 1),
    ("skill", "name* section", 'N', 1),
    ("search_skills", "query*", 'N', 1),
];

/// How many of them come from files, searches, commands, git and GitHub, with the list of todos and one façade.
const FIRST: usize = 43;

/// The schema of a tool and when it is served.
fn found(name: &str) -> Option<(Value, u8)> {
    if let Some(facade) = FACADES.into_iter().find(|facade| facade.name() == name) {
        return Some((facade_schema(facade), 1));
    }
    let row = rows().find(|row| row.name == name)?;
    let class = match row.needs {
        Needs::Instead | Needs::InsteadInPart | Needs::NoShell => 2,
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
    for one in wanted.split_whitespace() {
        let (parameter, default) = match one.split_once('=') {
            Some((parameter, default)) => (parameter, Some(default.to_owned())),
            None => (one.trim_end_matches('*'), None),
        };
        let described = properties.get(parameter).unwrap_or(&Value::Null);
        let has = described.get("default").map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        if has != default {
            faults.push(format!("{name}: `{parameter}` is {has:?} by itself, not {default:?}"));
        }
        let kind = described["type"].as_str().unwrap_or_default();
        if !fits(described.get("default"), kind) {
            faults.push(format!("{name}: `{parameter}` is a {kind} and has another default"));
        }
    }
    faults
}

/// Whether a default is a value that the parameter takes.
fn fits(default: Option<&Value>, kind: &str) -> bool {
    default.is_none_or(|default| match kind {
        "boolean" => default.is_boolean(),
        "integer" => default.is_i64(),
        "string" => default.is_string(),
        _ => false,
    })
}

#[test]
fn every_tool_that_others_know_is_there_as_they_know_it() {
    assert_eq!(TOOLS.iter().position(|(name, ..)| *name == "symbols"), Some(FIRST));
    let faults: Vec<_> = TOOLS.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_tool_is_missing_in_the_table() {
    let known: Vec<_> = FACADES.iter().map(|facade| facade.name()).chain(rows().map(|row| row.name)).collect();
    let missing: Vec<_> = known.iter().filter(|name| TOOLS.iter().all(|(tool, ..)| tool != *name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(TOOLS.len(), known.len());
}
