//! Nothing of a session is lost, whatever is deleted by hand and wherever a removal is interrupted.

use std::fs::Permissions;
use std::iter;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::git::include::place::{Missing, descend};
use crate::git::testkit::{Sandbox, run_git, write, write_script};
use crate::git::worktree::{self, Health, Method, New};

const ID: &str = "abcdefgh";

fn root(repo: &Sandbox) -> PathBuf {
    repo.root().join("trees")
}

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

#[track_caller]
fn make(repo: &Sandbox, name: &str) -> (Worktree, Method) {
    let new = New { root: &root(repo), id: id(name), slug: "work", base: repo.head(), attributes: repo.head() };
    let created = worktree::create(&repo.repo(), new, &mut |_| {}).unwrap();
    (created.worktree, created.method)
}

/// A session with a commit, a staged, an edited, a deleted, an untracked and an ignored file.
fn busy(repo: &Sandbox) -> Worktree {
    repo.write(".gitignore", "*.log\n");
    repo.write("old", "old\n");
    repo.commit_all("base");
    let (tree, _) = make(repo, ID);
    let write = |name: &str, text: &str| fs::write(tree.path.join(name), text).unwrap();
    write("committed", "1\n");
    run_git(&tree.path, &["add", "committed"]);
    run_git(&tree.path, &["commit", "--quiet", "-m", "work"]);
    write("README", "edited\n");
    write("staged", "2\n");
    run_git(&tree.path, &["add", "staged"]);
    write("untracked", "3\n");
    write("ignored.log", "4\n");
    fs::remove_file(tree.path.join("old")).unwrap();
    tree
}

/// The session's work as its owner sees it; what was staged may come back as not staged.
fn work(tree: &Worktree) -> (String, Vec<(String, String)>) {
    let log =
        run_git(&tree.path, &["log", "--format=%H", "HEAD"]) + &run_git(&tree.path, &["branch", "--show-current"]);
    let names = ["README", "old", "committed", "staged", "untracked"];
    let read = |name: &&str| (name.to_string(), fs::read_to_string(tree.path.join(name)).unwrap_or_default());
    (log, names.iter().map(read).collect())
}

#[track_caller]
fn discard(pending: &Pending) {
    Discard::new(pending).unwrap().run().unwrap();
    assert!(!pending.path.exists());
}

#[test]
fn a_removed_session_comes_back_with_its_uncommitted_work() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let before = work(&tree);

    // From the trash, with everything.
    trash(&tree, &root(&repo)).unwrap();
    assert!(!tree.path.exists());
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!((work(&tree), tree.health().unwrap()), (before.clone(), Health::Sound));
    assert!(tree.path.join("ignored.log").exists());

    // From the refs, after everything else is gone.
    let trashed = trash(&tree, &root(&repo)).unwrap();
    assert!(matches!(retire(&trashed, &root(&repo)), Err(GitError::NotSaved { .. })));
    assert_eq!(salvage(&trashed).unwrap().left_out, [] as [PathBuf; 0]);
    drop_branch(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    assert_eq!(repo.git(&["branch", "--list", "coppice/*"]), "");
    assert!(!tree.admin.exists());
    repo.git(&["gc", "--quiet", "--prune=now"]);
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!((work(&tree), tree.health().unwrap()), (before, Health::Sound));
    assert!(!tree.path.join("ignored.log").exists());
    let status = run_git(&tree.path, &["status", "--porcelain"]);
    assert_eq!(status, " M README\n D old\n?? staged\n?? untracked\n");
    assert_eq!(repo.git(&["for-each-ref", "refs/coppice/salvage/"]), "");
}

#[test]
fn a_removal_goes_on_after_a_kill_at_any_step() {
    for killed_after in 0..4 {
        let repo = Sandbox::new();
        let tree = busy(&repo);
        let before = work(&tree);
        let place = root(&repo);
        if killed_after >= 1 {
            trash(&tree, &place).unwrap();
        }
        if killed_after == 2 {
            // Between the rename and the note of it in the git directory.
            registration::point_admin_to(&tree.admin, &tree.path).unwrap();
        }
        if killed_after >= 3 {
            salvage(&pending(&place)[0].resume(&tree).unwrap()).unwrap();
        }
        let trashed = match pending(&place).as_slice() {
            [] => trash(&tree, &place).unwrap(),
            [one] => one.resume(&tree).unwrap(),
            more => panic!("{more:?}"),
        };
        salvage(&trashed).unwrap();
        drop_branch(&trashed).unwrap();
        let left = retire(&trashed, &place).unwrap();
        assert_eq!(pending(&place), std::slice::from_ref(&left));
        discard(&left);
        restore(&tree, &place, &mut |_| {}).unwrap();
        assert_eq!(work(&tree), before, "killed after step {killed_after}");
    }
}

