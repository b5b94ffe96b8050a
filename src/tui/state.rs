//! What the face keeps between two runs: drafts and the prompts that were sent. Nothing of it matters to a session.
//!
//! One of these belongs to one repository. A part that cannot be read is left out, never a reason to fail.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::composer::Content;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Saved {
    /// What is written for the next task.
    pub(crate) task: Content,
    /// What is written to sessions, by their ids.
    pub(crate) sessions: BTreeMap<String, Content>,
    /// Prompts that were sent, the oldest first.
    pub(crate) history: Vec<String>,
}

impl Saved {
    /// Reads as much as can be understood.
    pub(crate) fn parse(text: &str) -> Saved {
        let Ok(Value::Object(mut parts)) = serde_json::from_str(text) else { return Saved::default() };
        let mut part = |name: &str| parts.remove(name).unwrap_or_default();
        let sessions = match part("sessions") {
            Value::Object(sessions) => sessions,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Default::default(),
        };
        let content = |(id, value)| Some((id, serde_json::from_value(value).ok()?));
        Saved {
            task: serde_json::from_value(part("task")).unwrap_or_default(),
            sessions: sessions.into_iter().filter_map(content).collect(),
            history: serde_json::from_value(part("history")).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Saved {
        let content = |text: &str| Content { text: text.into(), ..Content::default() };
        Saved {
            task: content("fix it"),
            sessions: BTreeMap::from([("runaaaaa".into(), content("and test it"))]),
            history: vec!["first".into()],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Saved::parse(&serde_json::to_string(&written()).unwrap()), written());
    }

    #[test]
    fn a_broken_part_takes_nothing_else_with_it() {
        let session = r#""sessions": {"runaaaaa": {"text": "and test it"}, "b": {"text": 3}}"#;
        for (text, expected) in [
            ("", Saved::default()),
            ("[1]", Saved::default()),
            (r#"{"task": 7, "later": true}"#, Saved::default()),
            (&format!(r#"{{"task": {{"text": "fix it", "later": 1}}, {session}, "history": ["first"]}}"#), written()),
            (
                &format!(r#"{{"task": {{"text": "fix it"}}, {session}, "history": "none"}}"#),
                Saved { history: vec![], ..written() },
            ),
        ] {
            assert_eq!(Saved::parse(text), expected, "{text}");
        }
    }
}
