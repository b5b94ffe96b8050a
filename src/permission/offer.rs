//! Which rules a person may keep for a call: wide enough to be useful again, and none for what could do anything.
//!
//! A rule is offered only if it lets the same call through.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::compact::{glob, tool};
use super::rule::Rule;
use super::shell::{Redirect, ShellText, SimpleCommand, Word, base_name, is_one_of};
use super::verb::{READS, names_credentials};
use super::{Call, Places, Subject, Target, flag};

/// Programs whose second word says what they do.
pub(super) const BY_SECOND: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bunx",
    "cargo",
    "docker",
    "dotnet",
    "git",
    "go",
    "helm",
    "kubectl",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Beginnings of commands whose third word says what they do.
const BY_THIRD: &[&[&str]] = &[
    &["aws"],
    &["bun", "run"],
    &["docker", "compose"],
    &["gcloud"],
    &["gh"],
    &["git", "remote"],
    &["git", "stash"],
    &["npm", "run"],
    &["pnpm", "run"],
    &["yarn", "run"],
];

/// Programs that destroy, reach out, or run whatever they are given.
const REFUSED: &[&str] = &[
    ".",
    "alias",
    "at",
    "awk",
    "bash",
    "builtin",
    "busybox",
    "chgrp",
    "chmod",
    "chown",
    "chroot",
    "command",
    "cp",
    "crontab",
    "csh",
    "curl",
    "dash",
    "dd",
    "declare",
    "deno",
    "doas",
    "emacs",
    "enable",
    "env",
    "eval",
    "exec",
    "export",
    "fd",
    "find",
    "fish",
    "flock",
    "ftp",
    "gawk",
    "gdb",
    "hash",
    "install",
    "ionice",
    "kill",
    "killall",
    "ksh",
    "ln",
    "local",
    "lua",
    "mawk",
    "mount",
    "mv",
    "nc",
    "ncat",
    "nice",
    "node",
    "nohup",
    "npx",
    "nsenter",
    "osascript",
    "parallel",
    "patch",
    "perl",
    "php",
    "pkexec",
    "pkill",
    "pnpx",
    "printf",
    "python",
    "readonly",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "screen",
    "script",
    "sed",
    "set",
    "setsid",
    "sftp",
    "sh",
    "shopt",
    "shred",
    "socat",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "tar",
    "taskset",
    "tclsh",
    "tee",
    "telnet",
    "time",
    "timeout",
    "tmux",
    "trap",
    "truncate",
    "ts-node",
    "tsx",
    "typeset",
    "umount",
    "unlink",
    "unset",
    "unshare",
    "unzip",
    "uvx",
    "vi",
    "vim",
    "watch",
    "wget",
    "xargs",
    "zsh",
];

/// Subcommands that do the same.
const REFUSED_SECOND: &[(&str, &[&str])] = &[
    ("bun", &["-e", "eval", "exec", "x"]),
    ("docker", &["cp", "exec", "run"]),
    ("gh", &["alias", "api", "extension", "auth"]),
    ("git", &["bisect", "config", "difftool", "filter-branch", "mergetool", "rebase", "submodule"]),
    ("go", &["generate", "run", "tool"]),
    ("kubectl", &["cp", "delete", "exec", "run"]),
    ("npm", &["exec", "x", "config", "explore"]),
    ("pnpm", &["dlx", "exec"]),
    ("podman", &["cp", "exec", "run"]),
    ("terraform", &["apply", "destroy"]),
    ("uv", &["run", "tool"]),
    ("yarn", &["dlx", "exec"]),
];

/// Rules by the tool, for calls that name files.
const BY_PATH: &[(&str, &[&str])] = &[
    ("Edit", &["code_action", "edit", "patch", "rename_symbol"]),
    ("List", &["list"]),
    ("Mkdir", &["mkdir"]),
    ("Read", &["read"]),
    ("Write", &["write"]),
];

/// Tools that only look, and start a language server for that.
const STARTING: &[&str] = &["symbols", "definition", "diagnostics", "refs", "trace"];

