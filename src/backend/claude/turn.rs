//! One turn as it goes on: what is being written, which calls run, who waits for an answer.

use std::path::Path;

use serde_json::Value;

use crate::backend::claude::fault::{self, Signs};
use crate::backend::claude::mcp::Call;
use crate::backend::claude::permission::Pending;
use crate::backend::claude::plan::{self, Plan};
use crate::backend::claude::stream::Stream;
use crate::backend::claude::tool;
use crate::backend::event::{Event, Stop, ToolCall, ToolRequest, ToolStatus};
use crate::backend::remedy::LoginRemedy;

/// The name of the model of messages that no model wrote.
const SYNTHETIC: &str = "<synthetic>";

/// The result of a turn whose response broke the schema.
const BROKEN_RESPONSE: &str = "error_max_structured_output_retries";

/// The state of the running turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) stream: Stream,
    pub(crate) signs: Signs,
    /// The last response that the model gave, valid or not.
    response: Option<String>,
    /// Calls that were announced and are not over.
    calls: Vec<String>,
    /// Calls that keep the plan and are not over.
    notes: Vec<String>,
    approvals: Vec<Pending>,
    served: Vec<(String, Call)>,
}

impl Turn {
    /// One whole block of a message arrives.
    pub(crate) fn assistant(&mut self, line: &Value, cwd: &Path) -> Vec<Event> {
        if is_inner(line) {
            return Vec::new();
        }
        let message = &line["message"];
        if let Some(error) = line["error"].as_str() {
            self.signs.error = Some(error.to_owned());
        }
        if message["model"] == SYNTHETIC {
            return Vec::new();
        }
        let text = if self.stream.has_shown(message) { Text::Seen } else { Text::Unseen };
        let blocks = message["content"].as_array().into_iter().flatten();
        blocks.filter_map(|block| self.block(block, text, cwd)).collect()
    }

    fn block(&mut self, block: &Value, text: Text, cwd: &Path) -> Option<Event> {
        let words = |member: &str| block[member].as_str().filter(|_| text == Text::Unseen).map(str::to_owned);
        match block["type"].as_str()? {
            "text" => words("text").map(|delta| Event::Text { delta }),
            "thinking" => words("thinking").map(|delta| Event::Thought { delta }),
            "tool_use" if block["name"] == tool::RESPONSE => {
                let delta = block["input"].to_string();
                self.response = Some(delta.clone());
                (text == Text::Unseen).then_some(Event::Text { delta })
            }
            "tool_use" => self.call(block, cwd),
            _ => None,
        }
    }

    fn call(&mut self, block: &Value, cwd: &Path) -> Option<Event> {
        let call = block["id"].as_str()?.to_owned();
        let name = block["name"].as_str().unwrap_or_default();
        if plan::keeps(name) {
            self.notes.push(call);
            return None;
        }
        if self.calls.contains(&call) {
            return None;
        }
        self.calls.push(call.clone());
        let input = block["input"].clone();
        let title = tool::title(name, &input, cwd);
        Some(Event::ToolStarted(ToolCall { call, title, kind: tool::kind(name), input: Some(input) }))
    }

    /// The results of calls arrive, in the order in which they ended. What else the agent says in the user's name is its
    /// own business.
    pub(crate) fn user(&mut self, line: &Value, plan: &mut Plan) -> Vec<Event> {
        if is_inner(line) {
            return Vec::new();
        }
        let results = line["message"]["content"].as_array().into_iter().flatten();
        let results = results.filter(|block| block["type"] == "tool_result");
        results.flat_map(|block| self.result(block, &line["tool_use_result"], plan)).collect()
    }

    fn result(&mut self, block: &Value, rich: &Value, plan: &mut Plan) -> Vec<Event> {
        let Some(call) = block["tool_use_id"].as_str() else { return Vec::new() };
        if take(&mut self.notes, call) {
            return plan.apply(rich).into_iter().collect();
        }
        if !take(&mut self.calls, call) {
            return Vec::new();
        }
        let status = if block["is_error"] == true { ToolStatus::Failed } else { ToolStatus::Completed };
        let output = tool::output(block, rich);
        let mut events = vec![Event::ToolFinished { call: call.to_owned(), status, output }];
        let asked = self.approvals.extract_if(.., |pending| pending.approval.call == call);
        events.extend(asked.map(|pending| Event::ApprovalGone { request: pending.approval.request }));
        events
    }

