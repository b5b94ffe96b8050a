//! What changes make of tasks, and what they may not.

use super::TaskStatus::{Blocked, Completed, InProgress, Pending};
use super::*;

#[test]
fn each_action_says_what_it_needs() {
    let action = "action must be list, create, update, block, or complete. Use task_review for reviews.";
    let status = "status must be pending or in_progress. Use complete to finish or block to block.";
    for (call, expected) in [
        ("", action),
        ("review", action),
        ("create", "create needs title."),
        ("create title=x status=completed", status),
        ("create title=x status=blocked", status),
        ("update", "this action needs task_id."),
        ("update task_id=t1", "update needs status, progress, or notes."),
        ("update task_id=t1 status=odd", status),
        ("block", "this action needs task_id."),
        ("block task_id=t1", "block needs block_reason."),
        ("complete task_id=t1", "complete needs task_id and summary."),
        ("complete summary=s", "complete needs task_id and summary."),
        ("update task_id=t1 status=blocked", "block needs block_reason."),
        ("update task_id=t1 status=completed", "complete needs task_id and summary."),
        ("list title=x status=y", "list does not take title, status."),
        ("create title=x summary=s", "create does not take summary."),
        ("update task_id=t1 notes=n title=x", "update does not take title."),
        ("block task_id=t1 block_reason=r kind=k", "block does not take kind."),
        ("complete task_id=t1 summary=s notes=n", "complete does not take notes."),
    ] {
        refuses(&["create title=first", call], expected);
    }
}

#[test]
fn tasks_are_created_under_open_parents() {
    check(&[], &[]);
    check(
        &["create title=a", "create title=b task_id=x parent_task_id=t1", "create title=c status=in_progress"],
        &[("t1", Pending), ("x", Pending), ("t3", InProgress)],
    );
    check(&["create title=a task_id=t2", "create title=b"], &[("t2", Pending), ("t3", Pending)]);
    refuses(&["create title=a parent_task_id=t9"], "task t9 not found. Use list, then retry with an existing task_id.");
    refuses(
        &["create title=a task_id=x parent_task_id=x"],
        "a task cannot be its own parent. Omit parent_task_id or name another task.",
    );
    refuses(
        &["create title=a", "complete task_id=t1 summary=s", "create title=b parent_task_id=t1"],
        "parent task is complete. Use a pending parent_task_id or omit parent_task_id.",
    );
    refuses(
        &["create title=a", "create title=b task_id=t1"],
        "task t1 exists. Use update, or create with another task_id.",
    );
}

#[test]
fn unknown_tasks_are_not_found() {
    for call in ["update task_id=t9 notes=n", "block task_id=t9 block_reason=r", "complete task_id=t9 summary=s"] {
        refuses(&[call], "task t9 not found. Use list, then retry with an existing task_id.");
    }
}

