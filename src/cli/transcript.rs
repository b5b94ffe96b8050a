//! Events as lines: each fact in a few words, for `events` and for the talk beside a followed turn.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use serde_json::Value;

use super::age::clock;
use super::child;
use super::line::{Line, Tone, one_line};
use super::status::{self, count};
use crate::api::event::{Engine, Event, Payload};
use crate::look::card::{self, Fold, Outcome};

/// How wide a card is below the line of its event.
const CARD: u16 = 100;

/// Tells events one after the other. A call that ends is told with what it was begun with.
#[derive(Debug, Default)]
pub(super) struct Teller {
    /// The inputs of the calls that run, by session and call.
    inputs: HashMap<(String, String), Value>,
}

impl Teller {
    /// An event of `coppice events`: one line, and below the end of a tool call its card. What happened in a child is
    /// indented and names it.
    pub(super) fn lines(&mut self, event: &Event, zone: &TimeZone) -> Vec<Line> {
        let head = Line::new().dim(format!("{:>6}  {}  ", event.seq, clock(event.at, zone))).strong(&event.session);
        let (head, inner) = if let Payload::SubagentEvent { origin, event } = &event.payload {
            (head.plain("    ").then(child::name(&origin.agent_type, &origin.path.join("/"))), event.as_ref())
        } else {
            (head, event)
        };
        let head = head.with(tone(&inner.payload), format!("  {:<18}  ", inner.payload.kind()));
        let place = |call: &String| (inner.session.clone(), call.clone());
        if let Payload::ToolStarted { call, input: Some(input), .. } = &inner.payload {
            self.inputs.insert(place(call), input.clone());
        }
        if let Payload::ToolFinished { call, tool, title, ok, output, auto, .. } = &inner.payload {
            let input = self.inputs.remove(&place(call));
            let card = card::finished(tool, title, input.as_ref(), Outcome::from(*ok), output);
            let card = card.passed(auto.as_ref().filter(|_| *ok));
            let below = card::rows(&card, CARD, Fold::Folded).into_iter().skip(1);
            let below = below.map(|row| Line::new().plain("        ").then(row));
            return std::iter::once(head.then(card.header)).chain(below).collect();
        }
        vec![head.plain(detail(&inner.payload))]
    }
}

/// A call by its verb and what it is about.
fn called(tool: &str, title: &str, input: Option<&Value>) -> String {
    card::started(tool, title, input).header.text()
}

