//! What each format's file becomes, and the exact words about one that is wrong.

use std::time::Duration;

use super::super::surface;
use super::super::{Access, Diagnostic, Format, Mode, Persona, Severity, ToolLists};
use super::{EXAMPLES, agent, broken, codes};
use crate::permission::compact::{Action, CompactPermission, Form, Rule};
use crate::tool::Tool;

#[track_caller]
fn refused(format: Format, stem: &str, text: &str, message: &str) {
    assert_eq!(broken(format, stem, text).message(), message, "{text}");
}

fn names(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn the_examples_of_all_formats_load() {
    let [notes, auditor, reviewer, scout] =
        [0, 1, 2, 3].map(|at| agent(EXAMPLES[at].0, EXAMPLES[at].1, EXAMPLES[at].2));

    assert_eq!(
        (notes.id.as_str(), notes.mode, notes.description.as_str()),
        ("release-notes", Mode::Subagent, "Release notes writer")
    );
    assert_eq!(notes.tools, ToolLists { allow: names(&["git_diff", "read", "search", "write"]), deny: vec![] });
    assert_eq!(notes.prompt, "You only prepare release notes.\n");

    assert_eq!((auditor.model.as_deref(), auditor.effort.as_deref()), (Some("gpt-5-codex"), Some("medium")));
    assert_eq!((auditor.access, auditor.mode), (Access::ReadOnly, Mode::Subagent));
    let listed = ["exec_command", "list_active_agents", "list_agents", "update_plan", "wait", "write_stdin"];
    assert_eq!(auditor.tools, ToolLists { allow: names(&listed), deny: vec!["apply_patch".to_owned()] });
    assert_eq!(auditor.prompt, "Return findings first.\n");
    let [strict, fast] = auditor.personas.as_slice() else { panic!("{auditor:#?}") };
    let expected = Persona {
        name: "strict".to_owned(),
        description: "Conservative.".to_owned(),
        prompt: "Prefer completeness.\n".to_owned(),
        model: None,
        effort: Some("high".to_owned()),
    };
    assert_eq!(*strict, expected);
    assert_eq!((fast.name.as_str(), fast.model.as_deref()), ("fast", Some("gpt-5.3-codex-spark")));

    let rule = |tool: &str, pattern: &str, action| Rule { tool: tool.to_owned(), pattern: pattern.to_owned(), action };
    let rules = vec![
        rule("*", "*", Action::Deny),
        rule("grep", "*", Action::Allow),
        rule("read_file", "*", Action::Allow),
        rule("read_file", "*.env", Action::Deny),
    ];
    assert_eq!(reviewer.permission, Some(CompactPermission { rules }));
    assert_eq!((reviewer.id.as_str(), reviewer.max_steps), ("reviewer", Some(5)));

    assert_eq!((scout.id.as_str(), scout.model.as_deref()), ("release-scout", Some("haiku")));
    assert_eq!(scout.tools.allow, names(&["Glob", "Grep", "Read"]));
    for loaded in [notes, auditor, reviewer, scout] {
        assert_eq!(loaded.diagnostics, [], "{}", loaded.id);
        assert_eq!(loaded.source.sha256.len(), 64);
    }
}

#[test]
fn the_stem_is_the_id_and_the_body_is_the_prompt() {
    let body = "# Delivery\n\n  Ship it.\n\n";
    let delivery = agent(Format::Koda, "Delivery", &format!("---\ndescription: x\n---\n{body}"));
    assert_eq!(
        (delivery.id.as_str(), delivery.display_name.as_str(), delivery.prompt.as_str()),
        ("delivery", "Delivery", body)
    );
    let plain = agent(Format::Koda, "plain", "Only a prompt.\n");
    assert_eq!((plain.description.as_str(), plain.prompt.as_str()), ("plain", "Only a prompt.\n"));
    refused(Format::Koda, "", "x", "agent id is required");
    let invalid = "invalid agent_type \"my role\"; expected snake_case or kebab-case like \"worker\", \"my_custom_role\", or \"my-custom-role\"";
    refused(Format::Koda, "my role", "x", invalid);
}

#[test]
fn other_keys_warn_and_fallback_models_fail() {
    let known = "---\ndescription: x\nmodel: openai/gpt-5\nmode: all\nhidden: true\nAllowTools: [read]\nDisallowedTools: [write]\n---\n";
    assert_eq!(codes(Format::Koda, known), [""; 0]);
    let found = agent(Format::Koda, "a", "---\ndescription: x\nallow_tools: [read]\ncolour: red\n---\n").diagnostics;
    let warning = |message: &str, line| Diagnostic {
        severity: Severity::Warning,
        code: "unknown_key",
        message: message.to_owned(),
        line: Some(line),
    };
    let expected =
        [warning("unknown key `allow_tools`, did you mean `AllowTools`?", 3), warning("unknown key `colour`", 4)];
    assert_eq!(found, expected);
    for format in [Format::Koda, Format::Unified, Format::Claude] {
        let text = "---\nname: a\ndescription: x\nfallback_models: [b]\n---\nx\n";
        refused(format, "a", text, "agent fallback models are not supported");
    }
}

#[test]
fn the_mode_is_primary_unless_the_file_says_another() {
    let mode = |mode: &str| agent(Format::Koda, "a", &format!("---\n{mode}\n---\n")).mode;
    assert_eq!(
        [mode("hidden: false"), mode("mode: SubAgent"), mode("mode: All")],
        [Mode::Primary, Mode::Subagent, Mode::All]
    );
    refused(Format::Koda, "a", "---\nmode: foo\n---\n", "agent mode is invalid");
    refused(Format::Koda, "a", "---\nmode:\n---\n", "agent mode is invalid");
}

#[test]
fn sections_in_a_body_are_only_text() {
    let text = "---\nAllowTools: [read]\n---\n<tools>bash</tools>\n<permissions allow=\"*\"/>\nAllowTools: [bash]\n";
    let surface = surface::resolve(&agent(Format::Koda, "a", text), Tool::all(), &[]);
    assert_eq!(surface.tools.into_iter().collect::<Vec<_>>(), [Tool::Read]);
}

#[test]
fn personas_need_an_entry_and_a_block() {
    let header = "---\ndescription: d\nagent_names:\n  - name: ' STRICT '\n    description: s\n    model: ''\n---\n";
    let strict = agent(Format::Template, "t", &format!("{header}Default.\n<!-- agent_name: Strict -->\nS.\n"));
    assert_eq!((strict.personas[0].name.as_str(), &strict.personas[0].model), ("strict", &None));

    refused(
        Format::Template,
        "t",
        &format!("{header}D.\n"),
        "invalid agent_names: missing agent_name block for \"strict\"",
    );
    let more = format!("{header}D.\n<!-- agent_name: strict -->\nS.\n<!-- agent_name: fast -->\nF.\n");
    refused(Format::Template, "t", &more, "invalid agent_names: missing agent_names entry for \"fast\"");
    let message = "invalid agent template \"t\": found agent_name blocks but frontmatter agent_names is missing";
    refused(Format::Template, "t", "---\ndescription: d\n---\nD.\n<!-- agent_name: fast -->\nF.\n", message);
    refused(Format::Template, "t", "---\nagent_names: {a: b}\n---\n", "invalid YAML: `agent_names` expects a list");
    refused(
        Format::Template,
        "t",
        "---\nagent_names: [{model: b}]\n---\n",
        "invalid YAML: `agent_names` expects entries with a name",
    );
}

#[test]
fn a_task_needs_a_description_and_has_defaults() {
    let task = agent(Format::Task, "helper", "---\ndescription: Helps.\n---\nHelp.\n");
    assert_eq!((task.id.as_str(), task.max_steps, task.mode), ("helper", Some(10), Mode::Subagent));
    assert_eq!(task.permission, Some(CompactPermission::new([("*".to_owned(), Form::Simple(Action::Allow))])));
    assert_eq!(agent(Format::Task, "helper", "---\nname: Other\ndescription: x\n---\n").id, "other");
    for text in ["---\nmaxSteps: 3\n---\nx\n", "No header.\n", "---\ndescription: '  '\n---\nx\n"] {
        let skipped = broken(Format::Task, "helper", text);
        assert_eq!(skipped.message(), "Agent missing description, skipping");
        assert_eq!((skipped.diagnostics[0].severity, skipped.ids), (Severity::Warning, Vec::new()));
    }
}

#[test]
fn tools_come_as_a_list_or_with_commas_and_a_star_is_all() {
    let allow = |tools: &str| {
        let text = format!("---\nname: a\ndescription: x\n{tools}\n---\nBody.\n");
        [Format::Claude, Format::Yotta].map(|format| agent(format, "a", &text).tools.allow)
    };
    let both = |expected: Option<Vec<String>>| [expected.clone(), expected];
    assert_eq!(allow("tools: Read,  Grep,,Read"), both(names(&["Grep", "Read"])));
    assert_eq!(allow("tools: [Read, Grep]"), both(names(&["Grep", "Read"])));
    assert_eq!(allow("tools:\n  - Read\n  - Grep"), both(names(&["Grep", "Read"])));
    assert_eq!(allow("tools: '*'"), both(None));
    assert_eq!(allow("model: inherit"), both(None));
    assert_eq!(allow("tools: []"), both(names(&[])));
    assert_eq!(allow("tools: Agent(worker, scout), Read"), both(names(&["Agent(worker, scout)", "Read"])));

    for format in [Format::Claude, Format::Yotta] {
        let empty = "body is empty (expected the child's system prompt below the frontmatter)";
        refused(format, "a", "---\nname: a\ndescription: x\n---\n \n", empty);
        let invalid =
            "invalid `name` \"1a\" (allowed: letters, digits, underscore, hyphen; max 64; must start with a letter)";
        refused(format, "a", "---\nname: 1a\ndescription: x\n---\nBody.\n", invalid);
        // The name that it takes is the one that people would ask for.
        assert_eq!(broken(format, "a", "---\nname: b\n---\n").ids, ["b"]);
        assert_eq!(broken(format, "a", "---\nname: b c\n---\n").ids, ["a"]);
        refused(format, "a", "---\nname: a\n", "unterminated frontmatter block (expected closing `---`)");
    }
    refused(Format::Yotta, "a", "---\ndescription: x\n---\nBody.\n", "frontmatter missing `name`");
    assert_eq!(agent(Format::Claude, "scout", "---\ndescription: x\n---\nBody.\n").id, "scout");
    assert!(broken(Format::Claude, "a b", "---\ndescription: x\n---\nBody.\n").message().contains("a b"));
    refused(Format::Yotta, "a", "Body.\n", "missing frontmatter block (expected `---` on line 1)");
    assert_eq!(agent(Format::Yotta, "a", "---\nname: Scout\n---\nBody.\n").description, "Subagent: Scout");
    assert_eq!(
        broken(Format::Claude, "a", "---\nname: a\n---\nBody.\n").message(),
        "Agent missing description, skipping"
    );
}

#[test]
fn keys_of_claude_code_without_a_meaning_here_are_told() {
    let text = "---\nname: a\ndescription: x\npermissionMode: plan\nhooks: {}\ncolor: red\ndisallowedTools: Bash(rm *), Write\n---\nB.\n";
    let scout = agent(Format::Claude, "a", text);
    assert!(scout.diagnostics.iter().all(|it| it.severity == Severity::Info && it.code == "foreign_key"));
    assert_eq!(scout.diagnostics.len(), 3);
    // Denying some calls of a tool cannot mean less than denying it.
    assert_eq!(scout.tools.deny, ["Bash", "Write"]);
    let as_task = agent(Format::Claude, "helper", "---\ndescription: x\npermission: {bash: ask}\n---\nB.\n");
    assert_eq!((as_task.id.as_str(), as_task.max_steps), ("helper", Some(10)));
}

#[test]
fn background_counts_for_agents_that_cannot_write() {
    let background = |tools: &str| {
        let scout = agent(
            Format::Yotta,
            "a",
            &format!("---\nname: a\nbackground: true\nmax_iterations: 4\ntools: {tools}\n---\nB.\n"),
        );
        (scout.background, scout.max_steps, scout.diagnostics.len())
    };
    assert_eq!(background("Read, Grep"), (Some(true), Some(4), 0));
    assert_eq!(background("Read, Bash"), (None, Some(4), 1));
}

#[test]
fn the_unified_format_takes_every_key_once() {
    let text = "---\nname: My-Agent\nmode: all\ntools: Read\ndeny_list: [write]\nmaxTurns: 3\ntimeout: 30m\nbackground: true\n\
                read_only: true\nreasoning_effort: High\nmodel: sonnet\n---\nx";
    let unified = agent(Format::Unified, "file", text);
    assert_eq!(
        (unified.id.as_str(), unified.display_name.as_str(), unified.description.as_str()),
        ("my-agent", "My-Agent", "my-agent")
    );
    assert_eq!((unified.max_steps, unified.timeout), (Some(3), Some(Duration::from_secs(1800))));
    assert_eq!((unified.effort.as_deref(), unified.background), (Some("high"), Some(true)));
    for (keys, message) in [
        ("AllowTools: [read]\nallow_list: [read]", "`AllowTools` and `allow_list` mean the same: keep one of them"),
        ("deny_list: []\ndisallowedTools: x", "`deny_list` and `disallowedTools` mean the same: keep one of them"),
        ("maxSteps: 1\nmaxTurns: 1", "`maxSteps` and `maxTurns` mean the same: keep one of them"),
    ] {
        let found = broken(Format::Unified, "a", &format!("---\n{keys}\n---\n"));
        assert_eq!((found.diagnostics[0].code, found.message()), ("conflicting_keys", message));
    }
}

#[test]
fn a_value_that_cannot_be_read_is_never_an_absent_key() {
    for (format, keys, message) in [
        (Format::Koda, "AllowTools:", "decode front matter: `AllowTools` expects a list of names, `[]` for none"),
        (Format::Koda, "AllowTools: read", "decode front matter: `AllowTools` expects a list of names, `[]` for none"),
        (
            Format::Koda,
            "AllowTools: [[read]]",
            "decode front matter: `AllowTools` expects a list of names, `[]` for none",
        ),
        (
            Format::Koda,
            "DisallowedTools:",
            "decode front matter: `DisallowedTools` expects a list of names, `[]` for none",
        ),
        (Format::Koda, "hidden: yes", "decode front matter: `hidden` expects true or false"),
        (Format::Koda, "model: gpt-5", "parse model: expected provider/model, got \"gpt-5\""),
        (Format::Koda, "<<: {AllowTools: []}", "decode front matter: merge keys are not supported"),
        (Format::Template, "read_only: 'true'", "invalid YAML: `read_only` expects true or false"),
        (
            Format::Template,
            "reasoning_effort: max",
            "invalid YAML: `reasoning_effort` expects one of none, minimal, low, medium, high, xhigh",
        ),
        (Format::Unified, "permission: allow", "invalid permission for tool \"*\": expected allow, deny or ask"),
        (
            Format::Unified,
            "permission: {bash: maybe}",
            "invalid permission for tool \"bash\": expected allow, deny or ask",
        ),
        (
            Format::Unified,
            "permission: {bash: [allow]}",
            "invalid permission for tool \"bash\": expected allow, deny or ask",
        ),
        (
            Format::Unified,
            "permission: {bash: {'rm *': true}}",
            "invalid permission for tool \"bash\": expected allow, deny or ask",
        ),
        (Format::Unified, "maxSteps: 0", "invalid YAML: `maxSteps` expects a number above 0"),
        (Format::Unified, "profile: strict", "invalid YAML: `profile` expects one of native, enforced, readonly"),
        (Format::Unified, "timeout: soon", "invalid YAML: `timeout` expects a duration such as `90s`, `30m` or `4h`"),
    ] {
        refused(format, "a", &format!("---\n{keys}\n---\nx\n"), message);
    }
}

#[test]
fn the_line_of_a_mistake_is_the_line_of_the_file() {
    let lines =
        |text: &str| broken(Format::Unified, "a", text).diagnostics.iter().map(|it| it.line).collect::<Vec<_>>();
    assert_eq!(lines("---\ndescription: x\nmode: foo\n---\n"), [Some(3)]);
    assert_eq!(lines("\u{feff}---\r\n# note\r\npermission:\r\n  bash: allow\r\n  edit: often\r\n---\r\n"), [Some(5)]);
    assert_eq!(lines("---\na: [b\n---\n"), [Some(3)]);
    assert_eq!(lines("---\nmode: all\n"), [Some(1)]);
}
