//! What each act does, as one table: act, then the function of the piece that it belongs to.
//!
//! Keys, the palette and slash commands all come here.

use super::keymap::{Action, Context};
use super::model::{Model, Opening, View};
use super::msg::Request;
use super::update::{back, help, redraw, show};
use super::{composer, confirm, decide, login, notice, order, panel, picker, review, session, sessions, settings};
use crate::api::attach::Program;
use crate::api::session::Session;

pub(crate) fn perform(model: &mut Model, action: Action) -> Vec<Request> {
    match action {
        Action::Up => step(model, Step::Up),
        Action::Down => step(model, Step::Down),
        Action::Left => step(model, Step::Left),
        Action::Right => step(model, Step::Right),
        Action::PageUp => step(model, Step::PageUp),
        Action::PageDown => step(model, Step::PageDown),
        Action::Top => step(model, Step::Top),
        Action::Bottom => step(model, Step::Bottom),
        Action::Open => open(model),
        Action::Back => back(model),
        Action::Parent => session::parent(model),
        Action::NextTab | Action::PreviousTab => match model.view {
            View::Settings => show(model, View::Sessions),
            View::Sessions | View::Session(_) | View::Review(_) => settings::open(model),
        },
        Action::NextNeed => sessions::next_need(model),
        Action::Help => help(model),
        Action::Palette => picker::palette(model),
        Action::Settings => settings::open(model),
        Action::Quit => vec![Request::Quit],
        Action::Suspend => vec![Request::Suspend],
        Action::Redraw => redraw(model),
        Action::NewTask => composer::new_task(model),
        Action::Reply => composer::reply(model),
        Action::Command => composer::command(model),
        Action::Filter => sessions::filter(model),
        Action::Jump => picker::jump(model),
        Action::ToggleTree => sessions::toggle_tree(model),
        Action::ToggleResting => sessions::toggle_resting(model),
        Action::Decide | Action::Answer | Action::Approve => decide::open(model),
        Action::Stop => confirm::stop(model),
        Action::StopNow => on_current(model, |session| Request::Stop(session.id.clone())),
        Action::Resume => composer::resume(model),
        Action::Continue => composer::relay(model),
        Action::Merge => confirm::merge(model),
        Action::Rebase => confirm::rebase(model),
        Action::Resolve => confirm::resolve(model),
        Action::Integrate => confirm::integrate(model),
        Action::Undo => confirm::undo(model),
        Action::Diff => review::open(model),
        Action::Archive => on_current(model, |session| Request::Archive(session.id.clone())),
        Action::Remove => confirm::remove(model),
        Action::Restore => picker::removed(model),
        Action::Attach => attach(model, Program::Agent),
        Action::Shell => attach(model, Program::Shell),
        Action::Edit => match model.view {
            View::Review(_) => review::edit(model),
            View::Session(_) => session::edit(model),
            View::Sessions | View::Settings => Vec::new(),
        },
        Action::Copy if model.context() == Context::Panel => panel::copy(model),
        Action::Copy => match model.view {
            View::Review(_) => review::copy(model),
            View::Session(_) => session::copy(model),
            View::Sessions => on_current(model, |session| Request::Copy(session.id.clone())),
            View::Settings => Vec::new(),
        },
        Action::Model => picker::model(model),
        Action::Reasoning => picker::reasoning(model),
        Action::Agent => picker::agent(model),
        Action::Posture => picker::posture(model),
        Action::Plan => composer::plan(model),
        Action::Yolo => confirm::yolo(model),
        Action::DropQueued => session::drop_queued(model),
        Action::Login => login::login(model),
        Action::Trust => vec![Request::Trust],
        Action::Order(order) => order::alone(model, order),
        Action::NextCard => session::next_card(model),
        Action::PreviousCard => session::previous_card(model),
        Action::Expand => match model.view {
            View::Review(_) => review::expand(model),
            View::Sessions | View::Session(_) | View::Settings => session::expand(model),
        },
        Action::ExpandAll => session::expand_all(model),
        Action::Reuse => session::reuse(model),
        Action::Search => session::search(model),
        Action::NextMatch => session::next_match(model),
        Action::PreviousMatch => session::previous_match(model),
        Action::Thoughts => session::toggle_thoughts(model),
        Action::Summary => session::toggle_summary(model),
        Action::Send => composer::send(model),
        Action::SendNow => composer::send_now(model),
        Action::Newline => match model.context() {
            Context::Comment => review::newline(model),
            Context::Words => decide::newline(model),
            _ => composer::newline(model),
        },
        Action::NextAgent => composer::next_agent(model),
        Action::PreviousAgent => composer::previous_agent(model),
        Action::HistoryBack => composer::history_back(model),
        Action::HistoryForward => composer::history_forward(model),
        Action::PasteImage => composer::take_image(model),
        Action::EditDraft => composer::edit(model),
        Action::ClearDraft => composer::clear(model),
        Action::AllowOnce => decide::allow_once(model),
        Action::AllowSession => decide::allow_session(model),
        Action::AllowAlways => decide::allow_always(model),
        Action::Refuse => decide::refuse(model),
        Action::RefuseAlways => decide::refuse_always(model),
        Action::NextRequest => decide::next_request(model),
        Action::ToggleFocus => decide::toggle_focus(model),
        Action::EndTurn => decide::end_turn(model),
        Action::ToList => decide::to_list(model),
        Action::NextFile => review::next_file(model),
        Action::PreviousFile => review::previous_file(model),
        Action::NextHunk => review::next_hunk(model),
        Action::PreviousHunk => review::previous_hunk(model),
        Action::Layout => review::switch_layout(model),
        Action::EarlierTurn => review::earlier_turn(model),
        Action::LaterTurn => review::later_turn(model),
        Action::Comment => review::comment(model),
        Action::DropComment => review::drop_comment(model),
        Action::SendReview => review::send(model),
        Action::MarkReviewed => review::mark(model),
        Action::ResetSetting => settings::reset(model),
        Action::SwitchScope => settings::switch_scope(model),
        Action::Mark => picker::mark(model),
        Action::Demo => vec![Request::Demo],
    }
}

