//! Calls that a person must decide: asked, taken back, decided, and remembered across a restart.

use sha2::{Digest, Sha256};

use crate::api::event::Payload;
use crate::api::request::{AllowScope, Decide, DenyScope};
use crate::backend::event::{ApprovalRequest, Command as BackendCommand, Decision};
use crate::backend::transport::lines::run_blocking;
use crate::permission::compact::Action;
use crate::permission::load::List;
use crate::permission::rule::Rule;
use crate::permission::{Call, Layer, Reach, Verdict};
use crate::session::{Event, Wait};
use crate::store::Durability;

use super::super::fault::Fault;
use super::super::judge::{self, Judged, Made};
use super::super::record::{ApprovalRecord, CallOrigin, CallRecord, DecisionRecord};
use super::super::rules::Files;
use super::super::settings::hex;
use super::super::work::Allowed;
use super::super::{clock, prepare, view};
use super::Actor;
use super::passed::CardOf;
use super::turn::tool_name;

/// The request that stands for the oldest open one.
const OLDEST: &str = "oldest";

/// A call that is to be decided about, as it is shown and named.
pub(super) struct Asked {
    pub(super) request: String,
    pub(super) tool: String,
    pub(super) reach: Reach,
    /// What kind of tool it is, for people.
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) preview: String,
    pub(super) call_hash: String,
    pub(super) origin: CallOrigin,
    pub(super) card: CardOf,
}

/// What is to happen with a call.
pub(super) enum Ruling {
    Allow(Allowed),
    Deny(String),
    /// A person is asked; the turn waits.
    Pending,
}

impl Actor {
    /// A tool of the agent's own is about to run.
    pub(super) async fn approval_asked(&mut self, request: ApprovalRequest) {
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let ended = turn.blocks.interlude();
        self.store_blocks(number, ended).await;
        if self.turn.is_none() {
            return; // The store refused, and the turn is over.
        }
        let name = request.request.clone();
        let asked = Asked {
            call_hash: call_hash(&request),
            kind: tool_name(request.kind).to_owned(),
            request: request.request,
            tool: request.tool,
            reach: request.reach,
            title: request.title,
            preview: request.preview,
            origin: CallOrigin::Backend,
            card: CardOf::Call(request.call),
        };
        match self.rule(asked).await {
            Ruling::Allow(_) => self.decide_at_once(name, DecisionRecord::Allow).await,
            Ruling::Deny(message) => {
                self.decide_at_once(name, DecisionRecord::Deny { message: Some(message) }).await;
            }
            Ruling::Pending => {}
        }
    }

    /// Decides about a call, or has a person decide.
    pub(super) async fn rule(&mut self, asked: Asked) -> Ruling {
        let Some(Judged { call, verdict, is_spared }) = self.verdict(&asked.tool, &asked.reach, asked.origin) else {
            return Ruling::Deny("the turn is over".to_owned());
        };
        match verdict.action {
            Action::Deny => {
                let reason = verdict.reason.lines().next().unwrap_or_default();
                let message = format!("denied: {}: {reason}", asked.title);
                self.tell(|_| Payload::Warning { message }).await;
                return Ruling::Deny(verdict.reason);
            }
            Action::Allow => {
                if is_spared {
                    self.passed(asked.card, verdict);
                }
                return Ruling::Allow(Allowed::ByRule);
            }
            Action::Ask => {}
        }
        match self.carried(&asked.call_hash) {
            Some(DecisionRecord::Allow) => Ruling::Allow(Allowed::ByPerson),
            Some(DecisionRecord::Deny { message }) => Ruling::Deny(message.unwrap_or_default()),
            None => {
                self.ask_person(asked, &call, verdict).await;
                Ruling::Pending
            }
        }
    }

