//! Help with a conflict: a model proposes a text for every marked region, and a person accepts the proposal or does not.
//!
//! The question is asked on the side, and changes nothing but the ref that keeps the proposal. The session's own task keeps
//! and applies it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::api::error::Error;
use crate::api::resolution::{ProposedFile, ResolutionProposal, UnproposedFile};
use crate::api::session::Session;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::Reasoning;
use crate::git::diff::{self, Target};
use crate::git::resolution::{self, ConflictSnapshot, SnapshotFile};
use crate::git::{Oid, Worktree};
use crate::permission::guard;
use crate::protocol::prompt::{self, MarkedConflict, MarkedPath};
use crate::protocol::resolution::{FILE_LIMIT, MarkLabels, MarkedFileError, cut_regions, parse_resolution};
use crate::session::{Rest, Session as SessionState};

use super::actor::{Command, blocking};
use super::fault::Fault;
use super::record::{Body, Record};
use super::utility::{self, QuestionTerms, Utility};
use super::{Engine, prepare, view};

/// How much text of marked regions goes into one question, in bytes.
const QUESTION_LIMIT: usize = 128 << 10;

/// How much of a patch is shown.
const PATCH_LIMIT: usize = 4 << 20;

/// How long the model may think.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a person does with a proposal.
#[derive(Debug)]
pub(super) enum ProposalCommand {
    Keep(Oid),
    Accept(String),
}

/// Files with marks that fit into one question, and the others.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selection<'a> {
    files: BTreeMap<PathBuf, MarkedPath<'a>>,
    left_out: Vec<UnproposedFile>,
}

impl Engine {
    /// Asks the session's model for a resolution of all marked regions, and keeps it.
    pub async fn propose_resolution(&self, id: &str) -> Result<ResolutionProposal, Error> {
        self.refuse_while_draining()?;
        Ok(self.propose(id).await?)
    }

    /// Applies a proposal to the files that it was made for.
    pub async fn accept_resolution(&self, id: &str, proposal: String) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Resolution(ProposalCommand::Accept(proposal))).await
    }

    async fn propose(&self, id: &str) -> Result<ResolutionProposal, Fault> {
        let record = self.record(id).await?;
        require_conflict(&record, record.found(), "be resolved")?;
        // A daemon with a question is not idle.
        let _going = self.shared.busy();
        let repo = prepare::open_repo(&record).await?;
        let tree = prepare::tree_of(&record, &repo)?;
        let paths: Vec<PathBuf> = conflict_paths(&record.body);
        let read = move |tree: Worktree| resolution::read_conflict(&tree, &paths, FILE_LIMIT);
        let snapshot = self.shared.in_stoppable_tree(record.id, &tree, read).await?;
        let Selection { files, left_out } = select_files(&snapshot, &record);
        if files.is_empty() {
            return Err(Fault::NothingToPropose { id: record.id, left_out });
        }
        let texts = self.ask_model(&record, &files).await?;
        let mut texts = texts.as_slice();
        let mut proposed = BTreeMap::new();
        for (path, marked) in &files {
            let (own, others) = texts.split_at(marked.file.regions().count().min(texts.len()));
            proposed.insert(path.clone(), marked.file.with_texts(own));
            texts = others;
        }
        let (before, own_tree) = (snapshot.commit, tree.clone());
        let write = move || {
            let proposal = resolution::write_proposal(&own_tree.repo, before, &proposed)?;
            let patch = diff::text_patch(&own_tree, &before, Target::Commit(proposal), PATCH_LIMIT)?;
            Ok((proposal, patch))
        };
        let (proposal, patch) = blocking(write).await?;
        if patch.is_cut {
            // Nobody could see what they agree to.
            let message = format!("the proposed resolution changes more than {} MiB of text", PATCH_LIMIT >> 20);
            return Err(Fault::Unstarted(Failure::new(FailureKind::Protocol, message)));
        }
        let kept = self.tell(record.id, Command::Resolution(ProposalCommand::Keep(proposal))).await;
        kept.map_err(Fault::Answered)?;
        let describe = |marked: &MarkedPath<'_>| ProposedFile {
            path: marked.path.clone(),
            regions: u32::try_from(marked.file.regions().count()).unwrap_or(u32::MAX),
        };
        Ok(ResolutionProposal {
            id: proposal.to_string(),
            session: record.id.to_string(),
            files: files.values().map(describe).collect(),
            left_out,
            patch: String::from_utf8_lossy(&patch.bytes).into_owned(),
        })
    }

    /// One text for each region of the files.
    async fn ask_model(
        &self,
        record: &Record,
        files: &BTreeMap<PathBuf, MarkedPath<'_>>,
    ) -> Result<Vec<String>, Fault> {
        let shared = &self.shared;
        let repo = prepare::open_repo(record).await?;
        let config = shared.settings.session(record, &repo).await?.config;
        let name = &record.body.backend;
        let spec = shared.settings.registry(&config).get(name).cloned();
        let spec = spec.ok_or_else(|| Fault::Unstarted(prepare::unconfigured(name)))?;
        let marked: Vec<_> = files.values().cloned().collect();
        let sizes: Vec<_> = marked.iter().flat_map(|marked| marked.file.regions()).map(|one| one.mark_size).collect();
        let summary = record.body.summary.as_ref().map(|summary| summary.session.as_str()).unwrap_or_default();
        let (title, base) = (record.body.title.as_str(), record.body.base.name.as_str());
        let task = prompt::resolution(MarkedConflict { title, summary, base, files: &marked });
        let asked = sizes.clone();
        let check =
            Box::new(move |answer: &str| parse_resolution(answer, &asked).map(drop).map_err(|error| error.to_string()));
        let terms = QuestionTerms { patience: PATIENCE, check, ..QuestionTerms::new(task, config.repair) };
        let question = Utility {
            model: record.body.model.clone(),
            reasoning: record.body.reasoning.as_deref().and_then(Reasoning::parse),
            env: prepare::captured_environment(shared, record),
            spec,
            config,
            terms,
            stop: shared.stop.clone(),
        };
        let hint = format!("`coppice resolve {}` asks again", record.id);
        // What these say otherwise is about the prompt of a turn.
        let asks_again = |kind: &FailureKind| matches!(kind, FailureKind::Protocol | FailureKind::Timeout);
        let failed = |failure: Failure| match asks_again(&failure.kind) || failure.hint.is_empty() {
            true => Fault::Unstarted(failure.with_hint(hint)),
            false => Fault::Unstarted(failure),
        };
        let answer = utility::ask(shared, question).await.map_err(failed)?.answer;
        // The check has passed.
        Ok(parse_resolution(&answer, &sizes).unwrap_or_default())
    }
}

