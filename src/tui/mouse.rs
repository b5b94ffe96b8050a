//! Clicks select, the wheel scrolls what it points at. With shift held, the terminal selects text as ever.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::act::perform;
use super::bar::Spot;
use super::keymap::Action;
use super::model::{Focus, Model, Overlay, View};
use super::msg::Request;
use super::sessions::Hit;
use super::update::show;
use super::view::parts;
use super::{bar, review, session, sessions, settings, welcome};

/// Rows for one notch of the wheel.
const NOTCH: i32 = 3;

pub(crate) fn update(model: &mut Model, mouse: MouseEvent) -> Vec<Request> {
    let at = Position::new(mouse.column, mouse.row);
    // Terminals keep it for their own selection; one that reports it all the same is not obeyed.
    if mouse.modifiers.contains(KeyModifiers::SHIFT) {
        return Vec::new();
    }
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => click(model, at),
        MouseEventKind::ScrollUp => wheel(model, at, -NOTCH),
        MouseEventKind::ScrollDown => wheel(model, at, NOTCH),
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => Vec::new(),
    }
}

fn click(model: &mut Model, at: Position) -> Vec<Request> {
    // What lies over the view answers to keys; a click beside it must not change what it is about.
    if model.overlay.is_some() {
        return Vec::new();
    }
    let parts = parts(model);
    if parts.top.contains(at) {
        return match bar::spot(model, at.x) {
            Some(Spot::Sessions) => show(model, View::Sessions),
            Some(Spot::Settings) => settings::open(model),
            Some(Spot::Needs) => sessions::next_need(model),
            Some(Spot::Help) => perform(model, Action::Help),
            None => Vec::new(),
        };
    }
    if parts.dock.contains(at) {
        return match (model.focus, &model.view) {
            (Focus::Composer, _) => Vec::new(),
            (Focus::Main, View::Session(_)) => perform(model, Action::Reply),
            (Focus::Main, View::Sessions | View::Review(_) | View::Settings) => perform(model, Action::NewTask),
        };
    }
    if !parts.main.contains(at) {
        return Vec::new();
    }
    match model.view {
        View::Sessions if welcome::is_shown(model) => welcome::clicked(model, parts.main, at),
        View::Sessions => {
            model.focus = Focus::Main;
            match sessions::hit(model, parts.main, at) {
                Hit::Session(id) if model.sessions.selected() == Some(&id) => sessions::open(model),
                Hit::Session(id) => sessions::select(model, &id),
                Hit::Preview => sessions::open(model),
                Hit::List => Vec::new(),
            }
        }
        View::Session(_) => {
            model.focus = Focus::Main;
            session::click(model, at.y)
        }
        View::Review(_) => review::clicked(model, parts.main, at),
        View::Settings => Vec::new(),
    }
}

fn wheel(model: &mut Model, at: Position, rows: i32) -> Vec<Request> {
    let step = if rows < 0 { Action::Up } else { Action::Down };
    let parts = parts(model);
    match (&model.overlay, &model.view) {
        // The dock is what is to be decided; the rest of the screen scrolls behind it.
        (Some(Overlay::Decide(_)), _) if parts.dock.contains(at) => perform(model, step),
        (Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)), _) => {
            perform(model, step)
        }
        (Some(Overlay::Decide(_)) | None, View::Sessions) => {
            match sessions::hit(model, parts.main, at) {
                Hit::Preview => sessions::scroll_preview(model, rows),
                Hit::Session(_) | Hit::List => sessions::scroll_list(model, rows),
            }
            Vec::new()
        }
        (Some(Overlay::Decide(_)) | None, View::Session(_)) => session::scroll(model, rows),
        (Some(Overlay::Decide(_)) | None, View::Review(_)) => repeat(model, rows, review::step),
        (Some(Overlay::Decide(_)) | None, View::Settings) => repeat(model, rows.signum(), settings::step),
    }
}

/// One step for each row.
fn repeat(
    model: &mut Model,
    rows: i32,
    mut step: impl FnMut(&mut Model, super::act::Step) -> Vec<Request>,
) -> Vec<Request> {
    let way = if rows < 0 { super::act::Step::Up } else { super::act::Step::Down };
    (0..rows.unsigned_abs()).flat_map(|_| step(model, way)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::{Session, Status};
    use crate::look::sample as look;
    use crate::tui::msg::Msg;
    use crate::tui::sample::{NARROW, WIDE, model, screen, sessions};
    use crate::tui::update::update;
    use ratatui::layout::Size;

    fn at(kind: MouseEventKind, column: u16, row: u16) -> Msg {
        Msg::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
    }

    /// Clicks on the line of the screen that shows this.
    fn click_on(model: &mut Model, text: &str) {
        let screen = screen(model);
        let row = screen.lines().position(|line| line.trim_start().starts_with(text)).unwrap();
        update(model, at(MouseEventKind::Down(MouseButton::Left), 10, u16::try_from(row).unwrap()));
    }

    #[test]
    fn a_click_selects_and_another_one_opens() {
        for size in [WIDE, NARROW] {
            let mut model = model(size, sessions());
            click_on(&mut model, "✓ Upgrade axum");
            assert_eq!((model.sessions.selected(), &model.view), (Some("reaaaaaa"), &View::Sessions));
            click_on(&mut model, "RUNNING");
            assert_eq!(model.sessions.selected(), Some("reaaaaaa"));
            click_on(&mut model, "✓ Upgrade axum");
            assert_eq!(model.view, View::Session("reaaaaaa".into()));
        }
    }

    #[test]
    fn a_click_with_shift_is_the_terminals() {
        let mut model = model(WIDE, sessions());
        let kind = MouseEventKind::Down(MouseButton::Left);
        let mouse = MouseEvent { kind, column: 10, row: 8, modifiers: KeyModifiers::SHIFT };
        update(&mut model, Msg::Mouse(mouse));
        assert_eq!(model.sessions.selected(), Some("appaaaaa"));
    }

    #[test]
    fn the_wheel_looks_around_and_keys_come_back() {
        let many = (100..160).map(|number| Session {
            id: format!("s{number}"),
            title: format!("task {number}"),
            ..look::session(Status::Ready)
        });
        let mut model = model(Size { width: 120, height: 16 }, many.collect());
        assert!(screen(&mut model).contains("task 100"));
        for _ in 0..4 {
            update(&mut model, at(MouseEventKind::ScrollDown, 5, 6));
            screen(&mut model);
        }
        let seen = screen(&mut model);
        assert!(!seen.contains("✓ task 105") && seen.contains("✓ task 112"), "{seen}");
        assert_eq!(model.sessions.selected(), Some("s100"));
        for _ in 0..40 {
            update(&mut model, at(MouseEventKind::ScrollDown, 5, 6));
            screen(&mut model);
        }
        assert!(screen(&mut model).contains("task 159"));
        crate::tui::sample::press(&mut model, &["j"]);
        assert!(screen(&mut model).contains("task 101"));
    }

    #[test]
    fn a_click_on_the_first_line_goes_there() {
        let mut model = model(WIDE, sessions());
        model.view = View::Settings;
        let line = screen(&mut model);
        let column = u16::try_from(line[..line.find("Sessions").unwrap()].chars().count()).unwrap();
        update(&mut model, at(MouseEventKind::Down(MouseButton::Left), column, 0));
        assert_eq!(model.view, View::Sessions);
    }
}
