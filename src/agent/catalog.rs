//! All agents of one session: which file wins, and which agent a name means.
//!
//! A file replaces another as a whole. A broken one keeps its place, so that what it would have replaced stays hidden.

use std::collections::BTreeMap;

use super::parse::{Broken, FileText, parse, source};
use super::{Definition, Diagnostic, Format, Scope, Severity, Source, name};

/// Every file there is, those that win first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    entries: Vec<Entry>,
}

/// One file and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub outcome: Outcome,
    /// The file that is used in its place.
    pub shadowed_by: Option<String>,
    place: Place,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are a few dozen of them, and nearly all are definitions")]
pub enum Outcome {
    Loaded(Definition),
    Broken(Broken),
}

/// Why a name means no agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("{}", name::invalid(name))]
    Invalid { name: String },
    #[error("missing agent template: {name}")]
    Missing { name: String },
    #[error("ambiguous agent_type \"{name}\"; matched multiple templates: {}. Use exact agent_type.", matches.join(", "))]
    Ambiguous { name: String, matches: Vec<String> },
    #[error("agent \"{name}\" is unavailable: {path}: {message}")]
    Broken { name: String, path: String, message: String },
}

/// Where a file stands among the others; the least one wins.
type Place = (Reach, u32, Format);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Project,
    User,
    BuiltIn,
}

impl Catalog {
    /// Reads files and decides which of them count; the order in which they come means nothing.
    pub fn build(files: Vec<FileText>) -> Self {
        Self::build_with(files, Vec::new())
    }

    /// The same with files that must not be read, and why: each keeps the place of what it would have defined.
    pub fn build_with(files: Vec<FileText>, unread: Vec<(FileText, String)>) -> Self {
        let read = files.iter().map(entry);
        let mut entries: Vec<_> = read.chain(unread.iter().map(|(file, why)| unread_entry(file, why))).collect();
        entries.sort_by(|a, b| (a.place, &a.source().path).cmp(&(b.place, &b.source().path)));
        refuse_twins(&mut entries);
        shadow(&mut entries);
        Self { entries }
    }

    /// Every file, those that win first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The agents that count, by id.
    pub fn agents(&self) -> impl Iterator<Item = &Definition> {
        let by_id: BTreeMap<_, _> =
            self.effective().filter_map(Entry::definition).map(|it| (it.id.as_str(), it)).collect();
        by_id.into_values()
    }

    /// The agents that a person can choose.
    pub fn selectable(&self) -> impl Iterator<Item = &Definition> {
        self.agents().filter(|agent| agent.mode.is_selectable() && !agent.hidden)
    }

    /// The agents that others can hand work to.
    pub fn delegatable(&self) -> impl Iterator<Item = &Definition> {
        self.agents().filter(|agent| agent.mode.is_delegatable())
    }

    /// The agent that a name means; `session_agent` is what `default` stands for.
    pub fn lookup(&self, name: &str, session_agent: &str) -> Result<&Definition, LookupError> {
        let invalid = || LookupError::Invalid { name: name.to_owned() };
        let id = name::id(name).ok_or_else(invalid)?;
        if let Some(found) = self.spelled(&id) {
            return usable(&id, found);
        }
        let meant = if id == "default" { name::id(session_agent) } else { name::alias(&id).map(str::to_owned) };
        match meant.as_deref().and_then(|meant| self.spelled(meant)) {
            Some(found) => usable(&id, found),
            None => Err(LookupError::Missing { name: id }),
        }
    }

    /// The files that an id means: the one of exactly that name, else those of the nearest place that differ from it
    /// in `-` and `_` only.
    fn spelled(&self, id: &str) -> Option<Vec<&Entry>> {
        if let Some(exact) = self.effective().find(|entry| entry.ids().contains(&id)) {
            return Some(vec![exact]);
        }
        let wanted = name::canonical(id);
        let alike = |entry: &&Entry| entry.ids().into_iter().any(|id| name::canonical(id) == wanted);
        let nearest = self.effective().find(alike)?.place;
        let is_beside = |entry: &&Entry| (entry.place.0, entry.place.1) == (nearest.0, nearest.1);
        Some(self.effective().filter(alike).filter(is_beside).collect())
    }

    fn effective(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.shadowed_by.is_none())
    }
}

