//! Several files in one text. What is wrong with one of them is said in its place.

use std::io::{Read, Seek, SeekFrom};

use super::text::{self, End, end_line};
use crate::tools::files::calls::BYTES;
use crate::tools::inside::root::Root;

pub(super) fn read(root: &Root, paths: &[String], offset: u64, limit: usize) -> String {
    let mut left = BYTES;
    let section = |path: &String| {
        let body =
            body(root, path, offset, limit.min(left)).unwrap_or_else(|text| Body::Said(format!("[error: {text}]")));
        let mut text = format!("==> {path} <==\n");
        match body {
            Body::Said(said) => text.push_str(&said),
            Body::Whole(content) => {
                left -= content.len();
                text.push_str(&content);
            }
            Body::Part(content) => {
                left -= content.len();
                text.push_str(&content);
                end_line(&mut text);
                text.push_str("[truncated]");
            }
        }
        end_line(&mut text);
        text
    };
    paths.iter().map(section).collect::<Vec<_>>().join("\n")
}

enum Body {
    Whole(String),
    /// The file goes on.
    Part(String),
    /// Words about the file.
    Said(String),
}

fn body(root: &Root, path: &str, offset: u64, limit: usize) -> Result<Body, String> {
    let (mut file, entry) = root.read(path)?;
    let failed = |error: std::io::Error| format!("failed to read `{path}`: {error}");
    let start = offset.min(entry.size);
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more tells whether the file goes on.
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let end = if bytes.len() > limit { End::Anywhere } else { End::OfFile };
    bytes.truncate(limit);
    // An offset may fall into a character; those who asked for bytes get the next whole one.
    let is_rest = |byte: &&u8| start > 0 && **byte & 0xc0 == 0x80;
    let cut = bytes.iter().take(3).take_while(is_rest).count();
    Ok(match (text::read(&bytes[cut..], end), end) {
        (None, _) => Body::Said(text::skipped(entry.size)),
        (Some(text), End::OfFile) => Body::Whole(text.to_owned()),
        (Some(text), End::Anywhere) => Body::Part(text.to_owned()),
    })
}
