//! Codex at the edge of its backend: a conversation with limits of the test's choosing, and the answers of the engine
//! given by the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use coppice::backend::event::{ApprovalRequest, Block, Command, Decision, Event, ToolStatus};
use coppice::backend::failure::Failure;
use coppice::backend::registry::Registry;
use coppice::backend::transport::spawn::{Child, SpawnRequest, Spawner};
use coppice::backend::{Backends, Confines, Conversation, Hosts, Launch, Limits, Native, Purpose};
use coppice::permission::{Posture, Reach};
use coppice::sandbox::launch::Spawn;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::agent::{Agent, programs};
use crate::edge;
use crate::model::script::{LIMIT, Step};
use crate::stage::Stage;

/// A repository with two work trees, a user with secrets, and the places of one session.
pub(crate) struct Edge {
    // Declared first, so that the processes are gone before the models are.
    runtime: Runtime,
    backends: Backends,
    pub(crate) stage: Stage,
    pids: Arc<Mutex<Vec<u32>>>,
}

/// What came of one turn.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) conversation: String,
    pub(crate) is_restored: bool,
    pub(crate) approvals: Vec<ApprovalRequest>,
    /// The status and the output of every tool, in order.
    pub(crate) outputs: Vec<(ToolStatus, String)>,
    pub(crate) failure: Option<Failure>,
}

impl Edge {
    pub(crate) fn new() -> Self {
        let stage = Stage::new();
        for place in ["data/trees", "data/tmp", "data/plans", "data/neutral", "home/.ssh", "home/.aws"] {
            fs::create_dir_all(stage.path(place)).unwrap();
        }
        for (path, secret) in SECRETS {
            fs::write(stage.path(path), format!("{secret}\n")).unwrap();
        }
        stage.write("README.md", "readme\n");
        stage.commit("readme");
        for name in ["one", "two"] {
            let tree = stage.path("data/trees").join(name);
            stage.git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
        }
        fs::write(stage.path("data/trees/two/draft.txt"), "secret-of-the-other-tree\n").unwrap();
        let runtime = Runtime::new().unwrap();
        Self { runtime, backends: Backends::default(), stage, pids: Arc::default() }
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.stage.path("data/trees/one")
    }

    /// What a session may reach at `workspace`.
    pub(crate) fn limits(&self) -> Limits {
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"].map(PathBuf::from);
        // Where the programs of a test's machine are is not ours to say.
        let path = std::env::var("PATH").unwrap_or_default();
        let node = path.split(':').map(|dir| Path::new(dir).join("node")).find(|node| node.is_file());
        let node = node.and_then(|node| Some(node.canonicalize().ok()?.parent()?.parent()?.to_owned()));
        Limits {
            read: system.into_iter().chain(node).chain([self.stage.repo()]).collect(),
            write: vec![self.tree()],
            hidden: vec![self.stage.path("data"), self.stage.path("home/.ssh")],
            hosts: Hosts::Any,
        }
    }

    pub(crate) fn confined(&self) -> Confines {
        Confines { limits: Some(self.limits()), temp: Some(self.stage.path("data/tmp")) }
    }

