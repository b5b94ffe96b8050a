//! Changes that a server works out: made by us, inside the work tree, in all files or in none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::lsp::answer::{self, Action as Offered};
use crate::lsp::edit::{Applied, Document, Edit};
use crate::lsp::position::{Position, Range};
use crate::lsp::uri;
use crate::permission::compact::Action as Ruled;
use crate::permission::{Layer, Reach};
use crate::tools::code::{Action, Choice, Place};
use crate::tools::inside::root::{Permissions, Root};

use super::super::super::delegate::Caller;
use super::super::super::judge::Made;
use super::super::super::prepare;
use super::super::super::record::CallOrigin;
use super::desk::{self, Desk, Opened, blocking, told};
use super::watch::{self, Snapshot};

/// Renames the symbol at a place everywhere.
pub(super) async fn rename(desk: &Desk<'_>, at: &Place, name: &str) -> Result<Value, String> {
    let opened = desk.ask_about(&at.path).await?;
    if let Some(notice) = opened.lacks("textDocument/rename") {
        return Ok(json!({ "supported": false, "notice": notice }));
    }
    // A half of a rename is worse than none.
    if let Some(notice) = opened.notice() {
        return Err(format!("{notice}; nothing is renamed, try again later"));
    }
    let exact = opened.exactly(at)?;
    if let Some(doubt) = exact.doubt(at) {
        return Err(format!("nothing was renamed: {doubt}"));
    }
    let mut params = opened.at(exact.position);
    params["newName"] = json!(name);
    let edit = opened.lease.server.ask("textDocument/rename", params).await.map_err(told)?;
    if edit.is_null() {
        return Err(format!("there is nothing to rename at {at}"));
    }
    let mut made = make(desk, &opened, "rename_symbol", &edit).await?;
    made["symbol"] = json!(exact.name);
    made["new_name"] = json!(name);
    Ok(made)
}

/// Makes the one change that is meant, or lists those that may be.
pub(super) async fn action(desk: &Desk<'_>, wanted: &Action) -> Result<Value, String> {
    let opened = desk.ask_about(&wanted.path).await?;
    let server = &opened.lease.server;
    if let Some(notice) = opened.lacks("textDocument/codeAction") {
        return Ok(json!({ "supported": false, "notice": notice }));
    }
    let position = |(line, character): (u32, u32)| Position { line: line - 1, character };
    let range = Range { start: position(wanted.start), end: position(wanted.end) };
    let diagnosed =
        server.diagnostics(&opened.path, opened.version, server.limits().settle * 10).await.map_err(told)?;
    let about =
        diagnosed.diagnostics.iter().filter(|known| known.range.start <= range.end && range.start <= known.range.end);
    let mut context = json!({ "diagnostics": about.collect::<Vec<_>>(), "triggerKind": 1 });
    if let Some(kind) = &wanted.kind {
        context["only"] = json!([kind]);
    }
    let params = json!({ "textDocument": { "uri": uri::of(&opened.path) }, "range": range, "context": context });
    let answer = server.ask("textDocument/codeAction", params).await.map_err(told)?;
    let chosen = match choose(answer::actions(&answer), wanted)? {
        Chosen::One(action) => action,
        Chosen::Several(actions) => return Ok(listed(&actions)),
    };
    let chosen = match (&chosen.edit, server.can("codeAction/resolve")) {
        (None, true) => {
            let resolved = server.ask("codeAction/resolve", chosen.raw.clone()).await.map_err(told)?;
            answer::action(&resolved).unwrap_or(chosen)
        }
        (None, false) | (Some(_), _) => chosen,
    };
    let Some(edit) = &chosen.edit else {
        return Err(format!("`{}` only runs a command of the server, which is not done", chosen.title));
    };
    let mut made = make(desk, &opened, "code_action", edit).await?;
    made["title"] = json!(chosen.title);
    if chosen.has_command {
        made["notice"] = json!("the action also has a command of the server, which was not run");
    }
    Ok(made)
}

enum Chosen {
    One(Offered),
    Several(Vec<Offered>),
}

/// The action that a call means among those that are offered.
fn choose(offered: Vec<Offered>, wanted: &Action) -> Result<Chosen, String> {
    let is_of_kind = |action: &Offered| match (&wanted.kind, &action.kind) {
        (None, _) => true,
        (Some(wanted), Some(kind)) => {
            kind.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }
        (Some(_), None) => false,
    };
    let is_wanted = |action: &Offered| {
        is_of_kind(action)
            && (wanted.choice == Choice::Any || action.is_preferred)
            && wanted.title.as_ref().is_none_or(|title| *title == action.title)
    };
    let titles: Vec<_> = offered.iter().map(|action| format!("`{}`", action.title)).collect();
    let mut fitting: Vec<_> = offered.into_iter().filter(is_wanted).collect();
    match (fitting.len(), titles.is_empty()) {
        (0, true) => Err("the language server offers no action for this part of the file".to_owned()),
        (0, false) => Err(format!("no action fits; offered are {}", titles.join(", "))),
        (1, _) => Ok(Chosen::One(fitting.remove(0))),
        (_, _) => Ok(Chosen::Several(fitting)),
    }
}

fn listed(actions: &[Offered]) -> Value {
    let action =
        |action: &Offered| json!({ "title": action.title, "kind": action.kind, "preferred": action.is_preferred });
    json!({
        "actions": actions.iter().map(action).collect::<Vec<_>>(),
        "notice": "nothing was changed; call again with the title of one of them",
    })
}

