//! What happens to a session's files and branch: checkpoints, undo, merge, rebase, archive, removal.
//!
//! All of it happens while the session is at rest or its turn closes, inside the session's own task, so that nothing
//! else touches the tree meanwhile.

use std::path::PathBuf;

use tracing::warn;

use crate::api::event::Payload;
use crate::api::request::MergeStyle;
use crate::api::session::{Changes, TurnState};
use crate::config::resolve::MergeStyle as ConfiguredStyle;
use crate::git::diff::{self, Target};
use crate::git::history::{self, Checkpoint};
use crate::git::merge::{Merge, Outcome, RebaseOutcome, Refusal, Style};
use crate::git::{self, GitError, Oid, Worktree};
use crate::protocol::naming;
use crate::session::{Event, Integration, Rest, Session};
use crate::store::{Change, Durability};

use super::super::fault::Fault;
use super::super::prepare::{self, failure};
use super::super::record::{Tree, TurnBody};
use super::super::{clock, hooks};
use super::Actor;

impl Actor {
    /// Puts what the turn changed onto the session's branch. A failure is a warning: the files are where they were.
    pub(super) async fn commit(&mut self) {
        if let Tree::Absent | Tree::Creating = self.record.body.tree {
            return;
        }
        if let Err(fault) = self.checkpoint().await {
            let message = format!("what the turn changed could not be committed: {}", failure(fault).message);
            warn!(session = %self.id, message, "no checkpoint");
            self.staged.push(Payload::Warning { message });
        }
    }

