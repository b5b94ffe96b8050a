//! What events become, in whatever order they come.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::api::event::{Block, Engine, Payload, PlanEntry, PromptAuthor};
use crate::api::handoff::HandoffStatus;
use crate::api::permission::AutoApproval;
use crate::api::session::{AskedQuestion, Base, Changes, Response, TurnError};
use crate::look::sample;

mod place;

const SESSION: &str = "abcd2345";

pub(super) fn event(seq: u64, payload: Payload) -> Event {
    Event { seq, session: SESSION.into(), at: sample::NOW, v: 1, payload }
}

/// Facts in their order.
pub(super) fn facts(payloads: Vec<Payload>) -> Vec<Event> {
    payloads.into_iter().zip(1..).map(|(payload, seq)| event(10 * seq, payload)).collect()
}

pub(super) fn message(turn: u32, text: &str) -> Payload {
    Payload::Message { turn, text: text.into() }
}

pub(super) fn prompt(number: u32, text: &str) -> Payload {
    Payload::PromptQueued { number, text: text.into(), images: vec![], author: PromptAuthor::Person }
}

pub(super) fn started(turn: u32) -> Payload {
    Payload::TurnStarted { turn, prompt: turn, delivery: "delta_only".into(), exec_at: 0, agent: None }
}

pub(super) fn completed(turn: u32, answer: &str) -> Payload {
    Payload::TurnCompleted { turn, response: Response { answer: answer.into(), questions: vec![], summary: None } }
}

pub(super) fn call(turn: u32, call: &str, title: &str) -> Payload {
    let input = Some(json!({ "command": title }));
    Payload::ToolStarted { turn, call: call.into(), tool: "execute".into(), title: title.into(), input, auto: None }
}

pub(super) fn called(turn: u32, call: &str, title: &str, output: &str) -> Payload {
    let (tool, title) = ("execute".into(), title.into());
    Payload::ToolFinished { turn, call: call.into(), tool, title, ok: true, output: output.into(), auto: None }
}

fn todo(turn: u32, statuses: &[&str]) -> Payload {
    let entry =
        |(status, number): (&&str, u32)| PlanEntry { content: format!("step {number}"), status: (*status).into() };
    Payload::PlanUpdated { turn, entries: statuses.iter().zip(1..).map(entry).collect() }
}

fn handoff(status: HandoffStatus) -> Payload {
    let handoff = crate::api::handoff::Handoff { status, ..sample::handoff() };
    Payload::HandoffUpdated { is_final: status.is_final(), text: String::new(), handoff: Box::new(handoff) }
}

pub(super) fn delta(turn: u32, text: &str) -> Live {
    Live::Delta { session: SESSION.into(), turn, block: Block::Message, text: text.into() }
}

/// A transcript whose whole beginning is there.
pub(super) fn transcript(payloads: Vec<Payload>) -> Transcripts {
    let mut transcripts = Transcripts::default();
    transcripts.need(SESSION);
    transcripts.page(SESSION, facts(payloads), Reach::Start);
    transcripts
}

/// All rows as text.
pub(super) fn text(transcripts: &mut Transcripts) -> String {
    text_at(transcripts, 60)
}

