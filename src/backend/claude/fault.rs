//! What a failed turn means. The agent names the kind of an error and the status of the service; its texts are for
//! people and change.

use std::time::Duration;

use serde_json::Value;

use crate::backend::failure::{Failure, FailureKind};
use crate::backend::remedy::{LoginRemedy, lacks_cloud_login};
pub(crate) use crate::backend::transport::fault::{
    SLOW_START, closed, crashed, input_stuck, interrupted, output_closed,
};

/// The words of the program about a conversation that does not fit into the model.
const TOO_LONG: &str = "Prompt is too long";

/// What the lines before a result told of its failure.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// The kind that the agent gave to its last error message.
    pub(crate) error: Option<String>,
    /// When the limit that was hit resets, in milliseconds since the epoch.
    pub(crate) resets_at: Option<i64>,
}

/// The failure that a result with an error stands for.
pub(crate) fn classify(result: &Value, signs: &Signs, login: &LoginRemedy) -> Failure {
    let text = describe(result);
    let rate_limit = || FailureKind::RateLimit { resets_at: signs.resets_at };
    if result["stop_reason"] == "refusal" {
        return Failure::new(FailureKind::Model, text).with_hint("put the prompt in other words, or use another model");
    }
    let kind = match (signs.error.as_deref().unwrap_or_default(), result["terminal_reason"].as_str()) {
        (_, Some("prompt_too_long" | "blocking_limit" | "rapid_refill_breaker")) => FailureKind::Context,
        (_, Some("image_error")) => {
            return Failure::new(FailureKind::Context, text).with_hint("send fewer or smaller images");
        }
        (_, Some("aborted_streaming" | "aborted_tools")) => FailureKind::Cancelled,
        ("authentication_failed" | "oauth_org_not_allowed", _) => return auth(text, login),
        ("rate_limit", _) => rate_limit(),
        ("billing_error", _) => FailureKind::Quota,
        ("model_not_found", _) => FailureKind::Model,
        ("server_error" | "overloaded", _) => FailureKind::Transport,
        (_, _) => match (result["api_error_status"].as_u64(), result["subtype"].as_str()) {
            (Some(401 | 403), _) => return auth(text, login),
            (Some(402), _) | (_, Some("error_max_budget_usd")) => FailureKind::Quota,
            (Some(404), _) => FailureKind::Model,
            (Some(413), _) => FailureKind::Context,
            (Some(429), _) => rate_limit(),
            (Some(500..=599), _) => FailureKind::Transport,
            // The program itself says so, before or after it asked the service.
            (_, _) if text.starts_with(TOO_LONG) => FailureKind::Context,
            // No service was asked, so there are only the words of a library.
            (None, _) if lacks_cloud_login(&text) => return auth(text, login),
            (_, _) => FailureKind::Protocol,
        },
    };
    Failure::new(kind, text)
}

/// A login that is missing or refused.
pub(crate) fn auth(text: impl Into<String>, login: &LoginRemedy) -> Failure {
    Failure::new(FailureKind::Auth, text).with_remedy(login)
}

