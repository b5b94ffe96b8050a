//! A copy of a worktree's index with an object directory of its own, for runs of git in that worktree.
//!
//! Git writes here and, for a checkout, into the worktree; never into the repository. What it made is taken over by this
//! process afterwards: objects by their content, then the index, by a rename under git's own lock.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git2::Odb;
use rustix::fs::{Mode, OFlags};
use tempfile::{NamedTempFile, TempDir};

use super::command::Git;
use super::index::{Index, Stat};
use super::{GitError, Oid, Repo, Worktree, reach};

// Without `NONBLOCK` a pipe in the place of a file would hold the caller for ever.
const PLAIN_FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Whether anybody else may have written to the worktree while git looked at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherWriters {
    /// A process of the session may be at work.
    Possible,
    /// The worktree is being made, and no session knows it yet.
    None,
}

/// A private index and private objects; gone with the value.
pub(super) struct PrivateIndex {
    tree: Worktree,
    dir: TempDir,
    /// The second in which it was made, by the clock of the file system: git looks at no file before it.
    made_at: i64,
}

impl PrivateIndex {
    /// A copy of the worktree's index; an empty one where there is none.
    pub(super) fn copy_of(tree: &Worktree) -> Result<Self, GitError> {
        let private = Self::empty(tree)?;
        copy_if_there(&tree.admin.join("index"), &private.path())?;
        Ok(private)
    }

    /// An index without entries.
    pub(super) fn empty(tree: &Worktree) -> Result<Self, GitError> {
        let dir = tempfile::Builder::new().prefix("coppice-").tempdir_in(&tree.admin);
        let dir = dir.map_err(GitError::io("create a private index in", &tree.admin))?;
        let made_at = dir.path().metadata().map_err(GitError::io("read", dir.path()))?.mtime();
        let private = Self { tree: tree.clone(), dir, made_at };
        borrow_objects(&private.objects(), &tree.repo)?;
        Ok(private)
    }

    /// Where the index is.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    /// A run of git that sees this index and makes its objects here. It writes nothing in the worktree.
    pub(super) fn git(&self, verb: &'static str) -> Git {
        let git = Git::in_tree(&self.tree, verb).index(&self.path()).env("GIT_OBJECT_DIRECTORY", self.objects());
        // A large file becomes an object like every other one, and not a pack.
        git.setting("core.bigFileThreshold=1024g").writes(self.dir.path())
    }

    /// A run that also writes the files of the worktree; refused while another git works on the worktree's own index. Stat
    /// data are compared in full, whatever the user has set: a changed file must not pass for an unchanged one.
    pub(super) fn checkout(&self, verb: &'static str) -> Result<Git, GitError> {
        let lock = self.lock();
        if lock.symlink_metadata().is_ok() {
            return Err(GitError::IndexLocked { path: lock });
        }
        let git = self.git(verb).writes(&self.tree.path).online();
        Ok(git.setting("core.checkStat=default").setting("core.trustctime=true"))
    }

