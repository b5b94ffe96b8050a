//! One task per session that has something going on: events in, `step`, effects out, no decisions of its own.
//!
//! The task begins with the first message, holds the backend's conversation, and ends when nothing is left to do; what
//! it knows is in the store by then.

mod approval;
mod attach;
mod call;
mod child;
mod command;
mod conflict;
mod effect;
mod external;
mod hook_fix;
mod integrate;
mod left_out;
mod merge_undo;
mod naming;
mod passed;
mod pending;
mod persist;
mod plan;
mod plan_mode;
mod question;
mod queue;
mod redo;
mod resolution;
mod retire;
mod review;
mod submodule;
mod tree;
mod turn;
mod uncommitted;
mod undo;
mod unseen;
mod work;

pub(super) use integrate::shell_word;
pub(super) use tree::{blocking, changes, in_quiet_tree};

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::api::event::{Payload, PromptAuthor};
use crate::api::handoff::Handoff;
use crate::api::request::{Decide, Merge, Undo};
use crate::api::session::{Changes, Session};
use crate::api::{self, request::When};
use crate::backend::Conversation;
use crate::backend::event::Event as BackendEvent;
use crate::id::SessionId;
use crate::permission::Posture;
use crate::session::{self, Event};
use crate::store::{Change, StoreError};

use super::attach::Visit;
use super::crash;
use super::delegate::News;
use super::fault::Fault;
use super::idle_agents::IdlePlace;
use super::image::Picture;
use super::prepare::{Prepared, SetupChoice, Unprepared};
use super::record::{ConversationRecord, Record, Switch};
use super::recover::{self, Settled};
use super::resolution::ProposalCommand;
use super::shared::{Going, Shared};
use super::slots::{Permit, Wish};
use super::stoppable::GivenUp;
use super::timing::Timing;
use attach::Guest;
use call::Calls;
use pending::{finished, granted, heard, left, retired, until};
use turn::TurnRun;

/// How many messages may wait for one session.
const INBOX: usize = 128;

/// Where the outcome of a message goes: the session as it is afterwards.
pub(super) type Reply = oneshot::Sender<Result<Session, api::error::Error>>;

/// What a session can be told.
pub(super) enum Message {
    Command(Command, Reply),
    /// Stops what runs, stores the outcome and ends the task.
    Shutdown(oneshot::Sender<()>),
}

/// What a client wants of one session.
#[derive(Debug)]
pub(super) enum Command {
    /// Begins the first queued prompt of a session that was just created.
    Start,
    Send {
        draft: Box<Draft>,
        when: When,
    },
    /// Sends what a person said about the changes.
    SendReview,
    /// Forgets a prompt that waits.
    DropPrompt {
        number: u32,
    },
    Answer {
        answers: Vec<String>,
    },
    Decide {
        request: String,
        decide: Decide,
    },
    SetPosture {
        posture: Option<Posture>,
        yolo: Option<bool>,
    },
    Stop,
    /// Stops the turn in progress, if there is one, for a reason of the engine's own.
    Abort {
        reason: String,
    },
    Resume(SetupChoice),
    Undo(Undo),
    /// Takes the last undo back.
    Redo,
    /// The repository was moved.
    Relink {
        common_dir: String,
    },
    Merge(Merge),
    Rebase,
    Resolution(ProposalCommand),
    /// Brings a child's files into its parent's work tree.
    Integrate,
    /// Lets a person into the worktree.
    Attach(Visit),
    /// Gives a child another note.
    Note {
        note: Option<String>,
    },
    Archive,
    Remove,
    Restore,
    /// A title that was asked for when the session had the title `from`.
    Retitle {
        from: String,
        to: String,
    },
    /// What is in the files of a session that was cut off in this turn, which counted as `was` until now.
    Recount {
        turn: u32,
        was: Changes,
        now: Changes,
    },
    /// Commits what could not be committed when its turn ended.
    CommitAgain,
    /// A message that was asked for when the checkpoint of the turn was `commit`.
    Reword {
        turn: u32,
        commit: String,
        message: String,
    },
}

/// A prompt that was checked and is not stored.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) images: Vec<Picture>,
    pub(super) switch: Switch,
    /// What goes before the text.
    pub(super) context: Option<String>,
    pub(super) author: PromptAuthor,
}

