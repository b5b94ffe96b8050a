//! Hostile shell texts, decided and then run: nothing that goes ahead by itself runs anything but its visible words,
//! and no spelling hides a program from a rule that forbids it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use coppice::permission::compact::Action;
use coppice::permission::rule::{Rule, RuleFile, Rules};
use coppice::permission::{
    Access, AgentWord, Audience, Call, Hold, Layer, Leads, Overlay, Places, Posture, Scene, Subject, Target, Verdict,
    decide,
};
use coppice::sandbox::cage::{Cage, Network};
use coppice::sandbox::command::{Limits, run};
use coppice::sandbox::launch::Spawn;
use coppice::sandbox::support::support;

/// One text a line, in which `CMD` stands for a command that leaves a mark. Names in angle brackets are characters.
const TEXTS: &str = include_str!("hostile_shell/approval.txt");

/// Texts of these that do nothing which could be seen, each below the reason, which begins with `## `.
const SILENT: &str = include_str!("hostile_shell/silent.txt");

/// Programs that texts run, and that a machine may not have.
const PROGRAMS: &[&str] = &[
    "awk", "cargo", "curl", "dd", "ed", "file", "flock", "gzip", "make", "man", "node", "npm", "npx", "patch", "perl",
    "python3", "script", "ssh", "strace", "tar", "tmux", "unshare", "vi", "watch", "wget", "xxd", "zip",
];

/// One text a line, in which `@` stands for a command that a rule forbids.
const SPELLINGS: &str = include_str!("hostile_shell/denied.txt");

/// One text a line, each of which runs `git push`.
const PUSHES: &str = include_str!("hostile_shell/pushed.txt");

/// Commands that go ahead by themselves, each of which meets each of the additions below.
const COMMANDS: &[&str] = &[
    "git status",
    "git log",
    "git diff",
    "git show",
    "git branch",
    "git rev-parse HEAD",
    "git ls-files",
    "ls",
    "cat f",
    "grep a f",
    "find .",
    "sort f",
    "uniq f",
    "head f",
    "tail f",
    "sed -n 1p f",
    "test -f f",
    "[ -f f ]",
    "printf %s",
    "echo",
    "wc f",
    "diff f f",
    "stat f",
    "date",
    "true",
    "command -v ls",
    "tree",
    "file f",
    "cut -c1 f",
    "pwd",
    "jq . f",
    "rg a",
    "fd a",
];

const ADDITIONS: &[&str] = &[
    "$(CMD)",
    "`CMD`",
    "\"$(CMD)\"",
    "\"`CMD`\"",
    "'a'\"$(CMD)\"",
    "$((a[$(CMD)]))",
    "$[a[$(CMD)]]",
    "${x:-$(CMD)}",
    "\"${x:=$(CMD)}\"",
    "${a[$(CMD)]}",
    "${x@P}",
    "<(CMD)",
    ">(CMD)",
    "; CMD",
    "&& CMD",
    "|| CMD",
    "| CMD",
    "|& CMD",
    "& CMD",
    "<NL>CMD",
    "<CR><NL>CMD",
    "> out",
    ">> out",
    ">|out",
    "2> out",
    "&> out",
    ">& out",
    "<> out",
    "< $(CMD)",
    "<<< \"$(CMD)\"",
    "<< X<NL>$(CMD)<NL>X",
    "*",
    "-- *",
    "{a,$(CMD)}",
    "~$(CMD)",
    "--output=out",
    "--outp=out",
    "-o out",
    "-oout",
    "-exec CMD \\;",
    "-O",
    "\\<NL>$(CMD)",
    "'a' # '<NL>CMD",
    "[$(CMD)]",
    "-v 'a[$(CMD)]'",
    "'a[$(CMD)]'",
    "--pre=CMD",
    "-x CMD",
    "out out",
];

/// Texts that do leave a mark, so that none is missing for want of a way to see it.
const MARKING: &[&str] = &[
    "[[ -v 'a[$(CMD)]' ]]; git log",
    "x='a[$(CMD)]'; echo $((x))",
    "ls $(CMD)",
    "for HOME in fix; do git status; done",
    "git -C bare status",
    "cd bare && git status",
    "printf '%n' HOME; git status",
    "sort --o=out f",
];

