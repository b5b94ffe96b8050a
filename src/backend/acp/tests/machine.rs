//! Written conversations: each test is what the agent says and what must come of it.

mod cost;

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Log, POLICY, STOP, wishes};
use crate::backend::acp::client::Client;
use crate::backend::acp::handshake::Wishes;
use crate::backend::acp::policy;
use crate::backend::door::Entrance;
use crate::backend::event::{Block, Command, Decision, Image};
use crate::backend::spec::Resume;
use crate::backend::transport::machine::{Effect, Input, Machine};
use crate::backend::transport::spawn::Signal;
use crate::permission::Posture;

fn prompt(text: &str) -> Input {
    Input::Command(Command::Prompt { blocks: vec![Block::Text(text.to_owned())] })
}

/// A conversation whose agent is written down in the test.
struct Talk {
    client: Client,
    log: Log,
}

impl Talk {
    fn begin(wishes: Wishes) -> Self {
        let (client, effects) = Client::begin(POLICY, wishes);
        let mut log = Log::default();
        log.note(effects);
        Self { client, log }
    }

    fn input(&mut self, input: Input) -> &mut Self {
        self.log.note(self.client.step(input));
        self
    }

    fn line(&mut self, message: Value) -> &mut Self {
        self.input(Input::Line(message.to_string()))
    }

    /// Answers the last request we sent.
    fn reply(&mut self, result: Value) -> &mut Self {
        let id = self.log.sent.last().unwrap()["id"].clone();
        self.line(json!({"id": id, "result": result}))
    }

    fn refuse(&mut self, code: i64, message: &str) -> &mut Self {
        let id = self.log.sent.last().unwrap()["id"].clone();
        self.line(json!({"id": id, "error": {"code": code, "message": message}}))
    }

