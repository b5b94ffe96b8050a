//! A question of the interface itself before something that cannot be taken back with a key: what exactly will happen,
//! and yes or no.
//!
//! Enter agrees to nothing that changes a branch: it is pressed without reading. Each of those has a letter.

mod said;
#[cfg(test)]
mod tests;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph};

use super::act::Step;
use super::composer::{self, Target};
use super::keymap::{Action, Context};
use super::model::{Model, Overlay};
use super::msg::{Publish, Request};
use super::typeahead::{self, TypeaheadGuard};
use super::{notice, review};
use crate::api::error::{HookChanges, UnseenChanges};
use crate::api::project::{Trust, TrustState};
use crate::api::publish::{CreatePull, UpdatePull};
use crate::api::request::{MergeHooks, MergeStyle, MergeUnseen, SetPosture};
use crate::api::resolution::ResolutionProposal;
use crate::api::session::{Session, Status, WaitingFor};
use crate::look::line::Line;
use said::{GAP, Press, Said, commit};

/// Wider than this, lines are hard to read.
const WIDEST: u16 = 92;
/// What the border and its padding take.
const FRAME: u16 = 4;

#[derive(Debug)]
pub(crate) struct State {
    about: About,
    scroll: usize,
    pub(super) guard: TypeaheadGuard,
}

#[derive(Debug)]
enum About {
    Merge {
        session: String,
        style: MergeStyle,
        hooks: MergeHooks,
        unseen: MergeUnseen,
    },
    /// Whether a merge takes what commit hooks changed.
    HookChanges {
        session: String,
        style: Option<MergeStyle>,
        unseen: MergeUnseen,
        changes: HookChanges,
    },
    /// Whether the person looks again at work that changed after they looked at it.
    UnseenChanges {
        session: String,
        changes: UnseenChanges,
    },
    /// The turn in progress of a session.
    Stop {
        session: String,
    },
    Undo {
        session: String,
        /// The last turn to keep; without one, the daemon takes back the last that changed something.
        to: Option<u32>,
    },
    /// The merge of a session out of its base branch again.
    UndoMerge {
        session: String,
        commit: String,
    },
    Rebase {
        session: String,
    },
    /// What a model proposes for a conflict.
    Resolution(Box<ResolutionProposal>),
    /// A child's changes into the files of its parent.
    Integrate {
        session: String,
    },
    Remove {
        session: String,
    },
    Publish(Publish),
    Yolo {
        /// `None` is the task that is being written.
        session: Option<String>,
    },
    Trust {
        trust: Box<Trust>,
        hash: String,
    },
}

/// How much a person has to mean it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Enter agrees.
    Light,
    /// Only the letter agrees: Enter is pressed without reading.
    Heavy,
}

impl About {
    fn weight(&self) -> Weight {
        match self {
            // It only shows the changes again.
            About::UnseenChanges { .. } => Weight::Light,
            // What the turn changed is kept, and the session goes on with the next prompt.
            About::Stop { .. } => Weight::Light,
            About::Merge { .. }
            | About::HookChanges { .. }
            | About::Undo { .. }
            | About::UndoMerge { .. }
            | About::Rebase { .. }
            | About::Resolution(_)
            | About::Integrate { .. }
            | About::Remove { .. }
            | About::Publish(_)
            | About::Yolo { .. }
            | About::Trust { .. } => Weight::Heavy,
        }
    }
}

pub(crate) fn merge(model: &mut Model) -> Vec<Request> {
    if let Some(why) = model.current().and_then(why_not_merged) {
        return notice::say(model, why.to_owned());
    }
    let style = match model.world.text_setting("merge.style") {
        Some("no-ff") => MergeStyle::NoFf,
        Some("rebase") => MergeStyle::Rebase,
        Some(_) | None => MergeStyle::Squash,
    };
    ask(model, |session| About::Merge { session, style, hooks: MergeHooks::Check, unseen: MergeUnseen::Refuse })
}

pub(crate) fn undo(model: &mut Model) -> Vec<Request> {
    match model.current() {
        Some(Session { undoable_merge: Some(merge), .. }) => {
            let commit = merge.commit.clone();
            ask(model, |session| About::UndoMerge { session, commit })
        }
        Some(session) if session.turns == 0 => notice::say(model, "there is no turn to take back".to_owned()),
        Some(session) if !can_be_undone(session) => {
            notice::say(model, "there is nothing to take back: no turn has changed a file".to_owned())
        }
        Some(current) => {
            let to = choices(current).into_iter().find(Option::is_none).unwrap_or(Some(1));
            ask(model, |session| About::Undo { session, to })
        }
        None => ask(model, |session| About::Undo { session, to: None }),
    }
}

