//! A process of a session that works against git: it swaps a directory for a link, and forges a file, while Coppice
//! works on the tree. Nothing outside of the tree changes, and no change stays unseen.
//!
//! The `git` room is driven directly, confined as the daemon confines it, so that many rounds take little time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use coppice::git::history::{self, Checkpoint, Recorded};
use coppice::git::integrate;
use coppice::git::merge::{
    self, BasePlan, Bring, Brought, HookPolicy, HookResult, HookRun, Made, Merge, RebaseOutcome, Style,
};
use coppice::git::reach::{self, Confinement, Enclosure, Reach, Read};
use coppice::git::removal::{self, Recycled, SpareVerdict, SpareVerification, TreeReuse};
use coppice::git::worktree::{self, Method, New};
use coppice::git::{GitError, Oid, Repo, Worktree, status};
use coppice::id::SessionId;
use coppice::permission::Hold;
use coppice::sandbox::cage::{Cage, Network};
use coppice::sandbox::hold::{self, Files, hold_thread};
use coppice::sandbox::lease::take_read_lease;
use coppice::sandbox::mode::set_mode;
use coppice::sandbox::support::support;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, symlinkat};
use tempfile::TempDir;

/// How many rounds each operation goes through, and the variable that multiplies them.
const ROUNDS: usize = 25;
const ROUNDS_VARIABLE: &str = "COPPICE_RACE_ROUNDS";

fn rounds() -> usize {
    ROUNDS * std::env::var(ROUNDS_VARIABLE).map_or(1, |factor| factor.parse().unwrap())
}

/// How many files lie in the directory that is swapped.
const FILES: usize = 40;

/// The names that would do harm where the links lead.
const PLANTED: [&str; 3] = ["pre-commit", "authorized_keys", "config"];

/// Confines as the daemon does.
struct Confined;

impl Confined {
    fn readable(reach: &Reach) -> Option<Vec<PathBuf>> {
        let programs = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/nix"];
        match &reach.read {
            Read::Everything => None,
            Read::Only(own) => Some(programs.iter().map(PathBuf::from).chain(own.iter().cloned()).collect()),
        }
    }
}

impl Confinement for Confined {
    fn set_mode(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> io::Result<()> {
        set_mode(directory, name, mode)
    }

    fn hold_thread(&self, reach: &Reach) -> io::Result<()> {
        hold_thread(&Files { read: Self::readable(reach), write: reach.write.clone() })
    }

    fn enclose(&self, reach: &Reach, directory: &Path, env: Vec<(String, String)>) -> io::Result<Enclosure> {
        let executable = Path::new(env!("CARGO_BIN_EXE_coppice"));
        let isolation = support().with_namespaces(executable).isolation();
        let (read, write) = (Self::readable(reach).unwrap_or_default(), reach.write.clone());
        let cage = Cage { read, write, network: Network::Ports(Vec::new()), isolation };
        let variable = hold::describe(cage, directory, env)?;
        Ok(Enclosure { program: executable.to_owned(), argument: hold::ENTRY, variable })
    }
}

/// A repository, what lies beside it, and one session at a time.
struct Arena {
    dir: TempDir,
    repo: Repo,
    /// How many second sessions there were.
    others: RefCell<usize>,
}

/// Where the numbers of second sessions begin.
const OTHERS: usize = 1 << 20;

impl Arena {
    /// None where the kernel confines nobody.
    fn new() -> Option<Self> {
        if support().hold() == Hold::Advisory {
            return None;
        }
        reach::confine_by(Confined);
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        fs::create_dir_all(main.join("swapped")).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        fs::write(dir.path().join("home/secret"), "secret\n").unwrap();
        git(&main, &["init", "--quiet", "--initial-branch=main"]);
        git(&main, &["config", "user.name", "Ada"]);
        git(&main, &["config", "user.email", "ada@example.com"]);
        fs::write(main.join("note"), "first\n").unwrap();
        fill(&main.join("swapped"), "base");
        git(&main, &["add", "--all"]);
        git(&main, &["commit", "--quiet", "--message", "begin"]);
        let repo = Repo::discover(&main).unwrap();
        Some(Self { dir, repo, others: RefCell::default() })
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("trees")
    }

    fn main(&self) -> PathBuf {
        self.dir.path().join("main")
    }

