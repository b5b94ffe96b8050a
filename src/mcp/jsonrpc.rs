//! JSON-RPC 2.0 messages, one per line: parsing and building, no IO.
//!
//! The two sides number their requests independently, so an id of the peer is opaque and zero is as good as any.

use serde_json::{Value, json};

pub(crate) use super::METHOD_NOT_FOUND;
use super::json::{JsonError, parse_untrusted};

/// One message from the peer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: u64, outcome: Result<Value, RpcError> },
}

/// The error of a response. Agents use negative JSON-RPC codes next to positive HTTP ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

/// Why a line is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAMessage {
    #[error("not a JSON object")]
    NotJson,
    #[error("too many values")]
    TooManyValues,
    #[error("neither a request nor a response to one of ours")]
    Shapeless,
}

/// Reads one line; unknown members are ignored.
pub(crate) fn parse(line: &str) -> Result<Message, NotAMessage> {
    let mut object = match parse_untrusted(line.as_bytes()) {
        Ok(Value::Object(object)) => object,
        Err(JsonError::TooManyValues { .. }) => return Err(NotAMessage::TooManyValues),
        Ok(_) | Err(JsonError::NotJson { .. }) => return Err(NotAMessage::NotJson),
    };
    let id = object.remove("id").filter(|id| !id.is_null());
    let params = object.remove("params").unwrap_or(Value::Null);
    match (object.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Ok(Message::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Message::Notification { method, params }),
        (Some(_), _) | (None, None) => Err(NotAMessage::Shapeless),
        (None, Some(id)) => {
            let id = own_id(&id).ok_or(NotAMessage::Shapeless)?;
            let outcome = match object.remove("error").filter(|error| !error.is_null()) {
                Some(error) => Err(read_error(&error)),
                None => Ok(object.remove("result").unwrap_or(Value::Null)),
            };
            Ok(Message::Response { id, outcome })
        }
    }
}

/// Our ids are numbers; an agent that echoes them as text means the same.
fn own_id(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

fn read_error(error: &Value) -> RpcError {
    RpcError {
        code: error["code"].as_i64().unwrap_or_default(),
        message: error["message"].as_str().unwrap_or_default().to_owned(),
        data: error["data"].clone(),
    }
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(crate) fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

pub(crate) fn response(id: &Value, result: Value) -> String {
    super::reply(id, result).to_string()
}

pub(crate) fn error(id: &Value, code: i64, message: &str, data: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Result<Message, NotAMessage>) {
        assert_eq!(parse(line), expected);
    }

    #[test]
    fn the_peers_ids_start_at_zero() {
        check(
            r#"{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":1},"extra":true}"#,
            Ok(Message::Request { id: json!(0), method: "m".to_owned(), params: json!({"a": 1}) }),
        );
        check(
            r#"{"id":"x","method":"m"}"#,
            Ok(Message::Request { id: json!("x"), method: "m".to_owned(), params: Value::Null }),
        );
    }

    #[test]
    fn a_message_without_an_id_is_a_notification() {
        let expected = Message::Notification { method: "m".to_owned(), params: json!([1]) };
        check(r#"{"method":"m","params":[1]}"#, Ok(expected.clone()));
        check(r#"{"method":"m","id":null,"params":[1]}"#, Ok(expected));
    }

    #[test]
    fn a_line_of_too_many_values_is_no_message() {
        let line = format!(r#"{{"method":"m","params":[{}0]}}"#, r#"{"a":0},"#.repeat(1 << 20));
        check(&line, Err(NotAMessage::TooManyValues));
    }

    #[test]
    fn responses_keep_the_error_apart_from_the_result() {
        check(r#"{"result":{},"id":3,"jsonrpc":"2.0"}"#, Ok(Message::Response { id: 3, outcome: Ok(json!({})) }));
        check(r#"{"id":"3","error":null}"#, Ok(Message::Response { id: 3, outcome: Ok(Value::Null) }));
        let error = RpcError { code: 429, message: "slow down".to_owned(), data: json!({"details": "x"}) };
        check(
            r#"{"id":1,"error":{"code":429,"message":"slow down","data":{"details":"x"}}}"#,
            Ok(Message::Response { id: 1, outcome: Err(error) }),
        );
        let bare = RpcError { code: 0, message: String::new(), data: Value::Null };
        check(r#"{"id":1,"error":"odd"}"#, Ok(Message::Response { id: 1, outcome: Err(bare) }));
    }

    #[test]
    fn everything_else_is_refused_without_harm() {
        for line in ["", "Please visit the following URL", "[1]", "12", "{\"id\":", "\u{1b}[2J"] {
            check(line, Err(NotAMessage::NotJson));
        }
        for line in ["{}", r#"{"id":null,"error":{"code":-32700}}"#, r#"{"method":7}"#, r#"{"id":-1,"result":1}"#] {
            check(line, Err(NotAMessage::Shapeless));
        }
        check(&"[".repeat(100_000), Err(NotAMessage::NotJson));
    }
}
