//! A call as a request, or what is wrong with it in words that let the model try again.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::delegation::{Closed, Facade, Hold, Input, ListActive, Order, Scope, Shape, Wait, When};
use crate::protocol::naming::title_from;
use crate::workflow::{Change, Fields, ReviewChange, ReviewFields, Todo, TodoStatus, todos};

use super::params::{self, Item, ItemKind, QuestionOption, QuestionRole};
use super::{Alternative, Choice, Consent, Detail, Question, Request, Work};

const CONTEXT_CHARS: usize = 2000;

/// How long a task for another agent may be.
const TASK_BYTES: usize = 512 * 1024;

const WAIT_DEFAULT_MS: f64 = 300_000.0;
const WAIT_MS: (f64, f64) = (10_000.0, 1_800_000.0);

/// Reads a call of any tool of ours. Whether the session has that tool is another question: see [`super::is_served`].
pub fn parse(name: &str, arguments: &Value) -> Result<Request, String> {
    match name {
        "delegate" => read(name, arguments).and_then(delegate),
        "task" => read(name, arguments).and_then(task),
        "spawn_agent" => read(name, arguments).and_then(spawn_agent),
        "Agent" => read(name, arguments).and_then(agent),
        "wait" => read(name, arguments).and_then(wait),
        "send_input" => read(name, arguments).and_then(send_input),
        "close_agent" => read(name, arguments).and_then(one_agent).map(|id| Request::CloseAgent { id }),
        "resume_agent" => read(name, arguments).and_then(one_agent).map(|id| Request::ResumeAgent { id }),
        "list_active_agents" => read(name, arguments).and_then(list_active),
        "set_thread_note" => read(name, arguments).and_then(thread_note),
        "list_agents" => read(name, arguments).map(list_agents),
        "task_workflow" => read(name, arguments).and_then(task_workflow),
        "task_review" => read(name, arguments).and_then(task_review),
        "todo_write" => read(name, arguments).and_then(todo_write),
        "question" => read(name, arguments).and_then(question),
        "exit_plan_mode" => read(name, arguments).map(|params::Nothing {}| Request::ExitPlanMode),
        "skill" => read(name, arguments).and_then(skill),
        "search_skills" => read(name, arguments).and_then(search_skills),
        _ => match Work::parse(name, arguments) {
            Some(read) => read.map(Request::Work),
            None => Err(format!("unknown tool `{name}`")),
        },
    }
}

/// Reads the arguments of a call, with the place of what is wrong in them.
pub(super) fn read<T: DeserializeOwned>(tool: &str, arguments: &Value) -> Result<T, String> {
    let object = match arguments {
        // A call without arguments reaches us like this from some agents.
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) => arguments.clone(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(format!("{tool}: arguments must be an object"));
        }
    };
    serde_path_to_error::deserialize(object).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        match path.as_str() {
            "." => format!("{tool}: {cause}"),
            path => format!("{tool}: `{path}`: {cause}"),
        }
    })
}

fn delegate(given: params::Delegate) -> Result<Request, String> {
    let agent = said(given.agent_id).ok_or("agent_id is required")?;
    let prompt = task_text("task", given.task)?;
    let context = kept(given.context_summary).ok_or("context_summary is required")?;
    if context.chars().count() > CONTEXT_CHARS {
        return Err(format!("context_summary exceeds maximum length: maximum {CONTEXT_CHARS} characters"));
    }
    let sources = given.source_handoff_ids.unwrap_or_default().into_iter().filter_map(|id| said(Some(id))).collect();
    let label = title_from(&prompt);
    Ok(Request::Delegate(Order { context: Some(context), sources, ..order(Facade::Delegate, &agent, prompt, label) }))
}

fn task(given: params::Task) -> Result<Request, String> {
    let label = said(given.description).ok_or("description is required")?;
    let prompt = task_text("prompt", given.prompt)?;
    let agent = said(given.agent_type).ok_or("agentType is required")?;
    Ok(Request::Delegate(order(Facade::Task, &agent, prompt, label)))
}

fn spawn_agent(given: params::SpawnAgent) -> Result<Request, String> {
    let prompt = message(given.message, given.items)?;
    let agent = said(given.agent_type).unwrap_or_else(|| "default".to_owned());
    let label = title_from(&prompt);
    let order = order(Facade::SpawnAgent, &agent, prompt, label);
    Ok(Request::Delegate(Order {
        persona: said(given.agent_name).or_else(|| order.persona.clone()),
        model: said(given.model),
        effort: said(given.reasoning_effort),
        note: given.thread_note.map(|note| note.trim().to_owned()),
        hold: Hold::Detached,
        ..order
    }))
}

