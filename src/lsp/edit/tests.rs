//! Edits as servers send them, and the texts that they make.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn edit(start: (u32, u32), end: (u32, u32), text: &str) -> Value {
    json!({
        "range": {
            "start": { "line": start.0, "character": start.1 },
            "end": { "line": end.0, "character": end.1 },
        },
        "newText": text,
    })
}

fn files(files: &[(&str, &str, Option<i64>)]) -> BTreeMap<PathBuf, Document> {
    let document = |(path, text, version): &(&str, &str, Option<i64>)| {
        (PathBuf::from(path), Document { text: (*text).to_owned(), version: *version })
    };
    files.iter().map(document).collect()
}

#[track_caller]
fn check(before: &str, edits: &[Value], expected: Result<&str, EditError>) {
    let edit = Edit::read(&json!({ "changes": { "file:///a": edits } })).unwrap();
    let after = edit.apply(&files(&[("/a", before, None)])).map(|mut applied| applied.after.remove(Path::new("/a")));
    assert_eq!(after, expected.map(|text| (text != before).then(|| Some(text.to_owned()))));
}

#[test]
fn edits_are_of_the_text_before_any_of_them() {
    check("one two\nthree", &[edit((0, 4), (0, 7), "2"), edit((0, 0), (0, 3), "1")], Ok("1 2\nthree"));
    check("ab", &[edit((0, 1), (0, 1), "x"), edit((0, 1), (0, 1), "y"), edit((0, 1), (0, 2), "z")], Ok("axyz"));
    check("𝄞b", &[edit((0, 2), (0, 3), "c")], Ok("𝄞c"));
    check("a\nb\n", &[edit((0, 0), (9, 0), "all")], Ok("all"));
    check("same", &[edit((0, 0), (0, 4), "same")], Ok("same"));
}

#[test]
fn edits_that_make_no_sense_are_refused() {
    let path = PathBuf::from("/a");
    let overlap = EditError::Overlap { path: path.clone(), line: 1 };
    check("abcd", &[edit((0, 0), (0, 3), ""), edit((0, 2), (0, 4), "")], Err(overlap));
    check("a", &[edit((4, 0), (4, 1), "")], Err(EditError::Outside { path: path.clone(), line: 5 }));
    check("abc", &[edit((0, 2), (0, 1), "")], Err(EditError::Outside { path, line: 1 }));
    for (bad, expected) in [
        (json!({ "changes": { "untitled:x": [] } }), EditError::NoFile("untitled:x".to_owned())),
        (json!({ "documentChanges": [{ "kind": "delete", "uri": "x" }] }), EditError::NoFile("x".to_owned())),
    ] {
        assert_eq!(Edit::read(&bad), Err(expected));
    }
    assert!(matches!(Edit::read(&json!({ "documentChanges": [{ "kind": "melt" }] })), Err(EditError::Shape(_))));
    assert!(matches!(Edit::read(&json!([])), Err(EditError::Shape(_))));
}

#[test]
fn an_edit_of_another_version_is_refused() {
    let change = |version: Value| {
        json!({ "documentChanges": [
            { "textDocument": { "uri": "file:///a", "version": version }, "edits": [edit((0, 0), (0, 1), "b")] }
        ] })
    };
    let stale = |known: &str| EditError::Stale { path: PathBuf::from("/a"), edit: 3, known: known.to_owned() };
    for (version, known, expected) in [
        (json!(3), Some(3), None),
        (json!(null), Some(3), None),
        (json!(null), None, None),
        (json!(3), Some(4), Some(stale("4"))),
        (json!(3), None, Some(stale("none"))),
    ] {
        let applied = Edit::read(&change(version)).unwrap().apply(&files(&[("/a", "a", known)]));
        assert_eq!(applied.err(), expected);
    }
}

#[test]
fn files_are_made_renamed_and_deleted_in_order() {
    let edit = Edit::read(&json!({ "documentChanges": [
        { "kind": "rename", "oldUri": "file:///a", "newUri": "file:///b" },
        { "textDocument": { "uri": "file:///b", "version": null }, "edits": [edit((0, 0), (0, 0), "x")] },
        { "kind": "create", "uri": "file:///c" },
        { "textDocument": { "uri": "file:///c", "version": null }, "edits": [edit((0, 0), (0, 0), "new")] },
        { "kind": "create", "uri": "file:///e", "options": { "ignoreIfExists": true } },
        { "kind": "delete", "uri": "file:///d" },
        { "kind": "delete", "uri": "file:///f", "options": { "ignoreIfNotExists": true } },
    ] }))
    .unwrap();
    let reached: Vec<_> = edit.paths().into_iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(reached, ["/a", "/b", "/c", "/d", "/e", "/f"]);
    let applied = edit.apply(&files(&[("/a", "a", None), ("/d", "d", None), ("/e", "e", None)])).unwrap();
    let path = PathBuf::from;
    let expected = Applied {
        after: BTreeMap::from([
            (path("/a"), None),
            (path("/b"), Some("xa".to_owned())),
            (path("/c"), Some("new".to_owned())),
            (path("/d"), None),
        ]),
        text_edits: 2,
        created: vec![path("/c")],
        renamed: vec![(path("/a"), path("/b"))],
        deleted: vec![path("/d")],
    };
    assert_eq!(applied, expected);
}

#[test]
fn files_in_the_way_and_files_that_are_gone_stop_an_edit() {
    let there = [("/a", "a", None), ("/b", "b", None)];
    for (step, expected) in [
        (json!({ "kind": "create", "uri": "file:///a" }), EditError::Exists(PathBuf::from("/a"))),
        (
            json!({ "kind": "rename", "oldUri": "file:///a", "newUri": "file:///b" }),
            EditError::Exists(PathBuf::from("/b")),
        ),
        (
            json!({ "kind": "rename", "oldUri": "file:///x", "newUri": "file:///y" }),
            EditError::Missing(PathBuf::from("/x")),
        ),
        (json!({ "kind": "delete", "uri": "file:///x" }), EditError::Missing(PathBuf::from("/x"))),
        (
            json!({ "textDocument": { "uri": "file:///x", "version": null }, "edits": [] }),
            EditError::Missing(PathBuf::from("/x")),
        ),
    ] {
        let edit = Edit::read(&json!({ "documentChanges": [step] })).unwrap();
        assert_eq!(edit.apply(&files(&there)).err(), Some(expected));
    }
}

proptest! {
    #[test]
    fn no_edit_does_harm(
        text in "[a𝄞\r\n]{0,12}",
        places in proptest::collection::vec((0u32..4, 0u32..6, 0u32..4, 0u32..6), 0..4),
    ) {
        let edits: Vec<_> = places.iter().map(|(a, b, c, d)| edit((*a, *b), (*c, *d), "x")).collect();
        let edit = Edit::read(&json!({ "changes": { "file:///a": edits } })).unwrap();
        let before = files(&[("/a", &text, None)]);
        if let Ok(applied) = edit.apply(&before) {
            prop_assert_eq!(applied.text_edits, places.len());
        }
    }
}
