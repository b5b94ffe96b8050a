//! A text to read over the view: what a question to the daemon brought. Nothing is changed here.
//!
//! It opens only where the person still waits for it: a key that is meant for something else must not fall into it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph};

use super::act::Step;
use super::keymap::{Action, Context};
use super::model::{Model, Overlay};
use super::msg::Request;
use super::{composer, notice};
use crate::api::permission::{Explanation, SavedPlan};
use crate::api::publish::Pull;
use crate::api::review::PreparedReview;
use crate::api::tool::ToolSurface;
use crate::look::line::{Line, Tone, one_line, visible};
use crate::look::status::count;
use crate::look::{markdown, pull, tool, verdict};

/// Wider than this, lines are hard to read.
const WIDEST: u16 = 110;
/// What the border and its padding take.
const FRAME: u16 = 4;

/// A question whose answer is a text to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// The pull request of a session; with its checks and its diff when it is to be reviewed.
    Pull {
        session: String,
        depth: Depth,
    },
    /// A plan that waits.
    Plan(SavedPlan),
    /// What would happen with a call of a session, or of a task that begins here.
    Explain {
        session: Option<String>,
        tool: String,
        arguments: Vec<String>,
    },
    Tools {
        agent: Option<String>,
        model: Option<String>,
        profile: Option<String>,
    },
    /// The agent's last response as it came.
    Raw(String),
    /// What a model said when it prepared the review of a session.
    Prepared(String),
}

/// How much of a pull request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Shown,
    Reviewed,
}

/// What a question brought.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    Pull(Pull),
    Plan { plan: SavedPlan, text: String },
    Explanation(Explanation),
    Tools(ToolSurface),
    Raw { session: String, text: Option<String> },
    Prepared { session: String, prepared: Option<PreparedReview> },
}

/// What is read, and what can be done with it.
#[derive(Debug)]
pub(crate) struct State {
    title: String,
    text: Text,
    /// What a key copies, and how it is called.
    copies: (&'static str, String),
    /// The plan that a key carries out.
    plan: Option<String>,
    scroll: usize,
}

#[derive(Debug)]
enum Text {
    Lines(Vec<Line>),
    Markdown(String),
}

/// Shows what came.
pub(crate) fn came(model: &mut Model, seen: Seen) -> Vec<Request> {
    let (title, text, copies, plan) = match seen {
        Seen::Pull(found) => {
            (format!("Pull request #{}", found.number), Text::Lines(pull::lines(&found)), ("address", found.url), None)
        }
        Seen::Plan { plan, text } => {
            (format!("Plan {}", one_line(&plan.id)), Text::Markdown(text.clone()), ("plan", text), Some(plan.id))
        }
        Seen::Explanation(explanation) => {
            let lines = verdict::lines(&explanation);
            ("Permissions".to_owned(), Text::Lines(lines.clone()), ("text", plain(&lines)), None)
        }
        Seen::Tools(surface) => {
            let lines = tool::lines(&surface);
            ("Tools".to_owned(), Text::Lines(lines.clone()), ("text", plain(&lines)), None)
        }
        Seen::Raw { text: None, .. } => {
            return notice::say(model, "no agent's response is stored yet".to_owned());
        }
        Seen::Raw { session, text: Some(text) } => {
            let lines = visible(&text).lines().map(|line| Line::new().plain(line)).collect();
            (format!("The last response of {session}, as it came"), Text::Lines(lines), ("response", text), None)
        }
        Seen::Prepared { prepared: None, .. } => {
            return notice::say(model, "no review is prepared; `/review` asks for one".to_owned());
        }
        Seen::Prepared { session, prepared: Some(prepared) } => {
            let about = prepared.focus.iter().map(|focus| format!("Focus: {focus}\n\n"));
            let found = format!("{} among the drafts.\n\n", count(prepared.findings as usize, "finding"));
            let text: String = about.chain([found, prepared.text]).collect();
            (format!("The prepared review of {session}"), Text::Markdown(text.clone()), ("text", text), None)
        }
    };
    if !model.can_be_interrupted() {
        let (what, copied) = copies;
        let said = if what == "address" { copied } else { format!("{title}: ask again when nothing is open") };
        return notice::say(model, said);
    }
    model.overlay = Some(Overlay::Panel(Box::new(State { title, text, copies, plan, scroll: 0 })));
    Vec::new()
}

fn plain(lines: &[Line]) -> String {
    lines.iter().map(|line| line.text() + "\n").collect()
}

/// Enter: carries out a plan, and closes anything else.
pub(crate) fn enter(model: &mut Model) -> Vec<Request> {
    let Some(Overlay::Panel(state)) = model.overlay.take() else { return Vec::new() };
    match state.plan {
        Some(plan) => composer::carry_out(model, plan),
        None => Vec::new(),
    }
}

pub(crate) fn copy(model: &Model) -> Vec<Request> {
    match &model.overlay {
        Some(Overlay::Panel(state)) => vec![Request::Copy(state.copies.1.clone())],
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Decide(_) | Overlay::Confirm(_)) | None => Vec::new(),
    }
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let (width, height) = (model.size.width, model.size.height);
    let Some(Overlay::Panel(state)) = &mut model.overlay else { return Vec::new() };
    let (area, rows) = laid_out(state, Rect::new(0, 0, width, height));
    let furthest = rows.len().saturating_sub(area.height.saturating_sub(2).into());
    state.scroll = step.moved(state.scroll, furthest);
    Vec::new()
}

pub(crate) fn view(model: &Model, state: &State, frame: &mut Frame, area: Rect) {
    let (area, rows) = laid_out(state, area);
    let furthest = rows.len().saturating_sub(area.height.saturating_sub(2).into());
    let scroll = state.scroll.min(furthest);
    let shown: Vec<_> = rows.iter().skip(scroll).map(|line| model.theme.line(line)).collect();
    let more = match furthest - scroll {
        0 => Line::new(),
        below => Line::new().dim(format!("… {below} more ")),
    };
    let width = usize::from(area.width.saturating_sub(FRAME));
    let title = Line::new().plain(" ").strong(state.title.as_str()).plain(" ").fit(width);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(model.theme.style(Tone::Dim))
        .padding(Padding::horizontal(1))
        .title_top(model.theme.line(&title))
        .title_bottom(model.theme.line(&keys(model, state).fit(width)))
        .title_bottom(model.theme.line(&more).right_aligned());
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(shown).block(block), area);
}

fn keys(model: &Model, state: &State) -> Line {
    let resumes = state.plan.as_ref().map(|_| (Action::Open, "carries it out".to_owned()));
    let acts = resumes
        .into_iter()
        .chain([(Action::Copy, format!("copies the {}", state.copies.0)), (Action::Back, "closes".to_owned())]);
    acts.fold(Line::new().plain(" "), |line, (action, does)| match model.keymap.key(Context::Panel, action) {
        Some(key) => line.with(Tone::Accent, key.to_owned()).plain(format!(" {does}  ")),
        None => line,
    })
}

/// Where the text stands, and its rows in that width.
fn laid_out(state: &State, area: Rect) -> (Rect, Vec<Line>) {
    let width = area.width.min(WIDEST);
    let columns = width.saturating_sub(FRAME);
    let rows: Vec<Line> = match &state.text {
        Text::Lines(lines) => lines.iter().flat_map(|line| line.wrap(columns.into())).collect(),
        Text::Markdown(text) => markdown::lines(text, columns),
    };
    let wanted = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
    let height = wanted.min(area.height);
    let (x, y) = (area.x + (area.width - width) / 2, area.y + (area.height - height) / 2);
    (Rect { x, y, width, height }, rows)
}
