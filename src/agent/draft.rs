//! The keys of one header as typed values, with everything that is wrong about them.
//!
//! A value that cannot be read is an error and never an absent key: an absent limit is no limit.

use std::mem::discriminant;
use std::time::Duration;

use super::dialect::{self, Field, Spelling};
use super::frontmatter::{Pair, Value};
use super::{Access, Diagnostic, Format, Mode, Severity};
use crate::permission::Profile;
use crate::permission::compact::{CompactPermission, Form, PermissionError};

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

/// What a header says; `None` is a key that is not there.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) mode: Option<Mode>,
    pub(super) hidden: Option<bool>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) allow: Option<Vec<String>>,
    pub(super) deny: Option<Vec<String>>,
    pub(super) permission: Option<CompactPermission>,
    pub(super) access: Option<Access>,
    pub(super) profile: Option<Profile>,
    pub(super) personas: Option<Vec<Declared>>,
    pub(super) max_steps: Option<u32>,
    pub(super) background: Option<bool>,
    pub(super) timeout: Option<Duration>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A persona that the header promises.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) line: u32,
}

/// Reads a header as a format means it.
pub(super) fn read(format: Format, header: &[Pair]) -> Draft {
    let mut draft = Draft::default();
    let mut seen: Vec<(Field, &str)> = Vec::new();
    for pair in header {
        let Some(field) = dialect::field(format, &pair.key) else {
            draft.diagnostics.push(unknown_key(format, pair));
            continue;
        };
        let is_same = |earlier: Field| field != Field::Foreign && discriminant(&earlier) == discriminant(&field);
        if let Some((_, other)) = seen.iter().find(|(earlier, _)| is_same(*earlier)) {
            let message = format!("`{other}` and `{}` mean the same: keep one of them", pair.key);
            draft.diagnostics.push(Diagnostic::error("conflicting_keys", message, Some(pair.line)));
        }
        seen.push((field, &pair.key));
        if let Err(diagnostic) = draft.take(format, field, pair) {
            draft.diagnostics.push(diagnostic);
        }
    }
    draft
}

impl Draft {
    fn take(&mut self, format: Format, field: Field, pair: &Pair) -> Result<(), Diagnostic> {
        let value = &pair.value;
        let wrong = |expected: &str| {
            let detail = format!("`{}` expects {expected}", pair.key);
            Diagnostic::error("invalid_value", dialect::undecodable(format, &detail), Some(pair.line))
        };
        match field {
            Field::Name => self.name = text(value).ok_or_else(|| wrong("text"))?,
            Field::Description => self.description = text(value).ok_or_else(|| wrong("text"))?.map(|it| one_line(&it)),
            Field::Mode => self.mode = Some(mode(value).ok_or_else(|| invalid_mode(pair.line))?),
            Field::Hidden => self.hidden = Some(flag(value).ok_or_else(|| wrong("true or false"))?),
            Field::Model => self.model = model(format, pair)?,
            Field::Effort => self.effort = effort(value).ok_or_else(|| wrong(&one_of_efforts()))?,
            Field::Allow(spelling) => {
                let listed = list(value, spelling).ok_or_else(|| wrong(in_words(spelling)))?;
                let is_everything = spelling == Spelling::Loose && listed.iter().any(|item| item == "*");
                self.allow = (!is_everything).then_some(listed);
            }
            Field::Deny(spelling) => {
                let listed = list(value, spelling).ok_or_else(|| wrong(in_words(spelling)))?;
                // `Bash(rm *)` denies some calls; a surface has only whole tools, so it denies all of them.
                self.deny = Some(tidy(listed.iter().map(|item| item.split('(').next().unwrap_or(item))));
            }
            Field::Permission => self.permission = Some(permission(pair)?),
            Field::ReadOnly => {
                let is_read_only = flag(value).ok_or_else(|| wrong("true or false"))?;
                self.access = Some(if is_read_only { Access::ReadOnly } else { Access::Inherit });
            }
            Field::Profile => self.profile = Some(profile(value).ok_or_else(|| wrong(&one_of_profiles()))?),
            Field::Personas => self.personas = Some(personas(format, pair, &mut self.diagnostics)?),
            Field::MaxSteps => self.max_steps = Some(count(value).ok_or_else(|| wrong("a number above 0"))?),
            Field::Background => self.background = Some(flag(value).ok_or_else(|| wrong("true or false"))?),
            Field::Timeout => {
                self.timeout = Some(duration(value).ok_or_else(|| wrong("a duration such as `90s`, `30m` or `4h`"))?);
            }
            Field::Foreign => {
                let message = format!("`{}` has no effect here", pair.key);
                let line = Some(pair.line);
                self.diagnostics.push(Diagnostic { severity: Severity::Info, code: "foreign_key", message, line });
            }
            Field::FallbackModels => {
                let message = "agent fallback models are not supported";
                return Err(Diagnostic::error("fallback_models", message, Some(pair.line)));
            }
        }
        Ok(())
    }
}

