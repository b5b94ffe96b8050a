//! The response's JSON Schema: the committed text for prompts and validation, and copies for the transports.
//!
//! Backends differ in what they take: one drops a schema without a word when it holds a keyword it does not know,
//! another wants every property required. A dialect is such a taste; which backend has it is the registry's knowledge.

use std::sync::LazyLock;

use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::wire::WireResponse;

/// The committed schema: the shape that every response is held to.
const TEXT: &str = include_str!("../../schemas/response.schema.json");

/// What every validator at the other end understands, in the order in which a reader wants it. `$schema` and `format`
/// are left out on purpose.
const PLAIN_KEYWORDS: &[&str] =
    &["title", "description", "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum"];

/// The committed schema without its line breaks: every prompt pays for them.
static COMPACT: LazyLock<String> = LazyLock::new(|| {
    let compact = serde_json::from_str::<Value>(TEXT).map(|schema| schema.to_string());
    compact.unwrap_or_else(|_| TEXT.to_owned())
});

/// Compiled once for the process; a text that does not compile refuses every response instead of letting it pass.
static VALIDATOR: LazyLock<Result<Validator, String>> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(TEXT).map_err(|error| error.to_string())?;
    jsonschema::validator_for(&schema).map_err(|error| error.to_string())
});

/// How a transport wants its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaDialect {
    /// Common keywords only.
    Plain,
    /// Common keywords, every property required, what is optional is nullable, no additional properties.
    Strict,
}

/// The self-descriptive schema for the prompt.
pub fn schema_text() -> &'static str {
    &COMPACT
}

/// The schema for a transport that constrains the model's output itself.
pub fn transport_schema(dialect: SchemaDialect) -> Value {
    let plain = plain(generated());
    match dialect {
        SchemaDialect::Plain => plain,
        SchemaDialect::Strict => strict(plain),
    }
}

/// What the Rust types say; the committed text is a copy of it.
pub(super) fn generated() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    map_schema(settings.into_generator().into_root_schema_for::<WireResponse>().to_value(), ordered)
}

/// Checks a value; the refusal names the place and the rule but never quotes the value.
pub(super) fn check(value: &Value) -> Result<(), Violation> {
    let violation = |path: &str, rule| Violation { path: format!("/{}", path.trim_start_matches('/')), rule };
    let validator = VALIDATOR.as_ref().map_err(|error| violation("", error.clone()))?;
    validator
        .validate(value)
        .map_err(|error| violation(error.instance_path().as_str(), error.masked_with("the value").to_string()))
}

/// Where a value breaks the schema, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) path: String,
    pub(super) rule: String,
}

/// The generator's order is an accident; a committed text needs one of its own.
fn ordered(object: Map<String, Value>) -> Map<String, Value> {
    let place = |keyword: &String| PLAIN_KEYWORDS.iter().position(|known| known == keyword);
    let mut entries: Vec<_> = object.into_iter().collect();
    entries.sort_by_key(|(keyword, _)| place(keyword));
    entries.into_iter().collect()
}

fn plain(schema: Value) -> Value {
    map_schema(schema, |mut object| {
        object.retain(|keyword, _| PLAIN_KEYWORDS.contains(&keyword.as_str()));
        object
    })
}

fn strict(schema: Value) -> Value {
    map_schema(schema, |mut object| {
        if let Some(Value::Object(properties)) = object.get("properties") {
            let names: Vec<_> = properties.keys().cloned().collect();
            object.insert("required".into(), json!(names));
            object.insert("additionalProperties".into(), json!(false));
        }
        nullable_by_choice(object)
    })
}

/// Spells a nullable object or array as a choice: strict transports document type lists for scalars only.
fn nullable_by_choice(mut object: Map<String, Value>) -> Map<String, Value> {
    let container = ["object", "array"].into_iter().find(|name| object.get("type") == Some(&json!([name, "null"])));
    let Some(container) = container else { return object };
    let description = object.remove("description");
    object.insert("type".into(), json!(container));
    let mut choice = Map::new();
    choice.extend(description.map(|text| ("description".to_owned(), text)));
    choice.insert("anyOf".into(), json!([object, { "type": "null" }]));
    choice
}

/// Rewrites a schema and all schemas inside it, innermost first.
fn map_schema(schema: Value, rewrite: fn(Map<String, Value>) -> Map<String, Value>) -> Value {
    let Value::Object(mut object) = schema else { return schema };
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(|inner| *inner = map_schema(inner.take(), rewrite));
    }
    if let Some(items) = object.get_mut("items") {
        *items = map_schema(items.take(), rewrite);
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.iter_mut().for_each(|inner| *inner = map_schema(inner.take(), rewrite));
    }
    Value::Object(rewrite(object))
}
