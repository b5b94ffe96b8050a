//! A session whose work does not go together with its base: the base comes into the worktree with marks where both sides
//! changed the same, and the session stands in conflict until none is left.
//!
//! Nobody in the session's cage can write its git directory, so nobody there can merge; but everybody can edit files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tracing::warn;

use crate::api::event::Payload;
use crate::git::Worktree;
use crate::git::diff::{self, Target};
use crate::git::merge::{self, BasePlan, Bring, Brought, ConflictFile, Refusal, Unresolved};
use crate::session::{Event, Integration, Rest, Session, Standing};
use crate::store::Durability;

use super::super::fault::Fault;
use super::super::prepare::failure;
use super::super::record::{ConflictRecord, MergedBase};
use super::Actor;
use super::integrate::{accept_option, refusal_hint};
use super::tree::{changes, in_quiet_tree};

impl Actor {
    /// Tells a conflict, after the base was brought in.
    pub(super) async fn conflict(&mut self, files: &[PathBuf], target: &str) -> (Integration, Result<(), Fault>) {
        self.set_conflicts(files.iter().cloned().map(ConflictFile::unwritten));
        match self.bring_base(target).await {
            // Put together as one change, it fits.
            Ok(()) if self.record.body.conflicts.is_empty() => return (Integration::Rebased, Ok(())),
            Ok(()) => {
                if let Ok(left) = self.unresolved(target).await {
                    return self.tell_unresolved(&left, target);
                }
            }
            Err(fault) => {
                let message = format!("the base could not be brought into the worktree: {}", failure(fault).message);
                self.staged.push(Payload::Warning { message });
            }
        }
        self.tell_conflict(target)
    }

    /// Tells that an earlier conflict is still there.
    pub(super) fn tell_conflict(&mut self, target: &str) -> (Integration, Result<(), Fault>) {
        let files = self.record.body.conflicts.clone();
        self.staged.push(Payload::Conflict { files, with: short(target).to_owned() });
        (Integration::Conflict, Ok(()))
    }

    /// Tells what is left of an earlier conflict.
    pub(super) fn tell_unresolved(&mut self, left: &Unresolved, target: &str) -> (Integration, Result<(), Fault>) {
        let id = match left.untouched_id() {
            Ok(id) => id,
            Err(error) => return (Integration::Refused, Err(error.into())),
        };
        if let Some(id) = &id {
            let message = format!(
                "no marks show the conflict in {}: change what is to be different, or merge exactly these versions with \
                 `coppice merge {}{}`",
                describe(left, target),
                self.id,
                accept_option(id)
            );
            self.staged.push(Payload::Warning { message });
        }
        self.record.body.unmarked_conflict = id;
        self.tell_conflict(target)
    }

    /// Tells that a merge takes files as they are, although both sides have changed them.
    pub(super) fn warn_of_untouched(&mut self, left: &Unresolved, target: &str) {
        let message = format!("merged in spite of the conflict: {}", describe(left, target));
        self.staged.push(Payload::Warning { message });
    }

    /// Merges the base into the session's branch and files, and remembers the files with conflicts.
    async fn bring_base(&mut self, target: &str) -> Result<(), Fault> {
        let tree = self.tree().await?;
        let (session, base) = (self.id, self.record.body.measured_from().parse()?);
        let name = target.to_owned();
        let plan = move |tree: Worktree| merge::plan_base(&tree, Bring { session, target: &name, base });
        let planned = match self.shared.in_stoppable_tree(session, &tree, plan).await? {
            BasePlan::Merge(planned) => planned,
            BasePlan::UpToDate => return Ok(()),
            BasePlan::Refused(refusal) => return Err(self.base_refused(&refusal, target)),
        };
        self.set_conflicts(planned.conflicts.iter().cloned());
        // A daemon that dies after it has written marks must not merge them.
        self.persist(Durability::Full, Vec::new()).await?;
        let name = target.to_owned();
        let (brought, files) = in_quiet_tree(&tree.path.clone(), move || {
            let brought = merge::bring(&tree, Bring { session, target: &name, base }, &planned)?;
            let files = match &brought {
                Brought::Brought { head, onto } => diff::files(&tree, onto, Target::Commit(*head))?,
                Brought::Refused(_) => Vec::new(),
            };
            Ok((brought, files))
        })
        .await?;
        match brought {
            Brought::Brought { head, onto } => {
                let body = &mut self.record.body;
                (body.base.commit, body.merged) = (onto.to_string(), None);
                body.merged_base = (!body.conflict_files.is_empty())
                    .then(|| MergedBase { commit: onto.to_string(), files: body.conflict_files.clone() });
                body.changes = changes(diff::total(&files));
                let (commit, style) = (head.to_string(), "merge".to_owned());
                self.staged.push(Payload::Integrated { commit, style, files: Vec::new() });
                if self.shown_work().await?.is_some() {
                    // After a conflict, what somebody makes of the marks differs from this: they look again.
                    self.remember_moved_work(head).await?;
                }
                Ok(())
            }
            Brought::Refused(refusal) => {
                // Nothing was written that somebody could leave as it is.
                let files = self.conflict_files()?.into_iter();
                self.set_conflicts(files.map(|file| ConflictFile::unwritten(file.path)));
                Err(self.base_refused(&refusal, target))
            }
        }
    }

    pub(super) fn base_refused(&self, refusal: &Refusal, target: &str) -> Fault {
        let hint = refusal_hint(refusal, &self.record, "merge");
        Fault::MergeRefused { target: short(target).to_owned(), reason: refusal.to_string(), hint }
    }

