//! One entry as rows of a width. Pure: what is live, such as the work of a child, is drawn over it by the view.

use jiff::tz::TimeZone;

use super::entry::{Approval, Asked, Delegation, Entry, Failure, Mark, Step, Tool, Turn};
use super::join::Joins;
use super::text::Text;
use crate::api::event::PromptAuthor;
use crate::api::handoff::HandoffStatus;
use crate::look::card::{self, Card, Fold, Outcome};
use crate::look::line::{Line, Tone, one_line, unstyled, visible};
use crate::look::{age, markdown};

/// So many lines of a running call are seen.
const LIVE: usize = 5;

/// What an entry does not say itself.
pub(super) struct About<'a> {
    pub(super) fold: Fold,
    pub(super) joins: &'a Joins,
    pub(super) zone: &'a TimeZone,
}

/// The rows of a unit of an entry.
pub(super) fn rows(entry: &Entry, unit: usize, about: &About<'_>, width: u16) -> Vec<Line> {
    match entry {
        Entry::Turn(turn) => prompt(turn, unit, about.zone, width),
        Entry::Message(text) => message(text, unit, width),
        Entry::Thought(text) => thought(text, unit, width),
        Entry::Tool(tool) => card::rows(&tool_card(tool, about.joins), width, about.fold),
        Entry::Delegation(delegation) => vec![delegated(delegation).fit(width.into())],
        Entry::Todo(steps) => card::rows(&steps_card("Plan", steps), width, about.fold),
        Entry::Tasks(steps) => card::rows(&steps_card("Tasks", steps), width, about.fold),
        Entry::Setup(text) => setup(text, about.fold, width),
        Entry::Approval(approval) => vec![decided(approval).fit(width.into())],
        Entry::Questions(asked) => questions(asked, width),
        Entry::Failure(failure) => failed(failure, about.zone, width),
        Entry::Notice(tone, text) => vec![Line::toned(*tone, &**text).fit(width.into())],
        Entry::Queued(text) => queued(text, unit, width),
    }
}

/// A child as it was left, without what it does at this moment.
pub(super) fn delegated(delegation: &Delegation) -> Line {
    let name = format!("@{} ", one_line(&delegation.agent));
    let label = one_line(&delegation.label);
    let error = delegation.error.as_deref().map(|error| format!(" · {}", one_line(error))).unwrap_or_default();
    let (tone, glyph) = match delegation.status {
        HandoffStatus::Queued => (Tone::Dim, "◌"),
        HandoffStatus::Running => (Tone::Accent, "▸"),
        HandoffStatus::PendingPermission | HandoffStatus::PendingQuestion => (Tone::Warn, "◆"),
        HandoffStatus::Completed => (Tone::Good, "✓"),
        HandoffStatus::Failed | HandoffStatus::TimedOut => (Tone::Bad, "✗"),
        HandoffStatus::Cancelled | HandoffStatus::Interrupted => (Tone::Warn, "‖"),
    };
    Line::toned(tone, format!("{glyph} ")).strong(name).plain(label).with(Tone::Bad, error)
}

fn prompt(turn: &Turn, unit: usize, zone: &TimeZone, width: u16) -> Vec<Line> {
    let mut rows = Vec::new();
    if unit == 0 {
        rows.push(Line::new());
        let author = match turn.author {
            PromptAuthor::Person => Line::toned(Tone::Accent, "▏you"),
            PromptAuthor::ParentAgent => Line::new().plain("▏parent agent"),
            PromptAuthor::Coppice => Line::new().plain("▏coppice"),
        };
        rows.push(author.dim(format!("  {}", time(turn.at, zone))));
    }
    let units = turn.prompt.as_ref().map_or(1, |text| text.chunks().len().max(1));
    if let Some(text) = turn.prompt.as_ref().and_then(|text| text.chunks().get(unit)) {
        rows.extend(plain(&text.text, Tone::Plain, width));
    }
    if unit + 1 == units {
        let agent = turn.agent.as_deref().map_or_else(|| "agent".to_owned(), one_line);
        rows.push(Line::new().dim(format!("▏{agent}")));
    }
    rows
}

/// Hours and minutes.
fn time(at: i64, zone: &TimeZone) -> String {
    age::clock(at, zone).get(11..16).unwrap_or_default().to_owned()
}

fn message(text: &Text, unit: usize, width: u16) -> Vec<Line> {
    let Some(chunk) = text.chunks().get(unit) else {
        return Vec::new();
    };
    let rows = markdown::lines(&chunk.standing(), width);
    // A text that was cut between two paragraphs keeps them apart.
    let above = unit.checked_sub(1).and_then(|above| text.chunks().get(above));
    let is_apart = chunk.opened.is_none() && above.is_some_and(|above| above.text.ends_with("\n\n"));
    let gap = (is_apart && !rows.is_empty()).then(Line::new);
    gap.into_iter().chain(rows).collect()
}

fn thought(text: &Text, unit: usize, width: u16) -> Vec<Line> {
    text.chunks().get(unit).map(|chunk| plain(&chunk.text, Tone::Dim, width)).unwrap_or_default()
}

/// A text as it was written, broken to the width.
fn plain(text: &str, tone: Tone, width: u16) -> Vec<Line> {
    visible(text).trim_end().lines().flat_map(|line| Line::toned(tone, line).wrap(width.into())).collect()
}

