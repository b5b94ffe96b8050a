//! What the user tells an agent program in every project: files in the program's own directory, and what they import.
//!
//! The programs run in a home of their own and with no settings of the user's, so they would not find these files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::backend::user_file::read_beginning;

/// How much is taken over in all. A single argument of a program holds 128 KiB, and the rules need their part of it.
const LIMIT: usize = 64 * 1024;

/// What stands in the place of the rest.
const CUT: &str = "\n\n(The rest of these instructions is left out: together they are longer than 64 KiB.)\n\n";

/// How deep imports go.
const DEEPEST: usize = 5;

/// The text of the files and of what they import by `@path`, each below its name; `None` where nothing is told.
pub(crate) fn read(files: Vec<PathBuf>, home: Option<&Path>) -> Option<String> {
    let mut text = String::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    let own: Vec<_> = files.iter().filter_map(|file| file.parent()?.canonicalize().ok()).collect();
    let mut left: VecDeque<_> = files.into_iter().map(|file| (file, None, 0)).collect();
    while let Some((file, within, depth)) = left.pop_front().filter(|_| text.len() < LIMIT) {
        let Ok(path) = file.canonicalize() else { continue };
        let is_within = |directory: &PathBuf| path.starts_with(directory);
        if seen.contains(&path) || !within.as_ref().is_none_or(is_within) {
            continue;
        }
        let Some(words) = beginning(&path) else { continue };
        if !words.trim().is_empty() {
            text.push_str(&format!("Instructions of the user, from `{}`:\n\n{}\n\n", file.display(), words.trim()));
        }
        if depth < DEEPEST {
            // A file elsewhere may be somebody else's, such as one of a repository: it brings in only what is beside it.
            let within = if own.iter().any(is_within) { None } else { path.parent().map(Path::to_owned) };
            let imported = imports(&words).filter_map(|import| locate(import, &file, home));
            left.extend(imported.map(|import| (import, within.clone(), depth + 1)));
        }
        seen.push(path);
    }
    if text.len() >= LIMIT {
        text.truncate(text.floor_char_boundary(LIMIT - CUT.len()));
        text.push_str(CUT);
    }
    (!text.is_empty()).then_some(text)
}

/// Whether a text of [`read`] is not all of the instructions.
pub(crate) fn is_cut(text: &str) -> bool {
    text.ends_with(CUT)
}

fn beginning(path: &Path) -> Option<String> {
    let bytes = read_beginning(path, LIMIT as u64).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The paths behind `@` in a text, without those in code.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    let prose = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fence && !is_fenced
    });
    // Every second part between backticks is code.
    prose.flat_map(|line| line.split('`').step_by(2)).flat_map(str::split_whitespace).filter_map(|word| {
        word.strip_prefix('@').map(|path| path.trim_end_matches([',', ';', ':', ')'])).filter(|path| !path.is_empty())
    })
}

/// Where an import leads: from the file that names it, or from the home.
fn locate(import: &str, file: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match import.strip_prefix("~/") {
        Some(path) => Some(home?.join(path)),
        None => Some(file.parent()?.join(import)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn imports_are_words_outside_of_code() {
        for (text, expected) in [
            ("see @a.md, @~/b and mail x@y.z", vec!["a.md", "~/b"]),
            ("`@code` and @ alone\n```sh\n@fenced\n```\n@after", vec!["after"]),
            ("(@no) but @./yes)", vec!["./yes"]),
        ] {
            assert_eq!(imports(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn files_come_once_each_with_what_they_import() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("a.md"), "first @sub/b.md @~/c.md @missing @sub").unwrap();
        fs::write(path("sub/b.md"), "second @../a.md").unwrap();
        fs::write(path("c.md"), " \n").unwrap();
        let files = vec![path("a.md"), path("none.md"), path("sub/b.md")];
        let text = read(files, Some(dir.path())).unwrap().replace(dir.path().to_str().unwrap(), "");
        let expected = "Instructions of the user, from `/a.md`:\n\nfirst @sub/b.md @~/c.md @missing @sub\n\n\
                        Instructions of the user, from `/sub/b.md`:\n\nsecond @../a.md\n\n";
        assert_eq!(text, expected);
        assert_eq!(read(vec![path("c.md"), path("sub")], None), None);
    }

    #[test]
    fn a_file_of_somebody_else_imports_only_what_is_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for (name, text) in [
            ("home/.claude/CLAUDE.md", "mine @../../repo/docs/style.md"),
            ("repo/docs/style.md", "style @more/a.md @~/secret @../b.md @link.md"),
            ("repo/docs/more/a.md", "beside @../style.md"),
            ("repo/b.md", "above"),
            ("home/secret", "key"),
        ] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), text).unwrap();
        }
        std::os::unix::fs::symlink(path("home/secret"), path("repo/docs/link.md")).unwrap();
        let text = read(vec![path("home/.claude/CLAUDE.md")], Some(&path("home"))).unwrap();
        assert!(text.contains("mine") && text.contains("style") && text.contains("beside"), "{text}");
        assert!(!text.contains("above") && !text.contains("key"), "{text}");
    }

    #[test]
    fn imports_go_only_so_deep_and_texts_only_so_far() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..9 {
            fs::write(dir.path().join(n.to_string()), format!("step{n} @{}", n + 1)).unwrap();
        }
        let text = read(vec![dir.path().join("0")], None).unwrap();
        assert!(text.contains("step5") && !text.contains("step6"), "{text}");
        assert!(!is_cut(&text), "{text}");
        fs::write(dir.path().join("0"), "ä".repeat(LIMIT)).unwrap();
        let text = read(vec![dir.path().join("0"), dir.path().join("1")], None).unwrap();
        assert!(text.len() <= LIMIT && is_cut(&text) && !text.contains("step1"));
    }
}
