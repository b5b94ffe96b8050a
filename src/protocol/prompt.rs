//! Builds the text that goes to a backend: the rules, what the agent must know about the past, then the task.
//!
//! The wording lives in `templates/prompt/`. Everything after the first line of three dashes is the task, untouched.
//! No prompt begins with `/` or `$`: some CLIs take such a first line as a command of their own.

mod aside;
mod comments;
mod hook_fix;
mod parts;
mod replay;
mod review;
mod role;

use askama::Template;

use super::parse::ResponseError;
use super::schema::schema_text;

pub use aside::{MarkedConflict, MarkedPath, Work, message, resolution, title};
pub use comments::{Comment, Side, comments};
pub use hook_fix::{HookRefusal, hook_fix};
pub use parts::{Part, split};
pub use replay::{PastTurn, Transcript, TurnEnd};
pub use review::{ReviewedChanges, review};
pub use role::{Hearing, Loaded, Role, Tools};

const SEPARATOR: &str = "\n\n---\n\n";

/// What is asked of a backend; it is decided before the backend hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The first turn of a session.
    SessionStart,
    /// A later turn of a session.
    SessionResume,
    /// One question on the side, never in a session's own conversation.
    UtilityPrompt,
}

/// Which rules a request comes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A turn of a session.
    SessionTurn,
    /// One question on the side, such as a title; nobody answers back.
    UtilityPrompt,
}

/// How much the backend's context already holds.
#[derive(Debug, Clone, Copy)]
pub enum Delivery<'a> {
    /// An empty context.
    BootstrapFull,
    /// The same context as in the turns before.
    DeltaOnly,
    /// An empty context of a session that has a past; `limit` bounds the record of it in bytes.
    BootstrapWithReplay { transcript: &'a Transcript, limit: usize },
}

/// Where the rules of a conversation stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the top of the first prompt.
    InPrompt,
    /// Beside the conversation, from where the model sees them with every turn.
    Beside,
}

/// Something that happened between the turns and that the agent cannot see by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The files went back to where they were before these turns.
    Undone { first: u32, last: u32 },
    /// This turn was stopped before its end; its changes are still in the files.
    Interrupted { turn: u32 },
    /// The base branch was merged into the files, and these of them hold marks of conflicts.
    Conflict { base: String, files: Vec<String> },
    /// The turn makes a plan, in this file.
    PlanMode { file: String },
    /// Earlier turns made a plan, and this one may change files.
    PlanModeOver,
}

/// One question of the agent and what the person said; blank text means nothing was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub question: String,
    pub text: String,
}

/// Everything that goes before the task of a session's turn.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    pub request: Request,
    pub place: Place,
    pub delivery: Delivery<'a>,
    pub role: Role<'a>,
    /// What the context of a delta has heard of the role.
    pub hearing: Hearing,
    /// The skills that the task names.
    pub loaded: &'a [Loaded<'a>],
    pub notes: &'a [Note],
    /// What others said that the agent needs for the task.
    pub context: Option<&'a str>,
}

