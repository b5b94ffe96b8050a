//! What a model says about changes that it reviewed: findings, each about one line of a file, and the rest of its words.
//!
//! Pure. Whether a line is there is asked of the caller; a finding about a line that is not is kept among the words.

use super::naming::is_shown;

/// More findings than this help nobody.
pub const MAX_FINDINGS: usize = 50;

/// Lines that name a place are looked up only so often: each may mean reading another file.
const MAX_LOOKUPS: usize = 400;

/// No path holds more colons that numbers follow.
const MAX_READINGS: usize = 4;

/// How much of one finding is kept.
const FINDING_CHARS: usize = 1_000;

/// How much of the rest is kept, in bytes.
const TEXT_BYTES: usize = 8 * 1024;

const CUT: &str = "[the rest is left out]";

/// One remark about one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// Counted from 1, in the file as it is with the changes.
    pub line: u32,
    /// The line itself.
    pub quote: String,
    pub text: String,
}

/// A whole answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewAnswer {
    pub findings: Vec<Finding>,
    /// What is said besides; empty when nothing is.
    pub text: String,
}

/// Reads an answer line by line. `find_line` gives the text of a line, if the changes have that file and the file that line.
pub fn read_review(answer: &str, mut find_line: impl FnMut(&str, u32) -> Option<String>) -> ReviewAnswer {
    let (mut findings, mut text, mut left_out, mut lookups) = (Vec::new(), String::new(), 0_usize, 0);
    for line in answer.lines() {
        let mut places = places(line).peekable();
        if places.peek().is_some() && (findings.len() == MAX_FINDINGS || lookups >= MAX_LOOKUPS) {
            left_out += 1;
            continue;
        }
        let mut find = |place: Place| {
            lookups += 1;
            let quote = find_line(place.path, place.line)?;
            Some(Finding { path: place.path.to_owned(), line: place.line, quote, text: place.text })
        };
        match places.find_map(&mut find) {
            Some(finding) => findings.push(finding),
            None if text.len() <= TEXT_BYTES => {
                text += clean(line).trim_end();
                text.push('\n');
            }
            None => {}
        }
    }
    ReviewAnswer { findings, text: bounded(&text, left_out) }
}

/// A place that a line may begin with, and what is said about it.
struct Place<'a> {
    path: &'a str,
    line: u32,
    text: String,
}

/// Every reading of a line as `PATH:LINE: text`: a path may hold colons and numbers of its own.
fn places(line: &str) -> impl Iterator<Item = Place<'_>> {
    let line = without_bullet(line.trim()).trim_start_matches(['`', '*']);
    let readings = line.match_indices(':').filter_map(|(at, _)| {
        let path = line[..at].trim_end_matches('`');
        let path = path.strip_prefix("./").unwrap_or(path);
        let (number, rest) = digits(&line[at + 1..])?;
        let number = number.parse().ok().filter(|number| *number > 0)?;
        let rest = range_end(rest).trim_start_matches(['`', '*']);
        let text = clean(rest.strip_prefix(':')?.trim_start_matches(['`', '*']));
        let text = cut(text.trim(), FINDING_CHARS);
        (!path.is_empty() && text.chars().any(char::is_alphanumeric)).then_some(Place { path, line: number, text })
    });
    readings.take(MAX_READINGS)
}

/// A line of a list without what makes it one: `- `, `* `, `1. `.
fn without_bullet(line: &str) -> &str {
    let numbered = digits(line).and_then(|(_, rest)| rest.strip_prefix(['.', ')']));
    let rest = line.strip_prefix(['-', '*', '+', '•']).or(numbered);
    rest.filter(|rest| rest.starts_with(' ')).unwrap_or(line).trim_start()
}

/// The number that a text begins with, and what follows it.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// What follows `-20` in `10-20`; the comment stands on the first line.
fn range_end(rest: &str) -> &str {
    let end = rest.strip_prefix(['-', '–']).and_then(digits);
    end.map_or(rest, |(_, rest)| rest)
}

