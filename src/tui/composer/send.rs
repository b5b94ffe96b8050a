//! Sending: a draft goes on its way under a ticket, and comes back whole when the daemon does not take it.

use super::choice::Choices;
use super::draft::Content;
use super::popup::{By, Completed};
use super::{Target, changed, command, draft, history, popup, target, way_back};
use crate::api::error::Error;
use crate::api::image::Image;
use crate::api::request::{CreateSession, SendPrompt, Start, When};
use crate::look::line::one_line;
use crate::tui::model::{Focus, Model, View};
use crate::tui::msg::{Request, Ticket};
use crate::tui::world::Link;
use crate::tui::{notice, sessions};

/// A draft on its way.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) target: Target,
    pub(super) content: Content,
    /// Where the list's cursor stood.
    pub(super) cursor: Option<String>,
    /// What is told when it is taken.
    pub(super) said: Option<String>,
}

/// Completes a word, or sends what is written; a command that can be no other is obeyed at once.
pub(crate) fn send(model: &mut Model) -> Vec<Request> {
    match popup::complete(model, By::Enter) {
        Some(Completed::Word) => changed(model),
        Some(Completed::Command) | None => dispatch(model, When::InOrder),
    }
}

/// Interrupts the turn in progress and sends what is written.
pub(crate) fn send_now(model: &mut Model) -> Vec<Request> {
    dispatch(model, When::Now)
}

fn dispatch(model: &mut Model, when: When) -> Vec<Request> {
    let content = draft(model).content();
    if content.text.starts_with('/') {
        let mut requests = command::run(model, &content.text);
        requests.extend(popup::refresh(model));
        if draft(model).content().text == content.text {
            // What is not understood stays written, and what could complete it does not cover the reason.
            popup::dismiss(model);
        }
        return requests;
    }
    let (text, images) = content.outgoing();
    if text.is_empty() {
        return Vec::new();
    }
    if let Some(why) = away(model) {
        return notice::warn(model, &format!("{why}: the draft is kept, send it when it is back"));
    }
    let target = target(model);
    history::remember(&mut model.composer.history, &content.words());
    model.composer.drafts.remove(&target);
    // Whatever was sent, letters are shortcuts again.
    model.focus = Focus::Main;
    let mut requests = match &target {
        Target::Task => {
            let creates = each_model(content).into_iter().map(|content| {
                let choices = content.choices.clone();
                let create = CreateSession {
                    prompt: text.clone(),
                    images: images.clone(),
                    model: choices.models.into_iter().next().or_else(|| model.composer.engine.clone()),
                    reasoning: choices.reasoning,
                    agent: choices.agent,
                    posture: choices.posture,
                    yolo: choices.yolo,
                    base: choices.base,
                    title: choices.title,
                    profile: choices.profile,
                    start: if choices.draft { Start::AsDraft } else { Start::AtOnce },
                    ..CreateSession::default()
                };
                let cursor = model.sessions.selected().map(str::to_owned);
                let sent = Sent { target: target.clone(), content, cursor, said: None };
                Request::Create { ticket: ticket(model, sent), create: Box::new(create) }
            });
            creates.collect::<Vec<_>>()
        }
        Target::Session(session) => {
            let prompt = prompt(text, images, &content, when);
            let ticket = ticket(model, Sent { target: target.clone(), content, cursor: None, said: None });
            vec![Request::Prompt { ticket, session: session.clone(), prompt: Box::new(prompt) }]
        }
    };
    requests.extend(changed(model));
    requests
}

/// Starts a task that carries out a plan that waits.
pub(crate) fn carry_out(model: &mut Model, plan: String) -> Vec<Request> {
    let create = CreateSession { plan: Some(plan), model: model.composer.engine.clone(), ..CreateSession::default() };
    let cursor = model.sessions.selected().map(str::to_owned);
    let sent = Sent { target: Target::Task, content: Content::NOTHING, cursor, said: None };
    let ticket = ticket(model, sent);
    vec![Request::Create { ticket, create: Box::new(create) }]
}

/// Why nothing can be sent at this moment.
pub(super) fn away(model: &Model) -> Option<&'static str> {
    match model.world.link {
        // Sending is an act that starts one.
        Link::Connected | Link::Stopped => None,
        Link::Connecting | Link::Lost { .. } => Some("the daemon is away"),
        Link::Silent { .. } => Some("the daemon does not answer"),
    }
}

