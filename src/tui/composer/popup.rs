//! What can complete the word before the cursor: commands, their arguments, files and skills.

use ratatui_textarea::DataCursor;

use super::command::{self, Command};
use super::draft::Draft;
use super::{Target, target};
use crate::look::line::one_line;
use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::picker::fuzzy::Fuzzy;

/// So many rows are offered.
const ROWS: usize = 8;

/// A word that can be completed, and what it can become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Popup {
    pub(super) word: Word,
    pub(super) rows: Vec<Row>,
    pub(super) cursor: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// What stands in place of the word.
    pub(super) whole: String,
    pub(super) about: String,
}

/// The word before the cursor, its sign included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) kind: Kind,
    /// Where it begins, in characters.
    place: (usize, usize),
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    Argument(Command),
    File,
    Skill,
}

/// Which key asks for the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Tab,
    Enter,
}

/// Finds the word that the cursor stands behind, if it is one that can be completed.
fn word(lines: &[String], DataCursor(row, column): DataCursor) -> Option<Word> {
    let before: String = lines.get(row)?.chars().take(column).collect();
    if lines.len() == 1 && before.starts_with('/') {
        return match before.split_once(char::is_whitespace) {
            None => Some(Word { kind: Kind::Command, place: (0, 0), text: before }),
            Some((name, rest)) => {
                let kind = Kind::Argument(Command::named(&name[1..])?);
                let text = rest.trim_start().to_owned();
                Some(Word { kind, place: (0, before.chars().count() - text.chars().count()), text })
            }
        };
    }
    let text = before.rsplit(char::is_whitespace).next()?.to_owned();
    let kind = match text.chars().next()? {
        '@' => Kind::File,
        '$' => Kind::Skill,
        _ => return None,
    };
    Some(Word { kind, place: (row, column - text.chars().count()), text })
}

/// Offers what fits to where the cursor is; a word that was waved away stays so.
pub(super) fn refresh(model: &mut Model) -> Vec<Request> {
    let target = target(model);
    let state = &mut model.composer;
    let Some(draft) = state.drafts.get(&target).filter(|draft| draft.browse.is_none()) else {
        state.popup = None;
        return Vec::new();
    };
    let Some(word) = word(draft.area.lines(), draft.area.cursor()) else {
        (state.popup, state.dismissed) = (None, None);
        return Vec::new();
    };
    if state.dismissed == Some(word.place) {
        return Vec::new();
    }
    state.dismissed = None;
    let before = state.popup.take();
    let asked = match (word.kind, &before) {
        (Kind::File, Some(Popup { word: Word { kind: Kind::File, .. }, .. })) => None,
        (Kind::File, _) => state.files.ask(&target, model.now),
        (Kind::Command | Kind::Argument(_) | Kind::Skill, _) => None,
    };
    let rows = rows(model, &word);
    let cursor = before.filter(|before| before.word == word).map_or(0, |before| before.cursor);
    let cursor = cursor.min(rows.len().saturating_sub(1));
    model.composer.popup = (!rows.is_empty() || word.kind == Kind::File).then_some(Popup { word, rows, cursor });
    asked.into_iter().collect()
}

/// What a slash alone offers, the first under the cursor.
const USUAL: [&str; 8] = ["/model", "/agent", "/reasoning", "/plan", "/diff", "/merge", "/undo", "/help"];

/// What was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completed {
    /// A command that is obeyed at once: what was typed begins no other.
    Command,
    /// What can be written on, or sent when it was read.
    Word,
}

fn rows(model: &mut Model, word: &Word) -> Vec<Row> {
    match word.kind {
        Kind::Command => {
            let mut known: Vec<_> =
                command::all().map(|command| (format!("/{}", command.word), command.help.to_owned())).collect();
            if word.text == "/" {
                let place = |word: &str| USUAL.iter().position(|usual| *usual == word).unwrap_or(USUAL.len());
                known.sort_by_key(|(word, _)| place(word));
                return known.into_iter().take(ROWS).map(|(whole, about)| Row { whole, about }).collect();
            }
            best(known, &word.text)
        }
        Kind::Argument(command) => {
            let known = command.arguments(model).unwrap_or_default();
            best(known.into_iter().map(|known| (known, String::new())).collect(), &word.text)
        }
        Kind::File => {
            let files = model.composer.files.best(word.text.get(1..).unwrap_or_default(), ROWS);
            files.into_iter().map(|whole| Row { whole, about: String::new() }).collect()
        }
        Kind::Skill => {
            let skills = model.world.skills.iter();
            best(skills.map(|skill| (format!("${}", skill.name), one_line(&skill.description))).collect(), &word.text)
        }
    }
}

