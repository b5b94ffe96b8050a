//! A worktree made ready to work in: the files that come along and the commands of the project, once they are trusted.

use std::path::Path;
use std::time::Duration;

use crate::api::event::Payload;
use crate::backend::failure::{Failure, FailureKind};
use crate::config::project_env::ProjectEnv;
use crate::git::Worktree;
use crate::git::include::{self, Include};
use crate::git::submodule;
use crate::permission::Level;
use crate::sandbox::command::{self, Limits};
use crate::sandbox::launch::Spawn;

use super::super::actor::{blocking, in_quiet_tree, shell_word};
use super::super::confine::{self, Scratch, Task};
use super::super::fault::Fault;
use super::super::record::Record;
use super::super::rules::Files;
use super::super::settings::{self, Settings};
use super::super::shared::Shared;
use super::super::trusted_branch;
use super::{chain, failure, note};

/// How long a setup command may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How much of a setup command's output is kept for its error.
const SETUP_KEEP: usize = 4 * 1024;
/// How many lines of a command may wait to be stored.
const LINES_AHEAD: usize = 4096;

/// What becomes of the project's setup command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) enum SetupChoice {
    #[default]
    Run,
    /// A person goes on without it.
    Skip,
}

/// Brings files along and runs the setup command, as far as the project is trusted with them. The record says afterwards
/// whether the worktree is still untouched, also when this is given up halfway.
pub(super) async fn furnish(
    shared: &Shared,
    record: &mut Record,
    tree: &Worktree,
    settings: &Settings,
    choice: SetupChoice,
) -> Result<(), Failure> {
    let wanted = &settings.config.worktree;
    let (filled, session) = (tree.clone(), record.id);
    let filled = in_quiet_tree(&tree.path, move || Ok(submodule::fill_or_warn(&filled, session))).await;
    for message in filled.map_err(failure)? {
        note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
    }
    if settings.is_held_back() {
        let message = "what the repository asks for beyond your own settings is ignored: `coppice trust` shows it";
        note(shared, record, Payload::Warning { message: message.to_owned() }).await.map_err(failure)?;
    }
    // A file that means nothing is an error of the turn.
    let local = Files::of(shared, &record.project, &tree.repo).local_rules();
    if local.is_ok_and(|local| !local.pending.is_empty()) {
        let message = "`permissions.local.json` allows more than you agreed to: ignored until `coppice trust`";
        note(shared, record, Payload::Warning { message: message.to_owned() }).await.map_err(failure)?;
    }
    let is_caged = settings.config.sandbox.level != Level::Off;
    if let Some(message) = confine::cargo_warning(shared, record).filter(|_| is_caged) {
        note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
    }
    if !wanted.copy.is_empty() || !wanted.link.is_empty() || settings.include.is_some() {
        let (path, tree, copy, link) = (tree.path.clone(), tree.clone(), wanted.copy.clone(), wanted.link.clone());
        let patterns = settings.include.clone().unwrap_or_default();
        let place = move || include::place(&tree, Include { copy: &copy, link: &link, patterns: &patterns });
        let placed = in_quiet_tree(&path, place).await.map_err(failure)?;
        let how = Some(match placed.files.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        });
        note(shared, record, Payload::Preparing { step: "files".to_owned(), how }).await.map_err(failure)?;
        // Files that an earlier preparation brought are still there.
        let existing = placed.existing.iter().filter(|_| record.body.turns == 0);
        let existing = existing.map(|path| format!("`{}` exists in the worktree", path.display()));
        for message in placed.warnings.into_iter().chain(existing) {
            note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
        }
    }
    match (&wanted.setup, choice) {
        // A child starts from what an agent wrote; the command was trusted with what people committed.
        (Some(_), _) if record.body.child.is_some() => Ok(()),
        (Some(command), SetupChoice::Run) => run_setup(shared, record, tree, settings, command).await,
        (Some(command), SetupChoice::Skip) => {
            let message = format!("the setup command `{command}` was skipped");
            note(shared, record, Payload::Warning { message }).await.map_err(failure)
        }
        (None, SetupChoice::Run | SetupChoice::Skip) => Ok(()),
    }
}

async fn run_setup(
    shared: &Shared,
    record: &mut Record,
    tree: &Worktree,
    settings: &Settings,
    command: &str,
) -> Result<(), Failure> {
    let content = judge_content(record, tree, settings).await.map_err(failure)?;
    match content {
        SetupContent::Trusted => {}
        // Whatever it leaves in the worktree came from untrusted content, so no later setup may run there unconfined. The
        // stored record has said so since before the preparation.
        SetupContent::UntrustedCommit | SetupContent::WorkedOn => record.body.is_untouched = false,
    }
    let (level, suspect) = match (settings.config.sandbox.level, content) {
        (Level::Off, _) | (_, SetupContent::Trusted) => (Level::Off, None),
        (level, suspect) => (level, Some(suspect)),
    };
    let how = suspect.map(|_| "in the sandbox".to_owned());
    note(shared, record, Payload::Preparing { step: "setup".to_owned(), how }).await.map_err(failure)?;
    let finished = run_command(shared, record, tree, level, &settings.config.env, command).await?;
    match finished.is_success() {
        true => Ok(()),
        false => {
            let (end, output) = (finished.describe(), finished.output.trim_end());
            let place = suspect.map(|suspect| describe_sandboxing(suspect, record)).unwrap_or_default();
            let message = format!("the setup command `{command}` failed{place} ({end}): {output}");
            let hint = setup_hint(suspect.unwrap_or(SetupContent::Trusted), record, settings);
            Err(Failure::new(FailureKind::Setup, message).with_hint(hint))
        }
    }
}

