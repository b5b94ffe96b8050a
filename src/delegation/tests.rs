//! Who may, how long, how it stands, and what is read in the end.

mod eligibility;
mod families;
mod standing;
mod texts;
mod times;

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::agent::Mode;

const STATUSES: [Status; 9] = [
    Status::Queued,
    Status::Running,
    Status::PendingPermission,
    Status::PendingQuestion,
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
    Status::TimedOut,
    Status::Interrupted,
];

fn report() -> Report<'static> {
    Report {
        handoff: "h_1",
        session: "abcdefgh",
        agent: "explore",
        label: "",
        status: Status::Completed,
        text: None,
        error: None,
        files: None,
    }
}

proptest! {
    #[test]
    fn no_body_ends_its_wrapper_early(body in "(</?|task_|result|error|>| |[a-zé<]){0,12}") {
        let text = task_text(&Report { text: Some(&body), ..report() });
        let inside = text.split_once('\n').unwrap().1.strip_suffix("\n</task_result>").unwrap().to_lowercase();
        prop_assert!(!inside.contains("</task_result") && !inside.contains("</task_error"));
    }
}
