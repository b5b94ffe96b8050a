//! The parts of a session on the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::panel::{self, Panel};
use super::search::Search;
use super::{child, header};
use crate::api::session::Session;
use crate::look::line::{Line, Tone, columns_of};
use crate::tui::keymap::{Action, Context};
use crate::tui::model::{Model, View};
use crate::tui::transcript::{Delegation, Needle, Part, Transcript};

/// Columns left of the transcript; the mark of the selected card stands in them.
const GUTTER: u16 = 3;

/// Columns right of it.
const MARGIN: u16 = 1;

struct Parts {
    header: Rect,
    banner: Rect,
    body: Rect,
    panel: Rect,
    search: Rect,
}

/// Lays out what is about to be seen of the transcript.
pub(crate) fn prepare(model: &mut Model, area: Rect) {
    let body = parts(model, area).body;
    model.session.body = body;
    let View::Session(id) = &model.view else { return };
    if let Some(transcript) = model.transcripts.get_mut(id) {
        transcript.prepare(text(body).width, body.height);
    }
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    let View::Session(id) = &model.view else { return };
    let parts = parts(model, area);
    let Some(session) = model.world.sessions.get(id) else {
        let said = if model.world.is_listed { "this session is not there any more" } else { "loading…" };
        return draw(model, frame, text(area), 0, &Line::new().dim(said));
    };
    draw(model, frame, parts.header, 0, &header::line(model, session, parts.header.width));
    let transcript = model.transcripts.get(id);
    if let Some(banner) = banner(model, session, transcript) {
        draw(model, frame, parts.banner, 0, &banner);
    }
    match transcript {
        Some(transcript) if transcript.is_loaded() || transcript.shown().next().is_some() => {
            rows(model, session, transcript, frame, parts.body);
        }
        Some(_) | None => draw(model, frame, text(parts.body), 0, &Line::new().dim("loading…")),
    }
    let panel = text(parts.panel);
    if panel.height > 0 {
        let lines = panel::rows(session, panel.width);
        let is_cut = lines.len() > panel.height.into();
        (0..panel.height).zip(&lines).for_each(|(row, line)| draw(model, frame, panel, row, line));
        if is_cut {
            draw(
                model,
                frame,
                Rect { x: panel.right() - 1, width: 1, ..panel },
                panel.height - 1,
                &Line::new().dim("…"),
            );
        }
    }
    if let Some(search) = &model.session.search {
        draw(model, frame, parts.search, 0, &search.line());
    }
}

fn parts(model: &Model, area: Rect) -> Parts {
    let session = match &model.view {
        View::Session(id) => model.world.sessions.get(id),
        View::Sessions | View::Review(_) | View::Settings => None,
    };
    let banner = session.and_then(|session| banner(model, session, model.transcripts.get(&session.id)));
    let panel = match (model.session.panel, session) {
        (Panel::Shown, Some(session)) => panel::rows(session, text(area).width).len(),
        (Panel::Shown, None) | (Panel::Hidden, _) => 0,
    };
    let panel = u16::try_from(panel).unwrap_or(u16::MAX).min(area.height / 2);
    let [header, banner, body, panel, search] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(banner.is_some())),
        Constraint::Min(1),
        Constraint::Length(panel),
        Constraint::Length(u16::from(model.session.search.is_some())),
    ])
    .areas(area);
    Parts { header, banner, body, panel, search }
}

fn banner(model: &Model, session: &Session, transcript: Option<&Transcript>) -> Option<Line> {
    header::banner(model, session, transcript.and_then(Transcript::plan))
}

