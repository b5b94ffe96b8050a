//! What the demo agent remembers: conversations, and which of its accidents have happened.
//!
//! Kept as JSON files in one directory, so that a restarted agent can go on; without a directory, in memory only.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    pub(crate) turns: Vec<Past>,
    /// The script to go on with at the next prompt that brings none.
    pub(crate) rest: Option<String>,
    /// The final message of the next turn, when the last one was refused.
    pub(crate) owed: Option<String>,
}

/// One turn; its prompt is remembered from the start, its answer at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Past {
    pub(crate) prompt: String,
    pub(crate) answer: Option<String>,
}

/// All conversations of one directory.
#[derive(Debug)]
pub(crate) struct State {
    dir: Option<PathBuf>,
    memories: HashMap<String, Memory>,
    spent: Vec<String>,
}

impl State {
    pub(crate) fn open(dir: Option<PathBuf>) -> Self {
        let spent = dir.as_deref().and_then(|dir| read(&spent_file(dir))).unwrap_or_default();
        Self { dir, memories: HashMap::new(), spent }
    }

    /// The conversation, from memory or from disk.
    pub(crate) fn recall(&mut self, session: &str) -> Option<&mut Memory> {
        if !self.memories.contains_key(session) {
            let memory = read(&session_file(self.dir.as_deref()?, session)?)?;
            self.memories.insert(session.to_owned(), memory);
        }
        self.memories.get_mut(session)
    }

    pub(crate) fn begin(&mut self, session: &str) -> io::Result<()> {
        self.memories.insert(session.to_owned(), Memory::default());
        self.save(session)
    }

    pub(crate) fn save(&self, session: &str) -> io::Result<()> {
        let file = self.dir.as_deref().and_then(|dir| session_file(dir, session));
        match (file, self.memories.get(session)) {
            (Some(file), Some(memory)) => write(&file, memory),
            (None, _) | (_, None) => Ok(()),
        }
    }

    /// Whether this accident is still to happen; from here on it has.
    pub(crate) fn spend(&mut self, accident: String) -> io::Result<bool> {
        if self.spent.contains(&accident) {
            return Ok(false);
        }
        self.spent.push(accident);
        if let Some(dir) = &self.dir {
            write(&spent_file(dir), &self.spent)?;
        }
        Ok(true)
    }
}

fn spent_file(dir: &Path) -> PathBuf {
    dir.join("spent.json")
}

/// `None` for an id that is none of ours: it must not reach outside the directory.
fn session_file(dir: &Path, session: &str) -> Option<PathBuf> {
    let is_plain = session.starts_with("demo-") && session.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_plain.then(|| dir.join(format!("{session}.json")))
}

/// What cannot be read does not exist: the agent then says that it knows no such conversation.
fn read<T: for<'a> Deserialize<'a>>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Replaces the file in one step: the agent may be killed at any moment.
fn write<T: Serialize>(file: &Path, value: &T) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    let draft = file.with_extension("tmp");
    fs::write(&draft, serde_json::to_vec(value)?)?;
    fs::rename(draft, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_outlives_the_agent_and_stays_in_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = State::open(Some(dir.path().join("deep")));
        state.begin("demo-1").unwrap();
        state.recall("demo-1").unwrap().rest = Some("@say on".to_owned());
        state.save("demo-1").unwrap();
        assert!(state.spend("crash".to_owned()).unwrap());

        let mut again = State::open(Some(dir.path().join("deep")));
        assert_eq!(again.recall("demo-1").unwrap().rest.as_deref(), Some("@say on"));
        assert!(!again.spend("crash".to_owned()).unwrap());
        assert!(again.spend("another".to_owned()).unwrap());
        assert_eq!(again.recall("demo-2"), None);
        assert_eq!(again.recall("../demo-1"), None);
        assert_eq!(State::open(None).recall("demo-1"), None);
    }
}
