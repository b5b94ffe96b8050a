//! Homes as people have them: the login, the gateway and the model are in the programs' own settings, and nowhere else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::json;

use crate::agent::Agent;
use crate::model::script::{answer, shell};
use crate::stage::Stage;

/// A stage whose shell knows nothing about Claude's service.
fn without_variables() -> Stage {
    let mut stage = Stage::new();
    stage.unset("ANTHROPIC_API_KEY");
    stage.unset("ANTHROPIC_BASE_URL");
    stage
}

fn url(stage: &Stage) -> String {
    stage.model(Agent::Claude).url()
}

/// Runs and resumes a session on Claude without a named model.
#[track_caller]
fn runs_and_resumes(stage: &Stage) {
    stage.run_and_resume(stage.model(Agent::Claude), &["--model", "claude"]);
    stage.assert_only_the_asked_ran();
}

#[test]
fn a_gateway_of_the_settings_file_is_used_with_its_token_and_model() {
    let mut stage = without_variables();
    let env = json!({"ANTHROPIC_BASE_URL": url(&stage), "ANTHROPIC_AUTH_TOKEN": "token-of-the-gateway"});
    let settings = json!({"env": env, "model": "claude-haiku-4-5-20251001",
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ~/hook-of-claude-ran"}]}]}});
    stage.settle(".claude/settings.json", &settings.to_string());
    runs_and_resumes(&stage);
    for call in stage.model(Agent::Claude).calls() {
        assert!(call.request.mentions("Bearer token-of-the-gateway"));
        assert_eq!(call.model(), "claude-haiku-4-5-20251001");
    }
}

#[test]
fn a_key_helper_runs_with_the_rights_of_the_user() {
    let mut stage = without_variables();
    // Neither the script nor the key is within reach of a cage.
    let script = stage.path("home/private/key.sh");
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(stage.path("home/private/key"), "key-of-the-helper\n").unwrap();
    fs::write(&script, "#!/bin/sh\ncat \"$HOME/private/key\"\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = json!({"apiKeyHelper": script, "env": {"ANTHROPIC_BASE_URL": url(&stage)}});
    stage.settle(".claude/settings.json", &settings.to_string());
    runs_and_resumes(&stage);
    assert!(stage.model(Agent::Claude).calls().iter().all(|call| call.request.mentions("key-of-the-helper")));
}

#[test]
fn a_key_helper_that_fails_is_named_and_its_hint_helps() {
    let mut stage = without_variables();
    let file = stage.path("home/key");
    let command = format!("cat {}", file.display());
    let settings = json!({"apiKeyHelper": command, "env": {"ANTHROPIC_BASE_URL": url(&stage)}});
    stage.settle(".claude/settings.json", &settings.to_string());
    stage.model(Agent::Claude).plays([answer("hello")]);
    let id = stage.create_with(&["--model", "claude"], "greet");
    stage.rests(&id, "failed");
    let failure = stage.session(&id)["last_error"].clone();
    let text = failure.to_string();
    assert!(text.contains("`apiKeyHelper` in") && text.contains("No such file"), "{text}");
    assert!(text.contains(&format!("run `{command}` in a shell")), "{text}");
    assert_eq!(failure["kind"], "auth", "{text}");

    fs::write(&file, "key\n").unwrap();
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "hello");
}

/// The programs keep their state in the session, and need no more of the user's directory than to read it.
#[test]
fn a_read_only_or_full_directory_of_claude_or_gemini_stops_no_session() {
    for (agent, name) in [(Agent::Claude, ".claude"), (Agent::Gemini, ".gemini")] {
        for mounts in [READ_ONLY, FULL] {
            let stage = Stage::new();
            stage.model(agent).plays([answer("hello")]);
            let mounts = mounts.replace("DIR", stage.path("home").join(name).to_str().unwrap());
            let Some(output) = run_with_mounts(&stage, &mounts, &["run", "--model", &agent.choice(), "greet"]) else {
                return;
            };
            let said = String::from_utf8_lossy(&output.stdout);
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.contains("hello"), "{mounts}: {said}{complaints}");
            assert!(!complaints.contains("warning") && !complaints.contains("error"), "{mounts}: {complaints}");
        }
    }
}

/// Codex keeps its conversations in the user's directory, so it cannot do without.
#[test]
fn a_read_only_or_full_directory_of_codex_is_named_and_its_hint_helps() {
    for (mounts, why, what_to_do) in [
        (READ_ONLY, "Read-only file system", "make that directory writable, or `export CODEX_HOME=…` with another one"),
        (FULL, "No space left on device", "free some space on that disk"),
    ] {
        let stage = Stage::new();
        let home = stage.path("home/.codex").display().to_string();
        let script = mounts.replace("DIR", &home);
        let Some(output) = run_with_mounts(&stage, &script, &["run", "--model", "codex", "greet"]) else { return };
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(&format!("codex cannot write in its home `{home}`: {why}")), "{said}");
        assert!(said.contains(what_to_do), "{said}");
        // A daemon without the mounts finds the directory as it was.
        stage.end_daemon(&[]);
        let id = stage.json(&["list"])[0]["id"].as_str().unwrap().to_owned();
        stage.model(Agent::Codex).plays([answer("hello")]);
        stage.coppice(&["resume", &id]).succeeds();
        stage.rests(&id, "ready");
        assert_eq!(stage.last_answer(&id), "hello");
    }
}

