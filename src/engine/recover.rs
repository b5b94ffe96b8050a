//! What a daemon that just started does with what the last one left: nothing resumes by itself, nothing stays half told.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use crate::api::event::Payload;
use crate::api::handoff::HandoffStatus;
use crate::api::request::Undo;
use crate::api::session::{Changes, Status, TurnState, Usage};
use crate::git::GitError;
use crate::git::diff::{self, Target};
use crate::git::history;
use crate::git::stop::stop_signal;
use crate::id::SessionId;
use crate::session::{self, Effect, Event, Fact, FixStop, Rest, Session};
use crate::store::{Change, Durability, Removed, Write};

use super::actor::{Command, blocking, changes};
use super::fault::Fault;
use super::handoff::{self, EndedBy};
use super::record::{ApprovalRecord, PromptBody, Record, State, Tree, TurnBody, UndoRecord};
use super::shared::{Shared, event};
use super::{clock, delegate, prepare, view};

/// How long the daemon waits for the counts of files before it takes requests: most are there by then.
const COUNT_PATIENCE: Duration = Duration::from_secs(5);

/// The pauses before a count that failed is tried again: its repository may be away for a moment. The next prompt counts
/// anyway.
const COUNT_PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(60)];

/// How the record of a running turn begins.
const RUNNING_TURN: &str = "{\"state\":\"running\"";

/// Whether a session was in the middle of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    AsItWas,
    /// What it left in its files is not counted yet.
    CutOff,
}

/// Settles every session that was in progress, and returns those whose files are not settled.
pub(super) async fn all(shared: &Shared) -> Result<Vec<Record>, Fault> {
    let mut cut_off = Vec::new();
    for row in shared.store.sessions(Removed::Without).await? {
        let mut record = match Record::read(row) {
            Ok(record) => record,
            Err(error) => {
                warn!(%error, "a session is left alone");
                continue;
            }
        };
        let settled = one(shared, &mut record).await?;
        abandoned(shared, &record).await?;
        if let Err(fault) = prepare::undo_integration(shared, &record).await {
            warn!(session = %record.id, %fault, "an integration stays half done until the next turn");
        }
        match settled {
            Settled::AsItWas if record.body.undoing.is_none() => {}
            Settled::AsItWas | Settled::CutOff => cut_off.push(record),
        }
    }
    settle_stale_turns(shared).await?;
    Ok(cut_off)
}

/// Ends the turns that are stored as running although their sessions have gone on: no session works yet.
async fn settle_stale_turns(shared: &Shared) -> Result<(), Fault> {
    let mut changes = Vec::new();
    for row in shared.store.turns_by_prefix(RUNNING_TURN).await? {
        let Ok(body) = TurnBody::read(&row) else { continue };
        info!(session = %row.session, turn = row.number, "the end of a turn was not stored");
        let ended = TurnBody { state: TurnState::Interrupted, ended_at: Some(clock::now()), ..body };
        changes.push(Change::Turn(ended.row(row.session, row.number, row.raw)));
    }
    if !changes.is_empty() {
        shared.store.write(Write { durability: Durability::Full, changes }).await?;
    }
    Ok(())
}

/// Settles one session that nobody works on, whatever it was in the middle of.
pub(super) async fn one(shared: &Shared, record: &mut Record) -> Result<Settled, Fault> {
    let state = record.body.state;
    let found = record.found();
    let mut changes = Vec::new();
    let mut settled = Settled::AsItWas;
    // Nothing is merged by itself after a restart, however far that had come.
    let fix = record.body.hook_fix.take();
    match session::step(found, Event::Recover) {
        Some((next, effects)) => {
            info!(session = %record.id, status = record.status.as_str(), "session was in progress");
            for effect in effects {
                let Effect::Persist(fact) = effect else { continue };
                changes.extend(settle(shared, record, fact, state).await?);
            }
            // A prompt that waited for a person to leave was to begin then; somebody has to say so again.
            let waited = matches!(found, Session::Attached(_)) && record.status == Status::Queued;
            let now = if record.outlives() { record.updated_at } else { clock::now() };
            record.settle(if waited { Session::Resting(Rest::Interrupted) } else { next }, now);
            settled = Settled::CutOff;
        }
        None => {
            let is_answered = record.body.questions.iter().all(|asked| asked.answer.is_some());
            let goes_on = match found {
                Session::Resting(Rest::Ready) => true,
                Session::Resting(Rest::Asking) => is_answered,
                Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => false,
            };
            let follows = goes_on && !record.body.order.is_empty();
            if !follows && fix.is_none() && record.status == view::status(found.status()) {
                return Ok(settled);
            }
            // The next prompt was to follow at once; somebody has to say so again.
            record.settle(if follows { Session::Resting(Rest::Interrupted) } else { found }, clock::now());
        }
    }
    changes.extend(fix.map(|fix| event(record.id, &fix.stopped(record.id, FixStop::DaemonEnds))));
    changes.insert(0, Change::Session(record.row()));
    changes.extend(interrupt_handoff(shared, record).await?);
    shared.store.write(Write { durability: Durability::Full, changes }).await?;
    Ok(settled)
}

