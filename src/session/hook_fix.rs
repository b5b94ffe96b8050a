//! Whether a merge that a commit hook stopped goes on by itself: after the hook, and after the turn that was to fix it.
//! Pure; the engine sends the prompt and merges.

use super::{Outcome, Rest};

/// How many turns an agent gets to fix what the hooks of one merge report.
pub const HOOK_FIX_ROUNDS: u32 = 2;

/// What waits when a commit hook stops a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptQueue {
    Empty,
    Waiting,
    /// The daemon ends: no further turn begins.
    Closed,
}

/// What follows a commit hook that stopped a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterHook {
    AskAgent { round: u32 },
    LeaveToPerson(FixObstacle),
}

/// Why the agent is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixObstacle {
    /// Nobody wanted that.
    NotWanted,
    RoundsUsedUp,
    PromptsWait,
    QuestionOpen,
    DaemonEnds,
}

/// Decides after a hook stopped a merge for which the agent was asked in `rounds` turns already.
pub fn after_hook(rounds: u32, rest: Rest, queue: PromptQueue) -> AfterHook {
    let has_rounds = rounds < HOOK_FIX_ROUNDS;
    AfterHook::LeaveToPerson(match (queue, rest) {
        (PromptQueue::Closed, _) => FixObstacle::DaemonEnds,
        // These were accepted first, and may be about something else.
        (PromptQueue::Waiting, _) => FixObstacle::PromptsWait,
        // Another prompt would take the question away.
        (PromptQueue::Empty, Rest::Asking) => FixObstacle::QuestionOpen,
        (
            PromptQueue::Empty,
            Rest::Draft
            | Rest::Ready
            | Rest::Failed
            | Rest::Interrupted
            | Rest::Conflict
            | Rest::Merged
            | Rest::Archived,
        ) => match has_rounds {
            true => return AfterHook::AskAgent { round: rounds + 1 },
            false => FixObstacle::RoundsUsedUp,
        },
    })
}

/// What the turn left that was to fix a hook's complaint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixWork {
    Committed,
    /// No file changed, but the message did that the hook judges.
    Reworded,
    Unchanged,
    /// What it changed is in no commit.
    Uncommitted,
}

/// Whether the merge is still wanted when that turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeWish {
    Stands,
    /// A person stopped the turn as it ended.
    Stopped,
    DaemonEnds,
}

/// What follows a turn that was to fix a hook's complaint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFix {
    MergeAgain,
    Stop(FixStop),
}

/// Why a merge does not go on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixStop {
    TurnFailed,
    Stopped,
    AgentAsks,
    Unchanged,
    Uncommitted,
    DaemonEnds,
    /// A person sent another prompt.
    OtherPrompt,
    /// A person did something else with the session.
    OtherAct,
    /// The base came into the worktree, and nobody has looked at the result.
    BaseCame,
    /// The prompt could not begin.
    NotBegun,
}

/// Decides after the turn that was to fix a hook's complaint.
pub fn after_fix(outcome: Outcome, wish: MergeWish, work: FixWork) -> AfterFix {
    AfterFix::Stop(match (outcome, wish, work) {
        (Outcome::Failed, _, _) => FixStop::TurnFailed,
        (Outcome::Asked, _, _) => FixStop::AgentAsks,
        (Outcome::Interrupted | Outcome::Completed, MergeWish::DaemonEnds, _) => FixStop::DaemonEnds,
        (Outcome::Interrupted, MergeWish::Stands | MergeWish::Stopped, _)
        | (Outcome::Completed, MergeWish::Stopped, _) => FixStop::Stopped,
        (Outcome::Completed, MergeWish::Stands, FixWork::Uncommitted) => FixStop::Uncommitted,
        (Outcome::Completed, MergeWish::Stands, FixWork::Unchanged) => FixStop::Unchanged,
        (Outcome::Completed, MergeWish::Stands, FixWork::Committed | FixWork::Reworded) => {
            return AfterFix::MergeAgain;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_asked_twice_and_only_where_nothing_else_waits() {
        let leave = AfterHook::LeaveToPerson;
        for (rounds, rest, queue, expected) in [
            (0, Rest::Ready, PromptQueue::Empty, AfterHook::AskAgent { round: 1 }),
            (1, Rest::Ready, PromptQueue::Empty, AfterHook::AskAgent { round: 2 }),
            (2, Rest::Ready, PromptQueue::Empty, leave(FixObstacle::RoundsUsedUp)),
            (9, Rest::Ready, PromptQueue::Empty, leave(FixObstacle::RoundsUsedUp)),
            (0, Rest::Interrupted, PromptQueue::Empty, AfterHook::AskAgent { round: 1 }),
            (0, Rest::Failed, PromptQueue::Empty, AfterHook::AskAgent { round: 1 }),
            (0, Rest::Conflict, PromptQueue::Empty, AfterHook::AskAgent { round: 1 }),
            (0, Rest::Asking, PromptQueue::Empty, leave(FixObstacle::QuestionOpen)),
            (0, Rest::Ready, PromptQueue::Waiting, leave(FixObstacle::PromptsWait)),
            (0, Rest::Asking, PromptQueue::Waiting, leave(FixObstacle::PromptsWait)),
            (0, Rest::Ready, PromptQueue::Closed, leave(FixObstacle::DaemonEnds)),
        ] {
            assert_eq!(after_hook(rounds, rest, queue), expected, "{rounds} {rest:?} {queue:?}");
        }
    }

    #[test]
    fn only_a_completed_turn_with_changes_is_followed_by_the_merge() {
        use {FixStop as S, FixWork as W, MergeWish as M, Outcome as O};
        let works = [W::Committed, W::Reworded, W::Unchanged, W::Uncommitted];
        for (outcome, wish, expected) in [
            (O::Completed, M::Stands, [None, None, Some(S::Unchanged), Some(S::Uncommitted)]),
            (O::Completed, M::Stopped, [Some(S::Stopped); 4]),
            (O::Completed, M::DaemonEnds, [Some(S::DaemonEnds); 4]),
            (O::Interrupted, M::Stands, [Some(S::Stopped); 4]),
            (O::Interrupted, M::Stopped, [Some(S::Stopped); 4]),
            (O::Interrupted, M::DaemonEnds, [Some(S::DaemonEnds); 4]),
            (O::Asked, M::Stands, [Some(S::AgentAsks); 4]),
            (O::Asked, M::DaemonEnds, [Some(S::AgentAsks); 4]),
            (O::Failed, M::Stands, [Some(S::TurnFailed); 4]),
            (O::Failed, M::Stopped, [Some(S::TurnFailed); 4]),
        ] {
            let found = works.map(|work| match after_fix(outcome, wish, work) {
                AfterFix::MergeAgain => None,
                AfterFix::Stop(stop) => Some(stop),
            });
            assert_eq!(found, expected, "{outcome:?} {wish:?}");
        }
    }
}
