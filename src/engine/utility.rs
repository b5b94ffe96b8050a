//! One question on the side: a conversation of its own, one prompt, one validated response, and nothing left behind.
//!
//! It has a small lane beside the turns' slots, a short time, and no hands: whatever the agent asks to do is denied, and its
//! process is confined to a directory of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::api::request::Environment;
use crate::backend::event::{Block, Command, Decision, Event};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{self, Reasoning, Rules, Spec};
use crate::backend::{Access, Conversation, Launch, Purpose};
use crate::config::Config;
use crate::protocol;
use crate::protocol::prompt::{self, Delivery, Place, Request};

use super::confine::{self, ConfinedQuestion};
use super::fault::Fault;
use super::prepare::launch::Surroundings;
use super::prepare::{failure, not_found};
use super::shared::Shared;

/// How many questions are asked at once.
pub(super) const LANE: usize = 2;

/// The agent's own state, below the directory of a question.
const STATE: &str = "state";

/// How long a short answer may take from the start of the process on.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// One question.
pub(super) struct Utility {
    pub(super) spec: Spec,
    /// By which its program is confined.
    pub(super) config: Config,
    /// The backend's own choice when absent.
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) env: Environment,
    pub(super) terms: QuestionTerms,
    /// Nobody wants the answer any more; the daemon's own end, or sooner.
    pub(super) stop: CancellationToken,
}

/// What is said, and which answer will do.
pub(super) struct QuestionTerms {
    pub(super) task: String,
    pub(super) patience: Duration,
    /// How often it is asked again after a refused response.
    pub(super) repairs: u32,
    /// Says why an answer is not what the task asks for.
    pub(super) check: AnswerCheck,
}

pub(super) type AnswerCheck = Box<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

impl QuestionTerms {
    /// One to which any text is an answer.
    pub(super) fn new(task: String, repairs: u32) -> Self {
        Self { task, patience: PATIENCE, repairs, check: Box::new(|_| Ok(())) }
    }
}

/// Asks, and waits until the process that answered is gone. Ends early, as cancelled, when it is stopped.
pub(super) async fn ask(shared: &Shared, question: Utility) -> Result<protocol::Response, Failure> {
    let stop = question.stop.clone();
    let cancelled = || Failure::new(FailureKind::Cancelled, "the daemon ended, or nobody waits for the answer");
    let _place = tokio::select! {
        () = stop.cancelled() => return Err(cancelled()),
        place = shared.asides.acquire() => place.map_err(|_| cancelled())?,
    };
    let scratch = make_scratch(&shared.data)?;
    let Utility { spec, config, model, reasoning, env, mut terms, stop: _ } = question;
    let profile = Request::UtilityPrompt.profile();
    let (rules, place) = match spec.rules {
        Rules::InSystem => (Some(prompt::preamble(profile)), Place::Beside),
        Rules::InPrompt => (None, Place::InPrompt),
    };
    terms.task = prompt::render(profile, place, Delivery::BootstrapFull, &[], &terms.task);
    let confined = confine::compose_question(shared, &spec, &config, scratch.path(), Access::ReadOnly, env).await?;
    let launch = launch_question(shared, spec, model, confined, rules, scratch.path())?;
    let launch = Launch { reasoning, ..launch };
    let surroundings = Surroundings::new(&launch, &config);
    let mut conversation = shared.backends.start(launch);
    let answer = tokio::select! {
        () = stop.cancelled() => Err(cancelled()),
        answer = answer(&mut conversation, terms) => answer,
    };
    close(conversation).await;
    drop(scratch);
    answer.map_err(|failure| surroundings.explain(failure))
}

/// Removes what questions of a daemon that was killed left behind.
pub(super) fn clear(data: &Path) {
    // None may ever have been asked.
    std::fs::remove_dir_all(place(data)).ok();
}

fn place(data: &Path) -> PathBuf {
    data.join("utility")
}

/// A directory for everything that the agent writes; it ends with the question.
pub(super) fn make_scratch(data: &Path) -> Result<TempDir, Failure> {
    let path = place(data);
    let made = std::fs::create_dir_all(&path).and_then(|()| tempfile::Builder::new().prefix("q").tempdir_in(&path));
    made.map_err(|source| failure(Fault::File { act: "create a directory in", path, source }))
}