/// Completes undos, and counts what was left in the files by those who were cut off, one session after the other, and
/// waits for a while. An agent decides how long git reads its files, so nobody waits for all of that.
pub(super) async fn count_files(shared: &Arc<Shared>, cut_off: Vec<Record>) {
    let counting = shared.tasks.spawn(count_all(shared.clone(), cut_off));
    // The task goes on.
    tokio::time::timeout(COUNT_PATIENCE, counting).await.ok();
}

pub(super) async fn count_all(shared: Arc<Shared>, cut_off: Vec<Record>) {
    let uncounted = count_each(&shared, cut_off).await;
    if !uncounted.is_empty() {
        let uncounted = uncounted.iter().map(|record| record.id).collect();
        drop(shared.tasks.spawn(count_again(shared.clone(), uncounted)));
    }
}

async fn count_again(shared: Arc<Shared>, mut uncounted: Vec<SessionId>) {
    for pause in COUNT_PAUSES {
        if uncounted.is_empty() || shared.stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
        let mut records = Vec::new();
        for id in uncounted {
            // As it is by now: a prompt may have failed for the same reason.
            let row = shared.store.session(id).await.ok().flatten();
            records.extend(row.and_then(|row| Record::read(row).ok()));
        }
        uncounted = count_each(&shared, records).await.iter().map(|record| record.id).collect();
    }
}

/// Counts the files of each session; those for which that failed.
async fn count_each(shared: &Arc<Shared>, cut_off: Vec<Record>) -> Vec<Record> {
    let mut uncounted = Vec::new();
    for record in cut_off {
        if let Some(UndoRecord { to, .. }) = record.body.undoing {
            // One that fails says so, and the next act tries again.
            delegate::tell(shared, record.id, Command::Undo(Undo { to: Some(to), ..Undo::default() })).await.ok();
            continue;
        }
        let counted = shared.stop.run_until_cancelled(count(&record)).await;
        match counted {
            Some(Ok(Some(now))) => {
                let (turn, was) = (record.body.turns, record.body.changes);
                // A session that has gone on since counts by itself.
                delegate::tell(shared, record.id, Command::Recount { turn, was, now }).await.ok();
            }
            Some(Ok(None)) => {}
            Some(Err(fault)) => {
                warn!(session = %record.id, %fault, "what was left in the files is not counted");
                uncounted.push(record);
            }
            None => return Vec::new(),
        }
    }
    uncounted
}

/// Counts the files as they are: what was left there by whoever was cut off is on no branch yet. Nothing is stopped for
/// it: the session may be at work again.
pub(super) async fn count(record: &Record) -> Result<Option<Changes>, Fault> {
    let Tree::Ready = record.body.tree else { return Ok(None) };
    // Whoever gives the count up ends its git.
    let (_guard, stop) = stop_signal().map_err(|source| GitError::Spawn { verb: "diff", source })?;
    let repo = prepare::open_repo(record).await?.stopped_by(stop);
    let (tree, from) = (prepare::tree_of(record, &repo)?, record.body.measured_from().parse()?);
    let total = blocking(move || diff::changes(&tree, &from, Target::WorkTree)).await?;
    Ok(Some(changes(total)))
}

/// A child that was made and never began is interrupted too: nobody else tells its parent.
async fn abandoned(shared: &Shared, record: &Record) -> Result<(), Fault> {
    let changes = match record.found() {
        Session::Resting(Rest::Draft) => interrupt_handoff(shared, record).await?,
        Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => Vec::new(),
    };
    if !changes.is_empty() {
        shared.store.write(Write { durability: Durability::Full, changes }).await?;
    }
    Ok(())
}

