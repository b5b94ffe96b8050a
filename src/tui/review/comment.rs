//! The box in which a comment is written: what it is about, and the words so far.

use std::collections::{BTreeMap, BTreeSet};

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use serde::{Deserialize, Serialize};

use super::super::decide::words::Words;
use super::super::msg::ReviewAct;
use super::super::theme::Theme;
use crate::api::review::{Review, Side};
use crate::look::line::{Line, Tone, file_name};

/// Rows of the box: what it is about, and so many lines of words.
const ROWS: u16 = 4;

/// What a comment is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Target {
    Line {
        path: String,
        line: u32,
        side: Side,
        quote: String,
    },
    /// A comment that is there already.
    Comment(u32),
}

/// A comment that is being written.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) target: Target,
    words: Words,
}

/// Words of a comment that the daemon does not have, as they are kept between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unsaved {
    session: String,
    target: Target,
    text: String,
}

impl Unsaved {
    pub(super) fn of(session: &str, writing: &Writing) -> Unsaved {
        Unsaved { session: session.to_owned(), target: writing.target.clone(), text: writing.text() }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Where it stands.
    pub(super) fn place(&self) -> String {
        match &self.target {
            Target::Line { path, line, side, .. } => format!("{} {path}:{line} {side:?}", self.session),
            Target::Comment(id) => format!("{} #{id}", self.session),
        }
    }
}

impl Target {
    /// Whether it is the same place; what the line says may have changed since.
    fn is_at(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::Line { path, line, side, .. }, Target::Line { path: on, line: at, side: of, .. }) => {
                (path, line, side) == (on, at, of)
            }
            (Target::Comment(id), Target::Comment(other)) => id == other,
            (Target::Line { .. }, Target::Comment(_)) | (Target::Comment(_), Target::Line { .. }) => false,
        }
    }
}

/// What was written and is not among the comments, left or on its way: at most one text for each place of a session.
#[derive(Debug, Default)]
pub(super) struct Unkept(Vec<(String, Writing)>);

impl Unkept {
    pub(super) fn put(&mut self, session: &str, writing: Writing) {
        drop(self.take(session, &writing.target));
        if !writing.text().is_empty() {
            self.0.push((session.to_owned(), writing));
        }
    }

    pub(super) fn take(&mut self, session: &str, target: &Target) -> Option<Writing> {
        let is_it = |(of, writing): &(String, Writing)| of == session && writing.target.is_at(target);
        let (_, writing) = self.0.remove(self.0.iter().position(is_it)?);
        Some(Writing { target: target.clone(), ..writing })
    }

    /// All of it, by its places.
    pub(super) fn unsaved(&self) -> BTreeMap<String, Unsaved> {
        let unsaved = self.0.iter().map(|(session, writing)| Unsaved::of(session, writing));
        unsaved.map(|unsaved| (unsaved.place(), unsaved)).collect()
    }

    pub(super) fn restore(&mut self, unsaved: &Unsaved) {
        let Unsaved { session, target, text } = unsaved;
        self.put(session, Writing::new(target.clone(), text));
    }

    /// Lets go of what stood in these places.
    pub(super) fn forget(&mut self, places: &BTreeSet<String>) {
        self.0.retain(|(session, writing)| !places.contains(&Unsaved::of(session, writing).place()));
    }

    /// Lets go of what the daemon holds, and of words for a comment that is gone.
    pub(super) fn settle(&mut self, session: &str, review: &Review) {
        self.0.retain(|(of, writing)| of != session || !writing.is_settled(review));
    }
}

impl Writing {
    pub(super) fn new(target: Target, text: &str) -> Writing {
        Writing { target, words: Words::of(text) }
    }

    pub(super) fn text(&self) -> String {
        self.words.text().trim().to_owned()
    }

    pub(super) fn typed(&mut self, key: KeyEvent) {
        self.words.typed(key);
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.words.paste(text);
    }

    pub(super) fn newline(&mut self) {
        self.words.newline();
    }

    fn is_settled(&self, review: &Review) -> bool {
        let text = self.text();
        match &self.target {
            Target::Line { path, line, side, .. } => review.comments.iter().any(|comment| {
                (&comment.path, &comment.line, &comment.side, &comment.text) == (path, line, side, &text)
            }),
            Target::Comment(id) => {
                let comment = review.comments.iter().find(|comment| comment.id == *id);
                comment.is_none_or(|comment| comment.text == text)
            }
        }
    }

    /// What is asked of the daemon: without words a comment is taken away, and none is made.
    pub(super) fn act(&self, session: &str) -> Option<ReviewAct> {
        let (session, text) = (session.to_owned(), self.text());
        match (&self.target, text.is_empty()) {
            (Target::Line { .. }, true) => None,
            (Target::Line { path, line, side, quote }, false) => Some(ReviewAct::Comment {
                session,
                path: path.clone(),
                line: *line,
                side: *side,
                quote: quote.clone(),
                text,
            }),
            (Target::Comment(comment), true) => Some(ReviewAct::Drop { session, comment: *comment }),
            (Target::Comment(comment), false) => Some(ReviewAct::Reword { session, comment: *comment, text }),
        }
    }

    pub(super) fn height() -> u16 {
        1 + ROWS
    }

    pub(super) fn view(&self, theme: Theme, frame: &mut Frame, area: Rect) {
        let [head, words] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let about = match &self.target {
            Target::Line { path, line, .. } => format!("comment on {}:{line}", file_name(path)),
            Target::Comment(_) => "change the comment".to_owned(),
        };
        let head_line = Line::toned(Tone::Accent, format!("▏ {about}")).fit(usize::from(area.width));
        frame.render_widget(theme.line(&head_line), head);
        self.words.view(frame, words);
    }
}
