//! Patterns for paths: `*` stays within a directory and `**` does not.
//!
//! A relative pattern speaks of paths in the work tree, an absolute one of all.

use globset::{GlobBuilder, GlobMatcher};

use super::{Sense, Spot};

#[derive(Debug, Clone)]
pub(super) struct Doublestar {
    glob: GlobMatcher,
    is_absolute: bool,
    /// What every match begins and ends with. Most patterns are told apart by it, at a hundredth of the cost.
    head: String,
    tail: String,
    /// `DIR` of `DIR/**`: moving or removing a directory touches all that is in it.
    whole: Option<Box<Self>>,
}

/// Whatever is not itself in a pattern.
const SPECIAL: &[char] = &['*', '?', '[', ']', '{', '}', '\\', ','];

impl Doublestar {
    pub(super) fn new(pattern: &str) -> Result<Self, globset::Error> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let whole = pattern.strip_suffix("/**").filter(|directory| !directory.is_empty());
        let (head, tail) = match (pattern.find(SPECIAL), pattern.rfind(SPECIAL)) {
            (Some(first), Some(last)) => (&pattern[..first], &pattern[last + 1..]),
            (Some(_), None) | (None, _) => (pattern, pattern),
        };
        // `**/` may be nothing, and with it the separator before it.
        let tail = tail.strip_prefix('/').unwrap_or(tail);
        Ok(Self {
            glob: GlobBuilder::new(pattern).literal_separator(true).build()?.compile_matcher(),
            is_absolute: pattern.starts_with('/'),
            head: head.to_owned(),
            tail: tail.to_owned(),
            whole: whole.map(Self::new).transpose()?.map(Box::new),
        })
    }

    pub(super) fn pattern(&self) -> &str {
        self.glob.glob().glob()
    }

    /// Whether it means a place. To take away, `**` reaches out of the tree as well.
    pub(super) fn means(&self, spot: &Spot, sense: Sense) -> bool {
        match (&spot.inside, sense) {
            (_, Sense::Gives | Sense::Takes) if self.is_absolute => self.matches(&spot.absolute),
            (Some(inside), Sense::Gives | Sense::Takes) => self.matches(inside),
            (None, Sense::Gives) => false,
            (None, Sense::Takes) => self.matches(&format!("..{}", spot.absolute)),
        }
    }

    fn matches(&self, path: &str) -> bool {
        let may = path.starts_with(self.head.as_str()) && path.ends_with(self.tail.as_str());
        may && self.glob.is_match(path) || self.whole.as_ref().is_some_and(|whole| whole.matches(path))
    }
}
