//! What is said about a small history, and what no name and no link leads to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;
use crate::git::diff::{self, Patch, Target, View};
use crate::git::testkit::{Sandbox, run_git, write, write_script};

fn session() -> (Sandbox, Worktree) {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "one\ntwo\n");
    sandbox.commit_all("feat: second");
    let tree = sandbox.session("abcdefgh");
    (sandbox, tree)
}

fn said(kept: &Kept) -> String {
    String::from_utf8_lossy(&kept.bytes).into_owned()
}

fn patch(tree: &Worktree, from: &Oid, to: Target, paths: &[PathBuf], limit: usize) -> Kept {
    diff::patch_head(tree, from, to, View { paths, without: &[], limit }).unwrap().kept
}

#[test]
fn a_revision_is_a_commit_and_never_an_option() {
    let (sandbox, tree) = session();
    sandbox.git(&["tag", "-a", "v1", "-m", "x", "HEAD~1"]);
    sandbox.git(&["update-ref", "refs/heads/--output=x", "HEAD"]);
    for (name, expected) in [("HEAD", "HEAD"), ("main", "main"), ("v1", "HEAD~1"), ("HEAD~1", "HEAD~1")] {
        assert_eq!(revision(&tree, name).unwrap(), sandbox.oid(expected), "{name}");
    }
    assert_eq!(revision(&tree, "--output=x").unwrap(), sandbox.head());
    for name in ["nope", "", "--all", "--git-dir", "HEAD:src/a", "HEAD HEAD~1", "HEAD~1..HEAD", "HEAD~9"] {
        assert!(matches!(revision(&tree, name), Err(GitError::UnknownBase { .. })), "{name}");
    }
}

#[test]
fn a_file_is_shown_as_it_was() {
    let (sandbox, tree) = session();
    write(&tree.path.join("src/a"), "changed\n");
    let show = |path: &str, limit| show(&tree.repo, &sandbox.head(), Path::new(path), limit).unwrap();
    assert_eq!(show("src/a", 99), Shown::File(Kept { bytes: b"one\ntwo\n".to_vec(), is_cut: false }));
    assert_eq!(show("src/a", 8), Shown::File(Kept { bytes: b"one\ntwo\n".to_vec(), is_cut: false }));
    assert_eq!(show("src/a", 3), Shown::File(Kept { bytes: b"one".to_vec(), is_cut: true }));
    for (path, expected) in
        [("src", Shown::Directory), (".", Shown::Directory), ("src/b", Shown::Absent), ("README/x", Shown::Absent)]
    {
        assert_eq!(show(path, 99), expected, "{path}");
    }
}

#[test]
fn history_is_told_in_lines() {
    let (sandbox, tree) = session();
    write(&tree.path.join("src/a"), "one\n2\n");
    run_git(&tree.path, &["mv", "src/a", "src/b"]);
    run_git(&tree.path, &["commit", "--quiet", "-am", "third"]);
    let head = revision(&tree, "HEAD").unwrap();
    let told = log(&tree, &head, Path::new("src/b"), 10).unwrap();
    let told: Vec<_> = told.lines().map(|line| line.rsplit_once(" Ada: ").unwrap().1).collect();
    assert_eq!(told, ["third", "feat: second"]);
    assert_eq!(log(&tree, &head, Path::new("src/b"), 1).unwrap().lines().count(), 1);
    assert_eq!(log(&tree, &head, Path::new("*"), 10).unwrap(), "");
    assert_eq!(subjects(&tree, &head, 2).unwrap(), "third\nfeat: second");
    assert!(commits(&tree, &tree.base, &head, 50).unwrap().ends_with(" third"));
    assert_eq!(commits(&tree, &head, &head, 50).unwrap(), "");
    assert_eq!(merge_base(&tree.repo, &head, &sandbox.head()).unwrap(), Some(sandbox.head()));
}

#[test]
fn lines_are_those_of_the_file_as_it_is() {
    let (sandbox, tree) = session();
    write(&tree.path.join("src/a"), "zero\none\ntwo\n");
    let head = sandbox.head();
    let lines = |path: &str| blame(&tree, &head, Path::new(path), (1, 2), 9999).map(|kept| said(&kept));
    let told = lines("src/a").unwrap();
    let told: Vec<_> = told.lines().collect();
    assert!(told[0].contains("(not committed yet") && told[0].ends_with("zero"), "{told:?}");
    assert!(told[1].contains("(Ada") && told[1].ends_with("one"), "{told:?}");
    assert!(matches!(lines("nope"), Err(GitError::Failed { .. })));
    fs::remove_file(tree.path.join("src/a")).unwrap();
    assert!(lines("src/a").unwrap().contains("one"));
}

#[test]
fn a_link_in_the_worktree_leads_to_no_other_file() {
    let (sandbox, tree) = session();
    let outside = sandbox.root().join("outside");
    write(&outside.join("a"), "secret\nsecret\n");
    fs::remove_dir_all(tree.path.join("src")).unwrap();
    symlink(&outside, tree.path.join("src")).unwrap();
    let head = sandbox.head();
    assert!(!said(&blame(&tree, &head, Path::new("src/a"), (1, 2), 9999).unwrap()).contains("secret"));
    let patch = patch(&tree, &head, Target::WorkTree, &[], 9999);
    assert!(!said(&patch).contains("secret"), "{}", said(&patch));
    fs::remove_file(tree.path.join("src")).unwrap();
    fs::create_dir(tree.path.join("src")).unwrap();
    symlink(outside.join("a"), tree.path.join("src/a")).unwrap();
    assert!(!said(&blame(&tree, &head, Path::new("src/a"), (1, 2), 9999).unwrap()).contains("secret"));
}

