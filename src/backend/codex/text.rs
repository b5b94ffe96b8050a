//! Text that came out of an agent, made fit to be shown: commands without the shell around them.

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
            (None, '\\') => value.push(chars.next()?),
            (Some('"'), '\\') => match chars.next()? {
                escaped @ ('$' | '`' | '"' | '\\') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
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
            (r#"bash -lc "printf 'a\n' \$HOME""#, r"printf 'a\n' $HOME"),
            (r#"bash -lc "echo \"it's\" "'`id`'"#, "echo \"it's\" `id`"),
            ("/bin/bash -lc ls", "ls"),
            ("/bin/bash -lc ls -a", "/bin/bash -lc ls -a"),
            ("grep -c 'x' file", "grep -c 'x' file"),
            ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
            ("make", "make"),
        ] {
            assert_eq!(script(command), expected);
        }
    }
}
