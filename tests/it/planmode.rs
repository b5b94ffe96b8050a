//! Plan mode: nothing changes but the plan, a person decides about it, and what they decided survives everything.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http;
use crate::plan::{count, decision, open};
use crate::script::{call, hang, run, say, steps, wait_for_file};
use crate::workflow;

/// A daemon whose sessions begin in plan mode.
fn planning() -> TestEnv {
    let env = TestEnv::new();
    env.configure("[default]\nposture = \"plan\"");
    env
}

/// Where a session writes its plan.
fn plan_file(env: &TestEnv, id: &str) -> PathBuf {
    let tree = env.worktree(id);
    let project = tree.parent().unwrap();
    let data = project.parent().unwrap().parent().unwrap();
    let branch = env.session(id)["branch"].as_str().unwrap().to_owned();
    let slug = branch.rsplit('/').next().unwrap();
    data.join("plans").join(project.file_name().unwrap()).join(format!("{slug}-{id}")).join(format!("{slug}-{id}.md"))
}

/// A plan whose carrying out can be seen: the scripted agent does what a line of it says.
const PLAN: &str = "# First this\n\n@write done.txt yes";

/// Writes a session's plan, as its agent does.
#[track_caller]
fn write(env: &TestEnv, id: &str, plan: &str) {
    let file = plan_file(env, id);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, plan).unwrap();
}

/// Shows the plan.
fn exit() -> String {
    steps(&[call("exit_plan_mode", &json!({})), say("over")])
}

/// A session that waits for a decision about its plan.
#[track_caller]
fn shown(env: &TestEnv, plan: &str) -> String {
    let id = env.create_ready(&say("hello"));
    write(env, &id, plan);
    env.coppice(&["send", &id, &exit()]).succeeds();
    env.wait_for(&id, "asking");
    id
}

#[track_caller]
fn send(env: &TestEnv, id: &str, body: &Value) {
    let reply = http::post(env, &format!("/v1/sessions/{id}/prompts"), body);
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

/// What a session has that asked for no posture: it works alone where the kernel holds it.
fn unasked(session: &Value) -> &'static str {
    if session["sandbox"]["enforced"] == true { "unattended" } else { "attended" }
}

#[test]
fn the_way_out_is_there_only_in_plan_mode() {
    let env = planning();
    let id = env.create_ready("@tools");
    assert!(env.last_answer(&id).contains("exit_plan_mode"), "{}", env.last_answer(&id));
    send(
        &env,
        &id,
        &json!({ "text": steps(&["@tools".to_owned(), call("exit_plan_mode", &json!({}))]), "posture": "attended" }),
    );
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let (tools, refused) = answer.split_once("\n\n").unwrap();
    assert!(!tools.contains("exit_plan_mode") && refused.contains("exit_plan_mode"), "{answer}");
    assert_eq!(count(&env, &id, "question_asked"), 0);
}

