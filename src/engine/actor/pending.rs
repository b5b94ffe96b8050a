//! What a session's task waits for, where there is something to wait for: a future that never ends stands for what is not there.

use tokio::time::Instant;

use crate::backend::Conversation;
use crate::backend::event::Event as BackendEvent;
use crate::engine::prepare::{Prepared, Unprepared};
use crate::engine::slots::{Permit, Wish};

use super::attach::Guest;
use super::{Activity, Preparation};

pub(super) async fn granted(wish: &mut Option<Wish>) -> Permit {
    match wish {
        Some(wish) => wish.granted().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn finished(preparation: &mut Option<Preparation>) -> Result<Prepared, Unprepared> {
    match preparation {
        Some(preparation) => (&mut preparation.task).await.unwrap_or_else(|_| Err(Unprepared::aborted())),
        None => std::future::pending().await,
    }
}

pub(super) async fn heard(conversation: &mut Option<Conversation>) -> Option<BackendEvent> {
    match conversation {
        Some(conversation) => conversation.events.recv().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn left(guest: &mut Option<Guest>) -> i32 {
    match guest {
        Some(guest) => guest.left().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn retired(activity: &Activity) {
    match activity {
        Activity::Going { .. } => std::future::pending().await,
        Activity::Idle(place) => place.retired().await,
    }
}

pub(super) async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
