//! Questions, one after the other: where the cursor stands, what was answered, and all answers together at the end.
//!
//! Pure: it knows neither the model nor the screen.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::words::Words;
use crate::api::session::Question;

/// What is sent for a question that was left blank.
const NO_ANSWER: &str = "no answer";

/// The purpose of a question whose answer decides about a plan.
const PLAN_DECISION: &str = "planner_plan_decision";

/// Whether the answer decides about a plan.
pub(crate) fn is_plan(question: &Question) -> bool {
    question.purpose.as_deref() == Some(PLAN_DECISION)
}

/// How far the person is with the questions of one session.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    questions: Vec<Question>,
    answers: Vec<Option<String>>,
    at: usize,
    cursor: usize,
    /// The chosen options where several may be.
    marked: BTreeSet<usize>,
    focus: Focus,
    words: Words,
}

/// The answers so far, as they are kept between two runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Begun {
    /// How many turns the asker had begun.
    pub(super) turn: u32,
    pub(super) questions: Vec<Question>,
    answers: Vec<Option<String>>,
    at: usize,
    cursor: usize,
    marked: BTreeSet<usize>,
    focus: Focus,
    words: String,
}

impl Begun {
    /// Where the person was; nothing of it is believed that does not fit to the questions.
    pub(super) fn progress(&self) -> Option<Progress> {
        if self.questions.is_empty() || self.answers.len() != self.questions.len() {
            return None;
        }
        let mut progress = Progress::of(self.questions.clone());
        progress.answers.clone_from(&self.answers);
        progress.turn_to(self.at.min(self.questions.len() - 1));
        let options = progress.question().options.len();
        progress.cursor = self.cursor.min(options.saturating_sub(1));
        progress.marked = self.marked.iter().copied().filter(|option| *option < options).collect();
        progress.focus = if options == 0 { Focus::Words } else { self.focus };
        progress.words = Words::of(&self.words);
        Some(progress)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Focus {
    #[default]
    Options,
    /// The free answer.
    Words,
}

/// Whether a number means anything here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Picked {
    Something,
    Nothing,
}

/// What came of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Another question is open.
    More,
    /// All answers, in the order of the questions.
    All(Vec<String>),
}

impl Progress {
    /// At the first of these questions; there is at least one.
    pub(super) fn of(questions: Vec<Question>) -> Progress {
        let answers = questions.iter().map(|_| None).collect();
        let mut progress = Progress {
            questions,
            answers,
            at: 0,
            cursor: 0,
            marked: BTreeSet::new(),
            focus: Focus::Options,
            words: Words::default(),
        };
        progress.turn_to(0);
        progress
    }

    /// What there is to keep, unless nothing was answered, marked or written.
    pub(super) fn begun(&self, turn: u32) -> Option<Begun> {
        let is_blank = self.answers.iter().all(Option::is_none) && self.marked.is_empty() && self.words.is_blank();
        (!is_blank).then(|| Begun {
            turn,
            questions: self.questions.clone(),
            answers: self.answers.clone(),
            at: self.at,
            cursor: self.cursor,
            marked: self.marked.clone(),
            focus: self.focus,
            words: self.words.text(),
        })
    }

    /// Whether it is about exactly these questions.
    pub(super) fn is_about(&self, questions: &[&Question]) -> bool {
        self.questions.iter().eq(questions.iter().copied())
    }

    pub(super) fn question(&self) -> &Question {
        // `of` is never given an empty list, and `at` never leaves it.
        &self.questions[self.at]
    }