/// Without characters that no person sees, or that move what they see.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| is_shown(*c)).collect()
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The words around the findings, if they say something; what is missing is said behind them.
fn bounded(text: &str, left_out: usize) -> String {
    // A fence around the findings leaves nothing but its marks.
    let text = if text.chars().any(char::is_alphanumeric) { text.trim() } else { "" };
    let end = text.floor_char_boundary(TEXT_BYTES);
    let rest = (end < text.len()).then(|| CUT.to_owned());
    let more = (left_out > 0).then(|| format!("[{left_out} more findings are left out]"));
    let text = (end > 0).then(|| text[..end].trim_end().to_owned());
    text.into_iter().chain(rest).chain(more).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every changed file has 20 lines.
    fn read(answer: &str) -> ReviewAnswer {
        let changed = ["src/a.rs", "b c.rs", "odd:7", "Makefile"];
        read_review(answer, |path, line| {
            (changed.contains(&path) && (1..=20).contains(&line)).then(|| format!("{path} {line}"))
        })
    }

    #[test]
    fn a_line_that_names_a_place_is_a_finding() {
        let check = |line: &str, expected: Option<(&str, u32, &str)>| {
            let ReviewAnswer { findings, text } = read(line);
            let found = findings.iter().map(|found| (found.path.as_str(), found.line, found.text.as_str())).next();
            assert_eq!(found, expected, "{line}");
            assert_eq!(text.is_empty(), expected.is_some(), "{line}");
        };
        for (line, place, text) in [
            ("src/a.rs:3: wrong", ("src/a.rs", 3), "wrong"),
            ("  - src/a.rs:3: wrong: twice ", ("src/a.rs", 3), "wrong: twice"),
            ("* `src/a.rs:3`: wrong", ("src/a.rs", 3), "wrong"),
            ("`src/a.rs`:3: wrong", ("src/a.rs", 3), "wrong"),
            ("**src/a.rs:3:** wrong", ("src/a.rs", 3), "wrong"),
            ("12. ./src/a.rs:3-9: wrong", ("src/a.rs", 3), "wrong"),
            ("2) src/a.rs:3–9:wrong", ("src/a.rs", 3), "wrong"),
            ("b c.rs:20: wrong", ("b c.rs", 20), "wrong"),
            ("odd:7:1: wrong", ("odd:7", 1), "wrong"),
            ("Makefile:1: \u{1b}[31mwrong\u{202e}\u{7} `x`", ("Makefile", 1), "[31mwrong `x`"),
        ] {
            check(line, Some((place.0, place.1, text)));
        }
        for line in [
            "src/a.rs:21: beyond the end",
            "src/a.rs:0: before the beginning",
            "src/a.rs:99999999999: too many",
            "src/b.rs:3: not among the changes",
            "../src/a.rs:3: outside",
            "/etc/passwd:1: outside",
            "src/a.rs: no line",
            "src/a.rs:3 no colon",
            "see http://localhost:80: it works",
            ":3: no path",
            "src/a.rs:3: …",
            "All in all it is good.",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn what_is_no_finding_is_kept_as_it_stands() {
        let answer = "```\nsrc/a.rs:3: one\nsrc/z.rs:1: elsewhere\n\n- b c.rs:2: two\n```\n\nGood,\r\n  but late.";
        let ReviewAnswer { findings, text } = read(answer);
        let places: Vec<_> = findings.iter().map(|found| format!("{}|{}", found.quote, found.text)).collect();
        assert_eq!(places, ["src/a.rs 3|one", "b c.rs 2|two"]);
        assert_eq!(text, "```\nsrc/z.rs:1: elsewhere\n\n```\n\nGood,\n  but late.");
        assert_eq!(read("```\nsrc/a.rs:3: one\n```").text, "");
    }

    #[test]
    fn ten_thousand_findings_become_a_few() {
        let found = read(&"src/a.rs:3: again\n".repeat(10_000));
        assert_eq!(found.findings.len(), MAX_FINDINGS);
        assert_eq!(found.text, "[9950 more findings are left out]");
        let mut lookups = 0;
        let found = read_review(&"none.rs:3: again\n".repeat(10_000), |_, _| {
            lookups += 1;
            None
        });
        assert_eq!((lookups, found.findings.len()), (MAX_LOOKUPS, 0));
        assert!(found.text.len() < 2 * TEXT_BYTES && found.text.ends_with("[9600 more findings are left out]"));
        let long = read(&format!("src/a.rs:3: {}\n{}", "é".repeat(9_999), "é".repeat(99_999)));
        assert_eq!(long.findings[0].text.chars().count(), FINDING_CHARS + 1);
        assert!(long.text.len() <= TEXT_BYTES + 2 + CUT.len() && long.text.ends_with(CUT), "{}", long.text.len());
    }

    proptest! {
        #[test]
        fn any_answer_is_read_within_bounds(answer in "(?s).{0,400}", line in "[-*` ]{0,3}src/a\\.rs:[0-9]{1,3}.{0,40}") {
            let found = read(&format!("{answer}\n{line}"));
            prop_assert!(found.findings.len() <= MAX_FINDINGS && found.text.len() <= 2 * TEXT_BYTES);
            for finding in &found.findings {
                prop_assert!((1..=20).contains(&finding.line) && !finding.text.is_empty());
                prop_assert!(finding.text.chars().all(is_shown));
            }
            prop_assert!(found.text.chars().all(|c| c == '\n' || is_shown(c)));
        }

        #[test]
        fn no_words_are_lost(words in prop::collection::vec("[a-z]{1,8}( [a-z]{1,8}){0,3}", 0..20)) {
            prop_assert_eq!(read(&words.join("\n")).text, words.join("\n"));
        }
    }
}
