//! The last line: the keys that count where the person is, the most useful first, and how well the agent is held.

use crate::api::session::{Session, Status, WaitingFor};
use crate::look::line::{Line, Tone, one_line};
use crate::look::status::Signs;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::{Focus, Model, Overlay, View};
use crate::tui::transcript::Transcript;
use crate::tui::{composer, confirm, decide, login, picker, sessions, typeahead, welcome};

/// Below this, keys say more than that all is as it should be.
const BADGE: usize = 60;
/// On whom is said behind it.
const CONTINUE: &str = "continue";

pub(super) fn line(model: &Model, width: usize) -> Line {
    let badge = in_hand(model).map(|session| badge(session, width)).unwrap_or_default();
    let room = width.saturating_sub(badge.width() + 2);
    let mut line = Line::new().plain(" ");
    let hints: Vec<_> =
        hints(model).map(|(key, does)| Line::toned(Tone::Accent, key).dim(format!(" {does}"))).collect();
    let (most, last) = match (model.context(), hints.split_last()) {
        // Whoever writes has no other way to find out how to stop.
        (Context::Composer, Some((last, most))) => (most, Some(last)),
        _ => (hints.as_slice(), None),
    };
    let kept = last.map_or(0, |last| last.width() + 2);
    for hint in most {
        let gap = if line.width() > 1 { "  " } else { "" };
        if line.width() + gap.len() + hint.width() + kept > room {
            break;
        }
        line = line.plain(gap).then(hint.clone());
    }
    if let Some(last) = last {
        line = line.plain("  ").then(last.clone());
    }
    let gap = width.saturating_sub(line.width() + badge.width() + 1);
    line.plain(" ".repeat(gap)).then(badge)
}

/// The session that the hints are about: while somebody writes, the one that is written to and not the one below.
fn in_hand(model: &Model) -> Option<&Session> {
    match model.focus {
        Focus::Composer => model.world.sessions.get(composer::target(model).session()?),
        Focus::Main => model.current(),
    }
}

/// The transcript that is open.
fn open_transcript(model: &Model) -> Option<&Transcript> {
    match &model.view {
        View::Session(id) => model.transcripts.get(id),
        View::Sessions | View::Review(_) | View::Settings => None,
    }
}

/// How well the operating system holds the agent; a danger is said in any width.
fn badge(session: &Session, width: usize) -> Line {
    match (session.yolo, session.sandbox.enforced) {
        (true, _) if !session.sandbox.is_known() => Line::toned(Tone::Bad, "YOLO"),
        (false, _) if !session.sandbox.is_known() => Line::new(),
        (true, true) => Line::toned(Tone::Bad, "YOLO"),
        (true, false) => Line::toned(Tone::Bad, "YOLO").plain(" ").with(Tone::Warn, "sandbox advisory"),
        (false, false) => Line::toned(Tone::Warn, "sandbox advisory"),
        (false, true) if width >= BADGE => Line::new().dim("sandbox enforced"),
        (false, true) => Line::new(),
    }
}

/// Keys and what they do here.
pub(super) fn hints(model: &Model) -> impl Iterator<Item = (String, String)> {
    let context = model.context();
    // Keys that do not count yet are not offered.
    let counts = |action: Action| action == Action::Back || !typeahead::is_waiting(model);
    let counting = acts(context).iter().filter(move |(when, action, _)| when.holds(model) && counts(*action));
    counting.filter_map(move |(_, action, does)| Some((key(model, context, *action)?, told(model, *action, does))))
}

/// What an act does here, with the name of whom it is about.
fn told(model: &Model, action: Action, does: &str) -> String {
    let on = in_hand(model).filter(|_| action == Action::Continue).and_then(|session| composer::offer(model, session));
    match on {
        Some(engine) => format!("{does} on {}", one_line(&engine)),
        None => does.to_owned(),
    }
}

/// The key of an act as it stands on a keyboard; `None` where it has none.
pub(crate) fn key(model: &Model, context: Context, action: Action) -> Option<String> {
    model.keymap.key(context, action).map(|key| spelled(key, model.signs))
}

/// When an act means something for the session in hand.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    Always,
    /// There is a session, and it waits for nobody.
    Calm,
    /// It waits for a decision.
    Waits,
    Asks,
    Requests,
    Busy,
    Idle,
    Changed,
    /// A login is what it lacks; without a session, what some backend lacks.
    LoggedOut,
    /// Its backend cannot go on, and another one can.
    Stuck,
    /// Its state allows the command of this name.
    Allows(&'static str),
    /// Somebody waits for the person.
    Needed,
    /// Only what matches is listed.
    Filtered,
    /// There are sessions.
    Listed,
    /// There are none.
    Empty,
    /// And tasks are proposed.
    Offered,
    /// The row of a child is selected.
    OnChild,
    /// And its result can be used again.
    Reusable,
    /// Several rows of the picker may be marked.
    Markable,
    /// Enter agrees to the question that is open.
    Light,
    /// A turn waits for the answers to the questions that are open.
    TurnWaits,
    /// Enter answers the question that is open.
    Answerable,
}

