//! What differs in a worktree from its index and its head: `git status` read once, parsed without any IO.
//!
//! Submodules are never looked into: a nested repository could name programs for git to run. Told so, git also passes over
//! a file that has taken the place of one, so those are looked for here.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{FileType, Mode};

use super::command::{self, Git};
use super::include::place::{Missing, descend};
use super::index::{Index, mode};
use super::owner_access::{self, LONGEST_PATH, OwnerAccess};
use super::submodule::{self, DIRECTORY};
use super::{GitError, Oid, Worktree, include};

const VERB: &str = "status";

/// The state of a worktree against its index and head. Ignored files are no part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit that is checked out; none before the first one.
    pub head: Option<Oid>,
    /// Short name of the branch that is checked out; none when detached.
    pub branch: Option<String>,
    /// Tracked paths that differ.
    pub changed: Vec<Changed>,
    /// Files that git does not know yet.
    pub untracked: Vec<PathBuf>,
    /// Directories that are repositories of their own; their files are in no commit.
    pub nested: Vec<PathBuf>,
    /// Directories that are ignored as a whole, as far as they are asked for.
    pub ignored_directories: Vec<PathBuf>,
    /// Untracked links that Coppice made to the user's checkout; they are in no commit.
    pub own_links: Vec<PathBuf>,
    /// What git cannot read, and may hold changes and files that are listed nowhere.
    pub unreadable: Vec<PathBuf>,
}

/// A tracked path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: PathBuf,
    /// The index against the head.
    pub staged: State,
    /// The file against the index.
    pub unstaged: State,
}

/// How one side of a path differs from the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Same,
    Modified,
    TypeChanged,
    Added,
    Deleted,
    Renamed,
    Copied,
    Unmerged,
}

impl Status {
    /// Whether a commit of everything would change nothing.
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty()
    }

    /// Whether there may be more than is listed, or something listed cannot be read.
    fn hides_files(&self, files: &Path) -> bool {
        let is_hidden = |path: &PathBuf| match files.join(path).symlink_metadata() {
            Ok(found) => found.is_file() && found.mode() & 0o400 == 0,
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        };
        let mut listed = self.changed.iter().map(|changed| &changed.path).chain(&self.untracked);
        !self.unreadable.is_empty() || listed.any(is_hidden)
    }

    /// Records how a file differs from the index, unless git has found a difference itself.
    fn set_unstaged(&mut self, path: PathBuf, unstaged: State) {
        match self.changed.iter_mut().find(|changed| changed.path == path) {
            Some(changed) if changed.unstaged == State::Same => changed.unstaged = unstaged,
            Some(_) => {}
            None => self.changed.push(Changed { path, staged: State::Same, unstaged }),
        }
    }
}

/// Whether a status lists ignored directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IgnoredDirectories {
    Omitted,
    Listed,
}

/// Reads the state of a session's worktree. Changes nothing, not even the index, except for modes that hide files.
pub fn read(tree: &Worktree) -> Result<Status, GitError> {
    read_session(tree, |verb| Git::in_tree(tree, verb), &tree.admin.join("index"))
}

