//! Snapshots, checkpoints and resets over everything a work tree can hold.

mod reword;

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::git::status;
use crate::git::stop::stop_signal;
use crate::git::testkit::{Sandbox, reset, run_git, write, write_script};

const ID: &str = "abcdefgh";
const SNAPSHOT: &str = "refs/coppice/snapshots/abcdefgh/1";

fn about(turn: u32) -> Checkpoint<'static> {
    Checkpoint { session: ID.parse().unwrap(), turn, message: "Add a thing" }
}

#[track_caller]
fn take(tree: &Worktree, turn: u32) -> Oid {
    let recorded = checkpoint(tree, about(turn)).unwrap().unwrap();
    assert_eq!(recorded.left_out, Vec::<PathBuf>::new());
    recorded.commit
}

fn listing(sandbox: &Sandbox, commit: Oid) -> Vec<String> {
    let names = sandbox.git(&["ls-tree", "-r", "-z", "--name-only", &commit.to_string()]);
    names.split_terminator('\0').map(str::to_owned).collect()
}

fn show(sandbox: &Sandbox, commit: Oid, path: &str) -> String {
    sandbox.git(&["cat-file", "blob", &format!("{commit}:{path}")])
}

fn porcelain(tree: &Worktree) -> String {
    run_git(&tree.path, &["status", "--porcelain"])
}

#[test]
fn a_snapshot_holds_everything_and_moves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("gone", "gone\n");
    sandbox.write("staged", "one\n");
    let base = sandbox.commit_all("more");
    let tree = sandbox.session(ID);
    write(&tree.path.join("README"), "changed\n");
    write(&tree.path.join("deep/new"), "new\n");
    write(&tree.path.join("noise.log"), "noise\n");
    write(&tree.path.join("staged"), "two\n");
    run_git(&tree.path, &["add", "staged"]);
    fs::remove_file(tree.path.join("gone")).unwrap();
    let before = (porcelain(&tree), fs::read(tree.admin.join("index")).unwrap());

    let Recorded { commit, left_out, .. } = snapshot(&tree, SNAPSHOT, "before turn 2").unwrap();

    assert_eq!(listing(&sandbox, commit), [".gitignore", "README", "deep/new", "staged"]);
    assert_eq!(show(&sandbox, commit, "README"), "changed\n");
    assert_eq!(show(&sandbox, commit, "staged"), "two\n");
    assert_eq!(left_out, Vec::<PathBuf>::new());
    assert_eq!(sandbox.oid(SNAPSHOT), commit);
    assert_eq!(sandbox.oid(&format!("{commit}^")), base);
    assert_eq!(sandbox.oid(&tree.branch), base);
    assert_eq!((porcelain(&tree), fs::read(tree.admin.join("index")).unwrap()), before);
    assert_eq!(fs::read_dir(&tree.admin).unwrap().filter(is_private).count(), 0);
}

fn is_private(entry: &std::io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("coppice-")
}

#[test]
fn a_checkpoint_is_a_commit_on_the_branch_that_leaves_the_tree_clean() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("new"), "new\n");
    let commit = take(&tree, 1);
    assert_eq!(sandbox.oid(&tree.branch), commit);
    assert_eq!(sandbox.oid("refs/coppice/checkpoints/abcdefgh/1"), commit);
    assert_eq!(porcelain(&tree), "");
    let said = sandbox.git(&["show", "--no-patch", "--format=%an <%ae> %cn|%B", &commit.to_string()]);
    assert_eq!(said.trim_end(), "Ada <ada@example.com> Ada|Add a thing\n\nCoppice-Session: abcdefgh");
    let trailer =
        sandbox.git(&["show", "--no-patch", "--format=%(trailers:key=Coppice-Session,valueonly)", &tree.branch]);
    assert_eq!(trailer.trim(), "abcdefgh");
    assert_eq!(checkpoint(&tree, about(2)).unwrap(), None);
    assert_eq!(sandbox.repo().find_ref("refs/coppice/checkpoints/abcdefgh/2").unwrap(), None);
}

#[test]
fn nothing_to_commit_makes_no_checkpoint_even_when_files_were_touched() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    assert_eq!(checkpoint(&tree, about(1)).unwrap(), None);
    File::options().write(true).open(tree.path.join("README")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(checkpoint(&tree, about(1)).unwrap(), None);
    fs::create_dir_all(tree.path.join("empty/directory")).unwrap();
    assert_eq!(checkpoint(&tree, about(1)).unwrap(), None);
}

