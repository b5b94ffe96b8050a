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
        let pattern = CommandPattern::of_word(self, program)?;
        let is_expanded = pattern.0.contains(&Sign::Expansion);
        let has_end = !arguments.is_empty() || !pattern.0.contains(&Sign::Run);
        let says_something = pattern.says_something();
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
        counts.then_some(pattern)
    }

    /// The lines that it may become by its patterns, in the spellings that count for a rule that forbids.
    pub(in super::super) fn pattern_lines(&self) -> Vec<CommandPattern> {
        let program = self.program_pattern();
        let is_git = program.as_ref().map_or(self.program() == "git", |program| program.meets("git"));
        let texts = self.texts();
        let behind = if is_git { git_arguments(texts.get(1..).unwrap_or_default()) } else { &[] };
        let verb_at = texts.len() - behind.len();
        let verb = self.words.get(verb_at).and_then(|word| CommandPattern::of_word(self, word));
        if program.is_none() && verb.is_none() {
            return Vec::new();
        }
        let program = program.map_or_else(|| literal(self.program()), |program| program.0);
        let line = |from: usize| {
            let mut signs = program.clone();
            for (at, text) in texts.iter().enumerate().skip(from) {
                signs.push(Sign::One(' '));
                let verb = verb.as_ref().filter(|_| at == verb_at);
                signs.extend(verb.map_or_else(|| literal(text), |verb| verb.0.clone()));
            }
            signs
        };
        let mut lines = vec![line(1)];
        if is_git && verb_at > 1 {
            lines.push(line(verb_at));
        }
        // `git push *` forbids `git push` as well.
        let bare: Vec<_> = lines.iter().map(|line| [line.as_slice(), &[Sign::One(' ')]].concat()).collect();
        lines.into_iter().chain(bare).map(CommandPattern).collect()
    }
}

impl CommandPattern {
    /// The signs of the last part of a word, if it is a pattern that says anything about the names that it means.
    fn of_word(command: &SimpleCommand, word: &Word) -> Option<Self> {
        let is_read = matches!(command.origin, Origin::Written | Origin::Wrapped);
        if is_read && !word.is_glob || !word.text.contains(['*', '?', '[', '$', '{']) {
            return None;
        }
        let pattern = Self(signs(base_name(&word.text)));
        let is_pattern = pattern.0.iter().any(|sign| !matches!(sign, Sign::One(_)));
        let is_short = !pattern.0.contains(&Sign::Run);
        (is_pattern && (is_short || pattern.says_something())).then_some(pattern)
    }

    /// Whether it tells at least one letter.
    pub(in super::super) fn says_something(&self) -> bool {
        self.0.iter().any(|sign| matches!(sign, Sign::One(c) if c.is_alphanumeric()))
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
