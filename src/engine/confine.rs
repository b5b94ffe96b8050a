//! What the processes of a session may reach: composed anew for each start, from the session, its settings and what
//! the kernel gives.

mod places;
mod variables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::request::Environment;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{Carrier, ConfinedBy, Spec};
use crate::backend::transport::spawn::Spawner;
use crate::backend::{self, Access, Confines, Hosts, Limits};
use crate::config::confine::Sandbox;
use crate::git::{Repo, Worktree};
use crate::permission::{Hold, Level, Places};
use crate::sandbox::cage::{Cage, Network};
use crate::sandbox::proxy::{self, Proxy};
use crate::sandbox::support::Support;

use super::external::Servers;
use super::fault::Fault;
use super::prepare::failure;
use super::record::{ReachRecord, Record};
use super::settings::Settings;
use super::shared::Shared;
use super::spawn::{Kept, Supervised};
use variables::Private;

/// Who is to be confined, and for what.
pub(super) struct Subject<'a> {
    pub(super) record: &'a Record,
    pub(super) settings: &'a Settings,
    pub(super) spec: &'a Spec,
    pub(super) tree: &'a Worktree,
    pub(super) access: Access,
    /// The only file that may be written while a plan is made.
    pub(super) plan: Option<&'a Path>,
    /// External servers that live as long as the process.
    pub(super) servers: Option<&'a Arc<Servers>>,
}

/// Everything a start needs to be confined.
pub(super) struct Confined {
    pub(super) confines: Confines,
    pub(super) env: Environment,
    pub(super) spawn: Arc<dyn Spawner>,
}

/// Composes what a session's backend is started with.
pub(super) async fn compose(shared: &Shared, subject: &Subject<'_>, env: Environment) -> Result<Confined, Failure> {
    let (sandbox, servers) = (&subject.settings.config.sandbox, subject.servers.cloned());
    let registry = shared.settings.registry(&subject.settings.config);
    let others: Vec<String> = registry.all().flat_map(|spec| spec.keys.iter().cloned()).collect();
    let env = match subject.spec.keys.is_empty() {
        // An agent of no vendor may work with the models of any.
        true => env,
        false => variables::without_foreign_keys(env, &subject.spec.keys, &others),
    };
    if sandbox.level == Level::Off {
        let spawn = Arc::new(Supervised {
            executable: shared.executable.clone(),
            cage: None,
            kept: Kept { _proxy: None, _servers: servers },
        });
        return Ok(Confined { confines: Confines::default(), env, spawn });
    }
    let own = Own::make(shared, subject).map_err(|error| failure(error.into()))?;
    let hosts = hosts(sandbox, subject, &env);
    let proxy = match &hosts {
        Some(hosts) => Some(proxy::start(hosts.clone()).await.map_err(no_proxy)?),
        None => None,
    };
    let hosts = match (&hosts, &proxy) {
        (Some(hosts), Some(proxy)) => Hosts::Only { hosts: hosts.clone(), proxy: proxy.port() },
        (Some(_) | None, _) => Hosts::Any,
    };
    let limits = limits(shared, subject, &own, &env, hosts);
    let mut env = variables::confined(env, &own.private());
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
        cage,
        kept: Kept { _proxy: proxy.map(Arc::new), _servers: servers },
    });
    Ok(Confined { confines: Confines { limits: Some(limits), temp: Some(own.temp) }, env, spawn })
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

/// The cage of a hook that may write `directories`, and its environment.
pub(super) fn of_command(
    shared: &Shared,
    record: &Record,
    repo: &Repo,
    directories: &[PathBuf],
) -> io::Result<(Cage, Environment)> {
    let env = super::prepare::environment(shared, record);
    let own = Own::of(shared, record, repo)?;
    let mut read = places::common(&env);
    read.extend(git_places(repo));
    read.push(own.git_config.clone());
    let mut write = vec![own.temp.clone(), own.caches.clone(), PathBuf::from("/dev/shm")];
    write.extend_from_slice(directories);
    Ok((Cage { read, write, network: Network::Open }, variables::confined(env, &own.private())))
}

/// The places that calls of a session are measured against.
pub(super) fn places(shared: &Shared, record: &Record, repo: &Repo, plan: Option<PathBuf>) -> Places {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let env = super::prepare::environment(shared, record);
    let own = [shared.session_dir(record.id).join(TEMP), caches(shared, &record.project)];
    Places {
        tree: real(Path::new(&record.body.worktree)),
        roots: own.iter().map(|path| real(path)).collect(),
        home: env.get("HOME").map(|home| real(Path::new(home))).unwrap_or_default(),
        state: real(&shared.data),
        checkout: repo.checkout().map(real),
        plan,
        readable: places::common(&env),
    }
}

