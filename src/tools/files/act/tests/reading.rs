//! Files that are read: text, pictures, and what is neither.

use super::*;

#[test]
fn lines_are_numbered_and_counted_from_one() {
    let tree = Tree::new(&[("a", "one\ntwo\r\nthrée"), ("empty", ""), ("dir/x", "")]);
    assert_eq!(tree.call("read_file", json!({"path": "a"})), "     1\tone\n     2\ttwo\r\n     3\tthrée");
    assert_eq!(tree.call("read_file", json!({"path": "a", "offset": 3})), "     3\tthrée");
    assert_eq!(
        tree.call("read_file", json!({"path": "a", "offset": 2, "limit": 1})),
        "     2\ttwo\r\n…[truncated]",
        "a model is told that the file goes on"
    );
    assert_eq!(tree.call("read_file", json!({"path": "empty"})), "[empty file]");
    assert_eq!(
        tree.refusal("read_file", json!({"path": "a", "offset": 4})),
        "`a` has 3 lines: offset 4 is past its end"
    );
    assert_eq!(
        tree.refusal("read_file", json!({"path": "empty", "offset": 2})),
        "`empty` has 0 lines: offset 2 is past its end"
    );
    assert_eq!(tree.refusal("read_file", json!({"path": "dir"})), "`dir` is a directory; list_dir shows what is in it");
    assert_eq!(tree.refusal("read_file", json!({"path": "b"})), "`b` does not exist");
}

#[test]
fn a_read_ends_at_its_limits() {
    let tree = Tree::new(&[]);
    tree.put("lines", "x\n".repeat(2001));
    let text = tree.call("read_file", json!({"path": "lines"}));
    assert!(text.ends_with("  2000\tx\n…[truncated]"));
    assert!(tree.call("read_file", json!({"path": "lines", "limit": 2001})).ends_with("  2001\tx\n"));

    // One line of two-byte letters, whose cap falls into a letter.
    tree.put("long", format!("a{}", "é".repeat(400_000)));
    let text = tree.call("read_file", json!({"path": "long"}));
    let line = text.strip_prefix("     1\t").unwrap().strip_suffix("\n…[truncated]").unwrap();
    assert_eq!(line.len(), 512 * 1024 - 1);

    // A file that is mostly not there is passed over without being held.
    let file = fs::File::create(tree.path("huge")).unwrap();
    file.set_len(1 << 32).unwrap();
    assert_eq!(tree.call("read_file", json!({"path": "huge"})), "[skipped: not UTF-8 text (4294967296 bytes)]");
}

