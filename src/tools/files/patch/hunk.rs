//! Hunks of a diff: read by their counts, found in a text, and applied to it.
//!
//! A hunk is looked for around its line, as git does, with every line of its context the same. Only the ends of lines may
//! differ where nothing fits exactly: models write `\n` for files that end their lines with `\r\n`.

use std::iter::{Enumerate, Peekable};
use std::str::SplitInclusive;

/// A place in a file and what becomes of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools::files) struct Hunk {
    /// As the diff has it, for messages.
    header: String,
    /// The index of its first old line; of the line after it when it has none.
    start: usize,
    lines: Vec<Line>,
}

/// A line with its end; the last one of a file may have none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Same(String),
    Old(String),
    New(String),
}

/// Whether the ends of lines count.
#[derive(Clone, Copy)]
enum Ends {
    Same,
    Any,
}

/// Reads the hunk that is next.
pub(super) fn read(lines: &mut Peekable<Enumerate<SplitInclusive<'_, char>>>) -> Result<Hunk, String> {
    let Some((first, line)) = lines.next() else { return Err("a hunk is missing".to_owned()) };
    let header = line.trim_end_matches(['\n', '\r']);
    let wanted = || {
        let text = "is no header of a hunk: `@@ -START,COUNT +START,COUNT @@`";
        format!("line {} of the diff, `{header}`, {text}", first + 1)
    };
    let ((start, old), (_, new)) = ranges(header).ok_or_else(wanted)?;
    let mut hunk = Hunk {
        header: header.to_owned(),
        start: if old == 0 { start } else { start.saturating_sub(1) },
        lines: Vec::new(),
    };
    let (mut old_left, mut new_left) = (old, new);
    while old_left > 0 || new_left > 0 {
        let short = || format!("the hunk `{header}` in line {} of the diff has fewer lines than it says", first + 1);
        let Some((at, line)) = lines.next() else { return Err(short()) };
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let (is_old, is_new, line): (_, _, fn(String) -> Line) = match bare.as_bytes().first() {
            Some(b'-') => (1, 0, Line::Old),
            Some(b'+') => (0, 1, Line::New),
            // Some programs take the only space of an empty line away.
            Some(b' ' | b'\r') | None => (1, 1, Line::Same),
            Some(b'\\') => {
                hunk.cut_last();
                continue;
            }
            Some(_) => return Err(format!("{}: line {} begins with none of ` `, `-`, `+`", short(), at + 1)),
        };
        if is_old > old_left || is_new > new_left {
            let text = "has more lines than it says";
            return Err(format!("the hunk `{header}` in line {} of the diff {text}", first + 1));
        }
        (old_left, new_left) = (old_left - is_old, new_left - is_new);
        let text = if bare.starts_with('\r') { bare } else { bare.get(1..).unwrap_or_default() };
        hunk.lines.push(line(format!("{text}\n")));
    }
    if lines.next_if(|(_, line)| line.starts_with('\\')).is_some() {
        hunk.cut_last();
    }
    Ok(hunk)
}

/// `@@ -10,2 +10,3 @@ fn main`: the starts and counts of both sides.
fn ranges(header: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = header.strip_prefix("@@ ")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<u32>().ok().map(|number| number as usize);
        Some((number(start)?, number(count)?))
    };
    Some((range(old.strip_prefix('-')?)?, range(new.strip_prefix('+')?)?))
}

impl Hunk {
    /// The line before has no end.
    fn cut_last(&mut self) {
        if let Some(Line::Same(text) | Line::Old(text) | Line::New(text)) = self.lines.last_mut() {
            text.pop();
        }
    }

    fn old(&self) -> Vec<&str> {
        let old = |line| match line {
            &Line::Same(ref text) | &Line::Old(ref text) => Some(text.as_str()),
            &Line::New(_) => None,
        };
        self.lines.iter().filter_map(old).collect()
    }
}

