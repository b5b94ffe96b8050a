//! Work that changed after a person looked at it, although no turn ended since: a process that outlives its turn can show
//! one thing and leave another to be merged.

use crate::api::error::UnseenChanges;
use crate::api::event::Payload;
use crate::api::request::MergeUnseen;
use crate::git::Oid;
use crate::git::diff::{self, CommittedWork};

use super::super::fault::Fault;
use super::super::review;
use super::super::shown_work::current_turn;
use super::Actor;
use super::tree::blocking;

impl Actor {
    /// What a person was shown of the work since its last turn ended.
    pub(super) async fn shown_work(&self) -> Result<Option<Oid>, Fault> {
        let record = review::read(&self.shared, self.id).await?;
        Ok(record.shown.after(current_turn(&self.record.body)).map(str::parse).transpose()?)
    }

    /// Refuses committed work that is not what was shown, unless the person accepts exactly that. `hint` says what they can
    /// do about the work with this id.
    pub(super) async fn check_unseen(
        &mut self,
        shown: Oid,
        unseen: &MergeUnseen,
        hint: impl FnOnce(&str) -> String,
    ) -> Result<(), Fault> {
        let tree = self.tree().await?;
        let found = blocking(move || diff::committed_since(&tree, shown)).await?;
        let Some(CommittedWork { content, files }) = found else { return Ok(()) };
        let files = files.iter().map(|path| path.display().to_string()).collect();
        let changes = UnseenChanges::new(content.to_string(), files);
        if !unseen.accepts(&changes.id) {
            let hint = hint(&changes.id);
            return Err(Fault::UnseenChanges { changes: Box::new(changes), hint });
        }
        self.staged.push(Payload::Warning { message: changes.describe() });
        Ok(())
    }

    /// Work that was as it was shown has moved along with its base: this tree or commit is what was shown and the base,
    /// merged.
    pub(super) async fn remember_moved_work(&self, content: Oid) -> Result<(), Fault> {
        let turn = current_turn(&self.record.body);
        review::alter_shown(&self.shared, self.id, |shown| shown.remember(turn, content)).await
    }
}
