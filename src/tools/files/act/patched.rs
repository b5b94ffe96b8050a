//! A diff applied to the work tree: all of it is worked out in memory before the first file is written, and what was
//! written is undone when a later file fails.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::tools::files::patch::{self, Act, Change, Mode};
use crate::tools::inside::root::{Permissions, Root};

/// Larger files are not patched.
const LARGEST: u64 = 64 * 1024 * 1024;

pub(super) fn apply(root: &Root, diff: &str) -> Result<String, String> {
    let changes = patch::parse(diff)?;
    let mut plan = Plan { root, before: BTreeMap::new(), after: BTreeMap::new() };
    for change in &changes {
        plan.work_out(change)?;
    }
    plan.perform()?;
    let noun = if changes.len() == 1 { "file" } else { "files" };
    let lines: Vec<_> = changes.iter().map(|change| told(&change.act)).collect();
    Ok(format!("patched {} {noun}\n{}", changes.len(), lines.join("\n")))
}

/// A change in one line, with the letter that git has for it.
fn told(act: &Act) -> String {
    match act {
        Act::Make(path) => format!("A {path}"),
        Act::Remove(path) => format!("D {path}"),
        Act::Edit(path) => format!("M {path}"),
        Act::Rename { from, to } => format!("R {from} → {to}"),
        Act::Copy { from, to } => format!("C {from} → {to}"),
    }
}

/// A file as it is or shall be.
#[derive(Clone, PartialEq)]
struct Now {
    content: Vec<u8>,
    permissions: Permissions,
}

/// What every file of the diff is before and after it; `None` is no file.
struct Plan<'a> {
    root: &'a Root,
    before: BTreeMap<String, Option<Now>>,
    after: BTreeMap<String, Option<Now>>,
}

impl Plan<'_> {
    fn work_out(&mut self, change: &Change) -> Result<(), String> {
        for path in change.paths() {
            self.root.judge_write(path)?;
        }
        let (old, path) = match &change.act {
            Act::Make(path) => {
                self.must_be_free(path)?;
                (Now { content: Vec::new(), permissions: Permissions::Kept }, path)
            }
            Act::Edit(path) | Act::Remove(path) => (self.must_be(path)?, path),
            Act::Rename { from, to } => {
                self.must_be_free(to)?;
                (self.must_be(from)?, to)
            }
            Act::Copy { from, to } => {
                self.must_be_free(to)?;
                (self.must_be(from)?, to)
            }
        };
        let applied = patch::apply(&old.content, &change.hunks);
        let content = applied.map_err(|mismatch| format!("`{path}`: {mismatch}; nothing was changed"))?;
        let permissions = match change.mode {
            Some(mode) => with_mode(old.permissions, mode),
            None => old.permissions,
        };
        match &change.act {
            Act::Remove(path) if !content.is_empty() => {
                return Err(format!("`{path}` has lines that the diff does not remove; nothing was changed"));
            }
            Act::Remove(path) => {
                self.after.insert(path.clone(), None);
                return Ok(());
            }
            Act::Rename { from, .. } => {
                self.after.insert(from.clone(), None);
            }
            Act::Make(_) | Act::Edit(_) | Act::Copy { .. } => {}
        }
        self.after.insert(path.clone(), Some(Now { content, permissions }));
        Ok(())
    }

    fn must_be(&mut self, path: &str) -> Result<Now, String> {
        self.now(path)?.ok_or_else(|| format!("`{path}` does not exist; nothing was changed"))
    }

    fn must_be_free(&mut self, path: &str) -> Result<(), String> {
        match self.now(path)? {
            Some(_) => Err(format!("`{path}` exists already; nothing was changed")),
            None => Ok(()),
        }
    }

    /// A file as the diff has left it so far.
    fn now(&mut self, path: &str) -> Result<Option<Now>, String> {
        if let Some(now) = self.after.get(path) {
            return Ok(now.clone());
        }
        let now = match self.root.find(path)? {
            None => None,
            Some(entry) if entry.size > LARGEST => {
                return Err(format!("`{path}` has {} bytes: files are patched up to {LARGEST}", entry.size));
            }
            Some(_) => {
                let (mut file, entry) = self.root.read(path)?;
                let mut content = Vec::new();
                file.read_to_end(&mut content).map_err(|error| format!("failed to read `{path}`: {error}"))?;
                Some(Now { content, permissions: Permissions::Exactly(entry.mode) })
            }
        };
        self.before.insert(path.to_owned(), now.clone());
        self.after.insert(path.to_owned(), now.clone());
        Ok(now)
    }

    fn perform(&self) -> Result<(), String> {
        let changed: Vec<_> = self.after.iter().filter(|(path, now)| self.before.get(*path) != Some(*now)).collect();
        // Nothing is removed before all is written.
        let (gone, written): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, now)| now.is_none());
        let steps = [written, gone].concat();
        let mut made = Vec::new();
        for (done, (path, now)) in steps.iter().enumerate() {
            if let Err(text) = self.step(path, now.as_ref(), &mut made) {
                let undone = self.undo(steps[..done].iter().map(|(path, _)| path.as_str()), &made);
                return Err(match undone {
                    Ok(()) => format!("{text}; nothing was changed"),
                    Err(other) => format!("{text}; and what was changed before could not be undone: {other}"),
                });
            }
        }
        Ok(())
    }

    fn step(&self, path: &str, now: Option<&Now>, made: &mut Vec<String>) -> Result<(), String> {
        let Some(now) = now else {
            self.root.remove(path)?;
            return Ok(());
        };
        if let Some(parent) = Path::new(path).parent().and_then(Path::to_str).filter(|parent| !parent.is_empty()) {
            made.extend(self.root.make_directory(parent)?);
        }
        self.root.write(path, &mut now.content.as_slice(), now.permissions)?;
        Ok(())
    }

    fn undo<'p>(&self, done: impl DoubleEndedIterator<Item = &'p str>, made: &[String]) -> Result<(), String> {
        for path in done.rev() {
            match self.before.get(path).and_then(Option::as_ref) {
                Some(old) => self.root.write(path, &mut old.content.as_slice(), old.permissions).map(drop)?,
                None => self.root.remove(path).map(drop)?,
            }
        }
        for directory in made.iter().rev() {
            self.root.remove(directory)?;
        }
        Ok(())
    }
}

/// The permissions after a diff that says whether a file is a program.
fn with_mode(old: Permissions, mode: Mode) -> Permissions {
    match (old, mode) {
        // Whoever may read it may run it.
        (Permissions::Exactly(bits), Mode::Program) => Permissions::Exactly(bits | (bits & 0o444) >> 2),
        (Permissions::Exactly(bits), Mode::Plain) => Permissions::Exactly(bits & !0o111),
        (Permissions::Kept | Permissions::Program | Permissions::Plain, Mode::Program) => Permissions::Program,
        (Permissions::Kept | Permissions::Program | Permissions::Plain, Mode::Plain) => Permissions::Plain,
    }
}
