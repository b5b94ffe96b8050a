//! What the processes of a session may reach: composed anew for each start, from the session, its settings and what
//! the kernel gives.

mod caches;
mod cargo;
mod git;
mod places;
mod question;
mod registries;
mod variables;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::environment::{is_for_preset, is_listed};
use crate::api::request::Environment;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{Carrier, ConfinedBy, Spec};
use crate::backend::user_login::UserLogin;
use crate::backend::{self, Access, Confines, Hosts, Limits};
use crate::config::Config;
use crate::config::confine::Sandbox;
use crate::config::project_env::{ProjectEnv, RegistryTokens};
use crate::git::remote::remote_names;
use crate::git::removal::TreeReuse;
use crate::git::{Repo, Worktree};
use crate::id::SessionId;
use crate::permission::guard::TREE_SECRETS;
use crate::permission::{Hold, Level, Places};
use crate::sandbox::cage::{Cage, Isolation, Network};
use crate::sandbox::listed_path::WritablePlaces;
use crate::sandbox::proxy::{self, Proxy};
use crate::sandbox::support::Support;

use super::external::Servers;
use super::fault::Fault;
use super::prepare::failure;
use super::record::{ReachRecord, Record};
use super::settings::Settings;
use super::shared::Shared;
use super::spawn::{Kept, Supervised};
use caches::{LockedCrates, create_caches};
pub(super) use git::confine_git;
pub(super) use question::{ConfinedQuestion, compose_question};
pub(super) use registries::{RegistryFile, cargo_tokens, find_registry_files, is_secret_name, without_logins};
use variables::Private;
pub(super) use variables::ProjectVariables;

/// A directory in memory, which each process in namespaces has for itself.
const SHARED_MEMORY: &str = "/dev/shm";

/// Who is to be confined, and for what.
pub(super) struct Subject<'a> {
    pub(super) record: &'a Record,
    pub(super) settings: &'a Settings,
    pub(super) spec: &'a Spec,
    pub(super) tree: &'a Worktree,
    /// Whether the work tree may be written.
    pub(super) access: Access,
    /// Whether the agent only reads, in whatever posture.
    pub(super) role: Access,
    /// The only file that may be written while a plan is made.
    pub(super) plan: Option<&'a Path>,
    /// External servers that live as long as the process.
    pub(super) servers: Option<&'a Arc<Servers>>,
}

/// Everything a start needs to be confined.
pub(super) struct Confined {
    pub(super) confines: Confines,
    pub(super) env: Environment,
    /// What of it the configuration chose, for commands too.
    pub(super) project_env: Environment,
    pub(super) spawn: Arc<Supervised>,
}

/// Composes what a session's backend is started with.
pub(super) async fn compose(shared: &Shared, subject: &Subject<'_>, env: Environment) -> Result<Confined, Failure> {
    let (sandbox, servers) = (&subject.settings.config.sandbox, subject.servers.cloned());
    let mut env = backend_environment(shared, env, subject.spec).await?;
    let project_env = shared.project_variables(subject.record.id, &subject.settings.config.env).chosen();
    let worktree = match subject.spec.confined_by {
        ConfinedBy::Coppice => Some(subject.tree.path.clone()),
        // Its one process works in the trees of all sessions.
        ConfinedBy::Agent => None,
    };
    if sandbox.level == Level::Off {
        let spawn = Arc::new(Supervised {
            executable: shared.executable.clone(),
            hold: Hold::Advisory,
            cage: None,
            worktree,
            kept: Kept { _proxy: None, _servers: servers },
        });
        env.extend(project_env.clone());
        return Ok(Confined { confines: Confines::default(), env, project_env, spawn });
    }
    let caches = caches_dir(shared, subject.record.id);
    if !caches.exists() {
        let crates = locked_crates(shared, subject.record, &subject.tree.repo, &env);
        // If it fails here, it fails below too.
        tokio::task::spawn_blocking(move || create_caches(&caches, crates.as_ref())).await.ok();
    }
    let own = Own::make(shared, subject).map_err(failure)?;
    create_backend_paths(shared, &subject.settings.config, subject.spec, &env)?;
    let hosts = hosts(sandbox, subject.spec, subject.role, &env);
    let proxy = match &hosts {
        Some(hosts) => Some(proxy::start(hosts.clone()).await.map_err(no_proxy)?),
        None => None,
    };
    let hosts = match (&hosts, &proxy) {
        (Some(hosts), Some(proxy)) => Hosts::Only { hosts: hosts.clone(), proxy: proxy.port() },
        (Some(_) | None, _) => Hosts::Any,
    };
    let limits = limits(shared, subject, &own, &env, hosts);
    let mut env = own.confine_environment(env);
    env.extend(project_env.clone());
    let cage = match subject.spec.confined_by {
        ConfinedBy::Coppice => Some(cage(shared, subject.spec, &limits, proxy.as_ref()).await?),
        ConfinedBy::Agent => {
            // It shares one process between sessions, and tells each of them where its own place is.
            env.remove("TMPDIR");
            None
        }
    };
    let spawn = Arc::new(Supervised {
        executable: shared.executable.clone(),
        hold: shared.support.hold(),
        cage,
        worktree,
        kept: Kept { _proxy: proxy.map(Arc::new), _servers: servers },
    });
    Ok(Confined { confines: Confines { limits: Some(limits), temp: Some(own.temp) }, env, project_env, spawn })
}

