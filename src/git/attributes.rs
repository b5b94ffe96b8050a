//! Which paths get other bytes on disk than their blob has, because an attribute says so.
//!
//! Asking git about every path costs more than copying the files, so the sources of attributes are scanned first and
//! git is asked only about paths below a source that can matter.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::command::Git;
use super::index::Index;
use super::populate::{LineEnds, split};
use super::{GitError, Oid, Repo, Worktree};

/// What attributes mean for a copy.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// Entries of the index that only git can write.
    pub(crate) for_git: HashSet<usize>,
    pub(crate) line_ends: LineEnds,
}

/// What one source of attributes can do to the paths below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Nothing,
    /// Line ends are normalised on the way in, and stay as stored on the way out.
    LineEnds,
    /// Bytes can change on the way out.
    Bytes,
}

/// The attributes that change bytes on the way to disk; on this platform the other ones do not.
const ASKED: [&str; 4] = ["filter", "ident", "working-tree-encoding", "eol"];

/// Reads the sources of attributes of the base commit and asks git where they can matter.
pub(crate) fn check(tree: &Worktree, index: &Index) -> Result<Attributes, GitError> {
    let mut scopes: Vec<&[u8]> = Vec::new();
    let mut widest = outside_reach(tree)?;
    // Where something else than the files of this tree decides, every path is asked for.
    if tree.attributes != tree.base && differ(&tree.repo, tree.attributes, tree.base)? {
        widest = Reach::Bytes;
    }
    if widest == Reach::Bytes {
        scopes.push(b"");
    }
    let repo = tree.repo.open()?;
    for entry in index.entries() {
        let (directory, name) = split(entry.path);
        if name != b".gitattributes" {
            continue;
        }
        let blob = git2::Oid::from_bytes(entry.oid).and_then(|oid| repo.find_blob(oid));
        let reach = blob.map(|blob| reach(blob.content())).map_err(GitError::library("read `.gitattributes`"))?;
        widest = widest.max(reach);
        if reach == Reach::Bytes {
            scopes.push(directory);
        }
    }
    let line_ends = if widest == Reach::Nothing { LineEnds::AsStored } else { LineEnds::Normalised };
    let asked: Vec<usize> = (0..index.len()).filter(|number| is_below(index.path(*number), &scopes)).collect();
    let for_git = if asked.is_empty() { HashSet::new() } else { ask(tree, index, &asked)? };
    Ok(Attributes { for_git, line_ends })
}

/// Whether two commits have other attributes somewhere. Between them a file can need other bytes although its blob is
/// the same, and git would not write it again.
pub(crate) fn differ(repo: &Repo, one: Oid, other: Oid) -> Result<bool, GitError> {
    let repo = repo.open()?;
    let diff = || {
        let (one, other) = (repo.find_commit(one.raw())?.tree()?, repo.find_commit(other.raw())?.tree()?);
        repo.diff_tree_to_tree(Some(&one), Some(&other), None)
    };
    let diff = diff().map_err(GitError::library("compare attributes"))?;
    let is_source = |file: git2::DiffFile<'_>| file.path_bytes().is_some_and(|path| split(path).1 == b".gitattributes");
    Ok(diff.deltas().any(|delta| is_source(delta.old_file()) || is_source(delta.new_file())))
}

/// The sources outside the tree: the repository's own file, the user's, the system's.
fn outside_reach(tree: &Worktree) -> Result<Reach, GitError> {
    let mut widest = file_reach(&tree.repo.common_dir().join("info/attributes"))?;
    for variable in ["GIT_ATTR_GLOBAL", "GIT_ATTR_SYSTEM"] {
        let output = Git::new(&tree.repo, "var").arg(variable).output()?;
        // Older versions do not know the variable: then the file may be anywhere and say anything. A version that knows
        // it and fails has no such file.
        widest = widest.max(match output.status.code() {
            Some(0) => file_reach(Path::new(OsStr::from_bytes(output.stdout.trim_ascii_end())))?,
            Some(1) => Reach::Nothing,
            _ => Reach::Bytes,
        });
    }
    Ok(widest)
}

