//! Agents that Coppice knows by a preset, as people have them: added by name, with a service and a key of the user's own.

use serde_json::json;

use crate::agent::{Agent, other_programs};
use crate::model::script::{Step, answer};
use crate::model::{Dialect, Model};
use crate::stage::Stage;

/// One agent, and what its user has set.
struct Home {
    name: &'static str,
    dialect: Dialect,
    key: &'static str,
    /// Hosts that it reaches for whatever its user has set.
    strangers: &'static [&'static str],
    write: fn(&mut Stage, &str),
}

const OPENCODE: Home = Home {
    name: "opencode",
    dialect: Dialect::Chat,
    key: "key-of-opencode",
    strangers: &["models.opencode.ai:443", "registry.npmjs.org:443"],
    write: |stage, url| {
        let options = json!({"baseURL": format!("{url}/v1"), "apiKey": "key-of-opencode"});
        let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options,
            "models": {"heron": {"name": "Heron"}}});
        let config = json!({"provider": {"scripted": provider}, "model": "scripted/heron", "permission": "allow"});
        stage.settle(".config/opencode/opencode.json", &config.to_string());
    },
};

const QWEN: Home = Home {
    name: "qwen",
    dialect: Dialect::Chat,
    key: "key-of-qwen",
    strangers: &[],
    write: |stage, url| {
        stage.set("OPENAI_API_KEY", "key-of-qwen");
        stage.set("OPENAI_BASE_URL", &format!("{url}/v1"));
        stage.set("OPENAI_MODEL", "heron");
        stage.settle(".qwen/settings.json", r#"{"security":{"auth":{"selectedType":"openai"}}}"#);
    },
};

const CLAUDE: Home = Home {
    name: "claude-acp",
    dialect: Dialect::Anthropic,
    key: "key-of-claude-acp",
    strangers: &[],
    write: |stage, url| {
        stage.set("ANTHROPIC_API_KEY", "key-of-claude-acp");
        stage.set("ANTHROPIC_BASE_URL", url);
    },
};

const CODEX: Home = Home {
    name: "codex-acp",
    dialect: Dialect::OpenAi,
    key: "key-of-codex-acp",
    strangers: &[],
    write: |stage, url| {
        stage.set("OPENAI_API_KEY", "key-of-codex-acp");
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"Scripted\"\n\
             base_url = \"{url}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n"
        );
        stage.settle(".codex/config.toml", &config);
    },
};

/// A stage with the other agents on its `PATH`.
fn with_agents() -> Stage {
    let mut stage = Stage::new();
    let path = stage.variables().iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    stage.set("PATH", &format!("{}:{}", other_programs().display(), path.unwrap_or_default()));
    stage
}

/// A stage with one of the agents, and the model that it asks.
fn begin(home: &Home) -> (Stage, Model) {
    let mut stage = with_agents();
    let model = Model::start(home.dialect);
    (home.write)(&mut stage, &model.url());
    stage.coppice(&["backends", "add", home.name]).succeeds();
    (stage, model)
}

fn is_checked_works_and_resumes(home: &Home) {
    let (stage, model) = begin(home);
    model.always(Step::Say("the word is heron".to_owned()));
    let check = stage.coppice(&["backends", "check", home.name, "--prompt", "say the word"]).stdout();
    assert!(check.contains("opened a session (sandbox workspace)") && check.contains("the word is heron"), "{check}");
    model.clear();
    let id = stage.run_and_resume(&model, &["--model", home.name]);
    assert_eq!(stage.deliveries(&id), ["bootstrap_full", "delta_only"], "the agent restored the conversation");
    let approval = &stage.of_kind(&id, "approval_requested")[0]["approval"];
    assert_eq!(approval["saves"], json!(["Bash(touch *)"]), "rules read the command: {approval:#}");
    assert!(model.calls().iter().all(|call| call.request.mentions(home.key)));
    stage.assert_only_the_asked_ran_besides(home.strangers);
}

#[test]
fn opencode_is_checked_works_and_resumes() {
    is_checked_works_and_resumes(&OPENCODE);
}

#[test]
fn qwen_is_checked_works_and_resumes() {
    is_checked_works_and_resumes(&QWEN);
}

#[test]
fn claude_is_checked_works_and_resumes() {
    is_checked_works_and_resumes(&CLAUDE);
}

#[test]
fn codex_is_checked_works_and_resumes() {
    is_checked_works_and_resumes(&CODEX);
}

#[test]
fn a_refused_key_of_another_agent_is_replaced_as_the_hint_says() {
    for home in [&QWEN, &CODEX] {
        let (mut stage, model) = begin(home);
        model.always(Step::Status(401));
        let id = stage.create_with(&["--model", home.name], "greet");
        stage.rests(&id, "failed");
        let error = stage.session(&id)["last_error"].clone();
        assert_eq!(error["kind"], "auth", "{error:#}");
        assert!(error["message"].as_str().unwrap().contains("Incorrect API key provided"), "{error:#}");
        assert!(error["hint"].as_str().unwrap().contains("`export OPENAI_API_KEY=…` with a valid key"), "{error:#}");
        model.clear().plays([answer("hello")]);
        stage.set("OPENAI_API_KEY", "key-of-the-present-shell");
        stage.coppice(&["resume", &id]).succeeds();
        stage.rests(&id, "ready");
        assert_eq!(stage.last_answer(&id), "hello");
        assert!(model.calls().last().unwrap().request.mentions("Bearer key-of-the-present-shell"));
    }
}

#[test]
fn an_agent_without_a_login_says_how_to_log_in() {
    let mut stage = with_agents();
    for agent in Agent::ALL {
        stage.unset(agent.key().0);
    }
    stage.settle(".codex/config.toml", "");
    for (name, hint) in [
        ("auggie", "hint: run `auggie login`, then run `coppice backends check auggie`"),
        (
            "qwen",
            "hint: run `qwen`, or `export OPENAI_API_KEY=…` with a valid key; then run `coppice backends check qwen`",
        ),
        (
            "claude-acp",
            "hint: run `export ANTHROPIC_API_KEY=…` with a valid key, then `coppice backends check claude-acp`",
        ),
        ("codex-acp", "hint: run `export OPENAI_API_KEY=…` with a valid key, then `coppice backends check codex-acp`"),
    ] {
        let check = stage.coppice(&["backends", "check", name, "--prompt", "say the word"]).exits(1).transcript();
        assert!(check.contains(&format!("bad   {name}  auth: Authentication required")), "{check}");
        assert!(check.contains(hint), "{check}");
    }
}