/// What a question's program is started with; it keeps its state below `scratch`.
pub(super) fn launch_question(
    shared: &Shared,
    spec: Spec,
    model: Option<String>,
    confined: ConfinedQuestion,
    rules: Option<String>,
    scratch: &Path,
) -> Result<Launch, Failure> {
    let state_dir = scratch.join(STATE);
    let ConfinedQuestion { confines, env, spawn } = confined;
    let neutral_dir = shared.neutral_dir();
    for path in [&neutral_dir, &state_dir] {
        std::fs::create_dir_all(path)
            .map_err(|source| failure(Fault::File { act: "create", path: path.clone(), source }))?;
    }
    let path = env.get("PATH").map(std::ffi::OsString::from);
    let program = spec::resolve(&spec, path.as_deref(), &neutral_dir).map_err(|error| not_found(&spec, &error))?;
    let mut argv = spec.command.clone();
    if let Some(first) = argv.first_mut() {
        *first = program.to_string_lossy().into_owned();
    }
    Ok(Launch {
        argv,
        cwd: neutral_dir.clone(),
        env: env.into_iter().collect(),
        project_env: Vec::new(),
        purpose: Purpose::Utility,
        resume: None,
        reasoning: model.as_deref().and_then(|model| least_reasoning(&spec, model)),
        model,
        mode: None,
        rules,
        instructions: None,
        schema: spec.schema.map(protocol::transport_schema),
        roots: Vec::new(),
        tools: Vec::new(),
        native: crate::backend::Native::default(),
        posture: crate::permission::Posture::Plan,
        plan_file: None,
        confines,
        state_dir,
        login_dir: shared.login_dir(&spec.name),
        neutral_dir,
        bridge: Vec::new(),
        spawn,
        spec,
    })
}

/// What a name is worth.
pub(super) fn least_reasoning(spec: &Spec, model: &str) -> Option<Reasoning> {
    let known = spec.models.known.iter().find(|known| known.id == model)?;
    known.reasoning.iter().min().copied()
}

/// The answer, if it comes in time.
async fn answer(conversation: &mut Conversation, terms: QuestionTerms) -> Result<protocol::Response, Failure> {
    let patience = terms.patience;
    timeout(patience, converse(conversation, terms)).await.unwrap_or_else(|_| {
        Err(Failure::new(FailureKind::Timeout, format!("no answer came within {} s", patience.as_secs())))
    })
}

/// Sends the prompt as soon as the conversation is open, and holds what comes to the strict parser.
async fn converse(conversation: &mut Conversation, terms: QuestionTerms) -> Result<protocol::Response, Failure> {
    let QuestionTerms { task, patience: _, mut repairs, check } = terms;
    let Conversation { commands, events } = conversation;
    let mut prompt = Some(task);
    while let Some(event) = events.recv().await {
        let reply = match event {
            Event::Started(_) => prompt.take().map(say),
            Event::Approval(request) => {
                let message = Some("answer from what the task says".to_owned());
                Some(Command::Decide { request: request.request, decision: Decision::Deny { message } })
            }
            Event::ToolRequested(request) => {
                let outcome = Err(format!("no tool is called `{}`", request.tool));
                Some(Command::ToolResult { request: request.request, outcome })
            }
            Event::Final { text, .. } => match read_answer(&text, &check) {
                Ok(response) => return Ok(response),
                Err((_, repair)) if repairs > 0 => {
                    repairs -= 1;
                    Some(say(repair))
                }
                Err((refusal, _)) => {
                    let message = format!("the backend's response was refused: {refusal}");
                    return Err(Failure::new(FailureKind::Protocol, message));
                }
            },
            Event::Failed(failure) => return Err(failure),
            Event::Exited { stderr_tail, .. } => {
                let message = format!("the backend ended before it answered: {}", stderr_tail.trim_end());
                return Err(Failure::new(FailureKind::Crashed, message));
            }
            Event::Text { .. }
            | Event::Thought { .. }
            | Event::ToolStarted(_)
            | Event::ToolOutput { .. }
            | Event::ToolFinished { .. }
            | Event::ApprovalGone { .. }
            | Event::ToolRequestGone { .. }
            | Event::Plan(_)
            | Event::Usage(_)
            | Event::Retry { .. } => None,
        };
        if let Some(command) = reply {
            // A conversation that takes nothing any more says why by its next event.
            commands.send(command).await.ok();
        }
    }
    Err(Failure::new(FailureKind::Crashed, "the backend went away"))
}

/// The response, or why it is none and how it is asked for again.
fn read_answer(text: &str, check: &AnswerCheck) -> Result<protocol::Response, (String, String)> {
    let response = protocol::parse(text).map_err(|refusal| (refusal.to_string(), prompt::repair(&refusal)))?;
    match check(&response.answer) {
        Ok(()) => Ok(response),
        Err(reason) => Err((reason.clone(), prompt::repair_answer(&reason))),
    }
}

