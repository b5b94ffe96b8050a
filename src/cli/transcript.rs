//! Events as lines: each fact in a few words, for `events` and for the talk beside a followed turn.

use jiff::tz::TimeZone;

use super::age::clock;
use super::line::{Line, Tone, one_line};
use super::status::count;
use crate::api::event::{Event, Payload};

/// One line of `coppice events`.
pub(super) fn event_line(event: &Event, zone: &TimeZone) -> Line {
    Line::new()
        .dim(format!("{:>6}  {}  ", event.seq, clock(event.at, zone)))
        .strong(&event.session)
        .with(tone(&event.payload), format!("  {:<18}  ", event.payload.kind()))
        .plain(detail(&event.payload))
}

/// What a person who follows a session is told beside the answer; `None` for facts that the answer or the end shows.
pub(super) fn talk(payload: &Payload) -> Option<Line> {
    let said = |tone, text: String| Some(Line::toned(tone, text));
    match payload {
        Payload::Preparing { .. } => said(Tone::Dim, format!("preparing: {}", detail(payload))),
        Payload::SetupOutput { .. } => said(Tone::Dim, format!("setup: {}", detail(payload))),
        Payload::ToolStarted { title, .. } => said(Tone::Dim, format!("· {}", one_line(title))),
        Payload::ToolFinished { ok: false, title, output, .. } => {
            said(Tone::Warn, format!("· {} failed: {}", one_line(title), last_line(output)))
        }
        Payload::ApprovalResolved { .. } => said(Tone::Dim, format!("approval {}", detail(payload))),
        Payload::QuestionAnswered { .. } => said(Tone::Dim, format!("answered {}", detail(payload))),
        Payload::Retry { reason, .. } => said(Tone::Warn, format!("trying again: {}", one_line(reason))),
        Payload::Checkpoint { .. } => said(Tone::Dim, format!("committed {}", detail(payload))),
        Payload::Conflict { .. } => said(Tone::Bad, format!("conflict {}", detail(payload))),
        Payload::Merged { .. } => said(Tone::Good, format!("merged {}", detail(payload))),
        Payload::Warning { message } => said(Tone::Warn, format!("warning: {}", one_line(message))),
        Payload::SessionCreated { .. }
        | Payload::PromptQueued { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolFinished { ok: true, .. }
        | Payload::ApprovalRequested { .. }
        | Payload::QuestionAsked { .. }
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::TurnCompleted { .. }
        | Payload::TurnFailed { .. }
        | Payload::TurnInterrupted { .. }
        | Payload::Undone { .. }
        | Payload::Integrated { .. }
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Restored {} => None,
    }
}

fn tone(payload: &Payload) -> Tone {
    match payload {
        Payload::TurnFailed { .. } | Payload::TurnInterrupted { .. } | Payload::Conflict { .. } => Tone::Bad,
        Payload::ApprovalRequested { .. }
        | Payload::QuestionAsked { .. }
        | Payload::Warning { .. }
        | Payload::Retry { .. } => Tone::Warn,
        Payload::TurnCompleted { .. }
        | Payload::Merged { .. }
        | Payload::Checkpoint { .. }
        | Payload::Integrated { .. } => Tone::Good,
        Payload::SessionCreated { .. }
        | Payload::PromptQueued { .. }
        | Payload::Preparing { .. }
        | Payload::SetupOutput { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolStarted { .. }
        | Payload::ToolFinished { .. }
        | Payload::ApprovalResolved { .. }
        | Payload::QuestionAnswered { .. }
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::Undone { .. }
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Restored {} => Tone::Accent,
    }
}

/// The fact on one line.
fn detail(payload: &Payload) -> String {
    match payload {
        Payload::SessionCreated { title, backend, base, .. } => {
            format!("{} on {backend}, from {}", one_line(title), base.name)
        }
        Payload::PromptQueued { number, text } => format!("{number}: {}", folded(text)),
        Payload::Preparing { step, how } => match how {
            Some(how) => format!("{step} ({how})"),
            None => step.clone(),
        },
        Payload::SetupOutput { command, text, exit } => match exit {
            Some(exit) => format!("`{}` ended with {exit}", one_line(command)),
            None => folded(text),
        },
        Payload::TurnStarted { turn, delivery, .. } => format!("turn {turn} ({delivery})"),
        Payload::Message { text, .. } | Payload::Thought { text, .. } => folded(text),
        Payload::ToolStarted { tool, title, .. } => format!("{tool}: {}", one_line(title)),
        Payload::ToolFinished { tool, title, ok, output, .. } => match ok {
            true => format!("{tool}: {}", one_line(title)),
            false => format!("{tool}: {} failed: {}", one_line(title), last_line(output)),
        },
        Payload::ApprovalRequested { approval, .. } => format!("{}: {}", approval.id, one_line(&approval.title)),
        Payload::ApprovalResolved { approval, outcome, message } => match message {
            Some(message) => format!("{approval} {outcome}: {}", one_line(message)),
            None => format!("{approval} {outcome}"),
        },
        Payload::QuestionAsked { questions, .. } => {
            questions.iter().map(|question| one_line(&question.text)).collect::<Vec<_>>().join(" · ")
        }
        Payload::QuestionAnswered { index, answer } => format!("{}: {}", index + 1, folded(answer)),
        Payload::PlanUpdated { entries, .. } => {
            let done = entries.iter().filter(|entry| entry.status == "completed").count();
            format!("{done} of {} done", count(entries.len(), "step"))
        }
        Payload::Usage { usage, .. } => format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens),
        Payload::Retry { reason, .. } => one_line(reason),
        Payload::Checkpoint { turn, commit, changes } => format!(
            "{} for turn {turn}: {}, +{} -{}",
            short(commit),
            count(changes.files as usize, "file"),
            changes.insertions,
            changes.deletions
        ),
        Payload::TurnCompleted { turn, response } => match response.questions.len() {
            0 => format!("turn {turn}: {}", folded(&response.answer)),
            asked => format!("turn {turn}, {}: {}", count(asked, "question"), folded(&response.answer)),
        },
        Payload::TurnFailed { turn, error } => format!("turn {turn}, {}: {}", error.kind, one_line(&error.message)),
        Payload::TurnInterrupted { turn, reason } => format!("turn {turn}: {}", one_line(reason)),
        Payload::Undone { to, commit, .. } => format!("back to turn {to} at {}", short(commit)),
        Payload::Integrated { commit, style } => format!("{} ({style})", short(commit)),
        Payload::Merged { commit, target, style } => {
            format!("into {} as {} ({style})", target.trim_start_matches("refs/heads/"), short(commit))
        }
        Payload::Conflict { files, with } => format!("with {with}: {}", files.join(", ")),
        Payload::Archived {} | Payload::Restored {} => String::new(),
        Payload::Removed { salvage } => match salvage {
            Some(salvage) => format!("unmerged work is kept in {salvage}"),
            None => "nothing was left to keep".to_owned(),
        },
        Payload::Warning { message } => one_line(message),
    }
}

/// The first line, and how many follow.
fn folded(text: &str) -> String {
    match text.trim().lines().count() {
        0 | 1 => one_line(text),
        lines => format!("{} (+{} lines)", one_line(text), lines - 1),
    }
}

fn last_line(text: &str) -> String {
    one_line(text.trim().lines().next_back().unwrap_or_default())
}

/// A commit as people write it.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