    async fn ask_person(&mut self, asked: Asked, call: &Call, verdict: Verdict) {
        let id = self.approval_id();
        let Some(turn) = &self.turn else { return };
        let number = turn.number;
        // Where a rule wants a person each time, no other rule helps.
        let is_asked_by_rule = verdict.layer == Layer::HardAsk && verdict.rule.is_some();
        let judge = turn.judge.as_ref().filter(|_| !is_asked_by_rule);
        let saves = judge.map(|judge| judge.saves(call)).unwrap_or_default();
        self.record.body.approvals.push(ApprovalRecord {
            id,
            request: asked.request,
            tool: asked.kind,
            title: asked.title,
            preview: (!asked.preview.is_empty()).then_some(asked.preview),
            reason: verdict.reason,
            layer: verdict.layer.as_str().to_owned(),
            rule: verdict.rule,
            saves: saves.iter().map(Rule::to_string).collect(),
            warnings: judge::warnings(call, self.record.body.reach.hold()),
            call: Some(CallRecord { tool: asked.tool, reach: asked.reach.into(), origin: asked.origin }),
            requested_at: clock::now(),
            call_hash: asked.call_hash,
            expired: false,
            decision: None,
        });
        if let Some(asked) = self.record.body.approvals.last() {
            self.staged.push(Payload::ApprovalRequested { turn: number, approval: view::approval(asked) });
        }
        self.step(Event::Waits(Wait::Approval)).await;
    }

    /// What the rules say about a call of the turn in progress.
    fn verdict(&self, tool: &str, reach: &Reach, origin: CallOrigin) -> Option<Judged> {
        let turn = self.turn.as_ref()?;
        let (judge, role) = (turn.judge.as_ref()?, turn.role.as_ref()?);
        // A search is judged by the files that it would read, which may be many.
        Some(run_blocking(|| judge.verdict(&self.record, role, &turn.config, Made { tool, reach, origin })))
    }

    /// A person's decision about one call, and about all like it if they say so.
    pub(super) async fn decide(&mut self, request: &str, decide: Decide) -> Result<(), Fault> {
        let oldest = request == OLDEST;
        let open = self.record.body.approvals.iter().filter(|open| open.decision.is_none());
        let Some(approval) = open.into_iter().find(|open| oldest || open.id == request) else {
            let request = (!oldest).then(|| request.to_owned());
            return Err(Fault::NoApproval { id: self.id, request });
        };
        let (id, saves) = (approval.id.clone(), approval.saves.clone());
        let mut message = None;
        match &decide {
            Decide::Allow { scope: AllowScope::Once } => {}
            Decide::Allow { scope: AllowScope::Session } => message = Some(self.keep(&id, &saves, None).await?),
            Decide::Allow { scope: AllowScope::Always } => {
                message = Some(self.keep(&id, &saves, Some(List::Allow)).await?);
            }
            Decide::Deny { scope: DenyScope::Once, .. } => {}
            Decide::Deny { scope: DenyScope::Never, .. } => {
                message = Some(self.keep(&id, &saves, Some(List::Deny)).await?);
            }
        }
        let (outcome, message, decision) = match decide {
            Decide::Allow { .. } => ("allowed", message, DecisionRecord::Allow),
            Decide::Deny { message: said, .. } => {
                ("denied", said.clone().or(message), DecisionRecord::Deny { message: said.map(rejected(&id, self)) })
            }
        };
        self.settle(&id, outcome, message, decision).await?;
        self.judge_again().await
    }

    /// Remembers the rules of an approval; says where.
    async fn keep(&mut self, id: &str, saves: &[String], list: Option<List>) -> Result<String, Fault> {
        if saves.is_empty() {
            return Err(Fault::NothingToSave { id: id.to_owned() });
        }
        let rules: Vec<Rule> = saves.iter().filter_map(|rule| rule.parse().ok()).collect();
        let place = match list {
            Some(list) => {
                let repo = prepare::open_repo(&self.record).await?;
                let files = Files::of(&self.shared, &self.record.project, &repo);
                let lock = self.shared.repository(&self.record.project);
                let _held = lock.lock().await;
                files.save(list, &rules)?;
                if let Some(judge) = self.turn.as_mut().and_then(|turn| turn.judge.as_mut()) {
                    judge.reload()?;
                }
                files.local.display().to_string()
            }
            None => "this session".to_owned(),
        };
        if list != Some(List::Deny) {
            let grants = &mut self.record.body.grants;
            grants.extend(saves.iter().filter(|rule| !grants.contains(rule)).cloned().collect::<Vec<_>>());
        }
        Ok(format!("{} is kept in {place}", saves.join(", ")))
    }

