//! Recorded conversations, through the hub and the threads behind it: what the agent said goes in, and what the
//! record's client said must be among what we say, in its order.

mod asked;

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{prompt, render, wishes};
use crate::backend::Purpose;
use crate::backend::codex::hub::{self, Ask, Hub, Member};
use crate::backend::codex::settings::Wishes;
use crate::backend::codex::thread::{self, Thread};
use crate::backend::event::{Command, Decision};
use crate::backend::spec::StopLadder;

/// A shared process that a record speaks for.
struct Play {
    hub: Hub,
    now: Instant,
    threads: Vec<(Member, Thread)>,
    /// The ids of our requests by method, in order.
    asked: HashMap<String, Vec<Value>>,
    sent: Vec<String>,
    events: String,
}

impl Play {
    fn begin(wishes: Vec<Wishes>) -> Self {
        let now = Instant::now();
        let (hub, effects) = Hub::begin(StopLadder { cancel: super::PATIENCE, terminate: super::PATIENCE }, 7, now);
        let threads: Vec<_> = (1..).zip(wishes.into_iter().map(Thread::new)).collect();
        let members: Vec<Member> = threads.iter().map(|(member, _)| *member).collect();
        let mut play = Self { hub, now, threads, asked: HashMap::new(), sent: Vec::new(), events: String::new() };
        play.perform(effects);
        for member in members {
            play.step(hub::Input::Join(member));
        }
        play
    }

    fn step(&mut self, input: hub::Input) {
        let effects = self.hub.step(input, self.now);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<hub::Effect>) {
        for effect in effects {
            match effect {
                hub::Effect::Send(line) => self.send(&serde_json::from_str(&line).unwrap()),
                hub::Effect::Deliver(member, input) => self.tell(member, input),
                hub::Effect::Weigh => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn send(&mut self, message: &Value) {
        self.sent.push(label(message));
        let method = message["method"].as_str().unwrap_or_default();
        let id = message["id"].clone();
        match method {
            "account/read" => self.answer(&id, &json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true})),
            "config/read" => self.answer(&id, &json!({"config": {}})),
            method => self.asked.entry(method.to_owned()).or_default().push(id),
        }
    }

    fn answer(&mut self, id: &Value, result: &Value) {
        self.step(hub::Input::Line(json!({"id": id, "result": result}).to_string()));
    }

    fn tell(&mut self, member: Member, input: thread::Input) {
        let is_one = self.threads.len() == 1;
        let (_, thread) = self.threads.iter_mut().find(|(known, _)| *known == member).unwrap();
        for effect in thread.step(input) {
            match effect {
                thread::Effect::Ask { tag, method, params, limit } => {
                    self.step(hub::Input::Ask(Ask { member, tag, method, params, limit }));
                }
                thread::Effect::Answer { id, outcome } => self.step(hub::Input::Answer { id, outcome }),
                thread::Effect::Emit(event) if is_one => writeln!(self.events, "{}", render(&event)).unwrap(),
                thread::Effect::Emit(event) => writeln!(self.events, "{member}: {}", render(&event)).unwrap(),
                thread::Effect::Arm(_) | thread::Effect::Disarm | thread::Effect::Outdated => {}
                other @ (thread::Effect::Part | thread::Effect::Join) => panic!("{other:?}"),
                other @ (thread::Effect::Suspect | thread::Effect::Finish) => panic!("{other:?}"),
            }
        }
    }

    /// A line of the record's server. Its replies carry the ids of the record's client, so they are given ours.
    fn line(&mut self, message: &Value, requests: &HashMap<String, (String, usize)>) {
        if message["method"].is_string() {
            return self.step(hub::Input::Line(message.to_string()));
        }
        let Some((method, place)) = requests.get(&message["id"].to_string()) else { return };
        let Some(id) = self.asked.get(method).and_then(|ids| ids.get(*place)).cloned() else { return };
        let mut message = message.clone();
        message["id"] = id;
        // The records were made in a sandbox that no session asks for.
        if message["result"]["sandbox"]["type"] == "workspaceWrite" {
            message["result"]["sandbox"] = json!({"type": "dangerFullAccess"});
            message["result"]["approvalPolicy"] = json!("untrusted");
        }
        self.step(hub::Input::Line(message.to_string()));
    }
}

/// Plays a record and returns the events.
#[track_caller]
fn replay(record: &str, wishes: Vec<Wishes>) -> String {
    let mut play = Play::begin(wishes);
    let mut requests = HashMap::new();
    let mut expected = Vec::new();
    let mut turns = 0;
    for line in record.replace("{WORKTREE}", "/tree").lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let message = &entry["msg"];
        if entry["dir"] == "server" {
            play.line(message, &requests);
            continue;
        }
        expected.push(label(message));
        let Some(method) = message["method"].as_str() else {
            let request = message["id"].to_string();
            let command = match message["result"]["decision"].as_str().or(message["result"]["action"].as_str()) {
                Some("decline") => Command::Decide { request, decision: Decision::Deny { message: None } },
                Some("cancel") => Command::Interrupt,
                _ if message["result"]["contentItems"].is_array() => {
                    Command::ToolResult { request, outcome: Ok("dyn result".to_owned().into()) }
                }
                _ => Command::Decide { request, decision: Decision::Once },
            };
            play.tell(1, thread::Input::Command(command));
            continue;
        };
        let place = expected.iter().filter(|said| *said == method).count() - 1;
        requests.insert(message["id"].to_string(), (method.to_owned(), place));
        match method {
            "turn/start" => {
                turns = if play.threads.len() > 1 { turns + 1 } else { 1 };
                play.tell(turns, prompt("go"));
            }
            "turn/interrupt" => play.tell(1, thread::Input::Command(Command::Interrupt)),
            _ => {}
        }
    }
    let mut sent = play.sent.iter();
    for wanted in &expected {
        assert!(sent.any(|said| said == wanted), "{wanted} is missing in {:?}", play.sent);
    }
    play.events
}

