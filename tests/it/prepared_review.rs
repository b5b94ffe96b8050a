//! A review that a model prepares: what it finds becomes drafts of the person's, and nothing of it goes further by itself.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http;
use crate::script::{say, steps, write};

/// A file in the directory of a question; the model waits until it is there.
const GO: &str = "@wait ../go";

/// A world whose agent answers questions on the side by this script.
fn world(settings: &str, aside: &str) -> TestEnv {
    let env = TestEnv::new();
    let command = json!([
        env!("CARGO_BIN_EXE_coppice"),
        "demo-agent",
        "--tally",
        env.path("tally").to_str().unwrap(),
        "--aside",
        aside
    ]);
    // The tally lies beside the agents of all sessions.
    let sandbox = "[sandbox]\nlevel = \"off\"\n";
    env.configure(&format!("{settings}\n{sandbox}[backends.counted]\ntransport = \"acp\"\ncommand = {command}\n"));
    env
}

/// A script that says this.
fn says(answer: &str) -> String {
    format!("@answer <<END\n{answer}\nEND")
}

/// A session that changed two files, and removed one.
fn changed(env: &TestEnv) -> String {
    let script = steps(&[
        "@write b.txt <<END\none\ntwo\nEND".to_owned(),
        write("a.txt", "three"),
        "@run rm src/main.rs".to_owned(),
        say("done"),
    ]);
    let id = env.create_with(&["--model", "counted"], &script);
    env.wait_for(&id, "ready");
    id
}

fn review(env: &TestEnv, id: &str) -> Value {
    env.json(&["review", id])
}

/// Each comment as `number path:line text`, with a mark on what a model wrote and on what was sent.
fn comments(env: &TestEnv, id: &str) -> Vec<String> {
    let review = review(env, id);
    let comments = review["comments"].as_array().unwrap().iter().map(|comment| {
        let suggested = if comment["suggested"] == true { " suggested" } else { "" };
        let sent = if comment["sent_at"].is_i64() { " sent" } else { "" };
        let text = comment["text"].as_str().unwrap();
        format!("{} {}:{} {text}{suggested}{sent}", comment["id"], comment["path"].as_str().unwrap(), comment["line"])
    });
    comments.collect()
}

fn asides(env: &TestEnv) -> usize {
    let text = fs::read_to_string(env.path("tally")).unwrap_or_default();
    text.lines().filter(|line| *line == "aside").count()
}

const ANSWER: &str =
    "- `b.txt:2`: say it in words\na.txt:1-9: @answer dealt with\nb.txt:9: beyond the end\n\nGood, but **late**.";

