//! The only writer of the model: it waits for nothing, it returns what it wants done.

use crossterm::event::{KeyEvent, KeyEventKind};

use super::burst::Pressed;
use super::keymap::{Action, Context};
use super::model::{Focus, Model, Overlay, View, Window};
use super::msg::{Msg, Reply, Request};
use super::world::{Link, Stale};
use super::{
    act, burst, composer, confirm, decide, help, mouse, notice, panel, picker, review, session, sessions, settings,
    typeahead, welcome,
};
use crate::api::event::{Event, Live, Payload};
use crate::api::session::{Session, Status};

/// Advances the model by one thing that happened.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Request> {
    if matches!(msg, Msg::Key(_) | Msg::Mouse(_) | Msg::Paste(_)) {
        model.touched = model.now;
    }
    match msg {
        Msg::Key(key) => match key.kind {
            KeyEventKind::Press | KeyEventKind::Repeat => press(model, key),
            KeyEventKind::Release => Vec::new(),
        },
        Msg::Mouse(mouse) => {
            let mut requests = handle_held_key(model);
            requests.extend(mouse::update(model, mouse));
            requests
        }
        Msg::Paste(text) => {
            let mut requests = handle_held_key(model);
            requests.extend(paste(model, &text));
            requests
        }
        Msg::Resize(size) => {
            model.size = size;
            Vec::new()
        }
        Msg::Focused => {
            model.window = Window::Focused;
            look_again(model)
        }
        Msg::Unfocused => {
            model.window = Window::Unfocused;
            Vec::new()
        }
        Msg::Time(now) => {
            model.now = now;
            notice::expire(model);
            match burst::release(model) {
                Some(key) => handle_key(model, key),
                None => Vec::new(),
            }
        }
        Msg::Fact(event) => fact(model, &event),
        Msg::Live(record) => live(model, &record),
        Msg::Connected => {
            model.world.link = Link::Connected;
            let mut requests =
                vec![Request::List, Request::Repository, Request::Config, Request::Backends, Request::Agents];
            requests.extend(model.transcripts.renew());
            requests.extend(review::renew(model));
            requests
        }
        Msg::Lost(reason) => {
            // One that was stopped is not looked for with any hope.
            if !matches!(model.world.link, Link::Lost { .. } | Link::Stopped) {
                model.world.link = Link::Lost { since: model.now, reason };
            }
            Vec::new()
        }
        Msg::Stopped => {
            model.world.link = Link::Stopped;
            Vec::new()
        }
        Msg::Silent { since } => {
            if model.world.link == Link::Connected {
                model.world.link = Link::Silent { since };
            }
            Vec::new()
        }
        Msg::Answers => {
            if matches!(model.world.link, Link::Silent { .. }) {
                model.world.link = Link::Connected;
            }
            Vec::new()
        }
        Msg::SettingsChanged => look_again(model),
        Msg::Reply(reply) => replied(model, reply),
    }
}

/// A key that may be part of a text waits for the one behind it.
fn press(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    notice::seen(model);
    match burst::press(model, key) {
        Pressed::Acts(first) => {
            let mut requests = first.map(|first| handle_key(model, first)).unwrap_or_default();
            requests.extend(handle_key(model, key));
            requests
        }
        Pressed::Taken(requests) => requests,
    }
}

fn handle_held_key(model: &mut Model) -> Vec<Request> {
    burst::flush(model).map(|key| handle_key(model, key)).unwrap_or_default()
}

/// A key means an act of its context first, and text otherwise.
fn handle_key(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    let context = model.context();
    let action = model.keymap.action(context, key);
    if !typeahead::admit_key(model, action) {
        return Vec::new();
    }
    match action {
        // A letter of a text that moves nothing here.
        Some(_) if context == Context::Confirm && !confirm::takes(model, key) => confirm::typed(model, key),
        // What is about to take the terminal is the first thing to be called off.
        Some(Action::Back) if model.opening.take().is_some() => vec![Request::Detach],
        Some(action) => {
            notice::acted(model);
            act::perform(model, action)
        }
        None => typed(model, context, key),
    }
}

fn typed(model: &mut Model, context: Context, key: KeyEvent) -> Vec<Request> {
    match context {
        Context::Composer => composer::typed(model, key),
        Context::Sessions | Context::Filter => sessions::typed(model, key),
        Context::Search => session::typed(model, key),
        Context::Words | Context::Question | Context::Approval => decide::typed(model, key),
        Context::Comment => review::typed(model, key),
        Context::Setting => settings::typed(model, key),
        Context::Picker => picker::typed(model, key),
        Context::Confirm => confirm::typed(model, key),
        Context::Session | Context::Diff | Context::Settings | Context::Help | Context::Panel => Vec::new(),
    }
}

