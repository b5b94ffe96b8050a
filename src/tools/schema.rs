//! Input schemas that every agent takes as they are.
//!
//! One agent drops a schema without a word when it holds `$schema`, `format` or a keyword it does not know, others do
//! not follow references or take lists of types. What is left says what may be absent by `required` alone.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// What is kept, in the order in which a reader wants it.
const KEYWORDS: &[&str] =
    &["type", "description", "enum", "default", "anyOf", "properties", "required", "additionalProperties", "items"];

/// The schema of a tool's parameters.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = plain(settings.into_generator().into_root_schema_for::<T>().to_value());
    // What the tool does is said in its description; the root speaks to readers of the code.
    if let Value::Object(root) = &mut schema {
        root.shift_remove("description");
    }
    schema
}

/// Names the values that a parameter may have.
pub(super) fn choose(mut schema: Value, parameter: &str, values: &[String]) -> Value {
    if let Some(Value::Object(property)) = schema.pointer_mut(&format!("/properties/{parameter}")) {
        property.insert("enum".to_owned(), json!(values));
    }
    schema
}

fn plain(schema: Value) -> Value {
    let Value::Object(object) = schema else { return schema };
    let mut object = without_null(object);
    // Some agents refuse a tool that takes nothing unless it says so.
    if object.get("type") == Some(&json!("object")) {
        object.entry("properties").or_insert_with(|| json!({}));
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(|inner| *inner = plain(inner.take()));
    }
    if let Some(items) = object.get_mut("items") {
        *items = plain(items.take());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.iter_mut().for_each(|choice| *choice = plain(choice.take()));
    }
    let place = |keyword: &str| KEYWORDS.iter().position(|known| *known == keyword);
    let mut entries: Vec<_> = object.into_iter().filter(|(keyword, _)| place(keyword).is_some()).collect();
    entries.sort_by_key(|(keyword, _)| place(keyword));
    Value::Object(entries.into_iter().collect())
}

/// Spells what is optional as if it were there: `null` is read like an absent value but never asked for.
fn without_null(mut object: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(mut choices)) = object.shift_remove("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        match choices.as_mut_slice() {
            [Value::Object(some)] => {
                let outer = std::mem::replace(&mut object, std::mem::take(some));
                object.extend(outer);
            }
            _ => drop(object.insert("anyOf".to_owned(), Value::Array(choices))),
        }
    }
    if let Some(Value::Array(names)) = object.get_mut("type") {
        names.retain(|name| name != "null");
        if let [name] = names.as_slice() {
            let name = name.clone();
            object.insert("type".to_owned(), name);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    object
}