    /// Lets git write files into a directory of ours, with filters, and fetch what is missing for them: what fails here
    /// would stop a checkout in the midst of the worktree. `entries` are lines for `update-index --index-info`.
    pub(super) fn try_checkout(&self, entries: Vec<u8>) -> Result<(), GitError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.git("update-index").args(["--add", "-z", "--index-info"]).input(entries).run()?;
        let files = self.dir.path().join("trial");
        let prefix = [b"--prefix=", files.as_os_str().as_bytes(), b"/"].concat();
        self.git("checkout-index").online().args(["--all", "--quiet"]).arg(OsStr::from_bytes(&prefix)).run()?;
        adopt_packs(&self.tree.repo, &self.objects())
    }

    /// Compares what the index does not trust with the files. Otherwise a file that was only touched counts as changed.
    pub(super) fn refresh(&self) -> Result<(), GitError> {
        // Its exit status says no more than that some files differ.
        self.git("update-index").args(["-q", "--ignore-submodules", "--refresh"]).output().map(drop)
    }

    /// Writes the index as a tree into the repository.
    pub(super) fn write_tree(&self) -> Result<Oid, GitError> {
        let content = self.git("write-tree").run_oid()?;
        self.adopt_objects()?;
        Ok(content)
    }

    /// Takes the objects that git made here into the repository, each under the hash of its content.
    pub(super) fn adopt_objects(&self) -> Result<(), GitError> {
        adopt_loose_objects(&self.tree.repo, &self.objects())
    }

    /// Makes this the worktree's own index. The objects that git made for it are in the repository already.
    ///
    /// Git compares times by the second and trusts an entry whose times agree, although its file can change again within
    /// the second in which git read it. So an entry that is as young as the look at it is marked, and git compares its
    /// content the next time.
    pub(super) fn install(&self, others: OtherWriters) -> Result<(), GitError> {
        adopt_packs(&self.tree.repo, &self.objects())?;
        let lock = IndexLock::take(&self.tree.admin)?;
        let (bytes, found) = read_plain_file(&self.path()).map_err(GitError::io("read", &self.path()))?;
        let young = match others {
            OtherWriters::Possible => self.made_at,
            OtherWriters::None => found.mtime(),
        };
        lock.install(&mark_young_entries(bytes, young), found.modified().ok())
    }

    /// Checks that the index is exactly the content of a commit, and hides nothing.
    pub(super) fn check_content(&self, commit: Oid) -> Result<(), GitError> {
        let same = self.git("diff-index").args(["--cached", "--quiet", &commit.to_string(), "--"]).output()?;
        match same.status.success() {
            true => self.check_flags(),
            false => Err(rewritten(&format!("does not match `{commit}`"))),
        }
    }

    /// Checks that the index hides no file from git. While git writes files, a swapped directory can lead it into the one
    /// with this index, where an agent could put an index of its own making.
    pub(super) fn check_flags(&self) -> Result<(), GitError> {
        let bytes = fs::read(self.path()).map_err(GitError::io("read", &self.path()))?;
        // An index that only git understands is taken as it is.
        let hides = Index::parse(bytes).is_ok_and(|index| index.entries().any(|entry| entry.is_flagged));
        let is_sparse = || {
            let config = self.tree.repo.open().ok()?.config().ok()?;
            config.get_bool("core.sparseCheckout").ok()
        };
        match hides && is_sparse() != Some(true) {
            true => Err(rewritten("hides files")),
            false => Ok(()),
        }
    }

    /// What every git makes before it writes the worktree's own index.
    fn lock(&self) -> PathBuf {
        self.tree.admin.join("index.lock")
    }

    fn objects(&self) -> PathBuf {
        self.dir.path().join("objects")
    }
}

fn rewritten(detail: &str) -> GitError {
    GitError::Unreadable { verb: "read-tree", detail: format!("the index {detail}") }
}

/// Git's own lock on an index, and the file that becomes the index.
struct IndexLock {
    file: NamedTempFile,
    index: PathBuf,
}

impl IndexLock {
    /// Takes the lock; an error while another git has it. It is free again when the value goes.
    fn take(git_dir: &Path) -> Result<Self, GitError> {
        let (index, path) = (git_dir.join("index"), git_dir.join("index.lock"));
        let mut builder = tempfile::Builder::new();
        let file = builder.prefix("index.lock").rand_bytes(0).permissions(Permissions::from_mode(0o666));
        let file = file.tempfile_in(git_dir).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => GitError::IndexLocked { path: path.clone() },
            _ => GitError::Io { act: "lock", path: path.clone(), source },
        })?;
        // As readable as the present one, which others may share.
        let set = fs::metadata(&index).map_or(Ok(()), |found| file.as_file().set_permissions(found.permissions()));
        set.map_err(GitError::io("lock", &path))?;
        Ok(Self { file, index })
    }

    /// Installs these bytes as the index, with `written` as its modification time. It is a new file: a process that a filter
    /// left behind may still have git's own file open.
    fn install(mut self, bytes: &[u8], written: Option<SystemTime>) -> Result<(), GitError> {
        let file = self.file.as_file_mut();
        let filled = file.write_all(bytes).and_then(|()| written.map_or(Ok(()), |time| file.set_modified(time)));
        filled.map_err(GitError::io("write", self.file.path()))?;
        let replaced = self.file.persist(&self.index);
        replaced.map(drop).map_err(|error| GitError::io("replace", &self.index)(error.error))
    }
}

