//! A conversation opened or continued, and the prompt that fits what it knows.

use std::sync::Arc;

use tokio::sync::mpsc::error::TryRecvError;

use crate::api::session::TurnState;
use crate::backend::discovery::{Found, Verdict};
use crate::backend::event::{Event as BackendEvent, Started};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::key_helper::KeyHelper;
use crate::backend::spec::{Resume, Rules, Spec, ToolList};
use crate::backend::user_login::UserLogin;
use crate::backend::{self, Access, Conversation};
use crate::config::project_env::ProjectEnv;
use crate::git::Worktree;
use crate::protocol::prompt::{
    self, Delivery, Hearing, Loaded, Note, PastTurn, Place, Profile, Request, Transcript, Turn, TurnEnd,
};

use super::super::agents::role::Role;
use super::super::backends::install_command;
use super::super::confine;
use super::super::fault::Fault;
use super::super::record::{ConversationRecord, EngineRecord, Record, TurnBody};
use super::super::settings::{self, Settings};
use super::super::shared::Shared;
use super::super::{choice, clock, image, plan_mode};
use super::launch::{Start, access, launch};
use super::{Company, Plan, Prepared, Told, captured_environment, environment, failure, unconfigured};

/// How much of the past is told to a backend that lost it, in bytes.
const REPLAY_LIMIT: usize = 64 * 1024;

/// Variables that differ between the terminals of one person and mean nothing to an agent.
const TERMINAL: &[&str] = &["TERM", "COLORTERM"];

/// Opens or continues the conversation and builds the prompt that fits what it knows.
pub(super) async fn converse(
    shared: &Shared,
    plan: Plan,
    role: Role,
    settings: &Settings,
    tree: &Worktree,
    company: Company,
) -> Result<Prepared, Failure> {
    let Plan { record, mut engine, task, open, setup: _ } = plan;
    let registry = shared.settings.registry(&settings.config);
    let spec = registry.get(&engine.backend).cloned().ok_or_else(|| unconfigured(&engine.backend))?;
    // Who comes after another may not be able to think as hard.
    engine.reasoning = choice::possible(&spec, engine.model.as_deref(), engine.reasoning.as_deref());
    let access = access(&role, &record);
    let fingerprint = fingerprint_start(shared, &record, &spec, &settings.config.env).await;
    let wanted = wanted(&role, &engine, confined(&record, settings, tree, &spec.name, access), fingerprint);
    let known = record.body.conversation.as_ref();
    let place = place(spec.rules);
    let reach = confine::reach(shared, &spec, settings.config.sandbox.level);
    let (conversation, conversation_record, exec_at, has_context) = match open.and_then(still_there) {
        Some((open, current)) if goes_on(&current, &wanted, place) => {
            let has_context = known.is_some_and(|known| known.id == current.id);
            let ConversationRecord { id, model, surroundings, .. } = current;
            let current = ConversationRecord { id, model, surroundings, ..wanted };
            (open, current, clock::now(), has_context)
        }
        open => {
            // Two processes must not write to one conversation.
            if let Some((open, _)) = open {
                close(open).await;
            }
            let resume = resumable(known, &wanted, &spec);
            let (conversation, started, surroundings) = {
                let servers = company.servers.as_ref();
                let start = Start { record: &record, engine: &engine, role: &role, settings, tree, servers };
                launch(shared, start, spec, resume.clone()).await?
            };
            let Started { conversation: id, restored, exec_at_ms, model, .. } = started;
            let started = ConversationRecord { id, model, surroundings: Arc::new(surroundings), ..wanted };
            (conversation, started, exec_at_ms, restored && resume.is_some())
        }
    };
    let transcript = match has_context {
        true => None,
        false => Some(transcript(shared, &record).await.map_err(failure)?).filter(|past| !past.turns.is_empty()),
    };
    let (told, delivery) = match &transcript {
        None if has_context => (Told::Everything, Delivery::DeltaOnly),
        None => (Told::Nothing, Delivery::BootstrapFull),
        Some(transcript) => (Told::Replayed, Delivery::BootstrapWithReplay { transcript, limit: REPLAY_LIMIT }),
    };
    let hearing = match known.is_some_and(|known| known.role == conversation_record.role) {
        true => Hearing::Same,
        false => Hearing::Other,
    };
    let body = &record.body;
    let undone = body.undone.map(|(first, last)| Note::Undone { first, last });
    let interrupted = body.interrupted.map(|turn| Note::Interrupted { turn });
    let conflict = (body.base.branch.is_some() && !body.conflicts.is_empty())
        .then(|| Note::Conflict { base: body.base.name.clone(), files: body.conflicts.clone() });
    let notes: Vec<_> = undone
        .into_iter()
        .chain(interrupted)
        .chain(conflict)
        .chain(plan_mode::note(shared, &record, role.planning))
        .collect();
    let words = role.told();
    let mentions = role.find_skill_mentions(&task.text, task.author);
    let skill_texts: Vec<_> = mentions.iter().map(|mention| (&*mention.skill.name, mention.text())).collect();
    let loaded: Vec<_> = skill_texts.iter().map(|(name, text)| Loaded { name, text }).collect();
    let before = prompt::before(&Turn {
        request: if body.turns == 0 { Request::SessionStart } else { Request::SessionResume },
        place,
        delivery,
        role: words.as_role(),
        hearing,
        loaded: &loaded,
        notes: &notes,
        context: task.context.as_deref(),
    });
    let images = image::load(shared.images_dir(record.id), &task.images).await.map_err(failure)?;
    let blocks = image::blocks(&before, &task.text, images);
    let (agent, role) = (Some(role.agent_use()), Box::new(role));
    Ok(Prepared {
        conversation,
        conversation_record,
        exec_at,
        engine,
        role,
        judge: company.judge,
        servers: company.servers,
        reach,
        agent,
        delivery: told,
        blocks,
    })
}