impl When {
    fn holds(self, model: &Model) -> bool {
        let session = in_hand(model);
        let of = |holds: fn(&Session) -> bool| session.is_some_and(holds);
        let waits = |session: &Session| matches!(session.waiting_for, Some(WaitingFor::Approval | WaitingFor::Answer));
        match self {
            When::Always => true,
            When::Calm => session.is_some_and(|session| !waits(session)),
            When::Waits => session.is_some_and(waits),
            When::Asks => of(|session| session.waiting_for == Some(WaitingFor::Answer)),
            When::Requests => of(|session| session.waiting_for == Some(WaitingFor::Approval)),
            When::Busy => of(|session| session.status.is_busy()),
            When::Idle => !When::Busy.holds(model),
            When::Changed => of(|session| session.changes.files > 0),
            When::LoggedOut => match (&model.overlay, session) {
                (Some(Overlay::Picker(_)), _) => {
                    let name = picker::backend_under_cursor(model);
                    login::lacking(model).any(|backend| Some(backend.name.as_str()) == name)
                }
                (_, Some(session)) => {
                    let error = session.last_error.as_ref().filter(|_| session.status == Status::Failed);
                    error.is_some_and(|error| error.kind == "auth")
                }
                (_, None) => login::lacking(model).next().is_some(),
            },
            When::Stuck => session.is_some_and(|session| composer::offer(model, session).is_some()),
            When::Allows(command) => session.is_some_and(|session| session.next.iter().any(|next| next == command)),
            When::Needed => sessions::waiting(&model.world) > 0,
            When::Filtered => model.sessions.is_filtered(),
            When::Listed => !model.world.sessions.is_empty(),
            When::Empty => welcome::is_shown(model),
            When::Offered => welcome::is_shown(model) && welcome::offers(model),
            When::OnChild => open_transcript(model).is_some_and(|transcript| transcript.child().is_some()),
            When::Reusable => open_transcript(model).is_some_and(|transcript| transcript.reusable().is_some()),
            When::Light => confirm::is_light(model),
            When::Answerable => decide::takes_enter(model),
            When::TurnWaits => decide::holds_turn(model),
            When::Markable => matches!(&model.overlay, Some(Overlay::Picker(picker)) if picker.takes_marks()),
        }
    }
}

