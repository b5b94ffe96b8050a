//! A session on the screen, and what can be done with it there.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::*;
use crate::api::error::{Error, ErrorKind};
use crate::api::event::{Event, Live, Payload, PlanEntry, PromptAuthor};
use crate::api::handoff::{Handoff, HandoffStatus, PendingPermission};
use crate::api::session::{Approval, Session, Status, Summary, Usage};
use crate::look::sample::{self as look, NOW};
use crate::tui::msg::{Msg, Reach, Reply};
use crate::tui::sample::{NARROW, WIDE, model, press, screen, sessions, write};
use crate::tui::update::update;

const PARENT: &str = "runaaaaa";
const CHILD: &str = "kidaaaaa";

fn event(session: &str, seq: u64, payload: Payload) -> Event {
    Event { seq, session: session.into(), at: NOW - 60_000, v: 1, payload }
}

fn handoff(status: HandoffStatus) -> Payload {
    let handoff = Handoff { child_session_id: CHILD.into(), status, ..look::handoff() };
    Payload::HandoffUpdated { handoff: Box::new(handoff), text: String::new(), is_final: status.is_final() }
}

fn tool(seq: u64, name: &str, input: serde_json::Value, output: &str) -> [Event; 2] {
    let (call, tool, title) = (format!("c{seq}"), name.to_owned(), name.to_owned());
    let started = Payload::ToolStarted {
        turn: 1,
        call: call.clone(),
        tool: tool.clone(),
        title: title.clone(),
        input: Some(input),
        auto: None,
    };
    let finished = Payload::ToolFinished { turn: 1, call, tool, title, ok: true, output: output.into(), auto: None };
    [event(PARENT, seq, started), event(PARENT, seq + 1, finished)]
}

/// What the sketch of the session view shows.
fn story() -> Vec<Event> {
    let step = |content: &str, status: &str| PlanEntry { content: content.into(), status: status.into() };
    let lines: String = (1..=48).map(|line| format!("test limit::case_{line} ... ok\n")).collect();
    let mut story = vec![
        event(
            PARENT,
            1,
            Payload::PromptQueued {
                number: 1,
                text: "Add a token bucket to the gateway. Keep the public API.".into(),
                images: vec![],
                author: PromptAuthor::Person,
            },
        ),
        event(
            PARENT,
            2,
            Payload::TurnStarted { turn: 1, prompt: 1, delivery: "bootstrap_full".into(), exec_at: 0, agent: None },
        ),
        event(PARENT, 3, Payload::Message { turn: 1, text: "I will start with the **existing** middleware.".into() }),
    ];
    story.extend(tool(10, "read", json!({"path": "src/gateway/mod.rs"}), "a\nb\n"));
    story.extend(tool(
        20,
        "edit",
        json!({"path": "src/gateway/limit.rs", "old_string": "let cap = 10;", "new_string": "let cap = config.burst;"}),
        "1 replacement",
    ));
    story.extend(tool(30, "execute", json!({"command": "cargo test -p gateway"}), &lines));
    story.push(event(PARENT, 40, handoff(HandoffStatus::Running)));
    story.push(event(
        PARENT,
        41,
        Payload::PlanUpdated { turn: 1, entries: vec![step("read", "completed"), step("tests", "in_progress")] },
    ));
    story.push(event(
        PARENT,
        42,
        Payload::PromptQueued {
            number: 2,
            text: "also the clock".into(),
            images: vec![],
            author: PromptAuthor::Person,
        },
    ));
    story
}

fn shown_at(size: ratatui::layout::Size, events: Vec<Event>) -> Model {
    let mut sessions = sessions();
    for session in sessions.iter_mut().filter(|session| session.id == PARENT) {
        session.usage = Usage { input_tokens: 30_000, output_tokens: 8_000, cost_usd: Some(0.09) };
        (session.model, session.reasoning) = (Some("pro".into()), Some("high".into()));
        (session.agent, session.queued) = (Some("engineer".into()), 1);
        session.updated_at = NOW - 72_000;
    }
    let mut model = model(size, sessions);
    model.open_session(PARENT);
    update(&mut model, Msg::Reply(Reply::Page { session: PARENT.into(), events, reach: Reach::Start }));
    screen(&mut model);
    model
}

