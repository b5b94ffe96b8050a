//! What a repository still holds of sessions: branches, checkpoints, saved work and registered worktrees. Reads only.
//!
//! It goes by refs and reflogs of the repository, which no agent can write, and never by a file of a worktree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{BranchType, Repository};
use rustix::fs::{Mode, OFlags};

use super::branch::is_created_by_session;
use super::merge::is_in;
use super::{Base, GitError, Oid, Repo};
use crate::id::SessionId;

/// More turns than a session has. Whoever hands over a repository chooses the names of its refs.
const MOST_TURNS: u32 = 100_000;

/// More than a path and a few words.
const LONGEST_GIT_FILE: u64 = 8192;

/// Everything of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTraces {
    pub session: SessionId,
    /// Its branch, by its short name.
    pub branch: Option<BranchTrace>,
    /// By turn.
    pub checkpoints: BTreeMap<u32, CommitTrace>,
    /// The work of a session that was put away or removed.
    pub salvage: Option<CommitTrace>,
    /// Where git believes its files to be.
    pub registered: Option<PathBuf>,
    pub base: Option<BaseTrace>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTrace {
    pub name: String,
    /// None for a branch that was deleted although a worktree is on it.
    pub tip: Option<CommitTrace>,
    /// When it was made, in milliseconds; none where the repository keeps no reflogs.
    pub created_at: Option<i64>,
    /// A branch of the user holds all of it, and it is not just the commit that it began with.
    pub is_merged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitTrace {
    pub commit: Oid,
    /// In milliseconds.
    pub at: i64,
    pub message: String,
}

/// Where a session may have started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseTrace {
    /// Its commit is always in the history of a branch of the user.
    pub base: Base,
    /// The reflog names the commit; otherwise it is where the histories part.
    pub is_recorded: bool,
    /// No other branch of the user holds the commit.
    pub is_only_branch: bool,
}

/// A branch of the user.
struct UserBranch {
    name: String,
    tip: git2::Oid,
    is_head: bool,
}

