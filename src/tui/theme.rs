//! What a tone looks like. The only place that names colours.
//!
//! Whatever a colour says is also said by a word, a glyph or a weight: `Mono` loses nothing but looks.

use ratatui::buffer::Buffer;
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

/// What the environment tells about the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// `TERM`
    pub(crate) name: Option<String>,
    /// `COLORTERM`
    pub(crate) colours: Option<String>,
    /// `NO_COLOR`
    pub(crate) no_colour: Option<String>,
    /// `COLORFGBG`, such as `15;0`: the numbers of the colours of text and background.
    pub(crate) ground: Option<String>,
    /// `TMUX`
    pub(crate) tmux: Option<String>,
}

impl Terminal {
    /// The facts out of an environment.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Terminal {
        Terminal {
            name: variable("TERM"),
            colours: variable("COLORTERM"),
            no_colour: variable("NO_COLOR"),
            ground: variable("COLORFGBG"),
            tmux: variable("TMUX"),
        }
    }

    fn has_no_colours(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        self.no_colour.as_deref().is_some_and(|set| !set.is_empty()) || name == "dumb" || name.starts_with("vt")
    }

    fn has_all_colours(&self) -> bool {
        matches!(self.colours.as_deref(), Some("truecolor" | "24bit"))
            || self.name.as_deref().is_some_and(|name| name.ends_with("-direct"))
    }

    fn is_light(&self) -> bool {
        let ground = self.ground.as_deref().and_then(|both| both.rsplit(';').next());
        // 7 and 15 are the two whites; the bright colours between are lighter than any text on them.
        ground.and_then(|number| number.parse().ok()).is_some_and(|number: u8| matches!(number, 7 | 9..=15))
    }
}

/// The colours of a theme that names its own.
struct Palette {
    good: Color,
    warn: Color,
    bad: Color,
    accent: Color,
    link: Color,
    keyword: Color,
    literal: Color,
    number: Color,
    type_name: Color,
    faint: Color,
    /// Behind the row that a cursor stands on.
    row: Color,
}

const DARK: Palette = Palette {
    good: Color::Rgb(138, 201, 138),
    warn: Color::Rgb(229, 192, 112),
    bad: Color::Rgb(240, 113, 120),
    accent: Color::Rgb(102, 204, 224),
    link: Color::Rgb(130, 170, 255),
    keyword: Color::Rgb(199, 146, 234),
    literal: Color::Rgb(173, 204, 120),
    number: Color::Rgb(247, 150, 108),
    type_name: Color::Rgb(126, 207, 192),
    faint: Color::Rgb(138, 146, 160),
    row: Color::Rgb(52, 58, 72),
};

const LIGHT: Palette = Palette {
    good: Color::Rgb(26, 113, 48),
    warn: Color::Rgb(140, 90, 0),
    bad: Color::Rgb(190, 20, 40),
    accent: Color::Rgb(0, 101, 133),
    link: Color::Rgb(20, 80, 190),
    keyword: Color::Rgb(120, 40, 160),
    literal: Color::Rgb(60, 100, 10),
    number: Color::Rgb(160, 70, 0),
    type_name: Color::Rgb(0, 105, 95),
    faint: Color::Rgb(100, 106, 115),
    row: Color::Rgb(218, 226, 240),
};

/// The terminal's own; what is faint and what is selected is shown without a colour.
const SIXTEEN: Palette = Palette {
    good: Color::Green,
    warn: Color::Yellow,
    bad: Color::Red,
    accent: Color::Cyan,
    link: Color::Blue,
    keyword: Color::Magenta,
    literal: Color::Green,
    number: Color::Magenta,
    type_name: Color::Cyan,
    faint: Color::Reset,
    row: Color::Reset,
};

impl Theme {
    /// The theme that is set, or the one that suits the terminal.
    pub(crate) fn choose(setting: Option<&str>, terminal: &Terminal) -> Theme {
        match setting {
            Some("dark") => Theme::Dark,
            Some("light") => Theme::Light,
            Some("plain") => Theme::Plain,
            Some("mono") => Theme::Mono,
            // `auto`, or a word of a later version.
            Some(_) | None if terminal.has_no_colours() => Theme::Mono,
            Some(_) | None if !terminal.has_all_colours() => Theme::Plain,
            Some(_) | None if terminal.is_light() => Theme::Light,
            Some(_) | None => Theme::Dark,
        }
    }

