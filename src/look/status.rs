//! Status words, their tones and their order: the same in every view.

use super::line::{Line, Tone, one_line};
use crate::api::image::Attached;
use crate::api::session::{Changes, Session, Status, Usage, WaitingFor};

pub(crate) fn tone(status: Status) -> Tone {
    match status {
        Status::Draft | Status::Merged | Status::Archived => Tone::Dim,
        Status::Queued | Status::Preparing | Status::Running | Status::Integrating => Tone::Accent,
        Status::Approval | Status::Asking => Tone::Warn,
        Status::Ready => Tone::Good,
        Status::Failed | Status::Interrupted | Status::Conflict => Tone::Bad,
    }
}

pub(crate) fn word(status: Status) -> Line {
    Line::toned(tone(status), status.as_str())
}

/// The status as people read it: what waits for their decision says so, also after its turn was interrupted.
pub(crate) fn shown(session: &Session) -> Status {
    match session.waiting_for.filter(|_| session.needs > 0) {
        Some(WaitingFor::Approval) => Status::Approval,
        Some(WaitingFor::Answer) => Status::Asking,
        Some(WaitingFor::Children) | None => session.status,
    }
}

/// Which signs a terminal can show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Signs {
    #[default]
    Unicode,
    Ascii,
}

impl Signs {
    pub(crate) fn glyph(self, status: Status) -> &'static str {
        match self {
            Signs::Unicode => glyph(status),
            Signs::Ascii => ascii_glyph(status),
        }
    }
}

/// A status in one column; no two that ask for different acts look the same.
pub(crate) fn glyph(status: Status) -> &'static str {
    match status {
        Status::Preparing | Status::Running | Status::Integrating => "●",
        Status::Queued => "◌",
        Status::Approval | Status::Asking => "◆",
        Status::Ready => "✓",
        Status::Failed => "✗",
        Status::Interrupted => "‖",
        Status::Conflict => "⚑",
        Status::Merged => "⇡",
        Status::Draft => "·",
        Status::Archived => "-",
    }
}

/// The same where the terminal knows only letters.
pub(crate) fn ascii_glyph(status: Status) -> &'static str {
    match status {
        Status::Preparing | Status::Running | Status::Integrating => "*",
        Status::Queued => "o",
        Status::Approval | Status::Asking => "?",
        Status::Ready => "+",
        Status::Failed => "x",
        Status::Interrupted => "=",
        Status::Conflict => "!",
        Status::Merged => "^",
        Status::Draft => ".",
        Status::Archived => "-",
    }
}

/// Where a session belongs when the ones that need a person come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// It goes on as soon as somebody answers.
    Blocked,
    /// It stopped and does not go on by itself.
    Stopped,
    /// It works.
    Busy,
    /// Its work can be looked at.
    Reviewable,
    /// Nothing is expected of anybody.
    Resting,
}

pub(crate) fn urgency(status: Status) -> Urgency {
    match status {
        Status::Approval | Status::Asking => Urgency::Blocked,
        Status::Failed | Status::Interrupted | Status::Conflict => Urgency::Stopped,
        Status::Queued | Status::Preparing | Status::Running | Status::Integrating => Urgency::Busy,
        Status::Ready => Urgency::Reviewable,
        Status::Draft | Status::Merged | Status::Archived => Urgency::Resting,
    }
}

/// Sorts by urgency, the latest change first within each.
pub(crate) fn sort(sessions: &mut [Session]) {
    sessions.sort_by_key(|session| (urgency(session.status), std::cmp::Reverse(session.updated_at)));
}

/// The session's title; a child's names its agent.
pub(crate) fn title(session: &Session) -> String {
    let title = one_line(&session.title);
    match (&session.parent, &session.agent) {
        (Some(_), Some(agent)) if !title.contains(&format!("@{agent}")) => format!("@{} {title}", one_line(agent)),
        _ => title,
    }
}

/// What a person should know about a session that can still act: that all goes ahead, that nothing holds it.
pub(crate) fn marks(session: &Session) -> Line {
    if matches!(session.status, Status::Merged | Status::Archived) || session.removed_at.is_some() {
        return Line::new();
    }
    match (session.yolo, session.sandbox.enforced || !session.sandbox.is_known()) {
        (true, true) => Line::toned(Tone::Bad, "YOLO"),
        (true, false) => Line::toned(Tone::Bad, "YOLO").plain(" ").with(Tone::Warn, "advisory"),
        (false, false) => Line::toned(Tone::Warn, "advisory"),
        (false, true) => Line::new(),
    }
}

/// What the session needs from a person, in a few words; empty when it needs nothing.
pub(crate) fn need(session: &Session) -> String {
    match session.waiting_for {
        Some(WaitingFor::Approval) => match session.approvals.as_slice() {
            [] => "waits for an approval".to_owned(),
            [one] => match &one.agent {
                Some(agent) => format!("{} wants: {}", one_line(agent), one_line(&one.title)),
                None => format!("wants: {}", one_line(&one.title)),
            },
            several => format!("{} approvals wait", several.len()),
        },
        Some(WaitingFor::Answer) => {
            match session.questions.iter().filter(|question| question.answer.is_none()).count() {
                0 | 1 => "1 question".to_owned(),
                several => format!("{several} questions"),
            }
        }
        Some(WaitingFor::Children) => "waits for children".to_owned(),
        None => match (&session.last_error, session.conflicts.as_slice()) {
            (_, [_, ..]) if session.status == Status::Conflict => {
                format!("in {}", count(session.conflicts.len(), "file"))
            }
            (Some(error), _) if session.status == Status::Failed => {
                let kept = if session.uncommitted.is_some() { "; its changes are not committed" } else { "" };
                format!("{}{kept}", one_line(&error.message))
            }
            _ if session.uncommitted.is_some() => "its changes are not committed".to_owned(),
            _ => String::new(),
        },
    }
}

