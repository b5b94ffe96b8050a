//! Paths that tools may not name: secrets, our own data, git's own files, and whatever is outside of the work tree.
//!
//! A path is judged by the name that the call gives it and by where its links lead; one bad path refuses the call.
//! Of a shell's text only the secrets count that it names (`named`): for the rest the sandbox holds it, or a person is asked.

mod document;
pub(super) mod named;
#[cfg(test)]
mod tests;
pub(super) mod words;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::shell::may_become;
use super::{Places, Target};

/// In the home directory: keys, tokens and what they are kept in.
const SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".netrc",
    ".coppice/.env",
    ".kube/config",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".config/gcloud",
];

/// In the work tree. Its other secrets are for the project's map to name.
pub const TREE_SECRETS: &[&str] = &[".env", ".env.local"];

/// What a tool does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Read,
    /// Reads whatever is below.
    Search,
    Write,
}

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Secret {
        path: PathBuf,
        act: Act,
    },
    /// Our own data.
    State(PathBuf),
    /// Git's own files: who writes them can run commands.
    Git(PathBuf),
    /// A name in the tree that leads out of it, or nowhere.
    Link(PathBuf),
    /// Elsewhere, and nothing more is known against it.
    Outside(PathBuf),
}

impl Refusal {
    /// Whether nobody can allow it. What is only outside may be allowed by a person who is asked.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Secret { .. } | Self::State(_) | Self::Git(_) | Self::Link(_) => true,
            Self::Outside(_) => false,
        }
    }
}

/// What stands against a call that does `act` with all of `targets`, the gravest first.
pub fn check(targets: &[Target], act: Act, places: &Places) -> Option<Refusal> {
    let grave = targets.iter().find_map(|target| grave(target, act, places));
    let outside = || targets.iter().find(|target| !is_inside(target, act, places));
    grave.or_else(|| outside().map(|target| Refusal::Outside(target.named.clone())))
}

/// Whether a path is where a call may go by itself.
pub fn is_inside(target: &Target, act: Act, places: &Places) -> bool {
    if !is_known(&target.real) {
        return false;
    }
    let is_readable =
        |path| places.readable.iter().any(|place| holds(place, path)) || places.plan.as_deref() == Some(path);
    is_ours(&target.real, places)
        || match act {
            Act::Read | Act::Search => is_readable(target.real.as_path()),
            Act::Write => false,
        }
}

fn grave(target: &Target, act: Act, places: &Places) -> Option<Refusal> {
    let (named, real) = (plain(&target.named), plain(&target.real));
    for path in [&named, &real] {
        if is_secret(path, act, places) {
            return Some(Refusal::Secret { path: path.clone(), act });
        }
        let covers = act == Act::Search && holds(path, &places.state);
        let is_plan = act != Act::Write && places.plan.as_ref() == Some(path);
        let is_state = holds(&places.state, path) && !is_plan;
        if (is_state || covers) && !is_ours(path, places) {
            return Some(Refusal::State(path.clone()));
        }
    }
    if act != Act::Write {
        return None;
    }
    if let Some(path) = [&named, &real].into_iter().find(|path| is_git(path, places)) {
        return Some(Refusal::Git(path.clone()));
    }
    let leads_out = is_ours(&named, places) && !is_inside(target, act, places);
    (leads_out || !is_known(&target.real)).then(|| Refusal::Link(target.named.clone()))
}

/// Whether a path is one of the work tree's secrets, told from its root.
pub fn is_tree_secret(inside: &Path) -> bool {
    is_one_of(TREE_SECRETS, inside)
}

fn is_one_of(secrets: &[&str], inside: &Path) -> bool {
    secrets.iter().any(|secret| inside.starts_with(secret))
}

