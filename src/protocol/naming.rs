//! Names taken from what people and agents wrote: titles, branch slugs, commit messages.
//!
//! A name that a model was asked for is taken whole or not at all: there always is one without it.

use super::response::Summary;

const TITLE_CHARS: usize = 60;
const SLUG_CHARS: usize = 40;
const SUBJECT_CHARS: usize = 72;

/// A longer message tells a story nobody asked for.
const MESSAGE_BYTES: usize = 4 * 1024;

/// A sentence shorter than this says too little to stand for the rest of its line.
const SENTENCE_CHARS: usize = 12;

/// What ends a part of a sentence that can stand alone.
const CLAUSE_ENDS: &[&str] = &[", ", "; ", ": ", " (", " - ", " – ", " — ", " so that ", " because ", " which "];

/// Makes a title of the first line that says something; empty when none does.
pub fn title_from(prompt: &str) -> String {
    let line = prompt.lines().map(plain_line).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    match first_sentence(&line) {
        Some(sentence) => sentence.to_owned(),
        None => cut(&line, TITLE_CHARS),
    }
}

/// The title that a model proposes, if it can stand in a list: one short line that says something.
pub fn title_told(answer: &str) -> Option<String> {
    let line = unquoted(answer.trim());
    let line = line.strip_suffix('.').unwrap_or(line);
    let fits = line.chars().count() <= TITLE_CHARS && line.chars().any(char::is_alphanumeric);
    (fits && line.chars().all(is_shown) && plain_line(line) == line).then(|| line.to_owned())
}

/// The commit message that a model proposes, if it has the form of one: a short subject, then perhaps a body.
pub fn message_told(answer: &str) -> Option<String> {
    let told = answer.trim();
    let (subject, body) = told.split_once('\n').unwrap_or((told, ""));
    let subject = unquoted(subject.trim_end());
    let fits = subject.chars().count() <= SUBJECT_CHARS && subject.chars().any(char::is_alphanumeric);
    let is_apart = body.is_empty() || body.starts_with('\n');
    let is_shown = told.chars().all(|c| is_shown(c) || matches!(c, '\n' | '\t'));
    // A fence means that the model answered another question than ours.
    let is_plain = plain_line(subject) == subject && !told.contains("```") && told.len() <= MESSAGE_BYTES;
    (fits && is_apart && is_shown && is_plain).then(|| message(subject, body))
}

/// Makes the readable part of a branch name: `[a-z0-9-]`, never empty.
pub fn slug_from(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        let longer = if slug.is_empty() { word.to_owned() } else { format!("{slug}-{word}") };
        match longer.len() <= SLUG_CHARS {
            true => slug = longer,
            // Whole words read better, but a first word that is too long is all there is.
            false if slug.is_empty() => return word[..SLUG_CHARS].to_owned(),
            false => break,
        }
    }
    if slug.is_empty() { "session".to_owned() } else { slug }
}

/// The message of a turn's checkpoint: the turn's summary, else the title.
pub fn commit_message(summary: Option<&Summary>, title: &str, turn: u32) -> String {
    let told = summary.map_or("", |summary| summary.turn.trim());
    let (first, rest) = told.split_once('\n').unwrap_or((told, ""));
    let line = plain_line(first);
    if line.is_empty() {
        let suffix = format!(" (turn {turn})");
        let title = title_or_session(title);
        return message(&(cut_subject(&title, SUBJECT_CHARS - suffix.len()) + &suffix), told);
    }
    match line.chars().count() <= SUBJECT_CHARS {
        true => message(&line, rest),
        // What the subject loses must not be lost to the history.
        false => message(&whole_subject(first).or_else(|| shortened_subject(first)).unwrap_or(line), told),
    }
}

/// The title of a session, and where it is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTitle<'a> {
    /// A person or a model worded it.
    Worded(&'a str),
    /// The beginning of its first prompt, which may be cut off.
    FromPrompt(&'a str),
}

/// The message of a squash or a merge commit: its subject, and what all the turns that it takes have done. What an
/// agent says about the whole can be about its last turn alone, so the turns speak for themselves when there are several.
pub fn merge_message(title: SessionTitle<'_>, whole: &str, turns: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for turn in turns.iter().filter_map(|turn| turn.lines().map(plain_line).find(|line| !line.is_empty())) {
        if !lines.contains(&turn) {
            lines.push(turn);
        }
    }
    let whole = strip_own_trailers(whole);
    let subject = merge_subject(title, &whole, &lines);
    let is_said = |line: &str| plain_line(line).trim_end_matches('.') == subject;
    let (first, rest) = whole.trim().split_once('\n').unwrap_or((whole.trim(), ""));
    let told = if is_said(first) { rest } else { whole.trim() };
    if lines.len() < 2 {
        let is_shortened = |line: &&String| line.starts_with(&subject) && line.trim_end_matches('.') != subject;
        let turn = lines.first().filter(is_shortened).map_or("", String::as_str);
        return message(&subject, if told.is_empty() { turn } else { told });
    }
    let told = if lines.contains(&plain_line(told)) { "" } else { told };
    let list: Vec<_> = lines.iter().map(|line| format!("- {line}")).collect();
    message(&subject, &format!("{told}\n\n{}", list.join("\n")))
}

