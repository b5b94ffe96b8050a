//! What can be set, for the person or for the project: every key with its value and where that comes from.
//!
//! What a key takes is the daemon's word: whatever is typed is sent, and a refusal is shown.

mod item;
mod list;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::act::Step;
use super::decide::words::Words;
use super::keymap::{Context, Keymap};
use super::model::{Focus, Model, View};
use super::msg::{Request, Scope};
use super::notice;
use super::theme::{Terminal, Theme};
use crate::api::error::Error;
use crate::api::project::{Check, ConfigValue};
use crate::look::status::Signs;
use item::{Cursor, Item};
use list::Hit;

#[derive(Debug, Default)]
pub(crate) struct State {
    cursor: Cursor,
    scope: Holds,
    editing: Option<Editing>,
    /// `None` until the machine was examined.
    checks: Option<Vec<Check>>,
    /// What was told about the keys; it is told once.
    told: Vec<String>,
}

/// For whom the next change holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Holds {
    Everywhere,
    #[default]
    InProject,
}

#[derive(Debug)]
struct Editing {
    key: String,
    how: How,
}

#[derive(Debug)]
enum How {
    /// One of these.
    Choice {
        options: Vec<String>,
        cursor: usize,
    },
    Typed(Words),
}

impl State {
    pub(crate) fn context(&self) -> Context {
        if self.editing.is_some() { Context::Setting } else { Context::Settings }
    }
}

pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    model.view = View::Settings;
    model.focus = Focus::Main;
    model.settings.editing = None;
    // What is chosen here is about the work at hand; for all projects it is on purpose.
    model.settings.scope = Holds::InProject;
    let examine = model.settings.checks.is_none().then_some(Request::Doctor);
    [Request::Config].into_iter().chain(examine).collect()
}

/// Enter: turns a switch, or opens what can be chosen or typed.
pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
    let Some(Item::Setting(entry)) = in_hand(model) else { return Vec::new() };
    match &entry.value {
        serde_json::Value::Bool(is_on) => write(model, entry.key.clone(), Some((!is_on).to_string())),
        _ => {
            let options = entry.options(&model.world);
            let how = match options.is_empty() {
                true => How::Typed(Words::of(&entry.spelled())),
                false => {
                    let cursor = options.iter().position(|option| *option == entry.spelled()).unwrap_or(0);
                    How::Choice { options, cursor }
                }
            };
            model.settings.editing = Some(Editing { key: entry.key, how });
            Vec::new()
        }
    }
}

pub(crate) fn keep_edit(model: &mut Model) -> Vec<Request> {
    let Some(Editing { key, how }) = model.settings.editing.take() else { return Vec::new() };
    let value = match how {
        How::Choice { options, cursor } => options.into_iter().nth(cursor),
        How::Typed(words) => Some(words.text().trim().to_owned()),
    };
    match value {
        // Keys are taken away by writing none.
        Some(value) if value.is_empty() && key.starts_with("keys.") => write(model, key, Some("[]".to_owned())),
        Some(value) => write(model, key, Some(value)),
        None => Vec::new(),
    }
}

/// A value was not written: it is told, and what was typed is there again to be mended.
pub(crate) fn refused(model: &mut Model, key: String, value: &str, error: &Error) -> Vec<Request> {
    let is_here = match in_hand(model) {
        Some(Item::Setting(entry)) => {
            entry.key == key && !entry.value.is_boolean() && entry.options(&model.world).is_empty()
        }
        Some(Item::Check(_)) | None => false,
    };
    if is_here && model.view == View::Settings && model.settings.editing.is_none() {
        model.settings.editing = Some(Editing { key, how: How::Typed(Words::of(value)) });
    }
    notice::fail(model, "change the setting", error)
}

/// Takes the value away, so that the one below it counts.
pub(crate) fn reset(model: &mut Model) -> Vec<Request> {
    match in_hand(model) {
        Some(Item::Setting(entry)) => write(model, entry.key, None),
        Some(Item::Check(_)) | None => Vec::new(),
    }
}

pub(crate) fn switch_scope(model: &mut Model) -> Vec<Request> {
    model.settings.scope = match model.settings.scope {
        Holds::Everywhere => Holds::InProject,
        Holds::InProject => Holds::Everywhere,
    };
    Vec::new()
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    match model.settings.editing.as_mut().map(|editing| &mut editing.how) {
        Some(How::Typed(words)) => words.typed(key),
        Some(How::Choice { options, cursor }) => match key.code {
            KeyCode::Up | KeyCode::Char('k') => *cursor = cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => *cursor = (*cursor + 1).min(options.len() - 1),
            KeyCode::Home | KeyCode::Char('g') => *cursor = 0,
            KeyCode::End | KeyCode::Char('G') => *cursor = options.len() - 1,
            KeyCode::Char(digit) => {
                let place = digit.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
                *cursor = place.filter(|place| *place < options.len()).unwrap_or(*cursor);
            }
            _ => {}
        },
        None => {}
    }
    Vec::new()
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    if let Some(Editing { how: How::Typed(words), .. }) = &mut model.settings.editing {
        words.paste(&text.lines().collect::<Vec<_>>().join(" "));
    }
    Vec::new()
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let items = items(model);
    let place = model.settings.cursor.place(&items);
    let cursor = Cursor::at(&items, step.moved(place, items.len()));
    model.settings.cursor = cursor;
    Vec::new()
}

