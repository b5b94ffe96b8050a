//! Text that came out of an agent, made fit to be shown: bounded, and commands without the shell around them.

/// How much of one tool call's output is kept.
pub(super) const OUTPUT_LIMIT: usize = 64 * 1024;

/// Keeps the two ends of a long text and marks what is left out.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= OUTPUT_LIMIT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(OUTPUT_LIMIT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - OUTPUT_LIMIT / 2)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes left out]\n{tail}")
}

/// What the shell is told to run: `/bin/bash -lc 'make test'` is `make test` to a person.
pub(super) fn script(command: &str) -> String {
    let inner = [" -lc ", " -c "].iter().find_map(|flag| command.split_once(flag)).and_then(|(shell, word)| {
        let is_shell = shell.ends_with("sh") && !shell.contains(char::is_whitespace);
        is_shell.then(|| unquote(word)).flatten()
    });
    inner.unwrap_or_else(|| command.to_owned())
}

/// The value of one quoted shell word; `None` when it is more than one word.
fn unquote(word: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = word.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => value.push(chars.next()?),
            (None, c) if c.is_whitespace() => return None,
            (_, c) => value.push(c),
        }
    }
    quote.is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_around_a_command_is_left_out() {
        for (command, expected) in [
            ("/bin/bash -lc 'echo hi'", "echo hi"),
            ("/bin/zsh -c 'ls'", "ls"),
            (r#"bash -lc 'echo '\''a'\'' b'"#, "echo 'a' b"),
            (r#"bash -lc "echo \"x\"; ls""#, "echo \"x\"; ls"),
            ("/bin/bash -lc ls", "ls"),
            ("/bin/bash -lc ls -a", "/bin/bash -lc ls -a"),
            ("grep -c 'x' file", "grep -c 'x' file"),
            ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
            ("make", "make"),
        ] {
            assert_eq!(script(command), expected);
        }
    }

    #[test]
    fn long_output_keeps_both_ends() {
        assert_eq!(bounded("short"), "short");
        let long = format!("START{}END", "é".repeat(OUTPUT_LIMIT));
        let kept = bounded(&long);
        assert!(kept.len() < OUTPUT_LIMIT + 100);
        assert!(kept.starts_with("START") && kept.ends_with("END") && kept.contains("bytes left out]"));
    }
}
