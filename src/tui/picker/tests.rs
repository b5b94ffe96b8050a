//! Keys in, choices out.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;

use super::*;
use crate::api::request::SetPosture;
use crate::api::session::Status;
use crate::look::sample::session;
use crate::tui::composer::in_force;
use crate::tui::composer::tests::{equipped, writing_to};
use crate::tui::model::View;
use crate::tui::msg::{Msg, Reply};
use crate::tui::sample::{self, NARROW, WIDE, press, write};
use crate::tui::update::update;

/// The list by itself: what lies below is not its business.
fn shown(model: &Model) -> String {
    let Some(Overlay::Picker(state)) = &model.overlay else { return String::new() };
    let mut terminal = Terminal::new(TestBackend::new(model.size.width, model.size.height)).unwrap();
    terminal.draw(|frame| view(model, state, frame, frame.area())).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..model.size.height).map(|y| {
        let row: String = (0..model.size.width).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.filter(|row| !row.is_empty()).collect::<Vec<_>>().join("\n")
}

fn labels(model: &mut Model) -> Vec<String> {
    let Some(state) = state(model) else { return vec![] };
    state.shown.iter().map(|index| state.rows[*index].label.clone()).collect()
}

fn under_the_cursor(model: &mut Model) -> Option<String> {
    state(model)?.current().map(|row| row.label.clone())
}

#[test]
fn names_and_beginnings_come_before_letters_in_prose() {
    for (query, expected) in [
        ("theme", "settings: theme, notices, defaults"),
        ("rm", "remove the session; `restore` brings it back"),
        ("stop", "stop the turn; what it changed is kept"),
        ("/diff", "look at the changes"),
        ("se", "search the transcript"),
        ("plan", "plan first: read, write a plan, ask"),
        ("all", "show or hide what is merged or archived"),
    ] {
        let mut model = equipped(WIDE);
        press(&mut model, &["ctrl+p"]);
        write(&mut model, query);
        assert_eq!(under_the_cursor(&mut model).as_deref(), Some(expected), "{query}: {:?}", labels(&mut model));
    }
}

#[test]
fn a_model_is_chosen_in_two_steps_among_what_can_run() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    write(&mut model, "/model");
    press(&mut model, &["enter"]);
    assert_eq!(labels(&mut model), ["claude", "codex"]);
    assert_eq!(under_the_cursor(&mut model).as_deref(), Some("claude"));
    press(&mut model, &["enter"]);
    assert_eq!(labels(&mut model), ["opus", "sonnet"]);
    assert_eq!(under_the_cursor(&mut model).as_deref(), Some("opus"));
    write(&mut model, "son");
    press(&mut model, &["enter"]);
    assert!(model.overlay.is_none());
    assert_eq!(in_force(&model, &Target::Task).engines, ["claude/sonnet"]);
    press(&mut model, &["esc", "M", "enter"]);
    assert_eq!(under_the_cursor(&mut model).as_deref(), Some("sonnet"));
}

#[test]
fn the_effective_level_is_preselected() {
    let with = |reasoning: Option<&str>| Session {
        id: "runaaaaa".into(),
        reasoning: reasoning.map(ToOwned::to_owned),
        ..session(Status::Running)
    };
    for (reasoning, chosen, expected) in
        [(None, None, "high"), (Some("low"), None, "low"), (Some("low"), Some("medium"), "medium")]
    {
        let mut model = writing_to("runaaaaa");
        update(&mut model, Msg::Reply(Reply::Session(Box::new(with(reasoning)))));
        if let Some(level) = chosen {
            composer::choose_reasoning(&mut model, level.to_owned());
        }
        write(&mut model, "/reasoning");
        press(&mut model, &["enter"]);
        assert_eq!(under_the_cursor(&mut model).as_deref(), Some(expected));
    }
}

#[test]
fn only_levels_that_the_model_takes_are_offered() {
    let mut model = equipped(WIDE);
    reasoning(&mut model);
    assert_eq!(labels(&mut model), ["low", "high"]);
    composer::choose_models(&mut model, vec!["codex".into()]);
    reasoning(&mut model);
    assert_eq!(labels(&mut model), ["low", "medium", "high", "xhigh"]);
}

