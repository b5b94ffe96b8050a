//! The names of the files in a work tree or a commit, as many as are wanted: what a person can point at.
//!
//! Names only, and no more of git's answer than that is ever held: a tree may have millions of files.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;

use super::command::{self, Git};
use super::{GitError, Oid, Repo, Worktree};

const VERB: &str = "ls-files";

/// Paths from the root, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub paths: Vec<PathBuf>,
    /// Some are left out: there are more than were wanted.
    pub is_truncated: bool,
}

/// The files of a session's worktree that are not ignored: tracked ones that are there, then untracked ones.
pub fn of_tree(tree: &Worktree, limit: usize) -> Result<Listing, GitError> {
    of_files(|| Git::in_tree(tree, VERB), limit)
}

/// The same for a checkout of the user, given by its git directory and its files.
pub fn of_checkout(git_dir: &Path, files: &Path, limit: usize) -> Result<Listing, GitError> {
    of_files(|| Git::in_checkout(git_dir, files, VERB), limit)
}

/// The files of a commit.
pub fn of_commit(repo: &Repo, commit: Oid, limit: usize) -> Result<Listing, GitError> {
    let git = Git::new(repo, "ls-tree").args(["-r", "-z", "--name-only", "--full-tree", &commit.to_string()]);
    let mut names = Names::new(limit);
    read(git, "ls-tree", |name| names.add(name))?;
    Ok(names.sorted())
}

fn of_files(git: impl Fn() -> Git, limit: usize) -> Result<Listing, GitError> {
    let mut names = Names::new(limit);
    // One that was deleted comes twice in a row, the second time marked so.
    read(git().args(["-z", "-t", "--cached", "--deleted"]), VERB, |record| names.add_tracked(record))?;
    read(git().args(["-z", "--others", "--exclude-standard"]), VERB, |name| names.add_untracked(name))?;
    Ok(names.sorted())
}

/// Whether more records are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    More,
    Enough,
}

/// The names so far: one more than wanted at most, which tells that there are more.
struct Names {
    limit: usize,
    paths: Vec<Vec<u8>>,
}

impl Names {
    fn new(limit: usize) -> Self {
        Self { limit, paths: Vec::new() }
    }

    fn add(&mut self, name: &[u8]) -> Want {
        self.paths.push(name.to_owned());
        if self.paths.len() > self.limit { Want::Enough } else { Want::More }
    }

    /// Takes a record of `ls-files -t`: a letter, a space and the path.
    fn add_tracked(&mut self, record: &[u8]) -> Want {
        let is_last = |name: &[u8]| self.paths.last().is_some_and(|last| last == name);
        match record {
            [b'R', b' ', name @ ..] => {
                if is_last(name) {
                    self.paths.pop();
                }
                Want::More
            }
            // Left out of a sparse checkout.
            [b'S', b' ', ..] => Want::More,
            // A file in conflict has a record for each side.
            [_, b' ', name @ ..] if is_last(name) => Want::More,
            [_, b' ', name @ ..] => {
                self.paths.push(name.to_owned());
                // The record behind it may take it back.
                if self.paths.len() > self.limit + 1 { Want::Enough } else { Want::More }
            }
            _ => Want::More,
        }
    }

    /// Takes a path of `ls-files --others`, where a repository of its own is a directory that git does not enter.
    fn add_untracked(&mut self, name: &[u8]) -> Want {
        match (self.paths.len() > self.limit, name.ends_with(b"/")) {
            (true, _) => Want::Enough,
            (false, true) => Want::More,
            (false, false) => self.add(name),
        }
    }

    fn sorted(mut self) -> Listing {
        let is_truncated = self.paths.len() > self.limit;
        self.paths.truncate(self.limit);
        self.paths.sort_unstable();
        let paths = self.paths.into_iter().map(|path| PathBuf::from(OsString::from_vec(path))).collect();
        Listing { paths, is_truncated }
    }
}

/// Runs git and hands out what it prints, record by record, until that is enough.
fn read(git: Git, verb: &'static str, mut take: impl FnMut(&[u8]) -> Want) -> Result<(), GitError> {
    let mut child = git.spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // Read beside the names, so that a complaint about each of many directories cannot block git.
        let complaints = scope.spawn(move || {
            let mut said = Vec::new();
            // What could not be read of a complaint is not worth another one.
            stderr.and_then(|mut pipe| pipe.read_to_end(&mut said).ok());
            said
        });
        let taken = each_record(stdout.map(BufReader::new), &mut take);
        if !matches!(taken, Ok(Want::More)) {
            // It need not find the rest; one that has ended meanwhile is as good.
            child.kill().ok();
        }
        let ended = child.wait();
        let stderr = complaints.join().unwrap_or_default();
        let unreadable = |error: io::Error| GitError::Unreadable { verb, detail: error.to_string() };
        let status = ended.map_err(unreadable)?;
        match taken.map_err(unreadable)? {
            Want::More if !status.success() => {
                Err(command::failed(verb, &Output { status, stdout: Vec::new(), stderr }))
            }
            Want::More | Want::Enough => Ok(()),
        }
    })
}

fn each_record(pipe: Option<impl BufRead>, take: &mut impl FnMut(&[u8]) -> Want) -> io::Result<Want> {
    let Some(mut pipe) = pipe else { return Ok(Want::More) };
    let mut record = Vec::new();
    while pipe.read_until(0, &mut record)? > 0 {
        if take(record.strip_suffix(&[0]).unwrap_or(&record)) == Want::Enough {
            return Ok(Want::Enough);
        }
        record.clear();
    }
    Ok(Want::More)
}

#[cfg(test)]
mod tests;
