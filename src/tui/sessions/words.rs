//! What a session waits for or does at this moment, in a word or two, and since when.

use crate::api::session::{Changes, Session, Status, TurnError, WaitingFor};
use crate::look::age::age;
use crate::look::line::{Line, Tone, one_line};
use crate::look::status::count;
use crate::tui::bar;
use crate::tui::decide;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::Model;
use crate::tui::world::Activity;

/// What the row of a session says.
pub(crate) fn doing(model: &Model, session: &Session) -> Line {
    match session.waiting_for {
        Some(WaitingFor::Approval) => return Line::toned(Tone::Accent, approvals(session)),
        Some(WaitingFor::Answer) => return Line::toned(Tone::Accent, questions(session)),
        Some(WaitingFor::Children) => return Line::new().dim("children work"),
        None => {}
    }
    match session.status {
        Status::Approval => Line::toned(Tone::Accent, approvals(session)),
        Status::Asking => Line::toned(Tone::Accent, questions(session)),
        Status::Running => running(model.world.activity.get(&session.id)),
        Status::Preparing => Line::new().dim(preparing(model.world.activity.get(&session.id))),
        Status::Queued => Line::new().dim(in_line(model, session)),
        Status::Integrating => Line::new().plain("integrating"),
        Status::Ready if session.uncommitted.is_some() => Line::toned(Tone::Bad, "not committed"),
        Status::Ready if session.changes.files > 0 => Line::new().plain("merge?"),
        Status::Ready if has_needy_child(model, session) => Line::new().plain("child needs you"),
        Status::Ready => Line::new().dim("answered"),
        Status::Failed => Line::toned(Tone::Bad, failed(session.last_error.as_ref(), model.now)),
        Status::Interrupted => {
            let key = bar::key(model, Context::Sessions, Action::Resume);
            Line::new().plain(key.map_or_else(|| "interrupted".to_owned(), |key| format!("{key} resumes")))
        }
        Status::Conflict => Line::toned(Tone::Bad, count(session.conflicts.len(), "conflict")),
        Status::Draft | Status::Merged | Status::Archived => Line::new().dim(session.status.as_str()),
    }
}

fn has_needy_child(model: &Model, session: &Session) -> bool {
    let mut sessions = model.world.sessions.values();
    sessions.any(|child| child.needs > 0 && child.parent.as_deref() == Some(&session.id))
}

/// `+12 −4`, or nothing when nothing changed.
pub(crate) fn changes(changes: Changes) -> Line {
    match changes {
        Changes { files: 0, .. } => Line::new(),
        Changes { insertions, deletions, .. } => {
            Line::toned(Tone::More, format!("+{insertions}")).plain(" ").with(Tone::Less, format!("−{deletions}"))
        }
    }
}

/// Since when that is so.
pub(crate) fn since(model: &Model, session: &Session) -> i64 {
    let activity = model.world.activity.get(&session.id).map(|activity| activity.since).filter(|since| *since > 0);
    match session.waiting_for {
        Some(WaitingFor::Approval) => {
            session.approvals.iter().map(|approval| approval.requested_at).min().unwrap_or(session.updated_at)
        }
        Some(WaitingFor::Answer | WaitingFor::Children) => session.updated_at,
        None if session.status.is_busy() => activity.unwrap_or(session.updated_at),
        None => session.updated_at,
    }
}

/// Why it failed, and how long a limit holds.
fn failed(error: Option<&TurnError>, now: i64) -> String {
    let Some(error) = error else { return "failed".to_owned() };
    match error.resets_at.filter(|resets_at| *resets_at > now) {
        Some(resets_at) => format!("limit for {}", age(resets_at, now)),
        None => failure(error).to_owned(),
    }
}

/// The kind of a failure as a person says it.
pub(crate) fn failure(error: &TurnError) -> &'static str {
    match error.kind.as_str() {
        "rate_limit" => "rate limit",
        "auth" => "log in",
        "quota" => "no quota",
        "context" => "too long",
        "timeout" => "timed out",
        "transport" => "no network",
        "crashed" => "crashed",
        "setup" => "setup failed",
        "sandbox" => "no sandbox",
        "step_limit" => "step limit",
        TurnError::UNCOMMITTED => "not committed",
        TurnError::UNFINISHED_UNDO => "half undone",
        _ => "failed",
    }
}

fn approvals(session: &Session) -> String {
    match session.approvals.len() {
        0 | 1 => "approval".to_owned(),
        several => format!("{several} approvals"),
    }
}

fn questions(session: &Session) -> String {
    let open: Vec<_> = session.questions.iter().filter(|question| question.answer.is_none()).collect();
    match open.as_slice() {
        [only] if decide::is_plan(only) => "plan".to_owned(),
        several => count(several.len().max(1), "question"),
    }
}

fn running(activity: Option<&Activity>) -> Line {
    // Nothing was heard of it since this face looks; what it does is not known.
    let Some(activity) = activity else { return Line::new().plain("running") };
    match (&activity.retry, &activity.tool) {
        (Some(_), _) => Line::toned(Tone::Warn, "retrying"),
        (None, Some(title)) => Line::new().plain(tool(&activity.kind, title)),
        (None, None) => Line::new().plain("thinking"),
    }
}

