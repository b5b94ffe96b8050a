//! What an agent's error means. Codes differ per agent, so the text has a say as well.

use std::time::Duration;

use serde_json::Value;

use crate::backend::acp::message::{AUTH_REQUIRED, AuthMethod};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::remedy::lacks_cloud_login;
pub(crate) use crate::backend::transport::fault::{
    SLOW_START, closed, crashed, input_stuck, interrupted, output_closed,
};
use crate::backend::transport::jsonrpc::RpcError;

/// How services refuse a key, where an agent passes their words on and nothing else.
const REFUSED_KEY: &[&str] = &[
    "api key not valid",
    "api key expired",
    "api_key_invalid",
    "incorrect api key",
    "invalid api key",
    "invalid x-api-key",
    "401 unauthorized",
];

/// The failure an agent's error stands for.
pub(crate) fn classify(error: &RpcError) -> Failure {
    let text = describe(error);
    let lower = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let kind = match error.code {
        AUTH_REQUIRED | 401 | 403 => FailureKind::Auth,
        // Google calls a bad key a bad request.
        _ if says(REFUSED_KEY) || lower.starts_with("401 ") => FailureKind::Auth,
        _ if lacks_cloud_login(&text) => FailureKind::Auth,
        429 | 402 if says(&["quota", "billing", "credit"]) => FailureKind::Quota,
        429 => FailureKind::RateLimit { resets_at: None },
        402 => FailureKind::Quota,
        // Gemini reports an unknown model as 500.
        _ if lower.contains("model") && says(&["not found", "not supported", "unknown model"]) => FailureKind::Model,
        _ if says(&["context window", "context length", "prompt is too long", "too many tokens"]) => {
            FailureKind::Context
        }
        500..=599 => FailureKind::Transport,
        _ if says(&["fetch failed", "econnrefused", "econnreset", "etimedout"]) => FailureKind::Transport,
        _ => FailureKind::Protocol,
    };
    Failure::new(kind, text)
}

/// The handshake took too long; `words` is what the agent said outside of the protocol meanwhile.
pub(crate) fn slow_start(limit: Duration, words: Option<&str>) -> Failure {
    let text = format!("the agent did not open a session within {} seconds", limit.as_secs());
    let words = words.unwrap_or_default().to_lowercase();
    let is_login = ["authoriz", "authenticat", "log in", "login", "sign in"].iter().any(|word| words.contains(word));
    let kind = if is_login { FailureKind::Auth } else { FailureKind::Timeout };
    Failure::new(kind, text).with_hint(SLOW_START)
}

/// The service refuses a conversation as the agent restored it. The prompt is not sent again by itself: whether it
/// had an effect is for a person to judge.
pub(crate) fn spoiled(error: &RpcError) -> Failure {
    let text = format!("the service refuses the restored conversation: {}", describe(error));
    Failure::new(FailureKind::Protocol, text)
        .with_hint("run `coppice resume`: the conversation begins afresh with its transcript")
}

/// The failure together with what the agent said outside of the protocol.
pub(crate) fn with_words(failure: Failure, words: Option<String>) -> Failure {
    let Some(words) = words else { return failure };
    Failure { message: format!("{}; it wrote `{words}`", failure.message), ..failure }
}

/// The prompt holds an image that the agent cannot see.
pub(crate) fn no_images() -> Failure {
    let hint = "send the prompt without the image, or use another backend with `--model`";
    Failure::new(FailureKind::Setup, "the agent takes no images").with_hint(hint)
}

/// The agent wants a login that no variable can give.
pub(crate) fn needs_login(error: &RpcError, methods: &[AuthMethod]) -> Failure {
    let failure = Failure::new(FailureKind::Auth, describe(error));
    let ways: Vec<String> = methods.iter().map(describe_method).collect();
    if ways.is_empty() {
        return failure;
    }
    failure.with_hint(format!(
        "log in outside of Coppice, then run `coppice resume`; the agent offers: {}",
        ways.join("; ")
    ))
}

