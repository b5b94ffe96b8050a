//! How turns and conversations are ended, and what is told of it.

use serde_json::json;

use super::{Log, Talk, asked, success, tool_use, wishes};
use crate::backend::claude::tests::{STOP, ready};
use crate::backend::event::{Command, Decision};
use crate::backend::transport::machine::{Effect, Input};
use crate::backend::transport::spawn::Signal;

#[test]
fn an_interrupt_withdraws_what_waits_and_refuses_what_still_comes() {
    let mut talk = Talk::in_turn(wishes());
    talk.line(tool_use("c1", "Bash", json!({"command": "make"})));
    talk.ask("q1", asked("c1"));
    talk.tell(Command::Interrupt);
    talk.ask("q2", asked("c2"));
    talk.tell(Command::Decide { request: "q1".to_owned(), decision: Decision::Once });
    talk.tell(Command::Interrupt);
    assert_eq!(talk.sent(), ["interrupt", r#""q2" {"behavior":"deny","message":"The turn is over."}"#]);
    talk.line(success());
    insta::assert_snapshot!(talk.events(), @r#"
    tool started "make" Execute
    approval "make" Execute "make" Command { text: "make", cwd: "/repo" }
    approval gone
    tool finished Unfinished ""
    failed cancelled "the turn was interrupted" (run `coppice resume`, or send another prompt)
    "#);
}

#[test]
fn an_interrupt_before_the_turn_began_is_said_again() {
    let mut talk = Talk::begin(wishes());
    talk.text(&ready());
    talk.prompt();
    talk.tell(Command::Interrupt);
    talk.line(json!({"type": "system", "subtype": "init", "tools": []}));
    talk.line(json!({"type": "system", "subtype": "init", "tools": []}));
    assert_eq!(talk.sent(), ["initialize", "user", "interrupt", "interrupt"]);
}

#[test]
fn an_agent_that_does_not_stop_is_interrupted_and_then_killed() {
    let mut talk = Talk::in_turn(wishes());
    talk.line(tool_use("c1", "Bash", json!({"command": "sleep"})));
    talk.tell(Command::Interrupt);
    for _ in 0..3 {
        talk.step(Input::Elapsed);
    }
    let effects = talk.other();
    let signals: Vec<_> = effects.iter().filter(|effect| matches!(effect, Effect::Signal(_))).collect();
    assert_eq!(signals, [&Effect::Signal(Signal::Interrupt), &Effect::Signal(Signal::Kill)]);
    insta::assert_snapshot!(talk.events(), @r#"
    tool started "sleep" Execute
    tool finished Unfinished ""
    failed cancelled "the turn was interrupted" (run `coppice resume`, or send another prompt)
    exited None ""
    "#);
}

#[test]
fn to_close_in_the_middle_of_a_turn_interrupts_it() {
    let mut talk = Talk::in_turn(wishes());
    talk.tell(Command::Close);
    assert_eq!(talk.sent(), ["interrupt"]);
    assert_eq!(talk.other(), [Effect::CloseInput, Effect::Arm(STOP.cancel)]);
    talk.line(success());
    talk.gone("exit status 0");
    insta::assert_snapshot!(talk.events(), @r#"
    failed cancelled "the turn was interrupted" (run `coppice resume`, or send another prompt)
    exited Some("exit status 0") "last words"
    "#);
}

#[test]
fn to_close_at_rest_ends_the_input_only() {
    let mut talk = Talk::begin(wishes());
    talk.text(&ready());
    talk.other();
    talk.sent();
    talk.tell(Command::Close);
    assert_eq!(talk.other(), [Effect::CloseInput, Effect::Arm(STOP.cancel)]);
    assert_eq!(talk.sent(), [""; 0]);
}

#[test]
fn a_crash_tells_the_status_and_the_last_words() {
    let mut talk = Talk::in_turn(wishes());
    talk.prompt();
    talk.line(tool_use("c1", "Bash", json!({"command": "make"})));
    talk.gone("signal 9");
    insta::assert_snapshot!(talk.events(), @r#"
    tool started "make" Execute
    tool finished Unfinished ""
    failed crashed "the agent ended in the middle of a turn with signal 9: last words" (run `coppice resume` to go on with the conversation)
    failed crashed "the agent ended before it took the prompt with signal 9: last words" (run `coppice resume` to go on with the conversation)
    exited Some("signal 9") "last words"
    "#);

    let mut talk = Talk::begin(wishes());
    talk.gone("exit status 1");
    insta::assert_snapshot!(talk.events(), @r#"
    failed crashed "the agent ended before it was ready with exit status 1: last words" (run `coppice resume` to go on with the conversation)
    exited Some("exit status 1") "last words"
    "#);
}

#[test]
fn what_a_stopped_turn_spent_is_counted() {
    let mut talk = Talk::in_turn(wishes());
    talk.tell(Command::Close);
    talk.log = Log::default();
    let mut result = success();
    result["usage"] = json!({"input_tokens": 3, "output_tokens": 4});
    talk.line(result);
    assert!(talk.events().starts_with("usage"));
}
