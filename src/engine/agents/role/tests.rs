//! Which tools an agent has where: tables over definitions, settings and backends.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::agent::directory::SkillLayout;
use crate::agent::skill::SkillInvocation;
use crate::backend::registry::Registry;
use crate::backend::spec::{self, NativeTools};
use crate::backend::{NativeTool, registry};
use crate::config::{self, LayerKind, Origin, Trust};
use crate::tool::Tool;

fn configured(text: &str) -> Config {
    let origin = Origin { label: "config.toml".into(), kind: LayerKind::User };
    config::resolve(&[config::parse(text, &origin).unwrap()], Trust::Untrusted)
}

/// A backend whose own tools can all be taken away, or none of them.
fn backend(native_tools: NativeTools) -> Spec {
    Spec { native_tools, ..registry::demo(Path::new("/coppice")) }
}

fn agents(files: &[(&str, &str)]) -> Arc<Agents> {
    let of = |(stem, header): &(&str, &str)| FileText {
        scope: Scope::Project,
        level: 0,
        format: Format::Unified,
        path: format!("{stem}.md"),
        stem: (*stem).to_owned(),
        text: format!("---\ndescription: x\nmode: all\n{header}---\nWork.\n"),
    };
    let ours = agent::builtin::files();
    let catalog = agent::catalog::Catalog::build(ours.chain(files.iter().map(of)).collect());
    Arc::new(Agents { catalog, ..Agents::default() })
}

/// One of the backends that come along.
fn built_in(name: &str) -> Spec {
    Registry::new(Path::new("/coppice"), Vec::new()).get(name).unwrap().clone()
}

fn at(name: &str, header: &str, depth: u32, access: Access, config: &str, spec: &Spec) -> Role {
    let agents = agents(&[("mine", header)]);
    let config = configured(config);
    let part = Part::selected(&pick::find(&agents, Some(name), "builder").unwrap());
    let session = Session { depth, access, planning: tools::Planning::Off, profile: None, external: Vec::new() };
    assemble(part, session, agents, None, &config, spec)
}

fn root(name: &str, header: &str, config: &str) -> Role {
    at(name, header, 0, Access::Write, config, &backend(NativeTools::Removable))
}

fn serves(role: &Role, name: &str) -> bool {
    role.served.iter().any(|tool| tool.name == name)
}

#[test]
fn an_agent_that_may_not_write_or_cannot_is_read_only() {
    for (header, of_child, expected) in [
        ("", Access::Write, Access::Write),
        ("", Access::ReadOnly, Access::ReadOnly),
        ("read_only: true\n", Access::Write, Access::ReadOnly),
        ("AllowTools: [read, question]\n", Access::Write, Access::ReadOnly),
        ("AllowTools: [read, bash]\n", Access::Write, Access::Write),
        ("AllowTools: []\n", Access::Write, Access::ReadOnly),
    ] {
        let role = at("mine", header, 1, of_child, "", &backend(NativeTools::Removable));
        assert_eq!(role.native.access, expected, "{header}");
    }
}

#[test]
fn git_is_served_to_whoever_lists_it_or_has_no_shell() {
    let looks = ["git_diff_files", "git_show_file_at_rev", "git_branch_status", "list_git_changed_files"];
    for spec in ["claude", "gemini", "codex"].map(built_in) {
        let serves_all = |name: &str, header: &str| {
            let role = at(name, header, 0, Access::Write, "", &spec);
            let served: Vec<_> = looks.iter().map(|tool| serves(&role, tool)).collect();
            assert!(served.iter().all(|is_served| *is_served == served[0]), "{name} {header}");
            served[0]
        };
        for (name, header, expected) in [
            ("reviewer", "", true),
            ("planner", "", true),
            ("worker", "", true),
            ("builder", "", false),
            ("explore", "", false),
            ("mine", "AllowTools: [bash, read, edit, patch, git_diff, git_show, git_status]\n", true),
            ("mine", "AllowTools: [bash, read, edit, patch]\n", false),
            ("mine", "AllowTools: [git_diff, git_show, git_status]\nDisallowedTools: ['git_*']\n", false),
            ("mine", "read_only: true\n", spec.native_tools == NativeTools::Removable),
        ] {
            assert_eq!(serves_all(name, header), expected, "{} {name} {header}", spec.name);
        }
    }
}

