//! Rows of commands that stay, and of commands that a person has to see.

use proptest::prelude::*;

use super::*;

const TREE: &str = "/data/tree";

fn stays(text: &str) -> bool {
    places_below(text, Path::new(TREE)).is_some()
}

#[test]
fn everyday_commands_stay() {
    for text in [
        "cargo test",
        "ls -la src",
        "npm test -- --grep 'a b'",
        "cat a.txt | sort > b.txt 2>/dev/null",
        "cd src && make -j4",
        "git diff HEAD~1 -- src/main.rs",
        "/bin/bash -lc 'echo hi'",
        "sed -i s/a/b/ /data/tree/a.txt",
        "echo hi > b.txt; echo out",
        "find . -name x",
        "find . -maxdepth 2 -not -path '*/.git/*'",
        "tree -a -I 'target|.git'",
        "find . -name '*.rs' -exec grep -l source {} \\;",
        "grep -rn foo .",
        "ls .",
        "rg TODO .",
        "rg 'source'",
        "pytest .",
        "cat docs/source",
        "ls src/service",
        "grep 'a\\|b' x",
        "grep \"a\\|b\" x",
        "/bin/bash -lc \"grep 'a\\\\|b' x\"",
        "python -m pytest tests/",
        "npm run build",
        "cargo test -- --nocapture",
        "cargo test 2>&1 | tail -20",
        "git log --oneline -5",
        "git --no-pager log -3",
        "git diff HEAD~1",
        "timeout 60 git status",
        "sed -n 1,20p a",
        "sed -n '/a/,/b/p' a",
        "sed 's/a/b/' a",
        "awk '{print $1}' f",
        "awk '{print $NF}' f",
        "grep foo *.c",
        "git branch -a",
        "git stash list",
        "echo \"done\"",
        "echo \"=== x ===\" && ls",
        "printf '%s\\n' x",
        "make -C sub",
        "ls && pwd",
        "test -f a && echo y",
        "[ -f a ] && echo y",
        "command -v git",
        "which git",
        "ls | xargs -n 1 wc -l",
        "bash run.sh",
    ] {
        assert!(stays(text), "{text}");
    }
}

#[test]
fn what_points_elsewhere_is_asked_about() {
    for text in [
        "env",
        "sed 's/\\./x/' a",
        "node -e \"console.log(1)\"",
        "env A=1 /usr/bin/env B=2 python x.py",
        "set -e; export A=1; make",
        "env > e.txt",
        "printenv | sort",
        "export | tee x.txt",
        "set > s.txt",
        "declare -p",
        "compgen -v",
        "rm -rf /",
        "cat /etc/passwd",
        "cat ../secret",
        "grep -ra KEY /proc/self/",
        "grep -r KEY /proc",
        "cat /proc/1/task/1/mem",
        "cat ../../proc/self/maps",
        "cat /dev/fd/../environ",
        "rg -a KEY /",
        "grep -r KEY //",
        "grep -r KEY /./",
        "sed -n '/a/,/b/p' /etc/passwd",
        "sed 's/a/b/' ../x",
        "awk '{print $1}' /etc/passwd",
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
        "cp evil /usr/local/bin/ls",
        "rm -rf /usr/local/bin",
        "echo x | tee /usr/local/bin/x",
        "xargs -0 tee /usr/local/bin/x",
        "find /usr/bin -delete",
        "find . -path './.git/*' -delete",
        "find .git -path x",
        "tree -P -I /etc",
        "ls > /bin/ls",
        "> /usr/bin/x ls",
        "/usr/bin/../../home/x",
        "echo x > /dev/sda",
        "cat /dev/null/../../etc/passwd",
        "ln -s a b",
        "ls; ln a b",
        "nice -n 5 curl host",
        "nohup -- curl host",
        "timeout -s KILL 5 curl host",
        "env -u A -u B curl host",
        "xargs -I X curl X",
        "env '-Scurl host'",
        "A=1 B='x y' curl host",
        "time env nice curl host",
        "if true; then curl host; fi",
        "for x in a; do curl host; done",
        "while ! curl host; do ls; done",
        "f() { curl host; }",
        "ls & curl host",
        "ls\ncurl host",
        "(curl host)",
        "echo `curl host`",
        "echo \"`curl host`\"",
        "echo \"$(curl host)\"",
        "cat <(curl host)",
        ">&2 curl host",
        "2>a curl host",
        "\\curl host",
        "/usr/bin/curl host",
        "source x",
        ". x",
        "ls; . ./x",
        "find . -exec curl {} \\;",
        "find . -exec sh -c 'cat \\/etc/passwd' \\;",
        "bash -c 'cat \\.\\./x'",
        "bash -c \"sh -c 'curl host'\"",
        "bash -c curl",
        "echo 'curl host' | bash",
        "bash -s < x",
        "x='curl host'; $x",
        "{curl,host}",
        "$(echo curl) host",
        "git $(echo push)",
        "GIT_EXTERNAL_DIFF='curl host' git diff",
        "python -c \"import os; os.system('curl host')\"",
        "awk 'BEGIN{system(\"curl host\")}'",
        "python -c 'open(\"\\x2fetc/passwd\")'",
        "cat $(printf '\\057etc')",
        "cat {.,x}./y",
        "cat {,x}.git/config",
        "cat .g{it,}/config",
        "cat .[g]it/config",
        "cat $nothing/etc/passwd",
        "cat ${nothing}/etc/passwd",
        "x=.; cat $x./y",
        "cd $x && ls",
        "cd d* && ls",
    ] {
        assert!(!stays(text), "{text}");
    }
}

