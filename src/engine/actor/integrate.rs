//! Bringing a session's work together with its base: merge and rebase, all or nothing.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::api::error::{HookChanges, HookFileChange};
use crate::api::event::Payload;
use crate::api::request::{Merge as MergeRequest, MergeHooks, MergeStyle, MergeUnseen};
use crate::api::session::Changes;
use crate::config::resolve::MergeStyle as ConfiguredStyle;
use crate::git::merge::{HookPolicy, HookReport, Made, Merge, Outcome, RebaseOutcome, Refusal, Style, Unresolved};
use crate::git::{self, GitError, Oid, Worktree, history};
use crate::protocol::naming::{self, SessionTitle};
use crate::session::{Event, FixObstacle, Integration, Session};
use crate::store::{Change, Durability};

use super::super::fault::Fault;
use super::super::record::{Record, Tree, TurnBody};
use super::super::{hooks, prepare};
use super::conflict::short;
use super::hook_fix::StoppedMerge;
use super::tree::{blocking, changes, in_quiet_trees};
use super::{Actor, Command, INBOX, Message};

/// How often a merge is made again because its target moved meanwhile.
const AGAIN: usize = 3;

/// What to do about a session that changed nothing outside of its submodules.
const NOTHING_ELSE: &str = "commit them in the submodule's own repository";

/// What to do about a session that made nothing but files that cannot be committed.
const COPY_THEM: &str = "copy them from the worktree; `coppice show` names it";

impl Actor {
    /// Merges once; where a commit hook stops that, says what follows. `rounds` is how often the agent was asked to fix it.
    pub(super) async fn merge_once(
        &mut self,
        request: &MergeRequest,
        rounds: u32,
    ) -> Result<Option<StoppedMerge>, Fault> {
        let asked = request.style;
        let repo = prepare::open_repo(&self.record).await?;
        let settings = self.shared.settings.session(&self.record, &repo).await?;
        let style = asked.unwrap_or(match settings.config.merge_style {
            ConfiguredStyle::Squash => MergeStyle::Squash,
            ConfiguredStyle::NoFf => MergeStyle::NoFf,
            ConfiguredStyle::Rebase => MergeStyle::Rebase,
        });
        let base = self.record.body.base.clone();
        let Some(target) = base.branch else {
            return Err(Fault::NoTarget { id: self.id, base: base.name, branch: self.record.body.branch.clone() });
        };
        if let (Session::Resting(_), Tree::Absent | Tree::Creating) = (self.state, self.record.body.tree) {
            return Err(Fault::NothingToMerge { id: self.id });
        }
        self.integrate("be merged").await?;
        let result = match self.try_merge(&target, style, request.clone()).await {
            Ok(Tried::Unresolved(left)) => self.tell_unresolved(&left, &target),
            Ok(Tried::Merge(Outcome::HookFailed { hook, output })) => {
                let stopped = StoppedMerge { hook, output, style, base: short(&target).to_owned() };
                return self.stopped_by_hook(stopped, request, rounds).await;
            }
            Ok(Tried::Merge(outcome)) => self.merged(outcome, &target, style, request).await,
            Err(Fault::Git(source)) => {
                let (id, target) = (self.id, short(&target).to_owned());
                (Integration::Refused, Err(Fault::MergeFailed { id, target, source }))
            }
            Err(fault) => (Integration::Refused, Err(fault)),
        };
        self.integrated(result).await.map(|()| None)
    }

    pub(super) async fn rebase(&mut self) -> Result<(), Fault> {
        let base = self.record.body.base.clone();
        let Some(target) = base.branch.clone() else {
            return Err(Fault::NoTarget { id: self.id, base: base.name, branch: self.record.body.branch.clone() });
        };
        self.integrate("be rebased").await?;
        let result = match self.try_rebase(&target).await {
            Ok(result) => result,
            Err(fault) => (Integration::Refused, Err(fault)),
        };
        self.integrated(result).await
    }

    pub(super) async fn integrate(&mut self, act: &'static str) -> Result<(), Fault> {
        let (before, kept) = (self.state, self.unsaved.len());
        if let Err(error) = self.try_step(Event::Integrate).await {
            // Nothing is merged that could not be told.
            self.state = before;
            self.forget_refused(kept);
            return Err(error.into());
        }
        match self.state {
            Session::Integrating(_) => Ok(()),
            Session::Resting(_) | Session::Turning(_) | Session::Attached(_) => Err(self.wrong_state(act)),
        }
    }

