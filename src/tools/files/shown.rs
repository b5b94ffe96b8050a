//! What people see of a call before and while it is performed.

use super::calls::LINES;
use super::{Grep, Lines, Request, Which};

/// So much of a file that is written is shown.
const SHOWN: usize = 200;

impl Request {
    /// The call in one line.
    pub(in crate::tools) fn title(&self) -> String {
        match self {
            Self::ReadFile { path, lines: Lines { offset: 1, limit: LINES } } => format!("Read({path})"),
            Self::ReadFile { path, lines: Lines { offset, limit } } => format!("Read({path} @ L{offset}+{limit})"),
            Self::ReadManyFiles { paths, .. } => match paths.len() {
                1 => "Read(1 file)".to_owned(),
                count => format!("Read({count} files)"),
            },
            Self::WriteFile { path, .. } => format!("Write({path})"),
            Self::EditFile { path, which: Which::Single, .. } => format!("Edit({path}, single)"),
            Self::EditFile { path, which: Which::All, .. } => format!("Edit({path}, all)"),
            Self::ApplyDiff { .. } => "Patch(apply)".to_owned(),
            Self::Mkdir { path } => format!("Mkdir({path})"),
            Self::CopyFile { from, to } => format!("Copy({from} → {to})"),
            Self::MoveFile { from, to } => format!("Move({from} → {to})"),
            Self::DeleteFile { path } => format!("Delete({path})"),
            Self::ListDir { path } => format!("List({path})"),
            Self::Glob { pattern, cwd } => match cwd.as_str() {
                "." => format!("Glob({pattern})"),
                cwd => format!("Glob({pattern} in {cwd})"),
            },
            Self::Grep(Grep { pattern, path, .. }) => format!("Grep(\"{pattern}\" in {path})"),
        }
    }

    /// What a person looks at before they decide; empty when the title says it all.
    pub(in crate::tools) fn preview(&self) -> String {
        match self {
            Self::WriteFile { path, content } => format!("{path}\n{}", begin(content)),
            Self::EditFile { path, old, new, .. } => format!("--- {path}\n+++ {path}\n@@ @@\n{}", swap(old, new)),
            Self::ApplyDiff { diff } => diff.clone(),
            Self::ReadManyFiles { paths, .. } => paths.join("\n"),
            Self::ReadFile { .. }
            | Self::Mkdir { .. }
            | Self::CopyFile { .. }
            | Self::MoveFile { .. }
            | Self::DeleteFile { .. }
            | Self::ListDir { .. }
            | Self::Glob { .. }
            | Self::Grep(_) => String::new(),
        }
    }
}

fn begin(content: &str) -> String {
    match content.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &content[..end]),
        None => content.to_owned(),
    }
}

/// The lines that go and those that come, between the ones that stay.
fn swap(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let marked = |mark: char, lines: &[&str]| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    [
        marked(' ', &old[..head]),
        marked('-', &old[head..old_end]),
        marked('+', &new[head..new_end]),
        marked(' ', &old[old_end..]),
    ]
    .concat()
}
