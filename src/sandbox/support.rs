//! What this machine can hold a process to, found out by trying, and how that is told to people.

use std::path::Path;

use super::cage::{Isolation, Network};
use super::stage::try_namespaces;
use crate::permission::Hold;

/// What the kernel gives, and who asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    pub landlock: Landlock,
    pub seccomp: Seccomp,
    pub namespaces: Namespaces,
    pub processes: ProcessView,
    pub user: User,
}

/// Which processes `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessView {
    All,
    /// A process that makes itself not dumpable is out of sight, so it cannot be stopped while git works on its files.
    Partial,
}

/// Views of the machine that belong to one process and those that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespaces {
    Work,
    /// The error number of the step that failed.
    Refused(i32),
    /// Nobody tried: see `Support::with_namespaces`.
    Untried,
}

/// Rules for files, ports and signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landlock {
    /// The version that the kernel speaks, of those that are made use of.
    Version(u32),
    /// The kernel has it, and was told at boot to leave it off.
    Disabled,
    /// The kernel is built without it, or a container hides it.
    Missing,
    /// Another operating system.
    Foreign,
}

/// Filters for system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seccomp {
    Works,
    Missing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    Root,
    Ordinary,
}

/// Below this a file that may not be written can still be cut to nothing.
pub(super) const NEEDED: u32 = 3;
/// Below this TCP knows no rules.
pub(super) const NEEDED_FOR_PORTS: u32 = 4;
/// Below this signals reach every process of the user.
const NEEDED_FOR_SCOPES: u32 = 6;

/// Asks the kernel, by confining a thread that ends with the question.
#[cfg(target_os = "linux")]
pub fn support() -> Support {
    use super::confine::{filter, rules};

    let user = if rustix::process::geteuid().is_root() { User::Root } else { User::Ordinary };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo");
    let processes = mounts.map_or(ProcessView::Partial, |mounts| view_of_processes(&mounts));
    let ask = || {
        let landlock = rules::ask();
        let seccomp = filter::apply(&Network::Open, Isolation::RulesOnly).map_or(Seccomp::Missing, |()| Seccomp::Works);
        Support { landlock, seccomp, namespaces: Namespaces::Untried, processes, user }
    };
    let (landlock, seccomp, namespaces) = (Landlock::Missing, Seccomp::Missing, Namespaces::Untried);
    let unknown = Support { landlock, seccomp, namespaces, processes, user };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, ask);
        thread.ok().and_then(|thread| thread.join().ok()).unwrap_or(unknown)
    })
}

#[cfg(not(target_os = "linux"))]
pub fn support() -> Support {
    let user = if rustix::process::geteuid().is_root() { User::Root } else { User::Ordinary };
    let (landlock, seccomp, namespaces) = (Landlock::Foreign, Seccomp::Missing, Namespaces::Untried);
    Support { landlock, seccomp, namespaces, processes: ProcessView::All, user }
}

/// Which processes the topmost `/proc` shows, by the lines of `/proc/self/mountinfo`. The options `gid` and being root may lift
/// the restriction; they are not looked at, because they can change while the daemon runs.
#[cfg(target_os = "linux")]
fn view_of_processes(mounts: &str) -> ProcessView {
    let proc = mounts.lines().rfind(|line| line.split(' ').nth(4) == Some("/proc"));
    let options = proc.and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
    let hidden = options.split(',').find_map(|option| option.strip_prefix("hidepid="));
    match hidden {
        None | Some("0" | "off") => ProcessView::All,
        Some(_) => ProcessView::Partial,
    }
}

impl Support {
    /// Tries out namespaces, in a process of the binary that can `supervise`.
    pub fn with_namespaces(self, executable: &Path) -> Self {
        let namespaces = match self.landlock {
            Landlock::Foreign => Namespaces::Untried,
            Landlock::Version(_) | Landlock::Disabled | Landlock::Missing => {
                match try_namespaces(executable.as_os_str()) {
                    Ok(()) => Namespaces::Work,
                    Err(error) => Namespaces::Refused(error.raw_os_error().unwrap_or_default()),
                }
            }
        };
        Self { namespaces, ..self }
    }

    /// What a cage is to ask for here.
    pub fn isolation(&self) -> Isolation {
        match self.namespaces {
            Namespaces::Work => Isolation::Namespaces,
            Namespaces::Refused(_) | Namespaces::Untried => Isolation::RulesOnly,
        }
    }

    /// Whether a cage with an open network holds here.
    pub fn hold(&self) -> Hold {
        self.hold_from(NEEDED)
    }

    /// Whether a cage that lists its ports holds here.
    pub fn hold_of_ports(&self) -> Hold {
        self.hold_from(NEEDED_FOR_PORTS)
    }

    fn hold_from(&self, needed: u32) -> Hold {
        match (self.landlock, self.seccomp) {
            (Landlock::Version(version), Seccomp::Works) if version >= needed && self.stops_all() => Hold::Enforced,
            (Landlock::Version(_) | Landlock::Disabled | Landlock::Missing | Landlock::Foreign, _) => Hold::Advisory,
        }
    }

