//! Tables for the parser, properties for the streaming filter, and the freshness of the committed schema.

mod names;
mod prompts;
mod streaming;

use std::path::Path;

use serde_json::{Value, json};

use super::schema::generated;
use super::*;

fn answer(text: &str) -> Response {
    Response { answer: text.to_owned(), questions: Vec::new(), summary: None }
}

#[track_caller]
fn accepted(text: &str, expected: &Response) {
    assert_eq!(parse(text).as_ref(), Ok(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn a_whole_response_is_read() {
    let expected = Response {
        answer: "Done.\n".into(),
        questions: vec![
            Question { text: "Which port?".into(), options: vec!["80".into(), "8080".into()] },
            Question { text: "Why?".into(), options: Vec::new() },
        ],
        summary: Some(Summary { turn: "Add a port".into(), session: "A server".into() }),
    };
    let text = r#"{"answer":"Done.\n","questions":[{"text":"Which port?","options":["80","8080"]},{"text":"Why?"}],
        "summary":{"turn":"Add a port","session":"A server"}}"#;
    accepted(text, &expected);
    accepted(&format!("\n {text} \r\n\t"), &expected);
}

#[test]
fn every_part_may_be_missing_or_null() {
    accepted(r#"{"answer":"a"}"#, &answer("a"));
    accepted(r#"{"answer":"a","questions":null,"summary":null}"#, &answer("a"));
    accepted(r#"{"answer":"a","questions":[],"summary":{"turn":" ","session":""}}"#, &answer("a"));
    let question = Question { text: "q".into(), options: Vec::new() };
    let asking = Response { questions: vec![question], ..answer("") };
    accepted(r#"{"answer":null,"questions":[{"text":"q","options":null}],"summary":null}"#, &asking);
    let summary = Summary { turn: "t".into(), session: String::new() };
    accepted(r#"{"summary":{"turn":"t","session":""}}"#, &Response { summary: Some(summary), ..answer("") });
}

#[test]
fn prose_before_the_object_is_dropped() {
    for prose in [
        "All tests pass.\n\n",
        "I wrote `fn x() { y }` and struct A { b: C } and {{ template }} and `{`.\n",
        "```json\n",
        "{ \"answer\" is missing its colon } ",
        "{ 'a': 1 } {a: 1} {\"a\"} {\"a\":} {\"a\":1,} {\"a\":01} {\"a\":tru} ",
        "an unfinished { \"foo\": [ ",
        "an unfinished {\"foo\": \"",
    ] {
        accepted(&format!("{prose}{{\"answer\":\"a\"}}"), &answer("a"));
    }
}

#[test]
fn objects_inside_strings_are_text() {
    accepted(r#"{"answer":"{\"answer\":\"b\"} {}"}"#, &answer(r#"{"answer":"b"} {}"#));
    accepted(r#"{"\u0061nswer":"\ud83c\udf33 \u00e9\/"}"#, &answer("🌳 é/"));
}

#[test]
fn what_is_not_exactly_one_response_is_refused() {
    let says_nothing = "the object says nothing: `answer`, `questions` and `summary` are missing or blank";
    let table: &[(&str, &str)] = &[
        ("", "the message is blank (message of 0 bytes)"),
        (" \n\t ", "the message is blank (message of 4 bytes)"),
        ("All done.", "the message holds no JSON object (message of 9 bytes)"),
        ("[1, 2]", "the message holds no JSON object (message of 6 bytes)"),
        ("fn x() { y }", "the message holds no JSON object (message of 12 bytes)"),
        ("{}", &format!("{says_nothing} (message of 2 bytes)")),
        (r#"{"answer":" \n"}"#, &format!("{says_nothing} (message of 16 bytes, top-level keys: [\"answer\"])")),
        (
            r#"{"answer":null,"questions":[],"summary":null}"#,
            &format!("{says_nothing} (message of 45 bytes, top-level keys: [\"answer\", \"questions\", \"summary\"])"),
        ),
        (
            r#"{"answer":"a"} Done."#,
            r#"the object ends at byte 14 but text follows it (message of 20 bytes, top-level keys: ["answer"])"#,
        ),
        (
            "```json\n{\"answer\":\"a\"}\n```",
            r#"the object ends at byte 22 but a code fence follows it (message of 26 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"[{"answer":"a"}]"#,
            r#"the object ends at byte 15 but text follows it (message of 16 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"a"}{"answer":"b"}"#,
            r#"a second JSON object begins at byte 14 (message of 28 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"port":1} {"answer":"b"}"#,
            r#"a second JSON object begins at byte 11 (message of 25 bytes, top-level keys: ["answer"])"#,
        ),
        (
            "{} {\"answer\":\"b\"}",
            r#"a second JSON object begins at byte 3 (message of 17 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"cut of"#,
            r#"broken JSON at byte 17: the text ends inside the object (message of 17 bytes, top-level keys: ["answer"])"#,
        ),
        (
            "{\"answer\":\"two\nlines\"}",
            r#"broken JSON at byte 14: unescaped control character in a string (message of 22 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"a",}"#,
            r#"broken JSON at byte 14: unexpected character (message of 15 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"say "hi""} {"answer":"b"}"#,
            r#"broken JSON at byte 16: unexpected character (message of 36 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"\ud800"}"#,
            r#"broken JSON at byte 17: unpaired surrogate in a string (message of 19 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":1}"#,
            r#"the object does not match the schema at `/answer`: the value is not of types "null", "string" (message of 12 bytes, top-level keys: ["answer"])"#,
        ),
        (
            r#"{"answer":"a","extra":1}"#,
            r#"the object does not match the schema at `/`: Additional properties are not allowed ('extra' was unexpected) (message of 24 bytes, top-level keys: ["answer", "extra"])"#,
        ),
        (
            r#"{"questions":[{"text":"q","why":"x"}]}"#,
            r#"the object does not match the schema at `/questions/0`: Additional properties are not allowed ('why' was unexpected) (message of 38 bytes, top-level keys: ["questions"])"#,
        ),
        (
            r#"{"summary":{"turn":"t"}}"#,
            r#"the object does not match the schema at `/summary`: "session" is a required property (message of 24 bytes, top-level keys: ["summary"])"#,
        ),
        (
            r#"{"answer":"a","answer":"b"}"#,
            r#"a key is repeated at line 1, column 22 of the object (message of 27 bytes, top-level keys: ["answer", "answer"])"#,
        ),
        (
            r#"{"answer":"a","summary":{"turn":"t","turn":"t","session":"s"}}"#,
            r#"a key is repeated at line 1, column 42 of the object (message of 62 bytes, top-level keys: ["answer", "summary"])"#,
        ),
        (
            r#"{"questions":[{"text":" "}]}"#,
            r#"`/questions/0/text` is blank (message of 28 bytes, top-level keys: ["questions"])"#,
        ),
        (
            r#"{"questions":[{"text":"q","options":["a",""]}]}"#,
            r#"`/questions/0/options/1` is blank (message of 47 bytes, top-level keys: ["questions"])"#,
        ),
    ];
    table.iter().for_each(|(text, expected)| refused(text, expected));
}

#[test]
fn a_refusal_never_repeats_the_text() {
    let secret = "s3cret".repeat(1000);
    for text in [
        format!(r#"{{"answer":["{secret}"]}}"#),
        format!(r#"{{"questions":"{secret}","questions":[]}}"#),
        format!(r#"{{"answer":"{secret}"#),
        format!(r#"{{"{secret}":1}}"#),
        format!(r#"{secret} {{"answer":"a"}} {secret}"#),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn hostile_nesting_is_refused_quickly() {
    for text in ["{\"a\":".repeat(10_000), "{\"a\":[".repeat(10_000), "{".repeat(100_000)] {
        assert_eq!(parse(&text).unwrap_err().refusal, Refusal::NoObject);
    }
    let deep = format!("{{\"answer\":{}", "[".repeat(10_000));
    assert_eq!(parse(&deep).unwrap_err().refusal, Refusal::Broken { at: 73, fault: parse::Fault::TooDeep });
}

#[test]
fn the_committed_schema_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/response.schema.json");
    let fresh = format!("{}\n", serde_json::to_string_pretty(&generated()).unwrap());
    if std::env::var_os("COPPICE_BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert_eq!(committed, fresh, "run `COPPICE_BLESS=1 cargo test --lib` and commit schemas/");
}

#[test]
fn transports_get_the_schema_they_can_take() {
    let plain = transport_schema(SchemaDialect::Plain);
    let strict = transport_schema(SchemaDialect::Strict);
    for schema in [&plain, &strict] {
        let text = schema.to_string();
        assert!(!["$schema", "$ref", "\"format\"", "\"default\""].iter().any(|word| text.contains(word)), "{text}");
    }
    assert_eq!(plain["properties"]["answer"]["type"], json!(["string", "null"]));
    assert_eq!(strict["required"], json!(["answer", "questions", "summary"]));
    let question = &strict["properties"]["questions"]["anyOf"][0]["items"];
    assert_eq!(question["required"], json!(["text", "options"]));
    assert_eq!(question["additionalProperties"], json!(false));
    assert_eq!(strict["properties"]["summary"]["anyOf"][1], json!({ "type": "null" }));
}

#[test]
fn all_dialects_agree_with_the_parser() {
    let full: Value = json!({
        "answer": "a",
        "questions": [{ "text": "q", "options": null }, { "text": "q", "options": ["o"] }],
        "summary": { "turn": "t", "session": "s" },
    });
    let nulls = json!({ "answer": "a", "questions": null, "summary": null });
    let wrong = json!({ "answer": "a", "questions": null, "summary": null, "extra": 1 });
    let committed: Value = serde_json::from_str(schema_text()).unwrap();
    for schema in [committed, transport_schema(SchemaDialect::Plain), transport_schema(SchemaDialect::Strict)] {
        assert!(jsonschema::is_valid(&schema, &full), "{schema}");
        assert!(jsonschema::is_valid(&schema, &nulls), "{schema}");
        assert!(!jsonschema::is_valid(&schema, &wrong), "{schema}");
    }
    assert!(
        parse(&full.to_string()).is_ok() && parse(&nulls.to_string()).is_ok() && parse(&wrong.to_string()).is_err()
    );
}
