//! The tree of agents that one session started: who is listed, who may close whom, and in which order.

use serde_json::{Map, Value, json};

use super::status::Lifecycle;
use super::{Closed, ListActive, Scope, Shape};

/// One agent of the tree, as a list tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub id: String,
    /// `None` for the session that a person started.
    pub parent: Option<String>,
    pub depth: u32,
    pub name: Option<String>,
    pub note: Option<String>,
    pub agent: Option<String>,
    pub persona: Option<String>,
    pub state: Lifecycle,
    /// For how long it has this state.
    pub state_seconds: Option<u64>,
    pub model: String,
    pub effort: Option<String>,
    /// Milliseconds.
    pub updated_at: Option<i64>,
}

/// `list_active_agents`, asked by `caller`; `family` is the whole tree in the order in which a list shows it.
pub fn list_text(ask: ListActive, caller: &str, family: &[Member]) -> String {
    let is_in_scope = |member: &&Member| match ask.scope {
        Scope::Children => member.parent.as_deref() == Some(caller),
        Scope::Descendants => is_below(family, &member.id, caller),
        Scope::All => member.parent.is_some(),
    };
    let is_open = |member: &&Member| match (ask.closed, member.state) {
        (Closed::Shown, _) => true,
        (Closed::Hidden, Lifecycle::Shutdown | Lifecycle::NotFound) => false,
        // Completed and failed agents wait for input.
        (Closed::Hidden, Lifecycle::PendingInit | Lifecycle::Running | Lifecycle::Completed | Lifecycle::Errored) => {
            true
        }
    };
    let agents: Vec<_> =
        family.iter().filter(is_in_scope).filter(is_open).map(|member| member.entry(ask.shape)).collect();
    json!({ "agents": agents }).to_string()
}

/// Who is closed when `caller` closes `target`: its whole subtree, the leaves first and the target last.
pub fn close_order(caller: &str, target: &str, family: &[Member]) -> Result<Vec<String>, String> {
    let is_root = |id: &str| family.iter().any(|member| member.id == id && member.parent.is_none());
    if caller == target {
        return Err("Not permitted to close the current agent.".to_owned());
    }
    if !family.iter().any(|member| member.id == target) {
        return Err(not_found(target));
    }
    if is_root(target) || !(is_root(caller) || is_below(family, target, caller)) {
        return Err("Not permitted to close agents outside your subtree.".to_owned());
    }
    let mut order = vec![target];
    let mut next = 0;
    while let Some(parent) = order.get(next).copied() {
        next += 1;
        for member in family.iter().filter(|member| member.parent.as_deref() == Some(parent)) {
            // A tree has no way back; a list that is none must not keep us here.
            if !order.contains(&member.id.as_str()) {
                order.push(&member.id);
            }
        }
    }
    Ok(order.into_iter().rev().map(str::to_owned).collect())
}

pub fn not_found(id: &str) -> String {
    format!("agent with id {id} not found")
}

pub fn is_closed(id: &str) -> String {
    format!("agent with id {id} is closed")
}

pub fn has_person(id: &str) -> String {
    format!("agent with id {id} cannot be closed: a person works in it")
}

pub fn invalid_id(id: &str, why: &str) -> String {
    format!("invalid agent id {id}: {why}")
}

fn is_below(family: &[Member], id: &str, above: &str) -> bool {
    let parent_of = |id: &&str| family.iter().find(|member| member.id == *id)?.parent.as_deref();
    let parents = std::iter::successors(parent_of(&id), parent_of);
    parents.take(family.len()).any(|parent| parent == above)
}

impl Member {
    fn entry(&self, shape: Shape) -> Value {
        let mut entry = Map::new();
        let mut tell = |key: &str, value: Value| {
            if !value.is_null() {
                entry.insert(key.to_owned(), value);
            }
        };
        tell("thread_id", json!(self.id));
        tell("thread_name", json!(self.name));
        tell("thread_note", json!(self.note));
        tell("agent_type", json!(self.agent));
        tell("agent_name", json!(self.persona));
        tell("status", json!(self.state.word()));
        tell("status_duration_sec", json!(self.state_seconds));
        tell("model", json!(self.model));
        tell("reasoning_effort", json!(self.effort));
        tell("updated_at", json!(self.updated_at));
        if shape == Shape::Tree {
            tell("parent_thread_id", json!(self.parent));
            tell("depth", json!(self.depth));
        }
        Value::Object(entry)
    }
}
