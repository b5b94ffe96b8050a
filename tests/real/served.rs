//! The served tools in the hands of the real programs: a turn that works with nothing else, and what none of them gives.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, serve};
use crate::stage::Stage;
use crate::turn::base64;

for_each_agent!(
    a_turn_works_with_served_tools_alone,
    code_history_tests_patches_pages_pictures_and_github,
    every_word_of_a_schema_reaches_the_model,
    what_is_denied_secret_elsewhere_or_no_text_stays_where_it_is,
);

fn a_turn_works_with_served_tools_alone(agent: Agent) {
    let stage = Stage::new();
    stage.write("notes/a.txt", "one\ntwo\nthree\n");
    stage.commit("a note");
    let edit = json!({"path": "notes/a.txt", "old_string": "two", "new_string": "zwei"});
    let steps = [
        serve("list_dir", json!({"path": "notes"})),
        serve("glob", json!({"pattern": "notes/**/*.txt"})),
        serve("grep", json!({"pattern": "two", "path": "notes"})),
        serve("read_file", json!({"path": "notes/a.txt", "offset": 3, "limit": 1})),
        serve("read_many_files", json!({"paths": ["notes/a.txt"]})),
        serve("write_file", json!({"path": "made/b.txt", "content": "bee\n"})),
        serve("edit_file", edit),
        serve("mkdir", json!({"path": "made/empty"})),
        serve("copy_file", json!({"src": "made/b.txt", "dst": "made/c.txt"})),
        serve("move_file", json!({"src": "made/c.txt", "dst": "made/d.txt"})),
        serve("delete_file", json!({"path": "made/empty"})),
        serve("run_bash", json!({"command": "cat made/d.txt && echo wrong >&2 && exit 3"})),
        serve("git_diff_files", json!({"paths": ["notes/a.txt"]})),
        serve("git_commit_context", json!({})),
        answer("worked"),
    ];
    let calls = steps.len() - 1;
    stage.model(agent).plays(steps);
    let id = stage.begin_with(agent, &["--profile", "enforced"], "work with what is there");
    stage.rests(&id, "ready");

    let tree = stage.worktree(&id);
    let text = |path: &str| fs::read_to_string(tree.join(path)).unwrap();
    assert_eq!(text("notes/a.txt"), "one\nzwei\nthree\n");
    assert_eq!((text("made/b.txt"), text("made/d.txt")), ("bee\n".to_owned(), "bee\n".to_owned()));
    assert!(!tree.join("made/c.txt").exists() && !tree.join("made/empty").exists());
    let finished = stage.of_kind(&id, "tool_finished");
    assert_eq!(finished.len(), calls, "{finished:#?}");
    assert_eq!(stage.of_kind(&id, "approval_requested").len(), 0);
    let asked = stage.model(agent).calls();
    let told = asked.last().unwrap();
    for said in ["notes/a.txt:2:two", "==> notes/a.txt <==", "wrote 4 bytes", "exit=3", "+zwei", "staged_empty="] {
        assert!(told.mentions(said), "the model hears `{said}`");
    }
    // A person sees the same calls, whichever program made them.
    assert_eq!(
        cards(&stage, &id),
        [
            "List(notes)",
            "Glob(notes/**/*.txt)",
            "Grep(\"two\" in notes)",
            "Read(notes/a.txt @ L3+1)",
            "Read(1 file)",
            "Write(made/b.txt)",
            "Edit(notes/a.txt, single)",
            "Mkdir(made/empty)",
            "Copy(made/b.txt → made/c.txt)",
            "Move(made/c.txt → made/d.txt)",
            "Delete(made/empty)",
            "Bash(cat made/d.txt && echo wrong >&2 && exit 3)",
            "Git(diff worktree)",
            "Git(commit context)",
        ]
    );
    let shown = stage.coppice(&["events", &id]).stdout();
    for footer in ["╰ 1 entry", "╰ 1 match", "╰ 1 line · 6 bytes", "╰ wrote 4 bytes", "│   ── stderr ──", "╰ exit 3"]
    {
        assert!(shown.contains(footer), "`{footer}` in {shown}");
    }
}

