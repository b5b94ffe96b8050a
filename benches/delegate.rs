//! A child of a session with uncommitted work in a large repository: what the snapshot and the worktree cost beside
//! `git status` in the parent and a plain worktree, in the same rounds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coppice::git::handoff::{self, Ignored};
use coppice::git::removal::{Reclaimed, Recycled, SpareVerification, TreeReuse, reclaim, recycle, salvage, trash};
use coppice::git::worktree::{Method, New, Ways, create, create_by};
use coppice::git::{Oid, Repo, Worktree};
use coppice::id::SessionId;
use coppice::sandbox::lease::take_read_lease;

use crate::measure::{cost, median, ratio};
use crate::repo::{Random, entries, forget, git, prepare};
use crate::{Bar, Options, Report};

/// How many files the parent has changed, and how many it has made.
pub(crate) const CHANGED: usize = 200;

#[derive(Clone, Copy, Default)]
struct Round {
    status: Duration,
    snapshot: Duration,
    cold_plain: Duration,
    cold_child: Duration,
    spare_plain: Duration,
    spare_child: Duration,
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    let checkout = prepare(&options.root, options.files);
    forget(&checkout);
    let repo = Repo::discover(&checkout).unwrap();
    let base = repo.resolve_base(&checkout, None).unwrap().commit;
    let root = options.root.join(format!("delegations-{}", std::process::id()));
    let mut run = Run { repo, base, root, random: Random(0xde1e) };
    let parent = run.create(base, Ways::Populate).0;
    change(&parent.path, options.files, 0);
    let rounds: Vec<Round> = (0..options.rounds).map(|_| run.round(&parent)).collect();
    let middle = |part: fn(&Round) -> Duration| median(&rounds.iter().map(part).collect::<Vec<_>>());
    let (status, snapshot) = (middle(|round| round.status), middle(|round| round.snapshot));
    report.note(&format!("git status {status:.2?}, snapshot {snapshot:.2?}"));
    let (cold, plain) = (middle(|round| round.snapshot + round.cold_child), middle(|round| round.cold_plain));
    report.note(&format!("cold: plain {plain:.2?}, child {cold:.2?}"));
    report.add("child, cold: against a plain worktree", ratio(cold, plain), Bar::AtMost(1.3, "×"));
    let (child, plain) = (middle(|round| round.snapshot + round.spare_child), middle(|round| round.spare_plain));
    report.note(&format!("from a spare: plain {plain:.2?}, child {child:.2?}"));
    let above = ratio(child.saturating_sub(plain), status);
    report.add("child from a spare: above a plain worktree, in `git status`", above, Bar::AtMost(2.0, "×"));
    fs::remove_dir_all(&run.root).unwrap();
    forget(&checkout);
}

struct Run {
    repo: Repo,
    base: Oid,
    root: PathBuf,
    random: Random,
}

impl Run {
    /// Trees are not deleted inside a run: it slows the creation of the next ones.
    fn round(&mut self, parent: &Worktree) -> Round {
        let status = cost(|| git(&parent.path, &["status", "--porcelain"]));
        assert_eq!(status.0.lines().count(), 2 * CHANGED);
        let taken = cost(|| handoff::snapshot(parent, "h_bench", Ignored::Left).unwrap());
        let snapshot = taken.0.commit;
        let mut round = Round { status: status.1.wall, snapshot: taken.1.wall, ..Round::default() };
        let mut bases = [self.base, snapshot];
        self.random.shuffle(&mut bases);
        for base in bases {
            rustix::fs::sync();
            let ((tree, method), spent) = cost(|| self.create(base, Ways::Populate));
            assert_eq!(method, Method::Populated);
            let took = if base == snapshot { &mut round.cold_child } else { &mut round.cold_plain };
            *took = spent.wall;
            // One of them is the spare for what follows.
            let trashed = trash(&tree, &self.root).unwrap();
            salvage(&trashed).unwrap();
            assert!(matches!(
                recycle(&trashed, &self.root, TreeReuse::Allowed).unwrap(),
                Recycled::Spare(_) | Recycled::Doubt { .. }
            ));
        }
        for base in [self.base, snapshot] {
            SpareVerification::run(&self.repo, &self.root, take_read_lease).unwrap();
            let ((tree, method), spent) = cost(|| self.create(base, Ways::Best));
            assert_eq!(method, Method::Spare);
            let took = if base == snapshot { &mut round.spare_child } else { &mut round.spare_plain };
            *took = spent.wall;
            assert_eq!(reclaim(&tree, &self.root, "h_none", TreeReuse::Allowed, || ()).unwrap(), Reclaimed::Spare);
        }
        round
    }

    fn create(&mut self, base: Oid, ways: Ways) -> (Worktree, Method) {
        let bytes: [u8; 8] = self.random.next().to_le_bytes();
        let id = SessionId::from_random([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]);
        let new = New { root: &self.root, id, slug: "bench", base, attributes: self.base };
        let created = match ways {
            Ways::Best => create(&self.repo, new, &mut |_| {}),
            Ways::Populate | Ways::Checkout => create_by(&self.repo, new, ways, &mut |_| {}),
        };
        let created = created.unwrap();
        (created.worktree, created.method)
    }
}

/// Appends a line to some files, and puts another file beside each.
pub(crate) fn change(tree: &Path, files: usize, round: usize) {
    for entry in entries(files).iter().step_by(files / CHANGED).take(CHANGED) {
        let path = tree.join(&entry.path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n// changed\n")).unwrap();
        fs::write(path.with_extension(format!("fresh{round}")), "fresh\n").unwrap();
    }
}
