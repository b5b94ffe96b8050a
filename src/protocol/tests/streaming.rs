//! The filter against the parser: any text, cut anywhere, shows the answer that is stored in the end.

use proptest::prelude::*;

use super::super::{AnswerStream, parse};

/// Texts with everything that could confuse a filter.
const TEXTS: &[&str] = &[
    r#"{"answer":"plain"}"#,
    r#"{"answer":"q\" b\\ s\/ \b\f\n\r\t é \u00e9 🌳 \ud83c\udf33 end","questions":[]}"#,
    r#"{"summary":{"turn":"answer","session":"\"answer\":\"x\""},"answer":"last"}"#,
    r#"{"questions":[{"text":"\"answer\":\"no\"","options":["{\"answer\":\"no\"}"]}],"answer":"yes"}"#,
    r#"Prose with { braces } and fn x() { y } and {"a": [1, 2] oops }  {"answer":"real"}"#,
    r#"I say {"answer" here} and { "foo": [ {"answer":"inner"}"#,
    r#"{"\u0061nswer" : "escaped key" , "summary" : null }"#,
    r#"{"answer":null,"summary":{"turn":"t","session":"s"}}"#,
    r#"```json
{"answer":"{\"answer\":\"code\"}"}"#,
];

/// Texts the parser refuses; what streams out of them is bounded by the decoded answer of their first response.
const REFUSED: &[(&str, &str)] = &[
    ("All done, nothing here.", ""),
    ("```json\n{\"answer\":\"a\"}\n```", "a"),
    (r#"{"answer":"a"}{"answer":"b"}"#, "a"),
    (r#"{"answer":"a","answer":"b"}"#, "a"),
    (r#"{"config":{"answer":"inner"}} {"answer":"b"}"#, ""),
    (r#"{"extra":1,"answer":"x"}"#, ""),
    (r#"{"answer":{"answer":"inner"}}"#, ""),
    (r#"{"answer":["inner"]}"#, ""),
    (r#"{"answer":"cut"#, "cut"),
    (r#"{"answer":"lone \ud83c then"}"#, "lone "),
    (r#"{"answer":"bad \x escape"}"#, "bad "),
    ("{\"answer\":\"raw\nline\"}", "raw"),
    (r#"{"summary":{"answer":"inner"}}"#, ""),
];

fn stream<'a>(chunks: impl IntoIterator<Item = &'a str>) -> String {
    let mut filter = AnswerStream::new();
    let mut shown: String = chunks.into_iter().map(|chunk| filter.push(chunk)).collect();
    shown += &filter.finish();
    shown
}

fn splits(text: &str) -> impl Iterator<Item = usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

/// Every way to cut a text into three chunks, and one character at a time.
#[track_caller]
fn check(text: &str, expected: &str) {
    for first in splits(text) {
        for second in splits(text).filter(|second| *second >= first) {
            let chunks = [&text[..first], &text[first..second], &text[second..]];
            assert_eq!(stream(chunks), expected, "{chunks:?}");
        }
    }
    let mut buffer = [0; 4];
    let mut filter = AnswerStream::new();
    let mut shown: String = text.chars().map(|c| filter.push(c.encode_utf8(&mut buffer))).collect();
    shown += &filter.finish();
    assert_eq!(shown, expected);
}

#[test]
fn every_cut_shows_the_stored_answer() {
    for text in TEXTS {
        let response = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        check(text, &response.answer);
    }
}

#[test]
fn a_refused_text_shows_no_protocol() {
    for (text, expected) in REFUSED {
        assert!(parse(text).is_err(), "{text}");
        check(text, expected);
    }
}

#[test]
fn the_answer_streams_as_it_arrives() {
    let mut filter = AnswerStream::new();
    let chunks = ["Hello {\"ans", "wer\":\"a", "b\\", "n\\ud83c", "\\udf3", "3c\",\"summary\":", "null}", "junk"];
    let shown: Vec<_> = chunks.into_iter().map(|chunk| filter.push(chunk)).collect();
    assert_eq!(shown, ["", "a", "b", "\n", "", "🌳c", "", ""]);
    assert_eq!(filter.finish(), "");
}

/// Pieces of protocol and prose in any order: mostly nonsense, sometimes a response.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("\""),
        Just(":"),
        Just(","),
        Just(" "),
        Just("\n"),
        Just("```"),
        Just("\"answer\":"),
        Just("{\"answer\":\""),
        Just("\"}"),
        Just("{\"x\":"),
        Just("\"summary\":null"),
        Just("\"questions\":[]"),
        Just("\\"),
        Just("\\n"),
        Just("\\ud83c"),
        Just("\\udf33"),
        Just("\\u00"),
        Just("é"),
        Just("🌳"),
        Just("word"),
        Just("null"),
        Just("-1.5e3"),
        Just("{\"answer\":\"a\"}"),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// A response as a model may spell it: any text, plain or escaped, any order of keys, prose in front.
fn spelled() -> impl Strategy<Value = String> {
    let said = || any::<String>().prop_map(|text| format!("a{text}"));
    let plain = said().prop_map(|text| serde_json::to_string(&text).unwrap());
    let escaped = said().prop_map(|text| {
        format!("\"{}\"", text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>())
    });
    let prose = prop::sample::select(vec!["", "I did { x } ", "a {\"b\": ["]);
    (prop_oneof![plain, escaped], any::<String>(), prose).prop_flat_map(|(answer, turn, prose)| {
        let turn = serde_json::to_string(&turn).unwrap();
        let summary = format!("\"summary\":{{\"turn\":{turn},\"session\":\"\"}}");
        let keys = vec![summary, format!("\"answer\" : {answer}"), "\"questions\":[]".to_owned()];
        Just(keys).prop_shuffle().prop_map(move |keys| format!("{prose}{{{}}}\n", keys.join(",")))
    })
}

proptest! {
    #[test]
    fn soup_never_disagrees_with_the_parser(text in soup()) {
        let whole = stream([text.as_str()]);
        for at in splits(&text) {
            prop_assert_eq!(stream([&text[..at], &text[at..]]), whole.clone());
        }
        if let Ok(response) = parse(&text) {
            prop_assert_eq!(whole, response.answer);
        }
    }

    #[test]
    fn any_spelling_shows_its_answer(text in spelled()) {
        let whole = stream([text.as_str()]);
        for at in splits(&text) {
            prop_assert_eq!(stream([&text[..at], &text[at..]]), whole.clone());
        }
        prop_assert_eq!(whole, parse(&text).unwrap().answer);
    }
}
