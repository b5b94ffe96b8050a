//! The tools for git as they are advertised: one for everybody, those that stand in for git in a shell, and those that
//! change history, which are there by consent only.

use serde_json::Value;

use super::super::params::Nothing;
use super::super::schema;
use super::super::served::{Needs, Row};
use super::params;
use crate::permission::Effect;

const fn look(name: &'static str, description: &'static str, schema: fn() -> Value) -> Row {
    Row { name, description, schema, needs: Needs::NoShell, effect: Effect::Reads }
}

const fn change(name: &'static str, effect: Effect, description: &'static str, schema: fn() -> Value) -> Row {
    Row { name, description, schema, needs: Needs::Mutations, effect }
}

pub(in super::super) const ROWS: &[Row] = &[
    Row {
        name: "git_commit_context",
        description: "Everything that a commit message is written from: what is staged with its diff, what is not, how \
                      this repository words its subjects, and the commits of the branch.",
        schema: schema::of::<Nothing>,
        needs: Needs::Nothing,
        effect: Effect::Reads,
    },
    look(
        "list_git_changed_files",
        "List the files that are staged, changed and not staged, or not known to git yet.",
        schema::of::<params::Changed>,
    ),
    look(
        "git_branch_status",
        "Tell the branch, its upstream, how many commits it is ahead and behind, and whether anything is uncommitted.",
        schema::of::<Nothing>,
    ),
    look("git_show_file_at_rev", "Show a file as it is in a commit. At most 1 MiB of it.", schema::of::<params::Show>),
    look(
        "git_diff_files",
        "Show a patch: of everything uncommitted, files that git does not know yet included; with `base`, of everything \
         since that commit; with `base` and `head`, between the two. At most 1 MiB of it.",
        schema::of::<params::Diff>,
    ),
    look(
        "git_log_file",
        "List the commits that changed a file, newest first, across its renames.",
        schema::of::<params::Log>,
    ),
    look(
        "git_blame_lines",
        "Tell for each line of a file, as it is in the work tree, which commit it comes from.",
        schema::of::<params::Blame>,
    ),
    look("git_merge_base", "Find the commit at which two histories part.", schema::of::<params::MergeBase>),
    Row {
        name: "git",
        description: "Run git. Commands that only look run at once, all others are asked about, and so is whatever leads \
                      elsewhere (`-c`, `-C`, `--git-dir`, `--no-index`, `--untracked`), writes a file (`--output`) or \
                      runs a program (`--ext-diff`, `--textconv`); an agent that only reads is refused these. It runs \
                      in the sandbox of the session, where the repository itself cannot be written. The content of \
                      `.env` and `.env.local` is not shown. At most 1 MiB of its output is kept.",
        schema: schema::of::<params::Git>,
        needs: Needs::InsteadInPart,
        effect: Effect::Destroys,
    },
    change(
        "git_stage_files",
        Effect::Adds,
        "Put changes into the next commit: those of the named files, or all.",
        schema::of::<params::Stage>,
    ),
    change(
        "git_unstage_files",
        Effect::Destroys,
        "Take files out of the next commit. Their content stays as it is.",
        schema::of::<params::Unstage>,
    ),
    change(
        "git_create_branch",
        Effect::Adds,
        "Create a branch without switching to it: the session stays on its own. Tells the whole id of the commit that the \
         branch points to.",
        schema::of::<params::CreateBranch>,
    ),
    change(
        "git_commit",
        Effect::Adds,
        "Commit what is staged on the branch of the session. The hooks of the repository run first.",
        schema::of::<params::Commit>,
    ),
    change(
        "git_commit_apply",
        Effect::Adds,
        "Commit what is staged with a message of one line, and tell what is left. The hooks of the repository run first; \
         if one fails, nothing is committed and its output is told.",
        schema::of::<params::CommitApply>,
    ),
    change(
        "git_checkpoint",
        Effect::Adds,
        "Commit every change, files that git does not know yet included, as a point to go back to. No hooks run.",
        schema::of::<params::Checkpoint>,
    ),
    change(
        "rollback",
        Effect::Destroys,
        "Put the branch and the files back to an earlier commit of this session. Everything uncommitted is discarded.",
        schema::of::<params::Rollback>,
    ),
    change(
        "git_push",
        Effect::Adds,
        "Push the branch of the session to its upstream, or to `origin` if it has none. Never by force.",
        schema::of::<Nothing>,
    ),
];
