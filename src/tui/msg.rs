//! What reaches the model, and what the model wants done: the two languages between `update` and the shell.

use std::path::PathBuf;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Size;

use crate::api::agent::AgentFiles;
use crate::api::attach::Program;
use crate::api::error::{Error, HookChanges, UnseenChanges};
use crate::api::event::{Event, Live};
use crate::api::image::Image;
use crate::api::permission::SavedPlan;
use crate::api::project::{Backend, Check, ConfigValue, Trust};
use crate::api::publish::{CreatePull, UpdatePull};
use crate::api::request::{CreateSession, Decide, MergeHooks, MergeStyle, MergeUnseen, SendPrompt, SetPosture};
use crate::api::resolution::ResolutionProposal;
use crate::api::review::{Review, Side};
use crate::api::session::{Diff, QueuedPrompt, Session};
use crate::api::workflow::Workflow;

use super::composer::Target;
use super::notice::Notice;
use super::panel::{Look, Seen};
use super::world::Repository;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Msg {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// Text that the terminal says was pasted.
    Paste(String),
    Resize(Size),
    /// The window came to the front.
    Focused,
    Unfocused,
    /// The clock moved on; ages are counted from here.
    Time(i64),
    /// A durable fact from the stream of all sessions.
    Fact(Box<Event>),
    /// A record that is never stored.
    Live(Box<Live>),
    /// The daemon is there, and the stream begins.
    Connected,
    /// The daemon is gone; the shell looks for it again.
    Lost(String),
    /// Somebody has stopped the daemon; the shell looks whether there is another.
    Stopped,
    /// A question that any daemon answers at once has no answer since then.
    Silent {
        since: i64,
    },
    /// The daemon that was silent answers again.
    Answers,
    /// Somebody wrote the user's settings.
    SettingsChanged,
    Reply(Reply),
}

/// Something that is done outside of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    /// Sessions of the repository, from the first to the last.
    List,
    /// The removed ones that can still be restored.
    ListRemoved,
    /// What is to be said about sessions whose repository is not where it was.
    FindMoved,
    /// One session again.
    Read(String),
    /// Stored events of a session before this number, the latest of them; the end of the transcript without one.
    Page {
        session: String,
        before: Option<u64>,
    },
    Create {
        ticket: Ticket,
        create: Box<CreateSession>,
    },
    Prompt {
        ticket: Ticket,
        session: String,
        prompt: Box<SendPrompt>,
    },
    Answer {
        session: String,
        answers: Vec<String>,
    },
    Decide {
        session: String,
        request: String,
        decision: Decide,
    },
    Stop(String),
    Resume(String),
    Merge {
        session: String,
        style: Option<MergeStyle>,
        hooks: MergeHooks,
        unseen: MergeUnseen,
    },
    Rebase(String),
    /// Asks a model to resolve a conflict.
    ProposeResolution(String),
    AcceptResolution {
        session: String,
        proposal: String,
    },
    Integrate(String),
    Undo {
        session: String,
        to: Option<u32>,
        /// The merge that is taken back instead, by its commit.
        merge: Option<String>,
    },
    /// Takes the last undo back.
    Redo(String),
    Archive(String),
    Remove(String),
    Restore(String),
    SetPosture {
        session: String,
        posture: SetPosture,
    },
    /// Forgets a queued prompt.
    Drop {
        session: String,
        number: u32,
    },
    Diff {
        session: String,
        turn: Option<u32>,
    },
    Review(ReviewAct),
    /// The files that a mention can name: of the session's worktree, or of the repository.
    Files {
        session: Option<String>,
    },
    Backends,
    /// The MCP servers of the agent programs that can be imported.
    ImportableServers,
    Agents,
    Config,
    /// Writes one key, or takes it away.
    SetConfig {
        key: String,
        value: Option<String>,
        scope: Scope,
    },
    Trust,
    GrantTrust {
        hash: String,
    },
    /// Sends a branch or a pull request away.
    Publish(Publish),
    /// Asks for a text to read.
    Look(Look),
    /// The plans of the repository that wait.
    Plans,
    /// The prompts of a session that wait.
    Queue(String),
    Doctor,
    /// The tasks and the plan of a session.
    Workflow(String),
    Repository,
    /// Opens a file in the person's editor, in the worktree of a session.
    Edit {
        session: String,
        path: String,
        line: Option<u32>,
    },
    /// Opens a text in the person's editor; it comes back as `Reply::Edited`.
    EditText {
        text: String,
    },
    Copy(String),
    /// Takes an image, or else the text, from the clipboard, for this draft.
    TakeImage {
        target: Target,
    },
    /// Reads an image file that was dropped on this draft; it stands there as it was spelled.
    ReadImage {
        target: Target,
        path: PathBuf,
        spelled: String,
    },
    /// The agent's own interface, or a shell, in the session's worktree.
    Attach {
        session: String,
        program: Program,
    },
    /// What is being opened there is not wanted any more.
    Detach,
    /// A command of the person's, in the terminal, such as a login.
    Run(String),
    /// The tour on scripted agents.
    Demo,
    Notify(Notice),
    /// Looks for what was written in another face, before anything is written here.
    Recall,
    /// Keeps what is written, a moment later and once for many changes.
    Save,
    Redraw,
    Suspend,
    Quit,
}

