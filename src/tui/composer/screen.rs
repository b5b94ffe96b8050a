//! How the composer looks: a rule that says who is written to and what it runs with, the text, and what completes it.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::widgets::{Clear, Paragraph, Widget};
use ratatui_textarea::{CursorMove, TextArea};

use super::choice::{finds_nobody, in_force};
use super::draft::Draft;
use super::popup::{Kind, Popup};
use super::{Target, target};
use crate::api::session::{Approval, Status};
use crate::look::line::{Line, Tone, cut, one_line, visible};
use crate::look::status;
use crate::tui::bar;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::{Focus, Model};

const FOR_A_TASK: &str = "Describe the next task, or / for commands";
const TO_A_SESSION: &str = "Write to this session, or / for commands";
const BEGIN_TASK: &str = "new task";
const BEGIN_REPLY: &str = "write to this session";
const PROMPT: &str = " › ";
const QUEUED: &str = "queued: sends when the turn ends";

/// More columns of a call that waits are cut.
const NAMED_CALL: usize = 28;

/// The columns before the text.
const INDENT: u16 = 3;

/// How many rows it takes, its rule included: as many as the text, up to a third of the screen.
pub(crate) fn height(model: &Model, width: u16) -> u16 {
    let most = (model.size.height / 3).max(1);
    let draft = model.composer.drafts.get(&target(model)).filter(|_| model.focus == Focus::Composer);
    let rows = draft.map_or(1, |draft| rows(draft, width.saturating_sub(INDENT + 1), most));
    let chips = draft.is_some_and(|draft| !draft.with.is_empty());
    1 + rows + u16::from(chips)
}

/// How many rows the text takes when it is wrapped, counted no further than `most`.
fn rows(draft: &Draft, width: u16, most: u16) -> u16 {
    let lines = draft.area.lines();
    if lines.len() >= usize::from(most) || width == 0 {
        return most;
    }
    // The widget alone knows how it wraps, and it tells where its cursor stands.
    let mut measured = TextArea::from(lines.iter().map(String::as_str));
    measured.set_wrap_mode(draft.area.wrap_mode());
    let area = Rect::new(0, 0, width, 1);
    measured.render(area, &mut Buffer::empty(area));
    measured.move_cursor(CursorMove::Bottom);
    measured.move_cursor(CursorMove::End);
    u16::try_from(measured.screen_cursor().row + 1).unwrap_or(most).min(most)
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    if area.is_empty() {
        return;
    }
    let target = target(model);
    let draft = model.composer.drafts.get(&target);
    let theme = model.theme;
    let mut area = area;
    let mut row = |line: Line| {
        let line = theme.line(&line.fit(usize::from(area.width)));
        frame.render_widget(Paragraph::new(line), Rect { height: area.height.min(1), ..area });
        area = Rect { y: area.y + area.height.min(1), height: area.height.saturating_sub(1), ..area };
    };
    row(rule(model, &target, usize::from(model.size.width)));
    if model.focus == Focus::Main {
        return row(invitation(model, &target, draft));
    }
    if let Some(draft) = draft.filter(|draft| !draft.with.is_empty()) {
        row(chips(model, draft));
    }
    if !area.is_empty() {
        write(model, &target, draft, frame, area);
    }
    if let Some(popup) = model.composer.popup.as_ref().filter(|_| model.focus == Focus::Composer) {
        complete(model, popup, frame);
    }
}

