//! The session under the cursor without going into it: who works, what is to be decided, the end of its transcript.

use super::words;
use crate::api::session::{Approval, Question, Session, Status, TurnError, WaitingFor};
use crate::look::age::age;
use crate::look::line::{Line, Tone, cut, one_line, visible};
use crate::look::markdown;
use crate::look::status::{self, count};
use crate::tui::keymap::{Action, Context};
use crate::tui::model::{Model, Overlay};
use crate::tui::{bar, composer, decide};

/// An answer of their own stands behind the options, so there is one key more than there are options.
const QUICK: usize = 9;
/// A branch that is cut shorter than this says nothing.
const BRANCH: usize = 12;
const DOT: &str = " · ";
/// A preview of a call shows this much of what it would do.
const DEED: usize = 6;

/// The preview beside the list, and how far up it can be scrolled of what was asked for.
pub(super) fn whole(model: &mut Model, width: u16, height: u16, up: usize) -> (Vec<Line>, usize) {
    let Some(session) = model.current().cloned() else { return (Vec::new(), 0) };
    let columns = usize::from(width);
    let mut lines = head(model, &session, columns);
    lines.push(Line::new());
    let mut wants = match model.overlay {
        // The card below says it already.
        Some(Overlay::Decide(_)) => Vec::new(),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => {
            wants(model, &session, columns.saturating_sub(2))
        }
    };
    if ends_with_it(model, &session) {
        // The transcript above ends with the same words; the keys are what it lacks.
        wants.drain(..wants.len().saturating_sub(1));
    }
    let room = usize::from(height).saturating_sub(lines.len());
    // What is to be decided is never cut for what was said before.
    let room_above = room.saturating_sub(wants.len() + usize::from(!wants.is_empty()));
    let (said, up) = tail(model, &session, columns.saturating_sub(2), room_above, up);
    if !said.is_empty() {
        lines.extend(said.into_iter().map(indented));
        lines.push(Line::new());
    }
    lines.extend(wants.into_iter().map(indented));
    lines.truncate(usize::from(height));
    (lines.into_iter().map(|line| line.fit(columns)).collect(), up)
}

/// The preview under the row of the cursor: who works where, then what is to be decided, or the last words.
pub(super) fn folded(model: &mut Model, width: u16, rows: u16) -> Vec<Line> {
    let Some(session) = model.current().cloned() else { return Vec::new() };
    let (columns, rows) = (usize::from(width), usize::from(rows));
    if rows == 0 {
        return Vec::new();
    }
    let engine = Line::new().dim(one_line(&status::engine(&session.backend, session.model.as_deref())));
    let head = facts(&session, Some(engine), columns);
    let rows = rows - 1;
    let mut lines = wants(model, &session, columns);
    if lines.is_empty() {
        lines = tail(model, &session, columns, rows, 0).0;
    }
    lines.retain(|line| line.width() > 0);
    // The last line says which key decides; it outlives what it is about.
    if lines.len() > rows && rows > 0 {
        lines.drain(rows - 1..lines.len() - 1);
    }
    lines.truncate(rows);
    std::iter::once(head).chain(lines).map(|line| line.fit(columns)).collect()
}

fn indented(line: Line) -> Line {
    Line::new().plain("  ").then(line)
}

/// Title and engine; then who works where, and what came of it.
fn head(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    let engine = [Some(status::engine(&session.backend, session.model.as_deref())), session.reasoning.clone()];
    let engine = one_line(&engine.into_iter().flatten().collect::<Vec<_>>().join(" · "));
    let engine = Line::new().dim(engine);
    let shown = status::shown(session);
    let title = Line::toned(status::tone(shown), model.signs.glyph(shown))
        .plain(" ")
        .strong(one_line(&session.title))
        .fit(columns.saturating_sub(engine.width() + 2).max(columns / 2));
    let gap = columns.saturating_sub(title.width() + engine.width()).max(2);
    let first = title.plain(" ".repeat(gap)).then(engine);
    vec![first, indented(facts(session, None, columns.saturating_sub(2)))]
}

