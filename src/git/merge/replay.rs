//! Merges and commits as objects: nothing here touches a ref, an index or a file.
//!
//! A merge can start a driver of the user's on what an agent wrote. So git merges in a temporary directory, confined to it,
//! and its objects are taken over by their content.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::Sort;

use super::hook::create_scratch_directory;
use crate::git::command::{self, Git};
use crate::git::history::{self, tree_of};
use crate::git::private_index::{adopt_loose_objects, borrow_objects};
use crate::git::{GitError, Identity, Oid, Repo, Worktree, message};

/// The outcome of a three-way merge.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::git) enum Merged {
    Clean {
        tree: Oid,
    },
    Conflict {
        /// Everything that goes together, and marks where it does not.
        tree: Oid,
        files: Vec<PathBuf>,
    },
}

/// The outcome of putting commits on top of another one.
pub(super) enum Replayed {
    Head(Oid),
    Conflict { files: Vec<PathBuf> },
}

/// Who makes the commits, and whether they are signed.
pub(in crate::git) struct Committer {
    identity: Identity,
    signing: Signing,
}

enum Signing {
    Plain,
    Signed {
        /// Socket of the ssh agent with the key, if it is not that of this process.
        ssh_agent: Option<String>,
    },
}

impl Committer {
    /// The user, with the user's signature if `commit.gpgSign` asks for one.
    pub(super) fn user(repo: &Repo, ssh_agent: Option<&str>) -> Result<Self, GitError> {
        let verb = "config";
        let output = Git::new(repo, verb).args(["--type=bool", "--get", "commit.gpgSign"]).output()?;
        let signing = match (output.status.code(), output.stdout.trim_ascii()) {
            (Some(0), b"true") => Signing::Signed { ssh_agent: ssh_agent.map(str::to_owned) },
            // Status 1 means that the key is not set.
            (Some(0 | 1), _) => Signing::Plain,
            _ => return Err(command::failed(verb, &output)),
        };
        Ok(Self { identity: repo.identity()?, signing })
    }

    /// Whoever checkpoints are made by; such commits are drafts and never signed.
    pub(in crate::git) fn session(repo: &Repo) -> Result<Self, GitError> {
        Ok(Self { identity: history::checkpoint_identity(repo)?, signing: Signing::Plain })
    }
}

/// Merges `theirs` into `ours`; attributes, and so merge drivers, are those of `ours`.
pub(super) fn merge_trees(tree: &Worktree, base: Oid, ours: Oid, theirs: Oid) -> Result<Merged, GitError> {
    merge_by(tree, ours, base, ours, theirs)
}

/// Merges `theirs` into `ours`; merge drivers are chosen by the attributes of another commit.
pub(in crate::git) fn merge_by(
    tree: &Worktree,
    attributes: Oid,
    base: Oid,
    ours: Oid,
    theirs: Oid,
) -> Result<Merged, GitError> {
    merge_named(tree, attributes, base, &ours.to_string(), &theirs.to_string())
}

/// Merges by the names of the two sides, which stand beside the marks of a conflict.
pub(super) fn merge_named(
    tree: &Worktree,
    attributes: Oid,
    base: Oid,
    ours: &str,
    theirs: &str,
) -> Result<Merged, GitError> {
    let verb = "merge-tree";
    let scratch = create_scratch_directory(tree.path.parent().unwrap_or(&tree.path))?;
    let objects = scratch.path().join("objects");
    borrow_objects(&objects, &tree.repo)?;
    let (path, admin) = (scratch.path().to_owned(), tree.repo.common_dir().to_owned());
    let output = Git::in_tree(&Worktree { path, admin, attributes, ..tree.clone() }, verb)
        .env("GIT_OBJECT_DIRECTORY", &objects)
        .writes(scratch.path())
        .args(["--write-tree", "-z", "--name-only", "--no-messages", &format!("--merge-base={base}")])
        .args([ours, theirs])
        .output()?;
    match output.status.code() {
        Some(0 | 1) => {}
        _ => return Err(command::failed(verb, &output)),
    }
    adopt_loose_objects(&tree.repo, &objects)?;
    parse_merged(&output.stdout)
        .ok_or_else(|| GitError::Unreadable { verb, detail: String::from_utf8_lossy(&output.stdout).into_owned() })
}

