//! Here-documents of a shell's text: what a program gets as text is not what the text runs.

use super::super::shell::is_one_of;

/// Programs to which a here-document is a text, neither code nor names of files.
const READING_TEXT: &str = "cat cd chmod echo mkdir printf tee touch true";

/// Programs of which some subcommands read one like that.
const WITH_SUBCOMMANDS: &[(&str, &str)] = &[("gh", "issue pr release"), ("git", "commit tag")];

/// How many of them are looked for.
const MOST_DOCUMENTS: usize = 256;

/// A here-document that begins on a line which is not yet read to its end.
struct Document {
    end: String,
    /// Tabs may stand before its end.
    is_indented: bool,
}

/// A text without the here-documents that are mere text to whoever gets them. One without an end stays, and so do all where
/// a name may be that of another program.
pub(super) fn without_documents(text: &str) -> String {
    let mut reader = Reader { rest: text, open: Vec::new(), documents: Vec::new(), documents_left: MOST_DOCUMENTS };
    let (mut kept, mut statement, mut bodies) = (String::new(), String::new(), String::new());
    while !reader.rest.is_empty() {
        let line = reader.take_line();
        statement.push_str(line);
        let found = !reader.documents.is_empty();
        bodies.push_str(reader.take_documents());
        let is_piped = found && line.trim_end().ends_with(['|', '&']);
        let next = reader.rest.trim_start();
        let is_closed_next = found && ["}", "|", "done", "fi", "esac"].iter().any(|sign| next.starts_with(sign));
        if reader.open.is_empty() && !is_piped && !is_closed_next || reader.rest.is_empty() {
            kept.push_str(&statement);
            if !bodies.is_empty() && !reads_text(&statement) {
                kept.extend(["\n", &bodies]);
            }
            (statement, bodies) = (String::new(), String::new());
        }
    }
    if renames_programs(&kept) { text.to_owned() } else { kept }
}

/// Whether every command of a statement takes a here-document for a text.
fn reads_text(statement: &str) -> bool {
    statement.split(['|', ';', '&', '(', ')', '`', '\n']).all(|command| {
        let mut words = command.split_whitespace();
        let Some(program) = words.next().filter(|program| !program.chars().all(|c| "'\"$".contains(c))) else {
            return true;
        };
        let takes = WITH_SUBCOMMANDS.iter().find(|(name, _)| *name == program);
        match takes {
            Some((_, subcommands)) => words.next().is_some_and(|subcommand| is_one_of(subcommands, subcommand)),
            None => is_one_of(READING_TEXT, program),
        }
    })
}

/// Whether a text may give a name to a function or an alias.
fn renames_programs(text: &str) -> bool {
    let dense: String = text.split_whitespace().collect();
    dense.contains("()") || text.contains("alias") || text.contains("function")
}

/// What is left of a text, what is open before it, and the documents that follow its next line.
struct Reader<'a> {
    rest: &'a str,
    /// The signs that end what is open. Within `}` and `]`, and between two parentheses, `<<` is arithmetic.
    open: Vec<&'static str>,
    documents: Vec<Document>,
    documents_left: usize,
}

