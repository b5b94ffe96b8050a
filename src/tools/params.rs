//! The parameters of each served tool: one type that serde reads and schemars describes.
//!
//! The doc comments of the fields are what a model reads. Every field may be missing for serde, because what is wrong
//! with a call is said in the words of the tool; `required` is for the schema.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Delegate {
    /// The agent that does the work.
    #[schemars(required)]
    pub(super) agent_id: Option<String>,
    /// What to do, complete in itself: the goal, the files it is about, what counts as done and what to report.
    #[schemars(required)]
    pub(super) task: Option<String>,
    /// What you know that the agent needs: decisions made, findings, constraints. At most 2000 characters.
    #[schemars(required)]
    pub(super) context_summary: Option<String>,
    /// Earlier handoffs whose results the agent should read.
    pub(super) source_handoff_ids: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Task {
    /// Three to five words that a person sees while it runs.
    #[schemars(required)]
    pub(super) description: Option<String>,
    /// What to do, complete in itself: the goal, the files it is about, what counts as done and what to report.
    #[schemars(required)]
    pub(super) prompt: Option<String>,
    /// The agent that does the work.
    #[schemars(required)]
    pub(super) agent_type: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnAgent {
    /// What to do, complete in itself. Give either this or `items`.
    pub(super) message: Option<String>,
    /// The same in pieces. Give either this or `message`.
    pub(super) items: Option<Vec<Item>>,
    /// The agent that does the work; your own kind if you name none.
    pub(super) agent_type: Option<String>,
    /// One of the personas of that agent.
    pub(super) agent_name: Option<String>,
    /// Another model than the agent's own.
    pub(super) model: Option<String>,
    /// Another effort than the agent's own: none, minimal, low, medium, high or xhigh.
    pub(super) reasoning_effort: Option<String>,
    /// A few words that lists show beside the agent.
    pub(super) thread_note: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Agent {
    /// The agent that does the work.
    #[schemars(required)]
    pub(super) subagent_type: Option<String>,
    /// What to do, complete in itself: the goal, the files it is about, what counts as done and what to report.
    #[schemars(required)]
    pub(super) prompt: Option<String>,
    /// Three to five words that a person sees while it runs.
    pub(super) description: Option<String>,
    /// Return at once with an id and let the agent work on, even after your turn.
    #[schemars(extend("default" = false))]
    pub(super) run_in_background: Option<bool>,
}

/// One piece of a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    #[serde(rename = "type")]
    #[schemars(with = "ItemKind")]
    pub(super) kind: Option<ItemKind>,
    /// The words of a `text`.
    pub(super) text: Option<String>,
    /// The file of a `local_image`, `mention` or `skill`.
    pub(super) path: Option<String>,
    /// The name of a `mention` or `skill`.
    pub(super) name: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemKind {
    Text,
    LocalImage,
    Mention,
    Skill,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// The agents or handoffs to wait for.
    #[schemars(required)]
    pub(super) ids: Option<Vec<String>>,
    /// How long at most: 300000 unless said otherwise, between 10000 and 1800000.
    // Some models write 60000.0; the schema asks for a whole number all the same.
    #[schemars(with = "Option<i64>")]
    #[schemars(extend("default" = 300_000))]
    pub(super) timeout_ms: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendInput {
    /// The agent or handoff.
    #[schemars(required)]
    pub(super) id: Option<String>,
    /// What it should hear. Give either this or `items`.
    pub(super) message: Option<String>,
    /// The same in pieces. Give either this or `message`.
    pub(super) items: Option<Vec<Item>>,
    /// Interrupt what it does instead of queueing behind it.
    #[schemars(extend("default" = false))]
    pub(super) interrupt: Option<bool>,
}

/// `close_agent` and `resume_agent`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OneAgent {
    /// The agent or handoff.
    #[schemars(required)]
    pub(super) id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListActive {
    /// Your own children unless said otherwise.
    #[schemars(with = "Option<ScopeName>")]
    #[schemars(extend("default" = "children"))]
    pub(super) scope: Option<String>,
    /// Tell the parent and the depth of each agent.
    #[schemars(extend("default" = false))]
    pub(super) include_tree: Option<bool>,
    /// Also list agents that were closed.
    #[schemars(extend("default" = false))]
    pub(super) include_closed: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used: a wrong word has an error text of its own")]
enum ScopeName {
    Children,
    Descendants,
    All,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ThreadNote {
    /// The agent or handoff.
    #[schemars(required)]
    pub(super) id: Option<String>,
    /// A few words; leave it out to clear the note.
    pub(super) note: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAgents {
    /// Only this agent.
    pub(super) agent_type: Option<String>,
    /// Tell models, efforts and prompts too.
    #[schemars(extend("default" = false))]
    pub(super) expanded: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskWorkflow {
    #[schemars(required, with = "WorkflowAction")]
    pub(super) action: Option<String>,
    /// The task; `create` gives one if you name none.
    pub(super) task_id: Option<String>,
    /// `create`: the task that this one is a part of.
    pub(super) parent_task_id: Option<String>,
    /// `create`: what is to be done, in one line.
    pub(super) title: Option<String>,
    /// `create`: implementation, analysis, report, epic, or a word of your own.
    pub(super) kind: Option<String>,
    /// `create` and `update`: pending or in_progress.
    pub(super) status: Option<String>,
    /// What is worth knowing about the task.
    pub(super) notes: Option<String>,
    /// `update`: how far it is.
    pub(super) progress: Option<String>,
    /// `block`: what it waits for.
    pub(super) block_reason: Option<String>,
    /// `complete`: what was done, and how it was checked.
    pub(super) summary: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used: a wrong word has an error text of its own")]
enum WorkflowAction {
    List,
    Create,
    Update,
    Block,
    Complete,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskReview {
    #[schemars(required, with = "ReviewAction")]
    pub(super) action: Option<String>,
    /// `review`: the task.
    pub(super) task_id: Option<String>,
    /// `review`: what you found.
    #[schemars(with = "Option<Verdict>")]
    pub(super) review_status: Option<String>,
    /// `review`: why, with the evidence, findings first.
    pub(super) review_summary: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used: a wrong word has an error text of its own")]
enum ReviewAction {
    List,
    Review,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used: a wrong word has an error text of its own")]
enum Verdict {
    Pass,
    Concern,
    Fail,
    Accepted,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TodoWrite {
    /// The whole list, in order; an empty one clears it.
    #[schemars(required)]
    pub(super) todos: Option<Vec<TodoItem>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TodoItem {
    /// What is to be done, in one line.
    #[schemars(required)]
    pub(super) content: Option<String>,
    #[schemars(required)]
    pub(super) status: Option<TodoStatus>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Skipped,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// One short question, complete in itself.
    #[schemars(required)]
    pub(super) question: Option<String>,
    /// Answers to choose from, the recommended one first; an empty list for a free answer. One may be a text, or a text
    /// with the role `approve` or `reject`, which is shown and told back with the answer.
    #[schemars(required)]
    pub(super) options: Option<Vec<QuestionOption>>,
    /// Whether several options may be chosen.
    #[schemars(extend("default" = false))]
    pub(super) multiple: Option<bool>,
    /// What the question is for. `planner_save_plan` hands over the plan that you have just shown in full.
    pub(super) purpose: Option<String>,
}

/// A label alone, or with what choosing it means.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a string, or an object with a label and the role approve or reject"
)]
pub(super) enum QuestionOption {
    Label(String),
    Labelled { label: String, role: Option<QuestionRole> },
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum QuestionRole {
    Approve,
    Reject,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Skill {
    /// The name without `$`.
    #[schemars(required)]
    pub(super) name: Option<String>,
    /// Only what stands below this heading of its text; all of it if you name none.
    pub(super) section: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchSkills {
    /// Words that the name or the description should hold.
    #[schemars(required)]
    pub(super) query: Option<String>,
}

/// A call that has nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}
