//! Rows of texts and the commands in them, and a comparison with a real shell.

#![allow(clippy::disallowed_methods, reason = "one test asks bash how it reads a text")]

use std::process::Command;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = segments(text);
    let found = found.as_ref().map(|found| found.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(found.as_deref(), Some(expected), "{text}");
}

#[test]
fn a_list_is_split_into_its_commands() {
    check("a b; c|d && e || f\ng", &["a b", "c", "d", "e", "f", "g"]);
    check("  git   push\torigin  ;", &["git push origin"]);
    check("", &[]);
    check("a \\\n  --flag \\\n  && \n b", &["a --flag", "b"]);
    check("git log HEAD~1 HEAD^ a#b @ x=1 ] {}", &["git log HEAD~1 HEAD^ a#b @ x=1 ] {}"]);
    check("# first, then\nls # all\n  # more\npwd", &["ls", "pwd"]);
    check("[ -f a ]", &["[ -f a ]"]);
    check("cat src/*.rs a?b ./[a-z]", &["cat src/*.rs a?b ./[a-z]"]);
    check("ls * -- -*; grep --include=*.c x .", &["ls * -- -*", "grep --include=*.c x ."]);
    check("git show HEAD@{1} @{-1} stash@{0}^", &["git show HEAD@{1} @{-1} stash@{0}^"]);
}

#[test]
fn quotes_stay_where_they_are_needed() {
    check("\\rm -r'f' \"x\" 'a b' ''", &["rm -rf x 'a b' ''"]);
    check("git commit -m 'a\nb; $(c)'", &["git commit -m 'a b; $(c)'"]);
    check("find . -name '*.rs' \\; -x", &["find . -name '*.rs' \\; -x"]);
    check("\"if\" x", &["if x"]);
    check("grep \"a\\|b\" \"\\$e\" 'ünd'", &["grep \"a\\|b\" \"\\$e\" ünd"]);
}

#[test]
fn redirections_stand_behind_the_command() {
    check("2>x make -j 4>&1 < y", &["make -j 2>x 4>&1 <y"]);
    check("ls 2>&1 >/dev/null &> a &>> b >>c", &["ls 2>&1 >/dev/null &>a &>>b >>c"]);
}

#[test]
fn nothing_hides_a_program_by_standing_before_it() {
    check("timeout 5 rm x", &["rm x", "timeout 5 rm x"]);
    check("timeout .5 rm x", &["rm x", "timeout .5 rm x"]);
    check("env -i A=1 nice -n 5 rm x", &["rm x", "nice -n 5 rm x", "env -i A=1 nice -n 5 rm x"]);
    check("env -- rm x", &["rm x", "env -- rm x"]);
    check("xargs -0 -n 1 rm", &["rm {}", "xargs -0 -n 1 rm"]);
    check("find . -exec rm x \\;", &["rm x {}", "find . -exec rm x \\;"]);
    check("command -v rm", &["command -v rm"]);
    check("bash -lc 'a && b \"c d\"'", &["a", "b \"c d\"", "bash -lc 'a && b \"c d\"'"]);
    check("grep -rn bash -c .", &["grep -rn bash -c ."]);
    check("bash run.sh -c x", &["bash run.sh -c x"]);
    check("setpriv --x rm y", &["setpriv --x rm y"]);
}

#[test]
fn an_unknown_program_may_run_any_of_its_words() {
    let possible = |text: &str| {
        let lines = ShellText::read(text).possible_commands.iter().map(SimpleCommand::line).collect::<Vec<_>>();
        lines.join("; ")
    };
    for (text, expected) in [
        ("setpriv --x rm y", "--x rm y; rm y; y"),
        ("x --run 'rm y' z", "rm y; --run 'rm y' z; rm y z; z"),
        ("docker run rm x", "rm x; x"),
        ("timeout 5 x rm y", "rm y; y"),
        ("git submodule foreach rm y", "foreach rm y; rm y; y"),
        ("git -c a=b rm y", "-c a=b rm y; a=b rm y; b rm y; rm y; y"),
        ("grep rm y", ""),
        ("git commit -m 'rm y'", ""),
        ("npm run rm y", ""),
        ("timeout 5 grep rm y", ""),
        ("find . -name 'rm y'", ""),
    ] {
        assert_eq!(possible(text), expected, "{text}");
    }
}