/// Asks before a turn in progress ends.
pub(crate) fn stop(model: &mut Model) -> Vec<Request> {
    match model.current() {
        Some(session) if session.status.is_busy() => ask(model, |session| About::Stop { session }),
        // The daemon knows what else there is to stop, and says so where there is nothing.
        Some(session) => vec![Request::Stop(session.id.clone())],
        None => notice::say(model, "no session is selected".to_owned()),
    }
}

/// Why a session cannot be merged as it stands, where the question would be about nothing.
fn why_not_merged(session: &Session) -> Option<&'static str> {
    let is_offered = session.next.iter().any(|next| next == "merge");
    match (session.status, session.waiting_for) {
        (Status::Approval, _) | (_, Some(WaitingFor::Approval)) => {
            Some("not yet: the session waits for an approval, decide that first")
        }
        (Status::Merged, _) if !is_offered => Some("it is merged already"),
        (_, _) if !is_offered && session.changes.files == 0 && session.uncommitted.is_none() => {
            Some("there is nothing to merge: no file is changed")
        }
        (_, _) => None,
    }
}

/// Whether there are changes to take back, or some that were taken back and can come back.
fn can_be_undone(session: &Session) -> bool {
    let is_offered = session.next.iter().any(|next| next == "undo");
    is_offered || session.changes.files > 0 || session.uncommitted.is_some() || session.undone_to.is_some()
}

pub(crate) fn rebase(model: &mut Model) -> Vec<Request> {
    ask(model, |session| About::Rebase { session })
}

/// Asks a model; its proposal comes as a question.
pub(crate) fn resolve(model: &mut Model) -> Vec<Request> {
    let conflict = model.current().filter(|session| session.status == Status::Conflict);
    let Some(session) = conflict.map(|session| session.id.clone()) else {
        return notice::say(model, "no session in conflict is selected".to_owned());
    };
    let mut requests = notice::say(model, "the model looks at the conflict".to_owned());
    requests.push(Request::ProposeResolution(session));
    requests
}

/// Shows what a model proposes, unless the person is at something else by then.
pub(crate) fn resolution_came(model: &mut Model, proposal: ResolutionProposal) -> Vec<Request> {
    match model.can_be_interrupted() {
        true => open(model, About::Resolution(Box::new(proposal))),
        false => {
            let accept = format!("coppice resolve {} --accept {}", proposal.session, proposal.id);
            notice::say(model, format!("a resolution is proposed: `/resolve` asks again, `{accept}` applies it"))
        }
    }
}

pub(crate) fn integrate(model: &mut Model) -> Vec<Request> {
    ask(model, |session| About::Integrate { session })
}

pub(crate) fn remove(model: &mut Model) -> Vec<Request> {
    ask(model, |session| About::Remove { session })
}

/// Asks before a branch leaves the machine.
pub(crate) fn push(model: &mut Model, session: String, branch: Option<String>) -> Vec<Request> {
    open(model, About::Publish(Publish::Push { session, branch }))
}

pub(crate) fn create_pull(model: &mut Model, session: String, create: CreatePull) -> Vec<Request> {
    open(model, About::Publish(Publish::Create { session, create }))
}

pub(crate) fn update_pull(model: &mut Model, session: String, update: UpdatePull) -> Vec<Request> {
    open(model, About::Publish(Publish::Update { session, update }))
}

/// Asks before everything goes ahead; the way back needs no question.
pub(crate) fn yolo(model: &mut Model) -> Vec<Request> {
    // The same as a model or a posture: whoever would be written to.
    let target = composer::target(model).session().map(str::to_owned);
    let is_free = match target.as_ref().and_then(|id| model.world.sessions.get(id)) {
        Some(session) => session.yolo,
        None => composer::in_force(model, &Target::Task).yolo,
    };
    match is_free {
        true => turn_yolo(model, target),
        false => open(model, About::Yolo { session: target }),
    }
}

