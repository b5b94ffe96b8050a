//! Agents as a person meets them: files in the checkout and at home, `coppice agents`, and `--agent`.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{recall, say, steps, write};
use crate::tape::{taped, texts};

/// Ends the turn with the tools that the agent was given.
const GIVEN: &str = "@tools\n@native";

/// An agent of `.coppice/agents`: settings and words.
fn agent(header: &str, prompt: &str) -> String {
    format!("---\ndescription: A test's own\nmode: all\n{header}---\n{prompt}\n")
}

/// Writes a file of the user's own.
fn write_home(env: &TestEnv, path: &str, text: &str) {
    let path = env.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The file that a name means, seen from the checkout.
#[track_caller]
fn source(env: &TestEnv, name: &str) -> String {
    let shown = env.json(&["agents", "show", name]);
    let path = shown["file"]["source"]["path"].as_str().unwrap();
    path.replace(&format!("{}/", env.path("").canonicalize().unwrap().display()), "")
}

/// The agents that each turn of a session was worked in by.
fn used(env: &TestEnv, id: &str) -> Vec<Value> {
    let started = env.events(id).into_iter().filter(|event| event["type"] == "turn_started");
    started.map(|event| event["agent"].clone()).collect()
}

#[test]
fn the_project_wins_over_the_user_and_the_user_over_us_as_a_whole() {
    let env = TestEnv::new();
    write_home(&env, "coppice/agents/reviewer.md", &agent("AllowTools: [read]\n", "User."));
    env.write(".coppice/agents/reviewer.md", &agent("", "Project."));
    assert_eq!(source(&env, "reviewer"), "repo/.coppice/agents/reviewer.md");
    let tools = env.json(&["agents", "show", "reviewer"])["tools"].clone();
    assert!(
        ["write", "bash", "delegate"].iter().all(|name| tools.as_array().unwrap().contains(&json!(name))),
        "{tools}"
    );
    fs::remove_file(env.repo().join(".coppice/agents/reviewer.md")).unwrap();
    assert_eq!(source(&env, "reviewer"), "coppice/agents/reviewer.md");
    assert_eq!(env.json(&["agents", "show", "reviewer"])["tools"], json!(["read"]));
    fs::remove_file(env.path("coppice/agents/reviewer.md")).unwrap();
    assert_eq!(source(&env, "reviewer"), "builtin:reviewer.md");
}

#[test]
fn a_person_chooses_only_who_works_for_persons() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "--agent", "explore", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: agent `explore` works for other agents only: no person can choose it

    hint: `coppice agents` tells about all of them; builder, engineer, orchestrator, planner, reviewer can be chosen
    ");
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "--agent", "nobody", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: missing agent template: nobody

    hint: `coppice agents` tells about all of them; builder, engineer, orchestrator, planner, reviewer can be chosen
    ");
    let refused = env.coppice(&["new", "--model", "demo", "--agent", "../x", "hi"]);
    assert!(refused.stderr.starts_with("error: invalid agent_type \"../x\""), "{}", refused.stderr);
    assert_eq!(env.json(&["list", "--all"]), json!([]));
    let id = env.create_ready(&say("done"));
    let refused = env.coppice(&["send", &id, "--agent", "reviewer:strict", "hi"]);
    let expected = "error: unknown agent_name \"strict\" for agent_type \"reviewer\"\n";
    assert!(refused.stderr.starts_with(expected), "{}", refused.stderr);
    assert_eq!(env.session(&id)["queued"], 0);
}

#[test]
fn the_nearest_file_counts_and_none_above_the_repository() {
    let env = TestEnv::new();
    write_home(&env, ".codex/.agents/above.md", &agent("", "Above."));
    env.write(".coppice/agents/near.md", &agent("", "Root."));
    env.write("src/.coppice/agents/near.md", &agent("AllowTools: [read]\n", "Near."));
    let refused = env.coppice(&["agents", "show", "above"]);
    assert!(refused.stderr.contains("missing agent template: above"), "{}", refused.stderr);
    let new = ["new", "--model", "demo", "--agent", "near", GIVEN];
    let id = env.coppice_in(&env.repo().join("src"), &new).stdout().trim().to_owned();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "tools: none\n\nnative: read; read-only");
    // The place stays that of the session, wherever the next prompt comes from.
    env.send_ready(&id, &[], GIVEN);
    assert_eq!(env.last_answer(&id), "tools: none\n\nnative: read; read-only");
}

