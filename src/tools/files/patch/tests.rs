//! Diffs as git and models write them, and the promise that a difference applied is the other text.

use git2::DiffOptions;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(diff: &str, old: &str, expected: Result<&str, &str>) {
    let changes = parse(diff).unwrap();
    let result = apply(old.as_bytes(), &changes[0].hunks);
    let result = result.map(|text| String::from_utf8(text).unwrap());
    assert_eq!(result.as_deref().map_err(String::as_str), expected, "{diff}");
}

fn edit(hunks: &str) -> String {
    format!("--- a/f\n+++ b/f\n{hunks}")
}

#[test]
fn headers_say_what_becomes_of_files() {
    let made = |path: &str| Act::Make(path.into());
    let edited = |path: &str| Act::Edit(path.into());
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    for (diff, act, mode) in [
        (format!("--- a/src/f\n+++ b/src/f\n{hunk}"), edited("src/f"), None),
        (format!("--- src/f\n+++ src/f\n{hunk}"), edited("src/f"), None),
        (format!("--- ./f\t2020-01-01\n+++ f\t2020-01-02\n{hunk}"), edited("f"), None),
        (
            format!("some words\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n{hunk}-- \n2.4\n"),
            edited("f"),
            None,
        ),
        ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n".into(), made("n"), None),
        (
            "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n".into(),
            made("n"),
            Some(Mode::Program),
        ),
        ("diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e\n".into(), made("empty"), Some(Mode::Plain)),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n".into(), Act::Remove("f".into()), None),
        ("diff --git a/f b/f\ndeleted file mode 100644\n".into(), Act::Remove("f".into()), None),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n".into(), edited("f"), Some(Mode::Program)),
        (
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n".into(),
            Act::Rename { from: "x".into(), to: "y".into() },
            None,
        ),
        (
            format!("diff --git a/x b/y\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n{hunk}"),
            Act::Copy { from: "x".into(), to: "y".into() },
            None,
        ),
        (
            format!(
                "diff --git \"a/\\303\\244 \\\"b\" \"b/\\303\\244 \\\"b\"\n--- \"a/\\303\\244 \\\"b\"\n+++ \"b/\\303\\244 \\\"b\"\n{hunk}"
            ),
            edited("ä \"b"),
            None,
        ),
        ("diff --git a/with space b/with space\nnew mode 100755\n".into(), edited("with space"), Some(Mode::Program)),
    ] {
        let changes = parse(&diff).unwrap();
        assert_eq!(changes.len(), 1, "{diff}");
        assert_eq!((&changes[0].act, changes[0].mode), (&act, mode), "{diff}");
    }
}

#[test]
fn what_cannot_be_applied_is_told_with_its_line() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    for (diff, expected) in [
        ("".to_owned(), "the diff names no file: begin each with `--- a/PATH` and `+++ b/PATH`"),
        (hunk.to_owned(), "line 1 of the diff is a hunk before any `---` and `+++`"),
        (format!("--- a/../f\n+++ b/../f\n{hunk}"), "line 1 of the diff: `../f` is no path of a file in the work tree"),
        (
            format!("--- /etc/f\n+++ /etc/f\n{hunk}"),
            "line 1 of the diff: `/etc/f` is absolute: name it from the work tree on",
        ),
        (
            format!("--- a/f\n+++ b/g\n{hunk}"),
            "line 1 of the diff: `f` and `g` differ: a diff that renames says `rename from` and `rename to`",
        ),
        ("--- a/f\n+++ b/f\n".to_owned(), "line 1 of the diff: no hunk follows, so nothing would change"),
        (
            edit("@@ -1,2 +1 @@\n-a\n+b\n"),
            "the hunk `@@ -1,2 +1 @@` in line 3 of the diff has fewer lines than it says",
        ),
        (
            edit("@@ -1,1 +1,1 @@\n-a\n+b\n+c\n"),
            "line 6 of the diff comes after the end of its hunk: the counts in `@@ -START,COUNT +START,COUNT @@` are too small",
        ),
        (
            edit("@@ -1,1 +1,2 @@\n-a\n-b\n"),
            "the hunk `@@ -1,1 +1,2 @@` in line 3 of the diff has more lines than it says",
        ),
        (
            edit("@@ -x +1 @@\n-a\n"),
            "line 3 of the diff, `@@ -x +1 @@`, is no header of a hunk: `@@ -START,COUNT +START,COUNT @@`",
        ),
        (
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n".to_owned(),
            "the diff makes or removes a link: only files can be patched",
        ),
        (
            "diff --git a/p b/p\nindex 1..2\nGIT binary patch\nliteral 3\n".to_owned(),
            "line 1 of the diff begins a binary file: only text can be patched",
        ),
        (
            format!("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/.git/config\n{hunk}"),
            "line 1 of the diff: `---` and `+++` are not `x` and `y`, which the lines before them name",
        ),
    ] {
        assert_eq!(parse(&diff), Err(expected.to_owned()), "{diff}");
    }
}

