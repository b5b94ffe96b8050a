//! The pipe: who gets what, and when the process is given up.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::PATIENCE;
use crate::backend::codex::fault::Refusal;
use crate::backend::codex::hub::{Ask, Effect, Hub, Input, Member};
use crate::backend::codex::settings::Opening;
use crate::backend::codex::thread::{self, Tag};
use crate::backend::spec::StopLadder;
use crate::backend::transport::spawn::Signal;

const STOP: StopLadder = StopLadder { cancel: PATIENCE, terminate: Duration::from_secs(3) };

/// A hub, its clock, and what it did as lines.
struct Pipe {
    hub: Hub,
    now: Instant,
    log: Vec<String>,
    sent: Vec<Value>,
}

impl Pipe {
    fn begin() -> Self {
        let now = Instant::now();
        let (hub, effects) = Hub::begin(STOP, 7, now);
        let mut pipe = Self { hub, now, log: Vec::new(), sent: Vec::new() };
        pipe.note(effects);
        pipe
    }

    /// A process that answers, with two conversations.
    fn ready() -> Self {
        let mut pipe = Self::begin();
        pipe.step(Input::Join(1)).step(Input::Join(2));
        pipe.line(json!({"id": 1, "result": {"userAgent": "coppice/0.166.0 (x)"}}));
        pipe.log.clear();
        pipe
    }

    fn step(&mut self, input: Input) -> &mut Self {
        let effects = self.hub.step(input, self.now);
        self.note(effects);
        self
    }

    fn line(&mut self, message: Value) -> &mut Self {
        self.step(Input::Line(message.to_string()))
    }

    fn ask(&mut self, member: Member, tag: Tag, method: &'static str, params: Value) -> &mut Self {
        self.step(Input::Ask(Ask { member, tag, method, params, limit: Duration::from_secs(30) }))
    }

    /// Lets the clock run to the next deadline.
    fn wait(&mut self) -> &mut Self {
        self.now = self.hub.deadline().expect("nothing to wait for");
        self.step(Input::Elapsed)
    }

    /// The reply to the last request.
    fn reply(&mut self, result: Value) -> &mut Self {
        let id = self.sent.last().unwrap()["id"].clone();
        self.line(json!({"id": id, "result": result}))
    }

    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.log.push(match effect {
                Effect::Send(line) => {
                    let message: Value = serde_json::from_str(&line).unwrap();
                    let what = message["method"].as_str().unwrap_or("reply").to_owned();
                    self.sent.push(message);
                    what
                }
                Effect::Deliver(member, input) => format!("{member}: {}", describe(&input)),
                Effect::TurnAway(member) => format!("{member}: turned away"),
                Effect::Unlist => "unlist".to_owned(),
                Effect::Weigh => "weigh".to_owned(),
                Effect::CloseInput => "close".to_owned(),
                Effect::Signal(Signal::Terminate) => "terminate".to_owned(),
                Effect::Signal(Signal::Interrupt | Signal::Kill) => "kill".to_owned(),
                Effect::Finish => "finish".to_owned(),
            });
        }
    }

    #[track_caller]
    fn expect(&mut self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.log), expected);
    }
}

fn describe(input: &thread::Input) -> String {
    match input {
        thread::Input::Ready { info, .. } => format!("ready {}", info.version),
        thread::Input::Notified { method, .. } | thread::Input::Asked { method, .. } => method.clone(),
        thread::Input::Replied { outcome: Ok(_), .. } => "reply".to_owned(),
        thread::Input::Replied { outcome: Err(Refusal::Silence), .. } => "silence".to_owned(),
        thread::Input::Replied { outcome: Err(Refusal::Error(error)), .. } => error.message.clone(),
        thread::Input::Retiring => "retiring".to_owned(),
        thread::Input::Lost { failure, .. } => {
            format!("lost {:?}", failure.as_ref().map(|failure| failure.message.as_str()))
        }
        thread::Input::Command(_) | thread::Input::NoImage(_) | thread::Input::Elapsed => "odd".to_owned(),
    }
}

fn gone() -> Input {
    Input::Gone { status: None, stderr_tail: String::new() }
}

#[test]
fn requests_wait_for_the_handshake() {
    let mut pipe = Pipe::begin();
    pipe.step(Input::Join(1)).ask(1, Tag::Account, "account/read", json!({}));
    pipe.expect(&["initialize"]);
    assert_eq!(pipe.sent[0]["params"]["capabilities"]["experimentalApi"], true);
    pipe.line(json!({"id": 1, "result": {"userAgent": "coppice/0.166.0 (Debian)"}}));
    pipe.expect(&["initialized", "1: ready 0.166.0", "account/read"]);
    pipe.step(Input::Join(2)).expect(&["2: ready 0.166.0"]);
}

