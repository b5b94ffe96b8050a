//! External MCP servers of a session: started in its cage, kept while its backend lives, called for its agents.

use std::sync::Arc;

use serde_json::Value;

use crate::config::confine::{Hints, McpServer};
use crate::git::Repo;
use crate::id::SessionId;
use crate::permission::{Effect, Level, Posture};
use crate::sandbox::cage::Network;
use crate::sandbox::launch::{self, Process, Spawn};
use crate::sandbox::proxy::{self, Proxy};
use crate::tools::external::{self, CALL_TIMEOUT, External, ExternalTool, Io, Limits};

use super::confine::{self, Scratch, Task};
use super::record::{ChildAccess, Record};
use super::settings::{self, Settings};
use super::shared::Shared;

/// The longest name of a tool: agents put words of their own before it, and have limits for the whole.
const NAME: usize = 48;

/// The servers of one session. They end with this value.
pub(super) struct Servers {
    /// Names what they were started with.
    made_of: String,
    running: Vec<Running>,
}

struct Running {
    external: External,
    hints: Hints,
    _ends: Ends,
}

/// What ends with a server.
struct Ends {
    _process: Process,
    _proxy: Option<Proxy>,
}

impl Servers {
    /// The servers that a session's settings name; those that run go on. What could not be started is told.
    pub(super) async fn of(
        shared: &Arc<Shared>,
        record: &Record,
        repo: &Repo,
        settings: &Settings,
    ) -> (Option<Arc<Self>>, Vec<String>) {
        let wanted = &settings.config.mcp_servers;
        if wanted.is_empty() {
            return (None, Vec::new());
        }
        let writes = may_write(record);
        let made_of = settings::hash(&format!("{wanted:?} {:?} {writes}", settings.config.sandbox));
        if let Some(known) = shared.servers.find(record.id).filter(|known| known.made_of == made_of) {
            return (Some(known), Vec::new());
        }
        let mut servers = Self { made_of, running: Vec::new() };
        let mut warnings = Vec::new();
        for (name, server) in wanted {
            match start(shared, record, repo, settings, name, server).await {
                Ok((external, ends)) => {
                    warnings.extend(external.warnings());
                    servers.running.push(Running { external, hints: server.hints, _ends: ends });
                }
                Err(message) => warnings.push(message),
            }
        }
        let servers = Arc::new(servers);
        shared.servers.keep(record.id, &servers);
        (Some(servers), warnings)
    }

    /// The tools of all of them. What a server says about itself counts only where it is believed.
    pub(super) fn tools(&self) -> Vec<ExternalTool> {
        let told = |running: &Running| {
            let hints = running.hints;
            running.external.tools().into_iter().map(move |tool| match hints {
                Hints::Believed => tool,
                Hints::Ignored => ExternalTool { effect: Effect::Destroys, ..tool },
            })
        };
        self.running.iter().flat_map(told).collect()
    }

    /// Calls a tool; both outcomes are texts for the model.
    pub(super) async fn call(&self, tool: &ExternalTool, arguments: Value) -> Result<String, String> {
        let server = self.running.iter().map(|running| &running.external).find(|known| known.server() == tool.server);
        match server {
            Some(server) => server.call(&tool.tool, arguments, CALL_TIMEOUT).await,
            None => Err(format!("mcp server `{}` is not running", tool.server)),
        }
    }
}

/// Which servers run for which session, as long as somebody uses them.
#[derive(Default)]
pub(super) struct Known(std::sync::Mutex<std::collections::HashMap<SessionId, std::sync::Weak<Servers>>>);

impl Known {
    fn find(&self, session: SessionId) -> Option<Arc<Servers>> {
        self.lock().get(&session)?.upgrade()
    }

    fn keep(&self, session: SessionId, servers: &Arc<Servers>) {
        let mut known = self.lock();
        known.retain(|_, servers| servers.strong_count() > 0);
        known.insert(session, Arc::downgrade(servers));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<SessionId, std::sync::Weak<Servers>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Whether the session may change its work tree at all.
fn may_write(record: &Record) -> bool {
    let is_reader = record.body.child.as_ref().is_some_and(|child| child.access == ChildAccess::ReadOnly);
    !is_reader && record.body.posture.posture() != Posture::Plan
}

async fn start(
    shared: &Shared,
    record: &Record,
    repo: &Repo,
    settings: &Settings,
    name: &str,
    server: &McpServer,
) -> Result<(External, Ends), String> {
    let tree = std::path::PathBuf::from(&record.body.worktree);
    let failed = |what: String| format!("mcp server `{name}` is not there: {what}");
    let sandbox = &settings.config.sandbox;
    let writes = may_write(record).then(|| tree.clone()).into_iter().collect();
    // What agents cached must not run with the keys of the server.
    let task = Task { record, repo, level: sandbox.level, writes, scratch: Scratch::Server(name), env: None };
    let (mut cage, mut env) = confine::of_command(shared, task).map_err(|error| failed(error.to_string()))?;
    let mut proxy = None;
    if let Some(cage) = &mut cage {
        cage.read.push(tree.clone());
        let program = server.command.first().map(std::path::Path::new).filter(|program| program.is_absolute());
        cage.read.extend(program.map(|program| confine::program_place(program, &env)));
        cage.read.extend(confine::listed(sandbox, &env));
        if sandbox.level == Level::Restricted {
            let listening = proxy::start(sandbox.hosts.clone()).await.map_err(|error| failed(error.to_string()))?;
            cage.network = Network::Ports(vec![listening.port()]);
            env.extend(confine::through_proxy(listening.port()));
            proxy = Some(listening);
        }
    }
    env.insert("COPPICE_WORKTREE".to_owned(), tree.to_string_lossy().into_owned());
    let env = env.into_iter().chain(server.env.clone()).collect();
    // Not in the work tree: a program that looks around itself would find what an agent left there.
    let cwd = shared.neutral_dir();
    std::fs::create_dir_all(&cwd).map_err(|error| failed(error.to_string()))?;
    let (executable, argv, worktree) = (shared.executable.clone(), server.command.clone(), Some(tree));
    let spawn = Spawn { executable, argv, env, cwd, cage, worktree };
    let supervised = launch::spawn(spawn).await.map_err(|error| failed(error.to_string()))?;
    let launch::Supervised { stdin, stdout, stderr, process } = supervised;
    // What it says beside the protocol is nobody's; a full pipe would stop it.
    tokio::spawn(async move {
        let mut stderr = stderr;
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await.ok();
    });
    let io = Io { stdin: Box::new(stdin), stdout: Box::new(stdout) };
    match external::connect(name, io, Limits { name: NAME, ..Limits::default() }).await {
        Ok(external) => Ok((external, Ends { _process: process, _proxy: proxy })),
        Err(error) => Err(failed(format!("{error}; {}", error.hint()))),
    }
}
