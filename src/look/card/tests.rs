//! Cards of calls: their headers, their bodies folded and open, and what each kind of call tells.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn drawn(card: &Card, width: u16, fold: Fold) -> String {
    rows(card, width, fold).iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

fn done(tool: &str, title: &str, input: Value, output: &str) -> Card {
    finished(tool, title, Some(&input), Outcome::Done, output)
}

#[track_caller]
fn headers(rows: &[(&str, &str, Value, &str)]) {
    for (tool, title, input, expected) in rows {
        let input = Some(input).filter(|input| !input.is_null());
        assert_eq!(started(tool, title, input).header.text(), *expected, "{tool} {title}");
    }
}

/// Calls of the served tools as their schemas have them, and what a card calls them.
fn served() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("run_bash", json!({"command": "ls -l"}), "Bash(ls -l)"),
        ("read_file", json!({"path": "a.rs"}), "Read(a.rs)"),
        ("read_file", json!({"path": "a.rs", "offset": 10, "limit": 5}), "Read(a.rs @ L10+5)"),
        ("read_many_files", json!({"paths": ["a", "b", "c"]}), "Read(3 files)"),
        ("write_file", json!({"path": "a", "content": "x"}), "Write(a)"),
        ("edit_file", json!({"path": "a", "old_string": "x", "new_string": "y"}), "Edit(a, single)"),
        ("edit_file", json!({"path": "a", "old_string": "x", "new_string": "y", "replace_all": true}), "Edit(a, all)"),
        ("apply_diff", json!({"diff": "-a\n+b"}), "Patch(apply)"),
        ("mkdir", json!({"path": "d"}), "Mkdir(d)"),
        ("delete_file", json!({"path": "a"}), "Delete(a)"),
        ("copy_file", json!({"src": "a", "dst": "b"}), "Copy(a → b)"),
        ("move_file", json!({"src": "a", "dst": "b"}), "Move(a → b)"),
        ("list_dir", json!({"path": "src"}), "List(src)"),
        ("glob", json!({"pattern": "*.rs"}), "Glob(*.rs)"),
        ("glob", json!({"pattern": "*.rs", "cwd": "src"}), "Glob(*.rs in src)"),
        ("grep", json!({"pattern": "fn", "path": "src"}), "Grep(\"fn\" in src)"),
        ("fetch_url", json!({"url": "https://a.example/x"}), "Fetch(https://a.example/x)"),
        ("run_tests", json!({"command": "cargo test"}), "Test(cargo test)"),
        ("rollback", json!({"target": "HEAD~3"}), "Rollback(HEAD~3)"),
        ("rollback", json!({}), "Rollback(HEAD~1)"),
        ("git_branch_status", json!({}), "Git(branch status)"),
        ("git_show_file_at_rev", json!({"path": "a", "rev": "HEAD~1"}), "Git(show a @ HEAD~1)"),
        ("git_diff_files", json!({"base": "main", "head": "x"}), "Git(diff main..x)"),
        ("git_diff_files", json!({"base": "main"}), "Git(diff main..worktree)"),
        ("git_diff_files", json!({"paths": ["a"]}), "Git(diff worktree)"),
        ("git_stage_files", json!({"paths": ["a", "b"]}), "Git(stage 2 files)"),
        ("git_stage_files", json!({"all": true}), "Git(stage all)"),
        ("git_unstage_files", json!({"paths": ["a"]}), "Git(unstage 1 file)"),
        ("git_create_branch", json!({"name": "n"}), "Git(create branch n)"),
        ("git_create_branch", json!({"name": "n", "start_point": "main"}), "Git(create branch n from main)"),
        ("git_commit", json!({"message": "m"}), "Git(commit)"),
        ("git_checkpoint", json!({}), "Git(checkpoint)"),
        ("git_log_file", json!({"path": "a"}), "Git(log a)"),
        ("git_merge_base", json!({"base": "main", "head": "x"}), "Git(merge-base main..x)"),
        ("git_blame_lines", json!({"path": "a", "start": 3, "end": 9}), "Git(blame a:L3-L9)"),
        ("list_git_changed_files", json!({}), "Git(list changed)"),
        ("git", json!({"args": ["status", "-s"]}), "Git(status -s)"),
        ("git_commit_apply", json!({"message": "m"}), "Git(commit)"),
        ("git_commit_context", json!({}), "Git(commit context)"),
        ("git_push", json!({}), "Git(push)"),
        ("gh_pr_context", json!({"base": "main"}), "GitHub(pr context)"),
        ("gh_pr_read", json!({}), "GitHub(pr)"),
        ("gh_pr_read", json!({"ref": "12"}), "GitHub(pr 12)"),
        ("gh_pr_read", json!({"ref": 12}), "GitHub(pr 12)"),
        ("gh_pr_review_context", json!({"ref": "12"}), "GitHub(review pr 12)"),
        ("gh_issue_read", json!({"number": 7}), "GitHub(issue 7)"),
        ("gh_issue_list", json!({"labels": ["bug"]}), "GitHub(issues)"),
        (
            "gh_pr_create",
            json!({"base": "main", "title": "Cap the queue", "body": "b"}),
            "GitHub(create pr \"Cap the queue\")",
        ),
        ("gh_pr_update", json!({"ref": "12", "title": "t", "body": "b"}), "GitHub(update pr 12)"),
        ("gh_pr_add_comment", json!({"body": "b"}), "GitHub(comment on pr)"),
        ("symbols", json!({"query": "Limit"}), "Symbols(\"Limit\")"),
        ("definition", json!({"path": "a.rs", "line": 3, "symbol": "cap"}), "Definition(cap @ a.rs:3)"),
        ("diagnostics", json!({"paths": ["a.rs", "b.rs"]}), "Diagnostics(2 files)"),
        ("refs", json!({"path": "a.rs", "line": 3, "character": 4}), "References(a.rs:3)"),
        ("trace", json!({"path": "a.rs", "line": 3, "mode": "callers"}), "Trace(callers of a.rs:3)"),
        ("rename_symbol", json!({"path": "a", "line": 3, "symbol": "x", "new_name": "y"}), "Rename(x @ a:3 → y)"),
        (
            "code_action",
            json!({"path": "a.rs", "start_line": 1, "start_character": 0, "end_line": 1, "end_character": 4, "title": "Fix"}),
            "Action(a.rs: Fix)",
        ),
        ("read_file", json!({"path": "a.rs", "offset": 10}), "Read(a.rs @ L10)"),
        ("delegate", json!({"agent_id": "worker", "task": "t\nu", "context_summary": "c"}), "Delegate(worker: t)"),
        ("task", json!({"agentType": "worker", "description": "look", "prompt": "p"}), "Delegate(worker: look)"),
        ("spawn_agent", json!({"agent_type": "worker", "message": "look"}), "Delegate(worker: look)"),
        ("Agent", json!({"subagent_type": "worker", "prompt": "look"}), "Delegate(worker: look)"),
        ("wait", json!({"ids": ["a1", "b2"]}), "Wait(a1, b2)"),
        ("send_input", json!({"id": "a1", "message": "\ngo on\nplease"}), "Send(a1: go on)"),
        ("close_agent", json!({"id": "a1"}), "Close(a1)"),
        ("resume_agent", json!({"id": "a1"}), "Resume(a1)"),
        ("set_thread_note", json!({"id": "a1", "note": "n"}), "Note(a1)"),
        ("list_active_agents", json!({}), "Agents(children)"),
        ("list_agents", json!({"agent_type": "worker"}), "Agents(worker)"),
        ("task_workflow", json!({"action": "create", "title": "Cap it"}), "Tasks(create Cap it)"),
        (
            "task_review",
            json!({"action": "review", "task_id": "t1", "review_status": "pass", "review_summary": "s"}),
            "Review(review t1 pass)",
        ),
        ("todo_write", json!({"todos": [{"content": "a", "status": "pending"}]}), "Todo(1 step)"),
        ("question", json!({"question": "Which?", "options": []}), "Ask(Which?)"),
        ("exit_plan_mode", json!({}), "Plan(show)"),
        ("skill", json!({"name": "tidy", "section": "Usage"}), "Skill(tidy: Usage)"),
        ("search_skills", json!({"query": "tests"}), "Skills(\"tests\")"),
        ("run_tests", json!({}), "Test(…)"),
    ]
}

