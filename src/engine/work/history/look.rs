//! What a session's history says, in words for a model. Nothing here changes anything.

use crate::git::diff::{self, Target, View};
use crate::git::look::{self, Shown};
use crate::git::{Oid, Worktree, status};
use crate::permission::guard::TREE_SECRETS;
use crate::tools::history::style::SUBJECTS;
use crate::tools::history::{Look, STDOUT_LIMIT, Span};

use super::{all_at, at, failed, say};

/// How much of the patch a commit message is written from.
const CONTEXT_DIFF: usize = 64 * 1024;

/// How many commits of the session are listed for it.
const CONTEXT_COMMITS: u32 = 50;

/// Performs a call; blocks.
pub(super) fn look(tree: &Worktree, asked: Look, floor: &Oid) -> Result<String, String> {
    let revision = |text: &str| look::revision(tree, text).map_err(failed);
    match asked {
        Look::Changed(parts) => Ok(say::changed(&status::read(tree).map_err(failed)?, parts)),
        Look::BranchStatus => Ok(say::standing(&look::standing(tree).map_err(failed)?)),
        Look::Show { path, rev } => {
            let place = at(tree, &path)?;
            match look::show(&tree.repo, &revision(&rev)?, &place, STDOUT_LIMIT).map_err(failed)? {
                Shown::File(kept) => Ok(say::file(&kept)),
                Shown::Directory => Err(format!("`{path}` is a directory at `{rev}`: give a file")),
                Shown::Nested => Err(format!("`{path}` is a repository of its own at `{rev}`")),
                Shown::Absent => Err(format!("`{path}` does not exist at `{rev}`")),
            }
        }
        Look::Diff { span, paths } => {
            let paths = all_at(tree, &paths)?;
            let (from, to) = match span {
                Span::Uncommitted => (revision("HEAD")?, Target::WorkTree),
                Span::Since(base) => (revision(&base)?, Target::WorkTree),
                Span::Between { base, head } => (revision(&base)?, Target::Commit(revision(&head)?)),
            };
            let view = View { paths: &paths, without: TREE_SECRETS, limit: STDOUT_LIMIT };
            Ok(say::patch(&diff::patch_head(tree, &from, to, view).map_err(failed)?))
        }
        Look::Log { path, limit } => {
            let found = look::log(tree, &revision("HEAD")?, &at(tree, &path)?, limit).map_err(failed)?;
            Ok(if found.is_empty() { format!("no commit has changed `{path}`") } else { found })
        }
        Look::Blame { path, start, end } => {
            let head = revision("HEAD")?;
            let lines = look::blame(tree, &head, &at(tree, &path)?, (start, end), STDOUT_LIMIT);
            Ok(say::text(&lines.map_err(failed)?))
        }
        Look::MergeBase { base, head } => {
            let found = look::merge_base(&tree.repo, &revision(&base)?, &revision(&head)?).map_err(failed)?;
            found.map(|oid| oid.to_string()).ok_or_else(|| format!("`{base}` and `{head}` have no common history"))
        }
        Look::CommitContext => {
            let head = revision("HEAD")?;
            let count = u32::try_from(SUBJECTS).unwrap_or(u32::MAX);
            let context = || {
                Ok(say::Context {
                    status: status::read(tree)?,
                    diff: diff::staged_head(
                        tree,
                        &head,
                        View { paths: &[], without: TREE_SECRETS, limit: CONTEXT_DIFF },
                    )?,
                    subjects: look::subjects(tree, &head, count)?,
                    commits: look::commits(tree, floor, &head, CONTEXT_COMMITS)?,
                })
            };
            Ok(say::context(&context().map_err(failed)?))
        }
    }
}