#[test]
fn hunks_are_found_near_their_line() {
    let diff = edit("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    check(&diff, "a\nb\nc\n", Ok("a\nB\nc\n"));
    check(&diff, "x\nx\na\nb\nc\n", Ok("x\nx\na\nB\nc\n"));
    // Of two places the nearer one.
    check(&edit("@@ -4,1 +4,1 @@\n-a\n+b\n"), "a\nx\na\nx\nx\n", Ok("a\nx\nb\nx\nx\n"));
    // A hunk goes with the one before it.
    let two = edit("@@ -1,1 +1,1 @@\n-a\n+b\n@@ -3,1 +3,1 @@\n-a\n+c\n");
    check(&two, "x\nx\na\nx\na\nx\na\n", Ok("x\nx\nb\nx\nc\nx\na\n"));
    check(&edit("@@ -1,0 +2,1 @@\n+b\n"), "a\nc\n", Ok("a\nb\nc\n"));
    // A number far past the end takes no longer.
    check(
        &edit("@@ -4294967295,1 +1,1 @@\n-a\n+b\n@@ -4294967295,1 +1,1 @@\n-a\n+c\n"),
        "a\na\n",
        Err(
            "hunk 2 (`@@ -4294967295,1 +1,1 @@`) does not fit: its lines belong to the hunk before it; read the file again",
        ),
    );
    check(&edit("@@ -4294967295,1 +1,1 @@\n-b\n+c\n"), "a\nb\na\n", Ok("a\nc\na\n"));
    check(
        &diff,
        "a\nbee\nc\n",
        Err("hunk 1 (`@@ -1,3 +1,3 @@`) does not fit: line 2 is `bee`, the diff expects `b`; read the file again"),
    );
    check(
        &diff,
        "a\n",
        Err(
            "hunk 1 (`@@ -1,3 +1,3 @@`) does not fit: the file ends after line 1, the diff expects `b` behind it; read the file again",
        ),
    );
}

#[test]
fn ends_of_lines_and_of_files_are_kept() {
    check(&edit("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"), "a", Ok("b\n"));
    check(&edit("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"), "a\n", Ok("b"));
    check(&edit("@@ -1,2 +1,2 @@\n-a\n+b\n x\n\\ No newline at end of file\n"), "a\nx", Ok("b\nx"));
    check(&edit("@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n"), "a\n\nb\n", Ok("a\n\nB\n"));
    check(&edit("@@ -1,2 +1,3 @@\n a\n-b\n+B\n+C\n"), "a\r\nb\r\nc\r\n", Ok("a\r\nB\r\nC\r\nc\r\n"));
    check(&edit("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"), "a\r\nb\r\n", Ok("a\r\nB\r\n"));
    check(&edit("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"), "a\nb\n", Ok("a\nB\n"));
    // The diff itself ends without a line end.
    check(&edit("@@ -1 +1 @@\n-a\n+b"), "a\n", Ok("b\n"));
}

proptest! {
    /// The difference is made by another program's library, so that both sides of the format are tested.
    #[test]
    fn a_difference_applied_is_the_other_text(
        old in "(([abc]|x y|\u{e4}|)\r?\n){0,14}[ab]?",
        new in "(([abc]|x y|\u{e4}|)\r?\n){0,14}[ab]?",
        context in 0u32..5,
    ) {
        let mut options = DiffOptions::new();
        options.context_lines(context);
        let mut patch = git2::Patch::from_buffers(old.as_bytes(), None, new.as_bytes(), None, Some(&mut options)).unwrap();
        let text = patch.to_buf().unwrap();
        let body = text.as_str().unwrap();
        prop_assume!(body.contains("@@"));
        let diff = edit(&body[body.find("@@").unwrap()..]);
        let changes = parse(&diff).unwrap();
        let result = apply(old.as_bytes(), &changes[0].hunks).unwrap();
        prop_assert_eq!(String::from_utf8(result).unwrap(), new.as_str());
    }

    #[test]
    fn no_text_is_too_odd(text in any::<String>(), diff in "((---|\\+\\+\\+|@@|diff --git|[-+ \\\\]) ?[-+@ab,/0-9\"\\\\]{0,9}\n){0,12}") {
        for diff in [text.clone(), diff] {
            if let Ok(changes) = parse(&diff) {
                for change in changes {
                    prop_assert!(change.paths().all(|path| !path.starts_with('/') && !path.split('/').any(|part| part == "..")));
                    apply(text.as_bytes(), &change.hunks).ok();
                }
            }
        }
    }
}
