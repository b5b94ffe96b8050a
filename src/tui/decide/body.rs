//! What scrolls on a card. A plan or a change may be long, so it is laid out once, and a frame takes the rows it shows.

use std::sync::Arc;

use super::need::{self, Need};
use super::sheet::GUTTER;
use super::{Face, State, ask, card};
use crate::look::line::Line;
use crate::tui::model::{Model, Overlay};

/// The body of a card in its rows.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// What a plan calls itself.
    pub(super) title: Option<String>,
    pub(super) rows: Vec<Line>,
}

/// A body that was laid out, and for what.
#[derive(Debug)]
pub(super) struct Laid {
    about: About,
    body: Arc<Body>,
}

#[derive(Debug, PartialEq, Eq)]
struct About {
    need: Need,
    /// Which of the questions.
    question: usize,
    columns: u16,
}

/// Lays out the card that is about to be seen, unless it is.
pub(crate) fn prepare(model: &mut Model) {
    let Some(Overlay::Decide(state)) = &model.overlay else { return };
    let laid = Laid { about: about(model, state), body: of(model, state) };
    model.decisions.laid = Some(laid);
}

/// The body of a card as wide as the screen.
pub(super) fn of(model: &Model, state: &State) -> Arc<Body> {
    let about = about(model, state);
    match &model.decisions.laid {
        Some(laid) if laid.about == about => Arc::clone(&laid.body),
        Some(_) | None => Arc::new(lay(model, state, about.columns)),
    }
}

fn about(model: &Model, state: &State) -> About {
    let question = match &state.face {
        Face::Card(_) => 0,
        Face::Asking(progress) => progress.place().0,
    };
    About { need: state.need.clone(), question, columns: model.size.width.saturating_sub(GUTTER) }
}

fn lay(model: &Model, state: &State, columns: u16) -> Body {
    let (title, lines) = match &state.face {
        Face::Card(_) => {
            let approval = need::approval(&model.world, &state.need);
            (None, approval.map(card::preview).unwrap_or_default())
        }
        Face::Asking(progress) => ask::text(progress, model.decisions.plans.get(&state.need.session), columns),
    };
    Body { title, rows: lines.iter().flat_map(|line| line.wrap(columns.into())).collect() }
}
