//! A command in namespaces behaves as one without: its signals, its end, its orphans, its terminal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use coppice::sandbox::SandboxError;
use coppice::sandbox::cage::{Cage, Isolation, Network};
use coppice::sandbox::launch::{Spawn, Status, Stop, Supervised, spawn};
use coppice::sandbox::support::{Namespaces, support};
use coppice::sandbox::terminal::{self, Size};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::world::SUPERVISOR;

fn command(script: &str, tree: &Path) -> Spawn {
    let read = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc"].map(PathBuf::from).to_vec();
    let cage = Cage {
        read,
        write: vec![tree.to_owned(), "/dev/shm".into()],
        network: Network::Open,
        isolation: Isolation::Namespaces,
    };
    Spawn {
        executable: PathBuf::from(SUPERVISOR),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: tree.to_owned(),
        cage: Some(cage),
        worktree: None,
    }
}

/// Starts a script that says one line; `None` where the kernel has no namespaces for us.
async fn start(script: &str) -> Option<(Supervised, String, tempfile::TempDir)> {
    if support().with_namespaces(Path::new(SUPERVISOR)).namespaces != Namespaces::Work {
        return None;
    }
    let tree = tempfile::tempdir().unwrap();
    let mut supervised = spawn(command(script, tree.path())).await.unwrap();
    let mut line = String::new();
    BufReader::new(&mut supervised.stdout).read_line(&mut line).await.unwrap();
    Some((supervised, line.trim().to_owned(), tree))
}

#[tokio::test]
async fn a_command_ends_with_its_own_status() {
    let Some((mut supervised, ..)) = start("echo; exit 3").await else { return };
    assert_eq!(supervised.process.wait().await, Status::Exited(3));
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("HUP", 1)] {
        let Some((mut supervised, ..)) = start(&format!("echo; kill -{name} $$")).await else { return };
        assert_eq!(supervised.process.wait().await, Status::Signalled(number), "{name}");
    }
}

#[tokio::test]
async fn a_command_cannot_take_all_inotify_instances_and_watches_of_its_user() {
    for kind in ["instances", "watches"] {
        let limit = std::fs::read_to_string(format!("/proc/sys/fs/inotify/max_user_{kind}")).unwrap();
        let half = limit.trim().parse::<u64>().unwrap() / 2;
        let script =
            format!("cat /proc/sys/user/max_inotify_{kind}; echo 1 2>/dev/null >/proc/sys/user/max_inotify_{kind}");
        let Some((_supervised, inside, _tree)) = start(&script).await else { return };
        assert_eq!(inside, half.to_string(), "{kind}");
    }
}

#[tokio::test]
async fn signals_reach_the_command() {
    for (stop, number) in [(Stop::Int, 2), (Stop::HangUp, 1), (Stop::Term, 15)] {
        let Some((mut supervised, ..)) = start("echo; exec sleep 600").await else { return };
        supervised.process.stop(stop);
        assert_eq!(supervised.process.wait().await, Status::Signalled(number), "{stop:?}");
    }
    let Some((mut supervised, ..)) = start("trap 'exit 5' TERM; echo; while :; do sleep 0.01; done").await else {
        return;
    };
    supervised.process.stop(Stop::Term);
    assert_eq!(supervised.process.wait().await, Status::Exited(5));
}

#[tokio::test]
async fn a_command_that_ignores_the_polite_stop_is_killed() {
    let Some((supervised, ..)) = start("trap '' TERM; echo; sleep 600").await else { return };
    assert_eq!(supervised.process.end(Duration::ZERO).await, Status::Signalled(9));
}

#[tokio::test]
async fn orphans_are_reaped_and_end_with_the_command() {
    // The first orphan ends and must not stay as a zombie; the second holds the output open as long as it lives.
    let script = "sh -c 'true &'; setsid sh -c 'exec sleep 600' & echo; read line; exit 0";
    let Some((mut supervised, ..)) = start(script).await else { return };
    drop(supervised.stdin);
    assert_eq!(supervised.process.wait().await, Status::Exited(0));
    let mut rest = Vec::new();
    supervised.stdout.read_to_end(&mut rest).await.unwrap();
}

