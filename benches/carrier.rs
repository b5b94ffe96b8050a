//! An agent's program that calls a served tool as often as it is told, and measures each call where the model would wait.
//!
//! It is this same program under the name of the agent: as much of Claude's pipe, of Codex's protocol and of an ACP agent
//! as a call needs.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;

/// The line of a prompt that asks for calls: this word, how many, the tool and its arguments.
pub(crate) const WORD: &str = "carry ";

/// Whose protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    /// Any ACP agent that knows servers of tools by HTTP.
    Http,
    /// One that starts them as programs.
    Bridged,
}

impl Agent {
    pub(crate) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Http, Self::Bridged];

    /// The agent that a program of this name is to be.
    pub(crate) fn of(program: &str) -> Option<Self> {
        let name = Path::new(program).file_name()?.to_str()?;
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Http => "http-agent",
            Self::Bridged => "bridged-agent",
        }
    }

    /// The configuration that makes it known.
    pub(crate) fn table(self) -> String {
        let name = self.name();
        match self {
            Self::Claude | Self::Codex => String::new(),
            Self::Http | Self::Bridged => {
                format!("[backends.{name}]\ntransport = \"acp\"\ncommand = [\"{name}\"]\n")
            }
        }
    }

    /// What brings a served tool to it.
    pub(crate) fn carrier(self) -> &'static str {
        match self {
            Self::Claude => "through Claude's pipe",
            Self::Codex => "as a tool of Codex's protocol",
            Self::Http => "through the door",
            Self::Bridged => "through the door and a bridge",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Claude => "2.1.197 (Claude Code)",
            Self::Codex => "codex-cli 0.166.0",
            Self::Http | Self::Bridged => "1",
        }
    }
}

/// Puts the programs of all into a directory.
pub(crate) fn install(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    let program = std::env::current_exe().unwrap();
    for agent in Agent::ALL {
        fs::hard_link(&program, directory.join(agent.name())).unwrap();
    }
}

/// What the calls of a turn took, from its answer.
pub(crate) fn read(answer: &str) -> Vec<Duration> {
    answer.split_ascii_whitespace().map(|word| Duration::from_micros(word.parse().expect(answer))).collect()
}

/// Serves one client on stdin and stdout.
pub(crate) fn serve(agent: Agent) {
    if std::env::args().any(|argument| argument == "--version") {
        return print!("{}", agent.version());
    }
    let mut pipe = Pipe { agent, input: io::stdin().lock(), output: io::stdout().lock(), server: None };
    while let Some(message) = pipe.next() {
        match agent {
            Agent::Claude => pipe.claude(&message),
            Agent::Codex => pipe.codex(&message),
            Agent::Http | Agent::Bridged => pipe.acp(&message),
        }
    }
}

struct Pipe {
    agent: Agent,
    input: io::StdinLock<'static>,
    output: io::StdoutLock<'static>,
    /// Where an ACP agent finds the tools.
    server: Option<Server>,
}

impl Pipe {
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.input.read_line(&mut line).unwrap() > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    fn send(&mut self, message: &Value) {
        // In one piece, as an agent writes it.
        self.output.write_all(format!("{message}\n").as_bytes()).unwrap();
        self.output.flush().unwrap();
    }

    fn claude(&mut self, message: &Value) {
        match message["type"].as_str().unwrap() {
            "control_request" => {
                let account = json!({"account": {"apiKeySource": "ANTHROPIC_API_KEY"}, "models": []});
                let response = json!({"subtype": "success", "request_id": message["request_id"], "response": account});
                self.send(&json!({"type": "control_response", "response": response}));
            }
            "user" => {
                let server = json!({"name": "coppice", "status": "connected"});
                self.send(&json!({
                    "type": "system", "subtype": "init", "tools": ["StructuredOutput"], "mcp_servers": [server],
                }));
                let answer = self.answer(&message["message"]["content"]);
                self.send(&json!({
                    "type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn",
                    "structured_output": {"answer": answer},
                }));
            }
            _ => {}
        }
    }

