//! A person's comments on a session's changes: kept, changed, and sent as one prompt exactly once.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http;
use crate::kill::assert_history;
use crate::script::{say, steps, write};

/// Debug builds of the daemon end themselves right before the effect with this number.
const CRASH: &str = "COPPICE_CRASH_AT";

/// A session that changed two files.
fn changed(env: &TestEnv) -> String {
    env.create_ready(&steps(&[write("b.txt", "one"), write("a.txt", "two"), say("done")]))
}

#[track_caller]
fn comment(env: &TestEnv, id: &str, place: &str, text: &str) {
    env.coppice(&["comment", id, place, text]).succeeds();
}

#[track_caller]
fn review(env: &TestEnv, id: &str) -> Value {
    env.json(&["review", id])
}

/// Each comment's number, and whether it was sent.
fn marks(env: &TestEnv, id: &str) -> Vec<(u64, bool)> {
    let review = review(env, id);
    let comments = review["comments"].as_array().unwrap().iter();
    comments.map(|comment| (comment["id"].as_u64().unwrap(), comment["sent_at"].is_i64())).collect()
}

/// The prompts that carried comments.
fn sent(env: &TestEnv, id: &str) -> Vec<String> {
    let events = env.events(id).into_iter().filter(|event| event["type"] == "prompt_queued");
    let texts = events.map(|event| event["text"].as_str().unwrap().to_owned());
    texts.filter(|text| text.contains("on your changes.")).collect()
}

/// The body of a reply by another method than `GET`.
#[track_caller]
fn ask(env: &TestEnv, method: &str, path: &str, body: &Value) -> Value {
    let reply = http::with_body(env, method, path, body);
    let (_, body) = reply.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{reply}"));
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{reply}"))
}

#[test]
fn a_file_is_reviewed_whatever_its_name_is() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[crate::script::run("printf x > \"$(printf 'a\\nb.txt')\""), say("done")]));
    comment(&env, &id, "a\nb.txt:1", "Why?");
    env.coppice(&["review", &id, "--looked-at", "a\nb.txt"]).succeeds();
    env.coppice(&["review", &id, "--send"]).succeeds();
    env.wait_for(&id, "ready");
    let [sent] = sent(&env, &id).try_into().unwrap();
    assert!(sent.contains("\na\\nb.txt:1\n"), "{sent}");
    let stat = env.coppice(&["diff", &id, "--stat"]).stdout();
    assert!(stat.starts_with("A  a\u{fffd}b.txt "), "{stat}");
}

