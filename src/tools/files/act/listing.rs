//! What is in a directory, and files by their names.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::walk;
use crate::tools::inside::root::{Kind, Root};

const ENTRIES: usize = 100;
const PATHS: usize = 200;

/// What makes a part of a pattern more than a name.
const WILD: &[char] = &['*', '?', '[', ']', '{', '}', '\\'];

pub(super) fn list(root: &Root, path: &str) -> Result<String, String> {
    let entries = root.list(path)?;
    let line = |(name, kind): &(String, Kind)| {
        let letter = match kind {
            Kind::Directory => 'd',
            Kind::Link => 'l',
            Kind::File | Kind::Pipe | Kind::Socket | Kind::Device | Kind::Unknown => 'f',
        };
        format!("{letter}\t{name}")
    };
    match entries.is_empty() {
        true => Ok("Listed 0 entries".to_owned()),
        false => Ok(capped(entries.iter().map(line), ENTRIES, entries.len(), "entries")),
    }
}

pub(super) fn glob(root: &Root, pattern: &str, cwd: &str) -> Result<String, String> {
    let matcher = matcher(pattern)?;
    let base = root.place(cwd)?;
    if root.look(cwd)?.kind != Kind::Directory {
        return Err(format!("`{cwd}` is not a directory"));
    }
    let mut paths = found(root, &base, pattern, &matcher)?;
    paths.sort();
    match paths.is_empty() {
        true => Ok("No files found".to_owned()),
        false => Ok(capped(paths.iter().map(|path| path.display().to_string()), PATHS, paths.len(), "paths")),
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let plain = pattern.trim_start_matches("./");
    let glob = GlobBuilder::new(plain).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("`{pattern}` is no pattern: {}", error.kind()))
}

fn found(root: &Root, base: &Path, pattern: &str, matcher: &GlobMatcher) -> Result<Vec<PathBuf>, String> {
    let names: PathBuf = names(pattern);
    // A link on the way is not walked through, so the walk begins above it.
    let start = Some(base.join(names)).filter(|start| root.directory(start).is_ok());
    // The files of git are no files of the tree.
    let mut walk = walk::below(root, start.as_deref().unwrap_or(base), |entry| entry.file_name() != ".git")?;
    // What is asked for by name may well be hidden.
    walk.hidden(false);
    let is_file = |kind: std::fs::FileType| kind.is_file() || kind.is_symlink();
    let entries = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(is_file));
    let places = entries.filter_map(|entry| walk::place(root, entry.path()).map(Path::to_owned));
    Ok(places.filter(|place| place.strip_prefix(base).is_ok_and(|rest| matcher.is_match(rest))).collect())
}

/// The directories that a pattern begins with by name.
fn names(pattern: &str) -> PathBuf {
    let parts: Vec<_> = pattern.split('/').filter(|part| *part != ".").collect();
    let (_, directories) = parts.split_last().unwrap_or((&"", &[]));
    directories.iter().take_while(|part| !part.contains(WILD)).collect()
}

/// Lines up to a number, and the word that there are more.
fn capped(lines: impl Iterator<Item = String>, most: usize, count: usize, what: &str) -> String {
    let mut text = lines.take(most).collect::<Vec<_>>().join("\n");
    if count > most {
        text.push_str(&format!("\nthe first {most} of {count} {what} …[truncated]"));
    }
    text
}