#[test]
fn findings_become_drafts_that_the_person_sends() {
    let env = world("", &says(ANSWER));
    let id = changed(&env);
    env.coppice(&["comment", &id, "b.txt:1", "mine"]).succeeds();
    assert_snapshot!(env.coppice(&["review", &id, "--focus", "wording"]).transcript(), @r"
    exit: 0
    -- stdout
    1  b.txt:1  draft
       > one
       mine
    2  b.txt:2  suggested
       > two
       say it in words
    3  a.txt:1  suggested
       > three
       @answer dealt with
    prepared: 2 findings about wording
       b.txt:9: beyond the end

       Good, but **late**.
    -- stderr
    a model reads the changes; this can take minutes, Ctrl+C gives it up
    `coppice review [ID1] --send` sends 3 drafts
    ");
    let shown = review(&env, &id);
    assert_eq!(shown["comments"][1]["quote"], "two");
    assert_eq!((&shown["prepared"]["focus"], &shown["prepared"]["findings"]), (&json!("wording"), &json!(2)));
    assert_eq!(asides(&env), 1);
    assert_eq!(env.kinds(&id).iter().filter(|kind| *kind == "turn_started").count(), 1, "nothing is sent");

    // What a person made their own stays, and so does what is theirs; the rest is replaced.
    env.coppice(&["comment", &id, "--edit", "2", "say it in fewer words"]).succeeds();
    env.kill_daemon();
    let again = env.json(&["review", &id, "--focus"]);
    assert_eq!(again["prepared"]["focus"], Value::Null);
    assert_eq!(
        comments(&env, &id),
        [
            "1 b.txt:1 mine",
            "2 b.txt:2 say it in fewer words",
            "4 b.txt:2 say it in words suggested",
            "5 a.txt:1 @answer dealt with suggested",
        ]
    );
    env.coppice(&["review", &id, "--drop", "4"]).succeeds();
    env.coppice(&["review", &id, "--send"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "dealt with");
    assert_eq!(
        comments(&env, &id),
        ["1 b.txt:1 mine sent", "2 b.txt:2 say it in fewer words sent", "5 a.txt:1 @answer dealt with suggested sent",]
    );
}

#[test]
fn a_hostile_answer_stays_within_bounds() {
    let flood = "b.txt:1: x\n".repeat(10_000);
    let answer = format!(
        "../../etc/passwd:1: outside\n/etc/passwd:1: outside\nsrc/main.rs:1: it is gone\nREADME.md:1: not changed\n\
         .env:1: a secret\na.txt:2: beyond\na.txt:0: before\na.txt:1: \u{1b}]0;owned\u{7}\u{202e}red\n{flood}"
    );
    let env = world("", &says(&answer));
    let script = steps(&[
        "@write .gitignore x".to_owned(),
        write(".env", "TOKEN=1"),
        write("b.txt", "one"),
        write("a.txt", "two"),
        say("done"),
    ]);
    let id = env.create_with(&["--model", "counted"], &script);
    env.wait_for(&id, "ready");
    let seen = env.json(&["review", &id, "--focus"]);
    let found = seen["comments"].as_array().unwrap();
    assert_eq!((found.len(), &found[0]["text"], &found[0]["path"]), (50, &json!("]0;ownedred"), &json!("a.txt")));
    assert!(found[1..].iter().all(|comment| comment["path"] == "b.txt" && comment["quote"] == "one"));
    let text = seen["prepared"]["text"].as_str().unwrap();
    assert!(text.starts_with("../../etc/passwd:1: outside\n") && text.contains(".env:1: a secret"), "{text}");
    assert!(text.ends_with("[9951 more findings are left out]") && !text.contains("TOKEN"), "{text}");
}

#[test]
fn a_review_that_cannot_be_prepared_says_what_to_do() {
    let env = world("", "@invalid");
    let id = env.create_with(&["--model", "counted"], &say("nothing to do"));
    env.wait_for(&id, "ready");
    assert_snapshot!(env.coppice(&["review", &id, "--focus"]).transcript(), @r#"
    exit: 1
    -- stderr
    a model reads the changes; this can take minutes, Ctrl+C gives it up
    error: session `[ID1]` has changed nothing: there is nothing to review

    hint: `coppice send [ID1] "…"` gives it work
    "#);
    let long = env.coppice(&["review", &id, "--focus", &"é".repeat(2_001)]).exits(2);
    assert!(long.stderr.contains("the focus of a review has at most 2000 characters"), "{}", long.stderr);
    assert_eq!(asides(&env), 0);

    env.coppice(&["send", &id, &steps(&[write("a.txt", "one"), say("done")])]).succeeds();
    env.wait_for(&id, "ready");
    let refused = env.coppice(&["review", &id, "--focus"]).exits(1).stderr;
    assert!(refused.contains("error: the review was not prepared: the backend's response was refused: "), "{refused}");
    assert!(refused.contains("hint: try again with `coppice review"), "{refused}");
    assert_eq!(review(&env, &id)["prepared"], Value::Null);
    env.coppice(&["config", "set", "workflow.review_model", "nobody"]).succeeds();
    assert_snapshot!(env.coppice(&["review", &id, "--focus"]).transcript(), @r"
    exit: 2
    -- stderr
    a model reads the changes; this can take minutes, Ctrl+C gives it up
    error: no backend is called `nobody`; known are claude, codex, gemini, counted, forgetful, missing, demo

    hint: `coppice models` shows what can be used
    ");
    env.coppice(&["config", "set", "workflow.review_model", "missing"]).succeeds();
    let missing = env.coppice(&["review", &id, "--focus"]).exits(1).stderr;
    assert!(missing.contains("backend `missing` is not installed") && missing.contains("hint: "), "{missing}");
    assert_eq!(review(&env, &id)["prepared"], Value::Null);
    env.coppice(&["rm", &id]).succeeds();
    let gone = env.coppice(&["review", &id, "--focus"]).transcript();
    assert!(gone.contains(" was removed"), "{gone}");
}

#[test]
fn whoever_goes_away_takes_the_question_back() {
    let env = world("", &format!("{GO}\n{}", says("a.txt:1: too late")));
    let id = changed(&env);
    let waiting = env.start(&["review", &id, "--focus"]);
    env.wait_for_session(&id, |_| asides(&env) == 1);
    drop(waiting);
    env.wait_for_session(&id, |_| fs::read_dir(env.path("coppice/data/utility")).unwrap().count() == 0);
    fs::write(env.path("coppice/data/go"), "").unwrap();
    assert_eq!(comments(&env, &id), Vec::<String>::new());
}

#[test]
fn a_model_of_its_own_reviews_and_agents_cannot_ask_for_it() {
    let env = world("workflow.review_model = \"counted\"", &says("All is well."));
    let id = env.create_ready(&steps(&[write("a.txt", "one"), say("done")]));
    let shown = env.coppice(&["review", &id, "--focus"]).stdout();
    assert!(shown.contains("0 findings") && shown.contains("All is well."), "{shown}");
    assert_eq!(asides(&env), 1);
    let path = format!("/v1/sessions/{id}/review/prepare");
    let refused = http::with_body(&env, "POST", &path, &json!({ "focus": "x", "model": "y" }));
    assert!(refused.contains("unknown field `model`"), "{refused}");

    let (home, program) = (env.path("coppice"), env!("CARGO_BIN_EXE_coppice"));
    let ask = format!("COPPICE_HOME={} {program} review {id} --focus > said.txt 2>&1; true", home.display());
    let agent = env.create_with(&["--model", "counted"], &steps(&[format!("@run {ask}"), say("done")]));
    env.wait_for(&agent, "ready");
    let said = fs::read_to_string(env.worktree(&agent).join("said.txt")).unwrap();
    assert!(said.contains("only a person may do this"), "{said}");
    assert_eq!(asides(&env), 1);
}
