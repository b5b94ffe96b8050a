//! Streaming text made into blocks: what is shown while it grows, and what is stored when it ends.
//!
//! Pure. A message is shown only as the decoded `answer` of the response in it; its prose is stored when a tool call
//! follows, because then it was not the response.

use crate::api::event::PlanEntry;
use crate::protocol::{self, AnswerStream};

/// How much of its thoughts a turn keeps.
const THOUGHT_LIMIT: usize = 4 << 20;

/// Follows the last thought that is kept.
const THOUGHTS_CUT: &str = "\n[further thoughts of this turn are left out]";

/// How many entries of a plan are kept, and how much of each.
const PLAN_ENTRIES: usize = 500;
const ENTRY_LIMIT: usize = 4 << 10;

/// The text in progress of one turn.
#[derive(Default)]
pub(super) struct Blocks {
    message: String,
    answer: AnswerStream,
    thought: String,
    /// The bytes of all thoughts so far.
    thought_bytes: usize,
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

    /// Takes more of a thought and returns what may be shown of it.
    pub(super) fn thought(&mut self, delta: &str) -> String {
        let room = THOUGHT_LIMIT.saturating_sub(self.thought_bytes);
        let mut kept = delta[..delta.floor_char_boundary(room)].to_owned();
        if delta.len() > room && self.thought_bytes <= THOUGHT_LIMIT {
            kept.push_str(THOUGHTS_CUT);
        }
        self.thought_bytes = self.thought_bytes.saturating_add(delta.len());
        self.thought.push_str(&kept);
        kept
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

/// Keeps the first entries of a plan, and the beginning of each; what is left out shows.
pub(super) fn cut_plan(mut entries: Vec<PlanEntry>) -> Vec<PlanEntry> {
    let left_out = entries.len().saturating_sub(PLAN_ENTRIES);
    entries.truncate(PLAN_ENTRIES);
    for PlanEntry { content, .. } in entries.iter_mut().filter(|entry| entry.content.len() > ENTRY_LIMIT) {
        content.truncate(content.floor_char_boundary(ENTRY_LIMIT));
        content.shrink_to_fit();
        content.push('…');
    }
    if left_out > 0 {
        entries.push(PlanEntry { content: format!("[{left_out} left out]"), status: "pending".to_owned() });
    }
    entries
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
    fn the_thoughts_of_a_turn_are_cut_and_the_cut_shows() {
        let mut blocks = Blocks::default();
        let half = "x".repeat(THOUGHT_LIMIT / 2 - 1);
        assert_eq!(blocks.thought(&half), half);
        blocks.interlude();
        assert_eq!(blocks.thought(&half), half);
        assert_eq!(blocks.thought("aéb"), format!("a{THOUGHTS_CUT}"), "no half of a character");
        assert_eq!(blocks.thought(&half), "", "once is enough");
        let kept = format!("{half}a{THOUGHTS_CUT}");
        assert_eq!(blocks.finish(), Some(Ended::Thought(kept)));
        assert_eq!(blocks.thought("next turn"), "next turn");
    }

    #[test]
    fn a_plan_keeps_its_first_entries_and_the_beginning_of_each() {
        let entry = |content: &str| PlanEntry { content: content.to_owned(), status: "pending".to_owned() };
        assert_eq!(cut_plan(vec![entry("a")]), [entry("a")]);
        let long = entry(&format!("{}é", "x".repeat(ENTRY_LIMIT - 1)));
        let cut = entry(&format!("{}…", "x".repeat(ENTRY_LIMIT - 1)));
        assert_eq!(cut_plan(vec![long]), [cut]);
        let kept = cut_plan(vec![entry("a"); PLAN_ENTRIES + 7]);
        assert_eq!(kept.len(), PLAN_ENTRIES + 1);
        assert_eq!(kept.last(), Some(&entry("[7 left out]")));
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
