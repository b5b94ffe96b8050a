//! What the session has done so far, as it was stored: never taken from an answer.

use crate::api::session::Session;
use crate::look::line::Line;
use crate::look::markdown;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Panel {
    #[default]
    Hidden,
    Shown,
}

impl Panel {
    pub(super) fn toggle(&mut self) {
        *self = match self {
            Panel::Hidden => Panel::Shown,
            Panel::Shown => Panel::Hidden,
        };
    }
}

/// The panel's rows, its headings included.
pub(super) fn rows(session: &Session, width: u16) -> Vec<Line> {
    let Some(summary) = &session.summary else {
        return vec![heading("summary", width), Line::new().dim("none yet: it is written when a turn ends")];
    };
    let part = |name: &str, text: &str| match text.trim() {
        "" => Vec::new(),
        text => std::iter::once(heading(name, width)).chain(markdown::lines(text, width)).collect(),
    };
    part("this turn", &summary.turn).into_iter().chain(part("the session so far", &summary.session)).collect()
}

fn heading(name: &str, width: u16) -> Line {
    let rest = usize::from(width).saturating_sub(name.len() + 4);
    Line::new().dim("── ").strong(name).dim(format!(" {}", "─".repeat(rest))).fit(width.into())
}
