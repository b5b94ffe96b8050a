//! What no combination of layers ever does.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::permission::offer;

const RULES: &[&str] = &[
    "Bash(*)",
    "Bash(make *)",
    "Bash(sudo *)",
    "Edit(**)",
    "Edit(/**)",
    "Edit(src/**)",
    "Write(**)",
    "Read(**)",
    "Read(/**)",
    "MCP(*)",
    "MCP(db/drop)",
    "Fetch(*)",
    "Git(*)",
    "Move(** -> **)",
    "Delete(*)",
    "git_push(*)",
];

const MAPS: &[&str] = &[
    "{}",
    r#"{"*":"allow"}"#,
    r#"{"*":"ask"}"#,
    r#"{"*":"deny"}"#,
    r#"{"*":"deny","read":"allow"}"#,
    r#"{"bash":{"*":"allow","make *":"deny"}}"#,
    r#"{"edit":{"src/*":"deny"},"mcp__*":"allow"}"#,
    r#"{"*":"allow","external_directory":"deny"}"#,
];

fn calls() -> Vec<Call> {
    vec![
        bash("sudo ls"),
        bash("ls; sudo make x"),
        bash("cd / && rm -rf /"),
        bash("bash -c 'mkfs /dev/sda'"),
        bash("make x"),
        bash("cat a"),
        bash("echo 'open"),
        shell("make -C /opt", Leads::Elsewhere),
        files("read", &["src/a"]),
        files("read", &["/opt/x"]),
        files("read", &["/home/me/.ssh/id"]),
        files("edit", &["src/a"]),
        files("edit", &["src/a", "b"]),
        files("edit", &[".git/config"]),
        files("edit", &["/opt/x"]),
        files("edit", &[]),
        files("write", &[PLAN]),
        files("delete_file", &["src"]),
        files("move_file", &["src/a", "b"]),
        link("edit", "docs", "/opt/x"),
        mcp("db", "drop", Effect::Destroys),
        mcp("db", "get", Effect::Reads),
        call("WebFetch", Subject::Url("https://docs.rs".to_owned())),
        call("git", Subject::Name("push".to_owned())),
        nothing("git_push"),
        nothing("exit_plan_mode"),
        nothing("todo_write"),
        nothing("Unheard"),
    ]
}

fn some_rules() -> impl Strategy<Value = Vec<Rule>> {
    prop::collection::vec(select(rules(RULES)), 0..4)
}

fn some_file() -> impl Strategy<Value = RuleFile> {
    (some_rules(), some_rules(), some_rules()).prop_map(|(allow, ask, deny)| RuleFile {
        name: SHARED.to_owned(),
        allow,
        ask,
        deny,
    })
}

prop_compose! {
    fn some_world()(
        posture in select(Posture::ALL.to_vec()),
        overlay in select(vec![Overlay::None, Overlay::Yolo]),
        hold in select(vec![Hold::Enforced, Hold::Advisory]),
        access in select(vec![Access::Write, Access::ReadOnly]),
        audience in select(vec![Audience::Person, Audience::Nobody]),
        missing in select(vec![vec![], vec!["edit"], vec!["bash"]]),
        agent in prop::option::of(select(MAPS)),
        map in prop::option::of(select(MAPS)),
        files in prop::collection::vec(some_file(), 0..3),
        grants in some_rules(),
        trusted in select(vec![vec![], vec!["db".to_owned()]]),
    ) -> World {
        let read = |text: &str| load::map("map", text, "/home/me").unwrap();
        let rules = Rules { files, map: map.map(read), trusted_servers: trusted };
        World { posture, overlay, hold, access, audience, missing, agent: agent.map(read), agent_word: AgentWord::Counts, rules, grants, git_driver: None }
    }
}

/// Whether a deny of some layer, taken alone, forbids a call.
fn is_forbidden(world: &World, call: &Call) -> bool {
    let alone = |part: World| matches!(part.decide(call).layer, Layer::HardFloor | Layer::AgentVeto | Layer::DenyRule);
    let denies = |file: &RuleFile| RuleFile { allow: Vec::new(), ask: Vec::new(), ..file.clone() };
    let files = world.rules.files.iter().map(denies).collect();
    alone(World { agent: world.agent.clone(), ..super::world() })
        || alone(World { access: world.access, ..super::world() })
        || alone(World { rules: Rules { files, ..Rules::default() }, ..super::world() })
        || alone(World { rules: Rules { map: world.rules.map.clone(), ..Rules::default() }, ..super::world() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_allows_what_the_floor_a_rule_or_the_agent_forbids(world in some_world(), call in select(calls())) {
        let found = world.decide(&call);
        if let Subject::Command { text, .. } = &call.subject
            && floor::catastrophe(text).is_some()
        {
            prop_assert_eq!((found.action, found.layer), (Action::Deny, Layer::HardFloor));
        }
        if found.action == Action::Allow {
            prop_assert!(!is_forbidden(&world, &call), "{:?}", found);
        }
    }

    #[test]
    fn an_allow_or_a_grant_never_turns_a_deny_into_an_allow(
        world in some_world(),
        call in select(calls()),
        rule in select(rules(RULES)),
    ) {
        let before = world.decide(&call);
        if before.action == Action::Deny && before.layer != Layer::NobodyToAsk {
            let granted = World { grants: vec![rule.clone()], ..world.clone() };
            prop_assert_eq!(&granted.decide(&call), &before);
            let mut allowing = world;
            allowing.rules.files.push(RuleFile { allow: vec![rule], ..RuleFile::default() });
            prop_assert_eq!(&allowing.decide(&call), &before);
        }
    }

    #[test]
    fn yolo_and_grants_never_open_what_a_file_wants_to_be_asked_about(world in some_world(), call in select(calls())) {
        let asks = world.rules.files.iter().any(|file| !file.ask.is_empty());
        let before = world.decide(&call);
        if asks && before.layer == Layer::HardAsk {
            prop_assert_ne!(World { grants: rules(RULES), ..world.yolo() }.decide(&call).action, Action::Allow);
        }
    }

    #[test]
    fn what_is_offered_lets_the_call_through_and_nothing_that_is_forbidden(
        world in some_world(),
        call in select(calls()),
    ) {
        let Some(offered) = offer::rules(&call, &places()) else { return Ok(()) };
        let before = world.decide(&call);
        let after = World { grants: offered, ..world }.decide(&call);
        if matches!(before.layer, Layer::Rules | Layer::ToolClass) {
            prop_assert_eq!(after.action, Action::Allow);
        } else if before.action == Action::Deny && before.layer != Layer::NobodyToAsk {
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn a_verdict_is_the_same_twice_and_says_why(world in some_world(), call in select(calls())) {
        let found = world.decide(&call);
        prop_assert!(!found.reason.is_empty());
        prop_assert_eq!(world.decide(&call), found);
    }
}
