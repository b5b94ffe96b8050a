//! Approvals: what each key decides, at which session, and what the card shows.

use super::*;
use crate::api::error::{Error, ErrorKind};
use crate::api::request::{AllowScope, Decide, DenyScope};
use crate::api::session::Status;
use crate::tui::sample::{NARROW, WIDE, model, screen, write};
use ratatui::layout::Size;

fn bash() -> Approval {
    Approval {
        tool: "bash".into(),
        title: "rm -rf build && cargo build".into(),
        preview: Some("rm -rf build && cargo build".into()),
        reason: "the rule asks".into(),
        layer: "project rules".into(),
        rule: Some("\"bash\": ask in permissions.json:4".into()),
        saves: vec!["Bash(cargo build)".into()],
        warnings: vec!["⚠ destructive: rm -rf".into()],
        ..sample::push()
    }
}

fn edit() -> Approval {
    let lines: String =
        (1..=20).map(|line| format!("-    let cap = {line};\n+    let cap = config.burst;\n")).collect();
    Approval {
        tool: "edit".into(),
        title: "src/gateway/limit.rs".into(),
        preview: Some(format!("--- a/src/gateway/limit.rs\n+++ b/src/gateway/limit.rs\n@@ -1,20 +1,20 @@\n{lines}")),
        warnings: vec![],
        saves: vec!["Edit(src/**)".into()],
        ..sample::push()
    }
}

