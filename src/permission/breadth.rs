//! Rules that allow so much that a person should write each of them knowingly. A rule with a pattern that can mean any
//! program allows every command, whatever its words look like.

use std::path::Path;

use super::guard;
use super::rule::Rule;
use super::shell::{base_name, is_one_of, runs_words};

/// Programs that run a command which stands further behind, or code; and what comes after a program that does so by one of
/// its subcommands.
const RUNNERS: &str = "Rscript adb awk bunx cross-env direnv doas docker-compose dotenv ed elixir emacs entr eval ex expect \
                       find flock gawk gdb iex jshell ltrace mawk nix nix-shell npx nvim pkexec powershell screen script \
                       source strace su sudo systemd-run tmux ts-node tsx uvx vi vim";
const RUNNING_VERBS: &[(&str, &str)] = &[
    ("asdf", "exec"),
    ("bun", "x"),
    ("bundle", "exec"),
    ("conda mamba", "run"),
    ("docker podman", "compose container exec run"),
    ("go", "run"),
    ("hatch pdm pipenv poetry rye", "run"),
    ("kubectl", "exec"),
    ("mise", "exec x"),
    ("npm", "exec x"),
    ("pipx", "run"),
    ("pnpm yarn", "dlx exec"),
    ("rails", "runner"),
    ("uv", "run tool"),
];

/// Why an `allow` rule should not be taken over together with others; `None` for most. `home` is that of the user.
pub fn describe_breadth(rule: &Rule, home: &str) -> Option<String> {
    if rule.path_pattern().is_some_and(|pattern| holds_home(pattern, home)) {
        return Some("it allows files all over your home or the machine".to_owned());
    }
    let pattern = rule.shell_pattern().filter(|_| !rule.is_exact())?;
    let words: Vec<_> = pattern.split_whitespace().take_while(|word| !word.contains(['*', '?'])).collect();
    let Some(program) = words.first().map(|word| base_name(word)) else {
        return Some("it allows every command".to_owned());
    };
    let verb = words.get(1).copied();
    let runs_by_verb = |(programs, verbs): &(&str, &str)| {
        is_one_of(programs, program) && verb.is_none_or(|verb| is_one_of(verbs, verb))
    };
    let runs = runs_words(program) || is_one_of(RUNNERS, program) || RUNNING_VERBS.iter().any(runs_by_verb);
    runs.then(|| format!("`{program}` runs any command, so it allows every command"))
}

/// Whether a pattern means files directly in the home, in a directory above it, or anywhere below such a one.
fn holds_home(pattern: &str, home: &str) -> bool {
    let is_open = |part: &str| part.contains(['*', '?', '[', '{']);
    let parts: Vec<_> = pattern.split('/').collect();
    let known = parts.iter().position(|part| is_open(part)).map(|end| parts[..end].join("/"));
    let directory = known.filter(|_| pattern.starts_with('/')).map(|known| guard::plain(Path::new(&(known + "/"))));
    directory.is_some_and(|directory| Path::new(home).starts_with(directory))
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
            ("Bash(docker compose *)", Some("`docker` runs any command, so it allows every command")),
            ("Bash(bundle exec *)", Some("`bundle` runs any command, so it allows every command")),
            ("Bash(flock *)", Some("`flock` runs any command, so it allows every command")),
            ("Bash(find *)", Some("`find` runs any command, so it allows every command")),
            ("Bash(go run *)", Some("`go` runs any command, so it allows every command")),
            ("Edit(/**)", Some("it allows files all over your home or the machine")),
            ("Edit(/**/*)", Some("it allows files all over your home or the machine")),
            ("Edit(/*/**)", Some("it allows files all over your home or the machine")),
            ("Read(/home/**)", Some("it allows files all over your home or the machine")),
            ("Read(/home/me/**)", Some("it allows files all over your home or the machine")),
            ("Read(~/**)", Some("it allows files all over your home or the machine")),
            ("Read($HOME/**/*)", Some("it allows files all over your home or the machine")),
            ("Read(~/*/**)", Some("it allows files all over your home or the machine")),
            ("Read(~/./**)", Some("it allows files all over your home or the machine")),
            ("Read(~/.*)", Some("it allows files all over your home or the machine")),
            ("Read(~/notes/**)", None),
            ("Read(/usr/**)", None),
            ("Bash(docker ps *)", None),
            ("Bash(go test *)", None),
            ("Bash(npm run *)", None),
            ("Bash(python3 build.py)", None),
            ("Bash(git *)", None),
            ("Git(push *)", None),
            ("Edit(**)", None),
            ("Fetch(**)", None),
            ("MCP(db/*)", None),
        ] {
            let parsed = rule.parse::<Rule>().unwrap().at_home("/home/me").unwrap();
            assert_eq!(describe_breadth(&parsed, "/home/me").as_deref(), expected, "{rule}");
        }
    }
}
