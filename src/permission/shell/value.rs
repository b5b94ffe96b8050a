//! What variables of an opaque text stand for, as far as the text itself tells.

use std::collections::BTreeSet;

use super::SimpleCommand;
use super::budget::MOST_VALUES;
use super::source::{Source, UNKNOWN};
use super::wrapper::is_assignment;

/// How many variables of a word are replaced, one after the other.
const MOST_STEPS: usize = 4;

/// Values behind the names of their variables.
#[derive(Debug, Default, Clone)]
pub(in super::super) struct Values(pub(in super::super) BTreeSet<(String, String)>);

impl Values {
    /// The values that a text gives to its variables; `parts` are its commands, with quoted words whole.
    pub(super) fn read(source: &Source, parts: &[SimpleCommand]) -> Self {
        let mut values = Self(source.values.iter().cloned().collect());
        parts.iter().for_each(|part| values.add_assigned(part));
        if source.text.contains("${PWD}") {
            values.0.insert(("PWD".to_owned(), ".".to_owned()));
        }
        let words = parts.iter().flat_map(|part| {
            let texts = part.texts();
            let named = texts.windows(2).filter(|pair| !is_loop(pair[0])).map(|pair| pair[1]);
            named.collect::<Vec<_>>()
        });
        // Who names it without a sign may change it, as `read x` does.
        let changed: BTreeSet<_> =
            words.filter(|word| values.of_variable(word).next().is_some()).map(str::to_owned).collect();
        changed.iter().for_each(|name| values.add_unknown(name));
        values
    }

    /// What a word may become by the variables in it, which may stand for others; nothing if none of them is known.
    pub(in super::super) fn expand(&self, word: &str) -> BTreeSet<String> {
        let mut words = BTreeSet::from([word.to_owned()]);
        for _ in 0..MOST_STEPS {
            words = words.iter().flat_map(|word| self.replace_first(word)).take(MOST_VALUES + 1).collect();
        }
        words.remove(word);
        words
    }

    /// A word with each value of its first known variable.
    fn replace_first(&self, word: &str) -> Vec<String> {
        let mut names = word.match_indices("${").filter_map(|(at, _)| Some((at, word[at + 2..].split_once('}')?)));
        let known = names.find(|(_, (name, _))| self.of_variable(name).next().is_some());
        let Some((at, (name, rest))) = known else { return vec![word.to_owned()] };
        self.of_variable(name).map(|value| format!("{}{value}{rest}", &word[..at])).collect()
    }

    fn of_variable<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let known = self.0.range((name.to_owned(), String::new())..).take_while(move |(known, _)| known == name);
        known.map(|(_, value)| value.as_str())
    }

    /// Adds what a command assigns, and what a loop goes through.
    fn add_assigned(&mut self, command: &SimpleCommand) {
        let texts = command.texts();
        let head = texts.iter().take_while(|text| is_assignment(text)).count();
        for (at, text) in texts.iter().enumerate().filter(|(_, text)| is_assignment(text)) {
            let Some((name, value)) = text.split_once('=') else { continue };
            self.0.insert((name.trim_end_matches('+').to_owned(), value.to_owned()));
            // `declare -n x=y` makes it another name for a variable.
            if at > head || name.ends_with('+') {
                self.add_unknown(name.trim_end_matches('+'));
            }
        }
        let behind = texts.iter().position(|text| is_loop(text)).map(|at| &texts[at + 1..]);
        if let Some([name, _, values @ ..]) = behind {
            self.0.extend(values.iter().map(|value| ((*name).to_owned(), (*value).to_owned())));
        }
    }

    fn add_unknown(&mut self, name: &str) {
        self.0.insert((name.to_owned(), format!("${{{UNKNOWN}}}")));
    }
}

fn is_loop(word: &str) -> bool {
    matches!(word, "for" | "select")
}
