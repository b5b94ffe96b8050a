//! A person in a session's worktree, through the real binary on a real terminal.

use std::io::Read;
use std::os::unix::net::UnixStream;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::delegate::{child, handoff, played};
use crate::env::TestEnv;
use crate::merge::in_conflict;
use crate::script::{ask, call, delegate, fail, hang, run, say, steps, write};
use crate::seat::Seat;

/// Ctrl+].
const BACK: &str = "\x1d";

fn sit(env: &TestEnv, arguments: &[&str]) -> Seat {
    Seat::take(&env.to_start(arguments))
}

/// In a shell of the session, which is ready for a command.
#[track_caller]
fn in_shell(env: &TestEnv, id: &str) -> Seat {
    let mut seat = sit(env, &["shell", id]);
    seat.showed("comes back. No turn begins meanwhile");
    // An echo of what was typed is not what it says.
    seat.types("echo re''ady\r");
    seat.showed("ready");
    seat
}

#[track_caller]
fn of_kind(env: &TestEnv, id: &str, kind: &str) -> Vec<Value> {
    env.events(id).into_iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_shell_is_typed_to_and_resized_and_what_it_wrote_is_a_checkpoint() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("one.txt", "one"), say("done")]));
    let mut seat = in_shell(&env, &id);
    seat.types("stty size\r");
    seat.shows("24 80");
    seat.resize(101, 31);
    seat.types("until [ \"$(stty size)\" = '31 101' ]; do :; done; stty size\r");
    seat.shows("31 101");
    seat.types("cat one.txt; echo by hand > two.txt; pwd\r");
    seat.shows(env.worktree(&id).file_name().unwrap().to_str().unwrap());
    seat.types("exit\r");
    assert_eq!(seat.ends(), 0);
    assert!(seat.all().contains("committed as"), "{}", seat.all());

    let detached = of_kind(&env, &id, "detached");
    let [detached] = detached.as_slice() else { panic!("{detached:?}") };
    let commit = detached["commit"].as_str().unwrap();
    // What the person changed, not the session.
    assert_eq!((&detached["program"], &detached["changes"]["files"]), (&"shell".into(), &1.into()));
    assert_eq!(env.session(&id)["changes"]["files"], 2);
    assert_eq!(of_kind(&env, &id, "attached")[0]["program"], "shell");
    assert_eq!(of_kind(&env, &id, "checkpoint").last().unwrap()["commit"], commit);
    assert_eq!(env.git(&["show", &format!("{commit}:two.txt")]), "by hand");
    assert_eq!(env.git(&["log", "-1", "--format=%s", commit]), "Work by hand on @write one.txt one");
    assert_eq!(env.git_in(&env.worktree(&id), &["status", "--porcelain"]), "");
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["changes"]["files"]), (&"ready".into(), &2.into()), "{session:#}");
    assert!(env.coppice(&["diff", &id]).stdout().contains("two.txt"));
    // What was done by hand is undone with the turn before it.
    env.coppice(&["undo", &id]).succeeds();
    assert!(!env.worktree(&id).join("two.txt").exists());
}

#[test]
fn a_look_around_leaves_no_commit_and_the_key_comes_back() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("one.txt", "one"), say("done")]));
    let head = env.git(&["rev-parse", env.session(&id)["branch"].as_str().unwrap()]);
    let script = format!("stty -a | grep -o ' -\\?icanon'; {} shell {id}; stty -a | grep -o ' -\\?icanon'", program());
    let mut seat = Seat::take(&rebased(&env, &["-c", &script]));
    seat.showed("comes back. No turn begins meanwhile");
    seat.types("sleep 600 & trap '' HUP TERM; echo re''ady\r");
    seat.showed("ready");
    seat.types(BACK);
    assert_eq!(seat.ends(), 0);
    // The terminal is as it was.
    assert_eq!(seat.all().matches(" icanon").count(), 2, "{}", seat.all());
    assert!(seat.all().contains("no file was changed"), "{}", seat.all());
    assert_eq!(env.git(&["rev-parse", env.session(&id)["branch"].as_str().unwrap()]), head);
    assert_eq!(of_kind(&env, &id, "detached")[0].get("commit"), None);
    env.wait_for_ends("sleep 600");
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_coppice")
}