/// The most telling text of a result.
pub(crate) fn describe(result: &Value) -> String {
    let errors = result["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // Notes of the agent to itself.
    let errors: Vec<&str> = errors.filter(|text| !text.starts_with("[ede_diagnostic]")).collect();
    let text = result["result"].as_str().map_or_else(|| errors.join("; "), str::to_owned);
    if !text.trim().is_empty() {
        return text;
    }
    let reason = result["terminal_reason"].as_str().or_else(|| result["subtype"].as_str()).unwrap_or("no reason");
    format!("the agent ended the turn with `{reason}`")
}

/// One line about a model call that is tried again.
pub(crate) fn retry(line: &Value) -> String {
    let cause = match (line["error_status"].as_u64(), line["error"].as_str()) {
        (Some(status), Some(error)) if error != "unknown" => format!("{status}, {error}"),
        (Some(status), _) => status.to_string(),
        (None, Some(error)) if error != "unknown" => error.to_owned(),
        (None, _) => "no connection".to_owned(),
    };
    let delay = Duration::try_from_secs_f64(line["retry_delay_ms"].as_f64().unwrap_or_default() / 1000.0);
    let seconds = delay.unwrap_or_default().as_secs_f64().ceil();
    let (attempt, most) = (&line["attempt"], &line["max_retries"]);
    format!("the model call failed ({cause}); attempt {attempt} of {most} in {seconds} s")
}

/// The agent dropped the schema, which it does without a word when it finds a part of it that it does not know.
pub(crate) fn schema_dropped() -> Failure {
    Failure::new(FailureKind::Protocol, "the agent did not take the schema of the response")
        .with_hint("run `coppice doctor`, install a version of the agent that was tested, then run `coppice resume`")
}

/// The agent did not connect to the tools that Coppice serves.
pub(crate) fn tools_missing(status: &str) -> Failure {
    let text = format!("the agent did not take the tools of this session: their server is `{status}`");
    Failure::new(FailureKind::Protocol, text)
}

/// The agent says no before the conversation is open.
pub(crate) fn refused(text: &str) -> Failure {
    Failure::new(FailureKind::Protocol, format!("the agent refused to start: {text}"))
}

/// The start took too long.
pub(crate) fn slow_start(limit: Duration) -> Failure {
    let text = format!("the agent was not ready within {} seconds", limit.as_secs());
    Failure::new(FailureKind::Timeout, text).with_hint(SLOW_START)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_is_known_by_its_signs_and_not_by_its_words() {
        let check = |error: &str, result: Value, expected: &str| {
            let signs = Signs { error: Some(error.to_owned()).filter(|error| !error.is_empty()), resets_at: Some(5) };
            let failure = classify(&result, &signs, &LoginRemedy::of_backend("log in"));
            assert_eq!(failure.kind.as_str(), expected, "{error} {result}");
            if failure.kind == FailureKind::Auth {
                assert_eq!(failure.hint, "log in");
            }
            assert!(!failure.message.is_empty() && !failure.hint.is_empty());
        };
        let status = |status: u64| json!({"subtype": "success", "api_error_status": status, "result": "words"});
        let reason = |reason: &str| json!({"terminal_reason": reason, "errors": ["[ede_diagnostic] x"]});
        check("authentication_failed", json!({"result": "Not logged in"}), "auth");
        check("authentication_failed", status(401), "auth");
        check("authentication_failed", status(403), "auth");
        check("model_not_found", status(404), "model");
        check("unknown", status(400), "protocol");
        check("invalid_request", json!({"api_error_status": 400, "terminal_reason": "prompt_too_long"}), "context");
        check("", json!({"result": "Prompt is too long", "terminal_reason": "prompt_too_long"}), "context");
        check("billing_error", status(400), "quota");
        check("invalid_request", json!({"api_error_status": 413, "terminal_reason": "image_error"}), "context");
        check("rate_limit", status(429), "rate_limit");
        check("server_error", status(500), "transport");
        check("server_error", status(529), "transport");
        check("invalid_request", json!({"result": "Prompt is too long"}), "context");
        check("invalid_request", json!({"result": "Prompt is too long · 3 more", "api_error_status": 400}), "context");
        check("invalid_request", reason("blocking_limit"), "context");
        check("invalid_request", reason("rapid_refill_breaker"), "context");
        check("invalid_request", status(400), "protocol");
        check("server_error", json!({"result": "Unable to connect"}), "transport");
        check("invalid_request", json!({"stop_reason": "refusal", "result": "no"}), "model");
        check("", status(401), "auth");
        check("unknown", json!({"result": "API Error: Could not load credentials from any providers"}), "auth");
        check("", status(402), "quota");
        check("", status(404), "model");
        check("", status(413), "context");
        check("", status(429), "rate_limit");
        check("", status(502), "transport");
        check("", json!({"subtype": "error_max_budget_usd", "errors": ["Reached maximum budget"]}), "quota");
        check("", json!({"subtype": "error_max_turns"}), "protocol");
        check("", reason("aborted_tools"), "cancelled");
        check("", reason("aborted_streaming"), "cancelled");
        check("", json!({}), "protocol");
    }

    #[test]
    fn a_limit_tells_when_it_resets() {
        let signs = Signs { error: Some("rate_limit".to_owned()), resets_at: Some(7000) };
        assert_eq!(
            classify(&json!({}), &signs, &LoginRemedy::of_backend("")).kind,
            FailureKind::RateLimit { resets_at: Some(7000) }
        );
    }

    #[test]
    fn a_failure_says_the_most_telling_thing() {
        let check = |result: Value, expected: &str| assert_eq!(describe(&result), expected);
        check(json!({"result": "Credit balance is too low"}), "Credit balance is too low");
        check(json!({"errors": ["[ede_diagnostic] x", "a", "b"]}), "a; b");
        check(json!({"subtype": "error_during_execution"}), "the agent ended the turn with `error_during_execution`");
        check(json!({"result": " ", "terminal_reason": "odd"}), "the agent ended the turn with `odd`");
    }

    #[test]
    fn a_retry_says_what_failed_and_what_comes() {
        let check = |line: Value, expected: &str| assert_eq!(retry(&line), expected);
        let line = |status: Value, error: &str| json!({"attempt": 3, "max_retries": 10, "retry_delay_ms": 2254.8, "error_status": status, "error": error});
        let tail = "attempt 3 of 10 in 3 s";
        check(line(json!(529), "overloaded"), &format!("the model call failed (529, overloaded); {tail}"));
        check(line(json!(500), "unknown"), &format!("the model call failed (500); {tail}"));
        check(line(Value::Null, "unknown"), &format!("the model call failed (no connection); {tail}"));
    }
}