fn text_at(transcripts: &mut Transcripts, width: u16) -> String {
    let transcript = transcripts.get_mut(SESSION).unwrap();
    transcript.tail(width, 1000).iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_turn_reads_from_the_prompt_to_the_commit() {
    let changes = Changes { files: 1, insertions: 3, deletions: 1 };
    let mut transcripts = transcript(vec![
        prompt(1, "Add a token bucket.\nKeep the public API."),
        started(1),
        message(1, "I look at it."),
        Payload::Thought { turn: 1, text: "hm".into() },
        call(1, "c1", "cargo test"),
        called(1, "c1", "cargo test", "running 41 tests\nok"),
        message(1, "Done."),
        Payload::Checkpoint { turn: 1, commit: "0123456789abcdef".into(), changes },
        completed(1, "Done.\n"),
    ]);
    insta::assert_snapshot!(text(&mut transcripts), @"

    ▏you  08:00
    Add a token bucket.
    Keep the public API.
    ▏agent
    I look at it.
    ╭ Bash(cargo test)
    │   running 41 tests
    │   ok
    ╰ exit 0
    Done.
    committed 0123456789: 1 file +3 −1
    ");
}

#[test]
fn every_notice_is_one_line() {
    let engine = |model: &str| Engine { backend: "demo".into(), model: Some(model.into()), reasoning: None };
    let base = Base { name: "main".into(), commit: "0123".into() };
    let mut transcripts = transcript(vec![
        Payload::SessionCreated {
            title: "Fix it".into(),
            backend: "demo".into(),
            model: None,
            base,
            branch: "coppice/abcd2345/fix".into(),
            agent: None,
            parent: None,
        },
        Payload::TitleChanged { title: "Fix\nthe parser".into() },
        Payload::Preparing { step: "worktree".into(), how: Some("spare".into()) },
        Payload::SetupOutput { command: "make".into(), text: "cc a.c\ncc b.c\n".into(), exit: None },
        Payload::SetupOutput { command: "make".into(), text: String::new(), exit: Some(2) },
        Payload::Switched { turn: 2, from: engine("a"), to: engine("b") },
        Payload::Retry { turn: 1, reason: "not JSON".into() },
        Payload::Undone { to: 0, commit: "0123456789abcdef".into(), saved: "refs/x".into() },
        Payload::Integrated { commit: "0123456789abcdef".into(), style: "squash".into(), files: vec!["a.rs".into()] },
        Payload::Merged { commit: "0123456789abcdef".into(), target: "refs/heads/main".into(), style: "squash".into() },
        Payload::Conflict { files: vec!["a.rs".into(), "b.rs".into()], with: "main".into() },
        Payload::PostureChanged { posture: "edits".into(), yolo: false },
        Payload::PostureChanged { posture: "edits".into(), yolo: true },
        Payload::Attached { program: "agent".into() },
        Payload::Detached { program: "agent".into(), commit: None, changes: Some(Changes::default()) },
        Payload::Detached { program: "shell".into(), commit: None, changes: None },
        Payload::Warning { message: "a hook was ignored".into() },
        Payload::QuestionAnswered { index: 0, answer: "sqlite\nplease".into(), call: None },
        Payload::TurnInterrupted { turn: 1, reason: "stopped by you".into() },
        Payload::PromptDropped { number: 4 },
    ]);
    insta::assert_snapshot!(text_at(&mut transcripts, 80), @"
    demo on coppice/abcd2345/fix, from main
    title: Fix
    preparing: worktree (spare)
    setup: cc b.c
    setup: `make` ended with 2
    switched from demo/a to demo/b
    trying again: not JSON
    undo: the files are as on the base, at 0123456789
    integrated 0123456789: a.rs
    ⇡ merged into main as 0123456789 (squash)
    ⚑ conflict with main: a.rs, b.rs
    posture: edits
    posture: edits, YOLO
    a person talks to the agent directly
    what was said to the agent directly is not shown here · no file changed
    the person left (shell) · what was changed is committed with what comes next
    warning: a hook was ignored
    ▏you answered 1: sqlite (+1 lines)
    ‖ interrupted: stopped by you
    prompt 4 is not sent
    ");
}

#[test]
fn what_a_person_is_asked_and_what_went_wrong_is_told_whole() {
    let asked = AskedQuestion { text: "Which one?".into(), options: vec!["jiff".into(), "chrono".into()] };
    let approval = sample::approval().approvals.remove(0);
    let resolved = |outcome: &str| Payload::ApprovalResolved {
        approval: "r1".into(),
        outcome: outcome.into(),
        message: Some("not here".into()),
    };
    let error = TurnError {
        kind: "auth".into(),
        message: "nobody is logged in".into(),
        hint: Some("run `agent login`, then `coppice resume`".into()),
        command: Some("agent login".into()),
        resets_at: None,
    };
    let limit = TurnError {
        kind: "rate_limit".into(),
        message: "too much".into(),
        command: Some("agent more".into()),
        resets_at: Some(sample::NOW + 3_600_000),
        ..TurnError::default()
    };
    let waiting = Payload::ApprovalRequested {
        turn: 1,
        approval: crate::api::session::Approval { id: "r2".into(), ..approval.clone() },
    };
    let mut transcripts = transcript(vec![
        Payload::QuestionAsked { turn: 1, questions: vec![asked], call: None },
        Payload::ApprovalRequested { turn: 1, approval },
        resolved("denied"),
        waiting,
        Payload::TurnFailed { turn: 1, error },
        Payload::TurnFailed { turn: 2, error: limit },
    ]);
    insta::assert_snapshot!(text(&mut transcripts), @"
    ? Which one?
      1  jiff
      2  chrono
    ✗ denied · run `cargo test`: not here
    ◆ waits for you: run `cargo test`
    ✗ nobody is logged in
      run `agent login`, then `coppice resume`
    ✗ too much
      the limit ends at 2027-01-15 09:00
      run agent more
    ");
}

#[test]
fn an_answer_is_shown_once() {
    for (said, answer, expected) in [
        (vec!["Done."], "Done.", "Done."),
        (vec!["Done.", "Really."], "Done.", "Done.\nReally."),
        (vec![], "Done.", "Done."),
        (vec!["I look."], "Done.", "I look.\nDone."),
        (vec!["Done."], "", "Done."),
    ] {
        let payloads = said.iter().map(|text| message(1, text)).chain([completed(1, answer)]);
        assert_eq!(text(&mut transcript(payloads.collect())), expected);
    }
}

#[test]
fn a_prompt_names_its_images() {
    let queued = Payload::PromptQueued {
        number: 1,
        text: "look".into(),
        images: vec![sample::image()],
        author: PromptAuthor::Person,
    };
    let shown = text(&mut transcript(vec![queued, started(1)]));
    assert!(shown.contains("look\nwith wrong.png\n"), "{shown}");
}

#[test]
fn all_lines_of_a_prompt_that_waits_stand_below_its_first() {
    let words = "word ".repeat(30);
    let mut transcripts = transcript(vec![prompt(1, "first"), started(1), prompt(2, &format!("{words}\n\nend"))]);
    let shown = text(&mut transcripts);
    let lines: Vec<_> = shown.lines().skip_while(|line| !line.contains("queued: word")).collect();
    assert!(lines.len() > 3, "{shown}");
    assert!(lines.iter().skip(1).all(|line| line.trim().is_empty() || line.starts_with("        ")), "{shown}");
    assert_eq!(lines.last(), Some(&"        end"), "{shown}");
}

#[test]
fn a_prompt_waits_at_the_end_until_its_turn_begins() {
    let mut transcripts = transcript(vec![
        prompt(1, "first"),
        started(1),
        prompt(2, "second\nline"),
        prompt(3, "third"),
        message(1, "Hm."),
    ]);
    insta::assert_snapshot!(text(&mut transcripts), @"

    ▏you  08:00
    first
    ▏agent
    Hm.
    queued: second
            line
    queued: third
    ");
    transcripts.fact(&event(100, Payload::PromptDropped { number: 3 }));
    transcripts.fact(&event(110, started(2)));
    insta::assert_snapshot!(text(&mut transcripts), @"

    ▏you  08:00
    first
    ▏agent
    Hm.
    prompt 3 is not sent

    ▏you  08:00
    second
    line
    ▏agent
    ");
    assert!(transcripts.get(SESSION).unwrap().waiting().is_empty());
}

#[test]
fn a_list_of_todos_that_is_cleared_leaves_nothing() {
    let mut transcripts = transcript(vec![started(1), todo(1, &["in_progress"]), message(1, "One.")]);
    transcripts.fact(&event(50, todo(1, &[])));
    assert!(!text(&mut transcripts).contains('╭'), "{}", text(&mut transcripts));
    transcripts.fact(&event(60, completed(1, "One.")));
    assert!(!text(&mut transcripts).contains('╭'), "{}", text(&mut transcripts));
}

#[test]
fn the_calls_that_keep_a_list_of_todos_have_no_cards() {
    let call = |ok: bool| Payload::ToolFinished {
        turn: 1,
        call: "c1".into(),
        tool: "todo_write".into(),
        title: "todo_write".into(),
        ok,
        output: "todo_write: at most one todo can be in_progress, not 2".into(),
        auto: None,
    };
    let begun = Payload::ToolStarted {
        turn: 1,
        call: "c1".into(),
        tool: "todo_write".into(),
        title: "todo_write".into(),
        input: None,
        auto: None,
    };
    let mut transcripts = transcript(vec![started(1), begun.clone(), todo(1, &["in_progress"]), call(true)]);
    insta::assert_snapshot!(text(&mut transcripts), @"

    ▏you  08:00
    ▏agent
    ╭ Plan  0/1
    │   [>] step 1
    ╰
    ");
    // What went wrong is shown.
    let mut transcripts = transcript(vec![started(1), begun, call(false)]);
    assert!(text(&mut transcripts).contains("at most one todo can be in_progress, not 2"));
}

#[test]
fn a_prompt_that_no_person_wrote_says_who_did() {
    for (author, expected) in [
        (PromptAuthor::Person, "\n▏you  08:00\nDo it.\n▏agent"),
        (PromptAuthor::ParentAgent, "\n▏parent agent  08:00\nDo it.\n▏agent"),
        (PromptAuthor::Coppice, "\n▏coppice  08:00\nDo it.\n▏agent"),
    ] {
        let queued = Payload::PromptQueued { number: 1, text: "Do it.".into(), images: vec![], author };
        assert_eq!(text(&mut transcript(vec![queued, started(1)])), expected);
    }
}

#[test]
fn one_todo_card_changes_in_place_and_stays_as_it_was_at_the_end() {
    let mut transcripts = transcript(vec![started(1), todo(1, &["in_progress", "pending"]), message(1, "One.")]);
    insta::assert_snapshot!(text(&mut transcripts), @"

    ▏you  08:00
    ▏agent
    One.
    ╭ Plan  0/2
    │   [>] step 1
    │   [ ] step 2
    ╰
    ");
    transcripts.fact(&event(50, todo(1, &["completed", "in_progress"])));
    transcripts.fact(&event(60, message(1, "Two.")));
    transcripts.fact(&event(70, completed(1, "Two.")));
    transcripts.fact(&event(80, started(2)));
    transcripts.fact(&event(90, todo(2, &["pending"])));
    insta::assert_snapshot!(text(&mut transcripts), @"

    ▏you  08:00
    ▏agent
    One.
    Two.
    ╭ Plan  1/2
    │   [x] step 1
    │   [>] step 2
    ╰

    ▏you  08:00
    ▏agent
    ╭ Plan  0/1
    │   [ ] step 1
    ╰
    ");
}

#[test]
fn a_child_has_one_row_whatever_it_does() {
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
        let mut transcripts = transcript(vec![handoff(HandoffStatus::Running), message(1, "Hm."), handoff(status)]);
        let rows = text(&mut transcripts);
        assert_eq!(rows.lines().count(), 2, "{rows}");
        assert!(rows.lines().next().unwrap().contains("@explore find the parser"), "{rows}");
    }
}

#[test]
fn a_streamed_text_is_replaced_without_a_jump() {
    let long = (0..100).map(|line| format!("line {line}\n\n")).collect::<String>();
    let mut transcripts = transcript(vec![prompt(1, "go"), started(1)]);
    for part in long.as_bytes().chunks(7) {
        transcripts.live(&delta(1, str::from_utf8(part).unwrap()));
    }
    let streamed = text(&mut transcripts);
    let transcript = transcripts.get_mut(SESSION).unwrap();
    transcript.prepare(60, 10);
    transcript.scroll(SESSION, -50, 10);
    transcript.prepare(60, 10);
    let seen = |transcript: &Transcript| {
        transcript.shown.iter().map(|span| (span.unit.index, span.rows.clone())).collect::<Vec<_>>()
    };
    let before = seen(transcript);
    transcripts.fact(&event(100, message(1, &long)));
    let transcript = transcripts.get_mut(SESSION).unwrap();
    transcript.prepare(60, 10);
    assert_eq!(seen(transcript), before);
    assert!(!transcript.entries.contains_key(&Place::OPEN));
    assert_eq!(text(&mut transcripts), streamed);
}

#[test]
fn a_block_that_began_before_it_was_looked_at_is_whole() {
    let mut transcripts = Transcripts::default();
    transcripts.live(&delta(1, "Once "));
    transcripts.live(&delta(1, "upon "));
    assert_eq!(transcripts.need(SESSION), [Request::Page { session: SESSION.into(), before: None }]);
    transcripts.live(&delta(1, "a time"));
    assert_eq!(text(&mut transcripts), "Once upon a time");
    let in_progress =
        Live::InProgress { session: SESSION.into(), turn: 1, block: Block::Message, text: "Once more".into() };
    transcripts.live(&in_progress);
    assert_eq!(text(&mut transcripts), "Once more");
}

#[test]
fn what_the_stream_brings_and_what_is_stored_show_words_only() {
    let summary = Some(crate::api::session::Summary { turn: "Parsed.".into(), session: "It parses.".into() });
    let response = Response { answer: "Done.".into(), questions: vec![], summary };
    let mut transcripts = transcript(vec![started(1)]);
    for part in ["Do", "ne", "."] {
        transcripts.live(&delta(1, part));
        assert!(!text(&mut transcripts).contains(['{', '}', '"']));
    }
    transcripts.fact(&event(50, message(1, "Done.")));
    transcripts.fact(&event(60, Payload::TurnCompleted { turn: 1, response }));
    let shown = text(&mut transcripts);
    assert_eq!(shown.matches("Done.").count(), 1, "{shown}");
    assert!(!shown.contains("Parsed.") && !shown.contains('{'), "{shown}");
}

#[test]
fn a_running_call_shows_the_end_of_what_it_writes() {
    let mut transcripts = transcript(vec![started(1), call(1, "c1", "cargo test")]);
    let block = Block::Tool { call: "c1".into() };
    for line in 0..5000 {
        let text = format!("line {line}\n");
        transcripts.live(&Live::Delta { session: SESSION.into(), turn: 1, block: block.clone(), text });
    }
    let shown = text(&mut transcripts);
    assert!(shown.contains("line 4999") && !shown.contains("line 4990"), "{shown}");
    transcripts.fact(&event(50, Payload::TurnInterrupted { turn: 1, reason: "stopped".into() }));
    assert!(text(&mut transcripts).contains("did not end"));
}

#[test]
fn what_nobody_looks_at_is_kept_as_far_as_it_can_be_shown() {
    let output = |text: &str| Live::Delta {
        session: SESSION.into(),
        turn: 1,
        block: Block::Tool { call: "c1".into() },
        text: text.into(),
    };
    let ends = |payload| vec![event(30, payload)];
    let removed = Payload::Removed { salvage: None };
    for (record, ended, is_kept) in [
        (output("built\n"), vec![], true),
        (output("built\n"), ends(message(1, "I wait.")), true),
        (output("built\n"), ends(called(1, "c2", "ls", "")), true),
        (output("built\n"), ends(called(1, "c1", "make", "all")), false),
        (output("built\n"), ends(completed(1, "Done.")), false),
        (output("built\n"), ends(removed.clone()), false),
        (delta(1, "built"), ends(called(1, "c1", "make", "")), true),
        (delta(1, "built"), ends(message(1, "I wait.")), false),
        (delta(1, "built"), ends(removed), false),
    ] {
        let mut transcripts = Transcripts::default();
        transcripts.live(&record);
        ended.iter().for_each(|event| transcripts.fact(event));
        assert_eq!(!transcripts.begun.is_empty(), is_kept, "{record:?} {ended:?}");
        transcripts.need(SESSION);
        transcripts.page(SESSION, facts(vec![started(1), call(1, "c1", "make")]), Reach::Start);
        assert_eq!(text(&mut transcripts).contains("built"), is_kept, "{record:?} {ended:?}");
        assert!(transcripts.begun.is_empty(), "{record:?} {ended:?}");
    }
    let mut transcripts = Transcripts::default();
    (0..100_000).for_each(|line| transcripts.live(&output(&format!("line {line}\n"))));
    assert!(transcripts.begun.values().all(|begun| begun.text.len() < 10_000));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "a\u{1b}[2Jb\u{202e}c\0d\u{9b}31m\u{7}";
    let line = "x".repeat(10 * 1024 * 1024);
    let mut transcripts = transcript(vec![
        prompt(1, hostile),
        started(1),
        message(1, hostile),
        message(1, &line),
        call(1, "c", hostile),
        called(1, "c", hostile, hostile),
        Payload::Warning { message: hostile.into() },
        handoff(HandoffStatus::Running),
        prompt(2, hostile),
        Payload::SetupOutput { command: hostile.into(), text: hostile.into(), exit: None },
        Payload::QuestionAsked {
            turn: 1,
            questions: vec![AskedQuestion { text: hostile.into(), options: vec![hostile.into()] }],
            call: None,
        },
    ]);
    for width in [1, 2, 20, 60] {
        let shown = text_at(&mut transcripts, width);
        let is_obeyed = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!shown.contains(is_obeyed), "{shown:?}");
    }
}

/// Facts of two turns, of every kind that is joined.
fn story() -> Vec<Event> {
    facts(vec![
        prompt(1, "first"),
        started(1),
        message(1, "I look."),
        call(1, "c1", "ls"),
        prompt(2, "second"),
        handoff(HandoffStatus::Queued),
        todo(1, &["pending"]),
        called(1, "c1", "ls", "a\nb"),
        handoff(HandoffStatus::Completed),
        Payload::ApprovalRequested { turn: 1, approval: sample::approval().approvals.remove(0) },
        Payload::ApprovalResolved { approval: "r1".into(), outcome: "allowed".into(), message: None },
        todo(1, &["completed"]),
        message(1, "Done."),
        completed(1, "Done."),
        started(2),
        prompt(3, "third"),
        Payload::PromptDropped { number: 3 },
        todo(2, &["in_progress"]),
        completed(2, "Said only here."),
    ])
}

proptest! {
    #[test]
    fn the_way_facts_come_does_not_change_the_transcript(
        order in Just((0..19usize).collect::<Vec<_>>()).prop_shuffle(),
        pages in prop::collection::vec(any::<bool>(), 19),
        twice in prop::collection::vec(0..19usize, 0..10),
        live in 0..19usize,
    ) {
        let story = story();
        let mut expected = Transcripts::default();
        expected.need(SESSION);
        expected.page(SESSION, story.clone(), Reach::Start);
        let mut transcripts = Transcripts::default();
        transcripts.need(SESSION);
        for (step, at) in order.iter().chain(&twice).enumerate() {
            if step == live {
                transcripts.live(&delta(9, "gone again"));
            }
            match pages.get(step) {
                Some(true) => { transcripts.page(SESSION, vec![story[*at].clone()], Reach::Start); }
                Some(false) | None => transcripts.fact(&story[*at]),
            }
        }
        transcripts.fact(&story[18]);
        let (expected, got) = (expected.get(SESSION).unwrap(), transcripts.get(SESSION).unwrap());
        prop_assert_eq!(&expected.entries, &got.entries);
    }
}

#[test]
fn a_call_that_went_ahead_by_itself_says_by_what_whichever_fact_tells_it() {
    let auto = Some(AutoApproval { layer: "posture".into(), rule: None, posture: "edits".into() });
    let with = |payload: Payload| match payload {
        Payload::ToolStarted { turn, call, tool, title, input, .. } => {
            Payload::ToolStarted { turn, call, tool, title, input, auto: auto.clone() }
        }
        Payload::ToolFinished { turn, call, tool, title, ok, output, .. } => {
            Payload::ToolFinished { turn, call, tool, title, ok, output, auto: auto.clone() }
        }
        other => other,
    };
    let mut told = transcript(vec![
        with(call(1, "a", "touch a")),
        with(call(1, "b", "touch b")),
        called(1, "b", "touch b", "ok"),
        call(1, "c", "touch c"),
        with(called(1, "c", "touch c", "ok")),
        call(1, "d", "touch d"),
        called(1, "d", "touch d", "ok"),
    ]);
    let shown = text(&mut told);
    let feet: Vec<_> = shown.lines().filter(|line| line.contains('╰')).map(|line| line.trim().to_owned()).collect();
    insta::assert_snapshot!(feet.join("\n"), @"
    ╰ running · ✓ auto · edits
    ╰ exit 0 · ✓ auto · edits
    ╰ exit 0 · ✓ auto · edits
    ╰ exit 0
    ");
    let failed = Payload::ToolFinished {
        turn: 1,
        call: "a".into(),
        tool: "execute".into(),
        title: "touch a".into(),
        ok: false,
        output: "no".into(),
        auto,
    };
    let shown = text(&mut transcript(vec![call(1, "a", "touch a"), failed]));
    assert!(shown.contains("touch a") && !shown.contains("auto"), "{shown}");
}
