//! Claude Code, driven over its own pipe: JSON lines both ways, one process per conversation.
//!
//! [`client`] decides, without IO; [`home`] keeps the agent's state apart from the user's; the transport's driver owns
//! the process.

mod argv;
mod client;
mod control;
mod fault;
mod home;
pub(crate) mod interactive;
mod login;
mod mcp;
mod model;
mod permission;
mod plan;
mod remedy;
mod stream;
mod surface;
#[cfg(test)]
mod tests;
mod tool;
mod turn;
mod user_settings;

use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::backend::claude::argv::Begin;
use crate::backend::claude::client::{Client, Opening, Wishes};
pub(crate) use crate::backend::claude::home::user_main;
use crate::backend::claude::login::Keeper;
use crate::backend::claude::remedy::{LoginSources, find_remedy};
use crate::backend::claude::user_settings::UserSettings;
pub(crate) use crate::backend::claude::user_settings::{
    find_cut_instructions, find_model_setting, find_settings_error, path as user_settings_file,
};
use crate::backend::event::{Command, Event};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::key_helper::KeyHelper;
use crate::backend::spec::{
    Carrier, ConfinedBy, Images, Instructions, KnownModel, Models, NativeTools, Reader, Reasoning, Resume, Rules, Spec,
    StopLadder, Todos, ToolList, Transport,
};
use crate::backend::transport::drive;
use crate::backend::transport::machine::{Input, Machine};
use crate::backend::transport::spawn::{Child, Needs, SpawnRequest};
use crate::backend::user_login::{UserLogin, cloud_files};
use crate::backend::versions::find_versions;
use crate::backend::{Launch, install, posture};
use crate::protocol::SchemaDialect;

/// The agent ends an interrupted turn within half a second, also in the middle of a command.
const STOP: StopLadder = StopLadder { cancel: Duration::from_secs(2), terminate: Duration::from_secs(2) };

/// Its own variables, and those of a cloud that it is told to use.
const KEYS: &[&str] = &[
    "ANTHROPIC_",
    "CLAUDE_",
    "AWS_ if CLAUDE_CODE_USE_BEDROCK",
    "AWS_ if CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "AZURE_ if CLAUDE_CODE_USE_FOUNDRY",
    "GOOGLE_ if CLAUDE_CODE_USE_VERTEX",
    "CLOUDSDK_ if CLAUDE_CODE_USE_VERTEX",
    "VERTEX_ if CLAUDE_CODE_USE_VERTEX",
];

/// The user's login, as far as only another login changes it.
pub(crate) fn describe_login(env: &[(String, String)]) -> String {
    let settings = UserSettings::read(env);
    format!("{:?} {} {settings:?}", login::is_logged_in(env), home::describe_account(env))
}

/// The registry row.
pub(crate) fn spec() -> Spec {
    let model = |id: &str, reasoning: &[Reasoning]| KnownModel { id: id.to_owned(), reasoning: reasoning.to_vec() };
    let opus = "claude-opus-4-7";
    let haiku = "claude-haiku-4-5-20251001";
    Spec {
        name: "claude".to_owned(),
        vendors: vec!["anthropic".to_owned()],
        transport: Transport::Claude,
        command: vec!["claude".to_owned()],
        env: Vec::new(),
        models: Models {
            known: vec![
                model(opus, &Reasoning::ALL),
                // It takes `xhigh` too, but thinks at `high` then without a word.
                model("claude-sonnet-4-6", &[Reasoning::Low, Reasoning::Medium, Reasoning::High]),
                model(haiku, &[]),
            ],
            // The user's own settings choose it, or the program does.
            fallback: None,
            small: Some(haiku.to_owned()),
            renamed: vec![("claude-opus-4-6".to_owned(), opus.to_owned())],
        },
        rules: Rules::InSystem,
        schema: Some(SchemaDialect::Plain),
        resume: Resume::Offered,
        interactive: Some(vec!["--resume".to_owned()]),
        images: Images::Inline,
        instructions: Instructions { file: "CLAUDE.md".to_owned(), read_by: Reader::Agent },
        carrier: Carrier::Pipe,
        native_tools: NativeTools::Removable,
        confined_by: ConfinedBy::Coppice,
        keys: KEYS.iter().map(|&key| key.to_owned()).collect(),
        hosts: ["api.anthropic.com", "console.anthropic.com", "platform.claude.com"].map(str::to_owned).to_vec(),
        hold: Duration::from_secs(60 * 60),
        tool_list: ToolList::PerStart,
        todos: Todos::Native,
        stop: STOP,
        state_env: None,
        state_directories: Vec::new(),
        state_files: Vec::new(),
        paths: Vec::new(),
        versions: find_versions("claude"),
        install: Some("npm install -g @anthropic-ai/claude-code".to_owned()),
        update: Some("update".to_owned()),
        login: Some("claude auth login".to_owned()),
        key: Some("ANTHROPIC_API_KEY".to_owned()),
        scripted: false,
    }
}

