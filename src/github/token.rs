//! A token: read from text or from a private file, shown to nobody.

use std::fmt;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// No token is longer.
const LONGEST: usize = 4096;

/// Proves who asks. It has no text of its own that could reach a log, an event or an error.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why a file of a token is not used.
#[derive(Debug, thiserror::Error)]
pub enum BadTokenFile {
    #[error("failed to read `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is not a file of yours that only you can read", path.display())]
    Open { path: PathBuf },
    #[error("`{}` holds no token", path.display())]
    Empty { path: PathBuf },
}

impl Token {
    /// Takes a token as a variable or a program gives it; `None` for what cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_token = !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned()))
    }

    /// Reads the file of a token; `None` when there is none. One that others may read is refused.
    pub fn read(path: &Path) -> Result<Option<Self>, BadTokenFile> {
        let unreadable = |source| BadTokenFile::Unreadable { path: path.to_owned(), source };
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        // The opened file is asked, not its name: that could lead elsewhere by the time it is read.
        if !is_private(&file.metadata().map_err(unreadable)?) {
            return Err(BadTokenFile::Open { path: path.to_owned() });
        }
        let mut text = String::new();
        file.take(LONGEST as u64 + 2).read_to_string(&mut text).map_err(unreadable)?;
        Self::parse(&text).map(Some).ok_or_else(|| BadTokenFile::Empty { path: path.to_owned() })
    }

    /// The value of the header that carries it.
    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

fn is_private(metadata: &Metadata) -> bool {
    let is_ours = metadata.uid() == rustix::process::getuid().as_raw();
    metadata.is_file() && is_ours && metadata.mode() & 0o077 == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_one_visible_word() {
        for text in ["ghp_abc", " ghp_abc\n", "github_pat_1_2"] {
            assert_eq!(Token::parse(text).unwrap().authorization(), format!("Bearer {}", text.trim()));
        }
        for text in ["", " \n", "two words", "ghp\u{7f}", "ghp_é", &"x".repeat(LONGEST + 1)] {
            assert_eq!(Token::parse(text), None);
        }
    }

    #[test]
    fn a_token_shows_itself_nowhere() {
        let token = Token::parse("ghp_secret").unwrap();
        assert_eq!(format!("{token:?} {:?}", Some(&token)), "Token(…) Some(Token(…))");
    }

    #[test]
    fn only_a_private_file_of_ours_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("github-token");
        assert!(matches!(Token::read(&path), Ok(None)));
        fs::write(&path, "ghp_file\n").unwrap();
        for (mode, is_read) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o644, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match (Token::read(&path), is_read) {
                (Ok(Some(token)), true) => assert_eq!(token.authorization(), "Bearer ghp_file"),
                (Err(BadTokenFile::Open { .. }), false) => {}
                (other, _) => panic!("{mode:o}: {other:?}"),
            }
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "\n").unwrap();
        assert!(matches!(Token::read(&path), Err(BadTokenFile::Empty { .. })));
        assert!(matches!(Token::read(dir.path()), Err(BadTokenFile::Open { .. })));
    }
}
