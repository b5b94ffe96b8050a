//! Calls of commands, tests and pages: how they are read, and what running one brings.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Request, act, parse};
use crate::permission::Reach;
use crate::tools::inside::Halt;

fn read(tool: &str, arguments: Value) -> Result<Request, String> {
    parse(tool, &arguments).expect("a tool of this family")
}

#[track_caller]
fn refused(tool: &str, arguments: Value, expected: &str) {
    assert_eq!(read(tool, arguments).unwrap_err(), expected);
}

#[test]
fn calls_are_read() {
    assert_eq!(read("run_bash", json!({"command": "ls"})), Ok(Request::Bash { command: "ls".to_owned() }));
    assert_eq!(read("run_tests", json!({})), Ok(Request::Tests { command: None, path: ".".into() }));
    assert_eq!(
        read("run_tests", json!({"command": "make check", "path": "sub"})),
        Ok(Request::Tests { command: Some("make check".to_owned()), path: "sub".into() })
    );
    refused("run_bash", json!({}), "run_bash: command is required");
    refused("run_bash", json!({"command": " "}), "run_bash: command is required");
    refused("run_bash", json!({"command": "a\0b"}), "run_bash: command holds a NUL character");
    refused(
        "run_tests",
        json!({"path": "a/../.."}),
        "run_tests: path `a/../..` must stay in the work tree, without `..`",
    );
    assert!(read("run_bash", json!({"command": "ls", "cwd": "/"})).unwrap_err().contains("unknown field `cwd`"));
    assert_eq!(parse("read_file", &json!({})), None);
}

#[test]
fn only_pages_of_the_web_are_fetched() {
    refused("fetch_url", json!({}), "fetch_url: url is required");
    for url in ["ftp://a.example/x", "file:///etc/passwd", "a.example", "data:text/plain,x", "/etc/passwd"] {
        assert!(read("fetch_url", json!({"url": url})).is_err(), "{url}");
    }
    refused(
        "fetch_url",
        json!({"url": "ftp://a.example"}),
        "fetch_url: `ftp://a.example` is neither http:// nor https://",
    );
    refused(
        "fetch_url",
        json!({"url": "http://a.example@b.example/"}),
        "fetch_url: a URL with a user name or password is not fetched",
    );
}

#[test]
fn a_limit_beyond_the_hard_one_is_the_usual_one() {
    for (asked, expected) in [
        (Value::Null, 65_536),
        (json!(1), 1),
        (json!(1000.0), 1000),
        (json!(65_537), 65_537),
        (json!(262_144), 262_144),
        (json!(262_145), 65_536),
        (json!(1e300), 65_536),
    ] {
        let read = read("fetch_url", json!({"url": "https://a.example", "max_bytes": asked}));
        assert_eq!(read, Ok(Request::Fetch { url: "https://a.example".to_owned(), max_bytes: expected }), "{asked}");
    }
    let too_little = json!({"url": "https://a.example", "max_bytes": 0});
    refused("fetch_url", too_little, "fetch_url: max_bytes `0` must be at least 1");
}

#[test]
fn the_rules_are_asked_about_what_runs() {
    let tree = Path::new("/tree");
    let command = |text: &str, cwd: &str| Reach::Command { text: text.to_owned(), cwd: PathBuf::from(cwd) };
    let reach = |tool, arguments| read(tool, arguments).unwrap().reach(tree);
    assert_eq!(reach("run_bash", json!({"command": "rm -r x"})), command("rm -r x", "/tree"));
    assert_eq!(reach("run_tests", json!({"command": "make", "path": "."})), command("make", "/tree"));
    assert_eq!(reach("run_tests", json!({"command": "make", "path": "a/b"})), command("make", "/tree/a/b"));
    assert_eq!(reach("run_tests", json!({"command": "make", "path": "/etc"})), command("make", "/etc"));
    assert_eq!(reach("fetch_url", json!({"url": "https://a.example/x"})), Reach::Url("https://a.example/x".to_owned()));
}

