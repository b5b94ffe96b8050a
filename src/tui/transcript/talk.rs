//! Facts that are told beside the work, each on one line.

use crate::api::event::{Engine, Payload};
use crate::api::session::Changes;
use crate::look::line::{Tone, one_line};
use crate::look::status::{self, count};

/// What a fact says, or nothing where a card, a row or the header shows it.
pub(super) fn talk(payload: &Payload) -> Option<(Tone, String)> {
    let said = |tone, text: String| Some((tone, text));
    let quiet = |text: String| Some((Tone::Dim, text));
    match payload {
        Payload::SessionCreated { backend, model, base, branch, .. } => {
            let engine = status::engine(backend, model.as_deref());
            quiet(format!("{} on {}, from {}", one_line(&engine), one_line(branch), one_line(&base.name)))
        }
        Payload::TitleChanged { title } => quiet(format!("title: {}", one_line(title))),
        Payload::PromptDropped { number } => quiet(format!("prompt {number} is not sent")),
        Payload::Preparing { step, how } => quiet(match how {
            Some(how) => format!("preparing: {} ({})", one_line(step), one_line(how)),
            None => format!("preparing: {}", one_line(step)),
        }),
        Payload::SetupOutput { command, exit, .. } => exit.and_then(|exit| {
            let tone = if exit == 0 { Tone::Dim } else { Tone::Warn };
            said(tone, format!("setup: `{}` ended with {exit}", one_line(command)))
        }),
        Payload::Switched { from, to, .. } => quiet(format!("switched from {} to {}", engine(from), engine(to))),
        Payload::QuestionAnswered { index, answer, .. } => {
            said(Tone::Accent, format!("▏you answered {}: {}", index + 1, folded(answer)))
        }
        Payload::QuestionGone { outcome, .. } => quiet(format!("question {}", one_line(outcome))),
        Payload::Retry { reason, .. } => said(Tone::Warn, format!("trying again: {}", one_line(reason))),
        Payload::Checkpoint { commit, changes, .. } => {
            quiet(format!("committed {}: {}", short(commit), changed(*changes)))
        }
        Payload::TurnInterrupted { reason, .. } => said(Tone::Warn, format!("‖ interrupted: {}", one_line(reason))),
        Payload::Undone { to, commit, .. } => quiet(match to {
            0 => format!("undo: the files are as on the base, at {}", short(commit)),
            turn => format!("undo: the files are as after turn {turn}, at {}", short(commit)),
        }),
        Payload::Integrated { commit, files, .. } if files.is_empty() => quiet(format!("integrated {}", short(commit))),
        Payload::Integrated { commit, files, .. } => {
            quiet(format!("integrated {}: {}", short(commit), one_line(&files.join(", "))))
        }
        Payload::Merged { commit, target, style } => {
            let target = one_line(target.trim_start_matches("refs/heads/"));
            said(Tone::Good, format!("⇡ merged into {target} as {} ({})", short(commit), one_line(style)))
        }
        Payload::MergeUndone { commit, target, reverted_by } => {
            let target = one_line(target.trim_start_matches("refs/heads/"));
            let how = match reverted_by {
                Some(revert) => format!("reverted by {}", short(revert)),
                None => "the branch went back".to_owned(),
            };
            said(Tone::Warn, format!("⇣ merge {} into {target} undone: {how}", short(commit)))
        }
        Payload::HookFixStarted { hook, round, rounds, .. } => said(
            Tone::Warn,
            format!("⚑ the hook {} stopped the merge: the agent is to fix it ({round} of {rounds})", one_line(hook)),
        ),
        Payload::HookFixStopped { reason, hint, .. } => {
            said(Tone::Bad, format!("⚑ {}; {}", one_line(reason), one_line(hint)))
        }
        Payload::Conflict { files, with } => {
            said(Tone::Bad, format!("⚑ conflict with {}: {}", one_line(with), one_line(&files.join(", "))))
        }
        Payload::Archived {} => quiet("archived".to_owned()),
        Payload::Removed { salvage: Some(salvage) } => {
            quiet(format!("removed: unmerged work is kept in {}", one_line(salvage)))
        }
        Payload::Removed { salvage: None } => quiet("removed".to_owned()),
        Payload::Saved { reference, commit } => quiet(format!("saved {} in {}", short(commit), one_line(reference))),
        Payload::Restored {} => quiet("restored".to_owned()),
        Payload::PostureChanged { posture, yolo: true } => {
            said(Tone::Bad, format!("posture: {}, YOLO", one_line(posture)))
        }
        Payload::PostureChanged { posture, yolo: false } => quiet(format!("posture: {}", one_line(posture))),
        Payload::Attached { program } => quiet(match program.as_str() {
            "agent" => "a person talks to the agent directly".to_owned(),
            program => format!("a person works in the worktree ({})", one_line(program)),
        }),
        Payload::Detached { program, changes, .. } => {
            let left = match changes {
                Some(changes) => changed(*changes),
                None => "what was changed is committed with what comes next".to_owned(),
            };
            quiet(match program.as_str() {
                "agent" => format!("what was said to the agent directly is not shown here · {left}"),
                program => format!("the person left ({}) · {left}", one_line(program)),
            })
        }
        Payload::Warning { message } => said(Tone::Warn, format!("warning: {}", one_line(message))),
        Payload::PromptQueued { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolStarted { .. }
        | Payload::ToolFinished { .. }
        | Payload::ApprovalRequested { .. }
        | Payload::ApprovalResolved { .. }
        | Payload::QuestionAsked { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::SubagentEvent { .. }
        | Payload::WorkflowUpdated { .. }
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::Reworded { .. }
        | Payload::TurnCompleted { .. }
        | Payload::TurnFailed { .. } => None,
    }
}

/// The first line, and how many follow.
pub(super) fn folded(text: &str) -> String {
    match text.trim().lines().count() {
        0 | 1 => one_line(text),
        lines => format!("{} (+{} lines)", one_line(text), lines - 1),
    }
}

fn engine(engine: &Engine) -> String {
    let reasoning = engine.reasoning.as_ref().map(|level| format!(" ({level})")).unwrap_or_default();
    one_line(&(status::engine(&engine.backend, engine.model.as_deref()) + &reasoning))
}

fn changed(changes: Changes) -> String {
    match changes {
        Changes { files: 0, .. } => "no file changed".to_owned(),
        Changes { files, insertions, deletions } => {
            format!("{} +{insertions} −{deletions}", count(files as usize, "file"))
        }
    }
}

/// A commit as people write it.
fn short(commit: &str) -> String {
    one_line(commit.get(..10).unwrap_or(commit))
}
