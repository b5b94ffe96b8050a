//! The card that everything to decide is shown on: a head, a body that scrolls, the choices, a foot.
//!
//! Where the screen is small the body gives way first: what would be decided and by which keys stays in sight.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

use super::body::Body;
use super::words::Words;
use crate::look::line::Line;
use crate::look::status::count;
use crate::tui::model::Model;

/// What the gutter takes of a row.
pub(super) const GUTTER: u16 = 4;

/// Narrower than this, the head of a card comes before what stands at its end.
const NARROW: usize = 60;

/// A card before it has a height.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub(super) head: Line,
    /// What stands at the end of the head's row.
    pub(super) aside: Line,
    /// Always seen.
    pub(super) warnings: Vec<Line>,
    /// What scrolls, as wide as the card.
    pub(super) body: Arc<Body>,
    /// At most so many rows of it at once.
    pub(super) body_rows: usize,
    pub(super) scroll: usize,
    /// Dropped first.
    pub(super) remarks: Vec<Line>,
    pub(super) choices: Vec<Line>,
    /// What stands in their place where they have no room.
    pub(super) short_choices: Vec<Line>,
    /// The one that must be seen.
    pub(super) chosen: usize,
    /// The free text, and what stands before it.
    pub(super) words: Option<(Line, Words)>,
    pub(super) foot: Line,
}

/// A card in its rows, and where its editor stands among them.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) lines: Vec<Line>,
    /// First row, column and number of rows.
    editor: Option<(usize, usize, usize)>,
    /// How far the body can scroll.
    pub(super) furthest: usize,
}

impl Sheet {
    /// The card in so many columns, and at most so many rows.
    pub(super) fn rows(&self, columns: u16, room: u16) -> Rows {
        let inner = usize::from(columns.saturating_sub(GUTTER));
        let (columns, room) = (usize::from(columns), usize::from(room));
        let wrapped = |lines: &[Line]| lines.iter().flat_map(|line| line.wrap(inner)).collect::<Vec<_>>();
        let (mut warnings, remarks) = (wrapped(&self.warnings), wrapped(&self.remarks));
        let label = self.words.as_ref().map_or(0, |(label, _)| label.width());
        let words = self.words.as_ref().map_or(0, |(_, words)| words.rows(inner.saturating_sub(label)));
        // However many there are, the keys stay in sight, and so does where the call begins.
        let begins = usize::from(!self.body.rows.is_empty());
        let decides = usize::from(!self.choices.is_empty());
        let spare = room.saturating_sub(2 + words + begins + decides);
        warnings.truncate((room / 2).min(spare).max(1));
        let mut left = room.saturating_sub(2 + words + warnings.len());
        let choices = self.choices_within(inner, left.saturating_sub(2).max(1), left.saturating_sub(begins).max(1));
        left = left.saturating_sub(choices.len());
        let body = &self.body.rows;
        let mut shown = body.len().min(self.body_rows).min(left);
        let more = usize::from(shown < body.len() && left > 1);
        if shown == left {
            shown -= more;
        }
        let remarks_left = left.saturating_sub(shown + more);
        let furthest = body.len() - shown;
        let scroll = self.scroll.min(furthest);

        let mut inside = warnings;
        let below = furthest - scroll;
        inside.extend(body.iter().skip(scroll).take(shown).cloned());
        if more > 0 {
            let below = if below == 0 { "the end".to_owned() } else { count(below, "more line") };
            inside.push(Line::new().dim(format!("… {below}, {scroll} above")));
        }
        inside.extend(remarks.into_iter().take(remarks_left));
        inside.extend(choices.iter().cloned());
        let editor = self.words.as_ref().map(|(label, _)| {
            let first = inside.len();
            inside.push(label.clone());
            inside.extend((1..words).map(|_| Line::new()));
            (first + 1, label.width() + usize::from(GUTTER), words)
        });
        let mut lines = vec![self.top(columns)];
        lines.extend(inside.into_iter().map(|line| Line::new().dim(" │  ").then(line)));
        lines.push(Line::new().dim(" ╰ ").then(self.foot.clone()));
        let lines = lines.into_iter().take(room).map(|line| line.fit(columns)).collect();
        Rows { lines, editor, furthest }
    }

    /// The rows of the choices: at most `most`, or the short ones in at most `short_most` where they have no room.
    fn choices_within(&self, inner: usize, most: usize, short_most: usize) -> Vec<Line> {
        let wrapped = |lines: &[Line]| lines.iter().flat_map(|line| line.wrap(inner)).collect::<Vec<_>>();
        let choices = wrapped(&self.choices);
        if choices.len() > most && !self.short_choices.is_empty() {
            return wrapped(&self.short_choices).into_iter().take(short_most).collect();
        }
        let chosen = wrapped(&self.choices[..self.choices.len().min(self.chosen + 1)]).len().saturating_sub(1);
        around(&choices, chosen, most).to_vec()
    }

    fn top(&self, columns: usize) -> Line {
        let left = Line::new().dim(" ╭ ").then(self.head.clone());
        // Where it is narrow, what would be done comes before who asks.
        let aside_room = match columns < NARROW {
            true => columns.saturating_sub(left.width() + 3).min(columns / 2),
            false => columns / 2,
        };
        let aside = self.aside.clone().fit(aside_room);
        let head = left.fit(columns.saturating_sub(aside.width() + 2));
        let gap = columns.saturating_sub(head.width() + aside.width() + 1);
        head.plain(" ".repeat(gap)).then(aside)
    }

    pub(super) fn view(&self, model: &Model, frame: &mut Frame, area: Rect) {
        let Rows { lines, editor, .. } = self.rows(area.width, area.height);
        let styled: Vec<_> = lines.iter().map(|line| model.theme.line(line)).collect();
        frame.render_widget(Paragraph::new(styled), area);
        if let (Some((row, column, rows)), Some((_, words))) = (editor, &self.words) {
            let offset = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
            let editor = Rect {
                x: area.x.saturating_add(offset(column)),
                y: area.y.saturating_add(offset(row)),
                width: area.width.saturating_sub(offset(column)),
                height: offset(rows),
            };
            words.view(frame, editor.intersection(area));
        }
    }
}

/// So many of the lines that the chosen one is among them.
fn around(lines: &[Line], chosen: usize, room: usize) -> &[Line] {
    let end = lines.len().min((chosen + 1).max(room));
    &lines[end.saturating_sub(room)..end]
}