#[test]
fn what_is_left_is_saved_when_parts_were_deleted_by_hand() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let before = work(&tree);
    fs::remove_dir_all(&tree.admin).unwrap();
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree), before);

    repo.git(&["update-ref", "-d", "refs/heads/coppice/abcdefgh/work"]);
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree), before);

    fs::remove_dir_all(&tree.path).unwrap();
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree).0, before.0);
    assert_eq!(run_git(&tree.path, &["status", "--porcelain"]), "");
}

#[test]
fn files_that_were_never_written_are_not_saved_as_deleted() {
    type Break = fn(&Sandbox, &Worktree);
    let cases: [(&str, Break); 3] = [
        ("never registered", |repo, tree| {
            fs::remove_dir_all(&tree.path).unwrap();
            repo.git(&["worktree", "prune"]);
        }),
        ("half written", |_, tree| {
            fs::remove_file(tree.path.join("README")).unwrap();
            registration::lock(&tree.admin, registration::INITIALIZING).unwrap();
        }),
        ("deleted by hand", |_, tree| fs::remove_dir_all(&tree.path).unwrap()),
    ];
    for (what, break_tree) in cases {
        let repo = Sandbox::new();
        let (tree, _) = make(&repo, "abcdefgh");
        break_tree(&repo, &tree);
        discard_unfinished(&tree, &root(&repo)).unwrap();
        let trashed = trash(&tree, &root(&repo)).unwrap();
        // A kill in between: it is saved once more.
        for _ in 0..2 {
            let saved = salvage(&trashed).unwrap().commit.to_string();
            assert_eq!(repo.git(&["diff", "--stat", "HEAD", &saved]), "", "{what}");
        }
        discard(&retire(&trashed, &root(&repo)).unwrap());
        restore(&tree, &root(&repo), &mut |_| {}).unwrap();
        assert_eq!(run_git(&tree.path, &["status", "--porcelain"]), "", "{what}");
    }
}

#[test]
fn work_in_a_worktree_whose_registration_was_mended_halfway_is_saved() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let before = work(&tree);
    // As a daemon leaves it that dies while it registers the worktree again.
    registration::lock(&tree.admin, registration::INITIALIZING).unwrap();
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree), before);
}

#[test]
fn work_that_was_saved_survives_a_removal_in_the_middle_of_its_restore() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let before = work(&tree);
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    let saved = repo.git(&["for-each-ref", "refs/coppice/salvage/"]);
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    // As a kill in the middle leaves it.
    repo.git(&["update-ref", &salvage_ref("abcdefgh"), saved.split(' ').next().unwrap()]);
    registration::lock(&tree.admin, registration::INITIALIZING).unwrap();
    fs::remove_file(tree.path.join("untracked")).unwrap();
    discard_unfinished(&tree, &root(&repo)).unwrap();
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree), before);
}

#[test]
fn a_moved_branch_and_a_lost_session_are_told_apart() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    repo.git(&["branch", "--force", &tree.branch, "main"]);
    let error = restore(&tree, &root(&repo), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "`coppice/abcdefgh/work` moved meanwhile");
    repo.git(&["branch", "-D", &tree.branch]);
    forget(&repo.repo(), id(ID)).unwrap();
    let error = restore(&tree, &root(&repo), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "neither the branch `coppice/abcdefgh/work` nor saved work of it exists");
}

