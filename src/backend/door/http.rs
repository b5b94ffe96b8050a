//! The door as streamable HTTP: who may come in, and what a message is answered with.
//!
//! A call is answered as a stream whose comments keep it open, however long the call takes: clients give up on a plain
//! answer after a minute.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use futures_util::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, Interval, interval_at};
use tracing::{debug, warn};

use crate::backend::door::limits::{ReceivedRequest, RequestLimits, ReservedMemory, receive};
use crate::backend::door::{Answer, Guest, Guests, Knock, Ticket, caller};
use crate::backend::transport::lines::handle_text;
use crate::listener::{AcceptedConnection, GuardedListener, Overflow};
use crate::mcp::json::parse_untrusted;
use crate::mcp::{self, Asked, Call, Output, sse};

/// The one path of the door.
pub(super) const PATH: &str = "/mcp";

/// Well below the minute after which clients give up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What every request is looked at with.
#[derive(Debug, Clone)]
struct Threshold {
    address: SocketAddr,
    guests: Arc<Guests>,
    clients: Arc<AtomicU64>,
    limits: RequestLimits,
}

/// Answers until it is dropped.
pub(super) async fn serve(listener: TcpListener, address: SocketAddr, guests: Arc<Guests>) {
    let threshold = Threshold { address, guests, clients: Arc::default(), limits: RequestLimits::for_all() };
    let router = Router::new()
        .route(PATH, post(answer).delete(leave))
        .layer(middleware::from_fn_with_state(threshold.clone(), admit))
        .with_state(threshold);
    // A reply is several small writes: gathered up, each would wait for the other side's confirmation, 40 ms long.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "small writes to a caller are gathered up");
        }
    });
    let listener = GuardedListener::new(listener, Overflow::LeaveQueued, watch::Sender::default());
    let service = router.into_make_service_with_connect_info::<AcceptedConnection<SocketAddr>>();
    if let Err(error) = axum::serve(listener, service).await {
        warn!(%error, "the door of the tools is closed");
    }
}

/// Turns strangers away: pages of a browser first, then whoever has no token.
async fn admit(
    State(threshold): State<Threshold>,
    ConnectInfo(connection): ConnectInfo<AcceptedConnection<SocketAddr>>,
    mut request: Request,
    next: Next,
) -> Response {
    if !is_from_here(request.headers(), threshold.address) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let guest = token(request.headers()).and_then(|token| threshold.guests.find(token));
    let Some(guest) = guest else { return StatusCode::UNAUTHORIZED.into_response() };
    if !connection.confirm_within(&[&guest.limits.connections, &threshold.limits.connections]) {
        return refuse(StatusCode::TOO_MANY_REQUESTS);
    }
    request.extensions_mut().insert(guest);
    next.run(request).await
}

/// A page that found the port by a name of its own still says that name.
fn is_from_here(headers: &HeaderMap, address: SocketAddr) -> bool {
    let names = [address.to_string(), format!("localhost:{}", address.port())];
    let is_ours = |host: &str| names.iter().any(|name| name == host);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin =
        headers.get(ORIGIN).map(|origin| origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")));
    host.is_some_and(is_ours) && origin.is_none_or(|origin| origin.is_some_and(is_ours))
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Refuses a request without reading it, and closes its connection.
fn refuse(status: StatusCode) -> Response {
    (status, [(CONNECTION, "close")]).into_response()
}

async fn leave() -> StatusCode {
    StatusCode::NO_CONTENT
}

async fn answer(
    State(threshold): State<Threshold>,
    axum::Extension(guest): axum::Extension<Guest>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let ReceivedRequest { bytes, memory } = match receive(body, [&guest.limits, &threshold.limits]).await {
        Ok(request) => request,
        Err(status) => return refuse(status),
    };
    let message = match handle_text(bytes.len(), || parse_untrusted(&bytes)) {
        Ok(message) => message,
        Err(error) => {
            let refusal = mcp::refusal(&Value::Null, mcp::PARSE_ERROR, &format!("the message cannot be read: {error}"));
            return (StatusCode::BAD_REQUEST, json(&refusal)).into_response();
        }
    };
    drop(bytes);
    let client = headers.get(caller::SESSION).and_then(|client| client.to_str().ok()).map(str::to_owned);
    match mcp::read(&message, &guest.tools) {
        Asked::Reply(reply) if message["method"] == "initialize" => {
            let client = threshold.clients.fetch_add(1, Ordering::Relaxed) + 1;
            ([(caller::SESSION, client.to_string())], json(&reply)).into_response()
        }
        Asked::Reply(reply) => json(&reply),
        Asked::Call(call) => knock(&guest, client, call, memory).await,
        Asked::Withdrawn { id } => {
            // A conversation that is over has no calls.
            guest.knocks.send(Knock::Withdrawn(Ticket { client, id })).await.ok();
            StatusCode::ACCEPTED.into_response()
        }
        Asked::Noted => StatusCode::ACCEPTED.into_response(),
    }
}

/// Hands a call to its conversation.
async fn knock(guest: &Guest, client: Option<String>, call: Call, memory: ReservedMemory) -> Response {
    let (answer, answered) = oneshot::channel();
    let Call { id, tool, arguments, progress } = call;
    let ticket = Ticket { client, id: id.clone() };
    let waiting = Waiting { id, progress, step: 0, answered, rhythm: rhythm(), _memory: memory };
    let knock = Knock::Call { ticket, tool, arguments, answer };
    if guest.knocks.send(knock).await.is_err() {
        debug!("a call came after its conversation");
        return json(&result(&waiting.id, Err("the conversation is over".to_owned())));
    }
    let pieces = stream::unfold(Some(waiting), |waiting| async { Some(waiting?.next().await) });
    let body = Body::from_stream(stream::StreamExt::map(pieces, Ok::<_, Infallible>));
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response()
}

/// A client that waits for the answer to a call.
struct Waiting {
    id: Value,
    progress: Option<Value>,
    step: u64,
    answered: oneshot::Receiver<Answer>,
    rhythm: Interval,
    /// The arguments are kept until the call is answered.
    _memory: ReservedMemory,
}

impl Waiting {
    /// The next piece of the stream; nothing follows the answer.
    async fn next(mut self) -> (String, Option<Self>) {
        tokio::select! {
            answer = &mut self.answered => match answer {
                Ok(answer) => (sse::event(&result(&self.id, answer)), None),
                // The client took its call back, so it expects no answer.
                Err(_) => (String::new(), None),
            },
            _ = self.rhythm.tick() => {
                self.step += 1;
                let piece = match &self.progress {
                    Some(token) => sse::event(&mcp::progress(token, self.step)),
                    None => sse::KEEP_ALIVE.to_owned(),
                };
                (piece, Some(self))
            }
        }
    }
}

fn rhythm() -> Interval {
    interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE)
}

fn result(id: &Value, answer: Answer) -> Value {
    mcp::result(id, &answer.map(Output::from))
}

fn json(message: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], message.to_string()).into_response()
}
