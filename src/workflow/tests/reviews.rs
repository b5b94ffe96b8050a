//! Recording a review, and when one starts by itself.

use super::*;

fn read(action: &str, id: &str, status: &str, summary: &str) -> Result<ReviewChange, String> {
    ReviewChange::read(ReviewFields {
        action: some(action),
        task_id: some(id),
        status: some(status),
        summary: some(summary),
    })
}

#[test]
fn a_review_leaves_the_work_where_it_is() {
    let tasks = Tasks { list: vec![task("t1", None, TaskStatus::InProgress)] };
    for (word, status) in [
        ("pass", ReviewStatus::Pass),
        ("concern", ReviewStatus::Concern),
        ("fail", ReviewStatus::Fail),
        ("accepted", ReviewStatus::Accepted),
    ] {
        let (next, text) = tasks.review(&read("review", "t1", word, "Because.").unwrap(), "abcdefgh").unwrap();
        let review = Review { status, summary: "Because.".into(), by: "abcdefgh".into() };
        assert_eq!(next.list, [Task { reviews: vec![review], ..tasks.list[0].clone() }]);
        assert!(text.starts_with(&format!("Recorded {word} for t1.")) && text.contains("Because."));
    }
    assert_eq!(tasks.review(&ReviewChange::List, "abcdefgh").unwrap(), (tasks.clone(), tasks.text()));
}

#[test]
fn a_review_says_what_it_needs() {
    for (made, expected) in [
        (read("", "", "", ""), "action must be list or review. Use task_workflow for everything else."),
        (read("create", "", "", ""), "action must be list or review. Use task_workflow for everything else."),
        (read("list", "t1", "", ""), "list takes no other fields."),
        (read("review", "", "pass", "s"), "review needs task_id."),
        (read("review", "t1", "", "s"), "review_status must be pass, concern, fail, or accepted."),
        (read("review", "t1", "great", "s"), "review_status must be pass, concern, fail, or accepted."),
        (read("review", "t1", "pass", ""), "review needs review_summary."),
    ] {
        assert_eq!(made.unwrap_err(), format!("task_review failed: {expected}"));
    }
    assert_eq!(
        Tasks::default().review(&read("review", "t9", "pass", "s").unwrap(), "abcdefgh").unwrap_err(),
        "task_review failed: task t9 not found. Use list, then retry with an existing task_id."
    );
}

#[test]
fn a_review_starts_by_itself_under_all_three_conditions() {
    let review = Review { status: ReviewStatus::Pass, summary: "s".into(), by: "abcdefgh".into() };
    let modes = [ReviewMode::Off, ReviewMode::Manual, ReviewMode::Auto];
    for case in 0..8 {
        let (engineer_completed, all_completed, one_unreviewed) = (case & 1 != 0, case & 2 != 0, case & 4 != 0);
        let last = if all_completed { TaskStatus::Completed } else { TaskStatus::Blocked };
        let mut tasks = Tasks { list: vec![task("t1", None, TaskStatus::Completed), task("t2", None, last)] };
        tasks.list.iter_mut().for_each(|task| task.reviews.push(review.clone()));
        if one_unreviewed {
            tasks.list[0].reviews.clear();
        }
        let end = if engineer_completed { TurnEnd::Completed } else { TurnEnd::Other };
        for mode in modes {
            let expected = mode == ReviewMode::Auto && case == 7;
            assert_eq!(due_review(mode, "engineer", end, &tasks), expected, "{mode:?} {case:03b}");
            assert!(!due_review(mode, "builder", end, &tasks) && !due_review(mode, "reviewer", end, &tasks));
        }
    }
    assert!(!due_review(ReviewMode::Auto, "engineer", TurnEnd::Completed, &Tasks::default()));
}
