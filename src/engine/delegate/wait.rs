//! Waiting for children, for a bounded time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::api::handoff::Handoff;
use crate::delegation::{self, Awaited, Lifecycle, Wait};

use super::super::handoff;
use super::super::shared::Shared;
use super::{Caller, Line, What, bring_home, family, text};

/// The handoff as it is when it is final, or when the time is up.
pub(super) async fn until_final(
    shared: &Shared,
    id: &str,
    hold: Duration,
    cancel: &CancellationToken,
) -> Result<Handoff, String> {
    let deadline = Instant::now() + hold;
    // Watched before it is read: a change in between is not missed.
    let mut changed = shared.handoffs.watch(id);
    loop {
        let handoff = handoff::find(shared, id).await.map_err(text)?;
        let handoff = handoff.ok_or_else(|| delegation::not_found(id))?;
        if handoff.status.is_final() {
            return Ok(handoff);
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(handoff),
            () = tokio::time::sleep_until(deadline) => return Ok(handoff),
            ended = changed.changed() => if ended.is_err() { return Ok(handoff) },
        }
    }
}

/// `wait`: the first of some agents that is done, with those that are done as well.
pub(super) async fn wait(shared: &Arc<Shared>, caller: &Caller, asked: &Wait, line: &Line) -> Result<String, String> {
    let known = family::handoffs(shared, &caller.record, &asked.ids).await?;
    let is_done = |handoff: &Option<Handoff>| handoff.as_ref().is_none_or(|handoff| handoff.status.is_final());
    let mut found = known;
    if !found.iter().any(is_done) {
        line.send(What::Waits).await;
        let hold = delegation::hold(Some(asked.timeout), caller.hold);
        let waits = found.iter().flatten().map(|handoff| {
            let (id, cancel) = (handoff.handoff_id.clone(), caller.cancel.clone());
            Box::pin(async move { until_final(shared, &id, hold, &cancel).await })
        });
        // Whichever comes first; whatever else is done by then is told as well.
        drop(select_all(waits).await);
        found = family::handoffs(shared, &caller.record, &asked.ids).await?;
    }
    let mut told = Vec::new();
    for (id, handoff) in asked.ids.iter().zip(found) {
        told.push(match handoff {
            None => (id, Lifecycle::NotFound, None),
            Some(handoff) => {
                let handoff = bring_home(shared, caller, handoff).await;
                let state = family::lifecycle(shared, &handoff).await;
                let files = handoff::files(&handoff);
                let text = match delegation::reply(&handoff::report(&handoff, files.as_deref())) {
                    Ok(text) | Err(text) => text,
                };
                (id, state, Some(text))
            }
        });
    }
    let agents = told.iter().map(|(id, state, text)| Awaited { id, state: *state, text: text.as_deref() });
    Ok(delegation::wait_text(agents))
}
