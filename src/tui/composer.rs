//! Where a prompt is written: for the next task, or to a session. Each has a draft of its own, and nothing that was typed
//! is lost: not by leaving, not by a refusal, not by a restart.

mod choice;
mod command;
mod draft;
mod files;
mod history;
mod paste;
mod popup;
mod relay;
mod saved;
mod screen;
mod send;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::CursorMove;

use super::decide::words;
use super::model::{Focus, Model, View};
use super::msg::{Request, Ticket};
use super::{act, bar, notice, picker, update};
use crate::api::image::Image;
use crate::look::line::one_line;
use crate::permission::Posture;

pub(crate) use choice::{
    Choices, choose_agent, choose_for_task, choose_models, choose_posture, choose_reasoning, in_force, toggle_yolo,
};
pub(crate) use command::{leaves, levels};
pub(crate) use draft::Content;
pub(crate) use relay::{offer, relay, resume};
pub(crate) use saved::{adopt, merge, restore, saved};
pub(crate) use screen::{height, view};
pub(crate) use send::{carry_out, dropped, recall, refused, send, send_now, taken};

use super::keymap::{Action, Context};
use draft::Draft;
use history::Found;
use paste::Pasted;
use popup::{By, Completed};
use send::Sent;

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Who is written to while the composer has the keys.
    pub(super) target: Target,
    drafts: BTreeMap<Target, Draft>,
    /// What the daemon has not taken yet.
    sent: BTreeMap<Ticket, Sent>,
    tickets: Ticket,
    /// What tasks run on, as chosen in this run.
    engine: Option<String>,
    /// Queued prompts that are being taken back: session, number and words.
    recalled: Vec<(String, u32, String)>,
    /// What was sent, as its words, and what was put aside, as it was; the oldest first.
    history: Vec<Content>,
    popup: Option<popup::Popup>,
    /// Where the word begins that is not to be completed.
    dismissed: Option<(usize, usize)>,
    files: files::Files,
}

impl State {
    fn choices(&self, target: &Target) -> Choices {
        self.drafts.get(target).map(|draft| draft.choices.clone()).unwrap_or_default()
    }
}

/// Who gets what is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A session that does not exist yet.
    #[default]
    Task,
    Session(String),
}

impl Target {
    pub(crate) fn session(&self) -> Option<&str> {
        match self {
            Target::Task => None,
            Target::Session(id) => Some(id),
        }
    }
}

/// Who is written to: whoever was chosen while the composer has the keys, else the view says it.
pub(crate) fn target(model: &Model) -> Target {
    match (model.focus, &model.view) {
        (Focus::Composer, _) => model.composer.target.clone(),
        (Focus::Main, View::Session(id) | View::Review(id)) => Target::Session(id.clone()),
        (Focus::Main, View::Sessions | View::Settings) => Target::Task,
    }
}

/// The draft of whoever is written to.
fn draft(model: &mut Model) -> &mut Draft {
    let target = target(model);
    model.composer.drafts.entry(target).or_default()
}

/// What follows from another text or another place of the cursor.
fn changed(model: &mut Model) -> Vec<Request> {
    let mut requests = popup::refresh(model);
    requests.push(Request::Save);
    requests
}

fn focus(model: &mut Model, target: Target) -> Vec<Request> {
    let mut requests = match (&target, &model.view) {
        (_, View::Sessions | View::Session(_)) => Vec::new(),
        (Target::Task, View::Review(_) | View::Settings) => {
            model.view = View::Sessions;
            Vec::new()
        }
        (Target::Session(id), View::Review(_) | View::Settings) => model.open_session(id),
    };
    if model.focus == Focus::Main {
        requests.push(Request::Recall);
        requests.extend(update::look_again(model));
    }
    model.composer.target = target;
    model.focus = Focus::Composer;
    requests.extend(popup::refresh(model));
    requests
}

pub(crate) fn new_task(model: &mut Model) -> Vec<Request> {
    focus(model, Target::Task)
}

/// Writes to the session in hand, or a task where there is none.
pub(crate) fn reply(model: &mut Model) -> Vec<Request> {
    let target = model.current_id().map_or(Target::Task, |id| Target::Session(id.to_owned()));
    focus(model, target)
}

