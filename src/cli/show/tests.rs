//! The whole view of sessions in their states.

use super::*;
use crate::api::handoff::Integration;
use crate::api::session::{Status, TurnError, Usage, WaitingFor};
use crate::look::sample::{self, NOW};

fn text(session: &Session, turns: &[Turn]) -> String {
    seen(session, turns, &Kin::default())
}

fn seen(session: &Session, turns: &[Turn], kin: &Kin) -> String {
    lines(session, turns, kin, NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_session_that_asks() {
    let mut session = sample::asking();
    session.questions[1].answer = Some("8080".into());
    let turn = Turn { images: vec![sample::image()], ..sample::turn(1, TurnState::Completed) };
    insta::assert_snapshot!(text(&session, &[turn]), @r"
    abcd2345  Fix the parser
    status    asking, 1 question
    next      coppice answer abcd2345
              coppice stop abcd2345
    backend   demo
    posture   unattended
    sandbox   workspace, enforced
    secrets   denied to tools and to commands that name them
    base      main at 0123456789
    branch    coppice/abcd2345/fix-the-parser
    worktree  /data/worktrees/abcd2345
    changes   2 files  +12 -4
    turns     1
    created   1h ago, changed 5s ago

    questions
      1. Which database?
         1) sqlite
         2) postgres
      2. Which port?
         answered: 8080

    turns
      1  completed, 1m ago  > fix the parser, with wrong.png
         Done.
         All tests pass.
    ");
}

#[test]
fn a_session_that_wants_an_approval() {
    let session = Session { queued: 1, ..sample::approval() };
    insta::assert_snapshot!(text(&session, &[]), @r"
    abcd2345  Fix the parser
    status    approval, wants: run `cargo test`
    next      coppice approve abcd2345
              coppice deny abcd2345
              coppice stop abcd2345
    backend   demo
    posture   unattended
    sandbox   workspace, enforced
    secrets   denied to tools and to commands that name them
    base      main at 0123456789
    branch    coppice/abcd2345/fix-the-parser
    worktree  /data/worktrees/abcd2345
    changes   2 files  +12 -4
    turns     1, 1 prompt queued
    created   1h ago, changed 5s ago

    approvals
      r1  Bash(cargo test)  (12s ago)
        | cargo test
        | --quiet
    ");
}

#[test]
fn a_session_that_failed() {
    let error =
        Some(TurnError { kind: "crashed".into(), message: "it died".into(), hint: None, ..TurnError::default() });
    let usage = Usage { input_tokens: 1200, output_tokens: 34, cost_usd: None };
    let backend = "other".to_owned();
    let turns = [Turn { error, usage, backend, ..sample::turn(2, TurnState::Failed) }];
    insta::assert_snapshot!(text(&sample::failed(), &turns), @r"
    abcd2345  Fix the parser
    status    failed, the backend exited before it answered
    next      coppice resume abcd2345
              coppice send abcd2345
              coppice diff abcd2345
    backend   demo
    posture   unattended
    sandbox   workspace, enforced
    secrets   denied to tools and to commands that name them
    base      main at 0123456789
    branch    coppice/abcd2345/fix-the-parser
    worktree  /data/worktrees/abcd2345
    changes   2 files  +12 -4
    turns     1
    created   1h ago, changed 5s ago

    last error
      crashed: the backend exited before it answered
      hint: `coppice resume abcd2345` goes on

    turns
      2  failed on other, 1m ago, 1200 tokens in, 34 out  > fix the parser
         crashed: it died
    ");
}

#[test]
fn a_parent_and_its_child() {
    let mut parent = Session { agent: Some("engineer".into()), ..session_that_waits() };
    parent.approvals = sample::approval().approvals;
    let asked = &mut parent.approvals[0];
    (asked.id, asked.agent) = ("efgh3456/r1".into(), Some("explore".into()));
    let kin = Kin { handoffs: vec![sample::handoff()], ..Kin::default() };
    let ended = Kin { is_without_worktree: true, ..Kin::default() };
    assert!(seen(&sample::session(Status::Merged), &[], &ended).contains("worktree  none\n"));
    insta::assert_snapshot!(seen(&parent, &[], &kin), @r"
    abcd2345  Fix the parser
    status    running, explore wants: run `cargo test`
    next      coppice diff abcd2345
              coppice merge abcd2345
    backend   demo
    agent     engineer
    posture   unattended
    sandbox   workspace, enforced
    secrets   denied to tools and to commands that name them
    base      main at 0123456789
    branch    coppice/abcd2345/fix-the-parser
    worktree  /data/worktrees/abcd2345
    changes   2 files  +12 -4
    turns     1
    created   1h ago, changed 5s ago

    approvals
      efgh3456/r1  Bash(cargo test)  (explore, 12s ago)
        | cargo test
        | --quiet

    children
      efgh3456  explore  running  find the parser
    ");
    let child = Session { surface: "advisory".into(), ..sample::child("efgh3456", Status::Ready) };
    let integration = Integration::Conflict { files: vec!["a.rs".into()] };
    let origin = Some(Handoff { integration, ..sample::handoff() });
    insta::assert_snapshot!(seen(&child, &[], &Kin { origin, ..Kin::default() }), @r"
    efgh3456  @explore subagent
    status    ready
    next      coppice diff efgh3456
              coppice merge efgh3456
    backend   demo
    agent     explore, tools advisory
    posture   unattended
    sandbox   workspace, enforced
    secrets   denied to tools and to commands that name them
    parent    abcd2345
    task      find the parser
    result    conflict in a.rs: coppice integrate efgh3456
    base      main at 0123456789
    branch    coppice/abcd2345/fix-the-parser
    worktree  /data/worktrees/abcd2345
    changes   none
    turns     1
    created   1h ago, changed 5s ago
    ");
}

fn session_that_waits() -> Session {
    Session { waiting_for: Some(WaitingFor::Approval), ..sample::session(Status::Running) }
}

#[test]
fn a_session_with_a_conflict_and_a_summary() {
    let mut session = sample::conflict();
    session.usage.input_tokens = 1200;
    session.usage.cost_usd = Some(0.034);
    session.reasoning = Some("high".into());
    insta::assert_snapshot!(text(&session, &[]), @r"
    abcd2345  Fix the parser
    status    conflict, in 2 files
    next      coppice diff abcd2345
              coppice merge abcd2345
    backend   demo, reasoning high
    posture   unattended
    sandbox   workspace, enforced
    secrets   denied to tools and to commands that name them
    base      main at 0123456789
    branch    coppice/abcd2345/fix-the-parser
    worktree  /data/worktrees/abcd2345
    changes   2 files  +12 -4
    turns     1
    usage     1200 tokens in, 0 out, $0.03
    created   1h ago, changed 5s ago

    conflicts
      a.rs
      b.rs

    summary
      The parser parses.
      All of it.
    ");
    session.status = Status::Merged;
    assert!(text(&session, &[]).contains("status    merged\n"));
}
