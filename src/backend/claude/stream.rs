//! A message as the model writes it: pieces in, text and thoughts out. Pure.
//!
//! The response is written as the input of a tool; its pieces are shown as text, so that it can be read as it grows.

use serde_json::Value;

use crate::backend::claude::tool;
use crate::backend::event::Event;

/// What is known of the message that is being written.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    message: Option<String>,
    block: Shown,
    used: u64,
}

/// As what the pieces of the open block are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Shown {
    #[default]
    Nothing,
    Text,
    Thought,
    Response,
}

impl Stream {
    /// Takes the `event` of a line.
    pub(crate) fn apply(&mut self, event: &Value) -> Option<Event> {
        match event["type"].as_str()? {
            "message_start" => {
                self.message = event["message"]["id"].as_str().map(str::to_owned);
                self.block = Shown::Nothing;
                self.note(&event["message"]["usage"]);
            }
            "content_block_start" => self.block = shown(&event["content_block"]),
            "content_block_delta" => return self.piece(&event["delta"]),
            "message_delta" => self.note(&event["usage"]),
            _ => {}
        }
        None
    }

    /// Whether a message came in pieces. One that did not is shown when its blocks arrive: the agent falls back to whole
    /// messages after a cut, and then the pieces before it belong to a message that never was.
    pub(crate) fn has_shown(&self, message: &Value) -> bool {
        message["id"].as_str().is_some_and(|id| self.message.as_deref() == Some(id))
    }

    /// How many tokens the last model call read and wrote.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    fn piece(&self, delta: &Value) -> Option<Event> {
        let text = |member: &str| delta[member].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        match self.block {
            Shown::Nothing => None,
            Shown::Text => text("text").map(|delta| Event::Text { delta }),
            Shown::Thought => text("thinking").map(|delta| Event::Thought { delta }),
            Shown::Response => text("partial_json").map(|delta| Event::Text { delta }),
        }
    }

    fn note(&mut self, usage: &Value) {
        if usage.is_object() {
            self.used = read(usage) + usage["output_tokens"].as_u64().unwrap_or_default();
        }
    }
}

/// How many tokens a model call read, from the cache or not.
pub(crate) fn read(usage: &Value) -> u64 {
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    parts.iter().filter_map(|part| usage[part].as_u64()).sum()
}

fn shown(block: &Value) -> Shown {
    match block["type"].as_str() {
        Some("text") => Shown::Text,
        Some("thinking") => Shown::Thought,
        Some("tool_use") if block["name"] == tool::RESPONSE => Shown::Response,
        Some(_) | None => Shown::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn delta(delta: Value) -> Value {
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    }

    #[test]
    fn pieces_are_what_their_block_is() {
        let mut stream = Stream::default();
        let mut check = |block: Value, piece: Value, expected: Option<Event>| {
            stream.apply(&json!({"type": "content_block_start", "content_block": block}));
            assert_eq!(stream.apply(&delta(piece)), expected, "{block}");
        };
        let text = |text: &str| Some(Event::Text { delta: text.to_owned() });
        check(json!({"type": "text"}), json!({"type": "text_delta", "text": "hi"}), text("hi"));
        check(json!({"type": "thinking"}), json!({"thinking": "hm"}), Some(Event::Thought { delta: "hm".to_owned() }));
        check(json!({"type": "thinking"}), json!({"type": "signature_delta", "signature": "c2ln"}), None);
        let response = json!({"type": "tool_use", "name": "StructuredOutput"});
        check(response, json!({"partial_json": "{\"answer\":"}), text("{\"answer\":"));
        check(json!({"type": "tool_use", "name": "Bash"}), json!({"partial_json": "{"}), None);
        check(json!({"type": "from_the_future"}), json!({"text": "x"}), None);
    }

    #[test]
    fn only_the_message_of_the_pieces_has_been_shown() {
        let mut stream = Stream::default();
        assert!(!stream.has_shown(&json!({"id": "a"})));
        let usage = json!({"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 1});
        stream.apply(&json!({"type": "message_start", "message": {"id": "a", "usage": usage}}));
        assert_eq!((stream.has_shown(&json!({"id": "a"})), stream.has_shown(&json!({"id": "b"}))), (true, false));
        assert_eq!(stream.used(), 7);
        stream.apply(&json!({"type": "message_delta", "usage": {"input_tokens": 6, "output_tokens": 30}}));
        assert_eq!(stream.used(), 36);
        assert!(!stream.has_shown(&json!({})));
    }
}
