//! Real process trees under the real supervisor: nothing survives a stop, a drop or a killed owner.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coppice::permission::Hold;
use coppice::sandbox::SandboxError;
use coppice::sandbox::cage::{Cage, Network};
use coppice::sandbox::command::{End, Finished, Limits, run};
use coppice::sandbox::launch::{Spawn, Status, Stop, Supervised, spawn};
use coppice::sandbox::support::support;
use coppice::sandbox::terminal::{self, OnTerminal, Size};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_coppice");

/// Everything a command can do to get away from its parent; each process writes its pid and waits for its own end.
const TREE: &str = r#"
stay='echo $$; exec sleep 600'
sh -c "$stay" &
sh -c "sh -c '$stay' & $stay" &
setsid sh -c "$stay" &
setsid sh -c "setsid sh -c '$stay' & exit 0" &
nohup sh -c "$stay" 2>/dev/null &
sh -c "trap '' TERM HUP INT; $stay" &
(trap '' TERM; setsid sh -c "setsid sh -c '$stay' & $stay" &)
echo $$
exec sleep 600
"#;
const TREE_SIZE: usize = 10;

fn command(argv: &[&str]) -> Spawn {
    Spawn {
        executable: PathBuf::from(SUPERVISOR),
        argv: argv.iter().map(ToString::to_string).collect(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        cwd: PathBuf::from("/"),
        cage: None,
        worktree: None,
    }
}

/// Watches over processes by descriptors, so that a pid used again by a stranger cannot mislead a test.
pub(crate) struct Watch(Vec<std::os::fd::OwnedFd>);

impl Watch {
    pub(crate) fn over(pids: &[i32]) -> Self {
        Self(pids.iter().map(|pid| pidfd_open(Pid::from_raw(*pid).unwrap(), PidfdFlags::empty()).unwrap()).collect())
    }

    /// Fails when one of them is alive after a time that no healthy machine needs.
    pub(crate) fn all_end(&self) {
        for process in &self.0 {
            let mut ended = [PollFd::new(process, PollFlags::IN)];
            let limit = rustix::time::Timespec { tv_sec: 20, tv_nsec: 0 };
            assert_eq!(retry_on_intr(|| poll(&mut ended, Some(&limit))).unwrap(), 1, "a process survived");
        }
    }

    pub(crate) fn all_live(&self) {
        for process in &self.0 {
            let mut ended = [PollFd::new(process, PollFlags::IN)];
            assert_eq!(poll(&mut ended, Some(&rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap(), 0);
        }
    }
}

async fn read_tree(supervised: &mut Supervised) -> Vec<i32> {
    let mut lines = BufReader::new(&mut supervised.stdout).lines();
    let mut pids = Vec::new();
    while pids.len() < TREE_SIZE {
        pids.push(lines.next_line().await.unwrap().unwrap().parse().unwrap());
    }
    pids
}

async fn tree() -> (Supervised, Watch) {
    let mut supervised = spawn(command(&["sh", "-c", TREE])).await.unwrap();
    let pids = read_tree(&mut supervised).await;
    let watch = Watch::over(&pids);
    watch.all_live();
    assert!(pids.contains(&supervised.process.pid()));
    (supervised, watch)
}

async fn capture(argv: &[&str]) -> Finished {
    run(command(argv), Limits { timeout: Duration::from_secs(60), keep: 4096 }, &mut |_| {}).await.unwrap()
}

#[tokio::test]
async fn a_kill_ends_the_whole_tree() {
    let (mut supervised, watch) = tree().await;
    supervised.process.stop(Stop::Kill);
    assert_eq!(supervised.process.wait().await, Status::Signalled(9));
    watch.all_end();
}

#[tokio::test]
async fn a_polite_stop_ends_the_command_and_then_what_ignored_it() {
    let (mut supervised, watch) = tree().await;
    supervised.process.stopper().stop(Stop::Term);
    assert_eq!(supervised.process.wait().await, Status::Signalled(15));
    watch.all_end();
}

#[tokio::test]
async fn a_command_that_ignores_the_polite_stop_is_killed() {
    let mut supervised = spawn(command(&["sh", "-c", "trap '' TERM; echo; exec sleep 600"])).await.unwrap();
    supervised.stdout.read_u8().await.unwrap();
    assert_eq!(supervised.process.end(Duration::ZERO).await, Status::Signalled(9));
}

#[tokio::test]
async fn dropping_the_process_ends_the_whole_tree() {
    let (supervised, watch) = tree().await;
    let stopper = supervised.process.stopper();
    drop(supervised);
    watch.all_end();
    stopper.stop(Stop::Kill);
}

#[tokio::test]
async fn the_end_of_the_command_ends_what_it_left_behind() {
    let left = r#"setsid sh -c 'echo $$; exec sleep 600' & read line; exit 3"#;
    let mut supervised = spawn(command(&["sh", "-c", left])).await.unwrap();
    let mut pid = String::new();
    BufReader::new(&mut supervised.stdout).read_line(&mut pid).await.unwrap();
    let watch = Watch::over(&[pid.trim().parse().unwrap()]);
    drop(supervised.stdin);
    assert_eq!(supervised.process.wait().await, Status::Exited(3));
    watch.all_end();
}

/// The owner is this test binary again, in a process that can be killed without mercy.
#[tokio::test]
async fn killing_the_owner_ends_the_whole_tree() {
    let mut owner = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervisor::owner_of_a_tree", "--nocapture"])
        .env("COPPICE_TEST_OWNER", "1")
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let mut pids = Vec::new();
    while pids.len() < TREE_SIZE {
        let line = lines.next_line().await.unwrap().expect("the owner ended early");
        pids.extend(line.strip_prefix("tree ").map(|pid| pid.parse::<i32>().unwrap()));
    }
    let watch = Watch::over(&pids);
    kill_process(Pid::from_raw(owner.id().unwrap() as i32).unwrap(), Signal::KILL).unwrap();
    owner.wait().await.unwrap();
    watch.all_end();
}

/// Plays the owner when the test above asks for it, and is an empty test otherwise.
#[tokio::test]
async fn owner_of_a_tree() {
    if std::env::var_os("COPPICE_TEST_OWNER").is_none() {
        return;
    }
    let supervised = spawn(command(&["sh", "-c", TREE])).await.unwrap();
    let mut lines = BufReader::new(supervised.stdout).lines();
    while let Some(pid) = lines.next_line().await.unwrap() {
        println!("\ntree {pid}");
    }
}

#[tokio::test]
async fn a_dead_orphan_does_not_linger_as_a_zombie() {
    // The inner shell ends at once, so its child is an orphan; `kill -0` succeeds on a zombie.
    let script = r#"
        pid=$(sh -c 'sleep 600 >/dev/null & echo $!')
        kill -9 "$pid"
        while kill -0 "$pid" 2>/dev/null; do :; done
        echo gone"#;
    assert_eq!(capture(&["sh", "-c", script]).await.output, "gone\n");
}

#[tokio::test]
async fn a_script_that_kills_its_own_group_does_not_reach_the_supervisor() {
    let mut supervised = spawn(command(&["sh", "-c", "setsid sleep 600 & kill -9 0"])).await.unwrap();
    assert_eq!(supervised.process.wait().await, Status::Signalled(9));
}

#[tokio::test]
async fn the_pipes_carry_the_streams_apart() {
    let mut supervised = spawn(command(&["sh", "-c", "cat; echo err >&2"])).await.unwrap();
    supervised.stdin.write_all(b"in").await.unwrap();
    drop(supervised.stdin);
    let (mut out, mut err) = (String::new(), String::new());
    supervised.stdout.read_to_string(&mut out).await.unwrap();
    supervised.stderr.read_to_string(&mut err).await.unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("in", "err\n"));
    assert_eq!(supervised.process.wait().await, Status::Exited(0));
    assert!(supervised.process.exec_at_ms() > 1_600_000_000_000);
}

#[tokio::test]
async fn the_command_gets_the_environment_directory_and_descriptors_it_was_given_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut given = command(&["/usr/bin/env"]);
    given.env = vec![("ONE".into(), "1".into()), ("TWO".into(), "a\nb".into())];
    let limits = Limits { timeout: Duration::from_secs(60), keep: 4096 };
    assert_eq!(run(given, limits, &mut |_| {}).await.unwrap().output, "ONE=1\nTWO=a\nb\n");

    let mut given = command(&["pwd", "-P"]);
    given.cwd = dir.path().to_owned();
    let here = std::fs::canonicalize(dir.path()).unwrap();
    assert_eq!(run(given, limits, &mut |_| {}).await.unwrap().output, format!("{}\n", here.display()));

    // The shell's own descriptor for the listing is the fourth.
    let open = capture(&["sh", "-c", "ls /proc/self/fd"]).await.output;
    assert_eq!(open, "0\n1\n2\n3\n");
}

#[tokio::test]
async fn a_descriptor_that_the_owner_left_open_stays_outside() {
    // Bash opens 9 without the close-on-exec flag and then becomes the owner.
    let me = std::env::current_exe().unwrap();
    let output = tokio::process::Command::new("sh")
        .args(["-c", "exec 9</dev/null; exec \"$0\" --exact supervisor::owner_of_a_listing --nocapture"])
        .arg(me)
        .env("COPPICE_TEST_OWNER", "1")
        .output()
        .await
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("open: 0 1 2 3\n"), "{text}");
}

