//! The limit of open files: raised for the daemon, which holds several descriptors for every session, and as it was
//! for the programs that it starts.

use std::io;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

/// The limit of this process before it was raised.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// How many files this process has open, and how many it may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorUsage {
    pub open: usize,
    pub limit: usize,
}

/// Raises the limit of this process as far as the system allows.
pub fn raise_limit() -> io::Result<()> {
    let inherited = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: inherited.maximum, ..inherited };
    setrlimit(Resource::Nofile, raised)?;
    INHERITED.get_or_init(|| inherited);
    Ok(())
}

/// Counts the open files of this process; `None` where nothing limits them, or where they cannot be counted.
pub fn read_usage() -> Option<DescriptorUsage> {
    let limit = usize::try_from(getrlimit(Resource::Nofile).current?).ok()?;
    let open = match std::fs::read_dir("/dev/fd") {
        Ok(entries) => entries.count(),
        Err(error) if exhausted_limit(&error).is_some() => limit,
        Err(_) => return None,
    };
    Some(DescriptorUsage { open, limit })
}

/// Names the limit of open files that caused an error, and how to raise it; `None` for any other error.
pub fn explain_exhaustion(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let limit = std::iter::successors(Some(error), |cause| cause.source()).find_map(exhausted_limit)?;
    Some(match limit {
        FileLimit::Process => {
            let limit = getrlimit(Resource::Nofile).current.map_or("unlimited".to_owned(), |limit| limit.to_string());
            format!(
                "the daemon has reached its limit of open files (RLIMIT_NOFILE = {limit}): end sessions that wait, or \
                 raise the hard limit (`ulimit -Hn`, `LimitNOFILE=` of a service) and restart the daemon with \
                 `coppice daemon stop`"
            )
        }
        FileLimit::System => {
            "the system has reached its limit of open files: raise it with `sysctl fs.file-max`".to_owned()
        }
    })
}

/// Whose limit of open files was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileLimit {
    Process,
    System,
}

fn exhausted_limit(error: &(dyn std::error::Error + 'static)) -> Option<FileLimit> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => match Errno::from_io_error(error)? {
            Errno::MFILE => Some(FileLimit::Process),
            Errno::NFILE => Some(FileLimit::System),
            _ => None,
        },
        // libgit2 keeps nothing of the error number but its text.
        None => error.to_string().contains("Too many open files; class=Os").then_some(FileLimit::Process),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::SandboxError;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct LibraryError(String);

    #[test]
    fn an_exhausted_limit_is_named_wherever_it_is_in_the_chain() {
        let caused_by = |errno: Errno| SandboxError::Supervisor { command: "agent".into(), source: errno.into() };
        let limit = getrlimit(Resource::Nofile).current.map_or("unlimited".to_owned(), |limit| limit.to_string());
        let named = explain_exhaustion(&caused_by(Errno::MFILE)).unwrap();
        assert!(named.contains(&format!("RLIMIT_NOFILE = {limit}")), "{named}");
        assert!(explain_exhaustion(&caused_by(Errno::NFILE)).unwrap().contains("fs.file-max"));
        assert_eq!(explain_exhaustion(&caused_by(Errno::NOENT)), None);
        let library = |text: &str| LibraryError(format!("failed to open 'HEAD': {text}; class=Os (2)"));
        assert!(explain_exhaustion(&library("Too many open files")).is_some());
        assert_eq!(explain_exhaustion(&library("No such file or directory")), None);
    }

    #[test]
    fn open_files_are_counted() {
        let before = read_usage().unwrap();
        let _files: Vec<_> = (0..20).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let after = read_usage().unwrap();
        assert_eq!(before.limit, after.limit);
        // Other tests of this process open and close files meanwhile.
        assert!(after.open >= 20, "{before:?} {after:?}");
    }
}
