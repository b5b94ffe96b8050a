//! The source of an opaque text in one spelling: each expansion as `${…}`, inside quotes and outside, and each
//! substitution as a variable, with its commands on a line of their own. It knows the values that the text itself gives
//! to variables; what a word becomes by any other variable is not known.

use std::collections::{BTreeMap, VecDeque};

use super::wrapper::is_assignment;

/// Programs that print their words, or where they are.
const PRINTING: [&str; 5] = ["echo ", "printf ", "which ", "command -v ", "type -p "];

/// Substitutions that print nothing.
const SILENT: [&str; 3] = ["", ":", "true"];

/// A value that is not known, and one that is not worked out because there are too many.
const UNKNOWN: &str = "${_}";
const TOO_MANY: &str = "${^}";

/// How many values a word may have, and how many words braces may make of one.
pub(super) const MOST_VALUES: usize = 64;

/// How long an expansion or a word with braces may be, how long a value is, and how many substitutions are taken out.
const LONGEST_BRACED: usize = 512;
const LONGEST_VALUE: usize = 4096;
const MOST_SUBSTITUTIONS: usize = 64;

/// How deep values may stand in each other.
const DEEPEST_VALUE: usize = 8;

pub(super) struct Source {
    pub text: String,
    values: BTreeMap<String, Vec<String>>,
}

impl Source {
    pub(super) fn read(text: &str) -> Self {
        let values = BTreeMap::from([("IFS".to_owned(), vec![" ".to_owned()])]);
        let mut source = Self { text: String::new(), values };
        let mut bodies = VecDeque::from([text.replace("\\\n", "")]);
        while let Some(body) = bodies.pop_front() {
            source.add(&body, &mut bodies);
            source.text.push('\n');
        }
        // A loop may use a variable that is set in a loop.
        for _ in 0..2 {
            source.add_assignments();
            source.add_loops();
        }
        source.add_unknown();
        source
    }

    /// The words that a word may become. What is not known stays an expansion.
    pub(super) fn expand(&self, word: &str) -> Vec<String> {
        self.expand_at(word, 0)
    }

    /// Whether not all words are known that a word may become.
    pub(super) fn is_cut_short(word: &str) -> bool {
        word.contains(TOO_MANY)
    }

    /// Adds a text, and what its substitutions run to `bodies`.
    fn add(&mut self, text: &str, bodies: &mut VecDeque<String>) {
        let mut rest = text;
        let mut is_open = false;
        while let Some(at) = rest.find(['$', '`']) {
            self.text.push_str(&rest[..at]);
            let is_backtick = rest[at..].starts_with('`');
            let behind = &rest[at + 1..];
            let inside = if is_backtick { Some(behind) } else { behind.strip_prefix('(') };
            let name_end = behind.find(|c| !is_of_name(c)).unwrap_or(behind.len());
            rest = behind;
            if let Some(inside) = inside {
                let end = if is_backtick { inside.find('`') } else { closing_parenthesis(inside) };
                let end = end.filter(|_| !is_open);
                is_open |= end.is_none();
                match end.filter(|end| !is_uncertain(&inside[..*end]) && self.values.len() < MOST_SUBSTITUTIONS) {
                    Some(end) => {
                        let name = format!("^{}", self.values.len());
                        self.text.push_str(&format!("${{{name}}}"));
                        self.values.insert(name, printed_values(&inside[..end]));
                        bodies.push_back(inside[..end].to_owned());
                        rest = &inside[end + 1..];
                    }
                    // The sign that is left means that nobody knows how the word goes on.
                    None if is_backtick && is_open => self.text.push('`'),
                    None => self.text.push_str(if is_backtick { "$`" } else { "$" }),
                }
            } else if name_end > 0 && !behind.starts_with(|c: char| c.is_ascii_digit()) {
                self.text.push_str(&format!("${{{}}}", &behind[..name_end]));
                rest = &behind[name_end..];
            } else if let Some(sign) = behind.chars().next().filter(|c| c.is_ascii_digit() || "@*#?!-$".contains(*c)) {
                self.text.push_str(&format!("${{{sign}}}"));
                rest = &behind[1..];
            } else {
                self.text.push('$');
            }
        }
        self.text.push_str(rest);
    }

