//! Which calls come back in each posture, at the backend's edge: all of them, from every program that asks us.

use std::fs;

use coppice::backend::event::Decision;
use coppice::permission::{Posture, Reach};
use serde_json::json;

use crate::agent::Agent;
use crate::edge::{self, allow};
use crate::model::script::{native, read, say, shell, write};
use crate::stage::Stage;

/// What reading, running a command and writing are called.
fn names(agent: Agent) -> [&'static str; 3] {
    match agent {
        Agent::Claude => ["Read", "Bash", "Write"],
        Agent::Gemini => ["read_file", "bash", "write_file"],
        Agent::Codex => unreachable!("it has a test of its own"),
    }
}

/// A harmless command and a read in the tree are no exception, in no posture; nothing runs that did not come back.
#[test]
fn every_call_comes_back_in_every_posture() {
    for agent in [Agent::Claude, Agent::Gemini] {
        for posture in [Posture::Attended, Posture::Edits, Posture::Unattended] {
            let stage = Stage::new();
            let launch = edge::launch(&stage, agent, posture);
            let tree = launch.cwd.clone();
            let known = tree.join("known.txt");
            fs::write(&known, "the word is heron\n").unwrap();
            let steps =
                [read(known.to_str().unwrap()), shell("ls"), write(tree.join("made.txt").to_str().unwrap(), "x\n")];
            stage.model(agent).plays(steps).plays([say("done")]);
            let turn = edge::turn(launch, allow);
            assert_eq!(turn.end.as_deref(), Ok("done"), "{} {posture:?}", agent.name());
            assert_eq!(turn.tools(), names(agent), "{} {posture:?}", agent.name());
            assert_eq!(fs::read_to_string(tree.join("made.txt")).unwrap(), "x\n");
            let [reading, command, writing] = turn.asked.as_slice() else { panic!("{:?}", turn.asked) };
            assert_eq!(reading.reach, Reach::Paths(vec![known]));
            assert_eq!(command.reach, Reach::Command { text: "ls".to_owned(), cwd: tree.clone() });
            assert_eq!(writing.reach, Reach::Paths(vec![tree.join("made.txt")]));
            assert!(
                writing.preview.contains("+++ made.txt\n") && writing.preview.ends_with("+x"),
                "{}",
                writing.preview
            );
        }
    }
}

/// In `plan` there is no shell; what can write is there for the plan, and comes back too.
#[test]
fn a_plan_has_no_shell_and_one_file() {
    for agent in [Agent::Claude, Agent::Gemini] {
        let stage = Stage::new();
        let mut launch = edge::launch(&stage, agent, Posture::Plan);
        let (tree, plan) = (launch.cwd.clone(), launch.state_dir.join("plans/plan.md"));
        fs::create_dir_all(plan.parent().unwrap()).unwrap();
        fs::write(tree.join("known.txt"), "the word is heron\n").unwrap();
        launch.plan_file = Some(plan.clone());
        let (known, made) = (tree.join("known.txt"), tree.join("made.txt"));
        let steps = [
            read(known.to_str().unwrap()),
            shell("echo made > shell.txt"),
            write(made.to_str().unwrap(), "x\n"),
            write(plan.to_str().unwrap(), "the plan\n"),
            say("done"),
        ];
        stage.model(agent).plays(steps);
        let turn = edge::turn(launch, |asked| match &asked.reach {
            Reach::Paths(paths) if paths.iter().all(|path| !path.ends_with("made.txt")) => Decision::Once,
            _ => Decision::Deny { message: Some("only the plan".to_owned()) },
        });
        assert_eq!(turn.end.as_deref(), Ok("done"), "{}", agent.name());
        let [reading, _, writing] = names(agent);
        assert_eq!(turn.tools(), [reading, writing, writing], "{}", agent.name());
        assert_eq!(fs::read_to_string(&plan).unwrap(), "the plan\n", "{}", agent.name());
        assert!(!made.exists() && !tree.join("shell.txt").exists(), "{}", agent.name());
    }
}

/// The reason of a refusal is told to the model in the same turn.
#[test]
fn a_refusal_reaches_the_model_with_its_reason() {
    for agent in [Agent::Claude, Agent::Gemini] {
        let stage = Stage::new();
        stage.model(agent).plays([shell("touch made"), say("understood")]);
        let launch = edge::launch(&stage, agent, Posture::Attended);
        let tree = launch.cwd.clone();
        let turn = edge::turn(launch, |_| Decision::Deny { message: Some("use the \"heron\" target".to_owned()) });
        assert_eq!(turn.end.as_deref(), Ok("understood"), "{}", agent.name());
        assert!(!tree.join("made").exists());
        let calls = stage.model(agent).calls();
        let last = &calls.last().unwrap().request;
        assert!(last.mentions("use the") && last.mentions("heron"), "{}: {}", agent.name(), last.body);
    }
}

/// What these tests say about a cage they say about one that the kernel holds.
#[test]
fn an_allowed_command_cannot_leave_the_cage() {
    for agent in [Agent::Claude, Agent::Gemini] {
        let stage = Stage::new();
        let launch = edge::launch(&stage, agent, Posture::Unattended);
        let tree = launch.cwd.clone();
        let home = stage.path("home");
        let command = format!("cat '{0}/.gemini/GEMINI.md' > read.txt; echo x > '{0}/planted'; true", home.display());
        stage.model(agent).plays([shell(&command), say("done")]);
        let turn = edge::turn(launch, allow);
        assert_eq!((turn.end.as_deref(), turn.asked.len()), (Ok("done"), 1), "{}", agent.name());
        assert_eq!(fs::read_to_string(tree.join("read.txt")).unwrap(), "", "{}", agent.name());
        assert!(!home.join("planted").exists(), "{}", agent.name());
    }
}

/// The searches of Gemini have no arguments that we see; their words name the place.
#[test]
fn searches_of_gemini_name_their_place() {
    let stage = Stage::new();
    let launch = edge::launch(&stage, Agent::Gemini, Posture::Attended);
    let tree = launch.cwd.clone();
    fs::create_dir(tree.join("sub")).unwrap();
    fs::write(tree.join("sub/a.txt"), "heron\n").unwrap();
    stage.model(Agent::Gemini).plays([
        native("list_directory", json!({"dir_path": "sub"})),
        native("glob", json!({"pattern": "*.txt", "dir_path": "sub"})),
        native("grep_search", json!({"pattern": "heron"})),
        native("google_web_search", json!({"query": "heron"})),
        say("done"),
    ]);
    let turn = edge::turn(launch, |asked| match asked.tool.as_str() {
        "web_search" => Decision::Deny { message: None },
        _ => Decision::Once,
    });
    assert_eq!(turn.end.as_deref(), Ok("done"));
    assert_eq!(turn.tools(), ["list", "glob", "search", "web_search"]);
    let reached: Vec<_> = turn.asked.iter().map(|asked| asked.reach.clone()).collect();
    let paths = |path: &str| Reach::Paths(vec![tree.join(path)]);
    assert_eq!(reached, [paths("sub"), paths("sub/*.txt"), paths(""), Reach::Elsewhere]);
}