#[test]
fn a_detached_head_and_staged_content_are_kept() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    run_git(&tree.path, &["checkout", "--quiet", "--detach"]);
    fs::write(tree.path.join("loose"), "5\n").unwrap();
    run_git(&tree.path, &["add", "loose"]);
    run_git(&tree.path, &["commit", "--quiet", "-m", "loose"]);
    let loose = run_git(&tree.path, &["rev-parse", "HEAD"]);
    fs::write(tree.path.join("twice"), "staged\n").unwrap();
    run_git(&tree.path, &["add", "twice"]);
    fs::write(tree.path.join("twice"), "edited\n").unwrap();
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    repo.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(repo.git(&["rev-parse", "refs/coppice/salvage-more/abcdefgh/head"]), loose);
    assert_eq!(repo.git(&["show", "refs/coppice/salvage-more/abcdefgh/index:twice"]), "staged\n");
    assert_eq!(repo.git(&["show", "refs/coppice/salvage/abcdefgh:twice"]), "edited\n");
    forget(&repo.repo(), id(ID)).unwrap();
    assert_eq!(repo.git(&["for-each-ref", "refs/coppice"]), "");
}

#[test]
fn an_interrupted_restore_is_completed_by_the_next() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let before = work(&tree);
    // Killed after the tree came back from the trash.
    let trashed = trash(&tree, &root(&repo)).unwrap();
    fs::rename(&trashed.worktree.path, &tree.path).unwrap();
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!((work(&tree), tree.health().unwrap()), (before.clone(), Health::Sound));
    // Killed while it was moved to the trash, or when its git directory was gone already.
    trash(&tree, &root(&repo)).unwrap();
    registration::point_admin_to(&tree.admin, &tree.path).unwrap();
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    trash(&tree, &root(&repo)).unwrap();
    fs::remove_dir_all(&tree.admin).unwrap();
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!((work(&tree), tree.health().unwrap()), (before.clone(), Health::Sound));
    // Killed while files were written from the refs.
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    discard(&retire(&trashed, &root(&repo)).unwrap());
    registration::register(&tree).unwrap();
    fs::write(tree.path.join("README"), "half").unwrap();
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!((work(&tree), tree.health().unwrap()), (before.clone(), Health::Sound));
    // Killed after everything was done.
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree), before);
    fs::remove_dir_all(&tree.admin).unwrap();
    assert!(matches!(restore(&tree, &root(&repo), &mut |_| {}), Err(GitError::PathTaken { .. })));
}

#[test]
fn a_nested_repository_is_named_and_not_saved() {
    let repo = Sandbox::new();
    let (tree, _) = make(&repo, ID);
    fs::create_dir(tree.path.join("nested")).unwrap();
    run_git(&tree.path.join("nested"), &["init", "--quiet"]);
    // Nobody would save what is in an ignored directory.
    for path in ["sub/.git/notes.txt", "sub/target/.git/notes.txt", "sub/deep/.git"] {
        write(&tree.path.join(path), "no repository\n");
    }
    write(&tree.path.join("sub/.gitignore"), "target\n");
    let trashed = trash(&tree, &root(&repo)).unwrap();
    assert_eq!(salvage(&trashed).unwrap().left_out, ["nested", "sub/.git", "sub/deep/.git"].map(PathBuf::from));
}

#[test]
fn an_entry_called_git_is_found_at_a_path_that_the_kernel_does_not_open() {
    let repo = Sandbox::new();
    let (tree, _) = make(&repo, ID);
    let mut path: PathBuf = iter::repeat_n("d".repeat(200), 20).collect();
    path.push("e".repeat(60));
    path.push(".git");
    let root_directory = fs::File::open(&tree.path).unwrap().into();
    descend(&root_directory, &path, Missing::Create).unwrap();
    assert!(tree.path.join(&path).symlink_metadata().is_err(), "it is too long");
    let trashed = trash(&tree, &root(&repo)).unwrap();
    assert_eq!(salvage(&trashed).unwrap().left_out, [path]);
}

#[track_caller]
fn recycled(repo: &Sandbox, tree: &Worktree) -> Recycled {
    let trashed = trash(tree, &root(repo)).unwrap();
    assert!(matches!(recycle(&trashed, &root(repo), TreeReuse::Allowed), Err(GitError::NotSaved { .. })));
    salvage(&trashed).unwrap();
    match recycle(&trashed, &root(repo), TreeReuse::Allowed).unwrap() {
        Recycled::Spare(place) => match verified(repo) {
            SpareVerdict::Accepted => Recycled::Spare(place),
            SpareVerdict::Rejected { reason, left } => Recycled::Doubt { reason, left },
            SpareVerdict::Gone => panic!("{}", place.display()),
        },
        doubt => doubt,
    }
}

