//! `coppice mcp` as another program sees it: lines in, lines out.

use std::io::Write;
use std::process::ChildStdin;

use serde_json::{Value, json};

use crate::env::{Running, TestEnv};
use crate::script::{ask, ask_to_run, delegate, hang, say, steps, write};
use crate::workflow::plan;

/// A client of the server.
struct Client {
    server: Running,
    input: Option<ChildStdin>,
    sent: u64,
}

impl Client {
    /// A client that has said hello.
    fn new(env: &TestEnv) -> Self {
        let mut client = Self::silent(env, &["mcp"]);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let reply = client.ask("initialize", hello);
        assert_eq!(reply["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(reply["result"]["serverInfo"]["name"], "coppice");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn silent(env: &TestEnv, arguments: &[&str]) -> Self {
        let (server, input) = env.converse(arguments);
        Self { server, input: Some(input), sent: 0 }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request; its id.
    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params}));
        self.sent
    }

    fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    #[track_caller]
    fn reply(&mut self, id: u64) -> Value {
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        self.server.line_where(|line| read(line)["id"] == id);
        read(self.server.last())
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.reply(id)
    }

    /// The text and the object of a call that went well.
    #[track_caller]
    fn done(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let id = self.call(tool, arguments);
        let result = self.reply(id)["result"].clone();
        assert_eq!(result["isError"], false, "{result:#}");
        (text(&result), result["structuredContent"].clone())
    }

    /// The text of a call that was refused.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.call(tool, arguments);
        let result = self.reply(id)["result"].clone();
        assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None), "{result:#}");
        text(&result)
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Ends the input; the server goes, and has said nothing beside its messages.
    #[track_caller]
    fn leave(mut self) {
        drop(self.input.take());
        assert_eq!(self.server.end(), (Some(0), String::new()));
    }
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn an_outside_client_gets_text_and_the_object() {
    let env = TestEnv::new();
    let mut client = Client::new(&env);
    assert_eq!(client.tools(), ["new", "list", "show", "wait", "send", "answer", "diff"]);

    let prompt = steps(&[write("a.txt", "one"), say("There it is.")]);
    let (_, session) = client.done("new", json!({"prompt": prompt, "model": "demo", "title": "A file"}));
    let id = session["id"].as_str().unwrap().to_owned();
    let (rested, waited) = client.done("wait", json!({"ids": [id], "timeout": "30s"}));
    assert_eq!((&waited["items"][0]["status"], &waited["timed_out"]), (&json!("ready"), &json!(false)), "{rested}");

    let (shown, session) = client.done("show", json!({"id": id}));
    assert!(shown.contains("There it is."), "{shown}");
    assert_eq!(session, env.session(&id));
    let (listed, page) = client.done("list", json!({}));
    assert!(listed.contains(&id) && listed.contains("A file"), "{listed}");
    assert_eq!(page["items"], json!([session]));
    let (patch, diff) = client.done("diff", json!({"id": id}));
    assert!(patch.contains("+one"), "{patch}");
    assert_eq!((&diff["patch"], &diff["files"][0]["path"]), (&json!(patch), &json!("a.txt")));

    client.done("send", json!({"id": id, "prompt": write("b.txt", "two")}));
    client.done("wait", json!({"ids": [id], "any": true}));
    let (patch, _) = client.done("diff", json!({"id": id, "turn": 2}));
    assert!(patch.contains("+two") && !patch.contains("+one"), "{patch}");
    client.leave();
}

