//! The parser over bytes, and the diff of a worktree that holds every kind of change.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::git::history;
use crate::git::stop::stop_signal;
use crate::git::testkit::{Sandbox, write, write_script};

const HEADER: &str = ":100644 100644 0123456789abcdef0123456789abcdef01234567 0123456789abcdef0123456789abcdef01234567";

fn file(path: &str, kind: Kind, lines: Option<(u64, u64)>) -> FileChange {
    let lines = lines.map(|(insertions, deletions)| Lines { insertions, deletions });
    FileChange { path: path.into(), kind, lines }
}

#[test]
fn raw_and_counts_are_joined() {
    let renamed = || Kind::Renamed { from: "a".into() };
    for (output, expected) in [
        (String::new(), vec![]),
        (format!("{HEADER} M\0a b\n\x003\t4\ta b\n\0"), vec![file("a b\n", Kind::Modified, Some((3, 4)))]),
        (format!("{HEADER} A\0x\0-\t-\tx\0"), vec![file("x", Kind::Added, None)]),
        (
            format!("{HEADER} R090\0a\0b\0{HEADER} D\0c\x001\t2\t\0a\0b\x000\t9\tc\0"),
            vec![file("b", renamed(), Some((1, 2))), file("c", Kind::Deleted, Some((0, 9)))],
        ),
        (format!("{HEADER} T\0l\x001\t1\tl\0"), vec![file("l", Kind::TypeChanged, Some((1, 1)))]),
    ] {
        assert_eq!(parse_files(output.as_bytes()), Ok(expected), "{output:?}");
    }
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    for output in [
        format!("{HEADER} M\0a\0"),
        format!("{HEADER} Z\0a\x001\t1\ta\0"),
        format!("{HEADER} M"),
        "1\t1\ta\0".to_owned(),
        format!("{HEADER} M\0a\x00x\t1\ta\0"),
        format!("{HEADER} M\0a\x001\t1\ta\x001\t1\tb\0"),
    ] {
        assert!(parse_files(output.as_bytes()).is_err(), "{output:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop::sample::select(b":MR\0\t -1a".to_vec()), 0..60)) {
        parse_files(&bytes).ok();
    }
}

#[test]
fn a_worktree_and_its_checkpoint_give_the_same_diff() {
    let sandbox = Sandbox::new();
    let text: String = (0..20).map(|line| format!("line {line}\n")).collect();
    sandbox.write("moved", &text);
    sandbox.write("gone", "gone\n");
    sandbox.write("image", "\0\u{1}\u{2}");
    sandbox.commit_all("files");
    let tree = sandbox.session("abcdefgh");
    write(&tree.path.join("README"), "hello\nworld\n");
    fs::rename(tree.path.join("moved"), tree.path.join("to")).unwrap();
    fs::remove_file(tree.path.join("gone")).unwrap();
    write(&tree.path.join("image"), "\0\u{3}");
    write(&tree.path.join("new file"), "a\nb");
    let objects = || walk(&tree.repo.common_dir().join("objects"));
    let before = objects();

    let expected = vec![
        file("README", Kind::Modified, Some((1, 0))),
        file("gone", Kind::Deleted, Some((0, 1))),
        file("image", Kind::Modified, None),
        file("new file", Kind::Added, Some((2, 0))),
        file("to", Kind::Renamed { from: "moved".into() }, Some((0, 0))),
    ];
    assert_eq!(files(&tree, &tree.base, Target::WorkTree).unwrap(), expected);
    let counted = Changes { files: 5, insertions: 3, deletions: 1 };
    assert_eq!(changes(&tree, &tree.base, Target::WorkTree).unwrap(), counted);
    let show = |to| {
        let patch = patch(&tree, &tree.base, to, usize::MAX).unwrap().bytes;
        [patch, stat(&tree, &tree.base, to).unwrap()]
    };
    let live = show(Target::WorkTree);
    assert_eq!(objects(), before, "a diff writes nothing into the repository");

    let about = history::Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "" };
    let commit = history::checkpoint(&tree, about).unwrap().unwrap().commit;
    let to = Target::Commit(commit);
    assert_eq!(files(&tree, &tree.base, to).unwrap(), expected);
    assert_eq!(show(to), live);
    assert_eq!(files(&tree, &commit, Target::WorkTree).unwrap(), []);
    let patch = String::from_utf8(live[0].clone()).unwrap();
    assert!(patch.starts_with("diff --git a/README b/README\n"), "{patch}");
    assert!(patch.contains("\\ No newline at end of file"), "{patch}");
    assert!(String::from_utf8_lossy(&live[1]).contains("5 files changed"), "{live:?}");
}

