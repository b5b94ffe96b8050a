//! A repository: found once from the user's directory, then named by its common directory only.
//!
//! Handles of libgit2 are opened on the common directory, never on a session's worktree, and are not kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ConfigLevel, ErrorCode, Repository, RepositoryOpenFlags};

use super::command::{self, Git};
use super::stop::StopSignal;
use super::{GitError, Oid, driver};

/// A git repository, however many worktrees it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    common_dir: PathBuf,
    checkout: Option<PathBuf>,
    programs: ProgramCheck,
    stop: RunStop,
}

/// What ends runs on this value and in its worktrees. It says nothing about the repository, so all of them are equal.
#[derive(Debug, Clone, Default)]
struct RunStop(StopSignal);

impl PartialEq for RunStop {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for RunStop {}

/// Whether the user has set filters or merge drivers, by the git directory of a worktree, as soon as somebody has asked. Two values that know different things are equal.
#[derive(Debug, Clone, Default)]
struct ProgramCheck(Arc<Mutex<HashMap<PathBuf, bool>>>);

impl PartialEq for ProgramCheck {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ProgramCheck {}

/// What a session starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// As people know it: a branch or tag name, or a short commit id.
    pub name: String,
    /// Full ref name of the branch that the work is merged into; none for a tag, a commit or a detached head.
    pub branch: Option<String>,
    pub commit: Oid,
}

/// Who commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

impl Repo {
    /// Finds the repository that `dir` is in: a checkout, a linked worktree or a bare repository with a commit.
    pub fn discover(dir: &Path) -> Result<Self, GitError> {
        command::check_version()?;
        let found = discover_handle(dir)?;
        match has_commits(&found)? {
            true => Self::of(&found),
            false => Err(GitError::NoCommits { path: dir.to_owned() }),
        }
    }

    /// The repository that a handle was opened on, from wherever.
    pub(super) fn of(found: &Repository) -> Result<Self, GitError> {
        let common_dir = canonical(found.commondir())?;
        let checkout = match found.is_worktree() {
            true => main_checkout(&common_dir)?,
            false => found.workdir().map(canonical).transpose()?,
        };
        Ok(Self { common_dir, checkout, programs: ProgramCheck::default(), stop: RunStop::default() })
    }

    /// Whether git runs programs that the user has named when it reads, writes or merges files; also if that cannot be found out.
    /// Settings can depend on the branch of a worktree, so its own git directory is asked.
    pub(super) fn runs_programs(&self, git_dir: &Path) -> bool {
        let ask =
            || driver::has_filter_or_merge_driver(Git::new(self, "config").env("GIT_DIR", git_dir)).unwrap_or(true);
        let mut known = self.programs.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(git_dir.to_owned()).or_insert_with(ask)
    }

    /// The same repository, where a signal ends the runs of git on it and in the worktrees of sessions.
    pub fn stopped_by(&self, stop: StopSignal) -> Self {
        Self { stop: RunStop(stop), ..self.clone() }
    }

    /// The same repository, where nothing ends a run: for what must not be cut off halfway.
    pub(super) fn unstoppable(&self) -> Self {
        self.stopped_by(StopSignal::default())
    }

    pub(super) fn stop(&self) -> &StopSignal {
        &self.stop.0
    }

    /// The directory that holds objects, refs and configuration.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Whether one of these commits is in the repository.
    pub fn has_commit(&self, commits: &[String]) -> Result<bool, GitError> {
        let repo = self.open()?;
        let is_there = |id: &String| git2::Oid::from_str(id).is_ok_and(|id| repo.find_commit(id).is_ok());
        Ok(commits.iter().any(is_there))
    }

    /// The user's main checkout; none for a bare repository.
    pub fn checkout(&self) -> Option<&Path> {
        self.checkout.as_deref()
    }

    /// Finds what a session starts from: `wanted`, or what is checked out in `from`, a directory of the user.
    pub fn resolve_base(&self, from: &Path, wanted: Option<&str>) -> Result<Base, GitError> {
        let here = open(from, RepositoryOpenFlags::empty())?;
        if canonical(here.commondir())? != self.common_dir {
            return Err(GitError::OtherRepository { path: from.to_owned(), repo: self.common_dir.clone() });
        }
        match wanted {
            None => current_base(&here, from),
            Some(name) => named_base(&here, name),
        }
    }

