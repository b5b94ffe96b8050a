//! Whose tools an agent works with, and what `coppice tools` says about it.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

/// Ends the turn with what the agent was left of its own tools.
const OWN: &str = "@native";

/// An agent of `.coppice/agents`.
fn agent(header: &str) -> String {
    format!("---\ndescription: A test's own\nmode: all\n{header}---\nWork.\n")
}

fn names(surface: &Value, list: &str) -> Vec<String> {
    let listed = surface[list].as_array().unwrap().iter();
    listed.map(|tool| tool["name"].as_str().or(tool.as_str()).unwrap().to_owned()).collect()
}

/// Why a tool is missing.
fn reason(surface: &Value, family: &str, name: &str) -> Value {
    let missing = surface["missing"].as_array().unwrap().iter();
    let mut found = missing.filter(|tool| tool["name"] == name && tool["family"] == family);
    found.next().map_or(Value::Null, |tool| tool["reason"].clone())
}

#[test]
fn the_tightest_profile_of_configuration_agent_and_session_counts() {
    let env = TestEnv::new();
    env.write(".coppice/agents/held.md", &agent("profile: enforced\n"));
    env.write(".coppice/agents/looker.md", &agent("profile: readonly\n"));
    for (options, profile, own) in [
        (&["--agent", "held"][..], "enforced", "native: todo"),
        (&["--profile", "enforced"], "enforced", "native: todo"),
        (&["--profile", "readonly"], "readonly", "native: todo; read-only"),
        (&["--agent", "looker", "--profile", "enforced"], "readonly", "native: todo; read-only"),
        (&["--agent", "held", "--profile", "native"], "enforced", "native: todo"),
    ] {
        let id = env.create_with(&[&["--model", "demo"], options].concat(), OWN);
        env.wait_for(&id, "ready");
        assert_eq!(env.last_answer(&id), own, "{options:?}");
        assert_eq!(env.session(&id)["profile"], profile, "{options:?}");
        assert!(env.coppice(&["show", &id]).stdout().contains(&format!("profile   {profile}\n")), "{options:?}");
    }
    let id = env.create_with(&["--model", "demo"], OWN);
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["profile"], "native");
    // A repository that nobody trusts tightens, and does not loosen.
    env.write(".coppice/config.toml", "[tools]\nprofile = \"enforced\"\ngit_mutations = \"allow\"\n");
    env.commit("settings");
    assert_eq!(env.json(&["tools", "--model", "demo"])["profile"], "enforced");
    assert_eq!(env.json(&["tools", "--model", "demo", "--profile", "readonly"])["profile"], "readonly");
    assert_eq!(env.json(&["config", "get", "tools.git_mutations"])["value"], "deny");
}

#[test]
fn a_backend_whose_tools_cannot_be_taken_away_is_refused_or_said() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "forgetful", "--profile", "enforced"], &say("done"));
    env.wait_for(&id, "failed");
    let message = env.session(&id)["last_error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("surface_not_enforceable: agent `builder` cannot be kept to its tools"), "{message}");
    let surface = env.json(&["tools", "--model", "forgetful", "--profile", "enforced"]);
    assert_eq!(surface["problem"], "backend `forgetful` has no way to take an agent's own tools away");
    assert!(names(&surface, "native").contains(&"bash".to_owned()));
    env.coppice(&["config", "set", "tools.surface", "advisory"]).succeeds();
    let id = env.create_with(&["--model", "forgetful", "--profile", "enforced"], &say("done"));
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["surface"], "advisory");
}

#[test]
fn children_work_with_the_tools_that_their_parent_asked_for() {
    let env = TestEnv::new();
    let id = env.create_with(
        &["--model", "demo", "--agent", "engineer", "--profile", "enforced"],
        &crate::script::delegate("general", OWN),
    );
    env.wait_for(&id, "ready");
    assert!(env.last_answer(&id).contains("native: todo"), "{}", env.last_answer(&id));
}

