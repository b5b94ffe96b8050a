//! What the requests of one conversation, and of all together, may take of the daemon: connections, and memory for what
//! they send. A process in a session's cage holds the token of its conversation, and may be hostile.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The longest request: an order for a child may quote whole files.
pub(super) const LONGEST_REQUEST: usize = 16 << 20;

/// How many connections a conversation may have open. Each open call has one.
pub(super) const CONNECTIONS: usize = 64;

/// How many bytes of requests are kept for one conversation, and for all.
const REQUEST_BYTES: usize = 2 * LONGEST_REQUEST;
const ALL_REQUEST_BYTES: usize = 8 * LONGEST_REQUEST;

/// How long a request may take to arrive: it comes from this machine.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(30);

/// Room for this many bytes is the least that is taken for a request.
const FIRST_BYTES: usize = 16 << 10;

/// What is left, for one conversation or for all.
#[derive(Debug, Clone)]
pub(super) struct RequestLimits {
    pub(super) connections: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
}

/// A request that has arrived, and the memory that it takes.
pub(super) struct ReceivedRequest {
    pub(super) bytes: Vec<u8>,
    /// Also the call that the request becomes counts until it is answered.
    pub(super) memory: ReservedMemory,
}

/// Memory that is given back when this is dropped.
#[derive(Debug, Default)]
pub(super) struct ReservedMemory(Vec<OwnedSemaphorePermit>);

impl RequestLimits {
    pub(super) fn for_conversation() -> Self {
        Self::new(CONNECTIONS, REQUEST_BYTES)
    }

    /// Half of the descriptors are left for the rest of the daemon: its clients, its agents and its database.
    pub(super) fn for_all() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok());
        Self::new(descriptors.map_or(Semaphore::MAX_PERMITS, |limit| limit / 2), ALL_REQUEST_BYTES)
    }

    fn new(connections: usize, bytes: usize) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self { connections: semaphore(connections), bytes: semaphore(bytes) }
    }
}

/// Reads a request while the limits have room for it; the error is the status that refuses it.
pub(super) async fn receive(body: Body, limits: [&RequestLimits; 2]) -> Result<ReceivedRequest, StatusCode> {
    timeout(ARRIVAL_LIMIT, read_body(body, limits)).await.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT))
}

async fn read_body(mut body: Body, limits: [&RequestLimits; 2]) -> Result<ReceivedRequest, StatusCode> {
    let mut request = ReceivedRequest { bytes: Vec::new(), memory: ReservedMemory::default() };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        if let Ok(data) = frame.into_data() {
            request.append(&data, limits)?;
        }
    }
    Ok(request)
}

impl ReceivedRequest {
    fn append(&mut self, data: &Bytes, limits: [&RequestLimits; 2]) -> Result<(), StatusCode> {
        let length = self.bytes.len() + data.len();
        if length > LONGEST_REQUEST {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        if length > self.bytes.capacity() {
            let capacity = length.next_power_of_two().max(FIRST_BYTES);
            self.memory.grow(capacity - self.bytes.capacity(), limits)?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

impl ReservedMemory {
    fn grow(&mut self, bytes: usize, limits: [&RequestLimits; 2]) -> Result<(), StatusCode> {
        for limit in limits {
            let permits = u32::try_from(bytes).map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
            let taken = Arc::clone(&limit.bytes).try_acquire_many_owned(permits);
            self.0.push(taken.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?);
        }
        Ok(())
    }
}
