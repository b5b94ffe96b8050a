//! A call that waits for a person, as a card: what would happen, what to look at twice, why it is asked, what "always"
//! would save. The same for all backends.

use std::sync::Arc;

use super::body::Body;
use super::sheet::Sheet;
use super::words::Words;
use crate::api::session::{Approval, Session};
use crate::look::age::age;
use crate::look::card::approval_head;
use crate::look::line::{Line, Tone, columns_of, one_line, visible};
use crate::look::status::title;
use crate::tui::keymap::{Action, Context, Keymap};

/// So many rows of a preview are seen at once.
const PREVIEW: usize = 12;

/// A title of so many columns is whole in the head of any card.
const HEAD: usize = 30;

/// Whether keys decide it: they do not in the moment in which it comes, since they were meant for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    Soon,
    Count,
}

/// What a card is made of.
pub(super) struct Card<'a> {
    pub(super) approval: &'a Approval,
    pub(super) body: Arc<Body>,
    /// The session that waits; a child may be unknown here.
    pub(super) session: Option<&'a Session>,
    pub(super) keymap: &'a Keymap,
    /// Which of all that wait, from 1 on, and how many there are.
    pub(super) place: (usize, usize),
    pub(super) now: i64,
    pub(super) scroll: usize,
    /// The words of a refusal, once they are written.
    pub(super) words: Option<&'a Words>,
    pub(super) keys: Keys,
}

impl Card<'_> {
    pub(super) fn sheet(&self) -> Sheet {
        let Card { approval, .. } = self;
        let head = approval_head(&approval.tool, &approval.title);
        let words = self.words.map(|words| (Line::toned(Tone::Accent, "why not: "), words.clone()));
        Sheet {
            head,
            aside: self.aside(),
            warnings: self.warnings(),
            body: Arc::clone(&self.body),
            body_rows: PREVIEW,
            scroll: self.scroll,
            remarks: self.remarks(),
            choices: if words.is_some() { Vec::new() } else { vec![self.keys()] },
            short_choices: if words.is_some() { Vec::new() } else { vec![self.short_keys()] },
            chosen: 0,
            foot: self.foot(),
            words,
        }
    }

    /// Who asks, and since when.
    fn aside(&self) -> Line {
        let child = self.approval.agent.as_ref().map(|agent| format!("@{} · ", one_line(agent)));
        let of = self.session.map(|session| format!("{} · {} · ", one_line(&session.backend), title(session)));
        let asker = of.or(child).unwrap_or_default();
        Line::new().dim(format!("{asker}{}", age(self.now, self.approval.requested_at)))
    }

    fn warnings(&self) -> Vec<Line> {
        let warning =
            |text: &String| Line::toned(Tone::Bad, format!("⚠ {}", one_line(text.trim_start_matches(['⚠', ' ']))));
        let expired = self.approval.expired.then(|| {
            Line::toned(Tone::Warn, "asked before the daemon restarted: ")
                .plain("your decision resumes the session and holds once, for the same call")
        });
        self.approval.warnings.iter().map(warning).chain(expired).collect()
    }

    /// Where it would happen, and why a person is asked.
    fn remarks(&self) -> Vec<Line> {
        let Approval { reason, layer, rule, .. } = self.approval;
        let place = self.session.map(|session| Line::new().dim("in ").plain(one_line(&session.branch)));
        let by = match (rule.as_deref().map(one_line), one_line(layer)) {
            (Some(rule), layer) if layer.is_empty() => format!(" ({rule})"),
            (Some(rule), layer) => format!(" ({layer}: {rule})"),
            (None, layer) if layer.is_empty() => String::new(),
            (None, layer) => format!(" ({layer})"),
        };
        let why = (!reason.is_empty()).then(|| Line::new().dim("why: ").plain(one_line(reason)).dim(by));
        match (place, why) {
            (Some(place), Some(why)) => vec![place.dim(" · ").then(why)],
            (place, why) => place.into_iter().chain(why).collect(),
        }
    }

    fn keys(&self) -> Line {
        if self.keys == Keys::Soon {
            return Line::new().dim("…");
        }
        let key = |action| Line::toned(Tone::Accent, self.keymap.key(Context::Approval, action).unwrap_or("-"));
        let once = key(Action::AllowOnce).plain(" once");
        let refuse = Line::new().plain("   ").then(key(Action::Refuse)).plain(" no, with a word why");
        match rules(&self.approval.saves) {
            rules if rules.is_empty() => {
                once.then(refuse).dim("   only once: no rule would cover this call and no other")
            }
            rules => once
                .plain("   ")
                .then(key(Action::AllowSession))
                .plain(" this session   ")
                .then(key(Action::AllowAlways))
                .plain(" always, saves ")
                .strong(rules)
                .then(refuse)
                .plain("   ")
                .then(key(Action::RefuseAlways))
                .plain(" never"),
        }
    }

    /// The keys without the rule that some of them would save: where it has no room, they are not offered.
    fn short_keys(&self) -> Line {
        if self.keys == Keys::Soon {
            return Line::new().dim("…");
        }
        let key = |action| Line::toned(Tone::Accent, self.keymap.key(Context::Approval, action).unwrap_or("-"));
        let once = key(Action::AllowOnce).plain(" once");
        let session = match self.approval.saves.as_slice() {
            [] => Line::new(),
            [_, ..] => Line::new().plain("  ").then(key(Action::AllowSession)).plain(" session"),
        };
        once.then(session).plain("  ").then(key(Action::Refuse)).plain(" no, and why")
    }

    /// `y s a n d`
    fn deciding_keys(&self) -> String {
        let actions: &[Action] = match self.approval.saves.as_slice() {
            [] => &[Action::AllowOnce, Action::Refuse],
            [_, ..] => {
                &[Action::AllowOnce, Action::AllowSession, Action::AllowAlways, Action::Refuse, Action::RefuseAlways]
            }
        };
        let keys = actions.iter().filter_map(|action| self.keymap.key(Context::Approval, *action));
        keys.collect::<Vec<_>>().join(" ")
    }

    fn foot(&self) -> Line {
        let key = |action| self.keymap.key(Context::Approval, action).unwrap_or("-").to_owned();
        let words = |action| self.keymap.key(Context::Words, action).unwrap_or("-").to_owned();
        match (self.words, self.place) {
            (Some(_), _) => Line::new().dim(format!(
                "{} refuses; without words the agent is told nothing more · {} back",
                words(Action::Open),
                words(Action::Back)
            )),
            (None, (place, all)) => {
                let waiting = match all {
                    1 => Line::new().dim("1 waiting"),
                    _ => Line::new()
                        .plain(format!("{place} of {all} waiting"))
                        .dim(format!(" · {} next", key(Action::NextRequest))),
                };
                let decide = format!("{} decide, {} does not", self.deciding_keys(), key(Action::Open));
                waiting.dim(format!(" · {decide} · {} later", key(Action::Back)))
            }
        }
    }
}