    fn palette(self) -> Option<&'static Palette> {
        match self {
            Theme::Dark => Some(&DARK),
            Theme::Light => Some(&LIGHT),
            Theme::Plain => Some(&SIXTEEN),
            Theme::Mono => None,
        }
    }

    pub(crate) fn style(self, tone: Tone) -> Style {
        let coloured = |color: fn(&Palette) -> Color| match self.palette() {
            Some(palette) => Style::new().fg(color(palette)),
            None => Style::new(),
        };
        match (tone, self) {
            (Tone::Plain, _) => Style::new(),
            (Tone::Strong | Tone::Heading, _) => Style::new().add_modifier(Modifier::BOLD),
            (Tone::Dim | Tone::Comment, Theme::Plain | Theme::Mono) => Style::new().add_modifier(Modifier::DIM),
            (Tone::Dim | Tone::Comment, Theme::Dark | Theme::Light) => coloured(|palette| palette.faint),
            (Tone::Bad, _) => coloured(|palette| palette.bad).add_modifier(Modifier::BOLD),
            (Tone::Warn | Tone::Accent, Theme::Mono) => Style::new().add_modifier(Modifier::BOLD),
            (Tone::Link, Theme::Mono) => Style::new().add_modifier(Modifier::UNDERLINED),
            (Tone::Good | Tone::More, _) => coloured(|palette| palette.good),
            (Tone::Warn, _) => coloured(|palette| palette.warn),
            (Tone::Less, _) => coloured(|palette| palette.bad),
            (Tone::Accent | Tone::Code, _) => coloured(|palette| palette.accent),
            (Tone::Link | Tone::Function, _) => coloured(|palette| palette.link),
            (Tone::Keyword, _) => coloured(|palette| palette.keyword),
            (Tone::Literal, _) => coloured(|palette| palette.literal),
            (Tone::Number, _) => coloured(|palette| palette.number),
            (Tone::TypeName, _) => coloured(|palette| palette.type_name),
        }
    }

    /// The row that a cursor stands on.
    pub(crate) fn selected(self) -> Style {
        match self {
            Theme::Dark => Style::new().bg(DARK.row).add_modifier(Modifier::BOLD),
            Theme::Light => Style::new().bg(LIGHT.row).add_modifier(Modifier::BOLD),
            // Which of the sixteen can be read on which is the terminal's secret; the other way round always can.
            Theme::Plain | Theme::Mono => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    pub(crate) fn line(self, line: &Line) -> Styled<'static> {
        Styled::from_iter(line.spans().map(|(tone, text)| Span::styled(text.to_owned(), self.style(tone))))
    }
}

/// The signs of the face and what stands for them where a terminal knows only letters. Each takes one column.
const TWINS: [(&str, &str); 41] = [
    ("●", "*"),
    ("◌", "o"),
    ("◆", "?"),
    ("✓", "+"),
    ("✗", "x"),
    ("‖", "="),
    ("⚑", "!"),
    ("⇡", "^"),
    ("⚠", "!"),
    ("…", "~"),
    ("·", "."),
    ("›", ">"),
    ("‹", "<"),
    ("▸", ">"),
    ("▏", "|"),
    ("▌", "|"),
    ("█", "#"),
    ("•", "*"),
    ("⋯", "~"),
    ("−", "-"),
    ("↑", "^"),
    ("↓", "v"),
    ("←", "<"),
    ("→", ">"),
    ("⇄", "/"),
    ("⏎", "<"),
    ("┌", "+"),
    ("┐", "+"),
    ("└", "+"),
    ("┘", "+"),
    ("┼", "+"),
    ("╭", "+"),
    ("╮", "+"),
    ("╰", "+"),
    ("╯", "+"),
    ("│", "|"),
    ("─", "-"),
    ("┴", "+"),
    ("┬", "+"),
    ("├", "+"),
    ("┤", "+"),
];

