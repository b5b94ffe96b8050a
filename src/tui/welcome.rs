//! The first thing that a person sees of a repository without sessions: what to ask for, who could work, what is missing.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::act::Step;
use super::keymap::{Action, Context};
use super::model::{Focus, Model, View};
use super::msg::Request;
use super::{bar, composer, login};
use crate::api::project::{Backend, ListedBy};
use crate::look::line::{Line, Tone, one_line, table};
use crate::look::status;

#[cfg(test)]
mod tests;

/// Prompts that make sense in any repository.
const EXAMPLES: [&str; 3] = [
    "Write down how this repository is built and tested",
    "Find the riskiest code without tests, and write its tests",
    "Find a bug that nobody has noticed, prove it with a test, and fix it",
];

#[derive(Debug, Default)]
pub(crate) struct State {
    example: usize,
}

/// A line of the welcome.
struct Row {
    line: Line,
    example: Option<usize>,
}

/// Whether there is nothing to list, and that is known.
pub(crate) fn is_shown(model: &Model) -> bool {
    model.view == View::Sessions && model.world.is_listed && model.world.sessions.is_empty()
}

/// Whether it is not known yet what a person who begins could bring along.
pub(crate) fn wants_servers(model: &Model) -> bool {
    is_shown(model) && model.world.importable_servers.is_none()
}

/// Whether somebody could do a task.
pub(crate) fn offers(model: &Model) -> bool {
    let is_usable = |backend: &Backend| !backend.scripted && backend.problem.is_none();
    model.world.backends.as_ref().is_none_or(|backends| backends.iter().any(is_usable))
}

/// Puts the example under the cursor into the composer.
pub(crate) fn choose(model: &mut Model) -> Vec<Request> {
    propose(model, model.sessions.welcome.example)
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let example = &mut model.sessions.welcome.example;
    *example = match step {
        Step::Up => example.saturating_sub(1),
        Step::Down => (*example + 1).min(EXAMPLES.len() - 1),
        Step::Top | Step::PageUp => 0,
        Step::Bottom | Step::PageDown => EXAMPLES.len() - 1,
        Step::Left | Step::Right => *example,
    };
    Vec::new()
}