#[track_caller]
fn verified(repo: &Sandbox) -> SpareVerdict {
    SpareVerification::run(&repo.repo(), &root(repo), |_| Ok(())).unwrap().unwrap()
}

/// Writes a file of the same size and gives it the times that it had, as far as anybody can.
fn forge(file: &Path, text: &str) {
    let times = file.metadata().unwrap();
    assert_eq!(times.len(), text.len() as u64);
    fs::write(file, text).unwrap();
    fs::File::options().write(true).open(file).unwrap().set_modified(times.modified().unwrap()).unwrap();
}

#[test]
fn a_spare_whose_content_was_forged_is_never_used() {
    let repo = Sandbox::new();
    repo.write("build.sh", "make all\n");
    repo.commit_all("a script");
    let (tree, _) = make(&repo, ID);
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    let Recycled::Spare(place) = recycle(&trashed, &root(&repo), TreeReuse::Allowed).unwrap() else {
        panic!("no spare")
    };
    forge(&place.join("build.sh"), "rm -rf ~\n");
    // Before the verification as well as after it.
    assert_eq!(make(&repo, "bbbbbbbb").1, Method::Checkout);
    let left = Pending { path: place, session: None };
    let reason = "the content of `build.sh` is not that of its commit".to_owned();
    assert_eq!(verified(&repo), SpareVerdict::Rejected { reason, left: left.clone() });
    let (next, method) = make(&repo, "cccccccc");
    assert_eq!(method, Method::Checkout);
    assert_eq!(fs::read_to_string(next.path.join("build.sh")).unwrap(), "make all\n");
    assert_eq!(pending(&root(&repo)), [left]);
}

#[test]
fn a_file_that_is_forged_after_the_verification_is_written_again() {
    let repo = Sandbox::new();
    let (tree, _) = make(&repo, ID);
    let Recycled::Spare(place) = recycled(&repo, &tree) else { panic!("no spare") };
    forge(&place.join("README"), "agent\n");
    let (next, method) = make(&repo, "bbbbbbbb");
    assert_eq!((method, fs::read_to_string(next.path.join("README")).unwrap().as_str()), (Method::Spare, "hello\n"));
}

#[test]
fn a_tree_with_a_file_without_a_lease_is_not_used_again() {
    let cases: [(TakeReadLease, &str); 2] = [
        (|_| Err(ErrorKind::WouldBlock.into()), " is open for writing"),
        (|_| Err(ErrorKind::Unsupported.into()), " is not as git wrote it"),
    ];
    for (take_lease, reason) in cases {
        let repo = Sandbox::new();
        let (tree, _) = make(&repo, ID);
        let trashed = trash(&tree, &root(&repo)).unwrap();
        salvage(&trashed).unwrap();
        let Recycled::Spare(place) = recycle(&trashed, &root(&repo), TreeReuse::Allowed).unwrap() else {
            panic!("no spare")
        };
        let verdict = SpareVerification::run(&repo.repo(), &root(&repo), take_lease).unwrap();
        let Some(SpareVerdict::Rejected { reason: said, left }) = verdict else { panic!("{verdict:?}") };
        assert!(said.ends_with(reason) && left.path == place, "{said}");
        assert_eq!(make(&repo, "bbbbbbbb").1, Method::Checkout);
    }
}

#[test]
fn the_tree_of_a_session_without_namespaces_is_deleted() {
    let repo = Sandbox::new();
    let (tree, _) = make(&repo, ID);
    let trashed = trash(&tree, &root(&repo)).unwrap();
    salvage(&trashed).unwrap();
    let Recycled::Doubt { reason, left } = recycle(&trashed, &root(&repo), TreeReuse::NotIsolated).unwrap() else {
        panic!("it is in the place of the spare")
    };
    assert_eq!(reason, "its session ran without namespaces");
    assert_eq!(pending(&root(&repo)), std::slice::from_ref(&left));
    discard(&left);
    assert!(spare::all(&root(&repo)).is_empty() && !tree.admin.exists());
}

