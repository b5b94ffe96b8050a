//! Child sessions beside their parent: what of their life is worth a line there.
//!
//! The whole of it is in the child's own transcript; here a person sees who works, on what, and what is wanted.

use std::collections::HashMap;
use std::slice::from_ref;

use super::line::{Line, Tone, cut, one_line};
use super::status::count;
use super::transcript;
use crate::api::event::Payload;
use crate::api::handoff::{Handoff, HandoffStatus, Integration, Origin};

/// An answer is cut at this length: it is the parent that reads it.
const PREVIEW: usize = 80;

/// What was said about each child in the turn, so that nothing is said twice.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// The last line about each, by session.
    said: HashMap<String, Line>,
}

impl Children {
    /// A fact of a descendant as a line of its own.
    pub(super) fn event(&mut self, origin: &Origin, payload: &Payload) -> Option<Line> {
        self.say(&origin.agent_type, &origin.path.join("/"), fact(payload)?)
    }

    /// How a delegation stands, as far as the child's own facts do not tell.
    pub(super) fn handoff(&mut self, handoff: &Handoff) -> Option<Line> {
        let id = &handoff.child_session_id;
        let is_known = self.said.contains_key(id);
        let what = match handoff.status {
            HandoffStatus::Queued | HandoffStatus::Running if !is_known => {
                Some(Line::new().dim(one_line(&handoff.label)))
            }
            // The call that waits for the child brings its files home a moment later.
            HandoffStatus::Completed if !handoff.background && handoff.integration == Integration::Pending {} => None,
            HandoffStatus::Completed => integration(handoff),
            HandoffStatus::Cancelled | HandoffStatus::TimedOut => Some(standing(handoff.status)),
            HandoffStatus::Queued
            | HandoffStatus::Running
            | HandoffStatus::PendingPermission
            | HandoffStatus::PendingQuestion
            | HandoffStatus::Failed
            | HandoffStatus::Interrupted => None,
        };
        self.say(&handoff.child_agent_id, id, what?)
    }

    /// The parent's turn is over: what comes later is about other work.
    pub(super) fn clear(&mut self) {
        self.said.clear();
    }

    fn say(&mut self, agent: &str, id: &str, what: Line) -> Option<Line> {
        let line = Line::new().plain("  ").then(name(agent, id)).dim(" · ").then(what);
        let before = self.said.insert(id.to_owned(), line.clone());
        (before.as_ref() != Some(&line)).then_some(line)
    }
}

/// `explore abcd2345`
pub(super) fn name(agent: &str, id: &str) -> Line {
    Line::toned(Tone::Accent, one_line(agent)).dim(format!(" {id}"))
}

/// What became of the files, where a person should know.
pub(super) fn integration(handoff: &Handoff) -> Option<Line> {
    let id = &handoff.child_session_id;
    let stuck = |what: &str, files: &[String]| {
        let files: Vec<_> = files.iter().map(|file| one_line(file)).collect();
        let command = Line::new().plain(": ").with(Tone::Accent, format!("coppice integrate {id}"));
        Some(Line::toned(Tone::Bad, format!("{what} {}", files.join(", "))).then(command))
    };
    match &handoff.integration {
        Integration::Nothing {} => None,
        Integration::Pending {} => {
            Some(Line::new().plain("not integrated: ").with(Tone::Accent, format!("coppice integrate {id}")))
        }
        Integration::Uncommitted { worktree, .. } => stuck("not committed, the files are in", from_ref(worktree)),
        Integration::Integrated { files } => {
            Some(Line::toned(Tone::Good, format!("{} integrated", count(files.len(), "file"))))
        }
        Integration::Conflict { files } => stuck("conflict in", files),
        Integration::Changed { files } => stuck("changed meanwhile:", files),
    }
}

/// The word for how a delegation stands.
pub(super) fn standing(status: HandoffStatus) -> Line {
    let (word, tone) = match status {
        HandoffStatus::Queued => ("queued", Tone::Accent),
        HandoffStatus::Running => ("running", Tone::Accent),
        HandoffStatus::PendingPermission => ("approval", Tone::Warn),
        HandoffStatus::PendingQuestion => ("asking", Tone::Warn),
        HandoffStatus::Completed => ("completed", Tone::Good),
        HandoffStatus::Failed => ("failed", Tone::Bad),
        HandoffStatus::Cancelled => ("cancelled", Tone::Bad),
        HandoffStatus::TimedOut => ("timed out", Tone::Bad),
        HandoffStatus::Interrupted => ("interrupted", Tone::Bad),
    };
    Line::toned(tone, word)
}