/// A digit chooses its example.
pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    match key.code {
        KeyCode::Char(digit) if is_shown(model) && key.modifiers.is_empty() => match digit.to_digit(10) {
            Some(number @ 1..) => propose(model, number as usize - 1),
            Some(0) | None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Chooses what lies at this place of the screen.
pub(crate) fn clicked(model: &mut Model, area: Rect, at: Position) -> Vec<Request> {
    let line = at.y.checked_sub(area.y).map(usize::from);
    match line.and_then(|line| rows(model).into_iter().nth(line)).and_then(|row| row.example) {
        Some(example) => propose(model, example),
        None => Vec::new(),
    }
}

fn propose(model: &mut Model, example: usize) -> Vec<Request> {
    match EXAMPLES.get(example) {
        Some(text) if offers(model) => {
            model.sessions.welcome.example = example;
            composer::propose(model, text)
        }
        Some(_) | None => Vec::new(),
    }
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    for (row, area) in rows(model).into_iter().zip(area.rows()) {
        frame.render_widget(model.theme.line(&row.line.fit(usize::from(area.width))), area);
        if row.example == Some(model.sessions.welcome.example) && model.focus == Focus::Main {
            frame.buffer_mut().set_style(area, model.theme.selected());
        }
    }
}

fn rows(model: &Model) -> Vec<Row> {
    let backends = model.world.backends.as_deref();
    let agents = agents(backends);
    let mut rows = vec![text(Line::new())];
    if !offers(model) {
        rows.push(text(Line::new().strong("No agent is installed here yet. One of these is enough:")));
        rows.push(text(Line::new()));
        rows.extend(agents.into_iter().map(text));
        rows.push(text(Line::new()));
        rows.extend(tour(model).into_iter().map(text));
        return rows;
    }
    rows.push(text(invitation(model)));
    rows.push(text(Line::new()));
    rows.extend(EXAMPLES.iter().enumerate().map(|(index, example)| Row {
        line: Line::new().plain("   ").with(Tone::Accent, (index + 1).to_string()).plain(format!("  {example}")),
        example: Some(index),
    }));
    rows.push(text(Line::new()));
    rows.push(text(Line::new().strong("Who can work")));
    rows.extend(agents.into_iter().map(text));
    rows.push(text(Line::new()));
    rows.extend(
        untrusted(model).into_iter().chain(importable(model)).chain(seedable(model)).chain(tour(model)).map(text),
    );
    rows
}

/// How to begin: by writing, or with one of the examples.
fn invitation(model: &Model) -> Line {
    let (context, action) = match model.focus {
        Focus::Composer => (Context::Composer, Action::Back),
        Focus::Main => (Context::Sessions, Action::NewTask),
    };
    let head = Line::new().strong("No session yet. ");
    match (model.focus, bar::key(model, context, action)) {
        (Focus::Composer, Some(key)) => head
            .strong("Describe a task below, or begin with one of these: ")
            .with(Tone::Accent, key)
            .dim(", then its number."),
        (Focus::Main, Some(key)) => {
            head.strong("Begin with one of these tasks; ").with(Tone::Accent, key).dim(" describes one of your own.")
        }
        (Focus::Composer | Focus::Main, None) => head.strong("Begin with one of these tasks:"),
    }
}

fn text(line: Line) -> Row {
    Row { line: Line::new().plain(" ").then(line), example: None }
}

/// Who is installed, and how to get who is not.
fn agents(backends: Option<&[Backend]>) -> Vec<Line> {
    let Some(backends) = backends else { return vec![Line::new().dim("  asking the installed agents…")] };
    let rows: Vec<_> = backends.iter().filter(|backend| !backend.scripted).map(agent).collect();
    match rows.as_slice() {
        [] => vec![Line::new().dim("  no agent is configured: see `coppice config path`")],
        rows => table(rows),
    }
}

fn agent(backend: &Backend) -> Vec<Line> {
    let said = |text: &Option<String>| text.as_deref().map(one_line).unwrap_or_default();
    let sign = match (&backend.problem, &backend.note) {
        (None, None) => Line::new().plain("  ").with(Tone::Good, "✓"),
        // It is there, but it did not get as far as telling its models.
        (None, Some(_)) => Line::new().plain("  ").with(Tone::Warn, "◆"),
        (Some(_), _) => Line::new().plain("  ").dim("✗"),
    };
    let state = match (&backend.problem, &backend.program, &backend.install) {
        (None, ..) => match (&backend.note, &backend.warning) {
            (Some(note), _) => noted(note, backend.login.as_deref()),
            (None, Some(warning)) => Line::toned(Tone::Warn, one_line(warning)),
            (None, None) => Line::new().dim(match (backend.listed_by, backend.models.len()) {
                (_, 0) | (ListedBy::Table, _) => "installed".to_owned(),
                (ListedBy::Agent | ListedBy::Configuration, models) => status::count(models, "model"),
            }),
        },
        (Some(_), None, Some(install)) => Line::new().dim("not installed: ").plain(one_line(install)),
        (Some(problem), None, None) => Line::toned(Tone::Bad, one_line(problem)),
        (Some(problem), Some(_), install) => {
            let remedy = install.as_deref().map(|install| format!("; {}", one_line(install))).unwrap_or_default();
            Line::toned(Tone::Bad, one_line(problem)).plain(remedy)
        }
    };
    vec![sign, Line::new().strong(one_line(&backend.name)), Line::new().dim(said(&backend.version)), state]
}

/// Why an agent that is there does not answer, and the command that logs in where that is what it lacks.
fn noted(note: &str, login: Option<&str>) -> Line {
    let note = one_line(note);
    let note = note.trim_end_matches('.');
    let line = Line::toned(Tone::Warn, note);
    match login.map(one_line) {
        Some(login) if login::asks(note) && !note.contains(&login) => line.dim(": ").plain(login).dim(" logs in"),
        Some(_) | None => line,
    }
}

/// The tour needs nobody's account.
fn tour(model: &Model) -> Option<Line> {
    let key = match model.focus {
        Focus::Composer => "/demo".to_owned(),
        Focus::Main => bar::key(model, Context::Sessions, Action::Demo)?,
    };
    Some(Line::toned(Tone::Accent, key).dim(" plays a tour with scripted agents: no account, no cost"))
}

/// What the repository wants and does not get until the person agrees.
fn untrusted(model: &Model) -> Option<Line> {
    // The reason ends the sentence that the daemon says.
    let is_untrusted = |reason: &String| reason.ends_with("untrusted");
    let waits = model.world.config.iter().filter_map(|value| value.ignored.as_ref()).any(is_untrusted);
    waits.then(|| {
        let head = Line::toned(Tone::Warn, "This repository asks for more than it gets: ");
        head.with(Tone::Accent, "/trust").dim(" shows what, and agrees")
    })
}

/// That somebody without agents of their own can begin with copies of the built-in ones.
fn seedable(model: &Model) -> Option<Line> {
    let has = |scope: &str| model.world.agents.iter().any(|agent| agent.source.scope == scope);
    let offer = Line::new().plain("You have no agents of your own: ").with(Tone::Accent, "coppice agents init");
    (has("builtin") && !has("user")).then(|| offer.dim(" copies the built-in ones, to change them"))
}

/// What the person has elsewhere and could have here.
fn importable(model: &Model) -> Option<Line> {
    let count = model.world.importable_servers.filter(|count| *count > 0)?;
    let head = Line::new().plain(format!("Your agents have {}: ", status::count(count, "MCP server")));
    Some(head.with(Tone::Accent, "coppice mcp import").dim(" lists what sessions can use"))
}
