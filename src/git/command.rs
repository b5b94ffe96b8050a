//! The one place that runs `git`, the same way on every machine and safely in a worktree that an agent has written to.
//!
//! A run never discovers its repository, never asks a person, and obeys nothing that lies in a worktree: hooks and the
//! file system monitor are off, and attributes come from the base commit. Configuration is the user's and the
//! repository's own, out of an agent's reach. On a work tree the kernel confines it (`reach`), and it writes only where its
//! caller says.

#![expect(clippy::disallowed_methods, reason = "this is the one place that runs git")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tracing::debug;

use super::drain::{self, BlockingFile, Patience};
use super::lfs::{LfsConfigSource, LfsWorkTree};
use super::program;
use super::reach::{self, Fetching, ForeignCode, Reach, WorkTreeScope};
use super::stop::StopSignal;
use super::{GitError, Oid, Repo, Worktree};

/// `--attr-source` came with this version; without it an agent's attributes would choose the filters that run.
pub(crate) const OLDEST_GIT: &str = "2.41";
const OLDEST: (u32, u32) = (2, 41);

/// How much of a failed command's stderr is kept: its end, where the reason is.
const STDERR_TAIL: usize = 4096;

/// How long a run in a worktree may take that waits for no other machine.
const TIME: Duration = Duration::from_secs(600);

/// What a person may set for git by environment. Every other `GIT_*` variable of the daemon would redirect a run.
const KEPT_VARIABLES: [&str; 10] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

/// Settings of every run; each would otherwise start a program or reach beyond the one operation.
pub(super) const SETTINGS: [&str; 9] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.splitIndex=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "color.ui=false",
];

/// Settings of a run that has no business with the network.
pub(super) const OFFLINE: [&str; 3] = ["protocol.allow=never", "credential.helper=", "core.sshCommand=false"];

/// Variables that a confined run and its filters get, apart from git's own and those of the language. An agent chooses
/// what a filter works on, so that it must not find the user's tokens there.
const PLAIN_VARIABLES: [&str; 10] =
    ["HOME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER", "XDG_CONFIG_HOME"];

/// Variables with directories that programs load code or settings from, before they are confined or after.
const SEARCHED_VARIABLES: [&str; 5] =
    ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "GIT_EXEC_PATH", "TMPDIR", "XDG_CONFIG_HOME"];

/// A variable of the runs that must not outlive this process.
static MARK: OnceLock<(String, String)> = OnceLock::new();

/// Sets a variable for all runs but those that only talk to another repository, whose helpers may stay for a while. By it
/// somebody else finds runs that have outlived this process.
pub(crate) fn mark_runs(name: &str, value: &str) {
    // A second one would be the same.
    MARK.get_or_init(|| (name.to_owned(), value.to_owned()));
}

fn mark(command: &mut Command) {
    if let Some((name, value)) = MARK.get() {
        command.env(name, value);
    }
}

/// What a run works on.
enum RunScope {
    /// Objects, refs and settings, and no work tree.
    Repository { stop: StopSignal },
    /// A work tree: such a run is always confined.
    WorkTree { scope: WorkTreeScope, writes: Vec<PathBuf> },
}

/// One run of `git`, built up and then run.
pub(crate) struct Git {
    verb: &'static str,
    command: Command,
    directory: PathBuf,
    arguments: Vec<OsString>,
    fetching: Fetching,
    attributes: Option<Oid>,
    input: Option<Vec<u8>>,
    scope: RunScope,
}

impl Git {
    /// A run on the repository itself: objects and refs, no work tree.
    pub(crate) fn new(repo: &Repo, verb: &'static str) -> Self {
        let mut git = Self::start(verb, repo.common_dir());
        git.scope = RunScope::Repository { stop: repo.stop().clone() };
        git.command.env("GIT_DIR", repo.common_dir()).env("GIT_IMPLICIT_WORK_TREE", "0");
        git
    }

    /// A run in a session's worktree; attributes are those that its base decides on.
    pub(crate) fn in_tree(tree: &Worktree, verb: &'static str) -> Self {
        let git = Self::in_files(&tree.admin, &tree.path, WorkTreeScope::Session(tree.clone()), verb);
        git.attributes_from(tree.attributes)
    }

