//! An agent whose every message is kept: what a backend is really told.

use std::fs;

use serde_json::Value;

use crate::env::TestEnv;

/// What is kept.
const TAPE: &str = "tape.jsonl";

/// A world with one more agent, `taped`: the scripted one, with everything that it is told kept in a file.
pub(crate) fn taped() -> TestEnv {
    let env = TestEnv::new();
    let (tape, state) = (env.path("tape"), env.path("agent"));
    fs::create_dir(&tape).unwrap();
    fs::create_dir(&state).unwrap();
    env.configure(&format!(
        "[backends.taped]\ntransport = \"acp\"\ncommand = [\"sh\", \"-c\", \"tee -a '{tape}/{TAPE}' | '{}' demo-agent\"]\n\
         env = {{ COPPICE_DEMO_STATE = \"{state}\" }}\npaths = [\"{state}\", \"{tape}\"]\n",
        env!("CARGO_BIN_EXE_coppice"),
        tape = tape.display(),
        state = state.display()
    ));
    env
}

/// Every request of one kind that the taped agent got.
pub(crate) fn told(env: &TestEnv, method: &str) -> Vec<Value> {
    let tape = fs::read_to_string(env.path("tape").join(TAPE)).unwrap();
    let messages = tape.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.filter(|message| message["method"] == method).map(|mut message| message["params"].take()).collect()
}

/// The blocks of every prompt that the taped agent got.
pub(crate) fn prompts(env: &TestEnv) -> Vec<Vec<Value>> {
    told(env, "session/prompt")
        .into_iter()
        .map(|mut params| params["prompt"].as_array_mut().unwrap().split_off(0))
        .collect()
}

/// The text of every prompt that the taped agent got.
pub(crate) fn texts(env: &TestEnv) -> Vec<String> {
    let text = |block: Value| block["text"].as_str().map(str::to_owned);
    prompts(env).into_iter().map(|blocks| blocks.into_iter().filter_map(text).collect()).collect()
}
