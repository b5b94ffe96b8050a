//! Which rules a person may keep for a call. A pattern is offered for commands on a list; every other command is kept as the
//! exact line, because any program may have an option that runs another one or overwrites a file.
//!
//! A rule is offered only if it lets the same call through.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::compact::glob;
use super::key_file::names_credentials;
use super::reader::READS;
use super::rule::Rule;
use super::shell::{Redirect, SHELLS, ShellText, SimpleCommand, Word, base_name, is_one_of};
use super::verb::GIT_READS;
use super::{Call, Leads, Places, Subject, Target, content, flag};
use crate::tool::{RulePrefix, Tool, ToolFamily, ToolName};

/// Beginnings of commands of which a pattern is offered, and the words of which one follows; `*` is any word. These tools run
/// the project's own code, or only look. Of git it is what neither throws work away nor sends it, apart from `flag`.
const PATTERNS: &[(&str, &str)] = &[
    ("./gradlew", ""),
    ("./mvnw", ""),
    ("bun", "install test"),
    ("bun run", "*"),
    ("bundle", "check install"),
    ("bundle exec", "rake rspec rubocop"),
    ("cargo", "add bench build check clippy doc fetch fix fmt metadata nextest run test tree update"),
    ("cmake", ""),
    ("ctest", ""),
    ("dotnet", "build format restore run test"),
    ("eslint", ""),
    ("git", "add commit fetch switch"),
    ("git", GIT_READS),
    ("git stash", "list show"),
    ("go", "build fmt list mod test vet"),
    ("gradle", ""),
    ("jest", ""),
    ("just", ""),
    ("make", ""),
    ("mkdir", ""),
    ("mvn", ""),
    ("mypy", ""),
    ("ninja", ""),
    ("npm", "ci install start test"),
    ("npm run", "*"),
    ("pnpm", "install start test"),
    ("pnpm run", "*"),
    ("pre-commit", "run"),
    ("pytest", ""),
    ("rake", ""),
    ("rspec", ""),
    ("ruff", "check format"),
    ("touch", ""),
    ("tsc", ""),
    ("uv", "lock sync"),
    ("vitest", ""),
    ("yarn", "install start test"),
    ("yarn run", "*"),
];

/// The rules that would let `call` pass the next time; `None` when none are offered.
pub fn rules(call: &Call, places: &Places) -> Option<Vec<Rule>> {
    let tool = ToolName::read(&call.tool).known();
    match &call.subject {
        Subject::Command { text, leads, .. } => match tool? {
            Tool::Bash => commands(text, *leads, places),
            Tool::Git => git(text.trim().strip_prefix("git ").unwrap_or(text), places),
            Tool::RunTests => distinct([exact("Tests", text).filter(|_| ShellText::read(text).opaque.is_none())]),
            _ => None,
        },
        Subject::Name(arguments) if tool == Some(Tool::Git) => git(arguments, places),
        // A server that was started serves all files: the rule means the tool.
        Subject::Paths(_) if tool.is_some_and(|tool| tool.family() == ToolFamily::Code && !tool.is_mutating()) => {
            distinct([Rule::new(tool?.name(), "*").ok()])
        }
        Subject::Paths(paths) => {
            let subject = file_prefix(tool?)?.as_str();
            let rule = |target: &Target| Rule::new(subject, &path(&target.real, places)?).ok();
            distinct(paths.iter().map(rule))
        }
        Subject::Url(url) if tool == Some(Tool::WebFetch) => distinct([Rule::new("Fetch", &pages(url)?).ok()]),
        Subject::Mcp { server, tool, .. } => distinct([exact("MCP", &format!("{server}/{tool}"))]),
        Subject::Url(_) | Subject::Name(_) | Subject::Nothing => None,
    }
}

/// The prefix of rules that may be offered for a call that names files: none that carries them away or removes them.
fn file_prefix(tool: Tool) -> Option<RulePrefix> {
    tool.rule_prefix().filter(|prefix| {
        matches!(prefix, RulePrefix::Read | RulePrefix::Write | RulePrefix::Edit | RulePrefix::Mkdir | RulePrefix::List)
    })
}

/// A rule for exactly these words, where they mean nothing but themselves.
fn exact(prefix: &str, words: &str) -> Option<Rule> {
    is_exact(words).then(|| Rule::new(prefix, words).ok()).flatten()
}

/// Whether a rule with these words means nothing but them.
fn is_exact(words: &str) -> bool {
    !glob::is_pattern(words) && !words.contains(['(', ')', '\n'])
}

/// Each rule once; none when one is missing.
fn distinct(rules: impl IntoIterator<Item = Option<Rule>>) -> Option<Vec<Rule>> {
    let mut found: Vec<Rule> = Vec::new();
    for rule in rules {
        let rule = rule?;
        if !found.contains(&rule) {
            found.push(rule);
        }
    }
    (!found.is_empty()).then_some(found)
}

