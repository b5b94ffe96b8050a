//! What git said, as texts for a model: flags first, then a section for each thing. Pure.

use std::path::{Path, PathBuf};

use crate::git::Oid;
use crate::git::capture::Kept;
use crate::git::commit::Selected;
use crate::git::diff::Patch;
use crate::git::look::{Standing, Upstream};
use crate::git::push::{self, Pushed};
use crate::git::status::{State, Status};
use crate::github::Pull;
use crate::tools::history::Parts;
use crate::tools::history::style::{self, Style};

/// Where a text was cut.
const MARK: &str = "…[truncated]";

/// How names of files end that hold sentences and not code.
const PROSE: &[&str] = &["adoc", "md", "mdx", "org", "rst", "tex", "txt"];

/// `list_git_changed_files`.
pub(super) fn changed(status: &Status, parts: Parts) -> String {
    let sections = [
        (parts.staged, "staged", staged(status)),
        (parts.unstaged, "unstaged", unstaged(status)),
        (parts.untracked, "untracked", untracked(status)),
    ];
    let sections = sections.into_iter().filter(|(is_wanted, ..)| *is_wanted);
    let (mut head, mut body) = (Vec::new(), String::new());
    for (_, name, rows) in sections {
        head.push(format!("{name}={}", rows.len()));
        body += &section(name, &rows.join("\n"));
    }
    format!("{}\n{body}", head.join(" "))
}

/// `git_branch_status`.
pub(super) fn standing(standing: &Standing) -> String {
    let Standing { status, upstream } = standing;
    let (name, ahead, behind) = match upstream {
        Some(Upstream { name, ahead, behind }) => (line(name), *ahead, *behind),
        None => ("none".to_owned(), 0, 0),
    };
    let branch = line(status.branch.as_deref().unwrap_or("detached"));
    format!("branch={branch}\nupstream={name}\nahead={ahead}\nbehind={behind}\ndirty={}\n", !status.is_clean())
}

/// What a commit message is written from.
pub(super) struct Context {
    pub(super) status: Status,
    pub(super) diff: Patch,
    /// The last subjects of the branch, newest first.
    pub(super) subjects: String,
    /// The commits of the session itself, newest first.
    pub(super) commits: String,
}

/// `git_commit_context`.
pub(super) fn context(context: &Context) -> String {
    let Context { status, diff, subjects, commits } = context;
    let staged_rows = staged(status);
    let style: Style = style::detect(subjects.lines());
    let branch = line(status.branch.as_deref().unwrap_or("detached"));
    let state = format!("staged_empty={}\ndetected_style={style}\nbranch={branch}", staged_rows.is_empty());
    let prose = status.changed.iter().filter(|changed| changed.staged != State::Same && is_prose(&changed.path));
    let prose: Vec<_> = prose.map(|changed| shown(&changed.path)).collect();
    [
        ("state", state),
        ("staged.name-status", staged_rows.join("\n")),
        ("staged.diff", format!("{}{}", text(&diff.kept), withheld(&diff.left_out))),
        ("recent.subjects", items(subjects)),
        ("branch.commits", items(commits)),
        ("prose", prose.join("\n")),
        ("unstaged", unstaged(status).join("\n")),
        ("untracked", untracked(status).join("\n")),
    ]
    .iter()
    .map(|(name, body)| section(name, body))
    .collect::<String>()
    .trim_start()
    .to_owned()
}

/// `git_diff_files`.
pub(in super::super::super) fn patch(patch: &Patch) -> String {
    match (patch.kept.bytes.is_empty(), patch.left_out.as_slice()) {
        (true, []) => "no differences".to_owned(),
        (_, left_out) => format!("{}{}", text(&patch.kept), withheld(left_out)),
    }
}

/// The names of files that differ and are not shown.
fn withheld(paths: &[PathBuf]) -> String {
    let row = |path: &PathBuf| {
        format!("[left out: `{}` differs, and is kept from tools that read files]\n", line(&path.to_string_lossy()))
    };
    paths.iter().map(row).collect()
}

/// What is left after a commit.
pub(super) fn committed(commit: &Oid, skipped: &[PathBuf], left: &Status) -> String {
    let skipped: String = skipped
        .iter()
        .map(|hook| format!("the hook `{}` lies in a work tree and did not run\n", hook.display()))
        .collect();
    let rest = [("unstaged", unstaged(left)), ("untracked", untracked(left))];
    let rest: String = rest.iter().map(|(name, rows)| section(name, &rows.join("\n"))).collect();
    format!("committed=true sha={commit}\n{skipped}{rest}")
}