    pub(crate) fn launch(&self, posture: Posture, confines: Confines) -> Launch {
        let home = self.stage.path("home").to_str().unwrap().to_owned();
        let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap_or_default());
        let keys = Agent::ALL.map(|agent| agent.key()).map(|(name, key)| (name.to_owned(), key.to_owned()));
        let env = [("HOME", home), ("PATH", path), ("LANG", "C.UTF-8".to_owned()), ("KEPT", "kept".to_owned())];
        let registry = Registry::new(Path::new(env!("CARGO_BIN_EXE_coppice")), Vec::new());
        Launch {
            spec: registry.get("codex").unwrap().clone(),
            argv: vec![Agent::Codex.program().to_str().unwrap().to_owned()],
            cwd: self.tree(),
            env: env.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(keys).collect(),
            purpose: Purpose::Session,
            resume: None,
            model: Some(Agent::Codex.model().to_owned()),
            reasoning: None,
            mode: None,
            rules: None,
            instructions: None,
            schema: None,
            roots: vec![self.stage.repo()],
            project_env: Vec::new(),
            tools: Vec::new(),
            native: Native::default(),
            posture,
            plan_file: None,
            confines,
            state_dir: self.stage.path("data/neutral"),
            login_dir: self.stage.path("data/neutral"),
            neutral_dir: self.stage.path("data/neutral"),
            bridge: Vec::new(),
            spawn: Arc::new(Supervised { pids: Arc::clone(&self.pids) }),
        }
    }

    /// The turn in which the model plays these steps, with an answer to each question.
    pub(crate) fn turn(
        &self,
        launch: Launch,
        steps: impl IntoIterator<Item = Step>,
        decide: impl Fn(&ApprovalRequest) -> Decision,
    ) -> Seen {
        self.stage.model(Agent::Codex).plays(steps);
        self.runtime.block_on(async {
            let conversation = self.backends.start(launch);
            let talk = talk(conversation, decide);
            timeout(LIMIT, talk).await.expect("a turn that ends")
        })
    }

    /// Ends the app-server the hard way; what follows does not know of it.
    pub(crate) fn kill(&mut self) {
        for pid in self.pids.lock().unwrap().drain(..) {
            std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        }
        self.backends = Backends::default();
    }
}

/// Files with content that no command may show, from the root of the test.
const SECRETS: &[(&str, &str)] = &[
    ("home/.ssh/id_ed25519", "secret-of-ssh"),
    ("home/.aws/credentials", "secret-of-aws"),
    ("home/.codex/auth.json", "{\"secret\": \"secret-of-codex\"}"),
    ("home/notes.txt", "secret-of-the-home"),
    ("data/coppice.db", "secret-of-the-data"),
];

/// Allows everything.
pub(crate) fn allow(_: &ApprovalRequest) -> Decision {
    Decision::Once
}

/// Allows what the engine would: files of the tree, and commands that do not ask to leave their sandbox.
pub(crate) fn inside(tree: &Path) -> impl Fn(&ApprovalRequest) -> Decision {
    move |asked| {
        let is_inside = match &asked.reach {
            Reach::Paths(paths) => paths.iter().all(|path| path.starts_with(tree)),
            Reach::Command { .. } => true,
            Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => false,
        };
        if is_inside { Decision::Once } else { Decision::Deny { message: None } }
    }
}

async fn talk(mut conversation: Conversation, decide: impl Fn(&ApprovalRequest) -> Decision) -> Seen {
    let mut seen = Seen::default();
    let prompt = Command::Prompt { blocks: vec![Block::Text("go ahead".to_owned())] };
    conversation.commands.send(prompt).await.unwrap();
    while let Some(event) = conversation.events.recv().await {
        match event {
            Event::Started(started) => {
                seen.conversation = started.conversation;
                seen.is_restored = started.restored;
            }
            Event::Approval(asked) => {
                let decision = decide(&asked);
                let answer = Command::Decide { request: asked.request.clone(), decision };
                seen.approvals.push(asked);
                conversation.commands.send(answer).await.unwrap();
            }
            Event::ToolFinished { status, output, .. } => seen.outputs.push((status, output)),
            Event::Failed(failure) => {
                seen.failure = Some(failure);
                break;
            }
            Event::Final { .. } => break,
            Event::Exited { .. } => break,
            _ => {}
        }
    }
    conversation.commands.send(Command::Close).await.ok();
    while conversation.events.recv().await.is_some() {}
    seen
}

/// Starts processes as the daemon does, and remembers them.
struct Supervised {
    pids: Arc<Mutex<Vec<u32>>>,
}

impl Spawner for Supervised {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        let SpawnRequest { argv, env, cwd, .. } = request;
        let executable = PathBuf::from(env!("CARGO_BIN_EXE_coppice"));
        let (spawn, pids) = (Spawn { executable, argv, env, cwd, cage: None, worktree: None }, Arc::clone(&self.pids));
        async move {
            let child = edge::start(spawn).await?;
            pids.lock().unwrap().extend(child.pid);
            Ok(child)
        }
        .boxed()
    }
}
