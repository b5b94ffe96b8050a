//! Where in a file a call means: nearby for those that only look it up, exactly for those that go on from there.

use crate::lsp::position::{self, Lines, Position};
use crate::lsp::probe;
use crate::tools::code::{At, Place};

use super::desk::{Opened, cut};

/// The one position that a call means.
pub(super) struct Exact {
    pub(super) position: Position,
    /// What is named there.
    pub(super) name: Option<String>,
    /// Where else in the line the same name stands.
    others: Vec<u32>,
}

impl Exact {
    /// Which of several places with the same name in one line is meant; none where there is one.
    pub(super) fn choice(&self, at: &Place) -> Option<String> {
        let At::Symbol(symbol) = &at.at else { return None };
        let count = self.others.len() + 1;
        let (here, others) = (self.position.character, listed(&self.others));
        (count > 1).then(|| {
            format!("`{symbol}` stands {count} times on line {}; this is about character {here}, not {others}", at.line)
        })
    }

    /// Why a change cannot begin here: it would be a guess which of several symbols is meant.
    pub(super) fn doubt(&self, at: &Place) -> Option<String> {
        let At::Symbol(symbol) = &at.at else { return None };
        let mut places = vec![self.position.character];
        places.extend(&self.others);
        (places.len() > 1).then(|| {
            let (count, places) = (places.len(), listed(&places));
            format!(
                "`{symbol}` stands {count} times on line {}, at characters {places}; say which with `character`",
                at.line
            )
        })
    }
}

impl Opened {
    /// The positions that a place may mean, the likeliest first.
    pub(super) fn positions(&self, at: &Place) -> Result<Vec<Position>, String> {
        let line = self.line(at)?;
        let characters = match &at.at {
            At::Character(character) => probe::near(line, *character),
            At::Symbol(symbol) => {
                let seen = probe::seen(line, symbol);
                if seen.is_empty() {
                    return Err(unseen(symbol, at, line));
                }
                seen
            }
        };
        Ok(characters.into_iter().map(|character| Position { line: at.line - 1, character }).collect())
    }

    /// The one position that a place means, and nothing beside it.
    pub(super) fn exactly(&self, at: &Place) -> Result<Exact, String> {
        let line = self.line(at)?;
        let characters = match &at.at {
            At::Character(character) => {
                let length = position::character(line, line.len());
                if *character > length {
                    let path = at.path.display();
                    return Err(format!("line {} of `{path}` has {length} characters, not {character}", at.line));
                }
                vec![*character]
            }
            At::Symbol(symbol) => probe::whole(line, symbol),
        };
        match (characters.split_first(), &at.at) {
            (Some((first, others)), _) => Ok(Exact {
                position: Position { line: at.line - 1, character: *first },
                name: probe::name(line, *first).map(str::to_owned),
                others: others.to_vec(),
            }),
            (None, At::Symbol(symbol)) => Err(unseen(symbol, at, line)),
            (None, At::Character(_)) => Err(format!("there is nothing at {at}")),
        }
    }

    fn line(&self, at: &Place) -> Result<&str, String> {
        let lines = Lines::of(&self.text);
        let path = at.path.display();
        lines.line(at.line - 1).ok_or_else(|| format!("`{path}` has {} lines, not {}", lines.count(), at.line))
    }
}

fn listed(characters: &[u32]) -> String {
    characters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn unseen(symbol: &str, at: &Place, line: &str) -> String {
    let (path, line) = (at.path.display(), cut(line.trim()));
    format!("`{symbol}` is not on line {} of `{path}`, which reads: {line}", at.line)
}
