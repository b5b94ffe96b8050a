//! A question, or the decision about a plan, as a card: the text, numbered options, and a row for a free answer.

use std::sync::Arc;

use super::body::Body;
use super::card::Keys;
use super::question::{Focus, Progress};
use super::sheet::Sheet;
use crate::api::session::Session;
use crate::api::workflow::Plan;
use crate::look::age::age;
use crate::look::line::{Line, Tone, one_line, visible};
use crate::look::markdown;
use crate::look::status::title;
use crate::tui::keymap::{Action, Context, Keymap};

/// A question takes as much of the screen as it needs.
const ALL: usize = usize::MAX;

pub(super) struct Ask<'a> {
    pub(super) progress: &'a Progress,
    pub(super) session: Option<&'a Session>,
    pub(super) body: Arc<Body>,
    pub(super) keymap: &'a Keymap,
    pub(super) now: i64,
    pub(super) scroll: usize,
    pub(super) keys: Keys,
}

impl Ask<'_> {
    pub(super) fn sheet(&self) -> Sheet {
        let question = self.progress.question();
        let expired = question.expired.then(|| {
            Line::toned(Tone::Warn, "asked before the daemon restarted: ").plain("your answer resumes the session")
        });
        let is_written = self.progress.focus() == Focus::Words;
        let label = Line::toned(Tone::Accent, "› ").plain(format!("{}  ", question.options.len() + 1));
        Sheet {
            head: self.head(),
            aside: self.aside(),
            warnings: expired.into_iter().collect(),
            body: Arc::clone(&self.body),
            body_rows: ALL,
            scroll: self.scroll,
            remarks: vec![Line::new()],
            choices: self.choices(),
            short_choices: Vec::new(),
            chosen: if is_written { question.options.len().saturating_sub(1) } else { self.progress.cursor() },
            words: is_written.then(|| (label, self.progress.words().clone())),
            foot: self.foot(),
        }
    }

    fn head(&self) -> Line {
        if self.progress.is_plan() {
            let name = self.body.title.clone().or_else(|| self.session.map(|session| one_line(&session.title)));
            return Line::new().strong(format!("Plan: {}", name.unwrap_or_default()));
        }
        match self.progress.place() {
            (_, 1) => Line::new().strong("Question"),
            (number, all) => Line::new().strong(format!("Question {number} of {all}")),
        }
    }

    fn aside(&self) -> Line {
        let Some(session) = self.session else { return Line::new() };
        let (backend, age) = (one_line(&session.backend), age(self.now, session.updated_at));
        Line::new().dim(format!("{backend} · {} · {age}", title(session)))
    }

    fn choices(&self) -> Vec<Line> {
        let question = self.progress.question();
        let mut lines: Vec<_> =
            question.options.iter().enumerate().map(|(place, text)| self.option(place, text)).collect();
        if self.progress.focus() == Focus::Options {
            let written = match self.progress.words().is_blank() {
                true => Line::new().dim("write an answer…"),
                false => Line::new().plain(one_line(&self.progress.words().text())),
            };
            lines.push(Line::new().plain(format!("  {}  ", question.options.len() + 1)).then(written));
        }
        lines
    }

    fn option(&self, place: usize, text: &str) -> Line {
        let is_here = self.progress.focus() == Focus::Options && self.progress.cursor() == place;
        let cursor = if is_here { Line::toned(Tone::Accent, "› ") } else { Line::new().plain("  ") };
        let mark = match (self.progress.question().multiple, self.progress.is_marked(place)) {
            (false, _) => "",
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
        };
        let row = cursor.plain(format!("{}  {mark}", place + 1));
        if is_here { row.strong(one_line(text)) } else { row.plain(one_line(text)) }
    }

    fn foot(&self) -> Line {
        if self.keys == Keys::Soon {
            return Line::new().dim("…");
        }
        let context = match self.progress.focus() {
            Focus::Options => Context::Question,
            Focus::Words => Context::Words,
        };
        let key = |action| self.keymap.key(context, action).unwrap_or("-").to_owned();
        let (number, all) = self.progress.place();
        let sends = match number == all {
            true => "sends",
            false => "next",
        };
        let mut parts = vec![match self.progress.needs_letter() {
            true => format!("{} decide, {} does not", self.progress.spelled_letters(), key(Action::Open)),
            false => format!("{} {sends}", key(Action::Open)),
        }];
        match self.progress.focus() {
            Focus::Words => {
                parts.push("empty means `no answer`".to_owned());
                let ends = match self.progress.holds_turn() {
                    true => "ends the turn without a reply",
                    false => "later, answers are kept",
                };
                parts.push(format!("{} {ends}", key(Action::EndTurn)));
            }
            Focus::Options => {
                if self.progress.question().multiple {
                    parts.push(format!("{} marks", key(Action::NextRequest)));
                }
                parts.push(format!("{} writes an answer", key(Action::ToggleFocus)));
                let kept = if self.progress.is_plan() { "" } else { ", answers are kept" };
                parts.push(format!("{} to the list{kept}", key(Action::ToList)));
            }
        }
        Line::new().dim(parts.join(" · "))
    }
}

/// What is asked, and what a plan calls itself.
pub(super) fn text(progress: &Progress, plan: Option<&Plan>, columns: u16) -> (Option<String>, Vec<Line>) {
    let text = visible(progress.question().text.trim());
    if !progress.is_plan() {
        return (None, markdown::lines(&text, columns));
    }
    // A session in plan mode shows the plan in the question itself; a planner's is kept beside it.
    let whole = match plan {
        Some(plan) if !text.contains('\n') => format!("{}\n\n{text}", visible(plan.markdown.trim())),
        Some(_) | None => text,
    };
    let title = plan.map(|plan| one_line(&plan.title)).or_else(|| heading(&whole));
    (title, markdown::lines(&whole, columns))
}

/// The first heading of a text.
fn heading(markdown: &str) -> Option<String> {
    let first = markdown.lines().map(str::trim).find(|line| line.starts_with('#'))?;
    Some(first.trim_matches('#').trim().to_owned()).filter(|title| !title.is_empty())
}
