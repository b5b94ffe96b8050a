//! The family of a session in `coppice show`: what it delegated, and the work that is broken down and planned.

use super::{block, section};
use crate::api::handoff::Handoff;
use crate::api::workflow::{Plan, Task, Workflow};
use crate::cli::child;
use crate::cli::line::{Line, Tone, one_line, table};

/// The children, each with its task and what became of its files.
pub(super) fn children(handoffs: &[Handoff]) -> Vec<Line> {
    let row = |handoff: &Handoff| {
        let persona = handoff.persona.as_ref().map(|persona| format!(":{persona}")).unwrap_or_default();
        let error = handoff.error.as_ref().map(|error| Line::toned(Tone::Bad, one_line(error)));
        vec![
            Line::new().strong(&handoff.child_session_id),
            Line::toned(Tone::Accent, one_line(&handoff.child_agent_id) + &persona),
            child::standing(handoff.status),
            Line::new().plain(one_line(&handoff.label)),
            error.or_else(|| child::integration(handoff)).unwrap_or_default(),
        ]
    };
    section("children", table(&handoffs.iter().map(row).collect::<Vec<_>>()))
}

/// The tasks with their reviews, and the plan.
pub(super) fn workflow(workflow: &Workflow) -> Vec<Line> {
    let mut lines = section("tasks", tasks(&workflow.tasks));
    lines.extend(workflow.plan.as_ref().map(plan).unwrap_or_default());
    lines
}

fn tasks(tasks: &[Task]) -> Vec<Line> {
    let heads: Vec<_> = tasks
        .iter()
        .map(|task| {
            let indent = "  ".repeat(depth(tasks, task));
            let blocked = task.block_reason.as_ref().filter(|_| task.status == "blocked");
            vec![
                Line::new().strong(format!("{indent}{}", one_line(&task.task_id))),
                Line::toned(tone(&task.status), one_line(&task.status)),
                Line::new().plain(one_line(&task.title)),
                Line::new().dim(blocked.map(|reason| one_line(reason)).unwrap_or_default()),
            ]
        })
        .collect();
    let reviews = |task: &Task| {
        let indent = "  ".repeat(depth(tasks, task) + 1);
        let line = |review: &crate::api::workflow::Review| {
            Line::new()
                .plain(indent.as_str())
                .with(verdict(&review.status), one_line(&review.status))
                .dim(format!(" by {}: ", one_line(&review.by)))
                .plain(one_line(&review.summary))
        };
        task.reviews.iter().map(line).collect::<Vec<_>>()
    };
    table(&heads).into_iter().zip(tasks).flat_map(|(head, task)| std::iter::once(head).chain(reviews(task))).collect()
}

/// How many tasks are above this one; a ring of parents ends at the number of tasks.
fn depth(tasks: &[Task], task: &Task) -> usize {
    let above = |task: &&Task| tasks.iter().find(|other| task.parent_task_id.as_ref() == Some(&other.task_id));
    std::iter::successors(Some(task), above).take(tasks.len()).count() - 1
}

/// A plan that waits for a decision is shown whole; one that has it, by its title.
fn plan(plan: &Plan) -> Vec<Line> {
    let title = Line::new().strong(one_line(&plan.title));
    let decided = plan.decision.as_ref().map(|decision| match &plan.saved_to {
        Some(path) => format!("  {}, in {}", one_line(decision), one_line(path)),
        None => format!("  {}", one_line(decision)),
    });
    match decided {
        Some(decided) => section("plan", [title.dim(decided)]),
        None => section("plan", std::iter::once(title).chain(block(&plan.markdown))),
    }
}

fn tone(status: &str) -> Tone {
    match status {
        "in_progress" => Tone::Accent,
        "blocked" => Tone::Warn,
        "completed" => Tone::Good,
        _ => Tone::Plain,
    }
}

fn verdict(status: &str) -> Tone {
    match status {
        "pass" | "accepted" => Tone::Good,
        "concern" => Tone::Warn,
        "fail" => Tone::Bad,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::handoff::{HandoffStatus, Integration};
    use crate::api::workflow::Review;
    use crate::look::sample;

    fn text(lines: &[Line]) -> String {
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_child_has_one_line() {
        let files = vec!["a.rs".to_owned(), "b.rs".to_owned()];
        let handoff = |id: &str, status, integration| Handoff {
            child_session_id: id.into(),
            status,
            integration,
            ..sample::handoff()
        };
        let failed = Handoff {
            error: Some("Subagent timeout".into()),
            persona: Some("deep".into()),
            ..handoff("qrst7654", HandoffStatus::TimedOut, Integration::Pending {})
        };
        let lines = children(&[
            handoff("efgh3456", HandoffStatus::PendingPermission, Integration::Nothing {}),
            handoff("ijkl4567", HandoffStatus::Completed, Integration::Integrated { files: files.clone() }),
            handoff("mnop5672", HandoffStatus::Completed, Integration::Conflict { files }),
            failed,
        ]);
        insta::assert_snapshot!(text(&lines), @r"

        children
          efgh3456  explore       approval   find the parser
          ijkl4567  explore       completed  find the parser  2 files integrated
          mnop5672  explore       completed  find the parser  conflict in a.rs, b.rs: coppice integrate mnop5672
          qrst7654  explore:deep  timed out  find the parser  Subagent timeout
        ");
        assert_eq!(children(&[]), []);
    }

    #[test]
    fn tasks_stand_under_their_parents_with_their_reviews() {
        let task = |id: &str, parent: Option<&str>, status: &str| Task {
            task_id: id.into(),
            parent_task_id: parent.map(Into::into),
            title: format!("do {id}"),
            kind: None,
            status: status.into(),
            notes: None,
            progress: None,
            block_reason: (status == "blocked").then(|| "no access".into()),
            summary: None,
            reviews: vec![],
        };
        let review = Review { status: "concern".into(), summary: "no test".into(), by: "efgh3456".into() };
        let tasks = vec![
            task("t1", None, "in_progress"),
            Task { reviews: vec![review], ..task("t2", Some("t1"), "completed") },
            task("t3", None, "blocked"),
        ];
        let plan = Plan {
            plan_id: "p1".into(),
            title: "Parse it".into(),
            markdown: "# Parse it\n1. read".into(),
            created_by: "abcd2345".into(),
            source: "1".into(),
            decision: None,
            saved_to: None,
        };
        let decided = Plan { decision: Some("save".into()), saved_to: Some("p.md".into()), ..plan.clone() };
        insta::assert_snapshot!(text(&workflow(&Workflow { tasks, plan: Some(plan) })), @r"

        tasks
          t1    in_progress  do t1
            t2  completed    do t2
              concern by efgh3456: no test
          t3    blocked      do t3  no access

        plan
          Parse it
          # Parse it
          1. read
        ");
        insta::assert_snapshot!(text(&workflow(&Workflow { tasks: vec![], plan: Some(decided) })), @r"

        plan
          Parse it  save, in p.md
        ");
    }
}