#[test]
fn a_text_mentions_a_pattern_by_its_words_in_any_order() {
    for (text, pattern, expected) in [
        ("x=push; git $x", "git push*", true),
        ("x=git\\ push; $x", "git push *", true),
        ("x=PUSH; git ${x,,}", "git push", true),
        ("git {pushed,}", "git push*", true),
        ("git {pushed,}", "git push *", false),
        ("git-push $x", "git push*", true),
        ("git push $x", "git push * --force", true),
        ("git log $x", "git * --force", false),
        ("git log $x --force", "git * --force", true),
        ("git log $x --no-verify", "*--no-verify*", true),
        ("git log $x", "*--no-verify*", false),
        ("echo $x", "*", false),
        ("legit $x; pushd", "git push *", false),
    ] {
        let found = ShellText::read(text).token_bags.iter().any(|bag| bag.mentions(pattern));
        assert_eq!(found, expected, "{text}, {pattern}");
    }
}

#[test]
fn every_other_text_is_opaque_and_says_why() {
    for (text, expected) in [
        ("echo $x", "an expansion (`$`)"),
        ("echo \"$x\"", "an expansion (`$`)"),
        ("echo `a`", "a substitution"),
        ("cat ~/x", "the special character `~`"),
        ("cat a=~/x", "the special character `~`"),
        ("ls {a,b}", "the special character `{`"),
        ("ls {a}", "the special character `{`"),
        ("git log a@{1,2}", "the special character `{`"),
        ("sort *", "a pattern that may become an option or a program"),
        ("rm -*", "a pattern that may become an option or a program"),
        ("./ls *", "a pattern that may become an option or a program"),
        ("alias x=ls", "the keyword `alias`"),
        ("xargs --x ls", "an unknown option of `xargs`"),
        ("env -u ls rm x", "an unknown option of `env`"),
        ("env -iS 'git push'", "an unknown option of `env`"),
        ("env /bin/l? x", "a pattern that may become an option or a program"),
        ("find . -exec /bin/l[s] {} \\;", "a pattern that may become an option or a program"),
        ("l? x", "a pattern that may become an option or a program"),
        ("ls > a*", "a pattern that may become an option or a program"),
        ("A=1 ls", "an assignment"),
        ("ls & ls", "a background command (`&`)"),
        ("(ls)", "the special character `(`"),
        ("f() { ls; }", "the special character `(`"),
        ("cat <(ls)", "a substitution"),
        ("cat << X", "a here-document or here-string"),
        ("ls >| x", "an unusual redirection"),
        ("ls <&3", "an unusual redirection"),
        ("cat < /dev/tcp/a/1", "an unusual redirection"),
        ("# ls; x", "a comment"),
        ("ls # it's", "a comment"),
        ("[[ -f a ]]", "a pattern that may become an option or a program"),
        ("if ls; then ls; fi", "the keyword `if`"),
        ("i\\\nf ls", "the keyword `if`"),
        ("! ls", "the special character `!`"),
        ("ls \"!x\"", "the special character `!`"),
        ("=ls", "the special character `=`"),
        ("ls\u{a0}x", "the special character `\\u{a0}`"),
        ("ls\r", "a control character"),
        ("a\0b", "a control character"),
        ("echo 'open", "an unclosed quote"),
        ("echo \"open", "an unclosed quote"),
        ("a \\", "an unclosed quote"),
        ("a ;; b", "an incomplete command"),
        ("a &&", "an incomplete command"),
        ("> x", "an unusual redirection"),
        ("ls |& cat", "an unusual redirection"),
        ("bash -c 'echo $x'", "an expansion (`$`)"),
        ("echo ls | sh", "a program that runs its input"),
        ("parallel < commands", "a program that runs its input"),
        ("parallel -j 4 ::: ls", "a program that runs its input"),
        ("$'\\x72m' x", "letters that are spelled as numbers (`$'\\…'`)"),
    ] {
        assert_eq!(describe_opaque(text).as_deref(), Some(expected), "{text:?}");
    }
    let deep = (0..9).fold("ls".to_owned(), |text, _| format!("bash -c '{}'", text.replace('\'', "'\\''")));
    assert_eq!(describe_opaque(&deep).as_deref(), Some("too many scripts inside each other, words or values"));
    assert!(describe_opaque(&"env ".repeat(5_000)).is_some());
    for part in ["$(echo ", "{a,b}", "${x-", "x=$x ", "{", "bash -c ", "`", "env "] {
        ShellText::read(&format!("{}$", part.repeat(4_000)));
    }
    for part in ["a=", "a b=", "-a", "a ", "a 'b c' "] {
        ShellText::read(&format!("x '{}\" c d\"' {0}", part.repeat(1_000)));
    }
}