/// Whether a repository has a worktree, a branch or a kept commit of a session.
pub fn knows_session(repo: &Repo, session: SessionId) -> Result<bool, GitError> {
    if repo.common_dir().join("worktrees").join(session.as_str()).exists() {
        return Ok(true);
    }
    let handle = repo.open()?;
    for pattern in [format!("refs/heads/coppice/{session}/*"), format!("refs/coppice/*/{session}*")] {
        let mut refs = handle.references_glob(&pattern).map_err(GitError::library(format!("list `{pattern}`")))?;
        if refs.next().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is left of every session, in the order of their ids.
pub fn find_session_traces(repo: &Repo) -> Result<Vec<SessionTraces>, GitError> {
    let handle = repo.open()?;
    let mut found = BTreeMap::new();
    read_refs(&handle, &mut found)?;
    read_registrations(repo, &mut found);
    let branches = user_branches(repo, &handle)?;
    found.into_values().map(|traces| with_base(&handle, &branches, traces)).collect()
}

fn read_refs(handle: &Repository, found: &mut BTreeMap<SessionId, SessionTraces>) -> Result<(), GitError> {
    for pattern in ["refs/heads/coppice/*", "refs/coppice/checkpoints/*", "refs/coppice/salvage/*"] {
        let refs = handle.references_glob(pattern).map_err(GitError::library(format!("list `{pattern}`")))?;
        for reference in refs.flatten() {
            let (Ok(name), Ok(commit)) = (reference.name(), reference.peel_to_commit()) else { continue };
            let parts: Vec<_> = name.split('/').collect();
            let commit = describe_commit(&commit);
            match parts.as_slice() {
                ["refs", "heads", "coppice", id, _] => {
                    let Some(traces) = entry(found, id) else { continue };
                    let name = name.trim_start_matches("refs/heads/").to_owned();
                    traces.branch = Some(BranchTrace { name, tip: Some(commit), created_at: None, is_merged: false });
                }
                ["refs", "coppice", "checkpoints", id, turn] => {
                    let turn = turn.parse().ok().filter(|turn| *turn <= MOST_TURNS);
                    let (Some(turn), Some(traces)) = (turn, entry(found, id)) else { continue };
                    traces.checkpoints.insert(turn, commit);
                }
                ["refs", "coppice", "salvage", id] => {
                    let Some(traces) = entry(found, id) else { continue };
                    traces.salvage = Some(commit);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn entry<'a>(found: &'a mut BTreeMap<SessionId, SessionTraces>, id: &str) -> Option<&'a mut SessionTraces> {
    let session: SessionId = id.parse().ok()?;
    let fresh = || SessionTraces {
        session,
        branch: None,
        checkpoints: BTreeMap::new(),
        salvage: None,
        registered: None,
        base: None,
    };
    Some(found.entry(session).or_insert_with(fresh))
}

/// Reads which worktrees are registered for sessions. A spare has a name of a session, too, and is on no branch.
fn read_registrations(repo: &Repo, found: &mut BTreeMap<SessionId, SessionTraces>) {
    for admin in fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten() {
        let (name, admin) = (admin.file_name(), admin.path());
        let Some(id) = name.to_str() else { continue };
        let head = fs::read_to_string(admin.join("HEAD")).unwrap_or_default();
        let branch = head.trim_end().strip_prefix("ref: refs/heads/").unwrap_or_default();
        let is_own = branch.strip_prefix("coppice/").and_then(|rest| rest.split_once('/')).is_some_and(|it| it.0 == id);
        if !is_own {
            continue;
        }
        let Some(traces) = entry(found, id) else { continue };
        let files = fs::read(admin.join("gitdir")).unwrap_or_default();
        traces.registered = Path::new(OsStr::from_bytes(files.trim_ascii_end())).parent().map(Path::to_owned);
        if traces.branch.is_none() {
            let name = branch.to_owned();
            traces.branch = Some(BranchTrace { name, tip: None, created_at: None, is_merged: false });
        }
    }
}

/// The branches that neither belong to sessions nor were made by one.
fn user_branches(repo: &Repo, handle: &Repository) -> Result<Vec<UserBranch>, GitError> {
    let mut found = Vec::new();
    let branches = handle.branches(Some(BranchType::Local)).map_err(GitError::library("list the branches"))?;
    for (branch, _) in branches.flatten() {
        let (Ok(Some(name)), Ok(commit)) = (branch.name(), branch.get().peel_to_commit()) else { continue };
        if name.starts_with("coppice/") || is_created_by_session(repo, name)? {
            continue;
        }
        found.push(UserBranch { name: name.to_owned(), tip: commit.id(), is_head: branch.is_head() });
    }
    found.sort_by_key(|branch| (!branch.is_head, branch.name.clone()));
    Ok(found)
}

/// Finds the branch of the user that a session is nearest to, and the commit at which it left it.
fn with_base(
    handle: &Repository,
    branches: &[UserBranch],
    mut traces: SessionTraces,
) -> Result<SessionTraces, GitError> {
    let tip = traces.branch.as_ref().and_then(|branch| branch.tip.as_ref()).map(|tip| tip.commit.raw());
    let newest = || traces.checkpoints.values().next_back().map(|found| found.commit.raw());
    let saved = || {
        let saved = traces.salvage.as_ref()?.commit.raw();
        handle.find_commit(saved).and_then(|commit| commit.parent_id(0)).ok()
    };
    let Some(last) = tip.or_else(saved).or_else(newest) else { return Ok(traces) };
    let nearest = branches.iter().filter_map(|branch| {
        let parting = handle.merge_base(last, branch.tip).ok()?;
        let (ahead, _) = handle.graph_ahead_behind(last, parting).ok()?;
        Some((ahead, branch, parting))
    });
    let Some((_, branch, parting)) = nearest.min_by_key(|(ahead, ..)| *ahead) else { return Ok(traces) };
    let log = traces.branch.as_ref().and_then(|own| handle.reflog(&format!("refs/heads/{}", own.name)).ok());
    let first = log.as_ref().and_then(|log| log.get(log.len().checked_sub(1)?));
    let recorded = first.as_ref().map(|entry| entry.id_new());
    let before_first = || {
        let (_, oldest) = traces.checkpoints.iter().next()?;
        handle.find_commit(oldest.commit.raw()).and_then(|commit| commit.parent_id(0)).ok()
    };
    let holds = |branch: &UserBranch, commit: git2::Oid| is_in(handle, commit.into(), branch.tip.into());
    let mut commit = parting;
    let mut is_recorded = false;
    for (candidate, from_log) in [(recorded, true), (before_first(), false)] {
        if let Some(candidate) = candidate.filter(|candidate| handle.find_commit(*candidate).is_ok())
            && holds(branch, candidate)?
        {
            (commit, is_recorded) = (candidate, from_log);
            break;
        }
    }
    let mut holders = 0;
    for branch in branches {
        holders += usize::from(holds(branch, commit)?);
    }
    if let Some(own) = &mut traces.branch {
        own.created_at = first.map(|entry| entry.committer().when().seconds().saturating_mul(1000));
        own.is_merged = parting == last && commit != last;
    }
    let base =
        Base { name: branch.name.clone(), branch: Some(format!("refs/heads/{}", branch.name)), commit: commit.into() };
    traces.base = Some(BaseTrace { base, is_recorded, is_only_branch: holders == 1 });
    Ok(traces)
}

fn describe_commit(commit: &git2::Commit<'_>) -> CommitTrace {
    CommitTrace {
        commit: commit.id().into(),
        at: commit.time().seconds().saturating_mul(1000),
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
    }
}

/// Reads a short, regular file. Anything else could keep a reader waiting, or never end.
fn read_small_file(path: &Path) -> Option<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, Mode::empty()).ok()?;
    let file = fs::File::from(file);
    let found = file.metadata().ok()?;
    let mut content = Vec::new();
    file.take(LONGEST_GIT_FILE).read_to_end(&mut content).ok()?;
    (found.is_file() && found.len() <= LONGEST_GIT_FILE).then_some(content)
}

/// The repository that a worktree below the data directory says it belongs to. An agent can write what is read here: the
/// caller compares the answer with something that it cannot.
pub fn claimed_repository(worktree: &Path) -> Option<PathBuf> {
    let content = read_small_file(&worktree.join(".git"))?;
    let admin = Path::new(OsStr::from_bytes(content.strip_prefix(b"gitdir: ")?.trim_ascii_end())).to_owned();
    Some(admin.parent()?.parent()?.to_owned())
}
