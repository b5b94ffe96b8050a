//! Which file wins, what a name means, and which voice and model follow.

use super::super::builtin;
use super::super::catalog::Catalog;
use super::super::parse::FileText;
use super::super::select::{By, Inherited, SelectError, Wanted, reference, select};
use super::super::{Definition, Format, Scope};
use super::{catalog, file};

fn at(scope: Scope, level: u32, format: Format, stem: &str, text: &str) -> FileText {
    let path = format!("{scope}{level}/{format}/{stem}.md");
    FileText { scope, level, path, ..file(format, stem, text) }
}

#[track_caller]
fn path(catalog: &Catalog, name: &str) -> String {
    catalog.lookup(name, "builder").unwrap_or_else(|error| panic!("{error}")).source.path.clone()
}

#[track_caller]
fn refused(catalog: &Catalog, name: &str, message: &str) {
    assert_eq!(catalog.lookup(name, "builder").unwrap_err().to_string(), message);
}

fn ids<'a>(agents: impl Iterator<Item = &'a Definition>) -> Vec<&'a str> {
    agents.map(|agent| agent.id.as_str()).collect()
}

#[test]
fn the_nearest_file_wins_then_the_users_then_ours() {
    let mut files = vec![
        at(Scope::ProjectNested, 0, Format::Template, "reviewer", "x"),
        at(Scope::Project, 1, Format::Unified, "reviewer", "x"),
        at(Scope::Project, 1, Format::Koda, "reviewer", "x"),
        at(Scope::Project, 1, Format::Yotta, "r", "---\nname: Reviewer\n---\nx"),
        at(Scope::User, 0, Format::Unified, "reviewer", "x"),
        at(Scope::User, 0, Format::Koda, "reviewer", "x"),
    ];
    let in_order = [
        "project_nested0/template/reviewer.md",
        "project1/unified/reviewer.md",
        "project1/koda/reviewer.md",
        "project1/yotta/r.md",
        "user0/unified/reviewer.md",
        "user0/koda/reviewer.md",
        "builtin:reviewer.md",
    ];
    for winner in in_order {
        let mut mixed = files.clone();
        mixed.reverse();
        let found = catalog(mixed);
        assert_eq!(path(&found, "reviewer"), winner);
        let shadowed = found.entries().iter().filter(|it| it.shadowed_by.as_deref() == Some(winner)).count();
        assert_eq!(shadowed, files.len());
        files = files.into_iter().skip(1).collect();
    }
}

#[test]
fn a_file_replaces_another_as_a_whole() {
    let found = catalog([at(Scope::Project, 0, Format::Koda, "reviewer", "---\nmode: all\n---\nMine.\n")]);
    let reviewer = found.lookup("reviewer", "builder").unwrap();
    assert_eq!((&reviewer.tools.allow, reviewer.prompt.as_str()), (&None, "Mine.\n"));
}

#[test]
fn mode_and_hidden_decide_who_may_choose() {
    let text = |mode: &str, hidden: bool| format!("---\nmode: {mode}\nhidden: {hidden}\n---\n");
    let files = ["primary", "subagent", "all"].into_iter().flat_map(|mode| {
        [false, true].map(|hidden| file(Format::Koda, &format!("{mode}_{hidden}"), &text(mode, hidden)))
    });
    let found = Catalog::build(files.collect());
    assert_eq!(ids(found.selectable()), ["all_false", "primary_false"]);
    assert_eq!(ids(found.delegatable()), ["all_false", "all_true", "subagent_false", "subagent_true"]);
}

#[test]
fn a_name_is_checked_before_it_is_looked_up() {
    let found = catalog([]);
    for name in ["My Role", "../worker", "", "a/b", "ä"] {
        let message = found.lookup(name, "builder").unwrap_err().to_string();
        assert!(message.starts_with("invalid agent_type"), "{message}");
        assert!(message.contains("expected snake_case or kebab-case"), "{message}");
    }
    refused(&found, "nobody", "missing agent template: nobody");
}

#[test]
fn dash_and_underscore_are_one_unless_both_are_there() {
    let template = |stem| file(Format::Template, stem, "x");
    let one = catalog([template("worker_role")]);
    assert_eq!(path(&one, " Worker-Role "), "template/worker_role.md");
    let both = catalog([template("my_worker_role"), template("my-worker-role")]);
    assert_eq!(path(&both, "my-worker-role"), "template/my-worker-role.md");
    assert_eq!(path(&both, "my_worker_role"), "template/my_worker_role.md");
    let message = "ambiguous agent_type \"my_worker-role\"; matched multiple templates: my-worker-role, my_worker_role. Use exact agent_type.";
    refused(&both, "my_worker-role", message);
    let nearer = catalog([template("a_b_c"), at(Scope::User, 0, Format::Template, "a-b-c", "x")]);
    assert_eq!(path(&nearer, "a-b_c"), "template/a_b_c.md");
}