/// Draws the signs of the face in letters. Other characters stay: which of them a font has is not known here.
pub(crate) fn in_letters(screen: &mut Buffer) {
    for cell in &mut screen.content {
        if let Some((_, twin)) = TWINS.iter().find(|(sign, _)| *sign == cell.symbol()) {
            cell.set_symbol(twin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn a_sign_and_its_twin_take_the_same_place() {
        for (sign, twin) in TWINS {
            assert_eq!((sign.width(), twin.width()), (1, 1), "{sign} {twin}");
            assert!(twin.is_ascii());
        }
        let mut screen = Buffer::with_lines(["╭ ◆ größer › 木 … +6 −3 ╮"]);
        in_letters(&mut screen);
        assert_eq!(screen, Buffer::with_lines(["+ ? größer > 木 ~ +6 -3 +"]));
    }

    const TONES: [Tone; 18] = [
        Tone::Plain,
        Tone::Strong,
        Tone::Dim,
        Tone::Good,
        Tone::Warn,
        Tone::Bad,
        Tone::Less,
        Tone::More,
        Tone::Accent,
        Tone::Heading,
        Tone::Link,
        Tone::Code,
        Tone::Keyword,
        Tone::Literal,
        Tone::Number,
        Tone::Comment,
        Tone::TypeName,
        Tone::Function,
    ];

    fn terminal(name: &str, colours: &str, no_colour: &str, ground: &str) -> Terminal {
        let facts = [("TERM", name), ("COLORTERM", colours), ("NO_COLOR", no_colour), ("COLORFGBG", ground)];
        Terminal::read(|wanted| {
            let found = facts.iter().find(|(name, value)| *name == wanted && *value != "-");
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_terminal_decides_where_nobody_else_does() {
        for (setting, facts, expected) in [
            (None, terminal("xterm-256color", "truecolor", "-", "-"), Theme::Dark),
            (Some("auto"), terminal("xterm-256color", "24bit", "-", "0;15"), Theme::Light),
            (Some("auto"), terminal("xterm-256color", "24bit", "-", "15;default;0"), Theme::Dark),
            (Some("auto"), terminal("xterm-direct", "-", "-", "nonsense"), Theme::Dark),
            (Some("auto"), terminal("screen-256color", "-", "-", "0;15"), Theme::Plain),
            (Some("auto"), terminal("-", "-", "-", "-"), Theme::Plain),
            (Some("auto"), terminal("linux", "", "", "-"), Theme::Plain),
            (Some("auto"), terminal("dumb", "truecolor", "-", "-"), Theme::Mono),
            (Some("auto"), terminal("vt220", "-", "-", "-"), Theme::Mono),
            (Some("auto"), terminal("xterm", "truecolor", "1", "-"), Theme::Mono),
            (Some("sepia"), terminal("xterm", "-", "-", "-"), Theme::Plain),
            (Some("dark"), terminal("dumb", "-", "1", "-"), Theme::Dark),
            (Some("light"), terminal("dumb", "-", "-", "-"), Theme::Light),
            (Some("plain"), terminal("xterm", "truecolor", "-", "-"), Theme::Plain),
            (Some("mono"), terminal("xterm", "truecolor", "-", "-"), Theme::Mono),
        ] {
            assert_eq!(Theme::choose(setting, &facts), expected, "{setting:?} {facts:?}");
        }
    }

    #[test]
    fn a_theme_keeps_to_the_colours_it_promises() {
        let is_own = |color: Color| matches!(color, Color::Rgb(..));
        for tone in TONES {
            assert!(Theme::Dark.style(tone).fg.is_none_or(is_own), "{tone:?}");
            assert!(Theme::Light.style(tone).fg.is_none_or(is_own), "{tone:?}");
            assert!(!Theme::Plain.style(tone).fg.is_some_and(is_own), "{tone:?}");
            let mono = Theme::Mono.style(tone);
            assert_eq!((mono.fg, mono.bg), (None, None), "{tone:?}");
        }
        assert_eq!(Theme::Mono.selected(), Style::new().add_modifier(Modifier::REVERSED));
    }

    /// How much light a colour gives, as the web's guidelines count it.
    fn light(color: Color) -> f64 {
        let Color::Rgb(red, green, blue) = color else { panic!("{color:?} is the terminal's") };
        let part = |value: u8| match f64::from(value) / 255.0 {
            low if low <= 0.04045 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue)
    }

    #[test]
    fn every_tone_can_be_read_on_the_ground_and_on_the_selected_row() {
        let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
        for (theme, ground) in [(Theme::Dark, Color::Rgb(30, 30, 36)), (Theme::Light, Color::Rgb(250, 250, 250))] {
            let row = theme.selected().bg.unwrap();
            for (tone, color) in TONES.iter().filter_map(|tone| Some((tone, theme.style(*tone).fg?))) {
                let (far, near) = (contrast(light(color), light(ground)), contrast(light(color), light(row)));
                assert!(far >= 4.5 && near >= 3.5, "{theme:?} {tone:?}: {far:.1} on the ground, {near:.1} on the row");
            }
        }
    }
}
