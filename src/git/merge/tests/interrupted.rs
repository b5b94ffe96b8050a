//! A move of the user's checkout that fails or is killed at any of its steps, and a recovery that is killed itself.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::super::recorded_move::{RecordedMove, recover_move};
use super::super::user_checkout::UserCheckout;
use super::*;
use crate::git::integrate::apply::Stopped;
use crate::git::removal;
use crate::git::testkit::{listing, stop_at};

/// A session with changes of every kind, and a user who has changes elsewhere and a filter.
fn work() -> Case {
    let case = Case::new();
    case.sandbox.git(&["config", "filter.unused.smudge", "cat"]);
    for path in ["gone/deep/file", "becomes/dir", "becomes-dir", "staged", "edited"] {
        case.sandbox.write(path, "x\n");
    }
    symlink("README", case.sandbox.main().join("link")).unwrap();
    case.sandbox.git(&["add", "--all"]);
    for path in ["submodule", "submodule-file"] {
        let entry = format!("160000,{},{path}", case.tree.base);
        case.sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
        fs::create_dir(case.sandbox.main().join(path)).unwrap();
    }
    case.sandbox.git(&["commit", "--quiet", "--message", "more"]);
    let base = case.sandbox.head();
    run_git(&case.tree.path, &["rebase", "--quiet", &base.to_string()]);
    let at = |path: &str| case.tree.path.join(path);
    fs::remove_dir_all(at("gone")).unwrap();
    fs::remove_dir_all(at("becomes")).unwrap();
    write(&at("becomes"), "a file\n");
    fs::remove_file(at("becomes-dir")).unwrap();
    write(&at("becomes-dir/file"), "inside\n");
    fs::remove_file(at("link")).unwrap();
    symlink("other", at("link")).unwrap();
    run_git(&case.tree.path, &["rm", "--quiet", "submodule"]);
    run_git(&case.tree.path, &["commit", "--quiet", "--message", "remove a submodule"]);
    fs::remove_dir(at("submodule-file")).unwrap();
    write(&at("submodule-file"), "a file\n");
    case.work(3, "README", "hello\nchanged\n");
    case.sandbox.write("staged", "staged\n");
    case.sandbox.git(&["add", "staged"]);
    case.sandbox.write("edited", "edited\n");
    case.sandbox.write("untracked", "untracked\n");
    case
}