/// Renders a whole prompt of a question on the side.
pub fn render(profile: Profile, place: Place, delivery: Delivery<'_>, notes: &[Note], task: &str) -> String {
    let parts = [Some(rules(profile, place, delivery)), past(delivery), lines(notes)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + SEPARATOR + task
}

/// Renders what goes before the task of a session's turn, the line between them included.
pub fn before(turn: &Turn<'_>) -> String {
    let Turn { request, place, delivery, role, hearing, loaded, notes, context } = *turn;
    let role = match (place, delivery, hearing) {
        (Place::InPrompt, Delivery::BootstrapFull | Delivery::BootstrapWithReplay { .. }, _) => {
            Some(role::block(&role, Hearing::Same))
        }
        (Place::InPrompt, Delivery::DeltaOnly, Hearing::Other) => Some(role::block(&role, Hearing::Other)),
        (Place::Beside, Delivery::DeltaOnly, Hearing::Other) => Some(role::switched(&role)),
        (Place::Beside, Delivery::BootstrapFull | Delivery::BootstrapWithReplay { .. }, _)
        | (Place::InPrompt | Place::Beside, Delivery::DeltaOnly, Hearing::Same) => None,
    };
    let said = role.into_iter().chain(loaded.iter().map(role::loaded));
    let said = said.map(|text| role::undivided(&text).into_owned());
    let rules = rules(request.profile(), place, delivery);
    let parts: Vec<_> = [rules].into_iter().chain(said).chain(past(delivery)).chain(lines(notes)).collect();
    let context = context.filter(|context| !context.trim().is_empty());
    let context = context.map(|context| text(&Context { context: replay::quote(context.trim()) }) + "\n\n");
    parts.join("\n\n") + SEPARATOR + &context.unwrap_or_default()
}

/// The rules and the role of a session: for a system prompt.
pub fn beside(role: &Role<'_>) -> String {
    preamble(Profile::SessionTurn) + "\n\n" + &role::block(role, Hearing::Same)
}

fn rules(profile: Profile, place: Place, delivery: Delivery<'_>) -> String {
    match (place, delivery) {
        (Place::InPrompt, Delivery::BootstrapFull | Delivery::BootstrapWithReplay { .. }) => preamble(profile),
        (Place::InPrompt, Delivery::DeltaOnly) | (Place::Beside, _) => text(&Refresh { profile }),
    }
}

fn past(delivery: Delivery<'_>) -> Option<String> {
    match delivery {
        Delivery::BootstrapWithReplay { transcript, limit } if !transcript.turns.is_empty() => {
            Some(replay::render(transcript, limit))
        }
        Delivery::BootstrapWithReplay { .. } | Delivery::BootstrapFull | Delivery::DeltaOnly => None,
    }
}

fn lines(notes: &[Note]) -> Option<String> {
    (!notes.is_empty()).then(|| notes.iter().map(Note::line).collect::<Vec<_>>().join("\n"))
}

/// The rules alone: for a system prompt, and for the hash that tells whether a context knows them.
pub fn preamble(profile: Profile) -> String {
    text(&Preamble { profile, schema: schema_text() })
}

/// Asks for the response again after a refusal.
pub fn repair(error: &ResponseError) -> String {
    text(&Repair { error })
}

/// Asks for a response again whose answer has another form than the task asks for.
pub fn repair_answer(reason: &str) -> String {
    text(&RepairAnswer { reason })
}

/// The task that carries the answers to all questions of a turn.
pub fn answers(answers: &[Answer]) -> String {
    let spoken = |answer: &Answer| match answer.text.trim() {
        "" => "no answer".to_owned(),
        said => said.to_owned(),
    };
    let answers = answers.iter().map(|answer| Answer { text: spoken(answer), ..answer.clone() }).collect();
    text(&Answers { answers })
}

impl Request {
    /// The rules that go with it.
    pub fn profile(self) -> Profile {
        match self {
            Self::SessionStart | Self::SessionResume => Profile::SessionTurn,
            Self::UtilityPrompt => Profile::UtilityPrompt,
        }
    }
}

impl Note {
    fn line(&self) -> String {
        match self {
            Self::Undone { first, last } if first == last => {
                format!("Note: turn {first} was undone. Its changes are gone from the files; do not rely on them.")
            }
            Self::Undone { first, last } => format!(
                "Note: turns {first} to {last} were undone. Their changes are gone from the files; do not rely on them."
            ),
            Self::Interrupted { turn } => format!(
                "Note: turn {turn} was interrupted before its end. What it changed is still in the files, perhaps half \
                 done: look before you go on."
            ),
            Self::Conflict { base, files } => format!(
                "Note: this work and {base} changed the same places. {base} is merged into the files here already, and \
                 these hold conflict marks (`<<<<<<<`, `=======`, `>>>>>>>`): {}. Where you are asked to resolve the \
                 conflict, edit the files until both changes are served and no mark is left; `git merge` and `git \
                 rebase` are neither needed nor possible here.",
                files.join(", ")
            ),
            Self::PlanMode { file } => text(&PlanMode { file }),
            Self::PlanModeOver => {
                "Note: plan mode is over. Files can be changed again, as far as you are allowed to.".to_owned()
            }
        }
    }
}

#[derive(Template)]
#[template(path = "prompt/preamble.md")]
struct Preamble<'a> {
    profile: Profile,
    schema: &'a str,
}

#[derive(Template)]
#[template(path = "prompt/refresh.md")]
struct Refresh {
    profile: Profile,
}

#[derive(Template)]
#[template(path = "prompt/context.md")]
struct Context {
    context: String,
}

#[derive(Template)]
#[template(path = "prompt/plan_mode.md")]
struct PlanMode<'a> {
    file: &'a str,
}

#[derive(Template)]
#[template(path = "prompt/repair.md")]
struct Repair<'a> {
    error: &'a ResponseError,
}

#[derive(Template)]
#[template(path = "prompt/repair_answer.md")]
struct RepairAnswer<'a> {
    reason: &'a str,
}

#[derive(Template)]
#[template(path = "prompt/answers.md")]
struct Answers {
    answers: Vec<Answer>,
}

/// Rendering writes to a string, which cannot fail.
fn text(template: &impl Template) -> String {
    template.render().unwrap_or_default()
}