#[test]
fn places_are_cut_where_only_the_disk_knows_more() {
    let file = |text: &str| Place::File(text.into());
    let within =
        |directory: &str, pattern: &str| Place::Within { directory: directory.into(), pattern: pattern.into() };
    let searched = |directory: &str| Place::Searched(directory.into());
    for (text, expected) in [
        ("cat docs/new > out", vec![file("docs/new"), file("out")]),
        ("cat docs/*/x d?", vec![within("docs", "*/x"), within("", "d?")]),
        ("grep -rR x", vec![file("R"), file("-rR"), file("x"), within(TREE, "**"), searched("x"), searched(".")]),
        ("/usr/bin/cat a 2>/dev/null", vec![Place::Program("/usr/bin/cat".into()), file("a")]),
        ("cd sub && cat l/x", vec![Place::Move("sub".into()), file("l/x")]),
        ("bash -c 'cat l'", vec![file("l"), file("-c"), file("cat l"), file("cat"), file("l")]),
        ("cc -Idocs", vec![file("docs"), file("ocs"), file("cs"), file("s"), file("-Idocs")]),
        ("make -C sub", vec![file("-C"), Place::Move("sub".into())]),
    ] {
        assert_eq!(places_below(text, Path::new(TREE)), Some(expected), "{text}");
    }
    assert_eq!(places_below("echo 'open", Path::new(TREE)), None);
}

proptest! {
    #[test]
    fn a_place_outside_is_never_missed(
        before in "[a-z ;|&'\"=<>(]{0,12}",
        prefix in "(|'|\"|@|\\+|%|=|:|,|-I|--out=|--out='|-o\"|x=|[<>]|2>|\\$\\(|`|\\{|\\\\)",
        place in "/(home|root|etc|var|usr|bin/x|usr/local/bin|usr/bin|dev)/[a-z]{1,8}",
        after in "[ a-z;|&'\")}]{0,8}",
    ) {
        let text = format!("{before} cat a {prefix}{place}{after}");
        let is_run = prefix == "$(" || prefix == "`";
        prop_assume!(!(is_run && place.contains("bin/")));
        prop_assume!(!["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&place.as_str()));
        prop_assert!(!stays(&text), "{}", text);
    }

    #[test]
    fn a_program_that_works_elsewhere_is_never_missed(
        before in "(|ls; |ls \\| |ls && |A=b |env |nice -n 5 |timeout 3 |xargs -0 |\\(|echo \\$\\(|if |! |> a )",
        wrapper in "(|time |nohup |env A=1 |exec )",
        program in "(curl|/usr/bin/curl|'curl'|c'ur'l|\\\\curl|\"curl\"|git push|git -C a log|ln|sudo)",
        after in "( [a-z]{1,4}){0,3}",
    ) {
        let text = format!("{before}{wrapper}{program}{after}");
        prop_assert!(!stays(&text), "{}", text);
    }
}
