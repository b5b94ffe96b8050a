//! Which calls of the real Codex come back to the engine, in each posture and with what reach.

use std::fs;

use coppice::backend::event::{ApprovalRequest, Decision, ToolStatus};
use coppice::backend::{Access, Confines, Launch, Native};
use coppice::permission::{Posture, Reach};

use crate::agent::Agent;
use crate::codex_edge::{Edge, inside};
use crate::model::script::{Step, answer, read, shell, shell_beyond, write};

/// One call of each kind: a harmless read, a write by command and by tool, a write outside, a way out.
fn calls(edge: &Edge) -> Vec<Step> {
    let outside = edge.stage.path("home/outside.txt");
    vec![
        read("README.md"),
        shell("echo made > made.txt"),
        write("tool.txt", "by tool\n"),
        write(outside.to_str().unwrap(), "outside\n"),
        shell_beyond("echo beyond"),
        answer("done"),
    ]
}

/// A request in one line, with the places of the test left out.
fn line(edge: &Edge, asked: &ApprovalRequest) -> String {
    let reach = match &asked.reach {
        Reach::Paths(paths) => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
        Reach::Command { text, cwd } => format!("`{text}` in {}", cwd.display()),
        other @ (Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere) => format!("{other:?}"),
    };
    let reach = reach.replace(edge.tree().to_str().unwrap(), "TREE");
    format!("{}: {}", asked.tool, reach.replace(edge.stage.path("home").to_str().unwrap(), "HOME"))
}

#[track_caller]
fn every_call_comes_back(posture: Posture) {
    let edge = Edge::new();
    let seen = edge.turn(edge.launch(posture, edge.confined()), calls(&edge), inside(&edge.tree()));
    let lines: Vec<_> = seen.approvals.iter().map(|asked| line(&edge, asked)).collect();
    let expected = [
        "bash: `cat 'README.md'` in TREE",
        "bash: `echo made > made.txt` in TREE",
        "patch: TREE/tool.txt",
        "patch: HOME/outside.txt",
        "bash: Elsewhere",
    ];
    assert_eq!(lines, expected, "{seen:#?}");
    let tree = edge.tree();
    assert_eq!(fs::read_to_string(tree.join("made.txt")).unwrap(), "made\n");
    assert_eq!(fs::read_to_string(tree.join("tool.txt")).unwrap(), "by tool\n");
    assert!(!edge.stage.path("home/outside.txt").exists());
}

#[test]
fn attended_brings_every_call_back() {
    every_call_comes_back(Posture::Attended);
}

#[test]
fn edits_brings_every_call_back() {
    every_call_comes_back(Posture::Edits);
}

#[test]
fn unattended_brings_every_call_back() {
    every_call_comes_back(Posture::Unattended);
}

/// Nothing is asked, nothing but the plan is written.
#[test]
fn a_plan_reads_the_tree_and_writes_the_plan() {
    let edge = Edge::new();
    let plan = edge.stage.path("data/plans/plan.md");
    for confines in [edge.confined(), Confines::default()] {
        let mut steps = calls(&edge);
        steps.insert(0, write(plan.to_str().unwrap(), "the plan\n"));
        let launch = Launch { plan_file: Some(plan.clone()), ..edge.launch(Posture::Plan, confines) };
        let seen = edge.turn(launch, steps, inside(&edge.tree()));
        assert_eq!((seen.approvals.len(), &seen.failure), (0, &None), "{seen:#?}");
        assert_eq!(fs::read_to_string(&plan).unwrap(), "the plan\n");
        assert!(seen.outputs.iter().any(|(_, output)| output.contains("readme")), "{seen:#?}");
        assert!(!edge.tree().join("made.txt").exists() && !edge.tree().join("tool.txt").exists());
        assert!(!edge.stage.path("home/outside.txt").exists());
        fs::remove_file(&plan).unwrap();
    }
}

#[test]
fn a_read_only_agent_reads_and_is_not_asked_about() {
    let edge = Edge::new();
    let native = Native { access: Access::ReadOnly, ..Native::default() };
    let launch = Launch { native, ..edge.launch(Posture::Unattended, edge.confined()) };
    let seen = edge.turn(launch, calls(&edge), inside(&edge.tree()));
    assert_eq!((seen.approvals.len(), &seen.failure), (0, &None), "{seen:#?}");
    assert!(seen.outputs.iter().any(|(_, output)| output.contains("readme")), "{seen:#?}");
    assert!(!edge.tree().join("made.txt").exists() && !edge.tree().join("tool.txt").exists());
}

/// Level `off`: nothing holds the commands, and all of them are still asked about.
#[test]
fn without_limits_every_call_comes_back_too() {
    let edge = Edge::new();
    let outside = edge.stage.path("home/allowed.txt");
    let steps = [shell(&format!("echo x > {}", outside.display())), write("tool.txt", "x\n"), answer("done")];
    let seen = edge.turn(edge.launch(Posture::Unattended, Confines::default()), steps, inside(&edge.tree()));
    assert_eq!(seen.approvals.len(), 2, "{seen:#?}");
    assert!(outside.exists());
}

#[test]
fn the_words_of_a_refusal_reach_the_model_in_the_same_turn() {
    let edge = Edge::new();
    let refuse =
        |_: &ApprovalRequest| Decision::Deny { message: Some("Tool \"bash\" rejected by user: use just".into()) };
    let steps = [shell("make everything"), answer("as you wish")];
    let seen = edge.turn(edge.launch(Posture::Attended, edge.confined()), steps, refuse);
    assert_eq!(seen.outputs, [(ToolStatus::Failed, "declined".to_owned())], "{seen:#?}");
    let calls = edge.stage.model(Agent::Codex).calls();
    assert!(calls.last().unwrap().mentions("rejected by user: use just"));
    assert_eq!(calls.len(), 2, "no model call is wasted");
}
