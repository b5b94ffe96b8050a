//! Real language servers: what they know about a small project reaches an agent, and what they would change is changed.

use std::fs;

use serde_json::{Value, json};

use crate::agent::programs;
use crate::env::TestEnv;

/// A world with the programs on its PATH, and no file of a language.
fn world() -> TestEnv {
    let mut env = TestEnv::new();
    let path = std::env::var("PATH").unwrap_or_default();
    env.set("PATH", &format!("{}:{path}", programs().display()));
    env.git(&["rm", "-q", "src/main.rs"]);
    env
}

fn project() -> TestEnv {
    let env = world();
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
fn typescript_is_known_and_renamed() {
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
fn one_server_answers_as_long_as_its_session_asks() {
    let env = project();
    let ask = call("symbols", &json!({ "query": "greet" }));
    let id = env.create_ready(&ask);
    let servers = || {
        let is_server =
            |command: &str| command.contains("typescript-language-server") && !command.contains("supervise");
        let servers = env.processes().into_iter().filter(|process| is_server(&process.command));
        servers.map(|process| process.pid).collect::<Vec<_>>()
    };
    let first = servers();
    assert!(!first.is_empty());
    env.send_ready(&id, &[], &vec![ask.as_str(); 20].join("\n"));
    assert!(env.last_answer(&id).contains("src/greet.ts"), "{}", env.last_answer(&id));
    assert_eq!(servers(), first);
}

#[test]
fn typescript_sorts_its_imports_and_fixes_a_name() {
    let env = world();
    env.write("tsconfig.json", "{ \"compilerOptions\": { \"strict\": true, \"noEmit\": true } }\n");
    env.write("b.ts", "export const b = 1;\n");
    env.write("a.ts", "export const a = 1;\n");
    env.write(
        "main.ts",
        "import { b } from \"./b\";\nimport { a } from \"./a\";\n\nconst count = a + b;\nexport const c: number = coutn;\n",
    );
    env.commit("imports out of order");
    let part = |line: u32, start: u32, end: u32, more: Value| {
        let mut arguments = json!({
            "path": "main.ts", "start_line": line, "start_character": start, "end_line": line, "end_character": end,
        });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let sort = part(1, 0, 0, json!({ "kind": "source.organizeImports" }));
    let id = env.create_ready(&call("code_action", &sort));
    let sorted: Value = serde_json::from_str(&env.last_answer(&id)).unwrap();
    assert_eq!(sorted["paths"], json!(["main.ts"]), "{sorted}");
    let text = fs::read_to_string(env.worktree(&id).join("main.ts")).unwrap();
    assert!(text.starts_with("import { a } from \"./a\";\nimport { b } from \"./b\";\n"), "{text}");
    let wrong = next(&env, &id, "diagnostics", &json!({ "path": "main.ts" }));
    assert!(wrong.to_string().contains("'coutn'"), "{wrong}");
    let fixed = next(&env, &id, "code_action", &part(5, 25, 30, json!({ "kind": "quickfix" })));
    assert_eq!(fixed["title"], "Change spelling to 'count'", "{fixed}");
    let text = fs::read_to_string(env.worktree(&id).join("main.ts")).unwrap();
    assert!(text.ends_with("export const c: number = count;\n"), "{text}");
}

#[test]
fn python_is_known_and_renamed() {
    let env = world();
    env.write("pyproject.toml", "[tool.pyright]\n");
    env.write("greet.py", "def greet(name: str) -> str:\n    return \"hello \" + name\n");
    env.write("main.py", "from greet import greet\n\nsaid: int = greet(\"you\")\n");
    env.commit("a small project");
    let place = json!({ "path": "main.py", "line": 3, "symbol": "greet" });
    let id = env.create_ready(&call("definition", &place));
    let found: Value = serde_json::from_str(&env.last_answer(&id)).unwrap();
    assert_eq!((&found[0]["path"], &found[0]["line"]), (&json!("greet.py"), &json!(1)), "{found}");
    let wrong = next(&env, &id, "diagnostics", &json!({ "path": "main.py" }));
    let message = wrong["files"][0]["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("\"int\""), "{wrong}");
    let rename = json!({ "path": "greet.py", "line": 1, "symbol": "greet", "new_name": "hail" });
    let renamed = next(&env, &id, "rename_symbol", &rename);
    assert_eq!(renamed["paths"], json!(["greet.py", "main.py"]), "{renamed}");
    let text = fs::read_to_string(env.worktree(&id).join("main.py")).unwrap();
    assert_eq!(text, "from greet import hail\n\nsaid: int = hail(\"you\")\n");
}