/// The headers of the calls that ended, as a person reads them.
fn cards(stage: &Stage, id: &str) -> Vec<String> {
    let shown = stage.coppice(&["events", id]).stdout();
    let ended = shown.lines().filter_map(|line| line.split_once("  tool_finished "));
    ended.map(|(_, header)| header.trim().to_owned()).collect()
}

fn code_history_tests_patches_pages_pictures_and_github(agent: Agent) {
    let stage = Stage::new();
    stage.write("tsconfig.json", "{ \"compilerOptions\": { \"noEmit\": true }, \"include\": [\"src\"] }\n");
    stage.write("src/greet.ts", "export function greet(name: string): string {\n  return `hello ${name}`;\n}\n");
    let picture = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/images/red.png")).unwrap();
    fs::write(stage.repo().join("red.png"), &picture).unwrap();
    stage.commit("a small project");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = format!("http://{}/", listener.local_addr().unwrap());
    let diff = "--- a/src/greet.ts\n+++ b/src/greet.ts\n@@ -1,3 +1,3 @@\n export function greet(name: string): string {\n\
                -  return `hello ${name}`;\n+  return `good day ${name}`;\n }\n";
    let steps = [
        serve("symbols", json!({"query": "greet"})),
        serve("git", json!({"args": ["log", "-1", "--format=subject: %s"]})),
        serve("run_tests", json!({"command": "echo ran the tests; exit 4"})),
        serve("apply_diff", json!({"diff": diff})),
        serve("fetch_url", json!({"url": page})),
        serve("read_file", json!({"path": "red.png"})),
        serve("gh_pr_context", json!({})),
        answer("worked"),
    ];
    let calls = steps.len() - 1;
    stage.model(agent).plays(steps);
    let id = stage.begin_with(agent, &["--profile", "enforced"], "work with what is there");
    stage.rests(&id, "ready");

    assert_eq!(stage.of_kind(&id, "approval_requested").len(), 0);
    let text = fs::read_to_string(stage.worktree(&id).join("src/greet.ts")).unwrap();
    assert!(text.contains("good day"), "{text}");
    let asked = stage.model(agent).calls();
    let told = asked.last().unwrap();
    let label = format!("[image: red.png, image/png, {} bytes]", picture.len());
    let inward = "`127.0.0.1` is an address of the own machine or network";
    for said in ["src/greet.ts", "subject: a small project", "exit=4", inward, &label, "base_resolution="] {
        assert!(told.mentions(said), "the model hears `{said}`");
    }
    // One of them takes nothing but words from a tool.
    assert_eq!(told.mentions(&base64(&picture)), agent != Agent::Gemini, "the model sees the picture");
    assert_eq!(
        cards(&stage, &id),
        [
            "Symbols(\"greet\")".to_owned(),
            "Git(log -1 --format=subject: %s)".to_owned(),
            "Test(echo ran the tests; exit 4)".to_owned(),
            "Patch(apply)".to_owned(),
            format!("Fetch({page})"),
            "Read(red.png)".to_owned(),
            "GitHub(pr context)".to_owned(),
        ]
    );
    let finished = stage.of_kind(&id, "tool_finished");
    let failed: Vec<_> = finished.iter().map(|event| event["ok"] == false).collect();
    assert_eq!(failed, [false, false, false, false, true, false, false], "{finished:#?}");
    assert_eq!(finished.len(), calls);
}

/// Programs pass on what they know of a schema. What they drop, a model never reads.
fn every_word_of_a_schema_reaches_the_model(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).plays([answer("read")]);
    let id = stage.begin_with(agent, &["--profile", "enforced"], "read what there is");
    stage.rests(&id, "ready");
    let asked = stage.model(agent).calls();
    let grep = parameters(&asked[0].request.body, &agent.dialect().served("grep")).expect("grep has parameters");
    assert_eq!(grep["properties"]["pattern"]["type"], "string", "{grep}");
    assert_eq!(grep["required"], json!(["pattern"]), "{grep}");
    let question = parameters(&asked[0].request.body, &agent.dialect().served("question")).expect("question has them");
    let options = &question["properties"]["options"]["items"]["anyOf"];
    assert_eq!((&options[0]["type"], &options[1]["type"]), (&json!("string"), &json!("object")), "{question}");
    assert_eq!(options[1]["properties"]["role"]["enum"], json!(["approve", "reject"]), "{question}");
    // One of them forgets what holds by itself; the words of the parameter say it too.
    let default = grep["properties"]["max_results"].get("default");
    assert_eq!(default, (agent != Agent::Codex).then_some(&json!(50)), "{grep}");
    assert!(grep["properties"]["max_results"]["description"].as_str().unwrap().contains("50"), "{grep}");
}

