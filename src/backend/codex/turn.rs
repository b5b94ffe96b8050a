//! One turn as it goes on: what was said, which tools run, which requests wait. Pure.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::backend::codex::approval::{self, Answer, Pending};
use crate::backend::codex::fault;
use crate::backend::codex::item::{self, Item};
use crate::backend::codex::tool_name::from_codex;
use crate::backend::event::{ContextUse, Event, PlanEntry, PlanStatus, Stop, ToolRequest, ToolStatus, Usage};
use crate::backend::failure::Failure;
use crate::backend::output;

/// The state of the running turn.
#[derive(Debug)]
pub(super) struct Turn {
    cwd: PathBuf,
    /// Known from the reply to the request, or from the notification that may come before it.
    pub(super) id: Option<String>,
    /// The message that is being written, and how much of it was shown.
    message: Option<(String, usize)>,
    /// Whether text was shown after the last tool: a further message begins on a line of its own.
    has_text: bool,
    tools: Vec<Open>,
    approvals: Vec<Pending>,
    /// Refusals that wait until their words are taken, as the answers to their requests.
    pub(super) refusals: VecDeque<(Value, Value)>,
    calls: Vec<(String, Value)>,
}

/// A tool that runs.
#[derive(Debug)]
struct Open {
    item: Value,
    call: String,
    /// What was streamed of its output, up to the limit.
    output: String,
    streamed: usize,
}

