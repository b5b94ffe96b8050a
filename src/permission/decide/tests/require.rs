//! What each layer of a decision promises.

use super::*;
use crate::permission::imported_mode;

#[test]
fn secrets_of_the_tree_are_kept_by_the_map_and_examples_are_not() {
    let world = world().map(load::SEED).yolo();
    world.check(&files("read_file", &["sub/.env"]), Action::Deny, Layer::DenyRule);
    world.check(&files("Edit", &["sub/.env.production"]), Action::Deny, Layer::DenyRule);
    world.check(&files("read_many_files", &["a", "aws-credentials"]), Action::Deny, Layer::DenyRule);
    world.check(&files("read", &["sub/.env.example"]), Action::Allow, Layer::Yolo);
    // A word in the path of the tree is none of its files.
    world.check(&files("read", &["src/a.rs"]), Action::Allow, Layer::Yolo);
}

#[test]
fn what_may_not_be_read_is_not_shown_by_another_tool_nor_carried_away() {
    use Action::{Allow, Ask, Deny};
    let seeded = || world().posture(Posture::Edits).map(load::SEED);
    let shared = || world().posture(Posture::Edits).shared(&[], &[], &["Read(keys/**)", "Read(conf/prod.yml)"]);
    let reader = || world().agent(r#"{"*":"deny","grep":"allow","read":{"*":"allow","*.env":"deny"}}"#);
    for (world, tool, paths, action, layer) in [
        (seeded(), "grep", &["api/.env"][..], Deny, Layer::DenyRule),
        (seeded(), "Grep", &["my-credentials.json"], Deny, Layer::DenyRule),
        (seeded(), "grep", &["src"], Allow, Layer::ToolClass),
        (seeded(), "grep", &["api/.env.example"], Allow, Layer::ToolClass),
        (seeded(), "git_show_file_at_rev", &["api/.env"], Deny, Layer::DenyRule),
        (seeded(), "git_blame_lines", &["secrets/a"], Deny, Layer::DenyRule),
        (seeded(), "refs", &["secret.ts"], Deny, Layer::DenyRule),
        (seeded(), "list_dir", &["secrets"], Allow, Layer::ToolClass),
        (seeded(), "copy_file", &["api/credentials.txt", "x.txt"], Deny, Layer::DenyRule),
        (seeded(), "move_file", &["api/credentials.txt", "x.txt"], Deny, Layer::DenyRule),
        (seeded(), "move_file", &["secrets", "x"], Deny, Layer::DenyRule),
        // Only what is carried away counts, not where it goes.
        (seeded(), "copy_file", &["x.txt", "credentials.txt"], Allow, Layer::AcceptEdits),
        (seeded(), "move_file", &["src", "lib"], Allow, Layer::AcceptEdits),
        (shared(), "grep", &["keys/a.pem"], Deny, Layer::DenyRule),
        (shared(), "git_blame_lines", &["conf/prod.yml"], Deny, Layer::DenyRule),
        (shared(), "move_file", &["keys", "x"], Deny, Layer::DenyRule),
        (shared(), "move_file", &["conf", "x"], Deny, Layer::DenyRule),
        (shared(), "copy_file", &["conf/dev.yml", "x"], Allow, Layer::AcceptEdits),
        (world().map(r#"{"read":{"conf/prod.yml":"deny"}}"#), "move_file", &["conf", "x"], Deny, Layer::DenyRule),
        (reader(), "grep", &["x.env"], Deny, Layer::AgentVeto),
        (reader(), "grep", &["src/a"], Allow, Layer::Rules),
        // What closes the tool and not the file says nothing about others.
        (world().agent(r#"{"read":"deny","grep":"allow"}"#), "grep", &["src/a"], Allow, Layer::Rules),
        (world().shared(&[], &[], &["Read(**)"]), "copy_file", &["a", "b"], Ask, Layer::ToolClass),
    ] {
        world.check(&files(tool, paths), action, layer);
    }
    let found = seeded().yolo().decide(&files("grep", &["api/.env"]));
    assert_eq!(
        found.reason,
        "Tool \"grep\" denied by policy for pattern: api/.env\n\
         Relevant rules: [{\"permission\":\"read\",\"pattern\":\"*.env\",\"action\":\"deny\"}]"
    );
    seeded().check(&link("grep", "plain.txt", &format!("{TREE}/api/.env")), Deny, Layer::DenyRule);
}

#[test]
fn an_agent_s_deny_is_final_and_a_session_may_only_lift_what_is_asked() {
    let edit = files("edit", &["a"]);
    for (agent, map, grant, action, layer) in [
        ("allow", Some("ask"), None, Action::Ask, Layer::Rules),
        ("ask", None, Some("Edit(**)"), Action::Allow, Layer::Rules),
        ("ask", Some("ask"), Some("Edit(**)"), Action::Allow, Layer::Rules),
        ("deny", Some("allow"), Some("Edit(**)"), Action::Deny, Layer::AgentVeto),
        ("allow", Some("deny"), Some("Edit(**)"), Action::Deny, Layer::DenyRule),
        ("allow", None, None, Action::Allow, Layer::Rules),
        ("ask", Some("allow"), None, Action::Allow, Layer::Rules),
    ] {
        let mut world = world().agent(&format!(r#"{{"edit":"{agent}"}}"#));
        if let Some(map) = map {
            world = world.map(&format!(r#"{{"*":"{map}"}}"#));
        }
        if let Some(grant) = grant {
            world = world.grant(grant);
        }
        world.check(&edit, action, layer);
        if action == Action::Deny {
            world.yolo().check(&edit, action, layer);
        }
    }
    // A call that does not say what it is about may be about what is denied.
    world().agent(r#"{"edit":"deny"}"#).check(&files("edit", &[]), Action::Deny, Layer::AgentVeto);
}

#[test]
fn in_attended_a_tool_that_changes_something_asks_unless_a_rule_or_yolo_allows_it() {
    let calls = [
        (files("write", &["a"]), "Write(*)"),
        (files("edit", &["a"]), "Edit(*)"),
        (files("mkdir", &["a"]), "Mkdir(*)"),
        (files("delete_file", &["a"]), "Delete(*)"),
        (files("move_file", &["a", "b"]), "Move(* -> *)"),
        (files("copy_file", &["a", "b"]), "Copy(*)"),
        (bash("make x"), "Bash(make *)"),
        (nothing("git_push"), "git_push(*)"),
        (nothing("gh_pr_create"), "Github(create_pr)"),
        (call("rollback", Subject::Name("HEAD~1".to_owned())), "Rollback(HEAD~1)"),
        (call("run_tests", bash("cargo test").subject), "Tests(cargo test*)"),
        (mcp("db", "add", Effect::Adds), "MCP(db/*)"),
    ];
    for (call, rule) in &calls {
        world().check(call, Action::Ask, Layer::ToolClass);
        world().grant(rule).check(call, Action::Allow, Layer::Rules);
        world().shared(&[rule], &[], &[]).check(call, Action::Allow, Layer::Rules);
        world().yolo().check(call, Action::Allow, Layer::Yolo);
    }
    for tool in ["todo_write", "list_agents", "task_workflow", "question", "delegate", "symbols", "gh_pr_read"] {
        world().check(&nothing(tool), Action::Allow, Layer::ToolClass);
    }
}

#[test]
fn a_rule_about_edits_holds_for_every_file_of_a_patch() {
    let patch = files("apply_diff", &["src/a", "gen/b"]);
    world().shared(&["Edit(src/**)"], &[], &["Edit(gen/**)"]).check(&patch, Action::Deny, Layer::DenyRule);
    world().shared(&["Edit(src/**)"], &["Edit(gen/**)"], &[]).check(&patch, Action::Ask, Layer::HardAsk);
    world().shared(&["Edit(src/**)"], &[], &[]).check(&patch, Action::Ask, Layer::ToolClass);
    let both = world().shared(&["Edit(src/**)", "Edit(gen/**)"], &[], &[]);
    both.check(&patch, Action::Allow, Layer::Rules);
    let rules = "Edit(src/**) in .coppice/permissions.json, Edit(gen/**) in .coppice/permissions.json";
    assert_eq!(both.decide(&patch).rule.as_deref(), Some(rules));
    world().shared(&["Write(**)"], &[], &[]).check(&patch, Action::Ask, Layer::ToolClass);
}

#[test]
fn tools_of_other_servers_are_asked_about_and_a_glob_never_allows_what_destroys() {
    let (drop, add, read) =
        (mcp("db", "drop", Effect::Destroys), mcp("db", "add", Effect::Adds), mcp("db", "get", Effect::Reads));
    for call in [&drop, &add, &read] {
        world().check(call, Action::Ask, Layer::ToolClass);
        world().posture(Posture::Unattended).check(call, Action::Ask, Layer::ToolClass);
        world().shared(&[], &[], &["MCP(db/*)"]).yolo().check(call, Action::Deny, Layer::DenyRule);
    }
    let trusting = World { rules: Rules { trusted_servers: vec!["db".to_owned()], ..Rules::default() }, ..world() };
    trusting.check(&read, Action::Allow, Layer::ToolClass);
    trusting.check(&add, Action::Ask, Layer::ToolClass);
    for wide in [world().grant("MCP(*)"), world().grant("MCP(db/*)"), world().agent(r#"{"mcp__db__*":"allow"}"#)] {
        wide.check(&drop, Action::Ask, Layer::ToolClass);
        wide.check(&add, Action::Allow, Layer::Rules);
    }
    world().grant("MCP(db/drop)").check(&drop, Action::Allow, Layer::Rules);
    world().agent(r#"{"mcp__db__drop":"allow"}"#).check(&drop, Action::Allow, Layer::Rules);
}

#[test]
fn deny_rules_and_the_end_of_a_plan_survive_yolo() {
    let world = world().yolo();
    world.clone().shared(&[], &[], &["Edit(**)"]).check(&files("edit", &["a"]), Action::Deny, Layer::DenyRule);
    world.clone().map(r#"{"bash":"deny"}"#).check(&bash("ls"), Action::Deny, Layer::DenyRule);
    world.posture(Posture::Plan).check(&nothing("exit_plan_mode"), Action::Ask, Layer::Boundary);
}

#[test]
fn no_tool_reads_a_secret_and_no_command_names_one() {
    for posture in Posture::ALL {
        let watched = world().posture(posture).grant("Bash(*)").grant("Bash(cat .env)");
        for world in [watched.clone(), watched.advisory(), world().posture(posture).yolo()] {
            for tool in ["read_file", "read_many_files", "grep", "Read"] {
                world.check(&files(tool, &["src/a", "/home/me/.aws/credentials"]), Action::Deny, Layer::PathGuard);
                world.check(&link(tool, "logo.png", "/home/me/.ssh/id_rsa"), Action::Deny, Layer::PathGuard);
                world.check(&files(tool, &[".env"]), Action::Deny, Layer::PathGuard);
            }
            for text in [
                "cat .env",
                "cat /home/me/.ssh/id_rsa",
                "cat ~/.netrc",
                "cd && cat .netrc",
                "cd -P; cat .netrc",
                "tar -czf x -C ~ .ssh",
                "make && . ./.env",
                "cd src; cat ../.env",
            ] {
                for leads in [Leads::Inside, Leads::Kept, Leads::Elsewhere] {
                    world.check(&shell(text, leads), Action::Deny, Layer::PathGuard);
                }
            }
        }
    }
    // What is only mentioned, and other files that may hold keys, are left to rules and postures.
    for text in ["cat server.pem", "cat api/.env"] {
        world().check(&shell(text, Leads::Elsewhere), Action::Ask, Layer::ToolClass);
        world().posture(Posture::Unattended).check(&bash(text), Action::Allow, Layer::AcceptEdits);
    }
    world().posture(Posture::Unattended).check(&bash("echo .env >> .gitignore"), Action::Allow, Layer::AcceptEdits);
}

#[test]
fn a_rule_that_keeps_a_file_from_being_read_counts_for_commands() {
    let shown = [
        "cat api/.env",
        "cd api && head -n 3 a/.env",
        "grep -n KEY api/.env",
        "cp api/.env x",
        "cat < api/.env",
        "tr a a < api/.env",
        "make < api/.env",
        "while read l; do echo $l; done < api/.env",
        "exec 3< api/.env; read x <&3",
        "x=$(< api/.env)",
        "tail -f api/.env | grep KEY",
        "git show HEAD:api/.env",
        "x=$(cat api/.env)",
        "cat api/.e*",
    ];
    let left = [
        "git add api/.env",
        "git status",
        "rm api/.env",
        "ls -la api/.env",
        "test -f api/.env",
        "node rotate.js api/.env.example",
        "echo api/.env >> .gitignore",
        "cat api/env",
        "make",
    ];
    for posture in [Posture::Attended, Posture::Edits, Posture::Unattended] {
        let rules = world().posture(posture).shared(&["Bash(cat *)"], &[], &["Read(**/.env)"]);
        for text in shown {
            rules.check(&bash(text), Action::Deny, Layer::DenyRule);
        }
        for text in left {
            assert_ne!(rules.decide(&bash(text)).action, Action::Deny, "{text}");
        }
        let asking = world().posture(posture).shared(&["Bash(*)"], &["Read(**/.env)"], &[]);
        asking.check(&bash("cat api/.env"), Action::Ask, Layer::HardAsk);
        let map = world().posture(posture).map(r#"{"read":{"*.env":"deny","x.env":"allow"}}"#);
        map.check(&bash("cat api/.env"), Action::Deny, Layer::DenyRule);
        assert_ne!(map.decide(&bash("cat x.env")).action, Action::Deny);
        // A rule about all files is about the tool.
        let tool = world().posture(posture).shared(&[], &[], &["Read(**)"]).map(r#"{"read":"deny"}"#);
        assert_ne!(tool.decide(&bash("cat a")).action, Action::Deny);
    }
}

#[test]
fn the_tool_for_git_shows_no_file_that_may_not_be_read() {
    let git = |words: &str, leads| {
        let Subject::Command { text, cwd, .. } = bash(&format!("git {words}")).subject else { unreachable!() };
        call("git", Subject::Command { text, cwd, leads })
    };
    let shown = [
        "show HEAD:notes/a.txt",
        "diff HEAD~1 -- notes/a.txt",
        "log -p -- :/notes/a.txt",
        "log -p -- ':(top)notes/a.txt'",
        "grep -h . -- 'n*'",
        "grep -e . notes/a.txt",
        "blame notes/a.txt",
        "show HEAD:api/.env",
    ];
    let left = [
        "log --oneline -- notes/a.txt",
        "grep notes/a.txt",
        "log -p --grep notes/a.txt",
        "diff -- ':!notes/a.txt' ':(exclude)api/.env'",
        "commit -m notes/a.txt",
        "show HEAD:src/a.rs",
    ];
    for posture in Posture::ALL {
        let rules = world().posture(posture).map(load::SEED).shared(&["Git(*)"], &[], &["Read(notes/**)"]);
        for text in shown {
            rules.check(&git(text, Leads::Inside), Action::Deny, Layer::DenyRule);
        }
        for text in left {
            assert_ne!(rules.decide(&git(text, Leads::Inside)).layer, Layer::DenyRule, "{text}");
        }
        let edits = world().posture(posture).shared(&["Git(*)"], &[], &["Edit(notes/**)"]);
        edits.check(&git("checkout -- notes/a.txt", Leads::Inside), Action::Deny, Layer::DenyRule);
    }
    // A search through a directory or a patch of everything may show what is in it.
    for world in [world(), world().posture(Posture::Plan), world().shared(&["Git(log *)"], &[], &[])] {
        world.check(&git("log -p -- notes", Leads::Kept), Action::Ask, Layer::ToolClass);
        world.check(&git("grep -h . -- '[n]*'", Leads::Elsewhere), Action::Ask, Layer::ToolClass);
        assert_eq!(world.decide(&git("status", Leads::Inside)).action, Action::Allow);
        assert_eq!(world.decide(&git("log -p -1", Leads::Kept)).action, Action::Allow);
    }
}

#[test]
fn an_ask_of_a_map_asks_in_every_posture_but_under_yolo() {
    let edit = files("edit", &["a"]);
    for posture in [Posture::Attended, Posture::Edits, Posture::Unattended] {
        for world in [
            world().agent(r#"{"edit":"ask","bash":{"make *":"ask"}}"#),
            world().map(r#"{"edit":"ask","bash":{"make *":"ask"}}"#),
        ] {
            let world = world.posture(posture);
            for call in [&edit, &bash("make x"), &bash("ls; make x"), &bash("bash -c 'make $x'")] {
                world.check(call, Action::Ask, Layer::Rules);
                world.clone().yolo().check(call, Action::Allow, Layer::Yolo);
            }
            // A later word lifts it.
            world.clone().grant("Edit(a)").check(
                &edit,
                Action::Allow,
                if posture == Posture::Attended { Layer::Rules } else { Layer::AcceptEdits },
            );
            assert_ne!(world.decide(&bash("ls")).action, Action::Ask);
        }
        world().agent(r#"{"edit":"ask"}"#).map(r#"{"edit":{"a":"allow"}}"#).posture(posture).check(
            &edit,
            Action::Allow,
            if posture == Posture::Attended { Layer::Rules } else { Layer::AcceptEdits },
        );
    }
    let brought = World { agent_word: AgentWord::OnlyTightens, ..world().agent(r#"{"*":"allow","edit":"ask"}"#) };
    brought.posture(Posture::Unattended).check(&edit, Action::Ask, Layer::Rules);
    let plan = world().posture(Posture::Plan).map(r#"{"read":"ask","write":"ask"}"#);
    plan.check(&files("read", &["a"]), Action::Ask, Layer::Rules);
    plan.check(&files("write", &[PLAN]), Action::Allow, Layer::PlanFile);
}

#[test]
fn no_posture_and_no_rule_opens_git_our_data_or_a_link_that_leads_out() {
    for posture in Posture::ALL {
        let world = world().posture(posture).yolo().grant("Edit(**)").grant("Edit(/**)");
        for path in [".git/hooks/pre-commit", "sub/.git/config", "/data/state/coppice.db", "/data/state/worktrees/b/x"]
        {
            world.check(&files("apply_diff", &["src/a", path]), Action::Deny, Layer::PathGuard);
        }
        world.check(&link("edit", "docs", "/etc/passwd"), Action::Deny, Layer::PathGuard);
        world.check(&link("edit", "broken", ""), Action::Deny, Layer::PathGuard);
        world.check(&files("edit", &["/etc/passwd"]), Action::Deny, Layer::PathGuard);
        world.check(&files("copy_file", &["/home/me/.netrc", "a"]), Action::Deny, Layer::PathGuard);
    }
}

#[test]
fn git_that_only_looks_runs_and_other_git_is_asked_about() {
    let git = |arguments: &str| call("git", Subject::Name(arguments.to_owned()));
    world().check(&git("status"), Action::Allow, Layer::ToolClass);
    world().check(&git("push origin"), Action::Ask, Layer::ToolClass);
    world().posture(Posture::Edits).check(&git("push origin"), Action::Ask, Layer::ToolClass);
    world().posture(Posture::Edits).check(&git("status"), Action::Allow, Layer::ToolClass);
    world().posture(Posture::Plan).check(&git("status"), Action::Allow, Layer::ToolClass);
    world().posture(Posture::Plan).check(&git("commit"), Action::Deny, Layer::PlanGate);
    // A shell that runs nothing but such commands is no different, where it cannot be sent elsewhere.
    world().check(&bash("git status"), Action::Allow, Layer::ToolClass);
    world().check(&bash("git push"), Action::Ask, Layer::ToolClass);
    world().check(&bash("git status && make"), Action::Ask, Layer::ToolClass);
    world().advisory().check(&shell("git status", Leads::Elsewhere), Action::Ask, Layer::ToolClass);
    world().posture(Posture::Plan).check(&bash("git status"), Action::Allow, Layer::AcceptEdits);
    for tool in ["git_status", "git_diff", "git_log_file", "git_commit_context"] {
        world().check(&nothing(tool), Action::Allow, Layer::ToolClass);
    }
}

#[test]
fn imported_modes_are_an_access_or_an_overlay() {
    let at = |word: &str| {
        let (access, overlay) = imported_mode(word).unwrap();
        World { access, overlay, ..world() }
    };
    at("auto").check(&files("edit", &["a"]), Action::Ask, Layer::ToolClass);
    at("read_only").check(&files("edit", &["a"]), Action::Deny, Layer::AgentVeto);
    at("read_only").grant("Edit(**)").check(&files("edit", &["a"]), Action::Deny, Layer::AgentVeto);
    at("read_only").check(&files("read", &["a"]), Action::Allow, Layer::ToolClass);
    at("read_only").posture(Posture::Unattended).check(&bash("make x"), Action::Deny, Layer::AgentVeto);
    at("read_only").posture(Posture::Unattended).check(&bash("cat a"), Action::Allow, Layer::AcceptEdits);
    at("full_access").check(&bash("make x"), Action::Allow, Layer::Yolo);
    World { missing: vec!["bash"], ..at("full_access") }.check(&bash("ls"), Action::Deny, Layer::Surface);
    let error = imported_mode("yes").unwrap_err();
    assert_eq!(error.to_string(), "`yes` is none of `auto`, `read_only`, `full_access`");
}

#[test]
fn what_cannot_be_read_and_what_names_nothing_is_never_allowed() {
    for posture in [Posture::Attended, Posture::Edits, Posture::Unattended] {
        let world = world().posture(posture).yolo().grant("Bash(*)").grant("Edit(**)").grant("Read(**)");
        for call in [
            bash("echo 'open"),
            bash(""),
            files("edit", &[]),
            files("apply_diff", &[]),
            files("read_many_files", &[]),
            nothing("write"),
            nothing("Bash"),
            nothing("read"),
            nothing("rename_symbol"),
        ] {
            world.check(&call, Action::Ask, Layer::HardAsk);
        }
        // What forbids sees a text that cannot be read as it stands.
        let denied = world.shared(&[], &[], &["Bash(rm *)"]);
        denied.check(&bash("rm 'open"), Action::Deny, Layer::DenyRule);
    }
}

#[test]
fn a_plan_is_made_with_reads_and_its_own_file() {
    let world = world().posture(Posture::Plan).grant("Edit(**)").grant("Bash(*)");
    for tool in ["write", "edit", "apply_diff"] {
        world.check(&files(tool, &[PLAN]), Action::Allow, Layer::PlanFile);
        world.check(&files(tool, &["a", PLAN]), Action::Deny, Layer::PathGuard);
        world.check(&files(tool, &["a"]), Action::Deny, Layer::PlanGate);
    }
    for tool in ["mkdir", "delete_file", "rename_symbol"] {
        world.check(&files(tool, &["a"]), Action::Deny, Layer::PlanGate);
    }
    for tool in ["run_tests", "git_commit", "git_push", "write_stdin"] {
        world.check(&nothing(tool), Action::Deny, Layer::PlanGate);
    }
    world.check(&nothing("todo_write"), Action::Allow, Layer::ToolClass);
    world.check(&nothing("delegate"), Action::Allow, Layer::ToolClass);
    world.check(&nothing("exit_plan_mode"), Action::Ask, Layer::Boundary);
    world.check(&files("read", &["a"]), Action::Allow, Layer::ToolClass);
    world.check(&files("read", &[PLAN]), Action::Allow, Layer::ToolClass);
    world.check(&bash("cat a"), Action::Allow, Layer::AcceptEdits);
    assert_eq!(
        world.decide(&files("edit", &["a"])).reason,
        "tool unavailable in plan mode: only read and search, write the plan to `/data/state/plans/p/x.md`, and call \
         `exit_plan_mode` when the plan is complete"
    );
    // The plan is nobody's to write once it is made.
    world.posture(Posture::Edits).check(&files("write", &[PLAN]), Action::Deny, Layer::PathGuard);
}

#[test]
fn edits_leave_the_safety_floor_to_a_person() {
    let world = world().posture(Posture::Edits);
    for call in [files("write", &["a"]), files("rename_symbol", &["a", "b"]), nothing("git_stage_files")] {
        world.check(&call, Action::Allow, Layer::AcceptEdits);
    }
    for tool in
        ["run_tests", "git_commit", "git_commit_apply", "git_checkpoint", "rollback", "git_push", "gh_pr_update"]
    {
        world.check(&nothing(tool), Action::Ask, Layer::ToolClass);
    }
    world.check(&bash("make x"), Action::Ask, Layer::ToolClass);
    world.check(&bash("cat a > b"), Action::Ask, Layer::ToolClass);
}

#[test]
fn by_default_all_that_stays_in_the_tree_goes_ahead_and_the_rest_is_refused() {
    let alone = world().posture(Posture::Unattended);
    let held = [files("write", &["a"]), files("edit", &["/data/state/sessions/1/tmp/x"]), bash("cargo test")];
    for call in &held {
        alone.check(call, Action::Allow, Layer::AcceptEdits);
        alone.clone().advisory().check(call, Action::Allow, Layer::AcceptEdits);
        world().check(call, Action::Ask, Layer::ToolClass);
    }
    alone.check(&nothing("git_commit"), Action::Allow, Layer::AcceptEdits);
    alone.check(&nothing("git_push"), Action::Ask, Layer::ToolClass);
    alone.check(&files("write", &["/home/me/x"]), Action::Deny, Layer::PathGuard);
    // The kernel keeps a command in the tree; where it does not, a command that looks elsewhere is asked about.
    let away = shell("make -C /opt", Leads::Elsewhere);
    alone.check(&away, Action::Allow, Layer::AcceptEdits);
    alone.clone().advisory().check(&away, Action::Ask, Layer::ToolClass);
    let denied = alone.shared(&[], &[], &["Bash(cargo *)", "Write(a)"]);
    denied.check(&held[0], Action::Deny, Layer::DenyRule);
    denied.check(&held[2], Action::Deny, Layer::DenyRule);
}

#[test]
fn a_language_server_that_nothing_holds_is_asked_about() {
    use Action::{Allow, Ask, Deny};
    let looks = ["symbols", "definition", "diagnostics", "refs", "trace"];
    let nobody = |world: World| World { audience: Audience::Nobody, ..world };
    let rows = [
        (world(), Allow, Layer::ToolClass),
        (world().posture(Posture::Plan), Allow, Layer::ToolClass),
        (world().posture(Posture::Edits), Allow, Layer::ToolClass),
        (world().posture(Posture::Unattended), Allow, Layer::ToolClass),
        (world().advisory(), Ask, Layer::ToolClass),
        (world().advisory().posture(Posture::Plan), Ask, Layer::ToolClass),
        (world().advisory().posture(Posture::Edits), Ask, Layer::ToolClass),
        // As a command of the project does that names nothing outside.
        (world().advisory().posture(Posture::Unattended), Allow, Layer::AcceptEdits),
        (world().advisory().yolo(), Allow, Layer::Yolo),
        (nobody(world().advisory()), Deny, Layer::NobodyToAsk),
        (nobody(world()), Allow, Layer::ToolClass),
    ];
    for (world, action, layer) in &rows {
        for tool in looks {
            world.check(&files(tool, &["src/a.rs"]), *action, *layer);
        }
    }
    for tool in looks {
        let allowed = world().advisory().map(&format!(r#"{{"{tool}":"allow"}}"#));
        allowed.check(&files(tool, &["src/a.rs"]), Allow, Layer::Rules);
        let granted = world().advisory().grant(&format!("{tool}(*)"));
        granted.check(&files(tool, &["src/a.rs"]), Allow, Layer::Rules);
    }
    for tool in ["rename_symbol", "code_action"] {
        let call = files(tool, &["src/a.rs"]);
        world().posture(Posture::Edits).check(&call, Allow, Layer::AcceptEdits);
        world().posture(Posture::Edits).advisory().check(&call, Ask, Layer::ToolClass);
        world().posture(Posture::Unattended).advisory().check(&call, Allow, Layer::AcceptEdits);
        world().advisory().check(&call, Ask, Layer::ToolClass);
    }
    world().advisory().check(&files("read", &["src/a.rs"]), Allow, Layer::ToolClass);
}

#[test]
fn an_opaque_command_is_allowed_by_nothing_but_what_allows_everything() {
    let text = bash("ls ${a['$(rm x)']}");
    for posture in [Posture::Attended, Posture::Edits] {
        let world = world().posture(posture);
        world.check(&text, Action::Ask, Layer::ToolClass);
        world.clone().grant("Bash(ls *)").check(&text, Action::Ask, Layer::ToolClass);
        world.clone().grant("Bash(ls ${a['$(rm x)']})").check(&text, Action::Ask, Layer::ToolClass);
        world.clone().agent(r#"{"bash":{"ls *":"allow"}}"#).check(&text, Action::Ask, Layer::ToolClass);
        world.clone().agent(r#"{"bash":{"*":"ask","ls *":"allow"}}"#).check(&text, Action::Ask, Layer::Rules);
        world.clone().grant("Bash(*)").check(&text, Action::Allow, Layer::Rules);
        world.agent(r#"{"bash":"allow"}"#).check(&text, Action::Allow, Layer::Rules);
    }
    world().posture(Posture::Plan).grant("Bash(*)").check(&text, Action::Deny, Layer::PlanGate);
    let alone = world().posture(Posture::Unattended);
    alone.check(&text, Action::Allow, Layer::AcceptEdits);
    alone.clone().advisory().check(&shell("ls $x", Leads::Elsewhere), Action::Ask, Layer::ToolClass);
    world().yolo().check(&text, Action::Allow, Layer::Yolo);
    alone.clone().shared(&[], &[], &["Bash(rm *)"]).check(&text, Action::Deny, Layer::DenyRule);
    alone.clone().shared(&[], &["Bash(rm *)"], &[]).check(&text, Action::Ask, Layer::HardAsk);
    alone.agent(r#"{"bash":{"*":"allow","rm *":"deny"}}"#).check(&text, Action::Deny, Layer::AgentVeto);
    // A total rule still does not mean what throws work away, or writes where nothing holds it.
    let force = bash("for x in a; do git push --force $x; done");
    world().grant("Bash(*)").check(&force, Action::Ask, Layer::ToolClass);
    let write = shell("echo $x > /etc/y", Leads::Elsewhere);
    world().advisory().grant("Bash(*)").check(&write, Action::Ask, Layer::ToolClass);
}

#[test]
fn git_only_looks_where_it_finds_the_repository_of_the_tree() {
    let at = |directory: &str, text: &str| {
        let directory = Path::new(TREE).join(directory);
        let cwd = Target { named: directory.clone(), real: directory };
        call("Bash", Subject::Command { text: text.to_owned(), cwd, leads: Leads::Inside })
    };
    let there = format!("cd {TREE} && git status");
    let edits = world().posture(Posture::Edits);
    edits.check(&bash("git status"), Action::Allow, Layer::AcceptEdits);
    edits.check(&bash(&there), Action::Allow, Layer::AcceptEdits);
    edits.check(&at("sub", "ls"), Action::Allow, Layer::AcceptEdits);
    // What leads inside was looked at: there is no other repository in that directory.
    edits.check(&at("sub", "git status"), Action::Allow, Layer::AcceptEdits);
    edits.check(&bash("cd sub && git status"), Action::Allow, Layer::AcceptEdits);
    let unknown = shell("cd sub && git status", Leads::Elsewhere);
    for call in [unknown, bash("git -C sub status")] {
        edits.check(&call, Action::Ask, Layer::ToolClass);
        world().check(&call, Action::Ask, Layer::ToolClass);
    }
}

#[test]
fn git_does_not_only_look_where_its_configuration_runs_programs() {
    let git_driver = Some(GitDriver { setting: "diff.x.textconv".to_owned() });
    let driven = World { git_driver, ..world() };
    for posture in [Posture::Attended, Posture::Edits] {
        let world = driven.clone().posture(posture);
        for text in ["git diff", "git status -s", "git log -p", "git show", "git blame a", "ls; git log --stat"] {
            world.check(&bash(text), Action::Ask, Layer::ToolClass);
            let reason = world.decide(&bash(text)).reason;
            assert_eq!(reason, "git runs a program when it reads files here: `diff.x.textconv` of its configuration");
        }
        for text in ["git rev-parse HEAD", "git branch -a", "git log --oneline -5 main", "git --version"] {
            assert_eq!(world.decide(&bash(text)).action, Action::Allow, "{text}");
        }
        world.clone().grant("Bash(git diff)").check(&bash("git diff"), Action::Allow, Layer::Rules);
        world.check(&call("git", Subject::Name("diff".to_owned())), Action::Ask, Layer::ToolClass);
    }
    driven.posture(Posture::Plan).check(&bash("git diff"), Action::Deny, Layer::PlanGate);
}

#[test]
fn a_rule_about_git_sees_through_its_own_options() {
    let world = world().posture(Posture::Unattended).shared(&[], &["Git(push *)"], &["Git(reset *)"]);
    for text in
        ["git -C . push origin", "git --no-pager push origin", "git -c a.b=c push origin", "/usr/bin/git push x"]
    {
        world.check(&bash(text), Action::Ask, Layer::HardAsk);
    }
    let tool = |words: &str| call("git", Subject::Name(words.to_owned()));
    world.check(&tool("-C . push origin"), Action::Ask, Layer::HardAsk);
    world.check(&tool("--no-pager reset x"), Action::Deny, Layer::DenyRule);
}

#[test]
fn a_command_that_looks_somewhere_else_is_asked_about_whatever_holds_it() {
    for posture in [Posture::Attended, Posture::Edits, Posture::Plan] {
        let world = world().posture(posture);
        for text in ["cat link", "grep -r x //", "grep -r x /proc/self/", "git status; cat link"] {
            world.check(&shell(text, Leads::Elsewhere), Action::Ask, Layer::ToolClass);
        }
    }
}

#[test]
fn a_host_with_letters_outside_of_ascii_is_asked_about() {
    let page = |tool: &str, url: &str| call(tool, Subject::Url(url.to_owned()));
    let world = world().yolo().grant("Fetch(*)").shared(&[], &[], &["Fetch(domain:evil.org)"]);
    for url in
        ["https://\u{24d4}vil.org/x", "https://ev\u{ad}il.org/", "https://m\u{fc}nchen.de/", "https://%C3%BC.de/"]
    {
        world.check(&page("web_fetch", url), Action::Ask, Layer::HardAsk);
    }
    world.check(&page("web_fetch", "https://a.org/\u{fc}"), Action::Allow, Layer::Yolo);
    world.check(&page("web_search", "m\u{fc}nchen"), Action::Allow, Layer::Yolo);
}

#[test]
fn a_rule_for_one_command_lets_those_beside_it_look() {
    let world = world().grant("Bash(cargo test *)").grant("Bash(git switch *)");
    let there = format!("cd {TREE} && cargo test x");
    for text in [
        "cargo test",
        "cargo test x 2>&1 | tail -20",
        "cargo test x | grep FAIL | head -n 5",
        "cargo test x | grep -e FAIL",
        "cargo test x && git status",
        "cat a && cargo test x # and more",
        "# first\ncargo test x",
        there.as_str(),
    ] {
        world.check(&bash(text), Action::Allow, Layer::Rules);
    }
    for text in [
        "cargo test x | tee a",
        "cargo test x; make",
        "git switch x && cat link",
        "cargo test x | grep -r KEY .",
        "cargo test x | grep -ea x",
    ] {
        world.check(&bash(text), Action::Ask, Layer::ToolClass);
    }
    world.check(&shell("cargo test x | cat link", Leads::Elsewhere), Action::Ask, Layer::ToolClass);
    let status = format!("git -C {TREE} status");
    assert_eq!(world.decide(&shell(&status, Leads::Elsewhere)).action, Action::Allow);
}

#[test]
fn a_redirection_into_a_file_is_an_edit_of_it() {
    let rules = |ask: &[&str], deny: &[&str]| world().posture(Posture::Edits).shared(&["Bash(echo *)"], ask, deny);
    for text in [
        "echo x > migrations/1.sql",
        "echo x >> ./migrations/1.sql",
        "cd migrations && echo x > 1.sql",
        "cd -P migrations && echo x > 1.sql",
        "echo x 2> src/../migrations/1.sql",
        "cat > migrations/1.sql <<X\na\nX",
        "bash -c 'echo x > migrations/1.sql'",
        "echo x > ~+/migrations/1.sql",
        "cd ~+/migrations; echo x > 1.sql",
        "env -Cmigrations sh -c 'echo x > 1.sql'",
        "env -iC migrations sh -c 'echo x > 1.sql'",
        "/usr/bin/env --chd=migrations sh -c 'echo x > 1.sql'",
        "echo x > ~0/migrations/1.sql",
        "echo x > ~-/migrations/1.sql",
        "cd src; echo x > ~-1/migrations/1.sql",
        "cd ~-/migrations; echo x > 1.sql",
        "git checkout migrations/1.sql",
        "git restore :/migrations/1.sql",
        "git checkout HEAD -- ':(glob)migrations/*'",
        "git checkout HEAD~1 -- migrations/1.sql",
        "git restore -s main migrations/1.sql",
        "cd migrations && git restore 1.sql",
    ] {
        for rule in ["Edit(migrations/**)", "Write(migrations/**)"] {
            rules(&[], &[rule]).yolo().check(&bash(text), Action::Deny, Layer::DenyRule);
            rules(&[rule], &[]).check(&bash(text), Action::Ask, Layer::HardAsk);
        }
        let map = world().posture(Posture::Unattended).map(r#"{"edit":{"migrations/*":"deny"}}"#);
        map.check(&bash(text), Action::Deny, Layer::DenyRule);
    }
    let rules = rules(&[], &["Edit(migrations/**)"]);
    for text in [
        "echo x > a.sql",
        "echo migrations/1.sql > a",
        "cat < migrations/1.sql",
        "echo x > ~me/migrations/1.sql",
        "git checkout main",
        "git restore a.sql",
        "git diff migrations/1.sql",
    ] {
        assert_ne!(rules.decide(&bash(text)).action, Action::Deny, "{text}");
    }
    let mut notes = world().posture(Posture::Unattended);
    let deny = vec!["Edit(~/notes/**)".parse::<Rule>().unwrap().at_home("/home/me").unwrap()];
    notes.rules.files.push(RuleFile { deny, ..RuleFile::default() });
    for text in ["echo x > ~/notes/a", "cd ~/notes; echo x > a", "cd ~; echo x > notes/a"] {
        notes.check(&bash(text), Action::Deny, Layer::DenyRule);
    }
    let checkout = world().shared(&["Bash(git checkout *)"], &[], &["Edit(Makefile)"]);
    checkout.check(&bash("git checkout Makefile"), Action::Deny, Layer::DenyRule);
    checkout.check(&bash("git checkout main"), Action::Allow, Layer::Rules);
}

#[test]
fn a_command_that_leads_to_a_kept_file_is_asked_about() {
    for posture in [Posture::Attended, Posture::Edits] {
        let world = world().posture(posture);
        for text in ["grep -r KEY .", "rg KEY", "git diff", "git log -p", "git grep KEY", "git show HEAD"] {
            world.check(&shell(text, Leads::Kept), Action::Ask, Layer::ToolClass);
            assert_eq!(world.decide(&bash(text)).action, Action::Allow, "{text}");
        }
        for text in ["git rev-parse -- /home/*", "git rev-parse -- out/*", "git ls-files 'out/*'"] {
            world.check(&shell(text, Leads::Elsewhere), Action::Ask, Layer::ToolClass);
        }
        assert_eq!(world.decide(&shell("git grep /api/users", Leads::Elsewhere)).action, Action::Allow);
    }
}

#[test]
fn a_pattern_covers_no_subcommand_of_git_that_may_run_another_program() {
    for allow in ["Bash(git *)", "Bash(git*)"] {
        let world = world().shared(&[allow], &[], &[]);
        for text in [
            "git filter-branch --tree-filter make",
            "git merge-index ./x -a",
            "git send-email --smtp-server=./x y",
            "git difftool",
            "git mergetool",
            "git submodule foreach make",
            "git bisect run make",
            "git format-patch -o /tmp/x HEAD",
            "git instaweb",
            "git daemon",
            "git web--browse x",
            "git credential fill",
            "git cvsserver",
            "git p4 sync",
            "git svn fetch",
            "git upload-archive x",
            "git for-each-repo --config=x gc",
            "git config core.pager ./x",
            "git worktree add ../x",
            "git clone --template=x . ../y",
            "git init --template=x .",
            "git bundle create ../x HEAD",
            "git maintenance start",
            "git alias-of-somebody",
            "git -C . lfs pull",
        ] {
            world.check(&bash(text), Action::Ask, Layer::ToolClass);
            world.clone().grant(&format!("Bash({text})")).check(&bash(text), Action::Allow, Layer::Rules);
        }
        for text in [
            "git add .",
            "git commit -m x",
            "git commit -m 'read .env and /etc/x'",
            "git commit -am 'read .env'",
            "git fetch origin",
            "git pull --rebase",
            "git push origin main",
            "git rebase main",
            "git merge x",
            "git stash",
            "git apply x.patch",
            "git format-patch HEAD~1",
            "git submodule update --init",
            "git diff --text",
            "git ls-remote origin",
        ] {
            world.check(&bash(text), Action::Allow, Layer::Rules);
        }
    }
    let git = |words: &str| call("git", Subject::Name(words.to_owned()));
    let tool = world().shared(&["Git(*)"], &[], &[]);
    tool.check(&git("filter-branch --tree-filter make"), Action::Ask, Layer::ToolClass);
    tool.check(&git("rebase main"), Action::Allow, Layer::Rules);
    let all = world().shared(&["Bash(*)"], &[], &[]);
    all.check(&bash("git lfs pull"), Action::Allow, Layer::Rules);
}

#[test]
fn a_pattern_covers_no_option_that_loads_other_code() {
    for (rule, text) in [
        ("npm run *", "npm run build --node-options=--require=./x.js"),
        ("npm run *", "npm run build --node-o --require=./x.js"),
        ("npm run *", "npm run build --script-shell ./x"),
        ("npm *", "npm --userconfig=x run build"),
        ("bun run *", "bun run --preload ./x.ts build"),
        ("cargo test *", "cargo test --config target.x.runner=./x"),
        ("cargo test *", "cargo test --manifest-path /tmp/x/Cargo.toml"),
        ("cargo nextest *", "cargo nextest run --tool-config-file=x:./x"),
        ("npm test *", "npm test --prefi=/tmp/x"),
        ("npm test *", "npm test -C ../x"),
        ("pnpm test *", "pnpm test --dir /tmp/x"),
        ("yarn run *", "yarn run x --cwd /tmp/x"),
        ("bun test *", "bun test -r ./x.ts"),
        ("bun test *", "bun test -c=./x"),
    ] {
        let world = world().shared(&[&format!("Bash({rule})")], &[], &[]);
        world.check(&bash(text), Action::Ask, Layer::ToolClass);
        world.clone().grant(&format!("Bash({text})")).check(&bash(text), Action::Allow, Layer::Rules);
    }
    for (rule, text) in [
        ("npm run *", "npm run build"),
        ("npm run *", "npm run build --workspace=a --if-present"),
        ("npm test *", "npm test --prefix web"),
        ("cargo test *", "cargo test --manifest-path=sub/Cargo.toml"),
        ("npm run *", "npm run build -- --node-options=x --config=y"),
        ("cargo test *", "cargo test x -- --config"),
        ("make *", "make --config"),
    ] {
        world().shared(&[&format!("Bash({rule})")], &[], &[]).check(&bash(text), Action::Allow, Layer::Rules);
    }
}

#[test]
fn a_search_in_the_files_of_a_pattern_only_looks_where_none_of_them_is_an_option() {
    let text = "rg foo *.md";
    world().check(&bash(text), Action::Allow, Layer::ToolClass);
    world().check(&shell(text, Leads::Elsewhere), Action::Ask, Layer::ToolClass);
    let by_rule = world().shared(&["Bash(rg *)"], &[], &[]);
    by_rule.check(&bash(text), Action::Allow, Layer::Rules);
    by_rule.check(&shell(text, Leads::Elsewhere), Action::Ask, Layer::ToolClass);
}

#[test]
fn a_command_that_shows_a_kept_file_is_denied() {
    let by_map = world().map(r#"{"read":{"*.env":"deny","*.env.example":"allow"}}"#);
    let by_rule = world().shared(&[], &[], &["Read(private/**)"]);
    let by_agent = world().agent(r#"{"read":{"*.env":"deny"}}"#);
    for (world, text) in [
        (&by_map, "cat config/prod.env"),
        (&by_map, "cat a ./config/../prod.env"),
        (&by_map, "wc -l < prod.env"),
        (&by_map, "git show HEAD:config/prod.env"),
        (&by_agent, "cat config/prod.env"),
        (&by_rule, "cat private/x"),
        (&by_rule, "cat src/../private/x"),
        (&by_rule, "grep -r KEY private/deep"),
    ] {
        let layer = if world.agent.is_some() { Layer::AgentVeto } else { Layer::DenyRule };
        for posture in [Posture::Plan, Posture::Attended, Posture::Edits, Posture::Unattended] {
            world.clone().posture(posture).check(&bash(text), Action::Deny, layer);
        }
    }
    for (world, text) in [
        (&by_map, "cat config/prod.env.example"),
        (&by_rule, "cat src/private"),
        (&by_rule, "grep -rn KEY src"),
        (&by_rule, "rg KEY src"),
        (&by_map, "ls -la"),
    ] {
        world.check(&bash(text), Action::Allow, Layer::ToolClass);
    }
}

#[test]
fn a_pattern_for_a_program_that_reads_covers_no_secret_and_nothing_outside() {
    let grants = ["cat", "ls", "xargs", "tail", "grep", "sed", "sort", "tr", "git"];
    let granted = grants.iter().fold(world(), |world, program| world.grant(&format!("Bash({program}*)")));
    for (text, leads) in [
        ("tail key.pem", Leads::Inside),
        ("tail -n 5 sub/.env.local", Leads::Inside),
        ("cat < key.pem", Leads::Inside),
        ("tr a a < key.pem", Leads::Inside),
        ("tr a a < /etc/passwd", Leads::Elsewhere),
        ("cat /proc/self/environ", Leads::Elsewhere),
        ("cat ../x", Leads::Elsewhere),
        ("cat a", Leads::Elsewhere),
        ("grep -f /etc/passwd x", Leads::Elsewhere),
        ("sed s/a/b/ /etc/passwd", Leads::Elsewhere),
        ("ls | xargs cat", Leads::Inside),
        ("git diff key.pem", Leads::Inside),
        ("git show HEAD:key.pem", Leads::Inside),
        ("git diff --no-index a b", Leads::Elsewhere),
        ("git diff --no-ind a b", Leads::Elsewhere),
        ("git cat-file --batch-check < sub/link", Leads::Elsewhere),
        ("git add .env", Leads::Elsewhere),
        ("git commit -m x config/.env", Leads::Elsewhere),
        ("git apply /tmp/x", Leads::Elsewhere),
    ] {
        for posture in [Posture::Attended, Posture::Edits] {
            granted.clone().posture(posture).check(&shell(text, leads), Action::Ask, Layer::ToolClass);
        }
        let mapped = granted.clone().agent(r#"{"bash":{"ls*":"allow","* *":"allow"}}"#);
        mapped.check(&shell(text, leads), Action::Ask, Layer::ToolClass);
        granted.clone().grant("Bash(*)").check(&shell(text, leads), Action::Allow, Layer::Rules);
    }
    granted.clone().grant("Bash(tail key.pem)").check(&bash("tail key.pem"), Action::Allow, Layer::Rules);
    for text in ["make x | tail -5", "curl https://x | tail -n5", "git diff HEAD~1 && curl https://x"] {
        let made = granted.clone().grant("Bash(make *)").grant("Bash(curl *)");
        made.check(&shell(text, Leads::Elsewhere), Action::Allow, Layer::Rules);
    }
    let kept = granted.shared(&[], &[], &["Read(private/**)"]);
    for text in ["grep -r KEY .", "git diff", "git show HEAD"] {
        kept.check(&shell(text, Leads::Kept), Action::Ask, Layer::ToolClass);
    }
}

#[test]
fn a_pattern_does_not_cover_git_in_another_repository() {
    let world = world().grant("Bash(cd *)").grant("Bash(git *)");
    for text in ["cd evil && git diff", "git push ./evil main", "git fetch ../evil"] {
        let call = shell(text, Leads::Elsewhere);
        world.check(&call, Action::Ask, Layer::ToolClass);
        world.clone().grant("Bash(*)").check(&call, Action::Allow, Layer::Rules);
    }
    for text in ["cd . && git fetch origin", "git push origin main"] {
        world.check(&bash(text), Action::Allow, Layer::Rules);
    }
}