    /// A run in a checkout of the user's, given by its git directory and its files. The files decide about attributes, so
    /// this is for checkouts that no agent writes.
    pub(crate) fn in_checkout(git_dir: &Path, files: &Path, verb: &'static str) -> Self {
        Self::in_files(git_dir, files, WorkTreeScope::User { git_dir: git_dir.to_owned() }, verb)
    }

    fn in_files(git_dir: &Path, files: &Path, scope: WorkTreeScope, verb: &'static str) -> Self {
        let mut git = Self::start(verb, files);
        git.command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", files);
        Self { scope: RunScope::WorkTree { scope, writes: Vec::new() }, ..git }
    }

    fn start(verb: &'static str, directory: &Path) -> Self {
        let mut command = clean_command(program::git());
        command.current_dir(directory);
        Self {
            verb,
            command,
            directory: directory.to_owned(),
            arguments: Vec::new(),
            fetching: Fetching::Offline,
            attributes: None,
            input: None,
            scope: RunScope::Repository { stop: StopSignal::default() },
        }
    }

    /// The subcommand.
    pub(crate) fn verb(&self) -> &'static str {
        self.verb
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.arguments.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.arguments.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// One more setting, `name=value`, for this run.
    pub(crate) fn setting(mut self, setting: &'static str) -> Self {
        self.command.args(["-c", setting]);
        self
    }

    /// Works on another index than the checkout's own.
    pub(crate) fn index(self, index: &Path) -> Self {
        self.env("GIT_INDEX_FILE", index)
    }

    /// Takes attributes, and so the choice of filters, from this commit and not from files.
    pub(crate) fn attributes_from(mut self, commit: Oid) -> Self {
        self.attributes = Some(commit);
        self
    }

    /// Lets filters fetch what is missing, for checkouts of a repository that leaves content elsewhere.
    pub(crate) fn online(mut self) -> Self {
        self.fetching = match &self.scope {
            RunScope::Repository { .. } => Fetching::Allowed,
            RunScope::WorkTree { scope, .. } => scope.fetching(),
        };
        self
    }

    /// Lets a run on a work tree write below this directory. It writes nowhere else.
    pub(crate) fn writes(mut self, directory: &Path) -> Self {
        if let RunScope::WorkTree { writes, .. } = &mut self.scope {
            writes.push(directory.to_owned());
        }
        self
    }

    /// What the command reads from its standard input.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// A file that the command reads as its standard input.
    pub(crate) fn input_file(mut self, file: File) -> Self {
        self.command.stdin(file);
        self
    }

