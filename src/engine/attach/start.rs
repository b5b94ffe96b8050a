//! Starting what a person works with: in the cage that a turn of the session gets, with its environment.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::api::attach::Program;
use crate::api::request::Environment;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::interactive::Interactive;
use crate::backend::spec::{ConfinedBy, Spec};
use crate::backend::transport::spawn::{Needs, SpawnRequest};
use crate::git::Worktree;
use crate::permission::Level;
use crate::sandbox::terminal::{OnTerminal, Size};

use super::super::agents::role;
use super::super::confine::{self, Confined, Subject};
use super::super::fault::Fault;
use super::super::prepare::{self, Start};
use super::super::record::{ConversationRecord, Record, Tree};
use super::super::settings::Settings;
use super::super::shared::Shared;
use super::super::spawn::{Kept, Supervised};
use super::Visit;

/// What every system has.
const SHELL: &str = "/bin/sh";

/// A program that runs.
pub(in super::super) struct Running {
    pub(super) name: String,
    pub(super) on: OnTerminal,
    pub(super) kept: Kept,
    pub(super) beside: Option<BoxFuture<'static, ()>>,
    pub(super) after: Option<BoxFuture<'static, ()>>,
}

/// Why nobody can work in a session as it is, found without touching anything.
pub(in super::super) async fn refuse(shared: &Shared, record: &Record, program: Program) -> Result<(), Fault> {
    let id = record.id;
    let turn = || format!("`coppice send {id}` begins a turn");
    match record.body.tree {
        Tree::Ready | Tree::Unprepared => {}
        Tree::Absent | Tree::Away | Tree::Creating => {
            return Err(Fault::Unattachable { id, reason: "it has no worktree".to_owned(), hint: turn() });
        }
    }
    let unready = |reason: String| {
        let hint = format!("`coppice shell {id}` opens a shell in its worktree, {}", turn());
        Err(Fault::Unattachable { id, reason, hint })
    };
    if program == Program::Shell {
        return Ok(());
    }
    let Ground { settings, .. } = Ground::of(shared, record).await?;
    let registry = shared.settings.registry(&settings.config);
    let backend = &record.body.backend;
    match (registry.get(backend), known(record)) {
        (None, _) => unready(format!("backend `{backend}` is not configured any more")),
        (Some(spec), _) if spec.interactive.is_none() => {
            unready(format!("Coppice knows no interface of `{backend}` that goes on with a conversation"))
        }
        (Some(_), None) => unready("its agent has no conversation to go on with".to_owned()),
        (Some(_), Some(_)) => Ok(()),
    }
}

/// The conversation of the session's backend.
fn known(record: &Record) -> Option<&ConversationRecord> {
    record.body.conversation.as_ref().filter(|known| known.engine.backend == record.body.backend)
}

/// Starts the program on a terminal of its own.
pub(in super::super) async fn start(shared: &Arc<Shared>, record: &Record, visit: &Visit) -> Result<Running, Fault> {
    let Ground { settings, tree } = Ground::of(shared, record).await?;
    let tree = prepare::mend_and_note(shared, record, tree).await?;
    let registry = shared.settings.registry(&settings.config);
    let spec = registry.get(&record.body.backend).cloned();
    let spec = spec.ok_or_else(|| Fault::Unstarted(prepare::unconfigured(&record.body.backend)))?;
    let started = match visit.program {
        Program::Agent => agent(shared, record, &settings, &tree, spec, visit.size).await,
        Program::Shell => shell(shared, record, &settings, &tree, spec, visit.size).await,
    };
    started.map_err(Fault::Unstarted)
}

/// Where a session works, and by which settings.
struct Ground {
    settings: Settings,
    tree: Worktree,
}

impl Ground {
    async fn of(shared: &Shared, record: &Record) -> Result<Self, Fault> {
        let repo = prepare::open_repo(record).await?;
        let settings = shared.settings.session(record, &repo).await?;
        Ok(Self { settings, tree: prepare::tree_of(record, &repo)? })
    }
}