/// Makes an edit of the server, once everything about it is sound.
async fn make(desk: &Desk<'_>, opened: &Opened, tool: &str, edit: &Value) -> Result<Value, String> {
    let edit = Edit::read(edit).map_err(|error| error.to_string())?;
    let paths: Vec<PathBuf> = edit.paths().into_iter().map(Path::to_owned).collect();
    if paths.is_empty() {
        return Err("the language server would change nothing".to_owned());
    }
    let mut names = BTreeMap::new();
    for path in &paths {
        names.insert(path.clone(), desk.inside(path)?);
    }
    permit(desk, tool, &paths).await?;
    let versions = opened.lease.server.versions().await.map_err(told)?;
    let known = opened.lease.files.lock().await.clone().unwrap_or_default();
    let root = Arc::clone(&desk.root);
    let applied = blocking(move || {
        is_as_known(&known, &watch::look(&root)?, names.values())?;
        let mut before = BTreeMap::new();
        for (path, name) in &names {
            if root.find(name).map_err(|error| error.to_string())?.is_some() {
                let version = versions.get(path).copied();
                before.insert(path.clone(), Document { text: desk::read(&root, name)?, version });
            }
        }
        let applied = edit.apply(&before).map_err(|error| error.to_string())?;
        write(&root, &names, &before, &applied)?;
        Ok::<_, String>(applied)
    });
    let applied = applied.await??;
    let mut summary = summary(desk, &applied);
    // The server sees what became of its files before anybody asks it again.
    let lease = desk.lease(opened.lease.server.program()).await?;
    let changed = applied.after.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path.clone());
    let found = super::diagnose::lines(desk, &lease, changed).await;
    if !found.is_empty() {
        summary["diagnostics"] = json!(found);
    }
    Ok(summary)
}

/// Whether the rules let the call change each of the files. The call itself was decided about by the one that it names.
async fn permit(desk: &Desk<'_>, tool: &str, paths: &[PathBuf]) -> Result<(), String> {
    let Caller { record, role, config, .. } = desk.caller;
    let judge = prepare::judge_of(desk.shared, record).await;
    let judge = judge.map_err(|fault| format!("the rules cannot be read: {fault}"))?;
    for path in paths {
        let reach = Reach::Paths(vec![path.clone()]);
        let (_, verdict) =
            judge.verdict(record, role, config, Made { tool, reach: &reach, origin: CallOrigin::Served });
        let is_refused = match verdict.action {
            Ruled::Allow => false,
            // Who allowed the call allowed what it changes, but not what has to be asked for each time.
            Ruled::Ask => verdict.layer == Layer::HardAsk,
            Ruled::Deny => true,
        };
        if is_refused {
            let path = desk.told(path);
            return Err(format!("nothing was changed, because the edit reaches `{path}`: {}", verdict.reason));
        }
    }
    Ok(())
}

/// Whether the files are those that the server meant.
fn is_as_known<'n>(known: &Snapshot, found: &Snapshot, names: impl Iterator<Item = &'n String>) -> Result<(), String> {
    for name in names.map(Path::new) {
        if known.get(name) != found.get(name) {
            return Err(format!("nothing was changed, because `{}` changed meanwhile; try again", name.display()));
        }
    }
    Ok(())
}

/// Writes what an edit comes to. Where one file fails, those before it are put back.
fn write(
    root: &Root,
    names: &BTreeMap<PathBuf, String>,
    before: &BTreeMap<PathBuf, Document>,
    applied: &Applied,
) -> Result<(), String> {
    // What is gone goes last: until then each text is somewhere.
    let mut steps: Vec<_> = applied.after.iter().collect();
    steps.sort_by_key(|(_, text)| text.is_none());
    let mut done = Vec::new();
    for (path, text) in steps {
        let Some(name) = names.get(path) else { continue };
        let permissions = permissions(root, names, applied, path);
        match replace(root, name, text.as_deref(), permissions) {
            Ok(()) => done.push((name, before.get(path).map(|document| document.text.as_str()))),
            Err(error) => {
                let undone = done.iter().rev().map(|(name, text)| replace(root, name, *text, Permissions::Kept));
                let lost: Vec<_> = undone.filter_map(Result::err).collect();
                return Err(match lost.is_empty() {
                    true => format!("nothing was changed: {error}"),
                    false => format!("{error}; and what was changed before could not be undone: {}", lost.join("; ")),
                });
            }
        }
    }
    Ok(())
}

fn replace(root: &Root, name: &str, text: Option<&str>, permissions: Permissions) -> Result<(), String> {
    let done = match text {
        Some(text) => root.write(name, &mut text.as_bytes(), permissions).map(drop),
        None => root.remove(name).map(drop),
    };
    done.map_err(|error| error.to_string())
}

/// A file that has another name keeps its permissions.
fn permissions(root: &Root, names: &BTreeMap<PathBuf, String>, applied: &Applied, path: &Path) -> Permissions {
    let from = applied.renamed.iter().find(|(_, to)| to == path).and_then(|(from, _)| names.get(from));
    match from.and_then(|from| root.look(from).ok()) {
        Some(entry) => Permissions::Exactly(entry.mode),
        None => Permissions::Kept,
    }
}

fn summary(desk: &Desk<'_>, applied: &Applied) -> Value {
    let told = |paths: &[PathBuf]| paths.iter().map(|path| desk.told(path)).collect::<Vec<_>>();
    let renamed = applied.renamed.iter().map(|(from, to)| json!({ "from": desk.told(from), "to": desk.told(to) }));
    json!({
        "paths": applied.after.keys().map(|path| desk.told(path)).collect::<Vec<_>>(),
        "text_edits": applied.text_edits,
        "created": told(&applied.created),
        "renamed": renamed.collect::<Vec<_>>(),
        "deleted": told(&applied.deleted),
    })
}

#[cfg(test)]
mod tests;
