//! What a failed turn advises, done as it says: whoever follows a hint literally goes on.

mod codex;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use serde_json::Value;

use crate::env::TestEnv;
use crate::script::{misfit, say, steps};

/// An agent that runs a script before it does anything, with the message it got in `$line`: what the script prints is the
/// error of a new session or of a prompt, `die` ends the agent, and where it prints nothing the agent works.
const FAILING: &str = r#"#!/bin/sh
reply() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
say() {
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"
}
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    error=$(. 'SCRIPT')
    [ "$error" = die ] && exit 1
    case $line in
    *'"method":"initialize"'*) reply "$id" \
        '"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[{"id":"own","name":"Own login"}]}' ;;
    *'"method":"session/new"'*)
        if [ "$error" ]; then
            reply "$id" "\"error\":$error"
        else
            reply "$id" '"result":{"sessionId":"s"}'
        fi ;;
    *'"method":"session/prompt"'*)
        if [ "$error" = cancelled ]; then
            reply "$id" '"result":{"stopReason":"cancelled"}'
        elif [ "$error" ]; then
            reply "$id" "\"error\":$error"
        else
            say '{\"answer\":\"done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}'
            reply "$id" '"result":{"stopReason":"end_turn"}'
        fi ;;
    esac
done
"#;

/// A world with that agent, and what a failed turn of it advises.
struct World {
    env: TestEnv,
    script: PathBuf,
}

