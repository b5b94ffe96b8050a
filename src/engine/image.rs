//! Images of prompts: checked, kept as files of their session before the prompt is accepted, and put in their places.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::api::image::{self, Format};
use crate::backend::event::{Block, Image};
use crate::protocol::prompt::{self, Part};

use super::fault::Fault;
use super::record::ImageRecord;

/// An image that may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    name: Option<String>,
    format: Format,
    bytes: Vec<u8>,
}

/// Checks what a client sent.
pub(super) fn read(images: Vec<image::Image>) -> Result<Vec<Picture>, Fault> {
    let mut together = 0;
    let picture = |(place, image): (usize, image::Image)| {
        let called = image.name.clone().unwrap_or_else(|| (place + 1).to_string());
        let refuse = |reason: String| Fault::BadImage { name: called.clone(), reason };
        let bytes = STANDARD.decode(image.data.as_bytes()).map_err(|error| refuse(format!("not base64: {error}")))?;
        together += bytes.len();
        if bytes.len() > image::LARGEST || together > image::LARGEST_TOGETHER {
            return Err(refuse(format!(
                "more than {} bytes, or more than {} with the others",
                image::LARGEST,
                image::LARGEST_TOGETHER
            )));
        }
        let format = Format::of(&bytes).ok_or_else(|| refuse("not a PNG, JPEG, GIF or WebP file".to_owned()))?;
        Ok(Picture { name: image.name, format, bytes })
    };
    images.into_iter().enumerate().map(picture).collect()
}

/// Keeps the images of one prompt under `dir`; they are on the disk when this returns.
pub(super) async fn store(dir: PathBuf, prompt: u32, pictures: Vec<Picture>) -> Result<Vec<ImageRecord>, Fault> {
    if pictures.is_empty() {
        return Ok(Vec::new());
    }
    let kept = tokio::task::spawn_blocking(move || {
        keep(&dir, prompt, pictures).map_err(|source| Fault::File { act: "keep images in", path: dir, source })
    });
    kept.await?
}

fn keep(dir: &Path, prompt: u32, pictures: Vec<Picture>) -> io::Result<Vec<ImageRecord>> {
    fs::create_dir_all(dir)?;
    let mut records = Vec::new();
    for (picture, number) in pictures.into_iter().zip(1u32..) {
        let Picture { name, format, bytes } = picture;
        let file = format!("{prompt}-{number}.{}", format.extension());
        let mut whole = tempfile::NamedTempFile::new_in(dir)?;
        whole.write_all(&bytes)?;
        whole.as_file().sync_all()?;
        whole.persist(dir.join(&file)).map_err(|error| error.error)?;
        let media_type = format.media_type().to_owned();
        records.push(ImageRecord { file, name, media_type, bytes: bytes.len() as u64 });
    }
    fs::File::open(dir)?.sync_all()?;
    Ok(records)
}

/// Reads the images of a prompt back.
pub(super) async fn load(dir: PathBuf, records: &[ImageRecord]) -> Result<Vec<Image>, Fault> {
    let mut images = Vec::new();
    for record in records {
        let path = dir.join(&record.file);
        let bytes = tokio::fs::read(&path).await;
        let bytes = bytes.map_err(|source| Fault::File { act: "read the image", path: path.clone(), source })?;
        images.push(Image { mime_type: record.media_type.clone(), data: STANDARD.encode(bytes), path });
    }
    Ok(images)
}

/// The prompt as its backend gets it: what comes before the task, then the task with its images in their places.
pub(super) fn blocks(before: &str, task: &str, images: Vec<Image>) -> Vec<Block> {
    let mut images: Vec<_> = images.into_iter().map(Some).collect();
    let parts = prompt::split(task, images.len());
    let mut blocks: Vec<_> = parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(Block::Text(text)),
            Part::Image(image) => images.get_mut(image).and_then(Option::take).map(Block::Image),
        })
        .collect();
    // A task begins with text, whatever it holds.
    if let Some(Block::Text(first)) = blocks.first_mut() {
        first.insert_str(0, before);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIF: &[u8] = b"GIF89a......";

    fn sent(name: &str, bytes: &[u8]) -> image::Image {
        image::Image { name: Some(name.to_owned()), data: STANDARD.encode(bytes) }
    }

    #[track_caller]
    fn refused(images: Vec<image::Image>, expected: &str) {
        assert_eq!(read(images).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_no_image_is_refused_by_its_name() {
        refused(vec![sent("a.gif", GIF), sent("b.txt", b"text")], "image `b.txt`: not a PNG, JPEG, GIF or WebP file");
        let odd = image::Image { name: None, data: "?".into() };
        refused(vec![odd], "image `1`: not base64: Invalid symbol 63, offset 0.");
        let large = [GIF, &vec![0; image::LARGEST]].concat();
        refused(
            vec![sent("c.gif", &large)],
            "image `c.gif`: more than 10000000 bytes, or more than 20000000 with the others",
        );
        assert_eq!(read(vec![sent("a.gif", GIF)]).unwrap().len(), 1);
    }

    #[tokio::test]
    async fn an_image_is_kept_under_its_number_and_comes_back_in_its_place() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("images");
        let pictures = read(vec![sent("first.gif", GIF), sent("second.gif", b"GIF87a")]).unwrap();
        let records = store(dir.clone(), 3, pictures).await.unwrap();
        assert_eq!(records.iter().map(|record| record.file.as_str()).collect::<Vec<_>>(), ["3-1.gif", "3-2.gif"]);
        let images = load(dir.clone(), &records).await.unwrap();
        let [first, second] = images.clone().try_into().unwrap();
        assert_eq!((first.path.clone(), &*first.mime_type), (dir.join("3-1.gif"), "image/gif"));
        let blocks = blocks("rules\n\n---\n\n", "see [Image #2] now", images);
        let text = |text: &str| Block::Text(text.to_owned());
        let expected = [
            text("rules\n\n---\n\nsee [Image #2]"),
            Block::Image(second),
            text(" now\n\n[Image #1]"),
            Block::Image(first),
        ];
        assert_eq!(blocks, expected);
        fs::remove_file(dir.join("3-1.gif")).unwrap();
        assert!(load(dir, &records).await.is_err());
    }
}
