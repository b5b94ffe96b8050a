//! Ways out of the cage, tried from inside, and ordinary work that must go on there.
//!
//! The test binary starts itself in a cage and tries every way that somebody thought of. Those that are open are the
//! rows of a table in `docs/security.md`, no more and no fewer. The same ways are tried without a cage, where they
//! must be open: a probe that fails for a wrong reason proves nothing.

mod files;
mod inside;
pub(crate) mod isolation;
mod kernel;
mod network;
mod processes;
mod syscall;
mod work;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coppice::permission::Hold;
use coppice::sandbox::cage::{Cage, Isolation, Network};
use coppice::sandbox::command::{Limits, run};
use coppice::sandbox::launch::Spawn;
use coppice::sandbox::support::{Landlock, support};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use inside::{LEVEL, Level, MAP, MARK, Outside};
use world::{SUPERVISOR, World};

const DOCUMENT: &str = include_str!("../../docs/security.md");
/// Around the table of what is open.
const MARKERS: [&str; 2] = ["<!-- known limits -->", "<!-- end of known limits -->"];
/// The way that must be open at the tight level, so that the others are not shut by chance.
const MUST_BE_OPEN: &str = "restricted-listed-port";

/// Tries every way of a level; what each one came to, by name.
async fn attempt(world: &World, level: Level, cage: Option<Cage>) -> BTreeMap<String, String> {
    let finished = run(
        Spawn {
            executable: PathBuf::from(SUPERVISOR),
            argv: [
                std::env::current_exe().unwrap().to_str().unwrap(),
                "--exact",
                "escape::inside::entry",
                "--nocapture",
                "--test-threads=1",
            ]
            .map(str::to_owned)
            .to_vec(),
            env: vec![
                ("PATH".into(), std::env::var("PATH").unwrap()),
                ("HOME".into(), world.map.home("").display().to_string()),
                (LEVEL.into(), level.as_str().into()),
                (MAP.into(), serde_json::to_string(&world.map).unwrap()),
            ],
            cwd: world.map.tree(""),
            cage,
            worktree: None,
        },
        Limits { timeout: Duration::from_secs(60), keep: 1 << 20 },
        &mut |_| {},
    )
    .await
    .unwrap();
    assert!(finished.is_success(), "{}", finished.output);
    let lines = finished.output.lines().filter_map(|line| line.strip_prefix(MARK)?.split_once(' '));
    let found: BTreeMap<_, _> = lines.map(|(name, outcome)| (name.to_owned(), outcome.to_owned())).collect();
    let expected: BTreeSet<_> = probes(level).collect();
    assert_eq!(found.keys().map(String::as_str).collect::<BTreeSet<_>>(), expected, "{}", finished.output);
    found
}

fn probes(level: Level) -> impl Iterator<Item = &'static str> {
    inside::all().filter(move |probe| probe.level == level).map(|probe| probe.name)
}

/// The names in the table of known limits that are open with or without namespaces.
fn documented(isolation: Isolation) -> BTreeSet<&'static str> {
    let (_, after) = DOCUMENT.split_once(MARKERS[0]).expect("the table begins with its marker");
    let (table, _) = after.split_once(MARKERS[1]).expect("the table ends with its marker");
    let rows = table.lines().filter_map(|line| {
        let [_, name, with, without, ..] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else { return None };
        Some((name.strip_prefix('`')?.strip_suffix('`')?, with, without))
    });
    let open = rows.filter(|(_, with, without)| match isolation {
        Isolation::Namespaces => *with == "open",
        Isolation::RulesOnly => *without == "open",
    });
    open.map(|(name, _, _)| name).collect()
}

/// What this machine can hold a cage to; the rules alone everywhere.
fn isolations() -> Vec<Isolation> {
    let mut isolations = vec![Isolation::RulesOnly, support().with_namespaces(Path::new(SUPERVISOR)).isolation()];
    isolations.dedup();
    isolations
}

#[tokio::test]
async fn every_way_out_is_shut_or_a_known_limit() {
    if support().hold_of_ports() == Hold::Advisory {
        eprintln!("this kernel holds nobody: {:?}", support());
        return;
    }
    for isolation in isolations() {
        try_every_way(isolation).await;
    }
}

async fn try_every_way(isolation: Isolation) {
    let world = World::new(isolation).await;
    let ports = Network::Ports(vec![world.map.listed_port]);
    let mut found = attempt(&world, Level::Workspace, Some(world.cage(Network::Open))).await;
    found.extend(attempt(&world, Level::Restricted, Some(world.cage(ports))).await);

    let mut open: BTreeSet<_> =
        found.iter().filter(|(_, outcome)| *outcome == "open").map(|(name, _)| name.as_str()).collect();
    assert!(open.remove(MUST_BE_OPEN), "{found:#?}");
    assert_eq!(open, documented(isolation), "{isolation:?}: {found:#?}");
}

