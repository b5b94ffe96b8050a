//! The task that owns the shared process: it gathers inputs and performs effects, nothing else.
//!
//! A conversation that does not read its messages makes the others wait for a while, then it is cut off.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::backend::codex::hub::{Ask, Effect, Hub, Input, Member};
use crate::backend::codex::pool::Listing;
use crate::backend::codex::thread;
use crate::backend::spec::StopLadder;
use crate::backend::transport::drive::{OUTGOING, read_lines, write_lines};
use crate::backend::transport::ending::{Ending, wait_until};
use crate::backend::transport::lines::{Line, handle_text};
use crate::backend::transport::spawn::{Child, Control, SpawnRequest, Spawner};

/// How long a conversation may leave its messages unread while others wait for theirs; less than any of them waits for
/// a reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a conversation says to the task.
#[derive(Debug)]
pub(super) enum Note {
    Join {
        member: Member,
        inbox: mpsc::Sender<thread::Input>,
    },
    Leave(Member),
    Ask(Ask),
    Answer {
        id: Value,
        outcome: Result<Value, String>,
    },
    Suspect,
    /// The login of the process was refused.
    Outdated,
}

/// Runs the shared process from its start to its end.
pub(super) async fn run(
    spawner: Arc<dyn Spawner>,
    request: SpawnRequest,
    stop: StopLadder,
    mut notes: mpsc::Receiver<Note>,
    listing: Listing,
) {
    debug!(program = request.argv.first(), "starting codex");
    let child = match spawner.spawn(request).await {
        Ok(child) => child,
        Err(failure) => {
            listing.unlist();
            notes.close();
            while let Some(note) = notes.recv().await {
                if let Note::Join { inbox, .. } = note {
                    let lost = thread::Input::Lost {
                        failure: Some(failure.clone()),
                        status: None,
                        stderr_tail: String::new(),
                    };
                    // Whoever gave up waiting does not need to know.
                    inbox.send(lost).await.ok();
                }
            }
            return;
        }
    };
    serve(child, stop, notes, &listing).await;
    listing.unlist();
}

async fn serve(child: Child, stop: StopLadder, mut notes: mpsc::Receiver<Note>, listing: &Listing) {
    // Dropped at the end of this function: all three tasks end with the process.
    let mut tasks = JoinSet::new();
    let (batch_sender, mut batches) = mpsc::channel(16);
    let (outgoing, line_receiver) = mpsc::channel(OUTGOING);
    tasks.spawn(read_lines(child.stdout, batch_sender));
    tasks.spawn(write_lines(child.stdin, line_receiver));
    let (mut ending, stderr) = Ending::new(child.exit, child.stderr);
    tasks.spawn(stderr);

    let (mut hub, effects) = Hub::begin(stop, child.exec_at_ms, Instant::now());
    let mut hands = Hands {
        outgoing: Some(outgoing),
        members: HashMap::new(),
        backlog: VecDeque::new(),
        blocked_until: None,
        control: child.control,
        pid: child.pid,
        listing,
        inputs: VecDeque::new(),
        is_finished: false,
    };
    hands.perform(effects).await;
    while !hands.is_finished {
        let slow = hands.slow();
        let is_blocked = slow.is_some();
        let input = tokio::select! {
            biased;
            Some(note) = notes.recv() => match note {
                Note::Join { member, inbox } => {
                    hands.members.insert(member, inbox);
                    Input::Join(member)
                }
                Note::Leave(member) => {
                    hands.forget(member);
                    Input::Leave(member)
                }
                Note::Ask(ask) => Input::Ask(ask),
                Note::Answer { id, outcome } => Input::Answer { id, outcome },
                Note::Suspect => Input::Suspect,
                Note::Outdated => Input::Outdated,
            },
            is_read = room(slow), if is_blocked => match is_read {
                Ok(()) => {
                    hands.flush();
                    continue;
                }
                Err(member) => {
                    warn!(member, "conversation does not read its messages and is cut off");
                    hands.forget(member);
                    Input::Leave(member)
                }
            },
            batch = batches.recv(), if ending.has_output() && !is_blocked => match batch {
                Some(batch) => {
                    ending.on_output();
                    hands.inputs.extend(batch.into_iter().filter_map(input));
                    match hands.inputs.pop_back() {
                        Some(last) => last,
                        None => continue,
                    }
                }
                None => {
                    ending.on_output_closed();
                    Input::OutputClosed
                }
            },
            (status, stderr_tail) = ending.wait(), if !is_blocked => Input::Gone { status: Some(status), stderr_tail },
            () = wait_until(hub.deadline()) => Input::Elapsed,
        };
        hands.inputs.push_back(input);
        while let Some(input) = hands.inputs.pop_front() {
            let bytes = if let Input::Line(line) = &input { line.len() } else { 0 };
            let effects = handle_text(bytes, || hub.step(input, Instant::now()));
            hands.perform(effects).await;
        }
    }
    hands.finish().await;
}

