//! Code with its parts told apart: keywords, names, literals. Pure; which grammar fits is told by a name or a path.
//!
//! Grammars are loaded when the first of them is needed. Code that is too much to be read by a grammar stays plain.

mod pair;

use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::line::{Line, Tone, visible};

pub(crate) use pair::Pair;

/// Longer texts stay plain.
const LINES: usize = 2_000;

/// A longer line stays plain: generated code, mostly, and grammars take their time over it.
const LINE_BYTES: usize = 2_000;

/// The lines of a piece of code in a language, by its name or by the ending of its files.
pub(crate) fn lines(code: &str, language: &str) -> Vec<Line> {
    match by_name(language) {
        Some(grammar) if code.lines().nth(LINES).is_none() => {
            let mut highlighter = grammar.begin();
            code.lines().map(|line| highlighter.line(line)).collect()
        }
        Some(_) | None => code.lines().map(plain).collect(),
    }
}

/// The grammar of a file, by its name.
pub(crate) fn by_path(path: &str) -> Option<Grammar> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let syntaxes = syntaxes();
    // `Makefile` and `.bashrc` are endings too, in the way grammars count.
    let found = syntaxes.find_syntax_by_extension(name).or_else(|| syntaxes.find_syntax_by_extension(ending?));
    found.map(Grammar)
}

/// The grammar of a language, as the fence of a code block names it.
pub(crate) fn by_name(language: &str) -> Option<Grammar> {
    let word = language.split([',', ' ', '{']).next().filter(|word| !word.is_empty())?;
    syntaxes().find_syntax_by_token(word).map(Grammar)
}

/// How the files of one language are read.
#[derive(Clone, Copy)]
pub(crate) struct Grammar(&'static SyntaxReference);

impl Grammar {
    pub(crate) fn begin(self) -> Highlighter {
        Highlighter { state: ParseState::new(self.0), scopes: ScopeStack::new() }
    }
}

/// Reads code line by line, from a place on: a string that was opened is still open on the next line.
#[derive(Clone)]
pub(crate) struct Highlighter {
    state: ParseState,
    scopes: ScopeStack,
}

impl Highlighter {
    /// The next line.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        if text.len() > LINE_BYTES {
            return plain(text);
        }
        let ended = format!("{text}\n");
        // A grammar that fails leaves the line as it is.
        let Ok(marks) = self.state.parse_line(&ended, syntaxes()) else { return plain(text) };
        let mut line = Line::new();
        let mut start = 0;
        for (at, change) in marks {
            let at = at.min(text.len());
            line = with(line, self.tone(), &text[start..at]);
            start = at;
            if self.scopes.apply(&change).is_err() {
                break;
            }
        }
        with(line, self.tone(), &text[start..])
    }

    /// The innermost scope that means something decides.
    fn tone(&self) -> Tone {
        self.scopes.as_slice().iter().rev().find_map(|scope| meaning(*scope)).unwrap_or(Tone::Plain)
    }
}

fn with(line: Line, tone: Tone, text: &str) -> Line {
    if text.is_empty() { line } else { line.with(tone, visible(text)) }
}

fn plain(text: &str) -> Line {
    Line::new().plain(visible(text))
}

fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

/// What a scope of a grammar means; the first prefix that fits decides.
const MEANINGS: &[(&str, Tone)] = &[
    ("comment", Tone::Comment),
    ("constant.numeric", Tone::Number),
    ("constant.language", Tone::Number),
    ("constant.character.escape", Tone::Number),
    ("constant.other.placeholder", Tone::Number),
    ("string", Tone::Literal),
    ("markup.raw", Tone::Literal),
    ("keyword.operator.word", Tone::Keyword),
    ("keyword.operator", Tone::Plain),
    ("keyword", Tone::Keyword),
    ("storage", Tone::Keyword),
    ("variable.language", Tone::Keyword),
    ("punctuation.definition.comment", Tone::Comment),
    ("punctuation.definition.string", Tone::Literal),
    ("punctuation.section.interpolation", Tone::Plain),
    ("meta.interpolation", Tone::Plain),
    ("entity.name.function", Tone::Function),
    ("entity.name.macro", Tone::Function),
    ("support.function", Tone::Function),
    ("support.macro", Tone::Function),
    ("variable.function", Tone::Function),
    ("entity.other.attribute-name", Tone::Function),
    ("entity.name.tag", Tone::Keyword),
    ("entity.name.section", Tone::Keyword),
    ("markup.heading", Tone::Keyword),
    ("entity.name", Tone::TypeName),
    ("entity.other.inherited-class", Tone::TypeName),
    ("support.type", Tone::TypeName),
    ("support.class", Tone::TypeName),
    ("markup.inserted", Tone::More),
    ("markup.deleted", Tone::Less),
    ("meta.diff.range", Tone::Number),
];

