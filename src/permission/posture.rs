//! How much a session may do by itself, and how tightly its processes are held.

use std::str::FromStr;

/// What happens with a call that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Posture {
    /// Reads, and writes nothing but the plan.
    Plan,
    /// A person is asked.
    Attended,
    /// Edits in the work tree go ahead, a person is asked about the rest.
    Edits,
    /// All that stays in the work tree goes ahead.
    Unattended,
}

/// What the processes of a session can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Files are held as at `Workspace`, and only listed hosts can be reached.
    Restricted,
    /// Writes in the work tree and in private places, reads from a list, any host.
    Workspace,
    /// Everything that the user can reach.
    Off,
}

/// Whether the kernel holds a session to its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Enforced,
    Advisory,
}

/// A word that names none of the choices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of {known}")]
pub struct UnknownWord {
    word: String,
    known: &'static str,
}

impl UnknownWord {
    pub(super) fn new(word: &str, known: &'static str) -> Self {
        Self { word: word.to_owned(), known }
    }
}

impl Posture {
    /// From the tightest to the widest.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Attended, Self::Edits, Self::Unattended];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Attended => "attended",
            Self::Edits => "edits",
            Self::Unattended => "unattended",
        }
    }

    /// What a session has that asks for nothing: alone where it is held, with a person where it is not.
    pub fn by_hold(hold: Hold) -> Self {
        match hold {
            Hold::Enforced => Self::Unattended,
            Hold::Advisory => Self::Attended,
        }
    }
}

impl Level {
    /// From the tightest to the widest.
    pub const ALL: [Self; 3] = [Self::Restricted, Self::Workspace, Self::Off];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Workspace => "workspace",
            Self::Off => "off",
        }
    }
}

impl FromStr for Posture {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord::new(word, "`plan`, `attended`, `edits`, `unattended`");
        Self::ALL.into_iter().find(|posture| posture.as_str() == word).ok_or_else(unknown)
    }
}

impl FromStr for Level {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord::new(word, "`off`, `workspace`, `restricted`");
        Self::ALL.into_iter().find(|level| level.as_str() == word).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_spelled() {
        for posture in Posture::ALL {
            assert_eq!(posture.as_str().parse(), Ok(posture));
        }
        for level in Level::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        let error = "auto".parse::<Posture>().unwrap_err();
        assert_eq!(error.to_string(), "`auto` is none of `plan`, `attended`, `edits`, `unattended`");
    }

    #[test]
    fn the_order_is_from_tight_to_wide() {
        assert!(Posture::ALL.is_sorted() && Level::ALL.is_sorted());
    }

    #[test]
    fn the_default_follows_what_is_enforced() {
        assert_eq!(Posture::by_hold(Hold::Enforced), Posture::Unattended);
        assert_eq!(Posture::by_hold(Hold::Advisory), Posture::Attended);
    }
}
