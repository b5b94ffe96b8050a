//! Every act that a key can mean, where, and by which keys: the one table behind keys, help, palette and slash commands.

use std::collections::{BTreeMap, HashMap};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub(crate) mod table;

pub(crate) use table::BINDINGS;

/// Something that a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Action {
    // Moving.
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    Back,
    Parent,
    NextTab,
    PreviousTab,
    /// The next session that needs the person.
    NextNeed,
    // Anywhere.
    Help,
    Palette,
    Settings,
    Quit,
    Suspend,
    Redraw,
    // The list.
    NewTask,
    Reply,
    Filter,
    Jump,
    ToggleTree,
    ToggleResting,
    // The session in hand.
    Decide,
    Answer,
    Approve,
    Stop,
    Resume,
    Merge,
    Rebase,
    Integrate,
    Undo,
    Diff,
    Archive,
    Remove,
    Restore,
    Attach,
    Shell,
    Edit,
    Copy,
    Model,
    Reasoning,
    Agent,
    Posture,
    Plan,
    Yolo,
    DropQueued,
    Login,
    Trust,
    // The transcript.
    NextCard,
    PreviousCard,
    Expand,
    ExpandAll,
    Reuse,
    Search,
    NextMatch,
    PreviousMatch,
    Thoughts,
    Summary,
    // The composer.
    Send,
    SendNow,
    Newline,
    NextAgent,
    PreviousAgent,
    HistoryBack,
    HistoryForward,
    PasteImage,
    EditDraft,
    // An approval.
    AllowOnce,
    AllowSession,
    AllowAlways,
    Refuse,
    RefuseAlways,
    NextRequest,
    // A question.
    ToggleFocus,
    EndTurn,
    // The changes.
    NextFile,
    PreviousFile,
    NextHunk,
    PreviousHunk,
    Layout,
    EarlierTurn,
    LaterTurn,
    Comment,
    DropComment,
    SendReview,
    MarkReviewed,
    // Settings.
    ResetSetting,
    SwitchScope,
    // Pickers.
    Mark,
    /// The tour on scripted agents.
    Demo,
}

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Context {
    Sessions,
    /// The row in which the filter of the list is typed.
    Filter,
    Session,
    /// The row in which a search is typed.
    Search,
    Composer,
    Approval,
    Question,
    /// The free answer to a question, or the words of a refusal.
    Words,
    Diff,
    /// A comment on a line.
    Comment,
    Settings,
    /// A setting that is typed.
    Setting,
    Picker,
    Help,
    /// A question of the face itself, yes or no.
    Confirm,
}

impl Context {
    pub(crate) const ALL: [Context; 15] = [
        Context::Sessions,
        Context::Filter,
        Context::Session,
        Context::Search,
        Context::Composer,
        Context::Approval,
        Context::Question,
        Context::Words,
        Context::Diff,
        Context::Comment,
        Context::Settings,
        Context::Setting,
        Context::Picker,
        Context::Help,
        Context::Confirm,
    ];

    /// Whether letters are text here.
    pub(crate) fn takes_text(self) -> bool {
        match self {
            Context::Filter
            | Context::Search
            | Context::Composer
            | Context::Words
            | Context::Comment
            | Context::Setting
            | Context::Picker => true,
            Context::Sessions
            | Context::Session
            | Context::Approval
            | Context::Question
            | Context::Diff
            | Context::Settings
            | Context::Help
            | Context::Confirm => false,
        }
    }
}

/// One key with what is held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chord {
    pub(crate) code: KeyCode,
    pub(crate) modifiers: KeyModifiers,
}

impl Chord {
    /// The chord that a terminal reports; a capital letter carries its shift already.
    pub(crate) fn of(key: KeyEvent) -> Chord {
        let modifiers = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Char(_) => Chord { code: key.code, modifiers: modifiers - KeyModifiers::SHIFT },
            KeyCode::BackTab => Chord { code: KeyCode::BackTab, modifiers: KeyModifiers::NONE },
            code => Chord { code, modifiers },
        }
    }

    /// Reads `ctrl+n`, `alt+enter`, `space`, `G`.
    pub(crate) fn parse(text: &str) -> Option<Chord> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((head, tail)) = rest.split_once('+').filter(|(_, tail)| !tail.is_empty()) {
            modifiers |= match head {
                "ctrl" => KeyModifiers::CONTROL,
                "alt" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                _ => return None,
            };
            rest = tail;
        }
        let mut letters = rest.chars();
        let code = match (rest, letters.next(), letters.next()) {
            (_, Some(letter), None) => KeyCode::Char(letter),
            ("enter", ..) => KeyCode::Enter,
            ("esc", ..) => KeyCode::Esc,
            ("tab", ..) if modifiers.contains(KeyModifiers::SHIFT) => {
                return Some(Chord { code: KeyCode::BackTab, modifiers: KeyModifiers::NONE });
            }
            ("tab", ..) => KeyCode::Tab,
            ("space", ..) => KeyCode::Char(' '),
            ("backspace", ..) => KeyCode::Backspace,
            ("delete", ..) => KeyCode::Delete,
            ("up", ..) => KeyCode::Up,
            ("down", ..) => KeyCode::Down,
            ("left", ..) => KeyCode::Left,
            ("right", ..) => KeyCode::Right,
            ("pageup", ..) => KeyCode::PageUp,
            ("pagedown", ..) => KeyCode::PageDown,
            ("home", ..) => KeyCode::Home,
            ("end", ..) => KeyCode::End,
            (name, ..) => KeyCode::F(name.strip_prefix('f')?.parse().ok()?),
        };
        Some(Chord { code, modifiers })
    }
}

/// Which key means what, the person's own choice included.
#[derive(Debug, Clone)]
pub(crate) struct Keymap {
    acts: HashMap<(Context, Chord), Action>,
    /// The keys of an action in a context, as they are spelled, the first is shown.
    spelled: BTreeMap<(Context, Action), Vec<String>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Keymap::with(&BTreeMap::new())
    }
}

impl Keymap {
    /// The keymap with some actions on other keys; `own` names actions as the table does.
    pub(crate) fn with(own: &BTreeMap<String, Vec<String>>) -> Keymap {
        let mut keymap = Keymap { acts: HashMap::new(), spelled: BTreeMap::new() };
        for binding in BINDINGS {
            let keys: Vec<String> = match own.get(binding.name) {
                Some(keys) => keys.clone(),
                None => binding.keys.iter().map(|key| (*key).to_owned()).collect(),
            };
            for context in binding.contexts {
                for key in &keys {
                    if let Some(chord) = Chord::parse(key) {
                        keymap.acts.insert((*context, chord), binding.action);
                    }
                }
                keymap.spelled.insert((*context, binding.action), keys.clone());
            }
        }
        keymap
    }

    pub(crate) fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        self.acts.get(&(context, Chord::of(key))).copied()
    }

    /// The key to show for an action, such as `ctrl+n`; `None` where it has none.
    pub(crate) fn key(&self, context: Context, action: Action) -> Option<&str> {
        self.spelled.get(&(context, action)).and_then(|keys| keys.first()).map(String::as_str)
    }
}
