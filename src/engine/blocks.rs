//! Streaming text made into blocks: what is shown while it grows, and what is stored when it ends.
//!
//! Pure. A message is shown only as the decoded `answer` of the response in it; its prose is stored when a tool call
//! follows, because then it was not the response.

use crate::protocol::{self, AnswerStream};

/// The text in progress of one turn.
#[derive(Default)]
pub(super) struct Blocks {
    message: String,
    answer: AnswerStream,
    thought: String,
}

/// A block that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Message(String),
    Thought(String),
}

impl Blocks {
    /// Takes more of a message and returns what may be shown of it.
    pub(super) fn message(&mut self, delta: &str) -> String {
        self.message.push_str(delta);
        self.answer.push(delta)
    }

    pub(super) fn thought(&mut self, delta: &str) {
        self.thought.push_str(delta);
    }

    /// Whether a thought is in progress; a message ends it.
    pub(super) fn is_thinking(&self) -> bool {
        !self.thought.is_empty()
    }

    /// Ends the thought in progress.
    pub(super) fn end_thought(&mut self) -> Option<Ended> {
        let thought = std::mem::take(&mut self.thought);
        (!thought.trim().is_empty()).then_some(Ended::Thought(thought))
    }

    /// Ends all blocks because something else begins; a message that ends so was not the response.
    pub(super) fn interlude(&mut self) -> Vec<Ended> {
        let thought = self.end_thought();
        let message = std::mem::take(&mut self.message);
        self.answer = AnswerStream::default();
        let message = readable(&message).map(Ended::Message);
        thought.into_iter().chain(message).collect()
    }

    /// Ends all blocks because the turn ends; the response itself is stored by the turn.
    pub(super) fn finish(&mut self) -> Option<Ended> {
        let thought = self.end_thought();
        *self = Self::default();
        thought
    }
}

/// What a person may read of a message that is not the response: never a fragment of the protocol.
fn readable(message: &str) -> Option<String> {
    let text = match protocol::parse(message) {
        Ok(response) => response.answer,
        Err(_) => match message.find('{') {
            Some(brace) if message[brace..].contains("\"answer\"") => message[..brace].to_owned(),
            Some(_) | None => message.to_owned(),
        },
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_before_a_tool_call_is_a_message() {
        let mut blocks = Blocks::default();
        blocks.thought("first");
        assert_eq!(blocks.message("I look at the files."), "");
        assert_eq!(blocks.interlude(), [Ended::Thought("first".into()), Ended::Message("I look at the files.".into())]);
        assert_eq!(blocks.interlude(), []);
    }

    #[test]
    fn only_the_answer_of_a_response_is_shown_while_it_grows() {
        let mut blocks = Blocks::default();
        let shown: String = [r#"{"ans"#, r#"wer":"Do"#, r#"ne.","#, r#""summary":{"turn":"x","session":"y"}}"#]
            .iter()
            .map(|chunk| blocks.message(chunk))
            .collect();
        assert_eq!(shown, "Done.");
        assert_eq!(blocks.finish(), None);
    }

    #[test]
    fn a_response_that_was_not_the_last_message_leaves_only_its_answer() {
        for (message, stored) in [
            (r#"{"answer":"Done."}"#, Some("Done.")),
            (r#"Well. {"answer":"Do"#, Some("Well.")),
            ("let x = { 1 };", Some("let x = { 1 };")),
            ("  ", None),
        ] {
            assert_eq!(readable(message).as_deref(), stored);
        }
    }
}
