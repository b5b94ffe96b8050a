//! The agents that come with the program, in the format that users write.

use super::parse::FileText;
use super::{Format, Scope};

/// A file of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// With its extension.
    pub file_name: &'static str,
    pub text: &'static str,
}

macro_rules! embedded {
    ($($file:literal),*) => {
        &[$(Embedded { file_name: $file, text: include_str!(concat!("../../templates/agents/", $file)) }),*]
    };
}

pub const FILES: &[Embedded] = embedded!(
    "builder.md",
    "engineer.md",
    "explore.md",
    "general.md",
    "orchestrator.md",
    "planner.md",
    "reviewer.md",
    "worker.md"
);

/// Our files as a catalog takes them.
pub fn files() -> impl Iterator<Item = FileText> {
    FILES.iter().map(|file| FileText {
        scope: Scope::BuiltIn,
        level: 0,
        format: Format::Unified,
        path: format!("builtin:{}", file.file_name),
        stem: file.file_name.trim_end_matches(".md").to_owned(),
        text: file.text.to_owned(),
    })
}

/// The files to copy into a directory with these names in it: all, or none as soon as one of ours is there.
pub fn to_seed(existing: &[&str]) -> &'static [Embedded] {
    let is_seeded = FILES.iter().any(|file| existing.contains(&file.file_name));
    if is_seeded { &[] } else { FILES }
}