#[test]
fn without_a_plan_the_call_is_denied_with_a_notice() {
    let env = planning();
    let id = env.create_ready(&call("exit_plan_mode", &json!({})));
    let file = plan_file(&env, &id);
    let missing = |answer: String| answer.contains(&format!("the plan file `{}` is missing or empty", file.display()));
    assert!(missing(env.last_answer(&id)), "{}", env.last_answer(&id));
    write(&env, &id, " \n");
    env.send_ready(&id, &[], &call("exit_plan_mode", &json!({})));
    assert!(missing(env.last_answer(&id)), "{}", env.last_answer(&id));
    // A link in its place leads nowhere.
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(env.repo().join("README.md"), &file).unwrap();
    env.send_ready(&id, &[], &call("exit_plan_mode", &json!({})));
    assert!(missing(env.last_answer(&id)), "{}", env.last_answer(&id));
    let notices = env.events(&id).into_iter().filter(|event| event["type"] == "warning");
    let notices: Vec<_> = notices.map(|event| event["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(notices.iter().filter(|text| text.contains("without a plan")).count(), 3, "{notices:?}");
    assert_eq!((count(&env, &id, "question_asked"), env.session(&id)["posture"].clone()), (0, json!("plan")));
}

#[test]
fn an_approved_plan_is_carried_out_by_a_turn_of_its_own() {
    let env = planning();
    for (key, posture) in [("A", "edits"), ("m", "attended")] {
        let id = shown(&env, PLAN);
        let [card] = open(&env, &id).try_into().unwrap();
        assert!(card["text"].as_str().unwrap().starts_with("# First this\n"), "{card:#}");
        assert_eq!((card["options"].as_array().unwrap().len(), &card["purpose"]), (5, &json!("planner_plan_decision")));
        assert!(!env.worktree(&id).join("done.txt").exists());
        env.coppice(&["answer", &id, key]).succeeds();
        env.wait_for(&id, "ready");
        assert_eq!(fs::read_to_string(env.worktree(&id).join("done.txt")).unwrap(), "yes\n");
        let session = env.session(&id);
        assert_eq!((&session["posture"], &session["turns"]), (&json!(posture), &json!(3)));
        assert_eq!((decision(&env, &id), plan_file(&env, &id).exists()), (json!("apply"), false));
        // The turn that made the plan ended well, and its answer is the plan.
        assert_eq!(count(&env, &id, "turn_interrupted"), 0);
        let turns = http::get(&env, &format!("/v1/sessions/{id}/turns"), &[]);
        let turns: Value = serde_json::from_str(&turns).unwrap();
        assert_eq!(turns["items"][1]["response"]["answer"], PLAN, "{turns:#}");
    }
}

#[test]
fn a_plan_for_later_waits_until_a_session_takes_it_up() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("hello"));
    let before = env.session(&id)["posture"].clone();
    write(&env, &id, PLAN);
    send(&env, &id, &json!({ "text": exit(), "posture": "plan" }));
    env.wait_for(&id, "asking");
    env.coppice(&["answer", &id, "L"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!((env.session(&id)["posture"].clone(), decision(&env, &id)), (before, json!("save")));
    assert!(env.last_answer(&id).ends_with("The plan is kept for later."), "{}", env.last_answer(&id));
    let draft = plan_file(&env, &id);
    let file = draft.parent().unwrap().with_extension("md");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{PLAN}\n"));
    assert!(!draft.exists());
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let create = |plan: &str| {
        let body = json!({ "cwd": env.repo(), "prompt": "", "model": "demo", "plan": plan });
        http::post(&env, "/v1/sessions", &body)
    };
    let refused = create("other");
    assert!(refused.contains("no plan `other` waits in this project") && refused.contains(&name), "{refused}");
    let made = create(&name);
    let (_, body) = made.split_once("\r\n\r\n").unwrap();
    let made: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{made}"));
    let other = made["id"].as_str().unwrap().to_owned();
    env.wait_for(&other, "ready");
    assert_eq!(env.session(&other)["title"], "First this");
    assert_eq!(fs::read_to_string(env.worktree(&other).join("done.txt")).unwrap(), "yes\n");
    assert!(!file.exists() && create(&name).contains("no plan"));
}

#[test]
fn a_plan_is_refined_in_the_same_turn_and_stopped_without_a_trace() {
    let env = planning();
    let id = env.create_ready(&say("hello"));
    write(&env, &id, "# First this");
    env.coppice(&["send", &id, &steps(&[exit(), exit()])]).succeeds();
    env.wait_for(&id, "asking");
    // What the person sees is what they decide about, whatever is in the file by then.
    write(&env, &id, "# First that");
    assert!(open(&env, &id)[0]["text"].as_str().unwrap().starts_with("# First this\n"));
    let refused = env.coppice(&["answer", &id, "y"]).exits(2);
    assert!(refused.stderr.contains("`y` is none of [A] Approve"), "{}", refused.stderr);
    let seen = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["answer", &id, "K: smaller steps"]).succeeds();
    env.wait_for_event(&id, "question_asked", seen);
    assert_eq!((env.session(&id)["posture"].clone(), decision(&env, &id)), (json!("plan"), Value::Null));
    assert!(open(&env, &id)[0]["text"].as_str().unwrap().starts_with("# First that\n"));
    env.coppice(&["answer", &id, "X"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "Stopped. The plan was not saved or applied.");
    assert_eq!((env.session(&id)["posture"].clone(), decision(&env, &id)), (json!("plan"), json!("stop")));
    assert!(!plan_file(&env, &id).exists());
}

#[test]
fn nothing_skips_the_card() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("hello"));
    write(&env, &id, PLAN);
    send(&env, &id, &json!({ "text": exit(), "posture": "plan", "yolo": true }));
    env.wait_for(&id, "asking");
    env.coppice(&["answer", &id, "A"]).succeeds();
    env.wait_for(&id, "ready");
    let session = env.session(&id);
    assert_eq!((&session["posture"], &session["yolo"]), (&json!("edits"), &json!(true)));
}

#[test]
fn a_card_outlives_the_daemon() {
    let env = planning();
    for (answer, posture, turns) in [("A", Some("edits"), 3), ("L", None, 2), ("X", Some("plan"), 2)] {
        let id = shown(&env, PLAN);
        env.kill_daemon();
        let [card] = open(&env, &id).try_into().unwrap();
        assert_eq!((&card["expired"], env.status(&id).as_str()), (&json!(true), "interrupted"));
        env.coppice(&["answer", &id, answer]).succeeds();
        env.wait_for(&id, "ready");
        let session = env.session(&id);
        let posture = posture.unwrap_or_else(|| unasked(&session));
        assert_eq!((&session["posture"], &session["turns"]), (&json!(posture), &json!(turns)), "{answer}");
        assert_eq!(env.worktree(&id).join("done.txt").exists(), answer == "A");
        let draft = plan_file(&env, &id);
        let kept = draft.parent().unwrap().with_extension("md");
        assert_eq!((draft.exists(), kept.exists()), (false, answer == "L"));
    }
}

