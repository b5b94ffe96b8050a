//! Rows of calls and the rules that people may keep for them.

use super::*;
use crate::permission::compact::Action;
use crate::permission::rule::Rules;
use crate::permission::{
    Access, AgentWord, Audience, Effect, Hold, Leads, Overlay, Posture, Scene, decide, places_below,
};

const TREE: &str = "/data/tree";

fn places() -> Places {
    Places { tree: TREE.into(), ..Places::default() }
}

fn target(path: &str) -> Target {
    Target { named: path.into(), real: path.into() }
}

fn bash(text: &str) -> Call {
    let tree = Path::new(TREE);
    let leads = if places_below(text, tree, tree).is_some() { Leads::Inside } else { Leads::Elsewhere };
    let subject = Subject::Command { text: text.to_owned(), cwd: target(TREE), leads };
    Call { tool: "Bash".to_owned(), subject }
}

fn call(tool: &str, subject: Subject) -> Call {
    Call { tool: tool.to_owned(), subject }
}

#[track_caller]
fn check(call: &Call, expected: &[&str]) {
    let offered = rules(call, &places());
    let spelled: Vec<_> = offered.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(spelled, expected, "{call:?}");
    let Some(grants) = offered else { return };
    let scene = Scene {
        posture: Posture::Attended,
        overlay: Overlay::None,
        hold: Hold::Advisory,
        access: Access::Write,
        has_tool: &|_| true,
        agent: None,
        agent_word: AgentWord::Counts,
        rules: &Rules::default(),
        grants: &grants,
        audience: Audience::Person,
        places: &places(),
        git_driver: None,
    };
    assert_eq!(decide(call, &scene).action, Action::Allow, "{call:?}");
}

#[test]
fn a_command_is_kept_by_the_words_that_say_what_it_does() {
    for (text, expected) in [
        ("cat x", &["Bash(cat *)"][..]),
        ("cat key.pem", &["Bash(cat key.pem)"]),
        ("cat /etc/passwd", &["Bash(cat /etc/passwd)"]),
        ("tail -5 ../x", &["Bash(tail -5 ../x)"]),
        ("git diff key.pem", &["Bash(git diff key.pem)"]),
        ("git diff --no-index /etc/passwd x", &["Bash(git diff --no-index /etc/passwd x)"]),
        ("ls", &["Bash(ls)"]),
        ("git push origin", &["Bash(git push origin)"]),
        ("git add src", &["Bash(git add *)"]),
        ("git log -p", &["Bash(git log *)"]),
        ("git status", &["Bash(git status)"]),
        ("npm run build", &["Bash(npm run build)"]),
        ("npm run build -- --x", &["Bash(npm run build *)"]),
        ("npm test", &["Bash(npm test)"]),
        ("cargo test --lib a::", &["Bash(cargo test *)"]),
        ("git stash list -p", &["Bash(git stash list *)"]),
        ("cd sub && cargo test -q 2>&1 | tail -5", &["Bash(cd sub)", "Bash(cargo test *)", "Bash(tail *)"]),
        ("cd sub && git log -p", &["Bash(cd sub)", "Bash(git log -p)"]),
        ("cd /data/tree && git log -p", &["Bash(cd /data/tree)", "Bash(git log *)"]),
        ("cat a; cat b", &["Bash(cat *)"]),
        ("touch a", &["Bash(touch *)"]),
        ("touch /tmp/x", &["Bash(touch /tmp/x)"]),
        ("mkdir -p /tmp/x", &["Bash(mkdir -p /tmp/x)"]),
        ("./gradlew test", &["Bash(./gradlew *)"]),
        ("go test ./...", &["Bash(go test *)"]),
        ("make 2>/dev/null", &["Bash(make *)"]),
        ("cat a > b.txt", &["Bash(cat a >b.txt)"]),
        ("git commit -m 'a; b'", &["Bash(git commit *)"]),
    ] {
        check(&bash(text), expected);
    }
}

