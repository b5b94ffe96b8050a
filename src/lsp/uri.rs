//! Files as the URIs that language servers call them by.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What stays as it is in a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI of an absolute path.
pub fn of(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), PLAIN))
}

/// The path that a URI means; none when it is of another scheme or another machine.
pub fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    let is_path = bytes.first() == Some(&b'/') && !bytes.contains(&0);
    is_path.then(|| PathBuf::from(OsString::from_vec(bytes)))
}

/// The same URI in our own spelling: servers escape other characters than we do.
pub fn plain(uri: &str) -> String {
    path(uri).map_or_else(|| uri.to_owned(), |path| of(&path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_a_file_are_one() {
        for (uri, expected) in [
            ("file:///a/b%20c.rs", Some("/a/b c.rs")),
            ("file://localhost/a", Some("/a")),
            ("file:///a%3Ab", Some("/a:b")),
            ("file://host/a", None),
            ("file:///a%00b", None),
            ("untitled:x", None),
            ("", None),
        ] {
            assert_eq!(path(uri).as_deref(), expected.map(Path::new), "{uri}");
        }
        assert_eq!(of(Path::new("/tmp/ü [x]#.ts")), "file:///tmp/%C3%BC%20%5Bx%5D%23.ts");
        assert_eq!(plain("file:///a/@b"), "file:///a/%40b");
        assert_eq!(plain("git:/a"), "git:/a");
    }

    proptest! {
        #[test]
        fn a_path_comes_back(name in "\\PC{0,20}") {
            let there = PathBuf::from(format!("/{name}"));
            prop_assert_eq!(path(&of(&there)), Some(there));
        }
    }
}
