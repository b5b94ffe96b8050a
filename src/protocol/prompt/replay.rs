//! The record of a conversation for an agent that lost it, cut to a number of bytes.
//!
//! The newest turns are worth most: whole turns fall away from the oldest on, and a newest turn that is too long by
//! itself is shortened. Every line is quoted, so nothing in the record can pass for the task.

use askama::Template;

/// What is left of a part of a turn that has to be shortened is never less than this.
const SHORTEST_PART: usize = 200;

/// A session's past, oldest turn first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The last `summary.session`.
    pub summary: Option<String>,
    pub turns: Vec<PastTurn>,
}

/// One turn of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    pub number: u32,
    pub prompt: String,
    /// How many images went with the prompt; the record does not hold them.
    pub images: usize,
    /// Empty when the turn gave no answer.
    pub answer: String,
    pub end: TurnEnd,
}

/// How a turn ended, as far as it matters to the one who goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Interrupted,
    Failed,
    Undone,
}

#[derive(Template)]
#[template(path = "prompt/replay.md")]
struct Replay<'a> {
    summary: Option<String>,
    cut: Option<String>,
    turns: &'a [String],
}

/// Renders the record; the turns and the summary in it take at most about `limit` bytes.
pub(super) fn render(transcript: &Transcript, limit: usize) -> String {
    let summary = transcript.summary.as_deref().filter(|summary| !summary.trim().is_empty());
    let summary = summary.map(|summary| quote(&shorten(summary.trim(), limit / 4)));
    let mut left = limit.saturating_sub(summary.as_deref().map_or(0, str::len));
    let mut turns = Vec::new();
    for turn in transcript.turns.iter().rev() {
        let mut rendered = turn.render(usize::MAX);
        if turns.is_empty() && rendered.len() > left {
            rendered = turn.render(left / 2);
        } else if rendered.len() > left {
            break;
        }
        left = left.saturating_sub(rendered.len());
        turns.push(rendered);
    }
    turns.reverse();
    let cut = cut_line(&transcript.turns, turns.len());
    Replay { summary, cut, turns: &turns }.render().unwrap_or_default()
}

impl PastTurn {
    fn render(&self, part: usize) -> String {
        let end = match self.end {
            TurnEnd::Completed => "",
            TurnEnd::Interrupted => " (interrupted before its end)",
            TurnEnd::Failed => " (failed)",
            TurnEnd::Undone => " (undone since: its changes are gone)",
        };
        let prompt = quote(&shorten(self.prompt.trim(), part));
        let images = match self.images {
            0 => String::new(),
            1 => ", with an image that is not in this record".to_owned(),
            several => format!(", with {several} images that are not in this record"),
        };
        let asked = format!("Turn {}{end}, the person{images}:\n{prompt}", self.number);
        match self.answer.trim() {
            "" => format!("{asked}\nYou gave no answer."),
            answer => format!("{asked}\nYou:\n{}", quote(&shorten(answer, part))),
        }
    }
}

fn cut_line(all: &[PastTurn], kept: usize) -> Option<String> {
    let cut = all.get(..all.len() - kept)?;
    match cut {
        [] => None,
        [one] => Some(format!("Turn {} is left out for length.", one.number)),
        [first, .., last] => Some(format!("Turns {} to {} are left out for length.", first.number, last.number)),
    }
}

/// Keeps the beginning and the end, and says how much is missing between them.
fn shorten(text: &str, limit: usize) -> String {
    let limit = limit.max(SHORTEST_PART);
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

pub(super) fn quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}