    async fn checkpoint(&mut self) -> Result<(), Fault> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let (number, session) = (turn.number, self.id);
        let summary = turn.response.as_ref().and_then(|response| response.summary.as_ref());
        let message = naming::commit_message(summary, &self.record.body.title, number);
        let tree = self.tree().await?;
        let (recorded, files) = blocking(move || {
            let about = Checkpoint { session, turn: number, message: &message };
            let recorded = history::checkpoint(&tree, about)?;
            let files = match &recorded {
                Some(recorded) => diff::files(&tree, &tree.base, Target::Commit(recorded.commit))?,
                None => Vec::new(),
            };
            Ok((recorded, files))
        })
        .await?;
        let Some(recorded) = recorded else { return Ok(()) };
        self.record.body.changes = changes(diff::total(&files));
        let commit = recorded.commit.to_string();
        if let Some(turn) = &mut self.turn {
            turn.checkpoint = Some(commit.clone());
        }
        self.staged.push(Payload::Checkpoint { turn: number, commit, changes: self.record.body.changes });
        if diff::touches_attributes(&files) {
            let message = "the session changes `.gitattributes`, which can change how files are checked out";
            self.staged.push(Payload::Warning { message: message.to_owned() });
        }
        if !recorded.left_out.is_empty() {
            let left: Vec<_> = recorded.left_out.iter().map(|path| format!("`{}`", path.display())).collect();
            let message =
                format!("not committed, because they are repositories of their own or unreadable: {}", left.join(", "));
            self.staged.push(Payload::Warning { message });
        }
        Ok(())
    }

    /// Puts the files back to where they were after a turn. What is there now is kept under a ref.
    pub(super) async fn undo(&mut self, to: Option<u32>) -> Result<(), Fault> {
        match self.state {
            Session::Resting(Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted | Rest::Conflict) => {}
            Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) => {
                return Err(self.wrong_state("be undone"));
            }
        }
        let rows = self.shared.store.turns(self.id).await?;
        let mut turns = Vec::new();
        for row in &rows {
            turns.push((row.number, TurnBody::read(row)?, row.raw.clone()));
        }
        let to = match to {
            Some(to) => to,
            None => last_change(&turns).ok_or(Fault::NothingToUndo { id: self.id })? - 1,
        };
        if to > self.record.body.turns {
            return Err(Fault::NoTurn { id: self.id, turn: to });
        }
        let kept =
            turns.iter().rev().filter(|(number, ..)| *number <= to).find_map(|(_, turn, _)| turn.checkpoint.clone());
        let target: Oid = kept.unwrap_or_else(|| self.record.body.base.commit.clone()).parse()?;
        let tree = self.tree().await?;
        let saved = format!("refs/coppice/undo/{}/{}", self.id, clock::now());
        let name = saved.clone();
        let files = blocking(move || {
            history::snapshot(&tree, &name, "before an undo")?;
            history::reset(&tree, &target)?;
            diff::files(&tree, &tree.base, Target::Commit(target))
        })
        .await?;
        self.record.body.changes = changes(diff::total(&files));
        self.record.body.undone = undone_range(&turns, to);
        let mut rewritten = Vec::new();
        for (number, mut turn, raw) in turns {
            let undone = number > to;
            if turn.undone != undone {
                turn.undone = undone;
                rewritten.push(Change::Turn(turn.row(self.id, number, raw)));
            }
        }
        self.staged.push(Payload::Undone { to, commit: target.to_string(), saved });
        if let Some((next, _)) = crate::session::step(self.state, Event::Settle) {
            self.state = next;
        }
        self.record.body.last_error = None;
        self.persist(Durability::Full, rewritten).await?;
        Ok(())
    }

    pub(super) async fn merge(&mut self, style: Option<MergeStyle>) -> Result<(), Fault> {
        let repo = prepare::open_repo(&self.record).await?;
        let settings = self.shared.settings.session(&self.record, &repo).await?;
        let style = style.unwrap_or(match settings.config.merge_style {
            ConfiguredStyle::Squash => MergeStyle::Squash,
            ConfiguredStyle::NoFf => MergeStyle::NoFf,
            ConfiguredStyle::Rebase => MergeStyle::Rebase,
        });
        let base = self.record.body.base.clone();
        let Some(target) = base.branch else {
            return Err(Fault::NoTarget { id: self.id, base: base.name });
        };
        self.integrate("be merged").await?;
        let outcome = self.try_merge(&target, style).await;
        let target = target.trim_start_matches("refs/heads/").to_owned();
        let result = match outcome {
            Ok(outcome) => self.merged(outcome, target, style),
            Err(fault) => (Integration::Refused, Err(fault)),
        };
        self.integrated(result).await
    }

    pub(super) async fn rebase(&mut self) -> Result<(), Fault> {
        let base = self.record.body.base.clone();
        let Some(target) = base.branch.clone() else {
            return Err(Fault::NoTarget { id: self.id, base: base.name });
        };
        self.integrate("be rebased").await?;
        let result = match self.try_rebase(&target).await {
            Ok(result) => result,
            Err(fault) => (Integration::Refused, Err(fault)),
        };
        self.integrated(result).await
    }

    async fn integrate(&mut self, act: &'static str) -> Result<(), Fault> {
        self.step(Event::Integrate).await;
        match self.state {
            Session::Integrating(_) => Ok(()),
            Session::Resting(_) | Session::Turning(_) => Err(self.wrong_state(act)),
        }
    }

    async fn integrated(&mut self, (integration, result): (Integration, Result<(), Fault>)) -> Result<(), Fault> {
        self.step(Event::Integrated(integration)).await;
        if integration == Integration::Merged {
            self.give_tree_back().await?;
        }
        result
    }

    async fn try_merge(&mut self, target: &str, style: MergeStyle) -> Result<Outcome, Fault> {
        self.commit_leftovers().await?;
        let tree = self.tree().await?;
        let message = naming::merge_message(self.summary().as_ref(), &self.record.body.title);
        let lock = self.shared.repository(&self.record.project);
        let _held = lock.lock().await;
        let run = hooks::runner(&self.shared, &self.record);
        let target = target.to_owned();
        let style = match style {
            MergeStyle::Squash => Style::Squash,
            MergeStyle::NoFf => Style::NoFf,
            MergeStyle::Rebase => Style::Rebase,
        };
        let base = self.record.body.merged.as_deref().map(str::parse).transpose()?.unwrap_or(tree.base);
        let (outcome, tip) = blocking(move || {
            let tip = tree.repo.find_ref(&format!("refs/heads/{}", tree.branch))?;
            let merge = Merge { target: Some(&target), style, message: &message, base };
            Ok((git::merge::merge(&tree, merge, &mut |hook| run(hook))?, tip))
        })
        .await?;
        if let Outcome::Merged { .. } = outcome {
            self.record.body.merged = tip.map(|tip| tip.to_string());
        }
        Ok(outcome)
    }

    fn merged(&mut self, outcome: Outcome, target: String, style: MergeStyle) -> (Integration, Result<(), Fault>) {
        match outcome {
            Outcome::Merged { commit, skipped_hooks, .. } => {
                self.record.body.conflicts.clear();
                for hook in skipped_hooks {
                    let message = format!("the hook `{}` lies in a work tree and did not run", hook.display());
                    self.staged.push(Payload::Warning { message });
                }
                let style = style_name(style).to_owned();
                self.staged.push(Payload::Merged { commit: commit.to_string(), target, style });
                (Integration::Merged, Ok(()))
            }
            Outcome::UpToDate => (Integration::Refused, Err(Fault::NothingToMerge { id: self.id })),
            Outcome::Conflict { files } => self.conflict(files, target),
            Outcome::Refused(refusal) => {
                let hint = refusal_hint(&refusal, self.id.as_str());
                let reason = refusal.to_string();
                (Integration::Refused, Err(Fault::MergeRefused { target, reason, hint }))
            }
            Outcome::HookFailed { hook, output } => {
                let hook = hook.name().to_owned();
                (Integration::Refused, Err(Fault::HookFailed { hook, output }))
            }
        }
    }

    async fn try_rebase(&mut self, target: &str) -> Result<(Integration, Result<(), Fault>), Fault> {
        self.commit_leftovers().await?;
        let tree = self.tree().await?;
        let name = target.to_owned();
        let (onto, outcome) = blocking(move || {
            let Some(onto) = tree.repo.find_ref(&name)? else {
                return Err(GitError::BranchMissing { branch: name });
            };
            Ok((onto, git::merge::rebase(&tree, &onto)?))
        })
        .await?;
        let target = target.trim_start_matches("refs/heads/").to_owned();
        Ok(match outcome {
            RebaseOutcome::Rebased { head } => {
                self.record.body.base.commit = onto.to_string();
                self.record.body.conflicts.clear();
                self.staged.push(Payload::Integrated { commit: head.to_string(), style: "rebase".to_owned() });
                (Integration::Rebased, Ok(()))
            }
            RebaseOutcome::UpToDate => {
                self.record.body.conflicts.clear();
                (Integration::Rebased, Ok(()))
            }
            RebaseOutcome::Conflict { files } => self.conflict(files, target),
            RebaseOutcome::Refused(refusal) => {
                let hint = refusal_hint(&refusal, self.id.as_str());
                (Integration::Refused, Err(Fault::MergeRefused { target, reason: refusal.to_string(), hint }))
            }
        })
    }

    fn conflict(&mut self, files: Vec<PathBuf>, with: String) -> (Integration, Result<(), Fault>) {
        let files: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
        self.record.body.conflicts = files.clone();
        self.staged.push(Payload::Conflict { files, with });
        (Integration::Conflict, Ok(()))
    }

    /// What was changed in the tree since the last turn, by hand or by a turn that failed, belongs to the work.
    async fn commit_leftovers(&mut self) -> Result<(), Fault> {
        let tree = self.tree().await?;
        let (session, turn) = (self.id, self.record.body.turns);
        let message = naming::commit_message(self.summary().as_ref(), &self.record.body.title, turn);
        blocking(move || history::checkpoint(&tree, Checkpoint { session, turn, message: &message })).await?;
        Ok(())
    }

    fn summary(&self) -> Option<crate::protocol::Summary> {
        let summary = self.record.body.summary.as_ref()?;
        Some(crate::protocol::Summary { turn: summary.turn.clone(), session: summary.session.clone() })
    }

    pub(super) async fn archive(&mut self) -> Result<(), Fault> {
        let archived = crate::session::step(self.state, Event::Archive).is_some();
        if !archived {
            return Err(self.wrong_state("be archived"));
        }
        self.staged.push(Payload::Archived {});
        self.step(Event::Archive).await;
        self.give_tree_back().await
    }

    /// Moves the session and its tree out of sight at once; everything slow follows behind.
    pub(super) async fn remove(&mut self) -> Result<(), Fault> {
        if self.state.is_turning() {
            return Err(self.wrong_state("be removed"));
        }
        self.conversation = None;
        self.record.removed_at = Some(clock::now());
        let salvage = match self.record.body.tree {
            Tree::Absent => None,
            Tree::Creating | Tree::Unprepared | Tree::Ready => Some(git::removal::salvage_ref(self.id.as_str())),
        };
        self.record.body.salvage = salvage.clone();
        self.staged.push(Payload::Removed { salvage });
        self.persist(Durability::Full, Vec::new()).await?;
        self.shared.forget_environment(self.id);
        self.give_tree_back().await
    }

    pub(super) async fn restore(&mut self) -> Result<(), Fault> {
        if self.record.body.salvage.is_some() {
            let tree = self.tree().await?;
            let root = self.shared.worktrees(&self.record.project);
            let lock = self.shared.repository(&self.record.project);
            let _held = lock.lock().await;
            blocking(move || git::removal::restore(&tree, &root)).await?;
            self.record.body.tree = Tree::Ready;
        }
        (self.record.removed_at, self.record.body.salvage) = (None, None);
        self.staged.push(Payload::Restored {});
        self.persist(Durability::Full, Vec::new()).await?;
        Ok(())
    }

    /// Moves the tree to the trash and lets the sweeper save, recycle or delete it.
    async fn give_tree_back(&mut self) -> Result<(), Fault> {
        if self.record.body.tree == Tree::Absent {
            return Ok(());
        }
        self.conversation = None;
        let tree = self.tree().await?;
        self.tear_down(&tree).await;
        let root = self.shared.worktrees(&self.record.project);
        let lock = self.shared.repository(&self.record.project);
        {
            let _held = lock.lock().await;
            blocking(move || git::removal::trash(&tree, &root)).await?;
        }
        self.record.body.tree = Tree::Absent;
        self.persist(Durability::Normal, Vec::new()).await?;
        self.shared.sweeper.wake();
        Ok(())
    }

    /// Runs the project's teardown command. Its failure is a warning: the tree goes all the same.
    async fn tear_down(&mut self, tree: &Worktree) {
        let Ok(settings) = self.shared.settings.session(&self.record, &tree.repo).await else { return };
        let Some(command) = settings.config.worktree.teardown.filter(|_| tree.path.is_dir()) else { return };
        let problem = match prepare::run_command(&self.shared, &self.record, tree, &command).await {
            Ok(finished) if finished.is_success() => return,
            Ok(finished) => finished.describe(),
            Err(failure) => failure.message,
        };
        self.staged.push(Payload::Warning { message: format!("the teardown command `{command}` failed: {problem}") });
    }

    async fn tree(&self) -> Result<Worktree, Fault> {
        let repo = prepare::open_repo(&self.record).await?;
        prepare::tree_of(&self.record, &repo)
    }
}