    fn update(&mut self, update: Value) -> &mut Self {
        self.line(json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}))
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
    }

    /// An open session in which a turn runs.
    fn in_turn() -> Self {
        let mut talk = Self::begin(wishes());
        talk.reply(json!({"protocolVersion": 1})).reply(json!({"sessionId": "s"})).input(prompt("go"));
        talk.log = Log { sent: talk.log.sent.split_off(2), ..Log::default() };
        talk
    }

    fn methods(&self) -> Vec<&str> {
        self.log.sent.iter().map(|message| message["method"].as_str().unwrap_or("reply")).collect()
    }

    #[track_caller]
    fn expect_events(&self, expected: &[&str]) {
        assert_eq!(self.log.events.lines().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_login_by_variables_is_done_on_demand_and_only_once() {
    let auth = json!([{"id": "person", "name": "Browser"},
        {"id": "key", "type": "env_var", "vars": [{"name": "KEY"}, {"name": "REGION", "optional": true}]}]);
    let mut talk = Talk::begin(Wishes { variables: vec!["KEY".to_owned()], ..wishes() });
    talk.reply(json!({"protocolVersion": 1, "authMethods": auth})).refuse(-32000, "Authentication required");
    assert_eq!(talk.log.sent.last().unwrap()["params"], json!({"methodId": "key"}));
    talk.reply(json!({})).refuse(-32000, "Authentication required");
    assert_eq!(talk.methods(), ["initialize", "session/new", "authenticate", "session/new"]);
    talk.expect_events(&["failed auth \"Authentication required\""]);
}

#[test]
fn resume_goes_from_the_best_way_to_a_fresh_session() {
    let entrance = Entrance { url: "http://127.0.0.1:9/mcp".to_owned(), token: "t".to_owned(), bridge: Vec::new() };
    let wish = || Wishes { resume: Some("old".to_owned()), entrance: Some(entrance.clone()), ..wishes() };
    let both = json!({"protocolVersion": 1,
        "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}}}});
    let mut talk = Talk::begin(wish());
    talk.reply(both.clone()).reply(json!({}));
    assert_eq!(talk.methods(), ["initialize", "session/resume"]);
    talk.expect_events(&["started  restored=true models= mode=- modes="]);

    let mut talk = Talk::begin(wish());
    talk.reply(both).refuse(-32601, "Method not found").refuse(-32603, "Invalid session identifier");
    talk.reply(json!({"sessionId": "s"}));
    assert_eq!(talk.methods(), ["initialize", "session/resume", "session/load", "session/new"]);
    // However the session comes to be, it is told where its tools are.
    assert!(talk.log.sent[1..].iter().all(|sent| sent["params"]["mcpServers"][0]["name"] == "coppice"));
    talk.expect_events(&["started  restored=false models= mode=- modes="]);

    let mut talk = Talk::begin(Wishes { policy: Resume::Replay, ..wish() });
    talk.reply(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
    assert_eq!(talk.methods(), ["initialize", "session/new"]);
}

#[test]
fn a_silent_replay_ends_by_itself() {
    let mut talk = Talk::begin(Wishes { resume: Some("s".to_owned()), ..wishes() });
    talk.reply(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).text("old").reply(json!({}));
    talk.text("older").input(prompt("go"));
    talk.expect_events(&[]);
    talk.input(Input::Elapsed);
    talk.expect_events(&["started  restored=true models= mode=- modes="]);
    assert_eq!(talk.methods(), ["initialize", "session/load", "session/prompt"]);
}

#[test]
fn mode_and_model_are_chosen_in_both_forms() {
    let wish = || Wishes { model: Some("big".to_owned()), mode: Some("plan".to_owned()), ..wishes() };
    let mut talk = Talk::begin(wish());
    talk.reply(json!({"protocolVersion": 1})).reply(json!({"sessionId": "s",
        "models": {"availableModels": [{"modelId": "small", "name": "Small"}], "currentModelId": "small"},
        "modes": {"availableModes": [{"id": "plan", "name": "Plan"}], "currentModeId": "default"}}));
    talk.reply(json!({})).reply(json!({}));
    assert_eq!(talk.methods(), ["initialize", "session/new", "session/set_mode", "session/set_model"]);
    assert_eq!(talk.log.sent[3]["params"], json!({"sessionId": "s", "modelId": "big"}));
    talk.expect_events(&["started  restored=false models=small mode=plan modes=plan"]);

    let mut talk = Talk::begin(wish());
    talk.reply(json!({"protocolVersion": 1})).reply(json!({"sessionId": "s", "configOptions": [
        {"id": "llm", "category": "model", "currentValue": "small",
         "options": [{"name": "group", "options": [{"value": "small"}, {"value": "big"}]}]},
        {"id": "mode", "currentValue": "plan", "options": [{"value": "plan"}]}]}));
    assert_eq!(talk.log.sent[2]["params"], json!({"sessionId": "s", "configId": "llm", "value": "big"}));
    talk.refuse(-32602, "no such model");
    talk.expect_events(&["failed model \"the agent refuses the model `big`: no such model\""]);

    let mut talk = Talk::begin(Wishes { mode: None, ..wish() });
    talk.reply(json!({"protocolVersion": 1})).reply(json!({"sessionId": "s"}));
    talk.expect_events(&["failed model \"the agent refuses the model `big`: the agent offers no choice\""]);
}

#[test]
fn a_fitting_mode_is_set_where_the_agent_has_it_and_never_in_the_way() {
    let open = |fitting, modes: &[&str]| {
        let modes: Vec<Value> = modes.iter().map(|id| json!({"id": id, "name": id})).collect();
        let mut talk = Talk::begin(Wishes { fitting, ..wishes() });
        talk.reply(json!({"protocolVersion": 1}));
        talk.reply(json!({"sessionId": "s", "modes": {"availableModes": modes, "currentModeId": "build"}}));
        talk
    };
    let mut talk = open(Some("plan"), &["build", "plan"]);
    assert_eq!(talk.log.sent[2]["params"], json!({"sessionId": "s", "modeId": "plan"}));
    talk.refuse(-32603, "not in an untrusted folder");
    talk.expect_events(&["started  restored=false models= mode=build modes=build,plan"]);
    for (fitting, modes) in [(Some("default"), &["build", "plan"]), (Some("build"), &["build", "plan"])] {
        let talk = open(fitting, modes);
        assert_eq!(talk.methods(), ["initialize", "session/new"], "{fitting:?}");
    }
    for posture in Posture::ALL {
        assert_eq!(policy::fitting(posture) == "plan", posture == Posture::Plan);
    }
}

#[test]
fn another_protocol_version_is_refused() {
    let mut talk = Talk::begin(wishes());
    talk.reply(json!({"protocolVersion": 2}));
    talk.expect_events(&["failed protocol \"the agent speaks ACP version `2`, expected `1`\""]);
}

#[test]
fn the_last_message_with_words_is_the_one_to_parse() {
    let call = |status: &str, output: &str| {
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "ls", "kind": "execute",
               "status": status, "content": [{"type": "content", "content": {"type": "text", "text": output}}]})
    };
    let mut talk = Talk::in_turn();
    talk.text("I will look.").update(call("in_progress", "a")).update(call("in_progress", "ab")).text("{\"answer\":");
    talk.text("1}").update(call("completed", "abc")).text("  \n").reply(json!({"stopReason": "end_turn"}));
    talk.expect_events(&[
        "text \"I will look.\"",
        "tool started \"ls\" Execute",
        "tool output \"a\"",
        "tool output \"b\"",
        "text \"{\\\"answer\\\":\"",
        "text \"1}\"",
        "tool finished Completed \"abc\"",
        "text \"  \\n\"",
        "final \"{\\\"answer\\\":1}\" EndTurn",
    ]);
}

#[test]
fn a_turn_without_words_has_a_reason_or_an_empty_response() {
    for (reason, expected) in [
        // The one repair that every refused response gets.
        ("end_turn", "final \"\" EndTurn"),
        ("max_tokens", "failed context \"the prompt does not fit into the model's context\""),
        ("refusal", "failed model \"the model refused to answer\""),
        ("cancelled", "failed cancelled \"the agent cancelled the turn\""),
        ("odd", "failed protocol \"the agent stopped with `odd` and no message\""),
    ] {
        let mut talk = Talk::in_turn();
        talk.reply(json!({"stopReason": reason}));
        talk.expect_events(&[expected]);
    }
}

#[test]
fn what_a_turn_leaves_open_is_closed() {
    let mut talk = Talk::in_turn();
    talk.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "sleep"}));
    talk.line(json!({"id": 0, "method": "session/request_permission", "params": {"sessionId": "s", "options": [],
        "toolCall": {"toolCallId": "d", "title": "rm"}}}));
    talk.text("done").reply(json!({"stopReason": "end_turn"}));
    talk.expect_events(&[
        "tool started \"sleep\" Other",
        "approval 0 \"rm\" Other \"\"",
        "text \"done\"",
        "approval gone 0",
        "tool finished Unfinished \"\"",
        "final \"done\" EndTurn",
    ]);
}

