//! What a card shows between its header and its end, and the end: each kind of call in its own shape, errors in none.

use serde_json::Value;

use super::call::{Call, Shape};
use super::change::{self, Change};
use super::{Outcome, bad, delegation};
use crate::look::line::{Line, Tone, one_line, unstyled};
use crate::look::status::count;
use crate::permission::flag;

/// Before what a command wrote to its second stream.
const STDERR: &str = "── stderr ──";

/// Behind the number of what is there when there is more.
const CUT: &str = " (truncated)";

/// The last line of a text that goes on.
const MARKS: &[&str] = &["[truncated]", "…[truncated]"];

/// How words about a file begin that stand in the place of its text.
const ABOUT: &[&str] = &["image: ", "skipped: ", "error: ", "empty file"];

/// How the one line begins that some agents tell of a file instead of its text.
const SUMMARIES: &[&str] = &["Read lines ", "Read all ", "Skipped "];

/// What a call that runs can show already.
pub(super) fn announced(call: &Call) -> Vec<Line> {
    match &call.shape {
        Shape::Command(command) => warning(command.as_deref()).into_iter().collect(),
        Shape::Change { path, pieces } => {
            change::of_pieces(path, pieces).map(|change| change.lines).unwrap_or_default()
        }
        Shape::Delegated(task) => delegation::task(task.as_deref()),
        Shape::Read
        | Shape::ReadMany
        | Shape::Written(_)
        | Shape::Entries
        | Shape::Matches
        | Shape::Fetched
        | Shape::Confirmed
        | Shape::Text => Vec::new(),
    }
}

/// The body and the footer of a call that ended.
pub(super) fn shaped(call: &Call, outcome: Outcome, output: &str) -> (Vec<Line>, Option<Line>) {
    match (&call.shape, outcome) {
        (Shape::Command(command), outcome) => ran(command.as_deref(), outcome, output),
        (_, Outcome::Failed) => failed(output),
        (Shape::Read, Outcome::Done) => (Vec::new(), read(output)),
        (Shape::ReadMany, Outcome::Done) => (Vec::new(), read_many(output)),
        (Shape::Written(bytes), Outcome::Done) => (Vec::new(), written(*bytes, output)),
        (Shape::Change { path, pieces }, Outcome::Done) => {
            let told = change::read(path, output);
            let is_told = told.is_some();
            match told.or_else(|| change::of_pieces(path, pieces)) {
                Some(change) => {
                    let footer = if is_told { replaced(&change, pieces.len()) } else { confirmation(output) };
                    (change.lines, footer)
                }
                None => (Vec::new(), confirmation(output)),
            }
        }
        (Shape::Entries, Outcome::Done) => listed(output, "entry", "entries"),
        (Shape::Matches, Outcome::Done) => listed(output, "match", "matches"),
        (Shape::Fetched, Outcome::Done) => fetched(output),
        (Shape::Confirmed, Outcome::Done) => (Vec::new(), confirmation(output)),
        (Shape::Delegated(task), Outcome::Done) => delegation::ended(task.as_deref(), output),
        (Shape::Text, Outcome::Done) => (text(output), None),
    }
}

/// The error as it is.
fn failed(output: &str) -> (Vec<Line>, Option<Line>) {
    let body = text(output);
    let said = body.iter().map(Line::text).find(|line| !line.trim().is_empty());
    let said = said.unwrap_or_else(|| "it did not finish".to_owned());
    (body, Some(bad(format!("✗ {}", said.trim()))))
}

/// Flags that throw work away stand above everything else.
fn warning(command: Option<&str>) -> Option<Line> {
    let flags = flag::destructive(command?);
    (!flags.is_empty()).then(|| bad(format!("⚠ DESTRUCTIVE FLAG(S): {}", one_line(&flags.join(" ")))))
}

/// What a command left behind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ran {
    stdout: String,
    stderr: String,
    exit: Option<i64>,
}

