//! Tables of lists against tools, and the tools of the built-in agents.

use super::super::surface::{Surface, resolve};
use super::super::{Access, Definition, Format, Mode};
use super::{agent, catalog};
use crate::tool::Tool;

const SOME: [Tool; 9] = [
    Tool::Read,
    Tool::Search,
    Tool::Write,
    Tool::Bash,
    Tool::Wait,
    Tool::Delegate,
    Tool::Todo,
    Tool::Skill,
    Tool::SearchSkills,
];

fn servers() -> Vec<String> {
    ["mcp__github__create_pr", "mcp:docs:search"].map(str::to_owned).into()
}

fn of(keys: &str) -> Definition {
    agent(Format::Unified, "a", &format!("---\n{keys}\n---\n"))
}

/// By name.
fn held(surface: &Surface) -> Vec<&str> {
    let mut names: Vec<_> = surface.tools.iter().map(|tool| tool.name()).collect();
    names.sort_unstable();
    names.extend(surface.mcp.iter().map(String::as_str));
    names
}

#[track_caller]
fn check(keys: &str, expected: &[&str]) {
    assert_eq!(held(&resolve(&of(keys), SOME, &servers())), expected, "{keys}");
}

/// Every tool there is, `web_search` only where it is configured.
fn all(web_search: &[Tool]) -> Vec<Tool> {
    Tool::all().filter(|tool| *tool != Tool::WebSearch).chain(web_search.iter().copied()).collect()
}

#[track_caller]
fn built_in(id: &str, available: &[Tool]) -> Surface {
    let surface = resolve(catalog([]).lookup(id, "builder").unwrap(), available.iter().copied(), &servers());
    assert_eq!(surface.warnings, [""; 0], "{id}");
    surface
}

#[test]
fn neither_list_is_the_full_surface() {
    let every = [
        "bash",
        "delegate",
        "read",
        "search",
        "search_skills",
        "skill",
        "todo",
        "wait",
        "write",
        "write_stdin",
        "mcp:docs:search",
        "mcp:github:create_pr",
    ];
    check("description: x", &every);
    check("tools: '*'", &every);
}

#[test]
fn a_deny_list_takes_away() {
    check("deny_list: [Bash, write_stdin, task, todo_write, '*skill*', 'mcp:*']", &["read", "search", "wait", "write"]);
}

#[test]
fn an_allow_list_leaves_what_it_names_and_what_exists() {
    check("allow_list: [Grep, read_many_files, definition]", &["read", "search"]);
    check("allow_list: [mcp__docs__search, github_create_pr]", &["mcp:docs:search", "mcp:github:create_pr"]);
    check("allow_list: [mcp/docs/search]", &["mcp:docs:search"]);
}

#[test]
fn deny_beats_allow_also_between_patterns() {
    check("allow_list: [read, write, bash]\ndeny_list: [Bash]", &["read", "write"]);
    check("allow_list: ['w*']\ndeny_list: ['wr*']", &["wait"]);
    check("allow_list: ['*']\ndeny_list: ['*']", &[]);
}

#[test]
fn an_empty_list_is_no_tools() {
    check("AllowTools: []", &[]);
    check("AllowTools: ['', ' ']", &[]);
    check("AllowTools: [nonsense, Wait]", &[]);
    check("AllowTools: []\nDisallowedTools: [read]", &[]);
    let template = agent(Format::Template, "t", "---\ndescription: x\nallow_list: []\n---\nx");
    assert_eq!(template.diagnostics[0].code, "allow_list_empty");
    assert_eq!(held(&resolve(&template, SOME, &servers())), [""; 0]);
}

#[test]
fn an_unknown_name_is_dropped_with_a_warning() {
    let surface = resolve(&of("AllowTools: [read, frobnicate, web_search, 'zz*', 'mcp:*']"), SOME, &[]);
    assert_eq!(held(&surface), ["read"]);
    // What exists, but not in this turn, is nobody's mistake.
    let warning =
        |name: &str| format!("agent \"a\" (unified/a.md) references unknown tool \"{name}\" — dropping from allowlist");
    assert_eq!(surface.warnings, [warning("frobnicate"), warning("zz*")]);
}

#[test]
fn all_external_tools_have_one_pattern() {
    check("AllowTools: ['mcp:*']", &["mcp:docs:search", "mcp:github:create_pr"]);
    check("AllowTools: [read, 'mcp:*']\nDisallowedTools: ['mcp:github:*']", &["read", "mcp:docs:search"]);
    let local = resolve(&of("DisallowedTools: ['mcp:*']"), SOME, &servers());
    assert_eq!((local.mcp.len(), local.tools.len()), (0, SOME.len() + 1));
}

#[test]
fn patterns_are_case_sensitive_and_no_expressions() {
    check("allow_list: ['sear*', 'r?ad']", &["read", "search", "search_skills"]);
    check("allow_list: ['W*', 'Wait']", &["write"]);
    check("allow_list: ['read|write', 'w.it', '[a-z]+', '.*']", &[]);
    check("allow_list: ['exec_*']", &["bash"]);
}

