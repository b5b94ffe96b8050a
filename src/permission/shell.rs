//! A shell's text as simple commands: words with their quotes and escapes taken off. It expands nothing, and gives up
//! on what it cannot read for sure, since a quote that is read wrongly hides a command.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// Holds a quoted part, which may be text, or code for another program.
    pub is_quoted: bool,
    /// Holds a `$` that the shell replaces.
    pub expands: bool,
    /// Stands behind `<` or `>`, so that it is never a program.
    pub is_target: bool,
}

/// The simple commands of `text`, those of its substitutions included; `None` when it cannot be read for sure.
pub(super) fn parse(text: &str) -> Option<Vec<Vec<Word>>> {
    let mut reader = Reader { rest: text.chars().peekable(), commands: Vec::new(), words: Vec::new(), word: None };
    let mut is_target = false;
    while let Some(c) = reader.rest.next() {
        match c {
            '\'' => reader.single()?,
            '"' => reader.double()?,
            '\\' => {
                let escaped = reader.rest.next()?;
                if escaped != '\n' {
                    reader.word().text.push(escaped);
                }
            }
            '$' => reader.variable()?,
            ';' | '|' | '&' | '\n' | '(' | ')' | '`' => {
                reader.end_word(&mut is_target);
                reader.end_command();
                is_target = false;
            }
            '<' | '>' => reader.redirect(c, &mut is_target)?,
            // A quote in a comment opens nothing.
            '#' if reader.word.is_none() && reader.has_quote_before_newline() => return None,
            c if c.is_whitespace() => reader.end_word(&mut is_target),
            c => reader.word().text.push(c),
        }
    }
    reader.end_word(&mut is_target);
    reader.end_command();
    Some(reader.commands)
}

/// Every simple command of `text` as one line, those of its substitutions included; `None` when it cannot be read.
pub fn segments(text: &str) -> Option<Vec<String>> {
    let line = |words: &Vec<Word>| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    Some(parse(text)?.iter().map(line).collect())
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    commands: Vec<Vec<Word>>,
    words: Vec<Word>,
    word: Option<Word>,
}

impl Reader<'_> {
    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self, is_target: &mut bool) {
        if let Some(word) = self.word.take() {
            self.words.push(Word { is_target: *is_target, ..word });
            *is_target = false;
        }
    }

    fn end_command(&mut self) {
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn single(&mut self) -> Option<()> {
        let inside = self.until('\'')?;
        let word = self.word();
        word.is_quoted = true;
        word.text.push_str(&inside);
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.word().is_quoted = true;
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => self.word().text.push(c),
                    c => self.word().text.extend(['\\', c]),
                },
                '$' if self.rest.next_if_eq(&'(').is_some() => {
                    let inside = self.until_closed()?;
                    self.nest('(', &inside, ')')?;
                }
                '$' if matches!(self.rest.peek(), Some('"' | '\'')) => self.word().text.push('$'),
                '$' => self.variable()?,
                '`' => {
                    let inside = self.until('`')?;
                    self.nest('`', &inside, '`')?;
                }
                c => self.word().text.push(c),
            }
        }
    }

    /// Takes in a substitution within double quotes.
    fn nest(&mut self, open: char, inside: &str, close: char) -> Option<()> {
        // Quotes nest there by rules of their own.
        if inside.contains(['"', '\\']) {
            return None;
        }
        self.commands.extend(parse(inside)?);
        let word = self.word();
        word.expands = true;
        word.text.push_str(&format!("${open}{inside}{close}"));
        Some(())
    }

    /// Takes in a `$`, and the braces behind it.
    fn variable(&mut self) -> Option<()> {
        let word = self.word();
        word.expands = true;
        word.text.push('$');
        match self.rest.peek() {
            // Spellings such as `$'\x2f'` hide what they say.
            Some('\'' | '"') => None,
            Some('{') => {
                let inside = self.until('}')?;
                let is_plain = !inside.contains(['"', '\'', '\\', '`', '$', '(']);
                self.word().text.push_str(&format!("{inside}}}"));
                is_plain.then_some(())
            }
            Some(_) | None => Some(()),
        }
    }

    fn redirect(&mut self, first: char, is_target: &mut bool) -> Option<()> {
        let is_number = |word: &Word| !word.is_quoted && word.text.chars().all(|c| c.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word(is_target);
        let mut sign = String::from(first);
        while let Some(c) = self.rest.next_if(|c| "<>&|".contains(*c)) {
            sign.push(c);
        }
        *is_target = true;
        // The lines of a here-document are read as commands, which is safe only while no quote in them opens anything.
        let has_body_quotes = || self.rest.clone().skip_while(|c| *c != '\n').any(|c| "'\"\\`#".contains(c));
        (sign != "<<" || !has_body_quotes()).then_some(())
    }

    fn has_quote_before_newline(&self) -> bool {
        self.rest.clone().take_while(|c| *c != '\n').any(|c| "'\"\\`".contains(c))
    }

    fn until(&mut self, end: char) -> Option<String> {
        let mut inside = String::new();
        loop {
            match self.rest.next()? {
                c if c == end => return Some(inside),
                c => inside.push(c),
            }
        }
    }

    fn until_closed(&mut self) -> Option<String> {
        let mut inside = String::new();
        let mut depth = 0;
        loop {
            match self.rest.next()? {
                ')' if depth == 0 => return Some(inside),
                c => {
                    depth += i32::from(c == '(') - i32::from(c == ')');
                    inside.push(c);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&[&[&str]]>) {
        let texts = |words: &Vec<Word>| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        let found = parse(text).map(|commands| commands.iter().map(texts).collect::<Vec<_>>());
        let expected = expected.map(|commands| commands.iter().map(|words| words.to_vec()).collect::<Vec<_>>());
        assert_eq!(
            found,
            expected.map(|c| c.into_iter().map(|w| w.into_iter().map(String::from).collect()).collect()),
            "{text}"
        );
    }

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        check("a b; c|d && e", Some(&[&["a", "b"], &["c"], &["d"], &["e"]]));
        check("'cu'rl \\/etc \".\"\"./x\"", Some(&[&["curl", "/etc", "../x"]]));
        check("grep 'a\\|b' \"c\\|d\" \"\\$e\"", Some(&[&["grep", "a\\|b", "c\\|d", "$e"]]));
        check("2>&1 a 2> b c", Some(&[&["1", "a", "b", "c"]]));
        check("echo \"x $(a 'b c')\"", Some(&[&["a", "b c"], &["echo", "x $(a 'b c')"]]));
        check("a `b` $(c)", Some(&[&["a"], &["b"], &["$"], &["c"]]));
        check("find . -exec rm {} \\;", Some(&[&["find", ".", "-exec", "rm", "{}", ";"]]));
    }

    #[test]
    fn what_cannot_be_read_for_sure_is_not_read() {
        for text in [
            "echo 'open",
            "echo \"open",
            "a \\",
            "cat $'\\x2fetc'",
            "echo \"$(echo \"'\")\"; a; echo \"'\"",
            "echo \"${x:-\"'\"}\"; a; echo \"'\"",
            "ls # it's\na\necho '",
            "cat <<EOF\n'\nEOF\na\ncat <<EOF\n'\nEOF",
        ] {
            check(text, None);
        }
    }
}
