//! A tree with everything in it that could lead out, hang or tear.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::*;

struct Tree {
    outer: TempDir,
    root: Root,
}

impl Tree {
    /// A tree beside a secret that nobody in it should see.
    fn new() -> Self {
        let outer = TempDir::new().unwrap();
        fs::write(outer.path().join("secret"), "outside").unwrap();
        let tree = outer.path().join("tree");
        fs::create_dir_all(tree.join("src/deep")).unwrap();
        fs::write(tree.join("src/a.rs"), "inside").unwrap();
        let root = Root::open(&tree, None).unwrap();
        Self { outer, root }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.root.path().join(inside)
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let (mut file, _) = self.root.read(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    fn write(&self, path: &str, text: &str) -> Result<u64, String> {
        Ok(self.root.write(path, &mut text.as_bytes(), Permissions::Kept)?)
    }

    /// A message without the place that differs from run to run.
    fn said<T: std::fmt::Debug>(&self, result: Result<T, impl Into<String>>) -> String {
        let text: String = result.unwrap_err().into();
        let real = self.outer.path().canonicalize().unwrap();
        text.replace(&*real.to_string_lossy(), "OUTER").replace(&*self.outer.path().to_string_lossy(), "OUTER")
    }

    /// No temporary file stays behind.
    fn names(&self, inside: &str) -> Vec<String> {
        self.root.list(inside).unwrap().into_iter().map(|(name, _)| name).collect()
    }
}

#[test]
fn a_file_is_read_by_any_name_that_stays_in_the_tree() {
    let tree = Tree::new();
    symlink("a.rs", tree.path("src/same")).unwrap();
    symlink("../../src/./a.rs", tree.path("src/deep/up")).unwrap();
    symlink(tree.path("src"), tree.path("absolute")).unwrap();
    let absolute = tree.path("src/a.rs").to_string_lossy().into_owned();
    let names = ["src/a.rs", "./src//a.rs", "src/deep/../a.rs", "src/same", "src/deep/up", "absolute/a.rs", &absolute];
    for name in names {
        assert_eq!(tree.read(name).as_deref(), Ok("inside"), "{name}");
    }
}

#[test]
fn no_name_leads_out_of_the_tree() {
    let tree = Tree::new();
    symlink("../secret", tree.path("file")).unwrap();
    symlink("..", tree.path("up")).unwrap();
    symlink("/etc", tree.path("etc")).unwrap();
    symlink("../tree2", tree.path("dangling")).unwrap();
    symlink("loop", tree.path("loop")).unwrap();
    symlink("/proc/self/root", tree.path("magic")).unwrap();
    for (name, expected) in [
        ("../secret", "`../secret` is outside of the work tree: name a path in it"),
        ("src/../../secret", "`src/../../secret` is outside of the work tree: name a path in it"),
        ("/etc/passwd", "`/etc/passwd` is outside of the work tree: name a path in it"),
        ("file", "`file` leads out of the work tree by a link"),
        ("up/secret", "`up/secret` leads out of the work tree by a link"),
        ("up/tree/src/a.rs", "`up/tree/src/a.rs` leads out of the work tree by a link"),
        ("etc/passwd", "`etc/passwd` leads out of the work tree by a link"),
        ("magic/etc/passwd", "`magic/etc/passwd` leads out of the work tree by a link"),
        ("dangling/x", "`dangling/x` leads out of the work tree by a link"),
        ("loop", "`loop` goes through too many links"),
        ("src/nothing", "`src/nothing` does not exist"),
        ("src/a.rs/b", "`src/a.rs/b` is not a directory, or a part of it is not"),
        ("src", "`src` is a directory"),
        ("a\0b", "`a\\0b` holds a NUL"),
    ] {
        assert_eq!(tree.said(tree.read(name)), expected);
        if !matches!(name, "src/nothing") {
            assert_eq!(tree.said(tree.write(name, "x")), expected);
        }
    }
    assert_eq!(fs::read_to_string(tree.outer.path().join("secret")).unwrap(), "outside");
    for name in ["up", "etc", "dangling/x"] {
        assert!(tree.root.place(name).is_err() && tree.root.list(name).is_err(), "{name}");
        assert!(tree.root.make_directory(&format!("{name}/y")).is_err(), "{name}");
        assert!(tree.root.rename("src/a.rs", &format!("{name}/y")).is_err(), "{name}");
    }
    assert!(tree.root.directory(Path::new("up")).is_err());
    assert_eq!(tree.names("."), ["dangling", "etc", "file", "loop", "magic", "src", "up"]);
}

#[test]
fn only_regular_files_are_opened() {
    let tree = Tree::new();
    mknodat(CWD, tree.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _listener = UnixListener::bind(tree.path("socket")).unwrap();
    for (name, kind) in [("pipe", "a pipe"), ("socket", "a socket")] {
        let expected = format!("`{name}` is {kind}, not a regular file");
        assert_eq!(tree.said(tree.read(name)), expected);
        assert_eq!(tree.said(tree.write(name, "x")), expected);
    }
}

#[test]
fn secrets_and_the_files_of_git_are_kept() {
    let tree = Tree::new();
    fs::create_dir(tree.path(".git")).unwrap();
    fs::write(tree.path(".git/config"), "[core]").unwrap();
    fs::write(tree.path(".env"), "KEY=1").unwrap();
    symlink(".env", tree.path("plain")).unwrap();
    symlink(".git", tree.path("history")).unwrap();
    let kept = "`OUTER/tree/.env` is on the list of secret files, which no tool reads and no command may name";
    assert_eq!(tree.said(tree.read(".env")), kept);
    assert_eq!(tree.said(tree.read("plain")), kept);
    assert_eq!(tree.said(tree.write("plain", "x")), "`OUTER/tree/.env` may hold secrets");
    for (name, place) in
        [(".git/hooks/a", ".git/hooks/a"), ("history/config", ".git/config"), ("src/.GIT/x", "src/.GIT/x")]
    {
        let expected = format!("`OUTER/tree/{place}` is git's own, and who writes it can run commands");
        assert_eq!(tree.said(tree.write(name, "x")), expected);
    }
    assert!(tree.root.remove(".git/config").is_err() && tree.root.rename("src", ".git/x").is_err());
    assert_eq!(tree.read(".git/config").as_deref(), Ok("[core]"));
    assert_eq!(tree.names("src"), ["a.rs", "deep"], "no directory is made for a write that is refused");
}

#[test]
fn a_write_replaces_the_whole_file_and_keeps_its_permissions() {
    let tree = Tree::new();
    fs::set_permissions(tree.path("src/a.rs"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(tree.write("src/deep/../a.rs", "other"), Ok(5));
    assert_eq!(tree.read("src/a.rs").as_deref(), Ok("other"));
    let mode = |name: &str| fs::metadata(tree.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("src/a.rs"), 0o750);
    assert_eq!(tree.write("made/for/it.txt", ""), Ok(0));
    let usual = mode("made/for/it.txt");
    tree.root.write("run", &mut "x".as_bytes(), Permissions::Program).unwrap();
    assert_eq!(mode("run"), usual | 0o111 & (usual >> 2));
    tree.root.write("run", &mut "y".as_bytes(), Permissions::Plain).unwrap();
    assert_eq!(mode("run"), usual);
    fs::set_permissions(tree.path("run"), fs::Permissions::from_mode(0o444)).unwrap();
    let expected = "`run` may not be written: its permissions say that it is only read";
    assert_eq!(tree.said(tree.write("run", "z")), expected);
    assert_eq!(tree.names("."), ["made", "run", "src"]);
}

#[test]
fn nothing_is_written_through_a_link() {
    let tree = Tree::new();
    symlink("a.rs", tree.path("src/same")).unwrap();
    symlink("src", tree.path("there")).unwrap();
    symlink("src/new.rs", tree.path("dangling")).unwrap();
    for (name, place) in [
        ("src/same", "src/a.rs"),
        ("there/a.rs", "src/a.rs"),
        ("there/new/file.rs", "src/new/file.rs"),
        ("dangling", "src/new.rs"),
    ] {
        let expected = format!("`{name}` goes through a link: name the file itself, `{place}`");
        assert_eq!(tree.said(tree.write(name, "x")), expected);
        assert_eq!(tree.said(tree.root.make_directory(name)), expected);
    }
    let expected = "`there/a.rs` goes through a link: name the file itself, `src/a.rs`";
    assert_eq!(tree.said(tree.root.rename("there/a.rs", "moved")), expected);
    assert_eq!(tree.said(tree.root.rename("src/deep", "there/a.rs")), expected);
    assert_eq!(tree.said(tree.root.remove("there/a.rs")), expected);
    assert_eq!(tree.read("there/a.rs").as_deref(), Ok("inside"));
    assert_eq!(tree.names("src"), ["a.rs", "deep", "same"]);
    // A link itself is moved and removed by its own name.
    tree.root.rename("dangling", "other").unwrap();
    assert_eq!(tree.root.remove("other").unwrap(), Kind::Link);
}

#[test]
fn a_write_that_fails_halfway_leaves_the_old_file() {
    struct Torn;
    impl Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("torn"))
        }
    }
    let tree = Tree::new();
    let result = tree.root.write("src/a.rs", &mut Torn, Permissions::Kept);
    assert_eq!(tree.said(result), "failed to write `src/a.rs`: torn");
    assert_eq!(tree.read("src/a.rs").as_deref(), Ok("inside"));
    assert_eq!(tree.names("src"), ["a.rs", "deep"]);
}

#[test]
fn things_are_made_moved_and_removed() {
    let tree = Tree::new();
    assert_eq!(tree.root.make_directory("x/y/z").unwrap(), ["x", "x/y", "x/y/z"]);
    assert_eq!(tree.root.make_directory("x/y").unwrap(), [""; 0]);
    assert!(tree.root.make_directory("src/a.rs").is_err());
    tree.root.rename("src", "x/y/src").unwrap();
    assert_eq!(tree.read("x/y/src/a.rs").as_deref(), Ok("inside"));
    symlink("../secret", tree.path("link")).unwrap();
    tree.root.rename("link", "moved/link").unwrap();
    assert_eq!(tree.root.remove("moved/link").unwrap(), Kind::Link);
    assert_eq!(tree.said(tree.root.remove("x")), "`x` is a directory that is not empty");
    assert_eq!(tree.root.remove("x/y/z").unwrap(), Kind::Directory);
    assert_eq!(tree.said(tree.root.remove(".")), "`.` is the work tree itself");
    assert_eq!(tree.said(tree.root.remove("gone")), "`gone` does not exist");
    assert_eq!(tree.root.find("gone/too").unwrap(), None);
    assert_eq!(fs::read_to_string(tree.outer.path().join("secret")).unwrap(), "outside");
}

#[test]
fn the_plan_is_the_only_file_outside() {
    let tree = Tree::new();
    let plan = tree.outer.path().join("plan.md");
    let root = Root::open(tree.root.path(), Some(&plan)).unwrap();
    let name = plan.to_str().unwrap();
    assert_eq!(root.write(name, &mut "a plan".as_bytes(), Permissions::Kept).unwrap(), 6);
    assert_eq!(root.read(name).unwrap().1.size, 6);
    assert!(root.read(tree.outer.path().join("secret").to_str().unwrap()).is_err());
    fs::remove_file(&plan).unwrap();
    symlink("secret", &plan).unwrap();
    assert!(root.read(name).is_err() && root.write(name, &mut "x".as_bytes(), Permissions::Kept).is_err());
}

#[test]
fn a_part_that_is_swapped_for_a_link_leads_nowhere() {
    let tree = Tree::new();
    fs::create_dir(tree.path("d")).unwrap();
    fs::write(tree.path("d/secret"), "inside").unwrap();
    let (part, aside, outer) = (tree.path("d"), tree.path("aside"), tree.outer.path());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                fs::rename(&part, &aside).unwrap();
                symlink(outer, &part).unwrap();
                fs::remove_file(&part).unwrap();
                fs::rename(&aside, &part).unwrap();
            }
        });
        for _ in 0..2000 {
            assert_ne!(tree.read("d/secret").as_deref(), Ok("outside"));
        }
        is_done.store(true, Ordering::Relaxed);
    });
}
