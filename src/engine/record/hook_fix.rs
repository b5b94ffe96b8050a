//! A merge that a commit hook stopped, while the agent fixes what the hook reports.

use serde::{Deserialize, Serialize};

use crate::api::event::Payload;
use crate::api::request::{Merge, MergeHooks, MergeStyle, MergeUnseen};
use crate::api::session::HookFix;
use crate::id::SessionId;
use crate::session::{FixStop, HOOK_FIX_ROUNDS};

/// What goes on by itself, as long as nobody does anything else with the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct HookFixRecord {
    pub(in super::super) hook: String,
    pub(in super::super) round: u32,
    /// The number of the prompt that asks the agent.
    pub(in super::super) prompt: u32,
    /// The merge that follows.
    pub(in super::super) merge: Merge,
}

impl HookFixRecord {
    /// The merge that follows a fix. Consent to whatever is there was given to what the person could see; consent that
    /// names its content by a hash stays, because it can never cover anything else.
    pub(in super::super) fn repeat(merge: &Merge, style: MergeStyle) -> Merge {
        let unseen = match &merge.unseen {
            MergeUnseen::Refuse | MergeUnseen::Accept => MergeUnseen::Refuse,
            MergeUnseen::AcceptOnly(ids) => MergeUnseen::AcceptOnly(ids.clone()),
        };
        Merge { style: Some(style), hooks: MergeHooks::Fix, unseen, ssh_agent: merge.ssh_agent.clone() }
    }

    pub(in super::super) fn view(&self) -> HookFix {
        HookFix { hook: self.hook.clone(), round: self.round, rounds: HOOK_FIX_ROUNDS }
    }

    /// The fact that it does not go on, and what a person can do.
    pub(in super::super) fn stopped(&self, id: SessionId, stop: FixStop) -> Payload {
        let hook = &self.hook;
        let again = format!("`coppice merge {id} --fix-hooks`");
        let (reason, hint) = match stop {
            FixStop::TurnFailed => (
                format!("not merged: the turn that was to fix the hook `{hook}` failed"),
                format!("`coppice resume {id}` repeats the turn, then {again}"),
            ),
            FixStop::Stopped => {
                (format!("not merged: fixing the hook `{hook}` was stopped"), format!("{again} tries again"))
            }
            FixStop::AgentAsks => (
                format!("not merged: the agent has a question about the hook `{hook}`"),
                format!("`coppice answer {id}`, then {again}"),
            ),
            FixStop::Unchanged => (
                format!("not merged: the agent changed nothing that could make the hook `{hook}` pass"),
                format!(
                    "`coppice show {id}` shows what the agent said; fix what the hook reports, or merge without hooks: \
                     `coppice merge {id} --no-verify`"
                ),
            ),
            FixStop::Uncommitted => (
                format!("not merged: what the agent changed for the hook `{hook}` could not be committed"),
                format!("`coppice show {id}` says why; then {again}"),
            ),
            // Whether it was merged right before that, nobody knows here.
            FixStop::DaemonEnds => (
                format!("the daemon ended while the hook `{hook}` was being fixed: nothing more is merged by itself"),
                format!("`coppice show {id}` says where it stands; {again} tries again"),
            ),
            FixStop::OtherPrompt => (
                format!("not merged: another prompt was sent while the hook `{hook}` was being fixed"),
                format!("once its turn is done: {again}"),
            ),
            FixStop::OtherAct => (
                format!("not merged: something else was done while the hook `{hook}` was being fixed"),
                format!("{again} tries again"),
            ),
            FixStop::BaseCame => (
                "not merged: the base branch has changed and came into the worktree".to_owned(),
                format!("look with `coppice diff {id}`, then {again}"),
            ),
            FixStop::NotBegun => (
                format!("not merged: the prompt to fix the hook `{hook}` could not begin"),
                format!("{again} tries again"),
            ),
        };
        Payload::HookFixStopped { reason, causes: Vec::new(), hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_carries_over_only_where_it_names_its_content() {
        let ids = MergeUnseen::AcceptOnly(vec!["0a1b".into()]);
        for (unseen, expected) in
            [(MergeUnseen::Refuse, MergeUnseen::Refuse), (MergeUnseen::Accept, MergeUnseen::Refuse), (ids.clone(), ids)]
        {
            for hooks in [MergeHooks::Fix, MergeHooks::AcceptChanges, MergeHooks::Skip] {
                let merge = Merge { hooks, unseen: unseen.clone(), ssh_agent: Some("s".into()), ..Merge::default() };
                let expected = Merge {
                    style: Some(MergeStyle::NoFf),
                    hooks: MergeHooks::Fix,
                    unseen: expected.clone(),
                    ssh_agent: Some("s".into()),
                };
                assert_eq!(HookFixRecord::repeat(&merge, MergeStyle::NoFf), expected);
            }
        }
    }
}