/// Whether a line, with any further words, is among those that a text may run.
fn suspects(text: &str, line: &str) -> bool {
    let lines = |command: &SimpleCommand| {
        let own = command.line();
        command.other_lines(&own).into_iter().chain([own]).collect::<Vec<_>>()
    };
    ShellText::read(text)
        .commands
        .iter()
        .flat_map(lines)
        .any(|found| format!("{found} ").starts_with(&format!("{line} ")))
}

#[test]
fn what_an_opaque_text_may_run_is_found() {
    for text in [
        "[[ -v 'a[$(rm -r x)]' ]]; ls",
        "for f in a; do rm -r x; done",
        "if a; then r\"\"m -r x; fi",
        "{rm,-r,x}",
        "$y rm -r x",
        "A=1 rm -r x",
        "v=rm; $v -r x",
        "v='rm -r x'; $v",
        "for v in rm; do $v -r x; done",
        "${v:-rm -r x}",
        "$(echo rm) -r x",
        "echo `rm -r x`",
        "cat <(rm -r x)",
        "(timeout 5 rm -r x)",
        "bash -c 'echo $a; rm -r x'",
        "eval \"rm -r x $y\"",
        "cat << X | sh\nrm -r x\nX",
        "echo rm -r x $y | sh",
        "/bin/rm -r x $(y) & ls",
        "ls > y$z; rm -r x 2>&1",
        "case a in a) rm -r x;; esac",
        "rm -r x 'open",
    ] {
        assert!(suspects(text, "rm -r x"), "{text}");
    }
    assert!(suspects("git -C $x --no-pager -c a.b=c push origin", "git push origin"));
    assert!(!suspects("echo \"do not rm -r x\" $y", "rm -r x"));
}

