//! Calls of the tools for git: what is read, what is refused before git runs, and what the rules are asked about.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::style::{self, Style};
use super::*;
use crate::permission::{only_git_reads, only_reads};

#[track_caller]
fn ok(name: &str, arguments: Value) -> Request {
    parse(name, &arguments).unwrap().unwrap()
}

#[track_caller]
fn refused(name: &str, arguments: Value, expected: &str) {
    assert_eq!(parse(name, &arguments), Some(Err(expected.to_owned())), "{name} {arguments}");
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn defaults_are_those_of_the_table() {
    let (a, b) = (text("a"), text("b"));
    for (name, arguments, expected) in [
        (
            "list_git_changed_files",
            json!({ "staged": false }),
            Request::Look(Look::Changed(Parts { staged: false, unstaged: true, untracked: true })),
        ),
        ("git_branch_status", Value::Null, Request::Look(Look::BranchStatus)),
        (
            "git_show_file_at_rev",
            json!({ "path": "a" }),
            Request::Look(Look::Show { path: a.clone(), rev: text("HEAD") }),
        ),
        ("git_diff_files", json!({}), Request::Look(Look::Diff { span: Span::Uncommitted, paths: vec![] })),
        (
            "git_diff_files",
            json!({ "base": "main", "paths": ["a"] }),
            Request::Look(Look::Diff { span: Span::Since(text("main")), paths: vec![a.clone()] }),
        ),
        (
            "git_diff_files",
            json!({ "base": "a", "head": "b" }),
            Request::Look(Look::Diff { span: Span::Between { base: a.clone(), head: b.clone() }, paths: vec![] }),
        ),
        ("git_log_file", json!({ "path": "a" }), Request::Look(Look::Log { path: a.clone(), limit: 10 })),
        (
            "git_log_file",
            json!({ "path": "a", "limit": 9999 }),
            Request::Look(Look::Log { path: a.clone(), limit: 200 }),
        ),
        (
            "git_blame_lines",
            json!({ "path": "a", "start": 1, "end": 2.0 }),
            Request::Look(Look::Blame { path: a.clone(), start: 1, end: 2 }),
        ),
        (
            "git_merge_base",
            json!({ "base": "a", "head": "b" }),
            Request::Look(Look::MergeBase { base: a.clone(), head: b }),
        ),
        ("git_commit_context", json!({}), Request::Look(Look::CommitContext)),
        ("git", json!({ "args": ["status"] }), Request::Git { args: vec![text("status")] }),
        ("git_stage_files", json!({ "all": true }), Request::Change(Change::Stage(Selection::All))),
        (
            "git_stage_files",
            json!({ "paths": ["a"] }),
            Request::Change(Change::Stage(Selection::Paths(vec![a.clone()]))),
        ),
        ("git_unstage_files", json!({ "paths": ["a"] }), Request::Change(Change::Unstage { paths: vec![a.clone()] })),
        (
            "git_create_branch",
            json!({ "name": "a" }),
            Request::Change(Change::CreateBranch { name: a, start: text("HEAD") }),
        ),
        ("git_commit", json!({ "message": "x\n\ny.\n" }), Request::Commit { message: text("x\n\ny.") }),
        ("git_commit_apply", json!({ "message": " x " }), Request::Commit { message: text("x") }),
        ("git_checkpoint", json!({}), Request::Change(Change::Checkpoint { message: text("checkpoint") })),
        ("rollback", json!({}), Request::Change(Change::Rollback { target: text("HEAD~1") })),
        ("git_push", json!({}), Request::Push),
    ] {
        assert_eq!(ok(name, arguments.clone()), expected, "{name} {arguments}");
    }
    assert_eq!(parse("read_file", &json!({})), None);
}

#[test]
fn a_message_is_refused_before_git_runs() {
    let long = "x".repeat(73);
    for (message, why) in [
        ("", "message is required"),
        (" \n", "message is required"),
        ("a\nb", "message must be one line"),
        ("a\tb", "message must be one line"),
        (&long, "message must have at most 72 characters, not 73"),
        ("a.", "message must not end with a period"),
    ] {
        let expected = format!("committed=false reason=validation\n{why}");
        refused("git_commit_apply", json!({ "message": message }), &expected);
    }
    assert_eq!(
        ok("git_commit_apply", json!({ "message": "ä".repeat(72) })),
        Request::Commit { message: "ä".repeat(72) }
    );
    refused("git_commit", json!({ "message": " " }), "committed=false reason=validation\nmessage is required");
}

#[test]
fn a_name_that_is_none_is_refused_before_git_runs() {
    for name in [
        "", "-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\", ".a", "a/.b", "a.lock", "a.lock/b", "/a",
        "a/", "a//b", "a.", "a@{b", "@", "HEAD", "a\u{7f}b", "a\nb",
    ] {
        let expected = format!("created=false reason=validation\n`{name}` is not a name for a branch");
        refused("git_create_branch", json!({ "name": name }), &expected);
    }
    for name in ["coppice", "coppice/abcdefgh/work"] {
        let said = parse("git_create_branch", &json!({ "name": name })).unwrap().unwrap_err();
        assert!(said.contains("is a name for branches of sessions"), "{said}");
    }
    for name in ["refs/heads/main", "heads/main", "tags/v1", "remotes/origin/main", "tags"] {
        let said = parse("git_create_branch", &json!({ "name": name })).unwrap().unwrap_err();
        assert!(said.contains("would stand in the way of other names"), "{said}");
    }
    for name in ["a", "feature/x-1", "a.b", "ä", "coppice-2", "a@b", "v1.0"] {
        ok("git_create_branch", json!({ "name": name }));
    }
}

#[test]
fn a_push_has_no_parameter_for_force() {
    let said = parse("git_push", &json!({ "force": true })).unwrap().unwrap_err();
    assert!(said.contains("unknown field `force`"), "{said}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (name, arguments, expected) in [
        ("git_stage_files", json!({}), "git_stage_files: give paths, or all as true"),
        (
            "git_stage_files",
            json!({ "paths": ["a"], "all": true }),
            "git_stage_files: give either paths or all, not both",
        ),
        ("git_stage_files", json!({ "paths": [] }), "git_stage_files: paths is required"),
        ("git_unstage_files", json!({}), "git_unstage_files: paths is required"),
        ("git_diff_files", json!({ "head": "x" }), "git_diff_files: head needs base"),
        ("git_blame_lines", json!({ "path": "a", "start": 1 }), "git_blame_lines: end is required"),
        (
            "git_blame_lines",
            json!({ "path": "a", "start": 2, "end": 1 }),
            "git_blame_lines: end must not be before start: 2 to 1",
        ),
        (
            "git_blame_lines",
            json!({ "path": "a", "start": 0, "end": 1 }),
            "git_blame_lines: start must be a whole number from 1, not 0",
        ),
        ("git_show_file_at_rev", json!({ "path": " " }), "git_show_file_at_rev: path is required"),
        ("git", json!({ "args": [] }), "git: args is required, such as [\"status\"]"),
        ("git", json!({ "args": ["git", "log"] }), "git: args must begin after `git`, such as [\"status\"]"),
    ] {
        refused(name, arguments, expected);
    }
    for rev in ["-x", "--output=x", "a..b", "a\nb"] {
        let said = parse("rollback", &json!({ "target": rev })).unwrap().unwrap_err();
        assert!(said.starts_with("rollback: `"), "{said}");
    }
}

#[test]
fn a_path_stays_in_the_tree_by_its_words() {
    let tree = Path::new("/data/tree");
    for (path, expected) in [
        ("a", Some("a")),
        ("./a//b/", Some("a/b")),
        ("a/../b", Some("b")),
        (".", Some(".")),
        ("/data/tree/a", Some("a")),
        ("/data/tree", Some(".")),
        ("..", None),
        ("a/../../b", None),
        ("/data/tree2/a", None),
        ("/etc/passwd", None),
        (".git/config", None),
        ("a/.git", None),
    ] {
        assert_eq!(inside(path, tree).ok(), expected.map(PathBuf::from), "{path}");
    }
}

#[test]
fn the_rules_hear_about_the_paths_and_the_whole_command() {
    let tree = Path::new("/data/tree");
    for (request, expected) in [
        (Request::Look(Look::Show { path: text("a"), rev: text("x") }), Reach::Paths(vec!["/data/tree/a".into()])),
        (Request::Change(Change::Unstage { paths: vec![text("/etc/a")] }), Reach::Paths(vec!["/etc/a".into()])),
        (Request::Push, Reach::Elsewhere),
        (
            Request::Git { args: ["log", "--format=%an it's", "a b", ""].map(text).to_vec() },
            Reach::Command { text: text(r"git log '--format=%an it'\''s' 'a b' ''"), cwd: tree.into() },
        ),
    ] {
        assert_eq!(request.reach(tree), expected);
    }
}

#[test]
fn only_calls_of_git_that_look_are_free() {
    let reads = |args: &[&str]| only_git_reads(&git_text(&args.iter().map(|arg| text(arg)).collect::<Vec<_>>()));
    for args in [
        &["status"][..],
        &["log", "--oneline", "-5"],
        &["log", "--grep=it's $HOME"],
        &["show", "HEAD:a b"],
        &["log", "HEAD@{1}"],
        &["diff", "main...HEAD", "--", "src"],
        &["grep", "-n", "$(x)"],
        &["branch", "--show-current"],
    ] {
        assert!(reads(args), "{args:?}");
    }
    for args in [
        &["-c", "core.pager=x", "log"][..],
        &["-C", "/x", "status"],
        &["--exec-path=x", "status"],
        &["--git-dir=x", "status"],
        &["--work-tree", "x", "status"],
        &["st"],
        &["log", "--output=x"],
        &["log", "--ext-diff"],
        &["show", "--textconv"],
        &["diff", "--no-index", "/etc/passwd", "x"],
        &["grep", "--no-index", "x"],
        &["archive", "--upload-pack=x"],
        &["reset", "--hard"],
        &["push"],
    ] {
        assert!(!reads(args), "{args:?}");
    }
}

proptest! {
    /// Whatever the words are, a shell that reads the text sees one command.
    #[test]
    fn no_words_become_another_command(words in prop::collection::vec("[ -~äß\n]{0,12}", 1..5)) {
        let said = git_text(&words);
        if let Some(parts) = crate::permission::segments(&said) {
            prop_assert_eq!(parts.len(), 1, "{}", said);
        }
        let harmless = git_text(&[vec![text("log"), text("--")], words].concat());
        prop_assert!(only_git_reads(&harmless) || !only_reads(&harmless));
    }

    #[test]
    fn no_call_makes_it_panic(name in prop::sample::select(ROWS.iter().map(|row| row.name).collect::<Vec<_>>()),
        key in "[a-z]{1,8}", value in any::<String>(), number in any::<f64>()) {
        for arguments in [json!({ key.as_str(): value }), json!({ "path": value, "start": number, "end": number }), json!(value)] {
            parse(name, &arguments);
        }
    }

    #[test]
    fn no_path_leaves_the_tree(path in "[a-z./]{0,16}") {
        if let Ok(plain) = inside(&path, Path::new("/data/tree")) {
            prop_assert!(plain == Path::new(".") || plain.components().all(|part| matches!(part, std::path::Component::Normal(_))));
        }
    }
}

#[test]
fn the_style_is_that_of_the_majority_of_fifteen() {
    let check =
        |subjects: &[&str], expected| assert_eq!(style::detect(subjects.iter().copied()), expected, "{subjects:?}");
    for subject in ["feat: x", "fix(parser): x", "Fix: x", "refactor!: x", "chore(deps)!: x"] {
        check(&[subject], Style::Conventional);
    }
    for subject in ["ABC-123 x", "[ABC-1] x", "ABC-123: x", "A1_B-2 x", "#12 x", "(ABC-1): x"] {
        check(&[subject], Style::TicketPrefix);
    }
    for subject in
        ["", "Add x", "git: x", "feat:x", "feat(): x", "feat: ", "feature: x", "abc-1 x", "A-1 x", "# x", "UTF-8"]
    {
        check(&[subject], if subject == "UTF-8" { Style::TicketPrefix } else { Style::Plain });
    }
    check(&[], Style::Plain);
    check(&["feat: x", "x"], Style::Plain);
    check(&["feat: x", "x", "fix: y"], Style::Conventional);
    check(&["feat: x", "ABC-1 x", "x"], Style::Plain);
    let old = ["x"; 8].iter().chain(&["feat: x"; 30]).copied().collect::<Vec<_>>();
    check(&old, Style::Plain);
    let new = ["feat: x"; 8].iter().chain(&["x"; 30]).copied().collect::<Vec<_>>();
    check(&new, Style::Conventional);
    assert_eq!(Style::TicketPrefix.to_string(), "ticket-prefix");
}

#[test]
fn a_person_reads_what_is_about_to_happen() {
    for (name, arguments, title, preview) in [
        ("git_stage_files", json!({ "paths": ["a", "b"] }), "stage 2 files", "a\nb"),
        ("git_stage_files", json!({ "all": true }), "stage all changes", ""),
        ("git_commit", json!({ "message": "x\n\ny" }), "commit: x", "x\n\ny"),
        ("rollback", json!({}), "roll back to HEAD~1, discarding what is not committed", ""),
        ("git_create_branch", json!({ "name": "n" }), "create branch n from HEAD", ""),
        ("git", json!({ "args": ["reset", "--hard"] }), "git reset --hard", ""),
        ("git_push", json!({}), "push the branch of the session", ""),
    ] {
        let request = ok(name, arguments);
        assert_eq!((request.title().as_str(), request.preview().as_str()), (title, preview));
    }
}
