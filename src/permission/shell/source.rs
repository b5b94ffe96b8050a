//! The source of an opaque text in one spelling: each expansion as `${…}`, inside quotes and outside, and each
//! substitution as a variable, with its commands on a line of their own.

/// Programs that print their words, or where they are.
const PRINTING: [&str; 5] = ["echo ", "printf ", "which ", "command -v ", "type -p "];

/// The name of what no text gives a value to.
pub(super) const UNKNOWN: &str = "^";

/// How many words braces may make of one.
const MOST_WORDS: usize = 64;

/// How deep expansions and substitutions may stand in each other.
const DEEPEST: usize = 8;

/// How long an expansion or a word with braces may be, and how many substitutions are taken out.
const LONGEST_BRACED: usize = 512;
const MOST_SUBSTITUTIONS: usize = 64;

pub(super) struct Source {
    pub text: String,
    /// Words that the text gives to variables and substitutions, behind their names.
    pub values: Vec<(String, String)>,
    /// Whether expansions and substitutions stand deeper in each other than is read.
    pub is_too_deep: bool,
}

impl Source {
    pub(super) fn read(text: &str) -> Self {
        let mut source = Self { text: String::new(), values: Vec::new(), is_too_deep: false };
        // `~+` is the directory that it runs in.
        let mut bodies = vec![text.replace("\\\n", "").replace("~+", "${PWD}")];
        let mut most = MOST_SUBSTITUTIONS;
        for _ in 0..DEEPEST {
            for body in std::mem::take(&mut bodies) {
                source.add(&body, &mut bodies, &mut most);
                source.text.push('\n');
            }
        }
        source.is_too_deep = !bodies.is_empty();
        source.text.push_str(&bodies.join("\n"));
        source.text = source.text.replace("${IFS}", " ");
        source
    }

    /// Adds a text, and what its substitutions run to `bodies`.
    fn add(&mut self, text: &str, bodies: &mut Vec<String>, most: &mut usize) {
        let mut rest = text;
        let mut is_open = false;
        while let Some(at) = rest.find(['$', '`']) {
            self.text.push_str(&rest[..at]);
            let is_backtick = rest[at..].starts_with('`');
            let behind = &rest[at + 1..];
            let inside = if is_backtick { Some(behind) } else { behind.strip_prefix('(') };
            let is_special = behind.starts_with(|c: char| c.is_ascii_digit() || "@*#?!-$".contains(c));
            let length = if is_special { 1 } else { behind.find(|c| !is_of_name(c)).unwrap_or(behind.len()) };
            rest = behind;
            if let Some(inside) = inside {
                let find_end = || if is_backtick { inside.find('`') } else { closing_parenthesis(inside) };
                let end = if is_open || *most == 0 { None } else { find_end() };
                is_open |= end.is_none() && *most > 0;
                match end.filter(|end| !is_uncertain(&inside[..*end])) {
                    Some(end) => {
                        *most -= 1;
                        let (name, body) = (format!("^{most}"), &inside[..end]);
                        self.text.push_str(&format!("${{{name}}}"));
                        self.add_printed(&name, body.trim_start());
                        bodies.push(body.to_owned());
                        rest = &inside[end + 1..];
                    }
                    // The sign that is left means that nobody knows how the word goes on.
                    None if is_backtick && is_open => self.text.push('`'),
                    None => self.text.push_str(if is_backtick { "$`" } else { "$" }),
                }
            } else if let Some((name, operator, length)) = braced(behind).filter(|_| *most > 0) {
                *most -= 1;
                self.text.push_str(&format!("${{{name}}}"));
                let value = operator.strip_prefix(':').unwrap_or(operator);
                if let Some(value) = value.strip_prefix(['-', '=', '+']) {
                    self.add_value(name, value);
                } else if !value.is_empty() && !value.starts_with('?') {
                    // It makes something else of the value.
                    self.add_value(name, &format!("${{{UNKNOWN}}}"));
                }
                // What an operator goes by may run something.
                bodies.push(value.trim_start_matches(['-', '=', '+']).to_owned());
                rest = &behind[length..];
            } else if length > 0 {
                self.text.push_str(&format!("${{{}}}", &behind[..length]));
                rest = &behind[length..];
            } else {
                self.text.push('$');
            }
        }
        self.text.push_str(rest);
    }

    /// Adds what a substitution prints, as far as its words tell.
    fn add_printed(&mut self, name: &str, body: &str) {
        let words = match body.split_once(' ').unwrap_or((body, "")) {
            ("find", words) => words.split_once("name ").map_or("", |(_, names)| names),
            ("ls" | "readlink" | "realpath", words) => words,
            ("pwd", _) => ".",
            _ => "",
        };
        if let Some(listed) = words.split(' ').find(|word| !word.is_empty() && !word.starts_with('-')) {
            self.add_value(name, listed);
            self.add_value(name, &format!("${{{UNKNOWN}}}"));
        }
        self.add_value(name, PRINTING.iter().find_map(|program| body.strip_prefix(program)).unwrap_or_default());
    }

    fn add_value(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.values.push((name.to_owned(), text.replace(['\'', '"', '\\'], "")));
        }
    }
}

/// The variable and the operator of an expansion such as `{x:-y}` that a text begins with, and its length.
fn braced(text: &str) -> Option<(&str, &str, usize)> {
    let inside = text.strip_prefix('{')?;
    let inside = &inside[..closing_brace(inside)?];
    let (name, operator) = inside.split_at(inside.find(|c| !is_of_name(c)).unwrap_or(inside.len()));
    // What an element of a list is, or what another variable names, is not known.
    let is_known = !name.is_empty() && !operator.starts_with('[');
    Some((if is_known { name } else { UNKNOWN }, operator, inside.len() + "{}".len()))
}

/// The words that braces make of one. Braces with a range stay, and mean anything.
pub(super) fn expand_braces(text: &str, found: &mut Vec<String>) {
    let is_small = text.len() <= LONGEST_BRACED && found.len() < MOST_WORDS;
    let opens = text.match_indices('{').filter(|(at, _)| is_small && !text[..*at].ends_with('$'));
    for (open, _) in opens {
        let inside = &text[open + 1..];
        let Some((options, end)) = split_braces(inside).filter(|(options, _)| options.len() > 1) else { continue };
        let word = |option: &str| format!("{}{option}{}", &text[..open], &inside[end + 1..]);
        return options.into_iter().for_each(|option| expand_braces(&word(option), found));
    }
    if !text.is_empty() {
        found.push(text.to_owned());
    }
}

/// Where the brace is that closes one before the text.
pub(super) fn closing_brace(text: &str) -> Option<usize> {
    Some(split_braces(text)?.1)
}

/// The parts between commas up to the brace that closes one before the text, and where that is.
fn split_braces(text: &str) -> Option<(Vec<&str>, usize)> {
    let (mut depth, mut start, mut options) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices().take(LONGEST_BRACED) {
        if depth == 0 && matches!(c, ',' | '}') {
            options.push(&text[start..at]);
            start = at + 1;
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some((options, at)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
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

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