#[test]
fn comments_are_kept_and_sent_as_one_prompt() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[
        write("b.txt", "one"),
        write("a.txt", "two"),
        "@write c.txt <<END\nthree\nfour\nEND".into(),
        say("done"),
    ]));
    comment(&env, &id, "b.txt:1", "Say it in words.");
    comment(&env, &id, "a.txt:1", "@answer dealt with");
    comment(&env, &id, "c.txt:2", "And what comes after?");
    assert_snapshot!(env.coppice(&["comment", &id, "a.txt:9", "Where?"]).transcript(), @r"
    exit: 2
    -- stderr
    error: the comment cannot be taken: `a.txt` has 1 line
    ");
    comment(&env, &id, "a.txt:1", "Never mind.");
    env.coppice(&["review", &id, "--drop", "4"]).succeeds();
    env.kill_daemon();
    assert_snapshot!(env.coppice(&["review", &id]).transcript(), @r"
    exit: 0
    -- stdout
    1  b.txt:1  draft
       > one
       Say it in words.
    2  a.txt:1  draft
       > two
       @answer dealt with
    3  c.txt:2  draft
       > four
       And what comes after?
    ");
    assert_eq!(marks(&env, &id), [(1, false), (2, false), (3, false)]);

    env.coppice(&["review", &id, "--send"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "dealt with");
    let [prompt] = sent(&env, &id).try_into().unwrap();
    assert_snapshot!(prompt, @r"
    3 comments on your changes. Lines may have moved since; what is quoted says which one is meant.

    a.txt:1
    > two
    @answer dealt with

    b.txt:1
    > one
    Say it in words.

    c.txt:2
    > four
    And what comes after?

    Deal with each of them, or say in `answer` why not.
    ");
    assert_eq!(marks(&env, &id), [(1, true), (2, true), (3, true)]);
    assert_snapshot!(env.coppice(&["review", &id, "--send"]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` has no comments that wait to be sent

    hint: make one with `coppice comment [ID1] PATH:LINE TEXT`
    ");

    comment(&env, &id, "b.txt:1", "One more.");
    env.coppice(&["review", &id, "--send"]).succeeds();
    env.wait_for(&id, "ready");
    assert!(sent(&env, &id)[1].starts_with("A comment on your changes."), "{:?}", sent(&env, &id));
}

#[test]
fn drafts_are_worded_differently_and_files_are_looked_at() {
    let env = TestEnv::new();
    let id = changed(&env);
    let path = format!("/v1/sessions/{id}/review");
    let added = json!({ "path": "a.txt", "line": 1, "side": "old", "text": "x", "quote": "before" });
    let added = ask(&env, "POST", &format!("{path}/comments"), &added);
    let draft = &added["comments"][0];
    assert_eq!(
        (&draft["id"], &draft["side"], &draft["quote"], &draft["sent_at"]),
        (&json!(1), &json!("old"), &json!("before"), &Value::Null)
    );
    let edited = ask(&env, "PUT", &format!("{path}/comments/1"), &json!({ "text": "better" }));
    assert_eq!(edited["comments"][0]["text"], "better");
    let looked = |file: &str, digest: Value| {
        ask(&env, "PUT", &format!("{path}/files"), &json!({ "path": file, "digest": digest }))["files"].clone()
    };
    assert_eq!(looked("b.txt", json!("1f")), json!([{ "path": "b.txt", "digest": "1f" }]));
    looked("a.txt", json!("2e"));
    assert_eq!(looked("b.txt", Value::Null), json!([{ "path": "a.txt", "digest": "2e" }]));
    env.kill_daemon();
    assert_eq!(review(&env, &id)["files"], json!([{ "path": "a.txt", "digest": "2e" }]));

    env.coppice(&["daemon", "start"]).succeeds();
    for (method, below, body, expected) in [
        ("PUT", "comments/7", json!({ "text": "x" }), format!("session `{id}` has no comment 7")),
        ("DELETE", "comments/7", json!({}), format!("session `{id}` has no comment 7")),
        ("DELETE", "comments/x", json!({}), "`x` is not the number of a comment".to_owned()),
        ("PUT", "comments/1", json!({ "text": " " }), "the comment cannot be taken: it says nothing".to_owned()),
        (
            "POST",
            "comments",
            json!({ "path": "a.txt", "line": 0, "text": "x" }),
            "the comment cannot be taken: lines are counted from 1".to_owned(),
        ),
    ] {
        let refused = ask(&env, method, &format!("{path}/{below}"), &body);
        assert_eq!(refused["error"]["message"], expected, "{refused:#}");
    }
    assert_eq!(marks(&env, &id), [(1, false)]);
}

#[test]
fn what_does_not_change_the_comments_leaves_them_alone() {
    let env = TestEnv::new();
    let id = changed(&env);
    comment(&env, &id, "b.txt:1", "Mind this.");
    env.write("other.txt", "base\n");
    env.commit("meanwhile");
    env.coppice(&["rebase", &id]).succeeds();
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(marks(&env, &id), [(1, false)]);
    env.coppice(&["rm", &id]).succeeds();
    env.wait_for_event(&id, "saved", 0);
    let refused = ask(&env, "DELETE", &format!("/v1/sessions/{id}/review/comments/1"), &json!({}));
    assert_eq!(refused["error"]["message"], format!("session `{id}` was removed"));
    env.coppice(&["restore", &id]).succeeds();
    assert_eq!(marks(&env, &id), [(1, false)]);
}

#[test]
fn a_comment_needs_a_place_among_the_changes() {
    let env = TestEnv::new();
    let id = changed(&env);
    assert_snapshot!(env.coppice(&["comment", &id, "src/main.rs:1", "x"]).transcript(), @r"
    exit: 5
    -- stderr
    error: `src/main.rs` is not among the changed files

    hint: `coppice diff [ID1] --stat` lists them
    ");
    assert_snapshot!(env.coppice(&["comment", &id, "b.txt", "x"]).transcript(), @r"
    exit: 2
    -- stderr
    error: invalid value 'b.txt' for '[PATH:LINE]': expected PATH:LINE

    For more information, try '--help'.
    ");
    assert_snapshot!(env.coppice(&["review", &id, "--drop", "1"]).transcript(), @r"
    exit: 5
    -- stderr
    error: session `[ID1]` has no comment 1

    hint: `coppice review [ID1]` lists the comments
    ");
    assert_snapshot!(env.coppice(&["review", &id]).transcript(), @r"
    exit: 0
    -- stderr
    no comments
    ");
}

#[test]
fn a_daemon_that_dies_while_comments_are_sent_sends_them_once() {
    // Right before the one write, right after it, and at the first steps of the turn.
    for (effect, is_accepted) in [(1, false), (2, true), (3, true), (5, true)] {
        let mut env = TestEnv::new();
        let id = changed(&env);
        comment(&env, &id, "b.txt:1", "@answer dealt with");
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        env.coppice(&["daemon", "start"]).succeeds();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        // The daemon may die before it can answer.
        env.coppice(&["review", &id, "--send"]).transcript();
        // Whoever asks next finds a sound daemon in its place.
        env.coppice(&["wait", &id, "--timeout", "30s"]).transcript();
        assert_eq!(marks(&env, &id), [(1, is_accepted)], "at effect {effect}");
        assert_ne!(env.daemon_pid(), marked, "the daemon did not end itself at effect {effect}");
        assert_eq!(sent(&env, &id).len(), usize::from(is_accepted), "at effect {effect}");

        if is_accepted {
            let refused = env.coppice(&["review", &id, "--send"]).exits(1);
            assert!(refused.stderr.contains("has no comments that wait to be sent"), "{}", refused.stderr);
            env.coppice(&["resume", &id]).transcript();
        } else {
            env.coppice(&["review", &id, "--send"]).succeeds();
        }
        env.wait_for(&id, "ready");
        assert_eq!(env.last_answer(&id), "dealt with", "at effect {effect}");
        assert_history(&env.events(&id));
    }
}

#[test]
fn files_are_marked_as_looked_at_until_they_change() {
    let env = TestEnv::new();
    let id = changed(&env);
    let looked = |arguments: &[&str]| env.coppice(&[&["review", &id], arguments].concat()).stdout();
    assert_eq!(looked(&["--looked-at", "a.txt", "b.txt"]), "looked at  a.txt\nlooked at  b.txt\n");
    assert_eq!(looked(&["--not-looked-at", "a.txt"]), "looked at  b.txt\n");
    assert_snapshot!(env.coppice(&["review", &id, "--looked-at", "a.txt", "none.rs"]).transcript(), @r"
    exit: 5
    -- stderr
    error: `none.rs` is not among the changed files

    hint: `coppice diff [ID1] --stat` lists them
    ");
    assert_eq!(looked(&[]), "looked at  b.txt\n", "all or none");
}

#[test]
fn a_draft_is_said_in_other_words() {
    let env = TestEnv::new();
    let id = changed(&env);
    comment(&env, &id, "b.txt:1", "Say it.");
    env.coppice(&["comment", &id, "--edit", "1", "Say it in words."]).succeeds();
    assert_eq!(review(&env, &id)["comments"][0]["text"], "Say it in words.");
    assert_snapshot!(env.coppice(&["comment", &id, "--edit", "9", "x"]).transcript(), @r"
    exit: 5
    -- stderr
    error: session `[ID1]` has no comment 9

    hint: `coppice review [ID1]` lists the comments
    ");
    assert_snapshot!(env.coppice(&["comment", &id, "--edit", "one", "x"]).transcript(), @r"
    exit: 2
    -- stderr
    error: `one` is not the number of a comment
    ");
    let both = env.coppice(&["comment", &id, "b.txt:1", "--edit", "1", "x"]).exits(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
}