#[test]
fn a_tree_whose_files_are_not_their_blobs_is_not_used_again() {
    let repo = Sandbox::new();
    repo.write(".gitattributes", "*.bat eol=crlf\n");
    repo.write("run.bat", "one\ntwo\n");
    repo.commit_all("line ends");
    let (tree, _) = make(&repo, ID);
    let Recycled::Doubt { reason, .. } = recycled(&repo, &tree) else { panic!("it cannot be compared") };
    assert_eq!(reason, "attributes change the content of 1 files");
}

#[test]
fn a_spare_is_taken_over_and_shows_nothing_of_the_last_session() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let before = work(&tree);
    assert_eq!(recycled(&repo, &tree), Recycled::Spare(root(&repo).join(".spare").join(ID)));
    assert_eq!(pending(&root(&repo)), []);
    repo.git(&["worktree", "prune"]);
    repo.write("README", "moved on\n");
    repo.commit_all("the base moves");

    let (next, method) = make(&repo, "bbbbbbbb");
    assert_eq!((method, next.health().unwrap()), (Method::Spare, Health::Sound));
    assert_eq!(run_git(&next.path, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(run_git(&next.path, &["rev-parse", "HEAD"]), repo.git(&["rev-parse", "HEAD"]));
    let history = run_git(&next.path, &["log", "-g", "--format=%H", "HEAD"]);
    assert!(history.lines().all(|commit| commit == repo.head().to_string()), "{history}");
    assert_eq!(fs::read_to_string(next.path.join("README")).unwrap(), "moved on\n");
    assert!(!next.path.join("ignored.log").exists() && !tree.admin.exists());
    assert_eq!(repo.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 2);

    // The session whose tree it was comes back from the refs.
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert_eq!(work(&tree), before);
}

#[test]
fn of_sessions_created_at_the_same_time_one_takes_the_spare() {
    let repo = Sandbox::new();
    let (tree, _) = make(&repo, ID);
    assert!(matches!(recycled(&repo, &tree), Recycled::Spare(_)));
    let names = ["bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee"];
    let methods = std::thread::scope(|scope| {
        let repo = &repo;
        names.map(|name| scope.spawn(move || make(repo, name).1)).map(|thread| thread.join().unwrap())
    });
    assert_eq!(methods.iter().filter(|method| **method == Method::Spare).count(), 1, "{methods:?}");
    for name in names {
        assert_eq!(run_git(&root(&repo).join(name), &["status", "--porcelain"]), "");
    }
}

#[test]
fn a_spare_with_other_attributes_is_not_used() {
    let repo = Sandbox::new();
    let (tree, _) = make(&repo, ID);
    assert!(matches!(recycled(&repo, &tree), Recycled::Spare(_)));
    repo.write("README", "one\ntwo\n");
    repo.write(".gitattributes", "* eol=crlf\n");
    repo.commit_all("other line ends");
    let (next, method) = make(&repo, "bbbbbbbb");
    assert_eq!(method, Method::Checkout);
    assert_eq!(fs::read_to_string(next.path.join("README")).unwrap(), "one\r\ntwo\r\n");
}

#[test]
fn any_doubt_keeps_a_tree_from_being_used_again() {
    type Spoil<'a> = &'a dyn Fn(&Worktree);
    let doubts: [(&str, Spoil<'_>); 9] = [
        ("`.git` file", &|tree| fs::write(tree.path.join(".git"), "gitdir: /elsewhere\n").unwrap()),
        ("holds `MERGE_HEAD`", &|tree| fs::write(tree.admin.join("MERGE_HEAD"), "").unwrap()),
        ("holds `index.lock`", &|tree| fs::write(tree.admin.join("index.lock"), "").unwrap()),
        ("git does not check", &|tree| drop(run_git(&tree.path, &["update-index", "--assume-unchanged", "README"]))),
        ("extension `UNTR`", &|tree| drop(run_git(&tree.path, &["update-index", "--untracked-cache"]))),
        ("mode of", &|tree| fs::set_permissions(tree.path.join("dir"), Permissions::from_mode(0o700)).unwrap()),
        ("`README`", &|tree| fs::set_permissions(tree.path.join("README"), Permissions::from_mode(0o600)).unwrap()),
        ("`README`", &|tree| fs::hard_link(tree.path.join("README"), tree.admin.join("../../name")).unwrap()),
        ("sub", &|tree| drop(run_git(&tree.path.join("sub"), &["init", "--quiet"]))),
    ];
    for (reason, spoil) in doubts {
        let repo = Sandbox::new();
        repo.write("dir/file", "x\n");
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", repo.head())]);
        repo.git(&["add", "dir"]);
        repo.git(&["commit", "--quiet", "-m", "a submodule"]);
        let (tree, _) = make(&repo, ID);
        spoil(&tree);
        match recycled(&repo, &tree) {
            Recycled::Doubt { reason: said, left } => {
                assert!(said.contains(reason.trim_matches('`')), "{said} instead of {reason}");
                assert_eq!(pending(&root(&repo)), std::slice::from_ref(&left));
                discard(&left);
            }
            // Git looks at whole seconds: in the next one it sees the touched file and writes it anew, as it should be.
            Recycled::Spare(place) if reason == "`README`" => {
                let file = place.join("README").metadata().unwrap();
                assert_eq!((file.mode() & 0o777, file.nlink()), (0o644, 1), "{}", place.display());
                continue;
            }
            Recycled::Spare(place) => panic!("{reason}: {}", place.display()),
        }
        assert!(!tree.admin.exists());
        assert_eq!(make(&repo, "bbbbbbbb").1, Method::Checkout);
    }
}

#[test]
fn nothing_in_a_tree_runs_when_it_is_saved_and_recycled() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let trap = repo.root().join("sprung");
    write_script(&repo.root().join("trap.sh"), &format!("touch '{}'; cat", trap.display()));
    let script = repo.root().join("trap.sh");
    let fake = tree.path.join("fake");
    run_git(&tree.path, &["init", "--quiet", "fake"]);
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process"] {
        run_git(&fake, &["config", key, script.to_str().unwrap()]);
    }
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"] {
        fs::copy(&script, fake.join(".git/hooks").join(hook)).unwrap();
    }
    fs::write(tree.path.join(".gitattributes"), "* filter=x\n").unwrap();
    fs::write(tree.path.join(".git"), format!("gitdir: {}\n", fake.join(".git").display())).unwrap();
    assert!(matches!(recycled(&repo, &tree), Recycled::Doubt { .. }));
    make(&repo, "bbbbbbbb");
    restore(&tree, &root(&repo), &mut |_| {}).unwrap();
    assert!(!trap.exists());
}

