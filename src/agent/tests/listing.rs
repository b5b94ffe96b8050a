//! The contract of `list_agents`, the roster, and skills.

use serde_json::json;

use super::super::builtin;
use super::super::catalog::Catalog;
use super::super::directory::SkillLayout;
use super::super::listing::{Detail, list_agents, roster};
use super::super::parse::FileText;
use super::super::skill::{self, Skill, SkillError, SkillInvocation};
use super::super::surface::resolve;
use super::super::{Format, Scope};
use super::{EXAMPLES, agent, catalog, file};
use crate::tool::Tool;

fn auditor() -> FileText {
    file(EXAMPLES[1].0, EXAMPLES[1].1, EXAMPLES[1].2)
}

#[track_caller]
fn refused(files: Vec<FileText>, agent: Option<&str>, message: &str) {
    assert_eq!(list_agents(&Catalog::build(files), agent, Detail::Brief).unwrap_err().to_string(), message);
}

#[test]
fn a_list_tells_little() {
    let koda = file(Format::Koda, "aide", "---\ndescription: Helps.\nmode: all\nmodel: a/b\n---\nx");
    let hidden = file(Format::Koda, "builder", "---\nmode: primary\n---\nx");
    let found = list_agents(&Catalog::build(vec![auditor(), koda, hidden]), None, Detail::Brief).unwrap();
    let expected = json!({"agents": [
        {"agent_type": "aide", "description": "Helps.", "allow_list": null, "deny_list": null},
        {
            "agent_type": "auditor",
            "description": "Use `auditor` for compliance checks.",
            "allow_list": ["exec_command", "list_active_agents", "list_agents", "update_plan", "wait", "write_stdin"],
            "deny_list": ["apply_patch"],
            "agent_names": [
                {"name": "fast", "description": "Quick scan."},
                {"name": "strict", "description": "Conservative."},
            ],
        },
    ]});
    assert_eq!(found.to_string(), expected.to_string());
}

#[test]
fn a_list_tells_the_policy_of_an_agent_that_has_a_map_and_no_list() {
    let found = list_agents(&Catalog::build(builtin::files().collect()), Some("explore"), Detail::Brief).unwrap();
    let reads =
        ["read", "search", "locate", "list", "web_fetch", "web_search", "todo", "list_active_agents", "list_agents"];
    assert_eq!(found["agents"][0]["allow_list"], json!(reads));
    let open = file(Format::Task, "open", "---\ndescription: x\npermission: {\"*\": allow, bash: ask}\n---\nx");
    let found = list_agents(&Catalog::build(vec![open]), None, Detail::Brief).unwrap();
    assert_eq!(found["agents"][0]["allow_list"], json!(null));
}

#[test]
fn an_expanded_list_tells_models_and_prompts() {
    let found = list_agents(&catalog([auditor()]), Some(" Auditor "), Detail::Expanded).unwrap();
    let sha256 = agent(EXAMPLES[1].0, EXAMPLES[1].1, EXAMPLES[1].2).source.sha256;
    let expected = json!({"agents": [{
        "agent_type": "auditor",
        "description": "Use `auditor` for compliance checks.",
        "allow_list": ["exec_command", "list_active_agents", "list_agents", "update_plan", "wait", "write_stdin"],
        "deny_list": ["apply_patch"],
        "mode": "subagent",
        "source": {"scope": "project", "format": "template", "path": "template/auditor.md", "sha256": sha256},
        "model": "gpt-5-codex",
        "reasoning_effort": "medium",
        "default_prompt": "Return findings first.",
        "agent_names": [
            {"name": "fast", "description": "Quick scan.", "model": "gpt-5.3-codex-spark", "prompt": "Prefer speed."},
            {"name": "strict", "description": "Conservative.", "reasoning_effort": "high", "prompt": "Prefer completeness."},
        ],
    }]});
    assert_eq!(found, expected);
    let invalid = "invalid agent_type \"a b\"; expected snake_case or kebab-case like \"worker\", \"my_custom_role\", or \"my-custom-role\"";
    refused(vec![], Some("a b"), invalid);
    refused(vec![], Some("nobody"), "missing agent template: nobody");
}

