//! Written conversations: each test is what the agent says and what must come of it.

use serde_json::{Value, json};

use super::{PATIENCE, Talk, confined, message, opened, prompt, ready, wishes};
use crate::backend::Purpose;
use crate::backend::codex::fault::Refusal;
use crate::backend::codex::settings::Wishes;
use crate::backend::codex::thread::{Effect, Input, Tag};
use crate::backend::event::{Command, Decision};
use crate::backend::failure::{Failure, FailureKind};

const STARTED: &str = "started 0.166.0 Some(\"gpt-5.5\") restored=false models=";

fn command(id: &str) -> Value {
    json!({"type": "commandExecution", "id": id, "command": "/bin/sh -c 'sleep 9'", "status": "inProgress"})
}

fn interrupt() -> Input {
    Input::Command(Command::Interrupt)
}

fn lost() -> Input {
    Input::Lost { failure: None, status: Some("signal 9".to_owned()), stderr_tail: "boom\n".to_owned() }
}

#[test]
fn nobody_logged_in_is_told_before_anything_is_sent() {
    let mut talk = Talk::new(wishes());
    talk.input(prompt("go")).input(ready()).reply(json!({"account": null, "requiresOpenaiAuth": true}));
    talk.reply(json!({"config": {}}));
    talk.expect_events(&["failed auth \"codex is not logged in\"", "exited None \"\""]);
    assert_eq!(talk.methods(), ["account/read", "config/read"]);
    // Another provider needs no account.
    assert!(Talk::open(wishes()).events.starts_with(STARTED));
}

#[test]
fn a_refused_configuration_is_told_although_codex_looks_logged_out() {
    let said = "failed to load configuration: /h/config.toml:3:19: unknown variant";
    for (account, reply, expected) in [
        (json!({"account": null, "requiresOpenaiAuth": true}), Some(said), said),
        (json!({}), Some(said), said),
        (json!({}), Some("no rollout found"), "invalid configuration"),
        (json!({}), None, "invalid configuration"),
    ] {
        let mut talk = Talk::new(wishes());
        talk.input(prompt("go")).input(ready()).reply(account).refuse("invalid configuration");
        match reply {
            Some(message) => talk.refuse(message),
            // It was corrected in between; nothing was switched off in that thread.
            None => talk.reply(opened("t")).reply(json!({"status": "notLoaded"})),
        };
        talk.expect_events(&[&format!("failed setup {expected:?}"), "exited None \"\""]);
    }
}

#[test]
fn a_survey_lists_what_is_not_hidden_and_opens_no_thread() {
    let mut talk = Talk::new(Wishes { purpose: Purpose::Survey, ..wishes() });
    talk.input(ready()).reply(json!({"config": {"model": "c"}}));
    talk.reply(json!({"data": [{"id": "a"}, {"id": "b", "hidden": true}, {"model": "c"}]}));
    talk.expect_events(&["started 0.166.0 Some(\"c\") restored=false models=a,c"]);
    talk.input(Input::Command(Command::Close));
    assert_eq!(talk.methods(), ["config/read", "model/list"]);
    assert_eq!(talk.other, [Effect::Finish]);
}

#[test]
fn an_unknown_thread_is_started_afresh() {
    let resume = |message: &str| {
        let mut talk = Talk::new(Wishes { resume: Some("old".to_owned()), ..wishes() });
        talk.input(ready()).reply(json!({})).reply(json!({"config": {}})).refuse(message);
        talk
    };
    for message in ["no rollout found for thread id old", "invalid session id: old", "session old is archived"] {
        let mut talk = resume(message);
        talk.reply(opened("t"));
        assert_eq!(talk.methods(), ["account/read", "config/read", "thread/resume", "thread/start"]);
        talk.expect_events(&[STARTED]);
    }
    let mut broken = resume("failed to load configuration: /h/config.toml:1:2");
    broken.expect_events(&["failed setup \"failed to load configuration: /h/config.toml:1:2\"", "exited None \"\""]);
    assert_eq!(broken.input(prompt("late")).events.lines().count(), 3);
}

