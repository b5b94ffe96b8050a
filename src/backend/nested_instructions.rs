//! Instruction files below the top of a work tree. Each is about one directory, and together they would fill the model's
//! context, so they are named and the model reads them.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

/// How many directories are searched for instructions about a part of the project, and how many such files are named.
/// Gemini itself searches 200.
const SEARCHED_DIRECTORIES: usize = 500;
const NAMED_FILES: usize = 50;
/// How many names of one directory are looked at.
const NAMES_READ: usize = 5_000;

/// Directories with the code of others.
const FOREIGN_DIRECTORIES: &[&str] = &["node_modules", "target", "vendor"];

/// What the model is told about the files of these names, if there are any; reads directories.
pub(crate) fn describe_nested(root: &Path, names: &[&str]) -> Option<String> {
    let listed: String = find_nested(root, names).iter().map(|path| format!("- `{path}`\n")).collect();
    (!listed.is_empty()).then(|| {
        format!(
            "These files hold instructions for the directory that they are in. Read the file before you work there:\n\n{listed}\n"
        )
    })
}

/// The files of these names below the top of a work tree, the nearest first.
fn find_nested(root: &Path, names: &[&str]) -> Vec<String> {
    let (mut found, mut searched) = (Vec::new(), 0);
    let mut left: VecDeque<_> = [root.to_owned()].into();
    while let Some(directory) = left.pop_front().filter(|_| searched < SEARCHED_DIRECTORIES) {
        searched += 1;
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        // One directory may hold any number of files.
        let mut entries: Vec<_> = entries.flatten().take(NAMES_READ).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let is_instructions = names.contains(&name.as_str());
            if kind.is_dir() && !name.starts_with('.') && !FOREIGN_DIRECTORIES.contains(&name.as_str()) {
                left.push_back(entry.path());
            } else if kind.is_file() && is_instructions && directory != root {
                let path = entry.path().strip_prefix(root).ok().map(|path| path.to_string_lossy().into_owned());
                // A name with a line break or a sign of Markdown could be read as an instruction.
                found.extend(path.filter(|path| path.chars().all(is_plain)));
            }
        }
        if found.len() >= NAMED_FILES {
            break;
        }
    }
    found.truncate(NAMED_FILES);
    found
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '/' | '.' | '-' | '_' | '+' | ' ')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn instructions_about_a_part_of_the_project_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "words").unwrap();
        };
        let names = ["AGENTS.md", "GEMINI.md", "OTHER.md"];
        put("AGENTS.md");
        assert_eq!(describe_nested(dir.path(), &names), None);
        for path in
            ["b/c/GEMINI.md", "a/AGENTS.md", "a/OTHER.md", "b/README.md", ".git/AGENTS.md", "a/node_modules/AGENTS.md"]
        {
            put(path);
        }
        put("a\n`x/AGENTS.md");
        symlink(dir.path().join("b"), dir.path().join("link")).unwrap();
        assert_eq!(find_nested(dir.path(), &names), ["a/AGENTS.md", "a/OTHER.md", "b/c/GEMINI.md"]);
        let told = describe_nested(dir.path(), &["OTHER.md"]).unwrap();
        assert!(told.ends_with("before you work there:\n\n- `a/OTHER.md`\n\n"), "{told}");
        for n in 0..SEARCHED_DIRECTORIES {
            put(&format!("0/{n}/AGENTS.md"));
        }
        assert_eq!(find_nested(dir.path(), &names).len(), NAMED_FILES);
    }
}
