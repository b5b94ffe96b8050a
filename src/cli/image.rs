//! The `--image` option: files that go with a prompt. Whatever is wrong with one is said before anything is sent.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::report::Failure;
use crate::api::image::{Format, Image, LARGEST, LARGEST_TOGETHER};

/// The images of a prompt of `new`, `run` and `send`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ImageArg {
    /// A PNG, JPEG, GIF or WebP file that goes with the prompt, in place of `[Image #1]` and so on; repeatable.
    #[arg(long = "image", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl ImageArg {
    /// The images to send, in the order of the options.
    pub(super) fn read(self) -> Result<Vec<Image>, Failure> {
        let mut together = 0;
        let mut images = Vec::new();
        for path in self.files {
            let bytes = read(&path)?;
            together += bytes.len();
            check(&bytes, together).map_err(|reason| {
                Failure::usage(format!("image `{}`: {reason}", path.display()))
                    .hint("send a PNG, JPEG, GIF or WebP file, or a smaller one")
            })?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            images.push(Image { name, data: STANDARD.encode(bytes) });
        }
        Ok(images)
    }
}

/// One byte more than allowed shows that there is too much, without reading an endless file.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(LARGEST).unwrap_or(u64::MAX).saturating_add(1);
    let read = |bytes: &mut Vec<u8>| -> io::Result<usize> { File::open(path)?.take(limit).read_to_end(bytes) };
    read(&mut bytes).map_err(|error| Failure::usage(format!("image `{}` cannot be read: {error}", path.display())))?;
    Ok(bytes)
}

fn check(bytes: &[u8], together: usize) -> Result<(), String> {
    match Format::of(bytes) {
        None => Err("not a PNG, JPEG, GIF or WebP file".to_owned()),
        Some(_) if bytes.len() > LARGEST => Err(format!("longer than {LARGEST} bytes")),
        Some(_) if together > LARGEST_TOGETHER => Err(format!("longer than {LARGEST_TOGETHER} bytes with the others")),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_its_bytes_say_and_not_too_long() {
        let gif = |length: usize| [b"GIF89a", vec![0; length - 6].as_slice()].concat();
        for (bytes, together, expected) in [
            (gif(10), 10, Ok(())),
            (gif(LARGEST), LARGEST, Ok(())),
            (gif(LARGEST + 1), 0, Err("longer than 10000000 bytes")),
            (gif(10), LARGEST_TOGETHER + 1, Err("longer than 20000000 bytes with the others")),
            (b"text".to_vec(), 4, Err("not a PNG, JPEG, GIF or WebP file")),
            (Vec::new(), 0, Err("not a PNG, JPEG, GIF or WebP file")),
        ] {
            assert_eq!(check(&bytes, together), expected.map_err(str::to_owned));
        }
    }
}
