//! Tables and properties for the cut of a file and for the reading of an answer.

use proptest::prelude::*;

use super::*;

const LABELS: MarkLabels<'static> = MarkLabels { ours: "refs/heads/coppice/x", theirs: "refs/heads/main" };

fn marked(ours: &str, theirs: &str) -> String {
    format!("<<<<<<< refs/heads/coppice/x\n{ours}=======\n{theirs}>>>>>>> refs/heads/main\n")
}

fn cut(text: &str) -> Result<MarkedFile<'_>, MarkedFileError> {
    cut_regions(text.as_bytes(), LABELS)
}

#[test]
fn a_file_is_cut_at_its_marks() {
    let simple = marked("a\n", "b\n");
    let both = format!("1\n{}2\n{}", marked("a\n", ""), marked("", "b\n"));
    let crlf = format!("1\n{}", marked("a\n", "b\n")).replace('\n', "\r\n");
    let renamed = simple.replace("coppice/x", "coppice/x:old path").replace("main", "main:new");
    let base = simple.replace("=======", "||||||| 1234567\nwas\n=======");
    let long = simple.replace("<<<<<<<", "<<<<<<<<<").replace("=======", "=========").replace(">>>>>>>", ">>>>>>>>>");
    let other = format!("Heading\n=======\n<<<<<<< HEAD\n{simple}");
    for (text, expected) in [
        (simple.as_str(), vec![("a\n", "b\n")]),
        (&both, vec![("a\n", ""), ("", "b\n")]),
        (&crlf, vec![("a\r\n", "b\r\n")]),
        (&renamed, vec![("a\n", "b\n")]),
        (&base, vec![("a\n", "b\n")]),
        (&long, vec![("a\n", "b\n")]),
        (&other, vec![("a\n", "b\n")]),
        (simple.trim_end(), vec![("a\n", "b\n")]),
    ] {
        let file = cut(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(file.regions().map(|region| (region.ours, region.theirs)).collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(file.with_texts(&[]), text);
    }
}

#[test]
fn a_file_that_cannot_be_cut_says_why() {
    let simple = marked("a\n", "b\n");
    let nested = marked(&simple, "");
    let two_middles = marked("a\n=======\n", "b\n");
    let large = "x".repeat(FILE_LIMIT + 1);
    let divided = format!("{simple}@@@ end\n");
    for (text, expected) in [
        ("", "it has no conflict marks"),
        ("Heading\n=======\n", "it has no conflict marks"),
        (&simple[..simple.len() - 10], "its conflict marks are incomplete or ambiguous at line 1"),
        (&nested, "its conflict marks are incomplete or ambiguous at line 2"),
        (&two_middles, "its conflict marks are incomplete or ambiguous at line 4"),
        (">>>>>>> refs/heads/main\n", "its conflict marks are incomplete or ambiguous at line 1"),
        (&simple.replace("=======\n", ""), "its conflict marks are incomplete or ambiguous at line 4"),
        (&simple.replace(">>>>>>>", ">>>>>>"), "its conflict marks are incomplete or ambiguous at line 5"),
        (&large, "it is larger than 512 KiB"),
        (&divided, "line 6 begins with `@@@`, as the lines that divide an answer do"),
        ("\0", "it is not text"),
    ] {
        assert_eq!(cut(text).unwrap_err().to_string(), expected, "{text:.80}");
    }
    assert_eq!(cut_regions(b"\xff", LABELS), Err(MarkedFileError::Binary));
}

#[test]
fn texts_take_the_places_of_regions() {
    let two = format!("1\n{}2\n{}3", marked("a\n", "b\n"), marked("c\n", "d\n"));
    let crlf = two.replace('\n', "\r\n");
    let last = format!("1\n{}", marked("a\n", "b\n").trim_end());
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    for (file, given, expected) in [
        (two.as_str(), texts(&["A\n", "C\nD\n"]), "1\nA\n2\nC\nD\n3"),
        (&two, texts(&["", "\n"]), "1\n2\n\n3"),
        (&crlf, texts(&["A\n", "C\nD\n"]), "1\r\nA\r\n2\r\nC\r\nD\r\n3"),
        (&last, texts(&["A\n"]), "1\nA"),
        (&last, texts(&[""]), "1\n"),
    ] {
        assert_eq!(cut(file).unwrap().with_texts(&given), expected, "{file}");
    }
    let file = cut(&two).unwrap();
    assert_eq!(file.surroundings(9), [("1\n", "2\n"), ("2\n", "3")]);
    assert_eq!(file.surroundings(0), [("", ""), ("", "")]);
}

#[test]
fn an_answer_holds_every_region_once() {
    let read =
        |answer: &str, regions: usize| parse_resolution(answer, &vec![7; regions]).map_err(|error| error.to_string());
    for (answer, regions, expected) in [
        ("@@@ region 1\na\n@@@ end", 1, vec!["a\n"]),
        ("\n@@@ region 1\r\na\r\n@@@ end\r\n\n", 1, vec!["a\n"]),
        ("@@@ region 1\n@@@ region 2\n\n  b\n@@@ end\n", 2, vec!["", "\n  b\n"]),
        ("@@@ region 1\n========\n@@ x\n<<<<<<<\n@@@ end", 1, vec!["========\n@@ x\n<<<<<<<\n"]),
    ] {
        assert_eq!(read(answer, regions), Ok(expected.into_iter().map(str::to_owned).collect()), "{answer}");
    }
    for (answer, regions, expected) in [
        ("", 1, "`answer` must begin with the line `@@@ region 1`"),
        ("```\n@@@ region 1\n@@@ end", 1, "`answer` must begin with the line `@@@ region 1`"),
        ("@@@ region 1\na", 1, "`answer` does not end with the line `@@@ end`"),
        ("@@@ region 1\na\n@@@ end", 2, "`answer` ends after 1 of 2 regions"),
        ("@@@ region 1\na", 2, "`answer` ends after 1 of 2 regions"),
        ("@@@ region 1\n@@@ end\n```", 1, "text follows the line `@@@ end` of `answer`"),
        ("@@@ region 1\n@@@ end\n@@@ end", 1, "text follows the line `@@@ end` of `answer`"),
        ("@@@ region 2\n@@@ end", 2, "line 1 of `answer` is `@@@ region 2` where `@@@ region 1` must follow"),
        ("@@@ region 1\n@@@ region 1\n@@@ end", 1, "line 2 of `answer` is `@@@ region 1` where `@@@ end` must follow"),
        (
            "@@@ region 01\n@@@ end",
            1,
            "line 1 of `answer` begins with `@@@` and is neither `@@@ region NUMBER` nor `@@@ end`",
        ),
        ("@@@ region 1\n<<<<<<< main\n@@@ end", 1, "the text for region 1 holds a conflict mark"),
        ("@@@ region 1\n@@@ region 2\n=======\n@@@ end", 2, "the text for region 2 holds a conflict mark"),
        (
            "@@@ region 1\na\u{202e}b\n@@@ end",
            1,
            "the text for region 1 holds `\\u{202e}`, a character that nobody sees",
        ),
    ] {
        assert_eq!(read(answer, regions), Err(expected.to_owned()), "{answer}");
    }
}

/// The text before a region, its two versions, and the text for it.
type RegionPlace = (String, String, String, String);

fn lines() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-zäß <>=|@]{0,9}", 0..4).prop_map(|lines| {
        // Neither a mark of ours nor a divider.
        lines.iter().map(|line| format!(".{line}\n")).collect()
    })
}