fn rows(model: &Model, session: &Session, transcript: &Transcript, frame: &mut Frame, body: Rect) {
    let area = text(body);
    let needle = model.session.search.as_ref().and_then(Search::needle);
    for (row, shown) in (0..area.height).zip(transcript.shown()) {
        let made;
        let line = match shown.part {
            Part::Folded(line) if shown.is_selected => {
                made = with_key(model, line.clone(), Action::Expand, "expands", area.width);
                &made
            }
            Part::Line(line) | Part::Folded(line) => line,
            Part::Child(delegation) if shown.is_selected => {
                made = selected_child(model, session, delegation, area.width);
                &made
            }
            Part::Child(delegation) => {
                made = child::row(model, session, delegation).fit(area.width.into());
                &made
            }
        };
        draw(model, frame, area, row, line);
        if shown.is_selected && area.x > body.x + 1 {
            draw(model, frame, Rect { x: area.x - 2, width: 1, ..body }, row, &Line::toned(Tone::Accent, "▌"));
        }
        if let Some(needle) = &needle {
            mark(model, frame, area, row, &line.text(), needle);
        }
    }
    if !transcript.is_following() && area.height > 1 {
        below(model, frame, area);
    }
}

/// Says that there is more below: a sign beside the text, and its key where the text leaves room.
fn below(model: &Model, frame: &mut Frame, area: Rect) {
    let row = area.height - 1;
    draw(model, frame, Rect { x: area.right(), width: MARGIN, ..area }, row, &Line::new().dim("↓"));
    let Some(key) = model.keymap.key(Context::Session, Action::Bottom) else { return };
    let hint = Line::new().dim(format!("  {key} follows "));
    let width = u16::try_from(hint.width()).unwrap_or(u16::MAX);
    let Some(x) = area.right().checked_sub(width).filter(|x| *x >= area.x) else { return };
    let mut cells = (x..area.right()).map(|x| (x, area.y + row));
    if cells.all(|at| frame.buffer_mut().cell(at).is_some_and(|cell| cell.symbol() == " ")) {
        draw(model, frame, Rect { x, width, ..area }, row, &hint);
    }
}

/// The row of a child with the key that goes to it.
fn selected_child(model: &Model, session: &Session, delegation: &Delegation, width: u16) -> Line {
    let key = model.keymap.key(Context::Session, Action::Open);
    let hint = key.map(|key| format!("  {key} opens")).unwrap_or_default();
    let room = usize::from(width).saturating_sub(columns_of(&hint));
    child::row(model, session, delegation).fit(room).dim(hint)
}

/// A row that ends with the key of an act.
fn with_key(model: &Model, line: Line, action: Action, does: &str, width: u16) -> Line {
    let key = model.keymap.key(Context::Session, action);
    let hint = key.map(|key| format!("  {key} {does}")).unwrap_or_default();
    let room = usize::from(width).saturating_sub(columns_of(&hint));
    let line = line.fit(room);
    let gap = room.saturating_sub(line.width());
    line.plain(" ".repeat(gap)).dim(hint)
}

/// Makes the matches of a row stand out.
fn mark(model: &Model, frame: &mut Frame, area: Rect, row: u16, text: &str, needle: &Needle) {
    for (from, to) in needle.parts(text) {
        let x = u16::try_from(columns_of(&text[..from])).unwrap_or(u16::MAX);
        let width = u16::try_from(columns_of(&text[from..to])).unwrap_or(u16::MAX);
        let place = Rect { x: area.x.saturating_add(x), y: area.y + row, width, height: 1 };
        frame.buffer_mut().set_style(place.intersection(area), model.theme.selected());
    }
}

/// Writes a line into a row of an area.
fn draw(model: &Model, frame: &mut Frame, area: Rect, row: u16, line: &Line) {
    let area = area.intersection(frame.area());
    if row < area.height && area.width > 0 {
        frame.buffer_mut().set_line(area.x, area.y + row, &model.theme.line(line), area.width);
    }
}

/// The columns in which text stands.
fn text(area: Rect) -> Rect {
    let gutter = GUTTER.min(area.width / 4);
    let width = area.width.saturating_sub(gutter + MARGIN).max(1).min(area.width);
    Rect { x: area.x + gutter, width, ..area }
}
