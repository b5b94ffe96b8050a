//! A worktree made ready to work in: the files that come along and the commands of the project, once they are trusted.

use std::time::Duration;

use crate::api::event::Payload;
use crate::backend::failure::{Failure, FailureKind};
use crate::git::Worktree;
use crate::git::include::{self, Include};
use crate::git::submodule;
use crate::permission::Level;
use crate::sandbox::command::{self, Limits};
use crate::sandbox::launch::Spawn;

use super::super::actor::blocking;
use super::super::confine::{self, Task};
use super::super::fault::Fault;
use super::super::record::Record;
use super::super::settings::Settings;
use super::super::shared::Shared;
use super::super::trusted_branch;
use super::{chain, failure, note};

/// How long a setup command may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How much of a setup command's output is kept for its error.
const SETUP_KEEP: usize = 4 * 1024;
/// How many lines of a command may wait to be stored.
const LINES_AHEAD: usize = 4096;

/// Brings files along and runs the setup command, as far as the project is trusted with them.
pub(super) async fn furnish(
    shared: &Shared,
    record: &Record,
    tree: &Worktree,
    settings: &Settings,
) -> Result<(), Failure> {
    let wanted = &settings.config.worktree;
    let (filled, session) = (tree.clone(), record.id);
    let filled = tokio::task::spawn_blocking(move || submodule::fill_or_warn(&filled, session)).await;
    for message in filled.map_err(|error| failure(error.into()))? {
        note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
    }
    if settings.is_held_back() {
        let message = "what the repository asks for beyond your own settings is ignored: `coppice trust` shows it";
        note(shared, record, Payload::Warning { message: message.to_owned() }).await.map_err(failure)?;
    }
    if !wanted.copy.is_empty() || !wanted.link.is_empty() || settings.include.is_some() {
        let (tree, copy, link) = (tree.clone(), wanted.copy.clone(), wanted.link.clone());
        let patterns = settings.include.clone().unwrap_or_default();
        let place = move || include::place(&tree, Include { copy: &copy, link: &link, patterns: &patterns });
        let placed = tokio::task::spawn_blocking(place);
        let placed = placed.await.map_err(|error| failure(error.into()))?.map_err(|error| failure(error.into()))?;
        let how = Some(format!("{} files", placed.files.len()));
        note(shared, record, Payload::Preparing { step: "files".to_owned(), how }).await.map_err(failure)?;
        for message in placed.warnings {
            note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
        }
    }
    match &wanted.setup {
        // A child starts from what an agent wrote; the command was trusted with what people committed.
        Some(_) if record.body.child.is_some() => Ok(()),
        Some(command) => setup(shared, record, tree, settings, command).await,
        None => Ok(()),
    }
}

async fn setup(
    shared: &Shared,
    record: &Record,
    tree: &Worktree,
    settings: &Settings,
    command: &str,
) -> Result<(), Failure> {
    let level = match is_trusted_content(record, tree, settings).await.map_err(failure)? {
        true => Level::Off,
        false => settings.config.sandbox.level,
    };
    let how = (level != Level::Off).then(|| "in the sandbox".to_owned());
    note(shared, record, Payload::Preparing { step: "setup".to_owned(), how }).await.map_err(failure)?;
    let finished = run_command(shared, record, tree, level, command).await?;
    match finished.is_success() {
        true => Ok(()),
        false => {
            let end = finished.describe();
            let message = format!("the setup command `{command}` failed ({end}): {}", finished.output.trim_end());
            Err(Failure::new(FailureKind::Setup, message))
        }
    }
}

/// Whether the tree holds what the user trusts the command with: a commit of a trusted branch, before the first turn.
async fn is_trusted_content(record: &Record, tree: &Worktree, settings: &Settings) -> Result<bool, Fault> {
    if record.body.turns > 0 {
        return Ok(false);
    }
    let (repo, base, trusted) = (tree.repo.clone(), tree.base, settings.trusted.clone());
    blocking(move || {
        let branches = trusted_branch::list_branches(&repo, trusted.as_ref())?;
        trusted_branch::holds_commit(&repo, &branches, &base)
    })
    .await
}

/// Runs a command of the project in the worktree, confined at `level`; its output is part of the transcript.
pub(in super::super) async fn run_command(
    shared: &Shared,
    record: &Record,
    tree: &Worktree,
    level: Level,
    command: &str,
) -> Result<command::Finished, Failure> {
    let task = Task { record, repo: &tree.repo, level, writes: vec![tree.path.clone()] };
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
