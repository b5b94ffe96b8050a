//! The plans of a project that wait: listed, and taken up again by a session.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::api::Page;
use crate::api::error::Error;
use crate::api::permission::{ListPlans, SavedPlan};
use crate::store::Removed;
use crate::workflow::{Plan, PlanSource};

use super::create::project_id;
use super::fault::Fault;
use super::record::Record;
use super::shared::Shared;
use super::standing::Standing;
use super::{Engine, plan_mode};

/// The ending of a plan's file.
const ENDING: &str = "md";

impl Engine {
    /// The plans that wait in the repository around a directory, the last one first.
    pub async fn plans(&self, query: ListPlans) -> Result<Page<SavedPlan>, Error> {
        let here = Standing::find(&self.shared, PathBuf::from(query.cwd)).await?;
        let waiting = waiting(&self.shared, &project_id(&self.shared, &here.repo).await?).await?;
        Ok(Page { items: waiting.into_iter().map(|(saved, _)| saved).collect(), next: None })
    }
}

/// One plan that waits, by its id.
pub(super) async fn find(shared: &Shared, project: &str, id: &str) -> Result<(SavedPlan, Plan), Fault> {
    let waiting = waiting(shared, project).await?;
    let known = || waiting.iter().map(|(saved, _)| saved.id.clone()).collect();
    let found = waiting.iter().find(|(saved, _)| saved.id == id);
    found.cloned().ok_or_else(|| Fault::NoPlan { id: id.to_owned(), known: known() })
}

/// A session carries the plan out, so it waits no more. One that cannot be taken away is offered again, which harms
/// nobody.
pub(super) async fn taken(saved: SavedPlan) {
    let discard = tokio::task::spawn_blocking(move || plan_mode::discard(Path::new(&saved.path)));
    if let Err(fault) = discard.await.map_err(Fault::from).flatten() {
        tracing::warn!(%fault, "the file of a plan that is carried out stays");
    }
}

/// All plans of a project that wait. A session that still works on its own does not let it wait.
async fn waiting(shared: &Shared, project: &str) -> Result<Vec<(SavedPlan, Plan)>, Fault> {
    let mut owners = Vec::new();
    for removed in [Removed::Without, Removed::Only] {
        for row in shared.store.sessions(removed).await? {
            if row.project == project {
                owners.push(Owner::of(&Record::read(row)?));
            }
        }
    }
    let directory = plan_mode::directory(shared, project);
    let mut found = tokio::task::spawn_blocking(move || read_all(&directory, &owners)).await??;
    found.sort_by(|(one, _), (other, _)| (other.saved_at, &one.id).cmp(&(one.saved_at, &other.id)));
    Ok(found)
}

/// The session whose plan file it is.
struct Owner {
    name: String,
    session: String,
    kept_at: Option<i64>,
}

impl Owner {
    fn of(record: &Record) -> Self {
        Self { name: plan_mode::name(record), session: record.id.to_string(), kept_at: record.body.plan_mode.kept_at }
    }
}

fn read_all(directory: &Path, owners: &[Owner]) -> Result<Vec<(SavedPlan, Plan)>, Fault> {
    let failed = |source| Fault::File { act: "read", path: directory.to_owned(), source };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut plans = Vec::new();
    for entry in entries {
        plans.extend(read_one(&entry.map_err(failed)?.path(), owners)?);
    }
    Ok(plans)
}

fn read_one(path: &Path, owners: &[Owner]) -> Result<Option<(SavedPlan, Plan)>, Fault> {
    let is_plan = path.extension().is_some_and(|ending| ending == ENDING);
    let Some(id) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_plan) else { return Ok(None) };
    let owner = owners.iter().find(|owner| owner.name == id);
    let saved_at = match owner {
        Some(owner) => owner.kept_at,
        // Whoever saved it elsewhere, or is gone, has done with it.
        None => Some(written_at(path)),
    };
    let Some(saved_at) = saved_at else { return Ok(None) };
    let Some(text) = plan_mode::read(path)? else { return Ok(None) };
    let plan = Plan::new(id.to_owned(), &text, id, PlanSource::Turn(0));
    let saved = SavedPlan {
        id: id.to_owned(),
        title: plan.title.clone(),
        path: path.to_string_lossy().into_owned(),
        session: owner.map(|owner| owner.session.clone()),
        saved_at,
    };
    Ok(Some((saved, plan)))
}

/// When a file was last written, in milliseconds; one that does not say comes last.
fn written_at(path: &Path) -> i64 {
    let modified = path.symlink_metadata().and_then(|about| about.modified()).ok();
    let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_listed_and_what_is_worked_on_is_not() {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("kept-aaaa2222.md", "# Kept"),
            ("open-bbbb2222.md", "# Open"),
            ("saved-plan.md", "no heading"),
            ("empty.md", ""),
            ("notes.txt", "# No plan"),
        ] {
            std::fs::write(home.path().join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("kept-aaaa2222.md", home.path().join("link.md")).unwrap();
        let owner = |name: &str, session: &str, kept_at| Owner { name: name.into(), session: session.into(), kept_at };
        let owners = [owner("kept-aaaa2222", "aaaa2222", Some(5)), owner("open-bbbb2222", "bbbb2222", None)];
        let mut found = read_all(home.path(), &owners).unwrap();
        found.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
        let seen: Vec<_> = found.iter().map(|(saved, plan)| (&*saved.id, &*saved.title, &*plan.markdown)).collect();
        assert_eq!(seen, [("kept-aaaa2222", "Kept", "# Kept"), ("saved-plan", "saved-plan", "no heading")]);
        assert_eq!((found[0].0.session.as_deref(), found[0].0.saved_at), (Some("aaaa2222"), 5));
        assert!(found[1].0.session.is_none() && found[1].0.saved_at > 0);
        assert_eq!(read_all(&home.path().join("none"), &owners).unwrap(), []);
    }
}
