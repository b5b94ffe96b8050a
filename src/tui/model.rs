//! Everything the screen shows, in one value. `update` is its only writer.

use ratatui::layout::Size;

use super::burst::LetterBurst;
use super::keymap::{Context, Keymap};
use super::msg::Request;
use super::theme::{Terminal, Theme};
use super::transcript::Transcripts;
use super::world::World;
use super::{composer, confirm, decide, help, notice, panel, picker, review, session, sessions, settings};
use crate::api::attach::Program;
use crate::api::session::Session;
use crate::look::status::Signs;

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) size: Size,
    /// Milliseconds since the epoch, as the shell says.
    pub(crate) now: i64,
    /// How long a dialog has to stand without a key before one decides it, in milliseconds.
    pub(crate) patience: i64,
    /// How long a letter that is a shortcut waits for another one, in milliseconds.
    pub(crate) moment: i64,
    pub(crate) burst: LetterBurst,
    pub(crate) window: Window,
    /// When the person last did something here.
    pub(crate) touched: i64,
    pub(crate) world: World,
    pub(crate) view: View,
    pub(crate) focus: Focus,
    /// What lies over the view and takes the keys.
    pub(crate) overlay: Option<Overlay>,
    pub(crate) sessions: sessions::State,
    pub(crate) session: session::State,
    pub(crate) transcripts: Transcripts,
    pub(crate) composer: composer::State,
    pub(crate) review: review::State,
    pub(crate) settings: settings::State,
    pub(crate) notices: notice::State,
    pub(crate) decisions: decide::Kept,
    /// What gets the terminal as soon as the daemon has opened it.
    pub(crate) opening: Option<Opening>,
    pub(crate) keymap: Keymap,
    pub(crate) theme: Theme,
    /// What the terminal can show.
    pub(crate) signs: Signs,
    /// What the environment tells about the terminal, as the shell found it.
    pub(crate) terminal: Terminal,
}

/// A program in a session's worktree that is on its way to the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) program: Program,
    pub(crate) since: i64,
}

/// What fills the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum View {
    #[default]
    Sessions,
    Session(String),
    Review(String),
    Settings,
}

/// Where letters go when nothing lies over the view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    #[default]
    Main,
    Composer,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Window {
    /// The terminal has not told yet; some never do.
    #[default]
    Unknown,
    Focused,
    Unfocused,
}

#[derive(Debug)]
pub(crate) enum Overlay {
    Help(help::State),
    Picker(Box<picker::State>),
    Decide(Box<decide::State>),
    Confirm(Box<confirm::State>),
    Panel(Box<panel::State>),
}

impl Model {
    /// Where a key is pressed.
    pub(crate) fn context(&self) -> Context {
        match (&self.overlay, self.focus, &self.view) {
            (Some(Overlay::Help(_)), ..) => Context::Help,
            (Some(Overlay::Picker(_)), ..) => Context::Picker,
            (Some(Overlay::Decide(state)), ..) => state.context(),
            (Some(Overlay::Confirm(_)), ..) => Context::Confirm,
            (Some(Overlay::Panel(_)), ..) => Context::Panel,
            (None, Focus::Composer, _) => Context::Composer,
            (None, Focus::Main, View::Sessions) => self.sessions.context(),
            (None, Focus::Main, View::Session(_)) => self.session.context(),
            (None, Focus::Main, View::Review(_)) => self.review.context(),
            (None, Focus::Main, View::Settings) => self.settings.context(),
        }
    }

    /// The id of the session that acts are about: the open one, or the one under the cursor.
    pub(crate) fn current_id(&self) -> Option<&str> {
        match (&self.view, self.focus, self.composer.target.session()) {
            // What is written is about whom it is written to, wherever the cursor is by then.
            (_, Focus::Composer, Some(id)) => Some(id),
            (View::Session(id) | View::Review(id), ..) => Some(id.as_str()),
            (View::Sessions, ..) => self.sessions.selected(),
            (View::Settings, ..) => None,
        }
    }

    pub(crate) fn current(&self) -> Option<&Session> {
        self.current_id().and_then(|id| self.world.sessions.get(id))
    }

    /// Shows a session; its transcript is asked for when it is not there yet.
    pub(crate) fn open_session(&mut self, id: &str) -> Vec<Request> {
        self.view = View::Session(id.to_owned());
        self.focus = Focus::Main;
        self.session = session::State::default();
        self.transcripts.show(id)
    }

    /// Whether what comes late may take the keys: never from something that lies on top, nor from words in the making.
    pub(crate) fn can_be_interrupted(&self) -> bool {
        match self.context() {
            Context::Sessions | Context::Session | Context::Diff | Context::Settings => true,
            Context::Filter
            | Context::Search
            | Context::Composer
            | Context::Approval
            | Context::Question
            | Context::Words
            | Context::Comment
            | Context::Setting
            | Context::Picker
            | Context::Help
            | Context::Confirm
            | Context::Panel => false,
        }
    }

    /// Takes away what lies on top; what help lies over comes back.
    pub(crate) fn close_overlay(&mut self) {
        self.overlay = match self.overlay.take() {
            Some(Overlay::Help(help)) => help.below.map(|below| *below),
            Some(Overlay::Picker(_) | Overlay::Decide(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => None,
        };
    }
}
