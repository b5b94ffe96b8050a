//! What a child starts from, and what becomes of what it did.

use std::path::Path;

use serde_json::json;

use super::{child, children, define, handoff, handoffs, last_seq, parent, played, record, wait_for_handoffs};
use crate::env::TestEnv;
use crate::script::{call, delegate, read, run, say, steps, together, wait_for_file, write};

fn file(tree: &Path, name: &str) -> String {
    std::fs::read_to_string(tree.join(name)).unwrap()
}

/// What children left in the repository: all that is not the user's or the parent's. A spare tree is the project's own.
fn traces(env: &TestEnv, parent: &str) -> Vec<String> {
    // A daemon ends when everybody in it has tidied up.
    env.end_daemon(&[]);
    let refs = env.git(&["for-each-ref", "--format=%(refname)"]);
    let trees = env.git(&["worktree", "list", "--porcelain"]);
    let trees = trees.lines().filter_map(|line| line.strip_prefix("worktree "));
    let repo = env.repo().canonicalize().unwrap().display().to_string();
    let is_known = |name: &str| name == "refs/heads/main" || name == repo || name.contains(parent);
    refs.lines().chain(trees).filter(|name| !is_known(name) && !name.contains("/.spare/")).map(str::to_owned).collect()
}

#[test]
fn a_read_only_child_sees_the_parents_files_as_they_are_and_leaves_nothing_behind() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "demo", "--agent", "engineer"], &say("begun"));
    env.wait_for(&id, "ready");
    let tree = env.worktree(&id);
    std::fs::write(tree.join("README.md"), "# changed\n").unwrap();
    std::fs::write(tree.join("untracked.txt"), "fresh\n").unwrap();
    std::fs::create_dir(tree.join("build")).unwrap();
    std::fs::write(tree.join("build/out"), "ignored\n").unwrap();

    let script = steps(&[read("README.md"), read("untracked.txt"), run("ls")]);
    env.send_ready(&id, &[], &steps(&[delegate("explore", &script), run("git status --porcelain")]));
    let answer = env.last_answer(&id);
    let said = record(answer.split("\n\n").next().unwrap())["assistant_text"].as_str().unwrap().to_owned();
    assert!(said.contains("# changed") && said.contains("fresh") && !said.contains("build"), "{said}");
    // The parent's index is as it was.
    let finished = env.events(&id).into_iter().rfind(|event| event["tool"] == "execute").unwrap();
    assert_eq!(finished["output"].as_str().unwrap().trim_end(), " M README.md\n?? untracked.txt");
    let child = child(&env, &id);
    let worktree = env.worktree(&child);
    assert_eq!(traces(&env, &id), Vec::<String>::new());
    assert!(!worktree.exists());
    assert_eq!(handoff(&env, &id)["integration"], json!({ "state": "nothing" }));

    // A further question starts from the files of that moment.
    std::fs::write(tree.join("README.md"), "# changed again\n").unwrap();
    env.send_ready(&child, &[], &read("README.md"));
    assert!(env.last_answer(&child).contains("# changed again"));
    assert_eq!(traces(&env, &id), Vec::<String>::new());
}

#[test]
fn what_a_read_only_child_changes_all_the_same_stays_out_of_the_parent() {
    let env = TestEnv::new();
    env.configure("[tools]\nsurface = \"advisory\"\n[sandbox]\nlevel = \"off\"");
    define(&env, "reads", "read_only: true\nmodel: forgetful\n");
    let (id, answer) = played(&env, &delegate("reads", &steps(&[write("README.md", "gone"), say("oops")])));
    assert_eq!(
        (&record(&answer)["status"], file(&env.worktree(&id), "README.md")),
        (&json!("completed"), "# sample\n".to_owned())
    );
    let child = child(&env, &id);
    let said = env.events(&child).into_iter().filter_map(|event| event["message"].as_str().map(str::to_owned));
    let said = said.into_iter().find(|said| said.starts_with("the child may only read and changed files")).unwrap();
    let kept = said.split('`').nth(1).unwrap();
    assert_eq!(env.git(&["show", &format!("{kept}:README.md")]), "gone");
}

