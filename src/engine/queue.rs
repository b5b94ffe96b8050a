//! Prompts that no turn has begun with: they are listed from the store, and dropped by the session's own task.

use crate::api::error::Error;
use crate::api::session::{QueuedPrompt, Session};
use crate::store::PromptRow;

use super::actor::Command;
use super::fault::Fault;
use super::record::{PromptBody, Unreadable};
use super::{Engine, view};

impl Engine {
    /// The prompts that wait, the next one first.
    pub async fn queue(&self, id: &str) -> Result<Vec<QueuedPrompt>, Error> {
        Ok(self.queued(id).await?)
    }

    /// Forgets a prompt that waits; it is never sent.
    pub async fn drop_prompt(&self, id: &str, number: u32) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::DropPrompt { number }).await
    }

    async fn queued(&self, id: &str) -> Result<Vec<QueuedPrompt>, Fault> {
        let record = self.record(id).await?;
        let rows = self.shared.store.queued_prompts(record.id).await?;
        // One that was taken between the two reads is in only one of them.
        let waiting = record.body.order.iter().filter_map(|number| rows.iter().find(|row| row.number == *number));
        Ok(waiting.map(shown).collect::<Result<_, _>>()?)
    }
}

fn shown(row: &PromptRow) -> Result<QueuedPrompt, Unreadable> {
    let PromptBody { text, images, .. } = PromptBody::read(row)?;
    Ok(QueuedPrompt { number: row.number, text, images: view::attached(&images), queued_at: row.at })
}
