//! The words of a pull request when a person gives none: the session's title, its summary and its commits. Pure.

use crate::protocol::naming::{self, SessionTitle};

/// A title that the rules take.
pub(super) fn title(session: &str) -> String {
    let line = naming::merge_message(SessionTitle::Worded(session), "", &[]);
    let line = line.lines().next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if line.is_empty() { "session".to_owned() } else { line.to_owned() }
}

/// The summary, and the commits where there are several; `commits` has one a line, latest first, each after its id.
pub(super) fn body(summary: &str, commits: &str) -> String {
    let subjects: Vec<_> = commits.lines().rev().filter_map(|line| line.split_once(' ')).collect();
    let listed: Vec<_> = subjects.iter().map(|(_, subject)| format!("- {subject}")).collect();
    match (summary.trim(), listed.len()) {
        (summary, 0 | 1) => summary.to_owned(),
        ("", _) => listed.join("\n"),
        (summary, _) => format!("{summary}\n\n{}", listed.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::github::pull_title;

    #[test]
    fn a_title_is_always_one_that_may_be_published() {
        for (session, expected) in [
            ("fix the pump", "fix the pump"),
            ("Fix the pump.", "Fix the pump"),
            ("two\nlines...", "two lines"),
            ("", "session"),
            ("...", "session"),
        ] {
            assert_eq!(pull_title(&title(session)).as_deref(), Ok(expected), "{session}");
        }
        assert!(pull_title(&title(&"word ".repeat(50))).is_ok());
    }

    #[test]
    fn a_body_tells_the_summary_and_several_commits() {
        for (summary, commits, expected) in [
            ("Fixed it.", "", "Fixed it."),
            ("Fixed it.", "abc fix", "Fixed it."),
            ("Fixed it.", "def test it\nabc fix it\n", "Fixed it.\n\n- fix it\n- test it"),
            ("", "def test it\nabc fix it\n", "- fix it\n- test it"),
            ("", "", ""),
        ] {
            assert_eq!(body(summary, commits), expected);
        }
    }
}