/// The environment of a backend's program: its own keys, and the key that a helper of the user's prints.
pub(super) async fn backend_environment(
    shared: &Shared,
    env: Environment,
    spec: &Spec,
) -> Result<Environment, Failure> {
    let given: Vec<_> = env.clone().into_iter().collect();
    let helper = UserLogin::read(spec, &given).key_helper;
    let mut env = own_keys(env, spec);
    if let Some(helper) = helper {
        let key = helper.run(&*shared.spawner, given, &shared.neutral_dir()).await?;
        env.insert(helper.variable.to_owned(), key);
    }
    Ok(env)
}

/// The environment with the keys of one backend alone, and with what the user's own settings of its program name or set.
pub(super) fn own_keys(mut env: Environment, spec: &Spec) -> Environment {
    let given: Vec<_> = env.clone().into_iter().collect();
    let (named, set) = (backend::login::named_variables(spec, &given), UserLogin::read(spec, &given).env);
    // They may switch on the cloud whose keys are needed.
    env.extend(set.clone());
    let is_named = |name: &String| named.contains(name);
    let (mut own, mut env): (Environment, Environment) = env.into_iter().partition(|(name, _)| is_named(name));
    let is_of_row = |name: &str| spec.keys.iter().any(|key| name.starts_with(key.as_str()));
    env.retain(|name, _| is_listed(name) || is_for_preset(name) && is_of_row(name));
    own.extend(match spec.keys.is_empty() {
        // An agent of no vendor may work with the models of any.
        true => env,
        false => variables::without_secrets(env, &spec.keys),
    });
    own.extend(set);
    own
}

/// What clients are told about a session of a backend.
pub(super) fn reach(shared: &Shared, spec: &Spec, level: Level) -> ReachRecord {
    let note = match (level, spec.confined_by) {
        (Level::Off, _) => Some("`sandbox.level` is `off`".to_owned()),
        (Level::Workspace, ConfinedBy::Coppice) => missing(shared.support.hold(), &shared.support),
        (Level::Restricted, ConfinedBy::Coppice) => missing(shared.support.hold_of_ports(), &shared.support),
        (Level::Workspace | Level::Restricted, ConfinedBy::Agent) => None,
    };
    ReachRecord { level: level.as_str().to_owned(), enforced: note.is_none(), note }
}

/// Whether the worktree of an ended session may serve the next one. At `off` no process has namespaces.
pub(super) fn tree_reuse(support: &Support, reach: &ReachRecord) -> TreeReuse {
    match support.isolation() {
        Isolation::Namespaces if reach.level != Level::Off.as_str() => TreeReuse::Allowed,
        Isolation::Namespaces | Isolation::RulesOnly => TreeReuse::NotIsolated,
    }
}

/// What the kernel lacks.
fn missing(hold: Hold, support: &Support) -> Option<String> {
    match hold {
        Hold::Enforced => None,
        Hold::Advisory => Some(support.lines().into_iter().skip(1).collect::<Vec<_>>().join("; ")),
    }
}

impl ReachRecord {
    pub(super) fn hold(&self) -> Hold {
        if self.enforced { Hold::Enforced } else { Hold::Advisory }
    }
}

