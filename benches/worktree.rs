//! Worktrees of the large repository: ours, git's own, and the raw creation of the same files as the floor.
//!
//! Trees are never deleted inside a run: a file system that has just lost many files creates them several times slower
//! for minutes. A round in that state shows itself by the raw creation and does not count.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use coppice::git::removal::{Recycled, SpareVerdict, SpareVerification, TreeReuse, recycle, salvage, trash};
use coppice::git::worktree::{Created, Method, New, Ways, create, create_by};
use coppice::git::{Oid, Repo};
use coppice::id::SessionId;
use coppice::sandbox::lease::take_read_lease;

use crate::measure::{Cost, cost, median, ratio};
use crate::repo::{Entry, Random, entries, forget, git, prepare};
use crate::{Bar, Options, Report};

/// Above this the raw creation of a file says that the file system still steps over deleted ones.
const CLEAN: Duration = Duration::from_micros(30);

#[derive(Clone, Copy)]
enum Way {
    Raw,
    Git,
    Ours,
}

/// One round's figures.
#[derive(Default, Clone, Copy)]
struct Round {
    raw: Cost,
    git: Cost,
    ours: Cost,
    spare: Cost,
    first_status: Duration,
    second_status: Duration,
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    let checkout = prepare(&options.root, options.files);
    let repo = Repo::discover(&checkout).unwrap();
    let base = repo.resolve_base(&checkout, None).unwrap().commit;
    let run = Run {
        entries: entries(options.files),
        trees: options.root.join(format!("trees-{}", std::process::id())),
        checkout,
        repo,
        base,
    };
    forget(&run.checkout);
    let mut random = Random(0x0d3e);
    let mut rounds = Vec::new();
    let mut discarded = 0;
    // Some rounds may not count, but a machine that has no clean ones is not measured for ever.
    for number in 0..options.rounds * 3 {
        if rounds.len() == options.rounds {
            break;
        }
        let round = run.round(number, &mut random);
        if round.raw.cpu > CLEAN * u32::try_from(options.files).unwrap() {
            discarded += 1;
            continue;
        }
        report.note(&format!("raw {:.2?}, git {:.2?}, ours {:.2?}", round.raw.wall, round.git.wall, round.ours.wall));
        rounds.push(round);
    }
    report.note(&format!("{} rounds, {discarded} discarded", rounds.len()));
    run.clean_up();
    if rounds.is_empty() {
        report.note("no clean round: too many files were deleted here lately; try again in some minutes");
        return;
    }
    let wall = |part: fn(&Round) -> Duration| median(&rounds.iter().map(part).collect::<Vec<_>>());
    let (ours, theirs, raw) = (wall(|r| r.ours.wall), wall(|r| r.git.wall), wall(|r| r.raw.wall));
    let cpu = ratio(wall(|r| r.git.cpu), wall(|r| r.ours.cpu));
    report.add("worktree, cold: faster than `git worktree add`, wall", ratio(theirs, ours), Bar::AtLeast(2.2, "×"));
    report.add("worktree, cold: faster than `git worktree add`, CPU", cpu, Bar::AtLeast(2.2, "×"));
    report.add("worktree, cold: against raw creation of the files", ratio(ours, raw), Bar::AtMost(2.0, "×"));
    let spare = ratio(wall(|r| r.spare.wall), theirs);
    report.add("worktree from a spare against `git worktree add`", spare, Bar::AtMost(0.10, "×"));
    let status = ratio(wall(|r| r.first_status), wall(|r| r.second_status));
    report.add("first `git status` against the second", status, Bar::AtMost(1.5, "×"));
}

struct Run {
    entries: Vec<Entry>,
    trees: PathBuf,
    checkout: PathBuf,
    repo: Repo,
    base: Oid,
}

impl Run {
    fn round(&self, number: usize, random: &mut Random) -> Round {
        let mut ways = [Way::Raw, Way::Git, Way::Ours];
        random.shuffle(&mut ways);
        let mut round = Round::default();
        let mut made = None;
        for way in ways {
            // Nobody pays for what another has left to write.
            rustix::fs::sync();
            match way {
                Way::Raw => round.raw = cost(|| self.raw(number)).1,
                Way::Git => round.git = cost(|| self.add(number)).1,
                Way::Ours => {
                    let (created, spent) = cost(|| self.populate(random));
                    round.ours = spent;
                    made = Some(created);
                }
            }
        }
        let tree = made.unwrap().worktree;
        round.first_status = status(&tree.path);
        round.second_status = status(&tree.path);
        let root = self.ours();
        let trashed = trash(&tree, &root).unwrap();
        salvage(&trashed).unwrap();
        match recycle(&trashed, &root, TreeReuse::Allowed).unwrap() {
            Recycled::Spare(_) => {}
            other => panic!("a clean tree was not recycled: {other:?}"),
        }
        assert_eq!(SpareVerification::run(&self.repo, &root, take_read_lease).unwrap(), Some(SpareVerdict::Accepted));
        let (taken, spent) = cost(|| create(&self.repo, self.next_tree(&root, random), &mut |_| {}).unwrap());
        assert_eq!(taken.method, Method::Spare);
        round.spare = spent;
        round
    }

    fn ours(&self) -> PathBuf {
        self.trees.join("ours")
    }

    fn next_tree<'a>(&self, root: &'a Path, random: &mut Random) -> New<'a> {
        let bytes: [u8; 8] = random.next().to_le_bytes();
        let id = SessionId::from_random([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]);
        New { root, id, slug: "bench", base: self.base, attributes: self.base }
    }

    fn populate(&self, random: &mut Random) -> Created {
        let root = self.ours();
        let created = create_by(&self.repo, self.next_tree(&root, random), Ways::Populate, &mut |_| {}).unwrap();
        assert_eq!(created.method, Method::Populated);
        created
    }

    fn add(&self, number: usize) {
        let path = self.trees.join(format!("git-{number}"));
        git(&self.checkout, &["worktree", "add", "-q", "--detach", path.to_str().unwrap(), &self.base.to_string()]);
    }

    /// The same names and sizes from memory, on two threads.
    fn raw(&self, number: usize) {
        let root = self.trees.join(format!("raw-{number}"));
        let zeros = vec![b'x'; 1 << 20];
        let create = |entries: &[Entry]| {
            for entry in entries {
                let path = root.join(&entry.path);
                if fs::write(&path, &zeros[..entry.size]).is_err() {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(&path, &zeros[..entry.size]).unwrap();
                }
            }
        };
        let (front, back) = self.entries.split_at(self.entries.len() / 2);
        thread::scope(|scope| {
            scope.spawn(|| create(front));
            scope.spawn(|| create(back));
        });
    }

    /// Deletes at the end, when nothing is measured here any more.
    fn clean_up(&self) {
        fs::remove_dir_all(&self.trees).unwrap();
        forget(&self.checkout);
    }
}

fn status(path: &Path) -> Duration {
    let began = Instant::now();
    let changes = git(path, &["status", "--porcelain"]);
    let took = began.elapsed();
    assert_eq!(changes, "");
    took
}