    fn head(&self) -> Oid {
        git(&self.main(), &["rev-parse", "HEAD"]).trim().parse().unwrap()
    }

    /// A session of its own for each round.
    fn session(&self, round: usize) -> (Worktree, Method) {
        let random = u32::try_from(round).unwrap().to_le_bytes();
        let id = SessionId::from_random([random[0], random[1], random[2], random[3], 7]);
        let new = New { root: &self.root(), id, slug: "work", base: self.head(), attributes: self.head() };
        let created = worktree::create(&self.repo, new, &mut |_| {}).unwrap();
        (created.worktree, created.method)
    }

    /// A second session of the same round.
    fn other_session(&self) -> Worktree {
        let round = self.others.replace_with(|others| *others + 1);
        self.session(OTHERS + round).0
    }

    /// Where a link would do harm.
    fn targets(&self) -> [PathBuf; 4] {
        let common = self.repo.common_dir();
        [common.join("hooks"), common.to_owned(), self.dir.path().join("home"), common.join("refs/heads")]
    }

    /// What lies outside of the worktree and is nobody's to change.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let common = self.repo.common_dir();
        let mut found = BTreeMap::new();
        for directory in [common.join("hooks"), common.join("info"), self.dir.path().join("home")] {
            read_below(&directory, &mut found);
        }
        for name in ["config", "HEAD", "pre-commit", "authorized_keys", "file-1"] {
            for path in [common.join(name), common.join("refs/heads").join(name)] {
                found.insert(path.clone(), fs::read(path).unwrap_or_default());
            }
        }
        found
    }
}

fn read_below(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => read_below(&path, found),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
}

fn fill(directory: &Path, text: &str) {
    let names = PLANTED.iter().map(|name| (*name).to_owned());
    for name in names.chain((0..FILES).map(|number| format!("file-{number}"))) {
        fs::write(directory.join(&name), format!("{name} {text}\n")).unwrap();
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A thread that does what a process of the agent's can do to its tree.
struct Attack {
    tree: PathBuf,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// How often the attack swaps. Git gives up early where it is all the time, and goes all the way where it is once.
#[derive(Debug, Clone, Copy)]
enum Pace {
    Ceaseless,
    /// After this time, so that rounds with different ones meet every step of the operation.
    Once(Duration),
}

impl Pace {
    fn of(round: usize) -> Self {
        let moment = u32::try_from(round / 2 % MOMENTS).unwrap();
        if round.is_multiple_of(2) { Self::Ceaseless } else { Self::Once(moment * BETWEEN_MOMENTS) }
    }
}

/// The moments at which one swap happens, which cover what an operation takes.
const MOMENTS: usize = 25;
const BETWEEN_MOMENTS: Duration = Duration::from_millis(3);

impl Attack {
    /// Swaps `swapped` for a link to `target`, and writes other content of the same size and the same time into `note`,
    /// wherever the tree is moved and whenever it is made again.
    fn begin(tree: &Path, target: &Path, pace: Pace) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, tree, path, target) = (stop.clone(), tree.to_owned(), tree.to_owned(), target.to_owned());
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let first = rustix::fs::open(&path, flags, Mode::empty());
        let thread = std::thread::spawn(move || {
            let (begun, delay, swaps) = match pace {
                Pace::Ceaseless => (Instant::now(), Duration::ZERO, usize::MAX),
                Pace::Once(delay) => (Instant::now(), delay, 1),
            };
            while begun.elapsed() < delay && !stopped.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            for text in ["agent\n", "first\n", "other\n"].iter().cycle().take(swaps) {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                for directory in first.iter().chain(&rustix::fs::open(&path, flags, Mode::empty())) {
                    // Git may have removed any of them at the moment.
                    symlinkat(&target, directory, "link").ok();
                    rustix::fs::renameat_with(directory, "swapped", directory, "link", RenameFlags::EXCHANGE).ok();
                    forge(directory, text);
                }
            }
        });
        Self { tree, stop, thread }
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let (directory, link) = (self.tree.join("swapped"), self.tree.join("link"));
        if directory.is_symlink() {
            rustix::fs::renameat_with(CWD, directory, CWD, link, RenameFlags::EXCHANGE).ok();
        }
    }
}

fn forge(directory: &OwnedFd, text: &str) {
    let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW;
    if let Ok(file) = rustix::fs::openat(directory, "note", flags, Mode::empty()) {
        rustix::io::write(&file, text.as_bytes()).unwrap();
        File::from(file).set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000)).unwrap();
    }
}

