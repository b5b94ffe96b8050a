//! The stream of all sessions as messages; a daemon that went away is looked for again.

use std::time::Duration;

use tokio::sync::mpsc::Sender;

use crate::api::request::EventQuery;
use crate::client::ClientError;
use crate::client::events::{Events, Item};
use crate::client::start::{Absent, Daemon};
use crate::tui::msg::Msg;

/// How long to wait before a daemon that is gone is looked for again, from the first time to the last.
const PATIENCE: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(500), Duration::from_secs(1)];

/// Reads until the face has gone. Facts come once and in order, across daemons.
pub(super) async fn run(daemon: Daemon, inbox: Sender<Msg>) {
    let mut last = None;
    let mut absent = daemon.absent.clone();
    let mut attempts = 0;
    loop {
        let query = EventQuery { since: last, ..EventQuery::default() };
        let reached = Daemon { absent: absent.clone(), ..daemon.clone() };
        let error = match Events::open(reached, query).await {
            Ok(events) => {
                attempts = 0;
                absent = daemon.absent.clone();
                if inbox.send(Msg::Connected).await.is_err() {
                    return;
                }
                match forward(events, &inbox, &mut last).await {
                    Some(error) => error,
                    None => return,
                }
            }
            Err(error) => error,
        };
        let lost = match error {
            ClientError::Stopped => {
                // Somebody ended it on purpose: it is waited for, and only an act of the person starts another.
                absent = Absent::Fail;
                Msg::Stopped
            }
            error => Msg::Lost(error.to_string()),
        };
        if inbox.send(lost).await.is_err() {
            return;
        }
        tokio::time::sleep(PATIENCE[attempts.min(PATIENCE.len() - 1)]).await;
        attempts += 1;
    }
}

/// Why the stream ended; `None` when nobody listens any more.
async fn forward(mut events: Events, inbox: &Sender<Msg>, last: &mut Option<u64>) -> Option<ClientError> {
    loop {
        let item = match events.next().await {
            Ok(item) => item,
            Err(error) => return Some(error),
        };
        if let Item::Fact { seq, .. } = &item {
            *last = Some(*seq);
        }
        let msg = match item {
            Item::Live(record) => Some(Msg::Live(Box::new(record))),
            // A type of fact that this version does not know is skipped.
            Item::Fact { .. } => item.fact().map(|event| Msg::Fact(Box::new(event))),
        };
        if let Some(msg) = msg
            && inbox.send(msg).await.is_err()
        {
            return None;
        }
    }
}
