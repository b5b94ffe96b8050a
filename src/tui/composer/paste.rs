//! What a paste means: text, much text, or the path of an image; and which images can be sent at all.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use super::draft::{MANY_CHARACTERS, MANY_LINES};
use crate::api::error::{Error, ErrorKind};
use crate::api::image::{Format, Image, LARGEST, LARGEST_TOGETHER};

/// What came with a paste.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pasted {
    Text(String),
    /// More than a person wants to see in the composer.
    Much(String),
    /// A file that was dropped on the terminal, and how it was spelled.
    Picture {
        path: PathBuf,
        spelled: String,
    },
}

pub(super) fn read(text: &str) -> Pasted {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    if let Some(path) = picture(text.trim()) {
        return Pasted::Picture { path, spelled: text.trim().to_owned() };
    }
    match text.lines().count() > MANY_LINES || text.chars().count() > MANY_CHARACTERS {
        true => Pasted::Much(text),
        false => Pasted::Text(text),
    }
}

/// The path of an image, as terminals spell a file that is dropped on them: bare, quoted, escaped, or as an address.
fn picture(text: &str) -> Option<PathBuf> {
    if text.contains('\n') {
        return None;
    }
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    let path = match (quoted('\'').or_else(|| quoted('"')), text.strip_prefix("file://")) {
        (Some(inner), _) => inner.to_owned(),
        (None, Some(address)) => percent_decode_str(address).decode_utf8().ok()?.into_owned(),
        (None, None) => unescape(text)?,
    };
    let named = ["png", "jpg", "jpeg", "gif", "webp"];
    let is_picture = path
        .rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && named.contains(&end.to_lowercase().as_str()));
    let is_path = path.starts_with(['/', '~', '.']) || path.contains('/') || !path.contains(' ');
    (is_picture && is_path).then(|| PathBuf::from(path))
}

/// A path with escaped blanks; `None` for a sentence, whose blanks are not escaped.
fn unescape(text: &str) -> Option<String> {
    let mut path = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => path.push(letters.next()?),
            ' ' => return None,
            _ => path.push(letter),
        }
    }
    Some(path)
}

/// How many bytes the file of an image has.
pub(super) fn bytes(image: &Image) -> usize {
    let padding = image.data.bytes().rev().take_while(|byte| *byte == b'=').count();
    (image.data.len() / 4 * 3).saturating_sub(padding)
}

/// Whether the daemon would take the image beside others of so many bytes; it is refused here in the same words.
pub(super) fn check(image: &Image, others: usize) -> Result<(), Error> {
    let name = image.name.as_deref().unwrap_or("of the clipboard");
    let refuse = |reason: String| Err(Error::new(ErrorKind::Invalid, format!("image `{name}`: {reason}")));
    let size = bytes(image);
    if size > LARGEST || size + others > LARGEST_TOGETHER {
        return refuse(format!("more than {LARGEST} bytes, or more than {LARGEST_TOGETHER} with the others"));
    }
    // Sixteen letters are the twelve bytes that tell every format.
    let head = STANDARD.decode(image.data.get(..16).unwrap_or(&image.data)).unwrap_or_default();
    match Format::of(&head) {
        Some(_) => Ok(()),
        None => refuse("not a PNG, JPEG, GIF or WebP file".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Pasted {
        let Pasted::Picture { path, .. } = read(text) else { return read(text) };
        Pasted::Picture { path, spelled: String::new() }
    }

    #[test]
    fn a_paste_is_text_or_a_picture() {
        let picture = |path: &str| Pasted::Picture { path: path.into(), spelled: String::new() };
        let text = |text: &str| Pasted::Text(text.into());
        for (pasted, expected) in [
            ("/tmp/a.png", picture("/tmp/a.png")),
            (" /tmp/a.PNG \n", picture("/tmp/a.PNG")),
            ("'/tmp/my shot.jpeg'", picture("/tmp/my shot.jpeg")),
            ("\"/tmp/my shot.webp\"", picture("/tmp/my shot.webp")),
            ("/tmp/my\\ shot.gif", picture("/tmp/my shot.gif")),
            ("file:///tmp/my%20shot.png", picture("/tmp/my shot.png")),
            ("shot.png", picture("shot.png")),
            ("look at shot.png", text("look at shot.png")),
            ("/tmp/a.png\n/tmp/b.png", text("/tmp/a.png\n/tmp/b.png")),
            ("/tmp/a.txt", text("/tmp/a.txt")),
            ("/tmp/a\\", text("/tmp/a\\")),
            (".png", text(".png")),
            ("a\r\nb\rc\u{1b}[31m\td\u{9b}", text("a\nb\nc[31m\td")),
            ("", text("")),
        ] {
            assert_eq!(path(pasted), expected, "{pasted:?}");
        }
    }

    #[test]
    fn much_text_is_counted_in_lines_and_characters() {
        for (pasted, is_much) in
            [("x\n".repeat(20), false), ("x\n".repeat(21), true), ("é".repeat(2_000), false), ("é".repeat(2_001), true)]
        {
            assert_eq!(matches!(read(&pasted), Pasted::Much(_)), is_much, "{}", pasted.len());
        }
    }

    #[test]
    fn an_image_is_refused_in_the_words_of_the_daemon() {
        let image = |data: String| Image { name: Some("a.png".into()), data };
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n....");
        let large = STANDARD.encode([&b"\x89PNG\r\n\x1a\n"[..], &vec![0; LARGEST]].concat());
        let size = "image `a.png`: more than 10000000 bytes, or more than 20000000 with the others";
        for (data, others, expected) in [
            (png.clone(), 0, None),
            (png.clone(), LARGEST_TOGETHER - 12, None),
            (png, LARGEST_TOGETHER - 11, Some(size)),
            (large, 0, Some(size)),
            (STANDARD.encode("<svg></svg>"), 0, Some("image `a.png`: not a PNG, JPEG, GIF or WebP file")),
            ("no base64".into(), 0, Some("image `a.png`: not a PNG, JPEG, GIF or WebP file")),
        ] {
            let refused = check(&image(data), others).err().map(|error| error.message);
            assert_eq!(refused.as_deref(), expected);
        }
    }
}