/// Runs rounds of one operation under attack. `prepare` makes the tree ready and says where it is, `act` may fail, and
/// afterwards nothing outside has changed and whatever differs from the session's head is seen.
fn race(prepare: impl Fn(&Arena, &Worktree) -> PathBuf, act: impl Fn(&Arena, &Worktree) -> String) {
    let Some(arena) = Arena::new() else { return };
    let (targets, mut ends) = (arena.targets(), BTreeMap::new());
    for round in 0..rounds() {
        let (tree, _) = arena.session(round);
        let attacked = prepare(&arena, &tree);
        let before = arena.outside();
        let attack = Attack::begin(&attacked, &targets[round / 2 % targets.len()], Pace::of(round));
        let end = act(&arena, &tree);
        attack.end();
        assert_eq!(arena.outside(), before, "round {round}: {end}");
        *ends.entry(end).or_insert(0) += 1;
        if tree.path.exists() {
            // As the daemon does before anything else looks at the tree.
            integrate::recover(&tree).unwrap();
            sees_every_change(&tree);
        }
        nothing_secret(&arena, &tree);
    }
    println!("{ends:?}");
}

/// Whatever differs between the session's head and its files is in the status.
fn sees_every_change(tree: &Worktree) {
    let seen = status::read(tree).unwrap();
    let head = git(&tree.path, &["rev-parse", &format!("refs/heads/{}", tree.branch)]);
    let head = git(&tree.path, &["show", &format!("{}:note", head.trim())]);
    let is_seen = seen.changed.iter().any(|changed| changed.path == Path::new("note"));
    let file = fs::read_to_string(tree.path.join("note")).unwrap_or_default();
    assert!(is_seen || file == head, "`note` is {file:?}, the commit has {head:?}, and nobody sees it");
}

/// No commit holds what lies outside.
fn nothing_secret(arena: &Arena, tree: &Worktree) {
    let names = git(&arena.main(), &["ls-tree", "-r", "--name-only", &format!("refs/heads/{}", tree.branch)]);
    assert!(!names.contains("secret"), "{names}");
}

fn checkpoint(tree: &Worktree, turn: u32) -> Result<Option<Recorded>, GitError> {
    history::checkpoint(tree, Checkpoint { session: id(tree), turn, message: "work" })
}

fn id(tree: &Worktree) -> SessionId {
    tree.admin.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

fn word(result: Result<(), impl std::error::Error>) -> String {
    result.map_or("failed", |()| "done").to_owned()
}

#[test]
fn a_checkpoint_reads_and_writes_nothing_outside() {
    race(
        |_, tree| {
            fill(&tree.path.join("swapped"), "work");
            tree.path.clone()
        },
        |_, tree| checkpoint(tree, 1).map_or("failed", |_| "done").to_owned(),
    );
}

#[test]
fn an_undo_writes_nothing_outside() {
    race(
        |_, tree| {
            fill(&tree.path.join("swapped"), "turn");
            checkpoint(tree, 1).unwrap();
            tree.path.clone()
        },
        |_, tree| word(history::snapshot_and_reset(tree, &tree.base, "refs/coppice/snapshots/race", "x").map(drop)),
    );
}

/// A commit of the user's that changes all files of the directory.
fn move_base(arena: &Arena, tree: &Worktree) {
    fill(&arena.main().join("swapped"), &tree.branch);
    git(&arena.main(), &["commit", "--quiet", "--all", "--message", "meanwhile"]);
}

#[test]
fn a_rebase_writes_nothing_outside() {
    race(
        |arena, tree| {
            fs::write(tree.path.join("work"), "work\n").unwrap();
            checkpoint(tree, 1).unwrap();
            move_base(arena, tree);
            tree.path.clone()
        },
        |arena, tree| match merge::rebase(tree, &arena.head(), tree.base) {
            Ok(RebaseOutcome::Rebased { .. }) => "done".to_owned(),
            Ok(RebaseOutcome::Refused(_)) => "refused".to_owned(),
            Ok(other) => panic!("{other:?}"),
            Err(_) => "failed".to_owned(),
        },
    );
}

#[test]
fn a_merge_into_the_session_writes_nothing_outside() {
    race(
        |arena, tree| {
            fs::write(tree.path.join("swapped/file-1"), "work\n").unwrap();
            checkpoint(tree, 1).unwrap();
            move_base(arena, tree);
            tree.path.clone()
        },
        |_, tree| {
            let order = Bring { session: id(tree), target: "refs/heads/main", base: tree.base };
            let planned = match merge::plan_base(tree, order) {
                Ok(BasePlan::Merge(planned)) => planned,
                Ok(other) => panic!("{other:?}"),
                Err(_) => return "failed".to_owned(),
            };
            match merge::bring(tree, order, &planned) {
                Ok(Brought::Brought { .. }) => "done".to_owned(),
                Ok(Brought::Refused(_)) => "refused".to_owned(),
                Err(_) => "failed".to_owned(),
            }
        },
    );
}

/// The order to merge a session's work into a branch.
fn squash<'a>(tree: &Worktree, target: &'a str) -> Merge<'a> {
    let style = Style::Squash;
    Merge { target: Some(target), style, message: "work", base: tree.base, hooks: HookPolicy::Skip, ssh_agent: None }
}

