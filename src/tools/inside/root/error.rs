//! Why a path of the work tree is not opened, in words for the model that named it.

use std::io;

use rustix::io::Errno;

use super::Kind;
use crate::permission::guard::Refusal;

/// Why nothing was done with a path.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("`{path}` is outside of the work tree: name a path in it")]
    Outside { path: String },
    #[error("`{path}` leads out of the work tree by a link")]
    Link { path: String },
    #[error("`{path}` goes through a link: name the file itself, `{place}`")]
    ThroughLink { path: String, place: String },
    #[error("`{path}` goes through too many links")]
    Maze { path: String },
    #[error("{refusal}")]
    Refused { refusal: Refusal },
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error("`{path}` is not a directory, or a part of it is not")]
    NotDirectory { path: String },
    #[error("`{path}` is a directory")]
    Directory { path: String },
    #[error("`{path}` is a directory that is not empty")]
    NotEmpty { path: String },
    #[error("`{path}` is {kind}, not a regular file")]
    Special { path: String, kind: Kind },
    #[error("`{path}` may not be written: its permissions say that it is only read")]
    ReadOnly { path: String },
    #[error("`{path}` is the work tree itself")]
    Tree { path: String },
    #[error("`{path}` holds a NUL")]
    Nul { path: String },
    #[error("failed to {act} `{path}`")]
    Io { act: &'static str, path: String, source: io::Error },
}

/// What a failed call of the system means for whoever named the path.
pub(super) fn failed(act: &'static str, path: &str, errno: Errno) -> RootError {
    let path = path.to_owned();
    match errno {
        Errno::NOENT => RootError::Missing { path },
        Errno::NOTDIR => RootError::NotDirectory { path },
        // A link took the place of what was there a moment ago.
        Errno::LOOP => RootError::Link { path },
        errno => RootError::Io { act, path, source: errno.into() },
    }
}

/// A model reads one line: the cause belongs into it.
impl From<RootError> for String {
    fn from(error: RootError) -> Self {
        match &error {
            RootError::Io { source, .. } => format!("{error}: {source}"),
            RootError::Outside { .. }
            | RootError::Link { .. }
            | RootError::ThroughLink { .. }
            | RootError::Maze { .. }
            | RootError::Refused { .. }
            | RootError::Missing { .. }
            | RootError::NotDirectory { .. }
            | RootError::Directory { .. }
            | RootError::NotEmpty { .. }
            | RootError::Special { .. }
            | RootError::ReadOnly { .. }
            | RootError::Tree { .. }
            | RootError::Nul { .. } => error.to_string(),
        }
    }
}