    /// The agent asks about a call.
    pub(crate) fn ask(&mut self, pending: Pending) -> Event {
        let event = Event::Approval(pending.approval.clone());
        self.approvals.push(pending);
        event
    }

    /// Takes an open question out, to answer it.
    pub(crate) fn take_approval(&mut self, request: &str) -> Option<Pending> {
        let place = self.approvals.iter().position(|pending| pending.approval.request == request)?;
        Some(self.approvals.remove(place))
    }

    /// The model calls a served tool.
    pub(crate) fn serve(&mut self, request: String, call: Call) -> Event {
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        self.served.push((request.clone(), call));
        Event::ToolRequested(ToolRequest { request, tool, arguments })
    }

    /// Takes an open call of a served tool out, to answer it.
    pub(crate) fn take_served(&mut self, request: &str) -> Option<Call> {
        let place = self.served.iter().position(|(known, _)| known == request)?;
        Some(self.served.remove(place).1)
    }

    /// The agent does not wait any more for what it asked under this id.
    pub(crate) fn withdraw(&mut self, request: &str) -> Option<Event> {
        let request = request.to_owned();
        if self.take_approval(&request).is_some() {
            return Some(Event::ApprovalGone { request });
        }
        self.take_served(&request).map(|_| Event::ToolRequestGone { request })
    }

    /// The same for a call of a served tool, by the id it has among those.
    pub(crate) fn withdraw_call(&mut self, id: &Value) -> Option<Event> {
        let request = self.served.iter().find(|(_, call)| call.id == *id)?.0.clone();
        self.withdraw(&request)
    }

    /// Nobody is to answer any more.
    pub(crate) fn forget_questions(&mut self) -> Vec<Event> {
        let approvals = self.approvals.drain(..).map(|pending| pending.approval.request);
        let mut events: Vec<Event> = approvals.map(|request| Event::ApprovalGone { request }).collect();
        events.extend(self.served.drain(..).map(|(request, _)| Event::ToolRequestGone { request }));
        events
    }

    /// Closes what the turn leaves open; nothing may dangle on a screen.
    pub(crate) fn abandon(&mut self) -> Vec<Event> {
        let mut events = self.forget_questions();
        let unfinished = |call| Event::ToolFinished { call, status: ToolStatus::Unfinished, output: String::new() };
        events.extend(self.calls.drain(..).map(unfinished));
        events
    }

    /// The turn is over: everything left open is closed, then it ends one way or the other.
    pub(crate) fn finish(mut self, result: &Value, login: &LoginRemedy) -> Vec<Event> {
        let mut events = self.abandon();
        let final_text = |text, stop| Event::Final { text, stop };
        let output = &result["structured_output"];
        events.push(if result["subtype"] == BROKEN_RESPONSE {
            // The response as it is: whoever parses it says what is wrong and asks for a better one.
            let text = self.response.unwrap_or_else(|| fault::describe(result));
            final_text(text, Stop::Other(BROKEN_RESPONSE.to_owned()))
        } else if result["is_error"] != false {
            Event::Failed(fault::classify(result, &self.signs, login))
        } else if output.is_null() {
            // The model answered in plain words although it was told twice.
            final_text(result["result"].as_str().unwrap_or_default().to_owned(), stop(result))
        } else {
            final_text(output.to_string(), stop(result))
        });
        events
    }
}

/// Whether the words of a block are on the screen already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Seen,
    Unseen,
}

/// Whether a line belongs to an agent inside the agent, whose call stands for all it does.
pub(crate) fn is_inner(line: &Value) -> bool {
    line["parent_tool_use_id"].is_string()
}

fn take(calls: &mut Vec<String>, call: &str) -> bool {
    let place = calls.iter().position(|known| known == call);
    place.map(|place| calls.remove(place)).is_some()
}

fn stop(result: &Value) -> Stop {
    match result["stop_reason"].as_str() {
        // A response ends the turn by a call.
        Some("end_turn" | "tool_use" | "stop_sequence") | None => Stop::EndTurn,
        Some("max_tokens") => Stop::MaxTokens,
        Some("refusal") => Stop::Refusal,
        Some(other) => Stop::Other(other.to_owned()),
    }
}
