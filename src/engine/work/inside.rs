//! The process inside a session's cage that performs files, commands and pages: started by the first call of a turn that
//! needs it, ended with the turn, and started again where it died.

use std::path::PathBuf;
use std::sync::Arc;

use crate::backend::Access;
use crate::permission::Level;
use crate::sandbox::cage::Network;
use crate::sandbox::launch::{self, Process, Spawn, Stop};
use crate::sandbox::proxy::{self, Proxy};
use crate::tools::Answer;
use crate::tools::inside::{self, Link, Request};

use super::super::confine::{self, Work};
use super::super::delegate::Caller;
use super::super::prepare;
use super::super::shared::Shared;
use super::Bench;

/// What a model is told whose call nobody waits for.
const STOPPED: &str = "the call was stopped";

/// The place of the process of a turn.
#[derive(Default)]
pub(super) enum Place {
    /// No call needed it yet.
    #[default]
    Empty,
    Running(Box<Running>),
    /// The turn is over, and nothing starts any more.
    Ended,
}

/// A running process. It ends with this value, and all that it started.
pub(super) struct Running {
    link: Arc<Link>,
    process: Process,
    _proxy: Option<Proxy>,
}

impl Place {
    /// Ends the process and all that it started, and returns when they are gone.
    pub(super) async fn end(&mut self) {
        if let Self::Running(mut running) = std::mem::replace(self, Self::Ended) {
            running.process.stop(Stop::Kill);
            running.process.wait().await;
        }
    }
}

/// Has a call performed inside the cage.
pub(super) async fn perform(
    shared: &Shared,
    caller: &Caller,
    bench: &Bench,
    request: Request,
) -> Result<Answer, String> {
    let performed = async {
        let link = running(shared, caller, bench).await?;
        link.call(request).await
    };
    tokio::select! {
        outcome = performed => outcome,
        () = caller.cancel.cancelled() => Err(STOPPED.to_owned()),
    }
}

/// The way to the process of this turn.
async fn running(shared: &Shared, caller: &Caller, bench: &Bench) -> Result<Arc<Link>, String> {
    // Held while it starts: calls that come together share one.
    let mut place = bench.inside.lock().await;
    match &*place {
        Place::Running(running) if !running.link.is_over() => return Ok(Arc::clone(&running.link)),
        Place::Empty | Place::Running(_) => {}
        Place::Ended => return Err(STOPPED.to_owned()),
    }
    let started = start(shared, caller).await.map_err(|error| format!("the work tree is out of reach: {error}"))?;
    let link = Arc::clone(&started.link);
    *place = Place::Running(Box::new(started));
    Ok(link)
}

async fn start(shared: &Shared, caller: &Caller) -> Result<Running, String> {
    let Caller { record, role, config, .. } = caller;
    let tree = PathBuf::from(&record.body.worktree);
    let repo = prepare::open_repo(record).await.map_err(|fault| fault.to_string())?;
    let plan = prepare::plan_file(shared, record, role).map_err(|failure| failure.message)?;
    let work = Work { record, repo: &repo, config, access: prepare::access(role, record), plan: plan.as_deref() };
    let (mut cage, mut env) = confine::of_work(shared, &work).map_err(|error| error.to_string())?;
    let mut proxy = None;
    // Whoever only reads reaches what is listed, whatever the level: a page that is asked for tells what was read.
    let is_held = config.sandbox.level == Level::Restricted || role.native.access == Access::ReadOnly;
    if let Some(cage) = cage.as_mut().filter(|_| is_held) {
        let listening = proxy::start(config.sandbox.hosts.clone()).await.map_err(|error| error.to_string())?;
        cage.network = Network::Ports(vec![listening.port()]);
        env.extend(confine::through_proxy(listening.port()));
        proxy = Some(listening);
    }
    // By its path: inside the cage nothing leads from a process to its own program.
    let program = shared.settings.executable.to_string_lossy().into_owned();
    let argv = std::iter::once(program).chain(inside::arguments(&tree, plan.as_deref())).collect();
    let env = env.into_iter().collect();
    let (executable, worktree) = (shared.executable.clone(), Some(tree.clone()));
    let spawn = Spawn { executable, argv, env, cwd: tree, cage, worktree };
    let supervised = launch::spawn(spawn).await.map_err(|error| error.to_string())?;
    let launch::Supervised { stdin, stdout, stderr, process } = supervised;
    // It says nothing beside its answers, and what it runs has streams of its own.
    drop(stderr);
    Ok(Running { link: Arc::new(Link::new(stdin, stdout)), process, _proxy: proxy })
}
