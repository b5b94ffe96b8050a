//! Permissions through the binary: why a call goes ahead or not, what a consent saves and where, what else it settles.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{say, steps};

/// The user's own rules of the repository.
const OWN: &str = ".coppice/permissions.local.json";

/// An agent that asks about two commands at once and is done when both are decided.
const TWINS: &str = r#"#!/bin/sh
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
ask() {
    call='{"toolCallId":"'$1'","kind":"execute","title":"'$2'","rawInput":{"command":"'$2'"}}'
    options='[{"optionId":"y","name":"yes","kind":"allow_once"},{"optionId":"n","name":"no","kind":"reject_once"}]'
    printf '{"jsonrpc":"2.0","id":"%s","method":"session/request_permission","params":' "$1"
    printf '{"sessionId":"s","toolCall":%s,"options":%s}}\n' "$call" "$options"
}
open=2
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) reply "$id" '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) reply "$id" '{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*) prompt=$id; ask a 'touch one'; ask b 'touch two' ;;
    *'"outcome"'*)
        open=$((open - 1))
        if [ $open = 0 ]; then
            text='{\"answer\":\"done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}'
            printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
            printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$text"
            reply "$prompt" '{"stopReason":"end_turn"}'
        fi ;;
    esac
done
"#;

/// Asks for permission to run each command, and runs what is allowed.
fn requests(commands: &[&str]) -> String {
    let deeds = commands.iter().flat_map(|command| [format!("@request @run {command}"), format!("@run {command}")]);
    steps(&deeds.chain([say("done")]).collect::<Vec<_>>())
}

/// A session that asks about what no rule decides.
#[track_caller]
fn attended(env: &TestEnv, commands: &[&str]) -> String {
    env.create_with(&["--model", "demo", "--posture", "attended"], &requests(commands))
}

/// The same, and it waits with the first of them.
#[track_caller]
fn waiting(env: &TestEnv, commands: &[&str]) -> String {
    let id = attended(env, commands);
    env.wait_for(&id, "approval");
    id
}

fn rules(env: &TestEnv) -> Value {
    fs::read_to_string(env.repo().join(OWN)).map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

/// How often a person was asked in a session.
fn asked(env: &TestEnv, id: &str) -> usize {
    env.kinds(id).iter().filter(|kind| *kind == "approval_requested").count()
}

#[test]
fn an_unknown_posture_is_refused_with_the_known_ones() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("hello"));
    for arguments in
        [&["new", "--posture", "auto", "x"][..], &["send", &id, "--posture", "auto", "x"], &["posture", &id, "auto"]]
    {
        let refused = env.coppice(arguments).exits(2);
        assert!(refused.stderr.contains("[possible values: plan, attended, edits, unattended]"), "{}", refused.stderr);
    }
}

#[test]
fn the_posture_says_whether_anybody_is_asked() {
    let env = TestEnv::new();
    for (options, expected) in
        [(&["--posture", "attended"][..], 1), (&["--posture", "attended", "--yolo"], 0), (&["--posture", "edits"], 1)]
    {
        let id = env.create_with(&[&["--model", "demo"], options].concat(), &requests(&["touch made.txt"]));
        let status = if expected == 0 { "ready" } else { "approval" };
        env.wait_for(&id, status);
        assert_eq!(asked(&env, &id), expected, "{options:?}");
    }
}

#[test]
fn a_posture_is_switched_in_a_live_session_and_what_waits_is_decided_again() {
    let env = TestEnv::new();
    let id = waiting(&env, &["touch made.txt"]);
    assert!(env.coppice(&["posture", &id]).stdout().starts_with("posture  attended\n"));
    let changed = env.coppice(&["posture", &id, "attended", "--yolo"]).stdout();
    assert!(changed.starts_with("posture  attended, YOLO\n"), "{changed}");
    env.wait_for(&id, "ready");
    assert!(env.worktree(&id).join("made.txt").exists());
    let events = env.coppice(&["events", &id]).stdout();
    assert!(events.contains("posture_changed     attended, YOLO\n"), "{events}");
    assert!(env.coppice(&["show", &id]).stdout().contains("\nposture   attended, YOLO\n"));
    assert!(env.coppice(&["list"]).stdout().contains("YOLO"));
    let back = env.json(&["posture", &id, "--no-yolo"]);
    assert_eq!((&back["posture"], &back["yolo"]), (&json!("attended"), &json!(false)));
}

