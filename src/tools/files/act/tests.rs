//! Calls performed in temporary trees, with everything in them that a tree can have.

mod finding;
mod reading;
mod writing;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A work tree with a secret beside it.
struct Tree {
    outer: TempDir,
    root: Root,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let outer = TempDir::new().unwrap();
        fs::write(outer.path().join("secret"), "needle outside").unwrap();
        let tree = outer.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(tree.join(".git")).unwrap();
        let tree = Self { outer, root: Root::open(&tree, None).unwrap() };
        files.iter().for_each(|(path, text)| tree.put(path, text));
        tree
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.root.path().join(inside)
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Performs a call as a model makes it.
    #[track_caller]
    fn answer(&self, tool: &str, arguments: Value) -> Result<Answer, String> {
        perform(&self.root, &super::super::parse(tool, &arguments).unwrap().unwrap())
    }

    #[track_caller]
    fn call(&self, tool: &str, arguments: Value) -> String {
        self.answer(tool, arguments).unwrap().text
    }

    #[track_caller]
    fn refusal(&self, tool: &str, arguments: Value) -> String {
        self.answer(tool, arguments).unwrap_err().replace(&*self.root.path().to_string_lossy(), "TREE")
    }

    /// Every file with its content, so that trees are compared whole.
    fn all(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut left = vec![self.root.path().to_owned()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.root.path()).unwrap().display().to_string();
                if path.is_dir() && !path.is_symlink() {
                    found.push((format!("{name}/"), String::new()));
                    left.push(path);
                } else {
                    found.push((name, fs::read_to_string(&path).unwrap_or_default()));
                }
            }
        }
        found.sort();
        found
    }
}
