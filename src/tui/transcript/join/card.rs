//! Entries that several facts make: calls, approvals, handoffs, todo lists, tasks.

use super::TurnFacts;
use crate::api::event::PlanEntry;
use crate::api::handoff::Handoff;
use crate::api::permission::AutoApproval;
use crate::api::workflow::{Task, Workflow};
use crate::look::card::Outcome;
use crate::tui::transcript::Transcript;
use crate::tui::transcript::entry::{Approval, Delegation, Entry, Mark, Place, Step, Tool};

/// How a call ended, and what had let it pass.
pub(super) struct End<'a> {
    pub(super) outcome: Outcome,
    pub(super) output: &'a str,
    pub(super) auto: Option<&'a AutoApproval>,
}

impl Transcript {
    /// A call that ended before its beginning was known stands where it ended until then.
    pub(super) fn call_started(&mut self, place: Place, turn: u32, call: &str, tool: impl FnOnce(Tool) -> Tool) {
        let key = (turn, call.into());
        let known = self.joins.calls.get(&key).copied();
        if known.is_some_and(|known| known <= place) {
            return;
        }
        self.joins.calls.insert(key, place);
        let ended = match known.and_then(|at| self.entries.remove(&at)) {
            Some(Entry::Tool(tool)) => *tool,
            Some(_) | None => blank(turn),
        };
        if let Some(at) = known {
            self.moved(at, place);
        }
        self.put(place, Entry::Tool(Box::new(tool(ended))));
    }

    pub(super) fn call_finished(
        &mut self,
        place: Place,
        turn: u32,
        call: &str,
        (tool, title): (&str, &str),
        end: End<'_>,
    ) {
        let key = (turn, Box::from(call));
        let at = *self.joins.calls.entry(key).or_insert(place);
        if !self.entries.contains_key(&at) {
            let (tool, title) = (tool.into(), title.into());
            self.put(at, Entry::Tool(Box::new(Tool { tool, title, ..blank(turn) })));
        }
        if let Some(Entry::Tool(tool)) = self.entry_mut(at)
            && tool.end.is_none()
        {
            tool.end = Some((end.outcome, end.output.into()));
            tool.auto = end.auto.cloned().map(Box::new).or(tool.auto.take());
            tool.live = String::new();
        }
    }

    pub(super) fn approval(&mut self, place: Place, id: &str, change: impl FnOnce(&mut Approval)) {
        let at = match self.joins.approvals.get(id) {
            Some(known) if *known <= place => *known,
            Some(later) => {
                let later = *later;
                if let Some(entry) = self.entries.remove(&later) {
                    self.put(place, entry);
                    self.moved(later, place);
                }
                place
            }
            None => place,
        };
        self.joins.approvals.insert(id.into(), at);
        self.add(at, || Entry::Approval(Box::default()));
        if let Some(Entry::Approval(entry)) = self.entry_mut(at) {
            change(entry);
        }
    }

    pub(super) fn handoff(&mut self, place: Place, handoff: &Handoff) {
        let id = handoff.handoff_id.as_str();
        let known = self.joins.handoffs.get(id).copied();
        let at = known.map_or(place, |known| known.min(place));
        let held = match known.and_then(|known| self.entries.remove(&known)) {
            Some(Entry::Delegation(held)) if held.seq >= place.seq => held,
            Some(_) | None => Box::new(delegation(place.seq, handoff)),
        };
        if let Some(known) = known.filter(|known| *known != at) {
            self.moved(known, at);
        }
        self.joins.handoffs.insert(id.into(), at);
        self.put(at, Entry::Delegation(held));
    }

    pub(super) fn todo(&mut self, seq: u64, turn: u32, entries: &[PlanEntry]) {
        let facts = self.joins.turns.entry(turn).or_default();
        if facts.todo.as_ref().is_some_and(|(known, _)| *known >= seq) {
            return;
        }
        let step = |entry: &PlanEntry| Step { mark: Mark::parse(&entry.status), text: entry.content.as_str().into() };
        facts.todo = Some((seq, entries.iter().map(step).collect()));
        self.place_todo(turn);
    }

    pub(super) fn ended(&mut self, turn: u32, seq: u64) {
        self.joins.turns.entry(turn).or_default().end = Some(seq);
        // Calls that never ended are not in progress any more.
        self.layout.forget_all();
        self.place_todo(turn);
    }

    /// A list in progress stands at the end; what it was when the turn ended stays there. One that was cleared has no card.
    fn place_todo(&mut self, turn: u32) {
        if let Some(TurnFacts { end: Some(end), todo: Some((_, steps)), .. }) = self.joins.turns.get(&turn) {
            let (place, steps) = (Place::before(*end), steps.clone());
            self.put_todo(place, steps);
        }
        let open = self.joins.turns.iter().filter(|(_, facts)| facts.end.is_none());
        let last = open.filter_map(|(turn, facts)| facts.todo.as_ref().map(|(_, steps)| (turn, steps)));
        let steps = last.max_by_key(|(turn, _)| **turn).map(|(_, steps)| steps.clone()).unwrap_or_default();
        self.put_todo(Place::TODO, steps);
    }

    fn put_todo(&mut self, place: Place, steps: Vec<Step>) {
        match steps.is_empty() {
            true => self.remove(place),
            false => self.put(place, Entry::Todo(steps)),
        }
    }

    /// There is one card of tasks, where they changed last.
    pub(super) fn tasks(&mut self, seq: u64, workflow: &Workflow) {
        if self.joins.tasks.is_some_and(|known| known >= seq) {
            return;
        }
        if let Some(before) = self.joins.tasks.replace(seq) {
            self.remove(Place::of(before));
        }
        let plan = workflow.plan.as_ref();
        self.joins.plan = plan.map(|plan| plan.saved_to.as_deref().unwrap_or(&plan.title).into());
        if workflow.tasks.is_empty() {
            return;
        }
        let step = |task: &Task| Step {
            mark: Mark::parse(&task.status),
            text: match &task.block_reason {
                Some(reason) => format!("{}: {reason}", task.title).into(),
                None => task.title.as_str().into(),
            },
        };
        self.put(Place::of(seq), Entry::Tasks(workflow.tasks.iter().map(step).collect()));
    }
}

fn blank(turn: u32) -> Tool {
    Tool { turn, tool: "".into(), title: "".into(), input: None, end: None, auto: None, live: String::new() }
}

fn delegation(seq: u64, handoff: &Handoff) -> Delegation {
    let permission = handoff.pending_permission.as_ref().map(|pending| {
        let subject = pending.command.as_ref().or(pending.path.as_ref()).unwrap_or(&pending.reason);
        format!("{}: {subject}", pending.tool_name)
    });
    let question = handoff.pending_question.as_ref().map(|pending| pending.question.clone());
    Delegation {
        seq,
        handoff: handoff.handoff_id.as_str().into(),
        child: handoff.child_session_id.as_str().into(),
        agent: handoff.child_agent_id.as_str().into(),
        label: handoff.label.as_str().into(),
        backend: handoff.backend.as_str().into(),
        status: handoff.status,
        wants: permission.or(question).map(Into::into),
        error: handoff.error.as_deref().map(Into::into),
        answer: handoff.assistant_text.as_deref().map(Into::into),
        changes: handoff.diffstat,
    }
}