/// The agent's own interface, on the conversation of the turns.
async fn agent(
    shared: &Arc<Shared>,
    record: &Record,
    settings: &Settings,
    tree: &Worktree,
    spec: Spec,
    size: Size,
) -> Result<Running, Failure> {
    let known = known(record).ok_or_else(|| Failure::new(FailureKind::Setup, "there is no conversation"))?;
    prepare::look(shared, record, &spec).await?;
    let role = role::resolve(shared, record, &record.body.agent, settings, &spec, Vec::new()).await?;
    let (name, engine) = (spec.name.clone(), record.body.engine());
    let start = Start { record, engine: &engine, role: &role, settings, tree, servers: None };
    let (mut launch, spawn) = prepare::furnished(shared, start, spec, Some(known.id.clone())).await?;
    // The rules ask for answers in a form that is for us; a person is to read these.
    (launch.rules, launch.schema, launch.tools) = (None, None, Vec::new());
    // What was left to the program before may be another model by this time, and a conversation has one.
    launch.model = launch.model.or_else(|| known.model.clone());
    let Interactive { request, beside, after } = shared.backends.interactive(launch).await?;
    open(&spawn, name, request, size, beside, after).await
}

/// The person's shell.
async fn shell(
    shared: &Arc<Shared>,
    record: &Record,
    settings: &Settings,
    tree: &Worktree,
    spec: Spec,
    size: Size,
) -> Result<Running, Failure> {
    let role = role::resolve(shared, record, &record.body.agent, settings, &spec, Vec::new()).await?;
    let access = prepare::access(&role, record);
    // Whoever confines the agent, nobody but us confines a shell.
    let spec = Spec { confined_by: ConfinedBy::Coppice, ..spec };
    let subject =
        Subject { record, settings, spec: &spec, tree, access, role: role.native.access, plan: None, servers: None };
    let env = prepare::environment(shared, record);
    let Confined { confines, env, spawn, .. } = confine::compose(shared, &subject, env).await?;
    let mut env: Environment = confines.tell(env.into_iter().collect(), None).into_iter().collect();
    env.insert("COPPICE_SESSION".to_owned(), record.id.to_string());
    env.insert("COPPICE_WORKTREE".to_owned(), tree.path.display().to_string());
    if settings.config.sandbox.level != Level::Off {
        // It could not be written, and the person's own has no business with what an agent left here.
        env.insert("HISTFILE".to_owned(), String::new());
    }
    let program = program(&env);
    let name = Path::new(&program).file_name().map_or_else(|| program.clone(), |name| name.to_string_lossy().into());
    let needs = Needs { read: vec![program.clone().into()], write: Vec::new() };
    let request = SpawnRequest { argv: vec![program], env: env.into_iter().collect(), cwd: tree.path.clone(), needs };
    open(&spawn, name, request, size, None, None).await
}

/// The shell that the session's environment names.
fn program(env: &Environment) -> String {
    let named = env.get("SHELL").filter(|shell| Path::new(shell).is_absolute() && Path::new(shell).is_file());
    named.cloned().unwrap_or_else(|| SHELL.to_owned())
}

async fn open(
    spawn: &Supervised,
    name: String,
    mut request: SpawnRequest,
    size: Size,
    beside: Option<BoxFuture<'static, ()>>,
    after: Option<BoxFuture<'static, ()>>,
) -> Result<Running, Failure> {
    if !request.env.iter().any(|(name, _)| name == "TERM") {
        request.env.push(("TERM".to_owned(), "xterm-256color".to_owned()));
    }
    let (on, kept) = spawn.on_terminal(request, size).await?;
    Ok(Running { name, on, kept, beside, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_the_persons_where_it_is_there() {
        let env = |shell: &str| Environment::from([("SHELL".to_owned(), shell.to_owned())]);
        for (named, expected) in [("/bin/sh", "/bin/sh"), ("sh", SHELL), ("/nowhere/fish", SHELL), ("/bin", SHELL)] {
            assert_eq!(program(&env(named)), expected, "{named}");
        }
        assert_eq!(program(&Environment::new()), SHELL);
    }
}
