//! Gemini CLI over ACP, started so that a repository can neither run anything nor redirect anything.
//!
//! The work tree is not trusted, the process stands in a neutral directory, and its home is ours. What the CLI does not
//! do in such a place, reading the project's instructions and connecting to a server of tools, is done here in another
//! way; the protocol itself is `acp`'s.

pub mod call;
mod home;
mod instructions;
pub(crate) mod interactive;
mod journal;
mod login;
mod policy;
mod served;
#[cfg(test)]
mod tests;
pub(crate) mod tool;

use std::future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tracing::warn;

use crate::backend::acp::policy::{Policy, Refusals, Starts};
use crate::backend::agent_dir::AgentDir;
use crate::backend::door::Entrance;
use crate::backend::event::{Command, Event};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::gemini::home::Furniture;
use crate::backend::gemini::served::Served;
use crate::backend::login::ModelSetting;
use crate::backend::remedy::LoginRemedy;
use crate::backend::spec::{
    Carrier, ConfinedBy, Images, Instructions, KnownModel, Models, NativeTools, Reader, Resume, Rules, Spec,
    StopLadder, Todos, ToolList, Transport,
};
use crate::backend::transport::spawn::SpawnRequest;
use crate::backend::user_file;
use crate::backend::user_login::cloud_files;
use crate::backend::versions::find_versions;
use crate::backend::{Launch, Native, Purpose, ServedTool, acp, install, posture};
use crate::permission::Posture;

const PRO: &str = "gemini-3.1-pro-preview";
const FLASH: &str = "gemini-3-flash-preview";

/// The registry's row.
pub(crate) fn spec() -> Spec {
    let model = |id: &str| KnownModel { id: id.to_owned(), reasoning: Vec::new() };
    Spec {
        name: "gemini".to_owned(),
        vendors: vec!["google".to_owned()],
        transport: Transport::Gemini,
        command: vec!["gemini".to_owned(), "--acp".to_owned()],
        env: Vec::new(),
        models: Models {
            known: vec![model(PRO), model(FLASH)],
            // The user's own settings choose it, or the CLI does.
            fallback: None,
            small: Some(FLASH.to_owned()),
            renamed: Vec::new(),
        },
        rules: Rules::InPrompt,
        schema: None,
        resume: Resume::Offered,
        interactive: Some(vec!["--resume".to_owned()]),
        images: Images::Inline,
        instructions: Instructions { file: "GEMINI.md".to_owned(), read_by: Reader::Agent },
        carrier: Carrier::Mcp,
        native_tools: NativeTools::Removable,
        confined_by: ConfinedBy::Coppice,
        keys: ["GEMINI_", "GOOGLE_", "CLOUDSDK_", "CODE_ASSIST_"].map(str::to_owned).to_vec(),
        hosts: ["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"]
            .map(str::to_owned)
            .to_vec(),
        // The program that makes a call is waited for without a limit.
        hold: Duration::from_secs(60 * 60),
        tool_list: ToolList::PerStart,
        todos: Todos::Served,
        // A cancel is answered within half a second, `TERM` within a tenth.
        stop: StopLadder { cancel: Duration::from_secs(5), terminate: Duration::from_secs(2) },
        state_env: None,
        state_directories: Vec::new(),
        state_files: Vec::new(),
        paths: Vec::new(),
        versions: find_versions("gemini"),
        install: Some("npm install -g @google/gemini-cli".to_owned()),
        update: None,
        // It asks for a login when it is started without one.
        login: Some("gemini".to_owned()),
        key: Some("GEMINI_API_KEY".to_owned()),
        scripted: false,
    }
}

/// Runs a conversation from its process's start to its end.
pub(crate) async fn run(
    mut launch: Launch,
    entrance: Option<Entrance>,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let home = home_dir(&launch);
    let (start, remedy) = match prepare(&mut launch, entrance, home.clone()).await {
        Ok(prepared) => prepared,
        Err(failure) => {
            // The owner may be gone already; then there is nobody to tell.
            events.send(Event::Failed(failure)).await.ok();
            events.send(Event::Exited { status: None, stderr_tail: String::new() }).await.ok();
            return;
        }
    };
    let spoiled = Arc::new(Notify::new());
    let policy = Policy {
        stop: launch.spec.stop,
        images: launch.spec.images,
        reads: Some(tool::read),
        retells: Some(tool::retell),
        refusals: Refusals::AsOption,
        starts: Starts::Approval,
        asks: acp::asks(launch.purpose),
        // It is started in the only one there is.
        fitting: None,
        login: Some(remedy),
        spoiled: Some(Arc::clone(&spoiled)),
    };
    let (purpose, conversation) = (launch.purpose, launch.resume.clone().unwrap_or_default());
    // The CLI has been told of the entrance by its settings. The events end when everything is done, so this end of them
    // is kept.
    let talk = acp::converse(launch, start, policy, None, commands, events.clone());
    tokio::select! {
        () = talk => {}
        () = remember(&spoiled, &home, &conversation) => {}
    }
    if purpose != Purpose::Session
        && let Err(error) = tokio::fs::remove_dir_all(home.path()).await
    {
        warn!(%error, home = %home.path().display(), "home of a side question left behind");
    }
    drop(events);
}