/// Who works where, and what came of it; the branch is cut for the rest.
fn facts(session: &Session, engine: Option<Line>, columns: usize) -> Line {
    let changes = session.changes;
    let agent = session.agent.as_deref().map(|agent| Line::new().dim(one_line(agent)));
    let access = session.read_only.then(|| Line::new().dim("read-only"));
    let who: Vec<Line> = agent.into_iter().chain(access).chain(engine).collect();
    let rest = [
        (changes.files > 0).then(|| format!("+{} −{}", changes.insertions, changes.deletions)),
        (changes.files > 0).then(|| count(usize::try_from(changes.files).unwrap_or(usize::MAX), "file")),
        status::cost(&session.usage),
    ];
    let rest = rest.into_iter().flatten().map(|fact| Line::new().dim(fact));
    let rest: Vec<Line> = rest.chain(Some(status::marks(session)).filter(|marks| marks.width() > 0)).collect();
    let taken: usize = who.iter().chain(&rest).map(|fact| fact.width() + DOT.chars().count()).sum();
    let branch = cut(&one_line(&session.branch), columns.saturating_sub(taken).max(BRANCH));
    joined(who.into_iter().chain([Line::new().dim(branch)]).chain(rest))
}

/// What there is, with dots between.
fn joined(parts: impl Iterator<Item = Line>) -> Line {
    let join = |line: Line, part: Line| if line.width() == 0 { part } else { line.dim(DOT).then(part) };
    parts.filter(|part| part.width() > 0).fold(Line::new(), join)
}

/// The end of the transcript, or why there is none.
fn tail(model: &mut Model, session: &Session, columns: usize, rows: usize, up: usize) -> (Vec<Line>, usize) {
    let width = u16::try_from(columns).unwrap_or(u16::MAX);
    let asked = u16::try_from(rows + up).unwrap_or(u16::MAX);
    let mut lines = model.transcripts.get_mut(&session.id).map(|held| held.tail(width, asked)).unwrap_or_default();
    let up = up.min(lines.len().saturating_sub(rows));
    lines.truncate(lines.len() - up);
    lines.drain(..lines.len().saturating_sub(rows));
    if lines.is_empty() {
        let summary = session.summary.as_ref().map(|summary| summary.turn.as_str()).unwrap_or_default();
        lines = wrapped(Tone::Dim, &visible(summary), columns);
        lines.truncate(rows);
    }
    (lines, up)
}

/// Whether the end of the transcript says what waits in full: a question with its options, a failure with its hint.
fn ends_with_it(model: &Model, session: &Session) -> bool {
    let is_said = match (session.waiting_for, session.status) {
        (Some(WaitingFor::Answer), _) => session.questions.iter().all(|question| question.session.is_none()),
        (None, Status::Failed) => true,
        (Some(WaitingFor::Approval | WaitingFor::Children) | None, _) => false,
    };
    is_said && model.transcripts.get(&session.id).is_some_and(|held| held.is_loaded())
}

/// What waits for the person, with the keys that decide it; empty when nothing does.
fn wants(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    match session.waiting_for {
        Some(WaitingFor::Approval) => approval(model, session, columns),
        Some(WaitingFor::Answer) => question(model, session, columns),
        Some(WaitingFor::Children) | None => match session.status {
            Status::Failed => failure(model, session, columns),
            Status::Conflict => conflict(model, session, columns),
            Status::Ready if session.uncommitted.is_some() => {
                session.uncommitted.as_ref().map(|error| reason(model, error, columns)).unwrap_or_default()
            }
            Status::Draft
            | Status::Queued
            | Status::Preparing
            | Status::Running
            | Status::Approval
            | Status::Asking
            | Status::Ready
            | Status::Interrupted
            | Status::Integrating
            | Status::Merged
            | Status::Archived => retrying(model, session, columns),
        },
    }
}

fn approval(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    let Some(approval) = session.approvals.first() else { return Vec::new() };
    let Approval { tool, title, preview, reason, rule, layer, warnings, requested_at, agent, .. } = approval;
    let mut lines = vec![Line::new().strong(one_line(tool)).plain("   ").plain(one_line(title))];
    let deed = preview.as_deref().map(visible).unwrap_or_default();
    if deed.trim() != title.trim() {
        let mut rows = deed.lines().map(|row| Line::new().dim("│ ").plain(row.replace('\t', "    ")));
        lines.extend(rows.by_ref().take(DEED));
        let more = rows.count();
        lines.extend((more > 0).then(|| Line::new().dim(format!("│ …{more} more line(s)"))));
    }
    lines.extend(warnings.iter().flat_map(|warning| wrapped(Tone::Bad, &format!("⚠ {}", one_line(warning)), columns)));
    let asked = agent.as_deref().map(|agent| format!("{} asks", one_line(agent)));
    let why = (!reason.is_empty()).then(|| format!("why: {}", one_line(reason)));
    let rule = rule.as_deref().map(|rule| format!("rule `{}` ({})", one_line(rule), one_line(layer)));
    let parts = [asked, why, rule, Some(format!("{} ago", age(model.now, *requested_at)))];
    lines.extend(wrapped(Tone::Dim, &parts.into_iter().flatten().collect::<Vec<_>>().join(" · "), columns));
    // As on the card that the key opens.
    let waiting = match decide::place_of_first(model, &session.id) {
        Some((_, 1)) | None => String::new(),
        Some((place, all)) => format!("{place} of {all} waiting · "),
    };
    lines.push(Line::new().dim(waiting).then(key(model, Action::Approve, "decides")));
    lines
}

