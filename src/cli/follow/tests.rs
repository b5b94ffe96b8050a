//! What of a stream reaches stdout and stderr, and what is said at its end.

use super::*;
use crate::api::event::Event;
use crate::api::handoff::Origin;
use crate::api::session::{Response, Usage};
use crate::look::sample::{self, NOW};

enum In {
    Delta(&'static str),
    Begin(&'static str),
    Message(&'static str),
    Retry,
    Warning,
    Done(&'static str),
    Child(&'static str),
}

/// What reaches stdout, and what reaches stderr.
fn play(records: &[In]) -> (String, String) {
    let mut follower = Follower::default();
    let (mut data, mut talk) = (String::new(), String::new());
    for record in records {
        let (session, turn, block) = ("abcd2345".to_owned(), 1, Block::Message);
        let pieces = match record {
            In::Delta(text) => follower.live(&Live::Delta { session, turn, block, text: text.to_string() }),
            In::Begin(text) => follower.live(&Live::InProgress { session, turn, block, text: text.to_string() }),
            In::Message(text) => follower.event(&Payload::Message { turn, text: text.to_string() }),
            In::Retry => follower.event(&Payload::Retry { turn, reason: "bad JSON".into() }),
            In::Warning => follower.event(&Payload::Warning { message: "a hook was ignored".into() }),
            In::Child(title) => follower.event(&of_child(title)),
            In::Done(answer) => {
                let response = Response { answer: answer.to_string(), questions: vec![], summary: None };
                follower.event(&Payload::TurnCompleted { turn, response })
            }
        };
        for piece in pieces {
            match piece {
                Piece::Answer(text) => data.push_str(&text),
                Piece::Talk(line) | Piece::Progress(line) => talk.push_str(&(line.text() + "\n")),
            }
        }
    }
    assert!(!follower.line_is_open);
    (data, talk)
}

#[test]
fn the_answer_is_shown_once_however_it_arrives() {
    use In::{Begin, Delta, Done, Message};
    for records in [
        &[Done("Hello world")][..],
        &[Delta("Hello"), Delta(" world"), Done("Hello world")],
        &[Delta("Hello world"), Done("Hello world\n")],
        &[Delta("Hello"), Message("Hello world"), Done("Hello world")],
        &[Begin("Hello"), Delta(" wor"), Done("Hello world")],
        &[Delta("Hel"), Begin("Hello wo"), Delta("rld"), Done("Hello world")],
    ] {
        assert_eq!(play(records), ("Hello world\n".to_owned(), String::new()));
    }
}

#[test]
fn what_is_not_the_answer_is_talk() {
    use In::{Delta, Done, Message, Retry};
    assert_eq!(play(&[Message("I look around."), Done("Hi")]), ("Hi\n".to_owned(), "I look around.\n".to_owned()));
    let (data, talk) = play(&[Delta("draft"), Retry, Delta("final"), Done("final")]);
    assert_eq!((data.as_str(), talk.as_str()), ("draft\nfinal\n", "trying again: bad JSON\n"));
}

fn of_child(title: &str) -> Payload {
    let (call, tool, title) = ("c".to_owned(), "read".to_owned(), title.to_owned());
    let payload = Payload::ToolStarted { turn: 1, call, tool, title, input: None, auto: None };
    let event = Box::new(Event { seq: 1, session: "efgh3456".into(), at: 0, v: 1, payload });
    let path = vec!["efgh3456".to_owned()];
    Payload::SubagentEvent { origin: Origin { agent_type: "explore".into(), path, ..Origin::default() }, event }
}

#[test]
fn a_child_is_talk_and_the_end_of_the_turn_forgets_it() {
    use In::{Child, Delta, Done};
    let (data, talk) =
        play(&[Delta("one"), Child("reading"), Child("reading"), Done("one"), Child("reading"), Done("two")]);
    assert_eq!(data, "one\ntwo\n");
    assert_eq!(talk, "  explore efgh3456 · reading\n  explore efgh3456 · reading\n");
}

#[test]
fn what_a_child_asks_is_worth_a_look_at_the_parent() {
    let asked = Payload::QuestionAsked { turn: 1, questions: vec![], call: None };
    for (payload, expected) in [(asked, Some("abcd2345".to_owned())), (Payload::Archived {}, None)] {
        let Payload::SubagentEvent { origin, mut event } = of_child("x") else { panic!("not of a child") };
        event.payload = payload;
        let payload = Payload::SubagentEvent { origin, event };
        let fact = Event { seq: 1, session: "abcd2345".into(), at: 0, v: 1, payload };
        let item = Item::Fact { seq: 1, text: serde_json::to_string(&fact).unwrap() };
        assert_eq!(session_that_may_rest(&item), expected);
    }
}

#[test]
fn talk_does_not_continue_the_line_of_an_answer() {
    use In::{Delta, Done, Warning};
    let (data, talk) = play(&[Delta("done"), Warning, Done("done")]);
    assert_eq!((data.as_str(), talk.as_str()), ("done\n", "warning: a hook was ignored\n"));
}

#[test]
fn another_block_begins_on_its_own_line() {
    use In::{Begin, Delta, Done};
    assert_eq!(play(&[Delta("one"), Begin("two"), Done("two")]).0, "one\ntwo\n");
    assert_eq!(play(&[Delta("one"), Done("two")]).0, "one\ntwo\n");
}

#[test]
fn an_end_says_what_to_type() {
    let text = |session| closing(&session, NOW).iter().map(Line::text).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text(sample::asking()), @r"
    1. Which database?
       1) sqlite
       2) postgres
    2. Which port?
    coppice answer abcd2345
    ");
    insta::assert_snapshot!(text(sample::approval()), @r"
    r1  Bash(cargo test)  (12s ago)
      | cargo test
      | --quiet
    coppice approve abcd2345
    coppice deny abcd2345
    ");
    let mut parent = Session { status: Status::Running, ..sample::approval() };
    (parent.approvals[0].id, parent.approvals[0].agent) = ("efgh3456/1".into(), Some("explore".into()));
    insta::assert_snapshot!(text(parent), @r"
    efgh3456/1  Bash(cargo test)  (explore, 12s ago)
      | cargo test
      | --quiet
    coppice approve abcd2345
    coppice deny abcd2345
    ");
    insta::assert_snapshot!(text(sample::failed()), @r"
    failed: the backend exited before it answered
    hint: `coppice resume abcd2345` goes on
    ");
    insta::assert_snapshot!(text(sample::conflict()), @r"
    conflict
      a.rs
      b.rs
    hint: `main` is merged into the worktree; conflicting text files have marks: `coppice resolve abcd2345` proposes a resolution, `coppice send abcd2345 'resolve the conflict'` lets the agent edit them, or edit the files in /data/worktrees/abcd2345; then `coppice merge abcd2345`
    ");
    insta::assert_snapshot!(text(sample::session(Status::Ready)), @r"
    ready abcd2345  2 files +12 -4
    coppice diff abcd2345
    coppice merge abcd2345
    ");
    let usage = Usage { input_tokens: 1200, output_tokens: 34, cost_usd: Some(0.05) };
    insta::assert_snapshot!(text(Session { usage, ..sample::session(Status::Ready) }), @r"
    ready abcd2345  2 files +12 -4  1200 tokens in, 34 out, $0.05
    coppice diff abcd2345
    coppice merge abcd2345
    ");
}
