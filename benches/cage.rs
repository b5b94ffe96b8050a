//! What the cage costs: at the start of a command, and to one that asks for 50,000 files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use coppice::permission::Hold;
use coppice::sandbox::cage::{Cage, Isolation, Network};
use coppice::sandbox::launch::{Spawn, Status, spawn};
use coppice::sandbox::support::support;
use tokio::io::AsyncReadExt;

use crate::measure::{median, milliseconds, ratio};
use crate::repo::{Random, prepare};
use crate::{Bar, Options, Report};

const STARTS: usize = 50;
const PAIRS: usize = 20;

#[derive(Clone, Copy)]
enum Way {
    /// No supervisor either.
    Bare,
    Supervised,
    Caged,
    /// In namespaces of its own as well.
    Isolated,
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    if support().hold() == Hold::Advisory {
        report.note("no cage: this kernel holds nobody");
        return;
    }
    let checkout = prepare(&options.root, options.files);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        starts(&checkout, report).await;
        status(&checkout, report).await;
    });
}

/// From the request until `true` is executed.
async fn starts(checkout: &Path, report: &mut Report) {
    let mut times = [const { Vec::new() }; 4];
    let mut random = Random(0xca6e);
    // Tried out before anything is measured.
    isolation();
    for _ in 0..STARTS {
        let mut ways = [Way::Bare, Way::Supervised, Way::Caged, Way::Isolated];
        random.shuffle(&mut ways);
        for way in ways {
            times[way as usize].push(start(way, checkout).await);
        }
    }
    let [bare, supervised, caged, isolated] = times.map(|times| median(&times));
    report.note(&format!(
        "start of `true`: bare {bare:.2?}, supervised {supervised:.2?}, in a cage {caged:.2?}, with namespaces {isolated:.2?}"
    ));
    let more = milliseconds(caged.saturating_sub(bare));
    report.add("start of a command: supervisor and cage above a bare start", more, Bar::AtMost(5.0, "ms"));
    let more = milliseconds(isolated.saturating_sub(bare));
    report.add("the same with namespaces, where the kernel has them", more, Bar::AtMost(10.0, "ms"));
}

async fn start(way: Way, checkout: &Path) -> Duration {
    let began = Instant::now();
    let cage = match way {
        Way::Bare => {
            // It returns after the exec, as the answer of a supervisor comes after it.
            let mut child = Command::new("true").spawn().unwrap();
            let took = began.elapsed();
            child.wait().unwrap();
            return took;
        }
        Way::Supervised => None,
        Way::Caged => Some(cage(checkout)),
        Way::Isolated => Some(Cage { isolation: isolation(), ..cage(checkout) }),
    };
    let mut started = spawn(command(&["true"], checkout, cage)).await.unwrap();
    let took = began.elapsed();
    assert_eq!(started.process.wait().await, Status::Exited(0));
    took
}

/// Processor time of `git status` inside and outside, in pairs of changing order.
async fn status(checkout: &Path, report: &mut Report) {
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    for number in 0..PAIRS {
        if number % 2 == 0 {
            outside.push(status_once(checkout, None).await);
            inside.push(status_once(checkout, Some(cage(checkout))).await);
        } else {
            inside.push(status_once(checkout, Some(cage(checkout))).await);
            outside.push(status_once(checkout, None).await);
        }
    }
    let (outside, inside) = (median(&outside), median(&inside));
    report.note(&format!("`git status`: {outside:.2?} outside, {inside:.2?} in a cage"));
    report.add("`git status` on 50,000 files in a cage, CPU", ratio(inside, outside), Bar::AtMost(1.10, "×"));
}

/// Bash tells what its children cost in milliseconds; the ticks of the kernel are ten times coarser.
async fn status_once(checkout: &Path, cage: Option<Cage>) -> Duration {
    let script = "git status --porcelain && times";
    let mut started = spawn(command(&["bash", "-c", script], checkout, cage)).await.unwrap();
    let mut text = String::new();
    started.stdout.read_to_string(&mut text).await.unwrap();
    assert_eq!(started.process.wait().await, Status::Exited(0));
    // Two lines when nothing has changed: the shell's own times, and those of its children.
    let children = text.lines().nth(1).unwrap_or_default();
    let spent: Option<Vec<Duration>> = children.split_ascii_whitespace().map(parse_time).collect();
    spent.filter(|spent| spent.len() == 2).expect(&text).into_iter().sum()
}

/// Reads `0m0.123000s`.
fn parse_time(text: &str) -> Option<Duration> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    let minutes: f64 = minutes.parse().ok()?;
    Some(Duration::from_secs_f64(minutes * 60.0 + seconds.parse::<f64>().ok()?))
}

/// What a session gets on this machine.
fn isolation() -> Isolation {
    static ISOLATION: OnceLock<Isolation> = OnceLock::new();
    let found = || support().with_namespaces(Path::new(env!("CARGO_BIN_EXE_coppice"))).isolation();
    *ISOLATION.get_or_init(found)
}

/// What a session has: about as many rules, and the checkout to write.
fn cage(checkout: &Path) -> Cage {
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/opt", "/run/systemd/resolve"];
    let more = std::fs::read_dir("/usr").unwrap().flatten().map(|entry| entry.path());
    let read = system.into_iter().map(PathBuf::from).chain(more).collect();
    Cage { read, write: vec![checkout.to_owned(), "/dev/shm".into()], network: Network::Open, ..Cage::default() }
}

fn command(argv: &[&str], checkout: &Path, cage: Option<Cage>) -> Spawn {
    Spawn {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_coppice")),
        argv: argv.iter().map(ToString::to_string).collect(),
        env: vec![
            ("PATH".into(), std::env::var("PATH").unwrap()),
            ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ],
        cwd: checkout.to_owned(),
        cage,
        worktree: None,
    }
}
