//! Files of the user's own. Some of them lie where an agent may write, so nobody waits for a pipe or reads without end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde_json::Value;

use crate::permission::claude_rules::parse_settings;

/// No settings are larger; the file that Claude keeps its state in grows with every project.
const LARGEST: u64 = 16 << 20;

/// Reads a file; one that is missing says nothing. The error names the path, and the line and column where there is one.
pub(crate) fn read_json(path: &Path) -> Result<Value, String> {
    match read_text(path) {
        Ok(text) => parse_settings(&text).map_err(|why| format!("{}:{why}", path.display())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Value::Null),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Reads a text; letters that are not UTF-8 are replaced.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_beginning(path, LARGEST)?).into_owned())
}

/// Reads the beginning of a regular file, wherever links lead.
pub(crate) fn read_beginning(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file, wherever links lead.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_read_with_its_comments_or_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        assert_eq!(read_json(&path), Ok(Value::Null));
        fs::write(&path, "\u{feff}{ // mine\n \"a\": 1, /* two */ }\n").unwrap();
        assert_eq!(read_json(&path), Ok(json!({"a": 1})));
        fs::write(&path, "{\n  oops\n}").unwrap();
        let error = read_json(&path).unwrap_err();
        assert!(error.starts_with(&format!("{}:3:1: ", path.display())), "{error}");
        assert!(read_json(dir.path()).unwrap_err().ends_with("it is not a regular file"));
    }
}