/// A session's own directory for temporary files, below its others.
const TEMP: &str = "tmp";

fn caches(shared: &Shared, project: &str) -> PathBuf {
    shared.data.join("caches").join(project)
}

/// Directories and files that are made for a session, or for all of its project.
struct Own {
    temp: PathBuf,
    caches: PathBuf,
    git_config: PathBuf,
}

impl Own {
    fn make(shared: &Shared, subject: &Subject<'_>) -> Result<Self, Fault> {
        let own = Self::of(shared, subject.record, &subject.tree.repo);
        own.map_err(|source| Fault::File { act: "prepare", path: shared.session_dir(subject.record.id), source })
    }

    fn of(shared: &Shared, record: &Record, repo: &Repo) -> io::Result<Self> {
        let place = shared.session_dir(record.id);
        let own = Self {
            temp: place.join(TEMP),
            caches: caches(shared, &record.project),
            git_config: place.join("gitconfig"),
        };
        fs::create_dir_all(&own.temp)?;
        fs::create_dir_all(own.caches.join("cargo"))?;
        let identity = repo.identity().ok();
        let identity = identity.as_ref().map(|identity| (identity.name.as_str(), identity.email.as_str()));
        write_if_other(&own.git_config, &variables::git_config(identity))?;
        // Mirrors and flags of the user's builds; keys are in another file.
        let home = super::prepare::environment(shared, record);
        let cargo = home.get("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.or_else(|| home.get("HOME").map(|home| Path::new(home).join(".cargo")));
        let settings = cargo.and_then(|cargo| fs::read_to_string(cargo.join("config.toml")).ok());
        write_if_other(&own.caches.join("cargo/config.toml"), &settings.unwrap_or_default())?;
        Ok(own)
    }

    fn private(&self) -> Private<'_> {
        Private { temp: &self.temp, caches: &self.caches, git_config: &self.git_config }
    }
}

fn write_if_other(path: &Path, text: &str) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(found) if found == text => Ok(()),
        Ok(_) | Err(_) => fs::write(path, text),
    }
}

/// The hosts of a session that may not reach all of them.
fn hosts(sandbox: &Sandbox, subject: &Subject<'_>, env: &Environment) -> Option<Vec<String>> {
    let env: Vec<_> = env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let model = || backend::hosts::model_hosts(subject.spec, &env);
    match (subject.access, sandbox.level) {
        // Whoever only reads has nothing to fetch, and nothing to send.
        (Access::ReadOnly, _) => Some(model()),
        (Access::Write, Level::Restricted) => Some(model().into_iter().chain(sandbox.hosts.iter().cloned()).collect()),
        (Access::Write, Level::Workspace | Level::Off) => None,
    }
}

fn limits(shared: &Shared, subject: &Subject<'_>, own: &Own, env: &Environment, hosts: Hosts) -> Limits {
    let Subject { record, settings, spec, tree, access, plan, .. } = subject;
    let sandbox = &settings.config.sandbox;
    let home = env.get("HOME").map(PathBuf::from).unwrap_or_default();
    let named = |path: &String| at_home(path, &home);
    let mut read = places::common(env);
    read.extend(git_places(&tree.repo));
    read.extend(sandbox.read.iter().map(named));
    read.extend([
        own.git_config.clone(),
        shared.images_dir(record.id),
        shared.neutral_dir(),
        shared.executable.clone(),
    ]);
    // Links that the project places lead into the checkout.
    let links = settings.config.worktree.link.iter().map(|pattern| places::fixed_part(pattern));
    read.extend(tree.repo.checkout().into_iter().flat_map(|checkout| links.clone().map(|link| checkout.join(link))));
    let state = shared.state_dir(record.id, &spec.name);
    let mut write = vec![own.temp.clone(), own.caches.clone(), state, PathBuf::from("/dev/shm")];
    write.extend(sandbox.caches.iter().map(named));
    write.extend(settings.config.backends.get(&spec.name).into_iter().flat_map(|own| own.paths.iter().map(named)));
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
    Ok(Cage { read: limits.read.clone(), write: limits.write.clone(), network })
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
