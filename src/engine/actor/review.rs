//! The comments of a person become a prompt of the session.

use crate::session::Session;

use super::super::fault::Fault;
use super::super::record::PromptBody;
use super::super::{clock, crash, review};
use super::Actor;
use super::command::Place;

impl Actor {
    /// Sends all drafts as one prompt. The prompt and the mark on what it carries are one write: whatever ends the daemon,
    /// a comment is either sent or still a draft.
    pub(super) async fn send_review(&mut self) -> Result<(), Fault> {
        if let Session::Integrating(_) = self.state {
            return Err(self.wrong_state("take a prompt"));
        }
        let lock = self.shared.review_lock(self.id);
        let held = lock.lock().await;
        let mut record = review::read(&self.shared, self.id).await?;
        let text = record.send(clock::now()).ok_or(Fault::NothingToSend { id: self.id })?;
        let prompt = PromptBody { text, ..PromptBody::default() };
        crash::point();
        self.queue_with(prompt, Place::Last, vec![review::change(self.id, &record)]).await?;
        crash::point();
        drop(held);
        self.start().await;
        Ok(())
    }
}
