//! Words in, questions and requests out.

use super::*;
use crate::api::permission::SavedPlan;
use crate::api::publish::Pull;
use crate::api::request::{CreateSession, Start};
use crate::api::review::PreparedReview;
use crate::api::session::QueuedPrompt;
use crate::look::sample::NOW;
use crate::tui::msg::{Msg, Publish, Reply};
use crate::tui::panel::Seen;
use crate::tui::sample::{NARROW, WIDE, model, press, screen, sessions, write};
use crate::tui::update::update;

/// Says a command in the composer of a session; what it asks for besides keeping the draft.
fn said(text: &str, keys: &[&str]) -> (Vec<Request>, String) {
    let mut model = model(NARROW, sessions());
    model.open_session("reaaaaaa");
    press(&mut model, &["i"]);
    write(&mut model, text);
    let mut requests = press(&mut model, &["enter"]);
    requests.extend(press(&mut model, keys));
    requests.retain(|request| !matches!(request, Request::Save | Request::Files { .. }));
    (requests, screen(&mut model))
}

#[track_caller]
fn asks(text: &str, keys: &[&str], expected: &Request) {
    assert_eq!(said(text, keys).0, std::slice::from_ref(expected), "{text}");
}

fn pull(url: &str) -> Pull {
    Pull {
        number: 7,
        url: url.into(),
        title: "Upgrade axum".into(),
        body: "Two commits.\u{1b}[2J".into(),
        state: "open".into(),
        base: "main".into(),
        head: "coppice/rea/axum".into(),
        ..Pull::default()
    }
}

#[test]
fn what_leaves_the_machine_is_asked_about_once() {
    let session = || "reaaaaaa".to_owned();
    let push = |branch: Option<&str>| {
        Request::Publish(Publish::Push { session: session(), branch: branch.map(str::to_owned) })
    };
    asks("/push", &["y"], &push(None));
    asks("/push --branch fix/pump", &["y"], &push(Some("fix/pump")));
    asks("/push fix/pump", &["y"], &push(Some("fix/pump")));
    let create = |create| Request::Publish(Publish::Create { session: session(), create });
    asks("/pr create", &["y"], &create(CreatePull::default()));
    let whole = CreatePull {
        base: Some("next".into()),
        title: Some("Fix the pump".into()),
        body: Some("It leaks.".into()),
        draft: true,
    };
    asks("/pr create --draft --base next --title \"Fix the pump\" --body It leaks.", &["y"], &create(whole));
    let update = UpdatePull { title: Some("Pump".into()), body: None };
    asks("/pr update --title Pump", &["y"], &Request::Publish(Publish::Update { session: session(), update }));
    for text in ["/push", "/pr create", "/pr update --body x"] {
        assert_eq!(said(text, &["esc"]).0, [], "{text}");
    }
}

#[test]
fn what_is_looked_at_is_asked_for_at_once() {
    let session = || "reaaaaaa".to_owned();
    let pull = |depth| Request::Look(Look::Pull { session: session(), depth });
    asks("/pr", &[], &pull(Depth::Shown));
    asks("/pr show", &[], &pull(Depth::Shown));
    asks("/pr review", &[], &pull(Depth::Reviewed));
    asks("/plans", &[], &Request::Plans);
    asks("/queue", &[], &Request::Queue(session()));
    asks("/queue --drop 3", &[], &Request::Drop { session: session(), number: 3 });
    let explain = |tool: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Request::Look(Look::Explain { session: Some(session()), tool: tool.into(), arguments })
    };
    asks("/permissions", &[], &explain("Read", &["."]));
    asks("/permissions explain Bash git push --force", &[], &explain("Bash", &["git push --force"]));
    let tools = Look::Tools { agent: None, model: Some("demo".into()), profile: Some("native".into()) };
    asks("/tools", &[], &Request::Look(tools));
    asks("/show --raw", &[], &Request::Look(Look::Raw(session())));
}

#[test]
fn what_cannot_be_understood_is_told() {
    for (text, expected) in [
        ("/pr merge", "`merge` is none of `show`, `review`, `create`, `update`"),
        ("/pr create now", "`now` stands behind none of `--base`, `--title`, `--body`, `--draft`"),
        ("/pr create --label x", "`--label` is none of `--base`, `--title`, `--body`, `--draft`"),
        ("/pr create --title", "`--title` needs a text"),
        ("/pr create --draft yes", "`--draft` takes nothing behind it"),
        ("/pr update", "an update has `--title TEXT`, `--body TEXT` or both"),
        ("/queue 3", "a prompt is taken back by `--drop N`"),
        ("/queue --drop all", "`all` is not the number of a prompt"),
        ("/show all", "`all` is not `--raw`"),
        ("/base main", "this is for a task that is not started yet"),
    ] {
        let (requests, screen) = said(text, &[]);
        assert_eq!(requests, [], "{text}");
        assert!(screen.contains(expected), "{text}: {screen}");
    }
}

#[test]
fn a_task_is_given_a_base_a_title_and_a_profile() {
    let mut model = model(WIDE, sessions());
    press(&mut model, &["n"]);
    for text in ["/base release-2", "/title Old pump", "/profile readonly", "/draft"] {
        write(&mut model, text);
        press(&mut model, &["enter"]);
    }
    let line = screen(&mut model);
    assert!(line.contains("\"Old pump\" · from release-2 · readonly · draft"), "{line}");
    write(&mut model, "fix it");
    let requests = press(&mut model, &["enter"]);
    let create = requests.into_iter().find_map(|request| match request {
        Request::Create { create, .. } => Some(*create),
        _ => None,
    });
    let expected = CreateSession {
        prompt: "fix it".into(),
        base: Some("release-2".into()),
        title: Some("Old pump".into()),
        profile: Some("readonly".into()),
        start: Start::AsDraft,
        ..CreateSession::default()
    };
    assert_eq!(create, Some(expected));
    // The next one is as usual.
    press(&mut model, &["n"]);
    assert!(!screen(&mut model).contains("release-2"));
}