fn unknown_key(format: Format, pair: &Pair) -> Diagnostic {
    // A merged map could bring limits that nobody would apply.
    if pair.key == "<<" {
        let message = dialect::undecodable(format, "merge keys are not supported");
        return Diagnostic::error("merge_key", message, Some(pair.line));
    }
    let hint = dialect::nearest(format, &pair.key).map(|key| format!(", did you mean `{key}`?")).unwrap_or_default();
    let message = format!("unknown key `{}`{hint}", pair.key);
    Diagnostic::warning("unknown_key", message, Some(pair.line))
}

fn invalid_mode(line: u32) -> Diagnostic {
    Diagnostic::error("invalid_mode", "agent mode is invalid", Some(line))
}

/// Text that says something, or nothing; `None` when it is no text.
fn text(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::Text(text) => Some(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Value::Number(number) => Some(Some(number.to_string())),
        Value::Bool(is) => Some(Some(is.to_string())),
        Value::List(_) | Value::Map(_) | Value::Odd => None,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn flag(value: &Value) -> Option<bool> {
    if let Value::Bool(is) = value { Some(*is) } else { None }
}

fn count(value: &Value) -> Option<u32> {
    let Value::Number(number) = value else { return None };
    u32::try_from(*number).ok().filter(|number| *number > 0)
}

fn mode(value: &Value) -> Option<Mode> {
    match text(value)??.to_lowercase().as_str() {
        "primary" => Some(Mode::Primary),
        "subagent" => Some(Mode::Subagent),
        "all" => Some(Mode::All),
        _ => None,
    }
}

fn effort(value: &Value) -> Option<Option<String>> {
    let Some(word) = text(value)?.map(|word| word.to_lowercase()) else { return Some(None) };
    EFFORTS.contains(&word.as_str()).then_some(Some(word))
}

fn one_of_efforts() -> String {
    format!("one of {}", EFFORTS.join(", "))
}

fn profile(value: &Value) -> Option<Profile> {
    text(value)??.parse().ok()
}

fn one_of_profiles() -> String {
    format!("one of {}", Profile::ALL.map(Profile::as_str).join(", "))
}

fn model(format: Format, pair: &Pair) -> Result<Option<String>, Diagnostic> {
    let Some(model) = text(&pair.value) else {
        let message = dialect::undecodable(format, "`model` expects text");
        return Err(Diagnostic::error("invalid_value", message, Some(pair.line)));
    };
    let Some(model) = model.filter(|model| model != "inherit") else { return Ok(None) };
    let is_whole = model.split_once('/').is_some_and(|(provider, name)| !provider.is_empty() && !name.is_empty());
    let is_plain = !model.chars().any(char::is_whitespace);
    match format {
        Format::Koda if !is_whole || !is_plain => {
            let message = format!("parse model: expected provider/model, got \"{model}\"");
            Err(Diagnostic::error("invalid_model", message, Some(pair.line)))
        }
        Format::Koda | Format::Unified | Format::Template | Format::Task | Format::Claude | Format::Yotta => {
            Ok(Some(model))
        }
    }
}

fn in_words(spelling: Spelling) -> &'static str {
    match spelling {
        Spelling::List => "a list of names, `[]` for none",
        Spelling::Loose => "a list of names or names with commas between them",
    }
}

fn list(value: &Value, spelling: Spelling) -> Option<Vec<String>> {
    match value {
        Value::List(items) => {
            let names: Option<Vec<_>> = items.iter().map(word).collect();
            Some(tidy(names?.into_iter()))
        }
        Value::Text(names) if spelling == Spelling::Loose => Some(tidy(between_commas(names).into_iter())),
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_) | Value::Odd => None,
    }
}