/// The rules that would let `call` pass the next time; `None` when none are offered.
pub fn rules(call: &Call, places: &Places) -> Option<Vec<Rule>> {
    let tool = tool::canonical(&call.tool);
    match &call.subject {
        Subject::Command { text, .. } => match tool.as_ref() {
            "bash" => commands(text),
            "git" => git(text.trim().strip_prefix("git ").unwrap_or(text)),
            "run_tests" => distinct([exact("Tests", text).filter(|_| ShellText::read(text).opaque.is_none())]),
            _ => None,
        },
        Subject::Name(arguments) if tool == "git" => git(arguments),
        // A server that was started serves all files: the rule means the tool.
        Subject::Paths(_) if STARTING.contains(&tool.as_ref()) => distinct([Rule::new(&tool, "*").ok()]),
        Subject::Paths(paths) => {
            let (subject, _) = BY_PATH.iter().find(|(_, tools)| tools.contains(&tool.as_ref()))?;
            let rule = |target: &Target| Rule::new(subject, &path(&target.real, places)?).ok();
            distinct(paths.iter().map(rule))
        }
        Subject::Url(url) if tool == "web_fetch" => distinct([Rule::new("Fetch", &pages(url)?).ok()]),
        Subject::Mcp { server, tool, .. } => distinct([exact("MCP", &format!("{server}/{tool}"))]),
        Subject::Url(_) | Subject::Name(_) | Subject::Nothing => None,
    }
}

/// A rule for exactly these words, where they mean nothing but themselves.
fn exact(prefix: &str, words: &str) -> Option<Rule> {
    let is_plain = !glob::is_pattern(words) && !words.contains(['(', ')', '\n']);
    is_plain.then(|| Rule::new(prefix, words).ok()).flatten()
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

fn commands(text: &str) -> Option<Vec<Rule>> {
    let text = ShellText::read(text);
    if text.commands.iter().any(|command| !flag::in_command(command).is_empty()) {
        return None;
    }
    distinct(text.understood()?.iter().map(|command| Rule::new("Bash", &pattern(command)?).ok()))
}

fn git(arguments: &str) -> Option<Vec<Rule>> {
    let text = format!("git {arguments}");
    let rules = commands(&text)?;
    let [rule] = rules.as_slice() else { return None };
    distinct([Rule::new("Git", rule.pattern().strip_prefix("git ")?).ok()])
}

/// The pattern that means commands such as this one.
fn pattern(command: &SimpleCommand) -> Option<String> {
    let texts = command.texts();
    let program = base_name(texts.first()?);
    let second = texts.get(1).copied();
    // Of `python3.12` there is one for each version.
    let kind = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_second = |seconds: &[&str]| second.is_some_and(|word| seconds.contains(&word));
    let is_refused = REFUSED.contains(&program)
        || REFUSED.contains(&kind)
        || REFUSED_SECOND.iter().any(|(name, seconds)| *name == program && is_second(seconds));
    if is_refused {
        return None;
    }
    let begins = |start: &&[&str]| start[0] == program && (start.len() == 1 || start.get(1).copied() == second);
    let arity = if BY_THIRD.iter().any(begins) {
        3
    } else if BY_SECOND.contains(&program) {
        2
    } else {
        1
    };
    let prefix = command.words.get(..arity).unwrap_or(&command.words);
    // An option in front of it hides what is done.
    let is_plain = |word: &Word| is_plain(word) && !word.text.starts_with(['-', '+']);
    if !prefix.iter().all(is_plain) {
        return None;
    }
    // A pattern never means a redirection into a file, and a question about one file is none about the others.
    let is_far = |word: &Word| word.text.starts_with('/') || word.text.contains("..");
    let is_file = |word: &Word| names_credentials(word) || is_one_of(READS, program) && is_far(word);
    if command.writes() || command.words.iter().skip(1).any(is_file) {
        let line = command.line();
        let is_near = |redirect: &Redirect| !redirect.writes() || is_plain_path(&redirect.target.text);
        return (!glob::is_pattern(&line) && command.redirects.iter().all(is_near)).then_some(line);
    }
    let mut pattern = texts[..prefix.len()].join(" ");
    if texts.len() > prefix.len() || !command.redirects.is_empty() {
        pattern.push_str(" *");
    }
    Some(pattern)
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
