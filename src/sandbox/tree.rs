//! The processes below a supervisor, as the operating system sees them.
//!
//! On Linux every orphan comes back to the supervisor, so its own children are all it ever has to end: what they
//! leave behind is its child next. Elsewhere the command's process group has to do.

use std::io;

use rustix::process::{Pid, Signal};

/// Makes this process the parent of every orphan below it.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() -> io::Result<()> {
    // Any pid stands for "yes"; the kernel reads it as a flag.
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Ends this process when `parent` dies, also across exec.
#[cfg(target_os = "linux")]
pub(super) fn die_with(parent: Option<Pid>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above.
    match rustix::process::getppid() == parent {
        true => Ok(()),
        false => Err(rustix::io::Errno::SRCH.into()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn die_with(_parent: Option<Pid>) -> io::Result<()> {
    Ok(())
}

/// Kills every child of this process. The caller holds off reaping meanwhile, so no pid can change its owner.
#[cfg(target_os = "linux")]
pub(super) fn kill_children(_command: Pid) {
    for child in list_children(rustix::process::getpid()) {
        // A child that is a zombie already does not mind.
        rustix::process::kill_process(child, Signal::KILL).ok();
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill_children(command: Pid) {
    // The group may be empty already.
    rustix::process::kill_process_group(command, Signal::KILL).ok();
}

/// What the kernel reports about a process or one of its threads.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessStat {
    /// The letter of its state, such as `T` for stopped.
    pub(super) state: u8,
    /// Pid 1 stands in for a parent outside our pid namespace.
    pub(super) parent: Pid,
    /// Its session; 0 for one outside our pid namespace.
    pub(super) session: i32,
    /// When it started, in clock ticks since boot. Together with its pid this names one process for good.
    pub(super) started: u64,
}

#[cfg(target_os = "linux")]
impl ProcessStat {
    pub(super) fn read(process: Pid) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?)
    }

    /// Parses a line of `/proc/PID/stat`; the second field, the name, may hold blanks and parentheses.
    pub(super) fn parse(stat: &[u8]) -> Option<Self> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            parent: Pid::from_raw(fields.next()?.parse().ok()?).unwrap_or(Pid::INIT),
            session: fields.nth(1)?.parse().ok()?,
            started: fields.nth(15)?.parse().ok()?,
        })
    }
}

/// Whether a process of one thread has yet to act on a signal that it was sent and handles. Nothing else wakes it meanwhile.
#[cfg(target_os = "linux")]
pub(super) fn has_work_for(process: Pid, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let is_pending = field("ShdPnd:").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or_default()
        & (1 << (signal.as_raw() - 1))
        != 0;
    is_pending || field("State:").is_some_and(|state| state.starts_with('R'))
}

/// The children of a process. While some of them exit, others may be missing from the list.
#[cfg(target_os = "linux")]
pub(super) fn list_children(process: Pid) -> Vec<Pid> {
    let mut lists = Vec::new();
    let tasks = format!("/proc/{}/task", process.as_raw_nonzero());
    for task in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
        match std::fs::read_to_string(task.path().join("children")) {
            Ok(list) => lists.push(list),
            // A kernel without CONFIG_PROC_CHILDREN, or a thread that ended just now.
            Err(_) => return scan_for_children(process),
        }
    }
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(parse_pid).collect()
}

/// The children of a process with what the kernel reports about them.
#[cfg(target_os = "linux")]
pub(super) fn read_children(process: Pid) -> Vec<(Pid, ProcessStat)> {
    read_listed_children(process, list_children(process))
}

/// A child that was listed may have ended, and its pid have passed to a stranger.
#[cfg(target_os = "linux")]
fn read_listed_children(process: Pid, listed: Vec<Pid>) -> Vec<(Pid, ProcessStat)> {
    let stats = listed.into_iter().filter_map(|child| Some((child, ProcessStat::read(child)?)));
    stats.filter(|(_, stat)| stat.parent == process).collect()
}

/// Asks every process for its parent.
#[cfg(target_os = "linux")]
fn scan_for_children(process: Pid) -> Vec<Pid> {
    list_processes().filter(|pid| ProcessStat::read(*pid).is_some_and(|stat| stat.parent == process)).collect()
}

/// Every process that this one can see.
#[cfg(target_os = "linux")]
pub(super) fn list_processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| parse_pid(entry.file_name().to_str()?))
}

/// Whether a process was started with an entry in its environment. A dead one has none.
#[cfg(target_os = "linux")]
pub(super) fn has_environment_entry(process: Pid, entry: &[u8]) -> bool {
    let environment = std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|found| found == entry)
}

/// Whether the first argument of a process is one of these, whatever its program is called.
#[cfg(target_os = "linux")]
pub(super) fn has_first_argument(process: Pid, arguments: &[&str]) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
    let first = line.split(|byte| *byte == 0).nth(1).unwrap_or_default();
    arguments.iter().any(|argument| argument.as_bytes() == first)
}

#[cfg(target_os = "linux")]
fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test starts the process that it ends")]

    use super::*;

    #[test]
    fn both_ways_to_list_children_find_the_child() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let own = rustix::process::getpid();
        assert!(list_children(own).contains(&pid));
        assert!(scan_for_children(own).contains(&pid));
        // Neither is a child: whoever has the pid of one by now is left alone.
        let known = read_listed_children(own, vec![own, pid, Pid::INIT]);
        assert_eq!(known.iter().map(|(pid, _)| *pid).collect::<Vec<_>>(), [pid]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!list_children(own).contains(&pid));
    }

    #[test]
    fn a_name_cannot_forge_what_the_kernel_reports() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let fields = "5 7 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        let line = |begin: &[u8]| [begin, b" ", fields.as_bytes()].concat();
        let expected = |state| Some(ProcessStat { state, parent: pid(5), session: 9, started: 4711 });
        for (stat, expected) in [
            (line(b"7 (sh) S"), expected(b'S')),
            (line(b"7 (a) S 1 (b) R"), expected(b'R')),
            (line(b"7 (\xff) T"), expected(b'T')),
            (
                b"7 (kthread) S 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 3".to_vec(),
                Some(ProcessStat { state: b'S', parent: Pid::INIT, session: 0, started: 3 }),
            ),
            (b"7 (sh".to_vec(), None),
            (b"7 (sh) S 5".to_vec(), None),
        ] {
            assert_eq!(ProcessStat::parse(&stat), expected, "{}", String::from_utf8_lossy(&stat));
        }
    }
}