#[test]
fn a_reader_whose_shell_is_taken_away_reads_with_tools() {
    use NativeTool::{List, Locate, Read, Search};
    let auditor = "read_only: true\nAllowTools: [exec_command, write_stdin, wait]\n";
    for spec in ["claude", "gemini"].map(built_in) {
        let role = at("mine", auditor, 0, Access::Write, "", &spec);
        assert!([Read, Search, Locate, List].iter().all(|tool| spec.has(&role.native, *tool)), "{:?}", role.native);
        assert!(!spec.has(&role.native, NativeTool::Bash) && serves(&role, "git_diff_files"));
        let forbidden = format!("{auditor}DisallowedTools: [Grep]\n");
        let role = at("mine", &forbidden, 0, Access::Write, "", &spec);
        assert!(spec.has(&role.native, Read) && !spec.has(&role.native, Search));
        // Who may write has the shell and nothing that is not listed.
        let role = at("mine", "AllowTools: [exec_command]\n", 0, Access::Write, "", &spec);
        assert!(spec.has(&role.native, NativeTool::Bash) && !spec.has(&role.native, Read));
    }
    let served = at("mine", auditor, 0, Access::Write, "[tools]\nprofile = \"enforced\"", &built_in("claude"));
    assert!(serves(&served, "read_file") && serves(&served, "grep") && !serves(&served, "run_bash"));
}

#[test]
fn searching_the_web_exists_only_where_it_is_configured() {
    let on = "[tools]\nweb_search = true";
    for name in ["builder", "engineer", "reviewer", "planner"] {
        assert!(!root(name, "", "").surface.has(Tool::WebSearch), "{name}");
        assert!(root(name, "", on).surface.has(Tool::WebSearch), "{name}");
    }
    let whole = |config, native_tools| at("builder", "", 0, Access::Write, config, &backend(native_tools));
    assert_eq!(whole(on, NativeTools::Removable).native, Native::default());
    let tools = whole("", NativeTools::Removable).native.tools.unwrap();
    assert!(!tools.contains(&NativeTool::WebSearch) && tools.len() == NativeTool::ALL.len() - 1);
    // Where nothing can be taken away the definition still holds, and the setting does not.
    let role = whole("", NativeTools::Fixed);
    assert_eq!((role.native, role.hold), (Native::default(), SurfaceHold::Enforced));
}

#[test]
fn what_cannot_be_held_is_refused_unless_it_was_agreed_to() {
    let role = at("reviewer", "", 0, Access::Write, "", &backend(NativeTools::Fixed));
    assert_eq!(role.hold, SurfaceHold::Advisory);
    let refused = held(role.clone(), family::Surface::Enforced).unwrap_err();
    assert!(refused.message.starts_with("surface_not_enforceable: agent `reviewer` "), "{}", refused.message);
    assert!(held(role, family::Surface::Advisory).is_ok());
    assert!(held(root("reviewer", "", ""), family::Surface::Enforced).is_ok());
}

#[test]
fn a_child_has_no_tool_to_delegate_with_unless_it_is_listed() {
    let deep =
        |name, header, depth, config| at(name, header, depth, Access::Write, config, &backend(NativeTools::Removable));
    for (name, depth, config, expected) in [
        ("engineer", 0, "", true),
        ("builder", 0, "", false),
        ("mine", 0, "", true),
        ("mine", 1, "", false),
        ("orchestrator", 1, "", true),
        ("orchestrator", 2, "", false),
        ("mine", 1, "[delegation]\nmax_depth = 2", true),
        ("mine", 0, "[delegation]\nmax_depth = 0", false),
        ("mine", 1, "[delegation]\nnested_agents = [\"mine\"]", true),
    ] {
        let role = deep(name, "AllowTools: [delegate, wait, read]\n", depth, config);
        assert_eq!(serves(&role, "delegate"), expected, "{name} {depth} {config}");
        assert_eq!(serves(&role, "wait"), expected, "{name} {depth} {config}");
        assert_eq!(role.surface.has(Tool::Delegate), expected, "{name} {depth} {config}");
    }
}

#[test]
fn the_facade_is_the_configured_one_and_offers_who_can_be_handed_work() {
    let role = root("engineer", "", "[delegation]\nfacade = \"task\"");
    assert!(serves(&role, "task") && !serves(&role, "delegate"));
    let tool = role.served.iter().find(|tool| tool.name == "task").unwrap();
    assert!(tool.description.contains("- explore: ") && !tool.description.contains("- builder: "));
}

#[test]
fn todos_are_served_only_where_the_backend_has_none() {
    let with = |todos| Spec { todos, ..backend(NativeTools::Removable) };
    let has = |todos| serves(&at("builder", "", 0, Access::Write, "", &with(todos)), "todo_write");
    assert!(has(spec::Todos::Served) && !has(spec::Todos::Native));
}

