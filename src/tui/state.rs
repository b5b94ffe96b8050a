//! What the face keeps between two runs: what is written and not sent, and the prompts that were sent. Nothing of it
//! matters to a session.
//!
//! One of these belongs to one repository. A part that cannot be read is left out, never a reason to fail.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::composer::Content;
use super::decide::Begun;
use super::review::Unsaved;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Saved {
    /// What is written for the next task.
    pub(crate) task: Content,
    /// What is written to sessions, by their ids.
    pub(crate) sessions: BTreeMap<String, Content>,
    /// Prompts that were sent, as their words, and drafts that were put aside, the oldest first.
    #[serde(serialize_with = "as_words")]
    pub(crate) history: Vec<Content>,
    /// Answers to questions that are not all answered, by the sessions that ask.
    pub(crate) answers: BTreeMap<String, Begun>,
    /// Words of comments that the daemon does not have, by their places.
    pub(crate) comments: BTreeMap<String, Unsaved>,
}

impl Saved {
    /// Reads as much as can be understood.
    pub(crate) fn parse(text: &str) -> Saved {
        let Ok(Value::Object(mut parts)) = serde_json::from_str(text) else { return Saved::default() };
        let mut part = |name: &str| parts.remove(name).unwrap_or_default();
        Saved {
            task: serde_json::from_value(part("task")).unwrap_or_default(),
            sessions: each(part("sessions")),
            history: past(part("history")),
            answers: each(part("answers")),
            comments: each(part("comments")),
        }
    }
}

/// The entries of an object that can be read.
fn each<T: DeserializeOwned>(object: Value) -> BTreeMap<String, T> {
    let Value::Object(entries) = object else { return BTreeMap::new() };
    entries.into_iter().filter_map(|(name, value)| Some((name, serde_json::from_value(value).ok()?))).collect()
}

/// A prompt that is nothing but words is written as a text, anything else as an object.
fn past(list: Value) -> Vec<Content> {
    let Value::Array(list) = list else { return Vec::new() };
    let read = |value| match value {
        Value::String(text) => Some(Content { text, ..Content::default() }),
        value => serde_json::from_value(value).ok(),
    };
    list.into_iter().filter_map(read).collect()
}

fn as_words<S: Serializer>(history: &[Content], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Past<'a> {
        Words(&'a str),
        Whole(&'a Content),
    }
    serializer.collect_seq(history.iter().map(|past| match past.is_text() {
        true => Past::Words(&past.text),
        false => Past::Whole(past),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Saved {
        let content = |text: &str| Content { text: text.into(), ..Content::default() };
        Saved {
            task: content("fix it"),
            sessions: BTreeMap::from([("runaaaaa".into(), content("and test it"))]),
            history: vec![content("first"), Content { with: vec!["h_1".into()], ..content("put aside") }],
            ..Saved::default()
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Saved::parse(&serde_json::to_string(&written()).unwrap()), written());
    }

    #[test]
    fn a_broken_part_takes_nothing_else_with_it() {
        let history = r#""history": ["first", 7, {"text": "put aside", "with": ["h_1"]}]"#;
        let session = r#""sessions": {"runaaaaa": {"text": "and test it"}, "b": {"text": 3}}"#;
        for (text, expected) in [
            ("", Saved::default()),
            ("[1]", Saved::default()),
            (r#"{"task": 7, "later": true}"#, Saved::default()),
            (&format!(r#"{{"task": {{"text": "fix it", "later": 1}}, {session}, {history}}}"#), written()),
            (
                &format!(r#"{{"task": {{"text": "fix it"}}, {session}, "history": "none"}}"#),
                Saved { history: vec![], ..written() },
            ),
        ] {
            assert_eq!(Saved::parse(text), expected, "{text}");
        }
    }
}
