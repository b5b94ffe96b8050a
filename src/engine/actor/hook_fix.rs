//! A merge that a commit hook stopped goes on by itself: the agent fixes what the hook reports, and it is merged again.
//!
//! The intent is stored with the prompt, in one write, and lives as long as the daemon: whatever ends it otherwise is told
//! as an event. While it stands, the session is in a turn, being merged, or about to be.

use std::path::PathBuf;

use crate::api;
use crate::api::event::{Payload, PromptAuthor};
use crate::api::request::{Merge, MergeHooks, MergeStyle};
use crate::git::merge::Hook;
use crate::protocol::prompt::{self, HookRefusal};
use crate::session::{
    AfterFix, AfterHook, FixObstacle, FixStop, FixWork, HOOK_FIX_ROUNDS, Integration, MergeWish, Outcome, PromptQueue,
    Session, after_fix, after_hook,
};
use crate::store::Durability;

use super::super::crash;
use super::super::fault::{Fault, last_lines};
use super::super::record::{HookFixRecord, PromptBody};
use super::command::Place;
use super::conflict::short;
use super::tree::FileUse;
use super::turn::TurnRun;
use super::{Actor, Command};

/// A merge that a commit hook stopped, and that the agent is to be asked about.
pub(super) struct StoppedMerge {
    pub(super) hook: Hook,
    pub(super) output: String,
    pub(super) style: MergeStyle,
    /// The branch, as people call it.
    pub(super) base: String,
}

impl Actor {
    pub(super) async fn merge(&mut self, request: Merge) -> Result<(), Fault> {
        match self.merge_once(&request, 0).await? {
            Some(stopped) => self.ask_for_fix(stopped, &request, 1).await,
            None => Ok(()),
        }
    }

    /// Whether a fix is done and the merge follows as soon as nothing else has come in.
    pub(super) fn is_merge_due(&self) -> bool {
        match self.state {
            Session::Resting(_) => self.record.body.hook_fix.is_some(),
            Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => false,
        }
    }

    /// Merges after a fix. Nobody waits for the answer, so what stops it is a fact.
    pub(super) async fn merge_again(&mut self) {
        let Some(fix) = self.record.body.hook_fix.clone() else { return };
        if self.closing.is_some() {
            return self.stop_fix(fix.stopped(self.id, FixStop::DaemonEnds)).await;
        }
        let done = match self.merge_once(&fix.merge, fix.round).await {
            Ok(Some(stopped)) => self.ask_for_fix(stopped, &fix.merge, fix.round + 1).await,
            Ok(None) => Ok(()),
            Err(fault) => Err(fault),
        };
        match done {
            // It is merged, or the agent works again.
            Ok(()) if !self.is_merge_due() => {}
            Ok(()) => self.stop_fix(fix.stopped(self.id, FixStop::BaseCame)).await,
            Err(fault) => {
                // An event holds no patch, and nobody is to agree to what they were not shown.
                let style = if let Fault::HookChanged { style, .. } = &fault { Some(style.clone()) } else { None };
                let shows = style.map(|style| {
                    format!("`coppice merge {}{style}` shows these changes, and how to agree to them", self.id)
                });
                let api::error::Error { message, causes, hint, .. } = fault.into();
                let hint = shows.or(hint).unwrap_or_else(|| format!("`coppice merge {}` tries again", self.id));
                let reason = format!("not merged: {message}");
                self.stop_fix(Payload::HookFixStopped { reason, causes, hint }).await;
            }
        }
    }

    /// A hook stopped the merge: it is refused, or the agent is asked.
    pub(super) async fn stopped_by_hook(
        &mut self,
        stopped: StoppedMerge,
        request: &Merge,
        rounds: u32,
    ) -> Result<Option<StoppedMerge>, Fault> {
        let next = match (&request.hooks, self.state) {
            (MergeHooks::Fix, Session::Integrating(before)) => after_hook(rounds, before, self.prompt_queue()),
            (
                MergeHooks::Check
                | MergeHooks::AcceptChanges
                | MergeHooks::AcceptOnly(_)
                | MergeHooks::Fix
                | MergeHooks::Skip,
                _,
            ) => AfterHook::LeaveToPerson(FixObstacle::NotWanted),
        };
        match next {
            AfterHook::AskAgent { .. } => {
                // Nobody is to see the session at rest before the prompt is there.
                self.follows = true;
                self.integrated((Integration::Refused, Ok(()))).await.map(|()| Some(stopped))
            }
            AfterHook::LeaveToPerson(obstacle) => {
                let fault = self.hook_failed(stopped.hook, stopped.output, obstacle);
                self.integrated((Integration::Refused, Err(fault))).await.map(|()| None)
            }
        }
    }

    pub(super) fn hook_failed(&self, hook: Hook, output: String, obstacle: FixObstacle) -> Fault {
        Fault::HookFailed { id: self.id, hook: hook.name().to_owned(), output, obstacle }
    }

