//! What a reviewer reads before its task: what the work was asked for, which files it changed, and the patch.
//!
//! A child works on a snapshot in which everything is committed, so git alone tells it nothing about the work.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::git::diff::{self, FileChange, Kind, Lines, Patch, Target, View};
use crate::git::{Oid, Repo};
use crate::permission::guard::TREE_SECRETS;

use super::super::fault::Fault;
use super::super::prepare;
use super::super::record::{Record, TurnBody};
use super::super::shared::Shared;
use super::super::work::describe_patch;
use super::text;

/// How much of the patch is shown.
pub(in super::super) const PATCH_BYTES: usize = 64 * 1024;

/// How many of the changed files are listed.
const LISTED_FILES: usize = 200;

/// How much of each prompt is quoted, and of how many, the newest ones.
const PROMPT_CHARS: usize = 2000;
const QUOTED_PROMPTS: usize = 8;

/// Describes what the session has done up to a commit or to its files as they are. What cannot be read is said in its
/// place.
pub(in super::super) async fn describe_work(shared: &Arc<Shared>, session: &Record, repo: &Repo, to: Target) -> String {
    let prompts = describe_requests(shared, session).await;
    let changes = match read_changes(shared, session, repo, to).await {
        Ok((files, patch)) => describe_changes(session.body.measured_from(), &files, &patch),
        Err(fault) => format!(
            "The changes could not be read: {}. Look at them with `git_diff_files` and the base `{}`.",
            text(fault),
            session.body.measured_from()
        ),
    };
    format!("{prompts}\n\n{changes}")
}

/// Describes what the session was asked for.
pub(in super::super) async fn describe_requests(shared: &Shared, session: &Record) -> String {
    match prompts(shared, session).await {
        Ok(prompts) => describe_prompts(&prompts),
        Err(fault) => format!("What the work was asked for could not be read: {}", text(fault)),
    }
}

/// What the session was asked for, oldest first, without what was undone.
async fn prompts(shared: &Shared, session: &Record) -> Result<Vec<String>, Fault> {
    let rows = shared.turns(session.id).await?;
    let turns = rows.iter().map(TurnBody::read).collect::<Result<Vec<_>, _>>()?;
    Ok(turns.into_iter().filter(|turn| !turn.undone).map(|turn| turn.prompt).collect())
}

async fn read_changes(
    shared: &Shared,
    session: &Record,
    repo: &Repo,
    to: Target,
) -> Result<(Vec<FileChange>, Patch), Fault> {
    let tree = prepare::tree_of(session, repo)?;
    let from: Oid = session.body.measured_from().parse()?;
    let read = move |tree| {
        let view = View { paths: &[], without: TREE_SECRETS, limit: PATCH_BYTES };
        Ok((diff::files(&tree, &from, to)?, diff::patch_head(&tree, &from, to, view)?))
    };
    shared.in_stoppable_tree(session.id, &tree, read).await
}

fn describe_prompts(prompts: &[String]) -> String {
    let older = prompts.len().saturating_sub(QUOTED_PROMPTS);
    let mut described = "What the work was asked for, oldest prompt first:".to_owned();
    if older > 0 {
        // Writing to a string does not fail.
        write!(described, "\n[{older} older prompts are left out]").ok();
    }
    for (number, prompt) in prompts.iter().enumerate().skip(older) {
        let prompt = prompt.trim();
        let quoted = match prompt.char_indices().nth(PROMPT_CHARS) {
            Some((end, _)) => format!("{}…[truncated]", &prompt[..end]),
            None => prompt.to_owned(),
        };
        write!(described, "\n{}. {quoted}", number + 1).ok();
    }
    described
}

fn describe_changes(base: &str, files: &[FileChange], patch: &Patch) -> String {
    if files.is_empty() {
        return format!("No file has changed since commit `{base}`, where the work began.");
    }
    let total = diff::total(files);
    let cut = match patch.kept.is_cut {
        true => " `git_diff_files` with that base and `paths` shows the rest.",
        false => "",
    };
    format!(
        "The work under review is everything since commit `{base}`. In your work tree it is committed, so `git status` is \
         clean; to compare, name that commit as the base.{cut}\n\nChanged files ({} files, +{} -{}):\n{}\n\nPatch:\n{}",
        total.files,
        total.insertions,
        total.deletions,
        list_files(files),
        describe_patch(patch),
    )
}