    pub(super) async fn integrated(
        &mut self,
        (integration, result): (Integration, Result<(), Fault>),
    ) -> Result<(), Fault> {
        match integration {
            Integration::Merged => {
                let body = &mut self.record.body;
                (body.before_undo, body.merged_base, body.hook_fix) = (None, None, None);
            }
            Integration::Rebased | Integration::Conflict => self.record.body.before_undo = None,
            Integration::Refused => {}
        }
        self.step(Event::Integrated(integration)).await;
        if integration == Integration::Merged
            && let Err(fault) = self.give_tree_back().await
        {
            let message = format!("the merged worktree stays in its place: {}", prepare::failure(fault).message);
            self.staged.push(Payload::Warning { message });
            self.persist(Durability::Normal, Vec::new()).await?;
        }
        result
    }

    async fn try_merge(&mut self, target: &str, style: MergeStyle, request: MergeRequest) -> Result<Tried, Fault> {
        let MergeRequest { style: asked, hooks, unseen, ssh_agent } = request;
        // Read first: the commit of leftovers is an event, after which an open screen shows the work again.
        let shown = self.shown_work().await?;
        let leftovers = self.commit_leftovers().await?;
        let left = self.unresolved(target).await?;
        match left.untouched_id()? {
            _ if !left.marked.is_empty() => return Ok(Tried::Unresolved(left)),
            Some(id) if !unseen.accepts(&id) => return Ok(Tried::Unresolved(left)),
            Some(_) => self.warn_of_untouched(&left, target),
            None => {}
        }
        match (shown, leftovers) {
            (Some(shown), _) => {
                let (id, style) = (self.id, asked.map(|style| format!(" --{}", style_name(style))).unwrap_or_default());
                // A conflict that they agreed to is still one.
                let accepted = match &unseen {
                    MergeUnseen::AcceptOnly(ids) => ids.iter().map(|id| accept_option(id)).collect(),
                    MergeUnseen::Refuse | MergeUnseen::Accept => String::new(),
                };
                let hint = |work: &str| {
                    let accept = accept_option(work);
                    format!(
                        "look again with `coppice diff {id}`, or merge exactly this without a look: \
                         `coppice merge {id}{style}{accepted}{accept}`"
                    )
                };
                self.check_unseen(shown, &unseen, hint).await?;
            }
            (None, Some(Changes { files, .. })) => {
                let message = match files {
                    1 => "1 file that changed after the last turn is part of this merge".to_owned(),
                    files => format!("{files} files that changed after the last turn are part of this merge"),
                };
                self.staged.push(Payload::Warning { message });
            }
            (None, None) => {}
        }
        let tree = self.tree().await?;
        let message = self.merge_message().await?;
        let style = match style {
            MergeStyle::Squash => Style::Squash,
            MergeStyle::NoFf => Style::NoFf,
            MergeStyle::Rebase => Style::Rebase,
        };
        let base: Oid = self.record.body.measured_from().parse()?;
        let order = Order { target: target.to_owned(), style, message, base, hooks, ssh_agent };
        let (outcome, tip) = self.make_and_advance(&tree, &order).await?;
        let name = order.target.clone();
        let target = blocking(move || tree.repo.find_ref(&name)).await?;
        let outcome = match (outcome, tip, target) {
            // There is work, and all of it is in the target: a daemon died between the merge and its fact.
            (Outcome::UpToDate, Some(tip), Some(commit)) if tip != base => {
                Outcome::Merged { before: None, commit, checkouts: Vec::new(), hooks: HookReport::default() }
            }
            (outcome, _, _) => outcome,
        };
        if let Outcome::Merged { before, commit, .. } = outcome {
            match before {
                Some(before) => {
                    let made = self.describe_merge(&order.target, (before, commit)).await;
                    self.record.body.made_merges.push(made);
                }
                // Those before it cannot be taken back past it.
                None => self.record.body.made_merges.clear(),
            }
            let body = &mut self.record.body;
            body.merges = body.merges();
            (body.merged, body.merged_turns) = (tip.map(|tip| tip.to_string()), body.turns);
            body.merges.extend(body.merged.clone());
        }
        Ok(Tried::Merge(outcome))
    }

