//! Diagnostics of one document: asked for where the server answers, else awaited until it has said all.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time;

use super::Server;
use crate::lsp::answer::{self, Diagnostic};
use crate::lsp::desk::Known;
use crate::lsp::error::LspError;
use crate::lsp::uri;

/// What is known about a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosed {
    pub diagnostics: Vec<Diagnostic>,
    /// Why there may be more.
    pub unfinished: Option<String>,
}

impl Server {
    /// The diagnostics of a file that was shown as `version`. What is there when the time is up is kept.
    pub async fn diagnostics(&self, path: &Path, version: i64, limit: Duration) -> Result<Diagnosed, LspError> {
        let uri = uri::of(path);
        let seen = self.gather(&uri, version);
        let (pulled, unfinished) = match time::timeout(limit, seen).await {
            Ok(Ok(pulled)) => (pulled, None),
            Ok(Err(error @ LspError::Ended { .. })) => return Err(error),
            Ok(Err(error)) => (Vec::new(), Some(error.to_string())),
            Err(_) => (Vec::new(), Some(format!("no complete answer within {} s", limit.as_secs_f32()))),
        };
        let mut diagnostics = pulled;
        // A server that answers may still publish what other programs find.
        let published = self.known.borrow().published.get(&uri).map(|known| known.diagnostics.clone());
        for diagnostic in published.into_iter().flatten() {
            if !diagnostics.iter().any(|known| known.range == diagnostic.range && known.message == diagnostic.message) {
                diagnostics.push(diagnostic);
            }
        }
        diagnostics.sort_by_key(|diagnostic| diagnostic.range);
        Ok(Diagnosed { diagnostics, unfinished })
    }

    async fn gather(&self, uri: &str, version: i64) -> Result<Vec<Diagnostic>, LspError> {
        self.ready().await;
        if self.can("textDocument/diagnostic") {
            let answer = self.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } })).await?;
            return Ok(answer::report(&answer).unwrap_or_default());
        }
        let spoken = |known: &Known| {
            let published = known.published.get(uri)?;
            let is_current = published.is_fresh && published.version.is_none_or(|told| told >= version);
            is_current.then_some(published.times)
        };
        let mut known = self.known.clone();
        if known.borrow().published.get(uri).is_some_and(|published| !published.is_fresh) {
            // Other files changed. Some servers speak again about this one then, others only if there is a difference.
            let again = known.wait_for(|known| spoken(known).is_some());
            if time::timeout(self.limits.settle * 7, again).await.is_err() {
                return Ok(Vec::new());
            }
        }
        loop {
            let heard = known.wait_for(|known| spoken(known).is_some()).await.map(|known| spoken(&known));
            let Ok(times) = heard else { return Err(self.closed().await) };
            // Servers say first what they find first: it is all when nothing follows.
            let more = known.wait_for(|known| spoken(known) != times);
            match time::timeout(self.limits.settle, more).await.map(|heard| heard.is_ok()) {
                Ok(true) => {}
                Ok(false) => return Err(self.closed().await),
                Err(_) => return Ok(Vec::new()),
            }
        }
    }
}