/// Makes a merge and moves its target, as the daemon does; how it ended.
fn merge_into(tree: &Worktree, target: &str) -> &'static str {
    let made = merge::make(tree, squash(tree, target), &mut |run| panic!("{run:?}"));
    let advanced = made.and_then(|made| match made {
        Made::Ready(ready) => {
            let quiet = merge::session_worktrees(tree, ready.branch_move());
            merge::advance(tree, ready, &quiet)
        }
        Made::Ended(outcome) => Ok(outcome),
    });
    match advanced {
        Ok(merge::Outcome::Merged { .. }) => "done",
        Ok(merge::Outcome::Refused(_)) => "refused",
        Ok(other) => panic!("{other:?}"),
        Err(_) => "failed",
    }
}

#[test]
fn a_merge_into_the_users_base_brings_what_is_committed_and_nothing_else() {
    race(
        |arena, tree| {
            fs::write(tree.path.join("swapped/added"), "work\n").unwrap();
            fs::write(tree.path.join("swapped/file-1"), format!("{}\n", tree.branch)).unwrap();
            checkpoint(tree, 1).unwrap();
            fs::write(arena.main().join("swapped/file-2"), format!("{}\n", tree.branch)).unwrap();
            git(&arena.main(), &["commit", "--quiet", "--all", "--message", "meanwhile"]);
            tree.path.clone()
        },
        |arena, tree| {
            let before = arena.head();
            assert_eq!(merge_into(tree, "refs/heads/main"), "done");
            // The branch and the user's checkout have the files of the checkpoint, whatever the tree looks like.
            let main = arena.main();
            assert_eq!(git(&main, &["status", "--porcelain", "--ignored"]), "");
            let session = format!("refs/heads/{}", tree.branch);
            let of = |range: &str| git(&main, &["diff", "--raw", "--no-abbrev", range]);
            assert_eq!(of(&format!("{before}..HEAD")), of(&format!("{}..{session}", tree.base)));
            let read = |name: &str| fs::read_to_string(main.join("swapped").join(name)).unwrap();
            assert_eq!((read("file-1"), read("file-2")), (format!("{}\n", tree.branch), format!("{}\n", tree.branch)));
            "done".to_owned()
        },
    );
}

#[test]
fn a_merge_into_a_branch_of_another_session_writes_nothing_outside() {
    let source = RefCell::new(None);
    race(
        |arena, tree| {
            let other = arena.other_session();
            fill(&other.path.join("swapped"), "work");
            fs::write(other.path.join("swapped/added"), "work\n").unwrap();
            checkpoint(&other, 1).unwrap();
            source.replace(Some(other));
            tree.path.clone()
        },
        |_, tree| {
            let target = format!("refs/heads/{}", tree.branch);
            merge_into(source.borrow().as_ref().unwrap(), &target).to_owned()
        },
    );
}

