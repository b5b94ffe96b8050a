//! Following a session: what of its stream is shown where, and when following ends. Pure; `run` and `wait` feed it.

#[cfg(test)]
mod tests;

use super::card::{self, Length};
use super::child::Children;
use super::line::{Line, Tone, one_line};
use super::show::question_lines;
use super::status::{self, count};
use super::transcript;
use crate::api::event::{Block, Live, Payload};
use crate::api::session::{Approval, Session, Status, WaitingFor};
use crate::client::events::Item;

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// More of the answer: data.
    Answer(String),
    /// Something beside it: talk.
    Talk(Line),
    /// How far a long step is; the next piece replaces it.
    Progress(Line),
}

/// Remembers how much of the answer was shown, so that nothing is shown twice however the stream delivers it.
#[derive(Debug, Default)]
pub(super) struct Follower {
    /// The block in progress as far as it was shown.
    current: String,
    /// The last block that ended.
    closed: String,
    line_is_open: bool,
    children: Children,
}

impl Follower {
    pub(super) fn item(&mut self, item: &Item) -> Vec<Piece> {
        match item {
            Item::Live(record) => self.live(record),
            // A type of fact that this version does not know is skipped.
            Item::Fact { .. } => item.fact().map(|event| self.event(&event.payload)).unwrap_or_default(),
        }
    }

    fn event(&mut self, payload: &Payload) -> Vec<Piece> {
        match payload {
            Payload::TurnStarted { .. } | Payload::Retry { .. } => {
                let line_end = self.end_line();
                self.current.clear();
                self.closed.clear();
                line_end.into_iter().chain(transcript::talk(payload).map(Piece::Talk)).collect()
            }
            Payload::Message { text, .. } => self.close_block(text),
            Payload::TurnCompleted { response, .. } => {
                self.children.clear();
                self.complete(&response.answer)
            }
            Payload::TurnFailed { .. } | Payload::TurnInterrupted { .. } => {
                self.children.clear();
                self.talk(payload)
            }
            Payload::HandoffUpdated { handoff, .. } => {
                let line = self.children.handoff(handoff);
                self.say(line)
            }
            Payload::SubagentEvent { origin, event } => {
                let line = self.children.event(origin, &event.payload);
                self.say(line)
            }
            Payload::SessionCreated { .. }
            | Payload::TitleChanged { .. }
            | Payload::PromptQueued { .. }
            | Payload::Switched { .. }
            | Payload::Preparing { .. }
            | Payload::SetupOutput { .. }
            | Payload::Thought { .. }
            | Payload::ToolStarted { .. }
            | Payload::ToolFinished { .. }
            | Payload::ApprovalRequested { .. }
            | Payload::ApprovalResolved { .. }
            | Payload::QuestionAsked { .. }
            | Payload::QuestionAnswered { .. }
            | Payload::QuestionGone { .. }
            | Payload::WorkflowUpdated { .. }
            | Payload::PlanUpdated { .. }
            | Payload::Usage { .. }
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
            | Payload::PromptDropped { .. }
            | Payload::Attached { .. }
            | Payload::Detached { .. }
            | Payload::PostureChanged { .. }
            | Payload::Restored {}
            | Payload::Warning { .. } => self.talk(payload),
        }
    }

    fn talk(&mut self, payload: &Payload) -> Vec<Piece> {
        self.say(transcript::talk(payload))
    }

    /// Talk begins on a line of its own, also where data and talk share a screen.
    fn say(&mut self, line: Option<Line>) -> Vec<Piece> {
        let Some(line) = line else { return Vec::new() };
        self.end_line().into_iter().chain([Piece::Talk(line)]).collect()
    }

