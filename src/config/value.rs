//! What a setting can hold: reading it from a file or from the command line, checking it, spelling it again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use toml_edit::{Array, InlineTable, Item};

use super::chord::Chord;
use super::project_env::{RESERVED_TEXT, is_pass_pattern, is_settable};

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `BACKEND` or `BACKEND/MODEL`, or nothing to leave the choice open.
    Model,
    /// A whole number from 0 on.
    Count {
        max: u32,
    },
    /// A number and a unit.
    Duration,
    /// The same, or `auto`.
    AutoDuration,
    /// `true` or `false`.
    Flag,
    Choice(&'static [&'static str]),
    Text,
    List,
    /// Relative paths that stay inside the repository.
    Paths,
    /// A program and its arguments.
    Command,
    /// The same, or nothing.
    OptionalCommand,
    /// A key with its modifiers, or several; always read as a list.
    Chords,
    /// Names and values of environment variables.
    Variables,
    /// The same without reserved names.
    ProjectVariables,
    /// Names of environment variables that are not reserved, or beginnings of names.
    VariableNames,
}

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Count(u32),
    Duration(Duration),
    Flag(bool),
    List(Vec<String>),
    Variables(BTreeMap<String, String>),
}

/// Units from the largest on, so that the first one that divides a duration spells it shortest.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// What `parse_duration` reads, for the schema.
pub(super) const UNIT_PATTERN: &str = "^[0-9]*[1-9][0-9]*[smhd]$";

/// Longer than any use, short enough for every clock to add.
const LONGEST: Duration = Duration::from_secs(3650 * 86_400);

impl Kind {
    /// Completes "must be …".
    pub(super) fn expected(self) -> String {
        match self {
            Self::Model => "`BACKEND` or `BACKEND/MODEL`".into(),
            Self::Count { max } => format!("a whole number from 0 to {max}"),
            Self::Duration => "a duration such as `90s`, `10m`, `4h` or `30d`".into(),
            Self::AutoDuration => "`auto` or a duration such as `90s`, `10m`, `4h` or `30d`".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Choice([one]) => format!("`{one}`"),
            Self::Choice(["", known @ ..]) => format!("empty or one of `{}`", known.join("`, `")),
            Self::Choice(known) => format!("one of `{}`", known.join("`, `")),
            Self::Text => "a string".into(),
            Self::List => "a list of strings".into(),
            Self::Paths => "a list of relative paths inside the repository".into(),
            Self::Command => "a list of strings that begins with a program".into(),
            Self::OptionalCommand => "a list of strings that begins with a program, or an empty one".into(),
            Self::Chords => "a key such as `g`, `ctrl+n`, `alt+enter` or `space`, or a list of keys".into(),
            Self::Variables => "a table of environment variables with strings as values".into(),
            Self::ProjectVariables => {
                format!("a table of environment variables with strings as values, {RESERVED_TEXT}")
            }
            Self::VariableNames => {
                format!("a list of names of environment variables such as `DATABASE_URL` or `RUST_*`, {RESERVED_TEXT}")
            }
        }
    }

    /// Reads the value of a file; the error completes "not …".
    pub(super) fn read(self, item: &Item) -> Result<Value, String> {
        let read = match self {
            Self::Model | Self::Duration | Self::AutoDuration | Self::Choice(_) | Self::Text => {
                item.as_str().and_then(|text| self.scalar(text))
            }
            Self::Count { max } => {
                let number = item.as_integer().and_then(|number| u32::try_from(number).ok());
                number.filter(|number| *number <= max).map(Value::Count)
            }
            Self::Flag => item.as_bool().map(Value::Flag),
            Self::List | Self::Paths | Self::Command | Self::OptionalCommand | Self::VariableNames => {
                let items = strings(item).ok_or_else(|| found(item))?;
                let reserved = items.iter().find(|item| self == Self::VariableNames && !is_pass_pattern(item));
                if let Some(name) = reserved {
                    return Err(quoted(name));
                }
                self.list(items)
            }
            Self::Chords => {
                let one = item.as_str().map(|text| vec![text.to_owned()]);
                return chords(&one.or_else(|| strings(item)).ok_or_else(|| found(item))?);
            }
            Self::Variables => variables(item).map(Value::Variables),
            Self::ProjectVariables => {
                let entries = variables(item).ok_or_else(|| found(item))?;
                return match entries.keys().find(|name| !is_settable(name)) {
                    Some(name) => Err(quoted(name)),
                    None => Ok(Value::Variables(entries)),
                };
            }
        };
        read.ok_or_else(|| found(item))
    }