fn question(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    let open: Vec<&Question> = session.questions.iter().filter(|question| question.answer.is_none()).collect();
    let Some(question) = open.first() else { return Vec::new() };
    let text = visible(&question.text);
    let mut lines = match decide::is_plan(question) {
        true => markdown::lines(&text, u16::try_from(columns).unwrap_or(u16::MAX)),
        false => wrapped(Tone::Strong, &text, columns),
    };
    let options = question.options.iter().map(String::as_str).chain(["write an answer…"]);
    lines.extend(options.enumerate().map(|(index, option)| {
        let number = if index < QUICK { (index + 1).to_string() } else { " ".to_owned() };
        Line::new().plain("  ").with(Tone::Accent, number).plain("  ").plain(one_line(option))
    }));
    lines.push(Line::new());
    let how_many = count(open.len(), "question");
    lines.push(Line::new().dim(format!("{how_many} · ")).then(key(model, Action::Answer, "answers")));
    lines
}

/// Why it failed and what helps, the command that a person can paste included.
fn failure(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    let Some(error) = &session.last_error else { return Vec::new() };
    let mut lines = reason(model, error, columns);
    lines.extend(session.uncommitted.iter().flat_map(|error| reason(model, error, columns)));
    let login = (error.kind == "auth").then(|| key(model, Action::Login, "logs in"));
    let other = composer::offer(model, session)
        .map(|engine| key(model, Action::Continue, &format!("continues on {}", one_line(&engine))));
    lines.push(joined(login.into_iter().chain(other).chain([key(model, Action::Resume, "goes on")])));
    lines
}

/// An error and its hint.
fn reason(model: &Model, error: &TurnError, columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::toned(Tone::Bad, words::failure(error))];
    lines.extend(wrapped(Tone::Plain, &visible(&error.message), columns));
    if let Some(resets_at) = error.resets_at.filter(|resets_at| *resets_at > model.now) {
        lines.push(Line::toned(Tone::Warn, format!("the limit ends in {}", age(resets_at, model.now))));
    }
    if let Some(hint) = &error.hint {
        lines.extend(wrapped(Tone::Warn, &format!("hint: {}", visible(hint)), columns));
    }
    lines
}

fn conflict(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    let mut lines = wrapped(Tone::Bad, &format!("conflicts with {}", one_line(&session.base.name)), columns);
    lines.extend(session.conflicts.iter().map(|file| Line::new().plain("  ").plain(one_line(file))));
    let (how, last) = match &session.parent {
        Some(_) => ("make the two fit, here or in the session above".to_owned(), (Action::Integrate, "integrates")),
        None => {
            let base = one_line(&session.base.name);
            let how = format!(
                "{base} is merged into the worktree; conflicting text files have marks; `/resolve` proposes a resolution"
            );
            (how, (Action::Merge, "merges"))
        }
    };
    lines.extend(wrapped(Tone::Plain, &how, columns));
    let ways = [(Action::Reply, "writes to the agent"), (Action::Shell, "opens a shell"), last];
    lines.push(joined(ways.into_iter().map(|(action, does)| key(model, action, does))));
    lines
}

fn retrying(model: &Model, session: &Session, columns: usize) -> Vec<Line> {
    match model.world.activity.get(&session.id).and_then(|activity| activity.retry.as_deref()) {
        Some(reason) if session.status == Status::Running => {
            wrapped(Tone::Warn, &format!("the backend tries again: {reason}"), columns)
        }
        Some(_) | None => Vec::new(),
    }
}

/// A key of the list and what it does; nothing where the act has no key.
fn key(model: &Model, action: Action, does: &str) -> Line {
    match bar::key(model, Context::Sessions, action) {
        Some(key) => Line::toned(Tone::Accent, key).dim(format!(" {does}")),
        None => Line::new(),
    }
}

fn wrapped(tone: Tone, text: &str, columns: usize) -> Vec<Line> {
    text.lines().flat_map(|row| Line::toned(tone, row).wrap(columns)).collect()
}
