//! What each list offers, and which row is in force at this moment.

use crate::api::agent::AgentFile;
use crate::api::permission::SavedPlan;
use crate::api::project::Backend;
use crate::api::session::{QueuedPrompt, Session};
use crate::look::age::age;
use crate::look::line::{cut, one_line};
use crate::look::status;
use crate::permission::Posture;
use crate::tui::composer::{self, Target, in_force};
use crate::tui::keymap::{Action, BINDINGS, Binding, Context};
use crate::tui::model::Model;

/// A title is cut to so many columns beside an act.
const TITLE: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) label: String,
    pub(super) detail: String,
    /// A word besides the label that finds it.
    pub(super) alias: String,
    pub(super) is_current: bool,
    pub(super) pick: Pick,
}

/// How plainly a query names a row, the plainest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Name,
    NameBegins,
    LabelBegins,
    WordBegins,
    NameHolds,
    LabelHolds,
    /// Its letters follow each other somewhere.
    Letters,
}

impl Row {
    pub(super) fn rank(&self, query: &str) -> Rank {
        let small = |text: &str| text.trim_start_matches('/').to_lowercase();
        let (query, name, label) = (small(query), small(&self.alias), small(&self.label));
        let words = || label.split(|letter: char| !letter.is_alphanumeric());
        match () {
            () if name == query || label == query => Rank::Name,
            () if name.starts_with(&query) => Rank::NameBegins,
            () if label.starts_with(&query) => Rank::LabelBegins,
            () if words().any(|word| word.starts_with(&query)) => Rank::WordBegins,
            () if name.contains(&query) => Rank::NameHolds,
            () if label.contains(&query) => Rank::LabelHolds,
            () => Rank::Letters,
        }
    }
}

/// What choosing a row means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pick {
    Act(Action),
    Session(String),
    Removed(String),
    Backend(String),
    /// `BACKEND/MODEL`
    Model(String),
    Reasoning(String),
    Agent(String),
    Posture(Posture),
    /// A plan that waits.
    Plan(SavedPlan),
    /// A prompt that waits.
    Prompt {
        session: String,
        number: u32,
        text: String,
    },
    /// What cannot be chosen, and why.
    Broken(String),
    /// The command that logs in.
    Login(String),
}

impl Pick {
    /// What a session of its own can run on.
    pub(super) fn engine(&self) -> Option<&str> {
        match self {
            Pick::Backend(engine) | Pick::Model(engine) => Some(engine),
            Pick::Act(_)
            | Pick::Session(_)
            | Pick::Removed(_)
            | Pick::Reasoning(_)
            | Pick::Agent(_)
            | Pick::Posture(_)
            | Pick::Plan(_)
            | Pick::Prompt { .. }
            | Pick::Broken(_)
            | Pick::Login(_) => None,
        }
    }

    /// The backend of a row that offers one.
    pub(super) fn backend(&self) -> Option<&str> {
        self.engine().filter(|_| matches!(self, Pick::Backend(_)))
    }
}

fn row(pick: Pick, label: String, detail: impl IntoIterator<Item = String>) -> Row {
    let detail: Vec<_> = detail.into_iter().filter(|word| !word.is_empty()).collect();
    Row { label, detail: detail.join(" · "), alias: String::new(), is_current: false, pick }
}

/// Acts that have a word or a key where the person is; moving about is not worth a row.
pub(super) fn acts(model: &Model) -> Vec<Row> {
    let here = model.context();
    let is_offered =
        |binding: &&Binding| !moves(binding.action) && (binding.command.is_some() || binding.contexts.contains(&here));
    let whose = match composer::target(model) {
        Target::Task => "for the next task".to_owned(),
        Target::Session(id) => {
            let session = model.world.sessions.get(&id).map(|session| cut(&status::title(session), TITLE));
            format!("for {}", session.unwrap_or(id))
        }
    };
    let mut rows: Vec<Row> = Vec::new();
    for binding in BINDINGS.iter().filter(is_offered) {
        if rows.iter().any(|row| row.pick == Pick::Act(binding.action)) {
            continue;
        }
        let places = std::iter::once(&here).chain(binding.contexts);
        let key = places.into_iter().find_map(|context: &Context| model.keymap.key(*context, binding.action));
        let words = [
            binding.command.map(|word| format!("/{word}")),
            key.map(ToOwned::to_owned),
            choice(binding.action).then(|| whose.clone()),
        ];
        let alias = words[0].clone().unwrap_or_default();
        let row = row(Pick::Act(binding.action), binding.help.to_owned(), words.into_iter().flatten());
        rows.push(Row { alias, ..row });
    }
    rows
}

