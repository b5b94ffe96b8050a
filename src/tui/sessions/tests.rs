//! The list as keys and sessions change it.

use proptest::prelude::*;
use ratatui::layout::Size;

use super::order::{Branch, Row};
use crate::api::session::{Approval, Session, Status, WaitingFor};
use crate::look::sample as look;
use crate::tui::keymap::Context;
use crate::tui::model::{Model, View};
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{NARROW, WIDE, model, press, screen, sessions, write};
use crate::tui::update::update;

mod screens;

/// The list in short: headings, and ids below each other with their depth.
fn listed(model: &Model) -> String {
    let short = |row: &Row| match row {
        Row::Heading(group) => group.heading().to_owned(),
        Row::Session(place) => {
            let sign = |branch: &Branch| match branch {
                Branch::GoesOn => '+',
                Branch::Ends => '-',
            };
            let guide: String = place.branches.iter().map(sign).collect();
            let folded = if place.folded > 0 { format!("({})", place.folded) } else { String::new() };
            format!("{guide}{}{folded}", &place.id[..3])
        }
    };
    model.sessions.rows.iter().map(short).collect::<Vec<_>>().join(" ")
}

fn selected(model: &Model) -> &str {
    model.sessions.selected().map_or("none", |id| &id[..3])
}

fn known(model: &mut Model, session: Session) {
    update(model, Msg::Reply(Reply::Session(Box::new(session))));
}

fn named(id: &str, status: Status) -> Session {
    Session { id: id.into(), ..look::session(status) }
}

/// A family: a root, two children, a grandchild.
pub(super) fn family(grandchild: Status) -> Vec<Session> {
    let below = |id: &str, parent: &str, status| Session {
        parent: Some(parent.into()),
        agent: Some("worker".into()),
        ..named(id, status)
    };
    vec![
        named("other", Status::Running),
        named("root1", Status::Running),
        below("kid11", "root1", Status::Running),
        below("kid12", "root1", Status::Ready),
        below("low11", "kid11", grandchild),
    ]
}

#[test]
fn those_that_need_the_person_stand_first() {
    let mut model = model(WIDE, sessions());
    assert_eq!(listed(&model), "NEEDS YOU app ask con fai RUNNING run -kid que READY rea INTERRUPTED int");
    press(&mut model, &["z"]);
    assert!(listed(&model).ends_with("INTERRUPTED int RESTING mer"));
    press(&mut model, &["t"]);
    assert_eq!(listed(&model), "NEEDS YOU app ask con fai RUNNING kid run que READY rea INTERRUPTED int RESTING mer");
}

#[test]
fn a_child_that_waits_lifts_its_root() {
    for (grandchild, expected) in [
        (Status::Running, "RUNNING oth roo +kid +-low -kid"),
        (Status::Approval, "NEEDS YOU roo +kid +-low -kid RUNNING oth"),
        (Status::Asking, "NEEDS YOU roo +kid +-low -kid RUNNING oth"),
        (Status::Failed, "NEEDS YOU roo +kid +-low -kid RUNNING oth"),
        (Status::Merged, "RUNNING oth roo +kid -kid"),
    ] {
        assert_eq!(listed(&model(WIDE, family(grandchild))), expected, "{grandchild:?}");
    }
}

#[test]
fn a_root_that_rests_is_seen_while_somebody_below_works() {
    let mut all = family(Status::Running);
    all[1].status = Status::Merged;
    assert_eq!(listed(&model(WIDE, all)), "RUNNING oth roo +kid +-low -kid");
}

#[test]
fn a_circle_of_parents_is_a_list() {
    let of = |id: &str, parent: &str| Session { parent: Some(parent.into()), ..named(id, Status::Ready) };
    let all = vec![of("aaa", "bbb"), of("bbb", "aaa"), of("ccc", "aaa"), of("ddd", "nobody")];
    assert_eq!(listed(&model(WIDE, all)), "READY aaa bbb ccc ddd");
}

