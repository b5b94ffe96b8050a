//! A child starts from exactly what its parent has, and is a session like any other.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::git::diff::{self, Kind, Target};
use crate::git::history::{Checkpoint, checkpoint};
use crate::git::removal::{self, Reclaimed, Recycled, SpareVerdict, SpareVerification, TreeReuse, salvage_ref};
use crate::git::stop::stop_signal;
use crate::git::testkit::{Sandbox, reset, run_git, write};
use crate::git::worktree::{self, Health, Method, New, Ways};
use crate::id::SessionId;

const PARENT: &str = "abcdefgh";
const CHILD: &str = "bbbbbbbb";
const HANDOFF: &str = "h_one";

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn root(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("trees")
}

/// A parent with an edited, a staged, a deleted, an untracked and two ignored files.
fn busy(sandbox: &Sandbox) -> Worktree {
    sandbox.write(".gitignore", "*.log\n/cache/\n");
    sandbox.write("gone", "gone\n");
    sandbox.write("staged", "one\n");
    sandbox.commit_all("more");
    let parent = sandbox.session(PARENT);
    write(&parent.path.join("README"), "edited\n");
    write(&parent.path.join("deep/untracked"), "untracked\n");
    write(&parent.path.join("noise.log"), "noise\n");
    write(&parent.path.join("cache/a.bin"), "a\n");
    write(&parent.path.join("staged"), "two\n");
    run_git(&parent.path, &["add", "staged"]);
    fs::remove_file(parent.path.join("gone")).unwrap();
    parent
}

#[track_caller]
fn child_of(parent: &Worktree, sandbox: &Sandbox, ways: Ways) -> (Worktree, Method) {
    child_named(CHILD, parent, sandbox, ways)
}

#[track_caller]
fn child_named(name: &str, parent: &Worktree, sandbox: &Sandbox, ways: Ways) -> (Worktree, Method) {
    let base = snapshot(parent, HANDOFF, Ignored::Left).unwrap().commit;
    let new = New { root: &root(sandbox), id: id(name), slug: "help", base, attributes: parent.attributes };
    let created = worktree::create_by(&parent.repo, new, ways, &mut |_| {}).unwrap();
    (created.worktree, created.method)
}

/// Everything that a look at the parent shows.
fn visible(parent: &Worktree) -> (String, Vec<u8>, String) {
    let status = run_git(&parent.path, &["status", "--porcelain", "--ignored"]);
    let refs = run_git(&parent.path, &["for-each-ref", "refs/heads"]);
    (status, fs::read(parent.admin.join("index")).unwrap(), refs)
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn a_child_sees_uncommitted_staged_and_untracked_files_and_the_parent_sees_nothing() {
    for ways in [Ways::Best, Ways::Populate, Ways::Checkout] {
        let sandbox = Sandbox::new();
        let parent = busy(&sandbox);
        let before = visible(&parent);
        let (child, _) = child_of(&parent, &sandbox, ways);
        for (name, expected) in [
            ("README", Some("edited\n")),
            ("staged", Some("two\n")),
            ("deep/untracked", Some("untracked\n")),
            ("gone", None),
            ("noise.log", None),
            ("cache/a.bin", None),
        ] {
            assert_eq!(text(&child.path.join(name)).as_deref(), expected, "{name} by {ways:?}");
        }
        assert_eq!(run_git(&child.path, &["status", "--porcelain"]), "");
        // What the child does stays with the child.
        write(&child.path.join("README"), "by the child\n");
        write(&child.path.join("deep/untracked"), "by the child\n");
        let refs = run_git(&parent.path, &["for-each-ref", "refs/heads", "--format=%(refname)"]);
        assert_eq!(refs.lines().count(), 3, "{refs}");
        let after = visible(&parent);
        assert_eq!((after.0, after.1), (before.0, before.1));
        assert_eq!(text(&parent.path.join("README")).as_deref(), Some("edited\n"));
    }
}

#[test]
fn ignored_files_come_along_when_a_pattern_wants_them() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let taken = |patterns: &[&str]| {
        let patterns: Vec<_> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let commit = snapshot(&parent, HANDOFF, Ignored::Taken(&patterns)).unwrap().commit;
        let names = sandbox.git(&["ls-tree", "-r", "--name-only", &commit.to_string()]);
        names.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = [".gitignore", "README", "deep/untracked", "staged"];
    assert_eq!(taken(&[]), plain);
    assert_eq!(taken(&["nothing"]), plain);
    assert_eq!(taken(&["*.log"]), [".gitignore", "README", "deep/untracked", "noise.log", "staged"]);
    assert_eq!(taken(&["/cache/"]), [".gitignore", "README", "cache/a.bin", "deep/untracked", "staged"]);
    let error = snapshot(&parent, HANDOFF, Ignored::Taken(&["[z-a]".to_owned()])).unwrap_err().to_string();
    assert!(error.starts_with("`[z-a]` is not a pattern for ignored files"), "{error}");
    // A clean parent has ignored files as well.
    run_git(&parent.path, &["reset", "--quiet", "--hard"]);
    run_git(&parent.path, &["clean", "--quiet", "-fd"]);
    assert_eq!(taken(&["*.log"]), [".gitignore", "README", "gone", "noise.log", "staged"]);
}

#[test]
fn a_snapshot_is_kept_by_its_ref_and_let_go() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let recorded = snapshot(&parent, HANDOFF, Ignored::Left).unwrap();
    assert_eq!(sandbox.oid("refs/coppice/handoffs/h_one"), recorded.commit);
    assert_eq!(sandbox.oid(&format!("{}^", recorded.commit)), parent.base);
    drop_snapshot(&parent.repo, HANDOFF).unwrap();
    assert_eq!(parent.repo.find_ref(&handoff_ref(HANDOFF)).unwrap(), None);
    drop_snapshot(&parent.repo, HANDOFF).unwrap();
}

