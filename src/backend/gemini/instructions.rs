//! The project's instructions, in the one place where the CLI looks without trusting the work tree.
//!
//! In a folder that it does not trust, the CLI reads none of the repository's files by itself; the memory of its home
//! it always reads.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::backend::agent_dir::AgentDir;

/// The files that hold instructions; the later ones are nearer to the model's last word.
const FILES: &[&str] = &["AGENTS.md", "GEMINI.md"];

/// How much of each file is read.
const LIMIT: u64 = 256 * 1024;

/// Everything that the work tree tells an agent, or `None`.
pub(super) fn read(tree: &Path) -> Option<String> {
    let root = tree.canonicalize().ok()?;
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut text = String::new();
    for name in FILES {
        // A link may lead to the other file, or out of the work tree: the text would go to the model.
        let Ok(path) = root.join(name).canonicalize() else { continue };
        let Some(inside) = path.strip_prefix(&root).ok().filter(|_| !seen.contains(&path)) else { continue };
        // Whatever takes its place in the meantime is not followed.
        let Some(bytes) = beginning(&AgentDir::fixed(root.clone()), inside) else { continue };
        let words = String::from_utf8_lossy(&bytes);
        text.push_str(&format!("Instructions of the project, from `{name}`:\n\n{}\n\n", disarm(words.trim())));
        seen.push(path);
    }
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
