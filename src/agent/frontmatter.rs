//! The block between two lines of `---` at the top of a file, as an ordered map that remembers its lines.
//!
//! A block that was begun and cannot be read is never the text of a prompt: a file may say less than its author
//! meant, but must not become an agent without limits.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

/// Nesting is bounded by indentation, and the loader's by the stack.
const DEEPEST_INDENT: usize = 200;

/// A file in two parts.
#[derive(Debug, PartialEq)]
pub(super) struct Parts<'a> {
    /// `None` when the file begins without a block.
    pub(super) header: Option<Vec<Pair>>,
    pub(super) body: &'a str,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    pub(super) key: String,
    /// Of the key, counted from 1 in the file.
    pub(super) line: u32,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<Pair>),
    /// What no key of any format takes: a fraction, a tag, a key that is no text.
    Odd,
}

/// Why a block cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Damage {
    Unterminated,
    Yaml { detail: String, line: u32 },
}

impl Damage {
    /// Where to look, counted from 1 in the file.
    pub(super) fn line(&self) -> u32 {
        match self {
            Self::Unterminated => 1,
            Self::Yaml { line, .. } => *line,
        }
    }
}

/// Makes a text as the rest of this room reads it: no mark of byte order, lines that end in `\n`.
pub(super) fn normalised(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

/// Splits a normalised text.
pub(super) fn split(text: &str) -> Result<Parts<'_>, Damage> {
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end() != "---" {
        return if looks_begun(text) { Err(Damage::Unterminated) } else { Ok(Parts { header: None, body: text }) };
    }
    let rest = text.split_once('\n').map(|(_, rest)| rest).ok_or(Damage::Unterminated)?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok(Parts { header: Some(header(&rest[..at])?), body: &rest[at + line.len()..] });
        }
        at += line.len();
    }
    Err(Damage::Unterminated)
}

/// Whether a text without a proper first line was meant to have a block: one that is cut short or stands too low.
fn looks_begun(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default().trim_end();
    first.starts_with("---") || first.chars().all(|letter| letter == '-')
}

fn header(yaml: &str) -> Result<Vec<Pair>, Damage> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t', '-', '?', ':']).len();
    if let Some(at) = yaml.lines().position(|line| indent(line) > DEEPEST_INDENT) {
        return Err(Damage::Yaml { detail: "nested too deeply".to_owned(), line: in_file(at + 1) });
    }
    let mut documents = MarkedYaml::load_from_str(yaml)
        .map_err(|error| Damage::Yaml { detail: error.info().to_owned(), line: in_file(error.marker().line()) })?;
    let Some(document) = documents.pop() else { return Ok(Vec::new()) };
    let not_a_map = || Damage::Yaml { detail: "expected keys and values".to_owned(), line: 2 };
    if !documents.is_empty() {
        return Err(not_a_map());
    }
    match value(document) {
        Value::Map(pairs) => Ok(pairs),
        Value::Null => Ok(Vec::new()),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Odd => Err(not_a_map()),
    }
}

fn value(node: MarkedYaml<'_>) -> Value {
    match node.data {
        YamlData::Value(Scalar::Null) => Value::Null,
        YamlData::Value(Scalar::Boolean(is)) => Value::Bool(is),
        YamlData::Value(Scalar::Integer(number)) => Value::Number(number),
        YamlData::Value(Scalar::String(text)) => Value::Text(text.into_owned()),
        YamlData::Sequence(items) => Value::List(items.into_iter().map(value).collect()),
        YamlData::Mapping(pairs) => {
            pairs.into_iter().map(|(key, node)| pair(key, node)).collect::<Option<_>>().map_or(Value::Odd, Value::Map)
        }
        YamlData::Value(Scalar::FloatingPoint(_))
        | YamlData::Representation(..)
        | YamlData::Tagged(..)
        | YamlData::Alias(_)
        | YamlData::BadValue => Value::Odd,
    }
}

fn pair(key: MarkedYaml<'_>, node: MarkedYaml<'_>) -> Option<Pair> {
    let line = in_file(key.span.start.line());
    let Value::Text(key) = value(key) else { return None };
    Some(Pair { key, line, value: value(node) })
}

/// The line of the file that a line of the block is.
fn in_file(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn keys_keep_their_order_and_their_lines() {
        let file = normalised("\u{feff}---\r\nb: 1\r\n# why\r\na: [x, 'true', true, ~, 1.5]\r\n---\r\nBody\r\n");
        let list = vec![text("x"), text("true"), Value::Bool(true), Value::Null, Value::Odd];
        let header = vec![
            Pair { key: "b".to_owned(), line: 2, value: Value::Number(1) },
            Pair { key: "a".to_owned(), line: 4, value: Value::List(list) },
        ];
        assert_eq!(split(&file), Ok(Parts { header: Some(header), body: "Body\n" }));
        assert_eq!(split("---\n---"), Ok(Parts { header: Some(vec![]), body: "" }));
        assert_eq!(split("A prompt.\n---\n"), Ok(Parts { header: None, body: "A prompt.\n---\n" }));
    }

    #[test]
    fn what_was_begun_is_never_the_prompt() {
        for damaged in
            ["", "-", "--", "---", "---\n", "---\na: b", "---\na: b\n--", "\n---\na: b\n---\n", "---- \n", " --- \n"]
        {
            assert_eq!(split(damaged), Err(Damage::Unterminated), "{damaged:?}");
        }
    }

    #[test]
    fn a_block_that_is_no_map_names_its_line() {
        let line = |yaml: &str| match split(yaml) {
            Err(Damage::Yaml { line, .. }) => line,
            other => panic!("{yaml:?} {other:?}"),
        };
        assert_eq!(line("---\na: b\nc: [d\n---\n"), 4);
        assert_eq!(line("---\na: b\na: c\n---\n"), 3);
        assert_eq!(line("---\n- a\n---\n"), 2);
        assert_eq!(line("---\n1: a\n---\n"), 2);
        let deep = format!("---\na:\n{}\n---\n", "- ".repeat(50_000));
        assert_eq!(line(&deep), 3);
        assert_eq!(line(&format!("---\na: {}\n---\n", "[".repeat(50_000))), 2);
    }
}