#[test]
fn a_template_that_breaks_a_rule_fails_the_list() {
    let template = |stem, text| file(Format::Template, stem, text);
    for (text, message) in [
        ("x", "invalid agent template \"t\": missing required frontmatter description (template/t.md)"),
        (
            "---\ndescription: ' '\n---\nx",
            "invalid agent template \"t\": missing required frontmatter description (template/t.md)",
        ),
        (
            "---\ndescription: x\n---\n\n",
            "invalid agent template \"t\": missing required default prompt block (template/t.md)",
        ),
        (
            "---\ndescription: x\nagent_names: [{name: n}]\n---\nx\n<!-- agent_name: n -->\nn\n",
            "invalid agent template \"t\": missing description for agent_name \"n\" (template/t.md)",
        ),
        ("---\ndescription: x\n", "front matter is missing closing delimiter (template/t.md)"),
    ] {
        refused(vec![template("t", text), auditor()], None, message);
        // Whoever asks for one role hears about that one.
        assert!(list_agents(&catalog([template("t", text), auditor()]), Some("auditor"), Detail::Brief).is_ok());
        assert!(list_agents(&catalog([template("t", text)]), Some("t"), Detail::Brief).is_err());
        // A template that another file replaces is nobody's problem.
        let user = FileText { scope: Scope::User, ..template("auditor", text) };
        assert!(list_agents(&catalog([user, auditor()]), None, Detail::Brief).is_ok());
    }
    let others = [
        file(Format::Koda, "k", "---\nmode: foo\n---\n"),
        file(Format::Task, "t", "x"),
        file(Format::Template, "a b", "x"),
    ];
    assert!(list_agents(&catalog(others), None, Detail::Brief).is_ok());
}

#[test]
fn the_roster_is_short() {
    let long = format!("---\ndescription: {}\nmode: all\n---\nx", "word ".repeat(60));
    let many = (0..20).map(|at| file(Format::Koda, &format!("z{at:02}"), &long));
    let text = roster(&Catalog::build(many.chain([auditor()]).collect()));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 12);
    assert_eq!(lines[0], "- auditor [fast, strict]: Use `auditor` for compliance checks.");
    let cut = lines[1].strip_prefix("- z00: ").unwrap();
    assert!(cut.chars().count() <= 120 && cut.ends_with("word…"), "{cut}");
    assert_eq!(roster(&Catalog::default()), "");
}

fn skill(name: &str, description: &str) -> Skill {
    let text = format!("---\nname: {name}\ndescription: {description}\nallowed-tools: Bash\n---\nDo {name}.\n");
    skill::parse(&format!("skills/{name}/SKILL.md"), name, SkillLayout::Directories, &text).unwrap()
}