    /// Runs it and returns its output; an exit status other than 0 is an error.
    pub(crate) fn run(self) -> Result<Vec<u8>, GitError> {
        let verb = self.verb;
        let output = self.output()?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failed(verb, &output)),
        }
    }

    /// Runs it for the one object id that it prints.
    pub(crate) fn run_oid(self) -> Result<Oid, GitError> {
        let verb = self.verb;
        let output = self.run()?;
        Oid::from_output(&output)
            .ok_or_else(|| GitError::Unreadable { verb, detail: String::from_utf8_lossy(&output).into_owned() })
    }

    /// Runs it and leaves the exit status to the caller.
    pub(crate) fn output(self) -> Result<Output, GitError> {
        self.output_within(None)
    }

    /// Runs it until it has written more than `limit` bytes; its output can be longer by what was read at once.
    pub(super) fn output_up_to(self, limit: usize) -> Result<Output, GitError> {
        self.output_within(Some(limit))
    }

    fn output_within(mut self, output_limit: Option<usize>) -> Result<Output, GitError> {
        // There until the run has ended.
        let _lfs_work_tree = self.redirect_lfs()?;
        let (input, verb, directory) = (self.input.take(), self.verb, self.directory.clone());
        let time = match (&self.scope, self.fetching) {
            (RunScope::WorkTree { .. }, Fetching::Offline) => Some(TIME),
            (RunScope::WorkTree { .. }, Fetching::Allowed) | (RunScope::Repository { .. }, _) => None,
        };
        let (files, stop) = match &self.scope {
            RunScope::WorkTree { scope: WorkTreeScope::Session(tree), .. } => {
                (Some(directory.as_path()), tree.repo.stop().clone())
            }
            RunScope::WorkTree { scope: WorkTreeScope::User { .. }, .. } => {
                (Some(directory.as_path()), StopSignal::default())
            }
            RunScope::Repository { stop } => (None, stop.clone()),
        };
        let patience = Patience { time, files, stop, output_limit };
        let run = || {
            let (command, reach) = self.confine()?;
            run_fed(command, input, reach.as_ref(), patience)
        };
        run().map_err(|source| match source.downcast::<BlockingFile>() {
            Ok(BlockingFile(path)) => GitError::NotRegular { verb, path },
            Err(source) => match source.kind() {
                io::ErrorKind::TimedOut => GitError::TimedOut { verb, after: TIME },
                io::ErrorKind::Interrupted => GitError::Stopped { verb },
                _ => spawn_error(verb, &directory, source),
            },
        })
    }

    /// Lets the filters of git-lfs obey a `.lfsconfig` that no agent wrote, where they may reach other machines.
    fn redirect_lfs(&mut self) -> Result<Option<LfsWorkTree>, GitError> {
        let made = match (&self.scope, self.fetching) {
            (RunScope::Repository { .. }, _) | (RunScope::WorkTree { .. }, Fetching::Offline) => None,
            (RunScope::WorkTree { scope: WorkTreeScope::Session(tree), .. }, Fetching::Allowed) => {
                let config = Self::new(&tree.repo, "config").env("GIT_DIR", &tree.admin);
                LfsWorkTree::create(&tree.admin, config, &LfsConfigSource::Head(&tree.repo))?
            }
            (RunScope::WorkTree { scope: WorkTreeScope::User { git_dir }, .. }, Fetching::Allowed) => {
                let config = Self::in_checkout(git_dir, &self.directory, "config");
                LfsWorkTree::create(git_dir, config, &LfsConfigSource::Checkout(&self.directory))?
            }
        };
        self.command.envs(made.iter().flat_map(LfsWorkTree::variables));
        Ok(made)
    }

    /// Starts it for a conversation over its pipes.
    pub(crate) fn spawn(self) -> Result<Child, GitError> {
        let (verb, directory) = (self.verb, self.directory.clone());
        let start = || {
            let (mut command, reach) = self.confine()?;
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            reach::start(&mut command, reach.as_ref())
        };
        start().map_err(|source| spawn_error(verb, &directory, source))
    }

    /// Starts it in a process group of its own, with both of its streams in one pipe.
    pub(crate) fn spawn_group(self) -> Result<(PipeReader, Child), GitError> {
        let (verb, directory) = (self.verb, self.directory.clone());
        let start = || {
            let (mut command, reach) = self.confine()?;
            let (reader, writer) = io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer).process_group(0);
            let child = reach::start(&mut command, reach.as_ref())?;
            // Its ends of the pipe go with the command: the reader waits for the child alone.
            drop(command);
            Ok((reader, child))
        };
        start().map_err(|source| spawn_error(verb, &directory, source))
    }

    /// The finished command, and what the thread that starts it is confined to.
    fn confine(self) -> io::Result<(Command, Option<Reach>)> {
        let (reach, code) = match &self.scope {
            RunScope::Repository { .. } => {
                let fetching = self.fetching;
                let mut command = self.finish(ForeignCode::Impossible);
                if fetching == Fetching::Offline {
                    mark(&mut command);
                }
                return Ok((command, None));
            }
            RunScope::WorkTree { scope, writes } => {
                let code = scope.foreign_code();
                (scope.reach(writes, self.fetching, code), code)
            }
        };
        confine(self.finish(code), reach, code)
    }

    fn finish(self, code: ForeignCode) -> Command {
        let Self { verb, mut command, directory, arguments, fetching, attributes, input: _, scope } = self;
        let offline: &[&str] = match fetching {
            Fetching::Offline => &OFFLINE,
            Fetching::Allowed => &[],
        };
        match (scope, fetching, code) {
            (RunScope::WorkTree { .. }, Fetching::Offline, _)
            | (RunScope::WorkTree { .. }, Fetching::Allowed, ForeignCode::Possible) => {
                keep_plain_environment(&mut command);
            }
            (RunScope::WorkTree { .. }, Fetching::Allowed, ForeignCode::Impossible)
            | (RunScope::Repository { .. }, ..) => {}
        }
        for setting in SETTINGS.iter().chain(offline) {
            command.args(["-c", setting]);
        }
        if fetching == Fetching::Offline {
            // Unlike the settings above, this also counts where the repository allows a protocol by its name.
            command.env("GIT_ALLOW_PROTOCOL", "");
        }
        if let Some(commit) = attributes {
            command.arg(format!("--attr-source={commit}"));
        }
        command.arg(verb).args(&arguments);
        debug!(verb, ?arguments, directory = %directory.display(), "git started");
        command
    }
}