/// Whether an act chooses what the next task or a session runs with, so that its row says which.
fn choice(action: Action) -> bool {
    matches!(action, Action::Model | Action::Reasoning | Action::Agent | Action::Posture | Action::Plan | Action::Yolo)
}

fn moves(action: Action) -> bool {
    matches!(
        action,
        Action::Up
            | Action::Down
            | Action::Left
            | Action::Right
            | Action::PageUp
            | Action::PageDown
            | Action::Top
            | Action::Bottom
            | Action::Open
            | Action::Back
            | Action::NextTab
            | Action::PreviousTab
            | Action::Palette
    )
}

/// All sessions, the ones that need a person first.
pub(super) fn sessions(model: &Model) -> Vec<Row> {
    let mut sessions: Vec<_> = model.world.sessions.values().cloned().collect();
    status::sort(&mut sessions);
    let current = model.current_id();
    let row = |session: &Session| Row {
        is_current: Some(session.id.as_str()) == current,
        ..of_session(model, session, Pick::Session(session.id.clone()))
    };
    sessions.iter().map(row).collect()
}

pub(super) fn removed(model: &Model, sessions: &[Session]) -> Vec<Row> {
    sessions.iter().map(|session| of_session(model, session, Pick::Removed(session.id.clone()))).collect()
}

fn of_session(model: &Model, session: &Session, pick: Pick) -> Row {
    let at = session.removed_at.unwrap_or(session.updated_at);
    let word = if session.removed_at.is_some() { "removed" } else { session.status.as_str() };
    let detail = [
        word.to_owned(),
        one_line(&status::engine(&session.backend, session.model.as_deref())),
        age(model.now, at),
        session.id.clone(),
    ];
    let label = format!("{} {}", model.signs.glyph(session.status), status::title(session));
    Row { alias: session.id.clone(), ..row(pick, label, detail) }
}

/// The backends that can run.
pub(super) fn backends(model: &Model) -> Vec<Row> {
    let engine = in_force(model, &composer::target(model)).engines.into_iter().next().unwrap_or_default();
    let name = engine.split_once('/').map_or(engine.as_str(), |(name, _)| name);
    let runs = model.world.backends.iter().flatten().filter(|backend| backend.problem.is_none());
    let row = |backend: &Backend| Row {
        is_current: backend.name == name,
        ..row(
            Pick::Backend(backend.name.clone()),
            one_line(&backend.name),
            [
                backend.version.as_deref().map(one_line).unwrap_or_default(),
                if backend.scripted { "scripted".to_owned() } else { String::new() },
                backend.warning.as_deref().map(one_line).unwrap_or_default(),
                // Among others that nobody is logged in.
                backend.note.as_deref().map(one_line).unwrap_or_default(),
            ],
        )
    };
    runs.map(row).collect()
}

/// The backends that a person can log in to, each with its command.
pub(super) fn logins(backends: &[Backend]) -> Vec<Row> {
    let row = |backend: &Backend| {
        let login = backend.login.clone()?;
        let said = one_line(&login);
        Some(row(Pick::Login(login), one_line(&backend.name), [said]))
    };
    backends.iter().filter_map(row).collect()
}

/// The models of a backend; none where it tells of none.
pub(super) fn models(model: &Model, backend: &str) -> Vec<Row> {
    let engine = in_force(model, &composer::target(model)).engines.into_iter().next().unwrap_or_default();
    let listed = model.world.backends.iter().flatten().find(|listed| listed.name == backend);
    let models = listed.map(|backend| backend.models.as_slice()).unwrap_or_default();
    let is_named = models.iter().any(|model| engine == format!("{backend}/{}", model.id));
    let row = |model: &crate::api::project::Model| {
        let name = format!("{backend}/{}", model.id);
        Row {
            is_current: if is_named { engine == name } else { model.default },
            ..row(
                Pick::Model(name),
                one_line(&model.id),
                [
                    model.name.as_deref().map(one_line).unwrap_or_default(),
                    if model.default { "default".to_owned() } else { String::new() },
                    model.reasoning.join(", "),
                ],
            )
        }
    };
    models.iter().map(row).collect()
}

