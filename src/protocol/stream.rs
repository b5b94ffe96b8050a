//! Turns a streaming message into what a person may see: the decoded answer, and nothing else.
//!
//! Prose before the object is dropped here as it is dropped from the response, so no fragment of the protocol can
//! reach a screen however the text is cut into chunks.

use super::find::{Finder, Found};

/// Filters one message; a turn that sends several messages uses one filter for each.
#[derive(Debug)]
pub struct AnswerStream {
    finder: Finder,
    over: bool,
}

impl AnswerStream {
    pub fn new() -> Self {
        Self { finder: Finder::new(), over: false }
    }

    /// Takes the next chunk and returns the part of the answer that became known with it.
    pub fn push(&mut self, chunk: &str) -> String {
        let mut shown = String::new();
        if !self.over {
            let Self { finder, over } = self;
            finder.push(chunk, &mut |found| show(found, &mut shown, over));
        }
        shown
    }

    /// Ends the message; a brace that kept the filter in doubt until here may give an answer free.
    pub fn finish(mut self) -> String {
        let mut shown = String::new();
        if !self.over {
            let Self { finder, over } = &mut self;
            finder.finish(&mut |found| show(found, &mut shown, over));
        }
        shown
    }
}

impl Default for AnswerStream {
    fn default() -> Self {
        Self::new()
    }
}

/// Whatever follows the first object is no answer: either it is blank or the whole text will be refused.
fn show(found: Found, shown: &mut String, over: &mut bool) {
    match found {
        Found::AnswerChar(c) if !*over => shown.push(c),
        Found::AnswerChar(_) => {}
        Found::Object { .. } | Found::Broken { .. } => *over = true,
    }
}