/// Plays the owner when the test above asks for it, and is an empty test otherwise.
#[tokio::test]
async fn owner_of_a_listing() {
    if std::env::var_os("COPPICE_TEST_OWNER").is_none() {
        return;
    }
    assert!(Path::new("/proc/self/fd/9").exists());
    println!("\nopen: {}", capture(&["sh", "-c", "echo $(ls /proc/self/fd)"]).await.output);
}

/// A command that may read the system and write `tree`.
fn caged(argv: &[&str], tree: &Path) -> Spawn {
    let read = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"].map(PathBuf::from).to_vec();
    let cage = Cage { read, write: vec![tree.to_owned()], network: Network::Open, ..Cage::default() };
    Spawn { cwd: tree.to_owned(), cage: Some(cage), ..command(argv) }
}

#[tokio::test]
async fn a_caged_command_reaches_what_is_listed_and_says_whether_the_kernel_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(&outside, "before").unwrap();
    let script = "echo one > inside; read go; echo two > ../outside || cat ../outside || exit 7";
    let mut supervised = spawn(caged(&["sh", "-c", script], &tree)).await.unwrap();
    assert_eq!(supervised.process.hold(), support().hold());
    drop(supervised.stdin);
    let status = supervised.process.wait().await;
    assert_eq!(std::fs::read_to_string(tree.join("inside")).unwrap(), "one\n");
    let (ended, left) = match support().hold() {
        Hold::Enforced => (Status::Exited(7), "before"),
        Hold::Advisory => (Status::Exited(0), "two\n"),
    };
    assert_eq!((status, std::fs::read_to_string(&outside).unwrap().as_str()), (ended, left));

    let supervised = spawn(command(&["true"])).await.unwrap();
    assert_eq!(supervised.process.hold(), Hold::Advisory);
}

