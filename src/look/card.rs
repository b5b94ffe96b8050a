//! Tool calls as cards, the same for every backend: what was called, what it showed, how it ended.
//!
//! A card holds everything; only `rows` knows how much of it is seen.

mod body;
mod call;
mod change;
mod delegation;
mod input;
mod native;

#[cfg(test)]
mod tests;

use serde_json::Value;

use body::LeftOut;

use super::line::{Line, Tone, columns_of, cut, one_line};
use crate::api::permission::AutoApproval;

/// A folded card shows so many lines.
const FOLDED: usize = 10;

/// A call in three regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) header: Line,
    pub(crate) body: Vec<Line>,
    pub(crate) footer: Option<Line>,
}

/// A longer call would push what let it pass off the row.
const PASSED: usize = 40;

impl Card {
    /// The card with a word about what let the call pass, where no person did; the header names the call.
    pub(crate) fn passed(mut self, auto: Option<&AutoApproval>) -> Card {
        if let Some(auto) = auto {
            let word = Line::new().dim(format!("✓ auto · {}", source(auto)));
            self.footer = Some(match self.footer {
                Some(footer) => footer.dim(" · ").then(word),
                None => word,
            });
        }
        self
    }
}

/// A call that went ahead by itself, and by what: a rule, or else the posture or another step that let it pass.
pub(crate) fn passed(call: &str, auto: &AutoApproval) -> Line {
    Line::new().dim(format!("✓ auto · {} · {}", cut(&one_line(call), PASSED), source(auto)))
}

fn source(auto: &AutoApproval) -> String {
    one_line(match (&auto.rule, auto.layer.as_str()) {
        (Some(rule), _) => rule,
        (None, "posture") => &auto.posture,
        (None, layer) => layer,
    })
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
}

impl From<bool> for Outcome {
    /// As an event says it.
    fn from(ok: bool) -> Outcome {
        if ok { Outcome::Done } else { Outcome::Failed }
    }
}

/// How much of a card is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Folded,
    Open,
}

/// A call that runs.
pub(crate) fn started(tool: &str, title: &str, input: Option<&Value>) -> Card {
    let call = call::read(tool, title, input);
    Card { header: call.header(), body: body::announced(&call), footer: Some(Line::new().dim("running")) }
}

/// A call that waits for a person, in the words with which its card begins.
pub(crate) fn approval_head(tool: &str, title: &str) -> Line {
    call::announce(tool, title)
}

/// A call that ended; `output` is what the model was told.
pub(crate) fn finished(tool: &str, title: &str, input: Option<&Value>, ok: Outcome, output: &str) -> Card {
    let call = call::read(tool, title, input);
    let (body, footer) = body::shaped(&call, ok, output);
    Card { header: call.header(), body, footer }
}

/// Draws a card. Folded, each line of the body is one row, and those after the tenth are counted; open, all is there.
pub(crate) fn rows(card: &Card, width: u16, fold: Fold) -> Vec<Line> {
    let width = usize::from(width);
    let gutter = |mark: &str| Line::new().dim(mark);
    let body_width = width.saturating_sub(columns_of(SIDE));
    let mut rows = vec![gutter("╭ ").then(header(&card.header, width.saturating_sub(2)))];
    let shown: Vec<Line> = match fold {
        Fold::Open => card.body.iter().flat_map(|line| line.wrap(body_width)).collect(),
        Fold::Folded => card.body.iter().take(FOLDED).map(|line| line.clone().fit(body_width)).collect(),
    };
    rows.extend(shown.into_iter().map(|line| gutter(SIDE).then(line)));
    if fold == Fold::Folded && card.body.len() > FOLDED {
        // Lines that were never stored count too.
        let lines = |line: &Line| LeftOut::read(&line.text()).map_or(1, |left_out| left_out.lines);
        let more = format!("…{} more line(s)", card.body[FOLDED..].iter().map(lines).sum::<usize>());
        rows.push(gutter(SIDE).then(Line::new().dim(more).fit(body_width)));
    }
    rows.push(match &card.footer {
        Some(footer) => gutter("╰ ").then(footer.clone().fit(width.saturating_sub(2))),
        None => gutter("╰"),
    });
    rows
}

/// The row of a card, as it was drawn, that counts what is not seen.
pub(crate) fn counting_row(rows: &[Line], fold: Fold) -> Option<usize> {
    (fold == Fold::Folded && rows.len() > FOLDED + 2).then(|| rows.len() - 2)
}

/// Before each line of the body: the bar and three columns.
const SIDE: &str = "│   ";

/// A header that is too long says so inside of its bracket.
fn header(header: &Line, columns: usize) -> Line {
    let text = header.text();
    match text.strip_suffix(')') {
        Some(open) if columns_of(&text) > columns => Line::new().strong(cut(open, columns.saturating_sub(1)) + ")"),
        Some(_) | None => header.clone().fit(columns),
    }
}

/// A line of an error, as loud as it should be.
fn bad(text: impl Into<String>) -> Line {
    Line::toned(Tone::Bad, text)
}