#[test]
fn changes_of_children_come_home_together_and_uncommitted() {
    let env = TestEnv::new();
    let calls = [
        delegate("general", &steps(&[write("a.txt", "a"), say("a")])),
        delegate("general", &steps(&[write("src/main.rs", "fn main() {}"), say("b")])),
    ];
    let (id, answer) = played(&env, &steps(&[write("own.txt", "o"), together(&calls), read("a.txt")]));
    let tree = env.worktree(&id);
    assert_eq!((file(&tree, "a.txt"), file(&tree, "src/main.rs")), ("a\n".to_owned(), "fn main() {}\n".to_owned()));
    let parts: Vec<_> = answer.split("\n\n").collect();
    assert_eq!(record(parts[0])["files"], "Changed in your work tree: a.txt.");
    assert_eq!(record(parts[0])["integration"], json!({ "state": "integrated", "files": ["a.txt"] }));
    assert_eq!(record(parts[1])["files"], "Changed in your work tree: src/main.rs.");
    // The turn's own checkpoint holds them, and the checkout of the user nothing.
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    let mut changed: Vec<_> = env.git_in(&tree, &["diff", "--name-only", "main"]).lines().map(str::to_owned).collect();
    changed.sort();
    assert_eq!(changed, ["a.txt", "own.txt", "src/main.rs"]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.kinds(&id).iter().filter(|kind| *kind == "integrated").count(), 2);
}

#[test]
fn a_parent_learns_where_the_work_is_that_its_child_could_not_commit() {
    let env = TestEnv::new();
    env.refuse_dat_files();
    let (id, answer) = played(&env, &delegate("general", &steps(&[write("file.dat", "one"), say("done")])));
    let (child, told) = (child(&env, &id), record(&answer));
    let worktree = env.worktree(&child);
    assert_eq!((&told["status"], &told["integration"]["state"]), (&json!("completed"), &json!("uncommitted")));
    assert_eq!(told["integration"]["worktree"], json!(worktree));
    let text = told["files"].as_str().unwrap();
    assert!(text.starts_with("Its changes could not be committed ("), "{text}");
    assert!(text.contains(&format!("They are in `{}`; `coppice integrate {child}`", worktree.display())), "{text}");
    assert_eq!(file(&worktree, "file.dat"), "one\n");

    env.git(&["config", "filter.broken.clean", "cat"]);
    env.coppice(&["integrate", &child]).succeeds();
    assert_eq!(file(&env.worktree(&id), "file.dat"), "one\n");
}

#[test]
fn a_conflict_writes_nothing_and_a_person_brings_the_files_later() {
    let env = TestEnv::new();
    let go = env.visible_to_agents("go");
    let two =
        |name: &str| steps(&[write("a.txt", name), write(&format!("{name}.txt"), name), wait_for_file(&go), say(name)]);
    let id = parent(&env, &together(&[delegate("general", &two("one")), delegate("general", &two("two"))]));
    wait_for_handoffs(&env, &id, "running", 2);
    std::fs::write(&go, "").unwrap();
    env.wait_for(&id, "ready");
    let tree = env.worktree(&id);
    let kept = handoffs(&env, &id);
    let loser = kept.iter().find(|kept| kept["integration"]["state"] == "conflict").unwrap();
    let winner = kept.iter().find(|kept| kept["integration"]["state"] == "integrated").unwrap();
    assert_eq!((&loser["integration"]["files"], &loser["status"]), (&json!(["a.txt"]), &json!("completed")));
    let answer = env.last_answer(&id);
    let branch = loser["branch"].as_str().unwrap();
    let text =
        format!("Its changes conflict with yours in a.txt. Nothing was written; they stay on the branch `{branch}`.");
    assert!(answer.split("\n\n").any(|told| record(told)["files"] == json!(text)), "{answer}");
    let (lost, won) = (loser["assistant_text"].as_str().unwrap(), winner["assistant_text"].as_str().unwrap());
    assert_eq!(file(&tree, "a.txt"), format!("{won}\n"));
    assert!(!tree.join(format!("{lost}.txt")).exists(), "nothing is half there");

    let child = loser["child_session_id"].as_str().unwrap();
    assert_eq!((env.status(child), &env.session(child)["conflicts"]), ("conflict".to_owned(), &json!(["a.txt"])));
    drop(env.coppice(&["integrate", child]).exits(1));
    assert!(!tree.join(format!("{lost}.txt")).exists());
    // A turn that does something else has not resolved it, and is over all the same.
    env.coppice(&["send", child, &steps(&[write("more.txt", "more"), say("more")])]).succeeds();
    env.wait_for(child, "conflict");
    assert_eq!(env.session(child)["conflicts"], json!(["a.txt"]));
    let again = handoffs(&env, &id).into_iter().find(|kept| kept["child_session_id"] == child).unwrap();
    assert_eq!((&again["status"], &again["assistant_text"]), (&json!("completed"), &json!("more")));
    // The child takes its own part back, and the rest fits.
    env.send_ready(child, &[], &steps(&["@delete a.txt".to_owned(), say("fits")]));
    env.coppice(&["integrate", child]).succeeds();
    assert_eq!(file(&tree, &format!("{lost}.txt")), format!("{lost}\n"));
    assert_eq!(file(&tree, "a.txt"), format!("{won}\n"));
    assert_eq!(env.session(child)["conflicts"], json!([]));
}

