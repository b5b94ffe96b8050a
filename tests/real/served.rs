//! The served tools in the hands of the real programs: a turn that works with nothing else, and what none of them gives.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, serve};
use crate::stage::Stage;

for_each_agent!(
    r111_a_turn_works_with_served_tools_alone,
    r111_what_is_denied_secret_elsewhere_or_no_text_stays_where_it_is,
);

fn r111_a_turn_works_with_served_tools_alone(agent: Agent) {
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
}

fn r111_what_is_denied_secret_elsewhere_or_no_text_stays_where_it_is(agent: Agent) {
    let stage = Stage::new();
    fs::write(stage.path("elsewhere.txt"), "words from elsewhere\n").unwrap();
    stage.write(".coppice/permissions.json", r#"{"permissions": {"deny": ["Write(locked/**)"]}}"#);
    stage.write(".env", "TOKEN=a-word-that-nobody-hears\n");
    stage.write("huge.txt", &"a line that is one of very many\n".repeat(60_000));
    fs::write(stage.repo().join("picture.bin"), [0, 159, 146, 150, 0, 1]).unwrap();
    symlink(stage.path("elsewhere.txt"), stage.repo().join("way-out")).unwrap();
    stage.git(&["add", "--force", "."]);
    stage.commit("what a model may stumble over");
    let steps = [
        serve("write_file", json!({"path": "locked/x.txt", "content": "x"})),
        serve("read_file", json!({"path": ".env"})),
        serve("grep", json!({"pattern": "TOKEN="})),
        serve("read_file", json!({"path": "way-out"})),
        serve("read_file", json!({"path": "../../../../../../../../../../etc/passwd"})),
        serve("read_file", json!({"path": "picture.bin"})),
        serve("read_file", json!({"path": "huge.txt", "limit": 60_000})),
        answer("looked"),
    ];
    stage.model(agent).plays(steps);
    let id = stage.begin_with(agent, &["--profile", "enforced"], "look around");
    stage.rests(&id, "ready");

    assert!(!stage.worktree(&id).join("locked").exists());
    let asked = stage.model(agent).calls();
    for hidden in ["a-word-that-nobody-hears", "words from elsewhere", "root:x:0"] {
        assert!(asked.iter().all(|call| !call.mentions(hidden)), "no model hears `{hidden}`");
    }
    let told = asked.last().unwrap();
    for said in ["denied by policy for pattern: locked/x.txt", "way-out", "not UTF-8 text", "[truncated]"] {
        assert!(told.mentions(said), "the model hears `{said}`");
    }
    let finished = stage.of_kind(&id, "tool_finished");
    assert_eq!(finished.len(), 7, "{finished:#?}");
}