/// A shell of the person's own, outside of everything.
fn rebased(env: &TestEnv, arguments: &[&str]) -> std::process::Command {
    let ours = env.to_start(&[]);
    let mut command = std::process::Command::new("sh");
    command.args(arguments).current_dir(ours.get_current_dir().unwrap()).env_clear();
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn the_first_key_may_come_late() {
    let env = TestEnv::new();
    let id = env.create_ready("hi");
    let mut seat = sit(&env, &["shell", &id]);
    seat.showed("comes back. No turn begins meanwhile");
    // So many newcomers that the daemon closes every connection that has not sent a request.
    let socket = env.json(&["daemon", "status"])["socket"].as_str().unwrap().to_owned();
    let mut newcomers: Vec<_> = (0..70).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    assert_eq!(newcomers[0].read(&mut [0]).unwrap(), 0);
    seat.types("echo still''here; exit\r");
    seat.showed("stillhere");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn the_agents_own_interface_goes_on_with_the_conversation() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("the first answer"));
    let mut seat = sit(&env, &["attach", &id]);
    seat.shows("it said: the first answer");
    seat.types("hello\r");
    seat.shows("you say: hello");
    seat.types("write notes.txt from a person\r");
    seat.shows("wrote notes.txt");
    seat.types("/exit\r");
    assert_eq!(seat.ends(), 0);
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("notes.txt")).unwrap(), "from a person\n");
    assert_eq!(of_kind(&env, &id, "detached")[0]["program"], "agent");
    assert!(of_kind(&env, &id, "detached")[0]["commit"].is_string());
    // The conversation is the same one afterwards.
    env.send_ready(&id, &[], &say("the second answer"));
    assert_eq!(env.deliveries(&id).last().unwrap(), "delta_only");
}

#[test]
fn the_cage_of_a_turn_holds_a_shell_too() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("done"));
    let mut seat = in_shell(&env, &id);
    let outside = env.path("home/planted");
    for (command, expected) in [
        (format!("echo x > {}", outside.display()), "denied"),
        (format!("cat {}", env.path("home/.gitconfig").display()), "denied"),
        (format!("ls {}", env.path("coppice").display()), "denied"),
        ("echo x > inside.txt".to_owned(), "allowed"),
        (format!("echo x > {}/file", "$TMPDIR"), "allowed"),
        (": < /dev/ptmx".to_owned(), "denied"),
    ] {
        seat.types(&format!("clear; ({command}) >/dev/null 2>&1 && echo all''owed || echo den''ied\r"));
        match support().hold() {
            Hold::Enforced => seat.shows(expected),
            Hold::Advisory => seat.shows("allowed"),
        }
    }
    seat.types(BACK);
    seat.ends();
    assert_eq!(outside.exists(), support().hold() == Hold::Advisory);
}

#[test]
fn prompts_wait_until_the_person_leaves() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("first"));
    let mut seat = in_shell(&env, &id);
    env.coppice(&["send", &id, &say("second")]).succeeds();
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["queued"]), (&"queued".into(), &1.into()), "{session:#}");
    assert_eq!(session["next"], serde_json::json!(["stop", "send"]));
    // The turn begins after the person has left.
    seat.types("echo one > by-hand.txt\r");
    seat.types("cat by-hand.txt; echo wri''tten\r");
    seat.shows("written");
    seat.types(BACK);
    seat.ends();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "second");
    let kinds = env.kinds(&id);
    let at = |kind: &str| kinds.iter().rposition(|known| known == kind).unwrap();
    assert!(at("attached") < at("prompt_queued") && at("prompt_queued") < at("detached"), "{kinds:?}");
    assert!(at("detached") < at("turn_started"), "{kinds:?}");
}