impl World {
    fn new(script: &str) -> Self {
        let env = TestEnv::new();
        let (program, file) = (env.path("failing"), env.visible_to_agents("script"));
        fs::write(&program, FAILING.replace("SCRIPT", file.to_str().unwrap())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let world = Self { env, script: file };
        world.configure("");
        world.happens(script);
        world
    }

    fn configure(&self, text: &str) {
        let program = self.env.path("failing");
        self.env.configure(&format!("[backends.failing]\ncommand = [\"{}\"]\n{text}", program.display()));
    }

    /// What the agent runs from here on.
    fn happens(&self, script: &str) {
        fs::write(&self.script, script).unwrap();
    }

    /// A session whose first turn fails in this way, and the hint.
    #[track_caller]
    fn fails(&self, options: &[&str], prompt: &str, kind: &str) -> (String, String) {
        let id = self.env.create_with(&[&["--model", "failing"], options].concat(), prompt);
        (id.clone(), self.hint(&id, kind))
    }

    /// The hint of a turn that failed in this way.
    #[track_caller]
    fn hint(&self, id: &str, kind: &str) -> String {
        self.env.wait_for(id, "failed");
        let failure = self.env.session(id)["last_error"].clone();
        assert_eq!(failure["kind"], kind, "{failure:#}");
        failure["hint"].as_str().unwrap().to_owned()
    }

    /// Does what a hint says to do in a shell and in the configuration, of which there is something, and then with
    /// `coppice`, and requires that the session goes on. The configuration has nothing else than that.
    #[track_caller]
    fn apply(&self, id: &str, hint: &str) {
        for command in quoted(hint).filter(|text| text.starts_with("touch ")) {
            let status = self.env.command("sh", &self.env.path("home")).args(["-c", command]).status().unwrap();
            assert!(status.success(), "`{command}` of `{hint}`");
        }
        let lines: Vec<_> = quoted(hint).filter(|text| text.contains(" = ")).collect();
        let table = quoted(hint).find(|text| text.starts_with('[')).unwrap_or_else(|| panic!("{hint}"));
        assert!(!lines.is_empty() && hint.contains(&format!("below `{table}` in config.toml")), "{hint}");
        let table = if table == "[backends.failing]" { "" } else { table };
        self.configure(&format!("{table}\n{}\n", lines.join("\n")));
        self.follow(id, hint);
    }

    /// Does what a hint says with `coppice`, of which there is something, and requires that the session goes on.
    #[track_caller]
    fn follow(&self, id: &str, hint: &str) {
        let commands = commands(hint);
        assert!(!commands.is_empty(), "{hint}");
        for command in &commands {
            let output = self.env.coppice(&command.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(output.status.success(), "`{command:?}` of `{hint}`: {}{}", output.stdout, output.stderr);
        }
        self.env.wait_for(id, "ready");
    }
}

/// The texts between backticks.
fn quoted(hint: &str) -> impl Iterator<Item = &str> {
    hint.split('`').skip(1).step_by(2)
}

/// The commands of a hint, with what a person puts into their places.
fn commands(hint: &str) -> Vec<Vec<String>> {
    let script = say("gone on");
    let words = |command: &str| {
        let words = command.strip_prefix("coppice ")?.split_whitespace();
        let put = |word: &str| match word {
            "BACKEND/MODEL" => "demo".to_owned(),
            "\"…\"" => script.clone(),
            word => word.to_owned(),
        };
        Some(words.map(put).collect())
    };
    quoted(hint).filter_map(words).collect()
}

/// A script that prints this error at every prompt.
fn always(error: &str) -> String {
    format!("case $line in *'\"method\":\"session/prompt\"'*) echo '{error}';; esac")
}

#[test]
fn what_passes_by_itself_needs_no_more_than_the_commands_of_the_hint() {
    let world = World::new("");
    for (error, kind) in [
        (r#"{"code":429,"message":"too many requests"}"#, "rate_limit"),
        (r#"{"code":500,"message":"fetch failed"}"#, "transport"),
        (r#"{"code":-32603,"message":"it broke"}"#, "protocol"),
        ("die", "crashed"),
        ("cancelled", "cancelled"),
    ] {
        world.happens(&always(error));
        let (id, hint) = world.fails(&[], "go", kind);
        world.env.coppice(&["resume", &id]).succeeds();
        assert_eq!(world.hint(&id, kind), hint, "while it lasts, the hint stays");
        world.happens("");
        world.follow(&id, &hint);
    }
}

#[test]
fn a_reply_that_is_no_response_is_shown_and_the_prompt_is_sent_again() {
    let world = World::new("");
    let id = world.env.create(&misfit());
    let hint = world.hint(&id, "protocol");
    assert_eq!(hint, format!("the raw reply is in `coppice show --raw {id}`; send the prompt again to retry"));
    for command in commands(&hint) {
        world.env.coppice(&command.iter().map(String::as_str).collect::<Vec<_>>()).succeeds();
    }
    world.env.send_ready(&id, &[], &say("gone on"));
}

#[test]
fn a_model_that_does_not_exist_is_replaced_while_it_still_does_not_exist() {
    let world = World::new(&always(r#"{"code":-32603,"message":"model x is not found"}"#));
    let (id, hint) = world.fails(&[], "go", "model");
    world.follow(&id, &hint);
    assert_eq!(world.env.last_answer(&id), "gone on");
}

#[test]
fn a_used_up_quota_is_filled_or_left_for_another_backend() {
    let world = World::new(&always(r#"{"code":402,"message":"no credit left"}"#));
    let (id, hint) = world.fails(&[], "go", "quota");
    assert_eq!(hint, "the account has no quota left: add some, or use another backend with `--model`");
    world.env.send_ready(&id, &["--model", "demo"], &say("gone on"));
    assert_eq!(world.env.last_answer(&id), "gone on");

    let (id, _) = world.fails(&[], "go", "quota");
    world.happens("");
    world.env.coppice(&["resume", &id]).succeeds();
    world.env.wait_for(&id, "ready");
}

#[test]
fn a_conversation_that_is_too_long_goes_on_as_a_short_one() {
    let world = World::new("[ ${#line} -lt 50000 ] || echo '{\"code\":400,\"message\":\"prompt is too long\"}'");
    let (id, hint) = world.fails(&[], &"go ".repeat(20_000), "context");
    assert_eq!(hint, "the conversation is too long for the model: start a session with a summary of it");
    world.env.coppice(&["resume", &id]).succeeds();
    world.hint(&id, "context");
    let short = world.env.create_with(&["--model", "failing"], "go, many times");
    world.env.wait_for(&short, "ready");
}

#[test]
fn a_proxy_that_leads_nowhere_is_corrected_in_the_shell() {
    let mut world =
        World::new("[ \"$HTTPS_PROXY\" = http://127.0.0.1:2 ] || echo '{\"code\":500,\"message\":\"fetch failed\"}'");
    world.env.set("HTTPS_PROXY", "http://127.0.0.1:1");
    let (id, hint) = world.fails(&[], "go", "transport");
    assert!(hint.contains("the proxy `http://127.0.0.1:1` that `HTTPS_PROXY` names"), "{hint}");
    world.env.set("HTTPS_PROXY", "http://127.0.0.1:2");
    world.follow(&id, &hint);

    world.configure("[backends.failing.env]\nHTTPS_PROXY = \"http://127.0.0.1:1\"\n");
    let (id, hint) = world.fails(&[], "go", "transport");
    assert!(hint.contains("that `HTTPS_PROXY` below `[backends.failing.env]` in config.toml names"), "{hint}");
    world.configure("[backends.failing.env]\nHTTPS_PROXY = \"http://127.0.0.1:2\"\n");
    world.follow(&id, &hint);
}

#[test]
fn a_key_that_is_missing_or_wrong_is_set_where_the_hint_says() {
    let refuse = r#"echo '{"code":401,"message":"no key"}'"#;
    let mut world = World::new(&unless("[ \"$OPENAI_API_KEY\" = right ]", "session/prompt", refuse));
    let set = |world: &World, backend: &str, key: &str| {
        let program = world.env.path("failing");
        let row = format!("[backends.{backend}]\ncommand = [\"{}\"]\n", program.display());
        world.env.configure(&format!("{row}[backends.{backend}.env]\nOPENAI_API_KEY = \"{key}\"\n"));
    };
    let (id, hint) = world.fails(&[], "go", "auth");
    assert!(hint.contains("set its key below `[backends.failing.env]` in config.toml"), "{hint}");
    set(&world, "failing", "right");
    world.follow(&id, &hint);

    // What a shell exports counts for less.
    world.env.set("OPENAI_API_KEY", "right");
    set(&world, "qwen", "wrong");
    let id = world.env.create_with(&["--model", "qwen"], "go");
    let hint = world.hint(&id, "auth");
    assert!(hint.starts_with("correct `OPENAI_API_KEY` below `[backends.qwen.env]` in config.toml"), "{hint}");
    set(&world, "qwen", "right");
    world.follow(&id, &hint);
}

#[test]
fn a_login_that_an_agent_asks_for_is_made_outside() {
    let world = World::new("");
    let login = world.env.visible_to_agents("login");
    let ask = r#"echo '{"code":-32000,"message":"who are you"}'"#;
    world.happens(&unless(&format!("[ -e {} ]", login.display()), "session/new", ask));
    let (id, hint) = world.fails(&[], "go", "auth");
    assert!(hint.ends_with("the agent offers: Own login"), "{hint}");
    fs::write(login, "").unwrap();
    world.follow(&id, &hint);
}

#[test]
fn a_backend_that_is_gone_is_brought_back_as_the_hint_says() {
    let world = World::new("");
    let create = || {
        let id = world.env.create_with(&["--model", "failing"], "go");
        world.env.wait_for(&id, "ready");
        id
    };
    let fails = |id: &str| {
        world.env.coppice(&["send", id, "go on"]).succeeds();
        world.hint(id, "setup")
    };
    let id = create();
    world.env.configure("");
    let hint = fails(&id);
    assert!(hint.starts_with("add `[backends.failing]` to config.toml"), "{hint}");
    world.configure("");
    world.follow(&id, &hint);

    // A process that runs already does not need the file.
    world.env.end_daemon(&[]);
    let (program, other) = (world.env.path("failing"), world.env.path("other"));
    fs::rename(&program, &other).unwrap();
    let hint = fails(&id);
    assert!(hint.contains("correct `command` below `[backends.failing]` in config.toml"), "{hint}");
    world.env.configure(&format!("[backends.failing]\ncommand = [\"{}\"]\n", other.display()));
    world.follow(&id, &hint);
}

#[test]
fn a_path_of_coppice_is_taken_out_of_those_that_an_agent_may_write() {
    let world = World::new("");
    for (table, key) in [("", "paths"), ("[sandbox]", "caches")] {
        let own = world.env.path("coppice/data");
        world.configure(&format!("{table}\n{key} = [\"{}\"]\n", own.display()));
        let (id, hint) = world.fails(&[], "go", "setup");
        assert!(hint.starts_with("take it out of `paths` or `sandbox.caches` in config.toml"), "{hint}");
        world.configure("");
        world.follow(&id, &hint);
    }
}

/// A script that fails while its condition does not hold, at this message of the protocol.
fn unless(condition: &str, method: &str, failure: &str) -> String {
    format!(
        "case $line in *'\"method\":\"{method}\"'*) said=$({{ {condition}; }} 2>&1 > /dev/null) || {failure};; esac"
    )
}

/// The words of the condition as the error of a message.
const REPLY: &str = r#"echo "{\"code\":-32603,\"message\":\"$said\"}""#;

/// The same as the last words of the agent.
const DIE: &str = r#"{ echo "$said" >&2; echo die; }"#;

#[test]
fn what_the_sandbox_closes_is_opened_by_the_line_of_the_hint_whenever_it_was_refused() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let opens = |world: &World, kind: &str, condition: &str, expected: &str| {
        for (method, failure) in
            [("initialize", DIE), ("session/new", REPLY), ("session/prompt", REPLY), ("session/prompt", DIE)]
        {
            world.configure("");
            world.happens(&unless(condition, method, failure));
            let (id, hint) = world.fails(&[], "go", kind);
            assert!(hint.contains(expected), "{method}: {hint}");
            world.apply(&id, &hint);
            fs::remove_dir_all(world.env.path("home/.failing")).ok();
        }
    };
    let world = World::new("");
    let rows = world.env.path("home/data/rows");
    fs::create_dir(rows.parent().unwrap()).unwrap();
    fs::write(rows, "1\n").unwrap();
    opens(&world, "sandbox", "cat \"$HOME/data/rows\"", "add `read = [\"~/data\"]` below `[sandbox]`");
    opens(&world, "sandbox", "mkdir -p \"$HOME/.failing/log\"", "add `paths = [\"~/.failing\"]` below");
}

#[test]
fn a_file_that_an_agent_may_not_make_is_made_as_the_hint_says() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let world = World::new("");
    for (name, expected) in [
        (".failing.json", "add `paths = [\"~/.failing.json\"]` below `[backends.failing]`"),
        ("out", "run `touch ~/out`, then add `paths = [\"~/out\"]` below `[backends.failing]`"),
    ] {
        world.configure("");
        world.happens(&unless(&format!("echo 1 > \"$HOME/{name}\""), "session/prompt", REPLY));
        let (id, hint) = world.fails(&[], "go", "sandbox");
        assert!(hint.starts_with(expected), "{hint}");
        world.apply(&id, &hint);
        assert_eq!(fs::read_to_string(world.env.path("home").join(name)).unwrap(), "1\n");
    }
    world.configure("");
    world.happens(&unless("mkdir \"$HOME/com.failing\" || [ -d \"$HOME/com.failing\" ]", "session/prompt", REPLY));
    let (id, hint) = world.fails(&[], "go", "sandbox");
    assert!(hint.starts_with("add `paths = [\"~/com.failing/\"]` below"), "{hint}");
    world.apply(&id, &hint);

    world.configure("");
    world.happens(&unless(
        "[ -w \"$HOME\" ] || ! echo \"EACCES: permission denied, access '$HOME'\" >&2",
        "session/prompt",
        REPLY,
    ));
    let (id, hint) = world.fails(&[], "go", "sandbox");
    assert!(hint.starts_with("the home directory itself stays closed"), "{hint}");
    world.apply(&id, &hint);
}

#[test]
fn what_the_sandbox_refuses_as_a_whole_works_after_the_line_of_the_hint() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let world = World::new("");
    let closed = world.env.path("home/closed");
    fs::write(closed, "1\n").unwrap();
    let has_no_sandbox = |said: &str| format!("[ -r \"$HOME/closed\" ] || ! echo \"{said}\" >&2");
    for condition in [
        "(: <> /dev/ptmx) 2> /dev/null || ! echo \"Error: forkpty(3) failed.\" >&2".to_owned(),
        has_no_sandbox("bwrap: No permissions to create new namespace"),
        has_no_sandbox("Cannot connect to the Docker daemon at unix:///var/run/docker.sock"),
    ] {
        for (method, failure) in [("initialize", DIE), ("session/prompt", REPLY)] {
            world.configure("");
            world.happens(&unless(&condition, method, failure));
            let (id, hint) = world.fails(&[], "go", "sandbox");
            assert!(hint.contains("set `level = \"off\"` below `[sandbox]`"), "{hint}");
            world.apply(&id, &hint);
        }
    }
    let open = "[ -z \"$HTTPS_PROXY\" ] || ! echo \"listen EACCES: permission denied 127.0.0.1\" >&2";
    world.configure("[sandbox]\nlevel = \"restricted\"\n");
    world.happens(&unless(open, "session/prompt", REPLY));
    let (id, hint) = world.fails(&[], "go", "sandbox");
    assert!(hint.contains("set `level = \"workspace\"` below `[sandbox]`"), "{hint}");
    world.apply(&id, &hint);
}

#[test]
fn an_image_that_an_agent_cannot_see_is_left_out_or_shown_to_another() {
    let world = World::new("");
    let image = world.env.path("one.png");
    fs::write(&image, b"\x89PNG\r\n\x1a\n-one").unwrap();
    let with_image = ["--image", image.to_str().unwrap()];
    let (id, hint) = world.fails(&with_image, "look", "setup");
    assert_eq!(hint, "send the prompt without the image, or use another backend with `--model`");
    world.env.send_ready(&id, &[], "look");

    let (id, _) = world.fails(&with_image, "look", "setup");
    world.env.send_ready(&id, &[&["--model", "demo"], &with_image[..]].concat(), "@echo-images");
    assert!(world.env.last_answer(&id).starts_with("images: 1"), "{}", world.env.last_answer(&id));
}

#[test]
fn a_backend_that_is_silent_for_long_gets_the_time_that_the_hint_says() {
    let env = TestEnv::new();
    env.coppice(&["config", "set", "limits.stall_timeout", "1s"]).succeeds();
    let id = env.create(&steps(&["@wait go".to_owned(), say("done")]));
    env.wait_for(&id, "failed");
    let error = env.session(&id)["last_error"].clone();
    assert_eq!(error["kind"], "timeout", "{error:#}");
    assert!(quoted(error["hint"].as_str().unwrap()).any(|key| key == "limits.stall_timeout"), "{error:#}");
    env.coppice(&["config", "set", "limits.stall_timeout", "1h"]).succeeds();
    env.coppice(&["resume", &id]).succeeds();
    fs::write(env.worktree(&id).join("go"), "").unwrap();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "done");
}

#[test]
fn what_a_limit_advises_lets_the_session_go_on() {
    let env = TestEnv::new();
    env.write(".coppice/agents/brief.md", "---\ndescription: x\nmaxSteps: 1\n---\nBe brief.\n");
    let two = "@run true\n@run true\n@answer done";
    let id = env.create_with(&["--model", "demo", "--agent", "brief"], two);
    env.wait_for(&id, "failed");
    let error: Value = env.session(&id)["last_error"].clone();
    assert_eq!(
        (&error["kind"], error["hint"].as_str().unwrap().contains("agent's file")),
        (&"step_limit".into(), true)
    );
    env.write(".coppice/agents/brief.md", "---\ndescription: x\nmaxSteps: 9\n---\nBe brief.\n");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");

    env.coppice(&["config", "set", "limits.turn_timeout", "1s"]).succeeds();
    let id = env.create("@hang");
    env.wait_for(&id, "failed");
    let error = env.session(&id)["last_error"].clone();
    assert_eq!(
        (&error["kind"], error["hint"].as_str().unwrap().contains("limits.turn_timeout")),
        (&"timeout".into(), true)
    );
    env.coppice(&["config", "set", "limits.turn_timeout", "1h"]).succeeds();
    env.send_ready(&id, &[], &say("done"));
}