#[test]
fn a_long_wait_holds_up_nothing_and_is_taken_back() {
    let env = TestEnv::new();
    let mut client = Client::new(&env);
    let (_, session) = client.done("new", json!({"prompt": hang(), "model": "demo"}));
    let waits = client.call("wait", json!({"ids": [session["id"]]}));
    let (_, page) = client.done("list", json!({"limit": 1}));
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let (told, waited) = client.done("wait", json!({"ids": [session["id"]], "timeout": "0s"}));
    assert!(told.ends_with("the time is over; the sessions go on"), "{told}");
    assert_eq!(waited["timed_out"], true);
    client.say(&json!({"method": "notifications/cancelled", "params": {"requestId": waits}}));
    env.coppice(&["stop", session["id"].as_str().unwrap()]).succeeds();
    client.done("wait", json!({"ids": [session["id"]]}));
    let answers = |line: &String| serde_json::from_str::<Value>(line).unwrap()["id"] == waits;
    assert!(!client.server.seen().iter().any(answers));
    // A wait that is open does not keep the server.
    let (_, session) = client.done("new", json!({"prompt": hang(), "model": "demo"}));
    client.call("wait", json!({"ids": [session["id"]]}));
    client.leave();
}

#[test]
fn questions_are_answered_by_words_or_by_number() {
    let env = TestEnv::new();
    let mut client = Client::new(&env);
    let (_, session) = client.done("new", json!({"prompt": ask("Which?", &["left", "right"]), "model": "demo"}));
    let id = session["id"].clone();
    let (_, waited) = client.done("wait", json!({"ids": [id]}));
    assert_eq!(waited["items"][0]["status"], "asking");
    assert!(client.refused("answer", json!({"id": id, "answers": ["3"]})).contains("`3` is not one of the 2 options"));
    client.done("answer", json!({"id": id, "answers": ["2"]}));
    let (_, waited) = client.done("wait", json!({"ids": [id]}));
    assert_eq!(waited["items"][0]["status"], "ready");
    client.leave();
}

#[test]
fn what_is_wrong_is_told_with_what_helps() {
    let env = TestEnv::new();
    let mut client = Client::new(&env);
    assert_eq!(client.refused("show", json!({"id": "zzzz"})), env_error(&env, &["show", "zzzz"]));
    assert_eq!(client.refused("fly", json!({})), "there is no tool `fly`");
    let wrong = client.refused("new", json!({"prompt": "x", "modle": "demo"}));
    assert!(wrong.starts_with("the arguments of `new` make no sense\n  caused by: unknown field `modle`"), "{wrong}");
    assert_eq!(client.ask("resources/list", json!({}))["error"]["code"], -32601);
    client.leave();
}

/// What the same act on the command line says, without the word that a person sees before it.
fn env_error(env: &TestEnv, arguments: &[&str]) -> String {
    let output = env.coppice(arguments);
    output.stderr.trim_end().trim_start_matches("error: ").replace("\n\nhint", "\nhint")
}

#[test]
fn decisions_stay_with_the_person() {
    let env = TestEnv::new();
    let mut client = Client::new(&env);
    let (_, session) = client.done("new", json!({"prompt": ask_to_run("true"), "model": "demo"}));
    let id = session["id"].clone();
    client.done("wait", json!({"ids": [id]}));
    // Not listed, and not there for a client that tries.
    for tool in ["approve", "deny"] {
        let refusal = client.refused(tool, json!({"id": id}));
        assert!(refusal.starts_with("`mcp.approve` is not set: a person decides\nhint: "), "{refusal}");
    }
    assert_eq!(env.status(id.as_str().unwrap()), "approval");
    client.leave();
}

#[test]
fn what_happens_with_a_plan_is_a_decision_too() {
    let env = TestEnv::new();
    let mut client = Client::new(&env);
    let prompts = [("planner", plan("Do it", "x")), ("engineer", delegate("planner", &plan("Do it", "x")))];
    let ids = prompts.map(|(agent, prompt)| {
        let (_, session) = client.done("new", json!({"prompt": prompt, "model": "demo", "agent": agent}));
        session["id"].clone()
    });
    for id in &ids {
        let (_, waited) = client.done("wait", json!({"ids": [id]}));
        assert_eq!(waited["items"][0]["questions"][0]["purpose"], "planner_plan_decision", "{waited:#}");
        for answer in ["2", "Stop"] {
            let refusal = client.refused("answer", json!({"id": id, "answers": [answer]}));
            let expected = format!(
                "`mcp.approve` is not set: a person decides\nhint: ask for `coppice answer {}`",
                id.as_str().unwrap()
            );
            assert_eq!(refusal, expected);
        }
    }
    env.configure("[mcp]\napprove = true\n");
    for id in &ids {
        client.done("answer", json!({"id": id, "answers": ["Stop"]}));
        let (_, waited) = client.done("wait", json!({"ids": [id]}));
        assert_eq!(waited["items"][0]["status"], "ready");
    }
    client.leave();
}