#[tokio::test]
async fn what_is_listed_and_missing_is_no_hindrance_and_a_link_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for name in ["tree", "secret", "real"] {
        std::fs::create_dir(path(name)).unwrap();
        std::fs::write(path(name).join("file"), name).unwrap();
    }
    std::os::unix::fs::symlink(path("secret"), path("link")).unwrap();
    std::os::unix::fs::symlink(path("real"), path("way")).unwrap();
    let mut given = caged(&["sh", "-c", "cat ../way/file; cat ../real/file; cat ../link/file"], &path("tree"));
    let cage = given.cage.as_mut().unwrap();
    // On the way to a listed file a link is followed; as the last part it counts for itself.
    cage.read.extend([path("missing"), path("link"), path("way").join("file")]);
    let limits = Limits { timeout: Duration::from_secs(60), keep: 4096 };
    let output = run(given, limits, &mut |_| {}).await.unwrap().output;
    match support().hold() {
        Hold::Enforced => assert_eq!(output, "realrealcat: ../link/file: Permission denied\n"),
        Hold::Advisory => assert_eq!(output, "realrealsecret"),
    }
}

#[tokio::test]
async fn a_caged_command_has_no_powers_left() {
    let dir = tempfile::tempdir().unwrap();
    let script = "grep -E '^(Cap|NoNewPrivs)' /proc/self/status | cut -f 2 | sort -u";
    let limits = Limits { timeout: Duration::from_secs(60), keep: 4096 };
    let output = run(caged(&["sh", "-c", script], dir.path()), limits, &mut |_| {}).await.unwrap().output;
    // An ordinary user cannot shrink the bounding set, and does not need to.
    let left = output.lines().next().unwrap();
    assert_eq!((left, output.contains("\n1\n")), ("0000000000000000", true), "{output}");
}

