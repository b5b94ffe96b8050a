//! Codex, through `codex app-server`: all conversations of a daemon share one process.
//!
//! [`thread`] decides for one conversation and [`hub`] for the pipe they share, both without IO; [`conversation`] and
//! [`server`] are the tasks around them, and [`pool`] is where they find each other.

mod approval;
mod binary;
mod conversation;
mod environment;
mod fault;
mod hub;
pub(crate) mod interactive;
mod item;
mod layer;
mod litter;
mod login;
mod pool;
mod profile;
mod server;
mod settings;
#[cfg(test)]
mod tests;
mod text;
mod thread;
mod tool_name;
mod turn;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use toml_edit::DocumentMut;

use crate::backend::codex::conversation::SharedProcesses;
use crate::backend::codex::environment::Home;
use crate::backend::codex::hub::Member;
use crate::backend::codex::pool::Key;
pub(crate) use crate::backend::codex::pool::Pool;
use crate::backend::codex::profile::{Places, Profile, TreeAccess};
use crate::backend::codex::server::Note;
use crate::backend::codex::settings::Wishes;
use crate::backend::event::{Command, Event};
use crate::backend::failure::Failure;
use crate::backend::login::ModelSetting;
use crate::backend::remedy::value;
use crate::backend::spec::{
    Carrier, ConfinedBy, Images, Instructions, KnownModel, Models, NativeTools, Reader, Reasoning, Resume, Rules, Spec,
    StopLadder, Todos, ToolList, Transport,
};
use crate::backend::transport::spawn::{Needs, SpawnRequest};
use crate::backend::user_file::read_text;
use crate::backend::versions::find_versions;
use crate::backend::{Launch, Purpose};
use crate::config::agent_variables::parse_named_variables;
use crate::permission::Posture;
use crate::permission::guard::TREE_SECRETS;
use crate::protocol::SchemaDialect;

/// Switched off for the whole process, as settings and not as flags: an unknown flag ends the program, an unknown
/// setting is ignored. Retries would never end without a network; plugins and apps are fetched at every start.
const OFF: &[&str] = &["unbounded_connection_retries", "plugins", "apps"];

/// A thread that nobody listens to is given up at once, so that another process can go on with it.
const UNLOAD: &str = "thread_unload_delay_secs=0";

/// The user's configuration, in Codex's home.
const CONFIG: &str = "config.toml";

/// Instructions that count in the place of the usual ones.
const INSTRUCTIONS_OVERRIDE: &str = "AGENTS.override.md";

/// How much is written to see whether the disk takes it.
const WRITTEN_BYTES: usize = 64 * 1024;

/// The variable that says where temporary files go.
const TEMP: &str = "TMPDIR";

/// The user's login and configuration, as far as a process keeps them; reads files.
pub(crate) fn describe_login(env: &[(String, String)]) -> String {
    login::describe(&read_in_home(env, "auth.json"), &read_in_home(env, CONFIG))
}

/// The variables that the user's configuration takes keys from; reads a file.
pub(crate) fn named_variables(env: &[(String, String)]) -> Vec<String> {
    parse_named_variables(&read_in_home(env, CONFIG))
}

/// The names of instruction files, in the order in which Codex looks for them; reads a file.
pub(crate) fn instruction_files(usual: &str, env: &[(String, String)]) -> Vec<String> {
    let config: DocumentMut = read_in_home(env, CONFIG).parse().unwrap_or_default();
    let others = config.get("project_doc_fallback_filenames").and_then(|names| names.as_array());
    let others = others.into_iter().flatten().filter_map(|name| name.as_str()).filter(|name| !name.is_empty());
    [INSTRUCTIONS_OVERRIDE, usual].into_iter().chain(others).map(str::to_owned).collect()
}

/// Whether an agent of another kind works with the user's configuration of Codex.
pub(crate) fn shares_home(spec: &Spec) -> bool {
    spec.state_directories.iter().any(|directory| directory.variable == environment::HOME_VARIABLE)
}

/// The model that the user's configuration chooses; reads a file.
pub(crate) fn find_model_setting(env: &[(String, String)]) -> Option<ModelSetting> {
    let config: DocumentMut = read_in_home(env, CONFIG).parse().ok()?;
    ModelSetting::of_file(config.get("model").and_then(|model| model.as_str()), "model", &config_file(env)?)
}

/// Whether the user's configuration chooses a provider of models; reads a file.
pub(crate) fn names_provider(env: &[(String, String)]) -> bool {
    let config = read_in_home(env, CONFIG).parse::<DocumentMut>();
    config.is_ok_and(|config| config.get("model_provider").is_some())
}

/// Where the user's configuration is.
pub(crate) fn config_file(env: &[(String, String)]) -> Option<PathBuf> {
    environment::home(env).path().map(|home| home.join(CONFIG))
}