fn best(known: Vec<(String, String)>, query: &str) -> Vec<Row> {
    let found = Fuzzy::new(known.iter().map(|(whole, _)| whole.clone()).collect()).best(query, ROWS);
    let row = |index: usize| known.get(index).map(|(whole, about)| Row { whole: whole.clone(), about: about.clone() });
    found.into_iter().filter_map(row).collect()
}

/// Completes the word; `None` when there is nothing to complete.
pub(super) fn complete(model: &mut Model, by: By) -> Option<Completed> {
    let target = target(model);
    let Popup { word, rows, cursor } = model.composer.popup.as_ref()?;
    let row = rows.get(*cursor)?;
    // What is written in full is what was meant: Enter is free to send it.
    let is_written = word.kind == Kind::Command && *cursor == 0 && is_command(&word.text);
    if by == By::Enter && (row.whole == word.text || is_written) {
        return None;
    }
    let length = word.text.chars().count();
    let whole = match (word.kind, by) {
        (Kind::Command, By::Tab) if takes_argument(model, &row.whole) => format!("{} ", row.whole),
        (Kind::Command | Kind::Argument(_), _) => row.whole.clone(),
        (Kind::File, _) if row.whole.contains(char::is_whitespace) => format!("\"{}\" ", row.whole),
        (Kind::File | Kind::Skill, _) => format!("{} ", row.whole),
    };
    let completed = match word.kind {
        Kind::Command if begins_only(&word.text, &row.whole) => Completed::Command,
        Kind::Command | Kind::Argument(_) | Kind::File | Kind::Skill => Completed::Word,
    };
    draft(model, &target).replace_back(length, &whole);
    Some(completed)
}

fn is_command(text: &str) -> bool {
    Command::named(text.trim_start_matches('/')).is_some()
}

/// Whether this command can be meant by these letters, and no other.
fn begins_only(letters: &str, command: &str) -> bool {
    let begins = |known: &Command| format!("/{}", known.word).starts_with(letters);
    let mut begun = command::all().filter(begins).peekable();
    begun.peek().is_some() && begun.all(|known| command.trim_start_matches('/') == known.word)
}

fn takes_argument(model: &Model, command: &str) -> bool {
    Command::named(command.trim_start_matches('/')).is_some_and(|command| command.arguments(model).is_some())
}

fn draft<'a>(model: &'a mut Model, target: &Target) -> &'a mut Draft {
    model.composer.drafts.entry(target.clone()).or_default()
}

/// Waves the completion away; `false` when there is none.
pub(super) fn dismiss(model: &mut Model) -> bool {
    match model.composer.popup.take() {
        Some(popup) => {
            model.composer.dismissed = Some(popup.word.place);
            true
        }
        None => false,
    }
}

/// Moves the cursor among the rows, round at the ends; `false` when there are none.
pub(super) fn step(model: &mut Model, by: isize) -> bool {
    let Some(popup) = model.composer.popup.as_mut().filter(|popup| !popup.rows.is_empty()) else { return false };
    popup.cursor = (popup.cursor + popup.rows.len()).saturating_add_signed(by) % popup.rows.len();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_before_the_cursor_says_what_can_complete_it() {
        for (text, expected) in [
            ("/", Some("command /")),
            ("/mo", Some("command /mo")),
            ("/usr/bin", Some("command /usr/bin")),
            ("/model cl", Some("argument cl")),
            ("/model   cl", Some("argument cl")),
            ("/nothing cl", None),
            (" /mo", None),
            ("/mo\nmore", None),
            ("see @src", Some("file @src")),
            ("@", Some("file @")),
            ("mail me@here", None),
            ("use $rev", Some("skill $rev")),
            ("done @src ", None),
            ("two\n@ü", Some("file @ü")),
            ("", None),
        ] {
            let lines: Vec<_> = text.split('\n').map(ToOwned::to_owned).collect();
            let end = DataCursor(lines.len() - 1, lines[lines.len() - 1].chars().count());
            let found = word(&lines, end).map(|word| match word.kind {
                Kind::Command => format!("command {}", word.text),
                Kind::Argument(_) => format!("argument {}", word.text),
                Kind::File => format!("file {}", word.text),
                Kind::Skill => format!("skill {}", word.text),
            });
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }
}
