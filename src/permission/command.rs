//! Whether a shell command looks as if it stayed in the tree. It reads words, not meaning: what it lets through is
//! harmless by its looks, what it cannot judge is asked about.

use std::path::Path;

use super::is_inside;

/// Programs whose work is elsewhere: other users, machines, processes.
const OUTWARD: &[&str] = &[
    "sudo",
    "su",
    "doas",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "curl",
    "wget",
    "nc",
    "ncat",
    "telnet",
    "ftp",
    "docker",
    "podman",
    "kubectl",
    "systemctl",
    "service",
    "crontab",
    "at",
    "kill",
    "pkill",
    "killall",
    "reboot",
    "shutdown",
    "mount",
    "umount",
    "chroot",
    "dd",
    "gh",
    "eval",
    "source",
    ".",
];

/// What git may do for an agent: look.
const GIT_READS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
    "version",
    "--version",
];

/// Places outside of the tree that every command may name.
const COMMON: &[&str] =
    &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/bin", "/usr/bin", "/usr/local/bin"];

/// Whether nothing in `text` points out of `tree`.
pub(super) fn stays(text: &str, tree: &Path) -> bool {
    let words: Vec<&str> = text.split(is_break).filter(|word| !word.is_empty()).collect();
    let ends = ends_of_commands(text);
    !text.contains("://") && words.iter().all(|word| is_harmless(word, tree)) && ends.iter().all(|part| is_local(part))
}

/// Ends a word, quoted or not: a path inside quotes is as real as one outside.
fn is_break(c: char) -> bool {
    c.is_whitespace() || "'\"`;|&<>(){}[]=,:!".contains(c)
}

/// The simple commands of a line, each as its words.
fn ends_of_commands(text: &str) -> Vec<Vec<&str>> {
    let is_end = |c: char| ";|&\n(){}`\"'!".contains(c);
    text.split(is_end)
        .map(|part| part.split_whitespace().collect())
        .filter(|words: &Vec<_>| !words.is_empty())
        .collect()
}

/// Whether the program of a simple command does its work here.
fn is_local(words: &[&str]) -> bool {
    let wraps = |word: &&&str| {
        word.contains('=')
            || matches!(**word, "env" | "time" | "nice" | "nohup" | "exec" | "command" | "then" | "do" | "else")
    };
    let mut rest = words.iter().skip_while(wraps);
    let Some(program) = rest.next() else { return true };
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "git" => rest.next().is_some_and(|verb| GIT_READS.contains(verb)),
        // Without a place it goes home.
        "cd" | "pushd" => rest.next().is_some_and(|place| !place.starts_with('-')),
        _ => !words.iter().any(|word| OUTWARD.contains(word)) && !OUTWARD.contains(&name),
    }
}

fn is_harmless(word: &str, tree: &Path) -> bool {
    let path = match word.starts_with('-') {
        true => word.find('/').map_or("", |slash| &word[slash..]),
        false => word,
    };
    let climbs = word.split('/').any(|part| part == "..");
    let leaves = path.starts_with('/') && !is_common(path) && !is_inside(Path::new(path), tree);
    let is_git_dir = word.split('/').any(|part| part == ".git");
    !climbs && !leaves && !is_git_dir && !word.starts_with('~') && !names_environment(word)
}

fn is_common(path: &str) -> bool {
    COMMON.iter().any(|place| path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Variables of the environment hold places that cannot be known; those that a command sets itself are lower case.
fn names_environment(word: &str) -> bool {
    let named = word.split('$').skip(1).filter_map(|after| after.trim_start_matches('{').chars().next());
    named.into_iter().any(|c| c.is_ascii_uppercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TREE: &str = "/data/tree";

    #[test]
    fn everyday_commands_stay() {
        for text in [
            "cargo test",
            "ls -la src",
            "npm test -- --grep 'a b'",
            "cat a.txt | sort > b.txt 2>/dev/null",
            "cd src && make -j4",
            "git diff HEAD~1 -- src/main.rs",
            "for f in *.txt; do wc -l $f; done",
            "/bin/bash -lc 'echo hi'",
            "sed -i s/a/b/ /data/tree/a.txt",
            "CC=gcc make",
            "echo hi > b.txt; echo out",
        ] {
            assert!(stays(text, Path::new(TREE)), "{text}");
        }
    }

    #[test]
    fn what_points_elsewhere_is_asked_about() {
        for text in [
            "rm -rf /",
            "cat /etc/passwd",
            "cat ../secret",
            "touch ~/x",
            "cp a.txt $HOME/",
            "echo ${TMPDIR}/x",
            "curl example.com",
            "git push origin main",
            "git commit -am x",
            "git -C .. status",
            "sudo make install",
            "make --prefix=/usr/local install",
            "cc -I/opt/include a.c",
            "python -c \"open('/tmp/x','w')\"",
            "bash -c 'cd / && ls'",
            "cd && ls",
            "cd",
            "env X=1 ssh host",
            "echo x > .git/hooks/post-commit",
            "wget https://example.com/x",
            "xargs kill < pids",
            "echo $(cat /root/.ssh/id_rsa)",
        ] {
            assert!(!stays(text, Path::new(TREE)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_place_outside_is_never_missed(before in "[a-z ;|&'\"=<>(]{0,12}", place in "/(home|root|etc|var)/[a-z]{1,8}", after in "[ a-z;|&'\")]{0,8}") {
            let text = format!("{before} {place}{after}");
            prop_assert!(!stays(&text, Path::new(TREE)), "{}", text);
        }
    }
}
