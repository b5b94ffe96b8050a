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
use super::{bar, confirm, picker, review, session, sessions, settings, welcome};

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
    // A click beside what lies over the view must not change what it is about.
    match &model.overlay {
        Some(Overlay::Picker(_)) => return picker::clicked(model, at),
        Some(Overlay::Confirm(_)) => return confirm::clicked(model, at),
        Some(Overlay::Help(_) | Overlay::Decide(_) | Overlay::Panel(_)) => return Vec::new(),
        None => {}
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
        View::Settings => settings::clicked(model, parts.main, at),
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
        (Some(Overlay::Decide(_)) | None, View::Settings) => repeat(model, rows.signum(), settings::wheel),
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
    use crate::tui::sample::{NARROW, WIDE, model, press, screen, sessions};
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
        press(&mut model, &["j"]);
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

    /// Clicks on the first place of the screen that shows this.
    fn click_at(model: &mut Model, text: &str) -> Vec<Request> {
        let screen = screen(model);
        let found = screen
            .lines()
            .enumerate()
            .find_map(|(row, line)| line.find(text).map(|at| (row, line[..at].chars().count())));
        let (row, column) = found.unwrap_or_else(|| panic!("no `{text}`:\n{screen}"));
        let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        update(model, at(MouseEventKind::Down(MouseButton::Left), column, row))
    }

    #[test]
    fn a_click_in_a_list_selects_and_another_one_chooses() {
        for size in [WIDE, NARROW] {
            let mut model = model(size, sessions());
            press(&mut model, &["ctrl+k"]);
            assert_eq!(click_at(&mut model, "jump to a session"), [], "the frame is no row");
            click_at(&mut model, "ready · demo");
            assert!(matches!(model.overlay, Some(Overlay::Picker(_))));
            click_at(&mut model, "ready · demo");
            assert_eq!(model.view, View::Session("reaaaaaa".into()));
            assert!(model.overlay.is_none());
        }
    }

    #[test]
    fn the_keys_of_a_question_can_be_clicked() {
        let mut model = model(NARROW, sessions());
        click_on(&mut model, "✓ Upgrade axum");
        press(&mut model, &["m"]);
        assert_eq!(click_at(&mut model, "rebase  v"), []);
        assert!(screen(&mut model).contains("rebase: the session's own commits"));
        assert_eq!(click_at(&mut model, "Your checkout"), [], "a click beside the keys decides nothing");
        let style = Some(crate::api::request::MergeStyle::Rebase);
        assert_eq!(
            click_at(&mut model, "merges"),
            [Request::Merge {
                session: "reaaaaaa".into(),
                style,
                hooks: Default::default(),
                unseen: Default::default()
            }]
        );
        press(&mut model, &["m"]);
        assert_eq!(click_at(&mut model, "esc not yet"), []);
        assert!(model.overlay.is_none());
    }
}
