//! Commits again what could not be committed when its turn ended: a full disk has room again, a lock is gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::{debug, warn};

use crate::id::SessionId;
use crate::store::Removed;

use super::actor::Command;
use super::delegate;
use super::record::Record;
use super::shared::Shared;

/// The pauses between the tries; the last one repeats.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(30), Duration::from_secs(120)];

/// The sessions whose work is to be committed again.
#[derive(Default)]
pub(super) struct CommitRetries(Mutex<BTreeSet<SessionId>>);

impl CommitRetries {
    /// Adds a session; whether it is new.
    fn add(&self, id: SessionId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
    }

    fn remove(&self, id: SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// Tries again until the work of this session is committed, the session is gone, or the daemon ends.
pub(super) fn schedule(shared: &Arc<Shared>, id: SessionId) {
    if !shared.commit_retries.add(id) {
        return;
    }
    let shared = shared.clone();
    shared.clone().tasks.spawn(async move {
        shared.stop.run_until_cancelled(retry(&shared, id)).await;
        shared.commit_retries.remove(id);
    });
}

/// The same for every session that the last daemon left like this.
pub(super) async fn schedule_all(shared: &Arc<Shared>) {
    let rows = match shared.store.sessions(Removed::Without).await {
        Ok(rows) => rows,
        Err(error) => return warn!(%error, "nothing is committed again"),
    };
    let records = rows.into_iter().filter_map(|row| Record::read(row).ok());
    records.filter(|record| record.body.is_to_be_committed_again()).for_each(|record| schedule(shared, record.id));
}

async fn retry(shared: &Arc<Shared>, id: SessionId) {
    let [.., last] = PAUSES;
    for pause in PAUSES.into_iter().chain(std::iter::repeat(last)) {
        tokio::time::sleep(pause).await;
        if let Err(reason) = delegate::tell(shared, id, Command::CommitAgain).await {
            debug!(session = %id, reason, "not committed yet");
        }
        let record = match shared.store.session(id).await {
            Ok(row) => row.and_then(|row| Record::read(row).ok()),
            Err(_) => continue,
        };
        if !record.is_some_and(|record| record.removed_at.is_none() && record.body.is_to_be_committed_again()) {
            return;
        }
    }
}
