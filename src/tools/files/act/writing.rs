//! Files written, edited, copied, moved and deleted.

use std::borrow::Cow;
use std::io::Read;

use crate::tools::files::Which;
use crate::tools::inside::root::{Permissions, Root};

/// Larger files are not edited by their text.
const LARGEST: u64 = 64 * 1024 * 1024;

pub(super) fn write(root: &Root, path: &str, content: &str) -> Result<String, String> {
    let count = root.write(path, &mut content.as_bytes(), Permissions::Kept)?;
    Ok(format!("wrote {count} bytes"))
}

pub(super) fn edit(root: &Root, path: &str, old: &str, new: &str, which: Which) -> Result<String, String> {
    let (mut file, entry) = root.read(path)?;
    if entry.size > LARGEST {
        return Err(format!("`{path}` has {} bytes: files are edited up to {LARGEST}", entry.size));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => format!("`{path}` is not UTF-8 text"),
        _ => format!("failed to read `{path}`: {error}"),
    })?;
    let (text, count) =
        replaced(&text, old, new, which).map_err(|why| format!("old_string is {why}", why = why.tell(path)))?;
    root.write(path, &mut text.as_bytes(), Permissions::Kept)?;
    let noun = if count == 1 { "occurrence" } else { "occurrences" };
    Ok(format!("replaced {count} {noun} in `{path}`"))
}

/// Why an edit has no place.
#[derive(Debug, PartialEq, Eq)]
enum NoPlace {
    Nowhere,
    /// So many, when only one would do.
    Several(usize),
}

impl NoPlace {
    fn tell(&self, path: &str) -> String {
        match self {
            Self::Nowhere => format!("not in `{path}`: read the file again and copy the text exactly"),
            Self::Several(count) => {
                format!("in `{path}` {count} times: add lines around it until it is the only one, or set replace_all")
            }
        }
    }
}

/// The text with `new` in the places of `old`, and how many there were.
fn replaced(text: &str, old: &str, new: &str, which: Which) -> Result<(String, usize), NoPlace> {
    let (mut old, mut new) = (Cow::Borrowed(old), Cow::Borrowed(new));
    // Models write `\n` also for files whose lines end otherwise.
    if !text.contains(&*old) && text.contains("\r\n") && old.contains('\n') && !old.contains('\r') {
        old = Cow::Owned(old.replace('\n', "\r\n"));
        new = Cow::Owned(new.replace("\r\n", "\n").replace('\n', "\r\n"));
    }
    let Some(first) = text.find(&*old) else { return Err(NoPlace::Nowhere) };
    let count = text.matches(&*old).count();
    // Places that overlap are as many to choose from.
    let after = first + old.chars().next().map_or(1, char::len_utf8);
    let has_other = text[after..].contains(&*old);
    match which {
        Which::Single if has_other => Err(NoPlace::Several(count.max(2))),
        Which::Single => Ok((text.replacen(&*old, &new, 1), 1)),
        Which::All => Ok((text.replace(&*old, &new), count)),
    }
}

pub(super) fn make_directory(root: &Root, path: &str) -> Result<String, String> {
    match root.make_directory(path)?.is_empty() {
        true => Ok(format!("`{path}` is there already")),
        false => Ok(format!("made `{path}`")),
    }
}

pub(super) fn copy(root: &Root, from: &str, to: &str) -> Result<String, String> {
    let (mut file, entry) = root.read(from)?;
    let count = root.write(to, &mut file, Permissions::Exactly(entry.mode & 0o777))?;
    Ok(format!("copied {count} bytes to `{to}`"))
}

pub(super) fn rename(root: &Root, from: &str, to: &str) -> Result<String, String> {
    root.rename(from, to)?;
    Ok(format!("moved `{from}` to `{to}`"))
}

pub(super) fn delete(root: &Root, path: &str) -> Result<String, String> {
    root.remove(path)?;
    Ok(format!("deleted `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_has_one_place_or_takes_all() {
        let several = |count| Err(NoPlace::Several(count));
        let done = |text: &str, count| Ok((text.to_owned(), count));
        for (text, old, new, which, expected) in [
            ("a b c", "b", "x", Which::Single, done("a x c", 1)),
            ("a b b", "b", "x", Which::Single, several(2)),
            ("a b b", "b", "x", Which::All, done("a x x", 2)),
            ("a", "b", "x", Which::Single, Err(NoPlace::Nowhere)),
            ("a", "b", "x", Which::All, Err(NoPlace::Nowhere)),
            ("aaa", "aa", "b", Which::Single, several(2)),
            ("ää", "ä", "", Which::All, done("", 2)),
            ("äöä", "ö", "\n", Which::Single, done("ä\nä", 1)),
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", Which::Single, done("x\r\ny\r\nz\r\nc\r\n", 1)),
            ("a\r\nb\r\n", "a", "x", Which::Single, done("x\r\nb\r\n", 1)),
            ("a\nb\n", "a\r\nb", "x", Which::Single, Err(NoPlace::Nowhere)),
        ] {
            assert_eq!(replaced(text, old, new, which), expected, "{text:?} {old:?}");
        }
    }
}