/// Shows what the repository asks for, unless the person is at something else by then: a key meant for that must not agree.
pub(crate) fn trust_came(model: &mut Model, trust: Trust) -> Vec<Request> {
    let at = commit(&trust.commit);
    match (trust.state, trust.hash.clone()) {
        (TrustState::NothingToTrust, _) | (_, None) => {
            notice::say(model, format!("the repository asks for nothing at {at}"))
        }
        (TrustState::Trusted, Some(_)) => {
            notice::say(model, format!("what the repository asks for at {at} is trusted"))
        }
        (TrustState::Untrusted | TrustState::Changed, Some(_)) if !model.can_be_interrupted() => {
            notice::say(model, "the repository asks for your trust: `/trust` shows what for".to_owned())
        }
        (TrustState::Untrusted | TrustState::Changed, Some(hash)) => {
            open(model, About::Trust { trust: Box::new(trust), hash })
        }
    }
}

/// Shows what commit hooks would add to a merge, unless the person is at something else by then.
pub(crate) fn hook_changes_came(
    model: &mut Model,
    session: String,
    style: Option<MergeStyle>,
    unseen: MergeUnseen,
    changes: HookChanges,
) -> Vec<Request> {
    match model.can_be_interrupted() {
        true => open(model, About::HookChanges { session, style, unseen, changes }),
        false => notice::warn(model, &format!("not merged: your commit hooks changed it: {}", changes.describe())),
    }
}

/// Shows what changed after the person looked at the work, unless they are at something else by then.
pub(crate) fn unseen_changes_came(model: &mut Model, session: String, changes: UnseenChanges) -> Vec<Request> {
    match model.can_be_interrupted() {
        true => open(model, About::UnseenChanges { session, changes }),
        false => notice::warn(model, &format!("refused: {}", changes.describe())),
    }
}

/// Whether Enter agrees to the question that is open.
pub(crate) fn is_light(model: &Model) -> bool {
    matches!(&model.overlay, Some(Overlay::Confirm(state)) if state.about.weight() == Weight::Light)
}

/// Enter: agrees where that is enough.
pub(crate) fn agree(model: &mut Model) -> Vec<Request> {
    match &model.overlay {
        Some(Overlay::Confirm(state)) if state.about.weight() == Weight::Heavy => {
            let leave = model.keymap.key(Context::Confirm, Action::Back).unwrap_or("-");
            notice::say(model, format!("y agrees, {leave} leaves it as it is"))
        }
        Some(Overlay::Confirm(_)) => agreed(model),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Decide(_) | Overlay::Panel(_)) | None => Vec::new(),
    }
}

/// A click on one of the keys below the question presses it.
pub(crate) fn clicked(model: &mut Model, at: Position) -> Vec<Request> {
    let area = Rect::new(0, 0, model.size.width, model.size.height);
    if !typeahead::admit_key(model, None) {
        return Vec::new();
    }
    let Some(Overlay::Confirm(state)) = &model.overlay else { return Vec::new() };
    let (around, _) = laid_out(model, state, area);
    if at.y.checked_add(1) != Some(around.bottom()) {
        return Vec::new();
    }
    // The corner and a blank stand before the first.
    let mut from = usize::from(around.x) + 2;
    let press = said::of(model, &state.about).keys.into_iter().find_map(|key| {
        let to = from + key.line().width();
        let is_here = (from..to).contains(&usize::from(at.x));
        from = to + GAP.len();
        is_here.then_some(key.press)
    });
    match press {
        Some(Press::Agree) => agree(model),
        Some(Press::Leave) => {
            model.close_overlay();
            Vec::new()
        }
        Some(Press::Letter(letter)) => typed(model, KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)),
        Some(Press::Move) | None => Vec::new(),
    }
}

/// Whether a letter changes how a question would be carried out, and answers nothing.
pub(crate) fn switches(model: &Model, letter: char) -> bool {
    let Some(Overlay::Confirm(state)) = &model.overlay else { return false };
    matches!(state.about, About::Merge { .. }) && matches!(letter, 's' | 'n' | 'r' | 'v' | 'f' | 'a')
}

