//! Namespaces of its own for a process in a cage: users, mounts, processes, System V objects and, where its ports are
//! listed, the network. The rules of `confine` come on top of them.
//!
//! The stage splits into three processes. The keeper stays outside, passes signals and the exit status on, and carries
//! connections to the listed ports. The init process is the first one inside, builds the view of the file system and
//! reaps; its end is the end of all inside. The third becomes the command. Nothing happens to the stage itself before the
//! init process says that all is set up, so a refusal leaves nothing half done.

mod call;
mod keeper;
mod loopback;
mod plan;
mod view;

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, getegid, geteuid, pidfd_open, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use super::cage::{Cage, Network};
use super::confine::drop_capabilities;
use super::wire;
use call::Fork;
pub(super) use keeper::{Init, Keeper};

/// Sent to the init process from outside: it stops every process inside.
pub(super) const STOP_OTHERS: Signal = Signal::USR1;

/// Which of the three processes this is after the split.
pub(super) enum Side {
    Keeper(Keeper),
    Init(Init),
    Command,
}

/// From the init process to the keeper, with a handle to the command's process and the sockets that listen inside.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SetupReport {
    Ready,
    Refused { errno: i32 },
}

/// What programs expect to find, beside what a cage lists.
#[derive(Debug, Default)]
pub(super) struct Surroundings<'a> {
    /// Directories that exist without their content.
    pub(super) empty: Vec<&'a Path>,
    /// The directory for temporary files, which programs that do not ask for it find at `/tmp`.
    pub(super) temporary: Option<&'a Path>,
}

/// Splits this process, which has one thread.
pub(super) fn split(cage: &Cage, around: &Surroundings<'_>) -> io::Result<Side> {
    // Signals may come as soon as the command runs, and must find their handlers.
    keeper::catch_signals()?;
    let (outside, inside) = UnixStream::pair()?;
    let user = UserMap::of_this_process();
    match call::clone_into_namespaces(&cage.network)? {
        Fork::Parent(init) => {
            drop(inside);
            Keeper::start(init, outside).map(Side::Keeper)
        }
        Fork::Child => {
            drop(outside);
            match set_up(cage, around, &user, &inside) {
                Ok(Some(program)) => Ok(Side::Init(Init::new(program, inside))),
                Ok(None) => Ok(Side::Command),
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
                    // The keeper may be gone, and then nobody is left to tell.
                    send(&inside, &SetupReport::Refused { errno }, &[]).ok();
                    std::process::exit(1)
                }
            }
        }
    }
}

/// Sets everything up in the init process and starts the command's process; `None` in the latter.
fn set_up(cage: &Cage, around: &Surroundings<'_>, user: &UserMap, keeper: &UnixStream) -> io::Result<Option<Pid>> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    user.write()?;
    limit_inotify();
    view::build(cage, around)?;
    let listeners = match &cage.network {
        Network::Open => Vec::new(),
        Network::Ports(ports) => loopback::listen(ports)?,
    };
    let Fork::Parent(program) = call::fork()? else { return Ok(None) };
    call::stop_others_on(STOP_OTHERS)?;
    drop_capabilities()?;
    let handle = pidfd_open(program, PidfdFlags::empty())?;
    let descriptors: Vec<OwnedFd> = std::iter::once(handle).chain(listeners.into_iter().map(OwnedFd::from)).collect();
    // Fails if the keeper died before the death signal was asked for, and ends what was started.
    send(keeper, &SetupReport::Ready, &descriptors)?;
    Ok(Some(program))
}

/// Lets the processes inside have half of the inotify instances and watches that their user has. Where `/proc/sys` cannot be
/// written, as in some containers, they can have all of them.
fn limit_inotify() {
    for kind in ["instances", "watches"] {
        let limit = fs::read_to_string(format!("/proc/sys/fs/inotify/max_user_{kind}"));
        if let Some(limit) = limit.ok().and_then(|limit| limit.trim().parse::<u64>().ok()) {
            fs::write(format!("/proc/sys/user/max_inotify_{kind}"), (limit / 2).to_string()).ok();
        }
    }
}

fn send(socket: &UnixStream, report: &SetupReport, descriptors: &[OwnedFd]) -> io::Result<()> {
    let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    wire::send_descriptors(socket, &descriptors, &wire::line(report)?).map(drop)
}

/// The user inside is the user outside, so that files belong to whom they belonged.
struct UserMap {
    user: u32,
    group: u32,
}

impl UserMap {
    fn of_this_process() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }

    fn write(&self) -> io::Result<()> {
        let Self { user, group } = self;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        // A group can be mapped only by those who cannot leave groups.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    }
}
