//! Who is on the other end of a socket: an agent's process, or one that has nothing to do with us.
//!
//! An agent's process descends from the daemon that started it. One that outlives its daemon is a stranger to the next
//! one, but it cannot leave its sandbox: the kernel keeps the mark of having given up new privileges, across every exec.

use std::os::fd::BorrowedFd;
#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::io::Errno;
use rustix::process::Pid;

#[cfg(target_os = "linux")]
use super::freeze::ProcessHandle;
#[cfg(target_os = "linux")]
use super::tree::{ProcessStat, list_children};

/// What a process is to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerOrigin {
    /// This process, or one that was started below it.
    Descendant,
    /// A process in a sandbox that this process is not in.
    Sandboxed,
    Stranger,
    /// The process has ended, or the system does not say which one it is.
    Unknown,
}

/// Finds out what the process that connected a socket is to this one. `pid` is the one that the socket names.
#[cfg(target_os = "linux")]
pub fn identify_process(connection: BorrowedFd<'_>, pid: Pid) -> PeerOrigin {
    ConnectedProcess::open(connection, pid).find_origin(pid)
}

/// Where the system does not tell, everybody is a stranger.
#[cfg(not(target_os = "linux"))]
pub fn identify_process(_connection: BorrowedFd<'_>, pid: Pid) -> PeerOrigin {
    find_origin(pid)
}

/// What tells the process that connected a socket from another one that has its pid by now.
#[cfg(target_os = "linux")]
#[derive(Debug)]
enum ConnectedProcess {
    Held(ProcessHandle),
    /// The kernel has no handle to give, which those before 6.5 do not: when the process with the pid started.
    StartedAt(u64),
    Ended,
}

#[cfg(target_os = "linux")]
impl ConnectedProcess {
    fn open(connection: BorrowedFd<'_>, pid: Pid) -> Self {
        match ProcessHandle::of_peer(connection) {
            Ok(handle) => Self::Held(handle),
            Err(error) if error.raw_os_error() == Some(Errno::NOPROTOOPT.raw_os_error()) => {
                ProcessStat::read(pid).map_or(Self::Ended, |stat| Self::StartedAt(stat.started))
            }
            Err(_) => Self::Ended,
        }
    }

    /// What is read about a pid is about this process only if it has not ended until then.
    fn find_origin(&self, pid: Pid) -> PeerOrigin {
        let origin = find_origin(pid);
        let is_alive = match self {
            Self::Held(handle) => !handle.wait_for_end(Duration::ZERO),
            Self::StartedAt(started) => ProcessStat::read(pid).is_some_and(|stat| stat.started == *started),
            Self::Ended => false,
        };
        if is_alive { origin } else { PeerOrigin::Unknown }
    }
}

fn find_origin(process: Pid) -> PeerOrigin {
    let own = rustix::process::getpid();
    match trace(process, own, find_parent) {
        PeerOrigin::Stranger => judge(read_confinement(process), read_confinement(own)),
        known @ (PeerOrigin::Descendant | PeerOrigin::Sandboxed | PeerOrigin::Unknown) => known,
    }
}

/// What the system tells about the parent of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParentLookup {
    /// Pid 1 stands in for a parent outside our pid namespace.
    Found(Pid),
    /// The process is hidden from us, and is not below this one.
    Unrelated,
    /// The process has ended, or may be one of ours that hides.
    Unknown,
}

fn trace(process: Pid, ancestor: Pid, parent_of: impl Fn(Pid) -> ParentLookup) -> PeerOrigin {
    let mut at = process;
    loop {
        if at == ancestor {
            return PeerOrigin::Descendant;
        }
        if at == Pid::INIT {
            return PeerOrigin::Stranger;
        }
        match parent_of(at) {
            ParentLookup::Found(parent) => at = parent,
            ParentLookup::Unrelated => return PeerOrigin::Stranger,
            ParentLookup::Unknown => return PeerOrigin::Unknown,
        }
    }
}

/// How a process is confined, as far as the kernel tells others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Confinement {
    no_new_privileges: bool,
    seccomp_filters: u32,
    /// What names its user namespace; absent if this process may not know.
    user_namespace: Option<std::path::PathBuf>,
}

