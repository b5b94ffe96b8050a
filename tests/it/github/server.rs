//! A server on the loopback that answers as GitHub does, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

/// What it answers to requests that begin like this; the first one that fits counts.
pub(crate) struct Route {
    /// `METHOD /path`; a space at its end stands for the end of the path.
    begin: &'static str,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

/// A route without headers of its own. A text is sent as it is, anything else as JSON.
pub(crate) fn route(begin: &'static str, status: u16, body: Value) -> Route {
    Route { begin, status, headers: Vec::new(), body }
}

impl Route {
    /// One more header; `HERE` in it stands for the server's address.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// One request as it came.
#[derive(Clone)]
pub(crate) struct Asked {
    /// The first line.
    pub(crate) line: String,
    headers: Vec<String>,
    body: String,
}

impl Asked {
    pub(crate) fn token(&self) -> Option<&str> {
        self.headers.iter().find_map(|header| {
            let (name, value) = header.split_once(": ")?;
            value.strip_prefix("Bearer ").filter(|_| name.eq_ignore_ascii_case("authorization"))
        })
    }

    #[track_caller]
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The server; it ends with the value.
pub(crate) struct Api {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    thread: Option<JoinHandle<()>>,
}

impl Api {
    pub(crate) fn new(routes: Vec<Route>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                // A connection that says nothing is the end.
                let Some(request) = receive(&stream) else { return };
                let reply = reply(&request, &routes, address);
                // Remembered before it is answered: whoever has the answer may look.
                seen.lock().unwrap().push(request);
                // Whoever asked may be gone.
                stream.write_all(reply.as_bytes()).ok();
            }
        });
        Self { address, asked, thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        TcpStream::connect(self.address).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

fn receive(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.first()?.clone();
    let length = lines.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { line, headers: lines[1..].to_vec(), body: String::from_utf8(body).ok()? })
}

fn reply(asked: &Asked, routes: &[Route], address: SocketAddr) -> String {
    let missing = route("", 404, json!({ "message": "Not Found" }));
    let found = routes.iter().find(|route| asked.line.starts_with(route.begin)).unwrap_or(&missing);
    let headers: String = found.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.replace("HERE", &format!("http://{address}"));
    let text = found.body.as_str().map_or_else(|| found.body.to_string(), str::to_owned);
    let (status, length) = (found.status, text.len());
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{text}")
}
