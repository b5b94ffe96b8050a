//! What a pull request is called by: its number, its address, or the branch that it brings.

use super::{Base, Slug};

/// Names one pull request of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    Number(u64),
    /// The branch at the head of it; the owner where it is of a fork.
    Branch {
        owner: Option<String>,
        name: String,
    },
}

/// Why a reference means nothing here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is a pull request of another repository than `{repository}`")]
pub struct BadReference {
    text: String,
    repository: String,
}

impl Reference {
    /// Reads `12`, `#12`, the address of a pull request, `branch` or `owner:branch`.
    pub fn parse(text: &str, slug: &Slug, base: &Base) -> Result<Self, BadReference> {
        let text = text.trim();
        if let Ok(number) = text.strip_prefix('#').unwrap_or(text).parse() {
            return Ok(Self::Number(number));
        }
        if let Some((_, rest)) = text.split_once("://") {
            let number = number_in(rest, slug, base);
            let foreign = || BadReference { text: text.to_owned(), repository: slug.full_name() };
            return number.map(Self::Number).ok_or_else(foreign);
        }
        Ok(match text.split_once(':') {
            Some((owner, name)) => Self::Branch { owner: Some(owner.to_owned()), name: name.to_owned() },
            None => Self::Branch { owner: None, name: text.to_owned() },
        })
    }
}

/// The number in `HOST/OWNER/NAME/pull/NUMBER`, whatever follows, if it is of this repository.
fn number_in(rest: &str, slug: &Slug, base: &Base) -> Option<u64> {
    let mut parts = rest.split(['/', '?', '#']);
    let host = parts.next()?.to_ascii_lowercase();
    let is_same = |part: Option<&str>, name: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(name));
    let is_here = (host == slug.host || base.is_loopback())
        && is_same(parts.next(), &slug.owner)
        && is_same(parts.next(), &slug.name)
        && parts.next() == Some("pull");
    parts.next().filter(|_| is_here)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_has_many_names() {
        let slug = Slug::parse("git@github.com:ada/engine").unwrap();
        let base = Base::parse("https://api.github.com").unwrap();
        let branch = |owner: Option<&str>, name: &str| {
            Ok(Reference::Branch { owner: owner.map(str::to_owned), name: name.to_owned() })
        };
        for (text, expected) in [
            ("12", Ok(Reference::Number(12))),
            ("#12", Ok(Reference::Number(12))),
            ("https://github.com/ada/engine/pull/12", Ok(Reference::Number(12))),
            ("https://github.com/Ada/Engine/pull/12/files#diff", Ok(Reference::Number(12))),
            ("fix/it", branch(None, "fix/it")),
            ("bob:fix", branch(Some("bob"), "fix")),
        ] {
            assert_eq!(Reference::parse(text, &slug, &base), expected, "{text}");
        }
        for text in [
            "https://github.com/ada/other/pull/12",
            "https://github.com/ada/engine/issues/12",
            "https://evil.example/ada/engine/pull/12",
            "https://github.com/ada/engine/pull/x",
        ] {
            let said = Reference::parse(text, &slug, &base).unwrap_err().to_string();
            assert_eq!(said, format!("`{text}` is a pull request of another repository than `ada/engine`"));
        }
    }
}