    fn live(&mut self, record: &Live) -> Vec<Piece> {
        match record {
            Live::Delta { block: Block::Message, text, .. } => self.grow(text),
            Live::InProgress { block: Block::Message, text, .. } => match text.strip_prefix(self.current.as_str()) {
                Some(missing) => self.grow(missing),
                // Another block than the one that was shown before the stream was interrupted.
                None => {
                    let line_end = self.end_line();
                    self.current.clear();
                    line_end.into_iter().chain(self.grow(text)).collect()
                }
            },
            Live::Progress { step, done, total, .. } => {
                vec![Piece::Progress(Line::new().dim(format!("preparing: {step} {done}/{total}")))]
            }
            Live::Delta { block: Block::Thought | Block::Tool { .. }, .. }
            | Live::InProgress { block: Block::Thought | Block::Tool { .. }, .. }
            | Live::SubagentEvent { .. }
            | Live::Status { .. } => Vec::new(),
        }
    }

    fn grow(&mut self, text: &str) -> Vec<Piece> {
        self.current.push_str(text);
        self.show(text).into_iter().collect()
    }

    /// A block that ended without having been streamed is not known to be the answer, so it is talk until the turn ends.
    fn close_block(&mut self, text: &str) -> Vec<Piece> {
        let shown = std::mem::take(&mut self.current);
        match text.strip_prefix(shown.as_str()) {
            Some(missing) if !shown.is_empty() => {
                self.closed = text.to_owned();
                self.show(missing).into_iter().collect()
            }
            _ => {
                self.closed = shown;
                text.trim().lines().map(|line| Piece::Talk(Line::new().dim(line))).collect()
            }
        }
    }

    fn complete(&mut self, answer: &str) -> Vec<Piece> {
        let current = std::mem::take(&mut self.current);
        let shown = if current.is_empty() { std::mem::take(&mut self.closed) } else { current };
        let mut pieces = Vec::new();
        match answer.trim_end().strip_prefix(shown.trim_end()) {
            Some(missing) => pieces.extend(self.show(missing)),
            None => {
                pieces.extend(self.end_line());
                pieces.extend(self.show(answer.trim_end()));
            }
        }
        pieces.extend(self.end_line());
        pieces
    }

    fn show(&mut self, text: &str) -> Option<Piece> {
        let last = text.chars().next_back()?;
        self.line_is_open = last != '\n';
        Some(Piece::Answer(text.to_owned()))
    }

    fn end_line(&mut self) -> Option<Piece> {
        std::mem::take(&mut self.line_is_open).then(|| Piece::Answer("\n".to_owned()))
    }
}

/// The session that may have come to rest with this item, so that it is worth a look.
pub(super) fn session_that_may_rest(item: &Item) -> Option<String> {
    match item {
        Item::Fact { .. } => item.fact().filter(|event| may_end(&event.payload)).map(|event| event.session),
        Item::Live(Live::Status { session, .. }) => Some(session.clone()),
        Item::Live(
            Live::InProgress { .. } | Live::Delta { .. } | Live::Progress { .. } | Live::SubagentEvent { .. },
        ) => None,
    }
}

