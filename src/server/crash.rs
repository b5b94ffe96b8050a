//! What is left of a daemon that did not end well, for `coppice doctor`: a panic writes it itself, and of one that was killed
//! or aborted the next daemon finds that it never said goodbye.

use std::fs;
use std::io;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tracing::{error, warn};

use super::lock::Holder;
use crate::api::daemon::{CRASH_FILE, CrashKind, CrashReport};
use crate::paths::Paths;

/// Records every panic of this process from here on, before anything else can fail.
pub(super) fn record_panics(paths: &Paths, holder: &Holder, now: fn() -> i64) {
    let (data, log, holder) = (paths.data.clone(), paths.log(), holder.clone());
    std::panic::set_hook(Box::new(move |panic| {
        let report = describe_panic(panic, &holder, &log, now());
        // The log is written by a thread that an abort does not wait for.
        if let Err(error) = write_report(&data, &report) {
            warn!(%error, "failed to record the panic");
        }
        error!(%panic, "a task of the daemon panicked");
    }));
}

/// Records that the last daemon ended without a goodbye.
pub(super) fn record_unclean_end(paths: &Paths, last: &Holder) {
    let log = paths.log();
    let written = fs::metadata(&log).and_then(|found| found.modified()).ok();
    let since = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let at = since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(last.started_at);
    // A panic that ended the process says more.
    let known = fs::read(paths.data.join(CRASH_FILE)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let report = judge_end(last, at.max(last.started_at), &log, known);
    if let Err(error) = write_report(&paths.data, &report) {
        warn!(%error, "failed to record how the last daemon ended");
    }
}

/// What is recorded about a daemon that is gone.
fn judge_end(last: &Holder, at: i64, log: &Path, known: Option<CrashReport>) -> CrashReport {
    let log = log.display().to_string();
    match known.filter(|known| known.pid == last.pid && known.started_at == last.started_at) {
        Some(panic) => CrashReport { kind: CrashKind::Ended, ..panic },
        None => CrashReport {
            kind: CrashKind::Ended,
            pid: last.pid,
            started_at: last.started_at,
            at,
            what: "killed, aborted, or the machine went down".to_owned(),
            log,
        },
    }
}

fn describe_panic(panic: &PanicHookInfo<'_>, holder: &Holder, log: &Path, at: i64) -> CrashReport {
    CrashReport {
        kind: CrashKind::TaskPanicked,
        pid: holder.pid,
        started_at: holder.started_at,
        at,
        what: panic.to_string().lines().collect::<Vec<_>>().join(" "),
        log: log.display().to_string(),
    }
}

/// Replaces the file at once, so that a second crash leaves one of the two.
fn write_report(data: &Path, report: &CrashReport) -> io::Result<()> {
    let draft = NamedTempFile::new_in(data)?;
    serde_json::to_writer(draft.as_file(), report)?;
    draft.as_file().sync_all()?;
    let target: PathBuf = data.join(CRASH_FILE);
    draft.persist(target).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_that_ended_the_daemon_explains_its_end() {
        let last = Holder { pid: 7, started_at: 10, socket: "/s".into(), ended: Some(false) };
        let panic = CrashReport {
            kind: CrashKind::TaskPanicked,
            pid: 7,
            started_at: 10,
            at: 15,
            what: "panicked at src/x.rs".to_owned(),
            log: "/log".to_owned(),
        };
        let earlier = CrashReport { started_at: 3, ..panic.clone() };
        for (known, at, what) in [
            (Some(panic), 15, "panicked at src/x.rs"),
            (Some(earlier), 20, "killed, aborted, or the machine went down"),
            (None, 20, "killed, aborted, or the machine went down"),
        ] {
            let report = judge_end(&last, 20, Path::new("/log"), known);
            assert_eq!((report.kind, report.at, report.what.as_str()), (CrashKind::Ended, at, what));
        }
    }
}