/// A command beside the agent: a hook, a teardown, an external server.
pub(super) struct Task<'a> {
    pub(super) record: &'a Record,
    pub(super) repo: &'a Repo,
    pub(super) level: Level,
    pub(super) writes: Vec<PathBuf>,
    pub(super) scratch: Scratch<'a>,
    /// Variables of the project, for what runs the project's own code.
    pub(super) env: Option<&'a ProjectEnv>,
}

/// Whose temporary files and caches a process uses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scratch<'a> {
    /// Those of the session, like its agent.
    Session,
    /// The session's temporary files, and caches of an external server: it has keys that no agent has.
    Server(&'a str),
    /// None that an agent could write: those in a new directory, for programs of the user's at a merge.
    New(&'a Path),
}

/// The cage of a command, and its environment: without the keys of any model. At `restricted` it reaches no host.
pub(super) fn of_command(shared: &Shared, task: Task<'_>) -> io::Result<(Option<Cage>, Environment)> {
    let chosen = task.env.map(|env| shared.project_variables(task.record.id, env).chosen()).unwrap_or_default();
    let (cage, mut env) = compose_command(shared, task)?;
    env.extend(chosen);
    Ok((cage, env))
}

fn compose_command(shared: &Shared, task: Task<'_>) -> io::Result<(Option<Cage>, Environment)> {
    let Task { record, repo, level, writes, scratch, env: project_env } = task;
    let tokens = project_env.map(|env| env.registry_tokens).unwrap_or_default();
    let env = super::prepare::environment(shared, record);
    let network = match level {
        Level::Off => return Ok((None, env)),
        Level::Workspace => Network::Open,
        Level::Restricted => Network::Ports(Vec::new()),
    };
    let env = variables::without_secrets(env, &[]);
    let own = Own::of(shared, record, repo, scratch, tokens)?;
    let mut read = places::common(&env);
    read.extend(git_places(repo));
    read.extend([own.git_config.clone(), own.registries.clone(), cargo_settings(shared)]);
    read.extend(cargo::open_settings(&env));
    let mut write = vec![own.temp.clone(), own.caches.clone(), PathBuf::from("/dev/shm")];
    write.extend(writes);
    let isolation = shared.support.isolation();
    Ok((Some(Cage { read, write, network, isolation }), own.confine_environment(env)))
}

/// The same for a program that runs an agent's code and never needs a key, whatever the level.
pub(super) fn of_program(shared: &Shared, task: Task<'_>) -> io::Result<(Option<Cage>, Environment)> {
    let chosen = task.env.map(|env| shared.project_variables(task.record.id, env).chosen()).unwrap_or_default();
    let (cage, env) = compose_command(shared, task)?;
    let mut env = variables::without_secrets(env, &[]);
    env.extend(chosen);
    Ok((cage, env))
}

/// What to open for a program that the user installed: its directory, unless that holds more than the program.
pub(super) fn program_place(program: &Path, env: &Environment) -> PathBuf {
    backend::install::program_place(program, env.get("HOME").map(Path::new))
}

/// Whether the kernel holds what we start ourselves for a session, whoever confines its agent.
pub(super) fn hold_of_own(shared: &Shared, reach: &ReachRecord) -> Hold {
    let hold =
        if reach.level == Level::Restricted.as_str() { shared.support.hold_of_ports() } else { shared.support.hold() };
    match (reach.hold(), hold) {
        (Hold::Enforced, Hold::Enforced) => Hold::Enforced,
        (Hold::Advisory, _) | (_, Hold::Advisory) => Hold::Advisory,
    }
}

/// What the served tools of a turn do in its work tree.
pub(super) struct Work<'a> {
    pub(super) record: &'a Record,
    pub(super) repo: &'a Repo,
    pub(super) config: &'a Config,
    pub(super) access: Access,
    /// The only file that may be written while a plan is made.
    pub(super) plan: Option<&'a Path>,
}

/// The cage of such work, and its environment: it reaches what the agent's own tools would reach, and knows none of the
/// agent's keys, whatever the level.
pub(super) fn of_work(shared: &Shared, work: &Work<'_>) -> io::Result<(Option<Cage>, Environment)> {
    let Work { record, repo, config, access, plan } = work;
    let (sandbox, tree) = (&config.sandbox, PathBuf::from(&record.body.worktree));
    let task = Task {
        record,
        repo,
        level: sandbox.level,
        writes: Vec::new(),
        scratch: Scratch::Session,
        env: Some(&config.env),
    };
    let (mut cage, env) = of_program(shared, task)?;
    if let Some(cage) = &mut cage {
        cage.read.extend([shared.settings.executable.clone(), shared.images_dir(record.id)]);
        cage.read.extend(listed(sandbox, &env));
        cage.read.extend(linked(config, repo));
        cage.read.extend(shared.agents.skill_directories());
        cage.write.extend(named(&sandbox.caches, &env));
        cage.write.extend(plan.and_then(Path::parent).map(Path::to_owned));
        match access {
            Access::Write => cage.write.push(tree),
            Access::ReadOnly => cage.read.push(tree),
        }
    }
    Ok((cage, env))
}