#[test]
fn with_manual_integration_a_person_brings_the_files_between_turns() {
    let env = TestEnv::new();
    env.configure("[delegation]\nintegrate = \"manual\"");
    let (id, answer) = played(&env, &delegate("general", &steps(&[write("a.txt", "a"), say("a")])));
    let (child, tree) = (child(&env, &id), env.worktree(&id));
    assert_eq!(record(&answer)["integration"], json!({ "state": "pending" }));
    assert!(!tree.join("a.txt").exists());
    let seen = last_seq(&env, &id);
    env.coppice(&["send", &id, "@hang"]).succeeds();
    env.wait_for_event(&id, "turn_started", seen);
    let refused = env.coppice(&["integrate", &child]).exits(1);
    assert!(refused.stderr.contains("a turn is in progress in it"), "{}", refused.stderr);
    env.coppice(&["stop", &id]).succeeds();
    env.wait_for(&id, "interrupted");
    env.coppice(&["integrate", &child]).succeeds();
    assert_eq!(file(&tree, "a.txt"), "a\n");
    assert_eq!(handoff(&env, &id)["integration"], json!({ "state": "integrated", "files": ["a.txt"] }));
}

#[test]
fn the_files_of_a_background_child_wait_for_a_person() {
    let env = TestEnv::new();
    env.configure("[delegation]\nfacade = \"Agent\"");
    let script = steps(&[write("a.txt", "a"), say("a")]);
    let arguments = json!({ "subagent_type": "general", "prompt": script, "run_in_background": true });
    let (id, _) = played(&env, &call("Agent", &arguments));
    let (child, tree) = (child(&env, &id), env.worktree(&id));
    env.send_ready(&id, &[], &call("wait", &json!({ "ids": [child] })));
    let branch = env.session(&child)["branch"].as_str().unwrap().to_owned();
    assert_eq!(
        record(&env.last_answer(&id))["status"][&child]["completed"],
        format!("a\n\nIts changes are on the branch `{branch}`; `coppice integrate {child}` brings them here.")
    );
    assert!(!tree.join("a.txt").exists());
    env.coppice(&["integrate", &child]).succeeds();
    assert_eq!(file(&tree, "a.txt"), "a\n");
}

#[test]
fn many_read_only_children_of_one_parent_all_complete_and_leave_nothing_behind() {
    const MANY: usize = 24;
    let env = TestEnv::new();
    env.configure(&format!("[delegation]\nmax_children = {MANY}\n[limits]\nparallel_turns = 4"));
    let id = env.create_with(&["--model", "demo", "--agent", "engineer"], &say("begun"));
    env.wait_for(&id, "ready");
    let calls: Vec<_> = (0..MANY).map(|n| delegate("explore", &say(&n.to_string()))).collect();
    env.send_ready(&id, &[], &together(&calls));
    let answer = env.last_answer(&id);
    let told: Vec<_> = answer.split("\n\n").map(|text| record(text)["assistant_text"].clone()).collect();
    assert_eq!(told, (0..MANY).map(|n| json!(n.to_string())).collect::<Vec<_>>());
    assert_eq!(children(&env, &id).len(), MANY);
    assert_eq!(traces(&env, &id), Vec::<String>::new());
}
