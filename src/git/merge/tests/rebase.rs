//! A session's own branch on top of another commit, with its worktree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::*;
use super::{Case, MAIN};
use crate::git::testkit::{run_git, write};

#[test]
fn a_session_is_rebased_with_its_worktree() {
    let case = Case::new();
    case.sandbox.write("other", "meanwhile\n");
    let onto = case.sandbox.commit_all("meanwhile");
    let RebaseOutcome::Rebased { head, expected } = rebase(&case.tree, &onto, case.tree.base).unwrap() else {
        panic!()
    };
    assert_eq!(case.sandbox.oid(&case.tree.branch), head);
    assert_eq!(case.sandbox.oid(&format!("{head}~2")), onto);
    assert_eq!(case.sandbox.oid(&format!("{head}^{{tree}}")), expected);
    assert_eq!(run_git(&case.tree.path, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(case.tree.path.join("other")).unwrap(), b"meanwhile\n");
    assert_eq!(rebase(&case.tree, &onto, case.tree.base).unwrap(), RebaseOutcome::UpToDate);
    assert_eq!(case.sandbox.head(), onto);
}

#[test]
fn commits_that_take_back_a_change_of_the_base_are_not_what_the_work_comes_to() {
    let case = Case::new();
    case.work(3, "other", "fixed\n");
    case.work(4, "other", "other\n");
    case.sandbox.write("other", "fixed\n");
    let onto = case.sandbox.commit_all("the same fix");
    let differs = Refusal::ReplayDiffers { files: vec!["other".into()] };
    case.unmoved(Style::Rebase, &Outcome::Refused(differs));

    let RebaseOutcome::Rebased { head, expected } = rebase(&case.tree, &onto, case.tree.base).unwrap() else {
        panic!()
    };
    let other = |content: Oid| case.sandbox.git(&["show", &format!("{content}:other")]);
    assert_eq!((other(head), other(expected)), ("other\n".into(), "fixed\n".into()));
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
    assert_eq!(rebase(&case.tree, &conflicting, case.tree.base).unwrap(), conflict);
    assert_eq!(state(), before);
    let local = Refusal::LocalChanges { checkout: case.tree.path.clone(), files: vec!["other".into()] };
    assert_eq!(rebase(&case.tree, &other, case.tree.base).unwrap(), RebaseOutcome::Refused(local));
    assert_eq!(state(), before);
    assert_eq!(fs::read(case.tree.path.join("other")).unwrap(), b"uncommitted\n");
    assert!(Path::new(&case.tree.path).join("new/file").exists());
}

#[test]
fn a_base_that_does_not_fit_comes_with_marks_and_what_is_made_of_it_merges() {
    let case = Case::new();
    case.sandbox.write("README", "hello\nuser\n");
    case.sandbox.write("other", "meanwhile\n");
    let theirs = case.sandbox.commit_all("meanwhile");
    let order = Bring { session: "abcdefgh".parse().unwrap(), target: MAIN, base: case.tree.base };
    let files = vec![PathBuf::from("README")];
    assert_eq!(conflicts(&case.tree, order).unwrap(), [ConflictFile::unwritten("README".into())]);

    let (head, onto, written) = brought(&case, order);

    assert_eq!((onto, written.iter().map(|file| file.path.clone()).collect()), (theirs, files.clone()));
    assert_eq!(case.sandbox.oid(&case.tree.branch), head);
    assert_eq!(run_git(&case.tree.path, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(case.tree.path.join("other")).unwrap(), b"meanwhile\n");
    let marks = "hello\n<<<<<<< refs/heads/coppice/abcdefgh/work\nsession\n=======\nuser\n>>>>>>> refs/heads/main\n";
    assert_eq!(fs::read_to_string(case.tree.path.join("README")).unwrap(), marks);
    let left = Unresolved { marked: written.clone(), ..Unresolved::default() };
    assert_eq!(unresolved(&case.tree, MAIN, &written).unwrap(), left);
    let order = Bring { base: onto, ..order };
    assert_eq!(plan_base(&case.tree, order).unwrap(), BasePlan::UpToDate);
    assert_eq!(case.sandbox.head(), theirs);

    case.work(3, "README", "hello\nsession and user\n");

    assert!(unresolved(&case.tree, MAIN, &written).unwrap().is_empty());
    assert_eq!(conflicts(&case.tree, order).unwrap(), []);
    let one_by_one = Outcome::Refused(Refusal::OneByOne { files });
    assert_eq!(case.merge(Style::Rebase), one_by_one);
    let merged = case.merged(Style::Squash);
    assert_eq!(case.sandbox.git(&["show", "--format=", "--name-only", &merged.to_string()]), "README\nnew/file\n");
    assert_eq!(case.read("README"), "hello\nsession and user\n");
}

/// Brings the base into the session's worktree: its head then, the base, and the files with conflicts.
fn brought(case: &Case, order: Bring<'_>) -> (Oid, Oid, Vec<ConflictFile>) {
    let BasePlan::Merge(planned) = plan_base(&case.tree, order).unwrap() else { panic!() };
    let Brought::Brought { head, onto } = bring(&case.tree, order, &planned).unwrap() else { panic!() };
    (head, onto, planned.conflicts)
}

#[test]
fn a_conflict_without_marks_is_there_until_its_file_changes() {
    let odd = PathBuf::from(OsStr::from_bytes(b"odd\xff"));
    for (attributes, path, text) in [
        ("* -merge\n", Path::new("other"), "lines\n"),
        ("* conflict-marker-size=9\n", Path::new("other"), "lines\n"),
        ("", Path::new("other"), "bytes\0\n"),
        ("", &odd, "lines\n"),
    ] {
        let case = Case::new();
        let files = [case.sandbox.main(), case.tree.path.clone()];
        for files in &files {
            write(&files.join(".gitattributes"), attributes);
            write(&files.join(path), format!("{}{text}", files.display()));
        }
        case.sandbox.commit_all("meanwhile");
        case.work(3, ".gitattributes", attributes);
        let order = Bring { session: "abcdefgh".parse().unwrap(), target: MAIN, base: case.tree.base };
        let (_, _, written) = brought(&case, order);
        let [file] = written.as_slice() else { panic!("{written:?}") };
        assert_eq!(file.path, path);
        let left = unresolved(&case.tree, MAIN, &written).unwrap();
        assert_eq!([left.marked, left.untouched].concat(), written, "{attributes}");

        write(&case.tree.path.join(path), "resolved\n");
        case.work(4, "more", "more\n");
        assert!(unresolved(&case.tree, MAIN, &written).unwrap().is_empty(), "{attributes}");
    }
}

#[test]
fn attributes_that_a_session_commits_decide_nothing_about_its_own_rebase() {
    for driver in ["union", "own"] {
        let case = Case::new();
        let ran = case.sandbox.root().join("ran");
        case.sandbox.git(&["config", "merge.own.driver", &format!("touch '{}'; cp %B %A", ran.display())]);
        case.work(3, ".gitattributes", &format!("* merge={driver}\n"));
        case.work(4, "other", "session\n");
        case.sandbox.write("other", "user\n");
        let onto = case.sandbox.commit_all("meanwhile");
        let conflict = RebaseOutcome::Conflict { files: vec!["other".into()] };
        assert_eq!(rebase(&case.tree, &onto, case.tree.base).unwrap(), conflict, "{driver}");
        assert!(!ran.exists());
    }
}

#[test]
fn a_filter_that_fails_in_the_midst_leaves_the_worktree_as_it_was() {
    let case = Case::with_missing_content();
    case.work(1, "new", "new\n");
    case.sandbox.write("README", "hello\nbase\n");
    case.sandbox.write("zz.bin", "pointer\n");
    let onto = case.sandbox.commit_all("meanwhile");
    case.lose_content();
    let head = case.sandbox.oid(&case.tree.branch);
    rebase(&case.tree, &onto, case.tree.base).unwrap_err();
    assert_eq!(case.sandbox.oid(&case.tree.branch), head);
    assert_eq!(run_git(&case.tree.path, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(case.tree.path.join("README")).unwrap(), b"hello\n");
}
