//! The tasks of questions on the side: a title, a commit message.
//!
//! What people, agents and files said is quoted: it is the matter of the question and never an instruction.

use askama::Template;

use super::text;

/// How much of a prompt a title is made of, in bytes.
const PROMPT_LIMIT: usize = 4 * 1024;

/// How much of a patch a message is made of, in bytes.
const PATCH_LIMIT: usize = 16 * 1024;

/// How much of a summary and of a table of files goes along, in bytes each.
const BRIEF_LIMIT: usize = 4 * 1024;

/// What a turn did, for a message about it.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    pub summary: &'a str,
    /// The table of files.
    pub stat: &'a str,
    pub patch: &'a str,
}

/// Asks for the title of a session that begins with this prompt.
pub fn title(prompt: &str) -> String {
    text(&Title { prompt: quoted(prompt, PROMPT_LIMIT) })
}

/// Asks for the message of a commit.
pub fn message(work: Work<'_>) -> String {
    let Work { summary, stat, patch } = work;
    let summary = quoted(summary, BRIEF_LIMIT);
    text(&Message { summary, stat: quoted(stat, BRIEF_LIMIT), patch: quoted(patch, PATCH_LIMIT) })
}

#[derive(Template)]
#[template(path = "prompt/title.md")]
struct Title {
    prompt: String,
}

#[derive(Template)]
#[template(path = "prompt/message.md")]
struct Message {
    summary: String,
    stat: String,
    patch: String,
}

/// The text as a quotation, cut at the limit.
fn quoted(text: &str, limit: usize) -> String {
    let text = text.trim_end();
    let end = text.floor_char_boundary(limit);
    let mut lines: Vec<_> = text[..end].lines().map(|line| format!("> {line}")).collect();
    if end < text.len() {
        lines.push("[the rest is left out]".to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_quoted_and_bounded() {
        assert_eq!(quoted("", 10), "");
        assert_eq!(quoted("one\n\n@two\n", 99), "> one\n> \n> @two");
        assert_eq!(quoted("äöü", 3), "> ä\n[the rest is left out]");
        let task = title(&"---\n".repeat(10_000));
        assert!(task.len() < 2 * PROMPT_LIMIT, "{}", task.len());
        assert!(task.lines().all(|line| line != "---"));
    }

    #[test]
    fn a_message_is_made_of_what_is_there() {
        let work = Work { summary: "Add a port", stat: " a | 1 +", patch: "+x" };
        let task = message(work);
        assert!(["> Add a port", ">  a | 1 +", "> +x"].iter().all(|part| task.contains(part)), "{task}");
        assert!(!message(Work { summary: " ", ..work }).contains("said about it"));
    }
}