/// Whoever kills the process that stands for the command outside has killed everything inside.
#[tokio::test]
async fn the_keeper_takes_all_with_it() {
    let Some((mut supervised, ..)) = start("setsid sleep 600 & echo; exec sleep 600").await else { return };
    let keeper = Pid::from_raw(supervised.process.pid()).unwrap();
    let handle = pidfd_open(keeper, PidfdFlags::empty()).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    assert_eq!(supervised.process.wait().await, Status::Signalled(9));
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    assert_eq!(retry_on_intr(|| poll(&mut ended, Some(&limit))).unwrap(), 1);
    let mut rest = Vec::new();
    supervised.stdout.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn a_command_sees_itself_and_nothing_else() {
    let script = "echo $(ls -d /proc/[0-9]* | wc -l) $(ls /dev/shm | wc -l) $(id -u) $(stat -c %u .)";
    let Some((mut supervised, line, _tree)) = start(script).await else { return };
    let user = rustix::process::geteuid().as_raw();
    // The init process, the shell, the substitution and what it starts.
    let (processes, rest) = line.split_once(' ').unwrap();
    assert!(processes.parse::<u32>().unwrap() <= 6, "{line}");
    assert_eq!(rest, format!("0 {user} {user}"));
    assert_eq!(supervised.process.wait().await, Status::Exited(0));
}

#[tokio::test]
async fn a_cage_that_reads_everything_still_has_its_own_processes_and_memory() {
    if support().with_namespaces(Path::new(SUPERVISOR)).namespaces != Namespaces::Work {
        return;
    }
    let tree = tempfile::tempdir().unwrap();
    let script = "test -e /proc/1 && ! test -e /proc/$OUTSIDE && : > /dev/shm/x && : > made && ! touch /planted && ls / && exit 6";
    let mut everything = command(script, tree.path());
    everything.env.push(("OUTSIDE".into(), std::process::id().to_string()));
    everything.cage.as_mut().unwrap().read = vec!["/".into()];
    let mut supervised = spawn(everything).await.unwrap();
    assert_eq!(supervised.process.wait().await, Status::Exited(6));
    assert!(tree.path().join("made").exists());
}

#[tokio::test]
async fn temporary_files_are_found_under_both_names() {
    let tree = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let is_beside = tree.path().starts_with(Path::new("/tmp").canonicalize().unwrap());
    if is_beside || support().with_namespaces(Path::new(SUPERVISOR)).namespaces != Namespaces::Work {
        return;
    }
    let temporary = tree.path().join("own");
    std::fs::create_dir(&temporary).unwrap();
    let mut asks =
        command("echo x > /tmp/one && cat $TMPDIR/one && mkdir $TMPDIR/two && ls /tmp && exit 6", tree.path());
    asks.env.push(("TMPDIR".into(), temporary.display().to_string()));
    asks.cage.as_mut().unwrap().write.push(temporary.clone());
    let mut supervised = spawn(asks).await.unwrap();
    let mut said = String::new();
    supervised.stdout.read_to_string(&mut said).await.unwrap();
    assert_eq!((said.as_str(), supervised.process.wait().await), ("x\none\ntwo\n", Status::Exited(6)));
    assert!(temporary.join("one").exists());
}

#[tokio::test]
async fn a_terminal_has_a_name_and_job_control() {
    if support().with_namespaces(Path::new(SUPERVISOR)).namespaces != Namespaces::Work {
        return;
    }
    let tree = tempfile::tempdir().unwrap();
    let script = "tty; test -t 0 && echo typed </dev/tty; sleep 600 & kill %1; wait; trap 'echo caught; exit 4' INT; \
                  echo ready; read line";
    let mut spawned = command(script, tree.path());
    spawned.argv = ["bash", "-mc", script].map(str::to_owned).to_vec();
    let mut on = terminal::spawn(spawned, Size { columns: 80, rows: 24 }).await.unwrap();
    let mut shown = String::new();
    while !shown.contains("ready") {
        shown.push_str(&String::from_utf8_lossy(&on.output.recv().await.expect("it ended early")));
    }
    assert!(shown.starts_with("/dev/pts/") && shown.contains("typed"), "{shown}");
    on.keyboard.write(vec![3]).await.unwrap();
    while !shown.contains("caught") {
        shown.push_str(&String::from_utf8_lossy(&on.output.recv().await.expect("it ended early")));
    }
    assert_eq!(on.process.wait().await, Status::Exited(4));
}

/// A cage that asks for what cannot be had is an error, not a lesser cage.
#[tokio::test]
async fn a_command_without_its_namespaces_does_not_start() {
    let me = std::env::current_exe().unwrap();
    let entry = ["--exact", "escape::isolation::no_namespaces", "--nocapture"];
    let output = std::process::Command::new(me).args(entry).env(NO_NAMESPACES, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("was refused"), "{text}");
}

const NO_NAMESPACES: &str = "COPPICE_TEST_NO_NAMESPACES";

/// Plays a kernel that refuses namespaces when the test above asks for it, and is an empty test otherwise.
#[tokio::test]
async fn no_namespaces() {
    if std::env::var_os(NO_NAMESPACES).is_none() {
        return;
    }
    refuse_namespaces();
    let support = support().with_namespaces(Path::new(SUPERVISOR));
    assert_eq!(support.namespaces, Namespaces::Refused(libc::EPERM));
    assert_eq!(support.isolation(), Isolation::RulesOnly);
    let tree = tempfile::tempdir().unwrap();
    let error = spawn(command("true", tree.path())).await.unwrap_err();
    assert!(matches!(error, SandboxError::Confine { .. }), "{error}");
    println!("was refused");
}

/// All that this process starts cannot have namespaces.
pub(crate) fn refuse_namespaces() {
    use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule};
    let flag = libc::CLONE_NEWUSER as u64;
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag).unwrap();
    let rules = [(libc::SYS_clone, vec![SeccompRule::new(vec![condition]).unwrap()])].into();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let native = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, native).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter_all_threads(&program).unwrap();
}