/// Sends a message to a session's task, which is started if there is none.
pub(super) fn deliver(shared: &Arc<Shared>, id: SessionId, message: Message) {
    let mut actors = shared.actors();
    let message = match actors.get(&id) {
        None => message,
        Some(inbox) => match inbox.try_send(message) {
            Ok(()) => return,
            Err(mpsc::error::TrySendError::Closed(message)) => message,
            Err(mpsc::error::TrySendError::Full(message)) => return refuse(message),
        },
    };
    let (inbox, messages) = mpsc::channel(INBOX);
    // A channel that was just made has room for one message.
    inbox.try_send(message).ok();
    actors.insert(id, inbox);
    drop(actors);
    shared.tasks.spawn(run(shared.clone(), id, shared.busy(), messages));
}

/// Asks a session's task for something. Git is given up where it would hold up a command that does not need its result.
pub(super) async fn ask(
    shared: &Arc<Shared>,
    id: SessionId,
    command: Command,
) -> Result<Result<Session, api::error::Error>, oneshot::error::RecvError> {
    let gives_up_git = match command {
        Command::Stop | Command::Abort { .. } | Command::Archive | Command::Remove => true,
        Command::Start
        | Command::Send { .. }
        | Command::SendReview
        | Command::DropPrompt { .. }
        | Command::Answer { .. }
        | Command::Decide { .. }
        | Command::SetPosture { .. }
        | Command::Resume(_)
        | Command::Undo(_)
        | Command::Redo
        | Command::Relink { .. }
        | Command::Merge(_)
        | Command::Rebase
        | Command::Resolution(_)
        | Command::Integrate
        | Command::Attach(_)
        | Command::Note { .. }
        | Command::Restore
        | Command::Retitle { .. }
        | Command::Recount { .. }
        | Command::CommitAgain
        | Command::Reword { .. } => false,
    };
    let (reply, answer) = oneshot::channel();
    deliver(shared, id, Message::Command(command, reply));
    match gives_up_git {
        true => shared.runs.give_up_until(GivenUp::OfSession(id), answer).await,
        false => answer.await,
    }
}

fn refuse(message: Message) {
    if let Message::Command(_, reply) = message {
        // The client may be gone.
        reply.send(Err(Fault::Overloaded.into())).ok();
    }
}

async fn run(shared: Arc<Shared>, id: SessionId, going: Going, mut inbox: mpsc::Receiver<Message>) {
    match load(&shared, id).await {
        Ok((record, handoff)) => Actor::new(shared, going, record, handoff, inbox).run().await,
        Err(fault) => {
            let error = api::error::Error::from(fault);
            shared.actors().remove(&id);
            inbox.close();
            while let Some(message) = inbox.recv().await {
                match message {
                    // The client may be gone.
                    Message::Command(_, reply) => drop(reply.send(Err(error.clone()))),
                    Message::Shutdown(done) => drop(done.send(())),
                }
            }
        }
    }
}

async fn load(shared: &Arc<Shared>, id: SessionId) -> Result<(Record, Option<Handoff>), Fault> {
    let row = shared.store.session(id).await?.ok_or(Fault::SessionGone { id })?;
    let mut record = Record::read(row)?;
    // The last task of this session may have ended in the middle of something.
    match recover::one(shared, &mut record).await? {
        Settled::CutOff => drop(shared.tasks.spawn(recover::count_all(shared.clone(), vec![record.clone()]))),
        Settled::AsItWas => {}
    }
    let handoff = child::load(shared, &record).await?;
    Ok((record, handoff))
}