/// Refuses whatever is not a session at rest in conflict.
pub(super) fn require_conflict(record: &Record, state: SessionState, act: &'static str) -> Result<(), Fault> {
    let id = record.id;
    match state {
        _ if record.removed_at.is_some() => Err(Fault::Removed { id }),
        SessionState::Resting(Rest::Conflict) => Ok(()),
        SessionState::Attached(_) => Err(Fault::Attached { id, act }),
        SessionState::Resting(_) | SessionState::Turning(_) | SessionState::Integrating(_) => {
            let next: Vec<_> = view::next_names(record).iter().map(|name| format!("`coppice {name} {id}`")).collect();
            let hint = Some(format!("possible are {}", next.join(", ")));
            Err(Fault::WrongState { id, status: record.status, act, hint })
        }
    }
}

fn conflict_paths(body: &Body) -> Vec<PathBuf> {
    match body.conflicts.len() == body.conflict_files.len() {
        true => body.conflict_files.iter().map(|file| PathBuf::from(OsStr::from_bytes(&file.path))).collect(),
        // Conflicts with the parent, and those of records without more than names.
        false => body.conflicts.iter().map(PathBuf::from).collect(),
    }
}

/// Cuts the files that can be asked about, as many as fit.
fn select_files<'a>(snapshot: &'a ConflictSnapshot, record: &Record) -> Selection<'a> {
    let ours = format!("refs/heads/{}", record.body.branch);
    let labels = record.body.base.branch.as_deref().map(|theirs| MarkLabels { ours: &ours, theirs });
    let (mut selection, mut room) = (Selection::default(), QUESTION_LIMIT);
    for (path, file) in &snapshot.files {
        let cut = match (file, labels) {
            _ if guard::is_tree_secret(path) => Err("it may hold secrets".to_owned()),
            (SnapshotFile::Content(bytes), Some(labels)) => {
                cut_regions(bytes, labels).map_err(|error| describe_refusal(&error))
            }
            // Between a child and its parent, nothing is written.
            (SnapshotFile::Content(_), None) => Err(MarkedFileError::Unmarked.to_string()),
            (SnapshotFile::TooLarge, _) => Err(MarkedFileError::TooLarge.to_string()),
            (SnapshotFile::Absent, _) => Err("it is deleted".to_owned()),
            (SnapshotFile::Special, _) => Err("it is not a regular file".to_owned()),
        };
        let fitting = cut.and_then(|file| {
            let size: usize = file.regions().map(|region| region.ours.len() + region.theirs.len()).sum();
            room = room.checked_sub(size).ok_or("there is more in conflict than one question holds")?;
            Ok(file)
        });
        let name = path.display().to_string();
        match fitting {
            Ok(file) => drop(selection.files.insert(path.clone(), MarkedPath { path: name, file })),
            Err(reason) => selection.left_out.push(UnproposedFile { path: name, reason }),
        }
    }
    selection
}

fn describe_refusal(error: &MarkedFileError) -> String {
    match error {
        MarkedFileError::Unmarked => {
            format!("{error}: one side deleted it, git cannot merge it by lines, or it is resolved")
        }
        MarkedFileError::TooLarge
        | MarkedFileError::Binary
        | MarkedFileError::BrokenMarks { .. }
        | MarkedFileError::Divided { .. } => error.to_string(),
    }
}
