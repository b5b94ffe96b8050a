//! Which words of a command are programs, and which are scripts that another shell reads.

use super::reader::Reader;
use super::{DEEPEST, Role, Simple, Word};

/// Programs that run the program behind them.
const WRAPPERS: &[&str] = &[
    "-",
    "builtin",
    "busybox",
    "caffeinate",
    "chronic",
    "chrt",
    "command",
    "env",
    "exec",
    "fakeroot",
    "flock",
    "ionice",
    "nice",
    "nocorrect",
    "noglob",
    "nohup",
    "parallel",
    "setarch",
    "setsid",
    "stdbuf",
    "strace",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unbuffer",
    "unshare",
    "watch",
    "xargs",
];

/// Those of them whose first word is something else.
const WRAPPERS_OF_SECOND: &[&str] = &["chrt", "flock", "setarch", "taskset"];

const SHELLS: &[&str] = &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh"];

/// Shells in which all of bash's language means what it means in bash.
const LIKE_BASH: &[&str] = &["bash", "ksh", "mksh", "rbash", "zsh"];

/// Programs that hand a word with blanks in it to a shell.
const RUNNERS: &[&str] = &["entr", "flock", "hyperfine", "parallel", "runuser", "script", "sg", "su", "watch"];

/// Programs that never run what they are given.
const TEXTUAL: &[&str] = &["[", "ag", "echo", "egrep", "fgrep", "git", "grep", "man", "printf", "rg", "test", "which"];

/// Where a program stands in its command.
pub(in super::super) struct Program {
    pub at: usize,
    /// False for what may as well be the value of a wrapper's option.
    pub is_sure: bool,
}

pub(in super::super) fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

pub(in super::super) fn is_shell(word: &Word) -> bool {
    SHELLS.contains(&name(&word.text))
}

/// The words from `start` on that may be programs: the first that is no assignment, and behind a wrapper each one
/// until it is certain that its own options are over.
pub(in super::super) fn programs(words: &[Word], start: usize) -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    let mut is_behind = false;
    let mut is_value = false;
    let mut is_sure = true;
    for (at, word) in words.iter().enumerate().skip(start).filter(|(_, word)| !word.is_target()) {
        let text = word.text.as_str();
        if word.assigns || is_behind && super::is_assignment(text) {
            continue;
        }
        if is_behind && text.starts_with('-') {
            is_value = !text.contains(['=', '{']);
            continue;
        }
        if is_behind && (text == "{}" || text.starts_with(|c: char| c.is_ascii_digit())) {
            is_value = false;
            continue;
        }
        found.push(Program { at, is_sure });
        let next = words.get(at + 1).map(|next| next.text.as_str());
        if name(text) == "command" && matches!(next, Some("-v" | "-V")) {
            break;
        }
        if WRAPPERS.contains(&name(text)) {
            (is_behind, is_value) = (true, WRAPPERS_OF_SECOND.contains(&name(text)));
        } else if is_behind && (is_value || word.expands) {
            (is_value, is_sure) = (false, false);
        } else {
            break;
        }
    }
    let runs =
        |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec");
    if found.last().is_some_and(|program| matches!(name(&words[program.at].text), "find" | "fd")) {
        let from = found.last().map_or(0, |program| program.at + 1);
        let inner = (from..words.len()).filter(|at| runs(&words[*at])).flat_map(|at| programs(words, at + 1));
        let inner: Vec<_> = inner.collect();
        found.extend(inner);
    }
    found
}

/// The commands of `text` and of all scripts in it. What a command runs stands before the command: scripts, and the
/// program behind a wrapper or a setting, so that nobody hides a program by what stands before it.
pub(super) fn unfold(text: &str, depth: usize) -> Option<Vec<Simple>> {
    let commands = Reader::new(text, depth, 0).read()?;
    let given: Vec<_> = commands.iter().map(scripts).collect::<Option<_>>()?;
    let runs_output = commands.iter().any(runs_output);
    if depth >= DEEPEST && (runs_output || given.iter().any(|scripts| !scripts.is_empty())) {
        return None;
    }
    let mut found = Vec::with_capacity(commands.len());
    for (command, mut scripts) in commands.into_iter().zip(given) {
        if runs_output {
            scripts.extend(said(&command));
        }
        for script in scripts {
            found.extend(unfold(&script, depth + 4)?);
        }
        found.extend(behind(&command));
        found.push(command);
    }
    Some(found)
}

/// The programs that a command runs by way of another one, or with a setting of their own.
fn behind(simple: &Simple) -> Vec<Simple> {
    let first = simple.words.iter().position(|word| !word.is_target()).unwrap_or(0);
    let programs = if simple.role == Role::Command { programs(&simple.words, 0) } else { Vec::new() };
    let inner = programs.into_iter().filter(|program| program.at > first);
    inner.map(|program| Simple { words: simple.words[program.at..].to_vec(), ..*simple }).collect()
}