fn input(line: Line) -> Option<Input> {
    match line {
        Line::Text(text) => Some(Input::Line(text)),
        Line::TooLong { bytes } => {
            warn!(bytes, "line too long, skipped");
            None
        }
    }
}

/// What effects act on.
struct Hands<'a> {
    outgoing: Option<mpsc::Sender<String>>,
    members: HashMap<Member, mpsc::Sender<thread::Input>>,
    /// Messages whose reader is slow, and everything after them.
    backlog: VecDeque<(Member, thread::Input)>,
    blocked_until: Option<Instant>,
    control: Box<dyn Control>,
    pid: Option<u32>,
    listing: &'a Listing,
    /// What performing an effect led to.
    inputs: VecDeque<Input>,
    is_finished: bool,
}

impl Hands<'_> {
    async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(line) => self.send(line),
                Effect::Deliver(member, input) => {
                    self.backlog.push_back((member, input));
                    self.flush();
                }
                // Without a sender the member's channel closes, and it looks for another process.
                Effect::TurnAway(member) => self.forget(member),
                Effect::Unlist => self.listing.unlist(),
                Effect::Weigh => {
                    if let Some(bytes) = weigh(self.pid).await {
                        self.inputs.push_back(Input::Weight(bytes));
                    }
                }
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
            Err(mpsc::error::TrySendError::Full(_)) => self.inputs.push_back(Input::Stuck),
            // The writer ended because the process closed its input: its exit or its output tells the rest.
            Err(mpsc::error::TrySendError::Closed(_)) => self.outgoing = None,
        }
    }

    /// Hands over what the readers have room for, in order.
    fn flush(&mut self) {
        while let Some((member, input)) = self.backlog.pop_front() {
            let Some(sender) = self.members.get(&member) else { continue };
            match sender.try_send(input) {
                // A conversation that is gone says so by a note of its own.
                Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => self.blocked_until = None,
                Err(mpsc::error::TrySendError::Full(input)) => {
                    self.backlog.push_front((member, input));
                    self.blocked_until.get_or_insert_with(|| Instant::now() + PATIENCE);
                    return;
                }
            }
        }
    }

    /// Who holds up the others, and how long it may.
    fn slow(&self) -> Option<Slow> {
        let (member, _) = self.backlog.front()?;
        Some(Slow { member: *member, sender: self.members.get(member)?.clone(), until: self.blocked_until })
    }

    fn forget(&mut self, member: Member) {
        self.members.remove(&member);
        self.backlog.retain(|(whose, _)| *whose != member);
        self.blocked_until = None;
        self.flush();
    }

    /// The last words: everybody hears of the end, however slow.
    async fn finish(mut self) {
        for (member, input) in std::mem::take(&mut self.backlog) {
            let Some(sender) = self.members.get(&member) else { continue };
            // Whoever is gone already does not need to know.
            tokio::time::timeout(PATIENCE, sender.send(input)).await.ok();
        }
    }
}

/// A conversation whose messages wait.
struct Slow {
    member: Member,
    sender: mpsc::Sender<thread::Input>,
    until: Option<Instant>,
}

/// Waits until the conversation has room again; names it when that takes too long.
async fn room(slow: Option<Slow>) -> Result<(), Member> {
    let Some(Slow { member, sender, until }) = slow else { return Ok(()) };
    tokio::select! {
        biased;
        _ = sender.reserve() => Ok(()),
        () = wait_until(until) => Err(member),
    }
}

/// The resident memory of a process, where the system tells.
async fn weigh(pid: Option<u32>) -> Option<u64> {
    let text = tokio::fs::read_to_string(format!("/proc/{}/status", pid?)).await.ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
