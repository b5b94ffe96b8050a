//! The other side of a door: one message is posted, and what comes back are messages.
//!
//! Dropping the replies closes the connection, which withdraws the call.

use std::collections::VecDeque;
use std::io;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::http::uri::InvalidUri;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use crate::mcp::sse::Decoder;

/// Names one client among those of a conversation.
pub(crate) const SESSION: &str = "mcp-session-id";

/// Why a message has no reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallerError {
    #[error("`{url}` is not the address of a server")]
    Address { url: String, source: Option<InvalidUri> },
    #[error("failed to connect to `{host}`")]
    Connect { host: String, source: io::Error },
    #[error("the message cannot be posted")]
    Request { source: hyper::http::Error },
    #[error("the server went away before it answered")]
    Lost { source: hyper::Error },
    #[error("the server answers with status {status}")]
    Status { status: StatusCode },
    #[error("the server's answer is not JSON")]
    Malformed { source: serde_json::Error },
}

/// Where messages go, and what each of them carries along.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
}

/// The messages that answer one.
#[derive(Debug)]
pub(crate) struct Replies {
    response: Response<Incoming>,
    form: Form,
    /// Messages that arrived together with the last one.
    ready: VecDeque<Value>,
    _connection: AbortOnDropHandle<()>,
}

#[derive(Debug)]
enum Form {
    Nothing,
    Whole,
    Stream(Decoder),
}

impl Caller {
    pub(crate) async fn post(&self, message: &Value) -> Result<Replies, CallerError> {
        let uri: Uri =
            self.url.parse().map_err(|source| CallerError::Address { url: self.url.clone(), source: Some(source) })?;
        let host =
            uri.authority().ok_or_else(|| CallerError::Address { url: self.url.clone(), source: None })?.as_str();
        let stream =
            TcpStream::connect(host).await.map_err(|source| CallerError::Connect { host: host.to_owned(), source })?;
        // Head and body of a request are two writes, of which the second would wait for the first; where that cannot be
        // helped it is only slower.
        stream.set_nodelay(true).ok();
        let (mut sender, connection) = http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream))
            .await
            .map_err(|source| CallerError::Lost { source })?;
        // What is wrong with the connection is told by the request.
        let connection = AbortOnDropHandle::new(tokio::spawn(async { connection.await.unwrap_or_default() }));
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(uri.path())
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request =
            request.body(Full::from(message.to_string())).map_err(|source| CallerError::Request { source })?;
        let response = sender.send_request(request).await.map_err(|source| CallerError::Lost { source })?;
        if !response.status().is_success() {
            return Err(CallerError::Status { status: response.status() });
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let form = match kind.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => Form::Stream(Decoder::default()),
            "application/json" => Form::Whole,
            _ => Form::Nothing,
        };
        Ok(Replies { response, form, ready: VecDeque::new(), _connection: connection })
    }
}

impl Replies {
    /// The name that the server gave this client.
    pub(crate) fn client(&self) -> Option<String> {
        self.response.headers().get(SESSION)?.to_str().ok().map(str::to_owned)
    }

    /// The next message; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, CallerError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            match &mut self.form {
                Form::Nothing => return Ok(None),
                Form::Whole => {
                    self.form = Form::Nothing;
                    let body = self.response.body_mut().collect().await;
                    let bytes = body.map_err(|source| CallerError::Lost { source })?.to_bytes();
                    let message = serde_json::from_slice(&bytes);
                    return message.map(Some).map_err(|source| CallerError::Malformed { source });
                }
                Form::Stream(decoder) => match self.response.body_mut().frame().await {
                    Some(frame) => {
                        let frame = frame.map_err(|source| CallerError::Lost { source })?;
                        self.ready.extend(frame.data_ref().into_iter().flat_map(|bytes| decoder.feed(bytes)));
                    }
                    None => return Ok(None),
                },
            }
        }
    }
}
