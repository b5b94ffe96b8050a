//! How it looks, by itself: what else is on the screen is not its business.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::tui::view::parts;

/// The composer and what lies over the view above it, without the empty rows.
fn shown(model: &Model) -> String {
    let mut terminal = Terminal::new(TestBackend::new(model.size.width, model.size.height)).unwrap();
    terminal.draw(|frame| view(model, frame, parts(model).dock)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..model.size.height).map(|y| {
        let row: String = (0..model.size.width).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.filter(|row| !row.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_composer_says_what_it_is_for() {
    for size in [WIDE, NARROW] {
        let mut model = equipped(size);
        let at_rest = shown(&model);
        press(&mut model, &["n"]);
        let focused = shown(&model);
        match size.width {
            120 => insta::assert_snapshot!(format!("{at_rest}\n\n{focused}"), @"
            ─────────────────────────────────────────────────────────────────────────── builder · claude/opus · high · unattended ──
             n  new task

            ── new task ─────────────────────────────────────────────────────────────── builder · claude/opus · high · unattended ──
             › Describe the next task, or / for commands
            "),
            _ => insta::assert_snapshot!(format!("{at_rest}\n\n{focused}"), @r"
            ─────────────────────────────────── builder · claude/opus · high · unattended ──
             n  new task

            ── new task ─────────────────────── builder · claude/opus · high · unattended ──
             › Describe the next task, or / for commands
            "),
        }
    }
}

#[test]
fn an_approval_that_waits_is_named_where_somebody_writes() {
    let mut model = writing_to("appaaaaa");
    write(&mut model, "also this");
    insta::assert_snapshot!(shown(&model), @r"
    ── to Fix flaky login test ─────────────────── run `cargo test` waits for you: Esc, then y · demo · high · unattended ──
     › also this
    ");
}

#[test]
fn a_prompt_to_a_session_that_works_is_queued() {
    let mut model = writing_to("runaaaaa");
    with_handoff(&mut model, "h_1".into());
    write(&mut model, "also cover the clock going backwards");
    insta::assert_snapshot!(shown(&model), @r"
    ── to Rate limiter ────────────────────────────────────── queued: sends when the turn ends · demo · high · unattended ──
       with the result of [h_1]  ⌫ at the start takes it out
     › also cover the clock going backwards
    ");
    model.size = NARROW;
    insta::assert_snapshot!(shown(&model), @r"
    ── to Rate limiter ───────────────────────── queued: sends when the turn ends ──
       with the result of [h_1]  ⌫ at the start takes it out
     › also cover the clock going backwards
    ");
    press(&mut model, &["enter"]);
    insta::assert_snapshot!(shown(&model), @"
    ───────────────────────────────────────── sending… · demo · high · unattended ──
     i  write to this session
    ");
}

#[test]
fn several_agents_and_free_rein_are_seen() {
    let mut model = equipped(WIDE);
    press(&mut model, &["n"]);
    choose_models(&mut model, vec!["claude/opus".into(), "codex".into()]);
    toggle_yolo(&mut model);
    insta::assert_snapshot!(shown(&model), @r"
    ── new task ─────────────────────────────────── builder · claude/opus + codex (2 sessions) · high · unattended · YOLO ──
     › Describe the next task, or / for commands
    ");
}

#[test]
fn it_grows_with_the_text_to_a_third_of_the_screen() {
    let mut model = equipped(NARROW);
    press(&mut model, &["n"]);
    write(&mut model, &"many words that have to be wrapped ".repeat(4));
    insta::assert_snapshot!(shown(&model), @r"
    ── new task ─────────────────────── builder · claude/opus · high · unattended ──
     › many words that have to be wrapped many words that have to be wrapped many
       words that have to be wrapped many words that have to be wrapped
    ");
    assert_eq!(height(&model, 80), 3);
    (0..30).for_each(|_| drop(press(&mut model, &["ctrl+j"])));
    assert_eq!(height(&model, 80), 9);
}

#[test]
fn the_completion_stands_above_it() {
    let mut model = equipped(WIDE);
    press(&mut model, &["/"]);
    write(&mut model, "re");
    insta::assert_snapshot!(shown(&model), @r"
     › /resume     go on with a failed or interrupted session
       /rebase     rebase onto the base branch
       /review     have a model prepare the review of the changes
       /resolve    let a model propose how to resolve the conflict
       /restore    bring a removed or archived session back
       /reasoning  how hard the model thinks
       /prepared   what the model said about the changes
       /posture    what happens with a call that no rule decides
     ⇥ completes · a space before / makes it a prompt
    ── new task ─────────────────────────────────────────────────────────────── builder · claude/opus · high · unattended ──
     › /re
    ");
    let mut model = equipped(NARROW);
    press(&mut model, &["n"]);
    write(&mut model, "see @");
    insta::assert_snapshot!(shown(&model), @r"
     looking for files…
    ── new task ─────────────────────── builder · claude/opus · high · unattended ──
     › see @
    ");
    let files = ["src/main.rs", "src/a \u{202e}b.rs"].map(ToOwned::to_owned).to_vec();
    update(&mut model, Msg::Reply(Reply::Files { session: None, files }));
    press(&mut model, &["down"]);
    insta::assert_snapshot!(shown(&model), @r"
       src/main.rs
     › src/a �b.rs
     ⇥ ⏎ completes · esc leaves it as it is
    ── new task ─────────────────────── builder · claude/opus · high · unattended ──
     › see @
    ");
}

#[test]
fn it_fits_into_the_smallest_screens() {
    for width in [1, 2, 3, 4, 5, 20, 40] {
        for height in [1, 2, 3, 5, 8] {
            let mut model = equipped(ratatui::layout::Size { width, height });
            press(&mut model, &["n"]);
            shown(&model);
            write(&mut model, "/mo");
            shown(&model);
            press(&mut model, &["ctrl+u"]);
            write(&mut model, "a 木の名前 that is long enough @");
            shown(&model);
        }
    }
}

#[test]
fn what_a_task_runs_on_is_what_the_daemon_would_take() {
    let backend = |name: &str, default| Backend { default, ..backend(name) };
    for (setting, backends, expected) in [
        ("", None, "builder · high · unattended"),
        ("codex", None, "builder · codex · high · unattended"),
        ("codex", Some(vec![backend("claude", false), backend("codex", true)]), "builder · codex · high · unattended"),
        // The setting names one that is not installed, so another one runs.
        ("codex", Some(vec![backend("claude", true), backend("codex", false)]), "builder · claude · high · unattended"),
        ("", Some(vec![Backend { scripted: true, ..backend("demo", false) }]), "no agent installed · M chooses"),
        // Set while the list was on the screen.
        (
            "demo",
            Some(vec![Backend { scripted: true, ..backend("demo", false) }]),
            "builder · demo · high · unattended",
        ),
        // What is configured is named, installed or not.
        (
            "codex/gpt-5.4",
            Some(vec![Backend { scripted: true, ..backend("demo", false) }]),
            "builder · codex/gpt-5.4 · high · unattended",
        ),
    ] {
        let mut model = equipped(WIDE);
        model.world.backends = backends.clone();
        for value in model.world.config.iter_mut().filter(|value| value.key == "default.model") {
            value.value = setting.into();
        }
        let shown = shown(&model);
        assert!(shown.contains(&format!(" {expected} ──")), "{setting:?} {backends:?}: {shown}");
    }
}