const READ_ONLY: &str = "mount --bind 'DIR' 'DIR' && mount -o remount,bind,ro 'DIR'";
const FULL: &str = "cp -a 'DIR' 'DIR-copy' && mount -t tmpfs -o size=64k,mode=700 full 'DIR' && cp -a 'DIR-copy/.' 'DIR' && \
                    { head -c 1M /dev/zero > 'DIR/filler'; test -s 'DIR/filler'; } 2> /dev/null";

/// Runs `coppice`, and the daemon that it starts, with mounts of their own; `None` where nothing can be mounted.
fn run_with_mounts(stage: &Stage, mounts: &str, arguments: &[&str]) -> Option<Output> {
    let program = stage.to_start(arguments);
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["--map-root-user"] };
        command.args(user).args(["--mount", "sh", "-c", script, "sh"]).arg(program.get_program()).args(arguments);
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(stage.repo()).output().unwrap()
    };
    inside("mount -t tmpfs probe /mnt").status.success().then(|| inside(&format!("{mounts} && exec \"$@\"")))
}

#[test]
fn a_provider_of_ones_own_gets_its_key_and_header_from_codex_alone() {
    let mut stage = Stage::new();
    stage.unset("OPENAI_API_KEY");
    let config = format!(
        "model = \"anthropic/claude-sonnet\"\nmodel_provider = \"openrouter\"\n[model_providers.openrouter]\n\
         name = \"OpenRouter\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENROUTER_API_KEY\"\n\
         env_http_headers = {{ \"X-Title\" = \"OPENROUTER_TITLE\" }}\n",
        stage.model(Agent::Codex).url()
    );
    stage.settle(".codex/config.toml", &config);
    stage.set("OPENROUTER_API_KEY", "key-of-the-provider");
    stage.set("OPENROUTER_TITLE", "title-of-the-user");
    let model = stage.model(Agent::Codex);
    let id = stage.run_and_resume(model, &["--model", "codex"]);
    model.plays([shell("env"), answer("three")]);
    stage.coppice(&["posture", &id, "unattended"]).succeeds();
    stage.send(&id, "the third task", "ready");
    let calls = model.calls();
    for call in &calls {
        let has = |name: &str, value: &str| call.request.headers.contains(&(name.to_owned(), value.to_owned()));
        assert!(has("authorization", "Bearer key-of-the-provider") && has("x-title", "title-of-the-user"));
        assert_eq!(call.model(), "anthropic/claude-sonnet");
    }
    let said = calls.last().unwrap().request.body.to_string();
    assert!(said.contains("PATH=") && !said.contains("key-of-the-provider") && !said.contains("title-of-the-user"));
    stage.assert_only_the_asked_ran();
}

#[test]
fn gemini_takes_the_model_of_the_users_settings() {
    let stage = Stage::new();
    stage.model(Agent::Gemini).plays([answer("hello")]);
    let id = stage.create_with(&["--model", "gemini"], "greet");
    stage.rests(&id, "ready");
    let models: Vec<_> = stage.model(Agent::Gemini).calls().iter().map(|call| call.model()).collect();
    assert_eq!(models, ["gemini-2.5-flash"]);
}

#[test]
fn a_model_that_only_codex_lists_is_found_by_its_name() {
    let stage = Stage::new();
    stage.model(Agent::Codex).plays([answer("hello")]);
    let id = stage.create_with(&["--model", "gpt-5.5"], "greet");
    stage.rests(&id, "ready");
    assert_eq!(stage.session(&id)["backend"], "codex");
    let unknown = stage.coppice(&["new", "--model", "nosuch-1", "greet"]).exits(2);
    assert!(unknown.transcript().contains("nosuch-1"), "{}", unknown.transcript());
}
