//! Whether the store, the repositories and the worktrees agree about the sessions. Reads only; the comparison is pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::api::store::StoreVerification;
use crate::git::Repo;
use crate::git::traces::{SessionTraces, find_session_traces};
use crate::id::SessionId;
use crate::store::{self, SessionRow};

use super::fault::Fault;
use super::record::{Record, Tree};
use super::worktrees::{self, FoundWorktree};

/// Compares what the database at `path` says with what is there.
pub(super) fn verify(data: &Path, path: &Path) -> Result<StoreVerification, Fault> {
    let contents = store::read_contents(path, store::PATIENCE)?;
    let mut differences = contents.broken;
    let mut traces = BTreeMap::new();
    for project in contents.projects {
        match Repo::discover(Path::new(&project.common_dir)).and_then(|repo| find_session_traces(&repo)) {
            Ok(found) => drop(traces.insert(project.id, found)),
            Err(error) => differences.push(format!("repository `{}`: {error}", project.common_dir)),
        }
    }
    let sessions = contents.sessions.len();
    differences.extend(compare(data, contents.sessions, &traces, &worktrees::find_all(data)));
    Ok(StoreVerification { database: path.display().to_string(), sessions, differences })
}

/// What differs, session by session. Repositories that could not be read say nothing.
fn compare(
    data: &Path,
    rows: Vec<SessionRow>,
    traces: &BTreeMap<String, Vec<SessionTraces>>,
    trees: &[FoundWorktree],
) -> Vec<String> {
    let known: BTreeSet<SessionId> = rows.iter().map(|row| row.id).collect();
    let mut differences = Vec::new();
    let mut expected = BTreeSet::new();
    for row in rows {
        let (id, project) = (row.id, row.project.clone());
        let record = match Record::read(row) {
            Ok(record) => record,
            Err(error) => {
                differences.push(error.to_string());
                continue;
            }
        };
        let is_made = matches!(record.body.tree, Tree::Ready | Tree::Unprepared);
        let worktree = PathBuf::from(&record.body.worktree);
        if is_made && !trees.iter().any(|tree| tree.path == worktree) {
            differences.push(format!("session `{id}`: its worktree `{}` is missing", worktree.display()));
        }
        expected.insert(worktree);
        let Some(traces) = traces.get(&project) else { continue };
        let found = traces.iter().find(|traces| traces.session == id);
        let has_branch = found.is_some_and(|traces| traces.branch.as_ref().is_some_and(|branch| branch.tip.is_some()));
        let has_salvage = found.is_some_and(|traces| traces.salvage.is_some());
        match (record.removed_at, &record.body.salvage) {
            (None, _) if is_made && !has_branch => {
                differences.push(format!("session `{id}`: its branch `{}` is missing", record.body.branch));
            }
            (Some(_), Some(salvage)) if !has_salvage => {
                differences.push(format!("session `{id}`: its saved work `{salvage}` is missing"));
            }
            (None | Some(_), _) => {}
        }
    }
    for tree in trees.iter().filter(|tree| !expected.contains(&tree.path)) {
        let path = tree.path.display();
        differences.push(match known.contains(&tree.session) {
            true => format!("worktree `{path}` is not where session `{}` has its files", tree.session),
            false => format!("worktree `{path}` belongs to no known session"),
        });
    }
    let is_here = |registered: &Option<PathBuf>| registered.as_ref().is_none_or(|path| path.starts_with(data));
    let unknown = traces.values().flatten().filter(|traces| !known.contains(&traces.session));
    for traces in unknown.filter(|traces| is_here(&traces.registered)) {
        let what = traces
            .branch
            .as_ref()
            .map_or_else(|| "saved work".to_owned(), |branch| format!("branch `{}`", branch.name));
        differences.push(format!("{what} belongs to no known session `{}`", traces.session));
    }
    differences
}
