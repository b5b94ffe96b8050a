//! Images of a prompt: as they are sent, as they are listed, and what they may be.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most bytes of one image.
pub const LARGEST: usize = 10_000_000;

/// The most bytes of all images of one prompt.
pub const LARGEST_TOGETHER: usize = 20_000_000;

/// One image of a prompt; `[Image #1]` in the text is the place of the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// What a person calls it, normally the file's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The file in base64: PNG, JPEG, GIF or WebP.
    pub data: String,
}

/// One image of an accepted prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attached {
    /// The number of its placeholder.
    pub number: u32,
    pub name: Option<String>,
    pub media_type: String,
    pub bytes: u64,
}

/// The formats that every backend with images takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Format {
    /// Knows a file by its first bytes; a name proves nothing.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_first_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some(Format::Png)),
            (b"\xff\xd8\xff\xe0..", Some(Format::Jpeg)),
            (b"GIF87a..", Some(Format::Gif)),
            (b"GIF89a..", Some(Format::Gif)),
            (b"RIFF1234WEBPVP8 ", Some(Format::Webp)),
            (b"RIFF1234WAVEfmt ", None),
            (b"\x89PNG", None),
            (b"GIF88a", None),
            (b"<svg></svg>", None),
            (b"", None),
        ] {
            assert_eq!(Format::of(bytes), expected, "{bytes:?}");
        }
    }
}
