//! Merges into branches that are shown somewhere, nowhere, in clean and in dirty checkouts, and everything that stops one.

use std::fs;

use super::*;
use crate::git::history::{Checkpoint, checkpoint};
use crate::git::testkit::{Sandbox, run_git, write};

mod commit;
mod interrupted;
mod rebase;
mod take_back;
mod user_checkout;

const MAIN: &str = "refs/heads/main";

/// A repository with a session that has changed `README` and added `new/file`.
struct Case {
    sandbox: Sandbox,
    tree: Worktree,
}

impl Case {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("other", "other\n");
        sandbox.write(".gitignore", "*.log\n");
        sandbox.commit_all("second");
        let case = Self { tree: sandbox.session("abcdefgh"), sandbox };
        case.work(1, "README", "hello\nsession\n");
        case.work(2, "new/file", "new\n");
        case
    }

    /// A session in a repository that keeps the content of `*.bin` files elsewhere.
    fn with_missing_content() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", "*.bin filter=lfs -text\n");
        sandbox.commit_all("attributes");
        Self { tree: sandbox.session("abcdefgh"), sandbox }
    }

    /// From now on no content of a `*.bin` file is found; with or without an installed git-lfs.
    fn lose_content(&self) {
        self.sandbox.git(&["config", "filter.lfs.smudge", "git-lfs there-is-no-such-command"]);
        self.sandbox.git(&["config", "filter.lfs.required", "true"]);
    }

    /// One turn that writes a file.
    fn work(&self, turn: u32, path: &str, text: &str) -> Oid {
        write(&self.tree.path.join(path), text);
        let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn, message: &format!("Turn {turn}") };
        checkpoint(&self.tree, about).unwrap().unwrap().commit
    }

    fn order(&self, style: Style) -> Merge<'static> {
        Merge {
            target: Some(MAIN),
            style,
            message: "Do it\n\nAll of it.",
            base: self.tree.base,
            hooks: HookPolicy::Check,
            ssh_agent: None,
        }
    }

    #[track_caller]
    fn merge(&self, style: Style) -> Outcome {
        merge(&self.tree, self.order(style), &mut run_hook).unwrap()
    }

    #[track_caller]
    fn merged(&self, style: Style) -> Oid {
        match self.merge(style) {
            Outcome::Merged { commit, .. } => commit,
            other => panic!("not merged: {other:?}"),
        }
    }

    /// Expects an outcome that leaves the branch, the files and the index of the user alone.
    #[track_caller]
    fn unmoved(&self, style: Style, expected: &Outcome) {
        let state = || (self.sandbox.oid("main"), self.porcelain(), self.read("README"));
        let before = state();
        assert_eq!(&self.merge(style), expected);
        assert_eq!(state(), before);
        let left: Vec<_> = fs::read_dir(self.tree.path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(self.sandbox.git(&["worktree", "list"]).lines().count(), 2);
    }

    fn porcelain(&self) -> String {
        self.sandbox.git(&["status", "--porcelain"])
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.main().join(path)).unwrap()
    }

    fn show(&self, format: &str, commit: Oid) -> String {
        let text = self.sandbox.git(&["show", "--no-patch", &format!("--format={format}"), &commit.to_string()]);
        text.trim_end().to_owned()
    }
}

fn local(case: &Case, files: &[&str]) -> Outcome {
    let files = files.iter().map(PathBuf::from).collect();
    Outcome::Refused(Refusal::LocalChanges { checkout: case.sandbox.main(), files })
}

#[test]
fn a_squash_is_one_commit_and_the_clean_checkout_follows() {
    let case = Case::new();
    let before = case.sandbox.head();
    let outcome = case.merge(Style::Squash);
    let commit = case.sandbox.head();
    let checkouts = vec![case.sandbox.main()];
    assert_eq!(outcome, Outcome::Merged { before: Some(before), commit, checkouts, hooks: HookReport::default() });
    assert_eq!(
        case.show("%P|%an <%ae>|%cn|%B", commit),
        format!("{before}|Ada <ada@example.com>|Ada|Do it\n\nAll of it.")
    );
    assert_eq!((case.read("README"), case.read("new/file")), ("hello\nsession\n".into(), "new\n".into()));
    assert_eq!(case.porcelain(), "");
    assert!(case.sandbox.git(&["reflog", "-1", "main"]).contains("coppice: merge coppice/abcdefgh/work"));
    case.unmoved(Style::Squash, &Outcome::UpToDate);
}