#[test]
fn a_spare_without_its_git_directory_is_deleted_and_not_used() {
    let repo = Sandbox::new();
    let tree = busy(&repo);
    let Recycled::Spare(place) = recycled(&repo, &tree) else { panic!("no spare") };
    fs::remove_dir_all(&tree.admin).unwrap();
    assert_eq!(make(&repo, "bbbbbbbb").1, Method::Checkout);
    assert_eq!(pending(&root(&repo)), [Pending { path: place, session: None }]);
}

#[test]
fn registrations_without_files_are_pruned_if_they_are_ours() {
    let repo = Sandbox::new();
    let (ours, _) = make(&repo, ID);
    let (other, _) = make(&repo, "bbbbbbbb");
    registration::lock(&ours.admin, registration::SPARE).unwrap();
    for tree in [&ours, &other] {
        fs::remove_dir_all(&tree.path).unwrap();
    }
    prune(&repo.repo()).unwrap();
    assert!(!ours.admin.exists() && other.admin.exists());
}

#[test]
fn deletion_goes_in_steps_and_stays_inside() {
    let dir = tempfile::tempdir().unwrap();
    let (outside, tree) = (dir.path().join("outside"), dir.path().join("tree"));
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    let mut deep = tree.clone();
    for _ in 0..200 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    symlink(&outside, tree.join("link")).unwrap();
    fs::create_dir(tree.join("sealed")).unwrap();
    fs::write(tree.join("sealed/file"), "").unwrap();
    fs::set_permissions(tree.join("sealed"), Permissions::from_mode(0o000)).unwrap();
    let mut discard = Discard::new(&Pending { path: tree.clone(), session: None }).unwrap();
    let mut steps = 0;
    while discard.step(10).unwrap() == Step::More {
        steps += 1;
    }
    assert!(steps > 10 && !tree.exists() && outside.join("kept").exists());
    assert!(Discard::new(&Pending { path: tree, session: Some(id(ID)) }).is_err());
}
