//! What travels with a prompt and what comes back with its turn: usage, reasoning, images, another backend.

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{misfit_once, say, steps};

#[test]
fn usage_is_told_per_turn_and_adds_up_over_repairs() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&["@usage 100 20".to_owned(), misfit_once()]));
    env.coppice(&["send", &id, &steps(&["@usage 7 1".to_owned(), say("done")])]).succeeds();
    env.wait_for(&id, "ready");
    let turns = env.json(&["show", &id, "--raw"]);
    let of = |turn: usize| (&turns[turn]["backend"], &turns[turn]["usage"]);
    let usage = |input: u64, output: u64| json!({"input_tokens": input, "output_tokens": output, "cost_usd": null});
    assert_eq!(of(0), (&json!("demo"), &usage(100, 20)));
    assert_eq!(of(1), (&json!("demo"), &usage(7, 1)));
    assert_eq!(env.session(&id)["usage"], usage(107, 21));
    let shown = env.coppice(&["show", &id]).stdout();
    assert!(shown.contains("usage     107 tokens in, 21 out\n"), "{shown}");
}

#[test]
fn a_reasoning_level_counts_where_the_model_has_it() {
    let env = TestEnv::new();
    // The scripted agent thinks nothing: what is configured for all does not concern it, and nobody can ask it to.
    env.configure("[default]\nreasoning = \"medium\"");
    let id = env.create_ready(&say("done"));
    assert_eq!(env.session(&id)["reasoning"], json!(null));
    insta::assert_snapshot!(env.coppice(&["new", "--model", "demo", "--reasoning", "xhigh", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: backend `demo` has no reasoning level `xhigh`; it has none

    hint: `coppice models` shows what can be used
    ");
}
