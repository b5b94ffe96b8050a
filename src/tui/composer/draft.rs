//! What is being written for one target: the text, what its placeholders stand for, and what was chosen for it.
//!
//! A placeholder is plain text in the editor. What it stands for is kept until the draft is sent, so that taking it out
//! and undoing that loses nothing; only what the text still names is sent or saved.

use ratatui::style::{Modifier, Style};
use ratatui_textarea::{CursorMove, DataCursor, TextArea, WrapMode};
use serde::{Deserialize, Serialize};

use super::choice::Choices;
use super::history::Browse;
use crate::api::image::Image;

/// A pasted text with more lines stands as a placeholder.
pub(super) const MANY_LINES: usize = 20;
/// So does one with more characters.
pub(super) const MANY_CHARACTERS: usize = 2_000;

/// A draft as it is saved, and as it waits for the daemon to take it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Content {
    pub(crate) text: String,
    pub(crate) pastes: Vec<Paste>,
    pub(crate) images: Vec<Picture>,
    /// Handoffs whose results go with it.
    pub(crate) with: Vec<String>,
    pub(crate) choices: Choices,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Paste {
    pub(crate) number: u32,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Picture {
    pub(crate) number: u32,
    pub(crate) image: Image,
}

impl Paste {
    pub(super) fn token(&self) -> String {
        let lines = self.text.lines().count();
        match lines > MANY_LINES {
            true => format!("[Pasted #{}: {lines} lines]", self.number),
            false => format!("[Pasted #{}: {} characters]", self.number, self.text.chars().count()),
        }
    }
}

impl Picture {
    pub(super) fn token(&self) -> String {
        format!("[Image #{}]", self.number)
    }
}

impl Content {
    pub(super) const NOTHING: Content = Content {
        text: String::new(),
        pastes: Vec::new(),
        images: Vec::new(),
        with: Vec::new(),
        choices: Choices::NONE,
    };

    pub(super) fn is_empty(&self) -> bool {
        *self == Content::NOTHING
    }

    /// Whether it is nothing but words.
    pub(crate) fn is_text(&self) -> bool {
        let words = Content { text: self.text.clone(), ..Content::NOTHING };
        *self == words
    }

    /// What the daemon gets: pasted text in its place, images numbered in the order in which the text names them.
    pub(super) fn outgoing(&self) -> (String, Vec<Image>) {
        let mut named: Vec<_> =
            self.images.iter().filter_map(|picture| Some((self.text.find(&picture.token())?, picture))).collect();
        named.sort_by_key(|(place, _)| *place);
        let numbered = named
            .iter()
            .zip(1u32..)
            .map(|((_, picture), number)| (picture.token(), Picture { number, image: Image::default() }.token()));
        let pasted = self.pastes.iter().map(|paste| (paste.token(), paste.text.clone()));
        let text = rewrite(&self.text, &numbered.chain(pasted).collect::<Vec<_>>());
        (text.trim().to_owned(), named.into_iter().map(|(_, picture)| picture.image.clone()).collect())
    }

    /// What can be written again without the images: pasted text in its place.
    pub(super) fn words(&self) -> String {
        let images = self.images.iter().map(|picture| (picture.token(), String::new()));
        let pasted = self.pastes.iter().map(|paste| (paste.token(), paste.text.clone()));
        rewrite(&self.text, &images.chain(pasted).collect::<Vec<_>>()).trim().to_owned()
    }

    /// Whether both ask for the same, on whichever agent.
    fn says_the_same(&self, other: &Content) -> bool {
        let bare = |content: &Content| Content { choices: Choices::default(), ..content.clone() };
        bare(self) == bare(other)
    }
}

/// Replaces every token by what stands beside it; what is put in is not looked at again.
fn rewrite(text: &str, tokens: &[(String, String)]) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        written.push_str(&rest[..at]);
        rest = &rest[at..];
        match tokens.iter().find(|(token, _)| rest.starts_with(token.as_str())) {
            Some((token, instead)) => {
                written.push_str(instead);
                rest = &rest[token.len()..];
            }
            None => {
                written.push('[');
                rest = &rest[1..];
            }
        }
    }
    written + rest
}

#[derive(Debug)]
pub(super) struct Draft {
    pub(super) area: TextArea<'static>,
    pastes: Vec<Paste>,
    images: Vec<Picture>,
    pub(super) with: Vec<String>,
    pub(super) choices: Choices,
    /// Set while an earlier prompt is shown in place of what was written.
    pub(super) browse: Option<Browse>,
}