#[test]
fn a_skill_is_loaded_by_its_name_and_brings_no_tools() {
    let skills = [skill("pdf", "Reads PDF files"), skill("pdf-fill", "Fills forms"), skill("deploy", "Ships it")];
    let named = |prompt| {
        skill::find_mentions(prompt, skills.iter()).into_iter().map(|it| it.skill.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(named("use $pdf-fill, ${deploy}x and $pdf-fill again"), ["pdf-fill", "deploy"]);
    assert_eq!(named("$pdf. Then $pdf- and $PDF and $HOME ${pdf"), ["pdf"]);
    assert_eq!(named("costs $5, pdf"), [""; 0]);
    assert_eq!(named("Look:\n> $deploy\n  > ${pdf-fill}\n${deploy"), [""; 0], "quoted, or without an end");
    // The time that it takes grows with the length, not with its square.
    assert_eq!(named(&"${".repeat(1_000_000)), [""; 0]);
    let arguments =
        |prompt| skill::find_mentions(prompt, skills.iter()).into_iter().map(|it| it.arguments).collect::<Vec<_>>();
    assert_eq!(arguments("First ${pdf} a.pdf\nb.pdf and $deploy"), ["a.pdf\nb.pdf and", ""]);
    assert_eq!(skills[0].text, "Do pdf.");
    let reader = agent(Format::Koda, "a", "---\nAllowTools: [read, skill]\n---\nUse $deploy.");
    let surface = resolve(&reader, [Tool::Read, Tool::Bash, Tool::Skill, Tool::SearchSkills], &[]);
    assert_eq!(surface.tools.into_iter().collect::<Vec<_>>(), [Tool::Read, Tool::Skill]);
}

#[test]
fn skills_are_listed_and_found() {
    let other = Skill { path: "elsewhere".to_owned(), ..skill("pdf", "Another") };
    let skills = skill::merged([skill("pdf", "Reads PDF files"), skill("deploy", "Ships a file"), other]);
    let listed = "- $deploy: Ships a file (skills/deploy/SKILL.md)\n- $pdf: Reads PDF files (skills/pdf/SKILL.md)\n";
    assert_eq!(skill::short_list(&skills), listed);
    let manual = Skill { invoked_by: SkillInvocation::Person, ..skills[0].clone() };
    assert_eq!(skill::search("file", &[manual]), [] as [&Skill; 0]);
    let found = |query| skill::search(query, &skills).into_iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
    assert_eq!(found("FILE"), ["deploy", "pdf"]);
    assert_eq!(found("pdf file"), ["pdf"]);
    assert_eq!(found("nothing"), [""; 0]);
}

#[test]
fn a_skill_is_read_in_parts() {
    let text = "---\ndescription: d\n---\nFirst words.\n# Usage\nUse it.\n## In a hurry ##\nUse it fast.\n```sh\n\
                # no heading\n```\n#nor this\n# Limits\nNone.\n";
    let skill = skill::parse("p", "pdf", SkillLayout::Directories, text).unwrap();
    let section = |wanted| skill.section(wanted).map_err(|error| error.to_string());
    assert_eq!(section("limits"), Ok("# Limits\nNone."));
    let hurry = "## In a hurry ##\nUse it fast.\n```sh\n# no heading\n```\n#nor this";
    assert_eq!(section("## In a hurry"), Ok(hurry));
    assert_eq!(section("Usage"), Ok(format!("# Usage\nUse it.\n{hurry}").as_str()));
    let unknown = "skill `pdf` has no section `Other`; there are Usage, In a hurry, Limits";
    assert_eq!(section("Other"), Err(unknown.to_owned()));
    let plain = Skill { text: "Words.".to_owned(), ..skill.clone() };
    assert_eq!(plain.section("x").unwrap_err().to_string(), "skill `pdf` has no headings; load all of it");
}

#[test]
fn slash_commands_of_other_programs_are_skills() {
    let parse = |text| skill::parse("p", "commit", SkillLayout::ClaudeCommands, text).unwrap();
    let Skill { name, description, text, invoked_by, .. } = parse("\n# Commit what is staged\n\nRun git.\n");
    assert_eq!(
        (&*name, &*description, &*text),
        ("commit", "Commit what is staged", "# Commit what is staged\n\nRun git.")
    );
    assert_eq!(invoked_by, SkillInvocation::PersonOrModel);
    let manual = parse(
        "---\ndescription: Ships it\ndisable-model-invocation: true\nallowed-tools: Bash(*)\n---\nShip $ARGUMENTS.",
    );
    assert_eq!((&*manual.description, manual.invoked_by), ("Ships it", SkillInvocation::Person));
    assert!(skill::parse("p", "empty", SkillLayout::CodexPrompts, "\n").is_err());
}

#[test]
fn a_file_that_is_no_skill_says_why() {
    let refused = |text| skill::parse("p", "dir", SkillLayout::Directories, text).unwrap_err();
    assert_eq!(refused("---\nname: a b\n---\n"), SkillError::Name { name: "a b".to_owned() });
    assert_eq!(refused("text"), SkillError::Description { name: "dir".to_owned() });
    assert!(matches!(refused("---\na: [\n---\n"), SkillError::Header { line: 3, .. }));
}
