//! Which shared process serves which conversation: one for each program, environment and login, started by the first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::backend::codex::hub::Member;
use crate::backend::codex::server::{self, Note};
use crate::backend::spec::StopLadder;
use crate::backend::transport::spawn::{SpawnRequest, Spawner};

/// How many notes may wait for a process.
const NOTES: usize = 128;

/// What conversations have to agree on to share a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// A process keeps the login and the configuration that it found at its start.
    pub(super) login: String,
}

/// The processes of one daemon.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    listed: Arc<Mutex<Listed>>,
}

#[derive(Debug, Default)]
struct Listed {
    servers: HashMap<Key, (u64, mpsc::Sender<Note>)>,
    /// Numbers processes and conversations.
    next: u64,
}

/// The entry of one process; a later one under the same key is not touched by it.
#[derive(Debug)]
pub(super) struct Listing {
    listed: Arc<Mutex<Listed>>,
    key: Key,
    number: u64,
}

impl Pool {
    /// A way to the process for `key`, which is started if there is none, and a number for the conversation.
    ///
    /// Has to be called inside a tokio runtime.
    pub(super) fn join(
        &self,
        key: &Key,
        spawner: &Arc<dyn Spawner>,
        request: impl FnOnce() -> SpawnRequest,
        stop: StopLadder,
    ) -> (Member, mpsc::Sender<Note>) {
        let mut listed = lock(&self.listed);
        listed.next += 2;
        let (member, number) = (listed.next - 1, listed.next);
        if let Some((_, notes)) = listed.servers.get(key).filter(|(_, notes)| !notes.is_closed()) {
            return (member, notes.clone());
        }
        let (notes, receiver) = mpsc::channel(NOTES);
        listed.servers.insert(key.clone(), (number, notes.clone()));
        let listing = Listing { listed: Arc::clone(&self.listed), key: key.clone(), number };
        tokio::spawn(server::run(Arc::clone(spawner), request(), stop, receiver, listing));
        (member, notes)
    }

    /// Hides a process from conversations that begin from here on; whoever has a way to it keeps that.
    pub(super) fn unlist(&self, key: &Key, server: &mpsc::Sender<Note>) {
        let mut listed = lock(&self.listed);
        if listed.servers.get(key).is_some_and(|(_, notes)| notes.same_channel(server)) {
            listed.servers.remove(key);
        }
    }
}

impl Listing {
    /// Nobody finds the process from here on; whoever has a way to it keeps that.
    pub(super) fn unlist(&self) {
        let mut listed = lock(&self.listed);
        if listed.servers.get(&self.key).is_some_and(|(number, _)| *number == self.number) {
            listed.servers.remove(&self.key);
        }
    }
}

fn lock(listed: &Mutex<Listed>) -> MutexGuard<'_, Listed> {
    listed.lock().unwrap_or_else(PoisonError::into_inner)
}