/// The commands that this state allows, each as it can be pasted.
pub(crate) fn next_commands(session: &Session) -> impl Iterator<Item = String> {
    session.next.iter().map(|name| format!("coppice {name} {}", session.id))
}

/// `+12 -4`, or nothing when nothing changed.
pub(crate) fn changes(changes: Changes) -> Line {
    match changes {
        Changes { files: 0, .. } => Line::new(),
        Changes { insertions, deletions, .. } => {
            Line::toned(Tone::Good, format!("+{insertions}")).plain(" ").with(Tone::Less, format!("-{deletions}"))
        }
    }
}

/// `backend` or `backend/model`, as `--model` takes it.
pub(crate) fn engine(backend: &str, model: Option<&str>) -> String {
    match model {
        Some(model) => format!("{backend}/{model}"),
        None => backend.to_owned(),
    }
}

/// `1200 tokens in, 34 out, $0.05`, or nothing when nothing was counted.
pub(crate) fn usage(usage: &Usage) -> String {
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (0, 0) => None,
        (input, output) => Some(format!("{input} tokens in, {output} out")),
    };
    tokens.into_iter().chain(cost(usage)).collect::<Vec<_>>().join(", ")
}

/// `412k`, `1.2M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        ..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000.. => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}

/// `$0.05`, where the backend tells what it costs.
pub(crate) fn cost(usage: &Usage) -> Option<String> {
    usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!("${cost:.2}"))
}

/// `, with a.png, b.png`, or nothing when there are no images.
pub(crate) fn with(images: &[Attached]) -> String {
    let name = |image: &Attached| match &image.name {
        Some(name) => one_line(name),
        None => format!("image {}", image.number),
    };
    match images.iter().map(name).collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => names,
        names => format!(", with {names}"),
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Sandbox;
    use crate::look::sample::{self, session};

    #[test]
    fn what_needs_a_person_comes_first() {
        let mut sessions: Vec<_> = Status::ALL.into_iter().map(session).collect();
        sort(&mut sessions);
        let words: Vec<_> = sessions.iter().map(|session| session.status.as_str()).collect();
        assert_eq!(
            words.join(" "),
            "approval asking failed interrupted conflict queued preparing running integrating ready draft merged archived"
        );
    }

    #[test]
    fn every_glyph_takes_one_column_and_its_twin_tells_as_much() {
        use unicode_width::UnicodeWidthStr;
        for status in Status::ALL {
            let (glyph, twin) = (Signs::Unicode.glyph(status), Signs::Ascii.glyph(status));
            assert_eq!((glyph.width(), twin.len(), twin.is_ascii()), (1, 1, true), "{status:?}");
            let same = |other: &Status| Signs::Unicode.glyph(*other) == glyph;
            let same_twin = |other: &Status| Signs::Ascii.glyph(*other) == twin;
            assert!(
                Status::ALL.iter().filter(|other| same(other)).eq(Status::ALL.iter().filter(|other| same_twin(other)))
            );
        }
    }

    #[test]
    fn tokens_are_counted_in_thousands() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1k"),
            (412_300, "412k"),
            (999_999, "999k"),
            (1_000_000, "1.0M"),
            (12_340_000, "12.3M"),
        ] {
            assert_eq!(tokens(count), expected);
        }
    }

    #[test]
    fn what_was_spent_is_said_as_far_as_it_is_known() {
        for (input_tokens, output_tokens, cost_usd, expected) in [
            (0, 0, None, ""),
            (1200, 34, None, "1200 tokens in, 34 out"),
            (1200, 0, Some(0.049), "1200 tokens in, 0 out, $0.05"),
            (0, 0, Some(1.5), "$1.50"),
            (1, 2, Some(0.0), "1 tokens in, 2 out"),
        ] {
            assert_eq!(usage(&Usage { input_tokens, output_tokens, cost_usd }), expected);
        }
    }

    #[test]
    fn what_runs_free_is_marked_while_it_can_act() {
        for (status, yolo, level, expected) in [
            (Status::Ready, false, "workspace", ""),
            (Status::Running, true, "workspace", "YOLO"),
            (Status::Running, true, "off", "YOLO advisory"),
            (Status::Failed, false, "off", "advisory"),
            (Status::Merged, true, "off", ""),
            (Status::Queued, false, Sandbox::UNKNOWN, ""),
            (Status::Queued, true, Sandbox::UNKNOWN, "YOLO"),
        ] {
            let sandbox = Sandbox { level: level.to_owned(), enforced: level == "workspace", note: None };
            assert_eq!(marks(&Session { yolo, sandbox, ..session(status) }).text(), expected);
        }
    }

    #[test]
    fn a_need_names_the_thing() {
        let mut of_child = sample::approval();
        of_child.approvals[0].agent = Some("explore".into());
        for (session, expected) in [
            (sample::asking(), "2 questions"),
            (sample::approval(), "wants: run `cargo test`"),
            (sample::failed(), "the backend exited before it answered"),
            (sample::conflict(), "in 2 files"),
            (session(Status::Ready), ""),
            (of_child, "explore wants: run `cargo test`"),
            (Session { waiting_for: Some(WaitingFor::Children), ..session(Status::Running) }, "waits for children"),
        ] {
            assert_eq!(need(&session), expected);
        }
    }
}
