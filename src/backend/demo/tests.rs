//! The real client and the demo agent on real pipes: the agent runs on a thread where a process would be.

mod served;

use std::fs;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::{Options, Restore, agent};
use crate::backend::event::{Block, Command, Decision, Event, Image, PlanStatus, Started, ToolStatus};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::transport::spawn::{Child, Control, Exit, Signal, SpawnRequest, Spawner};
use crate::backend::{Backends, Conversation, Launch, acp, registry};
use crate::permission::Reach;

/// A work tree and the agent's state, which outlive its processes.
struct Stage {
    tree: TempDir,
    state: TempDir,
}

struct Threads(Options);

struct Deaf;

impl Control for Deaf {
    fn signal(&mut self, _: Signal) {}
}

impl Spawner for Threads {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        let (agent_input, stdin) = io::pipe().unwrap();
        let (stdout, agent_output) = io::pipe().unwrap();
        let (exit, exited) = oneshot::channel();
        let value = |name: &str| request.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let options = Options { native: acp::native::read(value), ..self.0.clone() };
        thread::spawn(move || {
            let code = agent::serve(BufReader::new(agent_input), agent_output, options);
            exit.send(Exit::Code(code.into())).ok();
        });
        let child = Child {
            stdin: Box::new(pipe::Sender::from_owned_fd(OwnedFd::from(stdin)).unwrap()),
            stdout: Box::new(pipe::Receiver::from_owned_fd(OwnedFd::from(stdout)).unwrap()),
            stderr: Box::new(tokio::io::empty()),
            exec_at_ms: 0,
            pid: None,
            exit: exited.map(|exit| exit.unwrap_or(Exit::Lost("panicked".to_owned()))).boxed(),
            control: Box::new(Deaf),
        };
        async { Ok(child) }.boxed()
    }
}

/// One conversation as a test sees it.
struct Talk {
    conversation: Conversation,
    started: Started,
}

/// Everything a turn brought, its end apart.
struct Turn {
    events: Vec<Event>,
    end: Result<String, Failure>,
}

impl Stage {
    fn new() -> Self {
        Self { tree: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() }
    }

    async fn open(&self, resume: Option<&str>) -> Talk {
        self.open_with(resume, Restore::Offered).await
    }

    async fn open_with(&self, resume: Option<&str>, restore: Restore) -> Talk {
        let options = Options { restore, ..Options::default() };
        self.launch(options, |launch| Launch { resume: resume.map(str::to_owned), ..launch }).await
    }

    async fn launch(&self, options: Options, change: impl FnOnce(Launch) -> Launch) -> Talk {
        let options = Options { state: Some(self.state.path().to_owned()), ..options };
        let mut conversation = Backends::default().start(change(Launch {
            spec: registry::demo(Path::new("coppice")),
            cwd: self.tree.path().to_owned(),
            model: Some("scripted".to_owned()),
            ..Launch::bare(PathBuf::new(), Arc::new(Threads(options)))
        }));
        match conversation.events.recv().await {
            Some(Event::Started(started)) => Talk { conversation, started },
            other => panic!("{other:?}"),
        }
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.tree.path().join(path)).ok()
    }

    /// Plays one script in a conversation of its own.
    async fn play(&self, script: &str) -> Turn {
        self.open(None).await.turn(script).await
    }
}

impl Talk {
    async fn command(&self, command: Command) {
        self.conversation.commands.send(command).await.unwrap();
    }

    async fn prompt(&self, text: &str) {
        self.command(Command::Prompt { blocks: vec![Block::Text(text.to_owned())] }).await;
    }

