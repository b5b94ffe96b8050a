//! What servers find wrong in files: asked for by a call, or told after a write.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{self, Instant};

use crate::lsp::answer::Diagnostic;
use crate::lsp::servers::{self, Program};
use crate::tools::inside::root::Kind;

use super::super::super::delegate::Caller;
use super::super::super::shared::Shared;
use super::desk::{self, Desk, blocking, told};
use super::keep::Lease;

/// How long one file may take.
pub(super) const LIMIT: Duration = Duration::from_secs(15);

/// How long a write waits for what it broke.
const AFTER_WRITE: Duration = Duration::from_secs(2);

/// How many diagnostics follow a write, and of how many files.
const TOLD: usize = 20;
const FILES: usize = 16;

/// The diagnostics of files, each on its own: what one lacks does not hide the others.
pub(super) async fn diagnostics(desk: &Desk<'_>, paths: &[PathBuf], limit: Duration) -> Result<Value, String> {
    let deadline = Instant::now() + limit;
    for path in paths {
        is_file(desk, path).await?;
    }
    let (groups, unserved) = by_program(desk, paths).await;
    let asked = groups.iter().map(|(program, files)| group(desk, program, files, deadline, limit));
    let mut found: HashMap<&Path, Value> = join_all(asked).await.into_iter().flatten().collect();
    found.extend(unserved.iter().map(|(path, error)| (*path, failed(path, error))));
    let files: Vec<_> = paths.iter().filter_map(|path| found.remove(path.as_path())).collect();
    Ok(json!({ "files": files }))
}

/// A file as a call names it, and by the name that servers know.
type Named<'p> = (&'p Path, PathBuf);

/// Files by the program that serves them: it is asked once for all of its files. Those that nobody serves are told why.
async fn by_program<'p>(
    desk: &Desk<'_>,
    paths: &'p [PathBuf],
) -> (Vec<(&'static Program, Vec<Named<'p>>)>, Vec<(&'p Path, String)>) {
    let (mut groups, mut unserved): (Vec<(&'static Program, Vec<Named<'p>>)>, _) = (Vec::new(), Vec::new());
    for named in paths {
        let place = match desk.place(named).await {
            Ok(place) => place,
            Err(error) => {
                unserved.push((named.as_path(), error));
                continue;
            }
        };
        let Some(program) = servers::for_file(&place) else {
            unserved.push((named.as_path(), desk::unserved(&place)));
            continue;
        };
        match groups.iter_mut().find(|(known, _)| known.name == program.name) {
            Some((_, files)) => files.push((named, place)),
            None => groups.push((program, vec![(named, place)])),
        }
    }
    (groups, unserved)
}

/// The diagnostics of the files of one program. Its start is part of the time that they have.
async fn group<'p>(
    desk: &Desk<'_>,
    program: &'static Program,
    files: &[Named<'p>],
    deadline: Instant,
    limit: Duration,
) -> Vec<(&'p Path, Value)> {
    let unfinished = || format!("no complete answer within {} s: the language server still starts", limit.as_secs());
    let leased = match time::timeout_at(deadline, desk.lease(program)).await {
        Ok(leased) => leased.map(|(lease, _)| lease),
        Err(_) => Err(unfinished()),
    };
    match leased {
        Ok(lease) => {
            let asked = files.iter().map(|(named, path)| {
                let lease = &lease;
                async move { (*named, file(desk, lease, named, path, deadline).await) }
            });
            join_all(asked).await
        }
        Err(error) => files.iter().map(|(named, _)| (*named, failed(named, &error))).collect(),
    }
}

/// A path that is no file is a mistake in the call, and not one of the code.
async fn is_file(desk: &Desk<'_>, path: &Path) -> Result<(), String> {
    let (root, name) = (Arc::clone(&desk.root), path.to_string_lossy().into_owned());
    let entry = blocking(move || root.look(&name)).await?.map_err(|error| format!("diagnostics: {error}"))?;
    match entry.kind {
        Kind::File => Ok(()),
        Kind::Directory => Err(format!("diagnostics: `{}` is a directory; name its files", path.display())),
        Kind::Link | Kind::Pipe | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(format!("diagnostics: `{}` is no regular file", path.display()))
        }
    }
}