#[test]
fn several_models_are_marked_for_a_task_and_not_for_a_session() {
    for (keys, expected) in [
        (&["space", "space", "enter"][..], &["claude", "codex"][..]),
        (&["ctrl+x", "up", "ctrl+x", "enter"], &["codex"]),
        (&["space", "enter"], &["claude"]),
        (&["enter", "space", "enter"], &["claude/opus"]),
        (&["enter", "space", "space", "enter"], &["claude/opus", "claude/sonnet"]),
        (&["enter", "space", "esc", "down", "space", "enter"], &["claude/opus", "codex"]),
        (&["down", "space", "right", "space", "left", "enter"], &["codex", "claude/opus"]),
        (&["enter", "space", "up", "enter"], &["claude/opus"]),
    ] {
        let mut model = equipped(WIDE);
        press(&mut model, &["M"]);
        press(&mut model, keys);
        assert!(model.overlay.is_none(), "{keys:?}");
        assert_eq!(in_force(&model, &Target::Task).engines, expected, "{keys:?}");
    }
    let mut model = writing_to("runaaaaa");
    press(&mut model, &["esc", "M", "space", "enter", "space", "enter"]);
    assert_eq!(in_force(&model, &Target::Session("runaaaaa".into())).engines, ["claude/opus"]);
}

#[test]
fn backends_that_are_still_looked_for_are_shown_when_they_come() {
    let mut model = equipped(WIDE);
    let backends = model.world.backends.take();
    assert_eq!(press(&mut model, &["M"]), [Request::Backends]);
    assert!(shown(&model).contains("looking for agents…"));
    write(&mut model, "cod");
    update(&mut model, Msg::Reply(Reply::Backends(backends.unwrap())));
    assert_eq!(labels(&mut model), ["codex"]);
}

#[test]
fn hidden_agents_are_absent_and_the_others_say_what_they_are_for() {
    let mut model = equipped(WIDE);
    agent(&mut model);
    // One whose file is broken is there with the reason, and cannot be chosen.
    assert_eq!(labels(&mut model), ["builder", "planner", "reviewer", "broken"]);
    write(&mut model, "plan");
    press(&mut model, &["enter"]);
    assert_eq!(in_force(&model, &Target::Task).agent.as_deref(), Some("planner"));
}

#[test]
fn a_posture_is_for_the_next_task_or_for_the_session_at_once() {
    let mut model = equipped(WIDE);
    press(&mut model, &["alt+m"]);
    assert_eq!(under_the_cursor(&mut model).as_deref(), Some("unattended"));
    assert_eq!(press(&mut model, &["up", "enter"]), [Request::Save]);
    assert_eq!(in_force(&model, &Target::Task).posture.as_deref(), Some("edits"));
    let mut model = writing_to("runaaaaa");
    let posture = SetPosture { posture: Some("plan".into()), yolo: None };
    let expected = [Request::SetPosture { session: "runaaaaa".into(), posture }];
    assert_eq!(press(&mut model, &["alt+m", "down", "enter"]), expected);
}

#[test]
fn a_session_is_jumped_to_by_a_few_letters() {
    let mut model = equipped(WIDE);
    press(&mut model, &["ctrl+k"]);
    assert!(labels(&mut model)[0].starts_with("◆ "));
    write(&mut model, "axum");
    press(&mut model, &["enter"]);
    assert_eq!(model.view, View::Session("reaaaaaa".into()));
}

#[test]
fn a_removed_session_is_restored_from_the_list() {
    let mut model = equipped(WIDE);
    assert_eq!(removed(&mut model), [Request::ListRemoved]);
    update(&mut model, Msg::Reply(Reply::Removed(vec![])));
    assert!(model.overlay.is_none());
    let gone = Session { removed_at: Some(model.now - 60_000), ..session(Status::Ready) };
    update(&mut model, Msg::Reply(Reply::Removed(vec![gone])));
    assert_eq!(press(&mut model, &["enter"]), [Request::Restore("abcd2345".into())]);
}

