//! Words that a model gives, checked before git sees them: messages, names of branches, revisions and paths. Pure.

use std::path::{Component, Path, PathBuf};

const SUBJECT_CHARS: usize = 72;

/// What no part of a name of a branch may hold.
const FORBIDDEN: &[char] = &[' ', '~', '^', ':', '?', '*', '[', '\\'];

/// Where git itself looks for a name before it looks among branches.
const SPACES: &[&str] = &["refs", "heads", "tags", "remotes"];

/// A commit message of one line, or what is wrong with it.
pub(super) fn subject(message: &str) -> Result<String, String> {
    let message = message.trim();
    let chars = message.chars().count();
    if message.is_empty() {
        return Err("message is required".to_owned());
    }
    if message.chars().any(char::is_control) {
        return Err("message must be one line".to_owned());
    }
    if chars > SUBJECT_CHARS {
        return Err(format!("message must have at most {SUBJECT_CHARS} characters, not {chars}"));
    }
    if message.ends_with('.') {
        return Err("message must not end with a period".to_owned());
    }
    Ok(message.to_owned())
}

/// A name for a branch by the rules of git, outside of what belongs to sessions; or what is wrong with it.
pub(super) fn branch(name: &str) -> Result<String, String> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_name = name.split('/').all(is_part)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(|c: char| c.is_ascii_control() || FORBIDDEN.contains(&c))
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !matches!(name, "@" | "HEAD");
    if !is_name {
        return Err(format!("`{name}` is not a name for a branch"));
    }
    if name == "coppice" || name.starts_with("coppice/") {
        return Err(format!("`{name}` is a name for branches of sessions: choose one outside of `coppice/`"));
    }
    if let Some(space) = SPACES.iter().find(|space| name.split('/').next() == Some(space)) {
        return Err(format!("`{name}` would stand in the way of other names: choose one outside of `{space}/`"));
    }
    Ok(name.to_owned())
}

/// A revision that cannot be an option or a range; whether there is one of that name is for git to say.
pub(super) fn revision(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_one = !text.is_empty() && !text.starts_with('-') && !text.contains("..") && !text.contains(char::is_control);
    match is_one {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is not a revision: give one commit, branch or tag")),
    }
}

/// Where a path is inside the work tree, by its words; `.` is the tree itself. Git's own files are not in it.
pub fn inside(path: &str, tree: &Path) -> Result<PathBuf, String> {
    let outside = || format!("`{path}` is not in the work tree: give a path relative to it");
    let given = Path::new(path);
    let relative = match given.is_absolute() {
        true => given.strip_prefix(tree).map_err(|_| outside())?,
        false => given,
    };
    let mut plain = PathBuf::new();
    for part in relative.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) if name != ".git" => plain.push(name),
            Component::ParentDir if plain.pop() => {}
            Component::Normal(_) | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(outside());
            }
        }
    }
    Ok(if plain.as_os_str().is_empty() { PathBuf::from(".") } else { plain })
}

/// The words as a shell would have to write them to mean the same.
pub(super) fn shell_text(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let quoted = words.iter().map(|word| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}
