//! A session's own branch on top of another commit, with its worktree.

use std::fs;
use std::path::Path;

use super::super::*;
use super::Case;
use crate::git::testkit::{run_git, write};

#[test]
fn a_session_is_rebased_with_its_worktree() {
    let case = Case::new();
    case.sandbox.write("other", "meanwhile\n");
    let onto = case.sandbox.commit_all("meanwhile");
    let RebaseOutcome::Rebased { head } = rebase(&case.tree, &onto).unwrap() else { panic!() };
    assert_eq!(case.sandbox.oid(&case.tree.branch), head);
    assert_eq!(case.sandbox.oid(&format!("{head}~2")), onto);
    assert_eq!(run_git(&case.tree.path, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(case.tree.path.join("other")).unwrap(), b"meanwhile\n");
    assert_eq!(rebase(&case.tree, &onto).unwrap(), RebaseOutcome::UpToDate);
    assert_eq!(case.sandbox.head(), onto);
}

#[test]
fn a_rebase_that_cannot_be_done_leaves_branch_and_tree() {
    let case = Case::new();
    let tip = case.sandbox.oid(&case.tree.branch);
    case.sandbox.write("other", "meanwhile\n");
    let other = case.sandbox.commit_all("meanwhile");
    case.sandbox.write("README", "hello\nuser\n");
    let conflicting = case.sandbox.commit_all("conflict");
    write(&case.tree.path.join("other"), "uncommitted\n");
    let state = || (case.sandbox.oid(&case.tree.branch), run_git(&case.tree.path, &["status", "--porcelain"]));
    let before = (tip, " M other\n".to_owned());
    assert_eq!(state(), before);
    let conflict = RebaseOutcome::Conflict { files: vec!["README".into()] };
    assert_eq!(rebase(&case.tree, &conflicting).unwrap(), conflict);
    assert_eq!(state(), before);
    let local = Refusal::LocalChanges { checkout: case.tree.path.clone(), files: vec!["other".into()] };
    assert_eq!(rebase(&case.tree, &other).unwrap(), RebaseOutcome::Refused(local));
    assert_eq!(state(), before);
    assert_eq!(fs::read(case.tree.path.join("other")).unwrap(), b"uncommitted\n");
    assert!(Path::new(&case.tree.path).join("new/file").exists());
}