/// `── to Rate limiter ──── queued: sends when the turn ends · builder · claude/opus · high ──`
fn rule(model: &Model, target: &Target, width: usize) -> Line {
    let (who, tone) = match (target, model.focus) {
        (_, Focus::Main) => (String::new(), Tone::Dim),
        (Target::Task, Focus::Composer) => (BEGIN_TASK.to_owned(), Tone::Accent),
        (Target::Session(id), Focus::Composer) => match model.world.sessions.get(id) {
            Some(session) => (format!("to {}", cut(&status::title(session), width / 3)), Tone::Accent),
            None => (format!("to {}", one_line(id)), Tone::Accent),
        },
    };
    let who = if who.is_empty() { Line::new() } else { Line::new().plain(" ").strong(who).plain(" ") };
    let settings = match finds_nobody(model, target) {
        true => {
            let key = model.keymap.key(model.context(), Action::Model).unwrap_or("/model");
            Line::toned(Tone::Warn, "no agent installed").dim(format!(" · {key} chooses"))
        }
        false => in_force(model, target).line(),
    };
    let news = news(model, target);
    let both = match (news.width(), settings.width()) {
        (0, _) => settings,
        (_, 0) => news.clone(),
        (_, _) => news.clone().dim(" · ").then(settings),
    };
    // What is about to happen matters more than what is set.
    let right = [both, news].into_iter().find(|right| who.width() + right.width() + 8 <= width).unwrap_or_default();
    let right = if right.width() == 0 { right } else { Line::new().plain(" ").then(right).plain(" ") };
    let fill = width.saturating_sub(who.width() + right.width() + 4);
    let line = |length: usize| Line::toned(tone, "─".repeat(length));
    line(2).then(who).then(line(fill)).then(right).then(line(2))
}

/// What stands in the place of the text while letters are shortcuts: the key that begins to write, and the draft.
fn invitation(model: &Model, target: &Target, draft: Option<&Draft>) -> Line {
    let (context, action, word) = match target {
        Target::Task => (Context::Sessions, Action::NewTask, BEGIN_TASK),
        Target::Session(_) => (Context::Session, Action::Reply, BEGIN_REPLY),
    };
    let key = bar::key(model, context, action).unwrap_or_default();
    let line = Line::new().plain(" ").with(Tone::Accent, key).dim(format!("  {word}"));
    let draft = draft.map(|draft| one_line(draft.text().trim())).filter(|text| !text.is_empty());
    match draft {
        Some(text) => line.dim(format!(" · draft: {text}")),
        None => line,
    }
}

/// What happens with a prompt besides being sent.
fn news(model: &Model, target: &Target) -> Line {
    if model.composer.sent.values().any(|sent| sent.target == *target) {
        return Line::new().dim("sending…");
    }
    let session = target.session().and_then(|id| model.world.sessions.get(id));
    if let Some(approval) = session.and_then(|session| session.approvals.first()) {
        return awaited(model, approval);
    }
    let works = |status: Status| status.is_busy() || status == Status::Approval;
    match session.is_some_and(|session| works(session.status)) {
        true => Line::toned(Tone::Warn, QUEUED),
        false => Line::new(),
    }
}

/// What waits for a decision while somebody writes, and the keys to it.
fn awaited(model: &Model, approval: &Approval) -> Line {
    let keys = [(Context::Composer, Action::Back), (Context::Session, Action::Approve)];
    let keys: Vec<_> = keys.iter().filter_map(|(context, action)| bar::key(model, *context, *action)).collect();
    let call = cut(&one_line(&approval.title), NAMED_CALL);
    Line::toned(Tone::Warn, format!("{call} waits for you: {}", keys.join(", then ")))
}

/// The results that go with the prompt.
fn chips(model: &Model, draft: &Draft) -> Line {
    let name = |handoff: &String| {
        let child = model.world.sessions.values().find(|session| session.handoff.as_ref() == Some(handoff));
        child.map_or_else(|| one_line(handoff), status::title)
    };
    let names = draft.with.iter().map(|handoff| format!("[{}]", name(handoff))).collect::<Vec<_>>().join(" ");
    Line::new().dim("   with the result of ").with(Tone::Accent, names).dim("  ⌫ at the start takes it out")
}

