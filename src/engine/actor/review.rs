//! The comments of a person become a prompt of the session.

use crate::git::diff::Target;
use crate::session::Session;

use super::super::fault::Fault;
use super::super::record::{PromptBody, Tree};
use super::super::{clock, crash, delegate, prepare, review, workflow};
use super::Actor;
use super::command::Place;

impl Actor {
    /// A prompt that hands the session to a reviewer begins with what there is to review.
    pub(super) async fn with_reviewed_work(&self, mut task: PromptBody) -> PromptBody {
        let is_review = task.switch.agent.as_ref().is_some_and(|(agent, _)| agent == workflow::REVIEWER);
        let has_work = self.record.body.tree == Tree::Ready;
        if let (true, true, Ok(repo)) = (is_review, has_work, prepare::open_repo(&self.record).await) {
            let work = delegate::describe_work(&self.shared, &self.record, &repo, Target::WorkTree).await;
            task.context = Some(task.context.into_iter().chain([work]).collect::<Vec<_>>().join("\n\n"));
        }
        task
    }

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