#[tokio::test]
async fn without_a_cage_the_ways_are_open() {
    let world = World::new(Isolation::RulesOnly).await;
    for level in [Level::Workspace, Level::Restricted] {
        let found = attempt(&world, level, None).await;
        for probe in inside::all().filter(|probe| probe.level == level && probe.outside == Outside::Opens) {
            assert_eq!(found[probe.name], "open", "{}", probe.name);
        }
    }
}

/// A priority of the caller's must not change what is found.
#[test]
fn the_ways_are_the_same_under_nice() {
    let me = std::env::current_exe().unwrap();
    let tests = ["escape::every_way_out_is_shut_or_a_known_limit", "escape::without_a_cage_the_ways_are_open"];
    let output = Command::new("nice").args(["-n", "5"]).arg(me).arg("--exact").args(tests).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("2 passed"), "{text}");
}

/// The level that lists its hosts, as a session has it: one port is open, and behind it is the proxy.
#[tokio::test]
async fn the_proxy_is_the_only_way_to_a_host() {
    if support().hold_of_ports() == Hold::Advisory || which::which("curl").is_err() {
        return;
    }
    for isolation in isolations() {
        reach_hosts_through_the_proxy(isolation).await;
    }
}

async fn reach_hosts_through_the_proxy(isolation: Isolation) {
    let world = World::new(isolation).await;
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listed = server.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = server.accept().await {
            let asked = client.read(&mut [0; 4096]).await.unwrap();
            assert_ne!(asked, 0);
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n").await.unwrap();
        }
    });
    let proxy = coppice::sandbox::proxy::start(vec![listed.to_string()]).await.unwrap();
    let script = format!(
        "export http_proxy=http://127.0.0.1:{proxy}; curl -sS http://{listed}; curl -sSp http://{listed}; \
         curl -sS http://evil.example/; curl -sS --noproxy '*' http://{listed} || echo alone: $?",
        proxy = proxy.port()
    );
    let spawn = Spawn {
        executable: PathBuf::from(SUPERVISOR),
        argv: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        cwd: world.map.tree(""),
        cage: Some(world.cage(Network::Ports(vec![proxy.port()]))),
        worktree: None,
    };
    let limits = Limits { timeout: Duration::from_secs(60), keep: 1 << 20 };
    let output = run(spawn, limits, &mut |_| {}).await.unwrap().output;
    let said: Vec<_> = output.lines().filter(|line| !line.starts_with("curl: ")).collect();
    let refusal = "host `evil.example:80` is not listed in `sandbox.hosts`";
    assert_eq!(said, ["hello", "hello", refusal, "alone: 7"], "{output}");
}

#[test]
fn names_are_unique_and_there_are_as_many_kinds_as_were_thought_of() {
    let names: Vec<_> = inside::all().map(|probe| probe.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(names.len() >= 58, "{}", names.len());
    let [with, without] = [Isolation::Namespaces, Isolation::RulesOnly].map(documented);
    assert!(without.iter().all(|name| names.contains(name)) && with.is_subset(&without));
    assert!(with.len() <= 3, "{with:?}");
}

/// Asked in a process that finds Landlock missing, as on an old kernel.
#[test]
fn a_kernel_without_landlock_is_reported_as_advisory() {
    let me = std::env::current_exe().unwrap();
    let entry = ["--exact", "escape::old_kernel", "--nocapture"];
    let output = Command::new(me).args(entry).env(OLD_KERNEL, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("found it missing"), "{text}");
}

const OLD_KERNEL: &str = "COPPICE_TEST_OLD_KERNEL";

/// Plays the old kernel when the test above asks for it, and is an empty test otherwise.
#[tokio::test]
async fn old_kernel() {
    if std::env::var_os(OLD_KERNEL).is_none() {
        return;
    }
    hide_landlock();
    assert_eq!((support().landlock, support().hold()), (Landlock::Missing, Hold::Advisory));
    assert!(support().lines().iter().any(|line| line.starts_with("landlock: missing")));
    let dir = tempfile::tempdir().unwrap();
    let cage = Cage { write: vec![dir.path().to_owned()], ..Cage::default() };
    let started = coppice::sandbox::launch::spawn(Spawn {
        executable: PathBuf::from(SUPERVISOR),
        argv: ["grep", "NoNewPrivs:.1", "/proc/self/status"].map(str::to_owned).to_vec(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        cwd: dir.path().to_owned(),
        cage: Some(cage),
        worktree: None,
    });
    // What is left of the cage is applied, and the command starts.
    let mut started = started.await.unwrap();
    assert_eq!(started.process.hold(), Hold::Advisory);
    assert!(matches!(started.process.wait().await, coppice::sandbox::launch::Status::Exited(0)));
    println!("found it missing");
}

/// All that this thread starts finds the call missing.
fn hide_landlock() {
    use seccompiler::{SeccompAction, SeccompFilter};
    let rules = BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let native = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, native).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter_all_threads(&program).unwrap();
}
