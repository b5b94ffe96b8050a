//! Events for clients: pages of the past, and a feed of what happens.

use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::api::Page;
use crate::api::error::Error;
use crate::api::event::{Live, RawEvent, compose};
use crate::api::request::EventQuery;
use crate::id::SessionId;
use crate::store::{EventFilter, StoredEvent};

use super::Engine;
use super::fault::Fault;
use super::live::Watch;

/// How many events are read at once unless the client says otherwise, and at most.
const PAGE: (u32, u32) = (500, 5000);

/// What a stream needs: events are pulled after each commit, live records are pushed.
pub struct Feed {
    engine: Engine,
    session: Option<SessionId>,
}

impl Engine {
    /// One page of events, oldest first; the cursor is the last sequence number.
    pub async fn events(&self, query: EventQuery) -> Result<Page<RawEvent>, Error> {
        let limit = query.limit.unwrap_or(PAGE.0).clamp(1, PAGE.1);
        let session = self.optional(query.session.as_deref()).await?;
        let events = self.read(session, query.since.unwrap_or_default(), limit).await?;
        let full = events.len() == limit as usize;
        let next = events.last().filter(|_| full).map(|last| last.seq.to_string());
        Ok(Page { items: events.iter().filter_map(raw).collect(), next })
    }

    /// What happens in one session, or in all.
    pub async fn feed(&self, session: Option<&str>) -> Result<Feed, Error> {
        Ok(Feed { engine: self.clone(), session: self.optional(session).await? })
    }

    async fn optional(&self, session: Option<&str>) -> Result<Option<SessionId>, Error> {
        match session {
            Some(id) => Ok(Some(self.find(id).await?)),
            None => Ok(None),
        }
    }

    async fn read(&self, session: Option<SessionId>, after: u64, limit: u32) -> Result<Vec<StoredEvent>, Error> {
        let filter = session.map_or(EventFilter::All, EventFilter::Session);
        Ok(self.shared.store.events(filter, after, limit).await.map_err(Fault::from)?)
    }
}

impl Feed {
    /// The number of the last committed event of all sessions, and every change of it.
    pub fn committed(&self) -> watch::Receiver<u64> {
        self.engine.shared.store.committed()
    }

    /// At most `limit` events after `after`, oldest first, as (number, JSON).
    pub async fn facts(&self, after: u64, limit: u32) -> Result<Vec<(u64, String)>, Error> {
        let events = self.engine.read(self.session, after, limit).await?;
        Ok(events.iter().map(|event| (event.seq, text(event))).collect())
    }

    /// What a client that comes late has not seen, and the records that follow, also those of other sessions.
    pub fn watch(&self) -> Watch {
        self.engine.shared.live.watch(self.session)
    }

    /// Whether a live record belongs to this feed.
    pub fn wants(&self, live: &Live) -> bool {
        let (Live::InProgress { session, .. }
        | Live::Delta { session, .. }
        | Live::Progress { session, .. }
        | Live::Status { session, .. }) = live;
        self.session.is_none_or(|wanted| wanted.as_str() == session)
    }
}

fn text(event: &StoredEvent) -> String {
    compose(event.seq, event.session.as_str(), event.at, &event.kind, event.version, &event.payload)
}

fn raw(event: &StoredEvent) -> Option<RawEvent> {
    RawValue::from_string(text(event)).ok()
}
