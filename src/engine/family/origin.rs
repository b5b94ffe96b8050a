//! Where a descendant's events come from, as seen from one session above: looked up once, kept for the stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::handoff::Origin;
use crate::id::SessionId;
use crate::store::Store;

use crate::engine::fault::Fault;
use crate::engine::record::{self, Record};

/// The descendants of one session that were met so far. None of what is kept here ever changes.
#[derive(Debug, Default)]
pub(in crate::engine) struct Origins {
    met: Mutex<HashMap<SessionId, Arc<Origin>>>,
}

impl Origins {
    /// The origin of a session that was met.
    pub(in crate::engine) fn known(&self, id: SessionId) -> Option<Arc<Origin>> {
        self.lock().get(&id).cloned()
    }

    /// The origin of `id`, a descendant of `root`.
    pub(in crate::engine) async fn of(
        &self,
        store: &Store,
        root: SessionId,
        id: SessionId,
    ) -> Result<Arc<Origin>, Fault> {
        // From the session up to the first ancestor whose origin is known.
        let mut climbed = Vec::new();
        let mut at = id;
        let mut origin = loop {
            if let Some(origin) = self.known(at) {
                break origin;
            }
            let row = store.session(at).await?;
            match row.as_ref().and_then(|row| row.parent) {
                Some(parent) if parent != root && !climbed.contains(&parent) && parent != at => {
                    climbed.push(at);
                    at = parent;
                }
                Some(_) | None => {
                    let record = row.map(Record::read).transpose()?;
                    break self.keep(at, child(store, at, record).await?);
                }
            }
        };
        for below in climbed.into_iter().rev() {
            let mut longer = (*origin).clone();
            longer.depth += 1;
            longer.path.push(below.to_string());
            origin = self.keep(below, longer);
        }
        Ok(origin)
    }

    fn keep(&self, id: SessionId, origin: Origin) -> Arc<Origin> {
        let origin = Arc::new(origin);
        self.lock().insert(id, origin.clone());
        origin
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Origin>>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The origin of a direct child.
async fn child(store: &Store, id: SessionId, record: Option<Record>) -> Result<Origin, Fault> {
    let handoff = store.handoff_of(id).await?.map(|row| record::handoff(&row)).transpose()?;
    let body = record.map(|record| record.body).unwrap_or_default();
    Ok(Origin {
        agent_type: body.agent.id,
        session_id: id.to_string(),
        handoff_id: body.child.as_ref().map(|child| child.handoff.clone()).unwrap_or_default(),
        depth: body.child.map_or(1, |child| child.depth),
        label: handoff.map(|handoff| handoff.label).unwrap_or_default(),
        path: vec![id.to_string()],
    })
}
