//! Rules that allow so much that a person should write each of them knowingly. A rule with a pattern that can mean any
//! program allows every command, whatever its words look like.

use super::rule::Rule;
use super::shell::{base_name, runs_words};

/// Beginnings of commands that run a program which stands further behind.
const RUNNERS: &[&[&str]] = &[
    &["awk"],
    &["bun", "x"],
    &["bunx"],
    &["doas"],
    &["docker", "exec"],
    &["docker", "run"],
    &["eval"],
    &["kubectl", "exec"],
    &["npm", "exec"],
    &["npm", "x"],
    &["npx"],
    &["pipx", "run"],
    &["pkexec"],
    &["pnpm", "dlx"],
    &["pnpm", "exec"],
    &["podman", "exec"],
    &["podman", "run"],
    &["poetry", "run"],
    &["source"],
    &["su"],
    &["sudo"],
    &["uv", "run"],
    &["uvx"],
    &["yarn", "dlx"],
    &["yarn", "exec"],
];

/// Patterns of all files of a person or of the machine.
const EVERYWHERE: &[&str] = &["/**", "/*", "~/**", "~/*", "$HOME/**", "$HOME/*"];

/// Why an `allow` rule should not be taken over together with others; `None` for most.
pub fn describe_breadth(rule: &Rule) -> Option<String> {
    if EVERYWHERE.contains(&rule.pattern()) && rule.path_pattern().is_some() {
        return Some("it allows every file, outside of the repository too".to_owned());
    }
    let pattern = rule.shell_pattern().filter(|_| !rule.is_exact())?;
    let words: Vec<_> = pattern.split_whitespace().take_while(|word| !word.contains(['*', '?'])).collect();
    let Some(program) = words.first().map(|word| base_name(word)) else {
        return Some("it allows every command".to_owned());
    };
    let begins = |runner: &&[&str]| {
        let words = std::iter::once(program).chain(words.iter().skip(1).copied());
        runner.iter().zip(words).all(|(known, word)| *known == word)
    };
    let runs = runs_words(program) || RUNNERS.iter().any(begins);
    runs.then(|| format!("`{program}` runs any command, so it allows every command"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_can_mean_any_program_or_file_is_broad() {
        for (rule, expected) in [
            ("Bash(**)", Some("it allows every command")),
            ("Bash(*)", Some("it allows every command")),
            ("Bash(* --version)", Some("it allows every command")),
            ("Bash(./*)", Some("it allows every command")),
            ("Bash(python3.12 *)", Some("`python3.12` runs any command, so it allows every command")),
            ("Bash(/bin/bash *)", Some("`bash` runs any command, so it allows every command")),
            ("Bash(timeout *)", Some("`timeout` runs any command, so it allows every command")),
            ("Bash(npx *)", Some("`npx` runs any command, so it allows every command")),
            ("Bash(docker *)", Some("`docker` runs any command, so it allows every command")),
            ("Bash(docker exec *)", Some("`docker` runs any command, so it allows every command")),
            ("Edit(/**)", Some("it allows every file, outside of the repository too")),
            ("Read(~/**)", Some("it allows every file, outside of the repository too")),
            ("Bash(docker compose *)", None),
            ("Bash(npm run *)", None),
            ("Bash(python3 build.py)", None),
            ("Bash(git *)", None),
            ("Git(push *)", None),
            ("Edit(**)", None),
            ("Fetch(**)", None),
            ("MCP(db/*)", None),
        ] {
            assert_eq!(describe_breadth(&rule.parse().unwrap()).as_deref(), expected, "{rule}");
        }
    }
}