/// Whether a pattern may become one of some secrets, or a file below it. Only one with a dot in front means hidden files.
fn may_be_one_of(secrets: &[&str], inside: &Path) -> bool {
    let may_be = |known: &str, part: &str| {
        known == part || known.starts_with('.') == part.starts_with('.') && may_become(part, known)
    };
    secrets.iter().any(|secret| {
        let mut parts = inside.iter();
        secret.split('/').all(|known| parts.next().and_then(OsStr::to_str).is_some_and(|part| may_be(known, part)))
    })
}

fn is_secret(path: &Path, act: Act, places: &Places) -> bool {
    let below = |place: &Path| path.strip_prefix(place).ok().filter(|_| place.is_absolute());
    let covers = || SECRETS.iter().any(|secret| holds(path, &places.home.join(secret)));
    let is_env = |checkout: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        path.parent() == Some(checkout.as_path()) && name.is_some_and(|name| name.starts_with(".env"))
    };
    below(&places.home).is_some_and(|inside| is_one_of(SECRETS, inside))
        || below(&places.tree).is_some_and(is_tree_secret)
        || places.checkout.as_ref().filter(|checkout| **checkout != places.tree).is_some_and(is_env)
        || act == Act::Search && (!is_ours(path, places) && covers() || finds_tree_secret(path, places))
}

/// Whether a pattern for the files of a search means a secret at the root of the work tree.
fn finds_tree_secret(path: &Path, places: &Places) -> bool {
    let pattern = path.strip_prefix(&places.tree).ok().and_then(Path::to_str).filter(|_| places.has_tree_secret);
    let glob = pattern.and_then(|pattern| globset::Glob::new(pattern).ok()).map(|glob| glob.compile_matcher());
    glob.is_some_and(|glob| TREE_SECRETS.iter().any(|secret| glob.is_match(secret)))
}

/// Whether a part of a path is a `.git`, in any case: some disks do not tell them apart.
fn is_git(path: &Path, places: &Places) -> bool {
    let path = path.strip_prefix(&places.tree).unwrap_or(path);
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether a path is in the tree, or in another place of the session. Those may well lie in our own data.
fn is_ours(path: &Path, places: &Places) -> bool {
    holds(&places.tree, path) || places.roots.iter().any(|root| holds(root, path))
}

fn holds(place: &Path, path: &Path) -> bool {
    place.is_absolute() && path.starts_with(place)
}

/// Whether it is certain where a path is.
pub(super) fn is_known(real: &Path) -> bool {
    real.is_absolute() && !real.components().any(|part| part == Component::ParentDir)
}

/// A path without `.` and `..`, by its words.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// A path without the tilde or `${HOME}` in front: behind `~+`, `~-` and `~2`, which are directories that a shell went to,
/// a path counts from each of them.
pub(super) fn without_tilde<'a>(path: &'a str, home: &Path) -> Cow<'a, Path> {
    if let Some(inside) = path.strip_prefix("${HOME}") {
        return home.join(inside.trim_start_matches('/')).into();
    }
    let Some(rest) = path.strip_prefix('~') else { return Cow::Borrowed(Path::new(path)) };
    let (name, inside) = rest.split_once('/').unwrap_or((rest, ""));
    match name {
        "" => home.join(inside).into(),
        name if name.chars().all(|c| c.is_ascii_digit() || "+-".contains(c)) => Cow::Borrowed(Path::new(inside)),
        _ => Cow::Borrowed(Path::new(path)),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret { path, act: Act::Read | Act::Search } => write!(
                f,
                "`{}` is on the list of secret files, which no tool reads and no command may name",
                path.display()
            ),
            Self::Secret { path, act: Act::Write } => write!(f, "`{}` may hold secrets", path.display()),
            Self::State(path) => write!(f, "`{}` belongs to Coppice itself", path.display()),
            Self::Git(path) => write!(f, "`{}` is git's own, and who writes it can run commands", path.display()),
            Self::Link(path) => write!(f, "`{}` leads out of the work tree by a link", path.display()),
            Self::Outside(path) => write!(f, "`{}` is outside of the work tree", path.display()),
        }
    }
}
