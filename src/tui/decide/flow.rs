//! What is decided, what is left, and what comes next. It lives longer than the card.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::body::Laid;
use super::need::{self, Need, What};
use super::question::{Begun, Progress};
use super::{Face, State};
use crate::api::workflow::{Plan, Workflow};
use crate::tui::model::{Model, Overlay};
use crate::tui::msg::Request;
use crate::tui::notice;
use crate::tui::typeahead::TypeaheadGuard;

/// What outlives an open decision.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Answers that were given and may not have been taken.
    pub(super) progress: HashMap<Need, Progress>,
    /// What was decided and may still be listed.
    sent: HashSet<Need>,
    pub(super) plans: HashMap<String, Plan>,
    /// The body of the card that was seen last.
    pub(super) laid: Option<Laid>,
}

/// Keeps an open decision about what still waits, or closes it.
pub(crate) fn settle(model: &mut Model) -> Vec<Request> {
    let listed: HashSet<_> = need::all(&model.world).into_iter().collect();
    model.decisions.sent.retain(|need| listed.contains(need));
    model.decisions.progress.retain(|need, _| listed.contains(need));
    match &model.overlay {
        Some(Overlay::Decide(state)) if !listed.contains(&state.need) => {
            let home = state.home.clone();
            advance(model, home)
        }
        Some(Overlay::Decide(_) | Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_))
        | None => Vec::new(),
    }
}

/// The answers so far, by the sessions that ask: what is open, and what was left.
pub(crate) fn begun(model: &Model) -> BTreeMap<String, Begun> {
    let open = model.overlay.as_ref().and_then(decision).and_then(|state| match &state.face {
        Face::Asking(progress) => Some((&state.need, &**progress)),
        Face::Card(_) => None,
    });
    let all = model.decisions.progress.iter().chain(open);
    all.filter_map(|(need, progress)| Some((need.session.clone(), progress.begun(need.turn()?)?))).collect()
}

/// The decision on the screen, or below the help that lies over it.
fn decision(overlay: &Overlay) -> Option<&State> {
    match overlay {
        Overlay::Decide(state) => Some(state),
        Overlay::Help(help) => help.below.as_deref().and_then(decision),
        Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_) => None,
    }
}

/// Brings answers back that were given before; whether they are still asked for shows when the sessions are listed.
pub(crate) fn restore(model: &mut Model, answers: &BTreeMap<String, Begun>) {
    for (session, begun) in answers {
        model.decisions.progress.retain(|need, _| need.session != *session);
        if let Some(progress) = begun.progress() {
            model.decisions.progress.insert(Need::asked(session, begun.turn, &begun.questions), progress);
        }
    }
}

/// Lets go of answers to these sessions that another face is done with.
pub(crate) fn forget(model: &mut Model, sessions: &BTreeSet<String>) {
    model.decisions.progress.retain(|need, _| !sessions.contains(&need.session));
}

/// Something was refused: what was sent may have been that, so it can be decided again.
pub(crate) fn failed(model: &mut Model) {
    model.decisions.sent.clear();
}

/// The plan of a session came.
pub(crate) fn workflow_came(model: &mut Model, session: String, workflow: Workflow) -> Vec<Request> {
    match workflow.plan {
        Some(plan) => model.decisions.plans.insert(session, plan),
        None => model.decisions.plans.remove(&session),
    };
    model.decisions.laid = None;
    Vec::new()
}

/// What waits and was not decided here.
pub(super) fn waiting(model: &Model) -> Vec<Need> {
    need::all(&model.world).into_iter().filter(|need| !model.decisions.sent.contains(need)).collect()
}

pub(super) fn waiting_at(model: &Model, id: &str) -> Vec<Need> {
    need::of_session(&model.world, id).into_iter().filter(|need| !model.decisions.sent.contains(need)).collect()
}

/// Puts a need on the screen, where the person left it.
pub(super) fn show(model: &mut Model, home: String, need: Need) -> Vec<Request> {
    let face = match need.what {
        What::Approval(_) => Face::Card(None),
        What::Questions(_) => {
            let asked = need::questions(&model.world, &need);
            let kept = model.decisions.progress.remove(&need).filter(|kept| kept.is_about(&asked));
            match (kept, asked.is_empty()) {
                (Some(kept), _) => Face::Asking(Box::new(kept)),
                (None, true) => return Vec::new(),
                (None, false) => Face::Asking(Box::new(Progress::of(asked.into_iter().cloned().collect()))),
            }
        }
    };
    let is_plan = matches!(&face, Face::Asking(progress) if progress.is_plan());
    // Only a session without a parent keeps plans.
    let keeps = model.world.sessions.get(&need.session).is_some_and(|session| session.parent.is_none());
    let requests = (is_plan && keeps).then(|| Request::Workflow(need.session.clone())).into_iter().collect();
    model.overlay =
        Some(Overlay::Decide(Box::new(State { home, need, face, scroll: 0, guard: TypeaheadGuard::default() })));
    requests
}

/// Closes the card; answers that were given are kept.
pub(super) fn close(model: &mut Model) {
    if let Some(Overlay::Decide(state)) = model.overlay.take()
        && let State { need, face: Face::Asking(progress), .. } = *state
    {
        model.decisions.progress.insert(need, *progress);
    }
}

/// Sends a decision and shows what else waits at the same session.
pub(super) fn settled(model: &mut Model, request: Request) -> Vec<Request> {
    let Some(Overlay::Decide(state)) = model.overlay.take() else { return Vec::new() };
    let State { home, need, face, .. } = *state;
    if let Face::Asking(progress) = face {
        model.decisions.progress.insert(need.clone(), *progress);
    }
    notice::drop_wish(model, &need.session);
    model.decisions.sent.insert(need);
    let mut requests = vec![request];
    requests.extend(advance(model, home));
    requests
}

/// The next that waits at a session, or the view.
fn advance(model: &mut Model, home: String) -> Vec<Request> {
    close(model);
    match waiting_at(model, &home).into_iter().next() {
        Some(need) => show(model, home, need),
        None => Vec::new(),
    }
}
