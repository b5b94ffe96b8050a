//! A review that a model prepares for a person: the session's changes as a question on the side, and the findings of the
//! answer as drafts among the person's comments.
//!
//! The model gets a text and nothing to work with. What it says is read by `protocol::findings` and held against the files
//! that it was shown; nothing goes to the session's agent before the person sends it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::api::error::Error;
use crate::api::review::{PrepareReview, PreparedReview, Review};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{self, Spec};
use crate::config::Config;
use crate::git::diff::{self, FileChange, Kind, Patch, Target, View};
use crate::git::{GitError, Oid, Repo, Worktree};
use crate::id::SessionId;
use crate::permission::guard::TREE_SECRETS;
use crate::protocol::findings::{ReviewAnswer, read_review};
use crate::protocol::prompt::{self, ReviewedChanges};

use super::Engine;
use super::actor::blocking;
use super::choice::{self, Chosen};
use super::delegate::{PATCH_BYTES, describe_requests, list_files};
use super::fault::Fault;
use super::record::Record;
use super::shared::Shared;
use super::utility::{self, QuestionTerms, Utility};
use super::{clock, prepare, query, review};

/// How long a model may read and think.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// What a person wants to know fits into a few sentences.
const FOCUS_CHARS: usize = 2_000;

/// A longer file has no lines that anybody comments on.
const FILE_BYTES: usize = 1 << 20;

/// The changes as they were when they were read; what comes back is held against exactly these.
struct Changes {
    /// A tree or a commit.
    content: Oid,
    files: Vec<FileChange>,
    patch: Patch,
}

impl Engine {
    /// Has a model prepare the review of a session's changes. Whoever goes away takes the question back.
    pub async fn prepare_review(&self, id: &str, request: PrepareReview) -> Result<Review, Error> {
        self.refuse_while_draining()?;
        let focus = request.focus.map(|focus| focus.trim().to_owned()).filter(|focus| !focus.is_empty());
        if focus.as_ref().is_some_and(|focus| focus.chars().count() > FOCUS_CHARS) {
            return Err(Fault::LongFocus { limit: FOCUS_CHARS }.into());
        }
        let record = self.record(id).await?;
        let (shared, stop) = (self.shared.clone(), self.shared.stop.child_token());
        let _stopped_with_caller = stop.clone().drop_guard();
        // In a task of its own, so that the process that answers is waited for in any case.
        let work = self.shared.tasks.spawn(async move {
            let _going = shared.busy();
            prepare_review(&shared, &record, focus, stop).await
        });
        Ok(work.await.map_err(Fault::from)??)
    }
}

async fn prepare_review(
    shared: &Arc<Shared>,
    record: &Record,
    focus: Option<String>,
    stop: CancellationToken,
) -> Result<Review, Fault> {
    if record.removed_at.is_some() {
        return Err(Fault::Removed { id: record.id });
    }
    let repo = prepare::open_repo(record).await?;
    let changes = read_changes(shared, record, &repo).await?;
    if changes.files.is_empty() {
        return Err(Fault::NothingToReview { id: record.id });
    }
    let task = describe(shared, record, &changes, focus.as_deref()).await;
    let question = question(shared, record, &repo, task, stop).await?;
    let answer = utility::ask(shared, question).await.map_err(|failure| refused(record.id, failure))?.answer;
    if answer.trim().is_empty() {
        let silent = Failure::new(FailureKind::Protocol, "the model has asked something instead of answering");
        return Err(refused(record.id, silent));
    }
    let ReviewAnswer { findings, text } = blocking(move || Ok(read_answer(&repo, &changes, &answer))).await?;
    let prepared = PreparedReview { focus, findings: 0, text, prepared_at: clock::now() };
    review::alter_prepared(shared, record.id, findings, prepared).await
}

async fn read_changes(shared: &Shared, record: &Record, repo: &Repo) -> Result<Changes, Fault> {
    let tree = prepare::tree_of(record, repo)?;
    let from: Oid = record.body.measured_from().parse()?;
    let to = query::whole(record, repo)?;
    let read = move |tree: Worktree| {
        let content = match to {
            Target::WorkTree => diff::work_content(&tree)?,
            Target::Commit(commit) => commit,
        };
        let view = View { paths: &[], without: TREE_SECRETS, limit: PATCH_BYTES };
        let to = Target::Commit(content);
        Ok::<_, GitError>(Changes {
            content,
            files: diff::files(&tree, &from, to)?,
            patch: diff::patch_head(&tree, &from, to, view)?,
        })
    };
    shared.in_stoppable_tree(record.id, &tree, read).await
}

