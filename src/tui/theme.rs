//! What a tone looks like. The only place that names colours.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Styled, Span};

use crate::look::line::{Line, Tone};

/// A way to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    Dark,
    Light,
    /// The sixteen colours that the terminal defines.
    #[default]
    Plain,
    /// No colours at all.
    Mono,
}

impl Theme {
    pub(crate) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let coloured = |color: Color| plain.fg(color);
        match (self, tone) {
            (_, Tone::Plain) => plain,
            (_, Tone::Strong | Tone::Heading) => plain.add_modifier(Modifier::BOLD),
            (_, Tone::Dim | Tone::Comment) => plain.add_modifier(Modifier::DIM),
            (Theme::Mono, Tone::Bad | Tone::Accent | Tone::Warn) => plain.add_modifier(Modifier::BOLD),
            (Theme::Mono, _) => plain,
            (_, Tone::Good | Tone::More | Tone::Literal) => coloured(Color::Green),
            (_, Tone::Warn) => coloured(Color::Yellow),
            (_, Tone::Bad) => coloured(Color::Red).add_modifier(Modifier::BOLD),
            (_, Tone::Less) => coloured(Color::Red),
            (_, Tone::Accent | Tone::Code | Tone::TypeName) => coloured(Color::Cyan),
            (_, Tone::Link | Tone::Function) => coloured(Color::Blue),
            (_, Tone::Keyword | Tone::Number) => coloured(Color::Magenta),
        }
    }

    /// The row that a cursor stands on.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn line(self, line: &Line) -> Styled<'static> {
        Styled::from_iter(line.spans().map(|(tone, text)| Span::styled(text.to_owned(), self.style(tone))))
    }
}