fn paste(model: &mut Model, text: &str) -> Vec<Request> {
    match model.context() {
        Context::Composer => composer::pasted(model, text),
        Context::Words => decide::pasted(model, text),
        Context::Comment => review::pasted(model, text),
        Context::Setting => settings::pasted(model, text),
        Context::Picker => picker::pasted(model, text),
        Context::Filter => sessions::pasted(model, text),
        Context::Search => session::pasted(model, text),
        // Whoever pastes into the list or into a session means to write.
        Context::Sessions => {
            let mut requests = composer::new_task(model);
            requests.extend(composer::pasted(model, text));
            requests
        }
        Context::Session => {
            let mut requests = composer::reply(model);
            requests.extend(composer::pasted(model, text));
            requests
        }
        Context::Approval
        | Context::Question
        | Context::Diff
        | Context::Settings
        | Context::Help
        | Context::Confirm
        | Context::Panel => Vec::new(),
    }
}

fn fact(model: &mut Model, event: &Event) -> Vec<Request> {
    if model.world.is_elsewhere(&event.session) {
        return Vec::new();
    }
    model.transcripts.fact(event);
    let mut requests = notice::of_fact(model, event);
    requests.extend(review::of_fact(model, event));
    if let Payload::PromptDropped { number } = event.payload {
        requests.extend(composer::dropped(model, &event.session, number));
    }
    if model.world.fact(event) == Stale::Yes {
        requests.push(Request::Read(event.session.clone()));
    }
    requests
}

fn live(model: &mut Model, record: &Live) -> Vec<Request> {
    if model.world.is_elsewhere(record.session()) {
        return Vec::new();
    }
    model.transcripts.live(record);
    match model.world.live(record) {
        Stale::Yes => vec![Request::Read(record.session().to_owned())],
        Stale::No => Vec::new(),
    }
}

fn replied(model: &mut Model, reply: Reply) -> Vec<Request> {
    match reply {
        Reply::Sessions(sessions) => {
            let was_empty = welcome::is_shown(model);
            model.world.is_listed = true;
            let missing = model.world.list(sessions);
            let mut requests = settle(model);
            requests.extend(begin_to_write(model, was_empty));
            requests.extend(missing.into_iter().map(Request::Read));
            requests.extend(welcome::wants_servers(model).then_some(Request::ImportableServers));
            requests
        }
        Reply::Moved(moved) => {
            notice::warn_of_act(model, &moved);
            Vec::new()
        }
        Reply::Removed(sessions) => picker::removed_came(model, sessions),
        Reply::Session(session) => known(model, *session),
        Reply::Gone(id) => {
            let was_empty = welcome::is_shown(model);
            model.world.forget(&id);
            let mut requests = settle(model);
            requests.extend(begin_to_write(model, was_empty));
            requests
        }
        Reply::Unread { error, .. } => notice::fail(model, "read the session", &error),
        Reply::Page { session, events, reach } => {
            model.world.catch_up(&session, &events);
            model.transcripts.page(&session, events, reach)
        }
        Reply::Taken { ticket, session } => {
            let mut requests = composer::taken(model, ticket, &session.id);
            requests.extend(known(model, *session));
            requests
        }
        Reply::Refused { ticket, error } => composer::refused(model, ticket, &error),
        Reply::Diff { session, turn, diff } => review::diff_came(model, &session, turn, *diff),
        Reply::Review { session, review } => review::review_came(model, &session, review),
        Reply::Prepared { session, review } => review::prepared_came(model, &session, review),
        Reply::Files { session, files } => composer::files_came(model, session, files),
        Reply::Backends(backends) => {
            model.world.backends = Some(backends);
            picker::backends_came(model)
        }
        Reply::ImportableServers(count) => {
            model.world.importable_servers = Some(count);
            Vec::new()
        }
        Reply::Agents(files) => {
            model.world.agents = files.agents;
            model.world.skills = files.skills;
            Vec::new()
        }
        Reply::Config(values) => {
            model.world.config = values;
            settings::apply(model);
            Vec::new()
        }
        Reply::HookChanges { session, style, unseen, changes } => {
            confirm::hook_changes_came(model, session, style, unseen, changes)
        }
        Reply::UnseenChanges { session, changes } => confirm::unseen_changes_came(model, session, changes),
        Reply::Resolution(proposal) => confirm::resolution_came(model, *proposal),
        Reply::Trust(trust) => confirm::trust_came(model, *trust),
        Reply::Workflow { session, workflow } => decide::workflow_came(model, session, *workflow),
        Reply::Seen(seen) => panel::came(model, *seen),
        Reply::Plans(plans) => picker::plans_came(model, plans),
        Reply::Queue { session, prompts } => picker::queue_came(model, &session, prompts),
        Reply::Doctor(checks) => settings::checks_came(model, checks),
        Reply::Repository(repository) => {
            model.world.repository = repository;
            Vec::new()
        }
        Reply::Edited(text) => composer::edited(model, text),
        Reply::Copied(what) => notice::say(model, format!("copied {what}")),
        Reply::Text { target, text } => composer::text_came(model, target, &text),
        Reply::Image { target, spelled, image } => composer::image_came(model, target, spelled.as_deref(), image),
        Reply::Merged(session) => {
            let said = notice::merged(model, &session);
            let mut requests = notice::say(model, said);
            requests.extend(known(model, *session));
            requests
        }
        Reply::Archived(session) => {
            let said = notice::archived(model, &session);
            let mut requests = notice::say(model, said);
            requests.extend(known(model, *session));
            requests
        }
        Reply::Done { said, session } => {
            let mut requests = notice::say(model, said);
            match session {
                Some(session) => requests.extend(known(model, *session)),
                // What is about no session is about the settings: written ones, or those of a trusted repository.
                None => requests.extend([Request::Config, Request::Backends]),
            }
            requests
        }
        Reply::Unset { key, value, error } => settings::refused(model, key, &value, &error),
        Reply::Failed { doing, error } => {
            model.transcripts.refused();
            notice::fail(model, &doing, &error)
        }
        Reply::Opened(outcome) => {
            // What was typed before another program got the terminal is not for afterwards.
            burst::forget(model);
            model.opening = None;
            match outcome {
                Ok(()) => Vec::new(),
                Err(error) => notice::fail(model, "attach", &error),
            }
        }
        Reply::Back => {
            let mut requests = vec![Request::Redraw];
            // It may have been a login, or an editor that had the settings.
            requests.extend(look_again(model));
            requests.extend(review::renew(model));
            requests
        }
    }
}

