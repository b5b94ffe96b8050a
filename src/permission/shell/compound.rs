//! Compound commands: loops, choices, groups, functions and conditions.

use super::reader::Reader;
use super::{Role, Simple, Word, is_name};

impl Reader<'_> {
    pub(super) fn choice(&mut self) -> Option<()> {
        self.skip("if".len());
        self.list()?;
        self.close("then")?;
        self.list()?;
        loop {
            match self.token() {
                "elif" => {
                    self.skip("elif".len());
                    self.list()?;
                    self.close("then")?;
                    self.list()?;
                }
                "else" => {
                    self.skip("else".len());
                    self.list()?;
                }
                _ => break,
            }
        }
        self.close("fi")?;
        self.redirects()
    }

    /// `while` and `until`.
    pub(super) fn repetition(&mut self) -> Option<()> {
        self.skip("while".len());
        self.list()?;
        self.steps()
    }

    /// `for` and `select`.
    pub(super) fn walk(&mut self) -> Option<()> {
        self.skip(self.token().len());
        self.blanks();
        if self.starts_with("((") {
            self.arithmetic()?;
        } else {
            let variable = self.token();
            // A loop over such a variable says which programs run.
            if !is_name(variable) || is_trusted(variable) {
                return None;
            }
            self.skip(variable.len());
            self.gap()?;
            if self.token() == "in" {
                self.skip("in".len());
                let values = self.words_of_line()?;
                self.push(values, Role::Head);
            }
        }
        self.gap()?;
        if self.peek() == Some(b';') {
            self.skip(1);
            self.gap()?;
        }
        if self.token() == "{" { self.group() } else { self.steps() }
    }

    fn words_of_line(&mut self) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b';' | b'\n') => return Some(words),
                Some(b'#') => self.comment(),
                Some(_) => words.push(self.word()?),
                None => return None,
            }
        }
    }

    fn steps(&mut self) -> Option<()> {
        self.close("do")?;
        self.list()?;
        self.close("done")?;
        self.redirects()
    }

    pub(super) fn case(&mut self) -> Option<()> {
        self.skip("case".len());
        self.blanks();
        let mut head = vec![self.word()?];
        self.close("in")?;
        loop {
            self.gap()?;
            if self.token() == "esac" {
                break;
            }
            if self.peek() == Some(b'(') {
                self.skip(1);
            }
            loop {
                self.blanks();
                head.push(self.word()?);
                self.blanks();
                match self.peek()? {
                    b'|' => self.skip(1),
                    b')' => break,
                    _ => return None,
                }
            }
            self.skip(1);
            self.list()?;
            let ends = [";;&", ";;", ";&"].into_iter().find(|sign| self.starts_with(sign));
            match ends {
                Some(sign) => self.skip(sign.len()),
                None => break,
            }
        }
        self.close("esac")?;
        self.push(head, Role::Head);
        self.redirects()
    }

    pub(super) fn group(&mut self) -> Option<()> {
        self.skip(1);
        self.list()?;
        self.close("}")?;
        self.redirects()
    }

    pub(super) fn function(&mut self) -> Option<()> {
        self.skip("function".len());
        self.blanks();
        let name = self.word()?;
        self.blanks();
        if self.peek() == Some(b'(') { self.body(name) } else { self.definition(name) }
    }

    /// The parentheses of a function, and what it does.
    pub(super) fn body(&mut self, name: Word) -> Option<()> {
        self.take("(")?;
        self.blanks();
        self.take(")")?;
        self.definition(name)
    }

    fn definition(&mut self, name: Word) -> Option<()> {
        self.gap()?;
        let is_compound = self.peek() == Some(b'(')
            || matches!(self.token(), "{" | "[[" | "if" | "while" | "until" | "for" | "select" | "case");
        is_compound.then_some(())?;
        let start = self.here();
        self.command()?;
        let source: String = self.since(start).split_whitespace().collect();
        let twice = ['|', '&'].map(|sign| format!("{0}{sign}{0}", name.text));
        if source.contains('&') && twice.iter().any(|twice| source.contains(twice)) {
            self.found.push(Simple { words: vec![name], role: Role::Head, is_bomb: true, level: self.level });
        }
        Some(())
    }

    /// Measures a pipeline, or is a program when an option of one stands behind it.
    pub(super) fn time(&mut self) -> Option<()> {
        let is_program = |rest: &str| {
            let rest = rest.trim_start_matches([' ', '\t']);
            rest.starts_with('-') && !rest.starts_with("-p ") && !rest.starts_with("-- ")
        };
        if is_program(self.rest().strip_prefix("time")?) {
            return self.simple();
        }
        self.skip("time".len());
        self.blanks();
        while matches!(self.token(), "-p" | "--") {
            self.skip(2);
            self.blanks();
        }
        Some(())
    }

    pub(super) fn coproc(&mut self) -> Option<()> {
        self.skip("coproc".len());
        self.blanks();
        let name = self.token();
        let behind = self.rest().strip_prefix(name)?.trim_start_matches([' ', '\t']);
        let opens =
            ["{", "(", "if ", "while ", "until ", "for ", "case ", "[["].iter().any(|word| behind.starts_with(word));
        if is_name(name) && opens && !super::is_reserved(name) {
            self.skip(name.len());
        }
        Some(())
    }

    /// `[[ … ]]`, in which parentheses, bars and angles are signs of its own.
    pub(super) fn condition(&mut self) -> Option<()> {
        self.skip("[[".len());
        let mut head = Vec::new();
        loop {
            self.blanks();
            if self.token() == "]]" {
                break;
            }
            match self.peek()? {
                b'\n' if self.pending.is_empty() => self.skip(1),
                b'(' | b')' | b'|' | b'&' => self.skip(1),
                b'<' | b'>' if self.peek_at(1) != Some(b'(') => self.skip(1),
                // Shells differ in whether this begins a comment.
                b'#' | b';' | b'\n' => return None,
                _ => head.push(self.word()?),
            }
        }
        self.skip("]]".len());
        self.push(head, Role::Head);
        self.redirects()
    }

    /// `((…))` from its first parenthesis on, or nothing when it is no arithmetic.
    pub(super) fn arithmetic(&mut self) -> Option<()> {
        self.take("((")?;
        let mut word = Word::default();
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'(' => {
                    depth += 1;
                    self.skip(1);
                }
                b')' if depth == 0 => {
                    self.take("))")?;
                    break;
                }
                b')' => {
                    depth -= 1;
                    self.skip(1);
                }
                // Shells differ in what it means here.
                b'\'' => return None,
                _ => self.quoted_part(&mut word)?,
            }
        }
        self.push(vec![word], Role::Head);
        Some(())
    }
}

/// Whether a variable says which programs run, or how they start.
fn is_trusted(variable: &str) -> bool {
    matches!(variable, "PATH" | "IFS" | "ENV" | "BASH_ENV" | "SHELLOPTS" | "PROMPT_COMMAND" | "PS4")
        || variable.starts_with("LD_")
        || variable.starts_with("GIT_")
}