#[test]
fn what_no_commit_can_hold_is_told() {
    let sandbox = Sandbox::new();
    let parent = sandbox.session(PARENT);
    fs::create_dir(parent.path.join("nested")).unwrap();
    run_git(&parent.path.join("nested"), &["init", "--quiet"]);
    write(&parent.path.join("nested/file"), "x");
    let recorded = snapshot(&parent, HANDOFF, Ignored::Left).unwrap();
    assert_eq!(recorded.left_out, [PathBuf::from("nested")]);
}

#[test]
fn attributes_that_an_agent_wrote_choose_no_filter_in_its_child() {
    let sandbox = Sandbox::new();
    let marker = sandbox.root().join("ran");
    for key in ["filter.own.smudge", "filter.own.clean"] {
        sandbox.git(&["config", key, &format!("touch '{}'; cat", marker.display())]);
    }
    let parent = sandbox.session(PARENT);
    write(&parent.path.join(".gitattributes"), "* filter=own\n");
    for ways in [Ways::Populate, Ways::Checkout] {
        let (child, _) = child_of(&parent, &sandbox, ways);
        assert_eq!((child.attributes, child.base == parent.base), (parent.base, false));
        write(&child.path.join("README"), "edited\n");
        let about = Checkpoint { session: id(CHILD), turn: 1, message: "x" };
        checkpoint(&child, about).unwrap().unwrap();
        diff::patch(&child, &child.base, Target::WorkTree, usize::MAX).unwrap();
        assert!(!marker.exists(), "{ways:?}");
        let trashed = removal::trash(&child, &root(&sandbox)).unwrap();
        removal::salvage(&trashed).unwrap();
        removal::drop_branch(&trashed).unwrap();
        let Recycled::Doubt { .. } = removal::recycle(&trashed, &root(&sandbox), TreeReuse::Allowed).unwrap() else {
            panic!("a tree with other attributes became the spare")
        };
    }
    assert!(!marker.exists());
}

#[track_caller]
fn verify_spare(sandbox: &Sandbox) {
    let verdict = SpareVerification::run(&sandbox.repo(), &root(sandbox), |_| Ok(())).unwrap();
    assert_eq!(verdict, Some(SpareVerdict::Accepted));
}

