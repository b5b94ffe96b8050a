//! The git index as bytes: parsed far enough to plan a copy, and patched in place.
//!
//! Git writes the index; only the stat words of an entry are changed here, and the trailer hash with them. So every
//! version from 2 to 4 and every optional extension survives untouched. Pure: bytes in, bytes out.

use std::ops::Range;

use sha1::{Digest, Sha1};

#[cfg(test)]
mod tests;

/// Length of a SHA-1, as a trailer and inside each entry.
const HASH: usize = 20;
/// Signature, version, number of entries.
const HEADER: usize = 12;
/// Ten words of stat, the object id and the flags.
const FIXED: usize = 40 + HASH + 2;
/// Longer paths exist in no file system; the limit keeps a hostile version 4 index from unpacking without end.
const LONGEST_PATH: usize = 1 << 16;

/// The id of a file without content.
pub(crate) const EMPTY_BLOB: [u8; HASH] = [
    0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2, 0xe4, 0x8c, 0x53,
    0x91,
];

const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

/// Type bits and permissions as git stores them.
pub(crate) mod mode {
    pub(crate) const TYPE: u32 = 0o170_000;
    pub(crate) const REGULAR: u32 = 0o100_000;
    pub(crate) const SYMLINK: u32 = 0o120_000;
    pub(crate) const GITLINK: u32 = 0o160_000;
}

/// Why a file cannot be used as an index; every reason leads to a plain checkout by git.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndexError {
    #[error("index is cut short")]
    Truncated,
    #[error("index has no `DIRC` signature")]
    Signature,
    #[error("index version {0} is not one of 2, 3, 4")]
    Version(u32),
    #[error("index needs the extension `{}`", String::from_utf8_lossy(.0))]
    Extension([u8; 4]),
    #[error("index entry {0} is malformed")]
    Entry(usize),
    #[error("index entry {0} is out of order")]
    Order(usize),
}

/// A parsed index that still owns its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    bytes: Vec<u8>,
    /// Version 4 stores paths as differences; they are unpacked here. Earlier versions are read in place.
    unpacked: Option<Vec<u8>>,
    slots: Vec<Slot>,
    extensions: Vec<[u8; 4]>,
}

/// Where one entry and its path begin.
#[derive(Debug, Clone)]
struct Slot {
    at: usize,
    path: Range<usize>,
}

/// One entry, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) oid: &'a [u8],
    pub(crate) mode: u32,
    pub(crate) stage: u16,
    /// Assume-valid, skip-worktree or intent-to-add: git itself would not look at the file.
    pub(crate) is_flagged: bool,
    pub(crate) stat: Stat,
}

/// What git remembers of a file, cut to 32 bits each as git does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stat {
    pub(crate) ctime: (u32, u32),
    pub(crate) mtime: (u32, u32),
    pub(crate) dev: u32,
    pub(crate) ino: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u32,
}

impl Index {
    /// Reads an index; the trailer hash is not verified, since nothing is trusted that a later check does not repeat.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, IndexError> {
        if bytes.len() < HEADER + HASH {
            return Err(IndexError::Truncated);
        }
        if !bytes.starts_with(b"DIRC") {
            return Err(IndexError::Signature);
        }
        let version = word(&bytes, 4);
        if !(2..=4).contains(&version) {
            return Err(IndexError::Version(version));
        }
        let count = word(&bytes, 8) as usize;
        let end = bytes.len() - HASH;
        if count > (end - HEADER) / FIXED {
            return Err(IndexError::Truncated);
        }
        let mut slots: Vec<Slot> = Vec::with_capacity(count);
        let mut unpacked = (version == 4).then(Vec::new);
        let mut at = HEADER;
        for number in 0..count {
            let path_at = at + FIXED + if has_extension(&bytes, at, end)? { 2 } else { 0 };
            let (path, next) = match &mut unpacked {
                None => plain_path(&bytes, at, path_at, end),
                Some(names) => packed_path(&bytes, path_at, end, names, slots.last().map(|slot| &slot.path)),
            }
            .ok_or(IndexError::Entry(number))?;
            slots.push(Slot { at, path });
            at = next;
        }
        let extensions = extensions(&bytes, at, end)?;
        let index = Self { bytes, unpacked, slots, extensions };
        match (1..index.len()).find(|&number| index.key(number - 1) >= index.key(number)) {
            Some(number) => Err(IndexError::Order(number)),
            None => Ok(index),
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Signatures of the extensions, in file order.
    pub(crate) fn extensions(&self) -> &[[u8; 4]] {
        &self.extensions
    }

    /// The path of an entry, as raw bytes.
    pub(crate) fn path(&self, number: usize) -> &[u8] {
        let names = self.unpacked.as_deref().unwrap_or(&self.bytes);
        &names[self.slots[number].path.clone()]
    }

    /// An entry by its position.
    pub(crate) fn entry(&self, number: usize) -> Entry<'_> {
        let at = self.slots[number].at;
        let flags = half(&self.bytes, at + 40 + HASH);
        let extended = if flags & EXTENDED == 0 { 0 } else { half(&self.bytes, at + FIXED) };
        Entry {
            path: self.path(number),
            oid: &self.bytes[at + 40..at + 40 + HASH],
            mode: word(&self.bytes, at + 24),
            stage: flags & STAGE,
            is_flagged: flags & ASSUME_VALID != 0 || extended & (SKIP_WORKTREE | INTENT_TO_ADD) != 0,
            stat: Stat::read(&self.bytes, at),
        }
    }

