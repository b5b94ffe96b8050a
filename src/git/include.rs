//! Files that a worktree needs and git does not have: what `.worktreeinclude` names, and the copy and link lists.
//!
//! Files come from the main checkout only. No symbolic link is followed out of it, and nothing that exists in the
//! worktree is replaced, so a tracked file always wins.

mod own_link;
pub(super) mod place;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::command::{Git, failed};
use super::{GitError, Repo, Worktree};
pub(super) use own_link::{is_link_in, is_own_link};
use place::{Outcome, Places};

/// What to bring into a worktree.
#[derive(Debug, Clone, Copy)]
pub struct Include<'a> {
    /// Paths, or patterns for ignored files, to copy.
    pub copy: &'a [String],
    /// Paths to link to.
    pub link: &'a [String],
    /// The text of `.worktreeinclude`: ignored files to copy, in the syntax of `.gitignore`. It comes from the commit
    /// whose text the user trusts, never from the checkout, which can show another branch.
    pub patterns: &'a str,
}

/// What was brought, relative to the worktree, and what could not be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placed {
    pub files: Vec<PathBuf>,
    /// Paths that were asked for by name and are in the worktree already.
    pub existing: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// Brings files into a worktree. What cannot be brought is a warning; a session can work without it.
pub fn place(tree: &Worktree, include: Include<'_>) -> Result<Placed, GitError> {
    let mut placed = Placed::default();
    let Some(checkout) = tree.repo.checkout() else {
        if !include.copy.is_empty() || !include.link.is_empty() {
            placed.warnings.push("a bare repository has no files to copy or link".to_owned());
        }
        return Ok(placed);
    };
    let (patterns, paths): (Vec<_>, Vec<_>) =
        include.copy.iter().map(String::as_str).partition(|text| text.contains(['*', '?', '[']));
    let wanted = wanted(checkout, include.patterns, &patterns, &mut placed.warnings);
    let listing = || Git::in_checkout(tree.repo.common_dir(), checkout, "ls-files");
    let matched = if wanted.is_empty() { Vec::new() } else { ignored_files(listing(), checkout, &wanted)? };

    let places = Places::open(checkout, &tree.path)?;
    for path in matched {
        placed.record(&path, places.copy(&path), Named::ByPattern);
    }
    for text in paths {
        match inside(text) {
            Some(path) => {
                for file in files_below(checkout, &path)? {
                    placed.record(&file, places.copy(&file), Named::Plainly);
                }
            }
            None => placed.warnings.push(outside(text)),
        }
    }
    warn_of_visible(tree, &mut placed)?;
    for text in include.link {
        match inside(text) {
            Some(path) => placed.record(&path, places.link(&path), Named::Plainly),
            None => placed.warnings.push(outside(text)),
        }
    }
    Ok(placed)
}

/// Links paths of the user's checkout into another checkout of the repository, as far as they exist and nothing is in
/// their place; returns where the links lead.
pub fn link_into(repo: &Repo, target: &Path, links: &[String]) -> Result<Vec<PathBuf>, GitError> {
    let Some(checkout) = repo.checkout().filter(|_| !links.is_empty()) else { return Ok(Vec::new()) };
    let places = Places::open(checkout, target)?;
    let made = links.iter().filter_map(|text| inside(text)).filter(|path| match places.link(path) {
        Outcome::Placed | Outcome::Exists => true,
        Outcome::Refused(_) => false,
    });
    Ok(made.map(|path| checkout.join(path)).collect())
}

/// Whether a person wrote this very path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Plainly,
    ByPattern,
}

impl Placed {
    fn record(&mut self, path: &Path, outcome: Outcome, named: Named) {
        match outcome {
            Outcome::Placed => self.files.push(path.to_owned()),
            Outcome::Exists if named == Named::ByPattern => {}
            Outcome::Exists => self.existing.push(path.to_owned()),
            Outcome::Refused(reason) => self.warnings.push(format!("`{}` {reason}", path.display())),
        }
    }
}

fn outside(text: &str) -> String {
    format!("`{text}` is not a path inside the repository")
}

/// A path that stays below the root by its spelling alone.
fn inside(text: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let parts: Option<PathBuf> = parts.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect();
    parts.filter(|path| !path.as_os_str().is_empty() && !path.starts_with(".git"))
}

/// The patterns of `.worktreeinclude` and of the settings.
fn wanted(checkout: &Path, text: &str, patterns: &[&str], warnings: &mut Vec<String>) -> Gitignore {
    let mut builder = GitignoreBuilder::new(checkout);
    for line in text.lines().chain(patterns.iter().copied()) {
        if let Err(error) = builder.add_line(None, line) {
            warnings.push(format!("the pattern `{line}` cannot be used: {error}"));
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Files of a checkout that git ignores and a pattern wants, given a run of `ls-files` in it. Git lists a directory that
/// it ignores as a whole.
pub(super) fn ignored_files(git: Git, checkout: &Path, wanted: &Gitignore) -> Result<Vec<PathBuf>, GitError> {
    let listing = git.args(["--others", "--ignored", "--exclude-standard", "--directory", "-z"]).run()?;
    let mut found = Vec::new();
    for item in listing.split(|byte| *byte == 0).filter(|item| !item.is_empty()) {
        let path = Path::new(OsStr::from_bytes(item.strip_suffix(b"/").unwrap_or(item)));
        let files = if item.ends_with(b"/") { files_below(checkout, path)? } else { vec![path.to_owned()] };
        found.extend(files.into_iter().filter(|file| wanted.matched_path_or_any_parents(file, false).is_ignore()));
    }
    Ok(found)
}

/// The file itself, or all files below a directory; links are not followed and nested repositories are left out.
pub(super) fn files_below(checkout: &Path, path: &Path) -> Result<Vec<PathBuf>, GitError> {
    let is_directory = checkout.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_directory {
        return Ok(vec![path.to_owned()]);
    }
    let (mut files, mut waiting) = (Vec::new(), vec![path.to_owned()]);
    while let Some(directory) = waiting.pop() {
        let absolute = checkout.join(&directory);
        let read = || -> std::io::Result<Vec<fs::DirEntry>> { fs::read_dir(&absolute)?.collect() };
        let entries = match read() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
            entries => entries.map_err(GitError::io("read", &absolute))?,
        };
        if entries.iter().any(|entry| entry.file_name() == ".git") {
            continue;
        }
        for entry in entries {
            let path = directory.join(entry.file_name());
            match entry.file_type().map_err(GitError::io("read", &absolute))?.is_dir() {
                true => waiting.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Copied files that git does not ignore end up in the session's commits; that is seldom meant.
fn warn_of_visible(tree: &Worktree, placed: &mut Placed) -> Result<(), GitError> {
    if placed.files.is_empty() {
        return Ok(());
    }
    // The command cannot take paths literally; spelled this way none of them looks like a pattern's prefix.
    let spelled = |path: &PathBuf| [b"./", path.as_os_str().as_bytes()].concat();
    let input: Vec<u8> = placed.files.iter().flat_map(|path| [spelled(path), vec![0]].concat()).collect();
    let git = Git::in_tree(tree, "check-ignore").args(["-z", "--stdin"]).env("GIT_LITERAL_PATHSPECS", "0").input(input);
    let output = git.output()?;
    // 1 says that none is ignored.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(failed("check-ignore", &output));
    }
    let ignored: HashSet<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    let visible = placed.files.iter().filter(|path| !ignored.contains(spelled(path).as_slice()));
    let warnings =
        visible.map(|path| format!("`{}` is not ignored by git: the session's commits will hold it", path.display()));
    placed.warnings.extend(warnings);
    Ok(())
}
