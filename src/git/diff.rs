//! What changed between a commit and another commit or the worktree as it is: counts, files, patch and statistics.
//!
//! Renames are found, binary files count without lines, and no external or text conversion program ever runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::Delta;

use super::capture::{self, Kept};
use super::command::Git;
use super::stage::{self, Purpose, Staged};
use super::{GitError, Oid, Worktree, history};

const PATCH: &[&str] = &["--patch", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"];

/// The later side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The files as they are, untracked ones included.
    WorkTree,
    Commit(Oid),
}

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    pub files: usize,
    pub insertions: u64,
    pub deletions: u64,
}

/// One file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    pub kind: Kind,
    /// None for a binary file.
    pub lines: Option<Lines>,
}

/// How many lines came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    pub insertions: u64,
    pub deletions: u64,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Added,
    Modified,
    Deleted,
    /// A file became a link, or the other way round.
    TypeChanged,
    Renamed {
        from: PathBuf,
    },
    Copied {
        from: PathBuf,
    },
}

impl Kind {
    /// For a comparison that looks for no renames.
    fn of(delta: Delta) -> Self {
        match delta {
            Delta::Added => Self::Added,
            Delta::Deleted => Self::Deleted,
            Delta::Typechange => Self::TypeChanged,
            _ => Self::Modified,
        }
    }
}

/// Which part of a patch is shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What is below these paths of the tree; everything if there are none.
    pub paths: &'a [PathBuf],
    /// Files at the top of the tree of which nothing is shown, and directories of such files.
    pub without: &'a [&'a str],
    /// How many bytes.
    pub limit: usize,
}

/// The beginning of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub kept: Kept,
    /// Files that differ, and of which nothing is shown.
    pub left_out: Vec<PathBuf>,
}

/// A session's work as a person reviews it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedWork {
    /// The tree object that holds the work; files and patch show exactly this.
    pub content: Oid,
    pub files: Vec<FileChange>,
    pub patch: Kept,
}

/// Committed work that differs from what a person was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedWork {
    /// The id of its tree.
    pub content: Oid,
    /// The files that differ. When a garbage collection of the user has taken what was shown, nobody knows which they are.
    pub files: Vec<PathBuf>,
}

/// Counts what changed since `from`.
pub fn changes(tree: &Worktree, from: &Oid, to: Target) -> Result<Changes, GitError> {
    Ok(total(&files(tree, from, to)?))
}

/// Lists what changed since `from`, file by file.
pub fn files(tree: &Worktree, from: &Oid, to: Target) -> Result<Vec<FileChange>, GitError> {
    Diff::new(tree, to)?.files(tree, from)
}

/// What one commit changed since another. When the count of lines fails or is stopped, the files are listed without lines
/// and without renames.
#[derive(Debug)]
pub struct CommitChanges {
    pub files: Vec<FileChange>,
    /// Why lines are missing.
    pub uncounted: Option<GitError>,
}

/// Lists what changed between two commits, in any case.
pub fn commit_changes(tree: &Worktree, from: &Oid, to: Oid) -> Result<CommitChanges, GitError> {
    let uncounted = match files(tree, from, Target::Commit(to)) {
        Ok(files) => return Ok(CommitChanges { files, uncounted: None }),
        Err(error) => error,
    };
    let found = stage::differences(&tree.repo.open()?, *from, to)?;
    let files =
        found.into_iter().map(|found| FileChange { path: found.path, kind: Kind::of(found.delta), lines: None });
    Ok(CommitChanges { files: files.collect(), uncounted: Some(uncounted) })
}

/// The list of files and the patch, up to `limit` bytes of it, of one and the same content: the worktree is read once.
pub fn files_and_patch(
    tree: &Worktree,
    from: &Oid,
    to: Target,
    limit: usize,
) -> Result<(Vec<FileChange>, Kept), GitError> {
    let diff = Diff::new(tree, to)?;
    Ok((diff.files(tree, from)?, diff.patch(tree, from, limit)?))
}

/// The work as the next checkpoint would commit it, with up to `limit` bytes of the patch. Its tree is made first, and the
/// tree is what is compared with `from`.
pub fn review_work(tree: &Worktree, from: &Oid, limit: usize) -> Result<ReviewedWork, GitError> {
    let content = work_content(tree)?;
    let diff = Diff::Commit(content);
    Ok(ReviewedWork { content, files: diff.files(tree, from)?, patch: diff.patch(tree, from, limit)? })
}

/// The tree that the next checkpoint would commit. It can be compared with like a commit.
pub fn work_content(tree: &Worktree) -> Result<Oid, GitError> {
    let repo = tree.repo.open()?;
    // Work whose branch somebody deleted can still be read.
    let tip = history::branch_tip(&repo, tree).unwrap_or(tree.base);
    let mut staged = stage::stage(tree, Purpose::Snapshot, &[])?;
    history::content(&repo, tip, &mut staged)
}

