//! What happens behind a removal: the work is saved, the tree becomes the spare or is deleted slowly, old things go. A
//! spare is verified file by file while no turn runs, and not used before.
//!
//! It sleeps until something is removed. Nothing is deleted before what is in it can be reached from a ref.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::api::event::Payload;
use crate::api::session::Status;
use crate::git::removal::{self, Discard, Pending, Recycled, SpareVerdict, SpareVerification, Step, Trashed};
use crate::git::{GitError, Worktree, submodule};
use crate::sandbox::lease::take_read_lease;
use crate::store::{Change, Durability, Removed, Write};

use super::actor::blocking;
use super::fault::Fault;
use super::record::{Record, Tree};
use super::retention::Retention;
use super::shared::Shared;
use super::{confine, crash, prepare, settings};

/// How many files are deleted at a time, and the pause after them: deleting must not be felt.
const BATCH: usize = 256;
/// How many files of a spare are compared at a time.
const COMPARED: usize = 64;
const PAUSE: Duration = Duration::from_millis(20);

/// How long a tree that could not be saved is left alone, at first and at most.
const FIRST_DELAY: Duration = Duration::from_secs(60);
const LAST_DELAY: Duration = Duration::from_secs(60 * 60);

/// The bell of the sweeper.
#[derive(Default)]
pub(super) struct Sweeper {
    bell: Notify,
    /// The trees that could not be saved, by their place in the trash.
    failed: Mutex<BTreeMap<PathBuf, Retry>>,
}

/// When a tree is tried again.
#[derive(Debug, Clone, Copy)]
struct Retry {
    at: Instant,
    delay: Duration,
}

impl Retry {
    /// The next try after one more failure.
    fn after(last: Option<Self>, now: Instant) -> Self {
        let delay = last.map_or(FIRST_DELAY, |last| (last.delay * 2).min(LAST_DELAY));
        Self { at: now + delay, delay }
    }
}

impl Sweeper {
    /// Something was removed.
    pub(super) fn wake(&self) {
        self.bell.notify_one();
    }

    fn is_due(&self, path: &Path) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get(path).is_none_or(|retry| retry.at <= Instant::now())
    }

    fn saved(&self, path: &Path) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// Keeps a failure; whether it is the first of this tree.
    fn is_first_failure(&self, path: &Path) -> bool {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = failed.get(path).copied();
        failed.insert(path.to_owned(), Retry::after(last, Instant::now()));
        last.is_none()
    }
}

/// Starts the sweeper; its first round is for what the last daemon left.
pub(super) fn start(shared: &Arc<Shared>) {
    shared.sweeper.wake();
    let sweeping = shared.clone();
    let mut retention = Retention::new(&shared.data);
    shared.tasks.spawn(async move {
        loop {
            tokio::select! {
                () = sweeping.stop.cancelled() => break,
                () = sweeping.sweeper.bell.notified() => {}
            }
            let leftovers = {
                let _going = sweeping.busy();
                save_all(&sweeping, &mut retention).await
            };
            tokio::select! {
                () = sweeping.stop.cancelled() => break,
                () = sweeping.sweeper.bell.notified() => sweeping.sweeper.wake(),
                () = async {
                    let rejected = verify_spares(&sweeping).await;
                    delete_all(&sweeping, [leftovers, rejected].concat()).await;
                } => {}
            }
        }
    });
}

/// Saves what is in the trash of every project; returns what is left to delete.
async fn save_all(shared: &Arc<Shared>, retention: &mut Retention) -> Vec<Pending> {
    let mut leftovers = Vec::new();
    let records = match records(shared).await {
        Ok(records) => records,
        Err(fault) => {
            warn!(%fault, "the sessions cannot be read; nothing is swept");
            return leftovers;
        }
    };
    forget_old(shared, &records, retention).await;
    let mut roots: Vec<PathBuf> = records.iter().map(|record| shared.worktrees(&record.project)).collect();
    roots.sort();
    roots.dedup();
    for root in roots {
        for pending in removal::pending(&root) {
            let Some(session) = pending.session else {
                leftovers.push(pending);
                continue;
            };
            let Some(record) = records.iter().find(|record| record.id == session) else { continue };
            if !shared.sweeper.is_due(&pending.path) || shared.stop.is_cancelled() {
                continue;
            }
            match save(shared, record, &pending, &root).await {
                Ok(left) => {
                    shared.sweeper.saved(&pending.path);
                    leftovers.extend(left);
                }
                Err(fault) => tell_failure(shared, record, &pending, fault).await,
            }
        }
    }
    leftovers
}

