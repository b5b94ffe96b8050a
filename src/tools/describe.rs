//! What the tools say about themselves: when to use them and what comes back.

use crate::delegation::Facade;

use super::Offer;

/// More would cost every turn more than it helps.
const ROSTER: usize = 12;
const ROSTER_CHARS: usize = 120;

/// What every delegation means, however it is asked for.
const CHILD: &str = "The agent works in a session and a git worktree of its own that starts as an exact copy of your \
    work tree, uncommitted and untracked files included. It knows nothing of this conversation: say all it needs. \
    Delegate work that stands by itself: a search through much code, a review with fresh eyes, a change that does not \
    touch what you are editing. Do small things yourself. Several calls in one turn run at the same time; give them \
    different files.";

const FILES: &str = "What it changed in files is merged into your work tree when it fits without conflict, and the \
    result says so; otherwise nothing is written and the result names the conflicting files.";

pub(super) fn delegation(facade: Facade, agents: &[Offer]) -> String {
    let (act, back) = match facade {
        Facade::Delegate => (
            "Hands a task to another agent and waits for its result.",
            "The result is a JSON record: `status`, the agent's final `assistant_text` or the `error`, and \
             `handoff_id`, which a later delegation can name as a source. With status `running` the agent is still at \
             work: collect it with `wait`.",
        ),
        Facade::Task => (
            "Gives a task to another agent and waits for its result.",
            "The agent's final reply comes back inside `<task_result>`, a failure inside `<task_error>`.",
        ),
        Facade::SpawnAgent => (
            "Starts another agent on a task and returns at once with its `agent_id`.",
            "Go on with your own work, then collect the reply with `wait`; `send_input` tells the agent more, \
             `close_agent` ends it.",
        ),
        Facade::Agent => (
            "Starts another agent on a task and returns its final reply.",
            "With `run_in_background` it returns a task id at once, and the agent works on after your turn; its files \
             then stay on its own branch until a person merges them.",
        ),
    };
    format!("{act} {CHILD}\n\n{back} {FILES}\n\nAgents:\n{}", roster(agents))
}

/// The agents a model can choose from, one line each.
fn roster(agents: &[Offer]) -> String {
    let mut lines: Vec<_> = agents.iter().take(ROSTER).map(line).collect();
    if agents.len() > ROSTER {
        lines.push(format!("- and {} more: `list_agents` tells about them", agents.len() - ROSTER));
    }
    lines.join("\n")
}

fn line(agent: &Offer) -> String {
    let personas = match agent.personas.as_slice() {
        [] => String::new(),
        personas => format!(" [{}]", personas.join(", ")),
    };
    format!("- {}{personas}: {}", agent.id, short(&agent.description))
}

fn short(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() <= ROSTER_CHARS {
        true => line,
        false => line.chars().take(ROSTER_CHARS - 1).chain(['…']).collect(),
    }
}

pub(super) const WAIT: &str = "Waits until the first of some agents is done, and returns \
    `{\"status\": {id: …}, \"timed_out\": false}`: `completed` carries the final reply, `errored` the reason. On a \
    timeout `status` is empty; the agents work on, so wait again or do something else. Wait for several at once \
    instead of one after the other.";

pub(super) const SEND_INPUT: &str = "Tells an agent that you started something more. It hears it as its next turn, \
    also after it completed; with `interrupt` it stops what it does first. Returns a `submission_id`; `wait` collects \
    the reply.";

pub(super) const CLOSE_AGENT: &str = "Ends an agent and all agents that it started, and returns its last status. Its \
    work stays on its branch. Close agents whose result you have.";

pub(super) const RESUME_AGENT: &str = "Opens a closed or interrupted agent again, with the conversation it had; does \
    nothing to one that is open.";

pub(super) const LIST_ACTIVE: &str = "Lists the agents of this work with their status, for how long they have it, and \
    their notes. Completed and failed agents are listed too: they wait for input.";

pub(super) const THREAD_NOTE: &str = "Sets or clears the short note that lists show beside an agent.";

pub(super) const LIST_AGENTS: &str = "Lists the agents that work can be handed to: what each is for, its tools and \
    its personas. `expanded` adds models and prompts.";

pub(super) const TASK_WORKFLOW: &str = "Keeps the durable breakdown of this session's work: `list`, `create`, \
    `update`, `block`, `complete`. Use it for work of several parts that a person or a reviewer should follow. One \
    task is in progress at a time, with the parents it belongs to; a parent completes after all its children. Reviews \
    are recorded with `task_review`.";

pub(super) const TASK_REVIEW: &str = "Lists the tasks of the session under review, or records what you found about \
    one: `pass`, `concern`, `fail` or `accepted`, with a summary. It does not change the status of the task.";

pub(super) const TODO_WRITE: &str = "Shows a person the steps of this turn. Send the whole list each time; at most one \
    entry is `in_progress`. Use it for three or more steps, after the person has agreed to the design, and keep it \
    true as you go.";

pub(super) const QUESTION: &str = "Asks the person one question and waits for the answer. Ask when only a person can \
    decide and you cannot go on without it; otherwise choose, and say what you chose.";

pub(super) const EXIT_PLAN_MODE: &str = "Shows the person the plan that is in the plan file, and waits for what they \
    decide about it. Write the whole plan into that file first. Call it when the plan is complete, not to ask a \
    question.";

pub(super) const SKILL: &str = "Loads the instructions of a skill by its name.";

pub(super) const SEARCH_SKILLS: &str = "Finds skills by words of their names and descriptions. A skill is a set of \
    instructions for one kind of work; load it with `skill`.";
