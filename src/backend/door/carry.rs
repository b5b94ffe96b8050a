//! Puts the calls that come through the door among the events of their conversation, and their results back.
//!
//! It stands between the owner and the protocol, which knows nothing of it: commands and events pass through.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::backend::door::{Answer, Door, Entrance, Knock, Stay, Ticket};
use crate::backend::event::{Command, Event, ToolRequest};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::Carrier;
use crate::backend::transport::ending::wait_until;
use crate::backend::{Launch, QUEUE, ServedTool};

/// With more events than this unread, the conversation's own wait; commands go on.
const UNREAD: usize = 128;

/// How long an agent has to read that it is to stop, before its open calls are answered. It reads the two from different
/// pipes, and one that sees the answer first goes back to its model.
const HEAD_START: Duration = Duration::from_millis(250);

/// Runs a conversation as `talk` does, with the door open if the launch serves tools through it.
pub(crate) async fn run<F: Future<Output = ()>>(
    door: Door,
    launch: Launch,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
    talk: impl FnOnce(Launch, Option<Entrance>, mpsc::Receiver<Command>, mpsc::Sender<Event>) -> F,
) {
    if launch.tools.is_empty() || launch.spec.carrier != Carrier::Mcp {
        return talk(launch, None, commands, events).await;
    }
    let tools = launch.tools.iter().map(ServedTool::listed).collect();
    match door.admit(tools, launch.bridge.clone()).await {
        Ok((entrance, stay)) => {
            let (command_sender, inner_commands) = mpsc::channel(QUEUE);
            let (inner_events, event_receiver) = mpsc::channel(QUEUE);
            let talk = talk(launch, Some(entrance), inner_commands, inner_events);
            tokio::join!(talk, carry(stay, command_sender, event_receiver, commands, events));
        }
        Err(error) => {
            let failure = Failure::new(FailureKind::Setup, format!("failed to open the door to the tools: {error}"));
            // The owner may be gone already; then there is nobody to tell.
            events.send(Event::Failed(failure)).await.ok();
            events.send(Event::Exited { status: None, stderr_tail: String::new() }).await.ok();
        }
    }
}

/// Carries until the conversation is over; its token dies then.
pub(super) async fn carry(
    mut stay: Stay,
    inner_commands: mpsc::Sender<Command>,
    mut inner_events: mpsc::Receiver<Event>,
    mut commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let mut inner_commands = Some(inner_commands);
    let mut desk = Desk::default();
    let mut is_over = false;
    while !(is_over && desk.outbox.is_empty()) {
        tokio::select! {
            biased;
            command = commands.recv(), if inner_commands.is_some() => match (command, &inner_commands) {
                (Some(command), Some(inner)) => {
                    if let Some(command) = desk.command(command) {
                        // A protocol that is gone has told so, or does in a moment.
                        inner.send(command).await.ok();
                    }
                }
                // Whoever let go of the commands closed the conversation.
                (None, _) | (_, None) => {
                    desk.end("the conversation is over");
                    inner_commands = None;
                }
            },
            permit = events.reserve(), if !desk.outbox.is_empty() => match (permit, desk.outbox.pop_front()) {
                (Ok(permit), Some(event)) => permit.send(event),
                // Nobody listens any more; the dropped commands end the rest.
                (Ok(_), None) | (Err(_), _) => desk.outbox.clear(),
            },
            event = inner_events.recv(), if !is_over && desk.outbox.len() < UNREAD => match event {
                Some(event) => desk.event(event),
                None => {
                    desk.end("the conversation is over");
                    is_over = true;
                }
            },
            Some(knock) = stay.knocks.recv(), if desk.outbox.len() < UNREAD => desk.knock(knock),
            () = wait_until(desk.due) => desk.end("the turn was interrupted"),
            request = gone(&mut desk.open), if !desk.open.is_empty() => desk.withdraw(&request),
        }
    }
}

