//! What a person was shown of a session's whole work, by the turn that the work stood at: a merge must not take anything
//! else without a word. Pure; `review` stores it.

use serde::{Deserialize, Serialize};

use crate::git::Oid;

use super::record::Body;

/// The last look after each turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ShownWork(Vec<Look>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    /// The last turn whose work was in the files.
    turn: u32,
    /// The id of the tree that was shown, or of a commit with that tree.
    content: String,
}

impl ShownWork {
    /// Takes the place of an earlier look after the same turn.
    pub(super) fn remember(&mut self, turn: u32, content: Oid) {
        self.0.retain(|look| look.turn != turn);
        self.0.push(Look { turn, content: content.to_string() });
    }

    /// What was shown after a turn; nothing when nobody has looked since it ended.
    pub(super) fn after(&self, turn: u32) -> Option<&str> {
        self.0.iter().find(|look| look.turn == turn).map(|look| look.content.as_str())
    }
}

/// The last turn whose work is in the files.
pub(super) fn current_turn(body: &Body) -> u32 {
    body.undone.map_or(body.turns, |(first, _)| first.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        digit.to_string().repeat(40).parse().unwrap()
    }

    #[test]
    fn the_last_look_after_a_turn_counts_for_that_turn() {
        let mut shown = ShownWork::default();
        assert_eq!(shown.after(0), None);
        shown.remember(1, oid('a'));
        shown.remember(2, oid('b'));
        shown.remember(1, oid('c'));
        let seen = |shown: &ShownWork| [1, 2, 3].map(|turn| shown.after(turn).map(|content| content[..1].to_owned()));
        assert_eq!(seen(&shown), [Some("c".into()), Some("b".into()), None]);
        let stored = serde_json::to_string(&shown).unwrap();
        assert_eq!(serde_json::from_str::<ShownWork>(&stored).unwrap(), shown);
    }

    #[test]
    fn an_undo_goes_back_to_what_was_shown_after_the_turn_that_it_keeps() {
        for (turns, undone, expected) in [(0, None, 0), (3, None, 3), (3, Some((2, 3)), 1), (3, Some((1, 3)), 0)] {
            assert_eq!(current_turn(&Body { turns, undone, ..Body::default() }), expected);
        }
    }
}
