//! What agents do beyond the protocol: noise before the session is open, histories that no service takes, requests
//! that nobody hears, answers that come twice.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Log, POLICY, STOP, wishes};
use crate::backend::acp::client::Client;
use crate::backend::acp::handshake::Wishes;
use crate::backend::acp::policy::{Asks, Policy};
use crate::backend::event::{Block, Command};
use crate::backend::remedy::LoginRemedy;
use crate::backend::transport::machine::{Effect, Input, Machine};
use crate::backend::transport::spawn::Signal;

const MINUTES: std::time::Duration = std::time::Duration::from_secs(120);
const NOISY: std::time::Duration = std::time::Duration::from_secs(30);

struct Talk {
    client: Client,
    log: Log,
}

impl Talk {
    fn begin(policy: Policy, wishes: Wishes) -> Self {
        let (client, effects) = Client::begin(policy, wishes);
        let mut talk = Self { client, log: Log::default() };
        talk.log.note(effects);
        talk
    }

    /// A turn in a session that was restored.
    fn restored(policy: Policy) -> Self {
        let mut talk = Self::begin(policy, Wishes { resume: Some("s".to_owned()), ..wishes() });
        talk.reply(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).reply(json!({}));
        talk.input(Input::Elapsed).prompt();
        talk.log = Log { sent: talk.log.sent.split_off(2), ..Log::default() };
        talk
    }

    fn fresh(policy: Policy) -> Self {
        let mut talk = Self::begin(policy, wishes());
        talk.reply(json!({"protocolVersion": 1})).reply(json!({"sessionId": "s"})).prompt();
        talk.log = Log { sent: talk.log.sent.split_off(2), ..Log::default() };
        talk
    }

    fn input(&mut self, input: Input) -> &mut Self {
        self.log.note(self.client.step(input));
        self
    }