/// A click selects a row or a value; on the one in hand it is Enter. What is being typed is not left by a click.
pub(crate) fn clicked(model: &mut Model, area: Rect, at: Position) -> Vec<Request> {
    let items = items(model);
    let here = model.settings.cursor.place(&items);
    let hit = list::hit(model, &items, area, at);
    let cursor = match hit {
        Some(Hit::Item(place)) => Some(Cursor::at(&items, place)),
        Some(Hit::Choice(_)) | None => None,
    };
    match (hit, &mut model.settings.editing) {
        (Some(Hit::Choice(place)), Some(Editing { how: How::Choice { cursor, .. }, .. })) => {
            if *cursor == place {
                return keep_edit(model);
            }
            *cursor = place;
        }
        (Some(Hit::Item(place)), None) if place == here => return edit(model),
        (Some(Hit::Item(_)), None) => model.settings.cursor = cursor.unwrap_or_default(),
        (Some(Hit::Item(_) | Hit::Choice(_)), _) | (None, _) => {}
    }
    Vec::new()
}

/// The wheel moves the choice where one is made, and the rows where none is.
pub(crate) fn wheel(model: &mut Model, way: Step) -> Vec<Request> {
    match (&mut model.settings.editing, way) {
        (Some(Editing { how: How::Choice { cursor, .. }, .. }), Step::Up) => *cursor = cursor.saturating_sub(1),
        (Some(Editing { how: How::Choice { options, cursor }, .. }), Step::Down) => {
            *cursor = (*cursor + 1).min(options.len().saturating_sub(1));
        }
        (Some(_), _) => {}
        (None, way) => return step(model, way),
    }
    Vec::new()
}

pub(crate) fn checks_came(model: &mut Model, checks: Vec<Check>) -> Vec<Request> {
    model.settings.checks = Some(checks);
    Vec::new()
}

/// Theme and keys as the settings in force say; what cannot be done is told.
pub(crate) fn apply(model: &mut Model) {
    model.theme = Theme::choose(model.world.text_setting("theme"), &model.terminal);
    let (keymap, problems) = Keymap::read(&own_keys(&model.world.config));
    model.keymap = keymap;
    if problems != model.settings.told {
        if let Some(first) = problems.first() {
            let more = match problems.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            notice::warn(model, &format!("{first}{more}"));
        }
        model.settings.told = problems;
    }
}

pub(crate) fn leave_edit(model: &mut Model) {
    model.settings.editing = None;
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    list::view(model, &items(model), frame, area);
}

/// Takes the facts of the environment that the screen depends on.
pub(crate) fn look_around(model: &mut Model, variable: impl Fn(&str) -> Option<String>) {
    model.terminal = Terminal::read(&variable);
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| variable(name)).find(|set| !set.is_empty());
    // Without a word about it, a terminal of these days is taken to know Unicode.
    let speaks = locale.is_none_or(|locale| locale.to_lowercase().contains("utf"));
    let draws = !matches!(model.terminal.name.as_deref(), Some("linux" | "dumb"));
    model.signs = if speaks && draws { Signs::Unicode } else { Signs::Ascii };
    apply(model);
}

fn items(model: &Model) -> Vec<Item<'_>> {
    item::all(&model.world, model.settings.checks.as_deref().unwrap_or_default())
}

/// The row under the cursor.
fn in_hand(model: &Model) -> Option<Item<'_>> {
    let items = items(model);
    let place = model.settings.cursor.place(&items);
    items.into_iter().nth(place)
}

fn write(model: &Model, key: String, value: Option<String>) -> Vec<Request> {
    let scope = match model.settings.scope {
        Holds::InProject if !item::is_shared(&key) => Scope::Project,
        Holds::InProject | Holds::Everywhere => Scope::User,
    };
    vec![Request::SetConfig { key, value, scope }]
}

/// The keys that the person chose, by the name of the action.
fn own_keys(config: &[ConfigValue]) -> BTreeMap<String, Vec<String>> {
    let keys = config.iter().filter_map(|value| {
        let name = value.key.strip_prefix("keys.")?;
        let chosen = match &value.value {
            serde_json::Value::String(one) => vec![one.clone()],
            serde_json::Value::Array(several) => {
                several.iter().filter_map(|key| key.as_str().map(str::to_owned)).collect()
            }
            _ => return None,
        };
        Some((name.to_owned(), chosen))
    });
    keys.collect()
}
