//! The JSON Schema of the configuration file, made from the table, for editors that complete and check TOML.

use serde_json::{Map, Value, json};

use super::key::{KEYS, Key};
use super::value::{Kind, UNIT_PATTERN};

/// Builds the schema; a copy of it is committed.
pub fn schema() -> Value {
    let mut root = Map::new();
    root.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    root.insert("title".into(), json!("Coppice configuration"));
    root.extend(section());
    for key in KEYS {
        let parts: Vec<_> = key.name.split('.').collect();
        place(&mut root, &parts, setting(key));
    }
    Value::Object(root)
}

fn section() -> Map<String, Value> {
    let mut section = Map::new();
    section.insert("type".into(), json!("object"));
    section.insert("additionalProperties".into(), json!(false));
    section
}

/// Puts a setting where its path leads, making the sections on the way.
fn place(section_schema: &mut Map<String, Value>, parts: &[&str], setting: Value) {
    let Some((first, rest)) = parts.split_first() else { return };
    let (holder, name) = match *first {
        "*" => ("patternProperties", "^[a-z0-9][a-z0-9_-]*$"),
        name => ("properties", name),
    };
    let holder = section_schema.entry(holder).or_insert_with(|| json!({}));
    let Some(holder) = holder.as_object_mut() else { return };
    if rest.is_empty() {
        holder.insert(name.to_owned(), setting);
        return;
    }
    let inner = holder.entry(name).or_insert_with(|| Value::Object(section()));
    if let Some(inner) = inner.as_object_mut() {
        place(inner, rest, setting);
    }
}

fn setting(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Model => json!({ "type": "string", "pattern": "^([a-z0-9][a-z0-9_-]*(/\\S+)?)?$" }),
        Kind::Count { max } => json!({ "type": "integer", "minimum": 0, "maximum": max }),
        Kind::Duration => json!({ "type": "string", "pattern": UNIT_PATTERN }),
        Kind::AutoDuration => json!({ "type": "string", "pattern": format!("^auto$|{UNIT_PATTERN}") }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(known) => json!({ "type": "string", "enum": known }),
        Kind::Text => json!({ "type": "string" }),
        Kind::List | Kind::Paths => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Kind::Command => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        Kind::OptionalCommand => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Chords => {
            let key = json!({ "type": "string", "minLength": 1 });
            json!({ "anyOf": [key, { "type": "array", "items": key }] })
        }
        Kind::Variables | Kind::ProjectVariables => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        Kind::VariableNames => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*\\*?$" } })
        }
    };
    schema["description"] = json!(key.doc);
    if let Some(default) = super::resolve::default_of(key.name) {
        schema["default"] = match default {
            super::Value::Count(number) => json!(number),
            super::Value::Flag(flag) => json!(flag),
            super::Value::List(items) => json!(items),
            super::Value::Variables(entries) => json!(entries),
            super::Value::Text(text) => json!(text),
            super::Value::Duration(duration) => json!(super::value::format_duration(duration)),
        };
    }
    schema
}
