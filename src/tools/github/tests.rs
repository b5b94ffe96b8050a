//! Calls as requests, what people see of them, and the envelope of the context.

use serde_json::json;

use super::super::served::Needs;
use super::*;
use crate::permission::Effect;
use crate::tool::Tool;

#[track_caller]
fn reads(name: &str, arguments: serde_json::Value, expected: Request) {
    assert_eq!(parse(name, &arguments), Some(Ok(expected)), "{name} {arguments}");
}

#[track_caller]
fn refuses(name: &str, arguments: serde_json::Value, expected: &str) {
    assert_eq!(parse(name, &arguments), Some(Err(expected.to_owned())), "{name} {arguments}");
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn the_rows_have_the_classes_of_the_contract() {
    let found: Vec<_> = ROWS
        .iter()
        .map(|row| (row.name, Tool::named(row.name).is_some(), matches!(row.needs, Needs::Mutations), row.effect))
        .collect();
    let expected = [
        ("gh_pr_context", true, false, Effect::Reads),
        ("gh_pr_read", true, false, Effect::Reads),
        ("gh_pr_review_context", true, false, Effect::Reads),
        ("gh_issue_read", true, false, Effect::Reads),
        ("gh_issue_list", true, false, Effect::Reads),
        ("gh_pr_create", true, true, Effect::Adds),
        ("gh_pr_update", true, true, Effect::Destroys),
        ("gh_pr_add_comment", true, true, Effect::Adds),
    ];
    assert_eq!(found, expected);
}

#[test]
fn parameters_and_defaults() {
    for (name, properties, required) in [
        ("gh_pr_context", json!({ "base": "string" }), json!(null)),
        ("gh_pr_read", json!({ "ref": "string" }), json!(null)),
        ("gh_pr_review_context", json!({ "ref": "string" }), json!(null)),
        ("gh_issue_read", json!({ "number": "integer", "max_comments": "integer" }), json!(["number"])),
        ("gh_issue_list", json!({ "labels": "array", "assignee": "string", "milestone": "string" }), json!(null)),
        (
            "gh_pr_create",
            json!({ "base": "string", "title": "string", "body": "string", "draft": "boolean" }),
            json!(["base", "title", "body"]),
        ),
        ("gh_pr_update", json!({ "ref": "string", "title": "string", "body": "string" }), json!(["title", "body"])),
        ("gh_pr_add_comment", json!({ "ref": "string", "body": "string" }), json!(["body"])),
    ] {
        let schema = (ROWS.iter().find(|row| row.name == name).unwrap().schema)();
        let kinds = schema["properties"].as_object().unwrap().iter();
        let kinds: serde_json::Map<_, _> = kinds.map(|(name, about)| (name.clone(), about["type"].clone())).collect();
        assert_eq!((serde_json::Value::Object(kinds), &schema["required"]), (properties, &required), "{name}");
    }
}

#[test]
fn calls_that_look() {
    reads("gh_pr_context", json!(null), Request::PullContext { base: None });
    reads("gh_pr_context", json!({ "base": " main " }), Request::PullContext { base: some("main") });
    reads("gh_pr_read", json!({}), Request::PullRead { reference: None });
    reads("gh_pr_read", json!({ "ref": "" }), Request::PullRead { reference: None });
    reads("gh_pr_read", json!({ "ref": 12 }), Request::PullRead { reference: some("12") });
    reads("gh_pr_review_context", json!({ "ref": "fix" }), Request::ReviewContext { reference: some("fix") });
    for (given, comments) in [(json!(null), 20), (json!(0), 20), (json!(-1), 0), (json!(3), 3), (json!(9999), 500)] {
        let arguments = json!({ "number": 7, "max_comments": given });
        reads("gh_issue_read", arguments, Request::IssueRead { number: 7, comments });
    }
    refuses("gh_issue_read", json!({}), "gh_issue_read: `number` is required");
    refuses(
        "gh_issue_read",
        json!({ "number": 7, "max_comments": -2 }),
        "gh_issue_read: `max_comments` cannot be -2: 0 means 20, -1 means none",
    );
    let labels = vec!["bug".to_owned(), "help wanted".to_owned()];
    reads(
        "gh_issue_list",
        json!({ "labels": ["bug", "", "help wanted"], "assignee": "ada", "milestone": "1.0" }),
        Request::IssueList { labels, assignee: some("ada"), milestone: some("1.0") },
    );
    refuses(
        "gh_issue_list",
        json!({ "labels": ["a,b"] }),
        "gh_issue_list: `a,b` is not one label: give each as an entry of `labels`",
    );
    assert_eq!(parse("git_push", &json!({})), None);
}

#[test]
fn what_would_be_published_is_checked_first() {
    let long = "x".repeat(73);
    for (title, reason) in [
        ("", "the title is empty"),
        (" \n ", "the title is empty"),
        ("two\nlines", "the title must be one line"),
        ("Ends badly.", "the title must not end with a period"),
        (&long, "the title has 73 characters: give at most 72"),
    ] {
        let arguments = json!({ "base": "main", "title": title, "body": "b" });
        refuses("gh_pr_create", arguments, &format!("created=false reason=validation\n{reason}"));
        let arguments = json!({ "title": title, "body": "b" });
        refuses("gh_pr_update", arguments, &format!("updated=false reason=validation\n{reason}"));
    }
    let missing = [("base", json!({ "title": "t", "body": "b" })), ("body", json!({ "base": "main", "title": "t" }))];
    for (name, arguments) in missing {
        refuses("gh_pr_create", arguments, &format!("created=false reason=validation\n`{name}` is required"));
    }
    let empty = json!({ "base": "main", "title": "t", "body": " \n" });
    refuses("gh_pr_create", empty, "created=false reason=validation\nthe body is empty");
    let empty = json!({ "title": "t", "body": " " });
    refuses("gh_pr_update", empty, "updated=false reason=validation\nthe body is empty");
    let huge = json!({ "body": "é".repeat(8193) });
    let reason = "posted=false reason=validation\nthe body has 16386 bytes: give at most 16384";
    refuses("gh_pr_add_comment", huge, reason);
    refuses("gh_pr_add_comment", json!({ "body": "\n" }), "posted=false reason=validation\nthe body is empty");
    refuses(
        "gh_pr_create",
        json!({ "force": true }),
        "gh_pr_create: `force`: unknown field `force`, expected one of `base`, `title`, `body`, `draft`",
    );
}

#[test]
fn a_person_sees_the_whole_text_before_it_is_published() {
    let body = "line\n".repeat(3000);
    let arguments = json!({ "ref": "12", "body": body });
    let Some(Ok(comment)) = parse("gh_pr_add_comment", &arguments) else { panic!("it is read") };
    assert_eq!((comment.title().as_str(), comment.preview()), ("comment on pull request #12", body));
    let arguments = json!({ "base": "main", "title": "Fix it", "body": "Because.", "draft": true });
    let Some(Ok(create)) = parse("gh_pr_create", &arguments) else { panic!("it is read") };
    assert_eq!(create.title(), "open a draft of a pull request into main: Fix it");
    assert_eq!(create.preview(), "Fix it\n\nBecause.");
}

#[test]
fn the_context_says_how_its_base_was_found() {
    let name = "main".to_owned();
    for (base, line) in [
        (BaseFound::Explicit(name.clone()), "resolved_base=main\nbase_resolution=explicit\n"),
        (BaseFound::OriginHead(name.clone()), "resolved_base=main\nbase_resolution=origin-head\n"),
        (BaseFound::Fallback(name), "resolved_base=main\nbase_resolution=fallback:main\n"),
        (BaseFound::Unresolved, "resolved_base=\nbase_resolution=unresolved\n"),
    ] {
        let text = Context { base, ..Context::default() }.text();
        assert!(text.starts_with(&format!("## state\n{line}")), "{text}");
    }
}

#[test]
fn the_context_as_a_model_reads_it() {
    let context = Context {
        base: BaseFound::OriginHead("main".to_owned()),
        branch: "fix".to_owned(),
        ahead: Some(2),
        is_pushed: Some(false),
        unavailable: Some("there is no login\nfor GitHub".to_owned()),
        stat: " a | 1 +\n".to_owned(),
        commits: "abc fix\n".to_owned(),
        template: String::new(),
    };
    insta::assert_snapshot!(context.text(), @r"
    ## state
    resolved_base=main
    base_resolution=origin-head
    current_branch=fix
    base_equals_current=false
    ahead_count=2
    pushed_to_origin=false
    gh_available=false
    gh_reason=there is no login for GitHub

    ## diff.stat
     a | 1 +

    ## commits.log
    abc fix

    ## pr.template
    (none)
    ");
    let unknown = Context { branch: "main".to_owned(), template: "x".repeat(SECTION_TEST), ..Context::default() };
    let text = unknown.text();
    assert!(
        text.contains("ahead_count=unknown\npushed_to_origin=unknown\ngh_available=true\n\n## pr.template\nxx"),
        "{text}"
    );
    assert!(text.ends_with("x\n…[truncated]\n"), "{}", &text[text.len() - 40..]);
}

/// Longer than any section.
const SECTION_TEST: usize = 40 * 1024;