/// The variables that lead programs to a proxy on this machine.
pub(super) fn through_proxy(port: u16) -> [(String, String); 4] {
    let url = format!("http://127.0.0.1:{port}");
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name.to_owned(), url.clone()))
}

/// The directories that the user lists to be read.
pub(super) fn listed(sandbox: &Sandbox, env: &Environment) -> Vec<PathBuf> {
    named(&sandbox.read, env)
}

/// What one backend may write besides: what its row and the user say, such as the directory of its login.
fn backend_paths(config: &Config, spec: &Spec, env: &Environment) -> Vec<PathBuf> {
    let configured = config.backends.get(&spec.name).map(|own| named(&own.paths, env)).unwrap_or_default();
    named(&spec.paths, env).into_iter().chain(configured).collect()
}

/// Makes the directories and files that a backend may write: what is missing cannot be opened. A name with an extension is
/// that of a file, unless it ends in `/`.
fn create_backend_paths(shared: &Shared, config: &Config, spec: &Spec, env: &Environment) -> Result<(), Failure> {
    let own = [Some(shared.data.as_path()), shared.settings.user_file.parent()];
    let own: Vec<_> = own.into_iter().flatten().collect();
    let (paths, caches) = (backend_paths(config, spec, env), named(&config.sandbox.caches, env));
    if let Some(path) = paths.iter().chain(&caches).find(|path| own.iter().any(|own| holds_either(own, path))) {
        let message = format!("`{}` holds files of Coppice's own, which no agent may write", path.display());
        let hint = "take it out of `paths` or `sandbox.caches` in config.toml, then run `coppice resume`";
        return Err(Failure::new(FailureKind::Setup, message).with_hint(hint));
    }
    let writable = WritablePlaces::find(&[paths.as_slice(), &caches].concat());
    for path in paths.iter().filter(|path| path.symlink_metadata().is_err()) {
        let is_directory = path.extension().is_none() || path.as_os_str().as_bytes().ends_with(b"/");
        let made = if is_directory { writable.make_directory(path) } else { writable.make_file(path) };
        made.map_err(|source| failure(Fault::File { act: "create", path: path.clone(), source }))?;
    }
    Ok(())
}

