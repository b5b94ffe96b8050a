//! Tools that are served to the agent, and its own that were taken away.

use std::fs;

use serde_json::{Value, json};

use super::{Stage, Talk};
use crate::backend::demo::{Options, Reach};
use crate::backend::event::{Command, Event, ToolStatus};
use crate::backend::{Access, Launch, Native, NativeTool, ServedTool};
use crate::permission::Effect;

/// A conversation with two served tools.
async fn served(stage: &Stage) -> Talk {
    let tool = |name: &str| ServedTool {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        effect: Effect::Adds,
    };
    let tools = vec![tool("wait"), tool("delegate")];
    stage.launch(Options::default(), |launch| Launch { tools, ..launch }).await
}

impl Talk {
    async fn requested(&mut self) -> (String, String, Value) {
        match self.until(|event| matches!(event, Event::ToolRequested(_))).await.pop() {
            Some(Event::ToolRequested(asked)) => (asked.request, asked.tool, asked.arguments),
            other => panic!("{other:?}"),
        }
    }

    async fn result(&self, request: String, outcome: Result<&str, &str>) {
        let outcome = outcome.map(|text| text.to_owned().into()).map_err(str::to_owned);
        self.command(Command::ToolResult { request, outcome }).await;
    }
}

#[tokio::test]
async fn served_tools_are_called_through_the_door() {
    let stage = Stage::new();
    let mut talk = served(&stage).await;
    talk.prompt("@tools\n@call delegate {\"task\": \"t\"}\n@call wait\n@call nobody").await;
    for (tool, arguments, outcome) in [
        ("delegate", json!({"task": "t"}), Ok("done\nwell")),
        ("wait", json!({}), Err("too soon")),
        ("nobody", json!({}), Err("no such tool")),
    ] {
        let (request, called, given) = talk.requested().await;
        assert_eq!((called.as_str(), given), (tool, arguments));
        talk.result(request, outcome).await;
    }
    let turn = talk.end().await;
    let answer = turn.answer();
    let lines: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["tools: delegate, wait", "done", "well", "error: too soon", "error: no such tool"]);
    assert_eq!(turn.outputs().last(), Some(&(ToolStatus::Failed, "error: no such tool")));
}

#[tokio::test]
async fn calls_side_by_side_are_open_together_and_keep_their_order() {
    let stage = Stage::new();
    let mut talk = served(&stage).await;
    talk.prompt("@call& delegate {\"task\": 1}\n@call& delegate {\"task\": 2}").await;
    let mut asked = [talk.requested().await, talk.requested().await];
    asked.sort_by_key(|(_, _, given)| given["task"].as_u64());
    let [(one, ..), (two, ..)] = asked;
    talk.result(two, Ok("second")).await;
    talk.result(one, Ok("first")).await;
    let answer = talk.end().await.answer();
    assert_eq!(answer.split_whitespace().collect::<Vec<_>>(), ["first", "second"]);
}

#[tokio::test]
async fn an_interrupt_withdraws_the_open_call() {
    let stage = Stage::new();
    let mut talk = served(&stage).await;
    talk.prompt("@call delegate").await;
    let (request, ..) = talk.requested().await;
    talk.command(Command::Interrupt).await;
    let turn = talk.end().await;
    assert!(turn.events.contains(&Event::ToolRequestGone { request }));
    assert_eq!(turn.failure().0, "cancelled");
    assert_eq!(talk.turn("@answer on").await.answer(), "on");
}

#[tokio::test]
async fn a_server_that_cannot_start_is_an_error_of_the_call() {
    let stage = Stage::new();
    let options = Options { reach: Reach::Stdio, ..Options::default() };
    let (name, input_schema) = ("x".to_owned(), json!({}));
    let tools = vec![ServedTool { name, description: String::new(), input_schema, effect: Effect::Adds }];
    let bridge = vec!["/nonexistent/bridge".to_owned()];
    let mut talk = stage.launch(options, |launch| Launch { tools, bridge, ..launch }).await;
    let answer = talk.turn("@call x").await.answer();
    assert!(answer.starts_with("error: `/nonexistent/bridge`: "), "{answer}");
    assert_eq!(stage.play("@call x\n@tools").await.answer().lines().next(), Some("error: no tools are served"));
}

#[tokio::test]
async fn an_ability_that_was_taken_away_is_gone() {
    let stage = Stage::new();
    fs::write(stage.tree.path().join("a.txt"), "text\n").unwrap();
    let native = Native { tools: Some([NativeTool::Read, NativeTool::Write].into()), access: Access::ReadOnly };
    let mut talk = stage.launch(Options::default(), |launch| Launch { native, ..launch }).await;
    let turn = talk.turn("@native\n@write b.txt no\n@run touch c.txt\n@read a.txt").await;
    assert_eq!(turn.answer().split_whitespace().collect::<Vec<_>>().join(" "), "native: read, write; read-only text");
    assert_eq!(
        turn.outputs(),
        [
            (ToolStatus::Failed, "the work tree is read-only"),
            (ToolStatus::Failed, "there is no tool `bash`"),
            (ToolStatus::Completed, "text\n"),
        ]
    );
    assert_eq!((stage.read("b.txt"), stage.read("c.txt")), (None, None));
    assert_eq!(stage.play("@native").await.answer(), "native: all");
}
