//! A conversation opened or continued, and the prompt that fits what it knows.

use std::path::Path;

use crate::api::session::TurnState;
use crate::backend::event::{Event as BackendEvent, Started};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{self, Instructions, Reader, Reasoning, Rules, Spec};
use crate::backend::{Conversation, Launch, Purpose};
use crate::git::Worktree;
use crate::protocol;
use crate::protocol::prompt::{self, Delivery, Note, PastTurn, Place, Profile, Request, Transcript, TurnEnd};

use super::super::fault::Fault;
use super::super::record::{ConversationRecord, PromptBody, Record, TurnBody};
use super::super::settings::{self, Settings};
use super::super::shared::Shared;
use super::super::{clock, image};
use super::{Prepared, environment, failure};

/// How much of the past is told to a backend that lost it, in bytes.
const REPLAY_LIMIT: usize = 64 * 1024;

/// How much of an instruction file is handed over, in bytes.
const INSTRUCTIONS_LIMIT: usize = 32 * 1024;

/// Opens or continues the conversation and builds the prompt that fits what it knows.
pub(super) async fn converse(
    shared: &Shared,
    record: &Record,
    settings: &Settings,
    tree: &Worktree,
    task: &PromptBody,
    open: Option<Conversation>,
) -> Result<Prepared, Failure> {
    let registry = shared.settings.registry(&settings.config);
    let spec = registry.get(&record.body.backend).cloned().ok_or_else(|| {
        let message = format!("backend `{}` is not configured any more", record.body.backend);
        Failure::new(FailureKind::Setup, message)
    })?;
    let marker = settings::hash(&prompt::preamble(Profile::SessionTurn));
    let known = record.body.conversation.as_ref().filter(|known| known.marker == marker);
    let (conversation, id, exec_at, has_context) = match (open, known) {
        (Some(open), Some(known)) => (open, known.id.clone(), clock::now(), true),
        (Some(_) | None, known) => {
            let resume = known.map(|known| known.id.clone());
            let (conversation, started) = launch(shared, record, spec.clone(), tree, resume).await?;
            let Started { conversation: id, restored, exec_at_ms, .. } = started;
            (conversation, id, exec_at_ms, restored)
        }
    };
    let transcript = match has_context {
        true => None,
        false => Some(transcript(shared, record).await.map_err(failure)?).filter(|past| !past.turns.is_empty()),
    };
    let (name, delivery) = match &transcript {
        None if has_context => ("delta_only", Delivery::DeltaOnly),
        None => ("bootstrap_full", Delivery::BootstrapFull),
        Some(transcript) => {
            ("bootstrap_with_replay", Delivery::BootstrapWithReplay { transcript, limit: REPLAY_LIMIT })
        }
    };
    let body = &record.body;
    let undone = body.undone.map(|(first, last)| Note::Undone { first, last });
    let interrupted = body.interrupted.map(|turn| Note::Interrupted { turn });
    let notes: Vec<_> = undone.into_iter().chain(interrupted).collect();
    let request = if body.turns == 0 { Request::SessionStart } else { Request::SessionResume };
    let before = prompt::render(request.profile(), place(spec.rules), delivery, &notes, "");
    let images = image::load(shared.images_dir(record.id), &task.images).await.map_err(failure)?;
    let blocks = image::blocks(&before, &task.text, images);
    let conversation_record = ConversationRecord { id, marker };
    Ok(Prepared { conversation, conversation_record, exec_at, delivery: name, blocks })
}

async fn launch(
    shared: &Shared,
    record: &Record,
    spec: Spec,
    tree: &Worktree,
    resume: Option<String>,
) -> Result<(Conversation, Started), Failure> {
    let env = environment(shared, record);
    let path = env.get("PATH").map(std::ffi::OsString::from);
    let program = spec::resolve(&spec, path.as_deref(), &tree.path)
        .map_err(|error| Failure::new(FailureKind::Setup, error.to_string()))?;
    let state_dir = shared.state_dir(record.id, &spec.name);
    let neutral_dir = shared.neutral_dir();
    for path in [&state_dir, &neutral_dir] {
        std::fs::create_dir_all(path)
            .map_err(|source| failure(Fault::File { act: "create", path: path.clone(), source }))?;
    }
    let mut argv = spec.command.clone();
    if let Some(first) = argv.first_mut() {
        *first = program.to_string_lossy().into_owned();
    }
    let rules = match spec.rules {
        Rules::InSystem => Some(prompt::preamble(Profile::SessionTurn)),
        Rules::InPrompt => None,
    };
    let mut conversation = shared.backends.start(Launch {
        argv,
        cwd: tree.path.clone(),
        env: env.into_iter().collect(),
        purpose: Purpose::Session,
        resume,
        model: record.body.model.as_deref().map(|model| spec.models.current(model).to_owned()),
        reasoning: record.body.reasoning.as_deref().and_then(Reasoning::parse),
        mode: None,
        rules,
        instructions: instructions(&spec.instructions, tree),
        schema: spec.schema.map(protocol::transport_schema),
        roots: tree.repo.checkout().map(Path::to_owned).into_iter().collect(),
        tools: Vec::new(),
        state_dir,
        neutral_dir,
        spawn: shared.spawner.clone(),
        spec,
    });
    loop {
        match conversation.events.recv().await {
            Some(BackendEvent::Started(started)) => return Ok((conversation, started)),
            Some(BackendEvent::Failed(failure)) => return Err(failure),
            Some(BackendEvent::Exited { stderr_tail, .. }) => {
                let message = format!("the backend ended before it was ready: {}", stderr_tail.trim_end());
                return Err(Failure::new(FailureKind::Crashed, message));
            }
            // Nothing else means anything before the start.
            Some(_) => {}
            None => return Err(Failure::new(FailureKind::Crashed, "the backend ended before it was ready")),
        }
    }
}

fn place(rules: Rules) -> Place {
    match rules {
        Rules::InPrompt => Place::InPrompt,
        Rules::InSystem => Place::Beside,
    }
}

/// The project's instructions, where the backend does not look for them itself. A link that leads out of the work tree
/// is not followed: its text would go to the model.
fn instructions(how: &Instructions, tree: &Worktree) -> Option<String> {
    match how.read_by {
        Reader::Agent => None,
        Reader::Coppice => {
            let root = tree.path.canonicalize().ok()?;
            let path = root.join(&how.file).canonicalize().ok().filter(|path| path.starts_with(&root))?;
            let text = std::fs::read(path).ok()?;
            let text = String::from_utf8_lossy(&text[..text.len().min(INSTRUCTIONS_LIMIT)]).into_owned();
            (!text.trim().is_empty()).then_some(text)
        }
    }
}

/// The past of a session for a backend that lost it.
async fn transcript(shared: &Shared, record: &Record) -> Result<Transcript, Fault> {
    let rows = shared.store.turns(record.id).await?;
    let turns: Result<Vec<_>, Fault> = rows
        .iter()
        .map(|row| {
            let TurnBody { state, prompt, images, response, undone, .. } = TurnBody::read(row)?;
            let end = match state {
                _ if undone => TurnEnd::Undone,
                TurnState::Completed => TurnEnd::Completed,
                TurnState::Failed => TurnEnd::Failed,
                TurnState::Interrupted | TurnState::Running => TurnEnd::Interrupted,
            };
            let answer = response.map(|response| response.answer).unwrap_or_default();
            Ok(PastTurn { number: row.number, prompt, images: images.len(), answer, end })
        })
        .collect();
    let summary = record.body.summary.as_ref().map(|summary| summary.session.clone());
    Ok(Transcript { summary, turns: turns? })
}