#[test]
fn a_list_of_tools_tells_what_an_agent_gets_and_why_it_lacks_the_rest() {
    let env = TestEnv::new();
    let native = env.json(&["tools", "--model", "demo"]);
    assert_eq!((&native["agent"], &native["backend"]), (&json!("builder"), &json!("demo")));
    let own = names(&native, "native");
    assert!(["read", "edit", "bash"].iter().all(|name| own.contains(&(*name).to_owned())), "{own:?}");
    let question = native["served"].as_array().unwrap().iter().find(|tool| tool["name"] == "question").unwrap();
    assert_eq!(*question, json!({"name": "question", "family": "session", "approval": "allow", "effect": "reads"}));
    for (family, name, expected) in [
        ("native", "web_search", "web_search"),
        ("session", "skill", "skills"),
        ("session", "exit_plan_mode", "planning"),
        ("session", "delegate", "surface"),
    ] {
        assert_eq!(reason(&native, family, name), expected, "{name}");
    }
    let enforced = env.json(&["tools", "--model", "demo", "--profile", "enforced"]);
    assert_eq!(names(&enforced, "native"), ["todo"]);
    assert_eq!(reason(&enforced, "native", "bash"), "profile");
    // What is told is what a turn has.
    for profile in ["native", "enforced", "readonly"] {
        let mut told = names(&env.json(&["tools", "--model", "demo", "--profile", profile]), "served");
        told.sort();
        let id = env.create_with(&["--model", "demo", "--profile", profile], "@tools");
        env.wait_for(&id, "ready");
        assert_eq!(env.last_answer(&id), format!("tools: {}", told.join(", ")), "{profile}");
    }
    let unknown = env.coppice(&["tools", "--agent", "nobody"]);
    assert!(unknown.stderr.contains("missing agent template: nobody"), "{}", unknown.stderr);
}

#[test]
fn what_an_agent_still_tries_with_its_own_tools_is_refused() {
    let env = TestEnv::new();
    let asked = ["@may run touch made.txt", "@may edit x.txt"].map(str::to_owned);
    let script = steps(&[asked.as_slice(), &[run("touch made.txt"), write("x.txt", "x"), say("done")]].concat());
    let id = env.create_with(&["--model", "demo", "--profile", "enforced"], &script);
    env.wait_for(&id, "ready");
    let warned = env.events(&id).into_iter().filter(|event| event["type"] == "warning");
    let denied = warned.filter(|event| event["message"].as_str().unwrap().ends_with(": tool not available to agent"));
    assert_eq!(denied.count(), 2);
    let tree = env.worktree(&id);
    assert!(!tree.join("made.txt").exists() && !tree.join("x.txt").exists());
}

#[test]
fn tools_of_external_servers_are_listed_for_those_who_get_them() {
    let env = TestEnv::new();
    env.configure(
        "[mcp.servers.db]\ncommand = [\"db-mcp\"]\n[mcp.servers.web]\ncommand = [\"web-mcp\"]\ntrust = true\n",
    );
    env.write(".coppice/agents/clerk.md", &agent("AllowTools: [read, 'mcp:db:query']\n"));
    let listed = |agent: &str, profile: &str, list: &str, what: &str| {
        let surface = env.json(&["tools", "--agent", agent, "--profile", profile]);
        let rows = surface[list].as_array().unwrap().iter().filter(|row| row["family"] == "mcp");
        rows.map(|row| format!("{} {}", row["name"].as_str().unwrap(), row[what].as_str().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(listed("builder", "native", "served", "approval"), ["mcp__db__* ask", "mcp__web__* varies"]);
    assert_eq!(listed("clerk", "enforced", "served", "approval"), ["mcp__db__query ask"]);
    assert_eq!(listed("clerk", "readonly", "served", "approval"), [""; 0]);
    let missing = ["mcp__db__query served if its server says that it only reads"];
    assert_eq!(listed("clerk", "readonly", "missing", "why"), missing);
}