    /// The events up to the one that is waited for.
    async fn until(&mut self, is_wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.conversation.events.recv().await.expect("the conversation is over");
            events.push(event);
            if events.last().is_some_and(&is_wanted) {
                return events;
            }
        }
    }

    async fn end(&mut self) -> Turn {
        let mut events = self.until(|event| matches!(event, Event::Final { .. } | Event::Failed(_))).await;
        match events.pop() {
            Some(Event::Final { text, .. }) => Turn { events, end: Ok(text) },
            Some(Event::Failed(failure)) => Turn { events, end: Err(failure) },
            other => panic!("{other:?}"),
        }
    }

    async fn turn(&mut self, prompt: &str) -> Turn {
        self.prompt(prompt).await;
        self.end().await
    }

    async fn approval(&mut self) -> String {
        match self.until(|event| matches!(event, Event::Approval(_))).await.pop() {
            Some(Event::Approval(asked)) => asked.request,
            other => panic!("{other:?}"),
        }
    }

    async fn close(mut self) -> String {
        self.command(Command::Close).await;
        match self.until(|event| matches!(event, Event::Exited { .. })).await.pop() {
            Some(Event::Exited { status, .. }) => status.unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

impl Turn {
    #[track_caller]
    fn response(&self) -> Value {
        let text = self.end.as_ref().expect("the turn failed");
        serde_json::from_str(&text[text.find('{').expect("no object in the last message")..]).unwrap()
    }

    #[track_caller]
    fn answer(&self) -> String {
        self.response()["answer"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn failure(&self) -> (&'static str, &str) {
        let failure = self.end.as_ref().expect_err("the turn did not fail");
        (failure.kind.as_str(), failure.message.as_str())
    }

    fn outputs(&self) -> Vec<(ToolStatus, &str)> {
        let finished = self.events.iter().filter_map(|event| match event {
            Event::ToolFinished { status, output, .. } => Some((*status, output.as_str())),
            _ => None,
        });
        finished.collect()
    }
}

#[tokio::test]
async fn a_script_is_played_and_its_edits_are_real() {
    let stage = Stage::new();
    fs::write(stage.tree.path().join("old.txt"), "old\n").unwrap();
    let turn = stage
        .play(
            "Rules.\n\n---\n\nPlease.\n@think first\n@plan look | edit\n@say On it.\n@write src/a.txt <<END\none\n---\nEND\n\
             @append src/a.txt two\n@delete old.txt\n@write ../out no\n@run cat src/a.txt; echo oops >&2; exit 4\n\
             @answer done\n@summary Add a || Adds a file\n@usage 30 4",
        )
        .await;
    assert_eq!(stage.read("src/a.txt").as_deref(), Some("one\n---\ntwo\n"));
    assert_eq!(stage.read("old.txt"), None);
    assert_eq!(
        turn.outputs(),
        [
            (ToolStatus::Completed, "src/a.txt:1\n+one\n+---"),
            (ToolStatus::Completed, "src/a.txt:3\n+two"),
            (ToolStatus::Completed, "old.txt:1\n-old"),
            (ToolStatus::Failed, "`../out` is outside the work tree"),
            (ToolStatus::Failed, "one\n---\ntwo\noops\n[exit status: 4]"),
        ]
    );
    let summary = json!({"turn": "Add a", "session": "Adds a file"});
    assert_eq!(turn.response(), json!({"answer": "done", "summary": summary}));
    assert!(turn.events.iter().any(|event| matches!(event, Event::Usage(usage) if usage.input_tokens == Some(30))));
    assert!(turn.events.iter().any(|event| matches!(event, Event::Plan(entries)
        if entries.len() == 2 && entries[0].status == PlanStatus::Pending)));
    assert!(turn.events.contains(&Event::Thought { delta: "first".to_owned() }));
}

#[tokio::test]
async fn without_a_script_it_writes_a_note_and_says_what_it_is() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    assert_eq!(talk.started.info.name, "coppice-demo");
    let turn = talk.turn("Add a README\nwith words").await;
    assert!(turn.answer().contains("scripted demo agent"));
    assert!(turn.response()["summary"]["turn"].is_string());
    let (status, counted) = turn.outputs()[1];
    assert_eq!((status, counted.trim()), (ToolStatus::Completed, "1 notes/add-a-readme.md"));
    talk.turn("Add a README").await;
    assert_eq!(
        stage.read("notes/add-a-readme.md").as_deref(),
        Some("- turn 1: Add a README\n- turn 2: Add a README\n")
    );
}

#[tokio::test]
async fn a_conversation_survives_its_process() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    let id = talk.started.conversation.clone();
    talk.turn("@answer one").await;
    talk.turn("@answer two").await;
    assert_eq!(talk.close().await, "exit status 0");

    let mut talk = stage.open(Some(&id)).await;
    assert!(talk.started.restored);
    let turn = talk.turn("@echo-history").await;
    assert_eq!(turn.answer(), "remembered turns: 2");
    let texts: Vec<&Event> = turn.events.iter().filter(|event| !matches!(event, Event::Text { .. })).collect();
    assert!(texts.is_empty(), "replayed history leaked: {texts:?}");

    let mut talk = stage.open_with(Some(&id), Restore::NotOffered).await;
    assert!(!talk.started.restored);
    assert_eq!(talk.turn("@echo-history").await.answer(), "remembered turns: 0");
    assert!(!stage.open(Some("demo-unknown")).await.started.restored);
}

#[tokio::test]
async fn permission_decides_about_the_next_step_or_block() {
    let script = "@permission make a\n@write a.txt a\n@permission make b\n@begin\n@write b.txt b\n@write c.txt c\n@end\n\
                  @write d.txt d";
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    talk.prompt(script).await;
    let events = talk.until(|event| matches!(event, Event::Approval(_))).await;
    let Some(Event::Approval(asked)) = events.last() else { panic!("{events:?}") };
    assert_eq!((asked.title.as_str(), asked.preview.as_str()), ("make a", "a.txt\na\n"));
    assert_eq!(stage.read("a.txt"), None);
    talk.command(Command::Decide { request: asked.request.clone(), decision: Decision::Once }).await;
    let request = talk.approval().await;
    assert!(stage.read("a.txt").is_some());
    let decision = Decision::Deny { message: Some("too many".to_owned()) };
    talk.command(Command::Decide { request, decision }).await;
    let turn = talk.end().await;
    assert_eq!(turn.answer(), "Not allowed: make b (too many)");
    assert_eq!((stage.read("b.txt"), stage.read("c.txt")), (None, None));
    assert!(stage.read("d.txt").is_some());
}

#[tokio::test]
async fn a_call_can_be_asked_about_without_being_made() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    let paths = |path: &str| Reach::Paths(vec![stage.tree.path().join(path)]);
    for (directive, tool, reach) in [
        ("@may read a.txt", "read", paths("a.txt")),
        ("@may edit /etc/hosts", "edit", paths("/etc/hosts")),
        ("@may delete a.txt", "delete_file", paths("a.txt")),
        ("@may search .", "search", paths(".")),
        ("@may fetch https://a.example", "web_fetch", Reach::Url("https://a.example".to_owned())),
        ("@may run make", "bash", Reach::Command { text: "make".to_owned(), cwd: stage.tree.path().to_owned() }),
    ] {
        talk.prompt(directive).await;
        let events = talk.until(|event| matches!(event, Event::Approval(_))).await;
        let Some(Event::Approval(asked)) = events.last().cloned() else { panic!("{events:?}") };
        assert_eq!((asked.tool.as_str(), asked.reach), (tool, reach), "{directive}");
        let decision = Decision::Deny { message: Some("not today".to_owned()) };
        talk.command(Command::Decide { request: asked.request, decision }).await;
        assert_eq!(talk.end().await.answer(), format!("{}: refused (not today)", asked.title), "{directive}");
    }
    talk.prompt("@may run make").await;
    let request = talk.approval().await;
    talk.command(Command::Decide { request, decision: Decision::Once }).await;
    assert_eq!(talk.end().await.answer(), "execute make: allowed");
}

#[tokio::test]
async fn what_was_allowed_by_its_path_may_lie_elsewhere() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    let plan = stage.state.path().join("plan.md");
    talk.prompt(&format!("@request the plan\n@write {} the plan", plan.display())).await;
    let events = talk.until(|event| matches!(event, Event::Approval(_))).await;
    let Some(Event::Approval(asked)) = events.last() else { panic!("{events:?}") };
    assert_eq!(asked.reach, Reach::Paths(vec![plan.clone()]));
    talk.command(Command::Decide { request: asked.request.clone(), decision: Decision::Once }).await;
    talk.end().await;
    assert_eq!(fs::read_to_string(plan).unwrap(), "the plan\n");
}

