//! Reads the response that ends a message. Strict: what is not exactly one valid object is refused, never repaired.
//!
//! A refusal names size, place or category and the keys it saw, so that an agent can be told what to mend and a log
//! can be read; it never carries the text itself.

use std::fmt;

use serde_json::Value;

pub use super::scan::Fault;

use super::find::{Finder, Found};
use super::response::Response;
use super::schema;
use super::wire::WireResponse;

/// A schema violation can name a key of the agent's choosing, which can be of any length.
const RULE_CHARS: usize = 160;

/// Why a message holds no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseError {
    pub refusal: Refusal,
    /// Bytes of the whole message.
    pub size: usize,
    /// The first top-level keys of the object in question; long ones are cut.
    pub keys: Vec<String>,
}

/// The category of a refusal; positions are bytes from the start of the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the message is blank")]
    Blank,
    #[error("the message holds no JSON object")]
    NoObject,
    #[error("broken JSON at byte {at}: {fault}")]
    Broken { at: usize, fault: Fault },
    #[error("a second JSON object begins at byte {at}")]
    SecondObject { at: usize },
    #[error("the object ends at byte {at} but a code fence follows it")]
    ClosingFence { at: usize },
    #[error("the object ends at byte {at} but text follows it")]
    TrailingText { at: usize },
    #[error("the object does not match the schema at `{path}`: {rule}")]
    Schema { path: String, rule: String },
    #[error("a key is repeated at line {line}, column {column} of the object")]
    RepeatedKey { line: usize, column: usize },
    #[error("the object cannot be read: {rule}")]
    Unreadable { rule: String },
    #[error("`{path}` is blank")]
    BlankPart { path: String },
    #[error("the object says nothing: `answer`, `questions` and `summary` are missing or blank")]
    SaysNothing,
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (message of {} bytes", self.refusal, self.size)?;
        if !self.keys.is_empty() {
            // Keys are the agent's text: quoting them escapes whatever could disturb a terminal.
            write!(f, ", top-level keys: {:?}", self.keys)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for ResponseError {}

/// Reads the one response of a message; prose before it is dropped.
pub fn parse(text: &str) -> Result<Response, ResponseError> {
    let (object, keys) = only_object(text)?;
    read(object).map_err(|refusal| ResponseError { refusal, size: text.len(), keys })
}

fn only_object(text: &str) -> Result<(&str, Vec<String>), ResponseError> {
    let mut objects = Vec::new();
    let mut broken = None;
    let mut collect = |found| match found {
        Found::AnswerChar(_) => {}
        Found::Object { start, end, keys } => objects.push((start, end, keys)),
        Found::Broken { at, fault, keys } => broken = Some((Refusal::Broken { at, fault }, keys)),
    };
    let mut finder = Finder::new();
    finder.push(text, &mut collect);
    finder.finish(&mut collect);

    let mut objects = objects.into_iter();
    let (refusal, keys) = match (objects.next(), objects.next(), broken) {
        (_, Some((at, _, keys)), _) => (Refusal::SecondObject { at }, keys),
        (_, None, Some(broken)) => broken,
        (None, None, None) if text.trim().is_empty() => (Refusal::Blank, Vec::new()),
        (None, None, None) => (Refusal::NoObject, Vec::new()),
        (Some((start, end, keys)), None, None) => match text[end..].trim() {
            "" => return Ok((&text[start..end], keys)),
            "```" => (Refusal::ClosingFence { at: end }, keys),
            _ => (Refusal::TrailingText { at: end }, keys),
        },
    };
    Err(ResponseError { refusal, size: text.len(), keys })
}

fn read(object: &str) -> Result<Response, Refusal> {
    let value: Value =
        serde_json::from_str(object).map_err(|error| Refusal::Unreadable { rule: bounded(&error.to_string()) })?;
    schema::check(&value)
        .map_err(|violation| Refusal::Schema { path: violation.path, rule: bounded(&violation.rule) })?;
    // Read from the text again: a `Value` keeps the last of two equal keys. The schema holds for what it kept, so a
    // repeated key is all that is left for the types to refuse.
    serde_json::from_str::<WireResponse>(object)
        .map_err(|error| Refusal::RepeatedKey { line: error.line(), column: error.column() })?
        .try_into()
}

fn bounded(text: &str) -> String {
    text.char_indices().nth(RULE_CHARS).map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}