/// Begins a command; what is written already is no place for one, so there the palette opens.
pub(crate) fn command(model: &mut Model) -> Vec<Request> {
    let target = target(model);
    if model.composer.drafts.get(&target).is_some_and(|draft| !draft.is_blank()) {
        return picker::palette(model);
    }
    let mut requests = focus(model, target);
    draft(model).set("/");
    requests.extend(changed(model));
    requests
}

/// Begins a command whose words are still to be written; what is written already stays.
pub(crate) fn begin(model: &mut Model, word: &str) -> Vec<Request> {
    let target = target(model);
    if model.composer.drafts.get(&target).is_some_and(|draft| !draft.is_blank()) {
        return notice::say(model, format!("`/{word} …` is written where nothing else is"));
    }
    let mut requests = focus(model, target);
    draft(model).set(&format!("/{word} "));
    requests.extend(changed(model));
    requests
}

/// Offers a prompt for the next task; one that is written already stays.
pub(crate) fn propose(model: &mut Model, text: &str) -> Vec<Request> {
    let mut requests = new_task(model);
    if draft(model).is_blank() {
        draft(model).set(text);
        requests.extend(changed(model));
    }
    requests
}

/// Begins to write, with these words; what is written already stays above them.
pub(crate) fn write(model: &mut Model, to: Target, text: &str) -> Vec<Request> {
    let mut requests = focus(model, to);
    if !draft(model).is_blank() {
        draft(model).area.move_cursor(CursorMove::Bottom);
        draft(model).area.move_cursor(CursorMove::End);
        requests.extend(newline(model));
    }
    let letters = text.chars().map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
    requests.extend(letters.flat_map(|key| typed(model, key)).collect::<Vec<_>>());
    requests
}

/// Sends a child's result along with the next prompt to the session in hand.
pub(crate) fn with_handoff(model: &mut Model, handoff: String) -> Vec<Request> {
    let mut requests = reply(model);
    let draft = draft(model);
    if !draft.with.contains(&handoff) {
        draft.with.push(handoff);
    }
    requests.push(Request::Save);
    requests
}

pub(crate) fn plan(model: &mut Model) -> Vec<Request> {
    choose_posture(model, Posture::Plan)
}

pub(crate) fn newline(model: &mut Model) -> Vec<Request> {
    draft(model).browse = None;
    draft(model).area.insert_newline();
    changed(model)
}

pub(crate) fn next_agent(model: &mut Model) -> Vec<Request> {
    match popup::complete(model, By::Tab) {
        Some(Completed::Command | Completed::Word) => changed(model),
        None => choice::turn_agent(model, 1),
    }
}

pub(crate) fn previous_agent(model: &mut Model) -> Vec<Request> {
    choice::turn_agent(model, -1)
}

/// The prompt before, among those that begin like what is written; where there is none, that is said.
pub(crate) fn history_back(model: &mut Model) -> Vec<Request> {
    let target = target(model);
    let state = &mut model.composer;
    let draft = state.drafts.entry(target).or_default();
    let is_blank = draft.is_blank();
    let found = history::back(&state.history, draft);
    let mut requests = changed(model);
    requests.extend(match (found, is_blank) {
        (Found::Yes, _) => Vec::new(),
        (Found::No, true) => notice::say(model, "there is no earlier prompt".to_owned()),
        (Found::No, false) => notice::say(model, "no earlier prompt begins like this".to_owned()),
    });
    requests
}

pub(crate) fn history_forward(model: &mut Model) -> Vec<Request> {
    let target = target(model);
    let state = &mut model.composer;
    history::forward(&state.history, state.drafts.entry(target).or_default());
    changed(model)
}

/// Puts the draft aside, where going back finds it; with nothing written it stops the turn, or leaves.
pub(crate) fn clear(model: &mut Model) -> Vec<Request> {
    let is_blank = draft(model).is_blank();
    let works = |id: &str| model.world.sessions.get(id).is_some_and(|session| session.status.is_busy());
    match target(model) {
        Target::Session(id) if is_blank && works(&id) => act::perform(model, Action::StopNow),
        Target::Task | Target::Session(_) if is_blank => leave(model),
        Target::Task | Target::Session(_) => {
            let content = draft(model).content();
            *draft(model) = Draft::of(Content { choices: content.choices.clone(), ..Content::NOTHING });
            history::put_aside(&mut model.composer.history, content);
            let mut requests = changed(model);
            requests.extend(notice::say(model, format!("put aside: {}", way_back(model))));
            requests
        }
    }
}