#[test]
fn names_of_other_systems_mean_ours_unless_a_file_has_them() {
    let ours = catalog([]);
    for (name, meant) in [
        ("Explore", "explore"),
        ("explorer", "explore"),
        ("general-purpose", "general"),
        ("Plan", "planner"),
        ("review", "reviewer"),
        ("default", "engineer"),
    ] {
        assert_eq!(ours.lookup(name, "engineer").unwrap().id, meant);
    }
    let own = catalog([file(Format::Koda, "review", "x"), file(Format::Koda, "default", "x")]);
    assert_eq!([path(&own, "review"), path(&own, "default")], ["koda/review.md", "koda/default.md"]);
}

#[test]
fn a_broken_file_hides_what_it_would_have_replaced() {
    let broken = [
        ("---\nAllowTools: [read\n---\nx", "decode front matter: while parsing a flow sequence, expected ',' or ']'"),
        ("---\nAllowTools: []\nx", "front matter is missing closing delimiter"),
        ("---\nmode: foo\n---\nx", "agent mode is invalid"),
    ];
    for (text, message) in broken {
        let found = catalog([file(Format::Koda, "reviewer", text), at(Scope::User, 0, Format::Koda, "reviewer", "x")]);
        refused(&found, "reviewer", &format!("agent \"reviewer\" is unavailable: koda/reviewer.md: {message}"));
        assert!(found.lookup("review", "builder").is_err());
        assert!(!ids(found.agents()).contains(&"reviewer"));
        assert_eq!(ids(found.agents()).len(), builtin::FILES.len() - 1);
    }
}

#[test]
fn a_file_that_must_not_be_read_hides_what_it_would_have_replaced() {
    let ours = at(Scope::BuiltIn, 0, Format::Unified, "reviewer", "Ours.");
    let unread = at(Scope::Project, 0, Format::Koda, "reviewer", "");
    let catalog = Catalog::build_with(vec![ours], vec![(unread, "it is a pipe".to_owned())]);
    let said = catalog.lookup("reviewer", "").unwrap_err().to_string();
    assert!(said.ends_with(": it is a pipe"), "{said}");
    assert_eq!(catalog.agents().count(), 0);
}

#[test]
fn a_broken_file_keeps_the_name_that_its_header_gives() {
    let found = catalog([
        file(Format::Claude, "scout", "---\nname: \"release-scout\"\ntools: [Read\n---\nx"),
        at(Scope::User, 0, Format::Claude, "mine", "---\nname: release-scout\ndescription: x\n---\nx"),
    ]);
    assert!(found.lookup("release-scout", "builder").unwrap_err().to_string().contains("claude/scout.md"));
    assert!(found.lookup("scout", "builder").is_err());
}

#[test]
fn a_file_that_is_skipped_does_not_stop_the_others() {
    let found = catalog([
        file(Format::Task, "a", "---\nmaxSteps: 3\n---\n"),
        file(Format::Task, "b", "---\ndescription: x\n---\n"),
        file(Format::Template, "not a name", "x"),
    ]);
    assert_eq!(path(&found, "b"), "task/b.md");
    assert!(found.lookup("a", "builder").is_err());
    let wider = at(Scope::User, 0, Format::Koda, "a", "x");
    let found = catalog([file(Format::Task, "a", "---\nmaxSteps: 3\n---\n"), wider]);
    assert_eq!(found.lookup("a", "builder").unwrap().prompt, "x");
}

#[test]
fn two_files_of_one_directory_with_one_name_are_both_refused() {
    let claude = |stem| file(Format::Claude, stem, "---\nname: twin\ndescription: x\n---\nx");
    let found = catalog([claude("a"), claude("b"), at(Scope::User, 0, Format::Koda, "twin", "x")]);
    let message = found.lookup("twin", "builder").unwrap_err().to_string();
    assert!(message.contains("matched multiple templates: claude/a.md, claude/b.md"), "{message}");
}

