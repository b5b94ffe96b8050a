//! The first line and the last, at every width.

use super::*;
use crate::api::event::{Event, Payload};
use crate::api::handoff::{Handoff, HandoffStatus};
use crate::api::session::{Sandbox, Session, Status, Usage};
use crate::look::sample::{self as look, NOW};
use crate::tui::keymap::{Action, Context};
use crate::tui::msg::{Msg, Reach, Reply, Request};
use crate::tui::sample::{WIDE, model, press, screen, sessions};
use crate::tui::update::update;

fn first(model: &Model, width: u16) -> String {
    let mut line = String::new();
    for (x, part) in placed(model, width) {
        let gap = usize::from(x).checked_sub(Line::new().plain(&*line).width()).expect("parts do not overlap");
        line.push_str(&" ".repeat(gap));
        line.push_str(&part.line.text());
    }
    line
}

fn spending() -> Vec<Session> {
    let usage = Usage { input_tokens: 200_000, output_tokens: 6_000, cost_usd: Some(0.92) };
    let mut all = sessions();
    all.truncate(4);
    all.iter_mut().take(2).for_each(|session| session.usage = usage.clone());
    all
}

#[test]
fn what_matters_least_leaves_the_first_line_first() {
    let model = model(WIDE, spending());
    let lines: Vec<_> =
        [110, 100, 90, 80, 70, 60, 50, 40, 30, 20].into_iter().map(|width| first(&model, width)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
     coppice  shop  main ↑2  [Sessions]  Settings              2 running · 2 need you · 412k tok · $1.84   ? help
     coppice  shop  main ↑2  [Sessions]  Settings    2 running · 2 need you · 412k tok · $1.84   ? help
     coppice  shop  main ↑2  [Sessions]  Settings     2 running · 2 need you · $1.84   ? help
     coppice  shop  main ↑2  [Sessions]  Settings   2 running · 2 need you   ? help
     coppice  shop  [Sessions]  Settings  2 running · 2 need you   ? help
     coppice  shop              2 running · 2 need you   ? help
     coppice  shop    2 running · 2 need you   ? help
     coppice  shop  2 running · 2 need you
     coppice          2 need you
            2 need you
    ");
}

#[test]
fn the_first_line_fits_into_any_width() {
    let mut model = model(WIDE, spending());
    for lost in [false, true] {
        if lost {
            update(&mut model, Msg::Lost("gone".into()));
        }
        for width in 1..200 {
            assert!(Line::new().plain(first(&model, width)).width() <= usize::from(width), "{width}");
        }
    }
}

#[test]
fn what_is_wrong_with_the_daemon_is_said_and_what_helps() {
    let gone = || Msg::Lost("gone".into());
    for (messages, expected) in [
        (vec![gone()], Some("lost the daemon 0s ago, reconnecting")),
        (vec![Msg::Stopped], Some("the daemon was stopped, ⌃L starts it")),
        // One that was stopped on purpose is not expected back.
        (vec![Msg::Stopped, gone()], Some("the daemon was stopped, ⌃L starts it")),
        (vec![Msg::Stopped, gone(), Msg::Connected], None),
        (vec![Msg::Silent { since: NOW - 3_000 }], Some("the daemon does not answer, 3s so far")),
        (vec![Msg::Silent { since: NOW - 3_000 }, Msg::Answers], None),
        (vec![gone(), Msg::Answers], Some("lost the daemon 0s ago, reconnecting")),
        (vec![gone(), Msg::Silent { since: NOW }], Some("lost the daemon 0s ago, reconnecting")),
    ] {
        let mut model = model(WIDE, spending());
        for message in messages.clone() {
            update(&mut model, message);
        }
        assert_eq!(link(&model).map(|line| line.text()).as_deref(), expected, "{messages:?}");
    }
    let mut model = model(WIDE, spending());
    assert_eq!(press(&mut model, &["ctrl+l"]), [Request::Redraw]);
    update(&mut model, Msg::Stopped);
    assert_eq!(press(&mut model, &["ctrl+l"]), [Request::Redraw, Request::List]);
}

#[test]
fn a_branch_says_how_far_it_is_from_its_upstream() {
    let mut model = model(WIDE, vec![]);
    for (ahead, behind, signs, expected) in [
        (0, 0, Signs::Unicode, "main"),
        (2, 0, Signs::Unicode, "main ↑2"),
        (2, 31, Signs::Unicode, "main ↑2 ↓31"),
        (0, 1, Signs::Ascii, "main -1"),
    ] {
        (model.world.repository.ahead, model.world.repository.behind, model.signs) = (ahead, behind, signs);
        assert_eq!(branch(&model).unwrap().text(), expected);
    }
    model.world.repository.branch = None;
    assert_eq!(branch(&model), None);
}

#[test]
fn a_click_on_the_first_line_hits_what_is_written_there() {
    let model = model(WIDE, spending());
    let line = first(&model, model.size.width);
    let column = |word: &str| u16::try_from(line[..line.find(word).unwrap()].chars().count()).unwrap();
    for (word, expected) in [
        ("coppice", None),
        ("[Sessions]", Some(Spot::Sessions)),
        ("Settings", Some(Spot::Settings)),
        ("need you", Some(Spot::Needs)),
        ("? help", Some(Spot::Help)),
    ] {
        assert_eq!(spot(&model, column(word)), expected, "{word}");
    }
}

#[test]
fn no_hint_is_cut() {
    let mut model = model(WIDE, sessions());
    for keys in [&[][..], &["G"], &["f"]] {
        press(&mut model, keys);
        let all: Vec<_> = hint::hints(&model).map(|(key, does)| format!("{key} {does}")).collect();
        for width in 0..160 {
            let line = hint::line(&model, width).text();
            assert!(Line::new().plain(&*line).width() <= width.max(1), "{width}: {line}");
            let shown = line.replace("sandbox enforced", "");
            let count = all.iter().take_while(|hint| shown.contains(hint.as_str())).count();
            assert_eq!(shown.trim(), all[..count].join("  "), "{width}");
        }
    }
}

fn hints(model: &Model) -> Vec<String> {
    hint::hints(model).map(|(key, does)| format!("{key} {does}")).collect()
}

#[test]
fn what_is_written_decides_what_sending_means() {
    let mut model = model(WIDE, vec![look::session(Status::Running)]);
    press(&mut model, &["n"]);
    assert_eq!(hints(&model)[..2], ["⏎ send", "Shift+⏎ new line"]);
    assert!(!hint::line(&model, 120).text().contains("sandbox"), "the session below is not meant");
    press(&mut model, &["esc", "i"]);
    assert_eq!(hints(&model)[..2], ["⏎ queue", "Alt+⏎ interrupt and send"]);
}

#[test]
fn marking_is_offered_where_several_can_be_chosen() {
    for (keys, expected) in [("M", true), ("ctrl+p", false)] {
        let mut model = model(WIDE, sessions());
        update(&mut model, Msg::Reply(Reply::Backends(vec![look::backend("claude"), look::backend("codex")])));
        press(&mut model, &[keys]);
        assert_eq!(model.context(), Context::Picker);
        assert_eq!(hints(&model).contains(&"⌃X mark".to_owned()), expected, "{keys}");
    }
}

#[test]
fn the_row_of_a_child_offers_what_can_be_done_with_it() {
    for (status, expected) in
        [(HandoffStatus::Running, &["⏎ open"][..]), (HandoffStatus::Completed, &["⏎ open", "r reuse its result"])]
    {
        let mut model = model(WIDE, sessions());
        model.open_session("runaaaaa");
        let handoff = Handoff { child_session_id: "kidaaaaa".into(), status, ..look::handoff() };
        let payload =
            Payload::HandoffUpdated { handoff: Box::new(handoff), text: String::new(), is_final: status.is_final() };
        let event = Event { seq: 1, session: "runaaaaa".into(), at: look::NOW, v: 1, payload };
        let page = Reply::Page { session: "runaaaaa".into(), events: vec![event], reach: Reach::Start };
        update(&mut model, Msg::Reply(page));
        screen(&mut model);
        let before = hints(&model);
        press(&mut model, &["["]);
        assert_eq!(
            hints(&model),
            [&expected.iter().map(|&hint| hint.to_owned()).collect::<Vec<_>>()[..], &before].concat()
        );
    }
}

#[test]
fn every_hint_has_a_key() {
    let model = model(WIDE, sessions());
    for context in Context::ALL {
        for (_, action, does) in hint::acts(context) {
            assert!(hint::key(&model, context, *action).is_some(), "{context:?} {action:?} {does}");
        }
    }
}

#[test]
fn the_last_line_says_how_well_the_agent_is_held() {
    let off = Sandbox { level: "off".into(), enforced: false, note: None };
    let held = look::session(Status::Ready).sandbox;
    for (yolo, sandbox, width, expected) in [
        (false, held.clone(), 100, "sandbox enforced"),
        (false, held.clone(), 40, ""),
        (false, off.clone(), 40, "sandbox advisory"),
        (true, held, 40, "YOLO"),
        (true, off, 100, "YOLO sandbox advisory"),
    ] {
        let model = model(WIDE, vec![Session { yolo, sandbox, ..look::session(Status::Ready) }]);
        let line = hint::line(&model, width).text();
        assert!(line.trim_end().ends_with(expected) && (!expected.is_empty() || !line.contains("sandbox")), "{line}");
    }
}

#[test]
fn keys_are_spelled_as_on_a_keyboard() {
    let mut model = model(WIDE, vec![]);
    for (context, action, unicode, ascii) in [
        (Context::Sessions, Action::Open, "⏎", "Enter"),
        (Context::Sessions, Action::NextNeed, "Space", "Space"),
        (Context::Session, Action::Parent, "⌫", "Backspace"),
        (Context::Sessions, Action::PreviousTab, "Shift+Tab", "Shift+Tab"),
        (Context::Composer, Action::SendNow, "Alt+⏎", "Alt+Enter"),
        (Context::Session, Action::Search, "⌃S", "^S"),
        (Context::Sessions, Action::Bottom, "G", "G"),
    ] {
        for (signs, expected) in [(Signs::Unicode, unicode), (Signs::Ascii, ascii)] {
            model.signs = signs;
            assert_eq!(key(&model, context, action).as_deref(), Some(expected));
        }
    }
    assert_eq!(key(&model, Context::Help, Action::Demo), None);
}