/// A child's fact in a few words; `None` for what only its own transcript tells.
fn fact(payload: &Payload) -> Option<Line> {
    let said = |tone, text: String| Some(Line::toned(tone, text));
    match payload {
        Payload::ToolStarted { title, .. } => said(Tone::Dim, one_line(title)),
        Payload::ToolFinished { ok: false, title, .. } => said(Tone::Warn, format!("{} failed", one_line(title))),
        Payload::ApprovalRequested { approval, .. } => {
            said(Tone::Warn, format!("wants: {}", one_line(&approval.title)))
        }
        Payload::QuestionAsked { questions, .. } => {
            let texts: Vec<_> = questions.iter().map(|question| one_line(&question.text)).collect();
            said(Tone::Warn, format!("asks: {}", texts.join(" · ")))
        }
        Payload::TurnCompleted { response, .. } => {
            let answer = cut(&one_line(&response.answer), PREVIEW);
            Some(Line::toned(Tone::Good, "done").dim(if answer.is_empty() { answer } else { format!(": {answer}") }))
        }
        Payload::TurnFailed { error, .. } => said(Tone::Bad, format!("failed: {}", one_line(&error.message))),
        Payload::TurnInterrupted { reason, .. } => said(Tone::Bad, format!("interrupted: {}", one_line(reason))),
        Payload::ApprovalResolved { .. }
        | Payload::QuestionAnswered { .. }
        | Payload::Retry { .. }
        | Payload::Conflict { .. }
        | Payload::Warning { .. } => transcript::talk(payload),
        Payload::SessionCreated { .. }
        | Payload::TitleChanged { .. }
        | Payload::PromptQueued { .. }
        | Payload::Switched { .. }
        | Payload::Preparing { .. }
        | Payload::SetupOutput { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolFinished { ok: true, .. }
        | Payload::QuestionGone { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::SubagentEvent { .. }
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
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Saved { .. }
        | Payload::PromptDropped { .. }
        | Payload::Attached { .. }
        | Payload::Detached { .. }
        | Payload::PostureChanged { .. }
        | Payload::Restored {} => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::{AskedQuestion, Response, TurnError};
    use crate::look::sample;

    fn origin(path: &[&str]) -> Origin {
        let path: Vec<_> = path.iter().map(|id| id.to_string()).collect();
        Origin { agent_type: "explore".into(), session_id: path[0].clone(), path, ..Origin::default() }
    }

    fn tool(title: &str) -> Payload {
        Payload::ToolStarted {
            turn: 1,
            call: "c".into(),
            tool: "read".into(),
            title: title.into(),
            input: None,
            auto: None,
        }
    }

    fn done(answer: &str) -> Payload {
        let response = Response { answer: answer.into(), questions: vec![], summary: None };
        Payload::TurnCompleted { turn: 1, response }
    }

    #[test]
    fn a_child_is_told_in_short_lines() {
        let asked = AskedQuestion { text: "Which port?".into(), options: vec![] };
        let error = TurnError { kind: "crashed".into(), message: "it died".into(), hint: None, ..TurnError::default() };
        let facts = [
            tool("reading src/parser.rs"),
            Payload::Message { turn: 1, text: "I look.".into() },
            Payload::ApprovalRequested { turn: 1, approval: sample::approval().approvals.remove(0) },
            Payload::ApprovalResolved { approval: "r1".into(), outcome: "allowed".into(), message: None },
            Payload::QuestionAsked { turn: 1, questions: vec![asked], call: None },
            Payload::TurnFailed { turn: 1, error },
            done(&"The parser is where it always was. ".repeat(9)),
        ];
        let mut children = Children::default();
        let mut lines: Vec<_> = children.handoff(&sample::handoff()).into_iter().collect();
        lines.extend(facts.iter().filter_map(|payload| children.event(&origin(&["efgh3456"]), payload)));
        let integration = Integration::Integrated { files: vec!["a.rs".into()] };
        let ended = Handoff { status: HandoffStatus::Completed, integration, ..sample::handoff() };
        lines.extend(children.handoff(&Handoff { integration: Integration::Pending {}, ..ended.clone() }));
        lines.extend(children.handoff(&ended));
        lines.extend(children.event(&origin(&["efgh3456", "ijkl4567"]), &tool("listing src")));
        let text = lines.iter().map(Line::text).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
          explore efgh3456 · find the parser
          explore efgh3456 · reading src/parser.rs
          explore efgh3456 · wants: run `cargo test`
          explore efgh3456 · approval r1 allowed
          explore efgh3456 · asks: Which port?
          explore efgh3456 · failed: it died
          explore efgh3456 · done: The parser is where it always was. The parser is where it always was. The parse…
          explore efgh3456 · 1 file integrated
          explore efgh3456/ijkl4567 · listing src
        ");
    }

    #[test]
    fn nothing_is_said_twice_until_the_parents_turn_is_over() {
        let mut children = Children::default();
        let (here, running) = (origin(&["efgh3456"]), sample::handoff());
        assert!(children.handoff(&Handoff { status: HandoffStatus::Queued, ..running.clone() }).is_some());
        assert!(children.handoff(&running).is_none());
        assert!(children.event(&here, &tool("reading")).is_some());
        assert!(children.event(&here, &tool("reading")).is_none());
        assert!(children.handoff(&running).is_none(), "it was announced");
        children.clear();
        assert!(children.handoff(&running).is_some());
        assert!(children.event(&here, &tool("reading")).is_some());
    }
}