    /// Makes the merge and moves the target to it. While hooks run, other sessions come and go: only the move itself
    /// holds the repository, and a target that moved meanwhile is merged into again, hooks included.
    async fn make_and_advance(&mut self, tree: &Worktree, order: &Order) -> Result<(Outcome, Option<Oid>), Fault> {
        let config = self.config().await;
        let cancel = CancellationToken::new();
        let mut left = AGAIN;
        loop {
            let run = hooks::runner(&self.shared, &self.record, &tree.repo, &config, &cancel);
            let (place, asked) = (tree.clone(), order.clone());
            let making = blocking(move || {
                let Order { target, style, message, base, hooks, ssh_agent } = &asked;
                let hooks = match hooks {
                    MergeHooks::Check | MergeHooks::Fix => HookPolicy::Check,
                    MergeHooks::AcceptChanges => HookPolicy::AcceptAll,
                    MergeHooks::AcceptOnly(id) => HookPolicy::AcceptOnly(id),
                    MergeHooks::Skip => HookPolicy::Skip,
                };
                let tip = place.repo.find_ref(&format!("refs/heads/{}", place.branch))?;
                let ssh_agent = ssh_agent.as_deref();
                let merge = Merge { target: Some(target), style: *style, message, base: *base, hooks, ssh_agent };
                Ok((git::merge::make(&place, merge, &mut |hook| run(hook))?, tip))
            });
            let (made, tip) = self.until_stopped(making, &cancel).await?;
            if cancel.is_cancelled() {
                let (target, reason) = (short(&order.target).to_owned(), "it was stopped".to_owned());
                return Err(Fault::MergeRefused { target, reason, hint: "merge again".to_owned() });
            }
            let ready = match made {
                Made::Ready(ready) => ready,
                Made::Ended(outcome) => return Ok((outcome, tip)),
            };
            self.refuse_changed_hooks(ready.changed_hooks(), &order.target)?;
            let lock = self.shared.repository(&self.record.project);
            let _held = lock.lock().await;
            let (place, asked) = (tree.clone(), ready.clone());
            let shown = blocking(move || Ok(git::merge::session_worktrees(&place, asked.branch_move()))).await?;
            let (place, quiet) = (tree.clone(), shown.clone());
            let outcome = in_quiet_trees(&shown, move || git::merge::advance(&place, ready, &quiet)).await?;
            match outcome {
                Outcome::Refused(Refusal::TargetMoved { .. }) if left > 0 => left -= 1,
                outcome => return Ok((outcome, tip)),
            }
        }
    }

    /// Waits for what takes its time, and has it stopped when a person or the end of the daemon wants that. Whatever else
    /// comes in waits.
    async fn until_stopped<T>(&mut self, work: impl Future<Output = T>, cancel: &CancellationToken) -> T {
        tokio::pin!(work);
        while self.put_off.len() < INBOX {
            let message = tokio::select! {
                biased;
                done = &mut work => return done,
                message = self.inbox.recv() => message,
            };
            match message {
                Some(Message::Command(Command::Stop, reply)) => {
                    cancel.cancel();
                    self.stopping.push(reply);
                }
                Some(message) => {
                    if matches!(message, Message::Shutdown(_) | Message::Command(Command::Abort { .. }, _)) {
                        cancel.cancel();
                    }
                    self.put_off.push_back(message);
                }
                // Nobody can say anything any more.
                None => break,
            }
        }
        work.await
    }

