//! Directories, names and lines that are found.

use super::*;
use crate::permission::Kept;

#[test]
fn a_directory_shows_a_hundred_entries() {
    let tree = Tree::new(&[("b.txt", ""), ("a/x", "")]);
    symlink("nowhere", tree.path("l")).unwrap();
    assert_eq!(tree.call("list_dir", json!({})), "d\t.git\nd\ta\nf\tb.txt\nl\tl");
    (0..101).for_each(|at| tree.put(&format!("many/{at:03}"), ""));
    let text = tree.call("list_dir", json!({"path": "many"}));
    assert_eq!(text.lines().count(), 101);
    assert!(text.starts_with("f\t000\n") && text.ends_with("f\t099\nthe first 100 of 101 entries …[truncated]"));
    fs::remove_file(tree.path("many/100")).unwrap();
    assert!(tree.call("list_dir", json!({"path": "many"})).ends_with("\nf\t099"));
    fs::create_dir(tree.path("none")).unwrap();
    assert_eq!(tree.call("list_dir", json!({"path": "none"})), "Listed 0 entries");
    assert_eq!(
        tree.refusal("list_dir", json!({"path": "b.txt"})),
        "`b.txt` is not a directory, or a part of it is not"
    );
    symlink("..", tree.path("up")).unwrap();
    assert_eq!(tree.refusal("list_dir", json!({"path": "up"})), "`up` leads out of the work tree by a link");
}

#[test]
fn names_are_found_by_patterns() {
    let tree = Tree::new(&[
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/deep/c.rs", ""),
        ("src/deep/d.txt", ""),
        (".github/ci.yml", ""),
        (".git/config", ""),
        ("target/e.rs", ""),
        (".gitignore", "target\n"),
        ("with space/ü.md", ""),
    ]);
    symlink("../secret", tree.path("src/link.rs")).unwrap();
    symlink("..", tree.path("up")).unwrap();
    for (pattern, cwd, expected) in [
        ("*.rs", ".", "a.rs"),
        ("**/*.rs", ".", "a.rs\nsrc/b.rs\nsrc/deep/c.rs\nsrc/link.rs"),
        ("src/**/*.rs", ".", "src/b.rs\nsrc/deep/c.rs\nsrc/link.rs"),
        ("./src/deep/*", ".", "src/deep/c.rs\nsrc/deep/d.txt"),
        ("*.{rs,txt}", "src/deep", "src/deep/c.rs\nsrc/deep/d.txt"),
        ("deep/?.rs", "src", "src/deep/c.rs"),
        (".github/*.yml", ".", ".github/ci.yml"),
        ("**/ü.*", ".", "with space/ü.md"),
        ("target/*", ".", "target/e.rs"),
        ("up/*", ".", "No files found"),
        ("missing/**", ".", "No files found"),
        ("a.rs", ".", "a.rs"),
    ] {
        assert_eq!(tree.call("glob", json!({"pattern": pattern, "cwd": cwd})), expected, "{pattern}");
    }
    assert!(tree.refusal("glob", json!({"pattern": "a[", "cwd": "."})).starts_with("`a[` is no pattern: "));
    assert_eq!(tree.refusal("glob", json!({"pattern": "*", "cwd": "up"})), "`up` leads out of the work tree by a link");
    assert_eq!(tree.refusal("glob", json!({"pattern": "*", "cwd": "a.rs"})), "`a.rs` is not a directory");
    (0..201).for_each(|at| tree.put(&format!("many/{at:03}"), ""));
    let text = tree.call("glob", json!({"pattern": "many/*"}));
    assert!(text.ends_with("many/199\nthe first 200 of 201 paths …[truncated]"));
}