/// Reads the state of a session's worktree against an index, given runs that see it. Links that Coppice made are no work
/// of the session, whatever `.gitignore` says: a merge would replace the linked directory by a link to itself. One that
/// somebody added to the index counts as deleted.
pub(super) fn read_session(
    tree: &Worktree,
    git: impl Fn(&'static str) -> Git,
    index: &Path,
) -> Result<Status, GitError> {
    owner_access::restore_root(&tree.path);
    let read = || read_with_entries(&git, index, &tree.path, IgnoredDirectories::Omitted);
    let (mut status, mut entries) = read()?;
    if status.hides_files(&tree.path) && owner_access::restore(&tree.path, OwnerAccess::Read, tree.repo.stop())? > 0 {
        (status, entries) = read()?;
    }
    let is_own = |path: &PathBuf| include::is_own_link(tree, path);
    (status.own_links, status.untracked) = status.untracked.into_iter().partition(is_own);
    for path in entries.links.into_iter().filter(is_own) {
        if !include::is_link_in(&tree.repo, tree.base, &path)? {
            status.set_unstaged(path, State::Deleted);
        }
    }
    Ok(status)
}

/// Reads the state of any checkout, given runs in it, the index that these see and the directory of the files.
pub(super) fn read_with(git: impl Fn(&'static str) -> Git, index: &Path, files: &Path) -> Result<Status, GitError> {
    read_with_entries(git, index, files, IgnoredDirectories::Omitted).map(|(status, _)| status)
}

/// The same, and the entries of the index that are not plain files.
fn read_with_entries(
    git: impl Fn(&'static str) -> Git,
    index: &Path,
    files: &Path,
    ignored: IgnoredDirectories,
) -> Result<(Status, SpecialEntries), GitError> {
    let ignored = match ignored {
        IgnoredDirectories::Omitted => "--ignored=no",
        IgnoredDirectories::Listed => "--ignored=matching",
    };
    let output = git(VERB)
        .args(["--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"])
        .args(["--untracked-files=all", ignored, "--ignore-submodules=all"])
        .output()?;
    if !output.status.success() {
        return Err(command::failed(VERB, &output));
    }
    let mut status =
        parse_porcelain(&output.stdout).map_err(|record| GitError::Unreadable { verb: VERB, detail: record })?;
    let is_gone = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    let is_there = |path: &Path| !files.join(path).symlink_metadata().is_err_and(is_gone);
    status.unreadable = parse_complaints(&output.stderr, is_there);
    let entries = read_special_entries(git, index)?;
    for path in entries.submodules.iter().filter(|path| is_replaced(files, path)) {
        status.set_unstaged(path.clone(), State::TypeChanged);
    }
    Ok((status, entries))
}

/// The entries named `.git` in directories that are neither ignored nor repositories of their own. Git passes over them,
/// whatever they hold. Every directory is read for that; one that cannot be read may hold such an entry and is listed.
pub(super) fn find_git_entries(tree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
    let (files, index) = (&tree.path, tree.admin.join("index"));
    let git = |verb| Git::in_tree(tree, verb);
    let (status, entries) = read_with_entries(git, &index, files, IgnoredDirectories::Listed)?;
    let closed = [status.nested, status.ignored_directories, status.unreadable, entries.submodules];
    let closed: HashSet<_> = closed.into_iter().flatten().collect();
    let root = rustix::fs::open(files, DIRECTORY, Mode::empty()).map_err(io::Error::from);
    let root = root.map_err(GitError::io("read", files))?;
    let (mut found, mut waiting) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = waiting.pop() {
        tree.repo.stop().check(VERB)?;
        // Step by step, since the whole path can be longer than the kernel allows.
        let opened = descend(&root, &directory, Missing::Refuse).map_err(io::Error::from);
        let Ok(entries) = opened.and_then(|opened| submodule::read_entries(&opened)) else {
            found.push(directory);
            continue;
        };
        for (name, kind) in entries {
            let path = directory.join(OsStr::from_bytes(name.to_bytes()));
            if path.ends_with(".git") {
                found.push(path);
            } else if kind == FileType::Directory && !closed.contains(&path) {
                match path.as_os_str().len() < LONGEST_PATH {
                    true => waiting.push(path),
                    false => found.push(path),
                }
            }
        }
    }
    // That of the worktree itself.
    found.retain(|path| path != Path::new(".git"));
    found.sort();
    Ok(found)
}

/// The paths at which an index records a commit of another repository.
pub(super) fn submodules(git: impl Fn(&'static str) -> Git, index: &Path) -> Result<Vec<PathBuf>, GitError> {
    read_special_entries(git, index).map(|found| found.submodules)
}

/// The entries of an index that are not plain files.
#[derive(Default)]
struct SpecialEntries {
    /// Paths at which it records a commit of another repository.
    submodules: Vec<PathBuf>,
    /// Symbolic links.
    links: Vec<PathBuf>,
}

fn read_special_entries(git: impl Fn(&'static str) -> Git, index: &Path) -> Result<SpecialEntries, GitError> {
    let mut found = SpecialEntries::default();
    let bytes = match fs::read(index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        read => read.map_err(GitError::io("read", index))?,
    };
    if let Ok(index) = Index::parse(bytes) {
        for entry in index.entries() {
            match entry.mode & mode::TYPE {
                mode::GITLINK => found.submodules.push(path(entry.path)),
                mode::SYMLINK => found.links.push(path(entry.path)),
                _ => {}
            }
        }
        return Ok(found);
    }
    // An index that only git understands.
    let listed = git("ls-files").args(["--stage", "-z"]).run()?;
    for record in listed.split(|byte| *byte == 0) {
        let Some(name) = record.splitn(2, |byte| *byte == b'\t').nth(1) else { continue };
        match record {
            [b'1', b'6', ..] => found.submodules.push(path(name)),
            [b'1', b'2', ..] => found.links.push(path(name)),
            _ => {}
        }
    }
    Ok(found)
}

/// Whether something else than a directory is at a path, below directories that are none of somebody's links.
fn is_replaced(files: &Path, path: &Path) -> bool {
    let is_directory = |path: &Path| fs::symlink_metadata(files.join(path)).map(|found| found.is_dir());
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    is_directory(path).is_ok_and(|is_directory| !is_directory)
        && above.map(is_directory).all(|found| found.is_ok_and(|found| found))
}

/// Reads the records of `git status --porcelain=v2 -z --branch`; an unreadable one is returned as the error.
fn parse_porcelain(porcelain: &[u8]) -> Result<Status, String> {
    let mut status = Status::default();
    let mut records = porcelain.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        parse_record(record, &mut status).ok_or_else(|| String::from_utf8_lossy(record).into_owned())?;
        if record.starts_with(b"2 ") {
            // A rename is followed by the path it came from.
            records.next();
        }
    }
    Ok(status)
}

/// The paths of the worktree that git complains about because it cannot read them: `warning: could not open directory
/// 'path/': reason`, `warning: unable to access 'path': Permission denied` and `path: Permission denied`. Filters may say
/// something like the last one about anything, so that path must be there.
fn parse_complaints(stderr: &[u8], is_there: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let parse = |line: &[u8]| {
        if let Some(rest) = line.strip_prefix(b"warning: could not open directory '") {
            // Git cuts long lines off.
            let end = rest.windows(3).rposition(|window| window == b"': ").unwrap_or(rest.len());
            return Some(path(rest[..end].strip_suffix(b"/").unwrap_or(&rest[..end])));
        }
        let about = line.strip_suffix(b": Permission denied")?;
        match about.strip_prefix(b"warning: unable to access '").and_then(|file| file.strip_suffix(b"'")) {
            // Git looks for such a file in every directory, whether there is one or not.
            Some(file) => Some(path(file.rsplitn(2, |byte| *byte == b'/').nth(1).unwrap_or(file))),
            None => Some(path(about)).filter(|path| is_there(path)),
        }
    };
    let paths = stderr.split(|byte| *byte == b'\n').filter_map(parse);
    // The user's own settings have absolute paths.
    paths.filter(|path| path.is_relative()).collect()
}

fn parse_record(record: &[u8], status: &mut Status) -> Option<()> {
    let (kind, rest) = split_field(record)?;
    match kind {
        b"1" => status.changed.push(parse_changed(rest, 7)?),
        b"2" => status.changed.push(parse_changed(rest, 8)?),
        b"u" => status.changed.push(parse_changed(rest, 9)?),
        b"?" => match rest.strip_suffix(b"/") {
            // Files are listed one by one, so a directory here is one that git does not enter.
            Some(directory) => status.nested.push(path(directory)),
            None => status.untracked.push(path(rest)),
        },
        b"!" => status.ignored_directories.extend(rest.strip_suffix(b"/").map(path)),
        b"#" => parse_header(rest, status),
        _ => return None,
    }
    Some(())
}

/// Reads `<XY> … <path>` with `before` fields in front of the path.
fn parse_changed(record: &[u8], before: usize) -> Option<Changed> {
    let (states, mut rest) = split_field(record)?;
    let [staged, unstaged] = states else { return None };
    for _ in 1..before {
        (_, rest) = split_field(rest)?;
    }
    Some(Changed { path: path(rest), staged: parse_state(*staged)?, unstaged: parse_state(*unstaged)? })
}

fn parse_state(letter: u8) -> Option<State> {
    Some(match letter {
        b'.' => State::Same,
        b'M' => State::Modified,
        b'T' => State::TypeChanged,
        b'A' => State::Added,
        b'D' => State::Deleted,
        b'R' => State::Renamed,
        b'C' => State::Copied,
        b'U' => State::Unmerged,
        _ => return None,
    })
}

/// Headers that are not asked for are skipped: git may add some.
fn parse_header(header: &[u8], status: &mut Status) {
    if let Some(oid) = header.strip_prefix(b"branch.oid ") {
        status.head = Oid::from_output(oid);
    }
    if let Some(name) = header.strip_prefix(b"branch.head ") {
        status.branch = (name != b"(detached)").then(|| String::from_utf8_lossy(name).into_owned());
    }
}

fn split_field(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = record.iter().position(|byte| *byte == b' ')?;
    Some((&record[..space], &record[space + 1..]))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::git::history::{Checkpoint, checkpoint};
    use crate::git::testkit::{Sandbox, write};

    const OID: &str = "0123456789abcdef0123456789abcdef01234567";

    fn changed(path: &[u8], staged: State, unstaged: State) -> Changed {
        Changed { path: super::path(path), staged, unstaged }
    }

    #[test]
    fn every_kind_of_record_parses() {
        let modes = format!("N... 100644 100644 100644 {OID} {OID}");
        for (porcelain, expected) in [
            (String::new(), Status::default()),
            (
                format!("# branch.oid {OID}\0# branch.head main\0# branch.later x\0"),
                Status { head: OID.parse().ok(), branch: Some("main".into()), ..Status::default() },
            ),
            ("# branch.oid (initial)\0# branch.head (detached)\0".into(), Status::default()),
            (
                format!("1 .M {modes} a b\nc\0"),
                Status { changed: vec![changed(b"a b\nc", State::Same, State::Modified)], ..Status::default() },
            ),
            (
                format!("2 R. {modes} R100 to\0from\x001 A. {modes} x\0"),
                Status {
                    changed: vec![
                        changed(b"to", State::Renamed, State::Same),
                        changed(b"x", State::Added, State::Same),
                    ],
                    ..Status::default()
                },
            ),
            (
                format!("u UU N... 100644 100644 100644 100644 {OID} {OID} {OID} both\0"),
                Status { changed: vec![changed(b"both", State::Unmerged, State::Unmerged)], ..Status::default() },
            ),
            (
                "? new\0? nested/\0! ignored\0! target/\0".into(),
                Status {
                    untracked: vec!["new".into()],
                    nested: vec!["nested".into()],
                    ignored_directories: vec!["target".into()],
                    ..Status::default()
                },
            ),
        ] {
            assert_eq!(parse_porcelain(porcelain.as_bytes()), Ok(expected), "{porcelain:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error_and_never_dropped() {
        for porcelain in ["1 .M short", "1 .Q a b c d e f g", "9 what", "1", "?"] {
            assert_eq!(parse_porcelain(porcelain.as_bytes()), Err(porcelain.to_owned()));
        }
    }

    #[test]
    fn complaints_name_what_cannot_be_read() {
        let stderr = b"warning: could not open directory 'a 'b': c/': Permission denied\n\
            t/a: Permission denied\n\
            sh: 1: ./filter: Permission denied\n\
            warning: unable to access 'nx/.gitignore': Permission denied\n\
            warning: could not open directory 'long/': File name too long\n\
            warning: could not open directory 'cut/of\n\
            warning: unable to access '/home/user/.config/git/ignore': Permission denied\n\
            warning: unable to access '.gitignore': Too many levels of symbolic links\n\
            warning: in the working copy of 'a', LF will be replaced by CRLF\n";
        let expected = ["a 'b': c", "t/a", "nx", "long", "cut/of"].map(PathBuf::from);
        assert_eq!(parse_complaints(stderr, |path| path == Path::new("t/a")), expected);
    }

    #[test]
    fn what_takes_the_place_of_a_submodule_is_a_change() {
        let sandbox = Sandbox::new();
        for path in ["sub", "dir/sub"] {
            let link = format!("160000,{},{path}", sandbox.head());
            sandbox.git(&["update-index", "--add", "--cacheinfo", &link]);
        }
        sandbox.git(&["commit", "--quiet", "--message", "submodules"]);
        let tree = sandbox.session("abcdefgh");
        assert_eq!(read(&tree).unwrap().changed, []);
        let replace = |path: &str| {
            fs::remove_dir_all(tree.path.join(path)).unwrap();
            write(&tree.path.join(path), "important\n");
            let status = read(&tree).unwrap();
            (status.changed, status.untracked)
        };
        let first = changed(b"sub", State::Same, State::TypeChanged);
        assert_eq!(replace("sub"), (vec![first.clone()], vec![]));
        let second = changed(b"dir/sub", State::Same, State::TypeChanged);
        assert_eq!(replace("dir/sub"), (vec![second, first.clone()], vec![]));
        // A link above it leads elsewhere.
        fs::rename(tree.path.join("dir"), tree.path.join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", tree.path.join("dir")).unwrap();
        let status = read(&tree).unwrap();
        assert_eq!((status.changed, status.untracked), (vec![first], vec!["dir".into(), "moved/sub".into()]));

        let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "" };
        let commit = checkpoint(&tree, about).unwrap().unwrap().commit;
        assert_eq!(sandbox.git(&["show", &format!("{commit}:sub")]), "important\n");
        assert!(read(&tree).unwrap().is_clean());
    }

    proptest! {
        #[test]
        fn any_path_survives(paths in prop::collection::vec(prop::collection::vec(1u8..=255, 1..20), 0..8)) {
            let mut porcelain = Vec::new();
            let mut expected = Status::default();
            for (number, bytes) in paths.iter().enumerate() {
                if number % 2 == 0 {
                    porcelain.extend(format!("1 M. N... 100644 100644 100644 {OID} {OID} ").as_bytes());
                    expected.changed.push(changed(bytes, State::Modified, State::Same));
                } else {
                    porcelain.extend(b"? ");
                    match bytes.strip_suffix(b"/") {
                        Some(directory) => expected.nested.push(super::path(directory)),
                        None => expected.untracked.push(super::path(bytes)),
                    }
                }
                porcelain.extend(bytes);
                porcelain.push(0);
            }
            prop_assert_eq!(parse_porcelain(&porcelain), Ok(expected));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse_porcelain(&bytes).ok();
        }
    }
}