/// What a conversation for this turn would have been told and given; which one it is stays open.
fn wanted(
    role: &Role,
    engine: &EngineRecord,
    confined: String,
    start_fingerprint: Option<String>,
) -> ConversationRecord {
    let words = role.told();
    let definition = [&role.id, role.persona.as_deref().unwrap_or_default(), &role.sha256].join("\n");
    let served: Vec<_> = role.served.iter().map(|tool| format!("{tool:?}")).collect();
    ConversationRecord {
        id: String::new(),
        marker: settings::hash(&prompt::preamble(Profile::SessionTurn)),
        role: settings::hash(&[definition, prompt::beside(&words.as_role())].join("\n")),
        served: settings::hash(&served.join("\n")),
        native: settings::hash(&format!("{:?}", role.native)),
        confined,
        engine: engine.clone(),
        start_fingerprint,
        ..ConversationRecord::default()
    }
}

/// Hashes what a process of the session's backend would be started with now: the variables it gets, its command, and
/// whose login and which settings it finds. A key that was replaced needs another process, and so does one of a helper that
/// has had its time.
async fn fingerprint_start(shared: &Shared, record: &Record, spec: &Spec, env: &ProjectEnv) -> Option<String> {
    let project_variables = shared.project_variables(record.id, env);
    let (env, spec) = (captured_environment(shared, record), spec.clone());
    let now = clock::now();
    let hash_start = move || {
        let mut env: Vec<_> = confine::own_keys(env, &spec).into_iter().collect();
        let helper = UserLogin::read(&spec, &env).key_helper;
        let period = helper.map(|helper| (helper.command, KeyHelper::period(&env, now)));
        let login = backend::login::fingerprint_login(&spec, &env);
        env.retain(|(name, _)| !TERMINAL.contains(&name.as_str()));
        settings::hash(&format!("{env:?} {project_variables:?} {:?} {:?} {login} {period:?}", spec.env, spec.command))
    };
    tokio::task::spawn_blocking(hash_start).await.ok()
}

/// Names what a process was started with: another posture or sandbox needs another process, and so do other paths of its
/// backend, and directories that were replaced.
fn confined(record: &Record, settings: &Settings, tree: &Worktree, backend: &str, access: Access) -> String {
    let posture = record.body.posture.posture();
    let (sandbox, servers) = (&settings.config.sandbox, &settings.config.mcp_servers);
    let (places, tokens) = (confine::identify_places(&settings.config, tree), settings.config.env.registry_tokens);
    let paths = settings.config.backends.get(backend).map(|own| &own.paths);
    settings::hash(&format!("{posture:?} {access:?} {sandbox:?} {paths:?} {tokens:?} {servers:?} {places:?}"))
}

/// Whether an open conversation can take the prompt: its process was started with what the turn has. A role that stands
/// in the prompt can be told to it there.
fn goes_on(open: &ConversationRecord, wanted: &ConversationRecord, place: Place) -> bool {
    let has_role = match place {
        Place::InPrompt => true,
        Place::Beside => open.role == wanted.role,
    };
    let given = |record: &ConversationRecord| {
        [&record.marker, &record.served, &record.native, &record.confined].map(Clone::clone)
    };
    has_role
        && open.engine == wanted.engine
        && given(open) == given(wanted)
        && open.start_fingerprint.is_some()
        && open.start_fingerprint == wanted.start_fingerprint
}

