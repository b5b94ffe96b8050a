//! Calls as models write them, and what people see of them.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn read(name: &str, arguments: Value) -> Request {
    parse(name, &arguments).unwrap().unwrap()
}

fn edit() -> Request {
    read("edit_file", json!({"path": "a", "old_string": "x\nold\ny", "new_string": "x\nnew\ny"}))
}

#[test]
fn a_diff_carries_nothing_away_that_may_not_be_read() {
    let map = crate::permission::load::map("m", r#"{"read":{"*credentials*":"deny"}}"#, "/").unwrap();
    let kept = Kept::of([&map], &[]);
    let renamed = |from: &str| {
        let diff = format!("diff --git a/{from} b/x\nsimilarity index 100%\nrename from {from}\nrename to x\n");
        Request::ApplyDiff { diff }.keeping(kept.clone(), Path::new("/tree"))
    };
    let refused = "`a/credentials.txt` may not be read, and so not be moved or copied either";
    assert_eq!(renamed("a/credentials.txt"), Err(refused.to_owned()));
    assert!(renamed("a/b.txt").is_ok());
}

#[test]
fn the_tools_for_files_have_their_parameters_and_classes() {
    let table = [
        ("read_file", vec!["path", "offset", "limit"], vec!["path"], Effect::Reads),
        ("read_many_files", vec!["paths", "offset", "limit"], vec!["paths"], Effect::Reads),
        ("list_dir", vec!["path"], vec![], Effect::Reads),
        ("glob", vec!["pattern", "cwd"], vec!["pattern"], Effect::Reads),
        ("grep", vec!["pattern", "path", "regex", "ignore_case", "max_results"], vec!["pattern"], Effect::Reads),
        ("write_file", vec!["path", "content"], vec!["path", "content"], Effect::Destroys),
        (
            "edit_file",
            vec!["path", "old_string", "new_string", "replace_all"],
            vec!["path", "old_string", "new_string"],
            Effect::Destroys,
        ),
        ("apply_diff", vec!["diff"], vec!["diff"], Effect::Destroys),
        ("mkdir", vec!["path"], vec!["path"], Effect::Adds),
        ("copy_file", vec!["src", "dst"], vec!["src", "dst"], Effect::Destroys),
        ("move_file", vec!["src", "dst"], vec!["src", "dst"], Effect::Destroys),
        ("delete_file", vec!["path"], vec!["path"], Effect::Destroys),
    ];
    assert_eq!(ROWS.len(), table.len());
    for (row, (name, parameters, required, effect)) in ROWS.iter().zip(table) {
        assert_eq!((row.name, row.effect), (name, effect));
        assert!(matches!(row.needs, Needs::Instead), "{name}");
        let schema = (row.schema)();
        jsonschema::meta::validate(&schema).unwrap();
        let properties: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(properties, parameters, "{name}");
        let needed = if required.is_empty() { Value::Null } else { json!(required) };
        assert_eq!(schema["required"], needed, "{name}");
        assert!(parse(name, &json!({"unknown": 1})).unwrap().is_err(), "{name}");
    }
    assert_eq!(parse("run_bash", &json!({})), None);
}

#[test]
fn what_is_left_out_has_its_default() {
    let grep = |syntax, case, max_results| {
        Request::Grep(Grep {
            pattern: "$(x)".into(),
            path: ".".into(),
            syntax,
            case,
            max_results,
            kept: Kept::default(),
        })
    };
    for (name, arguments, expected) in [
        (
            "read_file",
            json!({"path": " a "}),
            Request::ReadFile { path: " a ".into(), lines: Lines { offset: 1, limit: 2000 } },
        ),
        (
            "read_many_files",
            json!({"paths": ["b", "a", "b"]}),
            Request::ReadManyFiles { paths: vec!["a".into(), "b".into()], offset: 0, limit: 524_288 },
        ),
        (
            "read_many_files",
            json!({"paths": ["a"], "offset": -7}),
            Request::ReadManyFiles { paths: vec!["a".into()], offset: 0, limit: 524_288 },
        ),
        (
            "read_many_files",
            json!({"paths": ["a"], "offset": 7, "limit": 9_999_999}),
            Request::ReadManyFiles { paths: vec!["a".into()], offset: 7, limit: 524_288 },
        ),
        (
            "write_file",
            json!({"path": "a", "content": ""}),
            Request::WriteFile { path: "a".into(), content: "".into() },
        ),
        ("list_dir", json!({}), Request::ListDir { path: ".".into() }),
        ("list_dir", Value::Null, Request::ListDir { path: ".".into() }),
        ("glob", json!({"pattern": "*"}), Request::Glob { pattern: "*".into(), cwd: ".".into() }),
        ("grep", json!({"pattern": "$(x)"}), grep(Syntax::Literal, Case::Sensitive, 50)),
        (
            "grep",
            json!({"pattern": "$(x)", "regex": true, "ignore_case": true, "max_results": 3}),
            grep(Syntax::Regex, Case::Ignored, 3),
        ),
    ] {
        let request = read(name, arguments);
        assert_eq!(request, expected);
        let line = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), request);
    }
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    let many: Vec<_> = (0..21).map(|at| at.to_string()).collect();
    for (name, arguments, expected) in [
        ("read_file", json!({}), "read_file: path is required"),
        ("read_file", json!({"path": ""}), "read_file: path is required"),
        ("read_file", json!({"path": "a", "offset": 0}), "read_file: offset must be at least 1, not 0"),
        ("read_file", json!({"path": "a", "limit": -1}), "read_file: limit must be at least 1, not -1"),
        (
            "read_file",
            json!({"path": "a", "limit": "2"}),
            "read_file: `limit`: invalid type: string \"2\", expected i64",
        ),
        ("read_many_files", json!({"paths": []}), "read_many_files: paths is required"),
        ("read_many_files", json!({"paths": ["a", ""]}), "read_many_files: a path must not be empty"),
        ("read_many_files", json!({"paths": many}), "read_many_files: 21 paths are too many: 20 at most"),
        ("write_file", json!({"path": "a"}), "write_file: content is required; an empty one empties the file"),
        ("edit_file", json!({"path": "a", "new_string": "b"}), "edit_file: old_string is required"),
        (
            "edit_file",
            json!({"path": "a", "old_string": "a"}),
            "edit_file: new_string is required; an empty one removes the old text",
        ),
        (
            "edit_file",
            json!({"path": "a", "old_string": "", "new_string": "b"}),
            "edit_file: old_string must not be empty; write_file makes a file",
        ),
        (
            "edit_file",
            json!({"path": "a", "old_string": "b", "new_string": "b"}),
            "edit_file: old_string and new_string are the same: nothing would change",
        ),
        ("apply_diff", json!({}), "apply_diff: diff is required"),
        (
            "apply_diff",
            json!({"diff": "hello"}),
            "apply_diff: the diff names no file: begin each with `--- a/PATH` and `+++ b/PATH`",
        ),
        ("move_file", json!({"src": "a"}), "move_file: dst is required"),
        ("copy_file", json!({"src": "a", "dst": "a"}), "copy_file: src and dst are the same"),
        ("glob", json!({}), "glob: pattern is required"),
        (
            "glob",
            json!({"pattern": "../*"}),
            "glob: `../*` must be relative and without `..`; name the directory by cwd",
        ),
        ("grep", json!({"pattern": ""}), "grep: pattern is required"),
        ("grep", json!({"pattern": "a", "max_results": 0}), "grep: max_results must be at least 1, not 0"),
    ] {
        assert_eq!(parse(name, &arguments).unwrap(), Err(expected.to_owned()));
    }
}

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/old b/new\nrename from old\nrename to new\n";