/// The levels that the model in force takes.
pub(super) fn levels(model: &Model) -> Vec<Row> {
    let effective = in_force(model, &composer::target(model)).reasoning;
    let chosen = model.world.text_setting("default.reasoning");
    let row = |level: String| Row {
        is_current: effective.as_deref() == Some(level.as_str()),
        ..row(
            Pick::Reasoning(level.clone()),
            one_line(&level),
            [if chosen == Some(level.as_str()) { "the project's default".to_owned() } else { String::new() }],
        )
    };
    composer::levels(model).into_iter().map(row).collect()
}

/// The agents that a person can choose, each with its personas.
pub(super) fn agents(model: &Model) -> Vec<Row> {
    let current = in_force(model, &composer::target(model)).agent;
    let row = |agent: String, description: &str| Row {
        is_current: current.as_deref() == Some(agent.as_str()),
        ..row(Pick::Agent(agent.clone()), one_line(&agent), [one_line(description)])
    };
    let rows = model.world.selectable_agents().into_iter().flat_map(|agent| {
        let personas = agent.personas.iter();
        let personas = personas.map(|persona| row(format!("{}:{}", agent.id, persona.name), &persona.description));
        std::iter::once(row(agent.id.clone(), &agent.description)).chain(personas.collect::<Vec<_>>())
    });
    rows.chain(model.world.agents.iter().filter(|agent| agent.broken).map(broken)).collect()
}

/// A file that defines no agent, with the reason.
fn broken(agent: &AgentFile) -> Row {
    let file = agent.source.path.rsplit('/').next().unwrap_or_default();
    let label = if agent.id.is_empty() { one_line(file) } else { one_line(&agent.id) };
    let error = agent.diagnostics.iter().find(|said| said.severity == "error").or(agent.diagnostics.first());
    let why = error.map(|error| {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{} ({}{line})", one_line(&error.message), one_line(&error.path))
    });
    let why = why.unwrap_or_else(|| format!("the file cannot be read ({})", one_line(&agent.source.path)));
    let detail = ["cannot be used".to_owned(), why.clone()];
    row(Pick::Broken(format!("agent `{label}` cannot be used: {why}")), label, detail)
}

/// Plans that wait, the last one first.
pub(super) fn plans(model: &Model, plans: Vec<SavedPlan>) -> Vec<Row> {
    let row = |plan: SavedPlan| {
        let detail = [age(model.now, plan.saved_at), plan.id.clone(), plan.session.clone().unwrap_or_default()];
        Row { alias: plan.id.clone(), ..row(Pick::Plan(plan.clone()), one_line(&plan.title), detail) }
    };
    plans.into_iter().map(row).collect()
}

/// Prompts that wait, the one that is sent next first.
pub(super) fn queue(model: &Model, session: &str, prompts: Vec<QueuedPrompt>) -> Vec<Row> {
    let row = |prompt: QueuedPrompt| {
        let QueuedPrompt { number, text, queued_at, .. } = prompt;
        let label = format!("{number}  {}", one_line(&text));
        row(Pick::Prompt { session: session.to_owned(), number, text }, label, [age(model.now, queued_at)])
    };
    prompts.into_iter().map(row).collect()
}

pub(super) fn postures(model: &Model) -> Vec<Row> {
    let current = in_force(model, &composer::target(model)).posture;
    let row = |posture: Posture| {
        let means = match posture {
            Posture::Plan => "reads, writes nothing but a plan, and asks",
            Posture::Attended => "you are asked about every call that no rule decides",
            Posture::Edits => "edits in the work tree go ahead, you are asked about the rest",
            Posture::Unattended => "all that stays in the work tree goes ahead",
        };
        Row {
            is_current: current.as_deref() == Some(posture.as_str()),
            ..row(Pick::Posture(posture), posture.as_str().to_owned(), [means.to_owned()])
        }
    };
    Posture::ALL.map(row).to_vec()
}