/// A text is no answer.
pub(crate) fn close_unanswered(model: &mut Model) -> Vec<Request> {
    model.close_overlay();
    notice::say(model, "nothing was done: the question takes single keys, and what you typed was a text".to_owned())
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    let Some(Overlay::Confirm(state)) = &mut model.overlay else { return Vec::new() };
    // A letter with a modifier is another key, and nobody reads that it would agree.
    if key.modifiers != KeyModifiers::NONE {
        return refuse(model, key);
    }
    match (&mut state.about, key.code) {
        (_, KeyCode::Char('y')) => return agreed(model),
        (About::Merge { style, .. }, KeyCode::Char('s')) => *style = MergeStyle::Squash,
        (About::Merge { style, .. }, KeyCode::Char('n')) => *style = MergeStyle::NoFf,
        (About::Merge { style, .. }, KeyCode::Char('r')) => *style = MergeStyle::Rebase,
        (About::Merge { hooks, .. }, KeyCode::Char('v')) => {
            *hooks = if *hooks == MergeHooks::Skip { MergeHooks::Check } else { MergeHooks::Skip };
        }
        (About::Merge { hooks, .. }, KeyCode::Char('f')) => {
            *hooks = if *hooks == MergeHooks::Fix { MergeHooks::Check } else { MergeHooks::Fix };
        }
        (About::Merge { session, unseen, .. }, KeyCode::Char('a')) => {
            // Exactly the files that were refused, and nothing that somebody writes meanwhile.
            let refused = model.world.sessions.get(session).and_then(|session| session.unmarked_conflict.clone());
            *unseen = match (&*unseen, refused) {
                (MergeUnseen::Refuse, Some(id)) => MergeUnseen::AcceptOnly(vec![id]),
                (MergeUnseen::Refuse, None) => return refuse(model, key),
                (MergeUnseen::Accept | MergeUnseen::AcceptOnly(_), _) => MergeUnseen::Refuse,
            };
        }
        (About::HookChanges { session, style, unseen, .. }, KeyCode::Char(letter @ ('a' | 'v'))) => {
            let hooks = if letter == 'a' { MergeHooks::AcceptChanges } else { MergeHooks::Skip };
            let (session, style, unseen) = (session.clone(), *style, unseen.clone());
            model.close_overlay();
            return vec![Request::Merge { session, style, hooks, unseen }];
        }
        (_, KeyCode::Char('n' | 'q')) => model.close_overlay(),
        (_, _) => return refuse(model, key),
    }
    Vec::new()
}

/// A key that the question does not know: whoever presses it means something else, so nothing that follows agrees.
fn refuse(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    match key.code {
        KeyCode::Char(_)
        | KeyCode::Backspace
        | KeyCode::Delete
        | KeyCode::Insert
        | KeyCode::Tab
        | KeyCode::BackTab
        | KeyCode::F(_) => {
            model.close_overlay();
            notice::say(model, "nothing was done".to_owned())
        }
        // Keys that are held with others, and what a terminal may tell besides.
        _ => Vec::new(),
    }
}

/// Whether a letter that moves means something to the question: only where there is something to move.
pub(crate) fn takes(model: &Model, key: KeyEvent) -> bool {
    let Some(Overlay::Confirm(state)) = &model.overlay else { return true };
    match (key.code, &state.about) {
        (KeyCode::Char(_), About::Undo { .. }) => true,
        (KeyCode::Char(_), _) => furthest(model, state) > 0,
        (_, _) => true,
    }
}

fn furthest(model: &Model, state: &State) -> usize {
    let area = Rect::new(0, 0, model.size.width, model.size.height);
    let (area, lines) = laid_out(model, state, area);
    lines.len().saturating_sub(area.height.saturating_sub(2).into())
}

/// Scrolls; for an undo, chooses how far back.
pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let furthest = match &model.overlay {
        Some(Overlay::Confirm(state)) => furthest(model, state),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Decide(_) | Overlay::Panel(_)) | None => {
            return Vec::new();
        }
    };
    let Some(Overlay::Confirm(state)) = &mut model.overlay else { return Vec::new() };
    if let About::Undo { session, to } = &mut state.about {
        let choices = model.world.sessions.get(session.as_str()).map(choices).unwrap_or_default();
        let at = choices.iter().position(|choice| choice == to).unwrap_or_default();
        let step = match step {
            Step::Left => Step::Up,
            Step::Right => Step::Down,
            step => step,
        };
        *to = choices.get(step.moved(at, choices.len().saturating_sub(1))).copied().unwrap_or(*to);
        return Vec::new();
    }
    state.scroll = step.moved(state.scroll, furthest);
    Vec::new()
}

/// The last turns that an undo can keep: the earlier ones, then the daemon's own choice, which is the last turn that
/// changed something, then those that were undone.
fn choices(session: &Session) -> Vec<Option<u32>> {
    let here = session.stands_at();
    let own = (here > 0).then_some(None);
    (0..here.saturating_sub(1)).map(Some).chain(own).chain((here + 1..=session.turns).map(Some)).collect()
}