#[test]
fn every_path_of_a_call_is_judged() {
    for (name, arguments, expected) in [
        ("read_file", json!({"path": "src/a"}), vec!["/tree/src/a"]),
        ("read_file", json!({"path": "/etc/passwd"}), vec!["/etc/passwd"]),
        ("read_many_files", json!({"paths": ["b", "../a"]}), vec!["/tree/../a", "/tree/b"]),
        ("move_file", json!({"src": "a", "dst": "b"}), vec!["/tree/a", "/tree/b"]),
        ("apply_diff", json!({"diff": DIFF}), vec!["/tree/x", "/tree/old", "/tree/new"]),
        ("grep", json!({"pattern": "a", "path": "src"}), vec!["/tree/src"]),
        ("glob", json!({"pattern": "a", "cwd": "src"}), vec!["/tree/src"]),
    ] {
        let paths = expected.into_iter().map(PathBuf::from).collect();
        assert_eq!(read(name, arguments).reach(Path::new("/tree")), Reach::Paths(paths));
    }
    let unread = Request::ApplyDiff { diff: "no diff".into() };
    assert_eq!(unread.reach(Path::new("/tree")), Reach::Paths(Vec::new()));
}

#[test]
fn people_see_what_a_call_does() {
    let long = "é".repeat(201);
    for (request, title, preview) in [
        (read("read_file", json!({"path": "a"})), "Read(a)", ""),
        (read("read_file", json!({"path": "a", "offset": 5, "limit": 9})), "Read(a @ L5+9)", ""),
        (read("read_many_files", json!({"paths": ["a", "b"]})), "Read(2 files)", "a\nb"),
        (read("write_file", json!({"path": "a", "content": "x\n"})), "Write(a)", "a\nx\n"),
        (read("write_file", json!({"path": "a", "content": long})), "Write(a)", &format!("a\n{}…", "é".repeat(200))),
        (edit(), "Edit(a, single)", "--- a\n+++ a\n@@ @@\n x\n-old\n+new\n y\n"),
        (read("apply_diff", json!({"diff": DIFF})), "Patch(apply)", DIFF),
        (read("mkdir", json!({"path": "a"})), "Mkdir(a)", ""),
        (read("copy_file", json!({"src": "a", "dst": "b"})), "Copy(a → b)", ""),
        (read("move_file", json!({"src": "a", "dst": "b"})), "Move(a → b)", ""),
        (read("delete_file", json!({"path": "a"})), "Delete(a)", ""),
        (read("list_dir", json!({})), "List(.)", ""),
        (read("glob", json!({"pattern": "**/*.rs"})), "Glob(**/*.rs)", ""),
        (read("glob", json!({"pattern": "*.rs", "cwd": "src"})), "Glob(*.rs in src)", ""),
        (read("grep", json!({"pattern": "a b"})), "Grep(\"a b\" in .)", ""),
    ] {
        assert_eq!((request.title().as_str(), request.preview().as_str()), (title, preview));
    }
}
