//! A real language server: what it knows about a small project reaches an agent, and what it would rename is renamed.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::programs;
use crate::env::TestEnv;

/// How long a question may take whose server runs, with everything around it.
const WARM: Duration = Duration::from_millis(150);

fn project() -> TestEnv {
    let mut env = TestEnv::new();
    let path = std::env::var("PATH").unwrap_or_default();
    env.set("PATH", &format!("{}:{path}", programs().display()));
    env.git(&["rm", "-q", "src/main.rs"]);
    env.write(
        "tsconfig.json",
        "{ \"compilerOptions\": { \"strict\": true, \"noEmit\": true }, \"include\": [\"src\"] }\n",
    );
    env.write("src/greet.ts", "export function greet(name: string): string {\n  return `hello ${name}`;\n}\n");
    env.write(
        "src/main.ts",
        "import { greet } from \"./greet\";\n\nlet count = 0;\ncount = 1;\nexport const said = greet(\"you\") + count;\n",
    );
    env.commit("a small project");
    env
}

fn call(tool: &str, arguments: &Value) -> String {
    format!("@call {tool} {arguments}")
}

/// What a tool says in another turn of the session.
fn next(env: &TestEnv, id: &str, tool: &str, arguments: &Value) -> Value {
    env.send_ready(id, &[], &call(tool, arguments));
    let answer = env.last_answer(id);
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn r110_typescript_is_known_and_renamed() {
    let env = project();
    let id = env.create_ready(&call("symbols", &json!({ "query": "greet" })));
    let answer: Value = serde_json::from_str(&env.last_answer(&id)).unwrap();
    let greet = json!({ "name": "greet", "kind": "function", "path": "src/greet.ts", "line": 1 });
    assert!(answer["symbols"].as_array().unwrap().contains(&greet), "{answer}");

    let found = next(&env, &id, "definition", &json!({ "path": "src/main.ts", "line": 5, "symbol": "greet" }));
    assert_eq!(found[0]["path"], "src/greet.ts", "{found}");
    assert_eq!((&found[0]["line"], &found[0]["character"]), (&json!(1), &json!(16)), "{found}");

    let uses = next(&env, &id, "refs", &json!({ "path": "src/main.ts", "line": 3, "symbol": "count" }));
    let kinds: Vec<_> = uses["references"].as_array().unwrap().iter().map(|one| (&one["line"], &one["kind"])).collect();
    // This server calls every use a read, so that none of them is believed.
    assert_eq!(kinds, [(&json!(4), &json!("unknown")), (&json!(5), &json!("unknown"))], "{uses}");
    assert_eq!(uses["classification_supported"], false, "{uses}");
    assert_eq!(uses["references"][0]["snippet"], "count = 1;", "{uses}");

    let callers = json!({ "path": "src/greet.ts", "line": 1, "symbol": "greet", "mode": "callers" });
    let calls = next(&env, &id, "trace", &callers);
    assert_eq!(calls["supported"], true, "{calls}");
    assert!(calls["nodes"].as_array().unwrap().iter().any(|node| node["path"] == "src/main.ts"), "{calls}");

    let rename = json!({ "path": "src/greet.ts", "line": 1, "symbol": "greet", "new_name": "hail" });
    let renamed = next(&env, &id, "rename_symbol", &rename);
    assert_eq!(renamed["paths"], json!(["src/greet.ts", "src/main.ts"]), "{renamed}");
    assert!(renamed.get("diagnostics").is_none(), "{renamed}");
    let text = |path: &str| fs::read_to_string(env.worktree(&id).join(path)).unwrap();
    assert!(text("src/greet.ts").starts_with("export function hail(name"), "{}", text("src/greet.ts"));
    assert!(text("src/main.ts").contains("said = hail(\"you\")"), "{}", text("src/main.ts"));

    fs::write(
        env.worktree(&id).join("src/greet.ts"),
        "export function hail(name: number): string {\n  return \"\";\n}\n",
    )
    .unwrap();
    let wrong = next(&env, &id, "diagnostics", &json!({ "path": "src/main.ts" }));
    let message = wrong["files"][0]["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("not assignable"), "{wrong}");
    env.coppice(&["rm", &id]).succeeds();
    env.wait_for_ends("language-server");
}

#[test]
fn symbols_of_a_server_that_runs_come_at_once() {
    let env = project();
    let ask = call("symbols", &json!({ "query": "greet" }));
    let id = env.create_ready(&ask);
    let took = |calls: usize| {
        let begun = Instant::now();
        env.send_ready(&id, &[], &vec![ask.as_str(); calls].join("\n"));
        begun.elapsed()
    };
    // What a turn costs besides is in both.
    let (one, many) = (took(1), took(21));
    let each = many.saturating_sub(one) / 20;
    println!("symbols, warm: {each:?} each");
    assert!(each <= WARM, "{each:?}");
    assert!(env.last_answer(&id).contains("src/greet.ts"), "{}", env.last_answer(&id));
}
