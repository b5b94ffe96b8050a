//! The user's own checkout follows a merge as git itself would take it there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::*;
use super::{Case, MAIN, run_hook};
use crate::git::testkit::{listing, run_git, write, write_script};

/// A case in which git moves the checkout, and one in which a filter of the user's may run meanwhile.
fn cases() -> [Case; 2] {
    let filtered = Case::new();
    filtered.sandbox.git(&["config", "filter.unused.smudge", "cat"]);
    [Case::new(), filtered]
}

/// Ends a turn in which the files were changed by hand.
fn record(case: &Case) {
    case.work(3, "README", "hello\nchanged\n");
}

/// What is in a checkout, as git and the file system see it.
fn state(dir: &std::path::Path) -> [String; 4] {
    let own = ["status --porcelain", "ls-files --stage", "ls-files -o --directory"];
    let [status, staged, others] = own.map(|words| run_git(dir, &words.split(' ').collect::<Vec<_>>()));
    // Without a look at the files that differ by their times alone.
    let unknown = run_git(dir, &["diff-files", "--name-only"]);
    [status, staged, others, unknown]
}

#[test]
fn every_kind_of_change_arrives_as_in_a_fresh_checkout() {
    cases().into_iter().for_each(|case| {
        for (path, text) in [("gone/deep/file", "x\n"), ("becomes/dir", "x\n"), ("becomes-dir", "x\n"), ("run", "x\n")]
        {
            case.sandbox.write(path, text);
        }
        symlink("README", case.sandbox.main().join("link")).unwrap();
        symlink("README", case.sandbox.main().join("link-file")).unwrap();
        case.sandbox.write("file-link", "x\n");
        let base = case.sandbox.commit_all("more");
        run_git(&case.tree.path, &["rebase", "--quiet", &base.to_string()]);

        let at = |path: &str| case.tree.path.join(path);
        fs::remove_dir_all(at("gone")).unwrap();
        fs::remove_dir_all(at("becomes")).unwrap();
        write(&at("becomes"), "a file\n");
        fs::remove_file(at("becomes-dir")).unwrap();
        write(&at("becomes-dir/file"), "x\n");
        fs::set_permissions(at("run"), fs::Permissions::from_mode(0o755)).unwrap();
        for (path, target) in [("link", "other"), ("file-link", "/nowhere")] {
            fs::remove_file(at(path)).unwrap();
            symlink(target, at(path)).unwrap();
        }
        fs::remove_file(at("link-file")).unwrap();
        write(&at("link-file"), "x\n");
        write(&at("name with \n line"), "x\n");
        record(&case);

        case.merged(Style::Squash);
        let fresh = case.sandbox.root().join("fresh");
        case.sandbox.git(&["worktree", "add", "--quiet", "--detach", fresh.to_str().unwrap(), "main"]);
        let main = case.sandbox.main();
        assert_eq!(state(&main), state(&fresh));
        assert!(!main.join("gone").exists());
        assert_eq!(fs::metadata(main.join("run")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(main.join("file-link")).unwrap(), PathBuf::from("/nowhere"));
        assert!(fs::symlink_metadata(main.join("link-file")).unwrap().is_file());
    });
}

#[test]
fn a_directory_with_ignored_files_is_not_replaced() {
    for case in cases() {
        case.sandbox.write(".gitignore", "*.o\n");
        let base = case.sandbox.commit_all("ignore");
        run_git(&case.tree.path, &["rebase", "--quiet", &base.to_string()]);
        case.sandbox.write("out/deep/x.o", "mine\n");
        write(&case.tree.path.join("out"), "a file\n");
        record(&case);
        let refused = merge(&case.tree, case.order(Style::Squash), &mut super::run_hook).unwrap();
        let files = vec![PathBuf::from("out/deep/x.o")];
        let checkout = case.sandbox.main();
        assert_eq!(refused, Outcome::Refused(Refusal::LocalChanges { checkout, files }));
        assert_eq!(case.read("out/deep/x.o"), "mine\n");
    }
}

#[test]
fn files_are_written_through_the_users_filters_and_new_attributes() {
    let case = Case::new();
    // By a path of the repository: it is the user's present version that runs.
    case.sandbox.git(&["config", "filter.up.smudge", "sh ./bin/up.sh"]);
    case.sandbox.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    case.sandbox.git(&["config", "filter.up.required", "true"]);
    write_script(&case.sandbox.main().join("bin/up.sh"), "tr a-z A-Z");
    case.sandbox.write(".gitattributes", "*.up filter=up\n");
    case.sandbox.write("old.up", "OLD\n");
    let base = case.sandbox.commit_all("filters");
    run_git(&case.tree.path, &["rebase", "--quiet", &base.to_string()]);
    write(&case.tree.path.join(".gitattributes"), "*.up filter=up\n*.bat eol=crlf\n");
    write(&case.tree.path.join("old.up"), "older\n");
    write(&case.tree.path.join("new.up"), "new\n");
    write(&case.tree.path.join("run.bat"), "one\n");
    write_script(&case.tree.path.join("bin/up.sh"), "echo planted");
    record(&case);
    case.merged(Style::Squash);
    let read = |path| case.read(path);
    assert_eq!([read("old.up"), read("new.up"), read("run.bat")], ["OLDER\n", "NEW\n", "one\r\n"]);
    assert_eq!(case.porcelain(), "");
}

#[test]
fn the_users_index_works_with_every_setting_of_it() {
    for (setup, case) in [
        &["config core.splitIndex true", "update-index --split-index"][..],
        &["config core.untrackedCache true", "update-index --untracked-cache", "status --porcelain"],
        &["config core.fsmonitor .git/monitor", "update-index --fsmonitor"],
        &["config index.version 4", "update-index --index-version 4"],
        &["config index.skipHash true", "update-index --force-write-index"],
        &["config core.trustctime false", "config core.checkStat minimal"],
        &["config core.sharedRepository group"],
    ]
    .into_iter()
    .flat_map(|setup| cases().map(|case| (setup, case)))
    {
        write_script(&case.sandbox.main().join(".git/monitor"), "printf 'token\\0/\\0'");
        for words in setup {
            case.sandbox.git(&words.split(' ').collect::<Vec<_>>());
        }
        case.sandbox.write("mine", "mine\n");
        case.sandbox.git(&["add", "mine"]);
        case.sandbox.write("untracked", "untracked\n");
        case.merged(Style::Squash);
        assert_eq!(case.porcelain(), "A  mine\n?? untracked\n", "{setup:?}");
        assert_eq!(case.read("new/file"), "new\n");
        fs::remove_file(case.sandbox.main().join("untracked")).unwrap();
        case.sandbox.write("new/more", "more\n");
        case.sandbox.write("README", "edited\n");
        assert_eq!(case.porcelain(), " M README\nA  mine\n?? new/more\n", "{setup:?}");
    }
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    let setups = ["--no-sparse-index", "--sparse-index"];
    for (setup, case) in setups.into_iter().flat_map(|setup| cases().map(|case| (setup, case))) {
        case.sandbox.write("in/file", "x\n");
        case.sandbox.write("out/file", "x\n");
        let base = case.sandbox.commit_all("directories");
        case.sandbox.git(&["sparse-checkout", "set", "--cone", setup, "in"]);
        run_git(&case.tree.path, &["rebase", "--quiet", &base.to_string()]);
        for path in ["in/file", "in/new", "out/file", "out/new"] {
            write(&case.tree.path.join(path), "session\n");
        }
        record(&case);
        case.merged(Style::Squash);
        let main = case.sandbox.main();
        assert_eq!([case.read("in/file"), case.read("in/new")], ["session\n", "session\n"]);
        assert!(!main.join("out").exists() && !main.join("new").exists(), "{setup}");
        assert_eq!(case.porcelain(), "", "{setup}");
        let flags = case.sandbox.git(&["ls-files", "-t"]);
        assert!(
            flags.contains("H in/new\n") && flags.contains("S out/new\n") && flags.contains("S out/file\n"),
            "{flags}"
        );
        case.sandbox.git(&["sparse-checkout", "disable"]);
        assert_eq!((case.read("out/new"), case.porcelain()), ("session\n".into(), String::new()));
    }
}

#[test]
fn flags_of_the_user_stay_and_another_git_is_waited_for_by_nobody() {
    cases().into_iter().for_each(|case| {
        case.sandbox.git(&["update-index", "--assume-unchanged", "other"]);
        write(&case.sandbox.main().join(".git/index.lock"), "");
        let locked = merge(&case.tree, case.order(Style::Squash), &mut super::run_hook).unwrap_err();
        assert!(matches!(locked, GitError::IndexLocked { .. }), "{locked}");
        assert_eq!((case.read("README"), case.sandbox.head()), ("hello\n".into(), case.tree.base));
        fs::remove_file(case.sandbox.main().join(".git/index.lock")).unwrap();
        case.merged(Style::Squash);
        assert_eq!(case.sandbox.git(&["ls-files", "-v", "other"]), "h other\n");
    });
}

#[test]
fn a_partial_clone_fetches_what_a_merge_needs() {
    cases().into_iter().for_each(|case| {
        for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
            case.sandbox.git(&["config", key, "true"]);
        }
        case.sandbox.write("big", "content\n");
        let next = case.sandbox.commit_all("content that a clone does not have");
        let source = format!("file://{}", case.sandbox.main().display());
        run_git(&case.sandbox.root(), &["clone", "--quiet", "--filter=blob:none", "--no-checkout", &source, "partial"]);
        let partial = case.sandbox.root().join("partial");
        run_git(&partial, &["checkout", "--quiet", "-B", "main", &format!("{next}~")]);
        let repo = crate::git::Repo::discover(&partial).unwrap();
        let old = repo.find_ref(MAIN).unwrap().unwrap();
        let advance = Advance { name: MAIN, old, new: next, why: "test" };
        let session = Worktree { repo: repo.clone(), ..case.tree };
        let checkouts = checkout::showing(&session, MAIN, old);
        assert_eq!(checkout::advance(&repo, &advance, &checkouts).unwrap(), None);
        assert_eq!(fs::read_to_string(partial.join("big")).unwrap(), "content\n");
        assert_eq!(run_git(&partial, &["status", "--porcelain"]), "");
        let blob = run_git(&partial, &["rev-parse", "main:big"]);
        assert!(
            !run_git(&partial, &["rev-list", "--objects", "--missing=print", "main"]).contains(&format!("?{blob}"))
        );
    });
}