#[test]
fn a_client_decides_where_the_configuration_says_so() {
    let env = TestEnv::new();
    env.configure("[mcp]\napprove = true\n");
    let mut client = Client::new(&env);
    assert_eq!(client.tools(), ["new", "list", "show", "wait", "send", "answer", "diff", "approve", "deny"]);
    for (tool, arguments, answer) in [
        ("approve", json!({}), "yes"),
        (
            "deny",
            json!({"message": "not today"}),
            "Not allowed: touch done (Tool \"bash\" rejected by user: not today)\n\nyes",
        ),
    ] {
        let prompt = steps(&[&ask_to_run("touch done"), &say("yes")]);
        let (_, session) = client.done("new", json!({"prompt": prompt, "model": "demo"}));
        let id = session["id"].as_str().unwrap();
        client.done("wait", json!({"ids": [id]}));
        let mut arguments = arguments;
        arguments["id"] = json!(id);
        client.done(tool, arguments.clone());
        client.done("wait", json!({"ids": [id]}));
        assert_eq!(env.last_answer(id), answer);
        let again = client.refused(tool, arguments);
        assert!(again.contains("waits for no approval"), "{again}");
    }
    client.leave();
}

#[test]
fn a_bridge_tells_that_its_door_is_gone() {
    let mut env = TestEnv::new();
    let silent = Client::silent(&env, &["mcp", "--bridge"]);
    let needs = "error: the bridge needs `COPPICE_MCP_URL` and `COPPICE_MCP_TOKEN`\n";
    assert_eq!(silent.server.end(), (Some(2), needs.to_owned()));
    env.set("COPPICE_MCP_URL", "http://127.0.0.1:1/mcp");
    env.set("COPPICE_MCP_TOKEN", "none");
    let mut bridge = Client::silent(&env, &["mcp", "--bridge"]);
    let reply = bridge.ask("tools/list", json!({}));
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("failed to connect to `127.0.0.1:1`: "), "{message}");
    bridge.leave();
}

#[test]
fn the_scripted_agent_starts_the_servers_it_is_told() {
    let env = TestEnv::new();
    let mut agent = Client::silent(&env, &["demo-agent", "--stdio-mcp"]);
    let hello = agent.ask("initialize", json!({"protocolVersion": 1}));
    assert_eq!(hello["result"]["agentCapabilities"]["mcpCapabilities"]["http"], false);
    let server = json!({"name": "coppice", "command": env!("CARGO_BIN_EXE_coppice"), "args": ["mcp"], "env": []});
    let opened = agent.ask("session/new", json!({"cwd": env.repo(), "mcpServers": [server]}));
    let script = "@tools\n@call list {\"all\": true}\n@call show {\"id\": \"zzzz\"}";
    let prompt = json!([{"type": "text", "text": script}]);
    agent.ask("session/prompt", json!({"sessionId": opened["result"]["sessionId"], "prompt": prompt}));
    let chunks = agent.server.seen().iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said: String =
        chunks.filter_map(|line| line["params"]["update"]["content"]["text"].as_str().map(str::to_owned)).collect();
    let response: Value = serde_json::from_str(&said).unwrap();
    let answer = response["answer"].as_str().unwrap();
    assert!(answer.starts_with("tools: answer, diff, list, new, send, show, wait"), "{answer}");
    assert!(answer.contains("no sessions") && answer.contains("error: "), "{answer}");
    agent.leave();
}