#[tokio::test]
async fn killing_a_caged_command_ends_its_whole_tree() {
    let dir = tempfile::tempdir().unwrap();
    let mut supervised = spawn(caged(&["sh", "-c", TREE], dir.path())).await.unwrap();
    let watch = Watch::over(&read_tree(&mut supervised).await);
    supervised.process.stop(Stop::Kill);
    assert_eq!(supervised.process.wait().await, Status::Signalled(9));
    watch.all_end();
}

const SMALL: Size = Size { columns: 40, rows: 10 };

/// Everything that a command shows on its terminal until `text` is there.
async fn shown(on: &mut OnTerminal, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let piece = on.output.recv().await.unwrap_or_else(|| panic!("no `{text}` in {seen:?}"));
        seen.push_str(&String::from_utf8_lossy(&piece));
    }
    seen
}

#[tokio::test]
async fn a_command_on_a_terminal_is_typed_to_and_learns_its_size() {
    let script = "tty; stty size; read line; stty size; echo got $line </dev/tty >/dev/tty; exit 5";
    let mut on = terminal::spawn(command(&["sh", "-c", script]), SMALL).await.unwrap();
    let begun = shown(&mut on, "10 40\r\n").await;
    assert!(begun.starts_with("/dev/pts/"), "{begun}");
    on.keyboard.resize(Size { columns: 81, rows: 25 }).unwrap();
    on.keyboard.write(b"hello\r".to_vec()).await.unwrap();
    shown(&mut on, "25 81\r\ngot hello\r\n").await;
    assert_eq!(on.output.recv().await, None);
    assert_eq!(on.process.wait().await, Status::Exited(5));
}

#[tokio::test]
async fn a_key_reaches_the_command_as_a_signal() {
    // A shell that is about to wait hears of the signal when it has waited, so it waits shortly.
    let script = "trap 'echo stopped; exit 6' INT; echo on; while :; do sleep 0.1; done";
    let mut on = terminal::spawn(command(&["sh", "-c", script]), SMALL).await.unwrap();
    shown(&mut on, "on\r\n").await;
    on.keyboard.write(vec![3]).await.unwrap();
    shown(&mut on, "stopped").await;
    assert_eq!(on.process.wait().await, Status::Exited(6));
}