#[test]
fn a_late_list_of_removed_sessions_takes_the_keys_from_nothing() {
    for keys in [&["ctrl+p"][..], &["?"], &["n"], &["D"]] {
        let mut model = equipped(WIDE);
        press(&mut model, keys);
        let context = model.context();
        update(&mut model, Msg::Reply(Reply::Removed(vec![session(Status::Ready)])));
        assert_eq!(model.context(), context, "{keys:?}");
        assert!(!labels(&mut model).contains(&"Fix the parser".to_owned()), "{keys:?}");
        assert!(notice::is_shown(&model), "{keys:?}");
    }
}

#[test]
fn the_palette_does_what_a_key_does() {
    let mut model = writing_to("runaaaaa");
    press(&mut model, &["ctrl+p"]);
    write(&mut model, "/stop");
    assert_eq!(press(&mut model, &["enter"]), [Request::Stop("runaaaaa".into())]);
    assert_eq!((model.overlay.is_none(), model.focus), (true, Focus::Main));
}

#[test]
fn what_a_choice_is_for_is_the_same_for_all_of_them_and_is_said() {
    let session = || Some("reaaaaaa");
    for (view, expected, said) in [
        (View::Sessions, None, "for the next task"),
        (View::Settings, None, "for the next task"),
        (View::Session("reaaaaaa".into()), session(), "for Upgrade axum"),
        (View::Review("reaaaaaa".into()), session(), "for Upgrade axum"),
    ] {
        for word in ["/model", "/reasoning", "/agent", "/posture", "/plan", "/yolo"] {
            let mut model = equipped(WIDE);
            sessions::select(&mut model, "reaaaaaa");
            model.view = view.clone();
            press(&mut model, &["ctrl+p"]);
            write(&mut model, word);
            let detail = state(&mut model).and_then(|state| state.current()).map(|row| row.detail.clone());
            assert!(detail.as_ref().is_some_and(|detail| detail.ends_with(said)), "{view:?} {word}: {detail:?}");
        }
        // The three that change how much is asked, down to what they ask the daemon for.
        for (word, keys) in
            [("/posture", &["enter", "up", "enter"][..]), ("/plan", &["enter"]), ("/yolo", &["enter", "y"])]
        {
            let mut model = equipped(WIDE);
            sessions::select(&mut model, "reaaaaaa");
            model.view = view.clone();
            press(&mut model, &["ctrl+p"]);
            write(&mut model, word);
            let asked = press(&mut model, keys);
            let of = asked.iter().find_map(|request| match request {
                Request::SetPosture { session, .. } => Some(session.as_str()),
                _ => None,
            });
            assert_eq!(of, expected, "{view:?} {word}");
        }
    }
}

#[test]
fn letters_are_edited_as_in_a_line() {
    let mut model = equipped(WIDE);
    press(&mut model, &["ctrl+k"]);
    write(&mut model, "one two");
    for (key, expected) in [("backspace", "one tw"), ("ctrl+w", "one "), ("ctrl+u", "")] {
        press(&mut model, &[key]);
        assert_eq!(state(&mut model).unwrap().query, expected);
    }
    update(&mut model, Msg::Paste("axum\nmore".into()));
    assert_eq!(labels(&mut model), ["✓ Upgrade axum"]);
    press(&mut model, &["ctrl+u", "end", "down", "pagedown", "pageup", "esc"]);
    assert!(model.overlay.is_none());
}