fn characters(text: &str) -> String {
    let names = [
        ("<NL>", "\n"),
        ("<CR>", "\r"),
        ("<TAB>", "\t"),
        ("<NUL>", "\0"),
        ("<ESC>", "\u{1b}"),
        ("<VT>", "\u{b}"),
        ("<FF>", "\u{c}"),
        ("<NBSP>", "\u{a0}"),
        ("<NEL>", "\u{85}"),
        ("<LS>", "\u{2028}"),
    ];
    names.into_iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

fn judge(tree: &Path, posture: Posture, rules: &Rules, text: &str) -> Verdict {
    let cwd = Target { named: tree.into(), real: tree.into() };
    // `bare` is a repository, to which nothing leads inside.
    let leads = if text.contains("bare") { Leads::Elsewhere } else { Leads::Inside };
    let subject = Subject::Command { text: text.to_owned(), cwd, leads };
    let places = Places { tree: tree.into(), ..Places::default() };
    let scene = Scene {
        posture,
        overlay: Overlay::None,
        hold: Hold::Enforced,
        access: Access::Write,
        has_tool: &|_| true,
        agent: None,
        agent_word: AgentWord::Counts,
        rules,
        grants: &[],
        audience: Audience::Person,
        places: &places,
        git_driver: None,
    };
    decide(&Call { tool: "Bash".to_owned(), subject }, &scene)
}

fn file(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let parse = |rules: &[&str]| rules.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect();
    let (allow, ask, deny) = (parse(allow), parse(ask), parse(deny));
    Rules { files: vec![RuleFile { name: "permissions.json".into(), allow, ask, deny }], ..Rules::default() }
}

/// A work tree of somebody who means harm, beside a directory for marks.
struct Ground {
    root: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { root: tempfile::tempdir().unwrap() };
        let (tree, mark) = (ground.path("tree"), ground.path("marks/script"));
        let script = format!("#!/bin/sh\n: > {mark}\n");
        let config = format!("[core]\n\tfsmonitor = {tree}/script.sh\n\tpager = {tree}/script.sh\n");
        let bare = format!("{config}\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n");
        for directory in [
            "marks",
            "home",
            "temp",
            "cmd",
            "tree/0",
            "tree/bin",
            "tree/fix/git",
            "tree/bare/objects",
            "tree/bare/refs",
        ] {
            fs::create_dir_all(ground.path(directory)).unwrap();
        }
        for (name, text) in [
            ("f", "a\nb\n"),
            ("home.txt", "fix\n"),
            ("script.sed", "w out\n"),
            ("-exec", ""),
            ("--output=out", ""),
            ("-o", ""),
            ("0/.gitconfig", &config),
            ("fix/.gitconfig", &config),
            ("fix/git/config", &config),
            ("bare/HEAD", "ref: refs/heads/main\n"),
            ("bare/config", &bare),
            ("script.sh", &script),
            ("bin/git", &script),
            ("bin/ls", &script),
            ("fix/ls", &script),
        ] {
            let path = format!("{tree}/{name}");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        ground.run(
            "git init -q --template= . && git add -A && git commit -qm x && echo c >> f && git stash -q && echo d >> f",
        );
        ground
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.root.path().canonicalize().unwrap().display())
    }

    /// Runs a text in the work tree, in a process of its own, and waits for it.
    fn run(&self, script: &str) {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", script]).current_dir(self.path("tree")).env_clear().envs(self.environment());
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    }

    fn environment(&self) -> Vec<(String, String)> {
        let authors = ["AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"];
        let authors = authors.map(|name| (format!("GIT_{name}"), "a".to_owned()));
        let fixed = [("GIT_CONFIG_NOSYSTEM", "1"), ("LC_ALL", "C.UTF-8")];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let path = ("PATH".to_owned(), format!("{}:{SYSTEM_PATH}", self.path("cmd")));
        let places = [("HOME", "home"), ("TMPDIR", "temp")].map(|(name, place)| (name.to_owned(), self.path(place)));
        authors.into_iter().chain(fixed).chain(places).chain([path]).collect()
    }

    /// Writes texts into files, in each of which `CMD` is a program that leaves a mark with the number of its text.
    fn write_texts(&self, texts: &[String]) -> String {
        let directory = self.path("texts");
        fs::create_dir_all(&directory).unwrap();
        let program = self.path("cmd/mark");
        fs::write(&program, format!("#!/bin/sh\n: > {}/${{0##*-}}\n", self.path("marks"))).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for (number, text) in texts.iter().enumerate() {
            // One word without a slash, which a text can have anywhere.
            let name = format!("mark-{number}");
            fs::hard_link(&program, format!("{program}-{number}")).unwrap();
            fs::write(format!("{directory}/{number:05}"), text.replace("CMD", &name)).unwrap();
        }
        directory
    }

    /// Runs texts, each in a shell of its own.
    fn run_all(&self, texts: &[String]) {
        let directory = self.write_texts(texts);
        self.run(&format!("for text in {directory}/*; do ( eval \"$(< $text)\" ); done"));
        fs::remove_dir_all(directory).unwrap();
        fs::remove_dir_all(self.path("cmd")).unwrap();
        fs::create_dir(self.path("cmd")).unwrap();
    }

    /// Runs texts in a cage that can write nothing but the ground, each in the same work tree; the numbers of those that
    /// left a mark or another work tree.
    async fn run_in_cage(&self, texts: &[String]) -> BTreeSet<usize> {
        self.write_texts(texts);
        let supervisor = PathBuf::from(env!("CARGO_BIN_EXE_coppice"));
        let read = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc"].map(PathBuf::from).to_vec();
        let cage = Cage {
            read,
            write: vec![self.root.path().canonicalize().unwrap()],
            network: Network::Ports(Vec::new()),
            isolation: support().with_namespaces(&supervisor).isolation(),
        };
        let spawn = Spawn {
            executable: supervisor,
            argv: ["bash", "--norc", "-c", RUN_EACH, "bash", &self.path("")].map(str::to_owned).to_vec(),
            env: self.environment(),
            cwd: self.path("tree").into(),
            cage: Some(cage),
            worktree: None,
        };
        let limits = Limits { timeout: Duration::from_secs(600), keep: 1 << 16 };
        let finished = run(spawn, limits, &mut |_| {}).await.unwrap();
        assert!(finished.is_success(), "{}", finished.output);
        let changed = fs::read_to_string(self.path("changed")).unwrap();
        changed.lines().map(str::to_owned).chain(self.left().0).filter_map(|number| number.parse().ok()).collect()
    }

    /// What was left: marks by the number of their text, and names in the work tree.
    fn left(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let names = |directory: &str| {
            let entries = fs::read_dir(self.path(directory)).unwrap().map(|entry| entry.unwrap());
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
        };
        (names("marks"), names("tree"))
    }
}

