//! The names of files that a prompt can mention: of the user's checkout, or of a session.

use std::path::PathBuf;

use crate::api::error::Error;
use crate::api::project::{Files, FilesQuery};
use crate::git::Worktree;
use crate::git::diff::Target;
use crate::git::listing::{self, Listing};
use crate::git::place::Place;

use super::Engine;
use super::actor::blocking;
use super::fault::Fault;
use super::record::Record;
use super::shared::Shared;
use super::{prepare, query, standing};

/// More names than these help nobody to find one.
const LIMIT: usize = 50_000;

impl Engine {
    /// The files of a directory's work tree or of a session, as paths from the root.
    pub async fn files(&self, query: FilesQuery) -> Result<Files, Error> {
        Ok(match (query.cwd, query.session) {
            (Some(cwd), None) => self.files_at(PathBuf::from(cwd)).await?,
            (None, Some(id)) => files_of(&self.shared, &self.record(&id).await?).await?,
            (None, None) | (Some(_), Some(_)) => return Err(Fault::WhoseFiles.into()),
        })
    }

    async fn files_at(&self, cwd: PathBuf) -> Result<Files, Fault> {
        if let Some(record) = standing::session_at(&self.shared, &cwd).await? {
            return files_of(&self.shared, &record).await;
        }
        blocking(move || {
            let place = Place::find(&cwd)?;
            match place.files {
                Some(root) => Ok(files(listing::of_checkout(&place.git_dir, &root, LIMIT)?, Some(root))),
                None => {
                    let base = place.repo.resolve_base(&cwd, None)?;
                    Ok(files(listing::of_commit(&place.repo, base.commit, LIMIT)?, None))
                }
            }
        })
        .await
    }
}

/// The session's files as they are, or as they were kept where there is no tree.
async fn files_of(shared: &Shared, record: &Record) -> Result<Files, Fault> {
    let repo = prepare::open_repo(record).await?;
    let tree = prepare::tree_of(record, &repo)?;
    let target = query::whole(record, &repo)?;
    let list = move |tree: Worktree| {
        Ok(match target {
            Target::WorkTree => files(listing::of_tree(&tree, LIMIT)?, Some(tree.path)),
            Target::Commit(commit) => files(listing::of_commit(&repo, commit, LIMIT)?, None),
        })
    };
    shared.in_stoppable_tree(record.id, &tree, list).await
}

fn files(listing: Listing, root: Option<PathBuf>) -> Files {
    Files {
        root: root.map(|root| root.display().to_string()),
        paths: listing.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        truncated: listing.is_truncated,
    }
}