/// How the user's own settings log the program in.
pub(crate) fn user_login(env: &[(String, String)]) -> UserLogin {
    let settings = UserSettings::read(env);
    let file = user_settings::path(env).unwrap_or_default();
    let variable = argv::KEY_VARIABLE;
    let key_helper =
        settings.api_key_helper.map(|command| KeyHelper { command, setting: "apiKeyHelper", file, variable });
    UserLogin { env: settings.env, key_helper }
}

/// Runs a conversation from its process's start to its end, and keeps its login in step with the user's meanwhile.
pub(crate) async fn run(launch: Launch, commands: mpsc::Receiver<Command>, events: mpsc::Sender<Event>) {
    let Some(keeper) = Keeper::of(&launch).map(Arc::new) else {
        return converse(launch, None, commands, events).await;
    };
    keeper.clone().settle_aside().await;
    // The events end when everything is done, so this end of them is kept.
    let talk = converse(launch, Some(keeper.dir()), commands, events.clone());
    tokio::select! {
        () = talk => {}
        () = keeper.clone().keep() => {}
    }
    keeper.settle_aside().await;
    drop(events);
}

/// The agent ends at once when it does not know the conversation it is to go on with; then a fresh one begins in its
/// place and takes the commands that waited for the first.
async fn converse(
    launch: Launch,
    login: Option<&Path>,
    mut commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let mut waiting = Vec::new();
    if let Some(id) = launch.resume.clone() {
        match resume(&launch, login, id, &mut commands, &events).await {
            Ending::Over => return,
            Ending::Lost(commands) => waiting = commands,
        }
    }
    let id = match uuid() {
        Ok(id) => id,
        Err(error) => return refuse(format!("failed to draw a name for the conversation: {error}"), &events).await,
    };
    let Some((child, wishes)) = start(&launch, login, Begin::Fresh(id), &events).await else { return };
    let (mut client, mut effects) = Client::begin(wishes, None);
    for command in waiting {
        effects.extend(client.step(Input::Command(command)));
    }
    drive::run(child, (client, effects), commands, events).await;
}

/// How the attempt to go on with a conversation ended.
enum Ending {
    Over,
    /// The agent does not know it; these commands came in the meantime.
    Lost(Vec<Command>),
}

