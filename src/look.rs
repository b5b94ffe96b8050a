//! How things are said to a person, the same in every face: lines with meaning, ages, the words for a status, tool cards.
//!
//! Values in, lines out. It knows what crosses the socket and nothing of terminals: what a tone looks like is the face's.

pub(crate) mod age;
pub(crate) mod card;
pub(crate) mod highlight;
pub(crate) mod line;
pub(crate) mod markdown;
pub(crate) mod moved;
pub(crate) mod pull;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod status;
pub(crate) mod tool;
pub(crate) mod verdict;