fn ran(command: Option<&str>, outcome: Outcome, output: &str) -> (Vec<Line>, Option<Line>) {
    let ran = streams(output);
    let exit = match (ran.exit, outcome) {
        (Some(exit), _) => exit,
        // Whoever tells the command also says that it failed; from the others, success means only that it ended.
        (None, Outcome::Done) if command.is_some() => 0,
        (None, Outcome::Done) => {
            return (warning(command).into_iter().chain(text(output)).collect(), None);
        }
        (None, Outcome::Failed) => {
            let (body, footer) = failed(output);
            return (warning(command).into_iter().chain(body).collect(), footer);
        }
    };
    let mut body: Vec<Line> = warning(command).into_iter().chain(text(&ran.stdout)).collect();
    if !ran.stderr.trim().is_empty() {
        body.push(Line::new().dim(STDERR));
        body.extend(text(&ran.stderr));
    }
    let tone = if exit == 0 { Tone::Good } else { Tone::Bad };
    (body, Some(Line::toned(tone, format!("exit {exit}"))))
}

/// Takes apart what was told about a command: a record of both streams, or one text that says the code before or after.
fn streams(output: &str) -> Ran {
    if let Some(record) = record(output).filter(|record| record.get("stdout").or(record.get("stderr")).is_some()) {
        let stream = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let exit = ["exit_code", "exitCode", "exit", "code"].iter().find_map(|name| record[*name].as_i64());
        return Ran { stdout: stream("stdout"), stderr: stream("stderr"), exit };
    }
    if let Some(ran) = envelope(output) {
        return ran;
    }
    let (output, exit) = exit_code(output);
    match output.split_once(STDERR) {
        Some((stdout, stderr)) => Ran { stdout: stdout.to_owned(), stderr: stderr.to_owned(), exit },
        None => Ran { stdout: output.to_owned(), stderr: String::new(), exit },
    }
}

/// What the served tools say about a command: the code first, then the streams under their headings.
fn envelope(output: &str) -> Option<Ran> {
    let (exit, rest) = output.strip_prefix("exit=").map(|rest| rest.split_once('\n').unwrap_or((rest, "")))?;
    let exit = Some(exit.trim().parse().ok()?);
    let streams = rest.strip_prefix("--- stdout ---\n").unwrap_or(rest);
    let (stdout, stderr) = match streams.split_once("--- stderr ---\n") {
        Some((stdout, stderr)) => (stdout, stderr),
        None => (streams, ""),
    };
    Some(Ran { stdout: stdout.to_owned(), stderr: stderr.to_owned(), exit })
}

/// The exit code in a text, and the text without it.
fn exit_code(output: &str) -> (&str, Option<i64>) {
    if let Some((first, rest)) =
        output.strip_prefix("Exit code ").map(|rest| rest.split_once('\n').unwrap_or((rest, "")))
        && let Ok(exit) = first.trim().parse()
    {
        return (rest, Some(exit));
    }
    let whole = output.trim_end();
    let last = whole.strip_suffix(']').and_then(|open| open.rsplit_once('['));
    if let Some((before, said)) = last
        && let Some(code) = said.strip_prefix("exit status: ").or_else(|| said.strip_prefix("exit "))
        && let Ok(exit) = code.parse()
    {
        return (before, Some(exit));
    }
    match whole.strip_prefix("Command exited with code: ").and_then(|code| code.parse().ok()) {
        Some(exit) => ("", Some(exit)),
        None => (output, None),
    }
}

/// `N lines · M bytes`; nothing about what was not told.
fn read(output: &str) -> Option<Line> {
    if output.is_empty() {
        return None;
    }
    // A picture, or a file that is no text: words about it stand in its place.
    if let Some(said) = output.trim_end().strip_prefix('[').and_then(|said| said.strip_suffix(']'))
        && ABOUT.iter().any(|word| said.starts_with(word))
        && !said.contains('\n')
    {
        return Some(Line::new().dim(said));
    }
    if SUMMARIES.iter().any(|word| output.starts_with(word)) && !output.trim_end().contains('\n') {
        return confirmation(output);
    }
    Some(Amount::of(output.lines().collect()).line())
}

