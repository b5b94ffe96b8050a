//! Files that are written, moved and patched.

use super::*;

#[test]
fn files_are_written_with_their_directories() {
    let tree = Tree::new(&[]);
    assert_eq!(tree.call("write_file", json!({"path": "a/b/c.txt", "content": "héllo"})), "wrote 6 bytes");
    assert_eq!(tree.text("a/b/c.txt"), "héllo");
    assert_eq!(tree.call("write_file", json!({"path": "a/b/c.txt", "content": ""})), "wrote 0 bytes");
    assert_eq!(tree.text("a/b/c.txt"), "");
    symlink("..", tree.path("up")).unwrap();
    for (path, expected) in [
        ("up/x", "`up/x` leads out of the work tree by a link"),
        ("../x", "`../x` is outside of the work tree: name a path in it"),
        (".git/hooks/pre-commit", "`TREE/.git/hooks/pre-commit` is git's own, and who writes it can run commands"),
        (".env", "`TREE/.env` may hold secrets"),
        ("a", "`a` is a directory"),
    ] {
        assert_eq!(tree.refusal("write_file", json!({"path": path, "content": "x"})), expected);
    }
    assert_eq!(fs::read_dir(tree.outer.path()).unwrap().count(), 2);
}

#[test]
fn an_edit_fails_on_none_and_on_several() {
    let tree = Tree::new(&[("a.rs", "let a = 1;\nlet b = 1;\n")]);
    fs::set_permissions(tree.path("a.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    let edit = |old: &str, new: &str, all: bool| json!({"path": "a.rs", "old_string": old, "new_string": new, "replace_all": all});
    assert_eq!(
        tree.refusal("edit_file", edit("zero", "x", false)),
        "old_string is not in `a.rs`: read the file again and copy the text exactly"
    );
    assert_eq!(
        tree.refusal("edit_file", edit("= 1", "= 2", false)),
        "old_string is in `a.rs` 2 times: add lines around it until it is the only one, or set replace_all"
    );
    assert_eq!(tree.text("a.rs"), "let a = 1;\nlet b = 1;\n");
    assert_eq!(tree.call("edit_file", edit("a = 1", "a = 2", false)), "replaced 1 occurrence in `a.rs`");
    assert_eq!(tree.call("edit_file", edit("let ", "", true)), "replaced 2 occurrences in `a.rs`");
    assert_eq!(tree.text("a.rs"), "a = 2;\nb = 1;\n");
    assert_eq!(fs::metadata(tree.path("a.rs")).unwrap().permissions().mode() & 0o777, 0o755);
    let missing = json!({"path": "b.rs", "old_string": "a", "new_string": "b"});
    assert_eq!(tree.refusal("edit_file", missing), "`b.rs` does not exist");
    tree.put("raw", b"a\xff");
    let raw = json!({"path": "raw", "old_string": "a", "new_string": "b"});
    assert_eq!(tree.refusal("edit_file", raw), "`raw` is not UTF-8 text");
}

#[test]
fn files_are_copied_moved_and_deleted() {
    let tree = Tree::new(&[("a", "text"), ("d/x", "1"), ("over", "old")]);
    fs::set_permissions(tree.path("a"), fs::Permissions::from_mode(0o754)).unwrap();
    assert_eq!(tree.call("copy_file", json!({"src": "a", "dst": "n/b"})), "copied 4 bytes to `n/b`");
    assert_eq!(fs::metadata(tree.path("n/b")).unwrap().permissions().mode() & 0o777, 0o754);
    assert_eq!(tree.call("copy_file", json!({"src": "a", "dst": "over"})), "copied 4 bytes to `over`");
    assert_eq!(tree.refusal("copy_file", json!({"src": "d", "dst": "e"})), "`d` is a directory");
    assert_eq!(tree.call("move_file", json!({"src": "d", "dst": "m/d"})), "moved `d` to `m/d`");
    assert_eq!(tree.text("m/d/x"), "1");
    assert_eq!(tree.refusal("move_file", json!({"src": "gone", "dst": "e"})), "`gone` does not exist");
    assert_eq!(tree.refusal("delete_file", json!({"path": "m/d"})), "`m/d` is a directory that is not empty");
    assert_eq!(tree.call("delete_file", json!({"path": "m/d/x"})), "deleted `m/d/x`");
    assert_eq!(tree.call("delete_file", json!({"path": "m/d"})), "deleted `m/d`");
    assert_eq!(tree.call("mkdir", json!({"path": "p/q"})), "made `p/q`");
    assert_eq!(tree.call("mkdir", json!({"path": "p/q"})), "`p/q` is there already");
}

#[test]
fn no_tool_writes_through_a_link() {
    let tree = Tree::new(&[("a", "text"), ("d/x", "1")]);
    symlink("a", tree.path("link")).unwrap();
    symlink("d", tree.path("there")).unwrap();
    let before = tree.all();
    let through = |path: &str, place: &str| format!("`{path}` goes through a link: name the file itself, `{place}`");
    for (tool, arguments, expected) in [
        ("write_file", json!({"path": "link", "content": "x"}), through("link", "a")),
        ("write_file", json!({"path": "there/new", "content": "x"}), through("there/new", "d/new")),
        ("edit_file", json!({"path": "link", "old_string": "text", "new_string": "x"}), through("link", "a")),
        ("copy_file", json!({"src": "d/x", "dst": "link"}), through("link", "a")),
        ("move_file", json!({"src": "a", "dst": "there/a"}), through("there/a", "d/a")),
        ("move_file", json!({"src": "there/x", "dst": "b"}), through("there/x", "d/x")),
        ("delete_file", json!({"path": "there/x"}), through("there/x", "d/x")),
        ("mkdir", json!({"path": "there/n"}), through("there/n", "d/n")),
        (
            "apply_diff",
            json!({"diff": "--- a/there/x\n+++ b/there/x\n@@ -1 +1 @@\n-1\n+2\n"}),
            through("there/x", "d/x"),
        ),
    ] {
        assert_eq!(tree.refusal(tool, arguments), expected, "{tool}");
        assert_eq!(tree.all(), before, "{tool}");
    }
    assert_eq!(tree.call("copy_file", json!({"src": "link", "dst": "copy"})), "copied 4 bytes to `copy`");
}

#[test]
fn a_diff_changes_several_files_at_once() {
    let tree =
        Tree::new(&[("edit.txt", "one\ntwo\n"), ("gone.txt", "bye\n"), ("old.txt", "same\nline\n"), ("run", "x\n")]);
    let diff = "diff --git a/edit.txt b/edit.txt\n--- a/edit.txt\n+++ b/edit.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n\
        diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\
        diff --git a/old.txt b/sub/new.txt\nsimilarity index 50%\nrename from old.txt\nrename to sub/new.txt\n--- \
        a/old.txt\n+++ b/sub/new.txt\n@@ -1,2 +1,2 @@\n same\n-line\n+row\n\
        diff --git a/deep/er.txt b/deep/er.txt\nnew file mode 100644\n--- /dev/null\n+++ b/deep/er.txt\n@@ -0,0 +1 \
        @@\n+hi\n\\ No newline at end of file\n\
        diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
        diff --git a/edit.txt b/edit.txt\n--- a/edit.txt\n+++ b/edit.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n TWO\n";
    let text = tree.call("apply_diff", json!({"diff": diff}));
    let expected = "patched 6 files\nM edit.txt\nD gone.txt\nR old.txt → sub/new.txt\nA deep/er.txt\nM run\nM edit.txt";
    assert_eq!(text, expected);
    let files: Vec<_> = tree.all().into_iter().filter(|(name, _)| !name.ends_with('/')).collect();
    let expected = [("deep/er.txt", "hi"), ("edit.txt", "ONE\nTWO\n"), ("run", "x\n"), ("sub/new.txt", "same\nrow\n")];
    assert_eq!(files, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    assert_eq!(fs::metadata(tree.path("run")).unwrap().permissions().mode() & 0o111, 0o111);
}

#[test]
fn a_diff_that_does_not_fit_changes_nothing() {
    let tree = Tree::new(&[("a", "one\n"), ("b", "two\n"), ("d/x", "x\n"), (".env", "KEY\n")]);
    symlink("a", tree.path("link")).unwrap();
    let before = tree.all();
    let edit = |path: &str, old: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+changed\n");
    let good = edit("a", "one");
    for (second, expected) in [
        (
            edit("b", "three"),
            "`b`: hunk 1 (`@@ -1 +1 @@`) does not fit: line 1 is `two`, the diff expects `three`; read the file again; \
             nothing was changed",
        ),
        (edit("c", "x"), "`c` does not exist; nothing was changed"),
        (edit("link", "one"), "`link` goes through a link: name the file itself, `a`"),
        (edit(".git/config", "x"), "`TREE/.git/config` is git's own, and who writes it can run commands"),
        (edit(".env", "KEY"), "`TREE/.env` may hold secrets"),
        (edit("d", "x"), "`d` is a directory"),
        (
            "diff --git a/b b/b/c\nrename from b\nrename to b/c\n".into(),
            "`b/c` is not a directory, or a part of it is not",
        ),
        ("--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n".into(), "`b` exists already; nothing was changed"),
        (
            "diff --git a/b b/b\ndeleted file mode 100644\n".into(),
            "`b` has lines that the diff does not remove; nothing was changed",
        ),
    ] {
        let diff = format!("{good}{second}");
        assert_eq!(tree.refusal("apply_diff", json!({"diff": diff})), expected);
        assert_eq!(tree.all(), before);
    }
}

#[test]
fn a_diff_that_fails_halfway_is_undone() {
    let tree = Tree::new(&[("a", "one\n"), ("z", "last\n")]);
    fs::set_permissions(tree.path("z"), fs::Permissions::from_mode(0o444)).unwrap();
    let before = tree.all();
    // The last file may not be written, which is found out only when the others are.
    let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n--- /dev/null\n+++ b/n/m/new\n@@ -0,0 +1 @@\n+x\n--- a/z\n+++ \
        b/z\n@@ -1 +1 @@\n-last\n+first\n";
    assert_eq!(
        tree.refusal("apply_diff", json!({"diff": diff})),
        "`z` may not be written: its permissions say that it is only read; nothing was changed"
    );
    assert_eq!(tree.all(), before);
}
