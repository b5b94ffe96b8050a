//! Repositories that were moved: recognised by the branches of their sessions, and linked to these again.
//!
//! Worktrees stay where they are. What changes is where each session finds its repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::api::error::Error;
use crate::api::project::{MovedProject, Place, Relink, Relinked};
use crate::git::{Repo, removal};
use crate::store::{Change, Durability, ProjectRow, Removed, Write};

use super::Engine;
use super::actor::{self, Command, blocking};
use super::fault::Fault;
use super::prepare::is_repository_lost;
use super::record::Record;
use super::standing::Standing;

/// Sessions by the common git directory that they name.
type Projects = BTreeMap<String, Vec<Record>>;

impl Engine {
    /// The former places of the repository around a directory.
    pub async fn moved_projects(&self, place: Place) -> Result<Vec<MovedProject>, Error> {
        let here = Standing::find(&self.shared, PathBuf::from(place.cwd)).await?;
        Ok(count_sessions(&self.recognise(&here.repo).await?))
    }

    /// Links sessions to the new place of their repository.
    pub async fn relink(&self, request: Relink) -> Result<Relinked, Error> {
        Ok(self.relink_sessions(request).await?)
    }

    async fn relink_sessions(&self, request: Relink) -> Result<Relinked, Fault> {
        let repo = Standing::find(&self.shared, PathBuf::from(request.cwd)).await?.repo;
        let here = || repo.checkout().unwrap_or(repo.common_dir()).to_owned();
        let moved = match request.from {
            None => self.recognise(&repo).await?,
            Some(from) => self.find_moved(&repo, PathBuf::from(from)).await?,
        };
        if moved.is_empty() {
            return Err(Fault::NotRecognised { here: here() });
        }
        if moved.len() > 1 {
            return Err(Fault::SeveralMoved { here: here(), places: moved.into_keys().collect() });
        }
        let project = repo.common_dir().to_string_lossy().into_owned();
        // First: a session that a dying daemon leaves behind is found by a further relink, a project would not be.
        let known = self.shared.store.projects().await?;
        // Where the new place has become a project of its own meanwhile, its trust and settings count.
        let is_known = known.iter().any(|row| row.common_dir == project);
        // Sessions of a repository that took the place of the moved one keep its project.
        let stays = self.records(Removed::Without).await?;
        let is_left = |row: &ProjectRow| {
            let moves = |record: &Record| moved.values().flatten().any(|moved| moved.id == record.id);
            !stays.iter().any(|record| record.body.common_dir == row.common_dir && !moves(record))
        };
        let is_former = |row: &ProjectRow| !is_known && moved.contains_key(&row.common_dir) && is_left(row);
        let former = known.into_iter().filter(is_former);
        let rows = former.map(|row| Change::Project(ProjectRow { common_dir: project.clone(), ..row })).collect();
        self.shared.store.write(Write { durability: Durability::Full, changes: rows }).await?;
        for record in moved.values().flatten() {
            let command = Command::Relink { common_dir: project.clone() };
            if let Ok(Err(error)) = actor::ask(&self.shared, record.id, command).await {
                tracing::warn!(session = %record.id, %error, "the worktree of a moved repository is linked by its next turn");
            }
        }
        Ok(Relinked { project, moved: count_sessions(&moved) })
    }

    /// The sessions of repositories that are gone, where a repository has a branch or the saved work of one of them.
    async fn recognise(&self, repo: &Repo) -> Result<Projects, Fault> {
        let (mut gone, repo) = (self.gone_projects().await?, repo.clone());
        blocking(move || {
            let mut found = Projects::new();
            while let Some((project, records)) = gone.pop_first() {
                for record in &records {
                    let branch = format!("refs/heads/{}", record.body.branch);
                    if repo.find_ref(&branch)?.is_some()
                        || repo.find_ref(&removal::salvage_ref(record.id.as_str()))?.is_some()
                    {
                        found.insert(project, records);
                        break;
                    }
                }
            }
            Ok(found)
        })
        .await
    }

    /// The sessions of the repository that was at `from`. A person has named it, so the commits that its sessions started
    /// from are enough to know it by.
    async fn find_moved(&self, repo: &Repo, from: PathBuf) -> Result<Projects, Fault> {
        let is_it = |project: &str| Path::new(project) == from || Path::new(project) == from.join(".git");
        let mut gone = self.gone_projects().await?;
        gone.retain(|project, _| is_it(project));
        if gone.is_empty() {
            let is_there = from.exists();
            return Err(if is_there { Fault::NotMoved { path: from } } else { Fault::NothingToRelink { path: from } });
        }
        let here = repo.checkout().unwrap_or(repo.common_dir()).to_owned();
        let (repo, commits) = (repo.clone(), gone.values().flatten().map(|record| record.body.base.commit.clone()));
        let commits: Vec<_> = commits.collect();
        match blocking(move || repo.has_commit(&commits)).await? {
            true => Ok(gone),
            false => Err(Fault::OtherRepository { here, path: from }),
        }
    }

    /// The sessions whose repository is not where it was, removed ones included.
    async fn gone_projects(&self) -> Result<Projects, Fault> {
        let mut projects = Projects::new();
        for removed in [Removed::Without, Removed::Only] {
            for record in self.records(removed).await? {
                projects.entry(record.body.common_dir.clone()).or_default().push(record);
            }
        }
        let mut gone = Projects::new();
        for (project, mut records) in projects {
            records.sort_by_key(|record| record.created_at);
            // A repository that took the place of another one has sessions of its own, but none that is older.
            let has_oldest = match records.first() {
                Some(oldest) => !is_repository_lost(oldest).await,
                None => true,
            };
            if has_oldest {
                continue;
            }
            for record in records {
                if is_repository_lost(&record).await {
                    gone.entry(project.clone()).or_default().push(record);
                }
            }
        }
        Ok(gone)
    }
}

fn count_sessions(projects: &Projects) -> Vec<MovedProject> {
    let count = |records: &Vec<Record>| u32::try_from(records.len()).unwrap_or(u32::MAX);
    let moved =
        projects.iter().map(|(project, records)| MovedProject { project: project.clone(), sessions: count(records) });
    moved.collect()
}
