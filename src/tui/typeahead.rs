//! Keys that were typed before a decision came to the screen: they were meant for something else.
//!
//! A dialog counts a key only once it is drawn and no key came for a moment: neither a key that waited in the queue nor a
//! text that is typed blindly decides anything. Going back always works. The shell tells what waited in the queue.

use super::keymap::{Action, Context};
use super::model::{Model, Overlay};

/// When the keys of one dialog begin to count.
#[derive(Debug, Default)]
pub(crate) struct TypeaheadGuard {
    /// When it was drawn first, or when the last key came that did not count yet.
    quiet_since: Option<i64>,
}

impl TypeaheadGuard {
    fn note_drawing(&mut self, now: i64) {
        self.quiet_since.get_or_insert(now);
    }

    /// From when on keys count; `None` before it is drawn.
    fn ready_at(&self, patience: i64) -> Option<i64> {
        self.quiet_since.map(|since| since + patience)
    }

    pub(crate) fn is_ready(&self, now: i64, patience: i64) -> bool {
        self.ready_at(patience).is_some_and(|ready| ready <= now)
    }

    /// Whether a key counts; one that does not makes the dialog wait anew.
    fn admit_key(&mut self, now: i64, patience: i64) -> bool {
        let is_ready = self.is_ready(now, patience);
        if !is_ready && self.quiet_since.is_some() {
            self.quiet_since = Some(now);
        }
        is_ready
    }
}

/// The dialog is about to be seen.
pub(crate) fn note_drawing(model: &mut Model) {
    let now = model.now;
    if let Some(guard) = guard_mut(model) {
        guard.note_drawing(now);
    }
}

/// Counts the moment without a key from now on.
pub(crate) fn restart(model: &mut Model) {
    let now = model.now;
    if let Some(guard) = guard_mut(model) {
        guard.quiet_since = Some(now);
    }
}

/// Whether there is a dialog that nobody has seen yet.
pub(crate) fn is_undrawn(model: &Model) -> bool {
    guard(model).is_some_and(|guard| guard.quiet_since.is_none())
}

/// Whether there is a dialog whose keys do not count yet.
pub(crate) fn is_waiting(model: &Model) -> bool {
    guard(model).is_some_and(|guard| !guard.is_ready(model.now, model.patience))
}

/// From when on the keys of the dialog on the screen count; `None` where there is none.
pub(crate) fn ready_at(model: &Model) -> Option<i64> {
    guard(model)?.ready_at(model.patience)
}

/// Whether a key is meant for what the person sees.
pub(crate) fn admit_key(model: &mut Model, action: Option<Action>) -> bool {
    let is_letter_of_text = model.context() == Context::Words && action.is_none();
    let (now, patience) = (model.now, model.patience);
    match guard_mut(model) {
        Some(_) if action == Some(Action::Back) || is_letter_of_text => true,
        Some(guard) => guard.admit_key(now, patience),
        None => true,
    }
}

fn guard(model: &Model) -> Option<&TypeaheadGuard> {
    match &model.overlay {
        Some(Overlay::Decide(state)) => Some(&state.guard),
        Some(Overlay::Confirm(state)) => Some(&state.guard),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Panel(_)) | None => None,
    }
}

fn guard_mut(model: &mut Model) -> Option<&mut TypeaheadGuard> {
    match &mut model.overlay {
        Some(Overlay::Decide(state)) => Some(&mut state.guard),
        Some(Overlay::Confirm(state)) => Some(&mut state.guard),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Panel(_)) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_after_the_dialog_was_drawn_and_nothing_was_typed_for_a_moment() {
        let mut guard = TypeaheadGuard::default();
        assert!(!guard.admit_key(1_000, 300), "not drawn yet");
        guard.note_drawing(2_000);
        for (now, counts) in
            [(2_000, false), (2_250, false), (2_500, false), (2_799, false), (3_099, true), (3_099, true)]
        {
            guard.note_drawing(now);
            assert_eq!(guard.admit_key(now, 300), counts, "{now}");
        }
    }
}
