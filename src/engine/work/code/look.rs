//! Symbols by name, and where one is defined.

use std::path::PathBuf;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::lsp::answer::{self, Symbol};
use crate::lsp::servers::{self, Program};
use crate::tools::code::Place;

use super::desk::{self, Desk, told};

/// How many symbols are told.
const MOST: usize = 200;

/// The symbols of all languages of the work tree.
pub(super) async fn symbols(desk: &Desk<'_>, query: &str) -> Result<Value, String> {
    let files: Vec<PathBuf> = desk.files().await?.files.into_keys().collect();
    let programs = servers::for_files(&files);
    if programs.is_empty() {
        return Ok(
            json!({ "symbols": [], "notice": "no file of this work tree is of a language with a known server" }),
        );
    }
    let asked = join_all(programs.into_iter().map(|program| ask(desk, program, &files, query))).await;
    let (mut found, mut notices) = (Vec::new(), Vec::new());
    for answer in asked {
        match answer {
            Ok((symbols, notice)) => {
                found.extend(symbols);
                notices.extend(notice);
            }
            Err(message) => notices.push(message),
        }
    }
    let inside: Vec<_> = found.into_iter().filter(|symbol| symbol.path.starts_with(&desk.tree)).collect();
    if inside.len() > MOST {
        notices.push(format!("{} symbols were found, and the first {MOST} are told", inside.len()));
    }
    let symbol = |symbol: &Symbol| {
        let line = symbol.line.map(|line| line + 1);
        json!({ "name": symbol.name, "kind": symbol.kind, "path": desk.told(&symbol.path), "line": line })
    };
    let mut told = json!({ "symbols": inside.iter().take(MOST).map(symbol).collect::<Vec<_>>() });
    if !notices.is_empty() {
        told["notice"] = json!(notices.join("; "));
    }
    Ok(told)
}

/// What one server knows, and what is to be known about its answer.
async fn ask(
    desk: &Desk<'_>,
    program: &'static Program,
    files: &[PathBuf],
    query: &str,
) -> Result<(Vec<Symbol>, Option<String>), String> {
    let (lease, _) = desk.lease(program).await?;
    let server = &lease.server;
    if !server.can("workspace/symbol") {
        return Err(desk::lacks(program, "workspace/symbol"));
    }
    if server.versions().await.map_err(told)?.is_empty() {
        // Some servers know no project before they are shown one of its files.
        let first =
            files.iter().filter(|path| program.language(path).is_some()).min_by_key(|path| path.components().count());
        if let Some(first) = first {
            desk.show(&lease, &desk.tree.join(first)).await?;
        }
    }
    let notice = (!server.ready().await).then(|| desk::unready(program));
    let answer = server.ask("workspace/symbol", json!({ "query": query })).await.map_err(told)?;
    Ok((answer::symbols(&answer), notice))
}

/// Where the symbol at a place is defined; nearby places are tried where nothing is at the first.
pub(super) async fn definition(desk: &Desk<'_>, at: &Place) -> Result<Value, String> {
    let opened = desk.ask_about(&at.path).await?;
    if let Some(notice) = opened.lacks("textDocument/definition") {
        return Ok(json!({ "definitions": [], "notice": notice }));
    }
    for position in opened.positions(at)? {
        let answer = opened.lease.server.ask("textDocument/definition", opened.at(position)).await.map_err(told)?;
        let found = answer::locations(&answer);
        if !found.is_empty() {
            return Ok(found.iter().map(|location| desk.location(location)).collect());
        }
    }
    match opened.notice() {
        Some(notice) => Ok(json!({ "definitions": [], "notice": notice })),
        None => Ok(json!([])),
    }
}
