//! The promises of the store when all goes well, and the rows that its tests share.

mod damage;
mod failure;
mod interleaving;

use std::fs;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Duration;

use tempfile::TempDir;

use super::fold::Folder;
use super::writer::Writer;
use super::*;

const BRIEF: Duration = Duration::from_millis(20);

fn id(number: u8) -> SessionId {
    SessionId::from_random([0, 0, 0, 0, number])
}

fn project() -> ProjectRow {
    ProjectRow { id: "p".into(), common_dir: "/repo/.git".into(), record: "{}".into() }
}

fn session(number: u8) -> SessionRow {
    SessionRow {
        id: id(number),
        project: "p".into(),
        parent: None,
        status: "ready".into(),
        created_at: i64::from(number),
        updated_at: 7,
        removed_at: None,
        record: "{}".into(),
    }
}

fn child(number: u8, parent: u8) -> SessionRow {
    SessionRow { parent: Some(id(parent)), ..session(number) }
}

fn event(number: u8, payload: &str) -> Change {
    Change::Event(NewEvent { session: id(number), at: 5, kind: "message", version: 1, payload: payload.into() })
}

fn prompt(number: u32) -> PromptRow {
    PromptRow { session: id(0), number, at: 3, body: format!("{{\"text\":{number}}}"), turn: None }
}

fn normal(changes: Vec<Change>) -> Write {
    Write { durability: Durability::Normal, changes }
}

/// A project with `sessions` sessions.
fn furniture(sessions: u8) -> Write {
    let rows = (0..sessions).map(|number| Change::Session(session(number)));
    normal([Change::Project(project())].into_iter().chain(rows).collect())
}

fn only(number: u8) -> EventFilter {
    EventFilter::Session(id(number))
}

async fn furnished(path: &Path, sessions: u8) -> Store {
    let store = Store::open(path).unwrap();
    store.write(furniture(sessions)).await.unwrap();
    store
}

fn payloads(events: &[StoredEvent]) -> Vec<&str> {
    events.iter().map(|event| event.payload.as_str()).collect()
}

fn temp() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("coppice.db");
    (dir, path)
}

#[tokio::test]
async fn rows_come_back_as_they_were_written() {
    let (_dir, path) = temp();
    let store = furnished(&path, 2).await;
    let removed = SessionRow { removed_at: Some(9), parent: Some(id(0)), ..session(1) };
    let turn = TurnRow { session: id(0), number: 1, record: "{\"a\":1}".into(), raw: None };
    let answered = TurnRow { raw: Some("raw text".into()), ..turn.clone() };
    store.write(normal(vec![Change::Session(removed.clone()), Change::Turn(turn)])).await.unwrap();
    store.write(normal(vec![Change::Turn(answered.clone())])).await.unwrap();

    assert_eq!(store.projects().await.unwrap(), [project()]);
    assert_eq!(store.sessions(Removed::Without).await.unwrap(), [session(0)]);
    assert_eq!(store.sessions(Removed::Only).await.unwrap(), slice::from_ref(&removed));
    assert_eq!(store.session(id(1)).await.unwrap(), Some(removed));
    assert_eq!(store.session(id(9)).await.unwrap(), None);
    assert_eq!(store.turns(id(0)).await.unwrap(), slice::from_ref(&answered));
    assert_eq!(store.turn(id(0), 1).await.unwrap(), Some(answered));
    assert_eq!(store.turn(id(0), 2).await.unwrap(), None);
}

#[tokio::test]
async fn a_queued_prompt_is_taken_or_dropped_once() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    store.write(normal((1..=3).map(|number| Change::Prompt(prompt(number))).collect())).await.unwrap();

    let take = Change::TakePrompt { session: id(0), number: 1, turn: 4 };
    let discard = Change::DropPrompt { session: id(0), number: 3 };
    store.write(normal(vec![take.clone(), discard.clone()])).await.unwrap();
    assert_eq!(store.queued_prompts(id(0)).await.unwrap(), [prompt(2)]);

    for (change, number) in [(take, 1), (discard, 3)] {
        let error = store.write(normal(vec![event(0, "{}"), change])).await.unwrap_err();
        assert_eq!(error.to_string(), format!("prompt {number} of session `aaaaaaaa` is not queued"));
    }
    assert_eq!(store.last_seq().await.unwrap(), 0, "the event went with the change that failed");
    let error = store.write(normal(vec![Change::Prompt(prompt(2))])).await.unwrap_err();
    assert_eq!(error.to_string(), "the write contradicts what is stored");
}

