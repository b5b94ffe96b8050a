//! The state of the four sessions on the screen. Pure: events in, lines out.

use super::cast::Role;
use crate::api::event::{Event, Payload};
use crate::api::session::Status;
use crate::cli::line::{Line, one_line, table};
use crate::cli::status;

/// One session as the screen shows it.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub(super) role: Role,
    pub(super) id: String,
    /// The daemon said so, after the last fact.
    pub(super) is_ready: bool,
    status: Status,
    doing: String,
}

impl Actor {
    pub(super) fn new(role: Role, id: String, status: Status) -> Actor {
        Actor { role, id, is_ready: false, status, doing: String::new() }
    }

    /// Takes a fact in and says it, if it is worth a line of its own where lines cannot be redrawn.
    pub(super) fn note(&mut self, event: &Event) -> Option<Line> {
        let (status, doing) = match &event.payload {
            Payload::Preparing { step, .. } => (Status::Preparing, format!("prepares its {step}")),
            Payload::TurnStarted { .. } => (Status::Running, "begins".to_owned()),
            Payload::ToolStarted { title, .. } => (Status::Running, one_line(title)),
            Payload::Checkpoint { changes, .. } => {
                (self.status, format!("committed +{} -{}", changes.insertions, changes.deletions))
            }
            Payload::ApprovalRequested { approval, .. } => (Status::Approval, one_line(&approval.title)),
            Payload::ApprovalResolved { outcome, .. } => (Status::Running, format!("permission {outcome}")),
            Payload::TurnFailed { error, .. } => (Status::Failed, one_line(&error.message)),
            Payload::Merged { .. } => (Status::Merged, String::new()),
            Payload::MergeUndone { .. } => (Status::Ready, String::new()),
            Payload::TurnCompleted { response, .. } => match response.questions.first() {
                Some(question) => (Status::Asking, one_line(&question.text)),
                None => (Status::Ready, one_line(&response.answer)),
            },
            Payload::SessionCreated { .. }
            | Payload::TitleChanged { .. }
            | Payload::PromptQueued { .. }
            | Payload::Switched { .. }
            | Payload::SetupOutput { .. }
            | Payload::Message { .. }
            | Payload::Thought { .. }
            | Payload::ToolFinished { .. }
            | Payload::QuestionAsked { .. }
            | Payload::QuestionAnswered { .. }
            | Payload::QuestionGone { .. }
            | Payload::HandoffUpdated { .. }
            | Payload::SubagentEvent { .. }
            | Payload::WorkflowUpdated { .. }
            | Payload::PlanUpdated { .. }
            | Payload::Usage { .. }
            | Payload::Retry { .. }
            | Payload::Reworded { .. }
            | Payload::TurnInterrupted { .. }
            | Payload::Undone { .. }
            | Payload::HookFixStarted { .. }
            | Payload::HookFixStopped { .. }
            | Payload::Integrated { .. }
            | Payload::Conflict { .. }
            | Payload::Archived {}
            | Payload::Removed { .. }
            | Payload::Saved { .. }
            | Payload::PromptDropped { .. }
            | Payload::Attached { .. }
            | Payload::Detached { .. }
            | Payload::PostureChanged { .. }
            | Payload::Restored {}
            | Payload::Warning { .. } => return None,
        };
        self.status = status;
        self.doing = doing;
        Some(self.line())
    }

    fn row(&self) -> Vec<Line> {
        vec![
            Line::new().strong(format!("  {}", self.role.name)),
            status::word(self.status),
            Line::new().dim(&self.doing),
        ]
    }

    /// The actor on one line, aligned with the others.
    fn line(&self) -> Line {
        let word = self.status.as_str();
        Line::new()
            .strong(format!("  {:<9}", self.role.name))
            .with(status::tone(self.status), format!("  {word:<11}"))
            .dim(format!("  {}", self.doing))
    }
}

/// All of them as one block.
pub(super) fn lines(actors: &[Actor]) -> Vec<Line> {
    table(&actors.iter().map(Actor::row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::{Changes, TurnError};
    use crate::cli::demo::cast::ROLES;

    #[test]
    fn the_block_shows_the_last_fact_of_each() {
        let mut actors: Vec<_> = ROLES.map(|role| Actor::new(role, role.name.to_owned(), Status::Queued)).into();
        let error =
            TurnError { kind: "crashed".into(), message: "the agent ended".into(), hint: None, ..TurnError::default() };
        let changes = Changes { files: 1, insertions: 2, deletions: 0 };
        for (session, payload) in [
            (
                "farewell",
                Payload::TurnStarted { turn: 1, prompt: 1, delivery: "bootstrap_full".into(), exec_at: 0, agent: None },
            ),
            ("farewell", Payload::Checkpoint { turn: 1, commit: "c".into(), changes }),
            ("manual", Payload::Preparing { step: "worktree".into(), how: None }),
            ("translate", Payload::TurnFailed { turn: 1, error }),
            ("cleanup", Payload::Archived {}),
        ] {
            let event = Event { seq: 1, session: session.into(), at: 0, v: 1, payload };
            let actor = actors.iter_mut().find(|actor| actor.id == session).unwrap();
            assert_eq!(actor.note(&event).is_some(), session != "cleanup");
        }
        let text = lines(&actors).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        farewell   running    committed +2 -0
        manual     preparing  prepares its worktree
        cleanup    queued
        translate  failed     the agent ended
        ");
    }
}