#[test]
fn lists_fit_to_wide_and_narrow_screens() {
    let mut model = equipped(WIDE);
    press(&mut model, &["M", "space"]);
    insta::assert_snapshot!(shown(&model), @r"
    ┌ 1/2 backend for the next task ───────────────────────────────────────────────────────┐
    │›                                                                                     │
    │+ claude  2.1.0                                                                       │
    │  codex   codex is not logged in                                                      │
    │1 marked · ⏎ takes them · space marks · → models                                      │
    └──────────────────────────────────────────────────────────────────────────────────────┘
    ");
    press(&mut model, &["up", "down", "enter"]);
    press(&mut model, &["M", "enter"]);
    insta::assert_snapshot!(shown(&model), @r"
    ┌ 2/2 model of claude for the next task ───────────────────────────────────────────────┐
    │›                                                                                     │
    │• opus    default · low, high                                                         │
    │  sonnet  low, high                                                                   │
    │⏎ chooses · space marks several: one session each · esc goes back                     │
    └──────────────────────────────────────────────────────────────────────────────────────┘
    ");
    let mut model = equipped(NARROW);
    press(&mut model, &["ctrl+k"]);
    write(&mut model, "up");
    insta::assert_snapshot!(shown(&model), @r"
    ┌ jump to a session ───────────────────────────────────────────────────────────┐
    │› up                                                                          │
    │  ◌ Upgrade sqlx  queued · demo · 5s · queaaaaa                               │
    │  ✓ Upgrade axum  ready · demo · 5s · reaaaaaa                                │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │⏎ chooses · esc goes back                                                     │
    └──────────────────────────────────────────────────────────────────────────────┘
    ");
    press(&mut model, &["esc", "ctrl+p"]);
    insta::assert_snapshot!(shown(&model), @r"
    ┌ commands ────────────────────────────────────────────────────────────────────┐
    │›                                                                             │
    │  the next that needs you                       /next · space                 │
    │  every key of this view                        /help · ?                     │
    │  settings: theme, notices, defaults            /settings · ,                 │
    │  leave; the sessions go on                     /quit · q                     │
    │  back to the shell, `fg` returns               ctrl+z                        │
    │  draw everything again                         ctrl+l                        │
    │  a new task                                    /new · n                      │
    │  write to this session                         i                             │
    │  a command by its word                         /                             │
    │  show only what matches                        f                             │
    │  jump to a session by a few letters            /sessions · ctrl+k            │
    │  children under their parents, or a flat list  t                             │
    │  show or hide what is merged or archived       /all · z                      │
    │  decide what waits here                        /decide                       │
    │⏎ chooses · esc goes back                                                     │
    └──────────────────────────────────────────────────────────────────────────────┘
    ");
    write(&mut model, "zzzz");
    insta::assert_snapshot!(shown(&model), @r"
    ┌ commands ────────────────────────────────────────────────────────────────────┐
    │› zzzz                                                                        │
    │nothing matches                                                               │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │                                                                              │
    │⏎ chooses · esc goes back                                                     │
    └──────────────────────────────────────────────────────────────────────────────┘
    ");
}

#[test]
fn lists_fit_into_the_smallest_screens() {
    for width in [1, 3, 8, 20, 50] {
        for height in [1, 2, 5, 9] {
            let mut model = equipped(Size { width, height });
            for open in [palette, jump, self::model, reasoning, agent, posture] {
                open(&mut model);
                press(&mut model, &["down", "down", "up"]);
                shown(&model);
                sample::screen(&mut model);
            }
        }
    }
}

#[test]
fn an_agent_whose_file_is_broken_is_a_row_with_the_reason() {
    use crate::api::agent::{AgentDiagnostic, AgentFile, AgentSource};
    let mut model = equipped(WIDE);
    let path = "/src/app/.coppice/agents/critic.md";
    let error = AgentDiagnostic {
        path: path.into(),
        line: Some(4),
        severity: "error".into(),
        code: "yaml".into(),
        message: "`tools` is not a list".into(),
    };
    model.world.agents.push(AgentFile {
        broken: true,
        source: AgentSource { path: path.into(), ..AgentSource::default() },
        diagnostics: vec![error],
        ..AgentFile::default()
    });
    press(&mut model, &["n"]);
    write(&mut model, "/agent");
    press(&mut model, &["enter"]);
    assert_eq!(labels(&mut model).last().map(String::as_str), Some("critic.md"));
    write(&mut model, "critic");
    let before = in_force(&model, &Target::Task).agent;
    assert_eq!(press(&mut model, &["enter"]), []);
    assert_eq!(in_force(&model, &Target::Task).agent, before);
    let screen = sample::screen(&mut model);
    assert!(screen.contains("agent `critic.md` cannot be used: `tools` is not a list"), "{screen}");
}