/// Reads `<tree>\0` and, after a conflict, the paths that have one.
fn parse_merged(said: &[u8]) -> Option<Merged> {
    let mut fields = said.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let tree = Oid::from_output(fields.next()?)?;
    let files: Vec<_> = fields.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
    Some(if files.is_empty() { Merged::Clean { tree } } else { Merged::Conflict { tree, files } })
}

/// Writes a commit whose author makes it.
pub(in crate::git) fn commit(
    repo: &Repo,
    tree: Oid,
    parents: &[Oid],
    message: &str,
    committer: &Committer,
) -> Result<Oid, GitError> {
    let message = format!("{}\n", message.trim());
    let Identity { name, email } = &committer.identity;
    let git = Git::new(repo, "commit-tree").env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email);
    write(git, tree, parents, message.into_bytes(), committer)
}

/// Puts the commits between `fork` and `tip` on top of `onto`. Of a merge commit, what it brought is replayed as one
/// commit; a commit that changes nothing any more is dropped. Attributes are those of `onto`, whatever the commits say.
pub(super) fn replay(
    worktree: &Worktree,
    fork: Oid,
    tip: Oid,
    onto: Oid,
    committer: &Committer,
) -> Result<Replayed, GitError> {
    let repo = &worktree.repo;
    let handle = repo.open()?;
    let walk = || {
        let mut walk = handle.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(tip.raw())?;
        walk.hide(fork.raw())?;
        walk.simplify_first_parent()?;
        walk.map(|oid| handle.find_commit(oid?)).collect::<Result<Vec<_>, _>>()
    };
    let mut head = onto;
    for commit in walk().map_err(GitError::library("list the commits of the session"))? {
        let parent = commit.parent_id(0).map_err(GitError::library("read the commits of the session"))?;
        let tree = match merge_by(worktree, onto, parent.into(), head, commit.id().into())? {
            Merged::Clean { tree } => tree,
            Merged::Conflict { files, .. } => return Ok(Replayed::Conflict { files }),
        };
        if tree == tree_of(&handle, head)? {
            continue;
        }
        let author = commit.author();
        let when = author.when();
        let (sign, minutes) = (when.sign(), when.offset_minutes().abs());
        let date = format!("@{} {sign}{:02}{:02}", when.seconds(), minutes / 60, minutes % 60);
        let git = Git::new(repo, "commit-tree")
            .env("GIT_AUTHOR_NAME", OsStr::from_bytes(author.name_bytes()))
            .env("GIT_AUTHOR_EMAIL", OsStr::from_bytes(author.email_bytes()))
            .env("GIT_AUTHOR_DATE", date);
        head = write(git, tree, &[head], commit.message_raw_bytes().to_vec(), committer)?;
    }
    Ok(Replayed::Head(head))
}

fn write(git: Git, tree: Oid, parents: &[Oid], message: Vec<u8>, committer: &Committer) -> Result<Oid, GitError> {
    let Identity { name, email } = &committer.identity;
    let mut git = git.env("GIT_COMMITTER_NAME", name).env("GIT_COMMITTER_EMAIL", email).arg(tree.to_string());
    for parent in parents {
        git = git.args(["-p", &parent.to_string()]);
    }
    if let Signing::Signed { ssh_agent } = &committer.signing {
        git = ssh_agent.iter().fold(git.arg("-S"), |git, socket| git.env("SSH_AUTH_SOCK", socket));
    }
    git.args(["-F", "-"]).input(message::without_controls(&message)).run_oid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_merge_tree_parses() {
        let oid = "0123456789abcdef0123456789abcdef01234567";
        let tree = oid.parse().unwrap();
        for (said, expected) in [
            (format!("{oid}\0"), Some(Merged::Clean { tree })),
            (format!("{oid}\0a b\0c\nd\0"), Some(Merged::Conflict { tree, files: vec!["a b".into(), "c\nd".into()] })),
            (String::new(), None),
            ("nonsense\0".to_owned(), None),
        ] {
            assert_eq!(parse_merged(said.as_bytes()), expected, "{said:?}");
        }
    }
}