#[test]
fn copies_of_our_agents_are_made_on_request_and_never_over_a_file() {
    let env = TestEnv::new();
    write_home(&env, "coppice/agents/planner.md", &agent("", "Mine."));
    let refused = env.coppice(&["agents", "init"]);
    assert_snapshot!(refused.transcript(), @r"
    exit: 1
    -- stderr
    error: nothing was written: `[ROOT]/coppice/agents` has planner.md

    hint: remove or rename what is there, then try again
    ");
    fs::remove_file(env.path("coppice/agents/planner.md")).unwrap();
    let written = env.coppice(&["agents", "init"]).stdout();
    assert_eq!(written.lines().count(), 8, "{written}");
    assert_eq!(source(&env, "planner"), "coppice/agents/planner.md");
    env.coppice(&["agents", "init", "--project", "mine"]).succeeds();
    assert_eq!(source(&env, "mine"), "repo/.coppice/agents/mine.md");
    let again = env.coppice(&["agents", "init", "--project", "mine"]);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    env.coppice(&["agents", "check"]).succeeds();
}

#[test]
fn an_edit_of_a_file_counts_at_the_next_prompt() {
    let env = TestEnv::new();
    env.write(".coppice/agents/mine.md", &agent("AllowTools: [read]\n", "One."));
    let id = env.create_with(&["--model", "demo", "--agent", "mine"], GIVEN);
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "tools: none\n\nnative: read; read-only");
    env.write(".coppice/agents/mine.md", &agent("AllowTools: [read, bash]\n", "Two."));
    env.send_ready(&id, &[], GIVEN);
    assert_eq!(env.last_answer(&id), "tools: none\n\nnative: read, bash");
    let [first, second] = used(&env, &id).try_into().unwrap();
    assert_eq!((&first["id"], &second["id"]), (&json!("mine"), &json!("mine")));
    assert_ne!(first["sha256"], second["sha256"]);
    fs::remove_file(env.repo().join(".coppice/agents/mine.md")).unwrap();
    env.coppice(&["send", &id, GIVEN]).succeeds();
    env.wait_for(&id, "failed");
    assert_eq!(env.session(&id)["last_error"]["message"], "missing agent template: mine");
}