#[test]
fn a_thread_that_another_process_still_holds_is_waited_for() {
    let mut talk = Talk::new(Wishes { resume: Some("t".to_owned()), ..wishes() });
    talk.input(ready()).reply(json!({})).reply(json!({"config": {}}));
    talk.refuse("thread t already has an active writer").input(Input::Elapsed).reply(opened("t"));
    assert_eq!(talk.methods()[2..], ["thread/resume", "thread/resume"]);
    talk.expect_events(&["started 0.166.0 Some(\"gpt-5.5\") restored=true models="]);
}

#[test]
fn a_thread_in_the_wrong_sandbox_is_not_used() {
    let mut wrong = opened("t");
    wrong["sandbox"] = json!({"type": "readOnly"});
    let mut talk = Talk::new(Wishes { resume: Some("t".to_owned()), ..wishes() });
    talk.input(ready()).reply(json!({})).reply(json!({"config": {}})).reply(wrong.clone()).reply(wrong);
    assert_eq!(talk.methods()[2..4], ["thread/resume", "thread/start"]);
    let text = "codex opened the conversation with sandbox `readOnly`, asked for `dangerFullAccess`";
    talk.expect_events(&[&format!("failed sandbox {text:?}")]);
}

#[test]
fn every_turn_carries_the_schema_and_one_runs_at_a_time() {
    let mut talk = Talk::open(wishes());
    talk.input(prompt("one")).input(prompt("two")).reply(json!({"turn": {"id": "u"}}));
    assert_eq!(talk.methods().iter().filter(|method| **method == "turn/start").count(), 1);
    talk.end("completed", message("first"));
    let turns: Vec<&Value> =
        talk.asked.iter().filter(|(method, _)| *method == "turn/start").map(|(_, params)| params).collect();
    assert_eq!(turns.len(), 2);
    assert!(turns.iter().all(|turn| turn["outputSchema"] == json!({"type": "object"})));
    assert_eq!(turns[1]["input"][0]["text"], "two");
    talk.expect_events(&[STARTED, "final \"first\" EndTurn"]);
}

#[test]
fn the_final_message_is_chosen_as_the_agent_chooses() {
    let item = |text: &str, phase: Value| json!({"type": "agentMessage", "text": text, "phase": phase});
    for (items, expected) in [
        (json!([item("a", json!("final_answer")), item("b", json!("commentary"))]), "final \"a\" EndTurn"),
        (json!([item("a", Value::Null), item("b", Value::Null)]), "final \"b\" EndTurn"),
        (json!([]), "final \"\" EndTurn"),
        (json!([item(" ", Value::Null)]), "final \"\" EndTurn"),
    ] {
        let mut talk = Talk::in_turn();
        talk.end("completed", items);
        talk.expect_events(&[expected]);
    }
}

#[test]
fn facts_of_another_turn_are_not_ours() {
    let mut talk = Talk::open(wishes());
    talk.input(prompt("go"));
    // A restored thread repeats what its last turn used, before the reply names ours.
    let usage = json!({"last": {"inputTokens": 100, "outputTokens": 20}});
    talk.notice("thread/tokenUsage/updated", json!({"turnId": "old", "tokenUsage": usage}));
    talk.reply(json!({"turn": {"id": "u"}}));
    talk.notice("thread/tokenUsage/updated", json!({"turnId": "u", "tokenUsage": usage}));
    talk.notice("item/completed", json!({"turnId": "old", "item": command("late")}));
    talk.notice("turn/completed", json!({"turn": {"id": "old", "status": "completed", "items": message("old")}}));
    talk.expect_events(&[STARTED, "usage Some(100) Some(20)"]);
}

#[test]
fn a_notification_may_come_before_the_reply() {
    let mut talk = Talk::open(wishes());
    talk.input(prompt("go")).notice("turn/started", json!({"turn": {"id": "u"}})).item("started", command("c"));
    let tag = *talk.tags.last().unwrap();
    talk.end("completed", message("done"));
    // What still runs is ended before the turn counts as done.
    assert_eq!(talk.methods().last(), Some(&"thread/backgroundTerminals/clean"));
    talk.expect_events(&[STARTED, "tool started \"sleep 9\" Execute", "tool finished Unfinished \"\""]);
    talk.item("completed", command("c")).input(prompt("next"));
    // The reply to the first turn comes when the second runs.
    talk.input(Input::Replied { tag, outcome: Ok(json!({"turn": {"id": "u"}})) });
    talk.input(interrupt());
    assert!(!talk.methods().contains(&"turn/interrupt"), "the second turn has no id yet");
    talk.expect_events(&[
        STARTED,
        "tool started \"sleep 9\" Execute",
        "tool finished Unfinished \"\"",
        "final \"done\" EndTurn",
    ]);
}

