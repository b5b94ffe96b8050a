//! A conversation at the backend's own edge: the real program in a cage, no daemon and no engine. What it asks is
//! allowed, or refused with a reason, and written down.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use coppice::backend::event::{ApprovalRequest, Block, Command, Decision, Event};
use coppice::backend::failure::{Failure, FailureKind};
use coppice::backend::registry::Registry;
use coppice::backend::transport::spawn::{Child, Control, Exit, Signal, SpawnRequest, Spawner};
use coppice::backend::{Backends, Confines, Launch, Limits, Native, Purpose};
use coppice::permission::Posture;
use coppice::sandbox::cage::{Cage, Network};
use coppice::sandbox::launch::{self, Spawn, Status, Stop, Stopper};
use futures_util::future::{BoxFuture, FutureExt};

use crate::agent::{Agent, programs};
use crate::stage::Stage;

/// What every program reads.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc"];

/// How a test answers what is asked.
pub(crate) type Answer = fn(&ApprovalRequest) -> Decision;

/// What a turn brought.
pub(crate) struct Turn {
    pub(crate) asked: Vec<ApprovalRequest>,
    pub(crate) end: Result<String, Failure>,
}

impl Turn {
    /// The tools that were asked about, by the program's own names.
    pub(crate) fn tools(&self) -> Vec<&str> {
        self.asked.iter().map(|asked| asked.tool.as_str()).collect()
    }
}

/// A launch of a program in a cage that lets it write its work tree and its own places.
pub(crate) fn launch(stage: &Stage, agent: Agent, posture: Posture) -> Launch {
    let place = |name: &str| {
        let path = stage.path("edge").join(name);
        fs::create_dir_all(&path).unwrap();
        fs::canonicalize(path).unwrap()
    };
    let (tree, state, temp, neutral) = (place("tree"), place("state"), place("temp"), place("neutral"));
    let executable = PathBuf::from(env!("CARGO_BIN_EXE_coppice"));
    let spec = Registry::new(&executable, Vec::new()).get(agent.name()).unwrap().clone();
    let mut argv = spec.command.clone();
    argv[0] = programs().join(agent.name()).to_str().unwrap().to_owned();
    let cage = Cage {
        read: SYSTEM.iter().map(PathBuf::from).collect(),
        write: [&tree, &state, &temp].into_iter().cloned().collect(),
        network: Network::Open,
        ..Cage::default()
    };
    let mut env = stage.variables().to_vec();
    env.push(("HOME".to_owned(), stage.path("home").to_str().unwrap().to_owned()));
    Launch {
        spec,
        argv,
        cwd: tree,
        env,
        purpose: Purpose::Session,
        resume: None,
        model: Some(agent.model().to_owned()),
        reasoning: None,
        mode: None,
        rules: None,
        instructions: None,
        schema: None,
        roots: Vec::new(),
        project_env: Vec::new(),
        tools: Vec::new(),
        native: Native::default(),
        posture,
        plan_file: None,
        confines: Confines { limits: Some(Limits::default()), temp: Some(temp) },
        state_dir: state,
        login_dir: stage.path("edge").join("login").join(agent.name()),
        neutral_dir: neutral,
        bridge: Vec::new(),
        spawn: Arc::new(Caged { executable, cage }),
    }
}

/// Runs one turn of a conversation of its own, from its start to the end of its process.
pub(crate) fn turn(launch: Launch, answer: Answer) -> Turn {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut conversation = Backends::default().start(launch);
        let blocks = vec![Block::Text("go".to_owned())];
        conversation.commands.send(Command::Prompt { blocks }).await.unwrap();
        let mut asked = Vec::new();
        let end = loop {
            match conversation.events.recv().await.expect("a turn ends") {
                Event::Approval(request) => {
                    let decide = Command::Decide { request: request.request.clone(), decision: answer(&request) };
                    conversation.commands.send(decide).await.unwrap();
                    asked.push(request);
                }
                Event::Final { text, .. } => break Ok(text),
                Event::Failed(failure) => break Err(failure),
                _ => {}
            }
        };
        drop(conversation.commands);
        while conversation.events.recv().await.is_some() {}
        Turn { asked, end }
    })
}

pub(crate) fn allow(_: &ApprovalRequest) -> Decision {
    Decision::Once
}

struct Caged {
    executable: PathBuf,
    cage: Cage,
}

impl Spawner for Caged {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        let SpawnRequest { argv, env, cwd, needs } = request;
        let mut cage = self.cage.clone();
        cage.read.extend(needs.read);
        cage.write.extend(needs.write);
        let spawn = Spawn { executable: self.executable.clone(), argv, env, cwd, cage: Some(cage), worktree: None };
        start(spawn).boxed()
    }
}

/// Starts a process as the daemon does.
pub(crate) async fn start(spawn: Spawn) -> Result<Child, Failure> {
    let failed = |error: coppice::sandbox::SandboxError| Failure::new(FailureKind::Sandbox, error.to_string());
    let launch::Supervised { stdin, stdout, stderr, mut process } = launch::spawn(spawn).await.map_err(failed)?;
    let (exec_at_ms, stopper) = (process.exec_at_ms(), process.stopper());
    let pid = u32::try_from(process.pid()).ok();
    let exit = async move {
        match process.wait().await {
            Status::Exited(code) => Exit::Code(code),
            Status::Signalled(signal) => Exit::Signal(signal),
            Status::Lost => Exit::Lost("its supervisor is gone".to_owned()),
        }
    };
    Ok(Child {
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(stderr),
        exec_at_ms,
        pid,
        exit: exit.boxed(),
        control: Box::new(Handle(stopper)),
    })
}

struct Handle(Stopper);

impl Control for Handle {
    fn signal(&mut self, signal: Signal) {
        self.0.stop(match signal {
            Signal::Interrupt => Stop::Int,
            Signal::Terminate => Stop::Term,
            Signal::Kill => Stop::Kill,
        });
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.stop(Stop::Kill);
    }
}
