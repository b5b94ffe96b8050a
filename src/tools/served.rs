//! Which tools a turn has: one row for each, with the reason for which it may be left out.

use serde_json::Value;

use super::survey::Missing;
use super::{
    AdvertisedTool, Context, Delegation, Mutations, Offer, Planning, Shell, Skills, Todos, code, command, describe,
    files, github, history, params, schema,
};
use crate::delegation::Facade;
use crate::permission::{Access, Effect, Profile};
use crate::tool::{Tool, ToolFamily};

/// The tools of a turn, as they are advertised. What the surface does not hold is not there.
pub fn served(context: &Context<'_>) -> Vec<AdvertisedTool> {
    let delegation = undelegated(context).is_none().then(|| delegation(context.facade, context.agents));
    let shown = rows().filter(|row| row.missing(context).is_none());
    delegation.into_iter().chain(shown.map(|row| row.offer(context))).collect()
}

/// Whether a turn has a tool: a call of any other one is refused, whoever advertised it.
pub fn is_served(context: &Context<'_>, name: &str) -> bool {
    match context.facade.name() == name {
        true => undelegated(context).is_none(),
        false => rows().any(|row| row.name == name && row.missing(context).is_none()),
    }
}

/// Why a turn does not have the tool that hands out work. Without an agent to choose there is nothing to delegate to.
pub(super) fn undelegated(context: &Context<'_>) -> Option<Missing> {
    first([
        ((context.has)(Tool::Delegate), Missing::Surface),
        (context.delegation == Delegation::Shown, Missing::Delegation),
        (!context.agents.is_empty(), Missing::Agents),
    ])
}

/// Every row, in the order in which a model reads them.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    [ROWS, files::ROWS, command::ROWS, code::ROWS, history::ROWS, github::ROWS].into_iter().flatten()
}

/// A tool that is the same in every session that has it.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Value,
    pub(super) needs: Needs,
    pub(super) effect: Effect,
}

/// What must be there for a tool to be of use.
pub(super) enum Needs {
    Nothing,
    /// An agent whose own tools are off: it has one like this of its own.
    Instead,
    /// The same. What a call does depends on its words, so whoever only reads has it for those that look.
    InsteadInPart,
    /// A reason not to run git in a shell: an agent has none of its own, or its file lists this tool.
    NoShell,
    /// Consent that agents change history and GitHub.
    Mutations,
    /// Children of its own.
    Children,
    /// Nobody else who keeps todos.
    Todos,
    Skills,
    /// A plan to end with. No surface has to name the way out.
    Planning,
}

impl Row {
    pub(super) fn family(&self) -> ToolFamily {
        Tool::named(self.name).map_or(ToolFamily::Session, Tool::family)
    }

    /// Why a turn does not have the tool.
    pub(super) fn missing(&self, context: &Context<'_>) -> Option<Missing> {
        let Some(tool) = Tool::named(self.name) else { return Some(Missing::Surface) };
        let useful = match self.needs {
            Needs::Nothing => (true, Missing::Surface),
            Needs::Children => (context.delegation == Delegation::Shown, Missing::Delegation),
            Needs::Todos => (context.todos == Todos::Served, Missing::Todos),
            Needs::Skills => (context.skills == Skills::Present, Missing::Skills),
            Needs::Instead | Needs::InsteadInPart => (context.profile != Profile::Native, Missing::Native),
            Needs::NoShell => (is_without_shell(context) || (context.names)(tool), Missing::Shell),
            Needs::Mutations => (context.mutations == Mutations::Served, Missing::Mutations),
            Needs::Planning => return first([(context.planning == Planning::On, Missing::Planning)]),
        };
        let fits = self.effect_in(context) == Effect::Reads || !only_reads(context);
        first([((context.has)(tool), Missing::Surface), useful, (fits, Missing::ReadOnly)])
    }

    /// What a call can do in a turn: one that would change something is refused to whoever only reads.
    fn effect_in(&self, context: &Context<'_>) -> Effect {
        match self.needs {
            Needs::InsteadInPart if only_reads(context) => Effect::Reads,
            Needs::InsteadInPart
            | Needs::Instead
            | Needs::NoShell
            | Needs::Nothing
            | Needs::Mutations
            | Needs::Children
            | Needs::Todos
            | Needs::Skills
            | Needs::Planning => self.effect,
        }
    }

