//! A stream of events that outlives the connection it came over: it resumes behind the last event seen.
//!
//! A daemon that says goodbye ends the stream; one that is merely gone is looked for again.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, header};

use super::ClientError;
use super::connection::{Connection, build, with_query};
use super::sse::{Message, Parser};
use super::start::Daemon;
use crate::api::event::{Event, GOODBYE, LIVE, Live};
use crate::api::request::EventQuery;

/// A daemon that ends this many streams in a row without a word is not worth another attempt.
const SILENT_STREAMS: u32 = 5;

/// What a stream carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A durable fact.
    Fact { seq: u64, text: String },
    /// A record that is never stored.
    Live(Live),
}

impl Item {
    /// The fact as a value; `None` for a live record and for a type that this version does not know.
    pub fn fact(&self) -> Option<Event> {
        match self {
            Item::Fact { text, .. } => serde_json::from_str(text).ok(),
            Item::Live(_) => None,
        }
    }
}

/// An endless list of items.
#[derive(Debug)]
pub struct Events {
    daemon: Daemon,
    query: EventQuery,
    body: Option<Incoming>,
    /// Keeps the request's connection open.
    connection: Option<Connection>,
    parser: Parser,
    ready: VecDeque<Message>,
    silent_streams: u32,
}

impl Events {
    /// Opens a stream; the first item may be long in coming, but an error of the request shows here.
    pub async fn open(daemon: Daemon, query: EventQuery) -> Result<Self, ClientError> {
        let mut events = Self {
            daemon,
            query,
            body: None,
            connection: None,
            parser: Parser::default(),
            ready: VecDeque::new(),
            silent_streams: 0,
        };
        events.connect().await?;
        Ok(events)
    }

    /// Waits for the next item. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Result<Item, ClientError> {
        loop {
            while let Some(message) = self.ready.pop_front() {
                if message.event.as_deref() == Some(GOODBYE) {
                    return Err(ClientError::Stopped);
                }
                if let Some(item) = read_item(message) {
                    if let Item::Fact { seq, .. } = item {
                        self.query.since = Some(seq);
                    }
                    return Ok(item);
                }
            }
            match self.read().await {
                Some(bytes) => {
                    self.silent_streams = 0;
                    self.ready.extend(self.parser.push(&bytes));
                }
                None if self.silent_streams == SILENT_STREAMS => return Err(ClientError::Stopped),
                None => {
                    self.silent_streams += 1;
                    self.connect().await?;
                }
            }
        }
    }

    async fn read(&mut self) -> Option<Bytes> {
        let frame = self.body.as_mut()?.frame().await;
        match frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()) {
            Some(bytes) => Some(bytes),
            None => {
                self.body = None;
                None
            }
        }
    }

    /// Opens the stream; a daemon that dies before it answers is looked for again.
    async fn connect(&mut self) -> Result<(), ClientError> {
        loop {
            match self.try_connect().await {
                Err(ClientError::Lost { .. }) if self.silent_streams < SILENT_STREAMS => self.silent_streams += 1,
                result => return result,
            }
        }
    }

    async fn try_connect(&mut self) -> Result<(), ClientError> {
        self.parser = Parser::default();
        let connection = self.daemon.connect().await?;
        let mut request = build(Method::GET, &with_query("/v1/events/stream", &self.query), Bytes::new())?;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(seq) = self.query.since {
            request.headers_mut().insert("last-event-id", HeaderValue::from(seq));
        }
        let response = connection.respond(request).await?;
        // From here on a lost connection resumes where this one began, even if it never said a word.
        let begins = response.headers().get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
        self.query.since = self.query.since.or(begins);
        self.body = Some(response.into_body());
        self.connection = Some(connection);
        Ok(())
    }
}

/// Understands one message; `None` when it is of a kind that this version does not know.
fn read_item(message: Message) -> Option<Item> {
    match message.event.as_deref() {
        None | Some("message") => Some(Item::Fact { seq: message.id?.parse().ok()?, text: message.data }),
        Some(LIVE) => serde_json::from_str(&message.data).ok().map(Item::Live),
        Some(_) => None,
    }
}