fn meaning(scope: Scope) -> Option<Tone> {
    static SCOPES: OnceLock<Vec<(Scope, Tone)>> = OnceLock::new();
    let scopes = SCOPES.get_or_init(|| {
        MEANINGS.iter().filter_map(|(name, tone)| Scope::new(name).ok().map(|scope| (scope, *tone))).collect()
    });
    scopes.iter().find(|(prefix, _)| prefix.is_prefix_of(scope)).map(|(_, tone)| *tone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a line that mean something.
    fn told(line: &Line) -> Vec<(Tone, String)> {
        let parts = line.spans().filter(|(tone, text)| *tone != Tone::Plain && !text.trim().is_empty());
        parts.map(|(tone, text)| (tone, text.trim().to_owned())).collect()
    }

    #[track_caller]
    fn check(language: &str, code: &str, expected: &[(Tone, &str)]) {
        let lines = lines(code, language);
        assert_eq!(lines.iter().map(Line::text).collect::<Vec<_>>().join("\n"), code);
        let told: Vec<_> = lines.iter().flat_map(told).collect();
        for (tone, text) in expected {
            assert!(told.contains(&(*tone, (*text).to_owned())), "{language}: `{text}` is not {tone:?} in {told:?}");
        }
    }

    #[test]
    fn parts_of_code_are_told_apart() {
        check(
            "rust",
            "// why\nfn area(side: f64) -> Square { 12 }\nstruct Square;",
            &[
                (Tone::Keyword, "fn"),
                (Tone::Function, "area"),
                (Tone::Number, "12"),
                (Tone::TypeName, "Square"),
                (Tone::Comment, "why"),
            ],
        );
        check("py", "def f():\n    return 'a'", &[(Tone::Keyword, "def"), (Tone::Function, "f"), (Tone::Literal, "a")]);
        check("ts", "const a: number = 1;", &[(Tone::Keyword, "const"), (Tone::Number, "1")]);
        check("toml", "[a]\nb = \"c\"", &[(Tone::Literal, "c")]);
        check("json", "{\"a\": true}", &[(Tone::Number, "true")]);
    }

    #[test]
    fn what_is_open_stays_open_on_the_next_line() {
        let lines = lines("let a = \"one\ntwo\";", "rust");
        assert_eq!(told(&lines[1]), [(Tone::Literal, "two".to_owned()), (Tone::Literal, "\"".to_owned())]);
    }

    #[test]
    fn a_path_names_its_language() {
        for path in ["src/a.rs", "Makefile", "a/b/Dockerfile", "x.tsx", ".bashrc", "c.toml"] {
            assert!(by_path(path).is_some(), "{path}");
        }
        assert!(by_path("no").is_none() && by_path("a.unheard-of").is_none() && by_name("").is_none());
    }

    #[test]
    fn too_much_stays_plain() {
        let long = format!("let a = \"{}\";", "x".repeat(LINE_BYTES));
        let many = "let a = 1;\n".repeat(LINES + 1);
        for code in [long.as_str(), &many] {
            assert!(lines(code, "rust").iter().all(|line| told(line).is_empty()));
        }
        assert_eq!(lines(&many, "rust").len(), LINES + 1);
        assert!(lines("fn a", "klingon").iter().all(|line| told(line).is_empty()));
    }

    #[test]
    fn code_cannot_drive_the_terminal() {
        let line = lines("let a = \"\u{1b}[2J\u{202e}\";", "rust").remove(0);
        assert!(!line.text().contains(['\u{1b}', '\u{202e}']));
    }
}
