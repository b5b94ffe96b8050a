//! Just enough of Rust's surface to check walls: comments and strings told apart from code, and every path a file names.

/// A source file without what could mislead a search.
pub(crate) struct Code {
    /// The text with comments and the contents of literals blanked; lines keep their numbers.
    pub(crate) plain: String,
    /// Each string literal with its line.
    pub(crate) literals: Vec<(usize, String)>,
    /// Each comment with its line.
    pub(crate) comments: Vec<(usize, String)>,
}

/// Splits a file into code, string literals and comments.
pub(crate) fn split(text: &str) -> Code {
    let mut code = Code { plain: String::new(), literals: Vec::new(), comments: Vec::new() };
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let before = code.plain.chars().next_back().unwrap_or(' ');
        let taken = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            code.comments.push((line, rest[..end].to_owned()));
            end
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            code.comments.push((line, rest[..end].to_owned()));
            end
        } else if let Some((open, close)) = raw_string(rest, before) {
            let body = &rest[open..];
            let end = body.find(&close).unwrap_or(body.len());
            code.literals.push((line, body[..end].to_owned()));
            (open + end + close.len()).min(rest.len())
        } else if first == '"' {
            let end = 1 + quoted(&rest[1..], '"');
            code.literals.push((line, rest[1..end - 1].to_owned()));
            end
        } else if let Some(end) = char_literal(rest) {
            end
        } else {
            code.plain.push(first);
            line += usize::from(first == '\n');
            rest = &rest[first.len_utf8()..];
            continue;
        };
        // A blank stands for what was taken out, so that the words beside it do not join.
        code.plain.push(' ');
        code.plain.extend(rest[..taken].chars().filter(|&c| c == '\n'));
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    code
}

/// The length of a raw string's opening and its closing mark.
fn raw_string(text: &str, before: char) -> Option<(usize, String)> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let starts = !before.is_alphanumeric() && before != '_' && after[hashes..].starts_with('"');
    starts.then(|| (text.len() - after.len() + hashes + 1, format!("\"{}", "#".repeat(hashes))))
}

/// The length of a quoted text up to and with its closing mark.
fn quoted(text: &str, close: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == close => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal; `None` for a lifetime.
fn char_literal(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let mut chars = body.chars();
    match chars.next()? {
        '\\' => Some(1 + quoted(body, '\'')),
        c if chars.next() == Some('\'') => Some(2 + c.len_utf8()),
        _ => None,
    }
}

/// What is compiled always, and what only for tests.
pub(crate) enum Part {
    Product,
    Tests,
}

/// One part of code that [`split`] has made plain; the other part's lines are blank.
pub(crate) fn part(plain: &str, wanted: &Part) -> String {
    let mut kept = String::new();
    let (mut lines, mut in_tests) = (plain.lines().peekable(), false);
    while let Some(line) = lines.next() {
        let begins = line.trim_start().starts_with("#[cfg(test)]");
        if begins && lines.peek().is_some_and(|next| next.trim_end().ends_with('{')) {
            // House style keeps the test module at the end of the file.
            in_tests = true;
        }
        let is_declaration = begins && !in_tests;
        let keep = matches!(wanted, Part::Tests) == (in_tests || is_declaration);
        kept.push_str(if keep { line } else { "" });
        kept.push('\n');
        if is_declaration && lines.next().is_some() {
            kept.push('\n');
        }
    }
    kept
}

/// Every path of plain code with its line; `use a::{b, c::d}` counts as `a::b` and `a::c::d`.
pub(crate) fn paths(plain: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (plain, 1);
    while let Some(first) = rest.chars().next() {
        if is_word(first) {
            let taken = tree(rest, "", line, &mut found);
            line += rest[..taken].matches('\n').count();
            rest = &rest[taken..];
        } else {
            line += usize::from(first == '\n');
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads one path, with the group that may end it; gives the length it took.
fn tree(text: &str, prefix: &str, line: usize, found: &mut Vec<(usize, String)>) -> usize {
    let mut path = prefix.to_owned();
    let mut at = 0;
    loop {
        let word = text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at);
        path.push_str(&text[at..at + word]);
        at += word;
        let Some(after) = text[at..].strip_prefix("::") else { break };
        let here = line + text[..at].matches('\n').count();
        if after.starts_with('{') {
            return at + 2 + group(after, &format!("{path}::"), here, found);
        }
        if !after.starts_with(is_word) {
            break;
        }
        path.push_str("::");
        at += 2;
    }
    if path.contains("::") {
        found.push((line, path));
    }
    at
}

/// Reads the members of `{…}`; gives the length with both braces.
fn group(text: &str, prefix: &str, line: usize, found: &mut Vec<(usize, String)>) -> usize {
    let mut at = 1;
    while let Some(first) = text[at..].chars().next() {
        if first == '}' {
            return at + 1;
        }
        if let Some(alias) = text[at..].strip_prefix("as ") {
            at += 3 + alias.find(|c| !is_word(c)).unwrap_or(alias.len());
            continue;
        }
        let here = line + text[..at].matches('\n').count();
        at += if is_word(first) { tree(&text[at..], prefix, here, found) } else { first.len_utf8() };
    }
    at
}

#[test]
fn comments_and_strings_are_not_code() {
    let code = split("let a = \"b\\\" // c\"; // d\n/* e\n */ let f = r#\"g\"h\"#; let i = '\"'; fn j<'k>() {}");
    assert_eq!(code.plain, "let a =  ;  \n \n let f =  ; let i =  ; fn j<'k>() {}");
    assert_eq!(code.literals, [(1, "b\\\" // c".to_owned()), (3, "g\"h".to_owned())]);
    assert_eq!(code.comments, [(1, "// d".to_owned()), (2, "/* e\n */".to_owned())]);
}

#[test]
fn grouped_imports_are_spelled_out() {
    let found = paths("use a::{b, c::{d, e as x},\n    f::*};\nlet g = h::i(j);");
    let expected = [(1, "a::b"), (1, "a::c::d"), (1, "a::c::e"), (2, "a::f"), (3, "h::i")];
    assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
}

#[test]
fn tests_are_told_apart_from_the_product() {
    let text = "#[cfg(test)]\nmod rows;\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    assert_eq!(part(text, &Part::Product), "\n\nfn a() {}\n\n\n\n\n");
    assert_eq!(part(text, &Part::Tests), "#[cfg(test)]\n\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
}