    /// Reads a value typed on the command line, where strings need no quotes and a list may be its only item.
    pub(super) fn read_typed(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Model | Self::Duration | Self::AutoDuration | Self::Choice(_) | Self::Text => {
                self.scalar(text).ok_or_else(|| quoted(text))
            }
            Self::List | Self::Paths | Self::Command | Self::OptionalCommand | Self::VariableNames
                if !text.trim_start().starts_with('[') =>
            {
                self.list(vec![text.to_owned()]).ok_or_else(|| quoted(text))
            }
            // The bracket is a key too.
            Self::Chords if text == "[" || !text.trim_start().starts_with('[') => chords(&[text.to_owned()]),
            Self::Count { .. }
            | Self::Flag
            | Self::List
            | Self::Paths
            | Self::Command
            | Self::OptionalCommand
            | Self::Chords
            | Self::Variables
            | Self::ProjectVariables
            | Self::VariableNames => {
                let value = text.trim().parse::<toml_edit::Value>().map_err(|_| quoted(text))?;
                self.read(&Item::Value(value))
            }
        }
    }

    fn scalar(self, text: &str) -> Option<Value> {
        let value = || Value::Text(text.to_owned());
        match self {
            Self::Model => (text.is_empty() || is_model(text)).then(value),
            Self::Duration => parse_duration(text).map(Value::Duration),
            Self::AutoDuration if text == "auto" => Some(value()),
            Self::AutoDuration => parse_duration(text).map(Value::Duration),
            Self::Choice(known) => known.contains(&text).then(value),
            Self::Text => is_passable(text).then(value),
            Self::Count { .. }
            | Self::Flag
            | Self::List
            | Self::Paths
            | Self::Command
            | Self::OptionalCommand
            | Self::Chords
            | Self::Variables
            | Self::ProjectVariables
            | Self::VariableNames => None,
        }
    }

    fn list(self, items: Vec<String>) -> Option<Value> {
        let fits = match self {
            Self::Paths => items.iter().all(|path| is_inside(path)),
            Self::Command => items.first().is_some_and(|program| !program.trim().is_empty()),
            Self::OptionalCommand => items.first().is_none_or(|program| !program.trim().is_empty()),
            Self::List => items.iter().all(|item| !item.trim().is_empty()),
            Self::VariableNames => items.iter().all(|item| is_pass_pattern(item)),
            Self::Model
            | Self::Count { .. }
            | Self::Duration
            | Self::AutoDuration
            | Self::Flag
            | Self::Choice(_)
            | Self::Text
            | Self::Chords
            | Self::Variables
            | Self::ProjectVariables => false,
        };
        (fits && items.iter().all(|item| is_passable(item))).then_some(Value::List(items))
    }
}

impl Value {
    /// Spells the value for a file.
    pub(super) fn to_toml(&self) -> toml_edit::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Count(number) => i64::from(*number).into(),
            Self::Duration(duration) => format_duration(*duration).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::List(items) => items.iter().map(String::as_str).collect::<Array>().into(),
            Self::Variables(entries) => {
                entries.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<InlineTable>().into()
            }
        }
    }

    /// Whether this asks for less than `other`; values without an order never do.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Count(a), Self::Count(b)) => a < b,
            (Self::Duration(a), Self::Duration(b)) => a < b,
            (
                Self::Text(_) | Self::Count(_) | Self::Duration(_) | Self::Flag(_) | Self::List(_) | Self::Variables(_),
                _,
            ) => false,
        }
    }
}

