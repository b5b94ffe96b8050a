//! What a failed turn tells a person.

use super::*;

#[test]
fn a_failure_tells_the_command_that_logs_in_and_when_a_limit_ends() {
    let id: SessionId = "abcdefgh".parse().unwrap();
    let told = |kind| {
        let mut turn = TurnRun::new(1, 1, PromptBody::default());
        turn.failure = Some(Failure::new(kind, "no"));
        turn.error(id, Some("agent login".to_owned()), |failure| failure)
    };
    let error = |kind: &str, hint: &str| TurnError {
        kind: kind.to_owned(),
        message: "no".to_owned(),
        hint: Some(hint.to_owned()),
        ..TurnError::default()
    };
    let auth = error("auth", "log in with the backend's own command, then run `coppice resume abcdefgh`");
    assert_eq!(told(FailureKind::Auth), TurnError { command: Some("agent login".to_owned()), ..auth });
    let limit = error("rate_limit", "wait until the limit resets, then run `coppice resume abcdefgh`");
    assert_eq!(told(FailureKind::RateLimit { resets_at: None }), limit);
    let ends = TurnError { resets_at: Some(1_700_000_000_000), ..limit };
    assert_eq!(told(FailureKind::RateLimit { resets_at: Some(1_700_000_000_000) }), ends);
    assert_eq!(
        told(FailureKind::Crashed),
        error("crashed", "run `coppice resume abcdefgh` to go on with the conversation")
    );
    let model = "choose one of `coppice models`, then run `coppice send abcdefgh --model BACKEND/MODEL \"…\"`";
    assert_eq!(told(FailureKind::Model), error("model", model));

    let text = serde_json::to_value(told(FailureKind::Crashed)).unwrap();
    assert_eq!(text.as_object().unwrap().keys().collect::<Vec<_>>(), ["kind", "message", "hint"]);
}