#[test]
fn a_review_shows_exactly_the_tree_that_a_checkpoint_commits() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session("abcdefgh");
    let objects = || walk(&tree.repo.common_dir().join("objects"));
    let before = objects();
    let clean = review_work(&tree, &tree.base, 1000).unwrap();
    assert_eq!((clean.files, clean.patch), (vec![], Kept::default()));
    assert_eq!(objects(), before, "work that is committed is not written again");

    write(&tree.path.join("README"), "hello\nworld\n");
    write(&tree.path.join("new file"), "a\n");
    sandbox.git(&["init", "--quiet", tree.path.join("nested").to_str().unwrap()]);
    let differing = |shown| committed_since(&tree, shown).unwrap().map(|work| work.files);
    let shown = review_work(&tree, &tree.base, 1000).unwrap();
    assert_eq!(shown.files, files(&tree, &tree.base, Target::WorkTree).unwrap());
    assert_eq!(shown.patch, patch(&tree, &tree.base, Target::WorkTree, usize::MAX).unwrap());
    assert_eq!(differing(shown.content), Some(vec!["README".into(), "new file".into()]));

    let about = history::Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "" };
    let commit = history::checkpoint(&tree, about).unwrap().unwrap().commit;
    assert_eq!(committed_since(&tree, shown.content).unwrap(), None);
    assert_eq!(committed_since(&tree, commit).unwrap(), None);
    assert_eq!(review_work(&tree, &tree.base, 1000).unwrap(), shown);
    let cut = review_work(&tree, &tree.base, 10).unwrap();
    assert_eq!((cut.patch.bytes.as_slice(), cut.patch.is_cut), (&b"diff --git"[..], true));
    assert_eq!((cut.content, &cut.files), (shown.content, &shown.files), "the list of files is complete");
    assert_eq!(differing(clean.content), Some(vec!["README".into(), "new file".into()]));
    // Its files are not known any more.
    let gone = "ab".repeat(20).parse().unwrap();
    assert_eq!(differing(gone), Some(vec![]));
}

fn walk(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn the_settings_of_the_user_do_not_change_what_is_read() {
    let sandbox = Sandbox::new();
    let marker = sandbox.root().join("ran");
    let program = sandbox.root().join("program");
    write_script(&program, &format!("touch {}", marker.display()));
    sandbox.write(".gitattributes", "* diff=own\n");
    sandbox.commit_all("attributes");
    for (key, value) in [
        ("diff.external", program.to_str().unwrap()),
        ("diff.own.textconv", program.to_str().unwrap()),
        ("diff.own.command", program.to_str().unwrap()),
        ("diff.noprefix", "true"),
        ("diff.renames", "false"),
        ("status.showUntrackedFiles", "no"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
    ] {
        sandbox.git(&["config", key, value]);
    }
    let tree = sandbox.session("abcdefgh");
    write(&tree.path.join("ü"), "x\n");
    let patch = String::from_utf8(patch(&tree, &tree.base, Target::WorkTree, usize::MAX).unwrap().bytes).unwrap();
    assert!(patch.ends_with("--- /dev/null\n+++ b/ü\n@@ -0,0 +1 @@\n+x\n"), "{patch}");
    assert_eq!(files(&tree, &tree.base, Target::WorkTree).unwrap(), [file("ü", Kind::Added, Some((1, 0)))]);
    assert!(!marker.exists());
}

#[test]
fn a_change_of_attributes_is_noticed() {
    let plain = file("src/a", Kind::Modified, None);
    assert!(!touches_attributes(std::slice::from_ref(&plain)));
    assert!(touches_attributes(&[plain.clone(), file("deep/.gitattributes", Kind::Added, None)]));
    assert!(touches_attributes(&[plain, file("x", Kind::Renamed { from: ".gitattributes".into() }, None)]));
}

#[test]
fn texts_are_compared_without_a_repository() {
    for (before, after, expected) in [
        (Some("a\nb\n"), Some("a\nc\n"), "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (None, Some("a\n"), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        (Some("a\n"), None, "--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n"),
        (Some("a\n"), Some("a\n"), ""),
    ] {
        assert_eq!(texts("x", before, after).unwrap(), expected);
    }
}

#[test]
fn a_comparison_of_commits_can_be_stopped_and_still_lists_the_files() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session("abcdefgh");
    write(&tree.path.join("README"), "changed\n");
    write(&tree.path.join("new"), "new\n");
    let about = history::Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "" };
    let commit = history::checkpoint(&tree, about).unwrap().unwrap().commit;
    let expected = |lines: [Option<(u64, u64)>; 2]| {
        vec![file("README", Kind::Modified, lines[0]), file("new", Kind::Added, lines[1])]
    };
    let counted = commit_changes(&tree, &tree.base, commit).unwrap();
    assert!(counted.uncounted.is_none());
    assert_eq!(counted.files, expected([Some((1, 1)), Some((1, 0))]));
    assert!(patch(&tree, &tree.base, Target::Commit(commit), 10).unwrap().is_cut);

    let (guard, stop) = stop_signal().unwrap();
    drop(guard);
    let stopped = Worktree { repo: tree.repo.stopped_by(stop), ..tree.clone() };
    let uncounted = commit_changes(&stopped, &tree.base, commit).unwrap();
    assert!(matches!(uncounted.uncounted, Some(GitError::Stopped { .. })));
    assert_eq!(uncounted.files, expected([None, None]));
    let given_up = patch(&stopped, &tree.base, Target::Commit(commit), 10);
    assert!(matches!(given_up, Err(GitError::Stopped { .. })));
}
