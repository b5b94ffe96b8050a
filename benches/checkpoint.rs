//! The end of a turn in a large repository: what a checkpoint of five changed files costs beside `git status`.

use std::fs;
use std::path::Path;

use coppice::git::diff::{self, Target};
use coppice::git::history::{Checkpoint, checkpoint};
use coppice::git::worktree::{New, Ways, create_by};
use coppice::git::{Repo, Worktree};
use coppice::id::SessionId;

use crate::measure::{Cost, cost, median, ratio};
use crate::repo::{Random, entries, forget, git, prepare};
use crate::{Bar, Options, Report};

const CHANGED: usize = 5;

pub(crate) fn run(options: &Options, report: &mut Report) {
    let checkout = prepare(&options.root, options.files);
    forget(&checkout);
    let repo = Repo::discover(&checkout).unwrap();
    let base = repo.resolve_base(&checkout, None).unwrap().commit;
    let root = options.root.join(format!("checkpoints-{}", std::process::id()));
    let id = SessionId::from_random([0, 0, 0, 0, 1]);
    let new = New { root: &root, id, slug: "bench", base, attributes: base };
    let tree = create_by(&repo, new, Ways::Populate, &mut |_| {}).unwrap().worktree;
    let mut random = Random(0xc0de);
    let rounds: Vec<(Cost, Cost)> = (1..=options.rounds.max(10))
        .map(|turn| {
            edit(&tree.path, options.files, &mut random);
            let status = cost(|| git(&tree.path, &["status", "--porcelain"]));
            assert_eq!(status.0.lines().count(), CHANGED);
            let ours = cost(|| end_turn(&tree, id, u32::try_from(turn).unwrap())).1;
            (status.1, ours)
        })
        .collect();
    let middle = |part: fn(&(Cost, Cost)) -> std::time::Duration| median(&rounds.iter().map(part).collect::<Vec<_>>());
    let (status, ours) = (middle(|round| round.0.wall), middle(|round| round.1.wall));
    report.note(&format!("git status {status:.2?}, checkpoint {ours:.2?}"));
    let what = "checkpoint of 5 changed files of 50,000 against `git status`";
    report.add(what, ratio(ours, status), Bar::AtMost(2.0, "×"));
    let cpu = ratio(middle(|round| round.1.cpu), middle(|round| round.0.cpu));
    report.note(&format!("the same in processor time: {cpu:.2} ×"));
    fs::remove_dir_all(&root).unwrap();
    forget(&checkout);
}

/// Appends a line to some files, never the same one twice.
fn edit(tree: &Path, files: usize, random: &mut Random) {
    let all = entries(files);
    let first = random.below(files);
    for place in (first..).step_by(files / CHANGED).take(CHANGED) {
        let path = tree.join(&all[place % files].path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n// {}\n", random.next())).unwrap();
    }
}

/// What the engine does when a turn ends: the commit, and what the whole session changed.
fn end_turn(tree: &Worktree, session: SessionId, turn: u32) {
    let recorded = checkpoint(tree, Checkpoint { session, turn, message: "bench" }).unwrap().unwrap();
    let files = diff::files(tree, &tree.base, Target::Commit(recorded.commit)).unwrap();
    assert!(files.len() >= CHANGED);
}
