//! Recorded turns that ask for something on the way: a person, or a tool of ours.

use super::{fixture, replay, wishes};

#[test]
fn an_escalated_command_is_asked_about() {
    insta::assert_snapshot!(replay(fixture!("command-accept"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    text "I need to wr"
    text "ite outside."
    tool started "touch {HOME}/outside.txt && echo ok" Execute
    approval 0 "touch {HOME}/outside.txt && echo ok" "touch {HOME}/outside.txt && echo ok\n(Write a marker outside the workspace)" Elsewhere
    tool finished Completed "ok\n"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
    insta::assert_snapshot!(replay(fixture!("command-decline"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    text "I need to wr"
    text "ite outside."
    tool started "touch {HOME}/outside.txt && echo ok" Execute
    approval 0 "touch {HOME}/outside.txt && echo ok" "touch {HOME}/outside.txt && echo ok\n(Write a marker outside the workspace)" Elsewhere
    tool finished Failed "declined"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn an_interrupt_cancels_what_is_asked() {
    insta::assert_snapshot!(replay(fixture!("command-cancel"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    text "I need to wr"
    text "ite outside."
    tool started "touch {HOME}/outside.txt && echo ok" Execute
    approval 0 "touch {HOME}/outside.txt && echo ok" "touch {HOME}/outside.txt && echo ok\n(Write a marker outside the workspace)" Elsewhere
    approval gone 0
    tool finished Failed "declined"
    usage Some(100) Some(20)
    failed cancelled "the turn was interrupted"
    "#);
}

#[test]
fn a_patch_is_shown_as_its_diff() {
    insta::assert_snapshot!(replay(fixture!("file-change"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    tool started "edit README.md, src/new.txt" Edit
    tool finished Completed "/tree/README.md\n@@ -2,2 +2,2 @@\n \n-hello\n+hello world\n/tree/src/new.txt\n+new"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
    insta::assert_snapshot!(replay(fixture!("file-change-accept"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    tool started "edit README.md, src/new.txt" Edit
    approval 0 "edit README.md, src/new.txt" "/tree/README.md\n@@ -2,2 +2,2 @@\n \n-hello\n+hello world\n/tree/src/new.txt\n+new" Paths(["/tree/README.md", "/tree/src/new.txt"])
    tool finished Completed "/tree/README.md\n@@ -2,2 +2,2 @@\n \n-hello\n+hello world\n/tree/src/new.txt\n+new"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn an_mcp_tool_is_approved_for_one_call() {
    insta::assert_snapshot!(replay(fixture!("mcp-approval"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    tool started "orch.write_thing" Other
    approval 0 "Allow the orch MCP server to run tool \"write_thing\"?" "{\"text\":\"hi\"}" Mcp { server: "orch", tool: "write_thing", effect: Destroys }
    tool finished Completed "write_thing: hi"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn a_served_tool_is_called_and_answered() {
    insta::assert_snapshot!(replay(fixture!("dynamic-tool"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    tool started "orch_report" Other
    tool requested 0 orch_report {"text":"half"}
    tool finished Completed "noted"
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn a_question_in_the_middle_of_a_turn_waits_for_nobody() {
    insta::assert_snapshot!(replay(fixture!("user-input"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}

#[test]
fn more_permissions_are_asked_about() {
    insta::assert_snapshot!(replay(fixture!("permissions"), vec![wishes()]), @r#"
    started 0.166.0 Some("gpt-5.5") restored=false models=
    approval 0 "more permissions for this turn" "{\"network\":{\"enabled\":true},\"fileSystem\":null}\n(need network)" Elsewhere
    usage Some(100) Some(20)
    text "All d"
    text "one."
    usage Some(100) Some(20)
    final "All done." EndTurn
    "#);
}
