//! Code intelligence: what language servers know about a work tree, and what they would change in it.

mod params;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::parse::read;
use super::schema;
use super::served::{Needs, Row};
use crate::permission::{Effect, Reach};
use params::{RefsMode, TraceMode};

pub(super) const ROWS: &[Row] = &[
    row(
        "symbols",
        "Finds functions, types and other symbols of the whole project by name, with the file and line where each is \
         declared. Answers with JSON: symbols, and a notice where a language server is missing.",
        schema::of::<params::Symbols>,
        Effect::Reads,
    ),
    row(
        "definition",
        "Where the symbol at a place is defined. Name the symbol as it is seen on the line, or give its character. \
         Answers with a JSON list of places.",
        schema::of::<params::Definition>,
        Effect::Reads,
    ),
    row(
        "diagnostics",
        "Errors and warnings that the language server finds in files as they are at this moment. Answers with JSON, \
         file by file; what is not known within 15 seconds for a file is said.",
        schema::of::<params::Diagnostics>,
        Effect::Reads,
    ),
    row(
        "refs",
        "Every place that uses the symbol at a place, by meaning and not by text, with the line's text. Can tell those \
         that read from those that write. Answers with JSON.",
        schema::of::<params::Refs>,
        Effect::Reads,
    ),
    row(
        "trace",
        "Who calls the function at a place, whom it calls, or both, several calls deep. Answers with JSON: nodes and \
         edges.",
        schema::of::<params::Trace>,
        Effect::Reads,
    ),
    row(
        "rename_symbol",
        "Renames the symbol at a place everywhere in the project, by meaning and not by text. All files are changed, or \
         none. Answers with JSON: what was changed.",
        schema::of::<params::RenameSymbol>,
        Effect::Destroys,
    ),
    row(
        "code_action",
        "Makes a change that the language server offers for a part of a file: a quick fix, a refactoring, sorted \
         imports. Call it without a title to see what there is.",
        schema::of::<params::CodeAction>,
        Effect::Destroys,
    ),
];

const fn row(name: &'static str, description: &'static str, schema: fn() -> Value, effect: Effect) -> Row {
    Row { name, description, schema, needs: Needs::Nothing, effect }
}

/// How many files one call looks at.
const FILES: usize = 32;

/// How many places or functions one call tells: by itself, and at most.
const RESULTS: (u32, u32) = (200, 500);

/// How many calls away one trace goes: by itself, and at most.
const DEPTH: (u32, u32) = (2, 4);

/// A call of this family. Paths are as the model named them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Symbols { query: String },
    Definition { at: Place },
    Diagnostics { paths: Vec<PathBuf> },
    Refs { at: Place, mode: Uses, most: usize, declaration: Declaration },
    Trace { at: Place, mode: Calls, depth: u32, most: usize },
    Rename { at: Place, name: String },
    Action(Action),
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// From one.
    pub line: u32,
    pub at: At,
}

/// Where in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// From zero.
    Character(u32),
    /// What is seen there.
    Symbol(String),
}

/// Which uses are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uses {
    All,
    Readers,
    Writers,
}

/// Whether a declaration is a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declaration {
    Counts,
    LeftOut,
}

/// Which way calls are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    Callers,
    Callees,
    Graph,
}

/// A change to choose for a part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub path: PathBuf,
    /// Line from one and character from zero.
    pub start: (u32, u32),
    pub end: (u32, u32),
    pub title: Option<String>,
    pub kind: Option<String>,
    pub choice: Choice,
}

/// Which of the offered changes can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Any,
    Preferred,
}

/// Reads a call; `None` when the tool is of another family.
pub(super) fn parse(name: &str, arguments: &Value) -> Option<Result<Request, String>> {
    Some(match name {
        "symbols" => read(name, arguments).and_then(symbols),
        "definition" => read(name, arguments).and_then(definition),
        "diagnostics" => read(name, arguments).and_then(diagnostics),
        "refs" => read(name, arguments).and_then(refs),
        "trace" => read(name, arguments).and_then(trace),
        "rename_symbol" => read(name, arguments).and_then(rename),
        "code_action" => read(name, arguments).and_then(action),
        _ => return None,
    })
}

fn symbols(given: params::Symbols) -> Result<Request, String> {
    let query = said(given.query).ok_or("symbols: query is required")?;
    Ok(Request::Symbols { query })
}

fn definition(given: params::Definition) -> Result<Request, String> {
    let at = place("definition", given.path, given.line, given.character, given.symbol)?;
    Ok(Request::Definition { at })
}

fn diagnostics(given: params::Diagnostics) -> Result<Request, String> {
    let paths = match (given.paths, said(given.path)) {
        (Some(_), Some(_)) => return Err("diagnostics: give either paths or path, but not both".to_owned()),
        (None, None) => return Err("diagnostics: paths is required".to_owned()),
        (Some(paths), None) => paths,
        (None, Some(path)) => vec![path],
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        let path = said(Some(path)).map(PathBuf::from).ok_or("diagnostics: a path must not be blank")?;
        if !files.contains(&path) {
            files.push(path);
        }
    }
    match files.len() {
        1..=FILES => Ok(Request::Diagnostics { paths: files }),
        count => Err(format!("diagnostics: paths takes 1 to {FILES} files, not {count}")),
    }
}

fn refs(given: params::Refs) -> Result<Request, String> {
    let at = place("refs", given.path, given.line, given.character, given.symbol)?;
    let mode = match given.mode.unwrap_or(RefsMode::All) {
        RefsMode::All => Uses::All,
        RefsMode::Readers => Uses::Readers,
        RefsMode::Writers => Uses::Writers,
    };
    let most = within("refs: max_results", given.max_results, RESULTS)? as usize;
    let declaration =
        if given.include_declaration.unwrap_or(false) { Declaration::Counts } else { Declaration::LeftOut };
    Ok(Request::Refs { at, mode, most, declaration })
}