    /// The files of an earlier conflict that nobody has resolved. What is committed counts.
    pub(super) async fn unresolved(&self, target: &str) -> Result<Unresolved, Fault> {
        let files = self.conflict_files()?;
        if files.is_empty() {
            return Ok(Unresolved::default());
        }
        let (tree, target) = (self.tree().await?, target.to_owned());
        let find = move |tree: Worktree| merge::unresolved(&tree, &target, &files);
        self.shared.in_stoppable_tree(self.id, &tree, find).await
    }

    /// Looks again at an earlier conflict, after somebody worked on it.
    pub(super) async fn standing(&mut self) -> Standing {
        match self.left_in_conflict().await {
            Ok(left) => self.set_conflicts(left),
            // What cannot be looked at is as it was.
            Err(fault) => warn!(session = %self.id, %fault, "the conflict could not be looked at"),
        }
        match self.record.body.conflicts.is_empty() {
            true => Standing::Clear,
            false => Standing::Conflict,
        }
    }

    /// What nobody has resolved, else the files that a merge would still stop at.
    async fn left_in_conflict(&self) -> Result<Vec<ConflictFile>, Fault> {
        let files = self.conflict_files()?;
        if files.is_empty() {
            return Ok(files);
        }
        let Some(target) = self.record.body.base.branch.clone() else {
            let left = self.unresolved_with_parent(files.into_iter().map(|file| file.path).collect()).await?;
            return Ok(left.into_iter().map(ConflictFile::unwritten).collect());
        };
        let Unresolved { marked, untouched, deleted: _ } = self.unresolved(&target).await?;
        let left = [marked, untouched].concat();
        if !left.is_empty() {
            return Ok(left);
        }
        let tree = self.tree().await?;
        let (session, base) = (self.id, self.record.body.measured_from().parse()?);
        let find = move |tree: Worktree| merge::conflicts(&tree, Bring { session, target: &target, base });
        self.shared.in_stoppable_tree(session, &tree, find).await
    }

    /// A person worked in the tree of a session that had a conflict: perhaps it is none any more.
    pub(super) async fn settle_conflict(&mut self) {
        let before = self.record.body.conflicts.clone();
        if before.is_empty() {
            return;
        }
        let standing = self.standing().await;
        if settles(self.state, standing) {
            self.step(Event::Settle).await;
        } else if self.record.body.conflicts != before
            && let Err(error) = self.persist(Durability::Normal, Vec::new()).await
        {
            self.give_up(&error).await;
        }
    }

    /// Takes the conflicts from the merge of the base that the files hold: an undo may bring its marks back.
    pub(super) async fn find_conflicts_again(&mut self) -> Standing {
        let body = &mut self.record.body;
        let merged = body.merged_base.as_ref().filter(|merged| merged.commit == body.base.commit);
        body.conflict_files = merged.map(|merged| merged.files.clone()).unwrap_or_default();
        let name = |file: &ConflictRecord| Path::new(OsStr::from_bytes(&file.path)).display().to_string();
        body.conflicts = body.conflict_files.iter().map(name).collect();
        self.standing().await
    }

    fn set_conflicts(&mut self, files: impl IntoIterator<Item = ConflictFile>) {
        let body = &mut self.record.body;
        (body.conflicts, body.conflict_files) = files
            .into_iter()
            .map(|ConflictFile { path, content }| {
                let content = content.map(|content| content.to_string());
                let record = ConflictRecord { path: path.as_os_str().as_bytes().to_vec(), content };
                (path.display().to_string(), record)
            })
            .unzip();
    }

    fn conflict_files(&self) -> Result<Vec<ConflictFile>, Fault> {
        let body = &self.record.body;
        if body.conflicts.len() != body.conflict_files.len() {
            // Conflicts with the parent, and those of records without more than names.
            return Ok(body.conflicts.iter().map(PathBuf::from).map(ConflictFile::unwritten).collect());
        }
        let read = |record: &ConflictRecord| -> Result<ConflictFile, Fault> {
            let content = record.content.as_deref().map(str::parse).transpose()?;
            Ok(ConflictFile { path: PathBuf::from(OsStr::from_bytes(&record.path)), content })
        };
        body.conflict_files.iter().map(read).collect()
    }
}

/// Whether a session is ready because its conflict is gone. One that asks something, failed or was interrupted since is
/// that all the same.
fn settles(state: Session, standing: Standing) -> bool {
    standing == Standing::Clear && state == Session::Resting(Rest::Conflict)
}

/// The files without marks, each with whose version it is.
fn describe(left: &Unresolved, target: &str) -> String {
    let describe = |ConflictFile { path, .. }: &ConflictFile| match left.deleted.contains(path) {
        true => format!("`{}` (the version of `{}`; the session deleted it)", path.display(), short(target)),
        false => format!("`{}` (the session's version)", path.display()),
    };
    left.untouched.iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// The name of a branch as people say it.
pub(super) fn short(target: &str) -> &str {
    target.strip_prefix("refs/heads/").unwrap_or(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_conflict_that_is_gone_makes_a_session_ready() {
        use Rest::{Archived, Asking, Conflict, Draft, Failed, Interrupted, Merged, Ready};
        for rest in [Draft, Ready, Asking, Failed, Interrupted, Conflict, Merged, Archived] {
            assert_eq!(settles(Session::Resting(rest), Standing::Clear), rest == Conflict, "{rest:?}");
            assert!(!settles(Session::Resting(rest), Standing::Conflict), "{rest:?}");
        }
        assert!(!settles(Session::Attached(Conflict), Standing::Clear));
        assert!(!settles(Session::Integrating(Conflict), Standing::Clear));
    }

    #[test]
    fn a_branch_has_a_name_for_people() {
        for (name, expected) in [("refs/heads/main", "main"), ("refs/heads/refs/heads/x", "refs/heads/x"), ("v1", "v1")]
        {
            assert_eq!(short(name), expected);
        }
    }
}
