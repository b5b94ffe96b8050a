//! The task of one conversation: it carries between its owner, its machine and the shared process, and decides nothing.

use std::collections::VecDeque;
use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::backend::codex::fault;
use crate::backend::codex::hub::{Ask, Member};
use crate::backend::codex::litter::Litter;
use crate::backend::codex::server::Note;
use crate::backend::codex::settings::Wishes;
use crate::backend::codex::thread::{Effect, Input, Thread};
use crate::backend::event::{Block, Command, Event};
use crate::backend::transport::ending::wait_until;

/// How many messages of the process may wait for the task.
const INBOX: usize = 1024;

/// With more events than this unread, messages are left to wait; commands go on.
const UNREAD_EVENTS: usize = 128;

/// The shared processes, as one conversation sees them.
pub(super) trait SharedProcesses {
    /// A way to the shared process. One that ends in that moment takes nobody in, so it may be asked again.
    fn join(&self) -> (Member, mpsc::Sender<Note>);

    /// Hides a process from conversations that begin from here on.
    fn unlist(&self, server: &mpsc::Sender<Note>);
}

/// Runs a conversation to its end.
pub(super) async fn run(
    wishes: Wishes,
    processes: impl SharedProcesses,
    mut commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let litter = Litter::of(&wishes);
    let mut machine = Thread::new(wishes);
    let mut hands = Hands::new(&processes);
    let mut has_owner = true;
    while !hands.is_finished {
        // `None` when the process takes nobody in any more.
        let input = tokio::select! {
            biased;
            command = commands.recv(), if has_owner => {
                has_owner = command.is_some();
                let command = command.unwrap_or(Command::Close);
                Some(match missing_image(&command) {
                    Some(path) => Input::NoImage(path),
                    None => Input::Command(command),
                })
            }
            permit = events.reserve(), if !hands.outbox.is_empty() => {
                match (permit, hands.outbox.pop_front()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    // Without a reader there is nothing to keep events for; the dropped commands end the rest.
                    (Ok(_), None) | (Err(_), _) => hands.outbox.clear(),
                }
                continue;
            }
            permit = room(hands.notes.front()), if !hands.notes.is_empty() => {
                // A process that is gone needs no note; there may be one for the next behind it.
                if let (Some(permit), Some((_, note))) = (permit, hands.notes.pop_front()) {
                    permit.send(note);
                }
                continue;
            }
            input = hands.inbox.recv(), if !hands.is_apart && hands.outbox.len() < UNREAD_EVENTS => match input {
                Some(input) => Some(input),
                None if machine.is_joining() => None,
                None => {
                    let failure = Some(fault::cut_off());
                    Some(Input::Lost { failure, status: None, stderr_tail: String::new() })
                }
            },
            () = wait_until(hands.deadline) => {
                hands.deadline = None;
                Some(Input::Elapsed)
            }
        };
        match input {
            Some(input) => {
                let effects = machine.step(input);
                // Before anybody hears of the end, and looks at the work tree.
                if effects.iter().any(is_end) {
                    litter.clear();
                }
                hands.perform(effects, &processes);
            }
            None => hands.join(&processes),
        }
    }
    // Notes before the last one still matter: a thread is let go by them.
    for (server, note) in hands.notes {
        // A process that is gone has nothing to let go of.
        server.send(note).await.ok();
    }
    for event in hands.outbox {
        // A reader that is gone misses nothing.
        events.send(event).await.ok();
    }
}

/// What effects act on.
struct Hands {
    member: Member,
    server: mpsc::Sender<Note>,
    inbox: mpsc::Receiver<Input>,
    /// What is to be said, and to which process: the one before may still have to hear that it was left.
    notes: VecDeque<(mpsc::Sender<Note>, Note)>,
    outbox: VecDeque<Event>,
    deadline: Option<Instant>,
    /// Between two processes, nobody speaks.
    is_apart: bool,
    is_finished: bool,
}

impl Hands {
    fn new(processes: &impl SharedProcesses) -> Self {
        let (member, server) = processes.join();
        let (sender, inbox) = mpsc::channel(INBOX);
        let notes = VecDeque::from([(server.clone(), Note::Join { member, inbox: sender })]);
        let (outbox, deadline) = (VecDeque::new(), None);
        Self { member, server, inbox, notes, outbox, deadline, is_apart: false, is_finished: false }
    }

    /// Looks for another process; what is still to be said to the one before is said.
    fn join(&mut self, processes: &impl SharedProcesses) {
        let mut next = Self::new(processes);
        std::mem::swap(&mut next.outbox, &mut self.outbox);
        std::mem::swap(&mut next.notes, &mut self.notes);
        next.notes.append(&mut self.notes);
        *self = next;
    }

    fn say(&mut self, note: Note) {
        self.notes.push_back((self.server.clone(), note));
    }

    /// Queues; never waits.
    fn perform(&mut self, effects: Vec<Effect>, processes: &impl SharedProcesses) {
        for effect in effects {
            match effect {
                Effect::Ask { tag, method, params, limit } => {
                    let ask = Ask { member: self.member, tag, method, params, limit };
                    self.say(Note::Ask(ask));
                }
                Effect::Answer { id, outcome } => self.say(Note::Answer { id, outcome }),
                Effect::Emit(event) => self.outbox.push_back(event),
                Effect::Arm(after) => self.deadline = Some(Instant::now() + after),
                Effect::Disarm => self.deadline = None,
                Effect::Suspect => self.say(Note::Suspect),
                Effect::Outdated => {
                    // At once: whoever hears of the failure may begin again before the process reads its notes.
                    processes.unlist(&self.server);
                    self.say(Note::Outdated);
                }
                Effect::Part => {
                    self.say(Note::Leave(self.member));
                    self.is_apart = true;
                }
                Effect::Join => self.join(processes),
                Effect::Finish => {
                    self.say(Note::Leave(self.member));
                    self.is_finished = true;
                }
            }
        }
    }
}

fn is_end(effect: &Effect) -> bool {
    matches!(effect, Effect::Emit(Event::Final { .. } | Event::Failed(_)))
}

/// Room for the oldest note; `None` when there is nobody to read it.
async fn room(oldest: Option<&(mpsc::Sender<Note>, Note)>) -> Option<mpsc::OwnedPermit<Note>> {
    let (server, _) = oldest?;
    server.clone().reserve_owned().await.ok()
}

/// Codex goes on without an image that it cannot read, so whoever sent it would not learn of it.
fn missing_image(command: &Command) -> Option<PathBuf> {
    let Command::Prompt { blocks } = command else { return None };
    blocks.iter().find_map(|block| match block {
        Block::Image(image) if !image.path.is_file() => Some(image.path.clone()),
        Block::Image(_) | Block::Text(_) => None,
    })
}
