//! The first line of the screen and the last: where one is, what runs and costs, which keys count.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::keymap::Action;
use super::model::{Model, View};
use super::sessions;
use super::world::Link;
use crate::api::session::Usage;
use crate::look::age::age;
use crate::look::line::{Line, Tone, one_line};
use crate::look::status::{self, Signs};

mod hint;
#[cfg(test)]
mod tests;

pub(crate) use hint::key;

/// Something on the first line that a click means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    Sessions,
    Settings,
    /// What runs, waits and costs.
    Needs,
    Help,
}

/// A part of the first line. Where there is no room for all, those with the least weight go first.
struct Part {
    line: Line,
    weight: u8,
    side: Side,
    spot: Option<Spot>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Between two parts.
const GAP: usize = 2;
/// Between two counts.
const DOT: &str = " · ";

pub(crate) fn top(model: &Model, frame: &mut Frame, area: Rect) {
    for (x, part) in placed(model, area.width) {
        let line = model.theme.line(&part.line);
        frame.buffer_mut().set_line(area.x + x, area.y, &line, area.width - x);
    }
}

pub(crate) fn keys(model: &Model, frame: &mut Frame, area: Rect) {
    let line = hint::line(model, usize::from(area.width));
    frame.render_widget(model.theme.line(&line), area);
}

/// What a click in this column of the first line means.
pub(crate) fn spot(model: &Model, column: u16) -> Option<Spot> {
    let is_there = |(x, part): &(u16, Part)| usize::from(*x)..usize::from(*x) + part.line.width();
    placed(model, model.size.width).iter().find(|part| is_there(part).contains(&usize::from(column)))?.1.spot
}

/// The parts that have room, and where they stand.
fn placed(model: &Model, width: u16) -> Vec<(u16, Part)> {
    let mut parts = parts(model);
    let width = usize::from(width);
    let needed = |parts: &[Part]| parts.iter().map(Part::width).sum::<usize>();
    while needed(&parts) > width {
        let Some(least) = parts.iter().map(|part| part.weight).min() else { break };
        parts.retain(|part| part.weight > least);
    }
    let parts = joined(parts);
    let right: usize = parts.iter().filter(|part| part.side == Side::Right).map(Part::width).sum();
    let mut left_x = 1;
    let mut right_x = width + 1 - right.min(width);
    let place = |part: Part| {
        let next = match part.side {
            Side::Left => &mut left_x,
            Side::Right => &mut right_x,
        };
        let x = u16::try_from(*next).unwrap_or(u16::MAX);
        *next += part.width();
        (x, part)
    };
    parts.into_iter().map(place).collect()
}

/// The counts as one part.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.spot == Some(Spot::Needs) && part.spot == Some(Spot::Needs) => {
                last.line = std::mem::take(&mut last.line).dim(DOT).then(part.line);
            }
            Some(_) | None => joined.push(part),
        }
    }
    joined
}

impl Part {
    /// With the gap to the next one.
    fn width(&self) -> usize {
        // A dot between counts is a little wider than the gap.
        self.line.width() + GAP + usize::from(self.spot == Some(Spot::Needs))
    }
}

fn parts(model: &Model) -> Vec<Part> {
    let left = |weight, line, spot| Part { line, weight, side: Side::Left, spot };
    let right = |weight, line, spot| Part { line, weight, side: Side::Right, spot };
    let mut parts = vec![left(8, Line::new().strong("coppice"), None)];
    let repository = &model.world.repository;
    if !repository.name.is_empty() {
        parts.push(left(6, Line::new().plain(one_line(&repository.name)), None));
    }
    parts.extend(branch(model).map(|line| left(3, line, None)));
    let (sessions, settings) = match model.view {
        View::Sessions | View::Session(_) | View::Review(_) => {
            (tab("Sessions", Tab::Shown), tab("Settings", Tab::Behind))
        }
        View::Settings => (tab("Sessions", Tab::Behind), tab("Settings", Tab::Shown)),
    };
    parts.push(left(4, sessions, Some(Spot::Sessions)));
    parts.push(left(4, settings, Some(Spot::Settings)));
    match link(model) {
        Some(line) => parts.push(right(9, line, None)),
        None => parts.extend(counts(model).into_iter().map(|(weight, line)| right(weight, line, Some(Spot::Needs)))),
    }
    parts.push(right(5, Line::new().dim("? help"), Some(Spot::Help)));
    parts
}

#[derive(Debug, Clone, Copy)]
enum Tab {
    Shown,
    Behind,
}

fn tab(name: &str, tab: Tab) -> Line {
    match tab {
        Tab::Shown => Line::new().strong(format!("[{name}]")),
        Tab::Behind => Line::new().dim(name),
    }
}

fn branch(model: &Model) -> Option<Line> {
    let repository = &model.world.repository;
    let (up, down) = match model.signs {
        Signs::Unicode => ("↑", "↓"),
        Signs::Ascii => ("+", "-"),
    };
    let mut branch = one_line(repository.branch.as_deref()?);
    for (sign, count) in [(up, repository.ahead), (down, repository.behind)] {
        if count > 0 {
            branch.push_str(&format!(" {sign}{count}"));
        }
    }
    Some(Line::new().dim(branch))
}

/// What is wrong with the way to the daemon; a backend that is in trouble says so in its own row.
fn link(model: &Model) -> Option<Line> {
    match &model.world.link {
        Link::Connected => None,
        Link::Connecting => Some(Line::new().dim("looking for the daemon…")),
        Link::Lost { since, .. } => {
            let ago = age(model.now, *since);
            Some(Line::toned(Tone::Bad, format!("lost the daemon {ago} ago, reconnecting")))
        }
        Link::Stopped => {
            let starts = match key(model, model.context(), Action::Redraw) {
                Some(key) => format!("{key} starts it"),
                None => "the next act starts it".to_owned(),
            };
            Some(Line::toned(Tone::Bad, format!("the daemon was stopped, {starts}")))
        }
        Link::Silent { since } => {
            let ago = age(model.now, *since);
            Some(Line::toned(Tone::Bad, format!("the daemon does not answer, {ago} so far")))
        }
    }
}

/// What runs, waits and was spent, each with its weight.
fn counts(model: &Model) -> Vec<(u8, Line)> {
    let sessions = &model.world.sessions;
    let running = sessions.values().filter(|session| session.status.is_busy()).count();
    let waiting = sessions::waiting(&model.world);
    let mut usage = Usage::default();
    sessions.values().for_each(|session| usage.add(&session.usage));
    let tokens = usage.input_tokens + usage.output_tokens;
    let need = if waiting == 1 { "1 needs you".to_owned() } else { format!("{waiting} need you") };
    let counts = [
        (running > 0).then(|| (7, Line::new().plain(format!("{running} running")))),
        (waiting > 0).then(|| (9, Line::toned(Tone::Accent, need))),
        (tokens > 0).then(|| (1, Line::new().dim(format!("{} tok", status::tokens(tokens))))),
        status::cost(&usage).map(|cost| (2, Line::new().dim(cost))),
    ];
    counts.into_iter().flatten().collect()
}
