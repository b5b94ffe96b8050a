//! Which names are listed, how many, and what happens with names that are no text.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::*;
use crate::git::testkit::{Sandbox, run_git, write};

#[track_caller]
fn check(listing: Listing, expected: &[&str]) {
    let paths: Vec<_> = listing.paths.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!((paths.as_slice(), listing.is_truncated), (expected, false));
}

/// A checkout with a tracked file of each fate, and untracked ones.
fn lively() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["deleted", "moved", "ünï code", "a/deep/file"] {
        sandbox.write(name, "x\n");
    }
    sandbox.write(".gitignore", "*.log\n/build/\n");
    sandbox.commit_all("more");
    fs::remove_file(sandbox.main().join("deleted")).unwrap();
    sandbox.git(&["mv", "moved", "arrived"]);
    sandbox.write("fresh.txt", "x\n");
    sandbox.write("noise.log", "x\n");
    sandbox.write("build/out.txt", "x\n");
    sandbox
}

const LIVELY: [&str; 6] = [".gitignore", "README", "a/deep/file", "arrived", "fresh.txt", "ünï code"];

#[test]
fn what_is_in_the_tree_and_not_ignored_is_listed_in_order() {
    let sandbox = lively();
    let main = sandbox.main();
    check(of_checkout(&main.join(".git"), &main, 99).unwrap(), &LIVELY);
    let committed = [".gitignore", "README", "a/deep/file", "deleted", "moved", "ünï code"];
    check(of_commit(&sandbox.repo(), sandbox.head(), 99).unwrap(), &committed);
}

#[test]
fn no_more_are_listed_than_wanted_and_tracked_ones_come_first() {
    let sandbox = lively();
    let main = sandbox.main();
    for limit in 0..8 {
        let listing = of_checkout(&main.join(".git"), &main, limit).unwrap();
        assert_eq!((listing.paths.len(), listing.is_truncated), (limit.min(6), limit < 6), "{limit}");
        let has_fresh = listing.paths.iter().any(|path| path == Path::new("fresh.txt"));
        assert_eq!(has_fresh, limit >= 6, "{limit}");
        let commit = of_commit(&sandbox.repo(), sandbox.head(), limit).unwrap();
        assert_eq!((commit.paths.len(), commit.is_truncated), (limit.min(6), limit < 6), "{limit}");
    }
}

#[test]
fn a_conflict_a_sparse_checkout_and_a_nested_repository() {
    let sandbox = Sandbox::new();
    sandbox.write("left/file", "x\n");
    sandbox.write("right/file", "x\n");
    sandbox.commit_all("more");
    let tree = sandbox.session("abcdefgh");
    run_git(&tree.path, &["sparse-checkout", "set", "--no-cone", "/left/", "/README"]);
    sandbox.write("README", "main\n");
    sandbox.commit_all("main");
    write(&tree.path.join("README"), "session\n");
    let identity = ["-c", "user.name=a", "-c", "user.email=b"];
    run_git(&tree.path, &[&identity[..], &["commit", "--quiet", "-am", "session"]].concat());
    let conflict = Git::in_tree(&tree, "merge").arg("main").output().unwrap();
    assert!(!conflict.status.success());
    fs::create_dir(tree.path.join("nested")).unwrap();
    run_git(&tree.path.join("nested"), &["init", "--quiet"]);
    write(&tree.path.join("nested/inside"), "x\n");
    check(of_tree(&tree, 99).unwrap(), &["README", "left/file"]);
}

#[test]
fn a_name_need_not_be_text() {
    let sandbox = Sandbox::new();
    let odd = OsStr::from_bytes(b"odd\n\xff name");
    fs::write(sandbox.main().join(odd), "x").unwrap();
    let listing = of_checkout(&sandbox.main().join(".git"), &sandbox.main(), 9).unwrap();
    assert_eq!(listing.paths, [Path::new("README"), Path::new(odd)]);
}

#[test]
fn a_failure_is_told() {
    let sandbox = Sandbox::new();
    let absent = sandbox.root().join("absent");
    let error = of_checkout(&absent, &sandbox.main(), 9).unwrap_err();
    assert!(matches!(error, GitError::Failed { verb: "ls-files", .. }), "{error}");
}