impl<'a> Reader<'a> {
    /// The next line of the text, or more of them where a quote does not end before.
    fn take_line(&mut self) -> &'a str {
        let (text, mut at) = (self.rest, 0);
        let mut starts_word = true;
        while let Some(c) = text[at..].chars().next() {
            let here = &text[at..];
            let top = self.open.last().copied().unwrap_or_default();
            let is_quoted = top == "\"";
            let opens = [("$((", "))"), ("$(", ")"), ("${", "}"), ("$[", "]"), ("((", "))"), ("(", ")")];
            let opened = opens.iter().find(|(sign, _)| here.starts_with(sign) && (!is_quoted || c == '$'));
            let length = match c {
                '\n' if !is_quoted => {
                    at += 1;
                    break;
                }
                '\\' => 1 + here[1..].chars().next().map_or(0, char::len_utf8),
                '\'' if !is_quoted => here[1..].find('\'').map_or(here.len(), |end| end + "''".len()),
                '#' if !is_quoted && starts_word => here.find('\n').unwrap_or(here.len()),
                _ if !top.is_empty() && here.starts_with(top) => {
                    self.open.pop();
                    top.len()
                }
                '"' => {
                    self.open.push("\"");
                    1
                }
                _ if let Some((sign, end)) = opened => {
                    self.open.push(end);
                    sign.len()
                }
                '<' if here.starts_with("<<<") => "<<<".len(),
                '<' if here.starts_with("<<") && matches!(top, "" | ")") => self.read_start(here),
                c => c.len_utf8(),
            };
            at += length;
            starts_word = c.is_whitespace() || ";|&(".contains(c);
        }
        self.rest = &text[at..];
        &text[..at]
    }

    /// Reads the sign of a document and the word that ends it; returns how long they are.
    fn read_start(&mut self, text: &str) -> usize {
        let is_indented = text.starts_with("<<-");
        let sign = if is_indented { "<<-" } else { "<<" };
        let behind = text[sign.len()..].trim_start_matches([' ', '\t']);
        let (mut end, mut quote) = (String::new(), None);
        let mut characters = behind.char_indices();
        let mut length = behind.len();
        while let Some((at, c)) = characters.next() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('\\', None) => end.extend(characters.next().map(|(_, c)| c)),
                (c, None) if c.is_whitespace() || ";|&()<>".contains(c) => {
                    length = at;
                    break;
                }
                (c, _) => end.push(c),
            }
        }
        self.documents.push(Document { end, is_indented });
        text.len() - behind.len() + length
    }

    /// The documents that follow the line, with their ends. Nothing of them is taken if an end is missing.
    fn take_documents(&mut self) -> &'a str {
        let (text, mut at) = (self.rest, 0);
        for document in std::mem::take(&mut self.documents) {
            let Some(documents_left) = self.documents_left.checked_sub(1) else { return "" };
            self.documents_left = documents_left;
            let is_end = |line: &str| {
                let line = line.strip_suffix('\n').unwrap_or(line);
                let line = if document.is_indented { line.trim_start_matches('\t') } else { line };
                line == document.end
            };
            let mut lines = text[at..].split_inclusive('\n').scan(at, |at, line| {
                *at += line.len();
                Some((*at, line))
            });
            let Some((end, _)) = lines.find(|(_, line)| is_end(line)) else { return "" };
            at = end;
        }
        self.rest = &text[at..];
        &text[..at]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_document_is_left_out_unless_it_may_be_run() {
        for (text, expected) in [
            ("cat <<E\na\nE\nb", "cat <<E\nb"),
            ("cat > a <<'END-1'\na\nEND-1\nb", "cat > a <<'END-1'\nb"),
            ("cat <<\"E F\"\na\nE F\nb", "cat <<\"E F\"\nb"),
            ("cat <<-E\n\ta\n\tE\nb", "cat <<-E\nb"),
            ("cat <<E; cat <<\\F\na\nE\nb\nF\nc", "cat <<E; cat <<\\F\nc"),
            ("git commit -m \"$(cat <<'E'\nit's\nE\n)\"\nb", "git commit -m \"$(cat <<'E'\n)\"\nb"),
        ] {
            assert_eq!(without_documents(text), expected, "{text}");
        }
        for kept in [
            "cat <<E\na",
            "cat <<E\na\n E\nb",
            "x=$((1<<4))\na\n4\n",
            "((x = 1<<4))\na\n4\n",
            "echo ${x:1<<4}\na\n4}\n",
            "echo 'a << b'\nc\nb\n",
            "echo \"a << b\"\nc\nb\n",
            "echo 'a\nb << c\n'\nd\nc\n",
            "# a << b\nc\nb\n",
            "cat <<< E\na\nE\n",
            "sh <<E\na\nE\n",
            "cat <<E | sh\na\nE\n",
            "cat <<E |\na\nE\nsh",
            "sh \\\n<<E\na\nE\n",
            "{ cat <<E\na\nE\n} | /bin/sh",
            "eval \"$(cat <<E\na\nE\n)\"",
            "echo $(cat <<E\na\nE\n) | python3",
            "a[1<<2]=3\nb\n2]=3",
            "declare -A m; m[a<<b]=1\nc\nb]=1",
            "if true; then sh\nfi <<E\na\nE",
            "{\nsh\n} <<E\na\nE",
            "f() {\nsh\n}\nf <<E\na\nE",
            "cat ( ) {\nsh\n}\ncat <<E\na\nE",
            "X=sh\n$X <<E\na\nE",
            "/bin/b?sh <<E\na\nE",
            "cat <<E |&\na\nE\nsh",
            "xargs cat <<E\na\nE",
            "while read f; do base64 $f; done <<E\na\nE",
            "sed -f - README.md <<E\na\nE",
            "cat <<E | tar -cf - -T -\na\nE",
            "git cat-file --batch <<E\na\nE",
            "tee >(sh) <<E\na\nE",
        ] {
            let read = without_documents(kept);
            let lines =
                |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!(lines(&read), lines(kept), "{kept}");
        }
    }
}
