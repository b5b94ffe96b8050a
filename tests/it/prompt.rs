//! What travels with a prompt and what comes back with its turn: usage, reasoning, images, another backend.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{hang, misfit_once, say, steps, write};
use crate::tape::{prompts, taped};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n-one";
const GIF: &[u8] = b"GIF89a-two";

/// A world with two images in it.
fn with_images() -> TestEnv {
    let env = taped();
    fs::write(env.path("one.png"), PNG).unwrap();
    fs::write(env.path("two.gif"), GIF).unwrap();
    env
}

fn image(media_type: &str, bytes: &[u8]) -> Value {
    json!({"type": "image", "mimeType": media_type, "data": STANDARD.encode(bytes)})
}

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

#[test]
fn images_outlive_the_daemon_in_the_queue_and_come_in_the_order_of_the_text() {
    let env = with_images();
    let (one, two) = (env.path("one.png"), env.path("two.gif"));
    let options = ["--model", "taped", "--draft", "--image", one.to_str().unwrap(), "--image", two.to_str().unwrap()];
    let id = env.create_with(&options, "first [Image #2], then\n@answer seen");
    fs::remove_file(one).unwrap();
    env.kill_daemon();
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");

    let [blocks] = prompts(&env).try_into().unwrap();
    assert!(blocks[0]["text"].as_str().unwrap().ends_with("\n---\n\nfirst [Image #2]"), "{blocks:#?}");
    assert_eq!(blocks[1], image("image/gif", GIF));
    assert_eq!(blocks[2]["text"], ", then\n@answer seen\n\n[Image #1]");
    assert_eq!(blocks[3], image("image/png", PNG));
    assert_eq!(blocks.len(), 4);
    let shown = env.coppice(&["show", &id]).stdout();
    assert!(shown.contains("> first [Image #2], then, with one.png, two.gif\n"), "{shown}");
    let turns = env.json(&["show", &id, "--raw"]);
    let listed = json!({"number": 1, "name": "one.png", "media_type": "image/png", "bytes": PNG.len()});
    assert_eq!(turns[0]["images"][0], listed);
}

#[test]
fn an_interrupted_prompt_is_resumed_with_its_images() {
    let env = with_images();
    let id = env.create_with(&["--model", "taped"], &say("first"));
    env.wait_for(&id, "ready");
    let two = env.path("two.gif");
    let prompt = steps(&["look".to_owned(), write("a.txt", "1"), hang()]);
    env.coppice(&["send", &id, "--image", two.to_str().unwrap(), &prompt]).succeeds();
    env.wait_for_event(&id, "tool_finished", 0);
    env.coppice(&["stop", &id]).succeeds();
    let seen = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for_event(&id, "tool_finished", seen);
    env.coppice(&["stop", &id]).succeeds();
    let images = prompts(&env).into_iter().map(|blocks| blocks.into_iter().filter(|block| block["type"] == "image"));
    let images: Vec<Vec<Value>> = images.map(Iterator::collect).collect();
    assert_eq!(images, [vec![], vec![image("image/gif", GIF)], vec![image("image/gif", GIF)]]);
}

#[test]
fn an_image_that_cannot_be_sent_is_refused_by_its_name() {
    let env = with_images();
    fs::write(env.path("text.png"), "text").unwrap();
    let new = |file: &str| env.coppice(&["new", "--model", "taped", "--image", env.path(file).to_str().unwrap(), "hi"]);
    assert_snapshot!(new("text.png").transcript(), @r"
    exit: 2
    -- stderr
    error: image `[ROOT]/text.png`: not a PNG, JPEG, GIF or WebP file

    hint: send a PNG, JPEG, GIF or WebP file, or a smaller one
    ");
    assert_snapshot!(new("nowhere.png").transcript(), @r"
    exit: 2
    -- stderr
    error: image `[ROOT]/nowhere.png` cannot be read: No such file or directory (os error 2)
    ");
    assert_eq!(env.json(&["list", "--all"]), json!([]));
}

#[test]
fn a_backend_without_images_says_so() {
    let env = TestEnv::new();
    env.configure(&format!(
        "[backends.blind]\ntransport = \"acp\"\ncommand = [\"sh\", \"-c\", \"'{}' demo-agent | sed -u 's/\\\"image\\\":true/\\\"image\\\":false/'\"]\n",
        env!("CARGO_BIN_EXE_coppice"),
    ));
    fs::write(env.path("one.png"), PNG).unwrap();
    let id = env.create_with(&["--model", "blind", "--image", env.path("one.png").to_str().unwrap()], &say("seen"));
    env.wait_for(&id, "failed");
    let error = &env.session(&id)["last_error"];
    assert!(error["message"].as_str().unwrap().contains("image"), "{error:#}");
}
