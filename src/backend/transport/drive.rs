//! The task that owns one conversation and its process: it gathers inputs and performs effects, nothing else.
//!
//! Reading, writing and draining stderr are tasks of their own, so that no full pipe can stop a command. What one read
//! brings is one batch of lines, and text that follows text waits for the owner as one event: a stream of many small
//! deltas costs few wakes.

use std::collections::VecDeque;
use std::iter;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::backend::Launch;
use crate::backend::event::{Command, Event};
use crate::backend::transport::ending::{Ending, wait_until};
use crate::backend::transport::lines::{Line, LineReader, MAX_LINE, handle_text};
use crate::backend::transport::machine::{Effect, Input, Machine};
use crate::backend::transport::spawn::{Child, Control, SpawnRequest};

/// How many lines may wait for an agent that is slow to read; one that never reads is ended.
pub(crate) const OUTGOING: usize = 1024;

/// With more events than this unread, the agent's output is left in the pipe; commands go on. One batch may exceed it.
const UNREAD_EVENTS: usize = 128;

/// How many batches of lines may wait to be taken in.
const UNREAD_BATCHES: usize = 4;

/// How long text grows that waits for the owner; more is an event of its own.
const JOINED: usize = 16 * 1024;

/// Starts the process; a failure is told to the owner, who gets nothing else.
pub(crate) async fn spawn(launch: &Launch, request: SpawnRequest, events: &mpsc::Sender<Event>) -> Option<Child> {
    debug!(program = request.argv.first(), cwd = %request.cwd.display(), "starting an agent");
    match launch.spawn.spawn(request).await {
        Ok(child) => Some(child),
        Err(failure) => {
            // The owner may be gone already; then there is nobody to tell.
            events.send(Event::Failed(failure)).await.ok();
            events.send(Event::Exited { status: None, stderr_tail: String::new() }).await.ok();
            None
        }
    }
}

/// Runs a conversation from its first effects to the end of its process.
pub(crate) async fn run(
    child: Child,
    (mut machine, effects): (impl Machine, Vec<Effect>),
    mut commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    // Dropped at the end of this function: all three tasks end with the conversation.
    let mut tasks = JoinSet::new();
    let (batch_sender, mut batches) = mpsc::channel(UNREAD_BATCHES);
    let (outgoing, line_receiver) = mpsc::channel(OUTGOING);
    tasks.spawn(read_lines(child.stdout, batch_sender));
    tasks.spawn(write_lines(child.stdin, line_receiver));
    let (mut ending, stderr) = Ending::new(child.exit, child.stderr);
    tasks.spawn(stderr);

    let mut hands = Hands {
        outgoing: Some(outgoing),
        outbox: VecDeque::new(),
        deadline: None,
        control: child.control,
        is_stuck: false,
        is_finished: false,
    };
    hands.perform(effects);
    let mut has_owner = true;
    while !hands.is_finished {
        let input = tokio::select! {
            biased;
            command = commands.recv(), if has_owner => {
                has_owner = command.is_some();
                Input::Command(command.unwrap_or(Command::Close))
            }
            permit = events.reserve(), if !hands.outbox.is_empty() => {
                match (permit, hands.outbox.pop_front()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    // Without a reader there is nothing to keep events for; the dropped commands end the rest.
                    (Ok(_), None) | (Err(_), _) => hands.outbox.clear(),
                }
                continue;
            }
            batch = batches.recv(), if ending.has_output() && hands.outbox.len() < UNREAD_EVENTS => match batch {
                Some(batch) => {
                    ending.on_output();
                    hands.take_in(&mut machine, batch);
                    continue;
                }
                None => {
                    ending.on_output_closed();
                    Input::OutputClosed
                }
            },
            (status, stderr_tail) = ending.wait(), if hands.outbox.len() < UNREAD_EVENTS => {
                Input::Gone { status: Some(status), stderr_tail }
            }
            () = wait_until(hands.deadline) => {
                hands.deadline = None;
                Input::Elapsed
            }
        };
        hands.step(&mut machine, input);
    }
    for event in hands.outbox {
        // Same here: a reader that is gone misses nothing.
        events.send(event).await.ok();
    }
}

