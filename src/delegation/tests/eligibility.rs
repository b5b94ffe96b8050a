//! Who may hand work to whom, and how deep.

use super::*;

fn standing<'a>(depth: u32, agent: &'a str, nested_agents: &'a [String]) -> Standing<'a> {
    Standing {
        depth,
        agent,
        tool: DelegationTool::InSurface,
        max_depth: 1,
        nested_agents,
        active_children: 0,
        max_children: 8,
    }
}

const WORKER: Candidate<'_> = Candidate { id: "worker", mode: Mode::Subagent };

fn nested() -> Vec<String> {
    vec!["orchestrator".into()]
}

#[test]
fn only_those_that_take_work_are_given_work() {
    for parent in ["engineer", "orchestrator", "anybody"] {
        let nested = nested();
        let parent = standing(0, parent, &nested);
        for (mode, expected) in [
            (Mode::Primary, Err("agent \"x\" is not delegatable (mode: primary)".to_owned())),
            (Mode::Subagent, Ok(())),
            (Mode::All, Ok(())),
        ] {
            assert_eq!(admit(&parent, Candidate { id: "x", mode }), expected);
        }
    }
}

#[test]
fn a_child_does_not_delegate_though_its_file_allows_it() {
    let nested = nested();
    let child = standing(1, "general", &nested);
    assert!(!may_delegate(&child));
    assert_eq!(admit(&child, WORKER).unwrap_err(), "Agent depth limit reached. Solve the task yourself.");
    assert!(may_delegate(&Standing { nested_agents: &["general".into()], ..child }));
}

#[test]
fn nobody_delegates_without_the_tool() {
    let nested = nested();
    for agent in ["builder", "orchestrator"] {
        let parent = Standing { tool: DelegationTool::Absent, ..standing(0, agent, &nested) };
        assert!(!may_delegate(&parent) && admit(&parent, WORKER).is_err());
    }
}

#[test]
fn an_orchestrator_may_go_one_level_deeper() {
    let nested = nested();
    for (depth, max_depth, agent, expected) in [
        (0, 1, "engineer", true),
        (1, 1, "engineer", false),
        (0, 1, "orchestrator", true),
        (1, 1, "orchestrator", true),
        (2, 1, "orchestrator", false),
        (1, 2, "engineer", true),
        (2, 3, "orchestrator", true),
        (3, 3, "orchestrator", false),
        (0, 0, "engineer", false),
        (0, 0, "orchestrator", false),
    ] {
        let parent = Standing { max_depth, ..standing(depth, agent, &nested) };
        assert_eq!(may_delegate(&parent), expected, "{parent:?}");
        let refusal = Err("Agent depth limit reached. Solve the task yourself.".to_owned());
        assert_eq!(admit(&parent, WORKER), if expected { Ok(()) } else { refusal });
    }
}

#[test]
fn a_session_has_only_so_many_children_at_once() {
    let parent = standing(0, "engineer", &[]);
    assert_eq!(admit(&Standing { active_children: 7, ..parent }, WORKER), Ok(()));
    assert_eq!(
        admit(&Standing { active_children: 8, ..parent }, WORKER).unwrap_err(),
        "at most 8 background subagents may run concurrently (current: 8); wait for one to finish or close one, \
         then try again"
    );
}