/// What is committed on the session's branch, where it differs from `shown`, a tree or a commit; `None` when it does not.
pub fn committed_since(tree: &Worktree, shown: Oid) -> Result<Option<CommittedWork>, GitError> {
    let repo = tree.repo.open()?;
    let tip = history::branch_tip(&repo, tree)?;
    let content = history::tree_of(&repo, tip)?;
    if content == shown {
        return Ok(None);
    }
    if repo.find_object(shown.raw(), None).is_err() {
        return Ok(Some(CommittedWork { content, files: Vec::new() }));
    }
    let files: Vec<_> = stage::differences(&repo, shown, tip)?.into_iter().map(|found| found.path).collect();
    Ok((!files.is_empty()).then_some(CommittedWork { content, files }))
}

/// Up to `limit` bytes of the patch; files need not be UTF-8.
pub fn patch(tree: &Worktree, from: &Oid, to: Target, limit: usize) -> Result<Kept, GitError> {
    Diff::new(tree, to)?.patch(tree, from, limit)
}

/// The same with the lines of every file, also of those that attributes call binary.
pub fn text_patch(tree: &Worktree, from: &Oid, to: Target, limit: usize) -> Result<Kept, GitError> {
    capture::head(Diff::new(tree, to)?.git(tree, from, &[PATCH, &["--text"]].concat()), limit)
}

/// The beginning of the patch.
pub fn patch_head(tree: &Worktree, from: &Oid, to: Target, view: View<'_>) -> Result<Patch, GitError> {
    let diff = Diff::new(tree, to)?;
    head(|format| diff.git(tree, from, format), view)
}

/// The beginning of the patch of what is staged.
pub fn staged_head(tree: &Worktree, from: &Oid, view: View<'_>) -> Result<Patch, GitError> {
    head(|format| shaped(Git::in_tree(tree, "diff-index").args(["--cached", &from.to_string()]), format), view)
}

fn head(git: impl Fn(&[&str]) -> Git, view: View<'_>) -> Result<Patch, GitError> {
    let is_all = view.paths.is_empty() || view.paths.iter().any(|path| path.as_os_str() == ".");
    let spec = |magic: &str, path: &OsStr| [OsStr::new(magic), path].join(OsStr::new(""));
    let wanted = view.paths.iter().filter(|_| !is_all).map(|path| spec(":(top,literal)", path.as_os_str()));
    let without = view.without.iter().map(|path| spec(":(exclude,top,literal)", OsStr::new(path)));
    let patch = git(PATCH).env("GIT_LITERAL_PATHSPECS", "0").args(wanted).args(without);
    let kept = capture::head(patch, view.limit)?;
    if view.without.is_empty() {
        return Ok(Patch { kept, left_out: Vec::new() });
    }
    let names = git(&["--name-only", "-z"]).args(view.without).run()?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path);
    let is_wanted = |name: &PathBuf| is_all || view.paths.iter().any(|path| name.starts_with(path));
    Ok(Patch { kept, left_out: names.filter(is_wanted).collect() })
}

/// The patch between two texts of one file that are in no repository; a file that is not there has none.
pub fn texts(name: &str, before: Option<&str>, after: Option<&str>) -> Result<String, GitError> {
    let bytes = |text: Option<&str>| text.unwrap_or_default().as_bytes().to_vec();
    let (old, new) = (bytes(before), bytes(after));
    let path = Some(std::path::Path::new(name));
    let mut patch =
        git2::Patch::from_buffers(&old, path, &new, path, None).map_err(GitError::library("compare texts"))?;
    let patch = patch.to_buf().map_err(GitError::library("compare texts"))?;
    // What comes before says only that it is one file, and which blobs it would be.
    let patch = String::from_utf8_lossy(&patch).into_owned();
    let begin = patch.find("--- ").unwrap_or(patch.len());
    Ok(patch[begin..].to_owned())
}

/// The table of `git diff --stat`.
pub fn stat(tree: &Worktree, from: &Oid, to: Target) -> Result<Vec<u8>, GitError> {
    Diff::new(tree, to)?.run(tree, from, &["--stat"])
}

/// Whether a change touches the files that choose filters and line ends; such a change is shown before a merge.
pub fn touches_attributes(files: &[FileChange]) -> bool {
    let is_attributes = |path: &PathBuf| path.file_name() == Some(OsStr::new(".gitattributes"));
    files.iter().any(|file| match &file.kind {
        Kind::Renamed { from } | Kind::Copied { from } => is_attributes(from) || is_attributes(&file.path),
        Kind::Added | Kind::Modified | Kind::Deleted | Kind::TypeChanged => is_attributes(&file.path),
    })
}