/// Tells, once, that a removed tree is not saved yet, and where it is.
async fn tell_failure(shared: &Shared, record: &Record, pending: &Pending, fault: Fault) {
    let (session, path) = (record.id, pending.path.display());
    if let Fault::Git(GitError::Stopped { .. }) = fault {
        // The daemon ends, or the session takes the tree back.
        return info!(%session, %path, "a removed tree is not saved yet");
    }
    let failure = prepare::failure(fault);
    warn!(%session, reason = failure.message, "a removed tree stays in the trash");
    if shared.sweeper.is_first_failure(&pending.path) {
        let hint =
            Some(failure.hint).filter(|hint| !hint.is_empty()).map(|hint| format!(" ({hint})")).unwrap_or_default();
        let message = format!("the removed worktree stays in `{path}`, not saved: {}{hint}", failure.message);
        // Whoever reads the log of a store that refuses this learns of it there.
        shared.note(session, &[Payload::Warning { message }]).await.ok();
    }
}

/// Saves one tree and makes it the spare, or gives it up for deletion. What an agent left decides how long git reads it,
/// so other sessions wait for none of that: the repository is locked for its branch alone.
async fn save(shared: &Arc<Shared>, record: &Record, pending: &Pending, root: &Path) -> Result<Option<Pending>, Fault> {
    let repo = prepare::open_repo(record).await?;
    let tree = prepare::tree_of(record, &repo)?;
    let Some(trashed) = pending.resume(&tree) else { return Ok(None) };
    let tree_lock = shared.tree_lock(record.id);
    let _tree = tree_lock.lock().await;
    // While this waited for the lock, the tree may have been taken back.
    let Some(row) = shared.store.session(record.id).await? else { return Ok(None) };
    if pending.path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let (root, removed, id) = (root.to_owned(), row.removed_at.is_some(), record.id);
    let reuse = confine::tree_reuse(&shared.support, &record.body.reach);
    let reference = removal::salvage_ref(id.as_str());
    let was_saved = repo.find_ref(&reference)?.is_some();
    crash::point();
    let caches = confine::caches_dir(shared, id);
    if caches.exists() {
        discard_files(shared, record, caches).await;
        // The next round finds them in the trash.
        shared.sweeper.wake();
    }
    let (worktree, _run) = shared.runs.begin(id, &trashed.worktree)?;
    let stoppable = Trashed { worktree, ..trashed.clone() };
    let (stoppable, recorded) = blocking(move || {
        // Before anything is cleaned: no commit of the branch holds what is in a submodule.
        let submodules = submodule::keep(&stoppable.worktree, id)?;
        let mut recorded = removal::salvage(&stoppable)?;
        recorded.left_out.extend(submodules.left_out);
        Ok((stoppable, recorded))
    })
    .await?;
    crash::point();
    let commit = recorded.commit.to_string();
    info!(session = %id, commit, "work saved");
    // A tree that stays in the trash is saved again and again, which is no news.
    if !was_saved || recorded.left_out.is_empty() {
        let left_out: Vec<_> = recorded.left_out.iter().map(|path| format!("`{}`", path.display())).collect();
        let mut news = vec![Payload::Saved { reference, commit }];
        if !left_out.is_empty() {
            let (path, files) = (pending.path.display(), left_out.join(", "));
            let message = format!("the removed worktree stays in `{path}`, because no commit can hold {files}");
            news.push(Payload::Warning { message });
        }
        shared.note(id, &news).await?;
    }
    if removed {
        let lock = shared.repository(&record.project);
        let _held = lock.lock().await;
        blocking(move || removal::drop_branch(&trashed)).await?;
        crash::point();
    }
    if !recorded.left_out.is_empty() {
        // These files exist nowhere else.
        return Ok(None);
    }
    blocking(move || {
        Ok(match removal::recycle(&stoppable, &root, reuse)? {
            Recycled::Spare(path) => {
                debug!(session = %id, path = %path.display(), "tree kept for the spare");
                None
            }
            Recycled::Doubt { reason, left } => {
                debug!(session = %id, reason, "tree given up");
                Some(left)
            }
        })
    })
    .await
}

/// Verifies the spare of every project; returns those that are not usable.
async fn verify_spares(shared: &Arc<Shared>) -> Vec<Pending> {
    let mut rejected = Vec::new();
    let projects: BTreeMap<_, _> = match records(shared).await {
        Ok(records) => records.into_iter().map(|record| (record.project.clone(), record)).collect(),
        Err(_) => return rejected,
    };
    for record in projects.into_values() {
        match verify_spare(shared, &record).await {
            Ok(left) => rejected.extend(left),
            Err(fault) => warn!(project = record.project, %fault, "a spare worktree is not verified"),
        }
    }
    rejected
}