#[tokio::test]
async fn events_are_read_forwards_backwards_and_from_the_end() {
    let (_dir, path) = temp();
    let store = furnished(&path, 3).await;
    for number in 0..9u8 {
        store.write(normal(vec![event(number % 3, &number.to_string())])).await.unwrap();
    }
    store.write(normal(vec![Change::Session(child(2, 0))])).await.unwrap();
    let (all, pair) = (EventFilter::All, EventFilter::Family(id(0)));
    let check = async |filter: EventFilter, after: u64, before: u64, forwards: &[&str], backwards: &[&str]| {
        assert_eq!(payloads(&store.events(filter, after, 2).await.unwrap()), forwards);
        assert_eq!(payloads(&store.events_before(filter, before, 2).await.unwrap()), backwards);
    };
    check(all, 0, 10, &["0", "1"], &["7", "8"]).await;
    check(all, 7, 3, &["7", "8"], &["0", "1"]).await;
    check(all, 9, 1, &[], &[]).await;
    check(all, u64::MAX, u64::MAX, &[], &["7", "8"]).await;
    check(only(1), 2, 8, &["4", "7"], &["1", "4"]).await;
    check(pair, 1, 9, &["2", "3"], &["5", "6"]).await;
    check(EventFilter::Family(id(2)), 0, 10, &["2", "5"], &["5", "8"]).await;
    check(only(9), 0, 10, &[], &[]).await;
    assert_eq!(payloads(&store.tail(pair, 3).await.unwrap()), ["5", "6", "8"]);
    let expected =
        StoredEvent { seq: 9, session: id(2), at: 5, kind: "message".into(), version: 1, payload: "8".into() };
    assert_eq!(store.tail(all, 1).await.unwrap(), [expected]);
}

#[tokio::test]
async fn a_family_is_whoever_descends_when_it_is_read() {
    let (_dir, path) = temp();
    let store = furnished(&path, 2).await;
    let family = EventFilter::Family(id(0));
    let read = async || {
        let (events, rows) = (store.events(family, 0, 99).await.unwrap(), store.descendants(id(0)).await.unwrap());
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        (payloads(&events).join(""), ids)
    };
    store.write(normal(vec![event(0, "a"), event(1, "x")])).await.unwrap();
    assert_eq!(read().await, ("a".into(), vec![]));
    for (number, parent, payload) in [(3, 0, "b"), (4, 3, "c"), (5, 1, "y")] {
        let born = vec![Change::Session(child(number, parent)), event(number, payload)];
        store.write(normal(born)).await.unwrap();
    }
    assert_eq!(read().await, ("abc".into(), vec![id(3), id(4)]));
    store.write(normal(vec![Change::Session(SessionRow { removed_at: Some(9), ..child(4, 3) })])).await.unwrap();
    assert_eq!(read().await, ("abc".into(), vec![id(3), id(4)]), "a removed child still has a past");
    store.write(normal(vec![Change::Session(child(0, 4))])).await.unwrap();
    assert_eq!(read().await, ("abc".into(), vec![id(3), id(4)]), "a ring ends");
}

#[tokio::test]
async fn a_number_is_never_given_twice() {
    let (_dir, path) = temp();
    let store = furnished(&path, 2).await;
    let first = store.write(normal(vec![event(0, "a"), event(1, "b"), event(1, "c")])).await.unwrap();
    assert_eq!(first.seqs, [1, 2, 3]);
    store.write(normal(vec![Change::Prompt(prompt(1)), Change::DeleteSession(id(1))])).await.unwrap();
    store.close().await;

    let store = Store::open(&path).unwrap();
    assert_eq!((*store.committed().borrow(), store.last_seq().await.unwrap()), (3, 3));
    assert_eq!(store.write(normal(vec![event(0, "d")])).await.unwrap().seqs, [4]);
    assert_eq!(payloads(&store.events(EventFilter::default(), 0, 9).await.unwrap()), ["a", "d"]);
    assert_eq!(store.queued_prompts(id(0)).await.unwrap(), [prompt(1)], "the other session keeps what it has");
}