#[test]
fn every_served_tool_has_its_verb() {
    for (tool, input, expected) in served() {
        for (name, title) in [(tool.to_owned(), ""), ("other".to_owned(), tool)] {
            assert_eq!(started(&name, title, Some(&input)).header.text(), expected, "{tool}");
        }
    }
    headers(&[
        ("other", "coppice.run_bash", json!({"command": "ls"}), "Bash(ls)"),
        ("other", "run_bash (coppice MCP Server)", json!({"command": "ls"}), "Bash(ls)"),
        // The name of a tool is not what it is called with.
        ("other", "run_bash (coppice MCP Server)", Value::Null, "Bash(…)"),
        ("other", "read_file", Value::Null, "Read(…)"),
    ]);
}

/// A card that reads a parameter that its tool does not have never shows it.
#[test]
fn the_calls_of_this_table_are_calls_of_the_served_tools() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/tools");
    let read = |path: &Path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
    let tools: Vec<Value> = fs::read_dir(directory).unwrap().map(|entry| read(&entry.unwrap().path())).collect();
    let calls = served();
    for tool in &tools {
        assert!(calls.iter().any(|(name, ..)| tool["name"] == *name), "no call of {}", tool["name"]);
    }
    for (name, input, _) in calls {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        let schema = &tool["input_schema"];
        for parameter in input.as_object().unwrap().keys() {
            assert!(schema["properties"].get(parameter).is_some(), "{name} has no `{parameter}`");
        }
        let required = schema["required"].as_array().into_iter().flatten();
        let missing: Vec<_> = required.filter(|one| input.get(one.as_str().unwrap()).is_none()).collect();
        assert!(missing.is_empty(), "{name} needs {missing:?}");
    }
}

