//! Facts become entries. Several facts may make one entry; in which order they come, and how often, changes nothing.

mod card;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use self::card::End;
use super::Transcript;
use super::entry::{Asked, Entry, Failure, Place, Step, Tool, Turn};
use super::talk::talk;
use super::text::Text;
use crate::api::event::{Event, Payload, PromptAuthor};
use crate::look::card::Outcome;
use crate::look::status;
use crate::tool::{self, ToolName};

/// Which facts belong together.
#[derive(Debug, Default)]
pub(super) struct Joins {
    calls: HashMap<(u32, Box<str>), Place>,
    handoffs: HashMap<Box<str>, Place>,
    approvals: HashMap<Box<str>, Place>,
    prompts: HashMap<u32, Prompt>,
    turns: HashMap<u32, TurnFacts>,
    /// The fact that told of the tasks last.
    tasks: Option<u64>,
    /// The plan that it told of.
    plan: Option<Box<str>>,
}

/// What is known of a prompt. It may be carried by several turns, when one is tried again.
#[derive(Debug, Default)]
struct Prompt {
    text: Option<Box<str>>,
    author: PromptAuthor,
    is_dropped: bool,
    turns: Vec<Place>,
}

#[derive(Debug, Default)]
struct TurnFacts {
    /// What was said, as numbers: enough to know an answer again.
    said: Vec<u64>,
    /// The fact that ended the turn.
    end: Option<u64>,
    answer: Option<u64>,
    /// The todo list, and the fact that told it.
    todo: Option<(u64, Vec<Step>)>,
}

impl Joins {
    /// Where the card of a call stands.
    pub(super) fn call(&self, turn: u32, call: &str) -> Option<Place> {
        self.calls.get(&(turn, call.into())).copied()
    }

    /// Whether nothing of a turn goes on.
    pub(super) fn is_over(&self, turn: u32) -> bool {
        self.turns.get(&turn).is_some_and(|facts| facts.end.is_some())
    }
}

impl Transcript {
    /// Takes one fact; the same once more changes nothing.
    pub(super) fn apply(&mut self, event: &Event) {
        let (seq, place) = (event.seq, Place::of(event.seq));
        match &event.payload {
            Payload::PromptQueued { number, text, images, author } if images.is_empty() => {
                self.prompt_queued(*number, text, *author);
            }
            Payload::PromptQueued { number, text, images, author } => {
                let with = status::with(images);
                self.prompt_queued(*number, &format!("{text}\n{}", with.trim_start_matches(", ")), *author);
            }
            Payload::PromptDropped { number } => {
                self.joins.prompts.entry(*number).or_default().is_dropped = true;
                self.remove(Place::queued(*number));
                self.notice(place, &event.payload);
            }
            Payload::TurnStarted { prompt, agent, .. } => {
                let agent = agent.as_ref().map(|agent| agent.id.as_str().into());
                self.turn_started(place, *prompt, event.at, agent);
            }
            Payload::Message { turn, text } => self.said(place, *turn, text),
            Payload::Thought { text, .. } => self.add(place, || Entry::Thought(Text::new(text))),
            // The list that it keeps has a card of its own, which changes in place.
            Payload::ToolStarted { tool, title, .. } | Payload::ToolFinished { tool, title, ok: true, .. }
                if keeps_todos(tool, title) => {}
            Payload::ToolStarted { turn, call, tool, title, input, auto } => {
                let input = input.as_ref().map(|input| input.to_string().into());
                self.call_started(place, *turn, call, |ended| Tool {
                    turn: *turn,
                    tool: tool.as_str().into(),
                    title: title.as_str().into(),
                    input,
                    end: ended.end,
                    auto: ended.auto.or_else(|| auto.clone().map(Box::new)),
                    live: ended.live,
                });
            }
            Payload::ToolFinished { turn, call, tool, title, ok, output, auto } => {
                let end = End { outcome: Outcome::from(*ok), output, auto: auto.as_ref() };
                self.call_finished(place, *turn, call, (tool, title), end);
            }
            Payload::ApprovalRequested { approval, .. } => {
                self.approval(place, &approval.id, |entry| entry.title = approval.title.as_str().into());
            }
            Payload::ApprovalResolved { approval, outcome, message } => self.approval(place, approval, |entry| {
                entry.outcome = Some(outcome.as_str().into());
                entry.message = message.as_deref().map(Into::into);
            }),
            Payload::QuestionAsked { questions, .. } => self.add(place, || {
                let asked = questions.iter().map(|question| Asked {
                    text: question.text.as_str().into(),
                    options: question.options.iter().map(|option| option.as_str().into()).collect(),
                });
                Entry::Questions(asked.collect())
            }),
            Payload::HandoffUpdated { handoff, .. } => self.handoff(place, handoff),
            Payload::PlanUpdated { turn, entries } => self.todo(seq, *turn, entries),
            Payload::WorkflowUpdated { workflow } => self.tasks(seq, workflow),
            Payload::SetupOutput { text, exit: None, .. } => self.add(place, || Entry::Setup(text.as_str().into())),
            Payload::TurnCompleted { turn, response } => {
                self.ended(*turn, seq);
                self.answered(*turn, place, &response.answer);
            }
            Payload::TurnFailed { turn, error } => {
                self.ended(*turn, seq);
                self.add(place, || {
                    Entry::Failure(Box::new(Failure {
                        message: error.message.as_str().into(),
                        hint: error.hint.as_deref().map(Into::into),
                        command: error.command.as_deref().map(Into::into),
                        resets_at: error.resets_at,
                    }))
                });
            }
            Payload::TurnInterrupted { turn, .. } => {
                self.ended(*turn, seq);
                self.notice(place, &event.payload);
            }
            Payload::SessionCreated { .. }
            | Payload::TitleChanged { .. }
            | Payload::Preparing { .. }
            | Payload::SetupOutput { exit: Some(_), .. }
            | Payload::Switched { .. }
            | Payload::QuestionAnswered { .. }
            | Payload::QuestionGone { .. }
            | Payload::SubagentEvent { .. }
            | Payload::Usage { .. }
            | Payload::Retry { .. }
            | Payload::Checkpoint { .. }
            | Payload::Reworded { .. }
            | Payload::Undone { .. }
            | Payload::Integrated { .. }
            | Payload::Merged { .. }
            | Payload::MergeUndone { .. }
            | Payload::HookFixStarted { .. }
            | Payload::HookFixStopped { .. }
            | Payload::Conflict { .. }
            | Payload::Archived {}
            | Payload::Removed { .. }
            | Payload::Saved { .. }
            | Payload::Restored {}
            | Payload::PostureChanged { .. }
            | Payload::Attached { .. }
            | Payload::Detached { .. }
            | Payload::Warning { .. } => self.notice(place, &event.payload),
        }
    }