/// What identifies a message in a record: its method, or the id it answers.
fn label(message: &Value) -> String {
    message["method"].as_str().map_or_else(|| format!("reply to {}", message["id"]), str::to_owned)
}

fn utility() -> Wishes {
    Wishes { purpose: Purpose::Utility, ..wishes() }
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codex/", $name, ".jsonl"))
    };
}
use fixture;

#[test]
fn a_simple_turn_ends_with_its_final_message() {
    insta::assert_snapshot!(replay(fixture!("simple-turn"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    thought "**Reading** the request"
    text "Looking a"
    text "t it now."
    text "\n\n"
    text "The RE"
    text "ADME s"
    text "ays he"
    text "llo."
    usage Some(100) Some(20)
    final "The README says hello." EndTurn
    "#);
}

#[test]
fn a_command_shows_its_output() {
    insta::assert_snapshot!(replay(fixture!("command"), vec![wishes()]), @r##"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    tool started "cat README.md; sleep 0.3; echo tail" Execute
    tool output "tail\n"
    tool finished Completed "# demo\n\nhello\ntail\n"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "##);
}

#[test]
fn an_interrupted_stream_is_cancelled() {
    insta::assert_snapshot!(replay(fixture!("interrupt"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    text "a "
    failed cancelled "the turn was interrupted"
    "#);
}

#[test]
fn a_killed_thread_goes_on() {
    let resume = Some("id-0".to_owned());
    insta::assert_snapshot!(replay(fixture!("resume-after-kill"), vec![Wishes { resume, ..wishes() }]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=true models=
    text "resumed"
    text " answer"
    usage Some(100) Some(20)
    final "resumed answer" EndTurn
    "#);
}

#[test]
fn errors_of_the_service_end_the_turn_with_their_kind() {
    insta::assert_snapshot!(replay(fixture!("error-401"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    retry "Reconnecting... 1/2 (unexpected status 401 Unauthorized: Incorrect API key provided., url: http://127.0.0.1:{PORT}/v1/responses)"
    retry "Reconnecting... 2/2 (unexpected status 401 Unauthorized: Incorrect API key provided., url: http://127.0.0.1:{PORT}/v1/responses)"
    failed auth "unexpected status 401 Unauthorized: Incorrect API key provided., url: http://127.0.0.1:{PORT}/v1/responses"
    "#);
    insta::assert_snapshot!(replay(fixture!("error-usage-limit"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    failed rate_limit "You’ve hit your usage limit. Visit {URL} to purchase more credits or try again at Nov 16th, 2026 12:46 AM."
    "#);
    insta::assert_snapshot!(replay(fixture!("error-500"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    retry "Reconnecting... 1/2 (We’re currently experiencing high demand, which may cause temporary errors.)"
    retry "Reconnecting... 2/2 (We’re currently experiencing high demand, which may cause temporary errors.)"
    failed transport "We’re currently experiencing high demand, which may cause temporary errors."
    "#);
    insta::assert_snapshot!(replay(fixture!("stream-cut-fails"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    text "partial t"
    text "ext that "
    text "is lost"
    retry "Reconnecting... 1/2 (stream disconnected before completion: Transport error: network error: error decoding response body)"
    text "\n\n"
    text "partial t"
    text "ext that "
    text "is lost"
    retry "Reconnecting... 2/2 (stream disconnected before completion: Transport error: network error: error decoding response body)"
    text "\n\n"
    text "partial t"
    text "ext that "
    text "is lost"
    failed transport "stream disconnected before completion: Transport error: network error: error decoding response body"
    "#);
}

#[test]
fn a_cut_stream_that_comes_back_has_one_answer() {
    insta::assert_snapshot!(replay(fixture!("stream-cut-then-ok"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    text "partial t"
    text "ext that "
    text "is lost"
    retry "Reconnecting... 1/2 (stream disconnected before completion: Transport error: network error: error decoding response body)"
    text "\n\n"
    text "whole "
    text "answer"
    usage Some(100) Some(20)
    final "whole answer" EndTurn
    "#);
}

#[test]
fn code_mode_looks_the_same() {
    insta::assert_snapshot!(replay(fixture!("code-mode-command"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-6.1-sol") restored=false models=
    tool started "echo hi" Execute
    tool finished Completed "hi\n"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn a_plan_is_shown() {
    insta::assert_snapshot!(replay(fixture!("plan"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    plan [PlanEntry { text: "Read", status: InProgress }, PlanEntry { text: "Write", status: Pending }]
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn three_threads_on_one_pipe_stay_apart() {
    let wishes = |n| Wishes { cwd: format!("/tree-{n}").into(), ..utility() };
    insta::assert_snapshot!(replay(fixture!("three-turns"), (0..3).map(wishes).collect()), @r#"
    1: started 0.166.0 Some("gpt-5.5") restored=false models=
    2: started 0.166.0 Some("gpt-5.5") restored=false models=
    3: started 0.166.0 Some("gpt-5.5") restored=false models=
    3: text "thre"
    1: text "thre"
    2: text "thre"
    3: text "e wo"
    1: text "e wo"
    2: text "e wo"
    3: text "rds "
    1: text "rds "
    2: text "rds "
    1: text "here"
    3: text "here"
    2: text "here"
    3: usage Some(100) Some(20)
    1: usage Some(100) Some(20)
    1: final "three words here" EndTurn
    3: final "three words here" EndTurn
    2: usage Some(100) Some(20)
    2: final "three words here" EndTurn
    "#);
}
