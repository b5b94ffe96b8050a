//! What is news, for whom, and how long it stays.

use super::*;
use crate::api::error::ErrorKind;
use crate::api::session::{Approval, AskedQuestion, Response, Status, TurnError};
use crate::look::sample::{self, NOW};
use crate::tui::model::Focus;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{NARROW, model, press, screen, sessions, write};
use crate::tui::update::update;

fn fact(seq: u64, session: &str, payload: Payload) -> Msg {
    Msg::Fact(Box::new(Event { seq, session: session.into(), at: NOW, v: 1, payload }))
}

fn wants() -> Payload {
    Payload::ApprovalRequested { turn: 1, approval: sample::push() }
}

fn completed(questions: Vec<AskedQuestion>) -> Payload {
    Payload::TurnCompleted { turn: 1, response: Response { answer: "Done.".into(), questions, summary: None } }
}

/// What leaves the terminal for a fact, as `title: body`.
fn told(model: &mut Model, message: Msg) -> Vec<String> {
    let requests = update(model, message);
    let notices = requests.into_iter().filter_map(|request| match request {
        Request::Notify(notice) => Some(format!("{}: {}", notice.title, notice.body)),
        _ => None,
    });
    notices.collect()
}

#[test]
fn what_begins_to_need_the_person_or_ends_is_news() {
    let question = |text: &str| AskedQuestion { text: text.into(), options: vec![] };
    let plan = |text: &str| AskedQuestion { text: text.into(), options: vec!["[A] Approve".into()] };
    let error = TurnError { message: "gone\nfor good".into(), ..sample::failed().last_error.unwrap() };
    let asked = |questions| Payload::QuestionAsked { turn: 1, questions, call: None };
    for (session, payload, expected) in [
        ("runaaaaa", wants(), Some("Rate limiter: wants: run `git push --force origin main`")),
        ("kidaaaaa", wants(), Some("@worker tests for it: wants: run `git push --force origin main`")),
        ("runaaaaa", asked(vec![question("Which port?")]), Some("Rate limiter: asks: Which port?")),
        ("runaaaaa", asked(vec![question("## **Which** port?\n\nText")]), Some("Rate limiter: asks: Which port?")),
        ("runaaaaa", asked(vec![plan("# Port it\n\n1. Read")]), Some("Rate limiter: has a plan: Port it")),
        ("runaaaaa", asked(vec![question("a"), question("b")]), Some("Rate limiter: asks 2 questions")),
        ("runaaaaa", Payload::TurnFailed { turn: 1, error }, Some("Rate limiter: failed: gone")),
        ("runaaaaa", completed(vec![]), Some("Rate limiter: is ready")),
        ("runaaaaa", completed(vec![question("a")]), None),
        ("kidaaaaa", completed(vec![]), None),
        ("nobody", completed(vec![]), None),
        ("runaaaaa", Payload::Archived {}, None),
        ("runaaaaa", Payload::TurnInterrupted { turn: 1, reason: "stopped".into() }, None),
    ] {
        let mut model = model(NARROW, sessions());
        update(&mut model, Msg::Unfocused);
        assert_eq!(told(&mut model, fact(7, session, payload)), expected.into_iter().collect::<Vec<_>>(), "{session}");
    }
}

#[test]
fn a_wish_that_is_decided_leaves_the_screen() {
    let resolved = || Payload::ApprovalResolved { approval: "r1".into(), outcome: "allowed".into(), message: None };
    let interrupted = || Payload::TurnInterrupted { turn: 1, reason: "stopped".into() };
    for (session, end, is_left) in
        [("runaaaaa", resolved(), false), ("runaaaaa", interrupted(), false), ("reaaaaaa", resolved(), true)]
    {
        let mut model = model(NARROW, sessions());
        model.view = View::Settings;
        update(&mut model, fact(7, "runaaaaa", wants()));
        assert!(is_shown(&model));
        update(&mut model, fact(8, session, end));
        assert_eq!(is_shown(&model), is_left, "{session}");
    }
    // What failed is not a wish.
    let mut model = model(NARROW, sessions());
    model.view = View::Settings;
    let error = sample::failed().last_error.unwrap();
    update(&mut model, fact(7, "runaaaaa", Payload::TurnFailed { turn: 1, error }));
    update(&mut model, fact(8, "runaaaaa", resolved()));
    assert!(is_shown(&model));
}