/// What a person who follows a session is told beside the answer; `None` for facts that the answer or the end shows.
pub(super) fn talk(payload: &Payload) -> Option<Line> {
    let said = |tone, text: String| Some(Line::toned(tone, text));
    match payload {
        Payload::Preparing { .. } => said(Tone::Dim, format!("preparing: {}", detail(payload))),
        Payload::SetupOutput { .. } => said(Tone::Dim, format!("setup: {}", detail(payload))),
        Payload::ToolStarted { tool, title, input, .. } => {
            said(Tone::Dim, format!("· {}", called(tool, title, input.as_ref())))
        }
        Payload::ToolFinished { tool, title, ok: true, auto: Some(auto), .. } => {
            Some(card::passed(&called(tool, title, None), auto))
        }
        Payload::ToolFinished { ok: false, .. } => said(Tone::Warn, format!("· {}", detail(payload))),
        Payload::ApprovalResolved { .. } => said(Tone::Dim, format!("approval {}", detail(payload))),
        Payload::QuestionAnswered { .. } => said(Tone::Dim, format!("answered {}", detail(payload))),
        Payload::Switched { .. } => said(Tone::Dim, format!("switched {}", detail(payload))),
        Payload::PostureChanged { yolo: true, .. } => said(Tone::Bad, format!("posture {}", detail(payload))),
        Payload::PostureChanged { yolo: false, .. } => said(Tone::Dim, format!("posture {}", detail(payload))),
        Payload::Retry { reason, .. } => said(Tone::Warn, format!("trying again: {}", one_line(reason))),
        Payload::Checkpoint { .. } => said(Tone::Dim, format!("committed {}", detail(payload))),
        Payload::Conflict { .. } => said(Tone::Bad, format!("conflict {}", detail(payload))),
        Payload::Merged { .. } => said(Tone::Good, format!("merged {}", detail(payload))),
        Payload::MergeUndone { .. } => said(Tone::Warn, format!("merge undone: {}", detail(payload))),
        Payload::HookFixStarted { .. } => said(Tone::Warn, detail(payload)),
        Payload::HookFixStopped { .. } => said(Tone::Bad, detail(payload)),
        Payload::Attached { .. } => said(Tone::Dim, format!("attached: {}", detail(payload))),
        Payload::Detached { .. } => said(Tone::Dim, format!("detached: {}", detail(payload))),
        Payload::Warning { message } => said(Tone::Warn, format!("warning: {}", one_line(message))),
        Payload::SessionCreated { .. }
        | Payload::TitleChanged { .. }
        | Payload::PromptQueued { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolFinished { ok: true, auto: None, .. }
        | Payload::ApprovalRequested { .. }
        | Payload::QuestionAsked { .. }
        | Payload::QuestionGone { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::SubagentEvent { .. }
        | Payload::WorkflowUpdated { .. }
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::Reworded { .. }
        | Payload::TurnCompleted { .. }
        | Payload::TurnFailed { .. }
        | Payload::TurnInterrupted { .. }
        | Payload::Undone { .. }
        | Payload::Integrated { .. }
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Saved { .. }
        | Payload::PromptDropped { .. }
        | Payload::Restored {} => None,
    }
}

fn tone(payload: &Payload) -> Tone {
    match payload {
        Payload::TurnFailed { .. }
        | Payload::TurnInterrupted { .. }
        | Payload::HookFixStopped { .. }
        | Payload::Conflict { .. } => Tone::Bad,
        Payload::ApprovalRequested { .. }
        | Payload::QuestionAsked { .. }
        | Payload::Warning { .. }
        | Payload::PostureChanged { yolo: true, .. }
        | Payload::MergeUndone { .. }
        | Payload::HookFixStarted { .. }
        | Payload::Retry { .. } => Tone::Warn,
        Payload::TurnCompleted { .. }
        | Payload::Merged { .. }
        | Payload::Checkpoint { .. }
        | Payload::Integrated { .. } => Tone::Good,
        Payload::SessionCreated { .. }
        | Payload::QuestionGone { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::SubagentEvent { .. }
        | Payload::WorkflowUpdated { .. }
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
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::Reworded { .. }
        | Payload::Undone { .. }
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Saved { .. }
        | Payload::PostureChanged { yolo: false, .. }
        | Payload::PromptDropped { .. }
        | Payload::Attached { .. }
        | Payload::Detached { .. }
        | Payload::Restored {} => Tone::Accent,
    }
}

/// The fact on one line.
fn detail(payload: &Payload) -> String {
    match payload {
        Payload::SessionCreated { title, backend, base, .. } => {
            format!("{} on {backend}, from {}", one_line(title), base.name)
        }
        Payload::TitleChanged { title } => one_line(title),
        Payload::PromptQueued { number, text, images, .. } => {
            format!("{number}: {}{}", folded(text), status::with(images))
        }
        Payload::Preparing { step, how } => match how {
            Some(how) => format!("{step} ({how})"),
            None => step.clone(),
        },
        Payload::SetupOutput { command, text, exit } => match exit {
            Some(exit) => format!("`{}` ended with {exit}", one_line(command)),
            None => folded(text),
        },
        Payload::Switched { from, to, .. } => format!("from {} to {}", engine(from), engine(to)),
        Payload::TurnStarted { turn, delivery, .. } => format!("turn {turn} ({delivery})"),
        Payload::Message { text, .. } | Payload::Thought { text, .. } => folded(text),
        Payload::ToolStarted { tool, title, input, .. } => called(tool, title, input.as_ref()),
        Payload::ToolFinished { tool, title, ok, output, .. } => match ok {
            true => called(tool, title, None),
            false => format!("{} failed: {}", called(tool, title, None), last_line(output)),
        },
        Payload::ApprovalRequested { approval, .. } => format!("{}: {}", approval.id, one_line(&approval.title)),
        Payload::ApprovalResolved { approval, outcome, message } => match message {
            Some(message) => format!("{approval} {outcome}: {}", one_line(message)),
            None => format!("{approval} {outcome}"),
        },
        Payload::QuestionAsked { questions, .. } => {
            questions.iter().map(|question| one_line(&question.text)).collect::<Vec<_>>().join(" · ")
        }
        Payload::QuestionAnswered { index, answer, .. } => format!("{}: {}", index + 1, folded(answer)),
        Payload::QuestionGone { call, outcome } => format!("{call} {outcome}"),
        Payload::HandoffUpdated { handoff, .. } => {
            let agent = &handoff.child_agent_id;
            format!("{agent} ({}) {}: {}", handoff.child_session_id, handoff.status.as_str(), one_line(&handoff.label))
        }
        Payload::SubagentEvent { event, .. } => format!("{}: {}", event.payload.kind(), detail(&event.payload)),
        Payload::WorkflowUpdated { workflow } => {
            let done = workflow.tasks.iter().filter(|task| task.status == "completed").count();
            format!("{done} of {} done", count(workflow.tasks.len(), "task"))
        }
        Payload::PlanUpdated { entries, .. } => {
            let done = entries.iter().filter(|entry| entry.status == "completed").count();
            format!("{done} of {} done", count(entries.len(), "step"))
        }
        Payload::Usage { usage, .. } => status::usage(usage),
        Payload::Retry { reason, .. } => one_line(reason),
        Payload::Checkpoint { turn, commit, changes } => format!(
            "{} for turn {turn}: {}, +{} -{}",
            short(commit),
            count(changes.files as usize, "file"),
            changes.insertions,
            changes.deletions
        ),
        Payload::Reworded { turn, commit, was } => format!("turn {turn}: {} was {}", short(commit), short(was)),
        Payload::TurnCompleted { turn, response } => match response.questions.len() {
            0 => format!("turn {turn}: {}", folded(&response.answer)),
            asked => format!("turn {turn}, {}: {}", count(asked, "question"), folded(&response.answer)),
        },
        Payload::TurnFailed { turn, error } => format!("turn {turn}, {}: {}", error.kind, one_line(&error.message)),
        Payload::TurnInterrupted { turn, reason } => format!("turn {turn}: {}", one_line(reason)),
        Payload::Undone { to, commit, saved } => {
            format!("the files are as after turn {to}, at {}; as they were before: {}", short(commit), one_line(saved))
        }
        Payload::Integrated { commit, style, files } if files.is_empty() => format!("{} ({style})", short(commit)),
        Payload::Integrated { commit, style, files } => format!("{} ({style}): {}", short(commit), files.join(", ")),
        Payload::Merged { commit, target, style } => {
            format!("into {} as {} ({style})", target.trim_start_matches("refs/heads/"), short(commit))
        }
        Payload::MergeUndone { commit, target, reverted_by } => {
            let target = target.trim_start_matches("refs/heads/");
            match reverted_by {
                Some(revert) => format!("{} into {target}, reverted by {}", short(commit), short(revert)),
                None => format!("{} into {target}, which went back", short(commit)),
            }
        }
        Payload::HookFixStarted { hook, round, rounds, .. } => {
            format!(
                "the hook `{}` stopped the merge; the agent is to fix it, round {round} of {rounds}",
                one_line(hook)
            )
        }
        Payload::HookFixStopped { reason, .. } => one_line(reason),
        Payload::Conflict { files, with } => format!("with {with}: {}", files.join(", ")),
        Payload::PostureChanged { posture, yolo } => format!("{posture}{}", if *yolo { ", YOLO" } else { "" }),
        Payload::PromptDropped { number } => format!("{number} is not sent"),
        Payload::Attached { program } => format!("a person works in the worktree ({program})"),
        Payload::Detached { program, commit, changes } => match (commit, changes) {
            (Some(commit), Some(changes)) => format!(
                "{program}: {} holds {}, +{} -{}",
                short(commit),
                count(changes.files as usize, "file"),
                changes.insertions,
                changes.deletions
            ),
            (None, Some(_)) => format!("{program}: no file changed"),
            (_, None) => format!("{program}: what was changed is committed with what comes next"),
        },
        Payload::Archived {} | Payload::Restored {} => String::new(),
        Payload::Saved { reference, commit } => format!("{} in {reference}", short(commit)),
        Payload::Removed { salvage } => match salvage {
            Some(salvage) => format!("unmerged work is kept in {salvage}"),
            None => "nothing was left to keep".to_owned(),
        },
        Payload::Warning { message } => one_line(message),
    }
}

fn engine(engine: &Engine) -> String {
    let reasoning = engine.reasoning.as_ref().map(|level| format!(" ({level})")).unwrap_or_default();
    status::engine(&engine.backend, engine.model.as_deref()) + &reasoning
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::event::{PlanEntry, PromptAuthor};
    use crate::api::handoff::Origin;
    use crate::api::session::{AskedQuestion, Base, Changes, Response, TurnError, Usage};
    use crate::look::sample;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// One of each, in the order of a life.
    fn payloads() -> Vec<Payload> {
        let (turn, call, tool, title) = (1, "c1".to_owned(), "edit".to_owned(), "edit `src/a.rs`".to_owned());
        let base = Base { name: "main".into(), commit: COMMIT.into() };
        let asked = AskedQuestion { text: "Which database?".into(), options: vec![] };
        let response = Response { answer: "Done.\nReally.".into(), questions: vec![asked.clone()], summary: None };
        let engine = |model: Option<&str>, reasoning: Option<&str>| Engine {
            backend: "demo".into(),
            model: model.map(Into::into),
            reasoning: reasoning.map(Into::into),
        };
        let error = TurnError { kind: "crashed".into(), message: "it died".into(), hint: None, ..TurnError::default() };
        let step = |status: &str| PlanEntry { content: "look".into(), status: status.into() };
        let output = |ok| Payload::ToolFinished {
            turn,
            call: call.clone(),
            tool: tool.clone(),
            title: title.clone(),
            ok,
            output: "a\nno such file\n".into(),
            auto: None,
        };
        vec![
            Payload::SessionCreated {
                title: "Fix it".into(),
                backend: "demo".into(),
                model: None,
                base,
                branch: "b".into(),
                agent: None,
                parent: None,
            },
            Payload::TitleChanged { title: "Fix the port".into() },
            Payload::PromptQueued {
                number: 1,
                text: "fix it\nplease".into(),
                images: vec![sample::image()],
                author: PromptAuthor::Person,
            },
            Payload::Preparing { step: "worktree".into(), how: Some("spare".into()) },
            Payload::SetupOutput { command: "make".into(), text: "cc a.c".into(), exit: None },
            Payload::SetupOutput { command: "make".into(), text: String::new(), exit: Some(2) },
            Payload::TurnStarted { turn, prompt: 1, delivery: "bootstrap_full".into(), exec_at: 0, agent: None },
            Payload::Thought { turn, text: "hm".into() },
            Payload::Message { turn, text: "I look.".into() },
            Payload::ToolStarted {
                turn,
                call: call.clone(),
                tool: tool.clone(),
                title: title.clone(),
                input: None,
                auto: None,
            },
            output(true),
            output(false),
            Payload::ApprovalRequested { turn, approval: sample::approval().approvals.remove(0) },
            Payload::ApprovalResolved {
                approval: "r1".into(),
                outcome: "denied".into(),
                message: Some("not here".into()),
            },
            Payload::PlanUpdated { turn, entries: vec![step("completed"), step("pending")] },
            Payload::Usage { turn, usage: Usage { input_tokens: 12, output_tokens: 3, cost_usd: None } },
            Payload::Retry { turn, reason: "not JSON".into() },
            Payload::Checkpoint {
                turn,
                commit: COMMIT.into(),
                changes: Changes { files: 1, insertions: 2, deletions: 3 },
            },
            Payload::Reworded { turn, commit: COMMIT.into(), was: COMMIT.into() },
            Payload::TurnCompleted { turn, response },
            Payload::QuestionAsked { turn, questions: vec![asked], call: None },
            Payload::QuestionAnswered { index: 0, answer: "sqlite".into(), call: None },
            Payload::TurnFailed { turn, error },
            Payload::TurnInterrupted { turn, reason: "stopped by the user".into() },
            Payload::Undone { to: 0, commit: COMMIT.into(), saved: "refs/x".into() },
            Payload::Integrated { commit: COMMIT.into(), style: "rebase".into(), files: vec![] },
            Payload::Conflict { files: vec!["a.rs".into(), "b.rs".into()], with: "main".into() },
            Payload::Merged { commit: COMMIT.into(), target: "refs/heads/main".into(), style: "squash".into() },
            Payload::MergeUndone { commit: COMMIT.into(), target: "refs/heads/main".into(), reverted_by: None },
            Payload::HookFixStarted { hook: "pre-commit".into(), output: "bad".into(), round: 1, rounds: 2 },
            Payload::HookFixStopped { reason: "not merged: why".into(), causes: vec![], hint: "merge".into() },
            Payload::Archived {},
            Payload::Removed { salvage: Some("refs/coppice/salvage/abcd2345".into()) },
            Payload::Removed { salvage: None },
            Payload::Restored {},
            Payload::PromptDropped { number: 2 },
            Payload::Attached { program: "shell".into() },
            Payload::Detached { program: "shell".into(), commit: None, changes: None },
            Payload::Warning { message: "a hook was ignored".into() },
            Payload::PostureChanged { posture: "edits".into(), yolo: false },
            Payload::PostureChanged { posture: "edits".into(), yolo: true },
            Payload::Switched { turn, from: engine(None, Some("high")), to: engine(Some("fast"), None) },
            Payload::HandoffUpdated { handoff: Box::new(sample::handoff()), text: String::new(), is_final: true },
            Payload::SubagentEvent {
                origin: Origin {
                    agent_type: "explore".into(),
                    path: vec!["efgh3456".into(), "ijkl4567".into()],
                    ..Origin::default()
                },
                event: Box::new(Event {
                    seq: 135,
                    session: "ijkl4567".into(),
                    at: 0,
                    v: 1,
                    payload: Payload::Message { turn, text: "I look.\nEverywhere.".into() },
                }),
            },
        ]
    }

    #[test]
    fn every_fact_is_a_line_and_a_call_a_card() {
        let mut teller = Teller::default();
        let lines = |(place, payload)| {
            let event = Event { seq: 100 + place as u64, session: "abcd2345".into(), at: 0, v: 1, payload };
            teller.lines(&event, &TimeZone::UTC)
        };
        let lines = payloads().into_iter().enumerate().flat_map(lines);
        let text = lines.map(|line| line.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        100  1970-01-01 00:00:00  abcd2345  session_created     Fix it on demo, from main
        101  1970-01-01 00:00:00  abcd2345  title_changed       Fix the port
        102  1970-01-01 00:00:00  abcd2345  prompt_queued       1: fix it (+1 lines), with wrong.png
        103  1970-01-01 00:00:00  abcd2345  preparing           worktree (spare)
        104  1970-01-01 00:00:00  abcd2345  setup_output        cc a.c
        105  1970-01-01 00:00:00  abcd2345  setup_output        `make` ended with 2
        106  1970-01-01 00:00:00  abcd2345  turn_started        turn 1 (bootstrap_full)
        107  1970-01-01 00:00:00  abcd2345  thought             hm
        108  1970-01-01 00:00:00  abcd2345  message             I look.
        109  1970-01-01 00:00:00  abcd2345  tool_started        Edit(src/a.rs)
        110  1970-01-01 00:00:00  abcd2345  tool_finished       Edit(src/a.rs)
             ╰ a
        111  1970-01-01 00:00:00  abcd2345  tool_finished       Edit(src/a.rs)
             │   a
             │   no such file
             ╰ ✗ a
        112  1970-01-01 00:00:00  abcd2345  approval_requested  r1: run `cargo test`
        113  1970-01-01 00:00:00  abcd2345  approval_resolved   r1 denied: not here
        114  1970-01-01 00:00:00  abcd2345  plan_updated        1 of 2 steps done
        115  1970-01-01 00:00:00  abcd2345  usage               12 tokens in, 3 out
        116  1970-01-01 00:00:00  abcd2345  retry               not JSON
        117  1970-01-01 00:00:00  abcd2345  checkpoint          0123456789 for turn 1: 1 file, +2 -3
        118  1970-01-01 00:00:00  abcd2345  reworded            turn 1: 0123456789 was 0123456789
        119  1970-01-01 00:00:00  abcd2345  turn_completed      turn 1, 1 question: Done. (+1 lines)
        120  1970-01-01 00:00:00  abcd2345  question_asked      Which database?
        121  1970-01-01 00:00:00  abcd2345  question_answered   1: sqlite
        122  1970-01-01 00:00:00  abcd2345  turn_failed         turn 1, crashed: it died
        123  1970-01-01 00:00:00  abcd2345  turn_interrupted    turn 1: stopped by the user
        124  1970-01-01 00:00:00  abcd2345  undone              the files are as after turn 0, at 0123456789; as they were before: refs/x
        125  1970-01-01 00:00:00  abcd2345  integrated          0123456789 (rebase)
        126  1970-01-01 00:00:00  abcd2345  conflict            with main: a.rs, b.rs
        127  1970-01-01 00:00:00  abcd2345  merged              into main as 0123456789 (squash)
        128  1970-01-01 00:00:00  abcd2345  merge_undone        0123456789 into main, which went back
        129  1970-01-01 00:00:00  abcd2345  hook_fix_started    the hook `pre-commit` stopped the merge; the agent is to fix it, round 1 of 2
        130  1970-01-01 00:00:00  abcd2345  hook_fix_stopped    not merged: why
        131  1970-01-01 00:00:00  abcd2345  archived
        132  1970-01-01 00:00:00  abcd2345  removed             unmerged work is kept in refs/coppice/salvage/abcd2345
        133  1970-01-01 00:00:00  abcd2345  removed             nothing was left to keep
        134  1970-01-01 00:00:00  abcd2345  restored
        135  1970-01-01 00:00:00  abcd2345  prompt_dropped      2 is not sent
        136  1970-01-01 00:00:00  abcd2345  attached            a person works in the worktree (shell)
        137  1970-01-01 00:00:00  abcd2345  detached            shell: what was changed is committed with what comes next
        138  1970-01-01 00:00:00  abcd2345  warning             a hook was ignored
        139  1970-01-01 00:00:00  abcd2345  posture_changed     edits
        140  1970-01-01 00:00:00  abcd2345  posture_changed     edits, YOLO
        141  1970-01-01 00:00:00  abcd2345  switched            from demo (high) to demo/fast
        142  1970-01-01 00:00:00  abcd2345  handoff_updated     explore (efgh3456) running: find the parser
        143  1970-01-01 00:00:00  abcd2345    explore efgh3456/ijkl4567  message             I look. (+1 lines)
        ");
    }

    #[test]
    fn talk_is_what_the_answer_does_not_show() {
        let text = payloads().iter().filter_map(talk).map(|line| line.text()).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        preparing: worktree (spare)
        setup: cc a.c
        setup: `make` ended with 2
        · Edit(src/a.rs)
        · Edit(src/a.rs) failed: no such file
        approval r1 denied: not here
        trying again: not JSON
        committed 0123456789 for turn 1: 1 file, +2 -3
        answered 1: sqlite
        conflict with main: a.rs, b.rs
        merged into main as 0123456789 (squash)
        merge undone: 0123456789 into main, which went back
        the hook `pre-commit` stopped the merge; the agent is to fix it, round 1 of 2
        not merged: why
        attached: a person works in the worktree (shell)
        detached: shell: what was changed is committed with what comes next
        warning: a hook was ignored
        posture edits
        posture edits, YOLO
        switched from demo (high) to demo/fast
        ");
    }
}