/// The counts of a list of files.
pub fn total(files: &[FileChange]) -> Changes {
    files.iter().fold(Changes { files: files.len(), ..Changes::default() }, |sum, file| match file.lines {
        Some(Lines { insertions, deletions }) => {
            Changes { insertions: sum.insertions + insertions, deletions: sum.deletions + deletions, ..sum }
        }
        None => sum,
    })
}

/// The later side, made ready to be compared.
enum Diff {
    Staged(Box<Staged>),
    /// A commit or a tree.
    Commit(Oid),
}

impl Diff {
    fn new(tree: &Worktree, to: Target) -> Result<Self, GitError> {
        Ok(match to {
            Target::WorkTree => Self::Staged(Box::new(stage::stage(tree, Purpose::Look, &[])?)),
            Target::Commit(commit) => Self::Commit(commit),
        })
    }

    fn files(&self, tree: &Worktree, from: &Oid) -> Result<Vec<FileChange>, GitError> {
        let output = self.run(tree, from, &["--raw", "--numstat", "--no-abbrev", "-z"])?;
        parse_files(&output).map_err(|detail| GitError::Unreadable { verb: "diff", detail })
    }

    fn patch(&self, tree: &Worktree, from: &Oid, limit: usize) -> Result<Kept, GitError> {
        capture::head(self.git(tree, from, PATCH), limit)
    }

    fn run(&self, tree: &Worktree, from: &Oid, format: &[&str]) -> Result<Vec<u8>, GitError> {
        self.git(tree, from, format).run()
    }

    fn git(&self, tree: &Worktree, from: &Oid, format: &[&str]) -> Git {
        let from = from.to_string();
        let git = match self {
            Self::Staged(staged) => staged.git("diff-index").args(["--cached", &from]),
            Self::Commit(commit) => Git::new(&tree.repo, "diff-tree").attributes_from(tree.attributes).args([
                "-r",
                &from,
                &commit.to_string(),
            ]),
        };
        shaped(git, format)
    }
}

/// A comparison that runs no other program.
fn shaped(git: Git, format: &[&str]) -> Git {
    // Names are for people to read; with `-z` they are never quoted.
    let git = git.setting("core.quotePath=false");
    git.args(["--find-renames", "--no-ext-diff", "--no-textconv"]).args(format).arg("--")
}

/// Reads the output of `--raw --numstat -z`: first every file's kind, then, in the same order, its lines. A record that
/// cannot be read is returned as the error.
fn parse_files(output: &[u8]) -> Result<Vec<FileChange>, String> {
    let mut fields = output.split(|byte| *byte == 0).peekable();
    let mut files = Vec::new();
    while let Some(header) = fields.next_if(|field| field.starts_with(b":")) {
        let file = parse_raw(header, || fields.next());
        files.push(file.ok_or_else(|| shown(header))?);
    }
    for file in &mut files {
        let counts = fields.next().unwrap_or_default();
        file.lines = parse_counts(counts).ok_or_else(|| shown(counts))?;
        if counts.ends_with(b"\t") {
            // The two names of a rename follow in fields of their own.
            fields.nth(1);
        }
    }
    match fields.all(<[u8]>::is_empty) {
        true => Ok(files),
        false => Err("more counts than files".to_owned()),
    }
}

fn shown(record: &[u8]) -> String {
    String::from_utf8_lossy(record).into_owned()
}

/// Reads `:<mode> <mode> <oid> <oid> <kind>` and the one or two paths after it.
fn parse_raw<'a>(header: &[u8], mut next: impl FnMut() -> Option<&'a [u8]>) -> Option<FileChange> {
    let kind = header.rsplit(|byte| *byte == b' ').next()?;
    let first = path(next()?);
    let (kind, path) = match kind.first()? {
        b'A' => (Kind::Added, first),
        b'M' | b'U' => (Kind::Modified, first),
        b'D' => (Kind::Deleted, first),
        b'T' => (Kind::TypeChanged, first),
        b'R' => (Kind::Renamed { from: first }, path(next()?)),
        b'C' => (Kind::Copied { from: first }, path(next()?)),
        _ => return None,
    };
    Some(FileChange { path, kind, lines: None })
}

/// Reads `<insertions>\t<deletions>\t…`; dashes stand for a binary file.
fn parse_counts(record: &[u8]) -> Option<Option<Lines>> {
    let mut columns = record.splitn(3, |byte| *byte == b'\t');
    let (insertions, deletions) = (columns.next()?, columns.next()?);
    columns.next()?;
    if (insertions, deletions) == (b"-", b"-") {
        return Some(None);
    }
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    Some(Some(Lines { insertions: number(insertions)?, deletions: number(deletions)? }))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests;
