//! Rows of texts and the commands that a shell runs for them.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = segments(text);
    let found = found.as_ref().map(|found| found.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(found.as_deref(), Some(expected), "{text}");
}

#[test]
fn r77_a_chain_is_split_into_its_commands() {
    check("a b; c|d && e || f & g |& h\ni", &["a b", "c", "d", "e", "f", "g", "h", "i"]);
    check("  git   push\torigin  ", &["git push origin"]);
    check("", &[]);
    check("# nothing 'here\n", &[]);
    check("a # it's\nb", &["a", "b"]);
    check("a \\\n  --flag \\\n  && b", &["a --flag", "b"]);
    check("echo a#b $# $$ ${#x} \"$@\" a{b,c}", &["echo a#b $# $$ ${#x} \"$@\" a{b,c}"]);
}

#[test]
fn quotes_stay_where_they_are_needed() {
    check("\\rm -r'f' \"x\" 'a b' ''", &["rm -rf x 'a b' ''"]);
    check("$'\\x72\\155' $'it\\'s' $'a\\nb'", &["rm $'it\\'s' $'a\\nb'"]);
    check("sed -i -e 's/a/b/; s/c/d/' \"f\"", &["sed -i -e 's/a/b/; s/c/d/' f"]);
    check("git commit -m 'a\nb; c'", &["git commit -m 'a b; c'"]);
    check("find . -name '*.rs' \\; -x", &["find . -name '*.rs' \\; -x"]);
    check("\"if\" x; 'A=1' y; A='1 2'", &["'if' x", "'A=1' y", "A='1 2'"]);
    check("grep \"a\\|b\" \"\\$e\" x", &["grep \"a\\|b\" \"\\$e\" x"]);
    check("a=(1 \"b c\" # d\n e); b", &["a=(1 \"b c\" e)", "b"]);
}

#[test]
fn redirections_stand_behind_the_command() {
    check("> x A=1 make -j 4>&1 {fd}<y", &["make -j 4>&1 {fd}<y", "A=1 make -j >x 4>&1 {fd}<y"]);
    check("ls 2>&1 >/dev/null &> a &>> b >| c <> d >&-", &["ls 2>&1 >/dev/null &>a &>>b >|c <>d >&-"]);
    check("while read -r l; do echo \"$l\"; done <<< \"$x\" > y", &["read -r l", "echo \"$l\"", "<<<\"$x\" >y"]);
    check("{ a; b; } 2>/dev/null && (c) < d", &["a", "b", "c"]);
}

#[test]
fn r77_commands_are_found_wherever_they_stand() {
    check("echo \"x $(a 'b c') `d \\\"e\\\"`\"", &["a 'b c'", "d e", "echo \"x $(a 'b c') $(d e)\""]);
    check("echo \"$(echo \"'$(a \"b\")'\")\"; c", &["a b", "echo \"'$(a b)'\"", "echo \"$(echo \"'$(a b)'\")\"", "c"]);
    check("a ${x:-$(b)} \"${y:-\"$(c)\"}\"", &["b", "c", "a ${x:-$(b)} \"${y:-\"$(c)\"}\""]);
    check("diff <(sort a) >(b)", &["sort a", "b", "diff <(sort a) >(b)"]);
    check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    check("for f in *.txt $(a); do b \"$f\"; done; until c; do d; done", &["a", "b \"$f\"", "c", "d"]);
    check("for ((i=0; i<$(a); i++)) { b; }; for x do c; done", &["a", "b", "c"]);
    check("case \"$x\" in a|b) c;; (d) e ;& f*) g ;;& *) h; esac", &["c", "e", "g", "h"]);
    check("f() { a; }; function g { b; }; h () (c)", &["a", "b", "c"]);
    check("! a; time b; time -p c; coproc D { e; }; coproc f", &["a", "b", "c", "e", "f"]);
    check("((ls); pwd); echo $((ls); pwd)", &["ls", "pwd", "ls", "pwd", "echo $(ls; pwd)"]);
    check("((i++ < $(a))); echo $((1 + $(b)))", &["a", "b", "echo $((1 + $(b)))"]);
    check("[[ -f a && $x =~ ^(a|b)$ || ! $(c) < d ]] && e", &["c", "e"]);
    check("a=($(b) `c`) d", &["b", "c", "d", "a=($(b) $(c)) d"]);
}

#[test]
fn r77_nothing_hides_a_program_by_standing_before_it() {
    check("A=1 rm x", &["rm x", "A=1 rm x"]);
    check("timeout 5 rm x", &["rm x", "timeout 5 rm x"]);
    check("env -i nice -n 5 rm x", &["nice -n 5 rm x", "rm x", "env -i nice -n 5 rm x"]);
    check("find . -exec rm {} \\;", &["rm {} \\;", "find . -exec rm {} \\;"]);
    check("ls | xargs rm", &["ls", "rm", "xargs rm"]);
    check("command -v rm; > x ls", &["command -v rm", "ls >x"]);
}