/// What a setup command would run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetupContent {
    /// A commit of a trusted branch, in a worktree in which neither an agent nor untrusted content ever ran.
    Trusted,
    UntrustedCommit,
    /// The worktree as an agent, a terminal or a setup command in the sandbox left it.
    WorkedOn,
}

async fn judge_content(record: &Record, tree: &Worktree, settings: &Settings) -> Result<SetupContent, Fault> {
    let is_untouched = record.body.is_untouched;
    let (tree, trusted) = (tree.clone(), settings.trusted.clone());
    blocking(move || {
        let tip = tree.repo.find_ref(&format!("refs/heads/{}", tree.branch))?;
        if !is_untouched || tip != Some(tree.base) {
            return Ok(SetupContent::WorkedOn);
        }
        let branches = trusted_branch::list_branches(&tree.repo, trusted.as_ref())?;
        Ok(match trusted_branch::holds_commit(&tree.repo, &branches, &tree.base)? {
            true => SetupContent::Trusted,
            false => SetupContent::UntrustedCommit,
        })
    })
    .await
}

/// Where a command ran, and why there, in the middle of a sentence.
fn describe_sandboxing(content: SetupContent, record: &Record) -> String {
    match content {
        SetupContent::Trusted => String::new(),
        SetupContent::UntrustedCommit => {
            format!(" in the sandbox, because `{}` is not on a trusted branch", record.body.base.name)
        }
        SetupContent::WorkedOn => {
            " in the sandbox, because an agent or an earlier setup may have changed this worktree".to_owned()
        }
    }
}

/// What a person can do about a setup command that failed.
fn setup_hint(content: SetupContent, record: &Record, settings: &Settings) -> String {
    let id = record.id;
    let again = format!("run `coppice resume {id}`");
    let skip = format!("`coppice resume {id} --skip-setup` goes on without it");
    let base = &record.body.base;
    let can_be_trusted = base.branch.as_deref().is_some_and(trusted_branch::is_trustworthy);
    match (content, settings.grants.as_ref().filter(|_| can_be_trusted)) {
        (SetupContent::UntrustedCommit, Some(grants)) => {
            let (name, hash) = (shell_word(Path::new(&base.name)), settings::hash(grants.as_str()));
            format!(
                "to run it outside of the sandbox, trust the branch with \
                 `git switch {name} && coppice trust --hash {hash}` and create the session again; {skip}"
            )
        }
        (SetupContent::Trusted, _) => format!("fix the cause and {again}; {skip}"),
        (SetupContent::UntrustedCommit | SetupContent::WorkedOn, _) => format!(
            "allow what it needs in `sandbox.caches`, `sandbox.read` or `sandbox.hosts` and {again}; {skip}, \
             for example after you ran it yourself in `coppice shell {id}`"
        ),
    }
}

/// Runs a command of the project in the worktree, confined at `level`; its output is part of the transcript.
pub(in super::super) async fn run_command(
    shared: &Shared,
    record: &Record,
    tree: &Worktree,
    level: Level,
    env: &ProjectEnv,
    command: &str,
) -> Result<command::Finished, Failure> {
    let (writes, scratch) = (vec![tree.path.clone()], Scratch::Session);
    let task = Task { record, repo: &tree.repo, level, writes, scratch, env: Some(env) };
    let confined = confine::of_command(shared, task);
    let (cage, mut env) = confined.map_err(|error| Failure::new(FailureKind::Sandbox, error.to_string()))?;
    env.insert("COPPICE_SESSION".to_owned(), record.id.to_string());
    env.insert("COPPICE_WORKTREE".to_owned(), tree.path.display().to_string());
    if let Some(checkout) = tree.repo.checkout() {
        env.insert("COPPICE_CHECKOUT".to_owned(), checkout.display().to_string());
    }
    let spawn = Spawn {
        executable: shared.executable.clone(),
        argv: ["/bin/sh", "-c", command].map(str::to_owned).to_vec(),
        env: env.into_iter().collect(),
        cwd: tree.path.clone(),
        cage,
        worktree: Some(tree.path.clone()),
    };
    let (lines, mut spoken) = tokio::sync::mpsc::channel::<String>(LINES_AHEAD);
    let mut on_line = move |line: &str| {
        // A command that talks faster than the disk writes is heard with gaps; its last words are kept apart.
        lines.try_send(line.to_owned()).ok();
    };
    let limits = Limits { timeout: SETUP_TIMEOUT, keep: SETUP_KEEP };
    let store = async {
        while let Some(mut text) = spoken.recv().await {
            while let Ok(line) = spoken.try_recv() {
                text.push('\n');
                text.push_str(&line);
            }
            let output = Payload::SetupOutput { command: command.to_owned(), text, exit: None };
            note(shared, record, output).await?;
        }
        Ok::<_, Fault>(())
    };
    let running = async {
        let finished = command::run(spawn, limits, &mut on_line).await;
        drop(on_line);
        finished
    };
    let (finished, stored) = tokio::join!(running, store);
    stored.map_err(failure)?;
    let finished = finished.map_err(|error| Failure::new(FailureKind::Setup, chain(&error)))?;
    let exit = Some(finished.code());
    let last = Payload::SetupOutput { command: command.to_owned(), text: String::new(), exit };
    note(shared, record, last).await.map_err(failure)?;
    Ok(finished)
}
