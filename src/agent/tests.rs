//! The files of all formats, which of them count, and what follows from them.

mod catalog;
mod format;
mod listing;
mod surface;
mod widening;

use super::builtin;
use super::catalog::Catalog;
use super::parse::{Broken, FileText, parse};
use super::{Definition, Format, Scope};

/// An example of each format that users know, as (format, stem, text).
const EXAMPLES: &[(Format, &str, &str)] = &[
    (
        Format::Koda,
        "release-notes",
        "---\ndescription: Release notes writer\nmode: subagent\nAllowTools: [read, search, git_diff, write]\n---\n\
         You only prepare release notes.\n",
    ),
    (
        Format::Template,
        "auditor",
        "---\ndescription: Use `auditor` for compliance checks.\nmodel: gpt-5-codex\nreasoning_effort: medium\n\
         read_only: true\nagent_names:\n  - {name: strict, description: Conservative., reasoning_effort: high}\n  \
         - {name: fast, description: Quick scan., model: gpt-5.3-codex-spark}\n\
         allow_list: [exec_command, write_stdin, update_plan, list_agents, list_active_agents, wait]\n\
         deny_list: [apply_patch]\n---\nReturn findings first.\n<!-- agent_name: strict -->\nPrefer completeness.\n\
         <!-- agent_name: fast -->\nPrefer speed.\n",
    ),
    (
        Format::Task,
        "reviewer",
        "---\ndescription: Code review agent\n\
         permission: {\"*\": deny, grep: allow, read_file: {\"*\": allow, \"*.env\": deny}}\nmaxSteps: 5\n---\n\
         You are a code reviewer.\n",
    ),
    (
        Format::Claude,
        "scout",
        "---\nname: release-scout\ndescription: Audits release readiness.\ntools: Read, Grep, Glob\nmodel: haiku\n---\n\
         Report ready / blockers / open.\n",
    ),
];

fn file(format: Format, stem: &str, text: &str) -> FileText {
    let (stem, text) = (stem.to_owned(), text.to_owned());
    FileText { scope: Scope::Project, level: 0, format, path: format!("{format}/{stem}.md"), stem, text }
}

#[track_caller]
fn agent(format: Format, stem: &str, text: &str) -> Definition {
    parse(&file(format, stem, text)).unwrap_or_else(|broken| panic!("{broken:#?}"))
}

#[track_caller]
fn broken(format: Format, stem: &str, text: &str) -> Broken {
    parse(&file(format, stem, text)).expect_err(text)
}

/// The codes of the diagnostics of a file that loads.
#[track_caller]
fn codes(format: Format, text: &str) -> Vec<&'static str> {
    agent(format, "a", text).diagnostics.iter().map(|it| it.code).collect()
}

/// A catalog with the built-in agents below these files.
fn catalog(files: impl IntoIterator<Item = FileText>) -> Catalog {
    Catalog::build(builtin::files().chain(files).collect())
}