/// `git_stage_files` of paths.
pub(super) fn selected(selected: &Selected) -> String {
    let Selected { files, left_out, .. } = selected;
    format!("staged {files} file(s){}", left_out_of(left_out))
}

/// What no commit holds.
pub(super) fn left_out_of(paths: &[PathBuf]) -> String {
    match paths {
        [] => String::new(),
        paths => {
            let rows: Vec<_> = paths.iter().map(|path| shown(path)).collect();
            format!("\n{}", section("left out: repositories of their own, or unreadable", &rows.join("\n")))
        }
    }
}

pub(super) fn plural(files: usize) -> &'static str {
    if files == 1 { "file" } else { "files" }
}

/// What GitHub says about the pull request of a branch.
pub(super) enum PullOfBranch {
    Open(Box<Pull>),
    Absent,
    Unknown,
}

/// `git_push`.
pub(super) fn pushed(pushed: &Pushed, pull: &PullOfBranch) -> String {
    let set = pushed.upstream == push::Upstream::Set;
    let pull = match pull {
        PullOfBranch::Open(pull) => format!(" pr_number={} pr_url={}", pull.number, line(&pull.url)),
        PullOfBranch::Absent => "\nhint=the branch has no pull request yet: open one with `gh_pr_create`".to_owned(),
        PullOfBranch::Unknown => String::new(),
    };
    format!("pushed=true branch={} set_upstream={set}{pull}", line(&pushed.branch))
}

/// A run of git: how it ended, and both of its streams.
pub(super) fn run(exit: i32, stdout: &Kept, stderr: &Kept) -> String {
    format!("exit={exit}\n--- stdout ---\n{}\n--- stderr ---\n{}", text(stdout), text(stderr))
}

/// The words of a stream, with a mark where it was cut.
pub(super) fn text(kept: &Kept) -> String {
    let said = String::from_utf8_lossy(whole(kept));
    match kept.is_cut {
        true => format!("{said}\n{MARK} the first {} bytes are shown", kept.bytes.len()),
        false => said.into_owned(),
    }
}

/// A file, unless it is no text.
pub(super) fn file(kept: &Kept) -> String {
    match std::str::from_utf8(whole(kept)) {
        Ok(_) => text(kept),
        Err(error) => format!("[skipped: not UTF-8 text (byte {})]", error.valid_up_to()),
    }
}

/// Without the character that the cut went through.
fn whole(kept: &Kept) -> &[u8] {
    match std::str::from_utf8(&kept.bytes) {
        Err(error) if kept.is_cut && error.error_len().is_none() => &kept.bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => &kept.bytes,
    }
}

fn section(name: &str, body: &str) -> String {
    match body.trim_end() {
        "" => format!("\n## {name}\n"),
        body => format!("\n## {name}\n{body}\n"),
    }
}

/// Lines of strangers, none of which looks like a section.
fn items(lines: &str) -> String {
    lines.lines().map(|text| format!("- {}", line(text))).collect::<Vec<_>>().join("\n")
}

fn staged(status: &Status) -> Vec<String> {
    rows(status.changed.iter().map(|changed| (changed.staged, changed.path.as_path())))
}

fn unstaged(status: &Status) -> Vec<String> {
    rows(status.changed.iter().map(|changed| (changed.unstaged, changed.path.as_path())))
}

fn untracked(status: &Status) -> Vec<String> {
    status.untracked.iter().chain(&status.nested).map(|path| shown(path)).collect()
}

fn rows<'a>(changes: impl Iterator<Item = (State, &'a Path)>) -> Vec<String> {
    changes.filter_map(|(state, path)| Some(format!("{}\t{}", letter(state)?, shown(path)))).collect()
}

fn letter(state: State) -> Option<char> {
    Some(match state {
        State::Same => return None,
        State::Modified => 'M',
        State::TypeChanged => 'T',
        State::Added => 'A',
        State::Deleted => 'D',
        State::Renamed => 'R',
        State::Copied => 'C',
        State::Unmerged => 'U',
    })
}

fn is_prose(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| PROSE.contains(&ending.to_ascii_lowercase().as_str()))
}

fn shown(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// A text on one line.
fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests;
