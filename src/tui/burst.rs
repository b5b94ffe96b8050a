//! Tells words from shortcuts where letters are shortcuts: letters that follow each other at once are text.
//!
//! A letter is held back for a moment. If another one comes within it, both are the beginning of a text; if none does, the
//! letter is its shortcut. Keys that only move act at once.
//! On a card such a text becomes its words: an answer of one's own, or why a call is refused. A question of the interface is
//! closed by it. The clock releases a letter, and nothing polls.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::composer::{self, Target};
use super::keymap::{Action, Context};
use super::model::{Model, View};
use super::msg::Request;
use super::{confirm, decide, typeahead};

/// Keys that came shortly after each other.
#[derive(Debug, Default)]
pub(crate) struct LetterBurst {
    typed: String,
    /// A letter whose shortcut has not acted yet.
    held: Option<KeyEvent>,
    touched: i64,
    /// Where it began, and who gets what is written there.
    origin: Option<(Context, Target)>,
}

/// What a key may be the beginning of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyClass {
    Movement(char),
    Letter(char),
    /// A character that no text begins with.
    Sign(char),
    /// No character.
    Control,
}

/// What becomes of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// It acts now, after the letter that was held back, if one was.
    Act {
        first: Option<KeyEvent>,
    },
    Hold,
    /// All of the burst is text.
    Write(String),
}

impl LetterBurst {
    fn press(&mut self, class: KeyClass, key: KeyEvent, now: i64, moment: i64) -> Verdict {
        let letter = match class {
            KeyClass::Movement(letter) | KeyClass::Letter(letter) | KeyClass::Sign(letter) => letter,
            KeyClass::Control => {
                let first = std::mem::take(self).held;
                return Verdict::Act { first };
            }
        };
        // A key that waited in the queue came in time, whatever the clock says by now: only the clock releases a letter.
        if self.held.is_some() {
            let mut text = std::mem::take(self).typed;
            text.push(letter);
            return Verdict::Write(text);
        }
        if is_over(self.touched, now, moment) {
            *self = LetterBurst::default();
        }
        self.touched = now;
        self.typed.push(letter);
        match class {
            KeyClass::Letter(_) if moment > 0 => {
                self.held = Some(key);
                Verdict::Hold
            }
            KeyClass::Sign(_) => {
                *self = LetterBurst::default();
                Verdict::Act { first: None }
            }
            KeyClass::Movement(_) | KeyClass::Letter(_) | KeyClass::Control => Verdict::Act { first: None },
        }
    }

    /// The letter that no other one followed.
    fn release(&mut self, now: i64, moment: i64) -> Option<KeyEvent> {
        match self.held {
            Some(_) if is_over(self.touched, now, moment) => std::mem::take(self).held,
            Some(_) | None => None,
        }
    }
}

/// Whether the moment has passed; a clock that was set back ends it too.
fn is_over(since: i64, now: i64, moment: i64) -> bool {
    !(since..since.saturating_add(moment)).contains(&now)
}

/// What is to be done about a key before it acts by itself.
pub(crate) enum Pressed {
    /// The key acts, after this letter if there is one.
    Acts(Option<KeyEvent>),
    /// It is held back, or part of a text.
    Taken(Vec<Request>),
}

/// Takes a key where letters are shortcuts.
pub(crate) fn press(model: &mut Model, key: KeyEvent) -> Pressed {
    let context = model.context();
    // What does not count yet is not held back until it does.
    if text_home(context).is_none_or(|home| home != TextHome::Composer && typeahead::is_waiting(model)) {
        model.burst = LetterBurst::default();
        return Pressed::Acts(None);
    }
    let class = match key.code {
        KeyCode::Char(letter) if confirm::switches(model, letter) => KeyClass::Movement(letter),
        _ => classify(key, model.keymap.action(context, key)),
    };
    let (now, moment) = (model.now, model.moment);
    // What was typed elsewhere is not the beginning of what is typed here.
    if model.burst.origin.as_ref().is_some_and(|(begun, _)| *begun != context) {
        model.burst = LetterBurst::default();
    }
    let goes_on = model.burst.held.is_some() || !is_over(model.burst.touched, now, moment);
    let begun = model.burst.origin.take().filter(|_| goes_on);
    let origin = begun.unwrap_or_else(|| (context, home(model)));
    match model.burst.press(class, key, now, moment) {
        Verdict::Act { first } => {
            model.burst.origin = Some(origin);
            Pressed::Acts(first)
        }
        Verdict::Hold => {
            model.burst.origin = Some(origin);
            Pressed::Taken(Vec::new())
        }
        Verdict::Write(text) => Pressed::Taken(write(model, origin, &text)),
    }
}