    fn add_assignments(&mut self) {
        let text = std::mem::take(&mut self.text);
        for (at, _) in text.match_indices('=') {
            let before = text[..at].strip_suffix('+').unwrap_or(&text[..at]);
            let name = &before[before.trim_end_matches(is_of_name).len()..];
            if !is_assignment(&format!("{name}=")) {
                continue;
            }
            let behind = &text[at + 1..];
            let plain = behind.split(|c: char| " \t\n;|&)'\"".contains(c)).next().unwrap_or_default();
            let prefixes = match before.len() < at {
                true => self.values.get(name).cloned().unwrap_or_default(),
                false => vec![String::new()],
            };
            for value in [plain, &first_word(behind)] {
                for value in self.expand(value) {
                    prefixes.iter().for_each(|prefix| self.add_value(name, format!("{prefix}{value}")));
                }
            }
        }
        self.text = text;
    }

    fn add_loops(&mut self) {
        let text = std::mem::take(&mut self.text);
        for (at, opening) in text.match_indices("for ").chain(text.match_indices("select ")) {
            let Some((name, rest)) = text[at + opening.len()..].trim_start().split_once(" in ") else { continue };
            if !is_assignment(&format!("{name}=")) {
                continue;
            }
            let words = rest.split([';', '\n']).next().unwrap_or_default().replace(['\'', '"', '\\'], "");
            let mut values = Vec::new();
            words.split_whitespace().for_each(|word| expand_braces(word, &mut values));
            let values: Vec<_> = values.iter().flat_map(|word| self.expand(word)).collect();
            values.into_iter().for_each(|value| self.add_value(name, value));
        }
        self.text = text;
    }

    /// Adds that a variable may have another value where it is named in any other way, as by `read`.
    fn add_unknown(&mut self) {
        let mut unclear: Vec<String> = Vec::new();
        let mut at = 0;
        for name in self.text.split(|c| !is_of_name(c)) {
            let (before, behind) = (&self.text[..at], &self.text[at + name.len()..]);
            at += name.len() + behind.chars().next().map_or(0, char::len_utf8);
            let is_loop = || (before.ends_with("for ") || before.ends_with("select ")) && behind.starts_with(" in ");
            // `declare -n x=y` makes it another name for a variable.
            let has_option = || before.trim_end().rsplit([' ', '\n']).next().is_some_and(|word| word.starts_with('-'));
            let is_set = || (behind.starts_with('=') || behind.starts_with("+=")) && !has_option();
            let is_clear = before.ends_with("${") || is_set() || is_loop();
            if !is_clear && self.values.contains_key(name) {
                unclear.push(name.to_owned());
            }
        }
        unclear.iter().for_each(|name| self.add_value(name, UNKNOWN.to_owned()));
    }

    fn add_value(&mut self, name: &str, value: String) {
        let values = self.values.entry(name.to_owned()).or_default();
        let is_short = values.len() < MOST_VALUES && value.len() <= LONGEST_VALUE;
        let value = if is_short { value } else { TOO_MANY.to_owned() };
        if !values.contains(&value) {
            values.push(value);
        }
    }

    fn expand_at(&self, word: &str, depth: usize) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut rest = word;
        while let Some((before, behind)) = rest.split_once("${") {
            let Some(end) = closing_brace(behind) else { break };
            let values = self.values_of(&behind[..end], depth);
            if found.len() * values.len() > MOST_VALUES {
                return vec![TOO_MANY.to_owned()];
            }
            let pairs = found.iter().flat_map(|known| values.iter().map(move |value| (known, value)));
            found = pairs.map(|(known, value)| format!("{known}{before}{value}")).collect();
            rest = &behind[end + 1..];
        }
        found.iter_mut().for_each(|word| word.push_str(rest));
        found
    }

    /// The values of what stands in the braces of an expansion.
    fn values_of(&self, inside: &str, depth: usize) -> Vec<String> {
        let end = inside.find(|c| !is_of_name(c) && c != '^').unwrap_or(inside.len());
        let (name, operator) = inside.split_at(end);
        let unknown = if name.is_empty() { UNKNOWN.to_owned() } else { format!("${{{name}}}") };
        let mut values = self.values.get(name).cloned().unwrap_or_default();
        // A text that sets it may still mean the one that was there before.
        if values.is_empty() && !name.starts_with('^') || name == "HOME" {
            values.push(unknown.clone());
        }
        let choice = operator.strip_prefix(':').unwrap_or(operator);
        match choice.strip_prefix(['-', '=', '+']) {
            None if operator.is_empty() => values,
            None => vec![unknown],
            Some(_) if depth >= DEEPEST_VALUE => vec![unknown],
            Some(other) => {
                values.retain(|value| *value != unknown);
                values.extend(choice.starts_with('+').then(String::new));
                values.extend(self.expand_at(&other.replace(['\'', '"', '\\'], ""), depth + 1));
                values
            }
        }
    }
}

