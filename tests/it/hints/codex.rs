//! The same for Codex, whose configuration the user writes: what a hint says about it is done to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{commands, quoted};
use crate::env::TestEnv;

/// As much of Codex as a turn takes. Its configuration is what `effective.json` in its home says, the error of a turn what
/// `turn` there prints, and it can make no sandbox while there is a file `no-sandbox`.
const CODEX: &str = r#"#!/bin/sh
case $1 in --version) echo codex-cli 0.166.0; exit;; esac
cd "$CODEX_HOME" || exit 1
value() { printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
answer() { printf '{"id":%s,"result":%s}\n' "$id" "$1"; }
ended() { printf '{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u",%s}}}\n' "$1"; }
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"account/read"'*) answer '{"account":null,"requiresOpenaiAuth":false}' ;;
    *'"method":"config/read"'*) answer "{\"config\":$(cat effective.json)}" ;;
    *'"method":"command/exec"'*)
        if [ -e no-sandbox ]; then answer '{"exitCode":1,"stderr":"bwrap: no namespaces"}'; else answer '{"exitCode":0}'; fi ;;
    *'"method":"thread/start"'* | *'"method":"thread/resume"'*)
        profile="\"activePermissionProfile\":{\"id\":\"$(value permissions)\"},\"sandbox\":{\"type\":\"dangerFullAccess\"}"
        answer "{\"thread\":{\"id\":\"t\"},\"cwd\":\"$(value cwd)\",\"approvalPolicy\":\"$(value approvalPolicy)\",$profile}" ;;
    *'"method":"turn/start"'*)
        # More than a replay of the past takes.
        if [ ${#line} -gt 95000 ]; then
            printf '{"id":%s,"error":{"code":-32602,"message":"long","data":{"input_error_code":"input_too_large"}}}\n' "$id"
            continue
        fi
        answer '{"turn":{"id":"u"}}'
        error=$(. ./turn)
        text='{\"answer\":\"done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}'
        if [ "$error" ]; then
            ended "\"status\":\"failed\",\"error\":$error"
        else
            ended "\"status\":\"completed\",\"items\":[{\"type\":\"agentMessage\",\"id\":\"m\",\"text\":\"$text\"}]"
        fi ;;
    *'"id":'*) answer '{}' ;;
    esac
done
"#;

/// A world with that Codex, whose home is outside of the directories for temporary files.
struct CodexWorld {
    env: TestEnv,
    home: TempDir,
}

impl CodexWorld {
    fn new() -> Self {
        let mut env = TestEnv::new();
        let program = env.path("codex");
        fs::write(&program, CODEX).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        env.set("CODEX_HOME", home.path().to_str().unwrap());
        let world = Self { env, home };
        world.write("effective.json", "{}");
        world.write("turn", "");
        world.configure("");
        world
    }

    fn configure(&self, text: &str) {
        self.env.configure(&format!("[backends.codex]\ncommand = [\"{}\"]\n{text}", self.env.path("codex").display()));
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.home.path().join(file), text).unwrap();
    }

    /// The user's choice of a provider of models, which a service refuses unless this condition holds in a shell.
    fn provide(&self, name: &str, provider: &Value, condition: &str, refusal: &Value) {
        self.write("effective.json", &json!({"model_provider": name, "model_providers": {name: provider}}).to_string());
        let named = provider.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {value}\n"));
        // Tables in a line are written otherwise in TOML.
        let named = named.collect::<String>().replace("\":\"", "\" = \"");
        self.write("config.toml", &format!("model_provider = \"{name}\"\n[model_providers.{name}]\n{named}"));
        self.write("turn", &format!("{condition} || printf '%s' '{refusal}'"));
    }

    /// A session whose first turn fails in this way, and the hint.
    #[track_caller]
    fn fails(&self, kind: &str) -> (String, String) {
        let id = self.env.create_with(&["--model", "codex"], "go");
        self.env.wait_for(&id, "failed");
        let failure = self.env.session(&id)["last_error"].clone();
        assert_eq!(failure["kind"], kind, "{failure:#}");
        (id, failure["hint"].as_str().unwrap().to_owned())
    }

    #[track_caller]
    fn follow(&self, id: &str, hint: &str) {
        let commands = commands(hint);
        assert!(!commands.is_empty(), "{hint}");
        for command in &commands {
            self.env.coppice(&command.iter().map(String::as_str).collect::<Vec<_>>()).succeeds();
        }
        self.env.wait_for(id, "ready");
    }

    /// The variables that a hint says to export.
    fn export(&mut self, hint: &str, value: &str) {
        let export = quoted(hint).find_map(|text| text.strip_prefix("export ")).unwrap_or_else(|| panic!("{hint}"));
        for name in export.split(' ').map(|pair| pair.strip_suffix("=…").unwrap()) {
            self.env.set(name, value);
        }
    }
}