#[test]
fn keys_move_the_cursor() {
    for (keys, expected) in [
        (&[][..], "app"),
        (&["k"], "app"),
        (&["j"], "ask"),
        (&["j", "j", "j", "j"], "run"),
        (&["down", "up"], "app"),
        (&["G"], "int"),
        (&["G", "j"], "int"),
        (&["G", "k"], "rea"),
        (&["G", "g"], "app"),
        (&["pagedown"], "int"),
        (&["pagedown", "pageup"], "app"),
        (&["space"], "ask"),
        (&["space", "space", "space"], "fai"),
        (&["space", "space", "space", "space"], "app"),
        (&["G", "space"], "app"),
        (&["j", "t"], "ask"),
        (&["z", "G"], "mer"),
        (&["z", "G", "z"], "int"),
    ] {
        let mut model = model(WIDE, sessions());
        screen(&mut model);
        press(&mut model, keys);
        assert_eq!(selected(&model), expected, "{keys:?}");
    }
}

#[test]
fn children_fold_and_unfold() {
    for (keys, cursor, rows) in [
        (&["j"][..], "roo", "RUNNING oth roo +kid +-low -kid"),
        (&["j", "h"], "roo", "RUNNING oth roo(2)"),
        (&["j", "h", "h"], "roo", "RUNNING oth roo(2)"),
        (&["j", "h", "l"], "roo", "RUNNING oth roo +kid +-low -kid"),
        (&["j", "j"], "kid", "RUNNING oth roo +kid +-low -kid"),
        (&["j", "j", "h"], "kid", "RUNNING oth roo +kid(1) -kid"),
        (&["j", "j", "h", "h"], "roo", "RUNNING oth roo +kid(1) -kid"),
        (&["G", "h"], "roo", "RUNNING oth roo +kid +-low -kid"),
    ] {
        let mut model = model(WIDE, family(Status::Running));
        press(&mut model, keys);
        assert_eq!((selected(&model), listed(&model).as_str()), (cursor, rows), "{keys:?}");
    }
}

#[test]
fn a_session_that_waits_is_gone_into_without_deciding() {
    for keys in [&["l"], &["right"]] {
        let mut model = model(WIDE, sessions());
        press(&mut model, keys);
        assert_eq!(model.view, View::Session("appaaaaa".into()), "{keys:?}");
        assert!(model.overlay.is_none(), "{keys:?}");
    }
}

#[test]
fn a_fold_hides_nobody_who_waits() {
    let mut model = model(WIDE, family(Status::Approval));
    press(&mut model, &["h"]);
    assert_eq!(listed(&model), "NEEDS YOU roo(1) -kid --low RUNNING oth");
}

#[test]
fn enter_decides_what_waits_and_opens_the_rest() {
    let mut calm = model(WIDE, vec![named("aaa", Status::Ready)]);
    press(&mut calm, &["enter"]);
    assert_eq!(calm.view, View::Session("aaa".into()));
    let mut failed = model(WIDE, vec![look::failed()]);
    press(&mut failed, &["enter"]);
    assert_eq!(failed.view, View::Session("abcd2345".into()));
    let mut waiting = model(WIDE, vec![look::approval()]);
    press(&mut waiting, &["enter"]);
    assert_eq!(waiting.view, View::Sessions);
}

#[test]
fn the_cursor_follows_its_session() {
    let mut model = model(WIDE, sessions());
    press(&mut model, &["G"]);
    let id = model.sessions.selected().unwrap().to_owned();
    known(&mut model, Session { title: "API docs".into(), ..named(&id, Status::Running) });
    assert_eq!((selected(&model), listed(&model).ends_with("READY rea")), ("int", true));
    update(&mut model, Msg::Reply(Reply::Gone(id)));
    assert!(model.sessions.index().is_some());
}

#[test]
fn what_only_moves_on_stays_in_its_place() {
    let mut model = model(WIDE, sessions());
    let before = listed(&model);
    for (later, id) in ["runaaaaa", "kidaaaaa", "askaaaaa", "reaaaaaa"].into_iter().enumerate() {
        let session = model.world.sessions[id].clone();
        known(&mut model, Session { updated_at: session.updated_at + 1_000 + later as i64, ..session });
        assert_eq!(listed(&model), before);
    }
}

#[test]
fn the_row_of_the_cursor_stays_where_it_is_on_the_screen() {
    let size = Size { width: 120, height: 14 };
    let mut model = model(size, (10..60).map(|number| named(&format!("s{number}"), Status::Running)).collect());
    press(&mut model, &["G", "k", "k"]);
    let line = |model: &mut Model| {
        screen(model);
        model.sessions.index().unwrap() - model.sessions.pane.first
    };
    let before = line(&mut model);
    known(&mut model, named("ask", Status::Asking));
    assert_eq!((line(&mut model), selected(&model)), (before, "s57"));
}