#[test]
fn an_interrupt_waits_for_the_commands_it_ends() {
    let mut talk = Talk::in_turn();
    talk.item("started", command("c")).input(interrupt()).input(interrupt()).end("interrupted", json!([]));
    assert_eq!(talk.methods(), ["turn/interrupt", "thread/backgroundTerminals/clean"]);
    assert_eq!(talk.asked[0].1, json!({"threadId": "t", "turnId": "u"}));
    talk.expect_events(&["tool started \"sleep 9\" Execute", "tool finished Unfinished \"\""]);
    talk.item("completed", command("other")).item("completed", command("c"));
    assert_eq!(talk.events.lines().last(), Some("failed cancelled \"the turn was interrupted\""));
    assert_eq!(talk.other, [Effect::Arm(PATIENCE), Effect::Arm(PATIENCE), Effect::Disarm]);
    talk.input(prompt("next"));
    assert_eq!(talk.methods().last(), Some(&"turn/start"));
}

#[test]
fn a_turn_that_cannot_be_interrupted_ends_its_conversation_and_nobody_elses() {
    let mut talk = Talk::in_turn();
    talk.input(interrupt()).input(Input::Elapsed);
    talk.expect_events(&["failed cancelled \"the turn was interrupted\""]);
    assert_eq!(talk.methods()[1..], ["thread/backgroundTerminals/clean", "thread/unsubscribe"]);
    assert!(talk.other.contains(&Effect::Suspect));
    talk.notice("thread/closed", json!({"threadId": "t"}));
    assert_eq!(talk.other.last(), Some(&Effect::Finish));
}

#[test]
fn an_interrupt_before_the_turn_has_an_id_is_sent_with_it() {
    let mut talk = Talk::open(wishes());
    talk.input(prompt("go")).input(interrupt());
    assert_eq!(talk.methods().last(), Some(&"turn/start"));
    talk.reply(json!({"turn": {"id": "u"}}));
    assert_eq!(talk.asked.last().unwrap().1["turnId"], "u");
}

#[test]
fn requests_are_answered_whatever_they_are() {
    let mut talk = Talk::in_turn();
    talk.request(0, "item/commandExecution/requestApproval", json!({"itemId": "c", "command": "ls"}));
    talk.request(0, "item/commandExecution/requestApproval", json!({"itemId": "c", "command": "ls"}));
    talk.request(1, "item/tool/call", json!({"tool": "report", "arguments": {"x": 1}}));
    talk.request(2, "applyPatchApproval", json!({})).request(
        3,
        "mcpServer/elicitation/request",
        json!({"_meta": null}),
    );
    talk.expect_events(&["approval 0 \"ls\" \"ls\" Elsewhere", "tool requested 1 report {\"x\":1}"]);
    assert_eq!(talk.answered[0].1, Err("method `applyPatchApproval` is not supported".to_owned()));
    assert_eq!(talk.answered[1].1, Ok(json!({"action": "decline"})));
    talk.input(Input::Command(Command::Decide { request: "0".to_owned(), decision: Decision::Once }));
    talk.input(Input::Command(Command::Decide { request: "0".to_owned(), decision: Decision::Once }));
    talk.input(Input::Command(Command::ToolResult { request: "1".to_owned(), outcome: Err("no".to_owned()) }));
    assert_eq!(talk.answered[2], (json!(0), Ok(json!({"decision": "accept"}))));
    let refused = json!({"contentItems": [{"type": "inputText", "text": "no"}], "success": false});
    assert_eq!(talk.answered[3..], [(json!(1), Ok(refused))]);
    talk.end("completed", message("done")).request(4, "item/fileChange/requestApproval", json!({}));
    assert_eq!(talk.answered.last().unwrap().1, Err("the turn is over".to_owned()));
}