#[test]
fn native_tools_have_the_same_verbs() {
    headers(&[
        // Claude: the path is that of the machine, the title tells it from the work tree.
        ("read", "Read src/a.rs", json!({"file_path": "/t/src/a.rs"}), "Read(src/a.rs)"),
        ("read", "Read src/a.rs", json!({"file_path": "/t/src/a.rs", "offset": 7}), "Read(src/a.rs @ L7)"),
        (
            "edit",
            "Edit src/a.rs",
            json!({"file_path": "/t/src/a.rs", "old_string": "a", "new_string": "b", "replace_all": false}),
            "Edit(src/a.rs, single)",
        ),
        ("edit", "Write b", json!({"file_path": "/t/b", "content": "x"}), "Write(b)"),
        ("edit", "Edit n.ipynb", json!({"notebook_path": "/t/n.ipynb", "new_source": "1"}), "Edit(n.ipynb)"),
        ("execute", "make", json!({"command": "make\nmake test", "description": "d"}), "Bash(make make test)"),
        ("search", "Search `x.*` in src", json!({"pattern": "x.*", "path": "/t/src"}), "Grep(\"x.*\" in src)"),
        ("search", "Search `**/*.rs`", json!({"pattern": "**/*.rs"}), "Glob(**/*.rs)"),
        ("fetch", "Fetch https://e.x", json!({"url": "https://e.x", "prompt": "p"}), "Fetch(https://e.x)"),
        ("fetch", "Search the web for `rust`", json!({"query": "rust"}), "Search(\"rust\")"),
        ("other", "Skill verify", json!({"skill": "verify"}), "Skill(verify)"),
        ("other", "Task", json!({"subagent_type": "worker", "description": "look"}), "Delegate(worker: look)"),
        ("TodoWrite", "TodoWrite", json!({"todos": [{}, {}]}), "Todo(2 steps)"),
        ("Grep", "", json!({"pattern": "*a", "path": "b"}), "Grep(\"*a\" in b)"),
        // Codex.
        ("read", "cat a; ls", json!({"command": "cat a; ls", "cwd": "/t"}), "Bash(cat a; ls)"),
        ("execute", "ls", json!({"command": ["bash", "-lc", "ls | wc"], "cwd": "/t"}), "Bash(ls | wc)"),
        ("edit", "edit a.rs, b.rs", json!({"paths": ["a.rs", "b.rs"]}), "Edit(a.rs, b.rs)"),
        ("delete", "edit a.rs", json!({"paths": ["a.rs"]}), "Delete(a.rs)"),
        ("other", "github.create_pr", json!({"title": "x"}), "github.create_pr(…)"),
        ("fetch", "search the web: rust", json!({"query": "rust"}), "Search(\"rust\")"),
        ("read", "look at p.png", json!({"path": "/t/p.png"}), "Read(p.png)"),
        ("think", "compact the conversation", Value::Null, "Think(compact the conversation)"),
        // Agents of the protocol that tell only a title.
        ("execute", "echo out; touch made", Value::Null, "Bash(echo out; touch made)"),
        ("read", "a.txt", Value::Null, "Read(a.txt)"),
        ("edit", "Writing to new.txt", Value::Null, "Write(new.txt)"),
        ("edit", "a.txt: two => TWO", Value::Null, "Edit(a.txt)"),
        ("search", "'de' in *.txt within sub", Value::Null, "Grep(\"de\" in sub)"),
        ("search", "'src/*.rs'", Value::Null, "Glob(src/*.rs)"),
        ("search", "src", Value::Null, "List(src)"),
        ("other", "echo (orch MCP Server)", Value::Null, "echo (orch MCP Server)(…)"),
        // The demo agent.
        ("edit", "delete a.txt", json!({"path": "a.txt"}), "Delete(a.txt)"),
        ("edit", "append to a.txt", json!({"path": "a.txt"}), "Edit(a.txt)"),
        // Nothing at all.
        ("", "", Value::Null, "(…)"),
        ("FromTheFuture", "x", json!({"a": 1}), "FromTheFuture(…)"),
    ]);
}

