//! Keys, logins and settings that a user replaces while a session is open: the next turn works with the new ones.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{Step, answer, shell};
use crate::stage::Stage;
use crate::user;

for_each_agent!(
    a_refused_key_is_replaced_by_resume,
    a_key_that_is_refused_in_the_middle_of_a_turn_is_replaced_as_the_hint_says,
    a_key_is_replaced_by_send_with_the_environment
);

/// The key after the one that a stage begins with.
const NEW_KEY: &str = "key-of-the-present-shell";

fn a_refused_key_is_replaced_by_resume(agent: Agent) {
    let mut stage = Stage::new();
    stage.model(agent).always(Step::Status(401));
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "failed");
    stage.model(agent).clear().plays([answer("hello")]);
    stage.set(agent.key().0, NEW_KEY);
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "hello");
    assert_eq!(keys(&stage, agent).last(), Some(&true));
}

fn a_key_that_is_refused_in_the_middle_of_a_turn_is_replaced_as_the_hint_says(agent: Agent) {
    let mut stage = Stage::new();
    stage.model(agent).plays([answer("one"), shell("touch made")]).always(Step::Status(401));
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "ready");
    stage.coppice(&["send", &id, "work"]).succeeds();
    let error = failure(&stage, &id);
    assert_eq!(error["kind"], "auth", "{error:#}");
    assert!(stage.worktree(&id).join("made").exists());
    let (hint, name) = (error["hint"].as_str().unwrap(), agent.key().0);
    let says = format!("`export {name}=…` with a valid key");
    assert!(hint.contains(&says) && hint.contains(&format!("`coppice resume {id}`")), "{error:#}");

    stage.model(agent).clear().plays([answer("done")]);
    stage.set(name, NEW_KEY);
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "done");
    assert_eq!(keys(&stage, agent).last(), Some(&true));
    assert!(stage.model(agent).calls().last().unwrap().mentions("greet"), "the conversation goes on");
}

fn a_key_is_replaced_by_send_with_the_environment(agent: Agent) {
    let mut stage = Stage::new();
    stage.model(agent).plays([answer("one"), answer("two"), answer("three")]);
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "ready");
    stage.set(agent.key().0, NEW_KEY);
    stage.send(&id, "again", "ready");
    stage.coppice(&["send", &id, "--env", "and again"]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "three");
    assert_eq!(keys(&stage, agent), [false, false, true]);
    assert_eq!(stage.deliveries(&id), ["bootstrap_full", "delta_only", "delta_only"]);
}

#[test]
fn a_login_of_codex_reaches_open_and_new_sessions() {
    let mut stage = Stage::new();
    let config = codex_config(&stage, "requires_openai_auth = true");
    stage.settle(".codex/config.toml", &config);
    let model = Agent::Codex;
    let id = stage.begin(model, "greet");
    assert_eq!(failure(&stage, &id)["kind"], "auth");

    log_in(&stage, NEW_KEY);
    stage.model(model).plays([answer("one"), answer("two"), answer("three")]);
    let other = stage.begin(model, "greet too");
    stage.rests(&other, "ready");
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(keys(&stage, model), [true, true]);
    // Another account, while a process with the first one is open.
    log_in(&stage, "key-of-another-account");
    stage.send(&id, "again", "ready");
    assert!(stage.model(model).calls()[2].request.mentions("key-of-another-account"));

    // It is withdrawn in the middle of a turn.
    stage.model(model).plays([shell("touch made")]).always(Step::Status(401));
    stage.coppice(&["send", &id, "work"]).succeeds();
    let error = failure(&stage, &id);
    assert_eq!((&error["kind"], &error["command"]), (&"auth".into(), &"codex login".into()), "{error:#}");
    assert!(error["hint"].as_str().unwrap().contains("`codex login --with-api-key` with a key on stdin"), "{error:#}");
    log_in(&stage, "key-of-a-third-account");
    stage.model(model).clear().plays([answer("done")]);
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "done");
    assert!(stage.model(model).calls().last().unwrap().request.mentions("key-of-a-third-account"));
}

#[test]
fn another_key_in_the_file_of_gemini_counts_with_the_next_prompt() {
    let mut stage = Stage::new();
    stage.unset("GEMINI_API_KEY");
    stage.settle(".gemini/.env", "GEMINI_API_KEY=key-of-one-account\n");
    let model = Agent::Gemini;
    stage.model(model).plays([answer("one"), answer("two")]);
    let id = stage.begin(model, "greet");
    stage.rests(&id, "ready");
    stage.settle(".gemini/.env", &format!("GEMINI_API_KEY={NEW_KEY}\n"));
    stage.send(&id, "again", "ready");
    assert_eq!(keys(&stage, model), [false, true]);
}

