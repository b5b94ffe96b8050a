//! The limit of open files: raised for the daemon, which holds several descriptors for every session, and as it was
//! for the programs that it starts.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

/// The limit of this process before it was raised.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of this process as far as the system allows.
pub fn raise_limit() -> io::Result<()> {
    let inherited = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: inherited.maximum, ..inherited };
    setrlimit(Resource::Nofile, raised)?;
    INHERITED.get_or_init(|| inherited);
    Ok(())
}

/// Gives a process that was just started the limit that this one had.
#[cfg(target_os = "linux")]
pub(super) fn restore_limit(process: Pid) -> io::Result<()> {
    let Some(inherited) = INHERITED.get() else { return Ok(()) };
    rustix::process::prlimit(Some(process), Resource::Nofile, *inherited)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn restore_limit(_process: Pid) -> io::Result<()> {
    Ok(())
}