#[test]
fn a_call_is_checked_in_any_spelling() {
    let surface = resolve(&of("allow_list: [Read, exec_command, spawn_agent, 'mcp:docs:*']"), SOME, &servers());
    for (name, expected) in [
        ("read_file", true),
        ("Bash", true),
        ("Agent", true),
        ("delegate", true),
        ("mcp__docs__search", true),
        ("mcp__github__create_pr", false),
        ("Write", false),
        ("READ", false),
        ("write_stdin", false),
        ("", false),
    ] {
        assert_eq!(surface.contains(name), expected, "{name}");
    }
    assert_eq!(surface.native().collect::<Vec<_>>(), [Tool::Read, Tool::Bash]);
    assert_eq!(surface.served().collect::<Vec<_>>(), [Tool::Delegate]);
}

#[test]
fn skills_are_tools_like_others() {
    check("allow_list: [skill]", &["skill"]);
    check("allow_list: [skill, search_skills, read]\ndeny_list: [search_skills]", &["read", "skill"]);
}

#[test]
fn a_tool_whose_every_call_is_denied_does_not_exist() {
    check("permission: {'*': deny, grep: allow, read_file: {'*.md': ask}}", &["read", "search"]);
    check(
        "permission: {'*': allow, 'mcp:*': deny, bash: {'*': deny}, write_stdin: deny, '*skill*': deny}",
        &["delegate", "read", "search", "todo", "wait", "write"],
    );
}

#[test]
fn the_four_that_people_choose() {
    let available = all(&[Tool::WebSearch]);
    let missing = |id: &str| -> Vec<&str> {
        let surface = built_in(id, &available);
        available.iter().filter(|tool| !surface.has(**tool)).map(|tool| tool.name()).collect()
    };
    let children = ["wait", "send_input", "close_agent", "set_thread_note", "resume_agent"];
    let builder: Vec<_> = missing("builder").into_iter().filter(|name| !children.contains(name)).collect();
    assert_eq!(builder, ["delegate", "task_workflow", "task_review"]);
    assert_eq!(missing("engineer"), ["task_review"]);

    for id in ["reviewer", "planner"] {
        let surface = built_in(id, &available);
        for name in
            ["write", "edit", "apply_patch", "bash", "rename_symbol", "code_action", "delegate", "task_workflow"]
        {
            assert!(!surface.contains(name), "{id} {name}");
        }
        for name in ["read", "search", "symbols", "definition", "diagnostics", "refs", "trace", "question"] {
            assert!(surface.contains(name), "{id} {name}");
        }
        assert!(!surface.is_mutating());
        assert_eq!(surface.contains("task_review"), id == "reviewer");
    }
    let of = |id| catalog([]).lookup(id, "").map(|agent| (agent.mode, agent.access)).unwrap();
    assert_eq!([of("builder"), of("engineer")], [(Mode::Primary, Access::Inherit); 2]);
    assert_eq!([of("reviewer"), of("planner")], [(Mode::All, Access::ReadOnly); 2]);
}

#[test]
fn web_search_is_there_where_it_is_configured() {
    for id in ["builder", "engineer", "reviewer", "planner"] {
        assert!(built_in(id, &all(&[Tool::WebSearch])).contains("WebSearch"), "{id}");
        assert!(!built_in(id, &all(&[])).contains("WebSearch"), "{id}");
    }
}

#[test]
fn explore_reads_and_general_does_all_but_delegate() {
    let available = all(&[Tool::WebSearch]);
    let explore = built_in("explore", &available);
    let bookkeeping = ["todo", "list_agents", "list_active_agents"];
    let able: Vec<_> = held(&explore).into_iter().filter(|name| !bookkeeping.contains(name)).collect();
    assert_eq!(able, ["list", "locate", "read", "search", "web_fetch", "web_search"]);
    let general = built_in("general", &available).without_delegation();
    let missing: Vec<_> = available.iter().filter(|tool| !general.has(**tool)).map(|tool| tool.name()).collect();
    let delegation = ["delegate", "wait", "send_input", "close_agent", "set_thread_note", "resume_agent"];
    assert_eq!(missing, delegation);
    let steps = |id| catalog([]).lookup(id, "").unwrap().max_steps;
    assert_eq!([steps("explore"), steps("general")], [Some(15), Some(20)]);
}

#[test]
fn the_orchestrator_spawns_and_those_below_do_not() {
    let available = all(&[]);
    let orchestrator = built_in("orchestrator", &available);
    assert!(available.iter().all(|tool| orchestrator.has(*tool)) && orchestrator.contains("spawn_agent"));
    for id in ["worker", "explorer"] {
        let surface = built_in(id, &available);
        for name in ["update_plan", "list_agents", "list_active_agents"] {
            assert!(surface.contains(name), "{id} {name}");
        }
        assert!(!surface.contains("spawn_agent"), "{id}");
        assert_eq!(surface.clone().without_delegation(), surface, "{id}");
    }
    assert!(built_in("worker", &available).is_mutating());
    let modes = ["explore", "general", "worker"].map(|id| catalog([]).lookup(id, "").unwrap().mode);
    assert_eq!(modes, [Mode::Subagent; 3]);
}

#[test]
fn a_prompt_of_ours_names_only_tools_that_its_agent_has() {
    let available = all(&[Tool::WebSearch]);
    for agent in catalog([]).agents() {
        let surface = resolve(agent, available.iter().copied(), &[]);
        let named = agent.prompt.split('`').skip(1).step_by(2).filter(|word| Tool::named(word).is_some());
        for name in named {
            assert!(surface.contains(name), "{} {name}", agent.id);
        }
        assert_eq!(agent.diagnostics, [], "{}", agent.id);
        assert!(agent.prompt.len() < 3500, "{}", agent.id);
    }
}
