//! Why a configuration is refused: always where, which key, and what would be right.

use std::fmt;

use super::layer::LayerKind;

/// A refused configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{place}:{column}: not valid TOML: {message}")]
    Syntax { place: Place, column: usize, message: String },
    #[error("{place}: unknown key `{key}`{}", suggest(nearest.as_deref()))]
    UnknownKey { place: Place, key: String, nearest: Option<String> },
    #[error("{place}: `{key}` must be {expected}, not {found}")]
    Invalid { place: Place, key: String, expected: String, found: String },
    #[error("{place}: `{name}` is not {of}: expected a-z, 0-9, `-` and `_`")]
    InvalidName { place: Place, name: String, of: &'static str },
    #[error("{place}: `{key}` holds for the whole machine and cannot be set {kind}")]
    WrongLayer { place: Place, key: String, kind: LayerKind },
    #[error("{place}: `{key}` is for each person to choose and cannot be set by a repository")]
    Personal { place: Place, key: String },
}

/// Where a value stands: a file and a line, or the option that carries it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub label: String,
    /// Counted from 1.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.label),
            None => f.write_str(&self.label),
        }
    }
}

fn suggest(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!(", the nearest known key is `{nearest}`")).unwrap_or_default()
}
