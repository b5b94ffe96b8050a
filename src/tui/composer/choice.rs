//! What a prompt runs with: what was chosen for it, else what the session has, else what the settings say.

use serde::{Deserialize, Serialize};

use super::{Target, draft, target};
use crate::api::agent::AgentFile;
use crate::api::project::Backend;
use crate::api::request::SetPosture;
use crate::look::line::{Line, Tone, one_line};
use crate::look::status;
use crate::permission::Posture;
use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::world::World;

/// What was chosen for the next prompt; what is absent is left as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Choices {
    /// `BACKEND` or `BACKEND/MODEL`; several mean one session each.
    pub(crate) models: Vec<String>,
    pub(crate) reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA`.
    pub(crate) agent: Option<String>,
    pub(crate) posture: Option<String>,
    pub(crate) yolo: bool,
    /// What a task starts from.
    pub(crate) base: Option<String>,
    pub(crate) title: Option<String>,
    /// Whose tools a task works with.
    pub(crate) profile: Option<String>,
    /// Whether a task is created without being started.
    pub(crate) draft: bool,
}

impl Choices {
    pub(super) const NONE: Choices = Choices {
        models: Vec::new(),
        reasoning: None,
        agent: None,
        posture: None,
        yolo: false,
        base: None,
        title: None,
        profile: None,
        draft: false,
    };

    /// What only a task is given, in a few words.
    fn of_task(&self) -> Vec<String> {
        let base = self.base.as_ref().map(|base| format!("from {}", one_line(base)));
        let title = self.title.as_ref().map(|title| format!("\"{}\"", one_line(title)));
        let draft = self.draft.then(|| "draft".to_owned());
        [title, base, self.profile.clone(), draft].into_iter().flatten().collect()
    }
}

/// What a prompt would run with, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) agent: Option<String>,
    pub(crate) engines: Vec<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) posture: Option<String>,
    pub(crate) yolo: bool,
    /// What only a task is given.
    pub(crate) task: Vec<String>,
}

impl InForce {
    /// `builder · claude/opus · high · unattended`
    pub(crate) fn line(&self) -> Line {
        let engines = match self.engines.as_slice() {
            [] => None,
            [one] => Some(one_line(one)),
            several => Some(format!("{} ({} sessions)", one_line(&several.join(" + ")), several.len())),
        };
        let agent = self.agent.as_deref().map(one_line);
        let words = [agent, engines, self.reasoning.clone(), self.posture.clone()];
        let words = words.into_iter().flatten().chain(self.task.iter().cloned());
        let line = Line::new().dim(words.collect::<Vec<_>>().join(" · "));
        match (self.yolo, line.width()) {
            (false, _) => line,
            (true, 0) => Line::toned(Tone::Bad, "YOLO"),
            (true, _) => line.dim(" · ").with(Tone::Bad, "YOLO"),
        }
    }
}

pub(crate) fn in_force(model: &Model, target: &Target) -> InForce {
    let choices = model.composer.choices(target);
    let kept = match target {
        Target::Session(id) => model.world.sessions.get(id).map(|session| InForce {
            agent: session.agent.as_ref().map(|agent| match &session.persona {
                Some(persona) => format!("{agent}:{persona}"),
                None => agent.clone(),
            }),
            engines: vec![status::engine(&session.backend, session.model.as_deref())],
            reasoning: session.reasoning.clone().or_else(|| setting(&model.world, "default.reasoning")),
            posture: Some(session.posture.clone()),
            yolo: session.yolo,
            task: Vec::new(),
        }),
        Target::Task => None,
    };
    let kept = kept.unwrap_or_else(|| {
        let kept = of_settings(&model.world, choices.agent.as_deref());
        match &model.composer.engine {
            Some(engine) => InForce { engines: vec![engine.clone()], ..kept },
            None => kept,
        }
    });
    InForce {
        task: choices.of_task(),
        agent: choices.agent.or(kept.agent),
        engines: if choices.models.is_empty() { kept.engines } else { choices.models },
        reasoning: choices.reasoning.or(kept.reasoning),
        posture: choices.posture.or(kept.posture),
        yolo: choices.yolo || kept.yolo,
    }
}

/// Whether a task would find nobody to run it.
pub(super) fn finds_nobody(model: &Model, target: &Target) -> bool {
    *target == Target::Task && model.world.backends.is_some() && in_force(model, target).engines.is_empty()
}

/// What the next prompt runs on. One choice for a task holds for the tasks after it too, several hold once.
pub(crate) fn choose_models(model: &mut Model, models: Vec<String>) -> Vec<Request> {
    if let (Target::Task, [one]) = (target(model), models.as_slice()) {
        model.composer.engine = Some(one.clone());
    }
    draft(model).choices.models = models;
    vec![Request::Save]
}

pub(crate) fn choose_reasoning(model: &mut Model, level: String) -> Vec<Request> {
    draft(model).choices.reasoning = Some(level);
    vec![Request::Save]
}

pub(crate) fn choose_agent(model: &mut Model, agent: String) -> Vec<Request> {
    draft(model).choices.agent = Some(agent);
    vec![Request::Save]
}

/// What only the next task is given.
pub(crate) fn choose_for_task(model: &mut Model, choose: impl FnOnce(&mut Choices)) -> Vec<Request> {
    choose(&mut draft(model).choices);
    vec![Request::Save]
}

/// The posture of the next task, or of the session from here on.
pub(crate) fn choose_posture(model: &mut Model, posture: Posture) -> Vec<Request> {
    let word = posture.as_str().to_owned();
    match target(model) {
        Target::Session(session) => {
            vec![Request::SetPosture { session, posture: SetPosture { posture: Some(word), yolo: None } }]
        }
        Target::Task => {
            draft(model).choices.posture = Some(word);
            vec![Request::Save]
        }
    }
}

/// Lets everything go ahead in the next task that no rule forbids, or takes that back.
pub(crate) fn toggle_yolo(model: &mut Model) -> Vec<Request> {
    let choices = &mut draft(model).choices;
    choices.yolo = !choices.yolo;
    vec![Request::Save]
}

/// The agent so many places further among those that a person can choose, round at the ends.
pub(super) fn turn_agent(model: &mut Model, by: isize) -> Vec<Request> {
    let agents: Vec<_> = model.world.selectable_agents().into_iter().map(|agent| agent.id.clone()).collect();
    let current = in_force(model, &target(model)).agent;
    let current = current.as_deref().map(|agent| agent.split_once(':').map_or(agent, |(id, _)| id));
    let place = agents.iter().position(|agent| Some(agent.as_str()) == current);
    let next = match place {
        _ if agents.is_empty() => return Vec::new(),
        Some(place) => (place + agents.len()).saturating_add_signed(by) % agents.len(),
        None => 0,
    };
    match agents.into_iter().nth(next) {
        Some(agent) => choose_agent(model, agent),
        None => Vec::new(),
    }
}

/// What a task has that asks for nothing but perhaps an agent: an agent's own file comes before the settings.
fn of_settings(world: &World, chosen: Option<&str>) -> InForce {
    let agent = chosen.map(ToOwned::to_owned).or_else(|| setting(world, "default.agent"));
    let file = agent.as_deref().and_then(|agent| file(world, agent));
    InForce {
        engines: file.and_then(|file| file.model.clone()).or_else(|| default_engine(world)).into_iter().collect(),
        reasoning: file.and_then(|file| file.reasoning_effort.clone()).or_else(|| setting(world, "default.reasoning")),
        posture: setting(world, "default.posture"),
        yolo: false,
        task: Vec::new(),
        agent,
    }
}

fn setting(world: &World, key: &str) -> Option<String> {
    world.text_setting(key).map(ToOwned::to_owned)
}

/// The file that defines `AGENT` or `AGENT:PERSONA`.
fn file<'a>(world: &'a World, agent: &str) -> Option<&'a AgentFile> {
    let id = agent.split_once(':').map_or(agent, |(id, _)| id);
    world.agents.iter().find(|file| file.id == id && !file.broken && file.shadowed_by.is_none())
}

/// What the daemon takes where nobody chooses: the setting, or another backend where that one is not installed.
fn default_engine(world: &World) -> Option<String> {
    let named = setting(world, "default.model");
    let Some(backends) = &world.backends else { return named };
    let head = named.as_deref().and_then(|named| named.split('/').next());
    let is_named = |backend: &&Backend| head == Some(backend.name.as_str());
    // The settings may be newer than the list.
    let usable = || backends.iter().filter(is_named).find(|backend| backend.problem.is_none());
    let Some(backend) = backends.iter().find(|backend| backend.default).or_else(usable) else { return named };
    let names_it = |named: &String| named.split_once('/').map_or(named.as_str(), |(head, _)| head) == backend.name;
    named.filter(names_it).or_else(|| {
        let model = backend.models.iter().find(|model| model.default);
        Some(status::engine(&backend.name, model.map(|model| model.id.as_str())))
    })
}