/// One session at work.
struct Actor {
    shared: Arc<Shared>,
    activity: Activity,
    id: SessionId,
    record: Record,
    state: session::Session,
    inbox: mpsc::Receiver<Message>,
    wish: Option<Wish>,
    permit: Option<Permit>,
    preparation: Option<Preparation>,
    /// What a person decided about the project's setup command, for the next preparation.
    setup: SetupChoice,
    conversation: Option<Conversation>,
    /// What the open conversation is; the record has it once the model has heard the rules in it.
    open: Option<ConversationRecord>,
    turn: Option<TurnRun>,
    /// What a person works with in the tree.
    guest: Option<Guest>,
    calls: Calls,
    /// The delegation that made this session, as it is stored.
    handoff: Option<Handoff>,
    /// It changed, and those who wait for it are not told yet.
    handoff_touched: bool,
    timing: Timing,
    /// The agent's process was started with more than the posture allows by now; it ends with its turn.
    has_wider_cage: bool,
    /// Facts that the next `Persist` writes.
    staged: Vec<Payload>,
    /// Warnings that were stored since the last command began; they are part of its answer.
    warnings: Vec<String>,
    /// Changes that the store did not take; they come before everything else.
    unsaved: Vec<Change>,
    /// Set by whoever interrupts a turn in order to send something else, and by a prompt that waits for a person to leave.
    go_on: bool,
    /// Somebody asked for a stop while the turn was closing: no queued prompt follows it.
    is_stopped_late: bool,
    /// The turn that ends is followed by a queued prompt at once: nobody is to see the session at rest in between.
    follows: bool,
    closing: Option<oneshot::Sender<()>>,
    /// Those who asked for a stop and wait for the turn to end.
    stopping: Vec<Reply>,
    /// What came in while a merge was made, or a turn was closing.
    put_off: VecDeque<Message>,
}

/// Whether the session keeps the daemon alive.
enum Activity {
    Going {
        _until: Going,
    },
    /// Nothing goes on, and an agent is kept for the next prompt.
    Idle(IdlePlace),
}

struct Preparation {
    task: JoinHandle<Result<Prepared, Unprepared>>,
    abort: CancellationToken,
}

/// Everything that can wake a session's task.
#[expect(clippy::large_enum_variant, reason = "it lives for one step")]
enum Wake {
    Message(Option<Message>),
    Granted(Permit),
    Prepared(Result<Prepared, Unprepared>),
    Backend(Option<BackendEvent>),
    Call(News),
    /// The person's program ended.
    Left(i32),
    Due,
    /// The idle agent has to end.
    Retired,
    MergeAgain,
}

impl Actor {
    fn new(
        shared: Arc<Shared>,
        going: Going,
        record: Record,
        handoff: Option<Handoff>,
        inbox: mpsc::Receiver<Message>,
    ) -> Self {
        Self {
            shared,
            activity: Activity::Going { _until: going },
            id: record.id,
            state: record.found(),
            record,
            inbox,
            wish: None,
            permit: None,
            preparation: None,
            setup: SetupChoice::default(),
            conversation: None,
            open: None,
            turn: None,
            guest: None,
            calls: Calls::new(),
            handoff,
            handoff_touched: false,
            timing: Timing::default(),
            has_wider_cage: false,
            staged: Vec::new(),
            warnings: Vec::new(),
            unsaved: Vec::new(),
            go_on: false,
            is_stopped_late: false,
            follows: false,
            closing: None,
            stopping: Vec::new(),
            put_off: VecDeque::new(),
        }
    }

    async fn run(mut self) {
        loop {
            match self.wake().await {
                Wake::Message(Some(message)) => {
                    self.begin_activity();
                    self.take(message).await;
                }
                Wake::Message(None) => break,
                Wake::Granted(permit) => {
                    self.wish = None;
                    self.permit = Some(permit);
                    self.step(Event::SlotGranted).await;
                }
                Wake::Prepared(result) => {
                    self.preparation = None;
                    self.prepared(result).await;
                }
                Wake::Backend(Some(event)) => self.backend(event).await,
                Wake::Backend(None) => self.backend_gone().await,
                Wake::Call(news) => self.call_news(news).await,
                Wake::Left(exit) => self.guest_left(exit).await,
                Wake::Due => self.due().await,
                Wake::Retired => self.end_conversation().await,
                Wake::MergeAgain => self.merge_again().await,
            }
            if !self.state.is_occupied() {
                self.answer_stops();
            }
            match (self.is_at_rest(), self.conversation.is_some()) {
                (true, false) if self.leave() => break,
                (true, true) => self.begin_idleness(),
                (true, false) | (false, _) => self.begin_activity(),
            }
        }
        self.shared.live.settle(self.id);
        self.shared.forget_unsaved(self.id);
        if let Some(done) = self.closing.take() {
            // Whoever waits for the end may be gone.
            done.send(()).ok();
        }
    }

