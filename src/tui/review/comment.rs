//! The box in which a comment is written: what it is about, and the words so far.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::super::decide::words::Words;
use super::super::msg::ReviewAct;
use super::super::theme::Theme;
use crate::api::review::Side;
use crate::look::line::{Line, Tone, one_line};

/// Rows of the box: what it is about, and so many lines of words.
const ROWS: u16 = 4;

/// What a comment is about.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            Target::Line { path, line, .. } => format!("comment on {}:{line}", one_line(path)),
            Target::Comment(_) => "change the comment".to_owned(),
        };
        let head_line = Line::toned(Tone::Accent, format!("▏ {about}")).fit(usize::from(area.width));
        frame.render_widget(theme.line(&head_line), head);
        self.words.view(frame, words);
    }
}
