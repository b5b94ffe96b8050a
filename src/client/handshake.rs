//! Whether a client and a daemon of different versions go together: a pure decision.

use std::cmp::Ordering;

use crate::api::daemon::DaemonStatus;

/// What a client does with the daemon it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Use,
    /// Ask it to end when no turn runs, and start one of our own version.
    Replace,
    /// It is too new for this client.
    Refuse,
}

/// Decides by the versions of the program and of the interface.
pub fn judge(our_version: &str, our_api: u32, daemon: &DaemonStatus) -> Verdict {
    match compare(our_version, &daemon.version) {
        Ordering::Greater => Verdict::Replace,
        Ordering::Equal | Ordering::Less if daemon.api == our_api => Verdict::Use,
        // The same program version always has the same interface; a mismatch means a build in between.
        Ordering::Equal | Ordering::Less if daemon.api < our_api => Verdict::Replace,
        Ordering::Equal | Ordering::Less => Verdict::Refuse,
    }
}

/// Orders versions by their numbers; what follows a `-` or `+` does not count.
fn compare(left: &str, right: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        release.split('.').map(|part| part.parse().unwrap_or_default()).collect()
    };
    numbers(left).cmp(&numbers(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_client_replaces_and_an_older_one_fits_in_or_leaves() {
        for (ours, theirs, expected) in [
            (("1.2.3", 1), ("1.2.3", 1), Verdict::Use),
            (("1.2.4", 1), ("1.2.3", 1), Verdict::Replace),
            (("1.10.0", 1), ("1.9.9", 1), Verdict::Replace),
            (("2.0.0", 2), ("1.0.0", 1), Verdict::Replace),
            (("1.2.3", 1), ("1.3.0", 1), Verdict::Use),
            (("1.2.3", 1), ("2.0.0", 2), Verdict::Refuse),
            (("1.2.3-dev", 2), ("1.2.3", 1), Verdict::Replace),
            (("1.2.3", 1), ("1.2.3+abc", 1), Verdict::Use),
        ] {
            let daemon = DaemonStatus {
                running: true,
                pid: Some(1),
                version: theirs.0.into(),
                api: theirs.1,
                socket: String::new(),
                uptime_s: 0,
                clients: 0,
                sessions: 0,
                running_turns: 0,
                draining: false,
            };
            assert_eq!(judge(ours.0, ours.1, &daemon), expected, "{ours:?} meets {theirs:?}");
        }
    }
}
