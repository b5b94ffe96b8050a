//! How refusals, pages and long texts are read.

use super::*;

#[track_caller]
fn check(code: u16, headers: &[(&'static str, &str)], body: &str, said: &str) {
    let headers = headers.iter().map(|(name, value)| {
        (ureq::http::HeaderName::from_static(name), ureq::http::HeaderValue::from_str(value).unwrap())
    });
    let complaint = serde_json::from_str(body).unwrap_or_default();
    assert_eq!(refused(code, &headers.collect(), &complaint).to_string(), said);
}

#[test]
fn a_refusal_says_what_a_person_can_do() {
    let plain = r#"{"message": "Nope"}"#;
    check(401, &[], plain, "GitHub does not know the token");
    check(403, &[], plain, "GitHub does not allow it: Nope");
    check(403, &[("x-ratelimit-remaining", "41"), ("x-ratelimit-reset", "0")], plain, "GitHub does not allow it: Nope");
    let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000000")];
    let until = "GitHub takes no more requests until 2023-11-14 22:13:20 UTC";
    check(403, &spent, plain, until);
    check(429, &spent, plain, until);
    check(403, &[("retry-after", "60")], plain, "GitHub takes no more requests for 60 seconds");
    check(429, &[], plain, "GitHub takes no more requests");
    check(404, &[], plain, "GitHub has no such thing, or the login may not see it");
    check(500, &[], "<html>", "GitHub answers with status 500: no reason given");
    let details = r#"{"message": "Validation Failed", "errors": [
        {"resource": "PullRequest", "code": "custom", "message": "No commits between main\nand x"},
        {"field": "head", "code": "invalid"}, "plain words"]}"#;
    let told = "GitHub refuses it: Validation Failed (No commits between main and x; head invalid; plain words)";
    check(422, &[], details, told);
}

#[test]
fn the_next_page_is_found_among_the_links() {
    let both =
        r#"<https://a/x?page=1>; rel="prev", <https://a/x?page=3>; rel="next", <https://a/x?page=9>; rel="last""#;
    for (link, expected) in [
        (both, Some("https://a/x?page=3")),
        (r#"<https://a/x?page=1>; rel="prev""#, None),
        (r#"https://a; rel="next""#, None),
        ("", None),
    ] {
        assert_eq!(next_page(link).as_deref(), expected, "{link}");
    }
}

#[test]
fn a_long_text_is_cut_at_a_whole_character() {
    for (text, limit, kept, is_cut) in
        [("abc", 3, "abc", false), ("abcd", 3, "abc", true), ("a€b", 3, "a", true), ("a€b", 4, "a€", true)]
    {
        let expected = Cut { text: kept.to_owned(), is_cut };
        assert_eq!(cut(text.as_bytes()[..text.len().min(limit + 1)].to_vec(), limit), expected);
    }
}