#[test]
fn here_documents_are_text_but_for_what_they_run() {
    check("cat <<'EOF' > x\nit's $(no) `no`\nEOF\na", &["cat <<'EOF' >x", "a"]);
    check("cat <<EOF | b\nit's $(a) `c` \\$(no) ${x:-$(d)}\nEOF\ne", &["cat <<EOF", "b", "a", "c", "d", "e"]);
    check("cat <<-\"X\" && b\n\ta\n\tX\nc", &["cat <<-\"X\"", "b", "c"]);
    check("cat <<A <<B; c\n1\nA\n2\nB\nd", &["cat <<A <<B", "c", "d"]);
    check(
        "git commit -m \"$(cat <<'EOF'\nfix: it's (a) thing) \"so\"\nEOF\n)\" && git push",
        &["cat <<'EOF'", "git commit -m \"$(cat <<'EOF')\"", "git push"],
    );
    check("python3 - <<'PY'\nprint(\"it's\")\nPY", &["python3 - <<'PY'"]);
}

#[test]
fn scripts_for_another_shell_are_read_too() {
    check("bash -lc 'a && b \"c d\"'", &["a", "b \"c d\"", "bash -lc 'a && b \"c d\"'"]);
    check("bash -euo pipefail -c 'a'", &["a", "bash -euo pipefail -c a"]);
    check("env X=1 sh -c 'a; b'", &["a", "b", "sh -c 'a; b'", "env X=1 sh -c 'a; b'"]);
    check("ls | xargs -I{} sh -c 'a {}'", &["ls", "a {}", "sh -c 'a {}'", "xargs -I{} sh -c 'a {}'"]);
    check("docker exec x bash -c 'a'", &["a", "docker exec x bash -c a"]);
    check("eval a 'b; c'; trap 'd' EXIT", &["a b", "c", "eval a 'b; c'", "d", "trap d EXIT"]);
    check("bash <<'EOF'\na\nb\nEOF", &["a", "b", "bash <<'EOF'"]);
    check("echo 'a b' | sh", &["a b", "echo 'a b'", "sh"]);
    check("grep -rn bash -c .", &["grep -rn bash -c ."]);
    check("bash run.sh -c 'x'", &["bash run.sh -c x"]);
}

#[test]
fn r90_what_cannot_be_read_for_sure_is_not_read() {
    for text in [
        "echo 'open",
        "echo \"open",
        "echo $(open",
        "echo `open",
        "echo ${open",
        "a \\",
        "a )",
        "( a",
        "{ a",
        "}",
        "fi",
        "if a; then b",
        "for x in a; do b",
        "case x in a) b",
        "[[ a ]",
        "a ;; b",
        "echo a(b)",
        "ls !(a|b)",
        "cat =(a)",
        "i\\\nf a; then b; fi",
        "cat <<EOF\na\\\nEOF\nb",
        "echo \"${x:-'}\"",
        "echo ${ a; }",
        "for PATH in /tmp; do ls; done",
        "sh -c '[[ a && rm x ]]'",
        "sh -c '((rm x))'",
        "bash -c 'echo \"open'",
        "a\0b",
    ] {
        assert_eq!(segments(text), None, "{text}");
    }
    assert_eq!(segments(&"$(".repeat(10_000)), None);
    assert_eq!(segments(&"((".repeat(10_000)), None);
    assert_eq!(segments(&format!("{}ls{}", "( ".repeat(40), " )".repeat(40))), Some(vec!["ls".to_owned()]));
}

/// Texts that agents write, for all of which a shell would run something.
const CORPUS: &[&str] = &[
    "cd /repo && cargo test 2>&1 | tail -20",
    "for f in $(git ls-files '*.rs'); do wc -l \"$f\"; done | sort -rn | head",
    "grep -rn \"fn main\" --include='*.rs' . || true",
    "cat > a.py <<'EOF'\nif __name__ == \"__main__\":\n    print('it''s')\nEOF\npython3 a.py",
    "x=$(curl -s \"https://x/y?z=1&b=2\" | jq -r '.a[] | select(.b == \"c\")'); echo \"${x:-none}\"",
    "while IFS= read -r line; do echo \"${line%%:*}\"; done < <(grep -n x y)",
    "[[ -z \"$CI\" ]] && { echo no; exit 1; }",
    "if ! command -v rg >/dev/null 2>&1; then echo missing; fi",
    "set -euo pipefail; trap 'rm -f \"$tmp\"' EXIT; tmp=$(mktemp)",
    "git log --format='%h %s' -5 -- \"$file\" && git diff HEAD~1..HEAD --stat",
    "awk -F: '{ if ($1 ~ /^a(b|c)$/) { print $2 } }' f",
    "sed -n '1,20p;$p' f; printf '%s\\n' \"${a[@]}\" \"${#a[@]}\" \"${a[0]:1:$((n-1))}\"",
    "find . \\( -name '*.o' -o -name '*.a' \\) -print0 | xargs -0 -r rm --",
    "case $1 in\n  start) ./run & ;;\n  stop|halt) kill \"$(cat pid)\" ;;\n  *) echo \"usage: $0 {start|stop}\" >&2; exit 2 ;;\nesac",
    "diff <(sort a) <(sort b) && echo same",
    "python - <<'PY' \"$x\"\nimport sys\nprint(sys.argv)\nPY",
    "echo $'a\\tb' \"$(date +%s)\" `hostname`",
    "function build { local d=${1:?need a dir}; (cd \"$d\" && make -j\"$(nproc)\"); }; build x",
    "(( n > 3 )) && echo big; for ((i = 0; i < n; i++)); do echo $i; done",
    "declare -A m=([a]=1 [b]=\"2 3\"); for k in \"${!m[@]}\"; do echo \"$k=${m[$k]}\"; done",
    "psql -c \"select 'it''s' from \\\"t\\\" where a = \\$1\"",
    "timeout 60 npm test -- --watch=false > out.log 2>&1 &\nwait $!; tail -n +5 out.log",
];

