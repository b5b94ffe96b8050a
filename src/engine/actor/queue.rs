//! A prompt that waits is dropped before its turn comes.

use crate::api::event::Payload;
use crate::session::{Rest, Session};
use crate::store::{Change, Durability};

use super::super::crash;
use super::super::fault::Fault;
use super::Actor;

impl Actor {
    /// Forgets a prompt that waits: once this returns, it is never sent.
    pub(super) async fn drop_prompt(&mut self, number: u32) -> Result<(), Fault> {
        let id = self.id;
        if self.turn.as_ref().is_some_and(|turn| turn.prompt == number) {
            return Err(Fault::PromptTaken { id, number });
        }
        let body = &mut self.record.body;
        if !body.order.contains(&number) {
            return Err(Fault::NoPrompt { id, number });
        }
        let before = (body.order.clone(), body.withdrawn);
        body.order.retain(|waiting| *waiting != number);
        if is_resumed(self.state) && body.order.is_empty() && !body.unfinished {
            body.withdrawn = Some(body.turns);
        }
        self.staged.push(Payload::PromptDropped { number });
        let kept = self.unsaved.len();
        crash::point();
        if let Err(error) = self.persist(Durability::Full, vec![Change::DropPrompt { session: id, number }]).await {
            // The client is told that the prompt still waits, so it must.
            (self.record.body.order, self.record.body.withdrawn) = before;
            self.forget_refused(kept);
            return Err(error.into());
        }
        crash::point();
        Ok(())
    }
}

/// Whether a session in this state would go on with what waits when it is resumed.
fn is_resumed(state: Session) -> bool {
    match state {
        Session::Resting(rest) | Session::Attached(rest) => match rest {
            Rest::Draft | Rest::Failed | Rest::Interrupted => true,
            Rest::Ready | Rest::Asking | Rest::Conflict | Rest::Merged | Rest::Archived => false,
        },
        Session::Turning(_) | Session::Integrating(_) => false,
    }
}