/// Runs git where it may block.
pub(in super::super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, Fault> {
    Ok(tokio::task::spawn_blocking(work).await??)
}

pub(in super::super) fn changes(total: diff::Changes) -> Changes {
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Changes {
        files: u32::try_from(total.files).unwrap_or(u32::MAX),
        insertions: count(total.insertions),
        deletions: count(total.deletions),
    }
}

/// The last turn that changed something and still counts.
fn last_change(turns: &[(u32, TurnBody, Option<String>)]) -> Option<u32> {
    let changed = |turn: &TurnBody| turn.checkpoint.is_some() && !turn.undone;
    turns.iter().rev().find(|(_, turn, _)| changed(turn)).map(|(number, ..)| *number)
}

/// The turns that the agent still believes in and that do not count after an undo to `to`.
fn undone_range(turns: &[(u32, TurnBody, Option<String>)], to: u32) -> Option<(u32, u32)> {
    let told = |turn: &TurnBody| turn.state != TurnState::Running;
    let gone: Vec<u32> =
        turns.iter().filter(|(number, turn, _)| *number > to && told(turn)).map(|(number, ..)| *number).collect();
    Some((*gone.first()?, *gone.last()?))
}

fn style_name(style: MergeStyle) -> &'static str {
    match style {
        MergeStyle::Squash => "squash",
        MergeStyle::NoFf => "no-ff",
        MergeStyle::Rebase => "rebase",
    }
}

fn refusal_hint(refusal: &Refusal, id: &str) -> String {
    match refusal {
        Refusal::NoTarget | Refusal::TargetMissing { .. } => {
            format!("the work is on the session's branch: `coppice show {id}`")
        }
        Refusal::Unrelated { .. } => format!("`coppice diff {id}` shows the work"),
        Refusal::LocalChanges { .. } => "commit or stash them, then merge again".to_owned(),
        Refusal::Busy { operation, .. } => format!("finish or abort the {operation}, then merge again"),
        Refusal::NestedRepositories { .. } => format!("remove them from the worktree: `coppice show {id}`"),
        Refusal::TargetMoved { .. } => "merge again".to_owned(),
    }
}