#[test]
fn a_spare_serves_a_child() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let new =
        New { root: &root(&sandbox), id: id("cccccccc"), slug: "x", base: sandbox.head(), attributes: sandbox.head() };
    let ended = worktree::create(&parent.repo, new, &mut |_| {}).unwrap().worktree;
    let trashed = removal::trash(&ended, &root(&sandbox)).unwrap();
    removal::salvage(&trashed).unwrap();
    assert!(matches!(removal::recycle(&trashed, &root(&sandbox), TreeReuse::Allowed).unwrap(), Recycled::Spare(_)));
    verify_spare(&sandbox);
    let (child, method) = child_of(&parent, &sandbox, Ways::Best);
    assert_eq!(method, Method::Spare);
    assert_eq!(text(&child.path.join("deep/untracked")).as_deref(), Some("untracked\n"));
    assert_eq!(text(&child.path.join("gone")), None);
    assert_eq!(run_git(&child.path, &["status", "--porcelain"]), "");
}

#[test]
fn diff_checkpoint_and_undo_of_a_child_count_from_the_snapshot() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    assert_eq!(diff::files(&child, &child.base, Target::WorkTree).unwrap(), []);
    let about = |turn| Checkpoint { session: id(CHILD), turn, message: "x" };
    assert_eq!(checkpoint(&child, about(1)).unwrap(), None);
    write(&child.path.join("README"), "by the child\n");
    write(&child.path.join("added"), "added\n");
    let first = checkpoint(&child, about(1)).unwrap().unwrap().commit;
    fs::remove_file(child.path.join("deep/untracked")).unwrap();
    checkpoint(&child, about(2)).unwrap().unwrap();
    let kinds = |to| {
        let files = diff::files(&child, &child.base, to).unwrap();
        files.into_iter().map(|file| (file.path.display().to_string(), file.kind)).collect::<Vec<_>>()
    };
    let expected = [("README".to_owned(), Kind::Modified), ("added".to_owned(), Kind::Added)];
    assert_eq!(kinds(Target::Commit(first)), expected);
    assert_eq!(kinds(Target::WorkTree).len(), 3);
    reset(&child, &first).unwrap();
    assert_eq!(kinds(Target::WorkTree), expected);
    reset(&child, &child.base).unwrap();
    assert_eq!(kinds(Target::WorkTree), []);
    assert_eq!(text(&child.path.join("deep/untracked")).as_deref(), Some("untracked\n"));
}

#[test]
fn a_child_is_mended_saved_and_restored_although_only_its_refs_hold_the_snapshot() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    // The branch alone keeps the snapshot alive once the handoff is over, through the user's own collection.
    drop_snapshot(&child.repo, HANDOFF).unwrap();
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(child.health().unwrap(), Health::Sound);
    fs::remove_dir_all(&child.path).unwrap();
    assert_eq!(child.repair().unwrap().mended, [Health::TreeMissing]);
    assert_eq!(text(&child.path.join("staged")).as_deref(), Some("two\n"));
    fs::remove_dir_all(&child.admin).unwrap();
    child.repair().unwrap();
    assert_eq!(run_git(&child.path, &["status", "--porcelain"]), "");
    sandbox.git(&["update-ref", "-d", &format!("refs/heads/{}", child.branch)]);
    child.repair().unwrap();
    assert_eq!(sandbox.oid(&child.branch), child.base);

    write(&child.path.join("README"), "unsaved\n");
    let trashed = removal::trash(&child, &root(&sandbox)).unwrap();
    let saved = removal::salvage(&trashed).unwrap();
    removal::drop_branch(&trashed).unwrap();
    removal::retire(&trashed, &root(&sandbox)).unwrap();
    sandbox.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(sandbox.oid(&salvage_ref(CHILD)), saved.commit);
    removal::restore(&child, &root(&sandbox), &mut |_| {}).unwrap();
    assert_eq!(text(&child.path.join("README")).as_deref(), Some("unsaved\n"));
    assert_eq!(text(&child.path.join("deep/untracked")).as_deref(), Some("untracked\n"));
    assert_eq!(sandbox.oid(&child.branch), child.base);
}

