//! HTTP/1.1 over the unix socket: one request, one JSON reply or one refusal.
//!
//! A connection serves one request after the other; an event stream takes one for itself.

use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use super::ClientError;
use super::start::Daemon;
use crate::api::error::{Error, ErrorBody, ErrorKind};

/// An open connection to a daemon.
#[derive(Debug)]
pub struct Connection {
    socket: PathBuf,
    /// A request must be answered before the next one is sent.
    sender: Mutex<SendRequest<Full<Bytes>>>,
    /// Finds the daemon again after it died.
    daemon: Option<Daemon>,
}

impl Connection {
    /// Connects to a daemon that listens on `socket`.
    pub async fn open(socket: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(socket)
            .await
            .map_err(|source| ClientError::Unreachable { socket: socket.to_owned(), source })?;
        let (sender, driver) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|source| ClientError::Lost { source })?;
        // What goes wrong on the connection reaches the request that waits for an answer.
        tokio::spawn(async move { driver.await.ok() });
        Ok(Self { socket: socket.to_owned(), sender: Mutex::new(sender), daemon: None })
    }

    /// The path this connection was opened on.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether the daemon at the other end is still there, as far as is known.
    pub async fn is_open(&self) -> bool {
        !self.sender.lock().await.is_closed()
    }

    /// The same connection, which finds the daemon again for a read when that one died.
    pub(super) fn renewed_by(self, daemon: &Daemon) -> Self {
        Self { daemon: Some(daemon.clone()), ..self }
    }

    /// Reads a resource; `query` becomes the part after the question mark. A read that was lost on the way is repeated.
    pub async fn get<T: DeserializeOwned>(&self, path: &str, query: &impl Serialize) -> Result<T, ClientError> {
        let target = with_query(path, query);
        let request = || build(Method::GET, &target, Bytes::new());
        match (self.exchange(request()?).await, &self.daemon) {
            (Err(ClientError::Lost { .. }), Some(daemon)) => {
                let renewed = Box::pin(daemon.connect()).await?;
                *self.sender.lock().await = renewed.sender.into_inner();
                self.exchange(request()?).await
            }
            (result, Some(_) | None) => result,
        }
    }

    /// Acts on a resource.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body =
            serde_json::to_vec(body).map_err(|source| ClientError::Malformed { request: path.to_owned(), source })?;
        self.exchange(build(method, path, body.into())?).await.map_err(|error| match (error, session_of(path)) {
            (ClientError::Lost { source }, Some(session)) => ClientError::LostAct { session, source },
            (error, _) => error,
        })
    }

    async fn exchange<T: DeserializeOwned>(&self, request: Request<Full<Bytes>>) -> Result<T, ClientError> {
        let name = format!("{} {}", request.method(), request.uri().path());
        let response = self.respond(request).await?;
        let body = response.into_body().collect().await.map_err(|source| ClientError::Lost { source })?.to_bytes();
        serde_json::from_slice(&body).map_err(|source| ClientError::Malformed { request: name, source })
    }

    /// Sends a request and turns a refusal into an error.
    pub(super) async fn respond(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError> {
        let mut sender = self.sender.lock().await;
        let lost = |source| ClientError::Lost { source };
        sender.ready().await.map_err(lost)?;
        let response = sender.send_request(request).await.map_err(lost)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await.map_err(lost)?.to_bytes();
        let refusal = match serde_json::from_slice::<ErrorBody>(&body) {
            Ok(body) => body.error,
            // Not one of ours: something else listens there, or a layer below the routes refused.
            Err(_) => Error::new(ErrorKind::Internal, format!("the daemon answered with status {}", status.as_u16())),
        };
        Err(ClientError::Refused(refusal))
    }
}

pub(super) fn build(method: Method, target: &str, body: Bytes) -> Result<Request<Full<Bytes>>, ClientError> {
    Request::builder()
        .method(method)
        .uri(target)
        .header(header::HOST, "coppice")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|source| ClientError::Request { value: target.to_owned(), source })
}

/// The session that a path is about.
fn session_of(path: &str) -> Option<String> {
    let session = path.strip_prefix("/v1/sessions/")?.split('/').next()?;
    Some(session.to_owned()).filter(|session| !session.is_empty())
}

/// Spells one part of a path, whatever characters it holds.
pub(super) fn segment(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

pub(super) fn with_query(path: &str, query: &impl Serialize) -> String {
    match serde_urlencoded::to_string(query) {
        Ok(query) if !query.is_empty() => format!("{path}?{query}"),
        // The queries of the api are flat and always spelled.
        Ok(_) | Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::request::{EventQuery, ListSessions};

    #[test]
    fn a_path_names_the_session_it_is_about() {
        for (path, session) in [
            ("/v1/sessions/abcdefgh/merge", Some("abcdefgh")),
            ("/v1/sessions/abcdefgh", Some("abcdefgh")),
            ("/v1/sessions", None),
            ("/v1/daemon/stop", None),
        ] {
            assert_eq!(session_of(path).as_deref(), session, "{path}");
        }
    }

    #[test]
    fn a_target_is_spelled_for_the_wire() {
        assert_eq!(with_query("/v1/events", &EventQuery::default()), "/v1/events");
        assert_eq!(
            with_query("/v1/events", &EventQuery { since: Some(7), limit: Some(2), ..EventQuery::default() }),
            "/v1/events?since=7&limit=2"
        );
        let list = ListSessions { cwd: Some("/a b/ü&c".into()), ..ListSessions::default() };
        assert_eq!(with_query("/v1/sessions", &list), "/v1/sessions?cwd=%2Fa+b%2F%C3%BC%26c&removed=false");
        assert_eq!(segment("../a?b").to_string(), "%2E%2E%2Fa%3Fb");
    }
}
