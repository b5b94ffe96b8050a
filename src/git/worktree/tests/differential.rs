//! A populated worktree equals what `git worktree add` makes, whatever is in the tree and in the user's checkout.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use super::*;

/// A tree with everything that has ever confused a checkout.
pub(super) fn odd_tree() -> Sandbox {
    let repo = Sandbox::new();
    let main = repo.main();
    for name in [
        "plain",
        "with space",
        "new\nline",
        "tab\tname",
        "quo\"te",
        "back\\slash",
        "-dash",
        "é",
        "e\u{301}",
        "Case",
        "case",
    ] {
        repo.write(name, &format!("content of {name}\n"));
    }
    fs::write(main.join(OsStr::from_bytes(b"not \xff utf-8")), "bytes\n").unwrap();
    for number in 0..30 {
        repo.write(&format!("dir/deep{}/file{number}", number % 3), &format!("{number}\n"));
    }
    repo.write("empty", "");
    fs::write(main.join("large"), b"0123456789abcdef".repeat(70_000)).unwrap();
    write_script(&main.join("run.sh"), "true");
    for (name, target) in
        [("link", "plain"), ("dir/up", "../plain"), ("dangling", "nowhere"), ("dirlink", "dir"), ("out", "/etc")]
    {
        symlink(target, main.join(name)).unwrap();
    }
    repo.write(".gitignore", "*.log\n");
    repo.write("dir/.gitignore", "!kept.log\nbuild/\n");
    repo.git(&["config", "filter.loud.smudge", "tr a-z A-Z"]);
    repo.git(&["config", "filter.loud.clean", "tr A-Z a-z"]);
    let attributes = "*.txt text\n*.auto text=auto\n*.bat eol=crlf\n*.id ident\n*.loud filter=loud\n*.u16 text working-tree-encoding=UTF-16LE\n";
    repo.write("attr/.gitattributes", attributes);
    repo.write("attr/unix.txt", "one\ntwo\n");
    // Clean in git's eyes, although the blob has no carriage return.
    repo.write("attr/dos.txt", "one\r\ntwo\r\n");
    fs::write(main.join("attr/image.auto"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    repo.write("attr/script.bat", "echo\n");
    repo.write("attr/keyword.id", "$Id$\n");
    repo.write("attr/voice.loud", "LOUD\n");
    fs::write(main.join("attr/wide.u16"), "wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
        .unwrap();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", repo.head())]);
    fs::create_dir(main.join("sub")).unwrap();
    repo.git(&["add", "--all", "--", ":!sub"]);
    repo.git(&["commit", "--quiet", "--message", "odd"]);
    settle(&repo);
    repo
}

/// Makes all files old, so that git trusts its stat data.
fn settle(repo: &Sandbox) {
    for path in files_of(&repo.main()) {
        if path.symlink_metadata().unwrap().is_file() {
            set_old(&path);
        }
    }
    repo.git(&["update-index", "-q", "--really-refresh"]);
}

fn set_old(path: &Path) {
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000);
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(old)).unwrap();
}

fn files_of(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name() == Some(OsStr::new(".git")) {
            continue;
        }
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(files_of(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// Every path below a directory with its type, mode and content.
fn listing(tree: &Path) -> String {
    let describe = |path: &PathBuf| {
        let found = path.symlink_metadata().unwrap();
        let content = match (found.is_file(), found.is_symlink()) {
            (true, _) => hash_of(&fs::read(path).unwrap()).to_string(),
            (_, true) => fs::read_link(path).unwrap().display().to_string(),
            _ => String::new(),
        };
        format!("{:?} {:o} {content}\n", path.strip_prefix(tree).unwrap(), found.mode())
    };
    files_of(tree).iter().map(describe).collect()
}

fn hash_of(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// All that can be told about a worktree, except where it is.
pub(super) fn describe(tree: &Path) -> String {
    let commands: [&[&str]; 6] = [
        &["status", "--porcelain=v2", "--ignored", "-z"],
        &["ls-files", "--stage", "-z"],
        &["ls-files", "-v", "-z"],
        &["diff"],
        &["diff", "--cached"],
        &["rev-parse", "HEAD"],
    ];
    let said: Vec<_> = commands.iter().map(|args| run_git(tree, args)).collect();
    format!("{}{}", listing(tree), said.join("\n"))
}

/// Creates a worktree by git and one by us, and compares; returns ours.
#[track_caller]
fn check(repo: &Sandbox, expected: Method) -> Created {
    check_as(repo, ID, expected)
}

#[track_caller]
fn check_as(repo: &Sandbox, name: &str, expected: Method) -> Created {
    let by_git = repo.root().join(format!("{name}-by-git"));
    repo.git(&["worktree", "add", "--quiet", "--detach", by_git.to_str().unwrap()]);
    let users = || (listing(&repo.main()), fs::read(repo.main().join(".git/index")).unwrap());
    let before = users();
    let created = make(repo, name, Ways::Populate);
    assert_eq!(created.method, expected);
    assert_eq!(describe(&created.worktree.path), describe(&by_git));
    assert_eq!(users(), before, "the user's checkout and index do not change");
    run_git(&created.worktree.path, &["fsck", "--no-progress"]);
    assert_eq!(created.worktree.health().unwrap(), Health::Sound);
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert!(
        listed.contains(&format!("branch refs/heads/coppice/{name}/work")) && !listed.contains("locked"),
        "{listed}"
    );
    created
}

/// How many files were copied and not written by git: copies keep their time.
fn copied(created: &Created) -> usize {
    let is_old = |path: &&PathBuf| path.symlink_metadata().unwrap().mtime() == 1_500_000_000;
    files_of(&created.worktree.path).iter().filter(is_old).count()
}

#[test]
fn a_clean_checkout_is_copied() {
    let repo = odd_tree();
    let created = check(&repo, Method::Populated);
    // All but links, the submodule and what attributes change: three under attr, and the file with other line ends.
    assert_eq!(copied(&created), 51);
}

#[test]
fn under_another_umask_modes_are_the_same() {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "umask 077 && '{}' --exact git::worktree::tests::differential::a_clean_checkout_is_copied",
        this.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn what_is_changed_in_the_checkout_does_not_leak() {
    let repo = odd_tree();
    let main = repo.main();
    repo.write("dir/deep0/file0", "a longer text\n");
    repo.write("dir/deep0/file3", "x\n");
    File::open(main.join("dir/deep0/file6"))
        .unwrap()
        .set_times(FileTimes::new().set_modified(SystemTime::now()))
        .unwrap();
    fs::remove_file(main.join("dir/deep0/file9")).unwrap();
    repo.write("dir/deep1/file1", "staged\n");
    repo.git(&["add", "dir/deep1/file1"]);
    repo.write("planned", "later\n");
    repo.git(&["add", "--intent-to-add", "planned"]);
    repo.git(&["update-index", "--assume-unchanged", "dir/deep1/file4"]);
    repo.write("dir/deep1/file4", "y\n");
    repo.git(&["update-index", "--skip-worktree", "dir/deep1/file7"]);
    repo.write("dir/deep1/file7", "z\n");
    fs::set_permissions(main.join("plain"), Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(main.join("case")).unwrap();
    symlink("Case", main.join("case")).unwrap();
    fs::rename(main.join("dir/deep2"), repo.root().join("elsewhere")).unwrap();
    symlink(repo.root().join("elsewhere"), main.join("dir/deep2")).unwrap();
    fs::remove_file(main.join("link")).unwrap();
    symlink("large", main.join("link")).unwrap();
    repo.write("with space", "CONTENT of with space\n");
    set_old(&main.join("with space"));
    fs::remove_file(main.join("-dash")).unwrap();
    repo.write("-dash", "CONTENT of -dash\n");
    set_old(&main.join("-dash"));
    fs::remove_file(main.join("é")).unwrap();
    assert!(Command::new("mkfifo").arg(main.join("é")).status().unwrap().success());
    repo.write("untracked", "");
    repo.write("dir/build/ignored", "");
    let created = check(&repo, Method::Populated);
    assert!(copied(&created) > 20, "{}", copied(&created));
}

#[test]
fn a_conflicted_index_is_read() {
    let repo = odd_tree();
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("plain", "theirs\n");
    repo.commit_all("theirs");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("plain", "ours\n");
    repo.commit_all("ours");
    let merge = Command::new("git").args(["merge", "side"]).current_dir(repo.main()).output().unwrap();
    assert!(!merge.status.success());
    check(&repo, Method::Populated);
}

#[test]
fn settings_of_the_repository_are_obeyed() {
    let plain: &[(&str, &str, Method)] = &[
        ("index.version", "4", Method::Populated),
        ("core.untrackedCache", "true", Method::Populated),
        ("core.autocrlf", "input", Method::Populated),
        ("core.checkStat", "minimal", Method::Populated),
        ("index.skipHash", "true", Method::Populated),
        ("core.autocrlf", "true", Method::Checkout),
        ("core.eol", "crlf", Method::Checkout),
        ("core.fileMode", "false", Method::Checkout),
        ("core.symlinks", "false", Method::Checkout),
        ("core.ignoreCase", "true", Method::Checkout),
        ("extensions.worktreeConfig", "true", Method::Populated),
    ];
    let repo = odd_tree();
    repo.git(&["config", "core.repositoryFormatVersion", "1"]);
    for (number, (key, value, expected)) in plain.iter().enumerate() {
        repo.git(&["config", key, value]);
        repo.git(&["update-index", "-q", "--force-write-index"]);
        let created = check_as(&repo, &SessionId::from_random([number as u8; 5]).to_string(), *expected);
        assert_eq!(copied(&created) > 30, *expected == Method::Populated, "{key}");
        repo.git(&["config", "--unset", key]);
    }
}

#[test]
fn split_and_sparse_checkouts_are_left_to_git() {
    let repo = odd_tree();
    repo.git(&["update-index", "--split-index"]);
    check(&repo, Method::Checkout);

    let repo = odd_tree();
    repo.git(&["sparse-checkout", "set", "dir/deep0"]);
    let created = check(&repo, Method::Checkout);
    assert!(!created.worktree.path.join("attr").exists());
}

#[test]
fn a_bare_repository_and_an_older_base_work() {
    let repo = odd_tree();
    let bare = repo.root().join("bare");
    repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let new = New { root: &root(&repo), id: id(ID), slug: "work", base: repo.head(), attributes: repo.head() };
    let created = create(&Repo::discover(&bare).unwrap(), new, &mut |_| {}).unwrap();
    assert_eq!(created.method, Method::Checkout);
    assert_eq!(run_git(&created.worktree.path, &["status", "--porcelain"]), "");

    let new = New { base: repo.oid("HEAD~1"), attributes: repo.oid("HEAD~1"), id: id("bbbbbbbb"), ..new };
    let created = create_by(&repo.repo(), new, Ways::Populate, &mut |_| {}).unwrap();
    assert_eq!(files_of(&created.worktree.path).len(), 1);
    assert_eq!(run_git(&created.worktree.path, &["status", "--porcelain"]), "");
}

#[test]
fn lost_stat_data_are_refreshed_on_a_private_copy() {
    let repo = odd_tree();
    for path in files_of(&repo.main()).iter().filter(|path| path.symlink_metadata().unwrap().is_file()) {
        let moved = path.with_file_name("moved aside");
        fs::copy(path, &moved).unwrap();
        fs::rename(&moved, path).unwrap();
        set_old(path);
    }
    let index = fs::read(repo.main().join(".git/index")).unwrap();
    let created = make(&repo, ID, Ways::Populate);
    assert_eq!(copied(&created), 51);
    assert_eq!(fs::read(repo.main().join(".git/index")).unwrap(), index);
    assert!(!created.worktree.admin.join("coppice-main-index").exists());
}
