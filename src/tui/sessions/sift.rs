//! The filter of the list: a few letters that a session's words must contain in this order.

use std::collections::{BTreeMap, HashSet};

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::api::session::Session;

/// What was typed, and whether typing goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) text: String,
    pub(crate) stage: Stage,
    /// Where the cursor was before.
    pub(crate) from: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Typed,
    Kept,
}

/// The sessions that match.
pub(crate) fn matching(sessions: &BTreeMap<String, Session>, text: &str) -> HashSet<String> {
    let pattern = Pattern::parse(text, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut is_match = |session: &Session| {
        let words = words(session);
        pattern.atoms.iter().all(|atom| {
            let mut hits =
                words.iter().map(|word| atom.score(Utf32Str::new(word, &mut buffer), &mut matcher).is_some());
            // An atom that begins with `!` must be true of every word.
            if atom.negative { hits.all(|hit| hit) } else { hits.any(|hit| hit) }
        })
    };
    sessions.values().filter(|session| is_match(session)).map(|session| session.id.clone()).collect()
}

/// Everything that a person may know a session by. Each is matched for itself: letters that are far apart mean nothing.
fn words(session: &Session) -> [&str; 7] {
    [
        &session.title,
        session.agent.as_deref().unwrap_or_default(),
        &session.backend,
        session.model.as_deref().unwrap_or_default(),
        &session.branch,
        &session.id,
        session.status.as_str(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::sessions;

    #[test]
    fn a_few_letters_of_any_word_find_a_session() {
        let all: BTreeMap<_, _> = sessions().into_iter().map(|session| (session.id.clone(), session)).collect();
        for (text, expected) in [
            ("sqlx", vec!["queaaaaa"]),
            ("flogin", vec!["appaaaaa"]),
            ("worker", vec!["kidaaaaa"]),
            ("upgrade queued", vec!["queaaaaa"]),
            ("upgr !queued", vec!["reaaaaaa"]),
            ("'conflict", vec!["conaaaaa"]),
            ("'meraaaaa", vec!["meraaaaa"]),
            ("nothing like it", vec![]),
        ] {
            let mut found: Vec<_> = matching(&all, text).into_iter().collect();
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(matching(&all, "").len(), all.len());
    }
}