/// Where programs of the system are.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs each text by itself, notes its number where the work tree or the home is another afterwards, and puts them back.
const RUN_EACH: &str = r#"root=${1%/}
look() {
    cd $root/tree && find . $root/home $root/marks/script -path ./.git/index -prune -o -printf '%p %y %s %m\n'
    echo "$(< f) $(< .git/config) $(< .git/logs/HEAD)"
}
exec 2>/dev/null
cp -a $root/tree $root/template
: > $root/changed
before=$(look)
for text in $root/texts/*; do
    cd $root/tree
    timeout -k 1 5 bash --norc -c "$(< $text)" </dev/null >/dev/null
    if test "$(look)" != "$before"; then
        echo ${text##*/} >> $root/changed
        cd $root
        rm -rf tree home marks/script
        mkdir home && cp -a template tree
        before=$(look)
    fi
done"#;

fn hostile_texts() -> Vec<String> {
    let written = TEXTS.lines().map(str::to_owned);
    let made =
        COMMANDS.iter().flat_map(|command| ADDITIONS.iter().map(move |addition| format!("{command} {addition}")));
    written.chain(made).map(|text| characters(&text)).collect()
}

#[test]
fn what_goes_ahead_by_itself_runs_nothing_but_its_visible_words() {
    let ground = Ground::new();
    let tree = ground.path("tree");
    let texts = hostile_texts();
    assert!(texts.len() >= 500, "{}", texts.len());
    let allows =
        |posture, rules: &Rules, text: &String| judge(Path::new(&tree), posture, rules, text).action == Action::Allow;
    let by_posture = |text: &&String| {
        [Posture::Attended, Posture::Edits, Posture::Plan].iter().any(|at| allows(*at, &Rules::default(), text))
    };
    let approved: Vec<_> = texts.iter().filter(by_posture).cloned().collect();
    // Those that are harmless after all, such as `ls --output=out`, are among them.
    assert!(approved.len() > 20 && approved.len() < texts.len() / 4, "{approved:#?}");
    let before = ground.left();
    ground.run_all(&approved);
    assert_eq!(ground.left(), before, "{:#?}", approved.iter().enumerate().collect::<Vec<_>>());
    let ruled = file(&["Bash(ls *)", "Bash(cat *)", "Bash(echo *)"], &[], &[]);
    let by_rule: Vec<_> = texts.iter().filter(|text| allows(Posture::Attended, &ruled, text)).cloned().collect();
    assert!(by_rule.len() > 10);
    ground.run_all(&by_rule);
    assert_eq!(ground.left(), before, "{:#?}", by_rule.iter().enumerate().collect::<Vec<_>>());
}

