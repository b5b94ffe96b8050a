//! What a run of git on a work tree may reach.
//!
//! Git looks at a path and then opens it, and between the two an agent's process can swap a directory for a link. What is
//! read or written then is the user's. So the thread that starts such a run is confined first, and the kernel confines git
//! and its filters to the paths that are listed here. A run writes nothing that its caller does not name, and nobody names
//! hooks, settings, refs or another worktree's git directory. How a thread is confined is not known here: somebody says it
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread;

use rustix::fs::{AtFlags, Mode};

use super::{Worktree, repo};

/// The places of one run. What does not exist is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    pub read: Read,
    /// Directories that may be changed, and read.
    pub write: Vec<PathBuf>,
    pub fetching: Fetching,
}

/// What a run may read besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// A run that may fetch what is missing needs the user's keys, whose places nobody can list.
    Everything,
    /// What programs need, and these.
    Only(Vec<PathBuf>),
}

/// How runs are confined.
pub trait Confinement: Send + Sync {
    /// Confines the thread that calls it, and all that it starts.
    fn hold_thread(&self, reach: &Reach) -> io::Result<()>;
    /// What runs a command, in a directory and with an environment, so that nothing it starts reaches another process, or
    /// outlives it or this process.
    fn enclose(&self, reach: &Reach, directory: &Path, env: Vec<(String, String)>) -> io::Result<Enclosure>;
    /// Changes the mode of an entry of a directory, and of nothing that a link in its place leads to.
    fn set_mode(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()>;
}

/// A program that runs the command that follows its own arguments.
#[derive(Debug)]
pub struct Enclosure {
    pub program: PathBuf,
    pub argument: &'static str,
    /// Its whole environment.
    pub variable: (&'static str, OsString),
}

static CONFINEMENT: OnceLock<Box<dyn Confinement>> = OnceLock::new();

/// Says how runs are confined, once for all runs of this process.
pub fn confine_by(confinement: impl Confinement + 'static) {
    // A second one would do the same.
    CONFINEMENT.get_or_init(|| Box::new(confinement));
}

/// Largest file of settings that is looked into.
const LARGEST: u64 = 1 << 20;

/// Settings whose values are files that git reads.
const FILES: [&str; 4] = ["excludesfile", "attributesfile", "ignorerevsfile", "file"];
/// The setting that names further settings.
const INCLUDE: &str = "path";

/// Where filters keep the content that they replace by a pointer, below the common git directory. Large-file storage and
/// git-annex read and fill these; nothing in them is a setting or a hook.
const CONTENT_STORES: [&str; 2] = ["lfs", "annex"];

/// The files that a run works on.
pub(super) enum WorkTreeScope {
    /// A session's worktree, where an agent may be at work, or a temporary checkout of what an agent wrote.
    Session(Worktree),
    /// A checkout of the user's, which no agent writes, by its git directory.
    User { git_dir: PathBuf },
}

/// Whether a run waits for other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetching {
    Offline,
    Allowed,
}

/// Whether a run may execute what an agent wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignCode {
    Impossible,
    Possible,
}

impl WorkTreeScope {
    /// Whether a checkout may fetch: only where the repository leaves content elsewhere, which the user has set up.
    pub(super) fn fetching(&self) -> Fetching {
        let common = match self {
            Self::Session(tree) => tree.repo.common_dir(),
            Self::User { git_dir } => common_dir(git_dir),
        };
        if may_fetch(common) { Fetching::Allowed } else { Fetching::Offline }
    }

    /// Whether git may run a program that lies in the worktree: a filter or a merge driver of the user's can name one.
    pub(super) fn foreign_code(&self) -> ForeignCode {
        match self {
            Self::Session(tree) if tree.repo.runs_programs(&tree.admin) => ForeignCode::Possible,
            Self::Session(_) | Self::User { .. } => ForeignCode::Impossible,
        }
    }

    /// The paths of a run that writes what its caller named.
    pub(super) fn reach(&self, writes: &[PathBuf], fetching: Fetching, code: ForeignCode) -> Reach {
        let mut write: Vec<_> = writes.iter().map(|path| real(path)).collect();
        match self {
            Self::Session(tree) => {
                let common = tree.repo.common_dir();
                // What writes files can be led into a store by a swapped directory; what only reads them cannot.
                let files = real(&tree.path);
                let writes_files = write.iter().any(|path| files.starts_with(path));
                if !writes_files || fetching == Fetching::Allowed {
                    write.extend(content_stores(common));
                }
                let read = match (fetching, code) {
                    (Fetching::Allowed, ForeignCode::Impossible) => Read::Everything,
                    (Fetching::Offline, _) | (Fetching::Allowed, ForeignCode::Possible) => Read::Only(readable(tree)),
                };
                Reach { read, write, fetching }
            }
            Self::User { git_dir } => {
                write.extend(content_stores(common_dir(git_dir)));
                Reach { read: Read::Everything, write, fetching }
            }
        }
    }
}

