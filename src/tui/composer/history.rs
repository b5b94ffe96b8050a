//! Prompts that were sent, to be sent again. Going back looks only at those that begin like what is written.

use super::draft::Draft;

/// So many prompts are kept.
const KEPT: usize = 200;
/// A longer prompt stands in the transcript, not here.
const LONGEST: usize = 10_000;

/// Where the person is among the earlier prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Browse {
    /// What was written; it comes back behind the latest prompt.
    written: String,
    at: usize,
}

/// Remembers a prompt as the latest.
pub(super) fn remember(history: &mut Vec<String>, text: &str) {
    if text.is_empty() || text.len() > LONGEST {
        return;
    }
    history.retain(|earlier| earlier != text);
    history.push(text.to_owned());
    let surplus = history.len().saturating_sub(KEPT);
    history.drain(..surplus);
}

/// Whether there was another prompt to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Yes,
    No,
}

/// Shows the prompt before; what was written is kept.
pub(super) fn back(history: &[String], draft: &mut Draft) -> Found {
    let shown = draft.text();
    let Browse { written, at } = match draft.browse.take() {
        Some(browse) => browse,
        None => Browse { written: shown.clone(), at: history.len() },
    };
    let begins_alike = |earlier: &&String| earlier.starts_with(&written) && **earlier != shown;
    let found = history[..at.min(history.len())].iter().rposition(|earlier| begins_alike(&earlier));
    if let Some(found) = found {
        draft.set(&history[found]);
    }
    if found.is_some() || at < history.len() {
        draft.browse = Some(Browse { written, at: found.unwrap_or(at) });
    }
    found.map_or(Found::No, |_| Found::Yes)
}

/// Shows the prompt after, and behind the latest what was written.
pub(super) fn forward(history: &[String], draft: &mut Draft) {
    let Some(Browse { written, at }) = draft.browse.take() else { return };
    let later = history.iter().enumerate().skip(at + 1).find(|(_, later)| later.starts_with(&written));
    match later {
        Some((at, later)) => {
            draft.set(later);
            draft.browse = Some(Browse { written, at });
        }
        None => draft.set(&written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> Vec<String> {
        ["fix the parser", "add a test", "fix the docs"].map(ToOwned::to_owned).to_vec()
    }

    #[test]
    fn going_back_shows_what_begins_alike_and_forward_returns() {
        for (written, moves, expected) in [
            ("", "b", "fix the docs"),
            ("", "bb", "add a test"),
            ("", "bbbb", "fix the parser"),
            ("", "bbf", "fix the docs"),
            ("", "bbff", ""),
            ("", "f", ""),
            ("fix", "b", "fix the docs"),
            ("fix", "bb", "fix the parser"),
            ("fix", "bbb", "fix the parser"),
            ("fix", "bbfff", "fix"),
            ("zzz", "bb", "zzz"),
        ] {
            let mut draft = Draft::default();
            draft.set(written);
            for step in moves.chars() {
                match step {
                    'b' => drop(back(&history(), &mut draft)),
                    _ => forward(&history(), &mut draft),
                }
            }
            assert_eq!(draft.text(), expected, "{written:?} {moves}");
        }
    }

    #[test]
    fn a_prompt_is_remembered_once_and_not_for_ever() {
        let mut kept = history();
        remember(&mut kept, "add a test");
        assert_eq!(kept, ["fix the parser", "fix the docs", "add a test"]);
        remember(&mut kept, "");
        remember(&mut kept, &"x".repeat(LONGEST + 1));
        assert_eq!(kept.len(), 3);
        (0..300).for_each(|number| remember(&mut kept, &format!("prompt {number}")));
        assert_eq!((kept.len(), kept[0].as_str()), (KEPT, "prompt 100"));
    }
}
