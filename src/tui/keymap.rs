//! Every act that a key can mean, where, and by which keys: the one table behind keys, help, palette and slash commands.

use std::collections::{BTreeMap, HashMap};

use crossterm::event::KeyEvent;

mod chord;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub(crate) use super::order::Order;
pub(crate) use chord::Chord;
pub(crate) use table::{BINDINGS, Binding};

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
    /// A command by its word.
    Command,
    Filter,
    Jump,
    ToggleTree,
    ToggleResting,
    // The session in hand.
    Decide,
    Answer,
    Approve,
    Stop,
    /// Without a question.
    StopNow,
    Resume,
    /// To go on with another backend.
    Continue,
    Merge,
    Rebase,
    /// A model's proposal for a conflict.
    Resolve,
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
    /// A command that may have words behind it.
    Order(Order),
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
    ClearDraft,
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
    /// To the list, with the answers so far kept.
    ToList,
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
    /// A text to read.
    Panel,
}

impl Context {
    #[cfg(test)]
    pub(crate) const ALL: [Context; 16] = [
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
        Context::Panel,
    ];

    /// Whether letters are text here.
    #[cfg(test)]
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
            | Context::Confirm
            | Context::Panel => false,
        }
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
        Keymap::read(own).0
    }

    /// The same, and what is wrong with `own`, in words. What the person chose wins over what the table says.
    pub(crate) fn read(own: &BTreeMap<String, Vec<String>>) -> (Keymap, Vec<String>) {
        let mut keymap = Keymap { acts: HashMap::new(), spelled: BTreeMap::new() };
        let mut taken: HashMap<(Context, Chord), &str> = HashMap::new();
        let mut problems: Vec<String> = own.keys().filter_map(|name| unknown(name)).collect();
        let (chosen, usual): (Vec<_>, Vec<_>) = BINDINGS.iter().partition(|binding| own.contains_key(binding.name));
        for binding in chosen.into_iter().chain(usual) {
            let keys: Vec<&str> = match own.get(binding.name) {
                Some(keys) => keys.iter().map(String::as_str).collect(),
                None => binding.keys.to_vec(),
            };
            for key in keys {
                let Some(chord) = Chord::parse(key) else {
                    problems.push(format!("`keys.{}`: `{}` is not a key", binding.name, key.escape_debug()));
                    continue;
                };
                let clashes = binding.contexts.iter().filter_map(|context| taken.get(&(*context, chord)).copied());
                let clash = clashes.into_iter().next();
                problems.extend(
                    clash.map(|other| format!("`{chord}` means `{other}`; `{}` is left without it", binding.name)),
                );
                for context in binding.contexts.iter().filter(|context| !taken.contains_key(&(**context, chord))) {
                    keymap.acts.insert((*context, chord), binding.action);
                    keymap.spelled.entry((*context, binding.action)).or_default().push(chord.to_string());
                }
                taken.extend(binding.contexts.iter().map(|context| ((*context, chord), binding.name)));
            }
        }
        (keymap, problems)
    }

    pub(crate) fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        self.acts.get(&(context, Chord::of(key))).copied()
    }

    /// The key to show for an action, such as `ctrl+n`; `None` where it has none.
    pub(crate) fn key(&self, context: Context, action: Action) -> Option<&str> {
        self.keys(context, action).first().map(String::as_str)
    }

    /// All keys of an action, the one to show first.
    pub(crate) fn keys(&self, context: Context, action: Action) -> &[String] {
        self.spelled.get(&(context, action)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What is wrong with the name of an action, where something is.
fn unknown(name: &str) -> Option<String> {
    if BINDINGS.iter().any(|binding| binding.name == name) {
        return None;
    }
    let likeness = |binding: &&Binding| strsim::normalized_damerau_levenshtein(name, binding.name);
    let nearest = BINDINGS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = nearest.map(|binding| format!("; the nearest is `{}`", binding.name)).unwrap_or_default();
    Some(format!("`keys.{}`: there is no such action{hint}", name.escape_debug()))
}