/// Whether a checkout may have to fetch content: large-file storage and git-annex keep a store of it, and a partial clone
/// names the remote that has the rest.
pub(super) fn may_fetch(common: &Path) -> bool {
    let has_promisor = || {
        let config = repo::open_exactly(common).ok()?.config().ok()?.snapshot().ok()?;
        let mut found = config.entries(Some(r"^remote\..*\.promisor$")).ok()?;
        found.next().map(|_| ())
    };
    content_stores(common).next().is_some() || has_promisor().is_some()
}

fn content_stores(common: &Path) -> impl Iterator<Item = PathBuf> {
    CONTENT_STORES.iter().map(|name| common.join(name)).filter(|path| path.is_dir()).map(|path| real(&path))
}

/// The common git directory of a checkout.
fn common_dir(git_dir: &Path) -> &Path {
    let above = git_dir.parent().filter(|above| above.file_name().is_some_and(|name| name == "worktrees"));
    above.and_then(Path::parent).unwrap_or(git_dir)
}

/// What an offline run in a session's worktree reads, besides what programs need.
fn readable(tree: &Worktree) -> Vec<PathBuf> {
    let common = tree.repo.common_dir();
    let borrowed = fs::read_to_string(common.join("objects/info/alternates")).unwrap_or_default();
    let borrowed = borrowed.lines().map(|line| common.join("objects").join(line));
    let own = [tree.path.clone(), tree.admin.clone(), common.to_owned()];
    own.into_iter().chain(borrowed).chain(users_files(common)).map(|path| real(&path)).collect()
}

/// Changes the mode of an entry of a directory. Where nobody said how to do that without following a link that is put in its
/// place at this moment, nobody is at work there.
pub(super) fn set_mode(directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
    match CONFINEMENT.get() {
        Some(confinement) => confinement.set_mode(directory, name, mode),
        None => Ok(rustix::fs::chmodat(directory, name, mode, AtFlags::empty())?),
    }
}

/// Starts a command, confined to its paths if it has any and somebody said how.
pub(super) fn start(command: &mut Command, reach: Option<&Reach>) -> io::Result<Child> {
    start_by(command, reach.zip(CONFINEMENT.get().map(Box::as_ref)))
}

/// The command as it is to be started if it may execute what an agent wrote, if somebody said how.
#[expect(clippy::disallowed_methods, reason = "this is where an enclosed git starts")]
pub(super) fn enclose(command: Command, reach: &Reach) -> io::Result<Command> {
    let Some(confinement) = CONFINEMENT.get() else { return Ok(command) };
    let directory = command.get_current_dir().unwrap_or(Path::new("/"));
    let Enclosure { program, argument, variable: (name, value) } =
        confinement.enclose(reach, directory, environment_of(&command))?;
    let mut enclosed = Command::new(program);
    enclosed.arg(argument).arg(command.get_program()).args(command.get_args());
    // Neither may choose what our own program loads.
    enclosed.current_dir("/").env_clear().env(name, value);
    Ok(enclosed)
}

/// The variables that a command would get, apart from those that are not UTF-8.
fn environment_of(command: &Command) -> Vec<(String, String)> {
    let mut env: BTreeMap<OsString, OsString> = env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => env.insert(name.to_owned(), value.to_owned()),
            None => env.remove(name),
        };
    }
    env.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

fn start_by(command: &mut Command, held: Option<(&Reach, &dyn Confinement)>) -> io::Result<Child> {
    let Some((reach, confinement)) = held else { return command.spawn() };
    let spawn = || {
        confinement.hold_thread(reach)?;
        command.spawn()
    };
    // What the thread is held to ends with it, and goes on in the child.
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("held git".to_owned()).spawn_scoped(scope, spawn)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts git panicked")))
    })
}

/// The user's settings for git and the files that these name. None of them is in an agent's reach, so that more of them
/// than git reads may be listed, and one that is missed makes git complain.
fn users_files(common: &Path) -> BTreeSet<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let xdg = env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let xdg = xdg.unwrap_or_else(|| home.join(".config")).join("git");
    let named = |name: &str| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let own = [home.join(".gitconfig"), xdg.join("config"), PathBuf::from("/etc/gitconfig"), common.join("config")];
    let mut wanted: Vec<_> = own
        .into_iter()
        .chain(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().filter_map(|name| named(name)))
        .collect();
    // Beside them lies what a helper keeps passwords in.
    let mut found: BTreeSet<_> = ["ignore", "attributes"].map(|name| xdg.join(name)).into();
    while let Some(settings) = wanted.pop() {
        if !found.insert(settings.clone()) {
            continue;
        }
        let beside = settings.parent().unwrap_or(Path::new("/"));
        for (key, value) in values(&text(&settings)) {
            let path = match value.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => beside.join(value),
            };
            match key.as_str() {
                INCLUDE => wanted.push(path),
                _ => drop(found.insert(path)),
            }
        }
    }
    found
}

fn text(settings: &Path) -> String {
    let is_read = fs::metadata(settings).is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
    is_read
        .then(|| fs::read(settings).ok())
        .flatten()
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .unwrap_or_default()
}