/// The words that braces make of one. Braces with a range stay, and mean anything.
pub(super) fn expand_braces(text: &str, found: &mut Vec<String>) {
    let is_small = text.len() <= LONGEST_BRACED && found.len() < MOST_VALUES;
    let opens = text.match_indices('{').filter(|(at, _)| is_small && !text[..*at].ends_with('$'));
    for (open, _) in opens {
        let inside = &text[open + 1..];
        let Some(close) = closing_brace(inside) else { continue };
        let options = split_options(&inside[..close]);
        if options.len() > 1 {
            let word = |option: &str| format!("{}{option}{}", &text[..open], &inside[close + 1..]);
            return options.into_iter().for_each(|option| expand_braces(&word(option), found));
        }
    }
    if !text.is_empty() {
        found.push(text.to_owned());
    }
}

/// Where the brace is that closes one before the text.
pub(super) fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().take(LONGEST_BRACED) {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The parts between commas that stand in no further braces.
fn split_options(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_between = |c: char| {
        depth = if c == '{' { depth + 1 } else { depth.saturating_sub(usize::from(c == '}')) };
        c == ',' && depth == 0
    };
    text.split(is_between).collect()
}

/// Where the parenthesis is that closes one before the text.
fn closing_parenthesis(text: &str) -> Option<usize> {
    let mut open = vec![')'];
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        let is_quoted = open.last() == Some(&'"');
        match c {
            '\\' => drop(characters.next()),
            '\'' if !is_quoted => drop(characters.find(|(_, c)| *c == '\'')),
            '"' if is_quoted => drop(open.pop()),
            '"' => open.push('"'),
            '(' if !is_quoted || text[..at].ends_with('$') => open.push(')'),
            ')' if !is_quoted => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether the end of a substitution may be another one: branches, comments and here-documents may hold any sign.
fn is_uncertain(body: &str) -> bool {
    body.contains('#') || body.contains("<<") || body.contains("case")
}

/// The words that a substitution may stand for; none when nothing is known about them.
fn printed_values(body: &str) -> Vec<String> {
    let body = body.trim();
    if SILENT.contains(&body) {
        return vec![String::new()];
    }
    let Some(words) = PRINTING.iter().find_map(|program| body.strip_prefix(program)) else {
        return vec![UNKNOWN.to_owned()];
    };
    let is_plain = !words.contains(|c: char| "%\\$`;|&<>()*?[{".contains(c));
    let words = words.replace(['\'', '"'], "");
    let mut values: Vec<_> = words.split_whitespace().take(MOST_VALUES - 2).map(str::to_owned).collect();
    values.extend([words].into_iter().filter(|words| !words.contains('$')));
    values.extend((!is_plain).then(|| UNKNOWN.to_owned()));
    values
}

/// The first word of a text, without its quotes.
fn first_word(text: &str) -> String {
    let mut word = String::new();
    let mut quote = None;
    let mut characters = text.chars().take(LONGEST_VALUE);
    while let Some(c) = characters.next() {
        match c {
            c if quote == Some(c) => quote = None,
            c if quote.is_some() => word.push(c),
            '\'' | '"' => quote = Some(c),
            '\\' => word.extend(characters.next()),
            c if " \t\n;|&)".contains(c) => break,
            c => word.push(c),
        }
    }
    word
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