#[test]
fn who_makes_a_plan_writes_it_and_has_nobody_carry_it_out() {
    for (header, planning, serves_exit, bound) in [
        ("", tools::Planning::Off, false, Access::Write),
        ("", tools::Planning::On, true, Access::ReadOnly),
        ("AllowTools: [read, edit]\n", tools::Planning::On, true, Access::ReadOnly),
        ("AllowTools: [read, bash]\n", tools::Planning::On, false, Access::ReadOnly),
        ("read_only: true\n", tools::Planning::On, false, Access::ReadOnly),
    ] {
        let (agents, config) = (agents(&[("mine", header)]), configured(""));
        let part = Part::selected(&pick::find(&agents, Some("mine"), "builder").unwrap());
        let session = Session { depth: 0, access: Access::Write, planning, profile: None, external: Vec::new() };
        let role = assemble(part, session, agents, None, &config, &backend(NativeTools::Removable));
        assert_eq!((serves(&role, "exit_plan_mode"), role.bound), (serves_exit, bound), "{header}");
    }
}

#[test]
fn skills_are_told_where_they_can_be_loaded() {
    let header = "---\ndescription: Makes PDFs\n---\nDo.";
    let skill = skill::parse("p", "pdf", SkillLayout::Directories, header).unwrap();
    let manual = skill::Skill { invoked_by: SkillInvocation::Person, ..skill.clone() };
    for (header, skill, is_told) in
        [("", &skill, true), ("DisallowedTools: [skill]\n", &skill, false), ("", &manual, false)]
    {
        let mut agents = Arc::into_inner(agents(&[("mine", header)])).unwrap();
        agents.skills = vec![skill.clone()];
        let (agents, config) = (Arc::new(agents), configured(""));
        let part = Part::selected(&pick::find(&agents, Some("mine"), "builder").unwrap());
        let planning = tools::Planning::Off;
        let session = Session { depth: 0, access: Access::Write, planning, profile: None, external: Vec::new() };
        let role = assemble(part, session, agents, None, &config, &backend(NativeTools::Removable));
        assert_eq!(role.told().as_role().skills.contains("$pdf"), is_told);
        assert_eq!(serves(&role, "skill"), is_told);
        let is_manual = skill.invoked_by == SkillInvocation::Person;
        let counts = [PromptAuthor::Person, PromptAuthor::ParentAgent, PromptAuthor::Coppice]
            .map(|author| role.find_skill_mentions("use ${pdf} here", author).len());
        assert_eq!(counts, [1, usize::from(!is_manual), 0]);
    }
}

#[test]
fn the_own_tools_of_an_agent_are_off_where_others_are_served() {
    let todo = || Some([NativeTool::Todo].into());
    for (header, config, access, tools) in [
        ("", "", Access::Write, None),
        ("profile: enforced\n", "", Access::Write, todo()),
        ("", "profile = \"enforced\"", Access::Write, todo()),
        ("profile: native\n", "profile = \"enforced\"", Access::Write, todo()),
        ("profile: readonly\n", "profile = \"enforced\"", Access::ReadOnly, todo()),
        ("profile: enforced\nAllowTools: [read, edit]\n", "", Access::Write, Some([].into())),
    ] {
        for native_tools in [NativeTools::Removable, NativeTools::Sandboxed] {
            let config = format!("[tools]\n{config}");
            let role = at("mine", header, 0, Access::Write, &config, &backend(native_tools));
            let without_search = |tools: BTreeSet<NativeTool>| tools.len() < NativeTool::ALL.len() - 1;
            assert_eq!(
                role.native.tools.clone().filter(|tools| without_search(tools.clone())),
                tools,
                "{header}{config}"
            );
            assert_eq!((role.native.access, role.hold), (access, SurfaceHold::Enforced), "{header}{config}");
            assert_eq!((role.profile == Profile::Native, role.bound), (tools.is_none(), access), "{header}{config}");
        }
    }
    let role = at("mine", "profile: enforced\n", 0, Access::Write, "", &backend(NativeTools::Fixed));
    let refused = held(role, family::Surface::Enforced).unwrap_err();
    assert!(refused.message.starts_with("surface_not_enforceable: "), "{}", refused.message);
}

#[test]
fn a_call_of_an_own_tool_is_refused_where_others_are_served() {
    use super::super::super::judge::Tools;
    use super::super::super::record::CallOrigin;
    for (header, origin, tool, expected) in [
        ("", CallOrigin::Backend, "Write", true),
        ("", CallOrigin::Backend, "something_else", false),
        ("profile: enforced\n", CallOrigin::Backend, "Write", false),
        ("profile: enforced\n", CallOrigin::Backend, "Bash", false),
        ("profile: enforced\n", CallOrigin::Backend, "delete_file", false),
        ("profile: enforced\n", CallOrigin::Backend, "TodoWrite", true),
        ("profile: enforced\n", CallOrigin::Served, "write_file", true),
        ("profile: enforced\n", CallOrigin::Served, "read_many_files", true),
        ("profile: enforced\nAllowTools: [read]\n", CallOrigin::Served, "write_file", false),
        ("profile: enforced\nAllowTools: [read]\n", CallOrigin::Served, "read_file", true),
    ] {
        let role = root("mine", header, "");
        assert_eq!(Tools::of(&role, origin).has(tool), expected, "{header}{tool}");
    }
}