async fn describe(shared: &Shared, record: &Record, changes: &Changes, focus: Option<&str>) -> String {
    let prompts = describe_requests(shared, record).await;
    let mut patch = String::from_utf8_lossy(&changes.patch.kept.bytes).into_owned();
    if changes.patch.kept.is_cut {
        patch += "\n[the rest of the patch is left out]\n";
    }
    for path in &changes.patch.left_out {
        patch += &format!("[left out: {} may hold secrets]\n", path.to_string_lossy());
    }
    prompt::review(ReviewedChanges {
        focus: focus.unwrap_or_default(),
        prompts: &prompts,
        summary: record.body.summary.as_ref().map_or("", |summary| &summary.session),
        files: &list_files(&changes.files),
        patch: &patch,
    })
}

/// The question for the model that reviews by itself, else for the session's own.
async fn question(
    shared: &Shared,
    record: &Record,
    repo: &Repo,
    task: String,
    stop: CancellationToken,
) -> Result<Utility, Fault> {
    let config: Config = shared.settings.session(record, repo).await?.config;
    let registry = shared.settings.registry(&config);
    let env = prepare::captured_environment(shared, record);
    let path = env.get("PATH").map(std::ffi::OsString::from);
    let installed = |spec: &Spec| spec::resolve(spec, path.as_deref(), &shared.neutral_dir()).is_ok();
    let (spec, model) = match &config.workflow.review_model {
        Some(wanted) => {
            let Chosen { spec, model } = choice::choose(&config, &registry, &installed, Some(wanted))?;
            (spec.clone(), model)
        }
        None => {
            let name = &record.body.backend;
            let known = || registry.all().map(|spec| spec.name.clone()).collect();
            let spec =
                registry.get(name).ok_or_else(|| Fault::UnknownBackend { name: name.clone(), known: known() })?;
            (spec.clone(), record.body.model.clone())
        }
    };
    let terms = QuestionTerms { patience: PATIENCE, ..QuestionTerms::new(task, config.repair) };
    Ok(Utility { spec, config, model, reasoning: None, env, terms, stop })
}

/// Reads an answer. A finding is about a line of a changed file that the model could see.
fn read_answer(repo: &Repo, changes: &Changes, answer: &str) -> ReviewAnswer {
    let left_out: BTreeSet<_> = changes.patch.left_out.iter().collect();
    let is_readable =
        |file: &&FileChange| file.kind != Kind::Deleted && file.lines.is_some() && !left_out.contains(&file.path);
    let readable: BTreeSet<&str> =
        changes.files.iter().filter(is_readable).filter_map(|file| file.path.to_str()).collect();
    // Only the last file is held: an answer can name any number of them.
    let mut last = (String::new(), None);
    read_review(answer, |path, line| {
        readable.get(path)?;
        if last.0 != path {
            // What cannot be read has no lines; the finding stays among the words.
            let bytes = repo.file_up_to(&changes.content, path, FILE_BYTES).ok().flatten();
            last = (path.to_owned(), bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        last.1.as_ref()?.lines().nth(index).map(str::to_owned)
    })
}

/// The failure of a question, with advice about a session that has nothing to resume.
fn refused(id: SessionId, failure: Failure) -> Fault {
    let again = format!("`coppice review {id} --focus`");
    let is_of_model = matches!(
        failure.kind,
        FailureKind::Timeout | FailureKind::Protocol | FailureKind::Model | FailureKind::Context | FailureKind::Crashed
    );
    let hint = match is_of_model {
        true => format!(
            "try again with {again}, or name another model: `coppice config set workflow.review_model BACKEND/MODEL`"
        ),
        false => failure.hint.replace("`coppice resume`", &again),
    };
    Fault::NotReviewed(failure.with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_to_do_about_the_review() {
        let id = SessionId::from_random([1, 2, 3, 4, 5]);
        for (kind, expected) in [
            (FailureKind::Auth, "log in with the backend's own command, then run `coppice review ID --focus`"),
            (
                FailureKind::Timeout,
                "try again with `coppice review ID --focus`, or name another model: `coppice config set \
                 workflow.review_model BACKEND/MODEL`",
            ),
        ] {
            let Fault::NotReviewed(failure) = refused(id, Failure::new(kind, "no")) else { panic!("another fault") };
            assert_eq!(failure.hint.replace(id.as_str(), "ID"), expected);
        }
    }
}
