//! A commit hook stops a merge, the agent fixes what it reports, and the daemon merges again: within bounds, and never twice.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::kill::{CRASH, EFFECTS, assert_history};
use crate::merge::{hook, husky};
use crate::script::{ask, say, steps, wait_for_file, write};

/// A check that passes once this file is in the commit.
const WANTS_FILE: &str = "test -f fixed.txt || { echo 'fixed.txt is missing' >&2; exit 1; }";

const THEN: &str = "@then";

/// A session with work, whose agent does these turns once it is asked to fix something.
fn working(env: &TestEnv, turns: &[String]) -> String {
    let mut script = vec![write("a.txt", "a"), say("done")];
    for turn in turns {
        script.extend([THEN.to_owned(), turn.clone()]);
    }
    env.create_ready(&steps(&script))
}

fn merged(env: &TestEnv) -> usize {
    env.git(&["log", "--format=%s", "main"]).lines().count() - 1
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// What was said, without the short names of commits.
fn without_commits(text: &str) -> String {
    let is_commit = |word: &str| word.len() == 10 && word.chars().all(|c| c.is_ascii_hexdigit());
    let word = |word: &str| if is_commit(word) { "[COMMIT]".to_owned() } else { word.to_owned() };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_failing_hook_is_fixed_in_one_turn_and_merged() {
    let env = TestEnv::new();
    hook(&env, ".git/hooks/pre-commit", WANTS_FILE);
    let id = working(&env, &[steps(&[write("fixed.txt", "x"), say("fixed")])]);
    let told = env.coppice(&["merge", &id, "--fix-hooks"]).transcript();
    assert_snapshot!(without_commits(&told), @r"
    exit: 0
    -- stderr
    the hook `pre-commit` stopped the merge; the agent is to fix it, round 1 of 2
        fixed.txt is missing
        (exit status 1)
    · Write(fixed.txt)
    committed [COMMIT] for turn 2: 1 file, +1 -0
    [ID1] merged into main  +2 -0
    ");
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "a.txt\nfixed.txt");
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["hook_fix"]), (&json!("merged"), &Value::Null));
    let events = env.events(&id);
    let prompt = of_kind(&events, "prompt_queued")[1];
    assert_eq!(prompt["author"], "coppice");
    let text = prompt["text"].as_str().unwrap();
    assert!(text.contains("`pre-commit`") && text.contains("\n> fixed.txt is missing\n"), "{text}");
    assert_eq!(of_kind(&events, "hook_fix_started").len(), 1);
    assert_history(&events);
}

