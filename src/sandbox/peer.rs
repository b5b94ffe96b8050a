//! Who is on the other end of a socket: an agent's process, or one that has nothing to do with us.
//!
//! An agent's process descends from the daemon that started it. One that outlives its daemon is a stranger to the next
//! one, but it cannot leave its sandbox: the kernel keeps the mark of having given up new privileges, across every exec.

use rustix::process::Pid;

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

/// Finds out what a process is to this one. Where the system does not tell, everybody is a stranger.
pub fn find_origin(process: Pid) -> PeerOrigin {
    let own = rustix::process::getpid();
    match trace(process, own, read_parent) {
        PeerOrigin::Stranger => judge(read_confinement(process), read_confinement(own)),
        known @ (PeerOrigin::Descendant | PeerOrigin::Sandboxed | PeerOrigin::Unknown) => known,
    }
}

fn trace(process: Pid, ancestor: Pid, parent_of: impl Fn(Pid) -> Option<Pid>) -> PeerOrigin {
    let mut at = process;
    loop {
        if at == ancestor {
            return PeerOrigin::Descendant;
        }
        if at == Pid::INIT {
            return PeerOrigin::Stranger;
        }
        match parent_of(at) {
            Some(parent) => at = parent,
            None => return PeerOrigin::Unknown,
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

/// The parent of a process; pid 1 stands in for a parent outside our pid namespace.
#[cfg(target_os = "linux")]
fn read_parent(process: Pid) -> Option<Pid> {
    super::tree::ProcessStat::read(process).map(|stat| stat.parent)
}

#[cfg(not(target_os = "linux"))]
fn read_parent(_process: Pid) -> Option<Pid> {
    Some(Pid::INIT)
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
        let parents = [(50, 40), (40, 30), (30, 1), (60, 1), (70, 69)];
        let parent_of = |of: Pid| parents.iter().find(|(child, _)| pid(*child) == of).map(|(_, parent)| pid(*parent));
        for (process, ancestor, expected) in [
            (50, 30, PeerOrigin::Descendant),
            (30, 30, PeerOrigin::Descendant),
            (60, 30, PeerOrigin::Stranger),
            (70, 30, PeerOrigin::Unknown),
            (80, 30, PeerOrigin::Unknown),
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
