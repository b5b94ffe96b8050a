//! The CLI's journals of conversations, as far as they must be kept from harm.
//!
//! `session/load` opens `session-<minute>-<start of the id>.jsonl` anew before it reads the old ones. In the minute in
//! which a conversation began that is its only journal, and it is emptied. So a journal gets the name of a minute that
//! does not come again before each load: the CLI finds it by what is inside.

use std::io;
use std::path::Path;

use tracing::debug;

use crate::backend::agent_dir::{AgentDir, PRIVATE};

/// How many letters of the id are in the name of a journal.
const SHORT: usize = 8;

/// A day before the first journal, whose minutes are free to take.
const PAST: &str = "session-2000-01-01T";

/// Where the CLI keeps a directory for each project.
const PROJECTS: &str = ".gemini/tmp";

/// The conversation whose history the service refused.
const SPOILED: &str = "spoiled-conversation";

/// Gets the journals of a conversation out of the way of a load.
pub(super) fn protect(home: &AgentDir, conversation: &str) -> io::Result<()> {
    for project in home.entries(PROJECTS) {
        let chats = Path::new(PROJECTS).join(project).join("chats");
        let names = home.entries(&chats).into_iter().filter_map(|name| name.into_string().ok());
        for (from, to) in moves(&names.collect::<Vec<_>>(), conversation) {
            debug!(from, to, "journal put out of the way");
            home.rename(&chats, &from, &to)?;
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
pub(super) fn spoil(home: &AgentDir, conversation: &str) -> io::Result<()> {
    home.write(SPOILED, PRIVATE, conversation.as_bytes())
}

/// Whether a restore of the conversation is worth a try.
pub(super) fn is_spoiled(home: &AgentDir, conversation: &str) -> bool {
    home.read(SPOILED).is_ok_and(|spoiled| spoiled.as_deref() == Some(conversation.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

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
        protect(&AgentDir::fixed(home.path().to_owned()), ID).unwrap();
        let moved = fs::read_to_string(chats.join("session-2000-01-01T00-00-fa664a0e.jsonl"));
        assert_eq!(moved.unwrap(), "history");
        protect(&AgentDir::below(home.path(), "nowhere"), ID).unwrap();
    }

    #[test]
    fn journals_behind_a_link_stay() {
        let dir = tempfile::tempdir().unwrap();
        let journal = "session-2026-03-01T00-00-fa664a0e.jsonl";
        let user = dir.path().join("user/tree/chats");
        fs::create_dir_all(&user).unwrap();
        fs::write(user.join(journal), "history").unwrap();
        for (link, target) in
            [(".gemini/tmp", "user"), (".gemini/tmp/tree", "user/tree"), (".gemini/tmp/a/chats", "user/tree/chats")]
        {
            let home = tempfile::tempdir().unwrap();
            let link = home.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(dir.path().join(target), &link).unwrap();
            protect(&AgentDir::fixed(home.path().to_owned()), ID).unwrap();
            assert!(user.join(journal).exists(), "{link:?}");
        }
    }

    #[test]
    fn a_mark_that_an_agent_planted_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        let home = AgentDir::below(dir.path(), "home");
        home.make().unwrap();
        fs::write(&victim, ID).unwrap();
        let mark = home.path().join(SPOILED);
        let planting: [fn(&Path, &Path); 2] = [
            |victim, mark| symlink(victim, mark).unwrap(),
            |_, mark| mknodat(CWD, mark, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        ];
        for plant in planting {
            plant(&victim, &mark);
            assert!(!is_spoiled(&home, ID));
            spoil(&home, "other").unwrap();
            assert!(is_spoiled(&home, "other"));
            assert_eq!(fs::read_to_string(&victim).unwrap(), ID);
            fs::remove_file(&mark).unwrap();
        }
    }

    #[test]
    fn a_spoiled_conversation_is_the_last_one_only() {
        let dir = tempfile::tempdir().unwrap();
        let home = AgentDir::below(dir.path(), "home");
        assert!(!is_spoiled(&home, ID));
        spoil(&home, ID).unwrap();
        assert!(is_spoiled(&home, ID) && !is_spoiled(&home, "other"));
    }
}