fn file_reach(path: &Path) -> Result<Reach, GitError> {
    match fs::read(path) {
        Ok(content) => Ok(reach(&content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Reach::Nothing),
        Err(error) => Err(GitError::io("read", path)(error)),
    }
}

/// Looks for words only: a word in a comment costs a question to git, never a wrong answer.
fn reach(content: &[u8]) -> Reach {
    let has = |word: &str| content.windows(word.len()).any(|window| window == word.as_bytes());
    if ["filter", "crlf", "ident", "working-tree-encoding", "[attr]"].into_iter().any(has) {
        return Reach::Bytes;
    }
    if ["text", "eol"].into_iter().any(has) { Reach::LineEnds } else { Reach::Nothing }
}

fn is_below(path: &[u8], scopes: &[&[u8]]) -> bool {
    scopes
        .iter()
        .any(|scope| scope.is_empty() || path.strip_prefix(*scope).is_some_and(|rest| rest.first() == Some(&b'/')))
}

/// Asks git about these entries.
fn ask(tree: &Worktree, index: &Index, asked: &[usize]) -> Result<HashSet<usize>, GitError> {
    let mut paths = Vec::new();
    for number in asked {
        paths.extend_from_slice(index.path(*number));
        paths.push(0);
    }
    let said = Git::in_tree(tree, "check-attr").args(["-z", "--stdin"]).args(ASKED).input(paths).run()?;
    let answers = parse_answers(&said);
    match answers.len() == asked.len() {
        true => {
            Ok(asked.iter().zip(answers).filter(|(_, is_changed)| *is_changed).map(|(number, _)| *number).collect())
        }
        false => Err(GitError::Unreadable { verb: "check-attr", detail: "an answer is missing".to_owned() }),
    }
}

/// Reads `path NUL attribute NUL value NUL`, as many per path as attributes were asked for, in the order of the paths.
fn parse_answers(said: &[u8]) -> Vec<bool> {
    let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
    let changes = |answer: &[&[u8]]| match (answer[1], answer[2]) {
        (_, b"unspecified" | b"unset") => false,
        (b"eol", value) => value == b"crlf",
        _ => true,
    };
    fields.chunks_exact(3 * ASKED.len()).map(|path| path.chunks_exact(3).any(changes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_judged_by_its_words() {
        for (content, expected) in [
            ("", Reach::Nothing),
            ("*.rs diff=rust\n/docs export-ignore\n", Reach::Nothing),
            ("* text=auto\n", Reach::LineEnds),
            ("*.sh eol=lf\n", Reach::LineEnds),
            ("*.bat eol=crlf\n", Reach::Bytes),
            ("*.psd filter=lfs diff=lfs merge=lfs -text\n", Reach::Bytes),
            ("*.c ident\n", Reach::Bytes),
            ("*.txt working-tree-encoding=UTF-16\n", Reach::Bytes),
            ("[attr]binary -diff\n", Reach::Bytes),
        ] {
            assert_eq!(reach(content.as_bytes()), expected, "{content}");
        }
    }

    #[test]
    fn a_scope_covers_what_is_below_it() {
        assert!(is_below(b"a/b", &[b"a"]));
        assert!(is_below(b"anything", &[b""]));
        assert!(!is_below(b"ab/c", &[b"a"]));
        assert!(!is_below(b"a", &[b"a"]));
        assert!(!is_below(b"a", &[]));
    }

    #[test]
    fn answers_are_read_path_by_path() {
        let answer = |path: &str, values: [&str; 4]| -> String {
            ASKED.iter().zip(values).map(|(name, value)| format!("{path}\0{name}\0{value}\0")).collect()
        };
        let said = [
            answer("plain", ["unspecified", "unspecified", "unspecified", "unspecified"]),
            answer("unix", ["unset", "unset", "unset", "lf"]),
            answer("dos", ["unspecified", "unspecified", "unspecified", "crlf"]),
            answer("large", ["lfs", "unspecified", "unspecified", "unspecified"]),
            answer("keyword", ["unspecified", "set", "unspecified", "unspecified"]),
        ];
        assert_eq!(parse_answers(said.concat().as_bytes()), [false, false, true, true, true]);
    }
}
