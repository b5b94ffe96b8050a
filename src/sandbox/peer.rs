//! Who is on the other end of a socket: whether a process descends from another one.
//!
//! An agent's process cannot leave its supervisor's tree, because orphans come back to the supervisor. So kinship
//! tells an agent from a person, where the operating system lets us ask.

use rustix::process::Pid;

/// Whether a process is one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    Descendant,
    Stranger,
    /// The process ended before it could be asked about.
    Gone,
}

/// Tells whether `process` is `ancestor` itself or was started below it. Where the system does not tell, everybody is a
/// stranger.
pub fn kinship(process: Pid, ancestor: Pid) -> Kinship {
    trace(process, ancestor, read_parent)
}

fn trace(process: Pid, ancestor: Pid, parent_of: impl Fn(Pid) -> Option<Pid>) -> Kinship {
    let mut at = process;
    loop {
        if at == ancestor {
            return Kinship::Descendant;
        }
        if at == Pid::INIT {
            return Kinship::Stranger;
        }
        match parent_of(at) {
            Some(parent) => at = parent,
            None => return Kinship::Gone,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn kinship_follows_the_parents_up_to_init() {
        let parents = [(50, 40), (40, 30), (30, 1), (60, 1), (70, 69)];
        let parent_of = |of: Pid| parents.iter().find(|(child, _)| pid(*child) == of).map(|(_, parent)| pid(*parent));
        for (process, ancestor, expected) in [
            (50, 30, Kinship::Descendant),
            (30, 30, Kinship::Descendant),
            (60, 30, Kinship::Stranger),
            (70, 30, Kinship::Gone),
            (80, 30, Kinship::Gone),
        ] {
            assert_eq!(trace(pid(process), pid(ancestor), parent_of), expected, "{process} below {ancestor}");
        }
    }
}
