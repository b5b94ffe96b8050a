//! What lies in a session's worktree and cannot be committed: repositories of its own, entries named `.git`, and what nobody
//! can read. It stays where it is, and every act that passes over it says so.

use std::path::{Path, PathBuf};

use crate::api::event::Payload;
use crate::git::status;

use super::Actor;
use super::tree::in_quiet_tree;

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

    /// Looks for what a worktree that is about to be put away holds besides commits. A failure says nothing: whoever saves
    /// the tree meets it too.
    pub(super) async fn find_left_out(&mut self) {
        let worktree = Path::new(&self.record.body.worktree).to_owned();
        let Ok(tree) = self.tree().await else { return };
        if let Ok(found) = in_quiet_tree(&worktree, move || status::read(&tree)).await {
            self.set_left_out(&[found.nested, found.unreadable].concat());
        }
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
                "{fate}, because they are repositories of their own, named `.git`, or unreadable: {}; they stay in the \
                 session's worktree",
                paths.join(", ")
            )
        })
    }
}