#[test]
fn the_filter_finds_and_is_cleared() {
    let typed = |model: &mut Model, text: &str| {
        press(model, &["j", "f"]);
        write(model, text);
    };
    let mut found = model(WIDE, sessions());
    typed(&mut found, "upgr");
    assert_eq!((listed(&found).as_str(), found.context()), ("RUNNING que READY rea", Context::Filter));
    press(&mut found, &["enter"]);
    assert_eq!((listed(&found).as_str(), found.context()), ("RUNNING que READY rea", Context::Sessions));
    press(&mut found, &["j"]);
    assert_eq!(selected(&found), "rea");
    press(&mut found, &["esc"]);
    assert_eq!((selected(&found), found.sessions.is_filtered()), ("rea", false));

    let mut nothing = model(WIDE, sessions());
    typed(&mut nothing, "####");
    assert_eq!((listed(&nothing).as_str(), selected(&nothing)), ("", "none"));
    press(&mut nothing, &["backspace", "backspace", "backspace", "backspace"]);
    assert_eq!(selected(&nothing), "ask");
    write(&mut nothing, "a b");
    press(&mut nothing, &["ctrl+w", "ctrl+u", "enter"]);
    assert!(!nothing.sessions.is_filtered());
}

#[test]
fn a_child_is_found_below_its_parent() {
    let mut model = model(WIDE, sessions());
    press(&mut model, &["f"]);
    write(&mut model, "worker");
    assert_eq!(listed(&model), "RUNNING run -kid");
}

#[test]
fn space_goes_to_who_really_waits_from_anywhere() {
    let mirrored = Approval { session: Some("kid11".into()), agent: Some("worker".into()), ..look::push() };
    let mut all = family(Status::Running);
    all[1] = Session { waiting_for: Some(WaitingFor::Approval), approvals: vec![mirrored], ..all[1].clone() };
    all[2] = Session { parent: Some("root1".into()), id: "kid11".into(), ..look::approval() };
    all.push(named("zzfai", Status::Failed));
    let mut model = model(WIDE, all);
    assert_eq!(super::waiting(&model.world), 2);
    press(&mut model, &["space"]);
    assert_eq!(selected(&model), "kid");
    press(&mut model, &["f"]);
    write(&mut model, "'other");
    press(&mut model, &["enter", "space"]);
    assert_eq!((selected(&model), model.sessions.is_filtered()), ("kid", false));
    let open = |id: &str| View::Session(id.into());
    model.open_session("other");
    for expected in ["kid11", "zzfai", "kid11"] {
        press(&mut model, &["space"]);
        assert_eq!((&model.view, model.sessions.selected()), (&open(expected), Some(expected)));
    }
}

#[test]
fn what_needs_a_person_is_counted_as_the_inbox_does() {
    let interrupted = Session {
        waiting_for: Some(WaitingFor::Approval),
        approvals: vec![look::push(), Approval { id: "r2".into(), ..look::push() }],
        needs: 2,
        ..named("expired", Status::Interrupted)
    };
    // Whoever delegated was told that this one failed.
    let told = Session { needs: 0, ..named("kid12", Status::Failed) };
    let mut all = family(Status::Running);
    all[3] = Session { parent: Some("root1".into()), ..told };
    all.extend([interrupted, named("confl", Status::Conflict), named("intrr", Status::Interrupted)]);
    let mut model = model(WIDE, all);
    assert_eq!(listed(&model), "NEEDS YOU exp con RUNNING oth roo +kid +-low -kid INTERRUPTED int");
    press(&mut model, &["enter"]);
    let shown = screen(&mut model);
    assert!(shown.contains("3 need you") && shown.contains("1 of 3 waiting"), "{shown}");
    // A call that waits says so, also when its turn was interrupted.
    press(&mut model, &["esc", "l"]);
    let shown = screen(&mut model);
    assert!(shown.contains("◆ approval: 2 approvals wait") && !shown.contains("‖ interrupted"), "{shown}");
}

