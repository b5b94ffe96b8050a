//! Each of the fourteen steps, with the rule that it names.

use super::*;

#[test]
fn every_step_decides_in_its_order() {
    use Action::{Allow, Ask, Deny};
    let background = World { audience: Audience::Nobody, ..world() };
    let reader = World { access: Access::ReadOnly, ..world() };
    let rows: Vec<(World, Call, Action, Layer, Option<&str>)> = vec![
        // 1
        (world().yolo().grant("Bash(sudo *)"), bash("sudo ls"), Deny, Layer::HardFloor, None),
        // 2
        (World { missing: vec!["edit"], ..world() }, files("Edit", &["a"]), Deny, Layer::Surface, None),
        (World { missing: vec!["bash"], ..world().yolo() }, bash("ls"), Deny, Layer::Surface, None),
        // 3
        (world(), files("Read", &["/home/me/.ssh/id"]), Deny, Layer::PathGuard, None),
        (world().grant("Edit(**)"), files("edit", &[".git/config"]), Deny, Layer::PathGuard, None),
        (world().posture(Posture::Unattended), files("write", &["/etc/x"]), Deny, Layer::PathGuard, None),
        (world().posture(Posture::Unattended), files("read", &["/etc/x"]), Deny, Layer::PathGuard, None),
        (world().yolo(), files("write", &["/etc/x"]), Deny, Layer::PathGuard, None),
        // 4
        (reader, files("edit", &["a"]), Deny, Layer::AgentVeto, None),
        (
            world().agent(r#"{"bash":{"rm *":"deny"}}"#),
            bash("rm a"),
            Deny,
            Layer::AgentVeto,
            Some("bash(rm *) of the agent"),
        ),
        // 5
        (
            world().yolo().shared(&[], &[], &["Bash(rm *)"]),
            bash("ls && rm a"),
            Deny,
            Layer::DenyRule,
            Some("Bash(rm *) in .coppice/permissions.json"),
        ),
        (
            world().yolo().map(r#"{"read":{"*.env":"deny"}}"#),
            files("read", &["sub/x.env"]),
            Deny,
            Layer::DenyRule,
            Some("read(*.env) in permissions.jsonc"),
        ),
        // 6
        (world().posture(Posture::Plan).yolo(), files("edit", &["a"]), Deny, Layer::PlanGate, None),
        (world().posture(Posture::Plan), bash("make install"), Deny, Layer::PlanGate, None),
        (world().posture(Posture::Plan), mcp("db", "drop", Effect::Destroys), Deny, Layer::PlanGate, None),
        (world().posture(Posture::Plan), nothing("SomethingElse"), Deny, Layer::PlanGate, None),
        // 7
        (background.clone(), files("edit", &["a"]), Deny, Layer::NobodyToAsk, None),
        (
            background.shared(&[], &["Bash(make *)"], &[]).posture(Posture::Unattended),
            bash("make x"),
            Deny,
            Layer::NobodyToAsk,
            Some("Bash(make *) in .coppice/permissions.json"),
        ),
        // 8
        (
            world().yolo().grant("Bash(make *)").shared(&[], &["Bash(make *)"], &[]),
            bash("make x"),
            Ask,
            Layer::HardAsk,
            Some("Bash(make *) in .coppice/permissions.json"),
        ),
        (world().yolo(), bash("echo 'open"), Ask, Layer::HardAsk, None),
        (world().posture(Posture::Unattended), files("apply_patch", &[]), Ask, Layer::HardAsk, None),
        // 9
        (world().posture(Posture::Plan).yolo(), nothing("ExitPlanMode"), Ask, Layer::Boundary, None),
        (world().yolo(), nothing("EnterPlanMode"), Ask, Layer::Boundary, None),
        (world().yolo(), nothing("request_permissions"), Ask, Layer::Boundary, None),
        (world().agent(r#"{"*":"allow"}"#), nothing("request_permissions"), Ask, Layer::Boundary, None),
        (
            world().map(r#"{"request_permissions":"allow"}"#).posture(Posture::Unattended),
            nothing("request_permissions"),
            Ask,
            Layer::Boundary,
            None,
        ),
        // 10
        (world().yolo(), bash("make install"), Allow, Layer::Yolo, None),
        (world().yolo(), mcp("db", "drop", Effect::Destroys), Allow, Layer::Yolo, None),
        // 11
        (world().posture(Posture::Plan), files("write", &[PLAN]), Allow, Layer::PlanFile, None),
        // 12
        (world().posture(Posture::Edits), files("edit", &["src/a"]), Allow, Layer::AcceptEdits, None),
        (world().posture(Posture::Edits), bash("cat a | grep b"), Allow, Layer::AcceptEdits, None),
        (world().posture(Posture::Unattended), bash("make install"), Allow, Layer::AcceptEdits, None),
        // 13
        (
            world().shared(&["Edit(src/**)"], &[], &[]),
            files("edit", &["src/a"]),
            Allow,
            Layer::Rules,
            Some("Edit(src/**) in .coppice/permissions.json"),
        ),
        (world().grant("Bash(make *)"), bash("make x"), Allow, Layer::Rules, Some("Bash(make *) for this session")),
        (
            world().agent(r#"{"read":"allow"}"#).map(r#"{"read":"ask"}"#),
            files("read", &["a"]),
            Ask,
            Layer::Rules,
            Some("read(*) in permissions.jsonc"),
        ),
        // 14
        (world(), files("read", &["src/a"]), Allow, Layer::ToolClass, None),
        (world(), files("edit", &["src/a"]), Ask, Layer::ToolClass, None),
        (world(), nothing("SomethingElse"), Ask, Layer::ToolClass, None),
    ];
    let mut decided: Vec<Layer> = Vec::new();
    for (world, call, action, layer, rule) in rows {
        let found = world.decide(&call);
        assert_eq!((found.action, found.layer, found.rule.as_deref()), (action, layer, rule), "{call:?}: {found:?}");
        assert!(!found.reason.is_empty());
        decided.push(layer);
    }
    decided.dedup();
    assert_eq!(decided.iter().map(|layer| layer.number()).collect::<Vec<_>>(), (1..=14).collect::<Vec<_>>());
}

#[test]
fn the_model_is_told_which_rule_forbids() {
    let found =
        world().shared(&[], &[], &["Edit(/etc/**)", "Edit(gen/**)"]).decide(&files("apply_diff", &["a", "gen/b"]));
    assert_eq!(
        found.reason,
        "Tool \"apply_diff\" denied by policy for pattern: gen/b\n\
         Relevant rules: [{\"permission\":\"Edit\",\"pattern\":\"gen/**\",\"action\":\"deny\"}]"
    );
    let found = world().agent(r#"{"bash":"deny"}"#).decide(&bash("ls -l"));
    assert_eq!(
        found.reason,
        "Tool \"Bash\" denied by policy for pattern: ls -l\n\
         Relevant rules: [{\"permission\":\"bash\",\"pattern\":\"*\",\"action\":\"deny\"}]"
    );
    let found = World { missing: vec!["read"], ..world() }.decide(&files("Read", &["a"]));
    assert_eq!(found.reason, "tool not available to agent");
}

#[test]
fn what_is_outside_is_asked_about_while_somebody_watches() {
    for posture in [Posture::Attended, Posture::Edits] {
        let world = world().posture(posture);
        for tool in ["read", "grep", "list_dir", "write", "edit", "delete_file"] {
            world.check(&files(tool, &["/opt/x"]), Action::Ask, Layer::PathGuard);
        }
        world.check(&files("read", &["/usr/include/a.h"]), Action::Allow, Layer::ToolClass);
        world.check(&files("write", &["/data/state/coppice.db"]), Action::Deny, Layer::PathGuard);
    }
    // Only a rule that names the place opens it.
    world().grant("Edit(**)").check(&files("edit", &["/opt/x"]), Action::Ask, Layer::PathGuard);
    world().agent(r#"{"*":"allow"}"#).check(&files("edit", &["/opt/x"]), Action::Ask, Layer::PathGuard);
    world().grant("Edit(/opt/*)").check(&files("edit", &["/opt/x"]), Action::Allow, Layer::Rules);
    // What is unknown is outside, whatever it looks like.
    world().grant("Read(**)").check(
        &link("read", "a", "/data/state/worktrees/a/no/../x"),
        Action::Ask,
        Layer::PathGuard,
    );
    world().agent(r#"{"*":"allow"}"#).check(
        &files("edit", &["/data/state/sessions/1/tmp/a"]),
        Action::Allow,
        Layer::Rules,
    );
    let map = world().map(r#"{"external_directory":{"*":"ask","/opt/*":"allow"}}"#);
    map.check(&files("edit", &["/opt/x"]), Action::Allow, Layer::Rules);
    map.check(&files("edit", &["/srv/x"]), Action::Ask, Layer::Rules);
}

#[test]
fn a_rule_about_git_holds_for_the_shell_but_opens_nothing_there() {
    world().shared(&[], &[], &["Git(push *)"]).check(&bash("cd a && git push origin"), Action::Deny, Layer::DenyRule);
    world().grant("Git(push *)").check(&bash("git push origin"), Action::Ask, Layer::ToolClass);
    let push = call("git", Subject::Name("push origin".to_owned()));
    world().grant("Git(push *)").check(&push, Action::Allow, Layer::Rules);
}

#[test]
fn a_rule_that_forbids_means_every_tool_that_does_the_same() {
    let git = |words: &str| call("git", Subject::Name(words.to_owned()));
    let alone = || world().posture(Posture::Unattended);
    let pr = || nothing("gh_pr_create");
    let both = |rule: &str, call: &Call| {
        alone().shared(&[], &[], &[rule]).check(call, Action::Deny, Layer::DenyRule);
        alone().yolo().shared(&[], &[rule], &[]).check(call, Action::Ask, Layer::HardAsk);
    };
    for rule in ["git_push(*)", "Git(push *)", "Git(push*)", "Bash(git push*)", "Bash(git push *)"] {
        for call in [
            nothing("git_push"),
            git("push origin"),
            git("-C . push"),
            bash("git push"),
            bash("git -C . push origin x"),
            bash("x=push; git $x"),
            bash("poetry run git push"),
        ] {
            both(rule, &call);
        }
        for call in [nothing("git_status"), git("log --grep push"), bash("git commit -m push")] {
            assert_ne!(alone().shared(&[], &[], &[rule]).decide(&call).action, Action::Deny, "{rule}, {call:?}");
        }
    }
    for (rule, call) in [
        ("Bash(git push origin *)", nothing("git_push")),
        ("Bash(git commit*)", nothing("git_commit_apply")),
        ("git_commit(*)", bash("git commit -am x")),
        ("Git(add *)", files("git_stage_files", &["a"])),
        ("rollback(*)", bash("git reset --hard HEAD~1")),
        ("Bash(git reset --hard*)", call("rollback", Subject::Name("HEAD~1".to_owned()))),
        ("Bash(gh pr create*)", pr()),
        ("Github(create_pr)", bash("gh pr create --fill")),
        ("Bash(cargo test*)", call("run_tests", bash("cargo test").subject)),
        ("Edit(gen/**)", files("delete_file", &["gen/a"])),
        ("Edit(gen/**)", files("move_file", &["gen/a", "b"])),
        ("Edit(gen/**)", files("move_file", &["b", "gen/a"])),
        ("Edit(gen/**)", files("copy_file", &["b", "gen/a"])),
        ("Edit(gen/**)", files("write", &["gen/a"])),
        ("Edit(gen/a)", files("delete_file", &["gen"])),
        ("Write(gen/**)", files("edit", &["gen/a"])),
        ("Write(gen/**)", files("delete_file", &["gen"])),
        ("Write(gen/**)", link("delete_file", "a", &format!("{TREE}/gen/a"))),
        ("Delete(gen/**)", files("move_file", &["gen/a", "b"])),
    ] {
        both(rule, &call);
    }
    for (rule, call) in [
        ("Bash(git push --force*)", nothing("git_push")),
        ("Bash(git commit --no-verify*)", nothing("git_commit")),
        ("Bash(*)", nothing("git_status")),
        ("Git(*)", nothing("git_status")),
        ("Edit(gen/**)", files("copy_file", &["gen/a", "b"])),
        ("Delete(gen/**)", files("move_file", &["b", "gen/a"])),
        ("patch(gen/**)", files("write", &["gen/a"])),
    ] {
        assert_ne!(alone().shared(&[], &[], &[rule]).decide(&call).action, Action::Deny, "{rule}, {call:?}");
    }
    // A rule that allows stays with its own tool.
    for (rule, call) in [
        ("git_push(*)", bash("git push")),
        ("Bash(git push*)", nothing("git_push")),
        ("Bash(git push*)", git("push")),
        ("Edit(**)", files("delete_file", &["a"])),
        ("Edit(**)", files("write", &["a"])),
    ] {
        world().grant(rule).check(&call, Action::Ask, Layer::ToolClass);
    }
}

#[test]
fn a_map_that_forbids_means_every_tool_that_does_the_same() {
    let git = |words: &str| call("git", Subject::Name(words.to_owned()));
    for (map, call) in [
        (r#"{"git_push":"deny"}"#, bash("ls && git push")),
        (r#"{"git_push":"deny"}"#, bash("git push $x")),
        (r#"{"git_push":"deny"}"#, git("push")),
        (r#"{"git":{"push*":"deny"}}"#, nothing("git_push")),
        (r#"{"bash":{"*":"allow","git push*":"deny"}}"#, nothing("git_push")),
        (r#"{"edit":{"gen/*":"deny"}}"#, files("delete_file", &["gen/a"])),
        (r#"{"write":{"gen/*":"deny"}}"#, files("copy_file", &["a", "gen/a"])),
        (r#"{"web_fetch":{"https://evil.org/*":"deny"}}"#, call("WebFetch", Subject::Url("https://EVIL.org/".into()))),
    ] {
        world().yolo().map(map).check(&call, Action::Deny, Layer::DenyRule);
        world().agent(map).check(&call, Action::Deny, Layer::AgentVeto);
    }
    for (map, call) in [
        (r#"{"*":"deny","bash":"allow"}"#, bash("git push")),
        (r#"{"bash":"deny"}"#, nothing("git_push")),
        (r#"{"git_push":"deny","git_*":"allow"}"#, bash("git push")),
        (r#"{"edit":"deny"}"#, files("delete_file", &["a"])),
    ] {
        world().yolo().map(map).check(&call, Action::Allow, Layer::Yolo);
    }
}

#[test]
fn what_throws_work_away_is_allowed_by_no_pattern() {
    let force = bash("git push --force origin");
    let tool = call("git", Subject::Name("push --force origin".to_owned()));
    let wide = world().grant("Bash(git push *)").grant("Git(push *)").agent(r#"{"bash":"allow","git":"allow"}"#);
    wide.check(&bash("git push origin"), Action::Allow, Layer::Rules);
    wide.check(&force, Action::Ask, Layer::ToolClass);
    wide.check(&tool, Action::Ask, Layer::ToolClass);
    world().grant("Bash(git push --force origin)").check(&force, Action::Allow, Layer::Rules);
    world().grant("Git(push --force origin)").check(&tool, Action::Allow, Layer::Rules);
}

#[test]
fn subjects_of_other_systems_are_judged_beside_the_tool() {
    let map = world().map(r#"{"network_target":{"*":"deny","docs.rs":"allow"}}"#);
    let fetch = |url: &str| call("WebFetch", Subject::Url(url.to_owned()));
    map.check(&fetch("https://docs.rs/a"), Action::Allow, Layer::Rules);
    map.check(&fetch("https://me@evil.org:443/a"), Action::Deny, Layer::DenyRule);
    world().shared(&[], &[], &["Fetch(http://*)"]).check(&fetch("http://a"), Action::Deny, Layer::DenyRule);
    map.check(&fetch("https://docs.rs@EVIL.org./a"), Action::Deny, Layer::DenyRule);
    for rule in ["Fetch(https://evil.org/*)", "WebFetch(domain:Evil.org)"] {
        for url in ["https://EVIL.org/a", "https://evil.org.:443/a", "https://docs.rs@%65vil.org/a"] {
            world().yolo().shared(&[], &[], &[rule]).check(&fetch(url), Action::Deny, Layer::DenyRule);
            world().yolo().shared(&[], &[rule], &[]).check(&fetch(url), Action::Ask, Layer::HardAsk);
        }
        world().yolo().shared(&[], &[], &[rule]).check(&fetch("https://docs.rs/"), Action::Allow, Layer::Yolo);
    }
}

#[test]
fn a_redirect_needs_more_than_a_pattern_unless_edits_go_ahead() {
    let (inside, outside) = (bash("echo a > b"), shell("echo a > /home/me/.bashrc", Leads::Elsewhere));
    let allowed = world().grant("Bash(echo *)");
    for world in [allowed.clone(), allowed.advisory()] {
        world.check(&shell("echo a 2>&1", Leads::Elsewhere), Action::Allow, Layer::Rules);
        world.check(&inside, Action::Ask, Layer::ToolClass);
        world.clone().posture(Posture::Edits).check(&inside, Action::Allow, Layer::Rules);
        world.clone().grant("Bash(*)").check(&inside, Action::Allow, Layer::Rules);
        world.clone().agent(r#"{"bash":{"echo *":"allow"}}"#).check(&inside, Action::Ask, Layer::ToolClass);
        world.grant("Bash(echo a >b)").check(&inside, Action::Allow, Layer::Rules);
    }
    let edits = world().advisory().posture(Posture::Edits).grant("Bash(echo *)");
    edits.check(&outside, Action::Ask, Layer::ToolClass);
    edits.grant("Bash(echo a >/home/me/.bashrc)").check(&outside, Action::Allow, Layer::Rules);
}

#[test]
fn the_agent_of_a_repository_can_forbid_and_allow_nothing() {
    let map = r#"{"*":"allow","bash":{"rm *":"deny","git push *":"ask"}}"#;
    let brought = || World { agent_word: AgentWord::OnlyTightens, ..world().agent(map) };
    world().agent(map).check(&bash("make"), Action::Allow, Layer::Rules);
    brought().check(&bash("make"), Action::Ask, Layer::ToolClass);
    brought().check(&bash("rm a"), Action::Deny, Layer::AgentVeto);
    brought().check(&bash("git push origin"), Action::Ask, Layer::Rules);
}

#[test]
fn a_question_about_a_read_says_what_it_is_about() {
    for (text, reason) in [
        ("cat key.pem", "it names a file that may hold secrets, and no rule allows it"),
        ("cat /etc/passwd", "it may read outside of the work tree, and no rule allows it"),
        ("rm key.pem", "it may change something, and no rule allows it"),
    ] {
        let found = world().decide(&shell(text, Leads::Elsewhere));
        assert_eq!((found.action, found.reason.as_str()), (Action::Ask, reason), "{text}");
    }
}
