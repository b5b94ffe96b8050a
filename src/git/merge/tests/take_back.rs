//! Merges that are taken out of their branch again.

use super::*;

/// The way of a merge back.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    MovedBack,
    Reverted,
    Gone,
    Conflict(Vec<PathBuf>),
    Refused(Refusal),
}

impl Case {
    /// Merges, lets `meanwhile` happen, and takes the merge back.
    fn take_back(&self, style: Style, meanwhile: impl FnOnce(&Self)) -> Way {
        let before = self.sandbox.oid("main");
        let commit = self.merged(style);
        meanwhile(self);
        self.take_back_again(&MergedCommit { target: MAIN.to_owned(), before, commit })
    }

    fn take_back_again(&self, merge: &MergedCommit) -> Way {
        let (planned, revert) = match plan_take_back(&self.tree, merge, None).unwrap() {
            PlannedTakeBack::Ready { planned, revert } => (planned, revert),
            PlannedTakeBack::Gone => return Way::Gone,
            PlannedTakeBack::Conflict { files } => return Way::Conflict(files),
            PlannedTakeBack::Refused(refusal) => return Way::Refused(refusal),
        };
        let quiet = session_worktrees(&self.tree, &planned);
        match move_branch(&self.tree, &planned, &quiet).unwrap() {
            Ok(_) if revert.is_some() => Way::Reverted,
            Ok(_) => Way::MovedBack,
            Err(refusal) => Way::Refused(refusal),
        }
    }

    /// The user commits a file on `main`.
    fn commit(&self, path: &str, text: &str) {
        self.sandbox.write(path, text);
        self.sandbox.commit_all("meanwhile");
    }
}

#[test]
fn the_branch_goes_back_while_nobody_else_has_the_merge() {
    for style in [Style::Squash, Style::NoFf, Style::Rebase] {
        let case = Case::new();
        let before = case.sandbox.oid("main");
        case.sandbox.write("untouched.log", "mine\n");
        assert_eq!(case.take_back(style, |_| ()), Way::MovedBack, "{style:?}");
        assert_eq!((case.sandbox.oid("main"), case.read("README")), (before, "hello\n".to_owned()));
        assert_eq!((case.porcelain(), case.sandbox.main().join("new").exists()), (String::new(), false));
        // It can be merged again, and all of it.
        case.merged(style);
        assert_eq!((case.read("README"), case.read("new/file")), ("hello\nsession\n".into(), "new\n".into()));
    }
}

#[test]
fn a_commit_reverts_a_merge_that_others_have() {
    type Meanwhile = fn(&Case);
    let others: [(&str, Meanwhile); 4] = [
        ("commit", |case| case.commit("later", "later\n")),
        ("tag", |case| drop(case.sandbox.git(&["tag", "v1"]))),
        ("branch", |case| drop(case.sandbox.git(&["branch", "other"]))),
        ("push", |case| drop(case.sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]))),
    ];
    for (name, meanwhile) in others {
        for style in [Style::Squash, Style::NoFf, Style::Rebase] {
            let case = Case::new();
            let before = case.sandbox.oid("main");
            let mut merged = None;
            let way = case.take_back(style, |case| {
                meanwhile(case);
                merged = Some(case.sandbox.oid("main"));
            });
            assert_eq!(way, Way::Reverted, "{name} {style:?}");
            assert_eq!(case.sandbox.oid("main~1"), merged.unwrap(), "{name} {style:?}");
            let changed = case.sandbox.git(&["diff", "--name-only", &before.to_string(), "main"]);
            assert_eq!(changed.trim(), if name == "commit" { "later" } else { "" });
            assert_eq!((case.read("README"), case.porcelain()), ("hello\n".into(), String::new()));
            let message = case.sandbox.git(&["log", "-1", "--format=%B", "main"]);
            assert!(message.starts_with("Revert \"") && message.contains("This reverts commit "), "{message}");
        }
    }
}

#[test]
fn the_changes_of_a_merge_are_found_in_a_rewritten_branch() {
    type Rewrite = fn(&Case);
    let rewrites: [(Rewrite, Way); 4] = [
        (|case| drop(case.sandbox.git(&["commit", "--quiet", "--amend", "--message=amended"])), Way::Reverted),
        (
            |case| {
                case.commit("later", "later\n");
                case.sandbox.git(&["reset", "--quiet", "--soft", "HEAD~2"]);
                case.sandbox.git(&["commit", "--quiet", "--message=both"]);
            },
            Way::Reverted,
        ),
        (|case| drop(case.sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"])), Way::Gone),
        (
            |case| {
                case.sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
                case.commit("later", "later\n");
            },
            Way::Gone,
        ),
    ];
    for (number, (rewrite, expected)) in rewrites.into_iter().enumerate() {
        let case = Case::new();
        assert_eq!(case.take_back(Style::Squash, rewrite), expected, "rewrite {number}");
        assert_eq!((case.read("README"), case.porcelain()), ("hello\n".into(), String::new()), "rewrite {number}");
    }
}

#[test]
fn nothing_local_is_lost_when_a_merge_is_taken_back() {
    let case = Case::new();
    let before = case.sandbox.oid("main");
    let commit = case.merged(Style::Squash);
    case.sandbox.write("README", "mine\n");
    case.sandbox.write("new/mine", "mine\n");
    let merge = MergedCommit { target: MAIN.to_owned(), before, commit };
    let files = vec!["README".into()];
    let refused = Way::Refused(Refusal::LocalChanges { checkout: case.sandbox.main(), files });
    assert_eq!(case.take_back_again(&merge), refused);
    assert_eq!((case.sandbox.oid("main"), case.read("README")), (commit, "mine\n".into()));
    case.sandbox.git(&["checkout", "README"]);
    assert_eq!(case.take_back_again(&merge), Way::MovedBack);
    assert_eq!((case.read("new/mine"), case.porcelain()), ("mine\n".into(), "?? new/\n".into()));
}

#[test]
fn what_later_commits_changed_as_well_stays() {
    let case = Case::new();
    let way = case.take_back(Style::Squash, |case| case.commit("README", "hello\nlater\n"));
    assert_eq!(way, Way::Conflict(vec!["README".into()]));
    assert_eq!((case.read("README"), case.porcelain()), ("hello\nlater\n".into(), String::new()));
}

#[test]
fn a_merge_is_taken_back_once() {
    let case = Case::new();
    let before = case.sandbox.oid("main");
    let merge = MergedCommit { target: MAIN.to_owned(), before, commit: case.merged(Style::Squash) };
    case.commit("later", "later\n");
    assert_eq!(case.take_back_again(&merge), Way::Reverted);
    assert_eq!(case.take_back_again(&merge), Way::Gone);
    case.sandbox.git(&["reset", "--quiet", "--hard", &before.to_string()]);
    assert_eq!(case.take_back_again(&merge), Way::Gone);
}
