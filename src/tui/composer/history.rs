//! Prompts that were sent, and drafts that were put aside, to be written again. Going back looks only at those that begin
//! like what is written.

use super::choice::Choices;
use super::draft::{Content, Draft};

/// So many are kept.
const KEPT: usize = 200;
/// A longer prompt that was sent stands in the transcript, not here.
const LONGEST: usize = 10_000;
/// What was put aside is kept as it is, up to so many bytes of all that is long or has images; the latest is, whatever
/// its size.
const MOST: usize = 25_000_000;

/// Where the person is among the earlier prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Browse {
    /// What was written; it comes back behind the latest prompt.
    written: Content,
    at: usize,
}

/// Remembers a prompt that was sent as the latest.
pub(super) fn remember(history: &mut Vec<Content>, text: &str) {
    if text.len() <= LONGEST {
        put_aside(history, Content { text: text.to_owned(), ..Content::NOTHING });
    }
}

/// Keeps what is not sent whole, with its images and long pastes: nothing else has it.
pub(super) fn put_aside(history: &mut Vec<Content>, content: Content) {
    if content.text.trim().is_empty() {
        return;
    }
    // Who is to work on it is chosen for the draft, not for the words.
    let content = Content { choices: Choices::NONE, ..content };
    history.retain(|earlier| *earlier != content);
    history.push(content);
    let surplus = history.len().saturating_sub(KEPT);
    history.drain(..surplus);
    let sizes: Vec<usize> = history.iter().map(size).collect();
    let mut total: usize = sizes.iter().filter(|size| **size > LONGEST).sum();
    let latest = sizes.len() - 1;
    let mut sizes = sizes.into_iter().enumerate();
    history.retain(|_| match sizes.next() {
        Some((at, size)) if size > LONGEST && total > MOST && at < latest => {
            total -= size;
            false
        }
        Some(_) | None => true,
    });
}

fn size(content: &Content) -> usize {
    let pastes = content.pastes.iter().map(|paste| paste.text.len());
    let images = content.images.iter().map(|picture| picture.image.data.len());
    content.text.len() + pastes.chain(images).sum::<usize>()
}

/// Whether there was another prompt to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Yes,
    No,
}

/// Shows the prompt before; what was written is kept.
pub(super) fn back(history: &[Content], draft: &mut Draft) -> Found {
    let shown = draft.content();
    let Browse { written, at } = match draft.browse.take() {
        Some(browse) => browse,
        None => Browse { written: shown.clone(), at: history.len() },
    };
    let begins_alike = |earlier: &&Content| earlier.text.starts_with(&written.text) && earlier.text != shown.text;
    let found = history[..at.min(history.len())].iter().rposition(|earlier| begins_alike(&earlier));
    if let Some(found) = found {
        draft.show(&history[found], &written);
    }
    if found.is_some() || at < history.len() {
        draft.browse = Some(Browse { written, at: found.unwrap_or(at) });
    }
    found.map_or(Found::No, |_| Found::Yes)
}

/// Shows the prompt after, and behind the latest what was written.
pub(super) fn forward(history: &[Content], draft: &mut Draft) {
    let Some(Browse { written, at }) = draft.browse.take() else { return };
    let later = history.iter().enumerate().skip(at + 1).find(|(_, later)| later.text.starts_with(&written.text));
    match later {
        Some((at, later)) => {
            draft.show(later, &written);
            draft.browse = Some(Browse { written, at });
        }
        None => draft.show(&written, &written),
    }
}

#[cfg(test)]
mod tests {
    use super::super::draft::Picture;
    use super::*;
    use crate::api::image::Image;

    fn content(text: &str) -> Content {
        Content { text: text.into(), ..Content::default() }
    }

    fn history() -> Vec<Content> {
        ["fix the parser", "add a test", "fix the docs"].map(content).to_vec()
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
        assert_eq!(kept, ["fix the parser", "fix the docs", "add a test"].map(content));
        remember(&mut kept, "");
        remember(&mut kept, &"x".repeat(LONGEST + 1));
        assert_eq!(kept.len(), 3);
        (0..300).for_each(|number| remember(&mut kept, &format!("prompt {number}")));
        assert_eq!((kept.len(), kept[0].text.as_str()), (KEPT, "prompt 100"));
    }

    #[test]
    fn what_is_put_aside_is_kept_whole_until_there_is_too_much_of_it() {
        let image = |letters: usize| Picture {
            number: 1,
            image: Image { name: Some("a.png".into()), data: "x".repeat(letters) },
        };
        let seen = |text: &str, letters| Content {
            text: format!("{text} [Image #1]"),
            images: vec![image(letters)],
            ..content("")
        };
        let long = content(&"x".repeat(LONGEST + 1));
        let mut kept = history();
        put_aside(&mut kept, long.clone());
        put_aside(&mut kept, seen("look", 8));
        assert_eq!(kept[3..], [long, seen("look", 8)]);
        // Going back brings the image with its words, and forward what was written before.
        let mut draft = Draft::of(seen("here", 4));
        draft.set("");
        assert_eq!(back(&kept, &mut draft), Found::Yes);
        assert_eq!(draft.content(), seen("look", 8));
        forward(&kept, &mut draft);
        assert!(draft.content().is_empty());
        // What takes too much room goes, the oldest first; short words stay.
        put_aside(&mut kept, seen("half", MOST / 2 + 1));
        put_aside(&mut kept, seen("more", MOST / 2 + 1));
        assert_eq!(kept[3..].iter().map(|kept| &kept.text[..4]).collect::<Vec<_>>(), ["look", "more"]);
        put_aside(&mut kept, seen("huge", MOST + 1));
        assert_eq!(kept[3..].iter().map(|kept| &kept.text[..4]).collect::<Vec<_>>(), ["look", "huge"]);
    }
}
