//! The two things that no pure function may know: the time and chance.

#![expect(clippy::disallowed_methods, reason = "this is where the engine reads the wall clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use crate::id::SessionId;

/// Milliseconds since the epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// An identifier that is almost surely free; the caller checks.
pub(super) fn draw_id() -> Result<SessionId, getrandom::Error> {
    let mut bits = [0; 5];
    getrandom::fill(&mut bits)?;
    Ok(SessionId::from_random(bits))
}