fn agent(given: params::Agent) -> Result<Request, String> {
    let agent = said(given.subagent_type).ok_or("Agent: subagent_type is required")?;
    let prompt = task_text("Agent: prompt", given.prompt)?;
    let label = said(given.description).unwrap_or_else(|| title_from(&prompt));
    let hold = if given.run_in_background.unwrap_or(false) { Hold::Background } else { Hold::Foreground };
    Ok(Request::Delegate(Order { hold, ..order(Facade::Agent, &agent, prompt, label) }))
}

/// What all façades have in common; `agent` may carry a persona after a colon.
fn order(facade: Facade, agent: &str, prompt: String, label: String) -> Order {
    let (agent, persona) = match agent.split_once(':') {
        Some((agent, persona)) => (agent.trim(), said(Some(persona.to_owned()))),
        None => (agent, None),
    };
    Order {
        facade,
        agent: agent.to_owned(),
        persona,
        prompt,
        context: None,
        label,
        sources: Vec::new(),
        model: None,
        effort: None,
        note: None,
        hold: Hold::Foreground,
        timeout: None,
    }
}

fn message(message: Option<String>, items: Option<Vec<Item>>) -> Result<String, String> {
    let text = match (message, items) {
        (Some(_), Some(_)) => return Err("Provide either message or items, but not both".to_owned()),
        (None, None) => return Err("Provide one of: message or items".to_owned()),
        (Some(message), None) => message,
        (None, Some(items)) if items.is_empty() => return Err("Items can't be empty".to_owned()),
        (None, Some(items)) => items.into_iter().map(item).collect::<Result<Vec<_>, _>>()?.join("\n"),
    };
    if text.trim().is_empty() {
        return Err("Empty message can't be sent to an agent".to_owned());
    }
    task_text("message", Some(text))
}

fn item(item: Item) -> Result<String, String> {
    let path = said(item.path);
    match item.kind.unwrap_or(ItemKind::Text) {
        ItemKind::Text => item.text.ok_or_else(|| "an item of type text needs text".to_owned()),
        ItemKind::LocalImage => path.map(|path| format!("Image: `{path}`")).ok_or_else(|| needs_path("local_image")),
        ItemKind::Mention => path.map(|path| format!("See `{path}`")).ok_or_else(|| needs_path("mention")),
        ItemKind::Skill => {
            let name = said(item.name).ok_or_else(|| "an item of type skill needs name".to_owned())?;
            Ok(format!("${}", name.trim_start_matches('$')))
        }
    }
}

fn needs_path(kind: &str) -> String {
    format!("an item of type {kind} needs path")
}

fn wait(given: params::Wait) -> Result<Request, String> {
    let mut ids: Vec<String> = Vec::new();
    for id in given.ids.unwrap_or_default().into_iter().filter_map(|id| said(Some(id))) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.is_empty() {
        return Err("ids must be non-empty".to_owned());
    }
    let wanted = given.timeout_ms.unwrap_or(WAIT_DEFAULT_MS);
    if wanted <= 0.0 {
        return Err("timeout_ms must be greater than zero".to_owned());
    }
    let (least, most) = WAIT_MS;
    Ok(Request::Wait(Wait { ids, timeout: Duration::from_secs_f64(wanted.clamp(least, most) / 1000.0) }))
}

fn send_input(given: params::SendInput) -> Result<Request, String> {
    let id = said(given.id).ok_or("id is required")?;
    let text = message(given.message, given.items)?;
    let when = if given.interrupt.unwrap_or(false) { When::Now } else { When::NextTurn };
    Ok(Request::SendInput(Input { id, text, when }))
}

fn one_agent(given: params::OneAgent) -> Result<String, String> {
    said(given.id).ok_or_else(|| "id is required".to_owned())
}