/// The same for several files in one text, each below its name.
fn read_many(output: &str) -> Option<Line> {
    let is_name = |line: &&str| line.starts_with("==> ") && line.ends_with(" <==");
    let lines: Vec<&str> = output.lines().collect();
    let mut files = lines.split(is_name);
    let before = files.next().unwrap_or_default();
    let files: Vec<Amount> = files.map(|file| Amount::of_section(file.to_vec())).collect();
    let all = files.into_iter().fold(Amount::of(before.to_vec()), Amount::and);
    (!output.is_empty()).then(|| all.line())
}

/// How much was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    lines: usize,
    bytes: usize,
    is_cut: bool,
}

impl Amount {
    /// What these lines hold; a line that says that something is left out is none of them.
    fn of(mut lines: Vec<&str>) -> Amount {
        let is_cut = lines.pop_if(|line| MARKS.contains(line)).is_some();
        let left_out: Vec<usize> = lines.iter().filter_map(|line| counted(line)).collect();
        lines.retain(|line| counted(line).is_none());
        let bytes: usize = lines.iter().map(|line| unnumbered(line).len() + 1).sum();
        Amount {
            lines: lines.len(),
            bytes: bytes + left_out.iter().sum::<usize>(),
            is_cut: is_cut || !left_out.is_empty(),
        }
    }

    /// One file of several: an empty line sets it off from the next, and there may be words in its place.
    fn of_section(mut lines: Vec<&str>) -> Amount {
        lines.pop_if(|line| line.is_empty());
        match lines.as_slice() {
            [said] if ABOUT.iter().any(|word| said.strip_prefix('[').is_some_and(|said| said.starts_with(word))) => {
                Amount::default()
            }
            _ => Amount::of(lines),
        }
    }

    fn and(self, other: Amount) -> Amount {
        Amount { lines: self.lines + other.lines, bytes: self.bytes + other.bytes, is_cut: self.is_cut || other.is_cut }
    }

    fn line(self) -> Line {
        let mark = if self.is_cut { CUT } else { "" };
        Line::new().dim(format!("{} · {}{mark}", count(self.lines, "line"), in_bytes(self.bytes)))
    }
}

/// Some agents number the lines that they read.
fn unnumbered(line: &str) -> &str {
    let digits = line.trim_start_matches(' ');
    let text = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    match text.strip_prefix(['\t', '→']) {
        Some(text) if text.len() < digits.len() - 1 => text,
        Some(_) | None => line,
    }
}

/// What a line says is left out in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) lines: usize,
    bytes: usize,
}

impl LeftOut {
    /// Reads `[4 lines, 90 bytes left out]`; older outputs do not tell the lines.
    pub(super) fn read(line: &str) -> Option<Self> {
        let amount = line.strip_prefix('[')?.strip_suffix(" bytes left out]")?;
        let (lines, bytes) = amount.split_once(" lines, ").unwrap_or(("0", amount));
        Some(Self { lines: lines.parse().ok()?, bytes: bytes.parse().ok()? })
    }
}

/// How many bytes a line says are left out in its place.
fn counted(line: &str) -> Option<usize> {
    LeftOut::read(line).map(|left_out| left_out.bytes)
}

fn written(bytes: Option<usize>, output: &str) -> Option<Line> {
    let told = bytes.or_else(|| {
        let change = change::read("", output)?;
        let is_whole = change.less == 0;
        is_whole.then(|| output.lines().filter_map(|line| line.strip_prefix('+')).map(|line| line.len() + 1).sum())
    });
    match (told, change::read("", output)) {
        (Some(bytes), _) => Some(Line::new().dim(format!("wrote {}", in_bytes(bytes)))),
        (None, Some(change)) => replaced(&change, 0),
        (None, None) => confirmation(output),
    }
}

fn replaced(change: &Change, pieces: usize) -> Option<Line> {
    Some(match pieces {
        0 => Line::new().dim(format!("+{} −{}", change.more, change.less)),
        pieces => Line::new().dim(count(pieces, "replacement")),
    })
}

/// The first words of what was said.
fn confirmation(output: &str) -> Option<Line> {
    let said = unstyled(output);
    let said = said.lines().find(|line| !line.trim().is_empty())?;
    Some(Line::new().dim(said.trim()))
}

