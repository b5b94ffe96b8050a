//! Which program serves which language, and how a person gets it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A language server as a program.
#[derive(Debug)]
pub struct Program {
    /// What it is called on the PATH.
    pub name: &'static str,
    pub arguments: &'static [&'static str],
    /// What files it serves, by the end of their names, and what it calls their languages.
    pub languages: &'static [(&'static str, &'static str)],
    /// Files that lie where a project begins.
    pub markers: &'static [&'static str],
    pub ready: Ready,
    /// How a person gets it.
    pub install: &'static str,
    /// What it is told at the start.
    pub options: fn() -> Value,
}

/// When a server can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    AtOnce,
    /// When the work is done that it tells about: before, it knows only a part of the project.
    AfterWork,
}

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "rust-analyzer",
        arguments: &[],
        languages: &[("rs", "rust")],
        markers: &["Cargo.toml", "rust-project.json"],
        ready: Ready::AfterWork,
        install: "rustup component add rust-analyzer",
        // A target directory of its own: the agent's builds do not wait for its lock.
        options: || json!({ "cargo": { "targetDir": true }, "files": { "watcher": "client" } }),
    },
    Program {
        name: "gopls",
        arguments: &[],
        languages: &[("go", "go")],
        markers: &["go.work", "go.mod"],
        ready: Ready::AfterWork,
        install: "go install golang.org/x/tools/gopls@latest",
        options: || Value::Null,
    },
    Program {
        name: "pyright-langserver",
        arguments: &["--stdio"],
        languages: &[("py", "python"), ("pyi", "python")],
        markers: &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"],
        ready: Ready::AtOnce,
        install: "npm install --global pyright",
        options: || Value::Null,
    },
    Program {
        name: "typescript-language-server",
        arguments: &["--stdio"],
        languages: &[
            ("ts", "typescript"),
            ("mts", "typescript"),
            ("cts", "typescript"),
            ("tsx", "typescriptreact"),
            ("js", "javascript"),
            ("mjs", "javascript"),
            ("cjs", "javascript"),
            ("jsx", "javascriptreact"),
        ],
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        ready: Ready::AtOnce,
        install: "npm install --global typescript-language-server typescript",
        // It would fetch the types of packages from the network by itself, and answer from one file while it loads the rest.
        options: || json!({ "disableAutomaticTypingAcquisition": true, "tsserver": { "useSyntaxServer": "never" } }),
    },
];

impl Program {
    /// What the program calls the language of a file; none when it does not serve it.
    pub fn language(&self, path: &Path) -> Option<&'static str> {
        let end = path.extension()?.to_str()?;
        self.languages.iter().find(|(known, _)| *known == end).map(|(_, language)| *language)
    }

    /// Where the project of this language begins in a work tree: at its root, unless one directory alone has the marks.
    pub fn root(&self, tree: &Path, files: &[PathBuf]) -> PathBuf {
        let is_mark = |path: &&PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.markers.contains(&name))
        };
        let marked: BTreeSet<&Path> = files.iter().filter(is_mark).filter_map(|path| path.parent()).collect();
        let is_below = |path: &Path| marked.iter().any(|other| *other != path && path.starts_with(other));
        let mut topmost = marked.iter().copied().filter(|path| !is_below(path));
        match (topmost.next(), topmost.next()) {
            (Some(only), None) => tree.join(only),
            (Some(_) | None, _) => tree.to_owned(),
        }
    }
}

/// The program for a file.
pub fn for_file(path: &Path) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.language(path).is_some())
}

/// The programs for the files of a work tree.
pub fn for_files<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Vec<&'static Program> {
    let mut found: Vec<&'static Program> = Vec::new();
    for path in files {
        if let Some(program) = for_file(path).filter(|program| !found.iter().any(|known| known.name == program.name)) {
            found.push(program);
            if found.len() == PROGRAMS.len() {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_served_by_its_name() {
        for (path, expected) in [
            ("src/main.rs", Some(("rust-analyzer", "rust"))),
            ("a/b.go", Some(("gopls", "go"))),
            ("x.pyi", Some(("pyright-langserver", "python"))),
            ("x.tsx", Some(("typescript-language-server", "typescriptreact"))),
            ("x.mjs", Some(("typescript-language-server", "javascript"))),
            ("README.md", None),
            ("rs", None),
        ] {
            let path = Path::new(path);
            let found = for_file(path).map(|program| (program.name, program.language(path).unwrap()));
            assert_eq!(found, expected, "{path:?}");
        }
    }

    #[test]
    fn each_language_has_one_program() {
        let mut ends: Vec<_> = PROGRAMS.iter().flat_map(|program| program.languages).map(|(end, _)| end).collect();
        ends.sort_unstable();
        let count = ends.len();
        ends.dedup();
        assert_eq!(ends.len(), count);
        let files = ["a.ts", "b.js", "c.rs", "d.md"].map(PathBuf::from);
        let names: Vec<_> = for_files(&files).iter().map(|program| program.name).collect();
        assert_eq!(names, ["typescript-language-server", "rust-analyzer"]);
    }

    #[test]
    fn a_project_begins_where_its_marks_are() {
        let root = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(PathBuf::from).collect();
            PROGRAMS[0].root(Path::new("/t"), &files)
        };
        assert_eq!(root(&["Cargo.toml", "crates/a/Cargo.toml"]), Path::new("/t"));
        assert_eq!(root(&["core/Cargo.toml", "core/a/Cargo.toml", "web/package.json"]), Path::new("/t/core"));
        assert_eq!(root(&["a/Cargo.toml", "b/Cargo.toml"]), Path::new("/t"));
        assert_eq!(root(&["main.rs"]), Path::new("/t"));
    }
}