impl Default for Draft {
    fn default() -> Draft {
        Draft::of(Content::default())
    }
}

impl Draft {
    pub(super) fn of(content: Content) -> Draft {
        let Content { text, pastes, images, with, choices } = content;
        Draft { area: area(&text), pastes, images, with, choices, browse: None }
    }

    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Puts another text in place of all that is written, with the cursor behind it.
    pub(super) fn set(&mut self, text: &str) {
        self.area = area(text);
    }

    /// Shows an earlier prompt in place of what was written: the choices stay, and so do the results that go along where it
    /// has none of its own.
    pub(super) fn show(&mut self, earlier: &Content, written: &Content) {
        let choices = std::mem::take(&mut self.choices);
        let with = if earlier.with.is_empty() { &written.with } else { &earlier.with }.clone();
        *self = Draft::of(Content { choices, with, ..earlier.clone() });
    }

    /// The draft as it counts: without what the text does not name.
    pub(super) fn content(&self) -> Content {
        let text = self.text();
        let pastes = self.pastes.iter().filter(|paste| text.contains(&paste.token())).cloned().collect();
        let images = self.images.iter().filter(|picture| text.contains(&picture.token())).cloned().collect();
        Content { pastes, images, with: self.with.clone(), choices: self.choices.clone(), text }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Bytes of the images that the text names.
    pub(super) fn image_bytes(&self) -> usize {
        let text = self.text();
        let named = self.images.iter().filter(|picture| text.contains(&picture.token()));
        named.map(|picture| super::paste::bytes(&picture.image)).sum()
    }

    pub(super) fn insert_paste(&mut self, text: String) {
        let paste = Paste { number: self.pastes.iter().map(|paste| paste.number).max().unwrap_or(0) + 1, text };
        self.area.insert_str(paste.token());
        self.pastes.push(paste);
    }

    /// Puts an image where the cursor is.
    pub(super) fn insert_image(&mut self, image: Image) {
        let token = self.hold(image);
        self.area.insert_str(token);
    }

    /// Puts an image in place of the text that names it.
    pub(super) fn insert_image_for(&mut self, named: &str, image: Image) {
        let token = self.hold(image);
        let text = self.text().replacen(named, &token, 1);
        self.set(&text);
    }

    /// Takes an image up under a number of its own; what stands for it in the text.
    fn hold(&mut self, image: Image) -> String {
        let number = self.images.iter().map(|picture| picture.number).max().unwrap_or(0) + 1;
        let picture = Picture { number, image };
        let token = picture.token();
        self.images.push(picture);
        token
    }

    /// Takes the placeholder before the cursor away as a whole; `false` when there is none.
    pub(super) fn delete_token(&mut self) -> bool {
        let DataCursor(row, column) = self.area.cursor();
        let before: String = self.area.lines()[row].chars().take(column).collect();
        let tokens = self.pastes.iter().map(Paste::token).chain(self.images.iter().map(Picture::token));
        let Some(length) =
            tokens.filter(|token| before.ends_with(token.as_str())).map(|token| token.chars().count()).max()
        else {
            return false;
        };
        self.select_back(length);
        self.area.delete_str(length)
    }

    /// Puts another text in place of so many characters before the cursor.
    pub(super) fn replace_back(&mut self, characters: usize, text: &str) {
        self.select_back(characters);
        self.area.delete_str(characters);
        self.area.insert_str(text);
    }

    fn select_back(&mut self, characters: usize) {
        for _ in 0..characters {
            self.area.move_cursor(CursorMove::Back);
        }
    }

    /// Takes back what was not sent: in front of what was written since, and as it was where nothing was.
    pub(super) fn take_back(&mut self, content: Content) {
        let here = self.content();
        if here.is_empty() {
            *self = Draft::of(content);
            return;
        }
        if content.text.is_empty() && content.with.is_empty() {
            // Nothing was written; what was chosen counts unless it was chosen otherwise since.
            if self.choices == Choices::NONE {
                self.choices = content.choices;
            }
            return;
        }
        if here.says_the_same(&content) {
            self.choices.models.extend(content.choices.models);
            return;
        }
        let mut tokens = Vec::new();
        let first_free = self.pastes.iter().map(|paste| paste.number).max().unwrap_or(0) + 1;
        for (paste, number) in content.pastes.into_iter().zip(first_free..) {
            let renumbered = Paste { number, text: paste.text.clone() };
            tokens.push((paste.token(), renumbered.token()));
            self.pastes.push(renumbered);
        }
        let first_free = self.images.iter().map(|picture| picture.number).max().unwrap_or(0) + 1;
        for (picture, number) in content.images.into_iter().zip(first_free..) {
            let renumbered = Picture { number, image: picture.image.clone() };
            tokens.push((picture.token(), renumbered.token()));
            self.images.push(renumbered);
        }
        let before = rewrite(&content.text, &tokens);
        let text = if here.text.is_empty() { before } else { format!("{before}\n{}", here.text) };
        self.set(&text);
        for handoff in content.with {
            if !self.with.contains(&handoff) {
                self.with.push(handoff);
            }
        }
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::from(text.split('\n'));
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    // The terminal's own cursor shows the place, and only while the composer has the keys.
    area.set_cursor_style(Style::new());
    area.set_cursor_line_style(Style::new());
    area.set_selection_style(Style::new().add_modifier(Modifier::REVERSED));
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(name: &str) -> Image {
        Image { name: Some(name.into()), data: String::new() }
    }

    fn names(images: &[Image]) -> Vec<&str> {
        images.iter().filter_map(|image| image.name.as_deref()).collect()
    }

    #[test]
    fn images_are_sent_in_the_order_in_which_the_text_names_them() {
        let images = ["a", "b", "c"].into_iter().zip(1..);
        let images: Vec<_> = images.map(|(name, number)| Picture { number, image: image(name) }).collect();
        for (text, expected, sent) in [
            ("see [Image #1]", "see [Image #1]", vec!["a"]),
            ("[Image #3] and [Image #1]", "[Image #1] and [Image #2]", vec!["c", "a"]),
            ("only [Image #2], again [Image #2]", "only [Image #1], again [Image #1]", vec!["b"]),
            ("no image [Image #9]", "no image [Image #9]", vec![]),
        ] {
            let content = Content { text: text.into(), images: images.clone(), ..Content::default() };
            let (text, images) = content.outgoing();
            assert_eq!((text.as_str(), names(&images)), (expected, sent));
        }
    }

    #[test]
    fn a_pasted_text_is_sent_in_its_place_and_not_looked_at() {
        let mut draft = Draft::default();
        draft.area.insert_str("before ");
        draft.insert_paste(format!("[Image #1]\n{}", "line\n".repeat(30)));
        draft.insert_image(image("a"));
        assert_eq!(draft.text(), "before [Pasted #1: 31 lines][Image #1]");
        let (text, images) = draft.content().outgoing();
        assert_eq!(text, format!("before [Image #1]\n{}[Image #1]", "line\n".repeat(30)));
        assert_eq!(images.len(), 1);
        assert_eq!(draft.content().words(), format!("before [Image #1]\n{}", "line\n".repeat(30)).trim());
    }

    #[test]
    fn a_placeholder_goes_as_a_whole_and_what_it_stands_for_with_it() {
        let mut draft = Draft::default();
        draft.insert_paste("x".repeat(2_001));
        draft.insert_image(image("a"));
        assert_eq!(draft.text(), "[Pasted #1: 2001 characters][Image #1]");
        assert!(draft.delete_token());
        assert_eq!(draft.content().images, []);
        assert!(draft.delete_token());
        assert!(!draft.delete_token());
        assert!(draft.content().is_empty());
    }

    #[test]
    fn what_is_taken_back_keeps_its_placeholders_apart_from_the_others() {
        let mut sent = Draft::default();
        sent.insert_paste("first\n".repeat(21));
        let mut draft = Draft::default();
        draft.insert_paste("second\n".repeat(22));
        draft.take_back(sent.content());
        assert_eq!(draft.text(), "[Pasted #2: 21 lines]\n[Pasted #1: 22 lines]");
        assert_eq!(draft.content().outgoing().0, format!("{}\n{}", "first\n".repeat(21), "second\n".repeat(22)).trim());
    }

    #[test]
    fn refusals_of_one_prompt_on_several_agents_come_back_as_one() {
        let on = |model: &str| Content {
            text: "fix it".into(),
            choices: Choices { models: vec![model.into()], ..Choices::default() },
            ..Content::default()
        };
        let mut draft = Draft::default();
        draft.take_back(on("claude"));
        draft.take_back(on("codex"));
        assert_eq!(draft.content().text, "fix it");
        assert_eq!(draft.content().choices.models, ["claude", "codex"]);
    }
}