/// The protocol has no place for a reason, so the words go first, and the refusal when they are taken or not.
#[test]
fn a_refusal_brings_the_words_of_the_person_into_the_turn() {
    let refuse = |message: Option<&str>| {
        let mut talk = Talk::in_turn();
        let params = json!({"threadId": "t", "turnId": "u", "itemId": "c", "command": "make", "cwd": "/tree"});
        talk.request(0, "item/commandExecution/requestApproval", params);
        let decision = Decision::Deny { message: message.map(str::to_owned) };
        let effects = talk.thread.step(Input::Command(Command::Decide { request: "0".to_owned(), decision }));
        (talk, effects)
    };
    let declined = Effect::Answer { id: json!(0), outcome: Ok(json!({"decision": "decline"})) };
    for nothing in [None, Some(" ")] {
        assert_eq!(refuse(nothing).1, std::slice::from_ref(&declined));
    }
    for outcome in [Ok(json!({"turnId": "u"})), Err(Refusal::Silence)] {
        let (mut talk, effects) = refuse(Some("use just"));
        let [Effect::Ask { method: "turn/steer", params, .. }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!((&params["expectedTurnId"], &params["input"][0]["text"]), (&json!("u"), &json!("use just")));
        let taken = talk.thread.step(Input::Replied { tag: Tag::Steer, outcome });
        assert_eq!(taken, std::slice::from_ref(&declined));
    }
}

#[test]
fn a_session_with_limits_needs_a_sandbox_that_works() {
    let open = || {
        let mut talk = Talk::new(confined());
        talk.input(ready()).reply(json!({})).reply(json!({"config": {}}));
        talk
    };
    let mut talk = open();
    talk.reply(json!({"exitCode": 0, "stdout": "", "stderr": ""}));
    assert_eq!(talk.methods(), ["account/read", "config/read", "command/exec", "thread/start"]);
    let no_sandbox = "failed sandbox \"codex cannot make a sandbox for commands: bwrap: no\"";
    let mut talk = open();
    talk.reply(json!({"exitCode": 1, "stderr": "\nbwrap: no\nmore"}));
    talk.expect_events(&[no_sandbox, "exited None \"\""]);
    let mut talk = open();
    talk.refuse("bwrap: no");
    talk.expect_events(&[no_sandbox, "exited None \"\""]);
}

#[test]
fn a_withdrawn_request_is_gone() {
    let mut talk = Talk::in_turn();
    talk.request(0, "item/fileChange/requestApproval", json!({"itemId": "c"}));
    talk.request(1, "item/tool/call", json!({"tool": "report"}));
    talk.notice("serverRequest/resolved", json!({"requestId": 0}))
        .notice("serverRequest/resolved", json!({"requestId": 9}));
    talk.input(interrupt());
    assert_eq!(talk.events.lines().skip(2).collect::<Vec<_>>(), ["approval gone 0", "tool request gone 1"]);
    assert_eq!(talk.answered.len(), 1, "an approval that is gone is not answered");
}

#[test]
fn a_crash_fails_the_turn_and_what_waits() {
    let mut talk = Talk::in_turn();
    talk.item("started", command("c")).input(prompt("next")).input(lost()).input(lost());
    talk.expect_events(&[
        "tool started \"sleep 9\" Execute",
        "tool finished Unfinished \"\"",
        "failed crashed \"codex ended in the middle of a turn with signal 9: boom\"",
        "failed crashed \"codex ended before it took the prompt with signal 9: boom\"",
        "exited Some(\"signal 9\") \"boom\\n\"",
    ]);
    let mut streaming = Talk::in_turn();
    streaming.item("started", command("c"));
    streaming.notice("item/commandExecution/outputDelta", json!({"turnId": "u", "itemId": "c", "delta": "half"}));
    streaming.input(lost());
    assert!(streaming.events.contains("tool finished Unfinished \"half\""), "{}", streaming.events);
    let mut idle = Talk::open(wishes());
    idle.input(lost());
    idle.expect_events(&[STARTED, "exited Some(\"signal 9\") \"boom\\n\""]);
    let mut early = Talk::new(wishes());
    let failure = Failure::new(FailureKind::Setup, "no such program");
    early.input(Input::Lost { failure: Some(failure), status: None, stderr_tail: String::new() });
    early.expect_events(&["failed setup \"no such program\"", "exited None \"\""]);
}

#[test]
fn silence_after_a_prompt_ends_the_conversation() {
    let mut talk = Talk::open(wishes());
    talk.input(prompt("go"));
    let tag = *talk.tags.last().unwrap();
    talk.input(Input::Replied { tag, outcome: Err(Refusal::Silence) });
    talk.expect_events(&[STARTED, "failed timeout \"codex did not answer the turn\""]);
    assert_eq!(talk.methods().last(), Some(&"thread/unsubscribe"));
}

#[test]
fn a_refused_prompt_leaves_the_conversation_as_it_was() {
    let mut talk = Talk::open(wishes());
    talk.input(prompt("go")).refuse("bad input").input(prompt("again"));
    talk.expect_events(&[STARTED, "failed protocol \"codex refuses the turn: bad input\""]);
    talk.refuse("thread not found: t");
    assert_eq!(talk.methods().last(), Some(&"thread/unsubscribe"));
}

#[test]
fn a_process_that_is_replaced_is_left_between_turns() {
    let mut busy = Talk::in_turn();
    busy.input(prompt("second")).input(Input::Retiring).end("completed", message("first"));
    assert_eq!(busy.methods(), ["turn/start"]);
    busy.notice("turn/started", json!({"turn": {"id": "v"}}));
    busy.notice("turn/completed", json!({"turn": {"id": "v", "status": "completed", "items": message("second")}}));
    assert_eq!(busy.methods()[1..], ["thread/backgroundTerminals/clean", "thread/unsubscribe"]);
    busy.notice("thread/closed", json!({}));
    busy.expect_events(&["final \"first\" EndTurn", "final \"second\" EndTurn"]);
    assert_eq!(busy.other.last(), Some(&Effect::Part), "and nobody has to hear of it");
    busy.input(Input::Command(Command::Close));
    assert_eq!(busy.events.lines().last(), Some("exited None \"\""));

    // A thread without a turn could not be found again; its first turn comes before.
    let mut fresh = Talk::open(wishes());
    fresh.asked.clear();
    fresh.input(Input::Retiring);
    assert!(fresh.asked.is_empty());
    fresh.input(prompt("first")).reply(json!({"turn": {"id": "u"}})).end("completed", message("done"));
    assert_eq!(fresh.methods().last(), Some(&"thread/unsubscribe"));
}

#[test]
fn a_close_lets_go_of_the_thread_wherever_it_comes() {
    let close = || Input::Command(Command::Close);
    let mut talk = Talk::in_turn();
    talk.input(prompt("late")).input(close()).end("interrupted", json!([]));
    talk.reply(json!({"status": "unsubscribed"})).notice("thread/closed", json!({}));
    talk.expect_events(&[
        "failed cancelled \"the turn was interrupted\"",
        "failed cancelled \"the conversation was closed before it took the prompt\"",
        "exited None \"\"",
    ]);
    // The thread that opens this moment is let go as well.
    let mut opening = Talk::new(wishes());
    opening.input(ready()).reply(json!({})).reply(json!({"config": {}})).input(close()).reply(opened("t"));
    assert_eq!(opening.methods().last(), Some(&"thread/unsubscribe"));
    opening.reply(json!({"status": "notLoaded"}));
    opening.expect_events(&["exited None \"\""]);
    let mut joining = Talk::new(wishes());
    joining.input(close());
    assert_eq!(joining.other, [Effect::Finish]);
}

#[test]
fn an_image_that_is_missing_fails_its_prompt_only() {
    let mut talk = Talk::open(wishes());
    talk.input(Input::NoImage("/x.png".into())).input(prompt("go"));
    talk.expect_events(&[STARTED, "failed setup \"image `/x.png` cannot be read\""]);
    assert_eq!(talk.methods().last(), Some(&"turn/start"));
}

#[test]
fn long_output_is_streamed_up_to_a_limit() {
    let mut talk = Talk::in_turn();
    talk.item("started", command("c"));
    for _ in 0..20 {
        talk.notice(
            "item/commandExecution/outputDelta",
            json!({"turnId": "u", "itemId": "c", "delta": "x".repeat(8192)}),
        );
    }
    assert!(talk.events.len() < 80_000 && talk.events.contains("further output left out"));
}
