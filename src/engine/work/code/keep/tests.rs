//! Servers over pipes that answer everything with nothing, under a clock that stands still.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::lsp::servers::PROGRAMS;
use crate::lsp::{self, Io, Limits};

const BOUNDS: Bounds =
    Bounds { idle: Duration::from_secs(300), most: 2, failed: Duration::from_secs(30), grace: Duration::from_secs(1) };

/// Answers each question with `null`; ends when it hears `exit`.
async fn answer_all(theirs: tokio::io::DuplexStream) {
    let (mut input, mut output) = tokio::io::split(theirs);
    let mut unread = String::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = input.read(&mut piece).await {
        unread.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        while let Some((header, rest)) = unread.split_once("\r\n\r\n") {
            let length: usize = header.rsplit(' ').next().unwrap().parse().unwrap();
            if rest.len() < length {
                break;
            }
            let message: serde_json::Value = serde_json::from_str(&rest[..length]).unwrap();
            unread = rest[length..].to_owned();
            if message["method"] == "exit" {
                return;
            }
            if let Some(id) = message.get("id") {
                let body = format!("{{\"id\":{id},\"result\":{{}}}}");
                let answer = format!("Content-Length: {}\r\n\r\n{body}", body.len());
                output.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    }
}

struct World {
    languages: Languages,
    starts: Arc<AtomicUsize>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl World {
    fn new() -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Self { languages: Languages::bounded(BOUNDS, &tasks, &stop), starts: Arc::default(), tasks, stop }
    }

    fn key(tree: &str) -> Key {
        Key { tree: PathBuf::from(tree), program: PROGRAMS[0].name, made_of: String::new() }
    }

    async fn lease(&self, tree: &str) -> Result<Lease, String> {
        self.lease_after(Self::key(tree), Duration::ZERO).await
    }

    /// The same of a server that takes its time to start.
    async fn lease_after(&self, key: Key, takes: Duration) -> Result<Lease, String> {
        let (starts, tree) = (Arc::clone(&self.starts), key.tree.clone());
        let start = async move {
            starts.fetch_add(1, Ordering::Relaxed);
            time::sleep(takes).await;
            let (ours, theirs) = tokio::io::duplex(4096);
            tokio::spawn(answer_all(theirs));
            let (stdout, stdin) = tokio::io::split(ours);
            let io = Io { stdin: Box::new(stdin), stdout: Box::new(stdout) };
            let server = lsp::connect(&PROGRAMS[0], &tree, io, Limits::default()).await.unwrap();
            Ok(Started { server, process: None })
        };
        self.languages.lease(key, start).await
    }

    fn started(&self) -> usize {
        self.starts.load(Ordering::Relaxed)
    }

    fn runs(&self, tree: &str) -> bool {
        self.languages.find(&Self::key(tree)).is_some()
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_is_kept_and_shared() {
    let world = World::new();
    let (first, second) = tokio::join!(world.lease("/a"), world.lease("/a"));
    drop((first.unwrap(), second.unwrap()));
    drop(world.lease("/a").await.unwrap());
    assert_eq!(world.started(), 1);
    drop(world.lease("/b").await.unwrap());
    assert_eq!(world.started(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_idle_server_is_ended_and_one_in_use_is_not() {
    let world = World::new();
    let lease = world.lease("/a").await.unwrap();
    time::sleep(BOUNDS.idle * 3).await;
    assert!(world.runs("/a"), "it is in use");
    let gone = lease.gone.clone();
    drop(lease);
    time::sleep(BOUNDS.idle / 2).await;
    drop(world.lease("/a").await.unwrap());
    time::sleep(BOUNDS.idle * 2 / 3).await;
    assert!(world.runs("/a"), "it was used in between");
    gone.cancelled().await;
    assert!(!world.runs("/a"));
    drop(world.lease("/a").await.unwrap());
    assert_eq!(world.started(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_one_idle_longest_gives_way() {
    let world = World::new();
    for tree in ["/a", "/b"] {
        drop(world.lease(tree).await.unwrap());
        time::sleep(Duration::from_secs(1)).await;
    }
    drop(world.lease("/a").await.unwrap());
    drop(world.lease("/c").await.unwrap());
    assert_eq!(["/a", "/b", "/c"].map(|tree| world.runs(tree)), [true, false, true]);
    let held = [world.lease("/a").await.unwrap(), world.lease("/c").await.unwrap()];
    let refused = world.lease("/b").await.err();
    assert_eq!(refused.as_deref(), Some("2 language servers are at work, and no more may run; try again later"));
    drop(held);
    assert!(world.lease("/b").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_is_not_tried_again_at_once() {
    let world = World::new();
    let fail = |text: &'static str| world.languages.lease(World::key("/a"), async move { Err(text.to_owned()) });
    assert_eq!(fail("first").await.err().as_deref(), Some("first"));
    time::advance(BOUNDS.failed - Duration::from_secs(1)).await;
    assert_eq!(fail("second").await.err().as_deref(), Some("first"));
    time::advance(Duration::from_secs(1)).await;
    assert_eq!(fail("third").await.err().as_deref(), Some("third"));
    time::advance(BOUNDS.failed).await;
    assert!(world.lease("/a").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn servers_end_with_their_tree_and_with_the_daemon() {
    let world = World::new();
    drop(world.lease("/a").await.unwrap());
    drop(world.lease("/b").await.unwrap());
    world.languages.end(Path::new("/a")).await;
    assert_eq!(["/a", "/b"].map(|tree| world.runs(tree)), [false, true]);
    world.stop.cancel();
    world.tasks.close();
    world.tasks.wait().await;
    assert!(!world.runs("/b"));
    assert_eq!(world.lease("/b").await.err().as_deref(), Some("the daemon is ending"));
}

#[tokio::test(start_paused = true)]
async fn a_start_goes_on_though_nobody_waits_for_it() {
    let world = World::new();
    let takes = Duration::from_secs(20);
    let waited = time::timeout(Duration::from_secs(15), world.lease_after(World::key("/a"), takes)).await;
    assert!(waited.is_err());
    assert!(world.lease("/a").await.is_ok());
    assert_eq!(world.started(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_goes_waits_for_no_start() {
    let world = World::new();
    let begun = Instant::now();
    let starting = world.lease_after(World::key("/a"), Duration::from_secs(20));
    let ending = async {
        tokio::task::yield_now().await;
        world.languages.end(Path::new("/a")).await;
    };
    let (started, ()) = tokio::join!(starting, ending);
    assert_eq!(started.err().as_deref(), Some("the language server was ended meanwhile; try again"));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(!world.languages.is_any_running());
}

#[tokio::test(start_paused = true)]
async fn a_server_with_other_rights_takes_the_place_of_the_first() {
    let world = World::new();
    let narrow = || Key { made_of: "less".to_owned(), ..World::key("/a") };
    drop(world.lease("/a").await.unwrap());
    drop(world.lease("/b").await.unwrap());
    drop(world.lease_after(narrow(), Duration::ZERO).await.unwrap());
    assert_eq!(["/a", "/b"].map(|tree| world.runs(tree)), [false, true]);
    assert!(world.languages.find(&narrow()).is_some());
    assert_eq!(world.started(), 3);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_a_server_that_is_gone() {
    let world = World::new();
    let lease = world.lease("/a").await.unwrap();
    let kept = Arc::downgrade(&lease.0);
    let gone = lease.gone.clone();
    drop(lease);
    gone.cancelled().await;
    world.stop.cancel();
    world.tasks.close();
    world.tasks.wait().await;
    assert!(kept.upgrade().is_none());
}