/// What effects act on.
struct Hands {
    outgoing: Option<mpsc::Sender<String>>,
    outbox: VecDeque<Event>,
    deadline: Option<Instant>,
    control: Box<dyn Control>,
    is_stuck: bool,
    is_finished: bool,
}

impl Hands {
    /// Steps through the lines of one read.
    fn take_in(&mut self, machine: &mut impl Machine, batch: Vec<Line>) {
        for line in batch {
            match line {
                Line::Text(_) if self.is_finished => return,
                Line::Text(text) => handle_text(text.len(), || self.step(machine, Input::Line(text))),
                Line::TooLong { bytes } => warn!(bytes, "line too long, skipped"),
            }
        }
    }

    fn step(&mut self, machine: &mut impl Machine, input: Input) {
        self.perform(machine.step(input));
        if std::mem::take(&mut self.is_stuck) {
            self.perform(machine.step(Input::Stuck));
        }
    }

    /// Queues and signals; never waits.
    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(line) => self.send(line),
                Effect::Emit(event) => {
                    let rest = match self.outbox.back_mut() {
                        Some(last) => join(last, event),
                        None => Some(event),
                    };
                    self.outbox.extend(rest);
                }
                Effect::Arm(after) => self.deadline = Some(Instant::now() + after),
                Effect::Disarm => self.deadline = None,
                Effect::CloseInput => self.outgoing = None,
                Effect::Signal(signal) => self.control.signal(signal),
                Effect::Finish => self.is_finished = true,
            }
        }
    }

    fn send(&mut self, line: String) {
        let Some(outgoing) = &self.outgoing else { return };
        match outgoing.try_send(line) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => self.is_stuck = true,
            // The writer ended because the agent closed its input: its exit or its output tells the rest.
            Err(mpsc::error::TrySendError::Closed(_)) => self.outgoing = None,
        }
    }
}

/// Appends a delta to the text that it continues; gives back what stands for itself.
fn join(last: &mut Event, event: Event) -> Option<Event> {
    let ((Event::Text { delta: text }, Event::Text { delta: more })
    | (Event::Thought { delta: text }, Event::Thought { delta: more })) = (last, &event)
    else {
        return Some(event);
    };
    if text.len() + more.len() > JOINED {
        return Some(event);
    }
    text.push_str(more);
    None
}

pub(crate) async fn read_lines(stdout: Box<dyn AsyncRead + Send + Unpin>, batches: mpsc::Sender<Vec<Line>>) {
    let mut reader = LineReader::new(stdout, MAX_LINE);
    loop {
        match reader.next().await {
            Ok(Some(line)) => {
                let batch = iter::once(line).chain(iter::from_fn(|| reader.next_buffered())).collect();
                if batches.send(batch).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                debug!(%error, "agent's output ended");
                return;
            }
        }
    }
}

pub(crate) async fn write_lines(mut stdin: Box<dyn AsyncWrite + Send + Unpin>, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        let written = match stdin.write_all(line.as_bytes()).await {
            Ok(()) => stdin.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            debug!(%error, "agent's input ended");
            return;
        }
    }
    if let Err(error) = stdin.shutdown().await {
        debug!(%error, "agent's input was closed already");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_joins_the_text_before_it_and_nothing_else() {
        let text = |delta: &str| Event::Text { delta: delta.to_owned() };
        let thought = |delta: &str| Event::Thought { delta: delta.to_owned() };
        let long = "x".repeat(JOINED);
        for (last, event, joined, rest) in [
            (text("a"), text("b"), text("ab"), None),
            (thought("a"), thought("b"), thought("ab"), None),
            (text("a"), thought("b"), text("a"), Some(thought("b"))),
            (text(&long), text("b"), text(&long), Some(text("b"))),
            (text(""), text(&long), text(&long), None),
        ] {
            let mut kept = last;
            assert_eq!(join(&mut kept, event), rest);
            assert_eq!(kept, joined);
        }
    }
}
