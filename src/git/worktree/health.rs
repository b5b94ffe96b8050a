//! Whether a worktree is still whole, and how it is made whole again after somebody removed part of it by hand.

use std::fs;
use std::path::Path;

use tracing::{info, warn};

use super::{Worktree, checkout, registration};
use crate::git::history::tip_ref;
use crate::git::private_index::{OtherWriters, PrivateIndex};
use crate::git::{GitError, Oid, removal};

/// What is wrong with a worktree; the first thing found, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Sound,
    /// The directory with the files is gone.
    TreeMissing,
    /// The git directory below the common one is gone or incomplete.
    AdminMissing,
    /// The `.git` file is not the one that was written: somebody may want git to look elsewhere.
    GitFileChanged,
    /// The session's branch is gone.
    BranchMissing,
}

/// What a repair has mended, in order; empty when all was sound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    pub mended: Vec<Health>,
}

impl Worktree {
    /// Looks for parts that are gone.
    pub fn health(&self) -> Result<Health, GitError> {
        Ok(if !self.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            Health::TreeMissing
        } else if !has_admin(&self.admin) {
            Health::AdminMissing
        } else if !registration::has_own_git_file(self) {
            Health::GitFileChanged
        } else if self.repo.find_ref(&self.branch_ref())?.is_none() {
            Health::BranchMissing
        } else {
            Health::Sound
        })
    }

    /// Makes the worktree whole. Files that are there stay as they are; files that are gone come back as they are on
    /// the branch, and a branch that is gone comes back where its history says it was.
    pub fn repair(&self) -> Result<Repaired, GitError> {
        let mut repaired = Repaired::default();
        if self.health()? == Health::Sound {
            // A repair that was killed leaves its lock.
            if registration::lock_reason(&self.admin).as_deref() == Some(registration::INITIALIZING) {
                registration::unlock(&self.admin)?;
            }
            return Ok(repaired);
        }
        let is_tree_missing = self.health()? == Health::TreeMissing;
        repaired.mended.extend(self.mend_history()?);
        if is_tree_missing {
            registration::remove_locks(&self.admin)?;
            registration::register_again(self)?;
            checkout(self, OtherWriters::Possible)?;
            repaired.mended.push(Health::TreeMissing);
        }
        if !registration::has_own_git_file(self) {
            self.replace_git_file()?;
            repaired.mended.push(Health::GitFileChanged);
        }
        registration::unlock(&self.admin)?;
        info!(worktree = %self.path.display(), mended = ?repaired.mended, "worktree repaired");
        Ok(repaired)
    }

    /// Brings back the branch and the git directory, on which everything else stands.
    pub(crate) fn mend_history(&self) -> Result<Vec<Health>, GitError> {
        let mut mended = Vec::new();
        if self.repo.find_ref(&self.branch_ref())?.is_none() {
            self.revive_branch()?;
            mended.push(Health::BranchMissing);
        }
        if !has_admin(&self.admin) {
            registration::register_again(self)?;
            let private = PrivateIndex::empty(self)?;
            private.git("read-tree").arg(self.branch_ref()).run()?;
            private.install(OtherWriters::Possible)?;
            mended.push(Health::AdminMissing);
        }
        Ok(mended)
    }

    fn replace_git_file(&self) -> Result<(), GitError> {
        let file = self.path.join(".git");
        if file.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            warn!(worktree = %self.path.display(), "a repository lies in place of the `.git` file");
            removal::trash_unsaved(&file, self.path.parent().unwrap_or(&self.path))?;
        }
        registration::point_to(self)
    }

    /// Makes the branch again at the last commit that is known of it.
    fn revive_branch(&self) -> Result<(), GitError> {
        let repo = self.repo.open()?;
        let missing = || GitError::BranchMissing { branch: self.branch.clone() };
        let commit = self.last_commits(&repo).into_iter().find(|oid| repo.find_commit(oid.raw()).is_ok());
        let commit = commit.ok_or_else(missing)?;
        repo.reference(&self.branch_ref(), commit.raw(), false, "branch: made again for its session")
            .map(drop)
            .map_err(GitError::library(format!("create the branch `{}`", self.branch)))
    }

    /// Where the branch may have been, the best source first: what was saved at its removal, its tip as it was kept, or
    /// commits that somebody made on top of that in the worktree, its checkpoints, a head that is not on it, its base.
    fn last_commits(&self, repo: &git2::Repository) -> Vec<Oid> {
        let head = fs::read(self.admin.join("HEAD")).unwrap_or_default();
        let is_attached = head.trim_ascii_end() == format!("ref: {}", self.branch_ref()).as_bytes();
        let log = fs::read(self.admin.join("logs/HEAD")).unwrap_or_default();
        let id = self.branch.split('/').nth(1).unwrap_or_default();
        let saved = repo.find_reference(&removal::salvage_ref(id)).and_then(|saved| saved.peel_to_commit());
        let saved = saved.and_then(|saved| saved.parent_id(0)).ok().map(Oid::from);
        let logged = last_of_log(&log).filter(|_| is_attached);
        let tip = self.session().and_then(|session| repo.refname_to_id(&tip_ref(session)).ok()).map(Oid::from);
        let kept = tip.or_else(|| newest_checkpoint(repo, id));
        let is_newer = |logged: &Oid| {
            let is_above = |kept: Oid| repo.graph_descendant_of(logged.raw(), kept.raw()).unwrap_or_default();
            kept.is_none_or(is_above)
        };
        let found = [saved, logged.filter(is_newer), kept, logged, Oid::from_output(&head), Some(self.base)];
        found.into_iter().flatten().collect()
    }
}

fn has_admin(admin: &Path) -> bool {
    ["HEAD", "commondir", "gitdir"].iter().all(|name| admin.join(name).is_file())
}

/// The commit that the last line of a reflog ends at.
fn last_of_log(log: &[u8]) -> Option<Oid> {
    let line = log.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?;
    Oid::from_output(line.split(|byte| *byte == b' ').nth(1)?)
}

fn newest_checkpoint(repo: &git2::Repository, id: &str) -> Option<Oid> {
    let prefix = format!("refs/coppice/checkpoints/{id}/");
    let found = repo.references_glob(&format!("{prefix}*")).ok()?.flatten();
    let numbered = found.filter_map(|reference| {
        let turn: u32 = reference.name().ok()?.strip_prefix(&prefix)?.parse().ok()?;
        Some((turn, reference.peel_to_commit().ok()?.id()))
    });
    numbered.max_by_key(|(turn, _)| *turn).map(|(_, commit)| commit.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_log_names_the_commit() {
        let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
        let log = format!("{zero} {one} A <a@b> 1 +0000\tbranch: created\n{one} {two} A B <a@b> 2 +0000\tcommit: x\n");
        assert_eq!(last_of_log(log.as_bytes()), two.parse().ok());
        assert_eq!(last_of_log(b""), None);
        assert_eq!(last_of_log(b"broken"), None);
    }
}