#[tokio::test]
async fn a_review_goes_with_its_session() {
    let (_dir, path) = temp();
    let store = furnished(&path, 2).await;
    let review = |number, record: &str| ReviewRow { session: id(number), record: record.into() };
    assert_eq!(store.review(id(0)).await.unwrap(), None);
    for row in [review(0, "a"), review(1, "b"), review(0, "c")] {
        store.write(normal(vec![Change::Review(row)])).await.unwrap();
    }
    assert_eq!(store.review(id(0)).await.unwrap(), Some(review(0, "c")));
    store.write(normal(vec![Change::DeleteSession(id(0))])).await.unwrap();
    assert_eq!(store.review(id(0)).await.unwrap(), None);
    assert_eq!(store.review(id(1)).await.unwrap(), Some(review(1, "b")));
    assert!(store.write(normal(vec![Change::Review(review(0, "d"))])).await.is_err());
}

#[tokio::test]
async fn what_is_acknowledged_was_announced_and_can_be_read() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    let mut committed = store.committed();
    assert!(!committed.has_changed().unwrap(), "a write without events announces nothing");
    for number in 1..20 {
        let written = store.write(normal(vec![event(0, "x")])).await.unwrap();
        assert_eq!(written.seqs, [number]);
        assert_eq!(*committed.borrow_and_update(), number);
        assert_eq!(store.events(only(0), number - 1, 9).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_bad_write_fails_alone() {
    let (_dir, path) = temp();
    let store = furnished(&path, 1).await;
    let writes = (0..40u8).map(|number| {
        let stranger = if number % 8 == 3 { 77 } else { 0 };
        store.write(normal(vec![event(0, &format!("{number}a")), event(stranger, &format!("{number}b"))]))
    });
    let results = futures_util::future::join_all(writes).await;
    let good: Vec<_> = (0..40usize).filter(|number| number % 8 != 3).collect();
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result.is_ok(), good.contains(&number), "{number}: {result:?}");
    }
    let expected: Vec<_> = good.iter().flat_map(|number| [format!("{number}a"), format!("{number}b")]).collect();
    assert_eq!(payloads(&store.events(only(0), 0, 99).await.unwrap()), expected);
}

#[test]
fn a_commit_is_as_durable_as_its_most_demanding_write() {
    let (_dir, path) = temp();
    let mut writer = Writer::open(&path, BRIEF).unwrap();
    let full = Write { durability: Durability::Full, ..furniture(1) };
    let plain = normal(vec![event(0, "{}")]);
    let check = |writer: &mut Writer, writes: &[Write], expected: i64| {
        assert!(writer.commit(writes).iter().all(Result::is_ok));
        assert_eq!(writer.db.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0)), Ok(expected));
    };
    check(&mut writer, &[full.clone(), plain.clone()], 2);
    check(&mut writer, slice::from_ref(&plain), 1);
    check(&mut writer, slice::from_ref(&full), 2);
}

#[tokio::test]
async fn a_closed_store_says_so_and_leaves_no_log() {
    let (dir, path) = temp();
    let store = furnished(&path, 1).await;
    store.sessions(Removed::Without).await.unwrap();
    let handle = store.clone();
    let pending = store.write(normal(vec![event(0, "last")]));
    let (written, ()) = tokio::join!(pending, store.close());
    written.unwrap();
    store.close().await;
    assert!(matches!(handle.write(furniture(1)).await, Err(StoreError::Closed)));
    assert!(matches!(handle.projects().await, Err(StoreError::Closed)));
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["coppice.db", "coppice.db-marker"]);
    let store = Store::open(&path).unwrap();
    assert_eq!(payloads(&store.tail(only(0), 9).await.unwrap()), ["last"]);
}

#[test]
fn a_long_log_is_folded_in_beside_the_writer() {
    let (_dir, path) = temp();
    let mut writer = Writer::open(&path, BRIEF).unwrap();
    writer.commit(&[furniture(1)]).remove(0).unwrap();
    let sizes = || ["db", "db-wal"].map(|extension| fs::metadata(path.with_extension(extension)).unwrap().len() >> 20);

    let mut folder = Folder::new(&path);
    let megabytes = |count| normal((0..count).map(|_| event(0, &"x".repeat(1 << 20))).collect());
    writer.commit(&[megabytes(3)]).remove(0).unwrap();
    folder.after_commit();
    assert_eq!(sizes(), [0, 3], "a short log stays");
    writer.commit(&[megabytes(3)]).remove(0).unwrap();
    folder.after_commit();
    folder.stop();
    assert_eq!(sizes(), [6, 0], "a long one is folded in and cut");
    writer.commit(&[megabytes(1)]).remove(0).unwrap();
    assert_eq!(sizes(), [6, 1], "and starts over");
}

#[test]
fn the_database_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, path) = temp();
    let _writer = Writer::open(&path, BRIEF).unwrap();
    for entry in fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
    }
}
