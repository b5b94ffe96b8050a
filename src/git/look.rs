//! What the history of a session's worktree says: files as they were, who wrote a line, which commits there are.
//!
//! Revisions come from models: they are resolved to a commit first, and only commits reach the other runs. Files of the
//! worktree are read by us, beneath it, since an agent may have put a link in the way.

use std::io;
use std::path::Path;

use git2::{BranchType, ErrorCode, ObjectType};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::capture::{self, Kept};
use super::command::Git;
use super::status::{self, Status};
use super::{GitError, Oid, Repo, Worktree};

/// How large a file may be whose lines are asked about.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What is at a path of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    File(Kept),
    Directory,
    /// Another repository, whose files are not in this one.
    Nested,
    Absent,
}

/// Where a worktree stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub status: Status,
    pub upstream: Option<Upstream>,
}

/// What a branch follows, and how far the two are apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Such as `origin/main`.
    pub name: String,
    pub ahead: usize,
    pub behind: usize,
}

/// The commit that a revision names in a worktree. Whatever the text is, it is taken for a revision.
pub fn revision(tree: &Worktree, text: &str) -> Result<Oid, GitError> {
    let wanted = format!("{text}^{{commit}}");
    let output = Git::in_tree(tree, "rev-parse").args(["--verify", "--quiet", "--end-of-options", &wanted]).output()?;
    let found = output.status.success().then(|| Oid::from_output(&output.stdout)).flatten();
    found.ok_or_else(|| GitError::UnknownBase { name: text.to_owned() })
}

/// The beginning of a file as it is in a commit; a link is its text.
pub fn show(repo: &Repo, commit: &Oid, path: &Path, limit: usize) -> Result<Shown, GitError> {
    let failed = |source| GitError::Library { act: format!("read `{}` of commit `{commit}`", path.display()), source };
    let handle = repo.open()?;
    let tree = handle.find_commit(commit.raw()).and_then(|commit| commit.tree()).map_err(failed)?;
    if path.as_os_str() == "." {
        return Ok(Shown::Directory);
    }
    let entry = match tree.get_path(path) {
        Ok(entry) => entry,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(Shown::Absent),
        Err(error) => return Err(failed(error)),
    };
    match entry.kind() {
        Some(ObjectType::Blob) => {
            let git = Git::new(repo, "cat-file").args(["blob", &entry.id().to_string()]);
            capture::head(git, limit).map(Shown::File)
        }
        Some(ObjectType::Tree) => Ok(Shown::Directory),
        Some(ObjectType::Any | ObjectType::Commit | ObjectType::Tag) | None => Ok(Shown::Nested),
    }
}

/// The commits that changed a path, newest first, one in a line.
pub fn log(tree: &Worktree, from: &Oid, path: &Path, count: u32) -> Result<String, GitError> {
    let git = lines(Git::in_tree(tree, "log"), count, "%h %ad %an: %s").args(["--follow", &from.to_string(), "--"]);
    Ok(text(&git.arg(path).run()?))
}

/// The subjects of the last commits, newest first.
pub fn subjects(tree: &Worktree, from: &Oid, count: u32) -> Result<String, GitError> {
    Ok(text(&lines(Git::in_tree(tree, "log"), count, "%s").args([&from.to_string(), "--"]).run()?))
}

/// The commits after `floor`, newest first, one in a line.
pub fn commits(tree: &Worktree, floor: &Oid, to: &Oid, count: u32) -> Result<String, GitError> {
    let range = format!("{floor}..{to}");
    Ok(text(&lines(Git::in_tree(tree, "log"), count, "%h %s").args([&range, "--"]).run()?))
}

/// For each of some lines of a file, as it is in the worktree, where it comes from. A file that is not there is looked
/// at as it is in the head.
pub fn blame(
    tree: &Worktree,
    head: &Oid,
    path: &Path,
    (start, end): (u32, u32),
    limit: usize,
) -> Result<Kept, GitError> {
    // Who may set a program that makes text of a file did not mean it for what an agent names.
    let git = Git::in_tree(tree, "blame").args(["--no-textconv", "--date=short", "-L", &format!("{start},{end}")]);
    let git = match read_beneath(&tree.path, path).map_err(GitError::io("read", path))? {
        Some(content) => git.args(["--contents", "-"]).input(content),
        None => git,
    };
    let kept = capture::head(git.arg(head.to_string()).arg("--").arg(path), limit)?;
    let said = String::from_utf8_lossy(&kept.bytes).replace("(External file (--contents)", "(not committed yet");
    Ok(Kept { bytes: said.into_bytes(), is_cut: kept.is_cut })
}

/// Where two histories part.
pub fn merge_base(repo: &Repo, one: &Oid, other: &Oid) -> Result<Option<Oid>, GitError> {
    match repo.open()?.merge_base(one.raw(), other.raw()) {
        Ok(found) => Ok(Some(found.into())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(source) => Err(GitError::Library { act: "find the common history".to_owned(), source }),
    }
}

/// Where a worktree stands, and how far it is from what its branch follows.
pub fn standing(tree: &Worktree) -> Result<Standing, GitError> {
    let status = status::read(tree)?;
    let repo = tree.repo.open()?;
    let upstream = || {
        let branch = repo.find_branch(status.branch.as_deref()?, BranchType::Local).ok()?;
        let upstream = branch.upstream().ok()?;
        let (ahead, behind) = repo.graph_ahead_behind(branch.get().target()?, upstream.get().target()?).ok()?;
        Some(Upstream { name: upstream.name().ok()??.to_owned(), ahead, behind })
    };
    let upstream = upstream();
    Ok(Standing { status, upstream })
}

/// Commits in lines; nothing that a user has set for `log` starts a program.
fn lines(git: Git, count: u32, format: &str) -> Git {
    git.args(["--no-show-signature", "--no-patch", "--date=short"])
        .args([format!("--max-count={count}"), format!("--format={format}")])
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

/// The content of a plain file below a directory; none when there is no such file, or a link on the way to it.
fn read_beneath(root: &Path, path: &Path) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read;
    let mut parts: Vec<_> = path.components().collect();
    let Some(last) = parts.pop() else { return Ok(None) };
    let plain = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let open = |at: &_, part: std::path::Component<'_>, flags| match openat(at, part.as_os_str(), flags, Mode::empty())
    {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(io::Error::from(error)),
    };
    for part in parts {
        let Some(next) = open(&at, part, OFlags::DIRECTORY | OFlags::RDONLY | plain)? else { return Ok(None) };
        at = next;
    }
    // Opening what somebody else should write into first would wait for them.
    let Some(file) = open(&at, last, OFlags::RDONLY | OFlags::NONBLOCK | plain)? else { return Ok(None) };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut content = Vec::new();
    std::fs::File::from(file).take(LARGEST + 1).read_to_end(&mut content)?;
    match u64::try_from(content.len()).is_ok_and(|length| length <= LARGEST) {
        true => Ok(Some(content)),
        false => Err(io::Error::other("it is larger than 16 MiB")),
    }
}

#[cfg(test)]
mod tests;