#[test]
fn lines_are_found_in_the_order_of_paths() {
    let tree = Tree::new(&[
        ("b.rs", "needle\nother\nhay needle\n"),
        ("a/z.rs", "ä needle\r\n"),
        ("a.rs", "Needle"),
        (".hidden", "needle"),
        (".env", "needle"),
        ("skip/x", "needle"),
        (".gitignore", "skip\n"),
    ]);
    tree.put("binary", b"needle\n\0needle");
    tree.put("latin", b"caf\xe9 needle\n");
    symlink("../secret", tree.path("out")).unwrap();
    symlink("..", tree.path("up")).unwrap();
    mknodat(CWD, tree.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let found = "a/z.rs:1:ä needle\nb.rs:1:needle\nb.rs:3:hay needle\nlatin:1:caf\u{fffd} needle";
    assert_eq!(tree.call("grep", json!({"pattern": "needle"})), found);
    assert_eq!(tree.call("grep", json!({"pattern": "NEEDLE", "path": "a.rs", "ignore_case": true})), "a.rs:1:Needle");
    assert_eq!(tree.call("grep", json!({"pattern": "^n.*e$", "regex": true})), "b.rs:1:needle");
    assert_eq!(tree.call("grep", json!({"pattern": "needle", "path": "skip"})), "skip/x:1:needle", "it was named");
    assert_eq!(tree.call("grep", json!({"pattern": "needle", "path": "skip/x"})), "skip/x:1:needle");
    assert_eq!(
        tree.call("grep", json!({"pattern": "needle", "max_results": 2})),
        "a/z.rs:1:ä needle\nb.rs:1:needle\nthe first 2 matches …[truncated]"
    );
    for (path, expected) in [
        ("out", "`out` leads out of the work tree by a link"),
        ("up/secret", "`up/secret` leads out of the work tree by a link"),
        ("gone", "`gone` does not exist"),
        (".env", "`TREE/.env` is on the list of secret files, which no tool reads and no command may name"),
    ] {
        assert_eq!(tree.refusal("grep", json!({"pattern": "needle", "path": path})), expected);
    }
}

#[test]
fn a_search_leaves_out_what_may_not_be_read() {
    let tree =
        Tree::new(&[("a.txt", "needle\n"), ("api/credentials.txt", "needle\n"), ("my-secret/b.txt", "needle\n")]);
    let map = crate::permission::load::map("m", crate::permission::load::SEED, "/").unwrap();
    let grep = |kept: Kept| {
        let request = super::super::super::parse("grep", &json!({"pattern": "needle"})).unwrap().unwrap();
        perform(&tree.root, &request.keeping(kept, tree.root.real()).unwrap()).unwrap().text
    };
    assert_eq!(grep(Kept::of([&map], &[])), "a.txt:1:needle\n2 files that may not be read were not searched");
    assert_eq!(grep(Kept::default()).lines().count(), 3);
}

#[test]
fn what_a_shell_would_do_is_only_text() {
    let tree = Tree::new(&[("a", "x; rm -rf $(pwd) `id` && a|b > c * ? [d] \\ 'e' \"f\"\n"), ("b", "-rf\n")]);
    for pattern in ["; rm -rf", "$(pwd)", "`id`", "&& a|b", "> c *", "[d]", "\\", "'e' \"f\"", "?"] {
        let text = tree.call("grep", json!({"pattern": pattern}));
        assert!(text.starts_with("a:1:x; rm"), "{pattern}: {text}");
    }
    assert_eq!(tree.call("grep", json!({"pattern": "-rf", "path": "b"})), "b:1:-rf");
    assert_eq!(tree.call("grep", json!({"pattern": "nothing like it"})), "No matches found");
    assert_eq!(
        tree.refusal("grep", json!({"pattern": "(", "regex": true})),
        "`(` is no regular expression for one line: unclosed group"
    );
    assert!(tree.refusal("grep", json!({"pattern": "a\nb"})).starts_with("`a\nb` cannot be in one line: "));
}

#[test]
fn a_search_ends_at_its_caps_and_says_the_same_each_time() {
    let tree = Tree::new(&[]);
    (0..300).for_each(|at| tree.put(&format!("d{}/f{at:03}", at % 7), "needle\nneedle\n"));
    let text = tree.call("grep", json!({"pattern": "needle"}));
    assert_eq!(text.lines().count(), 51);
    assert!(text.starts_with("d0/f000:1:needle\nd0/f000:2:needle\nd0/f007:1:"));
    assert!(text.ends_with("the first 50 matches …[truncated]"));
    for _ in 0..5 {
        assert_eq!(tree.call("grep", json!({"pattern": "needle"})), text);
    }
    assert_eq!(tree.call("grep", json!({"pattern": "needle", "max_results": 600})).lines().count(), 600);
    tree.put("wide", format!("{}needle\n", "x".repeat(10_000)).repeat(100));
    let text = tree.call("grep", json!({"pattern": "xneedle", "max_results": 100}));
    assert!(text.len() <= 256 * 1024 + 64 && text.ends_with("the first 26 matches …[truncated]"), "{}", text.len());
}