    /// Tells those who asked for a stop that the turn has ended.
    fn answer_stops(&mut self) {
        for reply in self.stopping.drain(..) {
            let warnings = self.warnings.clone();
            // The client may be gone.
            reply.send(Ok(Session { warnings, ..super::view::session(&self.shared, &self.record) })).ok();
        }
    }

    /// Takes the stops that came while the turn was closing: its end is what they want, and nothing is to follow it.
    fn take_stops(&mut self) {
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Command(Command::Stop, reply) if self.put_off.is_empty() => {
                    self.is_stopped_late = true;
                    self.stopping.push(reply);
                }
                message => self.put_off.push_back(message),
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        if let Some(message) = self.put_off.pop_front() {
            return Wake::Message(Some(message));
        }
        let due = self.timing.due(self.state, self.conversation.is_some());
        tokio::select! {
            biased;
            message = self.inbox.recv() => Wake::Message(message),
            () = std::future::ready(()), if self.is_merge_due() => Wake::MergeAgain,
            permit = granted(&mut self.wish) => Wake::Granted(permit),
            result = finished(&mut self.preparation) => Wake::Prepared(result),
            event = heard(&mut self.conversation) => Wake::Backend(event),
            news = self.calls.next() => Wake::Call(news),
            exit = left(&mut self.guest) => Wake::Left(exit),
            () = until(due) => Wake::Due,
            () = retired(&self.activity) => Wake::Retired,
        }
    }

    async fn take(&mut self, message: Message) {
        match message {
            Message::Command(command, reply) => {
                let stops = matches!(command, Command::Stop | Command::Abort { .. });
                self.warnings.clear();
                let result = self.obey(command).await;
                if stops && result.is_ok() {
                    return self.stopping.push(reply);
                }
                let warnings = std::mem::take(&mut self.warnings);
                let result = result
                    .map(|()| Session { warnings, ..super::view::session(&self.shared, &self.record) })
                    .map_err(api::error::Error::from);
                // The client may be gone.
                reply.send(result).ok();
            }
            Message::Shutdown(done) => {
                self.closing = Some(done);
                self.expire_waits();
                self.interrupt("the daemon ended").await;
                self.ask_guest_to_leave();
                if !self.state.is_turning() {
                    self.conversation = None;
                }
            }
        }
    }

    /// Advances the machine and performs what it asks for, until nothing follows. A store that refuses is dealt with.
    async fn step(&mut self, event: Event) {
        self.try_step(event).await.ok();
    }

    /// The same, for those who must not act when the store refuses.
    async fn try_step(&mut self, event: Event) -> Result<(), StoreError> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some((next, effects)) = session::step(self.state, event) else {
                debug!(session = %self.id, state = ?self.state, ?event, "event ignored");
                continue;
            };
            self.state = next;
            self.timing.follow(self.state, Instant::now());
            for effect in effects {
                crash::point();
                match self.perform(effect).await {
                    Ok(follows) => events.extend(follows),
                    Err(error) => {
                        warn!(session = %self.id, %error, "the store does not accept writes");
                        self.give_up(&error).await;
                        return Err(error);
                    }
                }
            }
        }
        crash::point();
        Ok(())
    }

    fn begin_activity(&mut self) {
        match self.activity {
            Activity::Going { .. } => {}
            Activity::Idle(_) => self.activity = Activity::Going { _until: self.shared.busy() },
        }
    }

    fn begin_idleness(&mut self) {
        match self.activity {
            Activity::Going { .. } => self.activity = Activity::Idle(self.shared.idle_agents.join()),
            Activity::Idle(_) => {}
        }
    }

    /// Whether nothing is left to do. Without an agent that is kept, the task ends, and the next message starts another.
    fn is_at_rest(&self) -> bool {
        let waits = self.wish.is_some() || self.preparation.is_some() || self.is_merge_due();
        // A daemon that ends cannot wait for a store that refuses; what it refused is told as an interruption.
        let is_saved = self.unsaved.is_empty() || self.closing.is_some();
        !waits && !self.state.is_occupied() && is_saved
    }

    /// Takes the task off the list, unless a message came in meanwhile.
    fn leave(&mut self) -> bool {
        let mut actors = self.shared.actors();
        if !self.inbox.is_empty() || !self.put_off.is_empty() {
            return false;
        }
        actors.remove(&self.id);
        true
    }
}
