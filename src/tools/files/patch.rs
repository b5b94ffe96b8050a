//! A unified diff as changes of files, with what git says besides the lines: made, removed, renamed, copied, another mode.
//!
//! Pure. What is read here is also what the rules are asked about, so that nothing is written that nobody saw.

mod hunk;
mod name;
#[cfg(test)]
mod tests;

use std::iter::{Enumerate, Peekable};
use std::str::SplitInclusive;

pub(super) use hunk::{Hunk, apply};

/// What a diff does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) act: Act,
    pub(super) mode: Option<Mode>,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Make(String),
    Remove(String),
    Edit(String),
    Rename { from: String, to: String },
    Copy { from: String, to: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Program,
}

impl Change {
    /// The paths that it reads or writes.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match &self.act {
            Act::Make(path) | Act::Remove(path) | Act::Edit(path) => (path, None),
            Act::Rename { from, to } | Act::Copy { from, to } => (from, Some(to)),
        };
        [Some(first), second].into_iter().flatten().map(String::as_str)
    }
}

impl Change {
    /// The file whose contents come to stand under another name.
    pub(super) fn source(&self) -> Option<&str> {
        match &self.act {
            Act::Rename { from, .. } | Act::Copy { from, .. } => Some(from),
            Act::Make(_) | Act::Remove(_) | Act::Edit(_) => None,
        }
    }
}

/// Reads a diff. What is between the files is passed over, as git does.
pub(super) fn parse(diff: &str) -> Result<Vec<Change>, String> {
    let mut reader = Reader { lines: diff.split_inclusive('\n').enumerate().peekable(), changes: Vec::new() };
    while let Some((at, line)) = reader.lines.next() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            reader.git(at, names)?;
        } else if let Some(old) = line.strip_prefix("--- ").filter(|_| reader.is_next("+++ ")) {
            let header = Header { old: Some(name::read(old)?), ..Header::default() };
            reader.file(at, header)?;
        } else if line.starts_with("@@ ") {
            return Err(format!("line {} of the diff is a hunk before any `---` and `+++`", at + 1));
        }
    }
    match reader.changes.is_empty() {
        true => Err("the diff names no file: begin each with `--- a/PATH` and `+++ b/PATH`".to_owned()),
        false => Ok(reader.changes),
    }
}

/// What is said about a file before its hunks. The outer option of a name is whether it was said.
#[derive(Default)]
struct Header {
    /// The name that both sides have, where nothing else names the file.
    both: Option<String>,
    old: Option<Option<String>>,
    new: Option<Option<String>>,
    from: Option<String>,
    to: Option<String>,
    moves: Moves,
    life: Life,
    mode: Option<Mode>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Moves {
    #[default]
    Not,
    Renames,
    Copies,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Life {
    #[default]
    Goes,
    Begins,
    Ends,
}

struct Reader<'a> {
    lines: Peekable<Enumerate<SplitInclusive<'a, char>>>,
    changes: Vec<Change>,
}

impl Reader<'_> {
    fn is_next(&mut self, start: &str) -> bool {
        self.lines.peek().is_some_and(|(_, line)| line.starts_with(start))
    }

