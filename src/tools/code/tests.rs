//! Calls as models make them, and what they are read as.

use serde_json::json;

use super::*;

fn parsed(name: &str, arguments: &Value) -> Result<Request, String> {
    parse(name, arguments).unwrap()
}

fn at(path: &str, line: u32, at: At) -> Place {
    Place { path: PathBuf::from(path), line, at }
}

#[test]
fn a_place_is_a_character_or_what_is_seen_there() {
    let symbol = || At::Symbol("run".to_owned());
    for (arguments, expected) in [
        (json!({ "path": "a.rs", "line": 3, "character": 0 }), at("a.rs", 3, At::Character(0))),
        (json!({ "path": " a.rs ", "line": 3, "symbol": " run " }), at("a.rs", 3, symbol())),
        (json!({ "path": "a.rs", "line": 3, "symbol": "run", "character": null }), at("a.rs", 3, symbol())),
    ] {
        assert_eq!(parsed("definition", &arguments), Ok(Request::Definition { at: expected }));
    }
    for (arguments, expected) in [
        (json!({}), "definition: path is required"),
        (json!({ "path": "a" }), "definition: line is required"),
        (json!({ "path": "a", "line": 0, "character": 1 }), "definition: line is counted from 1"),
        (json!({ "path": "a", "line": 1 }), "definition: character or symbol is required"),
        (
            json!({ "path": "a", "line": 1, "character": 1, "symbol": "x" }),
            "definition: give either character or symbol, but not both",
        ),
    ] {
        assert_eq!(parsed("definition", &arguments), Err(expected.to_owned()));
    }
    assert!(parsed("definition", &json!({ "path": "a", "line": -1 })).unwrap_err().starts_with("definition: `line`"));
    assert!(parse("read_file", &json!({})).is_none());
}

#[test]
fn defaults_and_limits_are_those_of_the_tools() {
    let place = || json!({ "path": "a", "line": 1, "character": 0 });
    let with = |more: Value| {
        let mut all = place();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let at = || at("a", 1, At::Character(0));
    let refs = |mode, most, declaration| Ok(Request::Refs { at: at(), mode, most, declaration });
    let trace = |mode, depth, most| Ok(Request::Trace { at: at(), mode, depth, most });
    for (name, arguments, expected) in [
        ("refs", place(), refs(Uses::All, 200, Declaration::LeftOut)),
        (
            "refs",
            with(json!({ "mode": "writers", "max_results": 500, "include_declaration": true })),
            refs(Uses::Writers, 500, Declaration::Counts),
        ),
        (
            "refs",
            with(json!({ "max_results": 501 })),
            Err("refs: max_results must be from 1 to 500, not 501".to_owned()),
        ),
        ("trace", place(), Err("trace: mode is required: callers, callees or graph".to_owned())),
        ("trace", with(json!({ "mode": "graph" })), trace(Calls::Graph, 2, 200)),
        ("trace", with(json!({ "mode": "callers", "depth": 4, "max_nodes": 1 })), trace(Calls::Callers, 4, 1)),
        (
            "trace",
            with(json!({ "mode": "callees", "depth": 5 })),
            Err("trace: depth must be from 1 to 4, not 5".to_owned()),
        ),
        ("rename_symbol", place(), Err("rename_symbol: new_name is required".to_owned())),
        ("symbols", json!({ "query": " " }), Err("symbols: query is required".to_owned())),
    ] {
        assert_eq!(parsed(name, &arguments), expected, "{name} {arguments}");
    }
}

#[test]
fn diagnostics_take_one_file_or_up_to_32() {
    let many: Vec<_> = (0..33).map(|number| format!("{number}.ts")).collect();
    let paths = |paths: &[&str]| Ok(Request::Diagnostics { paths: paths.iter().map(PathBuf::from).collect() });
    for (arguments, expected) in [
        (json!({ "path": "a" }), paths(&["a"])),
        (json!({ "paths": ["a", "b", "a"] }), paths(&["a", "b"])),
        (json!({ "paths": [] }), Err("diagnostics: paths takes 1 to 32 files, not 0".to_owned())),
        (json!({ "paths": many }), Err("diagnostics: paths takes 1 to 32 files, not 33".to_owned())),
        (json!({ "paths": [""] }), Err("diagnostics: a path must not be blank".to_owned())),
        (
            json!({ "paths": ["a"], "path": "b" }),
            Err("diagnostics: give either paths or path, but not both".to_owned()),
        ),
        (json!({}), Err("diagnostics: paths is required".to_owned())),
    ] {
        assert_eq!(parsed("diagnostics", &arguments), expected);
    }
}

#[test]
fn an_action_is_for_a_part_of_a_file() {
    let part = json!({ "path": "a", "start_line": 2, "start_character": 4, "end_line": 2, "end_character": 4 });
    let expected =
        Action { path: PathBuf::from("a"), start: (2, 4), end: (2, 4), title: None, kind: None, choice: Choice::Any };
    assert_eq!(parsed("code_action", &part), Ok(Request::Action(expected)));
    let mut wrong = part;
    wrong["end_character"] = json!(3);
    assert_eq!(parsed("code_action", &wrong), Err("code_action: the end is before the start".to_owned()));
    wrong["end_character"] = Value::Null;
    assert_eq!(parsed("code_action", &wrong), Err("code_action: end_character is required".to_owned()));
}

#[test]
fn calls_say_what_they_reach_and_what_they_are() {
    let tree = Path::new("/t");
    for (name, arguments, reach, title) in [
        ("symbols", json!({ "query": "run" }), "/t", "Symbols(\"run\")"),
        ("definition", json!({ "path": "a", "line": 3, "character": 1 }), "/t/a", "Definition(a:3)"),
        ("diagnostics", json!({ "path": "/x/a" }), "/x/a", "Diagnostics(/x/a)"),
        ("refs", json!({ "path": "../a", "line": 3, "symbol": "x" }), "/t/../a", "References(x @ ../a:3)"),
        (
            "trace",
            json!({ "path": "a", "line": 3, "symbol": "x", "mode": "callers" }),
            "/t/a",
            "Trace(callers of x @ a:3)",
        ),
        (
            "rename_symbol",
            json!({ "path": "a", "line": 3, "symbol": "x", "new_name": "y" }),
            "/t/a",
            "Rename(x @ a:3 → y)",
        ),
        (
            "code_action",
            json!({ "path": "a", "start_line": 1, "start_character": 0, "end_line": 1, "end_character": 0, "kind": "quickfix" }),
            "/t/a",
            "Action(a: quickfix)",
        ),
    ] {
        let request = parsed(name, &arguments).unwrap();
        assert_eq!(request.reach(tree), Reach::Paths(vec![PathBuf::from(reach)]), "{name}");
        assert_eq!(request.title(), title);
        let changes = matches!(request, Request::Rename { .. } | Request::Action(_));
        assert_eq!(request.preview().is_empty(), !changes, "{name}");
        let row = ROWS.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row.effect, if changes { Effect::Destroys } else { Effect::Reads }, "{name}");
    }
}
