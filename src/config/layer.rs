//! One source of settings: a file or the options of a command, read and checked against the table.

use std::fmt;
use std::ops::Range;

use toml_edit::{Document, Item, TableLike};

use super::error::{ConfigError, Place};
use super::key::{self, Authority, Key};
use super::project_env::names_settings;
use super::value::{Value, one_line};

/// How much of an unknown key an error repeats.
const KEY_CHARS: usize = 80;

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The path of the file, as errors name it.
    pub label: String,
    pub kind: LayerKind,
}

/// The layers, each above the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    User,
    Repository,
    Project,
    Flag,
}

/// The settings of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) value: Value,
    pub(super) place: Place,
    pub(super) authority: Authority,
}

impl Layer {
    /// The value this source gives a key.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.path == path).map(|entry| &entry.value)
    }
}

/// Reads a file.
pub fn parse(text: &str, origin: &Origin) -> Result<Layer, ConfigError> {
    let document = Document::parse(text).map_err(|error| syntax(text, origin, &error))?;
    let mut reader = Reader { text, origin, entries: Vec::new() };
    reader.table("", document.as_table())?;
    Ok(Layer { kind: origin.kind, entries: reader.entries })
}

/// Reads options of a command, each as (option, key, value).
pub fn parse_flags<'a>(flags: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Result<Layer, ConfigError> {
    let entry = |(option, path, typed): (&str, &str, &str)| {
        let place = Place { label: option.to_owned(), line: None };
        let key = known(path, &place)?;
        let value = key.kind.read_typed(typed).map_err(|found| invalid(key, path, place.clone(), found))?;
        Ok(Entry { path: path.to_owned(), value, place, authority: key.authority })
    };
    let entries = flags.into_iter().map(entry).collect::<Result<_, ConfigError>>()?;
    Ok(Layer { kind: LayerKind::Flag, entries })
}

/// Finds the row of a key, or says which one was meant.
pub(super) fn known(path: &str, place: &Place) -> Result<&'static Key, ConfigError> {
    key::find(path).ok_or_else(|| unknown(path, place.clone()))
}

pub(super) fn invalid(key: &Key, path: &str, place: Place, found: String) -> ConfigError {
    ConfigError::Invalid { place, key: path.to_owned(), expected: key.kind.expected(), found }
}

/// Refuses a machine's setting in a file that speaks for one repository, and a person's in one that speaks for all who
/// work on it.
pub(super) fn allowed(key: &Key, path: &str, kind: LayerKind, place: &Place) -> Result<(), ConfigError> {
    match (key.authority, kind) {
        (Authority::Machine, LayerKind::Repository | LayerKind::Project) => {
            Err(ConfigError::WrongLayer { place: place.clone(), key: path.to_owned(), kind })
        }
        (Authority::Personal, LayerKind::Repository) => {
            Err(ConfigError::Personal { place: place.clone(), key: path.to_owned() })
        }
        (Authority::Machine, LayerKind::User | LayerKind::Flag)
        | (Authority::Personal, LayerKind::User | LayerKind::Project | LayerKind::Flag) => Ok(()),
        (Authority::Anyone | Authority::Lowers | Authority::Tightens | Authority::Grants, _) => Ok(()),
    }
}

struct Reader<'a> {
    text: &'a str,
    origin: &'a Origin,
    entries: Vec<Entry>,
}

impl Reader<'_> {
    fn table(&mut self, prefix: &str, table: &dyn TableLike) -> Result<(), ConfigError> {
        for (name, item) in table.iter() {
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let place = self.place(table.key(name).and_then(toml_edit::Key::span));
            if name.contains('.') {
                // A quoted dot is part of the name; joined with the path it would pass for a section.
                return Err(unknown(&path.replace(name, &one_line(name)), place));
            }
            if let Some(of) = named(prefix).filter(|_| !key::is_name(name)) {
                return Err(ConfigError::InvalidName { place, name: name.escape_debug().to_string(), of });
            }
            self.item(path, place, item)?;
        }
        Ok(())
    }

    fn item(&mut self, path: String, place: Place, item: &Item) -> Result<(), ConfigError> {
        if let Some(key) = key::find(&path) {
            allowed(key, &path, self.origin.kind, &place)?;
            let value = key.kind.read(item).map_err(|found| invalid(key, &path, place.clone(), found))?;
            self.refuse_settings_directory(&path, &value, &place)?;
            self.entries.push(Entry { path, value, place, authority: key.authority });
            return Ok(());
        }
        match item.as_table_like() {
            // An unknown section is reported by its first key: that one has a known twin to name.
            Some(table) if !table.is_empty() => self.table(&path, table),
            Some(_) if key::is_section(&path) => Ok(()),
            None if key::is_section(&path) => Err(ConfigError::Invalid {
                place,
                key: path,
                expected: "a table".into(),
                found: format!("a value of type {}", item.type_name()),
            }),
            Some(_) | None => Err(unknown(&path, place)),
        }
    }

    /// Nobody but a person says where the programs find that person's settings.
    fn refuse_settings_directory(&self, path: &str, value: &Value, place: &Place) -> Result<(), ConfigError> {
        let (LayerKind::Repository, Value::Variables(variables)) = (self.origin.kind, value) else { return Ok(()) };
        match variables.keys().find(|name| names_settings(name)) {
            Some(name) => Err(ConfigError::Personal { place: place.clone(), key: format!("{path}.{name}") }),
            None => Ok(()),
        }
    }

    fn place(&self, span: Option<Range<usize>>) -> Place {
        let line = span.map(|span| line_column(self.text, span.start).0);
        Place { label: self.origin.label.clone(), line }
    }
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "for a user",
            Self::Repository => "by a repository",
            Self::Project => "for a project",
            Self::Flag => "by an option",
        })
    }
}

/// What the user names in a section of names.
fn named(section: &str) -> Option<&'static str> {
    match section {
        "backends" => Some("a backend name"),
        "mcp.servers" => Some("a server name"),
        "keys" => Some("an action name"),
        _ => None,
    }
}

fn unknown(path: &str, place: Place) -> ConfigError {
    // A hostile file can hold a key of any length and with any control character.
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let key: String = path.chars().take(KEY_CHARS).map(shown).collect();
    let nearest = key::nearest(&key);
    ConfigError::UnknownKey { place, key, nearest }
}

fn syntax(text: &str, origin: &Origin, error: &toml_edit::TomlError) -> ConfigError {
    let (line, column) = line_column(text, error.span().map_or(0, |span| span.start));
    let place = Place { label: origin.label.clone(), line: Some(line) };
    ConfigError::Syntax { place, column, message: error.message().lines().collect::<Vec<_>>().join(", ") }
}

/// Line and column from 1; a column is a character.
fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
