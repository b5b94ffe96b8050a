//! One turn as it goes on: which text is the last message, which calls run, which permissions wait.
//!
//! ACP has no message ids, so a message ends where a tool call or a permission request begins.

use serde_json::{Map, Value};

use crate::backend::acp::permission::Pending;
use crate::backend::acp::update::{ToolUpdate, Update, read_usage};
use crate::backend::event::{ApprovalRequest, Event, Stop, ToolCall, ToolKind, ToolStatus};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::output;
use crate::protocol;

/// A response is text for people; beyond this it is a mistake, and memory is not.
const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;

/// The members of an update that say what a call would do.
const DESCRIBING: &[&str] = &["title", "kind", "rawInput", "locations", "content"];

/// The state of the running turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// The message that is being written.
    message: String,
    /// The last complete message that was not blank.
    previous: String,
    is_oversized: bool,
    calls: Vec<Call>,
    pending: Vec<Pending>,
    /// What the agent has said about calls that are not finished, by their ids.
    described: Vec<(String, Map<String, Value>)>,
    /// Calls that were refused, and why.
    refused: Vec<(String, String)>,
}

#[derive(Debug)]
struct Call {
    id: String,
    is_open: bool,
    /// How many bytes of the output went out as `ToolOutput`.
    streamed: usize,
    output: String,
}

impl Turn {
    /// Takes one update in.
    pub(crate) fn apply(&mut self, update: Update) -> Vec<Event> {
        match update {
            Update::Message(delta) => {
                if self.message.len() + delta.len() > MESSAGE_LIMIT {
                    self.is_oversized = true;
                    return Vec::new();
                }
                self.message.push_str(&delta);
                vec![Event::Text { delta }]
            }
            Update::Thought(delta) => vec![Event::Thought { delta }],
            Update::Tool(tool) => self.apply_tool(tool),
            Update::Plan(entries) => vec![Event::Plan(entries)],
            Update::Usage(usage) => vec![Event::Usage(usage)],
            Update::Commands | Update::Ignored => Vec::new(),
        }
    }