#[test]
fn once_is_once_and_a_refusal_saves_nothing() {
    let env = TestEnv::new();
    let id = waiting(&env, &["touch one", "touch two", "touch three"]);
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "approval");
    env.coppice(&["deny", &id]).succeeds();
    env.wait_for(&id, "approval");
    assert_eq!((asked(&env, &id), rules(&env)), (3, Value::Null));
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let made = |name: &str| env.worktree(&id).join(name).exists();
    assert_eq!((made("one"), made("two"), made("three")), (true, false, true));
    assert_eq!(rules(&env), Value::Null);
}

#[test]
fn a_consent_for_the_session_ends_with_it() {
    let env = TestEnv::new();
    let id = waiting(&env, &["touch one", "touch two"]);
    let card = env.coppice(&["show", &id]).stdout();
    assert!(card.contains("always saves: Bash(touch *)\n"), "{card}");
    let inbox = env.coppice(&["inbox"]).stdout();
    assert!(
        inbox.contains(&format!(
            "coppice approve {id} 1\n    coppice deny {id} 1\n    approve takes --session and --always"
        )),
        "{inbox}"
    );
    let said = env.coppice(&["approve", &id, "--session"]);
    assert!(said.stderr.ends_with("allowed for this session: Bash(touch *)\n"), "{}", said.stderr);
    said.succeeds();
    env.wait_for(&id, "ready");
    assert_eq!((asked(&env, &id), rules(&env)), (1, Value::Null));
    waiting(&env, &["touch three"]);
}

#[test]
fn always_is_written_down_and_counts_for_every_session() {
    let env = TestEnv::new();
    let id = waiting(&env, &["touch one"]);
    let said = env.coppice(&["approve", &id, "--always"]);
    let line = format!("allowed in {}: Bash(touch *)\n", env.repo().join(OWN).display());
    assert!(said.stderr.ends_with(&line), "{}", said.stderr);
    said.succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(rules(&env), json!({"permissions": {"allow": ["Bash(touch *)"]}}));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let other = attended(&env, &["touch two"]);
    env.wait_for(&other, "ready");
    assert_eq!(asked(&env, &other), 0);
}

#[test]
fn what_a_consent_covers_is_settled_with_it() {
    let env = TestEnv::new();
    let program = env.path("twins");
    fs::write(&program, TWINS).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    env.configure(&format!("[backends.twins]\ntransport = \"acp\"\ncommand = [{:?}]", program.display().to_string()));
    let id = env.create_with(&["--model", "twins", "--posture", "attended"], "go");
    env.wait_for_event(&id, "approval_requested", 0);
    let first = env.events(&id).into_iter().rfind(|event| event["type"] == "approval_requested").unwrap();
    if env.session(&id)["approvals"].as_array().unwrap().len() < 2 {
        env.wait_for_event(&id, "approval_requested", first["seq"].as_u64().unwrap());
    }
    let said = env.coppice(&["approve", &id, "1", "--session"]);
    assert!(said.stderr.ends_with("settled by it: 2  touch two\n"), "{}", said.stderr);
    said.succeeds();
    env.wait_for(&id, "ready");
    let outcomes = env.events(&id).into_iter().filter(|event| event["type"] == "approval_resolved");
    let outcomes: Vec<_> = outcomes.map(|event| (event["approval"].clone(), event["outcome"].clone())).collect();
    assert_eq!(outcomes, [(json!("1"), json!("allowed")), (json!("2"), json!("allowed"))]);
}

