//! What the person configured for the agent programs, taken over at their word.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::external::SERVER;
use crate::script::call;

/// Writes a file below the home.
fn put(env: &TestEnv, file: &str, text: &str) {
    let path = env.path("home").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn config(env: &TestEnv) -> String {
    fs::read_to_string(env.path("coppice/config.toml")).unwrap()
}

/// The state of each server in a reply.
fn states(reply: &Value) -> Vec<String> {
    let servers = reply["servers"].as_array().unwrap().iter();
    servers
        .map(|server| format!("{} {}", server["name"].as_str().unwrap(), server["state"].as_str().unwrap()))
        .collect()
}

/// A home with servers in the files of three programs.
fn equipped() -> TestEnv {
    let env = TestEnv::new();
    let main = json!({
        "mcpServers": {
            "docs": {"type": "http", "url": "https://me:s3cret@docs.example.org/mcp?key=s3cret"},
            "Search": {"command": "npx", "args": ["-y", "search-mcp"], "env": {"SEARCH_KEY": "s3cret", "DEPTH": "3"}},
            "coppice": {"command": "coppice", "args": ["mcp"]}},
        "projects": {
            env.repo().to_str().unwrap(): {"mcpServers": {"db": {"command": "db-mcp", "args": ["--token", "s3cret"]}}},
            "/elsewhere": {"mcpServers": {"hidden": {"command": "x"}}}}});
    put(&env, ".claude.json", &main.to_string());
    put(&env, ".codex/config.toml", "[mcp_servers.db]\ncommand = \"other-db\"\nenv_vars = [\"DB_URL\"]\n");
    put(&env, ".gemini/settings.json", "{\n  \"mcpServers\": {\"x\" 1}\n}");
    env.write(".mcp.json", r#"{"mcpServers": {"planted": {"command": "sh", "args": ["-c", "evil"]}}}"#);
    env.write(".codex/config.toml", "[mcp_servers.planted]\ncommand = \"evil\"\n");
    env.write(".gemini/settings.json", r#"{"mcpServers": {"planted": {"command": "evil"}}}"#);
    env
}

#[test]
fn servers_are_listed_with_what_can_become_of_them_and_without_secrets() {
    let env = equipped();
    let listed = env.coppice(&["mcp", "import"]).transcript();
    insta::assert_snapshot!(listed, @r"
    exit: 0
    -- stdout
    db      ready    [ROOT]/home/.claude.json        db-mcp --token …
    docs    no       [ROOT]/home/.claude.json
        speaks HTTP at `https://docs.example.org/mcp?…`, and sessions use servers on stdin and stdout; a program that connects the two, such as `npx mcp-remote URL`, can be `mcp.servers.NAME.command`
    Search  ready    [ROOT]/home/.claude.json        npx -y search-mcp  with DEPTH, SEARCH_KEY
        name here: `search`
    db      by name  [ROOT]/home/.codex/config.toml  other-db  with DB_URL
        `DB_URL` comes from the shell's `${DB_URL}`, which Coppice does not expand; set it in `[mcp.servers.db.env]`

    coppice mcp import NAME…, or --all for those that are ready, adds them to [ROOT]/coppice/config.toml
    -- stderr
    warning: [ROOT]/home/.gemini/settings.json:2:22: expected colon after the string or word in object property
    ");
    assert!(!listed.contains("s3cret"), "{listed}");
    let reply = env.json(&["mcp", "import", "--from", "claude"]);
    assert_eq!(states(&reply), ["db ready", "docs unusable", "Search ready"]);
    assert!(!reply.to_string().contains("s3cret") && !reply.to_string().contains("planted"), "{reply:#}");
}

#[test]
fn all_that_is_ready_is_written_once_and_kept_private() {
    let env = equipped();
    let before = config(&env);
    let imported = env.coppice(&["mcp", "import", "--all"]).transcript();
    insta::assert_snapshot!(imported, @r"
    exit: 0
    -- stdout
    db      imported  [ROOT]/home/.claude.json        db-mcp --token …
    docs    no        [ROOT]/home/.claude.json
        speaks HTTP at `https://docs.example.org/mcp?…`, and sessions use servers on stdin and stdout; a program that connects the two, such as `npx mcp-remote URL`, can be `mcp.servers.NAME.command`
    Search  imported  [ROOT]/home/.claude.json        npx -y search-mcp  with DEPTH, SEARCH_KEY
        name here: `search`
    db      clash     [ROOT]/home/.codex/config.toml  other-db  with DB_URL
        `mcp.servers.db` has another command; `--as NAME` imports this one under another name

    added to [ROOT]/coppice/config.toml; sessions start these servers with their next prompt
    every call needs your approval until a rule such as MCP(db/TOOL) allows it; to let read-only tools go ahead:
    coppice config set mcp.servers.db.trust true
    -- stderr
    warning: [ROOT]/home/.gemini/settings.json:2:22: expected colon after the string or word in object property
    ");
    let after = config(&env);
    assert!(after.starts_with(before.trim_end()), "what was there stays: {after}");
    let added = after[before.trim_end().len()..].trim();
    insta::assert_snapshot!(added, @r#"
    [mcp.servers.db]
    command = ["db-mcp", "--token", "s3cret"]

    [mcp.servers.search]
    command = ["npx", "-y", "search-mcp"]
    env = { DEPTH = "3", SEARCH_KEY = "s3cret" }
    "#);
    let mode = fs::metadata(env.path("coppice/config.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = env.json(&["mcp", "import", "--all"]);
    assert_eq!(states(&again), ["db present", "docs unusable", "Search present", "db clash"]);
    assert_eq!(config(&env), after);
}

#[test]
fn a_person_chooses_between_servers_of_one_name() {
    let env = equipped();
    let refused = env.coppice(&["mcp", "import", "db"]).exits(2);
    insta::assert_snapshot!(refused.stderr, @r"
    error: `claude` and `codex` have different servers called `db`

    hint: add `--from claude` or `--from codex`
    ");
    // What the shell would have brought is left to the person.
    let imported = env.coppice(&["mcp", "import", "db", "--from", "codex"]).stdout();
    assert!(imported.contains("comes from the shell's `${DB_URL}`"), "{imported}");
    assert!(config(&env).contains("[mcp.servers.db]\ncommand = [\"other-db\"]"), "{}", config(&env));
    let refused = env.coppice(&["mcp", "import", "db", "--from", "claude"]).exits(1);
    insta::assert_snapshot!(refused.stderr, @r"
    error: MCP server `db` was not imported
      caused by: `mcp.servers.db` has another command; `--as NAME` imports this one under another name
    ");
    env.coppice(&["mcp", "import", "db", "--from", "claude", "--as", "shop-db"]).succeeds();
    assert!(config(&env).contains("[mcp.servers.shop-db]\ncommand = [\"db-mcp\", \"--token\", \"s3cret\"]"));
    let text = env.coppice(&["mcp", "import", "docs"]).exits(1).stderr;
    assert!(text.contains("npx mcp-remote"), "{text}");
    for (arguments, code) in [(&["nobody"][..], 5), (&["Search", "docs", "--as", "x"], 2)] {
        assert_eq!(env.coppice(&[&["mcp", "import"], arguments].concat()).exits(code).stdout, "");
    }
}

#[test]
fn an_imported_server_serves_a_session_and_asks_first() {
    let env = TestEnv::new();
    let (script, outside) = (env.path("server.sh"), env.path("outside"));
    fs::write(&script, SERVER).unwrap();
    fs::create_dir(&outside).unwrap();
    env.configure(&format!("[sandbox]\nread = [\"{}\"]\n", script.display()));
    let server = json!({"command": "/bin/sh", "args": [script], "env": {"OUTSIDE": outside}});
    put(&env, ".claude.json", &json!({"mcpServers": {"db": server}}).to_string());
    env.coppice(&["mcp", "import", "db"]).succeeds();
    let id = env.create(&call("mcp__db__wipe", &json!({})));
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "done");
}

#[test]
fn a_person_without_servers_is_told_so() {
    let env = TestEnv::new();
    let text = "none of your agent programs has an MCP server of its own\n";
    assert_eq!(env.coppice(&["mcp", "import"]).stdout(), text);
    assert_eq!(env.coppice(&["mcp", "import", "--all"]).stdout(), text);
}

/// A home whose settings of Claude Code allow these rules.
fn allowing(rules: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    let settings = json!({"permissions": {"allow": rules, "deny": ["Bash(rm:*)"]}, "model": "opus"});
    put(&env, ".claude/settings.json", &settings.to_string());
    env
}

fn own_rules(env: &TestEnv) -> Value {
    serde_json::from_str(&fs::read_to_string(env.path("coppice/permissions.json")).unwrap()).unwrap()
}

#[test]
fn rules_are_listed_and_those_that_are_safe_are_added_once() {
    let env = allowing(&["Bash(npm run test:*)", "Bash", "Bash(python3:*)", "Skill(pdf)", "Edit(docs/**)", "Read"]);
    let own = json!({"permissions": {"allow": ["Read(**)"], "deny": ["Bash(curl *)"]}});
    fs::write(env.path("coppice/permissions.json"), own.to_string()).unwrap();
    insta::assert_snapshot!(env.coppice(&["permissions", "import"]).transcript(), @r"
    exit: 0
    -- stdout
    ready    Bash(npm run test:*)  as Bash(npm run test *)
    by name  Bash                  as Bash(**)
        it allows every command
    by name  Bash(python3:*)       as Bash(python3 *)
        `python3` runs any command, so it allows every command
    no       Skill(pdf)
        Coppice has no such tool
    ready    Edit(docs/**)         as Edit(docs/**) Write(docs/**)
    there    Read                  as Read(**)

    coppice permissions import RULE…, or --all for those that are ready, adds them to [ROOT]/coppice/permissions.json
    ");
    insta::assert_snapshot!(env.coppice(&["permissions", "import", "--all"]).transcript(), @r"
    exit: 0
    -- stdout
    imported  Bash(npm run test:*)  as Bash(npm run test *)
    by name   Bash                  as Bash(**)
        it allows every command
    by name   Bash(python3:*)       as Bash(python3 *)
        `python3` runs any command, so it allows every command
    no        Skill(pdf)
        Coppice has no such tool
    imported  Edit(docs/**)         as Edit(docs/**) Write(docs/**)
    there     Read                  as Read(**)

    added to [ROOT]/coppice/permissions.json; they count in all repositories from the next turn on
    ");
    let allow = ["Read(**)", "Bash(npm run test *)", "Edit(docs/**)", "Write(docs/**)"];
    let expected = json!({"permissions": {"allow": allow, "deny": ["Bash(curl *)"]}});
    assert_eq!(own_rules(&env), expected);
    let verdict = |env: &TestEnv, command: &str| {
        env.json(&["permissions", "explain", "Bash", command, "--posture", "attended"])["verdict"].clone()
    };
    assert_eq!((verdict(&env, "npm run test x"), verdict(&env, "python3 x.py")), (json!("allow"), json!("ask")));
    env.coppice(&["permissions", "import", "--all"]).succeeds();
    assert_eq!(own_rules(&env), expected);
    // At a person's word a broad one is added too, and what forbids stays stronger.
    env.coppice(&["permissions", "import", "Bash"]).succeeds();
    assert_eq!(own_rules(&env)["permissions"]["allow"][4], "Bash(**)");
    assert_eq!((verdict(&env, "python3 x.py"), verdict(&env, "rm x")), (json!("allow"), json!("deny")));
}

#[test]
fn rules_that_cannot_be_imported_are_refused_and_nothing_is_written() {
    let env = allowing(&["Skill(pdf)", "Bash(make:*)"]);
    let refused = env.coppice(&["permissions", "import", "Bash(make:*)", "Skill(pdf)"]).exits(2).stderr;
    assert_eq!(refused, "error: rule `Skill(pdf)` was not imported\n  caused by: Coppice has no such tool\n");
    let refused = env.coppice(&["permissions", "import", "Bash(ls)"]).exits(5).stderr;
    assert!(refused.contains("has no `allow` rule `Bash(ls)`"), "{refused}");
    assert!(!env.path("coppice/permissions.json").exists());
    // A broken file of ours is not written over, and one of the program's is named.
    fs::write(env.path("coppice/permissions.json"), "{").unwrap();
    let refused = env.coppice(&["permissions", "import", "--all"]).exits(2).stderr;
    assert!(refused.contains("permissions.json:1: "), "{refused}");
    assert_eq!(fs::read_to_string(env.path("coppice/permissions.json")).unwrap(), "{");
    fs::remove_file(env.path("coppice/permissions.json")).unwrap();
    put(&env, ".claude/settings.json", "{\n \"permissions\": [");
    insta::assert_snapshot!(env.coppice(&["permissions", "import"]).transcript(), @r"
    exit: 0
    -- stderr
    warning: [ROOT]/home/.claude/settings.json:2:17: unterminated array
    ");
}

/// The daemon may have been started by somebody else, with other places for settings.
#[test]
fn settings_are_those_of_whoever_asks() {
    let mut env = equipped();
    env.coppice(&["list"]).succeeds();
    put(&env, "other/.claude.json", r#"{"mcpServers": {"elsewhere": {"command": "x"}}}"#);
    put(&env, "other/settings.json", r#"{"hooks": {"Stop": [{}]}, "permissions": {"allow": ["Bash(make:*)"]}}"#);
    put(&env, "other/npmrc", "registry=https://npm.example.org/\n");
    let other = env.path("home/other").display().to_string();
    env.set("CLAUDE_CONFIG_DIR", &other);
    env.set("npm_config_userconfig", &format!("{other}/npmrc"));
    let doctor = env.coppice(&["doctor"]).transcript();
    for part in [
        format!("MCP servers of `{other}/.claude.json` (elsewhere)"),
        format!("`allow` rules of `{other}/settings.json` (1)"),
        format!("hooks of `{other}/settings.json`"),
        format!("sessions use {other}/npmrc"),
    ] {
        assert!(doctor.contains(&part.replace(env.path("").to_str().unwrap(), "[ROOT]/")), "{part}: {doctor}");
    }
    assert!(env.coppice(&["mcp", "import"]).stdout().contains("elsewhere"));
    env.coppice(&["mcp", "import", "elsewhere"]).succeeds();
    assert!(config(&env).contains("[mcp.servers.elsewhere]"), "{}", config(&env));
    assert!(env.coppice(&["permissions", "import"]).stdout().contains("Bash(make:*)"));
    env.coppice(&["permissions", "import", "--all"]).succeeds();
}

#[test]
fn doctor_names_what_is_left_out_until_it_is_imported() {
    let env = equipped();
    put(&env, ".gemini/settings.json", "{\n  \"mcpServers\": {\"x\" 1}\n}");
    let settings = json!({"hooks": {"Stop": [{}]}, "permissions": {"allow": ["Bash(make:*)"]}});
    put(&env, ".claude/settings.json", &settings.to_string());
    let set_ups = || {
        let text = env.coppice(&["doctor"]).transcript();
        let head = text.find("good  set-up of").unwrap();
        let end = text.find("  sandbox").unwrap();
        text[head..end].lines().filter(|line| line.len() > 6).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(set_ups(), @r"
    good  set-up of claude  deliberately not used in sessions:
          MCP servers of `[ROOT]/home/.claude.json` (db, docs, Search): each would run in every session; `coppice mcp import` adds those you choose
          `allow` rules of `[ROOT]/home/.claude/settings.json` (1): they are consent for one program; `coppice permissions import` adds those you choose
          hooks of `[ROOT]/home/.claude/settings.json`: they run programs; `worktree.setup` prepares worktrees, `notify.command` tells you about sessions
    good  set-up of codex  deliberately not used in sessions:
          MCP servers of `[ROOT]/home/.codex/config.toml` (db): each would run in every session; `coppice mcp import` adds those you choose
    warn  set-up of gemini  cannot be read: [ROOT]/home/.gemini/settings.json:2:22: expected colon after the string or word in object property
    ");
    env.coppice(&["mcp", "import", "--all"]).succeeds();
    env.coppice(&["permissions", "import", "--all"]).succeeds();
    insta::assert_snapshot!(set_ups(), @r"
    good  set-up of claude  deliberately not used in sessions:
          MCP servers of `[ROOT]/home/.claude.json` (docs): each would run in every session; `coppice mcp import` adds those you choose
          hooks of `[ROOT]/home/.claude/settings.json`: they run programs; `worktree.setup` prepares worktrees, `notify.command` tells you about sessions
    good  set-up of codex  deliberately not used in sessions:
          MCP servers of `[ROOT]/home/.codex/config.toml` (db): each would run in every session; `coppice mcp import` adds those you choose
    warn  set-up of gemini  cannot be read: [ROOT]/home/.gemini/settings.json:2:22: expected colon after the string or word in object property
    ");
}