    /// The message of the merge. The first one has the session's title, a later one is about what came since.
    async fn merge_message(&self) -> Result<String, Fault> {
        let body = &self.record.body;
        let (mut turns, mut prompted) = (Vec::new(), String::new());
        for row in self.shared.turns(self.id).await?.iter() {
            let turn = TurnBody::read(row)?;
            if row.number == 1 {
                prompted = naming::title_from(&turn.prompt);
            }
            if row.number <= body.merged_turns {
                continue;
            }
            if turn.checkpoint.is_some() && !turn.undone {
                let told = turn.response.and_then(|response| response.summary).map(|summary| summary.turn);
                turns.push(told.unwrap_or_else(|| naming::title_from(&turn.prompt)));
            }
        }
        let whole = self.summary().map(|summary| summary.session).unwrap_or_default();
        Ok(match (body.merged_turns, turns.first()) {
            (0, _) | (_, None) => {
                let title = if body.title == prompted { SessionTitle::FromPrompt } else { SessionTitle::Worded };
                naming::merge_message(title(&body.title), &whole, &turns)
            }
            (_, Some(first)) => {
                let title = first.lines().next().unwrap_or_default();
                naming::merge_message(SessionTitle::FromPrompt(title), "", &turns)
            }
        })
    }

    async fn merged(
        &mut self,
        outcome: Outcome,
        target: &str,
        style: MergeStyle,
        request: &MergeRequest,
    ) -> (Integration, Result<(), Fault>) {
        let name = short(target).to_owned();
        match outcome {
            Outcome::Merged { commit, hooks, .. } => {
                self.record.body.conflicts.clear();
                if let Some(total) = hooks.total {
                    self.record.body.changes = changes(total);
                }
                let warnings = hook_warnings(&hooks, style).into_iter();
                self.staged.extend(warnings.map(|message| Payload::Warning { message }));
                self.warn_of_submodules("are not merged");
                self.warn_of_left_out("not merged");
                let style = style_name(style).to_owned();
                self.staged.push(Payload::Merged { commit: commit.to_string(), target: name, style });
                (Integration::Merged, Ok(()))
            }
            Outcome::UpToDate => {
                let refused = |reason, hint: &str| Fault::MergeRefused { target: name, reason, hint: hint.to_owned() };
                let submodules = self.describe_submodules("are all that changed, and cannot be merged");
                let fault = match (submodules, self.describe_left_out("nothing else changed, and these are not merged"))
                {
                    (Some(reason), _) => refused(reason, NOTHING_ELSE),
                    (None, Some(reason)) => refused(reason, COPY_THEM),
                    (None, None) => Fault::NothingToMerge { id: self.id },
                };
                (Integration::Refused, Err(fault))
            }
            Outcome::Conflict { files } => self.conflict(&files, target).await,
            Outcome::Refused(refusal) => {
                let hint = refusal_hint(&refusal, &self.record, "merge");
                let reason = refusal.to_string();
                (Integration::Refused, Err(Fault::MergeRefused { target: name, reason, hint }))
            }
            Outcome::HookFailed { hook, output } => {
                let fault = self.hook_failed(hook, output, FixObstacle::NotWanted);
                (Integration::Refused, Err(fault))
            }
            Outcome::HookChanged(changes) => {
                let style = request.style.map(|style| format!(" --{}", style_name(style))).unwrap_or_default();
                let others = match &request.hooks {
                    MergeHooks::AcceptOnly(id) => Some(id.clone()),
                    MergeHooks::Check | MergeHooks::AcceptChanges | MergeHooks::Fix | MergeHooks::Skip => None,
                };
                let changes = Box::new(listed_changes(&changes));
                let fault = Fault::HookChanged { id: self.id, style, others, changes };
                (Integration::Refused, Err(fault))
            }
        }
    }