#[tokio::test]
async fn a_command_is_reported() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    assert_eq!(talk.turn("@report echo out; exit 3").await.answer(), "out\n[exit 3]");
}

#[tokio::test]
async fn whatever_blocks_ends_with_an_interrupt() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    type Sign = fn(&Event) -> bool;
    let scripts: [(&str, Sign); 4] = [
        ("@plan begin\n@hang", |event| matches!(event, Event::Plan(_))),
        ("@plan begin\n@wait never", |event| matches!(event, Event::Plan(_))),
        ("@run echo up; sleep 1000", |event| matches!(event, Event::ToolOutput { .. })),
        ("@permission may I\n@hang", |event| matches!(event, Event::Approval(_))),
    ];
    for (script, is_blocked) in scripts {
        talk.prompt(script).await;
        talk.until(is_blocked).await;
        talk.command(Command::Interrupt).await;
        assert_eq!(talk.end().await.failure(), ("cancelled", "the turn was interrupted"), "{script}");
    }
    assert_eq!(talk.turn("@answer alive").await.answer(), "alive");
}

#[tokio::test]
async fn a_wait_ends_with_the_file_or_with_a_writer_of_the_fifo() {
    let stage = Stage::new();
    let fifo = stage.tree.path().join("gate");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let mut talk = stage.open(None).await;
    talk.prompt("@plan begin\n@wait gate\n@wait file\n@answer through").await;
    talk.until(|event| matches!(event, Event::Plan(_))).await;
    let writer = tokio::task::spawn_blocking(move || fs::File::options().write(true).open(fifo).map(drop));
    writer.await.unwrap().unwrap();
    fs::write(stage.tree.path().join("file"), "").unwrap();
    assert_eq!(talk.end().await.answer(), "through");
}

