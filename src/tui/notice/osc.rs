//! A word that leaves the terminal: its bell, and the sequences that some terminals turn into a desktop notice.
//!
//! What others wrote is in it, so nothing of it may end the sequence or begin another.

use super::Notice;
use crate::look::line::{cut, one_line};
use crate::tui::theme::Terminal;
use crate::tui::world::World;

/// A desktop shows a line or two.
const LONGEST: usize = 200;

/// How a word leaves the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) bell: Bell,
    pub(crate) desktop: Desktop,
    pub(crate) through: Through,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bell {
    Rings,
    Silent,
}

/// Terminals that know both sequences would tell everything twice, so there is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Desktop {
    Off,
    /// One text; most terminals.
    Osc9,
    /// A title and a text; urxvt and foot.
    Osc777,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    Nothing,
    /// tmux hands a wrapped sequence on to the terminal around it.
    Tmux,
}

impl Ways {
    /// What the settings want and the terminal knows.
    pub(crate) fn of(world: &World, terminal: &Terminal) -> Ways {
        let wants = |key| world.setting(key).and_then(serde_json::Value::as_bool).unwrap_or(true);
        let name = terminal.name.as_deref().unwrap_or_default();
        Ways {
            bell: if wants("notify.bell") { Bell::Rings } else { Bell::Silent },
            desktop: match wants("notify.desktop") && name != "dumb" {
                false => Desktop::Off,
                true if name.starts_with("rxvt") || name.starts_with("foot") => Desktop::Osc777,
                true => Desktop::Osc9,
            },
            through: if terminal.tmux.is_some() { Through::Tmux } else { Through::Nothing },
        }
    }
}

/// The program of the person's own that tells news, with its arguments; empty where there is none.
pub(crate) fn command(world: &World) -> Vec<String> {
    let words = world.setting("notify.command").and_then(serde_json::Value::as_array);
    words.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// What is written to the terminal for a notice.
pub(crate) fn bytes(notice: &Notice, ways: &Ways) -> Vec<u8> {
    let (title, body) = (harmless(&notice.title), harmless(&notice.body));
    let sequence = match ways.desktop {
        Desktop::Off => String::new(),
        // A text that begins with a number and a semicolon means something else to some terminals.
        Desktop::Osc9 => format!("\u{1b}]9;coppice: {title} {body}\u{7}"),
        Desktop::Osc777 => format!("\u{1b}]777;notify;coppice: {};{body}\u{7}", title.replace(';', ",")),
    };
    let wrapped = match ways.through {
        Through::Tmux if !sequence.is_empty() => {
            format!("\u{1b}Ptmux;{}\u{1b}\\", sequence.replace('\u{1b}', "\u{1b}\u{1b}"))
        }
        Through::Tmux | Through::Nothing => sequence,
    };
    let bell = match ways.bell {
        Bell::Rings => "\u{7}",
        Bell::Silent => "",
    };
    format!("{bell}{wrapped}").into_bytes()
}

fn harmless(text: &str) -> String {
    cut(&one_line(text), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::project::ConfigValue;
    use serde_json::json;

    fn notice() -> Notice {
        Notice { title: "Fix; the login".into(), body: "wants: run `cargo test`".into(), session: "abcd2345".into() }
    }

    fn text(notice: &Notice, ways: &Ways) -> String {
        String::from_utf8(bytes(notice, ways)).unwrap().replace('\u{1b}', "ESC").replace('\u{7}', "BEL")
    }

    #[test]
    fn a_word_leaves_by_the_ways_that_are_open() {
        let (rings, silent) = (Bell::Rings, Bell::Silent);
        for (bell, desktop, through, expected) in [
            (rings, Desktop::Off, Through::Nothing, "BEL"),
            (silent, Desktop::Off, Through::Tmux, ""),
            (rings, Desktop::Osc9, Through::Nothing, "BELESC]9;coppice: Fix; the login wants: run `cargo test`BEL"),
            (
                silent,
                Desktop::Osc777,
                Through::Nothing,
                "ESC]777;notify;coppice: Fix, the login;wants: run `cargo test`BEL",
            ),
            (
                silent,
                Desktop::Osc9,
                Through::Tmux,
                "ESCPtmux;ESCESC]9;coppice: Fix; the login wants: run `cargo test`BELESC\\",
            ),
        ] {
            assert_eq!(text(&notice(), &Ways { bell, desktop, through }), expected);
        }
    }

    #[test]
    fn nothing_that_others_wrote_ends_the_sequence() {
        let hostile = Notice {
            title: "a\u{7}\u{1b}]52;c;x\u{1b}\\\u{9c}".into(),
            body: "b\u{1b}\\\r\nc\u{9d}0;t\u{7}".repeat(100),
            session: String::new(),
        };
        for through in [Through::Nothing, Through::Tmux] {
            let ways = Ways { bell: Bell::Silent, desktop: Desktop::Osc9, through };
            let text = String::from_utf8(bytes(&hostile, &ways)).unwrap();
            let inner = match through {
                Through::Nothing => text.strip_prefix("\u{1b}]9;").unwrap().strip_suffix('\u{7}').unwrap(),
                Through::Tmux => {
                    text.strip_prefix("\u{1b}Ptmux;\u{1b}\u{1b}]9;").unwrap().strip_suffix("\u{7}\u{1b}\\").unwrap()
                }
            };
            assert!(!inner.chars().any(char::is_control), "{inner:?}");
            assert!(inner.len() < 1_000);
        }
    }

    #[test]
    fn settings_and_terminal_choose_the_way() {
        let value = |key: &str, value| ConfigValue {
            key: key.into(),
            value,
            origin: "default".into(),
            about: String::new(),
            ignored: None,
        };
        let quiet = World {
            config: vec![value("notify.bell", json!(false)), value("notify.desktop", json!(false))],
            ..World::default()
        };
        let terminal = |name: &str, tmux: Option<&str>| Terminal {
            name: Some(name.into()),
            tmux: tmux.map(str::to_owned),
            ..Terminal::default()
        };
        for (world, terminal, bell, desktop, through) in [
            (&World::default(), terminal("xterm", None), Bell::Rings, Desktop::Osc9, Through::Nothing),
            (&World::default(), terminal("foot", None), Bell::Rings, Desktop::Osc777, Through::Nothing),
            (&World::default(), terminal("tmux-256color", Some("/t,1,0")), Bell::Rings, Desktop::Osc9, Through::Tmux),
            (&World::default(), terminal("dumb", None), Bell::Rings, Desktop::Off, Through::Nothing),
            (&quiet, terminal("xterm", None), Bell::Silent, Desktop::Off, Through::Nothing),
        ] {
            assert_eq!(Ways::of(world, &terminal), Ways { bell, desktop, through }, "{terminal:?}");
        }
    }
}