    /// The user's identity, as `git commit` would find it, but never one made up from the machine's name.
    pub fn identity(&self) -> Result<Identity, GitError> {
        let output = Git::new(self, "var").setting("user.useConfigOnly=true").arg("GIT_COMMITTER_IDENT").output()?;
        match output.status.success() {
            true => parse_identity(&output.stdout)
                .ok_or_else(|| GitError::Unreadable { verb: "var", detail: "no identity in it".to_owned() }),
            false => Err(GitError::NoIdentity),
        }
    }

    /// The addresses that the user's own settings of git replace: `url.BASE.insteadOf`, as base and what it replaces.
    pub fn user_url_rewrites(&self) -> Vec<(String, String)> {
        let mut rewrites = Vec::new();
        let config = self.open().ok().and_then(|repo| repo.config().ok());
        let entries = config.as_ref().and_then(|config| config.entries(Some(r"^url\..*\.insteadof$")).ok());
        let read = entries.map(|entries| {
            entries.for_each(|entry| {
                let is_users = matches!(entry.level(), ConfigLevel::Global | ConfigLevel::XDG);
                let name = entry.name().unwrap_or_default();
                let base = name.strip_prefix("url.").and_then(|name| name.strip_suffix(".insteadof"));
                if let (true, Some(base), Ok(replaced)) = (is_users, base, entry.value()) {
                    rewrites.push((base.to_owned(), replaced.to_owned()));
                }
            })
        });
        // Settings that cannot be read rewrite nothing.
        read.transpose().ok();
        rewrites
    }

    /// Refuses a repository in which no branch below `coppice/` can be made.
    pub fn check_namespace(&self) -> Result<(), GitError> {
        let taken = self.open()?.find_reference("refs/heads/coppice").is_ok();
        match taken {
            true => Err(GitError::NamespaceTaken { branch: "coppice".to_owned() }),
            false => Ok(()),
        }
    }

    /// The commit a ref points at, if it exists; `name` is a full ref name.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>, GitError> {
        match self.open()?.find_reference(name).and_then(|reference| reference.peel_to_commit()) {
            Ok(commit) => Ok(Some(commit.id().into())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(source) => Err(GitError::Library { act: format!("read `{name}`"), source }),
        }
    }