#[test]
fn two_patterns_meet_where_a_name_is_meant_by_both() {
    for (word, pattern, expected) in [
        ("r[m]", "rm", true),
        ("r?", "rm", true),
        ("r*", "rm", true),
        ("*m", "rm", true),
        ("[a-z][!x]", "rm", true),
        ("[r][[:lower:]]", "rm", true),
        ("[[:lower:]_]m", "rm", true),
        ("[]r]m", "rm", true),
        ("r[m", "rm", false),
        ("r??", "rm", false),
        ("gi?", "g*", true),
        ("gi?", "*t", true),
        ("gi?", "*", true),
        ("gi?", "?i?", true),
        ("gi?", "legit", false),
        ("r${x}m", "rm", true),
        ("r{m..m}", "rm *", true),
        ("r$", "rm *", true),
        ("${x}", "rm *", true),
        ("s${x}", "rm *", false),
        ("*a*a*a*a*a*a*a*a*a*a*a*a*b", "*a*a*a*a*a*a*a*a*a*a*c", false),
    ] {
        assert_eq!(may_name(word, pattern), expected, "{word}, {pattern}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Many texts for each shell that is started. A text that the lexer takes is one command here, whose words are
    /// compared with those that bash makes of it.
    #[test]
    fn bash_reads_the_same_words(texts in prop::collection::vec(
        "([a-z0-9_.,:+@%=/-]|\\\\[a-z $'\"\\\\*;|&<>(){}!~#`]|'[ -&(-~]{0,4}'|\"[a-z ';|&<>(){}*?~#]{0,4}\"|\"\\\\[$`\"\\\\a]\"|[ \t]|\\\\\n|HEAD~|x\\^|[$`~*?{!#&;|<>(\n]){1,14}",
        40,
    )) {
        let mut script = String::from("set -f\n");
        let mut expected = String::new();
        for text in texts {
            let text = format!("printf '%s\\0' {text}");
            let read = ShellText::read(&text);
            let Some([command]) = read.understood() else { continue };
            // What the last program returned is not known before.
            if !command.redirects.is_empty() || text.contains("$?") {
                continue;
            }
            script.extend([text.as_str(), "\n"]);
            for word in &command.words[2..] {
                expected.extend([word.text.as_str(), "\0"]);
            }
            if command.words.len() == 2 {
                expected.push('\0');
            }
        }
        let output = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", script);
    }

    #[test]
    fn a_segment_hides_no_separator(text in "([a-c]| |;|&|\\||\n|'|\"|\\\\|\\$|\\(|\\)|\\{|\\}|`|<|>|#|=|!|\\[|\\]|if |fi|do |in |x=|\\$\\(\\(|<<|2>){0,24}") {
        for line in segments(&text).unwrap_or_default() {
            prop_assert!(!line.contains('\n'), "{line}");
            // A program with the name of a keyword was quoted, and rules name it as any other.
            if is_one_of(lexer::KEYWORDS, line.split(' ').next().unwrap_or_default()) {
                continue;
            }
            let again = segments(&line).unwrap_or_default();
            prop_assert_eq!(again.last(), Some(&line), "{:?}", text);
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        segments(&text);
    }
}

/// Texts that stand for many commands, or take long to read.
fn laborious_texts() -> Vec<String> {
    let values: String = (0..1_000).map(|at| format!("x={at};")).collect();
    let moves: String = (0..8).map(|at| format!("cd {at};")).collect();
    vec![
        "x=rm; $x ".repeat(1_000),
        "a=b;$a ".repeat(1_500),
        format!("{values}{}", "$x ".repeat(1_000)),
        "$(".repeat(40_000),
        format!("{}{}", "$(".repeat(5_000), ")".repeat(5_000)),
        "${".repeat(40_000),
        "`".repeat(10_000),
        "bash -c '".repeat(1_000),
        "env ".repeat(20_000),
        "find -exec ".repeat(8_000),
        "a ".repeat(50_000),
        format!("{};", "a ".repeat(127)).repeat(350),
        format!("{}$x", "a 'b c'\n".repeat(10_000)),
        format!("echo {}; {}", "a ".repeat(10_000), "xargs rm -r; ".repeat(2_000)),
        format!("{moves}{}", "echo >a;".repeat(8_000)),
    ]
}

#[test]
fn no_text_stands_for_more_commands_than_can_be_judged() {
    for text in laborious_texts() {
        let read = ShellText::read(&text);
        let commands = read.commands.iter().chain(&read.possible_commands);
        let words: usize = commands.map(|command| command.words.len() + 1).sum();
        assert!(words < 340_000 + text.len() / 2, "{words} words: {}", &text[..40]);
    }
}

#[test]
fn a_long_file_in_a_here_document_is_no_text_without_end() {
    let line = "    let value = compute(&input, \"name\").map(|x| x + 1); // done\n";
    for kilobytes in [4, 16] {
        let text = format!("cat > src/a.rs <<'EOF'\n{}EOF", line.repeat(kilobytes * 1024 / line.len()));
        assert_eq!(
            ShellText::read(&text).opaque,
            Some(OpaqueConstruct::named("a here-document or here-string")),
            "{kilobytes} KB"
        );
    }
}

thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts how often somebody asks what a program does with its arguments, which goes through all of them.
pub(super) fn count_step() {
    STEPS.set(STEPS.get() + 1);
}

#[test]
fn the_words_of_a_plain_command_are_gone_through_a_fixed_number_of_times() {
    let steps = |words: usize, text: &str| {
        STEPS.set(0);
        let text = format!("{text}{}", " -e a".repeat(words));
        crate::permission::places_below(&text, "/data/tree".as_ref(), "/data/tree".as_ref());
        STEPS.get()
    };
    for text in ["git grep", "ls a", "git log", "cargo test"] {
        assert_eq!(steps(20, text), steps(40, text), "{text}");
        assert!(steps(40, text) > 0, "{text}");
    }
}

#[test]
fn the_work_for_a_text_grows_with_its_length() {
    let spent = |text: &str| {
        let budget = WorkBudget::new();
        ShellText::read_at(text, 0, &budget);
        budget.spent()
    };
    for part in ["git grep -e a; ", "ls a a; ", "env A=b ls; ", "echo $x; ", "xargs ls; "] {
        let (once, twice) = (spent(&part.repeat(100)), spent(&part.repeat(200)));
        assert!(once > 100 && twice <= 2 * once + 100, "{part}: {once}, {twice}");
    }
}

#[test]
fn a_text_that_is_too_long_or_too_deep_is_asked_about() {
    let nested = |depth: usize| format!("echo {}x{}", "${a:-".repeat(depth), "}".repeat(depth));
    for (text, is_too_long) in [
        (format!("ls{}", " a".repeat(4_000)), false),
        (format!("ls{}", " a".repeat(4_200)), true),
        (format!("git grep{}", " -e a".repeat(4_000)), true),
        ("ls aaaa; ".repeat(900), false),
        ("ls aaaa; ".repeat(1_100), true),
        (format!("echo '{}'", "a".repeat(60_000)), false),
        (format!("echo '{}'", "a".repeat(66_000)), true),
        (nested(3), false),
        (nested(40), true),
        (format!("npm {}publish", "--loglevel silent ".repeat(17)), false),
        (format!("grep {}x", "-e a ".repeat(30)), false),
        (format!("cc {}-c a.c -o a.o", "-Wall ".repeat(60)), false),
    ] {
        let opaque = ShellText::read(&text).opaque;
        assert_eq!(opaque == Some(OpaqueConstruct::TOO_DEEP), is_too_long, "{}", &text[..30]);
    }
}