#[test]
fn a_pull_request_is_shown_with_its_address_to_copy() {
    let url = "https://github.com/o/shop/pull/7";
    let mut model = model(NARROW, sessions());
    model.open_session("reaaaaaa");
    update(&mut model, Msg::Reply(Reply::Seen(Box::new(Seen::Pull(pull(url))))));
    let shown = screen(&mut model);
    let panel: Vec<_> = shown.lines().filter(|line| line.contains(['│', '╭', '╰'])).collect();
    insta::assert_snapshot!(panel.join("\n"), @"
    ╭ Pull request #7 ─────────────────────────────────────────────────────────────╮
    │ #7 Upgrade axum                                                              │
    │ open  coppice/rea/axum into main                                             │
    │ https://github.com/o/shop/pull/7                                             │
    │                                                                              │
    │ Two commits.�[2J                                                             │
    ╰ c copies the address  esc closes  ───────────────────────────────────────────╯
    ");
    assert_eq!(press(&mut model, &["c"]), [Request::Copy(url.into())]);
    press(&mut model, &["esc"]);
    assert!(model.overlay.is_none());
    // Whoever writes by then is told, and goes on writing.
    press(&mut model, &["i"]);
    update(&mut model, Msg::Reply(Reply::Seen(Box::new(Seen::Pull(pull(url))))));
    assert!(model.overlay.is_none() && screen(&mut model).contains(url));
}

#[test]
fn a_plan_that_waits_is_read_and_carried_out() {
    let plan = SavedPlan {
        id: "import-k3fgapbq".into(),
        title: "Import the old data".into(),
        path: "/data/plans/p/import-k3fgapbq.md".into(),
        session: Some("k3fgapbq".into()),
        saved_at: NOW - 90_000,
    };
    let mut model = model(NARROW, sessions());
    update(&mut model, Msg::Reply(Reply::Plans(vec![plan.clone()])));
    assert!(screen(&mut model).contains("Import the old data"));
    assert_eq!(press(&mut model, &["enter"]), [Request::Look(Look::Plan(plan.clone()))]);
    let text = "# Import\n\n1. Read\n2. Write".to_owned();
    update(&mut model, Msg::Reply(Reply::Seen(Box::new(Seen::Plan { plan, text }))));
    assert!(screen(&mut model).contains("enter carries it out"));
    let [Request::Create { create, .. }] = &press(&mut model, &["enter"])[..] else { panic!("no task") };
    assert_eq!((create.plan.as_deref(), create.prompt.as_str()), (Some("import-k3fgapbq"), ""));
    assert!(model.overlay.is_none());
    update(&mut model, Msg::Reply(Reply::Plans(vec![])));
    assert!(screen(&mut model).contains("no plan waits in this repository"));
}

#[test]
fn any_prompt_that_waits_is_taken_back() {
    let prompt =
        |number, text: &str| QueuedPrompt { number, text: text.into(), images: vec![], queued_at: NOW - 90_000 };
    let mut model = model(NARROW, sessions());
    model.open_session("runaaaaa");
    let prompts = vec![prompt(2, "and the docs"), prompt(3, "then rest")];
    update(&mut model, Msg::Reply(Reply::Queue { session: "runaaaaa".into(), prompts }));
    let taken = press(&mut model, &["enter"]);
    assert_eq!(taken, [Request::Drop { session: "runaaaaa".into(), number: 2 }]);
}

#[test]
fn what_needs_words_is_begun_in_the_composer() {
    let mut model = model(NARROW, sessions());
    alone(&mut model, Order::Base);
    write(&mut model, "release-2");
    press(&mut model, &["enter"]);
    assert!(screen(&mut model).contains("from release-2"));
    write(&mut model, "half a prompt");
    alone(&mut model, Order::Title);
    let shown = screen(&mut model);
    assert!(shown.contains("half a prompt") && shown.contains("is written where nothing else is"), "{shown}");
}

#[test]
fn a_model_prepares_the_review_that_is_shown_on_request() {
    let prepare = |focus: &str| Request::Review(ReviewAct::Prepare { session: "reaaaaaa".into(), focus: focus.into() });
    asks("/review", &[], &prepare(""));
    asks("/review what if the file is gone", &[], &prepare("what if the file is gone"));
    asks("/prepared", &[], &Request::Look(Look::Prepared("reaaaaaa".into())));
    let mut model = model(WIDE, sessions());
    let seen = |prepared| Msg::Reply(Reply::Seen(Box::new(Seen::Prepared { session: "reaaaaaa".into(), prepared })));
    update(&mut model, seen(None));
    assert!(screen(&mut model).contains("no review is prepared"));
    let text = "Good,\u{1b}[2J but late.".to_owned();
    update(
        &mut model,
        seen(Some(PreparedReview { focus: Some("wording".into()), findings: 2, text, prepared_at: NOW })),
    );
    let shown = screen(&mut model);
    for part in ["The prepared review of reaaaaaa", "Focus: wording", "2 findings among the drafts.", "but late."] {
        assert!(shown.contains(part), "{shown}");
    }
}