#[test]
fn a_key_of_a_provider_of_ones_own_reaches_codex_and_none_of_its_commands() {
    let mut stage = Stage::new();
    let config =
        codex_config(&stage, "env_key = \"OWN_PROVIDER_SECRET\"\nenv_http_headers = { \"x-team\" = \"OWN_TEAM\" }");
    stage.settle(".codex/config.toml", &config);
    stage.set("OWN_TEAM", "the-team-4714");
    let id = stage.begin(Agent::Codex, "greet");
    let error = failure(&stage, &id);
    let file = stage.path("home/.codex/config.toml");
    let expected = format!(
        "`{}` takes the key of the model provider `scripted` from the variable `OWN_PROVIDER_SECRET`, which is not set",
        file.display()
    );
    assert_eq!((&error["kind"], &error["message"]), (&"setup".into(), &expected.into()), "{error:#}");
    let hint = format!("run `export OWN_PROVIDER_SECRET=…`, then `coppice resume {id}`");
    assert_eq!(error["hint"], hint, "{error:#}");

    // What the hint says.
    stage.set("OWN_PROVIDER_SECRET", NEW_KEY);
    stage.model(Agent::Codex).plays([shell("env"), answer("hello")]);
    stage.coppice(&["posture", &id, "unattended"]).succeeds();
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    let calls = stage.model(Agent::Codex).calls();
    assert_eq!(keys(&stage, Agent::Codex), [true, true]);
    assert!(calls.iter().all(|call| call.request.headers.contains(&("x-team".to_owned(), "the-team-4714".to_owned()))));
    let said = calls[1].request.body.to_string();
    assert!(said.contains("COPPICE") || said.contains("PATH="), "the command ran: {said}");
    assert!(!said.contains(NEW_KEY) && !said.contains("the-team-4714"), "{said}");
}

