//! Decisions as tables and screens.

mod approvals;
mod questions;

use crate::api::session::{Approval, Session};
use crate::look::sample;
use crate::tui::model::{Model, View};
use crate::tui::msg::{Msg, Reply, Request};
use crate::tui::sample::{part, press};
use crate::tui::update::update;
use crate::tui::view::parts;

/// A session of this id that waits for these approvals.
fn waiting(id: &str, approvals: Vec<Approval>) -> Session {
    let approvals = approvals.into_iter().enumerate().map(|(place, approval)| Approval {
        id: format!("r{}", place + 1),
        requested_at: sample::NOW - 300_000 + 1_000 * place as i64,
        ..approval
    });
    let approvals: Vec<_> = approvals.collect();
    let needs = u32::try_from(approvals.len()).unwrap();
    Session { id: id.into(), title: format!("Work of {id}"), needs, approvals, ..sample::approval() }
}

/// A face that looks at one session of these, and the keys that were pressed there.
fn opened(mut model: Model, id: &str, keys: &[&str]) -> (Model, Vec<Request>) {
    model.view = View::Session(id.into());
    let requests = press(&mut model, keys);
    (model, requests)
}

/// The card as it stands at the foot of the screen.
fn card(model: &mut Model) -> String {
    let area = parts(model).dock;
    part(model, area)
}

fn is_open(model: &Model) -> bool {
    matches!(model.overlay, Some(crate::tui::model::Overlay::Decide(_)))
}

/// The daemon's word about a session.
fn came(model: &mut Model, session: Session) -> Vec<Request> {
    update(model, Msg::Reply(Reply::Session(Box::new(session))))
}
