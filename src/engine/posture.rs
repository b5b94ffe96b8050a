//! How much a session may do by itself: what was asked for, what is configured, and what follows from the sandbox.

use crate::config::Config;
use crate::permission::{Hold, Posture};

use super::fault::Fault;
use super::record::PostureRecord;

/// Reads the word for a posture.
pub(super) fn parse(word: Option<&str>) -> Result<Option<Posture>, Fault> {
    word.map(|word| word.parse().map_err(Fault::from)).transpose()
}

/// The posture of a session that begins.
pub(super) fn initial(wanted: Option<Posture>, yolo: bool, config: &Config, hold: Hold) -> PostureRecord {
    let posture = wanted.or(config.default_posture).unwrap_or_else(|| Posture::by_hold(hold));
    // Everything goes ahead is about sessions that work alone; where something else was asked for by name, that stays.
    let posture = if yolo && wanted.is_none() { Posture::Unattended } else { posture };
    PostureRecord { word: posture.as_str().to_owned(), yolo }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_posture_is_what_was_asked_for_else_configured_else_what_the_sandbox_bears() {
        let plain = Config::default();
        let edits = Config { default_posture: Some(Posture::Edits), ..Config::default() };
        for (wanted, yolo, config, hold, expected) in [
            (None, false, &plain, Hold::Enforced, "unattended"),
            (None, false, &plain, Hold::Advisory, "attended"),
            (None, false, &edits, Hold::Advisory, "edits"),
            (Some(Posture::Plan), false, &edits, Hold::Enforced, "plan"),
            (None, true, &edits, Hold::Advisory, "unattended"),
            (Some(Posture::Plan), true, &plain, Hold::Advisory, "plan"),
        ] {
            let record = initial(wanted, yolo, config, hold);
            assert_eq!((record.word.as_str(), record.yolo), (expected, yolo));
        }
    }
}