/// Where a text goes that is typed where letters are shortcuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextHome {
    /// To whoever is written to there.
    Composer,
    /// The words of the card on the screen.
    Card,
    /// Nowhere: it closes a question that takes single keys.
    Question,
}

fn text_home(context: Context) -> Option<TextHome> {
    match context {
        Context::Sessions | Context::Session => Some(TextHome::Composer),
        Context::Approval | Context::Question => Some(TextHome::Card),
        Context::Confirm => Some(TextHome::Question),
        Context::Filter
        | Context::Search
        | Context::Composer
        | Context::Words
        | Context::Diff
        | Context::Comment
        | Context::Settings
        | Context::Setting
        | Context::Picker
        | Context::Help
        | Context::Panel => None,
    }
}

fn write(model: &mut Model, (context, target): (Context, Target), text: &str) -> Vec<Request> {
    match text_home(context) {
        Some(TextHome::Card) => decide::write(model, text),
        Some(TextHome::Question) => confirm::close_unanswered(model),
        Some(TextHome::Composer) | None => composer::write(model, target, text),
    }
}

/// The letter whose shortcut acts now, unless the person is somewhere else by then.
pub(crate) fn release(model: &mut Model) -> Option<KeyEvent> {
    let origin = model.burst.origin.clone();
    let key = model.burst.release(model.now, model.moment)?;
    let is_there = origin.is_some_and(|(context, _)| context == model.context());
    is_there.then_some(key)
}

/// The letter whose shortcut comes before a click or a paste.
pub(crate) fn flush(model: &mut Model) -> Option<KeyEvent> {
    std::mem::take(&mut model.burst).held
}

/// Lets go of a letter that is held back: it was meant for what is gone.
pub(crate) fn forget(model: &mut Model) {
    model.burst = LetterBurst::default();
}

/// When the clock releases a letter; `None` where none is held back.
pub(crate) fn due_at(model: &Model) -> Option<i64> {
    model.burst.held.map(|_| model.burst.touched.saturating_add(model.moment))
}

/// Who gets what is typed here: the session that is open, or the next task.
fn home(model: &Model) -> Target {
    match &model.view {
        View::Session(id) => Target::Session(id.clone()),
        View::Sessions | View::Review(_) | View::Settings => Target::Task,
    }
}