/// Goes on with a conversation. Commands wait until it is known to be there, so that a fresh one can take them instead.
async fn resume(
    launch: &Launch,
    login: Option<&Path>,
    id: String,
    commands: &mut mpsc::Receiver<Command>,
    events: &mpsc::Sender<Event>,
) -> Ending {
    let Some((child, wishes)) = start(launch, login, Begin::Resume(id), events).await else { return Ending::Over };
    let (opening, mut opened) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(1);
    let mut conversation = pin!(drive::run(child, Client::begin(wishes, Some(opening)), receiver, events.clone()));
    let mut waiting = Vec::new();
    let opening = loop {
        tokio::select! {
            biased;
            opening = &mut opened => break opening,
            command = commands.recv() => match command {
                Some(Command::Close) | None => {
                    for command in waiting {
                        if matches!(command, Command::Prompt { .. }) {
                            // An owner that is gone does not need to know.
                            events.send(Event::Failed(fault::closed())).await.ok();
                        }
                    }
                    drop(sender);
                    conversation.await;
                    return Ending::Over;
                }
                Some(command) => waiting.push(command),
            },
            () = &mut conversation => return Ending::Over,
        }
    };
    if opening == Ok(Opening::Lost) {
        conversation.await;
        return Ending::Lost(waiting);
    }
    let mut waiting = waiting.into_iter();
    loop {
        let next = match waiting.next() {
            Some(command) => Some(command),
            None => tokio::select! {
                command = commands.recv() => command,
                () = &mut conversation => return Ending::Over,
            },
        };
        let Some(command) = next else { break };
        tokio::select! {
            () = &mut conversation => return Ending::Over,
            // Refused only by a conversation that is over, which the other arm tells.
            sent = sender.send(command) => drop(sent),
        }
    }
    drop(sender);
    conversation.await;
    Ending::Over
}

/// Furnishes the agent's home and starts its process; a failure is told to the owner.
async fn start(
    launch: &Launch,
    login: Option<&Path>,
    begin: Begin,
    events: &mpsc::Sender<Event>,
) -> Option<(Child, Wishes)> {
    let (home, env) = (home::dir(&launch.state_dir), launch.environment());
    let (path, tree) = (home.path().to_owned(), launch.cwd.clone());
    // Files are read and written, so this is no work for the runtime's own threads.
    let furnish = move || home::furnish(&home, &env).map(|()| UserSettings::read_for_tree(&env, &tree));
    let furnished = tokio::task::spawn_blocking(furnish).await;
    let settings = match furnished.map_err(io::Error::other).and_then(|furnished| furnished) {
        Ok(settings) => settings,
        Err(error) => {
            refuse(format!("failed to prepare the agent's own directory: {error}"), events).await;
            return None;
        }
    };
    let request = SpawnRequest {
        argv: argv::argv(launch, &settings, &begin),
        env: argv::environment(launch, &path, login),
        cwd: launch.cwd.clone(),
        needs: needs(launch, login),
    };
    let child = drive::spawn(launch, request, events).await?;
    let environment = launch.environment();
    let wishes = Wishes {
        begin,
        cwd: launch.cwd.clone(),
        purpose: launch.purpose,
        native: posture::left(launch),
        model: argv::model(launch).or(settings.model(&environment)).map(str::to_owned),
        has_schema: launch.schema.is_some(),
        tools: launch.tools.clone(),
        stop: launch.spec.stop,
        login: find_remedy(LoginSources {
            env: &environment,
            spec: &launch.spec,
            settings_env: &settings.env,
            settings_file: &user_settings::path(&environment).unwrap_or_default(),
        }),
        exec_at_ms: child.exec_at_ms,
    };
    Some((child, wishes))
}

/// What the process must reach besides the session's own places. A login that stays with the user is only read.
fn needs(launch: &Launch, login: Option<&Path>) -> Needs {
    let mut needs = install::needs(launch);
    needs.read.extend(cloud_files(&launch.environment()));
    match login {
        Some(dir) => needs.write.push(dir.to_owned()),
        None => needs.read.extend(login::users_file(&launch.environment())),
    }
    needs
}

/// The conversation does not begin.
async fn refuse(message: String, events: &mpsc::Sender<Event>) {
    // The owner may be gone already; then there is nobody to tell.
    events.send(Event::Failed(Failure::new(FailureKind::Setup, message))).await.ok();
    events.send(Event::Exited { status: None, stderr_tail: String::new() }).await.ok();
}

/// A random name for a conversation, in the only form that the agent takes.
fn uuid() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let part = |shift: u32, digits: u32| (number >> shift) & ((1 << (4 * digits)) - 1);
    Ok(format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12)))
}