#[tokio::test]
async fn accidents_happen_as_written() {
    let stage = Stage::new();
    assert_eq!(stage.play("@fail it broke").await.failure(), ("protocol", "it broke"));
    assert_eq!(stage.play("@fail 429 slow down").await.failure(), ("rate_limit", "slow down"));
    assert_eq!(stage.play("@raw not json").await.end.unwrap(), "not json");
    assert_eq!(stage.play("@raw").await.end.unwrap(), "");
    assert_eq!(stage.play("@garbage\n@answer fine").await.answer(), "fine");
    assert!(stage.play("@nonsense").await.failure().1.contains("unknown directive `@nonsense`"));
    let turn = stage.play("@huge 3000000").await;
    let (status, output) = turn.outputs()[0];
    assert_eq!(status, ToolStatus::Completed);
    assert!(output.len() < 70_000 && output.contains("bytes left out"));
    assert_eq!(stage.play("@env COPPICE_NO_SUCH_NAME").await.answer(), "COPPICE_NO_SUCH_NAME is not set");
}

#[tokio::test]
async fn a_crash_once_goes_on_after_a_resume() {
    let script = "@write a.txt a\n@crash once\n@write b.txt b\n@answer whole";
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    let id = talk.started.conversation.clone();
    let (kind, message) = {
        let turn = talk.turn(script).await;
        (turn.end.as_ref().unwrap_err().kind.clone(), turn.failure().1.to_owned())
    };
    assert_eq!(kind, FailureKind::Crashed);
    assert_eq!(message, "the agent ended in the middle of a turn with exit status 3");
    assert_eq!((stage.read("a.txt").is_some(), stage.read("b.txt")), (true, None));

    let turn = stage.open(Some(&id)).await.turn("Go on.").await;
    assert_eq!(turn.answer(), "whole");
    assert!(stage.read("b.txt").is_some());
    assert_eq!(stage.play(script).await.answer(), "whole");
    assert_eq!(stage.play("@crash").await.failure().0, "crashed");
    assert_eq!(stage.play("@crash").await.failure().0, "crashed");
}

#[tokio::test]
async fn an_invalid_response_can_be_repaired_or_not() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    assert!(talk.turn("@answer right\n@invalid once").await.end.unwrap().starts_with("This is not"));
    assert_eq!(talk.turn("Your last message was refused").await.answer(), "right");
    talk.turn("@invalid").await;
    assert!(talk.turn("Your last message was refused").await.end.unwrap().starts_with("This is not"));
    assert_eq!(talk.turn("@answer next").await.answer(), "next");
}

#[tokio::test]
async fn questions_come_first_and_the_rest_of_the_script_after_the_answers() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    let turn = talk.turn("@ask Which colour? | red | blue\n@then\n@write colour.txt red\n@answer painted").await;
    assert_eq!(turn.response(), json!({"questions": [{"text": "Which colour?", "options": ["red", "blue"]}]}));
    assert_eq!(stage.read("colour.txt"), None);
    assert_eq!(talk.turn("The answer to your question:\nred").await.answer(), "painted");
    assert_eq!(stage.read("colour.txt").as_deref(), Some("red\n"));
}

#[tokio::test]
async fn images_come_in_their_order() {
    let mut talk = Stage::new().open(None).await;
    let image = |kind: &str, data: &str| {
        Block::Image(Image { mime_type: kind.to_owned(), data: data.to_owned(), path: PathBuf::new() })
    };
    let text = |text: &str| Block::Text(text.to_owned());
    let blocks =
        vec![text("first"), image("image/png", "AAAA"), text("then"), image("image/jpeg", "AA"), text("@echo-images")];
    talk.command(Command::Prompt { blocks }).await;
    let expected = "images: 2, parts: text, image/png (4), text, image/jpeg (2), text";
    assert_eq!(talk.end().await.answer(), expected);
}

#[tokio::test]
async fn a_turn_costs_what_it_added_and_names_its_model() {
    let stage = Stage::new();
    let mut talk = stage.open(None).await;
    let models: Vec<&str> = talk.started.models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(models, ["scripted", "scripted-small"]);
    for (script, expected) in [("@usage 1 2 0.25", 0.25), ("@usage 1 2 0.5\n@echo-model", 0.5)] {
        let turn = talk.turn(script).await;
        let is_paid = |event: &Event| matches!(event, Event::Usage(usage) if usage.cost_usd == Some(expected));
        assert!(turn.events.iter().any(is_paid), "{:?}", turn.events);
    }
    assert_eq!(talk.turn("@echo-model").await.answer(), "model: scripted");
}