/// What can be done in a context, the most useful first.
pub(super) fn acts(context: Context) -> &'static [(When, Action, &'static str)] {
    match context {
        Context::Sessions => &[
            (When::Offered, Action::Open, "take this task"),
            (When::Waits, Action::Open, "decide"),
            (When::Calm, Action::Open, "open"),
            (When::Always, Action::NewTask, "new"),
            (When::Asks, Action::Answer, "answer"),
            (When::Requests, Action::Approve, "see the call"),
            (When::LoggedOut, Action::Login, "log in"),
            (When::Stuck, Action::Continue, CONTINUE),
            (When::Allows("resume"), Action::Resume, "resume"),
            (When::Changed, Action::Diff, "diff"),
            (When::Allows("merge"), Action::Merge, "merge"),
            (When::Allows("rebase"), Action::Rebase, "rebase"),
            (When::Allows("stop"), Action::Stop, "stop"),
            (When::Filtered, Action::Back, "clear the filter"),
            (When::Listed, Action::Filter, "filter"),
            (When::Needed, Action::NextNeed, "next that needs you"),
            (When::Allows("send"), Action::Reply, "write"),
            (When::Empty, Action::Demo, "tour"),
            (When::Allows("archive"), Action::Archive, "archive"),
            (When::Listed, Action::ToggleTree, "tree"),
            (When::Listed, Action::ToggleResting, "merged too"),
            (When::Always, Action::Settings, "settings"),
            (When::Always, Action::Quit, "quit"),
        ],
        Context::Filter => &[(When::Always, Action::Open, "keep"), (When::Always, Action::Back, "clear")],
        Context::Session => &[
            (When::OnChild, Action::Open, "open"),
            (When::Reusable, Action::Reuse, "reuse its result"),
            (When::Allows("send"), Action::Reply, "write"),
            (When::Asks, Action::Answer, "answer"),
            (When::Requests, Action::Approve, "see the call"),
            (When::LoggedOut, Action::Login, "log in"),
            (When::Stuck, Action::Continue, CONTINUE),
            (When::Allows("resume"), Action::Resume, "resume"),
            (When::Allows("stop"), Action::Stop, "stop"),
            (When::Changed, Action::Diff, "diff"),
            (When::Allows("merge"), Action::Merge, "merge"),
            (When::Needed, Action::NextNeed, "next that needs you"),
            (When::Always, Action::NextCard, "next card"),
            (When::Always, Action::Expand, "expand"),
            (When::Always, Action::Search, "search"),
            (When::Always, Action::Back, "list"),
            (When::Idle, Action::Attach, "attach"),
            (When::Always, Action::Copy, "copy"),
            (When::Always, Action::Summary, "summary"),
        ],
        Context::Search => &[(When::Always, Action::Open, "keep"), (When::Always, Action::Back, "leave")],
        Context::Composer => &[
            (When::Idle, Action::Send, "send"),
            (When::Busy, Action::Send, "queue"),
            (When::Busy, Action::SendNow, "interrupt and send"),
            (When::Always, Action::Newline, "new line"),
            (When::Always, Action::NextAgent, "agent"),
            (When::Always, Action::PasteImage, "image"),
            (When::Always, Action::EditDraft, "editor"),
            (When::Always, Action::Back, "leave, keeps the draft"),
        ],
        // The card has the keys that save a rule, where there is one to save.
        Context::Approval => &[
            (When::Always, Action::AllowOnce, "once"),
            (When::Always, Action::Refuse, "no, with a word why"),
            (When::Always, Action::NextRequest, "next"),
            (When::Always, Action::Back, "later"),
        ],
        Context::Question => &[
            (When::Answerable, Action::Open, "answer"),
            (When::Always, Action::ToggleFocus, "own words"),
            (When::Always, Action::NextRequest, "next"),
            (When::TurnWaits, Action::EndTurn, "end the turn"),
            (When::Always, Action::Back, "later"),
        ],
        Context::Words => &[
            (When::Always, Action::Open, "send"),
            (When::Always, Action::Newline, "new line"),
            (When::Always, Action::Back, "leave"),
        ],
        Context::Diff => &[
            (When::Always, Action::Comment, "comment"),
            (When::Always, Action::SendReview, "send comments"),
            (When::Always, Action::MarkReviewed, "looked at"),
            (When::Always, Action::NextFile, "next file"),
            (When::Always, Action::NextHunk, "next change"),
            (When::Always, Action::Layout, "side by side"),
            (When::Always, Action::EarlierTurn, "earlier turn"),
            (When::Always, Action::Edit, "edit"),
            (When::Allows("merge"), Action::Merge, "merge"),
            (When::Always, Action::Back, "leave"),
        ],
        Context::Comment => &[
            (When::Always, Action::Open, "keep"),
            (When::Always, Action::Newline, "new line"),
            (When::Always, Action::Back, "leave"),
        ],
        Context::Settings => &[
            (When::Always, Action::Open, "change"),
            (When::Always, Action::SwitchScope, "you or project"),
            (When::Always, Action::ResetSetting, "reset"),
            (When::Always, Action::NextTab, "sessions"),
            (When::Always, Action::Back, "leave"),
        ],
        Context::Setting => &[(When::Always, Action::Open, "keep"), (When::Always, Action::Back, "leave")],
        Context::Picker => &[
            (When::Always, Action::Open, "choose"),
            (When::LoggedOut, Action::Login, "log in"),
            (When::Markable, Action::Mark, "mark"),
            (When::Always, Action::Back, "leave"),
        ],
        Context::Help => &[
            (When::Always, Action::Down, "down"),
            (When::Always, Action::Up, "up"),
            (When::Always, Action::Back, "leave"),
        ],
        Context::Confirm => {
            &[(When::Light, Action::Open, "yes"), (When::Always, Action::Back, "leave, nothing is done")]
        }
        Context::Panel => &[
            (When::Always, Action::Down, "down"),
            (When::Always, Action::Copy, "copy"),
            (When::Always, Action::Back, "leave"),
        ],
    }
}

fn spelled(key: &str, signs: Signs) -> String {
    let parts = key.split('+').collect::<Vec<_>>();
    // A plus alone is a key of its own.
    let Some((last, held)) = parts.split_last().filter(|(last, _)| !last.is_empty()) else { return key.to_owned() };
    let name = match (*last, signs) {
        ("enter", Signs::Unicode) => "⏎",
        ("backspace", Signs::Unicode) => "⌫",
        ("up", Signs::Unicode) => "↑",
        ("down", Signs::Unicode) => "↓",
        ("left", Signs::Unicode) => "←",
        ("right", Signs::Unicode) => "→",
        ("enter", Signs::Ascii) => "Enter",
        ("backspace", Signs::Ascii) => "Backspace",
        ("space", _) => "Space",
        ("esc", _) => "Esc",
        ("tab", _) => "Tab",
        ("delete", _) => "Del",
        ("pageup", _) => "PgUp",
        ("pagedown", _) => "PgDn",
        (name, _) => name,
    };
    match (held, signs) {
        ([], _) => name.to_owned(),
        (["ctrl"], Signs::Unicode) => format!("⌃{}", name.to_uppercase()),
        (["ctrl"], Signs::Ascii) => format!("^{}", name.to_uppercase()),
        (held, _) => {
            let held = held.iter().map(|held| match *held {
                "alt" => "Alt+",
                "shift" => "Shift+",
                _ => "Ctrl+",
            });
            held.chain([name]).collect()
        }
    }
}