/// Whatever git and the file system know of a session.
fn traces(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    let registered = sandbox.git(&["worktree", "list", "--porcelain"]);
    let mut all: Vec<_> = refs.lines().chain(registered.lines()).map(str::to_owned).collect();
    let directories = ["trees", "trees/.trash", "trees/.spare", "trees/.integrate", "main/.git/worktrees"];
    for directory in directories {
        let entries = fs::read_dir(sandbox.root().join(directory)).into_iter().flatten().flatten();
        all.extend(entries.map(|entry| entry.path().display().to_string()));
    }
    all.retain(|trace| trace.contains(session) || trace.contains(HANDOFF));
    all
}

#[test]
fn what_a_read_only_child_wrote_is_archived_and_never_reaches_the_parent() {
    const ARCHIVE: &str = "refs/coppice/archive/bbbbbbbb";
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let before = visible(&parent);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    assert_eq!(tidy(&child, ARCHIVE).unwrap(), None);
    assert_eq!(child.repo.find_ref(ARCHIVE).unwrap(), None);
    write(&child.path.join("README"), "written all the same\n");
    write(&child.path.join("fresh"), "fresh\n");
    run_git(&child.path, &["add", "fresh"]);
    run_git(&child.path, &["-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "-m", "x"]);
    // What no commit can hold would be deleted unseen.
    write(&child.path.join("git~1"), "in no commit\n");
    assert!(matches!(tidy(&child, ARCHIVE), Err(GitError::CannotBeSaved { .. })));
    assert_eq!(text(&child.path.join("git~1")).as_deref(), Some("in no commit\n"));
    fs::remove_file(child.path.join("git~1")).unwrap();
    let recorded = tidy(&child, ARCHIVE).unwrap().unwrap();
    assert_eq!(sandbox.oid(ARCHIVE), recorded.commit);
    assert_eq!(sandbox.git(&["show", &format!("{ARCHIVE}:README")]), "written all the same\n");
    assert_eq!(sandbox.git(&["show", &format!("{ARCHIVE}:fresh")]), "fresh\n");
    assert_eq!(text(&child.path.join("README")).as_deref(), Some("edited\n"));
    assert_eq!(text(&child.path.join("fresh")), None);
    assert_eq!(tidy(&child, ARCHIVE).unwrap(), None);
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    assert_eq!(visible(&parent), before);
}

#[test]
fn a_child_that_left_nothing_leaves_no_trace() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    // Nothing that counts: a build has run.
    write(&child.path.join("noise.log"), "noise\n");
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    let spare = root(&sandbox).join(".spare").join(CHILD);
    let admin = sandbox.main().join(".git/worktrees").join(CHILD);
    let expected = [format!("worktree {}", spare.display()), spare.display().to_string(), admin.display().to_string()];
    assert_eq!(traces(&sandbox, CHILD), expected);
    assert_eq!(removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(), Reclaimed::Gone);
    // The next child takes it over, and no other spare is kept beside one.
    verify_spare(&sandbox);
    let (child, method) = child_named("dddddddd", &parent, &sandbox, Ways::Best);
    assert_eq!(method, Method::Spare);
    assert_eq!(text(&child.path.join("noise.log")), None);
    let new =
        New { root: &root(&sandbox), id: id("cccccccc"), slug: "x", base: child.base, attributes: child.attributes };
    let other = worktree::create(&parent.repo, new, &mut |_| {}).unwrap().worktree;
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    assert_eq!(
        removal::reclaim(&other, &root(&sandbox), "h_two", TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Trash
    );
    assert_eq!(traces(&sandbox, "cccccccc"), Vec::<String>::new());
}

#[test]
fn a_child_that_comes_again_takes_its_own_tree_back_or_puts_it_out_of_its_way() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    verify_spare(&sandbox);
    write(&parent.path.join("README"), "edited again\n");
    let (child, method) = child_of(&parent, &sandbox, Ways::Best);
    assert_eq!((method, text(&child.path.join("README")).as_deref()), (Method::Spare, Some("edited again\n")));
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    // A tree that nobody has verified is of no use.
    let (child, method) = child_of(&parent, &sandbox, Ways::Best);
    assert_eq!((method, child.health().unwrap()), (Method::Checkout, Health::Sound));
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    verify_spare(&sandbox);
    // A tree that was checked out by other rules is of no use.
    sandbox.write(".gitattributes", "* text eol=crlf\n");
    sandbox.commit_all("attributes");
    let new =
        New { root: &root(&sandbox), id: id(CHILD), slug: "help", base: sandbox.head(), attributes: sandbox.head() };
    let created = worktree::create(&parent.repo, new, &mut |_| {}).unwrap();
    assert_ne!(created.method, Method::Spare);
    assert_eq!(created.worktree.health().unwrap(), Health::Sound);
    assert!(!root(&sandbox).join(".spare").join(CHILD).exists());
}

#[test]
fn what_was_put_aside_outlives_the_child_and_not_the_session() {
    const ASIDE: &str = "refs/coppice/undo/bbbbbbbb/1";
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    write(&child.path.join("README"), "written all the same\n");
    assert!(tidy(&child, ASIDE).unwrap().is_some());
    assert_eq!(
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
        Reclaimed::Spare
    );
    assert_eq!(sandbox.git(&["show", &format!("{ASIDE}:README")]), "written all the same\n");
    removal::forget(&parent.repo, id(CHILD)).unwrap();
    assert_eq!(parent.repo.find_ref(ASIDE).unwrap(), None);
}

#[test]
fn a_child_with_work_is_not_reclaimed() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    let kept = || {
        let refs = sandbox.git(&["for-each-ref"]);
        assert_eq!(
            removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(),
            Reclaimed::Kept
        );
        assert_eq!(sandbox.git(&["for-each-ref"]), refs);
        assert_eq!(child.health().unwrap(), Health::Sound);
    };
    write(&child.path.join("fresh"), "fresh\n");
    kept();
    checkpoint(&child, Checkpoint { session: id(CHILD), turn: 1, message: "x" }).unwrap().unwrap();
    kept();
    // Its directory may be gone; its commits are not.
    fs::remove_dir_all(&child.path).unwrap();
    assert_eq!(removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap(), Reclaimed::Kept);
    assert!(child.repo.find_ref(&child.branch_ref()).unwrap().is_some());
}

