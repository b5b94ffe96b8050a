//! The agent's list of tasks, kept by tools of its own; shown as a plan instead of as tool calls. Pure.

use serde_json::Value;

use crate::backend::event::{Event, PlanEntry, PlanStatus};

/// The list as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    tasks: Vec<(String, PlanEntry)>,
}

/// Whether a tool does nothing but keep the list: it reaches neither files nor the network.
pub(crate) fn keeps(tool: &str) -> bool {
    matches!(tool, "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate")
}

impl Plan {
    /// Takes in what such a tool reports, in its rich form.
    pub(crate) fn apply(&mut self, result: &Value) -> Option<Event> {
        if let Some(tasks) = result["tasks"].as_array() {
            self.tasks = tasks.iter().filter_map(read).collect();
        } else if let Some((id, entry)) = read(&result["task"]) {
            match self.find(&id) {
                Some(known) if result["task"]["status"].is_string() => known.status = entry.status,
                Some(known) => known.text = entry.text,
                None => self.tasks.push((id, entry)),
            }
        } else if let (Some(id), Some(status)) = (result["taskId"].as_str(), result["statusChange"]["to"].as_str()) {
            match status {
                "deleted" => self.tasks.retain(|(known, _)| known != id),
                status => self.find(id)?.status = read_status(status),
            }
        } else {
            return None;
        }
        Some(Event::Plan(self.tasks.iter().map(|(_, entry)| entry.clone()).collect()))
    }

    fn find(&mut self, id: &str) -> Option<&mut PlanEntry> {
        self.tasks.iter_mut().find(|(known, _)| known == id).map(|(_, entry)| entry)
    }
}

fn read(task: &Value) -> Option<(String, PlanEntry)> {
    let status = read_status(task["status"].as_str().unwrap_or_default());
    Some((task["id"].as_str()?.to_owned(), PlanEntry { text: task["subject"].as_str()?.to_owned(), status }))
}

fn read_status(status: &str) -> PlanStatus {
    match status {
        "completed" => PlanStatus::Completed,
        "in_progress" => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_grows_and_moves_with_what_the_tools_report() {
        let mut plan = Plan::default();
        let mut check = |result: Value, expected: Option<&[(&str, PlanStatus)]>| {
            let entry = |(text, status): &(&str, PlanStatus)| PlanEntry { text: (*text).to_owned(), status: *status };
            let expected = expected.map(|rows| Event::Plan(rows.iter().map(entry).collect()));
            assert_eq!(plan.apply(&result), expected, "{result}");
        };
        use PlanStatus::{Completed, InProgress, Pending};
        check(json!({"task": {"id": "1", "subject": "a"}}), Some(&[("a", Pending)]));
        check(json!({"task": {"id": "2", "subject": "b"}}), Some(&[("a", Pending), ("b", Pending)]));
        let moved = |to: &str| json!({"success": true, "taskId": "1", "statusChange": {"from": "pending", "to": to}});
        check(moved("in_progress"), Some(&[("a", InProgress), ("b", Pending)]));
        check(moved("completed"), Some(&[("a", Completed), ("b", Pending)]));
        check(json!({"success": false, "taskId": "9", "statusChange": {"to": "completed"}}), None);
        check(moved("deleted"), Some(&[("b", Pending)]));
        check(json!({"tasks": [{"id": "3", "subject": "c", "status": "completed"}, 5]}), Some(&[("c", Completed)]));
        check(json!("Error: no such task"), None);
    }
}
