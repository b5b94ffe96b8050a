//! One model server on a port of its own: plays a script in the words of one provider and keeps every request.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request as Incoming, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use super::call::{Call, Request};
use super::dialect::{Dialect, Part, Role};
use super::script::{LIMIT, Step};

/// A scripted model. It stops with the test.
pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    dialect: Dialect,
    state: Mutex<Played>,
    changed: Condvar,
    released: watch::Sender<bool>,
}

#[derive(Default)]
struct Played {
    steps: VecDeque<Step>,
    /// What is said when the script is at its end.
    always: Option<Step>,
    /// What is said to calls that mention a text, beside the script.
    apart: Vec<(String, Step)>,
    /// Scripts of their own for calls that mention a text.
    parts: Vec<(String, VecDeque<Step>)>,
    calls: Vec<Call>,
    others: Vec<Request>,
}

impl Model {
    pub(crate) fn start(dialect: Dialect) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let released = watch::Sender::new(false);
        let shared = Arc::new(Shared { dialect, state: Mutex::default(), changed: Condvar::new(), released });
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    served = axum::serve(listener, router) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// The address that an agent is pointed at.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds replies to the script.
    pub(crate) fn plays(&self, steps: impl IntoIterator<Item = Step>) -> &Self {
        self.state().steps.extend(steps);
        self
    }

    /// Gives this reply whenever the script is at its end.
    pub(crate) fn always(&self, step: Step) -> &Self {
        self.state().always = Some(step);
        self
    }

    /// Gives this reply to every call that mentions a text, whenever it comes; the script is for the others.
    pub(crate) fn replies_to(&self, text: &str, step: Step) -> &Self {
        self.state().apart.push((text.to_owned(), step));
        self
    }

    /// Adds replies to a script of its own for the conversation that mentions a text, beside that of the others.
    pub(crate) fn plays_to(&self, text: &str, steps: impl IntoIterator<Item = Step>) -> &Self {
        self.state().parts.push((text.to_owned(), steps.into_iter().collect()));
        self
    }

    /// Forgets the rest of the script.
    pub(crate) fn clear(&self) -> &Self {
        let mut state = self.state();
        state.steps.clear();
        state.parts.clear();
        state.always = None;
        drop(state);
        self
    }

    /// Lets every held reply begin, those to come too.
    pub(crate) fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// The requests that the script answered, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Requests beside the conversation: probes, token counts, titles.
    pub(crate) fn others(&self) -> Vec<Request> {
        self.state().others.clone()
    }

    /// Replies that nobody has asked for yet.
    pub(crate) fn left(&self) -> usize {
        self.state().steps.len()
    }

    /// Waits for the call of that number, from 1.
    #[track_caller]
    pub(crate) fn wait_for_call(&self, number: usize) -> Call {
        self.wait_until(|calls| calls.get(number - 1).cloned())
    }

    /// Waits for a call that is like this.
    #[track_caller]
    pub(crate) fn wait_for(&self, fits: impl Fn(&Call) -> bool) -> Call {
        self.wait_until(|calls| calls.iter().find(|call| fits(call)).cloned())
    }

    #[track_caller]
    fn wait_until(&self, find: impl Fn(&[Call]) -> Option<Call>) -> Call {
        let deadline = Instant::now() + LIMIT;
        let mut state = self.state();
        loop {
            if let Some(call) = find(&state.calls) {
                return call;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the call never came, only {} others", state.calls.len());
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, Played> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn handle(State(shared): State<Arc<Shared>>, incoming: Incoming) -> Response<Body> {
    let (head, body) = incoming.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let request = Request {
        path: head.uri.to_string(),
        headers: headers(&head.headers),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    };
    let dialect = shared.dialect;
    match dialect.role(&request) {
        Role::Aside(reply) => {
            shared.note(|state| state.others.push(request));
            match (head.method == Method::HEAD, reply) {
                (true, _) => plain(StatusCode::OK, &[], String::new()),
                (false, Some(reply)) => plain(StatusCode::OK, &[], reply.to_string()),
                (false, None) => plain(StatusCode::NOT_FOUND, &[], dialect.error(404, "not found").to_string()),
            }
        }
        Role::Chatter => {
            let reply = say(dialect, &request, &[Part::Text("ok".to_owned())]);
            shared.note(|state| state.others.push(request));
            reply
        }
        Role::Call => {
            let step = shared.next(Call { dialect, request: request.clone() });
            reply(&shared, &request, step).await
        }
    }
}

impl Shared {
    fn note(&self, change: impl FnOnce(&mut Played)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn next(&self, call: Call) -> Option<Step> {
        let mut step = None;
        self.note(|state| {
            let apart = state.apart.iter().find(|(text, _)| call.mentions(text)).map(|(_, step)| step.clone());
            let mut parts = state.parts.iter_mut().filter(|(text, _)| call.mentions(text)).peekable();
            step = apart.or_else(|| match parts.peek() {
                Some(_) => parts.find_map(|(_, steps)| steps.pop_front()),
                None => state.steps.pop_front().or_else(|| state.always.clone()),
            });
            state.calls.push(call);
        });
        step
    }
}

/// Says one step; a request beyond the script is refused in a way that no agent tries again.
async fn reply(shared: &Shared, request: &Request, step: Option<Step>) -> Response<Body> {
    let dialect = shared.dialect;
    let mut step = step;
    while let Some(Step::Held(held)) = step {
        // Fails only when the server is gone, and nobody listens then.
        shared.released.subscribe().wait_for(|released| *released).await.ok();
        step = Some(*held);
    }
    match step {
        None => error(dialect, 400, "the script is at its end"),
        Some(Step::Status(401)) => error(dialect, 401, "Incorrect API key provided"),
        Some(Step::Status(status)) => error(dialect, status, "scripted error"),
        Some(Step::Cut) if !dialect.streams(request) => broken(dialect.stream_type(request), Vec::new()),
        Some(Step::Cut) => broken(dialect.stream_type(request), dialect.beginning(request)),
        Some(Step::Hang) => {
            let begun = stream::iter(dialect.beginning(request)).chain(stream::pending());
            streamed(dialect.stream_type(request), Body::from_stream(begun.map(Ok::<_, io::Error>)))
        }
        Some(step) => {
            let parts = dialect.parts(&step, request);
            say(dialect, request, &parts)
        }
    }
}

/// A reply of these parts, in a stream if it was asked for.
fn say(dialect: Dialect, request: &Request, parts: &[Part]) -> Response<Body> {
    if dialect.streams(request) {
        let frames = dialect.frames(parts, request).into_iter().map(Ok::<_, io::Error>);
        streamed(dialect.stream_type(request), Body::from_stream(stream::iter(frames)))
    } else {
        plain(StatusCode::OK, &[], dialect.whole(parts, request).to_string())
    }
}

/// A reply whose connection breaks in the middle.
fn broken(stream_type: &'static str, frames: Vec<Bytes>) -> Response<Body> {
    let end = io::Error::new(io::ErrorKind::ConnectionReset, "scripted cut");
    let frames = stream::iter(frames).map(Ok).chain(stream::once(async { Err(end) }));
    streamed(stream_type, Body::from_stream(frames))
}

fn streamed(stream_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static(stream_type));
    response
}

fn error(dialect: Dialect, status: u16, message: &str) -> Response<Body> {
    let headers = dialect.error_headers(status);
    plain(StatusCode::from_u16(status).unwrap(), &headers, dialect.error(status, message).to_string())
}

fn plain(status: StatusCode, headers: &[(&'static str, &'static str)], body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    map.iter().map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect()
}