/// Lines that are counted, or what the tool says about their number.
fn listed(output: &str, one: &str, many: &str) -> (Vec<Line>, Option<Line>) {
    let mut body = text(output);
    // Whoever stops early says so in the last line: `the first 200 of 315 paths …[truncated]`.
    let is_last_word = |line: &Line| {
        let text = line.text();
        text.starts_with("the first ") && text.ends_with("…[truncated]")
    };
    let all = body.len();
    body.pop_if(|line| is_last_word(line));
    body.retain(|line| counted(&line.text()).is_none());
    let mark = if body.len() < all { CUT } else { "" };
    body.retain(|line| !line.text().trim().is_empty());
    let first = body.first().map(Line::text).unwrap_or_default();
    let is_said = ["Found ", "No files found", "No matches found", "Listed ", "Directory is empty"]
        .iter()
        .any(|said| first.starts_with(said));
    if body.is_empty() {
        // Whoever finds nothing says so; from the others nothing is known.
        return (body, None);
    }
    if is_said && body.len() == 1 {
        return (Vec::new(), Some(Line::new().dim(first)));
    }
    if is_said {
        body.remove(0);
    }
    let noun = if body.len() == 1 { one } else { many };
    let footer = format!("{} {noun}{mark}", body.len());
    (body, Some(Line::new().dim(footer)))
}

/// What the server said; the page itself is for the model.
fn fetched(output: &str) -> (Vec<Line>, Option<Line>) {
    let mut body = Vec::new();
    let mut tell = |name: &str, value: &str| body.push(Line::new().dim(format!("{name}: ")).plain(one_line(value)));
    let mut bytes = output.len();
    if let Some((head, page)) = page(output) {
        // Only what stands before the page is ours; the page may say anything.
        for (name, key) in [("status", "status"), ("content-type", "content_type"), ("truncated", "truncated")] {
            let value = head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            if let Some(value) = value.filter(|value| (name, *value) != ("truncated", "false")) {
                tell(name, value);
            }
        }
        let left_out: usize = page.lines().filter_map(counted).sum();
        return (body, Some(Line::new().dim(in_bytes(page.len() + left_out))));
    }
    if let Some(record) = record(output) {
        let value = |names: &[&str]| names.iter().map(|name| &record[*name]).find(|value| !value.is_null());
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        for (name, names) in [
            ("status", ["status", "status_code"].as_slice()),
            ("content-type", &["content_type", "content-type", "contentType"]),
            ("truncated", &["truncated"]),
        ] {
            if let Some(value) = value(names) {
                tell(name, &text(value));
            }
        }
        let told = value(&["bytes", "size", "length"]).and_then(Value::as_u64).and_then(|bytes| bytes.try_into().ok());
        let page = value(&["body", "content", "text"]).and_then(Value::as_str).map(str::len);
        bytes = told.or(page).unwrap_or(bytes);
    } else if output.starts_with("HTTP/") {
        for line in output.lines().take(20).take_while(|line| !line.trim().is_empty()) {
            let known = line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value));
            match known {
                Some((name, value)) if matches!(name.as_str(), "status" | "content-type" | "truncated") => {
                    tell(&name, value);
                }
                Some(_) => {}
                None if line.starts_with("HTTP/") => tell("status", line),
                None => {}
            }
        }
    }
    let left_out: Vec<usize> = output.lines().filter_map(counted).collect();
    if !left_out.is_empty() {
        tell("truncated", "true");
    }
    (body, (bytes > 0).then(|| Line::new().dim(in_bytes(bytes + left_out.iter().sum::<usize>()))))
}

/// What the served tool says before a page, and the page.
fn page(output: &str) -> Option<(&str, &str)> {
    output.starts_with("status=").then(|| output.split_once("\n## content\n"))?
}

pub(super) fn record(output: &str) -> Option<Value> {
    let text = output.trim();
    let value: Value = text.starts_with('{').then(|| serde_json::from_str(text).ok())??;
    value.is_object().then_some(value)
}

pub(super) fn text(output: &str) -> Vec<Line> {
    let shown = unstyled(output);
    let shown = shown.trim_end();
    shown.trim_start_matches('\n').lines().map(|line| Line::new().plain(line)).collect()
}

fn in_bytes(bytes: usize) -> String {
    count(bytes, "byte")
}