pub(crate) fn view(model: &Model, state: &State, frame: &mut Frame, area: Rect) {
    let Said { title, tone, keys, .. } = said::of(model, &state.about);
    let (area, lines) = laid_out(model, state, area);
    let room = usize::from(area.height.saturating_sub(2));
    let furthest = lines.len().saturating_sub(room);
    let shown: Vec<_> = lines.iter().skip(state.scroll.min(furthest)).map(|line| model.theme.line(line)).collect();
    let more = match furthest.saturating_sub(state.scroll) {
        0 => Line::new(),
        below => Line::new().dim(format!("… {below} more ")),
    };
    let width = usize::from(area.width.saturating_sub(FRAME));
    let keys = match state.guard.is_ready(model.now, model.patience) {
        true => keys.iter().enumerate().fold(Line::new(), |line, (place, key)| {
            let gap = if place == 0 { "" } else { GAP };
            line.plain(gap).then(key.line())
        }),
        false => Line::new().dim("…"),
    };
    let title = Line::new().plain(" ").with(tone, title).plain(" ").fit(width);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(model.theme.style(tone))
        .padding(Padding::horizontal(1))
        .title_top(model.theme.line(&title))
        .title_bottom(model.theme.line(&Line::new().plain(" ").then(keys).plain(" ").fit(width)))
        .title_bottom(model.theme.line(&more).right_aligned());
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(shown).block(block), area);
}

/// Where the question stands, and its lines in that width.
fn laid_out(model: &Model, state: &State, area: Rect) -> (Rect, Vec<Line>) {
    let width = area.width.min(WIDEST);
    let columns = usize::from(width.saturating_sub(FRAME));
    let lines: Vec<_> = said::of(model, &state.about).lines.iter().flat_map(|line| line.wrap(columns)).collect();
    let wanted = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let height = wanted.min(area.height);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    (Rect { x, y, width, height }, lines)
}

fn ask(model: &mut Model, about: impl FnOnce(String) -> About) -> Vec<Request> {
    match model.current_id().map(str::to_owned) {
        Some(id) => open(model, about(id)),
        None => notice::say(model, "no session is selected".to_owned()),
    }
}

fn open(model: &mut Model, about: About) -> Vec<Request> {
    model.overlay = Some(Overlay::Confirm(Box::new(State { about, scroll: 0, guard: TypeaheadGuard::default() })));
    Vec::new()
}

/// Lets everything go ahead or takes that back, for a session at once, for a task when it is sent.
fn turn_yolo(model: &mut Model, session: Option<String>) -> Vec<Request> {
    let Some(session) = session else { return composer::toggle_yolo(model) };
    let is_free = model.world.sessions.get(&session).is_some_and(|session| session.yolo);
    vec![Request::SetPosture { session, posture: SetPosture { posture: None, yolo: Some(!is_free) } }]
}

fn agreed(model: &mut Model) -> Vec<Request> {
    let Some(Overlay::Confirm(state)) = model.overlay.take() else { return Vec::new() };
    match state.about {
        About::Merge { session, style, hooks, unseen } => {
            vec![Request::Merge { session, style: Some(style), hooks, unseen }]
        }
        About::HookChanges { session, style, unseen, changes } => {
            vec![Request::Merge { session, style, hooks: MergeHooks::AcceptOnly(changes.id), unseen }]
        }
        About::UnseenChanges { session, .. } => review::open_whole(model, session),
        About::Stop { session } => vec![Request::Stop(session)],
        About::Undo { session, to } => vec![Request::Undo { session, to, merge: None }],
        About::UndoMerge { session, commit } => vec![Request::Undo { session, to: None, merge: Some(commit) }],
        About::Rebase { session } => vec![Request::Rebase(session)],
        About::Resolution(proposal) => {
            let ResolutionProposal { id, session, .. } = *proposal;
            vec![Request::AcceptResolution { session, proposal: id }]
        }
        About::Integrate { session } => vec![Request::Integrate(session)],
        About::Remove { session } => vec![Request::Remove(session)],
        About::Publish(publish) => vec![Request::Publish(publish)],
        About::Yolo { session } => turn_yolo(model, session),
        About::Trust { hash, .. } => vec![Request::GrantTrust { hash }],
    }
}