#[tokio::test]
async fn a_caged_command_opens_its_own_terminal_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let other = terminal::spawn(command(&["sh", "-c", "tty; exec sleep 600"]), SMALL).await;
    let mut other = other.unwrap();
    let device = shown(&mut other, "\n").await;
    let script = format!(
        "echo own >$(tty); echo ctl >/dev/tty; (echo x >{}) 2>/dev/null && echo other; (: </dev/ptmx) 2>/dev/null && \
         echo more; echo end",
        device.trim()
    );
    let mut on = terminal::spawn(caged(&["sh", "-c", &script], dir.path()), SMALL).await.unwrap();
    let seen = shown(&mut on, "end\r\n").await;
    match support().hold() {
        Hold::Enforced => assert_eq!(seen, "own\r\nctl\r\nend\r\n"),
        Hold::Advisory => assert_eq!(seen, "own\r\nctl\r\nother\r\nmore\r\nend\r\n"),
    }
}

#[tokio::test]
async fn dropping_the_process_ends_what_runs_on_its_terminal() {
    let script =
        "stay='echo $$; exec sleep 600'; setsid sh -c \"$stay\" & (trap '' HUP TERM; sh -c \"$stay\") & eval \"$stay\"";
    let mut on = terminal::spawn(command(&["sh", "-c", script]), SMALL).await.unwrap();
    let mut seen = String::new();
    while seen.matches('\n').count() < 3 {
        seen.push_str(&String::from_utf8_lossy(&on.output.recv().await.unwrap()));
    }
    let pids: Vec<i32> = seen.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let watch = Watch::over(&pids);
    watch.all_live();
    drop(on.process);
    watch.all_end();
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    let missing = dir.path().join("missing");
    let with = |argv: &[&str], cwd: &Path| Spawn { cwd: cwd.to_owned(), ..command(argv) };
    for (given, text, kind) in [
        (with(&["no-such-command"], dir.path()), "command `no-such-command` was not found".to_owned(), "NotFound"),
        (
            with(&[plain.to_str().unwrap()], dir.path()),
            format!("failed to execute `{}`", plain.display()),
            "PermissionDenied",
        ),
        (with(&["true"], &missing), format!("failed to enter the directory `{}`", missing.display()), "NotFound"),
        (with(&["echo", "a\0b"], dir.path()), "failed to execute `echo`".to_owned(), "InvalidInput"),
        (with(&[], dir.path()), "the command to start is empty".to_owned(), "none"),
        (
            Spawn { executable: missing.clone(), ..command(&["true"]) },
            "failed to start the supervisor of `true`".to_owned(),
            "NotFound",
        ),
        (
            Spawn { executable: PathBuf::from("/bin/true"), ..command(&["echo"]) },
            "the supervisor of `echo` ended before the command started".to_owned(),
            "none",
        ),
    ] {
        let error = spawn(given).await.unwrap_err();
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(error.to_string(), text);
        assert_eq!(source.map_or("none".to_owned(), |source| format!("{:?}", source.kind())), kind, "{text}");
    }
}

#[tokio::test]
async fn a_short_command_is_followed_line_by_line() {
    let mut lines = Vec::new();
    let limits = Limits { timeout: Duration::from_secs(60), keep: 8 };
    let script = command(&["sh", "-c", "echo one; echo two >&2; printf three; exit 4"]);
    let finished = run(script, limits, &mut |line| lines.push(line.to_owned())).await.unwrap();
    assert_eq!(lines, ["one", "two", "three"]);
    assert_eq!(finished, Finished { end: End::Status(Status::Exited(4)), output: "wo\nthree".into(), dropped: 5 });
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_and_keeps_what_it_said() {
    let limits = Limits { timeout: Duration::from_millis(300), keep: 99 };
    let script = command(&["sh", "-c", "echo begun; trap '' TERM; setsid sleep 600 & wait"]);
    let finished = run(script, limits, &mut |_| {}).await.unwrap();
    assert_eq!((finished.end, finished.output.as_str()), (End::TimedOut, "begun\n"));
}

#[tokio::test]
async fn a_failed_start_is_no_success_of_a_short_command() {
    let limits = Limits { timeout: Duration::from_secs(60), keep: 99 };
    let error = run(command(&["no-such-command"]), limits, &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, SandboxError::NotFound { .. }));
}