fn decided(request: &Request) -> (&str, &str, &Decide) {
    match request {
        Request::Decide { session, request, decision } => (session, request, decision),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_key_decides_as_the_card_says() {
    let allow = |scope| Decide::Allow { scope };
    let deny = |message: Option<&str>, scope| Decide::Deny { message: message.map(str::to_owned), scope };
    for (keys, expected) in [
        (&["y", "y"][..], allow(AllowScope::Once)),
        (&["y", "s"], allow(AllowScope::Session)),
        (&["y", "a"], allow(AllowScope::Always)),
        (&["y", "d"], deny(None, DenyScope::Never)),
        (&["y", "n", "enter"], deny(None, DenyScope::Once)),
        (&["y", "n", "n", "o", "enter"], deny(Some("no"), DenyScope::Once)),
    ] {
        let (model, requests) = opened(model(WIDE, vec![waiting("abcd2345", vec![bash()])]), "abcd2345", keys);
        let sent: Vec<_> = requests.iter().filter(|request| matches!(request, Request::Decide { .. })).collect();
        assert_eq!(sent.len(), 1, "{keys:?}");
        assert_eq!(decided(sent[0]), ("abcd2345", "r1", &expected), "{keys:?}");
        assert!(!is_open(&model), "{keys:?}");
    }
}

#[test]
fn what_has_no_rule_is_decided_once_and_says_so() {
    let once = Approval { saves: vec![], warnings: vec![], ..bash() };
    for key in ["s", "a", "d"] {
        let (model, requests) =
            opened(model(WIDE, vec![waiting("abcd2345", vec![once.clone()])]), "abcd2345", &["y", key]);
        assert_eq!((requests, is_open(&model)), (vec![], true), "{key}");
    }
    let (mut model, _) = opened(model(WIDE, vec![waiting("abcd2345", vec![once])]), "abcd2345", &["y"]);
    insta::assert_snapshot!(card(&mut model), @r#"
    ╭ Bash(rm -rf build && cargo build)                                                       demo · Work of abcd2345 · 5m
    │  in coppice/abcd2345/fix-the-parser · why: the rule asks (project rules: "bash": ask in permissions.json:4)
    │  y once   n no, with a word why   only once: no rule would cover this call and no other
    ╰ 1 waiting · y n decide, enter does not · esc later
    "#);
}

#[test]
fn enter_looks_closer_and_decides_nothing() {
    let long = Approval { warnings: vec![], ..edit() };
    let mut model = model(NARROW, vec![waiting("abcd2345", vec![long])]);
    // From the list: the card, then the session behind it, then the rest of the call.
    for opened in [View::Sessions, View::Session("abcd2345".into())] {
        let requests = press(&mut model, &["enter"]);
        assert!(!requests.iter().any(|request| matches!(request, Request::Decide { .. })), "{requests:?}");
        assert_eq!((is_open(&model), &model.view), (true, &opened));
        assert!(card(&mut model).contains("more lines, 0 above"), "{}", card(&mut model));
    }
    assert_eq!(press(&mut model, &["enter"]), []);
    assert!(card(&mut model).contains("more lines, 10 above"), "{}", card(&mut model));
    // At the end nothing more is seen, and that is said.
    press(&mut model, &["G", "enter"]);
    assert!(screen(&mut model).contains("only the keys on the card decide"));
    press(&mut model, &["g", "enter"]);
    assert!(card(&mut model).ends_with("y s a n d decide, enter does not · esc later"));
}

#[test]
fn the_card_is_the_one_of_the_sketch() {
    let sessions = vec![waiting("abcd2345", vec![bash(), edit()])];
    let (mut model, _) = opened(model(WIDE, sessions), "abcd2345", &["y"]);
    insta::assert_snapshot!(card(&mut model), @r#"
    ╭ Bash(rm -rf build && cargo build)                                                       demo · Work of abcd2345 · 5m
    │  ⚠ destructive: rm -rf
    │  in coppice/abcd2345/fix-the-parser · why: the rule asks (project rules: "bash": ask in permissions.json:4)
    │  y once   s this session   a always, saves Bash(cargo build)   n no, with a word why   d never
    ╰ 1 of 2 waiting · space next · y s a n d decide, enter does not · esc later
    "#);
    model.size = NARROW;
    insta::assert_snapshot!(card(&mut model), @r#"
    ╭ Bash(rm -rf build && cargo build)               demo · Work of abcd2345 · 5m
    │  ⚠ destructive: rm -rf
    │  in coppice/abcd2345/fix-the-parser · why: the rule asks (project rules:
    │  "bash": ask in permissions.json:4)
    │  y once   s this session   a always, saves Bash(cargo build)   n no, with a
    │  word why   d never
    ╰ 1 of 2 waiting · space next · y s a n d decide, enter does not · esc later
    "#);
}

#[test]
fn a_long_preview_scrolls_and_a_refusal_has_words() {
    let (mut model, _) =
        opened(model(NARROW, vec![waiting("abcd2345", vec![edit()])]), "abcd2345", &["y", "j", "j", "k"]);
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Edit(src/gateway/limit.rs)                      demo · Work of abcd2345 · 5m
    │  +++ b/src/gateway/limit.rs
    │  @@ -1,20 +1,20 @@
    │  -    let cap = 1;
    │  +    let cap = config.burst;
    │  -    let cap = 2;
    │  +    let cap = config.burst;
    │  -    let cap = 3;
    │  +    let cap = config.burst;
    │  -    let cap = 4;
    │  +    let cap = config.burst;
    │  -    let cap = 5;
    │  +    let cap = config.burst;
    │  … 30 more lines, 1 above
    │  in coppice/abcd2345/fix-the-parser · why: nothing decides about it (tool
    │  class)
    │  y once   s this session   a always, saves Edit(src/**)   n no, with a word
    │  why   d never
    ╰ 1 waiting · y s a n d decide, enter does not · esc later
    ");
    press(&mut model, &["G", "n"]);
    write(&mut model, "read it once in new()");
    insta::assert_snapshot!(card(&mut model), @r"
    ╭ Edit(src/gateway/limit.rs)                      demo · Work of abcd2345 · 5m
    │  -    let cap = 15;
    │  +    let cap = config.burst;
    │  -    let cap = 16;
    │  +    let cap = config.burst;
    │  -    let cap = 17;
    │  +    let cap = config.burst;
    │  -    let cap = 18;
    │  +    let cap = config.burst;
    │  -    let cap = 19;
    │  +    let cap = config.burst;
    │  -    let cap = 20;
    │  +    let cap = config.burst;
    │  … the end, 31 above
    │  in coppice/abcd2345/fix-the-parser · why: nothing decides about it (tool
    │  class)
    │  why not: read it once in new()
    ╰ enter refuses; without words the agent is told nothing more · esc back
    ");
    press(&mut model, &["esc"]);
    assert!(is_open(&model) && !card(&mut model).contains("why not"));
    press(&mut model, &["esc"]);
    assert!(!is_open(&model));
}

#[test]
fn after_a_decision_the_next_of_the_session_is_shown() {
    let other = waiting("efgh3456", vec![bash()]);
    let (mut model, requests) =
        opened(model(WIDE, vec![waiting("abcd2345", vec![edit(), edit()]), other]), "abcd2345", &["y", "y", "y"]);
    let names: Vec<_> = requests.iter().map(|request| decided(request).1).collect();
    assert_eq!(names, ["r1", "r2"]);
    assert!(!is_open(&model));
    // It is still listed, but it was decided.
    press(&mut model, &["y"]);
    assert!(!is_open(&model));
    let error = Error::new(ErrorKind::Conflict, "the request is gone");
    update(&mut model, Msg::Reply(Reply::Failed { doing: "approve".into(), error }));
    press(&mut model, &["y"]);
    assert!(is_open(&model));
}

#[test]
fn what_somebody_else_decided_leaves_the_screen() {
    let session = waiting("abcd2345", vec![bash(), edit()]);
    let (mut model, _) = opened(model(WIDE, vec![session.clone()]), "abcd2345", &["y"]);
    came(&mut model, Session { approvals: session.approvals[1..].to_vec(), ..session.clone() });
    assert!(card(&mut model).contains("src/gateway/limit.rs"));
    came(&mut model, Session { approvals: vec![], ..session });
    assert!(!is_open(&model));
}

#[test]
fn space_goes_through_all_that_wait_the_oldest_first() {
    let later = |mut session: Session, by| {
        session.approvals.iter_mut().for_each(|approval| approval.requested_at += by);
        session
    };
    let sessions = vec![waiting("bbbb2345", vec![bash()]), later(waiting("aaaa2345", vec![edit(), bash()]), 9_000)];
    let (mut model, _) = opened(model(WIDE, sessions), "bbbb2345", &["y"]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let foot = card(&mut model).lines().last().unwrap_or_default().to_owned();
        let open = match &model.view {
            View::Session(id) => id.clone(),
            other => format!("{other:?}"),
        };
        seen.push(format!("{open} {}", foot.split('·').next().unwrap_or_default().trim()));
        press(&mut model, &["space"]);
    }
    assert_eq!(
        seen,
        [
            "bbbb2345 ╰ 1 of 3 waiting",
            "aaaa2345 ╰ 2 of 3 waiting",
            "aaaa2345 ╰ 3 of 3 waiting",
            "bbbb2345 ╰ 1 of 3 waiting"
        ]
    );
}

#[test]
fn a_small_screen_keeps_the_beginning_of_the_call_and_the_keys() {
    let small = Size { width: 40, height: 10 };
    let calm = Approval { warnings: vec![], ..bash() };
    for (approval, parts) in [
        (bash(), ["rm -rf build", "y once  s session  n no, and why"]),
        (edit(), ["src/gateway/limit.rs", "y once  "]),
        (calm, ["rm -rf build", "y once  s session  n no, and why"]),
    ] {
        let (mut model, _) = opened(model(small, vec![waiting("abcd2345", vec![approval])]), "abcd2345", &["y"]);
        let shown = screen(&mut model);
        for part in parts {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}

#[test]
fn a_childs_request_is_decided_at_the_child() {
    let child = Session {
        approvals: waiting("efgh3456", vec![bash()]).approvals,
        ..sample::child("efgh3456", Status::Approval)
    };
    let shown = Approval {
        id: "efgh3456/r1".into(),
        session: Some("efgh3456".into()),
        agent: Some("explore".into()),
        ..child.approvals[0].clone()
    };
    let parent = Session { approvals: vec![shown], ..sample::session(Status::Running) };
    for sessions in [vec![parent.clone(), child.clone()], vec![parent.clone()]] {
        let (_, requests) = opened(model(WIDE, sessions), "abcd2345", &["y", "y"]);
        let expected = Decide::Allow { scope: AllowScope::Once };
        assert_eq!(requests.iter().map(decided).collect::<Vec<_>>(), [("efgh3456", "r1", &expected)]);
    }
    // Shown twice, it waits once.
    let (mut model, _) = opened(model(WIDE, vec![parent, child]), "abcd2345", &["y"]);
    insta::assert_snapshot!(card(&mut model), @r#"
    ╭ Bash(rm -rf build && cargo build)                                                      demo · @explore subagent · 5m
    │  ⚠ destructive: rm -rf
    │  in coppice/abcd2345/fix-the-parser · why: the rule asks (project rules: "bash": ask in permissions.json:4)
    │  y once   s this session   a always, saves Bash(cargo build)   n no, with a word why   d never
    ╰ 1 waiting · y s a n d decide, enter does not · esc later
    "#);
}

#[test]
fn a_request_from_before_a_restart_says_so() {
    let expired = Approval { expired: true, ..edit() };
    let (mut model, _) = opened(model(NARROW, vec![waiting("abcd2345", vec![expired])]), "abcd2345", &["y"]);
    assert!(card(&mut model).contains("asked before the daemon restarted"));
}

#[test]
fn nothing_waits_where_nothing_is_asked() {
    let (model, requests) = opened(model(WIDE, vec![sample::session(Status::Ready)]), "abcd2345", &["y", "a"]);
    assert_eq!((requests, is_open(&model)), (vec![], false));
}

#[test]
fn hostile_words_do_not_leave_their_rows_and_no_size_is_too_small() {
    let hostile = "\u{1b}[2J\u{9b}31m\u{202e}x\r\n\u{7}".repeat(40);
    let approval = Approval {
        tool: hostile.clone(),
        title: hostile.clone(),
        preview: Some(hostile.clone()),
        reason: hostile.clone(),
        layer: hostile.clone(),
        rule: Some(hostile.clone()),
        saves: vec![hostile.clone()],
        warnings: vec![hostile],
        ..bash()
    };
    let (mut model, _) = opened(model(WIDE, vec![waiting("abcd2345", vec![approval])]), "abcd2345", &["y"]);
    let shown = screen(&mut model);
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\r', '\u{7}']), "{shown}");
    for (width, height) in [(20, 5), (1, 1), (0, 0), (30, 8), (200, 3), (3, 60)] {
        model.size = Size { width, height };
        screen(&mut model);
        press(&mut model, &["n", "j", "esc"]);
    }
}

#[test]
fn a_key_that_was_meant_for_something_else_decides_nothing() {
    let session = waiting("abcd2345", vec![bash(), edit()]);
    let mut model = model(WIDE, vec![session]);
    model.patience = 300;
    assert_eq!(press(&mut model, &["y", "y", "enter", "a"]), []);
    assert!(card(&mut model).contains('…'));
    model.now += 300;
    assert_eq!(press(&mut model, &["y"]).len(), 1);
    // The next call stands where the first one was; the key that is still held is not about it.
    assert_eq!(press(&mut model, &["y", "a"]), []);
    model.now += 300;
    assert_eq!(press(&mut model, &["y"]).len(), 1);
}