/// A call as something that goes on; the words of a command say more than "running".
fn tool(kind: &str, title: &str) -> String {
    let going_on = match kind {
        "edit" | "edit_file" | "write_file" | "apply_diff" => "editing",
        "delete_file" => "deleting",
        "move_file" => "moving",
        "read" | "read_file" | "read_many_files" => "reading",
        "search" | "grep" | "glob" => "searching",
        "web_fetch" | "fetch_url" => "fetching",
        "task" => "delegating",
        _ => return one_line(title),
    };
    let name = title.rsplit('/').next().unwrap_or(title);
    one_line(&format!("{going_on} {name}"))
}

fn preparing(activity: Option<&Activity>) -> String {
    match activity.and_then(|activity| activity.progress) {
        Some((done, total)) if total > 0 => {
            format!("preparing {}%", (u128::from(done) * 100 / u128::from(total)).min(100))
        }
        Some(_) | None => "preparing".to_owned(),
    }
}

/// The session's place among those of this repository that wait for a slot.
fn in_line(model: &Model, session: &Session) -> String {
    let waiting = model.world.sessions.values().filter(|other| other.status == Status::Queued);
    let own = (session.updated_at, &session.id);
    let place = waiting.filter(|other| (other.updated_at, &other.id) <= own).count();
    let ending = match (place % 10, place % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{place}{ending} in line")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::event::{Block, Event, Live, Payload};
    use crate::look::sample;
    use crate::tui::msg::Msg;
    use crate::tui::sample::{WIDE, model};
    use crate::tui::update::update;

    fn said(session: &Session) -> String {
        doing(&model(WIDE, vec![session.clone()]), session).text()
    }

    #[test]
    fn a_row_says_what_it_waits_for() {
        let error = |kind: &str| {
            Some(TurnError { kind: kind.into(), message: "no".into(), hint: None, ..TurnError::default() })
        };
        let failed = |kind: &str| Session { last_error: error(kind), ..sample::session(Status::Failed) };
        let unchanged = crate::api::session::Changes::default();
        let by_children = Session { waiting_for: Some(WaitingFor::Children), ..sample::session(Status::Running) };
        let mut plan = sample::asking();
        plan.questions.truncate(1);
        plan.questions[0].purpose = Some("planner_plan_decision".into());
        for (session, expected) in [
            (plan, "plan"),
            (sample::asking(), "2 questions"),
            (sample::approval(), "approval"),
            (sample::session(Status::Running), "running"),
            (by_children, "children work"),
            (sample::session(Status::Preparing), "preparing"),
            (sample::session(Status::Queued), "1st in line"),
            (sample::session(Status::Ready), "merge?"),
            (Session { changes: unchanged, ..sample::session(Status::Ready) }, "answered"),
            (failed("rate_limit"), "rate limit"),
            (failed("auth"), "log in"),
            (failed("protocol"), "failed"),
            (sample::session(Status::Interrupted), "R resumes"),
            (sample::conflict(), "2 conflicts"),
            (sample::session(Status::Merged), "merged"),
        ] {
            assert_eq!(said(&session), expected);
        }
    }

    #[test]
    fn a_running_session_says_what_its_stream_says() {
        let session = sample::session(Status::Running);
        let started = |tool: &str, title: &str| Payload::ToolStarted {
            turn: 1,
            call: "c".into(),
            tool: tool.into(),
            title: title.into(),
            input: None,
            auto: None,
        };
        let mut model = model(WIDE, vec![session.clone()]);
        let mut at = session.updated_at;
        for (payload, expected) in [
            (Payload::Retry { turn: 1, reason: "529".into() }, "retrying"),
            (started("bash", "cargo test\n-q"), "cargo test"),
            (started("edit", "src/gateway/limit.rs"), "editing limit.rs"),
            (started("unknown", "ask \u{1b}[31mred"), "ask \u{fffd}[31mred"),
            (Payload::TurnInterrupted { turn: 1, reason: "stopped".into() }, "thinking"),
        ] {
            at += 1;
            update(&mut model, Msg::Fact(Box::new(Event { seq: 1, session: session.id.clone(), at, v: 1, payload })));
            assert_eq!((doing(&model, &session).text().as_str(), since(&model, &session)), (expected, at));
        }
    }

    #[test]
    fn of_a_session_that_was_not_heard_of_it_is_known_that_it_runs() {
        let session = sample::session(Status::Running);
        let id = session.id.clone();
        let fact = |payload| Msg::Fact(Box::new(Event { seq: 1, session: id.clone(), at: 1, v: 1, payload }));
        let delta = |block| {
            let (session, text) = (id.clone(), "x".to_owned());
            Msg::Live(Box::new(Live::Delta { session, turn: 1, block, text }))
        };
        let status = Live::Status { session: id.clone(), status: Status::Running };
        for (heard, expected) in [
            (Msg::Live(Box::new(status)), "running"),
            (delta(Block::Tool { call: "c".into() }), "running"),
            (fact(Payload::TitleChanged { title: "t".into() }), "running"),
            (delta(Block::Thought), "thinking"),
            (fact(Payload::Thought { turn: 1, text: "hm".into() }), "thinking"),
        ] {
            let mut model = model(WIDE, vec![session.clone()]);
            let said = format!("{heard:?}");
            update(&mut model, heard);
            assert_eq!(doing(&model, &session).text(), expected, "{said}");
        }
    }

    #[test]
    fn those_in_line_are_counted() {
        let queued = |number: i64| Session {
            id: format!("q{number:02}"),
            updated_at: number,
            ..sample::session(Status::Queued)
        };
        let all: Vec<_> = (1..=22).map(queued).collect();
        let model = model(WIDE, all.clone());
        for (number, expected) in
            [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")]
        {
            assert_eq!(doing(&model, &all[number - 1]).text(), format!("{expected} in line"));
        }
    }
}
