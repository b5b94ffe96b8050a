//! What reaches a worktree, and what does not.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::git::diff::{self, Target};
use crate::git::history::{self, Checkpoint};
use crate::git::status;
use crate::git::testkit::{Sandbox, reset, run_git, write};

const NONE: Include<'static> = Include { copy: &[], link: &[], patterns: "" };

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| text.to_string()).collect()
}

/// A checkout with ignored secrets, a tracked file of a matching name, and caches.
fn checkout() -> Sandbox {
    let repo = Sandbox::new();
    repo.write(".gitignore", ".env*\n*.local\nnode_modules\nprivate/\n");
    repo.write("conf/tracked.local", "tracked\n");
    repo.git(&["add", "--force", "--all"]);
    repo.git(&["commit", "--quiet", "-m", "ignore"]);
    repo.write(".env", "secret\n");
    repo.write(".env.example", "example\n");
    repo.write("conf/deep/.env", "deeper\n");
    repo.write("conf/mine.local", "mine\n");
    repo.write("conf/tracked.local", "edited\n");
    repo.write("node_modules/pkg/.env", "theirs\n");
    repo.write("private/key", "key\n");
    repo.write("visible.txt", "untracked and not ignored\n");
    fs::set_permissions(repo.main().join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    repo
}

fn placed(files: &[&str], warnings: &[&str]) -> Placed {
    Placed { files: files.iter().map(PathBuf::from).collect(), warnings: texts(warnings), ..Placed::default() }
}

#[test]
fn the_include_file_brings_ignored_files() {
    let repo = checkout();
    // What the checkout shows is of another branch, and counts for nothing.
    repo.write(".worktreeinclude", "*\n");
    let tree = repo.session("abcdefgh");
    assert_eq!(place(&tree, NONE).unwrap(), placed(&[], &[]));
    let include = Include { patterns: "# secrets\n.env\n!node_modules/**/.env\n*.local\nvisible.txt\n", ..NONE };
    let expected = placed(&[".env", "conf/deep/.env", "conf/mine.local"], &[]);
    assert_eq!(place(&tree, include).unwrap(), expected);
    assert_eq!(fs::read_to_string(tree.path.join("conf/tracked.local")).unwrap(), "tracked\n");
    assert_eq!(fs::metadata(tree.path.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place(&tree, include).unwrap(), placed(&[], &[]), "what is there stays");
}

#[test]
fn lists_copy_and_link_what_they_name() {
    let repo = checkout();
    let tree = repo.session("abcdefgh");
    let copy = texts(&[
        "private",
        ".env.*",
        "./conf/mine.local",
        "missing",
        "conf/tracked.local",
        "../outside",
        "/etc/passwd",
        ".git/config",
    ]);
    repo.write("loose.txt", "untracked and not ignored\n");
    let copy = [copy, texts(&["loose.txt"])].concat();
    let link = texts(&["node_modules", "README", "visible.txt"]);
    let found = place(&tree, Include { copy: &copy, link: &link, ..NONE }).unwrap();
    let files = [".env.example", "private/key", "conf/mine.local", "loose.txt", "node_modules", "visible.txt"];
    assert_eq!(found.files, files.map(PathBuf::from));
    assert_eq!(
        found.warnings,
        [
            "`missing` does not exist in the checkout",
            "`../outside` is not a path inside the repository",
            "`/etc/passwd` is not a path inside the repository",
            "`.git/config` is not a path inside the repository",
            "`loose.txt` is not ignored by git: the session's commits will hold it",
        ]
    );
    assert_eq!(found.existing, ["conf/tracked.local", "README"].map(PathBuf::from));
    assert_eq!(fs::read_link(tree.path.join("node_modules")).unwrap(), repo.main().join("node_modules"));
}

#[test]
fn own_links_are_in_no_commit() {
    let repo = checkout();
    repo.write(".gitignore", "node_modules/\n");
    repo.commit_all("a pattern that matches directories only");
    repo.write("a [b] */node_modules/pkg", "package\n");
    let tree = repo.session("abcdefgh");
    let link = texts(&["node_modules", "a [b] */node_modules"]);
    let found = place(&tree, Include { link: &link, ..NONE }).unwrap();
    assert_eq!(found.warnings, Vec::<String>::new());
    let checkpoint = |turn| {
        let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn, message: "work" };
        history::checkpoint(&tree, about).unwrap().map(|recorded| recorded.commit.to_string())
    };
    let files = |commit: &str| repo.git(&["diff", "--name-status", &tree.base.to_string(), commit]);
    let changes = || diff::files(&tree, &tree.base, Target::WorkTree).unwrap().len();

    assert_eq!(checkpoint(1), None);
    let snapshot = history::snapshot(&tree, "refs/coppice/test", "snapshot").unwrap().commit;
    assert_eq!((files(&snapshot.to_string()), changes()), (String::new(), 0));
    assert!(status::read(&tree).unwrap().is_clean());

    // What somebody stages or commits by hand is taken out again.
    run_git(&tree.path, &["add", "node_modules"]);
    assert_eq!((checkpoint(2), changes()), (None, 0));
    let identity = ["-c", "user.name=a", "-c", "user.email=b"];
    run_git(&tree.path, &["add", "--all"]);
    run_git(&tree.path, &[&identity[..], &["commit", "--quiet", "-m", "by hand"]].concat());
    write(&tree.path.join("work"), "work\n");
    assert_eq!(changes(), 1);
    assert_eq!(files(&checkpoint(3).unwrap()), "A\twork\n");

    reset(&tree, &tree.base).unwrap();
    for path in &link {
        assert!(tree.path.join(path).is_symlink(), "a reset keeps `{path}`");
    }

    // A link that leads elsewhere is a change like any other.
    fs::remove_file(tree.path.join("node_modules")).unwrap();
    symlink("elsewhere", tree.path.join("node_modules")).unwrap();
    assert_eq!(files(&checkpoint(4).unwrap()), "A\tnode_modules\n");
}

#[test]
fn own_links_are_recognised_after_the_checkout_has_moved() {
    let repo = checkout();
    let mut tree = repo.session("abcdefgh");
    place(&tree, Include { link: &texts(&["visible.txt"]), ..NONE }).unwrap();
    let moved = repo.root().join("moved");
    fs::rename(repo.main(), &moved).unwrap();
    symlink(&moved, repo.main()).unwrap();
    tree.repo = Repo::discover(&moved).unwrap();
    assert!(is_own_link(&tree, Path::new("visible.txt")));
    assert!(!is_own_link(&tree, Path::new("README")));
}

#[test]
fn links_are_not_followed_out_of_the_checkout() {
    let repo = checkout();
    let outside = repo.root().join("outside");
    write(&outside.join("secret"), "secret\n");
    symlink(&outside, repo.main().join("away.local")).unwrap();
    symlink("../../outside/secret", repo.main().join("conf/up.local")).unwrap();
    symlink("mine.local", repo.main().join("conf/near.local")).unwrap();
    let copy = texts(&["away.local/secret"]);
    let link = texts(&["away.local"]);
    let tree = repo.session("abcdefgh");
    // In the worktree a directory of the way leads elsewhere.
    symlink(&outside, tree.path.join("private")).unwrap();
    let copy = [copy, texts(&["private/key"])].concat();
    let found = place(&tree, Include { copy: &copy, link: &link, patterns: "*.local\n" }).unwrap();
    assert_eq!(found.files, ["conf/mine.local", "conf/near.local"].map(PathBuf::from));
    assert_eq!(
        found.warnings,
        [
            "`away.local` links out of the checkout",
            "`conf/up.local` links out of the checkout",
            "`away.local/secret` lies behind a symbolic link",
            "`private/key` lies behind a symbolic link",
            "`away.local` leads out of the checkout",
        ]
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_bare_repository_has_nothing_to_bring() {
    let repo = Sandbox::new();
    let bare = repo.root().join("bare");
    repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let tree = Worktree { repo: crate::git::Repo::discover(&bare).unwrap(), ..repo.session("abcdefgh") };
    let found = place(&tree, Include { copy: &texts(&[".env"]), patterns: ".env\n", ..NONE }).unwrap();
    assert_eq!(found, placed(&[], &["a bare repository has no files to copy or link"]));
}
