//! How long removed sessions have been kept, in time that passed: a clock that is wrong once ends nothing.
//!
//! Between two looks at the clock the difference is believed up to a day, or for as long as the daemon itself ran.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::time::Instant;

use super::clock;
use crate::id::SessionId;

/// How much of a time in which nobody looked is believed.
const BELIEVED_MS: i64 = 24 * 60 * 60 * 1000;

/// Knows which removed sessions were kept long enough.
#[derive(Debug)]
pub(super) struct Retention {
    file: PathBuf,
    looked: Instant,
}

impl Retention {
    pub(super) fn new(data: &Path) -> Self {
        Self { file: data.join("removed.json"), looked: Instant::now() }
    }

    /// Of the sessions that are removed now, each with its time of removal, those that were kept long enough.
    pub(super) fn look(&mut self, removed: &[(SessionId, i64)], keep: Duration) -> io::Result<Vec<SessionId>> {
        let ran = std::mem::replace(&mut self.looked, Instant::now()).elapsed();
        // Without the file everything is kept as long again.
        let mut kept: Kept =
            fs::read(&self.file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        kept.look(clock::now(), ran);
        let over = kept.over(removed, keep);
        let mut draft = NamedTempFile::new_in(self.file.parent().unwrap_or(Path::new(".")))?;
        draft.write_all(&serde_json::to_vec(&kept)?)?;
        draft.persist(&self.file)?;
        Ok(over)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// What the clock said at the last look.
    looked_at: Option<i64>,
    passed_ms: i64,
    removed: BTreeMap<String, Removal>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Removal {
    /// Tells a removal from an earlier one of the same session.
    removed_at: i64,
    /// How much time had passed when it was first seen.
    since_ms: i64,
}

impl Kept {
    fn look(&mut self, now: i64, ran: Duration) {
        let unseen = self.looked_at.map_or(0, |before| now.saturating_sub(before).clamp(0, BELIEVED_MS));
        self.passed_ms += unseen.max(milliseconds(ran));
        self.looked_at = Some(now);
    }

    fn over(&mut self, removed: &[(SessionId, i64)], keep: Duration) -> Vec<SessionId> {
        let before = std::mem::take(&mut self.removed);
        let mut over = Vec::new();
        for (id, removed_at) in removed {
            let known = before.get(id.as_str()).filter(|known| known.removed_at == *removed_at);
            let since_ms = known.map_or(self.passed_ms, |known| known.since_ms);
            if self.passed_ms - since_ms >= milliseconds(keep) {
                over.push(*id);
            }
            self.removed.insert(id.to_string(), Removal { removed_at: *removed_at, since_ms });
        }
        over
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = BELIEVED_MS;

    fn days(count: u64) -> Duration {
        Duration::from_secs(count * 24 * 60 * 60)
    }

    /// The day of the look at which a session is over that was removed on day 0 and is kept for three days.
    fn over_at(looks: &[(i64, u64)]) -> Option<usize> {
        let (mut kept, id) = (Kept::default(), "aaaaaaaa".parse().unwrap());
        kept.look(0, days(0));
        assert_eq!(kept.over(&[(id, 0)], days(3)), []);
        looks.iter().position(|(day, ran)| {
            kept.look(day * DAY, days(*ran));
            !kept.over(&[(id, 0)], days(3)).is_empty()
        })
    }

    #[test]
    fn only_time_that_passed_counts() {
        for (looks, expected) in [
            (&[(1, 0), (2, 0), (3, 0)][..], Some(2)),
            // The clock is ahead for a moment, and back again.
            (&[(40, 0)], None),
            (&[(40, 0), (1, 0), (2, 0), (3, 0)], Some(3)),
            // Nobody looked for a long time.
            (&[(7, 0), (14, 0), (21, 0)], Some(2)),
            // The daemon ran all the time, whatever the clock says.
            (&[(0, 3)], Some(0)),
            (&[(-5, 2), (-4, 1)], Some(1)),
        ] {
            assert_eq!(over_at(looks), expected, "{looks:?}");
        }
    }

    #[test]
    fn a_session_that_was_restored_is_kept_from_its_next_removal_on() {
        let (mut kept, id) = (Kept::default(), "aaaaaaaa".parse().unwrap());
        kept.over(&[(id, 0)], days(3));
        kept.look(0, days(2));
        assert_eq!(kept.over(&[(id, 5)], days(3)), []);
        kept.look(0, days(2));
        assert_eq!(kept.over(&[(id, 5)], days(3)), []);
        kept.look(0, days(1));
        assert_eq!(kept.over(&[(id, 5)], days(3)), [id]);
    }
}