const AUDITOR: &str = "---\nmodel: role\nreasoning_effort: low\nagent_names:\n  - {name: strict, description: s, model: persona, \
                       reasoning_effort: high}\n  - {name: fast, description: f}\n---\nDefault.\n<!-- agent_name: strict -->\n\
                       Strict.\n<!-- agent_name: fast -->\nFast.\n";

fn inherited() -> Inherited<'static> {
    Inherited { agent: "builder", model: Some("inherited"), effort: Some("medium") }
}

#[test]
fn the_persona_is_asked_for_or_the_only_one() {
    let one = "---\nagent_names: [{name: only, description: o}]\n---\n<!-- agent_name: only -->\nOnly.\n";
    let two = AUDITOR.replace("Default.\n", "");
    let found = catalog([
        file(Format::Template, "auditor", AUDITOR),
        file(Format::Template, "one", one),
        file(Format::Template, "two", &two),
    ]);
    let prompt = |agent, persona| {
        let wanted = Wanted { agent: Some(agent), persona, ..Wanted::default() };
        select(&found, wanted, inherited()).map(|it| it.prompt.to_owned()).map_err(|error| error.to_string())
    };
    assert_eq!(prompt("auditor", None).unwrap(), "Default.\n");
    assert_eq!(prompt("auditor", Some(" STRICT ")).unwrap(), "Strict.\n");
    assert_eq!(prompt("auditor", Some("x")).unwrap_err(), "unknown agent_name \"x\" for agent_type \"auditor\"");
    assert_eq!(prompt("one", None).unwrap(), "Only.\n");
    assert_eq!(prompt("two", None).unwrap_err(), "agent_type \"two\" requires agent_name selection");
    assert_eq!(prompt("two", Some("fast")).unwrap(), "Fast.\n");
    assert_eq!(prompt("explore", Some("x")).unwrap_err(), "unknown agent_name \"x\" for agent_type \"explore\"");
    assert_eq!(prompt("nobody", None).unwrap_err(), "missing agent template: nobody");
}

#[test]
fn a_persona_needs_a_role() {
    let found = catalog([]);
    for agent in [None, Some("default"), Some(" Default ")] {
        let wanted = Wanted { agent, persona: Some("x"), ..Wanted::default() };
        assert_eq!(select(&found, wanted, inherited()), Err(SelectError::PersonaWithoutRole));
    }
    assert_eq!(SelectError::PersonaWithoutRole.to_string(), "agent_name requires a non-default agent_type");
    // Whoever names nobody means the agent of the session, whatever files there are.
    let own = catalog([file(Format::Koda, "default", "x")]);
    for catalog in [&found, &own] {
        assert_eq!(select(catalog, Wanted::default(), inherited()).unwrap().definition.id, "builder");
    }
    assert_eq!(reference("auditor:strict"), ("auditor", Some("strict")));
    assert_eq!(reference("auditor"), ("auditor", None));
}

#[test]
fn each_of_model_and_effort_goes_by_its_own_chain() {
    let found = catalog([file(Format::Template, "auditor", AUDITOR)]);
    let chosen = |agent, persona, model, effort| {
        let selected = select(&found, Wanted { agent: Some(agent), persona, model, effort }, inherited()).unwrap();
        let pair =
            |choice: Option<super::super::select::Choice<'_>>| choice.map(|it| (it.value.to_owned(), it.by)).unwrap();
        (pair(selected.model), pair(selected.effort))
    };
    let expect =
        |model: (&str, By), effort: (&str, By)| ((model.0.to_owned(), model.1), (effort.0.to_owned(), effort.1));
    let (strict, fast) = (Some("strict"), Some("fast"));
    assert_eq!(chosen("auditor", strict, Some("call"), None), expect(("call", By::Call), ("high", By::Persona)));
    assert_eq!(chosen("auditor", strict, None, Some("xhigh")), expect(("persona", By::Persona), ("xhigh", By::Call)));
    assert_eq!(chosen("auditor", strict, None, None), expect(("persona", By::Persona), ("high", By::Persona)));
    assert_eq!(chosen("auditor", fast, None, None), expect(("role", By::Role), ("low", By::Role)));
    assert_eq!(chosen("auditor", None, None, None), expect(("role", By::Role), ("low", By::Role)));
    assert_eq!(chosen("explore", None, None, None), expect(("inherited", By::Inherited), ("medium", By::Inherited)));
}

#[test]
fn our_files_are_copied_all_or_not_at_all() {
    assert_eq!(builtin::to_seed(&["mine.md", "builder.txt"]), builtin::FILES);
    assert_eq!(builtin::to_seed(&["mine.md", "worker.md"]), []);
}