#[test]
fn strange_messages_do_no_harm() {
    let mut talk = Talk::in_turn();
    talk.line(json!({"id": 0, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}}));
    assert_eq!(talk.log.sent.last().unwrap()["error"]["code"], -32601);
    talk.line(json!({"method": "$/odd"})).line(json!({"id": 99, "result": {}}));
    talk.line(json!({"method": "session/update", "params": {"sessionId": "other", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"text": "not ours"}}}}));
    talk.update(json!({"sessionUpdate": "from_the_future"})).update(json!(7));
    talk.input(Input::Command(Command::Decide { request: "12".to_owned(), decision: Decision::Once }));
    talk.expect_events(&[]);
    assert_eq!(talk.methods(), ["session/prompt", "reply"]);
}

#[test]
fn the_stop_ladder_is_climbed_rung_by_rung() {
    let mut talk = Talk::in_turn();
    talk.input(Input::Command(Command::Interrupt)).input(Input::Command(Command::Interrupt));
    assert_eq!(talk.methods(), ["session/prompt", "session/cancel"]);
    talk.input(Input::Elapsed).input(Input::Elapsed);
    talk.expect_events(&[]);
    let gone = || Input::Gone { status: Some("signal 9".to_owned()), stderr_tail: String::new() };
    talk.input(gone()).input(gone());
    talk.expect_events(&["failed cancelled \"the turn was interrupted\"", "exited Some(\"signal 9\") \"\""]);
    let expected = [
        Effect::Arm(STOP.cancel),
        Effect::Signal(Signal::Terminate),
        Effect::Arm(STOP.terminate),
        Effect::Signal(Signal::Kill),
        Effect::Arm(Duration::from_secs(2)),
        Effect::Finish,
    ];
    assert_eq!(talk.log.other, expected);
}

#[test]
fn an_exit_is_told_wherever_it_comes() {
    let gone = || Input::Gone { status: Some("exit status 3".to_owned()), stderr_tail: "boom\n".to_owned() };
    let exited = "exited Some(\"exit status 3\") \"boom\\n\"";
    let mut talk = Talk::begin(wishes());
    talk.input(prompt("go")).input(gone());
    let text = "failed crashed \"the agent ended before the conversation was open with exit status 3: boom\"";
    talk.expect_events(&[text, exited]);

    let mut talk = Talk::in_turn();
    talk.text("half").input(Input::OutputClosed).input(gone());
    let text = "failed crashed \"the agent ended in the middle of a turn with exit status 3: boom\"";
    talk.expect_events(&["text \"half\"", text, exited]);

    let mut talk = Talk::in_turn();
    talk.text("done").reply(json!({"stopReason": "end_turn"})).input(gone());
    talk.expect_events(&["text \"done\"", "final \"done\" EndTurn", exited]);
}