#[test]
fn one_path_is_active() {
    let tree = ["create title=a", "create title=b parent_task_id=t1", "create title=c parent_task_id=t1"];
    let with = |calls: &[&'static str]| [&tree, calls].concat();
    let start = |id: &str| match id {
        "t1" => "update task_id=t1 status=in_progress",
        "t2" => "update task_id=t2 status=in_progress",
        _ => "update task_id=t3 status=in_progress",
    };
    check(&with(&[start("t1"), start("t2")]), &[("t1", InProgress), ("t2", InProgress), ("t3", Pending)]);
    // From below is as good as from above.
    check(&with(&[start("t2"), start("t1")]), &[("t1", InProgress), ("t2", InProgress), ("t3", Pending)]);
    check(&with(&[start("t2"), start("t2")]), &[("t1", Pending), ("t2", InProgress), ("t3", Pending)]);
    let busy = "t2 is already in progress. Update, block, or complete it first.";
    refuses(&with(&[start("t1"), start("t2"), start("t3")]), busy);
    refuses(&with(&[start("t2"), "create title=d status=in_progress"]), busy);
    for done in ["complete task_id=t2 summary=s", "block task_id=t2 block_reason=r", "update task_id=t2 status=pending"]
    {
        let tasks = run(&with(&[start("t2"), done, start("t3")])).unwrap();
        assert_eq!(tasks.list[2].status, InProgress);
    }
}

#[test]
fn a_parent_completes_after_its_children() {
    let tree = ["create title=a", "create title=b parent_task_id=t1"];
    let finish = "complete task_id=t1 summary=s";
    refuses(&[tree[0], tree[1], finish], "complete child tasks before completing the parent.");
    let done = [tree[0], tree[1], "complete task_id=t2 summary=s", finish];
    check(&done, &[("t1", Completed), ("t2", Completed)]);
    for again in ["update task_id=t2 status=pending", "block task_id=t2 block_reason=r"] {
        let calls = [&done[..], &[again]].concat();
        refuses(&calls, "parent task is complete. Use a pending parent_task_id or omit parent_task_id.");
    }
    let opened = [&done[..], &["update task_id=t1 status=in_progress"]].concat();
    check(&opened, &[("t1", InProgress), ("t2", Completed)]);
}

#[test]
fn an_update_to_blocked_or_completed_is_that_action() {
    for (words, reason, progress, notes) in [
        ("block_reason=r progress=p notes=n", "r", "p", "n"),
        ("progress=p notes=n", "p", "", "n"),
        ("notes=n", "n", "", ""),
    ] {
        let tasks = run(&["create title=a", &format!("update task_id=t1 status=blocked {words}")]).unwrap();
        let expected = Task {
            title: "a".into(),
            block_reason: some(reason),
            progress: some(progress),
            notes: some(notes),
            ..task("t1", None, Blocked)
        };
        assert_eq!(tasks.list, [expected]);
    }
    for status in ["complete", "completed"] {
        for (words, summary, progress, notes) in [
            ("summary=s progress=p notes=n", "s", "p", "n"),
            ("progress=p notes=n", "p", "", "n"),
            ("notes=n", "n", "", ""),
        ] {
            let tasks = run(&["create title=a", &format!("update task_id=t1 status={status} {words}")]).unwrap();
            let expected = Task {
                title: "a".into(),
                summary: some(summary),
                progress: some(progress),
                notes: some(notes),
                ..task("t1", None, Completed)
            };
            assert_eq!(tasks.list, [expected]);
        }
    }
    check(&["create title=a", "complete task_id=t1 summary=s status=completed"], &[("t1", Completed)]);
    check(&["create title=a", "block task_id=t1 block_reason=r status=blocked"], &[("t1", Blocked)]);
}

#[test]
fn the_agent_reads_what_there_is() {
    let (_, text) = Tasks::default().apply(&Change::List).unwrap();
    assert_eq!(text, "No tasks.");
    let tasks = run(&[
        "create title=Parent kind=epic",
        "create title=Child parent_task_id=t1 status=in_progress notes=n",
        "create title=Other",
    ]);
    let (_, text) = tasks.unwrap().apply(&Change::read(fields("block task_id=t3 block_reason=r")).unwrap()).unwrap();
    insta::assert_snapshot!(text, @r"
    Blocked t3.

    t1 [pending] Parent (epic)
      t2 [in_progress] Child
          notes: n
    t3 [blocked] Other
        blocked by: r
    ");
}

#[test]
fn a_refused_change_changes_nothing() {
    let tasks = run(&["create title=a"]).unwrap();
    let before = tasks.clone();
    assert!(tasks.apply(&Change::read(fields("complete task_id=t9 summary=s")).unwrap()).is_err());
    assert_eq!(tasks, before);
}

/// A call out of the words that matter.
fn call() -> impl Strategy<Value = String> {
    let id = prop::sample::select(vec!["t1", "t2", "t3", "t4"]);
    let status = prop::sample::select(vec!["pending", "in_progress", "blocked", "completed"]);
    prop_oneof![
        status.clone().prop_map(|status| format!("create title=x status={status}")),
        (id.clone(), status.clone())
            .prop_map(|(id, status)| format!("create title=x parent_task_id={id} status={status}")),
        (id.clone(), status).prop_map(|(id, status)| format!("update task_id={id} status={status} notes=n")),
        id.clone().prop_map(|id| format!("block task_id={id} block_reason=r")),
        id.prop_map(|id| format!("complete task_id={id} summary=s")),
    ]
}

proptest! {
    #[test]
    fn no_calls_break_the_rules(calls in prop::collection::vec(call(), 0..20)) {
        let mut tasks = Tasks::default();
        for call in calls {
            if let Ok(change) = Change::read(fields(&call)) && let Ok((next, _)) = tasks.apply(&change) {
                tasks = next;
            }
            let parent = |task: &Task| tasks.list.iter().find(|other| Some(&other.id) == task.parent.as_ref());
            let active: Vec<_> = tasks.list.iter().filter(|task| task.status == InProgress).collect();
            let is_above = |a: &Task, b: &Task| {
                std::iter::successors(parent(b), |task| parent(task)).any(|above| above.id == a.id)
            };
            for (a, b) in active.iter().flat_map(|a| active.iter().map(move |b| (a, b))) {
                prop_assert!(a.id == b.id || is_above(a, b) || is_above(b, a));
            }
            for task in &tasks.list {
                let is_open_below = parent(task).is_some_and(|parent| parent.status == Completed);
                prop_assert!(task.status == Completed || !is_open_below);
            }
        }
    }
}