    /// Keeps what an update says about a call, for a permission request that says less.
    pub(crate) fn describe(&mut self, update: &Value) {
        let Some(call) = update["toolCallId"].as_str() else { return };
        let place = self.described.iter().position(|(known, _)| known == call);
        if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            place.into_iter().for_each(|place| drop(self.described.swap_remove(place)));
            return;
        }
        let place = place.unwrap_or_else(|| {
            self.described.push((call.to_owned(), Map::new()));
            self.described.len() - 1
        });
        let told = DESCRIBING.iter().filter(|member| is_told(&update[**member]));
        let told = told.map(|member| ((*member).to_owned(), update[*member].clone()));
        self.described[place].1.extend(told);
    }

    /// A permission request with what earlier updates say about its call where it is silent itself.
    pub(crate) fn complete(&self, params: &Value) -> Value {
        let mut params = params.clone();
        let call = params["toolCall"]["toolCallId"].as_str();
        let described = self.described.iter().find(|(known, _)| Some(known.as_str()) == call).map(|(_, said)| said);
        for (member, value) in described.into_iter().flatten() {
            if !is_told(&params["toolCall"][member]) {
                params["toolCall"][member] = value.clone();
            }
        }
        params
    }

    /// A permission request arrives.
    pub(crate) fn ask(&mut self, pending: Pending) -> Vec<Event> {
        self.end_message();
        let approval = Event::Approval(pending.approval.clone());
        self.pending.push(pending);
        vec![approval]
    }

    /// Takes an open permission request out, to answer it.
    pub(crate) fn take_pending(&mut self, request: &str) -> Option<Pending> {
        let place = self.pending.iter().position(|pending| pending.approval.request == request)?;
        Some(self.pending.remove(place))
    }

    /// An allowed call begins, of an agent that does not say so itself.
    pub(crate) fn begin(&mut self, approval: ApprovalRequest) -> Vec<Event> {
        let ApprovalRequest { call, title, kind, input, .. } = approval;
        self.apply_tool(ToolUpdate { call, title: Some(title), kind: Some(kind), input, finished: None, output: None })
    }

    /// A call was refused for a reason. Should the agent report its end, the reason is what there is to say about it: what
    /// the agent says is about its protocol.
    pub(crate) fn refuse(&mut self, approval: ApprovalRequest, reason: String) {
        self.refused.push((approval.call, reason));
    }

    /// Takes all open permission requests out.
    pub(crate) fn take_all_pending(&mut self) -> Vec<Pending> {
        std::mem::take(&mut self.pending)
    }

    /// Closes what the turn leaves open; nothing may dangle on a screen.
    pub(crate) fn abandon(&mut self) -> Vec<Event> {
        let gone = self.pending.drain(..).map(|pending| Event::ApprovalGone { request: pending.approval.request });
        let mut events: Vec<Event> = gone.collect();
        for call in self.calls.drain(..).filter(|call| call.is_open) {
            let output = output::bounded(&call.output);
            events.push(Event::ToolFinished { call: call.id, status: ToolStatus::Unfinished, output });
        }
        events
    }

    /// The agent answered the prompt: everything left open is closed, then the turn ends one way or the other.
    pub(crate) fn finish(mut self, result: &Value) -> Vec<Event> {
        let mut events = self.abandon();
        events.extend(read_usage(result).map(Event::Usage));
        self.end_message();
        events.push(match self.outcome(result) {
            Ok((text, stop)) => Event::Final { text, stop },
            Err(failure) => Event::Failed(failure),
        });
        events
    }

    /// A stop reason alone proves nothing: agents say `end_turn` for empty and for cut answers too.
    fn outcome(self, result: &Value) -> Result<(String, Stop), Failure> {
        let stop = match result["stopReason"].as_str().unwrap_or_default() {
            "end_turn" => Stop::EndTurn,
            "max_tokens" => Stop::MaxTokens,
            "max_turn_requests" => Stop::MaxTurns,
            "refusal" => Stop::Refusal,
            "cancelled" => return Err(Failure::new(FailureKind::Cancelled, "the agent cancelled the turn")),
            other => Stop::Other(other.to_owned()),
        };
        if self.is_oversized {
            let text = format!("the agent's message is longer than {} MiB", MESSAGE_LIMIT >> 20);
            return Err(Failure::new(FailureKind::Protocol, text));
        }
        let has_no_model_call = result["_meta"]["quota"]["model_usage"].as_array().is_some_and(Vec::is_empty);
        if stop == Stop::EndTurn && has_no_model_call {
            let text = "the agent ended the turn without a complete model call: its stream was cut";
            return Err(Failure::new(FailureKind::Transport, text));
        }
        let text = best_text(self.previous, result);
        match empty_turn(&stop).filter(|_| text.is_empty()) {
            Some(failure) => Err(failure),
            None => Ok((text, stop)),
        }
    }

    fn apply_tool(&mut self, mut tool: ToolUpdate) -> Vec<Event> {
        self.end_message();
        let refused = self.refused.iter().find(|(call, _)| *call == tool.call);
        if let (Some(ToolStatus::Failed), Some((_, reason))) = (tool.finished, refused) {
            tool.output = Some(reason.clone());
        }
        let mut events = Vec::new();
        let place = self.calls.iter().position(|call| call.id == tool.call).unwrap_or_else(|| {
            // An asked call is introduced by its permission request, so an update may be the first to name it.
            events.push(Event::ToolStarted(ToolCall {
                call: tool.call.clone(),
                title: tool.title.clone().unwrap_or_else(|| tool.call.clone()),
                kind: tool.kind.unwrap_or(ToolKind::Other),
                input: tool.input.clone(),
            }));
            self.calls.push(Call { id: tool.call.clone(), is_open: true, streamed: 0, output: String::new() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        if !call.is_open {
            return events;
        }
        if let Some(output) = tool.output {
            let text = call.advance(output, tool.finished.is_some());
            events.extend(text.map(|text| Event::ToolOutput { call: tool.call.clone(), text }));
        }
        if let Some(status) = tool.finished {
            call.is_open = false;
            let output = output::bounded(&std::mem::take(&mut call.output));
            events.push(Event::ToolFinished { call: tool.call.clone(), status, output });
            let answered = self.pending.extract_if(.., |pending| pending.approval.call == tool.call);
            events.extend(answered.map(|pending| Event::ApprovalGone { request: pending.approval.request }));
        }
        events
    }

    fn end_message(&mut self) {
        if !self.message.trim().is_empty() {
            self.previous = std::mem::take(&mut self.message);
        }
        self.message.clear();
    }
}

impl Call {
    /// Takes the output as it stands, returns what is to be streamed of it.
    ///
    /// Each update carries the whole output, so what was streamed is skipped; an output that was rewritten, not
    /// extended, is streamed again. The last update streams nothing: `ToolFinished` carries it.
    fn advance(&mut self, output: String, is_last: bool) -> Option<String> {
        let extends = output.starts_with(self.output.as_str());
        let fresh = if extends { output[self.output.len()..].to_owned() } else { output.clone() };
        self.output = output;
        if is_last || fresh.is_empty() || self.streamed >= output::LIMIT {
            return None;
        }
        let room = output::LIMIT - self.streamed;
        self.streamed += fresh.len();
        if fresh.len() <= room {
            return Some(fresh);
        }
        Some(format!("{}\n[further output left out]\n", &fresh[..fresh.floor_char_boundary(room)]))
    }
}

/// Whether a member says anything: agents send some of them empty.
fn is_told(member: &Value) -> bool {
    match member {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The text to parse. An agent may repeat its answer in the reply; that counts where it is a response and the streamed
/// text is none.
fn best_text(streamed: String, result: &Value) -> String {
    let content = &result["content"];
    let blocks = content.as_array().map_or_else(|| std::slice::from_ref(content), Vec::as_slice);
    let repeated: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let is_better = protocol::parse(&streamed).is_err() && protocol::parse(&repeated).is_ok();
    if is_better { repeated } else { streamed }
}

/// Why a turn without a message failed. Where the agent gives no reason, it is asked for a response, as after any that is
/// not valid.
fn empty_turn(stop: &Stop) -> Option<Failure> {
    let (kind, text) = match stop {
        Stop::EndTurn => return None,
        Stop::MaxTokens => (FailureKind::Context, "the prompt does not fit into the model's context".to_owned()),
        Stop::MaxTurns => (FailureKind::Protocol, "the agent reached its own limit of model calls".to_owned()),
        Stop::Refusal => (FailureKind::Model, "the model refused to answer".to_owned()),
        Stop::Other(reason) => (FailureKind::Protocol, format!("the agent stopped with `{reason}` and no message")),
    };
    Some(Failure::new(kind, text))
}