/// Every sandbox of ours gives up new privileges, and containers in which a person can use `sudo` do not. A daemon that has
/// given them up itself, such as one in a container, is compared by the rest.
fn judge(peer: Option<Confinement>, own: Option<Confinement>) -> PeerOrigin {
    let (Some(peer), Some(own)) = (peer, own) else { return PeerOrigin::Unknown };
    let is_tighter = !own.no_new_privileges
        || peer.seccomp_filters > own.seccomp_filters
        || peer.user_namespace != own.user_namespace;
    if peer.no_new_privileges && is_tighter { PeerOrigin::Sandboxed } else { PeerOrigin::Stranger }
}

/// Looks up the parent of a process. Where `/proc` is mounted with `hidepid`, it shows no process of another user, such as
/// the `login` above a person's shell, and none of our own that is not dumpable, such as the `sshd` of a session.
///
/// A process that we may not signal has taken on another user. Our own processes cannot do that in a cage, and without
/// one only by a program like `sudo`, which makes them stronger than us anyway. One that we may signal could be an agent
/// that hides, so it is looked for among the processes below this one.
#[cfg(target_os = "linux")]
fn find_parent(process: Pid) -> ParentLookup {
    if let Some(stat) = ProcessStat::read(process) {
        return ParentLookup::Found(stat.parent);
    }
    match rustix::process::test_kill_process(process) {
        Err(Errno::PERM) => ParentLookup::Unrelated,
        Err(_) => ParentLookup::Unknown,
        Ok(()) => match list_descendants(rustix::process::getpid()) {
            Some(descendants) if !descendants.contains(&process) => ParentLookup::Unrelated,
            Some(_) | None => ParentLookup::Unknown,
        },
    }
}

#[cfg(not(target_os = "linux"))]
fn find_parent(_process: Pid) -> ParentLookup {
    ParentLookup::Found(Pid::INIT)
}

/// The processes below one; nothing if one of them hides, because its children are hidden with it.
#[cfg(target_os = "linux")]
fn list_descendants(process: Pid) -> Option<Vec<Pid>> {
    let mut found = list_children(process);
    let mut next = 0;
    while let Some(&child) = found.get(next) {
        let has_ended = || rustix::process::test_kill_process(child) == Err(Errno::SRCH);
        if ProcessStat::read(child).is_none() && !has_ended() {
            return None;
        }
        found.extend(list_children(child));
        next += 1;
    }
    Some(found)
}

#[cfg(target_os = "linux")]
fn read_confinement(process: Pid) -> Option<Confinement> {
    let directory = std::path::Path::new("/proc").join(process.as_raw_nonzero().to_string());
    let status = std::fs::read_to_string(directory.join("status")).ok()?;
    let user_namespace = std::fs::read_link(directory.join("ns/user")).ok();
    Some(Confinement { user_namespace, ..parse_status(&status) })
}

#[cfg(not(target_os = "linux"))]
fn read_confinement(_process: Pid) -> Option<Confinement> {
    Some(Confinement::default())
}