    /// A handle for reads and for writes of objects and refs; opened on the common directory, so that nothing in a
    /// worktree is read.
    pub(crate) fn open(&self) -> Result<Repository, GitError> {
        open_exactly(&self.common_dir)
    }
}

/// Opens the repository around a directory of the user. A git directory among the files of another repository is refused:
/// whoever has work merged there can write all of it, settings that run programs included. Its own settings say nothing
/// about that; a directory named `.git` is no part of any commit.
pub(super) fn discover_handle(dir: &Path) -> Result<Repository, GitError> {
    let found = open(dir, RepositoryOpenFlags::empty())?;
    let (git_dir, dir) = (canonical(found.path())?, canonical(dir)?);
    let is_below_name = git_dir.components().any(|part| part.as_os_str() == ".git");
    let is_found_by_name = !dir.starts_with(&git_dir) || is_below_name;
    let leads_here = |around: &Path| {
        let found = open(around, RepositoryOpenFlags::NO_SEARCH).and_then(|found| canonical(found.commondir()));
        found.is_ok_and(|led_to| led_to == git_dir)
    };
    // The nearest one decides: it is no part of a commit either.
    let nearest = git_dir.ancestors().skip(1).find(|around| around.join(".git").symlink_metadata().is_ok());
    match !is_found_by_name && nearest.is_some_and(|around| !leads_here(around)) {
        true => Err(GitError::NestedGitDirectory { path: git_dir }),
        false => Ok(found),
    }
}

/// Opens a common directory, and nothing near it.
pub(super) fn open_exactly(common_dir: &Path) -> Result<Repository, GitError> {
    open(common_dir, RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT)
}

pub(super) fn open(dir: &Path, flags: RepositoryOpenFlags) -> Result<Repository, GitError> {
    let no_ceiling: [&Path; 0] = [];
    Repository::open_ext(dir, flags, no_ceiling).map_err(|error| open_error(dir, error))
}

fn open_error(dir: &Path, error: git2::Error) -> GitError {
    let path = dir.to_owned();
    match error.code() {
        ErrorCode::NotFound => GitError::NotARepository { path },
        ErrorCode::Owner => GitError::ForeignOwner { path },
        _ => match unsupported_feature(error.message()) {
            Some(feature) => GitError::Unsupported { path, feature },
            None => GitError::Library { act: format!("open `{}`", path.display()), source: error },
        },
    }
}

/// Names the feature that libgit2 refuses, out of its message.
fn unsupported_feature(message: &str) -> Option<String> {
    let named = message.strip_prefix("unsupported extension name extensions.");
    match named.or_else(|| message.contains("object format").then_some("objectformat")) {
        Some("refstorage") => Some("the reftable format".to_owned()),
        Some("objectformat") => Some("an object format other than sha1".to_owned()),
        Some("partialclone") => Some("a partial clone".to_owned()),
        Some(other) => Some(format!("the extension `{other}`")),
        None => message.contains("unsupported repository version").then(|| "a later repository format".to_owned()),
    }
}

pub(super) fn canonical(path: &Path) -> Result<PathBuf, GitError> {
    path.canonicalize().map_err(GitError::io("resolve", path))
}

/// The main checkout of a repository that was found through one of its linked worktrees.
fn main_checkout(common_dir: &Path) -> Result<Option<PathBuf>, GitError> {
    let main = open(common_dir, RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT)?;
    let Some(files) = main.workdir() else { return Ok(None) };
    // Without a record of its work tree libgit2 guesses the parent directory, which need not be a checkout.
    let is_checkout = open(files, RepositoryOpenFlags::NO_SEARCH)
        .is_ok_and(|found| canonical(found.path()).is_ok_and(|git_dir| git_dir == common_dir));
    is_checkout.then(|| canonical(files)).transpose()
}

/// Whether anything can be a base: the head may be unborn while other branches exist.
pub(super) fn has_commits(repo: &Repository) -> Result<bool, GitError> {
    if repo.head().is_ok() {
        return Ok(true);
    }
    let mut branches = repo.branches(None).map_err(GitError::library("read the branches"))?;
    Ok(branches.any(|branch| branch.is_ok_and(|(branch, _)| branch.get().peel_to_commit().is_ok())))
}

fn current_base(here: &Repository, from: &Path) -> Result<Base, GitError> {
    let head = here.head().map_err(|error| match error.code() {
        ErrorCode::UnbornBranch | ErrorCode::NotFound => GitError::NoCommits { path: from.to_owned() },
        _ => GitError::Library { act: "read the current branch".to_owned(), source: error },
    })?;
    let commit = head.peel_to_commit().map_err(GitError::library("read the current commit"))?;
    Ok(base_of(&head, None, commit.id().into()))
}

fn named_base(here: &Repository, name: &str) -> Result<Base, GitError> {
    let unknown = || GitError::UnknownBase { name: name.to_owned() };
    // A branch wins over a tag of the same name: it is what can be merged into.
    if let Ok(branch) = here.find_branch(name, git2::BranchType::Local) {
        let commit = branch.get().peel_to_commit().map_err(|_| GitError::NotACommit { name: name.to_owned() })?;
        return Ok(base_of(branch.get(), Some(name), commit.id().into()));
    }
    let (object, reference) = here.revparse_ext(name).map_err(|error| match error.code() {
        ErrorCode::Ambiguous => GitError::AmbiguousBase { name: name.to_owned() },
        _ => unknown(),
    })?;
    let commit = object.peel_to_commit().map_err(|_| GitError::NotACommit { name: name.to_owned() })?;
    let commit = Oid::from(commit.id());
    // `HEAD` stands for the branch that is checked out.
    match reference.and_then(|reference| reference.resolve().ok()) {
        Some(reference) => Ok(base_of(&reference, Some(name), commit)),
        None => Ok(Base { name: name.to_owned(), branch: None, commit }),
    }
}

fn base_of(reference: &git2::Reference<'_>, asked: Option<&str>, commit: Oid) -> Base {
    let full = reference.name().ok().filter(|_| reference.is_branch());
    let short = full.and_then(|name| name.strip_prefix("refs/heads/"));
    let name = short.or(asked).map_or_else(|| commit.short(), str::to_owned);
    Base { name, branch: full.map(str::to_owned), commit }
}

/// Reads `Name <mail> 1700000000 +0000`.
fn parse_identity(said: &[u8]) -> Option<Identity> {
    let said = String::from_utf8_lossy(said);
    let (name, rest) = said.split_once(" <")?;
    let (email, _) = rest.split_once('>')?;
    Some(Identity { name: name.to_owned(), email: email.to_owned() })
}

#[cfg(test)]
mod tests;
