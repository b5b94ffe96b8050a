//! Changes that a server works out: made by us, inside the work tree, in all files or in none.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::git::diff::texts;
use crate::lsp::answer::{self, Action as Offered};
use crate::lsp::edit::{Applied, Document, Edit};
use crate::lsp::position::{Position, Range};
use crate::lsp::uri;
use crate::permission::compact::Action as Ruled;
use crate::permission::{Layer, Reach};
use crate::tools::code::{Action, Choice, Place};
use crate::tools::inside::root::{Permissions, Root};

use super::super::super::delegate::Caller;
use super::super::super::judge::{Judged, Made};
use super::super::super::prepare;
use super::super::super::record::CallOrigin;
use super::super::{Allowed, Consent};
use super::desk::{self, Desk, Opened, blocking, notices, told};
use super::diagnose::LIMIT;
use super::watch::{self, Seen};

/// Renames the symbol at a place everywhere.
pub(super) async fn rename(desk: &Desk<'_>, consent: &Consent, at: &Place, name: &str) -> Result<Value, String> {
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
    let mut made = make(desk, consent, opened, "rename_symbol", &edit).await?;
    made["symbol"] = json!(exact.name);
    made["new_name"] = json!(name);
    Ok(made)
}

/// Makes the one change that is meant, or lists those that may be.
pub(super) async fn action(desk: &Desk<'_>, consent: &Consent, wanted: &Action) -> Result<Value, String> {
    let opened = desk.ask_about(&wanted.path).await?;
    let server = &opened.lease.server;
    if let Some(notice) = opened.lacks("textDocument/codeAction") {
        return Ok(json!({ "supported": false, "notice": notice }));
    }
    let position = |(line, character): (u32, u32)| Position { line: line - 1, character };
    let range = Range { start: position(wanted.start), end: position(wanted.end) };
    // What can be fixed is known only once the server has looked at the file.
    let diagnosed = server.diagnostics(&opened.path, opened.version, LIMIT).await.map_err(told)?;
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
    let mut made = make(desk, consent, opened, "code_action", edit).await?;
    made["title"] = json!(chosen.title);
    let command =
        chosen.has_command.then(|| "the action also has a command of the server, which was not run".to_owned());
    let said = made["notice"].as_str().map(str::to_owned);
    if let Some(notice) = notices([command, said]) {
        made["notice"] = json!(notice);
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
async fn make(desk: &Desk<'_>, consent: &Consent, opened: Opened, tool: &str, edit: &Value) -> Result<Value, String> {
    let edit = Edit::read(edit).map_err(|error| error.to_string())?;
    let paths: Vec<PathBuf> = edit.paths().into_iter().map(Path::to_owned).collect();
    if paths.is_empty() {
        return Err("the language server would change nothing".to_owned());
    }
    let mut names = BTreeMap::new();
    for path in &paths {
        names.insert(path.clone(), desk.inside(path)?);
    }
    let open = to_ask(desk, consent.allowed, &opened.path, tool, &paths).await?;
    let versions = opened.lease.server.versions().await.map_err(told)?;
    let known = Arc::clone(&opened.seen);
    // A person takes their time, and nobody is kept from the server meanwhile.
    drop(opened);
    let change = Arc::new(Change { root: Arc::clone(&desk.root), names, versions, known, edit });
    if open == Open::Asked {
        let change = Arc::clone(&change);
        let preview = blocking(move || change.preview()).await??;
        consent.widen(tool, Reach::Paths(paths), preview).await?;
    }
    let applied = blocking(move || change.make()).await??;
    let mut summary = summary(desk, &applied);
    // The server sees what became of its files before anybody asks it again.
    let changed = applied.after.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path);
    match super::diagnose::broken(desk, changed).await {
        Some(found) if found.is_empty() => {}
        Some(found) => summary["diagnostics"] = json!(found),
        None => summary["notice"] = json!("the files are changed; whether they have errors could not be asked"),
    }
    Ok(summary)
}

/// A change that is about to be made.
struct Change {
    root: Arc<Root>,
    /// The files that it reaches, and what they are called from the root of the tree.
    names: BTreeMap<PathBuf, String>,
    /// What the server called their texts.
    versions: HashMap<PathBuf, i64>,
    /// The files as the server knew them.
    known: Arc<Seen>,
    edit: Edit,
}

impl Change {
    /// The texts before and after, if the files are those that the server meant. Reads the disk.
    fn apply(&self) -> Result<(BTreeMap<PathBuf, Document>, Applied), String> {
        let found = watch::look(&self.root)?;
        if let Some(name) = self.names.values().find(|name| self.known.differs(&found, Path::new(name))) {
            return Err(format!("nothing was changed, because `{name}` changed meanwhile; try again"));
        }
        let mut before = BTreeMap::new();
        for (path, name) in &self.names {
            if self.root.find(name).map_err(|error| error.to_string())?.is_some() {
                let version = self.versions.get(path).copied();
                before.insert(path.clone(), Document { text: desk::read(&self.root, name)?, version });
            }
        }
        let applied = self.edit.apply(&before).map_err(|error| error.to_string())?;
        Ok((before, applied))
    }

    fn make(&self) -> Result<Applied, String> {
        let (before, applied) = self.apply()?;
        write(&self.root, &self.names, &before, &applied)?;
        Ok(applied)
    }

    /// What a person sees of it: the files, and what becomes of their texts.
    fn preview(&self) -> Result<String, String> {
        let (before, applied) = self.apply()?;
        let (mut files, mut patches) = (String::new(), String::new());
        for (path, text) in &applied.after {
            let Some(name) = self.names.get(path) else { continue };
            let was = before.get(path).map(|document| document.text.as_str());
            let word = match (was, text) {
                (None, _) => "creates",
                (Some(_), None) => "deletes",
                (Some(_), Some(_)) => "changes",
            };
            files.push_str(&format!("{word} {name}\n"));
            patches.push_str(&texts(name, was, text.as_deref()).map_err(|error| error.to_string())?);
        }
        Ok(format!("{files}\n{patches}"))
    }
}

/// Whether a change is still to be decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    No,
    Asked,
}

/// Whether the rules let the call change each of the files, and whether a person has to be asked about them. The call
/// itself was decided about by the one file that it names.
async fn to_ask(
    desk: &Desk<'_>,
    allowed: Allowed,
    named: &Path,
    tool: &str,
    paths: &[PathBuf],
) -> Result<Open, String> {
    let Caller { record, role, config, .. } = desk.caller;
    let judge = prepare::judge_of(desk.shared, record).await;
    let judge = judge.map_err(|fault| format!("the rules cannot be read: {fault}"))?;
    let mut open = Open::No;
    for path in paths {
        let reach = Reach::Paths(vec![path.clone()]);
        let Judged { verdict, .. } =
            judge.verdict(record, role, config, Made { tool, reach: &reach, origin: CallOrigin::Served });
        match (verdict.action, allowed) {
            (Ruled::Allow, _) => {}
            // A person who allowed the call allowed what it changes, but not what has to be asked about each time.
            (Ruled::Ask, Allowed::ByPerson) if verdict.layer != Layer::HardAsk || path == named => {}
            (Ruled::Ask, Allowed::ByPerson | Allowed::ByRule) => open = Open::Asked,
            (Ruled::Deny, _) => {
                let path = desk.told(path);
                return Err(format!("nothing was changed, because the edit reaches `{path}`: {}", verdict.reason));
            }
        }
    }
    Ok(open)
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