#[test]
fn the_work_of_a_child_writes_nothing_outside() {
    let head = RefCell::new(None);
    race(
        |arena, tree| {
            let child = arena.other_session();
            fill(&child.path.join("swapped"), "work");
            fs::write(child.path.join("swapped/added"), "work\n").unwrap();
            head.replace(checkpoint(&child, 1).unwrap().map(|recorded| recorded.commit));
            tree.path.clone()
        },
        |_, tree| {
            let child = integrate::Child { base: tree.base, head: head.borrow().unwrap() };
            let end = match integrate::integrate(tree, child) {
                Ok(integrate::Outcome::Integrated { .. }) => "done",
                Ok(integrate::Outcome::Changed { .. }) => "changed",
                Ok(integrate::Outcome::Conflict { .. }) => "conflict",
                Ok(integrate::Outcome::Refused { .. }) => "refused",
                Ok(other) => panic!("{other:?}"),
                Err(_) => "failed",
            };
            let recovered = integrate::recover(tree).map_or("stuck", |_| "clean");
            format!("{end}, {recovered}")
        },
    );
}

#[test]
fn a_restore_writes_nothing_outside() {
    race(
        |arena, tree| {
            fill(&tree.path.join("swapped"), "work");
            let trashed = removal::trash(tree, &arena.root()).unwrap();
            removal::salvage(&trashed).unwrap();
            removal::retire(&trashed, &arena.root()).unwrap();
            tree.path.clone()
        },
        |arena, tree| word(removal::restore(tree, &arena.root(), &mut |_| {})),
    );
}

#[test]
fn a_removal_writes_nothing_outside() {
    race(
        |arena, tree| {
            fill(&tree.path.join("swapped"), "work");
            // There is never more than one spare.
            fs::remove_dir_all(arena.root().join(".spare")).ok();
            let trashed = removal::trash(tree, &arena.root()).unwrap();
            removal::salvage(&trashed).unwrap();
            trashed.worktree.path
        },
        |arena, tree| {
            let found = removal::pending(&arena.root()).into_iter().find(|found| found.session.is_some()).unwrap();
            let recycled = removal::recycle(&found.resume(tree).unwrap(), &arena.root(), TreeReuse::Allowed);
            let end = match recycled {
                Ok(Recycled::Spare(_)) => "spare",
                Ok(Recycled::Doubt { .. }) => "doubt",
                Err(_) => "failed",
            };
            end.to_owned()
        },
    );
}

#[test]
fn a_forged_file_is_seen_and_never_reaches_the_next_session() {
    let Some(arena) = Arena::new() else { return };
    for round in 0..rounds() {
        let (tree, _) = arena.session(2 * round);
        let directory = rustix::fs::open(&tree.path, OFlags::DIRECTORY, Mode::empty()).unwrap();
        forge(&directory, "other\n");
        checkpoint(&tree, 1).unwrap();
        // Back to what the base has while git looks, and to something else in the same second.
        let stop = AtomicBool::new(false);
        let checkpointed = std::thread::scope(|scope| {
            scope.spawn(|| {
                for text in ["first\n", "agent\n"].iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                    forge(&directory, text);
                }
                forge(&directory, "agent\n");
            });
            let checkpointed = checkpoint(&tree, 2);
            stop.store(true, Ordering::Relaxed);
            checkpointed
        });
        if let Err(error) = checkpointed {
            println!("git refuses a file that changes while it reads: {error}");
        }
        sees_every_change(&tree);
        let trashed = removal::trash(&tree, &arena.root()).unwrap();
        removal::salvage(&trashed).unwrap();
        removal::recycle(&trashed, &arena.root(), TreeReuse::Allowed).unwrap();
        forge(&directory, "agent\n");
        let verdict = SpareVerification::run(&arena.repo, &arena.root(), take_read_lease).unwrap();
        let (next, method) = arena.session(2 * round + 1);
        assert_eq!(verdict == Some(SpareVerdict::Accepted), method == Method::Spare, "{verdict:?}");
        assert_eq!(fs::read_to_string(next.path.join("note")).unwrap(), "first\n", "round {round}");
        assert_eq!(git(&next.path, &["status", "--porcelain", "--ignored"]), "");
    }
}

