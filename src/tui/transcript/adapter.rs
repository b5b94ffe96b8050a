//! Cards and markdown in their simplest form: a header, the lines below it, an end.

use serde_json::Value;

use crate::look::line::{Line, one_line, visible};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    Folded,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Failed,
}

pub(super) struct Card {
    pub(super) header: Line,
    pub(super) body: Vec<Line>,
    pub(super) footer: Option<Line>,
}

pub(super) fn lines(text: &str, width: u16) -> Vec<Line> {
    visible(text).lines().flat_map(|line| Line::new().plain(line).wrap(width.into())).collect()
}

pub(super) fn started(tool: &str, title: &str, _input: Option<&Value>) -> Card {
    let header = Line::new().strong(one_line(&format!("{tool}({title})")));
    Card { header, body: vec![], footer: Some(Line::new().dim("running")) }
}

pub(super) fn finished(tool: &str, title: &str, input: Option<&Value>, _outcome: Outcome, output: &str) -> Card {
    let body = visible(output).lines().map(|line| Line::new().plain(line)).collect();
    Card { body, footer: None, ..started(tool, title, input) }
}

pub(super) fn rows(card: &Card, width: u16, fold: Fold) -> Vec<Line> {
    let cap = if fold == Fold::Folded { 10 } else { usize::MAX };
    let head = Line::new().dim("╭ ").then(card.header.clone()).fit(width.into());
    let body = card.body.iter().take(cap).map(|line| Line::new().dim("│   ").then(line.clone()).fit(width.into()));
    let foot = match &card.footer {
        Some(footer) => Line::new().dim("╰ ").then(footer.clone()).fit(width.into()),
        None => Line::new().dim("╰"),
    };
    std::iter::once(head).chain(body).chain([foot]).collect()
}