/// Run where they do no harm, all texts do something that could be seen, but for those of a list with its reasons.
#[tokio::test]
async fn every_text_does_what_it_is_held_against_or_says_why_not() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let ground = Ground::new();
    let written: Vec<&str> = TEXTS.lines().collect();
    let silent: BTreeSet<_> = SILENT.lines().filter(|line| !line.starts_with("## ")).collect();
    assert!(silent.iter().all(|text| written.contains(text)) && silent.len() * 3 < written.len());
    let texts: Vec<_> = written.iter().map(|text| characters(text)).collect();
    let seen = ground.run_in_cage(&texts).await;
    let is_missing =
        |program: &str| PROGRAMS.contains(&program) && which::which_in(program, Some(SYSTEM_PATH), "/").is_err();
    let needs_another = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(is_missing);
    let unseen: Vec<_> = written
        .iter()
        .enumerate()
        .filter(|(number, text)| !seen.contains(number) && !silent.contains(*text) && !needs_another(text))
        .collect();
    assert!(unseen.is_empty(), "{unseen:#?}");
}

#[test]
fn the_marks_are_seen_and_what_leaves_one_does_not_go_ahead() {
    for text in MARKING {
        let ground = Ground::new();
        let before = ground.left();
        ground.run_all(&[(*text).to_owned()]);
        assert_ne!(ground.left(), before, "{text}");
        for posture in [Posture::Attended, Posture::Edits, Posture::Plan] {
            let found = judge(Path::new(&ground.path("tree")), posture, &Rules::default(), text);
            assert_ne!(found.action, Action::Allow, "{text}");
        }
    }
}