#[test]
fn a_broken_file_is_told_and_nobody_steps_in() {
    let env = TestEnv::new();
    env.write(".coppice/agents/reviewer.md", "---\ndescription: Mine\nAllowTools: [read\n---\nx\n");
    env.write(".coppice/agents/planner.md", "---\ndescription: Mine\nmode: foo\n---\nx\n");
    for name in ["reviewer", "planner"] {
        let refused = env.coppice(&["new", "--model", "demo", "--agent", name, "hi"]);
        let expected = format!("error: agent \"{name}\" is unavailable: ");
        assert!(refused.stderr.starts_with(&expected), "{}", refused.stderr);
    }
    assert_eq!(env.json(&["list", "--all"]), json!([]));
    let check = env.coppice(&["agents", "check"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(check.stdout.contains(".coppice/agents/planner.md:3: error: agent mode is invalid\n"), "{}", check.stdout);
    assert!(check.stdout.contains(".coppice/agents/reviewer.md:"), "{}", check.stdout);
    let one = env.coppice(&["agents", "check", ".coppice/agents/planner.md"]);
    assert_snapshot!(one.transcript(), @r"
    exit: 1
    -- stdout
    .coppice/agents/planner.md:3: error: agent mode is invalid
    ");
    let listed = env.coppice(&["agents"]).stdout();
    assert!(listed.contains("planner       broken    -  .coppice/agents/planner.md "), "{listed}");
}

#[test]
fn what_an_agent_writes_in_its_worktree_defines_nobody() {
    let env = TestEnv::new();
    env.write(".coppice/agents/mine.md", &agent("AllowTools: [read, write]\n", "One."));
    env.commit("an agent");
    let wider = steps(&[write(".coppice/agents/mine.md", "All."), write(".coppice/agents/other.md", "All."), say("x")]);
    let id = env.create_with(&["--model", "demo", "--agent", "mine"], &wider);
    env.wait_for(&id, "ready");
    env.send_ready(&id, &[], GIVEN);
    assert_eq!(env.last_answer(&id), "tools: none\n\nnative: read, write");
    let refused = env.coppice(&["send", &id, "--agent", "other", "hi"]);
    assert!(refused.stderr.contains("missing agent template: other"), "{}", refused.stderr);
    let here = env.coppice_in(&env.worktree(&id), &["agents", "show", "other"]);
    assert!(here.stderr.contains("missing agent template: other"), "{}", here.stderr);
    // Without a checkout the commit that the session starts from says it.
    env.git(&["clone", "--quiet", "--bare", ".", "../bare"]);
    let bare = env.path("bare");
    let new = ["new", "--model", "demo", "--agent", "mine", GIVEN];
    let id = env.coppice_in(&bare, &new).stdout().trim().to_owned();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "tools: none\n\nnative: read, write");
}

#[test]
fn every_file_tells_where_it_is_from_and_what_is_wrong_with_it() {
    let env = TestEnv::new();
    env.write(".codex/.agents/reviewer.md", "---\ndescription: Mine\nallow_list: [read, frob]\n---\nx\n");
    let listed = env.json(&["agents", "list"]);
    let of = |scope: &str| {
        let is_it = |it: &&Value| it["id"] == "reviewer" && it["source"]["scope"] == scope;
        listed.as_array().unwrap().iter().find(is_it).unwrap().clone()
    };
    let (mine, ours) = (of("project"), of("builtin"));
    let path = env.repo().canonicalize().unwrap().join(".codex/.agents/reviewer.md").display().to_string();
    assert_eq!((&mine["source"]["path"], &mine["source"]["format"]), (&json!(path), &json!("template")));
    assert_eq!(mine["source"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!((&mine["mode"], &mine["hidden"], &mine["broken"]), (&json!("subagent"), &json!(false), &json!(false)));
    assert_eq!(mine["diagnostics"][0]["code"], "unknown_tool");
    assert_eq!((&mine["shadowed_by"], &ours["shadowed_by"]), (&json!(null), &json!(path)));
}

#[test]
fn a_tool_outside_of_the_surface_is_not_advertised() {
    let env = TestEnv::new();
    for (name, header, given) in [
        ("none", "AllowTools: []\n", "tools: none\n\nnative: none; read-only"),
        ("asks", "AllowTools: [question, grep]\n", "tools: question\n\nnative: search; read-only"),
        (
            "quiet",
            "DisallowedTools: ['*_agents', question, todo, bash]\nAllowTools: [read, question, write]\n",
            "tools: none\n\nnative: read, write",
        ),
    ] {
        env.write(&format!(".coppice/agents/{name}.md"), &agent(header, "Work."));
        let id = env.create_with(&["--model", "demo", "--agent", name], GIVEN);
        env.wait_for(&id, "ready");
        assert_eq!(env.last_answer(&id), given, "{name}");
    }
}

#[test]
fn a_surface_that_a_backend_cannot_hold_is_refused_or_said() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "forgetful", "--agent", "reviewer"], &say("done"));
    env.wait_for(&id, "failed");
    let error = env.session(&id)["last_error"].clone();
    assert_eq!(
        error["message"],
        "surface_not_enforceable: agent `reviewer` cannot be kept to its tools: backend `forgetful` has no way to take \
         an agent's own tools away"
    );
    assert!(error["hint"].as_str().unwrap().contains("tools.surface advisory"), "{error}");
    env.configure("[tools]\nsurface = \"advisory\"");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["surface"], "advisory");
    let warnings = env.events(&id).into_iter().filter(|event| event["type"] == "warning").count();
    assert_eq!(warnings, 1);
}

#[test]
fn a_model_is_told_what_the_contract_says() {
    let env = TestEnv::new();
    let auditor = "---\ndescription: Compliance checks.\nmodel: m\nagent_names:\n  - {name: strict, description: Slow., \
        model: n}\n  - {name: fast, description: Quick.}\nallow_list: [wait, exec_command]\ndeny_list: [apply_patch]\n---\n\
        Findings first.\n<!-- agent_name: strict -->\nAll.\n<!-- agent_name: fast -->\nSome.\n";
    env.write(".codex/.agents/auditor.md", auditor);
    let tool = |options: &[&str]| -> Value {
        let text = env.coppice(&[&["agents", "list", "--tool"], options].concat()).stdout();
        serde_json::from_str(&text).unwrap()
    };
    let all = tool(&[]);
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["agents"]);
    let brief = json!({"agents": [{
        "agent_type": "auditor", "description": "Compliance checks.",
        "allow_list": ["exec_command", "wait"], "deny_list": ["apply_patch"],
        "agent_names": [{"name": "fast", "description": "Quick."}, {"name": "strict", "description": "Slow."}],
    }]});
    assert_eq!(tool(&["--agent", "auditor"]), brief);
    assert!(all["agents"].as_array().unwrap().contains(&brief["agents"][0]));
    let expanded = &tool(&["--agent", "auditor", "--expanded"])["agents"][0];
    assert_eq!((&expanded["model"], &expanded["default_prompt"]), (&json!("m"), &json!("Findings first.")));
    assert_eq!(
        expanded["agent_names"][1],
        json!({"name": "strict", "description": "Slow.", "model": "n", "prompt": "All."})
    );
    let refused = env.coppice(&["agents", "list", "--tool", "--agent", "My Role"]);
    assert!(refused.stderr.starts_with("error: invalid agent_type \"My Role\""), "{}", refused.stderr);
    env.write(".codex/.agents/bare.md", "---\nmodel: m\n---\nx\n");
    let refused = env.coppice(&["agents", "list", "--tool"]);
    let expected = "error: invalid agent template \"bare\": missing required frontmatter description";
    assert!(refused.stderr.starts_with(expected), "{}", refused.stderr);
}