#[test]
fn a_header_stays_on_its_row() {
    let card = started("run_bash", "", Some(&json!({"command": "echo \u{1b}[31m\u{202e}a\nb \u{9b} | sort --unique"})));
    assert_eq!(card.header.text(), "Bash(echo [31m\u{fffd}a b  | sort --unique)");
    assert_eq!(rows(&card, 20, Fold::Folded)[0].text(), "╭ Bash(echo [31m�a…)");
    for width in 0..60 {
        let widest = rows(&card, width, Fold::Open).iter().map(Line::width).max().unwrap();
        assert!(widest <= usize::from(width).max(6), "{width}: {widest}");
    }
    let long = started("run_bash", "", Some(&json!({"command": "x".repeat(100_000)})));
    assert!(long.header.text().len() < 2_000 && long.header.text().ends_with("…)"));
}

#[test]
fn a_long_body_is_counted_and_opens() {
    let output: String = (1..=48).map(|line| format!("line {line}\n")).collect();
    let card = done("execute", "cargo test", json!({"command": "cargo test"}), &output);
    assert_eq!(card.body.len(), 48);
    insta::assert_snapshot!(drawn(&card, 40, Fold::Folded), @r"
    ╭ Bash(cargo test)
    │   line 1
    │   line 2
    │   line 3
    │   line 4
    │   line 5
    │   line 6
    │   line 7
    │   line 8
    │   line 9
    │   line 10
    │   …38 more line(s)
    ╰ exit 0
    ");
    assert_eq!(rows(&card, 40, Fold::Open).len(), 50);
    let long = done("execute", "x", json!({"command": "x"}), &"word ".repeat(20));
    assert_eq!(rows(&long, 24, Fold::Folded).len(), 3);
    assert_eq!(rows(&long, 24, Fold::Open).len(), 7);
}

#[test]
fn an_error_is_shown_as_it_is() {
    let input = json!({"file_path": "/t/a", "old_string": "x", "new_string": "y"});
    let card = finished("edit", "Edit a", Some(&input), Outcome::Failed, "\nString not found in file.\nString: x\n");
    insta::assert_snapshot!(drawn(&card, 60, Fold::Folded), @r"
    ╭ Edit(a, single)
    │   String not found in file.
    │   String: x
    ╰ ✗ String not found in file.
    ");
    assert_eq!(card.footer.unwrap().spans().next().unwrap().0, Tone::Bad);
    let silent = finished("read", "Read a", None, Outcome::Failed, "");
    assert_eq!(drawn(&silent, 60, Fold::Folded), "╭ Read(a)\n╰ ✗ it did not finish");
}

#[test]
fn a_command_shows_both_streams_and_how_it_ended() {
    let output =
        json!({"stdout": "built\n", "stderr": "\u{1b}[33mwarning\u{1b}[0m: old\n", "exit_code": 0}).to_string();
    let card = done("run_bash", "", json!({"command": "make"}), &output);
    insta::assert_snapshot!(drawn(&card, 60, Fold::Folded), @r"
    ╭ Bash(make)
    │   built
    │   ── stderr ──
    │   warning: old
    ╰ exit 0
    ");
    assert_eq!(card.footer, Some(Line::toned(Tone::Good, "exit 0")));
    for (output, body, exit) in [
        ("Exit code 2\nno rule", vec!["no rule"], 2),
        ("some\n[exit status: 101]", vec!["some"], 101),
        ("some[exit -1]", vec!["some"], -1),
        ("Command exited with code: 3", vec![], 3),
    ] {
        let card = finished("execute", "make", Some(&json!({"command": "make"})), Outcome::Failed, output);
        assert_eq!(card.body.iter().map(Line::text).collect::<Vec<_>>(), body);
        assert_eq!(card.footer, Some(Line::toned(Tone::Bad, format!("exit {exit}"))));
    }
    let served = "exit=1\n--- stdout ---\nran\n--- stderr ---\nfailed\n";
    insta::assert_snapshot!(drawn(&done("run_bash", "", json!({"command": "make"}), served), 60, Fold::Folded), @r"
    ╭ Bash(make)
    │   ran
    │   ── stderr ──
    │   failed
    ╰ exit 1
    ");
    assert_eq!(drawn(&done("run_tests", "", json!({}), "exit=0"), 60, Fold::Folded), "╭ Test(…)\n╰ exit 0");
    // An agent that tells no input does not say either whether the command failed.
    let card = finished("execute", "make", None, Outcome::Done, "10%\r100%\nout");
    assert_eq!(drawn(&card, 60, Fold::Folded), "╭ Bash(make)\n│   100%\n│   out\n╰");
}

#[test]
fn an_edit_is_lines_that_go_and_come() {
    let input = json!({"file_path": "/t/limit.rs", "old_string": "let cap = 10;", "new_string": "let cap = burst;"});
    let running = started("edit", "Edit limit.rs", Some(&input));
    insta::assert_snapshot!(drawn(&running, 60, Fold::Folded), @r"
    ╭ Edit(limit.rs, single)
    │   - let cap = 10;
    │   + let cap = burst;
    ╰ running
    ");
    let output = "/t/limit.rs:12\n-let cap = 10;\n+let cap = burst;";
    insta::assert_snapshot!(drawn(&done("edit", "Edit limit.rs", input, output), 60, Fold::Folded), @r"
    ╭ Edit(limit.rs, single)
    │   12  - let cap = 10;
    │   12  + let cap = burst;
    ╰ 1 replacement
    ");
    let codex = "/t/a.rs\n@@ -2,2 +2,2 @@\n w\n-x\n+y\n/t/b.rs\n+new";
    insta::assert_snapshot!(drawn(&done("edit", "edit a.rs, b.rs", json!({"paths": ["a.rs", "b.rs"]}), codex), 60, Fold::Folded), @r"
    ╭ Edit(a.rs, b.rs)
    │   a.rs
    │   2    w
    │   3  - x
    │   3  + y
    │   b.rs
    │      + new
    ╰ +2 −1
    ");
}

#[test]
fn what_throws_work_away_is_told_first() {
    for (tool, input) in
        [("git", json!({"args": ["push", "--force"]})), ("execute", json!({"command": "git push --force"}))]
    {
        let warning = Line::toned(Tone::Bad, "⚠ DESTRUCTIVE FLAG(S): --force");
        assert_eq!(started(tool, "", Some(&input)).body.first(), Some(&warning));
        assert_eq!(done(tool, "", input.clone(), "done").body[0], warning);
        assert_eq!(finished(tool, "", Some(&input), Outcome::Failed, "refused").body[0], warning);
    }
    assert_eq!(started("git", "", Some(&json!({"args": ["log"]}))).body, []);
}

#[test]
fn a_page_is_told_by_what_the_server_said() {
    let page = json!({"status": 200, "content_type": "text/html", "truncated": true, "body": "x".repeat(7_140)});
    let card = done("fetch_url", "", json!({"url": "https://a.example"}), &page.to_string());
    insta::assert_snapshot!(drawn(&card, 60, Fold::Folded), @r"
    ╭ Fetch(https://a.example)
    │   status: 200
    │   content-type: text/html
    │   truncated: true
    ╰ 7140 bytes
    ");
    let served = "status=200\ncontent_type=text/html\ntruncated=false\nurl=https://b.example\n## content\nStatus: x\n";
    let card = done("fetch_url", "", json!({"url": "https://a.example"}), served);
    insta::assert_snapshot!(drawn(&card, 60, Fold::Folded), @r"
    ╭ Fetch(https://a.example)
    │   status: 200
    │   content-type: text/html
    ╰ 10 bytes
    ");
    let cut = served.replace("truncated=false", "truncated=true");
    let card = done("fetch_url", "", json!({"url": "u"}), &cut);
    assert_eq!(card.body.last().unwrap().text(), "truncated: true");
    let words = done("fetch", "", json!({"url": "u"}), "Status: x\nContent-Type: y");
    assert_eq!(drawn(&words, 60, Fold::Open), "╭ Fetch(u)\n╰ 25 bytes");
    let plain = done("fetch", "", json!({"url": "u"}), "The page says hello.");
    assert_eq!(drawn(&plain, 60, Fold::Open), "╭ Fetch(u)\n╰ 20 bytes");
    let headed =
        done("fetch", "", json!({"url": "u"}), "HTTP/1.1 200 OK\nContent-Type: text/plain\nServer: x\n\nStatus: no");
    assert_eq!(
        headed.body.iter().map(Line::text).collect::<Vec<_>>(),
        ["status: HTTP/1.1 200 OK", "content-type: text/plain"]
    );
}

#[test]
fn the_count_of_hidden_lines_includes_those_that_were_not_stored() {
    let lines = |range: std::ops::Range<u32>| range.map(|n| format!("line {n}\n")).collect::<String>();
    for (output, expected) in [
        (format!("{}[5000 lines, 40000 bytes left out]\n{}", lines(0..12), lines(5012..5015)), "…5005 more line(s)"),
        (format!("{}[40000 bytes left out]\n{}", lines(0..12), lines(5012..5015)), "…5 more line(s)"),
        (lines(0..15), "…5 more line(s)"),
    ] {
        let card = done("execute", "make", json!({"command": "make"}), &output);
        let drawn = drawn(&card, 60, Fold::Folded);
        assert!(drawn.contains(expected), "{drawn}");
    }
}

#[test]
fn what_an_agent_does_not_tell_is_not_counted() {
    // Gemini tells neither what it found nor how a command ended; the kind and a title are all there is.
    for (tool, title, output, expected) in [
        ("search", "'hello' within ./", "", "╭ Grep(\"hello\" in ./)\n╰"),
        ("search", "'**/*.rs'", "", "╭ Glob(**/*.rs)\n╰"),
        ("search", "src", "", "╭ List(src)\n╰"),
        ("search", "src", "Directory is empty.", "╭ List(src)\n╰ Directory is empty."),
        ("search", "src", "Listed 2 item(s).", "╭ List(src)\n╰ Listed 2 item(s)."),
        ("search", "'hello'", "Found 3 matches", "╭ Grep(\"hello\" in .)\n╰ Found 3 matches"),
        ("read", "a.txt", "Read lines 1-10 of 200 from a.txt", "╭ Read(a.txt)\n╰ Read lines 1-10 of 200 from a.txt"),
        ("read", "a.bin", "Skipped binary file: a.bin", "╭ Read(a.bin)\n╰ Skipped binary file: a.bin"),
        ("execute", "make", "", "╭ Bash(make)\n╰"),
        ("execute", "make", "no rule", "╭ Bash(make)\n│   no rule\n╰"),
        ("execute", "make", "Command exited with code: 3", "╭ Bash(make)\n╰ exit 3"),
    ] {
        let card = finished(tool, title, None, Outcome::Done, output);
        assert_eq!(drawn(&card, 60, Fold::Open), expected, "{title} {output}");
    }
}

#[test]
fn files_are_told_by_their_size_and_lists_by_their_number() {
    let cut = format!("{}\n[2000 bytes left out]\nend", "x".repeat(976));
    let counted = format!("{}\n[4 lines, 2000 bytes left out]\nend", "x".repeat(976));
    for (tool, input, output, expected) in [
        ("read", json!({"path": "a"}), "1\thello\n2\tyou", "╭ Read(a)\n╰ 2 lines · 10 bytes"),
        ("read", json!({"path": "a"}), cut.as_str(), "╭ Read(a)\n╰ 2 lines · 2981 bytes (truncated)"),
        ("read", json!({"path": "a"}), counted.as_str(), "╭ Read(a)\n╰ 2 lines · 2981 bytes (truncated)"),
        ("read", json!({"path": "a"}), "", "╭ Read(a)\n╰"),
        (
            "read_file",
            json!({"path": "a", "limit": 2}),
            "     1\thello\n     2\tyou\n…[truncated]",
            "╭ Read(a @ L1+2)\n╰ 2 lines · 10 bytes (truncated)",
        ),
        ("read_file", json!({"path": "a"}), "     1\t[truncated]\n", "╭ Read(a)\n╰ 1 line · 12 bytes"),
        (
            "read_file",
            json!({"path": "p.png"}),
            "[image: p.png, image/png, 70 bytes]",
            "╭ Read(p.png)\n╰ image: p.png, image/png, 70 bytes",
        ),
        (
            "read_many_files",
            json!({"paths": ["a", "b", "c"]}),
            "==> a <==\nhello\n\n==> b <==\nyou\n[truncated]\n\n==> c <==\n[error: `c` does not exist]\n",
            "╭ Read(3 files)\n╰ 2 lines · 10 bytes (truncated)",
        ),
        (
            "glob",
            json!({"pattern": "*"}),
            "a\nb\nthe first 2 of 315 paths …[truncated]",
            "╭ Glob(*)\n│   a\n│   b\n╰ 2 matches (truncated)",
        ),
        (
            "grep",
            json!({"pattern": "p"}),
            "a:1:p …[truncated]",
            "╭ Grep(\"p\" in .)\n│   a:1:p …[truncated]\n╰ 1 match",
        ),
        ("write_file", json!({"path": "a", "content": "hi\n"}), "ok", "╭ Write(a)\n╰ wrote 3 bytes"),
        ("edit", json!({"path": "write.txt"}), "write.txt:1\n+hi", "╭ Edit(write.txt)\n│   1  + hi\n╰ +1 −0"),
        ("list_dir", json!({}), "a\nb\n", "╭ List(.)\n│   a\n│   b\n╰ 2 entries"),
        ("grep", json!({"pattern": "p"}), "Found 1 file\na.txt", "╭ Grep(\"p\" in .)\n│   a.txt\n╰ 1 match"),
        ("grep", json!({"pattern": "p"}), "No matches found", "╭ Grep(\"p\" in .)\n╰ No matches found"),
        ("mkdir", json!({"path": "d"}), "created `d`\n", "╭ Mkdir(d)\n╰ created `d`"),
        ("delegate", json!({}), "result", "╭ Delegate(…)\n│   result\n╰"),
    ] {
        assert_eq!(drawn(&done(tool, "", input, output), 60, Fold::Folded), expected);
    }
    let whole = finished("edit", "write a", Some(&json!({"path": "a"})), Outcome::Done, "a:1\n+hi\n+you");
    assert_eq!(drawn(&whole, 60, Fold::Folded), "╭ Write(a)\n╰ wrote 7 bytes");
}

proptest! {
    #[test]
    fn nothing_that_a_tool_says_drives_the_terminal(
        tool in "(execute|read|edit|search|fetch|other|git|[a-z]{0,4})",
        title in any::<String>(),
        value in any::<String>(),
        output in any::<String>(),
        ok in any::<bool>(),
        width in 0u16..40,
    ) {
        let input = json!({"command": value, "path": value, "pattern": value, "old_string": value, "url": value});
        for input in [Some(&input), None] {
            let card = finished(&tool, &title, input, Outcome::from(ok), &output);
            for row in rows(&card, width, Fold::Open).iter().chain(&rows(&card, width, Fold::Folded)) {
                let is_obeyed = row.text().contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
                prop_assert!(!is_obeyed, "{:?}", row);
            }
        }
    }
}

#[test]
fn a_call_that_went_ahead_by_itself_says_so_at_its_foot() {
    let auto = |layer: &str, rule: Option<&str>| AutoApproval {
        layer: layer.into(),
        rule: rule.map(str::to_owned),
        posture: "unattended".into(),
    };
    let command = |command: &str| json!({ "command": command });
    let ran = done("execute", "cargo test", command("cargo test"), "ok");
    let rule = Some("Bash(cargo:*) in .coppice/permissions.json");
    let edit = done("write", "", json!({"path": "a.rs"}), "");
    let long = started("execute", "", Some(&command(&"cargo build && ".repeat(9))));
    let rows = [
        drawn(&ran.clone().passed(Some(&auto("posture", None))), 100, Fold::Folded),
        drawn(&ran.clone().passed(Some(&auto("rules", rule))), 100, Fold::Folded),
        drawn(&edit.passed(Some(&auto("yolo", None))), 100, Fold::Folded),
        drawn(&long.passed(Some(&auto("plan file", None))), 100, Fold::Folded),
    ];
    insta::assert_snapshot!(rows.join("\n"), @"
    ╭ Bash(cargo test)
    │   ok
    ╰ exit 0 · ✓ auto · unattended
    ╭ Bash(cargo test)
    │   ok
    ╰ exit 0 · ✓ auto · Bash(cargo:*) in .coppice/permissions.json
    ╭ Write(a.rs)
    ╰ ✓ auto · yolo
    ╭ Bash(cargo build && cargo build && cargo build && cargo build && cargo build && cargo build && c…)
    ╰ running · ✓ auto · plan file
    ");
    assert_eq!(ran.clone().passed(None), ran);
}

#[test]
fn a_delegation_shows_its_task_and_what_came_of_it() {
    let task = "Find where the limiter is made.\n\nLook at src/gateway first.\nName files and lines.\nChange nothing.";
    let wanted = json!({ "agent_id": "explore", "task": task, "context_summary": "c" });
    let record = |status: &str, more: Value| {
        let mut record = json!({
            "handoff_id": "h_1", "child_agent_id": "explore", "status": status, "depth": 1, "backend": "demo",
            "diffstat": { "files": 2, "insertions": 3, "deletions": 1 }, "usage": { "input_tokens": 7 },
        });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record.to_string()
    };
    let tagged = "<task_result agent=\"explore\" session=\"abcd2345\">\nIt is in limit.rs.\n</task_result>";
    let waited = json!({ "status": { "abcd2345": { "completed": "It is in limit.rs." }, "efgh3456": "shutdown" },
        "timed_out": false });
    let rows = [
        done("delegate", "", wanted.clone(), &record("completed", json!({ "assistant_text": "It is in limit.rs." }))),
        done("delegate", "", wanted.clone(), &record("failed", json!({ "error": "no more today" }))),
        done("task", "", json!({ "description": "find it", "subagent_type": "explore" }), tagged),
        done("spawn_agent", "", json!({ "agent_type": "worker", "message": "find it" }), "{\"agent_id\":\"abcd2345\"}"),
        done("wait", "", json!({ "ids": ["abcd2345", "efgh3456"] }), &waited.to_string()),
        started("delegate", "", Some(&wanted)),
    ];
    let rows: Vec<_> = rows.iter().map(|card| drawn(card, 100, Fold::Folded)).collect();
    insta::assert_snapshot!(rows.join("\n"), @"
    ╭ Delegate(explore: Find where the limiter is made.)
    │   Find where the limiter is made.
    │   
    │   Look at src/gateway first.
    │   Name files and lines.
    │   …1 more line of the task
    │   
    │   It is in limit.rs.
    ╰ completed · +3 −1 in 2 files
    ╭ Delegate(explore: Find where the limiter is made.)
    │   Find where the limiter is made.
    │   
    │   Look at src/gateway first.
    │   Name files and lines.
    │   …1 more line of the task
    │   
    │   no more today
    ╰ ✗ failed · +3 −1 in 2 files
    ╭ Delegate(explore: find it)
    │   It is in limit.rs.
    ╰
    ╭ Delegate(worker: find it)
    ╰ `abcd2345` works
    ╭ Wait(abcd2345, efgh3456)
    │   abcd2345 completed
    │   It is in limit.rs.
    │   efgh3456 shutdown
    ╰ 2 agents done
    ╭ Delegate(explore: Find where the limiter is made.)
    │   Find where the limiter is made.
    │   
    │   Look at src/gateway first.
    │   Name files and lines.
    │   …1 more line of the task
    ╰ running
    ");
}