async fn file(desk: &Desk<'_>, lease: &Lease, named: &Path, path: &Path, deadline: Instant) -> Value {
    let diagnosed = async {
        let shown = time::timeout_at(deadline, desk.show(lease, path)).await;
        let (_, version) = shown.map_err(|_| "the language server takes in no file".to_owned())??;
        let left = deadline.saturating_duration_since(Instant::now());
        lease.server.diagnostics(path, version, left).await.map_err(told)
    };
    match diagnosed.await {
        Ok(diagnosed) => {
            let list: Vec<_> = diagnosed.diagnostics.iter().map(diagnostic).collect();
            let mut told = json!({ "path": named.to_string_lossy(), "diagnostics": list });
            if let Some(error) = diagnosed.unfinished {
                told["error"] = json!(error);
            }
            told
        }
        Err(error) => failed(named, &error),
    }
}

fn failed(named: &Path, error: &str) -> Value {
    json!({ "path": named.to_string_lossy(), "diagnostics": [], "error": error })
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let (start, end) = (diagnostic.range.start, diagnostic.range.end);
    let mut told = json!({
        "severity": severity(diagnostic),
        "line": start.line + 1,
        "character": start.character,
        "end_line": end.line + 1,
        "end_char": end.character,
        "message": diagnostic.message,
    });
    if let Some(source) = &diagnostic.source {
        told["source"] = json!(source);
    }
    if let Some(code) = &diagnostic.code {
        told["code"] = code.clone();
    }
    told
}

fn severity(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        Some(2) => "warning",
        Some(3) => "information",
        Some(4) => "hint",
        Some(_) | None => "error",
    }
}

/// What the servers that run find wrong in files that were just written; nothing where none runs or nothing is wrong.
pub(in crate::engine) async fn after_write(shared: &Arc<Shared>, caller: &Caller, paths: &[PathBuf]) -> Option<String> {
    if paths.is_empty() || !shared.languages.is_any_running() {
        return None;
    }
    let looked = async {
        let desk = Desk::open(shared, caller).await.ok()?;
        let found = broken(&desk, paths.iter()).await?;
        (!found.is_empty()).then(|| format!("## diagnostics\n{}", found.join("\n")))
    };
    tokio::select! {
        found = looked => found,
        // What was written is written; nobody waits for what is wrong with it.
        () = caller.cancel.cancelled() => None,
    }
}

/// The errors and warnings of files that were just written, a line each, as far as the servers that run know them within
/// a short time; none where no server was heard.
pub(super) async fn broken<'p>(desk: &Desk<'_>, paths: impl Iterator<Item = &'p PathBuf>) -> Option<Vec<String>> {
    let deadline = Instant::now() + AFTER_WRITE;
    let served: Vec<_> = paths.filter(|path| servers::for_file(path).is_some()).take(FILES).cloned().collect();
    let (groups, _) = by_program(desk, &served).await;
    let asked = groups.iter().map(|(program, files)| async move {
        let lease = time::timeout_at(deadline, desk.running(program)).await.ok()??;
        lines(desk, &lease, files, deadline).await
    });
    let heard: Vec<_> = join_all(asked).await.into_iter().flatten().collect();
    if heard.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = heard.into_iter().flatten().collect();
    let more = lines.len().saturating_sub(TOLD);
    lines.truncate(TOLD);
    if more > 0 {
        lines.push(format!("… {more} more"));
    }
    Some(lines)
}

/// What one server finds; none where it could be asked about no file.
async fn lines(desk: &Desk<'_>, lease: &Lease, files: &[Named<'_>], deadline: Instant) -> Option<Vec<String>> {
    let found = join_all(files.iter().map(|(_, path)| async move {
        let (_, version) = time::timeout_at(deadline, desk.show(lease, path)).await.ok()?.ok()?;
        let left = deadline.saturating_duration_since(Instant::now());
        let diagnosed = lease.server.diagnostics(path, version, left).await.ok()?;
        Some(diagnosed.diagnostics.iter().filter_map(|found| line(&desk.told(path), found)).collect::<Vec<_>>())
    }));
    let heard: Vec<_> = found.await.into_iter().flatten().collect();
    (!heard.is_empty()).then(|| heard.into_iter().flatten().collect())
}

/// One error or warning; what is less is not told after a write.
fn line(path: &str, found: &Diagnostic) -> Option<String> {
    let kind = Some(severity(found)).filter(|kind| matches!(*kind, "error" | "warning"))?;
    let message = found.message.lines().next().unwrap_or_default();
    let place = found.range.start;
    Some(format!("{path}:{}:{}: {kind}: {message}", place.line + 1, place.character))
}