    /// The number of the question in hand, from 1 on, and how many there are.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.at + 1, self.questions.len())
    }

    pub(super) fn is_plan(&self) -> bool {
        is_plan(self.question())
    }

    /// Whether only letters decide: an option of a plan may widen what the session may do, and Enter is pressed without
    /// reading.
    pub(super) fn needs_letter(&self) -> bool {
        self.is_plan() && !self.letters().is_empty() && self.focus == Focus::Options
    }

    /// The letters in brackets, as they are spelled out: `A, M, L`.
    pub(super) fn spelled_letters(&self) -> String {
        self.letters().iter().map(char::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Whether a turn waits for the answers; otherwise the questions ended it.
    pub(super) fn holds_turn(&self) -> bool {
        self.questions.iter().any(|question| question.call.is_some() && !question.expired)
    }

    pub(super) fn focus(&self) -> Focus {
        self.focus
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn is_marked(&self, option: usize) -> bool {
        self.marked.contains(&option)
    }

    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    pub(super) fn answer(&self) -> Option<&str> {
        self.answers.get(self.at).and_then(Option::as_deref)
    }

    /// One up; from the first option, and from the first line of the words, over the edge.
    pub(super) fn up(&mut self) {
        match (self.focus, self.cursor) {
            (Focus::Options, 0) => self.focus = Focus::Words,
            (Focus::Options, _) => self.cursor -= 1,
            (Focus::Words, _) => self.stand_on(self.question().options.len().saturating_sub(1)),
        }
    }

    pub(super) fn down(&mut self) {
        match self.focus {
            Focus::Options if self.cursor + 1 < self.question().options.len() => self.cursor += 1,
            Focus::Options => self.focus = Focus::Words,
            Focus::Words => self.stand_on(0),
        }
    }

    pub(super) fn toggle_focus(&mut self) {
        match self.focus {
            Focus::Options => self.focus = Focus::Words,
            Focus::Words => self.stand_on(self.cursor),
        }
    }

    /// The option of this number, from 1 on; the number behind the last is the free answer.
    pub(super) fn pick(&mut self, number: usize) -> Picked {
        match number.checked_sub(1) {
            Some(option) if option < self.question().options.len() => {
                self.stand_on(option);
                self.mark();
            }
            Some(option) if option == self.question().options.len() => self.focus = Focus::Words,
            Some(_) | None => return Picked::Nothing,
        }
        Picked::Something
    }

    /// The option with this letter in brackets, as the card of a plan has them.
    pub(super) fn pick_letter(&mut self, letter: char) -> Picked {
        let is_called = |key: char| key.eq_ignore_ascii_case(&letter);
        match self.question().options.iter().position(|option| letter_of(option).is_some_and(is_called)) {
            Some(option) => {
                self.stand_on(option);
                Picked::Something
            }
            None => Picked::Nothing,
        }
    }

    /// The letters in brackets of all options.
    pub(super) fn letters(&self) -> Vec<char> {
        self.question().options.iter().filter_map(|option| letter_of(option)).collect()
    }

    /// Chooses the option under the cursor, or not, where several may be chosen.
    pub(super) fn mark(&mut self) {
        let option = self.cursor;
        if self.question().multiple && self.focus == Focus::Options && !self.marked.remove(&option) {
            self.marked.insert(option);
        }
    }

    /// Takes the answer in hand and goes to the next question without one.
    pub(super) fn enter(&mut self) -> Answered {
        let answer = self.given();
        if let Some(slot) = self.answers.get_mut(self.at) {
            *slot = Some(answer);
        }
        let after = self.at + 1;
        let order = (after..self.questions.len()).chain(0..self.at);
        match order.into_iter().find(|at| self.answers[*at].is_none()) {
            Some(next) => {
                self.turn_to(next);
                Answered::More
            }
            None => Answered::All(self.answers.iter().flatten().cloned().collect()),
        }
    }

    /// The question before, with the answer that it got.
    pub(super) fn earlier(&mut self) {
        if let Some(at) = self.at.checked_sub(1) {
            self.turn_to(at);
        }
    }

    /// The question after, as far as questions were answered.
    pub(super) fn later(&mut self) {
        if self.answers[self.at].is_some() && self.at + 1 < self.questions.len() {
            self.turn_to(self.at + 1);
        }
    }

    fn given(&self) -> String {
        let question = self.question();
        let words = self.words.text().trim().to_owned();
        let marked = self.marked.iter().filter_map(|option| question.options.get(*option)).cloned();
        let chosen: Vec<_> = match self.focus {
            _ if question.multiple && !self.marked.is_empty() => {
                marked.chain(Some(words).filter(|words| !words.is_empty())).collect()
            }
            Focus::Options => question.options.get(self.cursor).cloned().into_iter().collect(),
            Focus::Words => vec![words],
        };
        match chosen.join(", ") {
            blank if blank.is_empty() => NO_ANSWER.to_owned(),
            answer => answer,
        }
    }

    fn stand_on(&mut self, option: usize) {
        if !self.question().options.is_empty() {
            self.focus = Focus::Options;
            self.cursor = option;
        }
    }

    /// Shows a question; one that was answered shows its answer.
    fn turn_to(&mut self, at: usize) {
        self.at = at;
        let answer = self.answer().filter(|answer| *answer != NO_ANSWER).map(str::to_owned);
        let options = &self.question().options;
        let chosen = answer.as_ref().and_then(|answer| options.iter().position(|option| option == answer));
        let is_free = options.is_empty() || (answer.is_some() && chosen.is_none());
        self.focus = if is_free { Focus::Words } else { Focus::Options };
        self.cursor = chosen.unwrap_or(0);
        self.marked = BTreeSet::new();
        self.words = match chosen {
            Some(_) => Words::default(),
            None => Words::of(&answer.unwrap_or_default()),
        };
    }
}

/// The letter in brackets that an option begins with, as those of a plan do.
pub(crate) fn letter_of(option: &str) -> Option<char> {
    let mut head = option.chars();
    match (head.next(), head.next(), head.next()) {
        (Some('['), Some(letter), Some(']')) => Some(letter),
        (_, _, _) => None,
    }
}
