//! What a full disk, a foreign lock, an unusable file and a kill do: the error says so, and nothing is lost or torn.

#![expect(clippy::disallowed_methods, reason = "a test plays another process that holds the database")]

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::super::fold::Folder;
use super::super::reader;
use super::super::writer::Writer;
use super::super::{EventFilter, Removed, Store, StoredEvent};
use super::{BRIEF, event, furnished, furniture, normal, only, payloads, temp};

#[test]
fn a_full_disk_fails_what_does_not_fit_and_nothing_else() {
    let (_dir, path) = temp();
    let mut writer = Writer::open(&path, BRIEF).unwrap();
    writer.commit(&[furniture(1)]).remove(0).unwrap();
    let pages: i64 = writer.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    writer.db.pragma_update(None, "max_page_count", pages + 4).unwrap();

    let large = normal(vec![event(0, "before"), event(0, &"x".repeat(100_000))]);
    let small = normal(vec![event(0, "small")]);
    let mut results = writer.commit(&[small.clone(), large.clone(), small]).into_iter();
    assert_eq!(results.next().unwrap().unwrap().seqs, [1]);
    let error = results.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), format!("no space left for database `{}`", path.display()));
    assert_eq!(error.hint().as_deref(), Some("free some disk space and try again"));
    assert_eq!(results.next().unwrap().unwrap().seqs, [2]);

    writer.db.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    assert_eq!(writer.commit(&[large]).remove(0).unwrap().seqs, [3, 4]);
    let stored = reader::events_after(&writer.db, only(0), 0, 9).unwrap();
    assert_eq!(payloads(&stored)[..3], ["small", "small", "before"]);
}

#[tokio::test]
async fn a_lock_held_by_another_process_fails_the_write_and_passes() {
    let (_dir, path) = temp();
    let store = Store::start(Writer::open(&path, BRIEF).unwrap(), BRIEF).unwrap();
    store.write(furniture(1)).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let writes = (0..20).map(|_| store.write(normal(vec![event(0, "lost")])));
    for result in futures_util::future::join_all(writes).await {
        let error = result.unwrap_err();
        assert_eq!(error.to_string(), format!("database `{}` is locked by another process", path.display()));
    }
    assert_eq!(store.sessions(Removed::Without).await.unwrap().len(), 1, "readers do not wait for a writer");

    other.execute_batch("COMMIT").unwrap();
    store.write(normal(vec![event(0, "kept")])).await.unwrap();
    assert_eq!(payloads(&store.tail(only(0), 9).await.unwrap()), ["kept"]);
}

#[test]
fn a_database_that_cannot_be_used_is_refused_with_its_path() {
    let (dir, path) = temp();
    let refusal = |path: &Path| Writer::open(path, BRIEF).err().map(|error| error.to_string()).unwrap_or_default();

    let nowhere = dir.path().join("missing/coppice.db");
    assert_eq!(refusal(&nowhere), format!("failed to create database `{}`", nowhere.display()));
    assert_eq!(refusal(dir.path()), format!("`{}` is a directory, not a database", dir.path().display()));

    fs::write(&path, "this is a text file and certainly not a database\n".repeat(100)).unwrap();
    let safe = "branches and checkpoints of sessions are in their repositories";
    assert_eq!(refusal(&path), format!("database `{}` is damaged or not a database; {safe}", path.display()));

    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 41).unwrap();
    let before = fs::read(&path).unwrap();
    let newer = "has schema 41, written by a newer coppice: this one";
    assert!(refusal(&path).starts_with(&format!("database `{}` {newer}", path.display())), "{}", refusal(&path));
    assert!(Writer::open(&path, BRIEF).err().and_then(|error| error.hint()).unwrap().contains("newer coppice"));
    assert_eq!(fs::read(&path).unwrap(), before, "a refused database is untouched");

    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(refusal(&path), format!("database `{}` is locked by another process", path.display()));
}

/// The chain of an error as it is shown.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn a_failed_upgrade_names_the_schemas_and_shows_no_sql() {
    let (_dir, path) = temp();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE handoffs (id); PRAGMA user_version = 1").unwrap();
    let before = fs::read(&path).unwrap();
    let error = Writer::open(&path, BRIEF).err().unwrap();
    assert_eq!(
        chain(&error),
        format!(
            "failed to upgrade database `{}` from schema 1 to 3: table handoffs already exists: Error code 1: SQL logic error",
            path.display()
        )
    );
    assert!(error.hint().unwrap().contains("nothing was changed"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_table_that_is_gone_is_reported_without_sql() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    Connection::open(&path).unwrap().execute_batch("DROP TABLE reviews").unwrap();
    let shown = chain(&store.review(super::id(0)).await.unwrap_err());
    assert!(shown.contains("no such table: reviews") && !shown.contains("SELECT"), "{shown}");
}

/// What a machine finds that lost the process, and the last `lost` bytes of the log, in one moment.
async fn after_a_kill(path: &Path, lost: u64) -> Vec<StoredEvent> {
    let (_dir, copy) = temp();
    let log = |path: &Path| path.with_extension("db-wal");
    fs::copy(path, &copy).unwrap();
    fs::copy(log(path), log(&copy)).unwrap();
    let file = fs::OpenOptions::new().write(true).open(log(&copy)).unwrap();
    file.set_len(file.metadata().unwrap().len().saturating_sub(lost)).unwrap();
    drop(file);
    Store::open(&copy).unwrap().events(EventFilter::default(), 0, 1000).await.unwrap()
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged_and_shows_no_half_write() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    for number in 0..30u8 {
        let changes = (0..4).map(|part| event(0, &format!("{number}.{part}{}", "x".repeat(1500)))).collect();
        store.write(normal(changes)).await.unwrap();
    }
    let all = store.events(EventFilter::default(), 0, 1000).await.unwrap();
    assert_eq!(after_a_kill(&path, 0).await, all);
    for lost in [1, 100, 4096, 4097, 9000, 20_000, 70_001, 150_000] {
        let found = after_a_kill(&path, lost).await;
        assert_eq!(found.len() % 4, 0, "{lost} bytes lost");
        assert!(found.len() < all.len() && all.starts_with(&found), "{lost} bytes lost");
    }
}

#[test]
fn a_read_that_does_not_end_lets_the_log_grow_until_it_ends() {
    let (_dir, path) = temp();
    let mut writer = Writer::open(&path, BRIEF).unwrap();
    writer.commit(&[furniture(1)]).remove(0).unwrap();
    let log = || fs::metadata(path.with_extension("db-wal")).unwrap().len() >> 20;
    let mut write_and_fold = |count| {
        writer.commit(&[normal((0..count).map(|_| event(0, &"x".repeat(1 << 20))).collect())]).remove(0).unwrap();
        let mut folder = Folder::new(&path);
        folder.after_commit();
        folder.stop();
        log()
    };
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM events", [], |_| Ok(())).unwrap();
    assert_eq!(write_and_fold(6), 6);
    reader.execute_batch("COMMIT").unwrap();
    // A connection that is only open holds nothing up.
    assert_eq!(write_and_fold(1), 0);
}