    async fn try_rebase(&mut self, target: &str) -> Result<(Integration, Result<(), Fault>), Fault> {
        let shown = self.shown_work().await?;
        self.commit_leftovers().await?;
        let left = self.unresolved(target).await?;
        if !left.is_empty() {
            return Ok(self.tell_unresolved(&left, target));
        }
        if let Some(shown) = shown {
            // Once it has moved, nobody can tell what changed from what came with the base.
            let hint = format!("look again with `coppice diff {}`, then rebase", self.id);
            self.check_unseen(shown, &MergeUnseen::Refuse, |_| hint).await?;
        }
        let tree = self.tree().await?;
        let (repo, name) = (tree.repo.clone(), target.to_owned());
        if blocking(move || repo.find_ref(&name)).await?.is_none() {
            return Err(self.base_refused(&Refusal::TargetMissing { branch: short(target).to_owned() }, target));
        }
        let (name, session) = (target.to_owned(), self.id);
        let base: Oid = self.record.body.measured_from().parse()?;
        let repo = tree.repo.clone();
        let rebase = move |tree: Worktree| {
            let Some(onto) = tree.repo.find_ref(&name)? else {
                return Err(GitError::BranchMissing { branch: name });
            };
            let tip = tree.repo.find_ref(&format!("refs/heads/{}", tree.branch))?.unwrap_or(tree.base);
            let old = history::line(&tree.repo, &base, &tip)?;
            let outcome = git::merge::rebase(&tree, &onto, base)?;
            let new = match &outcome {
                RebaseOutcome::Rebased { head, .. } => {
                    // What has moved is recorded, whoever waits.
                    history::keep_moved(&repo, session, *head)?;
                    history::line(&repo, &onto, head)?
                }
                RebaseOutcome::UpToDate | RebaseOutcome::Conflict { .. } | RebaseOutcome::Refused(_) => Vec::new(),
            };
            Ok((onto, outcome, Moved { old, new }))
        };
        let (onto, outcome, moved) = self.shared.in_stoppable_tree(session, &tree, rebase).await?;
        Ok(match outcome {
            RebaseOutcome::Rebased { head, expected } => {
                let body = &mut self.record.body;
                (body.base.commit, body.merged) = (onto.to_string(), None);
                body.conflicts.clear();
                if shown.is_some() {
                    self.remember_moved_work(expected).await?;
                }
                self.move_checkpoints(&moved).await?;
                self.staged.push(Payload::Integrated {
                    commit: head.to_string(),
                    style: "rebase".to_owned(),
                    files: Vec::new(),
                });
                (Integration::Rebased, Ok(()))
            }
            RebaseOutcome::UpToDate => {
                // Its base is the branch as it stands, also when a daemon died before it could say so.
                self.record.body.base.commit = onto.to_string();
                self.record.body.conflicts.clear();
                (Integration::Rebased, Ok(()))
            }
            RebaseOutcome::Conflict { files } => self.conflict(&files, target).await,
            RebaseOutcome::Refused(refusal) => {
                let hint = refusal_hint(&refusal, &self.record, "rebase");
                let target = short(target).to_owned();
                (Integration::Refused, Err(Fault::MergeRefused { target, reason: refusal.to_string(), hint }))
            }
        })
    }

    /// Lets the turns point at their rebased commits; a turn whose commit has no counterpart cannot be gone back to.
    async fn move_checkpoints(&mut self, moved: &Moved) -> Result<(), Fault> {
        let mut changes = Vec::new();
        for row in self.shared.turns(self.id).await? {
            let mut body = TurnBody::read(&row)?;
            if let Some(commit) = body.checkpoint.take() {
                body.checkpoint = moved.counterpart(&commit);
                changes.push(Change::Turn(body.row(self.id, row.number, row.raw)));
            }
        }
        Ok(self.persist(Durability::Normal, changes).await?)
    }
}

/// A merge that is wanted.
#[derive(Clone)]
struct Order {
    /// Full ref name of the branch.
    target: String,
    style: Style,
    message: String,
    base: Oid,
    hooks: MergeHooks,
    ssh_agent: Option<String>,
}

/// What an attempt to merge came to.
enum Tried {
    /// Nobody has resolved an earlier conflict; nothing was tried.
    Unresolved(Unresolved),
    Merge(Outcome),
}

/// The commits of a session before and after a rebase.
struct Moved {
    old: Vec<Oid>,
    new: Vec<Oid>,
}

impl Moved {
    /// The rebased form of a commit. The last one always has one; the others only if none fell away.
    fn counterpart(&self, commit: &str) -> Option<String> {
        let at = self.old.iter().position(|old| old.to_string() == commit)?;
        match self.old.len() == self.new.len() {
            true => self.new.get(at),
            false if at + 1 == self.old.len() => self.new.last(),
            false => None,
        }
        .map(Oid::to_string)
    }
}