fn commands(text: &str, leads: Leads, places: &Places) -> Option<Vec<Rule>> {
    let read = ShellText::read(text);
    if read.commands.iter().any(|command| !flag::in_command(command).is_empty()) {
        return None;
    }
    // A program that nobody knows may run what another one prints, and the next time that prints something else.
    let is_piped = text.replace("||", "").contains('|');
    let is_offered =
        |command: &SimpleCommand| !is_piped || command.program() == "cd" || known_beginning(&command.texts()).is_some();
    let commands = read.understood()?;
    let leaves = flag::leaves_repository(commands, &places.tree);
    let kept = |command: &SimpleCommand| match command.program() {
        // What it runs may be in its input, which may be another one the next time.
        _ if command.is_fed || reads_file_unknown(command) => None,
        _ if flag::may_run_others(command, &places.remotes) => exact_line(command),
        "git" if leaves => exact_line(command),
        // A rule for all of its files would mean those outside as well.
        "mkdir" | "touch" if leads != Leads::Inside => exact_line(command),
        _ if content::may_show_secrets(command, leads) => exact_line(command),
        _ => pattern(command),
    };
    distinct(commands.iter().map(|command| Rule::new("Bash", &kept(command).filter(|_| is_offered(command))?).ok()))
}

fn git(arguments: &str, places: &Places) -> Option<Vec<Rule>> {
    let text = format!("git {arguments}");
    let rules = commands(&text, Leads::Inside, places)?;
    let [rule] = rules.as_slice() else { return None };
    distinct([Rule::new("Git", rule.pattern().strip_prefix("git ")?).ok()])
}

/// The pattern that means commands such as this one, or this one alone.
fn pattern(command: &SimpleCommand) -> Option<String> {
    let texts = command.texts();
    let known = known_beginning(&texts).filter(|length| command.words[..*length].iter().all(is_plain));
    // A pattern never means a redirection into a file, and a question about one file is none about the others.
    match known {
        Some(length) if !command.writes() && !command.words.iter().skip(1).any(names_credentials) => {
            let has_more = texts.len() > length || !command.redirects.is_empty();
            Some(texts[..length].join(" ") + if has_more { " *" } else { "" })
        }
        Some(_) => exact_line(command),
        None => exact_line(command).filter(|_| is_complete(&command.words)),
    }
}

/// Whether a program of which nobody knows what it does with its input gets a file by it.
fn reads_file_unknown(command: &SimpleCommand) -> bool {
    known_beginning(&command.texts()).is_none() && command.redirects.iter().any(|redirect| redirect.sign == "<")
}

/// How many words say what a command does, where others like it may follow.
fn known_beginning(texts: &[&str]) -> Option<usize> {
    let program = texts.first()?;
    let length = |(beginning, next): &(&str, &str)| {
        let length = beginning.split(' ').count();
        let begins = texts.get(..length).is_some_and(|words| beginning.split(' ').eq(words.iter().copied()));
        match *next {
            _ if !begins => None,
            "" => Some(length),
            "*" => texts.get(length).filter(|word| !word.starts_with('-')).map(|_| length + 1),
            next => texts.get(length).filter(|word| is_one_of(next, word)).map(|_| length + 1),
        }
    };
    if is_one_of(READS, program) { Some(1) } else { PATTERNS.iter().find_map(length) }
}

/// The line of a command, where it means nothing else as a rule and writes only below.
fn exact_line(command: &SimpleCommand) -> Option<String> {
    let line = command.line();
    let is_near = |redirect: &Redirect| !redirect.writes() || is_plain_path(&redirect.target.text);
    (is_exact(&line) && command.redirects.iter().all(is_near)).then_some(line)
}

/// Whether the words of a program say what it does. One without an operand may run what another one prints into it.
fn is_complete(words: &[Word]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let is_operand = |word: &Word| !word.text.starts_with('-');
    let reads_input = |word: &Word| word.text.contains("/dev/") || word.text.contains("/proc/");
    let ends_open = arguments.last().is_some_and(|word| word.text == "-" || SHELLS.contains(&base_name(&word.text)));
    let has_operand = program.text.starts_with("./") || arguments.iter().any(is_operand);
    has_operand && !ends_open && !words.iter().any(reads_input)
}

/// Whether a word means nothing but itself.
fn is_plain(word: &Word) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || "_-./:@+%,".contains(c);
    !word.is_glob && !word.text.is_empty() && word.text.chars().all(is_letter)
}

/// Whether a path stays below, by its words.
fn is_plain_path(path: &str) -> bool {
    !path.starts_with(['/', '~', '$']) && !path.split('/').any(|part| part == ".." || part == ".git")
}

/// A path as a pattern that means it and nothing else.
fn path(path: &Path, places: &Places) -> Option<String> {
    let text = path.strip_prefix(&places.tree).unwrap_or(path).to_str()?;
    let is_plain = path.is_absolute() && !text.is_empty() && !text.contains('\n');
    is_plain.then(|| globset::escape(text))
}

/// All pages of the host of an address.
fn pages(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (host, page) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    let is_plain = matches!(scheme, "http" | "https") && !host.is_empty() && host.chars().all(is_host);
    match page {
        "" => is_plain.then(|| url.to_owned()),
        page => (is_plain && page.starts_with('/')).then(|| format!("{scheme}://{host}/*")),
    }
}
