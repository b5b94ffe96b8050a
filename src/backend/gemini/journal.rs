//! The CLI's journals of conversations, as far as they must be kept from harm.
//!
//! `session/load` opens `session-<minute>-<start of the id>.jsonl` anew before it reads the old ones. In the minute in
//! which a conversation began that is its only journal, and it is emptied. So a journal gets the name of a minute that
//! does not come again before each load: the CLI finds it by what is inside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracing::debug;

/// How many letters of the id are in the name of a journal.
const SHORT: usize = 8;

/// A day before the first journal, whose minutes are free to take.
const PAST: &str = "session-2000-01-01T";

/// The conversation whose history the service refused.
const SPOILED: &str = "spoiled-conversation";

/// Gets the journals of a conversation out of the way of a load.
pub(super) fn protect(home: &Path, conversation: &str) -> io::Result<()> {
    for chats in chat_dirs(home) {
        let files = entries(&chats).filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        for (from, to) in moves(&files.collect::<Vec<_>>(), conversation) {
            debug!(from, to, "journal put out of the way");
            fs::rename(chats.join(from), chats.join(to))?;
        }
    }
    Ok(())
}

/// Which journals of the conversation to rename, and to what.
fn moves(names: &[String], conversation: &str) -> Vec<(String, String)> {
    let end = format!("-{}.jsonl", conversation.chars().take(SHORT).collect::<String>());
    let is_journal = |name: &&String| name.starts_with("session-") && name.ends_with(&end) && !name.starts_with(PAST);
    let past = (0..24 * 60).map(|minute| format!("{PAST}{:02}-{:02}{end}", minute / 60, minute % 60));
    let free = past.filter(|name| !names.contains(name));
    names.iter().filter(is_journal).cloned().zip(free).collect()
}

/// Remembers that a conversation cannot be restored.
pub(super) fn spoil(home: &Path, conversation: &str) -> io::Result<()> {
    fs::write(home.join(SPOILED), conversation)
}

/// Whether a restore of the conversation is worth a try.
pub(super) fn is_spoiled(home: &Path, conversation: &str) -> bool {
    fs::read_to_string(home.join(SPOILED)).is_ok_and(|spoiled| spoiled == conversation)
}

fn chat_dirs(home: &Path) -> impl Iterator<Item = PathBuf> {
    entries(&home.join(".gemini/tmp")).map(|project| project.join("chats")).filter(|path| path.is_dir())
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "fa664a0e-02dc-4ab6-be19-ffe22130ec3c";

    #[track_caller]
    fn check(names: &[&str], expected: &[(&str, &str)]) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let moves = moves(&names, ID);
        let moves: Vec<_> = moves.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        assert_eq!(moves, expected);
    }

    #[test]
    fn a_journal_moves_once_to_a_free_minute_of_the_past() {
        check(&[], &[]);
        check(&["session-2026-03-01T00-00-aaaaaaaa.jsonl", "fa664a0e.jsonl", "session-x-fa664a0e.json"], &[]);
        check(&["session-2000-01-01T00-00-fa664a0e.jsonl"], &[]);
        check(
            &["session-2026-03-01T00-00-fa664a0e.jsonl"],
            &[("session-2026-03-01T00-00-fa664a0e.jsonl", "session-2000-01-01T00-00-fa664a0e.jsonl")],
        );
        check(
            &[
                "session-2026-03-01T00-00-fa664a0e.jsonl",
                "session-2000-01-01T00-00-fa664a0e.jsonl",
                "session-2026-03-01T00-01-fa664a0e.jsonl",
            ],
            &[
                ("session-2026-03-01T00-00-fa664a0e.jsonl", "session-2000-01-01T00-01-fa664a0e.jsonl"),
                ("session-2026-03-01T00-01-fa664a0e.jsonl", "session-2000-01-01T00-02-fa664a0e.jsonl"),
            ],
        );
    }

    #[test]
    fn journals_move_in_every_project_of_the_home() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join(".gemini/tmp/tree/chats");
        fs::create_dir_all(&chats).unwrap();
        fs::write(home.path().join(".gemini/tmp/a-file"), "").unwrap();
        fs::write(chats.join("session-2026-03-01T00-00-fa664a0e.jsonl"), "history").unwrap();
        protect(home.path(), ID).unwrap();
        let moved = fs::read_to_string(chats.join("session-2000-01-01T00-00-fa664a0e.jsonl"));
        assert_eq!(moved.unwrap(), "history");
        protect(&home.path().join("nowhere"), ID).unwrap();
    }

    #[test]
    fn a_spoiled_conversation_is_the_last_one_only() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_spoiled(home.path(), ID));
        spoil(home.path(), ID).unwrap();
        assert!(is_spoiled(home.path(), ID) && !is_spoiled(home.path(), "other"));
    }
}
