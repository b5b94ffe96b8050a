//! Messages inside a stream of server-sent events: how one is written, and how they are found in what arrives. Pure.

use serde_json::Value;

/// A line that means nothing and keeps a client from believing that nobody is there.
pub const KEEP_ALIVE: &str = ": the call goes on\n\n";

/// One message as an event.
pub fn event(message: &Value) -> String {
    // Compact JSON has no line break, so one line holds all of it.
    format!("event: message\ndata: {message}\n\n")
}

/// Puts messages together from the pieces in which a stream arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The line that is not over yet.
    line: Vec<u8>,
    /// The data of the event that is not over yet.
    data: Option<String>,
}

impl Decoder {
    /// Takes the next piece; returns the messages that it completes. What is not JSON is left out.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Value> {
        let mut messages = Vec::new();
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                messages.extend(self.line(String::from_utf8_lossy(&line).trim_end_matches('\r')));
            } else {
                self.line.push(byte);
            }
        }
        messages
    }

    fn line(&mut self, line: &str) -> Option<Value> {
        if line.is_empty() {
            return self.data.take().and_then(|data| serde_json::from_str(&data).ok());
        }
        if let Some(text) = line.strip_prefix("data:") {
            let text = text.strip_prefix(' ').unwrap_or(text);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(text);
                }
                None => self.data = Some(text.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_names_and_broken_events_are_passed_over() {
        let mut decoder = Decoder::default();
        let stream =
            format!("{KEEP_ALIVE}event: message\r\nid: 7\r\ndata: {{\"a\":\r\ndata:1}}\r\n\r\ndata: {{\n\ndata\n\n");
        assert_eq!(decoder.feed(stream.as_bytes()), [json!({"a": 1})]);
        assert_eq!(decoder.feed(b"data: 2\n"), Vec::<Value>::new());
        assert_eq!(decoder.feed(b"\n"), [json!(2)]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_found_however_it_is_cut(texts in prop::collection::vec("\\PC*|\n|\r", 0..4), cut in 1usize..9) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            let stream: String = messages.iter().map(|message| format!("{KEEP_ALIVE}{}", event(message))).collect();
            let mut decoder = Decoder::default();
            let found: Vec<Value> = stream.as_bytes().chunks(cut).flat_map(|piece| decoder.feed(piece)).collect();
            prop_assert_eq!(found, messages);
        }

        #[test]
        fn no_stream_breaks_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Decoder::default().feed(&bytes);
        }
    }
}
