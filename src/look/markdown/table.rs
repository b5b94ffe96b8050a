//! Tables: columns beside each other where they fit, else one row after the other with the names of the columns.

use pulldown_cmark::Alignment;

use crate::look::line::{Line, Tone};

/// Between two columns.
const BETWEEN: &str = " │ ";

pub(super) struct Table {
    alignments: Vec<Alignment>,
    /// The names of the columns are the first row.
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Table {
        Table { alignments, rows: Vec::new() }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Line) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(super) fn lines(self, columns: usize) -> Vec<Line> {
        let widths: Vec<usize> = (0..self.alignments.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(Line::width).max().unwrap_or(0))
            .collect();
        let between = BETWEEN.chars().count() * widths.len().saturating_sub(1);
        if widths.iter().sum::<usize>() + between <= columns { self.beside(&widths) } else { self.below(columns) }
    }

    fn beside(self, widths: &[usize]) -> Vec<Line> {
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let rule = Line::new().dim(rule.join("─┼─"));
        let mut rows = self.rows.into_iter().enumerate().map(|(number, row)| {
            let mut line = Line::new();
            let last = row.len().saturating_sub(1);
            for (column, cell) in row.into_iter().enumerate() {
                let (Some(width), Some(alignment)) = (widths.get(column), self.alignments.get(column)) else {
                    continue;
                };
                let gap = width.saturating_sub(cell.width());
                let (before, after) = match alignment {
                    Alignment::None | Alignment::Left => (0, gap),
                    Alignment::Center => (gap / 2, gap - gap / 2),
                    Alignment::Right => (gap, 0),
                };
                let cell = if number == 0 { named(&cell) } else { cell };
                line = if column == 0 { line } else { line.dim(BETWEEN) };
                line = line.plain(" ".repeat(before)).then(cell);
                // No row ends in blanks.
                line = if column == last { line } else { line.plain(" ".repeat(after)) };
            }
            line
        });
        let head = rows.next();
        head.into_iter().chain([rule]).chain(rows).collect()
    }

    fn below(self, columns: usize) -> Vec<Line> {
        let mut rows = self.rows.into_iter();
        let names = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(Line::new());
            }
            for (column, cell) in row.into_iter().enumerate() {
                let name = names.get(column).cloned().unwrap_or_default();
                lines.extend(named(&name).dim(": ").then(cell).wrap(columns));
            }
        }
        // A table of names alone has only them to show.
        if lines.is_empty() { names.iter().flat_map(|name| named(name).wrap(columns)).collect() } else { lines }
    }
}

fn named(cell: &Line) -> Line {
    Line::toned(Tone::Heading, cell.text())
}
