//! Logging in to a backend: the command is the one that its own error names.

use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::notice;

/// Runs the login command of the backend of the session in hand.
pub(crate) fn login(model: &mut Model) -> Vec<Request> {
    let Some(session) = model.current() else { return notice::say(model, "no session is selected".to_owned()) };
    let name = session.backend.clone();
    let of_session = session.last_error.as_ref().and_then(|error| error.hint.as_deref());
    let backends = model.world.backends.iter().flatten().filter(|backend| backend.name == name);
    let of_backend = backends.flat_map(|backend| [backend.problem.as_deref(), backend.warning.as_deref()]);
    let found = of_session.into_iter().chain(of_backend.flatten()).find_map(command).map(str::to_owned);
    match found {
        Some(command) => vec![Request::Run(command)],
        None => notice::say(model, format!("no login command of `{name}` is known; its own interface may ask for one")),
    }
}

/// The first command between backticks of a hint about a login; what it says about our own commands is for later.
pub(super) fn command(hint: &str) -> Option<&str> {
    let is_about_login = ["log in", "login", "authenticate"].iter().any(|word| hint.contains(word));
    let mut quoted = hint.split('`').skip(1).step_by(2);
    quoted.find(|quoted| is_about_login && !quoted.starts_with("coppice ") && !quoted.starts_with(['/', '-']))
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_command_is_the_one_that_the_hint_names() {
        for (hint, expected) in [
            ("run `codex login`, or `codex login --with-api-key`, then `coppice resume`", Some("codex login")),
            ("run `agent` once and log in there", Some("agent")),
            ("log in with the backend's own command, then run `coppice resume`", None),
            ("run `make` by hand", None),
            ("wait", None),
        ] {
            assert_eq!(command(hint), expected);
        }
    }
}