/// A move of a cursor or of what is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

/// How many lines a page has where what is seen has no height of its own.
const PAGE: usize = 10;

impl Step {
    /// Where it takes something that is at `at`, not beyond `last`; one to a side leaves it there.
    pub(crate) fn moved(self, at: usize, last: usize) -> usize {
        let to = match self {
            Step::Up => at.saturating_sub(1),
            Step::Down => at + 1,
            Step::PageUp => at.saturating_sub(PAGE),
            Step::PageDown => at + PAGE,
            Step::Top => 0,
            Step::Bottom => last,
            Step::Left | Step::Right => at,
        };
        to.min(last)
    }
}

fn step(model: &mut Model, step: Step) -> Vec<Request> {
    match model.context() {
        Context::Sessions | Context::Filter => sessions::step(model, step),
        Context::Session | Context::Search | Context::Composer => session::step(model, step),
        Context::Diff | Context::Comment => review::step(model, step),
        Context::Settings | Context::Setting => settings::step(model, step),
        Context::Picker => picker::step(model, step),
        Context::Question | Context::Approval | Context::Words => decide::step(model, step),
        Context::Help => super::help::step(model, step),
        Context::Confirm => confirm::step(model, step),
        Context::Panel => panel::step(model, step),
    }
}

fn open(model: &mut Model) -> Vec<Request> {
    match model.context() {
        Context::Sessions => sessions::open(model),
        Context::Filter => sessions::keep_filter(model),
        Context::Session => session::open(model),
        Context::Search => session::keep_search(model),
        Context::Settings => settings::edit(model),
        Context::Setting => settings::keep_edit(model),
        Context::Picker => picker::choose(model),
        Context::Question | Context::Words | Context::Approval => decide::enter(model),
        Context::Comment => review::keep_comment(model),
        Context::Confirm => confirm::agree(model),
        Context::Panel => panel::enter(model),
        Context::Composer | Context::Diff | Context::Help => Vec::new(),
    }
}

/// Does something with the session in hand, if there is one.
fn on_current(model: &mut Model, request: impl Fn(&Session) -> Request) -> Vec<Request> {
    match model.current() {
        Some(session) => vec![request(session)],
        None => notice::say(model, "no session is selected".to_owned()),
    }
}

fn attach(model: &mut Model, program: Program) -> Vec<Request> {
    let requests = on_current(model, |session| Request::Attach { session: session.id.clone(), program });
    if !requests.is_empty() {
        model.opening = Some(Opening { program, since: model.now });
    }
    requests
}