/// What would happen: all that the head cannot show, because nobody should allow what was cut.
pub(super) fn preview(approval: &Approval) -> Vec<Line> {
    let whole = visible(approval.title.trim());
    let text = visible(approval.preview.as_deref().unwrap_or_default());
    let text = text.trim_end();
    let says_all = !text.contains('\n') && whole.contains(text.trim());
    let is_short = !whole.contains('\n') && columns_of(&whole) <= HEAD;
    let mut lines = Vec::new();
    if !is_short && !text.contains(&whole) {
        lines.extend(whole.lines().map(|line| Line::new().plain(line)));
    }
    if text.is_empty() || says_all {
        return lines;
    }
    let is_patch = text.lines().any(|line| line.starts_with("@@") || line.starts_with("+++ "));
    let is_marked = text.lines().all(|line| line.is_empty() || line.starts_with(['+', '-', ' ', '@']));
    let tone = |line: &str| match line.as_bytes().first() {
        _ if !is_patch && !is_marked => Tone::Plain,
        _ if line.starts_with("+++ ") || line.starts_with("--- ") => Tone::Strong,
        Some(b'+') => Tone::More,
        Some(b'-') => Tone::Less,
        Some(b'@') => Tone::Accent,
        Some(_) | None => Tone::Plain,
    };
    lines.extend(text.lines().map(|line| Line::toned(tone(line), line)));
    lines
}

/// Rules as they stand in a file.
fn rules(rules: &[String]) -> String {
    rules.iter().map(|rule| one_line(rule)).collect::<Vec<_>>().join(", ")
}
