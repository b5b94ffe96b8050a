//! Whole conversations with an agent on in-memory pipes that speaks like Gemini CLI.

use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
use tokio::sync::oneshot;

use super::*;
use crate::backend::event::Block;
use crate::backend::transport::spawn::{Child, Control, Exit, Needs, Signal, Spawner};
use crate::backend::{Backends, Confines, Conversation, Limits};

/// Answers every request with what a rule says, keeps what it was started with, and ends with its input.
struct Agent {
    started: Arc<Mutex<Vec<SpawnRequest>>>,
    asked: Arc<Mutex<Vec<Value>>>,
    rule: fn(&Value) -> Value,
}

struct Deaf;

impl Control for Deaf {
    fn signal(&mut self, _: Signal) {}
}

impl Spawner for Agent {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        self.started.lock().unwrap().push(request);
        let (stdin, agent_stdin) = duplex(64 * 1024);
        let (stdout, mut agent_stdout) = duplex(64 * 1024);
        let (exit, exited) = oneshot::channel();
        let (asked, rule) = (Arc::clone(&self.asked), self.rule);
        tokio::spawn(async move {
            let mut lines = BufReader::new(agent_stdin).lines();
            while let Some(line) = lines.next_line().await.unwrap() {
                let message: Value = serde_json::from_str(&line).unwrap();
                let mut reply = rule(&message);
                reply["id"] = message["id"].clone();
                asked.lock().unwrap().push(message);
                agent_stdout.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
            }
            exit.send(Exit::Code(0)).ok();
        });
        let child = Child {
            pid: None,
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(tokio::io::empty()),
            exec_at_ms: 0,
            exit: exited.map(|exit| exit.unwrap_or(Exit::Lost("lost".to_owned()))).boxed(),
            control: Box::new(Deaf),
        };
        async { Ok(child) }.boxed()
    }
}

struct Stage {
    dir: TempDir,
    agent: Arc<Agent>,
}

impl Stage {
    fn new(rule: fn(&Value) -> Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["tree", "state", "neutral", "user"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir, agent: Arc::new(Agent { started: Arc::default(), asked: Arc::default(), rule }) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self, purpose: Purpose, resume: Option<&str>) -> Conversation {
        self.launch(self.wanted(purpose, resume))
    }

    fn launch(&self, launch: Launch) -> Conversation {
        Backends::default().start(launch)
    }

    fn wanted(&self, purpose: Purpose, resume: Option<&str>) -> Launch {
        let spec = spec();
        Launch {
            argv: spec.command.clone(),
            spec,
            cwd: self.path("tree"),
            env: vec![pair("HOME", self.path("user").to_str().unwrap()), pair("GEMINI_API_KEY", "k")],
            purpose,
            resume: resume.map(str::to_owned),
            neutral_dir: self.path("neutral"),
            ..Launch::bare(self.path("state"), Arc::clone(&self.agent) as Arc<dyn Spawner>)
        }
    }

    fn asked(&self) -> Vec<Value> {
        self.agent.asked.lock().unwrap().clone()
    }

    fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|message| message["method"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn opens(message: &Value) -> Value {
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}),
        "session/new" => json!({"result": {"sessionId": "fresh"}}),
        _ => json!({"result": {}}),
    }
}

/// A service that takes no history it did not write.
fn refuses_history(message: &Value) -> Value {
    match message["method"].as_str() {
        Some("session/prompt") => json!({"error": {"code": 400, "message": "calls and responses do not match"}}),
        Some(_) | None => opens(message),
    }
}

async fn started(conversation: &mut Conversation) -> (String, bool) {
    match conversation.events.recv().await {
        Some(Event::Started(started)) => (started.conversation, started.restored),
        other => panic!("{other:?}"),
    }
}

async fn rest(Conversation { commands, mut events }: Conversation) -> Vec<Event> {
    drop(commands);
    let mut all = Vec::new();
    while let Some(event) = events.recv().await {
        all.push(event);
    }
    all
}

#[tokio::test]
async fn the_process_stands_in_the_neutral_directory_and_the_session_in_the_work_tree() {
    let stage = Stage::new(opens);
    let mut conversation = stage.start(Purpose::Session, None);
    assert_eq!(started(&mut conversation).await, ("fresh".to_owned(), false));
    rest(conversation).await;
    let request = stage.agent.started.lock().unwrap()[0].clone();
    let home = stage.path("state").join("gemini");
    assert_eq!(request.cwd, stage.path("neutral"));
    assert_eq!(request.argv[..3], ["gemini", "--acp", "--policy"]);
    assert!(request.env.contains(&pair("GEMINI_CLI_HOME", home.to_str().unwrap())));
    assert_eq!(stage.asked()[1]["params"]["cwd"], stage.path("tree").to_str().unwrap());
    assert_eq!(stage.methods(), ["initialize", "session/new"]);
    assert!(home.join(".gemini/settings.json").is_file());
}