/// Why the user's configuration cannot be read, with its place; reads a file.
pub(crate) fn find_config_error(env: &[(String, String)]) -> Option<String> {
    let path = config_file(env)?;
    match read_text(&path) {
        Ok(text) => login::find_syntax_error(&text).map(|error| format!("{}:{error}", path.display())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}

/// A file of Codex's home; one that is missing or no regular file is empty.
fn read_in_home(env: &[(String, String)], name: &str) -> String {
    let path = environment::home(env).path().map(|home| home.join(name));
    path.and_then(|path| read_text(&path).ok()).unwrap_or_default()
}

/// The row of the registry.
pub(crate) fn spec() -> Spec {
    let model = |id: &str| KnownModel { id: id.to_owned(), reasoning: Reasoning::ALL.to_vec() };
    Spec {
        name: "codex".to_owned(),
        vendors: vec!["openai".to_owned()],
        transport: Transport::Codex,
        command: vec!["codex".to_owned()],
        env: Vec::new(),
        models: Models {
            known: vec![model("gpt-5.4"), model("gpt-5.3-codex-spark")],
            fallback: None,
            small: Some("gpt-5.3-codex-spark".to_owned()),
            renamed: Vec::new(),
        },
        rules: Rules::InPrompt,
        schema: Some(SchemaDialect::Strict),
        resume: Resume::Offered,
        interactive: Some(vec!["resume".to_owned()]),
        images: Images::Paths,
        // The project stays untrusted, and then Codex does not read the file either.
        instructions: Instructions { file: "AGENTS.md".to_owned(), read_by: Reader::Coppice },
        carrier: Carrier::Dynamic,
        native_tools: NativeTools::Sandboxed,
        confined_by: ConfinedBy::Agent,
        keys: ["OPENAI_", "CODEX_", "AZURE_"].map(str::to_owned).to_vec(),
        hosts: ["api.openai.com", "chatgpt.com", "auth.openai.com"].map(str::to_owned).to_vec(),
        hold: Duration::from_secs(60 * 60),
        tool_list: ToolList::PerConversation,
        todos: Todos::Native,
        stop: StopLadder { cancel: Duration::from_secs(10), terminate: Duration::from_secs(2) },
        state_env: None,
        state_directories: Vec::new(),
        state_files: Vec::new(),
        paths: Vec::new(),
        versions: find_versions("codex"),
        install: Some("npm install -g @openai/codex".to_owned()),
        // Its old versions have no such command.
        update: None,
        login: Some("codex login".to_owned()),
        key: None,
        scripted: false,
    }
}

/// Runs a conversation to its end.
pub(crate) async fn run(pool: Pool, launch: Launch, commands: mpsc::Receiver<Command>, events: mpsc::Sender<Event>) {
    let (wishes, key) = match prepare(&launch).await {
        Ok(prepared) => prepared,
        Err(failure) => {
            // The owner may be gone already; then there is nobody to tell.
            events.send(Event::Failed(failure)).await.ok();
            events.send(Event::Exited { status: None, stderr_tail: String::new() }).await.ok();
            return;
        }
    };
    conversation::run(wishes, Processes { pool, key, launch }, commands, events).await;
}

/// The shared processes that fit one launch.
struct Processes {
    pool: Pool,
    key: Key,
    launch: Launch,
}

impl SharedProcesses for Processes {
    fn join(&self) -> (Member, mpsc::Sender<Note>) {
        let Self { pool, key, launch } = self;
        let request = || SpawnRequest {
            argv: key.argv.clone(),
            env: key.env.clone(),
            cwd: launch.neutral_dir.clone(),
            needs: Needs::default(),
        };
        pool.join(key, &launch.spawn, request, launch.spec.stop)
    }

    fn unlist(&self, server: &mpsc::Sender<Note>) {
        self.pool.unlist(&self.key, server);
    }
}

/// Looks at the places that Codex takes unseen, and sorts out what belongs to the process and what to the thread.
async fn prepare(launch: &Launch) -> Result<(Wishes, Key), Failure> {
    if !launch.cwd.is_dir() {
        return Err(fault::no_directory("work tree", &launch.cwd));
    }
    let mut env = launch.environment();
    if launch.confines.temp.is_some() {
        // The session's own is for its commands; the process is shared.
        env.retain(|(name, _)| name != TEMP);
    }
    let home = environment::home(&env);
    if let Home::Named(path) = &home
        && !path.is_dir()
    {
        return Err(fault::no_directory("CODEX_HOME", path));
    }
    let config = read_config(&home)?;
    if let (Purpose::Session, Some(path)) = (launch.purpose, home.path())
        && let Some(temporary) = environment::unfit(path, &env)
    {
        return Err(fault::unfit_home(path, &temporary));
    }
    // The default one may be missing: Codex makes it.
    if let Some(path) = home.path().filter(|path| path.is_dir()) {
        let dir = path.clone();
        let written = tokio::task::spawn_blocking(move || try_write(&dir)).await;
        written.map_err(io::Error::other).flatten().map_err(|error| fault::unwritable_home(path, &error))?;
    }
    let mut named: Vec<String> = launch.spec.env.iter().map(|(name, _)| name.clone()).collect();
    // A configuration that cannot be parsed names nothing; Codex itself says what is wrong with it.
    let by_config = parse_named_variables(&config);
    let unset = by_config.iter().filter(|name| value(&env, name).is_none()).cloned().collect();
    named.extend(by_config);
    let mut divided = environment::divide(env, &named, &launch.project_env);
    // What it says before a crash is shown to a person.
    divided.process.push(("NO_COLOR".to_owned(), "1".to_owned()));
    let login = crate::backend::login::fingerprint_login(&launch.spec, &launch.env);
    let key = Key { argv: argv(&launch.argv), env: divided.process, login };
    let temp = launch.confines.temp.as_ref().map(|path| (TEMP.to_owned(), path.to_string_lossy().into_owned()));
    // What `git status` writes on the side is out of reach inside.
    divided.commands.extend(temp.into_iter().chain([("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned())]));
    let mut wishes = Wishes {
        purpose: launch.purpose,
        cwd: launch.cwd.clone(),
        real_cwd: real(&launch.cwd),
        resume: launch.resume.clone(),
        model: launch.model.clone(),
        effort: launch.reasoning.map(Reasoning::as_str),
        instructions: launch.instructions.clone(),
        schema: launch.schema.clone(),
        roots: launch.roots.iter().flat_map(|root| [root.clone(), real(root)]).collect(),
        tools: launch.tools.clone(),
        native: launch.native.clone(),
        posture: launch.posture,
        profile: None,
        env: divided.commands,
        project_env: launch.project_env.clone(),
        config_file: home.path().map(|home| home.join(CONFIG)),
        unset,
        spec: launch.spec.clone(),
        patience: launch.spec.stop.cancel,
    };
    wishes.profile = profile(launch, &wishes, home.path().map(PathBuf::as_path), &key);
    Ok((wishes, key))
}

/// The user's configuration; one that is missing is empty. Codex would wait for a pipe for ever.
fn read_config(home: &Home) -> Result<String, Failure> {
    let Some(path) = home.path().map(|home| home.join(CONFIG)) else { return Ok(String::new()) };
    match read_text(&path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(String::new()),
        read => read.map_err(|error| fault::unreadable_config(&path, &error)),
    }
}

/// Writes a file without a name: a disk that is full still takes an empty one.
fn try_write(dir: &Path) -> io::Result<()> {
    tempfile::tempfile_in(dir)?.write_all(&[0; WRITTEN_BYTES])
}

/// What holds the commands of a session.
fn profile(launch: &Launch, wishes: &Wishes, home: Option<&Path>, key: &Key) -> Option<Profile> {
    let is_plan = launch.posture == Posture::Plan;
    let plan = launch.plan_file.as_deref().filter(|_| is_plan).and_then(Path::parent);
    // All that is left is the tool for patches, and nobody is asked about what it writes.
    let is_inert = !wishes.changes_files() && !wishes.has_shell();
    let plan = plan.filter(|_| !is_inert);
    let Some(limits) = &launch.confines.limits else { return plan.map(Profile::planning) };
    let access = if wishes.changes_files() { TreeAccess::Write } else { TreeAccess::Read };
    let mut limits = limits.clone();
    if is_inert {
        limits.write.clear();
    }
    if access == TreeAccess::Read {
        // No command of such a session comes to the rules, which keep these from others.
        let secrets = TREE_SECRETS.iter().map(|name| wishes.real_cwd.join(name));
        limits.hidden.extend(secrets.filter(|secret| secret.is_file()));
    }
    let program = binary::installation(Path::new(key.argv.first()?));
    let tree = [wishes.cwd.as_path(), &wishes.real_cwd];
    let temp = launch.confines.temp.as_deref().filter(|_| !is_inert);
    Some(Profile::confined(&limits, Places { tree, access, temp, plan, home, program: &program }))
}

/// The command, by the binary that its launcher would start.
fn program(command: &[String]) -> Vec<String> {
    let mut argv = command.to_vec();
    if let Some(program) = argv.first_mut()
        && let Some(native) = binary::native(Path::new(program))
    {
        *program = native.to_string_lossy().into_owned();
    }
    argv
}

fn argv(command: &[String]) -> Vec<String> {
    let mut argv = program(command);
    argv.push("app-server".to_owned());
    let off = OFF.iter().map(|feature| format!("features.{feature}=false"));
    argv.extend(off.chain([UNLOAD.to_owned()]).flat_map(|setting| ["-c".to_owned(), setting]));
    argv
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