fn may_end(payload: &Payload) -> bool {
    match payload {
        // What a child wants, the parent wants.
        Payload::SubagentEvent { event, .. } => asks(&event.payload),
        Payload::ApprovalRequested { .. }
        | Payload::QuestionAsked { .. }
        | Payload::TurnCompleted { .. }
        | Payload::TurnFailed { .. }
        | Payload::TurnInterrupted { .. }
        | Payload::Integrated { .. }
        | Payload::Merged { .. }
        | Payload::MergeUndone { .. }
        | Payload::HookFixStopped { .. }
        | Payload::Conflict { .. }
        | Payload::Archived {}
        | Payload::Removed { .. } => true,
        Payload::SessionCreated { .. }
        | Payload::TitleChanged { .. }
        | Payload::PromptQueued { .. }
        | Payload::Switched { .. }
        | Payload::Preparing { .. }
        | Payload::SetupOutput { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolStarted { .. }
        | Payload::ToolFinished { .. }
        | Payload::ApprovalResolved { .. }
        | Payload::QuestionAnswered { .. }
        | Payload::QuestionGone { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::WorkflowUpdated { .. }
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::Retry { .. }
        | Payload::Checkpoint { .. }
        | Payload::Reworded { .. }
        | Payload::Undone { .. }
        | Payload::HookFixStarted { .. }
        | Payload::Saved { .. }
        | Payload::PromptDropped { .. }
        | Payload::Attached { .. }
        | Payload::Detached { .. }
        | Payload::PostureChanged { .. }
        | Payload::Restored {}
        | Payload::Warning { .. } => false,
    }
}

/// Whether something begins to wait for a person.
pub(super) fn asks(payload: &Payload) -> bool {
    matches!(payload, Payload::ApprovalRequested { .. } | Payload::QuestionAsked { .. })
}

/// What is said when following ends: why it ended here, and what to type next.
pub(super) fn closing(session: &Session, now: i64) -> Vec<Line> {
    let id = &session.id;
    let next = |commands: String| Line::toned(Tone::Accent, commands);
    let status = match (session.status, session.waiting_for) {
        // It ends here for the sake of a child.
        (Status::Running, Some(WaitingFor::Approval)) => Status::Approval,
        (Status::Running, Some(WaitingFor::Answer)) => Status::Asking,
        (status, _) => status,
    };
    match status {
        Status::Asking => {
            let mut lines = question_lines(&session.questions);
            lines.push(next(format!("coppice answer {id}")));
            lines
        }
        Status::Approval => {
            let is_only = session.approvals.len() == 1;
            let card = |approval: &Approval| {
                let request = (!is_only).then_some(approval.id.as_str());
                let mut lines = card::lines(approval, Length::Short, now);
                lines.extend(card::commands(id, request, approval));
                lines
            };
            session.approvals.iter().flat_map(card).collect()
        }
        Status::Failed | Status::Interrupted | Status::Conflict => {
            let word = session.status.as_str();
            let mut lines = vec![match &session.last_error {
                Some(error) => Line::toned(Tone::Bad, format!("{word}: ")).plain(one_line(&error.message)),
                None => Line::toned(Tone::Bad, word),
            }];
            lines.extend(session.conflicts.iter().map(|file| Line::new().plain(format!("  {}", one_line(file)))));
            let hint = match session.status {
                Status::Conflict => Some(match &session.parent {
                    Some(parent) => format!("make the two fit, here or in {parent}, then `coppice integrate {id}`"),
                    None => format!(
                        "`{}` is merged into the worktree; conflicting text files have marks: `coppice resolve {id}` \
                         proposes a resolution, `coppice send {id} 'resolve the conflict'` lets the agent edit them, or edit \
                         the files in {}; then `coppice merge {id}`",
                        session.base.name, session.worktree
                    ),
                }),
                _ => session.last_error.as_ref().and_then(|error| error.hint.clone()),
            };
            match hint {
                Some(hint) => lines.push(Line::toned(Tone::Accent, "hint: ").plain(one_line(&hint))),
                None => lines.extend(status::next_commands(session).map(next)),
            }
            lines
        }
        Status::Ready => {
            let changes = match session.changes.files {
                0 if session.uncommitted.is_some() => Line::toned(Tone::Bad, "changes not committed"),
                0 => Line::new().dim("no changes"),
                files => {
                    let files = count(files as usize, "file");
                    let counted = Line::new().plain(format!("{files} ")).then(status::changes(session.changes));
                    match session.uncommitted {
                        Some(_) => counted.with(Tone::Bad, ", not committed"),
                        None => counted,
                    }
                }
            };
            let usage = match status::usage(&session.usage) {
                usage if usage.is_empty() => usage,
                usage => format!("  {usage}"),
            };
            let end = status::word(session.status).plain(format!(" {id}  ")).then(changes).dim(usage);
            let why = session
                .uncommitted
                .as_ref()
                .map(|error| Line::toned(Tone::Bad, "error: ").plain(one_line(&error.message)));
            let hint = session.uncommitted.as_ref().and_then(|error| error.hint.as_ref());
            let ways = match hint {
                Some(hint) => vec![Line::toned(Tone::Accent, "hint: ").plain(one_line(hint))],
                None => status::next_commands(session).map(next).collect(),
            };
            std::iter::once(end).chain(why).chain(ways).collect()
        }
        Status::Draft
        | Status::Queued
        | Status::Preparing
        | Status::Running
        | Status::Integrating
        | Status::Merged
        | Status::Archived => vec![status::word(session.status).plain(format!(" {id}"))],
    }
}