    /// The lines that git writes between `diff --git` and the hunks.
    fn git(&mut self, at: usize, names: &str) -> Result<(), String> {
        let mut header = Header { both: name::same(names), ..Header::default() };
        while let Some((_, line)) = self.lines.next_if(|(_, line)| !line.starts_with("diff --git ")) {
            let line = line.trim_end_matches(['\n', '\r']);
            let rest = |start: &str| line.strip_prefix(start);
            if let Some(mode) = rest("new file mode ") {
                (header.life, header.mode) = (Life::Begins, Some(read_mode(mode)?));
            } else if let Some(mode) = rest("deleted file mode ") {
                read_mode(mode)?;
                header.life = Life::Ends;
            } else if let Some(mode) = rest("new mode ") {
                header.mode = Some(read_mode(mode)?);
            } else if let Some(path) = rest("rename from ") {
                (header.from, header.moves) = (Some(name::plain(path)?), Moves::Renames);
            } else if let Some(path) = rest("rename to ") {
                header.to = Some(name::plain(path)?);
            } else if let Some(path) = rest("copy from ") {
                (header.from, header.moves) = (Some(name::plain(path)?), Moves::Copies);
            } else if let Some(path) = rest("copy to ") {
                header.to = Some(name::plain(path)?);
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(format!("line {} of the diff begins a binary file: only text can be patched", at + 1));
            } else if let Some(old) = rest("--- ").filter(|_| self.is_next("+++ ")) {
                header.old = Some(name::read(old)?);
                return self.file(at, header);
            } else if !["index ", "old mode ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|known| line.starts_with(known))
            {
                break;
            }
        }
        self.finish(at, header, Vec::new())
    }

    /// The line `+++` and the hunks after it.
    fn file(&mut self, at: usize, mut header: Header) -> Result<(), String> {
        if let Some((_, line)) = self.lines.next() {
            header.new = Some(name::read(line.strip_prefix("+++ ").unwrap_or(line))?);
        }
        let mut hunks = Vec::new();
        while self.is_next("@@") {
            hunks.push(hunk::read(&mut self.lines)?);
        }
        self.left_over()?;
        self.finish(at, header, hunks)
    }

    /// A line that belongs to no hunk is a line that would get lost.
    fn left_over(&mut self) -> Result<(), String> {
        let Some((at, line)) = self.lines.peek().copied() else { return Ok(()) };
        // What `git format-patch` signs with.
        let is_signature = line.trim_end_matches(['\n', '\r']) == "-- ";
        if is_signature || line.starts_with("--- ") || !line.starts_with(['+', '-', ' ', '\\']) {
            return Ok(());
        }
        let text = "comes after the end of its hunk: the counts in `@@ -START,COUNT +START,COUNT @@` are too small";
        Err(format!("line {} of the diff {text}", at + 1))
    }

    fn finish(&mut self, at: usize, header: Header, hunks: Vec<Hunk>) -> Result<(), String> {
        let (mode, is_bare) = (header.mode, hunks.is_empty());
        let act = header.act().map_err(|text| format!("line {} of the diff: {text}", at + 1))?;
        if is_bare && mode.is_none() && matches!(act, Act::Edit(_)) {
            return Err(format!("line {} of the diff: no hunk follows, so nothing would change", at + 1));
        }
        self.changes.push(Change { act, mode, hunks });
        Ok(())
    }
}

impl Header {
    fn act(self) -> Result<Act, String> {
        let (old, new) = name::strip(self.old, self.new)?;
        match (self.moves, self.from, self.to) {
            (Moves::Not, _, _) => {}
            (Moves::Renames, Some(from), Some(to)) => {
                return moved(old, new, &from, &to).map(|()| Act::Rename { from, to });
            }
            (Moves::Copies, Some(from), Some(to)) => {
                return moved(old, new, &from, &to).map(|()| Act::Copy { from, to });
            }
            (Moves::Renames | Moves::Copies, _, _) => return Err("a rename or copy names both of its files".to_owned()),
        }
        match (old.or_else(|| self.both.clone().map(Some)), new.or(self.both.map(Some)), self.life) {
            (_, Some(Some(path)), Life::Begins) | (Some(None), Some(Some(path)), Life::Goes) => Ok(Act::Make(path)),
            (Some(Some(path)), _, Life::Ends) | (Some(Some(path)), Some(None), Life::Goes) => Ok(Act::Remove(path)),
            (Some(Some(old)), Some(Some(new)), Life::Goes) if old == new => Ok(Act::Edit(new)),
            (Some(Some(old)), Some(Some(new)), Life::Goes) => {
                Err(format!("`{old}` and `{new}` differ: a diff that renames says `rename from` and `rename to`"))
            }
            (_, _, Life::Goes | Life::Begins | Life::Ends) => Err("the file has no name".to_owned()),
        }
    }
}

/// Whether the names before the hunks are those of the rename.
fn moved(old: name::Said, new: name::Said, from: &str, to: &str) -> Result<(), String> {
    let agrees = |said: name::Said, path: &str| said.is_none_or(|said| said.as_deref() == Some(path));
    match agrees(old, from) && agrees(new, to) {
        true => Ok(()),
        false => Err(format!("`---` and `+++` are not `{from}` and `{to}`, which the lines before them name")),
    }
}

fn read_mode(mode: &str) -> Result<Mode, String> {
    match mode.trim() {
        "100644" | "100664" => Ok(Mode::Plain),
        "100755" => Ok(Mode::Program),
        "120000" => Err("the diff makes or removes a link: only files can be patched".to_owned()),
        "160000" => Err("the diff changes a submodule: only files can be patched".to_owned()),
        other => Err(format!("the mode `{other}` in the diff is not known: 100644 or 100755")),
    }
}