/// A child that was at work is interrupted for its parent as well.
async fn interrupt_handoff(shared: &Shared, record: &Record) -> Result<Vec<Change>, Fault> {
    let Some(child) = &record.body.child else { return Ok(Vec::new()) };
    let Some(before) = handoff::find(shared, &child.handoff).await? else { return Ok(Vec::new()) };
    if before.status.is_final() {
        return Ok(Vec::new());
    }
    let mut after = handoff::follow(&before, record, record.found(), EndedBy::Daemon);
    if after.status == HandoffStatus::Queued {
        // It never began.
        after.status = HandoffStatus::Interrupted;
    }
    Ok(if after == before { Vec::new() } else { handoff::changes(&after)?.to_vec() })
}

/// The checkpoint of a turn that the daemon made and did not live to store.
async fn find_checkpoint(record: &Record, turn: u32) -> Option<String> {
    let name = history::checkpoint_ref(record.id, turn);
    let repo = prepare::open_repo(record).await.ok()?;
    let found = blocking(move || repo.find_ref(&name)).await;
    found.unwrap_or_default().map(|commit| commit.to_string())
}

/// The changes that make one fact of the recovery.
async fn settle(shared: &Shared, record: &mut Record, fact: Fact, state: State) -> Result<Vec<Change>, Fault> {
    let id = record.id;
    match fact {
        Fact::WaitsExpired => {
            let is_open = |approval: &&mut ApprovalRecord| !approval.expired && approval.decision.is_none();
            let open = record.body.approvals.iter_mut().filter(is_open);
            let approvals = open.map(|approval| {
                approval.expired = true;
                let outcome = "expired".to_owned();
                event(id, &Payload::ApprovalResolved { approval: approval.id.clone(), outcome, message: None })
            });
            let asked = record.body.calls.iter_mut().filter(|call| !call.expired && call.answer.is_none());
            let questions = asked.map(|call| {
                call.expired = true;
                event(id, &Payload::QuestionGone { call: call.id.clone(), outcome: "expired".to_owned() })
            });
            Ok(approvals.chain(questions).collect())
        }
        Fact::Detached => {
            let program = record.body.attached.take().unwrap_or_default();
            Ok(vec![event(id, &Payload::Detached { program, commit: None, changes: None })])
        }
        Fact::TurnEnded(_) if state == State::Turning => {
            // A decision that was not delivered is used for the same call when the session goes on.
            record.body.approvals.iter_mut().for_each(|approval| approval.expired = true);
            record.body.calls.iter_mut().for_each(|call| call.expired = true);
            let turn = record.body.turns;
            // A turn that ends with a decided plan is not to be repeated.
            let is_left = record.body.plan_mode.concluded != Some(turn);
            (record.body.interrupted, record.body.unfinished) = (Some(turn), is_left);
            let reason = "the daemon ended while the turn ran".to_owned();
            let mut changes = vec![event(id, &Payload::TurnInterrupted { turn, reason })];
            if let Some(row) = shared.store.turn(id, turn).await? {
                let mut body = TurnBody::read(&row)?;
                (body.state, body.ended_at) = (TurnState::Interrupted, Some(clock::now()));
                body.checkpoint = body.checkpoint.or(find_checkpoint(record, turn).await);
                changes.push(Change::Turn(body.row(id, turn, row.raw)));
            }
            Ok(changes)
        }
        Fact::TurnEnded(_) => {
            let turn = record.body.turns + 1;
            record.body.turns = turn;
            // Its prompt is still in the queue: a resume must not put it there again.
            record.body.unfinished = false;
            let reason = "the daemon ended before the prompt was sent".to_owned();
            let prompts = shared.store.queued_prompts(id).await?;
            let next = prompts.iter().find(|prompt| Some(&prompt.number) == record.body.order.first());
            let prompt = next.and_then(|row| serde_json::from_str::<PromptBody>(&row.body).ok()).unwrap_or_default();
            let now = clock::now();
            let body = TurnBody {
                state: TurnState::Interrupted,
                prompt: prompt.text,
                author: prompt.author,
                images: prompt.images,
                agent: None,
                backend: record.body.backend.clone(),
                model: record.body.model.clone(),
                started_at: now,
                ended_at: Some(now),
                response: None,
                error: None,
                checkpoint: None,
                checkpoint_failed: false,
                undone: false,
                usage: Usage::default(),
            };
            Ok(vec![Change::Turn(body.row(id, turn, None)), event(id, &Payload::TurnInterrupted { turn, reason })])
        }
        Fact::Status
        | Fact::TurnStarted
        | Fact::WaitBegan(_)
        | Fact::WaitEnded(_)
        | Fact::ResponseRefused
        | Fact::WaitsCancelled => Ok(Vec::new()),
    }
}