/// Whether one of two paths is below the other, or the same.
fn holds_either(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Paths of a configuration. A relative one would be one of the agent's own.
fn named(paths: &[String], env: &Environment) -> Vec<PathBuf> {
    let home = env.get("HOME").map(PathBuf::from).unwrap_or_default();
    paths.iter().map(|path| at_home(path, &home)).filter(|path| path.is_absolute()).collect()
}

/// Which directories a session's worktree and its links are now. A running process keeps those that it was started with.
pub(super) fn identify_places(config: &Config, tree: &Worktree) -> Vec<Option<(u64, u64)>> {
    let places = std::iter::once(tree.path.clone()).chain(linked(config, &tree.repo));
    places.map(|path| path.metadata().ok().map(|found| (found.dev(), found.ino()))).collect()
}

/// Where the links lead that a project places into its work trees: into the checkout.
fn linked(config: &Config, repo: &Repo) -> Vec<PathBuf> {
    let links = config.worktree.link.iter().map(|pattern| places::fixed_part(pattern));
    // A pattern that begins with a wildcard would open all of it.
    let links: Vec<_> = links.filter(|link| !link.as_os_str().is_empty()).collect();
    // One that leads elsewhere on the way is not linked, either.
    let stays =
        |checkout: &Path, link: &PathBuf| checkout.join(link).canonicalize().is_ok_and(|at| at.starts_with(checkout));
    let within = |checkout: &Path| -> Vec<_> {
        links.iter().filter(|link| stays(checkout, link)).map(|link| checkout.join(link)).collect()
    };
    repo.checkout().map(within).unwrap_or_default()
}

/// The places that calls of a session are measured against.
pub(super) fn places(shared: &Shared, record: &Record, repo: &Repo, plan: Option<PathBuf>) -> Places {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let env = super::prepare::environment(shared, record);
    let own = [shared.session_dir(record.id).join(TEMP), caches_dir(shared, record.id)];
    let tree = real(Path::new(&record.body.worktree));
    Places {
        has_tree_secret: TREE_SECRETS.iter().any(|name| tree.join(name).exists()),
        tree,
        roots: own.iter().map(|path| real(path)).collect(),
        home: env.get("HOME").map(|home| real(Path::new(home))).unwrap_or_default(),
        state: real(&shared.data),
        checkout: repo.checkout().map(real),
        plan,
        remotes: remote_names(repo).unwrap_or_default(),
        readable: places::readable_by_tools(&env).into_iter().chain(shared.agents.skill_directories()).collect(),
    }
}

/// A session's own directory for temporary files, below its others.
const TEMP: &str = "tmp";
const CACHES: &str = "caches";

/// A session's own caches of build tools.
pub(super) fn caches_dir(shared: &Shared, session: SessionId) -> PathBuf {
    shared.session_dir(session).join(CACHES)
}

/// The crates of the user's own cargo that a session's base commit needs.
fn locked_crates(shared: &Shared, record: &Record, repo: &Repo, env: &Environment) -> Option<LockedCrates> {
    match shared.support.hold() {
        Hold::Enforced => {}
        // Nothing would keep the session from writing into the user's registry through the links.
        Hold::Advisory => return None,
    }
    let lock_file = repo.file_at(&record.body.base.commit.parse().ok()?, "Cargo.lock").ok()??;
    Some(LockedCrates::new(places::cargo_home(env)?.join("registry"), &String::from_utf8_lossy(&lock_file)))
}

/// The caches of an external server, which the sessions of a project share. A name from a configuration leads nowhere else.
fn server_caches(shared: &Shared, record: &Record, name: &str) -> PathBuf {
    shared.data.join(CACHES).join("mcp").join(&record.project).join(name.replace('/', "_"))
}

/// Directories and files that are made for a session, or for one of its commands.
struct Own {
    temp: PathBuf,
    caches: PathBuf,
    git_config: PathBuf,
    /// Copies of the user's settings for registries, and the variables that lead there.
    registries: PathBuf,
    registry_variables: Environment,
    registry_tokens: RegistryTokens,
}

impl Own {
    fn make(shared: &Shared, subject: &Subject<'_>) -> Result<Self, Fault> {
        let tokens = subject.settings.config.env.registry_tokens;
        let own = Self::of(shared, subject.record, &subject.tree.repo, Scratch::Session, tokens);
        own.map_err(|source| Fault::File { act: "prepare", path: shared.session_dir(subject.record.id), source })
    }

    fn of(
        shared: &Shared,
        record: &Record,
        repo: &Repo,
        scratch: Scratch<'_>,
        registry_tokens: RegistryTokens,
    ) -> io::Result<Self> {
        let (place, env) = (shared.session_dir(record.id), super::prepare::environment(shared, record));
        let (temp, caches) = match scratch {
            Scratch::Session => (place.join(TEMP), caches_dir(shared, record.id)),
            Scratch::Server(name) => (place.join(TEMP), server_caches(shared, record, name)),
            Scratch::New(directory) => (directory.join(TEMP), directory.join(CACHES)),
        };
        let registries = place.join(match registry_tokens {
            RegistryTokens::Withheld => "registries",
            RegistryTokens::Passed => "registries-with-tokens",
        });
        let registry_variables = registries::write_copies(&registries, &env, registry_tokens)?;
        let git_config = place.join("gitconfig");
        let own = Self { temp, caches, git_config, registries, registry_variables, registry_tokens };
        fs::create_dir_all(&own.temp)?;
        if !own.caches.exists() {
            let crates = match scratch {
                Scratch::Session | Scratch::New(_) => locked_crates(shared, record, repo, &env),
                Scratch::Server(_) => None,
            };
            create_caches(&own.caches, crates.as_ref())?;
        }
        cargo::write_settings(&cargo_settings(shared), &env)?;
        let identity = repo.identity().ok();
        let identity = identity.as_ref().map(|identity| (identity.name.as_str(), identity.email.as_str()));
        write_if_other(&own.git_config, &variables::git_config(identity, &repo.user_url_rewrites()))?;
        Ok(own)
    }

    /// The environment of a process with these.
    fn confine_environment(&self, mut env: Environment) -> Environment {
        if self.registry_tokens == RegistryTokens::Withheld {
            registries::withhold_tokens(&mut env);
        }
        let (temp, caches, git_config) = (&self.temp, &self.caches, &self.git_config);
        variables::confined(env, &Private { temp, caches, git_config, registries: &self.registry_variables })
    }
}

/// Where the user's settings for cargo are copied to: above all work trees, where cargo finds them, and out of the reach
/// of agents, who could otherwise have the copy written elsewhere by a link.
fn cargo_settings(shared: &Shared) -> PathBuf {
    shared.data.join(".cargo/config.toml")
}

/// What to tell a person whose cargo cannot work in a session. Without namespaces cargo sees the user's settings above the
/// work tree, and fails if it may not read them.
pub(super) fn cargo_warning(shared: &Shared, record: &Record) -> Option<String> {
    let (path, settings) = cargo::read_settings(&super::prepare::environment(shared, record))?;
    let is_needed = settings.has_secrets && shared.support.isolation() == Isolation::RulesOnly;
    let path = path.display();
    is_needed.then(|| {
        format!(
            "`{path}` is closed to agents because it may hold credentials: keep them in `credentials.toml` beside it"
        )
    })
}

fn write_if_other(path: &Path, text: &str) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(found) if found == text => Ok(()),
        Ok(_) | Err(_) => fs::write(path, text),
    }
}