fn describe_method(method: &AuthMethod) -> String {
    if method.description.is_empty() {
        method.name.clone()
    } else {
        format!("{} ({})", method.name, method.description)
    }
}

/// The most telling text of an error.
pub(crate) fn describe(error: &RpcError) -> String {
    let issues = error.data.as_array().map(|issues| {
        let texts = issues.iter().filter_map(|issue| issue["message"].as_str());
        texts.collect::<Vec<_>>().join("; ")
    });
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let candidates = [text(&error.data["details"]), text(&error.data["message"]), issues, text(&error.data)];
    let detail = candidates.into_iter().flatten().find(|text| !text.trim().is_empty());
    let text = detail.or_else(|| nested(&error.message)).unwrap_or_else(|| error.message.clone());
    if text.trim().is_empty() { format!("the agent answered with error code `{}`", error.code) } else { text }
}

/// Some agents pass the error of their service on as JSON text inside the message.
fn nested(message: &str) -> Option<String> {
    let value: Value = serde_json::from_str(message).ok()?;
    value["error"]["message"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(code: i64, message: &str, data: Value, kind: &str, text: &str) {
        let failure = classify(&RpcError { code, message: message.to_owned(), data });
        assert_eq!((failure.kind.as_str(), failure.message.as_str()), (kind, text));
        assert!(!failure.hint.is_empty());
    }

    #[test]
    fn errors_find_their_kind() {
        let json_text = r#"{"error":{"code":401,"message":"API key not valid.","status":"UNAUTHENTICATED"}}"#;
        check(401, json_text, Value::Null, "auth", "API key not valid.");
        check(-32000, "Authentication required", Value::Null, "auth", "Authentication required");
        check(429, "scripted error", Value::Null, "rate_limit", "scripted error");
        check(429, "You exceeded your current quota", Value::Null, "quota", "You exceeded your current quota");
        check(500, "models/x is not found", Value::Null, "model", "models/x is not found");
        check(400, "API key not valid. Please pass one.", Value::Null, "auth", "API key not valid. Please pass one.");
        check(
            500,
            "Could not load the default credentials.",
            Value::Null,
            "auth",
            "Could not load the default credentials.",
        );
        check(-32603, "Internal error", json!({"details": "invalid_grant"}), "auth", "invalid_grant");
        let refused = "unexpected status 401 Unauthorized: Incorrect API key provided: sk-x.";
        check(-32603, "Internal error", json!({"message": refused, "codex_error_info": "other"}), "auth", refused);
        check(-32603, "Internal error", json!({"details": "401 no"}), "auth", "401 no");
        check(400, "the prompt is too long", Value::Null, "context", "the prompt is too long");
        check(500, "exception TypeError: fetch failed", Value::Null, "transport", "exception TypeError: fetch failed");
        check(-32603, "Internal error", json!({"details": "fetch failed"}), "transport", "fetch failed");
        check(-32603, "Internal error", json!({"details": "it broke"}), "protocol", "it broke");
        check(-32603, "Internal error", json!([{"message": "expected array"}]), "protocol", "expected array");
        check(-32602, "Session not found: nope", Value::Null, "protocol", "Session not found: nope");
        check(7, "", Value::Null, "protocol", "the agent answered with error code `7`");
    }

    #[test]
    fn a_login_hint_names_the_ways_the_agent_offers() {
        let method = |name: &str, description: &str| AuthMethod {
            id: "x".to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            variables: None,
        };
        let error = RpcError { code: -32000, message: "Authentication required".to_owned(), data: Value::Null };
        let failure = needs_login(&error, &[method("Browser", ""), method("Shell", "run `agent login`")]);
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.hint.ends_with("the agent offers: Browser; Shell (run `agent login`)"), "{}", failure.hint);
        assert_eq!(needs_login(&error, &[]).hint, FailureKind::Auth.hint());
    }
}