/// Compares every file of a project's spare with its commit, only while no turn runs.
async fn verify_spare(shared: &Arc<Shared>, record: &Record) -> Result<Option<Pending>, Fault> {
    let root = shared.worktrees(&record.project);
    // Most projects have none, and some have no repository any more.
    let Ok(repo) = prepare::open_repo(record).await else { return Ok(None) };
    let lock = shared.repository(&record.project);
    let begun = {
        let _held = lock.lock().await;
        blocking(move || SpareVerification::begin(&repo, &root, take_read_lease)).await?
    };
    let Some(mut verification) = begun else { return Ok(None) };
    let mut turns = shared.slots.held();
    loop {
        if turns.wait_for(|held| *held == 0).await.is_err() {
            return Ok(None);
        }
        let (rest, step) = blocking(move || {
            let step = verification.step(COMPARED);
            Ok((verification, step))
        })
        .await?;
        verification = rest;
        match step {
            Step::More => {}
            Step::Done => break,
        }
    }
    let _held = lock.lock().await;
    Ok(match blocking(move || verification.finish()).await? {
        SpareVerdict::Accepted => {
            debug!(project = record.project, "spare worktree verified");
            None
        }
        SpareVerdict::Rejected { reason, left } => {
            debug!(project = record.project, reason, "spare worktree given up");
            Some(left)
        }
        SpareVerdict::Gone => None,
    })
}

/// Deletes, slowly, and only while no turn runs.
async fn delete_all(shared: &Arc<Shared>, leftovers: Vec<Pending>) {
    let mut held = shared.slots.held();
    for pending in leftovers {
        let path = pending.path.clone();
        let mut discard = match tokio::task::spawn_blocking(move || Discard::new(&pending)).await {
            Ok(Ok(discard)) => discard,
            Ok(Err(error)) => {
                warn!(path = %path.display(), %error, "a tree in the trash cannot be deleted");
                continue;
            }
            Err(_) => return,
        };
        loop {
            if held.wait_for(|held| *held == 0).await.is_err() {
                return;
            }
            let stepped = tokio::task::spawn_blocking(move || {
                let step = discard.step(BATCH);
                (discard, step)
            });
            let Ok((rest, step)) = stepped.await else { return };
            discard = rest;
            match step {
                Ok(Step::More) => tokio::time::sleep(PAUSE).await,
                Ok(Step::Done) => break,
                Err(error) => {
                    warn!(path = %path.display(), %error, "a tree in the trash cannot be deleted");
                    break;
                }
            }
        }
    }
}

/// Forgets removed sessions whose time is over.
async fn forget_old(shared: &Arc<Shared>, records: &[Record], retention: &mut Retention) {
    let Ok(config) = shared.settings.user() else { return };
    let removed: Vec<_> = records.iter().filter_map(|record| Some((record.id, record.removed_at?))).collect();
    let over = match retention.look(&removed, settings::keep_removed(&config)) {
        Ok(over) => over,
        Err(error) => return warn!(%error, "how long removed sessions were kept is not known; none is forgotten"),
    };
    for record in records.iter().filter(|record| over.contains(&record.id) && is_gone(record.body.tree)) {
        if let Err(fault) = forget(shared, record).await {
            warn!(session = %record.id, %fault, "a removed session cannot be forgotten");
        }
    }
}

async fn forget(shared: &Arc<Shared>, record: &Record) -> Result<(), Fault> {
    let (repo, id) = (prepare::open_repo(record).await?, record.id);
    blocking(move || removal::forget(&repo, id).and_then(|()| submodule::forget(&repo, id))).await?;
    discard_files(shared, record, shared.session_dir(id)).await;
    let changes = vec![Change::DeleteSession(id)];
    shared.store.write(Write { durability: Durability::Normal, changes }).await?;
    Ok(())
}

/// Gives up files of a session that hold no work: they are deleted slowly, or at once if they cannot be moved to the trash.
pub(super) async fn discard_files(shared: &Shared, record: &Record, path: PathBuf) {
    let (files, root) = (path.clone(), shared.worktrees(&record.project));
    if blocking(move || removal::trash_unsaved(&files, &root)).await.is_err() {
        // Left behind they only take space.
        tokio::fs::remove_dir_all(path).await.ok();
    }
}