/// The hosts of a session that may not reach all. Where those of its model are unknown, the configured ones, and else all.
fn hosts(sandbox: &Sandbox, spec: &Spec, role: Access, env: &Environment) -> Option<Vec<String>> {
    let env: Vec<_> = env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let model = backend::hosts::model_hosts(spec, &env);
    let listed = || model.iter().chain(&sandbox.hosts).cloned().collect();
    match (role, sandbox.level) {
        // Whoever only reads has nothing to fetch, and nothing to send.
        (Access::ReadOnly, _) if !model.is_empty() => Some(model),
        (Access::ReadOnly, Level::Workspace) if sandbox.hosts.is_empty() => None,
        (Access::ReadOnly, _) | (Access::Write, Level::Restricted) => Some(listed()),
        (Access::Write, Level::Workspace | Level::Off) => None,
    }
}

fn limits(shared: &Shared, subject: &Subject<'_>, own: &Own, env: &Environment, hosts: Hosts) -> Limits {
    let Subject { record, settings, spec, tree, access, plan, .. } = subject;
    let sandbox = &settings.config.sandbox;
    let mut read = places::common(env);
    read.extend(git_places(&tree.repo));
    read.extend(listed(sandbox, env));
    read.extend([
        own.git_config.clone(),
        own.registries.clone(),
        shared.images_dir(record.id),
        shared.neutral_dir(),
        shared.executable.clone(),
        cargo_settings(shared),
    ]);
    read.extend(cargo::open_settings(env));
    read.extend(linked(&settings.config, &tree.repo));
    read.extend(shared.agents.skill_directories());
    let state = shared.state_dir(record.id, &spec.name);
    let mut write = vec![own.temp.clone(), own.caches.clone(), state, PathBuf::from(SHARED_MEMORY)];
    write.extend(named(&sandbox.caches, env));
    write.extend(backend_paths(&settings.config, spec, env));
    match access {
        Access::Write => write.push(tree.path.clone()),
        Access::ReadOnly => read.push(tree.path.clone()),
    }
    write.extend(plan.and_then(Path::parent).map(Path::to_owned));
    let hidden = vec![shared.data.clone(), shared.worktrees(&record.project), shared.login_dir(&spec.name)];
    Limits { read, write, hidden, hosts }
}

/// What git reads of a repository: its own directory, and those that it borrows objects from.
fn git_places(repo: &Repo) -> Vec<PathBuf> {
    let common = repo.common_dir().to_owned();
    let borrowed = fs::read_to_string(common.join("objects/info/alternates")).unwrap_or_default();
    let borrowed: Vec<_> = borrowed.lines().map(|line| common.join("objects").join(line)).collect();
    std::iter::once(common).chain(borrowed).collect()
}

