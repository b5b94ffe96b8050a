//! Changes one key of a file and leaves the rest of it, comments and order included, as its owner wrote it.

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use super::error::{ConfigError, Place};
use super::layer::{self, Origin};

/// Returns the text with `path` set to a value as it is typed on the command line.
pub fn set_key(text: &str, origin: &Origin, path: &str, typed: &str) -> Result<String, ConfigError> {
    // A file that is broken elsewhere is not touched: the error names the line to mend first.
    layer::parse(text, origin)?;
    let place = Place { label: origin.label.clone(), line: None };
    let key = layer::known(path, &place)?;
    layer::allowed(key, path, origin.kind, &place)?;
    let value = key.kind.read_typed(typed).map_err(|found| layer::invalid(key, path, place.clone(), found))?;

    let unreadable =
        |message: &str| ConfigError::Syntax { place: place.clone(), column: 1, message: message.to_owned() };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| unreadable(error.message()))?;
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
        *value.decor_mut() = toml_edit::Decor::new(" ", space);
    }
}