#[tokio::test]
async fn a_plan_is_written_where_the_cli_was_told_and_by_nothing_but_edits() {
    let stage = Stage::new(opens);
    let plan = stage.path("plans/plan.md");
    let mut conversation = stage.launch(Launch {
        posture: Posture::Plan,
        plan_file: Some(plan.clone()),
        ..stage.wanted(Purpose::Session, None)
    });
    started(&mut conversation).await;
    rest(conversation).await;
    let request = stage.agent.started.lock().unwrap()[0].clone();
    let last: Vec<&str> = request.argv.iter().rev().take(4).rev().map(String::as_str).collect();
    let dir = plan.parent().unwrap().to_str().unwrap();
    assert_eq!(last, ["--approval-mode", "default", "--include-directories", dir]);
    let rules = fs::read_to_string(stage.path("state/gemini/policy.toml")).unwrap();
    assert!(rules.contains("write_file") && !rules.contains("run_shell_command"), "{rules}");
}

#[tokio::test]
async fn a_confined_process_reaches_the_neutral_directory_and_the_files_of_its_login() {
    let stage = Stage::new(opens);
    fs::create_dir(stage.path("user/.gemini")).unwrap();
    let creds = stage.path("user/.gemini/oauth_creds.json");
    fs::write(&creds, "{}").unwrap();
    let env = vec![pair("HOME", stage.path("user").to_str().unwrap())];
    let temp = Some(stage.path("temp"));
    let mut conversation = stage.launch(Launch {
        env,
        confines: Confines { limits: Some(Limits::default()), temp },
        ..stage.wanted(Purpose::Session, None)
    });
    started(&mut conversation).await;
    rest(conversation).await;
    let request = stage.agent.started.lock().unwrap()[0].clone();
    assert_eq!(request.needs, Needs { read: vec![stage.path("neutral")], write: vec![creds] });
    assert!(request.env.contains(&pair("TMPDIR", stage.path("temp").to_str().unwrap())));
}

#[tokio::test]
async fn a_side_question_leaves_nothing_behind() {
    let stage = Stage::new(opens);
    for purpose in [Purpose::Utility, Purpose::Survey] {
        let mut conversation = stage.start(purpose, Some("old"));
        assert_eq!(started(&mut conversation).await, ("fresh".to_owned(), false));
        rest(conversation).await;
    }
    assert_eq!(stage.asked()[1]["params"]["cwd"], stage.path("neutral").to_str().unwrap());
    assert_eq!(fs::read_dir(stage.path("state")).unwrap().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_history_that_the_service_refuses_is_not_restored_again() {
    let stage = Stage::new(refuses_history);
    let mut conversation = stage.start(Purpose::Session, Some("old"));
    assert_eq!(started(&mut conversation).await, ("old".to_owned(), true));
    let blocks = vec![Block::Text("go".to_owned())];
    conversation.commands.send(Command::Prompt { blocks }).await.unwrap();
    let failed = conversation.events.recv().await;
    assert!(matches!(&failed, Some(Event::Failed(failure)) if failure.hint.contains("begins afresh")), "{failed:?}");
    assert!(matches!(rest(conversation).await.as_slice(), [Event::Exited { .. }]));
    let mut conversation = stage.start(Purpose::Session, Some("old"));
    assert_eq!(started(&mut conversation).await, ("fresh".to_owned(), false));
    rest(conversation).await;
    let expected = ["initialize", "session/load", "session/prompt", "initialize", "session/new"];
    assert_eq!(stage.methods(), expected);
}

#[tokio::test]
async fn a_home_that_cannot_be_made_is_told() {
    let stage = Stage::new(opens);
    fs::create_dir_all(stage.path("state/gemini/policy.toml")).unwrap();
    let events = rest(stage.start(Purpose::Session, None)).await;
    let [Event::Failed(failure), Event::Exited { .. }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(failure.kind, FailureKind::Setup);
    assert!(failure.message.starts_with("failed to write `"), "{}", failure.message);
}
