//! Both sides of a change, each read by the grammar with the lines that it has.

use super::{Grammar, Highlighter, plain};
use crate::look::line::{Line, Tone};

/// Reads the lines of a change in their order.
#[derive(Clone)]
pub(crate) struct Pair {
    grammar: Option<Grammar>,
    old: Option<Highlighter>,
    new: Option<Highlighter>,
}

impl Pair {
    /// Without a grammar, lines say only whether they come or go.
    pub(crate) fn new(grammar: Option<Grammar>) -> Pair {
        let begin = || grammar.map(Grammar::begin);
        Pair { grammar, old: begin(), new: begin() }
    }

    /// Lines were left out: what was open before them may be closed.
    pub(crate) fn skip(&mut self) {
        *self = Pair::new(self.grammar);
    }

    /// A line that both sides have.
    pub(crate) fn same(&mut self, text: &str) -> Line {
        if let Some(old) = &mut self.old {
            old.line(text);
        }
        read(&mut self.new, text)
    }

    pub(crate) fn less(&mut self, text: &str) -> Line {
        tinted(&read(&mut self.old, text), Tone::Less)
    }

    pub(crate) fn more(&mut self, text: &str) -> Line {
        tinted(&read(&mut self.new, text), Tone::More)
    }
}

fn read(side: &mut Option<Highlighter>, text: &str) -> Line {
    side.as_mut().map_or_else(|| plain(text), |side| side.line(text))
}

/// What means nothing by itself takes the tone of the side; literals too, because they look like lines that come.
fn tinted(line: &Line, side: Tone) -> Line {
    line.spans().fold(Line::new(), |line, (tone, text)| match tone {
        Tone::Plain | Tone::Literal => line.with(side, text),
        tone => line.with(tone, text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::highlight::by_path;

    #[test]
    fn each_side_is_read_with_its_own_lines() {
        let mut pair = Pair::new(by_path("a.rs"));
        assert_eq!(pair.same("/*").spans().last(), Some((Tone::Comment, "/*")));
        assert_eq!(pair.more("*/").text(), "*/");
        assert_eq!(pair.less("let a = 1;"), Line::toned(Tone::Comment, "let a = 1;"));
        let more = pair.more("let a = b;");
        assert_eq!(more.spans().next(), Some((Tone::Keyword, "let")));
        assert_eq!(more.spans().last(), Some((Tone::More, ";")));
        pair.skip();
        assert_ne!(pair.less("let a = 1;"), Line::toned(Tone::Comment, "let a = 1;"));
    }

    #[test]
    fn without_a_grammar_a_line_says_its_side() {
        let mut pair = Pair::new(None);
        assert_eq!(pair.less("a"), Line::toned(Tone::Less, "a"));
        assert_eq!(pair.more("b"), Line::toned(Tone::More, "b"));
        assert_eq!(pair.same("c"), Line::new().plain("c"));
    }
}