#[test]
fn a_reclaim_that_is_stopped_puts_the_tree_back() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let (child, _) = child_of(&parent, &sandbox, Ways::Best);
    let (guard, stop) = stop_signal().unwrap();
    let stoppable = Worktree { repo: child.repo.stopped_by(stop), ..child.clone() };
    let guard = RefCell::new(Some(guard));
    // The tree is moved under the lock, and read afterwards.
    let hold = || drop(guard.take());
    let stopped = removal::reclaim(&stoppable, &root(&sandbox), HANDOFF, TreeReuse::Allowed, hold);
    assert!(matches!(stopped, Err(GitError::Stopped { .. })), "{stopped:?}");
    assert_eq!(child.health().unwrap(), Health::Sound);
    assert!(removal::pending(&root(&sandbox)).is_empty());
    let again = removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ());
    assert_eq!(again.unwrap(), Reclaimed::Spare);
}

#[test]
fn a_reclaim_that_was_killed_is_completed_by_the_next() {
    for stage in 0..3 {
        let sandbox = Sandbox::new();
        let parent = busy(&sandbox);
        let (child, _) = child_of(&parent, &sandbox, Ways::Best);
        let trashed = removal::trash(&child, &root(&sandbox)).unwrap();
        if stage > 0 {
            removal::salvage(&trashed).unwrap();
        }
        if stage > 1 {
            removal::recycle(&trashed, &root(&sandbox), TreeReuse::Allowed).unwrap();
        }
        removal::reclaim(&child, &root(&sandbox), HANDOFF, TreeReuse::Allowed, || ()).unwrap();
        assert_eq!(traces(&sandbox, CHILD).len(), 3, "{stage}");
        verify_spare(&sandbox);
        assert_eq!(child_named("dddddddd", &parent, &sandbox, Ways::Best).1, Method::Spare);
    }
}