fn tool_card(tool: &Tool, joins: &Joins) -> Card {
    // That it was let through is no news where it failed.
    let has_failed = matches!(tool.end, Some((Outcome::Failed, _)));
    call_card(tool, joins).passed(tool.auto.as_deref().filter(|_| !has_failed))
}

fn call_card(tool: &Tool, joins: &Joins) -> Card {
    let input: Option<serde_json::Value> = tool.input.as_deref().and_then(|text| serde_json::from_str(text).ok());
    match &tool.end {
        Some((outcome, output)) => card::finished(&tool.tool, &tool.title, input.as_ref(), *outcome, output),
        None => {
            let mut card = card::started(&tool.tool, &tool.title, input.as_ref());
            let live = unstyled(&tool.live);
            let lines: Vec<&str> = live.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = lines.len().saturating_sub(LIVE);
            card.body.extend(lines.into_iter().skip(last).map(|line| Line::new().plain(line)));
            if joins.is_over(tool.turn) {
                card.footer = Some(Line::new().dim("did not end"));
            }
            card
        }
    }
}

fn steps_card(name: &str, steps: &[Step]) -> Card {
    let done = steps.iter().filter(|step| step.mark == Mark::Done).count();
    let line = |step: &Step| {
        let text = one_line(&step.text);
        let tone = if step.mark == Mark::Done { Tone::Dim } else { Tone::Plain };
        step.mark.line().plain(" ").with(tone, text)
    };
    Card {
        header: Line::new().strong(name).plain(format!("  {done}/{}", steps.len())),
        body: steps.iter().map(line).collect(),
        footer: None,
    }
}

fn setup(text: &str, fold: Fold, width: u16) -> Vec<Line> {
    let text = unstyled(text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let row = |line: &str| Line::new().dim(format!("setup: {}", line.trim_end())).fit(width.into());
    match fold {
        Fold::Folded => lines.next_back().map(row).into_iter().collect(),
        Fold::Open => lines.map(row).collect(),
    }
}

fn decided(approval: &Approval) -> Line {
    let title = one_line(&approval.title);
    let Some(outcome) = &approval.outcome else {
        return Line::toned(Tone::Warn, "◆ waits for you: ").plain(title);
    };
    let (tone, glyph) = match &**outcome {
        "allowed" => (Tone::Good, "✓"),
        "denied" => (Tone::Bad, "✗"),
        _ => (Tone::Warn, "‖"),
    };
    let why = approval.message.as_deref().map(|message| format!(": {}", one_line(message))).unwrap_or_default();
    Line::toned(tone, glyph).dim(format!(" {} · {title}{why}", one_line(outcome)))
}

fn questions(asked: &[Asked], width: u16) -> Vec<Line> {
    let lines = asked.iter().flat_map(|question| {
        let options = question.options.iter().zip(1..);
        let options = options.map(|(option, number)| Line::new().dim(format!("  {number}  ")).plain(one_line(option)));
        let text = visible(&question.text);
        let text: Vec<Line> = match text.trim().lines().count() {
            0 | 1 => vec![Line::new().strong(text.trim())],
            // Such as a plan to decide about.
            _ => markdown::lines(text.trim(), width.saturating_sub(2)),
        };
        text.into_iter().map(|line| Line::toned(Tone::Warn, "? ").then(line)).chain(options)
    });
    lines.flat_map(|line| line.wrap(width.into())).collect()
}

/// What went wrong, and what helps.
fn failed(failure: &Failure, zone: &TimeZone, width: u16) -> Vec<Line> {
    let message = plain(&format!("✗ {}", failure.message.trim()), Tone::Bad, width);
    let hint = failure.hint.iter().flat_map(|hint| plain(&format!("  {}", hint.trim()), Tone::Plain, width));
    let is_told = |command: &&str| failure.hint.as_deref().is_some_and(|hint| hint.contains(command));
    let command = failure.command.as_deref().filter(|command| !is_told(command));
    let command =
        command.map(|command| Line::new().plain("  run ").with(Tone::Code, one_line(command)).fit(width.into()));
    // With its day: nobody knows on which one it is read.
    let limit = failure.resets_at.map(|at| {
        let clock = age::clock(at, zone);
        Line::new().plain(format!("  the limit ends at {}", clock.get(..16).unwrap_or(&clock)))
    });
    message.into_iter().chain(limit).chain(hint).chain(command).collect()
}

/// What stands before a prompt that waits; its other lines stand below its first.
const QUEUED: &str = "queued: ";
const QUEUED_INDENT: u16 = 8;

fn queued(text: &Text, unit: usize, width: u16) -> Vec<Line> {
    let Some(chunk) = text.chunks().get(unit) else {
        return Vec::new();
    };
    let text = visible(&chunk.text);
    let room = width.saturating_sub(QUEUED_INDENT);
    let lines = text.trim_end().lines().flat_map(|line| Line::new().dim(line).wrap(room.into()));
    let mark = |number: usize| if number == 0 && unit == 0 { QUEUED } else { "" };
    let marked = lines.enumerate().map(|(number, line)| {
        let indent = usize::from(QUEUED_INDENT);
        Line::toned(Tone::Accent, format!("{:indent$}", mark(number))).then(line).fit(width.into())
    });
    marked.collect()
}
