//! A session whose work does not go together with its base: the base comes into the worktree with marks where both sides
//! changed the same, and the session stands in conflict until none is left.
//!
//! Nobody in the session's cage can write its git directory, so nobody there can merge; but everybody can edit files.

use std::path::{Path, PathBuf};

use tracing::warn;

use crate::api::event::Payload;
use crate::git::diff::{self, Target};
use crate::git::merge::{self, Bring, Brought};
use crate::session::{Event, Integration, Rest, Session, Standing};
use crate::store::Durability;

use super::super::fault::Fault;
use super::super::prepare::failure;
use super::Actor;
use super::integrate::refusal_hint;
use super::tree::{changes, in_quiet_tree};

impl Actor {
    /// Tells a conflict, after the base was brought in.
    pub(super) async fn conflict(&mut self, files: &[PathBuf], target: &str) -> (Integration, Result<(), Fault>) {
        self.record.body.conflicts = names(files);
        match self.bring_base(target).await {
            // Put together as one change, it fits.
            Ok(Some(left)) if left.is_empty() => {
                self.record.body.conflicts.clear();
                return (Integration::Rebased, Ok(()));
            }
            Ok(Some(left)) => self.record.body.conflicts = names(&left),
            Ok(None) => {}
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

    /// Merges the base into the session's branch and files; the files with conflicts, none when it was there already.
    async fn bring_base(&mut self, target: &str) -> Result<Option<Vec<PathBuf>>, Fault> {
        // A daemon that dies after it has written marks must not merge them.
        self.persist(Durability::Full, Vec::new()).await?;
        let tree = self.tree().await?;
        let (session, base, name) = (self.id, self.record.body.measured_from().parse()?, target.to_owned());
        let (brought, files) = in_quiet_tree(&tree.path.clone(), move || {
            let brought = merge::bring(&tree, Bring { session, target: &name, base })?;
            let files = match &brought {
                Brought::Brought { head, onto, .. } => diff::files(&tree, onto, Target::Commit(*head))?,
                Brought::UpToDate | Brought::Refused(_) => Vec::new(),
            };
            Ok((brought, files))
        })
        .await?;
        match brought {
            Brought::Brought { head, onto, conflicts } => {
                let body = &mut self.record.body;
                (body.base.commit, body.merged) = (onto.to_string(), None);
                body.changes = changes(diff::total(&files));
                let (commit, style) = (head.to_string(), "merge".to_owned());
                self.staged.push(Payload::Integrated { commit, style, files: Vec::new() });
                if self.shown_work().await?.is_some() {
                    // After a conflict, what somebody makes of the marks differs from this: they look again.
                    self.remember_moved_work(head).await?;
                }
                Ok(Some(conflicts))
            }
            Brought::UpToDate => Ok(None),
            Brought::Refused(refusal) => {
                let hint = refusal_hint(&refusal, self.id.as_str());
                let (target, reason) = (short(target).to_owned(), refusal.to_string());
                Err(Fault::MergeRefused { target, reason, hint })
            }
        }
    }

    /// The files of an earlier conflict that still hold marks. What is committed counts.
    pub(super) async fn marked(&self, target: &str) -> Result<Vec<PathBuf>, Fault> {
        let files = self.conflicts();
        if files.is_empty() {
            return Ok(files);
        }
        let (tree, target) = (self.tree().await?, target.to_owned());
        in_quiet_tree(&tree.path.clone(), move || merge::marked(&tree, &target, &files)).await
    }

    /// Looks again at an earlier conflict, after somebody worked on it.
    pub(super) async fn standing(&mut self) -> Standing {
        match self.unresolved().await {
            Ok(left) => self.record.body.conflicts = names(&left),
            // What cannot be looked at is as it was.
            Err(fault) => warn!(session = %self.id, %fault, "the conflict could not be looked at"),
        }
        match self.record.body.conflicts.is_empty() {
            true => Standing::Clear,
            false => Standing::Conflict,
        }
    }

    async fn unresolved(&self) -> Result<Vec<PathBuf>, Fault> {
        let files = self.conflicts();
        if files.is_empty() {
            return Ok(files);
        }
        let Some(target) = self.record.body.base.branch.clone() else {
            return self.unresolved_with_parent(files).await;
        };
        let tree = self.tree().await?;
        let (session, base) = (self.id, self.record.body.measured_from().parse()?);
        let work = move || merge::unresolved(&tree, Bring { session, target: &target, base }, &files);
        in_quiet_tree(Path::new(&self.record.body.worktree), work).await
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

    fn conflicts(&self) -> Vec<PathBuf> {
        self.record.body.conflicts.iter().map(PathBuf::from).collect()
    }
}

/// Whether a session is ready because its conflict is gone. One that asks something, failed or was interrupted since is
/// that all the same.
fn settles(state: Session, standing: Standing) -> bool {
    standing == Standing::Clear && state == Session::Resting(Rest::Conflict)
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|path| path.display().to_string()).collect()
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