#[test]
fn what_a_rule_denies_asks_nobody_and_a_refusal_carries_words() {
    let env = TestEnv::new();
    let id = waiting(&env, &["touch one"]);
    env.coppice(&["deny", &id, "--never", "--message", "use the other file"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(rules(&env), json!({"permissions": {"deny": ["Bash(touch *)"]}}));
    let resolved = env.events(&id).into_iter().find(|event| event["type"] == "approval_resolved").unwrap();
    assert_eq!((&resolved["outcome"], &resolved["message"]), (&json!("denied"), &json!("use the other file")));
    for options in [&["--posture", "attended"][..], &["--yolo"]] {
        let id = env.create_with(&[&["--model", "demo"], options].concat(), &requests(&["touch two"]));
        env.wait_for(&id, "ready");
        assert_eq!(asked(&env, &id), 0);
        assert!(!env.worktree(&id).join("two").exists());
        let told = env.events(&id).into_iter().find(|event| event["type"] == "warning").unwrap();
        let told = told["message"].as_str().unwrap();
        assert!(told.contains("Tool \"bash\" denied by policy for pattern: touch two"), "{told}");
    }
}

#[test]
fn a_request_is_there_for_whoever_comes_back_and_goes_with_the_turn() {
    let env = TestEnv::new();
    let id = waiting(&env, &["touch one"]);
    for _ in 0..2 {
        let request = env.wait_for_event(&id, "approval_requested", 0);
        assert_eq!(request["approval"]["saves"], json!(["Bash(touch *)"]));
    }
    env.coppice(&["stop", &id]).succeeds();
    let resolved = env.wait_for_event(&id, "approval_resolved", 0);
    assert_eq!(resolved["outcome"], "cancelled");
    assert_eq!(env.session(&id)["approvals"], json!([]));
    assert_snapshot!(env.coppice(&["approve", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` waits for no approval: it is interrupted

    hint: `coppice inbox` shows what waits for you
    ");
}

#[test]
fn a_destructive_flag_is_shown_and_can_only_be_allowed_once() {
    let env = TestEnv::new();
    let id = waiting(&env, &["git push --force origin main"]);
    let card = env.coppice(&["show", &id]).stdout();
    assert!(card.contains("\n    ⚠ DESTRUCTIVE FLAG(S): --force\n"), "{card}");
    assert!(env.coppice(&["inbox"]).stdout().contains("⚠ DESTRUCTIVE FLAG(S): --force\n"));
    assert_snapshot!(env.coppice(&["approve", &id, "--always"]).transcript(), @r"
    exit: 2
    -- stderr
    error: this call can only be allowed once

    hint: leave `--session` and `--always` out
    ");
    assert_eq!((env.status(&id), rules(&env)), ("approval".to_owned(), Value::Null));
}

/// What is said about a call, without the line that depends on the kernel.
#[track_caller]
fn explained(env: &TestEnv, arguments: &[&str]) -> String {
    let said = env.coppice(&[&["permissions", "explain"], arguments].concat()).transcript();
    said.lines().filter(|line| !line.starts_with("sandbox ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_the_users_settings_of_claude_code_forbid_is_forbidden_on_every_backend() {
    let env = TestEnv::new();
    let settings = env.path("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let text = r#"{"permissions":{"allow":["Bash(make *)"],"ask":["WebFetch"],"deny":["Bash(rm:*)","Odd[(x)"]}}"#;
    fs::write(&settings, text).unwrap();
    let rm = explained(&env, &["Bash", "rm notes", "--posture", "unattended"]);
    assert!(
        rm.contains("deny  bash  rm notes") && rm.contains("Bash(rm *) in [ROOT]/home/.claude/settings.json"),
        "{rm}"
    );
    assert!(rm.contains("not understood: Odd[(x)"), "{rm}");
    let make = explained(&env, &["Bash", "make all", "--posture", "attended"]);
    assert!(make.contains("ask  bash  make all"), "{make}");
    fs::write(&settings, "{ broken").unwrap();
    let make = explained(&env, &["Bash", "make all", "--posture", "unattended"]);
    assert!(make.contains("ask  bash  make all") && make.contains("everything is asked about: 1:"), "{make}");
    // The program itself reads comments, and so does everybody who relies on its rules.
    fs::write(&settings, "\u{feff}{\"permissions\": { // mine\n\"deny\": \"Bash(rm:*)\" }}").unwrap();
    let rm = explained(&env, &["Bash", "rm notes", "--posture", "unattended"]);
    assert!(rm.contains("deny  bash  rm notes"), "{rm}");
}

#[test]
fn a_verdict_is_explained_with_its_step_and_its_rule() {
    let env = TestEnv::new();
    env.write(OWN, r#"{"permissions":{"allow":["Bash(make *)"],"ask":["Fetch(*)"],"deny":["Edit(src/**)"]}}"#);
    env.trust();
    assert_snapshot!(explained(&env, &["Bash", "make all", "--posture", "attended"]), @r"
    exit: 0
    -- stdout
    allow  bash  make all
    why      a rule allows it
    step     13 of 14, rules
    rule     Bash(make *) in [ROOT]/repo/.coppice/permissions.local.json
    posture  attended
    agent    builder

    rules
      no file   [ROOT]/coppice/permissions.json
      no file   .coppice/permissions.json
      3 rules   [ROOT]/repo/.coppice/permissions.local.json
      14 rules  [ROOT]/coppice/data/projects/[PROJECT]/permissions.jsonc
    ");
    assert_snapshot!(explained(&env, &["Edit", "src/main.rs", "--posture", "attended", "--yolo"]), @r#"
    exit: 0
    -- stdout
    deny  edit  src/main.rs
    why      Tool "Edit" denied by policy for pattern: src/main.rs
    step     5 of 14, deny rule
    rule     Edit(src/**) in [ROOT]/repo/.coppice/permissions.local.json
    posture  attended, YOLO
    agent    builder

    rules
      no file   [ROOT]/coppice/permissions.json
      no file   .coppice/permissions.json
      3 rules   [ROOT]/repo/.coppice/permissions.local.json
      14 rules  [ROOT]/coppice/data/projects/[PROJECT]/permissions.jsonc
    "#);
    assert_snapshot!(explained(&env, &["Bash", "git push --force", "--posture", "attended"]), @r"
    exit: 0
    -- stdout
    ask  bash  git push --force
    ⚠ DESTRUCTIVE FLAG(S): --force
    why           it may change something, and no rule allows it
    step          14 of 14, tool class
    always saves  nothing: it can only be allowed once
    posture       attended
    agent         builder

    rules
      no file   [ROOT]/coppice/permissions.json
      no file   .coppice/permissions.json
      3 rules   [ROOT]/repo/.coppice/permissions.local.json
      14 rules  [ROOT]/coppice/data/projects/[PROJECT]/permissions.jsonc
    ");
}

#[test]
fn what_nobody_knows_or_can_read_is_asked_about() {
    let env = TestEnv::new();
    let verdict = |arguments: &[&str]| {
        let said = env.json(&[&["permissions", "explain"], arguments].concat());
        format!("{} {} {}", said["verdict"].as_str().unwrap(), said["step"], said["layer"].as_str().unwrap())
    };
    for (arguments, expected) in [
        (&["frobnicate", "x", "--posture", "attended"][..], "ask 14 tool class"),
        (&["mcp:server:tool", "--posture", "attended"], "deny 2 surface"),
        (&["Bash", "echo 'open", "--yolo"], "ask 8 hard ask"),
        (&["Bash", "rm -rf /", "--yolo"], "deny 1 hard floor"),
        (&["Read", "README.md", "--posture", "attended"], "allow 14 tool class"),
        (&["Read", ".env"], "deny 3 path guard"),
        (&["Edit", "README.md", "--posture", "plan"], "deny 6 plan gate"),
        (&["Edit", "README.md", "--posture", "edits"], "allow 12 posture"),
    ] {
        assert_eq!(verdict(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn a_command_that_names_a_secret_file_is_denied_in_every_posture() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("done"));
    for flags in [
        &["--posture", "plan"][..],
        &["--posture", "attended"],
        &["--posture", "unattended"],
        &["--yolo"],
        &["--session", &id],
    ] {
        for text in ["cat .env", "ls; grep KEY .env.local", "x=.env; cat $x", "cat ~/.ssh/id_ed25519"] {
            let said = env.json(&[&["permissions", "explain", "Bash", text], flags].concat());
            assert_eq!((&said["verdict"], &said["layer"]), (&json!("deny"), &json!("path guard")), "{text}: {said}");
        }
    }
    let shown = env.coppice(&["show", &id]).stdout();
    assert!(shown.contains("secrets   denied to tools and to commands that name them"), "{shown}");
}

#[test]
fn an_ask_of_a_map_asks_where_the_posture_would_let_the_call_go_ahead() {
    let env = TestEnv::new();
    let agents = env.path("coppice/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("careful.md"), "---\ndescription: Asks.\npermission: {edit: ask}\n---\nCareful.\n").unwrap();
    let verdict = |tool: &str, flags: &[&str]| {
        let said =
            env.json(&[&["permissions", "explain", tool, "README.md", "--posture", "unattended"], flags].concat());
        format!("{} {}", said["verdict"].as_str().unwrap(), said["layer"].as_str().unwrap())
    };
    assert_eq!(verdict("Edit", &[]), "allow posture");
    assert_eq!(verdict("Edit", &["--agent", "careful"]), "ask rules");
    assert_eq!(verdict("Edit", &["--agent", "careful", "--yolo"]), "allow yolo");
    let [project] = fs::read_dir(env.path("coppice/data/projects"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    fs::write(project.join("permissions.jsonc"), r#"{"write": "ask"}"#).unwrap();
    assert_eq!(verdict("Write", &[]), "ask rules");
    assert_eq!(verdict("Edit", &[]), "allow posture");
}

#[test]
fn a_command_that_shows_what_may_not_be_read_is_asked_about() {
    let env = TestEnv::new();
    let verdict = |text: &str| {
        let said = env.json(&["permissions", "explain", "Bash", text, "--posture", "attended"]);
        said["verdict"].as_str().unwrap_or_default().to_owned()
    };
    fs::create_dir(env.repo().join("api")).unwrap();
    fs::write(env.repo().join("api/.env"), "KEY=1\n").unwrap();
    for text in ["grep -r KEY api", "cd api && grep -r KEY .", "rg -uu KEY", "rg foo", "rg --hidden KEY api"] {
        assert_eq!(verdict(text), "ask", "{text}");
    }
    let shown = ["git diff", "git log -p", "git show HEAD", "git grep KEY", "git cat-file -p HEAD"];
    for text in shown.into_iter().chain(["ls", "git status", "rg foo src"]) {
        assert_eq!(verdict(text), "allow", "{text}");
    }
    env.git(&["add", "-f", "api/.env"]);
    for text in shown {
        assert_eq!(verdict(text), "ask", "{text}");
    }
    for text in ["git status", "git log --oneline -5", "git branch -a"] {
        assert_eq!(verdict(text), "allow", "{text}");
    }
}

#[test]
fn an_opaque_command_is_explained_by_what_makes_it_opaque() {
    let env = TestEnv::new();
    let explain = |text: &str, posture: &str| env.json(&["permissions", "explain", "Bash", text, "--posture", posture]);
    for (text, construct) in [("ls $x", "an expansion (`$`)"), ("for f in a; do ls; done", "the keyword `for`")] {
        let said = explain(text, "edits");
        assert_eq!(said["verdict"], "ask");
        assert!(said["reason"].as_str().unwrap().contains(construct), "{said}");
        assert!(said["warnings"][0].as_str().unwrap().starts_with(&format!("OPAQUE: it has {construct}")), "{said}");
        assert!(explain(text, "plan")["reason"].as_str().unwrap().contains(construct));
    }
    assert_eq!(explain("ls src", "edits")["warnings"], json!([]));
}

#[test]
fn who_is_asked_about_git_is_told_that_it_cannot_write_its_own_directory() {
    let env = TestEnv::new();
    for (tool, words, writes) in
        [("Bash", "git commit -m x", true), ("Bash", "make && git add .", true), ("Bash", "git log -1", false)]
    {
        let said = env.json(&["permissions", "explain", tool, words, "--posture", "attended"]);
        let warnings: Vec<_> = said["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let is_told = warnings.iter().any(|warning| warning.starts_with("WILL FAIL: ") && warning.contains("`git "));
        assert_eq!(is_told, writes && said["enforced"] == true, "{said}");
    }
}

#[test]
fn git_is_asked_about_where_its_configuration_runs_a_program() {
    let env = TestEnv::new();
    let explain = |posture: &str, text: &str| env.json(&["permissions", "explain", "Bash", text, "--posture", posture]);
    env.git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    for posture in ["attended", "edits", "plan"] {
        assert_eq!(explain(posture, "git diff")["verdict"], "allow");
    }
    env.git(&["config", "diff.pdf.textconv", "./tools/convert"]);
    for (posture, verdict) in [("attended", "ask"), ("edits", "ask"), ("plan", "deny")] {
        for text in ["git diff", "git status --short", "git log -p", "git show", "git blame README.md"] {
            let said = explain(posture, text);
            assert_eq!(said["verdict"], verdict, "{text}");
            assert!(said["reason"].as_str().unwrap().contains("`diff.pdf.textconv`"), "{said}");
        }
        assert_eq!(explain(posture, "git rev-parse HEAD")["verdict"], "allow");
    }
}

#[test]
fn reading_in_the_worktree_goes_ahead_and_a_redirection_needs_a_rule_of_its_own() {
    let env = TestEnv::new();
    env.write(OWN, r#"{"permissions":{"allow":["Bash(ls *)"]}}"#);
    env.trust();
    let explain = |posture: &str, text: &str| env.json(&["permissions", "explain", "Bash", text, "--posture", posture]);
    for text in [
        "ls -la",
        "pwd",
        "cd . && ls",
        "cd src && ls",
        "cd src && git status",
        "ls *.c",
        "wc -l *.md",
        "grep -rn --include=*.c x .",
        "git show HEAD@{1}",
        "sed 's/a/b/' README.md",
        "awk '{print $1}' README.md",
    ] {
        for posture in ["attended", "edits", "plan"] {
            assert_eq!(explain(posture, text)["verdict"], "allow", "{posture}: {text}");
        }
    }
    env.write("other/.git/HEAD", "");
    env.write("-x.md", "");
    for text in [
        "cat /etc/hosts",
        "ls /etc",
        "ls -la > made.txt",
        "cd other && git status",
        "wc -l *.md",
        "awk '{system($1)}' README.md",
        "sort *",
        "node --version",
    ] {
        assert_eq!(explain("attended", text)["verdict"], "ask", "{text}");
    }
    let unclosed = explain("plan", "echo 'open");
    assert_eq!(unclosed["verdict"], "deny");
    let reason = unclosed["reason"].as_str().unwrap();
    assert!(reason.starts_with("the command cannot be read: it has an unclosed quote"), "{reason}");
}

#[test]
fn what_a_rule_keeps_from_reading_is_asked_about_by_its_name_a_pattern_a_link_and_a_search() {
    let env = TestEnv::new();
    env.write(OWN, r#"{"permissions":{"allow":["Bash(cat *)","Bash(grep *)"],"deny":["Read(keys/**)"]}}"#);
    env.trust();
    env.write("keys/a.pem", "");
    env.write("src/a.c", "");
    symlink("../keys/a.pem", env.repo().join("src/notes.txt")).unwrap();
    let verdict = |text: &str| {
        let said = env.json(&["permissions", "explain", "Bash", text, "--posture", "attended"]);
        said["verdict"].as_str().unwrap().to_owned()
    };
    for text in ["cat keys/a.pem", "cat k*/*", "tail api/.env"] {
        assert_eq!(verdict(text), "deny", "{text}");
    }
    for text in ["cat src/notes.txt", "cat src/n*", "grep -r x ."] {
        assert_eq!(verdict(text), "ask", "{text}");
    }
    for text in ["cat src/a.c", "cat src/*.c", "grep -r x src"] {
        assert_eq!(verdict(text), "allow", "{text}");
    }
}

#[test]
fn a_question_about_two_files_or_a_verb_means_the_tool_that_rules_mean() {
    let env = TestEnv::new();
    let deny = ["Copy(a -> b)", "Move(a -> *)", "Github(create_pr)", "Rollback(*)"];
    env.write(OWN, &json!({"permissions": {"deny": deny}}).to_string());
    for (arguments, rule) in [
        (&["Copy", "a", "b"][..], "Copy(a -> b)"),
        (&["Copy", "a -> b"], "Copy(a -> b)"),
        (&["Move", "a -> c"], "Move(a -> *)"),
        (&["Github", "create_pr"], "Github(create_pr)"),
        (&["Rollback"], "Rollback(*)"),
    ] {
        let said = env.json(&[&["permissions", "explain"], arguments].concat());
        assert!(said["rule"].as_str().is_some_and(|found| found.starts_with(rule)), "{arguments:?}: {said}");
    }
}

#[test]
fn a_rule_file_that_a_committed_link_leads_to_is_an_error() {
    let env = TestEnv::new();
    env.write("fix/permissions.local.json", r#"{"permissions":{"allow":["Bash(*)"],"deny":["Bash(rm *)"]}}"#);
    symlink("fix", env.repo().join(".coppice")).unwrap();
    env.commit("rules behind a link");
    assert_snapshot!(env.coppice(&["permissions"]).transcript(), @r"
    exit: 1
    -- stderr
    error: failed to read `[ROOT]/repo/.coppice/permissions.local.json`
      caused by: a symbolic link leads to it: replace the link by what it leads to
    ");
}

/// What a person reads about the user's own rules of the repository, below the paths.
fn local_line(env: &TestEnv) -> String {
    let said = env.coppice(&["permissions"]).stdout();
    let (before, after) = said.lines().rfind(|line| line.contains(OWN)).unwrap().split_once(OWN).unwrap();
    format!("{} {}", before.split_whitespace().next().unwrap(), after.trim()).trim().to_owned()
}

#[test]
fn what_a_local_rule_file_allows_counts_once_a_person_agreed_to_it() {
    let env = TestEnv::new();
    let verdict = |text: &str| env.json(&["permissions", "explain", "Bash", text, "--posture", "attended"]);
    let id = waiting(&env, &["touch one"]);
    env.coppice(&["approve", &id, "--always"]).succeeds();
    env.wait_for(&id, "ready");
    assert_snapshot!(env.coppice(&["trust"]).transcript(), @r#"
    exit: 0
    -- stdout
    trusted at 6b64463e27 (hash [PROJECT])
      allow in permissions.local.json: "Bash(touch *)"
    "#);
    // Whoever writes the file: git with attributes that are gone since, a patch, a person.
    env.write(OWN, r#"{"permissions":{"allow":["Bash(touch *)","Bash(make *)"],"deny":["Bash(rm *)"]}}"#);
    assert_snapshot!(local_line(&env), @"2 what it allows beyond the rules that you agreed to does not count before `coppice trust`");
    assert_eq!(verdict("touch x")["verdict"], "allow");
    assert_eq!(verdict("make all")["verdict"], "ask");
    assert_eq!(verdict("rm x")["verdict"], "deny");
    let next = env.create_ready(&say("done"));
    let warned = env
        .events(&next)
        .into_iter()
        .any(|event| event["message"].as_str().is_some_and(|text| text.contains("ignored until `coppice trust`")));
    assert!(warned);
    // Another decision of the person is not about what somebody else wrote.
    let id = waiting(&env, &["mkdir one"]);
    env.coppice(&["approve", &id, "--always"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(verdict("make all")["verdict"], "ask");
    let asked = env.coppice(&["trust"]);
    assert_snapshot!(asked.transcript(), @r#"
    exit: 4
    -- stdout
    changed since you trusted it, at 6b64463e27
    +allow in permissions.local.json: "Bash(make *)"
    -- stderr
    hint: `coppice trust --hash [PROJECT]` agrees to it
    "#);
    let hint = asked.stderr.split('`').find(|text| text.starts_with("coppice trust --hash")).unwrap();
    env.coppice(&hint.split(' ').skip(1).collect::<Vec<_>>()).succeeds();
    assert_snapshot!(local_line(&env), @"4");
    assert_eq!(verdict("make all")["verdict"], "allow");
    assert_eq!(env.json(&["trust"])["state"], "trusted");
    // The same file with one rule more.
    env.write(OWN, r#"{"permissions":{"allow":["Bash(*)"]}}"#);
    assert_snapshot!(local_line(&env), @"0 what it allows does not count before `coppice trust`");
    assert_eq!(env.json(&["trust"])["state"], "untrusted");
}

#[test]
fn consent_to_local_rules_trusts_no_branch() {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\nsetup = \"true\"\n");
    env.commit("a setup command");
    env.trust();
    env.git(&["switch", "-q", "-c", "theirs"]);
    env.write(OWN, r#"{"permissions":{"allow":["Bash(make *)"]}}"#);
    assert_eq!(env.json(&["trust"])["difference"], "+allow in permissions.local.json: \"Bash(make *)\"\n");
    env.trust();
    assert_eq!(env.json(&["trust"])["state"], "trusted");
    assert_eq!(env.json(&["trust"])["branches"], json!(["main"]));
    // The command that then adds the branch.
    env.trust();
    assert_eq!(env.json(&["trust"])["branches"], json!(["main", "theirs"]));
}

#[test]
fn a_place_says_which_rules_count_and_where_always_goes() {
    let env = TestEnv::new();
    env.write(".coppice/permissions.json", r#"{"permissions":{"allow":["Bash(make *)"],"deny":["Read(secret/**)"]}}"#);
    env.commit("rules");
    let said = env.coppice(&["permissions"]).transcript();
    let said: Vec<_> =
        said.lines().filter(|line| !line.starts_with("posture ") && !line.starts_with("sandbox ")).collect();
    assert_snapshot!(said.join("\n"), @r"
    exit: 0
    -- stdout
    always   is saved in [ROOT]/repo/.coppice/permissions.local.json

    rules
      no file   [ROOT]/coppice/permissions.json
      1 rule    .coppice/permissions.json  what it allows does not count before `coppice trust`
      no file   [ROOT]/repo/.coppice/permissions.local.json
      14 rules  [ROOT]/coppice/data/projects/[PROJECT]/permissions.jsonc
    ");
}

#[test]
fn a_broken_file_of_rules_is_an_error_that_names_it() {
    let env = TestEnv::new();
    env.write(OWN, r#"{"permissions":{"deny":["rm -rf"]}}"#);
    assert_snapshot!(env.coppice(&["permissions"]).transcript(), @r#"
    exit: 2
    -- stderr
    error: [ROOT]/repo/.coppice/permissions.local.json:1: invalid rule "rm -rf" (want "Tool(pattern)")
    "#);
    assert_snapshot!(env.coppice(&["permissions", "explain", "Bash", "ls"]).transcript(), @r#"
    exit: 2
    -- stderr
    error: [ROOT]/repo/.coppice/permissions.local.json:1: invalid rule "rm -rf" (want "Tool(pattern)")
    "#);
    env.write(OWN, "{");
    assert_snapshot!(env.coppice(&["permissions"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/repo/.coppice/permissions.local.json:1: unterminated object
    ");
}

#[test]
fn explaining_says_what_is_wrong_with_the_question() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["permissions", "explain", "Bash", "ls", "--session", "zz"]).transcript(), @r"
    exit: 5
    -- stderr
    error: no session matches `zz`

    hint: `coppice list --all` shows all sessions
    ");
    assert_snapshot!(env.coppice(&["permissions", "explain", "Bash", "ls", "--agent", "nobody"]).transcript(), @r"
    exit: 2
    -- stderr
    error: missing agent template: nobody

    hint: `coppice agents` tells about all of them; builder, engineer, orchestrator, planner, reviewer can be chosen
    ");
}

/// What let the calls of a session pass, in their order.
fn passed(env: &TestEnv, id: &str) -> Vec<Value> {
    let ended = env.events(id).into_iter().filter(|event| event["type"] == "tool_finished");
    ended.map(|event| event["auto"].clone()).collect()
}

#[test]
fn a_call_that_went_ahead_by_itself_says_by_what() {
    let env = TestEnv::new();
    let yolo = ["--model", "demo", "--posture", "attended", "--yolo"];
    let id = env.create_with(&yolo, &requests(&["touch made.txt", "git status"]));
    env.wait_for(&id, "ready");
    assert_eq!(passed(&env, &id), [json!({"layer": "yolo", "posture": "attended"}), Value::Null]);
    let events = env.coppice(&["events", &id]).stdout();
    assert!(events.contains("✓ auto · yolo\n"), "{events}");

    // A person allowed the first; what they said lets the second pass.
    let id = waiting(&env, &["touch made.txt", "touch made.txt"]);
    env.coppice(&["approve", &id, "--session"]).succeeds();
    env.wait_for(&id, "ready");
    let rule = "Bash(touch *) for this session";
    assert_eq!(passed(&env, &id), [Value::Null, json!({"layer": "rules", "rule": rule, "posture": "attended"})]);
}
