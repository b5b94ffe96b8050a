//! Opens the repository of a session, and refuses another repository at the same path.

use std::path::{Path, PathBuf};
use std::slice;

use crate::engine::fault::Fault;
use crate::engine::record::{Record, Tree};
use crate::git::traces::knows_session;
use crate::git::{GitError, Repo};

/// Opens the repository of a session.
pub(in crate::engine) async fn open_repo(record: &Record) -> Result<Repo, Fault> {
    let (id, common_dir) = (record.id, PathBuf::from(&record.body.common_dir));
    let (base, tree) = (record.body.base.commit.clone(), record.body.tree);
    let opened = tokio::task::spawn_blocking(move || {
        let repo = match Repo::discover(&common_dir) {
            Err(GitError::NotARepository { .. }) if !common_dir.exists() => {
                return Err(Fault::RepositoryGone { id, path: shown_path(&common_dir) });
            }
            opened => opened?,
        };
        let is_own = match tree {
            Tree::Ready | Tree::Unprepared => knows_session(&repo, id)?,
            // Of such a session, nothing has to be in the repository but the commit that it started from.
            Tree::Absent | Tree::Away | Tree::Creating => repo.has_commit(slice::from_ref(&base))?,
        };
        match is_own {
            true => Ok(repo),
            false => Err(Fault::RepositoryReplaced { id, path: shown_path(&common_dir) }),
        }
    });
    opened.await?
}

/// Whether the repository of a session is gone, or another one is in its place.
pub(in crate::engine) async fn is_repository_lost(record: &Record) -> bool {
    let opened = open_repo(record).await;
    matches!(opened, Err(Fault::RepositoryGone { .. } | Fault::RepositoryReplaced { .. }))
}

/// The directory that a person knows a repository by.
fn shown_path(common_dir: &Path) -> PathBuf {
    let is_inner = common_dir.file_name().is_some_and(|name| name == ".git");
    common_dir.parent().filter(|_| is_inner).unwrap_or(common_dir).to_owned()
}