    fn offer(&self, context: &Context<'_>) -> AdvertisedTool {
        let (name, description) = (self.name.to_owned(), self.description.to_owned());
        AdvertisedTool { name, description, input_schema: (self.schema)(), effect: self.effect_in(context) }
    }
}

fn is_without_shell(context: &Context<'_>) -> bool {
    context.profile != Profile::Native || context.shell == Shell::Absent
}

fn only_reads(context: &Context<'_>) -> bool {
    context.profile == Profile::ReadOnly || context.access == Access::ReadOnly
}

/// The first of some reasons whose condition does not hold.
fn first<const N: usize>(conditions: [(bool, Missing); N]) -> Option<Missing> {
    conditions.into_iter().find(|(holds, _)| !holds).map(|(_, missing)| missing)
}

/// What clients are told about handing out work.
pub(super) const DELEGATES: Effect = Effect::Adds;

const fn row(name: &'static str, description: &'static str, schema: fn() -> Value, needs: Needs) -> Row {
    Row { name, description, schema, needs, effect: Effect::Reads }
}

const ROWS: &[Row] = &[
    row("wait", describe::WAIT, schema::of::<params::Wait>, Needs::Children),
    row("send_input", describe::SEND_INPUT, schema::of::<params::SendInput>, Needs::Children),
    row("close_agent", describe::CLOSE_AGENT, schema::of::<params::OneAgent>, Needs::Children),
    row("resume_agent", describe::RESUME_AGENT, schema::of::<params::OneAgent>, Needs::Children),
    row("set_thread_note", describe::THREAD_NOTE, schema::of::<params::ThreadNote>, Needs::Children),
    row("list_active_agents", describe::LIST_ACTIVE, schema::of::<params::ListActive>, Needs::Nothing),
    row("list_agents", describe::LIST_AGENTS, schema::of::<params::ListAgents>, Needs::Nothing),
    row("task_workflow", describe::TASK_WORKFLOW, schema::of::<params::TaskWorkflow>, Needs::Nothing),
    row("task_review", describe::TASK_REVIEW, schema::of::<params::TaskReview>, Needs::Nothing),
    Row {
        name: "todo_write",
        description: describe::TODO_WRITE,
        schema: schema::of::<params::TodoWrite>,
        needs: Needs::Todos,
        effect: Effect::Reads,
    },
    row("question", describe::QUESTION, schema::of::<params::Question>, Needs::Nothing),
    Row {
        name: "exit_plan_mode",
        description: describe::EXIT_PLAN_MODE,
        schema: schema::of::<params::Nothing>,
        needs: Needs::Planning,
        effect: Effect::Adds,
    },
    row("skill", describe::SKILL, schema::of::<params::Skill>, Needs::Skills),
    row("search_skills", describe::SEARCH_SKILLS, schema::of::<params::SearchSkills>, Needs::Skills),
];

fn delegation(facade: Facade, agents: &[Offer]) -> AdvertisedTool {
    let ids = || agents.iter().map(|agent| agent.id.clone()).collect::<Vec<_>>();
    let input_schema = match facade {
        Facade::Delegate => schema::choose(schema::of::<params::Delegate>(), "agent_id", &voices(agents)),
        Facade::Task => schema::choose(schema::of::<params::Task>(), "agentType", &voices(agents)),
        Facade::SpawnAgent => schema::choose(schema::of::<params::SpawnAgent>(), "agent_type", &ids()),
        Facade::Agent => schema::choose(schema::of::<params::Agent>(), "subagent_type", &voices(agents)),
    };
    let description = describe::delegation(facade, agents);
    AdvertisedTool { name: facade.name().to_owned(), description, input_schema, effect: DELEGATES }
}

/// A façade that has no parameter for the persona takes it with the agent, as `id:persona`.
fn voices(agents: &[Offer]) -> Vec<String> {
    let with_persona = |agent: &Offer, persona: &String| format!("{}:{persona}", agent.id);
    let of_one = |agent: &Offer| {
        let personas: Vec<_> = agent.personas.iter().map(|persona| with_persona(agent, persona)).collect();
        std::iter::once(agent.id.clone()).chain(personas).collect::<Vec<_>>()
    };
    agents.iter().flat_map(of_one).collect()
}
