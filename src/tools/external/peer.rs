//! A conversation with an external server as a machine: lines and calls in, what is to be done about them out.
//!
//! No IO and no clock: an answer that does not come is noticed by whoever waits for it.

use std::collections::HashMap;

use serde_json::Value;

use super::Limits;
use super::error::ExternalError;
use super::offer::Catalog;
use crate::mcp::client;
use crate::mcp::jsonrpc::{self, Message, RpcError};

/// One line of a server's output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Longer than the limit, and passed over.
    TooLong,
}

/// What is to be done, in order.
#[derive(Debug, PartialEq)]
pub(super) enum Act {
    Send(String),
    /// The server's tools are these.
    Listed(Catalog),
    /// The call of this number has come to an end.
    Answer {
        call: u64,
        outcome: Result<String, String>,
    },
    /// Nothing follows.
    Finish(ExternalError),
}

pub(super) struct Peer {
    server: String,
    limits: Limits,
    /// The number of the last request.
    last: u64,
    open: HashMap<u64, Asked>,
    garbage: usize,
    list: List,
    /// Whether there is a list to go on with where another one fails.
    is_listed: bool,
}

/// A request that has no answer yet.
enum Asked {
    Hello,
    /// The next part of a list, with what the earlier ones brought.
    Page(Listing),
    Call,
}

#[derive(Default)]
struct Listing {
    catalog: Catalog,
    tools: usize,
    pages: usize,
}

/// How the list of tools stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// The server has not been asked, or has none.
    Closed,
    /// It is being asked for.
    Open,
    /// It changed while it was being asked for.
    Stale,
    Whole,
}

impl Peer {
    pub(super) fn new(server: &str, limits: Limits) -> Self {
        let server = server.to_owned();
        Self { server, limits, last: 0, open: HashMap::new(), garbage: 0, list: List::Closed, is_listed: false }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// What is sent first.
    pub(super) fn begin(&mut self) -> String {
        client::initialize(self.ask(Asked::Hello))
    }

    /// The number of a call, and what is sent for it.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> (u64, String) {
        let id = self.ask(Asked::Call);
        (id, client::call_tool(id, tool, arguments))
    }

    /// Nobody waits for a call; what is sent if it is open.
    pub(super) fn withdraw(&mut self, call: u64) -> Option<String> {
        self.open.remove(&call).map(|_| client::cancelled(call))
    }

    pub(super) fn line(&mut self, line: Line) -> Vec<Act> {
        let message = match &line {
            Line::Text(text) if text.trim().is_empty() => return Vec::new(),
            Line::Text(text) => jsonrpc::parse(text).ok(),
            Line::TooLong => None,
        };
        let Some(message) = message else { return self.on_garbage() };
        self.garbage = 0;
        match message {
            Message::Request { id, method, .. } => vec![Act::Send(client::answer(&id, &method))],
            Message::Notification { method, .. } => match method.as_str() {
                "notifications/tools/list_changed" => self.on_changed(),
                _ => Vec::new(),
            },
            // An answer to a call that was withdrawn comes too late for anybody.
            Message::Response { id, outcome } => match self.open.remove(&id) {
                None => Vec::new(),
                Some(Asked::Hello) => self.on_hello(outcome),
                Some(Asked::Page(listing)) => self.on_page(listing, outcome),
                Some(Asked::Call) => vec![Act::Answer { call: id, outcome: self.outcome(outcome) }],
            },
        }
    }

    fn on_garbage(&mut self) -> Vec<Act> {
        self.garbage += 1;
        if self.garbage < self.limits.garbage {
            return Vec::new();
        }
        vec![Act::Finish(ExternalError::Garbled { server: self.server.clone(), lines: self.garbage })]
    }

    fn on_hello(&mut self, outcome: Result<Value, RpcError>) -> Vec<Act> {
        match outcome {
            Ok(result) if !result.is_object() => vec![self.senseless("initialize")],
            Ok(result) if client::has_tools(&result) => {
                vec![Act::Send(client::initialized()), self.ask_list()]
            }
            Ok(_) => {
                let mut catalog = Catalog::default();
                catalog.warn(&self.server, "it has no tools");
                vec![Act::Send(client::initialized()), Act::Listed(catalog)]
            }
            Err(error) => vec![self.refused("initialize", error)],
        }
    }

    fn on_changed(&mut self) -> Vec<Act> {
        match self.list {
            List::Whole => return vec![self.ask_list()],
            List::Open => self.list = List::Stale,
            List::Closed | List::Stale => {}
        }
        Vec::new()
    }

    fn on_page(&mut self, mut listing: Listing, outcome: Result<Value, RpcError>) -> Vec<Act> {
        let page = match outcome.map(client::read_page) {
            Ok(Some(page)) => page,
            Ok(None) if !self.is_listed => return vec![self.senseless("tools/list")],
            Err(error) if !self.is_listed => return vec![self.refused("tools/list", error)],
            // The tools that are known stay so until the server has a list again.
            Ok(None) | Err(_) => return self.on_listed(),
        };
        for tool in page.tools {
            listing.tools += 1;
            if listing.tools <= self.limits.tools {
                listing.catalog.add(&self.server, self.limits.name, tool);
            }
        }
        listing.pages += 1;
        let is_full = |listing: &Listing| listing.tools.max(listing.pages) >= self.limits.tools;
        match page.next {
            Some(cursor) if !is_full(&listing) => vec![Act::Send(self.ask_page(listing, Some(&cursor)))],
            next => {
                if next.is_some() || listing.tools > self.limits.tools {
                    let text = format!("it lists more than {} tools, and the rest is left out", self.limits.tools);
                    listing.catalog.warn(&self.server, &text);
                }
                self.is_listed = true;
                let mut acts = vec![Act::Listed(listing.catalog)];
                acts.extend(self.on_listed());
                acts
            }
        }
    }

    /// What follows the end of a list.
    fn on_listed(&mut self) -> Vec<Act> {
        let was_stale = self.list == List::Stale;
        self.list = List::Whole;
        if was_stale { vec![self.ask_list()] } else { Vec::new() }
    }

    fn outcome(&self, outcome: Result<Value, RpcError>) -> Result<String, String> {
        match outcome {
            Ok(result) => client::read_result(&result, self.limits.result),
            Err(RpcError { code, message, .. }) => {
                let text = format!("mcp server `{}` refused the call: {message} ({code})", self.server);
                Err(client::cut(text, self.limits.result))
            }
        }
    }

    fn ask_list(&mut self) -> Act {
        self.list = List::Open;
        Act::Send(self.ask_page(Listing::default(), None))
    }

    fn ask_page(&mut self, listing: Listing, cursor: Option<&str>) -> String {
        client::list_tools(self.ask(Asked::Page(listing)), cursor)
    }

    fn ask(&mut self, asked: Asked) -> u64 {
        self.last += 1;
        self.open.insert(self.last, asked);
        self.last
    }

    fn refused(&self, method: &'static str, error: RpcError) -> Act {
        let message = client::cut(format!("{} ({})", error.message, error.code), 1000);
        Act::Finish(ExternalError::Refused { server: self.server.clone(), method, message })
    }

    fn senseless(&self, method: &'static str) -> Act {
        Act::Finish(ExternalError::Senseless { server: self.server.clone(), method })
    }
}
