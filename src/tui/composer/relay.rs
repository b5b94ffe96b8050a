//! Going on with a session on other terms than its own: on what was chosen for it, or on the next backend that can work
//! where its own cannot. The session keeps its work; the agent that takes over gets the record of it.

use super::choice::Choices;
use super::draft::Content;
use super::send::{self, Sent};
use super::{Target, changed};
use crate::api::project::Backend;
use crate::api::request::When;
use crate::api::session::{Session, Status, TurnError};
use crate::look::line::one_line;
use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::{login, notice};

/// What the agent is asked; the prompt of the turn that broke off stands in the record.
const GO_ON: &str = "Go on where the last turn stopped.";

/// On what a session could go on whose own backend cannot: on what was chosen for it, else on the next that can.
pub(crate) fn offer(model: &Model, session: &Session) -> Option<String> {
    let takes_prompts = session.next.iter().any(|next| next == "send");
    let error = session.last_error.as_ref().filter(|_| session.status == Status::Failed && takes_prompts)?;
    is_of_backend(error).then(|| successor(model, session)).flatten()
}

/// Goes on with the session in hand on another backend.
pub(crate) fn relay(model: &mut Model) -> Vec<Request> {
    let Some(session) = model.current() else { return notice::say(model, "no session is selected".to_owned()) };
    if !broke_off(session) {
        return notice::say(model, "another backend takes over where a turn failed or was interrupted".to_owned());
    }
    match successor(model, session) {
        Some(engine) => {
            let id = session.id.clone();
            take_over(model, id, engine)
        }
        None => notice::say(model, "no other backend is installed and logged in".to_owned()),
    }
}

/// Goes on with the session in hand: as it is, or with what was chosen for it since.
pub(crate) fn resume(model: &mut Model) -> Vec<Request> {
    let Some(session) = model.current() else { return notice::say(model, "no session is selected".to_owned()) };
    let id = session.id.clone();
    let chosen = model.composer.choices(&Target::Session(id.clone()));
    match broke_off(session) && chosen != Choices::NONE {
        true => {
            let engine = chosen.models.first().cloned().unwrap_or_else(|| session.backend.clone());
            take_over(model, id, engine)
        }
        false => vec![Request::Resume(id)],
    }
}

fn broke_off(session: &Session) -> bool {
    matches!(session.status, Status::Failed | Status::Interrupted)
}

/// Whether it is the backend that cannot work: its account, and not the task.
fn is_of_backend(error: &TurnError) -> bool {
    matches!(error.kind.as_str(), "rate_limit" | "quota" | "auth")
}

fn successor(model: &Model, session: &Session) -> Option<String> {
    let chosen = model.composer.choices(&Target::Session(session.id.clone())).models.into_iter().next();
    chosen.or_else(|| next_backend(model, session).map(|backend| backend.name.clone()))
}

/// The backend after the session's own that can work, round at the end of the list.
fn next_backend<'a>(model: &'a Model, session: &Session) -> Option<&'a Backend> {
    let backends = model.world.backends.as_deref()?;
    let own = backends.iter().position(|backend| backend.name == session.backend);
    let others = backends.iter().cycle().skip(own.map_or(0, |own| own + 1)).take(backends.len());
    others.filter(|backend| backend.name != session.backend).find(|backend| can_work(model, backend))
}

fn can_work(model: &Model, backend: &Backend) -> bool {
    let holds = |error: &TurnError| is_of_backend(error) && error.resets_at.is_some_and(|end| end > model.now);
    let is_limited = |session: &Session| {
        session.backend == backend.name
            && session.status == Status::Failed
            && session.last_error.as_ref().is_some_and(holds)
    };
    let is_there = backend.problem.is_none() && !backend.scripted && !login::is_lacking(backend);
    is_there && !model.world.sessions.values().any(is_limited)
}

