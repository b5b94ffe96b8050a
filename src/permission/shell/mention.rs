//! The words of a text that nobody can read as commands. Whoever forbids a command forbids such a text if it has all
//! words that the command begins with, in whatever order.

use std::collections::BTreeSet;

use super::super::compact::glob;

/// The words of a text, in lower case, without quotes and cut at every other sign.
#[derive(Debug, Clone)]
pub(in super::super) struct TokenBag(BTreeSet<String>);

impl TokenBag {
    pub(super) fn of_text(text: &str) -> Self {
        let text = text.replace("\\\n", "");
        Self::of_words([text.as_str(), &text.replace(['\'', '"', '\\'], "")])
    }

    pub(super) fn of_words(words: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut tokens = BTreeSet::new();
        for word in words {
            for token in word.as_ref().to_lowercase().split(|c| !is_of_token(c)) {
                // `git-push` is `git push`.
                tokens.extend(token.strip_prefix("git-").into_iter().flat_map(|verb| ["git", verb]).map(str::to_owned));
                tokens.insert(token.to_owned());
            }
        }
        Self(tokens)
    }

    /// Whether it has all words of a pattern: those up to its first star if they say more than the program, and all of
    /// them otherwise.
    pub(in super::super) fn mentions(&self, pattern: &str) -> bool {
        let pattern = pattern.to_lowercase();
        let all: Vec<_> = pattern.split_whitespace().collect();
        let star = all.iter().position(|word| glob::is_pattern(word));
        let head = literals(&all[..star.map_or(all.len(), |star| star + 1)]);
        let wanted = if head.len() > 1 { head } else { literals(&all) };
        let has = |wanted: &&str| self.0.iter().any(|token| glob::matches(wanted, token));
        !wanted.is_empty() && wanted.iter().all(has)
    }
}

/// The parts of words that are no mere pattern.
fn literals<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let parts = words.iter().flat_map(|word| word.split(|c| !is_of_token(c) && !matches!(c, '*' | '?')));
    parts.filter(|part| part.contains(char::is_alphanumeric)).collect()
}

fn is_of_token(c: char) -> bool {
    c.is_alphanumeric() || "_-.+@%".contains(c)
}
