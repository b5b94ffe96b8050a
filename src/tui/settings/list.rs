//! The settings on the screen: the list, and below it what the row under the cursor means or is being changed to.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::widgets::Paragraph;

use super::item::{Entry, Item, is_shared};
use super::{Editing, Holds, How};
use crate::api::project::{Check, CheckState};
use crate::look::line::{Line, Tone, columns_of, cut, one_line, visible};
use crate::tui::decide::words::Words;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::Model;

/// What the name of a setting takes.
const NAME: usize = 34;
/// What a value takes where its origin stands beside it.
const VALUE: usize = 30;
/// The row under the cursor is explained in so many rows; what was found out about the machine may take more.
const ABOUT: u16 = 4;
/// So many choices are seen at once.
const CHOICES: usize = 8;

/// Where everything stands: the title, the rows, and what is below them.
fn parts(model: &Model, item: Option<&Item<'_>>, area: Rect) -> [Rect; 3] {
    let foot = match model.settings.editing.as_ref().map(|editing| &editing.how) {
        Some(How::Choice { options, .. }) => u16::try_from(options.len().min(CHOICES) + 2).unwrap_or(ABOUT),
        Some(How::Typed(words)) => {
            u16::try_from(words.rows(usize::from(area.width.saturating_sub(4))) + 2).unwrap_or(ABOUT)
        }
        None => match item {
            Some(check @ Item::Check(_)) => {
                let rows = u16::try_from(about(model, check, area.width).len()).unwrap_or(u16::MAX);
                rows.clamp(ABOUT, (area.height / 2).max(ABOUT))
            }
            Some(Item::Setting(_)) | None => ABOUT,
        },
    };
    Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(foot)]).areas(area)
}

/// What lies at a place of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// A row of the list.
    Item(usize),
    /// What the setting in hand can be set to.
    Choice(usize),
}

