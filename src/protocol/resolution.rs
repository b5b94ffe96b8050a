//! The resolution of a conflict that a model proposes: one text for each marked region, in a form that is read strictly.
//!
//! An answer is taken whole or not at all. What a region is and where its text goes is `region`.

mod region;
#[cfg(test)]
mod tests;

use super::naming::is_shown;

pub use region::{ConflictRegion, FILE_LIMIT, MarkLabels, MarkedFile, MarkedFileError, cut_regions};

/// What every line begins with that divides an answer; no file that is asked about has such a line.
pub const DIVIDER: &str = "@@@ ";

/// Why an answer is no resolution. Regions are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("`answer` must begin with the line `@@@ region 1`")]
    TextBefore,
    #[error("line {line} of `answer` begins with `@@@` and is neither `@@@ region NUMBER` nor `@@@ end`")]
    UnknownDivider { line: usize },
    #[error("line {line} of `answer` is `@@@ region {found}` where `{expected}` must follow")]
    OutOfOrder { line: usize, found: usize, expected: String },
    #[error("`answer` ends after {answered} of {regions} regions")]
    Missing { answered: usize, regions: usize },
    #[error("`answer` does not end with the line `@@@ end`")]
    NoEnd,
    #[error("text follows the line `@@@ end` of `answer`")]
    TextAfter,
    #[error("the text for region {region} holds a conflict mark")]
    MarkLeft { region: usize },
    #[error("the text for region {region} holds `{escaped}`, a character that nobody sees")]
    Unseen { region: usize, escaped: String },
}

/// Reads the text for every region. `mark_sizes` says how long the marks of each region are. Lines end in `\n`.
pub fn parse_resolution(answer: &str, mark_sizes: &[usize]) -> Result<Vec<String>, AnswerError> {
    let regions = mark_sizes.len();
    let mut texts: Vec<String> = Vec::new();
    let mut has_ended = false;
    for (line, text) in (1..).zip(answer.lines()) {
        match read_divider(text) {
            _ if has_ended && text.trim().is_empty() => {}
            _ if has_ended => return Err(AnswerError::TextAfter),
            Divider::None => match texts.last_mut() {
                Some(last) => last.extend([text, "\n"]),
                None if text.trim().is_empty() => {}
                None => return Err(AnswerError::TextBefore),
            },
            Divider::Unknown => return Err(AnswerError::UnknownDivider { line }),
            Divider::Region(found) if found != texts.len() + 1 || found > regions => {
                let expected = match texts.len() < regions {
                    true => format!("@@@ region {}", texts.len() + 1),
                    false => "@@@ end".to_owned(),
                };
                return Err(AnswerError::OutOfOrder { line, found, expected });
            }
            Divider::Region(_) => texts.push(String::new()),
            Divider::End if texts.len() < regions => {
                return Err(AnswerError::Missing { answered: texts.len(), regions });
            }
            Divider::End => has_ended = true,
        }
    }
    if texts.is_empty() && regions > 0 {
        return Err(AnswerError::TextBefore);
    }
    if texts.len() < regions {
        return Err(AnswerError::Missing { answered: texts.len(), regions });
    }
    if !has_ended {
        return Err(AnswerError::NoEnd);
    }
    for (region, text) in (1..).zip(&texts) {
        if let Some(unseen) = text.chars().find(|c| !matches!(c, '\n' | '\t') && !is_shown(*c)) {
            return Err(AnswerError::Unseen { region, escaped: unseen.escape_unicode().to_string() });
        }
    }
    let is_marked = |(text, size): &(&String, &usize)| text.lines().any(|line| region::looks_like_mark(line, **size));
    match texts.iter().zip(mark_sizes).position(|pair| is_marked(&pair)) {
        Some(at) => Err(AnswerError::MarkLeft { region: at + 1 }),
        None => Ok(texts),
    }
}

enum Divider {
    None,
    Region(usize),
    End,
    Unknown,
}

fn read_divider(line: &str) -> Divider {
    let Some(said) = line.strip_prefix(DIVIDER) else { return Divider::None };
    let is_number = |text: &&str| !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    match (said.trim_end(), said.trim_end().strip_prefix("region ").filter(is_number)) {
        ("end", _) => Divider::End,
        (_, Some(number)) => number.parse().map_or(Divider::Unknown, Divider::Region),
        (_, None) => Divider::Unknown,
    }
}
