//! Judgements by table, and fake programs that tell, break, hang and flood.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::ReadBuf;

use super::*;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::registry;
use crate::backend::transport::spawn::{Control, Signal};

const VERSIONS: Versions = Versions { minimum: Version(2, 1, 0), tested: Version(2, 1, 197) };

#[test]
fn a_version_is_judged_by_the_tested_range() {
    let too_old = |found| Verdict::TooOld { found, minimum: VERSIONS.minimum };
    let untested = |found| Verdict::Untested { found, tested: VERSIONS.tested };
    for (found, expected, is_usable) in [
        (Version(2, 1, 0), Verdict::Good, true),
        (Version(2, 1, 197), Verdict::Good, true),
        (Version(2, 0, 999), too_old(Version(2, 0, 999)), false),
        (Version(2, 1, 198), untested(Version(2, 1, 198)), true),
        (Version(3, 0, 0), untested(Version(3, 0, 0)), true),
    ] {
        let verdict = judge(&VERSIONS, Ok(found));
        assert_eq!((verdict.is_usable(), &verdict), (is_usable, &expected), "{found}");
    }
    let broken = judge(&VERSIONS, Err("exit status 1".to_owned()));
    assert_eq!((broken.is_usable(), broken), (false, Verdict::Broken { said: "exit status 1".to_owned() }));
}

#[test]
fn what_a_program_prints_is_a_version_or_a_complaint() {
    let long = "x".repeat(1000);
    let cut = format!("exit status 2: {}", "x".repeat(SAID));
    for (stdout, stderr, exit, expected) in [
        ("2.1.197 (Claude Code)\n", "", Exit::Code(0), Ok(Version(2, 1, 197))),
        ("codex-cli 0.166.0\n", "a warning\n", Exit::Code(0), Ok(Version(0, 166, 0))),
        ("\n\x1b[1mhello\n", "", Exit::Code(0), Err("it told no version but `[1mhello`")),
        ("", "", Exit::Code(0), Err("it told no version")),
        ("2.1.197\n", "node: not found\nmore\n", Exit::Code(127), Err("exit status 127: node: not found")),
        ("", "", Exit::Signal(11), Err("signal 11")),
        (&long, "", Exit::Code(2), Err(cut.as_str())),
    ] {
        let told = ProgramOutput { stdout: stdout.to_owned(), stderr: stderr.to_owned(), exit };
        assert_eq!(read_version(&told), expected.map_err(str::to_owned));
    }
}

/// What a fake program does.
#[derive(Clone, Copy)]
enum Act {
    Print(&'static str),
    Hang,
    /// Prints without end until nobody reads.
    Flood,
    NotStarted,
}

struct Fake {
    act: Act,
    runs: AtomicUsize,
}

struct Nothing;

impl Control for Nothing {
    fn signal(&mut self, _: Signal) {}
}

/// Gives the same byte for ever.
struct Endless;

impl AsyncRead for Endless {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        buffer.put_slice(&vec![b'y'; room]);
        Poll::Ready(Ok(()))
    }
}

impl Spawner for Fake {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        assert_eq!(request.argv[1..], ["--version"]);
        self.runs.fetch_add(1, Ordering::Relaxed);
        let (stdout, exit): (Box<dyn AsyncRead + Send + Unpin>, BoxFuture<'static, Exit>) = match self.act {
            Act::Print(text) => (Box::new(text.as_bytes()), std::future::ready(Exit::Code(0)).boxed()),
            Act::Hang => (Box::new(tokio::io::empty()), std::future::pending().boxed()),
            Act::Flood => (Box::new(Endless), std::future::ready(Exit::Signal(13)).boxed()),
            Act::NotStarted => {
                let failure = Failure::new(FailureKind::Setup, "permission denied");
                return std::future::ready(Err(failure)).boxed();
            }
        };
        let child = Child {
            pid: None,
            stdin: Box::new(tokio::io::sink()),
            stdout,
            stderr: Box::new(tokio::io::empty()),
            exec_at_ms: 0,
            exit,
            control: Box::new(Nothing),
        };
        std::future::ready(Ok(child)).boxed()
    }
}

/// A directory with one program, a backend that uses it, and its discovery.
struct Scene {
    dir: tempfile::TempDir,
    spec: Spec,
    fake: Arc<Fake>,
    discovery: Discovery,
}

impl Scene {
    fn new(act: Act) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fake = Arc::new(Fake { act, runs: AtomicUsize::new(0) });
        let spec = Spec {
            versions: Some(VERSIONS),
            ..registry::from_config("agent", vec!["agent".to_owned(), "--acp".to_owned()], Vec::new(), Vec::new())
        };
        let scene = Self { dir, spec, fake: fake.clone(), discovery: Discovery::new(fake) };
        scene.install("#!/bin/sh\n");
        scene
    }

    fn install(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(self.program(), text).unwrap();
        std::fs::set_permissions(self.program(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("agent")
    }

    async fn look(&self) -> Found {
        let env = [("PATH".to_owned(), self.dir.path().to_string_lossy().into_owned())];
        self.discovery.look(&self.spec, Surroundings { env: &env, cwd: Path::new("/") }).await
    }
}

#[tokio::test]
async fn a_version_is_asked_for_once_while_the_file_stays_the_same() {
    let scene = Scene::new(Act::Print("2.1.100 (Agent)\n"));
    let expected = Found { program: Some(scene.program()), version: Some(Version(2, 1, 100)), verdict: Verdict::Good };
    assert_eq!(scene.look().await, expected);
    assert_eq!(scene.look().await, expected);
    assert_eq!(scene.fake.runs.load(Ordering::Relaxed), 1);
    scene.install("#!/bin/sh\n# other\n");
    assert_eq!(scene.look().await, expected);
    assert_eq!(scene.fake.runs.load(Ordering::Relaxed), 2);
    std::fs::remove_file(scene.program()).unwrap();
    assert_eq!(scene.look().await, Found { program: None, version: None, verdict: Verdict::Missing });
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_answer_is_broken() {
    for (act, said) in [
        (Act::Hang, "it did not end within 20 seconds"),
        (Act::Print("hello\n"), "it told no version but `hello`"),
        (Act::NotStarted, "permission denied"),
    ] {
        let scene = Scene::new(act);
        assert_eq!(scene.look().await.verdict, Verdict::Broken { said: said.to_owned() });
        // It may work the next time.
        scene.look().await;
        assert_eq!(scene.fake.runs.load(Ordering::Relaxed), 2);
    }
    let flood = Scene::new(Act::Flood).look().await.verdict;
    assert_eq!(flood, Verdict::Broken { said: format!("signal 13: {}", "y".repeat(SAID)) });
}

#[tokio::test]
async fn a_program_that_nobody_tested_is_not_started() {
    let mut scene = Scene::new(Act::Hang);
    scene.spec.versions = None;
    let found = scene.look().await;
    assert_eq!(found, Found { program: Some(scene.program()), version: None, verdict: Verdict::Good });
    assert_eq!(scene.fake.runs.load(Ordering::Relaxed), 0);
}
