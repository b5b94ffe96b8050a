//! Scripts of sed, awk and jq that only print what they read. Each has commands that write files, run programs or show the
//! environment, so a script passes only if a small grammar covers all of it.

use super::shell::{SimpleCommand, Word};

/// Names that a program of awk may use, besides fields, numbers and strings.
const AWK_WORDS: &[&str] = &["FNR", "NF", "NR", "length", "print"];

/// Parts of a filter of jq that show the environment, which holds keys, or that load code.
const JQ_REACHES: [&str; 4] = ["env", "import", "include", "modulemeta"];

/// The files of a call of sed or awk whose script only prints.
pub(super) fn printed_files(command: &SimpleCommand) -> Option<&[Word]> {
    let is_printing = match command.program() {
        "sed" => prints_lines,
        "awk" | "gawk" | "mawk" => prints_fields,
        _ => return None,
    };
    let is_option = |word: &&Word| match command.program() {
        "sed" => matches!(word.text.as_str(), "-n" | "-E" | "-r" | "-nE" | "-nr"),
        _ => word.text.len() == "-F:".len() && word.text.starts_with("-F") && !word.is_glob,
    };
    let arguments = command.words.get(1..)?;
    let script_and_files = match &arguments[arguments.iter().take_while(is_option).count()..] {
        [option, rest @ ..] if option.text == "-e" && command.program() == "sed" => rest,
        all => all,
    };
    let [script, files @ ..] = script_and_files else { return None };
    let are_files = files.iter().all(|file| !file.text.starts_with('-') && !file.is_open_glob);
    (are_files && !script.is_glob && is_printing(&script.text)).then_some(files)
}

/// Whether a script of sed prints or leaves out lines, by their numbers or by expressions between slashes, or replaces
/// text in them.
fn prints_lines(script: &str) -> bool {
    let is_address = |part: &str| part.chars().all(|c| c.is_ascii_digit() || ",$;pd! ".contains(c));
    let parts: Vec<_> = script.split('/').collect();
    let prints = match parts.as_slice() {
        ["s", _, _, flags] => flags.chars().all(|c| c.is_ascii_digit() || "gIip".contains(c)),
        parts => parts.len() % 2 == 1 && parts.iter().step_by(2).all(|part| is_address(part)),
    };
    prints && !script.is_empty() && !script.starts_with('-') && !script.contains(['\\', '\n'])
}

/// Whether a program of awk prints fields, numbers and strings. A slash may begin an expression or divide, so there is none.
fn prints_fields(program: &str) -> bool {
    let is_closed = program.matches('"').count().is_multiple_of(2) && !program.contains(['\\', '\n']);
    let is_known = |word: &str| word.is_empty() || AWK_WORDS.contains(&word) || word.parse::<u32>().is_ok();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = |code: &str| {
        code.chars().all(|c| is_name(c) || "{}$,;= !+-*%()&".contains(c)) && code.split(|c| !is_name(c)).all(is_known)
    };
    is_closed && !program.is_empty() && !program.starts_with('-') && program.split('"').step_by(2).all(is_plain)
}

/// Whether a filter of jq may do more than look at its input: a pattern before it may become the filter.
pub(super) fn reaches_by_filter(command: &SimpleCommand) -> bool {
    let reaches = |word: &Word| {
        let text = word.text.to_ascii_lowercase();
        JQ_REACHES.iter().any(|part| text.contains(part))
    };
    let filter = command.words.iter().skip(1).find(|word| !word.text.starts_with('-') || word.is_glob);
    filter.is_some_and(|filter| filter.is_glob) || command.words.iter().any(reaches)
}

/// Whether a format only prints texts. Other conversions evaluate their arguments, and `%n` sets a variable.
pub(super) fn prints_texts(format: &str) -> bool {
    let converts = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_digit() || "-.".contains(c)).to_owned();
    let format = format.replace("%%", "");
    !format.starts_with('-') && format.split('%').skip(1).all(|part| converts(part).starts_with(['s', 'b', 'q', 'c']))
}

#[cfg(test)]
mod tests {
    use super::super::shell::ShellText;
    use super::*;

    #[test]
    fn a_script_that_only_prints_is_known() {
        let files = |text: &str| {
            let read = ShellText::read(text);
            read.understood().and_then(|commands| printed_files(&commands[0]).map(<[Word]>::len))
        };
        for (text, expected) in [
            ("sed -n '1,20p' f", 1),
            ("sed -n '/a b/,/c;d/p' a b", 2),
            ("sed 's/a/b/' f", 1),
            ("sed -e 's/a/b/' f", 1),
            ("sed -n -e 1,5p f", 1),
            ("sed -E 's/(a|b)+/x y/g2' f", 1),
            ("sed 's/a/w x/'", 0),
            ("sed '1d;$d;/x/!d' f", 1),
            ("awk '{print $1}' f", 1),
            ("awk -F: '{print $1, $NF}' f", 1),
            ("awk 'NR==1 {print}' f", 1),
            ("awk '{print NR \": | > \" $2; print length($1)}' f g", 2),
            ("awk 1 f", 1),
        ] {
            assert_eq!(files(text), Some(expected), "{text}");
        }
        for text in [
            "sed 's/a/b/w x' f",
            "sed 's/a/b/e' f",
            "sed 's/a/b/;w x' f",
            "sed 's/a/b/\nw x' f",
            "sed 's/a\\/b/w x/' f",
            "sed 's/a/b/' -i f",
            "sed -i 's/a/b/' f",
            "sed -n -i 1p f",
            "sed -ni 1p f",
            "sed 's|a|b|w x' f",
            "sed 's/a/b/' *",
            "sed '1r x' f",
            "sed '1e' f",
            "sed -e 1p -f x",
            "sed -e 1p -e 'w x' f",
            "sed -e -n 1p",
            "sed ''",
            "awk '{system($1)}' f",
            "awk '{print $1 > \"x\"}' f",
            "awk '{print | \"sh\"}' f",
            "awk '{\"id\" | getline}' f",
            "awk '{print ENVIRON[\"KEY\"]}' f",
            "awk '{print \"\\\" | \" }' f",
            "awk '1/system(\"x\")/1' f",
            "awk -f x f",
            "awk -v x=1 1 f",
            "awk '@load \"x\"' f",
            "awk '{print $1' -f x",
            "awk '{getline}' f",
            "awk 'BEGIN{x}' f",
        ] {
            assert_eq!(files(text), None, "{text}");
        }
    }
}