/// Writes down that the conversation cannot be restored, as soon as that is known; never ends.
async fn remember(spoiled: &Notify, home: &AgentDir, conversation: &str) {
    spoiled.notified().await;
    if let Err(error) = journal::spoil(home, conversation) {
        warn!(%error, "a conversation that cannot be restored will be tried again");
    }
    future::pending().await
}

/// Makes the home and everything else that the process must find; what `launch` keeps is for the protocol.
async fn prepare(
    launch: &mut Launch,
    entrance: Option<Entrance>,
    home: AgentDir,
) -> Result<(SpawnRequest, LoginRemedy), Failure> {
    let wishes = Wishes {
        purpose: launch.purpose,
        native: posture::left(launch),
        env: launch.confines.tell(launch.environment(), None),
        tree: launch.cwd.clone(),
        resume: launch.resume.take(),
        tools: launch.tools.clone(),
        entrance,
        spec: launch.spec.clone(),
    };
    // Files are read and written, so this is no work for the runtime's own threads.
    let furnished = tokio::task::spawn_blocking(move || furnish(&home, wishes));
    let Furnished { env, policy, resume, login, cloud_files, remedy } = furnished
        .await
        .map_err(|error| Failure::new(FailureKind::Setup, format!("failed to prepare gemini: {error}")))??;
    launch.resume = resume;
    // The model goes on the command line: the protocol would take any word for one.
    let model = launch.model.take().or_else(|| launch.spec.models.fallback.clone());
    let mut argv = arguments(&launch.argv, model.as_deref(), &policy);
    argv.extend(plan_dir(launch).into_iter().flat_map(|dir| ["--include-directories".to_owned(), dir]));
    let mut needs = install::needs(launch);
    needs.read.push(launch.neutral_dir.clone());
    needs.read.extend(cloud_files);
    // The CLI renews a token in place, through the link that its home has.
    needs.write.extend(login);
    Ok((SpawnRequest { argv, env, cwd: launch.neutral_dir.clone(), needs }, remedy))
}

/// The directory of the plan: the CLI's own tools write only in directories that it was told of.
fn plan_dir(launch: &Launch) -> Option<String> {
    let is_planning = launch.purpose == Purpose::Session && launch.posture == Posture::Plan;
    let dir = launch.plan_file.as_deref().filter(|_| is_planning)?.parent()?;
    Some(dir.to_string_lossy().into_owned())
}

/// What a home is made for.
struct Wishes {
    purpose: Purpose,
    native: Native,
    env: Vec<(String, String)>,
    tree: PathBuf,
    resume: Option<String>,
    tools: Vec<ServedTool>,
    /// The way to the tools; without one, none is served.
    entrance: Option<Entrance>,
    spec: Spec,
}

/// The user's login, as far as only another login changes it.
pub(crate) fn describe_login(env: &[(String, String)]) -> String {
    login::find(&users_dir(env), env).describe()
}

/// The environment with what belongs to the user's login; reads files.
pub(crate) fn complete_login(env: &[(String, String)]) -> Vec<(String, String)> {
    login::find(&users_dir(env), env).complete(env)
}

/// The user's instructions, if they are longer than what is handed over; reads files.
pub(crate) fn find_cut_instructions(env: &[(String, String)]) -> Option<PathBuf> {
    instructions::find_cut(&users_dir(env), env)
}

/// The model that the CLI takes when none is named, and what chooses it; reads a file.
pub(crate) fn find_model_setting(env: &[(String, String)]) -> Option<ModelSetting> {
    let dir = users_dir(env);
    let named = login::find(&dir, env).model;
    ModelSetting::of_variable(env, "GEMINI_MODEL")
        .or_else(|| ModelSetting::of_file(named.as_deref(), "model.name", &dir.join("settings.json")))
}

