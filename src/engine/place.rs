//! Where a client stands, for clients to show: the repository around a directory and what is checked out there.

use std::path::{Path, PathBuf};

use crate::api::error::Error;
use crate::api::project::{Place as Asked, Project};
use crate::git::Repo;
use crate::git::place::{self, Distance, Place};

use super::Engine;
use super::actor::blocking;
use super::fault::Fault;
use super::prepare;
use super::standing;

impl Engine {
    /// The repository around a directory; one without commits too.
    pub async fn project(&self, place: Asked) -> Result<Project, Error> {
        Ok(self.project_at(PathBuf::from(place.cwd)).await?)
    }

    async fn project_at(&self, cwd: PathBuf) -> Result<Project, Fault> {
        let Some(record) = standing::session_at(&self.shared, &cwd).await? else {
            let place = blocking(move || Place::find(&cwd)).await?;
            let root = place.files.as_deref().unwrap_or(&place.git_dir);
            let project = project(&place.repo, root, place.branch, place.distance);
            return Ok(Project { has_commits: place.has_commits, ..project });
        };
        let repo = prepare::open_repo(&record).await?;
        let (of, branch) = (repo.clone(), record.body.branch.clone());
        let distance = blocking(move || place::distance(&of, &branch)).await?;
        Ok(project(&repo, Path::new(&record.body.worktree), Some(record.body.branch), distance))
    }
}

fn project(repo: &Repo, root: &Path, branch: Option<String>, distance: Option<Distance>) -> Project {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Project {
        project: repo.common_dir().display().to_string(),
        root: root.display().to_string(),
        name: name(repo.checkout(), repo.common_dir()),
        branch,
        ahead: distance.map(|distance| count(distance.ahead)),
        behind: distance.map(|distance| count(distance.behind)),
        has_commits: true,
    }
}

/// What people call a project: the directory of its main checkout, or of the bare repository without its ending.
fn name(checkout: Option<&Path>, common_dir: &Path) -> String {
    let last = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match (checkout, last(common_dir).strip_suffix(".git")) {
        (Some(checkout), _) => last(checkout),
        (None, Some("")) => common_dir.parent().map(last).unwrap_or_default(),
        (None, Some(bare)) => bare.to_owned(),
        (None, None) => last(common_dir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_called_by_the_directory_that_people_know() {
        for (checkout, common_dir, expected) in [
            (Some("/home/ada/shop"), "/home/ada/shop/.git", "shop"),
            (Some("/home/ada/apart"), "/srv/elsewhere", "apart"),
            (Some("/home/ada/odd.git"), "/home/ada/odd.git/.git", "odd.git"),
            (None, "/srv/shop.git", "shop"),
            (None, "/srv/shop", "shop"),
            (None, "/srv/shop/.git", "shop"),
        ] {
            assert_eq!(name(checkout.map(Path::new), Path::new(common_dir)), expected);
        }
    }
}