/// Reads `/proc/PID/status`. Kernels before 5.9 do not count filters; there the mode stands for one.
#[cfg(target_os = "linux")]
fn parse_status(status: &str) -> Confinement {
    let number = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok());
    Confinement {
        no_new_privileges: number("NoNewPrivs:").is_some_and(|set| set != 0),
        seccomp_filters: number("Seccomp_filters:").or(number("Seccomp:")).unwrap_or_default(),
        user_namespace: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn a_descendant_is_found_by_its_parents_up_to_init() {
        let parents = [(50, 40), (40, 30), (30, 1), (60, 1), (70, 69), (90, 89)];
        let parent_of = |of: Pid| match parents.iter().find(|(child, _)| pid(*child) == of) {
            Some((_, parent)) => ParentLookup::Found(pid(*parent)),
            None if of == pid(89) => ParentLookup::Unrelated,
            None => ParentLookup::Unknown,
        };
        for (process, ancestor, expected) in [
            (50, 30, PeerOrigin::Descendant),
            (30, 30, PeerOrigin::Descendant),
            (60, 30, PeerOrigin::Stranger),
            (70, 30, PeerOrigin::Unknown),
            (80, 30, PeerOrigin::Unknown),
            // The shell of a person, below a process that is hidden.
            (90, 30, PeerOrigin::Stranger),
        ] {
            assert_eq!(trace(pid(process), pid(ancestor), parent_of), expected, "{process} below {ancestor}");
        }
    }

    #[test]
    fn a_stranger_is_compared_with_the_sandbox_of_this_process() {
        let confined = |no_new_privileges, seccomp_filters, namespace: &str| {
            let user_namespace = (!namespace.is_empty()).then(|| namespace.into());
            Some(Confinement { no_new_privileges, seccomp_filters, user_namespace })
        };
        let (host, flatpak) = (confined(false, 0, "a"), confined(true, 1, "b"));
        for (peer, own, expected) in [
            (host.clone(), host.clone(), PeerOrigin::Stranger),
            // A shell in a container, where `sudo` works.
            (confined(false, 1, "b"), host.clone(), PeerOrigin::Stranger),
            // A person on the host, and the daemon in a terminal that is a Flatpak.
            (host.clone(), flatpak.clone(), PeerOrigin::Stranger),
            (flatpak.clone(), flatpak.clone(), PeerOrigin::Stranger),
            // What git starts in a worktree; and an agent.
            (confined(true, 0, "a"), host.clone(), PeerOrigin::Sandboxed),
            (confined(true, 2, "c"), host.clone(), PeerOrigin::Sandboxed),
            // Agents of a daemon that is in a sandbox itself.
            (confined(true, 2, "b"), flatpak.clone(), PeerOrigin::Sandboxed),
            (confined(true, 1, "c"), flatpak.clone(), PeerOrigin::Sandboxed),
            (confined(true, 1, ""), flatpak, PeerOrigin::Sandboxed),
            (None, host.clone(), PeerOrigin::Unknown),
            (host, None, PeerOrigin::Unknown),
        ] {
            assert_eq!(judge(peer.clone(), own.clone()), expected, "{peer:?} and {own:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test starts a process that connects")]
    fn a_process_that_ended_is_not_mistaken_for_another_with_its_pid() {
        use std::os::fd::AsFd;
        use std::os::unix::net::{UnixListener, UnixStream};

        const SOCKET: &str = "COPPICE_TEST_CONNECT_TO";
        if let Some(path) = std::env::var_os(SOCKET) {
            UnixStream::connect(path).unwrap();
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let own = rustix::process::getpid();
        let here = UnixStream::connect(&path).unwrap();
        let (from_here, _) = listener.accept().unwrap();
        assert_eq!(identify_process(from_here.as_fd(), own), PeerOrigin::Descendant);
        drop(here);

        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "sandbox::peer::tests::a_process_that_ended_is_not_mistaken_for_another_with_its_pid"]);
        assert!(child.env(SOCKET, &path).output().unwrap().status.success());
        let (from_child, _) = listener.accept().unwrap();
        // As if this process had got the pid of the child.
        assert_eq!(identify_process(from_child.as_fd(), own), PeerOrigin::Unknown);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn without_a_handle_a_process_is_known_by_its_start() {
        let own = rustix::process::getpid();
        let started = ProcessStat::read(own).unwrap().started;
        for (process, expected) in [
            (ConnectedProcess::StartedAt(started), PeerOrigin::Descendant),
            (ConnectedProcess::StartedAt(started + 1), PeerOrigin::Unknown),
            (ConnectedProcess::Ended, PeerOrigin::Unknown),
        ] {
            assert_eq!(process.find_origin(own), expected, "{process:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test starts the process that it ends")]
    fn a_process_below_this_one_is_listed_with_its_children() {
        use std::io::Read;

        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", "sleep 600 & echo $!; wait"]).stdout(std::process::Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut line = String::new();
        let mut output = shell.stdout.take().unwrap();
        while !line.ends_with('\n') {
            let mut byte = [0];
            output.read_exact(&mut byte).unwrap();
            line.push(char::from(byte[0]));
        }
        let sleep = pid(line.trim().parse().unwrap());
        let found = list_descendants(rustix::process::getpid()).unwrap();
        assert!(found.contains(&Pid::from_child(&shell)) && found.contains(&sleep), "{found:?}");
        assert_eq!(find_parent(sleep), ParentLookup::Found(Pid::from_child(&shell)));
        rustix::process::kill_process(sleep, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(find_parent(Pid::from_child(&shell)), ParentLookup::Unknown);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_status_of_a_process_tells_how_it_is_confined() {
        let read = |status| {
            let Confinement { no_new_privileges, seccomp_filters, user_namespace: _ } = parse_status(status);
            (no_new_privileges, seccomp_filters)
        };
        assert_eq!(read("Name:\tx\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"), (false, 0));
        assert_eq!(read("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n"), (true, 3));
        assert_eq!(read("NoNewPrivs:\t1\nSeccomp:\t2\n"), (true, 2));
        assert_eq!(read(""), (false, 0));
    }
}
