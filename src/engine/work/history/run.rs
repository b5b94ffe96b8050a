//! A call of git with the model's own words, run in the session's cage: whatever it starts reaches no more than the
//! agent does.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::git::caged::{self, Known, Veil};
use crate::git::capture::Kept;
use crate::git::{Oid, Worktree, veil};
use crate::permission::guard::TREE_SECRETS;
use crate::permission::only_git_reads;
use crate::sandbox::launch::{self, Spawn, Stop};
use crate::tools::history::{STDERR_LIMIT, STDOUT_LIMIT, git_text};

use super::super::super::confine::{self, Scratch, Task};
use super::super::super::delegate::Caller;
use super::super::super::shared::Shared;
use super::{blocking, failed, say};

/// How long a run may take.
const TIME: Duration = Duration::from_secs(10 * 60);

/// Runs git and tells how it ended, and what it said.
pub(super) async fn git(
    shared: &Arc<Shared>,
    caller: &Caller,
    tree: &Worktree,
    words: &[String],
) -> Result<String, String> {
    let known = if only_git_reads(&git_text(words)) { Known::Reads } else { Known::Anything };
    let writes = match known {
        Known::Reads => Vec::new(),
        Known::Anything => vec![tree.path.clone()],
    };
    let task = Task {
        record: &caller.record,
        repo: &tree.repo,
        level: caller.config.sandbox.level,
        writes,
        scratch: Scratch::Session,
        env: None,
    };
    let confined = confine::of_command(shared, task);
    let (mut cage, mut env) = confined.map_err(|error| format!("git: failed to confine it: {error}"))?;
    if let Some(cage) = &mut cage {
        cage.read.push(tree.path.clone());
    }
    let (place, said) = (tree.clone(), words.to_vec());
    let attributes = blocking(move || attributes(&place, &said, known)).await?;
    let caged = caged::command(tree, words, known, Veil { names: TREE_SECRETS, attributes });
    env.extend(caged.env.into_iter().map(|(name, value)| (name.to_owned(), value)));
    let spawn = Spawn {
        executable: shared.executable.clone(),
        argv: caged.argv,
        env: env.into_iter().collect(),
        cwd: tree.path.clone(),
        cage,
        worktree: Some(tree.path.clone()),
    };
    run(spawn, &caller.cancel).await
}

/// The attributes that keep secrets out of patches. Words that look are refused if they name content that has no path to
/// tell a secret by; what a person allowed to do anything does that too.
fn attributes(tree: &Worktree, words: &[String], known: Known) -> Result<Oid, String> {
    let bare = match known {
        Known::Reads => veil::bare_content(tree, words).map_err(failed)?,
        Known::Anything => None,
    };
    match bare {
        Some(word) => {
            Err(format!("git: `{word}` is the content of a file: name it by a commit and a path, such as HEAD:a.txt"))
        }
        None => veil::attributes(tree, TREE_SECRETS).map_err(failed),
    }
}

/// Whoever hears of the end of a run finds nothing of it that still works.
async fn run(spawn: Spawn, cancel: &CancellationToken) -> Result<String, String> {
    let failed = |error: &dyn std::error::Error| format!("git: it did not run: {error}");
    let launch::Supervised { stdin, stdout, stderr, mut process } =
        launch::spawn(spawn).await.map_err(|error| failed(&error))?;
    drop(stdin);
    let ended = async {
        let (stdout, stderr) = tokio::join!(kept(stdout, STDOUT_LIMIT), kept(stderr, STDERR_LIMIT));
        (stdout, stderr, process.wait().await)
    };
    let why = match cancel.run_until_cancelled(timeout(TIME, ended)).await {
        Some(Ok((stdout, stderr, status))) => {
            let (stdout, stderr) = (stdout.map_err(|error| failed(&error))?, stderr.map_err(|error| failed(&error))?);
            return Ok(say::run(status.code(), &stdout, &stderr));
        }
        Some(Err(_)) => format!("git: it took longer than {} seconds and was stopped", TIME.as_secs()),
        None => "git: it was stopped".to_owned(),
    };
    process.stop(Stop::Kill);
    process.wait().await;
    Err(why)
}

/// The beginning of a stream; the rest is read and dropped, so that the run ends by itself.
async fn kept(mut stream: impl AsyncRead + Unpin, limit: usize) -> std::io::Result<Kept> {
    let mut bytes = Vec::new();
    let room = u64::try_from(limit).unwrap_or(u64::MAX);
    (&mut stream).take(room).read_to_end(&mut bytes).await?;
    let more = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(Kept { bytes, is_cut: more > 0 })
}
