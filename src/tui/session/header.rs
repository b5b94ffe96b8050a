//! The first line of a session: what it is, who works on it, how it stands and since when; and what holds or frees it.

use crate::api::session::{Sandbox, Session, Status, WaitingFor};
use crate::look::age::age;
use crate::look::line::{Line, Tone, cut, one_line};
use crate::look::status;
use crate::tui::composer;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::Model;

/// A reason is that long at most.
const REASON: usize = 48;

/// The title keeps that many columns, if it has them.
const TITLE: usize = 24;

/// Sessions above are named up to so many.
const ABOVE: usize = 8;

/// The line, as wide as the screen. What does not fit is left out, the least important first.
pub(super) fn line(model: &Model, session: &Session, width: u16) -> Line {
    let width = usize::from(width);
    let title = Line::toned(Tone::Accent, " ‹ ").then(path(model, session));
    let room = width.saturating_sub(title.width().min(TITLE.max(width / 3)) + 2);
    let mut facts = facts(model, session);
    while joined(&facts).width() > room
        && let Some(least) = facts.iter().enumerate().min_by_key(|(_, (weight, _))| *weight).map(|(at, _)| at)
    {
        facts.remove(least);
    }
    let facts = joined(&facts);
    let title = title.fit(width.saturating_sub(facts.width() + 2));
    let gap = width.saturating_sub(title.width() + facts.width() + 1);
    title.plain(" ".repeat(gap)).then(facts)
}

/// What would help a session that failed; else what a person must keep in mind: it only plans, edits go ahead, all does.
pub(super) fn banner(model: &Model, session: &Session, plan: Option<&str>) -> Option<Line> {
    let key = model.keymap.key(Context::Session, Action::Posture);
    let changes = key.map(|key| format!(" · {key} changes that")).unwrap_or_default();
    if let Some(failure) = help(model, session) {
        let posture = match session.posture.as_str() {
            word @ ("plan" | "edits") => failure.with(Tone::Warn, format!(" · {word}")),
            _ => failure,
        };
        return Some(if session.yolo { posture.with(Tone::Bad, " · YOLO") } else { posture });
    }
    let posture = match session.posture.as_str() {
        "plan" => {
            // Its own name tells it from others; its directory is the same for all.
            let written = session.plan_file.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path));
            let file = written.or(plan).map(|plan| format!(" · {}", one_line(plan))).unwrap_or_default();
            Some(format!(" plan: it reads, writes a plan and asks{file}"))
        }
        "edits" => Some(" edits: files are changed without asking".to_owned()),
        _ => None,
    };
    match (posture, session.yolo) {
        (Some(text), false) => Some(Line::toned(Tone::Warn, text).dim(changes)),
        (Some(text), true) => Some(Line::toned(Tone::Warn, text).with(Tone::Bad, " · YOLO").dim(changes)),
        (None, true) => {
            Some(Line::toned(Tone::Bad, " YOLO: everything goes ahead that no rule forbids").dim(" · /yolo ends it"))
        }
        (None, false) => None,
    }
}

/// The keys that help a session that failed.
fn help(model: &Model, session: &Session) -> Option<Line> {
    let error = session.last_error.as_ref().filter(|_| session.status == Status::Failed)?;
    let key = |action, does: &str| model.keymap.key(Context::Session, action).map(|key| format!(" · {key} {does}"));
    let login = error.command.as_deref();
    let login = login.and_then(|command| key(Action::Login, &format!("runs `{}`", one_line(command))));
    let limit =
        error.resets_at.filter(|at| *at > model.now).map(|at| format!(" · in {} the limit ends", age(at, model.now)));
    let other = composer::offer(model, session)
        .and_then(|engine| key(Action::Continue, &format!("continues on {}", one_line(&engine))));
    let acts = limit.into_iter().chain(login).chain(other).chain(key(Action::Resume, "goes on"));
    let acts: String = acts.collect();
    Some(Line::toned(Tone::Bad, format!(" ✗ {}", cut(&one_line(&error.message), REASON))).plain(acts))
}

/// The title; a child's comes after those of the sessions above it.
fn path(model: &Model, session: &Session) -> Line {
    let parent = |of: &&Session| of.parent.as_ref().and_then(|parent| model.world.sessions.get(parent));
    let above: Vec<&Session> = std::iter::successors(Some(session), parent).skip(1).take(ABOVE).collect();
    let above: String = above.iter().rev().map(|session| format!("{} › ", status::title(session))).collect();
    Line::new().dim(above).strong(status::title(session))
}

/// What is told at the right, each with its weight.
fn facts(model: &Model, session: &Session) -> Vec<(u8, Line)> {
    let plain = |text: String| Line::new().plain(text);
    let tokens = session.usage.input_tokens + session.usage.output_tokens;
    let sandbox = match (session.sandbox.enforced, session.sandbox.level.as_str()) {
        (true, level) => Some((1, Line::new().dim(format!("sandbox {}", one_line(level))))),
        (false, Sandbox::UNKNOWN) => None,
        (false, "off") => Some((6, Line::toned(Tone::Warn, "no sandbox"))),
        (false, _) => Some((6, Line::toned(Tone::Warn, "advisory"))),
    };
    let facts = [
        Some((7, plain(one_line(&status::engine(&session.backend, session.model.as_deref()))))),
        session.reasoning.as_deref().map(|level| (2, plain(one_line(level)))),
        session.agent.as_deref().map(|agent| (3, plain(one_line(agent)))),
        session.read_only.then(|| (8, Line::new().dim("read-only"))),
        Some((9, state(model, session))),
        (tokens > 0).then(|| (4, plain(format!("{} tok", status::tokens(tokens))))),
        status::cost(&session.usage).map(|cost| (5, plain(cost))),
        sandbox,
        session.yolo.then(|| (10, Line::toned(Tone::Bad, "YOLO"))),
    ];
    facts.into_iter().flatten().collect()
}

/// How it stands, why and since when.
fn state(model: &Model, session: &Session) -> Line {
    let activity = model.world.activity.get(&session.id).filter(|_| session.status.is_busy());
    let since = match session.waiting_for {
        Some(WaitingFor::Approval) => session.approvals.first().map(|approval| approval.requested_at),
        Some(WaitingFor::Answer | WaitingFor::Children) => None,
        None => activity.map(|activity| activity.since).filter(|since| *since > 0),
    };
    let since = age(model.now, since.unwrap_or(session.updated_at));
    let done = activity.and_then(|activity| activity.progress).filter(|(_, total)| *total > 0);
    let done = done.map(|(done, total)| format!(" {}%", 100 * done.min(total) / total)).unwrap_or_default();
    let why = match status::need(session) {
        need if need.is_empty() => String::new(),
        need => format!(": {}", cut(&need, REASON)),
    };
    let shown = status::shown(session);
    Line::toned(status::tone(shown), format!("{} {}", model.signs.glyph(shown), shown.as_str()))
        .plain(format!("{done}{why}"))
        .dim(format!(" {since}"))
}

fn joined(facts: &[(u8, Line)]) -> Line {
    facts.iter().zip(0..).fold(Line::new(), |line, ((_, fact), number)| match number {
        0 => line.then(fact.clone()),
        _ => line.dim(" · ").then(fact.clone()),
    })
}