#[test]
fn messages_go_to_the_owner_of_the_thread_and_nobody_else() {
    let mut pipe = Pipe::ready();
    pipe.ask(1, Tag::Open(Opening::Start), "thread/start", json!({}));
    // A thread that opens has no owner until the reply.
    pipe.line(json!({"method": "mcpServer/startupStatus/updated", "params": {"threadId": "a"}}));
    pipe.reply(json!({"thread": {"id": "a"}}));
    pipe.ask(2, Tag::Open(Opening::Resume), "thread/resume", json!({"threadId": "b"}));
    pipe.line(json!({"method": "turn/started", "params": {"threadId": "b"}}));
    pipe.line(json!({"method": "turn/started", "params": {"threadId": "a"}}));
    pipe.line(json!({"method": "turn/started", "params": {"threadId": "c"}}));
    pipe.line(json!({"method": "account/updated", "params": {}}));
    pipe.expect(&["thread/start", "1: reply", "thread/resume", "2: turn/started", "1: turn/started"]);
    // The agent's ids are a series of their own and collide with ours.
    pipe.line(json!({"id": 1, "method": "item/tool/call", "params": {"threadId": "a"}}));
    pipe.step(Input::Answer { id: json!(1), outcome: Ok(json!({"ok": true})) });
    pipe.line(json!({"id": 0, "method": "attestation/generate", "params": {}}));
    pipe.line(json!({"id": 7, "method": "execCommandApproval", "params": {"threadId": "c"}}));
    pipe.expect(&["1: item/tool/call", "reply", "reply", "reply"]);
    let answers = &pipe.sent[pipe.sent.len() - 3..];
    assert_eq!((&answers[0]["id"], &answers[0]["result"]["ok"]), (&json!(1), &json!(true)));
    assert!(answers[1]["error"]["message"].is_string() && answers[2]["error"]["message"].is_string());
}

#[test]
fn garbage_is_skipped() {
    let mut pipe = Pipe::ready();
    for line in ["", "not json", "{\"id\":null}", "{\"id\":99,\"result\":{}}", "[1]"] {
        pipe.step(Input::Line(line.to_owned()));
    }
    pipe.expect(&[]);
}

#[test]
fn a_thread_has_one_owner_at_a_time() {
    let mut pipe = Pipe::ready();
    pipe.ask(1, Tag::Open(Opening::Resume), "thread/resume", json!({"threadId": "a"}))
        .reply(json!({"thread": {"id": "a"}}));
    pipe.ask(2, Tag::Open(Opening::Resume), "thread/resume", json!({"threadId": "a"}));
    pipe.expect(&["thread/resume", "1: reply"]);
    pipe.line(json!({"method": "thread/closed", "params": {"threadId": "a"}})).step(Input::Leave(1));
    pipe.expect(&["1: thread/closed", "thread/resume"]);
}

#[test]
fn what_a_member_leaves_behind_is_let_go() {
    let mut pipe = Pipe::ready();
    pipe.ask(1, Tag::Open(Opening::Resume), "thread/resume", json!({"threadId": "a"}));
    pipe.ask(1, Tag::Open(Opening::Start), "thread/start", json!({}));
    pipe.step(Input::Leave(1));
    pipe.expect(&["thread/resume", "thread/start", "thread/unsubscribe"]);
    // The thread that opens too late goes the same way.
    let start = pipe.sent.iter().find(|sent| sent["method"] == "thread/start").unwrap()["id"].clone();
    pipe.line(json!({"id": start, "result": {"thread": {"id": "late"}}})).expect(&["thread/unsubscribe"]);
}

#[test]
fn silence_is_told_to_who_asked_and_the_process_is_probed() {
    let mut pipe = Pipe::ready();
    pipe.ask(1, Tag::Config, "config/read", json!({})).wait();
    pipe.expect(&["config/read", "1: silence", "thread/loaded/list"]);
    pipe.reply(json!({"data": []})).expect(&[]);
    assert_eq!(pipe.hub.deadline(), None, "a process that answers is left alone");
    // A late reply means nothing any more.
    pipe.line(json!({"id": 2, "result": {}})).expect(&[]);
}

#[test]
fn a_process_that_answers_nobody_is_ended_step_by_step() {
    let mut pipe = Pipe::ready();
    pipe.step(Input::Suspect).step(Input::Suspect).wait();
    pipe.expect(&["thread/loaded/list", "unlist", "terminate"]);
    pipe.wait().expect(&["kill"]);
    pipe.wait();
    let lost = "lost Some(\"codex stopped answering and was ended\")";
    pipe.expect(&["unlist", &format!("1: {lost}"), &format!("2: {lost}"), "finish"]);
    pipe.step(gone()).expect(&[]);
}

#[test]
fn a_process_that_does_not_start_is_told_to_everybody() {
    let mut pipe = Pipe::begin();
    pipe.step(Input::Join(1)).wait();
    pipe.expect(&["initialize", "unlist", "terminate"]);
    pipe.step(gone()).expect(&["unlist", "1: lost Some(\"codex did not start within 60 seconds\")", "finish"]);
}

#[test]
fn a_crash_is_told_to_every_member() {
    let mut pipe = Pipe::ready();
    pipe.step(Input::OutputClosed).expect(&["unlist", "close"]);
    pipe.step(gone()).expect(&["unlist", "1: lost None", "2: lost None", "finish"]);
}