/// A prompt to a session, with what was chosen for it.
pub(super) fn prompt(text: String, images: Vec<Image>, content: &Content, when: When) -> SendPrompt {
    let Choices { models, reasoning, agent, posture, yolo, .. } = content.choices.clone();
    SendPrompt {
        text,
        images,
        model: models.into_iter().next(),
        reasoning,
        agent,
        posture,
        yolo: yolo.then_some(true),
        with: content.with.clone(),
        when,
        env: None,
    }
}

/// The same prompt once for each model that was marked.
fn each_model(content: Content) -> Vec<Content> {
    if content.choices.models.len() < 2 {
        return vec![content];
    }
    let on = |model: &String| {
        let mut content = content.clone();
        content.choices.models = vec![model.clone()];
        content
    };
    content.choices.models.iter().map(on).collect()
}

pub(super) fn ticket(model: &mut Model, sent: Sent) -> Ticket {
    let state = &mut model.composer;
    state.tickets += 1;
    state.sent.insert(state.tickets, sent);
    state.tickets
}

/// The daemon has it. A task that was sent from the list stands under the cursor there.
pub(crate) fn taken(model: &mut Model, ticket: Ticket, session: &str) -> Vec<Request> {
    let Some(Sent { target, cursor, said, .. }) = model.composer.sent.remove(&ticket) else { return Vec::new() };
    let mut requests = vec![Request::Save];
    requests.extend(said.map(|said| notice::say(model, said)).unwrap_or_default());
    if target == Target::Task {
        // What it starts from is what the first line should say.
        requests.push(Request::Repository);
    }
    match (target, &model.view) {
        // A cursor that moved since is not taken away.
        (Target::Task, View::Sessions) if model.sessions.selected() == cursor.as_deref() => {
            requests.extend(sessions::reveal(model, session));
        }
        (Target::Task, View::Sessions) => {}
        (Target::Task, View::Session(_) | View::Review(_) | View::Settings) => {
            requests.extend(notice::say(model, format!("started `{}`", one_line(session))));
        }
        (Target::Session(_), _) => {}
    }
    requests
}

/// The daemon does not have it: it is written again, and the reason is said.
pub(crate) fn refused(model: &mut Model, ticket: Ticket, error: &Error) -> Vec<Request> {
    let Some(Sent { target, content, .. }) = model.composer.sent.remove(&ticket) else { return Vec::new() };
    model.composer.drafts.entry(target.clone()).or_default().take_back(content);
    // Whoever still stands where it was sent from goes on writing there.
    let is_there = match (&target, &model.view) {
        (Target::Task, View::Sessions) => true,
        (Target::Session(sent), View::Session(open)) => sent == open,
        (Target::Task | Target::Session(_), _) => false,
    };
    if is_there && model.can_be_interrupted() {
        model.composer.target = target;
        model.focus = Focus::Composer;
    }
    let mut requests = notice::fail(model, "send the prompt", error);
    requests.extend(changed(model));
    requests
}

/// Takes a queued prompt back.
pub(crate) fn recall(model: &mut Model, session: String, number: u32, text: String) -> Vec<Request> {
    let recalled = &mut model.composer.recalled;
    recalled.retain(|(of, known, _)| (of, *known) != (&session, number));
    recalled.push((session.clone(), number, text));
    vec![Request::Drop { session, number }]
}

/// It is taken back: its words are written again where nothing is, and are put aside otherwise.
pub(crate) fn dropped(model: &mut Model, session: &str, number: u32) -> Vec<Request> {
    let state = &mut model.composer;
    let Some(at) = state.recalled.iter().position(|(of, known, _)| (of.as_str(), *known) == (session, number)) else {
        return Vec::new();
    };
    let (session, _, text) = state.recalled.remove(at);
    let draft = state.drafts.entry(Target::Session(session)).or_default();
    let mut requests = Vec::new();
    match draft.is_blank() {
        true => draft.set(&text),
        false => {
            history::put_aside(&mut state.history, Content { text, ..Content::NOTHING });
            requests.extend(notice::say(model, format!("the prompt is put aside: {}", way_back(model))));
        }
    }
    requests.extend(changed(model));
    requests
}