pub(super) fn hit(model: &Model, items: &[Item<'_>], area: Rect, at: Position) -> Option<Hit> {
    let cursor = model.settings.cursor.place(items);
    let [_, list, foot] = parts(model, items.get(cursor), area);
    if list.contains(at) {
        let places = places(items);
        let row = first(&places, cursor, list.height) + usize::from(at.y - list.y);
        return places.get(row).copied().flatten().map(Hit::Item);
    }
    match model.settings.editing.as_ref().map(|editing| &editing.how) {
        Some(How::Choice { options, cursor }) if foot.contains(at) => {
            // Above the choices are a rule and the name of the setting.
            let row = usize::from(at.y - foot.y).checked_sub(2)?;
            let place = first_choice(options.len(), *cursor) + row;
            (place < options.len()).then_some(Hit::Choice(place))
        }
        Some(How::Choice { .. } | How::Typed(_)) | None => None,
    }
}

pub(super) fn view(model: &Model, items: &[Item<'_>], frame: &mut Frame, area: Rect) {
    let cursor = model.settings.cursor.place(items);
    let [head, list, foot] = parts(model, items.get(cursor), area);
    let draw = |frame: &mut Frame, lines: &[Line], area: Rect| {
        let lines: Vec<_> = lines.iter().map(|line| model.theme.line(line)).collect();
        frame.render_widget(Paragraph::new(lines), area);
    };
    draw(frame, &[title(model, items.get(cursor))], head);
    rows(model, items, cursor, frame, list);
    match (&model.settings.editing, items.get(cursor)) {
        (Some(Editing { key, how: How::Typed(words) }), _) => typed(model, key, words, frame, foot),
        (Some(Editing { key, how: How::Choice { options, cursor } }), _) => {
            draw(frame, &choices(model, key, options, *cursor, area.width), foot);
        }
        (None, Some(item)) => {
            let mut lines = about(model, item, area.width);
            let room = usize::from(foot.height);
            if lines.len() > room {
                // The last line says what can be done about it.
                lines.drain(room.saturating_sub(1)..lines.len() - 1);
            }
            draw(frame, &lines, foot);
        }
        (None, None) => draw(frame, &[rule(area.width), Line::new().dim(" reading the settings…")], foot),
    }
}

/// For whom a change of the row under the cursor holds.
fn title(model: &Model, item: Option<&Item<'_>>) -> Line {
    let head = Line::new().strong(" Settings").plain("  changes hold ");
    if matches!(item, Some(Item::Setting(entry)) if is_shared(&entry.key)) {
        return head.with(Tone::Accent, "for the whole machine");
    }
    let key = model.keymap.key(Context::Settings, Action::SwitchScope).unwrap_or("-");
    let (here, there) = match model.settings.scope {
        Holds::Everywhere => ("for you, in all projects", "for you, in this project"),
        Holds::InProject => ("for you, in this project", "for you, in all projects"),
    };
    head.with(Tone::Accent, here).dim(format!("  {key} {there}"))
}

/// Which item stands in which row; the head of a group stands above its first.
fn places(items: &[Item<'_>]) -> Vec<Option<usize>> {
    let mut group = "";
    let mut places = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        if item.group() != group {
            group = item.group();
            places.push(None);
        }
        places.push(Some(place));
    }
    places
}

/// The first row that is seen: the cursor stays in the middle.
fn first(places: &[Option<usize>], cursor: usize, height: u16) -> usize {
    let at = places.iter().position(|place| *place == Some(cursor)).unwrap_or(0);
    let room = usize::from(height);
    at.saturating_sub(room / 2).min(places.len().saturating_sub(room))
}

/// The rows around the cursor, with the heads of their groups.
fn rows(model: &Model, items: &[Item<'_>], cursor: usize, frame: &mut Frame, area: Rect) {
    let width = usize::from(area.width);
    let places = places(items);
    let first = first(&places, cursor, area.height);
    let seen = places.iter().enumerate().skip(first).take(usize::from(area.height));
    let styled = seen.map(|(at, place)| {
        let is_here = *place == Some(cursor);
        let line = match place.or_else(|| places.get(at + 1).copied().flatten()).and_then(|place| items.get(place)) {
            Some(item) if place.is_some() => row(item, width),
            Some(item) => Line::toned(Tone::Heading, format!(" {}", one_line(item.group()).to_uppercase())),
            None => Line::new(),
        };
        let mark = if is_here { "›" } else { " " };
        let line = Line::toned(Tone::Accent, mark).then(line).fit(width);
        let padding = if is_here { " ".repeat(width.saturating_sub(line.width())) } else { String::new() };
        let styled = model.theme.line(&line.plain(padding));
        if is_here { styled.patch_style(model.theme.selected()) } else { styled }
    });
    frame.render_widget(Paragraph::new(styled.collect::<Vec<_>>()), area);
}

fn row(item: &Item<'_>, width: usize) -> Line {
    match item {
        Item::Setting(entry) => setting(entry, width),
        Item::Check(check) => {
            let (tone, word) = verdict(check);
            padded(Line::new().plain(format!(" {}", one_line(&check.name))), NAME)
                .with(tone, word)
                .plain(format!("  {}", one_line(&check.detail)))
        }
    }
}

fn setting(entry: &Entry, width: usize) -> Line {
    let name = padded(Line::new().plain(format!(" {}", one_line(entry.label()))), NAME);
    let value = Line::new().plain(one_line(&entry.shown()));
    let left = width.saturating_sub(NAME + 1);
    let from = match (entry.ignored.is_some(), entry.origin.as_str()) {
        (true, _) => Line::toned(Tone::Warn, "a value does not count"),
        (false, "default") => Line::new().dim("default"),
        (false, origin) => Line::toned(Tone::Accent, file(origin, left.saturating_sub(VALUE))),
    };
    match left > VALUE + 8 {
        true => name.then(padded(value.fit(VALUE - 1), VALUE)).then(from),
        false => name.then(value),
    }
}

/// As much of the end of a path as fits in a row: several files are called `config.toml`. The whole stands below.
fn file(origin: &str, columns: usize) -> String {
    let origin = one_line(origin);
    let ends = origin.match_indices('/').map(|(at, _)| format!("…{}", &origin[at..]));
    let found = std::iter::once(origin.clone()).chain(ends).find(|name| columns_of(name) <= columns);
    found.unwrap_or_else(|| origin.rsplit('/').next().unwrap_or_default().to_owned())
}

fn padded(line: Line, columns: usize) -> Line {
    let line = line.fit(columns.saturating_sub(1));
    let gap = " ".repeat(columns.saturating_sub(line.width()));
    line.plain(gap)
}

fn verdict(check: &Check) -> (Tone, &'static str) {
    match check.state {
        CheckState::Good => (Tone::Good, "good"),
        CheckState::Absent => (Tone::Dim, "none"),
        CheckState::Warning => (Tone::Warn, "warn"),
        CheckState::Bad => (Tone::Bad, "bad "),
    }
}

/// What the row means, and where its value comes from.
fn about(model: &Model, item: &Item<'_>, width: u16) -> Vec<Line> {
    let columns = usize::from(width.saturating_sub(2));
    let mut lines = Vec::new();
    match item {
        Item::Setting(entry) => {
            lines.extend(Line::new().plain(one_line(&entry.about)).wrap(columns));
            lines.extend(entry.ignored.iter().flat_map(|why| Line::toned(Tone::Warn, one_line(why)).wrap(columns)));
            let key = |action| model.keymap.key(Context::Settings, action).unwrap_or("-").to_owned();
            lines.push(Line::new().dim(format!(
                "{} · from {} · {} changes · {} resets",
                one_line(&entry.key),
                one_line(&entry.origin),
                key(Action::Open),
                key(Action::ResetSetting)
            )));
        }
        Item::Check(check) => {
            lines.extend(visible(&check.detail).lines().flat_map(|line| Line::new().plain(line).wrap(columns)));
            let hint = check.hint.iter().map(|hint| Line::toned(Tone::Accent, "hint: ").plain(one_line(hint)));
            lines.extend(hint.flat_map(|hint| hint.wrap(columns)));
        }
    }
    std::iter::once(rule(width)).chain(lines.into_iter().map(|line| Line::new().plain(" ").then(line))).collect()
}

/// The first choice that is seen.
fn first_choice(count: usize, cursor: usize) -> usize {
    cursor.saturating_sub(CHOICES / 2).min(count.saturating_sub(CHOICES))
}

fn choices(model: &Model, key: &str, options: &[String], cursor: usize, width: u16) -> Vec<Line> {
    let first = first_choice(options.len(), cursor);
    let option = |(place, option): (usize, &String)| {
        let text = if option.is_empty() { "- (left open)".to_owned() } else { one_line(option) };
        match place == cursor {
            true => Line::toned(Tone::Accent, " › ").strong(text),
            false => Line::new().plain(format!("   {text}")),
        }
    };
    let shown = options.iter().enumerate().skip(first).take(CHOICES).map(option);
    [rule(width), head(model, key)].into_iter().chain(shown).collect()
}

fn typed(model: &Model, key: &str, words: &Words, frame: &mut Frame, area: Rect) {
    let lines = [rule(area.width), head(model, key), Line::toned(Tone::Accent, " › ")];
    let lines: Vec<_> = lines.iter().map(|line| model.theme.line(line)).collect();
    frame.render_widget(Paragraph::new(lines), area);
    let editor = Rect {
        x: area.x.saturating_add(3),
        y: area.y.saturating_add(2),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    };
    words.view(frame, editor.intersection(area));
}

fn head(model: &Model, key: &str) -> Line {
    let name = |action| model.keymap.key(Context::Setting, action).unwrap_or("-").to_owned();
    let keys = format!("  {} sets, {} leaves it", name(Action::Open), name(Action::Back));
    Line::new().plain(" ").strong(one_line(key)).dim(keys)
}

fn rule(width: u16) -> Line {
    Line::new().dim(cut(&"─".repeat(width.into()), width.into()))
}