/// Sends the words to go on with; what was chosen is used up by them, what is written stays.
fn take_over(model: &mut Model, id: String, engine: String) -> Vec<Request> {
    if let Some(why) = send::away(model) {
        return notice::warn(model, &format!("{why}: try again when it is back"));
    }
    let target = Target::Session(id.clone());
    let choices = match model.composer.drafts.get_mut(&target) {
        Some(draft) => std::mem::take(&mut draft.choices),
        None => Choices::NONE,
    };
    let said = Some(format!("goes on with {}", one_line(&engine)));
    let terms = Content { choices: Choices { models: vec![engine], ..choices.clone() }, ..Content::NOTHING };
    let prompt = send::prompt(GO_ON.to_owned(), Vec::new(), &terms, When::InOrder);
    // A refusal gives the choices back; the words are not the person's.
    let content = Content { choices, ..Content::NOTHING };
    let ticket = send::ticket(model, Sent { target, content, cursor: None, said });
    let mut requests = vec![Request::Prompt { ticket, session: id, prompt: Box::new(prompt) }];
    requests.extend(changed(model));
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::error::{Error, ErrorKind};
    use crate::api::request::SendPrompt;
    use crate::look::sample::{NOW, backend, failed};
    use crate::tui::msg::{Msg, Reply};
    use crate::tui::sample::{WIDE, model as face, press, screen, write};
    use crate::tui::update::update;

    /// A session of claude that failed for this reason.
    fn stuck(kind: &str) -> Session {
        let mut session = Session { backend: "claude".into(), ..failed() };
        let error = session.last_error.as_mut().unwrap();
        (error.kind, error.message) = (kind.into(), "no more today".into());
        error.resets_at = Some(NOW + 7_200_000);
        session
    }

    fn model(sessions: Vec<Session>) -> Model {
        let mut model = face(WIDE, sessions);
        model.world.backends = Some(["claude", "codex", "gemini"].map(backend).to_vec());
        model
    }

    fn sent(requests: Vec<Request>) -> Option<SendPrompt> {
        let prompt = |request| match request {
            Request::Prompt { prompt, .. } => Some(*prompt),
            _ => None,
        };
        requests.into_iter().find_map(prompt)
    }

    fn on(engine: &str) -> Option<SendPrompt> {
        Some(SendPrompt { text: GO_ON.into(), model: Some(engine.into()), ..SendPrompt::default() })
    }

    #[test]
    fn what_is_offered_is_the_next_backend_that_can_work() {
        let lacks = |name: &str| Backend { note: Some("not logged in".into()), ..backend(name) };
        let missing = |name: &str| Backend { problem: Some("not installed".into()), ..backend(name) };
        let demo = Backend { scripted: true, ..backend("demo") };
        let of = |names: [&str; 3]| names.map(backend).to_vec();
        let limited = Session { id: "limited2".into(), backend: "codex".into(), ..stuck("rate_limit") };
        for (kind, backends, others, expected) in [
            ("rate_limit", of(["claude", "codex", "gemini"]), vec![], Some("codex")),
            ("quota", of(["claude", "codex", "gemini"]), vec![], Some("codex")),
            ("auth", of(["gemini", "codex", "claude"]), vec![], Some("gemini")),
            ("crashed", of(["claude", "codex", "gemini"]), vec![], None),
            ("rate_limit", vec![backend("claude"), lacks("codex"), backend("gemini")], vec![], Some("gemini")),
            ("rate_limit", vec![backend("claude"), missing("codex"), demo], vec![], None),
            ("rate_limit", of(["claude", "codex", "gemini"]), vec![limited], Some("gemini")),
            ("rate_limit", vec![], vec![], None),
        ] {
            let mut model = model([vec![stuck(kind)], others].concat());
            model.world.backends = Some(backends);
            assert_eq!(offer(&model, &stuck(kind)).as_deref(), expected, "{kind}");
        }
        assert_eq!(offer(&face(WIDE, vec![]), &stuck("rate_limit")), None, "nobody was asked for yet");
        let child = Session { next: vec!["stop".into()], ..stuck("rate_limit") };
        assert_eq!(offer(&model(vec![]), &child), None, "it takes no prompts");
    }

    #[test]
    fn a_chosen_model_counts_for_whatever_goes_on() {
        for (keys, expected) in [
            (&["B"][..], on("codex")),
            (&["r"], None),
            (&["R"], None),
            (&["enter", "B"], on("codex")),
            (&["enter", "R"], None),
            (&["enter", "r"], None),
            (&["enter", "M", "down", "down", "enter", "B"], on("gemini")),
            (&["enter", "M", "down", "down", "enter", "R"], on("gemini")),
            (&["enter", "M", "down", "down", "enter", "r"], on("gemini")),
            // In the list a model is chosen for the next task.
            (&["M", "down", "down", "enter", "B"], on("codex")),
            (&["M", "down", "down", "enter", "r"], None),
        ] {
            let mut model = model(vec![stuck("rate_limit")]);
            assert_eq!(sent(press(&mut model, keys)), expected, "{keys:?}");
        }
    }

    #[test]
    fn what_is_written_stays_and_a_refusal_gives_back_what_was_chosen() {
        let mut model = model(vec![stuck("rate_limit")]);
        press(&mut model, &["enter", "i"]);
        write(&mut model, "and the docs");
        press(&mut model, &["esc", "M", "down", "down", "enter", "R"]);
        let target = Target::Session(stuck("rate_limit").id);
        assert_eq!(model.composer.choices(&target), Choices::NONE);
        update(&mut model, Msg::Reply(Reply::Refused { ticket: 1, error: Error::new(ErrorKind::Failed, "no") }));
        let content = model.composer.drafts[&target].content();
        assert_eq!((content.text.as_str(), content.choices.models), ("and the docs", vec!["gemini".to_owned()]));
    }

    #[test]
    fn in_whatever_posture_a_session_that_failed_says_first_what_helps() {
        let helps = " ✗ no more today · in 2h the limit ends · B continues on codex · R goes on";
        for (posture, yolo, suffix) in [
            ("unattended", false, ""),
            ("edits", false, " · edits"),
            ("plan", false, " · plan"),
            ("plan", true, " · plan · YOLO"),
            ("unattended", true, " · YOLO"),
        ] {
            let mut model = model(vec![Session { posture: posture.into(), yolo, ..stuck("rate_limit") }]);
            press(&mut model, &["enter"]);
            let screen = screen(&mut model);
            let banner = screen.lines().nth(2).unwrap_or_default();
            assert_eq!(banner, format!("{helps}{suffix}"), "{screen}");
            assert!(screen.contains("B continue on codex"), "{screen}");
        }
    }
}
