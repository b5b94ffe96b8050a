//! Events: pages of the past, and the stream of what happens.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event as Record, KeepAlive, Sse};
use futures_util::stream;

use super::{App, Reply, reply};
use crate::api::Page;
use crate::api::error::{Error, ErrorBody, ErrorKind};
use crate::api::event::{Event, GOODBYE, LIVE, Live, RawEvent};
use crate::api::request::EventQuery;
use crate::server::error::{Asked, Refusal};
use crate::server::stream::{Message, Tail};

/// Tells a client behind some relay that the stream is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Reads stored events, oldest first. What is asked about one session holds what happened in its descendants, each
/// event wrapped as `subagent_event`.
#[utoipa::path(
    get, path = "/v1/events", params(EventQuery),
    responses((status = 200, body = Page<Event>), (status = "default", body = ErrorBody))
)]
pub(super) async fn list(State(app): State<App>, Asked(query): Asked<EventQuery>) -> Reply<Page<RawEvent>> {
    reply(app.engine.events(query).await)
}

/// Streams events as they happen, each with its number as the message's id; a stream resumes by `Last-Event-ID`.
/// Messages of the type `live` are never stored; a last one of the type `goodbye` says that the daemon ends.
#[utoipa::path(
    get, path = "/v1/events/stream", params(EventQuery),
    responses(
        (status = 200, body = Event, content_type = "text/event-stream"),
        (status = "default", body = ErrorBody)
    )
)]
pub(super) async fn stream(
    State(app): State<App>,
    headers: HeaderMap,
    Asked(query): Asked<EventQuery>,
) -> Result<impl IntoResponse, Refusal> {
    let after = last_event_id(&headers)?.or(query.since);
    let feed = app.engine.feed(&query).await?;
    let tail = Tail::new(feed, after, app.end.clone());
    // Without it a client that asked for the present could not resume before its first event.
    let begins = [("last-event-id", tail.after().to_string())];
    let records = stream::unfold(tail, async |mut tail| {
        let message = tail.next().await?;
        Some((Ok::<_, Infallible>(spell(&message)), tail))
    });
    Ok((begins, Sse::new(records).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    match text.trim().parse() {
        Ok(seq) => Ok(Some(seq)),
        Err(_) => {
            Err(Error::new(ErrorKind::Invalid, format!("`{text}` is not an event's number: check `Last-Event-ID`")))
        }
    }
}

fn spell(message: &Message) -> Record {
    match message {
        Message::Fact(fact) => Record::default().id(fact.seq.to_string()).data(&fact.text),
        Message::Live(record) => Record::default().event(LIVE).data(text(record)),
        Message::Goodbye => Record::default().event(GOODBYE).data("{}"),
    }
}

fn text(record: &Live) -> String {
    // Plain values always have a text.
    serde_json::to_string(record).unwrap_or_default()
}
