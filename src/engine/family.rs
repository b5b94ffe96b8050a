//! Families: what a session shows of the sessions that descend from it, and to whom a decision about them goes.
//!
//! Reads and routes only; children are made and ended elsewhere.

pub(super) mod origin;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::api::Page;
use crate::api::error::Error;
use crate::api::handoff::{Handoff, HandoffStatus};
use crate::api::session::{Approval, Question, Session, Status, WaitingFor};
use crate::api::workflow::Workflow;
use crate::id::SessionId;

use super::fault::Fault;
use super::record::{self, ChildHold, Record};
use super::{Engine, view};

/// Sessions by their parents, and how their delegations stand.
#[derive(Debug, Default)]
pub(super) struct Family<'a> {
    /// Oldest first.
    children: HashMap<SessionId, Vec<&'a Record>>,
    /// By child, as far as their parents are in a turn.
    handoffs: HashMap<SessionId, HandoffStatus>,
}

impl<'a> Family<'a> {
    fn new(records: &'a [Record], handoffs: HashMap<SessionId, HandoffStatus>) -> Self {
        let mut children: HashMap<_, Vec<_>> = HashMap::new();
        for record in records {
            if let Some(child) = &record.body.child {
                children.entry(child.parent).or_default().push(record);
            }
        }
        Self { children, handoffs }
    }

    /// Completes the view of a session: its children, and what those that its turn waits for want of a person.
    pub(super) fn complete(&self, id: SessionId, session: &mut Session) {
        let is_shown = |child: &&&Record| child.removed_at.is_none() || session.removed_at.is_some();
        session.children = self.of(id).iter().filter(is_shown).map(|child| child.id.to_string()).collect();
        let bound = self.bound_to(id);
        let approvals: Vec<_> = bound.iter().flat_map(|child| approvals(child)).collect();
        let questions: Vec<_> = bound.iter().flat_map(|child| questions(child)).collect();
        let is_active = |child: &&Record| self.handoffs.get(&child.id).is_some_and(|status| !status.is_final());
        if session.status == Status::Running && session.waiting_for.is_none() && bound.iter().any(is_active) {
            session.waiting_for = Some(match (approvals.as_slice(), questions.as_slice()) {
                ([_, ..], _) => WaitingFor::Approval,
                ([], [_, ..]) => WaitingFor::Answer,
                ([], []) => WaitingFor::Children,
            });
        }
        let answer = (!questions.is_empty()).then_some("answer");
        let decide = (!approvals.is_empty()).then_some(["approve", "deny"]);
        for name in answer.into_iter().chain(decide.into_iter().flatten().rev()) {
            if !session.next.iter().any(|known| known == name) {
                session.next.insert(0, name.to_owned());
            }
        }
        session.approvals.extend(approvals);
        session.questions.extend(questions);
    }

    fn of(&self, parent: SessionId) -> &[&'a Record] {
        self.children.get(&parent).map(Vec::as_slice).unwrap_or_default()
    }

    /// The descendants that the session's turn is bound to: foreground all the way down, and not at an end.
    fn bound_to(&self, id: SessionId) -> Vec<&'a Record> {
        let mut bound = Vec::new();
        let mut seen = HashSet::from([id]);
        let mut from = vec![id];
        while let Some(parent) = from.pop() {
            for child in self.of(parent).iter().filter(|child| self.is_bound(child)) {
                if seen.insert(child.id) {
                    bound.push(*child);
                    from.push(child.id);
                }
            }
        }
        bound
    }

    fn is_bound(&self, child: &Record) -> bool {
        let is_foreground = child.body.child.as_ref().is_some_and(|child| child.hold == ChildHold::Foreground);
        // What a daemon that ended left open can still be answered.
        let is_open = |status: &HandoffStatus| !status.is_final() || *status == HandoffStatus::Interrupted;
        is_foreground && self.handoffs.get(&child.id).is_some_and(is_open)
    }
}

fn approvals(child: &Record) -> impl Iterator<Item = Approval> {
    view::open_approvals(child).map(view::approval).map(|approval| Approval {
        id: format!("{}/{}", child.id, approval.id),
        session: Some(child.id.to_string()),
        agent: Some(child.body.agent.id.clone()),
        ..approval
    })
}

fn questions(child: &Record) -> impl Iterator<Item = Question> {
    let open = view::questions(child).into_iter().filter(|question| question.answer.is_none());
    open.map(|question| Question { session: Some(child.id.to_string()), ..question })
}

