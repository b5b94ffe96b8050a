//! Logging in to a backend: the command is the one that its own error names.

use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::notice;

/// Runs the login command of the backend of the session in hand.
pub(crate) fn login(model: &mut Model) -> Vec<Request> {
    let Some(session) = model.current() else { return notice::say(model, "no session is selected".to_owned()) };
    let name = session.backend.clone();
    let of_session = session.last_error.as_ref().and_then(|error| error.command.clone());
    let backends = model.world.backends.iter().flatten();
    let of_backend = backends.filter(|backend| backend.name == name).find_map(|backend| backend.login.clone());
    match of_session.or(of_backend) {
        Some(command) => vec![Request::Run(command)],
        None => notice::say(model, format!("no login command of `{name}` is known; its own interface may ask for one")),
    }
}