async fn cage(shared: &Shared, spec: &Spec, limits: &Limits, proxy: Option<&Proxy>) -> Result<Cage, Failure> {
    let network = match proxy {
        None => Network::Open,
        Some(proxy) => {
            let door = match spec.carrier {
                Carrier::Mcp => Some(shared.backends.door_port().await.map_err(no_proxy)?),
                Carrier::Pipe | Carrier::Dynamic => None,
            };
            Network::Ports(std::iter::once(proxy.port()).chain(door).collect())
        }
    };
    let isolation = shared.support.isolation();
    Ok(Cage { read: limits.read.clone(), write: limits.write.clone(), network, isolation })
}

fn no_proxy(error: io::Error) -> Failure {
    Failure::new(FailureKind::Sandbox, format!("failed to listen on the loopback for a confined session: {error}"))
}

fn at_home(path: &str, home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::environment::capture;
    use crate::backend::registry::{Configured, Registry};
    use crate::sandbox::support::{Landlock, Namespaces, ProcessView, Seccomp, User};

    #[test]
    fn a_worktree_is_used_again_only_after_a_session_in_namespaces() {
        for (namespaces, level, expected) in [
            (Namespaces::Work, "workspace", TreeReuse::Allowed),
            (Namespaces::Work, "restricted", TreeReuse::Allowed),
            // No agent has started yet.
            (Namespaces::Work, "", TreeReuse::Allowed),
            (Namespaces::Work, "off", TreeReuse::NotIsolated),
            (Namespaces::Refused(1), "workspace", TreeReuse::NotIsolated),
            (Namespaces::Untried, "restricted", TreeReuse::NotIsolated),
        ] {
            let (landlock, seccomp, user) = (Landlock::Version(7), Seccomp::Works, User::Ordinary);
            let support = Support { landlock, seccomp, namespaces, processes: ProcessView::All, user };
            let reach = ReachRecord { level: level.to_owned(), ..ReachRecord::default() };
            assert_eq!(tree_reuse(&support, &reach), expected, "{namespaces:?} {level}");
        }
    }

    #[test]
    fn a_variable_that_one_agents_configuration_names_is_for_that_agent_alone() {
        let home = tempfile::tempdir().unwrap();
        let config = "[model_providers.x]\nenv_key = \"X_TOKEN\"\nenv_http_headers = { a = \"X_TEAM\" }\n";
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/config.toml"), config).unwrap();
        let home = home.path().to_str().unwrap();
        let env: Environment = [("HOME", home), ("X_TOKEN", "t"), ("X_TEAM", "m"), ("Y_API_KEY", "y"), ("LANG", "C")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let preset = Configured { name: "codex-acp".to_owned(), ..Configured::default() };
        let registry = Registry::new(Path::new("/bin/coppice"), vec![preset]);
        let names = |backend: &str| {
            let env = own_keys(env.clone(), registry.get(backend).unwrap());
            env.into_keys().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("codex-acp"), "HOME LANG X_TEAM X_TOKEN");
        assert_eq!(names("codex"), "HOME LANG X_TEAM X_TOKEN");
        assert_eq!(names("claude"), "HOME LANG");
        assert_eq!(names("gemini"), "HOME LANG");
        assert_eq!(names("demo"), "HOME LANG Y_API_KEY");
    }

    #[test]
    fn variables_of_a_preset_reach_its_backend_alone() {
        let mut rows = backend::preset::specs();
        rows.extend(Registry::new(Path::new("/bin/coppice"), Vec::new()).all().cloned());
        let prefixes: Vec<String> = rows.iter().flat_map(|row| row.keys.clone()).collect();
        for prefix in prefixes.iter().filter(|key| is_for_preset(key)) {
            let name = if prefix.ends_with('_') { format!("{prefix}SETTING") } else { prefix.clone() };
            let env = capture([(name.clone().into(), "x".into())], |_| false);
            assert!(env.contains_key(&name), "{name} is not handed over");
            for row in &rows {
                let is_seen = own_keys(env.clone(), row).contains_key(&name);
                assert_eq!(is_seen, row.keys.contains(prefix), "{name} on {}", row.name);
            }
        }
        let is_known = |key: &str| is_for_preset(key) || is_listed(key) || is_listed(&format!("{key}SETTING"));
        for key in backend::preset::specs().iter().flat_map(|row| &row.keys) {
            assert!(is_known(key), "{key} is not handed over");
        }
    }
}