#[test]
fn what_the_person_looks_at_is_no_news() {
    for (window, view, is_told) in [
        (Msg::Focused, View::Sessions, false),
        (Msg::Focused, View::Session("runaaaaa".into()), false),
        (Msg::Focused, View::Review("runaaaaa".into()), false),
        (Msg::Focused, View::Session("askaaaaa".into()), true),
        (Msg::Focused, View::Settings, true),
        (Msg::Unfocused, View::Session("runaaaaa".into()), true),
        (Msg::Unfocused, View::Sessions, true),
    ] {
        let mut model = model(NARROW, sessions());
        update(&mut model, window);
        model.view = view.clone();
        assert_eq!(!told(&mut model, fact(7, "runaaaaa", wants())).is_empty(), is_told, "{view:?}");
        assert_eq!(is_shown(&model), is_told, "{view:?}");
    }
    // A child's need is on the row of its parent.
    let mut model = model(NARROW, sessions());
    update(&mut model, Msg::Focused);
    model.view = View::Session("runaaaaa".into());
    assert_eq!(told(&mut model, fact(7, "kidaaaaa", wants())), Vec::<String>::new());
}

#[test]
fn a_terminal_that_does_not_tell_whether_it_is_in_front_rings_unless_somebody_is_at_the_keys() {
    let (open, other) = (View::Session("runaaaaa".into()), View::Session("askaaaaa".into()));
    for (idle, view, is_told) in [
        (None, View::Sessions, true),
        (None, open.clone(), true),
        (Some(PRESENT), View::Sessions, true),
        (Some(PRESENT), open.clone(), true),
        (Some(PRESENT - 1), View::Sessions, false),
        (Some(PRESENT - 1), open, false),
        (Some(PRESENT - 1), other, true),
    ] {
        let mut model = model(NARROW, sessions());
        if let Some(idle) = idle {
            press(&mut model, &["f1"]);
            model.now += idle;
        }
        model.view = view.clone();
        assert_eq!(!told(&mut model, fact(7, "runaaaaa", wants())).is_empty(), is_told, "{idle:?} {view:?}");
    }
}

#[test]
fn nothing_is_told_twice_and_nothing_old() {
    let mut model = model(NARROW, sessions());
    update(&mut model, Msg::Unfocused);
    assert_eq!(told(&mut model, fact(7, "runaaaaa", wants())).len(), 1);
    update(&mut model, Msg::Lost("gone".into()));
    update(&mut model, Msg::Connected);
    assert_eq!(told(&mut model, fact(7, "runaaaaa", wants())).len(), 0);
    assert_eq!(told(&mut model, fact(8, "runaaaaa", wants())).len(), 1);
    let old = Event { seq: 9, session: "runaaaaa".into(), at: NOW - FRESH - 1, v: 1, payload: wants() };
    assert_eq!(told(&mut model, Msg::Fact(Box::new(old))).len(), 0);
}

#[test]
fn good_news_go_by_themselves_and_bad_news_wait_for_a_key() {
    let mut model = model(NARROW, sessions());
    let failed = |hint: Option<&str>| {
        let error = Error::new(ErrorKind::Conflict, "session `k3f` is running");
        let error = hint.map_or(error.clone(), |hint| error.with_hint(hint));
        Msg::Reply(Reply::Failed { doing: "merge".into(), error })
    };
    update(&mut model, Msg::Reply(Reply::Copied("the answer".into())));
    assert!(is_shown(&model));
    update(&mut model, Msg::Time(NOW + GOOD - 1));
    assert!(is_shown(&model));
    update(&mut model, Msg::Time(NOW + GOOD));
    assert!(!is_shown(&model));

    update(&mut model, failed(Some("stop it first")));
    update(&mut model, Msg::Reply(Reply::Copied("the answer".into())));
    update(&mut model, Msg::Time(NOW + 1_000_000));
    let shown = rows(&model, 80).iter().map(Line::text).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @r"
    ✗ merge: session `k3f` is running
      hint: stop it first
    ");
    press(&mut model, &["f1"]);
    assert!(!is_shown(&model));
}

#[test]
fn what_was_said_about_an_act_is_gone_after_the_next_one() {
    let mut model = model(NARROW, sessions());
    update(&mut model, Msg::Reply(Reply::Copied("the answer".into())));
    press(&mut model, &["j"]);
    assert!(!is_shown(&model));
    // What is typed is no act, and what happens elsewhere was not asked for.
    press(&mut model, &["n"]);
    update(&mut model, Msg::Reply(Reply::Copied("the answer".into())));
    write(&mut model, "words");
    assert!(is_shown(&model));
    press(&mut model, &["esc"]);
    assert!(!is_shown(&model));
    update(&mut model, Msg::Unfocused);
    update(&mut model, fact(7, "runaaaaa", wants()));
    press(&mut model, &["j"]);
    assert!(is_shown(&model));
}

