//! The agents that a model can hand work to, as it reads about them: `list_agents` and the short roster.
//!
//! The full list is strict about templates: one that breaks a rule fails the call instead of being left out.

use serde_json::{Map, Value, json};

use super::catalog::{Catalog, Entry, LookupError, Outcome};
use super::{Definition, Format, Persona};
use crate::tool::Tool;

/// How much of each agent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Brief,
    /// With models and prompts.
    Expanded,
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The message is the template's own and the file follows it.
    #[error("{message} ({path})")]
    Template { path: String, message: String },
}

/// What makes a template unfit for a list.
const UNFIT: &[&str] = &["missing_description", "missing_default_block", "missing_persona_description"];

const ROSTER_ROLES: usize = 12;
const ROSTER_CHARS: usize = 120;

/// The answer to `list_agents`; `agent` asks for one of them.
pub fn list_agents(catalog: &Catalog, agent: Option<&str>, detail: Detail) -> Result<Value, ListError> {
    let agents: Vec<&Definition> = match agent {
        Some(name) => {
            let found = catalog.lookup(name, "")?;
            check(found)?;
            vec![found]
        }
        None => {
            catalog.entries().iter().filter(|entry| entry.shadowed_by.is_none()).try_for_each(check_entry)?;
            catalog.delegatable().collect()
        }
    };
    Ok(json!({ "agents": agents.into_iter().map(|agent| role(agent, detail)).collect::<Vec<_>>() }))
}

/// A few lines about whom to hand work to, for the description of a tool.
pub fn roster(catalog: &Catalog) -> String {
    let lines = catalog.delegatable().take(ROSTER_ROLES).map(|agent| {
        let personas: Vec<_> = sorted(&agent.personas).into_iter().map(|persona| persona.name.as_str()).collect();
        let personas = if personas.is_empty() { String::new() } else { format!(" [{}]", personas.join(", ")) };
        format!("- {}{personas}: {}\n", agent.id, cut(&agent.description))
    });
    lines.collect()
}

fn check_entry(entry: &Entry) -> Result<(), ListError> {
    match &entry.outcome {
        Outcome::Loaded(definition) => check(definition),
        Outcome::Broken(broken) if broken.source.format == Format::Template && !broken.ids.is_empty() => {
            let (path, message) = (broken.source.path.clone(), broken.message().to_owned());
            Err(ListError::Template { path, message })
        }
        Outcome::Broken(_) => Ok(()),
    }
}

fn check(agent: &Definition) -> Result<(), ListError> {
    let unfit = agent.diagnostics.iter().find(|it| UNFIT.contains(&it.code));
    match unfit.filter(|_| agent.source.format == Format::Template) {
        Some(reason) => {
            let (path, message) = (agent.source.path.clone(), reason.message.clone());
            Err(ListError::Template { path, message })
        }
        None => Ok(()),
    }
}

fn role(agent: &Definition, detail: Detail) -> Value {
    let deny = Some(&agent.tools.deny).filter(|deny| !deny.is_empty());
    let mut entry = Map::new();
    entry.insert("agent_type".to_owned(), json!(agent.id));
    entry.insert("description".to_owned(), json!(agent.description));
    entry.insert("allow_list".to_owned(), json!(agent.tools.allow.clone().or_else(|| permitted_tools(agent))));
    entry.insert("deny_list".to_owned(), json!(deny));
    if detail == Detail::Expanded {
        let source = &agent.source;
        entry.insert("mode".to_owned(), json!(agent.mode));
        let source =
            json!({ "scope": source.scope, "format": source.format, "path": source.path, "sha256": source.sha256 });
        entry.insert("source".to_owned(), source);
        insert_some(&mut entry, "model", agent.model.as_deref());
        insert_some(&mut entry, "reasoning_effort", agent.effort.as_deref());
        insert_some(&mut entry, "default_prompt", said(&agent.prompt));
    }
    if !agent.personas.is_empty() {
        let personas: Vec<_> = sorted(&agent.personas).into_iter().map(|it| voice(it, detail)).collect();
        entry.insert("agent_names".to_owned(), Value::Array(personas));
    }
    Value::Object(entry)
}

/// The tools that a map of permissions leaves to an agent without a list; `None` where it leaves all of them.
fn permitted_tools(agent: &Definition) -> Option<Vec<String>> {
    let permission = agent.permission.as_ref()?;
    let permitted: Vec<_> =
        Tool::all().map(|tool| tool.name().to_owned()).filter(|name| permission.may_ever_run(name)).collect();
    (permitted.len() < Tool::ALL.len()).then_some(permitted)
}

fn voice(persona: &Persona, detail: Detail) -> Value {
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(persona.name));
    entry.insert("description".to_owned(), json!(persona.description));
    if detail == Detail::Expanded {
        insert_some(&mut entry, "model", persona.model.as_deref());
        insert_some(&mut entry, "reasoning_effort", persona.effort.as_deref());
        insert_some(&mut entry, "prompt", said(&persona.prompt));
    }
    Value::Object(entry)
}

fn insert_some(entry: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        entry.insert(key.to_owned(), json!(value));
    }
}

fn said(prompt: &str) -> Option<&str> {
    Some(prompt.trim()).filter(|prompt| !prompt.is_empty())
}

fn sorted(personas: &[Persona]) -> Vec<&Persona> {
    let mut personas: Vec<_> = personas.iter().collect();
    personas.sort_by(|a, b| a.name.cmp(&b.name));
    personas
}

/// At most `ROSTER_CHARS` characters, the mark of the cut included.
fn cut(description: &str) -> String {
    if description.chars().count() <= ROSTER_CHARS {
        return description.to_owned();
    }
    let kept: String = description.chars().take(ROSTER_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}