impl Turn {
    pub(super) fn new(cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            id: None,
            message: None,
            has_text: false,
            tools: Vec::new(),
            approvals: Vec::new(),
            refusals: VecDeque::new(),
            calls: Vec::new(),
        }
    }

    /// Whether a notification belongs to this turn. A restored thread repeats facts of turns before it.
    pub(super) fn owns(&self, params: &Value) -> bool {
        self.id.is_some() && self.id.as_deref() == params["turnId"].as_str()
    }

    /// Takes one notification of this turn in.
    pub(super) fn notice(&mut self, method: &str, params: &Value) -> Vec<Event> {
        let delta = || params["delta"].as_str().filter(|delta| !delta.is_empty()).map(str::to_owned);
        match method {
            "item/started" => self.on_started(&params["item"]),
            "item/completed" => self.on_completed(&params["item"]),
            "item/agentMessage/delta" => {
                let Some(delta) = delta() else { return Vec::new() };
                let mut events = self.begin_message(params["itemId"].as_str().unwrap_or_default());
                self.show(delta, &mut events);
                events
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                delta().map(|delta| Event::Thought { delta }).into_iter().collect()
            }
            "item/reasoning/summaryPartAdded" if params["summaryIndex"].as_u64() > Some(0) => {
                vec![Event::Thought { delta: "\n\n".to_owned() }]
            }
            "item/commandExecution/outputDelta" => self.on_output(params).into_iter().collect(),
            "turn/plan/updated" => vec![Event::Plan(read_plan(&params["plan"]))],
            "thread/tokenUsage/updated" => read_usage(&params["tokenUsage"]).map(Event::Usage).into_iter().collect(),
            "error" if params["willRetry"] == true => vec![Event::Retry { message: retry_text(&params["error"]) }],
            _ => Vec::new(),
        }
    }

    /// A request that a person or a rule decides about; `None` when it is something else.
    pub(super) fn ask(&mut self, id: &Value, method: &str, params: &Value) -> Option<Vec<Event>> {
        let pending = approval::read(id, method, params, self.tools.iter().map(|open| &open.item), &self.cwd)?;
        // A rejoined thread sends an open request again.
        if self.approvals.iter().any(|known| known.id == *id) {
            return Some(Vec::new());
        }
        let event = Event::Approval(pending.approval.clone());
        self.approvals.push(pending);
        Some(vec![event])
    }

    /// The model calls a tool that Coppice serves.
    pub(super) fn call(&mut self, id: &Value, params: &Value) -> Event {
        let request = id.to_string();
        self.calls.push((request.clone(), id.clone()));
        let tool = from_codex(params["tool"].as_str().unwrap_or_default());
        Event::ToolRequested(ToolRequest { request, tool, arguments: params["arguments"].clone() })
    }

    /// Takes an open approval out, to answer it.
    pub(super) fn take_approval(&mut self, request: &str) -> Option<Pending> {
        let place = self.approvals.iter().position(|pending| pending.approval.request == request)?;
        Some(self.approvals.remove(place))
    }

    /// Takes an open call of a served tool out, to answer it.
    pub(super) fn take_call(&mut self, request: &str) -> Option<Value> {
        let place = self.calls.iter().position(|(open, _)| open == request)?;
        Some(self.calls.remove(place).1)
    }

    /// The agent says that a request needs no answer any more.
    pub(super) fn resolved(&mut self, id: &Value) -> Option<Event> {
        let request = id.to_string();
        if self.take_approval(&request).is_some() {
            return Some(Event::ApprovalGone { request });
        }
        self.take_call(&request).map(|_| Event::ToolRequestGone { request })
    }

    /// Withdraws what waits: the answers for the agent, and the events that say so.
    pub(super) fn withdraw(&mut self) -> (Vec<(Value, Value)>, Vec<Event>) {
        let mut answers: Vec<_> = self.refusals.drain(..).collect();
        let mut events = Vec::new();
        for pending in self.approvals.drain(..) {
            answers.push((pending.id.clone(), pending.result(Answer::Cancel)));
            events.push(Event::ApprovalGone { request: pending.approval.request });
        }
        for (request, id) in self.calls.drain(..) {
            answers.push((id, approval::tool_result(&Err("the turn was interrupted".to_owned()))));
            events.push(Event::ToolRequestGone { request });
        }
        (answers, events)
    }

    /// The commands that still run.
    pub(super) fn running(&self) -> Vec<String> {
        let commands = self.tools.iter().filter(|open| item::is_command(&open.item));
        commands.map(|open| open.call.clone()).collect()
    }

    /// Closes what the turn leaves open; nothing may dangle on a screen.
    pub(super) fn abandon(&mut self) -> Vec<Event> {
        let (_, mut events) = self.withdraw();
        for open in self.tools.drain(..) {
            let output = if open.output.is_empty() { item::read_end(&open.item).1 } else { open.output };
            events.push(Event::ToolFinished { call: open.call, status: ToolStatus::Unfinished, output });
        }
        events
    }

    fn on_started(&mut self, item: &Value) -> Vec<Event> {
        match item::read(item, &self.cwd) {
            Item::Message => self.begin_message(item["id"].as_str().unwrap_or_default()),
            Item::Tool(call) if self.tools.iter().all(|open| open.call != call.call) => {
                self.message = None;
                self.has_text = false;
                self.tools.push(Open {
                    item: item.clone(),
                    call: call.call.clone(),
                    output: String::new(),
                    streamed: 0,
                });
                vec![Event::ToolStarted(call)]
            }
            Item::Tool(_) | Item::Silent => Vec::new(),
        }
    }

    fn on_completed(&mut self, item: &Value) -> Vec<Event> {
        match item::read(item, &self.cwd) {
            Item::Message => {
                let mut events = self.begin_message(item["id"].as_str().unwrap_or_default());
                // A message may come whole, without a delta before.
                let text = item["text"].as_str().unwrap_or_default();
                let shown = self.message.take().map_or(0, |(_, shown)| shown);
                if let Some(rest) = text.get(shown..).filter(|rest| !rest.is_empty()) {
                    self.show(rest.to_owned(), &mut events);
                }
                events
            }
            Item::Tool(call) => {
                let mut events = self.on_started(item);
                self.tools.retain(|open| open.call != call.call);
                let (status, output) = item::read_end(item);
                let asked: Vec<_> =
                    self.approvals.extract_if(.., |pending| pending.approval.call == call.call).collect();
                let gone = asked.into_iter().map(|pending| Event::ApprovalGone { request: pending.approval.request });
                events.extend(gone);
                events.push(Event::ToolFinished { call: call.call, status, output });
                events
            }
            Item::Silent => Vec::new(),
        }
    }

    /// After a cut stream several messages follow each other without anything between them.
    fn begin_message(&mut self, id: &str) -> Vec<Event> {
        if self.message.as_ref().is_some_and(|(open, _)| open == id) {
            return Vec::new();
        }
        self.message = Some((id.to_owned(), 0));
        if !std::mem::take(&mut self.has_text) {
            return Vec::new();
        }
        vec![Event::Text { delta: "\n\n".to_owned() }]
    }

    fn show(&mut self, delta: String, events: &mut Vec<Event>) {
        if let Some((_, shown)) = &mut self.message {
            *shown += delta.len();
        }
        self.has_text = true;
        events.push(Event::Text { delta });
    }

    fn on_output(&mut self, params: &Value) -> Option<Event> {
        let open = self.tools.iter_mut().find(|open| open.call == params["itemId"])?;
        let delta = params["delta"].as_str().filter(|delta| !delta.is_empty())?;
        let room = output::LIMIT.checked_sub(open.streamed)?;
        open.streamed += delta.len();
        let text = match delta.len() <= room {
            true => delta.to_owned(),
            false => format!("{}\n[further output left out]\n", &delta[..delta.floor_char_boundary(room)]),
        };
        open.output.push_str(&text);
        Some(Event::ToolOutput { call: open.call.clone(), text })
    }
}