fn write(model: &Model, target: &Target, draft: Option<&Draft>, frame: &mut Frame, area: Rect) {
    let theme = model.theme;
    let is_focused = model.overlay.is_none();
    let prompt = if is_focused { Line::toned(Tone::Accent, PROMPT) } else { Line::new().dim(PROMPT) };
    frame.render_widget(Paragraph::new(theme.line(&prompt)), Rect { width: area.width.min(INDENT), height: 1, ..area });
    let text = Rect { x: area.x + area.width.min(INDENT), width: area.width.saturating_sub(INDENT + 1), ..area };
    if text.is_empty() {
        return;
    }
    let is_empty = draft.is_none_or(|draft| draft.area.is_empty());
    match draft.filter(|_| !is_empty) {
        Some(draft) => {
            frame.render_widget(&draft.area, text);
            disarm(frame.buffer_mut(), text);
            let (top, _) = draft.area.scroll_offset();
            let cursor = draft.area.screen_cursor();
            let row = u16::try_from(cursor.row).unwrap_or(u16::MAX).saturating_sub(top);
            let column = u16::try_from(cursor.col).unwrap_or(u16::MAX).min(text.width);
            if is_focused && row < text.height {
                frame.set_cursor_position((text.x + column, text.y + row));
            }
        }
        None => {
            let placeholder = match target {
                Target::Task => FOR_A_TASK,
                Target::Session(_) => TO_A_SESSION,
            };
            let placeholder = Line::new().dim(placeholder).fit(usize::from(text.width));
            frame.render_widget(Paragraph::new(theme.line(&placeholder)), text);
            if is_focused {
                frame.set_cursor_position((text.x, text.y));
            }
        }
    }
}

/// What was pasted may turn the direction of writing: it is sent as it is, and not obeyed here.
fn disarm(buffer: &mut Buffer, area: Rect) {
    for position in area.intersection(buffer.area).positions() {
        let cell = &mut buffer[position];
        let shown = visible(cell.symbol());
        if shown != cell.symbol() {
            let kept = shown.replace(char::REPLACEMENT_CHARACTER, "");
            cell.set_symbol(if kept.is_empty() { " " } else { &kept });
        }
    }
}

/// What can complete the word, right above the composer.
fn complete(model: &Model, popup: &Popup, frame: &mut Frame) {
    let dock = crate::tui::view::parts(model).dock;
    let hint = match (popup.word.kind, popup.rows.is_empty()) {
        (Kind::File, true) if model.composer.files.is_awaited() => "looking for files…",
        (Kind::File, true) => "no file matches",
        (Kind::Command, _) => "⇥ completes · a space before / makes it a prompt",
        (Kind::File | Kind::Argument(_) | Kind::Skill, _) => "⇥ ⏎ completes · esc leaves it as it is",
    };
    let wanted = u16::try_from(popup.rows.len() + 1).unwrap_or(u16::MAX);
    let height = wanted.min(dock.y);
    let whole = Rect { y: dock.y - height, height, ..dock };
    let area = whole.inner(Margin { horizontal: 1, vertical: 0 });
    if area.is_empty() {
        return;
    }
    frame.render_widget(Clear, whole);
    let label = popup.rows.iter().map(|row| Line::new().plain(one_line(&row.whole)).width()).max().unwrap_or(0);
    let rows = popup.rows.iter().enumerate().map(|(place, row)| {
        let mark = if place == popup.cursor { "› " } else { "  " };
        let whole = one_line(&row.whole);
        let gap = label.saturating_sub(Line::new().plain(whole.as_str()).width()) + 2;
        let line = Line::toned(Tone::Accent, mark).plain(whole).plain(" ".repeat(gap)).dim(row.about.as_str());
        let line = model.theme.line(&line.fit(usize::from(area.width)));
        if place == popup.cursor { line.style(model.theme.selected()) } else { line }
    });
    let hint = model.theme.line(&Line::new().dim(hint).fit(usize::from(area.width)));
    let shown = rows.skip((popup.cursor + 2).saturating_sub(usize::from(height))).take(usize::from(height) - 1);
    let lines: Vec<_> = shown.chain([hint]).collect();
    frame.render_widget(Paragraph::new(lines), area);
}
