//! Pushes and pull requests: by people through the command line, by agents through their tools, against a server that
//! behaves like GitHub. The token reaches that server and nobody else.

mod server;

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{call, run, say, steps, write};
use crate::seat::Seat;
use server::{Api, Route, route};

const TOKEN: &str = "ghp_TheTokenOfThisTest";

/// A world whose `origin` is called by an address of GitHub and lies beside, and whose GitHub is `api`.
fn world(api: &Api) -> TestEnv {
    let mut env = TestEnv::new();
    env.set("GITHUB_TOKEN", TOKEN);
    env.configure(&format!("[github]\napi_url = \"{}\"\n", api.address()));
    env.git(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
    let (bare, config) = (env.path("remote.git"), env.path("home/.gitconfig"));
    let known = fs::read_to_string(&config).unwrap();
    let mapped = format!("[url \"{}\"]\n\tinsteadOf = https://github.com/ada/engine.git\n", bare.display());
    fs::write(&config, known + &mapped).unwrap();
    env.git(&["remote", "add", "origin", "https://github.com/ada/engine.git"]);
    env.git(&["push", "-q", "origin", "main"]);
    env
}

/// A session that has changed something.
fn session(env: &TestEnv) -> String {
    let id = env.create_ready(&steps(&[write("pump.txt", "tight"), say("the pump is tight")]));
    env.send_ready(&id, &[], &steps(&[write("pump.txt", "tighter"), say("and tighter")]));
    id
}

fn pull(number: u64) -> Value {
    json!({
        "number": number, "title": "Fix the pump", "body": "It leaked.", "state": "open", "draft": false,
        "html_url": format!("https://github.com/ada/engine/pull/{number}"), "user": { "login": "ada" },
        "base": { "ref": "main" }, "head": { "ref": "fix/pump", "sha": "abc123" }, "labels": [{ "name": "bug" }],
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z",
    })
}

/// The pull requests of any branch.
fn found(pulls: Value) -> Route {
    route("GET /repos/ada/engine/pulls?head=", 200, pulls)
}

#[test]
fn a_session_is_pushed_and_gets_a_pull_request() {
    let api = Api::new(vec![route("POST /repos/ada/engine/pulls ", 201, pull(12)), found(json!([pull(12)]))]);
    let env = world(&api);
    let id = session(&env);
    assert_snapshot!(env.coppice(&["pr", "create", &id]).exits(1).transcript(), @r#"
    exit: 1
    -- stderr
    error: the branch `coppice/[ID1]/write-pump-txt-tight` is not at `origin`

    hint: `coppice push [ID1]` brings it there
    "#);
    env.coppice(&["push", &id, "--branch", "fix/pump"]).succeeds();
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    let there = env.git_in(&env.path("remote.git"), &["rev-parse", "fix/pump"]);
    assert_eq!(there, env.git(&["rev-parse", &branch]));

    let said = env.coppice(&["pr", "create", &id, "--title", "Fix the pump", "--draft"]).stdout();
    assert_eq!(said, "https://github.com/ada/engine/pull/12\n");
    let asked = api.asked().pop().unwrap();
    assert_eq!(asked.token(), Some(TOKEN));
    let body = asked.body();
    assert_eq!((&body["head"], &body["base"], &body["draft"]), (&json!("fix/pump"), &json!("main"), &json!(true)));
    assert_eq!(body["title"], "Fix the pump");
    assert!(!body["body"].as_str().unwrap().is_empty(), "{body}");

    // It is found again under the name that it has there.
    assert_snapshot!(env.coppice(&["pr", "show", &id]).transcript(), @r#"
    exit: 0
    -- stdout
    #12 Fix the pump
    open  fix/pump into main
    https://github.com/ada/engine/pull/12

    It leaked.
    "#);
    assert!(api.asked().pop().unwrap().line.contains("head=ada%3Afix%2Fpump&"));
    assert_eq!(env.json(&["pr", "show", &id])["number"], 12);
    assert_snapshot!(env.coppice(&["push", &id]).transcript(), @r#"
    exit: 0
    -- stderr
    [ID1] pushed to origin/fix/pump
    "#);
}

#[test]
fn the_terminal_interface_pushes_and_opens_a_pull_request_too() {
    let api = Api::new(vec![route("POST /repos/ada/engine/pulls ", 201, pull(12))]);
    let env = world(&api);
    let id = session(&env);
    let mut face = Seat::sized(&env.to_start(&[]), 120, 36);
    face.shows("merge?");
    // A pull request needs its branch at the remote: the refusal comes with its hint.
    face.types("/pr create\r");
    face.shows("y opens it");
    face.types("y");
    face.shows("is not at `origin`");
    face.shows(&format!("hint: `coppice push {id}` brings it there"));
    face.types("/push --branch fix/pump\r");
    face.shows("y pushes");
    face.types("y");
    face.shows("pushed to origin/fix/pump");
    face.types("/pr create --title Fix the pump\r");
    face.shows("y opens it");
    face.types("y");
    face.shows("https://github.com/ada/engine/pull/12");
    face.types("\x1b");
    face.hides("copies the address");
    face.types("q");
    assert_eq!(face.ends(), 0);
    assert_eq!(api.asked().pop().unwrap().body()["title"], "Fix the pump");
}

#[test]
fn what_is_pushed_is_never_forced_and_never_the_base() {
    let env = world(&Api::new(Vec::new()));
    let id = session(&env);
    assert_snapshot!(env.coppice(&["push", &id, "--branch", "main"]).transcript(), @r#"
    exit: 2
    -- stderr
    error: it cannot be published: `main` is the branch that the session started from: open a pull request into it
    "#);
    assert_snapshot!(env.coppice(&["push", &id, "--branch", "a..b"]).transcript(), @r#"
    exit: 2
    -- stderr
    error: it cannot be published: `a..b` is not a name for a branch
    "#);
    env.git(&["remote", "rename", "origin", "elsewhere"]);
    assert_snapshot!(env.coppice(&["push", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: there is no remote `origin`

    hint: `git remote add origin URL` says where to push to
    ");
    env.git(&["remote", "rename", "elsewhere", "origin"]);
    env.coppice(&["push", &id]).succeeds();
    env.coppice(&["undo", &id, "--to", "1"]).succeeds();
    env.send_ready(&id, &[], &steps(&[write("pump.txt", "other"), say("done")]));
    let said = env.coppice(&["push", &id]).exits(1).transcript();
    assert!(said.contains("non-fast-forward"), "{said}");
}

#[test]
fn an_agent_pushes_where_a_person_has_pushed_and_hears_of_the_pull_request() {
    let api = Api::new(vec![found(json!([pull(12)]))]);
    let env = world(&api);
    env.configure(&format!(
        "default.posture = \"attended\"\n[tools]\ngit_mutations = \"allow\"\n[github]\napi_url = \"{}\"\n",
        api.address()
    ));
    let id = session(&env);
    env.coppice(&["push", &id, "--branch", "fix/pump"]).succeeds();
    env.coppice(&["send", &id, &steps(&[write("pump.txt", "tightest"), call("git_push", &json!({}))])]).succeeds();
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let pushed =
        "pushed=true branch=fix/pump set_upstream=false pr_number=12 pr_url=https://github.com/ada/engine/pull/12";
    assert!(env.last_answer(&id).contains(pushed), "{}", env.last_answer(&id));
    assert!(api.asked().pop().unwrap().line.contains("head=ada%3Afix%2Fpump&"));
}

#[test]
fn an_agent_that_pushes_hears_that_there_is_no_pull_request() {
    let api = Api::new(vec![found(json!([]))]);
    let env = world(&api);
    env.configure(&format!(
        "default.posture = \"attended\"\n[tools]\ngit_mutations = \"allow\"\n[github]\napi_url = \"{}\"\n",
        api.address()
    ));
    let id = session(&env);
    env.coppice(&["send", &id, &steps(&[write("pump.txt", "tightest"), call("git_push", &json!({}))])]).succeeds();
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("\nhint=the branch has no pull request yet: open one with `gh_pr_create`"), "{answer}");
}

#[test]
fn people_and_agents_publish_by_the_same_rules() {
    let api = Api::new(vec![found(json!([pull(12)])), route("PATCH /repos/ada/engine/pulls/12", 200, pull(12))]);
    let env = world(&api);
    let id = session(&env);
    assert_snapshot!(env.coppice(&["pr", "create", &id, "--title", "Ends badly."]).transcript(), @r#"
    exit: 2
    -- stderr
    error: it cannot be published: the title must not end with a period
    "#);
    assert_snapshot!(env.coppice(&["pr", "update", &id, "--body", " "]).transcript(), @r#"
    exit: 2
    -- stderr
    error: it cannot be published: the body is empty
    "#);
    let said = env.coppice(&["pr", "update", &id]).exits(2).transcript();
    assert!(said.contains("--title"), "{said}");
    assert_eq!(api.asked().len(), 0, "nothing is asked for what is not right");
    let said = env.coppice(&["pr", "update", &id, "--body", "More words"]).stdout();
    assert_eq!(said, "https://github.com/ada/engine/pull/12\n");
    assert_eq!(api.asked().pop().unwrap().body(), json!({ "body": "More words" }));
}

#[test]
fn a_review_shows_checks_from_all_pages_and_the_diff() {
    let api = Api::new(vec![
        found(json!([pull(12)])),
        route(
            "GET /repos/ada/engine/commits/abc123/check-runs",
            200,
            json!({ "check_runs": [{ "name": "fmt", "conclusion": "success" }] }),
        )
        .with("link", "<HERE/page2>; rel=\"next\""),
        route("GET /page2", 200, json!({ "check_runs": [{ "name": "test", "conclusion": "timed_out" }] })),
        route(
            "GET /repos/ada/engine/commits/abc123/status",
            200,
            json!({ "statuses": [{ "context": "ci", "state": "pending" }] }),
        ),
        route("GET /repos/ada/engine/pulls/12 ", 200, json!("+a line of the diff")),
    ]);
    let env = world(&api);
    let id = session(&env);
    assert_snapshot!(env.coppice(&["pr", "review", &id]).transcript(), @r#"
    exit: 0
    -- stdout
    #12 Fix the pump
    open  fix/pump into main
    https://github.com/ada/engine/pull/12

    It leaked.

    timed_out  test
    pending  ci
    success  fmt

    +a line of the diff
    "#);
    let review = env.json(&["pr", "review", &id])["review"].clone();
    assert_eq!((&review["checks"][0]["name"], &review["checks"][0]["outcome"]), (&json!("test"), &json!("failing")));
    let said = env.create_ready(&call("gh_pr_review_context", &json!({ "ref": "fix/pump" })));
    let answer = env.last_answer(&said);
    assert!(answer.contains("failing_checks=test\n"), "{answer}");
    assert!(answer.contains("TIMED_OUT\ttest"), "{answer}");
}

#[test]
fn what_github_refuses_is_told_with_its_words() {
    let no = |status: u16, message: &str| route("GET ", status, json!({ "message": message }));
    let limited = no(403, "API rate limit exceeded").with("x-ratelimit-remaining", "0");
    for (route, exit, said) in [
        (no(404, "Not Found"), 5, "error: GitHub has no such thing, or the login may not see it"),
        (no(401, "Bad credentials"), 1, "error: GitHub does not know the token"),
        (no(403, "Resource not accessible"), 1, "error: GitHub does not allow it: Resource not accessible"),
        (limited.with("x-ratelimit-reset", "1700000000"), 1, "until 2023-11-14 22:13:20 UTC"),
        (no(502, "Bad gateway"), 1, "error: GitHub answers with status 502: Bad gateway"),
    ] {
        let api = Api::new(vec![route]);
        let env = world(&api);
        let id = session(&env);
        let shown = env.coppice(&["pr", "show", &id]).exits(exit).transcript();
        assert!(shown.contains(said), "{shown}");
        assert!(!shown.contains(TOKEN), "{shown}");
    }
    let details = json!({ "message": "Validation Failed", "errors": [{ "message": "A pull request already exists" }] });
    let api = Api::new(vec![route("POST /repos/ada/engine/pulls ", 422, details)]);
    let env = world(&api);
    let id = session(&env);
    env.coppice(&["push", &id]).succeeds();
    let shown = env.coppice(&["pr", "create", &id]).exits(1).transcript();
    assert!(shown.contains("GitHub refuses it: Validation Failed (A pull request already exists)"), "{shown}");
}

#[test]
fn a_token_goes_to_no_other_host() {
    let thief = Api::new(vec![route("GET ", 200, pull(1))]);
    let away = format!("{}/repos/ada/engine/pulls", thief.address());
    let api = Api::new(vec![route("GET ", 302, json!({})).with("location", &away)]);
    let env = world(&api);
    let id = session(&env);
    let shown = env.coppice(&["pr", "show", &id]).exits(1).transcript();
    assert!(shown.contains("a token does not go there"), "{shown}");
    assert_eq!((api.asked().len(), thief.asked().len()), (1, 0));
    // Nor without encryption to another machine, whoever asks for it.
    env.configure("[github]\napi_url = \"http://github.example\"\n");
    let shown = env.coppice(&["pr", "show", &id]).exits(1).transcript();
    assert!(shown.contains("http is for this machine only"), "{shown}");
}

#[test]
fn without_a_login_tools_say_so_and_the_turn_goes_on() {
    let api = Api::new(vec![found(json!([pull(12)]))]);
    let mut env = world(&api);
    env.unset("GITHUB_TOKEN");
    // A `gh` that has no login.
    program(&mut env, "gh", "exit 1");
    let id = env.create_ready(&call("gh_pr_read", &json!({ "ref": 12 })));
    assert_snapshot!(env.last_answer(&id), @r#"
    ## state
    ref=12
    not_found=false
    gh_unavailable=true
    reason=there is no login for GitHub
    "#);
    let shown = env.coppice(&["pr", "show", &id]).exits(1).transcript();
    assert!(shown.contains("error: there is no login for GitHub"), "{shown}");
    assert_eq!(api.asked().len(), 0);
    // A file that others can read is no place for a token; a private one is.
    let file = env.path("coppice/github-token");
    fs::write(&file, TOKEN).unwrap();
    let mode = |mode| fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let shown = env.coppice(&["pr", "show", &id]).exits(1).transcript();
    assert!(shown.contains("only you can read"), "{shown}");
    mode(0o600);
    env.coppice(&["pr", "show", &id]).succeeds();
    assert_eq!(api.asked().pop().unwrap().token(), Some(TOKEN));
}

#[test]
fn the_login_of_gh_is_asked_for_once() {
    let api = Api::new(vec![found(json!([pull(12)]))]);
    let mut env = world(&api);
    env.unset("GITHUB_TOKEN");
    let runs = env.path("runs");
    // A token for the models of an agent is none for pull requests.
    env.set("GH_TOKEN", "of-an-agent");
    program(&mut env, "gh", &format!("echo \"$@\" $GH_TOKEN >> {}; echo {TOKEN}", runs.display()));
    let id = session(&env);
    env.coppice(&["pr", "show", &id]).succeeds();
    env.coppice(&["pr", "show", &id]).succeeds();
    assert_eq!(api.asked().iter().filter(|asked| asked.token() == Some(TOKEN)).count(), 2);
    assert_eq!(fs::read_to_string(runs).unwrap(), "auth token --hostname 127.0.0.1\n");
}

#[test]
fn no_backend_and_no_event_sees_the_token() {
    let api = Api::new(vec![found(json!([pull(12)]))]);
    let env = world(&api);
    let id = env.create_ready(&steps(&[run("env > env.txt"), call("gh_pr_read", &json!({}))]));
    assert!(env.last_answer(&id).contains("number=12"), "{}", env.last_answer(&id));
    assert_eq!(api.asked().pop().unwrap().token(), Some(TOKEN));
    let seen = fs::read_to_string(env.worktree(&id).join("env.txt")).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains(TOKEN), "{seen}");
    env.coppice(&["pr", "show", &id]).succeeds();
    no_trace(&env, &id);
}

/// That no event, log or file has the token. The daemon has ended then.
#[track_caller]
fn no_trace(env: &TestEnv, id: &str) {
    let told = serde_json::to_string(&env.events(id)).unwrap();
    assert!(!told.contains(TOKEN), "{told}");
    let log = env.coppice(&["daemon", "logs"]).stdout();
    assert!(!log.contains(TOKEN), "{log}");
    env.end_daemon(&[]);
    let kept = holds(&env.path("coppice"), TOKEN);
    assert_eq!(kept, Vec::<std::path::PathBuf>::new(), "no file keeps it");
}

#[test]
fn an_agent_can_neither_push_nor_open_a_pull_request_by_the_command_line() {
    let api = Api::new(Vec::new());
    let env = world(&api);
    env.configure(&format!("[github]\napi_url = \"{}\"\n[sandbox]\nlevel = \"off\"\n", api.address()));
    let id = session(&env);
    let program = env!("CARGO_BIN_EXE_coppice");
    let home = env.path("coppice");
    for act in ["push", "pr create", "pr update --title x", "pr show"] {
        let line = format!("COPPICE_HOME={} {program} {act} {id} > said.txt 2>&1; true", home.display());
        let other = env.create_ready(&run(&line));
        let said = fs::read_to_string(env.worktree(&other).join("said.txt")).unwrap();
        assert!(said.starts_with("error: only a person may do this"), "{act}: {said}");
    }
    assert_eq!(api.asked().len(), 0);
}

#[test]
fn the_context_of_a_pull_request_follows_the_branch_to_its_remote() {
    let env = world(&Api::new(Vec::new()));
    let id = session(&env);
    env.send_ready(&id, &[], &call("gh_pr_context", &json!({})));
    let answer = env.last_answer(&id);
    let state = "resolved_base=main\nbase_resolution=fallback:main\n";
    assert!(answer.starts_with(&format!("## state\n{state}")), "{answer}");
    assert!(
        answer.contains("base_equals_current=false\nahead_count=2\npushed_to_origin=false\ngh_available=true\n"),
        "{answer}"
    );
    assert!(answer.contains("pump.txt | 1 +"), "{answer}");
    env.coppice(&["push", &id]).succeeds();
    env.send_ready(&id, &[], &call("gh_pr_context", &json!({ "base": "gone" })));
    let answer = env.last_answer(&id);
    assert!(
        answer.contains("base_resolution=explicit") && answer.contains("ahead_count=unknown\npushed_to_origin=true"),
        "{answer}"
    );
}

/// A world whose agents may write to GitHub, if a person lets them.
fn writing(api: &Api) -> TestEnv {
    let env = world(api);
    env.configure(&format!(
        "default.posture = \"attended\"\n[github]\napi_url = \"{}\"\n[tools]\ngit_mutations = \"allow\"\n",
        api.address()
    ));
    env
}

/// A pushed session in which an agent makes a call that a person has to let pass; what the person is shown.
fn asks(env: &TestEnv, id: &str, tool: &str, arguments: &Value) -> Value {
    env.coppice(&["send", id, &call(tool, arguments)]).succeeds();
    env.wait_for(id, "approval");
    env.session(id)["approvals"][0].clone()
}

#[test]
fn an_agent_writes_to_github_what_a_person_has_read() {
    let comment = json!({ "html_url": "https://github.com/ada/engine/pull/12#issuecomment-1" });
    let api = Api::new(vec![
        route("POST /repos/ada/engine/pulls ", 201, pull(12)),
        route("PATCH /repos/ada/engine/pulls/12 ", 200, pull(12)),
        route("POST /repos/ada/engine/issues/12/comments ", 201, comment),
        route("GET /repos/ada/engine/pulls/12 ", 200, pull(12)),
        found(json!([pull(12)])),
    ]);
    let env = writing(&api);
    let id = env.create_ready(&say("hello"));
    env.coppice(&["push", &id, "--branch", "fix/pump"]).succeeds();
    let body = (1..=200).map(|line| format!("line {line} of the text")).collect::<Vec<_>>().join("\n");
    let create = json!({ "base": "main", "title": "Fix the pump", "body": body, "draft": true });
    let url = "https://github.com/ada/engine/pull/12";
    for (tool, arguments, title, sent, answer) in [
        (
            "gh_pr_create",
            create,
            "open a draft of a pull request into main: Fix the pump",
            json!({ "base": "main", "head": "fix/pump", "title": "Fix the pump", "body": body, "draft": true }),
            format!("created=true url={url} number=12\n"),
        ),
        (
            "gh_pr_update",
            json!({ "title": "Fix it", "body": body }),
            "",
            json!({ "title": "Fix it", "body": body }),
            format!("updated=true url={url} number=12\n"),
        ),
        (
            "gh_pr_add_comment",
            json!({ "ref": 12, "body": body }),
            "comment on pull request #12",
            json!({ "body": body }),
            format!("posted=true url={url}#issuecomment-1\n"),
        ),
    ] {
        let before = api.asked().len();
        let approval = asks(&env, &id, tool, &arguments);
        assert_eq!(approval["tool"], tool);
        assert!(approval["title"].as_str().unwrap().starts_with(title), "{approval}");
        assert!(approval["preview"].as_str().unwrap().ends_with(&body), "{approval}");
        assert_eq!(api.asked().len(), before, "{tool} waits");
        env.coppice(&["approve", &id]).succeeds();
        env.wait_for(&id, "ready");
        assert_eq!(env.last_answer(&id).trim_end(), answer.trim_end(), "{tool}");
        let asked = api.asked().pop().unwrap();
        assert_eq!((asked.body(), asked.token()), (sent, Some(TOKEN)), "{tool}");
    }
    // A call that a person does not want never gets there.
    let before = api.asked().len();
    asks(&env, &id, "gh_pr_add_comment", &json!({ "body": "no" }));
    env.coppice(&["deny", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(api.asked().len(), before);
    assert!(env.last_answer(&id).starts_with("error: "), "{}", env.last_answer(&id));
    no_trace(&env, &id);
}

#[test]
fn what_github_refuses_an_agent_is_an_envelope_and_the_turn_goes_on() {
    let details = json!({ "message": "Validation Failed", "errors": [{ "message": "A pull request already exists" }] });
    let api = Api::new(vec![
        route("POST /repos/ada/engine/pulls ", 422, details),
        route("GET /repos/ada/engine/pulls/99 ", 404, json!({ "message": "Not Found" })),
    ]);
    let env = writing(&api);
    let id = env.create_ready(&say("hello"));
    let create = json!({ "base": "main", "title": "Fix the pump", "body": "It leaked." });
    for (pushed, tool, arguments, told) in [
        ("no", "gh_pr_create", create.clone(), "created=false reason=validation\n"),
        ("yes", "gh_pr_create", create, "created=false reason=gh_error\n"),
        ("yes", "gh_pr_update", json!({ "ref": "99", "title": "t", "body": "b" }), "updated=false reason=not_found\n"),
        ("yes", "gh_pr_add_comment", json!({ "ref": "99", "body": "b" }), "posted=false reason=not_found\n"),
    ] {
        if pushed == "yes" {
            env.coppice(&["push", &id]).succeeds();
        }
        asks(&env, &id, tool, &arguments);
        env.coppice(&["approve", &id]).succeeds();
        env.wait_for(&id, "ready");
        let answer = env.last_answer(&id);
        assert!(answer.contains(told), "{tool}: {answer}");
    }
    let told = serde_json::to_string(&env.events(&id)).unwrap();
    assert!(told.contains("Validation Failed (A pull request already exists)"), "{told}");
    assert!(told.contains("give the number of a pull request as `ref`, or open one with `gh_pr_create`"), "{told}");
    // What is wrong with a call by itself is said before anybody is asked.
    let before = api.asked().len();
    let empty = json!({ "base": "main", "title": "Fix the pump", "body": " " });
    env.send_ready(&id, &[], &call("gh_pr_create", &empty));
    let answer = env.last_answer(&id);
    assert!(answer.contains("created=false reason=validation\nthe body is empty"), "{answer}");
    let huge = json!({ "ref": "12", "body": "x".repeat(16_385) });
    env.send_ready(&id, &[], &call("gh_pr_add_comment", &huge));
    let answer = env.last_answer(&id);
    assert!(answer.contains("posted=false reason=validation\nthe body has 16385 bytes"), "{answer}");
    assert_eq!(api.asked().len(), before);
    no_trace(&env, &id);
}

#[test]
fn issues_are_read_and_listed_by_agents() {
    let issue = json!({ "number": 7, "title": "It leaks", "body": "Drip.", "state": "open", "comments": 2, "user": { "login": "bob" } });
    let api = Api::new(vec![
        route("GET /repos/ada/engine/issues/7 ", 200, issue.clone()),
        route("GET /repos/ada/engine/issues/7/comments", 200, json!([{ "user": { "login": "cy" }, "body": "me too" }])),
        route("GET /repos/ada/engine/issues?", 200, json!([issue, { "number": 8, "pull_request": {} }])),
    ]);
    let env = world(&api);
    let id = env.create_ready(&call("gh_issue_read", &json!({ "number": 7 })));
    let answer = env.last_answer(&id);
    assert!(answer.contains("comments_total=2\ncomments_shown=1") && answer.contains("me too"), "{answer}");
    env.send_ready(&id, &[], &call("gh_issue_list", &json!({ "labels": ["bug"] })));
    let answer = env.last_answer(&id);
    assert!(answer.contains("count=1\n") && answer.contains("#7\tIt leaks") && !answer.contains("#8"), "{answer}");
    env.send_ready(&id, &[], &call("gh_issue_read", &json!({ "number": 99 })));
    assert!(env.last_answer(&id).contains("not_found=true"), "{}", env.last_answer(&id));
}

/// A program that the daemon finds first.
fn program(env: &mut TestEnv, name: &str, body: &str) {
    let directory = env.path("bin");
    fs::create_dir(&directory).unwrap();
    env.set("PATH", &format!("{}:{}", directory.display(), std::env::var("PATH").unwrap()));
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// The files below a directory that hold a text.
fn holds(directory: &std::path::Path, text: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(holds(&path, text));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            found.extend(bytes.windows(text.len()).any(|part| part == text.as_bytes()).then_some(path));
        }
    }
    found
}