pub(super) fn say(text: String) -> Command {
    Command::Prompt { blocks: vec![Block::Text(text)] }
}

/// Ends the conversation; the stop ladder of its backend bounds the wait.
pub(super) async fn close(conversation: Conversation) {
    let Conversation { commands, mut events } = conversation;
    drop(commands);
    while events.recv().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::backend::event::{AgentInfo, ApprovalRequest, Started, Stop, ToolKind, ToolRequest};
    use crate::permission::Reach;

    /// Plays a backend that says all of this at once; the outcome, and what it was told.
    async fn play(events: Vec<Event>, repairs: u32) -> (Result<String, String>, Vec<Command>) {
        let (commands, mut told) = mpsc::channel(16);
        let (sender, receiver) = mpsc::channel(16);
        for event in events {
            sender.send(event).await.unwrap();
        }
        let mut conversation = Conversation { commands, events: receiver };
        let check: AnswerCheck =
            Box::new(|answer| if answer == "maybe" { Err("it is vague".to_owned()) } else { Ok(()) });
        let terms = QuestionTerms { check, ..QuestionTerms::new("the task".to_owned(), repairs) };
        let answer = answer(&mut conversation, terms).await;
        drop((conversation, sender));
        let mut heard = Vec::new();
        while let Some(command) = told.recv().await {
            heard.push(command);
        }
        let said = answer.map(|response| response.answer);
        (said.map_err(|failure| format!("{}: {}", failure.kind, failure.message)), heard)
    }

    fn started() -> Event {
        Event::Started(Started {
            conversation: "c".to_owned(),
            restored: false,
            exec_at_ms: 0,
            models: Vec::new(),
            model: None,
            modes: Vec::new(),
            mode: None,
            info: AgentInfo::default(),
        })
    }

    fn last(text: &str) -> Event {
        Event::Final { text: text.to_owned(), stop: Stop::EndTurn }
    }

    #[tokio::test]
    async fn an_agent_on_the_side_has_no_hands() {
        let approval = Event::Approval(ApprovalRequest {
            request: "r1".to_owned(),
            call: "c1".to_owned(),
            tool: "read".to_owned(),
            title: "read a file".to_owned(),
            kind: ToolKind::Read,
            input: None,
            preview: String::new(),
            reach: Reach::Elsewhere,
        });
        let tool = ToolRequest { request: "t1".to_owned(), tool: "task".to_owned(), arguments: serde_json::json!({}) };
        let events = vec![started(), approval, Event::ToolRequested(tool), last(r#"{"answer":"yes"}"#)];
        let (answer, told) = play(events, 1).await;
        assert_eq!(answer.as_deref(), Ok("yes"));
        let message = Some("answer from what the task says".to_owned());
        let expected = [
            say("the task".to_owned()),
            Command::Decide { request: "r1".to_owned(), decision: Decision::Deny { message } },
            Command::ToolResult { request: "t1".to_owned(), outcome: Err("no tool is called `task`".to_owned()) },
        ];
        assert_eq!(told, expected);
    }

    #[tokio::test]
    async fn a_refused_response_is_asked_for_as_often_as_allowed() {
        let good = || last(r#"{"answer":"yes"}"#);
        for (repairs, events, prompts, expected) in [
            (0, vec![started(), last("yes"), good()], 1, None),
            (1, vec![started(), last("yes"), good()], 2, Some("yes")),
            (1, vec![started(), last("yes"), last(r#"{"answer":"yes"} no"#), good()], 2, None),
            (1, vec![started(), last(r#"{"answer":"maybe"}"#), good()], 2, Some("yes")),
            (0, vec![started(), last(r#"{"answer":"maybe"}"#), good()], 1, None),
        ] {
            let (answer, told) = play(events, repairs).await;
            assert_eq!((answer.ok().as_deref(), told.len()), (expected, prompts));
        }
    }

    #[tokio::test]
    async fn an_end_without_an_answer_says_why() {
        let failed = Event::Failed(Failure::new(FailureKind::Auth, "logged out"));
        let exited = Event::Exited { status: None, stderr_tail: "no key\n".to_owned() };
        for (events, expected) in [
            (vec![failed], "auth: logged out"),
            (vec![started(), exited], "crashed: the backend ended before it answered: no key"),
        ] {
            assert_eq!(play(events, 1).await.0.unwrap_err(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        assert_eq!(play(vec![started()], 1).await.0.unwrap_err(), "timeout: no answer came within 60 s");
    }
}
