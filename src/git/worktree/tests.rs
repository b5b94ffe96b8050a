//! A worktree is made once, by one name, and survives what people and crashes do to it.

mod differential;

use super::*;
use crate::git::testkit::{Sandbox, run_git, write_script};
use differential::{describe, odd_tree};

const ID: &str = "abcdefgh";

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn root(repo: &Sandbox) -> PathBuf {
    repo.root().join("trees")
}

#[track_caller]
fn make(repo: &Sandbox, name: &str, ways: Ways) -> Created {
    let new = New { root: &root(repo), id: id(name), slug: "work", base: repo.head(), attributes: repo.head() };
    create_by(&repo.repo(), new, ways, &mut |_| {}).unwrap()
}

#[test]
fn only_a_hook_of_the_repository_itself_runs() {
    let repo = Sandbox::new();
    let body = "echo \"$*|$PWD|${GIT_DIR-unset}\" >> said";
    write_script(&repo.main().join(".git/hooks/post-checkout"), body);
    let tree = make(&repo, ID, Ways::Best).worktree;
    let expected = format!("{} {} 1|{}|unset\n", "0".repeat(40), repo.head(), tree.path.display());
    assert_eq!(fs::read_to_string(tree.path.join("said")).unwrap(), expected);

    write_script(&repo.main().join("hooks/post-checkout"), body);
    repo.git(&["config", "core.hooksPath", "hooks"]);
    repo.commit_all("a hook that is content");
    let tree = make(&repo, "bbbbbbbb", Ways::Best).worktree;
    assert!(!tree.path.join("said").exists());
}

#[test]
fn what_is_taken_is_refused_and_nothing_is_left() {
    let repo = Sandbox::new();
    let new = New { root: &root(&repo), id: id(ID), slug: "work", base: repo.head(), attributes: repo.head() };
    let create = |new| create(&repo.repo(), new, &mut |_| {}).unwrap_err().to_string();
    repo.git(&["branch", "coppice/abcdefgh/work"]);
    assert_eq!(create(new), "the branch `coppice/abcdefgh/work` already exists");
    repo.git(&["branch", "-D", "coppice/abcdefgh/work"]);
    repo.git(&["branch", "coppice"]);
    assert_eq!(create(new), "the branch `coppice` takes the place of the branches below `coppice/`");
    repo.git(&["branch", "-D", "coppice"]);
    assert_eq!(create(New { slug: "a..b", ..new }), "`coppice/abcdefgh/a..b` is not a name for a session's branch");
    fs::create_dir_all(root(&repo).join(ID)).unwrap();
    assert_eq!(create(new), format!("`{}` already exists", root(&repo).join(ID).display()));
    fs::remove_dir(root(&repo).join(ID)).unwrap();

    // A filter that fails stops the checkout.
    repo.git(&["config", "filter.bad.smudge", "false"]);
    repo.git(&["config", "filter.bad.required", "true"]);
    repo.git(&["config", "filter.bad.clean", "cat"]);
    repo.write(".gitattributes", "*.x filter=bad\n");
    repo.write("a.x", "x");
    repo.commit_all("unreadable");
    assert!(create(New { base: repo.head(), attributes: repo.head(), ..new }).starts_with("`git read-tree` failed"));
    assert_eq!(repo.git(&["branch", "--list", "coppice/*"]), "");
    assert!(!root(&repo).join(ID).exists() && !repo.main().join(".git/worktrees/abcdefgh").exists());
    assert_eq!(removal::pending(&root(&repo)).len(), 1);
}

#[test]
fn an_interrupted_creation_is_completed() {
    let repo = odd_tree();
    let whole = describe(&make(&repo, "bbbbbbbb", Ways::Checkout).worktree.path);
    let tree = open(&repo.repo(), &root(&repo).join(ID), "coppice/abcdefgh/work", repo.head(), repo.head());
    assert!(matches!(finish_interrupted(&tree, &mut |_| {}), Err(GitError::BranchMissing { .. })));
    create_branch(&tree).unwrap();
    let finish = || {
        finish_interrupted(&tree, &mut |_| {}).unwrap();
        assert_eq!(describe(&tree.path), whole);
        assert!(!tree.admin.join("locked").exists());
    };
    finish();
    // Killed while files were copied and the index was written.
    registration::lock(&tree.admin, registration::INITIALIZING).unwrap();
    fs::remove_dir_all(tree.path.join("dir")).unwrap();
    fs::write(tree.path.join("large"), "half").unwrap();
    fs::write(tree.admin.join("index.lock"), "").unwrap();
    finish();
    // Cut short by a power failure.
    fs::write(tree.admin.join("index"), "DIRC").unwrap();
    finish();
    // Killed before anything was registered.
    fs::remove_dir_all(&tree.admin).unwrap();
    fs::remove_file(tree.path.join(".git")).unwrap();
    finish();
}

#[test]
fn parts_that_were_deleted_by_hand_come_back() {
    let repo = Sandbox::new();
    let tree = make(&repo, ID, Ways::Best).worktree;
    fs::write(tree.path.join("more"), "work").unwrap();
    run_git(&tree.path, &["add", "more"]);
    run_git(&tree.path, &["commit", "--quiet", "-m", "more"]);
    let tip = run_git(&tree.path, &["rev-parse", "HEAD"]);
    fs::write(tree.path.join("README"), "edited\n").unwrap();
    let sound = |expected: &[Health]| {
        assert_eq!(tree.health().unwrap(), *expected.last().unwrap());
        assert_eq!(tree.repair().unwrap().mended, expected);
        assert_eq!(tree.health().unwrap(), Health::Sound);
        assert_eq!(run_git(&tree.path, &["rev-parse", "HEAD"]), tip);
    };

    repo.git(&["update-ref", "-d", "refs/heads/coppice/abcdefgh/work"]);
    sound(&[Health::BranchMissing]);
    fs::remove_dir_all(&tree.admin).unwrap();
    sound(&[Health::AdminMissing]);
    assert_eq!(run_git(&tree.path, &["status", "--porcelain"]), " M README\n");
    fs::write(tree.path.join(".git"), "gitdir: /elsewhere\n").unwrap();
    sound(&[Health::GitFileChanged]);
    fs::remove_file(tree.path.join(".git")).unwrap();
    run_git(&tree.path, &["init", "--quiet", "."]);
    sound(&[Health::GitFileChanged]);
    fs::remove_dir_all(&tree.path).unwrap();
    sound(&[Health::TreeMissing]);
    assert_eq!(run_git(&tree.path, &["status", "--porcelain"]), "");
}

#[test]
fn progress_tells_the_phases_in_order() {
    let repo = odd_tree();
    let mut phases = Vec::new();
    let new = New { root: &root(&repo), id: id(ID), slug: "work", base: repo.head(), attributes: repo.head() };
    create_by(&repo.repo(), new, Ways::Populate, &mut |progress| phases.push(progress.phase)).unwrap();
    phases.dedup();
    assert_eq!(phases, [Phase::Registering, Phase::Planning, Phase::Copying, Phase::CheckingOut]);
}