    fn codex(&mut self, message: &Value) {
        let params = &message["params"];
        let turn = json!({"id": "turn", "status": "completed"});
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"userAgent": "coppice/0.166.0 (x)"}),
            "command/exec" => json!({"exitCode": 0, "stdout": "", "stderr": ""}),
            "thread/start" => json!({
                "thread": {"id": "thread"}, "cwd": params["cwd"], "approvalPolicy": params["approvalPolicy"],
                "activePermissionProfile": {"id": params["permissions"]}, "sandbox": {"type": "readOnly"},
            }),
            "turn/start" => json!({"turn": turn}),
            _ => json!({}),
        };
        if !message["id"].is_null() {
            self.send(&json!({"id": message["id"], "result": result}));
        }
        if message["method"] == "turn/start" {
            let answer = json!({"answer": self.answer(&params["input"]), "questions": [], "summary": null});
            let items = json!([{"type": "agentMessage", "text": answer.to_string()}]);
            let turn = json!({"id": "turn", "status": "completed", "items": items});
            self.send(&json!({"method": "turn/completed", "params": {"threadId": "thread", "turn": turn}}));
        }
    }

    fn acp(&mut self, message: &Value) {
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let knows = json!({"http": self.agent == Agent::Http});
                json!({"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": knows}, "authMethods": []})
            }
            "session/new" => {
                self.server = params["mcpServers"].get(0).map(Server::connect);
                json!({"sessionId": "session"})
            }
            "session/prompt" => {
                let answer = json!({"answer": self.answer(&params["prompt"]), "questions": [], "summary": null});
                let content = json!({"type": "text", "text": answer.to_string()});
                let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
                let params = json!({"sessionId": "session", "update": update});
                self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
                json!({"stopReason": "end_turn"})
            }
            _ => json!({}),
        };
        if !message["id"].is_null() {
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
        }
    }

    /// Makes the calls that a prompt asks for; tells what each took, in microseconds.
    fn answer(&mut self, prompt: &Value) -> String {
        let texts = prompt.as_array().unwrap().iter().filter_map(|block| block["text"].as_str());
        let asked = texts.flat_map(str::lines).find_map(|line| line.strip_prefix(WORD));
        let Some(mut words) = asked.map(|line| line.splitn(3, ' ')) else { return "ready".to_owned() };
        let mut word = || words.next().unwrap();
        let (count, tool, arguments) = (word().parse::<u32>().unwrap(), word(), word());
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let took = (0..count).map(|number| self.call(number, tool, &arguments).as_micros().to_string());
        took.collect::<Vec<_>>().join(" ")
    }

    /// One call, from its last byte to the last byte of its answer.
    fn call(&mut self, number: u32, tool: &str, arguments: &Value) -> Duration {
        let id = json!(format!("call-{number}"));
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params});
        let request = match self.agent {
            Agent::Http | Agent::Bridged => {
                let began = Instant::now();
                let reply = self.server.as_mut().expect("tools are served").ask(&message);
                assert_eq!(reply["result"]["isError"], false, "{reply}");
                return began.elapsed();
            }
            Agent::Claude => {
                let request = json!({"subtype": "mcp_message", "server_name": "coppice", "message": message});
                json!({"type": "control_request", "request_id": id, "request": request})
            }
            Agent::Codex => {
                let params = json!({
                    "threadId": "thread", "turnId": "turn", "callId": id, "tool": tool, "arguments": arguments,
                });
                json!({"id": id, "method": "item/tool/call", "params": params})
            }
        };
        let began = Instant::now();
        self.send(&request);
        loop {
            let reply = self.next().expect("a reply comes");
            let (whose, failed) = match self.agent {
                Agent::Claude => {
                    let response = &reply["response"];
                    (&response["request_id"], response["response"]["mcp_response"]["result"]["isError"] != false)
                }
                Agent::Codex => (&reply["id"], reply["result"]["success"] != true),
                Agent::Http | Agent::Bridged => unreachable!("their calls go to a server"),
            };
            if *whose == id {
                assert!(!failed, "{reply}");
                return began.elapsed();
            }
        }
    }
}