#[test]
fn a_person_is_heard_before_the_persona_and_the_file() {
    let env = TestEnv::new();
    env.write(".coppice/agents/mine.md", &agent("model: forgetful\n", "Work."));
    let id = env.create_with(&["--agent", "mine"], &say("done"));
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["backend"], "forgetful");
    let id = env.create_with(&["--agent", "mine", "--model", "demo"], &say("done"));
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["backend"], "demo");
    // A switch of the agent brings its model along.
    env.send_ready(&id, &["--agent", "mine"], &say("done"));
    assert_eq!(env.session(&id)["backend"], "forgetful");
    env.write(".coppice/agents/mine.md", &agent("model: no-such-model\n", "Work."));
    env.configure("[default]\nmodel = \"demo\"");
    let id = env.create_with(&["--agent", "mine"], &say("done"));
    env.wait_for(&id, "ready");
    let warning = env.events(&id).into_iter().find(|event| event["type"] == "warning").unwrap();
    let said = warning["message"].as_str().unwrap();
    assert!(said.starts_with("agent `mine` wants the model `no-such-model` and works without it: "), "{said}");
    env.configure("[default]\nmodel = \"demo\"\n[delegation]\nstrict_models = true");
    let refused = env.coppice(&["new", "--agent", "mine", "hi"]);
    assert!(
        refused.stderr.starts_with("error: agent `mine` wants a model that is not available: "),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_skill_is_listed_where_it_can_be_loaded_and_comes_with_its_name() {
    let env = taped();
    env.write(".coppice/skills/pdf/SKILL.md", "---\ndescription: Makes PDFs\n---\nUse the tool.\n");
    let id = env.create_with(&["--model", "taped"], &say("done"));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &[], &format!("use $pdf\n{}", say("done")));
    let [first, second] = texts(&env).try_into().unwrap();
    assert!(first.contains("- $pdf: Makes PDFs (") && !first.contains("Use the tool."), "{first}");
    assert!(second.contains("## The skill `pdf`") && second.contains("Use the tool."), "{second}");
}

#[test]
fn skills_and_slash_commands_of_other_programs_load_with_the_files_that_they_name() {
    let env = taped();
    write_home(
        &env,
        "home/.claude/skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies\n---\nRead rules.txt.\n",
    );
    write_home(&env, "home/.claude/skills/tidy/rules.txt", "the rules\n");
    write_home(&env, "home/.claude/secret.txt", "closed\n");
    write_home(&env, "home/.claude/commands/ship.md", "---\ndisable-model-invocation: true\n---\nShip it.\n");
    let show = "@report cat ~/.claude/skills/tidy/rules.txt; cat ~/.claude/secret.txt 2>/dev/null; echo $?";
    let id = env.create_with(&["--model", "taped"], show);
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "the rules\n1\n[exit 0]");
    env.send_ready(&id, &[], &format!("use $tidy and $ship\n{}", say("done")));
    let [first, second] = texts(&env).try_into().unwrap();
    assert!(first.contains("- $tidy: Tidies (") && !first.contains("$ship"), "{first}");
    assert!(second.contains("Read rules.txt.") && second.contains("Ship it."), "{second}");
}

#[test]
fn a_file_without_a_description_is_skipped_and_the_built_in_agent_stays() {
    let env = TestEnv::new();
    env.write(".agents/agents/reviewer.md", "---\npermission: {\"*\": deny}\n---\nSay nothing.\n");
    env.write(".claude/agents/scout.md", "---\ndescription: Scouts\n---\nScout.\n");
    let shown = env.json(&["agents", "show", "reviewer"]);
    assert!(!shown["prompt"].as_str().unwrap().contains("Say nothing."), "{shown:#}");
    let check = env.coppice(&["agents", "check"]).exits(1).stdout;
    assert!(check.contains(".agents/agents/reviewer.md: warning: Agent missing description, skipping"), "{check}");
}

