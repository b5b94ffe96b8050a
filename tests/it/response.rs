//! What ends a turn: one valid object, and nothing that only looks like one.

use serde_json::Value;

use crate::env::TestEnv;
use crate::script::say;

fn raw(text: &str) -> String {
    format!("@raw {text}")
}

#[test]
fn one_valid_object_ends_a_turn_whatever_is_said_before_it() {
    let env = TestEnv::new();
    env.configure("[response]\nrepair = 0");
    let summary = r#"{"summary":{"turn":"Adds it","session":"Adds all"}}"#;
    for (text, answer) in
        [(r#"{"answer":"x"}"#, "x"), (summary, ""), (r#"Here you are: {"answer":"y","questions":[]}"#, "y")]
    {
        let id = env.create_ready(&raw(text));
        assert_eq!(env.last_answer(&id), answer, "{text}");
        assert!(!env.kinds(&id).contains(&"message".to_owned()), "what was said before it is not kept");
    }
}

#[test]
fn everything_else_fails_with_size_place_and_keys() {
    let env = TestEnv::new();
    env.configure("[response]\nrepair = 0");
    for (text, expected) in [
        ("just words", "the message holds no JSON object (message of 10 bytes)"),
        (
            r#"{"answer":"x"} and more"#,
            r#"the object ends at byte 14 but text follows it (message of 23 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"x"}{"answer":"y"}"#,
            r#"a second JSON object begins at byte 14 (message of 28 bytes, top-level keys: ["answer"])"#,
        ),
        (r#"{"answer":"x""#, r#"(message of 13 bytes, top-level keys: ["answer"])"#),
        (r#"{"answer":1,"mood":"fine"}"#, r#"(message of 26 bytes, top-level keys: ["answer", "mood"])"#),
        ("{}", "(message of 2 bytes)"),
    ] {
        let id = env.create(&raw(text));
        env.wait_for(&id, "failed");
        let error = env.session(&id)["last_error"].clone();
        assert_eq!(error["kind"], "protocol", "{error:#}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("the backend's response was refused: ") && message.ends_with(expected),
            "{message}"
        );
        assert_eq!(env.coppice(&["show", &id, "--raw"]).stdout().trim_end(), text);
    }
    let blank = env.create(&raw(""));
    env.wait_for(&blank, "failed");
}

#[test]
fn a_blank_response_is_asked_for_once_more() {
    let env = TestEnv::new();
    let id = env.create_ready(&raw(""));
    assert_eq!(env.kinds(&id).iter().filter(|kind| *kind == "turn_started").count(), 1);
    assert!(!env.last_answer(&id).is_empty());
}

#[test]
fn a_refused_response_is_asked_for_once_more_in_the_same_conversation() {
    let env = crate::tape::taped();
    let id = env.create_with(&["--model", "taped"], &format!("@invalid once\n{}", say("mended")));
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "mended");
    let texts = crate::tape::texts(&env);
    assert_eq!(texts.len(), 2);
    assert!(texts[1].starts_with("Your last message was refused: "), "{}", texts[1]);
    let retries: Vec<Value> = env.events(&id).into_iter().filter(|event| event["type"] == "retry").collect();
    assert_eq!(retries.len(), 1);
    assert!(retries[0]["reason"].as_str().unwrap().contains("(message of "), "{retries:#?}");
    assert_eq!(env.session(&id)["turns"], 1);
}
