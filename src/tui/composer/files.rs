//! The files that a mention can name, as they were when they were last asked for.

use super::Target;
use crate::tui::msg::Request;
use crate::tui::picker::fuzzy::Fuzzy;

/// Older than this, a list is asked for again when a mention begins.
const FRESH: i64 = 5_000;

#[derive(Debug, Default)]
pub(super) struct Files {
    of: Option<Target>,
    at: i64,
    /// `None` until they came once.
    known: Option<Fuzzy>,
}

impl Files {
    /// What has to be asked for before a mention for this target can be completed.
    pub(super) fn ask(&mut self, target: &Target, now: i64) -> Option<Request> {
        let is_other = self.of.as_ref() != Some(target);
        if !is_other && now.saturating_sub(self.at) < FRESH {
            return None;
        }
        if is_other {
            self.known = None;
        }
        // Noted when asked, so that the letters of one mention ask once.
        self.of = Some(target.clone());
        self.at = now;
        Some(Request::Files { session: target.session().map(ToOwned::to_owned) })
    }

    /// Takes a list; one for another target than the last asked for comes too late.
    pub(super) fn came(&mut self, target: &Target, files: Vec<String>) {
        if self.of.as_ref() == Some(target) {
            // A name that drives terminals is not worth to be typed.
            let harmless = files.into_iter().filter(|file| !file.contains(char::is_control));
            self.known = Some(Fuzzy::new(harmless.collect()));
        }
    }

    /// Whether the first list is still on its way.
    pub(super) fn is_awaited(&self) -> bool {
        self.known.is_none()
    }

    pub(super) fn best(&mut self, query: &str, count: usize) -> Vec<String> {
        let Some(known) = &mut self.known else { return Vec::new() };
        known.best(query, count).into_iter().map(|index| known.text(index).to_owned()).collect()
    }
}