/// The error of a command that ended badly, with the end of what it said.
pub(crate) fn failed(verb: &'static str, output: &Output) -> GitError {
    GitError::Failed { verb, status: output.status, stderr: tail(&output.stderr) }
}

/// What the `git` on PATH calls itself.
pub(crate) fn version() -> Result<String, GitError> {
    let verb = "version";
    version_of(program::git())?;
    let output = clean_command(program::git()).arg(verb).output();
    let output = output.map_err(|source| spawn_error(verb, Path::new("/"), source))?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.trim().trim_start_matches("git version ").to_owned())
}

/// Checks once per process that the `git` on PATH is there and can do what is asked of it.
pub(crate) fn check_version() -> Result<(), GitError> {
    static CHECKED: OnceLock<()> = OnceLock::new();
    if CHECKED.get().is_none() {
        version_of(program::git())?;
        CHECKED.get_or_init(|| ());
    }
    Ok(())
}

fn version_of(git: &Path) -> Result<(), GitError> {
    let verb = "version";
    let output = clean_command(git).arg(verb).output().map_err(|source| spawn_error(verb, Path::new("/"), source))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match parse_version(&said) {
        Some(version) if version >= OLDEST => Ok(()),
        Some((major, minor)) => Err(GitError::ProgramTooOld { found: format!("{major}.{minor}"), needed: OLDEST_GIT }),
        None => Err(GitError::Unreadable { verb, detail: said.into_owned() }),
    }
}

/// Reads major and minor out of `git version 2.47.3 (vendor's words)`.
fn parse_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A `git` without repository, cleared of what the daemon's environment could tell it.
fn clean_command(git: &Path) -> Command {
    let mut command = Command::new(git);
    command.stdin(Stdio::null()).env("PATH", program::search_path());
    // What is relative leads to files of an agent's.
    for name in SEARCHED_VARIABLES {
        match std::env::var_os(name).map(|entries| program::absolute_entries(&entries)) {
            Some(entries) if !entries.is_empty() => command.env(name, entries),
            Some(_) | None => command.env_remove(name),
        };
    }
    for (name, _) in std::env::vars_os() {
        let is_git = name.to_str().is_some_and(|name| name.starts_with("GIT_") && !KEPT_VARIABLES.contains(&name));
        if is_git {
            command.env_remove(name);
        }
    }
    // Its output is parsed, so it must not be translated.
    command.env("LC_MESSAGES", "C").env_remove("LC_ALL").env_remove("LANGUAGE");
    // There is no terminal: a question would hang the session for good.
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("SSH_ASKPASS", "");
    // A run that only reads leaves the index of the user or the session alone.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    // A path is a path, whatever characters are in it.
    command.env("GIT_LITERAL_PATHSPECS", "1");
    // Unit tests share one process, whose environment they cannot change.
    #[cfg(test)]
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("EMAIL");
    command
}

/// Leaves a command the variables that it needs, and none that could be a secret.
fn keep_plain_environment(command: &mut Command) {
    let is_plain = |name: &str| name.starts_with("GIT_") || name.starts_with("LC_") || PLAIN_VARIABLES.contains(&name);
    for (name, _) in std::env::vars_os() {
        if !name.to_str().is_some_and(is_plain) {
            command.env_remove(name);
        }
    }
}