#[test]
fn no_spelling_hides_a_program_from_a_rule_that_forbids_it() {
    let spellings = |command: &str| {
        let command = command.to_owned();
        SPELLINGS.lines().map(move |text| characters(&text.replace('@', &command)))
    };
    let decide = |rules: &Rules, text: &str| judge(Path::new("/tree"), Posture::Unattended, rules, text);
    let removes = file(&[], &[], &["Bash(rm *)"]);
    let pushes = file(&[], &[], &["Bash(git push*)"]);
    let asks = file(&[], &["Git(push *)"], &[]);
    let mut texts: Vec<(&Rules, String, VerdictTest)> = Vec::new();
    for program in ["rm x", "/bin/rm x", "\\rm x", "r\"\"m x", "'rm' x", "r\\m 'x'"] {
        // In quotes of its own, a quote would end them.
        let is_fine = |text: &String| !program.contains(['\'', '"']) || !text.contains(['\'', '"']);
        texts.extend(spellings(program).filter(is_fine).map(|text| (&removes, text, is_denied as VerdictTest)));
    }
    let options = ["", "-C . ", "--no-pager ", "-c a.b=c ", "-p ", "--git-dir=.git ", "--git-dir .git ", "-C -- -P "];
    for option in options {
        for text in spellings(&format!("git {option}push origin")) {
            texts.push((&pushes, text.clone(), is_denied));
            texts.push((&asks, text, is_held_up));
        }
    }
    let patterns =
        ["/usr/bin/gi? push", "/usr/bin/gi[t] -C . push origin", "git p[u]sh", "/usr/bin/git pu?h x", "env gi? push"];
    for text in patterns.into_iter().chain(PUSHES.lines()).map(characters) {
        texts.push((&pushes, text.clone(), is_held_up));
        texts.push((&asks, text, is_held_up));
    }
    let hidden_pushes = [
        "g\"$x\"it push",
        "gi\"$x\"t push origin",
        "g{i..i}t push",
        "git pus{h..h}",
        "git p{u,}sh",
        "git {push,origin}",
        "git pu\"$x\"sh",
        "x=gitx; ${x%x} push",
        "x=gXt; ${x/X/i} push",
        "git $x",
        "git -C . $x origin",
        "$x push",
    ];
    let limited = format!("prlimit {}git push", "--core=1 ".repeat(70));
    let exceeded = format!("prlimit {}git push", "--core=1 ".repeat(300));
    for text in hidden_pushes.into_iter().chain([limited.as_str(), &exceeded]) {
        texts.push((&pushes, text.to_owned(), is_held_up));
        texts.push((&asks, text.to_owned(), is_held_up));
    }
    for text in [
        "fd --exec=rm",
        "fd -xrm",
        "fd . src --exec-batch=rm",
        "fd -Hx rm",
        "fd -Hxrm",
        "rg x --pre=rm",
        "env PAGER=rm man x",
    ] {
        texts.push((&removes, text.to_owned(), is_denied));
    }
    let many_options = format!("npm {}publish", "-s ".repeat(20));
    let publishes = file(&[], &[], &["Bash(npm publish*)", "Bash(cargo publish *)"]);
    for text in [
        "npm -s publish",
        "npm --registry x -s publish --tag y",
        "env npm --silent publish",
        many_options.as_str(),
        "npm --call='npm publish' exec",
        "cargo +nightly -q publish",
        "bash -c 'cargo --color never publish'",
    ] {
        texts.push((&publishes, text.to_owned(), is_denied));
    }
    texts.push((&publishes, format!("npm {}publish", "--loglevel silent ".repeat(20)), is_denied));
    let edits = file(&[], &[], &["Bash(sed -i*)"]);
    for text in ["sed --in-place s/a/b/ f", "sed -n --in-pl p f", "sed --i=x p f"] {
        texts.push((&edits, text.to_owned(), is_denied));
    }
    let none = Rules::default();
    let many = (0..70).map(|number| format!("ls{number} ")).collect::<String>();
    texts.push((&none, format!("for x in {many}sudo; do $x id; done"), is_held_up));
    texts.extend(spellings("rm -rf /").map(|text| (&none, text, is_catastrophe as VerdictTest)));
    let hidden = [
        "{rm,x}",
        "r{m,} x",
        "rm${IFS}x",
        "rm $'x'",
        "$'\\x72m' x",
        "r$@m x",
        "x=rm; $x y",
        "for x in rm; do $x y; done",
        "$(echo r)m x",
        "$(printf %s rm) x",
        "$(command -v rm) x",
        "$a $b $c $d $e $f rm x",
        "read c <<< 'rm x'; $c",
        "a=(rm x); \"${a[@]}\"",
        "xargs -a <(ls) rm",
        "rm</dev/null x",
        "f() { command rm \"$@\"; }; f x",
        "IFS=,; c=rm,x; $c",
        "base64 -d <<< x | sh; rm \"$x\"",
        "/bin/r[m] x",
        "/bin/r? x",
        "/bin/[a-z]m x",
        "r* x",
        "find . -exec /bin/r[m] {} ';'",
        "xargs -a list /bin/r[m]",
        "env /bin/r[m] x",
        "poetry run /bin/r[m] x",
        "/usr/bin/en[v] rm x",
        "bash -c '/bin/r[m] x'",
        "r${z}m x",
        "r$(:)m x",
        "${z}rm x",
        "r\"$x\"m x",
        "r$x'm' x",
        "r$x\\m x",
        "'r'\"$x\"'m' x",
        "$x\"rm\" x",
        "r$1\"m\" x",
        "r\"$@\"m x",
        "r\"$(true)\"m x",
        "r$(echo)m x",
        "r$(date +%q)m x",
        "r`date +%q`m x",
        "r$(case x in x) ;; esac)m x",
        "r${x:-${y}}m x",
        "r${x#/}m x",
        "r{m..m} x",
        "env r{m..m} x",
        "xargs r{m..m}",
        "poetry run r{m..m}",
        "/bin/r{m..m} x",
        "eval 'r{m..m} y'",
        "bash <<< 'r{m..m} y'",
        "bash -c \"r{m..m} y\"",
        "sh -c 'r\"$x\"m y'",
        "if true; then r\"$x\"m y; fi",
        "(r\"$x\"m y)",
        "git -c alias.x='!r{m..m} y' x",
        "x=1; xy=r; z=m; $xy$z y",
        "z=ls; z=r; y=m; $z$y x",
        "x=r; x+=m; $x y",
        "x=r\"\"; y=${x}m; $y z",
        "for x in ls r; do ${x}m y; done",
        "x=ls; printf -v x %s%s r m; $x y",
        "$x y",
        "\"$x\" y",
        "$(cat f) y",
        "${a[0]} y",
        "${!x} y",
        "x=rmx; ${x%x} a",
        "x=xxrm; ${x:2} a",
        "x=RM; ${x,,} a",
        "for x in xrm; do ${x#x} a; done",
        "printf -v 'x[$(rm a)]' y",
        "set -- r m; $1$2 x",
        "# it's\n$x y",
        "cat <<X\nit's\nX\n$x y",
        "echo '${' ; r$x\\m y; echo '}'",
        "read x; $x y",
        "timeout 5 $x y",
        "declare -n y=x; $y z",
        "function g { \"$@\"; }; g y",
        "2>&1 $x y",
        ">|f $x y",
        "r$[0]m y",
        "f() { r\"$1\"m y; }; f",
    ];
    texts.extend(hidden.map(|text| (&removes, text.to_owned(), is_held_up as VerdictTest)));
    assert!(texts.len() >= 200);
    let missed: Vec<_> =
        texts.iter().filter(|(rules, text, is_seen)| !is_seen(&decide(rules, text))).map(|(_, text, _)| text).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Whether a verdict is strict enough.
type VerdictTest = fn(&Verdict) -> bool;

fn is_denied(verdict: &Verdict) -> bool {
    verdict.action == Action::Deny
}

fn is_held_up(verdict: &Verdict) -> bool {
    verdict.action != Action::Allow
}

fn is_catastrophe(verdict: &Verdict) -> bool {
    verdict.layer == Layer::HardFloor
}

#[test]
fn what_is_no_program_is_not_taken_for_one() {
    let rules = file(&[], &["Git(push *)"], &["Bash(rm *)", "Bash(git push*)"]);
    for text in [
        "cargo test 2>&1 | tail -20",
        "cargo build && git status",
        "grep -rn 'rm x' src",
        "grep -rn \"git push\" .",
        "rg 'git push' docs | head",
        "git log --grep push",
        "git log --grep='git push' -5",
        "git commit -m \"push the button\"",
        "git commit -m 'rm x; git push origin'",
        "git commit -am 'Deny `git push` and rm x'",
        "git tag -a v1 -m 'before git push'",
        "git rm x",
        "git remote rm origin",
        "git branch push-button && git checkout push-button",
        "git stash push -m 'rm x'",
        "git add . && git commit -m 'docs: how to git push'",
        "git merge --no-ff -m 'push and rm x' topic",
        "gh pr create --title 'Fix rm handling' --body 'git push works again'",
        "gh issue list --search 'git push'",
        "echo rm x",
        "echo 'now run git push'",
        "printf 'git push\n'",
        "[ -f a ] || echo \"git push origin failed\" >&2",
        "command -v rm && timeout 5 grep rm x",
        "which git rm",
        "env A=rm ls x",
        "env FOO=1 cargo test",
        "env RUST_LOG=push GIT=1 cargo run",
        "npm --silent run push",
        "npm run build --silent",
        "docker --context x ps",
        "fd -e txt push",
        "find . -xdev -name x",
        "find . -name 'rm *'",
        "find . -name '*.rs' -exec grep -l 'git push' {} +",
        "git ls-files | xargs grep push",
        "git branch --merged | grep -v push | xargs git branch -d",
        "npm run push",
        "npm run rm x",
        "npm test -- -t 'rm x'",
        "pytest -k 'rm x or push'",
        "docker run --rm -it x sh",
        "docker rm x",
        "docker push x",
        "kubectl get pods; docker compose push",
        "cargo run -- push git",
        "cargo test push_to_git rm",
        "make push",
        "ls rm x; cat git push",
        "mkdir rm && cd rm && ls",
        "for f in a b; do git add \"$f\"; done",
        "x=$(git rev-parse HEAD); echo \"$x\"",
        "cd \"$DIR\" && git fetch origin && git rebase origin/main",
        "for f in *.rs; do rustfmt \"$f\"; done",
        "git log --since=\"$(date +%F)\"",
        "python3 - <<'X'\nx = 'remove'\nX",
        "case $1 in r*) ls;; *[!0-9]*) ls;; [Rr]*) ls;; *) ls;; esac",
        "for f in r*; do echo \"$f\"; done",
        "prettier --write src/r* x",
        "ls r*; cat src/r* x",
        "for i in 1 2; do ./step$i x; done",
        "echo $HOME",
        "cargo test $FLAGS",
        "echo \"Total ($n); took ${m}m\"",
        "echo \"done; $n files\" && ls \"$DIR\"",
        "git -C \"$DIR\" status",
        "git log \"$x\"",
        "git checkout -b \"fix/$NAME\"",
        "PY=python3; $PY -m pytest",
        "${PYTHON:-python3} -m pytest $TESTS",
        "$(which python3) x.py",
        "$(npm bin)/eslint src",
        "\"$(git rev-parse --show-toplevel)/scripts/build.sh\" all",
        "\"$(dirname \"$(readlink -f \"$0\")\")/run.sh\" y",
        "$HOME/.cargo/bin/cargo-nextest run",
        "\"$VIRTUAL_ENV/bin/python\" -m pytest",
        "python${VERSION} -m venv .venv",
        "for t in a b; do cargo test --test \"$t\" || exit 1; done",
        "for p in git curl sudo; do command -v $p; done",
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
        "if [ \"$x\" = y ]; then echo yes; fi",
        "export PATH=\"$HOME/bin:$PATH\"; make",
        "PATH=\"$HOME/bin:$PATH\" make",
        "cp src/{a,b}.rs target/ && ls {1..3}",
        "mkdir -p build/{debug,release}",
        "docker run -v \"$PWD:/work\" \"$IMAGE\" make",
        "prettier --write \"src/$FILE\" {1..3}",
        "npx eslint $FILES",
        "cat f | while read -r line; do echo \"$line\"; done",
        "docker build -t app:$(git rev-parse --short HEAD) .",
        "cat > notes.txt <<'X'\nA plain text, it's short.\nX",
    ] {
        let found = judge(Path::new("/tree"), Posture::Unattended, &rules, text);
        assert_eq!(found.action, Action::Allow, "{text}: {found:?}");
    }
}