#[test]
fn the_worktree_of_a_session_moves_only_while_it_is_quiet_whatever_branch_it_shows() {
    let case = Case::new();
    let other = case.sandbox.session("hgfedcba");
    case.sandbox.git(&["switch", "--quiet", "--create", "elsewhere"]);
    run_git(&other.path, &["switch", "--quiet", "main"]);
    // Git may know it by another name than Coppice does.
    let alias = case.sandbox.root().join("alias");
    std::os::unix::fs::symlink(other.path.parent().unwrap(), &alias).unwrap();
    write(&other.admin.join("gitdir"), format!("{}\n", alias.join("hgfedcba/.git").display()));
    let Made::Ready(ready) = make(&case.tree, case.order(Style::Squash), &mut run_hook).unwrap() else {
        panic!("not made")
    };
    let worktrees = session_worktrees(&case.tree, ready.branch_move());
    assert_eq!(worktrees, BTreeSet::from([other.path.clone()]));
    let refused = advance(&case.tree, ready.clone(), &BTreeSet::new()).unwrap();
    assert_eq!(refused, Outcome::Refused(Refusal::TargetMoved { branch: "main".to_owned() }));
    assert_eq!(fs::read_to_string(other.path.join("README")).unwrap(), "hello\n");
    let merged = advance(&case.tree, ready, &worktrees).unwrap();
    assert!(matches!(merged, Outcome::Merged { .. }), "{merged:?}");
    assert_eq!(fs::read_to_string(other.path.join("README")).unwrap(), "hello\nsession\n");
}

#[test]
fn a_merge_commit_has_both_parents() {
    let case = Case::new();
    let before = case.sandbox.head();
    let commit = case.merged(Style::NoFf);
    assert_eq!(case.show("%P", commit), format!("{before} {}", case.sandbox.oid(&case.tree.branch)));
    assert_eq!(case.porcelain(), "");
    case.unmoved(Style::NoFf, &Outcome::UpToDate);
}

#[test]
fn a_rebase_puts_every_commit_on_top_with_its_author() {
    let case = Case::new();
    run_git(
        &case.tree.path,
        &["commit", "--quiet", "--amend", "--no-edit", "--author=Eve <eve@x>", "--date=@86400 +0130"],
    );
    case.sandbox.write("other", "changed\n");
    let before = case.sandbox.commit_all("meanwhile");
    let commit = case.merged(Style::Rebase);
    let log = case.sandbox.git(&["log", "--format=%an %ad|%cn|%s", "--date=raw", &format!("{before}..{commit}")]);
    let log: Vec<_> = log.lines().collect();
    assert_eq!(log[0], "Eve 86400 +0130|Ada|Turn 2");
    assert!(log[1].starts_with("Ada ") && log[1].ends_with("|Ada|Turn 1") && log.len() == 2, "{log:?}");
    assert_eq!(
        (case.read("other"), case.read("new/file"), case.porcelain()),
        ("changed\n".into(), "new\n".into(), String::new())
    );
}

#[test]
fn a_branch_that_is_shown_nowhere_moves_alone() {
    let case = Case::new();
    case.sandbox.git(&["switch", "--quiet", "--create", "elsewhere"]);
    case.sandbox.write("README", "dirty\n");
    let before = Some(case.sandbox.oid("main"));
    let outcome = case.merge(Style::Squash);
    let commit = case.sandbox.oid("main");
    assert_eq!(outcome, Outcome::Merged { before, commit, checkouts: vec![], hooks: HookReport::default() });
    assert_eq!((case.read("README"), case.porcelain()), ("dirty\n".into(), " M README\n".into()));
}

#[test]
fn a_branch_in_another_worktree_of_the_user_moves_with_it() {
    let case = Case::new();
    case.sandbox.git(&["switch", "--quiet", "--create", "elsewhere"]);
    let linked = case.sandbox.root().join("linked");
    case.sandbox.git(&["worktree", "add", "--quiet", "../linked", "main"]);
    write(&linked.join("README"), "dirty\n");
    let refused = Refusal::LocalChanges { checkout: linked.clone(), files: vec!["README".into()] };
    assert_eq!(case.merge(Style::Squash), Outcome::Refused(refused));
    run_git(&linked, &["restore", "README"]);
    assert!(matches!(case.merge(Style::Squash), Outcome::Merged { checkouts, .. } if checkouts == [linked.clone()]));
    assert_eq!(run_git(&linked, &["status", "--porcelain"]), "");
    assert!(linked.join("new/file").exists() && !case.sandbox.main().join("new/file").exists());
}