#[test]
fn a_command_that_is_on_no_list_is_kept_as_it_is() {
    for (text, expected) in [
        ("split --filter=make x", &["Bash(split --filter=make x)"][..]),
        ("sort -o a b", &["Bash(sort -o a b)"]),
        ("rm x", &["Bash(rm x)"]),
        ("curl https://x/y", &["Bash(curl https://x/y)"]),
        ("bash x.sh", &["Bash(bash x.sh)"]),
        ("sh -c 'ls'", &["Bash(ls)", "Bash(sh -c ls)"]),
        ("timeout 5 make", &["Bash(make)", "Bash(timeout 5 make)"]),
        ("/usr/bin/python3 x", &["Bash(/usr/bin/python3 x)"]),
        ("/usr/bin/make x", &["Bash(/usr/bin/make x)"]),
        ("node x.js", &["Bash(node x.js)"]),
        ("find . -name x", &["Bash(find . -name x)"]),
        ("./run.sh", &["Bash(./run.sh)"]),
        ("./run.sh x", &["Bash(./run.sh x)"]),
        ("docker compose up -d", &["Bash(docker compose up -d)"]),
        ("gh pr view 12", &["Bash(gh pr view 12)"]),
        ("cargo +nightly test", &["Bash(cargo +nightly test)"]),
        ("cargo publish", &["Bash(cargo publish)"]),
        ("npm exec x", &["Bash(npm exec x)"]),
        ("npm run -s build", &["Bash(npm run -s build)"]),
        ("git remote -v", &["Bash(git remote -v)"]),
        ("git config x y", &["Bash(git config x y)"]),
        ("git checkout main", &["Bash(git checkout main)"]),
    ] {
        check(&bash(text), expected);
    }
}

#[test]
fn nothing_is_offered_for_what_could_do_anything() {
    for text in [
        "",
        "xargs cat",
        "ls | xargs cat",
        "find . -exec cat {} +",
        "find . -name x -exec git {} \\;",
        "fd x -x git",
        "rg --pre cat x",
        "xargs git < f",
        "xargs -n1 git push < f",
        "parallel git < f",
        "at now < f",
        "ssh h < f",
        "nice ssh h < f",
        "psql db < f",
        "python3",
        "python3 -",
        "ls | python3",
        "git -C x push",
        "echo 'select 1' | sqlite3 app.db",
        "echo x | docker exec -i c bash -l",
        "python3 /dev/stdin",
        "python3 x -",
        "bash",
        "docker exec -i x sh",
        "A=1 make",
        "for f in a; do wc -l $f; done",
        "cat ~/x",
        "x=1; ls",
        "cat $(ls)",
        "cat `ls`",
        "diff <(ls) x",
        "ls | sh",
        "$x y",
        "awk 'BEGIN { print(1) }'",
        "git log --output=x",
        "git fetch origin +main:main",
        "git push --force",
        "git push -f origin x && ls",
        "git branch -D x",
        "l*s x",
        "cat a > ../x",
        "cat a > ~/.bashrc",
        "cat a > .git/config",
        "echo * > x",
        "ls 'open",
    ] {
        check(&bash(text), &[]);
    }
}

#[test]
fn files_pages_and_servers_are_kept_exactly() {
    let paths = |paths: &[&str]| Subject::Paths(paths.iter().map(|path| target(path)).collect());
    check(&call("Edit", paths(&["/data/tree/src/a.rs"])), &["Edit(src/a.rs)"]);
    check(&call("apply_diff", paths(&["/data/tree/a", "/data/tree/b", "/data/tree/a"])), &["Edit(a)", "Edit(b)"]);
    check(&call("write_file", paths(&["/data/tree/a [1].md"])), &["Write(a [[]1[]].md)"]);
    check(&call("Read", paths(&["/opt/x"])), &["Read(/opt/x)"]);
    check(&call("delete_file", paths(&["/data/tree/a"])), &[]);
    check(&call("Read", paths(&[""])), &[]);
    check(&call("symbols", paths(&["/data/tree"])), &["symbols(*)"]);
    check(&call("definition", paths(&["/data/tree/src/a.rs"])), &["definition(*)"]);
    let url = |url: &str| Subject::Url(url.to_owned());
    check(&call("WebFetch", url("https://docs.rs/x?y=1")), &["Fetch(https://docs.rs/*)"]);
    check(&call("WebFetch", url("http://localhost:8080")), &["Fetch(http://localhost:8080)"]);
    check(&call("WebFetch", url("https://me:key@x/")), &[]);
    check(&call("WebFetch", url("file:///etc/passwd")), &[]);
    check(&call("WebSearch", url("https://x/")), &[]);
    let mcp = |tool: &str| Subject::Mcp { server: "db".into(), tool: tool.into(), effect: Effect::Destroys };
    check(&call("mcp:db:drop", mcp("drop")), &["MCP(db/drop)"]);
    check(&call("run_tests", bash("cargo test --all").subject), &["Tests(cargo test --all)"]);
    check(&call("run_tests", bash("sh -c 'x *'").subject), &[]);
    check(&call("mcp:db:*", mcp("*")), &[]);
    check(&call("git", Subject::Name("push origin main".into())), &["Git(push origin main)"]);
    check(&call("git", Subject::Name("push --force".into())), &[]);
    check(&call("skill", Subject::Name("x".into())), &[]);
    check(&call("bash", Subject::Nothing), &[]);
}