/// Commits a filter that runs a script of the repository, and a file that goes through it.
fn commit_filter(directory: &Path, script: &str, text: &str) {
    fs::create_dir_all(directory.join("bin")).unwrap();
    fs::write(directory.join("bin/up.sh"), script).unwrap();
    fs::write(directory.join(".gitattributes"), "*.up filter=up\n").unwrap();
    fs::write(directory.join("file.up"), text).unwrap();
}

#[test]
fn a_file_that_can_still_be_written_never_reaches_the_next_session() {
    let Some(arena) = Arena::new() else { return };
    for (round, name) in ["note", ".git"].into_iter().enumerate() {
        let (tree, _) = arena.session(2 * round);
        let trashed = removal::trash(&tree, &arena.root()).unwrap();
        removal::salvage(&trashed).unwrap();
        let recycled = removal::recycle(&trashed, &arena.root(), TreeReuse::Allowed).unwrap();
        let Recycled::Spare(place) = recycled else { panic!("{recycled:?}") };
        let _writer = File::options().write(true).open(place.join(name)).unwrap();
        let verdict = SpareVerification::run(&arena.repo, &arena.root(), take_read_lease).unwrap();
        let reason = format!("`{name}` is open for writing");
        assert!(
            matches!(&verdict, Some(SpareVerdict::Rejected { reason: said, .. }) if *said == reason),
            "{verdict:?}"
        );
        assert_ne!(arena.session(2 * round + 1).1, Method::Spare);
        fs::remove_dir_all(arena.root().join(".spare")).unwrap();
    }
}

#[test]
fn a_filter_of_a_merge_writes_nothing_outside() {
    let Some(arena) = Arena::new() else { return };
    let (main, common, home) = (arena.main(), arena.repo.common_dir().to_owned(), arena.dir.path().join("home"));
    for (key, value) in [("smudge", "sh ./bin/up.sh"), ("clean", "tr A-Z a-z"), ("required", "true")] {
        git(&main, &["config", &format!("filter.up.{key}"), value]);
    }
    let mut script = String::new();
    let inside = ["hooks/post-commit", "config", "index", "info/attributes", "objects/planted", "refs/heads/planted"];
    let outside = [main.join("planted"), home.join("authorized_keys")];
    for path in inside.iter().map(|name| common.join(name)).chain(outside) {
        script += &format!("(echo planted >> '{}') 2>/dev/null\n", path.display());
    }
    let secret = home.join("secret");
    // The user's own version runs in the user's checkout, the agent's where a hook is to look at its work.
    commit_filter(&main, &format!("{script}exec tr a-z A-Z\n"), "BASE\n");
    git(&main, &["add", "--all"]);
    git(&main, &["commit", "--quiet", "--message", "filter"]);
    fs::create_dir_all(common.join("hooks")).unwrap();
    fs::write(common.join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(common.join("hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();

    let before = arena.outside();
    let (tree, _) = arena.session(1);
    let theirs = format!("{script}echo planted\ncat '{}' 2>/dev/null\nexec tr a-z A-Z\n", secret.display());
    commit_filter(&tree.path, &theirs, "work\n");
    checkpoint(&tree, 1).unwrap();
    let order = Merge {
        target: Some("refs/heads/main"),
        style: Style::Squash,
        message: "work",
        base: tree.base,
        hooks: HookPolicy::Check,
        ssh_agent: None,
    };
    let mut hooked = String::new();
    let mut hooks = |run: HookRun| {
        hooked = fs::read_to_string(run.directory.join("file.up")).unwrap();
        HookResult::Passed
    };
    let made = merge::make(&tree, order, &mut hooks).unwrap();
    let Made::Ready(ready) = made else { panic!("{made:?}") };
    let merged = merge::advance(&tree, ready, &BTreeSet::new()).unwrap();
    assert!(matches!(merged, merge::Outcome::Merged { .. }), "{merged:?}");
    // It ran, with what an agent may read.
    assert!(hooked.contains("WORK") && !hooked.contains("secret"), "{hooked:?}");
    assert_eq!(fs::read_to_string(main.join("file.up")).unwrap(), "WORK\n");
    assert_eq!(git(&main, &["status", "--porcelain"]), "");
    assert_eq!(arena.outside(), before);
    let planted = [common.join("objects/planted"), common.join("refs/heads/planted"), main.join("planted")];
    assert!(planted.iter().all(|path| !path.exists()));
}