#[test]
fn while_a_person_works_there_nothing_else_touches_the_tree() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("one.txt", "one"), say("done")]));
    let mut seat = in_shell(&env, &id);
    for arguments in [["merge", &id], ["undo", &id], ["rebase", &id], ["archive", &id], ["rm", &id], ["resume", &id]] {
        let refused = env.coppice(&arguments).exits(1);
        assert!(refused.stderr.contains("somebody works in session"), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("leave it with Ctrl+], or end it with `coppice stop {id}`")));
    }
    let mut second = sit(&env, &["attach", &id]);
    assert_eq!(second.ends(), 1);
    assert!(second.all().contains("it cannot take another person"), "{}", second.all());
    // Whoever has lost the terminal ends it from elsewhere.
    env.coppice(&["stop", &id]).succeeds();
    assert_eq!(seat.ends(), 1);
    assert_eq!(env.status(&id), "ready");
    env.coppice(&["merge", &id]).succeeds();
}

#[test]
fn the_files_of_a_child_come_when_the_person_has_left() {
    let env = TestEnv::new();
    env.configure("[delegation]\nintegrate = \"manual\"");
    let (id, _) = played(&env, &delegate("general", &steps(&[write("a.txt", "a"), say("a")])));
    let (child, tree) = (child(&env, &id), env.worktree(&id));
    let mut seat = in_shell(&env, &id);
    let refused = env.coppice(&["integrate", &child]).exits(1);
    let expected = format!("the work tree of `{id}` cannot take the result of `{child}`: a person works in it");
    assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
    assert!(!tree.join("a.txt").exists());
    assert_eq!(handoff(&env, &id)["integration"], json!({ "state": "pending" }));
    assert_eq!(env.status(&child), "ready");
    // What they do there is not mixed with it.
    seat.types("echo by hand > b.txt\r");
    seat.types("exit\r");
    assert_eq!(seat.ends(), 0);
    let commit = of_kind(&env, &id, "detached")[0]["commit"].as_str().unwrap().to_owned();
    assert_eq!(env.git(&["show", "--format=", "--name-only", &commit]), "b.txt");
    env.coppice(&["integrate", &child]).succeeds();
    assert_eq!(std::fs::read_to_string(tree.join("a.txt")).unwrap(), "a\n");
    assert_eq!(handoff(&env, &id)["integration"], json!({ "state": "integrated", "files": ["a.txt"] }));
}

#[test]
fn whoever_resolves_a_conflict_by_hand_makes_nothing_else_ready() {
    let env = TestEnv::new();
    let resolve = |id: &str| {
        let mut seat = in_shell(&env, id);
        seat.types("printf 'both\\n' > README.md; exit\r");
        assert_eq!(seat.ends(), 0);
        assert_eq!(env.session(id)["conflicts"], json!([]));
        env.status(id)
    };
    let id = in_conflict(&env, "one");
    assert_eq!(resolve(&id), "ready");
    for (prompt, status) in [(fail("no"), "failed"), (ask("Which?", &["a", "b"]), "asking")] {
        let id = in_conflict(&env, status);
        env.coppice(&["send", &id, &prompt]).succeeds();
        env.wait_for(&id, status);
        assert_eq!(env.session(&id)["conflicts"], json!(["README.md"]));
        assert_eq!(resolve(&id), status);
    }
    let id = in_conflict(&env, "interrupted");
    let before = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["send", &id, &hang()]).succeeds();
    env.wait_for_event(&id, "turn_started", before);
    env.coppice(&["stop", &id]).succeeds();
    assert_eq!(resolve(&id), "interrupted");
}

#[test]
fn only_a_person_ends_a_persons_terminal() {
    let env = TestEnv::new();
    // In the sandbox an agent would not even reach the daemon.
    env.configure("[sandbox]\nlevel = \"off\"");
    let id = env.create_ready(&say("done"));
    let mut seat = in_shell(&env, &id);
    let home = env.path("coppice");
    let stop = format!("COPPICE_HOME={} {} stop {id} > said.txt 2>&1; true", home.display(), program());
    let other = env.create_ready(&run(&stop));
    let said = std::fs::read_to_string(env.worktree(&other).join("said.txt")).unwrap();
    assert_eq!(
        said,
        "error: only a person may do this, and the request came from a process of a session\n\n\
         hint: run the command in a terminal of your own; processes of a session may only look: \
         `coppice list --all`, `coppice show ID`, `coppice diff ID`\n"
    );
    seat.types("echo still he''re\r");
    seat.showed("still here");
    env.coppice(&["stop", &id]).succeeds();
    assert_eq!(seat.ends(), 1);
}