/// Always one line, so that no value can look like two when it is shown for consent.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&one_line(text)),
            Self::Count(number) => number.fmt(f),
            Self::Duration(duration) => f.write_str(&one_line(&format_duration(*duration))),
            Self::Flag(flag) => flag.fmt(f),
            Self::List(items) => write!(f, "[{}]", joined(items.iter().map(|item| one_line(item)))),
            Self::Variables(entries) if entries.is_empty() => f.write_str("{}"),
            Self::Variables(entries) => {
                let entry = |(name, value): (&String, &String)| format!("{} = {}", one_line(name), one_line(value));
                write!(f, "{{ {} }}", joined(entries.iter().map(entry)))
            }
        }
    }
}

/// Spells a TOML string on one line; what a terminal could hide or reorder is escaped.
pub(super) fn one_line(text: &str) -> String {
    let escape = |c: char| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_control() || is_invisible(c) => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Marks of width zero and of writing direction.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Reads `90s`, `10m`, `4h`, `30d`; nothing shorter than a second is meant by any setting.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (unit, seconds) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let digits = text.strip_suffix(unit).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let duration = Duration::from_secs(digits.parse::<u64>().ok()?.checked_mul(*seconds)?);
    (!duration.is_zero() && duration <= LONGEST).then_some(duration)
}

/// Spells whole seconds the way `parse_duration` reads them.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let unit = UNITS.iter().find(|(_, length)| seconds > 0 && seconds.is_multiple_of(*length));
    let (unit, length) = unit.unwrap_or(&("s", 1));
    format!("{}{unit}", seconds / length)
}

/// Whether a text has the shape `BACKEND` or `BACKEND/MODEL`; a model's own name may hold further slashes.
fn is_model(text: &str) -> bool {
    let (backend, model) = text.split_once('/').unwrap_or((text, "-"));
    let is_word = |c: char| !c.is_whitespace() && !c.is_control();
    super::key::is_name(backend) && !model.is_empty() && model.chars().all(is_word)
}

fn is_inside(path: &str) -> bool {
    !path.trim().is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != "..")
}

/// A program's arguments and environment cannot hold NUL.
fn is_passable(text: &str) -> bool {
    !text.contains('\0')
}

fn strings(item: &Item) -> Option<Vec<String>> {
    item.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Keys in their one spelling; the error names the one that is none.
fn chords(texts: &[String]) -> Result<Value, String> {
    let chord = |text: &String| text.parse::<Chord>().map(|chord| chord.to_string()).map_err(|_| quoted(text));
    texts.iter().map(chord).collect::<Result<_, _>>().map(Value::List)
}

fn variables(item: &Item) -> Option<BTreeMap<String, String>> {
    let entry = |(name, value): (&str, &Item)| {
        let fits = |value: &&str| !name.is_empty() && !name.contains('=') && is_passable(name) && is_passable(value);
        value.as_str().filter(fits).map(|value| (name.to_owned(), value.to_owned()))
    };
    item.as_table_like()?.iter().map(entry).collect()
}

fn found(item: &Item) -> String {
    match (item.as_str(), item.as_integer()) {
        (Some(text), _) => quoted(text),
        (None, Some(number)) => format!("{number}"),
        (None, None) if item.is_array() => "this list".into(),
        (None, None) if item.is_table_like() => "this table".into(),
        (None, None) => format!("a value of type {}", item.type_name()),
    }
}

fn quoted(text: &str) -> String {
    const CHARS: usize = 60;
    let head: String = text.chars().take(CHARS).collect();
    let mark = if head.len() < text.len() { "…" } else { "" };
    format!("`{}{mark}`", head.escape_debug())
}