    /// The plan that was made last: its file, or else its title.
    pub(crate) fn plan(&self) -> Option<&str> {
        self.joins.plan.as_deref()
    }

    /// Prompts that wait, the one that is sent next first.
    pub(crate) fn waiting(&self) -> Vec<u32> {
        let waits = |prompt: &Prompt| prompt.text.is_some() && !prompt.is_dropped && prompt.turns.is_empty();
        let mut numbers: Vec<u32> =
            self.joins.prompts.iter().filter(|(_, prompt)| waits(prompt)).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The words of a prompt.
    pub(crate) fn prompt(&self, number: u32) -> Option<&str> {
        self.joins.prompts.get(&number)?.text.as_deref()
    }

    fn notice(&mut self, place: Place, payload: &Payload) {
        if let Some((tone, text)) = talk(payload) {
            self.add(place, || Entry::Notice(tone, text.into()));
        }
    }

    fn prompt_queued(&mut self, number: u32, text: &str, author: PromptAuthor) {
        let prompt = self.joins.prompts.entry(number).or_default();
        if prompt.text.is_some() {
            return;
        }
        prompt.text = Some(text.into());
        prompt.author = author;
        let (turns, is_dropped) = (prompt.turns.clone(), prompt.is_dropped);
        if turns.is_empty() && !is_dropped {
            self.put(Place::queued(number), Entry::Queued(Text::new(text)));
        }
        for place in turns {
            if let Some(Entry::Turn(turn)) = self.entry_mut(place) {
                turn.prompt = Some(Text::new(text));
                turn.author = author;
            }
        }
    }

    fn turn_started(&mut self, place: Place, number: u32, at: i64, agent: Option<Box<str>>) {
        if self.entries.contains_key(&place) {
            return;
        }
        let prompt = self.joins.prompts.entry(number).or_default();
        prompt.turns.push(place);
        let (text, author) = (prompt.text.as_deref().map(Text::new), prompt.author);
        self.remove(Place::queued(number));
        self.put(place, Entry::Turn(Turn { at, agent, prompt: text, author }));
    }

    fn said(&mut self, place: Place, turn: u32, text: &str) {
        if self.entries.contains_key(&place) {
            return;
        }
        self.put(place, Entry::Message(Text::new(text)));
        let known = fingerprint(text);
        let facts = self.joins.turns.entry(turn).or_default();
        facts.said.push(known);
        if let (Some(answer), Some(end)) = (facts.answer, facts.end)
            && answer == known
        {
            self.remove(Place::of(end));
        }
    }

    /// The answer is shown where the turn ends, unless it was said before.
    fn answered(&mut self, turn: u32, place: Place, answer: &str) {
        let known = fingerprint(answer);
        let facts = self.joins.turns.entry(turn).or_default();
        facts.answer = Some(known);
        if !facts.said.contains(&known) && !answer.trim().is_empty() {
            self.add(place, || Entry::Message(Text::new(answer)));
        }
    }
}

/// Some agents tell the name of a tool in the title only.
fn keeps_todos(tool: &str, title: &str) -> bool {
    ToolName::read(if tool == "other" { title } else { tool }).known() == Some(tool::Tool::Todo)
}

/// Two texts that read the same have the same.
fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
}