#[test]
fn a_filter_that_fails_in_the_midst_leaves_the_checkout_as_it_was() {
    let case = Case::with_missing_content();
    case.work(1, "README", "hello\nsession\n");
    case.work(2, "zz.bin", "pointer\n");
    case.lose_content();
    let before = state(&case.sandbox.main());
    merge(&case.tree, case.order(Style::Squash), &mut run_hook).unwrap_err();
    assert_eq!(state(&case.sandbox.main()), before);
    assert_eq!(fs::read(case.sandbox.main().join("README")).unwrap(), b"hello\n");
}

/// A name that git can hold and no file system can.
fn impossible_name() -> String {
    "m".repeat(300)
}

#[test]
fn a_move_that_stops_in_the_midst_of_the_files_leaves_them_as_they_were() {
    let case = Case::new();
    for (path, text) in [("changed", "old\n"), ("gone", "old\n"), ("becomes-dir", "old\n"), ("becomes/dir", "old\n")] {
        case.sandbox.write(path, text);
    }
    case.sandbox.commit_all("more");
    let main = case.sandbox.main();
    write(&main.join("local"), "mine\n");
    write(&main.join("other"), "changed by hand\n");
    let state = || {
        let mut files = listing(&main);
        files.retain(|path, _| !path.starts_with(".git"));
        (files, run_git(&main, &["status", "--porcelain"]))
    };
    let before = state();

    // The same files with other content, and one that cannot be written between them.
    let made = case.sandbox.root().join("made");
    case.sandbox.git(&["worktree", "add", "--quiet", "--detach", made.to_str().unwrap(), "main"]);
    fs::remove_file(made.join("becomes-dir")).unwrap();
    fs::remove_dir_all(made.join("becomes")).unwrap();
    fs::remove_file(made.join("gone")).unwrap();
    for (path, text) in [
        ("changed", "new\n"),
        ("becomes-dir/file", "new\n"),
        ("becomes", "new\n"),
        ("a/new", "new\n"),
        ("z/new", "new\n"),
    ] {
        write(&made.join(path), text);
    }
    run_git(&made, &["add", "--all"]);
    let blob = run_git(&made, &["rev-parse", "HEAD:README"]);
    let entry = format!("100644,{},{}", blob.trim(), impossible_name());
    run_git(&made, &["update-index", "--add", "--cacheinfo", &entry]);
    run_git(&made, &["commit", "--quiet", "--message", "made"]);
    let (old, new) = (case.sandbox.oid("main"), case.sandbox.oid(run_git(&made, &["rev-parse", "HEAD"]).trim()));

    let to = Advance { name: MAIN, old, new, why: "test" };
    let failure = checkout::advance(&case.tree.repo, &to, &checkout::showing(&case.tree, MAIN, old)).unwrap_err();
    assert!(matches!(failure, GitError::Failed { verb: "read-tree", .. }), "{failure:?}");
    assert_eq!(state(), before);
    assert_eq!(case.sandbox.oid("main"), old);
}

