//! Changes or removes one key of a file and leaves the rest of it, comments and order included, as its owner wrote it.

use std::ops::Range;

use toml_edit::{Decor, Document, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::error::{ConfigError, Place};
use super::key::Key;
use super::layer::{self, Origin};

/// Returns the text with `path` set to a value as it is typed on the command line.
pub fn set_key(text: &str, origin: &Origin, path: &str, typed: &str) -> Result<String, ConfigError> {
    let (key, place) = check(text, origin, path)?;
    let value = key.kind.read_typed(typed).map_err(|found| layer::invalid(key, path, place.clone(), found))?;

    let unreadable = |message: &str| unreadable(&place, message);
    let mut document = document(text, &place)?;
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut parent = document.as_item_mut();
    for part in section.split('.').filter(|part| !part.is_empty()) {
        parent = child_table(parent, part).ok_or_else(|| unreadable("a section is not a table"))?;
    }
    let mut value = value.to_toml();
    if let Some(inline) = parent.as_inline_table_mut().filter(|inline| !inline.contains_key(name)) {
        take_last_place(inline, &mut value);
    }
    let table = parent.as_table_like_mut().ok_or_else(|| unreadable("a section is not a table"))?;
    match table.get_mut(name) {
        Some(old) => {
            if let Some(old) = old.as_value() {
                *value.decor_mut() = old.decor().clone();
            }
            *old = Item::Value(value);
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
    Ok(document.to_string())
}

/// Returns the text without `path`; a section that is left with nothing goes too, unless its owner wrote about it.
pub fn unset_key(text: &str, origin: &Origin, path: &str) -> Result<String, ConfigError> {
    let (_, place) = check(text, origin, path)?;
    let sections: Vec<_> = path.split('.').collect();
    let Some((name, sections)) = sections.split_last() else { return Ok(text.to_owned()) };
    let line = own_line(text, sections, name);
    let without = line.as_ref().map(|line| [&text[..line.start], &text[line.end..]].concat());
    let mut document = document(without.as_deref().unwrap_or(text), &place)?;
    let was_there = line.is_some() || remove(document.as_table_mut(), sections, name);
    if !was_there {
        return Ok(text.to_owned());
    }
    drop_empty(document.as_table_mut(), sections);
    Ok(document.to_string())
}

/// A file that is broken elsewhere is not touched: the error names the line to mend first.
fn check(text: &str, origin: &Origin, path: &str) -> Result<(&'static Key, Place), ConfigError> {
    layer::parse(text, origin)?;
    let place = Place { label: origin.label.clone(), line: None };
    let key = layer::known(path, &place)?;
    layer::allowed(key, path, origin.kind, &place)?;
    Ok((key, place))
}

fn document(text: &str, place: &Place) -> Result<DocumentMut, ConfigError> {
    text.parse().map_err(|error: toml_edit::TomlError| unreadable(place, error.message()))
}

fn unreadable(place: &Place, message: &str) -> ConfigError {
    ConfigError::Syntax { place: place.clone(), column: 1, message: message.to_owned() }
}

/// The lines that a value has for itself. Comments above them are not part of it: they may be about more than this key.
fn own_line(text: &str, sections: &[&str], name: &str) -> Option<Range<usize>> {
    let document = Document::parse(text).ok()?;
    let mut table = document.as_table();
    for section in sections {
        table = table.get(section)?.as_table()?;
    }
    let (key, item) = table.get_key_value(name)?;
    let (start, end) = (key.span()?.start, item.as_value()?.span()?.end);
    let start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    Some(start..end)
}

/// Takes a key out of the section it stands in; whether it was there.
fn remove(table: &mut dyn TableLike, sections: &[&str], name: &str) -> bool {
    match sections.split_first() {
        None => table.remove(name).is_some(),
        Some((first, rest)) => {
            let inner = table.get_mut(first).and_then(Item::as_table_like_mut);
            inner.is_some_and(|inner| remove(inner, rest, name))
        }
    }
}

/// Takes out the sections on a path that hold nothing and that no comment is about.
fn drop_empty(table: &mut dyn TableLike, sections: &[&str]) {
    let Some((first, rest)) = sections.split_first() else { return };
    let Some(section) = table.get_mut(first) else { return };
    if let Some(inner) = section.as_table_like_mut() {
        drop_empty(inner, rest);
    }
    if section.as_table().is_some_and(|section| section.is_empty() && !has_comment(section.decor())) {
        table.remove(first);
    }
}

fn has_comment(decor: &Decor) -> bool {
    let around = [decor.prefix(), decor.suffix()];
    around.into_iter().flatten().any(|text| text.as_str().is_some_and(|text| text.contains('#')))
}

/// Enters a table, which is made when it is missing.
fn child_table<'a>(parent: &'a mut Item, name: &str) -> Option<&'a mut Item> {
    let missing = if parent.is_inline_table() {
        Item::Value(InlineTable::new().into())
    } else {
        let mut table = Table::new();
        // Prints a header of its own only when it gets keys of its own.
        table.set_implicit(true);
        Item::Table(table)
    };
    let table = parent.as_table_like_mut()?;
    if !table.contains_key(name) {
        table.insert(name, missing);
    }
    table.get_mut(name)
}

/// Hands the space before the closing brace over to the value that comes to stand there.
fn take_last_place(inline: &mut InlineTable, value: &mut Value) {
    let Some((_, last)) = inline.iter_mut().last() else { return };
    if let Some(space) = last.decor().suffix().cloned() {
        last.decor_mut().set_suffix("");
        *value.decor_mut() = Decor::new(" ", space);
    }
}
