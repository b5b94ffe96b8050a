//! Every key of a view, from the keymap itself, and every command.

#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph};

use super::act::Step;
use super::keymap::{Action, BINDINGS, Binding, Context, Keymap};
use super::model::{Model, Overlay};
use super::msg::Request;
use super::view::WIDE;
use crate::look::line::{Line, Tone, table};

/// Between two columns.
const GAP: usize = 3;
/// What the border and its padding take.
const FRAME: u16 = 4;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) context: Context,
    scroll: usize,
    /// What help lies over; it comes back.
    pub(crate) below: Option<Box<Overlay>>,
}

impl State {
    /// The keys of a context, over what lies there.
    pub(crate) fn of(context: Context, below: Option<Overlay>) -> State {
        State { context, scroll: 0, below: below.map(Box::new) }
    }
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let room = usize::from(model.size.height.saturating_sub(2));
    let columns = model.size.width.saturating_sub(FRAME);
    let Some(Overlay::Help(state)) = &mut model.overlay else { return Vec::new() };
    let furthest = lines(&model.keymap, state.context, columns).len().saturating_sub(room);
    state.scroll = step.moved(state.scroll, furthest);
    Vec::new()
}

pub(crate) fn view(model: &Model, state: &State, frame: &mut Frame, area: Rect) {
    let lines = lines(&model.keymap, state.context, area.width.saturating_sub(FRAME));
    let furthest = lines.len().saturating_sub(area.height.saturating_sub(2).into());
    let scroll = state.scroll.min(furthest);
    let shown: Vec<_> = lines.iter().skip(scroll).map(|line| model.theme.line(line)).collect();
    let key = |action| model.keymap.key(Context::Help, action).unwrap_or("-").to_owned();
    let more = match furthest - scroll {
        0 => String::new(),
        below => format!("{below} more, {}/{} scroll · ", key(Action::Down), key(Action::Up)),
    };
    let foot = Line::new().dim(format!(" {more}{} closes ", key(Action::Back)));
    let title = Line::new().strong(format!(" Keys {} ", place(state.context)));
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(model.theme.style(Tone::Dim))
        .padding(Padding::horizontal(1))
        .title_top(model.theme.line(&title))
        .title_bottom(model.theme.line(&foot).right_aligned());
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(shown).block(block), area);
}

/// Keys and commands, in two columns where they fit.
fn lines(keymap: &Keymap, context: Context, columns: u16) -> Vec<Line> {
    let (keys, commands) = (keys(keymap, context), commands());
    let columns = usize::from(columns);
    let all: Vec<_> = keys.into_iter().chain([Line::new()]).chain(commands).collect();
    if columns + usize::from(FRAME) < WIDE.into() {
        return all.into_iter().map(|line| line.fit(columns)).collect();
    }
    let half = all.len().div_ceil(2);
    let width = (columns - GAP) / 2;
    let (left, right) = all.split_at(half);
    let beside = |(row, left): (usize, &Line)| {
        let left = left.clone().fit(width);
        let gap = " ".repeat(width + GAP - left.width());
        match right.get(row).map(|right| right.clone().fit(width)) {
            Some(right) if right.width() > 0 => left.plain(gap).then(right),
            Some(_) | None => left,
        }
    };
    left.iter().enumerate().map(beside).collect()
}

/// The keys that count in a context, in groups.
fn keys(keymap: &Keymap, context: Context) -> Vec<Line> {
    let mut rows: Vec<(Group, Vec<Line>)> = Vec::new();
    let mut seen = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| binding.contexts.contains(&context)) {
        let keys = keymap.keys(context, binding.action);
        if keys.is_empty() || seen.contains(&binding.action) {
            continue;
        }
        seen.push(binding.action);
        let row = vec![Line::toned(Tone::Accent, keys.join(" ")), Line::new().plain(binding.help)];
        rows.push((group(binding), row));
    }
    rows.sort_by_key(|(group, _)| *group);
    let cells: Vec<_> = rows.iter().map(|(_, row)| row.clone()).collect();
    let mut lines = Vec::new();
    let mut last = None;
    for ((group, _), line) in rows.iter().zip(table(&cells)) {
        if last != Some(*group) {
            lines.extend(last.map(|_| Line::new()));
            lines.push(Line::toned(Tone::Heading, group.title()));
            last = Some(*group);
        }
        lines.push(Line::new().plain("  ").then(line));
    }
    lines
}

fn commands() -> Vec<Line> {
    let row = |binding: &Binding| {
        let command = binding.command?;
        Some(vec![Line::toned(Tone::Accent, format!("/{command}")), Line::new().plain(binding.help)])
    };
    let rows: Vec<_> = BINDINGS.iter().filter_map(row).collect();
    let head = Line::toned(Tone::Heading, "Commands, in the composer and the palette");
    std::iter::once(head).chain(table(&rows).into_iter().map(|line| Line::new().plain("  ").then(line))).collect()
}

/// Where a row of help stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Acts,
    Moving,
    Face,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Group::Acts => "Here",
            Group::Moving => "Moving",
            Group::Face => "Anywhere",
        }
    }
}

fn group(binding: &Binding) -> Group {
    let moves = matches!(
        binding.action,
        Action::Up
            | Action::Down
            | Action::Left
            | Action::Right
            | Action::PageUp
            | Action::PageDown
            | Action::Top
            | Action::Bottom
            | Action::Open
            | Action::Back
            | Action::Parent
            | Action::NextTab
            | Action::PreviousTab
            | Action::NextNeed
            | Action::Jump
    );
    let is_anywhere = matches!(
        binding.action,
        Action::Help | Action::Palette | Action::Settings | Action::Quit | Action::Suspend | Action::Redraw
    );
    match (moves, is_anywhere) {
        (true, _) => Group::Moving,
        (false, true) => Group::Face,
        (false, false) => Group::Acts,
    }
}

fn place(context: Context) -> &'static str {
    match context {
        Context::Sessions => "of the list",
        Context::Filter => "of the filter",
        Context::Session => "of a session",
        Context::Search => "of the search",
        Context::Composer => "of the composer",
        Context::Approval => "of an approval",
        Context::Question => "of a question",
        Context::Words => "of a free answer",
        Context::Diff => "of the changes",
        Context::Comment => "of a comment",
        Context::Settings => "of the settings",
        Context::Setting => "of a setting",
        Context::Picker => "of a list to choose from",
        Context::Help => "of this help",
        Context::Confirm => "of a question",
        Context::Panel => "of a text",
    }
}