#[test]
fn commits_of_the_agent_itself_become_a_checkpoint() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("own"), "own\n");
    run_git(&tree.path, &["add", "own"]);
    run_git(&tree.path, &["commit", "--quiet", "--message", "own"]);
    let own = sandbox.oid(&tree.branch);
    assert_eq!(take(&tree, 1), own);
    assert_eq!(checkpoint(&tree, about(2)).unwrap(), None);
}

#[test]
fn without_an_identity_work_is_still_committed() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    sandbox.git(&["config", "--unset", "user.name"]);
    sandbox.git(&["config", "--unset", "user.email"]);
    write(&tree.path.join("new"), "new\n");
    let commit = take(&tree, 1).to_string();
    assert_eq!(sandbox.git(&["show", "--no-patch", "--format=%an <%ae>", &commit]), "Coppice <coppice@localhost>\n");
}

#[test]
fn a_kill_between_index_and_branch_is_made_good_by_the_next_checkpoint() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("new"), "new\n");
    stage::stage(&tree, Purpose::Checkpoint, &[]).unwrap().install().unwrap();
    let commit = take(&tree, 1);
    assert_eq!(listing(&sandbox, commit), ["README", "new"]);
    assert_eq!(porcelain(&tree), "");
}

#[test]
fn a_locked_index_stops_a_checkpoint_before_anything_moves() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("new"), "new\n");
    write(&tree.admin.join("index.lock"), "");
    assert!(matches!(checkpoint(&tree, about(1)), Err(GitError::IndexLocked { .. })));
    assert_eq!(sandbox.oid(&tree.branch), tree.base);
}

#[test]
fn a_deleted_branch_is_named() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    sandbox.git(&["update-ref", "-d", &format!("refs/heads/{}", tree.branch)]);
    let missing = snapshot(&tree, SNAPSHOT, "x").unwrap_err();
    assert_eq!(missing.to_string(), "the branch `coppice/abcdefgh/work` does not exist");
}

#[test]
fn a_removed_worktree_is_named() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    fs::remove_dir_all(&tree.path).unwrap();
    assert!(matches!(snapshot(&tree, SNAPSHOT, "x"), Err(GitError::TreeMissing { path }) if path == tree.path));
}

#[test]
fn every_kind_of_name_and_file_survives_a_checkpoint_and_a_reset() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    let names: [&[u8]; 8] =
        [b"a space", b"new\nline", b"tab\t", b"\"quote\"", b"-dash", "ü/日本".as_bytes(), b"inv\xffalid", b":(top)*"];
    for name in names {
        write(&tree.path.join(OsStr::from_bytes(name)), name);
    }
    write_script(&tree.path.join("run"), "exit 0");
    write(&tree.path.join("plain"), "plain\n");
    symlink("plain", tree.path.join("link")).unwrap();
    symlink("nowhere", tree.path.join("broken")).unwrap();
    let full = take(&tree, 1);
    assert_eq!(porcelain(&tree), "");

    for name in names {
        fs::remove_file(tree.path.join(OsStr::from_bytes(name))).unwrap();
    }
    fs::set_permissions(tree.path.join("plain"), Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(tree.path.join("link")).unwrap();
    write(&tree.path.join("link/is/a/directory"), "x");
    fs::remove_file(tree.path.join("run")).unwrap();
    symlink("plain", tree.path.join("run")).unwrap();
    let other = take(&tree, 2);
    assert_eq!(porcelain(&tree), "");
    let modes = sandbox.git(&["ls-tree", "-r", &other.to_string()]);
    let modes: Vec<_> = modes.lines().map(|line| (&line[..6], line.split('\t').nth(1).unwrap())).collect();
    assert_eq!(
        modes,
        [
            ("100644", "README"),
            ("120000", "broken"),
            ("100644", "link/is/a/directory"),
            ("100755", "plain"),
            ("120000", "run")
        ]
    );

    write(&tree.path.join("untracked"), "x");
    reset(&tree, &full).unwrap();
    for name in names {
        assert_eq!(fs::read(tree.path.join(OsStr::from_bytes(name))).unwrap(), name);
    }
    assert_eq!(fs::read_link(tree.path.join("link")).unwrap(), Path::new("plain"));
    assert_eq!(fs::metadata(tree.path.join("run")).unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!tree.path.join("untracked").exists());
    assert_eq!((sandbox.oid(&tree.branch), porcelain(&tree)), (full, String::new()));
}