fn word(value: &Value) -> Option<&str> {
    if let Value::Text(text) = value { Some(text) } else { None }
}

/// Splits at commas, but not at those inside of parentheses.
fn between_commas(names: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    names
        .split(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter == ',' && depth == 0
        })
        .collect()
}

fn tidy<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<_> = names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    names.sort();
    names.dedup();
    names
}

fn permission(pair: &Pair) -> Result<CompactPermission, Diagnostic> {
    let wrong = |tool: &str, line| {
        Diagnostic::error("invalid_permission", PermissionError { tool: tool.to_owned() }.to_string(), Some(line))
    };
    let Value::Map(entries) = &pair.value else { return Err(wrong("*", pair.line)) };
    let action = |tool: &str, entry: &Pair| {
        word(&entry.value).and_then(|word| word.parse().ok()).ok_or_else(|| wrong(tool, entry.line))
    };
    let entry = |entry: &Pair| {
        let form = match &entry.value {
            Value::Map(patterns) => {
                let pattern = |pattern: &Pair| Ok((pattern.key.clone(), action(&entry.key, pattern)?));
                Form::Detailed(patterns.iter().map(pattern).collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Odd => {
                Form::Simple(action(&entry.key, entry)?)
            }
        };
        Ok((entry.key.clone(), form))
    };
    let entries: Vec<_> = entries.iter().map(entry).collect::<Result<_, Diagnostic>>()?;
    Ok(CompactPermission::new(entries))
}

fn personas(format: Format, pair: &Pair, diagnostics: &mut Vec<Diagnostic>) -> Result<Vec<Declared>, Diagnostic> {
    let wrong =
        |detail: &str| Diagnostic::error("invalid_value", dialect::undecodable(format, detail), Some(pair.line));
    let Value::List(items) = &pair.value else { return Err(wrong("`agent_names` expects a list")) };
    let mut declared = Vec::new();
    for item in items {
        let Value::Map(entry) = item else { return Err(wrong("`agent_names` expects entries with a name")) };
        declared.push(persona(entry, &wrong, diagnostics)?);
    }
    Ok(declared)
}

fn persona(
    entry: &[Pair],
    wrong: &dyn Fn(&str) -> Diagnostic,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Declared, Diagnostic> {
    let line = entry.first().map_or(0, |pair| pair.line);
    let mut persona = Declared { name: String::new(), description: None, model: None, effort: None, line };
    for pair in entry {
        let text = || text(&pair.value).ok_or_else(|| wrong(&format!("`{}` of a persona expects text", pair.key)));
        match pair.key.as_str() {
            "name" => persona.name = text()?.unwrap_or_default().to_lowercase(),
            "description" => persona.description = text()?.map(|text| one_line(&text)),
            "model" => persona.model = text()?,
            "reasoning_effort" => {
                let expected = || wrong(&format!("`reasoning_effort` expects {}", one_of_efforts()));
                persona.effort = effort(&pair.value).ok_or_else(expected)?;
            }
            _ => {
                let message = format!("unknown key `{}` of a persona", pair.key);
                diagnostics.push(Diagnostic::warning("unknown_key", message, Some(pair.line)));
            }
        }
    }
    if persona.name.is_empty() { Err(wrong("`agent_names` expects entries with a name")) } else { Ok(persona) }
}

/// Seconds, or a number with `s`, `m` or `h`.
fn duration(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Number(seconds) => u64::try_from(*seconds).ok()?,
        Value::Text(text) => {
            let (number, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(1)?)?;
            let factor = match unit {
                "s" => 1,
                "m" => 60,
                "h" => 3600,
                _ => return None,
            };
            number.trim().parse::<u64>().ok()?.checked_mul(factor)?
        }
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Odd => return None,
    };
    (seconds > 0).then(|| Duration::from_secs(seconds))
}
