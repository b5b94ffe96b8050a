//! What lies in a session's worktree and cannot be committed: repositories of their own, and what nobody can read. It stays
//! where it is, and every act that passes over it says so.

use std::path::PathBuf;

use crate::api::event::Payload;

use super::Actor;

impl Actor {
    /// Records what the last commit left out, and warns if that is news.
    pub(super) fn note_left_out(&mut self, paths: &[PathBuf]) {
        let before = self.record.body.left_out.clone();
        self.set_left_out(paths);
        if before != self.record.body.left_out {
            self.warn_of_left_out("not committed");
        }
    }

    pub(super) fn set_left_out(&mut self, paths: &[PathBuf]) {
        self.record.body.left_out = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    }

    /// Says what an act does not do with these files.
    pub(super) fn warn_of_left_out(&mut self, fate: &str) {
        if let Some(message) = self.describe_left_out(fate) {
            self.staged.push(Payload::Warning { message });
        }
    }

    /// The files that are in no commit, and where they are.
    pub(super) fn describe_left_out(&self, fate: &str) -> Option<String> {
        let paths: Vec<_> = self.record.body.left_out.iter().map(|path| format!("`{path}`")).collect();
        (!paths.is_empty()).then(|| {
            format!(
                "{fate}, because they are repositories of their own or unreadable: {}; the worktree that holds them is \
                 never deleted",
                paths.join(", ")
            )
        })
    }
}
