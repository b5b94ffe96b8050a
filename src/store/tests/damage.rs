//! A database that is lost, before the start or under a running store: work is kept or refused, never lost in silence.

#![expect(clippy::disallowed_methods, reason = "a test plays another process that uses the database")]

use std::fs::{self, OpenOptions};
use std::path::Path;

use rusqlite::Connection;

use super::super::{EventFilter, PATIENCE, PreparedBackup, Removed, Store, StoreError, exchange};
use super::{event, furnished, normal, payloads, temp};

/// How the start of a store on this file is refused, without the path.
#[track_caller]
fn refusal(path: &Path, worktrees: usize) -> String {
    let error = Store::open_beside(path, worktrees).err().expect("a refusal");
    assert!(error.hint().unwrap().contains("coppice store rebuild"), "{error}");
    let text = error.to_string();
    let text = text.strip_prefix(&format!("database `{}` ", path.display())).unwrap_or(&text).to_owned();
    text.strip_suffix("; branches and checkpoints of sessions are in their repositories").unwrap_or(&text).to_owned()
}

#[tokio::test]
async fn a_database_that_was_lost_is_not_created_again() {
    let (_dir, path) = temp();
    furnished(&path, 1).await.close().await;
    let whole = fs::read(&path).unwrap();

    fs::remove_file(&path).unwrap();
    assert_eq!(refusal(&path, 0), "is missing, although this data directory had one");
    assert!(!path.exists(), "and none is created");

    fs::write(&path, "").unwrap();
    assert_eq!(refusal(&path, 0), "is empty, although this data directory had one with content");

    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(refusal(&path, 0), "is damaged (database disk image is malformed)");

    fs::write(&path, [&[0; 4096][..], &whole[4096..]].concat()).unwrap();
    assert_eq!(refusal(&path, 0), "is damaged (file is not a database)");

    fs::write(&path, &whole).unwrap();
    assert_eq!(Store::open(&path).unwrap().sessions(Removed::Without).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_page_that_was_overwritten_is_found() {
    let (_dir, path) = temp();
    furnished(&path, 1).await.close().await;
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    assert!(refusal(&path, 0).starts_with("is damaged ("), "{}", refusal(&path, 0));
}

#[tokio::test]
async fn a_database_without_its_tables_or_of_somebody_else_is_refused() {
    let (_dir, path) = temp();
    furnished(&path, 1).await.close().await;
    Connection::open(&path).unwrap().execute_batch("DROP TABLE reviews").unwrap();
    assert_eq!(refusal(&path, 0), "is damaged (it lacks the table `reviews`)");
    let (_dir, path) = temp();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE songs (title)").unwrap();
    assert_eq!(refusal(&path, 0), "was not written by coppice");
}

#[tokio::test]
async fn worktrees_show_that_there_were_sessions() {
    let (_dir, path) = temp();
    assert_eq!(refusal(&path, 3), "is missing, although this data directory had one");
    Store::open(&path).unwrap().close().await;
    assert_eq!(refusal(&path, 3), "holds no session, although 3 worktrees of sessions exist");
    furnished(&path, 1).await.close().await;
    assert!(Store::open_beside(&path, 3).is_ok());
}

#[tokio::test]
async fn a_store_puts_back_a_file_that_was_deleted() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    store.write(normal(vec![event(0, "before")])).await.unwrap();
    store.sessions(Removed::Without).await.unwrap();
    // The log stays behind, as it does when somebody deletes only the one file.
    fs::remove_file(&path).unwrap();
    store.write(normal(vec![event(0, "after")])).await.unwrap();
    assert_eq!(payloads(&store.events(EventFilter::All, 0, 9).await.unwrap()), ["before", "after"]);

    for name in ["coppice.db", "coppice.db-wal", "coppice.db-shm"] {
        fs::remove_file(path.with_file_name(name)).unwrap();
    }
    assert_eq!(payloads(&store.events(EventFilter::All, 0, 9).await.unwrap()), ["before", "after"]);
    store.write(normal(vec![event(0, "later")])).await.unwrap();

    fs::remove_file(&path).unwrap();
    store.close().await;
    let store = Store::open(&path).unwrap();
    assert_eq!(payloads(&store.events(EventFilter::All, 0, 9).await.unwrap()), ["before", "after", "later"]);
}

#[tokio::test]
async fn a_store_refuses_work_while_another_file_has_its_path() {
    let (dir, path) = temp();
    let store = furnished(&path, 1).await;
    store.write(normal(vec![event(0, "mine")])).await.unwrap();
    let other = dir.path().join("other");
    furnished(&other, 2).await.close().await;
    fs::rename(&other, &path).unwrap();

    let error = store.write(normal(vec![event(0, "lost")])).await.unwrap_err();
    let saved = dir.path().join("coppice.db.displaced");
    let expected = format!("was replaced while the daemon used it, whose content is in `{}`", saved.display());
    assert!(error.to_string().contains(&expected), "{error}");
    assert!(matches!(store.sessions(Removed::Without).await, Err(StoreError::Damaged { .. })));
    store.close().await;

    assert_eq!(Store::open(&path).unwrap().sessions(Removed::Without).await.unwrap().len(), 2, "it is left alone");
    let saved = Store::open(&saved).unwrap();
    assert_eq!(payloads(&saved.events(EventFilter::All, 0, 9).await.unwrap()), ["mine"]);
}

#[tokio::test]
async fn a_store_refuses_work_when_its_file_was_emptied() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    let error = store.write(normal(vec![event(0, "lost")])).await.unwrap_err();
    assert!(error.to_string().contains("is empty, although"), "{error}");
    store.close().await;
}

#[tokio::test]
async fn a_backup_is_whole_while_the_store_works_and_overwrites_nothing() {
    let (dir, path) = temp();
    let store = furnished(&path, 1).await;
    store.write(normal(vec![event(0, "in the log")])).await.unwrap();
    let target = dir.path().join("backup");
    let back_up = || PreparedBackup::write(&path, &target, PATIENCE).and_then(PreparedBackup::place);
    back_up().unwrap();
    store.write(normal(vec![event(0, "later")])).await.unwrap();
    assert!(matches!(back_up(), Err(StoreError::Copy { .. })));
    let copy = Store::open(&target).unwrap();
    assert_eq!(payloads(&copy.events(EventFilter::All, 0, 9).await.unwrap()), ["in the log"]);
    assert_eq!(payloads(&store.events(EventFilter::All, 0, 9).await.unwrap()), ["in the log", "later"]);
}

#[tokio::test]
async fn a_new_database_takes_the_place_of_an_old_one_that_is_kept_with_its_log() {
    let (dir, path) = temp();
    let kept = dir.path().join("coppice.db.old");
    let old = furnished(&path, 1).await;
    old.write(normal(vec![event(0, "in the log")])).await.unwrap();
    // As a kill leaves them.
    let log = path.with_extension("db-wal");
    let (database, wal) = (fs::read(&path).unwrap(), fs::read(&log).unwrap());
    old.close().await;
    fs::write(&path, &database).unwrap();
    fs::write(&log, &wal).unwrap();
    let new = dir.path().join("new");
    furnished(&new, 2).await.close().await;
    exchange(&new, &path, &kept).unwrap();
    assert_eq!(Store::open(&path).unwrap().sessions(Removed::Without).await.unwrap().len(), 2);
    let kept = Store::open(&kept).unwrap();
    assert_eq!(payloads(&kept.events(EventFilter::All, 0, 9).await.unwrap()), ["in the log"]);
}
