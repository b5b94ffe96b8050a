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
    let mut commands = text.split(|c: char| ";|&\n(){}`\"'!".contains(c)).map(|part| part.split_whitespace().collect());
    is_plain(text)
        && !text.contains("://")
        && words(text).all(|word| is_harmless(word, tree))
        && commands.all(|words: Vec<_>| is_local(&words))
}

/// The words of a command that may be paths, quoted or not: a path inside quotes is as real as one outside.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_break = |c: char| c.is_whitespace() || "'\"`;|&<>(){}[]=,:!".contains(c);
    text.split(is_break).filter(|word| !word.is_empty())
}

/// Whether words are what they look like: no escapes, and no word that is glued together out of quoted parts.
fn is_plain(text: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || ";|&<>()=,:[]{}".contains(c));
    let mut open: Option<char> = None;
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match open {
            _ if c == '\\' => return false,
            None if c == '"' || c == '\'' => {
                if !is_edge(before) {
                    return false;
                }
                open = Some(c);
            }
            Some(quote) if c == quote => {
                if !is_edge(chars.peek().copied()) {
                    return false;
                }
                open = None;
            }
            None | Some(_) => {}
        }
        before = Some(c);
    }
    open.is_none()
}

/// Whether the program of a simple command does its work here.
fn is_local(words: &[&str]) -> bool {
    words.iter().enumerate().all(|(place, word)| {
        let next = words.get(place + 1);
        match word.rsplit('/').next().unwrap_or(word) {
            "git" => next.is_some_and(|verb| GIT_READS.contains(verb)),
            // Without a place it goes home.
            "cd" | "pushd" => next.is_some_and(|to| !to.starts_with('-')),
            name => !OUTWARD.contains(&name),
        }
    })
}

fn is_harmless(word: &str, tree: &Path) -> bool {
    let parts = || word.split('/');
    let climbs = parts().any(|part| part == ".." || part.starts_with('.') && part.contains(['?', '*']));
    let is_git_dir = parts().any(|part| part == ".git");
    let leaves = roots(word).any(|path| !is_common(path) && !is_inside(Path::new(path), tree));
    !climbs && !leaves && !is_git_dir && !word.starts_with('~') && !names_environment(word)
}

/// The absolute paths that a word may hold: itself, behind a sign such as `@`, or behind the letters of an option.
fn roots(word: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || "_.-*?+%".contains(c);
    let is_option = word.starts_with('-');
    let slashes = word.match_indices('/').map(|(place, _)| place);
    let mut is_first = true;
    slashes.filter_map(move |place| {
        let starts = !word[..place].ends_with(|c: char| is_name(c) || c == '/');
        let counts = starts || is_option && is_first;
        is_first = false;
        counts.then(|| &word[place..])
    })
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
            "cat \\/etc/passwd",
            "cat \".\"\"./x\"",
            "'cu'rl host",
            "patch < x; post @/etc/passwd",
            "ls .?/x",
            "timeout 60 git push",
            "if git push; then ls; fi",
            "nice -n 5 /usr/bin/git push",
            "echo 'open",
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
