//! Words that a shell completes by patterns and expansions (`/bin/r[m]`, `r${x}m`), held against the patterns of rules that forbid: whether there
//! is a name that both mean. Nothing here is looked up on the disk.

use super::source::closing_brace;
use super::{Origin, SimpleCommand, Word, base_name, git_arguments};

/// A command of which the program, or the subcommand of git, is a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct CommandPattern(Vec<Sign>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Sign {
    One(char),
    /// `?` or a bracket expression.
    Any,
    /// Any run of characters without a blank.
    Run,
    /// An expansion: any text, of any number of words.
    Expansion,
}

impl SimpleCommand {
    /// The names that its program may have, if that is a pattern.
    pub(in super::super) fn program_pattern(&self) -> Option<CommandPattern> {
        let [program, arguments @ ..] = self.words.as_slice() else { return None };
        let signs = CommandPattern::of_word(self, program)?;
        let is_expanded = signs.contains(&Sign::Expansion);
        let has_end = !arguments.is_empty() || !signs.contains(&Sign::Run);
        let says_something = signs.iter().any(Sign::says_something);
        let counts = match self.origin {
            Origin::Written | Origin::Wrapped => true,
            // A branch of `case` looks like a command without arguments.
            Origin::Suspected => is_expanded || has_end,
            Origin::Fragment | Origin::Quoted if is_expanded => says_something && !arguments.is_empty(),
            Origin::Fragment => has_end,
            // An argument with a pattern names files, unless it leads to where programs are.
            Origin::Possible if is_expanded => says_something,
            Origin::Possible | Origin::Quoted => is_program_directory(&program.text),
        };
        counts.then_some(CommandPattern(signs))
    }

    /// The lines that it may become by its patterns, in the spellings that count for a rule that forbids.
    pub(in super::super) fn pattern_lines(&self) -> Vec<CommandPattern> {
        let program = self.program_pattern();
        let is_git = program.as_ref().map_or(self.program() == "git", |program| program.meets("git"));
        if program.is_none() && !is_git {
            return Vec::new();
        }
        let texts = self.texts();
        let arguments = texts.get(1..).unwrap_or_default();
        let verb = if is_git { git_arguments(arguments) } else { &[] };
        let verb = &self.words[self.words.len() - verb.len()..];
        let verb_signs = verb.first().and_then(|word| CommandPattern::of_word(self, word));
        if program.is_none() && verb_signs.is_none() {
            return Vec::new();
        }
        let program = program.map_or_else(|| literal(self.program()), |program| program.0);
        let line = |words: &[Word]| {
            let mut signs = program.clone();
            for (at, word) in words.iter().enumerate() {
                signs.push(Sign::One(' '));
                let is_verb = at + verb.len() == words.len();
                signs.extend(verb_signs.clone().filter(|_| is_verb).unwrap_or_else(|| literal(&word.text)));
            }
            signs
        };
        let mut lines = vec![line(&self.words[1..])];
        if is_git && verb.len() + 1 < self.words.len() {
            lines.push(line(verb));
        }
        // `git push *` forbids `git push` as well.
        let bare: Vec<_> = lines.iter().map(|line| [line.as_slice(), &[Sign::One(' ')]].concat()).collect();
        lines.into_iter().chain(bare).map(CommandPattern).collect()
    }
}

impl CommandPattern {
    /// The signs of the last part of a word, if it is a pattern that says anything about the names that it means.
    fn of_word(command: &SimpleCommand, word: &Word) -> Option<Vec<Sign>> {
        let is_read = matches!(command.origin, Origin::Written | Origin::Wrapped);
        if is_read && !word.is_glob || !word.text.contains(['*', '?', '[', '$', '{']) {
            return None;
        }
        let signs = signs(base_name(&word.text));
        let is_pattern = signs.iter().any(|sign| !matches!(sign, Sign::One(_)));
        let is_short = !signs.contains(&Sign::Run);
        (is_pattern && (is_short || signs.iter().any(Sign::says_something))).then_some(signs)
    }

    /// Whether it tells at least one letter.
    pub(in super::super) fn says_something(&self) -> bool {
        self.0.iter().any(Sign::says_something)
    }

