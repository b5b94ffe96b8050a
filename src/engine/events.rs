//! Events for clients: pages of the past, and a feed of what happens.
//!
//! What is asked about one session also tells what happens in its descendants: stored once as theirs, wrapped here.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::api::Page;
use crate::api::error::Error;
use crate::api::event::{Live, RawEvent, compose, wrap};
use crate::api::request::EventQuery;
use crate::store::{EventFilter, StoredEvent};

use super::Engine;
use super::family::origin::Origins;
use super::fault::Fault;
use super::live::Watch;

/// How many events are read at once unless the client says otherwise, and at most.
const PAGE: (u32, u32) = (500, 5000);

/// What a stream needs: events are pulled after each commit, live records are pushed.
pub struct Feed {
    engine: Engine,
    filter: EventFilter,
    origins: Origins,
    begins: u64,
}

impl Engine {
    /// One page of events, oldest first; the cursor is the last sequence number, or the first one on the way back.
    pub async fn events(&self, query: EventQuery) -> Result<Page<RawEvent>, Error> {
        let limit = query.limit.unwrap_or(PAGE.0).clamp(1, PAGE.1);
        let feed = self.open(&query).await?;
        let (events, next) = match (query.since, query.before) {
            (since, None) => {
                let events = feed.facts(since.unwrap_or_default(), limit).await?;
                let is_full = events.len() == limit as usize;
                let next = events.last().filter(|_| is_full).map(|(seq, _)| *seq);
                (events, next)
            }
            (None, Some(before)) => feed.page_before(before, limit).await?,
            (Some(_), Some(_)) => {
                return Err(
                    Fault::BadRange { reason: "events are read after one number or before one, not both" }.into()
                );
            }
        };
        let items = events.into_iter().filter_map(|(_, text)| RawValue::from_string(text).ok()).collect();
        Ok(Page { items, next: next.map(|seq| seq.to_string()) })
    }

    /// What happens in one session and its descendants, in one session alone, or in all.
    pub async fn feed(&self, query: &EventQuery) -> Result<Feed, Error> {
        if query.before.is_some() {
            return Err(
                Fault::BadRange { reason: "a stream goes forward: `before` is only for a page of events" }.into()
            );
        }
        let feed = self.open(query).await?;
        if let EventFilter::Family(root) = feed.filter {
            let descendants = self.shared.store.descendants(root).await.map_err(Fault::from)?;
            for row in descendants {
                feed.origins.of(&self.shared.store, root, row.id).await?;
            }
        }
        Ok(feed)
    }

    async fn open(&self, query: &EventQuery) -> Result<Feed, Error> {
        let filter = match (query.session.as_deref(), query.family) {
            (None, _) => EventFilter::All,
            (Some(id), Some(false)) => EventFilter::Session(self.find(id).await?),
            (Some(id), Some(true) | None) => EventFilter::Family(self.find(id).await?),
        };
        // A child that comes later than this number is met by its first event.
        let begins = *self.shared.store.committed().borrow();
        Ok(Feed { engine: self.clone(), filter, origins: Origins::default(), begins })
    }
}

impl Feed {
    /// The number of the last event that was committed when the feed was opened.
    pub fn begins(&self) -> u64 {
        self.begins
    }

    /// The number of the last committed event of all sessions, and every change of it.
    pub fn committed(&self) -> watch::Receiver<u64> {
        self.engine.shared.store.committed()
    }

    /// At most `limit` events after `after`, oldest first, as (number, JSON).
    pub async fn facts(&self, after: u64, limit: u32) -> Result<Vec<(u64, String)>, Error> {
        let events = self.engine.shared.store.events(self.filter, after, limit).await.map_err(Fault::from)?;
        self.spell(events).await
    }

    /// The last `limit` events before `before`, oldest first, and the number for the page before them if there is one.
    async fn page_before(&self, before: u64, limit: u32) -> Result<(Vec<(u64, String)>, Option<u64>), Error> {
        // One more than wanted tells whether the beginning is reached.
        let store = &self.engine.shared.store;
        let mut events = store.events_before(self.filter, before, limit + 1).await.map_err(Fault::from)?;
        let surplus = events.len().saturating_sub(limit as usize);
        events.drain(..surplus);
        let next = events.first().filter(|_| surplus > 0).map(|event| event.seq);
        Ok((self.spell(events).await?, next))
    }

    /// Stored events as this feed shows them.
    async fn spell(&self, events: Vec<StoredEvent>) -> Result<Vec<(u64, String)>, Error> {
        let store = &self.engine.shared.store;
        let mut facts = Vec::with_capacity(events.len());
        for event in events {
            let text = match self.filter {
                EventFilter::Family(root) if root != event.session => {
                    let origin = self.origins.of(store, root, event.session).await?;
                    wrap(event.seq, root.as_str(), event.at, &origin, &text(&event))
                }
                EventFilter::Family(_) | EventFilter::Session(_) | EventFilter::All => text(&event),
            };
            facts.push((event.seq, text));
        }
        Ok(facts)
    }

    /// What a client that comes late has not seen, and the records that follow, also those of other sessions.
    pub fn watch(&self) -> Watch {
        self.engine.shared.live.watch(|id| match self.filter {
            EventFilter::All => true,
            EventFilter::Session(only) => only == id,
            EventFilter::Family(root) => root == id || self.origins.known(id).is_some(),
        })
    }

    /// A live record as this feed shows it, if it does.
    pub fn show(&self, record: Arc<Live>) -> Option<Arc<Live>> {
        match self.filter {
            EventFilter::All => Some(record),
            EventFilter::Session(id) | EventFilter::Family(id) if id.as_str() == record.session() => Some(record),
            EventFilter::Session(_) => None,
            EventFilter::Family(root) => {
                let origin = self.origins.known(record.session().parse().ok()?)?;
                let (session, event) = (root.to_string(), Box::new((*record).clone()));
                Some(Arc::new(Live::SubagentEvent { session, origin: (*origin).clone(), event }))
            }
        }
    }
}

fn text(event: &StoredEvent) -> String {
    compose(event.seq, event.session.as_str(), event.at, &event.kind, event.version, &event.payload)
}
