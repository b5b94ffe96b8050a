//! What a person says about lines of the changes, as the task of one turn.

use askama::Template;

use super::text;

/// Something said about one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub path: String,
    pub line: u32,
    pub side: Side,
    /// The line itself; empty when nobody knows it.
    pub quote: String,
    pub text: String,
}

/// Which file the number of a line counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The one before the changes.
    Old,
    /// The one with them.
    New,
}

/// The task that carries all comments: file by file, each from its first line on.
pub fn comments(mut comments: Vec<Comment>) -> String {
    comments.sort_by(|a, b| (&a.path, a.line, a.side).cmp(&(&b.path, b.line, b.side)));
    for comment in &mut comments {
        comment.path = on_one_line(&comment.path);
        comment.quote = comment.quote.trim().to_owned();
        comment.text = comment.text.trim().to_owned();
    }
    text(&Comments { comments })
}

/// A path stands on a line of its own, whatever is in it.
fn on_one_line(path: &str) -> String {
    path.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[derive(Template)]
#[template(path = "prompt/comments.md")]
struct Comments {
    comments: Vec<Comment>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(path: &str, line: u32, side: Side, quote: &str, text: &str) -> Comment {
        Comment { path: path.into(), line, side, quote: quote.into(), text: text.into() }
    }

    #[test]
    fn a_path_stays_on_its_line() {
        let text = comments(vec![comment("a\nb\u{1b}.rs", 1, Side::New, "", "why?")]);
        assert!(text.contains("\na\\nb\\u{1b}.rs:1\n"), "{text}");
    }

    #[test]
    fn one_comment_is_quoted_and_placed() {
        let one = comment("src/limit.rs", 11, Side::New, "    let cap = self.config.burst;", " read it once\n");
        insta::assert_snapshot!(comments(vec![one]), @r"
        A comment on your changes. Lines may have moved since; what is quoted says which one is meant.

        src/limit.rs:11
        > let cap = self.config.burst;
        read it once

        Deal with each of them, or say in `answer` why not.
        ");
    }

    #[test]
    fn comments_stand_by_file_and_line_and_nothing_is_escaped() {
        let all = vec![
            comment("src/b.rs", 2, Side::New, "", "no quote"),
            comment("src/a.rs", 30, Side::New, "if a < b && c {", "why `<`?\n\nTwo paragraphs."),
            comment("src/a.rs", 4, Side::New, "new", "after"),
            comment("src/a.rs", 4, Side::Old, "old", "before"),
            comment("src/a.rs", 4, Side::Old, "old", "and again"),
        ];
        insta::assert_snapshot!(comments(all), @r"
        5 comments on your changes. Lines may have moved since; what is quoted says which one is meant.

        src/a.rs:4 (as it was before your changes)
        > old
        before

        src/a.rs:4 (as it was before your changes)
        > old
        and again

        src/a.rs:4
        > new
        after

        src/a.rs:30
        > if a < b && c {
        why `<`?

        Two paragraphs.

        src/b.rs:2
        no quote

        Deal with each of them, or say in `answer` why not.
        ");
    }
}
