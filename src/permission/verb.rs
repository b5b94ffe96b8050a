//! Which commands only look: by the verb of every simple command in a text. What it does not know, it does not pass.

use super::shell;

const READS: &[&str] = &["cat", "grep", "head", "ls", "pwd", "rg", "tail", "wc"];

/// Whether a shell text does nothing but read.
pub fn only_reads(text: &str) -> bool {
    let Some(commands) = shell::parse(text) else { return false };
    let reads = |simple: &shell::Simple| {
        simple.words.first().is_some_and(|word| READS.contains(&word.text.as_str()))
            && !simple.words.iter().any(|word| word.is_target())
    };
    !commands.is_empty() && commands.iter().all(reads)
}

/// Whether a shell text does nothing but read with git.
pub fn only_git_reads(text: &str) -> bool {
    let Some(commands) = shell::parse(text) else { return false };
    let reads = |simple: &shell::Simple| match simple.words.as_slice() {
        [git, verb, rest @ ..] => {
            git.text == "git" && ["status"].contains(&verb.text.as_str()) && !rest.iter().any(|word| word.is_target())
        }
        [] | [_] => false,
    };
    !commands.is_empty() && commands.iter().all(reads)
}