#[test]
fn a_bare_repository_works() {
    let sandbox = Sandbox::new();
    sandbox.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = sandbox.root().join("bare.git");
    run_git(&bare, &["config", "user.name", "Ada"]);
    run_git(&bare, &["config", "user.email", "a@b"]);
    run_git(&bare, &["worktree", "add", "--quiet", "-b", "coppice/a/b", "../tree", "main"]);
    let repo = crate::git::Repo::discover(&bare).unwrap();
    let tree =
        crate::git::worktree::open(&repo, &sandbox.root().join("tree"), "coppice/a/b", sandbox.head(), sandbox.head());
    write(&tree.path.join("new"), "new\n");
    let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "" };
    checkpoint(&tree, about).unwrap().unwrap();
    let order = Merge {
        target: Some(MAIN),
        style: Style::Squash,
        message: "x",
        base: tree.base,
        hooks: HookPolicy::Check,
        ssh_agent: None,
    };
    assert!(matches!(merge(&tree, order, &mut run_hook), Ok(Outcome::Merged { .. })));
    assert_eq!(run_git(&bare, &["show", "main:new"]), "new\n");
}

#[test]
fn local_work_elsewhere_in_the_checkout_stays() {
    let case = Case::new();
    case.sandbox.write("other", "mine\n");
    case.sandbox.write("staged", "staged\n");
    case.sandbox.git(&["add", "staged"]);
    case.sandbox.write("untracked", "untracked\n");
    case.sandbox.write("new/untracked.log", "ignored\n");
    fs::File::options()
        .write(true)
        .open(case.sandbox.main().join("README"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    case.merged(Style::Squash);
    assert_eq!(case.porcelain(), " M other\nA  staged\n?? untracked\n");
    assert_eq!((case.read("other"), case.read("README")), ("mine\n".into(), "hello\nsession\n".into()));
}

#[test]
fn local_work_that_would_be_lost_refuses_the_merge() {
    let edited = Case::new();
    edited.sandbox.write("README", "mine\n");
    edited.unmoved(Style::Squash, &local(&edited, &["README"]));

    let staged = Case::new();
    staged.sandbox.write("README", "mine\n");
    staged.sandbox.git(&["add", "README"]);
    staged.unmoved(Style::NoFf, &local(&staged, &["README"]));

    let untracked = Case::new();
    untracked.sandbox.write("new/file", "mine\n");
    untracked.unmoved(Style::Rebase, &local(&untracked, &["new/file"]));

    let in_the_way = Case::new();
    in_the_way.sandbox.write("new", "a file where a directory must be\n");
    in_the_way.unmoved(Style::Squash, &local(&in_the_way, &["new"]));

    let ignored = Case::new();
    ignored.sandbox.write(".git/info/exclude", "file\n");
    ignored.sandbox.write("new/file", "ignored, but mine\n");
    ignored.unmoved(Style::Squash, &local(&ignored, &["new/file"]));
    assert_eq!(ignored.read("new/file"), "ignored, but mine\n");

    let shown = local(&edited, &["README"]);
    let Outcome::Refused(refusal) = shown else { panic!() };
    let main = edited.sandbox.main();
    assert_eq!(refusal.to_string(), format!("local changes in `{}` would be overwritten: `README`", main.display()));
}

#[test]
fn a_conflict_names_its_files_and_writes_nothing() {
    for style in [Style::Squash, Style::NoFf, Style::Rebase] {
        let case = Case::new();
        case.sandbox.write("README", "hello\nuser\n");
        case.sandbox.commit_all("meanwhile");
        case.unmoved(style, &Outcome::Conflict { files: vec!["README".into()] });
    }
}

#[test]
fn targets_that_cannot_receive_are_refused() {
    let case = Case::new();
    let ask = |target| merge(&case.tree, Merge { target, ..case.order(Style::Squash) }, &mut run_hook).unwrap();
    assert_eq!(ask(None), Outcome::Refused(Refusal::NoTarget));
    let missing = Refusal::TargetMissing { branch: "gone".into() };
    assert_eq!(missing.to_string(), "the branch `gone` does not exist any more");
    assert_eq!(ask(Some("refs/heads/gone")), Outcome::Refused(missing));
}

#[test]
fn an_operation_in_progress_on_the_target_refuses_the_merge() {
    let main = |case: &Case| case.sandbox.main();
    for (file, text, operation) in [
        ("MERGE_HEAD", "x", "merge"),
        ("CHERRY_PICK_HEAD", "x", "cherry-pick"),
        ("rebase-merge/head-name", "refs/heads/main\n", "rebase"),
        ("BISECT_START", "main\n", "bisect"),
    ] {
        let case = Case::new();
        write(&main(&case).join(".git").join(file), text);
        let Outcome::Refused(Refusal::Busy { operation: seen, .. }) = case.merge(Style::Squash) else {
            panic!("{file}")
        };
        assert_eq!(seen, operation);
        assert_eq!(case.sandbox.oid("main"), case.tree.base);
    }
}

#[test]
fn no_identity_is_an_error_with_the_two_commands() {
    let case = Case::new();
    case.sandbox.git(&["config", "--unset", "user.name"]);
    let refused = merge(&case.tree, case.order(Style::Squash), &mut run_hook).unwrap_err();
    assert!(matches!(refused, GitError::NoIdentity));
    assert_eq!(case.sandbox.oid("main"), case.tree.base);
}

#[test]
fn a_second_squash_brings_only_what_came_after_the_first() {
    let case = Case::new();
    let first = case.sandbox.oid(&case.tree.branch);
    case.merged(Style::Squash);
    case.work(3, "README", "hello\nsession, again\n");
    let order = Merge { base: first, ..case.order(Style::Squash) };
    assert!(matches!(merge(&case.tree, order, &mut run_hook), Ok(Outcome::Merged { .. })));
    assert_eq!((case.read("README"), case.porcelain()), ("hello\nsession, again\n".into(), String::new()));
}

#[test]
fn a_kill_between_the_files_and_the_branch_is_made_good_by_the_same_merge() {
    let case = Case::new();
    let tip = case.sandbox.oid(&case.tree.branch);
    case.sandbox.git(&["read-tree", "-m", "-u", "main", &tip.to_string()]);
    assert_eq!(case.porcelain(), "M  README\nA  new/file\n");
    case.merged(Style::Squash);
    assert_eq!(case.porcelain(), "");
}

#[test]
fn a_branch_that_moved_meanwhile_is_not_overwritten() {
    let case = Case::new();
    let (old, tip) = (case.sandbox.head(), case.sandbox.oid(&case.tree.branch));
    case.sandbox.write("other", "meanwhile\n");
    let meanwhile = case.sandbox.commit_all("meanwhile");
    let advance = Advance { name: MAIN, old, new: tip, why: "test" };
    let refused = checkout::advance(&case.tree.repo, &advance, &[]).unwrap();
    assert_eq!(refused, Some(Refusal::TargetMoved { branch: "main".into() }));
    assert_eq!(case.sandbox.head(), meanwhile);
    write(&case.sandbox.main().join(".git/refs/heads/main.lock"), "");
    let advance = Advance { name: MAIN, old: meanwhile, new: tip, why: "test" };
    let locked = checkout::advance(&case.tree.repo, &advance, &[]).unwrap_err();
    assert!(locked.to_string().contains("main.lock"), "{locked}");
}

#[test]
fn when_one_of_two_checkouts_cannot_follow_the_other_goes_back() {
    let case = Case::new();
    let linked = case.sandbox.root().join("linked");
    case.sandbox.git(&["worktree", "add", "--quiet", "--force", "../linked", "main"]);
    let (old, new) = (case.sandbox.head(), case.sandbox.oid(&case.tree.branch));
    let advance = Advance { name: MAIN, old, new, why: "test" };
    let both = checkout::showing(&case.tree, MAIN, old);
    assert_eq!(both.len(), 2);
    write(&linked.join("README"), "mine\n");
    let refused = Refusal::LocalChanges { checkout: linked.clone(), files: vec!["README".into()] };
    assert_eq!(checkout::advance(&case.tree.repo, &advance, &both).unwrap(), Some(refused));
    assert_eq!((case.sandbox.head(), case.porcelain(), case.read("README")), (old, String::new(), "hello\n".into()));
    run_git(&linked, &["restore", "README"]);
    assert_eq!(checkout::advance(&case.tree.repo, &advance, &both).unwrap(), None, "the lock is free again");
    assert_eq!((case.sandbox.head(), case.porcelain()), (new, String::new()));
    assert_eq!(run_git(&linked, &["status", "--porcelain"]), "");
}

#[test]
fn nested_repositories_do_not_get_in() {
    let case = Case::new();
    let gitlink = format!("160000,{},nested", case.tree.base);
    run_git(&case.tree.path, &["update-index", "--add", "--cacheinfo", &gitlink]);
    case.work(3, "work", "work\n");
    assert_eq!(run_git(&case.tree.path, &["ls-tree", "HEAD", "nested"]), "");
    run_git(&case.tree.path, &["update-index", "--add", "--cacheinfo", &gitlink]);
    run_git(&case.tree.path, &["commit", "--quiet", "-m", "by the agent itself"]);
    let nested = Refusal::NestedRepositories { paths: vec!["nested".into()] };
    case.unmoved(Style::Squash, &Outcome::Refused(nested));
}

/// Runs a hook as a plain child.
#[expect(clippy::disallowed_methods, reason = "a test plays the caller, who decides how hooks run")]
fn run_hook(hook: HookRun) -> HookResult {
    let mut command = std::process::Command::new(&hook.program);
    command.args(&hook.arguments).current_dir(&hook.directory).envs(hook.environment);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    match output.status.success() {
        true => HookResult::Passed,
        false => {
            let said = [output.stdout, output.stderr].concat();
            HookResult::Failed { output: String::from_utf8_lossy(&said).into_owned() }
        }
    }
}
