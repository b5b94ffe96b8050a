//! A rule's pattern held against the words of a command in any usual order: options may stand anywhere, in bundles and in
//! their other spelling, and with a value before a subcommand. For rules that forbid; it finds too much rather than too little.

#[cfg(test)]
mod tests;

use crate::permission::compact::glob;

/// Options of git and sed with their letters, and an option that stands for two others.
const TWINS: &[(&str, &str)] =
    &[("--all", "-a"), ("--delete", "-d"), ("--force", "-f"), ("--move", "-m"), ("--no-verify", "-n")];
const SED_TWINS: &[(&str, &str)] = &[("--in-place", "-i")];
const BOTH: (&str, [&str; 2]) = ("-D", ["--delete", "--force"]);

/// Up to how many letters an option of a pattern is a bundle and no name.
const MOST_LETTERS: usize = 3;

/// Whether a pattern means a command, by its program, the words that say what it does, and its options. `words` are those
/// of the command, without the options of git itself.
pub(super) fn means(pattern: &str, words: &[&str]) -> bool {
    let (options, names): (Vec<_>, Vec<_>) = pattern.split_whitespace().partition(|word| word.starts_with('-'));
    let is_open = names.iter().any(|word| is_star(word)) || pattern.ends_with('*');
    let names: Vec<_> = names.into_iter().take_while(|word| !is_star(word)).collect();
    // A pattern that only names a program is held against lines.
    if names.is_empty() || options.is_empty() && names.len() < 2 {
        return false;
    }
    let mut wanted = names.iter().peekable();
    // `cargo +nightly` is an option as well.
    let is_option = |word: &str| word.starts_with(['-', '+']);
    for (at, word) in words.iter().enumerate().filter(|(_, word)| !is_option(word)) {
        let may_be_value = at > 0 && is_option(words[at - 1]) && !words[at - 1].contains('=');
        match wanted.peek() {
            Some(name) if glob::matches(name, word) => drop(wanted.next()),
            None if is_open => break,
            Some(_) | None if may_be_value => {}
            Some(_) | None => return false,
        }
    }
    let twins = match words.first() {
        Some(&"git") => Some(TWINS),
        Some(&("sed" | "gsed")) => Some(SED_TWINS),
        Some(_) | None => None,
    };
    wanted.peek().is_none() && options.iter().all(|option| has_option(option, words, twins))
}

fn has_option(option: &str, words: &[&str], twins: Option<&[(&str, &str)]>) -> bool {
    let name = option.trim_end_matches('*');
    let is_long = name.starts_with("--");
    let is_meant = |word: &&str| {
        let spelled = word.split('=').next().unwrap_or(word);
        // Git and others take the beginning of an option for the option.
        glob::matches(option, word) || is_long && spelled.len() > "--".len() && name.starts_with(spelled)
    };
    let letters = name.trim_start_matches('-');
    let bundles = || words.iter().filter(|word| word.starts_with('-') && !word.starts_with("--"));
    let has_letter = |letter: char| bundles().any(|word| word.contains(letter));
    let is_bundle = !is_long && (1..=MOST_LETTERS).contains(&letters.len());
    let twin = twins.into_iter().flatten().find_map(|(long, letter)| match name {
        name if name == *long => Some(*letter),
        name if name == *letter => Some(*long),
        _ => None,
    });
    words.iter().any(is_meant)
        || is_bundle && letters.chars().all(has_letter)
        || twin.is_some_and(|twin| has_option(twin, words, None))
        || name == BOTH.0 && twins.is_some() && BOTH.1.iter().all(|option| has_option(option, words, twins))
}

fn is_star(word: &str) -> bool {
    word.chars().all(|c| c == '*')
}