/// Makes a directory for the objects that git makes, beside those of the repository. A file and not the environment names
/// these: there a colon in the path would end it.
pub(super) fn borrow_objects(objects: &Path, repo: &Repo) -> Result<(), GitError> {
    let info = objects.join("info");
    let borrowed = repo.common_dir().join("objects");
    let write = || {
        fs::create_dir_all(&info)?;
        fs::write(info.join("alternates"), borrowed.as_os_str().as_bytes())
    };
    write().map_err(GitError::io("write", &info))
}

/// Takes the loose objects of a directory into the repository, each under the hash of its content.
pub(super) fn adopt_loose_objects(repo: &Repo, objects: &Path) -> Result<(), GitError> {
    let names = loose_objects(objects).map_err(GitError::io("read", objects))?;
    if names.is_empty() {
        return Ok(());
    }
    let repo = repo.open()?;
    let adopt = || {
        let (own, made) = (repo.odb()?, Odb::new()?);
        made.add_disk_alternate(&objects.to_string_lossy())?;
        for name in names {
            if !own.exists(name) {
                adopt_object(&own, &made, name)?;
            }
        }
        Ok(())
    };
    adopt().map_err(GitError::library("take over the objects that git made"))
}

/// Takes what a checkout of a partial clone has fetched into the repository: git reads every object of such a pack and
/// names it by its content.
pub(super) fn adopt_packs(repo: &Repo, objects: &Path) -> Result<(), GitError> {
    for entry in fs::read_dir(objects.join("pack")).into_iter().flatten().flatten() {
        let pack = entry.path();
        let is_pack = pack.extension().is_some_and(|kind| kind == "pack");
        let is_promised = pack.with_extension("promisor").symlink_metadata().is_ok_and(|found| found.is_file());
        if is_pack && is_promised && reach::may_fetch(repo.common_dir()) {
            let file = rustix::fs::open(&pack, PLAIN_FILE, Mode::empty());
            let file = file.map_err(|errno| GitError::io("open", &pack)(errno.into()))?;
            Git::new(repo, "index-pack").args(["--stdin", "--promisor"]).input_file(file.into()).run()?;
        }
    }
    Ok(())
}

/// Git tells a file that changed within the clock's tick by comparing its time with that of the index file, so the copy
/// must look as old as the original.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let time = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(time)
}

/// Copies an index with its time; no error where there is none.
pub(super) fn copy_if_there(from: &Path, to: &Path) -> Result<(), GitError> {
    match copy_with_time(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map_err(GitError::io("copy", from)),
    }
}

/// Reads a file, and nothing that lies in its place.
fn read_plain_file(path: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    let mut file = File::from(rustix::fs::open(path, PLAIN_FILE, Mode::empty())?);
    let (mut bytes, found) = (Vec::new(), file.metadata()?);
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.read_to_end(&mut bytes)?;
    Ok((bytes, found))
}

/// Marks the entries whose files changed in this second or later, as git marks those that it does not trust: by a size of
/// zero. An index that only git understands stays as it is.
fn mark_young_entries(bytes: Vec<u8>, second: i64) -> Vec<u8> {
    let Ok(mut index) = Index::parse(bytes.clone()) else { return bytes };
    let is_young = |stat: &Stat| i64::from(stat.ctime.0) >= second && stat.size != 0;
    let young = index.entries().enumerate().filter(|(_, entry)| is_young(&entry.stat));
    let young: Vec<_> = young.map(|(number, entry)| (number, Stat { size: 0, ..entry.stat })).collect();
    if young.is_empty() {
        return bytes;
    }
    for (number, stat) in &young {
        index.patch(*number, stat);
    }
    index.into_bytes()
}

