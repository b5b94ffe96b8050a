//! What crosses the socket: plain serde types, one per request, reply and event, versioned as `/v1`.
//!
//! They are a promise to every client, so nothing here knows how the daemon thinks; ids are strings, times integer
//! milliseconds, lists have a cursor and a limit. Event payloads are also the durable form: the store keeps their text.

pub mod agent;
pub mod attach;
pub mod backend;
pub mod daemon;
pub mod environment;
pub mod error;
pub mod event;
pub mod handoff;
pub mod image;
pub mod import;
pub mod permission;
pub mod project;
pub mod publish;
pub mod request;
pub mod resolution;
pub mod review;
pub mod session;
pub mod store;
pub mod tool;
pub mod workflow;

/// The version of the paths and types; a client and a daemon that share it can work together.
pub const VERSION: u32 = 1;

/// One page of a list; `next` is the cursor of the following page.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A list that is always given as a whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}