/// The text after all hunks, or the first one that does not fit.
pub(in crate::tools::files) fn apply(text: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, String> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut result = Vec::with_capacity(text.len());
    // How far the hunk before was found from its line: those after it are expected to have moved as far.
    let (mut done, mut moved) = (0, 0_isize);
    for (number, hunk) in hunks.iter().enumerate() {
        let old = hunk.old();
        let expected = hunk.start.saturating_add_signed(moved);
        let found = find(&lines, done, expected, &old);
        let (at, ends) = found.ok_or_else(|| mismatch(number + 1, hunk, &lines, expected, &old))?;
        lines[done..at].iter().for_each(|line| push(&mut result, line));
        done = at;
        let ending = ending(&lines, at);
        for line in &hunk.lines {
            match (line, ends) {
                (Line::Same(_), _) => {
                    push(&mut result, lines[done]);
                    done += 1;
                }
                (Line::Old(_), _) => done += 1,
                (Line::New(text), Ends::Same) => push(&mut result, text.as_bytes()),
                (Line::New(text), Ends::Any) => {
                    let bare = bare(text.as_bytes());
                    push(&mut result, bare);
                    result.extend(if text.ends_with('\n') { ending } else { b"" });
                }
            }
        }
        moved = at.cast_signed() - hunk.start.cast_signed();
    }
    lines[done..].iter().for_each(|line| push(&mut result, line));
    Ok(result)
}

/// A line that had no end gets one when another follows.
fn push(result: &mut Vec<u8>, line: &[u8]) {
    if result.last().is_some_and(|last| *last != b'\n') {
        result.push(b'\n');
    }
    result.extend(line);
}

/// Where the old lines are: as near to `expected` as can be, and not before `from`.
fn find(lines: &[&[u8]], from: usize, expected: usize, old: &[&str]) -> Option<(usize, Ends)> {
    if old.is_empty() {
        // Nothing says where it belongs but its number.
        return (from..=lines.len()).contains(&expected).then_some((expected, Ends::Same));
    }
    let last = lines.len().checked_sub(old.len())?;
    let fits = |at: usize, ends: Ends| {
        (from..=last).contains(&at)
            && old.iter().zip(&lines[at..]).all(|(old, line)| is_same(old.as_bytes(), line, ends))
    };
    // A number past the end must not be a long way to search back from.
    let expected = expected.min(last);
    let farthest = expected.saturating_sub(from).max(last.saturating_sub(expected));
    let nearest = |ends: Ends| {
        let around = (0..=farthest).flat_map(|away| [expected.checked_sub(away), expected.checked_add(away)]);
        around.flatten().find(|at| fits(*at, ends)).map(|at| (at, ends))
    };
    nearest(Ends::Same).or_else(|| nearest(Ends::Any))
}

fn is_same(old: &[u8], line: &[u8], ends: Ends) -> bool {
    match ends {
        Ends::Same => old == line,
        Ends::Any => bare(old) == bare(line) && old.ends_with(b"\n") == line.ends_with(b"\n"),
    }
}

/// A line without its end.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// How the line at a place ends.
fn ending(lines: &[&[u8]], at: usize) -> &'static [u8] {
    if lines.get(at).is_some_and(|line| line.ends_with(b"\r\n")) { b"\r\n" } else { b"\n" }
}

fn mismatch(number: usize, hunk: &Hunk, lines: &[&[u8]], expected: usize, old: &[&str]) -> String {
    let differs = |(offset, old): (usize, &&str)| {
        let line = lines.get(expected + offset);
        let is_other = line.is_none_or(|line| !is_same(old.as_bytes(), line, Ends::Same));
        is_other.then(|| (expected + offset + 1, shown(old.as_bytes()), line.map(|line| shown(line))))
    };
    let why = match old.iter().enumerate().find_map(differs) {
        Some((line, wanted, Some(there))) if wanted == there => format!("line {line} has another end"),
        Some((line, wanted, Some(there))) => format!("line {line} is `{there}`, the diff expects `{wanted}`"),
        Some((_, wanted, None)) => {
            format!("the file ends after line {}, the diff expects `{wanted}` behind it", lines.len())
        }
        None if expected < lines.len() => "its lines belong to the hunk before it".to_owned(),
        None => format!("the file ends after line {}", lines.len()),
    };
    format!("hunk {number} (`{}`) does not fit: {why}; read the file again", hunk.header)
}

/// As much of a line as tells it from others.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(bare(line));
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