/// What is done with the comments on a session's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReviewAct {
    Read {
        session: String,
    },
    Comment {
        session: String,
        path: String,
        line: u32,
        side: Side,
        quote: String,
        text: String,
    },
    Reword {
        session: String,
        comment: u32,
        text: String,
    },
    Drop {
        session: String,
        comment: u32,
    },
    /// `digest` names the patch that was looked at; without one the file counts as not looked at.
    Mark {
        session: String,
        path: String,
        digest: Option<String>,
    },
    Send {
        session: String,
    },
    /// Has a model prepare the review.
    Prepare {
        session: String,
        focus: String,
    },
}

/// What leaves the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Publish {
    Push { session: String, branch: Option<String> },
    Create { session: String, create: CreatePull },
    Update { session: String, update: UpdatePull },
}

impl Publish {
    pub(crate) fn session(&self) -> &str {
        match self {
            Publish::Push { session, .. } | Publish::Create { session, .. } | Publish::Update { session, .. } => {
                session
            }
        }
    }
}

/// Names a prompt until the daemon has taken it, so that a refusal gives the text back.
pub(crate) type Ticket = u64;

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Sessions(Vec<Session>),
    /// Sentences about sessions whose repository is not where it was.
    Moved(Vec<String>),
    /// What can be restored.
    Removed(Vec<Session>),
    Session(Box<Session>),
    /// A session that is not there any more.
    Gone(String),
    /// A session that could not be read.
    Unread {
        session: String,
        error: Error,
    },
    Page {
        session: String,
        events: Vec<Event>,
        reach: Reach,
    },
    /// A prompt was taken by the session.
    Taken {
        ticket: Ticket,
        session: Box<Session>,
    },
    /// It was not.
    Refused {
        ticket: Ticket,
        error: Error,
    },
    /// A merge was refused because commit hooks changed it.
    HookChanges {
        session: String,
        style: Option<MergeStyle>,
        unseen: MergeUnseen,
        changes: HookChanges,
    },
    /// A merge or a rebase was refused because the work changed after the person looked at it.
    UnseenChanges {
        session: String,
        changes: UnseenChanges,
    },
    Diff {
        session: String,
        turn: Option<u32>,
        diff: Box<Diff>,
    },
    Review {
        session: String,
        review: Review,
    },
    /// A model prepared the review.
    Prepared {
        session: String,
        review: Review,
    },
    Files {
        session: Option<String>,
        files: Vec<String>,
    },
    Backends(Vec<Backend>),
    /// How many there are.
    ImportableServers(usize),
    Agents(AgentFiles),
    Config(Vec<ConfigValue>),
    Trust(Box<Trust>),
    Resolution(Box<ResolutionProposal>),
    /// A text to read.
    Seen(Box<Seen>),
    Plans(Vec<SavedPlan>),
    Queue {
        session: String,
        prompts: Vec<QueuedPrompt>,
    },
    Doctor(Vec<Check>),
    Workflow {
        session: String,
        workflow: Box<Workflow>,
    },
    Repository(Repository),
    Edited(String),
    /// What was copied, in a word.
    Copied(String),
    /// A text of the clipboard, for the draft that it was asked for.
    Text {
        target: Target,
        text: String,
    },
    /// An image for the draft that it was asked for.
    Image {
        target: Target,
        /// What stands in its place there.
        spelled: Option<String>,
        image: Image,
    },
    Merged(Box<Session>),
    Archived(Box<Session>),
    /// An act on a session succeeded; `said` tells it.
    Done {
        said: String,
        session: Option<Box<Session>>,
    },
    /// A setting was not written; `value` is what it was to be.
    Unset {
        key: String,
        value: String,
        error: Error,
    },
    /// A request failed.
    Failed {
        doing: String,
        error: Error,
    },
    /// What came of opening a program in a session's worktree.
    Opened(Result<(), Error>),
    /// The person is back from another program.
    Back,
}

/// How far back a page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing is before it.
    Start,
    /// There is more.
    More,
}
