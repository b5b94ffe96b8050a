//! Finds the objects of a text that arrives in pieces.
//!
//! A brace in prose is tried as an object and given up as soon as it cannot be one; then the search goes on right
//! behind it. An object whose first key is one of ours is the response: it is never given up, so what streams out of
//! it can never turn out to have been prose.

use std::mem;

use super::scan::{Event, Fault, Scanner};
use super::wire::KEYS;

/// Keys are kept for diagnosis and comparison only, so a long one may lose its tail.
const KEY_CHARS: usize = 32;
const MAX_KEYS: usize = 12;

/// What the search came across; positions are bytes from the start of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// One decoded character of the response's answer.
    AnswerChar(char),
    Object {
        start: usize,
        end: usize,
        keys: Vec<String>,
    },
    /// The response is no JSON from `at` on; the search is over.
    Broken {
        at: usize,
        fault: Fault,
        keys: Vec<String>,
    },
}

#[derive(Debug)]
pub(super) struct Finder {
    /// Text that may have to be read again, followed by text that has not been read.
    buffer: String,
    /// Position of the buffer in the text.
    base: usize,
    /// Position in the buffer of the next character to read.
    cursor: usize,
    candidate: Option<Candidate>,
    broken: bool,
}

#[derive(Debug)]
struct Candidate {
    start: usize,
    scanner: Scanner,
    key: String,
    keys: Vec<String>,
    kind: Kind,
    answer: Answer,
}

/// Only the first value of that name streams: a repeated one is refused at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Ahead,
    UnderWay,
    Past,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Undecided,
    Foreign,
    Response,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self { buffer: String::new(), base: 0, cursor: 0, candidate: None, broken: false }
    }

    /// Reads on; whatever is found goes to `sink` in the order of the text.
    pub(super) fn push(&mut self, chunk: &str, sink: &mut impl FnMut(Found)) {
        if self.broken {
            return;
        }
        self.buffer.push_str(chunk);
        self.read(sink);
        self.forget();
    }

    /// Ends the text: an object that is still open is broken, or was prose.
    pub(super) fn finish(&mut self, sink: &mut impl FnMut(Found)) {
        while self.candidate.is_some() {
            self.give_up(Fault::Unfinished, sink);
            self.read(sink);
        }
    }

    fn read(&mut self, sink: &mut impl FnMut(Found)) {
        while !self.broken {
            let rest = &self.buffer[self.cursor..];
            let Some(candidate) = &mut self.candidate else {
                let Some(brace) = rest.find('{') else {
                    self.cursor = self.buffer.len();
                    return;
                };
                self.cursor += brace;
                self.candidate = Some(Candidate::new(self.base + self.cursor));
                continue;
            };
            let Some(c) = rest.chars().next() else { return };
            match candidate.scanner.step(c) {
                Err(fault) => self.give_up(fault, sink),
                Ok(event) => {
                    self.cursor += c.len_utf8();
                    candidate.note(event).map(Found::AnswerChar).into_iter().for_each(&mut *sink);
                    if event == Event::Closed {
                        self.complete(sink);
                    }
                }
            }
        }
    }

    fn complete(&mut self, sink: &mut impl FnMut(Found)) {
        if let Some(Candidate { start, keys, .. }) = self.candidate.take() {
            sink(Found::Object { start, end: self.base + self.cursor, keys });
        }
    }

    fn give_up(&mut self, fault: Fault, sink: &mut impl FnMut(Found)) {
        let Some(candidate) = self.candidate.take() else { return };
        match candidate.kind {
            Kind::Response => {
                self.broken = true;
                sink(Found::Broken { at: self.base + self.cursor, fault, keys: candidate.keys });
            }
            Kind::Undecided | Kind::Foreign => self.cursor = candidate.start + '{'.len_utf8() - self.base,
        }
    }

    /// Drops what cannot be read again.
    fn forget(&mut self) {
        let keep = match &self.candidate {
            Some(Candidate { kind: Kind::Undecided | Kind::Foreign, start, .. }) => start - self.base,
            Some(Candidate { kind: Kind::Response, .. }) | None => self.cursor,
        };
        self.buffer.drain(..keep);
        self.base += keep;
        self.cursor -= keep;
    }
}

impl Candidate {
    fn new(start: usize) -> Self {
        Self {
            start,
            scanner: Scanner::new(),
            key: String::new(),
            keys: Vec::new(),
            kind: Kind::Undecided,
            answer: Answer::Ahead,
        }
    }

    /// Keeps track of the top-level keys; returns a character that belongs to the answer.
    fn note(&mut self, event: Event) -> Option<char> {
        if self.scanner.depth() != 1 {
            return None;
        }
        match event {
            Event::KeyChar(c) => {
                if self.key.chars().count() < KEY_CHARS {
                    self.key.push(c);
                }
                None
            }
            Event::KeyEnd => {
                let key = mem::take(&mut self.key);
                self.enter(key);
                None
            }
            Event::TextChar(c) => (self.kind == Kind::Response && self.answer == Answer::UnderWay).then_some(c),
            Event::Quiet | Event::Closed => None,
        }
    }

    fn enter(&mut self, key: String) {
        if self.kind == Kind::Undecided {
            self.kind = if KEYS.contains(&key.as_str()) { Kind::Response } else { Kind::Foreign };
        }
        self.answer = match self.answer {
            Answer::Ahead if key == KEYS[0] => Answer::UnderWay,
            Answer::Ahead => Answer::Ahead,
            Answer::UnderWay | Answer::Past => Answer::Past,
        };
        if self.keys.len() < MAX_KEYS {
            self.keys.push(key);
        }
    }
}