/// The child that an approval belongs to and its name there; `None` when it is the session's own, or nobody's.
fn owner(session: &Session, request: &str) -> Option<(SessionId, String)> {
    let mut open = session.approvals.iter();
    let approval = match request {
        "oldest" if open.clone().any(|approval| approval.session.is_none()) => return None,
        "oldest" => open.min_by_key(|approval| approval.requested_at),
        request => open.find(|approval| approval.session.is_some() && approval.id == request),
    }?;
    let (child, request) = approval.id.split_once('/')?;
    Some((child.parse().ok()?, request.to_owned()))
}

/// The answers shared out among those who ask, in the order in which the session shows the questions.
fn share(id: SessionId, session: &Session, answers: Vec<String>) -> Result<Vec<(SessionId, Vec<String>)>, Fault> {
    let open = session.questions.iter().filter(|question| question.answer.is_none());
    let askers: Vec<_> =
        open.map(|question| question.session.as_deref().and_then(|child| child.parse().ok()).unwrap_or(id)).collect();
    if askers.iter().all(|asker| *asker == id) {
        return Ok(vec![(id, answers)]);
    }
    if answers.len() > askers.len() {
        return Err(Fault::TooManyAnswers { id, asked: askers.len(), given: answers.len() });
    }
    let mut shares: Vec<(SessionId, Vec<String>)> = Vec::new();
    for (asker, answer) in askers.into_iter().zip(answers) {
        match shares.last_mut() {
            Some((last, given)) if *last == asker => given.push(answer),
            Some(_) | None => shares.push((asker, vec![answer])),
        }
    }
    Ok(shares)
}

/// Whether a session may have children that its turn is bound to.
fn may_wait(status: Status) -> bool {
    match status {
        Status::Queued
        | Status::Preparing
        | Status::Running
        | Status::Approval
        | Status::Asking
        | Status::Interrupted => true,
        Status::Draft
        | Status::Ready
        | Status::Failed
        | Status::Integrating
        | Status::Conflict
        | Status::Merged
        | Status::Archived => false,
    }
}

impl Engine {
    /// The delegations that a session asked for, oldest first.
    pub async fn handoffs(&self, id: &str) -> Result<Page<Handoff>, Error> {
        let rows = self.shared.store.handoffs(self.find(id).await?).await.map_err(Fault::from)?;
        let handoffs: Result<_, _> = rows.iter().map(record::handoff).collect();
        Ok(Page::whole(handoffs.map_err(Fault::from)?))
    }

    /// The tasks and the plan of the session's family.
    pub async fn workflow(&self, id: &str) -> Result<Workflow, Error> {
        let record = self.record(id).await?;
        let root = record.body.child.as_ref().map_or(record.id, |child| child.root);
        let row = self.shared.store.workflow(root).await.map_err(Fault::from)?;
        let workflow = row.map(|row| record::workflow(&row)).transpose().map_err(Fault::from)?;
        Ok(workflow.unwrap_or_default())
    }

    /// The session as clients see it, with what is seen of its descendants.
    pub(super) async fn in_family(&self, mut session: Session) -> Result<Session, Fault> {
        let Ok(id) = session.id.parse() else { return Ok(session) };
        let rows = self.shared.store.descendants(id).await?;
        let records: Vec<_> = rows.into_iter().map(Record::read).collect::<Result<_, _>>()?;
        let above = std::iter::once((id, session.status));
        let family = self.family(&records, above).await?;
        family.complete(id, &mut session);
        Ok(session)
    }

    /// The families among `records`; `above` are parents that are not among them.
    pub(super) async fn family<'a>(
        &self,
        records: &'a [Record],
        above: impl Iterator<Item = (SessionId, Status)>,
    ) -> Result<Family<'a>, Fault> {
        let mut family = Family::new(records, HashMap::new());
        let all = above.chain(records.iter().map(|record| (record.id, record.status)));
        for (parent, _) in all.filter(|(id, status)| may_wait(*status) && family.children.contains_key(id)) {
            for row in self.shared.store.handoffs(parent).await? {
                // A word of a later version is as good as an end: nothing is offered that nobody understands.
                family.handoffs.extend(record::handoff_status(&row).map(|status| (row.child, status)));
            }
        }
        Ok(family)
    }

    /// Where a decision goes that was sent to `id`.
    pub(super) async fn decider(&self, id: SessionId, request: &str) -> Result<(SessionId, String), Error> {
        // A plain name is the session's own.
        if request != "oldest" && !request.contains('/') {
            return Ok((id, request.to_owned()));
        }
        let session = self.session(id.as_str()).await?;
        Ok(owner(&session, request).unwrap_or_else(|| (id, request.to_owned())))
    }

    /// Where answers go that were sent to `id`.
    pub(super) async fn answerers(
        &self,
        id: SessionId,
        answers: Vec<String>,
    ) -> Result<Vec<(SessionId, Vec<String>)>, Error> {
        let session = self.session(id.as_str()).await?;
        Ok(share(id, &session, answers)?)
    }
}
