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
            Err(_) => (Vec::new(), Some(format!("no complete answer within {} s", limit.as_secs_f32().ceil()))),
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
        // How often it has spoken about this text, and whether nothing changed elsewhere since.
        let spoken = |known: &Known| {
            let published = known.published.get(uri)?;
            let is_current = published.version.is_none_or(|told| told >= version);
            is_current.then_some((published.times, published.is_fresh))
        };
        let mut known = self.known.clone();
        loop {
            let heard = known.wait_for(|known| spoken(known).is_some()).await.map(|known| spoken(&known));
            let Ok(Some(last)) = heard else { return Err(self.closed().await) };
            // Servers say first what they find first: it is all when nothing follows. Where other files changed, some
            // speak again in any case, others only if there is a difference.
            let patience = if last.1 { self.limits.settle } else { self.limits.settle * 7 };
            let more = known.wait_for(|known| spoken(known) != Some(last));
            match time::timeout(patience, more).await.map(|heard| heard.is_ok()) {
                Ok(true) => {}
                Ok(false) => return Err(self.closed().await),
                Err(_) => return Ok(Vec::new()),
            }
        }
    }
}