/// What a command gives to a shell to run; `None` when it cannot be known how that shell reads it.
fn scripts(simple: &Simple) -> Option<Vec<String>> {
    let mut found = Vec::new();
    if simple.role != Role::Command {
        return Some(found);
    }
    let words = simple.words.as_slice();
    let mut shells: Vec<usize> = Vec::new();
    let mut is_textual = true;
    for program in programs(words, 0) {
        let behind = &words[program.at + 1..];
        let operands = || behind.iter().filter(|word| !word.is_target() && !word.text.starts_with('-'));
        let name = name(&words[program.at].text);
        is_textual &= TEXTUAL.contains(&name);
        match name {
            "eval" => {
                let texts: Vec<_> = behind.iter().filter(|word| !word.is_target()).map(|word| &*word.text).collect();
                found.push(texts.join(" "));
            }
            "trap" => found.extend(operands().next().map(|word| word.text.clone())),
            "alias" => {
                let values = operands().filter_map(|word| word.text.split_once('='));
                found.extend(values.map(|(_, value)| value.to_owned()));
            }
            "env" => {
                let mut words = behind.iter().map(|word| word.text.as_str());
                while let Some(word) = words.next() {
                    let value = word.strip_prefix("-S").or_else(|| word.strip_prefix("--split-string"));
                    let value = value.map(|value| value.trim_start_matches('='));
                    found.extend(match value {
                        Some("") => words.next().map(str::to_owned),
                        value => value.map(str::to_owned),
                    });
                }
            }
            shell if SHELLS.contains(&shell) => shells.push(program.at),
            runner if RUNNERS.contains(&runner) => {
                let is_script = |word: &&Word| word.is_quoted && word.text.contains(char::is_whitespace);
                found.extend(operands().filter(is_script).map(|word| word.text.clone()));
            }
            _ => {}
        }
    }
    // Any program may be a wrapper that nobody knows.
    if !is_textual {
        let is_other = |at: &usize| is_shell(&words[*at]) && !words[*at].is_target() && !shells.contains(at);
        let others: Vec<_> = (0..words.len()).filter(is_other).collect();
        shells.extend(others);
    }
    for at in shells {
        let Given::Script(script) = given(&words[at + 1..]) else { continue };
        if !LIKE_BASH.contains(&name(&words[at].text)) && is_of_bash(&script.text) {
            return None;
        }
        found.push(script.text.clone());
    }
    Some(found)
}

/// Where a shell finds what it runs.
enum Given<'a> {
    Script(&'a Word),
    File(&'a Word),
    Input,
}

/// What the words behind a shell's name give it.
fn given(words: &[Word]) -> Given<'_> {
    let (mut is_script, mut is_input, mut is_value) = (false, false, false);
    for word in words.iter().filter(|word| !word.is_target()) {
        let text = word.text.as_str();
        if std::mem::take(&mut is_value) {
            continue;
        }
        match text.strip_prefix(['-', '+']) {
            Some("" | "-") if is_script => {}
            Some(long) if long.starts_with('-') => is_value = matches!(long, "-rcfile" | "-init-file"),
            Some(flags) if !flags.is_empty() => {
                is_script |= flags.contains('c');
                is_input |= flags.contains('s');
                is_value = flags.contains(['o', 'O']);
            }
            Some(_) | None if is_script => return Given::Script(word),
            Some(_) => return Given::Input,
            None if is_input => return Given::Input,
            None => return Given::File(word),
        }
    }
    Given::Input
}

/// Whether a script holds what bash reads as a condition or as arithmetic, and other shells as commands.
fn is_of_bash(script: &str) -> bool {
    let arithmetic = |(place, _): (usize, &str)| !script[..place].ends_with('$');
    script.contains("[[") || script.contains("$'") || script.match_indices("((").any(arithmetic)
}

/// Whether a command runs what other commands of the text print.
fn runs_output(simple: &Simple) -> bool {
    let words = simple.words.as_slice();
    let is_output = |word: &Word| word.text.contains("/dev/") || word.expands && word.text.contains('(');
    let runs = |program: Program| {
        let (word, behind) = (&words[program.at], &words[program.at + 1..]);
        match name(&word.text) {
            _ if word.expands && word.text.contains("$(") => true,
            "eval" | "source" | "." => behind.iter().any(is_output),
            _ if is_shell(word) => match given(behind) {
                Given::Script(word) | Given::File(word) => is_output(word),
                Given::Input => true,
            },
            _ => false,
        }
    };
    simple.role == Role::Command && programs(words, 0).into_iter().any(runs)
}

/// What a command prints word for word, or is given to read.
fn said(simple: &Simple) -> Vec<String> {
    let bodies = simple
        .words
        .iter()
        .filter(|word| word.redirect.as_ref().is_some_and(|redirect| matches!(redirect.sign, "<<" | "<<-" | "<<<")));
    let mut said: Vec<_> = bodies.map(|word| word.text.clone()).collect();
    let words = simple.words.as_slice();
    for program in programs(words, 0) {
        if matches!(name(&words[program.at].text), "echo" | "printf") {
            let behind = words[program.at + 1..].iter().filter(|word| !word.is_target());
            let behind = behind.skip_while(|word| word.text.starts_with('-'));
            let texts: Vec<_> = behind.map(|word| word.text.as_str()).collect();
            said.push(texts.join(" "));
        }
    }
    said
}