    /// All entries in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.len()).map(|number| self.entry(number))
    }

    /// Replaces the stat words of an entry; mode, id and flags stay.
    pub(crate) fn patch(&mut self, number: usize, stat: &Stat) {
        let at = self.slots[number].at;
        stat.write(&mut self.bytes[at..at + 40]);
    }

    /// The bytes with a fresh trailer. A trailer of zeros means `index.skipHash` and stays as it is.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let end = self.bytes.len() - HASH;
        let (body, trailer) = self.bytes.split_at_mut(end);
        if trailer.iter().any(|byte| *byte != 0) {
            trailer.copy_from_slice(&Sha1::digest(body));
        }
        self.bytes
    }

    fn key(&self, number: usize) -> (&[u8], u16) {
        (self.path(number), half(&self.bytes, self.slots[number].at + 40 + HASH) & STAGE)
    }
}

impl Stat {
    fn read(bytes: &[u8], at: usize) -> Self {
        let word = |place: usize| word(bytes, at + 4 * place);
        Self {
            ctime: (word(0), word(1)),
            mtime: (word(2), word(3)),
            dev: word(4),
            ino: word(5),
            uid: word(7),
            gid: word(8),
            size: word(9),
        }
    }

    fn write(&self, words: &mut [u8]) {
        let before_mode = [self.ctime.0, self.ctime.1, self.mtime.0, self.mtime.1, self.dev, self.ino];
        let after_mode = [self.uid, self.gid, self.size];
        let (before, after) = words.split_at_mut(28);
        for (place, value) in before.chunks_exact_mut(4).zip(before_mode) {
            place.copy_from_slice(&value.to_be_bytes());
        }
        for (place, value) in after.chunks_exact_mut(4).zip(after_mode) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}

/// Hash of `content` as a git blob.
pub(crate) fn blob_id(content: &[u8]) -> [u8; HASH] {
    let mut hash = blob_hasher(content.len() as u64);
    hash.update(content);
    hash.finalize().into()
}

/// A hasher that has seen the header of a blob of `size` bytes.
pub(crate) fn blob_hasher(size: u64) -> Sha1 {
    let mut hash = Sha1::new();
    hash.update(format!("blob {size}\0"));
    hash
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_be_bytes)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|half| half.try_into().ok()).map_or(0, u16::from_be_bytes)
}

fn has_extension(bytes: &[u8], at: usize, end: usize) -> Result<bool, IndexError> {
    match at + FIXED <= end {
        true => Ok(half(bytes, at + 40 + HASH) & EXTENDED != 0),
        false => Err(IndexError::Truncated),
    }
}

/// A path stored whole: it ends at the first zero, and the entry is filled up with zeros to a multiple of eight.
fn plain_path(bytes: &[u8], at: usize, path_at: usize, end: usize) -> Option<(Range<usize>, usize)> {
    let length = bytes.get(path_at..end)?.iter().position(|byte| *byte == 0)?;
    let path = path_at..path_at + length;
    let next = at + (path.end - at + 8) / 8 * 8;
    (length > 0 && next <= end).then_some((path, next))
}

/// A path stored as the number of bytes to drop from its predecessor and the bytes to add.
fn packed_path(
    bytes: &[u8],
    path_at: usize,
    end: usize,
    names: &mut Vec<u8>,
    previous: Option<&Range<usize>>,
) -> Option<(Range<usize>, usize)> {
    let (dropped, suffix_at) = variable_length(bytes, path_at, end)?;
    let length = bytes.get(suffix_at..end)?.iter().position(|byte| *byte == 0)?;
    let previous = previous.cloned().unwrap_or(0..0);
    let kept = previous.len().checked_sub(dropped)?;
    if kept + length == 0 || kept + length > LONGEST_PATH {
        return None;
    }
    let start = names.len();
    names.extend_from_within(previous.start..previous.start + kept);
    names.extend_from_slice(&bytes[suffix_at..suffix_at + length]);
    Some((start..names.len(), suffix_at + length + 1))
}

/// Git's offset encoding: seven bits a byte, and each continuation adds one so that no number has two spellings.
fn variable_length(bytes: &[u8], mut at: usize, end: usize) -> Option<(usize, usize)> {
    let mut value = 0usize;
    loop {
        let byte = *bytes.get(at..end)?.first()?;
        value = (value << 7) | usize::from(byte & 0x7f);
        at += 1;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        value = value.checked_add(1).filter(|value| *value <= LONGEST_PATH)?;
    }
}

/// Signatures between the last entry and the trailer; a lower-case one cannot be ignored.
fn extensions(bytes: &[u8], mut at: usize, end: usize) -> Result<Vec<[u8; 4]>, IndexError> {
    let mut found = Vec::new();
    while at < end {
        let signature: [u8; 4] =
            bytes.get(at..at + 4).and_then(|name| name.try_into().ok()).ok_or(IndexError::Truncated)?;
        let next = (at + 8).checked_add(word(bytes, at + 4) as usize).filter(|next| *next <= end);
        at = next.ok_or(IndexError::Truncated)?;
        if !signature[0].is_ascii_uppercase() {
            return Err(IndexError::Extension(signature));
        }
        found.push(signature);
    }
    Ok(found)
}