/// The values of a file of settings that may name files, whatever their section and whether its condition holds.
fn values(settings: &str) -> Vec<(String, String)> {
    let read = |line: &str| {
        // A section may share its line with the first setting.
        let line = line.trim_start();
        let line = if line.starts_with('[') { line.rsplit_once(']')?.1 } else { line };
        let (key, value) = line.split_once('=')?;
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim().trim_matches('"').replace("\\\\", "\\").replace("\\\"", "\"");
        (key == INCLUDE || FILES.contains(&key.as_str())).then_some((key, value))
    };
    settings.lines().filter_map(read).collect()
}

/// A rule is made for what is there and not for a link to it.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::slice;

    use super::*;
    use crate::git::testkit::Sandbox;

    #[test]
    fn settings_name_files_in_every_spelling() {
        let settings = "[core]\n\texcludesFile = ~/.gitignore\n attributesfile=\"/a b\"\n[include] path = more\n\
            [includeIf \"gitdir:~/src/\"]\n\tpath = ~/work.inc\n# path = no\n[user]\n\tname = path = x\n\
            [blame]\nignoreRevsFile = .revs\n[alias]\nx = !cat path\npath";
        let expected = [
            ("excludesfile", "~/.gitignore"),
            ("attributesfile", "/a b"),
            ("path", "more"),
            ("path", "~/work.inc"),
            ("ignorerevsfile", ".revs"),
        ];
        let found = values(settings);
        assert_eq!(found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_run_writes_what_its_caller_names_and_never_the_git_directory() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let common = tree.repo.common_dir().to_owned();
        let (own, lfs) = (tree.admin.join("private"), common.join("lfs"));
        let scope = WorkTreeScope::Session(tree.clone());
        let written = |writes: &[PathBuf]| scope.reach(writes, scope.fetching(), ForeignCode::Impossible).write;
        assert_eq!(scope.fetching(), Fetching::Offline);
        assert_eq!(written(&[]), [] as [PathBuf; 0]);
        assert_eq!(written(&[own.clone(), tree.path.clone()]), [own.clone(), tree.path.clone()]);

        // A filter that only reads files fills its store; a checkout does so where it may have to fetch.
        fs::create_dir(&lfs).unwrap();
        assert_eq!(scope.fetching(), Fetching::Allowed);
        assert_eq!(scope.reach(&[], Fetching::Offline, ForeignCode::Impossible).write, slice::from_ref(&lfs));
        assert_eq!(
            scope.reach(slice::from_ref(&tree.path), Fetching::Offline, ForeignCode::Impossible).write,
            slice::from_ref(&tree.path)
        );
        assert_eq!(written(slice::from_ref(&tree.path)), [tree.path.clone(), lfs.clone()]);
        fs::remove_dir(&lfs).unwrap();
        sandbox.git(&["config", "remote.origin.promisor", "true"]);
        assert_eq!(scope.fetching(), Fetching::Allowed);
        assert_eq!(written(slice::from_ref(&own)), slice::from_ref(&own));

        // A checkout of the user's, by either kind of git directory.
        for git_dir in [common.clone(), tree.admin] {
            let scope = WorkTreeScope::User { git_dir };
            assert_eq!(scope.fetching(), Fetching::Allowed);
            assert_eq!(
                scope.reach(slice::from_ref(&own), Fetching::Allowed, ForeignCode::Impossible).write,
                slice::from_ref(&own)
            );
            assert_eq!(scope.reach(&[], Fetching::Offline, ForeignCode::Impossible).write, [] as [PathBuf; 0]);
        }
        sandbox.git(&["config", "--unset", "remote.origin.promisor"]);
        assert_eq!(WorkTreeScope::User { git_dir: common }.fetching(), Fetching::Offline);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a command")]
    fn a_thread_is_held_before_the_command_starts_and_others_are_not() {
        /// Refuses or not, and encloses nothing.
        struct Threads(fn(&Reach) -> io::Result<()>);
        impl Confinement for Threads {
            fn hold_thread(&self, reach: &Reach) -> io::Result<()> {
                self.0(reach)
            }
            fn enclose(&self, _: &Reach, _: &Path, _: Vec<(String, String)>) -> io::Result<Enclosure> {
                Err(io::ErrorKind::Unsupported.into())
            }
            fn set_mode(&self, _: BorrowedFd<'_>, _: &OsStr, _: Mode) -> io::Result<()> {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
        let (write, fetching) = (vec![PathBuf::from("/tree")], Fetching::Offline);
        let reach = Reach { read: Read::Everything, write, fetching };
        let refuse = Threads(|held| Err(io::Error::other(held.write[0].display().to_string())));
        let mut command = Command::new("true");
        command.stdout(Stdio::null());
        assert_eq!(start_by(&mut command, Some((&reach, &refuse))).unwrap_err().to_string(), "/tree");
        assert!(start_by(&mut command, Some((&reach, &Threads(|_| Ok(()))))).unwrap().wait().unwrap().success());
        assert!(start_by(&mut command, None).unwrap().wait().unwrap().success());
    }
}