    fn prompt_queue(&self) -> PromptQueue {
        match (self.closing.is_some() || self.shared.slots.is_draining(), self.record.body.order.is_empty()) {
            (true, _) => PromptQueue::Closed,
            (false, true) => PromptQueue::Empty,
            (false, false) => PromptQueue::Waiting,
        }
    }

    /// Stores the intent with the prompt that asks the agent, in one write, and begins the turn.
    async fn ask_for_fix(&mut self, stopped: StoppedMerge, request: &Merge, round: u32) -> Result<(), Fault> {
        let StoppedMerge { hook, output, style, base } = stopped;
        let text = prompt::hook_fix(HookRefusal { hook: hook.name(), base: &base, output: &output });
        let fix = HookFixRecord {
            hook: hook.name().to_owned(),
            round,
            prompt: self.record.body.prompts + 1,
            merge: HookFixRecord::repeat(request, style),
        };
        let (hook, output) = (fix.hook.clone(), last_lines(&output));
        self.staged.push(Payload::HookFixStarted { hook, output, round, rounds: HOOK_FIX_ROUNDS });
        let before = self.record.body.hook_fix.replace(fix.clone());
        self.follows = true;
        crash::point();
        let prompt = PromptBody { text, author: PromptAuthor::Coppice, ..PromptBody::default() };
        if let Err(fault) = self.queue(prompt, Place::First).await {
            self.record.body.hook_fix = before;
            return Err(fault);
        }
        crash::point();
        self.start().await;
        if self.is_merge_due() {
            self.stop_fix(fix.stopped(self.id, FixStop::NotBegun)).await;
        }
        Ok(())
    }

    /// A turn ends: what was to follow a fix follows it or is told to stop, in the same write.
    pub(super) fn end_fix(&mut self, outcome: Outcome, turn: &TurnRun) {
        let Some(fix) = &self.record.body.hook_fix else { return };
        let wish = match (self.prompt_queue(), self.is_stopped_late) {
            (PromptQueue::Closed, _) => MergeWish::DaemonEnds,
            (PromptQueue::Empty | PromptQueue::Waiting, true) => MergeWish::Stopped,
            (PromptQueue::Empty | PromptQueue::Waiting, false) => MergeWish::Stands,
        };
        let told = turn.response.as_ref().and_then(|response| response.summary.as_ref());
        let summary = self.record.body.summary.as_ref();
        let is_reworded = fix.hook == Hook::CommitMsg.name()
            && told.is_some_and(|told| summary.is_none_or(|summary| summary.session != told.session));
        let work = match (self.record.body.is_uncommitted(), &turn.checkpoint) {
            (true, _) => FixWork::Uncommitted,
            (false, Some(_)) => FixWork::Committed,
            (false, None) if is_reworded => FixWork::Reworded,
            (false, None) => FixWork::Unchanged,
        };
        if let AfterFix::Stop(stop) = after_fix(outcome, wish, work) {
            self.staged.push(fix.stopped(self.id, stop));
            self.record.body.hook_fix = None;
        }
    }

    /// A person does something else before the merge follows. Returns whether that was all they wanted.
    pub(super) async fn ends_due_merge(&mut self, command: &Command) -> Result<bool, Fault> {
        let stops = matches!(command, Command::Stop | Command::Abort { .. });
        let uses_files = match command.file_use() {
            FileUse::Continue | FileUse::Integrate | FileUse::Reset => true,
            FileUse::Nothing => matches!(command, Command::Remove),
        };
        let Some(fix) = self.record.body.hook_fix.as_ref().filter(|_| self.is_merge_due()) else { return Ok(false) };
        if !stops && !uses_files {
            return Ok(false);
        }
        let stop = if stops { FixStop::Stopped } else { FixStop::OtherAct };
        self.stop_fix(fix.stopped(self.id, stop)).await;
        Ok(stops)
    }

    async fn stop_fix(&mut self, fact: Payload) {
        self.record.body.hook_fix = None;
        self.staged.push(fact);
        if let Err(error) = self.persist(Durability::Full, Vec::new()).await {
            self.give_up(&error).await;
        }
    }

    /// Refuses to merge after a fix where the work changes the hooks themselves: nobody has looked at what judges it.
    pub(super) fn refuse_changed_hooks(&self, changed: &[PathBuf], target: &str) -> Result<(), Fault> {
        let (Some(path), Some(_)) = (changed.first(), &self.record.body.hook_fix) else { return Ok(()) };
        let reason = format!("the session changes the commit hook `{}`, and nobody has looked at that", path.display());
        let hint = format!("look with `coppice diff {0}`, then `coppice merge {0}`", self.id);
        Err(Fault::MergeRefused { target: short(target).to_owned(), reason, hint })
    }
}
