//! The tasks of a session: what a change makes of them, and what the agent reads about it.

use super::{Change, ReviewStatus, Start, Task, TaskStatus, Tasks};

impl Tasks {
    /// The tasks after a change and what the agent is told. A refused change leaves everything as it is.
    pub fn apply(&self, change: &Change) -> Result<(Self, String), String> {
        self.changed(change).map_err(|text| format!("task_workflow: {text}"))
    }

    /// Every task with what is known about it, children under their parents.
    pub fn text(&self) -> String {
        if self.list.is_empty() {
            return "No tasks.".to_owned();
        }
        let mut lines = Vec::new();
        self.under(None, 0, &mut lines);
        lines.join("\n")
    }

    pub(super) fn place_of(&self, id: &str) -> Result<usize, String> {
        let place = self.list.iter().position(|task| task.id == id);
        place.ok_or_else(|| format!("task {id} not found. Use list, then retry with an existing task_id."))
    }

    fn changed(&self, change: &Change) -> Result<(Self, String), String> {
        let mut next = self.clone();
        let done = match change {
            Change::List => return Ok((next, self.text())),
            Change::Create { id, parent, title, kind, start, notes } => {
                let id = self.id_for(id.as_deref())?;
                if let Some(parent) = parent {
                    self.check_open_parent(parent)?;
                }
                self.check_start(*start, &id, parent.as_deref())?;
                next.list.push(Task {
                    id: id.clone(),
                    parent: parent.clone(),
                    title: title.clone(),
                    kind: kind.clone(),
                    status: start.status(),
                    notes: notes.clone(),
                    progress: None,
                    block_reason: None,
                    summary: None,
                    reviews: Vec::new(),
                });
                format!("Created {id}.")
            }
            Change::Update { id, start, progress, notes } => {
                let place = self.place_of(id)?;
                if let Some(start) = start {
                    self.check_open(place)?;
                    self.check_start(*start, id, self.list[place].parent.as_deref())?;
                }
                let task = &mut next.list[place];
                if let Some(start) = start {
                    task.status = start.status();
                    task.block_reason = None;
                    task.summary = None;
                }
                task.tell(progress, notes);
                format!("Updated {id}.")
            }
            Change::Block { id, reason, progress, notes } => {
                let place = self.place_of(id)?;
                self.check_open(place)?;
                let task = &mut next.list[place];
                task.status = TaskStatus::Blocked;
                task.block_reason = Some(reason.clone());
                task.summary = None;
                task.tell(progress, notes);
                format!("Blocked {id}.")
            }
            Change::Complete { id, summary, progress, notes } => {
                let place = self.place_of(id)?;
                let mut children = self.list.iter().filter(|task| task.parent.as_ref() == Some(id));
                if children.any(|child| child.status != TaskStatus::Completed) {
                    return Err("complete child tasks before completing the parent.".to_owned());
                }
                let task = &mut next.list[place];
                task.status = TaskStatus::Completed;
                task.block_reason = None;
                task.summary = Some(summary.clone());
                task.tell(progress, notes);
                format!("Completed {id}.")
            }
        };
        let text = format!("{done}\n\n{}", next.text());
        Ok((next, text))
    }

    fn id_for(&self, wanted: Option<&str>) -> Result<String, String> {
        let is_taken = |id: &str| self.list.iter().any(|task| task.id == id);
        match wanted {
            Some(id) if is_taken(id) => Err(format!("task {id} exists. Use update, or create with another task_id.")),
            Some(id) => Ok(id.to_owned()),
            None => Ok((self.list.len() + 1..)
                .map(|number| format!("t{number}"))
                .find(|id| !is_taken(id))
                .unwrap_or_default()),
        }
    }

    fn check_open_parent(&self, parent: &str) -> Result<(), String> {
        match self.list[self.place_of(parent)?].status {
            TaskStatus::Completed => {
                Err("parent task is complete. Use a pending parent_task_id or omit parent_task_id.".to_owned())
            }
            TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Blocked => Ok(()),
        }
    }

    /// A completed parent has completed children only, so none of them is opened again under it.
    fn check_open(&self, place: usize) -> Result<(), String> {
        self.list[place].parent.as_deref().map_or(Ok(()), |parent| self.check_open_parent(parent))
    }

    /// One active path: whatever else is in progress is above or below the task that starts.
    fn check_start(&self, start: Start, id: &str, parent: Option<&str>) -> Result<(), String> {
        if start == Start::Pending {
            return Ok(());
        }
        let above: Vec<_> = self.ancestors(parent).collect();
        let is_on_path = |task: &&Task| {
            task.id == id
                || above.contains(&task.id.as_str())
                || self.ancestors(task.parent.as_deref()).any(|a| a == id)
        };
        let mut active = self.list.iter().filter(|task| task.status == TaskStatus::InProgress);
        // The deepest one is what the agent has to finish first.
        match active.rfind(|task| !is_on_path(task)) {
            Some(other) => Err(format!("{} is already in progress. Update, block, or complete it first.", other.id)),
            None => Ok(()),
        }
    }

    /// The parent, its parent, and so on; every parent is older than its children, so this ends.
    fn ancestors<'a>(&'a self, parent: Option<&'a str>) -> impl Iterator<Item = &'a str> {
        let above = |id: &&'a str| self.list.iter().find(|task| task.id == *id)?.parent.as_deref();
        std::iter::successors(parent, above).take(self.list.len())
    }

    fn under(&self, parent: Option<&str>, depth: usize, lines: &mut Vec<String>) {
        for task in self.list.iter().filter(|task| task.parent.as_deref() == parent) {
            let indent = "  ".repeat(depth);
            let kind = task.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
            lines.push(format!("{indent}{} [{}] {}{kind}", task.id, task.status.word(), task.title));
            lines.extend(task.details().into_iter().map(|detail| format!("{indent}    {detail}")));
            self.under(Some(&task.id), depth + 1, lines);
        }
    }
}

impl Task {
    fn tell(&mut self, progress: &Option<String>, notes: &Option<String>) {
        if progress.is_some() {
            self.progress.clone_from(progress);
        }
        if notes.is_some() {
            self.notes.clone_from(notes);
        }
    }

    fn details(&self) -> Vec<String> {
        let told = [
            ("notes", &self.notes),
            ("progress", &self.progress),
            ("blocked by", &self.block_reason),
            ("summary", &self.summary),
        ];
        let told = told.into_iter().filter_map(|(name, text)| text.as_ref().map(|text| format!("{name}: {text}")));
        let reviews = self.reviews.iter().map(|review| format!("review {}: {}", review.status.word(), review.summary));
        told.chain(reviews).collect()
    }
}

impl Start {
    fn status(self) -> TaskStatus {
        match self {
            Self::Pending => TaskStatus::Pending,
            Self::InProgress => TaskStatus::InProgress,
        }
    }
}

impl TaskStatus {
    /// The word that agents and people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
        }
    }
}

impl ReviewStatus {
    /// The word that agents and people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Concern => "concern",
            Self::Fail => "fail",
            Self::Accepted => "accepted",
        }
    }
}
