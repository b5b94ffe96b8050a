//! Server-sent events as text: bytes in, messages out, whatever way the bytes are cut.

/// One message of an event stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) event: Option<String>,
    pub(super) data: String,
}

/// Collects bytes until a message is whole.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    message: Message,
    has_data: bool,
}

impl Parser {
    /// Takes bytes in and hands out the messages that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Message> {
        let mut whole = Vec::new();
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            self.line.extend_from_slice(part);
            // The last part has no newline behind it yet.
            if lines.peek().is_some() {
                let line = std::mem::take(&mut self.line);
                whole.extend(self.take_line(&String::from_utf8_lossy(&line)));
            }
        }
        whole
    }

    fn take_line(&mut self, line: &str) -> Option<Message> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let message = std::mem::take(&mut self.message);
                return std::mem::take(&mut self.has_data).then_some(message);
            }
            "id" => self.message.id = Some(value.to_owned()),
            "event" => self.message.event = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
                self.has_data = true;
            }
            // A comment keeps the connection alive; other fields are for others.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        ": hello\n\nid: 7\ndata: {\"a\":1}\n\nevent: live\r\ndata:one\r\ndata: two ü\r\n\r\nid: 9\n\ndata\n\n";

    fn expected() -> Vec<Message> {
        vec![
            Message { id: Some("7".into()), event: None, data: "{\"a\":1}".into() },
            Message { id: None, event: Some("live".into()), data: "one\ntwo ü".into() },
            Message::default(),
        ]
    }

    #[test]
    fn every_cut_gives_the_same_messages() {
        for cut in 0..=TEXT.len() {
            let (head, tail) = TEXT.as_bytes().split_at(cut);
            let mut parser = Parser::default();
            let mut messages = parser.push(head);
            messages.extend(parser.push(tail));
            assert_eq!(messages, expected(), "cut at {cut}");
        }
    }

    #[test]
    fn an_unfinished_message_is_none() {
        assert_eq!(Parser::default().push(b"id: 1\ndata: x\n"), []);
    }
}
