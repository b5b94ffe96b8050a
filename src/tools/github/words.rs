//! What may be published, the same for agents and for people. Pure.

/// The longest title, as of a commit's subject.
const TITLE: usize = 72;
/// The longest text of a pull request that GitHub takes, in characters.
const BODY: usize = 65_536;
/// The longest comment, in bytes.
const COMMENT: usize = 16_384;

/// Whether a pull request is opened as a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draft {
    Yes,
    No,
}

/// A title of one line, or what is wrong with it.
pub fn pull_title(title: &str) -> Result<String, String> {
    let title = title.trim();
    let count = title.chars().count();
    if title.is_empty() {
        return Err("the title is empty".to_owned());
    }
    if title.chars().any(char::is_control) {
        return Err("the title must be one line".to_owned());
    }
    if count > TITLE {
        return Err(format!("the title has {count} characters: give at most {TITLE}"));
    }
    if title.ends_with('.') {
        return Err("the title must not end with a period".to_owned());
    }
    Ok(title.to_owned())
}

/// The text of a pull request, or what is wrong with it. One that a person opens may have none.
pub fn pull_body(body: &str) -> Result<String, String> {
    let count = body.chars().count();
    match count > BODY {
        true => Err(format!("the body has {count} characters: GitHub takes at most {BODY}")),
        false => Ok(body.trim().to_owned()),
    }
}

/// The text of a comment, or what is wrong with it.
pub fn comment_body(body: &str) -> Result<String, String> {
    if body.trim().is_empty() {
        return Err("the body is empty".to_owned());
    }
    match body.len() > COMMENT {
        true => Err(format!("the body has {} bytes: give at most {COMMENT}", body.len())),
        false => Ok(body.to_owned()),
    }
}