/// A command that confines itself, or one that is started from a thread that is confined to its paths.
fn confine(mut command: Command, reach: Reach, code: ForeignCode) -> io::Result<(Command, Option<Reach>)> {
    mark(&mut command);
    match code {
        ForeignCode::Impossible => Ok((command, Some(reach))),
        ForeignCode::Possible => Ok((reach::enclose(command, &reach)?, None)),
    }
}

/// Runs another program of the user's in a session's worktree, confined as a checkout is. It may run what lies there.
pub(super) fn output_confined(mut command: Command, tree: &Worktree) -> io::Result<Output> {
    let scope = WorkTreeScope::Session(tree.clone());
    let (fetching, code) = (scope.fetching(), ForeignCode::Possible);
    let reach = scope.reach(std::slice::from_ref(&tree.path), fetching, code);
    keep_plain_environment(&mut command);
    command.env("PATH", program::search_path());
    let time = match fetching {
        Fetching::Offline => Some(TIME),
        Fetching::Allowed => None,
    };
    let (mut command, reach) = confine(command, reach, code)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let patience = Patience { time, files: Some(&tree.path), stop: tree.repo.stop().clone(), output_limit: None };
    drain::until(reach::start(&mut command, reach.as_ref())?, patience)
}

/// Runs to the end; input is written from a thread of its own, so that a full pipe on one side cannot block the other.
fn run_fed(
    mut command: Command,
    input: Option<Vec<u8>>,
    reach: Option<&Reach>,
    patience: Patience<'_>,
) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let Some(input) = input else { return drain::until(reach::start(&mut command, reach)?, patience) };
    let mut child = reach::start(command.stdin(Stdio::piped()), reach)?;
    let pipe = child.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A command that ends early closes the pipe; its exit status says why.
            pipe.and_then(|mut pipe| pipe.write_all(&input).ok())
        });
        drain::until(child, patience)
    })
}

/// A missing directory and a missing program look the same to the operating system.
fn spawn_error(verb: &'static str, directory: &Path, source: io::Error) -> GitError {
    match source.kind() {
        io::ErrorKind::NotFound if directory.is_dir() => GitError::ProgramMissing,
        io::ErrorKind::NotFound => GitError::TreeMissing { path: directory.to_owned() },
        _ => GitError::Spawn { verb, source },
    }
}

/// The last part of what a command complained about.
pub(crate) fn tail(stderr: &[u8]) -> String {
    let start = stderr.len().saturating_sub(STDERR_TAIL);
    String::from_utf8_lossy(&stderr[start..]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_in_every_vendors_spelling() {
        for (said, expected) in [
            ("git version 2.47.3\n", Some((2, 47))),
            ("git version 2.41.0.windows.1\n", Some((2, 41))),
            ("git version 2.39.5 (Apple Git-154)\n", Some((2, 39))),
            ("git version 3.0.rc1", Some((3, 0))),
            ("git version next", None),
            ("zsh: command not found", None),
            ("", None),
        ] {
            assert_eq!(parse_version(said), expected, "{said}");
        }
    }

    #[test]
    fn a_missing_or_old_program_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let fake = dir.path().join("git");
        assert!(matches!(version_of(&fake), Err(GitError::ProgramMissing)));
        assert!(matches!(check_version(), Ok(())));
        let old = GitError::ProgramTooOld { found: "2.39".into(), needed: OLDEST_GIT };
        assert_eq!(old.to_string(), "git 2.39 is too old: at least 2.41 is needed");
        assert_eq!(old.hint().as_deref(), Some("install git 2.41 or later"));
    }

    #[test]
    fn only_the_end_of_a_long_complaint_is_kept() {
        let long = [b"x".repeat(9000), b"the reason\n".to_vec()].concat();
        assert_eq!(tail(&long).len(), STDERR_TAIL - 1);
        assert!(tail(&long).ends_with("the reason"));
    }
}