fn with(model: &mut Model, change: impl FnOnce(&mut Session)) {
    change(model.world.sessions.get_mut(PARENT).unwrap());
}

/// What the view draws, without what stands above and below it.
fn main(model: &mut Model) -> String {
    let area = Rect::new(0, 0, model.size.width, model.size.height - 5);
    let mut terminal = Terminal::new(TestBackend::new(area.width, area.height)).unwrap();
    prepare(model, area);
    terminal.draw(|frame| view(model, frame, area)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..area.height).map(row).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn a_session_on_a_wide_screen() {
    let mut model = shown_at(WIDE, story());
    let child = |seq, payload| Msg::Fact(Box::new(event(CHILD, seq, payload)));
    let input = None;
    let call = Payload::ToolStarted {
        turn: 1,
        call: "x".into(),
        tool: "execute".into(),
        title: "cargo test".into(),
        input,
        auto: None,
    };
    update(&mut model, child(50, Payload::Message { turn: 1, text: "two cases\nleft".into() }));
    update(&mut model, child(51, call));
    insta::assert_snapshot!(main(&mut model), @r#"
    ‹ Rate limiter                         demo/pro · high · engineer · ● running 1m · 38k tok · $0.09 · sandbox workspace

      ▏you  07:59
      Add a token bucket to the gateway. Keep the public API.
      ▏agent
      I will start with the existing middleware.
      ╭ Read(src/gateway/mod.rs)
      ╰ 2 lines · 4 bytes
      ╭ Edit(src/gateway/limit.rs, single)
      │   - let cap = 10;
      │   + let cap = config.burst;
      ╰ 1 replacement
      ╭ Bash(cargo test -p gateway)
      │   test limit::case_1 ... ok
      │   test limit::case_2 ... ok
      │   test limit::case_3 ... ok
      │   test limit::case_4 ... ok
      │   test limit::case_5 ... ok
      │   test limit::case_6 ... ok
      │   test limit::case_7 ... ok
      │   test limit::case_8 ... ok
      │   test limit::case_9 ... ok
      │   test limit::case_10 ... ok
      │   …38 more line(s)
      ╰ exit 0
      ▸ @explore [1 tool]  find the parser  demo  ● cargo test · "two cases left"
      ╭ Plan  1/2
      │   [x] read
      │   [>] tests
      ╰
      queued: also the clock
    "#);
}

#[test]
fn a_session_on_a_narrow_screen() {
    let mut model = shown_at(NARROW, story());
    insta::assert_snapshot!(main(&mut model), @"
    ‹ Rate limiter     demo/pro · high · engineer · ● running 1m · 38k tok · $0.09
      │   test limit::case_1 ... ok
      │   test limit::case_2 ... ok
      │   test limit::case_3 ... ok
      │   test limit::case_4 ... ok
      │   test limit::case_5 ... ok
      │   test limit::case_6 ... ok
      │   test limit::case_7 ... ok
      │   test limit::case_8 ... ok
      │   test limit::case_9 ... ok
      │   test limit::case_10 ... ok
      │   …38 more line(s)
      ╰ exit 0
      ▸ @explore  find the parser  demo  works
      ╭ Plan  1/2
      │   [x] read
      │   [>] tests
      ╰
      queued: also the clock
    ");
}

#[test]
fn no_size_is_too_small() {
    for (width, height) in [(20, 5), (1, 1), (3, 4), (40, 6), (200, 5), (21, 60)] {
        let mut model = shown_at(ratatui::layout::Size { width, height }, story());
        press(&mut model, &["[", "e", "S", "ctrl+s"]);
        write(&mut model, "case");
        press(&mut model, &["enter", "n", "N", "g", "G", "E", "pageup", "j"]);
        screen(&mut model);
    }
}

#[test]
fn a_child_is_gone_into_and_out_of() {
    let mut model = shown_at(WIDE, story());
    press(&mut model, &["["]);
    press(&mut model, &["["]);
    assert!(main(&mut model).contains("enter opens"), "{}", main(&mut model));
    let asked = press(&mut model, &["enter"]);
    assert_eq!(model.view, View::Session(CHILD.into()));
    assert_eq!(asked, [Request::Page { session: CHILD.into(), before: None }]);
    let header = screen(&mut model);
    assert!(header.contains("‹ Rate limiter › @worker tests for it"), "{header}");
    assert_eq!(press(&mut model, &["backspace"]), []);
    assert_eq!(model.view, View::Session(PARENT.into()));
    assert!(main(&mut model).contains("enter opens"), "the place is kept");
    press(&mut model, &["backspace"]);
    assert_eq!(model.view, View::Sessions);
}

#[test]
fn only_a_complete_result_is_reused() {
    for status in [
        HandoffStatus::Queued,
        HandoffStatus::Running,
        HandoffStatus::PendingPermission,
        HandoffStatus::PendingQuestion,
        HandoffStatus::Completed,
        HandoffStatus::Failed,
        HandoffStatus::Cancelled,
        HandoffStatus::TimedOut,
        HandoffStatus::Interrupted,
    ] {
        let mut model = shown_at(WIDE, vec![event(PARENT, 1, handoff(status))]);
        let reused = |model: &mut Model| shown(model).and_then(|transcript| transcript.reusable().map(str::to_owned));
        assert_eq!(reused(&mut model), None, "nothing is selected");
        press(&mut model, &["]"]);
        let expected = (status == HandoffStatus::Completed).then(|| "h_1".to_owned());
        assert_eq!(reused(&mut model), expected, "{status:?}");
        press(&mut model, &["r"]);
    }
}

#[test]
fn a_child_that_can_only_read_is_shown_as_that() {
    let mut model = shown_at(NARROW, vec![event(PARENT, 1, handoff(HandoffStatus::Running))]);
    let everywhere = |model: &mut Model| {
        model.view = View::Session(PARENT.into());
        let row = main(model);
        model.view = View::Session(CHILD.into());
        let header = screen(model).lines().nth(1).unwrap_or_default().to_owned();
        model.view = View::Sessions;
        [row, header, screen(model)].map(|text| text.contains("read-only"))
    };
    // The row of a child that changed nothing, where nothing tells what it costs, has room for it.
    with(&mut model, |session| session.usage = Usage::default());
    if let Some(child) = model.world.sessions.get_mut(CHILD) {
        child.changes = Default::default();
    }
    assert_eq!(everywhere(&mut model), [false; 3]);
    if let Some(child) = model.world.sessions.get_mut(CHILD) {
        child.read_only = true;
    }
    assert_eq!(everywhere(&mut model), [true; 3]);
}

#[test]
fn a_row_tells_what_its_child_does_and_keeps_its_height() {
    let child = |seq, payload| Msg::Fact(Box::new(event(CHILD, seq, payload)));
    let call = |call: &str, title: &str| Payload::ToolStarted {
        turn: 1,
        call: call.into(),
        tool: "execute".into(),
        title: title.into(),
        input: None,
        auto: None,
    };
    let finished = Payload::ToolFinished {
        turn: 1,
        call: "a".into(),
        tool: "execute".into(),
        title: "ls".into(),
        ok: true,
        output: String::new(),
        auto: None,
    };
    let says = |text: &str| {
        let block = crate::api::event::Block::Message;
        Msg::Live(Box::new(Live::Delta { session: CHILD.into(), turn: 1, block, text: text.into() }))
    };
    let permission = PendingPermission {
        request_id: "r7".into(),
        kind: "execution".into(),
        tool_name: "Bash".into(),
        reason: "no rule".into(),
        command: Some("rm -rf build".into()),
        path: None,
        working_directory: "/w".into(),
    };
    let pending = Handoff {
        child_session_id: CHILD.into(),
        status: HandoffStatus::PendingPermission,
        pending_permission: Some(permission),
        ..look::handoff()
    };
    let pending = Payload::HandoffUpdated { handoff: Box::new(pending), text: String::new(), is_final: false };
    let mut model = shown_at(
        WIDE,
        vec![
            event(PARENT, 1, handoff(HandoffStatus::Queued)),
            event(PARENT, 2, Payload::Message { turn: 1, text: "below".into() }),
        ],
    );
    with(&mut model, |session| {
        let approval =
            |id: &str, session: &str| Approval { id: id.into(), session: Some(session.into()), ..Approval::default() };
        session.approvals = vec![approval("r6", "other"), approval("r7", CHILD)];
    });
    let mut rows = Vec::new();
    let parent = |seq, payload| Msg::Fact(Box::new(event(PARENT, seq, payload)));
    for msg in [
        parent(3, handoff(HandoffStatus::Running)),
        child(10, call("a", "ls")),
        child(11, finished),
        child(12, call("b", "cargo\u{1b} test")),
        says("two cases\nleft"),
        parent(13, pending),
        parent(14, handoff(HandoffStatus::Running)),
        parent(15, handoff(HandoffStatus::Completed)),
    ] {
        update(&mut model, msg);
        let main = main(&mut model);
        let at = main.lines().position(|row| row.trim() == "below").unwrap();
        rows.push(main.lines().nth(at - 1).unwrap().to_owned());
        assert_eq!(at, 2, "the row keeps its height: {main}");
    }
    insta::assert_snapshot!(rows.join("\n"), @r#"
    ▸ @explore  find the parser  demo  works
    ▸ @explore [1 tool]  find the parser  demo  ● ls
    ▸ @explore [1 tool]  find the parser  demo  thinks
    ▸ @explore [2 tools]  find the parser  demo  ● cargo� test
    ▸ @explore [2 tools]  find the parser  demo  ● cargo� test · "two cases left"
    ◆ @explore [2/2]  find the parser  wants: Bash: rm -rf build
    ▸ @explore [2 tools]  find the parser  demo  ● cargo� test · "two cases left"
    ✓ @explore (2 tools)  find the parser
    "#);
}

#[test]
fn the_summary_is_the_stored_one() {
    let answer = r#"{"answer":"Done.","summary":{"turn":"from the answer"}}"#;
    let mut model = shown_at(NARROW, vec![event(PARENT, 1, Payload::Message { turn: 1, text: "Done.".into() })]);
    press(&mut model, &["S"]);
    assert!(screen(&mut model).contains("none yet"));
    with(&mut model, |session| {
        session.summary =
            Some(Summary { turn: "Parses.".into(), session: "The parser *parses*.\n\nAll of it.".into() });
    });
    let shown = main(&mut model);
    let rows: Vec<&str> = shown.lines().filter(|row| !row.trim().is_empty()).collect();
    insta::assert_snapshot!(rows.join("\n"), @"
    ‹ Rate limiter     demo/pro · high · engineer · ● running 1m · 38k tok · $0.09
      Done.
      ── this turn ───────────────────────────────────────────────────────────────
      Parses.
      ── the session so far ──────────────────────────────────────────────────────
      The parser parses.
      All of it.
    ");
    update(&mut model, Msg::Fact(Box::new(event(PARENT, 2, Payload::Message { turn: 1, text: answer.into() }))));
    with(&mut model, |session| session.summary = None);
    assert!(screen(&mut model).contains("none yet"), "an answer is no summary");
    press(&mut model, &["S"]);
    assert!(!screen(&mut model).contains("none yet"));
}

#[test]
fn the_header_says_how_it_stands_and_why() {
    let mut rows = Vec::new();
    for id in ["askaaaaa", "appaaaaa", "runaaaaa", "kidaaaaa", "faiaaaaa", "conaaaaa", "meraaaaa"] {
        for size in [WIDE, NARROW] {
            let mut model = model(size, sessions());
            model.open_session(id);
            rows.push(main(&mut model).lines().next().unwrap().to_owned());
        }
    }
    insta::assert_snapshot!(rows.join("\n"), @"
    ‹ Pick a date library                                              demo · ◆ asking: 2 questions 5s · sandbox workspace
    ‹ Pick a date library      demo · ◆ asking: 2 questions 5s · sandbox workspace
    ‹ Fix flaky login test                              demo · ◆ approval: wants: run `cargo test` 12s · sandbox workspace
    ‹ Fix flaky login test          demo · ◆ approval: wants: run `cargo test` 12s
    ‹ Rate limiter                                                                 demo · ● running 5s · sandbox workspace
    ‹ Rate limiter                         demo · ● running 5s · sandbox workspace
    ‹ Rate limiter › @worker tests for it                                 demo · worker · ● running 5s · sandbox workspace
    ‹ Rate limiter › @worker tes… demo · worker · ● running 5s · sandbox workspace
    ‹ Port to edition 2024                   demo · ✗ failed: the backend exited before it answered 5s · sandbox workspace
    ‹ Port to edition 2024      ✗ failed: the backend exited before it answered 5s
    ‹ Split the config room                                           demo · ⚑ conflict: in 2 files 5s · sandbox workspace
    ‹ Split the config room   demo · ⚑ conflict: in 2 files 5s · sandbox workspace
    ‹ Old work                                                                      demo · ⇡ merged 5s · sandbox workspace
    ‹ Old work                              demo · ⇡ merged 5s · sandbox workspace
    ");
}

#[test]
fn banners_say_what_holds_and_what_frees() {
    let mut rows = Vec::new();
    for (posture, yolo) in [("plan", false), ("plan", true), ("edits", false), ("edits", true), ("attended", true)] {
        let mut model = shown_at(WIDE, vec![]);
        with(&mut model, |session| (session.posture, session.yolo) = (posture.into(), yolo));
        rows.push(main(&mut model).lines().nth(1).unwrap().to_owned());
    }
    let mut planning = shown_at(WIDE, vec![]);
    with(&mut planning, |session| {
        session.posture = "plan".into();
        session.plan_file = Some("/data/plans/p/add-a-bucket-k3f/add-a-bucket-k3f.md".into());
    });
    rows.push(main(&mut planning).lines().nth(1).unwrap().to_owned());
    let mut model = model(WIDE, sessions());
    model.open_session("faiaaaaa");
    rows.push(main(&mut model).lines().nth(1).unwrap().to_owned());
    insta::assert_snapshot!(rows.join("\n"), @"
    plan: it reads, writes a plan and asks · alt+m changes that
    plan: it reads, writes a plan and asks · YOLO · alt+m changes that
    edits: files are changed without asking · alt+m changes that
    edits: files are changed without asking · YOLO · alt+m changes that
    YOLO: everything goes ahead that no rule forbids · /yolo ends it
    plan: it reads, writes a plan and asks · add-a-bucket-k3f.md · alt+m changes that
    ✗ the backend exited before it answered · R goes on
    ");
}

#[test]
fn a_card_is_selected_opened_copied_and_edited() {
    let mut model = shown_at(WIDE, story());
    assert_eq!(press(&mut model, &["c"]), [Request::Copy("I will start with the **existing** middleware.".into())]);
    assert_eq!(press(&mut model, &["[", "[", "[", "["]), []);
    let edit = |path: &str| vec![Request::Edit { session: PARENT.into(), path: path.into(), line: None }];
    assert_eq!(press(&mut model, &["v"]), edit("src/gateway/limit.rs"));
    assert_eq!(press(&mut model, &["[", "v"]), edit("src/gateway/mod.rs"));
    press(&mut model, &["]", "]"]);
    let shown = main(&mut model);
    let more = shown.lines().find(|row| row.contains("more line(s)")).unwrap_or_default();
    assert!(more.contains("…38 more line(s)  ") && more.ends_with(" e expands"), "{shown}");
    press(&mut model, &["e"]);
    assert!(!main(&mut model).contains("more line(s)"));
    press(&mut model, &["enter", "E"]);
    assert!(!main(&mut model).contains("more line(s)"));
    let copied = press(&mut model, &["c"]);
    assert!(matches!(&copied[..], [Request::Copy(text)] if text.contains("case_48")), "{copied:?}");
}

#[test]
fn matches_are_counted_and_gone_through() {
    let mut model = shown_at(NARROW, story());
    press(&mut model, &["ctrl+s"]);
    assert_eq!(model.context(), Context::Search);
    write(&mut model, "CASE_4");
    assert!(screen(&mut model).contains("search: CASE_4█  10 places"), "{}", screen(&mut model));
    press(&mut model, &["enter"]);
    assert_eq!(model.context(), Context::Session);
    assert!(
        screen(&mut model).contains("case_48 ... ok"),
        "a card that hides a match is opened: {}",
        screen(&mut model)
    );
    press(&mut model, &["N", "N"]);
    assert!(screen(&mut model).contains("case_46 ... ok"), "{}", screen(&mut model));
    press(&mut model, &["ctrl+s"]);
    write(&mut model, "nowhere");
    assert!(screen(&mut model).contains("nowhere█  nothing"));
    press(&mut model, &["backspace", "esc"]);
    assert_eq!(model.context(), Context::Session);
    assert!(!screen(&mut model).contains("search:"));
    press(&mut model, &["ctrl+s"]);
    write(&mut model, "case");
    press(&mut model, &["enter", "esc"]);
    assert_eq!(model.view, View::Session(PARENT.into()), "the matches are left first");
    press(&mut model, &["esc"]);
    assert_eq!(model.view, View::Sessions);
}

#[test]
fn what_waits_is_taken_back_and_thoughts_are_shown_on_demand() {
    let mut events = story();
    events.push(event(PARENT, 60, Payload::Thought { turn: 1, text: "It may be the clock.".into() }));
    let mut model = shown_at(WIDE, events);
    assert_eq!(press(&mut model, &["Q"]), [Request::Drop { session: PARENT.into(), number: 2 }]);
    assert!(!main(&mut model).contains("It may be"));
    press(&mut model, &["t"]);
    assert!(main(&mut model).contains("It may be"));
}

#[test]
fn the_login_of_the_backend_is_run() {
    let mut model = model(WIDE, sessions());
    model.open_session("faiaaaaa");
    assert_eq!(press(&mut model, &["L"]), []);
    let failed = model.world.sessions.get_mut("faiaaaaa").unwrap();
    failed.last_error.as_mut().unwrap().command = Some("agent login".into());
    assert_eq!(press(&mut model, &["L"]), [Request::Run("agent login".into())]);
    assert!(main(&mut model).contains("L runs `agent login` · R goes on"), "{}", main(&mut model));
    let error = model.world.sessions.get_mut("faiaaaaa").unwrap().last_error.as_mut().unwrap();
    (error.command, error.resets_at) = (None, Some(NOW + 720_000));
    assert!(main(&mut model).contains("in 12m the limit ends · R goes on"), "{}", main(&mut model));
    let backend = crate::api::project::Backend { login: Some("demo login".into()), ..look::backend("demo") };
    model.world.backends = Some(vec![backend]);
    assert_eq!(press(&mut model, &["L"]), [Request::Run("demo login".into())]);
}

#[test]
fn a_transcript_that_could_not_be_read_is_asked_for_again_when_it_is_shown() {
    let page = Request::Page { session: "reaaaaaa".into(), before: None };
    let ways: [fn(&mut Model) -> Vec<Request>; 2] = [|model| press(model, &["esc"]), composer::reply];
    for shown_again in ways {
        let mut model = model(WIDE, sessions());
        model.open_session("reaaaaaa");
        press(&mut model, &["d"]);
        let error = Error::new(ErrorKind::Unavailable, "the daemon drains");
        update(&mut model, Msg::Reply(Reply::Failed { doing: "read".into(), error }));
        let asked = shown_again(&mut model);
        assert_eq!(asked.iter().filter(|request| **request == page).count(), 1, "{asked:?}");
    }
}

#[test]
fn a_click_selects_and_the_next_one_goes_in() {
    let mut model = shown_at(WIDE, story());
    let row = |model: &mut Model, text: &str| screen(model).lines().position(|row| row.contains(text)).unwrap() as u16;
    let at = row(&mut model, "cargo test");
    click(&mut model, at);
    assert!(shown(&mut model).unwrap().is_selected());
    let before = screen(&mut model);
    click(&mut model, at);
    assert_ne!(screen(&mut model), before);
    press(&mut model, &["G"]);
    let at = row(&mut model, "find the parser");
    click(&mut model, at);
    click(&mut model, at);
    assert_eq!(model.view, View::Session(CHILD.into()));
    click(&mut model, 0);
    assert_eq!(scroll(&mut model, -3), []);
}

#[test]
fn a_session_that_waits_is_decided_with_enter() {
    let mut model = model(WIDE, sessions());
    model.open_session("reaaaaaa");
    assert_eq!(press(&mut model, &["enter"]), []);
    assert_eq!(model.world.sessions["reaaaaaa"].status, Status::Ready);
}

#[test]
fn what_is_below_is_told_beside_the_text() {
    let wide = "x".repeat(NARROW.width.into());
    let messages = |text: &str| {
        (1..=40).map(|seq| event(PARENT, seq, Payload::Message { turn: 1, text: text.to_owned() })).collect()
    };
    for (text, expected) in [("short", "  G follows ↓"), (wide.as_str(), "xxx↓")] {
        let mut model = shown_at(NARROW, messages(text));
        press(&mut model, &["pageup"]);
        let screen = screen(&mut model);
        let row = screen.lines().find(|row| row.contains('↓') && !row.contains("main")).unwrap_or_default();
        assert!(row.ends_with(expected), "{row}");
    }
}

#[test]
fn a_card_without_a_file_says_so() {
    let mut model = shown_at(WIDE, tool(10, "execute", json!({"command": "cargo test"}), "ok").to_vec());
    assert_eq!(press(&mut model, &["[", "v"]), []);
    assert!(screen(&mut model).contains("this card names no file"), "{}", screen(&mut model));
}

#[test]
fn enter_without_a_selection_says_how_to_select() {
    let mut model = shown_at(WIDE, story());
    assert_eq!(press(&mut model, &["enter"]), []);
    assert!(screen(&mut model).contains("nothing is selected: [ selects a card"), "{}", screen(&mut model));
}

#[test]
fn a_prompt_that_is_taken_back_is_written_again() {
    let dropped = |number| Msg::Fact(Box::new(event(PARENT, 50, Payload::PromptDropped { number })));
    for (draft, expected) in [("", "also the clock"), ("mine", "mine")] {
        let mut model = shown_at(WIDE, story());
        press(&mut model, &["i"]);
        write(&mut model, draft);
        press(&mut model, &["esc"]);
        assert_eq!(press(&mut model, &["Q"]), [Request::Drop { session: PARENT.into(), number: 2 }]);
        assert!(update(&mut model, dropped(2)).contains(&Request::Save));
        let saved = composer::saved(&model);
        assert_eq!(saved.sessions[PARENT].text, expected);
        assert_eq!(
            saved.history.last().map(|past| past.text.as_str()),
            (!draft.is_empty()).then_some("also the clock")
        );
    }
    let mut model = shown_at(WIDE, story());
    update(&mut model, dropped(2));
    assert!(composer::saved(&model).sessions.is_empty(), "somebody else took it back");
}
