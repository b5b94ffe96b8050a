//! The instructions of the user and of the project, in the one place where the CLI looks without trusting the work tree.
//!
//! In a folder that it does not trust, the CLI reads none of the repository's files by itself; the memory of its home
//! it always reads.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::backend::agent_dir::AgentDir;
use crate::backend::nested_instructions::describe_nested;
use crate::backend::user_file::read_json;
use crate::backend::user_instructions;

/// The file of a project that every agent reads. The CLI's own come after it, nearer to the model's last word.
const COMMON: &str = "AGENTS.md";

/// The CLI's own, unless the user's settings name others.
const OWN: &str = "GEMINI.md";

/// How much of each file is read.
const LIMIT: u64 = 256 * 1024;

/// Everything that the user, whose CLI keeps its files in `users_dir`, and the work tree tell an agent.
pub(super) fn read(tree: &Path, users_dir: &Path, env: &[(String, String)]) -> Option<String> {
    let names = file_names(&read_json(&users_dir.join("settings.json")).unwrap_or_default());
    let users = read_users(users_dir, &names, env);
    let text = users.map(|text| disarm(&text)).unwrap_or_default() + &read_project(tree, &names).unwrap_or_default();
    (!text.is_empty()).then_some(text)
}

/// The files of the user's that are longer together than what is handed over, if they are; reads files.
pub(super) fn find_cut(users_dir: &Path, env: &[(String, String)]) -> Option<PathBuf> {
    let names = file_names(&read_json(&users_dir.join("settings.json")).unwrap_or_default());
    let is_cut = read_users(users_dir, &names, env).is_some_and(|text| user_instructions::is_cut(&text));
    is_cut.then(|| users_dir.join(&names[0]))
}

fn read_users(users_dir: &Path, names: &[String], env: &[(String, String)]) -> Option<String> {
    let home = env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    user_instructions::read(names.iter().map(|name| users_dir.join(name)).collect(), home)
}

/// The names of instruction files that the user's settings say.
fn file_names(settings: &Value) -> Vec<String> {
    let said = &settings["context"]["fileName"];
    let listed = said.as_array().map_or_else(|| std::slice::from_ref(said), Vec::as_slice);
    let names = listed.iter().filter_map(Value::as_str).filter(|name| !name.is_empty() && !name.contains('/'));
    let names: Vec<_> = names.map(str::to_owned).collect();
    if names.is_empty() { vec![OWN.to_owned()] } else { names }
}

fn read_project(tree: &Path, names: &[String]) -> Option<String> {
    let root = tree.canonicalize().ok()?;
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut text = String::new();
    let names: Vec<_> = [COMMON].into_iter().chain(names.iter().map(String::as_str)).collect();
    for &name in &names {
        // A link may lead to the other file, or out of the work tree: the text would go to the model.
        let Ok(path) = root.join(name).canonicalize() else { continue };
        let Some(inside) = path.strip_prefix(&root).ok().filter(|_| !seen.contains(&path)) else { continue };
        // Whatever takes its place in the meantime is not followed.
        let Some(bytes) = beginning(&AgentDir::fixed(root.clone()), inside) else { continue };
        let words = String::from_utf8_lossy(&bytes);
        text.push_str(&format!("Instructions of the project, from `{name}`:\n\n{}\n\n", disarm(words.trim())));
        seen.push(path);
    }
    text.push_str(&describe_nested(&root, &names).unwrap_or_default());
    (!text.is_empty()).then_some(text)
}

/// The beginning of a file; `None` when it is something else.
fn beginning(tree: &AgentDir, path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    tree.open(path).ok()??.take(LIMIT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The text without imports. The CLI would resolve `@path` from its home, which holds the login, and up to the root of
/// whatever repository that home lies in.
fn disarm(text: &str) -> String {
    let mut disarmed = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        disarmed.push(char);
        let is_path = chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '.' | '/'));
        if char == '@' && before.is_whitespace() && is_path {
            disarmed.push(' ');
        }
        before = char;
    }
    disarmed
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn read(tree: &Path) -> Option<String> {
        super::read(tree, Path::new("/nonexistent"), &[])
    }

    #[test]
    fn the_user_speaks_first_and_names_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, users) = (dir.path().join("tree"), dir.path().join(".gemini"));
        fs::create_dir(&tree).unwrap();
        fs::create_dir(&users).unwrap();
        for name in ["GEMINI.md", "OTHER.md"] {
            fs::write(tree.join(name), format!("project, {name}")).unwrap();
            fs::write(users.join(name), format!("user, {name} @import.md")).unwrap();
        }
        fs::write(users.join("import.md"), "imported").unwrap();
        for (settings, expected) in [
            ("", ["user, GEMINI.md @ import.md", "imported", "project, GEMINI.md"]),
            (
                r#"{"context": {"fileName": "OTHER.md"}}"#,
                ["user, OTHER.md @ import.md", "imported", "project, OTHER.md"],
            ),
            (
                r#"{"context": {"fileName": ["../x", 3]}}"#,
                ["user, GEMINI.md @ import.md", "imported", "project, GEMINI.md"],
            ),
        ] {
            fs::write(users.join("settings.json"), settings).unwrap();
            let text = super::read(&tree, &users, &[]).unwrap();
            let told: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.ends_with(':')).collect();
            assert_eq!(told, expected, "{settings}");
        }
    }

    #[test]
    fn imports_stay_words() {
        for (text, expected) in [
            ("@./a.md and @/etc/passwd", "@ ./a.md and @ /etc/passwd"),
            ("see\n@docs/a.md\tor\t@b", "see\n@ docs/a.md\tor\t@ b"),
            ("mail a@b.c, use @ alone or @1", "mail a@b.c, use @ alone or @1"),
            ("@@a", "@@a"),
        ] {
            assert_eq!(disarm(text), expected);
        }
    }

    #[test]
    fn both_files_are_read_once_and_only_inside_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        assert_eq!(read(&tree), None);
        fs::write(tree.join("AGENTS.md"), "be kind\n").unwrap();
        symlink("AGENTS.md", tree.join("GEMINI.md")).unwrap();
        let agents = "Instructions of the project, from `AGENTS.md`:\n\nbe kind\n\n";
        assert_eq!(read(&tree).as_deref(), Some(agents));
        fs::remove_file(tree.join("GEMINI.md")).unwrap();
        fs::write(tree.join("GEMINI.md"), "@secret").unwrap();
        let both = format!("{agents}Instructions of the project, from `GEMINI.md`:\n\n@ secret\n\n");
        assert_eq!(read(&tree), Some(both));
        fs::write(dir.path().join("outside"), "secret").unwrap();
        fs::remove_file(tree.join("GEMINI.md")).unwrap();
        symlink("../outside", tree.join("GEMINI.md")).unwrap();
        assert_eq!(read(&tree).as_deref(), Some(agents));
    }

    #[test]
    fn only_the_beginning_of_a_real_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("AGENTS.md");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::create_dir(dir.path().join("GEMINI.md")).unwrap();
        assert_eq!(read(dir.path()), None);
        fs::remove_file(&pipe).unwrap();
        fs::write(&pipe, "x".repeat(3 * LIMIT as usize)).unwrap();
        let text = read(dir.path()).unwrap();
        assert_eq!(text.matches('x').count(), LIMIT as usize);
    }
}