struct Furnished {
    env: Vec<(String, String)>,
    policy: PathBuf,
    resume: Option<String>,
    /// The files of the user's that a renewed token is written to.
    login: Vec<PathBuf>,
    /// The files of a cloud's login, which are only read.
    cloud_files: Vec<PathBuf>,
    remedy: LoginRemedy,
}

fn furnish(home: &AgentDir, wishes: Wishes) -> Result<Furnished, Failure> {
    let Wishes { purpose, native, env, tree, resume, tools, entrance, spec } = wishes;
    let login = login::find(&users_dir(&env), &env);
    let instructions = match purpose {
        Purpose::Session => instructions::read(&tree, &users_dir(&env), &env),
        Purpose::Utility | Purpose::Survey => None,
    };
    let served = entrance.map(|entrance| Served { tools: &tools, entrance });
    let furniture = Furniture {
        purpose,
        native: &native,
        login: &login,
        instructions: instructions.as_deref(),
        served: served.as_ref(),
    };
    let policy = home::furnish(home, furniture).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::new(FailureKind::Setup, format!("{error}{cause}"))
    })?;
    let resume = resume.filter(|id| !journal::is_spoiled(home, id));
    if let Some(id) = &resume {
        // A journal that stays where it is costs a restore at worst; the history is replayed then.
        journal::protect(home, id).unwrap_or_else(|error| warn!(%error, "journal not protected"));
    }
    let complete = login.complete(&env);
    let (cloud_files, remedy) = (cloud_files(&complete), login.remedy(&complete, &spec));
    let env = environment(env, login.env, home.path());
    Ok(Furnished { env, policy, resume, login: login.files, cloud_files, remedy })
}

/// The home of one conversation. A side question has its own, which ends with it.
fn home_dir(launch: &Launch) -> AgentDir {
    match launch.purpose {
        Purpose::Session => AgentDir::below(&launch.state_dir, "gemini"),
        Purpose::Utility | Purpose::Survey => {
            let mut random = [0; 8];
            // Without randomness two questions at once may share a home: they write the same into it.
            getrandom::fill(&mut random).unwrap_or_default();
            AgentDir::below(&launch.state_dir, &format!("gemini-aside-{:016x}", u64::from_be_bytes(random)))
        }
    }
}

/// Why the user's settings cannot be read, with their place; reads a file.
pub(crate) fn find_settings_error(env: &[(String, String)]) -> Option<String> {
    user_file::read_json(&users_dir(env).join("settings.json")).err()
}

/// Where the user's own CLI keeps its files.
pub(crate) fn users_dir(env: &[(String, String)]) -> PathBuf {
    let value = |wanted: &str| env.iter().find(|(name, value)| name == wanted && !value.is_empty());
    let home = value("GEMINI_CLI_HOME").or_else(|| value("HOME")).map(|(_, value)| value.as_str());
    Path::new(home.unwrap_or("/nonexistent")).join(".gemini")
}

fn arguments(command: &[String], model: Option<&str>, policy: &Path) -> Vec<String> {
    let mut argv = command.to_vec();
    argv.extend(model.into_iter().flat_map(|model| ["-m".to_owned(), model.to_owned()]));
    argv.extend(["--policy".to_owned(), policy.to_string_lossy().into_owned()]);
    // The mode that asks, in every posture. In a folder that is not trusted the CLI lowers each of the others to it without
    // a word; in a trusted one `auto_edit` would let edits pass, and `plan` has a file and a prompt of its own.
    argv.extend(["--approval-mode".to_owned(), "default".to_owned()]);
    argv
}

fn environment(env: Vec<(String, String)>, login: Vec<(String, String)>, home: &Path) -> Vec<(String, String)> {
    let home = home.to_string_lossy();
    let own = [
        ("GEMINI_CLI_HOME", home.as_ref()),
        // Trust would start the repository's hooks and servers, and take its settings and its `.env`.
        ("GEMINI_CLI_TRUST_WORKSPACE", "false"),
        // One process, not a launcher that swallows signals and a child.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        // A daemon opens no browser: a login that ended is for a person to renew.
        ("NO_BROWSER", "true"),
    ];
    let is_own = |name: &str| own.iter().any(|(known, _)| *known == name);
    let others = env.into_iter().chain(login).filter(|(name, _)| !is_own(name));
    let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    others.chain(own).collect()
}
