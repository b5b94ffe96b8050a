//! Turns that go wrong on the way to the model or back: what a person is told, and that nothing is tried for ever.

use serde_json::Value;

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{Step, answer};
use crate::stage::Stage;

for_each_agent!(
    a_user_who_is_not_logged_in_is_told_how,
    a_refused_key_stops_at_once,
    a_limit_is_told_as_one,
    a_failing_service_is_given_up,
    a_service_that_recovers_is_waited_for,
    a_cut_stream_is_asked_for_again,
    a_stream_that_is_always_cut_is_given_up,
    a_broken_response_is_repaired_once,
    a_response_that_stays_broken_fails_with_the_diagnosis,
    a_failed_session_goes_on_with_the_next_prompt,
);

/// The model is never asked, and the hint names the program's own way to log in.
fn a_user_who_is_not_logged_in_is_told_how(agent: Agent) {
    let mut stage = Stage::new();
    stage.unset(agent.key().0);
    if agent == Agent::Codex {
        // With a provider of their own, a user needs no account; without one, they do.
        stage.settle(".codex/config.toml", "model = \"gpt-5.5\"\n");
    }
    let id = stage.begin(agent, "greet");
    let error = fails(&stage, &id);
    assert_eq!(error["kind"], "auth", "{error:#}");
    assert_login(agent, &error);
    assert_eq!(stage.model(agent).calls().len(), 0);
}

fn a_refused_key_stops_at_once(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).always(Step::Status(401));
    let id = stage.begin(agent, "greet");
    let error = fails(&stage, &id);
    assert_eq!(error["kind"], "auth", "{error:#}");
    match agent {
        Agent::Gemini => assert_login(agent, &error),
        // The key is in a variable, so no login helps while it is there.
        Agent::Claude | Agent::Codex => {
            let hint = error["hint"].as_str().unwrap_or_default();
            assert!(hint.contains(&format!("run `export {}=…`", agent.key().0)), "{error:#}");
            assert_eq!(error["command"], Value::Null, "{error:#}");
        }
    }
    let calls = stage.model(agent).calls().len();
    assert!(calls <= 2, "{calls} calls with a key that is refused");
}

fn a_limit_is_told_as_one(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).always(Step::Status(429));
    let id = stage.begin(agent, "greet");
    let error = fails(&stage, &id);
    let kind = error["kind"].as_str().unwrap();
    assert!(["rate_limit", "quota"].contains(&kind), "{error:#}");
}

fn a_failing_service_is_given_up(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).always(Step::Status(500));
    let id = stage.begin(agent, "greet");
    let error = fails(&stage, &id);
    assert_eq!(error["kind"], "transport", "{error:#}");
}

fn a_service_that_recovers_is_waited_for(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).plays([Step::Status(500), answer("late")]);
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "late");
    assert_eq!(stage.model(agent).calls().len(), 2);
}

fn a_cut_stream_is_asked_for_again(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).plays([Step::Cut, answer("whole")]);
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "whole");
    assert_eq!(stage.model(agent).calls().len(), 2);
}

fn a_stream_that_is_always_cut_is_given_up(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).always(Step::Cut);
    let id = stage.begin(agent, "greet");
    let error = fails(&stage, &id);
    assert_eq!(error["kind"], "transport", "{error:#}");
}

/// Plain text is no response, and the agent is told so once.
fn a_broken_response_is_repaired_once(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    let misfit = agent.misfit("I am done.");
    let asked = misfit.len() + 1;
    model.plays(misfit).plays([answer("done properly")]);
    let id = stage.begin(agent, "greet");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "done properly");
    let calls = model.calls();
    assert_eq!(calls.len(), asked);
    assert!(calls[asked - 1].mentions("Your last message was refused"), "{:?}", calls[asked - 1].texts());
    assert_eq!(stage.session(&id)["turns"], 1, "a repair is part of its turn");
}

/// Size, category and keys, and the text itself for who asks.
fn a_response_that_stays_broken_fails_with_the_diagnosis(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays(agent.misfit("I am done.")).plays(agent.misfit("Really done."));
    let id = stage.begin(agent, "greet");
    let error = fails(&stage, &id);
    assert_eq!(error["kind"], "protocol", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("12 bytes"), "{error:#}");
    assert_eq!(model.left(), 0);
    let raw = stage.coppice(&["show", &id, "--raw"]).stdout();
    assert!(raw.contains("Really done."), "{raw}");
}

fn a_failed_session_goes_on_with_the_next_prompt(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.always(Step::Status(400));
    let id = stage.begin(agent, "the first task");
    fails(&stage, &id);
    model.clear().plays([answer("here again")]);
    stage.send(&id, "the second task", "ready");
    assert_eq!(stage.last_answer(&id), "here again");
    assert!(model.calls().last().unwrap().mentions("the second task"));
}

/// Waits for the failure of the session's turn and gives it.
#[track_caller]
fn fails(stage: &Stage, id: &str) -> Value {
    stage.rests(id, "failed");
    stage.session(id)["last_error"].clone()
}

#[track_caller]
fn assert_login(agent: Agent, error: &Value) {
    let hint = error["hint"].as_str().unwrap_or_default();
    let commands: &[&str] = match agent {
        Agent::Claude => &["claude auth login", "claude auth status", "--sso"],
        Agent::Codex => &["codex login"],
        Agent::Gemini => &["gemini"],
    };
    for command in commands {
        assert!(hint.contains(command), "{command}: {error:#}");
    }
}