#[test]
fn a_tree_in_which_only_a_child_stopped_stands_below_what_waits_and_says_why() {
    let answered = Session { changes: Default::default(), ..named("root1", Status::Ready) };
    let failed = Session { parent: Some("root1".into()), ..named("kid11", Status::Failed) };
    let waits = Session { created_at: look::NOW - 90_000_000, ..Session { id: "waits".into(), ..look::approval() } };
    let mut model = model(WIDE, vec![answered, failed, waits]);
    assert_eq!(listed(&model), "NEEDS YOU wai roo -kid");
    let shown = screen(&mut model);
    assert!(shown.contains("child needs") && !shown.contains("answered"), "{shown}");
}

#[test]
fn tab_moves_between_tabs_in_the_list() {
    let mut model = model(WIDE, sessions());
    model.view = View::Settings;
    assert!(screen(&mut model).lines().next().unwrap().contains("Sessions  [Settings]"));
    press(&mut model, &["tab"]);
    assert!(screen(&mut model).lines().next().unwrap().contains("[Sessions]  Settings"));
}

const KEYS: [&str; 24] = [
    "j",
    "k",
    "h",
    "l",
    "g",
    "G",
    "pageup",
    "pagedown",
    "space",
    "t",
    "z",
    "f",
    "esc",
    "enter",
    "backspace",
    "tab",
    "a",
    "y",
    "u",
    "1",
    "up",
    "down",
    "n",
    "i",
];

