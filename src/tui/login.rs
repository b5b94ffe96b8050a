//! Logging in to a backend: who lacks it, and the command that does it, as an error names it or the backend itself.
//!
//! The shell runs the command in the terminal; what came of it is asked for afterwards.

use super::model::Model;
use super::msg::Request;
use super::{notice, picker};
use crate::api::project::Backend;
use crate::api::session::Session;
use crate::look::line::one_line;

/// Runs the login of the backend in hand: the one under the picker's cursor, the session's, or the one that lacks it.
pub(crate) fn login(model: &mut Model) -> Vec<Request> {
    if let Some(name) = picker::backend_under_cursor(model).map(str::to_owned) {
        return run(model, &name, of_backend(model, &name).map(str::to_owned));
    }
    if let Some(session) = model.current() {
        return run(model, &session.backend.clone(), command(model, session).map(str::to_owned));
    }
    let lacking: Vec<Backend> = lacking(model).cloned().collect();
    match lacking.as_slice() {
        [] => notice::say(model, "no agent says that it lacks a login".to_owned()),
        [one] => run(model, &one.name, one.login.clone()),
        several => picker::login(model, several),
    }
}

/// What makes the backend of a session work again.
pub(crate) fn command<'a>(model: &'a Model, session: &'a Session) -> Option<&'a str> {
    let told = session.last_error.as_ref().and_then(|error| error.command.as_deref());
    told.or_else(|| of_backend(model, &session.backend))
}

/// The backends that are there and that nobody is logged in to.
pub(crate) fn lacking(model: &Model) -> impl Iterator<Item = &Backend> {
    model.world.backends.iter().flatten().filter(|backend| is_lacking(backend))
}

/// Whether a backend is there and says that nobody is logged in.
pub(crate) fn is_lacking(backend: &Backend) -> bool {
    backend.problem.is_none() && backend.note.as_deref().is_some_and(asks)
}

/// Whether a note asks for a login: each agent says it in its own words, and none says it in any other way.
pub(crate) fn asks(note: &str) -> bool {
    let words = note.to_lowercase();
    ["logged in", "log in", "login", "sign in", "authenticat", "api key"].iter().any(|word| words.contains(word))
}

fn of_backend<'a>(model: &'a Model, name: &str) -> Option<&'a str> {
    model.world.backends.iter().flatten().find(|backend| backend.name == name)?.login.as_deref()
}

fn run(model: &mut Model, name: &str, command: Option<String>) -> Vec<Request> {
    match command {
        Some(command) => vec![Request::Run(command)],
        None => {
            let name = one_line(name);
            notice::say(model, format!("no login command of `{name}` is known; its own interface may ask for one"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Status;
    use crate::look::sample::{backend, session};
    use crate::tui::msg::{Msg, Reply};
    use crate::tui::sample::{WIDE, model as face, press};
    use crate::tui::update::update;

    fn lacks(name: &str, login: Option<&str>) -> Backend {
        let note = Some(format!("{name} is not logged in"));
        Backend { note, login: login.map(str::to_owned), ..backend(name) }
    }

    #[test]
    fn without_a_session_the_backend_that_lacks_a_login_is_logged_in() {
        let (claude, codex) = (lacks("claude", Some("claude auth login")), lacks("codex", Some("codex login")));
        let silent = Backend { note: Some("it did not answer within 10s".into()), ..claude.clone() };
        let missing = Backend { problem: Some("not installed".into()), ..claude.clone() };
        let run = |command: &str| vec![Request::Run(command.into())];
        for (backends, keys, expected) in [
            (vec![backend("claude"), codex.clone()], &["L"][..], run("codex login")),
            (vec![silent, codex.clone()], &["L"], run("codex login")),
            (vec![missing, codex.clone()], &["L"], run("codex login")),
            (vec![claude.clone(), codex.clone()], &["L"], vec![]),
            (vec![claude.clone(), codex.clone()], &["L", "enter"], run("claude auth login")),
            (vec![claude, codex], &["L", "down", "enter"], run("codex login")),
            (vec![lacks("gemini", None)], &["L"], vec![]),
            (vec![backend("claude")], &["L"], vec![]),
        ] {
            let mut model = face(WIDE, vec![]);
            model.world.backends = Some(backends.clone());
            // The composer has the keys where there is no session.
            press(&mut model, &["esc"]);
            assert_eq!(press(&mut model, keys), expected, "{backends:?} {keys:?}");
        }
    }

    #[test]
    fn the_model_picker_logs_in_to_the_backend_under_its_cursor() {
        let mut model = face(WIDE, vec![session(Status::Ready)]);
        model.world.backends = Some(vec![backend("claude"), lacks("codex", Some("codex login"))]);
        assert_eq!(press(&mut model, &["M", "down", "ctrl+l"]), [Request::Run("codex login".into())]);
        // Back from it, the agents are asked again, and the row under the cursor is the same.
        let asked = update(&mut model, Msg::Reply(Reply::Back));
        assert!(asked.contains(&Request::Backends), "{asked:?}");
        let logged_in = vec![backend("claude"), backend("codex")];
        update(&mut model, Msg::Reply(Reply::Backends(logged_in)));
        assert_eq!(picker::backend_under_cursor(&model), Some("codex"));
        assert_eq!(lacking(&model).count(), 0);
    }
}
