//! The files that rules stand in: text in, rules out, and back again for the file that we write ourselves.
//!
//! Nothing is read from or written to the disk here.

#[cfg(test)]
mod tests;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, json};

use super::compact::{Action, CompactPermission, Form, PermissionError};
use super::rule::{Rule, RuleError, RuleFile};

/// What a project's map says before anybody has changed it: only what keeps secrets. All else is left to the tools.
pub const SEED: &str = r#"// What tools may do in this project: "tool": "allow" | "ask" | "deny", or by pattern. The last match decides.
// A tool that is not named here is decided by what it is.
{
  "read": {
    "*.env": "deny",
    "*.env.*": "deny",
    "*credentials*": "deny",
    "*secret*": "deny",
    "*.env.example": "allow"
  },
  "write": { "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow" },
  "edit": { "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow" },
  "patch": { "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow" }
}
"#;

/// Why a file of rules means nothing.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{file}:{line}: {text}")]
    Syntax { file: String, line: usize, text: String },
    #[error("{file}:{line}: expected {expected}")]
    Shape { file: String, line: usize, expected: &'static str },
    #[error("{file}:{line}: unknown key `{key}`, known are {known}")]
    Key { file: String, line: usize, key: String, known: &'static str },
    #[error("{file}:{line}: {rule}")]
    Rule { file: String, line: usize, rule: RuleError },
    #[error("{file}:{line}: {map}")]
    Map { file: String, line: usize, map: PermissionError },
}

/// The lists of a file of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Allow,
    Ask,
    Deny,
}

/// Reads a file of rules. `name` is what errors and verdicts call it.
pub fn rule_file(name: &str, text: &str, home: &str) -> Result<RuleFile, LoadError> {
    let mut found = RuleFile { name: name.to_owned(), ..RuleFile::default() };
    let at = Source { name, text };
    let strict = ParseOptions { allow_comments: false, allow_trailing_commas: false, ..JSON };
    let Some(top) = at.parse(&strict)? else { return Ok(found) };
    for property in &at.object(&top, "an object with `permissions`")?.properties {
        if property.name.as_str() != "permissions" {
            return Err(at.unknown(property, "`permissions`"));
        }
        for list in &at.object(&property.value, "an object with `allow`, `ask` and `deny`")?.properties {
            let rules = match list.name.as_str() {
                "allow" => &mut found.allow,
                "ask" => &mut found.ask,
                "deny" => &mut found.deny,
                _ => return Err(at.unknown(list, "`allow`, `ask`, `deny`")),
            };
            rules.extend(at.rules(&list.value, home)?);
        }
    }
    Ok(found)
}

/// Reads the ordered map of a project. Comments are welcome.
pub fn map(name: &str, text: &str, home: &str) -> Result<CompactPermission, LoadError> {
    let at = Source { name, text };
    let Some(top) = at.parse(&JSON)? else { return Ok(CompactPermission::default()) };
    let mut entries = Vec::new();
    for property in &at.object(&top, "an object of tools")?.properties {
        entries.push((property.name.as_str().to_owned(), at.form(property)?));
    }
    Ok(CompactPermission::new(entries).at_home(home))
}

/// The text of a file of rules with one rule more. What is there stays, and no rule comes twice.
pub fn with_rule(name: &str, text: &str, list: List, rule: &Rule) -> Result<String, LoadError> {
    let mut file = rule_file(name, text, "")?;
    let rules = match list {
        List::Allow => &mut file.allow,
        List::Ask => &mut file.ask,
        List::Deny => &mut file.deny,
    };
    if !rules.contains(rule) {
        rules.push(rule.clone());
    }
    let mut lists = Map::new();
    for (list, rules) in [("allow", &file.allow), ("ask", &file.ask), ("deny", &file.deny)] {
        if !rules.is_empty() {
            lists.insert(list.to_owned(), rules.iter().map(Rule::to_string).collect());
        }
    }
    Ok(format!("{:#}\n", json!({ "permissions": lists })))
}

/// Rules that let something go ahead as texts: what somebody agrees to who trusts them.
pub fn grants(allow: &[Rule]) -> Vec<String> {
    allow.iter().map(Rule::to_string).collect()
}

/// JSON with comments and commas too many, and nothing else that JSON does not have.
const JSON: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A text and its name, for errors that say where.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> Source<'a> {
    /// The value of the text; an empty one has none.
    fn parse(&self, options: &ParseOptions) -> Result<Option<Value<'a>>, LoadError> {
        let parsed = parse_to_ast(self.text, &CollectOptions::default(), options);
        let syntax = |error: jsonc_parser::errors::ParseError| LoadError::Syntax {
            file: self.name.to_owned(),
            line: error.line_display(),
            text: error.kind().to_string().to_lowercase(),
        };
        Ok(parsed.map_err(syntax)?.value)
    }

    fn object<'v>(&self, value: &'v Value<'a>, expected: &'static str) -> Result<&'v Object<'a>, LoadError> {
        value.as_object().ok_or_else(|| self.shape(value, expected))
    }

    fn rules(&self, list: &Value<'a>, home: &str) -> Result<Vec<Rule>, LoadError> {
        let items = list.as_array().ok_or_else(|| self.shape(list, "a list of rules"))?;
        let rule = |item: &Value<'a>| {
            let text = item.as_string_lit().ok_or_else(|| self.shape(item, "a rule such as \"Bash(go test *)\""))?;
            let rule = text.value.parse::<Rule>().and_then(|rule| rule.at_home(home));
            rule.map_err(|rule| LoadError::Rule { file: self.name.to_owned(), line: self.line(item), rule })
        };
        items.elements.iter().map(rule).collect()
    }

    fn form(&self, property: &ObjectProp<'a>) -> Result<Form, LoadError> {
        let action = |value: &Value<'a>| {
            let word = value.as_string_lit().and_then(|word| word.value.parse::<Action>().ok());
            word.ok_or_else(|| LoadError::Map {
                file: self.name.to_owned(),
                line: self.line(value),
                map: PermissionError { tool: property.name.as_str().to_owned() },
            })
        };
        let Some(patterns) = property.value.as_object() else { return Ok(Form::Simple(action(&property.value)?)) };
        let pattern = |pattern: &ObjectProp<'a>| Ok((pattern.name.as_str().to_owned(), action(&pattern.value)?));
        Ok(Form::Detailed(patterns.properties.iter().map(pattern).collect::<Result<_, LoadError>>()?))
    }

    fn shape(&self, value: &Value<'a>, expected: &'static str) -> LoadError {
        LoadError::Shape { file: self.name.to_owned(), line: self.line(value), expected }
    }

    fn unknown(&self, property: &ObjectProp<'a>, known: &'static str) -> LoadError {
        let key = property.name.as_str().to_owned();
        LoadError::Key { file: self.name.to_owned(), line: self.line(property), key, known }
    }

    fn line(&self, at: &impl Ranged) -> usize {
        1 + self.text.as_bytes().iter().take(at.start()).filter(|byte| **byte == b'\n').count()
    }
}
