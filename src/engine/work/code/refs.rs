//! The places that use a symbol, and whether they read or write it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::lsp::answer::{self, Location, Use};
use crate::lsp::position::{Lines, Position};
use crate::lsp::uri;
use crate::tools::code::{Declaration, Place, Uses};

use super::super::super::prepare;
use super::desk::{Desk, Opened, cut, notices, told};

/// In how many files uses are told apart: each is shown to the server for it.
const TOLD_APART: usize = 24;

/// What a use is, as far as the server can say.
type Kinds = HashMap<(PathBuf, Position), Use>;

pub(super) async fn refs(
    desk: &Desk<'_>,
    at: &Place,
    mode: Uses,
    most: usize,
    declaration: Declaration,
) -> Result<Value, String> {
    let opened = desk.ask_about(&at.path).await?;
    if let Some(notice) = opened.lacks("textDocument/references") {
        return Ok(json!({ "supported": false, "found": 0, "references": [], "truncated": false, "notice": notice }));
    }
    let exact = opened.exactly(at)?;
    let mut params = opened.at(exact.position);
    params["context"] = json!({ "includeDeclaration": declaration == Declaration::Counts });
    let answer = opened.lease.server.ask("textDocument/references", params).await.map_err(told)?;
    let mut found = answer::locations(&answer);
    found.sort_by(|a, b| (&a.path, a.range).cmp(&(&b.path, b.range)));
    found.dedup();
    let (kinds, notice) = tell_apart(desk, &opened, &found).await?;
    let is_supported = notice.is_none();
    let kind = |location: &Location| {
        kinds.get(&(location.path.clone(), location.range.start)).copied().unwrap_or(Use::Unknown)
    };
    // Where uses cannot be told apart, all of them are better than none.
    let is_wanted = |location: &&Location| match (mode, kind(location)) {
        (Uses::All, _) | (Uses::Readers, Use::Read) | (Uses::Writers, Use::Write) => true,
        (Uses::Readers | Uses::Writers, Use::Unknown) => !is_supported,
        (Uses::Readers, Use::Write) | (Uses::Writers, Use::Read) => false,
    };
    let wanted: Vec<_> = found.iter().filter(is_wanted).collect();
    let texts = texts(desk, wanted.iter().take(most).map(|location| &location.path)).await?;
    let reference = |location: &&Location| {
        let start = location.range.start;
        let lines = texts.get(&location.path).map(|text| Lines::of(text));
        let snippet = lines.and_then(|lines| lines.line(start.line).map(|line| cut(line.trim())));
        json!({
            "kind": word(kind(location)),
            "path": desk.told(&location.path),
            "line": start.line + 1,
            "character": start.character,
            "snippet": snippet,
        })
    };
    let mut told = json!({
        "supported": true,
        "found": wanted.len(),
        "references": wanted.iter().take(most).map(reference).collect::<Vec<_>>(),
        "truncated": wanted.len() > most,
        "classification_supported": is_supported,
    });
    if let Some(notice) = notice {
        told["classification_notice"] = json!(notice);
    }
    if let Some(notice) = notices([exact.choice(at), opened.notice()]) {
        told["notice"] = json!(notice);
    }
    Ok(told)
}

/// Asks what each use is, file by file; what could not be asked is said.
async fn tell_apart(desk: &Desk<'_>, opened: &Opened, found: &[Location]) -> Result<(Kinds, Option<String>), String> {
    let mut kinds = Kinds::new();
    if let Some(notice) = opened.lacks("textDocument/documentHighlight") {
        return Ok((kinds, Some(notice)));
    }
    let mut files: BTreeMap<&PathBuf, Position> = BTreeMap::new();
    for location in found.iter().filter(|location| location.path.starts_with(&desk.tree)) {
        files.entry(&location.path).or_insert(location.range.start);
    }
    let count = files.len();
    for (path, position) in files.into_iter().take(TOLD_APART) {
        if desk.show(&opened.lease, path).await.is_err() {
            continue;
        }
        let params = json!({ "textDocument": { "uri": uri::of(path) }, "position": position });
        let answer = opened.lease.server.ask("textDocument/documentHighlight", params).await.map_err(told)?;
        let seen = answer::highlights(&answer).into_iter();
        kinds.extend(seen.map(|(range, used)| ((path.clone(), range.start), used)));
    }
    let notice = match count > TOLD_APART {
        true => Some(format!("uses are told apart in {TOLD_APART} of {count} files")),
        // A server that calls everything a read may not know better.
        false if !found.is_empty() && kinds.values().all(|used| *used != Use::Write) => {
            kinds.clear();
            Some(format!("language server `{}` names no use that writes", opened.lease.server.program().name))
        }
        false => None,
    };
    Ok((kinds, notice))
}

/// The texts of files; what is outside of the tree, cannot be read or may not be has none.
async fn texts<'p>(
    desk: &Desk<'_>,
    paths: impl Iterator<Item = &'p PathBuf>,
) -> Result<HashMap<PathBuf, String>, String> {
    let judge = prepare::judge_of(desk.shared, &desk.caller.record).await;
    let judge = judge.map_err(|fault| format!("the rules cannot be read: {fault}"))?;
    let keeper = judge.kept(&desk.caller.role).keeper(judge.tree());
    let is_kept = |path: &PathBuf| path.strip_prefix(&desk.tree).is_ok_and(|inside| keeper.keeps(inside));
    let mut texts = HashMap::new();
    for path in paths {
        if !texts.contains_key(path)
            && !is_kept(path)
            && let Ok(text) = desk.read(path).await
        {
            texts.insert(path.clone(), text);
        }
    }
    Ok(texts)
}

fn word(used: Use) -> &'static str {
    match used {
        Use::Unknown => "unknown",
        Use::Read => "read",
        Use::Write => "write",
    }
}
