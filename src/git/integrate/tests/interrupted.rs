//! An integration that fails or is killed at any of its steps, and a recovery that is killed itself.

use super::*;
use crate::git::removal;
use crate::git::stop::stop_signal;
use crate::git::testkit::stop_at;

/// Work of every kind: replaced, added in a directory that is not there, deleted, a file for a directory and the
/// other way round.
fn work() -> (Family, Child) {
    let mut family = Family::new();
    let child = family.child.path.clone();
    family.child_writes("README", "by the child\n");
    family.child_writes("new/deep/file", "new\n");
    fs::remove_file(child.join("untracked")).unwrap();
    fs::remove_dir_all(child.join("dir")).unwrap();
    family.child_writes("dir", "a file\n");
    fs::remove_file(child.join("lines")).unwrap();
    family.child_writes("lines/inside", "inside\n");
    let done = family.done();
    (family, done)
}

fn fail() -> Stopped {
    Stopped::Failed(GitError::ProgramMissing)
}

fn state(family: &Family) -> (Vec<u8>, BTreeMap<PathBuf, String>) {
    (index(&family.parent), listing(&family.parent.path))
}

#[test]
fn a_failure_at_any_step_leaves_the_tree_as_it_was() {
    let (family, done) = work();
    let before = state(&family);
    for steps in 0.. {
        match integrate_by(&family.parent, done, &mut stop_at(steps, fail)) {
            Err(GitError::ProgramMissing) => assert_eq!(state(&family), before, "failed at step {steps}"),
            outcome => {
                assert!(matches!(outcome, Ok(Outcome::Integrated { .. })), "{outcome:?}");
                assert!(steps >= 10, "{steps}");
                break;
            }
        }
        family.is_tidy();
    }
}

#[test]
fn an_integration_can_be_stopped_until_it_writes() {
    let (family, done) = work();
    let before = state(&family);
    let (guard, stop) = stop_signal().unwrap();
    let stoppable = Worktree { repo: family.parent.repo.stopped_by(stop), ..family.parent.clone() };
    drop(guard);
    assert!(matches!(integrate(&stoppable, done), Err(GitError::Stopped { .. })));
    assert_eq!(state(&family), before);
    family.is_tidy();

    let (guard, stop) = stop_signal().unwrap();
    let stoppable = Worktree { repo: family.parent.repo.stopped_by(stop), ..family.parent };
    let mut guard = Some(guard);
    let outcome = integrate_by(&stoppable, done, &mut || {
        drop(guard.take());
        Ok(())
    });
    assert!(matches!(outcome, Ok(Outcome::Integrated { .. })), "{outcome:?}");
}

#[test]
fn a_kill_at_any_step_is_undone_and_the_integration_can_be_repeated() {
    let (family, done) = work();
    let before = state(&family);
    for steps in 0.. {
        if let Ok(outcome) = integrate_by(&family.parent, done, &mut stop_at(steps, || Stopped::Killed)) {
            assert!(matches!(outcome, Outcome::Integrated { .. }), "{outcome:?}");
            break;
        }
        assert_eq!(recover(&family.parent).unwrap(), Recovered::Undone { saved: Vec::new() }, "killed at step {steps}");
        assert_eq!(state(&family), before, "killed at step {steps}");
        assert_eq!(recover(&family.parent).unwrap(), Recovered::Nothing);
        family.is_tidy();
    }
    assert_eq!(text(&family.parent, "lines/inside").as_deref(), Some("inside\n"));
    assert_eq!(text(&family.parent, "dir").as_deref(), Some("a file\n"));
}

#[test]
fn a_recovery_that_is_killed_is_taken_up_by_the_next() {
    let (family, done) = work();
    let before = state(&family);
    for steps in 0.. {
        // As late as possible: everything is changed, and the journal still there.
        let mut passed = 0;
        let killed = integrate_by(&family.parent, done, &mut || {
            passed += 1;
            if passed == 10 { Err(Stopped::Killed) } else { Ok(()) }
        });
        assert!(killed.is_err(), "{killed:?}");
        let scratch = Scratch::find(&family.parent).unwrap();
        let whole = apply::recover(&family.parent, scratch, &mut stop_at(steps, || Stopped::Killed)).is_ok();
        if !whole {
            recover(&family.parent).unwrap();
        }
        assert_eq!(state(&family), before, "recovery killed at step {steps}");
        if whole {
            break;
        }
    }
}

#[test]
fn what_somebody_wrote_after_the_kill_is_kept_in_a_commit() {
    let (family, done) = work();
    let before = state(&family);
    let mut passed = 0;
    integrate_by(&family.parent, done, &mut || {
        passed += 1;
        if passed == 10 { Err(Stopped::Killed) } else { Ok(()) }
    })
    .unwrap_err();
    family.parent_writes("new/deep/file", "by a person\n");
    family.parent_writes("untracked", "by a person\n");
    family.parent_writes("lines/noise.log", "by a person\n");
    let Recovered::Undone { saved } = recover(&family.parent).unwrap() else { panic!("nothing was saved") };
    assert_eq!(state(&family), before);
    for (name, saved) in
        [("new/deep/file", 0), ("untracked", 1), ("lines/noise.log", 1)].map(|(name, at)| (name, saved[at]))
    {
        assert_eq!(family.sandbox.git(&["show", &format!("{saved}:{name}")]), "by a person\n");
    }
}

#[test]
fn a_removal_saves_the_tree_as_it_was_before_the_kill() {
    let (family, done) = work();
    let mut killed = stop_at(9, || Stopped::Killed);
    integrate_by(&family.parent, done, &mut killed).unwrap_err();
    let trashed = removal::trash(&family.parent, &family.sandbox.root().join("trees")).unwrap();
    let saved = removal::salvage(&trashed).unwrap().commit;
    let base = family.child.base;
    assert_eq!(family.sandbox.git(&["diff", "--name-only", &base.to_string(), &saved.to_string()]), "");
}
