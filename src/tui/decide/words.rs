//! A few words of the person's own: the editor of free answers, refusals and settings.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use crate::look::line::{Line, visible};

/// So many rows are seen at once.
const ROWS: usize = 6;

#[derive(Debug, Clone)]
pub(crate) struct Words {
    /// Boxed, because most cards have none.
    area: Box<TextArea<'static>>,
}

impl Words {
    /// An editor that holds this text, with the cursor behind it.
    pub(crate) fn of(text: &str) -> Words {
        let mut area = TextArea::new(visible(text).lines().map(str::to_owned).collect());
        area.set_cursor_line_style(Style::new());
        area.set_wrap_mode(WrapMode::WordOrGlyph);
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        Words { area: Box::new(area) }
    }

    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    pub(crate) fn typed(&mut self, key: KeyEvent) {
        input(&mut self.area, key);
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.area.insert_str(visible(text));
    }

    pub(crate) fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Whether the cursor cannot go further up, or down.
    pub(crate) fn is_at_top(&self) -> bool {
        self.area.cursor().0 == 0
    }

    pub(crate) fn is_at_bottom(&self) -> bool {
        self.area.cursor().0 + 1 >= self.area.lines().len()
    }

    /// How many rows it takes in so many columns.
    pub(crate) fn rows(&self, columns: usize) -> usize {
        let rows = |line: &String| {
            let rows = Line::new().plain(line).wrap(columns);
            // The cursor behind a full row stands on the next one.
            let is_full = rows.last().is_some_and(|row| row.width() >= columns);
            rows.len() + usize::from(is_full)
        };
        self.area.lines().iter().map(rows).sum::<usize>().clamp(1, ROWS)
    }

    pub(crate) fn view(&self, frame: &mut Frame, area: Rect) {
        if !area.is_empty() {
            frame.render_widget(&*self.area, area);
        }
    }
}

impl Default for Words {
    fn default() -> Self {
        Words::of("")
    }
}

/// What a key does to a text that is written: as in a shell, where the editor has another meaning for it.
pub(crate) fn input(area: &mut TextArea<'_>, key: KeyEvent) {
    match (key.code, key.modifiers) {
        (KeyCode::Char('u'), KeyModifiers::CONTROL) => area.delete_line_by_head(),
        (KeyCode::Char('_' | '7'), KeyModifiers::CONTROL) => area.undo(),
        _ => area.input(key),
    };
}