#[test]
fn an_agent_for_claude_is_called_as_its_file_unless_it_has_a_name() {
    let env = TestEnv::new();
    env.write(".claude/agents/scout.md", "---\ndescription: Scouts\n---\nScout.\n");
    assert_eq!(env.json(&["agents", "show", "scout"])["prompt"], "Scout.");
    env.coppice(&["agents", "check"]).succeeds();
}

#[test]
fn skills_of_a_repository_are_read_from_its_own_directories() {
    let env = taped();
    env.write(".kodacode/skills/pdf/SKILL.md", "---\ndescription: Makes PDFs\n---\nUse the tool.\n");
    env.write(".claude/skills/other/SKILL.md", "---\ndescription: Others\n---\nNot this.\n");
    let id = env.create_with(&["--model", "taped"], &format!("use $pdf and $other\n{}", say("done")));
    env.wait_for(&id, "ready");
    let [first] = texts(&env).try_into().unwrap();
    assert!(first.contains("Use the tool.") && !first.contains("Not this."), "{first}");
}

#[test]
fn a_slash_command_gets_the_text_that_follows_its_name() {
    let env = taped();
    write_home(&env, "home/.claude/commands/mend.md", "Mend $ARGUMENTS, first $0.\n");
    write_home(&env, "home/.codex/prompts/port.md", "Port $1 to $2.\n");
    write_home(&env, "home/.agents/skills/sum/SKILL.md", "---\ndescription: Sums\n---\nawk '{ print $1 }'\n");
    let id = env.create_with(&["--model", "taped"], &format!("$mend src/a.rs \"two words\"\n{}", say("done")));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &[], &format!("$port 'the parser' rust $sum\n{}", say("done")));
    let [first, second] = texts(&env).try_into().unwrap();
    let mended = "Mend src/a.rs \"two words\"\n@answer done, first src/a.rs.";
    assert!(first.contains(mended), "{first}");
    assert!(second.contains("Port the parser to rust.") && second.contains("awk '{ print $1 }'"), "{second}");
}

#[test]
fn a_switch_tells_the_agent_in_a_delta_and_once_only() {
    let env = taped();
    env.write(".coppice/agents/poet.md", &agent("", "Speak in rhymes."));
    env.write(".coppice/agents/clerk.md", &agent("", "Speak in lists."));
    let id = env.create_with(&["--model", "taped", "--agent", "poet"], &say("1"));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &["--agent", "clerk"], &say("2"));
    env.send_ready(&id, &[], &say("3"));
    env.kill_daemon();
    env.send_ready(&id, &[], &say("4"));
    env.send_ready(&id, &["--agent", "poet"], &recall());
    assert_eq!(env.last_answer(&id), "remembered turns: 4");
    let delta = "delta_only".to_owned();
    assert_eq!(env.deliveries(&id), ["bootstrap_full".to_owned(), delta.clone(), delta.clone(), delta.clone(), delta]);
    let told: Vec<_> = texts(&env)
        .iter()
        .map(|text| {
            (text.contains("Speak in rhymes."), text.contains("Speak in lists."), text.contains("From here on"))
        })
        .collect();
    let nothing = (false, false, false);
    assert_eq!(told, [(true, false, false), (false, true, true), nothing, nothing, (true, false, true)]);
    assert_eq!(env.session(&id)["agent"], "poet");
}

#[test]
fn a_switch_brings_its_tools_also_after_a_restart() {
    let env = TestEnv::new();
    let id = env.create_ready(GIVEN);
    let builder = env.last_answer(&id);
    assert!(builder.contains("native: read, search, locate, list, write"), "{builder}");
    env.send_ready(&id, &["--agent", "reviewer"], GIVEN);
    let reviewer = env.last_answer(&id);
    assert!(reviewer.contains("task_review") && reviewer.ends_with("; read-only"), "{reviewer}");
    env.kill_daemon();
    env.send_ready(&id, &[], GIVEN);
    assert_eq!(env.last_answer(&id), reviewer);
    assert_eq!(env.deliveries(&id)[1..], ["delta_only", "delta_only"]);
    let agents: Vec<_> = used(&env, &id).into_iter().map(|agent| agent["id"].clone()).collect();
    assert_eq!(agents, ["builder", "reviewer", "reviewer"]);
}