#[test]
fn an_edit_within_the_clocks_tick_is_seen() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.trustctime", "false"]);
    let tree = sandbox.session(ID);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let (readme, index) = (tree.path.join("README"), tree.admin.join("index"));
    let set_time = |path: &Path| File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    set_time(&readme);
    run_git(&tree.path, &["update-index", "--refresh"]);
    fs::write(&readme, "HELLO\n").unwrap();
    set_time(&readme);
    set_time(&index);
    let commit = take(&tree, 1);
    assert_eq!(show(&sandbox, commit, "README"), "HELLO\n");
}

#[test]
fn line_ends_follow_the_base_and_the_settings() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.txt text\n*.bat text eol=crlf\n");
    sandbox.commit_all("attributes");
    let tree = sandbox.session(ID);
    for name in ["a.txt", "a.bat", "a.raw"] {
        write(&tree.path.join(name), "one\r\ntwo\r\n");
    }
    let commit = take(&tree, 1);
    let stored = ["a.txt", "a.bat", "a.raw"].map(|name| show(&sandbox, commit, name));
    assert_eq!(stored, ["one\ntwo\n", "one\ntwo\n", "one\r\ntwo\r\n"]);
    sandbox.git(&["config", "core.autocrlf", "true"]);
    write(&tree.path.join("b.raw"), "one\r\ntwo\r\n");
    let commit = take(&tree, 2);
    assert_eq!(show(&sandbox, commit, "b.raw"), "one\ntwo\n");
    fs::remove_file(tree.path.join("a.bat")).unwrap();
    reset(&tree, &commit).unwrap();
    assert_eq!(fs::read(tree.path.join("a.bat")).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn filters_of_the_base_run_so_pointers_stay_pointers() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.lfs.clean", "sed 's/^content /pointer /'"]);
    sandbox.git(&["config", "filter.lfs.smudge", "sed 's/^pointer /content /'"]);
    sandbox.git(&["config", "filter.lfs.required", "true"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs -text\n");
    sandbox.write("old.bin", "content old\n");
    sandbox.commit_all("large files");
    let tree = sandbox.session(ID);
    assert_eq!(fs::read(tree.path.join("old.bin")).unwrap(), b"content old\n");
    write(&tree.path.join("new.bin"), "content new\n");
    let commit = take(&tree, 1);
    assert_eq!(show(&sandbox, commit, "old.bin"), "pointer old\n");
    assert_eq!(show(&sandbox, commit, "new.bin"), "pointer new\n");
    fs::remove_file(tree.path.join("new.bin")).unwrap();
    reset(&tree, &commit).unwrap();
    assert_eq!(fs::read(tree.path.join("new.bin")).unwrap(), b"content new\n");
}

#[test]
fn submodules_stay_as_they_are() {
    let library = Sandbox::new();
    let sandbox = Sandbox::new();
    sandbox.git(&["submodule", "--quiet", "add", library.main().to_str().unwrap(), "sub"]);
    sandbox.commit_all("submodule");
    let tree = sandbox.session(ID);
    let link = sandbox.oid("HEAD:sub");
    write(&tree.path.join("new"), "new\n");
    let commit = take(&tree, 1);
    assert_eq!(sandbox.oid(&format!("{commit}:sub")), link);
    run_git(&tree.path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    write(&tree.path.join("sub/README"), "changed\n");
    write(&tree.path.join("other"), "other\n");
    let commit = take(&tree, 2);
    assert_eq!(sandbox.oid(&format!("{commit}:sub")), link);
    reset(&tree, &tree.base).unwrap();
    assert_eq!(fs::read(tree.path.join("sub/README")).unwrap(), b"changed\n");
}

#[test]
fn nested_repositories_are_left_out_and_named_and_survive_a_reset() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    for (name, has_commit) in [("full", true), ("deep/empty", false)] {
        let nested = tree.path.join(name);
        fs::create_dir_all(&nested).unwrap();
        run_git(&nested, &["init", "--quiet"]);
        write(&nested.join("inside"), "inside\n");
        if has_commit {
            run_git(&nested, &["add", "inside"]);
            run_git(&nested, &["-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "-m", "x"]);
        }
    }
    write(&tree.path.join("work"), "work\n");
    let Recorded { commit, left_out, .. } = checkpoint(&tree, about(1)).unwrap().unwrap();
    assert_eq!(listing(&sandbox, commit), ["README", "work"]);
    assert_eq!(left_out, [Path::new("deep/empty"), Path::new("full")]);
    // They are named as long as they are there.
    let unchanged = checkpoint(&tree, about(2)).unwrap().unwrap();
    assert_eq!((unchanged.is_empty(), unchanged.left_out), (true, left_out));
    let saved = "refs/coppice/undo/abcdefgh/1";
    snapshot_and_reset(&tree, &tree.base, saved, "x").unwrap();
    assert!(tree.path.join("full/inside").exists() && tree.path.join("deep/empty/inside").exists());
    // The way back to a commit that has files there is closed.
    for file in ["full", "full/other", "deep"] {
        let blob = sandbox.git(&["rev-parse", "HEAD:README"]);
        let entry = format!("100644,{},{file}", blob.trim());
        sandbox.git(&["read-tree", "HEAD"]);
        sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
        let content = sandbox.git(&["write-tree"]);
        let target = sandbox.git(&["commit-tree", "-p", "HEAD", "-m", "x", content.trim()]).trim().parse().unwrap();
        let refused = snapshot_and_reset(&tree, &target, saved, "x");
        assert!(matches!(refused, Err(GitError::CannotBeSaved { paths }) if paths.len() == 1), "{file}");
        assert!(tree.path.join("full/inside").exists() && tree.path.join("deep/empty/inside").exists());
    }
}

#[test]
fn what_is_no_file_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    let readme = tree.path.join("README");
    fs::remove_file(&readme).unwrap();
    std::os::unix::net::UnixListener::bind(&readme).unwrap();
    write(&tree.path.join("work"), "work\n");
    let Recorded { commit, left_out, .. } = checkpoint(&tree, about(1)).unwrap().unwrap();
    assert_eq!(left_out, [Path::new("README")]);
    assert_eq!(listing(&sandbox, commit), ["README", "work"]);
}

#[test]
fn a_name_that_no_commit_can_hold_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    for name in ["a", "git~1", "m", "sub/.GIT", "z"] {
        write(&tree.path.join(name), "x");
    }
    let Recorded { commit, left_out, .. } = checkpoint(&tree, about(1)).unwrap().unwrap();
    assert_eq!(left_out, [Path::new("git~1"), Path::new("sub/.GIT")]);
    assert_eq!(listing(&sandbox, commit), ["README", "a", "m", "z"]);
}

#[test]
fn a_name_with_several_lines_that_no_commit_can_hold_is_named_whole() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session(ID);
    write(&tree.path.join("a/b"), "x");
    write(&tree.path.join("a\nb/git~1"), "x");
    let recorded = checkpoint(&tree, about(1)).unwrap().unwrap();
    assert_eq!(recorded.left_out, [Path::new("a\nb/git~1")]);
    let refused = snapshot_and_reset(&tree, &tree.base, SNAPSHOT, "x");
    assert!(matches!(refused, Err(GitError::CannotBeSaved { .. })), "{refused:?}");
}

#[test]
fn a_reset_deletes_nothing_that_its_snapshot_does_not_hold() {
    let sandbox = Sandbox::new();
    sandbox.write("config", "base\n");
    sandbox.write("dir/x", "base\n");
    sandbox.commit_all("more");
    let tree = sandbox.session(ID);
    let read = |name: &str| fs::read_to_string(tree.path.join(name)).ok();
    // The turn ignores files, replaces two of the base by ignored ones, and names one like a commit.
    let base = tree.base.to_string();
    fs::remove_file(tree.path.join("config")).unwrap();
    fs::remove_dir_all(tree.path.join("dir")).unwrap();
    write(&tree.path.join(".gitignore"), format!(".env\nbuild/\n{base}\n"));
    write(&tree.path.join("work"), "work\n");
    take(&tree, 1);
    write(&tree.path.join(".gitignore"), format!(".env\nbuild/\n{base}\nconfig\ndir\n"));
    for name in [".env", "build/deep/out", &base, "config", "dir", "damaged/.git/notes", "new/file"] {
        write(&tree.path.join(name), "mine\n");
    }

    // A whole directory in the place of a file is not saved, so nothing changes.
    fs::rename(tree.path.join("config"), tree.path.join("file")).unwrap();
    write(&tree.path.join("config/a"), "mine\n");
    let refused = snapshot_and_reset(&tree, &tree.base, SNAPSHOT, "x");
    assert!(
        matches!(&refused, Err(GitError::CannotBeSaved { paths }) if *paths == [Path::new("config")]),
        "{refused:?}"
    );
    fs::remove_dir_all(tree.path.join("config")).unwrap();
    fs::rename(tree.path.join("file"), tree.path.join("config")).unwrap();

    let saved = snapshot_and_reset(&tree, &tree.base, SNAPSHOT, "x").unwrap();

    for (name, expected) in [
        (".gitignore", None),
        ("work", None),
        ("new", None),
        (".env", Some("mine\n")),
        ("build/deep/out", Some("mine\n")),
        (base.as_str(), Some("mine\n")),
        ("damaged/.git/notes", Some("mine\n")),
        ("config", Some("base\n")),
        ("dir/x", Some("base\n")),
    ] {
        assert_eq!(read(name).as_deref(), expected, "{name}");
    }
    assert!(!tree.path.join("new").exists());
    for name in ["config", "dir", "new/file"] {
        assert_eq!(show(&sandbox, saved.commit, name), "mine\n", "{name}");
    }
}

#[test]
fn a_directory_that_became_a_link_to_its_double() {
    let sandbox = Sandbox::new();
    sandbox.write("first/file", "1\n");
    sandbox.write("second/file", "2\n");
    sandbox.commit_all("doubles");
    let tree = sandbox.session(ID);
    fs::remove_dir_all(tree.path.join("first")).unwrap();
    symlink("second", tree.path.join("first")).unwrap();
    let commit = take(&tree, 1);
    assert_eq!(listing(&sandbox, commit), ["README", "first", "second/file"]);
    assert_eq!(porcelain(&tree), "");
    reset(&tree, &tree.base).unwrap();
    assert_eq!(fs::read(tree.path.join("first/file")).unwrap(), b"1\n");
    assert_eq!(fs::read(tree.path.join("second/file")).unwrap(), b"2\n");
}

#[test]
fn a_directory_that_became_a_link_to_another_place() {
    for target in ["second", "nowhere", "README", "/etc"] {
        let sandbox = Sandbox::new();
        sandbox.write("first/file", "1\n");
        sandbox.write("second/other", "2\n");
        sandbox.commit_all("directories");
        let tree = sandbox.session(ID);
        fs::remove_dir_all(tree.path.join("first")).unwrap();
        symlink(target, tree.path.join("first")).unwrap();
        let commit = take(&tree, 1);
        assert_eq!(listing(&sandbox, commit), ["README", "first", "second/other"], "{target}");
        assert_eq!(porcelain(&tree), "", "{target}");
        reset(&tree, &tree.base).unwrap();
        assert_eq!(fs::read(tree.path.join("first/file")).unwrap(), b"1\n", "{target}");
    }
}

#[test]
fn a_sparse_worktree_keeps_what_it_does_not_show() {
    let sandbox = Sandbox::new();
    sandbox.write("shown/a", "a\n");
    sandbox.write("hidden/b", "b\n");
    sandbox.commit_all("two directories");
    let tree = sandbox.session(ID);
    run_git(&tree.path, &["sparse-checkout", "set", "shown"]);
    assert!(!tree.path.join("hidden").exists());
    write(&tree.path.join("shown/a"), "changed\n");
    let commit = take(&tree, 1);
    assert_eq!(listing(&sandbox, commit), ["README", "hidden/b", "shown/a"]);
    assert_eq!(porcelain(&tree), "");
}

#[test]
fn a_reset_works_from_a_detached_head_and_keeps_ignored_files() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "build/\n");
    sandbox.commit_all("ignore");
    let tree = sandbox.session(ID);
    write(&tree.path.join("build/output"), "output");
    write(&tree.path.join("one"), "1");
    let one = take(&tree, 1);
    run_git(&tree.path, &["checkout", "--quiet", "--detach"]);
    write(&tree.path.join("two"), "2");
    reset(&tree, &one).unwrap();
    let after = status::read(&tree).unwrap();
    assert_eq!((after.branch.as_deref(), after.head), (Some("coppice/abcdefgh/work"), Some(one)));
    assert!(tree.path.join("build/output").exists() && !tree.path.join("two").exists());
}

#[test]
fn a_reset_that_has_begun_is_not_stopped() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session("abcdefgh");
    write(&tree.path.join("README"), "changed\n");
    let (guard, stop) = stop_signal().unwrap();
    let stoppable = Worktree { repo: tree.repo.stopped_by(stop), ..tree.clone() };
    snapshot_before_reset(&stoppable, &tree.base, SNAPSHOT, "x").unwrap();
    drop(guard);
    let stopped = snapshot_and_reset(&stoppable, &tree.base, SNAPSHOT, "x");
    assert!(matches!(stopped, Err(GitError::Stopped { .. })));
    assert_eq!(fs::read_to_string(tree.path.join("README")).unwrap(), "changed\n");
    reset_after_snapshot(&stoppable, &tree.base, SNAPSHOT).unwrap();
    assert_eq!(fs::read_to_string(tree.path.join("README")).unwrap(), "hello\n");
}