    async fn settle(
        &mut self,
        id: &str,
        outcome: &str,
        message: Option<String>,
        decision: DecisionRecord,
    ) -> Result<(), Fault> {
        let approvals = &mut self.record.body.approvals;
        let Some(approval) = approvals.iter_mut().find(|open| open.id == id) else { return Ok(()) };
        approval.decision = Some(decision);
        let expired = approval.expired;
        let (approval, outcome) = (id.to_owned(), outcome.to_owned());
        self.staged.push(Payload::ApprovalResolved { approval, outcome, message });
        if !expired {
            self.step(Event::Settled(Wait::Approval)).await;
            return Ok(());
        }
        // The decision waits in the record for the call that the resumed turn makes.
        self.persist(Durability::Full, Vec::new()).await?;
        self.resume_if_interrupted().await
    }

    /// Looks at the calls that wait once more: something was allowed or forbidden, or the posture is another.
    pub(super) async fn judge_again(&mut self) -> Result<(), Fault> {
        let open = self.record.body.approvals.iter().filter(|open| open.decision.is_none() && !open.expired);
        let calls = open.filter_map(|open| Some((open.id.clone(), open.request.clone(), open.call.clone()?)));
        for (id, request, call) in calls.collect::<Vec<_>>() {
            let judged = self.verdict(&call.tool, &call.reach.into(), call.origin);
            let Some(Judged { verdict, .. }) = judged else { return Ok(()) };
            let by = verdict.rule.unwrap_or_else(|| verdict.layer.as_str().to_owned());
            let (outcome, decision) = match verdict.action {
                Action::Ask => continue,
                Action::Allow => {
                    self.calls.decided_by_rule(&request);
                    ("allowed", DecisionRecord::Allow)
                }
                Action::Deny => ("denied", DecisionRecord::Deny { message: Some(verdict.reason) }),
            };
            self.settle(&id, outcome, Some(format!("by {by}")), decision).await?;
        }
        Ok(())
    }

    /// Approvals are numbered within their session: short enough to type. No number comes twice, so that a decision
    /// never meets another call than the one that was looked at.
    fn approval_id(&mut self) -> String {
        self.record.body.asked += 1;
        self.record.body.asked.to_string()
    }

    /// A decision on the same call that could not be delivered before; it is used once.
    fn carried(&mut self, call_hash: &str) -> Option<DecisionRecord> {
        let approvals = &mut self.record.body.approvals;
        let at =
            approvals.iter().position(|old| old.expired && old.decision.is_some() && old.call_hash == call_hash)?;
        approvals.remove(at).decision
    }

    async fn decide_at_once(&mut self, request: String, decision: DecisionRecord) {
        if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
            return self.give_up(&error).await;
        }
        self.tell_backend(BackendCommand::Decide { request, decision: backend_decision(decision) }).await;
    }

    pub(super) async fn approval_gone(&mut self, request: &str) {
        let approvals = &mut self.record.body.approvals;
        let Some(at) = approvals.iter().position(|open| open.request == request && !open.expired) else { return };
        let gone = approvals.remove(at);
        if gone.decision.is_none() {
            let outcome = "cancelled".to_owned();
            self.staged.push(Payload::ApprovalResolved { approval: gone.id, outcome, message: None });
            self.step(Event::Withdrawn(Wait::Approval)).await;
        }
    }
}

/// What the model reads when a person refuses a call with words of their own.
fn rejected(id: &str, actor: &Actor) -> impl FnOnce(String) -> String + use<> {
    let approvals = &actor.record.body.approvals;
    let call = approvals.iter().find(|open| open.id == id).and_then(|open| open.call.as_ref());
    let tool = call.map_or("call", |call| call.tool.as_str()).to_owned();
    move |feedback| format!("Tool \"{tool}\" rejected by user: {feedback}")
}

/// The backend's form of a stored decision.
pub(super) fn backend_decision(decision: DecisionRecord) -> Decision {
    match decision {
        DecisionRecord::Allow => Decision::Once,
        DecisionRecord::Deny { message } => Decision::Deny { message },
    }
}

/// Names a call by what it would do, so that the same call is known again after a restart.
fn call_hash(request: &ApprovalRequest) -> String {
    let input = request.input.as_ref().map(ToString::to_string).unwrap_or_default();
    hash([&request.tool, &request.title, &input, &request.preview, &format!("{:?}", request.reach)])
}

/// Names a call by its parts.
pub(super) fn hash<const N: usize>(parts: [&str; N]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}