#[test]
fn every_prompt_gets_one_answer_in_order() {
    let mut talk = Talk::in_turn();
    talk.input(prompt("second")).input(prompt("third")).text("one").reply(json!({"stopReason": "end_turn"}));
    assert_eq!(talk.log.sent[1]["params"]["prompt"][0]["text"], "second");
    talk.text("two").reply(json!({"stopReason": "end_turn"}));
    talk.input(Input::Gone { status: None, stderr_tail: String::new() });
    let answers = talk.log.events.lines().filter(|line| line.starts_with("final") || line.starts_with("failed"));
    assert_eq!(answers.count(), 3);
}

#[test]
fn an_image_goes_only_to_an_agent_that_takes_it() {
    let image = || {
        let image =
            Block::Image(Image { mime_type: "image/png".to_owned(), data: "AA==".to_owned(), path: "a.png".into() });
        Input::Command(Command::Prompt { blocks: vec![Block::Text("see".to_owned()), image] })
    };
    let mut talk = Talk::begin(wishes());
    talk.reply(json!({"protocolVersion": 1})).reply(json!({"sessionId": "s"})).input(image());
    assert!(talk.log.events.ends_with("failed setup \"the agent takes no images\"\n"));
    let mut talk = Talk::begin(wishes());
    talk.reply(json!({"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": {"image": true}}}));
    talk.reply(json!({"sessionId": "s"})).input(image());
    let sent = &talk.log.sent.last().unwrap()["params"]["prompt"];
    assert_eq!(
        *sent,
        json!([{"type": "text", "text": "see"}, {"type": "image", "mimeType": "image/png", "data": "AA=="}])
    );
}

#[test]
fn a_failed_start_answers_the_waiting_prompt_once() {
    let gone = || Input::Gone { status: Some("exit status 0".to_owned()), stderr_tail: String::new() };
    let exited = "exited Some(\"exit status 0\") \"\"";
    let mut talk = Talk::begin(wishes());
    talk.input(prompt("go")).input(Input::Elapsed).input(gone());
    talk.expect_events(&["failed timeout \"the agent did not open a session within 120 seconds\"", exited]);

    let mut talk = Talk::begin(wishes());
    talk.input(prompt("go")).input(Input::OutputClosed).input(Input::Elapsed).input(gone());
    talk.expect_events(&["failed crashed \"the agent closed its output\"", exited]);

    let mut talk = Talk::begin(wishes());
    talk.input(prompt("go")).input(Input::Command(Command::Close)).input(gone());
    talk.expect_events(&["failed cancelled \"the conversation was closed before it took the prompt\"", exited]);

    let mut talk = Talk::begin(wishes());
    talk.input(prompt("go")).input(Input::Command(Command::Interrupt));
    talk.expect_events(&["failed cancelled \"the turn was interrupted\""]);
}

#[test]
fn a_close_in_a_turn_cancels_it_first() {
    let mut talk = Talk::in_turn();
    talk.input(Input::Command(Command::Close)).input(Input::Command(Command::Close));
    assert_eq!(talk.methods(), ["session/prompt", "session/cancel"]);
    assert_eq!(talk.log.other, [Effect::CloseInput, Effect::Arm(STOP.cancel)]);
    talk.input(Input::Gone { status: None, stderr_tail: String::new() });
    talk.expect_events(&["failed cancelled \"the turn was interrupted\"", "exited None \"\""]);
}

/// JSON as a confused agent might write it: the right words in the wrong places.
fn any_json() -> impl Strategy<Value = Value> {
    let word = || {
        prop::sample::select(vec![
            "id",
            "method",
            "params",
            "result",
            "error",
            "code",
            "message",
            "data",
            "sessionId",
            "update",
            "sessionUpdate",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "plan",
            "usage_update",
            "toolCallId",
            "content",
            "diff",
            "path",
            "newText",
            "status",
            "completed",
            "options",
            "toolCall",
            "stopReason",
            "end_turn",
            "_meta",
            "quota",
            "session/update",
            "session/request_permission",
            "s",
        ])
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..6i64).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let object = prop::collection::vec((word(), inner.clone()), 0..6);
        let object = object.prop_map(|pairs| pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::Array), object.prop_map(Value::Object)]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_message_breaks_the_client(messages in prop::collection::vec(any_json(), 1..8)) {
        let mut talk = Talk::in_turn();
        for message in messages {
            talk.update(message.clone());
            let ask = json!({"id": 0, "method": "session/request_permission", "params": message.clone()});
            talk.line(ask);
            talk.input(Input::Line(message.to_string()));
        }
        talk.input(Input::Gone { status: None, stderr_tail: String::new() });
        prop_assert!(talk.log.events.ends_with("exited None \"\"\n"));
        prop_assert_eq!(talk.log.other.last(), Some(&Effect::Finish));
    }
}