#[test]
fn a_process_that_nobody_uses_ends_after_a_while() {
    let mut pipe = Pipe::ready();
    pipe.step(Input::Leave(1));
    assert_eq!(pipe.hub.deadline(), None);
    pipe.step(Input::Leave(2)).step(Input::Join(3)).step(Input::Leave(3));
    pipe.expect(&["3: ready 0.166.0"]);
    pipe.wait().expect(&["unlist", "close"]);
    pipe.step(Input::Join(4)).expect(&["4: turned away"]);
}

#[test]
fn a_process_that_grew_too_large_empties_and_ends() {
    let mut pipe = Pipe::ready();
    pipe.ask(1, Tag::Open(Opening::Resume), "thread/resume", json!({"threadId": "a"}));
    pipe.line(json!({"method": "turn/completed", "params": {"threadId": "a"}}));
    pipe.expect(&["thread/resume", "1: turn/completed", "weigh"]);
    pipe.step(Input::Weight(100 << 20)).expect(&[]);
    pipe.step(Input::Weight(2 << 30)).step(Input::Weight(2 << 30)).step(Input::Join(3));
    pipe.expect(&["unlist", "1: retiring", "2: retiring", "3: turned away"]);
    pipe.step(Input::Leave(2)).expect(&[]);
    pipe.step(Input::Leave(1)).expect(&["thread/unsubscribe", "close"]);
}

#[test]
fn a_process_that_does_not_read_is_ended() {
    let mut pipe = Pipe::ready();
    pipe.step(Input::Stuck).step(Input::Stuck).expect(&["unlist", "terminate", "unlist"]);
}

/// One thing that can happen to the pipe.
fn any_input() -> impl Strategy<Value = Input> {
    let member = || 1..4u64;
    let ask = |member, (tag, method): (Tag, &'static str)| {
        let params = json!({"threadId": "t"});
        Input::Ask(Ask { member, tag, method, params, limit: Duration::from_secs(30) })
    };
    let asks = prop::sample::select(vec![
        (Tag::Account, "account/read"),
        (Tag::Open(Opening::Start), "thread/start"),
        (Tag::Open(Opening::Resume), "thread/resume"),
        (Tag::Unsubscribe, "thread/unsubscribe"),
    ]);
    let line = |message: Value| Input::Line(message.to_string());
    prop_oneof![
        4 => member().prop_map(Input::Join),
        3 => member().prop_map(Input::Leave),
        6 => (member(), asks).prop_map(move |(member, what)| ask(member, what)),
        8 => (1..12u64).prop_map(move |id| line(json!({"id": id, "result": {"userAgent": "x/1.2.3", "thread": {"id": "t"}}}))),
        2 => (1..12u64).prop_map(move |id| line(json!({"id": id, "error": {"code": -1, "message": "no"}}))),
        3 => Just(()).prop_map(move |()| line(json!({"method": "turn/completed", "params": {"threadId": "t"}}))),
        1 => Just(()).prop_map(move |()| line(json!({"method": "thread/closed", "params": {"threadId": "t"}}))),
        2 => Just(()).prop_map(move |()| line(json!({"id": 0, "method": "item/tool/call", "params": {"threadId": "t"}}))),
        1 => Just(()).prop_map(|()| Input::Suspect),
        1 => Just(()).prop_map(|()| Input::Stuck),
        1 => Just(()).prop_map(|()| Input::OutputClosed),
        1 => Just(()).prop_map(|()| Input::Weight(2 << 30)),
        3 => Just(()).prop_map(|()| Input::Elapsed),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn whoever_joins_is_served_or_told(inputs in prop::collection::vec(any_input(), 0..60)) {
        let mut pipe = Pipe::begin();
        let mut members: Vec<Member> = Vec::new();
        for input in inputs.into_iter().chain([gone()]) {
            match &input {
                // Members have numbers of their own, and speak only while they are members.
                Input::Join(member) if members.contains(member) => continue,
                Input::Leave(member) | Input::Ask(Ask { member, .. }) if !members.contains(member) => continue,
                Input::Join(member) => members.push(*member),
                Input::Leave(member) => members.retain(|known| known != member),
                Input::Elapsed => pipe.now = pipe.hub.deadline().unwrap_or(pipe.now),
                _ => {}
            }
            pipe.step(input);
            for line in std::mem::take(&mut pipe.log) {
                let Some((member, said)) = line.split_once(": ") else { continue };
                let member: Member = member.parse().unwrap();
                prop_assert!(members.contains(&member), "{} is told `{}` after it left", member, said);
                if said == "turned away" || said.starts_with("lost") {
                    members.retain(|known| *known != member);
                }
            }
        }
        prop_assert!(members.is_empty(), "{:?} wait for a process that is gone", members);
        pipe.step(gone()).expect(&[]);
        prop_assert_eq!(pipe.hub.deadline(), None);
    }
}
