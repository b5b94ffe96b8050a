//! Logging in to a backend: the command is the one that its error names, or the backend itself.

use crate::api::session::Session;
use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::notice;

/// Runs the login command of the backend of the session in hand.
pub(crate) fn login(model: &mut Model) -> Vec<Request> {
    let Some(session) = model.current() else { return notice::say(model, "no session is selected".to_owned()) };
    let name = session.backend.clone();
    match command(model, session).map(str::to_owned) {
        Some(command) => vec![Request::Run(command)],
        None => notice::say(model, format!("no login command of `{name}` is known; its own interface may ask for one")),
    }
}

/// What makes the backend of a session work again.
pub(super) fn command<'a>(model: &'a Model, session: &'a Session) -> Option<&'a str> {
    let told = session.last_error.as_ref().and_then(|error| error.command.as_deref());
    let mut backends = model.world.backends.iter().flatten();
    told.or_else(|| backends.find(|backend| backend.name == session.backend)?.login.as_deref())
}