#[test]
fn a_hook_that_never_passes_stops_after_two_turns() {
    let env = TestEnv::new();
    hook(&env, ".git/hooks/pre-commit", "echo bad; exit 1");
    let turns = ["b.txt", "c.txt", "d.txt"].map(|file| steps(&[write(file, "x"), say("tried")]));
    let id = working(&env, &turns);
    let failed = env.coppice(&["merge", &id, "--no-ff", "--fix-hooks"]);
    assert_snapshot!(without_commits(&failed.transcript()), @r"
    exit: 1
    -- stderr
    the hook `pre-commit` stopped the merge; the agent is to fix it, round 1 of 2
        bad
        (exit status 1)
    · Write(b.txt)
    committed [COMMIT] for turn 2: 1 file, +1 -0
    the hook `pre-commit` stopped the merge; the agent is to fix it, round 2 of 2
        bad
        (exit status 1)
    · Write(c.txt)
    committed [COMMIT] for turn 3: 1 file, +1 -0
    error: not merged: the hook `pre-commit` stopped the merge
      caused by:
        bad
        (exit status 1)

    hint: the agent has tried 2 times: fix what the hook reports, then `coppice merge [ID1]`; or merge without hooks: `coppice merge [ID1] --no-verify`
    ");
    assert_eq!((env.status(&id), merged(&env)), ("ready".into(), 0));
    assert!(!env.worktree(&id).join("d.txt").exists());
    let events = env.events(&id);
    let rounds: Vec<_> = of_kind(&events, "hook_fix_started").into_iter().map(|event| event["round"].clone()).collect();
    assert_eq!(rounds, [json!(1), json!(2)]);
    assert_eq!(of_kind(&events, "hook_fix_stopped").len(), 1);
    assert_history(&events);
}

#[test]
fn a_turn_that_changes_nothing_fails_or_asks_stops_the_merge() {
    for (turn, code, status, reason) in [
        (say("no idea"), 1, "ready", "the agent changed nothing that could make the hook `pre-commit` pass"),
        ("@fail it broke".to_owned(), 1, "failed", "the turn that was to fix the hook `pre-commit` failed"),
        (ask("How?", &["so", "not"]), 3, "asking", "the agent has a question about the hook `pre-commit`"),
    ] {
        let env = TestEnv::new();
        hook(&env, ".git/hooks/pre-commit", WANTS_FILE);
        let id = working(&env, &[turn]);
        let said = env.coppice(&["merge", &id, "--fix-hooks"]).exits(code).stderr;
        assert!(said.contains(reason), "{said}");
        assert_eq!((env.status(&id), merged(&env)), (status.into(), 0));
        let stopped = env.wait_for_event(&id, "hook_fix_stopped", 0);
        assert_eq!(stopped["reason"], format!("not merged: {reason}"));
    }
}

#[test]
fn a_prompt_of_the_persons_own_or_a_stop_ends_it() {
    for (act, reason, status) in [
        (vec!["send", "ID", "--now", "PROMPT"], "another prompt was sent", "ready"),
        (vec!["stop", "ID"], "was stopped", "interrupted"),
    ] {
        let env = TestEnv::new();
        hook(&env, ".git/hooks/pre-commit", WANTS_FILE);
        let id = working(&env, &[steps(&[wait_for_file(&env.path("never")), say("fixed")])]);
        let merging = env.start(&["merge", &id, "--fix-hooks"]);
        let asked = env.wait_for_event(&id, "hook_fix_started", 0)["seq"].as_u64().unwrap();
        env.wait_for_event(&id, "turn_started", asked);
        assert_eq!(env.session(&id)["hook_fix"], json!({"hook": "pre-commit", "round": 1, "rounds": 2}));
        // The hook would pass now.
        let prompt = steps(&[write("fixed.txt", "x"), say("done")]);
        let act: Vec<_> = act.iter().map(|word| word.replace("ID", &id).replace("PROMPT", &prompt)).collect();
        env.coppice(&act.iter().map(String::as_str).collect::<Vec<_>>()).succeeds();
        let (code, said) = merging.end();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(reason), "{said}");
        env.wait_for(&id, status);
        assert_eq!((&env.session(&id)["hook_fix"], merged(&env)), (&Value::Null, 0), "{reason}");
    }
}

#[test]
fn a_hook_of_the_repository_is_fixed_but_not_taken_away() {
    let env = TestEnv::new();
    husky(&env, WANTS_FILE);
    let id = working(&env, &[steps(&[write("fixed.txt", "x"), say("fixed")])]);
    let session = env.json(&["merge", &id, "--fix-hooks"]);
    assert_eq!((&session["status"], merged(&env)), (&json!("merged"), 2));

    let env = TestEnv::new();
    husky(&env, WANTS_FILE);
    let id = working(&env, &[steps(&[write(".husky/pre-commit", "exit 0"), say("fixed")])]);
    let said = env.coppice(&["merge", &id, "--fix-hooks"]).exits(1).stderr;
    assert!(said.contains("the session changes the commit hook `.husky/pre-commit`"), "{said}");
    assert!(said.contains(&format!("look with `coppice diff {id}`, then `coppice merge {id}`")), "{said}");
    assert_eq!((env.status(&id), merged(&env)), ("ready".into(), 1));
}

