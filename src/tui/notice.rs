//! News: a line on the screen for what was done or failed, and a word to the person who looks elsewhere.
//!
//! What the person looks at is no news. How a word leaves the terminal is `osc`; the shell writes it.

mod osc;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

use super::keymap::{Action, Context};
use super::model::{Model, Opening, View, Window};
use super::msg::Request;
use super::{bar, decide};
use crate::api::attach::Program;
use crate::api::error::Error;
use crate::api::event::{Event, Payload};
use crate::api::session::Session;
use crate::look::age::age;
use crate::look::line::{Line, Tone, one_line, visible};
use crate::look::markdown;
use crate::look::status::{count, title};

pub(crate) use osc::{Ways, bytes, command};

/// Good news stay that long.
const GOOD: i64 = 6_000;
/// News from another session stay longer: nobody waits for them.
const ELSEWHERE: i64 = 15_000;
/// A fact that is older is no news; it comes from before the face was there, or from while it was away.
const FRESH: i64 = 60_000;
/// Whoever did something within this time is taken to be in front of a terminal that does not tell whether it is.
const PRESENT: i64 = 30_000;
/// More columns of a question are not told.
const LONGEST: u16 = 200;
/// So many rows at most for what a notice says in its own words.
const ROWS: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct State {
    shown: Option<Toast>,
    /// The number of the latest fact; after a reconnect the stream may repeat some.
    latest: u64,
}

#[derive(Debug)]
struct Toast {
    lines: Vec<Line>,
    /// What a program printed, below the first line; its end is shown.
    output: Vec<Line>,
    stays: Stays,
    /// The session whose wish or conflict it tells; gone when that is decided or resolved.
    wish_of: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stays {
    /// News from elsewhere.
    Until(i64),
    /// What came of an act, until the next one.
    UntilAct(i64),
    UntilKey,
}

/// A word to a person who may look elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) session: String,
}

/// Tells good news, or what cannot be done and why.
pub(crate) fn say(model: &mut Model, text: String) -> Vec<Request> {
    show(model, vec![Line::new().plain(one_line(&text))], Stays::UntilAct(model.now + GOOD));
    Vec::new()
}

/// What came of a merge, and the key that takes it back.
pub(crate) fn merged(model: &Model, session: &Session) -> String {
    let title = title(session);
    let (base, at) = match &session.undoable_merge {
        Some(merge) => (&merge.target, format!(" as {}", merge.commit.chars().take(10).collect::<String>())),
        None => (&session.base.name, String::new()),
    };
    let back = match (&session.undoable_merge, bar::key(model, Context::Session, Action::Undo)) {
        (Some(_), Some(key)) => format!("; {key} takes it back"),
        (_, _) => String::new(),
    };
    format!("merged \"{title}\" into {}{at}{back}", one_line(base))
}

/// What became of a session that was put away, and how it comes back.
pub(crate) fn archived(model: &Model, session: &Session) -> String {
    let key = bar::key(model, Context::Sessions, Action::Resume).map(|key| format!("{key} or ")).unwrap_or_default();
    format!("archived \"{}\"; {key}`coppice restore {}` brings it back", title(session), one_line(&session.id))
}

/// Tells what is wrong; it stays until a key is pressed.
pub(crate) fn warn(model: &mut Model, text: &str) -> Vec<Request> {
    show(model, vec![Line::toned(Tone::Warn, format!("! {}", one_line(text)))], Stays::UntilKey);
    Vec::new()
}

/// Shows the warnings of an act below its notice, until a key is pressed.
pub(crate) fn warn_of_act(model: &mut Model, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let mut lines = model.notices.shown.take().map(|toast| toast.lines).unwrap_or_default();
    lines.extend(warnings.iter().map(|text| Line::toned(Tone::Warn, format!("! {}", one_line(text)))));
    show(model, lines, Stays::UntilKey);
}