/// What the hooks did to a merge that went through.
fn hook_warnings(hooks: &HookReport, style: MergeStyle) -> Vec<String> {
    let changes = hooks.changes.as_ref().map(|changes| {
        let files = listed_changes(changes).describe();
        match style {
            MergeStyle::Squash | MergeStyle::NoFf => format!("the commit holds changes of your commit hooks: {files}"),
            MergeStyle::Rebase => format!("changes of your commit hooks are not in the rebased commits: {files}"),
        }
    });
    let message = hooks.edited_message.then(|| "a commit hook edited the commit message".to_owned());
    let changed = hooks.changed_hooks.iter().map(|path| {
        format!(
            "the session changes the commit hook `{}`: the merge went by the session's version of it",
            path.display()
        )
    });
    changes.into_iter().chain(message).chain(changed).collect()
}

fn listed_changes(changes: &git::merge::HookChanges) -> HookChanges {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let file = |file: &git::merge::HookFileChange| HookFileChange {
        path: file.path.display().to_string(),
        kind: file.kind.to_owned(),
        insertions: count(file.insertions),
        deletions: count(file.deletions),
    };
    let files = changes.files.iter().map(file).collect();
    HookChanges { id: changes.id.clone(), files, patch: changes.patch.clone() }
}

/// How a person agrees to what an id names.
pub(super) fn accept_option(id: &str) -> String {
    format!(" --accept-unseen-changes={id}")
}

fn style_name(style: MergeStyle) -> &'static str {
    match style {
        MergeStyle::Squash => "squash",
        MergeStyle::NoFf => "no-ff",
        MergeStyle::Rebase => "rebase",
    }
}

/// A path as a word that every shell reads as it is.
pub(in super::super) fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%=:".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// What lets the command `act` go through.
pub(super) fn refusal_hint(refusal: &Refusal, record: &Record, act: &str) -> String {
    let id = record.id.as_str();
    let worktrees = Path::new(&record.body.worktree).parent();
    match refusal {
        Refusal::NoTarget => format!("the work is on the session's branch: `coppice show {id}`"),
        Refusal::TargetMissing { branch } if act == "undo" => format!(
            "there is nothing to take back while `{branch}` is gone; `git branch {branch} COMMIT` brings it back"
        ),
        Refusal::TargetMissing { branch } => format!(
            "`git branch {branch} {}` makes it again as the session knows it; or check out the branch that you want the \
             work in, and run `git merge {}`",
            record.body.base.commit, record.body.branch
        ),
        Refusal::Unrelated { .. } => format!("`coppice diff {id}` shows the work"),
        // A command of git there would obey what an agent wrote.
        Refusal::LocalChanges { checkout, .. }
            if worktrees.is_some_and(|worktrees| checkout.starts_with(worktrees)) =>
        {
            "move these files elsewhere in `coppice shell`, or delete them there, and repeat the command".to_owned()
        }
        Refusal::LocalChanges { checkout, files } => {
            // Ignored files are stashed only with `--all`, and without paths that would stash every ignored file.
            let words = ["git", "-C"].map(str::to_owned).into_iter().chain([shell_word(checkout)]);
            let words = words.chain(["stash", "push", "--all", "--"].map(str::to_owned));
            let command: Vec<_> = words.chain(files.iter().map(|path| shell_word(path))).collect();
            let command = command.join(" ");
            match act {
                // Once they are committed, they may be in the way of the commit that reverts the merge.
                "undo" => format!("run `{command}`, undo again, then `git stash pop`"),
                _ => format!("commit them, or run `{command}`, then {act} again"),
            }
        }
        Refusal::SubmodulesReplaced { .. } => format!("run `git submodule deinit PATH` there, then {act} again"),
        Refusal::Busy { operation, .. } => format!("finish or abort the {operation}, then {act} again"),
        Refusal::NestedRepositories { .. } => format!("remove them from the worktree: `coppice show {id}`"),
        Refusal::OneByOne { .. } => format!("`coppice merge {id} --squash`, or with `--no-ff`"),
        Refusal::ReplayDiffers { .. } => format!(
            "`coppice merge {id} --squash`, or with `--no-ff`; \
             or `coppice rebase {id}`, look again with `coppice diff {id}`, then merge"
        ),
        Refusal::TargetMoved { .. } => format!("{act} again"),
        Refusal::UnusableHooks { .. } => format!(
            "point `core.hooksPath` at a directory outside of these work trees, or merge without hooks: \
             `coppice merge {id} --no-verify`"
        ),
    }
}
