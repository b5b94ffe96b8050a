//! Whose tools an agent works with: its own, or those that are served in their place.

use std::str::FromStr;

use super::UnknownWord;

/// Which of the tools that agents have of their own are served instead. From the widest to the tightest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// None: the agent works with its own.
    #[default]
    Native,
    /// All of them: the agent's own are off.
    Enforced,
    /// Those that only look: the agent's own are off.
    ReadOnly,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Native, Self::Enforced, Self::ReadOnly];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Enforced => "enforced",
            Self::ReadOnly => "readonly",
        }
    }

    /// The profile of a turn: what is configured, or what its agent or its session wants beyond that. Nobody's word makes
    /// it wider.
    pub fn tightest(configured: Self, agent: Option<Self>, session: Option<Self>) -> Self {
        [agent, session].into_iter().flatten().fold(configured, Self::max)
    }
}

impl FromStr for Profile {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord::new(word, "`native`, `enforced`, `readonly`");
        Self::ALL.into_iter().find(|profile| profile.as_str() == word).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_word_counts_whoever_says_it() {
        use Profile::{Enforced, Native, ReadOnly};
        for (configured, agent, session, expected) in [
            (Native, None, None, Native),
            (Native, Some(Enforced), None, Enforced),
            (Native, None, Some(ReadOnly), ReadOnly),
            (Enforced, Some(Native), Some(Native), Enforced),
            (Enforced, Some(ReadOnly), Some(Enforced), ReadOnly),
            (ReadOnly, Some(Enforced), None, ReadOnly),
        ] {
            assert_eq!(Profile::tightest(configured, agent, session), expected);
        }
    }

    #[test]
    fn every_word_is_read_back() {
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        let error = "ReadOnly".parse::<Profile>().unwrap_err();
        assert_eq!(error.to_string(), "`ReadOnly` is none of `native`, `enforced`, `readonly`");
    }
}
