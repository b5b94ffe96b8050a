//! A child starts from exactly what its parent has, and is a session like any other.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::git::diff::{self, Kind, Target};
use crate::git::history::{Checkpoint, checkpoint, reset};
use crate::git::removal::{self, Recycled, salvage_ref};
use crate::git::testkit::{Sandbox, run_git, write};
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
    let base = snapshot(parent, HANDOFF, Ignored::Left).unwrap().commit;
    let new = New { root: &root(sandbox), id: id(CHILD), slug: "help", base };
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
fn r71_a_child_sees_uncommitted_staged_and_untracked_files_and_the_parent_sees_nothing() {
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
        let found = worktree::open(&child.repo, &child.path, &child.branch, child.base);
        assert_eq!(found.attributes, parent.base);
        write(&child.path.join("README"), "edited\n");
        let about = Checkpoint { session: id(CHILD), turn: 1, message: "x" };
        checkpoint(&child, about).unwrap().unwrap();
        diff::patch(&child, &child.base, Target::WorkTree).unwrap();
        assert!(!marker.exists(), "{ways:?}");
        let trashed = removal::trash(&child, &root(&sandbox)).unwrap();
        removal::salvage(&trashed).unwrap();
        removal::drop_branch(&trashed).unwrap();
        let Recycled::Doubt { .. } = removal::recycle(&trashed, &root(&sandbox)).unwrap() else {
            panic!("a tree with other attributes became the spare")
        };
    }
    assert!(!marker.exists());
}

#[test]
fn a_spare_serves_a_child() {
    let sandbox = Sandbox::new();
    let parent = busy(&sandbox);
    let new = New { root: &root(&sandbox), id: id("cccccccc"), slug: "x", base: sandbox.head() };
    let ended = worktree::create(&parent.repo, new, &mut |_| {}).unwrap().worktree;
    let trashed = removal::trash(&ended, &root(&sandbox)).unwrap();
    removal::salvage(&trashed).unwrap();
    assert!(matches!(removal::recycle(&trashed, &root(&sandbox)).unwrap(), Recycled::Spare(_)));
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
    removal::restore(&child, &root(&sandbox)).unwrap();
    assert_eq!(text(&child.path.join("README")).as_deref(), Some("unsaved\n"));
    assert_eq!(text(&child.path.join("deep/untracked")).as_deref(), Some("untracked\n"));
    assert_eq!(sandbox.oid(&child.branch), child.base);
}