/// Everything that a user can see of the checkout, its git directory and the temporary places.
fn state(case: &Case) -> (Oid, String, String, BTreeMap<PathBuf, String>, Vec<PathBuf>) {
    let (main, mut files) = (case.sandbox.main(), listing(&case.sandbox.main()));
    files.retain(|path, _| !path.starts_with(".git"));
    let names = |dir: &Path| -> Vec<_> { fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let mut beside = names(case.tree.path.parent().unwrap());
    beside.retain(|path| !path.to_string_lossy().contains(".move-lock-"));
    let is_ours = |path: &PathBuf| path.to_string_lossy().contains("coppice-") || path.ends_with("index.lock");
    beside.extend(names(&main.join(".git")).into_iter().filter(is_ours));
    (case.sandbox.oid("main"), case.porcelain(), case.sandbox.git(&["ls-files", "--stage"]), files, beside)
}

/// Merges up to a gate that does not open.
fn merge_by(case: &Case, gate: &mut dyn FnMut() -> Result<(), Stopped>) -> Result<Option<Refusal>, Stopped> {
    let made = make(&case.tree, case.order(Style::Squash), &mut super::run_hook).unwrap();
    let Made::Ready(Ready { move_to: BranchMove { target, old, new: commit, .. }, .. }) = made else {
        panic!("{made:?}")
    };
    let advance = Advance { name: &target, old, new: commit, why: "test" };
    checkout::advance_by(&case.tree.repo, &advance, &checkout::showing(&case.tree, &target, old), gate)
}

fn kill_at(case: &Case, gates: usize) {
    assert!(matches!(merge_by(case, &mut stop_at(gates, || Stopped::Killed)), Err(Stopped::Killed)));
}

fn restart(case: &Case) {
    removal::tidy(&case.tree.repo, case.tree.path.parent().unwrap()).unwrap();
    fs::remove_dir_all(case.tree.path.parent().unwrap().join(".trash")).ok();
}

fn checkout(case: &Case) -> UserCheckout {
    UserCheckout {
        repo: case.tree.repo.clone(),
        git_dir: case.sandbox.main().join(".git"),
        files: case.sandbox.main(),
        scratch_root: case.tree.path.parent().unwrap().to_owned(),
    }
}

/// How many gates a merge passes.
fn count_gates() -> usize {
    let mut gates = 0;
    let count = &mut || {
        gates += 1;
        Ok(())
    };
    assert!(matches!(merge_by(&work(), count), Ok(None)));
    gates
}

#[test]
fn a_failure_at_any_step_leaves_the_checkout_as_it_was() {
    let (case, gates) = (work(), count_gates());
    let before = state(&case);
    // After the last gate but one the branch has moved.
    for gate in 0..gates - 2 {
        let failed = merge_by(&case, &mut stop_at(gate, || Stopped::Failed(GitError::ProgramMissing)));
        assert!(matches!(failed, Err(Stopped::Failed(GitError::ProgramMissing))), "gate {gate}");
        assert_eq!(state(&case), before, "gate {gate}");
    }
    assert!(gates > 15, "{gates}");
}

#[test]
fn a_kill_at_any_step_is_undone_until_the_branch_has_moved() {
    let (case, gates) = (work(), count_gates());
    let before = state(&case);
    for gate in 0..gates - 1 {
        kill_at(&case, gate);
        restart(&case);
        assert_eq!(state(&case), before, "gate {gate}");
    }
    kill_at(&case, gates - 1);
    assert_ne!(case.sandbox.oid("main"), before.0);
    restart(&case);
    assert_eq!(case.porcelain(), " M edited\nM  staged\n?? untracked\n");
    let is_gone = |path: &str| !case.sandbox.main().join(path).exists();
    assert!(is_gone("gone") && is_gone("submodule") && state(&case).4.len() == 1);
    assert_eq!(case.read("becomes-dir/file"), "inside\n");
}

#[test]
fn the_next_merge_recovers_by_itself() {
    let gates = count_gates();
    for gate in [1, gates / 2, gates - 3, gates - 2] {
        let case = work();
        kill_at(&case, gate);
        case.merged(Style::Squash);
        assert_eq!(case.porcelain(), " M edited\nM  staged\n?? untracked\n", "gate {gate}");
        assert_eq!(state(&case).4.len(), 1);
    }
}

#[test]
fn a_recovery_that_is_killed_is_taken_up_by_the_next() {
    let (case, gates) = (work(), count_gates());
    let (before, user) = (state(&case), checkout(&case));
    for gate in 0.. {
        // Files and index are changed, and the branch is not.
        kill_at(&case, gates - 2);
        let found = RecordedMove::find(&user).unwrap().unwrap();
        let is_whole = found.take_back_by(&mut stop_at(gate, || Stopped::Killed)).is_ok();
        restart(&case);
        assert_eq!(state(&case), before, "recovery killed at gate {gate}");
        if is_whole {
            assert!(gate > 10, "{gate}");
            break;
        }
    }
}

#[test]
fn the_lock_of_another_git_stays_and_the_recovery_waits_for_it() {
    let (case, gates) = (work(), count_gates());
    let (before, lock) = (state(&case), case.sandbox.main().join(".git/index.lock"));
    kill_at(&case, gates / 2);
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    write(&lock, "of another git");
    restart(&case);
    assert!(matches!(recover_move(&checkout(&case)), Err(GitError::IndexLocked { .. })));
    assert_eq!(fs::read_to_string(&lock).unwrap(), "of another git");
    fs::remove_file(&lock).unwrap();
    restart(&case);
    assert_eq!(state(&case), before);
}

#[test]
fn a_record_that_somebody_else_wrote_deletes_nothing() {
    let case = work();
    let (records, own) = (case.sandbox.main().join(".git/coppice-move"), case.sandbox.main().join("own"));
    write(&own.join("file"), "of the user");
    let head = case.sandbox.head();
    fs::create_dir(&records).unwrap();
    write(&records.join("move"), format!("{head}\0{head}\0refs/heads/main\0{}", own.display()));
    assert!(recover_move(&checkout(&case)).is_err());
    assert!(own.join("file").exists());
}

#[test]
fn who_locks_the_records_holds_nobody_up() {
    let (case, gates) = (work(), count_gates());
    let (before, records) = (state(&case), case.sandbox.main().join(".git/coppice-move"));
    kill_at(&case, gates / 2);
    // An agent can open what is in the git directory to read it, and that is enough for a lock.
    let held = [records.clone(), records.join("move")].map(|path| {
        let file = fs::File::open(path).unwrap();
        file.lock().unwrap();
        file
    });
    restart(&case);
    assert_eq!(state(&case), before);
    drop(held);
    case.merged(Style::Squash);
}

#[test]
fn a_move_of_a_daemon_with_another_data_directory_is_not_taken_back() {
    let (case, gates) = (work(), count_gates());
    let before = state(&case);
    kill_at(&case, gates / 2);
    let killed = state(&case);
    let elsewhere = UserCheckout { scratch_root: case.sandbox.root().join("elsewhere"), ..checkout(&case) };
    let lock = fs::read_dir(case.tree.path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let lock = lock.into_iter().find(|path| path.to_string_lossy().contains(".move-lock-")).unwrap();
    let held = fs::File::open(lock).unwrap();
    held.lock().unwrap();
    assert!(matches!(recover_move(&elsewhere), Err(GitError::MoveUnderWay { .. })));
    assert_eq!(state(&case), killed);
    // Not by closing it: a process that another thread is starting has a copy for a moment.
    held.unlock().unwrap();
    recover_move(&elsewhere).unwrap();
    assert_eq!(state(&case), before);
}

#[test]
fn what_the_user_did_after_the_kill_stays() {
    let (case, gates) = (work(), count_gates());
    let before = state(&case);
    // Every file is in place, and the index is not.
    kill_at(&case, gates - 5);
    case.sandbox.write("README", "mine\n");
    case.sandbox.write("new/file", "mine\n");
    case.sandbox.write("gone/deep/file", "mine\n");
    restart(&case);
    let after = state(&case);
    let mut expected = before.3;
    for path in ["README", "new/file", "gone/deep/file"] {
        expected.insert(path.into(), "644 mine\n".to_owned());
    }
    expected.insert("new".into(), "directory".to_owned());
    assert_eq!(after.3, expected);
    assert_eq!((after.2, after.4), (before.2, before.4));
}

#[test]
fn a_user_who_went_on_with_the_staged_merge_keeps_it() {
    let (case, gates) = (work(), count_gates());
    kill_at(&case, gates - 2);
    case.sandbox.git(&["commit", "--quiet", "--message", "taken as it was"]);
    restart(&case);
    assert_eq!(case.porcelain(), " M edited\n?? untracked\n");
    assert_eq!((case.read("becomes-dir/file"), state(&case).4.len()), ("inside\n".to_owned(), 1));
}

#[test]
fn something_that_appears_in_the_way_takes_the_whole_move_back() {
    for (written, path) in
        [("README", "README"), ("new/file", "new/file"), ("new/file/deep", "new/file"), ("new", "new/file")]
    {
        let (case, mut passed) = (work(), 0);
        let (before, at) = (state(&case), case.sandbox.main().join(written));
        let refused = merge_by(&case, &mut || {
            passed += 1;
            // The journal is written, and no file has changed.
            if passed == 3 {
                write(&at, "mine\n");
            }
            Ok(())
        });
        let Ok(Some(Refusal::LocalChanges { files, .. })) = refused else { panic!("{written} was not noticed") };
        assert_eq!(files, [PathBuf::from(path)]);
        assert_eq!(fs::read_to_string(&at).unwrap(), "mine\n");
        match written {
            "README" => case.sandbox.write("README", "hello\n"),
            _ => case.sandbox.git(&["clean", "-fdq", "new"]).clear(),
        }
        assert_eq!(state(&case), before, "{written}");
    }
}

#[test]
fn a_checkout_on_another_file_system_than_its_git_directory_is_recovered_too() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let (case, gates) = (work(), count_gates());
    case.sandbox.git(&["stash", "--quiet", "--include-untracked"]);
    case.sandbox.git(&["switch", "--quiet", "--detach"]);
    let files = elsewhere.path().join("linked");
    case.sandbox.git(&["worktree", "add", "--quiet", files.to_str().unwrap(), "main"]);
    let status = || run_git(&files, &["status", "--porcelain", "--ignored"]);
    let before = listing(&files);
    for gate in 0..gates - 1 {
        kill_at(&case, gate);
        restart(&case);
        assert_eq!((listing(&files), status()), (before.clone(), String::new()), "gate {gate}");
    }
    case.merged(Style::Squash);
    assert_eq!(
        (fs::read_to_string(files.join("README")).unwrap(), status()),
        ("hello\nchanged\n".into(), String::new())
    );
}