#[test]
fn a_patch_is_cut_where_it_is_too_long() {
    let (sandbox, tree) = session();
    write(&tree.path.join("src/long"), "0123456789\n".repeat(200_000));
    write(&tree.path.join("README"), "changed\n");
    let head = sandbox.head();
    let all = patch(&tree, &head, Target::WorkTree, &[], 1024 * 1024);
    assert_eq!((all.bytes.len(), all.is_cut), (1024 * 1024, true));
    let one = patch(&tree, &head, Target::WorkTree, &["README".into()], 1024 * 1024);
    assert!(!one.is_cut && said(&one).contains("+changed") && !said(&one).contains("src/long"));
    let whole = patch(&tree, &head, Target::WorkTree, &["README".into(), ".".into()], 1024 * 1024);
    assert!(whole.is_cut);
    let between = patch(&tree, &sandbox.oid("HEAD~1"), Target::Commit(head), &["src".into()], 9999);
    assert!(said(&between).contains("+one"));
    run_git(&tree.path, &["add", "README"]);
    let staged = diff::staged_head(&tree, &head, View { paths: &[], without: &[], limit: 9999 }).unwrap();
    assert_eq!(staged, Patch { kept: one, left_out: vec![] });
}

#[test]
fn a_patch_leaves_out_what_it_is_told_to_and_says_so() {
    let (sandbox, tree) = session();
    let head = sandbox.head();
    write(&tree.path.join(".env"), "SECRET=1\n");
    write(&tree.path.join("src/.env"), "PLAIN=1\n");
    let shown = |paths: &[PathBuf]| {
        let view = View { paths, without: &[".env", ".env.local"], limit: 9999 };
        diff::patch_head(&tree, &head, Target::WorkTree, view).unwrap()
    };
    for paths in [&[][..], &[".".into()], &[".env".into(), "src".into()]] {
        let Patch { kept, left_out } = shown(paths);
        assert!(said(&kept).contains("+PLAIN=1") && !said(&kept).contains("SECRET"), "{}", said(&kept));
        assert_eq!(left_out, [PathBuf::from(".env")], "{paths:?}");
    }
    assert_eq!(shown(&["src".into()]).left_out, Vec::<PathBuf>::new());
    // No path is a pattern.
    assert_eq!(shown(&[":(glob)**".into()]), Patch { kept: Kept::default(), left_out: vec![] });
    run_git(&tree.path, &["add", "--force", ".env"]);
    let view = View { paths: &[], without: &[".env"], limit: 9999 };
    let staged = diff::staged_head(&tree, &head, view).unwrap();
    assert_eq!(staged, Patch { kept: Kept::default(), left_out: vec![".env".into()] });
    run_git(&tree.path, &["commit", "--quiet", "--message", "x"]);
    let view = View { paths: &[], without: &[".env"], limit: 9999 };
    let to = revision(&tree, "HEAD").unwrap();
    let committed = diff::patch_head(&tree, &head, Target::Commit(to), view).unwrap();
    assert_eq!(committed, Patch { kept: Kept::default(), left_out: vec![".env".into()] });
}

#[test]
fn a_branch_stands_somewhere_to_what_it_follows() {
    let (sandbox, tree) = session();
    assert_eq!(standing(&tree).unwrap().upstream, None);
    sandbox.git(&["remote", "add", "origin", "/nowhere"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/x", "HEAD~1"]);
    run_git(&tree.path, &["branch", "--quiet", "--set-upstream-to=origin/x"]);
    let expected = Upstream { name: "origin/x".into(), ahead: 1, behind: 0 };
    let standing = standing(&tree).unwrap();
    assert_eq!((standing.upstream, standing.status.branch), (Some(expected), Some(tree.branch)));
}

#[test]
fn no_program_of_the_user_runs_for_a_look() {
    let sandbox = Sandbox::new();
    let (marker, program) = (sandbox.root().join("ran"), sandbox.root().join("program"));
    write_script(&program, &format!("touch {}; cat \"$1\"", marker.display()));
    sandbox.write(".gitattributes", "* diff=own\n");
    sandbox.write("a", "one\n");
    sandbox.commit_all("attributes");
    for key in ["diff.external", "diff.own.textconv", "diff.own.command"] {
        sandbox.git(&["config", key, program.to_str().unwrap()]);
    }
    let tree = sandbox.session("abcdefgh");
    assert!(said(&blame(&tree, &tree.base, Path::new("a"), (1, 1), 9999).unwrap()).contains("one"));
    fs::remove_file(tree.path.join("a")).unwrap();
    assert!(said(&blame(&tree, &tree.base, Path::new("a"), (1, 1), 9999).unwrap()).contains("one"));
    log(&tree, &tree.base, Path::new("a"), 9).unwrap();
    assert!(!marker.exists());
}
