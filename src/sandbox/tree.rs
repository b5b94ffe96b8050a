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
    for child in children() {
        // A child that is a zombie already does not mind.
        rustix::process::kill_process(child, Signal::KILL).ok();
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill_children(command: Pid) {
    // The group may be empty already.
    rustix::process::kill_process_group(command, Signal::KILL).ok();
}

#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let mut lists = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        match std::fs::read_to_string(task.path().join("children")) {
            Ok(list) => lists.push(list),
            // A kernel without CONFIG_PROC_CHILDREN.
            Err(_) => return children_by_scan(),
        }
    }
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(parse_pid).collect()
}

/// Asks every process for its parent.
#[cfg(target_os = "linux")]
fn children_by_scan() -> Vec<Pid> {
    let own = Some(rustix::process::getpid());
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| parse_pid(entry.file_name().to_str()?));
    pids.filter(|pid| super::peer::read_parent(*pid) == own).collect()
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
        assert!(children().contains(&pid));
        assert!(children_by_scan().contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children().contains(&pid));
    }
}