/// Tells what failed, why, and what to do about it.
pub(crate) fn fail(model: &mut Model, doing: &str, error: &Error) -> Vec<Request> {
    decide::failed(model);
    let (output, causes): (Vec<_>, Vec<_>) = error.causes.iter().partition(|cause| cause.trim_end().contains('\n'));
    let causes: String = causes.iter().map(|cause| format!(": {}", one_line(cause))).collect();
    let output =
        output.iter().flat_map(|text| text.lines()).map(|line| Line::new().dim(format!("  {}", one_line(line))));
    let output = output.collect();
    let doing = match doing {
        "" => String::new(),
        doing => format!("{}: ", one_line(doing)),
    };
    let mut lines = vec![Line::toned(Tone::Bad, format!("✗ {doing}")).plain(one_line(&error.message)).dim(causes)];
    let hint = error.hint.as_ref().map(|hint| match bar::key(model, Context::Session, Action::Merge) {
        Some(key) => name_hook_keys(hint, &key),
        None => hint.clone(),
    });
    lines.extend(hint.map(|hint| Line::toned(Tone::Accent, "  hint: ").plain(one_line(&hint))));
    model.notices.shown = Some(Toast { lines, output, stays: Stays::UntilKey, wish_of: None });
    Vec::new()
}

/// A hint with the keys in place of the command line that turns the commit hooks off.
fn name_hook_keys(hint: &str, merge_key: &str) -> String {
    let named = |part: &str| match part.strip_prefix("coppice merge ").and_then(|rest| rest.split_once(' ')) {
        Some((_, "--no-verify")) => format!("{merge_key}, then v, then y"),
        Some((_, "--fix-hooks")) => format!("{merge_key}, then f, then y"),
        Some(_) | None => part.to_owned(),
    };
    hint.split('`').map(named).collect::<Vec<_>>().join("`")
}

/// Tells of a session that begins to need the person or has come to an end, unless the person looks at it.
pub(crate) fn of_fact(model: &mut Model, event: &Event) -> Vec<Request> {
    let is_repeated = event.seq <= model.notices.latest;
    let is_old = event.at.saturating_add(FRESH) < model.now;
    model.notices.latest = model.notices.latest.max(event.seq);
    if is_repeated || is_old {
        return Vec::new();
    }
    if ends_wish(&event.payload) {
        drop_wish(model, &event.session);
    }
    // Whose session it is, is not known before it was read.
    if !model.world.sessions.contains_key(&event.session) {
        return Vec::new();
    }
    let session = model.world.sessions.get(&event.session);
    if let Payload::Conflict { files, with } = &event.payload {
        let lines = conflict(model, session, files, with);
        show(model, lines, Stays::UntilKey);
        if let Some(toast) = model.notices.shown.as_mut() {
            toast.wish_of = Some(event.session.clone());
        }
    }
    let session = model.world.sessions.get(&event.session);
    let Some(News { tone, mark, body }) = news(&event.payload, session) else { return Vec::new() };
    if sees(model, &event.session) {
        return Vec::new();
    }
    let title = session.map_or_else(|| event.session.clone(), title);
    let notice = Notice { title: title.clone(), body: body.clone(), session: event.session.clone() };
    if !matches!(event.payload, Payload::Conflict { .. }) {
        let line = Line::toned(tone, format!("{mark} ")).strong(title).plain(format!(" {body}"));
        show(model, vec![line], Stays::Until(model.now + ELSEWHERE));
        let is_wish = matches!(event.payload, Payload::ApprovalRequested { .. } | Payload::QuestionAsked { .. });
        if let Some(toast) = model.notices.shown.as_mut().filter(|toast| is_wish && toast.stays != Stays::UntilKey) {
            toast.wish_of = Some(event.session.clone());
        }
    }
    vec![Request::Notify(notice)]
}

/// Whether a fact says that what a session wanted is decided.
fn ends_wish(payload: &Payload) -> bool {
    matches!(
        payload,
        Payload::ApprovalResolved { .. }
            | Payload::QuestionAnswered { .. }
            | Payload::QuestionGone { .. }
            | Payload::TurnInterrupted { .. }
    )
}

/// What a session wanted is decided: the line that told it goes.
pub(crate) fn drop_wish(model: &mut Model, session: &str) {
    if model.notices.shown.as_ref().is_some_and(|toast| toast.wish_of.as_deref() == Some(session)) {
        model.notices.shown = None;
    }
}

/// The person does something else: what was said about the act before it is over.
pub(crate) fn acted(model: &mut Model) {
    if model.notices.shown.as_ref().is_some_and(|toast| matches!(toast.stays, Stays::UntilAct(_))) {
        model.notices.shown = None;
    }
}