#[test]
fn what_somebody_changes_during_a_move_that_fails_stays() {
    let case = Case::new();
    let (old, new) = (case.sandbox.oid("main"), case.work(3, "other", "from the session\n"));
    let main = case.sandbox.main();
    let shown = checkout::showing(&case.tree, MAIN, old);
    write(&main.join("other"), "mine\n");
    let reversal = reversal::MoveReversal::prepare(&shown[0], old, new).unwrap();
    assert_eq!(reversal.run().unwrap(), reversal::Reversed::Whole, "git has written nothing");
    write(&main.join("other"), "mine, too\n");
    write(&main.join("new/file"), "ne");
    assert_eq!(reversal.run().unwrap(), reversal::Reversed::Halfway);
    assert_eq!(fs::read_to_string(main.join("other")).unwrap(), "mine, too\n");
    write(&main.join("other"), "");
    assert_eq!(reversal.run().unwrap(), reversal::Reversed::Whole);
    assert_eq!(fs::read_to_string(main.join("other")).unwrap(), "other\n");
    assert!(!main.join("new").exists());
    assert_eq!(run_git(&main, &["status", "--porcelain"]), "");
}

#[test]
fn files_with_converted_line_ends_are_put_back() {
    let case = Case::new();
    case.sandbox.git(&["config", "core.autocrlf", "true"]);
    let (old, new) = (case.sandbox.oid("main"), case.work(3, "other", "from the session\n"));
    let main = case.sandbox.main();
    let shown = checkout::showing(&case.tree, MAIN, old);
    let reversal = reversal::MoveReversal::prepare(&shown[0], old, new).unwrap();
    write(&main.join("other"), "from the session\r\n");
    write(&main.join("new/file"), "new\r");
    assert_eq!(reversal.run().unwrap(), reversal::Reversed::Whole);
    assert_eq!(fs::read_to_string(main.join("other")).unwrap(), "other\r\n");
    assert!(!main.join("new").exists());
}
