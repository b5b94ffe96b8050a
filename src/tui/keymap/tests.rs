//! The table keeps its promises, and so does a keymap with choices of the person's own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

fn own(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    pairs.iter().map(|(name, chosen)| ((*name).to_owned(), keys(chosen))).collect()
}

fn pressed(keymap: &Keymap, context: Context, key: &str) -> Option<Action> {
    let Chord { code, modifiers } = Chord::parse(key).unwrap();
    keymap.action(context, KeyEvent::new(code, modifiers))
}

#[test]
fn no_key_means_two_things_in_one_place() {
    let mut taken: HashMap<(Context, Chord), &str> = HashMap::new();
    for binding in BINDINGS {
        for key in binding.keys {
            let chord = Chord::parse(key).unwrap_or_else(|| panic!("{}: `{key}` is no key", binding.name));
            assert_eq!(chord.to_string(), *key, "{} spells its key in another way", binding.name);
            for context in binding.contexts {
                let other = taken.insert((*context, chord), binding.name);
                assert_eq!(other, None, "`{key}` is also `{}` in {context:?}", binding.name);
            }
        }
    }
    assert_eq!(Keymap::read(&BTreeMap::new()).1, Vec::<String>::new());
}

#[test]
fn every_act_can_be_reached() {
    for binding in BINDINGS {
        let by_key = !binding.keys.is_empty() && !binding.contexts.is_empty();
        assert!(by_key || binding.command.is_some(), "`{}` has neither a key nor a command", binding.name);
    }
}

#[test]
fn names_and_commands_are_unique() {
    let names: BTreeSet<_> = BINDINGS.iter().map(|binding| binding.name).collect();
    assert_eq!(names.len(), BINDINGS.len());
    let commands: Vec<_> = BINDINGS.iter().filter_map(|binding| binding.command).collect();
    assert_eq!(commands.iter().collect::<BTreeSet<_>>().len(), commands.len());
}

#[test]
fn where_text_is_written_letters_and_the_keys_of_editing_are_free() {
    let keymap = Keymap::default();
    let editing = ["ctrl+a", "ctrl+e", "ctrl+b", "ctrl+f", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+d", "home", "end"];
    for context in Context::ALL.into_iter().filter(|context| context.takes_text()) {
        for letter in ' '..='~' {
            let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
            assert_eq!(keymap.action(context, key), None, "`{letter}` in {context:?}");
        }
        for key in editing {
            assert_eq!(pressed(&keymap, context, key), None, "{key} in {context:?}");
        }
    }
}

#[test]
fn tab_moves_between_tabs_agents_and_the_parts_of_a_question() {
    let keymap = Keymap::default();
    for (context, forward, backward) in [
        (Context::Sessions, Some(Action::NextTab), Some(Action::PreviousTab)),
        (Context::Settings, Some(Action::NextTab), Some(Action::PreviousTab)),
        (Context::Composer, Some(Action::NextAgent), Some(Action::PreviousAgent)),
        (Context::Question, Some(Action::ToggleFocus), None),
        (Context::Words, Some(Action::ToggleFocus), None),
    ] {
        assert_eq!(pressed(&keymap, context, "tab"), forward, "{context:?}");
        assert_eq!(pressed(&keymap, context, "shift+tab"), backward, "{context:?}");
    }
    assert_eq!(pressed(&keymap, Context::Composer, "alt+m"), Some(Action::Posture));
}

#[test]
fn a_choice_of_the_persons_own_wins() {
    let (keymap, problems) = Keymap::read(&own(&[("new", &["ctrl+t", "m"]), ("stop", &[])]));
    assert_eq!(pressed(&keymap, Context::Sessions, "ctrl+t"), Some(Action::NewTask));
    assert_eq!(pressed(&keymap, Context::Sessions, "n"), None);
    assert_eq!(pressed(&keymap, Context::Sessions, "m"), Some(Action::NewTask));
    assert_eq!(pressed(&keymap, Context::Session, "m"), Some(Action::Merge));
    assert_eq!(pressed(&keymap, Context::Sessions, "s"), None);
    assert_eq!(keymap.key(Context::Sessions, Action::NewTask), Some("ctrl+t"));
    assert_eq!(keymap.key(Context::Sessions, Action::Merge), None);
    assert_eq!(keymap.keys(Context::Session, Action::Merge), ["m"]);
    assert_eq!(problems, ["`m` means `new`; `merge` is left without it"]);
}

#[test]
fn what_cannot_be_chosen_is_told() {
    let (keymap, problems) =
        Keymap::read(&own(&[("mergr", &["x"]), ("diff", &["ctrl+\u{1b}"]), ("undo", &["w"]), ("rebase", &["w"])]));
    assert_eq!(
        problems,
        [
            "`keys.mergr`: there is no such action; the nearest is `merge`",
            "`w` means `rebase`; `undo` is left without it",
            "`keys.diff`: `ctrl+\\u{1b}` is not a key",
        ]
    );
    assert_eq!(pressed(&keymap, Context::Sessions, "w"), Some(Action::Rebase));
}