#[derive(Debug, Clone)]
enum Happens {
    Key(&'static str),
    Known { id: u8, parent: Option<u8>, status: usize },
    Gone(u8),
    Wheel { column: u16, row: u16, notch: crossterm::event::MouseEventKind },
    Resize(Size),
}

fn happens() -> impl Strategy<Value = Happens> {
    use crossterm::event::{MouseButton, MouseEventKind};
    let mouse = prop_oneof![
        Just(MouseEventKind::ScrollUp),
        Just(MouseEventKind::ScrollDown),
        Just(MouseEventKind::Down(MouseButton::Left)),
    ];
    let id = 0u8..12;
    prop_oneof![
        4 => (0..KEYS.len()).prop_map(|key| Happens::Key(KEYS[key])),
        3 => (id.clone(), proptest::option::of(id.clone()), 0..Status::ALL.len())
            .prop_map(|(id, parent, status)| Happens::Known { id, parent, status }),
        1 => id.prop_map(Happens::Gone),
        1 => (0u16..140, 0u16..40, mouse).prop_map(|(column, row, notch)| Happens::Wheel { column, row, notch }),
        1 => (20u16..140, 5u16..40).prop_map(|(width, height)| Happens::Resize(Size { width, height })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_cursor_stands_on_a_row(all in proptest::collection::vec(happens(), 1..60)) {
        let mut model = model(NARROW, sessions());
        for (number, happens) in all.into_iter().enumerate() {
            match happens {
                Happens::Key(key) => drop(press(&mut model, &[key])),
                Happens::Known { id, parent, status } => known(&mut model, Session {
                    parent: parent.map(|parent| format!("p{parent:07}")),
                    ..named(&format!("p{id:07}"), Status::ALL[status])
                }),
                Happens::Gone(id) => drop(update(&mut model, Msg::Reply(Reply::Gone(format!("p{id:07}"))))),
                Happens::Wheel { column, row, notch } => drop(update(&mut model, Msg::Mouse(crossterm::event::MouseEvent {
                    kind: notch,
                    column,
                    row,
                    modifiers: crossterm::event::KeyModifiers::NONE,
                }))),
                Happens::Resize(size) => drop(update(&mut model, Msg::Resize(size))),
            }
            if number % 4 == 0 {
                screen(&mut model);
            }
            let rows = model.sessions.rows.iter().filter(|row| row.id().is_some()).count();
            prop_assert_eq!(model.sessions.index().is_some(), rows > 0);
            prop_assert_eq!(model.sessions.selected().is_some(), rows > 0);
        }
    }
}

#[test]
fn a_restored_session_stands_under_the_cursor() {
    for (keys, expected) in [(&[][..], "resaaaaa"), (&["G"], "intaaaaa")] {
        let mut model = model(WIDE, sessions());
        super::expect(&mut model, "resaaaaa");
        press(&mut model, keys);
        let restored = Session { id: "resaaaaa".into(), ..look::session(Status::Ready) };
        let done = Reply::Done { said: "restored".into(), session: Some(Box::new(restored)) };
        update(&mut model, Msg::Reply(done));
        assert_eq!(model.sessions.selected(), Some(expected));
    }
}

#[test]
fn a_plan_that_waits_is_called_so_and_reads_as_on_its_card() {
    let mut session = look::asking();
    session.questions.truncate(1);
    session.questions[0].purpose = Some("planner_plan_decision".into());
    session.questions[0].text = "# Port to edition 2024\n\nRuns `cargo fix` first.".into();
    let mut model = model(WIDE, vec![session]);
    let screen = screen(&mut model);
    assert!(screen.contains("Port to edition 2024") && screen.contains("Runs cargo fix first."), "{screen}");
    assert!(!screen.contains("# Port") && !screen.contains('`'), "{screen}");
}

#[test]
fn the_session_that_was_open_stands_under_the_cursor() {
    for (what, keys, open, expected) in [
        ("left by escape", &["esc"][..], "kid12", "kid"),
        ("left to the parent and on", &["backspace", "backspace"], "kid12", "roo"),
        ("a filter that hides it", &["esc"], "other", "oth"),
    ] {
        let mut model = model(WIDE, family(Status::Running));
        press(&mut model, &["f"]);
        write(&mut model, "kid");
        press(&mut model, &["enter", "g"]);
        model.open_session(open);
        press(&mut model, keys);
        assert_eq!(model.view, View::Sessions, "{what}");
        assert_eq!(selected(&model), expected, "{what}");
    }
    // What is folded away is found at its parent, and what is gone from the list moves no cursor.
    let mut model = model(WIDE, family(Status::Running));
    model.sessions.folded.insert("root1".into());
    super::settle(&mut model);
    model.open_session("kid12");
    press(&mut model, &["esc"]);
    assert_eq!(selected(&model), "roo");
    model.open_session("root1");
    update(&mut model, Msg::Reply(Reply::Gone("root1".into())));
    press(&mut model, &["esc"]);
    assert_ne!(selected(&model), "none");
}

#[test]
fn a_child_that_is_not_listed_any_more_leaves_the_cursor_at_its_parent() {
    let mut model = model(WIDE, family(Status::Running));
    super::select(&mut model, "kid12");
    assert_eq!(selected(&model), "kid");
    model.sessions.folded.insert("root1".into());
    super::settle(&mut model);
    assert_eq!(selected(&model), "roo");
}

#[test]
fn what_was_merged_stays_under_the_cursor_until_the_cursor_leaves_it() {
    let mut model = model(WIDE, vec![named("first", Status::Ready), named("other", Status::Ready)]);
    super::select(&mut model, "first");
    let merged = || Session { updated_at: look::NOW, ..named("first", Status::Merged) };
    update(&mut model, Msg::Reply(Reply::Session(Box::new(merged()))));
    assert_eq!(listed(&model), "READY oth RESTING fir");
    assert_eq!(selected(&model), "fir");
    update(&mut model, Msg::Reply(Reply::Merged(Box::new(merged()))));
    assert_eq!((listed(&model).as_str(), selected(&model)), ("READY oth RESTING fir", "fir"));
    press(&mut model, &["k"]);
    assert_eq!((listed(&model).as_str(), selected(&model)), ("READY oth", "oth"));
    // What is hidden on purpose goes from under the cursor too.
    press(&mut model, &["z", "G"]);
    assert_eq!(selected(&model), "fir");
    press(&mut model, &["z"]);
    assert_eq!((listed(&model).as_str(), selected(&model)), ("READY oth", "oth"));
}

#[test]
fn what_blocks_an_agent_comes_before_what_failed() {
    let mut all = family(Status::Failed);
    let waits = Session { id: "wants".into(), created_at: 0, ..look::approval() };
    all.push(waits);
    let mut model = model(WIDE, all);
    // The failed one stands below it, although its family is younger.
    assert_eq!(listed(&model), "NEEDS YOU wan roo +kid +-low -kid RUNNING oth");
    press(&mut model, &["G", "space"]);
    assert_eq!(selected(&model), "wan");
    press(&mut model, &["space"]);
    assert_eq!(selected(&model), "low");
}
