//! What waits for a decision, over all sessions, and at which session it is decided.
//!
//! A parent shows what its children want too; one thing is one `Need`, wherever it is shown.

use std::collections::HashSet;

use crate::api::session::{Approval, Question, Session, WaitingFor};
use crate::tui::world::World;

/// One thing to decide, and the session that waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Need {
    pub(crate) session: String,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// The approval of this name.
    Approval(String),
    Questions(Asked),
}

/// Questions that are answered together. The same words in another turn, or of another call, are asked anew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    /// How many turns the asker had begun.
    turn: u32,
    /// The call that waits, and the words.
    questions: Vec<(Option<String>, String)>,
}

impl Need {
    /// These questions of a session, in the turn that asked them.
    pub(super) fn asked(session: &str, turn: u32, questions: &[Question]) -> Need {
        let questions = questions.iter().map(|question| (question.call.clone(), question.text.clone())).collect();
        Need { session: session.to_owned(), what: What::Questions(Asked { turn, questions }) }
    }

    /// The turn that asked, for questions.
    pub(super) fn turn(&self) -> Option<u32> {
        match &self.what {
            What::Questions(asked) => Some(asked.turn),
            What::Approval(_) => None,
        }
    }
}

/// What can be decided at a session: its own first, then what its children want, the oldest first.
pub(super) fn of_session(world: &World, id: &str) -> Vec<Need> {
    let mut found: Vec<_> = world.sessions.get(id).map(|session| needs(world, session)).unwrap_or_default();
    found.sort_by_key(|(since, need)| (need.session != id, *since));
    found.into_iter().map(|(_, need)| need).collect()
}

/// Everything that waits, the oldest first.
pub(super) fn all(world: &World) -> Vec<Need> {
    let mut found: Vec<_> = world.sessions.values().flat_map(|session| needs(world, session)).collect();
    found.sort_by_key(|(since, _)| *since);
    let mut seen = HashSet::new();
    found.into_iter().map(|(_, need)| need).filter(|need| seen.insert(need.clone())).collect()
}

/// The call behind a need, as the session itself or one above shows it.
pub(super) fn approval<'a>(world: &'a World, need: &Need) -> Option<&'a Approval> {
    let What::Approval(id) = &need.what else { return None };
    let shown = |session: &'a Session| {
        session
            .approvals
            .iter()
            .find(|approval| asker(session, &approval.session) == need.session && name(approval) == id)
    };
    world.sessions.get(&need.session).and_then(shown).or_else(|| world.sessions.values().find_map(shown))
}

/// The open questions behind a need.
pub(super) fn questions<'a>(world: &'a World, need: &Need) -> Vec<&'a Question> {
    let asked = |session: &'a Session| open(session, &need.session);
    let own = world.sessions.get(&need.session).map(asked).unwrap_or_default();
    if !own.is_empty() {
        return own;
    }
    world.sessions.values().map(asked).find(|open| !open.is_empty()).unwrap_or_default()
}

/// What one session shows, with the time since when it waits.
fn needs(world: &World, session: &Session) -> Vec<(i64, Need)> {
    let approvals = session.approvals.iter().map(|approval| {
        let need = Need {
            session: asker(session, &approval.session).to_owned(),
            what: What::Approval(name(approval).to_owned()),
        };
        (approval.requested_at, need)
    });
    let mut askers: Vec<&str> = Vec::new();
    for question in &session.questions {
        let asker = asker(session, &question.session);
        if !askers.contains(&asker) {
            askers.push(asker);
        }
    }
    let asked = askers.into_iter().filter_map(|asker| {
        let questions: Vec<_> =
            open(session, asker).iter().map(|question| (question.call.clone(), question.text.clone())).collect();
        if questions.is_empty() {
            return None;
        }
        let turn = world.sessions.get(asker).map_or(0, |asker| asker.turns);
        let need = Need { session: asker.to_owned(), what: What::Questions(Asked { turn, questions }) };
        Some((session.updated_at, need))
    });
    approvals.chain(asked).collect()
}

/// The questions that are answered next: those that a turn in progress waits for come before those that ended one.
fn open<'a>(session: &'a Session, wanted: &str) -> Vec<&'a Question> {
    let waits = |question: &Question| {
        question.expired || question.session.is_some() || session.waiting_for == Some(WaitingFor::Answer)
    };
    let asked = session
        .questions
        .iter()
        .filter(|question| question.answer.is_none() && asker(session, &question.session) == wanted && waits(question));
    let (calls, others): (Vec<_>, Vec<_>) = asked.partition(|question| question.call.is_some());
    if calls.is_empty() { others } else { calls }
}

fn asker<'a>(session: &'a Session, child: &'a Option<String>) -> &'a str {
    child.as_deref().unwrap_or(&session.id)
}

/// What the child itself calls it: above, the child's id stands before the name.
fn name(approval: &Approval) -> &str {
    match &approval.session {
        Some(_) => approval.id.split_once('/').map_or(approval.id.as_str(), |(_, name)| name),
        None => &approval.id,
    }
}