#[test]
fn a_configuration_that_codex_refuses_is_told_with_its_line() {
    let mut stage = Stage::new();
    let sound = codex_config(&stage, "env_key = \"OPENAI_API_KEY\"");
    let mut ids = Vec::new();
    for (broken, place) in [
        (format!("model = \"gpt-5.5\"\n[broken\n{sound}"), "config.toml:2:"),
        (format!("# mine\napproval_policy = \"bogus\"\n{sound}"), "config.toml:2:"),
        // What older versions took.
        (
            sound.replace("wire_api = \"responses\"", "wire_api = \"chat\""),
            "config.toml:6:12: `wire_api = \"chat\"` is no longer supported",
        ),
    ] {
        stage.settle(".codex/config.toml", &broken);
        let id = stage.begin(Agent::Codex, "greet");
        let error = failure(&stage, &id);
        assert_eq!(error["kind"], "setup", "{error:#}");
        assert!(error["message"].as_str().unwrap().contains(place), "{error:#}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.starts_with("correct `") && hint.contains("/.codex/config.toml`"), "{error:#}");
        assert!(hint.ends_with(&format!("then run `coppice resume {id}`")), "{error:#}");
        ids.push(id);
    }
    stage.settle(".codex/config.toml", "[broken\n");
    let doctor = stage.coppice(&["doctor"]).transcript();
    assert!(doctor.contains("config.toml:1:"), "{doctor}");

    stage.settle(".codex/config.toml", &sound);
    stage.model(Agent::Codex).plays([answer("one"), answer("two"), answer("three")]);
    for id in &ids {
        stage.coppice(&["resume", id]).succeeds();
        stage.rests(id, "ready");
    }
}

/// Whether each call of the model came with the new key.
fn keys(stage: &Stage, agent: Agent) -> Vec<bool> {
    let has_key = |value: &str| value.contains(NEW_KEY);
    let calls = stage.model(agent).calls();
    calls.iter().map(|call| call.request.headers.iter().any(|(_, value)| has_key(value))).collect()
}

/// Waits for the failure of the session's turn and gives it.
#[track_caller]
fn failure(stage: &Stage, id: &str) -> Value {
    stage.rests(id, "failed");
    stage.session(id)["last_error"].clone()
}

/// What somebody did before the turn that is refused, the hint for it, and what follows the hint.
struct Correction {
    prepare: fn(&mut Stage),
    hint: &'static str,
    follow: fn(&mut Stage),
}

/// Writes `~/.claude/settings.json` with the address of the model server.
fn settle_claude(stage: &mut Stage, mut settings: Value) {
    settings["env"]["ANTHROPIC_BASE_URL"] = stage.model(Agent::Claude).url().into();
    stage.settle(".claude/settings.json", &settings.to_string());
}

fn helper_prints(stage: &mut Stage, key: &str) {
    fs::write(stage.path("home/key"), format!("{key}\n")).unwrap();
    let command = format!("cat {}", stage.path("home/key").display());
    settle_claude(stage, json!({"apiKeyHelper": command}));
}

fn configure_key(stage: &Stage, key: &str) {
    stage.configure(&format!("{}ANTHROPIC_API_KEY = \"{key}\"\n", user::COPPICE));
}

const CORRECTIONS: &[Correction] = &[
    Correction {
        prepare: |stage| helper_prints(stage, "withdrawn"),
        hint: "the service refuses the key that `apiKeyHelper` of `FILE` prints: correct it, then run `coppice resume ID`",
        follow: |stage| fs::write(stage.path("home/key"), format!("{NEW_KEY}\n")).unwrap(),
    },
    Correction {
        prepare: |stage| settle_claude(stage, json!({"env": {"ANTHROPIC_AUTH_TOKEN": "withdrawn"}})),
        hint: "correct `ANTHROPIC_AUTH_TOKEN` in `env` of `FILE`, then run `coppice resume ID`",
        follow: |stage| settle_claude(stage, json!({"env": {"ANTHROPIC_AUTH_TOKEN": NEW_KEY}})),
    },
    Correction {
        prepare: |stage| configure_key(stage, "withdrawn"),
        hint: "correct `ANTHROPIC_API_KEY` below `[backends.claude.env]` in config.toml, then run `coppice resume ID`",
        follow: |stage| configure_key(stage, NEW_KEY),
    },
    Correction {
        prepare: |stage| {
            let token = json!({"accessToken": NEW_KEY, "refreshToken": "x", "expiresAt": 4_000_000_000_000_u64,
                "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"});
            let login = json!({"claudeAiOauth": token}).to_string();
            fs::write(stage.path("home/.claude/.credentials.json"), login).unwrap();
            stage.set("ANTHROPIC_API_KEY", "withdrawn");
        },
        hint: "run `export ANTHROPIC_API_KEY=…` with a valid key, or `unset ANTHROPIC_API_KEY` to use the login of \
               `claude auth login`; then run `coppice resume ID`",
        follow: |stage| stage.unset("ANTHROPIC_API_KEY"),
    },
];

#[test]
fn a_refused_key_of_claude_is_corrected_where_the_hint_says() {
    let agent = Agent::Claude;
    for Correction { prepare, hint, follow } in CORRECTIONS {
        let mut stage = Stage::new();
        stage.unset("ANTHROPIC_API_KEY");
        prepare(&mut stage);
        stage.model(agent).always(Step::Status(401));
        let id = stage.begin(agent, "greet");
        let error = failure(&stage, &id);
        let file = stage.path("home/.claude/settings.json").display().to_string();
        assert_eq!(
            (&error["kind"], &error["hint"]),
            (&"auth".into(), &hint.replace("FILE", &file).replace("ID", &id).into())
        );
        // The service takes the other key alone, which the last call has.
        stage.model(agent).clear().plays([answer("hello")]);
        follow(&mut stage);
        stage.coppice(&["resume", &id]).succeeds();
        stage.rests(&id, "ready");
        assert_eq!((stage.last_answer(&id).as_str(), keys(&stage, agent).last()), ("hello", Some(&true)), "{hint}");
    }
}

#[test]
fn a_model_of_the_settings_that_does_not_exist_is_corrected_where_the_hint_says() {
    let (mut stage, agent) = (Stage::new(), Agent::Claude);
    settle_claude(&mut stage, json!({"model": "claude-nosuch-1"}));
    stage.model(agent).always(Step::Status(404));
    let id = stage.create_with(&["--model", "claude"], "greet");
    let error = failure(&stage, &id);
    let source = format!("`model` of `{}`", stage.path("home/.claude/settings.json").display());
    let hint = format!("the model comes from {source}: correct it and run `coppice resume {id}`, or ");
    assert!(error["kind"] == "model" && error["hint"].as_str().unwrap().starts_with(&hint), "{error:#}");
    settle_claude(&mut stage, json!({"model": user::model(agent)}));
    stage.model(agent).clear().plays([answer("hello")]);
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.model(agent).calls().last().unwrap().model(), user::model(agent));
}

/// A configuration of Codex with one model provider.
fn codex_config(stage: &Stage, key: &str) -> String {
    let url = stage.model(Agent::Codex).url();
    format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"Scripted\"\n\
         base_url = \"{url}/v1\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 1\n{key}\n"
    )
}

/// Logs the user in to Codex with a key, by its own command.
#[track_caller]
fn log_in(stage: &Stage, key: &str) {
    let mut command = stage.program(&Agent::Codex.program());
    command.args(["login", "--with-api-key"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_to_string(stage.path("home/.codex/auth.json")).unwrap().contains(key));
}
