//! A model to look at, and the screen that it makes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Rect, Size};

use super::model::Model;
use super::msg::{Msg, Reply, Request};
use super::update::update;
use super::view::{prepare, view};
use super::world::Repository;
use crate::api::session::{Session, Status};
use crate::look::sample::{self, NOW};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keymap::Chord;

pub(crate) const WIDE: Size = Size { width: 120, height: 36 };
pub(crate) const NARROW: Size = Size { width: 80, height: 24 };

/// A connected face over these sessions.
pub(crate) fn model(size: Size, sessions: Vec<Session>) -> Model {
    let mut model = Model { size, now: NOW, ..Model::default() };
    update(&mut model, Msg::Connected);
    let repository = Repository {
        project: "/src/app/.git".into(),
        name: "shop".into(),
        branch: Some("main".into()),
        ahead: 2,
        behind: 0,
        has_commits: true,
    };
    update(&mut model, Msg::Reply(Reply::Repository(repository)));
    update(&mut model, Msg::Reply(Reply::Sessions(sessions)));
    model
}

/// Sessions in every state that the list shows, with ids of their own.
pub(crate) fn sessions() -> Vec<Session> {
    let named = |id: &str, title: &str, session: Session| Session { id: id.into(), title: title.into(), ..session };
    let child =
        Session { parent: Some("runaaaaa".into()), agent: Some("worker".into()), ..sample::session(Status::Running) };
    vec![
        named("askaaaaa", "Pick a date library", sample::asking()),
        named("appaaaaa", "Fix flaky login test", sample::approval()),
        named(
            "runaaaaa",
            "Rate limiter",
            Session { children: vec!["kidaaaaa".into()], ..sample::session(Status::Running) },
        ),
        named("kidaaaaa", "tests for it", child),
        named("queaaaaa", "Upgrade sqlx", sample::session(Status::Queued)),
        named("reaaaaaa", "Upgrade axum", sample::session(Status::Ready)),
        named("faiaaaaa", "Port to edition 2024", sample::failed()),
        named("conaaaaa", "Split the config room", sample::conflict()),
        named("intaaaaa", "API docs", sample::session(Status::Interrupted)),
        named("meraaaaa", "Old work", sample::session(Status::Merged)),
    ]
}

/// The whole screen as text, without colours.
pub(crate) fn screen(model: &mut Model) -> String {
    let backend = TestBackend::new(model.size.width, model.size.height);
    let mut terminal = Terminal::new(backend).unwrap();
    prepare(model);
    terminal.draw(|frame| view(model, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..model.size.height).map(|y| {
        let row: String = (0..model.size.width).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// A part of the screen, as wide as it is.
pub(crate) fn part(model: &mut Model, area: Rect) -> String {
    let screen = screen(model);
    let rows = screen.lines().skip(area.y.into()).take(area.height.into());
    let cut = |row: &str| row.chars().skip(area.x.into()).collect::<String>().trim_end().to_owned();
    rows.map(cut).collect::<Vec<_>>().join("\n")
}

/// Presses keys as the configuration spells them, each when the screen shows what the one before did; what they ask for
/// in order.
pub(crate) fn press(model: &mut Model, keys: &[&str]) -> Vec<Request> {
    keys.iter()
        .flat_map(|key| {
            prepare(model);
            press_blindly(model, &[key])
        })
        .collect()
}

/// Presses keys before anything of them is drawn.
pub(crate) fn press_blindly(model: &mut Model, keys: &[&str]) -> Vec<Request> {
    let event = |key: &&str| {
        let Chord { code, modifiers } = Chord::parse(key).unwrap();
        KeyEvent::new(code, modifiers)
    };
    keys.iter().map(event).flat_map(|key| update(model, Msg::Key(key))).collect()
}

/// Types a text, letter by letter.
pub(crate) fn write(model: &mut Model, text: &str) -> Vec<Request> {
    let event = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
    text.chars().flat_map(|letter| update(model, Msg::Key(event(letter)))).collect()
}