fn list_active(given: params::ListActive) -> Result<Request, String> {
    let scope = match given.scope.as_deref().unwrap_or("children") {
        "children" => Scope::Children,
        "descendants" => Scope::Descendants,
        "all" => Scope::All,
        other => {
            return Err(format!("unsupported scope \"{other}\"; expected one of: children, descendants, all"));
        }
    };
    let shape = if given.include_tree.unwrap_or(false) { Shape::Tree } else { Shape::Flat };
    let closed = if given.include_closed.unwrap_or(false) { Closed::Shown } else { Closed::Hidden };
    Ok(Request::ListActiveAgents(ListActive { scope, shape, closed }))
}

fn thread_note(given: params::ThreadNote) -> Result<Request, String> {
    let id = said(given.id).ok_or("id is required")?;
    Ok(Request::SetThreadNote { id, note: said(given.note) })
}

fn list_agents(given: params::ListAgents) -> Request {
    let detail = if given.expanded.unwrap_or(false) { Detail::Expanded } else { Detail::Brief };
    Request::ListAgents { agent: said(given.agent_type), detail }
}

fn task_workflow(given: params::TaskWorkflow) -> Result<Request, String> {
    let fields = Fields {
        action: said(given.action),
        task_id: said(given.task_id),
        parent_task_id: said(given.parent_task_id),
        title: said(given.title),
        kind: said(given.kind),
        status: said(given.status),
        notes: said(given.notes),
        progress: said(given.progress),
        block_reason: said(given.block_reason),
        summary: said(given.summary),
    };
    Change::read(fields).map(Request::TaskWorkflow)
}

fn task_review(given: params::TaskReview) -> Result<Request, String> {
    let fields = ReviewFields {
        action: said(given.action),
        task_id: said(given.task_id),
        status: said(given.review_status),
        summary: said(given.review_summary),
    };
    ReviewChange::read(fields).map(Request::TaskReview)
}

fn todo_write(given: params::TodoWrite) -> Result<Request, String> {
    let given = given.todos.ok_or("todo_write: todos is required; an empty list clears it")?;
    let todo = |item: params::TodoItem| {
        let content = said(item.content).ok_or("todo_write: every todo needs content")?;
        let status = match item.status.ok_or("todo_write: every todo needs a status")? {
            params::TodoStatus::Pending => TodoStatus::Pending,
            params::TodoStatus::InProgress => TodoStatus::InProgress,
            params::TodoStatus::Completed => TodoStatus::Completed,
            params::TodoStatus::Skipped => TodoStatus::Skipped,
        };
        Ok::<_, String>(Todo { content, status })
    };
    let list = given.into_iter().map(todo).collect::<Result<Vec<_>, _>>()?;
    todos(list).map(Request::TodoWrite)
}

fn question(given: params::Question) -> Result<Request, String> {
    let text = said(given.question).ok_or("question failed: question is required.")?;
    let alternative = |option| {
        let (label, role) = match option {
            QuestionOption::Label(label) => (label, None),
            QuestionOption::Labelled { label, role } => (label, role),
        };
        let role = role.map(|role| match role {
            QuestionRole::Approve => Consent::Approve,
            QuestionRole::Reject => Consent::Reject,
        });
        Some(Alternative { label: said(Some(label))?, role })
    };
    // Whoever leaves the list out wants a free answer too.
    let options: Option<Vec<_>> = given.options.unwrap_or_default().into_iter().map(alternative).collect();
    let options = options.ok_or("question failed: an option must not be blank.")?;
    let choice = if given.multiple.unwrap_or(false) { Choice::Several } else { Choice::One };
    Ok(Request::Question(Question { text, options, choice, purpose: said(given.purpose) }))
}

fn skill(given: params::Skill) -> Result<Request, String> {
    let name = said(given.name).ok_or("skill: name is required")?;
    Ok(Request::Skill { name: name.trim_start_matches('$').to_owned(), section: said(given.section) })
}

fn search_skills(given: params::SearchSkills) -> Result<Request, String> {
    let query = said(given.query).ok_or("search_skills: query is required")?;
    Ok(Request::SearchSkills { query })
}

/// A short value without the space around it; a blank one says nothing.
fn said(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// What a child is to do: its prompt is kept, shown and searched.
fn task_text(name: &str, text: Option<String>) -> Result<String, String> {
    let text = kept(text).ok_or_else(|| format!("{name} is required"))?;
    match text.len() {
        ..=TASK_BYTES => Ok(text),
        bytes => Err(format!("{name} has {bytes} bytes: {TASK_BYTES} at most; put the rest into a file")),
    }
}

/// A long text as it was written; a blank one says nothing.
fn kept(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