/// The conversation to go on with: one with the same backend in which the model has heard the same rules, and which can
/// have the tools of this turn.
fn resumable(known: Option<&ConversationRecord>, wanted: &ConversationRecord, spec: &Spec) -> Option<String> {
    let is_heard =
        |known: &&ConversationRecord| known.engine.backend == wanted.engine.backend && known.marker == wanted.marker;
    let has_tools = |known: &&ConversationRecord| match spec.tool_list {
        ToolList::PerStart => true,
        ToolList::PerConversation => known.served == wanted.served,
    };
    let known = known.filter(is_heard).filter(has_tools)?;
    match spec.resume {
        Resume::Offered => Some(known.id.clone()),
        Resume::Replay => None,
    }
}

/// A conversation whose process has not said its last word. What else it said between the turns concerns none of them.
fn still_there(open: (Conversation, ConversationRecord)) -> Option<(Conversation, ConversationRecord)> {
    let (mut conversation, record) = open;
    loop {
        match conversation.events.try_recv() {
            Ok(BackendEvent::Exited { .. }) | Err(TryRecvError::Disconnected) => return None,
            Ok(_) => {}
            Err(TryRecvError::Empty) => return Some((conversation, record)),
        }
    }
}

/// Ends a conversation and waits until its process is gone.
pub(in super::super) async fn close(conversation: Conversation) {
    let Conversation { commands, mut events } = conversation;
    drop(commands);
    while events.recv().await.is_some() {}
}

/// Looks at the program that a turn needs started.
pub(super) async fn usable(shared: &Shared, plan: &Plan, settings: &Settings) -> Result<(), Failure> {
    let registry = shared.settings.registry(&settings.config);
    match registry.get(&plan.engine.backend) {
        Some(spec) if plan.open.is_none() => look(shared, &plan.record, spec).await,
        Some(_) | None => Ok(()),
    }
}

/// Looks at a session's program: an old one must not see the repository at all.
pub(in super::super) async fn look(shared: &Shared, record: &Record, spec: &Spec) -> Result<(), Failure> {
    let env: Vec<_> = environment(shared, record).into_iter().collect();
    let found = shared.catalog.look(shared, spec, &env).await;
    useless(spec, &found).map_or(Ok(()), Err)
}

/// Why a program cannot be started. One that is missing is told by the start itself.
fn useless(spec: &Spec, found: &Found) -> Option<Failure> {
    let program = found.program.as_ref().map_or_else(|| spec.name.clone(), |path| path.display().to_string());
    let (text, otherwise) = match &found.verdict {
        Verdict::TooOld { found, minimum } => (
            format!("`{program}` {found} is too old: {minimum} or later is needed"),
            "update it the way you installed it, then run `coppice resume`".to_owned(),
        ),
        Verdict::Broken { said } => (
            format!("`{program}` does not tell its version: {said}"),
            format!("run `{program} --version` in a shell until it works, then `coppice resume`"),
        ),
        Verdict::Missing | Verdict::Untested { .. } | Verdict::Good => return None,
    };
    let command = install_command(spec, found);
    let hint = command.map(|command| format!("run `{command}`, then `coppice resume`"));
    Some(Failure::new(FailureKind::Setup, text).with_hint(hint.unwrap_or(otherwise)))
}

fn place(rules: Rules) -> Place {
    match rules {
        Rules::InPrompt => Place::InPrompt,
        Rules::InSystem => Place::Beside,
    }
}