/// What a tool takes, wherever the provider has its place for it.
fn parameters<'a>(body: &'a Value, tool: &str) -> Option<&'a Value> {
    let own = (body["name"] == tool)
        .then(|| ["input_schema", "parameters", "parametersJsonSchema"].iter().find_map(|place| body.get(place)));
    own.flatten().or_else(|| match body {
        Value::Array(items) => items.iter().find_map(|item| parameters(item, tool)),
        Value::Object(members) => members.values().find_map(|member| parameters(member, tool)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

fn what_is_denied_secret_elsewhere_or_no_text_stays_where_it_is(agent: Agent) {
    let stage = Stage::new();
    fs::write(stage.path("elsewhere.txt"), "words from elsewhere\n").unwrap();
    stage.write(".coppice/permissions.json", r#"{"permissions": {"deny": ["Write(locked/**)"]}}"#);
    stage.write(".env", "TOKEN=a-word-that-nobody-hears\n");
    stage.write(".env.local", "TOKEN=a-word-that-nobody-hears\n");
    // What is hidden is no secret by that: a search that is told to look there does.
    stage.write(".hidden", "TOKEN=a-word-for-everybody\n");
    symlink(".env", stage.repo().join("visible.txt")).unwrap();
    stage.write("huge.txt", &"a line that is one of very many\n".repeat(60_000));
    fs::write(stage.repo().join("picture.bin"), [0, 159, 146, 150, 0, 1]).unwrap();
    symlink(stage.path("elsewhere.txt"), stage.repo().join("way-out")).unwrap();
    stage.git(&["add", "--force", "."]);
    stage.commit("what a model may stumble over");
    let steps = [
        serve("write_file", json!({"path": "locked/x.txt", "content": "x"})),
        serve("read_file", json!({"path": ".env"})),
        serve("grep", json!({"pattern": "TOKEN="})),
        serve("grep", json!({"pattern": "TOKEN=", "path": ".hidden"})),
        serve("grep", json!({"pattern": "TOKEN=", "path": ".env"})),
        serve("grep", json!({"pattern": "TOKEN=", "path": "visible.txt"})),
        serve("read_file", json!({"path": "visible.txt"})),
        serve("read_many_files", json!({"paths": ["huge.txt", ".env.local"]})),
        serve("read_file", json!({"path": "way-out"})),
        serve("read_file", json!({"path": "../../../../../../../../../../etc/passwd"})),
        serve("read_file", json!({"path": "picture.bin"})),
        serve("read_file", json!({"path": "huge.txt", "limit": 60_000})),
        answer("looked"),
    ];
    let calls = steps.len() - 1;
    stage.model(agent).plays(steps);
    let id = stage.begin_with(agent, &["--profile", "enforced"], "look around");
    stage.rests(&id, "ready");

    assert!(!stage.worktree(&id).join("locked").exists());
    let asked = stage.model(agent).calls();
    for hidden in ["a-word-that-nobody-hears", "words from elsewhere", "root:x:0"] {
        assert!(asked.iter().all(|call| !call.mentions(hidden)), "no model hears `{hidden}`");
    }
    let told = asked.last().unwrap();
    for said in [
        "denied by policy for pattern: locked/x.txt",
        ".hidden:1:TOKEN=a-word-for-everybody",
        "way-out",
        "not UTF-8 text",
        "[truncated]",
    ] {
        assert!(told.mentions(said), "the model hears `{said}`");
    }
    let finished = stage.of_kind(&id, "tool_finished");
    assert_eq!(finished.len(), calls, "{finished:#?}");
}