#[test]
fn pictures_are_shown_and_labelled() {
    let tree = Tree::new(&[("fake.png", "hello")]);
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 92]].concat();
    tree.put("img/photo.PNG", &png);
    let answer = tree.answer("read_file", json!({"path": "img/photo.PNG"})).unwrap();
    assert_eq!(answer.text, "[image: photo.PNG, image/png, 100 bytes]");
    assert_eq!(answer.images, [crate::tools::Image { mime: "image/png".into(), bytes: png }]);

    for (name, start, mime) in [
        ("a.jpg", b"\xff\xd8\xff\xe0".as_slice(), "image/jpeg"),
        ("b.jpeg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("c.gif", b"GIF89a", "image/gif"),
        ("d.webp", b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        // Models refuse a picture under the wrong kind.
        ("e.png", b"GIF87a", "image/gif"),
    ] {
        tree.put(name, start);
        let answer = tree.answer("read_file", json!({"path": name})).unwrap();
        assert_eq!(answer.text, format!("[image: {name}, {mime}, {} bytes]", start.len()));
        assert_eq!(answer.images[0].mime, mime);
    }
    let answer = tree.answer("read_file", json!({"path": "fake.png"})).unwrap();
    assert_eq!((answer.text.as_str(), answer.images.len()), ("[image: fake.png, image/png, 5 bytes]", 0));

    fs::File::create(tree.path("big.gif")).unwrap().set_len(20 * 1024 * 1024 + 1).unwrap();
    assert_eq!(
        tree.refusal("read_file", json!({"path": "big.gif"})),
        "`big.gif` has 20971521 bytes: pictures are shown up to 20971520"
    );
}

#[test]
fn what_is_no_text_is_skipped() {
    let tree = Tree::new(&[]);
    tree.put("latin", b"caf\xe9\n");
    tree.put("nul", b"a\0b");
    tree.put("half", b"ok \xc3");
    for (name, size) in [("latin", 5), ("nul", 3), ("half", 4)] {
        let expected = format!("[skipped: not UTF-8 text ({size} bytes)]");
        assert_eq!(tree.call("read_file", json!({"path": name})), expected);
    }
}

#[test]
fn only_files_of_the_tree_are_read() {
    let tree = Tree::new(&[(".env", "KEY=1"), ("src/a", "x")]);
    symlink("../secret", tree.path("out")).unwrap();
    symlink(".env", tree.path("plain")).unwrap();
    mknodat(CWD, tree.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for (path, expected) in [
        ("out", "`out` leads out of the work tree by a link"),
        ("../secret", "`../secret` is outside of the work tree: name a path in it"),
        ("/etc/os-release", "`/etc/os-release` is outside of the work tree: name a path in it"),
        ("/etc/passwd", "`/etc/passwd` is outside of the work tree: name a path in it"),
        ("pipe", "`pipe` is a pipe, not a regular file"),
        ("/dev/zero", "`/dev/zero` is outside of the work tree: name a path in it"),
        ("plain", "`TREE/.env` is on the list of secret files, which no tool reads and no command may name"),
    ] {
        assert_eq!(tree.refusal("read_file", json!({"path": path})), expected);
    }
    let absolute = tree.path("src/a");
    assert_eq!(tree.call("read_file", json!({"path": absolute.to_str().unwrap()})), "     1\tx");
}

#[test]
fn many_files_come_in_sections() {
    let tree = Tree::new(&[("b", "bee"), ("a", "one\n"), (".env", "KEY=1"), ("empty", "")]);
    tree.put("raw", b"\xff\xfe");
    symlink("../secret", tree.path("out")).unwrap();
    let text = tree.call("read_many_files", json!({"paths": ["raw", "b", "a", "gone", ".env", "out", "empty"]}));
    let expected = "==> .env <==\n[error: `TREE/.env` is on the list of secret files, which no tool reads and no command \
        may name]\n\n==> a <==\none\n\n==> b <==\nbee\n\n==> empty <==\n\n==> gone <==\n[error: `gone` does not \
        exist]\n\n==> out <==\n[error: `out` leads out of the work tree by a link]\n\n==> raw <==\n[skipped: not UTF-8 \
        text (2 bytes)]\n";
    assert_eq!(text.replace(&*tree.root.path().to_string_lossy(), "TREE"), expected);
}

#[test]
fn many_files_are_cut_by_bytes() {
    let tree = Tree::new(&[("a", "häuser"), ("b", "12")]);
    let read = |offset: u64, limit: usize| {
        tree.call("read_many_files", json!({"paths": ["a", "b"], "offset": offset, "limit": limit}))
    };
    assert_eq!(read(0, 2), "==> a <==\nh\n[truncated]\n\n==> b <==\n12\n");
    assert_eq!(read(2, 2), "==> a <==\nu\n[truncated]\n\n==> b <==\n", "an offset in a letter goes to the next one");
    assert_eq!(read(99, 10), "==> a <==\n\n==> b <==\n", "an offset past the end is the end");

    for name in ["x", "y", "z"] {
        tree.put(name, name.repeat(300 * 1024));
    }
    let text = tree.call("read_many_files", json!({"paths": ["x", "y", "z"]}));
    let sections: Vec<_> = text.split("==> ").collect();
    assert_eq!(sections[1].matches('x').count(), 300 * 1024 + 1);
    assert_eq!(sections[2].matches('y').count(), 212 * 1024 + 1);
    assert!(sections[2].ends_with("y\n[truncated]\n\n"));
    assert_eq!(sections[3], "z <==\n[truncated]\n");
}
