//! Pictures: by the name of a file, and by how its bytes begin.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::tools::{Answer, Image};

/// Larger pictures are not shown.
const LARGEST: u64 = 20 * 1024 * 1024;

/// What a file is a picture of, by its name.
pub(super) fn mime(path: &str) -> Option<&'static str> {
    let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}

/// A line about the picture, and the picture itself if it is one that models see.
pub(super) fn read(file: File, path: &str, mime: &str, size: u64) -> Result<Answer, String> {
    if size > LARGEST {
        return Err(format!("`{path}` has {size} bytes: pictures are shown up to {LARGEST}"));
    }
    let mut bytes = Vec::new();
    let read = file.take(LARGEST).read_to_end(&mut bytes);
    read.map_err(|error| format!("failed to read `{path}`: {error}"))?;
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    // A model that is given a picture under the wrong kind, or none at all, refuses the whole conversation.
    let kind = kind(&bytes);
    let text = format!("[image: {name}, {}, {} bytes]", kind.unwrap_or(mime), bytes.len());
    let images = kind.map(|kind| Image { mime: kind.to_owned(), bytes }).into_iter().collect();
    Ok(Answer { text, images })
}

fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