/// How what was put aside is found again.
fn way_back(model: &Model) -> String {
    match bar::key(model, Context::Composer, Action::HistoryBack) {
        Some(key) => format!("{key} brings it back where nothing is written"),
        None => "it stands among the earlier prompts".to_owned(),
    }
}

/// Opens the draft in the person's editor.
pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
    vec![Request::EditText { text: draft(model).text() }]
}

pub(crate) fn edited(model: &mut Model, text: String) -> Vec<Request> {
    draft(model).browse = None;
    draft(model).set(text.trim_end());
    changed(model)
}

/// Closes the completion, or gives the keys back to the view.
pub(crate) fn leave(model: &mut Model) -> Vec<Request> {
    if popup::dismiss(model) {
        return Vec::new();
    }
    model.focus = Focus::Main;
    vec![Request::Save]
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    match (key.code, key.modifiers) {
        (KeyCode::Up, _) if popup::step(model, -1) => return Vec::new(),
        (KeyCode::Down, _) if popup::step(model, 1) => return Vec::new(),
        (KeyCode::Up, KeyModifiers::NONE) if !moves(model, CursorMove::Up) => return history_back(model),
        (KeyCode::Down, KeyModifiers::NONE) if !moves(model, CursorMove::Down) => return history_forward(model),
        (KeyCode::Up | KeyCode::Down, KeyModifiers::NONE) => return popup::refresh(model),
        _ => {}
    }
    let draft = draft(model);
    let before = draft.text();
    match (key.code, key.modifiers) {
        (KeyCode::Backspace, _) if draft.delete_token() => {}
        (KeyCode::Backspace, _) if draft.area.cursor() == (0, 0) => {
            draft.with.pop();
            return changed(model);
        }
        _ => words::input(&mut draft.area, key),
    }
    if draft.text() == before {
        return popup::refresh(model);
    }
    draft.browse = None;
    changed(model)
}

/// Moves the cursor by a line; `false` when there is none in that direction.
fn moves(model: &mut Model, to: CursorMove) -> bool {
    let area = &mut draft(model).area;
    let before = area.cursor();
    area.move_cursor(to);
    area.cursor() != before
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    let target = target(model);
    text_came(model, target, text)
}

/// Puts a text into the draft that it was meant for, whoever is written to by then.
pub(crate) fn text_came(model: &mut Model, target: Target, text: &str) -> Vec<Request> {
    let draft = model.composer.drafts.entry(target.clone()).or_default();
    draft.browse = None;
    let mut requests = Vec::new();
    match paste::read(text) {
        Pasted::Text(text) => {
            draft.area.insert_str(text);
        }
        Pasted::Much(text) => draft.insert_paste(text),
        // The path stands there until the image comes, so that nothing is lost when it cannot be read.
        Pasted::Picture { path, spelled } => {
            draft.area.insert_str(&spelled);
            requests.push(Request::ReadImage { target, path, spelled });
        }
    }
    requests.extend(changed(model));
    requests
}

/// Asks for the image in the clipboard.
pub(crate) fn take_image(model: &Model) -> Vec<Request> {
    vec![Request::TakeImage { target: target(model) }]
}

/// Puts an image into the draft that it was asked for, in place of the file's name where one stands for it.
pub(crate) fn image_came(model: &mut Model, target: Target, spelled: Option<&str>, image: Image) -> Vec<Request> {
    let draft = model.composer.drafts.entry(target).or_default();
    if let Err(error) = paste::check(&image, draft.image_bytes()) {
        return notice::fail(model, "attach the image", &error);
    }
    match spelled {
        Some(spelled) if !draft.text().contains(spelled) => {
            // It was taken away or sent as it was written, so there is nothing that the image could be a part of.
            let late = format!("`{}` came too late and is not attached", one_line(spelled));
            return notice::say(model, late);
        }
        Some(spelled) => draft.insert_image_for(spelled, image),
        None => draft.insert_image(image),
    }
    changed(model)
}

pub(crate) fn files_came(model: &mut Model, session: Option<String>, files: Vec<String>) -> Vec<Request> {
    let target = session.map_or(Target::Task, Target::Session);
    model.composer.files.came(&target, files);
    popup::refresh(model)
}
