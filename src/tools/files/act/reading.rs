//! One file with its lines numbered, or a picture.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use super::image;
use super::text::{self, End, end_line};
use crate::tools::Answer;
use crate::tools::files::Lines;
use crate::tools::files::calls::BYTES;
use crate::tools::inside::root::{Root, RootError};

/// The file goes on after what is shown.
const GOES_ON: &str = "…[truncated]";

pub(super) fn read(root: &Root, path: &str, lines: Lines) -> Result<Answer, String> {
    let (file, entry) = root.read(path).map_err(|error| match error {
        RootError::Directory { .. } => format!("{error}; list_dir shows what is in it"),
        other => other.into(),
    })?;
    if let Some(mime) = image::mime(path) {
        return image::read(file, path, mime, entry.size);
    }
    let failed = |error: io::Error| format!("failed to read `{path}`: {error}");
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let before = lines.offset.saturating_sub(1);
    let passed = pass(&mut reader, before).map_err(failed)?;
    if passed < before || (lines.offset > 1 && reader.fill_buf().map_err(failed)?.is_empty()) {
        let count = if passed == 1 { "1 line".to_owned() } else { format!("{passed} lines") };
        return Err(format!("`{path}` has {count}: offset {} is past its end", lines.offset));
    }
    let bytes = take(&mut reader, lines.limit).map_err(failed)?;
    let end = if reader.fill_buf().map_err(failed)?.is_empty() { End::OfFile } else { End::Anywhere };
    let Some(text) = text::read(&bytes, end) else { return Ok(text::skipped(entry.size).into()) };
    Ok(numbered(text, lines.offset, end).into())
}

/// Passes over lines, however long they are; says how many there were.
fn pass(reader: &mut BufReader<File>, count: usize) -> io::Result<usize> {
    let (mut passed, mut is_open) = (0, false);
    while passed < count {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(passed + usize::from(is_open));
        }
        let length = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                passed += 1;
                is_open = false;
                end + 1
            }
            None => {
                is_open = true;
                bytes.len()
            }
        };
        reader.consume(length);
    }
    Ok(passed)
}

/// So many lines, as far as they fit.
fn take(reader: &mut BufReader<File>, count: usize) -> io::Result<Vec<u8>> {
    let (mut taken, mut lines) = (Vec::new(), 0);
    while lines < count && taken.len() < BYTES {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let bytes = &bytes[..bytes.len().min(BYTES - taken.len())];
        let line = bytes.iter().position(|byte| *byte == b'\n');
        let length = line.map_or(bytes.len(), |end| end + 1);
        lines += usize::from(line.is_some());
        taken.extend(&bytes[..length]);
        reader.consume(length);
    }
    Ok(taken)
}

/// The lines as `cat -n` shows them.
fn numbered(text: &str, first: usize, end: End) -> String {
    if text.is_empty() && end == End::OfFile {
        return "[empty file]".to_owned();
    }
    let mut shown = String::with_capacity(text.len() + text.len() / 4);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        shown.push_str(&format!("{:>6}\t{line}", first + at));
    }
    if end == End::Anywhere {
        end_line(&mut shown);
        shown.push_str(GOES_ON);
    }
    shown
}