#[test]
fn a_conflict_teaches_the_ways_out() {
    let mut model = model(NARROW, sessions());
    model.view = View::Session("conaaaaa".into());
    let files = ["a.rs", "b.rs", "c.rs", "d\u{1b}[2J.rs"].map(str::to_owned).to_vec();
    update(&mut model, fact(7, "conaaaaa", Payload::Conflict { files: files.clone(), with: "main".into() }));
    let shown = rows(&model, 80).iter().map(Line::text).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @r#"
    ⚑ nothing was merged: Split the config room and main both changed a.rs, b.rs,
    c.rs, …
      hint: main is merged into the worktree, with marks: i writes to the agent,
    such as "resolve the conflict", ! opens a shell there; then m merges
    "#);
    // The keys are about the session in hand, and the line is about a conflict that is there.
    model.view = View::Settings;
    update(&mut model, fact(8, "conaaaaa", Payload::Conflict { files, with: "main".into() }));
    let shown = rows(&model, 80).iter().map(Line::text).collect::<String>();
    assert!(shown.contains("hint: select `conaaaaa` to make the two fit"), "{shown}");
    let resolved = Session { status: Status::Ready, ..model.world.sessions["conaaaaa"].clone() };
    update(&mut model, Msg::Reply(Reply::Session(Box::new(resolved))));
    assert_eq!(height(&model, 80), 0);
}

#[test]
fn hostile_words_stay_on_their_line() {
    let mut model = model(NARROW, sessions());
    model.view = View::Settings;
    let approval = Approval { title: "run\u{1b}[2J \u{202e}x\nsecond".into(), ..sample::push() };
    update(&mut model, fact(7, "runaaaaa", Payload::ApprovalRequested { turn: 1, approval }));
    assert_eq!(height(&model, 80), 1);
    let screen = screen(&mut model);
    assert!(!screen.contains(['\u{1b}', '\u{202e}']), "{screen}");
    for width in 0..12 {
        height(&model, width);
    }
}

#[test]
fn what_is_being_opened_is_told_and_can_be_called_off() {
    let told = |model: &Model| rows(model, 80).iter().map(Line::text).collect::<Vec<_>>().join("\n");
    let mut model = model(NARROW, sessions());
    let asked = press(&mut model, &["!"]);
    assert!(matches!(asked.as_slice(), [Request::Attach { program: Program::Shell, .. }]), "{asked:?}");
    model.now += 3_000;
    assert_eq!(told(&model), " opening a shell… 3s · Esc calls it off");
    // Other keys do what they do; the first Esc is for what would take the terminal.
    press(&mut model, &["n"]);
    write(&mut model, "words");
    assert_eq!(press(&mut model, &["esc"]), [Request::Detach]);
    assert_eq!((told(&model).as_str(), model.focus), ("", Focus::Composer));
    press(&mut model, &["esc"]);
    assert_eq!(model.focus, Focus::Main);
    // It may fail, and it may come.
    press(&mut model, &["o"]);
    let error = Error::new(ErrorKind::Conflict, "a turn runs");
    update(&mut model, Msg::Reply(Reply::Opened(Err(error))));
    assert_eq!(told(&model), " ✗ attach: a turn runs");
    press(&mut model, &["o"]);
    update(&mut model, Msg::Reply(Reply::Opened(Ok(()))));
    assert_eq!(told(&model), "");
}

#[test]
fn a_merge_that_hooks_stopped_names_the_keys_that_turn_them_off() {
    let mut model = model(NARROW, sessions());
    let output: Vec<_> = (1..=30).map(|number| format!("src/{number}.rs: unused import")).collect();
    let hint = "fix what the hook reports, or have the agent fix it: `coppice merge abcd2345 --fix-hooks`; or merge \
                without hooks: `coppice merge abcd2345 --no-verify`; hooks find ignored files only if `worktree.link` \
                names them";
    let error = Error::new(ErrorKind::Failed, "the hook `pre-commit` stopped the merge").with_hint(hint);
    let error = Error { causes: vec![output[..3].join("\n")], ..error };
    update(&mut model, Msg::Reply(Reply::Failed { doing: "merge".into(), error: error.clone() }));
    let shown = |model: &Model| rows(model, 80).iter().map(Line::text).collect::<Vec<_>>();
    let told = shown(&model);
    assert_eq!(told[0], " ✗ merge: the hook `pre-commit` stopped the merge");
    assert_eq!(told[1..4], [1, 2, 3].map(|number| format!("   src/{number}.rs: unused import")));
    assert!(
        told[4..]
            .concat()
            .starts_with("   hint: fix what the hook reports, or have the agent fix it: `m, then f, then y`; "),
        "{told:?}"
    );
    // Of a longer output the end is shown, where the reason is.
    let error = Error { causes: vec![output.join("\n")], ..error };
    update(&mut model, Msg::Reply(Reply::Failed { doing: "merge".into(), error }));
    let shown = shown(&model).join("\n");
    assert!(shown.contains("src/30.rs") && shown.contains("lines above") && !shown.contains("src/1.rs"), "{shown}");
    assert!(shown.contains("merge without hooks: `m, then v, then"), "{shown}");
}