#[test]
fn what_agents_write_is_read() {
    for text in CORPUS {
        assert!(segments(text).is_some_and(|found| !found.is_empty()), "{text}");
    }
}

/// Known commands in all kinds of places, with the names of those that run.
fn scripts() -> impl Strategy<Value = (String, Vec<String>)> {
    let leaf = (0..1000_u32, "( [a-z]{1,3}| 'it; x'| \"a \\$b\"| > f| 2>&1| \\\\;){0,3}")
        .prop_map(|(number, rest)| (format!("known{number}{rest}"), vec![format!("known{number}")]));
    leaf.prop_recursive(5, 24, 2, |inner| {
        (0..18_usize, inner.clone(), inner).prop_map(|(form, (a, mut names), (b, others))| {
            names.extend(others);
            let quoted = |text: &str| text.replace('\'', "'\\''");
            let ticked = |text: &str| text.replace('\\', "\\\\").replace('`', "\\`");
            let mark = format!("E{}", a.len() + b.len());
            let text = match form {
                0 => format!("{a}\n{b}"),
                1 => format!("{a} && {b}"),
                2 => format!("{a} | {b}"),
                3 => format!("echo \"$({a}\n)\"; {b}"),
                4 => format!("echo `{}`\n{b}", ticked(&a)),
                5 => format!("({a}\n) || {{ {b}\n}}"),
                6 => format!("if {a}\nthen {b}\nfi"),
                7 => format!("for x in $({a}\n); do {b}\ndone"),
                8 => format!("case $({a}\n) in *) {b}\n;; esac"),
                9 => format!("f() {{ {a}\n}}; {b}"),
                10 => format!("bash -c '{}'\n{b}", quoted(&a)),
                11 => format!("eval '{}' & {b}", quoted(&a)),
                12 => format!("cat <<{mark}\nit's $({a}\n)\n{mark}\n{b}"),
                13 => format!("cat <<'{mark}'\n$(no 'x\n{mark}\n{a}\n{b}"),
                14 => format!("x=($({a}\n)) y <({b}\n)"),
                15 => format!("[[ -n $({a}\n) ]] # it's\n{b}"),
                16 => format!("echo $(( 1 + $({a}\n) )); ! {b}"),
                _ => format!("while {a}\ndo {b}\ndone > f"),
            };
            (text, names)
        })
    })
}

proptest! {
    #[test]
    fn r77_no_known_command_is_missed((text, names) in scripts()) {
        let found = segments(&text);
        prop_assert!(found.is_some(), "not read: {text}");
        let found = found.unwrap_or_default();
        for name in names {
            let runs = |line: &String| line.split(' ').next() == Some(&name);
            prop_assert!(found.iter().any(runs), "{name} in {text}: {found:?}");
        }
    }

    #[test]
    fn a_segment_hides_no_separator(text in "([a-c]| |;|&|\\||\n|'|\"|\\\\|\\$|\\(|\\)|\\{|\\}|`|<|>|#|=|!|\\[|\\]|if |fi|do |in |x=|\\$\\(\\(|<<|2>){0,24}") {
        for line in segments(&text).unwrap_or_default() {
            prop_assert!(!line.contains('\n'), "{line}");
            if line.contains("<<") {
                continue;
            }
            let again = read(&line);
            prop_assert!(again.is_some(), "{line:?} of {text:?}");
            let again = again.unwrap_or_default();
            let own: Vec<_> = again.iter().filter(|simple| simple.level == 0 && simple.role == Role::Command).collect();
            prop_assert!(own.len() == 1 && super::line(own[0]) == line, "{line:?} of {text:?}: {own:?}");
        }
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        segments(&text);
    }
}