#[test]
fn a_refinement_after_a_restart_goes_on_planning() {
    let env = planning();
    let id = shown(&env, "# First this\n\n@answer refined");
    env.kill_daemon();
    env.coppice(&["answer", &id, "smaller steps"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!((env.last_answer(&id).as_str(), env.session(&id)["posture"].clone()), ("refined", json!("plan")));
    assert_eq!(fs::read_to_string(plan_file(&env, &id)).unwrap(), "# First this\n\n@answer refined");
}

#[test]
fn a_decided_plan_is_not_made_again_after_a_kill() {
    let env = planning();
    env.configure("limits.parallel_turns = 1\ndefault.posture = \"plan\"");
    let id = shown(&env, PLAN);
    let other = env.create(&hang());
    env.wait_for_event(&other, "turn_started", 0);
    let seen = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["answer", &id, "A"]).succeeds();
    env.wait_for_event(&id, "turn_completed", seen);
    env.kill_daemon();
    assert_eq!((env.status(&id), open(&env, &id)), ("interrupted".to_owned(), Vec::new()));
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!((count(&env, &id, "question_asked"), env.session(&id)["posture"].clone()), (1, json!("edits")));
    assert!(env.worktree(&id).join("done.txt").exists());
}

#[test]
fn the_model_is_told_where_its_plan_goes_and_when_plan_mode_is_over() {
    let env = crate::tape::taped();
    env.coppice(&["config", "set", "tools.surface", "advisory"]).succeeds();
    let id = env.create_with(&["--model", "taped"], &say("hello"));
    env.wait_for(&id, "ready");
    send(&env, &id, &json!({ "text": run("true"), "posture": "plan" }));
    env.wait_for(&id, "ready");
    send(&env, &id, &json!({ "text": say("on"), "posture": "edits" }));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &[], &say("and on"));
    let prompts = crate::tape::texts(&env);
    let file = format!("the plan file `{}`", plan_file(&env, &id).display());
    let heard = |text: &str| prompts.iter().map(|prompt| prompt.contains(text)).collect::<Vec<_>>();
    assert_eq!(heard(&file), [false, true, false, false]);
    assert_eq!(heard("Note: plan mode is over."), [false, false, true, false]);
}

#[test]
fn a_planner_says_its_plan_and_nobody_applies_it_in_plan_mode() {
    let env = planning();
    for (answer, posture) in [("A", Some("edits")), ("Apply plan", None)] {
        let id = env.create_with(
            &["--model", "demo", "--agent", "planner"],
            &steps(&["@tools".to_owned(), workflow::plan("First this", "x")]),
        );
        env.wait_for(&id, "asking");
        assert!(!env.last_answer(&id).contains("exit_plan_mode"));
        env.coppice(&["answer", &id, answer]).succeeds();
        env.wait_for(&id, "ready");
        let session = env.session(&id);
        let posture = posture.unwrap_or_else(|| unasked(&session));
        assert_eq!((&session["posture"], &session["agent"]), (&json!(posture), &json!("engineer")));
    }
}

#[test]
fn only_the_plan_can_be_written() {
    let env = planning();
    let id = env.create_ready(&say("hello"));
    let file = plan_file(&env, &id);
    let todos = json!({ "todos": [{ "content": "Parse", "status": "in_progress" }] });
    let script = [
        "@request the plan".to_owned(),
        format!("@write {} # First this", file.display()),
        "@may edit src/main.rs".to_owned(),
        "@may run rm src/main.rs".to_owned(),
        call("todo_write", &todos),
    ];
    env.send_ready(&id, &[], &steps(&script));
    assert_eq!(fs::read_to_string(&file).unwrap(), "# First this\n");
    let answer = env.last_answer(&id);
    assert_eq!(answer.matches("tool unavailable in plan mode").count(), 2, "{answer}");
    assert_eq!((count(&env, &id, "approval_requested"), count(&env, &id, "plan_updated")), (0, 1));
}

#[test]
fn a_session_names_the_file_of_its_plan_while_it_plans() {
    let env = planning();
    let id = env.create_ready(&say("hello"));
    assert_eq!(env.session(&id)["plan_file"], json!(plan_file(&env, &id)));
    env.coppice(&["posture", &id, "attended"]).succeeds();
    assert_eq!(env.session(&id).get("plan_file"), None);
}

#[test]
fn plan_mode_ends_an_idle_agent_that_could_write() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("first"));
    let changed = env.coppice(&["posture", &id, "plan"]);
    assert_eq!(changed.stderr, "");
    env.wait_for_ends("demo-agent");
    env.send_ready(&id, &[], &say("second"));
    assert_eq!(env.last_answer(&id), "second");
}

#[test]
fn plan_mode_ends_an_agent_that_could_write_after_its_turn() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[wait_for_file(Path::new("go")), say("done")]));
    env.wait_for_event(&id, "turn_started", 0);
    let changed = env.coppice(&["posture", &id, "plan"]);
    assert_snapshot!(changed.stderr, @"warning: the rules of `plan` apply at once; processes that already run can write the worktree until the turn or the attached program ends");
    fs::write(env.worktree(&id).join("go"), "").unwrap();
    env.wait_for(&id, "ready");
    env.wait_for_ends("demo-agent");
}
