//! The name of a git object, checked once when it enters the program.

use std::fmt;
use std::str::FromStr;

/// A whole SHA-1 object id; shown as forty hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(git2::Oid);

impl Oid {
    /// The first eight digits, for people.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(8);
        text
    }

    pub(crate) fn raw(&self) -> git2::Oid {
        self.0
    }

    /// Reads the id that a git command prints, with or without the line end.
    pub(crate) fn from_output(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()?.trim_end().parse().ok()
    }
}

impl From<git2::Oid> for Oid {
    fn from(raw: git2::Oid) -> Self {
        Self(raw)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Text that is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an object id: expected 40 hexadecimal digits")]
pub struct InvalidOid(pub String);

impl FromStr for Oid {
    type Err = InvalidOid;

    fn from_str(text: &str) -> Result<Self, InvalidOid> {
        // libgit2 pads shorter text with zeroes, which would name another object.
        match text.len() {
            40 => git2::Oid::from_str(text).map(Self).map_err(|_| InvalidOid(text.to_owned())),
            _ => Err(InvalidOid(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn only_forty_digits_parse() {
        assert_eq!(WHOLE.parse::<Oid>().unwrap().to_string(), WHOLE);
        assert_eq!(WHOLE.parse::<Oid>().unwrap().short(), "01234567");
        for text in ["", "0123", &WHOLE[1..], "g123456789abcdef0123456789abcdef01234567", &format!("{WHOLE}0")] {
            assert_eq!(text.parse::<Oid>(), Err(InvalidOid(text.to_owned())));
        }
    }

    #[test]
    fn output_of_git_parses_with_its_line_end() {
        assert_eq!(Oid::from_output(format!("{WHOLE}\n").as_bytes()), WHOLE.parse().ok());
        assert_eq!(Oid::from_output(b"\xff"), None);
        assert_eq!(Oid::from_output(b""), None);
    }
}