/// A line that says what was done: of the title if somebody worded it, else of what the agent says, else of the prompt.
fn merge_subject(title: SessionTitle<'_>, whole: &str, turns: &[String]) -> String {
    let (worded, prompted) = match title {
        SessionTitle::Worded(title) => (title, ""),
        SessionTitle::FromPrompt(title) => ("", title),
    };
    let whole = whole.lines().find(|line| !plain_line(line).is_empty()).unwrap_or_default();
    let first = turns.first().map_or("", String::as_str);
    // After several turns, the first one and the prompt are about a part of it.
    let said = if turns.len() > 1 { [whole, first] } else { [first, whole] };
    whole_subject(worded)
        .or_else(|| shortened_subject(worded))
        .or_else(|| said.into_iter().find_map(whole_subject))
        .or_else(|| said.into_iter().find_map(shortened_subject))
        .or_else(|| whole_subject(prompted))
        .or_else(|| shortened_subject(prompted))
        .unwrap_or_else(|| title_or_session(""))
}

/// The first clauses of a line that is too long, as many as fit; else its first words.
fn shortened_subject(line: &str) -> Option<String> {
    let line = plain_line(line);
    let line = line.trim_end_matches('…').trim_end();
    if !line.chars().any(char::is_alphanumeric) {
        return None;
    }
    let ends = CLAUSE_ENDS.iter().flat_map(|mark| line.match_indices(mark)).map(|(at, _)| &line[..at]);
    let fits = |clause: &&str| (SENTENCE_CHARS..=SUBJECT_CHARS).contains(&clause.chars().count());
    let clauses = ends.filter(fits).max_by_key(|clause| clause.len());
    let shortened = clauses.map_or_else(|| cut_subject(line, SUBJECT_CHARS), str::to_owned);
    Some(shortened.trim_end_matches([',', ';', ':', '-', ' ']).to_owned())
}

/// The beginning of a line that is too long, without a mark for what it loses.
fn cut_subject(line: &str, chars: usize) -> String {
    cut(line, chars).trim_end_matches('…').trim_end().to_owned()
}

/// A line as a subject, or its first sentence; none where both are too long or the line was cut off.
fn whole_subject(line: &str) -> Option<String> {
    let line = plain_line(line);
    let fits = |line: &&str| line.chars().count() <= SUBJECT_CHARS && line.chars().any(char::is_alphanumeric);
    let whole = Some(line.trim_end_matches('.')).filter(|line| !line.ends_with('…')).filter(fits);
    whole.or_else(|| first_sentence(&line)).map(str::to_owned)
}

/// An agent's text without lines that look like Coppice's own trailers.
pub fn strip_own_trailers(text: &str) -> String {
    let is_own = |line: &&str| {
        // A commit message loses the characters that are not shown, which could join a key.
        let shown: String = line.chars().filter(|c| is_shown(*c)).collect();
        let key = shown.split_once(':').map_or("", |(key, _)| key).trim().to_ascii_lowercase();
        key.starts_with("coppice-") && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.lines().filter(|line| !is_own(line)).collect::<Vec<_>>().join("\n")
}

/// Models like to put a name between quotes.
fn unquoted(line: &str) -> &str {
    let pairs = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')];
    let inside = pairs.iter().find_map(|(open, close)| line.strip_prefix(*open)?.strip_suffix(*close));
    inside.unwrap_or(line)
}

/// Whether a character shows as itself: those that steer a terminal or the direction of the text do not.
pub(super) fn is_shown(c: char) -> bool {
    let steers = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_control() && !steers
}

fn title_or_session(title: &str) -> String {
    match plain_line(title) {
        line if line.is_empty() => "session".to_owned(),
        line => line,
    }
}

fn message(subject: &str, body: &str) -> String {
    match strip_own_trailers(body).trim() {
        "" => subject.to_owned(),
        body => format!("{subject}\n\n{body}"),
    }
}

/// One line without Markdown's line markers, control characters and runs of space.
fn plain_line(line: &str) -> String {
    let spaced: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words =
        spaced.split_whitespace().skip_while(|word| word.chars().all(|c| matches!(c, '#' | '>' | '-' | '*' | '+')));
    words.collect::<Vec<_>>().join(" ")
}

fn first_sentence(line: &str) -> Option<&str> {
    let ends = line.match_indices(['.', ':', ';', '?', '!']).map(|(at, _)| at + 1);
    let mut sentences = ends.filter(|&end| line[end..].starts_with(' ')).map(|end| &line[..end]);
    let sentence = sentences.find(|sentence| sentence.chars().count() >= SENTENCE_CHARS)?;
    let sentence = sentence.trim_end_matches(['.', ':', ';']);
    (sentence.chars().count() <= TITLE_CHARS).then_some(sentence)
}

/// Cuts at a word when one ends in the second half, and marks the cut.
fn cut(line: &str, chars: usize) -> String {
    if line.chars().count() <= chars {
        return line.to_owned();
    }
    let end = line.char_indices().nth(chars - 1).map_or(line.len(), |(at, _)| at);
    let head = match line[..end].rfind(' ') {
        // A cut right before a space loses no part of a word.
        _ if line[end..].starts_with(' ') => &line[..end],
        Some(space) if space >= end / 2 => &line[..space],
        Some(_) | None => &line[..end],
    };
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':', '.', '-']))
}