/// How a turn ended: its last message, or why there is none. Only the end of the turn says so; messages before it may
/// be halves of a stream that was cut.
pub(super) fn outcome(turn: &Value) -> Result<Event, Failure> {
    match turn["status"].as_str() {
        // One without a final message is a response like any that is not valid: whoever parses it asks for a better one.
        Some("completed") => {
            Ok(Event::Final { text: final_text(&turn["items"]).unwrap_or_default(), stop: Stop::EndTurn })
        }
        Some("interrupted") => Err(fault::cancelled()),
        Some(_) | None => Err(fault::classify(&turn["error"])),
    }
}

fn final_text(items: &Value) -> Option<String> {
    let messages = || items.as_array().into_iter().flatten().filter(|item| item["type"] == "agentMessage");
    let chosen = messages().rfind(|item| item["phase"] == "final_answer").or_else(|| messages().next_back());
    chosen?["text"].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Counted per model request: the totals of a restored thread hold turns that were paid before.
fn read_usage(usage: &Value) -> Option<Usage> {
    let last = &usage["last"];
    let context = last["totalTokens"].as_u64().zip(usage["modelContextWindow"].as_u64());
    let found = Usage {
        input_tokens: last["inputTokens"].as_u64(),
        output_tokens: last["outputTokens"].as_u64(),
        cost_usd: None,
        context: context.map(|(used, size)| ContextUse { used, size }),
    };
    (found != Usage::default()).then_some(found)
}

fn read_plan(plan: &Value) -> Vec<PlanEntry> {
    let read = |entry: &Value| {
        let status = match entry["status"].as_str() {
            Some("completed") => PlanStatus::Completed,
            Some("inProgress") => PlanStatus::InProgress,
            Some(_) | None => PlanStatus::Pending,
        };
        Some(PlanEntry { text: entry["step"].as_str()?.to_owned(), status })
    };
    plan.as_array().into_iter().flatten().filter_map(read).collect()
}

fn retry_text(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("trying again");
    match error["additionalDetails"].as_str().filter(|details| !details.is_empty()) {
        Some(details) => format!("{message} ({details})"),
        None => message.to_owned(),
    }
}