#[test]
fn a_parent_does_not_close_a_child_in_which_a_person_works() {
    let env = TestEnv::new();
    env.configure("[delegation]\nintegrate = \"manual\"");
    let (id, _) = played(&env, &delegate("general", &steps(&[write("a.txt", "a"), say("a")])));
    let child = child(&env, &id);
    let mut seat = in_shell(&env, &child);
    let close = call("close_agent", &json!({ "id": child }));
    env.send_ready(&id, &[], &close);
    let expected = format!("error: agent with id {child} cannot be closed: a person works in it");
    assert_eq!(env.last_answer(&id), expected);
    // Nor does it lose them when its parent is put away.
    env.coppice(&["archive", &id]).succeeds();
    seat.types("echo still he''re\r");
    seat.showed("still here");
    seat.types(BACK);
    assert_eq!(seat.ends(), 0);
}

#[test]
fn what_cannot_be_attached_to_says_why() {
    let env = TestEnv::new();
    let busy = env.create(&hang());
    env.wait_for_event(&busy, "turn_started", 0);
    let mut seat = sit(&env, &["attach", &busy]);
    assert_eq!(seat.ends(), 1);
    assert!(seat.all().contains("is running: it cannot be attached to"), "{}", seat.all());
    assert!(seat.all().contains(&format!("`coppice stop {busy}` ends its turn")), "{}", seat.all());
    env.coppice(&["stop", &busy]).succeeds();

    let other = env.create_with(&["--model", "forgetful"], &say("done"));
    env.wait_for(&other, "ready");
    let mut seat = sit(&env, &["attach", &other]);
    assert_eq!(seat.ends(), 1);
    assert!(seat.all().contains("Coppice knows no interface of `forgetful`"), "{}", seat.all());
    assert!(seat.all().contains(&format!("`coppice shell {other}`")), "{}", seat.all());
    in_shell(&env, &other);

    assert_snapshot!(env.coppice(&["shell", &busy]).transcript(), @r"
    exit: 2
    -- stderr
    error: the shell needs a terminal, and this is none

    hint: `coppice send` gives the agent a prompt from a script
    ");
}

#[test]
fn a_client_that_dies_takes_the_program_and_the_lease_with_it() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("done"));
    for signal in [Signal::KILL, Signal::HUP, Signal::TERM] {
        let before = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
        let mut seat = in_shell(&env, &id);
        seat.types("setsid sleep 600 & echo beg''un\r");
        seat.showed("begun");
        seat.signal(signal);
        env.wait_for_event(&id, "detached", before);
        env.wait_for_ends("sleep 600");
        env.wait_for_ends("shell");
        assert_eq!(env.status(&id), "ready");
    }
}

#[test]
fn a_daemon_that_dies_takes_the_program_with_it_and_the_next_one_says_so() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("first"));
    let waiting = env.create_ready(&say("first"));
    let (mut seat, mut other) = (in_shell(&env, &id), in_shell(&env, &waiting));
    seat.types("echo one > by-hand.txt; echo wri''tten\r");
    seat.showed("written");
    env.coppice(&["send", &waiting, &say("second")]).succeeds();
    env.kill_daemon();
    assert_eq!((seat.ends(), other.ends()), (6, 6));
    assert_eq!(env.status(&id), "ready");
    let detached = of_kind(&env, &id, "detached");
    assert_eq!((detached.len(), &detached[0]["program"]), (1, &"shell".into()));
    assert_eq!(detached[0].get("changes"), None, "nobody has looked");
    // What is in the files counts, although nobody has committed it.
    let session = env.session(&id);
    assert_eq!(session["changes"]["files"], 1, "{session:#}");
    assert!(session["next"].as_array().unwrap().contains(&"merge".into()), "{session:#}");
    // Nothing begins by itself, and nothing is lost.
    assert_eq!(env.status(&waiting), "interrupted");
    env.coppice(&["resume", &waiting]).succeeds();
    env.wait_for(&waiting, "ready");
    assert_eq!(env.last_answer(&waiting), "second");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("by-hand.txt"), "one\n");
}