/// A line for each file, up to a number of them.
pub(in super::super) fn list_files(files: &[FileChange]) -> String {
    let listed: Vec<_> = files.iter().take(LISTED_FILES).map(describe_file).collect();
    let rest = match files.len().saturating_sub(LISTED_FILES) {
        0 => String::new(),
        rest => format!("\n…{rest} more"),
    };
    listed.join("\n") + &rest
}

fn describe_file(file: &FileChange) -> String {
    let path = file.path.to_string_lossy();
    let lines = match file.lines {
        Some(Lines { insertions, deletions }) => format!("+{insertions} -{deletions}"),
        None => "binary".to_owned(),
    };
    match &file.kind {
        Kind::Added => format!("A {path} {lines}"),
        Kind::Modified => format!("M {path} {lines}"),
        Kind::Deleted => format!("D {path} {lines}"),
        Kind::TypeChanged => format!("T {path} {lines}"),
        Kind::Renamed { from } => format!("R {} -> {path} {lines}", from.to_string_lossy()),
        Kind::Copied { from } => format!("C {} -> {path} {lines}", from.to_string_lossy()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::git::capture::Kept;

    fn changed(path: &str, kind: Kind, lines: Option<(u64, u64)>) -> FileChange {
        let lines = lines.map(|(insertions, deletions)| Lines { insertions, deletions });
        FileChange { path: path.into(), kind, lines }
    }

    fn patch(text: &str, is_cut: bool, left_out: &[&str]) -> Patch {
        let kept = Kept { bytes: text.into(), is_cut };
        Patch { kept, left_out: left_out.iter().map(PathBuf::from).collect() }
    }

    #[test]
    fn a_reviewer_reads_which_files_changed_and_how() {
        let files = [
            changed("a.rs", Kind::Modified, Some((3, 1))),
            changed("new.rs", Kind::Renamed { from: "old.rs".into() }, Some((0, 0))),
            changed("logo.png", Kind::Added, None),
        ];
        insta::assert_snapshot!(describe_changes("abc", &files, &patch("@@ -1 +1 @@\n", true, &[".env"])), @r"
        The work under review is everything since commit `abc`. In your work tree it is committed, so `git status` is clean; to compare, name that commit as the base. `git_diff_files` with that base and `paths` shows the rest.

        Changed files (3 files, +3 -1):
        M a.rs +3 -1
        R old.rs -> new.rs +0 -0
        A logo.png binary

        Patch:
        @@ -1 +1 @@

        …[truncated] the first 12 bytes are shown[left out: `.env` differs, and is kept from tools that read files]
        ");
        assert_eq!(
            describe_changes("abc", &[], &patch("", false, &[])),
            "No file has changed since commit `abc`, where the work began."
        );
    }

    #[test]
    fn a_long_list_of_files_and_prompts_is_cut_with_a_mark() {
        let files: Vec<_> =
            (0..LISTED_FILES + 3).map(|n| changed(&n.to_string(), Kind::Deleted, Some((0, 1)))).collect();
        let described = describe_changes("abc", &files, &patch("", false, &[]));
        assert!(described.contains("\nD 199 +0 -1\n…3 more\n") && !described.contains("D 200 "), "{described}");

        let prompts: Vec<_> = (1..=QUOTED_PROMPTS + 2).map(|n| format!("{n}é").repeat(PROMPT_CHARS)).collect();
        let described = describe_prompts(&prompts);
        assert!(described.contains("[2 older prompts are left out]\n3. 3é3é"), "{described}");
        assert_eq!(described.matches("…[truncated]").count(), QUOTED_PROMPTS);
        assert!(described.chars().count() < QUOTED_PROMPTS * (PROMPT_CHARS + 40));
        let short = describe_prompts(&[" Parse it. ".to_owned()]);
        assert_eq!(short, "What the work was asked for, oldest prompt first:\n1. Parse it.");
    }
}