/// All sessions, removed or not.
async fn records(shared: &Arc<Shared>) -> Result<Vec<Record>, Fault> {
    let mut records = Vec::new();
    for which in [Removed::Without, Removed::Only] {
        for row in shared.store.sessions(which).await? {
            match Record::read(row) {
                Ok(record) => records.push(record),
                Err(error) => warn!(%error, "a session is left alone"),
            }
        }
    }
    Ok(records)
}

/// Completes what the last daemon began: a session that ended and still has its tree gives it back. It runs before the
/// first request, so that no session is in use.
pub(super) async fn complete_all(shared: &Arc<Shared>) -> Result<(), Fault> {
    let mut projects = BTreeMap::new();
    for mut record in records(shared).await? {
        let ended = record.removed_at.is_some() || matches!(record.status, Status::Merged | Status::Archived);
        let has_tree = !is_gone(record.body.tree) || Path::new(&record.body.worktree).exists();
        if ended
            && has_tree
            && let Err(fault) = move_away(shared, &mut record).await
        {
            warn!(session = %record.id, %fault, "the tree of an ended session stays in its place");
        }
        projects.insert(record.project.clone(), record);
    }
    for record in projects.into_values() {
        if let Err(fault) = tidy(shared, &record).await {
            warn!(project = record.project, %fault, "leftovers stay");
        }
    }
    Ok(())
}

/// Gives up the spares of projects whose sessions are all removed, so that nothing of Coppice is left in the repository.
pub(super) async fn retire_unused_spares(shared: &Arc<Shared>) -> Result<(), Fault> {
    let records = records(shared).await?;
    let used: BTreeSet<_> = records.iter().filter(|record| record.removed_at.is_none()).map(|it| &it.project).collect();
    let unused: BTreeMap<_, _> = records.iter().map(|record| (&record.project, record)).collect();
    for record in unused.into_values().filter(|record| !used.contains(&record.project)) {
        let Ok(repo) = prepare::open_repo(record).await else { continue };
        let (root, lock) = (shared.worktrees(&record.project), shared.repository(&record.project));
        let _held = lock.lock().await;
        blocking(move || removal::retire_spare(&repo, &root)).await?;
    }
    Ok(())
}

/// Deletes the branch of a removed session whose tree is saved; otherwise that follows when the tree is.
pub(super) async fn drop_branch(shared: &Arc<Shared>, record: &Record) -> Result<(), Fault> {
    let (repo, session, root) = (prepare::open_repo(record).await?, record.id, shared.worktrees(&record.project));
    let worktree = prepare::tree_of(record, &repo)?;
    let (tree_lock, repository_lock) = (shared.tree_lock(session), shared.repository(&record.project));
    let (_tree, _repository) = (tree_lock.lock().await, repository_lock.lock().await);
    blocking(move || {
        let is_pending = removal::pending(&root).iter().any(|pending| pending.session == Some(session));
        match repo.find_ref(&removal::salvage_ref(session.as_str()))? {
            Some(_) if !is_pending => removal::drop_branch(&Trashed { session, worktree }),
            Some(_) | None => Ok(()),
        }
    })
    .await
}

/// Removes what a killed merge or removal left registered or lying about; none of it is anybody's work.
async fn tidy(shared: &Arc<Shared>, record: &Record) -> Result<(), Fault> {
    let Ok(repo) = prepare::open_repo(record).await else { return Ok(()) };
    let root = shared.worktrees(&record.project);
    blocking(move || removal::tidy(&repo, &root)).await
}

fn is_gone(tree: Tree) -> bool {
    match tree {
        Tree::Absent | Tree::Away => true,
        Tree::Creating | Tree::Unprepared | Tree::Ready => false,
    }
}

/// Moves a tree to the trash; of one that was never whole, commits hold everything.
pub(super) fn trash_tree(state: Tree, tree: &Worktree, root: &Path) -> Result<(), GitError> {
    match state {
        Tree::Absent | Tree::Away | Tree::Creating => removal::discard_unfinished(tree, root)?,
        Tree::Unprepared | Tree::Ready => {}
    }
    removal::trash(tree, root).map(drop)
}

/// Moves the tree to the trash, if it is not there yet, and stores that.
async fn move_away(shared: &Arc<Shared>, record: &mut Record) -> Result<(), Fault> {
    let repo = prepare::open_repo(record).await?;
    let tree = prepare::tree_of(record, &repo)?;
    let root = shared.worktrees(&record.project);
    if tree.path.exists() {
        let state = record.body.tree;
        blocking(move || trash_tree(state, &tree, &root)).await?;
    }
    record.body.tree = Tree::Away;
    let changes = vec![Change::Session(record.row())];
    shared.store.write(Write { durability: Durability::Normal, changes }).await?;
    Ok(())
}