#[test]
fn a_project_says_how_it_is_tested() {
    let tree = tempfile::tempdir().unwrap();
    let asked = || read("run_tests", json!({})).unwrap().settled(tree.path());
    assert!(asked().unwrap_err().starts_with("run_tests: `.` has none of `Cargo.toml`, `go.mod`"));
    fs::write(tree.path().join("package.json"), "{}").unwrap();
    assert_eq!(asked(), Ok(Request::Tests { command: Some("npm test".to_owned()), path: ".".into() }));
    let said = Request::Tests { command: Some("x".to_owned()), path: ".".into() };
    assert_eq!(said.clone().settled(tree.path()), Ok(said));
}

/// What a call brings in a tree of its own.
fn perform(tool: &str, arguments: Value) -> Result<String, String> {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir(tree.path().join("sub")).unwrap();
    let request = read(tool, arguments).unwrap();
    act::perform(tree.path(), &Halt::default(), &request).map(|answer| answer.text)
}

#[test]
fn a_command_is_told_by_its_streams_and_its_exit() {
    for (command, expected) in [
        ("echo out; echo err >&2", "exit=0\n--- stdout ---\nout\n--- stderr ---\nerr\n"),
        ("printf out; exit 3", "exit=3\n--- stdout ---\nout\n--- stderr ---\n"),
        ("cat", "exit=0\n--- stdout ---\n--- stderr ---\n"),
        ("kill -9 $$", "exit=137\n--- stdout ---\n--- stderr ---\n"),
        ("ls", "exit=0\n--- stdout ---\nsub\n--- stderr ---\n"),
    ] {
        assert_eq!(perform("run_bash", json!({"command": command})), Ok(expected.to_owned()), "{command}");
    }
}

#[test]
fn each_stream_is_cut_at_one_mebibyte() {
    let noise = |bytes: usize| format!("head -c {bytes} /dev/zero | tr '\\0' x");
    let whole = perform("run_bash", json!({"command": noise(1 << 20)})).unwrap();
    assert!(!whole.contains("truncated") && whole.len() > 1 << 20);
    let both = format!("{} ; ({}) >&2", noise((1 << 20) + 1), noise(3 << 20));
    let text = perform("run_bash", json!({"command": both})).unwrap();
    let (stdout, stderr) = text.split_once("--- stderr ---\n").unwrap();
    assert!(stdout.ends_with("x\n…[truncated: the first 1048576 of 1048577 bytes]\n"));
    assert!(stderr.ends_with("x\n…[truncated: the first 1048576 of 3145728 bytes]\n"));
    assert_eq!(text.matches("xx").count(), 1 << 20);
}

#[test]
fn what_is_left_in_the_background_holds_no_answer() {
    let tree = tempfile::tempdir().unwrap();
    let command = "mkfifo hold; echo on; cat hold & echo off".to_owned();
    let answer = act::perform(tree.path(), &Halt::default(), &Request::Bash { command }).unwrap();
    let held = "…[a process in the background holds the output; what it says is not read]\n";
    assert_eq!(answer.text, format!("exit=0\n--- stdout ---\non\noff\n{held}--- stderr ---\n{held}"));
    // It ends when nobody writes to its pipe any more.
    drop(fs::OpenOptions::new().write(true).open(tree.path().join("hold")).unwrap());
}

#[test]
fn tests_that_pass_say_so_and_those_that_fail_say_what() {
    assert_eq!(perform("run_tests", json!({"command": "echo much"})), Ok("exit=0".to_owned()));
    let failed = perform("run_tests", json!({"command": "pwd | sed 's:.*/::'; exit 1", "path": "sub"}));
    assert_eq!(failed, Ok("exit=1\n--- stdout ---\nsub\n--- stderr ---\n".to_owned()));
    let long = perform("run_tests", json!({"command": "seq 1 20000; exit 1"})).unwrap();
    assert!(long.starts_with("exit=1\n--- stdout ---\n…[truncated: the last 32768 of 108894 bytes]\n"), "{long}");
    assert!(long.contains("\n20000\n--- stderr ---\n") && !long.contains("\n1000\n"));
}

#[test]
fn tests_run_nowhere_but_in_the_tree() {
    let outside = perform("run_tests", json!({"command": "true", "path": "/"}));
    assert_eq!(outside, Err("run_tests: `/` is no directory of the work tree".to_owned()));
    assert!(perform("run_tests", json!({"command": "true", "path": "none"})).is_err());
}