#[test]
fn what_the_hooks_change_after_a_fix_still_needs_consent() {
    let env = TestEnv::new();
    hook(&env, ".git/hooks/pre-commit", &format!("{WANTS_FILE}\necho y > added.txt; git add added.txt"));
    let id = working(&env, &[steps(&[write("fixed.txt", "x"), say("fixed")])]);
    let said = env.coppice(&["merge", &id, "--fix-hooks"]).exits(1).stderr;
    assert!(said.contains("your commit hooks changed the reviewed work: added `added.txt`"), "{said}");
    assert!(said.contains(&format!("hint: `coppice merge {id} --squash` shows these changes")), "{said}");
    assert_eq!((env.status(&id), merged(&env)), ("ready".into(), 0));
}

#[test]
fn a_message_hook_may_be_satisfied_by_another_summary() {
    let env = TestEnv::new();
    hook(&env, ".git/hooks/commit-msg", "grep -q PROJ-1 \"$1\" || { echo 'name the ticket'; exit 1; }");
    let id = working(&env, &[steps(&["@summary named || Does PROJ-1".to_owned(), say("named")])]);
    env.coppice(&["merge", &id, "--fix-hooks"]).succeeds();
    assert!(env.git(&["log", "-1", "--format=%B", "main"]).contains("PROJ-1"));
}

#[test]
fn a_daemon_that_dies_while_a_hook_is_fixed_merges_nothing_twice_lane_1() {
    lane(1);
}

#[test]
fn a_daemon_that_dies_while_a_hook_is_fixed_merges_nothing_twice_lane_2() {
    lane(2);
}

#[test]
fn a_daemon_that_dies_while_a_hook_is_fixed_merges_nothing_twice_lane_3() {
    lane(3);
}

fn lane(first: usize) {
    for effect in (first..EFFECTS).step_by(3) {
        if survives(effect) {
            assert!(effect > 3, "the daemon did not end itself at all");
            return;
        }
    }
    panic!("a merge with a fix has more than {EFFECTS} effects");
}

/// Merges with a daemon that dies at that effect, and then as a person would go on; whether the daemon lived.
fn survives(effect: usize) -> bool {
    let mut env = TestEnv::new();
    // An agent without a script writes a note: that is the fix.
    hook(&env, ".git/hooks/pre-commit", "test -d notes || { echo 'no notes'; exit 1; }");
    let id = env.create_ready(&write("a.txt", "a"));
    env.kill_daemon();
    env.set(CRASH, &effect.to_string());
    env.coppice(&["daemon", "start"]).succeeds();
    env.unset(CRASH);
    let marked = env.daemon_pid();
    // The daemon may die before it can answer, and while the client follows.
    let told = env.coppice(&["merge", &id, "--fix-hooks"]).transcript();
    let survived = marked.is_some() && env.daemon_pid() == marked;
    if survived {
        assert_eq!(env.status(&id), "merged", "{told}");
    } else {
        // Nothing goes on by itself after the restart.
        let session = env.session(&id);
        assert_eq!(session["hook_fix"], Value::Null, "at effect {effect}");
        let status = session["status"].as_str().unwrap();
        assert!(["ready", "interrupted", "merged"].contains(&status), "at effect {effect}: {status}");
        let events = env.events(&id);
        let (started, stopped) =
            (of_kind(&events, "hook_fix_started").len(), of_kind(&events, "hook_fix_stopped").len());
        assert!(stopped == started || status == "merged", "at effect {effect}: {events:#?}");
    }
    for _ in 0..3 {
        match env.status(&id).as_str() {
            "merged" => break,
            "interrupted" => {
                env.coppice(&["resume", &id]).succeeds();
                env.wait_for(&id, "ready");
            }
            _ => drop(env.coppice(&["merge", &id, "--fix-hooks"]).transcript()),
        }
    }
    assert_eq!((env.status(&id), merged(&env)), ("merged".into(), 1), "at effect {effect}: {told}");
    assert_history(&env.events(&id));
    survived
}
