//! Identifiers: eight lower-case base32 characters, parsed once at the edge, matched by unique prefix.
//!
//! Nothing here draws randomness: the caller hands over the bytes.

use std::fmt;
use std::str::FromStr;

/// RFC 4648 base32 in lower case: no character needs quoting in a shell, a path or a branch name.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// How many characters an identifier has.
pub const LENGTH: usize = 8;

/// Names one session, everywhere: on the command line, in branch names, in the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId([u8; LENGTH]);

impl SessionId {
    /// Spells forty random bits as an identifier.
    pub fn from_random(bits: [u8; 5]) -> Self {
        let number = bits.iter().fold(0u64, |acc, byte| acc << 8 | u64::from(*byte));
        Self(std::array::from_fn(|place| ALPHABET[(number >> (35 - 5 * place) & 31) as usize]))
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        // The alphabet is ASCII, so the conversion cannot fail.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Text that is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a session id: expected {LENGTH} characters of a-z and 2-7")]
pub struct InvalidId(pub String);

impl FromStr for SessionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let bytes: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| InvalidId(text.to_owned()))?;
        match bytes.iter().all(|byte| ALPHABET.contains(byte)) {
            true => Ok(Self(bytes)),
            false => Err(InvalidId(text.to_owned())),
        }
    }
}

/// What a prefix typed by a person stands for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    #[error("no session matches `{prefix}`")]
    NotFound { prefix: String },
    #[error("`{prefix}` matches {} sessions: {}", matches.len(), list(matches))]
    Ambiguous { prefix: String, matches: Vec<SessionId> },
}

/// Finds the one identifier that starts with `prefix`; a whole identifier always wins.
pub fn match_prefix(prefix: &str, ids: impl IntoIterator<Item = SessionId>) -> Result<SessionId, PrefixError> {
    let wanted = prefix.to_ascii_lowercase();
    let matches: Vec<_> = ids.into_iter().filter(|id| !wanted.is_empty() && id.as_str().starts_with(&wanted)).collect();
    match matches.as_slice() {
        [] => Err(PrefixError::NotFound { prefix: prefix.to_owned() }),
        [one] => Ok(*one),
        _ => Err(PrefixError::Ambiguous { prefix: prefix.to_owned(), matches }),
    }
}

fn list(ids: &[SessionId]) -> String {
    ids.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    #[test]
    fn random_bits_become_eight_characters() {
        for (bits, expected) in [
            ([0; 5], "aaaaaaaa"),
            ([0xff; 5], "77777777"),
            ([0, 0, 0, 0, 1], "aaaaaaab"),
            ([8, 0, 0, 0, 0], "baaaaaaa"),
        ] {
            assert_eq!(SessionId::from_random(bits).as_str(), expected);
        }
    }

    #[test]
    fn only_the_alphabet_parses() {
        assert!("abcd2345".parse::<SessionId>().is_ok());
        for text in ["", "abc", "abcd23456", "ABCD2345", "abcd0189", "abc/2345", "äbcd234"] {
            assert_eq!(text.parse::<SessionId>(), Err(InvalidId(text.to_owned())));
        }
    }

    #[test]
    fn a_prefix_names_one_session_or_says_why_not() {
        let ids = [id("abcdaaaa"), id("abceaaaa"), id("zzzzzzzz")];
        assert_eq!(match_prefix("z", ids), Ok(ids[2]));
        assert_eq!(match_prefix("ABCD", ids), Ok(ids[0]));
        assert_eq!(match_prefix("q", ids), Err(PrefixError::NotFound { prefix: "q".into() }));
        assert_eq!(match_prefix("", ids), Err(PrefixError::NotFound { prefix: "".into() }));
        assert_eq!(match_prefix("abc", ids).unwrap_err().to_string(), "`abc` matches 2 sessions: abcdaaaa, abceaaaa");
    }
}