    fn prompt(&mut self) -> &mut Self {
        self.input(Input::Command(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] }))
    }

    fn line(&mut self, line: &str) -> &mut Self {
        self.input(Input::Line(line.to_owned()))
    }

    fn answer(&mut self, member: &str, value: Value) -> &mut Self {
        let id = self.log.sent.last().unwrap()["id"].clone();
        self.line(&json!({"id": id, member: value}).to_string())
    }

    fn reply(&mut self, result: Value) -> &mut Self {
        self.answer("result", result)
    }

    fn refuse(&mut self, code: i64, message: &str) -> &mut Self {
        self.answer("error", json!({"code": code, "message": message}))
    }

    fn text(&mut self, text: &str) -> &mut Self {
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
        self.line(&json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}).to_string())
    }

    #[track_caller]
    fn expect_events(&self, expected: &[&str]) {
        assert_eq!(self.log.events.lines().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn noise_leaves_less_time_and_is_told_when_the_session_does_not_open() {
    let mut talk = Talk::begin(POLICY, wishes());
    talk.line("\u{1b}[2JPlease visit this page:").line("https://example.invalid/").input(Input::Elapsed);
    talk.expect_events(&["failed timeout \"the agent did not open a session within 30 seconds; it wrote \
                          `Please visit this page: / https://example.invalid/`\""]);
    assert_eq!(
        talk.log.other,
        [Effect::Arm(MINUTES), Effect::Arm(NOISY), Effect::Signal(Signal::Terminate), Effect::Arm(STOP.terminate)]
    );
}

#[test]
fn noise_about_a_login_is_a_missing_login() {
    let mut talk = Talk::begin(POLICY, wishes());
    talk.line("Please visit this URL to authorize the application").input(Input::Elapsed);
    assert!(talk.log.events.starts_with("failed auth \"the agent did not open"), "{}", talk.log.events);
}

#[test]
fn a_message_after_noise_gives_the_time_back() {
    let mut talk = Talk::begin(POLICY, wishes());
    talk.line("starting up").reply(json!({"protocolVersion": 1}));
    assert_eq!(talk.log.other, [Effect::Arm(MINUTES), Effect::Arm(NOISY), Effect::Arm(MINUTES)]);
    talk.input(Input::Elapsed);
    talk.expect_events(&[
        "failed timeout \"the agent did not open a session within 120 seconds; it wrote `starting up`\"",
    ]);
}

#[test]
fn a_process_that_ends_at_once_is_quoted() {
    let mut talk = Talk::begin(POLICY, wishes());
    talk.line("usage: agent [options]")
        .input(Input::Gone { status: Some("exit status 2".to_owned()), stderr_tail: "unknown option".to_owned() });
    talk.expect_events(&[
        "failed crashed \"the agent ended before the conversation was open with exit status 2: unknown option; it \
         wrote `usage: agent [options]`\"",
        "exited Some(\"exit status 2\") \"unknown option\"",
    ]);
}

#[test]
fn a_refused_history_ends_the_conversation_and_is_remembered() {
    let spoiled = Arc::new(Notify::new());
    let fragile = || Policy { spoiled: Some(Arc::clone(&spoiled)), ..POLICY };
    let mut talk = Talk::restored(fragile());
    talk.refuse(400, "function response parts do not match")
        .input(Input::Gone { status: None, stderr_tail: String::new() });
    talk.expect_events(&[
        "failed protocol \"the service refuses the restored conversation: function response parts do not match\"",
        "exited None \"\"",
    ]);
    // One prompt, sent once.
    assert_eq!(talk.log.sent.len(), 1);
    assert!(futures_util::FutureExt::now_or_never(spoiled.notified()).is_some());
}

#[test]
fn other_errors_of_a_restored_conversation_end_only_their_turn() {
    let spoiled = Arc::new(Notify::new());
    let fragile = || Policy { spoiled: Some(Arc::clone(&spoiled)), ..POLICY };
    for (code, message) in [(401, "no"), (429, "slow down"), (400, "API key not valid"), (400, "prompt is too long")] {
        let mut talk = Talk::restored(fragile());
        talk.refuse(code, message).prompt();
        assert_eq!(talk.log.sent.len(), 2, "{code} {message}");
    }
    // A turn that worked proves the history; so does one that was never restored, and an agent that keeps it well.
    let mut proved = Talk::restored(fragile());
    proved.text("fine").reply(json!({"stopReason": "end_turn"})).prompt().refuse(400, "bad request").prompt();
    let mut fresh = Talk::fresh(fragile());
    fresh.refuse(400, "bad request").prompt();
    let mut sound = Talk::restored(POLICY);
    sound.refuse(400, "bad request").prompt();
    assert_eq!((proved.log.sent.len(), fresh.log.sent.len(), sound.log.sent.len()), (3, 2, 2));
    assert!(futures_util::FutureExt::now_or_never(spoiled.notified()).is_none());
}

#[test]
fn a_login_is_hinted_at_in_the_words_of_the_backend() {
    let policy = Policy { login: Some(LoginRemedy::of_backend("run `agent` once")), ..POLICY };
    let hint = |effects: Vec<Effect>| {
        effects.into_iter().find_map(|effect| match effect {
            Effect::Emit(crate::backend::event::Event::Failed(failure)) => Some(failure.hint),
            _ => None,
        })
    };
    let error = json!({"id": 1, "error": {"code": -32000, "message": "log in"}}).to_string();
    let (mut client, _) = Client::begin(policy.clone(), wishes());
    assert_eq!(hint(client.step(Input::Line(error))).as_deref(), Some("run `agent` once"));
    let mut talk = Talk::fresh(policy);
    let error = json!({"id": 3, "error": {"code": 401, "message": "bad key"}}).to_string();
    assert_eq!(hint(talk.client.step(Input::Line(error))).as_deref(), Some("run `agent` once"));
}

#[test]
fn without_a_listener_every_request_is_refused() {
    let mut talk = Talk::fresh(Policy { asks: Asks::Nobody, ..POLICY });
    talk.line(
        &json!({"id": 0, "method": "session/request_permission", "params": {"sessionId": "s",
            "options": [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}],
            "toolCall": {"toolCallId": "c", "kind": "edit"}}})
        .to_string(),
    );
    talk.expect_events(&[]);
    assert_eq!(talk.log.sent[1]["result"], json!({"outcome": {"outcome": "selected", "optionId": "no"}}));
}

#[test]
fn an_answer_in_the_reply_counts_where_the_stream_is_no_response() {
    let response = r#"{"answer":"done","questions":[]}"#;
    let blocks = |text: &str| json!({"stopReason": "end_turn", "content": [{"type": "text", "text": text}]});
    for (streamed, reply, expected) in [
        ("broken {", blocks(response), response),
        ("", blocks(response), response),
        ("broken {", json!({"stopReason": "end_turn", "content": {"type": "text", "text": response}}), response),
        (r#"{"answer":"streamed","questions":[]}"#, blocks(response), r#"{"answer":"streamed","questions":[]}"#),
        ("broken {", blocks("no response either"), "broken {"),
    ] {
        let mut talk = Talk::fresh(POLICY);
        talk.text(streamed).reply(reply);
        assert!(talk.log.events.ends_with(&format!("final {expected:?} EndTurn\n")), "{}", talk.log.events);
    }
}