    /// Whether a rule's pattern, in which `*` is any run and `?` one character, means a line that this means, too.
    pub(in super::super) fn meets(&self, pattern: &str) -> bool {
        let pattern: Vec<char> = pattern.chars().collect();
        // Which parts of the pattern may be read when the signs so far are.
        let mut reached = vec![false; pattern.len() + 1];
        reached[0] = true;
        skip_stars(&mut reached, &pattern);
        for sign in &self.0 {
            let mut next = vec![false; pattern.len() + 1];
            for at in 0..pattern.len() {
                let is_run = matches!(sign, Sign::Run | Sign::Expansion);
                match pattern[at] {
                    _ if !(reached[at] || is_run && next[at]) => {}
                    '*' => (next[at], next[at + 1]) = (true, true),
                    c => {
                        next[at] |= is_run;
                        next[at + 1] |= c == '?' || sign.means(c);
                    }
                }
            }
            next[pattern.len()] |= matches!(sign, Sign::Run | Sign::Expansion) && reached[pattern.len()];
            skip_stars(&mut next, &pattern);
            reached = next;
        }
        reached[pattern.len()]
    }
}

impl Sign {
    fn says_something(&self) -> bool {
        match self {
            Self::One(c) => c.is_alphanumeric(),
            Self::Any | Self::Run | Self::Expansion => false,
        }
    }

    fn means(&self, c: char) -> bool {
        match self {
            Self::One(own) => *own == c,
            Self::Any | Self::Run => c != ' ',
            Self::Expansion => true,
        }
    }
}

/// Whether a word may be the name of a program, with its directory or without.
pub(in super::super) fn may_name(word: &str, program: &str) -> bool {
    base_name(word) == program || CommandPattern(signs(base_name(word))).meets(program)
}

/// Whether a path with signs of a pattern may become one that a rule's pattern means.
pub(in super::super) fn may_become(path: &str, pattern: &str) -> bool {
    path.contains(['*', '?', '[']) && !path.contains('$') && CommandPattern(signs(path)).meets(pattern)
}

/// A star in a rule's pattern may stand for nothing.
fn skip_stars(reached: &mut [bool], pattern: &[char]) {
    for at in 0..pattern.len() {
        reached[at + 1] |= reached[at] && pattern[at] == '*';
    }
}

fn literal(text: &str) -> Vec<Sign> {
    text.chars().map(Sign::One).collect()
}

fn signs(text: &str) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            // One without an end may go on in any way.
            '$' => {
                signs.push(Sign::Expansion);
                rest = rest.strip_prefix('{').and_then(|inside| inside.get(closing_brace(inside)? + 1..)).unwrap_or("");
            }
            '{' if rest.starts_with('}') => signs.push(Sign::One('{')),
            '{' if closing_brace(rest).is_some() => {
                signs.push(Sign::Expansion);
                rest = &rest[closing_brace(rest).map_or(0, |end| end + 1)..];
            }
            '*' => signs.push(Sign::Run),
            '?' => signs.push(Sign::Any),
            '[' => {
                let behind = behind_brackets(rest);
                signs.push(if behind.is_some() { Sign::Any } else { Sign::One('[') });
                rest = behind.unwrap_or(rest);
            }
            c => signs.push(Sign::One(c)),
        }
    }
    signs
}

/// What is behind a bracket expression; `text` begins behind its first bracket.
fn behind_brackets(text: &str) -> Option<&str> {
    let inside = text.strip_prefix(['!', '^']).unwrap_or(text);
    // A bracket that comes first is one of the characters.
    let first = inside.chars().next()?.len_utf8();
    let (characters, behind) = inside[first..].split_once(']')?;
    // `[[:lower:]]` and such.
    let is_named = ["[:", "[.", "[="].iter().any(|named| inside[..first + characters.len()].contains(named));
    if is_named { Some(behind.split_once(']')?.1) } else { Some(behind) }
}

/// Whether a word leads into a directory that holds programs.
fn is_program_directory(word: &str) -> bool {
    let directory = word.rsplit_once('/').map_or("", |(directory, _)| base_name(directory));
    directory.ends_with("bin") || directory == "git-core" || directory.contains(['*', '?', '['])
}
