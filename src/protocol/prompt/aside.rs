//! The tasks of questions on the side: a title, a commit message, the resolution of a conflict.
//!
//! What people, agents and files said is quoted: it is the matter of the question and never an instruction.

use askama::Template;

use super::replay::quote;
use super::text;
use crate::protocol::resolution::MarkedFile;

/// How much of a prompt a title is made of, in bytes.
const PROMPT_LIMIT: usize = 4 * 1024;

/// How much of a patch a message is made of, in bytes.
const PATCH_LIMIT: usize = 16 * 1024;

/// How much of a summary and of a table of files goes along, in bytes each.
const BRIEF_LIMIT: usize = 4 * 1024;

/// How many lines before and after a region of a conflict are shown.
const CONTEXT_LINES: usize = 8;

/// What a turn did, for a message about it.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    pub summary: &'a str,
    /// The table of files.
    pub stat: &'a str,
    pub patch: &'a str,
}

/// A session whose work does not go together with its base.
#[derive(Debug, Clone, Copy)]
pub struct MarkedConflict<'a> {
    pub title: &'a str,
    pub summary: &'a str,
    /// The name of the base branch.
    pub base: &'a str,
    pub files: &'a [MarkedPath<'a>],
}

/// A file with conflict marks, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedPath<'a> {
    pub path: String,
    pub file: MarkedFile<'a>,
}

/// Asks for a text for every region of the files, which are numbered from 1 through all files.
pub fn resolution(conflict: MarkedConflict<'_>) -> String {
    let MarkedConflict { title, summary, base, files } = conflict;
    let mut numbers = 1..;
    let files = files.iter().map(|MarkedPath { path, file }| {
        let around = file.surroundings(CONTEXT_LINES);
        let regions = file.regions().zip(around).zip(&mut numbers).map(|((region, (before, after)), number)| Region {
            number,
            before: quote(before),
            ours: quote(region.ours),
            theirs: quote(region.theirs),
            after: quote(after),
        });
        FileRegions { path: quote(path), regions: regions.collect() }
    });
    let (title, summary) = (quoted(title, BRIEF_LIMIT), quoted(summary, BRIEF_LIMIT));
    text(&Resolution { title, summary, base: &base.replace('`', "'"), files: files.collect() })
}

/// Asks for the title of a session that begins with this prompt.
pub fn title(prompt: &str) -> String {
    text(&Title { prompt: quoted(prompt, PROMPT_LIMIT) })
}

/// Asks for the message of a commit.
pub fn message(work: Work<'_>) -> String {
    let Work { summary, stat, patch } = work;
    let summary = quoted(summary, BRIEF_LIMIT);
    text(&Message { summary, stat: quoted(stat, BRIEF_LIMIT), patch: quoted(patch, PATCH_LIMIT) })
}

#[derive(Template)]
#[template(path = "prompt/title.md")]
struct Title {
    prompt: String,
}

#[derive(Template)]
#[template(path = "prompt/message.md")]
struct Message {
    summary: String,
    stat: String,
    patch: String,
}

#[derive(Template)]
#[template(path = "prompt/resolution.md")]
struct Resolution<'a> {
    title: String,
    summary: String,
    base: &'a str,
    files: Vec<FileRegions>,
}

struct FileRegions {
    path: String,
    regions: Vec<Region>,
}

struct Region {
    number: usize,
    before: String,
    ours: String,
    theirs: String,
    after: String,
}

/// The text as a quotation, cut at the limit.
pub(super) fn quoted(text: &str, limit: usize) -> String {
    let text = text.trim_end();
    let end = text.floor_char_boundary(limit);
    let mut lines: Vec<_> = text[..end].lines().map(|line| format!("> {line}")).collect();
    if end < text.len() {
        lines.push("[the rest is left out]".to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::resolution::{MarkLabels, cut_regions};

    #[test]
    fn what_was_said_is_quoted_and_bounded() {
        assert_eq!(quoted("", 10), "");
        assert_eq!(quoted("one\n\n@two\n", 99), "> one\n> \n> @two");
        assert_eq!(quoted("äöü", 3), "> ä\n[the rest is left out]");
        let task = title(&"---\n".repeat(10_000));
        assert!(task.len() < 2 * PROMPT_LIMIT, "{}", task.len());
        assert!(task.lines().all(|line| line != "---"));
    }

    #[test]
    fn regions_are_numbered_through_all_files_and_quoted() {
        let labels = MarkLabels { ours: "work", theirs: "main" };
        let text = "one\n<<<<<<< work\nours\r\n=======\n---\n>>>>>>> main\ntwo\n";
        let cut = || cut_regions(text.as_bytes(), labels).unwrap();
        let file = |path: &str| MarkedPath { path: path.to_owned(), file: cut() };
        let files = [file("a"), file("b\nc")];
        let task = resolution(MarkedConflict { title: "Add a port", summary: "", base: "main", files: &files });
        let (_, shown) = task.split_once("use no tools.\n\n").unwrap();
        insta::assert_snapshot!(shown, @"
        The session:
        > Add a port

        The file:
        > a

        Region 1. The lines before it:
        > one
        The session's version:
        > ours
        The version of `main`:
        > ---
        The lines after it:
        > two

        The file:
        > b
        > c

        Region 2. The lines before it:
        > one
        The session's version:
        > ours
        The version of `main`:
        > ---
        The lines after it:
        > two
        ");
    }

    #[test]
    fn a_message_is_made_of_what_is_there() {
        let work = Work { summary: "Add a port", stat: " a | 1 +", patch: "+x" };
        let task = message(work);
        assert!(["> Add a port", ">  a | 1 +", "> +x"].iter().all(|part| task.contains(part)), "{task}");
        assert!(!message(Work { summary: " ", ..work }).contains("said about it"));
    }
}
