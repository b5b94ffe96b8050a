//! What servers find wrong in files: asked for by a call, or told after a write.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::lsp::answer::Diagnostic;
use crate::lsp::servers;
use crate::tools::inside::root::Kind;

use super::super::super::delegate::Caller;
use super::super::super::shared::Shared;
use super::desk::{Desk, blocking, told};
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
    for path in paths {
        is_file(desk, path).await?;
    }
    let files = join_all(paths.iter().map(|path| file(desk, path, limit))).await;
    Ok(json!({ "files": files }))
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

async fn file(desk: &Desk<'_>, path: &Path, limit: Duration) -> Value {
    let named = path.to_string_lossy();
    let diagnosed = async {
        let opened = desk.file(path).await?;
        let diagnosed = opened.lease.server.diagnostics(&opened.path, opened.version, limit).await;
        diagnosed.map_err(told)
    };
    match diagnosed.await {
        Ok(diagnosed) => {
            let list: Vec<_> = diagnosed.diagnostics.iter().map(diagnostic).collect();
            let mut told = json!({ "path": named, "diagnostics": list });
            if let Some(error) = diagnosed.unfinished {
                told["error"] = json!(error);
            }
            told
        }
        Err(error) => json!({ "path": named, "diagnostics": [], "error": error }),
    }
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
    if !shared.languages.is_any_running() {
        return None;
    }
    let desk = Desk::open(shared, caller).await.ok()?;
    let mut found = Vec::new();
    for path in paths {
        let Ok(path) = desk.place(path).await else { continue };
        let Some(program) = servers::for_file(&path) else { continue };
        if let Some(lease) = desk.running(program).await {
            found.extend(lines(&desk, &lease, std::iter::once(path)).await);
        }
    }
    (!found.is_empty()).then(|| format!("## diagnostics\n{}", found.join("\n")))
}

/// The errors and warnings of files that were just written, a line each, as far as they are known within a short time.
pub(super) async fn lines(desk: &Desk<'_>, lease: &Lease, paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
    let found = join_all(paths.filter(|path| lease.server.program().language(path).is_some()).take(FILES).map(
        |path| async move {
            let (_, version) = desk.show(lease, &path).await.ok()?;
            let diagnosed = lease.server.diagnostics(&path, version, AFTER_WRITE).await.ok()?;
            Some(diagnosed.diagnostics.iter().filter_map(|found| line(&desk.told(&path), found)).collect::<Vec<_>>())
        },
    ));
    let mut lines: Vec<String> = found.await.into_iter().flatten().flatten().collect();
    let more = lines.len().saturating_sub(TOLD);
    lines.truncate(TOLD);
    if more > 0 {
        lines.push(format!("… {more} more"));
    }
    lines
}

/// One error or warning; what is less is not told after a write.
fn line(path: &str, found: &Diagnostic) -> Option<String> {
    let kind = Some(severity(found)).filter(|kind| matches!(*kind, "error" | "warning"))?;
    let message = found.message.lines().next().unwrap_or_default();
    let place = found.range.start;
    Some(format!("{path}:{}:{}: {kind}: {message}", place.line + 1, place.character))
}