    /// Whether all processes of a session can be stopped. In namespaces the init process does that, which sees them all.
    fn stops_all(&self) -> bool {
        match (self.isolation(), self.processes) {
            (Isolation::Namespaces, _) | (Isolation::RulesOnly, ProcessView::All) => true,
            (Isolation::RulesOnly, ProcessView::Partial) => false,
        }
    }

    /// What there is, what is missing and what to do about it, one line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![match self.hold() {
            Hold::Enforced => "sandbox: enforced by the kernel".to_owned(),
            Hold::Advisory => "sandbox: advisory, the kernel does not hold agents to it".to_owned(),
        }];
        lines.extend(self.landlock_lines());
        lines.push(match (self.seccomp, self.landlock) {
            (Seccomp::Works, _) => "seccomp: works; unix sockets, io_uring and user namespaces are closed".to_owned(),
            (Seccomp::Missing, Landlock::Foreign) => return lines,
            (Seccomp::Missing, Landlock::Version(_) | Landlock::Disabled | Landlock::Missing) => {
                "seccomp: missing; use a kernel with `CONFIG_SECCOMP_FILTER`, or a container that allows it".to_owned()
            }
        });
        lines.extend(match self.namespaces {
            Namespaces::Work => Some(
                "namespaces: work; other files and processes are out of sight, and `restricted` has a network of its own"
                    .to_owned(),
            ),
            Namespaces::Refused(errno) => Some(format!(
                "namespaces: refused ({}); files outside can be looked at and their modes changed. Allow unprivileged user \
                 namespaces (`user.max_user_namespaces`, `kernel.unprivileged_userns_clone`, or AppArmor's \
                 `kernel.apparmor_restrict_unprivileged_userns`), or use a container that does",
                std::io::Error::from_raw_os_error(errno)
            )),
            Namespaces::Untried => None,
        });
        if !self.stops_all() {
            lines.push(
                "processes: `/proc` hides some of them (`hidepid`), so an agent's cannot all be stopped while git works on \
                 their files. Allow unprivileged user namespaces, or show all with `mount -o remount,hidepid=0 /proc`"
                    .to_owned(),
            );
        }
        if self.user == User::Root {
            lines.push(
                "user: root; agents keep its files and lose its powers, so they cannot write what others own. \
                 Run as an ordinary user"
                    .to_owned(),
            );
        }
        lines
    }

    fn landlock_lines(&self) -> Vec<String> {
        let version = match self.landlock {
            Landlock::Version(version) => version,
            Landlock::Disabled => {
                return vec![
                    "landlock: off; add `landlock` to the `lsm=` parameter of the kernel and boot again".into(),
                ];
            }
            Landlock::Missing => {
                return vec!["landlock: missing; use Linux 6.2 or later, or a container that allows it".into()];
            }
            Landlock::Foreign => return vec!["landlock: missing; only Linux has it".into()],
        };
        let mut lines = vec![match version < NEEDED {
            true => format!("landlock: version {version} is too old for files; use Linux 6.2 or later"),
            false => format!("landlock: version {version}; files are held"),
        }];
        lines.push(match version < NEEDED_FOR_PORTS {
            true => "network: `restricted` is advisory; use Linux 6.7 or later".into(),
            false => "network: `restricted` is enforced".into(),
        });
        lines.push(match version < NEEDED_FOR_SCOPES {
            true => "signals: reach other processes of yours; use Linux 6.12 or later".into(),
            false => "signals: stay inside".into(),
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(landlock: Landlock, seccomp: Seccomp, holds: [Hold; 2]) {
        let (namespaces, processes) = (Namespaces::Work, ProcessView::Partial);
        let support = Support { landlock, seccomp, namespaces, processes, user: User::Ordinary };
        assert_eq!([support.hold(), support.hold_of_ports()], holds, "{support:?}");
    }

    #[test]
    fn only_a_kernel_with_all_that_is_needed_enforces() {
        use Hold::{Advisory, Enforced};
        check(Landlock::Version(7), Seccomp::Works, [Enforced, Enforced]);
        check(Landlock::Version(4), Seccomp::Works, [Enforced, Enforced]);
        check(Landlock::Version(3), Seccomp::Works, [Enforced, Advisory]);
        check(Landlock::Version(2), Seccomp::Works, [Advisory, Advisory]);
        check(Landlock::Version(7), Seccomp::Missing, [Advisory, Advisory]);
        check(Landlock::Disabled, Seccomp::Works, [Advisory, Advisory]);
        check(Landlock::Missing, Seccomp::Works, [Advisory, Advisory]);
        check(Landlock::Foreign, Seccomp::Missing, [Advisory, Advisory]);
    }

    #[test]
    fn without_namespaces_hidden_processes_make_the_sandbox_advisory() {
        for (namespaces, processes, expected) in [
            (Namespaces::Work, ProcessView::All, Hold::Enforced),
            (Namespaces::Work, ProcessView::Partial, Hold::Enforced),
            (Namespaces::Refused(1), ProcessView::All, Hold::Enforced),
            (Namespaces::Refused(1), ProcessView::Partial, Hold::Advisory),
            (Namespaces::Untried, ProcessView::Partial, Hold::Advisory),
        ] {
            let (landlock, seccomp) = (Landlock::Version(7), Seccomp::Works);
            let support = Support { landlock, seccomp, namespaces, processes, user: User::Ordinary };
            assert_eq!([support.hold(), support.hold_of_ports()], [expected; 2], "{support:?}");
            let explains = support.lines().iter().any(|line| line.starts_with("processes: "));
            assert_eq!(explains, expected == Hold::Advisory, "{support:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_options_of_proc_say_which_processes_it_shows() {
        let mount = |options: &str| format!("25 30 0:23 / /proc rw,nosuid shared:5 - proc proc rw{options}\n");
        let root = "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        for (mounts, expected) in [
            (mount(""), ProcessView::All),
            (mount(",hidepid=0"), ProcessView::All),
            (mount(",hidepid=off"), ProcessView::All),
            (mount(",hidepid=1"), ProcessView::Partial),
            (mount(",gid=4,hidepid=2"), ProcessView::Partial),
            (mount(",hidepid=noaccess"), ProcessView::Partial),
            (mount(",hidepid=invisible"), ProcessView::Partial),
            (mount(",hidepid=ptraceable,subset=pid"), ProcessView::Partial),
            // The last one covers those before it.
            (mount(",hidepid=2") + &mount(""), ProcessView::All),
            (mount("") + &mount(",hidepid=2"), ProcessView::Partial),
            (mount("").replace("/proc rw", "/srv/proc rw").replace("rw\n", "rw,hidepid=2\n"), ProcessView::All),
        ] {
            assert_eq!(view_of_processes(&(root.to_owned() + &mounts)), expected, "{mounts}");
        }
    }

    #[track_caller]
    fn lines(landlock: Landlock, seccomp: Seccomp, namespaces: Namespaces, user: User) -> String {
        Support { landlock, seccomp, namespaces, processes: ProcessView::All, user }.lines().join("\n")
    }

    #[test]
    fn the_lines_say_what_there_is_and_what_to_do() {
        insta::assert_snapshot!(lines(Landlock::Version(7), Seccomp::Works, Namespaces::Work, User::Ordinary), @r"
        sandbox: enforced by the kernel
        landlock: version 7; files are held
        network: `restricted` is enforced
        signals: stay inside
        seccomp: works; unix sockets, io_uring and user namespaces are closed
        namespaces: work; other files and processes are out of sight, and `restricted` has a network of its own
        ");
        insta::assert_snapshot!(lines(Landlock::Version(2), Seccomp::Works, Namespaces::Refused(1), User::Root), @r"
        sandbox: advisory, the kernel does not hold agents to it
        landlock: version 2 is too old for files; use Linux 6.2 or later
        network: `restricted` is advisory; use Linux 6.7 or later
        signals: reach other processes of yours; use Linux 6.12 or later
        seccomp: works; unix sockets, io_uring and user namespaces are closed
        namespaces: refused (Operation not permitted (os error 1)); files outside can be looked at and their modes changed. Allow unprivileged user namespaces (`user.max_user_namespaces`, `kernel.unprivileged_userns_clone`, or AppArmor's `kernel.apparmor_restrict_unprivileged_userns`), or use a container that does
        user: root; agents keep its files and lose its powers, so they cannot write what others own. Run as an ordinary user
        ");
        insta::assert_snapshot!(lines(Landlock::Disabled, Seccomp::Missing, Namespaces::Untried, User::Ordinary), @r"
        sandbox: advisory, the kernel does not hold agents to it
        landlock: off; add `landlock` to the `lsm=` parameter of the kernel and boot again
        seccomp: missing; use a kernel with `CONFIG_SECCOMP_FILTER`, or a container that allows it
        ");
        insta::assert_snapshot!(lines(Landlock::Missing, Seccomp::Works, Namespaces::Untried, User::Ordinary), @r"
        sandbox: advisory, the kernel does not hold agents to it
        landlock: missing; use Linux 6.2 or later, or a container that allows it
        seccomp: works; unix sockets, io_uring and user namespaces are closed
        ");
        insta::assert_snapshot!(lines(Landlock::Foreign, Seccomp::Missing, Namespaces::Untried, User::Ordinary), @r"
        sandbox: advisory, the kernel does not hold agents to it
        landlock: missing; only Linux has it
        ");
    }

    /// The thread that asks is confined, and nobody else is.
    #[test]
    fn asking_confines_nobody() {
        let first = support();
        assert!(std::fs::read_dir("/").is_ok());
        assert!(std::os::unix::net::UnixDatagram::unbound().is_ok());
        assert_eq!(support(), first);
    }
}