fn classify(key: KeyEvent, action: Option<Action>) -> KeyClass {
    let KeyCode::Char(letter) = key.code else { return KeyClass::Control };
    if !(key.modifiers - KeyModifiers::SHIFT).is_empty() {
        return KeyClass::Control;
    }
    match action {
        Some(
            Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::Top
            | Action::Bottom
            | Action::NextNeed
            | Action::NextCard
            | Action::PreviousCard
            | Action::NextMatch
            | Action::PreviousMatch,
        ) => KeyClass::Movement(letter),
        Some(_) | None if letter.is_alphanumeric() => KeyClass::Letter(letter),
        Some(_) | None => KeyClass::Sign(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Status;
    use crate::look::sample;
    use crate::tui::model::Focus;
    use crate::tui::msg::Msg;
    use crate::tui::sample::{WIDE, model, press as keys, screen, write};
    use crate::tui::update::update;

    const MOMENT: i64 = 200;

    /// A key and its class, and what it becomes when so many milliseconds have passed since the key before.
    #[test]
    fn letters_that_follow_each_other_at_once_are_text() {
        let event = |letter: char| match letter {
            '\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
            letter => KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE),
        };
        let class = |letter: char| match letter {
            '\r' => KeyClass::Control,
            'j' | 'k' | ' ' => KeyClass::Movement(letter),
            '/' | '!' => KeyClass::Sign(letter),
            letter => KeyClass::Letter(letter),
        };
        let act = || Verdict::Act { first: None };
        let after = |letter| Verdict::Act { first: Some(event(letter)) };
        let text = |text: &str| Verdict::Write(text.into());
        let hold = || Verdict::Hold;
        for (steps, expected) in [
            (&[('w', 0)][..], vec![hold()]),
            (&[('w', 0), ('r', 50)], vec![hold(), text("wr")]),
            // What the queue held back came in time.
            (&[('w', 0), ('r', 900)], vec![hold(), text("wr")]),
            (&[('m', 0), ('\r', 50)], vec![hold(), after('m')]),
            (&[('j', 0), ('j', 30), ('j', 30), ('k', 30)], vec![act(), act(), act(), act()]),
            (&[('j', 0), ('u', 50), ('s', 50)], vec![act(), hold(), text("jus")]),
            (&[('j', 0), ('u', 200), ('s', 50)], vec![act(), hold(), text("us")]),
            (&[('m', 0), ('j', 50)], vec![hold(), text("mj")]),
            (&[('a', 0), (' ', 50)], vec![hold(), text("a ")]),
            (&[('a', 0), ('!', 50)], vec![hold(), text("a!")]),
            (&[('/', 0), ('m', 50)], vec![act(), hold()]),
            (&[('j', 0), ('\r', 50), ('m', 50)], vec![act(), act(), hold()]),
        ] {
            let mut burst = LetterBurst::default();
            let mut now = 1_000;
            let verdicts: Vec<_> = steps
                .iter()
                .map(|(letter, pause)| {
                    now += pause;
                    burst.press(class(*letter), event(*letter), now, MOMENT)
                })
                .collect();
            assert_eq!(verdicts, expected, "{steps:?}");
        }
    }

    #[test]
    fn the_clock_releases_a_letter_that_none_followed() {
        let key = KeyEvent::new(KeyCode::Char('m'), KeyModifiers::NONE);
        for (now, released) in [(1_000, None), (1_199, None), (1_200, Some(key)), (900, Some(key))] {
            let mut burst = LetterBurst::default();
            burst.press(KeyClass::Letter('m'), key, 1_000, MOMENT);
            assert_eq!(burst.release(now, MOMENT), released, "{now}");
            assert_eq!(burst.release(now + 1_000, MOMENT).is_none(), released.is_some(), "{now}");
        }
    }

    fn typing(view: View) -> Model {
        let mut model = model(WIDE, vec![sample::session(Status::Ready)]);
        model.view = view;
        model.moment = MOMENT;
        model
    }

    fn wait(model: &mut Model, milliseconds: i64) -> Vec<Request> {
        let now = model.now + milliseconds;
        update(model, Msg::Time(now))
    }

    #[test]
    fn a_burst_is_a_task_on_the_list_and_a_reply_in_a_session() {
        let session = || View::Session("abcd2345".into());
        let reply = || Target::Session("abcd2345".into());
        for (view, text, target) in [
            (View::Sessions, "write the docs", Target::Task),
            (View::Sessions, "just speed it up", Target::Task),
            (View::Sessions, "look at what changed", Target::Task),
            (View::Sessions, "export", Target::Task),
            (session(), "question", reply()),
            (session(), "2 tests fail", reply()),
        ] {
            let mut model = typing(view);
            let requests = write(&mut model, text);
            let is_act = |request: &Request| {
                !matches!(
                    request,
                    Request::Save
                        | Request::Recall
                        | Request::Files { .. }
                        | Request::Page { .. }
                        | Request::Repository
                        | Request::Config
                        | Request::Backends
                        | Request::Agents
                )
            };
            assert!(!requests.iter().any(is_act), "{text}: {requests:?}");
            assert_eq!((model.focus, &model.composer.target), (Focus::Composer, &target), "{text}");
            assert!(screen(&mut model).contains(&format!("› {text}")), "{text}: {}", screen(&mut model));
            assert_eq!(wait(&mut model, MOMENT), [], "{text}");
        }
    }

    #[test]
    fn a_shortcut_acts_when_no_letter_follows() {
        let mut model = typing(View::Sessions);
        assert_eq!(write(&mut model, "m"), []);
        assert_eq!(model.context(), Context::Sessions);
        assert_eq!(due_at(&model), Some(model.now + MOMENT));
        assert_eq!(wait(&mut model, MOMENT - 1), []);
        assert_eq!(model.context(), Context::Sessions);
        wait(&mut model, 1);
        assert_eq!(model.context(), Context::Confirm);
        assert_eq!(due_at(&model), None);
        // A key that is no character comes after the shortcut.
        for (letter, key, expected) in [
            ('m', "esc", Context::Sessions),
            ('n', "enter", Context::Composer),
            ('z', "enter", Context::Session),
            ('d', "esc", Context::Session),
        ] {
            let mut model = typing(View::Sessions);
            write(&mut model, &letter.to_string());
            keys(&mut model, &[key]);
            assert_eq!(model.context(), expected, "{letter} {key}");
            assert_eq!(wait(&mut model, MOMENT), []);
        }
    }

    #[test]
    fn a_letter_is_let_go_of_where_the_person_is_not_any_more() {
        let mut model = typing(View::Sessions);
        write(&mut model, "x");
        model.open_session("abcd2345");
        assert_eq!(wait(&mut model, MOMENT), []);
    }
}