impl Entry {
    pub fn definition(&self) -> Option<&Definition> {
        match &self.outcome {
            Outcome::Loaded(definition) => Some(definition),
            Outcome::Broken(_) => None,
        }
    }

    pub fn source(&self) -> &Source {
        match &self.outcome {
            Outcome::Loaded(definition) => &definition.source,
            Outcome::Broken(broken) => &broken.source,
        }
    }

    pub fn diagnostics(&self) -> &[Diagnostic] {
        match &self.outcome {
            Outcome::Loaded(definition) => &definition.diagnostics,
            Outcome::Broken(broken) => &broken.diagnostics,
        }
    }

    /// The names that this file takes.
    pub fn ids(&self) -> Vec<&str> {
        match &self.outcome {
            Outcome::Loaded(definition) => vec![&definition.id],
            Outcome::Broken(broken) => broken.ids.iter().map(String::as_str).collect(),
        }
    }
}

fn place(file: &FileText) -> Place {
    match file.scope {
        Scope::Project | Scope::ProjectNested => (Reach::Project, file.level, file.format),
        Scope::User => (Reach::User, 0, file.format),
        Scope::BuiltIn => (Reach::BuiltIn, 0, file.format),
    }
}

fn entry(file: &FileText) -> Entry {
    let outcome = parse(file).map_or_else(Outcome::Broken, Outcome::Loaded);
    Entry { outcome, shadowed_by: None, place: place(file) }
}

fn unread_entry(file: &FileText, why: &str) -> Entry {
    let (severity, code, message) = (Severity::Error, "unreadable", why.to_owned());
    let diagnostics = vec![Diagnostic { severity, code, message, line: None }];
    let broken = Broken { source: source(file), ids: name::id(&file.stem).into_iter().collect(), diagnostics };
    Entry { outcome: Outcome::Broken(broken), shadowed_by: None, place: place(file) }
}

/// Two files of one directory with one id are both refused: nobody can say which one is meant.
fn refuse_twins(entries: &mut [Entry]) {
    let mut owners: BTreeMap<(Place, String), Vec<String>> = BTreeMap::new();
    for entry in entries.iter() {
        if let Some(definition) = entry.definition() {
            let paths = owners.entry((entry.place, definition.id.clone())).or_default();
            paths.push(definition.source.path.clone());
        }
    }
    for entry in entries {
        let Outcome::Loaded(definition) = &entry.outcome else { continue };
        let Some(matches) = owners.get(&(entry.place, definition.id.clone())).filter(|paths| paths.len() > 1) else {
            continue;
        };
        let twins = LookupError::Ambiguous { name: definition.id.clone(), matches: matches.clone() };
        let diagnostics = vec![Diagnostic::error("duplicate_id", twins.to_string(), None)];
        let (source, ids) = (definition.source.clone(), vec![definition.id.clone()]);
        entry.outcome = Outcome::Broken(Broken { source, ids, diagnostics });
    }
}

/// Says of each file which one is used in its place; the first of a name wins.
fn shadow(entries: &mut [Entry]) {
    let mut taken: BTreeMap<String, (String, Place)> = BTreeMap::new();
    for entry in entries {
        let ids: Vec<_> = entry.ids().into_iter().map(str::to_owned).collect();
        let path = entry.source().path.clone();
        // A broken file counts while one of its names is free.
        let winners: Vec<_> = ids.iter().map(|id| taken.get(id).filter(|(_, place)| *place != entry.place)).collect();
        if !winners.is_empty() && winners.iter().all(Option::is_some) {
            entry.shadowed_by = winners.first().copied().flatten().map(|(path, _)| path.clone());
        }
        for id in ids {
            taken.entry(id).or_insert_with(|| (path.clone(), entry.place));
        }
    }
}

fn usable<'a>(name: &str, found: Vec<&'a Entry>) -> Result<&'a Definition, LookupError> {
    let [entry] = found.as_slice() else {
        let matches = found.iter().flat_map(|entry| entry.ids()).map(str::to_owned).collect();
        return Err(LookupError::Ambiguous { name: name.to_owned(), matches });
    };
    match &entry.outcome {
        Outcome::Loaded(definition) => Ok(definition),
        Outcome::Broken(broken) => {
            let (path, message) = (broken.source.path.clone(), broken.message().to_owned());
            Err(LookupError::Broken { name: name.to_owned(), path, message })
        }
    }
}