/// The open calls of one conversation and what its owner is to hear.
#[derive(Debug, Default)]
struct Desk {
    /// Prompts that have no answer yet.
    turns: usize,
    /// Whether the running turn was told to end.
    is_interrupted: bool,
    /// When the calls of a turn that was told to end are answered.
    due: Option<Instant>,
    open: Vec<Open>,
    outbox: VecDeque<Event>,
    calls: u64,
}

#[derive(Debug)]
struct Open {
    request: String,
    ticket: Ticket,
    answer: oneshot::Sender<Answer>,
}

impl Desk {
    /// Takes what concerns the calls; returns what is for the protocol.
    fn command(&mut self, command: Command) -> Option<Command> {
        match &command {
            Command::Prompt { .. } => self.turns += 1,
            Command::ToolResult { request, outcome } => {
                if let Some(place) = self.open.iter().position(|open| open.request == *request) {
                    // A client that left in this moment needs no answer.
                    self.open.remove(place).answer.send(outcome.clone()).ok();
                }
                return None;
            }
            // An agent that waits for its call does not stop before that is answered.
            Command::Interrupt => {
                self.is_interrupted = self.turns > 0;
                self.due = (!self.open.is_empty()).then(|| Instant::now() + HEAD_START);
            }
            Command::Close => self.end("the conversation is over"),
            Command::Decide { .. } => {}
        }
        Some(command)
    }

    fn event(&mut self, event: Event) {
        match &event {
            Event::Final { .. } | Event::Failed(_) => {
                self.turns = self.turns.saturating_sub(1);
                self.is_interrupted = false;
                self.end("the turn is over");
            }
            Event::Exited { .. } => self.end("the conversation is over"),
            Event::Started(_)
            | Event::Text { .. }
            | Event::Thought { .. }
            | Event::ToolStarted(_)
            | Event::ToolOutput { .. }
            | Event::ToolFinished { .. }
            | Event::Approval(_)
            | Event::ApprovalGone { .. }
            | Event::ToolRequested(_)
            | Event::ToolRequestGone { .. }
            | Event::Plan(_)
            | Event::Usage(_)
            | Event::Retry { .. } => {}
        }
        self.outbox.push_back(event);
    }

    fn knock(&mut self, knock: Knock) {
        match knock {
            Knock::Call { answer, .. } if self.turns == 0 || self.is_interrupted => {
                // A client that left in this moment needs no answer.
                answer.send(Err("the turn is over".to_owned())).ok();
            }
            Knock::Call { ticket, tool, arguments, answer } => {
                self.calls += 1;
                let request = format!("mcp-{}", self.calls);
                let asked = ToolRequest { request: request.clone(), tool, arguments };
                self.open.push(Open { request, ticket, answer });
                self.outbox.push_back(Event::ToolRequested(asked));
            }
            Knock::Withdrawn(ticket) => {
                if let Some(open) = self.open.iter().find(|open| open.ticket == ticket) {
                    let request = open.request.clone();
                    self.withdraw(&request);
                }
            }
        }
    }

    fn withdraw(&mut self, request: &str) {
        self.open.retain(|open| open.request != request);
        self.outbox.push_back(Event::ToolRequestGone { request: request.to_owned() });
    }

    /// Answers what is open with an error, and tells the owner that it needs no result.
    fn end(&mut self, reason: &str) {
        self.due = None;
        for open in self.open.drain(..) {
            // A client that left in this moment needs no answer.
            open.answer.send(Err(reason.to_owned())).ok();
            self.outbox.push_back(Event::ToolRequestGone { request: open.request });
        }
    }
}

/// Waits until a client gives up on one of its calls.
async fn gone(open: &mut [Open]) -> String {
    poll_fn(|context| {
        let left =
            open.iter_mut().find_map(|open| open.answer.poll_closed(context).is_ready().then_some(&open.request));
        left.map_or(Poll::Pending, |request| Poll::Ready(request.clone()))
    })
    .await
}