/// How Codex tells that a service refused a turn.
fn refused() -> Value {
    json!({"message": "unexpected status 401 Unauthorized", "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 401}}})
}

#[test]
fn variables_of_a_provider_are_exported_as_the_hint_says() {
    let mut world = CodexWorld::new();
    for (provider, condition) in [
        (json!({"env_key": "OWN_TOKEN"}), "[ \"$OWN_TOKEN\" = right ]"),
        (json!({"env_http_headers": {"X-Org": "OWN_ORG"}}), "[ \"$OWN_ORG\" = right ]"),
    ] {
        world.provide("own", &provider, condition, &refused());
        let (id, hint) = world.fails("auth");
        world.export(&hint, "right");
        world.follow(&id, &hint);
    }
    // What a shell exports counts for less.
    world.configure("[backends.codex.env]\nOWN_ORG = \"wrong\"\n");
    let (id, hint) = world.fails("auth");
    assert!(hint.starts_with("correct `OWN_ORG` below `[backends.codex.env]` in config.toml"), "{hint}");
    world.configure("[backends.codex.env]\nOWN_ORG = \"right\"\n");
    world.follow(&id, &hint);
}

#[test]
fn a_provider_without_variables_is_corrected_in_the_file_of_the_hint() {
    let world = CodexWorld::new();
    let file = format!("`{}`", world.home.path().join("config.toml").display());
    let command =
        json!({"message": "provider auth command `key` exited with status exit status: 1", "codexErrorInfo": "other"});
    for (provider, refusal) in [
        (json!({"experimental_bearer_token": "old"}), refused()),
        (json!({"http_headers": {"X-Key": "old"}}), refused()),
        (json!({"auth": {"command": "key"}}), command),
    ] {
        world.provide("own", &provider, "false", &refusal);
        let (id, hint) = world.fails("auth");
        assert!(hint.contains(&file) && !hint.contains("codex login"), "{hint}");
        world.provide("own", &provider, "true", &refusal);
        world.follow(&id, &hint);
    }
}

#[test]
fn keys_of_aws_reach_codex_when_its_provider_is_there() {
    let mut world = CodexWorld::new();
    let refusal = json!({"message": "stream disconnected before completion: failed to load AWS credentials: none",
                         "codexErrorInfo": "other"});
    world.provide("amazon-bedrock", &json!({}), "[ \"$AWS_ACCESS_KEY_ID\" = right ]", &refusal);
    let (id, hint) = world.fails("auth");
    assert!(hint.contains("correct `~/.aws/credentials` or your `AWS_…` variables"), "{hint}");
    world.env.set("AWS_ACCESS_KEY_ID", "right");
    world.follow(&id, &hint);
    // Nobody else sees them.
    world.provide("own", &json!({}), "[ -z \"$AWS_ACCESS_KEY_ID\" ]", &refused());
    let id = world.env.create_with(&["--model", "codex"], "go");
    world.env.wait_for(&id, "ready");
}

#[test]
fn a_home_or_a_sandbox_that_does_not_work_is_replaced_as_the_hint_says() {
    let mut world = CodexWorld::new();
    let home = world.home.path().to_str().unwrap().to_owned();
    let temporary = world.env.path("home/.codex");
    fs::create_dir_all(&temporary).unwrap();
    for (unfit, kind) in [(temporary.to_str().unwrap(), "sandbox"), ("/proc", "setup")] {
        world.env.set("CODEX_HOME", unfit);
        let (id, hint) = world.fails(kind);
        world.export(&hint, &home);
        world.follow(&id, &hint);
    }

    world.write("no-sandbox", "");
    let (id, hint) = world.fails("sandbox");
    let [line, table] = quoted(&hint).take(2).collect::<Vec<_>>()[..] else { panic!("{hint}") };
    world.configure(&format!("{table}\n{line}\n"));
    world.follow(&id, &hint);
}

#[test]
fn a_prompt_that_is_too_long_is_replaced_by_a_shorter_one() {
    let world = CodexWorld::new();
    let id = world.env.create_with(&["--model", "codex"], &"go ".repeat(33_000));
    world.env.wait_for(&id, "failed");
    let failure = world.env.session(&id)["last_error"].clone();
    assert_eq!((&failure["kind"], &failure["hint"]), (&json!("context"), &json!("send a shorter prompt")));
    world.env.send_ready(&id, &[], "go");
}

#[test]
fn a_model_that_takes_no_schema_is_replaced_by_the_command_of_the_hint() {
    let world = CodexWorld::new();
    let body = json!({"error": {"message": "no schema", "code": "invalid_json_schema"}}).to_string();
    world.write("turn", &format!("printf '%s' '{}'", json!({"message": body, "codexErrorInfo": "other"})));
    let (id, hint) = world.fails("protocol");
    world.follow(&id, &hint);
    assert_eq!(world.env.last_answer(&id), "gone on");
}