proptest! {
    #[test]
    fn nothing_but_the_regions_changes(
        places in proptest::collection::vec((lines(), lines(), lines(), lines()), 1..4),
        rest in "[a-z\n]{0,9}",
        crlf in any::<bool>(),
    ) {
        let texts: Vec<String> = places.iter().map(|(.., text)| text.clone()).collect();
        let whole = |mid: &dyn Fn(&RegionPlace) -> String| {
            let file: String = places.iter().map(|place| place.0.clone() + &mid(place)).collect();
            let file = file + &rest;
            if crlf { file.replace('\n', "\r\n") } else { file }
        };
        let file = whole(&|(_, ours, theirs, _)| marked(ours, theirs));
        let cut = cut(&file).unwrap();
        prop_assert_eq!(cut.with_texts(&[]), file.clone());
        prop_assert_eq!(cut.with_texts(&texts), whole(&|(.., text)| text.clone()));
        let answer: String = (1..).zip(&texts).map(|(number, text)| format!("@@@ region {number}\n{text}")).collect();
        let sizes: Vec<usize> = cut.regions().map(|region| region.mark_size).collect();
        prop_assert_eq!(parse_resolution(&(answer.clone() + "@@@ end"), &sizes), Ok(texts));
        prop_assert!(parse_resolution(&answer, &sizes).is_err());
    }

    #[test]
    fn no_text_upsets_the_readers(text in "([<>=|]{7}( refs/heads/(main|coppice/x))?\r?\n|@@@ (end|region [0-9])\n|[a-z]\n){0,12}") {
        if let Ok(file) = cut(&text) {
            prop_assert_eq!(file.with_texts(&[]), text.clone());
        }
        if let Ok(texts) = parse_resolution(&text, &[7, 7]) {
            prop_assert_eq!(texts.len(), 2);
        }
    }
}