/// The past of a session for a backend that lost it.
async fn transcript(shared: &Shared, record: &Record) -> Result<Transcript, Fault> {
    let rows = shared.turns(record.id).await?;
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

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::backend::event::Usage;
    use crate::backend::registry;
    use crate::backend::spec::Version;

    #[tokio::test]
    async fn a_process_that_ended_between_the_turns_is_not_talked_to() {
        let usage = BackendEvent::Usage(Usage::default());
        let exited = BackendEvent::Exited { status: None, stderr_tail: String::new() };
        for (said, expected) in [(vec![], true), (vec![usage.clone()], true), (vec![usage, exited], false)] {
            let (commands, _commands) = mpsc::channel(1);
            let (sender, events) = mpsc::channel(8);
            for event in said {
                sender.try_send(event).unwrap();
            }
            let open = (Conversation { commands, events }, ConversationRecord::default());
            assert_eq!(still_there(open).is_some(), expected);
        }
    }

    #[test]
    fn a_program_that_is_too_old_or_broken_is_not_started() {
        let agent = registry::from_config("mine", vec!["mine".into()], Vec::new(), Vec::new());
        let spec = Spec { install: Some("npm i mine".into()), ..agent };
        let told = |verdict: Verdict| {
            let found = Found { program: Some("/own/bin/mine".into()), version: None, verdict };
            useless(&spec, &found).map(|Failure { message, hint, .. }| format!("{message} | {hint}"))
        };
        let old = Verdict::TooOld { found: Version(1, 1, 9), minimum: Version(1, 2, 0) };
        let expected = "`/own/bin/mine` 1.1.9 is too old: 1.2.0 or later is needed | update it the way you installed it, then run \
                        `coppice resume`";
        assert_eq!(told(old).as_deref(), Some(expected));
        let broken = Verdict::Broken { said: "no node".into() };
        let expected = "`/own/bin/mine` does not tell its version: no node | run `npm i mine`, then `coppice resume`";
        assert_eq!(told(broken).as_deref(), Some(expected));
        let untested = Verdict::Untested { found: Version(9, 0, 0), tested: Version(1, 0, 0) };
        for fine in [untested, Verdict::Good, Verdict::Missing] {
            assert_eq!(told(fine), None);
        }
    }

    fn record(backend: &str, [marker, role, served, native]: [&str; 4]) -> ConversationRecord {
        ConversationRecord {
            id: "1".into(),
            marker: marker.into(),
            role: role.into(),
            served: served.into(),
            native: native.into(),
            confined: String::new(),
            engine: EngineRecord { backend: backend.into(), ..EngineRecord::default() },
            start_fingerprint: Some("start".into()),
            ..ConversationRecord::default()
        }
    }

    #[test]
    fn a_conversation_goes_on_only_where_it_was_heard() {
        let known = record("a", ["rules", "role", "served", "native"]);
        let mine = |tool_list, resume| Spec {
            tool_list,
            resume,
            ..registry::from_config("a", vec!["a".into()], Vec::new(), Vec::new())
        };
        let check = |known: Option<&ConversationRecord>, wanted, tool_list, resume, expected: Option<&str>| {
            assert_eq!(resumable(known, &wanted, &mine(tool_list, resume)).as_deref(), expected);
        };
        let (start, whole) = (ToolList::PerStart, ToolList::PerConversation);
        check(Some(&known), known.clone(), start, Resume::Offered, Some("1"));
        check(Some(&known), record("b", ["rules", "role", "served", "native"]), start, Resume::Offered, None);
        check(Some(&known), record("a", ["other", "role", "served", "native"]), start, Resume::Offered, None);
        check(Some(&known), known.clone(), start, Resume::Replay, None);
        check(None, known.clone(), start, Resume::Offered, None);
        let role = record("a", ["rules", "other", "served", "other"]);
        let tools = record("a", ["rules", "role", "other", "native"]);
        check(Some(&known), role, whole, Resume::Offered, Some("1"));
        check(Some(&known), tools.clone(), start, Resume::Offered, Some("1"));
        check(Some(&known), tools, whole, Resume::Offered, None);
    }

    #[test]
    fn an_open_process_takes_a_turn_only_with_what_it_was_started_with() {
        let open = record("a", ["rules", "role", "served", "native"]);
        for (wanted, in_prompt, beside) in [
            (["rules", "role", "served", "native"], true, true),
            (["rules", "other", "served", "native"], true, false),
            (["rules", "role", "other", "native"], false, false),
            (["rules", "role", "served", "other"], false, false),
            (["other", "role", "served", "native"], false, false),
        ] {
            let wanted = record("a", wanted);
            assert_eq!(goes_on(&open, &wanted, Place::InPrompt), in_prompt, "{wanted:?}");
            assert_eq!(goes_on(&open, &wanted, Place::Beside), beside, "{wanted:?}");
        }
        let wanted = record("b", ["rules", "role", "served", "native"]);
        assert!(!goes_on(&open, &wanted, Place::InPrompt));
        // Another key, and a process whose login was refused.
        let started = |fingerprint: Option<&str>| ConversationRecord {
            start_fingerprint: fingerprint.map(str::to_owned),
            ..open.clone()
        };
        for (before, now, expected) in
            [(Some("a"), Some("a"), true), (Some("a"), Some("b"), false), (None, Some("a"), false), (None, None, false)]
        {
            assert_eq!(goes_on(&started(before), &started(now), Place::Beside), expected, "{before:?} {now:?}");
        }
    }
}
