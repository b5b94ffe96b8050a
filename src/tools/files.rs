//! Files and searches in a session's work tree: performed inside its cage.
//!
//! A call is read and told about here, without a look at the disk; `act` performs it.

pub mod act;
mod calls;
mod params;
mod patch;
mod shown;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::schema;
use super::served::{Needs, Row};
use crate::permission::{Effect, Kept, Reach};

pub(super) use calls::parse;

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "read_file",
        description: "Reads a text file of the work tree with its lines numbered, or shows a picture (png, jpg, gif, \
            webp). A line `…[truncated]` at the end says that the file goes on: ask for the rest by `offset`.",
        schema: schema::of::<params::ReadFile>,
        needs: Needs::Instead,
        effect: Effect::Reads,
    },
    Row {
        name: "read_many_files",
        description: "Reads up to 20 text files of the work tree at once, without numbers, each under a line \
            `==> path <==` and in the order of their paths. What cannot be read says so in its place. At most 524288 \
            bytes come back in all; `[truncated]` marks what was cut.",
        schema: schema::of::<params::ReadManyFiles>,
        needs: Needs::Instead,
        effect: Effect::Reads,
    },
    Row {
        name: "list_dir",
        description: "Lists a directory of the work tree: `d` for a directory, `f` for a file, `l` for a link, a tab and \
            the name. At most 100 entries.",
        schema: schema::of::<params::ListDir>,
        needs: Needs::Instead,
        effect: Effect::Reads,
    },
    Row {
        name: "glob",
        description: "Finds files by a pattern such as `src/**/*.rs`, where `*` stays in one directory and `**` goes \
            through all. Files that git ignores are left out, unless the pattern begins with their directory. Returns at \
            most 200 paths, sorted and relative to the work tree.",
        schema: schema::of::<params::Glob>,
        needs: Needs::Instead,
        effect: Effect::Reads,
    },
    Row {
        name: "grep",
        description: "Finds lines with a text, or with a regular expression, in the files of the work tree, as \
            `path:line:text` in the order of the paths. Hidden and binary files and those that git ignores are left \
            out.",
        schema: schema::of::<params::Grep>,
        needs: Needs::Instead,
        effect: Effect::Reads,
    },
    Row {
        name: "write_file",
        description: "Writes a whole file, over what was there, and makes the directories that it needs. To change a \
            part of a file use `edit_file`.",
        schema: schema::of::<params::WriteFile>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
    Row {
        name: "edit_file",
        description: "Replaces a text in a file by another. The old text must be in the file exactly once, with its \
            spaces and line ends as they are; add lines around it until it is, or set `replace_all`.",
        schema: schema::of::<params::EditFile>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
    Row {
        name: "apply_diff",
        description: "Applies a unified diff to the work tree, as `git apply` does: several files at once, also made, \
            removed and renamed ones. Paths are relative to the work tree. Either all of it is applied or nothing.",
        schema: schema::of::<params::ApplyDiff>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
    Row {
        name: "mkdir",
        description: "Makes a directory and those above it.",
        schema: schema::of::<params::OnePath>,
        needs: Needs::Instead,
        effect: Effect::Adds,
    },
    Row {
        name: "copy_file",
        description: "Copies a file, over what was there, and makes the directories that the copy needs.",
        schema: schema::of::<params::TwoPaths>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
    Row {
        name: "move_file",
        description: "Moves or renames a file or a directory, and makes the directories that it needs. A file that was \
            there is replaced.",
        schema: schema::of::<params::TwoPaths>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
    Row {
        name: "delete_file",
        description: "Deletes a file, a link or an empty directory.",
        schema: schema::of::<params::OnePath>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
];

/// A call of this family. Paths are as the model wrote them: relative to the work tree, or absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    ReadFile {
        path: String,
        lines: Lines,
    },
    ReadManyFiles {
        paths: Vec<String>,
        offset: u64,
        limit: usize,
    },
    WriteFile {
        path: String,
        content: String,
    },
    EditFile {
        path: String,
        old: String,
        new: String,
        which: Which,
    },
    /// A diff that can be read.
    ApplyDiff {
        diff: String,
    },
    Mkdir {
        path: String,
    },
    CopyFile {
        from: String,
        to: String,
    },
    MoveFile {
        from: String,
        to: String,
    },
    DeleteFile {
        path: String,
    },
    ListDir {
        path: String,
    },
    Glob {
        pattern: String,
        cwd: String,
    },
    Grep(Grep),
}

/// The lines of a file that are asked for; the first one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    pub offset: usize,
    pub limit: usize,
}

/// Which places of a text an edit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The only one.
    Single,
    All,
}

/// A search in files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grep {
    pub pattern: String,
    pub path: String,
    pub syntax: Syntax,
    pub case: Case,
    pub max_results: usize,
    /// What may not be read, which no call can say: whoever performs it knows the rules.
    #[serde(default)]
    pub kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// Every character means itself.
    Literal,
    Regex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    Sensitive,
    Ignored,
}

impl Request {
    /// The request of somebody from whom files are kept; the words of a refusal where it would give one another name.
    pub fn keeping(self, kept: Kept, tree: &Path) -> Result<Self, String> {
        match self {
            Self::Grep(grep) => Ok(Self::Grep(Grep { kept, ..grep })),
            Self::ApplyDiff { diff } => {
                let keeper = kept.keeper(tree);
                let changes = patch::parse(&diff).unwrap_or_default();
                match changes.iter().filter_map(patch::Change::source).find(|path| keeper.keeps(Path::new(path))) {
                    Some(path) => Err(format!("`{path}` may not be read, and so not be moved or copied either")),
                    None => Ok(Self::ApplyDiff { diff }),
                }
            }
            other @ (Self::ReadFile { .. }
            | Self::ReadManyFiles { .. }
            | Self::WriteFile { .. }
            | Self::EditFile { .. }
            | Self::Mkdir { .. }
            | Self::CopyFile { .. }
            | Self::MoveFile { .. }
            | Self::DeleteFile { .. }
            | Self::ListDir { .. }
            | Self::Glob { .. }) => Ok(other),
        }
    }

    /// Every path that the call reads or writes.
    pub(super) fn reach(&self, tree: &Path) -> Reach {
        let mut paths: Vec<PathBuf> = Vec::new();
        let mut add = |path: &str| {
            let path = tree.join(path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        };
        match self {
            Self::ReadFile { path, .. }
            | Self::WriteFile { path, .. }
            | Self::EditFile { path, .. }
            | Self::Mkdir { path }
            | Self::DeleteFile { path }
            | Self::ListDir { path }
            | Self::Glob { cwd: path, .. }
            | Self::Grep(Grep { path, .. }) => add(path),
            Self::CopyFile { from, to } | Self::MoveFile { from, to } => {
                [from, to].into_iter().for_each(|path| add(path))
            }
            Self::ReadManyFiles { paths, .. } => paths.iter().for_each(|path| add(path)),
            // What cannot be read names nothing, and nothing is never allowed by itself.
            Self::ApplyDiff { diff } => {
                patch::parse(diff).iter().flatten().flat_map(patch::Change::paths).for_each(add);
            }
        }
        Reach::Paths(paths)
    }
}