fn trace(given: params::Trace) -> Result<Request, String> {
    let at = place("trace", given.path, given.line, given.character, given.symbol)?;
    let mode = match given.mode.ok_or("trace: mode is required: callers, callees or graph")? {
        TraceMode::Callers => Calls::Callers,
        TraceMode::Callees => Calls::Callees,
        TraceMode::Graph => Calls::Graph,
    };
    let depth = within("trace: depth", given.depth, DEPTH)?;
    let most = within("trace: max_nodes", given.max_nodes, RESULTS)? as usize;
    Ok(Request::Trace { at, mode, depth, most })
}

fn rename(given: params::RenameSymbol) -> Result<Request, String> {
    let at = place("rename_symbol", given.path, given.line, given.character, given.symbol)?;
    let name = said(given.new_name).ok_or("rename_symbol: new_name is required")?;
    Ok(Request::Rename { at, name })
}

fn action(given: params::CodeAction) -> Result<Request, String> {
    let needed = |name: &str| format!("code_action: {name} is required");
    let path = said(given.path).map(PathBuf::from).ok_or_else(|| needed("path"))?;
    let start_line = line("code_action: start_line", given.start_line)?;
    let start = (start_line, given.start_character.ok_or_else(|| needed("start_character"))?);
    let end_line = line("code_action: end_line", given.end_line)?;
    let end = (end_line, given.end_character.ok_or_else(|| needed("end_character"))?);
    if end < start {
        return Err("code_action: the end is before the start".to_owned());
    }
    let choice = if given.only_preferred.unwrap_or(false) { Choice::Preferred } else { Choice::Any };
    Ok(Request::Action(Action { path, start, end, title: said(given.title), kind: said(given.kind), choice }))
}

fn place(
    tool: &str,
    path: Option<String>,
    at_line: Option<u32>,
    character: Option<u32>,
    symbol: Option<String>,
) -> Result<Place, String> {
    let path = said(path).map(PathBuf::from).ok_or_else(|| format!("{tool}: path is required"))?;
    let line = line(&format!("{tool}: line"), at_line)?;
    let at = match (character, said(symbol)) {
        (Some(_), Some(_)) => return Err(format!("{tool}: give either character or symbol, but not both")),
        (None, None) => return Err(format!("{tool}: character or symbol is required")),
        (Some(character), None) => At::Character(character),
        (None, Some(symbol)) => At::Symbol(symbol),
    };
    Ok(Place { path, line, at })
}

fn line(name: &str, given: Option<u32>) -> Result<u32, String> {
    match given {
        None => Err(format!("{name} is required")),
        Some(0) => Err(format!("{name} is counted from 1")),
        Some(line) => Ok(line),
    }
}

/// A number from one to the most there may be.
fn within(name: &str, given: Option<u32>, (usual, most): (u32, u32)) -> Result<u32, String> {
    match given.unwrap_or(usual) {
        wanted if (1..=most).contains(&wanted) => Ok(wanted),
        wanted => Err(format!("{name} must be from 1 to {most}, not {wanted}")),
    }
}

fn said(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

impl Request {
    pub(super) fn reach(&self, tree: &Path) -> Reach {
        let paths = match self {
            Self::Symbols { .. } => vec![tree.to_owned()],
            Self::Diagnostics { paths } => paths.iter().map(|path| tree.join(path)).collect(),
            Self::Definition { at } | Self::Refs { at, .. } | Self::Trace { at, .. } | Self::Rename { at, .. } => {
                vec![tree.join(&at.path)]
            }
            Self::Action(action) => vec![tree.join(&action.path)],
        };
        Reach::Paths(paths)
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Symbols { query } => format!("Symbols(\"{query}\")"),
            Self::Definition { at } => format!("Definition({at})"),
            Self::Diagnostics { paths } => match paths.as_slice() {
                [path] => format!("Diagnostics({})", path.display()),
                paths => format!("Diagnostics({} files)", paths.len()),
            },
            Self::Refs { at, .. } => format!("References({at})"),
            Self::Trace { at, mode, .. } => match mode {
                Calls::Callers => format!("Trace(callers of {at})"),
                Calls::Callees => format!("Trace(callees of {at})"),
                Calls::Graph => format!("Trace(graph of {at})"),
            },
            Self::Rename { at, name } => format!("Rename({at} → {name})"),
            Self::Action(action) => {
                let wanted = action.title.as_ref().or(action.kind.as_ref());
                let wanted = wanted.map(|wanted| format!(": {wanted}")).unwrap_or_default();
                format!("Action({}{wanted})", action.path.display())
            }
        }
    }

    pub(super) fn preview(&self) -> String {
        match self {
            Self::Rename { .. } => {
                "The language server decides which files are changed; all are in the work tree.".to_owned()
            }
            Self::Action(Action { start, end, .. }) => {
                format!(
                    "From line {} to line {}. The language server decides what is changed in the work tree.",
                    start.0, end.0
                )
            }
            Self::Symbols { .. }
            | Self::Definition { .. }
            | Self::Diagnostics { .. }
            | Self::Refs { .. }
            | Self::Trace { .. } => String::new(),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let At::Symbol(symbol) = &self.at {
            write!(formatter, "{symbol} @ ")?;
        }
        write!(formatter, "{}:{}", self.path.display(), self.line)
    }
}
