//! Messages as language servers send them: headers, a blank line, and as many bytes as `Content-Length` says.
//!
//! What is written between two messages is passed over. One that is too long is passed over whole and never kept.

/// The longest line among the headers that is kept.
const HEADER: usize = 8 * 1024;

/// The bytes of a message, for the wire.
pub(super) fn encode(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A stream of bytes that is cut into messages, in whatever pieces it comes.
pub(super) struct Frames {
    unread: Vec<u8>,
    state: State,
    /// The bytes of the longest message.
    longest: usize,
}

enum State {
    Headers {
        length: Option<usize>,
    },
    Body {
        length: usize,
    },
    /// So much of the input belongs to a message that is too long.
    Skip {
        left: usize,
    },
}

impl Frames {
    pub(super) fn new(longest: usize) -> Self {
        Self { unread: Vec::new(), state: State::Headers { length: None }, longest }
    }

    /// Takes the next bytes in, and gives out the messages that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.unread.extend_from_slice(bytes);
        let (mut found, mut at) = (Vec::new(), 0);
        loop {
            let rest = &self.unread[at..];
            match self.state {
                State::Headers { length } => {
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        // Nothing that ends so late is a header.
                        at += rest.len().saturating_sub(HEADER);
                        break;
                    };
                    let line = rest[..end].trim_ascii();
                    at += end + 1;
                    self.state = match (length, line.is_empty()) {
                        (Some(length), true) if length > self.longest => State::Skip { left: length },
                        (Some(length), true) => State::Body { length },
                        (None, true) => State::Headers { length: None },
                        (length, false) => State::Headers { length: content_length(line).or(length) },
                    };
                }
                State::Body { length } => {
                    let Some(body) = rest.get(..length) else { break };
                    found.push(String::from_utf8_lossy(body).into_owned());
                    at += length;
                    self.state = State::Headers { length: None };
                }
                State::Skip { left } => {
                    let here = left.min(rest.len());
                    at += here;
                    match left - here {
                        0 => self.state = State::Headers { length: None },
                        left => {
                            self.state = State::Skip { left };
                            break;
                        }
                    }
                }
            }
        }
        self.unread.drain(..at);
        found
    }
}

/// The length that a header tells. What a server printed before it without ending the line does not hide it.
fn content_length(line: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let (_, value) = text.rsplit_once("content-length:")?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(input: &[u8], expected: &[&str]) {
        assert_eq!(Frames::new(64).push(input), expected);
    }

    #[test]
    fn messages_are_found_whatever_is_around_them() {
        check(b"Content-Length: 2\r\n\r\n{}", &["{}"]);
        check(b"content-length:2\n\n{}Content-Length: 3\r\nContent-Type: x\r\n\r\n[1]", &["{}", "[1]"]);
        check(b"starting up\n\nlistening Content-Length: 2\r\n\r\n{}", &["{}"]);
        check(b"Content-Length: x\r\n\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
        check(b"Content-Length: -1\r\n\r\n", &[]);
        check(b"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", &["", "{}"]);
        check(b"Content-Length: 4\r\n\r\n\xff\xfe{}", &["\u{fffd}\u{fffd}{}"]);
    }

    #[test]
    fn a_message_that_is_too_long_is_not_kept() {
        let mut frames = Frames::new(64);
        assert!(frames.push(b"Content-Length: 1000000\r\n\r\n").is_empty());
        for _ in 0..1000 {
            assert!(frames.push(&[b'x'; 1000]).is_empty());
            assert!(frames.unread.is_empty());
        }
        assert_eq!(frames.push(&encode("{}")), ["{}"]);
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let mut frames = Frames::new(64);
        for _ in 0..100 {
            assert!(frames.push(&[b'x'; 1000]).is_empty());
            assert!(frames.unread.len() <= HEADER);
        }
        assert_eq!(frames.push(b"\nContent-Length: 2\r\n\r\n{}"), ["{}"]);
    }

    proptest! {
        #[test]
        fn no_split_and_no_noise_loses_a_message(
            parts in proptest::collection::vec(("([a-z :\r]{0,20}\n)?", "\\PC{0,20}"), 0..6),
            cuts in proptest::collection::vec(1usize..9, 1..20),
        ) {
            let mut stream = Vec::new();
            for (noise, body) in &parts {
                stream.extend_from_slice(noise.as_bytes());
                stream.extend_from_slice(&encode(body));
            }
            let (mut frames, mut found, mut rest) = (Frames::new(1024), Vec::new(), stream.as_slice());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                found.extend(frames.push(piece));
                rest = after;
            }
            let sent: Vec<_> = parts.into_iter().map(|(_, body)| body).collect();
            prop_assert_eq!(found, sent);
        }

        #[test]
        fn no_input_does_harm(input in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut frames = Frames::new(64);
            for piece in input.chunks(7) {
                frames.push(piece);
            }
            prop_assert!(frames.unread.len() <= HEADER.max(64));
        }
    }
}