/// The names of the loose objects in a directory of objects. Links and whatever else lies there are passed over.
fn loose_objects(directory: &Path) -> io::Result<Vec<git2::Oid>> {
    let is_hex = |name: &str, length: usize| {
        name.len() == length && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut found = Vec::new();
    for above in fs::read_dir(directory)? {
        let above = above?;
        let first = above.file_name().to_string_lossy().into_owned();
        if !is_hex(&first, 2) || !above.file_type()?.is_dir() {
            continue;
        }
        for object in fs::read_dir(above.path())? {
            let object = object?;
            let rest = object.file_name().to_string_lossy().into_owned();
            if is_hex(&rest, 38) && object.file_type()?.is_file() {
                found.extend(git2::Oid::from_str(&(first.clone() + &rest)));
            }
        }
    }
    Ok(found)
}

/// Writes the content of an object that was made elsewhere; an error when it does not hash to its name.
fn adopt_object(own: &Odb<'_>, made: &Odb<'_>, name: git2::Oid) -> Result<(), git2::Error> {
    let failed = |error: io::Error| git2::Error::from_str(&error.to_string());
    let (mut content, size, kind) = made.reader(name)?;
    let mut copy = own.writer(size, kind)?;
    io::copy(&mut content, &mut copy).map_err(failed)?;
    match copy.finalize()? == name {
        true => Ok(()),
        false => Err(git2::Error::from_str("an object does not hash to its name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testkit::{Sandbox, run_git, write};
    use crate::git::worktree::{self, New};

    /// Adds a file to a private index, as staging does.
    fn add(private: &PrivateIndex, path: &str) {
        private.git("update-index").args(["--add", path]).run().unwrap();
    }

    #[test]
    fn the_repository_gets_what_git_made_and_nothing_that_is_named_wrongly() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        write(&tree.path.join("new"), "new\n");
        let private = PrivateIndex::copy_of(&tree).unwrap();
        add(&private, "new");
        let object = |name: &str| tree.repo.common_dir().join("objects").join(&name[..2]).join(&name[2..]);
        let blob = git2::Oid::hash_object(git2::ObjectType::Blob, b"new\n").unwrap().to_string();
        assert!(!object(&blob).exists());
        let content = private.write_tree().unwrap();
        assert_eq!(sandbox.git(&["show", &format!("{content}:new")]), "new\n");

        let made = private.objects().join(&blob[..2]).join(&blob[2..]);
        let wrong = "ab".repeat(20);
        write(&private.objects().join("ab").join(&wrong[2..]), fs::read(&made).unwrap());
        assert!(private.adopt_objects().is_err());
        assert!(!object(&wrong).exists());
        fs::remove_file(private.objects().join("ab").join(&wrong[2..])).unwrap();
        std::os::unix::fs::symlink(&made, private.objects().join("ab").join(&wrong[2..])).unwrap();
        write(&private.objects().join("pack/pack-x.pack"), "no object");
        private.adopt_objects().unwrap();
        assert!(!object(&wrong).exists());
    }

    #[test]
    fn what_a_partial_clone_fetches_stays_in_the_repository() {
        let sandbox = Sandbox::new();
        for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
            sandbox.git(&["config", key, "true"]);
        }
        let source = format!("file://{}", sandbox.main().display());
        run_git(&sandbox.root(), &["clone", "--quiet", "--no-checkout", "--filter=blob:none", &source, "partial"]);
        let partial = sandbox.root().join("partial");
        let missing = || run_git(&partial, &["rev-list", "--objects", "--missing=print", "HEAD"]).contains('?');
        assert!(missing());
        let repo = Repo::discover(&partial).unwrap();
        let root = sandbox.root().join("trees");
        let new = New {
            root: &root,
            id: "abcdefgh".parse().unwrap(),
            slug: "work",
            base: sandbox.head(),
            attributes: sandbox.head(),
        };
        let tree = worktree::create(&repo, new, &mut |_| {}).unwrap().worktree;
        assert_eq!(fs::read_to_string(tree.path.join("README")).unwrap(), "hello\n");
        assert!(!missing());
    }

    #[test]
    fn a_file_that_changes_within_the_second_of_its_checkpoint_is_seen() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let file = tree.path.join("README");
        let time = fs::metadata(&file).unwrap().modified().unwrap() - std::time::Duration::from_secs(3600);
        let backdated = |text: &str| {
            fs::write(&file, text).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        };
        // Until one second holds both the look and the change: all but the first try begin with a young second.
        for _ in 0..3 {
            backdated("other\n");
            let private = PrivateIndex::copy_of(&tree).unwrap();
            add(&private, "README");
            private.adopt_objects().unwrap();
            private.install(OtherWriters::Possible).unwrap();
            backdated("agent\n");
            assert_eq!(crate::git::status::read(&tree).unwrap().changed.len(), 1);
            let again = PrivateIndex::copy_of(&tree).unwrap().git("diff-files").arg("--name-only").run().unwrap();
            assert_eq!(again, b"README\n");
        }
    }
}