/// A key was pressed: what waited for one was seen.
pub(crate) fn seen(model: &mut Model) {
    if model.notices.shown.as_ref().is_some_and(|toast| toast.stays == Stays::UntilKey) {
        model.notices.shown = None;
    }
}

pub(crate) fn expire(model: &mut Model) {
    let now = model.now;
    let is_over = |toast: &Toast| matches!(toast.stays, Stays::Until(end) | Stays::UntilAct(end) if end <= now);
    if model.notices.shown.as_ref().is_some_and(is_over) {
        model.notices.shown = None;
    }
}

#[cfg(test)]
pub(crate) fn is_shown(model: &Model) -> bool {
    model.notices.shown.is_some()
}

/// How many rows the news take.
pub(crate) fn height(model: &Model, width: u16) -> u16 {
    u16::try_from(rows(model, width).len()).unwrap_or_default()
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    let lines: Vec<_> = rows(model, area.width).iter().map(|line| model.theme.line(line)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn rows(model: &Model, width: u16) -> Vec<Line> {
    let said = model.notices.shown.iter().flat_map(|toast| toast.lines.iter().cloned());
    let lines = model.opening.iter().map(|opening| on_its_way(model, opening)).chain(said);
    let wrap = |line: Line| line.wrap(usize::from(width.saturating_sub(2)));
    let mut rows: Vec<_> = lines.flat_map(wrap).take(ROWS).collect();
    let output = model.notices.shown.iter().flat_map(|toast| toast.output.iter().cloned());
    let mut output: Vec<_> = output.flat_map(wrap).collect();
    let room = usize::from(model.size.height / 2).saturating_sub(rows.len());
    if output.len() > room {
        let hidden = output.len() - room.saturating_sub(1);
        output.splice(..hidden, [Line::new().dim(format!("  … {} above", count(hidden, "line")))]);
    }
    let below = 1.min(rows.len());
    rows.splice(below..below, output);
    rows.into_iter().map(|line| Line::new().plain(" ").then(line)).collect()
}

/// What is about to take the terminal, and how to call it off.
fn on_its_way(model: &Model, opening: &Opening) -> Line {
    let what = match opening.program {
        Program::Agent => "opening the agent's own interface…",
        Program::Shell => "opening a shell…",
    };
    let key = bar::key(model, model.context(), Action::Back).unwrap_or_default();
    Line::new().plain(what).dim(format!(" {} · {key} calls it off", age(model.now, opening.since)))
}

/// What waits for a key is not hidden by what goes by itself.
fn show(model: &mut Model, lines: Vec<Line>, stays: Stays) {
    let waits = model.notices.shown.as_ref().is_some_and(|toast| toast.stays == Stays::UntilKey);
    if !waits || stays == Stays::UntilKey {
        model.notices.shown = Some(Toast { lines, output: Vec::new(), stays, wish_of: None });
    }
}

/// Whether what happens in a session can be seen where the person looks; the list shows all of them.
fn sees(model: &Model, id: &str) -> bool {
    let parent = model.world.sessions.get(id).and_then(|session| session.parent.as_deref());
    let is_here = match model.window {
        Window::Focused => true,
        Window::Unfocused => false,
        // Of a terminal that does not tell, only a key says that somebody is there.
        Window::Unknown => model.touched.saturating_add(PRESENT) > model.now,
    };
    is_here
        && match &model.view {
            View::Settings => false,
            View::Sessions => true,
            View::Session(open) | View::Review(open) => open == id || Some(open.as_str()) == parent,
        }
}

struct News {
    tone: Tone,
    mark: char,
    body: String,
}

/// What a fact means for somebody who is not there; `None` for what goes on by itself.
fn news(payload: &Payload, session: Option<&Session>) -> Option<News> {
    let needs = |body: String| Some(News { tone: Tone::Accent, mark: '◆', body });
    let is_root = session.is_none_or(|session| session.parent.is_none());
    // A merge may follow the turn as another prompt does.
    let is_last = session.is_none_or(|session| session.queued == 0 && session.hook_fix.is_none());
    match payload {
        Payload::ApprovalRequested { approval, .. } => needs(format!("wants: {}", one_line(&approval.title))),
        Payload::QuestionAsked { questions, .. } => match questions.as_slice() {
            [one] if one.options.iter().any(|option| decide::letter_of(option).is_some()) => {
                needs(format!("has a plan: {}", first_line(&one.text)))
            }
            [one] => needs(format!("asks: {}", first_line(&one.text))),
            several => needs(format!("asks {}", count(several.len(), "question"))),
        },
        Payload::Conflict { with, .. } => needs(format!("conflicts with {}", one_line(with))),
        Payload::HookFixStopped { reason, .. } => Some(News { tone: Tone::Bad, mark: '✗', body: one_line(reason) }),
        Payload::TurnFailed { error, .. } => {
            Some(News { tone: Tone::Bad, mark: '✗', body: format!("failed: {}", one_line(&error.message)) })
        }
        // A turn that ends with questions has a fact of its own for them.
        Payload::TurnCompleted { response, .. } if is_root && is_last && response.questions.is_empty() => {
            Some(News { tone: Tone::Good, mark: '✓', body: "is ready".to_owned() })
        }
        Payload::TurnCompleted { .. }
        | Payload::SessionCreated { .. }
        | Payload::TitleChanged { .. }
        | Payload::PromptQueued { .. }
        | Payload::PromptDropped { .. }
        | Payload::Preparing { .. }
        | Payload::SetupOutput { .. }
        | Payload::Switched { .. }
        | Payload::TurnStarted { .. }
        | Payload::Message { .. }
        | Payload::Thought { .. }
        | Payload::ToolStarted { .. }
        | Payload::ToolFinished { .. }
        | Payload::ApprovalResolved { .. }
        | Payload::QuestionAnswered { .. }
        | Payload::QuestionGone { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::SubagentEvent { .. }
        | Payload::WorkflowUpdated { .. }
        | Payload::PlanUpdated { .. }
        | Payload::Usage { .. }
        | Payload::Retry { .. }
        | Payload::Checkpoint { .. }
        | Payload::Reworded { .. }
        | Payload::TurnInterrupted { .. }
        | Payload::Undone { .. }
        | Payload::Integrated { .. }
        | Payload::Merged { .. }
        | Payload::MergeUndone { .. }
        | Payload::HookFixStarted { .. }
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Saved { .. }
        | Payload::Restored {}
        | Payload::PostureChanged { .. }
        | Payload::Attached { .. }
        | Payload::Detached { .. }
        | Payload::Warning { .. } => None,
    }
}

/// The first line of a Markdown text, without its marks.
fn first_line(markdown: &str) -> String {
    let lines = markdown::lines(&visible(markdown.trim()), LONGEST);
    lines.iter().map(Line::text).map(|line| one_line(line.trim())).find(|line| !line.is_empty()).unwrap_or_default()
}

/// What stopped a merge, and the ways out of it.
fn conflict(model: &Model, session: Option<&Session>, files: &[String], with: &str) -> Vec<Line> {
    let key = |action| model.keymap.key(Context::Session, action).unwrap_or("/").to_owned();
    let title = session.map(title).unwrap_or_default();
    let named: Vec<_> = files.iter().take(3).map(|file| one_line(file)).collect();
    let more = if files.len() > 3 { ", …" } else { "" };
    let with = one_line(with);
    let head = Line::toned(Tone::Bad, "⚑ nothing was merged: ")
        .strong(title)
        .plain(format!(" and {with} both changed {}{more}", named.join(", ")));
    let (reply, shell) = (key(Action::Reply), key(Action::Shell));
    // Keys are about the session in hand.
    if let Some(other) = session.filter(|session| model.current_id() != Some(session.id.as_str())) {
        let way = format!("select `{}` to make the two fit", one_line(&other.id));
        return vec![head, Line::toned(Tone::Accent, "  hint: ").plain(way)];
    }
    let way = match session.and_then(|session| session.parent.as_ref()) {
        Some(_) => format!(
            "make the two fit: {reply} writes to the agent, {shell} opens a shell here; then {} integrates",
            key(Action::Integrate)
        ),
        None => format!(
            "{with} is merged into the worktree, with marks: {reply} writes to the agent, such as \"resolve the \
             conflict\", {shell} opens a shell there; then {} merges",
            key(Action::Merge)
        ),
    };
    vec![head, Line::toned(Tone::Accent, "  hint: ").plain(way)]
}
