//! Reviews of tasks: recording one, and when one starts by itself.

use super::{ENGINEER, Review, ReviewChange, ReviewMode, ReviewStatus, TaskStatus, Tasks, TurnEnd};

/// A call of `task_review` as it came: values without the space around them, blank ones absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewFields {
    pub action: Option<String>,
    pub task_id: Option<String>,
    pub status: Option<String>,
    pub summary: Option<String>,
}

impl ReviewChange {
    /// Reads a call; what is wrong with it is said in words that let the model try again.
    pub fn read(fields: ReviewFields) -> Result<Self, String> {
        read(fields).map_err(|text| format!("task_review failed: {text}"))
    }
}

fn read(fields: ReviewFields) -> Result<ReviewChange, String> {
    match fields.action.as_deref() {
        Some("list") => match fields.task_id.or(fields.status).or(fields.summary) {
            Some(_) => Err("list takes no other fields.".to_owned()),
            None => Ok(ReviewChange::List),
        },
        Some("review") => {
            let id = fields.task_id.ok_or("review needs task_id.")?;
            let status = fields.status.as_deref().and_then(status);
            let status = status.ok_or("review_status must be pass, concern, fail, or accepted.")?;
            let summary = fields.summary.ok_or("review needs review_summary.")?;
            Ok(ReviewChange::Record { id, status, summary })
        }
        Some(_) | None => Err("action must be list or review. Use task_workflow for everything else.".to_owned()),
    }
}

fn status(word: &str) -> Option<ReviewStatus> {
    [ReviewStatus::Pass, ReviewStatus::Concern, ReviewStatus::Fail, ReviewStatus::Accepted]
        .into_iter()
        .find(|status| status.word() == word)
}

impl Tasks {
    /// The tasks after a review by the session `by`, and what the reviewer is told. Where the work stands is not a
    /// reviewer's to change.
    pub fn review(&self, change: &ReviewChange, by: &str) -> Result<(Self, String), String> {
        match change {
            ReviewChange::List => Ok((self.clone(), self.text())),
            ReviewChange::Record { id, status, summary } => {
                let place = self.place_of(id).map_err(|text| format!("task_review failed: {text}"))?;
                let mut next = self.clone();
                let review = Review { status: *status, summary: summary.clone(), by: by.to_owned() };
                next.list[place].reviews.push(review);
                let text = format!("Recorded {} for {id}.\n\n{}", status.word(), next.text());
                Ok((next, text))
            }
        }
    }
}

/// Whether the end of a turn starts a review by itself.
pub fn due_review(mode: ReviewMode, agent: &str, end: TurnEnd, tasks: &Tasks) -> bool {
    let is_wanted = match mode {
        ReviewMode::Auto => true,
        ReviewMode::Off | ReviewMode::Manual => false,
    };
    let is_done = !tasks.list.is_empty() && tasks.list.iter().all(|task| task.status == TaskStatus::Completed);
    let has_unreviewed = tasks.list.iter().any(|task| task.reviews.is_empty());
    is_wanted && agent == ENGINEER && end == TurnEnd::Completed && is_done && has_unreviewed
}