/// Draws everything again; a daemon that was stopped is started by the question for its sessions.
pub(crate) fn redraw(model: &Model) -> Vec<Request> {
    match model.world.link {
        Link::Stopped => vec![Request::Redraw, Request::List],
        Link::Connecting | Link::Connected | Link::Lost { .. } | Link::Silent { .. } => vec![Request::Redraw],
    }
}

/// What may have changed without a fact that tells of it: the branch of the checkout, settings, who is installed, the
/// files of agents and skills.
pub(crate) fn look_again(model: &Model) -> Vec<Request> {
    match model.world.link {
        Link::Connected => vec![Request::Repository, Request::Config, Request::Backends, Request::Agents],
        // What is asked for starts a daemon, and nobody asked for one.
        Link::Connecting | Link::Lost { .. } | Link::Stopped | Link::Silent { .. } => Vec::new(),
    }
}

/// Takes the session as it is.
fn known(model: &mut Model, session: Session) -> Vec<Request> {
    notice::warn_of_act(model, &session.warnings);
    let was_in_conflict = model.world.sessions.get(&session.id).is_some_and(|known| known.status == Status::Conflict);
    if was_in_conflict && session.status != Status::Conflict {
        notice::drop_wish(model, &session.id);
    }
    model.world.take(session);
    settle(model)
}

/// What follows from other sessions than before: cursors stand on rows that are there, decisions are about what still waits.
fn settle(model: &mut Model) -> Vec<Request> {
    let mut requests = decide::settle(model);
    requests.extend(sessions::settle(model));
    requests
}

/// Where there is no session to act on, the composer takes the keys.
fn begin_to_write(model: &mut Model, was_empty: bool) -> Vec<Request> {
    match !was_empty && welcome::is_shown(model) && model.can_be_interrupted() {
        true => composer::new_task(model),
        false => Vec::new(),
    }
}

/// Leaves what lies on top, or the view.
pub(crate) fn back(model: &mut Model) -> Vec<Request> {
    match model.context() {
        Context::Confirm | Context::Panel => model.close_overlay(),
        Context::Help => {
            model.close_overlay();
            // What comes back may have been decided meanwhile.
            return decide::settle(model);
        }
        Context::Picker => return picker::leave(model),
        Context::Approval | Context::Question | Context::Words => return decide::leave(model),
        Context::Composer => return composer::leave(model),
        Context::Filter | Context::Sessions => return sessions::clear_filter(model),
        Context::Search => session::leave_search(model),
        Context::Comment => review::leave_comment(model),
        Context::Setting => settings::leave_edit(model),
        Context::Session => return session::leave(model),
        Context::Settings => model.view = View::Sessions,
        Context::Diff => {
            if let View::Review(id) = &model.view {
                let id = id.clone();
                model.view = View::Session(id.clone());
                return model.transcripts.show(&id);
            }
        }
    }
    Vec::new()
}

/// Opens help for the context in hand.
pub(crate) fn help(model: &mut Model) -> Vec<Request> {
    let context = model.context();
    let below = model.overlay.take();
    model.overlay = Some(Overlay::Help(help::State::of(context, below)));
    Vec::new()
}

/// Moves to another view; letters go to it and not to the composer.
pub(crate) fn show(model: &mut Model, view: View) -> Vec<Request> {
    model.view = view;
    model.focus = Focus::Main;
    Vec::new()
}
